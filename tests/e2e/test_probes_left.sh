#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No probe of a recording stays in the kernel, however it ends. All that the machine has are counted.
set -u
. tests/e2e/live.sh
compile triggers triggers.c -O2
program=$TMPDIR/bin/triggers
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

links()
{
	"$bpftool" link show 2>/dev/null | grep -c uprobe_multi
}

probes()
{
	"$bpftool" prog show | grep -c 'name bp_uprobe'
}

check "calls and returns are recorded" record calls -e "uprobe:$program:leaf" -e "uretprobe:$program:nested" -- \
	triggers 2000
sleep 0.5
check "no probe stays behind" is "$(links) == 0 && $(probes) == 0"

# A probe that is taken away by SIGKILL: the program's code is its own again.
load "$bpfprof" -q -e "uprobe:$program:leaf" -o "$TMPDIR/out/killed.svg" 100
for _ in $(seq 100); do
	[ "$(probes)" = 0 ] || break
	sleep 0.1
done
check "while one is recorded, it is there" is "$(probes) > 0"
kill -KILL "$load"
sleep 0.5
check "nor after SIGKILL" is "$(probes) == 0"
exit $status
