#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 500
# JIT code has the names, and where they are known the lines, that its runtime lists in a jitdump, each as long as it
# was true; runtimes that write one, that come and go, and whose code lies in a memfd.
set -u
. tests/e2e/jit.sh

# The runtime in small: start it with options, and with a time to live.
small()
{
	local seconds=$1
	shift
	start ./jit "$seconds" "$@"
}

dumped='main;x dumped outer function_.j.;x dumped hot_.j. '

check_small()
{
	small 60 x dump
	record -p "$pid" && share "$dumped" && go tool pprof -raw x.pb.gz 2>/dev/null | grep -q 'x dumped hot /hot.js:42'
	result $? "a jitdump: names as of now, moved code, and lines"
	truncate -s 10G "jit-$pid.dump" && record -p "$pid" && share "$dumped"
	result $? "a jitdump of ten gigabytes"
	chown nobody "jit-$pid.dump"
	record -p "$pid" && share '\[anon[+]0x10000106?' &&
		[ "$(grep -c "process $pid: its jitdump belongs to another user" "$log")" = 1 ]
	result $? "a jitdump that somebody else owns is ignored, and said once"
	chown root "jit-$pid.dump" && rm "jit-$pid.dump" && mkfifo "jit-$pid.dump" && record -p "$pid" && share "$dumped"
	result $? "what is mapped counts, not the FIFO that has its name"
	stop
	small 60 x dump map
	record -p "$pid" && share 'main;x outer function_.j.;x dumped hot_.j. '
	result $? "a jitdump goes before a perf map, which names the rest"
	stop
	small 12 x dump change
	record -p "$pid" -d 6 -i 1 -o w.folded && cp w.1.folded x.folded && share "$dumped" && cp w.6.folded x.folded &&
		share 'main;x dumped outer function_.j.;x changed hot_.j. '
	result $? "code that changes has the name of its time"
	stop
}

check_memfd()
{
	small 60 x map memfd
	record -p "$pid" && share 'main;x outer function_.j.;x hot_.j. '
	result $? "code in a memfd, by the perf map"
	stop
	small 60 x dump memfd
	record -p "$pid" && share "$dumped"
	result $? "code in a memfd, by the jitdump"
	stop
}

# Those whose lists are begun after they have been seen, and which are gone, or have deleted them, by the end.
check_short_lived()
{
	small 6 x dump late deleted
	record -p "$pid" -d 20 && share "$dumped"
	result $? "a jitdump that is begun late and deleted, of a process that ends"
	stop
	small 7 x map late
	record -p "$pid" -d 20 && share 'main;x outer function_.j.;x hot_.j. '
	result $? "a perf map that is begun late, of a process that ends"
	stop
	small 5 x map deleted
	record -p "$pid" -d 20 && share 'main;x outer function_.j.;x hot_.j. ' && [ ! -e "/tmp/perf-$pid.map" ]
	result $? "a perf map that is deleted, of a process that ends"
	stop
}

check_node()
{
	cat >spin.js <<-'END'
		function hotJavaScript(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
		const end = Date.now() + 4000;
		while (Date.now() < end) hotJavaScript(1e6);
	END
	start node --perf-basic-prof spin.js
	(sleep 2.5 && exec rm "/tmp/perf-$pid.map") &
	pids+=($!)
	record -p "$pid" -d 20 && share 'hotJavaScript.*_.j. ' 0.5 && [ ! -e "/tmp/perf-$pid.map" ]
	result $? "Node ends during the recording, and its perf map is deleted"
	stop
	# It writes through a buffer of megabytes: the names are there when it has ended.
	start node --perf-prof spin.js
	record -p "$pid" -d 1 && grep -q 'have no names: its jitdump is whole only when it ends' "$log"
	result $? "Node's jitdump, as long as it is in a buffer"
	record -p "$pid" -d 20 && share 'hotJavaScript [^;]*spin.js:1:23_.j. ' 0.5
	result $? "Node's jitdump"
	stop
}

# python OPTION: the stacks with it lead from the process's start through all functions.
check_python()
{
	start "$python" -X "$1" spin.py
	record -p "$pid" -d 20 -F 499 &&
		share '^[^;]*;_start;.*;py::main_py:[^;]*_.j.;.*;py::middle_py:[^;]*_.j.;.*;py::hot_py:[^;]*spin.py_.j.;' 0.95
	result $? "CPython 3.13 -X $1: functions by name, from end to end"
	stop
}

check_advice()
{
	start "$python" spin.py
	first=$pid
	start "$python" spin.py
	record -p "$first,$pid" -i 1 -o w.folded &&
		[ "$(grep -c 'functions of Python programs are not named.*start python3.13 with -X perf' "$log")" = 1 ]
	result $? "CPython 3.13 that lists nothing: how to have its functions named, said once"
	stop
	start "$python" -X perf spin.py
	record -p "$pid" && ! grep -q 'of Python programs' "$log"
	result $? "CPython 3.13 that lists them: nothing is said"
	stop
}

cd "$tmp" || exit 1
if [ "$(id -u)" != 0 ]; then
	skip "jitdumps" "recording needs root"
	exit 0
fi
if [ "$(uname -m)" = x86_64 ] && build_jit; then
	check_small
	check_memfd
	check_short_lived
else
	skip "a runtime in small" "x86-64 and gcc only"
fi
if have node; then
	check_node
else
	skip "Node" "not installed"
fi
cat >spin.py <<'END'
import time

def hot_py(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) & 0xffffffff
    return x

def middle_py(n):
    return hot_py(n)

def main_py():
    end = time.time() + 4
    while time.time() < end:
        middle_py(100000)

main_py()
END
if python=$("$top/tools/private-python" 2>"$log"); then
	check_python perf
	check_python perf_jit
	check_advice
else
	skip "CPython 3.13" "its packages cannot be had"
fi
exit $status
