#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --interval: each window is a profile of its own, and together they are what one undivided recording would be.
# timeout: 300
set -u
. tests/e2e/live.sh
compile split split.c
cpu_cnt=$(online_cpus | wc -l)
out=$TMPDIR/out

# ledger_of WINDOW PATH: a value of the ledger that the window's pprof carries.
ledger_of()
{
	gunzip -c "$out/w-$1.pb.gz" | python3 -c '
import json, sys
data = sys.stdin.buffer.read()
start = data.index(b"bpfprof-ledger: ") + len(b"bpfprof-ledger: ")
value = json.JSONDecoder().raw_decode(data[start:].decode("utf-8", "replace"))[0]
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value)' "$2"
}

# sum PATH: over all windows
sum()
{
	local window total=0
	for window in 1 2 3 4 5; do
		total=$((total + $(ledger_of $window "$1")))
	done
	echo $total
}

# A second each, 5 in all; the books of the seams are what is looked at, so nothing else is there to be missed.
record_windows()
{
	rm -f "$out"/w-*
	count_within 5
	"$bpfprof" -q -a -F 999 -i 1s -d 5 -o "$out/w-%n.pb.gz" -o "$out/w-%n.folded" -o "$out/w-%n.svg" \
		--force --stats "$out/w.json" 2>>"$log"
}

is_not_missing_more()
{
	local window
	record_windows || return 1
	wait "${loads[-1]}"
	for window in 1 2 3 4 5; do
		is "$(ledger_of $window events.0.never_ran.busy) / $(ledger_of $window events.0.ticks) \
			<= ($(counted ticks) - $(counted ran)) / $(counted ticks) + 0.005" || return 1
	done
	is "$(sum events.0.never_ran.busy) / $(sum events.0.ticks) \
		<= ($(counted ticks) - $(counted ran)) / $(counted ticks) + 0.001"
}

keep_cpus_busy 600
retried 3 "never_ran is what a program that only counts misses, + 0.1 points in all windows, + 0.5 in each" is_not_missing_more
[ "$(ls "$out"/w-*.pb.gz | wc -l)" = 5 ]
verdict $? "5 windows in 5 s are 5 files"
for window in 1 2 3 4 5; do
	check "window $window: the pprof and the folded file hold the same" \
		cmp <("$bpfprof" convert "$out/w-$window.pb.gz" -o - | sort) <(sort "$out/w-$window.folded")
	check "window $window: each recorded sample is in it" \
		is "$(ledger_of $window events.0.recorded) == $(samples . "w-$window")"
	check "window $window: ran = recorded + filtered, and it lasted more than half a second" \
		is "$(ledger_of $window events.0.ran) == $(ledger_of $window events.0.recorded) + $(ledger_of $window events.0.filtered) \
			&& $(ledger_of $window duration_s) > 0.5"
	if command -v xmllint >/dev/null; then
		check "window $window: the SVG is well-formed" xmllint --noout "$out/w-$window.svg"
	else
		skip "window $window: the SVG is well-formed" "there is no xmllint"
	fi
done
check "no sample is lost or counted twice at the seams: the kernel has counted as many runs" \
	is "$(sum events.0.ran) == $(field w cost.bpf_runs)"
for count in ticks ran filtered recorded never_ran.busy never_ran.idle; do
	check "the windows' $count add up to that of --stats" is "$(sum events.0.$count) == $(field w events.0.$count)"
done
check "the windows' ticks are what one count over 5 s would be" \
	is "$(sum events.0.ticks) <= 999 * $cpu_cnt * $(field w duration_s) + $cpu_cnt &&
		$(sum events.0.ticks) >= 0.95 * 999 * $cpu_cnt * $(field w duration_s)"
check "--stats: the books balance" "$helpers/check_stats" "$out/w.json" 4000

"$bpfprof" -q -a -F 99 -i 1s -d 3 -f >"$out/stdout.folded" 2>>"$log"
check "windows on stdout end with an empty line: 3 of them" \
	is "$(grep -c '^$' "$out/stdout.folded") == 3 && $(tail -n 1 "$out/stdout.folded" | wc -w) == 0"
check "each of them has samples" \
	is "$(awk 'BEGIN { RS = "" } NF' "$out/stdout.folded" | grep -c .) > 0 && $(awk 'BEGIN { RS = ""; n = 0 } NF { n++ } END { print n }' "$out/stdout.folded") == 3"
stop_loads
exit $status
