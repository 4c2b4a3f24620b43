#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However a program is linked, its frames have their names and lines.
# timeout: 200
# beside others
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin

if ! have go; then
	skip "ways to link" "there is no go, whose pprof reads the lines"
	exit 0
fi

# linked NAME FLAG...: a program linked so is named right.
linked()
{
	local name=$1
	shift
	busy "$name" "$@"
	recorded "$name" "$name" -F 499 -o "$TMPDIR/out/$name.pb.gz" --force -- "$name" 0.5
	check "$name: it has its name, and what is inlined" busy_frames "$name" "$name" "${name:0:15}"
	check "$name: and its lines" busy_lines "$name" "$name"
}

# is_shifted PROGRAM BASE: the code's place in the file is another than in memory, counted from BASE.
is_shifted()
{
	local type off vaddr rest
	readelf -lW "$1" | grep 'LOAD.* R E ' >"$TMPDIR/out/segments"
	read -r type off vaddr rest <"$TMPDIR/out/segments"
	echo "$type $off $vaddr $rest"
	[ $((off)) != $((vaddr - $2)) ]
}

linked at_fixed_addresses -no-pie
linked static_at_fixed_addresses -static
linked static_anywhere -static-pie
linked in_one_segment -Wl,-z,noseparate-code
linked at_an_odd_place -no-pie -Wl,-Ttext-segment=0x12340000
if ! have ld.lld; then
	skip "lld" "not installed"
else
	linked by_lld -fuse-ld=lld
	check "by_lld: the code lies elsewhere in the file than in memory" is_shifted "$bin/by_lld" 0
	linked by_lld_at_fixed_addresses -fuse-ld=lld -no-pie
	check "by_lld_at_fixed_addresses: likewise" is_shifted "$bin/by_lld_at_fixed_addresses" 0x200000
	linked by_lld_static -fuse-ld=lld -static
fi
exit $status
