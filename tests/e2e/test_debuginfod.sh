#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Symbols from a debuginfod server by the real libdebuginfod: of a good server, and of bad ones, none of which may
# hold a recording up for longer than is promised.
# timeout: 240
set -u
# What is kept of names is the test's own, while it runs.
if [ -z "${OWN_NAMES:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_NAMES=1 exec unshare --mount --propagation private bash "$0"
fi
[ -z "${OWN_NAMES:-}" ] || { mkdir -p /var/cache/bpfprof && mount -t tmpfs -o mode=755 none /var/cache/bpfprof; }
. tests/e2e/live.sh

server=$TMPDIR/server
WAIT_S=10 # what a recording waits at most
hot='^split_off;.*;main;chain::drive\(chain::crank&, unsigned long\);chain::crank::wind\(unsigned long\)_\[i\];unsigned long chain::turn<3u>\(unsigned long\)_\[i\] '
bare='^split_off;.*\[split_off[+]0x[0-9a-f]*\] '

mkdir -p "$server/files"
: >"$server/requests"
load python3 tests/e2e/debuginfod_server.py "$server"
for _ in $(seq 50); do
	[ -e "$server/port" ] && break
	sleep 0.1
done
url=http://127.0.0.1:$(cat "$server/port")

# strip_off NAME: of a program made by compile: what debuginfod would have goes to the server; its build-id is in $id.
strip_off()
{
	id=$(LC_ALL=C readelf -n "$TMPDIR/bin/$1" | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] && mkdir -p "$server/files/$id" &&
		cp "$TMPDIR/bin/$1" "$server/files/$id/executable" &&
		objcopy --only-keep-debug "$TMPDIR/bin/$1" "$server/files/$id/debuginfo" &&
		strip --strip-all "$TMPDIR/bin/$1"
}

# serve MODE: from now on, with nothing in the client's cache, in ours, and in the list of requests.
serve()
{
	echo "$1" >"$server/mode"
	: >"$server/requests"
	rm -rf "$TMPDIR/cache"
	forget_names
}

# asked [BUILD-ID]: how often the server was asked for that (default: the program's) debug file.
asked()
{
	grep -c "^/buildid/${1:-$id}/debuginfo$" "$server/requests"
}

# fetching NAME ARG...: record NAME with these arguments and the server; what is said goes to out/NAME.said, the time
# it took to $took_ms.
fetching()
{
	local name=$1 begin code
	shift
	begin=$(date +%s%3N)
	DEBUGINFOD_URLS=${urls:-$url} DEBUGINFOD_CACHE_PATH=$TMPDIR/cache timeout 60 "$bpfprof" --force --annotate \
		-F 499 -o "$TMPDIR/out/$name.folded" "$@" >/dev/null 2>"$TMPDIR/out/$name.said" </dev/null
	code=$?
	took_ms=$(($(date +%s%3N) - begin))
	{ echo "bpfprof $* -> $code after $took_ms ms"; grep debuginfod "$TMPDIR/out/$name.said"
		cat "$server/requests"; } >>"$log"
	return $code
}

says()
{
	grep -E "$2" "$TMPDIR/out/$1.said" && return
	cat "$TMPDIR/out/$1.said"
	return 1
}

is_silent()
{
	! grep -i debuginfod "$TMPDIR/out/$1.said"
}

compile split_off chain.cpp
strip_off split_off >>"$log" 2>&1
verdict $? "a program is stripped, its debug file is on the server"

# --- A good server ---

serve ok
env DEBUGINFOD_CACHE_PATH="$TMPDIR/cache" "$bpfprof" -q --force -F 499 --annotate -o "$TMPDIR/out/unset.folded" \
	-- split_off 1 >>"$log" 2>&1
verdict $? "without the variable: recorded"
check "without the variable: no names" has "$bare" unset 50
urls=' ' fetching empty -- split_off 0.3
verdict $? "with an empty variable: recorded"
check "without servers nothing is asked" [ ! -s "$server/requests" ]
check "without servers there is no cache" [ ! -e "$TMPDIR/cache" ]

fetching ok -- split_off 1
verdict $? "a good server: recorded"
check "a good server: names, lines and inlined calls" has "$hot" ok 50
check "a good server: it is asked once" [ "$(asked)" = 1 ]
check "a good server: nothing is said" is_silent ok
fetching again -- split_off 1
check "the second recording: names" has "$hot" again 50
check "the second recording asks nothing again" [ "$(asked)" = 1 ]

serve ok
fetching unwanted --no-symbols -- split_off 0.3
check "--no-symbols asks nothing" [ ! -s "$server/requests" ]
compile whole chain.cpp
whole_id=$(LC_ALL=C readelf -n "$TMPDIR/bin/whole" | sed -n 's/.*Build ID: //p')
fetching whole -- whole 0.5
check "what is not stripped is not asked for" [ "$(asked "$whole_id")" = 0 ]
objcopy --only-keep-debug "$TMPDIR/bin/whole" "$TMPDIR/bin/local.debug" &&
	objcopy --strip-all --add-gnu-debuglink="$TMPDIR/bin/local.debug" "$TMPDIR/bin/whole" "$TMPDIR/bin/local"
fetching local -- local 1
check "what has a debug file here is not asked for" [ "$(asked "$whole_id")" = 0 ]
check "what has a debug file here has names" has ';main;chain::drive' local 20

serve ok
fetching windows -i 400ms -o "$TMPDIR/out/w-%n.folded" -- split_off 2
cat "$TMPDIR"/out/w-*.folded >"$TMPDIR/out/w.folded"
check "windows: the later ones have the names" has "$hot" w 50
check "windows: asked once" [ "$(asked)" = 1 ]

# --- A server that has nothing ---

serve 404
fetching missing -- split_off 1
verdict $? "404: recorded"
check "404: no names" has "$bare" missing 50
check "404: no news" is_silent missing
fetching missing_again -- split_off 1
check "404: asked once in two recordings" [ "$(asked)" = 1 ]

# --- What is not what was asked for ---

serve ok
cp "$server/files/$id/debuginfo" "$TMPDIR/right"
compile other threads.c -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567
objcopy --only-keep-debug "$TMPDIR/bin/other" "$server/files/$id/debuginfo"
fetching wrong -- split_off 1
verdict $? "another program's file: recorded"
check "another program's file: refused" has "$bare" wrong 50
check "another program's file: said in one line" [ "$(grep -c 'refused.* sent for split_off$' "$TMPDIR/out/wrong.said")" = 1 ]
cp "$TMPDIR/right" "$server/files/$id/debuginfo"
fetching righted -- split_off 1
check "another program's file does not stay in the cache" has "$hot" righted 50

serve garbage
fetching garbage -- split_off 1
verdict $? "garbage: recorded"
check "garbage: refused" has "$bare" garbage 50
check "garbage: said in one line" says garbage 'refused.* sent for split_off$'

serve truncated
fetching truncated -- split_off 1
verdict $? "a truncated file: recorded"
check "a truncated file: no names from it" has "$bare" truncated 50

serve aborted
fetching aborted -- split_off 1
verdict $? "an aborted answer: recorded"
check "an aborted answer: no names from it" has "$bare" aborted 50

serve huge
fetching huge -- split_off 1
verdict $? "more than 2 GiB: recorded"
check "more than 2 GiB: said" says huge 'did not arrive \(File too large\): symbols of split_off'
check "more than 2 GiB: not fetched" is "$(du -sk "$TMPDIR/cache" | cut -f1) < 100000 && $took_ms < $WAIT_S * 1000"

serve ok
mkdir -p "$TMPDIR/cache/$id"
ln -s "$TMPDIR/right" "$TMPDIR/cache/$id/debuginfo"
fetching linked -- split_off 1
check "a symbolic link in the cache is not followed" has "$bare" linked 50
check "a symbolic link in the cache: its target stays" [ -s "$TMPDIR/right" ]

# --- Servers that take their time ---

serve hanging
fetching hanging -- split_off 1
verdict $? "a hanging server: recorded"
check "a hanging server: no names" has "$bare" hanging 50
check "a hanging server holds up for ten seconds" is "$took_ms > $WAIT_S * 1000 && $took_ms < ($WAIT_S + 4) * 1000"
check "a hanging server: one line says what did not arrive" \
	[ "$(grep -c 'did not arrive (not in time): symbols of .*split_off' "$TMPDIR/out/hanging.said")" = 1 ]
echo ok >"$server/mode"
fetching recovered -- split_off 1
check "a question that was cut short is no answer: the next recording has the names" has "$hot" recovered 50

# interrupted NAME ARG...: as fetching, beside the test; its pid is in $recorder.
interrupted()
{
	local name=$1
	shift
	DEBUGINFOD_URLS=$url DEBUGINFOD_CACHE_PATH=$TMPDIR/cache "$bpfprof" --force --annotate -F 499 \
		-o "$TMPDIR/out/$name.folded" "$@" >/dev/null 2>"$TMPDIR/out/$name.said" </dev/null &
	recorder=$!
}

serve slow
load split_off 30
interrupted slow -p "$load"
sleep 2
kill -INT "$recorder"
sleep 2
begin=$(date +%s%3N)
[ ! -e "$TMPDIR/out/slow.folded" ] && kill -INT "$recorder" && wait "$recorder"
verdict $? "a slow server: Ctrl-C ends the recording, a second one the wait, and the exit status is 0"
check "a slow server: at once" is "$(date +%s%3N) - $begin < 3000"
check "a slow server: the profile is there" has "$bare" slow 50
stop_loads_but_server()
{
	kill "$load"
	wait "$load"
} 2>/dev/null
stop_loads_but_server

# --- Servers that do not answer ---

serve ok
urls=http://127.0.0.1:9 fetching dead -- split_off 1
verdict $? "nobody listens: recorded"
check "nobody listens: nothing is waited for at the end" is "$took_ms < $WAIT_S * 1000"
check "nobody listens: said" says dead 'did not arrive \(Connection refused\): symbols of split_off'

# A name server that hears and says nothing: the library cannot be called back while it waits for it.
cat >"$TMPDIR/bin/nameless" <<'END'
#!/bin/sh
# nameless COMMAND...: with a network and a mount namespace of its own
busybox ip link set lo up && echo 'nameserver 127.0.0.1' >"$TMPDIR/resolv.conf" &&
	mount --bind "$TMPDIR/resolv.conf" /etc/resolv.conf || exit 1
rm -f "$TMPDIR/silent"
python3 -c 'import socket, sys, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53)); open(sys.argv[1], "w"); time.sleep(60)' "$TMPDIR/silent" &
for _ in $(seq 100); do [ -e "$TMPDIR/silent" ] || sleep 0.1; done
"$@"
code=$?
kill $!
exit $code
END
chmod +x "$TMPDIR/bin/nameless"
plain_bpfprof=$bpfprof
serve ok
bpfprof=recorder
printf '#!/bin/sh\nexec unshare --mount --net nameless "%s" "$@"\n' "$plain_bpfprof" >"$TMPDIR/bin/recorder"
chmod +x "$TMPDIR/bin/recorder"
urls=http://symbols.example fetching nameless -- split_off 1
verdict $? "a silent name server: recorded"
bpfprof=$plain_bpfprof
check "a silent name server: holds up for ten seconds, and two for the library" is "$took_ms < ($WAIT_S + 6) * 1000"
check "a silent name server: said" says nameless 'did not arrive \(not in time\): symbols of split_off'
fetching named -- split_off 1
check "a silent name server is no answer: the next recording has the names" has "$hot" named 50

# Each with a build-id of its own, and one after the other.
serve hanging
programs=()
for i in 1 2 3 4 5 6 7 8 9; do
	compile "stripped_$i" chain.cpp "-Wl,--build-id=0xabcdef000000000000000000000000000000000$i"
	strip_off "stripped_$i" >>"$log" 2>&1 || verdict 1 "stripped_$i is stripped"
	programs+=("stripped_$i 0.7;")
done
DEBUGINFOD_TIMEOUT=1 fetching timeouts -- sh -c "${programs[*]}"
verdict $? "timeouts: recorded"
check "timeouts: nobody is asked any more after two" \
	is "$(grep -c 'abcdef0*[1-5]/' "$server/requests") >= 2 && $(grep -c 'abcdef0*[6-9]/' "$server/requests") == 0"
check "timeouts: nothing is waited for at the end" is "$took_ms < 10500"
check "timeouts: said in one line" says timeouts 'did not arrive \(Connection timed out\): symbols of .* and [0-9]+ more$'

# --- No library ---

serve ok
mkdir "$TMPDIR/lib"
: >"$TMPDIR/lib/libdebuginfod.so.1"
LD_LIBRARY_PATH=$TMPDIR/lib fetching alone -- split_off 1
verdict $? "no library: recorded"
check "no library: one line names the package" [ "$(grep -c libdebuginfod1 "$TMPDIR/out/alone.said")" = 1 ]
check "no library: nothing is asked" [ ! -s "$server/requests" ]
exit $status
