#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `-- COMMAND`: who it runs as and with what, what is recorded of it, how it ends.
set -u
. tests/e2e/live.sh
compile split split.c
outsider=out$$ # other tests may be running
compile $outsider split.c

# --- How it ends ---
# Beside test_cli_errors.sh: here each recording has samples, and its files are there and balance.
ends()
{
	local code=$1 name=$2
	shift 2
	record "$name" -- "$@"
	local got=$?
	is "$got == $code" && [ -s "$TMPDIR/out/$name.folded" ] && balanced "$name"
}
check "exit status 0" ends 0 status0 sh -c 'split 0.2; exit 0'
check "exit status 7" ends 7 status7 sh -c 'split 0.2; exit 7'
check "ended by SIGTERM: 143" ends 143 term sh -c 'split 0.2; kill -TERM $$'
check "ended by SIGKILL: 137" ends 137 kill sh -c 'split 0.2; kill -KILL $$'
check "ended by SIGSEGV: 139" ends 139 segv sh -c 'split 0.2; kill -SEGV $$'

# refused CODE PATH: nothing is recorded, so nothing is written
refused()
{
	local got
	record refused -- "$2"
	got=$?
	is "$got == $1" && [ ! -e "$TMPDIR/out/refused.folded" ] && [ ! -e "$TMPDIR/out/refused.json" ]
}
printf 'not a program' >"$TMPDIR/bin/noexec"
check "not executable: 126, and no file" refused 126 "$TMPDIR/bin/noexec"
check "not there: 127, and no file" refused 127 "$TMPDIR/bin/no-such-program"

slow_children()
{
	local got
	record orphan -F 999 -- sh -c '(sleep 1; split 0.3) & exit 5'
	got=$?
	is "$got == 5"
}
check "children that outlive it do not change its status" slow_children

# --- Who it runs as ---
# A group list of our own, so that "nobody" is in more groups than one.
nobody=$(id -u nobody) nogroup=$(id -g nobody)
sed 's/^\(games:.*\):$/\1:nobody/' /etc/group >"$TMPDIR/group"
chmod 644 "$TMPDIR/group"
if ! [ "$(id -u)" = 0 ] || ! unshare -m mount --bind "$TMPDIR/group" /etc/group 2>>"$log"; then
	skip "COMMAND runs as \$SUDO_UID" "no root, or no mount name space to change /etc/group in"
else
	# shellcheck disable=SC2016 # the inner shell's variables
	env -i PATH="$PATH" KEPT='a value; with "quotes"' SUDO_UID="$nobody" SUDO_GID="$nogroup" SUDO_USER=nobody \
		unshare -m sh -c 'mount --bind "$1" /etc/group && id -G nobody && exec "$2" -q -o "$3" --stats "$4" -- \
			sh -c "id -u; id -ru; id -g; id -rg; id -G; echo \"\$KEPT\"; env | wc -l; split 0.3"' \
		sh "$TMPDIR/group" "$bpfprof" "$TMPDIR/out/sudo.folded" "$TMPDIR/out/sudo.json" >"$TMPDIR/identity" 2>>"$log"
	verdict $? "COMMAND runs with SUDO_UID and SUDO_GID set"
	cat "$TMPDIR/identity" >>"$log"
	{
		read -r groups
		read -r uid && read -r real_uid && read -r gid && read -r real_gid && read -r got_groups && read -r kept
		read -r variables
	} <"$TMPDIR/identity"
	[ "$uid" = "$nobody" ] && [ "$real_uid" = "$nobody" ]
	verdict $? "it is \$SUDO_UID, real and effective"
	[ "$gid" = "$nogroup" ] && [ "$real_gid" = "$nogroup" ]
	verdict $? "it is \$SUDO_GID, real and effective"
	[ "$got_groups" = "$groups" ] && [ "$(wc -w <<<"$groups")" -gt 1 ]
	verdict $? "it has that user's groups, all of them and none of root's"
	[ "$kept" = 'a value; with "quotes"' ]
	verdict $? "a variable reaches it unchanged"
	# PATH, KEPT, SUDO_*: 5, and what its own shell adds: PWD
	[ "$variables" -ge 5 ] && [ "$variables" -le 8 ]
	verdict $? "its environment is what sudo left, nothing more"
	check "it is recorded like any other" has '^split;.*;main;deal_deck;' sudo 15
	chown root "$TMPDIR"/out/sudo.* 2>>"$log"
fi
env -u SUDO_UID -u SUDO_GID "$bpfprof" -q -f -- sh -c 'id -u >&2' 2>"$TMPDIR/uid" >/dev/null
check "without SUDO_UID it runs as the caller" is "$(tail -n 1 "$TMPDIR/uid") == $(id -u)"
SUDO_UID=many "$bpfprof" -q -f -- true >/dev/null 2>>"$log"
code=$?
check "a SUDO_UID that is no number: 125" is "$code == 125"

# --- What is recorded ---
load $outsider 60
recorded children "COMMAND with children" -F 999 -- sh -c 'split 0.5 & sh -c "split 0.5; :" & wait'
check "its children and grandchildren are recorded: 1 s of CPU time" \
	is "($(samples '^split;' children) - 999) ^ 2 < 16 * 999 + (4 * $(field children events.0.never_ran.busy)) ^ 2"
check "nothing else is: COMMAND was bpfprof's child before its exec" only children 'sh|split|bpfprof'
recorded with_all "COMMAND with -a" -a -F 999 -- split 1
check "with -a the others are recorded too" has "^$outsider;" with_all 50
check "... and COMMAND" has '^split;' with_all 800
# At 999 Hz it may be over before the first tick.
recorded short "COMMAND that takes no time" -F 9999 -- true
check "only its exec is recorded, as bpfprof's child before it" only short 'true|bpfprof'
recorded limited "COMMAND that outlives -d" -F 999 -d 500ms -- split 2
check "-d ends the recording, not COMMAND" is "$(field limited duration_s) < 1.5 && $(samples . limited) > 50"
recorded late "-D with COMMAND" -F 999 -D 300ms -- split 1
check "-D leaves the beginning out" \
	is "$(field late events.0.recorded) < 999 * 1.01 && $(field late duration_s) > 0"
exit $status
