#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Agents that ship while they record: known calls of a function are in ClickHouse once each, though agent, shippers and
# server are killed again and again, and a dead server holds up nobody.
# timeout: 300
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse.sh

have clickhouse-server || { skip "agents that ship" "no clickhouse-server"; exit 0; }
unset http_proxy https_proxy
compile hits hits.c -DCOUNT=100000L -DPER_SECOND=4000L -DDEPTHS=1
compile more hits.c -DCOUNT=20000L -DPER_SECOND=4000L -DDEPTHS=1
store=$TMPDIR/store.db
pins=/sys/fs/bpf/bpfprof-fleet-$$
ch_configure || exit 1
check "a server begins" ch_start
url=clickhouse://fleet:se%3Acret@127.0.0.1:$ch_port/fleet
printf '[sink fleet]\nurl = %s\nmax-rate = 8M\n' "$url" >"$TMPDIR/agent.conf"
agent=("$bpfprof" agent --config "$TMPDIR/agent.conf" --store "$store" --pin-dir "$pins" --no-off-cpu --interval 1s -F 19
	-e "uprobe:$TMPDIR/bin/hits:hit")
# shellcheck disable=SC2154 # of clickhouse.sh
trap '"$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; ch_kill; stop_loads; umount "$TMPDIR/small" 2>/dev/null; rm -rf "$tmp"' EXIT

# workers: processes that ship for our store.
workers()
{
	pgrep -f "bpfprof agent --config $TMPDIR/agent.conf" | grep -vx "$agent_pid"
}

check "a sink without a scheme is refused" bash -c '"$1" agent --check-config --sink 127.0.0.1 2>&1 |
	grep "option .--sink.: not the URL of a sink"' _ "$bpfprof"
check "the configuration is right" "${agent[@]}" --check-config
check "... a password in it is not shown" bash -c '"$1" agent --check-config --sink clickhouse://fleet:se%3Acret@db/fleet |
	grep -F "clickhouse://fleet:***@db/fleet"' _ "$bpfprof"
check "init" "$bpfprof" store init --store "$url"
check "an agent begins" begin_agent --listen none
hits >"$TMPDIR/hits.out" &
hits_pid=$!
kills=0 failures=0
while kill -0 "$hits_pid" 2>>"$log"; do
	sleep "$((RANDOM % 3)).$((RANDOM % 7 + 3))"
	case $((kills % 3)) in
	0) kill -9 "$agent_pid"; wait "$agent_pid" 2>>"$log"; begin_agent --listen none >>"$log" || failures=$((failures + 1)) ;;
	1) # shellcheck disable=SC2046 # a list of numbers
		kill -9 $(workers) 2>>"$log" ;;
	2) ch_kill; sleep 1; ch_start >>"$log" || failures=$((failures + 1)) ;;
	esac
	kills=$((kills + 1))
done
check "each one after it goes on" is "$failures == 0 && $kills > 6"
# Two windows, so that the last call is in one that was stored.
sleep 2.5
kill -TERM "$agent_pid"
check "SIGTERM: the agent ends" has_ended "$agent_pid"
check "... well" wait "$agent_pid"
check "... and so does all that shipped" bash -c 'sleep 1; ! pgrep -f "bpfprof agent --config $1/agent.conf"' _ "$TMPDIR"
# Those whose keeper was killed, too, have left something, and so has who waits before the next try when the end comes.
for _ in 1 2 3 4 5; do
	begin_agent --listen none >>"$log"
	sleep 2
	kill -TERM "$agent_pid"
	has_ended "$agent_pid"
	[ "$(hits_in_fleet)" != 100000 ] || break
done
echo "# $kills kills, $(ch_sql fleet "SELECT count() FROM batches FINAL WHERE kind = 0") batches" >>"$log"
check "each call is in the fleet once" is "$(hits_in_fleet) == 100000"
check "fsck finds nothing" "$bpfprof" store fsck --store "$url"

# --- A server that is dead, and metrics ---

port=$(free_port)
ch_kill
check "an agent beside a dead server" begin_agent --listen "127.0.0.1:$port"
sleep 4
windows=$(curl -s -m 5 "http://127.0.0.1:$port/metrics" | sed -n 's/^bpfprof_windows_stored_total //p')
check "... stores its windows" is "$windows >= 2"
# The minute's end, and the next look.
for _ in $(seq 100); do
	retries=$(curl -s -m 5 "http://127.0.0.1:$port/metrics" | sed -n 's/^bpfprof_batch_retries_total{sink="fleet"} //p')
	[ "${retries:-0}" -gt 0 ] && break
	sleep 1
done
check "... tries again" is "${retries:-0} > 0"
check "... says so once" is "$(grep -c "sink 'fleet': .*does the server run" "$TMPDIR/agent.err") == 1"
check "... without the password" bash -c '! grep -q "se:cret\|se%3Acret" "$1"' _ "$TMPDIR/agent.err"
check "the server comes back" ch_start
for _ in $(seq 100); do
	acked=$(curl -s -m 5 "http://127.0.0.1:$port/metrics" | sed -n 's/^bpfprof_batches_acked_total{sink="fleet"} //p')
	[ "${acked:-0}" -gt 0 ] && break
	sleep 1
done
check "... and gets what it lacks" is "${acked:-0} > 0"
check "... which is said" grep "sink 'fleet': works again" "$TMPDIR/agent.err"
kill -TERM "$agent_pid"
check "the agent ends" has_ended "$agent_pid"
check "fsck finds nothing" "$bpfprof" store fsck --store "$url"
check "--detach ends what went on" "$bpfprof" agent --detach --pin-dir "$pins"

# --- A store whose disk is full ---

# small_agent: with a store there.
small_agent()
{
	agent=("$bpfprof" agent --store "$small/store.db" --sink "$url" --pin-dir "$pins" --no-off-cpu --interval 1s -F 19
		-e "uprobe:$TMPDIR/bin/more:hit")
	begin_agent --listen none
}

# more_in_fleet: what the samples say of the other program.
more_in_fleet()
{
	ch_sql fleet "SELECT toInt64(sum(n)) FROM samples FINAL WHERE kind IN (SELECT kind FROM kinds WHERE name LIKE '%hit%')
		AND host NOT IN (SELECT host FROM hosts WHERE id = '$first_host')"
}

small=$TMPDIR/small
mkdir "$small"
if mount -t tmpfs -o size=4m none "$small" 2>>"$log"; then
	first_host=$(ch_sql fleet "SELECT id FROM hosts FINAL")
	check "an agent whose disk is small" small_agent
	sleep 2
	cat /dev/zero >"$small/ballast" 2>>"$log"
	check "... and full, while a function is called" more
	check "... it says so" grep -E "No space left on device|disk is full" "$TMPDIR/agent.err"
	rm "$small/ballast"
	# Two windows, so that the last call is in one that was stored.
	sleep 2.5
	kill -TERM "$agent_pid"
	check "there is room again, and the agent ends" has_ended "$agent_pid"
	check "each call is in the fleet once" is "$(more_in_fleet) == 20000"
	check "fsck finds nothing" "$bpfprof" store fsck --store "$url"
	check "... in the agent's store, either" "$bpfprof" store fsck --store "$small/store.db"
	umount "$small"
else
	skip "an agent whose disk is small" "no tmpfs can be mounted"
fi
exit $status
