#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names, files, lines and inlined calls at random places of stripped Go programs, from their own tables,
# compared with what the Go runtime says of the same places in the program that was not stripped.
# timeout: 600
# beside others
set -u
. tests/e2e/cases.sh
COUNT=5000
export GO111MODULE=off GOFLAGS=-mod=mod GOCACHE="$tmp/cache"

# check NAME FILE: every line for $tmp/wanted, which must hold inlined calls, from the tables of FILE.
check()
{
	cut -f1 "$tmp/wanted" | "$tmp/lookup_go" "$2" >"$tmp/found" 2>"$log" &&
		diff "$tmp/wanted" "$tmp/found" >"$log" 2>&1
	result $? "$1"
}

# without_sections FILE: set e_shoff, e_shnum and e_shstrndx to 0.
without_sections()
{
	dd if=/dev/zero of="$1" bs=1 seek=40 count=8 conv=notrunc 2>/dev/null
	dd if=/dev/zero of="$1" bs=1 seek=60 count=4 conv=notrunc 2>/dev/null
}

# program NAME LINKER_OPTIONS BUILD_OPTION...: one way to link the program, in all its states.
program()
{
	name=$1
	linker=$2
	shift 2
	if ! go build -ldflags "$linker" "$@" -o "$tmp/full" ./tests/e2e/go_frames >"$log" 2>&1 ||
		! go build -ldflags "-s -w $linker" "$@" -o "$tmp/stripped" ./tests/e2e/go_frames \
			>>"$log" 2>&1; then
		result 1 "$name: builds"
		return
	fi
	"$tmp/full" $COUNT >"$tmp/wanted" 2>"$log" &&
		[ "$(grep -c "$(printf '\t.*\t')" "$tmp/wanted")" -ge $((COUNT / 10)) ]
	result $? "$name: the runtime's answer, with inlined calls"
	check "$name" "$tmp/full"
	check "$name, stripped" "$tmp/stripped"
	without_sections "$tmp/stripped"
	check "$name, stripped and without sections" "$tmp/stripped"
}

build_driver lookup_go tests/e2e/lookup_go.c
if ! have go; then
	skip "go" "no go"
	exit 0
fi
program "fixed address" ""
program "position-independent" "" -buildmode=pie
program "external linker" "-linkmode=external"
program "external linker, position-independent" "-linkmode=external" -buildmode=pie
exit $status
