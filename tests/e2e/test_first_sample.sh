#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first sample counts, whole: programs that the kernel side has never seen live for a few
# milliseconds, and their stacks still reach _start.
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
exit $status
