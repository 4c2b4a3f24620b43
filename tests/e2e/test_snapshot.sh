#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unwinder on stopped threads of real programs, and on their core files, against libdwfl and gdb
# (tests/bpfhost/snapshot.c).
# beside others, records nothing
set -u
. tests/e2e/cases.sh
snapshot=$BUILD/tests/snapshot
pid=
trap 'stop; rm -rf "$tmp"' EXIT
export DEBUGINFOD_URLS=

stop()
{
	[ -z "$pid" ] || { kill "$pid"; wait "$pid"; } 2>/dev/null
	pid=
}

figures()
{
	awk '/^(stacks|frames|equal|further|leaving|both_end) / { text = text " " $1 " " $2 } END { print "#" text }' "$log"
}

# Threads stopped while they run: the process $pid, 150 times.
check_live()
{
	"$snapshot" --pid "$pid" --rounds 150 >"$log" 2>&1
	result $? "$1, running"
	figures
}

# A core file of $pid. gdb and we need not agree on the leaf: of a thread in a system call ours
# stands on that instruction.
check_core()
{
	if ! have gcore; then
		skip "$1, core" "no gcore"
		return
	fi
	gcore -o "$tmp/core" "$pid" >"$log" 2>&1
	"$snapshot" --core "$tmp/core.$pid" --print >"$log" 2>&1
	result $? "$1, core"
	figures
	grep '^[0-9][0-9]* [0-9a-f]' "$log" | sed 's/ [0-9a-f]*//' | sort >"$tmp/ours"
	gdb -nx -batch -iex 'set debuginfod enabled off' -x tests/bpfhost/gdb_stacks.py "$2" \
		"$tmp/core.$pid" 2>"$tmp/gdb_errors" | grep '^[0-9][0-9]* [0-9a-f]' |
		sed 's/ [0-9a-f]*//' | sort >"$tmp/gdb"
	# Where gdb's stack is cut short, so is ours.
	awk 'NR == FNR { if (sub(/ \.\.\.$/, "")) cut[$1] = NF; next }
		$1 in cut { NF = cut[$1] } { print }' "$tmp/gdb" "$tmp/ours" >"$tmp/ours_cut"
	sed 's/ \.\.\.$//' "$tmp/gdb" >"$tmp/gdb_cut"
	[ -s "$tmp/ours" ] && diff "$tmp/ours_cut" "$tmp/gdb_cut" >"$log"
	result $? "$1, core, gdb"
	rm -f "$tmp/core.$pid"
}

case $(uname -m) in
x86_64) ;;
*)
	skip "stopped threads" "x86-64 only"
	exit 0
	;;
esac
if [ ! -x "$snapshot" ]; then
	result 1 "$snapshot is built (make bpfhost)"
	exit $status
fi

bash -c 'while :; do for i in 1 2 3 4 5; do x=$((i * 3)); y=${x/3/4}; [[ $y == 7* ]]; done; done' &
pid=$!
sleep 0.3
check_live bash
check_core bash "$(command -v bash)"
stop

python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
$python -c '
import json, re, threading
def run():
    while True:
        text = json.dumps({str(i): [i] * 5 for i in range(20)}, indent=1)
        sorted(re.findall(r"\d+", text), key=lambda word: (len(word), word))
threading.Thread(target=run, daemon=True).start()
run()' &
pid=$!
sleep 0.5
check_live python3
check_core python3 $python
stop

if g++ -O2 -pthread -o "$tmp/threads" tests/workloads/snap_threads.cpp 2>"$log"; then
	"$tmp/threads" &
	pid=$!
	sleep 0.3
	check_live 'C++ threads'
	check_core 'C++ threads' "$tmp/threads"
	stop
else
	skip "C++ threads" "no g++"
fi
exit $status
