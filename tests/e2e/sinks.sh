# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of sinks: a store of known content, the sums of it, and receivers to ship it to.

. tests/e2e/cases.sh

out=$tmp/out
store=$tmp/store.db
mkdir -p "$out"
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

same()
{
	diff <(echo "$1") <(echo "$2") && [ -n "$1" ]
}

"$tmp/fleet_store" "$store" 1 120 >"$log" || exit 1
truth=$(python3 tests/e2e/sink_truth.py "$BUILD/bpfprof" "$store")

# listen_at_port SERVER ARG...: the receiver tests/e2e/SERVER at $port; its pid is in $server.
listen_at_port()
{
	local program=$1
	shift
	python3 "tests/e2e/$program" "$port" "$@" 2>>"$log" &
	server=$!
	children+=($server)
	for _ in $(seq 200); do
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.05
	done
}

# what [PATH]: the receiver has got.
what()
{
	curl -s -m 20 "http://127.0.0.1:$port/${1:-}"
}

# fact NAME: what /facts says of it; 0 where it says nothing.
fact()
{
	what "facts/$1"
}

# ship_to_end URL: until it says that all is there.
ship_to_end()
{
	tries=0
	until bp store ship --store "$store" --to "$1" 2>>"$out/tries"; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || return 1
	done
}


# ship_killed URL: ten times, at any moment.
ship_killed()
{
	for _ in $(seq 10); do
		bp store ship --store "$store" --to "$1" &
		local pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
	done
	return 0
}
