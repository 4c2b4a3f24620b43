#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trees of a fleet's roll-ups (Debian's ClickHouse, started here): flame graphs and the first picture of a page are the same from
# samples, sums and trees, to the byte; trees of whoever was killed are not read, and what is wrong with them is found.
# timeout: 200
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/rollup.sh

have clickhouse-server || { skip "trees of roll-ups" "no clickhouse-server"; exit 0; }
pid=
trap '[ -z "$pid" ] || kill "$pid"; ch_kill; rm -rf "$tmp"' EXIT
serve_fleet

# treed COMMAND...: what it does while there are no samples, no stacks and no sums.
treed()
{
	local code table tables="samples stacks rollup_1h rollup_1d"
	for table in $tables; do
		sql "CREATE TABLE no_$table AS $table"
		sql "RENAME TABLE $table TO kept_$table, no_$table TO $table"
	done
	"$@"
	code=$?
	for table in $tables; do
		sql "DROP TABLE $table"
		sql "RENAME TABLE kept_$table TO $table"
	done
	return $code
}

# svg STATUS NAME FROM-TO ARG...: the flame graph as $out/NAME.svg.
svg()
{
	bpfprof_into "$1" "$2" query flame --store "$fleet" --since "$(at "${3%-*}")" --until "$(at "${3##*-}")" "${@:4}" \
		-o "$out/$2.svg" --force
}

# same_svg NAME NAME
same_svg()
{
	[ -s "$out/$1.svg" ] && cmp "$out/$1.svg" "$out/$2.svg"
}

# page NAME: what a browser is sent, up to where it draws the first picture.
page()
{
	local url
	"$BUILD/bpfprof" serve --store "$fleet" --listen 127.0.0.1:0 2>"$out/serve.err" &
	pid=$!
	for _ in $(seq 100); do
		url=$(sed -nE 's,.* at (http://[0-9.:]+/)$,\1,p' "$out/serve.err")
		[ -n "$url" ] && break
		sleep 0.1
	done
	curl -s -m 60 -H 'Sec-Fetch-Mode: navigate' -o "$out/$1.html" \
		"${url}api/profile?kind=cpu&format=html&by=service&from=$(date -d "$(at 0)" +%s)&to=$(date -d "$(at 120)" +%s)"
	kill $pid
	wait $pid
	pid=
	sed '/drawFirst();/q' "$out/$1.html" >"$out/$1.first"
	grep -c . "$out/$1.first"
	grep -q '<script id="boxes" type="application/json">\[0,' "$out/$1.first"
}

# pictures WHEN: several, of which $out/WHEN-NAME.svg are.
pictures()
{
	svg 0 "$1-hours" 0-120 && svg 0 "$1-day" -720-720 --value samples && svg 0 "$1-version" 0-120 --by version,service &&
		svg 0 "$1-some" 60-120 --select 'service=w*' && svg 0 "$1-waits" 0-120 --kind off-cpu --value waits &&
		svg 0 "$1-part" 0-119 && svg 0 "$1-host" 0-120 --select 'host=alpha*'
}

# as_before WHEN: they are those of samples.
as_before()
{
	local name
	pictures "$1" || return
	for name in hours day version some waits part host; do
		same_svg "samples-$name" "$1-$name" || return
	done
}

add_host()
{
	"$tmp/make_store" "$tmp/$1.db" "$tmp/truth" "$1" && "$BUILD/bpfprof" store ship --store "$tmp/$1.db" --to "$fleet"
}

holds "a fleet's store" "$BUILD/bpfprof" store init --store "$fleet"
holds "one host" add_host 1
holds "and another" add_host 2
holds "pictures are made of samples" pictures samples
holds "one more" svg 0 samples 0-120
holds "and a day's" svg 0 samples-by -720-720 --by version
holds "and a page's" page samples
holds "two hours and their day are rolled up" store 0 rollup
holds "which is told" told "2 hours and 1 days rolled up into [1-9][0-9]* rows; 0 and 0 were good; 3 got trees" store.err
holds "once more" store 0 rollup
holds "is nothing" told "0 hours and 0 days rolled up into 0 rows; 2 and 1 were good; 0 got trees" store.err
holds "pictures are the same" as_before trees

# --- Pictures from trees ---
holds "a picture from sums" svg 0 sums 0-120 -o "$out/sums.folded"
holds "is that from samples" same_svg samples sums
holds "one from trees" treed svg 0 trees 0-120
holds "is the same" same_svg samples trees
holds "so is one of a day" treed svg 0 trees-by -720-720 --by version
holds "to the byte" same_svg samples-by trees-by
holds "of one service, too" treed svg 0 web 0-120 --select service=web
holds "which is in it" grep -q '>web (' "$out/web.svg"
holds "nothing of what no tree has" treed svg 4 waits 0-120 --by comm
holds "a page's first picture" treed page trees
holds "is that of the samples" cmp "$out/samples.first" "$out/trees.first"
holds "the rest of it comes behind" page whole
holds "once" [ "$(grep -c 'drawFirst();</script>' "$out/whole.html")" = 1 ]
holds "as a whole" grep -q '<script id="profile"' "$out/whole.html"
holds "with the same picture" cmp "$out/samples.first" "$out/whole.first"

# forget_trees [WHERE]: but those.
forget_trees()
{
	sql "DROP TABLE IF EXISTS old_trees"
	sql "CREATE TABLE old_trees AS rollup_trees"
	sql "INSERT INTO old_trees SELECT * FROM rollup_trees FINAL"
	sql "TRUNCATE TABLE rollup_trees"
	[ -z "${1:-}" ] || sql "INSERT INTO rollup_trees SELECT $1"
}
columns="span, h, tree, part, value, service, version, kind, built, nodes, factors, depths, frames"
holds "a job that was killed before the last row" forget_trees "$columns, arrayMap(x -> 2 * x, selfs) FROM old_trees
	WHERE tree != 0"
holds "has made no trees" svg 0 killed 0-120
holds "that anybody reads" same_svg samples killed
holds "the next job makes them" store 0 rollup
holds "of the sums that there are" told "0 hours and 0 days rolled up into 0 rows; 2 and 1 were good; 3 got trees" store.err
holds "and they are read" treed svg 0 trees 0-120
holds "as before" same_svg samples trees
holds "trees of other sums" sql "INSERT INTO rollup_trees SELECT span, h, tree, part, value, service, version, kind, built + 1,
	nodes, factors, depths, frames, arrayMap(x -> 2 * x, selfs) FROM old_trees"
holds "are not read" svg 0 others 0-120
holds "nor is anything wrong" same_svg samples others
# Of the same build: a row that is there already is replaced.
holds "without them" forget_trees
holds "the next job makes all" store 0 rollup
holds "which fsck finds right" store 0 fsck
holds "a total that is wrong" sql "INSERT INTO rollup_trees SELECT $columns, arrayMap(x -> x + 1, selfs) FROM rollup_trees FINAL
	WHERE span = 3600 AND tree != 0 AND part = 0 AND value = 0 AND service = 'web' ORDER BY h, tree LIMIT 1"
holds "it finds wrong" store 1 fsck
holds "and says whose" told "hour of 20261120T120000Z: [1-9][0-9]* totals of its trees are not those of its sums" store
holds "all without them" forget_trees
holds "it is made right" store 0 rollup

# --- Late ---
holds "a third host comes late" add_host 3
holds "what is made of samples then" svg 0 late 0-120 -o "$out/late.folded"
holds "is what a picture is made of" svg 0 late-svg 0-120
holds "which is another one" bash -c '! cmp -s "$1" "$2"' _ "$out/samples.svg" "$out/late.svg"
holds "without sums" same_svg late late-svg
holds "its hours are rolled up anew" store 0 rollup
holds "with their trees" told "2 hours and 1 days rolled up .* 3 got trees" store.err
holds "which are read" treed svg 0 trees 0-120
holds "and have all of it" same_svg late trees

# --- Before ---
# former: as bpfprof made it before there were trees.
former()
{
	sql "DROP TABLE rollup_trees"
	sql "DROP TABLE migrations"
	sql "CREATE TABLE migrations (version UInt32, at DateTime('UTC'), server String) ENGINE = ReplacingMergeTree
		PRIMARY KEY (version) ORDER BY (version)" && sql "INSERT INTO migrations SELECT 3, now(), '18.16'"
}
holds "a store of version 3" former
holds "is read" svg 0 former 0-120
holds "as it is" same_svg late former
holds "not rolled up" store 1 rollup
holds "but migrated" store 0 migrate
holds "which is told" told "1 tables made, of version 5" store.err
holds "its sums get trees" store 0 rollup
holds "and nothing else" told "0 hours and 0 days rolled up into 0 rows; 2 and 1 were good; 3 got trees" store.err
holds "which are the same" treed svg 0 migrated 0-120
holds "to the byte" same_svg late migrated
exit $status
