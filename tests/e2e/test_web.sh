#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP side: every route and its errors, profiles on demand and from a store read by go tool pprof, clients that
# mean no good ($GARBAGE_MIB of garbage), unix sockets, tokens, TLS; Prometheus scrapes it.
# timeout: 240
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
mkdir "$out"
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT

# serve NAME OPTION...: the server in the background, its address in $url; 1 when it does not start.
serve()
{
	local name=$1
	shift
	"$tmp/server" "$@" >"$out/$name" 2>"$out/$name.err" &
	server=$!
	children+=("$server")
	for _ in $(seq 100); do
		url=$(sed -n 1p "$out/$name")
		[ -n "$url" ] && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	cat "$out/$name.err"
	return 1
}

stop()
{
	kill "$server" && wait "$server"
}

# answers STATUS REGEX PATH OPTION...: what curl gets; "": nothing.
answers()
{
	local wanted=$1 regex=$2 path=$3 code
	shift 3
	rm -f "$out/body"
	code=$(curl -s -m 20 -D "$out/head" -o "$out/body" -w '%{http_code}' "$@" "${url%/}$path")
	echo "$path: $code"
	cat "$out/head"
	[ "$code" = "$wanted" ] || return
	if [ -z "$regex" ]; then
		[ ! -s "$out/body" ]
		return
	fi
	grep -qaE -- "$regex" "$out/body" && return
	head -c 500 "$out/body"
	return 1
}

headed()
{
	grep -qi -- "^$1" "$out/head"
}

# --- Everything a store and a page have ---

static_routes()
{
	answers 200 '<html' / && headed 'content-security-policy: default-src .none.; script-src .self.' &&
		headed 'x-content-type-options: nosniff' && headed 'referrer-policy: no-referrer' && headed 'cache-control: no-cache' &&
		answers 304 '' / -H "If-None-Match: $(sed -n 's/^ETag: \([^\r]*\).*/\1/ip' "$out/head")" &&
		answers 200 '^ok$' /healthz && headed 'cache-control: no-store' &&
		answers 200 '^bpfprof_build_info{version="test"} 1$' /metrics && headed 'content-type: text/plain; version=0.0.4'
}

index_routes()
{
	answers 200 '^profile ' /debug/pprof/ && answers 200 '<li><a href="/debug/pprof/heap">' /debug/pprof/ -H 'Accept: text/html' &&
		answers 200 'server' /debug/pprof/cmdline && answers 200 '^num_symbols: 1' /debug/pprof/symbol &&
		answers 200 '^num_symbols: 1' /debug/pprof/symbol -d '0x1234+0x5678'
}

errors()
{
	answers 404 'nothing' /nothing && answers 405 'method' /healthz -X DELETE && headed 'allow: GET, HEAD' &&
		answers 405 'method' /api/info -d x && answers 400 '"error":"from: ' '/api/labels?from=x' && headed 'content-type: application/json' &&
		answers 400 '"error":' '/api/profile?format=pdf' && answers 404 'nothing of kind' '/api/functions?kind=none' &&
		answers 400 'pid=' '/debug/pprof/heap?seconds=1' && headed 'x-go-pprof: 1' && headed 'content-type: text/plain' &&
		answers 400 'seconds' '/debug/pprof/profile?seconds=x' && answers 400 'seconds' '/debug/pprof/profile?seconds=100000' &&
		answers 400 'event' '/debug/pprof/profile?seconds=1&event=kprobe:schedule'
}

json_is()
{
	local path=$1
	curl -s -m 20 "${url%/}$path" >"$out/json"
	cat "$out/json"
	python3 -c "import json, sys
answer = json.load(open(sys.argv[1]))
assert $2" "$out/json"
}

# Three windows of 450 samples, 10 and 5 minutes and one minute ago: hot 300, cold 100, disk 50 in each.
api()
{
	json_is /api/info 'answer["kinds"] == ["cpu"] and answer["last"] - answer["first"] > 500000 and answer["version"]' &&
		json_is '/api/kinds?from=-7m' 'answer["kinds"] == [{"name": "cpu", "values": [{"type": "samples", "unit": "count"}], "default": 0, "total": 900}]' &&
		json_is '/api/timeline?from=-15m&by=comm&points=3' '[(one["name"], sum(one["values"])) for one in answer["series"]] == [("app", 1200), ("db", 150)] and answer["step"] == 300000 and answer["unit"] == "count"' &&
		json_is '/api/timeline?function=cold&points=1' 'answer["series"][0]["values"] == [300]' &&
		json_is '/api/labels?select=comm%3Da*' 'answer["labels"][0]["values"] == [{"value": "app", "total": 1200}]' &&
		json_is '/api/functions?search=HO&limit=1' '[(one["name"], one["self"], one["total"]) for one in answer["functions"]] == [("hot", 900, 900)] and answer["total"] == 1350' &&
		json_is '/api/coverage?from=-7m' '(answer["windows"], answer["covered_ms"], answer["recorded"], answer["lost"]) == (2, 20000, 900, 0) and "balanced" in answer["ledger"]'
}

stored_formats()
{
	answers 200 '^app;main;hot 900$' '/api/profile?from=-15m&format=folded' &&
		answers 200 '^app;main;hot 600$' '/debug/pprof/profile?from=-7m&format=folded&select=comm=app' &&
		answers 200 '<svg' '/api/profile?format=svg' && headed 'content-type: image/svg' &&
		answers 200 '<script' '/api/profile' -H 'Accept: text/html' && headed "content-security-policy: default-src .none.; script-src .sha256-" &&
		answers 200 '"shared"' '/api/profile?format=speedscope' && answers 200 '"hot"' '/api/profile?format=json' &&
		answers 200 '^# bpfprof: 0 counted, 1350 in code whose lines are not known' '/api/profile?format=autofdo' &&
		answers 200 . '/api/profile?format=pgo' && headed 'content-disposition: attachment; filename="default.pgo"' &&
		answers 200 '^app;main;hot 300 600$' '/api/profile?format=folded&before_from=-15m&before_to=-7m&from=-7m' &&
		answers 200 '"difference"|html_diff|before' '/api/profile?format=html&before_from=-15m&before_to=-7m&from=-7m'
}

pprof_store()
{
	PPROF_TMPDIR=$tmp go tool pprof -top "${url%/}/debug/pprof/profile?from=-15m" >"$out/top" 2>&1
	cat "$out/top"
	grep -q '900 66.67% 66.67% .* hot$' "$out/top"
}

clients()
{
	local address=${url#*//}
	address=${address%/}
	timeout 100 python3 tests/e2e/web_clients.py "${address%:*}" "${address##*:}" "$1"
}

lean()
{
	grep -E 'VmHWM|Threads' "/proc/$server/status"
	[ "$(awk '/VmHWM/ { print $2 }' "/proc/$server/status")" -lt 200000 ]
}

falls_sick()
{
	kill -USR1 "$server"
	answers 503 'told to be sick' /healthz
}

# --- On demand ---

# As go tool pprof does it, which gives up after a second and a half.
pprof_live()
{
	PPROF_TMPDIR=$tmp go tool pprof -top "${url%/}/debug/pprof/profile?seconds=2&pid=$load" >"$out/live" 2>&1
	head -n 12 "$out/live"
	grep -v bpfprof- "$out/live" | grep -q '[0-9]% .* hot_function$'
}

# The programs that record for the server
recorders()
{
	pgrep -P "$server" -f 'bpfprof record' | wc -l
}

waits_for_recorders()
{
	for _ in $(seq 100); do
		[ "$(recorders)" = "$1" ] && return
		sleep 0.05
	done
	echo "there are $(recorders)"
	return 1
}

# Two record, a third is told to come back; when the clients go, so do the recordings.
too_many()
{
	local one two code=0
	curl -s -m 60 -o "$out/one" "${url%/}/debug/pprof/profile?seconds=20" &
	one=$!
	curl -s -m 60 -o "$out/two" "${url%/}/debug/pprof/block?seconds=20" &
	two=$!
	waits_for_recorders 2 && answers 503 'too many|under way' '/debug/pprof/profile?seconds=1' && headed 'retry-after: ' || code=1
	kill "$one" "$two"
	wait "$one" "$two"
	waits_for_recorders 0 && return $code
}

live_formats()
{
	answers 200 'hot_function' "/debug/pprof/profile?seconds=4&pid=$load&hz=199&format=folded" &&
		answers 200 '<script' "/debug/pprof/profile?seconds=4&pid=$load" -H 'Accept: text/html' &&
		answers 200 'nanosleep|clock_nanosleep' '/debug/pprof/block?seconds=4&comm=sleeper&format=folded' &&
		answers 200 '' '/debug/pprof/mutex?seconds=4&comm=sleeper&format=folded' &&
		answers 200 'futex_wait' '/debug/pprof/mutex?seconds=4&comm=locker&format=folded'
}

ends_recordings()
{
	curl -s -m 60 -o "$out/one" "${url%/}/debug/pprof/profile?seconds=30" &
	waits_for_recorders 1 && child=$(pgrep -P "$server" -f 'bpfprof record') && stop && ! kill -0 "$child" 2>/dev/null
}

# --- Who may come near ---

refuses()
{
	timeout 10 "$tmp/server" "${@:2}" >"$out/refused" 2>&1 && return 1
	cat "$out/refused"
	[ "$(wc -l <"$out/refused")" = 1 ] && grep -q -- "$1" "$out/refused"
}

unix_socket()
{
	local sock=$tmp/web.sock
	serve unix -l "unix:$sock" && [ "$(stat -c %a "$sock")" = 600 ] && url=http://localhost/ && answers 200 ok /healthz --unix-socket "$sock" &&
		refuses 'Address already in use' -l "unix:$sock" && kill -KILL "$server" && ! wait "$server" && [ -S "$sock" ] &&
		serve again -l "unix:$sock" && url=http://localhost/ && answers 200 ok /healthz --unix-socket "$sock" && stop && [ ! -e "$sock" ] &&
		echo precious >"$sock" && refuses 'no socket of ours' -l "unix:$sock" && grep precious "$sock" &&
		ln -sf /nowhere "$tmp/link" && refuses 'no socket of ours' -l "unix:$tmp/link" && [ -L "$tmp/link" ]
}

token()
{
	echo 0123456789abcdef0123 >"$tmp/token"
	chmod 644 "$tmp/token"
	refuses 'chmod 600' -t "$tmp/token" || return
	chmod 600 "$tmp/token"
	serve token -t "$tmp/token" -s "$tmp/store.db" || return
	answers 401 'token' /healthz && headed 'www-authenticate: Bearer' && answers 401 'token' /api/info -H 'Authorization: Bearer 0123456789abcdef0124' &&
		answers 401 'token' /nothing && answers 200 '<html' / && answers 200 ok /healthz -H 'Authorization: Bearer 0123456789abcdef0123' &&
		answers 200 ok /healthz -u any:0123456789abcdef0123 && answers 401 'token' /healthz -u any:
}

tls()
{
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key.pem" -out "$tmp/cert.pem" -days 2 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1 2>&1 | tail -n 2
	chmod 600 "$tmp/key.pem"
	refuses 'certificate and its key' -c "$tmp/cert.pem" || return
	serve tls -c "$tmp/cert.pem" -k "$tmp/key.pem" && [ "${url%%:*}" = https ] && answers 200 ok /healthz --cacert "$tmp/cert.pem" &&
		! answers 200 ok /healthz --cacert "$tmp/cert.pem" --tls-max 1.1 && answers 200 ok /healthz --cacert "$tmp/cert.pem" && stop
}

wide_addresses()
{
	refuses 'token-file.*tls-cert' -l 0.0.0.0:0 && refuses 'token-file' -l '[::]:0' -t "$tmp/token" &&
		refuses 'no address' -l example.org:80 && refuses 'cannot be started' -c "$tmp/token" -k "$tmp/key.pem"
}

prometheus_scrapes()
{
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	printf 'global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: bpfprof\n  static_configs: [{targets: ["%s"]}]\n' \
		"$(echo "$url" | sed 's,.*//,,; s,/,,')" >"$tmp/prometheus.yml"
	prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/prometheus" --web.listen-address="127.0.0.1:$port" \
		>"$out/prometheus" 2>&1 &
	children+=($!)
	for _ in $(seq 60); do
		curl -s -m 5 "http://127.0.0.1:$port/api/v1/query?query=bpfprof_build_info" >"$out/query"
		grep -q '"version":"test".*"1"' "$out/query" && return
		sleep 0.5
	done
	cat "$out/query"
	tail -n 5 "$out/prometheus"
	return 1
}

# --- Programs and data ---

LDFLAGS="${LDFLAGS:-} -lmicrohttpd -lsqlite3 -lzstd -lm"
build_driver server tests/e2e/web_server.c
build_driver maker tests/e2e/web_store.c
printf 'app;main;hot 300\napp;main;cold 100\ndb;main;disk 50\n' >"$tmp/known.folded"
holds "a store is made" "$tmp/maker" "$tmp/store.db" "$tmp/known.folded" 600 300 60
holds "the server starts" serve main -s "$tmp/store.db" -p "$BUILD/bpfprof"
[ $status = 0 ] || exit 1

holds "page, health and metrics, with what protects them" static_routes
holds "the index of pprof, symbols, the command line" index_routes
holds "errors have their status and form" errors
holds "the API tells what is in the store" api
holds "profiles and differences from the store in every format" stored_formats
if have go; then
	holds "go tool pprof reads the store" pprof_store
else
	skip "go tool pprof" "no go"
fi
holds "200 clients at once" clients crowd
holds "a report is sent in pieces" clients pieces
holds "paths that are none and heads that are too long" clients tricks
holds "${GARBAGE_MIB:-64} MiB of garbage" clients garbage
holds "who sends byte by byte is hung up on, nobody waits for them" clients slow
holds "it has stayed small" lean
if have prometheus; then
	holds "Prometheus scrapes it" prometheus_scrapes
else
	skip "Prometheus" "not installed"
fi

if [ "$(id -u)" = 0 ]; then
	printf '%s\n' '__attribute__((noinline)) unsigned long hot_function(unsigned long n)' \
		'{ volatile unsigned long sum = 0; while (n--) sum += n; return sum; }' \
		'int main(void) { for (;;) hot_function(1000000); }' >"$tmp/load.c"
	printf '%s\n' '#include <unistd.h>' 'int main(void) { for (;;) usleep(1000); }' >"$tmp/sleeper.c"
	printf '%s\n' '#include <linux/futex.h>' '#include <sys/syscall.h>' '#include <time.h>' '#include <unistd.h>' \
		'int word; struct timespec brief = {0, 2000000};' \
		'int main(void) { for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, &brief, 0, 0); }' >"$tmp/locker.c"
	holds "a load is built" cc -O2 -g -o "$tmp/load" "$tmp/load.c"
	holds "a sleeper is built" cc -O2 -g -o "$tmp/sleeper" "$tmp/sleeper.c"
	holds "a locker is built" cc -O2 -g -o "$tmp/locker" "$tmp/locker.c"
	"$tmp/load" &
	load=$!
	"$tmp/sleeper" &
	children+=("$load" $!)
	"$tmp/locker" &
	children+=($!)
	have go && holds "go tool pprof records" pprof_live
	holds "what is recorded comes in other formats, waits too" live_formats
	holds "a third recording is refused, who hangs up has nothing recorded" too_many
	holds "when the server ends, its recordings do" ends_recordings
	holds "a server again" serve after -s "$tmp/store.db"
else
	skip "recordings on demand" "need root"
fi
holds "who is not well says why" falls_sick
holds "it stops" stop

holds "a unix socket is for us alone, and takes nobody's place" unix_socket
holds "a token is asked for" token
holds "TLS" tls
holds "wide addresses need both" wide_addresses
exit $status
