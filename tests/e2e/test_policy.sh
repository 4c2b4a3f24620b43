#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof agent --policy: from a file and from a server, what it has recorded and stored, and what is left when the
# server is away or says something wrong. The books balance all along.
# timeout: 180
set -u
. tests/e2e/live.sh
compile split split.c
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver store_dump tests/e2e/store_dump.c
out=$TMPDIR/out
policy=$TMPDIR/policy
said=$TMPDIR/agent.log
unset http_proxy https_proxy

# rules LINE...: the policy file, whole at once
rules()
{
	printf '%s\n' "$@" >"$policy.new"
	mv "$policy.new" "$policy"
}

# begin STORE POLICY ARG...: an agent, and where it is asked
begin()
{
	store=$TMPDIR/$1/store.db
	"$bpfprof" agent --store "$store" --policy "$2" --pin-dir none --interval 1 --max-cpu 20 --label env=test \
		--listen "unix:$TMPDIR/agent.sock" "${@:3}" 2>"$said" &
	agent=$!
	loads+=("$agent")
}

# shows REGEX: a line of the metrics, within 20 s
shows()
{
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		curl -s --unix-socket "$TMPDIR/agent.sock" http://x/metrics >"$out/metrics"
		grep -qE "^bpfprof_$1" "$out/metrics" && return 0
		sleep 0.1
	done
	grep -E 'policy|recording|samples|refused' "$out/metrics"
	return 1
}

# ends: SIGTERM does, with status 0
ends()
{
	local code
	kill -TERM "$agent"
	wait "$agent"
	code=$?
	loads=("${loads[@]/$agent/}")
	cat "$said"
	[ $code = 0 ]
}

# number KEY...: of the line of out/cpu that begins with the keys
number()
{
	awk -v key="$* " 'index($0, key) == 1 { sum += $NF } END { printf "%.0f\n", sum }' "$out/cpu"
}

metric()
{
	awk -v key="bpfprof_$1" 'index($0, key) == 1 { sum += $NF } END { printf "%.0f\n", sum }' "$out/metrics"
}

balances()
{
	"$driver" "$store" cpu >"$out/cpu" && grep -qx 'balanced yes' "$out/cpu" &&
		is "$(number recorded cpu-clock) == $(number total samples)" && "$bpfprof" store fsck --store "$store"
}

# --- What is wrong ---

rules '[policy *]' 'freq = 49' '[policy host]' 'enabled = no'
check "a wrong policy" bpfprof_into 2 wrong agent --policy "$policy" --check-config
check "... is told with its line" told 'policy:3: selector: .host. is no KEY=GLOB' wrong.err
check "... and a kind of section that is none of it" bash -c 'printf "[sink x]\n" >"$1"; "$2" agent --policy "$1" \
	--check-config 2>&1 | grep "policy:1: section .\[sink x\]. is none: \[policy SELECTOR\]"' _ "$policy" "$bpfprof"
rules '[policy env=test]' 'freq = 49' 'off-cpu = no' '[policy env=other]' 'freq = 7'
check "a right one" bpfprof_into 0 right agent --policy "$policy" --label env=test -F 9 --check-config
check "... is in force before the options" grep -qx 'freq = 49' "$out/right"

# --- A file ---

OTEL_SERVICE_NAME=whole load split 600
OTEL_SERVICE_NAME=part load split 600
OTEL_SERVICE_NAME=none load split 600
rules '[policy env=test]' 'freq = 97' 'off-cpu = no' '[policy service=none]' 'enabled = no' \
	'[policy service=part]' 'samples-per-hour = 18k'
begin file "$policy"
check "an agent begins as the policy has it" agent_says 'recording cpu-clock at 97 Hz, a window every 1 s'
check "... which is told" shows "policy_info\{version=\"$(sha256sum "$policy" | cut -c1-12)\"\} 1"
sleep 12
check "what it leaves out is counted" shows 'samples_dropped_total\{reason="policy"\} [1-9]'
check "... and seen is stored and dropped" \
	is "$(metric samples_seen_total) == $(metric samples_stored_total) + $(metric samples_dropped_total) + $(metric samples_waiting)"
rules '[policy x]'
check "a wrong one changes nothing" agent_says 'policy:1: selector.*the one before stays in force'
check "... and is counted" shows 'configurations_refused_total 1'
rules '[policy *]' 'enabled = no'
check "a host that is off records nothing" agent_says 'policy: nothing is recorded for now'
check "... which is told" shows 'agent_recording 0'
seen=$(metric samples_seen_total)
sleep 2
shows 'agent_recording 0' >>"$log"
check "... and nothing is seen" is "$(metric samples_seen_total) == $seen"
rules '[policy *]' 'enabled = no' 'freq = 49' '[policy service=whole]' "keep-until = $(date -u -d '+6 seconds' +%FT%TZ)"
check "what is to be kept is recorded all the same" shows 'agent_recording 1'
check "... until then" agent_says 'policy: nothing is recorded for now' 2
rules '[policy *]' 'hours = 0.01%'
check "an hour that is not chosen is off" shows 'agent_recording 0'
rules '[policy *]' 'freq = 29'
check "a host that is on again records" shows 'agent_recording 1'
check "... at its rate" shows 'agent_frequency_hertz 29'
check "SIGTERM ends it" ends
check "no sample is missing in the books" balances
check "a service that is off is not stored before that" \
	is "$(number label service none) < $(number label service whole) / 4"
# 12 s of 18,000 in an hour are 60 samples; the rest of the time it is all or nothing.
check "of another one, a share" is "$(number label service part) < 0.7 * $(number label service whole)"

# --- A server ---

mkdir "$TMPDIR/served"
policy=$TMPDIR/served/policy
rules '[policy *]' 'freq = 31' 'off-cpu = no'
load python3 tests/e2e/policy_server.py "$TMPDIR/served"
for ((tries = 0; tries < 100; tries++)); do
	[ -e "$TMPDIR/served/port" ] && break
	sleep 0.1
done
url=http://127.0.0.1:$(cat "$TMPDIR/served/port")/fleet.conf
begin url "$url" --policy-interval 1
check "a policy is fetched" agent_says "policy: version $(sha256sum "$policy" | cut -c1-12), 1 rules"
check "... and in force" shows 'agent_frequency_hertz 31'
check "what has not changed is not sent again" shows 'policy_answers_total\{result="unchanged"\} [1-9]'
check "... for its ETag is" grep -qE '^304 "[0-9a-f]{12}"$' "$TMPDIR/served/answers"
rules '[policy *]' 'freq = 0'
check "a wrong one is told with its line" agent_says "fleet.conf:2: option 'freq': '0' must be more than 0; the one before"
check "... and not in force" shows 'policy_answers_total\{result="refused"\} 1'
check "... nor is it asked for again" is "$(grep -c '^200' "$TMPDIR/served/answers") == 2"
rules '[policy *]' 'freq = 43' 'off-cpu = no'
check "the next one is" shows 'agent_frequency_hertz 43'
touch "$TMPDIR/served/down"
check "a server that fails is told" agent_says 'status 503; the one before stays in force'
check "... and counted" shows 'policy_answers_total\{result="failed"\} [1-9]'
check "it ends" ends
begin url "$url" --policy-interval 1
check "an agent that begins meanwhile has the last one" agent_says 'recording cpu-clock at 43 Hz'
check "... and is told what the server does" agent_says 'status 503; the one before stays in force'
rm "$TMPDIR/served/down"
check "... and goes on when the server answers" agent_says 'answers again'
rules '[policy *]' 'freq = 53' 'off-cpu = no' 'event = tracepoint:nosuch:event'
check "one that this kernel cannot record is told" agent_says 'configuration: the one before stays in force'
check "... and not in force" shows 'agent_frequency_hertz 43'
check "it ends, too" ends
begin url "$url" --policy-interval 1 -F 23 --no-off-cpu
check "an agent that begins with such a one says so" \
	agent_says 'policy: it cannot be recorded here; none is in force until it is another'
check "... and records as its options say" shows 'agent_frequency_hertz 23'
rules '[policy *]' 'freq = 59' 'off-cpu = no'
check "... until there is another" shows 'agent_frequency_hertz 59'
check "it ends, in order" ends
check "its books balance" balances
exit $status
