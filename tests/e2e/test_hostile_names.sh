#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever lies where names are looked for, a recording ends in bounded time and memory, with status 0 and without a
# word: damaged and lying ELF files and DWARF, links that lead astray, what is no regular file, lists of JIT code
# without an end, files that change while they are read. (Single bad bytes are for tests/fuzz.)
# timeout: 600
set -u
. tests/e2e/live.sh
work=$TMPDIR/work
HUGE=10000000000 # bytes, sparse
CLAIM=8000000000

# --- Debug files ---

busy victim
objcopy --only-keep-debug "$TMPDIR/bin/victim" "$TMPDIR/good.debug" && cp "$TMPDIR/bin/victim" "$TMPDIR/whole"
strip -o "$TMPDIR/stripped" "$TMPDIR/whole"
verdict $? "a program, and its debug file"

# victim [PROGRAM]: $work/victim, stripped, or a copy of PROGRAM, with a link to victim.debug beside it.
victim()
{
	rm -rf "$work"
	mkdir -p "$work"
	cp "$TMPDIR/good.debug" "$work/victim.debug"
	objcopy --add-gnu-debuglink="$work/victim.debug" "${1:-$TMPDIR/stripped}" "$work/victim"
}

# link PROGRAM NAME: it shall have a link to NAME, whatever that is.
link()
{
	{ printf '%s\0' "$2"; head -c $((3 - ${#2} % 4)) /dev/zero; printf 'ABCD'; } >"$TMPDIR/link"
	objcopy --remove-section=.gnu_debuglink "$1"
	objcopy --add-section .gnu_debuglink="$TMPDIR/link" "$1"
}

edit()
{
	python3 tests/e2e/elf_edit.py "$@" >>"$log" 2>&1
}

# by_address NAME: recorded within 64 MiB; without a debug file that fits, the code has addresses for names.
by_address()
{
	hostile "$1" 64 1 -- "$work/victim" 0.3
	named ';\[victim[+]0x[0-9a-f]*\][; ]' "$1"
}

# by_name NAME [MIB]: recorded, and named, because the part that matters is sound.
by_name()
{
	hostile "$1" "${2:-64}" 1 -- "$work/victim" 0.3
	named ';victim(;victim_inlined_\[i\])?[; ]' "$1"
}

victim
by_name "a sound debug file"
check "a sound debug file: with inlined calls" has ';victim;victim_inlined_\[i\][; ]' x 30

for kind in FIFO device folder "link to a device" "link to itself" "sparse file"; do
	victim
	rm "$work/victim.debug"
	case $kind in
	FIFO) mkfifo "$work/victim.debug" ;;
	device) mknod "$work/victim.debug" c 1 5 ;;
	folder) mkdir "$work/victim.debug" ;;
	"link to a device") ln -s /dev/zero "$work/victim.debug" ;;
	"link to itself") ln -s victim.debug "$work/victim.debug" ;;
	"sparse file") truncate -s $HUGE "$work/victim.debug" ;;
	esac
	by_address "a $kind for a debug file"
done

victim
link "$work/victim" victim
by_address "a program that is its own debug file"

victim
link "$work/victim" other
cp "$work/victim" "$work/other"
link "$work/other" victim
by_address "two that are each other's"

for name in ../good.debug "$TMPDIR/good.debug" .. . ''; do
	victim
	rm "$work/victim.debug"
	link "$work/victim" "$name"
	by_address "a link to '${name/#$TMPDIR//tmp}'"
done

# Headers that claim more than there is to gain. In a file of root's the claim costs nothing, in anybody's a copy.
for owner in root nobody; do
	for claim in section:.shstrtab:size=$CLAIM section:.note.gnu.build-id:size=$CLAIM section:.debug_info:size=$CLAIM \
		section:.debug_str:size=$CLAIM segment:4:filesz=$CLAIM; do
		victim
		edit "$work/victim.debug" "$claim" length=$HUGE
		chown "$owner" "$work/victim.debug"
		by_name "$owner's debug file with $claim"
	done
	for table in symtab strtab; do
		victim
		edit "$work/victim.debug" section:.$table:offset=0x10000 section:.$table:size=$CLAIM length=$HUGE
		chown "$owner" "$work/victim.debug"
		by_address "$owner's debug file with a .$table of $CLAIM bytes"
	done
done

# The largest that is believed.
victim
edit "$work/victim.debug" section:.strtab:size=$((256 << 20)) section:.debug_str:size=$((480 << 20)) length=$HUGE
chown nobody "$work/victim.debug"
by_name "nobody's debug file with tables as large as they may be" $((256 + 512 + 64))

# --- Programs ---

for claim in section:.shstrtab:size=$CLAIM section:.plt:size=$CLAIM section:.eh_frame:size=$CLAIM \
	section:.debug_info:size=$CLAIM segment:4:filesz=$CLAIM; do
	for owner in root nobody; do
		victim "$TMPDIR/whole"
		edit "$work/victim" "$claim" length=$HUGE
		chown "$owner" "$work/victim"
		by_name "$owner's program with $claim"
	done
done

# A whole ZIP bomb in one section.
head -c 1G /dev/zero | xz -0 >"$TMPDIR/bomb.xz"
victim
objcopy --add-section .gnu_debugdata="$TMPDIR/bomb.xz" "$work/victim"
rm "$work/victim.debug"
hostile "a .gnu_debugdata that unpacks to 1 GiB" 256 1 -- "$work/victim" 0.3
named ';\[victim[+]0x[0-9a-f]*\][; ]' "a .gnu_debugdata that unpacks to 1 GiB"

# Twenty damaged ones of each kind in one recording. What is behind the code may be anything: the kernel runs it.
loaded=$(readelf -lW "$TMPDIR/whole" | awk '/LOAD/ { print $2, $5 }' | while read -r off bytes; do
	echo $((off + bytes))
done | sort -n | tail -n 1)
mkdir "$TMPDIR/mutants"
for seed in $(seq 20); do
	for kind in program debug; do
		victim "$([ $kind = program ] && echo "$TMPDIR/whole")"
		if [ $kind = program ]; then
			edit "$work/victim" "mutate=$seed:$loaded"
		else
			edit "$work/victim.debug" "mutate=$seed:20"
		fi
		mkdir "$TMPDIR/mutants/$kind$seed"
		cp "$work/"* "$TMPDIR/mutants/$kind$seed"
	done
done
cat >"$TMPDIR/bin/run_mutants" <<'END'
#!/bin/sh
for program in "$1"/*/victim; do "$program" 0.1; done
END
chmod +x "$TMPDIR/bin/run_mutants"
hostile "40 damaged programs and debug files" 64 6 -- run_mutants "$TMPDIR/mutants"
check "40 damaged programs and debug files: all of them were recorded" has '^victim;' x 1600

# --- Split units ---

# split_victim: $work/victim, its lines in a .dwo file, $dwo.
split_victim()
{
	rm -rf "$work"
	mkdir -p "$work"
	(cd "$work" && gcc -O2 -g -gsplit-dwarf -D_GNU_SOURCE -fno-omit-frame-pointer -DBUSY=victim -o victim \
		"$workloads/busy.c") >>"$log" 2>&1
	dwo=$(find "$work" -name '*.dwo')
}

split_victim
by_name "a sound .dwo file"
check "a sound .dwo file: with inlined calls" has ';victim;victim_inlined_\[i\][; ]' x 30
for kind in FIFO device "link to a device" folder "damaged file" "file of others that claims much"; do
	split_victim
	case $kind in
	"damaged file") edit "$dwo" mutate=1:20 ;;
	"file of others that claims much")
		edit "$dwo" section:.debug_str.dwo:size=$CLAIM length=$HUGE
		chown nobody "$dwo"
		;;
	*) rm "$dwo" ;;
	esac
	case $kind in
	FIFO) mkfifo "$dwo" ;;
	device) mknod "$dwo" c 1 5 ;;
	"link to a device") ln -s /dev/zero "$dwo" ;;
	folder) mkdir "$dwo" ;;
	esac
	by_name "a $kind for a .dwo file"
done

# --- Files that change while they are read ---

awk 'BEGIN { print ".section .note.GNU-stack\n.text"; for (i = 0; i < 300000; i++) print "function_" i "_of_many: ret" }' \
	>"$TMPDIR/many.s"
compile cuts cuts.c -ldl
compile many busy.c -DBUSY=victim -DLIBRARY -fPIC -shared "$TMPDIR/many.s"
for try in 1 2 3; do
	cp "$TMPDIR/bin/many" "$work/cut.so"
	chown nobody "$work/cut.so"
	load cuts "$work/cut.so" victim
	hostile "a library that is cut short again and again, $try" 128 2 -p "$load" -d 2
	check "a library that is cut short again and again, $try: it was recorded" has 'victim|cut\.so' x 30
	stop_loads
done

# --- More of it than there is time for ---

cat >"$TMPDIR/bin/run_all" <<'END'
#!/bin/sh
for program in "$1"/*; do "$program" 0.04; done
END
chmod +x "$TMPDIR/bin/run_all"
victim
rm "$work/victim.debug"
objcopy --add-section .gnu_debugdata="$TMPDIR/bomb.xz" "$work/victim"
mkdir "$TMPDIR/bombs"
for i in $(seq 100); do
	cp "$work/victim" "$TMPDIR/bombs/victim"
	mv "$TMPDIR/bombs/victim" "$TMPDIR/bombs/bomb_$i"
done
hostile "100 programs with such a section" 256 6 -- run_all "$TMPDIR/bombs"
check "100 programs with such a section: what there was no time for is counted" is "$(field x frames.unnamed.no_time) >= 1"
check "100 programs with such a section: each frame has its name or its reason" \
	is "$(field x frames.distinct) == $(field x frames.named) + $(unnamed x)"
exit $status
