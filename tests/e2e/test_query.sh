#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof query and bpfprof store, on a store of known content: every number that is printed is compared.
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
store=$tmp/store.db
truth=$tmp/truth
mkdir -p "$out"
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd" build_driver make_store tests/e2e/make_store.c
holds "a store is made" "$tmp/make_store" "$store" "$truth"
bpfprof=$BUILD/bpfprof

# Minutes after noon, UTC.
at()
{
	date -u -d "@$((1795176000 + 60 * $1))" +%Y-%m-%dT%H:%M:%SZ
}

# asked STATUS NAME VIEW FROM-TO ARG...: the answer for these minutes into out/NAME.
asked()
{
	bpfprof_into "$1" "$2" query "$3" --store "$store" --since "$(at "${4%-*}")" --until "$(at "${4#*-}")" "${@:5}"
}

agrees()
{
	python3 tests/e2e/query_truth.py "$truth" "$@"
}

# table VIEW FROM-TO KIND WHERE BY: printed as JSON, and true.
table()
{
	local view=$1 words=()
	[ "$view" = by ] && view=top
	[ -n "$3" ] && words+=(--kind "$3")
	[ -n "$4" ] && words+=(--select "$4")
	[ -n "$5" ] && words+=(--by "$5")
	asked 0 table "$view" "$2" --format json "${words[@]}" && agrees "$1" "$out/table" "$2" "$3" "$4" "$5"
}

told_both()
{
	told "$1" "$3" && told "$2" "$3"
}

equal()
{
	printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"
	[ "$1" = "$2" ]
}

# --- Tables ---
for minutes in 0-120 0-60 60-120 59-61 7-8 30-55 0-40 119-300; do
	holds "top of $minutes" table top $minutes '' '' ''
	holds "by service of $minutes" table by $minutes '' '' service
	holds "labels of $minutes" table labels $minutes '' '' ''
	holds "kinds: of $minutes" table kinds $minutes '' '' ''
done
holds "another kind" table top 0-120 off-cpu '' ''
holds "by two labels" table by 0-120 '' '' service,host
holds "by a label of harmful values" table by 0-120 '' '' comm
holds "labels of another kind" table labels 0-120 off-cpu '' ''
holds "some labels" table labels 0-120 '' '' host,service
for where in service=web 'service=w*' 'service=web,host=beta' 'host=alpha,host=beta' 'service=' 'service=,service=batch' \
	'service=db\,1' 'comm=[np]*,host=?eta' 'service=*'; do
	holds "top where $where" table top 0-120 '' "$where" ''
	holds "labels where $where" table labels 30-90 '' "$where" ''
done
holds "several --select add up, --where is the same" asked 0 several top 0-120 --format json --select service=web --where host=beta
holds "as one list would" agrees top "$out/several" 0-120 '' service=web,host=beta
holds "--limit" asked 0 limit top 0-120 --limit 2 --sort total --format json
holds "is a limit" equal "$(grep -c '"self"' "$out/limit")" 2
holds "labels --limit" asked 0 limit labels 0-120 --limit 1
holds "tells how many more" told '^ +\.\.\. and 3 more \(--limit\)$' limit
holds "as text" asked 0 text top 0-120
holds "with the head of a report" told_both '^total +18\.70 s$' '^ *36\.90% +6\.90 s +36\.90% +6\.90 s  parse$' text
holds "another value" asked 0 samples top 0-120 --value samples
holds "is counted" told '^total +1870$' samples
holds "--sort by keys" asked 0 keys top 60-61 --sort comm,symbol --format md
holds "has them" told '^\|  40.91%  *90.00 ms \|  40.91%  *90.00 ms \| `nginx` \| `parse` \|$' keys

# --- Summary ---
holds "what is missing is told" told_both '2026-11-20 12:00 to 14:00 UTC: 110 windows of 110.0 min in sum; gaps of 10.0 min in sum; 110 samples were dropped or could not be stored \(1 tombstone\)$' \
	'ledger: 1,870 ran of 1,870 ticks .* = 1,870 recorded \+ 0 filtered \+ 0 lost; balanced$' text.err
asked 0 edges top 110-150
holds "so is a range that reaches beyond" told '10 windows of 10.0 min in sum; nothing in the last 30.0 min$' edges.err
asked 0 whole top 60-120
holds "nothing is missing of a whole one" told '2026-11-20 13:00 to 14:00 UTC: 60 windows of 60.0 min in sum$' whole.err
asked 0 quiet top 60-120 -q
holds "-q says nothing" [ ! -s "$out/quiet.err" ]

# --- Flame graphs and other formats ---
holds "folded" asked 0 folded flame 0-120 -o -
holds "every stack has its value" agrees folded "$out/folded" 0-120
holds "folded, selected, by service" asked 0 service flame 60-120 -o - --by service --select service=web
holds "the first frame is the label" agrees folded "$out/service" 60-120 '' service=web service
holds "files" asked 0 files flame 0-120 --select 'service=web*' -o "$tmp/a.svg" -o "$tmp/a.html" -o "$tmp/a.pb.gz" -o "$tmp/a.json"
holds "are named" told "wrote $tmp/a.svg, $tmp/a.html, $tmp/a.pb.gz, $tmp/a.json$" files.err
cp "$tmp/a.svg" "$tmp/a.html" "$out"
for page in a.svg a.html; do
	holds "$page: host, range and selection are its title" told 'CPU flame graph: alpha, beta, 2026-11-20 12:00 to 14:00 UTC, service=web\*' $page
done
holds "pprof is read again" bpfprof_into 0 again convert "$tmp/a.pb.gz" -o -
holds "and has the same stacks" agrees folded "$out/again" 0-120 '' service=web
holds "and the ledger of the range" bpfprof_into 0 report report --stdio "$tmp/a.pb.gz"
holds "which balances" told '^ledger: 1,870 ran of 1,870 ticks.*; balanced$' report
holds "nothing is overwritten" asked 1 over flame 0-120 -o "$tmp/a.svg"
holds "which is said" told "a.svg' exists already \(--force replaces it\)$" over.err
holds "but with --force, and a title" asked 0 force flame 0-120 -o "$tmp/a.svg" --force --title 'Mine & yours'
cp "$tmp/a.svg" "$out"
holds "the title is ours" told 'Mine &amp; yours' a.svg
(cd "$tmp" && mkdir -p here && cd here && "$bpfprof" query flame --store "$store" --since "$(at 0)" --until "$(at 1)" -q)
holds "a name of its own" equal "$(ls "$tmp/here")" bpfprof-20261120T120000Z.html

# --- Differences ---
holds "the hour before is what is compared with" asked 0 hours diff 60-120 --format json
holds "both sides are true" agrees diff "$out/hours" 0-60,60-120
holds "another range before" asked 0 days diff 60-70 --before-since "$(at 10)" --format json
holds "of the same length" agrees diff "$out/days" 10-20,60-70
holds "and another end" asked 0 ends diff 60-70 --before-since "$(at 0)" --before-until "$(at 5)" --format json --select host=alpha
holds "is of that length" agrees diff "$out/ends" 0-5,60-70 '' host=alpha
holds "--fail-above" asked 1 grown diff 60-120 --fail-above 50
holds "tells what grew" told_both 'regression: everything together \+140.00 % of all' 'regression: parse \+70.91 % of all \(\+260.0 % of itself\)' grown.err
holds "files of a difference" asked 0 files diff 60-120 -o "$tmp/d.svg" -o "$tmp/d.folded" --normalize
holds "two columns, scaled to the total before" grep -q '^nginx;main;handle;parse 1500000000 2250000000$' "$tmp/d.folded"
holds "ranges that overlap are refused" asked 2 overlap diff 60-70 --before-since "$(at 55)" --before-until "$(at 65)"
holds "--before-select: other samples of the same range" asked 0 hosts diff 60-120 --format json --by none --select host=alpha --before-select host=beta
holds "are those of each side" agrees diff "$out/hosts" 60-120,60-120 '' 'host=beta||host=alpha'
holds "and are named" told '"name":"2026-11-20 13:00 to 14:00 UTC, host=beta"' hosts
holds "of another range" asked 0 hosts diff 60-120 --format json --by none --select host=alpha --before-select host=beta --before-since "$(at 0)"
holds "too" agrees diff "$out/hosts" 0-60,60-120 '' 'host=beta||host=alpha'
holds "regressions" asked 0 grown regressions 60-120 --format json
holds "are what a test of proportions finds" agrees regressions "$out/grown" 0-60,60-120
holds "of a service" asked 0 grown regressions 60-120 --format json --select 'service=web' --by none
holds "are its own" agrees regressions "$out/grown" 0-60,60-120 '' service=web
holds "of what did not change" asked 0 grown regressions 90-120
holds "there are none" told '^No function grew significantly\.$' grown
holds "one side without samples" asked 4 empty diff 0-60
holds "is said" told "no samples of kind 'cpu' from 2026-11-20 11:00 to 12:00 UTC; it has some from 2026-11-20 12:00 to 14:00 UTC$" empty.err

# --- Nothing there ---
for view in top labels kinds; do
	holds "$view in a gap" asked 4 gap $view 40-50
	holds "what there is is said" told 'no samples of kind .cpu. from 2026-11-20 12:40 to 12:50 UTC; it has some from 2026-11-20 12:00 to 14:00 UTC; 110 samples were dropped' gap.err
done
holds "a flame graph of nothing" asked 4 gap flame 40-50 -o "$tmp/gap.svg" -o "$tmp/gap.pb.gz"
cp "$tmp/gap.svg" "$out"
holds "is a file that says why" told 'no samples of kind .*cpu.* from 2026-11-20 12:40 to 12:50 UTC' gap.svg
holds "a profile of nothing is one" bpfprof_into 0 nothing report --stdio "$tmp/gap.pb.gz"
holds "a selection of nothing" asked 4 selected top 0-120 --select service=nothing
holds "names itself" told "that match 'service=nothing' \(bpfprof query labels" selected.err
holds "an unknown kind" asked 1 kind top 0-120 --kind heap
holds "tells the known ones" told "no samples of kind 'heap' \(--kind\); there are: cpu, off-cpu$" kind.err
holds "an unknown label" asked 2 by top 0-120 --by pod
holds "tells the known ones" told "no sample has a label 'pod' \(--by\); there are: comm, host, service$" by.err
holds "an unknown value" asked 1 value top 0-120 --value bytes
holds "the last hour" bpfprof_into 4 now query top --store "$store"

# --- Harm ---
asked 0 harm top 0-120
asked 0 harm_labels labels 0-120
asked 0 harm_md labels 0-120 --format md
holds "no control byte is printed" [ "$(cat "$out"/harm* | tr -d '\n' | grep -c '[[:cntrl:]]')" = 0 ]
holds "a cell of a table stays one" [ "$(grep '`comm`' "$out/harm_md" | sed 's/\\|//g' | awk -F'|' '{ print NF }' | sort -u)" = 5 ]

# --- Files that are no store ---
refused()
{
	bpfprof_into 1 refused query top --store "$1" && told "$2" refused.err && [ "$(wc -l <"$out/refused.err")" = 1 ] &&
		[ ! -s "$out/refused" ]
}
head -c 8192 /dev/zero | tr '\0' 'x' >"$tmp/text.db"
: >"$tmp/none.db"
head -c 60 "$store" >"$tmp/head.db"
head -c 30000 "$store" >"$tmp/half.db"
mkfifo "$tmp/fifo.db"
python3 - "$tmp" "$store" <<'END'
import shutil, sqlite3, sys
tmp, store = sys.argv[1:]
other = sqlite3.connect(tmp + "/other.db")
other.execute("CREATE TABLE window(seq)")
other.commit()
shutil.copy(store, tmp + "/newer.db")
newer = sqlite3.connect(tmp + "/newer.db")
newer.execute("PRAGMA user_version=99")
newer.commit()
empty = sqlite3.connect(tmp + "/older.db")
empty.execute("PRAGMA user_version=0")
empty.execute("VACUUM")
empty.commit()
END
holds "no store" refused "$tmp/nowhere.db" "no store at '$tmp/nowhere.db': is the agent running\? \(bpfprof agent; --store FILE"
holds "a folder" refused "$tmp" "is a folder: name the file in it$"
holds "text" refused "$tmp/text.db" "is no store, or its first page is damaged"
holds "an empty file" refused "$tmp/none.db" "is no store, or its first page is damaged"
holds "cut in its first page" refused "$tmp/head.db" "is no store, or its first page is damaged|head.db.: the file is damaged"
holds "cut in the middle" refused "$tmp/half.db" "half.db'"
holds "a FIFO" refused "$tmp/fifo.db" "is no regular file"
holds "a device" refused /dev/zero "is no regular file"
holds "another program's database" refused "$tmp/other.db" "is another program's database"
holds "a newer one" refused "$tmp/newer.db" "was made by a newer bpfprof \(version 99; this is [0-9]+\)"
holds "an older one" refused "$tmp/older.db" "is of an older version \(0; this is [0-9]+\): bpfprof store migrate --store $tmp/older.db$"
holds "a fleet store that nobody serves" bpfprof_into 1 fleet query top --store clickhouse://127.0.0.1:1/x
holds "is named" told "^bpfprof: store 'clickhouse://127.0.0.1:1/x': .*does the server run" fleet.err
holds "sqlite: before the name" bpfprof_into 0 scheme query kinds --store "sqlite:$store" --since "$(at 0)" --until "$(at 120)"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp" && mkdir "$tmp/closed" && cp "$store" "$tmp/closed/store.db" && chmod 600 "$tmp/closed/store.db" &&
		cp "$bpfprof" "$tmp/bpfprof" && chmod 755 "$tmp/closed" "$tmp/bpfprof"
	as_nobody()
	{
		setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/bpfprof" query kinds --store "$1" --since "$(at 0)" --until "$(at 120)" \
			>"$out/nobody" 2>"$out/nobody.err"
		[ $? = "$2" ]
	}
	holds "another user's" as_nobody "$tmp/closed/store.db" 1
	holds "is said in one line" told_both "closed/store.db': this user may not read it \(sudo bpfprof" '^bpfprof: ' nobody.err
	chmod 644 "$tmp/closed/store.db"
	holds "whom it is opened to reads it in a folder that is not his" as_nobody "$tmp/closed/store.db" 0
	holds "all of it" told '18.70 s  cpu' nobody
fi

# --- store ---
holds "init" bpfprof_into 0 init store init --store "$tmp/new.db"
holds "an empty one has nothing" bpfprof_into 4 new query top --store "$tmp/new.db"
holds "and says so" told 'nothing is stored yet \(is the agent running' new.err
holds "init leaves a file alone" bpfprof_into 1 init store init --store "$store"
holds "whatever it is" bpfprof_into 1 init store init --store "$tmp/text.db"
holds "init in no folder" bpfprof_into 1 init store init --store "$tmp/no/such.db"
holds "migrate has nothing to do" bpfprof_into 0 migrate store migrate --store "$store"
holds "migrate brings one up" bpfprof_into 0 migrate store migrate --store "$tmp/older.db"
holds "which then is a store" bpfprof_into 4 older query top --store "$tmp/older.db"
for file in text none other newer; do
	cp "$tmp/$file.db" "$tmp/$file.was"
	holds "migrate refuses $file.db" bpfprof_into 1 migrate store migrate --store "$tmp/$file.db"
	holds "and leaves it as it was" cmp "$tmp/$file.db" "$tmp/$file.was"
done
holds "nothing was put aside" [ -z "$(find "$tmp" -name '*.damaged*')" ]
holds "fsck" bpfprof_into 0 fsck store fsck --store "$store"
holds "it is whole" told "is whole: 110 windows, 830 rows, 2920 samples, $(stat -c %s "$store") bytes$" fsck.err
holds "sizes" bpfprof_into 0 sizes store sizes --json --store "$store"
sizes()
{
	python3 - "$out/sizes" "$store" <<'END'
import json, os, sys
told = json.load(open(sys.argv[1]))
print(told)
kinds = {kind["kind"]: (kind["rows"], kind["samples"]) for kind in told["kinds"]}
assert told["file_bytes"] == os.stat(sys.argv[2]).st_size and told["windows"] == 110
assert kinds == {"cpu": (610, 1870), "off-cpu": (220, 1050)}
assert sum(kind["bytes"] for kind in told["kinds"]) + told["ledger_bytes"] + told["dictionary_bytes"] < told["file_bytes"]
END
}
holds "are those of the file" sizes
# A batch whose bytes are others: found, and left out of what is read.
python3 - "$store" "$tmp/damaged.db" <<'END'
import shutil, sqlite3, sys
shutil.copy(*sys.argv[1:])
store = sqlite3.connect(sys.argv[2])
blob = bytearray(store.execute("SELECT blob FROM batch WHERE id=5").fetchone()[0])
blob[len(blob) // 2] ^= 0x55
store.execute("UPDATE batch SET blob=? WHERE id=5", (bytes(blob),))
store.commit()
END
holds "damage is found" bpfprof_into 1 fsck store fsck --store "$tmp/damaged.db"
holds "a line for each finding" [ "$(wc -l <"$out/fsck")" -ge 1 ]
holds "and their number" told "$(wc -l <"$out/fsck") findings? in 110 windows" fsck.err
holds "what is whole is read" bpfprof_into 0 damaged query top --store "$tmp/damaged.db" --since "$(at 0)" --until "$(at 120)"
holds "and the rest told" told '; 1 parts are damaged and left out' damaged.err

# --- Beside a writer ---
# consistent: the sum is that of the windows that the summary counts: 220 ms each.
consistent()
{
	bpfprof_into 0 live query top --store "$store" --since "$(at 180)" --until "$(at 600)" --format json || return 1
	local windows sum
	windows=$(sed -n 's/.* UTC: \([0-9]*\) window.*/\1/p' "$out/live.err")
	sum=$(sed -n 's/.*"total":\([0-9]*\),"duration_s".*/\1/p' "$out/live")
	echo "$windows windows, $sum ns"
	[ "$sum" = $((windows * 2 * 110000000)) ] && seen="$seen $windows"
}
beside()
{
	local i
	seen=
	"$tmp/make_store" "$store" - 150 >"$tmp/ready" &
	writer=$!
	for ((i = 0; i < 100; i++)); do
		[ -s "$tmp/ready" ] && break
		sleep 0.05
	done
	for ((i = 0; i < 12; i++)); do
		consistent || break
		sleep 0.1
	done
	wait $writer || return 1
	[ $i = 12 ] && [ "$(printf '%s\n' $seen | sort -n | tr '\n' ' ')" = "$(printf '%s\n' $seen | tr '\n' ' ')" ] &&
		[ "$(printf '%s\n' $seen | sort -u | wc -l)" -gt 1 ]
}
holds "beside a writer whole windows are read, more each time" beside
holds "what was there before is as it was" table top 0-120 '' '' ''

exit $status
