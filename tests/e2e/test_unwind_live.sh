#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks of real programs reach their bottom, and mappings that change under the walk do not lead it astray:
# the short form of `make test-live`.
# timeout: 400
set -u
if [ "$(id -u)" != 0 ]; then
	echo "skip - complete stacks of real programs: recording needs root"
	exit 0
fi
if ! grep -q ' cgroup2 rw' /proc/mounts; then
	echo "skip - complete stacks of real programs: no cgroup v2 to put them into"
	exit 0
fi
status=0
tests/live/run --short || status=1
tests/live/race.sh 5 || status=1
exit $status
