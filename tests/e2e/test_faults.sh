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
[ -n "$made" ] || echo "not ok - faults are injected"
exit $status
