#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --heap against programs whose allocations are known, and against heaptrack. The probes are of the tests' own processes.
# timeout: 240
set -u
. tests/e2e/live.sh

compile heap_known heap_known.c -O1 -fno-ipa-icf -fno-ipa-cp -fomit-frame-pointer
compile ages ages.c -O1 -fomit-frame-pointer
compile own_alloc own_alloc.c -fomit-frame-pointer
out=$TMPDIR/out

# heap NAME ARG...: into out/NAME.pb.gz; what the program prints is out/NAME.truth.
heap()
{
	local name=$1
	shift
	"$bpfprof" --heap --strict -o "$out/$name.pb.gz" "$@" >"$out/$name.truth" 2>"$out/$name.err"
	local got=$?
	cat "$out/$name.err"
	return $got
}

judge()
{
	python3 tests/e2e/heap_judge.py "$@"
}

value()
{
	python3 tests/e2e/pprof_values.py "$out/$1.pb.gz" "${@:2}"
}

says()
{
	grep -qE "$2" "$out/$1.err" && return
	cat "$out/$1.err"
	return 1
}

check "a program runs to its end, nothing is lost" heap known -- heap_known 2000 500
check "every number of every function is right" judge "$out/known.pb.gz" "$out/known.truth"
check "each of its first allocations has its whole stack" is "$(value known alloc_objects 'stack=^\[truncated') == 0"

heap killed -- heap_known 1000 100 kill >>"$log" 2>&1
is "$? == 137" >>"$log"
verdict $? "a program that kills itself: its exit status"
check "its heap is there, to the byte" judge "$out/killed.pb.gz" "$out/killed.truth"

check "sampled: a program runs to its end" heap sampled --heap-rate 4k -- heap_known 20000 20000
check "sampled: the sum is within the error that it says" judge "$out/sampled.pb.gz" --sampled

check "--alloc-prefix: an allocator of one's own" heap own --alloc-prefix own_ -- own_alloc
check "its blocks" is "$(value own alloc_objects) == 40 && $(value own inuse_objects) == 10"
check "exec takes all blocks away" heap execed --alloc-prefix own_ -- own_alloc again
check "what was allocated before stays counted" is \
	"$(value execed alloc_objects) == 80 && $(value execed inuse_objects) == 10"

check "a child that execs: a shell runs it" heap child -- sh -c '(sleep 0.3; exec heap_known)
	sleep 0.1'
check "every number of every function of the child is right" judge "$out/child.pb.gz" "$out/child.truth"

# A child is probed as soon as it is there, which is not before it runs.
compile children children.c
check "children that live a tenth of a second" heap children -- children 5
check "most of what they allocate is there" is "$(value children alloc_objects 'stack=;work$') >= 250"
check "it says how late their probes were" says children '5 child processes probed within [0-9.]+ ms of their start$'
compile runs runs.c -static
strip "$TMPDIR/bin/runs"
check "a program without an allocator that runs one with" heap runs -- runs children child
check "it says that it has none" says runs "no allocator known in '.*runs' itself"
check "most of what that allocates is there" is "$(value runs alloc_objects 'stack=;work$') >= 50"
gcc -shared -fPIC -O1 -o "$TMPDIR/bin/libown.so" tests/workloads/own_alloc.c 2>>"$log"
check "an allocator that is loaded later" heap late --alloc-prefix own_ -- children 1 "$TMPDIR/bin/libown.so"
check "it is probed before it is used" is "$(value late alloc_objects 'stack=;work$') == 100"

check "--heap=sites: a program runs to its end" heap pairs --heap=sites -- heap_known 100 10
check "its own numbers are right" judge "$out/pairs.pb.gz" "$out/pairs.truth"
check "what one thread hands over, another frees" is \
	"$(value pairs freed_space 'stack=;hand_over;--;free;freeing;') == 5000 && $(value pairs freed_space) == 110630"

compile maps_known maps_known.c -O1 -fno-ipa-icf
check "--heap=maps: a program runs to its end" heap maps --heap=maps -- maps_known
check "--heap=maps: every number of every function is right" judge "$out/maps.pb.gz" "$out/maps.truth"
check "--heap=maps: what failed is counted apart" says maps ' 110 recorded \+ 2 filtered '

check "--leak-age: a program that leaks early" heap aged --leak-age 300ms -o "$out/aged.massif" -- ages
check "what is old is what was allocated before" is \
	"$(value aged old_objects 'stack=;early$') == 50 && $(value aged old_objects) == 50"
check "what is live is both" is "$(value aged inuse_objects) == 80 && $(value aged inuse_space) == 50300"
if have ms_print; then
	ms_print "$out/aged.massif" >"$out/aged.txt" 2>>"$log"
	check "ms_print reads the massif file" grep -q '99.40% (50,000B) 0x[0-9A-F]*: early' "$out/aged.txt"
else
	skip "ms_print reads the massif file" "valgrind is not installed"
fi

check "a table that is too small: the program runs" heap bounded --max-memory 2M -- heap_known 10 50000
check "it says that live is a lower bound" says bounded 'lower bound'
check "what was allocated is complete all the same" is "$(value bounded alloc_objects) == 50000 + 286"
check "and none is live that is not" is "$(value bounded inuse_objects) <= 50000 + 101"

# Other allocators in the place of the C library's. Of mimalloc realloc(p, 0) gives a block.
for library in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4; do
	path=$(/sbin/ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
	check "${library%%.*} is there" test -e "$path"
	LD_PRELOAD=$path heap preloaded -- heap_known 200 50 >>"$log" 2>&1
	[ $library != libmimalloc.so.2 ] || sed -i '/^again /d' "$out/preloaded.truth"
	check "${library%%.*}: every number of every function is right" judge "$out/preloaded.pb.gz" \
		"$out/preloaded.truth"
	rm -f "$out/preloaded.pb.gz"
done

# In the program itself, also where nothing is linked dynamically; and a library that lies beside the program.
libraries=$(gcc -print-file-name=libjemalloc.a)
libraries=${libraries%/*}
mkdir -p "$TMPDIR/bin/lib"
cp -L "$(/sbin/ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')" "$TMPDIR/bin/lib/"
while read -r kind flags; do
	eval "set -- $flags"
	compile "with_$kind" heap_known.c -O1 -fno-ipa-icf -fno-ipa-cp -fomit-frame-pointer "$@"
	check "$kind: a program runs to its end, nothing is lost" heap "with_$kind" -- "with_$kind" 200 50
	check "$kind: every number of every function is right" judge "$out/with_$kind.pb.gz" "$out/with_$kind.truth"
done <<'END'
static_jemalloc "-Wl,--whole-archive,$libraries/libjemalloc.a,--no-whole-archive" -lm -lstdc++
static_tcmalloc "-Wl,--whole-archive,$libraries/libtcmalloc_minimal.a,--no-whole-archive" -lm -lstdc++
static_glibc -static
all_static -static "-Wl,--whole-archive,$libraries/libjemalloc.a,--no-whole-archive" -lm -lstdc++
runpath '-Wl,-rpath,$ORIGIN/lib' "$TMPDIR/bin/lib/libjemalloc.so.2"
END

# Rust's interface: over the C library, and over an allocator of the program's own, which only it tells of. An optimising
# compiler makes that part of its callers.
if have rustc; then
	for cfg in standard arena; do
		rustc -g --cfg "$cfg" -o "$TMPDIR/bin/rust_$cfg" tests/workloads/rust_alloc.rs >>"$log" 2>&1
		verdict $? "Rust, $cfg: built"
		check "Rust, $cfg: it runs to its end" heap "rust_$cfg" -- "rust_$cfg"
		check "Rust, $cfg: what is kept, and its bytes" is "$(value "rust_$cfg" inuse_objects 'stack=keep_blocks') == 50 &&
			$(value "rust_$cfg" alloc_space 'stack=keep_blocks') == 50000"
		check "Rust, $cfg: what is dropped is temporary" is "$(value "rust_$cfg" temporary 'stack=drop_blocks') == 200 &&
			$(value "rust_$cfg" inuse_space 'stack=drop_blocks') == 0"
		check "Rust, $cfg: what grows" is "$(value "rust_$cfg" alloc_space 'stack=grow_block') == 1200 &&
			$(value "rust_$cfg" inuse_space 'stack=grow_block') == 800"
	done
else
	skip "Rust's allocations" "rustc is not installed"
fi

if ! have heaptrack || ! have heaptrack_print; then
	skip "heaptrack says the same" "heaptrack is not installed"
	exit $status
fi
heaptrack -o "$out/theirs" heap_known 2000 500 >>"$log" 2>&1
theirs=$(ls "$out"/theirs*)
for cost in allocations:alloc_objects temporary:temporary leaked:inuse_space peak:peak_space; do
	heaptrack_print -f "$theirs" -F "$out/folded" --flamegraph-cost-type "${cost%:*}" \
		--disable-builtin-suppressions >/dev/null 2>&1
	check "heaptrack says the same: ${cost#*:} of each function" judge "$out/known.pb.gz" --heaptrack \
		"$out/folded" "${cost#*:}"
done
exit $status
