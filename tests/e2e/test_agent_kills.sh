#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent that is killed again and again while a function is called: the store has each call once.
# timeout: 200
set -u
. tests/e2e/live.sh
compile hits hits.c -DCOUNT=150000L -DPER_SECOND=5000L -DDEPTHS=1
store=$TMPDIR/store.db
pins=/sys/fs/bpf/bpfprof-test-$$
agent=("$bpfprof" agent --store "$store" --pin-dir "$pins" --no-off-cpu --interval 1s -F 19 --listen none
	-e "uprobe:$TMPDIR/bin/hits:hit")

# detach: the test's own pins go, whatever becomes of it.
trap '"$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1' EXIT

# total KIND: the sum of its values in the store.
total()
{
	"$bpfprof" query kinds --store "$store" --since 1h --format json 2>>"$log" | python3 -c '
import json, sys
found = [kind for kind in json.load(sys.stdin)["kinds"] if sys.argv[1] in kind["kind"]]
print(sum(int(kind["total"]) for kind in found))' "$1"
}

# begin: an agent that samples.
begin()
{
	"${agent[@]}" 2>"$TMPDIR/agent.err" &
	agent_pid=$!
	for _ in $(seq 200); do
		grep -q '^bpfprof: agent: recording' "$TMPDIR/agent.err" && return
		kill -0 "$agent_pid" 2>>"$log" || break
		sleep 0.05
	done
	cat "$TMPDIR/agent.err"
	return 1
}

check "an agent begins" begin
hits >"$TMPDIR/hits.out" &
hits_pid=$!
kills=0 failures=0
while kill -0 "$hits_pid" 2>>"$log"; do
	sleep "$((RANDOM % 2)).$((RANDOM % 7 + 3))"
	kill -9 "$agent_pid"
	wait "$agent_pid" 2>>"$log"
	kills=$((kills + 1))
	begin >>"$log" || failures=$((failures + 1))
done
check "each one after it goes on" is "$failures == 0 && $kills > 10"
# Two windows, so that the last call is in one that was stored.
sleep 2.5
kill -TERM "$agent_pid"
wait "$agent_pid"
code=$?
check "SIGTERM: it ends well" is "$code == 0"
echo "# $kills kills" >>"$log"
check "each call is in the store once" is "$(total hit) == 150000"
check "the store is whole" "$bpfprof" store fsck --store "$store"
check "--detach ends what went on" "$bpfprof" agent --detach --pin-dir "$pins"
check "... and nothing is left there" test ! -e "$pins"
exit $status
