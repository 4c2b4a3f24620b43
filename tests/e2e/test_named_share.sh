#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# However a program is linked, its frames have their names and lines; and over all that runs on a machine, whatever has
# symbols is named, and each frame that is not is counted under its reason.
# timeout: 200
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin

if ! have go; then
	skip "all that can be named" "there is no go, whose pprof reads the lines"
	exit 0
fi

# --- Ways to link ---

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

# --- All that runs ---

as_script()
{
	{ echo '#!/bin/bash'; cat; } >"$bin/$1"
	chmod +x "$bin/$1"
}

mkdir "$TMPDIR/known" "$TMPDIR/mix"
for program in at_fixed_addresses static_anywhere in_one_segment; do
	cp "$bin/$program" "$TMPDIR/known/$(build_id "$bin/$program")"
	cp "$bin/$program" "$TMPDIR/mix/"
done
compile names_cpp names.cpp
compile opens opens.c -ldl
busy some_library -DLIBRARY -fPIC -shared
as_script mix <<'END'
cd "$1" || exit
at_fixed_addresses 0.3 &
"$1/static_anywhere" 0.3 &
sleep 0.1
rm "$1/static_anywhere"
names_cpp 0.3
opens 0.2 "$2" some_library
wait
seq 300000 | sort -R | sort -n | gzip -9 | gzip -d | xz -1 | xz -d | md5sum
for i in {1..60}; do "$1/in_one_segment" 0.005; date; done
find /usr/share /usr/lib -name '*.so*' -print0 | xargs -0 sha256sum | sed 's/[0-9]/x/g' | awk '{ n[$1]++ } END { print length(n) }'
python3 -c 'import json, re, hashlib
for i in range(200): json.loads(json.dumps({str(k): [k] * 9 for k in range(900)})); re.findall("a+b", "aab" * 9000)'
perl -e 'for (1..900000) { $h{$_ % 999} .= "x" } print length(join "", values %h)'
bash -c 'for ((i = 0; i < 90000; i++)); do x=${x:0:50}$i; done'
END
recorded all "all CPUs" -a -F 999 -o "$TMPDIR/out/all.pb.gz" --force -- mix "$TMPDIR/mix" "$bin/some_library"
raw all
check "all CPUs: 99.9 % of the frames of what has symbols are named, and the others are counted by reason" \
	python3 tests/e2e/named_share.py "$TMPDIR/out/all.raw" "$TMPDIR/out/all.json" "$TMPDIR/known"
exit $status
