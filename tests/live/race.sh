#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lockless walk of mappings against mappings that change under it (race_vma.c): no executable may be
# attributed wrongly. tests/live/race.sh [SECONDS]: 60 by default. One test case.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath -m "${BUILD:-$here/../../build}")
seconds=${1:-60}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bpfprof-race.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2

copies=
for n in 0 1 2 3 4 5 6 7; do
	gcc -O2 -shared -fPIC -nostdlib -DCOPY=$n -Wl,-e,copy_${n}_spin -o copy_$n.so "$here/src/race_copy.c" ||
		exit 2
	copies="$copies copy_$n.so"
done
gcc -O2 -D_GNU_SOURCE -o race_vma "$here/race_vma.c" -lpthread || exit 2

# shellcheck disable=SC2086 # a list of words
"$BUILD/bpfprof" -q -F 4999 -o race.folded --stats stats.json -- ./race_vma "$seconds" $copies >made 2>log
result=$?
cat made log
if [ $result = 0 ] && /usr/bin/python3 "$here/race_judge.py" race.folded $((seconds * 100)); then
	echo "ok - mappings that change under the walk are never attributed wrongly ($seconds s)"
else
	echo "not ok - mappings that change under the walk are never attributed wrongly ($seconds s)"
	exit 1
fi
