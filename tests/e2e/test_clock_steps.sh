#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Windows of -i while the clock is stepped: none is lost, overwritten or of a negative length, and the books balance.
# The clock is the recording's own (clock_steps.c): no namespace has one of CLOCK_REALTIME.
set -u
. tests/e2e/live.sh
if [ "$(id -u)" != 0 ]; then
	skip "clock steps" "no root to record"
	exit 0
fi
compile split split.c
if ! ${CC:-cc} -std=gnu11 -O2 -Wall -shared -fPIC -o "$TMPDIR/clock.so" tests/e2e/clock_steps.c >>"$log" 2>&1; then
	verdict 1 "the clock compiles"
	exit 1
fi

# stepped NAME AFTER:BY...: windows of 2 s, each written twice, by time and by number, while the clock is stepped.
stepped()
{
	local name=$1 dir=$TMPDIR/out/$1 file number=0
	shift
	mkdir "$dir"
	LD_PRELOAD=$TMPDIR/clock.so CLOCK_STEPS=$(echo "$@" | tr ' ' ,) "$bpfprof" -q -a -F 199 -i 2s -d 12 \
		-o "$dir/t%t.pb.gz" -o "$dir/n%n.pb.gz" --stats "$dir/stats" >>"$log" 2>&1
	verdict $? "$name: the recording ends well"
	check "$name: no window is lost" test "$(ls "$dir" | grep -c ^t)" = "$(ls "$dir" | grep -c ^n)"
	for file in "$dir"/t*; do
		number=$((number + 1))
		cmp "$file" "$dir/n$number.pb.gz" >>"$log" 2>&1 || break
		"$bpfprof" convert "$file" -o "$dir/$number.json" >>"$log" 2>&1 || break
	done
	check "$name: their names are in their order" test $number -ge 3 -a "$number.json" = "$(ls "$dir" | grep json | tail -n 1)"
	check "$name: windows have the clock's time, the length that they had, and books that balance" \
		tests/e2e/clock_judge.py "$dir/stats" "$(printf '%s\n' "${@#*:}" | paste -sd,)" "$dir"/[0-9].json
}

load split 60
load split 60
# By a window's length each time: they all begin in the same second.
stepped back 3:-2 5:-4 7:-6 9:-8
stepped "an hour ahead and back" 3:3600 8:0
stepped "an hour back and ahead" 3:-3600 8:0
stop_loads
exit $status
