#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where probes in programs and libraries are put: compared with nm and readelf, and put there, in this root and
# others, to count how often they are hit.
# timeout: 120
# beside others
set -u
. tests/e2e/cases.sh
target=$TMPDIR/target # a program and its library
root=$TMPDIR/root
t=$'\t'

# check NAME COMMAND...: the command succeeds. What it says is always shown.
check()
{
	local name=$1 ret
	shift
	"$@" >>"$log" 2>&1
	ret=$?
	result $ret "$name"
	[ $ret != 0 ] || show_log
	: >"$log"
}

sites()
{
	"$tmp/probe_sites" "$1" "${2:-0}"
}

# offset_of FILE VADDR: hexadecimal, without 0x.
offset_of()
{
	readelf -lW "$1" | awk -v vaddr="0x$2" '
		function hex(text,  i, value) {
			text = tolower(substr(text, 3))
			for (i = 1; i <= length(text); i++)
				value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return value + 0
		}
		$1 == "LOAD" && hex(vaddr) >= hex($3) && hex(vaddr) < hex($3) + hex($5) {
			printf "0x%x\n", hex(vaddr) - hex($3) + hex($2)
		}'
}

# says TEXT EVENT [PID]: refused, in one line that has TEXT.
says()
{
	local text=$1
	shift
	if sites "$@" >"$tmp/said" 2>&1; then
		echo "was not refused"
		cat "$tmp/said"
		return 1
	fi
	cat "$tmp/said"
	[ "$(wc -l <"$tmp/said")" = 1 ] && grep -qF -- "$text" "$tmp/said"
}

# at EVENT FILE SYMBOL...: exactly where nm has these symbols.
at()
{
	local event=$1 file=$2 symbol vaddr
	shift 2
	for symbol in "$@"; do
		for vaddr in $({ nm "$file"; nm -D "$file"; } 2>/dev/null |
			awk -v name="$symbol" '{ sub(/@.*/, "", $3) } $3 == name && !seen[$1]++ { print $1 }'); do
			offset_of "$file" "$vaddr"
		done
	done | sort -u >"$tmp/wanted"
	sites "$event" | cut -f1 | sort -u >"$tmp/got"
	cat "$tmp/wanted" "$tmp/got"
	[ -s "$tmp/wanted" ] && cmp "$tmp/wanted" "$tmp/got"
}

# stopped COMMAND...: run what stops itself: its pid is in $stopped.
stopped()
{
	"$@" 2>>"$log" &
	stopped=$!
	for _ in $(seq 100); do
		grep -q '^State:.T' "/proc/$stopped/status" 2>/dev/null && return
		sleep 0.05
	done
	echo "never stopped"
	return 1
}

# hits COUNT EVENT: that often while process $stopped runs to its end.
hits()
{
	timeout 30 "$tmp/probe_sites" --count "$2" "$stopped" >"$tmp/hits" 2>&1
	cat "$tmp/hits"
	kill -9 "$stopped" 2>/dev/null
	wait "$stopped" 2>/dev/null
	grep -qx "$1 hits" "$tmp/hits"
}

# At least that often: the dynamic linker and the C library are users too.
hits_at_least()
{
	hits "$1" "$2" || [ "$(awk '{ print $1 }' <(grep hits "$tmp/hits"))" -ge "$1" ]
}

# counts COUNT EVENT: of a fresh target in this root.
counts()
{
	stopped "$target/program" && hits "$1" "$2"
}

build_target()
{
	g++ -O2 -DLIBRARY -fPIC -shared -o "$target/libtarget.so.1" tests/e2e/probe_target.cpp &&
		g++ -O2 -fPIE -pie -o "$target/program" tests/e2e/probe_target.cpp "$target/libtarget.so.1" &&
		strip -o "$target/stripped" "$target/program" &&
		strip -o "$target/stripped.so" "$target/libtarget.so.1"
}

build_driver probe_sites tests/e2e/probe_sites.c
mkdir "$target"
check "a program and its library" build_target
[ $status = 0 ] || exit 1

# --- Names ---

libc=$(realpath "$(library_of libc.so "$(command -v sh)")")
for name in malloc free puts getenv write pthread_create regcomp; do
	check "libc: $name as nm has it" at "uprobe:libc:$name" "$libc" $name
done
check "libc is libc.so.6" grep -q "$libc" <(sites uprobe:libc:malloc)
check "libc.so.6 as well" grep -q "$libc" <(sites uprobe:libc.so.6:malloc)
check "a bare program's name" grep -q "/bash" <(sites uprobe:bash:main)
check "relative to the current folder" grep -q "$target/program" \
	<(cd "$target" && "$tmp/probe_sites" uprobe:./program:main 0)
check "a glob" at "uprobe:$target/program:work_*" "$target/program" work_100 work_200
check "a C++ method" at "uprobe:$target/program:net::Server::accept_50" "$target/program" _ZN3net6Server9accept_50Ei
check "a constructor" at "uprobe:$target/program:net::Server::Server" "$target/program" \
	_ZN3net6ServerC1Ei _ZN3net6ServerC2Ei
check "a mangled name" at "uprobe:$target/program:_ZN3net6Server4sendEl" "$target/program" _ZN3net6Server4sendEl
check "overloads are not guessed" says "2 functions, write one as" "uprobe:$target/program:net::Server::send"
# The second instruction of work_100, in bytes from its begin
second=$(objdump -d --no-show-raw-insn "$target/program" | awk '/<work_100>:/ { inside = 1; next }
	inside && ++line == 1 { first = $1 } inside && line == 2 { print first, $1; exit }' | tr -d : |
	{ read -r first next && printf '0x%x' $((0x$next - 0x$first)); })
check "an offset" grep -q "${t}work_100${t}$second${t}inside" <(sites "uprobe:$target/program:work_100+$second")
check "an offset into an instruction" says "in the middle of an instruction" "uprobe:$target/program:work_100+1"
check "an offset beyond the function" says "has only 0x" "uprobe:$target/program:work_100+0x4000"
vaddr=$(nm "$target/program" | awk '$3 == "work_200" { print $1 }')
check "an address" at "uprobe:$target/stripped:0x$vaddr" "$target/program" work_200
check "an address that is no code" says "is not in the code of" "uprobe:$target/program:0x10"
check "names are listed" diff <(printf 'work_100\nwork_200\n') \
	<("$tmp/probe_sites" --list "uprobe:$target/program:work_*" 0)

# --- What cannot be had ---

check "a wrong function" says "near it: work_100" "uprobe:$target/program:work_10"
check "a wrong C++ function" says "near it: net::Server::accept_50" "uprobe:$target/program:net::Server::acept_50"
check "a stripped program" says "names no function, it is stripped: 0xADDR works" "uprobe:$target/stripped:work_100"
check "a stripped library" says "it is stripped: 0xADDR, or a debug file, reaches the others; near it: lib_300" \
	"uprobe:$target/stripped.so:lib_301"
check "a wrong library" says "near it: libc" uprobe:libcc:malloc
check "a script" says "is a script: what runs is '/bin/" uprobe:/usr/bin/ldd:main
check "a text" says "is neither a program nor a library" uprobe:/etc/passwd:main
check "a folder" says "is a folder" uprobe:/usr/lib:main
mkfifo "$tmp/fifo"
check "a FIFO" says "is a FIFO" "uprobe:$tmp/fifo:main"
check "no such file" says "does not exist" "uprobe:$tmp/nothing:main"
check "no such process" says "there is no process 4194304" uprobe:libc:malloc 4194304
head -c 4 "$target/program" >"$tmp/32"
printf '\001' >>"$tmp/32"
tail -c +6 "$target/program" >>"$tmp/32"
check "a 32-bit program" says "32-bit" "uprobe:$tmp/32:main"
gcc -c -x c -o "$tmp/object.o" - <<<'int f(void) { return 1; }'
check "an object file" says "is an object file" "uprobe:$tmp/object.o:f"
check "no return probe in setjmp" says "would crash" uretprobe:libc:_setjmp
check "no return probe in _start" says "would crash" "uretprobe:$target/program:_start"
check "no return probe in the midst" says "where a function begins" "uretprobe:$target/program:work_100+4"
if have go; then
	printf 'package main\nfunc main() { println("") }\n' >"$tmp/main.go"
	HOME=$tmp GOFLAGS=-mod=mod go build -o "$tmp/gopher" "$tmp/main.go" >>"$log" 2>&1
	check "a Go function" at "uprobe:$tmp/gopher:main.main" "$tmp/gopher" main.main
	check "a Go method, whose name looks like a glob" at "uprobe:$tmp/gopher:runtime.(*mheap).grow" "$tmp/gopher" \
		'runtime.(*mheap).grow'
	check "no return probe in Go" says "stacks move" "uretprobe:$tmp/gopher:main.main"
fi

awk 'BEGIN { for (i = 0; i < 10000; i++) printf "int crowd_%d(void) { return %d; }\n", i, i
	print "int main(void) { return 0; }" }' >"$tmp/crowd.c"
gcc -O0 -o "$tmp/crowd" "$tmp/crowd.c" >>"$log" 2>&1
begin=$(date +%s%N)
check "10,000 functions" says "fits 10000 functions of" "uprobe:$tmp/crowd:crowd_*"
took_ms=$((($(date +%s%N) - begin) / 1000000))
echo "$took_ms ms" >>"$log"
check "are refused at once" test $took_ms -lt 2000

# --- USDT ---

# The notes as readelf has them: offset in the file, name, arguments.
notes()
{
	readelf -n "$1" | awk '
		/Provider:/ { provider = $2 } /Name:/ && provider { name = $2 }
		/Location:/ { sub(/,/, "", $2); pc = substr($2, 3) }
		/Arguments:/ { sub(/.*Arguments: */, ""); print pc, provider ":" name, $0; provider = "" }' |
		while read -r pc name args; do
			echo "$(offset_of "$1" "$pc") $name $args"
		done | sort
}

usdt_agrees()
{
	notes "$1" >"$tmp/wanted"
	cut -d' ' -f2 "$tmp/wanted" | sort -u | while IFS=: read -r provider name; do
		sites "usdt:$1:$provider:$name" | awk -F '\t' -v name="$provider:$name" '{ print $1, name, $6 }'
	done | sort >"$tmp/got"
	[ -s "$tmp/wanted" ] && diff "$tmp/wanted" "$tmp/got"
}
check "USDT: all places and arguments as readelf has them" usdt_agrees "$target/program"
check "USDT: libstdc++ as well" usdt_agrees "$(realpath "$(g++ -print-file-name=libstdc++.so.6)")"
check "USDT: the semaphore" grep -q "target:watched.*$(offset_of "$target/program" \
	"$(nm "$target/program" | awk '$3 == "watched_semaphore" { print $1 }')")" \
	<(sites "usdt:$target/program:target:watched" | sed 's/^/target:watched /')
check "USDT: a library without" says "has no USDT probes" "usdt:$target/libtarget.so.1:a:b"
check "USDT: a wrong name" says "near it: target:watched" "usdt:$target/program:target:watch"
check "USDT: names are listed" diff <(printf 'target:twice\ntarget:twice\n') \
	<("$tmp/probe_sites" --list "usdt:$target/program:*:tw*" 0)

# --- Probes that are put there ---

if [ ! -e /sys/bus/event_source/devices/uprobe/type ]; then
	skip "probes that are hit" "the kernel has no uprobe PMU"
	exit $status
fi
check "a function, counted" counts 100 "uprobe:$target/program:work_100"
check "a glob, counted" counts 300 "uprobe:$target/program:work_*"
check "a return probe, counted" counts 200 "uretprobe:$target/program:work_200"
check "a C++ method, counted" counts 50 "uprobe:$target/program:net::Server::accept_50"
check "a library by its bare name, counted" counts 300 uprobe:libtarget:lib_300
check "the program by its bare name, counted" counts 100 uprobe:program:work_100
check "USDT in two places, counted" counts 150 "usdt:$target/program:target:twice"
check "USDT that needs its semaphore, counted" counts 300 "usdt:program:target:watched"
stopped "$target/program"
check "strlen, an indirect function" hits_at_least 4000 uprobe:libc:strlen

# A library that an upgrade has replaced: the target still has the old one.
replaced()
{
	local ret
	cp -r "$target" "$target.kept"
	stopped "$target/program" || return
	rm "$target/libtarget.so.1"
	[ "$1" = deleted ] || cp "$target.kept/libtarget.so.1" "$target/libtarget.so.1"
	[ "$1" = deleted ] || touch "$target/libtarget.so.1"
	sites "$2" "$stopped"
	hits 300 "$2"
	ret=$?
	rm -rf "$target" && mv "$target.kept" "$target"
	return $ret
}
for what in deleted replaced; do
	check "a $what library by its bare name" replaced $what uprobe:libtarget:lib_300
	check "a $what library by its path" replaced $what "uprobe:$target/libtarget.so.1:lib_300"
done

# --- Other roots ---

if ! unshare --mount true 2>>"$log"; then
	skip "other roots" "no mount namespaces"
	exit $status
fi

# The same paths, other files; the library is behind a symbolic link that leads elsewhere in this root.
make_root()
{
	local file
	mkdir -p "$root/proc" "$root/etc" "$root$target" "$root/opt/real" "$root/bin"
	for file in $(ldd "$target/program" | grep -o '/[^ ]*'); do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file" || return
	done
	cp "$target/program" "$root/bin/inner"
	cp "$(command -v busybox)" "$root/bin/busybox"
	mv "$root$target/libtarget.so.1" "$root/opt/real/libtarget.so.1"
	ln -s /opt/real/libtarget.so.1 "$root$target/libtarget.so.1"
	ldconfig -r "$root"
}
PATH=$PATH:/usr/sbin:/sbin
check "what another root needs" make_root
as_chroot=(chroot "$root" /bin/inner)
as_container=(unshare --mount sh -c "mount --bind '$root' '$root' && cd '$root' && mkdir -p old && pivot_root . old && exec /bin/busybox chroot . /bin/inner")
for kind in chroot container; do
	declare -n command=as_$kind
	inside()
	{
		stopped "${command[@]}" && sites "$2" "$stopped" && hits "$1" "$2"
	}
	check "$kind: its program by path" inside 100 uprobe:/bin/inner:work_100
	check "$kind: its program by bare name" inside 100 uprobe:inner:work_100
	check "$kind: its library by bare name" inside 300 uprobe:libtarget:lib_300
	check "$kind: its library by a path with an absolute link" inside 300 \
		"uprobe:$target/libtarget.so.1:lib_300"
	check "$kind: USDT" inside 150 usdt:/bin/inner:target:twice
	stopped "${command[@]}"
	check "$kind: its libc is not ours" hits_at_least 4000 uprobe:libc:strlen
	stopped "${command[@]}"
	check "$kind: the program of this root is not there" says "does not exist" "uprobe:$target/program:main" "$stopped"
	check "$kind: a library of its cache" grep -q "/proc/$stopped/root/opt/real" <(sites uprobe:libtarget:lib_300 "$stopped")
	kill -9 "$stopped"
	wait "$stopped" 2>/dev/null
done
exit $status
