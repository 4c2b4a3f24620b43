#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent as it is by default, waits and all, that is killed again and again while a function is called, then reloaded
# and upgraded: the store has each call once. Of waits a kill loses the last window, and the ledger says so.
#
#	test_agent_kills.sh [SECONDS]	how long it is killed: 25, or $KILL_SECONDS
#
# timeout: 200
set -u
. tests/e2e/live.sh
seconds=${1:-${KILL_SECONDS:-25}}
calls=$((5000 * seconds))
compile hits hits.c -DCOUNT="${calls}L" -DPER_SECOND=5000L -DDEPTHS=1
compile more hits.c -DCOUNT=75000L -DPER_SECOND=5000L -DDEPTHS=1
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver store_dump tests/e2e/store_dump.c
# It sleeps all the time.
cp "$(command -v sleep)" "$TMPDIR/bin/napper"
store=$TMPDIR/store.db
conf=$TMPDIR/agent.conf
said=$TMPDIR/agent.err
pins=/sys/fs/bpf/bpfprof-test-$$
cp "$bpfprof" "$TMPDIR/bin/agent"

# detach: the test's own pins go, whatever becomes of it.
trap 'stop_loads; "$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; rm -rf "$tmp"' EXIT

# configure LINE...: the file, whole at once
configure()
{
	printf '%s\n' 'interval = 1' 'freq = 19' 'max-cpu = 10' 'listen = none' "$@" >"$conf.new"
	mv "$conf.new" "$conf"
}

# says REGEX [COUNT]: the agent does, within 20 s
says()
{
	local tries
	for ((tries = 0; tries < 400; tries++)); do
		[ "$(grep -cE "$1" "$said")" -ge "${2:-1}" ] && return 0
		kill -0 "$agent" 2>>"$log" || break
		sleep 0.05
	done
	cat "$said"
	return 1
}

launch()
{
	"$TMPDIR/bin/agent" agent --store "$store" --pin-dir "$pins" --config "$conf" 2>"$said" &
	agent=$!
}

# begin: an agent that samples.
begin()
{
	launch
	says '^bpfprof: agent: recording'
}

# end_by SIGNAL: its exit status is in $code.
end_by()
{
	kill "-$1" "$agent"
	wait "$agent" 2>>"$log"
	code=$?
}

# total KIND: the sum of its values in the store.
total()
{
	"$bpfprof" query kinds --store "$store" --since 1h --format json 2>>"$log" | python3 -c '
import json, sys
found = [kind for kind in json.load(sys.stdin)["kinds"] if sys.argv[1] in kind["kind"]]
print(sum(int(kind["total"]) for kind in found))' "$1"
}

# of KEY...: the number behind it in what the store says of the napper's waits.
of()
{
	"$driver" "$store" off-cpu comm=napper | awk -v key="$* " 'index($0, key) == 1 { sum += $NF } END { printf "%.0f\n", sum }'
}

# lost_between EVENT: how many of its hits neither of two recordings has, one of which took the place of the other.
lost_between()
{
	"$driver" "$store" "$1" | awk -v event="$1" '$1 == "lost" { name = $2 }
		$1 == "lost_to" && $2 == "handover" && name == event { sum += $3 } END { print sum + 0 }'
}

# asleep_or_absent: the time that the napper has slept and that nobody recorded waits are all the time.
asleep_or_absent()
{
	local slept absent covered
	slept=$(of total blocked) absent=$(of absent off-cpu) covered=$(of covered)
	is "($slept + $absent - $covered) ^ 2 <= (0.02 * $covered + 1e8) ^ 2 && $slept > 0 && $absent > 0"
}

# --- Killed ---

configure "event = uprobe:$TMPDIR/bin/hits:hit"
load napper 600
check "an agent begins" begin
check "... with waits, which is the default" says 'and where threads wait'
hits >"$TMPDIR/hits.out" &
hits_pid=$!
kills=0 failures=0
while kill -0 "$hits_pid" 2>>"$log"; do
	sleep "$((RANDOM % 2)).$((RANDOM % 5 + 3))"
	end_by KILL
	kills=$((kills + 1))
	# Some before they have begun.
	if [ $((RANDOM % 5)) = 0 ]; then
		launch
		sleep "0.$((RANDOM % 5))"
		end_by KILL
		kills=$((kills + 1))
	fi
	begin >>"$log" || failures=$((failures + 1))
done
check "each one after it goes on" is "$failures == 0 && $kills > 10"
# Two windows, so that the last call is in one that was stored.
sleep 2.5
end_by TERM
check "SIGTERM: it ends well" is "$code == 0"
echo "# $kills kills, waits were not recorded for $(of absent off-cpu) of $(of covered) ns" >>"$log"
check "each call is in the store once" is "$(total hits:hit) == $calls"
check "waits are there but for what the ledger says" asleep_or_absent
check "the store is whole" "$bpfprof" store fsck --store "$store"
check "the books balance" is "$("$driver" "$store" cpu | grep -c 'balanced yes') == 1"

# --- Reloaded and upgraded ---

reload()
{
	kill -HUP "$agent"
	says 'configuration: read again' "$1"
}

more=uprobe:$TMPDIR/bin/more:hit
configure "event = $more"
check "other options begin another recording" begin
more >"$TMPDIR/more.out" &
more_pid=$!
sleep 0.5
check "a reload of the same" reload 1
configure 'freq = 97' "event = $more"
check "another rate" says 'configuration: read again, 97 Hz'
sleep 0.5
configure "event = $more" 'event = context-switches'
check "one more event" says 'configuration: read again' 3
sleep 1
configure "event = $more" 'off-cpu = no'
check "one less, and no waits" says 'configuration: read again' 4
sleep 0.5
cp "$bpfprof" "$TMPDIR/bin/agent.new" && printf 'another build' >>"$TMPDIR/bin/agent.new"
mv "$TMPDIR/bin/agent.new" "$TMPDIR/bin/agent"
end_by TERM
check "an upgrade" begin
check "... goes on" says 'going on with a recording'
configure "event = $more"
check "waits again" says 'configuration: read again'
sleep 0.5
end_by KILL
check "and killed" begin
check "... it goes on" says 'going on with a recording'
wait "$more_pid"
sleep 2.5
end_by TERM
lost=$(lost_between uprobe:more:hit)
"$driver" "$store" uprobe:more:hit >>"$log"
check "each call is in the store once, or in the ledger as lost between two recordings" \
	is "$(total more:hit) + $lost == 75000 && $lost <= 5"
check "so are context switches" is "$(total context-switches) > 0"
check "waits are there but for what the ledger says, still" asleep_or_absent
check "the store is whole, still" "$bpfprof" store fsck --store "$store"

# --- The end ---

check "--detach ends what went on" "$bpfprof" agent --detach --pin-dir "$pins"
check "... and nothing is left there" test ! -e "$pins"
exit $status
