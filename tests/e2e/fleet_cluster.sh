# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh, clickhouse_cluster.sh and fleet.sh, by the tests that ship stores of known content into
# database fleet of the cluster: four hosts, two for each shard, each a store of its own in $tmp. fleet_store is built,
# $url and $other name servers of the cluster with the database, which are asked whether all is whole.

# cluster_is_here: can there be one? $why not.
cluster_is_here()
{
	why="no clickhouse-server"
	have clickhouse-server || return
	why="no ZooKeeper (Debian's libzookeeper-java, and a java)"
	[ -e /usr/share/java/zookeeper.jar ] && have java
}

# sums DATABASE NODE: as fleet_store prints them, asked of that one.
sums()
{
	node_sql "$2" "SELECT 'cpu', toInt64(sumIf(n, name = 'cpu')), toInt64(sumIf(v1 + n * unit, name = 'cpu')), 'off-cpu',
		toInt64(sumIf(n, name = 'off-cpu')), toInt64(sumIf(v[1], name = 'off-cpu')), 'samples-of-web',
		toInt64(sumIf(n, name = 'cpu' AND service = 'web'))
		FROM (SELECT service, kind, n, v1, unit, v, name FROM (SELECT * FROM samples FINAL)
		ANY LEFT JOIN (SELECT kind, name FROM kinds) USING kind) FORMAT TSV" "$1" | tr '\t' ' '
}

# sql STORE STATEMENT: to a local one.
sql()
{
	python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute(sys.argv[2])
store.commit()' "$@"
}

# make_hosts COUNT: that many windows of each.
make_hosts()
{
	local host

	for host in 1 2 3 4; do
		"$tmp/fleet_store" "$tmp/$host.db" 1 "$1" >"$out/truth.$host" || return
		sql "$tmp/$host.db" "UPDATE meta SET value='host $host' WHERE key='host'"
	done
	next_window=$(($1 + 1))
}

# add: 40 windows more, of each host.
add()
{
	local host

	for host in 1 2 3 4; do
		"$tmp/fleet_store" "$tmp/$host.db" "$next_window" 40 >>"$out/truth.$host" || return
	done
	next_window=$((next_window + 40))
}

# ship_all URL: until all that the hosts have is there.
ship_all()
{
	local host tries

	for host in 1 2 3 4; do
		tries=0
		until bp store ship --store "$tmp/$host.db" --to "$1"; do
			tries=$((tries + 1))
			[ $tries -lt 400 ] || return 1
			sleep 0.1
		done
	done
}

# exact: each server has all, once.
exact()
{
	local node

	for node in 1 2 3 4; do
		same "$(sums fleet $node)" "$(total "$out"/truth.*)" || return
	done
	bp store fsck --store "$url" && bp store fsck --store "$other"
}
