#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More unwind rows are mapped on the host than there is room for: whose rows found none while it slept has whole stacks
# soon after it runs.
set -u
. tests/e2e/live.sh

ROWS_OF_ONE=8192
# user/capture/sizes.c: room for rows, of four bytes each
room=$(awk '/^MemTotal/ { kb = $2 } END { b = kb / 2; b = b < 15 * 2^20 ? 15 * 2^20 : b > 256 * 2^20 ? 256 * 2^20 : b; printf "%d", b / 4 }' \
	/proc/meminfo)
libraries=$((room / ROWS_OF_ONE + 80))

# rows COUNT: assembly with so many of them, 14 bytes of code each
rows()
{
	printf '.text\nmany_rows:\n.rept %d\n.cfi_startproc\n.rept 256\n' $(($1 / 512))
	printf '.skip 14, 0x90\n.cfi_def_cfa_offset 16\n.skip 14, 0x90\n.cfi_def_cfa_offset 24\n.endr\nret\n.cfi_endproc\n.endr\n'
	printf '.section .note.GNU-stack,"",@progbits\n'
}

rows $ROWS_OF_ONE >"$TMPDIR/rows.s"
rows $((4 * ROWS_OF_ONE)) >"$TMPDIR/more.s"
gcc -shared -o "$TMPDIR/one.so" -x assembler "$TMPDIR/rows.s" >>"$log" 2>&1
result $? "a library of $ROWS_OF_ONE rows"
for ((i = 0; i < libraries; i++)); do
	cp "$TMPDIR/one.so" "$TMPDIR/lib$i.so"
done
# The frame pointer is no way out of burn(): it holds something else.
cat >"$TMPDIR/late.c" <<'END'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) long burn(long n)
{
	long sum = n;

	for (long i = 0; i < n; i++)
		__asm__ volatile("mov %0, %%rbp\n\tadd $1, %0" : "+r"(sum)::"rbp");
	return sum;
}
int main(int argc, char **argv)
{
	time_t end;

	sleep(atoi(argv[1]));
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end)
		burn(1000000);
	return argc > 9;
}
END
gcc -O2 -fomit-frame-pointer -o "$TMPDIR/bin/late" "$TMPDIR/late.c" -x assembler "$TMPDIR/more.s" >>"$log" 2>&1
result $? "a program with more rows than fit at the end"

load python3 -c '
import ctypes, sys, time
kept = [ctypes.CDLL("%s/lib%d.so" % (sys.argv[1], i)) for i in range(int(sys.argv[2]))]
open(sys.argv[1] + "/mapped", "w").close()
time.sleep(120)' "$TMPDIR" "$libraries"
for ((i = 0; i < 600; i++)); do
	[ ! -e "$TMPDIR/mapped" ] || break
	sleep 0.1
done
test -e "$TMPDIR/mapped"
result $? "libraries for which there is no room are mapped"
load late 4 60
check "recorded while it sleeps, and then runs" record room -F 199 -i 2 -d 12
stop_loads
printf '%s\n' "$TMPDIR"/out/room.*.folded | sort -V | tail -n 2 | xargs cat >"$TMPDIR/out/last.folded"
check "its stacks are whole at the end" has '^late;_start;.*;main;burn' last 100
check "... all of them" has_no '^late;\[truncated' last
exit $status
