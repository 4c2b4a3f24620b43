#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each lint script reports a small bad file, and is silent about the same file without the fault.
# beside others, records nothing
set -u
. tests/e2e/cases.sh
tools=$top/tools
export PYTHONDONTWRITEBYTECODE=1

for tool in python3 clang-format clang; do
	if ! have $tool; then
		skip "lint scripts" "$tool is not installed"
		exit 0
	fi
done

cd "$tmp" || exit 1
mkdir -p user/base user/elf user/encode user/profile user/capture user/unwind bpf include tests/unit
cp "$top/.clang-format" .

# reports NAME MESSAGE CHECK FILE...: the check fails and says MESSAGE about FILE:LINE
reports()
{
	name=$1 message=$2
	shift 2
	! "$@" >"$log" 2>&1 && grep -q "^user.*:[0-9].*$message\|^bpf.*:[0-9].*$message\|^include.*:[0-9].*$message" "$log"
	result $? "$name is reported"
}

accepts()
{
	name=$1
	shift
	"$@" >"$log" 2>&1
	result $? "$name is accepted"
}

# A C function of $1 lines with the name $2.
make_function()
{
	printf 'int %s(void)\n{\n' "$2"
	yes "	$2();" | head -n $(($1 - 4))
	printf '\treturn 0;\n}\n\n'
}

# --- format ---
printf 'int  x( void );\n' >user/base/bad.h
printf 'int x(void);\n' >user/base/good.h
reports "bad formatting" "code should be clang-formatted" "$tools/check-format" user/base/bad.h
accepts "good formatting" "$tools/check-format" user/base/good.h

# --- lengths ---
make_function 101 too_long >user/base/long.c
make_function 100 just_fits >user/base/fits.c
i=0
while [ $i -lt 20 ]; do
	make_function 10 short_$i
	i=$((i + 1))
done >>user/base/fits.c
reports "a function of 101 lines" "too_long: 101 lines" "$tools/top-functions" --check user/base/long.c
accepts "a function of 100 lines among short ones" "$tools/top-functions" --check user/base/fits.c

{ make_function 61 one; make_function 61 two; } >user/base/p95.c
reports "a p95 over 60" "p95 of function length is 61" "$tools/top-functions" --check user/base/p95.c

{ yes 'int x;' | head -n 998; make_function 5 tiny; } >user/base/file.c
yes '	1,' | head -n 1200 >user/base/table.c
reports "a file of more than 1000 lines" "a file has at most 1000" "$tools/top-functions" --check user/base/file.c
accepts "a long table" "$tools/top-functions" --check user/base/table.c

{ echo 'SEC("perf_event")'; make_function 20 entry; } >bpf/entry.bpf.h
reports "a long BPF entry" "entry: a BPF entry of 17 lines" "$tools/top-functions" --check bpf/entry.bpf.h

# --- layers ---
layer()
{
	printf '%s\n' "$3" >"$2"
	reports "$1" "$4" "$tools/check-layers" "$2"
}
layer "base using profile" user/base/up.c '#include "profile/profile.h"' 'base/ must not use profile/'
layer "profile using encode" user/profile/up.c '#include "encode/encoder.h"' 'profile/ must not use encode/'
layer "encode using symbol" user/encode/side.c '#include "symbol/symbolizer.h"' 'encode/ must not use symbol/'
layer "include using user" include/up.h '#include "base/buf.h"' 'include/ includes nothing of user/'
layer "bpf using user" bpf/up.bpf.h '#include "base/buf.h"' 'bpf/ includes nothing of user/'
layer "libbpf outside capture" user/unwind/rows.c '#include <bpf/libbpf.h>' "what filters bpf(2) know BPF"
layer "libelf outside elf" user/unwind/dwarf.c '#include <gelf.h>' 'only elf/ knows'
layer "I/O in encode" user/encode/io.c 'int fd = open(path, 0);' 'encode/ is pure'
layer "printf in encode" user/encode/out.c '	printf("x");' 'encode/ is pure'
layer "/proc in profile" user/profile/proc.c 'const char *p = "/proc/self/maps";' 'reads no /proc'
mkdir -p user/later
layer "a folder without a place" user/later/x.c '#include "base/buf.h"' "has no place in the layering"
printf '#include <bpf/libbpf.h>\n#include "elf/elf_file.h"\n' >user/capture/ok.c
printf '#include <bpf/bpf.h>\n' >user/unwind/row_loader.c
printf '/* open(path) is not for us, nor "profile/x.h" */\nbuf_printf(out, "open(%%s)", obj->read(1));\n' >user/encode/ok.c
accepts "what the layers allow" "$tools/check-layers" user/capture/ok.c user/unwind/row_loader.c user/encode/ok.c

# --- headers ---
printf 'size_t f(void);\n' >user/base/needs.h
printf '#include <stddef.h>\nsize_t f(void);\n' >user/base/alone.h
reports "a header that needs another" "does not compile alone with gcc" "$tools/check-headers" user/base/needs.h
grep -q "does not compile alone with clang" "$log"
result $? "a header that needs another is reported for clang too"
accepts "a header that stands alone" "$tools/check-headers" user/base/alone.h

# --- calls ---
for name in atoi atol sprintf strcpy strcat strtok system gets alloca popen tmpnam mktemp; do
	printf 'x = %s(y);\n' $name >user/base/call.c
	reports "a call of $name" "$name() is banned" "$tools/check-calls" user/base/call.c
done
printf '/* atoi(x) */ p = "system(x)"; my_system(1); snprintf(b); obj->system(1);\n' >user/base/call.c
accepts "names that only look banned" "$tools/check-calls" user/base/call.c

# --- comments ---
open_end=TO; open_end=${open_end}DO
printf 'int x; // why\n' >user/base/comment.c
reports "a // comment" "// comment" "$tools/check-comments" user/base/comment.c
printf '/* %s: later */\n' $open_end >user/base/comment.c
reports "an open end without a reason" "without a reason" "$tools/check-comments" user/base/comment.c
printf '/* see http://x.org */ p = "a//b"; /* %s(needs Linux 6.6): use it */\n' $open_end >user/base/comment.c
accepts "a URL, a string, an open end with its reason" "$tools/check-comments" user/base/comment.c

# --- preamble ---
printf '/* what it is for */\nint x;\n' >user/base/spdx.c
reports "a missing SPDX line" "no SPDX" "$tools/check-preamble" user/base/spdx.c
printf '/* SPDX-License-Identifier: MIT */\n/* for */\n' >user/base/spdx.c
reports "another licence" "licence 'MIT'" "$tools/check-preamble" user/base/spdx.c
printf '/* SPDX-License-Identifier: Apache-2.0 */\nint x;\n' >user/base/spdx.c
reports "a file that does not say what it is for" "what the file is for" "$tools/check-preamble" user/base/spdx.c
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* for */\n' >user/base/spdx.c
accepts "a complete preamble" "$tools/check-preamble" user/base/spdx.c

# --- the driver ---
rm -rf user bpf include tests
mkdir -p user/base
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* Nothing. */\nint x;\n' >user/base/x.c
LINT_CFLAGS=-std=gnu11 "$tools/lint" >"$log" 2>&1
result $? "the driver passes a clean tree"
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* Nothing. */\nint x; // y\n' >user/base/x.c
! LINT_CFLAGS=-std=gnu11 "$tools/lint" >"$log" 2>&1 && grep -q 'comments *FAILED' "$log"
result $? "the driver fails when one check does"
exit $status
