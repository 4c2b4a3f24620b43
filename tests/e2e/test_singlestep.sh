#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unwinder at every instruction of small programs, against a shadow stack (tests/bpfhost/singlestep.c).
# timeout: 300
# beside others, records nothing
#
#   test_singlestep.sh [--long]    --long: every program with every compiler and option, some minutes
#
# What is listed, and why, comes as comments at the end.
set -u
. tests/e2e/cases.sh
step=$BUILD/tests/singlestep
: >"$tmp/totals"

# run NAME [STEPOPTION...] -- PROGRAM [ARG...]: the case NAME.
run()
{
	name=$1
	shift
	timeout 250 "$step" "$@" >"$log" 2>&1 </dev/null
	code=$?
	# A program that failed by itself proves nothing, unless it was cut short.
	if [ $code = 0 ] && grep -q '^exit [1-9]' "$log"; then
		code=1
	fi
	result $code "$name"
	cat "$log" >>"$tmp/totals"
}

# build COMPILER SOURCE FLAG...: the program's path into $program; 1: this compiler cannot here.
compile()
{
	compiler=$1 source=$2
	shift 2
	program=$tmp/$source
	case $source in
	throw)
		if [ "$compiler" = gcc ]; then compiler=g++; else compiler=clang++; fi
		set -- "$@" tests/workloads/step_throw.cpp
		;;
	bare)
		set -- "$@" -static -nostdlib -fno-stack-protector tests/workloads/step_bare.c
		;;
	*)
		set -- "$@" "tests/workloads/step_$source.c"
		;;
	esac
	"$compiler" -w -D_GNU_SOURCE "$@" -o "$program" 2>"$log"
}

# config PROGRAMS COMPILER FLAG...: each of the programs, built that way.
config()
{
	programs=$1 cc=$2
	shift 2
	for source in $programs; do
		if ! have "$cc" || ! compile "$cc" "$source" "$@"; then
			skip "$cc $*, $source" "it cannot be built here"
			continue
		fi
		case $source in
		signal) run "$cc $*, $source" --signal-every 61 -- "$program" ;;
		deep) run "$cc $*, $source" -- "$program" 600 ;;
		*) run "$cc $*, $source" -- "$program" ;;
		esac
	done
}

short()
{
	config 'frames signal calls bare' gcc -O0
	config 'frames signal calls bare deep throw' gcc -O2
	config 'frames calls' gcc -O3 -mavx2 -fno-omit-frame-pointer
	config 'frames calls' gcc -O2 -fcf-protection=full -Wl,-z,lazy
	config 'frames calls bare' gcc -Os -fuse-ld=lld
	config 'frames signal' gcc -O2 -static
	config 'frames signal calls bare' clang -O0
	config 'frames calls throw' clang -O2 -fuse-ld=lld -Wl,--no-rosegment
	config 'frames signal calls' clang -O3 -mavx2 -Wl,-z,now
	config 'frames calls' clang -O1 -fno-omit-frame-pointer -Wl,-z,lazy
	run "from the dynamic linker's first instruction" --from-exec -- /bin/true
}

every()
{
	for cc in gcc clang; do
		for level in -O0 -O1 -O2 -O3 -Os; do
			config 'frames signal calls bare deep throw' "$cc" "$level"
			config 'frames signal calls' "$cc" "$level" -fno-omit-frame-pointer
			config 'frames' "$cc" "$level" -mavx2
		done
		for flags in '-fcf-protection=full -Wl,-z,lazy' -Wl,-z,now -fuse-ld=lld \
			'-fuse-ld=lld -Wl,--no-rosegment' -no-pie '-fno-plt -Wl,-z,now' -mstackrealign \
			-fstack-protector-strong; do
			# shellcheck disable=SC2086 # a list of options
			config 'frames signal calls throw' "$cc" -O2 $flags
		done
		config 'frames signal calls' "$cc" -O2 -static
		config 'bare' "$cc" -O2 -fuse-ld=lld -Wl,--no-rosegment
	done
	run 'ls' --from-exec -- /bin/ls -lR /usr/share/doc/bash
	run 'bash' --from-exec --steps 2000000 -- bash -c 'for i in 1 2 3; do echo $((i * 7)) | cat; done'
	run 'python3' --from-exec --steps 4000000 -- /usr/bin/python3 -S -c 'print(sorted(range(50)))'
	config deep gcc -O2
	run 'deeper than one walk visits' -- "$tmp/deep" 2500
}

case $(uname -m) in
x86_64) ;;
*)
	skip "every instruction" "x86-64 only"
	exit 0
	;;
esac
if [ ! -x "$step" ]; then
	result 1 "$step is built (make bpfhost)"
	exit $status
fi
if [ "${1:-}" = --long ]; then every; else short; fi

awk '$1 ~ /^(steps|equal|frames|signals|wrong|unfinished|cfi_wrong|jump|no_cfi)$/ { sum[$1] += $2 }
	END { for (name in sum) print name, sum[name]; exit sum["cfi_wrong"] * 10000 > sum["steps"] }' \
	"$tmp/totals" >"$log"
result $? "the CFI is wrong at no more than one step in 10,000"
sort "$log" | sed 's/^/# /'
# What is listed, by the frame above which it differs: steps, and the first case as the example.
awk '/^place (cfi_wrong|no_cfi|jump) / {
		split($0, part, ": ")
		key = part[1]
		sub(/ [0-9]+ steps/, "", key)
		sum[key] += $3
		if (!(key in text))
			text[key] = substr($0, length(part[1]) + 3)
	}
	END { for (key in sum) print sum[key], key ": " text[key] }' "$tmp/totals" | sort -rn | sed 's/^/# /'
exit $status
