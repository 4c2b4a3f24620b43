#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who and what is recorded: -p -t -u -C -G --comm -I -U -K. Each filter lets all of its own through and nothing else;
# an outsider is busy all the time.
# timeout: 240
set -u
. tests/e2e/live.sh
compile split split.c
compile threads threads.c
outsider=out$$ # other tests may be running
cp "$TMPDIR/bin/split" "$TMPDIR/bin/$outsider"
load $outsider 300

# --- -p ---
load split 60
recorded pid "-p" -p "$load" -F 999 -d 1
check "-p: its samples" has '^split;.*;main;deal_deck;' pid 100
check "-p: nobody else's" only pid split

load split 1
seconds_before=$SECONDS
recorded exits "-p of a process that exits" -p "$load" -F 999 -d 60
check "-p: the recording ends with the process" is "$((SECONDS - seconds_before)) < 40"
check "-p: what it did until then is there" has '^split;' exits 500

load split 1
first=$load
load split 3
recorded two "-p of two processes" -p "$first,$load" -F 999 -d 60
check "-p A,B: it ends with the last of them: 4 s of CPU time" is "$(samples '^split;' two) > 3500"

load sh -c 'sleep 1; split 0.5 & wait'
recorded inherit "-p of a parent" -p "$load" -F 999 -d 60
check "-p: children that are born later are followed" has '^split;' inherit 400
# The parent has work of its own: else it may end unsampled, which is status 4.
load sh -c 'sleep 1; split 0.5 & i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; wait'
recorded no_inherit "-p --no-inherit" -p "$load" --no-inherit -F 999 -d 60
check "--no-inherit: they are not" has_no '^split;' no_inherit
check "--no-inherit: their parent is" has '^sh;' no_inherit 20

# --- -t ---
threads 60 >"$TMPDIR/tids" &
loads+=($!)
until [ -s "$TMPDIR/tids" ]; do sleep 0.02; done
read -r tid_a tid_b <"$TMPDIR/tids"
recorded tid "-t" -t "$tid_a" -F 999 -d 1
check "-t: that thread's samples" has '^thread_a;.*;loop_a[; ]' tid 100
check "-t: not its sibling's" only tid thread_a
recorded tids "-t A,B" -t "$tid_a,$tid_b" -F 999 -d 1
check "-t A,B: both" is "$(samples '^thread_a;' tids) > 50 && $(samples '^thread_b;' tids) > 50"
recorded process "-p of a process with threads" -p "$!" -F 999 -d 1
check "-p: every thread" is "$(samples '^thread_a;' process) > 50 && $(samples '^thread_b;' process) > 50"

# --- --comm ---
recorded comm "--comm" --comm 't?r*_b' -F 999 -d 1
check "--comm GLOB: its threads and no others" only comm thread_b
recorded comms "--comm twice" --comm 'thread_?' --comm split -F 999 -d 1
check "--comm A --comm B: either" only comms 'thread_[ab]|split'
check "... thread_a is there" has '^thread_a;' comms 20
stop_loads

# --- -u ---
load $outsider 300
if [ "$(id -u)" != 0 ]; then
	skip "-u" "no root to start a program as somebody else"
else
	load setpriv --reuid=65534 --clear-groups split 60
	recorded uid "-u" -u 65534 -F 999 -d 1
	check "-u: that user's processes" has '^split;' uid 100
	check "-u: nobody else's" only uid split
fi

# --- -C ---
cpu_cnt=$(online_cpus | wc -l)
last=$(online_cpus | tail -n 1)
if [ "$cpu_cnt" -lt 2 ]; then
	skip "-C" "one CPU only"
else
	stop_loads
	load taskset -c "$(online_cpus | head -n 1)" $outsider 300
	load taskset -c "$last" split 300
	recorded cpu "-C" -C "$last" -F 999 -d 1
	check "-C: what runs there" has '^split;' cpu 50
	check "-C: nothing that runs elsewhere" has_no "^$outsider;" cpu
	check "-C: the ledger has that CPU alone" \
		is "$(field cpu events.0.per_cpu.0.cpu) == $last && $(field cpu events.0.ticks) == $(field cpu events.0.per_cpu.0.ticks)"
fi
stop_loads

# --- -G ---
group=
for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	if [ -z "$group" ] && [ "$(stat -f -c %T $root 2>/dev/null)" = cgroup2fs ]; then
		group=$root/bpfprof-test-$$
		mkdir "$group" "$group/below" 2>>"$log" || group=
	fi
done
load $outsider 300
if [ -z "$group" ]; then
	skip "-G" "no cgroup2 file system to make a group in"
else
	trap 'stop_loads; rmdir "$group/below" "$group"' EXIT
	load sh -c "echo \$\$ >$group/below/cgroup.procs; exec split 60"
	sleep 0.2
	recorded cgroup "-G" -G "$group" -F 999 -d 1
	check "-G: what is in it and below" has '^split;' cgroup 100
	check "-G: nothing else" only cgroup 'split|sh'
	recorded cgroup_path "-G with the path of /proc/PID/cgroup" \
		-G "$(sed -n 's/^0:://p' "/proc/$load/cgroup")" -F 999 -d 1
	check "-G /PATH: the same" only cgroup_path 'split|sh'
	record both -G "$group" --comm $outsider -F 999 -d 500ms
	code=$?
	check "kinds AND: nobody is in the group and called $outsider, hence status 4" \
		is "$code == 4 && $(samples . both) == 0 && $(field both events.0.filtered) > 0"
fi
stop_loads

# --- -I ---
# count_only counts the idle task's samples too. Sleepers make CPUs idle and wake them up again.
sleepers='while :; do sleep 0.003; done'
for _ in $(online_cpus); do
	load sh -c "$sleepers"
done
# Idleness comes in stretches, and the windows differ: that is worth a factor of 1.5.
idle_as_counted()
{
	count_within 4
	record idle -a -I -F 999 -d 4 && balanced idle || return 1
	wait "${loads[-1]}"
	is "$(samples '^swapper' idle) / $(samples . idle) * $(counted ran) / $(counted idle) > 1 / 1.5 &&
		$(samples '^swapper' idle) / $(samples . idle) * $(counted ran) / $(counted idle) < 1.5"
}
idle_as_counted >>"$log" 2>&1
if [ "$(counted idle)" -lt 100 ]; then
	: >"$log"
	skip "the idle task's share with -I" "this machine is never idle"
else
	retried 3 "-I: the idle task has the share of the samples that was counted for it" idle_as_counted
fi
check "-I: nothing is filtered" is "$(field idle events.0.filtered) == 0"
recorded not_idle "without -I" -a -F 999 -d 2
check "without -I: no sample of the idle task" has_no '^swapper' not_idle
check "without -I: they are counted as filtered" \
	is "$(field not_idle events.0.filtered) == $(field not_idle events.0.ran) - $(field not_idle events.0.recorded)"
stop_loads

# --- -U, -K ---
# head: in the kernel nearly all the time, reading zeros
load sh -c 'exec head -c 1000G /dev/zero'
recorded both_stacks "user and kernel stacks" -p "$load" -F 999 -d 1
check "without -U and -K: stacks with user and kernel frames" has '^[^_]*;[^;]*[^]];.*_\[k\][; ]' both_stacks 50
recorded user_only "-U" -U -p "$load" -F 999 -d 1
check "-U: no kernel frame" has_no '_\[k\][; ]' user_only
check "-U: samples that were taken in the kernel are there" has '^head;' user_only 50
recorded kernel_only "-K" -K -p "$load" -F 999 -d 1
check "-K: kernel frames" has '_\[k\][; ]' kernel_only 50
check "-K: no user frame" is "$(awk '{
	sub(/ [0-9]+$/, "")
	frames = split($0, part, ";")
	for (i = 2; i <= frames; i++)
		users += part[i] !~ /_\[k\]$/
} END { print users + 0 }' "$TMPDIR/out/kernel_only.folded") == 0"
exit $status
