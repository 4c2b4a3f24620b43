#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Expressions in the real kernel: probes on a program whose calls and arguments are known, to the unit.
# beside others
set -u
. tests/e2e/cases.sh
fixture=$TMPDIR/expr_fixture
object=$TMPDIR/expr.bpf.o
tool=$TMPDIR/expr_tool

build()
{
	local arch=x86
	[ "$(uname -m)" != aarch64 ] || arch=arm64
	${CLANG:-clang} -target bpf -mcpu=v3 -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-function -Wno-unused-parameter \
		-D__TARGET_ARCH_$arch -iquote include -iquote vmlinux -iquote bpf -iquote tests/e2e \
		-idirafter "/usr/include/$(gcc -print-multiarch)" -c -o "$object" tests/e2e/expr.bpf.c &&
		gcc -O2 -Wall -Wextra -Wno-unused-parameter -o "$fixture" tests/e2e/expr_fixture.c
}

# Can this kernel be asked for a program at all, and for one at a function of its own?
may_load()
{
	"$tool" "$object" clock -- true >/dev/null 2>&1
}

has_kprobes()
{
	"$tool" "$object" kprobe:do_sys_openat2 -- true >/dev/null 2>&1
}

# counts WANTED EVENT ARG...: the tool's first line, and the lines of the histogram in order behind it.
counts()
{
	local wanted=$1 event=$2 got
	shift 2
	got=$("$tool" "$object" "$event" "$@" -- "$fixture" 2>&1 | grep -v '^insns' | sort -r | tr '\n' ' ')
	[ "$got" = "$wanted " ] && return
	echo "$event $*: got '$got', wanted '$wanted'" >>"$log"
	return 1
}

# wanted NAME WANTED EVENT ARG...: a case.
wanted()
{
	local name=$1
	shift
	counts "$@"
	result $? "$name"
}

# refused NAME MESSAGE EVENT ARG...: the tool says so, in one line.
refused()
{
	local name=$1 message=$2 event=$3 got
	shift 3
	got=$("$tool" "$object" "$event" "$@" -- true 2>&1)
	[ "$got" = "expr_tool: $message" ]
	set -- $?
	[ "$1" = 0 ] || echo "got '$got', wanted '$message'" >>"$log"
	result "$1" "$name"
}

# within LIMIT EVENT ARG...: the verifier follows no more instructions.
within()
{
	local limit=$1 event=$2 got
	shift 2
	got=$("$tool" "$object" "$event" "$@" -- true 2>&1 | awk '/^insns/ { print $2 }')
	echo "$event $*: $got instructions" >>"$log"
	[ "${got:-$limit}" -lt "$limit" ]
}

build >"$log" 2>&1
result $? "the programs build"
[ $status = 0 ] || exit 1
build_driver expr_tool tests/e2e/expr_tool.c -lbpf
if ! may_load; then
	skip "expressions in the kernel" "no BPF program may be loaded here"
	exit $status
fi

u=uprobe:$fixture:probed
wanted "without an expression every hit counts 1" 'ran 100 kept 100 weight 100 hist 0 100' "$u"
wanted "numbers: where, weight and hist" 'ran 100 kept 36 weight 3004416 hist 6 4 hist 5 16 hist 4 16' "$u" \
	--where 'arg0 >= 64k' --weight arg0 --hist 'arg0 / 16k'
wanted "the text behind a pointer; one that cannot be read equals none" 'ran 100 kept 33 weight 33 hist 0 33' "$u" \
	--where 'str(arg1) == "/etc/passwd"'
wanted "the longest text" 'ran 100 kept 33 weight 33 hist 0 33' "$u" \
	--where "\"$(printf 'x%.0s' {1..64})\" == str(arg1)"
wanted "a text that is longer, or shorter, is another" 'ran 100 kept 0 weight 0' "$u" \
	--where 'str(arg1) == "/etc/passwor" || str(arg1) == "/etc/passwordss" || str(arg1) == ""'
wanted "an int argument's sign" 'ran 100 kept 10 weight 10 hist 0 10' "$u" --where 's32(arg2) < 0'
wanted "an unsigned argument" 'ran 100 kept 9 weight 9 hist 0 9' "$u" --where 'u32(arg3) > 0x80000000 + 90'
wanted "the thread's name" 'ran 100 kept 10 weight 10 hist 0 10' "$u" --where 'comm == "renamed"'
wanted "logic" 'ran 100 kept 22 weight 22 hist 1 2 hist 0 20' "$u" \
	--where '!(comm != "renamed") && arg0 >= 98k || arg0 < 20k && uid >= 0' --hist 'comm == "renamed"'
wanted "an int result that is negative" 'ran 100 kept 25 weight 25 hist 0 25' "uretprobe:$fixture:answer" \
	--where 's32(ret) < 0'
wanted "a long result that is negative" 'ran 100 kept 20 weight -20 hist -1 20' "uretprobe:$fixture:long_answer" \
	--where 'ret < 0' --weight ret --hist ret

# What a note of a USDT probe in that place might say.
if [ "$(uname -m)" = x86_64 ]; then
	usdt='8@%rdi -4@%edx 8@$7 8@(%rsi) 1@4(%rsi,%rax,8) 8@(%rip)'
	p=usdt:$fixture:probed
	wanted "USDT: registers" 'ran 100 kept 10 weight -10 hist 0 10' "$p" --usdt "$usdt" --where 'arg1 == -1' \
		--weight arg1
	wanted "USDT: a constant" 'ran 100 kept 100 weight 700 hist 0 100' "$p" --usdt "$usdt" --weight arg2
	wanted "USDT: memory; what cannot be read is 0" 'ran 100 kept 34 weight 34 hist 1 1 hist 0 33' "$p" \
		--usdt "$usdt" --hist 'arg3 == 0' \
		--where "arg3 == 0 || u8(arg3 >> 8) == 'e' && u8(arg3 >> 40) == 'p' && arg0 % 3k == 0"
	refused "USDT: what cannot be read" "expression 'arg5': column 1: the probe's argument 5 is at '8@(%rip)', \
where it cannot be read: only general registers, memory beside them and constants can" "$p" --usdt "$usdt" \
		--where arg5
fi

# once EVENT WHERE COMMAND...: of all that happens it is one.
once()
{
	local event=$1 where=$2
	shift 2
	(cd "$TMPDIR" && "$tool" "$object" "$event" --where "$where" -- "$@") >>"$log" 2>&1
	tail -n 3 "$log" | grep -q '^ran .* kept 1 weight 1$'
}
ln -s /bin/true "$TMPDIR/expr_exec"
echo hello >"$TMPDIR/expr_text"
if "$tool" "$object" exec -- true >/dev/null 2>&1; then
	once exec 'filename == "./expr_exec" && pid == old_pid && comm == "expr_exec" && uid != ~0' ./expr_exec
	result $? "a tracepoint's fields"
else
	skip "a tracepoint's fields" "this kernel has no tracepoints that are listed"
fi
if has_kprobes; then
	once kprobe:do_sys_openat2 'str(arg1) == "expr_text"' cat expr_text
	result $? "a kprobe's arguments"
else
	skip "a kprobe's arguments" "this kernel has no kprobes"
fi

refused "a number and a text" "expression 'arg0 >= \"x\"': column 9: a number is compared with a string" "$u" \
	--where 'arg0 >= "x"'

# Ten conditions as numbers are 1,024 ways for a verifier that follows each.
within 1500 "$u" --weight '(arg0==1)+(arg1==2)+(arg2==3)+(arg3==4)+(arg4==5)+(arg5==6)+(pid==7)+(tid==8)+(uid==9)+(cpu==0)'
result $? "conditions that are summed up do not multiply the verifier's work"
exit $status
