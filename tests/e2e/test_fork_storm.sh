#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Many processes that live for a moment: compilers, shells, and programs that are gone after 5 ms. Each sample is kept,
# belongs to the right process, has its names, and a kernel stack when it was taken in the kernel.
# timeout: 300
set -u
. tests/e2e/live.sh
WANTED=10000

for i in $(seq 10 29); do
	compile "brief_$i" brief.c "-DBRIEF=brief_$i"
done
storm=$workloads/forkstorm

# --- A command: every name in the profile is known beforehand ---
recorded command "a storm as COMMAND" -F 999 -- "$storm" 4 "$TMPDIR/bin"
check "only names that existed are in the profile" \
	only command 'bpfprof|forkstorm|sh|gcc|cc1|as|collect2|ld|expr|true|cat|rm|mktemp|date|generated|brief_[12][0-9]'
check "it is a storm: compilers, shells and short programs" \
	is "$(names_in command | grep -cxE 'cc1|as|ld|sh|brief_..') >= 15"

# A sample of brief_NN that stands in brief_MM() is somebody else's.
read -r right wrong < <(awk '{
	match($0, /;brief_[0-9]+[; ]/)
	if (RSTART)
		count[substr($0, RSTART + 1, 8) == substr($0, 1, 8)] += $NF
} END { print count[1] + 0, count[0] + 0 }' "$TMPDIR/out/command.folded")
check "a function's process is the one whose program it is in" is "$wrong == 0 && $right > 0"
check "programs that lived 5 ms have names: nearly all samples of brief_NN that reached main() are in brief_NN()" \
	is "$right > 0.9 * $(samples '^brief_..;.*;main[; ]' command) && $right >= 100"

# --- Everything on all CPUs, until there are enough samples; a program that only counts runs beside it ---
for _ in $(online_cpus); do
	load "$storm" 120 "$TMPDIR/bin"
	load "$storm" 120 "$TMPDIR/bin"
done
seconds=$((WANTED * 12 / 10 / 999 / $(online_cpus | wc -l) + 1))
count_within "$seconds"
recorded all "a storm on all CPUs" -a -F 999 -d "$seconds"
stop_loads
check "$WANTED samples and more" balanced all "$WANTED"
check "99.9 % of the samples whose program ran are in the profile" \
	is "$(samples . all) >= 0.999 * ($(field all events.0.ran) - $(field all events.0.filtered))"
check "each sample taken in the kernel has a kernel stack: as many as were counted in kernel mode" \
	agree "$(samples "_\[k\][; ]" all)" "$(samples . all)" "$(counted kernel)" "$(($(counted ran) - $(counted idle)))"
check "no process is without its name" has_no '^[^A-Za-z0-9(/_.:-]' all
exit $status
