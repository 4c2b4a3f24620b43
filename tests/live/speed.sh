#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a sample costs: whole-program BPF time by the kernel's own statistics, for stacks of known depth.
#
#   tests/live/speed.sh [--check] [RUNS]     5 runs of each load by default
#
# A run records one CPU on which the load spins in user mode, at 4,999 Hz for 2 s. Samples of other tasks
# on that CPU are filtered out; what such a run of the program costs is measured first and taken off. The
# machine may be busy with other things, so the least of the runs is printed beside the median; targets
# (--check makes them test cases) are held against the least.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath -m "${BUILD:-$here/../../build}")
check=false
[ "${1:-}" = --check ] && { check=true; shift; }
runs=${1:-5}
cpu=$(($(nproc) - 1))
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bpfprof-speed.XXXXXX")
load=
trap '[ -z "$load" ] || kill "$load"; rm -rf "$tmp"' EXIT
status=0

gcc -O2 -fomit-frame-pointer -o "$tmp/deep" "$here/src/deep.c" || exit 2

# Print "ns recorded filtered complete" of one recording with the options given.
record()
{
	"$BUILD/bpfprof" -q -C "$cpu" -F 4999 -d 2 --stats "$tmp/stats.json" --force -o "$tmp/x.folded" "$@" \
		>"$tmp/log" 2>&1 || [ $? = 4 ] || { cat "$tmp/log" >&2; exit 2; }
	/usr/bin/python3 - "$tmp/stats.json" <<-'END'
		import json, sys
		stats = json.load(open(sys.argv[1]))
		event = stats["events"][0]
		print(stats["cost"]["bpf_run_ns"], event["recorded"], event["filtered"], stats["stacks"]["complete"])
	END
}

# measure FRAMES MAPPINGS: its row, and the least cost in ns into $least. Of the frames, six are not
# descend()'s calls of itself: spin, its first, main, two of libc, _start.
measure()
{
	local frames=$1 mappings=$2 i costs=()
	taskset -c "$cpu" "$tmp/deep" $((frames - 6)) "$mappings" &
	load=$!
	sleep 0.5
	for ((i = 0; i < runs; i++)); do
		read -r ns recorded filtered complete <<<"$(record -p "$load")"
		[ "${complete:-0}" -gt 0 ] || { echo "speed.sh: nothing complete was recorded of $frames frames" >&2; exit 2; }
		costs+=($(((ns - filtered * filtered_ns) / recorded)))
	done
	kill "$load"
	wait "$load" 2>/dev/null
	load=
	mapfile -t costs < <(printf '%s\n' "${costs[@]}" | sort -n)
	least=${costs[0]}
	printf '| %s | %s | %s | %s | %s |\n' "$frames" "$((mappings ? mappings : 10))" "$least" \
		"${costs[$((runs / 2))]}" $((least / frames))
}

# expect NAME VALUE LIMIT
expect()
{
	$check || return 0
	if [ "$2" -le "$3" ]; then
		echo "ok - $1: $2, at most $3"
	else
		echo "not ok - $1: $2, at most $3"
		status=1
	fi
}

filtered_ns=0
read -r ns recorded filtered complete <<<"$(record --comm no-such-name)"
filtered_ns=$((ns / filtered))
echo "a filtered run: $filtered_ns ns"
echo
echo '| frames | mappings | least ns a sample | median | least / frames |'
echo '|--:|--:|--:|--:|--:|'
measure 15 0
least_15=$least
expect 'ns a user-mode sample of 15 frames' "$least" 2500
measure 15 50000
expect 'per cent of it in a process with 50,000 mappings' $((100 * least / least_15)) 150
measure 100 0
measure 250 0
least_250=$least
expect 'ns a sample of 250 frames' "$least" 25000
measure 250 50000
expect 'per cent of it in a process with 50,000 mappings' $((100 * least / least_250)) 150
measure 450 0
expect 'ns a sample of 450 frames' "$least" 45000
exit $status
