#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# What a flame graph shows at random addresses of C, C++ and Rust programs (PIE and not, by two linkers): names as nm
# has them, lines and inlined calls as llvm-symbolizer and eu-addr2line have them; and the same once the program is
# stripped, with each kind of separate debug file. What may differ is said in lines_truth.py.
# BPFPROF_TEST_LONG=1: four times the addresses.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
COUNT=2500
EU_COUNT=1000 # its own errors are at 2 % of all: among 100, 6 were met
if [ -n "${BPFPROF_TEST_LONG:-}" ]; then
	COUNT=10000 EU_COUNT=3000
fi

# same NAME FILE EXPECTED [OPTION...]: FILE's answers, with OPTIONs of the driver, are EXPECTED's.
same()
{
	same_name=$1 same_file=$2 expected=$3
	shift 3
	"$tmp/lookup_profile" "$@" "$same_file" <"$tmp/addresses" >"$tmp/found" 2>"$log" &&
		diff "$expected" "$tmp/found" >"$log" 2>&1
	result $? "$same_name"
}

# answers NAME PROGRAM: of the unstripped program, with lines into $tmp/lines and without into $tmp/plain. All that
# comes after it is compared with these, so they are compared with other readers first.
answers()
{
	nm -f sysv --defined-only "$2" >"$tmp/nm" 2>"$log" &&
		tests/e2e/dwarf_truth.py pick "$2" $COUNT 1 >"$tmp/addresses" 2>"$log" &&
		"$tmp/lookup_profile" "$2" <"$tmp/addresses" >"$tmp/lines" 2>"$log" &&
		llvm-symbolizer --inlines --functions=linkage --no-demangle --obj="$2" <"$tmp/addresses" \
			>"$tmp/llvm" 2>"$log" &&
		tests/e2e/lines_truth.py check llvm "$tmp/addresses" "$tmp/lines" "$tmp/llvm" "$tmp/nm" >"$log" 2>&1
	result $? "$1: $(tail -n 1 "$log")"
	"$tmp/lookup_profile" --no-inline "$2" <"$tmp/addresses" >"$tmp/plain" 2>"$log" &&
		tests/e2e/lines_truth.py names symbols "$tmp/addresses" "$tmp/plain" "$tmp/lines" "$tmp/nm" \
			>"$log" 2>&1
	result $? "$1, --no-inline: $(tail -n 1 "$log")"
}

# check_kept NAME PROGRAM: after answers, the same from names of which half were kept by a run before.
check_kept()
{
	rm -rf "$tmp/kept_names"
	mkdir "$tmp/kept_names"
	head -n $((COUNT / 2)) "$tmp/addresses" |
		"$tmp/lookup_profile" --keep "$tmp/kept_names" "$2" >"$tmp/found" 2>"$log"
	[ -n "$(find "$tmp/kept_names" -type f -size +10k)" ]
	result $? "$1: names are kept"
	same "$1, half of the names kept" "$2" "$tmp/lines" --keep "$tmp/kept_names"
	same "$1, all names kept" "$2" "$tmp/lines" --keep "$tmp/kept_names"
}

# compare_eu NAME PROGRAM: after answers. elfutils 0.188 finds no lines where units are split or have no
# .debug_aranges (rustc).
compare_eu()
{
	head -n $EU_COUNT "$tmp/addresses" >"$tmp/few"
	"$tmp/lookup_profile" "$2" <"$tmp/few" >"$tmp/found" 2>"$log" &&
		eu-addr2line -a -f -i -e "$2" <"$tmp/few" >"$tmp/eu" 2>"$log" &&
		tests/e2e/lines_truth.py check eu "$tmp/few" "$tmp/found" "$tmp/eu" "$tmp/nm" "$tmp/llvm" >"$log" 2>&1
	result $? "$1: $(tail -n 1 "$log")"
}

# --- Stripped ---

# begin_split PROGRAM: a new $split/bin with the stripped program and its debug file.
begin_split()
{
	split=$tmp/split
	rm -rf "$split"
	mkdir -p "$split/bin" "$split/usr/lib/debug" &&
		objcopy --only-keep-debug "$1" "$split/bin/prog.debug" 2>/dev/null &&
		objcopy --strip-all --add-gnu-debuglink="$split/bin/prog.debug" "$1" "$split/bin/prog" 2>"$log"
}

# Without its debug file the stripped program must lack most of the answers, or the rest of a kind shows nothing.
needs_it()
{
	"$tmp/lookup_profile" "$2" <"$tmp/addresses" >"$tmp/found" 2>"$log"
	[ "$(grep -c '^\[' "$tmp/found")" -gt $((COUNT / 2)) ]
	result $? "$1, without its debug file: no names"
}

check_places()
{
	begin_split "$2"
	same "$1, .gnu_debuglink" "$split/bin/prog" "$tmp/lines"
	same "$1, .gnu_debuglink, --no-inline" "$split/bin/prog" "$tmp/plain" --no-inline
	mkdir "$split/bin/.debug" && mv "$split/bin/prog.debug" "$split/bin/.debug/"
	same "$1, .debug/" "$split/bin/prog" "$tmp/lines"
	mkdir "$split/usr/lib/debug/bin" && mv "$split/bin/.debug/prog.debug" "$split/usr/lib/debug/bin/"
	needs_it "$1" "$split/bin/prog"
	same "$1, debug folder" "$split/bin/prog" "$tmp/lines" --root "$split"
	id=$(readelf -n "$2" 2>"$log" | sed -n 's/.*Build ID: //p')
	folder=$split/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)
	mkdir -p "$folder" && mv "$split/usr/lib/debug/bin/prog.debug" "$folder/$(echo "$id" | cut -c 3-).debug"
	same "$1, build-id" "$split/bin/prog" "$tmp/lines" --root "$split"
}

# Without a build-id the checksum alone says which file belongs to it.
check_crc()
{
	cp "$2" "$tmp/no_id" && objcopy --remove-section=.note.gnu.build-id "$tmp/no_id" 2>"$log"
	begin_split "$tmp/no_id"
	same "$1, checksum only" "$split/bin/prog" "$tmp/lines"
	printf x >>"$split/bin/prog.debug"
	needs_it "$1, another checksum" "$split/bin/prog"
}

check_lines_apart()
{
	begin_split "$2"
	strip --strip-debug -o "$split/bin/prog" "$2" 2>"$log" &&
		objcopy --add-gnu-debuglink="$split/bin/prog.debug" "$split/bin/prog" 2>"$log"
	same "$1, symbols left" "$split/bin/prog" "$tmp/lines"
}

check_compressed()
{
	for format in zlib zlib-gnu; do
		begin_split "$2"
		objcopy --compress-debug-sections=$format "$split/bin/prog.debug" 2>"$log"
		readelf -SW "$split/bin/prog.debug" 2>/dev/null | grep -Eq '\.zdebug_info| C .*'
		result $? "$1, $format: compressed"
		same "$1, $format" "$split/bin/prog" "$tmp/lines"
	done
}

check_dwz()
{
	begin_split "$2"
	(cd "$split/bin" && cp prog.debug other.debug && dwz -m common.debug prog.debug other.debug) >"$log" 2>&1
	readelf -SW "$split/bin/prog.debug" 2>/dev/null | grep -q gnu_debugaltlink
	result $? "$1, dwz: common file"
	same "$1, dwz" "$split/bin/prog" "$tmp/lines"
}

# "MiniDebuginfo": the functions that .dynsym lacks, compressed.
check_mini()
{
	begin_split "$2"
	nm -D -f posix --defined-only "$2" | cut -d' ' -f1 | sort >"$tmp/exported"
	nm -f posix --defined-only "$2" | awk '$2 ~ /[TtWiV]/ { print $1 }' | sort -u |
		comm -13 "$tmp/exported" - >"$tmp/kept"
	objcopy --strip-all --keep-symbols="$tmp/kept" "$split/bin/prog.debug" "$tmp/mini" >"$log" 2>&1 &&
		xz -c "$tmp/mini" >"$tmp/mini.xz" &&
		objcopy --remove-section=.gnu_debuglink --add-section .gnu_debugdata="$tmp/mini.xz" "$split/bin/prog" \
			2>"$log" && rm "$split/bin/prog.debug"
	same "$1, .gnu_debugdata" "$split/bin/prog" "$tmp/plain"
}

check_split_off()
{
	check_places "$@"
	check_crc "$@"
	check_lines_apart "$@"
	check_compressed "$@"
	check_dwz "$@"
	check_mini "$@"
}

# --- Programs ---

# C++ is tests/workloads/inlines.cpp, C the part of bpfprof that reads ELF files: link LANGUAGE OUT OPTION...
link()
{
	link_language=$1 out=$2
	shift 2
	case $link_language in
	C) (cd "$tmp" && gcc -o "$out" "$@" c_objects/*.o -lelf -llzma -lxxhash -lseccomp -lz) >"$log" 2>&1 ;;
	C++) (cd "$tmp" && g++ -o "$out" "$@" inlines.o) >"$log" 2>&1 ;;
	Rust)
		# Options are the linker driver's, but for non-PIE.
		for option; do
			shift
			case $option in
			-no-pie) set -- "$@" -C relocation-model=static ;;
			-pie) ;;
			*) set -- "$@" -C "link-arg=$option" ;;
			esac
		done
		rustc -O -g --crate-name names -o "$tmp/$out" "$@" tests/workloads/names.rs >"$log" 2>&1
		;;
	esac
}

compile_objects()
{
	mkdir "$tmp/c_objects"
	(cd "$tmp/c_objects" && gcc -O2 -g -std=gnu11 -D_GNU_SOURCE -iquote "$top/user" -idirafter "$top/include" -c \
		"$top"/user/base/*.c "$top"/user/elf/*.c "$top/tests/e2e/lookup_lines.c") >"$log" 2>&1 &&
		(cd "$tmp" && g++ -O2 -gdwarf-5 -std=c++17 -c inlines.cpp) >>"$log" 2>&1
	result $? "C and C++ compile"
}

# program LANGUAGE LINKER LAYOUT: all of the test, for one program
program()
{
	program="$1 by $2, $3"
	if ! link "$1" prog "-fuse-ld=$2" "$3"; then
		result 1 "$program: builds"
		return
	fi
	type=$(readelf -hW "$tmp/prog" | awk '$1 == "Type:" { print $2 }')
	[ "$type" = "$([ "$3" = -no-pie ] && echo EXEC || echo DYN)" ]
	result $? "$program: is $type"
	answers "$program" "$tmp/prog"
	check_kept "$program" "$tmp/prog"
	[ "$1" = Rust ] || compare_eu "$program" "$tmp/prog"
	check_split_off "$program" "$tmp/prog"
}

# --- Split units ---

# The same code with its units in the program is what split ones are compared with: of DWARF 4, llvm-symbolizer 14
# finds ranges only in the first of them (it leaves DW_AT_GNU_ranges_base out).

# as_whole NAME: $tmp/units/prog, with .dwo or .dwp beside it, has the answers of $tmp/units/whole_prog; stripped too.
as_whole()
{
	same "$1" "$tmp/units/prog" "$tmp/lines"
	cp "$tmp/units/prog" "$tmp/units/kept_prog"
	objcopy --only-keep-debug "$tmp/units/prog" "$tmp/units/prog.debug" 2>/dev/null &&
		objcopy --strip-all --add-gnu-debuglink="$tmp/units/prog.debug" "$tmp/units/prog" 2>"$log"
	same "$1, stripped" "$tmp/units/prog" "$tmp/lines"
	mv "$tmp/units/kept_prog" "$tmp/units/prog"
	rm "$tmp/units/prog.debug"
}

# code_of PROGRAM: its code, in hexadecimal
code_of()
{
	objcopy -O binary --only-section=.text "$1" /dev/stdout 2>"$log" | od -A n -t x1
}

# compare_units NAME: $tmp/units/prog with $tmp/units/whole/prog
compare_units()
{
	answers "$1" "$tmp/units/whole/prog"
	code_of "$tmp/units/whole/prog" >"$tmp/code" && code_of "$tmp/units/prog" | cmp - "$tmp/code" >"$log" 2>&1
	result $? "$1, .dwo: is the same code"
	as_whole "$1, .dwo"
	# LLVM 14's llvm-dwp, the only one in Debian 12 for DWARF 5, never ends on GCC's.
	case $1 in
	gcc*-5*) return ;;
	esac
	mkdir "$tmp/units/dwo"
	(cd "$tmp/units" && timeout 20 llvm-dwp -e prog -o prog.dwp && mv ./*.dwo dwo) >"$log" 2>&1
	result $? "$1: llvm-dwp packages it"
	as_whole "$1, .dwp"
	(cd "$tmp/units" && mv dwo/*.dwo . && rmdir dwo && rm prog.dwp)
}

new_units()
{
	rm -rf "$tmp/units"
	mkdir -p "$tmp/units/whole"
}

# units_of COMPILER -gdwarf-VERSION SOURCE...: with all layouts
units_of()
{
	compiler=$1 version=$2
	shift 2
	new_units
	set -- $compiler -O2 "$version" -D_GNU_SOURCE -iquote "$top/user" -idirafter "$top/include" -c "$@"
	(cd "$tmp/units" && "$@" && mv ./*.o whole && "$@" -gsplit-dwarf && ls ./*.dwo) >"$log" 2>&1
	result $? "$compiler $version, split units: compiles"
	for linker in bfd lld; do
		for layout in -pie -no-pie; do
			for folder in . whole; do
				(cd "$tmp/units/$folder" && $compiler "-fuse-ld=$linker" $layout -o prog ./*.o -lelf \
					-llzma -lxxhash -lseccomp -lz) >"$log" 2>&1
			done
			compare_units "$compiler $version, split units by $linker, $layout"
		done
	done
}

# One codegen unit: between several, symbols are named by a checksum of what they were built with.
rust_units()
{
	for linker in bfd lld; do
		for model in pie static; do
			new_units
			# The variable is for Rust 1.63, where the option is an unstable one.
			for out in "unpacked -o prog" "off -o whole/prog"; do
				# shellcheck disable=SC2086 # two words
				(cd "$tmp/units" && RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -O -g -C codegen-units=1 \
					--crate-name names -C relocation-model=$model -C link-arg=-fuse-ld=$linker \
					"$top/tests/workloads/names.rs" -C split-debuginfo=$out) >"$log" 2>&1
			done
			compare_units "Rust, split units by $linker, $model"
		done
	done
}

build_driver lookup_profile tests/e2e/lookup_profile.c
for tool in g++ clang++ rustc ld.lld llvm-symbolizer llvm-dwp eu-addr2line dwz; do
	if ! have $tool; then
		skip "lines" "no $tool"
		exit 0
	fi
done
cp tests/workloads/inlines.cpp "$tmp"
compile_objects
for linker in bfd lld; do
	for layout in -pie -no-pie; do
		for language in C C++ Rust; do
			program $language $linker $layout
		done
	done
done
units_of gcc -gdwarf-4 "$top"/user/base/*.c "$top"/user/elf/*.c "$top/tests/e2e/lookup_lines.c"
units_of gcc -gdwarf-5 "$top"/user/base/*.c "$top"/user/elf/*.c "$top/tests/e2e/lookup_lines.c"
units_of clang++ -gdwarf-5 "$top/tests/workloads/inlines.cpp"
rust_units
exit $status
