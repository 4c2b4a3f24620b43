#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `bpfprof list`: what it shows opens, what does not is not shown.
set -u
. tests/e2e/live.sh
out=$TMPDIR/out/list

"$bpfprof" list >"$out" 2>>"$log"
verdict $? "there are events"
grep -q '^cpu-clock  *sw$' "$out"
verdict $? "cpu-clock is one of them"
[ -z "$(sort "$out" | uniq -d)" ]
verdict $? "each is there once"

# Counters: bpfprof stat opens each of them, and perf, too.
opens_all()
{
	local name
	for name in $(awk '$2 != "tracepoint" { print $1 }' "$out"); do
		"$bpfprof" stat -o "$TMPDIR/out/opened" --force -d 1ms -e "$name" 2>>"$log" || return 1
	done
}
check "each counter opens" opens_all
not_shown()
{
	local name
	for name in cycles instructions cache-misses LLC-loads dTLB-load-misses; do
		grep -q "^$name " "$out" && continue
		! "$bpfprof" stat -e $name -d 1ms 2>>"$log" || return 1
		grep -q "'$name' does not open here" "$log" || return 1
	done
}
check "what is not shown does not open, and says so" not_shown

# --- Tracepoints ---
if grep -q ' tracepoint$' "$out"; then
	[ "$(grep -c ' tracepoint$' "$out")" -gt 100 ]
	verdict $? "tracepoints are shown, mounted or not"
	"$bpfprof" list -v sched:sched_switch >"$out" 2>>"$log"
	[ "$(head -n 1 "$out")" = "sched:sched_switch  tracepoint" ] && grep -qx '    char\[16\] prev_comm' "$out" &&
		grep -qE '^    pid_t next_pid$' "$out" && ! grep -q common_ "$out"
	verdict $? "-v shows their fields"
	"$bpfprof" list 'syscalls:sys_enter_getran?om' >"$out" 2>>"$log"
	[ "$(cat "$out")" = "syscalls:sys_enter_getrandom  tracepoint" ]
	verdict $? "a glob"
	"$bpfprof" list tracepoint:sched:sched_switch >"$out" 2>>"$log"
	[ "$(cat "$out")" = "sched:sched_switch  tracepoint" ]
	verdict $? "with its prefix"
else
	skip "tracepoints" "none here"
fi
"$bpfprof" list sw >"$out" 2>>"$log" && ! grep -qv ' sw$' "$out"
verdict $? "one kind"
if [ -e /sys/bus/event_source/devices/kprobe ]; then
	"$bpfprof" list 'kprobe:vfs_rea*' >"$out" 2>>"$log" && grep -q '^kprobe:vfs_read  kprobe$' "$out"
	verdict $? "functions of the kernel"
else
	"$bpfprof" list 'kprobe:vfs_*' >"$out" 2>"$TMPDIR/err"
	[ $? = 1 ] && grep -q 'this kernel has no kprobes' "$TMPDIR/err"
	verdict $? "functions of a kernel without kprobes: says so"
fi
"$bpfprof" list page-fautls >"$out" 2>"$TMPDIR/err"
[ $? = 1 ] && [ ! -s "$out" ] && grep -q "did you mean 'page-faults'" "$TMPDIR/err"
verdict $? "nothing matches: 1, and the nearest"
took=$( { time -p "$bpfprof" list >/dev/null; } 2>&1 | awk '$1 == "real" { print $2 }')
check "all in less than half a second ($took s)" is "$took < 0.5"
exit $status
