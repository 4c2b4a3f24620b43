#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JIT code has the names that its runtime lists in /tmp/perf-PID.map, process by process.
set -u
. tests/e2e/jit.sh
if [ "$(id -u)" != 0 ]; then
	skip "names of JIT code" "recording needs root"
	exit 0
fi

# --- A runtime in small ---
if [ "$(uname -m)" = x86_64 ] && build_jit; then
	start ./jit 60 first
	first=$pid
	start ./jit 60 second
	record -p "$first" && share '^jit;.*;main;first outer function_\[j\];first hot_\[j\] ' && ! grep -q warning "$log"
	result $? "its functions are named, the last line of the list holds"
	record -p "$pid,$first" &&
		share '^jit;.*;main;(first outer function_.j.;first hot|second outer function_.j.;second hot)_.j. ' &&
		[ "$(grep -c 'first hot' x.folded)" -ge 1 ] && [ "$(grep -c 'second hot' x.folded)" -ge 1 ]
	result $? "two processes with other code at the same address"
	go tool pprof -raw x.pb.gz 2>/dev/null | grep -q "//anon:$first" &&
		"$BUILD/bpfprof" convert --annotate --force x.pb.gz -o again.folded 2>>"$log" &&
		[ "$(sort x.folded)" = "$(sort again.folded)" ]
	result $? "pprof keeps them apart, and reads them back"
	chown nobody "/tmp/perf-$first.map"
	record -p "$first" && share '\[anon[+]0x10000106?' && grep -q "process $first: its perf map.*belongs to another user" "$log"
	result $? "a list that somebody else owns is ignored, and said"
	rm -f "/tmp/perf-$first.map"
	mkfifo "/tmp/perf-$first.map"
	record -p "$first" && share '\[anon[+]0x'
	result $? "a FIFO in its place holds nothing up"
	stop
	# Its own /tmp, and 1 for its pid.
	start unshare --mount --pid --fork sh -c 'exec 9<"$0"; mount -t tmpfs none /tmp && exec /proc/self/fd/9 60 inside' \
		./jit
	record -p "$(pgrep -P "$pid")" && share 'inside outer function_.j.;inside hot_.j. '
	result $? "in a container the list is the container's"
	kill -KILL "$(pgrep -P "$pid")" # the first process there: it ignores SIGTERM, and unshare does
	stop
	start timeout 3 ./jit 60 gone
	child=$(pgrep -P "$pid")
	lists+=("/tmp/perf-$child.map")
	record -p "$child" -d 10 && share 'gone outer function_.j.;gone hot_.j. '
	result $? "a process that is gone by the end"
	stop
else
	skip "a runtime in small" "x86-64 and gcc only"
fi

# --- Runtimes ---
cat >spin.js <<'END'
function hotJavaScript(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
const end = Date.now() + 60000;
while (Date.now() < end) hotJavaScript(1e6);
END
if have node; then
	start node --perf-basic-prof spin.js
	record -p "$pid" && share 'hotJavaScript.*_.j. ' 0.5
	result $? "Node: functions by name"
	stop
	start node spin.js
	first=$pid
	start node spin.js
	record -p "$first,$pid" -i 1 -o w.folded && cat w.*.folded >x.folded && share '\[anon[+]0x' 0.5 &&
		[ "$(grep -c 'of node (pid [0-9]*, and 1 more) have no names: start it with --perf-basic-prof' "$log")" = 1 ]
	result $? "Node without a list: how to get one, said once"
	stop
else
	skip "Node" "not installed"
fi
cat >Spin.java <<'END'
public class Spin {
	static int sink;
	static int hotJava(int n) { int x = 0; for (int i = 0; i < n; i++) x = x * 31 + i; return x; }
	public static void main(String[] args) {
		long end = System.currentTimeMillis() + 60000;
		while (System.currentTimeMillis() < end) sink += hotJava(1000000);
	}
}
END
if have javac && have jcmd; then
	javac Spin.java 2>"$log"
	start java -XX:+PreserveFramePointer -cp . Spin
	sleep 2
	jcmd "$pid" Compiler.perfmap >"$log" 2>&1
	record -p "$pid" && share 'Spin.hotJava|Spin.main' 0.5
	result $? "OpenJDK: compiled methods by name"
	stop
else
	skip "OpenJDK" "not installed"
fi
exit $status
