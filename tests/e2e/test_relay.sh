#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stores through relays into a real ClickHouse: nothing lost, nothing double, whatever is killed, cut or full.
# timeout: 400
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/relay.sh

have clickhouse-server || { skip "relays" "no clickhouse-server"; exit 0; }

out=$tmp/out
mkdir -p "$out"
children=()
# shellcheck disable=SC2154 # of clickhouse.sh
trap 'kill "${children[@]}" 2>/dev/null; relay_kill_all; ch_kill; wait 2>/dev/null; umount "$tmp/small" 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD RELAY_USER RELAY_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

bp()
{
	"$BUILD/bpfprof" "$@"
}

# url DATABASE
url()
{
	echo "clickhouse://127.0.0.1:$ch_port/$1"
}

same()
{
	echo "$1"
	echo "$2"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

# sums DATABASE: as fleet_store prints them. The fifth value of off-cpu is the first of v.
sums()
{
	ch_sql "$1" "SELECT 'cpu', toInt64(sumIf(n, k.name = 'cpu')), toInt64(sumIf(v1 + n * unit, k.name = 'cpu')), 'off-cpu',
		toInt64(sumIf(n, k.name = 'off-cpu')), toInt64(sumIf(v[1], k.name = 'off-cpu')), 'samples-of-web',
		toInt64(sumIf(n, k.name = 'cpu' AND service = 'web'))
		FROM (SELECT service, kind, n, v1, unit, v, name AS \"k.name\" FROM (SELECT * FROM samples FINAL)
		ANY LEFT JOIN (SELECT kind, name FROM kinds) USING kind) FORMAT TSV" | tr '\t' ' '
}

# total FILE...: what fleet_store printed, in sum.
total()
{
	awk '{ a += $2; b += $3; c += $5; d += $6; e += $8 }
	END { printf "cpu %.0f %.0f off-cpu %.0f %.0f samples-of-web %.0f\n", a, b, c, d, e }' "$@"
}

# fresh DATABASE: with tables, and stores that have shipped nothing.
fresh()
{
	ch_sql default "DROP DATABASE IF EXISTS $1"
	bp store init --store "$(url "$1")" || return
	for store in "$tmp"/store*.db; do
		python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("DELETE FROM sink")
store.commit()' "$store" || return
	done
}

# whole DATABASE: fsck says so.
whole()
{
	bp store fsck --store "$(url "$1")"
}

# ship_to_end STORE URL: until it says that all is there.
ship_to_end()
{
	local tries=0
	until bp store ship --store "$1" --to "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.05
	done
}

# ship_all URL: every store, beside each other.
ship_all()
{
	local pids=() code=0
	for store in "$tmp"/store*.db; do
		ship_to_end "$store" "$1" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || code=1
	done
	return $code
}

# --- One relay ---

ch_configure || exit 1
holds "a server begins" ch_start
[ $status = 0 ] || exit 1
for nr in 1 2 3 4; do
	"$tmp/fleet_store" "$tmp/store$nr.db" 1 $((150 + 10 * nr)) >"$out/sums$nr" || exit 1
done

holds "a database" fresh fleet
relay_configure one "$(url fleet)"
holds "a relay begins" relay_start one
holds "a store goes through it" bpfprof_into 0 shipped store ship --store "$tmp/store1.db" --to "$(relay_url one)"
holds "... all of it" told "160 windows" shipped.err
holds "... into the fleet's store" relay_drained one
holds "every sum is the recorded one" same "$(sums fleet)" "$(cat "$out/sums1")"
holds "fsck finds nothing" whole fleet
exit $status
