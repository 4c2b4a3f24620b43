#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent ships while its clock passes midnight and is stepped: by a window's length, back over midnight, over an hour
# and a day, and ahead again; and it is killed meanwhile. Known calls of a function are in ClickHouse once each, and fsck
# finds nothing. The clock is the agent's own (clock_steps.c).
# timeout: 200
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse.sh

have clickhouse-server || { skip "clock steps of a fleet" "no clickhouse-server"; exit 0; }
unset http_proxy https_proxy
compile hits hits.c -DCOUNT=120000L -DPER_SECOND=4000L -DDEPTHS=1
if ! ${CC:-cc} -std=gnu11 -O2 -Wall -shared -fPIC -o "$TMPDIR/clock.so" tests/e2e/clock_steps.c >>"$log" 2>&1; then
	verdict 1 "the clock compiles"
	exit 1
fi
store=$TMPDIR/store.db
pins=/sys/fs/bpf/bpfprof-clock-$$
ch_configure || exit 1
check "a server begins" ch_start
url=clickhouse://127.0.0.1:$ch_port/fleet
# shellcheck disable=SC2154 # of clickhouse.sh
trap '"$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; ch_kill; stop_loads; rm -rf "$tmp"' EXIT

# agent_at UNIX-TIME [AFTER:BY...]: an agent whose clock shows that as it begins, and is that much ahead or back so many
# seconds later.
agent_at()
{
	local base=$(($1 - $(date +%s))) steps step
	shift
	steps=0:$base
	for step; do
		steps=$steps,${step%:*}:$((base + ${step#*:}))
	done
	agent=(env "LD_PRELOAD=$TMPDIR/clock.so" "CLOCK_STEPS=$steps" "$bpfprof" agent --store "$store" --sink "$url"
		--pin-dir "$pins" --no-off-cpu --interval 1s -F 19 -e "uprobe:$TMPDIR/bin/hits:hit")
	begin_agent --listen none
}

check "init" "$bpfprof" store init --store "$url"
midnight=$(($(date -u -d 2026-11-21 +%s)))
hour=3600 day=86400
check "an agent, six seconds before midnight" agent_at $((midnight - 6)) 9:-1 11:-3 13:-60 16:$((-hour - 60)) 19:$((-day))
hits >"$TMPDIR/hits.out" &
hits_pid=$!
sleep 21
kill -9 "$agent_pid"
wait "$agent_pid" 2>>"$log"
check "another one, three hours ahead" agent_at $((midnight + 3 * hour)) 3:$((-3 * hour - 20)) 6:$((2 * day)) 8:$((-hour))
wait "$hits_pid"
# Two windows, so that the last call is in one that was stored.
sleep 2.5
kill -TERM "$agent_pid"
check "it ends" has_ended "$agent_pid"
check "what is left is shipped" "$bpfprof" store ship --store "$store" --to "$url"
check "each call is in the fleet once" is "$(hits_in_fleet) == 120000"

# again: days on which windows began, though a later one had begun.
again()
{
	ch_sql fleet "SELECT toUInt32(toDate(h)) FROM batches FINAL WHERE kind = 0 ORDER BY seq FORMAT TSV" |
		awk '$1 < last { again++ } { last = $1 } END { print again + 0 }'
}

check "... on days that came again" is "$(again) >= 2"
check "fsck finds nothing" "$bpfprof" store fsck --store "$url"
one_day=(--since 2026-11-21T01:00:00Z --until 2026-11-21T02:00:00Z)
check "... on one of the days, either" "$bpfprof" store fsck --store "$url" "${one_day[@]}"
check "... in roll-ups, either" bash -c '"$1" store rollup --store "$2" && "$1" store fsck --store "$2"' _ "$bpfprof" "$url"
check "... in the agent's own store, either" "$bpfprof" store fsck --store "$store"

# fsck_finds ARG...: windows that are missing
fsck_finds()
{
	! "$bpfprof" store fsck --store "$url" "$@" >"$TMPDIR/found" 2>>"$log" && grep "windows are missing$" "$TMPDIR/found"
}

# One of those behind a step over midnight.
seq=$(ch_sql fleet "SELECT max(seq) FROM batches FINAL WHERE kind = 0 AND toDate(h) = '2026-11-20'")
ch_sql fleet "ALTER TABLE batches DELETE WHERE seq = $seq"
check "one of these windows is taken away" ch_mutated fleet
check "... which is found" fsck_finds
check "... from a later day, too" fsck_finds "${one_day[@]}"
exit $status
