#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fleet's store on a real cluster of two shards with two replicas each: nothing lost, nothing double, whichever server
# is killed, and ZooKeeper; asked, it answers as the store that was shipped.
# timeout: 300
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse_cluster.sh
. tests/e2e/fleet.sh
. tests/e2e/fleet_cluster.sh

cluster_is_here || { skip "the fleet's cluster" "$why"; exit 0; }

out=$tmp/out
mkdir -p "$out"
trap 'cluster_kill; wait 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd" build_driver make_store tests/e2e/make_store.c

holds "a cluster is configured" cluster_configure
holds "... and begins" cluster_start
[ $status = 0 ] || exit 1
url=clickhouse://127.0.0.1:${node_ports[1]},127.0.0.1:${node_ports[2]},127.0.0.1:${node_ports[3]}/fleet
other=clickhouse://127.0.0.1:${node_ports[4]}/fleet

# --- Tables ---

holds "a cluster that is none" bpfprof_into 1 refused store init --cluster nowhere --store "$other"
holds "... is told" told "nowhere" refused.err
holds "init makes the tables everywhere" bpfprof_into 0 init store init --cluster two_by_two --store "$other"
holds "... says so" told "database and 15 tables made, .*on cluster 'two_by_two' with 2 replicas of each shard" init.err
holds "... once more does nothing, and finds the cluster" bpfprof_into 0 init store migrate --store "$url"
holds "... and says so" told "nothing is to be done, on cluster 'two_by_two'" init.err
holds "a single server's tables stay" eval 'bp store init --store "${other%/*}/single" &&
	bpfprof_into 1 refused store init --cluster two_by_two --store "${other%/*}/single"'
holds "... which is told" told "there already, of a single server" refused.err

# --- Shipping ---

make_hosts 80 || exit 1

# spread: hosts of both shards, on each replica all of its shard's.
spread()
{
	local node

	for node in 1 2 3 4; do
		node_sql $node "SELECT count(), groupUniqArray(host % 2) FROM samples_local FINAL" fleet
	done >"$out/spread"
	cat "$out/spread"
	[ "$(sort -u "$out/spread" | wc -l)" = 2 ] && [ "$(cut -f 2 "$out/spread" | uniq | tr '\n' ' ')" = "[0] [1] " ]
}

holds "four hosts ship" ship_all "$url"
holds "... all of it" exact
holds "... to the shard of each, and to both replicas" spread
forget_cursors "$tmp"/[1-4].db
holds "the same spools, through another server" ship_all "$other"
holds "... are there once" exact

# --- Killed ---

# shipping URL: in the background, all that there is.
shipping()
{
	(ship_all "$1") &
	shipper=$!
}

# killed NODE: it dies while hosts ship, and comes back when ZooKeeper has noticed.
killed()
{
	add && shipping "$url" && sleep "0.$((RANDOM % 10))" && node_kill "$1" && sleep 2.5 && node_begin "$1" &&
		node_await "$1" && wait $shipper
}

holds "a replica that is killed" killed 1
holds "... loses nothing, doubles nothing" exact
holds "one of the other shard" killed 4
holds "... neither" exact
zk_killed()
{
	add && shipping "$url" && sleep "0.$((RANDOM % 10))" && zk_kill && sleep 1 && zk_start && wait $shipper
}
holds "ZooKeeper" zk_killed
holds "... neither" exact
shippers_killed()
{
	local kills=0 pid

	forget_cursors "$tmp"/[1-4].db
	add || return
	while [ $kills -lt 12 ]; do
		"$BUILD/bpfprof" store ship --store "$tmp/$((kills % 4 + 1)).db" --to "$url" &
		pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $pid 2>/dev/null && kills=$((kills + 1))
		wait $pid 2>/dev/null
	done
	ship_all "$url"
}
holds "shippers that are killed" shippers_killed
holds "... neither" exact

# --- Asked ---

# Minutes after noon, UTC.
at()
{
	date -u -d "@$((1795176000 + 60 * $1))" +%Y-%m-%dT%H:%M:%SZ
}

# asked NAME STORE VIEW FROM-TO ARG...: the answer for these minutes into out/NAME.
asked()
{
	bpfprof_into 0 "$1" query "$3" --store "$2" --since "$(at "${4%-*}")" --until "$(at "${4#*-}")" "${@:5}"
}

# as_local VIEW FROM-TO ARG...: the host's store and the cluster say the same, to the byte.
as_local()
{
	asked local "$tmp/alpha.db" "$@" && asked remote "$asked" "$@" && [ -s "$out/local" ] && cmp "$out/local" "$out/remote"
}

# table VIEW FROM-TO WHERE BY: printed as JSON, and true of all hosts.
table()
{
	local view=$1 words=()
	[ "$view" = by ] && view=top
	[ -n "$3" ] && words+=(--select "$3")
	[ -n "$4" ] && words+=(--by "$4")
	asked table "$asked" "$view" "$2" --format json "${words[@]}" &&
		python3 tests/e2e/query_truth.py "$tmp/truth" "$1" "$out/table" "$2" '' "$3" "$4"
}

# served STORE: in the background; its address is in $address.
served()
{
	"$BUILD/bpfprof" serve --store "$1" --listen 127.0.0.1:0 2>"$out/served" &
	servers+=($!)
	for _ in $(seq 200); do
		address=$(sed -nE 's,.* at (http://[0-9.:]+/)$,\1,p' "$out/served")
		[ -n "$address" ] && return
		sleep 0.1
	done
	cat "$out/served"
	return 1
}

asked=${url%/*}/asked
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; cluster_kill; wait 2>/dev/null; rm -rf "$tmp"' EXIT
holds "a store to be asked" bp store init --cluster two_by_two --store "$asked"
for host in alpha:1 beta:2 gamma:3; do
	"$tmp/make_store" "$tmp/${host%:*}.db" "$tmp/truth.${host#*:}" "${host#*:}" || exit 1
	sql "$tmp/${host%:*}.db" "UPDATE meta SET value='host ${host#*:}' WHERE key='host'"
done
cat "$tmp"/truth.[123] >"$tmp/truth"
ships()
{
	bp store ship --store "$tmp/$1.db" --to "$asked"
}
holds "one host ships" ships alpha
holds "the first server is dead" node_kill 1
while read -r words; do
	# shellcheck disable=SC2086 # words
	holds "as local: $words" as_local $words
done <<'END'
top 0-120
top 30-55 --by service,host
top 0-120 --select comm=[np]*,host=?eta1 --by service
labels 0-120
kinds 0-120
flame 60-120 -o - --by host --select service=web
diff 60-120
END
holds "a host's store is served" served "$tmp/alpha.db"
local_address=$address
holds "so is the cluster" served "$asked"
holds "their answers are the same" python3 tests/e2e/fleet_serve.py "$local_address" "$address"
node_begin 1
holds "the server is there again" node_await 1
# ships_in_time HOST: inserts that meet try again, here for a minute.
ships_in_time()
{
	for _ in $(seq 300); do
		ships "$1" && return
		sleep 0.2
	done
	return 1
}
holds "two hosts more" eval 'ships_in_time beta && ships_in_time gamma'
holds "of both shards: top" table top 0-120 '' ''
holds "... by host" table by 0-120 '' host
holds "... labels" table labels 0-120 '' ''
holds "... where" table top 30-90 'service=w*,host=beta[13]' ''
# svg NAME: of whole hours.
svg()
{
	bpfprof_into 0 "$1" query flame --store "$asked" --since 2026-11-20T12:00:00Z --until 2026-11-20T14:00:00Z -o "$tmp/$1.svg"
}
holds "... a flame graph" svg samples
holds "hours and days are added up" bpfprof_into 0 rolled store rollup --store "$asked"
holds "... says so" told "[1-9][0-9]* hours and [0-9]+ days rolled up into [1-9][0-9]* rows" rolled.err
holds "... on both shards" eval '[ "$(node_sql 1 "SELECT count() > 0 FROM rollup_1h_local" asked)$(node_sql 4 \
	"SELECT count() > 0 FROM rollup_1h_local" asked)" = 11 ]'
holds "... with trees" told "; [1-9][0-9]* got trees$" rolled.err
holds "... and answer the same" table top 0-120 '' ''
holds "... by them, too" eval 'svg trees && cmp "$tmp/samples.svg" "$tmp/trees.svg"'
holds "... as does every part of them" table by 0-120 '' service
holds "fsck finds them whole" bp store fsck --store "$asked"
holds "... and with what is new" eval 'bp store rollup --store "$asked" && bp store fsck --store "$asked"'

# --- Samples as they were laid out before version 5 ---

rows_of()
{
	node_sql "$1" "SELECT count() FROM $2" asked
}

# copied NODE OTHER: its shard's samples into before_local, on both of its replicas.
copied()
{
	node_sql "$1" "INSERT INTO before_local SELECT service, version, kind, h, stack, host, src, ts, lead, n, v1, v2, v3, v, unit
		FROM samples_local FINAL" asked
	for _ in $(seq 300); do
		[ "$(rows_of "$2" before_local)" = "$(rows_of "$1" before_local)" ] && return
		sleep 0.1
	done
	return 1
}

older()
{
	local columns="service LowCardinality(String), version LowCardinality(String), kind UInt64, h DateTime('UTC'), stack UInt64,
		host UInt64, src UInt64, ts UInt16, lead UInt32, n Int64, v1 Int64, v2 Int64, v3 Int64, v Array(Int64), unit Int64"
	local everywhere="ON CLUSTER 'two_by_two'"
	node_sql 1 "CREATE TABLE asked.before_local $everywhere ($columns) ENGINE =
		ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/asked/samples', '{replica}') PARTITION BY toYYYYMMDD(h)
		PRIMARY KEY (service, version, kind, h, stack) ORDER BY (service, version, kind, h, stack, host, src, ts, lead)" asked
	copied 1 2 && copied 3 4 || return
	for table in samples samples_local migrations_local; do
		node_sql 1 "$([ $table = migrations_local ] && echo TRUNCATE || echo DROP) TABLE asked.$table $everywhere" asked
	done
	node_sql 1 "RENAME TABLE asked.before_local TO asked.samples_local $everywhere" asked
	node_sql 1 "CREATE TABLE asked.samples $everywhere ($columns) ENGINE = Distributed('two_by_two', 'asked', 'samples_local',
		host)" asked
	node_sql 1 "INSERT INTO migrations SELECT toUInt32(4), now(), '18.16'" asked
	[ "$(rows_of 2 samples_local)" -gt 0 ] && [ "$(rows_of 3 samples_local)" -gt 0 ]
}

holds "samples are as version 4 has them" older
holds "... and answer the same" table by 0-120 '' host
holds "... but are not rolled up" bpfprof_into 1 rolled store rollup --store "$asked"
# As if it had been cut short when they had stepped aside.
holds "... and step aside" eval 'node_sql 1 "RENAME TABLE asked.samples_local TO asked.samples_before_local ON CLUSTER two_by_two" asked &&
	node_sql 1 "DROP TABLE asked.samples ON CLUSTER two_by_two" asked'
holds "they are laid out anew" bpfprof_into 0 migrated store migrate --store "$asked"
holds "... which is told" told "samples of 2 of 2 hours are laid out anew" migrated.err
holds "... on the cluster" told "1 tables made, of version 5, .* on cluster 'two_by_two' with 2 replicas of each shard" migrated.err
holds "... and answer the same" table by 0-120 '' host
holds "... as does every part of them" table top 30-90 'service=w*,host=beta[13]' ''
holds "... everywhere" eval '[ "$(rows_of 2 samples_local)" -gt 0 ] && [ "$(rows_of 3 samples_local)" -gt 0 ]'
holds "... and none are left of before" [ "$(node_sql 1 "SELECT count() FROM system.tables WHERE database = 'asked' AND
	name LIKE 'samples_before%'")" = 0 ]
holds "... whole" bp store fsck --store "$asked"

# --- What is wrong is found ---

finds()
{
	bpfprof_into 1 fsck store fsck --store "$url" && told "$1" fsck
}

# here NODE: how often the row lies there.
here()
{
	node_sql "$1" "SELECT count() FROM samples_local FINAL WHERE $row" fleet
}

columns="service, version, kind, h, stack, src, second, host, minute, lead, n, v1, v2, v3, v, unit"
# A row that lies on the first shard: what tells it from all others.
read -r kind host stack src h minute second lead < <(node_sql 1 "SELECT kind, host, stack, src, toUInt32(h), minute, second, lead FROM samples_local
	ORDER BY kind, stack, h, ts LIMIT 1 FORMAT TSV" fleet)
row="kind = $kind AND host = $host AND stack = $stack AND src = $src AND h = toDateTime($h)
	AND minute = $minute AND second = $second AND lead = $lead"
holds "a row of the first shard" same "$(here 1) $(here 2) $(here 3) $(here 4)" "1 1 0 0"
doubled()
{
	node_sql 3 "INSERT INTO samples_local ($columns) SELECT $columns FROM samples WHERE $row LIMIT 1" fleet
	for _ in $(seq 300); do
		[ "$(here 3)$(here 4)" = 11 ] && return
		sleep 0.1
	done
	return 1
}
holds "comes to the other one, too" doubled
holds "... which is found" finds "[0-9]+ rows of samples, but the ledger has [0-9]+"
# lost NODE OTHER: on both replicas. Mutations are carried out after they were answered.
lost()
{
	node_sql "$1" "ALTER TABLE samples_local DELETE WHERE $row" fleet
	for _ in $(seq 300); do
		[ "$(here "$1")$(here "$2")" = 00 ] && return
		sleep 0.1
	done
	return 1
}
holds "... and mended where it is taken away" eval 'lost 3 4 && bp store fsck --store "$url"'
holds "a row that is lost" lost 1 2
holds "... is found" finds "[0-9]+ rows of samples, but the ledger has [0-9]+"
forget_cursors "$tmp"/[1-4].db
holds "the spools once more" ship_all "$url"
holds "... mend it" exact

# --- Retention ---

# Tables, what says their rows' day, and their shard.
dated=(samples:h:host batches:h:host rollup_1h:h:stack rollup_1d:h:stack rollup_trees:h:tree stacks:day:stack
	frames:day:frame sources:day:host)

# add_day TIME: two rows of that day in each table, one for each shard.
add_day()
{
	local name day shard

	for table in "${dated[@]}"; do
		IFS=: read -r name day shard <<<"$table"
		[ "$day" = h ] && day_is="toDateTime('$1')" || day_is="toDate('$1')"
		node_sql 2 "INSERT INTO $name ($day, $shard) SELECT $day_is, number FROM numbers(2)" asked
	done
}

# of_day TIME: in how many tables each server has a partition for it.
of_day()
{
	local node

	for node in 1 2 3 4; do
		node_sql $node "SELECT uniqExact(table) FROM system.parts WHERE active AND database = 'asked' AND partition IN
			('$(date -u -d "$1" +%Y%m%d)', '$(date -u -d "$1" +%Y%m)')"
	done | tr '\n' ' '
}

# comes WANTED TIME: of_day, when replicas have followed.
comes()
{
	for _ in $(seq 300); do
		[ "$(of_day "$2")" = "$1" ] && return
		sleep 0.1
	done
	of_day "$2"
	return 1
}

old="2020-01-31 12:00:00"
now=$(date -u "+%F %T")
add_day "$old"
add_day "$now"
holds "an old day" comes "8 8 8 8 " "$old"
holds "and today" comes "8 8 8 8 " "$now"
holds "what is old is dropped" bpfprof_into 0 dropped store drop --retain 30d --store "$asked"
holds "... says so" told "[1-9] days dropped, as [0-9]+ partitions" dropped.err
holds "... from all servers" comes "0 0 0 0 " "$old"
holds "... and today is not" comes "8 8 8 8 " "$now"
holds "... nor what has gone" bpfprof_into 0 dropped store drop --retain 30d --store "$asked"
holds "... says so" told ": 0 days dropped, as 0 partitions" dropped.err
exit $status
