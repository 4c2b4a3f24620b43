#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A user who is not root, and a binary with file capabilities: with those of the main job it works; each one that is
# taken away is named, with what it was for.
set -u
. tests/e2e/live.sh

if [ "$(id -u)" != 0 ]; then
	skip "privileges" "no root to give capabilities away"
	exit 0
fi
out=$TMPDIR/out
theirs=$TMPDIR/theirs
main_job=cap_bpf,cap_perfmon
all=$main_job,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_syslog
chmod 755 "$out"
mkdir "$theirs"
chown 65534:65534 "$theirs"
cp "$bpfprof" "$TMPDIR/bin/bpfprof-caps"
# Without frame pointers: who may not read the file has no stacks of it either.
compile spin split.c -fomit-frame-pointer
cp "$TMPDIR/bin/spin" "$TMPDIR/bin/private"
chmod 700 "$TMPDIR/bin/private"

# with CAPABILITIES ARG...: bpfprof as nobody, its words in $out/err.
with()
{
	setcap "$1+ep" "$TMPDIR/bin/bpfprof-caps" || return 125
	shift
	(cd "$theirs" && timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$TMPDIR/bin/bpfprof-caps" "$@") >"$out/stdout" 2>"$out/err" </dev/null
}

# recorded CAPABILITIES NAME PROGRAM: PROGRAM, which is root's, for a second, into $theirs/NAME.folded.
recorded()
{
	local pid status
	"$TMPDIR/bin/$3" 30 >/dev/null &
	pid=$!
	with "$1" -p $pid -d 1 --force -v -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	grep -v 'libbpf' "$out/err"
	return $status
}

# stat_of NAME KEY...: a number of its --stats, 0 where it is not there
stat_of()
{
	python3 - "$theirs/$1.json" "${@:2}" <<-'END'
		import json, sys
		node = json.load(open(sys.argv[1]))
		for key in sys.argv[2:]:
		    node = node.get(key, 0) if isinstance(node, dict) else 0
		print(node)
	END
}

told()
{
	cat "$out/err"
	grep -qE -- "$1" "$out/err"
}

check "the main job's two capabilities: exit status 0" recorded $main_job main spin
check "the functions have their names" grep -qE '^(spin;)?_start;.*main;.*work_70;burn [0-9]+$' "$theirs/main.folded"
check "stacks are complete" is "$(stat_of main stacks complete) >= 150 && $(stat_of main frames unnamed not_permitted) == 0"
check "nothing is lost" told '= [0-9]+ recorded \+ [0-9]+ filtered \+ 0 lost; balanced$'

for cap in bpf perfmon; do
	rest=${main_job/cap_$cap/}
	with "${rest//,/}" -a -d 1 -o x.folded
	code=$?
	check "without CAP_${cap^^}: status 1" is "$code == 1"
	check "names it" told "^bpfprof: .*: not permitted without CAP_${cap^^}: run as root, or give the binary CAP_BPF and CAP_PERFMON$"
	check "in one line, and without a file" is "$(wc -l <"$out/err") == 1 && $(find "$theirs" -name 'x*' | wc -l) == 0"
	with "${rest//,/}" doctor
	code=$?
	check "doctor: status 1, with the capability's name" is "$code == 1 && $(grep -c "^FAIL *CAP_${cap^^} " "$out/stdout") == 1"
done

check "a program that only root may read" recorded $all readable private
check "is named, and its stacks are complete" is "$(stat_of readable stacks complete) >= 150 && \
	$(stat_of readable frames unnamed not_permitted) == 0"
check "no word about it" is "$(grep -c 'not permitted' "$out/err") == 0"
check "without CAP_DAC_READ_SEARCH it is recorded" recorded "${all/,cap_dac_read_search/}" unreadable private
check "has no names, and that is why" is "$(stat_of unreadable frames unnamed not_permitted) >= 1"
check "which is told with the capability that would do" told '^bpfprof: warning: [0-9]+ frames have no names: .*not permitted without CAP_DAC_READ_SEARCH: '
check "and with the file" told 'bin/private: not permitted to read it'

# In a root of its own, where it has been deleted: its process is the way to it.
deleted()
{
	local status pid
	cp "$TMPDIR/bin/spin" "$TMPDIR/bin/doomed"
	"$TMPDIR/bin/doomed" 30 >/dev/null &
	pid=$!
	rm "$TMPDIR/bin/doomed"
	with "$1" -p $pid -d 1 --force -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	cat "$out/err"
	return $status
}
check "a program that was deleted" deleted $all deleted
check "is named by its process" is "$(stat_of deleted frames unnamed not_permitted) == 0 && $(stat_of deleted stacks complete) >= 150"
check "without CAP_SYS_PTRACE it is recorded" deleted "${all/,cap_sys_ptrace/}" gone
check "told with the capability that would do" told '^bpfprof: warning: [0-9]+ frames have no names: .*not permitted without CAP_SYS_PTRACE: '

# --- The capabilities of the binary are not its caller's ---
cp "$theirs/main.folded" "$out/secret.folded"
chmod 600 "$out/secret.folded"
check "root reads its file" "$bpfprof" report "$out/secret.folded"
for command in "report" "convert -o y.svg" "symbolize -o y.pb.gz"; do
	# shellcheck disable=SC2086 # words
	with $all $command "$out/secret.folded"
	code=$?
	check "${command%% *} gives others' files to nobody" is "$code == 1"
	check "and says so" told "^bpfprof: input '.*secret.folded': Permission denied$"
done
with $all diff "$theirs/main.folded" "$out/secret.folded"
code=$?
check "nor does diff" is "$code == 1"

exit $status
