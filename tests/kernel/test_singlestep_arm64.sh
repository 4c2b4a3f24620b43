#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unwinder at every instruction of small programs on arm64, in an emulated machine: test_singlestep.sh
# (tests/e2e) for programs of the cross compilers.
# timeout: 2600
# beside others, records nothing
#
#   test_singlestep_arm64.sh [--short | KERNEL...]   KERNEL: a name of fetch-kernel's. --short: on one, and of
#                                                    programs and steps a quarter: of each kind of code one
#   test_singlestep_arm64.sh --guest                 in the machine: the programs of ./plan
#
# What is listed, and why, comes as comments at the end. The CFI of clang before 15 is right only where aarch64's
# functions call (no asynchronous tables): what it gets wrong is listed, and not in the sum that is judged.
set -u

# One case for each line of ./plan, "NAME: OPTION... -- PROGRAM ARG...", then what all say together.
guest()
{
	cd /test || exit 1
	while IFS=: read -r name arguments; do
		# shellcheck disable=SC2086 # a list of words
		singlestep $arguments > /tmp/said 2>&1 < /dev/null
		code=$?
		if [ $code -eq 0 ] && ! grep -q '^exit [1-9]' /tmp/said; then
			echo "ok - $name"
		else
			echo "not ok - $name"
			sed 's/^/# /' /tmp/said
		fi
		case $name in
		clang*) cat /tmp/said >> /tmp/synchronous ;;
		*) cat /tmp/said >> /tmp/totals ;;
		esac
	done < plan
	awk '$1 ~ /^(steps|equal|frames|signals|wrong|unfinished|cfi_wrong|jump|no_cfi)$/ { sum[$1] += $2 }
		END { for (name in sum) print "# " name, sum[name]; exit sum["cfi_wrong"] * 10000 > sum["steps"] }' \
		/tmp/totals > /tmp/sums && echo "ok - the CFI is wrong at no more than one step in 10,000" ||
		echo "not ok - the CFI is wrong at no more than one step in 10,000"
	sort /tmp/sums
	grep -E '^place (cfi_wrong|no_cfi|jump) ' /tmp/totals | sed 's/^/# /'
	awk '$1 ~ /^(steps|cfi_wrong)$/ { sum[$1] += $2 }
		END { print "# clang: " sum["cfi_wrong"] " of " sum["steps"] " steps wrong by synchronous tables" }' \
		/tmp/synchronous
	echo 'the end'
}

if [ "${1:-}" = --guest ]; then
	guest
	exit
fi

. tests/e2e/cases.sh
plan=all
case ${1:-} in
'') kernels='arm64-5.10 arm64-6.1 arm64-6.12' ;;
--short) kernels=arm64-6.12 plan=few ;;
*) kernels=$* ;;
esac
step=$BUILD/aarch64/tests/singlestep

if [ ! -x "$step" ]; then
	skip 'every instruction on arm64' "$step is not there: make cross"
	exit 0
fi
if ! SYSROOT=$(tools/arm64-sysroot 2> "$log"); then
	skip 'every instruction on arm64' "$(tail -n 1 "$log")"
	exit 0
fi
export SYSROOT

compiler_of()
{
	case $1 in
	gcc) echo "aarch64-linux-gnu-gcc --sysroot=$SYSROOT" ;;
	clang) echo "clang --target=aarch64-linux-gnu --sysroot=$SYSROOT -fuse-ld=lld" ;;
	clang++) echo "clang++ --target=aarch64-linux-gnu --sysroot=$SYSROOT -fuse-ld=lld" ;;
	esac
}

# config PROGRAMS COMPILER FLAG...: each of the programs, built that way, in the plan. $thrown: options for that one.
thrown=
config()
{
	programs=$1 cc=$2
	shift 2
	for source in $programs; do
		file=tests/workloads/step_$source.c compiler=$cc extra='' stepping=''
		case $source in
		throw) file=tests/workloads/step_throw.cpp compiler=clang++ stepping=$thrown ;;
		bare) extra='-static -nostdlib -fno-stack-protector' ;;
		signal) stepping='--signal-every 61' ;;
		deep) ;;
		esac
		built=$(printf '%s_%d' "$source" "$(wc -l < "$tmp/plan")")
		# shellcheck disable=SC2046,SC2086 # lists of words
		if $(compiler_of "$compiler") -w -D_GNU_SOURCE "$@" $extra "$file" -o "$tmp/$built" 2> "$log"; then
			echo "$compiler $*, $source: $stepping -- /test/$built 600" >> "$tmp/plan"
		else
			result 1 "arm64 $compiler $*, $source: it is built"
		fi
	done
}

# from_exec PROGRAM STEPS: as the plan has built it, the beginning of it, in the plan.
from_exec()
{
	echo "from the dynamic linker's first instruction: --from-exec --steps $2 -- /test/$1" >> "$tmp/plan"
}

plan_all()
{
	config 'frames bare' gcc -O0
	config 'frames signal calls bare deep' gcc -O2
	config 'frames calls' gcc -O2 -mbranch-protection=standard
	config 'frames signal' gcc -O2 -static
	config 'frames calls' gcc -Os -fomit-frame-pointer -Wl,-z,now
	config 'frames throw' clang -O2
	from_exec frames_2 60000
}

# The first exception is caught after 50,000 steps.
plan_few()
{
	thrown='--steps 60000'
	config bare gcc -O0
	config 'frames signal' gcc -O2
	config calls gcc -O2 -mbranch-protection=standard
	config throw clang -O2
	from_exec frames_1 15000
}

: > "$tmp/plan"
plan_$plan

set --
for file in "$tmp/plan" "$tmp"/*_*; do
	set -- "$@" -f "$file"
done
for kernel in $kernels; do
	if ! "$top/tests/kernel/fetch-kernel" "$kernel" > /dev/null 2> "$log"; then
		skip "every instruction on $kernel" "$(tail -n 1 "$log")"
		continue
	fi
	"$top/tests/kernel/run-vm" --kernel "$kernel" --timeout 800 --out "$tmp/vm" -f "$step" \
		-f "$top/tests/kernel/test_singlestep_arm64.sh" "$@" -- sh test_singlestep_arm64.sh --guest \
		> "$tmp/tap" 2> "$log"
	sed "/^the end\$/d; s/^\(not \)\?ok - /&$kernel: /" "$tmp/tap"
	grep -q '^the end$' "$tmp/tap"
	result $? "$kernel: the machine comes to its end"
	! grep -q '^not ok' "$tmp/tap" || status=1
done
exit $status
