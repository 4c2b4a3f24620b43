#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pyroscope's querier API, as Grafana's data source asks it, over a store of known content: a client that knows nothing of
# ours decodes JSON and protobuf, rebuilds flame graphs from their levels and compares.
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
store=$tmp/store.db
truth=$tmp/truth
mkdir -p "$out"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd" build_driver make_store tests/e2e/make_store.c
holds "a store is made" "$tmp/make_store" "$store" "$truth"

"$BUILD/bpfprof" serve --store "$store" --listen 127.0.0.1:0 2>"$out/serve.err" &
server=$!
for _ in $(seq 200); do
	url=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' "$out/serve.err" | head -n 1)
	[ -n "$url" ] && break
	sleep 0.05
done
holds "it is served" [ -n "$url" ]
PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/querier_client.py "$url" "$truth" "$BUILD/bpfprof" "$store" || status=1

exit $status
