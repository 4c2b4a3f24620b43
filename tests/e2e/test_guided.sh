#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles for compilers, recorded: clang finds the hot function's counts in an AutoFDO text, inlined calls where they
# are; Go inlines, and calls directly, what was hot, and again when what it made of that is recorded.
# timeout: 400
# beside others
set -u
. tests/e2e/live.sh
. tests/e2e/guided.sh
tmp=$TMPDIR

cat >"$tmp/shop.cpp" <<'END'
#include <stdlib.h>
namespace shop
{
static inline unsigned mix(unsigned value)
{
	value ^= value << 13;
	value ^= value >> 17;
	return value ^ value << 5;
}
__attribute__((noinline)) unsigned rare(unsigned value)
{
	return value * 3;
}
__attribute__((noinline)) unsigned hot(unsigned rounds, unsigned seed)
{
	unsigned value = seed | 1;
	for (unsigned i = 0; i < rounds; i++) {
		value = mix(value);
		if (value == 7)
			value = rare(value);
	}
	return value;
}
}
int main(int argc, char **argv)
{
	unsigned sum = 1;
	for (int i = 0; i < atoi(argv[1]); i++)
		sum += shop::hot(1000000, sum);
	return sum == 2;
}
END

# total_of FUNCTION, lines_of FUNCTION: its total in the text; of the lines in it, nested ones too.
total_of()
{
	sed -n "s/^$1:\([0-9]*\):0\$/\1/p" "$tmp/out/hot.afdo.txt"
}
lines_of()
{
	awk -v name="$1" '/^[^ #]/ { inside = index($0, name ":") == 1 }
		inside && /^ +[0-9]+: [0-9]+$/ { sum += $2 } END { print sum + 0 }' "$tmp/out/hot.afdo.txt"
}

# most_of FUNCTION: the most that a line in it has, nested ones too.
most_of()
{
	awk -v name="$1" '/^[^ #]/ { inside = index($0, name ":") == 1 }
		inside && /^ +[0-9.]+: [0-9]+$/ && $2 > most { most = $2 } END { print most + 0 }' "$tmp/out/hot.afdo.txt"
}

# --- clang ---

if ! have clang++ || ! have llvm-profdata; then
	skip "AutoFDO" "there is no clang++ or llvm-profdata"
else
	check "it compiles" clang++ -O2 -g -o "$tmp/shop" "$tmp/shop.cpp"
	check "it is recorded" "$BUILD/bpfprof" record -q -F 499 -o "$tmp/out/hot.afdo.txt" -o "$tmp/out/hot.folded" \
		-o "$tmp/out/hot.pgo" \
		-- "$tmp/shop" 400
	hot=_ZN4shop3hotEjj
	cat "$tmp/out/hot.afdo.txt" >>"$log"
	leaves=$(awk '/;shop::hot\(/ && !/_\[k\]/ { sum += $NF } END { print sum + 0 }' "$tmp/out/hot.folded")
	check "the function has samples" is "${leaves:-0} > 50"
	check "as many as end in it" grep -qE "^$hot:[0-9]+:0$" "$tmp/out/hot.afdo.txt"
	check "and no line has more" is "$(lines_of $hot) <= $(total_of $hot) && $(lines_of $hot) > 0.3 * $(total_of $hot)"
	check "the inlined call is in its line, the 4th behind the first" grep -qE '^ 4: _ZN4shopL3mixEj:[0-9]+$' \
		"$tmp/out/hot.afdo.txt"
	check "llvm-profdata reads it" llvm-profdata merge --sample --text "$tmp/out/hot.afdo.txt" -o "$tmp/merged"
	grep -v '^#' "$tmp/out/hot.afdo.txt" | sort >"$tmp/ours" && sort "$tmp/merged" >"$tmp/theirs"
	check "and writes the same" diff "$tmp/ours" "$tmp/theirs"
	check "clang takes it" clang++ -O2 -g "-fprofile-sample-use=$tmp/out/hot.afdo.txt" -S -emit-llvm -o "$tmp/shop.ll" \
		"$tmp/shop.cpp"
	# The branch out of the loop, of which hardly a sample was taken, and round it: clang adds 1 to the most of its lines.
	read -r out round < <(sed -nE 's/.*"branch_weights", i32 ([0-9]+), i32 ([0-9]+)\}.*/\1 \2/p' "$tmp/shop.ll" | head -n 1)
	check "a branch of it has the weight of its lines" is "${round:-0} > 10 && $round == 1 + $(most_of $hot)"
	check "and the other has hardly any" is "${out:-0} >= 1 && $out < $round / 5"
	check "a function without samples has none" grep -qE 'function_entry_count", i64 -1}' "$tmp/shop.ll"
fi

# --- go ---

mkdir -p "$tmp/gopher"
cat >"$tmp/gopher/main.go" <<'END'
package main

import "os"

func step(value uint32) uint32 {
	value ^= value << 13
	return value ^ value>>17
}

//go:noinline
func spin(rounds int, value uint32) uint32 {
	for i := 0; i < rounds; i++ {
		value = step(value) + 1
	}
	return value
}

func main() {
	value := uint32(len(os.Args))
	for i := 0; i < 400; i++ {
		value = spin(1000000, value)
	}
	if value == 1 {
		os.Exit(1)
	}
}
END

# check_export: what is exported of a program that $go builds, as its pprof reads it.
check_export()
{
	local version minor
	version=$("$go" env GOVERSION)
	minor=$(sed -n 's/^go1\.\([0-9]*\).*/\1/p' <<<"$version")
	check "$version compiles it" compile_gopher
	# Before Go 1.20 a program's tables do not tell where functions start.
	start()
	{
		if [ "$minor" -ge 20 ]; then echo "$1"; else echo 0; fi
	}
	check "$version: it is recorded" "$BUILD/bpfprof" record -q -F 499 --force -o "$tmp/out/gopher.pgo" -- "$tmp/gopher/gopher"
	check "$version: pprof reads it" pprof_raw "$tmp/out/gopher.pgo"
	check "$version: the value is one that Go takes" grep -qE '^(samples/count|cpu/nanoseconds)' "$tmp/raw"
	check "$version: calls have their lines, functions theirs" \
		grep -qE "main\.spin .*/main\.go:1[2-3](:0)? s=$(start 11)\$" "$tmp/raw"
	check "$version: an inlined one, too" grep -qE "main\.step .*/main\.go:[67](:0)? s=$(start 5)\$" "$tmp/raw"
	check "$version: its caller" grep -qE "main\.main .*/main\.go:21(:0)? s=$(start 18)\$" "$tmp/raw"
	check "$version: the kernel is not in it" sh -c '! grep -q kernel "$1"' _ "$tmp/raw"
	check "$version: nor are labels" sh -c '! grep -q "comm:" "$1"' _ "$tmp/raw"
	[ -s "$tmp/out/hot.pgo" ] || return
	check "$version: pprof reads that of C++" pprof_raw "$tmp/out/hot.pgo"
	check "$version: where its functions start, DWARF tells" grep -q 'shop::hot(.* s=14(_ZN4shop3hotEjj)$' "$tmp/raw"
}
compile_gopher()
{
	(cd "$tmp/gopher" && GO111MODULE=off "$go" build -o gopher main.go)
}
pprof_raw()
{
	"$go" tool pprof -symbolize=none -raw "$1" >"$tmp/raw"
}

# check_built: the compiler takes it, where the program keeps it. What that made is recorded, too: calls that are not
# there any more have to be in its profile as inlined ones.
check_built()
{
	local profile=$module/default.pgo
	check_plain
	check "the plain program is recorded" "$BUILD/bpfprof" record -q -F 499 -o "$profile" -- plain left 300
	check "it is built by its profile" built guided
	check_guided guided "by the plain program's profile" "$profile" Left
	check "what was built is recorded" "$BUILD/bpfprof" record -q -F 499 --force -o "$profile" -- guided left 300
	check "it is built by that" built again
	check_guided again "by its own profile" "$profile" Left
}

if have go; then
	go=go
	check_export
else
	skip "Go PGO" "there is no go"
fi
if find_go; then
	check_export
	check_built
fi
"$BUILD/bpfprof" record -q --off-cpu -o "$tmp/out/waits.pgo" -- sleep 0.2 >>"$log" 2>&1
check "waits are no PGO profile" is "$? != 0"

exit $status
