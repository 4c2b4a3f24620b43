#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A few of the faults of tests/faults/run, in each way of recording: `make test-faults` has all of them.
# timeout: 300
set -u
. tests/e2e/cases.sh

if [ "$(id -u)" != 0 ]; then
	skip "faults" "no root to record"
	exit 0
fi
made=$(tests/faults/run --most 2 --seed "${FAULT_SEED:-7}" --mode on-cpu --mode off-cpu)
status=$?
printf '%s\n' "$made"
# The first reads are those of the child that becomes the command.
for nth in 1 2 3; do
	made=$(tests/faults/run --mode on-cpu --call read --nth $nth)
	status=$((status | $?))
	printf '%s\n' "$made"
done
# The headers of the file that the event names are read by some of these.
for nth in 9 10 11 12; do
	made=$(tests/faults/run --mode uprobe --call read --nth $nth)
	status=$((status | $?))
	printf '%s\n' "$made"
done
# Memory for what arguments say: option lists, events
for nth in 1 2 3; do
	made=$(tests/faults/run --mode uprobe --call alloc --nth $nth)
	status=$((status | $?))
	printf '%s\n' "$made"
done
[ -n "$made" ] || echo "not ok - faults are injected"
exit $status
