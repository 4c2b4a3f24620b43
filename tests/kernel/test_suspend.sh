#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An emulated machine is suspended to RAM while the agent records, which takes its second CPU away meanwhile: each call
# is in the store once, no wait is longer than the time that passed, and the gap is told.
# timeout: 300
# beside others, records nothing
#
#   test_suspend.sh [--short | KERNEL]     KERNEL: a name of fetch-kernel's
#   test_suspend.sh --guest                in the machine
set -u

CALLS=20000 PER_SECOND=2000 ASLEEP_S=6

# What the machine does; what is judged, on the host, is the store.
guest()
{
	cd /test || exit 1
	cp hits /tmp/hits
	bpfprof agent --store /out/store.db --freq 49 --max-cpu 100 --interval 1s --listen none --pin-dir none \
		--event uprobe:/tmp/hits:hit 2>/out/agent.err &
	agent=$!
	for _ in $(seq 100); do
		! grep -q 'agent: recording' /out/agent.err || break
		sleep 0.2
	done
	napper 1000 &
	/tmp/hits &
	hits=$!
	sleep 3
	{
		date +%s
		echo "+$ASLEEP_S" >/sys/class/rtc/rtc0/wakealarm
		echo deep >/sys/power/mem_sleep
		echo mem >/sys/power/state
		date +%s
	} >/out/suspended 2>&1
	taskset 2 spinner 4 &
	wait $hits
	sleep 3
	kill -TERM $agent
	wait $agent
}

if [ "${1:-}" = --guest ]; then
	guest
	exit
fi
. tests/e2e/cases.sh
kernel=amd64-6.12
case ${1:-} in
'' | --short) ;;
*) kernel=$1 ;;
esac
static="gcc -O2 -g -D_GNU_SOURCE -fno-omit-frame-pointer -static"
files=$tmp/vm/files
store=$files/store.db
mkdir "$tmp/bin"

if ! tests/kernel/fetch-kernel "$kernel" >/dev/null 2>"$log"; then
	skip "suspended" "$(tail -n 1 "$log")"
	exit 0
fi

programs_build()
{
	$static -DCOUNT=${CALLS}L -DPER_SECOND=${PER_SECOND}L -DDEPTHS=1 -o "$tmp/bin/hits" tests/workloads/hits.c -lpthread &&
		$static -o "$tmp/bin/spinner" tests/kernel/spinner.c &&
		printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' |
		$static -x c -o "$tmp/bin/napper" -
}

machine()
{
	tests/kernel/run-vm --kernel "$kernel" --append no_console_suspend --timeout 150 --out "$tmp/vm" \
		-f "$BUILD/bpfprof" -f "$tmp/bin/hits" -f "$tmp/bin/spinner" -f "$tmp/bin/napper" \
		-f tests/kernel/test_suspend.sh -- sh test_suspend.sh --guest
	local code=$?
	cat "$files/suspended" "$files/agent.err"
	return $code
}

# It has slept: the hardware's clock says so.
slept()
{
	local before after
	cat "$files/suspended"
	{ read -r before && read -r after; } <"$files/suspended" && [ $((after - before)) -ge $((ASLEEP_S - 1)) ]
}

# asked COMMAND...: of the store, as JSON in $tmp/json.
asked()
{
	"$BUILD/bpfprof" query "$@" --store "$store" --since 1h --format json >"$tmp/json" 2>"$log"
}

# total KIND: the sum of its values.
total()
{
	asked kinds && python3 -c '
import json, sys
print(sum(int(kind["total"]) for kind in json.load(open(sys.argv[2]))["kinds"] if sys.argv[1] in kind["kind"]))' \
		"$1" "$tmp/json"
}

# of KIND COMM: what it has of the kind, and the time that was recorded, in ms.
of()
{
	asked top --kind "$1" --by comm && python3 -c '
import json, sys
table = json.load(open(sys.argv[2]))
own = sum(int(row["total"]) for row in table["rows"] if row["comm"] == sys.argv[1])
print(own // 1000000, round(table["duration_s"] * 1000))' "$2" "$tmp/json"
}

# between LOW NUMBER HIGH
between()
{
	echo "$2 of $1 to $3"
	[ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
}

gap_is_told()
{
	asked kinds
	cat "$log"
	between $(((ASLEEP_S - 2) * 1000)) "$(sed -n 's/.*; gaps of \([0-9]*\)\.\([0-9]\) s in sum.*/\1\200/p' "$log")" \
		$(((ASLEEP_S + 2) * 1000))
}

holds "the programs are built" programs_build
holds "the machine is suspended, wakes up, and comes to its end" machine
holds "... it has slept" slept
holds "each call is in the store once" test "$(total hits:hit)" = $CALLS
holds "the store is whole" "$BUILD/bpfprof" store fsck --store "$store"
holds "the gap is told" gap_is_told
read -r spun recorded <<<"$(of cpu spinner)"
holds "the CPU that was away is recorded again" between 2500 "$spun" 4500
# It sleeps all the time, and the suspension is not in the clock of waits.
read -r napped recorded <<<"$(of off-cpu napper)"
holds "no wait is longer than what was recorded" between $((recorded * 8 / 10)) "$napped" $((recorded * 101 / 100))
exit $status
