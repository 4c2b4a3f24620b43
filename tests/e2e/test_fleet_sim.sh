#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/fleet-sim: a recorded store played as a fleet into a real ClickHouse. What it says is there, the fleet is whole,
# and the same again is the same rows.
# timeout: 120
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh

have clickhouse-server || { skip "a simulated fleet" "no clickhouse-server"; exit 0; }
out=$tmp/out
mkdir -p "$out"
trap 'ch_kill; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
libraries="-lsqlite3 -lzstd -lm"
LDFLAGS="${LDFLAGS:-} $libraries" build_driver fleet_store tests/e2e/fleet_store.c
LDFLAGS="${LDFLAGS:-} $libraries" build_driver fleet_sim -iquote tools/fleet-sim tools/fleet-sim/*.c
store=$tmp/store.db
"$tmp/fleet_store" "$store" 1 30 >"$out/recorded" || exit 1
holds "a server is configured" ch_configure
holds "a server starts" ch_start
[ $status = 0 ] || exit 1
server=clickhouse://127.0.0.1:$ch_port

# sim STATUS NAME DATABASE ARG...: six hosts, four minutes.
sim()
{
	"$tmp/fleet_sim" --store "$store" --to "$server/$3" --hosts 6 --minutes 4 --services 20 --per-host 3 \
		--at 2026-11-20T13:58:00Z "${@:4}" >"$out/$2" 2>"$out/$2.err"
	code=$?
	cat "$out/$2" "$out/$2.err"
	[ $code = "$1" ]
}

# content DATABASE: rows, samples, and a number that another row changes.
content()
{
	ch_sql "$1" "SELECT count(), toInt64(sum(n)), sum(cityHash64(toString(service), toString(version), kind, toUInt32(h),
		stack, host, src, ts, lead, n, v1, v2, v3, toString(v), unit)) FROM samples FINAL FORMAT TSV"
}

same()
{
	printf '%s\n' "$@"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

holds "without tables" sim 1 refused default
holds "the remedy is told" told "bpfprof store init --store URL makes them" refused.err
for database in alone together other wide burst; do
	holds "tables of $database" "$BUILD/bpfprof" store init --store "$server/$database"
done
holds "a fleet is played" sim 0 alone alone
read -r rows samples hash < <(content alone)
holds "what it says is there" same "$(awk '$1 == "rows" || $1 == "samples" { print $2 }' "$out/alone" | xargs)" "$rows $samples"
holds "it is some" [ "$rows" -gt 500 ]
holds "the fleet is whole" bpfprof_into 0 fsck store fsck --store "$server/alone"
holds "of six hosts" told "whole: 1 days, 6 hosts, 144 windows, 48 batches, $rows rows, $samples samples" fsck.err
holds "the books balance" bpfprof_into 0 top query top --by host --store "$server/alone" --since 2026-11-20T13:00:00Z \
	--until 2026-11-20T15:00:00Z
holds "to the end" told "balanced$" top.err
holds "each runs three services" same "$(ch_sql alone "SELECT DISTINCT uniqExact(service) FROM samples GROUP BY host")" 3
holds "once more" sim 0 again alone
holds "is the same" same "$(content alone | xargs)" "$rows $samples $hash"
holds "several hosts in one insert" sim 0 together together --together 4
holds "are the same, too" same "$(content together | xargs)" "$rows $samples $hash"
holds "whole, too" "$BUILD/bpfprof" store fsck --store "$server/together"
holds "several connections, and a burst" sim 0 burst burst --together 2 --senders 3 --burst 2
holds "are the same, too" same "$(content burst | xargs)" "$rows $samples $hash"
holds "whole, too" "$BUILD/bpfprof" store fsck --store "$server/burst"
holds "the burst is told" told "^burst +[1-9][0-9]* rows in " burst
holds "a burst of all minutes" sim 2 all alone --burst 4
holds "is refused" told "not fewer than there are \(--minutes 4\)" all.err
holds "another seed" sim 0 other other --seed 2
holds "is another fleet" [ "$(content other | xargs)" != "$rows $samples $hash" ]
holds "a wider one" sim 0 wide wide --hosts 40 --minutes 1 --together 40 --services 100 --per-host 8
holds "has more than one version" same "$(ch_sql wide "SELECT uniqExact(version) FROM samples")" 2
holds "more services than there are" sim 2 many alone --per-host 21
holds "is refused" told "more than there are \(--services 20\)" many.err
holds "a time that is none" sim 2 when alone --at yesterday
holds "the help" "$tmp/fleet_sim" --help
exit $status
