#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks of real programs reach their bottom: the short form of `make test-live`.
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
exec tests/live/run --short
