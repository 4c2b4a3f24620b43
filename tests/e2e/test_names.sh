#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Known programs: the shares that their functions have, and the names, also of what is gone when they are wanted.
set -u
. tests/e2e/live.sh

# --- A known split, each function below its caller ---
compile split split.c
recorded split "split" -F 1000 -- split 4
check "4 s of CPU time are 4,000 samples at 1,000 Hz" \
	is "($(field split events.0.recorded) - 4000) ^ 2 < 16 * 4000 + (4 * $(field split events.0.never_ran.busy)) ^ 2"
total=$(samples ';main;deal_deck;work_[0-9]*;burn[; ]' split)
for share in 70 20 10; do
	check "work_$share has $share % of the time" \
		near "$(samples ";main;deal_deck;work_$share;burn[; ]" split)" "$total" "0.$share"
done
check "nearly all of it is in a full chain of callers" \
	is "$(samples ';main;deal_deck;work_[0-9]*;burn[; ]' split) > 0.97 * $(samples . split)"

# --- Languages that mangle ---
compile names_cpp names.cpp
recorded cpp "C++" -F 999 -- names_cpp 2
while read -r name; do
	check "C++: $name" has ";$(sed 's/[][()*+^.{}]/\\&/g' <<<"$name")(_\[.\])?( \[clone [^;]*)?[; ]" cpp 150
done <<'END'
shop::operator+(shop::Money const&, shop::Money const&)
shop::Basket<int, 8>::add(int)
shop::Till::total(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&) const
shop::(anonymous namespace)::hidden(int)
shop::serve(shop::Till&, shop::Basket<int, 8>&)::{lambda(int)#1}::operator()(int) const
END
check "C++: no mangled name is left" has_no ';_Z' cpp

if ! command -v rustc >/dev/null; then
	skip "Rust" "there is no rustc"
else
	rustc -O -g -C force-frame-pointers=yes --crate-name names -o "$TMPDIR/bin/names_rust" "$workloads/names.rs" >>"$log" 2>&1
	verdict $? "names.rs compiles"
	recorded rust "Rust" -F 999 -- names_rust 100000
	for name in '<names::shop::Till as names::shop::Serve>::serve' 'names::shop::counter::count' 'names::shop::weigh'; do
		check "Rust: $name, below its caller" has ";names::main;names::open_shop;$name(::<u32>)?[; ]" rust 150
	done
	check "Rust: neither a mangled name nor a hash is left" has_no ';_R|;_ZN|::h[0-9a-f]{16}[; ]' rust
fi

# --- Files that are not there any more ---
cp "$TMPDIR/bin/split" "$TMPDIR/bin/vanishing"
(sleep 0.5; exec "$TMPDIR/bin/vanishing" 0.3 --unlink) &
recorded unlinked "a program that deletes itself at once" -a -F 999 -d 4
wait
[ ! -e "$TMPDIR/bin/vanishing" ]
verdict $? "the program has deleted itself"
check "a program that deletes itself at once has its names" \
	has '^vanishing;.*;main;deal_deck;work_70;burn[; ]' unlinked 100

cp "$TMPDIR/bin/split" "$TMPDIR/bin/gone_before"
load "$TMPDIR/bin/gone_before" 60 --unlink
while [ -e "$TMPDIR/bin/gone_before" ]; do sleep 0.05; done
recorded gone "a program that was deleted before" -p "$load" -F 999 -d 2
check "a program that was deleted before has its names" \
	has '^gone_before;.*;main;deal_deck;work_70;burn[; ]' gone 100
stop_loads

# Lived and deleted while nobody looked: its build-id comes from its own memory, and where its code is. By lld: that is
# not where it is in the file.
compile split_lld split.c -fuse-ld=lld -Wl,--build-id=sha1
cp "$TMPDIR/bin/split_lld" "$TMPDIR/bin/unseen"
"$bpfprof" -q -a -F 999 -d 3 -o "$TMPDIR/out/unseen.pb.gz" 2>"$log" &
recorder=$!
sleep 1
kill -STOP "$recorder"
"$TMPDIR/bin/unseen" 0.3 --unlink
kill -CONT "$recorder"
wait "$recorder"
verdict $? "a program that was gone before anybody looked"
build_id=$(readelf -n "$TMPDIR/bin/split_lld" | sed -n 's/.*Build ID: //p')
said_build_id()
{
	zcat "$TMPDIR/out/unseen.pb.gz" | grep -a -o "unseen\|$build_id" | sort -u | tee -a "$log" | grep -q "$build_id"
}
check "a program that was gone before anybody looked has its build-id" said_build_id
mkdir -p "$TMPDIR/debug/.build-id/${build_id:0:2}"
cp "$TMPDIR/bin/split_lld" "$TMPDIR/debug/.build-id/${build_id:0:2}/${build_id:2}.debug"
check "its names are completed from a file with that build-id" \
	"$bpfprof" symbolize -q "$TMPDIR/out/unseen.pb.gz" --debug-dir "$TMPDIR/debug" -o "$TMPDIR/out/unseen.folded"
check "... which are those of what ran" has '^unseen;.*[;]burn ' unseen 100
exit $status
