#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof agent: into a store, under a configuration that changes, to its end. What it stored is what its books say.
# timeout: 180
set -u
. tests/e2e/live.sh
compile split split.c
compile sleeps sleeps.c
LDFLAGS="${LDFLAGS:-} -lsqlite3 -lzstd -lm" build_driver store_dump tests/e2e/store_dump.c
store=$TMPDIR/state/store.db
conf=$TMPDIR/agent.conf
said=$TMPDIR/agent.log
out=$TMPDIR/out
pins=/sys/fs/bpf/bpfprof-test-$$

# detach: the test's own pins go, whatever becomes of it.
trap 'stop_loads; "$bpfprof" agent --detach --pin-dir "$pins" >>"$log" 2>&1; rm -rf "$tmp"' EXIT

# configure LINE...: the file, whole at once, as editors put it there
configure()
{
	printf '%s\n' 'interval = 1' 'max-cpu = 10' 'label = env=test' "$@" '[service hidden]' 'enabled = no' >"$conf.new"
	mv "$conf.new" "$conf"
}

# dump NAME KIND [FILTER]: into out/NAME
dump()
{
	"$driver" "$store" "${@:2}" >"$out/$1"
}

# number NAME KEY...: of the line that begins with the keys, the last word; lines of labels are added up
number()
{
	awk -v key="${*:2} " 'index($0, key) == 1 { sum += $NF } END { printf "%.0f\n", sum }' "$out/$1"
}

has_line()
{
	grep -qxE "$2" "$out/$1" || { cat "$out/$1"; return 1; }
}

lacks_line()
{
	! grep -E "$2" "$out/$1"
}

# The numbers of the BPF programs that process $1 holds
programs_of()
{
	sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$1"/fdinfo/* 2>/dev/null | sort -un
}

# begin: an agent that says what it does into $said, and stores into $store; $agent is its pid
begin()
{
	"$bpfprof" agent --config "$conf" --store "$store" --pin-dir "$pins" 2>"$said" &
	agent=$!
	loads+=("$agent")
}

# end: it is asked to, and $code is its status
end()
{
	kill -TERM "$agent"
	wait "$agent"
	code=$?
	loads=("${loads[@]/$agent/}")
	cat "$said" >>"$log"
}

# Programs go a moment after the last reference to them.
are_gone()
{
	local tries id left
	for ((tries = 0; tries < 100; tries++)); do
		left=
		for id in $1; do
			bpftool prog show id "$id" >/dev/null 2>&1 && left="$left $id"
		done
		[ -z "$left" ] && return 0
		sleep 0.1
	done
	echo "left: $left"
	return 1
}

# --- Its configuration ---

printf 'frq = 9\n' >"$conf"
check "a wrong key" bpfprof_into 2 wrong agent --config "$conf" --check-config
check "... is told with its line and the right one" \
	told "agent.conf:1: unknown key 'frq' \(did you mean 'freq'\?\)" wrong.err
configure 'freq = 49'
check "a right file" bpfprof_into 0 right agent --config "$conf" --check-config -F 7
check "... is printed, the command line before it" has_line right 'freq = 7'
check "... with its policies" has_line right '\[service hidden\]'
check "... and is read back as it was" bpfprof_into 0 again agent --config "$out/right" --check-config
check "... to the letter" cmp "$out/right" "$out/again"

# --- A life ---

OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=service.version=1.2 load split 600
OTEL_SERVICE_NAME=hidden load split 600
OTEL_SERVICE_NAME=naps load sleeps 600
begin
check "the agent begins" agent_says 'recording cpu-clock at 49 Hz, and where threads wait, a window every 1 s'
sleep 4
check "a second one on the same store" bpfprof_into 1 second agent --store "$store"
check "... is told who has it" told 'another process is writing it' second.err
configure 'freq = 97'
check "another rate is taken up as the file changes" agent_says 'configuration: read again, 97 Hz'
kill -HUP "$agent"
check "... and at SIGHUP" agent_says 'configuration: read again, 97 Hz' 2
sleep 3
configure 'frq = 3'
check "a file that is wrong changes nothing" agent_says "unknown key 'frq'.*the one before stays in force"
configure 'freq = 97' 'event = no:such'
check "nor does an event that is not there" agent_says 'configuration: the one before stays in force'
configure 'freq = 97' 'event = page-faults/period=100/'
check "a further event takes a new recording" agent_says 'configuration: read again, 97 Hz' 3
sleep 3
programs=$(programs_of "$agent")
check "the agent holds programs" [ -n "$programs" ]
end
check "SIGTERM ends it with status 0" [ $code = 0 ]
check "... and it says so" agent_says 'agent: ended, [0-9]+ windows stored'
check "--detach ends what goes on" "$bpfprof" agent --detach --pin-dir "$pins"
check "... and nothing of it is left in the kernel" are_gone "$programs"
check "no error was told" bash -c "! grep -iE 'error|cannot|failed' '$said'"

# --- What is in the store ---

check "the CPU time is read" dump cpu cpu
check "every sample of the books is there, and no other" \
	is "$(number cpu recorded cpu-clock) == $(number cpu total samples) && $(number cpu total samples) > 300"
check "nothing was lost to anything but a full ring" \
	is "$(number cpu lost cpu-clock) == $(number cpu lost_to ring_full)"
check "the books balance" has_line cpu 'balanced yes'
check "there are windows, and no holes" is "$(number cpu windows) >= 10 && $(number cpu tombstones) == 0"
check "the service has its name" is "$(number cpu label service shop) > 100"
check "... and its version" is "$(number cpu label version 1.2) == $(number cpu label service shop)"
check "... and the label of the file" is "$(number cpu label env test) == $(number cpu total samples)"
check "... and the host's" is "$(number cpu label host "$(hostname)") == $(number cpu total samples)"
check "... and its functions" has_line cpu 'frame work_70'
check "a service that is not enabled is not stored" lacks_line cpu '^label service hidden '
check "no process is told apart" lacks_line cpu '^number (pid|start)'
check "the waits of a service" dump naps off-cpu service=naps
check "... are its threads' time" is "$(number naps total blocked) > 20e9"
check "... and no samples" lacks_line naps '^total (samples|cpu) '
check "the further event is a kind of its own" dump faults page-faults
check "... whose samples are those of its books" \
	is "$(number faults recorded page-faults) == $(number faults total samples) && $(number faults total samples) > 0"

# --- What others do to it ---

# Who has the CPUs may keep the agent from its ring until that is full: such samples are counted, as they should be. A
# defect would lose some each time, so the same life again, until nobody is in its way.
live_again()
{
	local store=$TMPDIR/state/calm.db said=$TMPDIR/calm.log
	rm -f "$store"*
	configure 'freq = 49'
	begin
	agent_says 'recording cpu-clock at 49 Hz' && sleep 4 &&
		configure 'freq = 97' && agent_says 'configuration: read again, 97 Hz' && sleep 3 &&
		configure 'freq = 97' 'event = page-faults/period=100/' &&
		agent_says 'configuration: read again, 97 Hz' 2 && sleep 3
	end
	"$bpfprof" agent --detach --pin-dir "$pins"
	dump calm cpu && has_line calm 'balanced yes' && is "$(number calm recorded cpu-clock) > 300"
}
lives=0
loses_nothing()
{
	local name=cpu
	[ $((lives++)) = 0 ] || { name=calm && live_again; } || return
	lacks_line $name '^lost_to .* [1-9]'
}
retried 4 "nothing was lost" loses_nothing
exit $status
