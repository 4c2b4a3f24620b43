#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first sample counts, whole: programs that the kernel side has never seen live for a few
# milliseconds, and their stacks still reach _start; a command is not begun without its rows, on a slow machine neither.
set -u
. tests/e2e/cases.sh
cd "$tmp" || exit 1
RUNS=200

# Deep, without frame pointers, half of it in a library of its own.
cat >library.c <<'END'
static volatile unsigned long sink;

__attribute__((noinline)) void library_spin(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		sink += i * i;
}

__attribute__((noinline)) void library_descend(int depth, unsigned long rounds)
{
	if (depth)
		library_descend(depth - 1, rounds);
	else
		library_spin(rounds);
	sink++;
}
END
cat >program.c <<'END'
void library_descend(int depth, unsigned long rounds);
static volatile int sink;

__attribute__((noinline)) static void descend(int depth)
{
	volatile char local[40];

	local[depth] = (char)depth;
	if (depth)
		descend(depth - 1);
	else
		library_descend(12, 6000000);
	sink += local[depth];
}

int main(void)
{
	descend(12);
	return 0;
}
END
if [ "$(id -u)" != 0 ]; then
	skip "first samples" "recording needs root"
	exit 0
fi
flags='-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -w'
# shellcheck disable=SC2086 # a list of words
if ! cc $flags -fPIC -shared -o libfirst.so library.c >"$log" 2>&1 ||
	! cc $flags -o program program.c -L. -lfirst -Wl,-rpath,"\$ORIGIN" >>"$log" 2>&1; then
	result 1 "the programs compile"
	exit $status
fi
for i in $(seq $RUNS); do
	mkdir "run$i"
	cp program "run$i/first"
	cp libfirst.so "run$i/libfirst.so"
	# Other bytes, another size: another identity, whatever the inode.
	echo "$i" >>"run$i/first"
	echo "$i" >>"run$i/libfirst.so"
done
cat >storm <<END
#!/bin/sh
for i in \$(seq $RUNS); do run\$i/first; done
END
chmod +x storm

"$BUILD/bpfprof" record -F 1999 --stats=stats.json -o first.folded -- ./storm >out 2>"$log"
result $? "a storm of new programs is recorded"

grep -q 'balanced' "$log" && ! grep -q 'unbalanced' "$log"
result $? "the books balance"

# Stacks with user frames; whole: not cut, and from _start where the program itself is on it (the
# dynamic linker, which runs before it, may have no symbols).
awk '/^first;/ && /library_|descend|main|ld-linux|libc|first\+|truncated/ {
	total += $NF
	if (/\[truncated/ || (/library_|descend/ && !/;_start;/))
		print "# " $0
	else
		whole += $NF
	if (/;_start;.*descend;.*library_spin/)
		deep += $NF
}
END { print total + 0, whole + 0, deep + 0 }' first.folded >counts
read -r total whole deep <<END
$(tail -n 1 counts)
END
echo "# $total samples, $whole whole, $deep from _start to the library's leaf"
grep '^#' counts | cut -c1-160 | head -n 20
[ "$total" -ge 400 ]
result $? "the programs were sampled ($total times)"
[ $((whole * 100)) -ge $((total * 99)) ]
result $? "99 % of their stacks are whole ($whole of $total)"
[ $((deep * 2)) -ge "$total" ]
result $? "stacks go through the program into its library ($deep)"

completed=$(sed -n 's/.*"snapshots":{[^}]*"completed":\([0-9]*\).*/\1/p' stats.json)
grep -o '"snapshots":{[^}]*}' stats.json | sed 's/^/# /'
[ "${completed:-0}" -ge $RUNS ]
result $? "every program had one completed from a snapshot (${completed:-0})"

# --- A command, where the recording has a fiftieth of a CPU: more than a second for the rows of its 60,000 functions ---

# slow_group: $group is a control group that has it.
slow_group()
{
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
		group=/sys/fs/cgroup/cpu/bpfprof-test.$$
		mkdir "$group" && echo 100000 >"$group/cpu.cfs_period_us" && echo 2000 >"$group/cpu.cfs_quota_us"
	elif grep -qw cpu /sys/fs/cgroup/cgroup.controllers && echo +cpu >/sys/fs/cgroup/cgroup.subtree_control; then
		group=/sys/fs/cgroup/bpfprof-test.$$
		mkdir "$group" && echo 2000 100000 >"$group/cpu.max"
	else
		return 1
	fi 2>>"$log"
}

cat >many.S <<'END'
	.text
	.rept 60000
	.p2align 4
	.cfi_startproc
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_def_cfa_offset 24
	nop
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack,"",%progbits
END
group=
trap 'rmdir "$group" 2>/dev/null; rm -rf "$tmp"' EXIT
if ! slow_group; then
	skip "a command on a slow machine" "there is no control group for its CPU time"
	exit $status
fi
# Another identity each time: nobody has kept its rows.
cc -O2 -g -w -D_GNU_SOURCE -static -Wl,--build-id="0x$(od -An -N 20 -tx1 /dev/urandom | tr -d ' \n')" \
	-o triggers "$top/tests/workloads/triggers.c" many.S >"$log" 2>&1
result $? "a program of many functions compiles"
# shellcheck disable=SC2016 # for the shell in the group
sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$BUILD/bpfprof" record -e tracepoint:syscalls:sys_enter_getrandom \
	--stats=slow.json -o slow.folded -- ./triggers 1000 >out 2>"$log"
result $? "a command is recorded where a fiftieth of a CPU is left"
grep -o '"stacks":{.*"snapshots":{[^}]*}' slow.json | sed 's/^/# /'
[ "$(sed -n 's/^triggers;_start;.*main;ask;.* \([0-9]*\)$/\1/p' slow.folded)" = 1000 ]
result $? "each of its 1,000 calls has a whole stack"
grep -q '"snapshots":{"taken":0,' slow.json
result $? "its rows were there before the first"
exit $status
