#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our pprof files in the eyes of the reference reader, `go tool pprof`: it accepts them, and totals and
# stacks are those of the folded files that were written from the same profile.
# beside others
set -u
. tests/e2e/cases.sh
# The reader looks for binaries and keeps state under these.
export HOME=$tmp PPROF_TMPDIR=$tmp PPROF_BINARY_PATH=$tmp

cases='hostile plain empty'
if ! have go; then
	skip "pprof reader" "no go"
	exit 0
fi

# pprof ARGUMENTS...: the reader, its warnings in the log
pprof()
{
	go tool pprof -symbolize=none "$@" 2>"$log"
}

# Total of value $2 (its index) in file $1, in the unit $3
pprof_total()
{
	pprof -top -sample_index="$2" -unit="$3" "$tmp/$1.pb.gz" |
		sed -n 's/.*Total samples = \([0-9]*\).*/\1/p'
}

folded_total()
{
	awk '{ total += $NF } END { printf "%.0f\n", total }' "$tmp/$1.folded"
}

# same WHAT LEFT RIGHT: equal and not empty
same()
{
	printf '%s: %s against %s\n' "$1" "$2" "$3" >>"$log"
	[ -n "$2" ] && [ "$2" = "$3" ]
}

# The reader's list of stacks, one line each, root first, as folded text
pprof_stacks()
{
	pprof -traces -sample_index=0 "$tmp/$1.pb.gz" | awk '
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

build_driver make_profile -iquote tests/unit tests/e2e/make_profile.c

for case in $cases; do
	"$tmp/make_profile" "$tmp" "$case" >"$log" 2>&1
	result $? "$case: written"

	pprof -raw "$tmp/$case.pb.gz" >"$tmp/$case.raw"
	result $? "$case: accepted"

	same samples "$(pprof_total "$case" 0 count)" "$(folded_total "$case.samples")"
	result $? "$case: total of samples is that of the folded file"

	grep -q '^Comment: bpfprof-ledger: {' "$tmp/$case.raw"
	result $? "$case: the ledger is there"
done

same nanoseconds "$(pprof_total plain 1 nanoseconds)" "$(folded_total plain.cpu)"
result $? "plain: total of time is that of the folded file"

pprof_stacks plain >"$tmp/plain.stacks"
[ -s "$tmp/plain.stacks" ] && diff "$tmp/plain.stacks" "$tmp/plain.samples.folded" >"$log" 2>&1
result $? "plain: every stack, inlined frames in order"

# shellcheck disable=SC2016 # sed's own $
same mapping "$(sed -n 's/^1: \(.*\)$/\1/p' "$tmp/plain.raw" | grep /)" \
	'0x1000/0x9000/0x1000 /usr/lib/libwork.so.1 (deleted) 0123456789abcdef0123456789abcdef01234567 [FN][FL][LN][IN]'
result $? "plain: the mapping has its range, build-id and flags"

# The first line of a location is the innermost inlined call; then its callers.
tr '\n' '\r' <"$tmp/plain.raw" | tr -s ' ' |
	grep -q 'M=1 next_char /src/parse.c:12 s=10. parse<char; 4>(const char\*) /src/parse.c:31 s=20(_Z5parseIcLi4EEvPKc). work /src/work.c:123 s=100'
result $? "plain: one location has its three lines, files and start lines"

# What the reader makes of two files is a profile with the double total for us too: it kept all.
pprof -proto -output="$tmp/merged.pb.gz" "$tmp/plain.pb.gz" "$tmp/plain.pb.gz"
same merged "$(pprof_total merged 0 count)" "$(($(folded_total plain.samples) * 2))"
result $? "plain: the reader's own merge has both"

exit $status
