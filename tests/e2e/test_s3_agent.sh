#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent that ships into S3 while it records: one that answers nothing holds up neither the recording, nor another
# sink, nor the agent's end; and gets what it lacks when it answers.
# timeout: 240
set -u
. tests/e2e/live.sh

unset http_proxy https_proxy AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION
# A file, which a worker that is confined may still read.
export AWS_SHARED_CREDENTIALS_FILE=$TMPDIR/keys AWS_PROFILE=agent
printf '[agent]\naws_access_key_id = AKIATEST\naws_secret_access_key = a/b+c\n' >"$TMPDIR/keys"
compile hits hits.c -DCOUNT=20000L -DPER_SECOND=1000L -DDEPTHS=1
store=$TMPDIR/store.db
port=$(free_port)
s3_port=$(free_port)
endpoint=endpoint=http://127.0.0.1:$s3_port
objects=$TMPDIR/objects
files=$TMPDIR/files
agent=("$bpfprof" agent --store "$store" --pin-dir none --no-off-cpu --interval 1s -F 19 --listen "127.0.0.1:$port"
	-e "uprobe:$TMPDIR/bin/hits:hit" --sink "s3://profiles/a?$endpoint" --sink "file:$files")
server=
agent_pid=
trap 'kill $server $agent_pid 2>/dev/null; wait 2>/dev/null; stop_loads; rm -rf "$tmp"' EXIT

# serve FAULT...: S3 at its port.
serve()
{
	python3 tests/e2e/s3_server.py "$s3_port" "$objects" "$@" 2>>"$log" &
	server=$!
	for _ in $(seq 200); do
		(: <"/dev/tcp/127.0.0.1/$s3_port") 2>/dev/null && return
		sleep 0.05
	done
	return 1
}

end_server()
{
	kill -9 "$server"
	wait "$server" 2>/dev/null
	return 0
}

# metric NAME: of /metrics.
metric()
{
	curl -s -m 5 "http://127.0.0.1:$port/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# grows METRIC: within a minute and two looks it is not 0.
grows()
{
	for _ in $(seq 110); do
		[ "$(metric "$1")" != 0 ] && [ -n "$(metric "$1")" ] && return
		sleep 1
	done
	curl -s -m 5 "http://127.0.0.1:$port/metrics" | grep sink
	return 1
}

# ends: the agent, within half a minute of being told.
ends()
{
	kill -TERM "$agent_pid"
	for _ in $(seq 300); do
		kill -0 "$agent_pid" 2>/dev/null || break
		sleep 0.1
	done
	! kill -0 "$agent_pid" 2>/dev/null && wait "$agent_pid"
}

# samples FOLDER: how many calls of hit() are in its files.
samples()
{
	python3 - "$1" <<'EOF'
import pathlib
import sys

sys.path.insert(0, "tests/e2e")
from sink_wire import Pprof

total = 0
for path in pathlib.Path(sys.argv[1]).glob("*/*hit*/*.pb.gz"):
    sums = Pprof(path.read_bytes()).sums()
    total += next(iter(sums.values()))
print(total)
EOF
}

# asked: the server got a request. Each sink has a process of its own, and begins when that finds the minute over.
asked()
{
	local tries
	for ((tries = 0; tries < 200; tries++)); do
		[ "$(curl -s -m 5 "http://127.0.0.1:$s3_port/facts/requests")" -gt 0 ] && return
		sleep 0.1
	done
	return 1
}

check "an agent beside an S3 that answers nothing" eval 'serve silent && begin_agent'
hits >"$TMPDIR/hits.out" &
hits_pid=$!
check "the other sink gets its windows" grows "bpfprof_batches_acked_total{sink=\"file:$files\"}"
check "... all that time they were stored" is "$(metric bpfprof_windows_stored_total) >= 20"
check "... and S3 has none" is "$(metric "bpfprof_batches_acked_total{sink=\"s3://profiles/a?$endpoint\"}") == 0"
check "... though it is asked" asked
check "the agent ends beside it" ends
end_server
wait "$hits_pid"
check "it goes on beside one that answers" eval 'serve && begin_agent'
check "... which gets what it lacks" grows "bpfprof_batches_acked_total{sink=\"s3://profiles/a?$endpoint\"}"
check "... and ends" ends
check "both have the same" diff <(content "$objects/profiles/a") <(content "$files")
check "... which is each call, once" is "$(samples "$objects/profiles/a") == 20000"
check "no secret was told" bash -c '! grep -q a/b+c "$1"' _ "$TMPDIR/agent.err"
exit $status
