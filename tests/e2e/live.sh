# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests that really record. Cases, recordings, loads, and what may be said of numbers that were sampled.
#
# A sampled share is never exact. It is held against its expectation with four standard deviations of a binomial
# variable (one false alarm in 16,000), which more samples make narrower; counts are held to the unit.

. tests/e2e/cases.sh

# shellcheck disable=SC2034 # for the test
bpfprof=$BUILD/bpfprof
workloads=$top/tests/workloads
helpers=$BUILD/tests/bench
loads=()

mkdir -p "$TMPDIR/bin" "$TMPDIR/out"
# Whoever a recorded command runs as has to get at the programs.
chmod 755 "$TMPDIR" "$TMPDIR/bin"
PATH=$TMPDIR/bin:$PATH
unset SUDO_UID SUDO_GID SUDO_USER
trap 'stop_loads; rm -rf "$tmp"' EXIT

# verdict STATUS NAME: one case. What the log says is always shown, and belongs to this case alone.
verdict()
{
	result "$1" "$2"
	[ "$1" != 0 ] || show_log
	: >"$log"
}

# check NAME COMMAND...: the command succeeds.
check()
{
	local name=$1
	shift
	"$@" >>"$log" 2>&1
	verdict $? "$name"
}

# --- Programs to record ---

# compile NAME SOURCE FLAG...: into $TMPDIR/bin, with frame pointers.
compile()
{
	local name=$1 source=$workloads/$2 compiler=gcc
	shift 2
	case $source in
	*.cpp) compiler=g++ ;;
	esac
	if ! $compiler -O2 -g -D_GNU_SOURCE -fno-omit-frame-pointer "$@" -o "$TMPDIR/bin/$name" "$source" -lpthread \
		>>"$log" 2>&1; then
		verdict 1 "$name compiles"
		exit 1
	fi
}

# busy FUNCTION FLAG...: busy.c as $TMPDIR/bin/FUNCTION, all of whose time is in FUNCTION and what is inlined there.
busy()
{
	local function=$1
	shift
	compile "$function" busy.c -DBUSY="$function" "$@"
}

# busy_frames FUNCTION NAME COMM [SHARE]: in SHARE (0.9) of the samples of COMM, and in a hundred, FUNCTION is there
# with what is inlined into it, called from main.
busy_frames()
{
	local found all
	found=$(samples "^$3;.*;main;(call;)?$1;$1_inlined_\[i\][; ]" "$2")
	all=$(samples "^$3;" "$2")
	is "$found >= 100 && $found >= ${4:-0.9} * $all" && return
	hottest "$2"
	return 1
}

# busy_lines NAME FUNCTION...: out/NAME.pb.gz has no line of what is inlined into FUNCTION but those of its loop.
busy_lines()
{
	local name=$1 function line
	shift
	line=$(grep -n '/\* inlined works \*/' "$workloads/busy.c" | cut -d: -f1)
	raw "$name" || return 1
	for function in "$@"; do
		grep -E "\<${function}_inlined " "$TMPDIR/out/$name.raw" >"$TMPDIR/out/lines" &&
			! grep -vE "_inlined $workloads/busy.c:($((line - 1))|$line)(:0)? " "$TMPDIR/out/lines" && continue
		echo "wanted $function in busy.c:$line"
		grep -E "$function" "$TMPDIR/out/$name.raw"
		return 1
	done
}

build_helpers()
{
	if ! "$top/tests/bench/build" >>"$log" 2>&1; then
		verdict 1 "the helpers of tests/bench compile"
		exit 1
	fi
}

# load COMMAND...: run it beside the test, until stop_loads at the latest; its pid is in $load.
load()
{
	"$@" >/dev/null 2>&1 &
	load=$!
	loads+=("$load")
}

stop_loads()
{
	local pid
	for pid in "${loads[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for pid in "${loads[@]}"; do
		wait "$pid" 2>/dev/null
	done
	loads=()
}

# Two programs per online CPU that never sleep, pinned, so that no CPU is ever idle. `split` must be there.
keep_cpus_busy()
{
	local cpu
	for cpu in $(online_cpus); do
		load taskset -c "$cpu" split "$1"
		load taskset -c "$cpu" split "$1"
	done
	sleep 0.3
}

online_cpus()
{
	local range first last
	for range in $(tr , ' ' </sys/devices/system/cpu/online); do
		first=${range%-*} last=${range#*-}
		seq "$first" "$last"
	done
}

# --- Recordings ---

# record NAME ARG...: bpfprof with these arguments; out/NAME.folded (kernel frames marked), out/NAME.json. Its status.
record()
{
	local name=$TMPDIR/out/$1 code
	shift
	rm -f "$name.folded" "$name.json"
	"$bpfprof" -q -o "$name.folded" --annotate --stats "$name.json" "$@" 2>>"$log" </dev/null
	code=$?
	echo "bpfprof $* -> $code" >>"$log"
	return $code
}

# recorded NAME CASE ARG...: as record, and a case: exit status 0, books that balance.
recorded()
{
	local name=$1 case=$2
	shift 2
	record "$name" "$@" && balanced "$name" >>"$log" 2>&1
	verdict $? "$case: exit status 0, and the books balance"
}

# balanced NAME [AT_LEAST]: the equations hold, nothing is lost, and the folded file holds each recorded sample.
balanced()
{
	"$helpers/check_stats" "$TMPDIR/out/$1.json" "${2:-1}" || return 1
	[ "$(field "$1" events.0.recorded)" = "$(samples . "$1")" ] && return
	echo "recorded $(field "$1" events.0.recorded), but in the folded file $(samples . "$1")"
	return 1
}

# field NAME PATH: a value of out/NAME.json: events.0.per_cpu.1.ran
field()
{
	python3 - "$TMPDIR/out/$1.json" "$2" <<-'END'
		import json, sys
		value = json.load(open(sys.argv[1]))
		for key in sys.argv[2].split("."):
		    value = value[int(key)] if isinstance(value, list) else value[key]
		print(value)
	END
}

# samples REGEX NAME: how many samples of out/NAME.folded have a stack that matches.
samples()
{
	REGEX=$1 awk '$0 ~ ENVIRON["REGEX"] { sum += $NF } END { printf "%.0f\n", sum }' "$TMPDIR/out/$2.folded"
}

# raw NAME: out/NAME.pb.gz as Go's pprof reads it, into out/NAME.raw.
raw()
{
	HOME=$TMPDIR go tool pprof -symbolize=none -raw "$TMPDIR/out/$1.pb.gz" >"$TMPDIR/out/$1.raw"
}

# mapped NAME PROGRAM [REGEX]: the profile has a mapping with the build-id of PROGRAM, whose line matches.
mapped()
{
	local id
	id=$(build_id "$2")
	sed -n '/^Mappings/,$p' "$TMPDIR/out/$1.raw" | grep -E -- "${3:-.}" | grep -q " ${id:?} " && return
	echo "no mapping with $2's build-id, $id"
	sed -n '/^Mappings/,$p' "$TMPDIR/out/$1.raw"
	return 1
}

build_id()
{
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

hottest()
{
	awk '{ print $NF, $0 }' "$TMPDIR/out/$1.folded" | sort -rn | head -n 10
}

# has REGEX NAME AT_LEAST: that many samples match.
has()
{
	local found
	found=$(samples "$1" "$2")
	echo "$found samples match '$1', wanted at least $3"
	[ "$found" -ge "$3" ] && return
	hottest "$2"
	return 1
}

# has_no REGEX NAME: no sample matches, and there are samples that could.
has_no()
{
	local found
	found=$(samples "$1" "$2")
	[ "$found" = 0 ] && [ "$(samples . "$2")" -gt 0 ] && return
	echo "$found of $(samples . "$2") samples match '$1'"
	REGEX=$1 awk '$0 ~ ENVIRON["REGEX"]' "$TMPDIR/out/$2.folded" | head -n 10
	return 1
}

# Process or thread names that have samples.
names_in()
{
	sed 's/[; ].*//' "$TMPDIR/out/$1.folded" | sort -u
}

# only NAME REGEX: every name matches it.
only()
{
	local others
	others=$(names_in "$1" | grep -vxE "$2")
	[ -z "$others" ] && [ -n "$(names_in "$1")" ] && return
	echo "names in the profile that do not belong there: ${others:-(no sample at all)}"
	return 1
}

# --- Recordings of what means harm ---

# hostile NAME MIB SECONDS ARG...: a recording that is to last SECONDS, longer where others use the machine, is written
# within 10 s after its end, and takes MIB of memory at the most. Into out/x.folded and out/x.json.
hostile()
{
	local name=$1 most_mib=$2 planned_s=$3 code seconds mib
	shift 3
	python3 tests/e2e/bounded.py "$TMPDIR/out/cost" "$bpfprof" -q -F 499 -o "$TMPDIR/out/x.folded" --annotate --force \
		--stats "$TMPDIR/out/x.json" "$@" 2>"$TMPDIR/out/err" </dev/null
	code=$?
	read -r seconds mib <"$TMPDIR/out/cost"
	cat "$TMPDIR/out/err" >>"$log"
	check "$name: status 0, and nothing to complain about" is "$code == 0 && $(wc -l <"$TMPDIR/out/err") == 0"
	check "$name: written within 10 s, and $most_mib MiB" is "$(field x cost.finish_ns) <= 10e9 &&
		$seconds <= 3 * $planned_s + 15 && $mib <= $most_mib"
}

# named REGEX NAME: it has samples whose stacks match.
named()
{
	check "$2: the frames have the name that is right" has "$1" x 30
}

# unnamed NAME: how many frames have no name, whatever the reason.
unnamed()
{
	python3 - "$TMPDIR/out/$1.json" <<-'END'
		import json, sys
		print(sum(json.load(open(sys.argv[1]))["frames"]["unnamed"].values()))
	END
}

# --- What was sampled, and what is true ---

# near K N SHARE: are K of N samples what a share of SHARE would give?
near()
{
	awk -v k="$1" -v n="$2" -v p="$3" 'BEGIN {
		sigma = n ? sqrt(p * (1 - p) / n) : 0
		printf "%d of %d: %.4f, expected %.4f +- %.4f\n", k, n, n ? k / n : 0, p, 4 * sigma
		exit !(n && k / n >= p - 4 * sigma && k / n <= p + 4 * sigma)
	}'
}

# agree K1 N1 K2 N2: could both be samples of the same share?
agree()
{
	awk -v k1="$1" -v n1="$2" -v k2="$3" -v n2="$4" 'BEGIN {
		if (!n1 || !n2) { print "nothing was sampled"; exit 1 }
		p = (k1 + k2) / (n1 + n2)
		sigma = sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
		printf "%d of %d: %.4f; %d of %d: %.4f; may differ by %.4f\n", k1, n1, k1 / n1, k2, n2, k2 / n2, 4 * sigma
		distance = k1 / n1 - k2 / n2
		exit !(distance <= 4 * sigma && -distance <= 4 * sigma)
	}'
}

# retried TIMES NAME COMMAND...: a case that holds as soon as one of the tries succeeds. Only for what another
# program's doing can spoil: a bpf() call just when one of two observers looks.
retried()
{
	local times=$1 name=$2 try
	shift 2
	for try in $(seq "$times"); do
		echo "try $try:" >>"$log"
		"$@" >>"$log" 2>&1 && break
	done
	verdict $? "$name"
}

# is EXPRESSION: arithmetic that awk can do; it is shown.
is()
{
	tr -d '\n\t' <<<"$1"
	echo
	awk "BEGIN { exit !($1) }"
}

# --- Counting beside a recording ---

# count_within SECONDS [HZ]: half a second from now count_only starts, and ends half a second before a recording
# that starts now and lasts that long. stop_loads waits for it.
count_within()
{
	rm -f "$TMPDIR/counted"
	(sleep 0.5; exec "$helpers/count_only" "$helpers/count_only.bpf.o" "${2:-999}" $(($1 - 1))) \
		>"$TMPDIR/counted" 2>>"$log" &
	loads+=($!)
}

# counted COLUMN: of the row of all CPUs: ticks, ran, idle or kernel.
counted()
{
	awk -v column="$1" '
	BEGIN { at["ticks"] = 2; at["ran"] = 3; at["idle"] = 4; at["kernel"] = 5 }
	$1 == "all" { print $at[column] }' "$TMPDIR/counted"
}

# begin_agent ARG...: "${agent[@]}" with these, until it records; its process is in $agent_pid, what it tells in
# $TMPDIR/agent.err.
begin_agent()
{
	"${agent[@]}" "$@" 2>"$TMPDIR/agent.err" &
	agent_pid=$!
	for _ in $(seq 400); do
		grep -q '^bpfprof: agent: recording' "$TMPDIR/agent.err" && return
		kill -0 "$agent_pid" 2>>"$log" || break
		sleep 0.05
	done
	cat "$TMPDIR/agent.err"
	return 1
}

# agent_says REGEX [COUNT]: the agent does in the file $said, within 20 s
agent_says()
{
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		[ "$(grep -cE "$1" "$said")" -ge "${2:-1}" ] && return 0
		sleep 0.1
	done
	cat "$said"
	return 1
}

# has_ended PID: within half a minute.
has_ended()
{
	for _ in $(seq 300); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# --- Can this machine record at all? $must_record: else the test fails. ---

build_helpers
if ! timeout 30 "$bpfprof" -q -d 200ms -I -f >/dev/null 2>"$log"; then
	if [ -n "${must_record:-}" ]; then
		verdict 1 "recording works"
		exit 1
	fi
	skip "recording" "$(tail -n 1 "$log")"
	exit 0
fi
: >"$log"
