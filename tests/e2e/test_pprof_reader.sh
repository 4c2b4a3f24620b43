#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our pprof files in the eyes of the reference reader, `go tool pprof`: it accepts them, and totals and
# stacks are those of the folded files that were written from the same profile.
set -u
BUILD=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/pprof-reader.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# The reader looks for binaries and keeps state under these.
export HOME=$work PPROF_TMPDIR=$work PPROF_BINARY_PATH=$work
status=0

# result NAME STATUS: one case; the log tells why it failed
result()
{
	if [ "$2" = 0 ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		sed 's/^/# /' "$work/log" | tail -n 20
		status=1
	fi
}

cases='hostile plain empty'
if ! command -v go >/dev/null; then
	echo "skip - pprof reader: no go"
	exit 0
fi

build_helper()
{
	local sanitize=
	nm "$BUILD/libbpfprof.a" 2>/dev/null | grep -q __asan_init && sanitize=-fsanitize=address,undefined
	# shellcheck disable=SC2086 # an option or nothing
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O1 $sanitize -iquote user -iquote tests/unit \
		-o "$work/make_profile" tests/e2e/make_profile.c "$BUILD/libbpfprof.a" -lz -lcjson \
		>"$work/log" 2>&1
}

# pprof ARGUMENTS...: the reader, its warnings in the log
pprof()
{
	go tool pprof -symbolize=none "$@" 2>"$work/log"
}

# Total of value $2 (its index) in file $1, in the unit $3
pprof_total()
{
	pprof -top -sample_index="$2" -unit="$3" "$work/$1.pb.gz" |
		sed -n 's/.*Total samples = \([0-9]*\).*/\1/p'
}

folded_total()
{
	awk '{ total += $NF } END { printf "%.0f\n", total }' "$work/$1.folded"
}

# same WHAT LEFT RIGHT: equal and not empty
same()
{
	printf '%s: %s against %s\n' "$1" "$2" "$3" >>"$work/log"
	[ -n "$2" ] && [ "$2" = "$3" ]
}

# The reader's list of stacks, one line each, root first, as folded text
pprof_stacks()
{
	pprof -traces -sample_index=0 "$work/$1.pb.gz" | awk '
		function flush() {
			if (stack != "")
				sum[stack] += value
			stack = ""
		}
		/^-+\+-+$/ { flush(); in_stacks = 1; next }
		!in_stacks || /^ *[a-z]+:  / { next }
		{
			if (stack == "") {
				value = $1
				sub(/^ *[0-9]+ +/, "")
			}
			sub(/^ +/, "")
			sub(/ \(inline\)$/, "")
			gsub(/;/, ":")
			stack = stack == "" ? $0 : $0 ";" stack
		}
		END {
			flush()
			for (stack in sum)
				print stack, sum[stack]
		}' | LC_ALL=C sort
}

build_helper
result "the helper builds" $?
[ "$status" = 0 ] || exit 1

for case in $cases; do
	"$work/make_profile" "$work" "$case" >"$work/log" 2>&1
	result "$case: written" $?

	pprof -raw "$work/$case.pb.gz" >"$work/$case.raw"
	result "$case: accepted" $?

	same samples "$(pprof_total "$case" 0 count)" "$(folded_total "$case.samples")"
	result "$case: total of samples is that of the folded file" $?

	grep -q '^Comment: bpfprof-ledger: {' "$work/$case.raw"
	result "$case: the ledger is there" $?
done

same nanoseconds "$(pprof_total plain 1 nanoseconds)" "$(folded_total plain.cpu)"
result "plain: total of time is that of the folded file" $?

pprof_stacks plain >"$work/plain.stacks"
[ -s "$work/plain.stacks" ] && diff "$work/plain.stacks" "$work/plain.samples.folded" >"$work/log" 2>&1
result "plain: every stack, inlined frames in order" $?

# shellcheck disable=SC2016 # sed's own $
same mapping "$(sed -n 's/^1: \(.*\)$/\1/p' "$work/plain.raw" | grep /)" \
	'0x1000/0x9000/0x1000 /usr/lib/libwork.so.1 (deleted) 0123456789abcdef0123456789abcdef01234567 [FN][FL][LN][IN]'
result "plain: the mapping has its range, build-id and flags" $?

# The first line of a location is the innermost inlined call; then its callers.
tr '\n' '\r' <"$work/plain.raw" | tr -s ' ' |
	grep -q 'M=1 next_char /src/parse.c:12 s=10. parse<char; 4>(const char\*) /src/parse.c:31 s=20(_Z5parseIcLi4EEvPKc). work /src/work.c:123 s=100'
result "plain: one location has its three lines, files and start lines" $?

# What the reader makes of two files is a profile with the double total for us too: it kept all.
pprof -proto -output="$work/merged.pb.gz" "$work/plain.pb.gz" "$work/plain.pb.gz"
same merged "$(pprof_total merged 0 count)" "$(($(folded_total plain.samples) * 2))"
result "plain: the reader's own merge has both" $?

exit $status
