#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles recorded without symbols, completed afterwards: from debug folders, paths and a debuginfod server, by
# build-id; what cannot be found keeps what it has.
# timeout: 120
# beside others
set -u
# What is kept of names is the test's own, while it runs.
if [ -z "${OWN_NAMES:-}" ] && unshare --mount true 2>/dev/null; then
	OWN_NAMES=1 exec unshare --mount --propagation private bash "$0"
fi
[ -z "${OWN_NAMES:-}" ] || { mkdir -p /var/cache/bpfprof && mount -t tmpfs -o mode=755 none /var/cache/bpfprof; }
. tests/e2e/live.sh

out=$TMPDIR/out
server=$TMPDIR/server
whole=';main;chain::drive\(chain::crank&, unsigned long\);chain::crank::wind\(unsigned long\)_\[i\];unsigned long chain::turn<3u>\(unsigned long\)_\[i\] '
bare='\[chain[+]0x[0-9a-f]*\] '

# symbolize NAME FROM ARG...: out/NAME.pb.gz and .folded of out/FROM.pb.gz; what is said goes to out/NAME.said.
symbolize()
{
	local name=$1 from=$2 code
	shift 2
	forget_names
	"$bpfprof" symbolize "$out/$from.pb.gz" --force --annotate -o "$out/$name.pb.gz" -o "$out/$name.folded" "$@" \
		2>"$out/$name.said"
	code=$?
	{ echo "bpfprof symbolize $* -> $code"; cat "$out/$name.said"; } >>"$log"
	return $code
}

# has_whole NAME: nearly all samples of main() are in the chain of inlined calls.
has_whole()
{
	is "$(samples "$whole" "$1") > 0.9 * $(samples ';main[; ]' "$1") && $(samples "$whole" "$1") > 30"
}

compile chain chain.cpp
id=$(LC_ALL=C readelf -n "$TMPDIR/bin/chain" | sed -n 's/.*Build ID: //p')
cp "$TMPDIR/bin/chain" "$TMPDIR/whole"
strip --strip-all "$TMPDIR/bin/chain"
recorded raw "a stripped program, --no-symbols" --no-symbols -F 499 -o "$out/raw.pb.gz" -- chain 1
recorded names "a stripped program, with the names that are there" -F 499 -o "$out/names.pb.gz" -- chain 1
rm "$TMPDIR/bin/chain"

# --- Nothing there ---

symbolize none raw
verdict $? "no file: no error"
check "no file: the addresses stay" has "$bare" none 30
check "no file: it is said how many frames have names" grep -E '[0-9.]+ % of [0-9]+ frames are named' "$out/none.said"
symbolize kept names
check "names of the kernel are kept" \
	[ "$(samples '_\[k\]' kept)" = "$(samples '_\[k\]' names)" ]
check "names that cannot be bettered are kept" [ "$(samples . kept)" = "$(samples . names)" ]

# --- Folders ---

by_id=$TMPDIR/by_id/.build-id/$(echo "$id" | cut -c1-2)
mkdir -p "$by_id" "$TMPDIR/by_name" "$TMPDIR/wrong" "$TMPDIR/images/.build-id/$(echo "$id" | cut -c1-2)"
objcopy --only-keep-debug "$TMPDIR/whole" "$by_id/$(echo "$id" | cut -c3-).debug"
symbolize by_id raw --debug-dir "$TMPDIR/by_id"
verdict $? "a debug file by build-id: exit status 0"
check "a debug file by build-id: names, lines, inlined calls" has_whole by_id
named_before=$(field raw frames.named)
ledger_of()
{
	zcat "$out/$1.pb.gz" | grep -a -o 'bpfprof-ledger: {.*}' | sed 's/^bpfprof-ledger: //' >"$out/$1.json"
}
ledger_of by_id
check "the ledger has the new count of names" is "$(field by_id frames.named) > $named_before"
unnamed_sum()
{
	python3 -c 'import json,sys; print(sum(json.load(open(sys.argv[1]))["frames"]["unnamed"].values()))' "$out/$1.json"
}
check "the ledger's frames add up" \
	is "$(field by_id frames.distinct) == $(field by_id frames.named) + $(unnamed_sum by_id)"

cp "$TMPDIR/whole" "$TMPDIR/images/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-)"
symbolize image raw --debug-dir "$TMPDIR/wrong" --debug-dir "$TMPDIR/images"
check "the image by build-id, in the second folder" has_whole image
cp "$TMPDIR/whole" "$TMPDIR/by_name/chain"
symbolize by_name raw --debug-dir "$TMPDIR/by_name"
check "the image by its name" has_whole by_name
symbolize upgraded names --debug-dir "$TMPDIR/by_name"
check "what had a name of its own gets lines and inlined calls" has_whole upgraded
symbolize flat raw --debug-dir "$TMPDIR/by_name" --no-inline
check "--no-inline: the function has all of the time" has ';main;chain::drive\(chain::crank&, unsigned long\) ' flat 30

compile other chain.cpp -DOTHER_BUILD -O1
cp "$TMPDIR/bin/other" "$TMPDIR/wrong/chain"
symbolize wrong raw --debug-dir "$TMPDIR/wrong"
check "another build under the same name is not used" has "$bare" wrong 30

# --- The path in the profile ---

cp "$TMPDIR/whole" "$TMPDIR/bin/chain"
symbolize path raw
check "the file is where it was" has_whole path
cp "$TMPDIR/wrong/chain" "$TMPDIR/bin/chain"
symbolize replaced raw
check "what lies there now is another build" has "$bare" replaced 30
rm "$TMPDIR/bin/chain"

# --- A server ---

mkdir -p "$server/files/$id"
: >"$server/requests"
echo ok >"$server/mode"
load python3 tests/e2e/debuginfod_server.py "$server"
for _ in $(seq 50); do
	[ -e "$server/port" ] && break
	sleep 0.1
done
objcopy --only-keep-debug "$TMPDIR/whole" "$server/files/$id/debuginfo"
export DEBUGINFOD_CACHE_PATH=$TMPDIR/cache
DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$server/port") symbolize served raw
check "from a debuginfod server" has_whole served
unset DEBUGINFOD_CACHE_PATH

# --- Profiles of others ---

objcopy --only-keep-debug "$TMPDIR/whole" "$TMPDIR/by_name/other.debug"
python3 tests/e2e/dwarf_truth.py pick "$TMPDIR/whole" 200 1 | sort -u >"$TMPDIR/vaddrs"
cp "$TMPDIR/whole" "$TMPDIR/by_name/whole"
for start in 0x55d0a1b2c000 0x400000; do
	python3 tests/e2e/symbolize_pprof.py "$TMPDIR/whole" $start <"$TMPDIR/vaddrs" >"$out/foreign.pb.gz"
	symbolize "foreign" foreign
	$(command -v llvm-symbolizer || command -v llvm-symbolizer-14) --no-inlines --obj="$TMPDIR/whole" \
		<"$TMPDIR/vaddrs" | awk 'NR % 3 == 1' | sort -u >"$TMPDIR/want"
	sed -e 's/ [0-9]*$//' -e 's/;.*//' -e 's/^\[whole+.*/??/' "$out/foreign.folded" | sort -u >"$TMPDIR/outermost"
	check "another profiler's addresses, mapped at $start: the functions are right" \
		diff "$TMPDIR/want" "$TMPDIR/outermost"
done

# --- Usage ---

usage()
{
	"$bpfprof" symbolize "$@" >>"$log" 2>&1
	[ $? = 2 ]
}
check "no FILE is refused" usage -o "$out/x.svg"
check "no output is refused" usage "$out/raw.pb.gz"
check "a --debug-dir that is not there is refused" usage "$out/raw.pb.gz" -o "$out/x.svg" --debug-dir "$TMPDIR/nowhere"
exit "$status"
