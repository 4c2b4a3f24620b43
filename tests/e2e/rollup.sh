# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh and clickhouse.sh, by the tests of roll-ups: a server, and what they ask of its database `fleet`.

out=$tmp/out
fleet= # the store's address, when the server runs

# serve_fleet: a server runs, and $tmp/make_store makes stores; or the test is over.
serve_fleet()
{
	mkdir -p "$out"
	unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
	LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd" build_driver make_store tests/e2e/make_store.c
	holds "a server is configured" ch_configure
	holds "a server starts" ch_start
	# shellcheck disable=SC2154 # status is of cases.sh
	[ "$status" = 0 ] || exit 1
	# shellcheck disable=SC2034,SC2154 # of who sources this, and of clickhouse.sh
	fleet=clickhouse://127.0.0.1:$ch_port/fleet
}

sql()
{
	ch_sql fleet "$1"
}

# store STATUS COMMAND ARG...: bpfprof store COMMAND of it, into $out/store.
store()
{
	bpfprof_into "$1" store store "$2" --store "$fleet" "${@:3}"
}

# Minutes after noon, UTC.
at()
{
	date -u -d "@$((1795176000 + 60 * $1))" +%Y-%m-%dT%H:%M:%SZ
}
