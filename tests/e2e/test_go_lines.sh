#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# What a flame graph shows at random addresses of Go programs, compared with llvm-symbolizer, which reads their DWARF,
# and with go tool addr2line; what we read in their DWARF; and the same once they are stripped. What may differ, and
# why, is said in lines_truth.py.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
COUNT=10000
export GO111MODULE=off GOFLAGS=-mod=mod GOCACHE="$tmp/cache"

# same NAME FILE
same()
{
	"$tmp/lookup_profile" "$2" <"$tmp/addresses" >"$tmp/found" 2>"$log" &&
		diff "$tmp/lines" "$tmp/found" >"$log" 2>&1
	result $? "$1: the same"
}

# ask_llvm FILE
ask_llvm()
{
	llvm-symbolizer --inlines --functions=linkage --no-demangle --obj="$1" <"$tmp/addresses" >"$tmp/llvm" 2>"$log"
}

compare()
{
	nm -f sysv --defined-only "$2" >"$tmp/nm" 2>"$log" &&
		tests/e2e/dwarf_truth.py pick "$2" $COUNT 1 >"$tmp/addresses" 2>"$log" &&
		"$tmp/lookup_profile" "$2" <"$tmp/addresses" >"$tmp/lines" 2>"$log" && ask_llvm "$2" &&
		tests/e2e/lines_truth.py check go "$tmp/addresses" "$tmp/lines" "$tmp/llvm" "$tmp/nm" >"$log" 2>&1
	result $? "$1: $(tail -n 1 "$log")"
	"$tmp/lookup_profile" --no-inline "$2" <"$tmp/addresses" >"$tmp/plain" 2>"$log" &&
		tests/e2e/lines_truth.py names go "$tmp/addresses" "$tmp/plain" "$tmp/lines" "$tmp/nm" >"$log" 2>&1
	result $? "$1, --no-inline: $(tail -n 1 "$log")"
}

# For programs at a fixed address: in others it finds nothing.
compare_tool()
{
	go tool addr2line "$2" <"$tmp/addresses" >"$tmp/tool" 2>"$log" &&
		tests/e2e/lines_truth.py check addr2line "$tmp/addresses" "$tmp/lines" "$tmp/tool" "$tmp/nm" \
			>"$log" 2>&1
	result $? "$1: $(tail -n 1 "$log")"
}

# The index of DWARF alone; without a symbol table, from which llvm-symbolizer would take names.
compare_dwarf()
{
	"$tmp/lookup_lines" "$2" <"$tmp/addresses" >"$tmp/found" 2>"$log" &&
		objcopy --strip-all --keep-section='.debug_*' "$2" "$2.bare" 2>"$log" && ask_llvm "$2.bare" &&
		tests/e2e/dwarf_truth.py check "DWARF alone" llvm "$tmp/found" "$tmp/llvm" >"$log" 2>&1
	result $? "$1: $(tail -n 1 "$log")"
}

# C code has no names in Go's tables, so the symbols must come from the debug file.
compare_debug_file()
{
	objcopy --only-keep-debug "$2" "$tmp/whole.debug" 2>/dev/null &&
		objcopy --strip-all --add-gnu-debuglink="$tmp/whole.debug" "$2" "$tmp/split/go" 2>"$log" &&
		mv "$tmp/whole.debug" "$tmp/split/"
	same "$1, with a debug file" "$tmp/split/go"
}

# program NAME LINKER_OPTIONS BUILD_OPTION...: one way to link it. "go" is its name in all folders: it is in the answers
# where there is no symbol.
program()
{
	name=$1 linker=$2
	shift 2
	if ! go build -ldflags "$linker" "$@" -o "$tmp/whole/go" ./tests/e2e/go_frames >"$log" 2>&1 ||
		! go build -ldflags "-s -w $linker" "$@" -o "$tmp/stripped/go" ./tests/e2e/go_frames >>"$log" 2>&1; then
		result 1 "$name: builds"
		return
	fi
	compare "$name" "$tmp/whole/go"
	case $* in
	*pie*) ;;
	*) compare_tool "$name" "$tmp/whole/go" ;;
	esac
	compare_dwarf "$name" "$tmp/whole/go"
	compare_debug_file "$name" "$tmp/whole/go"
	# There is C code where another linker has been, whose names are gone now.
	case $linker in
	*external*) ;;
	*) same "$name, stripped" "$tmp/stripped/go" ;;
	esac
}

build_driver lookup_profile tests/e2e/lookup_profile.c
build_driver lookup_lines tests/e2e/lookup_lines.c
for tool in go llvm-symbolizer; do
	if ! have $tool; then
		skip "Go" "no $tool"
		exit 0
	fi
done
mkdir "$tmp/whole" "$tmp/stripped" "$tmp/split"
program "fixed address" ""
program "position-independent" "" -buildmode=pie
program "external linker" "-linkmode=external"
program "external linker, lld, position-independent" "-linkmode=external -extldflags=-fuse-ld=lld" -buildmode=pie
exit $status
