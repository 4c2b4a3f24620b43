# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of names of JIT code: runtimes that run beside a recording, and what is on its stacks.

. tests/e2e/cases.sh

workload=$top/tests/workloads/jit.c
cd "$tmp" || exit 1
pids=()
lists=()
trap 'stop; rm -rf "$tmp"' EXIT

stop()
{
	[ ${#pids[@]} = 0 ] || { kill "${pids[@]}"; wait "${pids[@]}"; } 2>/dev/null
	rm -f "${lists[@]}"
	pids=()
	lists=()
}

# The runtime in small, as ./jit.
build_jit()
{
	gcc -O2 -D_GNU_SOURCE -fno-omit-frame-pointer -o jit "$workload" >"$log" 2>&1
}

# start COMMAND...: beside the test; its pid is in $pid.
start()
{
	"$@" >/dev/null 2>&1 &
	pid=$!
	pids+=("$pid")
	lists+=("/tmp/perf-$pid.map" "/tmp/jit-$pid.dump")
	sleep 0.5
}

# record OPTION...: two seconds into x.folded; what is said goes to the log.
record()
{
	timeout 60 "$BUILD/bpfprof" -F 199 -d 2 --force --annotate -o x.folded -o x.pb.gz "$@" >"$log" 2>&1
}

# share PATTERN [PART]: nine in ten (PART) of the samples, and of some, are on stacks that match it.
share()
{
	awk -v pattern="$1" -v part="${2:-0.9}" '{ all += $NF } $0 ~ pattern { hit += $NF }
		END { printf "# %d of %d match %s\n", hit, all, pattern; exit !(all >= 20 && hit >= part * all) }' \
		x.folded >>"$log"
}

