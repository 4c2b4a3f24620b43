#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A CPU goes offline and comes back while it is recorded: a perf event dies with its CPU and does not say so.
# timeout: 400
set -u
. tests/e2e/live.sh
compile split split.c
last=$(online_cpus | tail -n 1)
switch=/sys/devices/system/cpu/cpu$last/online
out=$TMPDIR/out

if [ "$(online_cpus | wc -l)" -lt 2 ] || [ ! -w "$switch" ]; then
	skip "hotplug" "there is no second CPU that can be switched off"
	exit 0
fi
trap 'stop_loads; echo 1 >"$switch"' EXIT
if ! echo 0 2>/dev/null >"$switch"; then
	skip "hotplug" "this machine does not let a CPU go offline"
	exit 0
fi
echo 1 >"$switch"

# Off after 1.5 s, on again, and then as long as it takes for a whole window. Pinned programs are spread over the other
# CPUs when theirs goes away, so the CPU needs work of its own when it is back.
# Fails when the CPU was not gone within half a second: on a very busy machine it can take ten.
record_unplugged()
{
	local before quick=false
	rm -f "$out"/*
	"$bpfprof" -q -a -F 999 -i 1s --by cpu -o "$out/w-%n.folded" --stats "$out/w.json" 2>>"$log" &
	recorder=$!
	sleep 1.5
	before=$(date +%s%N)
	echo 0 >"$switch"
	[ $((($(date +%s%N) - before) / 1000000)) -lt 500 ] && quick=true
	sleep 2.2
	echo 1 >"$switch"
	load taskset -c "$last" split 120
	sleep 4
	kill -INT $recorder
	wait $recorder
	code=$?
	window_cnt=$(find "$out" -name 'w-*.folded' | wc -l)
	$quick
}

# How many of the windows have no sample of the CPU?
windows_without()
{
	local window cnt=0
	for window in $(seq "$window_cnt"); do
		[ "$(samples "^$last;" "w-$window")" -gt 0 ] || cnt=$((cnt + 1))
	done
	echo $cnt
}

# Whether the CPU was seen again is asked here, because a machine that is overloaded may see it late.
is_unplugged=false
for _ in 1 2 3; do
	keep_cpus_busy 60
	record_unplugged && is_unplugged=true
	stop_loads
	$is_unplugged && has "^$last;" "w-$((window_cnt - 1))" 600 >/dev/null && break
done
if ! $is_unplugged; then
	skip "hotplug" "a CPU takes seconds to go offline here"
	exit 0
fi
check "the recording ends as ever" is "$code == 0"
cat "$out"/w-*.folded >"$out/all.folded"
check "samples of CPU $last before" has "^$last;" w-1 300
check "none while it was offline" is "$(windows_without) >= 1"
check "samples of CPU $last after it came back, a whole window full" has "^$last;" "w-$((window_cnt - 1))" 600
check "the other CPU was sampled all the time" is "$(samples '^0;' all) > 0.9 * 999 * $(field w duration_s)"
check "the books balance" "$helpers/check_stats" "$out/w.json" 4000
check "each recorded sample is in a file" is "$(samples . all) == $(field w events.0.recorded)"
check "the kernel has counted as many runs" is "$(field w events.0.ran) == $(field w cost.bpf_runs)"
check "no tick is owed for the time that CPU $last was away" \
	is "$(field w events.0.per_cpu.1.ticks) < 999 * ($(field w duration_s) - 1)"
check "what it missed is not more than elsewhere" \
	is "$(field w events.0.per_cpu.1.never_ran.busy) <= $(field w events.0.per_cpu.0.never_ran.busy) + 0.01 * $(field w events.0.ticks)"

# --- It starts while a CPU is offline ---
echo 0 >"$switch"
"$bpfprof" -q -a -F 999 -d 4 --by cpu -o "$out/late.folded" --stats "$out/late.json" 2>>"$log" &
recorder=$!
sleep 1.5
echo 1 >"$switch"
load taskset -c "$last" split 120
wait $recorder
code=$?
check "a CPU that was offline at the start: exit status 0" is "$code == 0"
check "it is sampled once it is there" has "^$last;" late 300
check "the books balance then" balanced late
stop_loads
exit $status
