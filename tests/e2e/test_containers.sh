#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In namespaces of its own it profiles what it can see, by the numbers that it sees, and says what it cannot do.
# timeout: 240
set -u
. tests/e2e/live.sh

out=$TMPDIR/out
if [ "$(id -u)" != 0 ] || ! unshare --pid --mount --mount-proc --fork true 2>>"$log"; then
	skip "containers" "no namespaces to be had here"
	exit 0
fi
if ! "$bpfprof" -q -d 100ms -f >/dev/null 2>&1; then
	skip "containers" "recording does not work here"
	exit 0
fi
compile spin split.c
export bpfprof out

# inside SCRIPT: root in pid and mount namespaces of its own
inside()
{
	unshare --pid --mount --mount-proc --fork --kill-child bash -c "$1" >"$out/said" 2>&1 </dev/null
	local code=$?
	cat "$out/said"
	return $code
}

# --- A pid namespace ---

check "a process, its threads and all of the machine" inside '
	spin 30 >/dev/null & pid=$!
	echo $pid >"$out/pid"
	"$bpfprof" -q -p $pid -d 1 -F 199 --by comm,pid,tid --force -o "$out/pid.folded" &&
	"$bpfprof" -q -t $pid -d 1 -F 199 --by comm,tid --force -o "$out/tid.folded" &&
	"$bpfprof" -q -a -d 1 -F 199 --by comm,pid --force -o "$out/all.folded"'
pid=$(cat "$out/pid")
check "which has a small number there" is "$pid < 100"
check "-p: it is sampled, by the number that it has there" is "$(samples "^spin-$pid-$pid;.*;main;.*burn " pid) >= 20"
check "... and nothing else is" is "$(samples . pid) == $(samples "^spin-$pid-$pid;" pid)"
check "-t: too" is "$(samples "^spin-$pid;.*;main;.*burn " tid) >= 20 && $(samples . tid) == $(samples "^spin-$pid;" tid)"
check "-a: it has that number" is "$(samples "^spin-$pid;.*;main;.*burn " all) >= 20"

check "COMMAND and its children" inside '"$bpfprof" -q -F 199 --by comm,pid --force -o "$out/command.folded" -- sh -c "spin 1; true"'
check "... are sampled" is "$(samples '^spin-[0-9]*;.*;main;.*burn ' command) >= 20"
check "... by small numbers" [ "$(grep -cE '^[^;]*-[0-9]{4,};' "$out/command.folded")" = 0 ]
check "waits of COMMAND" inside '"$bpfprof" -q --off-cpu --by comm,pid --force -o "$out/waits.folded" -- sh -c "sleep 0.3; true"'
check "... have its time" is "$(samples '^sleep-[0-9]*;.*\[blocked: sleep\]' waits) >= 290000000"
check "allocations of COMMAND" inside '"$bpfprof" -q --heap --force --value alloc_objects -o "$out/heap.pb.gz" -o "$out/heap.folded" -- \
	sh -c "perl -e \"1 for 1\" || true; ls -R /usr/share >/dev/null"'
check "... are recorded, its children's too" grep -q '^ls;' "$out/heap.folded"
check "top" inside 'spin 30 >/dev/null & "$bpfprof" top -b -n 1 -p $!'
check "... shows it" grep -qE ' burn  \[spin\]$' "$out/said"
check "stat" inside 'spin 30 >/dev/null & "$bpfprof" stat -e cpu-clock -d 1 -p $!'
inside '"$bpfprof" stat -e uprobe:libc:malloc -- true' >>"$log"
code=$?
check "stat of probes is refused" is "$code == 125"
check "... and why" grep -q 'pid name space' "$out/said"

# Processes outside are seen when they run; the kernel's number for "not there" is 0.
spin 20 >/dev/null &
outside=$!
check "what runs outside" inside '"$bpfprof" -q -a -d 1 -F 199 --by comm,pid --force -o "$out/outside.folded"'
kill $outside
wait $outside 2>>"$log"
check "... is sampled, and has no number" is "$(samples '^spin-0;.*;main;.*burn ' outside) >= 20 && $(samples '^spin-[1-9]' outside) == 0"
inside '"$bpfprof" -d 100ms -p '$outside >>"$log"
code=$?
check "a pid that does not exist there" is "$code == 1"
check "... is none" grep -qx "bpfprof: no process with pid $outside (-p)" "$out/said"

# /proc of the namespace outside has other processes' numbers.
unshare --pid --fork "$bpfprof" -d 100ms -f >"$out/said" 2>&1
code=$?
check "without a /proc of its own" is "$code == 1 && $(wc -l <"$out/said") == 1"
check "... it says what to do" grep -qE '^bpfprof: /proc is that of another pid namespace, .*: mount our own \(mount -t proc proc /proc; unshare --mount-proc\)$' "$out/said"

inside '"$bpfprof" doctor' >>"$log"
check "doctor says where it is" grep -qE '^no +container .*, in a pid namespace of its own: processes outside have no pids' "$out/said"

# --- A user namespace: root there is nobody ---

if ! setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --pid --mount --mount-proc --fork true 2>>"$log"; then
	skip "a user namespace" "not to be had here"
	exit $status
fi
rootless=(setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --pid --mount --mount-proc --fork)
(cd / && "${rootless[@]}" "$bpfprof" -d 1 -f) >"$out/said" 2>&1
code=$?
cat "$out/said" >>"$log"
check "root in a user namespace: status 1" is "$code == 1 && $(wc -l <"$out/said") == 1"
check "... and what is missing, where to get it" grep -qxE \
	'bpfprof: .*: not permitted without CAP_BPF and CAP_PERFMON, which nobody has in a user namespace \(a rootless container\): run on the host' "$out/said"
(cd / && "${rootless[@]}" "$bpfprof" doctor) >"$out/said" 2>>"$log"
code=$?
check "doctor: status 1" is "$code == 1"
for cap in CAP_BPF CAP_PERFMON; do
	check "... $cap is not there" grep -A 1 "^FAIL *$cap " "$out/said"
done
check "... nor can it be given" grep -q 'fix: run on the host: nobody has it in a user namespace; without it nothing can be recorded' "$out/said"
check "... and where it is" grep -qE '^no +container .*, in a user namespace of its own' "$out/said"

exit $status
