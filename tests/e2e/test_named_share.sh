#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Over all that runs on a machine, whatever has symbols is named, and each frame that is not is counted under its reason.
# timeout: 200
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin

if ! have go; then
	skip "all that can be named" "there is no go, whose pprof reads the lines"
	exit 0
fi

as_script()
{
	{ echo '#!/bin/bash'; cat; } >"$bin/$1"
	chmod +x "$bin/$1"
}

mkdir "$TMPDIR/known" "$TMPDIR/mix"
busy at_fixed_addresses -no-pie
busy static_anywhere -static-pie
busy in_one_segment -Wl,-z,noseparate-code
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
