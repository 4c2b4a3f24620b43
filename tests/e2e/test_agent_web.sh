#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof agent is asked over HTTP while it records: the page, the API over what it stores, metrics, recordings on demand
# by go tool pprof and by who hangs up; bpfprof serve over the same store. Nothing is left of either.
# timeout: 180
# beside others
set -u
. tests/e2e/live.sh
compile split split.c
store=$TMPDIR/state/store.db
out=$TMPDIR/out

# address NAME REGEX: of who says on out/NAME.err where it is found, into $url; 1 when it does not within 20 s.
address()
{
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		url=$(sed -nE "s,.*$2(http://[0-9.:]+/)$,\1,p" "$out/$1.err")
		[ -n "$url" ] && return
		sleep 0.1
	done
	cat "$out/$1.err"
	return 1
}

# start NAME REGEX ARG...: bpfprof in the background, its process in $server.
start()
{
	local name=$1 regex=$2
	shift 2
	"$bpfprof" "$@" 2>"$out/$name.err" &
	server=$!
	loads+=("$server")
	address "$name" "$regex"
}

# ends: SIGTERM does, with status 0.
ends()
{
	local code
	kill -TERM "$server"
	wait "$server"
	code=$?
	loads=("${loads[@]/$server/}")
	echo "status $code"
	[ $code = 0 ]
}

# answers REGEX PATH: with status 200, and a body that matches.
answers()
{
	local code
	code=$(curl -s -m 30 -o "$out/body" -w '%{http_code}' "${url%/}$2")
	[ "$code" = 200 ] && grep -qaE -- "$1" "$out/body" && return
	echo "$2: $code"
	head -c 1000 "$out/body"
	return 1
}

# refuses STATUS REGEX PATH
refuses()
{
	local code
	code=$(curl -s -m 30 -o "$out/body" -w '%{http_code}' "${url%/}$3")
	echo "$3: $code"
	cat "$out/body"
	[ "$code" = "$1" ] && grep -qE -- "$2" "$out/body"
}

# holds_json EXPRESSION PATH: true of the answer.
holds_json()
{
	answers . "$2" || return
	cat "$out/body"
	python3 -c "import json, sys
answer = json.load(open(sys.argv[1]))
assert $1" "$out/body"
}

# until_true TIMES COMMAND...: within that many half seconds.
until_true()
{
	local tries=$1 try
	shift
	for ((try = 0; try < tries; try++)); do
		"$@" >"$out/try" 2>&1 && return
		sleep 0.5
	done
	cat "$out/try"
	return 1
}

# family PID: it and all below it
family()
{
	local child
	echo "$1"
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		family "$child"
	done
}

# programs_of PID...: the numbers of the BPF programs that they hold
programs_of()
{
	local pid
	for pid in "$@"; do
		sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$pid"/fdinfo/* 2>/dev/null
	done | sort -un
}

records_for_somebody()
{
	pgrep -f "^bpfprof record -q --output=-.pb.gz --duration=$1ms" >"$out/recorder"
}

records_for_nobody()
{
	! records_for_somebody "$1"
}

none_is_left()
{
	local pid id
	for pid in "$@"; do
		[ ! -d "/proc/$pid" ] || return
	done
	for id in $programs; do
		! bpftool prog show id "$id" >/dev/null 2>&1 || return
	done
}

names_load()
{
	HOME=$TMPDIR PPROF_TMPDIR=$TMPDIR go tool pprof -top "${url}debug/pprof/profile?seconds=2&comm=split" >"$out/pprof" 2>&1
	cat "$out/pprof"
	grep -qE '^ +[1-9][0-9]* +[0-9.]+%.* burn$' "$out/pprof"
}

# lacks_power PID: none of its threads has in effect all that we have
lacks_power()
{
	grep -H '^CapEff' "/proc/$1"/task/*/status
	! grep -qxF "$(grep '^CapEff' /proc/self/status)" "/proc/$1"/task/*/status
}

# --- While it records ---

OTEL_SERVICE_NAME=shop load split 600
check "the agent listens" start agent 'agent: asked at ' agent --store "$store" -i 1 --max-cpu 10 --pin-dir none \
	--listen 127.0.0.1:0
agent=$server
check "every thread of it has given root's power up" lacks_power "$agent"
check "the page" answers '<html' /
check "it tells what it has" until_true 40 holds_json '"cpu" in answer["kinds"] and answer["last"] > 0' /api/info
check "the course of time" until_true 40 holds_json \
	'any(value > 0 for series in answer["series"] for value in series["values"])' '/api/timeline?kind=cpu&points=10'
check "a report of the last minute has the load's function" until_true 40 answers 'deal_deck' '/api/profile?format=html&from=-1m&select=service=shop'
check "... which is what was recorded" until_true 40 answers '^split;.*;work_70;burn [1-9]' '/api/profile?format=folded&kind=cpu&from=-1m&select=service=shop'
check "metrics" answers '^bpfprof_samples_stored_total [1-9]' /metrics
check "it is well" answers '^ok$' /healthz
if have go; then
	check "go tool pprof records what the load does" names_load
fi
check "probes are not placed for anybody" refuses 400 'event' '/debug/pprof/profile?seconds=1&event=kprobe:schedule'
check "nor is a wrong pid recorded" refuses 400 'pid' '/debug/pprof/heap?seconds=1&pid=0'

curl -s -m 60 -o /dev/null "${url}debug/pprof/profile?seconds=31" &
client=$!
check "somebody has something recorded" until_true 20 records_for_somebody 31000
kill "$client"
check "... and who hangs up has it no longer" until_true 20 records_for_nobody 31000
curl -s -m 60 -o /dev/null "${url}debug/pprof/profile?seconds=32" &
check "another one has" until_true 20 records_for_somebody 32000
family=$(family "$agent")
check "... beside the agent, by processes of its own" is "$(wc -w <<<"$family") == 4"
sleep 1
# shellcheck disable=SC2086
programs=$(programs_of $family)
check "programs are loaded for it" [ -n "$programs" ]
check "SIGTERM ends the agent" ends
# shellcheck disable=SC2086
check "no process and no BPF program is left" until_true 20 none_is_left $family
check "no error was told" bash -c "! grep -iE 'error|cannot|failed' '$out/agent.err'"

# --- Its end by force; addresses that are taken ---

check "an agent again" start forced 'agent: asked at ' agent --store "$store" -i 1 --max-cpu 10 --pin-dir none \
	--listen 127.0.0.1:0
curl -s -m 60 -o /dev/null "${url}debug/pprof/profile?seconds=33" &
check "has something to record" until_true 20 records_for_somebody 33000
sleep 1
family=$(family "$server")
# shellcheck disable=SC2086
programs=$(programs_of $family)
taken=${url#http://}
bpfprof_into 1 second agent --store "$TMPDIR/other.db" --listen "${taken%/}" >>"$log" 2>&1
check "an address that is taken and was asked for is an error, with its remedy" \
	told 'listen on .*another --listen, or stop who has it' second.err
kill -KILL "$server"
wait "$server" 2>>"$log"
# shellcheck disable=SC2086
check "killed, it leaves nothing either" until_true 20 none_is_left $family
loads=("${loads[@]/$server/}")

check "--listen none: it records" bash -c "timeout -s TERM 4 '$bpfprof' agent --store '$TMPDIR/mute.db' -i 1 --pin-dir none --listen none 2>'$out/mute.err'; grep -q 'windows stored' '$out/mute.err'"
check "... and is asked by nobody" bash -c "! grep -q 'asked at' '$out/mute.err'"

# --- The store alone ---

check "serve listens" start serve "serving '.*' at " serve --store "$store" --listen 127.0.0.1:0
check "... the page" answers '<html' /
check "... and what was recorded" answers '^split;.*;work_70;burn [1-9]' '/api/profile?format=folded&kind=cpu&select=service=shop'
check "... but records nothing" refuses 404 'store alone' '/debug/pprof/profile?seconds=1'
check "SIGTERM ends it" ends
check "no store" bpfprof_into 1 none serve --store "$TMPDIR/none.db"
check "... is told" told 'no store at' none.err
exit $status
