#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two relays between four hosts' stores and a real cluster of two shards with two replicas each: nothing lost, nothing
# double, on any of its servers, with servers, ZooKeeper, relays and shippers killed, and the same stores shipped twice,
# through relays and past them; symbols that are uploaded meanwhile are there once.
# timeout: 300
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse_cluster.sh
. tests/e2e/fleet.sh
. tests/e2e/fleet_cluster.sh
. tests/e2e/relay.sh

cluster_is_here || { skip "relays and a cluster" "$why"; exit 0; }

out=$tmp/out
mkdir -p "$out"
trap 'touch "$tmp/enough"; relay_kill_all; cluster_kill; wait 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD RELAY_USER RELAY_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

holds "a cluster is configured" cluster_configure
holds "... and begins" cluster_start
[ $status = 0 ] || exit 1
url=clickhouse://127.0.0.1:${node_ports[1]},127.0.0.1:${node_ports[3]}/fleet
other=clickhouse://127.0.0.1:${node_ports[4]},127.0.0.1:${node_ports[2]}/fleet
holds "... with tables" bp store init --cluster two_by_two --store "$url"
make_hosts 60 || exit 1

# Each asks another server first.
relay_configure left "$url"
relay_configure right "$other"
holds "two relays" eval 'relay_start left && relay_start right'

# ship_each: all that hosts have, beside each other; each asks another relay first than the next one.
ship_each()
{
	local host pids=() code=0 order

	for host in 1 2 3 4; do
		order=("left" "right")
		[ $((host % 2)) = 1 ] || order=("right" "left")
		ship_to_end "$tmp/$host.db" "$(relay_url "${order[@]}")" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || code=1
	done
	return $code
}

# --- Whole ---

holds "four hosts ship through them" ship_each
holds "... into the cluster" relay_drained left right
holds "... all of it" exact
holds "both had a part in it" eval '[ "$(relay_metric left stored_total)" -gt 0 ] && [ "$(relay_metric right stored_total)" -gt 0 ]'
forget_cursors "$tmp"/[1-4].db
holds "the same stores again" ship_each
holds "... and past the relays" ship_all "$other"
holds "... into the cluster" relay_drained left right
holds "... are there once" exact

# --- Killed ---

# kill_one NAME: a relay, a server, or ZooKeeper; it is back after a while.
kill_one()
{
	case $1 in
	left | right) relay_kill "$1" && sleep "0.$((RANDOM % 10))" && relay_start "$1" ;;
	zookeeper) zk_kill && sleep 1 && zk_start ;;
	*) node_kill "$1" && sleep 2.5 && node_begin "$1" && node_await "$1" ;;
	esac
}

# killed NAME...: one after the other, while windows are written and shipped, and symbols uploaded.
killed()
{
	local name code=0 uploader shipper

	rm -f "$tmp/enough"
	(while [ ! -e "$tmp/enough" ]; do ship_each; done) &
	shipper=$!
	(until bp store upload --store "$(relay_url right left)" "$BUILD/bpfprof"; do sleep 0.1; done) &
	uploader=$!
	for name; do
		add || code=1
		sleep "0.$((RANDOM % 10))"
		kill_one "$name" || code=1
	done
	touch "$tmp/enough"
	wait $shipper
	wait $uploader && ship_each && return $code
}

# tables_drained: no relay has one left.
tables_drained()
{
	local name
	for name in left right; do
		for _ in $(seq 600); do
			[ "$(relay_metric $name symbols_waiting)" = 0 ] && continue 2
			sleep 0.1
		done
		tail -5 "$out/$name.err"
		return 1
	done
}

holds "servers, relays and ZooKeeper are killed" killed 1 left zookeeper 4 right
holds "... and then not" relay_drained left right
holds "nothing is lost, nothing is double" exact
holds "symbols are shipped, too" tables_drained
for node in 2 3; do
	node_sql $node "SELECT uniqExact(build_id) = 1, max(chunks) = (SELECT count() FROM symbol_chunks FINAL)
		FROM symbol_tables FINAL WHERE chunks > 0 FORMAT TSV" fleet
done >"$out/symbols"
holds "... and whole" same "$(uniq "$out/symbols")" "1	1"

# shippers_killed: of all stores from their beginning, through relays and past them.
shippers_killed()
{
	local kills=0 to pid

	forget_cursors "$tmp"/[1-4].db
	add || return
	while [ $kills -lt 16 ]; do
		to=$(relay_url left right)
		[ $((kills % 3)) = 0 ] && to=$other
		bp store ship --store "$tmp/$((kills % 4 + 1)).db" --to "$to" &
		pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $pid 2>/dev/null && kills=$((kills + 1))
		wait $pid 2>/dev/null
	done
	ship_each && ship_all "$url"
}

holds "shippers that are killed" shippers_killed
holds "... leave nothing in relays" relay_drained left right
holds "nothing is lost, nothing is double" exact
for name in left right; do
	holds "relay $name ends when it is told" relay_kill $name TERM
done
exit $status
