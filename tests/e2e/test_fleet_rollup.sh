#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Roll-ups of a fleet store (Debian's ClickHouse, started here): what is asked is the same with them and without, read from
# them where that is said to be so, right when windows come late, and mended after whatever was killed.
# timeout: 200
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/rollup.sh

have clickhouse-server || { skip "roll-ups" "no clickhouse-server"; exit 0; }
trap 'ch_kill; rm -rf "$tmp"' EXIT
serve_fleet

same()
{
	printf '%s\n' "$@"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

# One for each sort of question; minutes -720 to 720 are the whole day.
questions="top 0-120
top 0-120 --format json --sort total
top 30-120 --by service
top -720-720 --by service --format json
top 0-120 --by service,host
top 0-120 --kind off-cpu --value waits
top 0-120 --select service=w* --by service
top 0-120 --select service=
top 0-120 --select host=alpha*
labels 0-120
kinds 0-120
flame 0-120 -o -
flame 0-120 -o - --by comm
flame -720-720 -o - --by service
flame 60-120 -o - --select service=web
flame 0-120 -o -.svg
diff 60-120
diff 60-70 --format json"

few="top 0-120 --by service
top -720-720 --kind off-cpu
flame 30-120 -o -
flame 0-120 -o -.svg"

# ask NAME QUESTIONS: with the exit statuses.
ask()
{
	local view range words
	while read -r view range words; do
		echo "$view $range $words"
		# shellcheck disable=SC2086 # words
		"$BUILD/bpfprof" query $view --store "$fleet" --since "$(at "${range%-*}")" --until "$(at "${range##*-}")" $words 2>&1
		echo "-> $?"
	done <<<"$2" >"$out/$1"
}

# from_samples: what is to be answered.
from_samples()
{
	ask plain "$questions" && ask few "$few" && [ "$(cat "$out/plain" "$out/few" | grep -c '^-> 0$')" = 22 ]
}

# as_before [few]: all answers are those that samples gave.
as_before()
{
	local which=${1:-plain}
	if [ "$which" = few ]; then ask now "$few"; else ask now "$questions"; fi
	diff "$out/$which" "$out/now"
}

# rolled COMMAND...: what it does while there are no samples to be read.
rolled()
{
	local code
	sql 'CREATE TABLE nothing AS samples'
	sql 'RENAME TABLE samples TO kept, nothing TO samples'
	"$@"
	code=$?
	sql 'DROP TABLE samples'
	sql 'RENAME TABLE kept TO samples'
	return $code
}

# top STATUS FROM-TO ARG...: into out/top.
top()
{
	bpfprof_into "$1" top query top --store "$fleet" --since "$(at "${2%-*}")" --until "$(at "${2##*-}")" "${@:3}"
}

# sums TABLE [WHERE]: of what counts.
sums()
{
	local second=v1
	[ "$1" = samples ] && second='v1 + n * unit'
	sql "SELECT toInt64(sum(n)), toInt64(sum($second)), toInt64(sum(v2)), toInt64(sum(v3)), sumForEach(v) FROM $1 FINAL
		WHERE 1 ${2:-}"
}

add_host()
{
	"$tmp/make_store" "$tmp/$1.db" "$tmp/truth" "$1" && "$BUILD/bpfprof" store ship --store "$tmp/$1.db" --to "$fleet"
}

# --- With and without ---
holds "a fleet's store" "$BUILD/bpfprof" store init --store "$fleet"
holds "nothing is rolled up" store 0 rollup
holds "which is told" told "0 hours and 0 days rolled up into 0 rows; 0 and 0 were good" store.err
holds "one host" add_host 1
holds "and another" add_host 2
holds "samples are asked" from_samples
holds "two hours and their day are rolled up" store 0 rollup
holds "which is told" told "2 hours and 1 days rolled up into [1-9][0-9]* rows; 0 and 0 were good" store.err
holds "the hours' sums are the samples'" same "$(sums rollup_1h)" "$(sums samples)"
holds "the day's, too" same "$(sums rollup_1d)" "$(sums samples)"
holds "there are fewer of them" [ "$(sql 'SELECT count() < 100 FROM rollup_1h')" = 1 ]
holds "all answers are the same" as_before
holds "once more" store 0 rollup
holds "is nothing" told "0 hours and 0 days rolled up into 0 rows; 2 and 1 were good" store.err
holds "fsck compares them" store 0 fsck
holds "and says so" told "; 3 hours and days rolled up$" store.err

# --- Read from them ---
top 0 0-120 && cp "$out/top" "$out/whole"
holds "whole hours need no samples" rolled top 0 0-120
holds "at all" cmp "$out/whole" "$out/top"
holds "nor do days" rolled top 0 -720-720 --by service
holds "nor a service" rolled top 0 0-120 --select service=web
holds "nor pictures" rolled bpfprof_into 0 flame query flame --store "$fleet" --since "$(at 0)" --until "$(at 120)" -o "$tmp/a.html" \
	-o "$tmp/a.svg" -o "$tmp/a.folded"
holds "which name services" grep -q '^web;' "$tmp/a.folded"
holds "and hosts" grep -q '2 hosts, ' "$tmp/a.svg"
holds "hosts do" rolled top 4 0-120 --by host
holds "and a selection of them" rolled top 4 0-120 --select host=alpha1
holds "and parts of hours" rolled top 0 30-120
holds "which are missing then" bash -c '! cmp -s "$1" "$2"' _ "$out/whole" "$out/top"

# --- Late ---
holds "a third host comes late" add_host 3
holds "samples are asked" from_samples
holds "its hours are read from samples" rolled top 4 0-120
holds "fsck does not take them for wrong" store 0 fsck
holds "nor compare them" [ "$(grep -c 'rolled up' "$out/store.err")" = 0 ]
holds "they are rolled up anew" store 0 rollup
holds "which is told" told "2 hours and 1 days rolled up" store.err
holds "the sums are the samples'" same "$(sums rollup_1h) $(sums rollup_1d)" "$(sums samples) $(sums samples)"
holds "all answers are the same" as_before
holds "without samples, too" rolled top 0 0-120
# A window that was cut off before its ledger: nobody counts it.
sql 'INSERT INTO samples SELECT service, version, kind, h, stack, src, second + 7, host, minute, lead, n, v1, v2, v3, v, unit FROM samples
	WHERE ts < 60'
sql 'TRUNCATE TABLE rollups'
holds "windows without a ledger row are not rolled up" store 0 rollup
holds "but all others" told "2 hours and 1 days rolled up" store.err
holds "all answers are the same" as_before few

# --- Killed ---
# begun: a job was killed when some of its rows were there, wrong ones for good measure.
begun()
{
	sql "INSERT INTO rollups (span, h, done, built, windows, state, rows) SELECT span, h, 0, built + 1, windows, state, rows
		FROM rollups WHERE done = 1" &&
		sql "INSERT INTO rollup_1h SELECT service, version, kind, h, stack, built + 1, n * 2, v1, v2, v3, v
		FROM rollup_1h FINAL WHERE stack % 2 = 0" &&
		sql "INSERT INTO rollup_1d SELECT service, version, kind, h, stack, built + 1, n * 2, v1, v2, v3, v
		FROM rollup_1d FINAL WHERE stack % 2 = 1"
}
holds "a job that ended in the middle" begun
holds "is not believed" as_before few
holds "the next one mends it" store 0 rollup
holds "all of it" told "2 hours and 1 days rolled up" store.err
holds "all answers are the same" as_before few
holds "and fsck finds nothing" store 1 fsck
holds "but the windows without ledger rows" [ "$(grep -vc 'which the ledger does not have' "$out/store")" = 0 ]

# killed COUNT: jobs at any moment, each with everything to do, and once the server.
killed()
{
	local nr pid
	for ((nr = 0; nr < $1; nr++)); do
		sql 'TRUNCATE TABLE rollups'
		"$BUILD/bpfprof" store rollup --store "$fleet" &
		pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		if [ $nr = 3 ]; then
			ch_kill
			ch_start || return
		fi
		kill -9 $pid
		wait $pid
	done
	return 0
}
holds "jobs and the server are killed" killed 6
holds "all answers are the same" as_before few
holds "the next job mends it" store 0 rollup
holds "to the end" store 0 rollup
holds "where nothing is to be done" told "0 hours and 0 days rolled up into 0 rows; 2 and 1 were good" store.err
holds "all answers are the same" as_before few
holds "without samples, too" rolled top 0 0-120

# two_at_once: both do everything.
two_at_once()
{
	sql 'TRUNCATE TABLE rollups'
	"$BUILD/bpfprof" store rollup --store "$fleet" &
	"$BUILD/bpfprof" store rollup --store "$fleet"
	wait $!
	"$BUILD/bpfprof" store rollup --store "$fleet"
}
holds "two jobs at once" two_at_once
holds "all answers are the same" as_before few

# --- Wrong ---
# finds REGEX SQL.
finds()
{
	sql "$2" && store 1 fsck && told "$1" store
}
holds "a wrong sum of an hour is found" finds "hour of 20261120T1[23]0000Z: 1 of its sums are not those of its samples" \
	"INSERT INTO rollup_1h SELECT service, version, kind, h, stack, built, n + 1, v1, v2, v3, v FROM rollup_1h FINAL
	ORDER BY h, stack LIMIT 1"
holds "so is the day's that is not the same any more" told "day of 20261120T000000Z: 1 of its sums are not those of its hours" store
holds "and a sum of what is not there" finds "hour of 20261120T120000Z: 2 of its sums are not those of its samples" \
	"INSERT INTO rollup_1h SELECT 'none', version, kind, h, stack, built, n, v1, v2, v3, v FROM rollup_1h FINAL
	WHERE service = 'web' AND toHour(h) = toHour(toDateTime(1795176000)) ORDER BY h, stack LIMIT 1"
sql 'TRUNCATE TABLE rollups'
holds "which a job does not hide" store 1 rollup
holds "but tells" told "hour of 20261120T120000Z: it has sums of stacks that none of its samples has" store
holds "and leaves to samples" as_before few

# --- Before ---
"$tmp/make_store" "$tmp/4.db" "$tmp/truth" 4
# older: as bpfprof made it before there were roll-ups, and units.
older()
{
	local table
	sql "TRUNCATE TABLE rollup_1h"
	sql "CREATE TABLE kept AS samples"
	sql "INSERT INTO kept SELECT * FROM samples FINAL"
	sql "DROP TABLE samples"
	sql "CREATE TABLE samples (service LowCardinality(String), version LowCardinality(String), kind UInt64,
		h DateTime('UTC'), stack UInt64, host UInt64, src UInt64, ts UInt16, lead UInt32, n Int64, v1 Int64, v2 Int64,
		v3 Int64, v Array(Int64)) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMMDD(h)
		PRIMARY KEY (service, version, kind, h, stack)
		ORDER BY (service, version, kind, h, stack, host, src, ts, lead)"
	sql "INSERT INTO samples SELECT service, version, kind, h, stack, host, src, ts, lead, n, v1 + n * unit, v2, v3, v
		FROM kept"
	sql "DROP TABLE kept"
	for table in rollup_1d rollups rollup_trees modules symbol_tables symbol_chunks migrations; do
		sql "DROP TABLE $table"
	done
	sql "CREATE TABLE migrations (version UInt32, at DateTime('UTC'), server String) ENGINE = ReplacingMergeTree
		PRIMARY KEY (version) ORDER BY (version)" && sql "INSERT INTO migrations SELECT 1, now(), '18.16'"
}
holds "a store of version 1" older
holds "is read" as_before few
holds "not rolled up" store 1 rollup
holds "and the remedy is told" told "bpfprof store migrate --store URL brings them up" store.err
holds "which helps" store 0 migrate
holds "and says so" told "7 tables made, of version 5" store.err
holds "its samples are laid out anew" told "samples of 2 of 2 hours are laid out anew" store.err
holds "it is read as before" as_before few
holds "none are left of before" [ "$(sql "SELECT count() FROM system.tables WHERE database = 'fleet' AND name LIKE 'samples_%'")" = 0 ]
holds "what is shipped anew has units" "$BUILD/bpfprof" store ship --store "$tmp/4.db" --to "$fleet"
holds "which are the period" [ "$(sql "SELECT DISTINCT unit FROM samples ORDER BY unit" | xargs)" = "0 10000000" ]
holds "rolled up" store 0 rollup
holds "they are the same" same "$(sums rollup_1h)" "$(sums samples "AND (host, toUInt64(toUInt32(h)) + ts + lead) IN
	(SELECT host, seq FROM batches WHERE kind = 0)")"
exit $status
