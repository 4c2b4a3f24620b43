#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Go program built by what a fleet knows of it: two hosts run it stripped, each using another part; their agents' samples
# are in one store (Debian's ClickHouse, started here). What is downloaded from there, of both and of one, is what Go
# inlines and calls directly by; so is what a third host says of the program that was built so, if inlined calls are kept.
# timeout: 400
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse.sh
. tests/e2e/guided.sh

have clickhouse-server || { skip "Go built by a fleet's profile" "no clickhouse-server"; exit 0; }
find_go || exit $status
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
out=$TMPDIR/out
# shellcheck disable=SC2154 # of clickhouse.sh
trap 'ch_kill; stop_loads; rm -rf "$tmp"' EXIT
ch_configure || exit 1
check "a server begins" ch_start
[ $status = 0 ] || exit 1
fleet=clickhouse://127.0.0.1:$ch_port/fleet

# Paths of the machine that builds are of no matter.
export GOFLAGS=-trimpath

# on_host NAME SIDE [OPTION...]: a host of that name runs the program, and its agent stores 2 s or more of it.
on_host()
{
	local code begun_s tries
	agent=(unshare --uts sh -c 'hostname "$0" && exec "$@"' "$1" "$bpfprof" agent --store "$TMPDIR/$1.db" --pin-dir none
		--no-off-cpu --interval 1s -F 499 --listen none --comm gopher "${@:3}")
	load gopher "$2" 1000000
	begin_agent || return
	begun_s=$(ps -o cputimes= -p "$load")
	for ((tries = 0; tries < 600; tries++)); do
		[ "$(ps -o cputimes= -p "$load")" -ge $((begun_s + 3)) ] && break
		sleep 0.1
	done
	kill -TERM "$agent_pid"
	wait "$agent_pid"
	code=$?
	stop_loads
	cat "$TMPDIR/agent.err"
	return $code
}

# deployed HOST SIDE [OPTION...]
deployed()
{
	check "host $1 runs it" on_host "$@"
	check "... and ships" "$bpfprof" store ship --store "$TMPDIR/$1.db" --to "$fleet"
}

# exported NAME SELECTION: out/NAME.pgo
exported()
{
	"$bpfprof" query flame --store "$fleet" --since 1h --select "comm=gopher$2" -o "$out/$1.pgo"
}

# downloaded NAME SELECTION: as a browser does
downloaded()
{
	local url tries
	"$bpfprof" serve --store "$fleet" --listen 127.0.0.1:0 2>"$out/serve.err" &
	loads+=($!)
	for ((tries = 0; tries < 200; tries++)); do
		url=$(sed -nE 's,.* at (http://[0-9.:]+/)$,\1,p' "$out/serve.err")
		[ -n "$url" ] && break
		sleep 0.1
	done
	curl -sf -m 20 -o "$out/$1.pgo" "${url}api/profile?format=pgo&from=-1h&select=comm=gopher$2"
}

check_plain
check "the program is stripped" built gopher -pgo=off "-ldflags=-s -w"
check "a fleet's store" "$bpfprof" store init --store "$fleet"
deployed north left
deployed south right

check "the fleet's profile is exported" exported fleet ""
check "the program is built by it" built everywhere "-pgo=$out/fleet.pgo"
check_guided everywhere "by the fleet's profile" "$out/fleet.pgo" Left Right

check "one host's is downloaded" downloaded south ",host=south"
check "the program is built by it" built there "-pgo=$out/south.pgo"
check_guided there "by one host's profile" "$out/south.pgo" Right

check "what was built by it is stripped" built gopher "-pgo=$out/south.pgo" "-ldflags=-s -w"
deployed west right --inlines
check "a profile of that is exported" exported west ",host=west"
check "the program is built by it" built again "-pgo=$out/west.pgo"
check_guided again "by what was built so" "$out/west.pgo" Right
exit $status
