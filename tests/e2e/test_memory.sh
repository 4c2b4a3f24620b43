#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording's memory does not grow with its duration. On a load whose stacks repeat, a longer one needs as much as a
# shorter; on one whose stacks never do, a window is the bound.
# timeout: 200
#
#	BPFPROF_TEST_LONG=1: 10 s against 40 s, instead of 4 s against 12 s
set -u
. tests/e2e/live.sh
compile split split.c
short=4 long=12
if [ -n "${BPFPROF_TEST_LONG:-}" ]; then
	short=10 long=40
fi

# kB of anonymous memory that the running recording holds
anonymous()
{
	awk '/^RssAnon:/ { print $2 }' "/proc/$recorder/status"
}

keep_cpus_busy 300
"$bpfprof" -q -F 999 --comm split -d $((long + 5)) -o "$TMPDIR/out/x.folded" --stats "$TMPDIR/out/x.json" 2>>"$log" &
recorder=$!
sleep $short
after_short=$(anonymous)
sleep $((long - short))
after_long=$(anonymous)
wait $recorder
verdict $? "a recording of $((long + 5)) s at 999 Hz"
check "the books balance" balanced x 1000
check "after $long s it holds as much memory as after $short s (kB, 5 % and a page table's worth more)" \
	is "$after_short > 0 && $after_long <= 1.05 * $after_short + 256"
check "its peak, files written, is within 64 MiB" is "$(field x cost.rss_anon_peak_bytes) <= 64 * 2 ^ 20"
check "kernel memory is within 32 MiB" is "$(field x cost.kernel_bytes) <= 32 * 2 ^ 20"

# --- Windows: the tenth is no larger than the third ---
"$bpfprof" -q -F 999 --comm split -i 1s -d 11 --force -o "$TMPDIR/out/w-%n.folded" 2>>"$log" &
recorder=$!
sleep 3.5
third=$(anonymous)
sleep 7
tenth=$(anonymous)
wait $recorder
verdict $? "11 windows"
check "after 10 windows it holds as much memory as after 3" is "$third > 0 && $tenth <= 1.05 * $third + 256"
stop_loads
exit $status
