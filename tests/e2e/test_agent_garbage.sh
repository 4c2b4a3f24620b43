#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Clients that mean no good, and an agent that records meanwhile: 200 at once, slow ones, garbage on closed and open
# connections (GARBAGE_MIB of each, 1024 for the long form), paths that are none. It stays well and small, samples at the
# rate that it was told, with no window missing and nothing lost.
# timeout: 300
set -u
. tests/e2e/live.sh
compile split split.c
store=$TMPDIR/store.db
err=$TMPDIR/out/agent.err
rss_max_kib=$((100 << 10))

OTEL_SERVICE_NAME=shop load split 600
"$bpfprof" agent --store "$store" -i 1 --max-cpu 5 --pin-dir none --listen 127.0.0.1:0 2>"$err" &
agent=$!
loads+=("$agent")
for ((tries = 0; tries < 200; tries++)); do
	url=$(sed -nE 's,.*agent: asked at (http://[0-9.:]+/)$,\1,p' "$err")
	[ -z "$url" ] || break
	sleep 0.1
done
check "the agent listens" [ -n "$url" ]
[ $status = 0 ] || exit 1
address=${url#http://}
address=${address%/}

# metric NAME: its value now
metric()
{
	curl -s -m 20 "${url}metrics" | sed -n "s/^bpfprof_$1 //p"
}

clients()
{
	timeout 200 python3 tests/e2e/web_clients.py "${address%:*}" "${address##*:}" "$1"
}

# Its rate, and its state, all the time
watch()
{
	while sleep 0.5; do
		echo "$(metric agent_frequency_hertz) $(curl -s -m 20 "${url}healthz") $(awk '/RssAnon/ { print $2 }' "/proc/$agent/status")"
	done
}

records()
{
	local windows
	windows=$(metric windows_stored_total)
	echo "$windows windows"
	[ "${windows:-0}" -ge "$1" ]
}

for ((tries = 0; tries < 100; tries++)); do
	! records 3 >>"$log" || break
	sleep 0.1
done
check "it records" records 3
begin=$(metric windows_stored_total)
begun=$SECONDS
watch >"$TMPDIR/out/watch" &
watcher=$!
check "200 clients at once" clients crowd
check "slow ones" clients slow
check "garbage, refused" clients garbage
check "garbage, taken" clients flood
check "paths that are none, heads without end" clients tricks
check "200 clients after it" clients crowd
lasted=$((SECONDS - begun))
kill "$watcher"
wait "$watcher" 2>/dev/null
end=$(metric windows_stored_total)
echo "# $lasted s, $((end - begin)) windows, $(metric agent_http_cpu_seconds_total) s of CPU for clients of $(metric agent_cpu_seconds_total) s"

said()
{
	sort "$TMPDIR/out/watch" | cut -d' ' -f1,2 | uniq -c
	cut -d' ' -f1,2 "$TMPDIR/out/watch" | sort -u | cmp - <(echo "$1")
}

lean()
{
	local most
	most=$(cut -d' ' -f3 "$TMPDIR/out/watch" | sort -n | tail -n 1)
	echo "at most $most KiB anonymous, now $(awk '/RssAnon/ { print $2 }' "/proc/$agent/status"), $(ls "/proc/$agent/task" | wc -l) threads"
	[ "$most" -le "$rss_max_kib" ]
}

# A window that took longer swallows the next one, but its time is covered.
covered()
{
	curl -s -m 30 "${url}api/coverage?kind=cpu" >"$TMPDIR/out/coverage"
	cat "$TMPDIR/out/coverage"
	python3 -c 'import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["lost"] == 0 and "balanced" in answer["ledger"], answer
assert answer["covered_ms"] >= 1000 * int(sys.argv[2]), answer' "$TMPDIR/out/coverage" "$lasted"
}

check "all the time it was well and its rate was what it is without clients" said "19 ok"
check "its memory stayed bounded" lean
check "no time is missing, and nothing was lost" covered
check "what clients cost is told apart" python3 -c "assert $(metric agent_http_cpu_seconds_total) > 0.1"
kill -TERM "$agent"
wait "$agent"
check "it ends well" [ $? = 0 ]
check "no rate was lowered, nothing failed" bash -c "cat '$err'; ! grep -E 'rate:|error|failed' '$err'"
check "its store is whole" "$bpfprof" store fsck --store "$store"
exit $status
