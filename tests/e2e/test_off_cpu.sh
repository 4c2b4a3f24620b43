#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --off-cpu: how long threads waited, what for, and in which state; which waits -m, -M and --state let through; who was
# asleep all the time.
set -u
. tests/e2e/waits.sh
compile split split.c
last=$(online_cpus | tail -n 1)
file=$TMPDIR/direct_reads

# --- Known waits, all at the same time ---

# Some machines have threads that the kernel hides from programs, as those of a virtual machine's agent: a switch away
# from one is not seen, and whoever waited but once, until then, has the time but no stack. A moment without will come;
# where none does, these threads are few, and no more than the returns that the ledger says were not seen.
tries=4
have_stacks()
{
	local without never
	without=$(value known --count tid 'cause=not sampled')
	is "$without == 0" && return
	tries=$((tries - 1))
	never="$(field known events.0.never_ran.busy) + $(field known events.0.never_ran.idle)"
	is "$tries == 0 && $without <= $never && $without <= 0.02 * $(value known --count tid)"
}
known()
{
	waits known --off-cpu --max-cpu 100 --by comm,tid -- waits_all 6 "$file" && lost_nothing known && have_stacks
}
retried $tries "workloads that wait: exit status 0, nothing is lost, and no time blocked without a stack" known
check "four values, off_cpu in ns by default" is \
	"\"$(value known --types | tr '\n' ' ')\" == \"waits/count blocked/nanoseconds runnable/nanoseconds off_cpu/nanoseconds* \""
check "the folded file holds the default value" is "$(samples . known) == $(value known off_cpu)"
check "off_cpu is blocked and runnable" is \
	"$(value known off_cpu) == $(value known blocked) + $(value known runnable) && $(value known blocked) > 0"

check "sleeps of 100 us to 300 ms: blocked for as long as they were" says known 'sleep_.*' blocked=blocked
check "sleeps of 50 and 300 ms: blocked for as long as was asked for" says known 'sleep_(50|300)ms' blocked=asked
check "each wait is counted" within 1 "$(value known waits comm='sleep_.*' state=interruptible)" \
	"$(truth known waits 'sleep_.*')"
check "a mutex: the waiter was blocked while the other held it" says known waiter blocked=blocked
check "a mutex: it is the holder's time" within 5 \
	"$(value known blocked comm=waiter stack=';waiter_lock;')" "$(truth known blocked_in_calls waiter)"
check "pipes: blocked while the other thought" says known 'ping|pong' blocked=blocked/elapsed
check "on another CPU each time: it is moved" is "$(truth known moves migrator) >= 0.9 * $(truth known calls migrator)"
# Where returns to the CPU were not seen, the end of a wait is an estimate: as above, such a moment passes.
migrated()
{
	waits migrated --off-cpu --max-cpu 100 --by comm,tid -- migrates 4 && lost_nothing migrated &&
		says migrated migrator blocked=blocked
}
retried 4 "... and blocked as long as it slept" migrated

check "a CPU shared by three: runnable as long as the kernel says" says known 'starved_.' runnable=runnable
check "... and never blocked" says known 'starved_.' blocked=blocked/elapsed
check "... preempted, that is" is \
	"$(samples '^starved_.*\[runnable: preempted\]' known) >= 0.95 * $(truth known runnable 'starved_.')"
check "the others: runnable as long as the kernel says" \
	says known 'sleep_.*|waiter|holder|ping|pong|migrator' runnable=runnable/elapsed
# Not all that they are blocked: pages that were reclaimed are read again, and an exit may wait for the lock of a file's
# mappings.
check "short lives: asleep as long as was asked for" is \
	"$(value known blocked comm=lives_child cause=sleep) >= 0.99 * $(truth known asked lives_child) &&
	$(value known blocked comm=lives_child cause=sleep) <= 1.01 * $(truth known blocked_in_calls lives_child)"
check "short lives: each is there" is \
	"$(value known --count tid comm=lives_child) == $(truth known lives lives_child)"
check "their parent: blocked until they ended" says known lives_parent blocked=blocked
check "a name that changes by exec: the time before and after" says known '(before|after)_exec' blocked=blocked
check "blocked from the beginning to the end" says known 'blocked_.*' blocked=blocked

# caused NAME COMM CAUSE [OTHERS]: of what COMM was blocked, without the causes OTHERS, 98 % has that cause, in the label
# and in the leaf.
caused()
{
	local all
	all=$(value known blocked comm="$2" ${4:+"cause!=$4"})
	is "$all > 0 && $(value known blocked comm="$2" cause="$3") >= 0.98 * $all" &&
		within 2 "$(samples "^$2[-;].*;\[blocked: $3\]" known)" "$all"
}
while read -r comm cause; do
	check "$comm was blocked by: $cause" caused known "$comm" "$cause"
done <<-'END'
	sleep_10ms sleep
	waiter futex
	ping pipe
	blocked_read pipe
	lives_parent child
	after_exec sleep
END
check "lives_child was blocked by: sleep" caused known lives_child sleep 'page fault|exit'
check "sleeps are interruptible" within 1 "$(value known blocked comm=sleep_10ms state=interruptible)" \
	"$(truth known blocked sleep_10ms)"
check "each sample has a state" is "$(value known --count comm state='') == 0"
check "waiting for a CPU is the state runnable" is "$(value known runnable 'comm=starved_.') > 1e9 &&
	$(value known runnable 'comm=starved_.' state=runnable) == $(value known runnable 'comm=starved_.')"
check "blocked time is in no sample that is runnable" is "$(value known blocked state=runnable) == 0 &&
	$(value known runnable state!=runnable) == 0"

if [ "$(truth known calls direct_reader)" = "no_truth()" ]; then
	skip "reads from a disk" "no disk is below $TMPDIR"
else
	# What a busy machine adds to a read is not the thread's: a quiet moment will come.
	disk_reads()
	{
		waits disk --off-cpu --max-cpu 100 --by comm,tid -- direct_reads 2 "$file" && lost_nothing disk &&
			within 1 "$(value disk blocked comm=direct_reader stack=';direct_read;')" \
				"$(truth disk blocked_in_calls direct_reader)" &&
			within 1 "$(value disk blocked comm=direct_reader cause='disk I/O' state=uninterruptible)" \
				"$(truth disk blocked_in_calls direct_reader)"
	}
	retried 4 "reads from a disk: blocked for as long as they took, uninterruptible, and the cause is the disk" disk_reads
fi

# --- The same place again: stacks that are remembered are told apart ---

alternate()
{
	"$bpfprof" -q --force --off-cpu --max-cpu 100 -o "$TMPDIR/out/turns.pb.gz" --stats "$TMPDIR/out/turns.json" -- \
		alternates 3200 >>"$log" 2>&1 && lost_nothing turns
}
# turns_of FUNCTION CALL: how many waits had that stack; a preempted thread's have others.
turns_of()
{
	value turns waits "stack=;main;$1;leaf;(__)?(clock_)?$2" state=interruptible
}
compile alternates alternates.c
check "two callers in turn: exit status 0, and nothing is lost" alternate
for caller in by_one by_two; do
	check "two callers in turn: each sleep of $caller is its own" within 2 "$(turns_of $caller nanosleep)" 3000
	check "two callers in turn: and each poll" within 2 "$(turns_of $caller poll)" 200
done

# --- Filters ---

# Waits between 1 and 10 ms come from a busy machine only: hence the bounds are far from both.
longer()
{
	waits longer --off-cpu --max-cpu 100 -m 5000 --by comm,tid -- sleeps 2 && lost_nothing longer &&
		says longer 'sleep_(10|50|300)ms' blocked=blocked
}
retried 4 "-m: exit status 0, nothing is lost, and what is longer is all there" longer
check "-m: what is shorter is not" is "$(truth longer waits sleep_100us) > 1000 &&
	$(value longer waits comm='sleep_100us|sleep_1ms') <= 0.01 * $(truth longer waits 'sleep_100us|sleep_1ms')"
waited shorter "-M" --off-cpu --max-cpu 100 -M 5000 --by comm,tid -- sleeps 2
check "-M: what is shorter is there" within 2 "$(value shorter blocked comm='sleep_100us|sleep_1ms')" \
	"$(truth shorter blocked 'sleep_100us|sleep_1ms')"
check "-M: what is longer is not" is "$(truth shorter blocked 'sleep_(10|50|300)ms') > 5e9 &&
	$(value shorter off_cpu comm='sleep_(10|50|300)ms') <= 0.01 * $(truth shorter blocked 'sleep_(10|50|300)ms')"

without_a_cpu()
{
	waits stirred --off-cpu --max-cpu 100 --state runnable --by comm,tid -- sh -c \
		"starved 2 $last & mutex 2; wait" && lost_nothing stirred && says stirred 'starved_.' runnable=runnable
}
retried 4 "--state runnable: the time without a CPU" without_a_cpu
check "--state runnable: no blocked time" is "$(value stirred blocked) == 0 && $(value stirred --count state) == 1"
only_asleep()
{
	waits asleep --off-cpu --max-cpu 100 --state interruptible --by comm,tid -- sh -c \
		"starved 1 $last & sleeps 1; wait" && lost_nothing asleep && says asleep 'sleep_.*' blocked=blocked
}
retried 4 "--state interruptible: sleeps" only_asleep
check "--state interruptible: no other time" is "$(value asleep off_cpu state!=interruptible) == 0 &&
	$(value asleep runnable) == 0 && $(value asleep off_cpu comm='starved_.') < 0.01 * $(truth asleep runnable 'starved_.')"

# --- Thinned as it is by default, the sums are the same ---
waited thinned "thinned" --off-cpu --by comm,tid -- sleeps 3
check "thinned: what is seldom and long is as exact" says thinned 'sleep_(50|300)ms' blocked=blocked
check "thinned: what is frequent and short is scaled" within 5 "$(value thinned blocked comm='sleep_(100us|1ms|10ms)')" \
	"$(truth thinned blocked 'sleep_(100us|1ms|10ms)')"

# --- Asleep, but still on the run queue, and moved to another (kernels since 6.12) ---

moved_within()
{
	waits moved --off-cpu --max-cpu 100 --by comm,tid -- moves_asleep 3 && lost_nothing moved
}
# Twelve who sleep before the recording, and beyond it.
moved_before()
{
	local asleep=
	: >"$TMPDIR/moved"
	for _ in $(seq 12); do
		moves_asleep 0.1 3500 >>"$TMPDIR/moved" 2>>"$log" &
		asleep=$asleep,$!
	done
	sleep 1
	waits moved --off-cpu --by comm,tid -p "${asleep#,}" -d 1 && lost_nothing moved
	# shellcheck disable=SC2046 # one word each
	wait $(tr , ' ' <<<"$asleep")
	cp "$TMPDIR/moved" "$TMPDIR/out/moved.truth"
}
# whether_moved WHEN WHAT ARG...: moved_WHEN again until the kernel's account is wrong, which it is by chance, and then a
# case that `check ARG...` decides.
whether_moved()
{
	for _ in $(seq 8); do
		"moved_$1" >>"$log" 2>&1
		if is "$(truth moved misled moved) > 0"; then
			check "$2" "${@:3}"
			return
		fi
	done
	skip "$2" "the kernel's account is not wrong here"
}
whether_moved within "moved while asleep: blocked as long as it slept, whatever the kernel's account says" \
	says moved moved blocked=in_calls
all_were_blocked()
{
	within 1 "$(value moved blocked comm=moved)" "12 * $(duration moved)"
}
whether_moved before "moved before the beginning: blocked all the time" all_were_blocked

# --- Blocked before the beginning, and after the end ---

start_ready blocked
blocked=$load
start_ready crowd 2000
crowd=$load
load split 300
stopped=$load
sleep 0.2
kill -STOP "$stopped"
sleep 0.1
threads_of "$blocked" "$crowd" "$stopped"
waited still "asleep all the time" --off-cpu --by comm,tid -p "$blocked,$crowd,$stopped" -d 2
whole_window still
check "each of 2,004 threads was blocked all the time" says still '.*' blocked=elapsed
check "... they are 2,004" is "$(grep -c ^truth "$TMPDIR/out/still.truth") == 2004"
check "stopped by a signal: the state is stopped" within 1 "$(value still blocked comm=split state=stopped)" \
	"$(duration still)"
check "pause(): its functions are in the stack" within 1 \
	"$(samples '^blocked_pause[-;].*;main;pause_outer;pause_middle;pause_inner;.*\[blocked: ' still)" "$(duration still)"
check "read(): its functions are in the stack" within 1 \
	"$(samples '^blocked_read[-;].*;read_run;read_outer;read_inner;.*\[blocked: pipe\]' still)" "$(duration still)"
check "threads in a futex and in a sleep: so are theirs" is \
	"$(samples '^crowd_futex[-;].*;crowd_run;crowd_wait;.*\[blocked: futex\]' still) >= 0.99 * 1000 * $(duration still) &&
	$(samples '^crowd_sleep[-;].*;crowd_run;crowd_nap;.*\[blocked: sleep\]' still) >= 0.99 * 1000 * $(duration still)"
kill -CONT "$stopped"

# --- Every CPU, and threads of the kernel ---

kernel_threads='kthreadd|ksoftirqd/.*|kworker/.*|migration/.*|rcu_.*|kcompactd.*|khugepaged|kswapd.*|oom_reaper'
waited every "-a" --off-cpu -a --by comm,tid -d 2
check "-a: who is asleep is there" is "$(value every blocked comm=crowd_futex) >= 0.99 * 1000 * $(duration every)"
check "-a: no thread of the kernel, and not the idle task" is \
	"$(value every --count comm comm="($kernel_threads)|swapper.*") == 0"
waited kernel "--kernel-threads" --off-cpu -a --kernel-threads --by comm,tid -d 2
check "--kernel-threads: they are there, and were there all the time" is \
	"$(value kernel --count tid comm="$kernel_threads") >= 5 && $(value kernel off_cpu comm=kthreadd) >= 0.99 * $(duration kernel)"
check "--kernel-threads: still without the idle task" is "$(value kernel --count comm comm='swapper.*') == 0"
exit $status
