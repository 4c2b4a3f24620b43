#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `bpfprof stat`: counts are held to the unit, for one thread and for all that it starts.
set -u
. tests/e2e/live.sh
compile tally tally.c -pthread
out=$TMPDIR/out/stat

if ! "$bpfprof" stat -e task-clock -o "$out" -- true 2>>"$log"; then
	skip "stat" "perf events do not open here: $(tail -n 1 "$log")"
	exit 0
fi

# counted_of EVENT ARG...: how often EVENT happened, by bpfprof stat with ARGs
counted_of()
{
	local event=$1
	shift
	rm -f "$out"
	# Without random addresses: as many pages of the program and its libraries are touched each time.
	setarch "$(uname -m)" -R "$bpfprof" stat -x '|' -o "$out" -e "$event" "$@" 2>>"$log"
	cut -d '|' -f 1 "$out"
}

# counts WANT EVENT ARG...: 1000 rounds more than none are WANT more
counts()
{
	local want=$1 event=$2 none all
	shift 2
	none=$(counted_of "$event" "${@/ROUNDS/0}")
	all=$(counted_of "$event" "${@/ROUNDS/1000}")
	echo "$event: $all with, $none without" >>"$log"
	is "$all - $none == $want"
}
address=0x$(nm "$TMPDIR/bin/tally" | awk '$3 == "work" { print $1 }')
probe=probe:$TMPDIR/bin/tally:$address

# --- A single thread ---
if "$bpfprof" list -q syscalls:sys_enter_getrandom >/dev/null 2>&1; then
	calls=syscalls:sys_enter_getrandom
	check "1000 system calls are 1000" counts 1000 $calls -- tally ROUNDS
	check "... of a process and all that it starts 5000" counts 5000 $calls -- tally ROUNDS tree
	check "... without what it starts 1000" counts 1000 $calls -i -- tally ROUNDS tree
	check "a glob is the sum of its tracepoints" counts 1000 'syscalls:sys_enter_getr*' -- tally ROUNDS
else
	skip "system calls" "no tracepoints here"
fi
check "1000 faults are 1000" counts 1000 page-faults -- tally ROUNDS
check "... of a process and all that it starts 5000, but for what their threads need" \
	is "$(counted_of page-faults -- tally 1000 tree) - $(counted_of page-faults -- tally 0 tree) - 5000 < 20"

beside_perf()
{
	local ours theirs
	ours=$(counted_of page-faults -- tally 1000 tree)
	theirs=$(perf stat -x '|' -e page-faults tally 1000 tree 2>&1 >/dev/null | cut -d '|' -f 1)
	echo "page-faults: ours $ours, perf's $theirs" >>"$log"
	is "($ours - $theirs) ^ 2 <= 400"
}
if have perf; then
	check "as many as perf stat says" beside_perf
else
	skip "as many as perf stat says" "no perf"
fi

# --- Probes: not inherited by perf, counted all the same ---
if [ -e /sys/bus/event_source/devices/uprobe ]; then
	check "1000 hits of a uprobe are 1000" counts 1000 "u$probe" -- tally ROUNDS
	check "... of a process and all that it starts 5000" counts 5000 "u$probe" -- tally ROUNDS tree
	check "... without what it starts 1000" counts 1000 "u$probe" -i -- tally ROUNDS tree
	check "returns, too" counts 5000 "uret$probe" -- tally ROUNDS tree
	check "on all CPUs they are everybody's" counts 5000 "u$probe" -a -- tally ROUNDS tree
	tally 3000 >/dev/null &
	check "while others run" counts 1000 "u$probe" -- tally ROUNDS
	wait $!
else
	skip "hits of a uprobe" "the kernel has no uprobe PMU"
fi

# --- A process that runs ---
running()
{
	local pid
	mkfifo "$TMPDIR/go"
	tally 1000 wait <"$TMPDIR/go" &
	pid=$!
	exec 9>"$TMPDIR/go"
	(sleep 1 && echo >&9) &
	rm -f "$out"
	"$bpfprof" stat -x '|' -o "$out" -e "page-faults,u$probe" -p $pid -d 20 2>>"$log" || return 1
	exec 9>&-
	wait $pid
	cat "$out" >>"$log"
	is "$(sed -n 2p "$out" | cut -d '|' -f 1) == 5000" && is "$(head -n 1 "$out" | cut -d '|' -f 1) >= 5000"
}
check "-p: with what it starts, until it ends" running
check "-d ends the counting, COMMAND goes on" \
	is "$(counted_of page-faults -d 200ms -- sh -c 'sleep 0.6; tally 1000') < 900"

# --- How it ends ---
status_of()
{
	local want=$1
	shift
	"$bpfprof" stat -e page-faults "$@" >>"$log" 2>&1
	is "$? == $want"
}
check "COMMAND's status is ours" status_of 7 -- tally 1
# shellcheck disable=SC2016 # the inner shell's variable
check "128 + N for a COMMAND that signal N ended" status_of 143 -- sh -c 'kill -TERM $$'
check "127 where there is none" status_of 127 -- no-such-program
check "126 where it cannot be run" status_of 126 -- /tmp
if [ "$(id -u)" = 0 ]; then
	uid=$(SUDO_UID=65534 SUDO_GID=65534 "$bpfprof" stat -e page-faults -- id -u 2>>"$log")
	check "COMMAND runs as \$SUDO_UID" is "$uid == 65534"
fi

# --- What it prints ---
"$bpfprof" stat -- tally 10 >"$TMPDIR/stdout" 2>"$TMPDIR/stderr"
[ ! -s "$TMPDIR/stdout" ] && grep -q '^ *[0-9.]*  ms  task-clock  *[0-9.]* CPUs$' "$TMPDIR/stderr" &&
	grep -q '^ *[0-9]*      page-faults ' "$TMPDIR/stderr" && grep -q ' s   elapsed$' "$TMPDIR/stderr"
verdict $? "without -e: what opens here of a first look, on stderr"
"$bpfprof" stat -q --json -o - -e page-faults,task-clock -- tally 10 2>>"$log" | python3 -c '
import json, sys
got = json.load(sys.stdin)
assert got["status"] == 7 and [e["name"] for e in got["events"]] == ["page-faults", "task-clock"], got
assert got["events"][0]["count"] >= 10 and got["events"][1]["unit"] == "ns", got' 2>>"$log"
verdict $? "--json"
echo precious >"$TMPDIR/out/taken"
"$bpfprof" stat -o "$TMPDIR/out/taken" -d 100ms 2>>"$log"
is "$? == 1" && [ "$(cat "$TMPDIR/out/taken")" = precious ]
verdict $? "-o does not overwrite"
exit $status
