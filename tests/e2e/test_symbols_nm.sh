#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of random addresses inside functions, compared with what nm says of the same file; PLT stubs
# compared with objdump's. Files of this machine, and programs compiled here.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
COUNT=2000
cross= # prefix of nm and objdump

# check_nm NAME FILE [NM OPTION]: the case NAME, for the symbols that nm shows with that option.
check_nm()
{
	if ! ${cross}nm -f sysv --defined-only ${3:+"$3"} "$2" >"$tmp/nm" 2>/dev/null ||
		! grep -q '|  *FUNC|' "$tmp/nm"; then
		skip "$1" "no such symbols in $2"
		return
	fi
	tests/e2e/nm_truth.py pick $COUNT 1 <"$tmp/nm" >"$tmp/addresses" 2>"$log" &&
		"$tmp/lookup_symbols" "$2" <"$tmp/addresses" >"$tmp/names" 2>"$log" &&
		tests/e2e/nm_truth.py check "$tmp/names" <"$tmp/nm" >"$log" 2>&1
	result $? "$1"
}

# check_debug NAME FILE: the case NAME, for the symbols in the debug file of that stripped file.
check_debug()
{
	id=$(readelf -n "$2" | sed -n 's/.*Build ID: //p')
	debug=/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
	if [ ! -e "$debug" ]; then
		skip "$1" "no debug file of $2"
		return
	fi
	nm -f sysv --defined-only "$debug" >"$tmp/nm" 2>"$log" &&
		tests/e2e/nm_truth.py pick $COUNT 1 <"$tmp/nm" >"$tmp/addresses" 2>"$log" &&
		"$tmp/lookup_symbols" --debug "$2" <"$tmp/addresses" >"$tmp/names" 2>"$log" &&
		tests/e2e/nm_truth.py check "$tmp/names" <"$tmp/nm" >"$log" 2>&1
	result $? "$1"
}

# check_plt NAME FILE: each stub that objdump names has that name here.
check_plt()
{
	for section in .plt .plt.sec .plt.got; do
		${cross}objdump -d -j $section "$2" 2>/dev/null
	done | sed -n 's/^0*\([0-9a-f]*\) <\([^>*]*@plt\)>:$/\1 \2/p' | sed 's/@[^@]*@plt/@plt/' |
		sort -u >"$tmp/wanted"
	if [ ! -s "$tmp/wanted" ]; then
		skip "$1" "objdump names no stubs in $2"
		return
	fi
	cut -d' ' -f1 "$tmp/wanted" | "$tmp/lookup_symbols" "$2" | sort -u >"$tmp/names"
	diff "$tmp/wanted" "$tmp/names" >"$log" 2>&1
	result $? "$1"
}

# check_indirect NAME FILE: each stub of an indirect function, which objdump knows by its resolver alone, has one of
# the names that nm has for that address.
check_indirect()
{
	objdump -d -j .plt "$2" | sed -n 's/^0*\([0-9a-f]*\) <\*ABS\*+0x\([0-9a-f]*\)@plt>:$/\1 \2/p' >"$tmp/stubs"
	if [ ! -s "$tmp/stubs" ]; then
		skip "$1" "no such stubs in $2"
		return
	fi
	cut -d' ' -f1 "$tmp/stubs" | "$tmp/lookup_symbols" "$2" >"$tmp/names"
	nm -D "$2" | awk '$2 == "i" { sub(/@.*/, "", $3); sub(/^0+/, "", $1); print $1, $3 "@plt" }' >"$tmp/resolvers"
	awk 'FILENAME ~ /resolvers$/ { known[$1 " " $2]; has[$1]; next }
		FILENAME ~ /names$/ { name[$1] = $2; next }
		$2 in has { named++; if (!(($2 " " name[$1]) in known)) { print $1, $2, name[$1]; wrong++ } }
		END { print named + 0, "stubs"; exit !named || wrong }' "$tmp/resolvers" "$tmp/names" "$tmp/stubs" >"$log" 2>&1
	result $? "$1"
}

build_driver lookup_symbols tests/e2e/lookup_symbols.c

for compiler in gcc clang; do
	for layout in "" -static -no-pie "-fcf-protection=full -Wl,-z,lazy" "-Wl,-z,now"; do
		case_name="$compiler $layout"
		if ! have $compiler; then
			skip "$case_name" "no $compiler"
			continue
		fi
		# shellcheck disable=SC2086 # a list of options
		if ! $compiler -O2 -g $layout -o "$tmp/fixture" tests/e2e/symbols_fixture.c \
			2>"$log"; then
			skip "$case_name" "$compiler cannot build it here"
			continue
		fi
		check_nm "$case_name" "$tmp/fixture"
		[ "$layout" = -static ] || check_plt "$case_name, PLT" "$tmp/fixture"
	done
done

if have rustc; then
	printf 'fn main() { println!("{:?}", std::env::args().collect::<Vec<_>>()); }\n' >"$tmp/demo.rs"
	rustc -C symbol-mangling-version=v0 -o "$tmp/demo_rs" "$tmp/demo.rs" 2>"$log"
	check_nm "rustc" "$tmp/demo_rs"
else
	skip "rustc" "no rustc"
fi

check_nm "libc, exported" "$(library_of libc.so "$(command -v sh)")" -D
check_debug "libc, with its debug file" "$(library_of libc.so "$(command -v sh)")"
check_plt "libc, PLT" "$(library_of libc.so "$(command -v sh)")"
check_indirect "libc, stubs of its own indirect functions" "$(library_of libc.so "$(command -v sh)")"
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
check_nm "python3, exported" "$python" -D
check_plt "python3, PLT" "$python"
check_nm "bpfprof" "$BUILD/bpfprof"
# What is not installed by tools/install-deps is looked at where it is there.
if have node; then
	check_nm "node" "$(realpath "$(command -v node)")"
fi
if have aarch64-linux-gnu-gcc && sysroot=$(tools/arm64-sysroot 2>"$log"); then
	cross=aarch64-linux-gnu-
	for layout in -mbranch-protection=none "-mbranch-protection=standard -Wl,-z,force-bti"; do
		# shellcheck disable=SC2086 # a list of options
		if ! aarch64-linux-gnu-gcc --sysroot="$sysroot" -O2 $layout -o "$tmp/fixture" \
			tests/e2e/symbols_fixture.c 2>"$log"; then
			result 1 "aarch64 $layout compiles"
			continue
		fi
		check_nm "aarch64 $layout" "$tmp/fixture"
		check_plt "aarch64 $layout, PLT" "$tmp/fixture"
	done
fi
exit $status
