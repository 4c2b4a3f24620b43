#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job on Debian's real kernels, each in an emulated machine: guest-main, with the program as built.
# timeout: 2400
#
#   test_kernels.sh [--short | KERNEL...]     KERNEL: a name of fetch-kernel's, +ARG for its command line
#
# The program is $BUILD/bpfprof for amd64, $BUILD/aarch64/bpfprof for arm64. A kernel is skipped only when its
# package cannot be fetched; everything else that is missing is a failure. What a guest left behind (console,
# profiles) is in $BUILD/test-logs/KERNEL/. An emulated machine has one of the host's CPUs (run-vm), so there are two at
# a time where it has two; what they say comes in the order of the list.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
BUILD=$(realpath -m "${BUILD:-$root/build}")
status=0

# preempt=full where the kernel takes it: the mode in which programs in task context can be preempted.
kernels_short='amd64-5.10 amd64-6.12+preempt=full'
kernels_all="$kernels_short amd64-6.1 amd64-6.1+preempt=full amd64-6.12 amd64-new
	arm64-5.10 arm64-6.1 arm64-6.12 arm64-new"

static_programs='spinner forkstorm waiter bpf_programs'

failure() {
	echo "not ok - kernel $1: $2"
	status=1
}

# What is made for the architecture $1, and by what: $programs is the folder of the programs that guest-main uses.
use_architecture() {
	programs=$BUILD/tests/kernel/$1
	case $1 in
	amd64) cc=gcc SYSROOT='' built=$BUILD ;;
	arm64) built=$BUILD/aarch64
		SYSROOT=$("$root/tools/arm64-sysroot") && cc="aarch64-linux-gnu-gcc --sysroot=$SYSROOT" || return ;;
	esac
	export SYSROOT
}

compile_programs() {
	use_architecture "$1" || return
	cflags='-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fno-omit-frame-pointer'
	# shellcheck disable=SC2086 # lists of options
	for file in $static_programs; do
		$cc $cflags -static -o "$programs/$file" "$here/$file.c" || return
	done
	# shellcheck disable=SC2086
	$cc $cflags -static -o "$programs/triggers" "$root/tests/workloads/triggers.c" || return
	# shellcheck disable=SC2086
	$cc $cflags -O1 -fno-ipa-icf -static -o "$programs/heap_known" "$root/tests/workloads/heap_known.c" || return
	# shellcheck disable=SC2086
	$cc $cflags -o "$programs/check_stats" "$here/check_stats.c" -lcjson &&
		$cc $cflags -O1 -fno-optimize-sibling-calls -I"$root/user" -I"$built" -idirafter "$root/include" \
			-o "$programs/nested_uprobes" "$here/nested_uprobes.c" "$built/libbpfprof.a" \
			-lbpf -lelf -llzma -lcjson -lxxhash -lz -lpthread -ldl -lm &&
		$cc $cflags -I"$root/user" -static -o "$programs/uprobe_insn" "$here/uprobe_insn.c" "$built/libbpfprof.a"
}

program_of() {
	case $1 in
	amd64) echo "$BUILD/bpfprof" ;;
	arm64) echo "$BUILD/aarch64/bpfprof" ;;
	esac
}

# The guest's cases with the kernel's name in them; fewer than planned is a failure of its own.
translate() {
	awk -v kernel="$1" -v vm="$2" '
	/^(not )?ok [0-9]+ - / {
		seen++
		failed += /^not/
		sub(/ok [0-9]+ - /, "ok - kernel " kernel ": ")
	}
	/^1\.\./ { planned = substr($0, 4); next }
	{ print }
	END {
		if (planned == "" || planned != seen)
			print "not ok - kernel " kernel ": all cases are reported (machine: status " vm ", " seen + 0 " cases)"
		exit failed || planned == "" || planned != seen || vm != 0
	}' "$3"
}

# What the kernel itself complained about. Stalls and lockups are time's, and the guest has none of its own.
check_console() {
	[ -e "$2" ] || return
	complaint=$(tr -d '\r' < "$2" | grep -E 'WARNING: |BUG: |kernel BUG|Oops' | grep -v 'soft lockup' | head -n 3)
	if [ -z "$complaint" ]; then
		echo "ok - kernel $1: the kernel does not complain"
	else
		failure "$1" 'the kernel does not complain'
		echo "$complaint" | sed 's/^/# /'
	fi
}

run_kernel() {
	spec=$1 name=${1%%+*} arch=${1%%-*} append=''
	[ "$spec" = "$name" ] || append=$(echo "${spec#*+}" | tr + ' ')
	program=$(program_of "$arch")
	if [ ! -x "$program" ]; then
		failure "$spec" "$program is built"
		return
	fi
	out=$BUILD/test-logs/$spec
	mkdir -p "$out"
	if ! use_architecture "$arch" 2> "$out/compile.log" || [ ! -e "$programs/compiled" ]; then
		failure "$spec" "the guest's programs compile"
		cat "$out/compile.log" "$programs/log" | sed 's/^/# /'
		return
	fi
	set -- -f "$program" -f "$here/guest-main" -f "$programs/check_stats" -f "$programs/nested_uprobes" \
		-f "$programs/uprobe_insn"
	for file in $static_programs triggers heap_known; do
		set -- "$@" -f "$programs/$file"
	done
	for file in "$("$here/fetch-kernel" "$name" 2> /dev/null)"/modules/*.ko; do
		[ ! -e "$file" ] || set -- "$@" -f "$file"
	done
	"$here/run-vm" --kernel "$name" --append "$append" --timeout 600 --out "$out" "$@" -- sh guest-main \
		> "$out/tap" 2> "$out/run-vm.log"
	vm=$?
	if [ $vm -eq 77 ]; then
		echo "skip - kernel $spec: $(tail -n 1 "$out/run-vm.log")"
		return
	fi
	translate "$spec" $vm "$out/tap" || status=1
	sed 's/^/# /' "$out/run-vm.log"
	check_console "$spec" "$out/console.log"
}

case ${1:-} in
'') kernels=$kernels_all ;;
--short) kernels=$kernels_short ;;
*) kernels=$* ;;
esac
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'kill $running 2> /dev/null; wait; exit 143' TERM INT
running=''

# What several of them need is made before any of them runs.
# shellcheck disable=SC2086 # a list of names
printf '%s\n' $kernels | sed 's/-.*//' | sort -u > "$tmp/architectures"
while read -r arch; do
	programs=$BUILD/tests/kernel/$arch
	mkdir -p "$programs"
	rm -f "$programs/compiled"
	! compile_programs "$arch" > "$programs/log" 2>&1 < /dev/null || : > "$programs/compiled"
done < "$tmp/architectures"

# run_together KERNEL...: at the same time; what each says when all have ended.
run_together() {
	running=''
	for kernel; do
		(run_kernel "$kernel"; exit $status) > "$tmp/$kernel" 2>&1 &
		running="$running $!"
	done
	for pid in $running; do
		wait "$pid" || status=1
	done
	running=''
	for kernel; do
		cat "$tmp/$kernel"
	done
}

at_once=$(nproc)
# shellcheck disable=SC2086 # a list of names
set -- $kernels
while [ $# -gt 0 ]; do
	together=''
	while [ $# -gt 0 ] && [ "$(echo "$together" | wc -w)" -lt "$at_once" ]; do
		together="$together $1"
		shift
	done
	# shellcheck disable=SC2086 # a list of names
	run_together $together
done
exit $status
