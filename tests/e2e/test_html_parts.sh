#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Parts of the report that only some recordings have, recorded and looked at in a browser: histograms, and the source
# lines of --embed-source.
# timeout: 240
# beside others
set -u
. tests/e2e/live.sh
out=$TMPDIR/out

compile triggers triggers.c
cp "$workloads"/*.[ch] "$out"
cat >"$out/hostile.c" <<'END'
/* </script><img src=x onerror=alert(1)> ]]> <!-- */
#include <stdint.h>
static volatile uint64_t sink;
int main(void)
{
	for (long i = 0; i < 600000000; i++) /* </script><img src=x onerror=alert(1)> */
		sink += (uint64_t)i; /* `${x}` */
	return 0;
}
END
chmod 644 "$out"/*.[ch]
for name in split hostile; do
	gcc -O1 -g -D_GNU_SOURCE -o "$TMPDIR/bin/$name" "$out/$name.c" >>"$log" 2>&1
done

check "calls by size" record hist -e "uprobe:$TMPDIR/bin/triggers:heap" --hist arg0 -o "$out/hist.html" -- triggers 2000
check "waits" record waits --off-cpu -o "$out/waits.html" -- sh -c 'for i in 1 2 3 4 5; do sleep 0.02; done'
check "--embed-source" record source -F 499 --embed-source -o "$out/source.html" -o "$out/source.pb.gz" -- split 1
check "without it" "$bpfprof" convert "$out/source.pb.gz" -o "$out/plain.html"
check "no source is in there" sh -c '! grep -q "\"sources\":" "$1"' sh "$out/plain.html"
check "of a saved profile" "$bpfprof" convert --embed-source "$out/source.pb.gz" -o "$out/again.html"
check "source that means harm" record hostile -F 499 --embed-source -o "$out/hostile.html" -- hostile

# embedded FILE NAME: how many of the source files are called so
embedded()
{
	python3 - "$@" <<-'END'
		import json, re, sys
		facts = json.loads(re.search(r'id="facts"[^>]*>(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
		print(sum(file["file"].endswith("/" + sys.argv[2]) for file in json.loads(facts["sources"])["files"]))
	END
}
check "its file is there" is "$(embedded "$out/source.html" split.c) == 1"
check "and of the saved one" is "$(embedded "$out/again.html" split.c) == 1"
if [ "$(id -u)" = 0 ]; then
	chmod 600 "$out/split.c"
	"$bpfprof" convert --embed-source "$out/source.pb.gz" -o "$out/private.html" 2>"$out/err"
	check "what not everybody may read: it is said" \
		grep -qE '^bpfprof: warning: --embed-source: [0-9]+ of [0-9]+ source files are left out' "$out/err"
	check "and not in the file" is "$(embedded "$out/private.html" split.c) == 0"
	chmod 644 "$out/split.c"
fi

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
	skip "html_parts" "no chromium"
else
	python3 tests/e2e/html_parts.py "$chromium" "$out" "$bpfprof" || status=1
fi
exit $status
