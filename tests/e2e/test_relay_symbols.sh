#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Symbols through relays: tables of names that hosts upload to a relay are on its disk when it answers, and in the fleet's
# store (Debian's ClickHouse, started here) once, whatever is killed meanwhile; store symbolize makes of them what debug
# files would give.
# timeout: 200
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse.sh
. tests/e2e/fleet.sh
. tests/e2e/relay.sh
. tests/e2e/stripped.sh

have clickhouse-server || { skip "symbols through relays" "no clickhouse-server"; exit 0; }
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD RELAY_USER RELAY_PASSWORD
out=$TMPDIR/out
store=$TMPDIR/store.db
pins=/sys/fs/bpf/bpfprof-relayed-$$
# shellcheck disable=SC2154 # of clickhouse.sh
trap '"$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; relay_kill_all; ch_kill; stop_loads; rm -rf "$tmp"' EXIT
strip_programs cog mill
ch_configure || exit 1
check "a server begins" ch_start
[ $status = 0 ] || exit 1

# symbolized DATABASE: by what is here, and what was uploaded.
symbolized()
{
	bpfprof_into 0 symbolized store symbolize --store "$(url "$1")"
}

# lacking COUNT: so many of the two programs were not named wholly.
lacking()
{
	[ "$(grep -cE '^no_lines .*/bin/(cog|mill)$' "$out/symbolized")" = "$1" ]
}

# upload RELAY-URL FILE...: into out/upload.err, and its status.
upload()
{
	"$bpfprof" store upload --store "$1" --debug-dir "$debug" "${@:2}" >"$out/upload.err" 2>&1
	local code=$?
	cat "$out/upload.err"
	return $code
}

# uploads RELAY-URL REGEX: of a stripped program and of a debug file, and each is told that.
uploads()
{
	upload "$1" "$TMPDIR/bin/cog" "$debug"/.build-id/*/mill.debug &&
		[ "$(grep -cE "bin/cog'.*$2|mill.debug'.*$2" "$out/upload.err")" = 2 ]
}

# tables_drained RELAY: wait until none is left.
tables_drained()
{
	for _ in $(seq 300); do
		[ "$(relay_metric "$1" symbols_waiting)" = 0 ] && return
		sleep 0.1
	done
	relay_get "$1" /metrics
	tail -5 "$out/$1.err"
	return 1
}

# once DATABASE: both tables are there, each from one host, in one piece.
once()
{
	same "$(ch_sql "$1" "SELECT (SELECT count() FROM symbol_tables FINAL WHERE chunks > 0),
		(SELECT sum(chunks) FROM symbol_tables FINAL), (SELECT count() FROM symbol_chunks FINAL) FORMAT TSV")" "2	2	2"
}

# symbols_balance RELAY [COUNT]: what it says of them adds up; so many waited when it was started.
symbols_balance()
{
	relay_get "$1" /metrics >"$out/metrics"
	awk -v waited="${2:-0}" '/^bpfprof_relay_symbols_refused_total/ { refused += $2 } sub(/^bpfprof_relay_symbols_/, "") { at[$1] = $2 }
	END { gone = at["shipped_total"] + at["known_total"] + at["dropped_total"]
		exit at["received_total"] != at["asked_total"] + at["stored_total"] + at["again_total"] + refused ||
		at["stored_total"] + waited != gone + at["waiting"] || !at["received_total"] }' "$out/metrics" && return
	grep relay_symbols "$out/metrics"
	return 1
}

# --- Recorded, and shipped through a relay ---

since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
check "an agent records stripped programs" record
until=$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)
flame "$store" home pb.gz
check "a profile of them is completed by debug files" "$bpfprof" symbolize "$out/home.pb.gz" --debug-dir "$debug" \
	-o "$out/truth.folded"
relay_configure one "$(url fleet)"
check "a relay" eval 'fresh fleet "$store" && relay_start one'
check "through which the store goes" bp store ship --store "$store" --to "$(relay_url one)"
check "... into the fleet's" relay_drained one
check "names are looked for" symbolized fleet
check "... and missing" lacking 2

# --- Uploaded ---

one=$(relay_url one)
ch_kill
check "symbols of two builds, while there is no server" uploads "$one" 'are uploaded, [1-9][0-9]* bytes$'
check "... are on the relay's disk" [ "$(find "$TMPDIR/one.spool/symbols" -type f | wc -l)" = 2 ]
check "... once" uploads "$one" 'are there already$'
check "it counts them" symbols_balance one
check "... after it is killed, too" eval 'relay_kill one && relay_start one && [ "$(relay_metric one symbols_waiting)" = 2 ]'
check "the server is there again" ch_start
check "... and gets them" tables_drained one
check "... once" once fleet
check "... from the relay" [ "$(relay_metric one symbols_shipped_total)" = 2 ]
check "what the store has" uploads "$one" 'are uploaded, '
check "... goes no further" eval 'tables_drained one && [ "$(relay_metric one symbols_known_total)" = 2 ]'
check "... and is there once" once fleet
check "it counts them" symbols_balance one 2
check "names are made of them" symbolized fleet
check "... all that debug files would give" lacking 0
check "... as at home" as_at_home "$(url fleet)" fleet
check "a URL that is none" bpfprof_into 2 wrong store upload --store relay://127.0.0.1 "$TMPDIR/bin/cog"
check "... is told" told "the URL of the relay: it does not begin with relay.http://" wrong.err
check "what a relay has is asked of the store" bpfprof_into 2 asked store symbolize --store "$one"
check "... as it says" told "of a fleet store only" asked.err

# --- Killed ---

# killed: the relay and the server, again and again, while symbols are uploaded.
killed()
{
	local nr pid
	for nr in 1 2 3 4 5 6 7 8; do
		"$bpfprof" store upload --store "$(relay_url two)" --debug-dir "$debug" "$TMPDIR/bin/cog" \
			"$debug"/.build-id/*/mill.debug &
		pid=$!
		sleep "0.0$((RANDOM % 10))"
		if [ $((nr % 3)) = 0 ]; then
			ch_kill
			ch_start || return
		fi
		relay_kill two
		wait $pid
		relay_start two || return
	done
	uploads "$(relay_url two)" 'are (uploaded|there already)'
}

relay_configure two "$(url kills)"
check "another relay" eval 'fresh kills "$store" && relay_start two && bp store ship --store "$store" --to "$(relay_url two)"'
check "it is killed, and the server" killed
check "... and then not" eval 'relay_drained two && tables_drained two'
check "all symbols are there, once" once kills
check "... and do what they are for" eval 'symbolized kills && lacking 0 && as_at_home "$(url kills)" kills'
relay_kill two

# --- Damaged on the disk ---

# damaged: a file of the relay's, while there is no server and it is not running.
damaged()
{
	ch_kill
	uploads "$(relay_url two)" 'are uploaded, ' && relay_kill two || return
	printf x | dd of="$(find "$TMPDIR/two.spool/symbols" -type f | head -1)" bs=1 seek=60 conv=notrunc
	ch_start && fresh damage "$store" && relay_start two
}

sed -i 's,/kills$,/damage,' "$TMPDIR/two.conf"
check "a table's file is damaged" eval 'relay_start two && damaged'
check "... and goes" tables_drained two
check "... counted" [ "$(relay_metric two symbols_dropped_total)" = 1 ]
check "... told" told "are given up: its file is damaged" two.err
check "... the other one is shipped" [ "$(relay_metric two symbols_shipped_total)" = 1 ]
relay_kill two

# --- Refused ---

# refused URL TEXT FILE...: nothing is taken, for that reason.
refused()
{
	! upload "$1" "${@:3}" && told "$2" upload.err
}

printf '%s\n' "* 0123456789abcdef-token" >"$TMPDIR/tokens"
chmod 600 "$TMPDIR/tokens"
relay_configure safe "$(url fleet)" "token-file = $TMPDIR/tokens"
check "a relay with tokens" relay_start safe
safe=$(relay_url safe)
check "no token" refused "$safe" "HTTP status 401: a token is needed" "$TMPDIR/bin/cog"
check "a wrong one" refused "${safe/\/\//\/\/:0123456789abcdef-wrong@}" "HTTP status 401: .*RELAY_PASSWORD" "$TMPDIR/bin/cog"
check "nothing has come" [ "$(relay_metric safe symbols_received_total -u :0123456789abcdef-token)" = 0 ]
check "... which is counted" [ "$(relay_metric safe unauthorized_total -u :0123456789abcdef-token)" -ge 2 ]
check "the right one" upload "${safe/\/\//\/\/:0123456789abcdef-token@}" "$TMPDIR/bin/cog"
relay_kill safe

relay_configure small "$(url fleet)" "max-message = 64k" "max-spool = 64k"
check "a relay with bounds" relay_start small
check "what is too large" refused "$(relay_url small)" "bpfprof': HTTP status 413" "$bpfprof"
check "... does not keep others from it" upload "$(relay_url small)" "$debug"/.build-id/*/mill.debug
relay_kill small
relay_configure full "$(url fleet)" "max-spool = 64k"
check "one that has little room" relay_start full
check "what is above it" refused "$(relay_url full)" "HTTP status 413: larger than all the room that symbols have" "$bpfprof"
check "... is counted" [ "$(relay_metric full 'symbols_refused_total{reason="too_large"}')" = 1 ]

# answers STATUS [CURL-OPTION...]: to a message.
answers()
{
	[ "$(relay_get full /relay/v1/symbols -o "$out/answer" -w '%{http_code}' "${@:2}")" = "$1" ]
}

head -c 3000 /dev/urandom >"$tmp/noise"
check "what is no message" answers 400 --data-binary "@$tmp/noise"
check "... nor an empty one" answers 400 --data-binary ""
check "... nor a GET" answers 405
check "it counts them" symbols_balance full
relay_kill full
# --- Asked for ---

# sent: how many tables of both programs agents say that they sent.
sent()
{
	cat "$out"/agent*.err | grep -cE "/bin/(cog|mill)' .* uploaded, "
}

# agents COUNT SECONDS NR...: that may upload, each a host of its own, on a machine that has both programs with their
# symbols; until so many tables were sent, or for so long.
agents()
{
	local wanted=$1 seconds=$2 nr pids=() code=0
	shift 2
	for nr; do
		timeout -k 5 90 "$bpfprof" agent --store "$TMPDIR/host$nr.db" --pin-dir none --no-off-cpu -F 19 --listen none \
			--sink "$(relay_url asked)" --upload-symbols 2>"$out/agent$nr.err" &
		pids+=($!)
	done
	for _ in $(seq $((10 * seconds))); do
		[ "$(sent)" = "$wanted" ] && break
		sleep 0.1
	done
	sleep 1
	kill -TERM "${pids[@]}"
	for nr in "${pids[@]}"; do
		wait "$nr" || code=1
	done
	cat "$out"/agent*.err
	return $code
}

relay_configure asked "$(url asked)"
check "a relay of agents" eval 'fresh asked "$store" && relay_start asked && bp store ship --store "$store" --to "$(relay_url asked)"'
check "... ships" relay_drained asked
check "names are looked for" symbolized asked
check "... and missing" lacking 2
relay_kill asked
check "the relay is started anew, and asks what is wanted" relay_start asked
make_whole
check "two agents where the programs have symbols" agents 2 30 1 2
check "... send those, each once" [ "$(sent)" = 2 ]
check "... to the relay" tables_drained asked
check "... which ships them" same "$(ch_sql asked "SELECT count(), uniqExact(build_id), max(chunks) FROM symbol_tables FINAL
	WHERE match(path, '/bin/(cog|mill)\$') FORMAT TSV")" "2	2	1"
rm "$out"/agent*.err
check "another one later" agents 1 6 3
check "... is not asked" [ "$(sent)" = 0 ]
check "it counts them" symbols_balance asked
rm "$TMPDIR/bin/cog" "$TMPDIR/bin/mill"
check "names are made of them" symbolized asked
check "... as at home" as_at_home "$(url asked)" asked
relay_kill asked
exit $status
