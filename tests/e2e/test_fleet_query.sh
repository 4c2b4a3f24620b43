#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof query and bpfprof serve over a fleet store (Debian's ClickHouse, started here) into which three hosts of known
# content ship: what is answered is what the hosts' own stores answer, whatever was sent twice or not to its end.
# beside others
# timeout: 300
set -u
. tests/e2e/cases.sh
. tests/e2e/clickhouse.sh

if ! have clickhouse-server; then
	skip "the fleet is asked" "no clickhouse-server"
	exit 0
fi
out=$tmp/out
mkdir -p "$out"
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd" build_driver make_store tests/e2e/make_store.c
holds "a server is configured" ch_configure
holds "a server starts" ch_start
[ $status = 0 ] || exit 1
server=clickhouse://127.0.0.1:$ch_port
fleet=$server/fleet
alone=$server/alone

# Minutes after noon, UTC.
at()
{
	date -u -d "@$((1795176000 + 60 * $1))" +%Y-%m-%dT%H:%M:%SZ
}

# asked STATUS NAME STORE VIEW FROM-TO ARG...: the answer for these minutes into out/NAME.
asked()
{
	bpfprof_into "$1" "$2" query "$4" --store "$3" --since "$(at "${5%-*}")" --until "$(at "${5#*-}")" "${@:6}"
}

# table VIEW FROM-TO KIND WHERE BY: printed as JSON, and true of all hosts.
table()
{
	local view=$1 words=()
	[ "$view" = by ] && view=top
	[ -n "$3" ] && words+=(--kind "$3")
	[ -n "$4" ] && words+=(--select "$4")
	[ -n "$5" ] && words+=(--by "$5")
	asked 0 table "$fleet" "$view" "$2" --format json "${words[@]}" &&
		python3 tests/e2e/query_truth.py "$tmp/truth" "$1" "$out/table" "$2" "$3" "$4" "$5"
}

# picture FROM-TO WHERE BY: of samples, and true of all hosts.
picture()
{
	asked 0 picture "$fleet" flame "$1" -o - --select "$2" --by "$3" &&
		python3 tests/e2e/query_truth.py "$tmp/truth" folded "$out/picture" "$1" '' "$2" "$3"
}

# as_local VIEW FROM-TO ARG...: one host's store and the fleet of it alone say the same, to the byte.
as_local()
{
	asked 0 local "$tmp/1.db" "$@" && asked 0 remote "$alone" "$@" && [ -s "$out/local" ] && cmp "$out/local" "$out/remote"
}

sql()
{
	ch_sql default "$1"
}

# samples: rows that lie in the fleet's table, double ones too.
samples()
{
	sql 'SELECT count() FROM fleet.samples'
}

# --- Filled ---
make_hosts()
{
	local nr
	for nr in 1 2 3; do
		"$tmp/make_store" "$tmp/$nr.db" "$tmp/truth.$nr" $nr || return
	done
	cat "$tmp"/truth.[123] >"$tmp/truth"
}
ship()
{
	"$BUILD/bpfprof" store ship --store "$tmp/$1.db" --to "$2"
}
holds "three hosts" make_hosts
holds "a store that is not there yet" bpfprof_into 1 none query top --store "$fleet"
holds "names the remedy" told 'bpfprof store init --store' none.err
holds "the fleet's store" "$BUILD/bpfprof" store init --store "$fleet"
holds "that of one host alone" "$BUILD/bpfprof" store init --store "$alone"
holds "an empty one" bpfprof_into 4 empty query top --store "$fleet"
holds "says so" told 'nothing is stored yet \(do agents ship to it' empty.err
# What is sent twice lies there twice for as long as the server does not merge.
holds "the server is kept from merging" sql 'SYSTEM STOP MERGES'
for nr in 1 2 3; do
	holds "host $nr ships" ship $nr "$fleet"
done
holds "one host ships elsewhere, too" ship 1 "$alone"

# --- As one host ---
while read -r words; do
	# shellcheck disable=SC2086 # words
	holds "as local: $words" as_local $words
done <<'END'
top 0-120
top 0-120 --format json --sort total
top 30-55 --by service,host
top 0-120 --by comm
top 0-120 --sort comm,symbol --format md
top 0-120 --kind off-cpu --value waits
top 0-120 --select comm=[np]*,host=?eta1 --by service
top 0-120 --select service=
top 0-120 --select service=db\,1
labels 0-120
labels 7-8 --format json
labels 0-120 --select service=w*
kinds 0-120
kinds 59-61 --format json
flame 0-120 -o - --by comm
flame 60-120 -o - --by host --select service=web
flame 0-120 -o - --by service,version
diff 60-120
diff 60-70 --format json --select host=alpha1
END

# --- As three ---
tables()
{
	local minutes where by
	for minutes in 0-120 30-55; do
		holds "$1: top of $minutes" table top $minutes '' '' ''
		holds "$1: by host of $minutes" table by $minutes '' '' host
		holds "$1: labels of $minutes" table labels $minutes '' '' ''
		holds "$1: kinds of $minutes" table kinds $minutes '' '' ''
	done
	for where in service=web 'service=w*,host=beta[13]' 'host=alpha1,host=beta2' 'service=,service=batch' 'comm=[np]*,host=?eta2'; do
		holds "$1: top where $where" table top 0-120 '' "$where" ''
		holds "$1: labels where $where" table labels 30-90 '' "$where" ''
	done
	for by in service comm host,service; do
		holds "$1: a service by $by" picture 0-120 service=web $by
		holds "$1: several by $by" picture 30-55 service=w*,service=db* $by
	done
}
tables "once"
holds "folded" asked 0 folded "$fleet" flame 0-120 -o - --by comm
holds "is true" python3 tests/e2e/query_truth.py "$tmp/truth" folded "$out/folded" 0-120
holds "pprof, with all labels" asked 0 pprof "$fleet" flame 0-120 -o "$tmp/fleet.pb.gz"
holds "is read again" bpfprof_into 0 again convert "$tmp/fleet.pb.gz" -o -
holds "and true" python3 tests/e2e/query_truth.py "$tmp/truth" folded "$out/again" 0-120
holds "speedscope" asked 0 speedscope "$fleet" flame 0-120 -o "$tmp/fleet.speedscope.json" --select host=alpha*
asked 0 whole "$fleet" top 60-120
holds "who reported is told" told '180 windows of 3.0 h in sum, by 3 hosts$' whole.err
holds "and the books of all" told '7,920 recorded \+ 0 filtered \+ 0 lost; balanced$' whole.err
asked 0 gaps "$fleet" top 0-120
holds "and what is missing" told 'by 3 hosts; gaps of 30.0 min in sum; 330 samples were dropped .* \(3 tombstones\)$' gaps.err
holds "who has gone is missed" asked 4 late "$fleet" top 121-180
holds "a selection of nothing" asked 4 nothing "$fleet" top 0-120 --select service=nothing
holds "names itself" told "that match 'service=nothing'" nothing.err
holds "an unknown kind" asked 1 kind "$fleet" top 0-120 --kind heap
holds "tells the known ones" told "store '$fleet' has no samples of kind 'heap' \(--kind\); there are: cpu, off-cpu$" kind.err
holds "an unknown label" asked 2 by "$fleet" top 0-120 --by pod
holds "tells the known ones" told "no sample has a label 'pod' \(--by\); there are: comm, host, service$" by.err

# --- Twice, and not to the end ---
double()
{
	local table
	for table in samples batches stacks frames sources kinds; do
		sql "INSERT INTO fleet.$table SELECT * FROM fleet.$table" || return
	done
}
rows=$(samples)
holds "everything is sent twice" double
holds "and lies there twice" [ "$(samples)" = $((2 * rows)) ]
tables "twice"
# A window whose host was cut off before the ledger; its rows are others'.
holds "a window without its ledger row" sql 'INSERT INTO fleet.samples (service, version, kind, h, stack, src, second, host, minute, lead, n, v1, v2, v3, v, unit)
	SELECT service, version, kind, h, stack, src, second + 7, host, minute, lead, n, v1, v2, v3, v, unit FROM fleet.samples'
holds "it lies there" [ "$(samples)" = $((4 * rows)) ]
tables "with what is not complete"
holds "folded, too" asked 0 folded "$fleet" flame 0-120 -o - --by comm
holds "is true" python3 tests/e2e/query_truth.py "$tmp/truth" folded "$out/folded" 0-120

# --- Served ---
# served NAME STORE: bpfprof serve in the background, its address in $url.
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; ch_kill; rm -rf "$tmp"' EXIT
served()
{
	local tries
	"$BUILD/bpfprof" serve --store "$2" --listen 127.0.0.1:0 2>"$out/$1.err" &
	servers+=($!)
	for ((tries = 0; tries < 200; tries++)); do
		url=$(sed -nE 's,.* at (http://[0-9.:]+/)$,\1,p' "$out/$1.err")
		[ -n "$url" ] && return
		sleep 0.1
	done
	cat "$out/$1.err"
	return 1
}
answers()
{
	local code
	code=$(curl -s -m 60 -o "$out/body" -w '%{http_code}' "${url%/}$3")
	echo "$3: $code"
	head -c 1000 "$out/body"
	[ "$code" = "$1" ] && grep -qaE -- "$2" "$out/body"
}
holds "a host's store is served" served local "$tmp/1.db"
local_url=$url
holds "so is the fleet of it" served alone "$alone"
holds "their answers are the same" python3 tests/e2e/fleet_serve.py "$local_url" "$url"
holds "the fleet's store is served" served fleet "$fleet"
holds "without a password in sight" told "serving 'clickhouse://127.0.0.1:[0-9]+/fleet' at" fleet.err
holds "it tells its hosts" answers 200 '"hosts":3,"hosts_known":3,' "/api/coverage?from=1795179600&to=1795183200"
holds "a report of it" answers 200 'CPU|cpu' "/api/profile?format=html&from=1795179600&to=1795183200"
holds "what Grafana asks" python3 tests/e2e/querier_client.py "$url" "$tmp/truth" "$BUILD/bpfprof" "$fleet" brief
holds "a difference" answers 200 '^[^ ]+ [0-9]+ [0-9]+$' \
	"/api/profile?format=folded&from=1795179600&to=1795183200&before_from=1795176000&before_to=1795179600"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
	skip "fleet_browser" "no chromium"
else
	python3 tests/e2e/fleet_browser.py "$chromium" "$url" || status=1
fi

# --- Over a network: 0.0.0.0 leads to this machine as well, and is not known to ---
holds "compressed answers" asked 0 far "clickhouse://0.0.0.0:$ch_port/fleet" flame 0-120 -o - --by comm
holds "are the same" cmp "$out/folded" "$out/far"

# --- Failures ---
refused()
{
	bpfprof_into 1 refused query top --store "$1" && [ ! -s "$out/refused" ] && [ "$(wc -l <"$out/refused.err")" = 1 ] && told "$2" refused.err
}
holds "a wrong password" refused "clickhouse://fleet:wrong@${server#clickhouse://}/fleet" "refuses user 'fleet' .*name another one as USER:PASSWORD@"
holds "is not told" [ "$(grep -c wrong "$out/refused.err")" = 0 ]
holds "the right one" bpfprof_into 0 right query kinds --store "clickhouse://fleet:se%3Acret@${server#clickhouse://}/fleet" \
	--since "$(at 0)" --until "$(at 120)"
holds "is not told either" [ "$(cat "$out"/right* | grep -c -e se:cret -e se%3Acret)" = 0 ]
holds "another database" refused "$server/other" "bpfprof store init --store"
holds "nobody listens" refused "clickhouse://127.0.0.1:1/fleet" "does the server run, and listen there\?$"
holds "no such URL" refused "clickhouse://" "the host is missing"
holds "what is none of ours" refused "clickhouse://${local_url#http://}fleet" "is no ClickHouse|no ClickHouse"
holds "a store that is to be local" bpfprof_into 2 local store sizes --store "$fleet"
holds "the server ends" ch_kill
holds "which is told" answers 503 'does the server run, and listen there\?' "/api/kinds"
holds "once, not to each who asks" answers 503 'does the server run' "/api/kinds"
holds "in the log" [ "$(grep -c 'does the server run' "$out/fleet.err")" -le 4 ]
holds "it comes back" ch_start
holds "and is asked again" answers 200 '"name":"off-cpu"' "/api/kinds?from=1795176000&to=1795183200"

exit $status
