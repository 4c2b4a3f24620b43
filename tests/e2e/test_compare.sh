#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof compare: two programs that differ by a planted change, run alternately; failing commands, names that mean
# harm, what is left behind.
# timeout: 300
# beside others
set -u
. tests/e2e/live.sh

out=$TMPDIR/out

# compare STATUS NAME ARG...: bpfprof_into.
compare()
{
	local wanted=$1 name=$2
	shift 2
	bpfprof_into "$wanted" "$name" compare "$@" </dev/null
}

# A program of two loops, of which one may grow, and one that may be new. It counts its runs in $ORDER.
cat >"$TMPDIR/planted.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

#define LOOP(name)                                                    \
	__attribute__((noinline)) static void name(uint64_t cnt)      \
	{                                                             \
		uint64_t value = cnt;                                 \
		for (uint64_t i = 0; i < cnt; i++)                    \
			value = value * 6364136223846793005ULL + i;   \
		sink = value;                                         \
	}

LOOP(steady)
LOOP(grown)
#ifdef ADDED
LOOP(added)
#endif

int main(void)
{
	FILE *order = getenv("ORDER") ? fopen(getenv("ORDER"), "a") : NULL;

	if (order) {
		fputc(SIDE, order);
		fclose(order);
	}
	puts("text of the program");
	for (int i = 0; i < 30; i++) {
		steady(4000000);
		grown(GROWN);
#ifdef ADDED
		added(2000000);
#endif
	}
	return 0;
}
END
for side in "before -DSIDE='b' -DGROWN=4000000" "after -DSIDE='a' -DGROWN=8000000 -DADDED"; do
	set -- $side
	name=$1
	shift
	gcc -O1 -g -fno-omit-frame-pointer "$@" -o "$TMPDIR/bin/$name" "$TMPDIR/planted.c" 2>>"$log"
done

export ORDER=$TMPDIR/order
check "a planted change: exit status 0" compare 0 planted -n 4 -o "$out/planted.svg" -o "$out/planted.json" \
	-o "$out/planted.pb.gz" -- before --- after
check "each ran four times, before, after, after, before, ..." [ "$(cat "$ORDER")" = baabbaab ]
unset ORDER
check "what it tells" python3 - "$out/planted.json" <<-'END'
	import json, sys
	found = json.load(open(sys.argv[1]))
	functions = {f["name"]: f for f in found["functions"]}
	wall, cpu = found["timings"]
	assert found["before"]["runs"] == found["after"]["runs"] == 4
	assert found["before"]["facts"]["kernel"] == found["after"]["facts"]["kernel"], found["before"]
	assert not found["warnings"], found["warnings"]
	# 30 * 4 M steps become 30 * 8 M, beside as many that stay, and 30 * 2 M are new: 2 become 3.5.
	share = cpu["change_s"] / cpu["before_s"]
	print("CPU time %.3f s, then %.3f s, p %.3f" % (cpu["before_s"], cpu["after_s"], cpu["p"]))
	assert 0.5 < share < 1.0 and cpu["p"] < 0.05 and cpu["low_s"] > 0, cpu
	assert wall["before_s"] >= 0.9 * cpu["before_s"], (wall, cpu)
	sampled = found["total"]["before"] / 4e9
	assert abs(sampled / cpu["before_s"] - 1) < 0.25, (sampled, cpu)
	for name in ("grown", "added"):
	    assert functions[name]["self"]["significant"] and functions[name]["self"]["change"] > 0, functions[name]
	assert functions["added"]["total"]["before"] == 0
	steady = functions.get("steady")
	assert not steady or not steady["total"]["significant"], steady
END
check "the table tells it too" told 'new \* .* added  \[after\]' planted
check "medians, an interval and how sure" told '^CPU time +medians .* then .*; shift \+.* \(\+.* to \+.*\), \+[0-9.]+ %, p 0\.029: significant$' planted
check "the commands' output is thrown away" sh -c '! grep -q "text of the program" "$1"' sh "$out/planted"
check "the graph is XML" xmllint --huge --noout "$out/planted.svg"
check "stacks of both are one, whatever the programs are called" grep -qE '<title>steady \([0-9.]+ m?s, then [0-9.]+ m?s' \
	"$out/planted.svg"
check "pprof takes it" sh -c 'HOME="$2" go tool pprof -symbolize=none -top -sample_index=delta "$1" 2>/dev/null |
	grep -q "grown$"' sh "$out/planted.pb.gz" "$TMPDIR"

check "--fail-above" compare 1 fail -n 4 --fail-above 10 -- before --- after
check "names the regression" told "^bpfprof: regression: grown .* of all .*% of itself\)$" fail.err
check "the same against itself" compare 0 same -n 2 --fail-above 25 --show-output -- before --- before
check "--show-output shows it" told '^text of the program$' same
check "two runs are too few for times" told "warning: 2 runs of each cannot show" same.err
check "waits" compare 0 waits -n 4 --limit 200 --off-cpu -o "$out/waits.json" -- sleep 0.1 --- sleep 0.3
check "the wall time is the commands' own" python3 - "$out/waits.json" <<-'END'
	import json, sys
	wall = json.load(open(sys.argv[1]))["timings"][0]
	print(wall)
	assert 0.1 <= wall["before_s"] < 0.25 and 0.3 <= wall["after_s"] < 0.45, wall
END
check "their time is compared" told '^value +off_cpu \(nanoseconds\)' waits
check "surely, because runs do not differ: nothing of it is sampled" told \
	'^ +1[0-9]{2}\.[0-9]+ ms +3[0-9]{2}\.[0-9]+ ms .* \* .*  .*nanosleep' waits
check "and found to be longer" told '^total +1[0-9]{2}\.[0-9]+ ms, then 3[0-9]{2}\.' waits

# --- Names that mean harm ---

cp "$TMPDIR/bin/before" "$TMPDIR/bin/"$'x|`<b>\e[31m'
check "a hostile name" compare 0 hostile -n 1 --format md -o "$out/hostile.svg" -o "$out/hostile.text.json" \
	-- before --- "$TMPDIR/bin/"$'x|`<b>\e[31m'
check "does not steer the terminal" sh -c '! grep -q "$(printf "\033")" "$1" "$1.err" "$2"' sh "$out/hostile" \
	"$out/hostile.svg"
check "is text in the graph" xmllint --noout "$out/hostile.svg"
check "and in JSON" python3 -m json.tool "$out/hostile.text.json"

# --- Commands that fail ---

# fails STATUS REGEX NAME ARG...
fails()
{
	local code=$1 regex=$2 name=$3
	shift 3
	check "$name: exit status $code" compare "$code" failed "$@"
	check "$name: it is told" told "$regex" failed.err
	check "$name: nothing else" [ ! -s "$out/failed" ]
}

fails 1 "run 1 \(after, 'sh -c exit 7'\): exit status 7" "a command that fails" -n 1 -- true --- sh -c 'exit 7'
fails 1 "run 1 \(before, .*ended by signal 9" "one that is killed" -n 1 -- sh -c 'kill -9 $$' --- true
fails 1 "run 1 \(before, '.*/none'\) could not be recorded" "one that is not there" -n 1 -- "$TMPDIR/none" --- true
fails 2 'two commands are compared' "one command" -- true
fails 2 'two commands are compared' "none at all"
fails 2 "no COMMAND after '---'" "nothing after ---" -- true ---
fails 2 "no COMMAND before '---'" "nothing before ---" -- --- true
fails 2 "option '-F': 'many' is not a number" "a wrong option of record" -F many -- true --- true
fails 2 "exclude each other" "two that exclude each other" --off-cpu --wall -- true --- true
fails 2 'a difference can be' "an unknown format" -o x.txt -- true --- true
fails 1 'no/such' "an output that cannot be written" -o "$TMPDIR/no/such.svg" -- true --- true
fails 1 'exists' "an output that is there, before anything ran" -o "$out/planted.svg" -- touch "$TMPDIR/ran" --- true
check "nothing ran" [ ! -e "$TMPDIR/ran" ]

# --- Ending it ---

"$bpfprof" compare -n 50 -- sleep 0.2 --- sleep 0.2 >"$out/stopped" 2>"$out/stopped.err" </dev/null &
pid=$!
sleep 1.5
kill -TERM $pid
wait $pid
check "SIGTERM ends it: exit status 1" [ $? = 1 ]
check "and it is told" told 'interrupted in run' stopped.err
check "no folder is left" sh -c '! ls -d "$1"/bpfprof-compare-* 2>/dev/null' sh "$TMPDIR"

exit $status
