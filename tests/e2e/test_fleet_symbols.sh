#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names for a fleet of stripped programs: an agent records them and ships addresses into ClickHouse (Debian's, started
# here), debug files are elsewhere, and store symbolize writes what they say. It may be killed at any moment and run
# again, and no sample changes.
# timeout: 200
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/clickhouse.sh
. tests/e2e/stripped.sh

have clickhouse-server || { skip "symbols of a fleet" "no clickhouse-server"; exit 0; }
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD
out=$TMPDIR/out
store=$TMPDIR/store.db
pins=/sys/fs/bpf/bpfprof-symbols-$$
# shellcheck disable=SC2154 # of clickhouse.sh
trap '"$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; ch_kill; stop_loads; rm -rf "$tmp"' EXIT
strip_programs chain crunch
ch_configure || exit 1
check "a server begins" ch_start
[ $status = 0 ] || exit 1
fleet=clickhouse://127.0.0.1:$ch_port/fleet

store()
{
	bpfprof_into "$1" store store "$2" --store "$fleet" "${@:3}"
}

# sums: of the samples, and how many rows they are.
sums()
{
	ch_sql fleet 'SELECT sum(n), sum(v1 + n * unit), sum(v2), count() FROM samples FINAL'
	ch_sql fleet 'SELECT count(), sum(n) FROM samples'
}

# has NAME FRAMES: out/NAME.folded has that path.
has()
{
	grep -q -- "$2" "$out/$1.folded" && return
	head "$out/$1.folded"
	return 1
}

whole='main;chain::drive(chain::crank&, unsigned long);chain::crank::wind(unsigned long);unsigned long chain::turn<3u>('
# --- Recorded ---
since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
check "an agent records stripped programs" record
until=$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)
flame "$store" home pb.gz
check "a profile of them is completed by debug files" "$bpfprof" symbolize "$out/home.pb.gz" --debug-dir "$debug" \
	-o "$out/truth.folded"
check "... with inlined calls" has truth "$whole"
check "... of C, too" has truth ';main;crunch;crunch_inlined '
check "a fleet's store" store 0 init
check "into which the agent's is shipped" "$bpfprof" store ship --store "$store" --to "$fleet"
sums >"$out/sums"
flame "$fleet" before
check "addresses are there" has before ';\[chain+0x[0-9a-f]*\];\[chain+0x[0-9a-f]*\] '
check "names are not" bash -c '! grep -q "drive\|crunch_inlined" "$1"' _ "$out/before.folded"

# --- Not there ---
check "nobody has debug files" store 0 symbolize
check "... which is said of each program" \
	[ "$(grep -cE '^no_lines +[1-9][0-9]* frames  [0-9a-f]{40}  .*/bin/(chain|crunch)$' "$out/store")" = 2 ]
check "... and remembered" \
	[ "$(ch_sql fleet "SELECT count() FROM modules FINAL WHERE why = 'no_lines' AND match(path, 'bin/(chain|crunch)$')")" = 2 ]
flame "$fleet" still
check "... names are missing still" cmp "$out/before.folded" "$out/still.folded"

# --- Killed ---
# killed COUNT: jobs at any moment, once the server.
killed()
{
	local nr pid
	for ((nr = 0; nr < $1; nr++)); do
		"$bpfprof" store symbolize --store "$fleet" --debug-dir "$debug" >/dev/null &
		pid=$!
		sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
		if [ $nr = 2 ]; then
			ch_kill
			ch_start || return
		fi
		kill -9 $pid
		wait $pid
	done
	return 0
}
check "jobs that look for them are killed, and the server" killed 5
check "one comes to its end" store 0 symbolize --debug-dir "$debug"
check "... and says what it did" told 'frames that lacked names or lines got some; [0-9]+ files, ' store.err
check "all names are there, as at home" as_at_home "$fleet" after
rows=$(ch_sql fleet 'SELECT count() FROM frames FINAL')
check "another one" store 0 symbolize --debug-dir "$debug"
check "... has nothing to do for them" bash -c '! grep -q "/bin/chain\|/bin/crunch" "$1"' _ "$out/store"
check "... and adds nothing" [ "$(ch_sql fleet 'SELECT count() FROM frames FINAL')" = "$rows" ]
check "... which is remembered" \
	[ "$(ch_sql fleet "SELECT count() FROM modules FINAL WHERE why = '' AND match(path, 'bin/(chain|crunch)$')")" = 2 ]
check "samples are what they were" diff "$out/sums" <(sums)
check "fsck finds nothing" store 0 fsck
check "what a host without names says again" [ -z "$(ch_sql fleet "INSERT INTO frames SELECT day, frame, flags, path, build_id,
	address, [], [], [], [], [], 0 FROM frames FINAL WHERE build_id != ''")" ]
check "... hides none" as_at_home "$fleet" again

# --- From a debuginfod server ---
fourth=clickhouse://127.0.0.1:$ch_port/fourth
# asking: of what is on no disk here, and once.
asking()
{
	: >"$TMPDIR/server/requests"
	echo ok >"$TMPDIR/server/mode"
	load python3 tests/e2e/debuginfod_server.py "$TMPDIR/server"
	for _ in $(seq 100); do
		[ -s "$TMPDIR/server/port" ] && break
		sleep 0.05
	done
	DEBUGINFOD_CACHE_PATH=$TMPDIR/cache DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$TMPDIR/server/port") \
		bpfprof_into 0 store store symbolize --store "$fourth"
}
check "a store beside a debuginfod server" "$bpfprof" store init --store "$fourth"
check "... with the same samples" "$bpfprof" store ship --store "$store" --to "$fourth"
check "names come from the server" asking
flame "$fourth" asked
check "... as at home" diff "$out/truth.folded" "$out/asked.folded"

# --- Uploaded ---
# uploads REGEX: of a stripped program and of a debug file.
uploads()
{
	"$bpfprof" store upload --store "$other" --debug-dir "$debug" "$TMPDIR/bin/chain" "$debug"/.build-id/*/crunch.debug \
		>"$out/upload" 2>&1
	local code=$?
	cat "$out/upload"
	[ $code = 0 ] && [ "$(grep -cE "bin/chain'.*$1|crunch.debug'.*$1" "$out/upload")" = 2 ]
}
other=clickhouse://127.0.0.1:$ch_port/other
check "another fleet's store" "$bpfprof" store init --store "$other"
check "... with the same samples" "$bpfprof" store ship --store "$store" --to "$other"
check "symbols of two builds are uploaded" uploads 'are uploaded, [1-9][0-9]* bytes$'
check "... once" uploads 'are there already$'
check "... no code with them" [ "$(ch_sql other 'SELECT count(), sum(chunks) FROM symbol_tables FINAL WHERE chunks > 0')" = "2	2" ]
check "names are made of them" bpfprof_into 0 store store symbolize --store "$other"
check "... all that debug files would give" bash -c '! grep "/bin/chain\|/bin/crunch" "$1"' _ "$out/store"
flame "$other" uploads
check "... as at home" diff "$out/truth.folded" "$out/uploads.folded"

# --- Asked for ---
third=clickhouse://127.0.0.1:$ch_port/third
# uploading: an agent that may upload, on a host that has both programs with their symbols.
uploading()
{
	local code
	make_whole
	timeout -k 5 60 "$bpfprof" agent --store "$TMPDIR/other.db" --pin-dir none --no-off-cpu -F 19 --listen none \
		--sink "$third" "$@" 2>"$out/uploading.err" &
	local agent=$!
	# Other programs that run here may have symbols, too.
	for _ in $(seq 400); do
		[ "$(grep -cE "/bin/(chain|crunch)' .* uploaded, " "$out/uploading.err")" = 2 ] && break
		kill -0 "$agent" 2>/dev/null || break
		sleep 0.1
	done
	kill -TERM "$agent"
	wait "$agent"
	code=$?
	cat "$out/uploading.err"
	return $code
}
check "a third store" "$bpfprof" store init --store "$third"
check "... with the same samples" "$bpfprof" store ship --store "$store" --to "$third"
check "... whose names are looked for" bpfprof_into 0 store store symbolize --store "$third"
check "an agent where the programs have symbols" uploading --upload-symbols
check "... uploads those" [ "$(grep -cE "symbols of '.*/bin/(chain|crunch)' .* uploaded, " "$out/uploading.err")" = 2 ]
rm "$TMPDIR"/bin/chain "$TMPDIR"/bin/crunch
check "names are made of them" bpfprof_into 0 store store symbolize --store "$third"
flame "$third" asked
check "... as at home" diff "$out/truth.folded" "$out/asked.folded"

# --- Served ---
# served: all that the page's flame graph is made of.
served()
{
	"$bpfprof" serve --store "$fleet" --listen 127.0.0.1:0 2>"$out/serve.err" &
	loads+=($!)
	for _ in $(seq 200); do
		url=$(grep -o 'http://127[^ ]*' "$out/serve.err") && break
		sleep 0.05
	done
	curl -s -m 20 "${url%/}/api/profile?from=$(date -d "$since" +%s)&to=$(date -d "$until" +%s)&format=folded" >"$out/served.folded"
}
check "a page over the fleet" served
check "... has inlined calls of C++" has served "$whole"
check "... and of C" has served ';main;crunch;crunch_inlined '
exit $status
