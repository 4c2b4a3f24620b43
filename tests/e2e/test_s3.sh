#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A local store into S3, as a server of our own has it, which checks each signature: what is there has the store's
# sums, and is what the sink of files writes, whatever the server does.
# timeout: 300
# beside others
set -u
. tests/e2e/sinks.sh

unset AWS_SESSION_TOKEN AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE AWS_REGION AWS_DEFAULT_REGION
export AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=a/b+c
export HOME=$tmp

# serve FAULT...: a server at $port with nothing in it; the store has shipped nothing yet.
serve()
{
	port=$(free_port)
	objects=$tmp/objects-$port
	endpoint=endpoint=http://127.0.0.1:$port
	url="s3://profiles/a?$endpoint"
	listen_at_port s3_server.py "$objects" "$@"
	forget_cursors "$store"
}

# ship STATUS NAME [URL]: into $url, or that one.
ship()
{
	bpfprof_into "$1" "$2" store ship --store "$store" --to "${3:-$url}"
}

# is_whole [PREFIX]: the objects are the files.
is_whole()
{
	same "$(content "$objects/profiles/${1:-a}")" "$first"
}

clean()
{
	what facts/
	[ "$(fact problem_cnt)" = 0 ]
}

bp store ship --store "$store" --to "file:$tmp/files" 2>"$log" || exit 1
first=$(content "$tmp/files")

serve
holds "a store to S3" ship 0 sent
holds "... all of it" told "sink 's3://profiles/a\?$endpoint': 120 windows .*, [0-9]{6,} bytes" sent.err
holds "every sum is the store's" same "$(python3 tests/e2e/sink_files.py "$objects/profiles/a" 2>&1)" "$truth"
holds "they are the files that file: writes" is_whole
holds "each was put once" [ "$(fact kept) $(fact again)" = "$(wc -l <<<"$first") 0" ]
forget_cursors "$store"
holds "once more" ship 0 sent
holds "... they are the same objects" eval 'clean && is_whole && [ "$(fact again)" = "$(wc -l <<<"$first")" ]'
holds "a prefix of odd characters" ship 0 odd "s3://profiles/%20%24(x)+~%3d%c3%a4/%25%26%2B%23%3F:*'!;,/?$endpoint"
holds "... is one" is_whole " \$(x)+~=ä/%&+#?:*'!;,"
holds "no prefix" ship 0 none "s3://profiles?$endpoint/"
holds "... is none" [ -d "$objects/profiles/web/cpu" ]

# --- What the server does ---

serve slow busy error timeout cut old early damage twist moving
holds "S3 that is slow, busy, cut off behind the body and within it, damaged on the way" ship_to_end "$url"
holds "every sum is the store's" same "$(python3 tests/e2e/sink_files.py "$objects/profiles/a" 2>&1)" "$truth"
holds "... and they are the files" eval 'clean && is_whole'
holds "it was all that" [ "$(for name in slow busy error timeout cut old early damage twist moving BadDigest \
	XAmzContentSHA256Mismatch; do echo -n "$(fact $name) "; done)" = "2 1 1 1 2 1 1 1 1 1 1 1 " ]
holds "what was sent again is what it was" [ "$(fact again)" -gt 3 ]

serve slow
holds "S3 that wants its rate reduced is left alone for a while, and gets the rest" ship 0 slow
holds "... all of it" eval 'clean && is_whole && [ "$(fact SlowDown)" = 2 ]'

# Killed in its middle, with what it has on the disk, and begun again.
server_killed()
{
	ship 1 killed &
	local pid=$!
	until [ "$(find "$objects" -name '*.pb.gz' | wc -l)" -gt 40 ]; do
		kill -0 $pid || return 1
	done
	kill -9 "$server"
	wait "$server" 2>/dev/null
	wait $pid
}
serve
holds "a server that is killed" server_killed
holds "... is told" told "sink 's3:.*: .*; what it has not got yet stays in the store" killed.err
holds "... has a part of it" [ "$(find "$objects" -name '*.pb.gz' | wc -l)" -lt 168 ]
listen_at_port s3_server.py "$objects"
holds "... comes back" ship 0 killed
holds "... and gets the rest" eval 'clean && is_whole'

serve
holds "killed at any moment itself" ship_killed "$url"
holds "... and then not" ship 0 sent
holds "... they are the same objects" eval 'clean && is_whole'

left=$(python3 tests/e2e/sink_truth.py "$BUILD/bpfprof" "$store" 12:05)
serve poison
holds "a minute that is refused" ship 0 poison
holds "... is told" told "6 windows are lost, 6 of them refused or damaged: objects in \(lost\)/ say so" poison.err
holds "every sum is the store's but that minute's" \
	same "$(python3 tests/e2e/sink_files.py "$objects/profiles/a" 2>&1)" "$left"
holds "... of which an object tells" grep -q '"windows":6,.*"reason":"refused by the sink"' "$objects/profiles/a/(lost)/"*.json
holds "... and which is counted" [ "$(python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
print(*store.execute("SELECT count(*) FROM quarantine WHERE sink=? AND reason LIKE ?",
      (sys.argv[2], "%HTTP status 400, EntityTooLarge: This is EntityTooLarge & no more%")).fetchone())' \
	"$store" "s3://profiles/a?$endpoint")" = 1 ]

# Nothing of it is about the minute: it stays.
stays()
{
	[ "$(find "$objects" -type f | wc -l)" = 0 ] &&
		[ "$(python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
print(*store.execute("SELECT count(*) FROM quarantine WHERE sink=?", (sys.argv[2],)).fetchone())' \
			"$store" "s3://profiles/a?$endpoint")" = 0 ]
}

# refuses FAULT REGEX: it is told, and nothing is given up.
refuses()
{
	serve "$1"
	holds "$1" ship 1 "$1"
	holds "... is told" told "$2; what it has not got yet stays in the store" "$1.err"
	holds "... and nothing is given up" eval 'clean && stays'
}
refuses bucket=other "sink 's3://profiles/a\?endpoint=.*': bucket 'profiles': HTTP status 404, NoSuchBucket: The specified bucket does not exist: make it, or name another one: s3://BUCKET"
refuses deny "HTTP status 403, AccessDenied: Access Denied: the access key of \\\$AWS_ACCESS_KEY_ID needs s3:PutObject there"
refuses skew "RequestTimeTooSkewed: The difference .* too large.: it is 20..-..-..T..:..:..Z there, and was 20......T......Z here: set the clock of this host"
refuses moved "HTTP status 301, PermanentRedirect: .*: the bucket is in region 'eu-west-1', not 'us-east-1': \?region=eu-west-1 in the URL"
refuses region=eu-west-2 "AuthorizationHeaderMalformed: the region 'us-east-1' is wrong: the bucket is in region 'eu-west-2', not 'us-east-1': .*"
refuses html "HTTP status 403: <html>\?\?not here</html>: is that S3, at '127.0.0.1:[0-9]+'\?"
refuses token=abc "InvalidToken: .*: is the access key of \\\$AWS_ACCESS_KEY_ID right, and still valid\?"
kill "$server"
wait "$server" 2>/dev/null
holds "nobody there" ship 1 nobody
holds "... is told" told "sink 's3:.*does the server run, and listen there\?" nobody.err

# --- Regions, keys ---

serve region=eu-west-2
holds "a region of the URL" ship 0 region "s3://profiles/url?region=eu-west-2&$endpoint"
holds "a region of the environment" env AWS_REGION=eu-west-2 "$BUILD/bpfprof" store ship --store "$store" \
	--to "s3://profiles/environment?$endpoint"
holds "... all is there" eval 'clean && is_whole url && is_whole environment'

serve token=abc==
holds "a session token" env AWS_SESSION_TOKEN=abc== "$BUILD/bpfprof" store ship --store "$store" --to "$url"
holds "... all is there" eval 'clean && is_whole'

serve
export AWS_SECRET_ACCESS_KEY=wrong-secret
holds "another secret" ship 1 secret
holds "... is told" told "HTTP status 403, SignatureDoesNotMatch: .*: is the access key of \\\$AWS_ACCESS_KEY_ID right" secret.err
holds "the URL's access key" ship 0 url_key "s3://AKIATEST:a%2Fb+c@profiles/url?$endpoint"
holds "... is not in its name" told "sink 's3://profiles/url\?$endpoint': 120 windows" url_key.err
unset AWS_ACCESS_KEY_ID
holds "half a key" ship 1 half
holds "... is told" told "\\\$AWS_ACCESS_KEY_ID, \\\$AWS_SECRET_ACCESS_KEY and .* one of the first two is missing" half.err
unset AWS_SECRET_ACCESS_KEY
holds "no key" ship 1 no_key
holds "... is told" told "'$tmp/.aws/credentials': No such file or directory: set \\\$AWS_ACCESS_KEY_ID and" no_key.err
mkdir "$tmp/.aws"
printf '[other]\naws_access_key_id = AKIATEST\naws_secret_access_key = a/b+c\n' >"$tmp/.aws/credentials"
holds "a file without the profile" ship 1 profile
holds "... is told" told "profile 'default' is not there, or has no key" profile.err
holds "the profile that is named" env AWS_PROFILE=other "$BUILD/bpfprof" store ship --store "$store" --to "$url"
mv "$tmp/.aws/credentials" "$tmp/keys"
holds "the file that is named" env AWS_PROFILE=other AWS_SHARED_CREDENTIALS_FILE="$tmp/keys" "$BUILD/bpfprof" store ship \
	--store "$store" --to "s3://profiles/file?$endpoint"
holds "... all is there" eval 'clean && is_whole && is_whole file && is_whole url'
holds "no secret was told" bash -c '! grep -qe wrong-secret -e a/b+c -e a%2Fb "$1"/*' _ "$out"

# certify FILE NAME: a certificate and its key, for NAME (subjectAltName).
certify()
{
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -addext "subjectAltName=$2" -days 2 \
		-keyout "$tmp/key.pem" -out "$1" 2>>"$log"
	cat "$1" "$tmp/key.pem" >"$1.both"
}

certify "$tmp/cert.pem" IP:127.0.0.1
serve "tls=$tmp/cert.pem.both"
url=s3://AKIATEST:a%2Fb+c@profiles/a?endpoint=https://127.0.0.1:$port
holds "TLS, by an authority that nobody knows" ship 1 tls
holds "... is told, with the way to name it" told "\?ca=FILE at the end of the URL" tls.err
holds "... and by one that is named" ship 0 tls "$url&ca=$tmp/cert.pem"
holds "... all is there" is_whole

# AWS itself, as a proxy has it that leads to our server.
certify "$tmp/aws.pem" "DNS:*.s3.eu-west-1.amazonaws.com,DNS:s3.eu-west-1.amazonaws.com"
serve region=eu-west-1 "tunnel=$tmp/aws.pem.both"
to_aws="?region=eu-west-1&ca=$tmp/aws.pem"
holds "AWS, where the bucket is a host" env https_proxy="http://127.0.0.1:$port" "$BUILD/bpfprof" store ship \
	--store "$store" --to "s3://AKIATEST:a%2Fb+c@profiles/a$to_aws"
holds "... all is there" eval 'clean && is_whole && [ "$(fact "tunnel%20profiles.s3.eu-west-1.amazonaws.com")" -gt 0 ]'
serve region=eu-west-1 bucket=the.profiles "tunnel=$tmp/aws.pem.both"
holds "AWS, where the bucket's name is none of a host" env https_proxy="http://127.0.0.1:$port" "$BUILD/bpfprof" store ship \
	--store "$store" --to "s3://AKIATEST:a%2Fb+c@the.profiles/a$to_aws"
holds "... all is there" same "$(content "$objects/the.profiles/a")" "$first"

exit $status
