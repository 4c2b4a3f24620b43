#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lists of JIT code that are too long, no lists, or no files: a recording ends in bounded time and memory, with status
# 0, and the names that can be had are had. (Whose list it may be, and the forms of lines, is in test_jit.sh.)
# timeout: 200
set -u
. tests/e2e/live.sh
lists=()
trap 'stop_loads; rm -f "${lists[@]}"; rm -rf "$tmp"' EXIT

if [ "$(uname -m)" != x86_64 ]; then
	skip "lists of JIT code" "the runtime in small is for x86-64"
	exit 0
fi
compile jit jit.c

start()
{
	load jit 300 "$1"
	list=/tmp/perf-$load.map
	lists+=("$list")
	for _ in $(seq 50); do
		[ ! -s "$list" ] || break
		sleep 0.1
	done
}

# with_list NAME [MIB]: one second of the runtime, whose list is what the test has made of it.
with_list()
{
	hostile "$1" "${2:-64}" 1 -p "$load" -d 1
}

by_list()
{
	named ';good outer function_\[j\];good hot_\[j\][; ]' "$1"
}

by_address()
{
	named ';\[anon[+]0x[0-9a-f]*\](_\[j\])?;\[anon[+]0x[0-9a-f]*\](_\[j\])?[; ]' "$1"
}

start good
cp "$list" "$TMPDIR/good"
with_list "a sound list"
by_list "a sound list"

# First and last: on a slow machine the time for a list may be over before its end.
{ cat "$TMPDIR/good"; yes '20000000 100 of something else' | head -n 10000000; cat "$TMPDIR/good"; } >"$list"
with_list "10 million lines"
by_list "10 million lines"

{ cat "$TMPDIR/good"; head -c 50M /dev/urandom; } >"$list"
with_list "50 MB of garbage"
by_list "50 MB of garbage"

{ cat "$TMPDIR/good"; printf '20000000 100 '; head -c 1000000000 /dev/zero | tr '\0' a; } >"$list"
with_list "a line of 1 GB"
by_list "a line of 1 GB"

cp "$TMPDIR/good" "$list"
truncate -s 10G "$list"
with_list "10 GB of nothing"
by_list "10 GB of nothing"

cp "$TMPDIR/good" "$list"
(while :; do cat "$TMPDIR/good"; done >>"$list") &
loads+=($!)
with_list "a list that grows and grows"
by_list "a list that grows and grows"
kill $!
wait $! 2>>"$log"

# Now empty, now there; by the shell itself: a child of its own would outlive it, and make the next case's list.
good=$(<"$TMPDIR/good")
(while :; do : >"$list"; printf '%s\n' "$good" >"$list"; done) &
loads+=($!)
with_list "a list that is written again and again"
kill $!
wait $! 2>>"$log"

for kind in "symbolic link" device folder "link to itself"; do
	rm -rf "$list"
	case $kind in
	"symbolic link") ln -s "$TMPDIR/good" "$list" ;;
	device) mknod "$list" c 1 5 ;;
	folder) mkdir "$list" ;;
	"link to itself") ln -s "$list" "$list" ;;
	esac
	with_list "a $kind for a list"
	by_address "a $kind for a list"
done
rm -rf "$list"

# Told once, not for each window.
cp "$TMPDIR/good" "$list"
chown nobody "$list"
"$bpfprof" -F 499 -p "$load" -d 3 -i 1s -o "$TMPDIR/out/w.folded" 2>"$TMPDIR/out/err" </dev/null
cat "$TMPDIR/out/err" >>"$log"
check "somebody else's list is told once in three windows" \
	is "$(grep -c "process $load: its perf map in /tmp belongs to another user" "$TMPDIR/out/err") == 1"

# As many as there may be processes: each list is given its second, but all of them together no more than a few.
rm "$list"
stop_loads
{ yes '20000000 100 of something else' | head -n 12000000; } >"$TMPDIR/long"
for _ in $(seq 24); do
	start good
	ln -f "$TMPDIR/long" "$list" 2>>"$log" || cp "$TMPDIR/long" "$list"
done
hostile "24 lists of 12 million lines" 64 2 --comm jit -a -d 2
exit $status
