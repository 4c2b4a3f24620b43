#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof report: tables by keys, as text, markdown and JSON, against sums that are known.
# beside others
set -u
. tests/e2e/cases.sh

out=$tmp/out
mkdir -p "$out"

report()
{
	bpfprof_into "$1" "$2" report "${@:3}"
}

# rows NAME KEY...: the rows of out/NAME as "self total KEY...", sorted.
rows()
{
	python3 - "$out/$@" <<'END'
import json, sys
for row in sorted(" ".join(str(row[key]) for key in ["self", "total"] + sys.argv[2:])
                  for row in json.load(open(sys.argv[1]))["rows"]):
    print(row)
END
}

equal()
{
	printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"
	[ "$1" = "$2" ]
}

# Three samples of 10, 20 and 5: web in parse() under main(), in the kernel under it, db in parse() that calls itself.
{
	printf 'web 17/18 [001] 1.0: 10 cycles:\n\t 10 parse+0x1 (/bin/app)\n  parse.c:31\n\t 20 main+0x2 (/bin/app)\n  main.c:9\n\n'
	printf 'web 17/19 [000] 2.0: 20 cycles:\n\t 30 vfs|read+0x1 ([kernel.kallsyms])\n\t 20 main+0x2 (/bin/app)\n  main.c:9\n\n'
	printf 'db 7/7 [000] 3.0: 5 cycles:\n\t 10 parse+0x1 (/lib/libdb.so)\n  db.c:1\n\t 10 parse+0x1 (/lib/libdb.so)\n  db.c:2\n\n'
} >"$tmp/perf.txt"

holds "by process, module and function" report 0 all.json --sort comm,dso,symbol --format json --value cycles "$tmp/perf.txt"
holds "selves and totals are those of the samples" equal "$(rows all.json comm dso symbol)" \
	"$(printf '%s\n' '0 30 web app main' '10 10 web app parse' '20 20 web [kernel.kallsyms] vfs|read' '5 5 db libdb.so parse')"
holds "by thread" report 0 tid.json --sort tid --format json --value cycles "$tmp/perf.txt"
holds "a thread has what its samples have" equal "$(rows tid.json tid)" \
	"$(printf '%s\n' '10 10 18' '20 20 19' '5 5 7')"
holds "by source line" report 0 line.json --sort srcline --format json --value cycles "$tmp/perf.txt"
holds "recursion counts once, lines are told apart" equal "$(rows line.json srcline)" \
	"$(printf '%s\n' '0 30 main.c:9' '0 5 db.c:2' '10 10 parse.c:31' '20 20 -' '5 5 db.c:1')"
holds "without keys JSON is by function and module" report 0 plain.json --format json --limit 1 "$tmp/perf.txt"
holds "--limit" equal "$(rows plain.json symbol dso | wc -l)" 1
holds "as text" report 0 text --sort dso,symbol --value cycles "$tmp/perf.txt"
holds "columns stand under their names" told '^ +self +total  dso +symbol$' text
holds "shares are of the whole" told '57.14% +20 +57.14% +20  \[kernel.kallsyms\]  vfs\|read$' text
holds "--percent-limit leaves out small totals" report 0 large --sort dso,symbol --value cycles --percent-limit 20 "$tmp/perf.txt"
holds "and keeps the others" equal "$(grep -c '%' "$out/large")" 3
holds "as markdown" report 0 md --sort symbol,dso --format md --value cycles "$tmp/perf.txt"
holds "what would end a cell does not" told '\| `vfs\\\|read` \| `\[kernel.kallsyms\]` \|$' md
printf '%b\n' 'app;e\x7f[31mvil;a\x09b 3' 'app;`code`|<b> 2' >"$tmp/hostile.folded"
holds "names that mean harm" report 0 hostile --sort symbol --format md "$tmp/hostile.folded"
holds "they are harmless" equal "$(grep -c "$(printf '\177')" "$out/hostile"; grep -cF "'code'\\|<b>" "$out/hostile")" "$(printf '0\n1')"
holds "an unknown key" report 2 unknown --sort comm,nix "$tmp/perf.txt"
holds "tells which there are" told "option '--sort': 'nix' is not one of self, total, name, .*symbol, .*comm, cpu, pid, tid, time$" unknown.err
holds "an empty key" report 2 empty --sort comm,,dso "$tmp/perf.txt"
holds "--format md of a tree" report 2 tree --tree --format md "$tmp/perf.txt"

exit $status
