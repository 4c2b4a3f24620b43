#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A local store into sinks other than ClickHouse: what arrives is valid for who reads it, and its sums are the store's.
# timeout: 120
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
store=$tmp/store.db
mkdir -p "$out"
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
unset http_proxy https_proxy
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver fleet_store tests/e2e/fleet_store.c

bp()
{
	"$BUILD/bpfprof" "$@"
}

same()
{
	diff <(echo "$1") <(echo "$2") && [ -n "$1" ]
}

# forget_cursors STORE: it is shipped again from the start, everywhere.
forget_cursors()
{
	python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("UPDATE sink SET seq=0")
store.commit()' "$1"
}

"$tmp/fleet_store" "$store" 1 120 >"$log" || exit 1
truth=$(python3 tests/e2e/sink_truth.py "$BUILD/bpfprof" "$store")

# --- Files ---

# content FOLDER: every file's name, and a hash of it.
content()
{
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

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

ship_killed()
{
	for _ in $(seq 10); do
		bp store ship --store "$store" --to "file:$tmp/killed" &
		local pid=$!
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
	done
	return 0
}
holds "killed at any moment" ship_killed
holds "... and then not" bp store ship --store "$store" --to "file:$tmp/killed"
holds "... they are the same files" same "$(content "$tmp/killed")" "$first"

mkdir "$tmp/planted" && ln -s "$tmp" "$tmp/planted/web"
holds "a link in the folder" bpfprof_into 1 planted store ship --store "$store" --to "file:$tmp/planted"
holds "... is not followed, and told" told "/planted: web/cpu: Not a directory; what it has not got yet stays" planted.err
holds "a folder's folder that is not there" bpfprof_into 1 nowhere store ship --store "$store" --to "file:$tmp/no/where"
holds "... is told" told "/no/where: No such file or directory" nowhere.err
holds "no full name" bpfprof_into 2 relative store ship --store "$store" --to file:profiles
holds "... is told" told "the folder's full name is wanted: file:/DIR" relative.err

exit $status
