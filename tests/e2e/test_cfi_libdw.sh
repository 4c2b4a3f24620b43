#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unwind rows against libdw's evaluation of the same CFI: the libraries and programs of this machine, and
# of arm64 packages. Rows are counted in every file; every 40th is compared, with CFI_SAMPLE=1 every one.
# timeout: 7200
# beside others, records nothing
set -u
. tests/e2e/cases.sh
sample=${CFI_SAMPLE:-40}

# check NAME ARGUMENT...: rules equal libdw's but for the listed differences, and cover 99.99 %.
check()
{
	name=$1
	shift
	"$tmp/driver" "$@" >"$log" 2>&1
	result $? "$name"
}

# at_least NAME KEY LIMIT: what the last check counted.
at_least()
{
	awk -v key="$2" -v limit="$3" '$1 == key && $2 + 0 >= limit { found = 1 } END { exit !found }' "$log"
	result $? "$1"
}

# fixture NAME OPTION...: compile the fixture so, and check it.
fixture()
{
	name=$1
	shift
	if "$@" -o "$tmp/fixture" tests/e2e/symbols_fixture.c 2>"$log"; then
		check "$name" "$tmp/fixture"
	else
		skip "$name" "cannot be built here"
	fi
}

build_driver driver tests/e2e/cfi_libdw.c tests/e2e/cfi_libdw_step.c -ldw

libc=$(library_of libc.so "$(command -v sh)")
check "libc and the vdso" "$libc" "[vdso]"
check "this machine, one file in $sample" --sample "$sample" /usr
at_least "99 % of rows are inline" inline_percent 99

fixture ".debug_frame" gcc -O2 -g -fno-asynchronous-unwind-tables
at_least ".debug_frame was read" fdes 10
fixture "clang -O0" clang -O0
cat >"$tmp/entry.s" <<'END'
	.globl _start
_start:	.cfi_startproc
	endbr64
	.cfi_undefined rip
	xor %ebp, %ebp
	hlt
	.cfi_endproc
	.cfi_startproc
	.skip 100000, 0x90
	ret
	.cfi_endproc
END
if [ "$(uname -m)" = x86_64 ]; then
	gcc -nostdlib -static -o "$tmp/entry" "$tmp/entry.s" 2>"$log"
	check "a landing pad at the entry point" "$tmp/entry"
	at_least "... is the bottom, too" bytes_entry 4
fi
cp "$libc" "$tmp/sectionless"
# e_shoff, and e_shentsize to e_shstrndx
head -c 8 /dev/zero | dd of="$tmp/sectionless" bs=1 seek=40 conv=notrunc 2>/dev/null
head -c 6 /dev/zero | dd of="$tmp/sectionless" bs=1 seek=58 conv=notrunc 2>/dev/null
check "no section headers" "$tmp/sectionless"
at_least "no section headers, all functions" fdes 1000

if sysroot=$(tools/arm64-sysroot 2>"$log"); then
	check "arm64 libraries" --sample 3 "$sysroot"
	at_least "98 % of rows are inline, arm64" inline_percent 98
else
	skip "arm64 libraries" "no arm64 packages to be had"
fi

exit $status
