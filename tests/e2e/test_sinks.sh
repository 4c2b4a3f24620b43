#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A local store into sinks other than ClickHouse: what arrives is valid for who reads it, and its sums are the store's.
# timeout: 240
# beside others
set -u
. tests/e2e/sinks.sh

# --- Files ---

files=$tmp/profiles
holds "a store as files" bpfprof_into 0 files store ship --store "$store" --to "file:$files/"
holds "... all of it" told "sink 'file:$files': 120 windows" files.err
holds "every sum is the store's" same "$(python3 tests/e2e/sink_files.py "$files" 2>&1)" "$truth"
first=$(content "$files")
holds "a file for each service, kind and minute" [ "$(wc -l <<<"$first")" = "$((4 * 2 * 21))" ]
holds "nothing else is left there" [ -z "$(find "$files" -name '.*' -o -type l)" ]
forget_cursors "$store"
holds "once more" bp store ship --store "$store" --to "file://$files"
holds "... they are the same files" same "$(content "$files")" "$first"
"$tmp/fleet_store" "$store" compact
forget_cursors "$store"
holds "once more, after it was compacted" bp store ship --store "$store" --to "file:$files"
holds "... they are the same files" same "$(content "$files")" "$first"
one=$(find "$files/web/cpu" -name '*.pb.gz' | sort | head -1)
if have go; then
	holds "go tool pprof reads them" eval 'go tool pprof -raw "$one" >"$out/raw" 2>>"$log"'
	holds "... with their labels" told "comm:\[thread-[0-2]\] host:\[alpha\] service:\[web\]" raw
	holds "... and functions" told "function_[0-9]+" raw
else
	skip "go tool pprof reads them" "no go"
fi

holds "killed at any moment" ship_killed "file:$tmp/killed"
holds "... and then not" bp store ship --store "$store" --to "file:$tmp/killed"
holds "... they are the same files" same "$(content "$tmp/killed")" "$first"

mkdir "$tmp/planted" && ln -s "$tmp" "$tmp/planted/web"
holds "a link in the folder" bpfprof_into 1 planted store ship --store "$store" --to "file:$tmp/planted"
holds "... is not followed, and told" told "/planted: web/cpu: Not a directory; what it has not got yet stays" planted.err
holds "a folder's folder that is not there" bpfprof_into 1 nowhere store ship --store "$store" --to "file:$tmp/no/where"
holds "... is told" told "/no/where: No such file or directory" nowhere.err
holds "no full name" bpfprof_into 2 relative store ship --store "$store" --to file:profiles
holds "... is told" told "the folder's full name is wanted: file:/DIR" relative.err

# --- Receivers ---

# serve FAULT...: a receiver of its own at $port; the store has shipped nothing yet.
serve()
{
	port=$(free_port)
	listen_at_port sink_server.py "$@"
	forget_cursors "$store"
}

clean()
{
	what facts
	[ "$(fact problem_cnt)" = 0 ]
}

left=$(python3 tests/e2e/sink_truth.py "$BUILD/bpfprof" "$store" 12:05)
for scheme in pyroscope otlp; do
	errors=()
	[ $scheme = otlp ] || errors=(error)
	serve
	url=$scheme+http://127.0.0.1:$port
	holds "a store to $scheme" bpfprof_into 0 sent store ship --store "$store" --to "$url"
	holds "... all of it" told "sink '${url/+/.}.*': 120 windows" sent.err
	holds "every sum is the store's" same "$(what)" "$truth"
	holds "every request is valid, and none is there twice" eval 'clean && [ "$(fact again)" = 0 ]'
	[ $scheme$([ -z "${OTLP_PROTOS:-}" ] || echo protoc) != otlpprotoc ] ||
		holds "... by the published files, too" [ "$(fact published)" -gt 0 ]

	serve busy down cut old reject "${errors[@]}"
	url=$scheme+http://127.0.0.1:$port
	holds "$scheme that is busy, down, or cut off behind the body" ship_to_end "$url"
	holds "every sum is the store's" same "$(what)" "$truth"
	holds "what was sent again is what it was" eval 'clean && [ "$(fact again)" -gt 0 ]'
	holds "it was busy, down and cut off" [ "$(fact busy) $(fact down) $(fact cut) $(fact old)" = "2 2 2 1" ]

	serve poison
	url=$scheme+http://127.0.0.1:$port
	holds "$scheme that refuses a minute" bpfprof_into 0 poison store ship --store "$store" --to "$url"
	holds "... is sent the others" eval 'clean && [ "$(fact poison)" -ge 2 ]'
	holds "every sum is the store's but that minute's" same "$(what)" "$left"
	holds "... which is told" told "6 windows are lost, 6 of them refused or damaged" poison.err
	holds "... and counted" [ "$(python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
print(*store.execute("SELECT count(*) FROM quarantine WHERE sink LIKE ? AND reason LIKE ?",
      (sys.argv[2] + "%", "HTTP status 400: %I do not like it%")).fetchone())' "$store" "$url")" = 1 ]

	serve token
	url=127.0.0.1:$port
	holds "$scheme that does not know who asks" bpfprof_into 1 token store ship --store "$store" \
		--to "$scheme+http://me:secret@$url?tenant=t1"
	holds "... says so, with a way to mend it" told "HTTP status 401: who are you\?\?said .*\\\$${scheme^^}_PASSWORD" token.err
	holds "... which keeps the password to itself" bash -c '! grep -q secret "$1"' _ "$out/token.err"
	holds "... and takes it from there" env "${scheme^^}_PASSWORD=se:cret" "$BUILD/bpfprof" store ship --store "$store" \
		--to "$scheme+http://$url?tenant=t1"
	holds "every sum is the store's" same "$(what)" "$truth"
	holds "it was told the tenant" [ "$(fact tenants)" = '["t1"]' ]

	holds "$scheme elsewhere" bpfprof_into 1 elsewhere store ship --store "$store" --to "$scheme+http://127.0.0.1:1/x/"
	holds "... is told" told "sink '$scheme.http://127.0.0.1:1/x': .*does the server run" elsewhere.err
	holds "$scheme without http" bpfprof_into 2 wrong store ship --store "$store" --to "$scheme://127.0.0.1"
	holds "... is told" told "it does not begin with $scheme.http:// or $scheme.https://" wrong.err
done
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -days 2 \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>>"$log"
cat "$tmp/cert.pem" "$tmp/key.pem" >"$tmp/both.pem"
serve "tls=$tmp/both.pem"
url=otlp+https://127.0.0.1:$port
holds "TLS, by an authority that nobody knows" bpfprof_into 1 tls store ship --store "$store" --to "$url"
holds "... is told, with the way to name it" told "\?ca=FILE at the end of the URL" tls.err
holds "... and by one that is named" bpfprof_into 0 tls store ship --store "$store" --to "$url?ca=$tmp/cert.pem"
holds "... is all there" told "sink 'otlp.https://127.0.0.1:$port': 120 windows" tls.err

holds "OTLP's partial success is told" told "the receiver throws profiles away: why" tries

exit $status
