#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fleet's samples are read without FINAL where its parts have each row once (Debian's ClickHouse, started here), and the
# answers are what FINAL gives: of rows that came twice in one insert, or in two, none counts twice.
# timeout: 200
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/rollup.sh

have clickhouse-server || { skip "parts" "no clickhouse-server"; exit 0; }
trap 'ch_kill; rm -rf "$tmp"' EXIT
serve_fleet

# answers NAME: to several questions, in $out/NAME.*; what the server was asked in their .err.
answers()
{
	local range=(--since "$(at 0)" --until "$(at 120)")
	bpfprof_into 0 "$1.all" query flame -v --store "$fleet" "${range[@]}" -o - &&
		bpfprof_into 0 "$1.web" query flame -v --store "$fleet" "${range[@]}" --select service=web --by host -o - &&
		bpfprof_into 0 "$1.host" query flame -v --store "$fleet" "${range[@]}" --select 'host=alpha*' -o - &&
		bpfprof_into 0 "$1.waits" query flame -v --store "$fleet" "${range[@]}" --kind off-cpu -o - &&
		bpfprof_into 0 "$1.minute" query top -v --store "$fleet" --since "$(at 59)" --until "$(at 61)" &&
		bpfprof_into 0 "$1.labels" query labels -v --store "$fleet" "${range[@]}"
}

# same NAME NAME: the answers are.
same()
{
	local which
	for which in all web host waits minute labels; do
		[ -s "$out/$1.$which" ] && cmp "$out/$1.$which" "$out/$2.$which" || return
	done
}

# with_final NAME, without_final NAME: how each of them was asked.
with_final()
{
	local which
	for which in all web host waits minute labels; do
		grep -q 'FROM samples FINAL' "$out/$1.$which.err" && ! grep -q 'FROM samples WHERE.*SELECT host, seq FROM batches' \
			"$out/$1.$which.err" || return
	done
}

without_final()
{
	local which
	for which in all web host waits minute labels; do
		grep -q 'FROM samples WHERE.*_part IN (' "$out/$1.$which.err" && ! grep -q 'samples FINAL' "$out/$1.$which.err" || return
	done
}

# looked_for_windows NAME: that are in two parts.
looked_for_windows()
{
	grep -q 'first != last' "$out/$1.web.err"
}

# parts LEVEL...: those that samples has, in order.
parts()
{
	local levels
	levels=$(sql "SELECT level FROM system.parts WHERE database = 'fleet' AND table = 'samples' AND active ORDER BY level" | xargs)
	echo "levels $levels"
	[ "$levels" = "$*" ]
}

# part TABLE WHERE: one merged part of these rows in a table of its own.
part()
{
	sql "CREATE TABLE $1 AS samples" && sql "INSERT INTO $1 SELECT * FROM samples FINAL WHERE $2" && sql "OPTIMIZE TABLE $1 FINAL"
}

attach()
{
	sql "ALTER TABLE samples ATTACH PARTITION 20261120 FROM $1"
}

add_host()
{
	"$tmp/make_store" "$tmp/$1.db" "$tmp/truth" "$1" && "$BUILD/bpfprof" store ship --store "$tmp/$1.db" --to "$fleet"
}

holds "a fleet's store" "$BUILD/bpfprof" store init --store "$fleet"
holds "one host" add_host 1
holds "and another" add_host 2
holds "merges stop" sql "SYSTEM STOP MERGES"
holds "rows as they were inserted" sql "INSERT INTO samples SELECT * FROM samples LIMIT 1"
holds "are asked for" answers raw
holds "with FINAL" with_final raw

holds "some of them" part early "ts + lead < 1800 AND h = toDateTime(1795176000, 'UTC')"
holds "the others" part late "NOT (ts + lead < 1800 AND h = toDateTime(1795176000, 'UTC'))"
holds "a window again" part copies "h = toDateTime(1795176000, 'UTC') AND ts + lead < 65"
holds "which is some rows" [ "$(sql "SELECT count() FROM copies")" -gt 5 ]
holds "two parts" sql "TRUNCATE TABLE samples"
holds "one" attach early
holds "and one" attach late
holds "that were merged" parts 1 1
holds "are asked" answers two
holds "without FINAL" without_final two
holds "as no window is in both" looked_for_windows two
holds "the answers are the same" same raw two

holds "a window comes again" attach copies
holds "in another part" parts 1 1 1
holds "what is asked then" answers twice
holds "is the same" same raw twice
holds "with FINAL again" grep -q 'samples FINAL' "$out/twice.all.err"
holds "what is there once" sql "TRUNCATE TABLE samples"
holds "in one part" attach early
holds "and twice in one insert" sql "INSERT INTO samples SELECT * FROM late ARRAY JOIN [1, 2] AS copy"
holds "which nobody has merged" parts 0 1
holds "count once" answers doubled
holds "as before" same raw doubled

holds "merges go on" sql "SYSTEM START MERGES"
holds "all is merged" sql "OPTIMIZE TABLE samples FINAL"
holds "into one part" [ "$(sql "SELECT count() FROM system.parts WHERE table = 'samples' AND active")" = 1 ]
holds "which is asked" answers one
holds "without FINAL" without_final one
holds "and without a look at windows" [ "$(grep -l 'first != last' "$out"/one.*.err | wc -l)" = 0 ]
holds "to the same answers" same raw one
exit $status
