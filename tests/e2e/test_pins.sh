#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording that outlives its process: killed at any moment, each call is counted once. The recorder is
# pins_agent.c, whose store is a file.
# timeout: 300
# beside others
set -u
# The file system that pins are on is the test's own.
[ -n "${PINS_NAMESPACE:-}" ] || PINS_NAMESPACE=1 exec unshare --mount --propagation private bash "$0"
umount /sys/fs/bpf 2>/dev/null
. tests/e2e/live.sh
LDFLAGS="-lbpf -lm ${LDFLAGS:-}" build_driver pins_agent tests/e2e/pins_agent.c
agent=$driver
compile hits hits.c -DCOUNT=200000L -DPER_SECOND=5000L -DDEPTHS=1
compile few hits.c -DCOUNT=15000L -DPER_SECOND=5000L -DDEPTHS=1
compile deep hits.c -DCOUNT=4000L -DPER_SECOND=400L -DDEPTHS=100
hit=uprobe:$TMPDIR/bin/hits:hit
hit_few=uprobe:$TMPDIR/bin/few:hit
store=$TMPDIR/store
errors=$TMPDIR/errors
dir=/sys/fs/bpf/bpfprof-test-$$

# shellcheck disable=SC2317 # by the trap
clean_up()
{
	stop_loads
	[ ! -e "$dir" ] || "$agent" "$dir" detach 0 0 0 -
	rm -rf "$tmp"
}
trap clean_up EXIT

# begin_store: what was stored is of no more interest.
begin_store()
{
	rm -f "$store" "$errors"
	touch "$store" "$errors"
}

# agent SECONDS ARG...: records and ends.
agent()
{
	local seconds=$1
	shift
	"$agent" "$dir" "$store" 300 "${lease:-0}" "$seconds" "$@" 2>>"$errors"
}

# sum COLUMN: of all windows: 4 samples, 5 ticks, 6 ran, 7 recorded, 8 filtered, 9 lost, 10 never ran, 11 ms,
# 12 nameless frames.
sum()
{
	awk -v column="$1" '{ sum += $column } END { print sum + 0 }' "$store"
}

# Windows have the numbers 1, 2, 3 ..., each once, and one instance.
is_complete()
{
	awk '$2 != instance && NR > 1 || $3 != NR { print "line " NR ": " $0; bad = 1 } { instance = $2 } END { exit bad }' \
		"$store"
}

# pinned_id KIND NAME: the number of what is pinned.
pinned_id()
{
	bpftool -j "$1" show pinned "$(echo "$dir"/v*/"$2")" | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'
}

# detaches: all goes, in the kernel after a moment; others may be recording.
detaches()
{
	local prog map
	prog=$(pinned_id prog prog_e_0) && map=$(pinned_id map map_shards) || return 1
	"$agent" "$dir" detach 0 0 0 - && [ ! -e "$dir" ] || return 1
	for _ in $(seq 100); do
		bpftool prog show id "$prog" >/dev/null 2>&1 || bpftool map show id "$map" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "program $prog or map $map is there"
	return 1
}

# killed_while PID ARG...: agents, one after the other, are killed as long as the process is there.
killed_while()
{
	local pid=$1 victim
	shift
	kills=0
	while kill -0 "$pid" 2>/dev/null; do
		"$agent" "$dir" "$store" 300 0 0 "$@" 2>>"$errors" &
		victim=$!
		sleep "$(awk -v n=$RANDOM 'BEGIN { print 0.3 + n / 32768 * 1.2 }')"
		kill -9 $victim
		wait $victim
		kills=$((kills + 1))
	done 2>/dev/null
	echo "$kills kills, $(wc -l <"$store") windows, $(grep -c again "$errors") of them stored twice but for their origin"
}

# --- Killed all the time ---

begin_store
check "a recording begins, its file system is mounted" agent 1 "$hit"
hits >"$TMPDIR/hits.out" &
killed_while $! "$hit" >>"$log"
wait
check "the last process goes on, and finds what is left" agent 2 "$hit"
check "200,000 calls, the recorder killed every 0.3 to 1.5 s: as many samples" is "$(sum 4) == 200000 && $kills > 20"
check "... and in the books" is "$(sum 6) == 200000 && $(sum 7) == 200000 && $(sum 9) == 0 && $(sum 10) == 0"
check "no window is missing, none is there twice" is_complete
check "all frames are of executables that are known" is "$(sum 12) == 0"
check "every window's books balance" test "$(grep -c balance "$errors")" = 0

# --- Killed at the worst moments ---

few >"$TMPDIR/few.out" &
begin_store
check "other options begin another recording" agent 1 "$hit_few"
check "... and say what of the old one is lost" grep -q 'other options is ended: .* samples of it' "$errors"
wait
agent 1 "$hit_few"
begin_store
few >"$TMPDIR/few.out" &
pid=$!
for moment in started handed stored committed stored handed; do
	agent 0 -k $moment "$hit_few"
	[ $? = 137 ]
	result $? "killed when it is $moment"
done 2>/dev/null
wait $pid
check "the rest" agent 1 "$hit_few"
check "15,000 calls, the recorder killed before and after storing and committing: as many samples" is "$(sum 4) == 15000"
check "a window that was stored is handed out again under the same origin" test "$(grep -c again "$errors")" = 2

# --- Through the ring ---

deep >"$TMPDIR/deep.out" &
pid=$!
begin_store
check "shards that are too small for it" agent 1 -s "uprobe:$TMPDIR/bin/deep:hit"
wait $pid
check "the rest" agent 1 -s "uprobe:$TMPDIR/bin/deep:hit"
begin_store
deep >"$TMPDIR/deep.out" &
killed_while $! -s "uprobe:$TMPDIR/bin/deep:hit" >>"$log"
check "the last process goes on" agent 1 -s "uprobe:$TMPDIR/bin/deep:hit"
check "4,000 calls with more stacks than fit, the recorder killed: each once, recorded or said to be lost" \
	is "$(sum 6) == 4000 && $(sum 7) + $(sum 9) == 4000 && $(sum 4) == $(sum 7) && $(sum 7) > 3000"
check "every window's books balance" test "$(grep -c balance "$errors")" = 0
check "windows end when there is no more room" is "$(grep -c early "$errors") > 5"

# --- Another build, other options, the executable gone ---

begin_store
agent 1 "$hit_few"
few >"$TMPDIR/few.out" &
pid=$!
agent 1 "$hit_few"
cp "$agent" "$tmp/upgraded" && printf 'another build' >>"$tmp/upgraded"
check "another build of the same layout goes on" "$tmp/upgraded" "$dir" "$store" 300 0 1 "$hit_few"
wait $pid
check "the rest" agent 1 "$hit_few"
check "... and counts each call once" is "$(sum 4) == 15000"
check "--detach leaves nothing" detaches

begin_store
gone=$TMPDIR/bin/gone
busy gone_busy
cp "$TMPDIR/bin/gone_busy" "$gone"
"$gone" >"$TMPDIR/gone.out" &
loads+=($!)
check "cpu-clock begins" agent 2 -n cpu-clock
rm "$gone"
killed_while "$(sh -c 'sleep 8 >/dev/null & echo $!')" -n cpu-clock >>"$log"
check "the last process goes on" agent 1 -n cpu-clock
check "no frame is of an executable that nobody knows, though its file is gone" is "$(sum 12) == 0"
check "no window is missing" is_complete
check "every window's books balance" test "$(grep -c balance "$errors")" = 0
# All but what a busy machine's clock makes of the seams: a tick on each CPU.
check "ticks are those of a clock that was never stopped" \
	is "($(sum 5) - $(sum 11) / 1000 * 99 * $(online_cpus | wc -l)) ^ 2 < (0.02 * $(sum 5) + 10) ^ 2"
check "... and ran = recorded + filtered + lost, ticks = ran + never ran" \
	is "$(sum 6) == $(sum 7) + $(sum 8) + $(sum 9) && $(sum 5) == $(sum 6) + $(sum 10)"
stop_loads

# --- Another rate ---

"$agent" "$dir" detach 0 0 0 -
begin_store
# An idle CPU's clock is not always delivered, whatever its rate.
for cpu in $(online_cpus); do
	taskset -c "$cpu" sh -c 'while :; do :; done' &
	loads+=($!)
done
check "cpu-clock begins" agent 2 -n cpu-clock
killed_while "$(sh -c 'sleep 8 >/dev/null & echo $!')" -n -r cpu-clock >>"$log"
check "the rate changes after each window, the recorder is killed: the last process goes on" agent 1 -n cpu-clock
check "no window is missing" is_complete
check "every window's books balance" test "$(grep -c balance "$errors")" = 0
check "... and ticks are of the rate that they had" is "$(sum 10) <= 0.02 * $(sum 5) + 10"
stop_loads

# --- Another recording in its place ---

# begin_anew: a recording of the calls of `few`, which then runs as $pid.
begin_anew()
{
	"$agent" "$dir" detach 0 0 0 -
	begin_store
	agent 1 "$hit_few"
	few >"$TMPDIR/few.out" &
	pid=$!
}

# dies MOMENT NAME: the recorder, when it changes its recording.
dies()
{
	agent 0 -x -k "$1" "$hit_few" 2>/dev/null
	[ $? = 137 ]
	result $? "killed when $2"
}

# said_to_be_lost: how many samples, by who found what another one has left.
said_to_be_lost()
{
	cat "$errors" "$store" >>"$log"
	sed -n 's/.* is ended: \([0-9]*\) samples.*/\1/p' "$errors" | awk '{ sum += $1 } END { print sum + 0 }'
}

begin_anew
check "a recording takes the place of another" agent 3 -x "$hit_few"
wait $pid
check "... and is found there" agent 1 -c "$hit_few"
check "15,000 calls: each is in one of them, or in the books as lost between the two" \
	is "$(sum 7) + $(sum 9) == 15000 && $(sum 4) == $(sum 7) && $(sum 9) <= 5 && $(said_to_be_lost) == 0"
check "every window's books balance" test "$(grep -c balance "$errors")" = 0
check "there is one folder" is "$(find "$dir" -mindepth 1 -type d | wc -l) == 1"

begin_anew
dies opened "the other one is there"
check "... the first goes on" agent 1 "$hit_few"
dies moved "it has taken the place"
check "... it goes on" agent 1 -c "$hit_few"
wait $pid
check "the rest" agent 1 -c "$hit_few"
check "15,000 calls are there, or in the books" \
	is "$(sum 7) + $(sum 9) == 15000 && $(sum 9) <= 5 && $(said_to_be_lost) == 0"

begin_anew
dies taken "the first one's last window is not stored"
check "... the other one goes on" agent 1 -c "$hit_few"
wait $pid
check "the rest" agent 1 -c "$hit_few"
check "15,000 calls are there, in the books, or said to be lost" \
	is "$(sum 7) + $(sum 9) + $(said_to_be_lost) == 15000 && $(sum 7) > 10000"
check "--detach leaves nothing" detaches

# --- A lease that runs out ---

begin_store
lease=500
check "a lease is given" agent 1 "$hit_few"
few >"$TMPDIR/few.out"
check "the next process comes too late" agent 1 "$hit_few"
check "... and is told so" grep -q 'nobody was here' "$errors"
check "what was recorded before and what was lost after are all calls" \
	is "$(sum 7) + $(sum 9) == 15000 && $(sum 9) > 10000 && $(sum 4) == $(sum 7)"
few >"$TMPDIR/few.out" &
pid=$!
agent 4 "$hit_few"
wait $pid
check "with a process there every call is recorded" is "$(sum 6) == 30000 && $(sum 7) + $(sum 9) == 30000 && $(sum 9) < 15001"
lease=0

# --- Whom it trusts ---

# refused REGEX DIR
refused()
{
	"$agent" "$2" "$store" 300 0 1 "$hit_few" 2>"$TMPDIR/refused"
	[ $? = 3 ] && grep -q "$1" "$TMPDIR/refused" && return
	cat "$TMPDIR/refused"
	return 1
}

"$agent" "$dir" "$store" 300 0 3 "$hit_few" 2>>"$errors" &
pid=$!
sleep 1
check "a second process is refused while one records" refused 'another process' "$dir"
wait $pid
ln -s "$dir" "$TMPDIR/link"
ln -s /sys/fs/bpf "$TMPDIR/linked"
check "a symbolic link is refused" refused 'not on a bpf file system\|symbolic link' "$TMPDIR/link"
check "... also above it" refused 'symbolic link' "$TMPDIR/linked/pins"
ln -s "$dir" "/sys/fs/bpf/link-$$" && check "... also on the bpf file system" refused 'symbolic link' "/sys/fs/bpf/link-$$"
rm -f "/sys/fs/bpf/link-$$"
chmod 755 "$dir"
check "a folder that others may look into is refused" refused '0700' "$dir"
chmod 700 "$dir"
check "a folder on another file system is refused" refused 'bpf file system' "$TMPDIR/pins"
"$agent" "$dir" "$store" 300 0 1 -w "$hit_few" 2>"$TMPDIR/refused"
check "what cannot outlive the process is named" grep -q 'cannot outlive' "$TMPDIR/refused"
check "--detach leaves nothing, again" detaches
check "--detach where nothing is" "$agent" "$dir" detach 0 0 0 -
exit $status
