#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The BPF programs are relocated by reduced kernel types exactly as by the kernel's whole BTF, whatever
# is in the cache.
set -u
. tests/e2e/cases.sh
cd "$tmp" || exit 1
if [ "$(id -u)" != 0 ]; then
	skip "kernel types" "recording needs root"
	exit 0
fi

# The tags (hashes of the relocated instructions) of all programs of a recording with options $2..., into $1: once
# there are five, and the same twice, because libbpf tries out small ones of its own while it loads.
tags()
{
	local out=$1 pid
	shift
	"$BUILD/bpfprof" record -v -a -d 5 --force -o x.folded "$@" >/dev/null 2>"$log" &
	pid=$!
	: >"$out"
	for _ in {1..40}; do
		mv "$out" before
		cat /proc/$pid/fdinfo/* 2>/dev/null | sed -n 's/^prog_tag:[[:space:]]*//p' | sort -u >"$out"
		[ "$(wc -l <"$out")" -ge 5 ] && cmp -s before "$out" && break
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	[ "$(wc -l <"$out")" -ge 5 ]
}

tags whole --btf /sys/kernel/btf/vmlinux
result $? "the programs load by the kernel's whole BTF"
tags first && cmp -s whole first
result $? "and become the same by what is kept of it"
kept=$(find /var/cache/bpfprof/btf -name '*.btf' | head -n 1)
[ -n "$kept" ] && [ "$(stat -c %s "$kept")" -lt 65536 ]
result $? "it is small: $(stat -c %s "$kept") bytes"
for name in cut damaged empty; do
	for file in /var/cache/bpfprof/btf/*.btf; do
		case $name in
		cut) truncate -s 1000 "$file" ;;
		damaged) printf 'x' | dd of="$file" bs=1 seek=3000 conv=notrunc status=none ;;
		empty) : >"$file" ;;
		esac
	done
	tags again && cmp -s whole again && grep -q 'not valid\|not ours' "$log"
	result $? "a kept file that is $name is made anew"
	tags again && cmp -s whole again && ! grep -q 'not valid\|not ours' "$log"
	result $? "and kept"
done
exit $status
