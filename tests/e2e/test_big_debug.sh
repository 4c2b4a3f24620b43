#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Names, lines and inlined calls at random addresses of a C++ program with more than 64 MB of debugging information, as
# nm, llvm-symbolizer and eu-addr2line have them; and the same from its debug file, within bounded memory.
# BPFPROF_TEST_LONG=1: five times the addresses for eu-addr2line.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
COUNT=10000
EU_COUNT=200 # it takes 20 ms for each
[ -z "${BPFPROF_TEST_LONG:-}" ] || EU_COUNT=1000
LEAST_BYTES=$((64 << 20))
MOST_ANON_MB=120 # of it 64 MiB are the budget for units

build_driver lookup_profile tests/e2e/lookup_profile.c
build_driver lookup_lines tests/e2e/lookup_lines.c
for tool in g++ llvm-symbolizer eu-addr2line; do
	if ! have $tool; then
		skip "big_debug" "no $tool"
		exit 0
	fi
done
big=$tmp/big
tests/workloads/big_debug "$big" >"$log" 2>&1 && "$big" >>"$log" 2>&1
result $? "big_debug builds and runs"
size=$(size -A "$big" | awk '/^\.debug_/ { sum += $2 } END { printf "%d", sum }')
[ "$size" -ge $LEAST_BYTES ]
result $? "it has $((size >> 20)) MiB of debugging information"

nm -f sysv --defined-only "$big" >"$tmp/nm" 2>"$log" &&
	tests/e2e/dwarf_truth.py pick "$big" $COUNT 1 >"$tmp/addresses" 2>"$log" &&
	"$tmp/lookup_profile" "$big" <"$tmp/addresses" >"$tmp/lines" 2>"$log" &&
	llvm-symbolizer --inlines --functions=linkage --no-demangle --obj="$big" <"$tmp/addresses" >"$tmp/llvm" \
		2>"$log" &&
	tests/e2e/lines_truth.py check llvm "$tmp/addresses" "$tmp/lines" "$tmp/llvm" "$tmp/nm" >"$log" 2>&1
result $? "$(tail -n 1 "$log")"
head -n $EU_COUNT "$tmp/addresses" >"$tmp/few"
"$tmp/lookup_profile" "$big" <"$tmp/few" >"$tmp/found" 2>"$log" &&
	eu-addr2line -a -f -i -e "$big" <"$tmp/few" >"$tmp/eu" 2>"$log" &&
	tests/e2e/lines_truth.py check eu "$tmp/few" "$tmp/found" "$tmp/eu" "$tmp/nm" "$tmp/llvm" >"$log" 2>&1
result $? "$(tail -n 1 "$log")"
"$tmp/lookup_profile" --no-inline "$big" <"$tmp/addresses" >"$tmp/plain" 2>"$log" &&
	tests/e2e/lines_truth.py names symbols "$tmp/addresses" "$tmp/plain" "$tmp/lines" "$tmp/nm" >"$log" 2>&1
result $? "--no-inline: $(tail -n 1 "$log")"

"$tmp/lookup_lines" --time "$big" <"$tmp/addresses" >"$log" 2>&1
awk -v most=$MOST_ANON_MB '$6 > 0 && $6 < most { found = 1 } END { exit !found }' "$log"
result $? "lines alone: $(tail -n 1 "$log")"

objcopy --only-keep-debug "$big" "$big.debug" 2>/dev/null &&
	objcopy --strip-all --add-gnu-debuglink="$big.debug" "$big" 2>"$log" &&
	"$tmp/lookup_profile" "$big" <"$tmp/addresses" >"$tmp/found" 2>"$log" &&
	diff "$tmp/lines" "$tmp/found" >"$log" 2>&1
result $? "stripped, with its debug file: the same"
exit $status
