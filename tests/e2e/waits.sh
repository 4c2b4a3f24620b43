# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of --off-cpu, --wall and --wakers: workloads that tell what they waited for, and their truth
# beside the profile's. Times are ns.

. tests/e2e/live.sh
export PYTHONDONTWRITEBYTECODE=1
cp "$workloads/waits_all" "$TMPDIR/bin/"
for program in sleeps mutex pingpong direct_reads migrates moves_asleep starved lives blocked crowd; do
	compile $program $program.c -Wall -Wextra -Wshadow
done

# waits NAME ARG...: bpfprof with these arguments; out/NAME.pb.gz too, and what the command says, in out/NAME.truth.
waits()
{
	local name=$1
	shift
	rm -f "$TMPDIR/out/$name.pb.gz"
	record "$name" -o "$TMPDIR/out/$name.pb.gz" "$@" >"$TMPDIR/out/$name.truth"
}

# waited NAME CASE ARG...: as waits, and a case: exit status 0, and nothing was lost.
waited()
{
	local name=$1 case=$2
	shift 2
	waits "$name" "$@" && lost_nothing "$name" >>"$log" 2>&1
	verdict $? "$case: exit status 0, and nothing is lost"
}

lost_nothing()
{
	python3 - "$TMPDIR/out/$1.json" <<-'END'
		import json, sys
		events = json.load(open(sys.argv[1]))["events"]
		print([(event["name"], event["lost"]) for event in events])
		sys.exit(not events or any(sum(event["lost"].values()) for event in events))
	END
}

# value NAME VALUE [KEY=REGEX]...: of out/NAME.pb.gz
value()
{
	python3 tests/e2e/pprof_values.py "$TMPDIR/out/$1.pb.gz" "${@:2}"
}

# truth NAME KEY COMM-REGEX: the sum over the threads of that name; a key that none has is an error in awk's eyes.
truth()
{
	awk -v key="$2" -v comm="$3" '$1 == "truth" {
		for (i = 2; i <= NF; i++) {
			eq = index($i, "=")
			of[substr($i, 1, eq - 1)] = substr($i, eq + 1)
		}
		if (of["comm"] ~ "^(" comm ")$") {
			sum += of[key]
			found += key in of
		}
		split("", of)
	} END { if (found) printf "%.0f\n", sum; else print "no_truth()" }' "$TMPDIR/out/$1.truth"
}

# within PERCENT GOT WANTED: wanted is not nothing, and got differs by less.
within()
{
	is "$2 > 0 && $3 > 0 && $2 >= (1 - $1 / 100) * $3 && $2 <= (1 + $1 / 100) * $3"
}

# says NAME COMM-REGEX RULE...: waits_judge.py's rules for each of these threads.
says()
{
	python3 tests/e2e/waits_judge.py --hz "${HZ:-0}" "$TMPDIR/out/$1.pb.gz" "$TMPDIR/out/$1.truth" "${@:2}"
}

# duration NAME: of the recording
duration()
{
	awk -v s="$(field "$1" duration_s)" 'BEGIN { printf "%.0f\n", s * 1e9 }'
}

# threads_of PID...: to be remembered in $TMPDIR/threads: the threads of these processes.
threads_of()
{
	local pid task
	for pid in "$@"; do
		for task in "/proc/$pid/task/"*; do
			echo "comm=$(<"$task/comm") pid=$pid tid=${task##*/}"
		done
	done >"$TMPDIR/threads"
}

# whole_window NAME: as if each thread of $TMPDIR/threads had said that it was there all the time, and blocked.
whole_window()
{
	local all
	all=$(duration "$1")
	sed "s/.*/truth & elapsed=$all blocked=$all/" "$TMPDIR/threads" >"$TMPDIR/out/$1.truth"
}

# start_ready COMMAND...: a load that says "ready"; its pid is in $load.
start_ready()
{
	local said=$TMPDIR/ready
	: >"$said"
	"$@" >"$said" 2>>"$log" &
	load=$!
	loads+=("$load")
	until grep -q ready "$said"; do
		kill -0 "$load" || return 1
		sleep 0.05
	done
}
