# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced from the top of the tree by the tests that are scripts: where the build and the temporary files are, and
# how a case is told. What a case says goes to $log, which is shown when it fails; the test ends with `exit $status`.

# shellcheck disable=SC2034 # for the test
top=$PWD
BUILD=$(realpath -m "${BUILD:-build}")
tmp=$(mktemp -d) || exit 1
# What the programs of a test leave behind goes with the rest.
TMPDIR=$tmp
export BUILD TMPDIR
# A login shell may name servers for symbols: no test asks them.
unset DEBUGINFOD_URLS
log=$tmp/log
status=0

: >"$log"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' TERM INT

# The log as comments: its beginning and its end.
show_log()
{
	awk '{ line[NR] = substr($0, 1, 300) }
	END {
		for (i = 1; i <= NR; i++)
			if (i <= 20 || i > NR - 40)
				print "# " line[i]
			else if (i == 21)
				print "# ..."
	}' "$log"
}

# result STATUS NAME: one case, which holds when STATUS is 0.
result()
{
	if [ "$1" = 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		show_log
		status=1
	fi
}

skip()
{
	echo "skip - $1: $2"
}

have()
{
	command -v "$1" >/dev/null
}

# --- The program, its stores, its servers ---

bp()
{
	"$BUILD/bpfprof" "$@"
}

# forget_cursors STORE...: they are shipped again from the start, everywhere.
forget_cursors()
{
	for forgetful; do
		python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("UPDATE sink SET seq=0")
store.commit()' "$forgetful" || return
	done
}

# free_ports COUNT STEP: that many ports, behind each of which STEP - 1 others are free, too. Not of the range that
# connections of other programs take theirs from: one would be taken before its server begins.
free_ports()
{
	python3 -c '
import random, socket, sys
count, step = map(int, sys.argv[1:])
with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
    end = int(file.read().split()[0])
held = []
while count:
    port = random.randrange(end // 3, end - step)
    try:
        held += [socket.create_server(("127.0.0.1", port + i)) for i in range(step)]
    except OSError:
        continue
    print(port)
    count -= 1' "$@"
}

# A port that is free now, and the one behind it.
free_port()
{
	free_ports 1 2
}

# bpfprof_into STATUS NAME ARG...: stdout into $out/NAME, stderr into $out/NAME.err, and that exit status.
bpfprof_into()
{
	wanted=$1 into=$2
	shift 2
	"$BUILD/bpfprof" "$@" >"$out/$into" 2>"$out/$into.err"
	code=$?
	echo "bpfprof $* -> $code"
	cat "$out/$into" "$out/$into.err"
	[ $code = "$wanted" ]
}

# holds NAME COMMAND...: one case, which is that the command succeeds; the log is its alone.
holds()
{
	case_name=$1
	shift
	: >"$log"
	"$@" >>"$log" 2>&1
	result $? "$case_name"
}

# told REGEX NAME: $out/NAME has a line that matches.
told()
{
	grep -qE -- "$1" "$out/$2" && return
	cat "$out/$2"
	return 1
}

# content FOLDER: every file's name, and a hash of it.
content()
{
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

# The path of the shared library $1 that the program $2 loads.
library_of()
{
	ldd "$2" 2>/dev/null | awk -v name="$1" 'index($1, name) { print $3; exit }'
}

# forget_names: what is kept of names from earlier runs (root's cache).
forget_names()
{
	rm -rf /var/cache/bpfprof/names
}

# build_driver NAME ARG...: the test's own program into $tmp/NAME, as a case; without it the test ends. ARGs are
# sources, and the options that only they need.
build_driver()
{
	driver=$tmp/$1
	shift
	# One that is linked with sanitizers needs them too.
	nm "$BUILD/libbpfprof.a" 2>/dev/null | grep -q __asan_init && set -- -fsanitize=address,undefined "$@"
	# shellcheck disable=SC2086 # a list of options
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -iquote user -iquote tests/e2e -idirafter include -o "$driver" "$@" \
		"$BUILD/libbpfprof.a" ${LDFLAGS:-} -lelf -llzma -lcjson -lxxhash -lz -lpthread -ldl >"$log" 2>&1
	result $? "the driver builds"
	[ $status = 0 ] || exit 1
}
