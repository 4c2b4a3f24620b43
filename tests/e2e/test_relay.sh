#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stores through relays into a real ClickHouse: nothing lost, nothing double, whatever is killed, cut or full.
# timeout: 400
# beside others
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh
. tests/e2e/fleet.sh
. tests/e2e/relay.sh

have clickhouse-server || { skip "relays" "no clickhouse-server"; exit 0; }

out=$tmp/out
mkdir -p "$out"
children=()
# shellcheck disable=SC2154 # of clickhouse.sh
trap 'kill "${children[@]}" 2>/dev/null; relay_kill_all; ch_kill; wait 2>/dev/null; umount "$tmp/small" 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD RELAY_USER RELAY_PASSWORD
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

# balanced RELAY: its messages add up.
balanced()
{
	relay_get "$1" /metrics >"$out/metrics"
	awk '/^bpfprof_relay_refused_total/ { refused += $2 } /^bpfprof_relay_/ { at[$1] = $2 }
	END { print at["bpfprof_relay_received_total"], at["bpfprof_relay_stored_total"], refused
		exit at["bpfprof_relay_received_total"] != at["bpfprof_relay_stored_total"] + refused ||
		at["bpfprof_relay_stored_total"] != at["bpfprof_relay_shipped_total"] + at["bpfprof_relay_quarantined_total"] + at["bpfprof_relay_spool_messages"] || !at["bpfprof_relay_received_total"] }' "$out/metrics"
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


# await PORT: something listens there.
await()
{
	for _ in $(seq 100); do
		(: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.05
	done
	return 1
}

# rows DATABASE: of all tables that have keys.
rows()
{
	ch_sql "$1" "SELECT (SELECT count() FROM samples FINAL), (SELECT count() FROM batches FINAL),
		(SELECT count() FROM stacks FINAL), (SELECT count() FROM sources FINAL) FORMAT TSV"
}

holds "a database" fresh fleet "$tmp"/store*.db
relay_configure one "$(url fleet)"
holds "a relay begins" relay_start one
holds "a store goes through it" bpfprof_into 0 shipped store ship --store "$tmp/store1.db" --to "$(relay_url one)"
holds "... all of it" told "160 windows" shipped.err
holds "... into the fleet's store" relay_drained one
holds "every sum is the recorded one" same "$(sums fleet)" "$(cat "$out/sums1")"
holds "fsck finds nothing" whole fleet
holds "what is shipped is not shipped again" bpfprof_into 0 shipped store ship --store "$tmp/store1.db" --to "$(relay_url one)"
holds "... but none of it" told "0 windows with 0 samples shipped as 0 rows" shipped.err

before=$(rows fleet)
forget_cursors "$tmp"/store*.db
holds "all stores at once, one of them again" ship_all "$(relay_url one)"
holds "... into the fleet's store" relay_drained one
holds "every sum is the recorded one" same "$(sums fleet)" "$(total "$out"/sums[1-4])"
holds "fsck finds nothing" whole fleet
sent=$(relay_metric one dict_rows_sent_total)
known=$(relay_metric one dict_rows_known_total)
holds "what hosts have in common of the dictionary went once" [ "$known" -gt "$sent" ]

before=$(rows fleet)
forget_cursors "$tmp"/store*.db
relay_kill one
relay_start one
holds "all of it twice, by a relay that knows nothing of before" ship_all "$(relay_url one)"
holds "... into the fleet's store" relay_drained one
holds "changes nothing" same "$(sums fleet) $(rows fleet)" "$(total "$out"/sums[1-4]) $before"
holds "fsck finds nothing" whole fleet
holds "a second relay for one spool" bpfprof_into 1 second relay --config "$tmp/one.conf" --listen 127.0.0.1:0
holds "... is told" told "another relay has it" second.err
holds "metrics balance" balanced one

# tables_gone: with what hosts told of the dictionary, which they tell again under another epoch.
tables_gone()
{
	local before
	before=$(cat "$tmp/one.spool/epoch")
	ch_sql default "DROP DATABASE fleet"
	forget_cursors "$tmp"/store*.db && ship_to_end "$tmp/store1.db" "$(relay_url one)" || return
	for _ in $(seq 100); do
		[ "$(cat "$tmp/one.spool/epoch")" != "$before" ] && return
		sleep 0.1
	done
	return 1
}

holds "the store's tables are gone" tables_gone
holds "... which it says" told "bpfprof store init --store URL makes" one.err
holds "... and made anew" bp store init --store "$(url fleet)"
holds "... get what has waited" relay_drained one
holds "every sum is the recorded one" same "$(sums fleet)" "$(cat "$out/sums1")"
holds "fsck finds nothing" whole fleet
holds "it ends when it is told" relay_kill one TERM

# --- Killed ---

# kill_about: relays and the server, again and again, while stores are written and shipped.
kill_about()
{
	local name
	for _ in 1 2 3 4 5; do
		for name in left right server; do
			sleep "0.$((RANDOM % 5))"
			if [ $name = server ]; then
				ch_kill
				sleep "0.$((RANDOM % 5))"
				ch_start || return
			else
				relay_kill $name
				sleep "0.$((RANDOM % 5))"
				relay_start $name || return
			fi
		done
	done
}

killed()
{
	local pids=() code=0
	for nr in 1 2 3 4; do
		"$tmp/fleet_store" "$tmp/store$nr.db" 2000 200 30 >"$out/more$nr" &
		pids+=($!)
	done
	(while [ ! -e "$tmp/enough" ]; do ship_all "$(relay_url left right)"; done) &
	local shipper=$!
	kill_about || code=1
	for pid in "${pids[@]}"; do
		wait "$pid" || code=1
	done
	touch "$tmp/enough"
	wait $shipper
	ship_all "$(relay_url left right)" && return $code
}

relay_configure left "$(url kills)"
relay_configure right "$(url kills)"
holds "two relays and their server, killed again and again" eval 'fresh kills "$tmp"/store*.db && relay_start left && relay_start right && killed'
holds "... and then not" relay_drained left right
for name in left right; do
	holds "relay $name took something" [ "$(cat "$out/$name.err" | grep -c "takes messages")" -ge 5 ]
done
holds "every sum is the recorded one" same "$(sums kills)" "$(total "$out"/sums[1-4] "$out"/more[1-4])"
holds "fsck finds nothing" whole kills
relay_kill left
relay_kill right

# --- Cut ---

# cutting PORT SEED SHARE: $proxy_port is a proxy to it that cuts so many of its answers.
cutting()
{
	proxy_port=$(free_port)
	python3 tests/e2e/cutting_proxy.py "$proxy_port" "$@" 2>>"$out/proxy" &
	children+=($!)
	await "$proxy_port"
}

cutting "$ch_port" 1 0.4
inner_port=$proxy_port
relay_configure cut "clickhouse://127.0.0.1:$inner_port/cuts"
holds "answers to a relay's inserts are cut" eval 'fresh cuts "$tmp"/store*.db && relay_start cut'
cutting "${relay_ports[cut]}" 2 0.67
holds "... and its answers to agents" ship_all "relay+http://127.0.0.1:$proxy_port"
holds "... and all of it arrives" eval 'relay_drained cut || relay_drained cut'
read -r passed cut < <(curl -s "http://127.0.0.1:$proxy_port/")
read -r inner_passed inner_cut < <(curl -s "http://127.0.0.1:$inner_port/")
echo "# $cut answers to agents cut, $passed passed; $inner_cut to the relay cut, $inner_passed passed" >>"$log"
holds "... after many attempts" [ "$cut" -gt 5 -a "$inner_cut" -gt 3 ]
holds "every sum is the recorded one" same "$(sums cuts)" "$(total "$out"/sums[1-4] "$out"/more[1-4])"
holds "fsck finds nothing" whole cuts
relay_kill cut

# --- Refused by the store ---

# host_hex STORE: its host's number, as it stands in rows.
host_hex()
{
	local id
	id=$(python3 -c '
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM meta WHERE key = \"host\"").fetchone()[0])' "$1")
	python3 -c 'import sys; print(int(sys.argv[1]).to_bytes(8, "little").hex())' \
		"$(ch_sql cuts "SELECT host FROM hosts FINAL WHERE id = '$id'")"
}

bad=$(host_hex "$tmp/store4.db")
[ ${#bad} = 16 ] || exit 1
proxy_port=$(free_port)
python3 tests/e2e/refusing_proxy.py "$proxy_port" "$ch_port" samples "$bad" 2>>"$out/proxy" &
children+=($!)
await "$proxy_port"
relay_configure picky "clickhouse://127.0.0.1:$proxy_port/refused"
holds "a host's rows are refused" eval 'fresh refused "$tmp"/store*.db && relay_start picky && ship_all "$(relay_url picky)"'
holds "... its messages are put aside, and others go on" relay_drained picky
holds "... which are kept" [ "$(ls "$tmp/picky.spool/quarantine" | wc -l)" = "$(relay_metric picky quarantined_total)" ]
holds "... and counted" [ "$(relay_metric picky quarantined_total)" -ge 1 ]
holds "... and told" told "refuses a message of host 'alpha'.*put aside" picky.err
holds "every other sum is the recorded one" same "$(sums refused)" "$(total "$out"/sums[1-3] "$out"/more[1-3])"
holds "the ledger says what is lost" same "$(ch_sql refused "SELECT toInt64(sum(lost_samples)), toInt64(sum(windows)) FROM batches FINAL
	WHERE kind = 0 AND reason != '' FORMAT TSV")" "$(awk '{ sum += $2 + $5 } END { printf "%.0f\t390\n", sum }' "$out/sums4" "$out/more4")"
holds "fsck finds nothing" whole refused
holds "metrics balance" balanced picky
relay_kill picky

# --- Full ---

# is_kept STORE URL TEXT: it is not taken, for that reason, and stays where it is.
is_kept()
{
	bpfprof_into 1 kept store ship --store "$1" --to "$2" && told "$3" kept.err && told "stays in the store" kept.err
}

# overfill RELAY: all stores are shipped to it, which it has no room for: then they wait as long as it says.
overfill()
{
	for nr in 1 2 3 4; do
		timeout 3 "$BUILD/bpfprof" store ship --store "$tmp/store$nr.db" --to "$(relay_url "$1")"
	done
	[ $? = 124 ]
}

# refuses RELAY STATUS TEXT: whatever it is sent, for that reason.
refuses()
{
	head -c 700000 /dev/urandom >"$tmp/noise"
	relay_get "$1" /relay/v1/batch -D "$out/answer" --data-binary "@$tmp/noise" >>"$out/answer"
	cat "$out/answer"
	grep -q "^HTTP/1.1 $2 " "$out/answer" && grep -q "^Retry-After: 15" "$out/answer" && grep -q "$3" "$out/answer"
}

small=$tmp/small
mkdir "$small"
if mount -t tmpfs -o size=700k none "$small" 2>>"$log"; then
	relay_configure small "$(url full)" "spool = $small"
	fresh full "$tmp"/store*.db
	ch_kill
	holds "a relay whose disk is small, and no server" relay_start small
	holds "what it has no room for waits" overfill small
	holds "... it says so" told "No space left on device; agents keep what they have" small.err
	holds "... is not well" [ "$(relay_get small /healthz -o /dev/null -w '%{http_code}')" = 503 ]
	holds "... and counts it" [ "$(relay_metric small 'refused_total{reason="disk"}')" -ge 1 ]
	relay_kill small
	holds "the server is there again, and so is the relay" eval 'ch_start && relay_start small'
	holds "... which has shipped what it had" relay_drained small
	holds "... and takes the rest" ship_all "$(relay_url small)"
	relay_drained small
	holds "every sum is the recorded one" same "$(sums full)" "$(total "$out"/sums[1-4] "$out"/more[1-4])"
	holds "fsck finds nothing" whole full
	relay_kill small
	umount "$small"
else
	skip "a relay whose disk is small" "no tmpfs can be mounted"
fi

relay_configure bounded "$(url bound)" "max-spool = 700k" "max-age = 1h"
fresh bound "$tmp"/store*.db
ch_kill
holds "a relay with a bound, and no server" relay_start bounded
holds "what is above it waits" overfill bounded
holds "... as it says" refuses bounded 503 "the spool is full"
holds "... and the relay, too" told "the spool is full .max-spool.*agents keep what they have" bounded.err
holds "... the spool has no more than that" [ "$(du -bc "$tmp"/bounded.spool/segment-* | tail -1 | cut -f 1)" -le 716800 ]
holds "... is not well" [ "$(relay_get bounded /healthz -o /dev/null -w '%{http_code}')" = 503 ]
holds "... and counts it" [ "$(relay_metric bounded 'refused_total{reason="spool_full"}')" -ge 1 ]
holds "the server is there again" ch_start
holds "... the rest is taken" ship_all "$(relay_url bounded)"
holds "... and shipped" relay_drained bounded
holds "every sum is the recorded one" same "$(sums bound)" "$(total "$out"/sums[1-4] "$out"/more[1-4])"
holds "fsck finds nothing" whole bound
relay_kill bounded

# --- Who may ---

openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -days 2 \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>>"$log"
chmod 600 "$tmp/key.pem"
printf '%s\n' "# agents" "al* 0123456789abcdef-alpha" "b* 0123456789abcdef-beta" >"$tmp/tokens"
chmod 600 "$tmp/tokens"
relay_configure safe "$(url safe)" "token-file = $tmp/tokens" "tls-cert = $tmp/cert.pem" "tls-key = $tmp/key.pem"
fresh safe "$tmp"/store*.db
relay_scheme=https
holds "a relay with TLS and tokens" relay_start safe
safe=relay+https://:TOKEN@127.0.0.1:${relay_ports[safe]}?ca=$tmp/cert.pem

# as TOKEN: the URL with it.
as()
{
	echo "${safe/TOKEN/$1}"
}

holds "no token" is_kept "$tmp/store1.db" "${safe/:TOKEN@/}" "HTTP status 401: a token is needed"
holds "a wrong token" is_kept "$tmp/store1.db" "$(as 0123456789abcdef-wrong)" "HTTP status 401: this token is not known: .*RELAY_PASSWORD"
holds "... is not shown" bash -c '! grep -q wrong "$1"' _ "$out/kept.err"
holds "another host's token" is_kept "$tmp/store1.db" "$(as 0123456789abcdef-beta)" \
	"HTTP status 403: this token may not speak for host 'alpha'"
holds "... is told by the relay, too" told "a message of host 'alpha' is refused: this token may not" safe.err
holds "an authority that nobody named" is_kept "$tmp/store1.db" "${safe%\?*}" "\\?ca=FILE at the end of the URL"
holds "nothing of it has arrived" [ "$(relay_metric safe stored_total -k -u :0123456789abcdef-beta)" = 0 ]
holds "... and it is counted" [ "$(relay_metric safe unauthorized_total -k -u :0123456789abcdef-beta)" -ge 2 ]
holds "metrics are not for everybody" [ "$(relay_get safe /metrics -k -o /dev/null -w '%{http_code}')" = 401 ]
holds "the right token" bp store ship --store "$tmp/store1.db" --to "$(as 0123456789abcdef-alpha)"
holds "... of the environment" env RELAY_PASSWORD=0123456789abcdef-alpha "$BUILD/bpfprof" store ship --store "$tmp/store2.db" \
	--to "${safe/:TOKEN@/}"
printf '%s\n' "* 0123456789abcdef-other" >"$tmp/tokens"

# read_again: the token file is.
read_again()
{
	for _ in $(seq 100); do
		grep -q "$1" "$out/safe.err" && return
		sleep 0.1
	done
	return 1
}

holds "the tokens change" read_again "is read again: 1 lines"
holds "... the old one is wrong now" is_kept "$tmp/store3.db" "$(as 0123456789abcdef-alpha)" "HTTP status 401"
holds "... the new one is right" bp store ship --store "$tmp/store3.db" --to "$(as 0123456789abcdef-other)"
echo "nonsense" >"$tmp/tokens"
holds "tokens that are none" read_again "there is no token behind HOSTGLOB"
holds "... change nothing" bp store ship --store "$tmp/store4.db" --to "$(as 0123456789abcdef-other)"
for _ in $(seq 100); do
	[ "$(relay_metric safe spool_messages -k -u :0123456789abcdef-other)" = 0 ] && break
	sleep 0.1
done
holds "every sum is the recorded one" same "$(sums safe)" "$(total "$out"/sums[1-4] "$out"/more[1-4])"
holds "fsck finds nothing" whole safe
relay_kill safe
relay_scheme=http

holds "what others reach takes tokens and TLS" bpfprof_into 1 wide relay --config "$tmp/one.conf" --listen 0.0.0.0:0
holds "... which is told" told "needs a token .--token-file. and TLS" wide.err
holds "a token file that others can read" eval 'chmod 644 "$tmp/tokens"; bpfprof_into 1 open relay --config "$tmp/safe.conf"'
holds "... is told" told "can be read or changed by others" open.err

# --- Answers that nobody expects ---

relay_configure plain "$(url fleet)"
relay_start plain

# answers STATUS [CURL-OPTION...]: to a message.
answers()
{
	[ "$(relay_get plain /relay/v1/batch -o "$out/answer" -w '%{http_code}' "${@:2}")" = "$1" ]
}

head -c 3000 /dev/urandom >"$tmp/noise"
gzip -c "$tmp/noise" >"$tmp/noise.gz"
head -c 80000000 /dev/zero | gzip -c >"$tmp/zeros.gz"
holds "what is not compressed" answers 415 --data-binary "@$tmp/noise"
holds "... what is damaged" answers 503 -H "Content-Encoding: gzip" --data-binary "@$tmp/noise"
holds "... what is no message" answers 400 -H "Content-Encoding: gzip" --data-binary "@$tmp/noise.gz"
holds "... nor a long one" answers 400 -H "Content-Encoding: gzip" --data-binary "@$tmp/zeros.gz"
holds "... without its length" answers 411 -H "Transfer-Encoding: chunked" --data-binary "@$tmp/noise.gz"
head -c 34000000 /dev/zero >"$tmp/noise"
holds "... longer than may be" answers 413 -H "Content-Encoding: gzip" --data-binary "@$tmp/noise"
holds "... a GET" answers 405
holds "it is there still" [ "$(relay_get plain /healthz)" = ok ]
relay_kill plain TERM

# --- Its configuration ---

holds "--check-config prints it" bpfprof_into 0 config relay --config "$tmp/bounded.conf" --check-config
holds "... with what was not said" told "max-message = " config
echo "store = clickhouse://fleet:se%3Acret@127.0.0.1/fleet" >"$tmp/secret.conf"
holds "a password in it" bpfprof_into 0 secret relay --config "$tmp/secret.conf" --check-config
holds "... is not shown" bash -c '! grep -q se%3Acret "$1" && grep -q "fleet:\*\*\*@" "$1"' _ "$out/secret"
echo "nonsense = 1" >"$tmp/wrong.conf"
holds "a key that is none" bpfprof_into 2 config relay --config "$tmp/wrong.conf"
holds "... is told" told "wrong.conf:1: .*nonsense" config.err
echo "listen = 127.0.0.1:0" >"$tmp/wrong.conf"
holds "no store" bpfprof_into 2 config relay --config "$tmp/wrong.conf"
holds "... is told" told "option '--store' is missing" config.err
exit $status
