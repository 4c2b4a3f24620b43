#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A local store into a real ClickHouse: nothing lost, nothing double, whatever is killed or cut, and fsck proves it.
# timeout: 300
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/fleet.sh

have clickhouse-server || { skip "the fleet store" "no clickhouse-server"; exit 0; }

out=$tmp/out
store=$tmp/store.db
mkdir -p "$out"
children=()
# shellcheck disable=SC2154 # of clickhouse.sh
trap 'kill "${children[@]}" 2>/dev/null; ch_kill; wait 2>/dev/null; umount "$ch_folder/data" 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

# --- A server, its tables ---

ch_configure || exit 1
holds "a server begins" ch_start
[ $status = 0 ] || exit 1

holds "init makes the database and its tables" bpfprof_into 0 init store init --store "$(url fleet)"
holds "... says so" told "fleet': the database and 15 tables made, of version 5, by ClickHouse 18.16" init.err
holds "... and once more does nothing" bpfprof_into 0 init store init --store "$(url fleet)"
holds "... and says so" told "nothing is to be done" init.err
holds "user and password in the URL" bp store init --store "clickhouse://fleet:se%3Acret@127.0.0.1:$ch_port/fleet"
holds "... and in the environment" env CLICKHOUSE_USER=fleet CLICKHOUSE_PASSWORD=se:cret "$BUILD/bpfprof" store init \
	--store "$(url fleet)"

holds "a wrong password" bpfprof_into 1 refused store init --store "clickhouse://fleet:x@127.0.0.1:$ch_port/fleet"
holds "... is told, with the way to give another" told "refuses user 'fleet'.*CLICKHOUSE_PASSWORD" refused.err
holds "... and not shown" bash -c '! grep -q "fleet:x" "$1"' _ "$out/refused.err"
holds "a server that is not there" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:1/fleet"
holds "... is told" told "clickhouse://127.0.0.1:1/fleet': .*does the server run" refused.err
holds "of several servers the first that is there" bpfprof_into 0 init store init \
	--store "clickhouse://127.0.0.1:1,127.0.0.1:$ch_port/fleet"
holds "... and none of them" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:1,127.0.0.1:2/fleet"
holds "... is told" told "clickhouse://127.0.0.1:1,127.0.0.1:2/fleet': .*does the server run" refused.err
holds "the native port" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:$((ch_port + 1))/fleet"
holds "... is told apart" told "no ClickHouse .*HTTP interface" refused.err
holds "no URL" bpfprof_into 2 refused store init --store "clickhouse://"
holds "... says what is one" told "wanted: clickhouse://USER:PASSWORD@HOST:PORT/DATABASE" refused.err

# await PORT: something listens there.
await()
{
	for _ in $(seq 100); do
		(: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.05
	done
	return 1
}

# poses_as VERSION: $port answers as a server of that release.
poses_as()
{
	port=$(free_port)
	python3 tests/e2e/clickhouse_tls.py "$port" "$1" 2>>"$log" &
	children+=($!)
	await "$port"
}

poses_as 1.1.54385
holds "a server that is too old" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:$port"
holds "... is told" told "the server is of release 1\.1: 18\.16 or a later one is needed" refused.err
poses_as "hello"
holds "what is none" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:$port"
holds "... is told" told "what answers there is no ClickHouse" refused.err
poses_as endless
holds "an answer without an end" bpfprof_into 1 refused store init --store "clickhouse://127.0.0.1:$port"
holds "... is not read to it" told "its answer is too large" refused.err

openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -days 2 \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>>"$log"
port=$(free_port)
python3 tests/e2e/clickhouse_tls.py "$port" "$tmp/cert.pem" "$tmp/key.pem" "$ch_port" 2>>"$log" &
children+=($!)
await "$port"
holds "TLS, by an authority that is named" bpfprof_into 0 init store init \
	--store "clickhouses://127.0.0.1:$port/fleet?ca=$tmp/cert.pem"
holds "... and by none" bpfprof_into 1 refused store init --store "clickhouses://127.0.0.1:$port/fleet"
holds "... which is told, with the way to name one" told "\\?ca=FILE at the end of the URL" refused.err

# --- Shipping ---

"$tmp/fleet_store" "$store" 1 500 >"$out/first" || exit 1
holds "a database without tables takes nothing" bpfprof_into 1 refused store ship --store "$store" --to "$(url default)"
holds "... and says what makes them" told "no tables of ours: bpfprof store init" refused.err
holds "a store is shipped" bpfprof_into 0 shipped store ship --store "$store" --to "$(url fleet)"
holds "... all of it" told "500 windows" shipped.err
holds "every sum is the recorded one" same "$(sums fleet)" "$(cat "$out/first")"
holds "fsck finds nothing" whole fleet
holds "what is shipped is not shipped again" bpfprof_into 0 shipped store ship --store "$store" --to "$(url fleet)"
holds "... but none of it" told "0 windows with 0 samples shipped as 0 rows" shipped.err

rows_before=$(ch_sql fleet "SELECT count() FROM samples FINAL")
forget_cursors "$store"
holds "the same spool twice" bp store ship --store "$store" --to "$(url fleet)"
holds "... is there once under FINAL" same "$(sums fleet)" "$(cat "$out/first")"
holds "... and grouped by the key" same "$(sums fleet "(SELECT service, version, kind, h, stack, host, src, ts, lead,
	any(n) AS n, any(v1) AS v1, any(unit) AS unit, any(v) AS v FROM samples GROUP BY service, version, kind, h, stack, host, src, ts, lead)")" \
	"$(cat "$out/first")"
holds "... in as many rows" same "$(ch_sql fleet "SELECT count() FROM samples FINAL")" "$rows_before"
holds "fsck finds nothing" whole fleet

"$tmp/fleet_store" "$store" compact
forget_cursors "$store"
holds "shipped again after it was compacted" bp store ship --store "$store" --to "$(url fleet)"
holds "... it is the same" same "$(sums fleet) $(ch_sql fleet "SELECT count() FROM samples FINAL")" \
	"$(cat "$out/first") $rows_before"
holds "fsck finds nothing" whole fleet

# --- One statement for each day ---

# fsck_of_days STATUS: by way of a proxy that notes what is asked.
fsck_of_days()
{
	: >"$out/asked"
	bpfprof_into "$1" fsck store fsck --store "clickhouse://127.0.0.1:$proxy_port/days"
}

# proofs: statements that hold samples against the ledger
proofs()
{
	grep "FROM samples FINAL" "$out/asked" | grep -c "FROM batches FINAL"
}

for first in 1 8641 17281; do
	"$tmp/fleet_store" "$tmp/days.db" $first 5 >>"$out/days" || exit 1
done
proxy_port=$(free_port)
python3 tests/e2e/cutting_proxy.py "$proxy_port" "$ch_port" 1 0 "$out/asked" 2>"$out/proxy" &
children+=($!)
await "$proxy_port"
holds "three days are shipped" eval 'fresh days "$tmp/days.db" && bp store ship --store "$tmp/days.db" --to "$(url days)"'
holds "every sum is the recorded one" same "$(sums days)" "$(total "$out/days")"
holds "fsck finds nothing" fsck_of_days 0
holds "... by one statement for each day" [ "$(proofs) $(grep -c "samples FINAL" "$out/asked")" = "3 3" ]
ch_sql days "INSERT INTO samples SELECT * FROM samples WHERE toDate(h) = '2026-11-21' LIMIT 1"
holds "a row that is there twice" [ "$(ch_sql days "SELECT count() - (SELECT count() FROM samples FINAL) FROM samples")" = 1 ]
holds "... counts once" same "$(sums days)" "$(total "$out/days")"
holds "... which fsck proves" fsck_of_days 0
ch_sql days "INSERT INTO samples SELECT service, version, kind, h, stack, src, second, host, minute, lead + 1, n, v1, v2, v3, v, unit FROM samples
	WHERE toDate(h) = '2026-11-21' LIMIT 1"
holds "one that is, as if of another window" fsck_of_days 1
holds "... is found, once" [ "$(grep -c "rows of samples, which the ledger does not have" "$out/fsck")" = 1 ]
holds "... by as many" [ "$(proofs)" = 3 ]

# --- Killed, cut ---

# ship_to_end DATABASE: until it says that all is there; what it takes goes to $tries.
ship_to_end()
{
	tries=0
	until bp store ship --store "$store" --to "${2:-$(url "$1")}"; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.05
	done
}

# ship_killed DATABASE COUNT: at any moment, while windows are added.
ship_killed()
{
	kills=0
	while [ $kills -lt "$2" ]; do
		"$BUILD/bpfprof" store ship --store "$store" --to "$(url "$1")" &
		local pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		if kill -9 $pid 2>/dev/null; then
			kills=$((kills + 1))
		fi
		wait $pid 2>/dev/null
	done
	return 0
}

"$tmp/fleet_store" "$store" 2000 200 20 >"$out/second" &
writer=$!
children+=($writer)
holds "a shipper that is killed at random" eval 'fresh kills "$store" && ship_killed kills 25'
wait $writer
holds "... and then is not" ship_to_end kills
holds "every sum is the recorded one" same "$(sums kills)" "$(total "$out/first" "$out/second")"
holds "fsck finds nothing" whole kills

# A server that dies and comes back, three times, while everything is shipped.
server_killed()
{
	ship_killed restarts 3
	for _ in 1 2 3; do
		"$BUILD/bpfprof" store ship --store "$store" --to "$(url restarts)" &
		local pid=$!
		sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
		ch_kill
		wait $pid
		forget_cursors "$store"
		bp store ship --store "$store" --to "$(url restarts)" && return 1
		ch_start || return 1
	done
}
holds "a server that is killed" eval 'fresh restarts "$store" && server_killed'
holds "... and is there again" ship_to_end restarts
holds "every sum is the recorded one" same "$(sums restarts)" "$(total "$out/first" "$out/second")"
holds "fsck finds nothing" whole restarts

proxy_port=$(free_port)
python3 tests/e2e/cutting_proxy.py "$proxy_port" "$ch_port" 1 2>"$out/proxy" &
children+=($!)
for _ in $(seq 100); do
	curl -s -m 2 "http://127.0.0.1:$proxy_port/" >/dev/null && break
	sleep 0.05
done
holds "answers to inserts are cut" eval 'fresh cuts "$store" && ship_to_end cuts "clickhouse://127.0.0.1:$proxy_port/cuts"'
read -r passed cut < <(curl -s "http://127.0.0.1:$proxy_port/")
echo "# $cut answers cut, $passed passed" >>"$log"
holds "... many of them" [ "$cut" -gt 10 ]
holds "every sum is the recorded one" same "$(sums cuts)" "$(total "$out/first" "$out/second")"
holds "fsck finds nothing" whole cuts

# --- Full ---

# fill KIB: the server's disk, but for so much.
fill()
{
	local free

	rm -f "$ch_folder/data/ballast"
	free=$(df --output=avail -k "$ch_folder/data" | tail -n 1)
	head -c "$(((free - $1) * 1024))" /dev/zero >"$ch_folder/data/ballast"
}

# kept_for_room: some of the store is taken, and what is not stays where it is, for that reason.
kept_for_room()
{
	local room

	for room in $(seq 900 200 2100); do
		fill "$room"
		bpfprof_into 1 full store ship --store "$store" --to "$(url full)" && told "No space left on device" full.err || return
		[ "$(ch_sql full "SELECT count() FROM samples")" = 0 ] || break
	done
	rm "$ch_folder/data/ballast"
}

if [ "$(id -u)" = 0 ] && ch_kill && mount -t tmpfs -o size=64m none "$ch_folder/data" 2>>"$log"; then
	holds "a server whose disk is small" ch_start
	holds "... is given tables" fresh full "$store"
	holds "what it has no room for stays" kept_for_room
	holds "... but for some of it" [ "$(ch_sql full "SELECT count() FROM samples")" -gt 0 ]
	holds "there is room again" ship_to_end full
	holds "every sum is the recorded one" same "$(sums full)" "$(total "$out/first" "$out/second")"
	holds "fsck finds nothing" whole full
	ch_kill
	umount "$ch_folder/data"
	ch_start >>"$log"
else
	skip "a server whose disk is full" "no tmpfs can be mounted"
fi

# --- What is lost is told ---

forget_cursors "$store"
holds "windows are dropped before they are shipped" "$tmp/fleet_store" "$store" drop 450000
lost=$(python3 -c '
import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute("SELECT count(*), sum(windows), sum(samples) FROM tombstone").fetchone())' \
	"$store")
holds "... some of them" [ "${lost#* }" != "None None" ]
holds "what is left is shipped" eval 'fresh lost "$store" && bpfprof_into 0 shipped store ship --store "$store" --to "$(url lost)"'
holds "... and it says what is not" told "windows are lost" shipped.err
holds "the fleet's ledger has it" same "$(ch_sql lost "SELECT count(), toUInt64(sum(windows)), toUInt64(sum(lost_samples))
	FROM batches FINAL WHERE reason = 'bytes' FORMAT TSV" | tr '\t' ' ')" "$lost"
holds "fsck finds nothing" bpfprof_into 0 fsck store fsck --store "$(url lost)"
read -r tombstones windows samples <<<"$lost"
holds "... but tells of it" told "; $tombstones tombstones of $windows lost windows with $samples samples" fsck.err

# --- What is wrong is found ---

# finds REGEX SQL: on a fleet store with that change.
finds()
{
	ch_sql fleet "$2"
	ch_mutated fleet || return 1
	bpfprof_into 1 fsck store fsck --store "$(url fleet)" && told "$1" fsck
}

# chosen SQL: its answer, as a change may use it: a mutation asks its subqueries anew for every part, and is answered
# by what it has left of the others.
chosen()
{
	ch_sql fleet "$1 FORMAT TSVRaw"
}

one="SELECT concat('kind = ', toString(kind), ' AND host = ', toString(host), ' AND h = toDateTime(',
	toString(toUInt32(h)), ') AND minute = ', toString(minute), ' AND second = ', toString(second), ' AND lead = ', toString(lead), ' AND service = ''', service,
	''' AND stack = ', toString(stack), ' AND src = ', toString(src)) FROM samples FINAL ORDER BY stack LIMIT 1"
holds "a row that is missing is found" finds "[0-9]+ rows of samples, but the ledger has [0-9]+" \
	"ALTER TABLE samples DELETE WHERE $(chosen "$one")"
forget_cursors "$store"
# The oldest windows are gone from the local store: what is there mends what it can.
ch_sql default "DROP DATABASE fleet"
bp store init --store "$(url fleet)" 2>>"$log"
bp store ship --store "$store" --to "$(url fleet)" 2>>"$log"
holds "what was shipped anew is whole" whole fleet
holds "a row that is there twice, with another value" finds "the sums of its samples are not those of the ledger" \
	"INSERT INTO samples SELECT service, version, kind, h, stack, src, second, host, minute, lead, n + 1, v1, v2, v3, v, unit FROM samples
	FINAL ORDER BY stack LIMIT 1"
holds "... and under another source" finds "[0-9]+ rows of samples, but the ledger has [0-9]+" \
	"INSERT INTO samples SELECT service, version, kind, h, stack, src + 1000000, second, host, minute, lead, n, v1, v2, v3, v, unit
	FROM samples FINAL ORDER BY stack LIMIT 1"
holds "... which no label set has" told "1 sources are named by samples, but are not in the dictionary" fsck
holds "a stack that is missing" finds "1 stacks are named by samples, but are not in the dictionary" \
	"ALTER TABLE stacks DELETE WHERE stack = $(chosen "SELECT min(stack) FROM stacks")"
holds "a frame that is missing" finds "1 frames are named by stacks, but are not in the dictionary" \
	"ALTER TABLE frames DELETE WHERE frame = $(chosen "SELECT min(frame) FROM frames")"
holds "a batch that the ledger does not have" finds "rows of samples, which the ledger does not have" \
	"ALTER TABLE batches DELETE WHERE $(chosen "SELECT concat('seq = ', toString(seq), ' AND kind = ',
	toString(max(kind))) FROM batches WHERE kind != 0 GROUP BY seq ORDER BY seq DESC LIMIT 1")"
holds "... nor its window" told "its batches have [0-9]+ rows in the ledger, it says [0-9]+" fsck
holds "windows that are missing" finds "windows are missing" \
	"ALTER TABLE batches DELETE WHERE has($(chosen "SELECT groupArray(seq) FROM (SELECT seq FROM batches
	WHERE kind = 0 ORDER BY seq DESC LIMIT 3, 2)"), seq)"
exit $status
