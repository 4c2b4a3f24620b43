#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Inlined calls and source lines in real recordings, wherever the debugging information is: in the program, beside
# it, in parts, compressed, in another root; and none of it with --no-inline.
# timeout: 300
set -u
. tests/e2e/live.sh

source=$workloads/chain.cpp
chain=';main;chain::drive\(chain::crank&, unsigned long\);chain::crank::wind\(unsigned long\)_\[i\];unsigned long chain::turn<3u>\(unsigned long\)_\[i\] '

# shows NAME CASE COMMAND...: in nearly all samples of the program the whole chain is there.
shows()
{
	local name=$1 case=$2
	shift 2
	recorded "$name" "$case" -F 499 -o "$TMPDIR/out/$name.pb.gz" --force -- "$@"
	check "$case: the inlined calls are frames" \
		is "$(samples "$chain" "$name") > 0.9 * $(samples ';main[; ]' "$name") && $(samples "$chain" "$name") > 100"
}

# line_of TEXT: where the workload says that.
line_of()
{
	grep -n "/\* $1 \*/" "$source" | cut -d: -f1
}

# --- In the program ---

compile chain chain.cpp
shows own "C++ with -g" chain 1
check "C++ with -g: there was time for all of it" is "$(field own frames.lines_cut) == 0"

if ! have go; then
	skip "lines in pprof" "there is no go"
else
	raw=$TMPDIR/out/raw
	HOME=$TMPDIR go tool pprof -symbolize=none -raw "$TMPDIR/out/own.pb.gz" >"$raw" 2>>"$log"
	# has_line FUNCTION LINE START: as innermost or as further line of a location.
	has_line()
	{
		grep -E "$1 $source:$2(:0)? s=$3(\$|\()" "$raw" >/dev/null && return
		grep -E "$1" "$raw"
		return 1
	}
	check "lines in pprof: the inlined function's" has_line 'unsigned long chain::turn<3u>\(unsigned long\)' \
		"($(line_of "turn loops")|$(line_of "turn adds"))" "$(line_of "turn starts")"
	check "lines in pprof: of the call in the function between" has_line 'chain::crank::wind\(unsigned long\)' \
		"$(line_of "wind turns")" "$(line_of "wind starts")"
	check "lines in pprof: of the call in the function itself" has_line \
		'chain::drive\(chain::crank&, unsigned long\)' "$(line_of "drive winds")" "$(line_of "drive starts")"
	check "lines in pprof: the mapping says that it has them" grep -q '/chain .*\[FN\]\[FL\]\[LN\]\[IN\]' "$raw"
fi

compile chain_gz chain.cpp -gz
shows gz "compressed sections" chain_gz 1

# --- Not wanted ---

recorded plain "--no-inline" --no-inline -F 499 -o "$TMPDIR/out/plain.pb.gz" -- chain 1
check "--no-inline: the function has all of the time" \
	has ';main;chain::drive\(chain::crank&, unsigned long\) ' plain 100
check "--no-inline: no frame is inlined" has_no '_\[i\]' plain
no_lines()
{
	zcat "$TMPDIR/out/plain.pb.gz" >"$TMPDIR/out/plain.pb"
	grep -a -q drive "$TMPDIR/out/plain.pb" && ! grep -a -q chain.cpp "$TMPDIR/out/plain.pb"
}
check "--no-inline: the profile names no source" no_lines

# --- Beside the program ---

# split_off NAME STRIP_OPTION: chain as NAME without what goes to NAME.debug.
split_off()
{
	objcopy --only-keep-debug "$TMPDIR/bin/chain" "$TMPDIR/bin/$1.debug" >>"$log" 2>&1 &&
		strip "$2" -o "$TMPDIR/bin/$1" "$TMPDIR/bin/chain" >>"$log" 2>&1 &&
		objcopy --add-gnu-debuglink="$TMPDIR/bin/$1.debug" "$TMPDIR/bin/$1" >>"$log" 2>&1
	verdict $? "$1: split off"
}

split_off stripped --strip-all
shows stripped "stripped, with a debug file" stripped 1
split_off symbols_left --strip-debug
shows symbols_left "symbols left, lines in a debug file" symbols_left 1

# --- In parts ---

compile chain_split chain.cpp -gsplit-dwarf
shows split "split units" chain_split 1

if ! have dwz; then
	skip "dwz" "there is no dwz"
else
	compile chain_dwz chain.cpp -gdwarf-4
	(cd "$TMPDIR/bin" && cp chain_dwz chain_dwz_too && dwz -m common -r chain_dwz chain_dwz_too) >>"$log" 2>&1
	verdict $? "dwz makes a common file"
	shows dwz "what dwz has moved out" chain_dwz 1
fi

# --- In another root ---

# A mount namespace with a file system of its own, as containers have. What was split off, and the units split
# from that, are only there (mv: their folder's name is in the program).
cat >"$TMPDIR/bin/contained" <<'END'
#!/bin/sh
# contained FOLDER SECONDS: chain_root of FOLDER, in a root of its own
mount -t tmpfs none /mnt && mkdir -p /mnt/opt /mnt/usr/lib/debug/opt && cd "$1" &&
	cp chain_root /mnt/opt && mv ./*.dwo /mnt/opt && cp chain_root.debug /mnt/usr/lib/debug/opt &&
	exec chroot /mnt /opt/chain_root "$2"
END
chmod +x "$TMPDIR/bin/contained"
mkdir "$TMPDIR/contents"
if ! (cd "$TMPDIR/contents" && g++ -O2 -g -gsplit-dwarf -static -o chain_root "$source") >>"$log" 2>&1; then
	skip "another root" "no static C++ library"
elif ! unshare --mount true 2>>"$log"; then
	skip "another root" "no mount namespaces"
else
	(cd "$TMPDIR/contents" && objcopy --only-keep-debug chain_root chain_root.debug &&
		objcopy --strip-all --add-gnu-debuglink=chain_root.debug chain_root) >>"$log" 2>&1
	verdict $? "chain_root: split off"
	shows root "another root" unshare --mount contained "$TMPDIR/contents" 1
fi

# --- Rust ---

if ! have rustc; then
	skip "Rust" "there is no rustc"
else
	rustc -O -g --crate-name names -o "$TMPDIR/bin/names_rust" "$workloads/names.rs" >>"$log" 2>&1
	verdict $? "names.rs compiles"
	recorded rust "Rust" -F 499 -- names_rust 20000
	check "Rust: the inlined calls are frames" \
		has ';names::shop::weigh(::<u32>)?;names::burn_\[i\];.*::fold(::<[^;]*>)?_\[i\]' rust 30
	check "Rust: neither a mangled name nor a hash is left" has_no ';_R|;_ZN|::h[0-9a-f]{16}[;_ ]' rust
fi
exit $status
