#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --wall adds up: for each thread, on a CPU, runnable and blocked are together the time that it was there.
# timeout: 300
set -u
. tests/e2e/waits.sh
compile split split.c
file=$TMPDIR/direct_reads
HZ=999

# --- From each thread's birth to its end ---

# A short life's end, after it told its truth, is more than 1 % of it.
long='sleep_.*|holder|waiter|ping|pong|direct_reader|migrator|starved_.*|lives_parent|blocked_.*'
# What the machine itself adds in a busy moment is in nobody's truth: a quiet one will come. The cases below say which.
lives()
{
	waits lives --wall -F $HZ --max-cpu 100 --by comm,tid -- waits_all 8 "$file" && lost_nothing lives &&
		says lives "$long" wall=elapsed && says lives "$long|lives_child|.*_exec" blocked=blocked/elapsed &&
		says lives "$long" runnable=runnable/elapsed && says lives "$long" cpu=cpu/elapsed
}
retried 4 "workloads from their beginning to their end: exit status 0, nothing is lost, and their times" lives
check "six values, wall in ns by default" is "\"$(value lives --types | tr '\n' ' ')\" == \"samples/count cpu/nanoseconds \
waits/count blocked/nanoseconds runnable/nanoseconds wall/nanoseconds* \""
sum=$(($(value lives cpu) + $(value lives runnable) + $(value lives blocked)))
check "wall is cpu, runnable and blocked" is "$(value lives wall) == $sum && $sum > 0"
check "the folded file holds the default value" is "$(samples . lives) == $(value lives wall)"
check "each thread: wall is its life" says lives "$long" wall=elapsed
check "each thread: blocked is what it was" says lives "$long|lives_child|.*_exec" blocked=blocked/elapsed
check "each thread: runnable is what the kernel says" says lives "$long" runnable=runnable/elapsed
check "each thread: cpu is what it took" says lives "$long" cpu=cpu/elapsed
check "on a CPU is no wait: each sample is either" is "$(value lives cpu 'state=interruptible|uninterruptible|stopped|runnable') == 0 &&
	$(value lives blocked 'state=(running)?') == 0 && $(value lives runnable 'state=(running)?') == 0"
check "who works is on a CPU: the holder's work has its samples" is \
	"$(value lives cpu comm=holder stack=';holder_work(;|$)') >= 0.9 * $(truth lives cpu holder)"

# --- A window in which all of them are there, before and after ---

sleeps 300 >"$TMPDIR/told" &
pids=("$!")
mutex 300 >>"$TMPDIR/told" &
pids+=("$!")
migrates 300 >>"$TMPDIR/told" &
pids+=("$!")
starved 300 "$(online_cpus | tail -n 1)" >>"$TMPDIR/told" &
pids+=("$!")
loads+=("${pids[@]}")
start_ready blocked
pids+=("$load")
start_ready crowd 500
pids+=("$load")
load split 300
pids+=("$load")
sleep 0.3
threads_of "${pids[@]}"
check "all of them are there" is "$(wc -l <"$TMPDIR/threads") == 6 + 3 + 3 + 4 + 2 + 501 + 1"
waited window "a window of 6 s" --wall -F $HZ --max-cpu 100 --by comm,tid -p "$(IFS=,; echo "${pids[*]}")" -d 6
whole_window window
check "threads of which some work: wall is the recording's duration, for each" says window \
	'sleep.*|holder|waiter|migrator|mover|starved.*|split|blocked_.*|mutex|migrates' wall=elapsed
check "500 threads asleep: wall is the duration, for each" says window 'crowd.*' wall=elapsed
check "... and nobody else is there" is \
	"$(value window --count tid) == $(wc -l <"$TMPDIR/threads")"

# --- Every CPU, while the same loads run ---

waited every "-a" --wall -F $HZ -a --by comm,tid -d 3
whole_window every
check "-a: wall is the duration, for each that is asleep" says every 'crowd.*|blocked_.*|sleep_300ms' wall=elapsed
check "-a: no idle task" is "$(value every --count comm comm='swapper.*') == 0"
exit $status
