#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two recordings at once, and one beside perf and bpftrace: nothing is lost, the books of each balance, and what the
# kernel did not let run for the other's sake is told.
# timeout: 200
set -u
. tests/e2e/live.sh
compile split split.c
compile sleeps sleeps.c
out=$TMPDIR/out

# books NAME: as whoever reads the file sees them: nothing lost, each equation to the unit, ticks that never ran told.
books()
{
	"$helpers/check_stats" "$out/$1.json" 100 && python3 - "$out/$1.json" <<-'END2'
		import json, sys
		for event in json.load(open(sys.argv[1]))["events"]:
		    never = event["never_ran"]
		    print(event["name"], event["ticks"], "ticks,", event["ran"], "ran, never ran:", never)
		    assert sum(event["lost"].values()) == 0
		    assert event["ran"] == event["recorded"] + event["filtered"]
		    assert event["ticks"] - event["ran"] == never["busy"] + never["idle"]
		    for row in event["per_cpu"]:
		        assert row["ticks"] - row["ran"] == sum(row["never_ran"].values())
	END2
}

# said NAME: the summary states it too.
said()
{
	grep -E 'ledger: .* ran of .* ticks \(never ran: [0-9,]+ busy, [0-9,]+ idle\) = .* \+ 0 lost.*; balanced$' "$out/$1.err" &&
		return
	cat "$out/$1.err"
	return 1
}

# begin NAME ARG...: a recording beside others; end NAME waits for it.
declare -A pids
begin()
{
	local name=$1
	shift
	rm -f "$out/$name".*
	"$bpfprof" -o "$out/$name.folded" --annotate --stats "$out/$name.json" "$@" 2>"$out/$name.err" </dev/null &
	pids[$name]=$!
}

end()
{
	wait "${pids[$1]}"
	local code=$?
	cat "$out/$1.err" >>"$log"
	check "$2: exit status 0" is "$code == 0"
	check "$2: nothing is lost, the books balance" books "$1"
	check "$2: what never ran is stated" said "$1"
}

# sees NAME HZ: the two programs of this test are there, the one that computes as often as its clock ticked.
sees()
{
	check "$3: every sample is in the file" is "$(field "$1" events.0.recorded) == $(samples . "$1")"
	check "$3: the program that computes has its stacks" has '^split;.*;main;deal_deck;' "$1" "$2"
}

keep_cpus_busy 300
load sleeps 300

# --- Two of the same kind ---
begin one -a -F 499 -d 5
begin two -a -F 997 -d 5
end one "two at once, the first"
end two "two at once, the second"
sees one 300 "two at once, the first"
sees two 600 "two at once, the second"
check "two at once: of the same time they see the same share" \
	agree "$(samples '^split;' one)" "$(samples . one)" "$(samples '^split;' two)" "$(samples . two)"

# --- On and off the CPU each: both hang on every switch ---
begin wall_one --wall -F 199 -d 5
begin wall_two --wall -F 499 -d 5
end wall_one "on and off the CPU twice, the first"
end wall_two "on and off the CPU twice, the second"
check "on and off the CPU twice: both know where a program sleeps" has '^sleeps;.*main;' wall_one 1000000000
check "... each of them" has '^sleeps;.*main;' wall_two 1000000000

# --- Beside other profilers ---
if have perf; then
	(cd "$out" && exec perf record -a -g -F 499 -o perf.data -- sleep 6) >"$TMPDIR/perf.said" 2>&1 &
	other=$!
	sleep 0.5
	begin perf -a -F 499 -d 5
	end perf "beside perf record -a -g"
	sees perf 300 "beside perf record -a -g"
	wait $other
	verdict $? "perf itself ends well"
else
	skip "beside perf" "there is no perf"
fi
if have bpftrace; then
	timeout -s INT 60 bpftrace -e 'profile:hz:99 { @[kstack, ustack] = count(); } BEGIN { printf("begun\n"); }' \
		>"$TMPDIR/bpftrace.said" 2>&1 &
	other=$!
	loads+=("$other")
	for _ in $(seq 150); do
		grep -q begun "$TMPDIR/bpftrace.said" && break
		sleep 0.2
	done
	begin bpftrace -a -F 499 -d 5
	end bpftrace "beside bpftrace's profile:hz:99"
	sees bpftrace 300 "beside bpftrace's profile:hz:99"
	kill -INT $other
	wait $other
	check "bpftrace has counted stacks" is "$(grep -c '^]: [0-9]' "$TMPDIR/bpftrace.said") > 0"
else
	skip "beside bpftrace" "there is no bpftrace"
fi
stop_loads
exit $status
