#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --timeline: samples and waits are of the time when they were, add up to what they do without, and are shown so.
# timeout: 300
set -u
. tests/e2e/live.sh
export PYTHONDONTWRITEBYTECODE=1
compile phases phases.c -Wall -Wextra

# timed NAME ARG...: record into out/NAME.profile.json and .pb.gz, too; nothing is lost.
timed()
{
	local name=$1
	shift
	rm -f "$TMPDIR/out/$name".*
	record "$name" -o "$TMPDIR/out/$name.profile.json" -o "$TMPDIR/out/$name.pb.gz" "$@" || return
	python3 - "$TMPDIR/out/$name.json" <<-'END'
		import json, sys
		events = json.load(open(sys.argv[1]))["events"]
		print([(e["name"], e["ran"], e["recorded"], e["filtered"], e["lost"]) for e in events])
		sys.exit(not events or any(e["ran"] != e["recorded"] + e["filtered"] + sum(e["lost"].values()) or
			sum(e["lost"].values()) for e in events))
	END
}

when()
{
	local what=$1 name=$2
	shift 2
	python3 tests/e2e/timeline_check.py "$what" "$TMPDIR/out/$name.profile.json" "$@"
}

recorded()
{
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["events"][0]["recorded"])' "$TMPDIR/out/$1.json"
}

# --- Samples ---

check "two functions in turn: the books balance, nothing is lost" timed cpu --timeline -F 499 -- phases busy 3
check "all have times of 20 ms, thread, process and CPU" when labels cpu 20 tid pid cpu
check "each function in its phases" when phases cpu 20 300
check "samples: those that were recorded" is "$(when total cpu samples) == $(recorded cpu)"
check "as folded stacks, time does not split them" is \
	"$(sed 's/ [0-9]*$//' "$TMPDIR/out/cpu.folded" | sort -u | wc -l) == $(wc -l <"$TMPDIR/out/cpu.folded")"

# perf_text: as perf's text, and from that again.
perf_text()
{
	"$bpfprof" convert "$TMPDIR/out/cpu.pb.gz" -o "$TMPDIR/out/cpu.perf.txt" &&
		"$bpfprof" convert "$TMPDIR/out/cpu.perf.txt" -o "$TMPDIR/out/again.profile.json" &&
		is "$(when total again samples) == $(recorded cpu)"
}
check "perf script's text has them all" perf_text
check "... in the order of time" sort -c -k1,1n \
	<(grep -oE '\] [0-9.]+: ' "$TMPDIR/out/cpu.perf.txt" | tr -d ']: ')
check "... and with times again" when labels again 20 tid pid cpu

load phases busy 30
check "a process by its number, buckets of 100 ms" timed pid --timeline=100ms -p "$load" 2
check "... have times of 100 ms" when labels pid 100 tid pid cpu
check "windows of a second" timed window-%n --timeline --interval 1s -p "$load" -d 3
for nr in 1 2 3; do
	check "window $nr: times since its own beginning" when labels "window-$nr" 20 tid pid cpu
	check "window $nr: each function in its phases" when phases "window-$nr" 20 20
done

# --- Waits ---

check "--off-cpu: the books balance" timed waits --off-cpu --max-cpu 100 --timeline -- phases sleep 4
check "waits have times and threads" when labels waits 20 tid pid
check "a sleep is of the time that it began at" when sleeps waits 20 5
check "--wall: the books balance" timed wall --wall --timeline -p "$load" -d 2
check "... and all of the thread's time is there" is \
	"$(when total wall wall phases) >= 1.9e9 && $(when total wall wall phases) <= 2.1e9"
stop_loads

# --- What is refused ---

refused()
{
	"$bpfprof" -o "$TMPDIR/out/refused.folded" "$@" -d 1 2>"$TMPDIR/out/refused"
	[ $? = 2 ] && grep -q -- "--timeline" "$TMPDIR/out/refused" && [ "$(wc -l <"$TMPDIR/out/refused")" = 1 ]
}
check "a bucket that is no time" refused --timeline=soon
check "a bucket of nothing" refused --timeline=0
check "a bucket of less than a millisecond" refused --timeline=10us
check "the heap has no times" refused --timeline --heap -p $$

# --- The page ---

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
	skip "timeline_browser" "no chromium"
else
	mkdir "$TMPDIR/page"
	python3 tests/e2e/timeline_browser.py "$chromium" "$TMPDIR/page" "$bpfprof" || status=1
fi
exit $status
