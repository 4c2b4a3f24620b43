#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets that exit, execute, unshare, change their root or are traced while they are recorded, and many of them:
# every recording ends well, its books balance, and what was sampled has its names.
# timeout: 240
set -u
. tests/e2e/live.sh
compile oddly oddly.c
MANY=20000
MAPPINGS=100000
max_maps=$(cat /proc/sys/vm/max_map_count)
trap 'stop_loads; echo "$max_maps" >/proc/sys/vm/max_map_count; rm -rf "$tmp"' EXIT

# started ARG...: oddly that says when it is there; its pid is in $load.
started()
{
	: >"$TMPDIR/ready"
	oddly "$@" >"$TMPDIR/ready" 2>>"$log" &
	load=$!
	loads+=("$load")
	until grep -q ready "$TMPDIR/ready"; do
		kill -0 "$load" 2>/dev/null || return 1
		sleep 0.05
	done
}

named='^(oddly|exe);.*;main;.*odd_work[; ]'

recorded short "$MANY processes that are gone at once" -F 999 -- oddly short $MANY
check "... and their frames have names" has "$named" short 300
recorded execs "a process that executes itself 500 times" -F 999 -- oddly exec 2
check "... and its frames have names" has "$named" execs 300

mkdir "$TMPDIR/root"
if [ "$(id -u)" = 0 ] && started elsewhere "$TMPDIR/root"; then
	recorded elsewhere "a process in other name spaces and an empty root" -F 499 -p "$(pgrep -P "$load")" -d 2
	check "... and its frames have names, though its root has no file" has "$named" elsewhere 300
	# The parent's name spaces change while it is recorded.
	(sleep 0.5; exec oddly elsewhere "$TMPDIR/root") >/dev/null 2>&1 &
	loads+=($!)
	recorded unshares "a process that unshares while it is recorded" -F 499 -a -d 3
	check "... and its frames have names" has "$named" unshares 300
else
	skip "other name spaces" "no root, or no name spaces"
fi
stop_loads

# traced NAME COMMAND...: a program that computes while COMMAND (with its pid in $victim) traces it
mkdir "$TMPDIR/other"
traced()
{
	local name=$1
	shift
	oddly elsewhere "$TMPDIR/other" >/dev/null 2>>"$log" &
	loads+=($!)
	sleep 0.3
	victim=$(pgrep -P "${loads[-1]}")
	(sleep 0.5; timeout 20 "$@" -p "$victim") >"$TMPDIR/traced" 2>&1 &
	tracer=$!
	recorded "$name" "a process that $name traces" -F 499 -a -d 3
	wait $tracer
	cat "$TMPDIR/traced" >>"$log"
	check "... it was traced" grep -qiE 'odd_work|attached|clock_gettime|SIG' "$TMPDIR/traced"
	check "... and its frames have names" has "$named" "$name" 100
	check "... and it goes on" kill -0 "$victim"
	stop_loads
}
if have gdb; then
	traced gdb gdb -batch -nx -ex bt -ex "shell sleep 0.5" -ex detach
else
	skip "gdb" "there is none"
fi
if have strace; then
	traced strace timeout -s INT 1 strace -f
else
	skip "strace" "there is none"
fi

# --- Many at once ---
if [ "$(cat /proc/sys/kernel/pid_max)" -gt $((MANY + 4000)) ] && [ "$(ulimit -u)" != unlimited ] &&
	[ "$(ulimit -u)" -gt $((MANY + 4000)) ] && started living $MANY; then
	recorded living "$MANY processes that live" -a -F 499 -d 6 --by pid
	check "... and their frames have names" has "^[0-9]*;.*;main;.*odd_work[; ]" living 300
	check "... hundreds of them are seen" \
		is "$(grep -E ';main;.*odd_work[; ]' "$TMPDIR/out/living.folded" | cut -d';' -f1 | sort -u | wc -l) > 500"
	record asleep --off-cpu -a -d 3
	verdict $? "$MANY processes that wait: exit status 0"
	check "$MANY processes that wait: the books balance" "$helpers/check_stats" "$TMPDIR/out/asleep.json" 100
	stop_loads
	# They end one after the other, and the tests that follow are not to meet them.
	for _ in $(seq 300); do
		pgrep -x oddly >/dev/null || break
		sleep 0.2
	done
	check "... all of them are gone" is "$(pgrep -cx oddly) == 0"
else
	skip "$MANY processes" "the limits of this machine do not allow so many"
fi

# --- Many mappings ---
if echo $((MAPPINGS + 20000)) 2>/dev/null >/proc/sys/vm/max_map_count && started maps $MAPPINGS; then
	check "they are there" is "$(wc -l <"/proc/$load/maps") > $MAPPINGS"
	recorded maps "a process with $MAPPINGS mappings" -F 499 -p "$load" -d 2
	check "... and its frames have names" has "$named" maps 300
	stop_loads
else
	skip "$MAPPINGS mappings" "vm.max_map_count cannot be raised"
fi
exit $status
