#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ends a recording for the host's sake: --max-cpu, --max-memory, and root's file /run/bpfprof/stop. Each time the
# profile is whole, and the reason is in the summary, the ledger and the files.
# timeout: 240
set -u
. tests/e2e/live.sh
out=$TMPDIR/out
compile split split.c
load split 600

# stopped NAME REASON: in the books, which balance; the time is a part of the minute that was asked for.
stopped()
{
	"$helpers/check_stats" "$out/$1.json" 1 && python3 - "$out/$1.json" "$2" <<-'END2'
		import json, sys
		made = json.load(open(sys.argv[1]))
		stopped = made["stopped"]
		print(stopped, made["duration_s"])
		assert stopped["reason"] == sys.argv[2]
		assert made["duration_s"] < 60
		assert stopped["observed"] > stopped["allowed"] or sys.argv[2] == "stop_file"
	END2
}

# evident NAME TEXT: in the page as a browser makes it
evident()
{
	env -u LD_PRELOAD chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMPDIR/browser" --virtual-time-budget=3000 \
		--dump-dom "file://$out/$1.html" \
		2>>"$log" | grep -o -- "$2"
}

# ended NAME REASON TEXT ARG...: a recording of a minute that ends for REASON; its warning and its files say TEXT.
ended()
{
	local name=$1 reason=$2 text=$3
	shift 3
	record "$name" -o "$out/$name.html" -o "$out/$name.pb.gz" --force -d 60 "$@"
	verdict $? "$name: exit status 0"
	check "$name: the ledger has the reason, and balances" stopped "$name" "$reason"
	check "$name: pprof has it" holds_comment "$name" "\"reason\": \"$reason\""
	check "$name: a report of the file says it" says "$name.pb.gz" "$text"
	check "$name: the page says it" grep -q -- "$text" "$out/$name.html"
	check "$name: and its evidence" evident "$name" 'Stopped early</dt><dd>by its bound of '
}

holds_comment()
{
	zcat "$out/$1.pb.gz" | grep -aq -- "$(tr -d ' ' <<<"$2")" || zcat "$out/$1.pb.gz" | grep -aq -- "$2"
}

# lacks_stopped NAME: its ledger is there, and says nothing of an early end.
lacks_stopped()
{
	[ -s "$out/$1.json" ] && ! grep stopped "$out/$1.json"
}

# says FILE TEXT: what is made of the file by another run
says()
{
	"$bpfprof" convert "$out/$1" -o "$out/said.html" --force && grep -q -- "$2" "$out/said.html"
}

ended cpu max_cpu 'stopped by --max-cpu: it took ' -a -F 4999 --max-cpu 0.1
check "cpu: its samples are there" balanced cpu 20
check "cpu: the rest of them are the program's" has '^split;.*;main;deal_deck;' cpu 10
ended waits max_cpu 'stopped by --max-cpu: it took ' --wall -F 4999 --max-cpu 0.1
record bounded -a -F 99 --max-cpu 99 -d 1s
verdict $? "a bound that nothing reaches: exit status 0"
check "a bound that nothing reaches: nothing is stopped" lacks_stopped bounded
record unbounded -a -F 999 -d 1s
check "no bound: nothing is stopped" lacks_stopped unbounded
warns()
{
	"$bpfprof" --force -a -F 4999 --max-cpu 0.1 -d 60 -o "$out/warned.folded" 2>"$out/warned"
	cat "$out/warned"
	[ "$(grep -c 'stopped by --max-cpu: it took .* are allowed (a lower -F' "$out/warned")" = 1 ] &&
		[ "$(grep -c '^bpfprof: warning: ' "$out/warned")" = 1 ]
}
check "one line of warning names the reason and the fix" warns

# --- Memory: a library takes 100 MiB for us ---
cat >"$TMPDIR/hog.c" <<'END2'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *later(void *arg)
{
	char *mem = malloc(100 << 20);

	sleep(1);
	if (mem)
		memset(mem, 1, 100 << 20);
	return arg;
}
static void __attribute__((constructor)) hog(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, later, NULL);
}
END2
gcc -shared -fPIC -o "$TMPDIR/hog.so" "$TMPDIR/hog.c" >>"$log" 2>&1
verdict $? "the library that takes memory compiles"
if nm "$bpfprof" | grep -q __asan_init; then
	skip "memory" "a sanitizer counts its own"
else
	LD_PRELOAD=$TMPDIR/hog.so ended memory max_memory 'stopped by --max-memory: it took ' -a --max-memory 8M
	LD_PRELOAD=$TMPDIR/hog.so record enough -a --max-memory 512M -d 3s
	check "enough memory: nothing is stopped" lacks_stopped enough
fi

# --- root's file: in a mount name space of its own, so that no other recording of this machine is meant ---
export bpfprof out
# inside COMMAND...: with an empty /run
inside()
{
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /run && mkdir -m 755 /run/bpfprof && exec "$@"' sh "$@"
}

# shellcheck disable=SC2016 # the inner shell's
refuses='touch /run/bpfprof/stop; "$bpfprof" -q --force -o "$out/no.folded" -d 1 2>"$out/refused"; code=$?; cat "$out/refused"
	[ $code = 1 ] && [ ! -e "$out/no.folded" ] && grep -q "root.s file ./run/bpfprof/stop. is there (remove it" "$out/refused" &&
	[ "$(wc -l <"$out/refused")" = 1 ]'
# shellcheck disable=SC2016
ignores='touch /run/bpfprof/stop; chown 65534 /run/bpfprof/stop; "$bpfprof" --force -o "$out/yes.folded" -d 500ms -I 2>"$out/ignored"
	code=$?; cat "$out/ignored"; [ $code = 0 ] && grep -q "forbids nothing: it is not root.s alone to write" "$out/ignored"'
# shellcheck disable=SC2016
ends='"$bpfprof" --force -o "$out/file.folded" -o "$out/file.pb.gz" --stats "$out/file.json" -d 60 $* 2>"$out/file.err" & pid=$!
	sleep 2; touch /run/bpfprof/stop; wait $pid; code=$?; cat "$out/file.err"
	[ $code = 0 ] && grep -q "stopped by the file /run/bpfprof/stop (remove it" "$out/file.err"'
# shellcheck disable=SC2016
waits='"$bpfprof" --force -o "$out/late.folded" --stats "$out/late.json" -D 60 -d 60 2>"$out/late.err" & pid=$!
	sleep 1; touch /run/bpfprof/stop; wait $pid; cat "$out/late.err"; grep -q "stopped by the file" "$out/late.err"'
# shellcheck disable=SC2016
doctor='touch /run/bpfprof/stop; "$bpfprof" doctor; [ $? = 1 ] && "$bpfprof" doctor | grep "^FAIL *stop file\|stop file .*forbids recording"'
# shellcheck disable=SC2016
tops='"$bpfprof" top -b -d 60 >"$out/top" 2>&1 & pid=$!; sleep 2; touch /run/bpfprof/stop; wait $pid; grep "stopped by the file" "$out/top"'
if [ "$(id -u)" = 0 ] && inside true 2>>"$log"; then
	check "while the file is there: refused in one line, no file" inside sh -c "$refuses"
	check "another user's file forbids nothing, and that is said" inside sh -c "$ignores"
	check "a recording ends when it appears" inside sh -c "$ends" sh -a
	check "... with its reason" stopped file stop_file
	check "... and with what it saw" has '^split;' file 10
	check "a recording of waits does, too" inside sh -c "$ends" sh --wall
	check "... with its reason" stopped file stop_file
	check "a recording that has not begun does, too" inside sh -c "$waits"
	check "top does, too" inside sh -c "$tops"
	check "doctor says it, status 1" inside sh -c "$doctor"
else
	skip "the file that forbids recording" "no root, or no mount name space"
fi
exit $status
