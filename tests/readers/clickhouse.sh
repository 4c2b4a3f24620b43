#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fleet store in today's ClickHouse, which the npm package chdb has as a library: its dialect, its codecs, its way to
# read blocks. What a server does beside that is tested against Debian's, in tests/e2e.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/e2e/cases.sh
modules=$BUILD/readers/node_modules
store=$tmp/store.db
out=$tmp/out
mkdir -p "$out" "$tmp/engine" "$BUILD/readers"
HOME=$tmp npm install --prefix "$BUILD/readers" --no-audit --no-fund --loglevel=error chdb@3.4.0 >"$log" 2>&1
result $? "npm installs the engine"
[ $status = 0 ] || exit 1
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD

LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c
NODE_PATH=$modules node tests/readers/chdb_server.js "$tmp/engine" >"$tmp/port" 2>"$tmp/engine.err" &
engine=$!
trap 'kill $engine 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in $(seq 200); do
	[ -s "$tmp/port" ] && break
	sleep 0.1
done
port=$(cat "$tmp/port")
url=clickhouse://127.0.0.1:$port/fleet

sql()
{
	curl -s -m 60 "http://127.0.0.1:$port/?database=fleet" --data-binary "$1"
}

# sums: as fleet_store prints them, and each row once.
sums()
{
	sql "SELECT 'cpu', sumIf(n, name = 'cpu'), sumIf(v1 + n * unit, name = 'cpu'), 'off-cpu', sumIf(n, name = 'off-cpu'),
		sumIf(v[1], name = 'off-cpu'), 'samples-of-web', sumIf(n, name = 'cpu' AND service = 'web')
		FROM (SELECT * FROM samples FINAL) AS s ANY LEFT JOIN (SELECT kind, name FROM kinds) AS k USING kind" |
		tr '\t' ' '
}

equal()
{
	printf '%s\n' "$@"
	[ "$1" = "$2" ]
}

# It is shipped again from the start.
forget_cursor()
{
	python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("UPDATE sink SET seq=0")
store.commit()' "$store"
}

holds "init" bpfprof_into 0 init store init --store "$url"
holds "... gives codecs" bash -c '[[ $1 == *"minute"*"CODEC(Delta(1), ZSTD(1))"* ]]' _ "$(sql "SHOW CREATE TABLE samples")"
holds "... says so" told "15 tables made, of version 5, by ClickHouse [0-9.]+$" init.err
"$tmp/fleet_store" "$store" 1 500 >"$out/truth" || exit 1
for time in once twice; do
	holds "shipped $time" bpfprof_into 0 shipped store ship --store "$store" --to "$url"
	holds "... every sum is the recorded one" equal "$(sums)" "$(cat "$out/truth")"
	holds "... fsck finds nothing" bpfprof_into 0 fsck store fsck --store "$url"
	forget_cursor
done
# unnamed: a frame of a stripped program; its address is in $vaddr.
unnamed()
{
	local id
	echo 'int main(int argc, char **argv) { return argc == 9; }' | ${CC:-cc} -g -O1 -x c -o "$tmp/tool" - || return
	id=$(LC_ALL=C readelf -n "$tmp/tool" | sed -n 's/.*Build ID: //p')
	vaddr=$((0x$(nm "$tmp/tool" | sed -n 's/ T main$//p')))
	[ -z "$(sql "INSERT INTO frames (day, frame, flags, path, build_id, address) VALUES ('2026-11-20', 1, 0, '/nowhere/tool',
		'$id', $vaddr)")" ]
}
holds "a frame without a name" unnamed
holds "... whose symbols are missing" bpfprof_into 0 missing store symbolize --store "$url"
holds "... and said to be" told '^no_file +1 frames  [0-9a-f]{40}  /nowhere/tool$' missing
holds "... are uploaded" bpfprof_into 0 upload store upload --store "$url" "$tmp/tool"
holds "... once" bpfprof_into 0 upload store upload --store "$url" "$tmp/tool"
holds "... as is said" told 'are there already$' upload.err
holds "... and found" bpfprof_into 0 found store symbolize --store "$url"
holds "... with lines" equal "$(sql "SELECT names, lines FROM frames FINAL WHERE frame = 1 FORMAT TSV")" "$(printf "['main']\t[1]")"
holds "... and not looked for again" bpfprof_into 0 again store symbolize --store "$url"
holds "... as there is nothing" told ' 0 of 0 frames .* 0 files, ' again.err
# top NAME: of whole hours, which no label but the service is asked of.
top()
{
	bpfprof_into 0 "$1" query top --store "$url" --since 2026-11-20T12:00:00Z --until 2026-11-20T14:00:00Z --by service
}
# svg NAME: of the same hours.
svg()
{
	bpfprof_into 0 "$1" query flame --store "$url" --since 2026-11-20T12:00:00Z --until 2026-11-20T14:00:00Z -o "$out/$1.svg"
}
holds "samples are asked" top samples
holds "... for a flame graph, too" svg picture
holds "hours and days are rolled up" bpfprof_into 0 rollup store rollup --store "$url"
holds "... all of them" told "2 hours and 1 days rolled up into [1-9].* 3 got trees" rollup.err
sql "CREATE TABLE nothing AS samples"
sql "RENAME TABLE samples TO kept, nothing TO samples"
holds "... and read instead" top sums
holds "... with the same answer" cmp "$out/samples" "$out/sums"
sql "RENAME TABLE stacks TO kept_stacks, rollup_1h TO kept_1h, rollup_1d TO kept_1d"
holds "flame graphs are made of trees alone" svg trees
holds "... and the same" cmp "$out/picture.svg" "$out/trees.svg"
sql "RENAME TABLE kept_stacks TO stacks, kept_1h TO rollup_1h, kept_1d TO rollup_1d"
sql "DROP TABLE samples"
sql "RENAME TABLE kept TO samples"
holds "... fsck compares them" bpfprof_into 0 fsck store fsck --store "$url"
holds "... all of them" told "; 3 hours and days rolled up$" fsck.err
days=$(sql "SELECT uniqExact(toDate(h)) FROM batches")
holds "days that are over are dropped" bpfprof_into 0 dropped store drop --retain 1d --store "$url"
holds "... all of them" told ": $days days dropped" dropped.err
holds "... everywhere" equal "$(sql "SELECT count() FROM (SELECT h FROM samples UNION ALL SELECT h FROM batches)")" 0
forget_cursor
holds "... and shipped again" bpfprof_into 0 shipped store ship --store "$store" --to "$url"
sql "INSERT INTO samples SELECT service, version, kind, h, stack, src, second, host, minute, lead, n + 1, v1, v2, v3, v, unit FROM samples
	LIMIT 1"
sql "DELETE FROM stacks WHERE stack = (SELECT min(stack) FROM stacks)"
holds "what is wrong is found" bpfprof_into 1 fsck store fsck --store "$url"
holds "... a value" told "the sums of its samples are not those of the ledger" fsck
holds "... a stack" told "1 stacks are named by samples" fsck
exit $status
