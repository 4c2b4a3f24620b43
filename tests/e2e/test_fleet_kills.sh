#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Agents that ship into a real cluster while everything about it is killed: known calls of a function are on every server
# once for each agent, though agents and who ships for them are killed every second, replicas and ZooKeeper die, answers
# to inserts are cut off, and their clocks jump a minute each time (so that there is something to ship). The first shard
# takes what comes twice, the second looks for it.
# timeout: 300
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse_cluster.sh
. tests/e2e/fleet_cluster.sh

cluster_is_here || { skip "agents and a cluster" "$why"; exit 0; }
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
calls=100000
compile hits hits.c -DCOUNT=${calls}L -DPER_SECOND=4000L -DDEPTHS=1
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c
check "the clock compiles" ${CC:-cc} -std=gnu11 -O2 -Wall -shared -fPIC -o "$TMPDIR/clock.so" tests/e2e/clock_steps.c
pins=/sys/fs/bpf/bpfprof-kills-$$
agent_pids=(0 0 0)
children=()

# cleaned: nothing is left, neither in the kernel.
cleaned()
{
	local agent

	for agent in 1 2; do
		kill_all_of $agent
		"$bpfprof" agent --detach --pin-dir "$pins-$agent" >>"$log" 2>&1
	done
	kill "${children[@]}" 2>>"$log"
	cluster_kill
	stop_loads
	rm -rf "$tmp"
}

# kill_all_of AGENT: with who ships for it.
kill_all_of()
{
	# shellcheck disable=SC2046 # a list of numbers
	kill -9 $(pgrep -f "bpfprof agent --store $tmp/$1.db") 2>>"$log"
	wait "${agent_pids[$1]}" 2>>"$log"
}

# agent_begins AGENT: a minute after it began before, by its clock.
agent_begins()
{
	minute=$((minute + 1))
	agent=(env "LD_PRELOAD=$TMPDIR/clock.so" "CLOCK_STEPS=0:$((noon + 60 * minute - $(date +%s)))" "$bpfprof" agent
		--store "$tmp/$1.db" --sink "$url" --pin-dir "$pins-$1" --no-off-cpu --interval 1s -F 19
		-e "uprobe:$TMPDIR/bin/hits:hit")
	begin_agent --listen none
	local code=$?
	agent_pids[$1]=$agent_pid
	return $code
}

# The proxy in front of a server of the second shard
proxied()
{
	port=$(free_port)
	python3 tests/e2e/cutting_proxy.py "$port" "${node_ports[3]}" 1 0.4 2>>"$TMPDIR/proxy" &
	children+=($!)
	for _ in $(seq 100); do
		proxy_counts && return
		sleep 0.05
	done
	return 1
}

# proxy_counts: answers that passed, and that were cut.
proxy_counts()
{
	curl -s -m 5 "http://127.0.0.1:$port/"
}

trap cleaned EXIT
noon=$(date -u -d '2026-11-20 12:00' +%s)
minute=0
check "a cluster is configured" cluster_configure
check "... and begins" cluster_start
check "... behind a proxy" proxied
[ $status = 0 ] || exit 1
url=clickhouse://127.0.0.1:$port,127.0.0.1:${node_ports[1]},127.0.0.1:${node_ports[4]}/fleet
check "... with tables" "$bpfprof" store init --cluster two_by_two --store "$url"
# Their stores, of hosts that lie on different shards.
for agent_nr in 1 2; do
	"$driver" "$tmp/$agent_nr.db" 1 0 >>"$log"
	sql "$tmp/$agent_nr.db" "UPDATE meta SET value='host $agent_nr' WHERE key='host'"
	check "agent $agent_nr begins" agent_begins $agent_nr
done

# --- Killed ---

# What happens besides at the time of the Nth kill
happens()
{
	case $1 in
	3) node_kill 1 ;;
	6) node_begin 1 ;;
	9) zk_kill ;;
	10) zk_start ;;
	13) node_kill 4 ;;
	16) node_begin 4 ;;
	19) node_kill 3 ;;
	20) node_begin 3 ;;
	esac
}

hits >"$TMPDIR/hits.out" &
hits_pid=$!
kills=0 failures=0
while kill -0 "$hits_pid" 2>>"$log" || [ $kills -lt 21 ]; do
	sleep "0.$((RANDOM % 7 + 3))"
	kill_all_of $((kills % 2 + 1))
	agent_begins $((kills % 2 + 1)) >>"$log" || failures=$((failures + 1))
	kills=$((kills + 1))
	happens $kills >>"$log" || failures=$((failures + 1))
done
check "agents are killed $kills times, and go on" is "$failures == 0"
for node in 1 2 3 4; do
	check "server $node is there" node_await $node
done
# Two windows, so that the last call is in one that was stored.
sleep 2.5

# all_shipped AGENT: it is told to end, and what it did not ship then is.
all_shipped()
{
	kill -TERM "${agent_pids[$1]}" && wait "${agent_pids[$1]}"
	for _ in $(seq 200); do
		"$bpfprof" store ship --store "$tmp/$1.db" --to "$url" && return
		sleep 0.1
	done
	return 1
}

# hits_on NODE: what the samples there say, of each host.
hits_on()
{
	node_sql "$1" "SELECT toInt64(sum(n)) FROM samples FINAL WHERE kind IN (SELECT kind FROM kinds WHERE name LIKE '%hit%')
		GROUP BY host FORMAT TSV" fleet | xargs
}

for agent_nr in 1 2; do
	check "agent $agent_nr ends, and ships all" all_shipped $agent_nr
done
read -r passed cut < <(proxy_counts)
echo "# $cut answers cut, $passed passed; $(node_sql 1 "SELECT count() FROM batches FINAL WHERE kind = 0" fleet) batches" >>"$log"
check "answers were cut" is "$cut > 3"
# exact: each call is on each server once for each agent.
exact()
{
	local node

	for node in 1 2 3 4; do
		[ "$(hits_on $node)" = "$calls $calls" ] || { echo "server $node: $(hits_on $node)"; return 1; }
	done
	"$bpfprof" store fsck --store "$url" && "$bpfprof" store fsck --store "clickhouse://127.0.0.1:${node_ports[4]}/fleet"
}

# replayed: both spools, from their beginning.
replayed()
{
	local nr

	forget_cursors "$tmp"/[12].db
	for nr in 1 2; do
		"$bpfprof" store ship --store "$tmp/$nr.db" --to "$url" || return
	done
}

check "each call is on each server once for each agent" exact
check "... one on each shard" test "$(node_sql 2 "SELECT uniqExact(host) FROM samples_local" fleet)$(node_sql 3 \
	"SELECT uniqExact(host) FROM samples_local" fleet)" = 11
check "their spools are shipped again" replayed
check "... which changes nothing" exact
exit $status
