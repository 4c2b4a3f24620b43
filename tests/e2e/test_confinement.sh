#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Once it is set up, a recording has the capabilities that the rest takes, no_new_privs and a filter of system calls, in
# every thread; what it runs has none of that. So have the commands that read files.
# timeout: 240
# beside others
set -u
. tests/e2e/live.sh

out=$TMPDIR/out
theirs=$TMPDIR/theirs
nobody=65534
mkdir "$theirs"
chmod 755 "$theirs"
compile privileged privileged.c
compile split split.c
if ! gcc -O2 -o "$TMPDIR/bin/deny" "$workloads/deny.c" -lseccomp >>"$log" 2>&1; then
	verdict 1 "deny compiles"
	exit 1
fi

# bits NAME...: of the capabilities with these numbers, as /proc has them
bits()
{
	python3 -c 'import sys; print("%016x" % sum(1 << int(nr) for nr in sys.argv[1:]))' "$@"
}
# DAC_READ_SEARCH, SYS_PTRACE, SYS_NICE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE
run=$(bits 2 19 23 34 38 39 40)
# with CHOWN, DAC_OVERRIDE, FOWNER; with KILL
run_for_others=$(bits 0 1 3 2 19 23 34 38 39 40)
stopper=$(bits 0 1 3 5)
reader=$(bits 0 1 2 3)

# threads PID: "PERMITTED NO_NEW_PRIVS SECCOMP" of each thread, each kind once
threads()
{
	awk 'FNR == 1 { if (caps != "") print caps, nnp, mode; caps = "" }
		/^CapPrm:/ { caps = $2 } /^NoNewPrivs:/ { nnp = $2 } /^Seccomp:/ { mode = $2 }
		END { print caps, nnp, mode }' /proc/"$1"/task/*/status 2>/dev/null | sort -u
}

# becomes PID LINE...: the threads are soon of these kinds, all of them and no other.
becomes()
{
	local pid=$1 wanted
	shift
	wanted=$(printf '%s\n' "$@" | sort)
	for _ in $(seq 100); do
		[ "$(threads "$pid")" != "$wanted" ] || return 0
		sleep 0.1
	done
	echo "wanted: $wanted"
	echo "are: $(threads "$pid")"
	return 1
}

# confined NAME LINES ARG...: a recording whose threads become of these kinds, and which ends well.
confined()
{
	local name=$1 lines=$2 pid
	shift 2
	"$bpfprof" "$@" >"$out/said" 2>&1 </dev/null &
	pid=$!
	# shellcheck disable=SC2086 # lines
	check "$name: every thread" eval "becomes $pid $lines"
	kill -INT $pid
	wait $pid
	verdict $? "$name: it ends well"
	sed 's/^/# /' "$out/said" >>"$log"
}

# --- COMMAND ---

# command_status NAME: the line of /proc/PID/status of a COMMAND
command_status()
{
	"$bpfprof" -q --force -o "$out/x.folded" -- grep "^$1:" /proc/self/status
}
for line in CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp; do
	check "COMMAND has its caller's $line" [ "$(command_status $line)" = "$(grep "^$line:" /proc/self/status)" ]
done
check "... and limits" [ "$("$bpfprof" -q --force -o "$out/x.folded" -- sh -c 'ulimit -n')" = "$(ulimit -n)" ]

if [ "$(id -u)" != 0 ]; then
	skip "confinement" "no root to give anything up"
	exit "$status"
fi
if ! "$bpfprof" -q -d 100ms -f >/dev/null 2>&1; then
	skip "confinement" "recording does not work here"
	exit "$status"
fi
# A recording's folder is another user's under sudo; this one is root's.
cd "$out" || exit 1

chmod 4755 "$TMPDIR/bin/privileged"
for command in "record -q --force -o $out/x.folded" "stat -o /dev/null" "top -b -n 1"; do
	# shellcheck disable=SC2086 # words
	check "${command%% *}: a setuid program is one" [ "$(SUDO_UID=$nobody SUDO_GID=$nobody "$bpfprof" $command -- \
		"$TMPDIR/bin/privileged" | grep -xE '[0-9 ]+')" = "$nobody 0 0 0" ]
done
seen=$(SUDO_UID=$nobody SUDO_GID=$nobody "$bpfprof" compare -n 1 --show-output -- \
	"$TMPDIR/bin/privileged" --- "$TMPDIR/bin/privileged" 2>>"$log" | grep -cx "$nobody 0 0 0")
check "compare: in both runs" is "$seen == 2"

# --- What we are left with ---

confined "record" "'$run 1 2' '$stopper 1 2'" -q -d 60 --force -o a.pb.gz
confined "record --off-cpu" "'$run 1 2' '$stopper 1 2'" -q --off-cpu -d 60 --force -o b.pb.gz
confined "record of a uprobe" "'$run 1 2' '$stopper 1 2'" -q -e uprobe:libc:malloc -c 1000 -d 60 --force -o c.pb.gz
bash -c 'while :; do x+=1 x=${x:0:9}; done' &
pid=$!
confined "record --heap" "'$run 1 2' '$stopper 1 2'" -q --heap -p $pid -d 60 --force -o d.pb.gz
kill $pid
confined "top" "'$run 1 2' '$stopper 1 2'" top -b -d 60
confined "stat" "'$run 1 2' '$stopper 1 2'" stat -a -d 60
chown $nobody:$nobody "$theirs"
confined "into a folder of another user" "'$run_for_others 1 2' '$run 1 2' '$stopper 1 2'" -q -d 60 --force -o "$theirs/a.pb.gz"

# Through sudo: their files, window by window, and signals to what runs as them.
SUDO_UID=$nobody SUDO_GID=$nobody "$bpfprof" -q -d 3 -i 1 --force -o "$theirs/w%n.folded" --stats "$theirs/w.json" 2>>"$log"
verdict $? "through sudo"
check "... the files of all windows are theirs" [ "$(stat -c %u "$theirs"/w*.folded "$theirs/w.json" | tr '\n' ' ')" = \
	"$nobody $nobody $nobody $nobody " ]
SUDO_UID=$nobody SUDO_GID=$nobody "$bpfprof" -q --force -o x.folded -- sleep 60 &
pid=$!
for _ in $(seq 100); do
	child=$(pgrep -x -P $pid sleep) && [ -e "/proc/$child" ] && threads $pid | grep -q ' 1 2$' && break
	sleep 0.1
done
kill -TERM $pid
wait $pid
code=$?
check "SIGTERM reaches what runs as another user" is "$code == 128 + 15"

# --- Who reads files ---

mkfifo fifo
for command in "report" "convert -o r.svg --force" "symbolize -o r.pb.gz --force" "diff"; do
	# shellcheck disable=SC2086 # words
	"$bpfprof" $command fifo $([ "$command" = diff ] && echo a.pb.gz) >"$out/said" 2>&1 &
	pid=$!
	check "${command%% *}: before it reads" becomes $pid "$reader 1 2"
	printf 'main;work 3\n' >fifo
	wait $pid
	verdict $? "... and it works"
done

# A fleet's store that takes the question and does not answer.
python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0]
client.recv(1)
open("asked", "w").close()
client.recv(1 << 20)
import time
time.sleep(60)' >port &
server=$!
loads+=("$server")
for _ in $(seq 100); do
	[ ! -s port ] || break
	sleep 0.1
done
"$bpfprof" query top --store "clickhouse://127.0.0.1:$(cat port)/fleet" >"$out/said" 2>&1 &
pid=$!
for _ in $(seq 100); do
	[ ! -e asked ] || break
	sleep 0.1
done
check "query: when it has asked a fleet's store" becomes $pid "$reader 1 2"
kill "$server"
wait $pid
check "... whose end it tells" [ $? = 1 ]

# --- Without seccomp ---

"$bpfprof" -v -d 100ms --force -o n.folded 2>"$out/said"
check "-v tells of it" grep -qxF 'bpfprof: from here on no program is executed and no process traced: the kernel refuses; nor is the network used' \
	"$out/said"
deny prctl=EINVAL seccomp=ENOSYS -- "$bpfprof" -v -d 100ms --force -o n.folded 2>"$out/said"
verdict $? "a kernel without seccomp: it records"
check "... and says so" grep -qE '^bpfprof: system calls are not restricted, because this kernel has no seccomp filters for us: ' "$out/said"
"$bpfprof" doctor >"$out/said"
check "doctor: it is there" grep -qE '^ok +system call filter ' "$out/said"
deny seccomp=ENOSYS -- "$bpfprof" doctor >"$out/said"
verdict $? "doctor: recording works without"
check "... and says that it is not there" grep -qE '^no +system call filter ' "$out/said"

exit $status
