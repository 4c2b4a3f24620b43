#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Any event is a trigger: tracepoints, probes of user code and software events count to the unit, with the right stacks.
# timeout: 300
set -u
. tests/e2e/live.sh
build_helpers
compile triggers triggers.c -O2
cnt=2000
few=$((cnt / 10))
program=$TMPDIR/bin/triggers

# triggered NAME ARG...: a recording of the program into out/NAME.{folded,json}, and a case.
triggered()
{
	local name=$1
	shift
	check "$name: exit status 0, and the books balance" triggers_recorded "$name" "$@"
}

triggers_recorded()
{
	local name=$1
	record "$@" -- triggers "$cnt" && "$helpers/check_stats" "$TMPDIR/out/$name.json" 1
}

# counted REGEX NAME N: just so many.
counted()
{
	is "$(samples "$1" "$2") == $3" || { hottest "$2"; return 1; }
}

# --- Counts ---

triggered getrandom -e syscalls:sys_enter_getrandom
check "a tracepoint counts each system call, at its caller" counted ';main;ask;getrandom;' getrandom "$cnt"

triggered leaf -e "uprobe:$program:leaf"
check "a uprobe counts each call" counted ';leaf ' leaf $((3 * cnt))
check "from its caller, at its first instruction" counted ';main;middle;leaf ' leaf "$cnt"
check "and from the other" counted ';__libc_start_call_main;main;leaf ' leaf $((2 * cnt))

triggered faults -e page-faults
check "each page that was touched is a fault" counted ';main;fault ' faults "$cnt"

triggered tenth_fault -c 10 -e page-faults
all=$(samples '^triggers;' faults)
check "-c 10: a fault that is recorded stands for ten" is "$(samples '^triggers;' tenth_fault) <= $all + 100 &&
	$(samples '^triggers;' tenth_fault) >= $all - 9 * $(online_cpus | wc -l) - 100"
# What comes after a CPU's last sample is in none. (A burst may leave the kernel with a period that is not over for
# seconds; there is a sample every second even then.)
compile touches touches.c
record fault_rate -F 1000 -e page-faults -- touches 50000 >>"$log" 2>&1
verdict $? "-F on a counter: exit status 0"
check "a sample stands for what was counted since the last one" is "$(samples '^touches;.*;main ' fault_rate) > 25000 &&
	$(samples '^touches;.*;main ' fault_rate) <= 55000 && $(field fault_rate events.0.recorded) < 10000"

# On one CPU: each keeps its own count.
tenth()
{
	record tenth -c 10 -e "uprobe:$program:leaf" -- taskset -c "$(online_cpus | head -n 1)" triggers "$cnt" &&
		"$helpers/check_stats" "$TMPDIR/out/tenth.json" 1
}
check "tenth: exit status 0, and the books balance" tenth
check "-c 10: the total is scaled back" counted ';leaf ' tenth $((3 * cnt))
check "a tenth of them was recorded" is "$(field tenth events.0.recorded) == 3 * $cnt / 10"
check "the rest is in the ledger" is "$(field tenth events.0.passed_over) == 3 * $cnt * 9 / 10"
triggered remainder -c 7 -e syscalls:sys_enter_getrandom
check "-c 7: within the remainder of each CPU" is "$(samples . remainder) <= $(field remainder events.0.ran) &&
	$(samples . remainder) > $cnt - 7 * $(online_cpus | wc -l)"

# A timer's interrupts, about half of them inside a bpf() call.
compile map_updates map_updates.c -O2
missed()
{
	local counted=0
	"$bpfprof" doctor | grep -q '^ok *tracepoints .* but counted' && counted=1
	record inside -e irq_vectors:local_timer_entry -- map_updates 1 || return 1
	is "$(field inside events.0.recorded) > 10 && ($(field inside events.0.never_ran.busy) > 10) == $counted"
}
check "hits inside bpf() calls are counted, where doctor says so" missed

triggered rate -F 50 -e "uprobe:$program:leaf"
check "-F on a probe: what was passed over is counted with the next sample" \
	is "$(samples ';leaf ' rate) > 0.8 * 3 * $cnt && $(samples ';leaf ' rate) <= 3 * $cnt"
check "and few are recorded" is "$(field rate events.0.recorded) < $cnt"

# --- Returns ---

triggered returns -e "uretprobe:$program:nested"
check "a uretprobe counts each return" counted . returns $((7 * few))
check "whose stack is the caller's" counted ';main;nested;nested;nested;nested;nested ' returns "$few"
check "and main's, of the outermost and of those that hop() jumped to" counted ';main ' returns $((2 * few))
check "no stack ends at the kernel's trampoline" counted 'bad_return' returns 0
triggered under -e "uprobe:$program:bottom" -e "uretprobe:$program:nested" -e "uretprobe:$program:hop" \
	--value uprobe:triggers:bottom
check "under return probes: the calls are all there" counted ';main;nested;nested;nested;nested;nested;nested;bottom ' \
	under "$few"
check "a jump between two functions with return probes too" counted ';main;nested;bottom ' under "$few"

triggered elapsed -e "uprobe:$program:waits" --elapsed
check "--elapsed: the time of the calls" is "$(samples ';main ' elapsed) >= $few * 1e6 &&
	$(samples ';main ' elapsed) < $few * 50e6"
triggered nested_time -e "uprobe:$program:nested" --elapsed
check "of nested ones each has its own" is "$(samples ';main ' nested_time) > $(samples ';main;nested ' nested_time) &&
	$(samples ';main;nested ' nested_time) > $(samples ';main;nested;nested ' nested_time)"

# --- USDT, and what is asked of arguments ---

if ! { g++ -O2 -DLIBRARY -fPIC -shared -o "$TMPDIR/bin/libtarget.so.1" tests/e2e/probe_target.cpp &&
	g++ -O2 -fPIE -pie -Wl,-rpath,"$TMPDIR/bin" -o "$TMPDIR/bin/probed" tests/e2e/probe_target.cpp \
		"$TMPDIR/bin/libtarget.so.1"; } >>"$log" 2>&1; then
	verdict 1 "the program with USDT probes compiles"
	exit 1
fi

# The program stops itself; whoever sees that lets it go on.
probed()
{
	local name=$1 pid
	shift
	(
		until pid=$(pgrep -x probed) && [ "$(ps -o state= -p "$pid")" = T ]; do
			sleep 0.1
		done
		kill -CONT "$pid"
	) &
	record "$name" "$@" -- probed && "$helpers/check_stats" "$TMPDIR/out/$name.json" 1
}

probes=usdt:$TMPDIR/bin/probed
provider=$("$bpfprof" list "$probes:*" 2>/dev/null | awk -F: '/twice/ { print $(NF - 1); exit }')
[ -n "$provider" ] || provider=$(readelf -n "$TMPDIR/bin/probed" | awk '/Provider:/ { print $2; exit }')
check "a USDT probe in two places" probed twice -e "$probes:$provider:twice"
check "counts the hits of both" counted ';main;' twice 150
check "one with a semaphore" probed watched -e "$probes:$provider:watched"
check "is awake when it is asked for" counted ';main;' watched 300
check "--where on an argument" probed where -e "$probes:$provider:watched" --where 'arg0 < 20'
check "runs in the kernel" counted ';main;' where 20

triggered heap_all -e "uprobe:$program:heap" --weight 'arg0:bytes'
check "--weight: bytes instead of calls" counted ';heap ' heap_all $((few * (few + 1) / 2))
triggered heap_odd -e "uprobe:$program:heap" --where 'str(arg1) == "odd"'
check "--where on a text" counted ';heap ' heap_odd $((few / 2))
triggered heap_failed -e "uretprobe:$program:heap" --where 's32(ret) < 0'
check "--where on the result" counted ';main ' heap_failed $((few / 2))
triggered heap_hist -e "uprobe:$program:heap" --hist arg0 -o "$TMPDIR/out/heap_hist.pb.gz"
check "--hist: a column of each power of two" is "$(python3 tests/e2e/pprof_values.py "$TMPDIR/out/heap_hist.pb.gz" \
	--count hist) == 8"
check "which holds what it should" is "$(python3 tests/e2e/pprof_values.py "$TMPDIR/out/heap_hist.pb.gz" \
	uprobe:triggers:heap hist=64) == 64"

# --- Callers ---

# sites NAME: the call sites of leaf() with their counts
triggered callers -e "uprobe:$program:leaf" --by caller
line=$(grep -n '		leaf(i);' "$workloads/triggers.c" | cut -d: -f1)
check "--by caller: one line of main()" counted "^main \\(triggers.c:$line\\);" callers "$cnt"
check "the other" counted "^main \\(triggers.c:$((line + 1))\\);" callers "$cnt"
check "another function" counted "^middle \\(triggers.c:[0-9]*\\);middle;leaf " callers "$cnt"

# --- Several at once ---

triggered several -e "page-faults,uprobe:$program:leaf" -e syscalls:sys_enter_getrandom -o "$TMPDIR/out/several.pb.gz"
value()
{
	python3 tests/e2e/pprof_values.py "$TMPDIR/out/several.pb.gz" "$@"
}
check "several events: each has its value" is "$(value uprobe:triggers:leaf) == 3 * $cnt &&
	$(value syscalls:sys_enter_getrandom 'stack=;ask;') == $cnt && $(value page-faults 'stack=;fault$') == $cnt"
check "and its row in the ledger" is "$(field several events.1.recorded) == 3 * $cnt &&
	$(field several events.2.recorded) >= $cnt"

# --- Beside bpftrace, on the same program ---

# It looks for tracepoints where debugfs is wont to be.
bpftrace_counts()
{
	unshare --mount sh -c 'mount -t debugfs none /sys/kernel/debug 2>/dev/null
		mount -t tracefs none /sys/kernel/debug/tracing 2>/dev/null
		exec bpftrace -q -e "$1" -c "$2"' sh "
		uprobe:$program:leaf { @leaf = count(); }
		tracepoint:syscalls:sys_enter_getrandom /comm == \"triggers\"/ { @getrandom = count(); }
		software:page-faults:1 /comm == \"triggers\"/ { @faults[ustack(1)] = count(); }" \
		"$program $cnt" >"$TMPDIR/out/theirs" 2>&1 || { tail "$TMPDIR/out/theirs"; return 1; }
}
if have bpftrace; then
	check "bpftrace counts the same program" bpftrace_counts
	check "each call as often" counted ';leaf ' leaf "$(awk '/^@leaf:/ { print $2 }' "$TMPDIR/out/theirs")"
	check "each system call too" counted '^triggers;' getrandom \
		"$(awk '/^@getrandom:/ { print $2 }' "$TMPDIR/out/theirs")"
	check "and each page fault of one line" counted ';main;fault ' faults \
		"$(awk '/^\]: [0-9]+$/ && $2 > most { most = $2 } END { print most }' "$TMPDIR/out/theirs")"
else
	skip "bpftrace counts the same" "bpftrace is not installed"
fi
exit $status
