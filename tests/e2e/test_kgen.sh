#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kernel code that comes and goes while it is recorded has the name that it had when it was sampled.
# timeout: 200
set -u
. tests/e2e/live.sh
compile split split.c
out=$TMPDIR/out
first='bpf_prog_[0-9a-f]+_kgen_first_\[k\]'
second='bpf_prog_[0-9a-f]+_kgen_second_\[k\]'

build_programs()
{
	${CLANG:-clang} -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -idirafter "/usr/include/$(gcc -print-multiarch)" \
		-c -o "$TMPDIR/kgen.bpf.o" tests/e2e/kgen.bpf.c &&
		gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$TMPDIR/bin/kgen_one" tests/e2e/kgen_load.c -lbpf &&
		cp "$TMPDIR/bin/kgen_one" "$TMPDIR/bin/kgen_two"
}

# one SECONDS, two SECONDS: a process that runs one program of the kernel's for that long, then unloads it.
one()
{
	kgen_one "$TMPDIR/kgen.bpf.o" kgen_first "$1" >>"$log" 2>&1
}

two()
{
	kgen_two "$TMPDIR/kgen.bpf.o" kgen_second "$1" >>"$log" 2>&1
}

# within NAME ARG...: what stands in the function `meanwhile` happens during the recording NAME.
within()
{
	local name=$1 recorder
	shift
	record "$name" "$@" &
	recorder=$!
	sleep 0.7
	meanwhile || return 1
	wait $recorder
}

# has_mappings PATTERN...: a mapping of gone.pb.gz is called so, in brackets.
has_mappings()
{
	local pattern
	for pattern in "$@"; do
		gunzip -c "$out/gone.pb.gz" | grep -a -o "\[$pattern\]" || return 1
	done
}

# at_most_part REGEX OF NAME: of the samples that match OF, not more than one in fifty matches REGEX.
at_most_part()
{
	is "$(samples "$1" "$3") <= 0.02 * $(samples "$2" "$3")"
}

check "the programs build" build_programs
[ $status = 0 ] || exit 1

# --- Loaded, busy and unloaded in the middle ---
meanwhile()
{
	one 1 && two 1
}
within gone -o "$out/gone.pb.gz" -F 499 -a -d 5
verdict $? "two BPF programs, one after the other, that are gone by the end"
check "the books balance" balanced gone
check "the first is named" has "^kgen_one;.*;$first[; ]" gone 40
check "the second is named" has "^kgen_two;.*;$second[; ]" gone 40
# Between the event and the flip some samples go to whoever was there longer.
called='__bpf_prog_test_run_raw_tp_\[k\];'
check "each is nearly all that its process runs" \
	is "$(samples "^kgen_one;.*$called[b[]" gone) <= 1.02 * $(samples "^kgen_one;.*$first[; ]" gone) &&
		$(samples "^kgen_two;.*$called[b[]" gone) <= 1.02 * $(samples "^kgen_two;.*$second[; ]" gone)"
check "their mappings say what they are" has_mappings bpf_prog_[0-9a-f]*_kgen_first bpf_prog_[0-9a-f]*_kgen_second

# --- In each other's place ---
meanwhile()
{
	local _
	for _ in 1 2 3 4; do
		one 0.3 && two 0.3 || return 1
	done
}
within turns -F 499 -a -d 8
verdict $? "the same two, taking turns"
check "the first is named" has "^kgen_one;.*;$first[; ]" turns 40
check "the second is named" has "^kgen_two;.*;$second[; ]" turns 40
check "the second hardly ever has the first's name" at_most_part "^kgen_two;.*$first" "^kgen_two;.*$second" turns
check "nor the first the second's" at_most_part "^kgen_one;.*$second" "^kgen_one;.*$first" turns

# --- Windows ---
load split 60
"$bpfprof" -q --comm 'kgen*' --comm split -F 499 -i 1s -d 6 --no-inline --annotate -o "$out/w-%n.folded" 2>>"$log" &
recorder=$!
sleep 0.3
one 1
wait $recorder
verdict $? "windows of 1 s, and a program in the first of them"
cat "$out"/w-[1234].folded >"$out/early.folded"
cat "$out"/w-[56].folded >"$out/late.folded"
check "it is named in its windows" has "^kgen_one;.*;$first[; ]" early 40
check "nothing else is called so" has_no "$first|$second" late

# The kernel prints its symbols once, not for each window.
"$bpfprof" -q -p "$load" -F 99 -i 1s -d 6 -o "$out/r-%n.folded" 2>>"$log" &
recorder=$!
read_bytes()
{
	awk '/^rchar:/ { print $2 }' "/proc/$recorder/io"
}
sleep 2.5
early=$(read_bytes)
sleep 2.5
late=$(read_bytes)
wait $recorder
verdict $? "6 windows in which nothing changes"
check "the symbols are read in the first alone: $(wc -c </proc/kallsyms) bytes" \
	is "$early > $(wc -c </proc/kallsyms) && $late - $early < $(wc -c </proc/kallsyms) / 2"
stop_loads
exit $status
