#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lengths of instructions, compared with objdump's: a part of the C library, libcrypto and libstdc++; with
# INSN_LENGTHS=full all of them and whatever large files are installed (20 million instructions, some minutes).
# beside others, records nothing
set -u
. tests/e2e/cases.sh

# Bytes of .text for each file.
SHORT=1000000

build_driver insn_lengths tests/e2e/insn_lengths.c

# check NAME FILE
check()
{
	if [ ! -e "$2" ]; then
		skip "$1" "not installed"
		return
	fi
	range=''
	if [ "${INSN_LENGTHS:-}" != full ]; then
		text=$(objdump -h "$2" | awk '$2 == ".text" { print $4 }')
		range="--start-address=0x$text --stop-address=$(printf '0x%x' $((0x$text + SHORT)))"
	fi
	# shellcheck disable=SC2086 # two options or none
	objdump -d -w $range "$2" | "$tmp/insn_lengths" >"$log" 2>&1
	result $? "$1"
	tail -n 1 "$log" | sed 's/^/# /'
}

if [ "$(uname -m)" != x86_64 ]; then
	skip "instructions" "not an x86-64 machine"
	exit $status
fi
libraries=$(dirname "$(library_of libc.so "$(command -v sh)")")
check "C library" "$libraries/libc.so.6"
check "libcrypto: assembly with tables in it" "$libraries/libcrypto.so.3"
libstdcxx=/usr/lib/x86_64-linux-gnu/libstdc++.so.6
check "libstdc++" "$libstdcxx"
if [ "${INSN_LENGTHS:-}" = full ]; then
	for file in "$(gcc -print-prog-name=cc1plus)" /usr/lib/x86_64-linux-gnu/libLLVM-*.so.1 \
		/usr/lib/x86_64-linux-gnu/libx265.so.*; do
		check "$(basename "$file")" "$file"
	done
fi
exit $status
