#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fleet's store on a real cluster of two shards with two replicas each: nothing lost, nothing double, whichever server
# is killed, and ZooKeeper; asked, it answers as the store that was shipped.
# timeout: 300
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse_cluster.sh

have clickhouse-server || { skip "the fleet's cluster" "no clickhouse-server"; exit 0; }
if [ ! -e /usr/share/java/zookeeper.jar ] || ! have java; then
	skip "the fleet's cluster" "no ZooKeeper (Debian's libzookeeper-java, and a java)"
	exit 0
fi

out=$tmp/out
store=$tmp/store.db
mkdir -p "$out"
trap 'cluster_kill; wait 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

bp()
{
	"$BUILD/bpfprof" "$@"
}

same()
{
	printf '%s\n' "$@"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

# sums DATABASE NODE: as fleet_store prints them, asked of that one.
sums()
{
	node_sql "$2" "SELECT 'cpu', toInt64(sumIf(n, name = 'cpu')), toInt64(sumIf(v1, name = 'cpu')), 'off-cpu',
		toInt64(sumIf(n, name = 'off-cpu')), toInt64(sumIf(v[1], name = 'off-cpu')), 'samples-of-web',
		toInt64(sumIf(n, name = 'cpu' AND service = 'web'))
		FROM (SELECT service, kind, n, v1, v, name FROM (SELECT * FROM samples FINAL)
		ANY LEFT JOIN (SELECT kind, name FROM kinds) USING kind) FORMAT TSV" "$1" | tr '\t' ' '
}

# forget_cursor STORE: it is shipped again from the start.
forget_cursor()
{
	python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("UPDATE sink SET seq=0")
store.commit()' "$1"
}

ship()
{
	bp store ship --store "$1" --to "$2"
}

# ship_to_end STORE URL: until it says that all is there.
ship_to_end()
{
	local tries=0

	until ship "$1" "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.1
	done
}

holds "a cluster is configured" cluster_configure 0
holds "... and begins" cluster_start
[ $status = 0 ] || exit 1
url=clickhouse://127.0.0.1:${node_ports[1]},127.0.0.1:${node_ports[2]},127.0.0.1:${node_ports[3]}/fleet
other=clickhouse://127.0.0.1:${node_ports[4]}/fleet

# --- Tables ---

holds "a cluster that is none" bpfprof_into 1 refused store init --cluster nowhere --store "$other"
holds "... is told" told "nowhere" refused.err
holds "init makes the tables everywhere" bpfprof_into 0 init store init --cluster two_by_two --store "$other"
holds "... says so" told "database and 9 tables made, .*on cluster 'two_by_two' with 2 replicas of each shard" init.err
holds "... once more does nothing" bpfprof_into 0 init store init --cluster two_by_two --store "$url"
holds "... and says so" told "nothing is to be done" init.err
holds "migrate finds the cluster" bpfprof_into 0 init store migrate --store "$url"
holds "... and says so" told "on cluster 'two_by_two'" init.err
holds "a single server's tables stay" eval 'bp store init --store "${other%/*}/single" &&
	bpfprof_into 1 refused store init --cluster two_by_two --store "${other%/*}/single"'
holds "... which is told" told "there already, of a single server" refused.err

# --- Shipping ---

"$tmp/fleet_store" "$store" 1 300 >"$out/truth" || exit 1
holds "a store is shipped" ship "$store" "$url"
for node in 1 2 3 4; do
	holds "every sum is the recorded one, asked of server $node" same "$(sums fleet $node)" "$(cat "$out/truth")"
done
holds "fsck finds nothing" bp store fsck --store "$url"
holds "fsck finds nothing" bp store fsck --store "$other"
forget_cursor "$store"
holds "shipped again through another server" ship_to_end "$store" "$other"
holds "every sum is the recorded one" same "$(sums fleet 1)" "$(cat "$out/truth")"
holds "fsck finds nothing" bp store fsck --store "$url"
exit $status
