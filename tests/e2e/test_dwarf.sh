#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Inline chains of random addresses, compared with what llvm-symbolizer and eu-addr2line say of the
# same file, for each way to write debugging information. Which differences are known to be none of
# ours is said in dwarf_truth.py. BPFPROF_TEST_LONG=1: three times the addresses.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
COUNT=1500 # test_lines.sh has more, of what users see
EU_COUNT=100 # it takes milliseconds for each
if [ -n "${BPFPROF_TEST_LONG:-}" ]; then
	COUNT=4000 EU_COUNT=300
fi

first_of()
{
	for name; do
		if have "$name"; then
			echo "$name"
			return
		fi
	done
}

is_for_eu()
{
	case $1 in
	split* | clang* | Rust) return 1 ;;
	esac
}

# check NAME FILE [OPTION...]: the chains of FILE. OPTIONs go to our driver.
check()
{
	case_name=$1 file=$2
	shift 2
	rm -f "$tmp/llvm"
	tests/e2e/dwarf_truth.py pick "$file" $COUNT 1 >"$tmp/addresses" 2>"$log" &&
		"$tmp/lookup_lines" "$@" "$file" <"$tmp/addresses" >"$tmp/ours" 2>"$log"
	result $? "$case_name: looked up"
	if [ -n "$symbolizer" ] && [ $# = 0 ]; then
		# Without a symbol table, which would name the outermost function. The package of
		# split units is found by the name of the file.
		$objcopy --strip-all --keep-section='.debug_*' "$file" "$file.bare" 2>"$log"
		[ ! -e "$file.dwp" ] || cp "$file.dwp" "$file.bare.dwp"
		$symbolizer --inlines --functions=linkage --no-demangle --obj="$file.bare" \
			<"$tmp/addresses" >"$tmp/llvm" 2>"$log"
		tests/e2e/dwarf_truth.py check "$case_name" llvm "$tmp/ours" "$tmp/llvm" >"$log" 2>&1
		result $? "$case_name: $(tail -n 1 "$log")"
	fi
	# elfutils 0.188 finds no lines where units are split or have no .debug_aranges (clang, rustc).
	if have eu-addr2line && is_for_eu "$case_name"; then
		head -n $EU_COUNT "$tmp/addresses" >"$tmp/few"
		"$tmp/lookup_lines" "$@" "$file" <"$tmp/few" >"$tmp/ours_few"
		eu-addr2line -a -f -i -e "$file" <"$tmp/few" >"$tmp/theirs" 2>"$log"
		# What decides where it differs, if it has been asked of this file.
		set --
		[ ! -e "$tmp/llvm" ] || set -- "$tmp/llvm"
		tests/e2e/dwarf_truth.py check "$case_name" eu "$tmp/ours_few" "$tmp/theirs" "$@" >"$log" 2>&1
		result $? "$case_name: $(tail -n 1 "$log")"
	fi
}

# compile NAME COMPILER OPTION...: the C++ program into $tmp/NAME; 1: it cannot be built here.
compile()
{
	compile_to=$1
	shift
	if ! have "$1"; then
		skip "$compile_to" "no $1"
		return 1
	fi
	(cd "$tmp" && "$@" -O2 -g -std=c++17 -o "$compile_to" inlines.cpp) >"$log" 2>&1
	result $? "$compile_to builds"
}

check_dwz()
{
	if ! have dwz; then
		skip "dwz" "no dwz"
		return
	fi
	compile dwz_before g++ -gdwarf-4 || return
	cp "$tmp/dwz_before" "$tmp/dwz_alone"
	cp "$tmp/dwz_before" "$tmp/dwz_one"
	cp "$BUILD/bpfprof" "$tmp/dwz_two"
	dwz "$tmp/dwz_alone" 2>"$log"
	check "dwz, one file" "$tmp/dwz_alone"
	(cd "$tmp" && cp dwz_one dwz_three && dwz -m dwz_common dwz_one dwz_two dwz_three) 2>"$log"
	if [ ! -e "$tmp/dwz_common" ]; then
		result 1 "dwz makes a common file"
		return
	fi
	check "dwz, common file" "$tmp/dwz_one" --alt "$tmp/dwz_common"
	"$tmp/lookup_lines" "$tmp/dwz_before" <"$tmp/addresses" >"$tmp/before"
	tests/e2e/dwarf_truth.py check dwz ours "$tmp/ours" "$tmp/before" >"$log" 2>&1
	result $? "dwz, common file: as before: $(tail -n 1 "$log")"
}

check_split()
{
	for compiler in g++ clang++; do
		for version in 4 5; do
			split=split-$compiler-$version
			compile $split $compiler -gdwarf-$version -gsplit-dwarf || continue
			check "$split, .dwo" "$tmp/$split"
			dwp=$(first_of llvm-dwp llvm-dwp-14)
			if [ -z "$dwp" ]; then
				skip "$split, .dwp" "no llvm-dwp"
				continue
			fi
			# That of LLVM 14 never ends on GCC's version 5.
			if ! (cd "$tmp" && timeout 10 $dwp -e $split -o $split.dwp && rm ./*.dwo) 2>"$log"; then
				skip "$split, .dwp" "$dwp cannot package it"
				continue
			fi
			check "$split, .dwp" "$tmp/$split"
		done
	done
}

build_driver lookup_lines tests/e2e/lookup_lines.c
cp tests/workloads/inlines.cpp "$tmp"
symbolizer=$(first_of llvm-symbolizer llvm-symbolizer-14)
objcopy=$(first_of llvm-objcopy llvm-objcopy-14)
[ -n "$symbolizer" ] && [ -n "$objcopy" ] || {
	skip "compared with llvm-symbolizer" "no llvm-symbolizer or no llvm-objcopy"
	symbolizer=
}
have eu-addr2line || echo "skip - compared with eu-addr2line: no eu-addr2line"

check "C" "$BUILD/bpfprof"
for compiler in g++ clang++; do
	for version in 4 5; do
		compile $compiler-$version $compiler -gdwarf-$version &&
			check "$compiler DWARF $version" "$tmp/$compiler-$version"
	done
done
compile no-pie g++ -no-pie && check "C++, no PIE" "$tmp/no-pie"
compile compressed g++ -gz && check "C++, compressed" "$tmp/compressed"
compile sections g++ -ffunction-sections -Wl,--gc-sections &&
	check "C++, dropped sections" "$tmp/sections"
if have rustc; then
	rustc -g -O -o "$tmp/names_rs" "$top/tests/workloads/names.rs" >"$log" 2>&1
	result $? "Rust builds"
	check "Rust" "$tmp/names_rs"
else
	skip "Rust" "no rustc"
fi
check_split
check_dwz
exit $status
