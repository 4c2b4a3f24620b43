#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent that ships into S3 while it records: one that answers nothing holds up neither the recording, nor another
# sink, nor the agent's end; and gets what it lacks when it answers.
# timeout: 400
# beside others
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

# within_s SECONDS COMMAND...: it is so by then.
within_s()
{
	local until=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt "$until" ] || return 1
		sleep 1
	done
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

# files FOLDER: its files, with the values and labels of the samples in each. Names may come between two sinks' reading.
files()
{
	python3 - "$1" <<'EOF'
import pathlib
import sys

sys.path.insert(0, "tests/e2e")
from sink_wire import Pprof

for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*/*.pb.gz")):
    samples = Pprof(path.read_bytes()).samples
    print(path.relative_to(sys.argv[1]), sorted((values, sorted(labels.items())) for values, labels in samples))
EOF
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

# Each sink has a process of its own, and begins when that finds the minute over.
asked()
{
	[ "$(curl -s -m 5 "http://127.0.0.1:$s3_port/facts/requests")" -gt 0 ]
}

# has FOLDER: each call, once.
has()
{
	[ "$(samples "$1")" = 20000 ]
}

stored()
{
	[ "$(metric bpfprof_windows_stored_total)" -ge 20 ]
}

same()
{
	diff <(files "$objects/profiles/a") <(files "$files") && [ -n "$(files "$files")" ]
}

check "an agent beside an S3 that answers nothing" eval 'serve silent && begin_agent'
check "calls for 20 seconds" hits
check "... all that time they were stored" within_s 10 stored
check "the other sink gets them when their minutes are over, each once" within_s 120 has "$files"
check "... and S3 has none" is "$(metric "bpfprof_batches_acked_total{sink=\"s3://profiles/a?$endpoint\"}") == 0"
check "... though it is asked" within_s 20 asked
check "the agent ends beside it" ends
end_server
check "it goes on beside one that answers" eval 'serve && begin_agent'
check "... which gets what it lacks" within_s 120 has "$objects/profiles/a"
check "both have the same" within_s 120 same
check "... and it ends" ends
check "no secret was told" bash -c '! grep -q a/b+c "$1"' _ "$TMPDIR/agent.err"
exit $status
