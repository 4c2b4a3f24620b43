# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh and clickhouse.sh, by the tests that ship stores of known content into a fleet's store.

# url DATABASE
url()
{
	# shellcheck disable=SC2154 # of clickhouse.sh
	echo "clickhouse://127.0.0.1:$ch_port/$1"
}

# same GOT WANTED: and there is something.
same()
{
	printf '%s\n' "$@"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

# sums DATABASE [samples' expression]: as fleet_store prints them. The fifth value of off-cpu is the first of v.
sums()
{
	ch_sql "$1" "SELECT 'cpu', toInt64(sumIf(n, k.name = 'cpu')), toInt64(sumIf(v1 + n * unit, k.name = 'cpu')), 'off-cpu',
		toInt64(sumIf(n, k.name = 'off-cpu')), toInt64(sumIf(v[1], k.name = 'off-cpu')), 'samples-of-web',
		toInt64(sumIf(n, k.name = 'cpu' AND service = 'web'))
		FROM (SELECT service, kind, n, v1, unit, v, name AS \"k.name\" FROM ${2:-(SELECT * FROM samples FINAL)}
		ANY LEFT JOIN (SELECT kind, name FROM kinds) USING kind) FORMAT TSV" | tr '\t' ' '
}

# total FILE...: what fleet_store printed, in sum.
total()
{
	awk '{ a += $2; b += $3; c += $5; d += $6; e += $8 }
	END { printf "cpu %.0f %.0f off-cpu %.0f %.0f samples-of-web %.0f\n", a, b, c, d, e }' "$@"
}

# fresh DATABASE STORE...: with tables, and stores that have shipped nothing.
fresh()
{
	ch_sql default "DROP DATABASE IF EXISTS $1"
	bp store init --store "$(url "$1")" && forget_cursors "${@:2}"
}

# whole DATABASE: fsck says so.
whole()
{
	bp store fsck --store "$(url "$1")"
}
