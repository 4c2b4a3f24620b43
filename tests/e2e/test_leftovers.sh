#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# After any end of a recording nothing of it is in the kernel, and no file is half written.
# timeout: 300
set -u
. tests/e2e/live.sh
compile target split.c
# A core file would be a leftover of the test's own.
ulimit -c 0
PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/leftovers.py "$bpfprof" "$TMPDIR/bin/target" deal_deck "$TMPDIR/out"
