#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof diff: the table, its arithmetic, every output in another program, --fail-above, and what is refused.
# beside others
# timeout: 180
set -u
. tests/e2e/cases.sh

bpfprof=$BUILD/bpfprof
out=$tmp/out
mkdir -p "$out"

# diff_of STATUS NAME ARG...: bpfprof_into.
diff_of()
{
	bpfprof_into "$1" "$2" diff "${@:3}"
}

# quiet REGEX NAME: it has not.
quiet()
{
	! told "$1" "$2" >/dev/null
}

cat >"$tmp/a.folded" <<'END'
app;main;parse;read_token 400
app;main;hash_step 800
app;main;old_path;copy 150
app;main;idle_loop 300
app;main;tiny 3
END
cat >"$tmp/b.folded" <<'END'
app;main;parse;read_token 410
app;main;hash_step 1100
app;main;new_path;copy 120
app;main;idle_loop 220
app;main;tiny 5
app;main;evil|name`<script>&amp;"x" 60
END
a=$tmp/a.folded b=$tmp/b.folded
"$bpfprof" convert "$a" -o "$tmp/a.pb.gz" 2>/dev/null
"$bpfprof" convert "$b" -o "$tmp/b.pb.gz" 2>/dev/null

# --- The table ---

holds "two profiles are compared" diff_of 0 table "$a" "$b"
holds "both files are named, with their samples" told '^before +.*a\.folded, 1653 samples$' table
holds "the total's change" told '^total +1653, then 1915: \+262 ± [0-9]+, \+15\.8 %, significant$' table
holds "the largest change first" sh -c 'sed -n "/function$/{n;p}" "$1" | grep -q hash_step' sh "$out/table"
holds "what grew is significant" told '^ +800 +1100 +\+300 ± +[0-9]+ +\+37\.5 % \* +\+300 \*  hash_step$' table
holds "a small change is not" told '^ +400 +410 +\+10 ± +[0-9]+ +\+2\.5 % +\+10    read_token$' table
holds "few samples are said to be few" told '^ +3 +5 .*\+66\.7 % \? .* tiny$' table
holds "what is new" told 'new \* +  new_path$' table
holds "what is gone" told 'gone \* +  old_path$' table
holds "a profile against itself: nothing" diff_of 0 same "$a" "$a"
holds "and it told so" told '^No function changed\.$' same
holds "pprof, standard input, folded: the same table" diff_of 0 mixed - "$b" <"$tmp/a.pb.gz"
holds "with the same numbers" cmp <(tail -n +3 "$out/table") <(tail -n +3 "$out/mixed")
holds "--limit" diff_of 0 limit "$a" "$b" --limit 2
holds "tells what it leaves out" told '^\.\.\. and [0-9]+ functions more' limit
holds "--sort name" diff_of 0 names "$a" "$b" --sort name
holds "is alphabetical" sh -c 'sed -n "/function$/,/^$/p" "$1" | sed 1d\;/^\$/d | sed "s/.*  //" | LC_ALL=C sort -c' \
	sh "$out/names"
awk '{ $NF *= 3; print }' "$a" >"$tmp/a3.folded"
holds "--normalize: three times as long a recording" diff_of 0 shares "$a" "$tmp/a3.folded" --normalize
holds "has no share changed" told '^No function changed\.$' shares
holds "without: everything is significant" diff_of 0 absolute "$a" "$tmp/a3.folded"
holds "and three times as much" told '\+200\.0 % \* .*  hash_step$' absolute

# --- JSON and markdown ---

holds "JSON" diff_of 0 json "$a" "$b" --format json
holds "JSON: sums of self are the total, on both sides" python3 - "$out/json" <<-'END'
	import json, sys
	found = json.load(open(sys.argv[1]))
	functions, total = found["functions"], found["total"]
	same = 0  # what did not change is not listed
	assert total["after"] - total["before"] == total["change"] == 262
	assert sum(f["self"]["change"] for f in functions) == total["change"], functions
	assert all(f["total"]["after"] - f["total"]["before"] == f["total"]["change"] for f in functions)
	names = [f["name"] for f in functions]
	assert 'evil|name`<script>&amp:"x"' in names or 'evil|name`<script>&amp;"x"' in names or \
	    any(n.startswith("evil|name`<script>") for n in names), names
	assert {f["name"] for f in functions if f["total"]["significant"]} >= {"hash_step", "new_path", "old_path"}
	assert next(f for f in functions if f["name"] == "tiny")["total"]["p"] is None
END
holds "markdown" diff_of 0 markdown "$a" "$b" --format md
holds "markdown: every row of the table has its seven cells" python3 - "$out/markdown" <<-'END'
	import re, sys
	rows = [line for line in open(sys.argv[1]) if line.startswith("|")]
	assert len(rows) > 8, rows
	for row in rows:
	    assert len(re.findall(r"(?<!\\)\|", row)) == 8, row
	    assert row.count("`") in (0, 2), row
END

# --- Files ---

holds "all formats at once" diff_of 0 files "$a" "$b" -o "$out/d.svg" -o "$out/d.folded" -o "$out/d.md" \
	-o "$out/d.json" -o "$out/d.pb.gz" --width max
holds "the page" diff_of 0 page "$a" "$b" -o "$out/d.html"
holds "asks nobody for anything" sh -c '! grep -qE "(src|href)=\"?(https?:)?//" "$1"' sh "$out/d.html"
holds "the page of shares" diff_of 0 page_shares "$a" "$tmp/a3.folded" --normalize -o "$out/shares.html"
for width in max sum; do
	holds "the page of --width $width" diff_of 0 page_width "$a" "$b" --normalize --width $width -o "$out/$width.html"
done
holds "the files of --format and -o are the same" cmp "$out/json" "$out/d.json"
holds "nothing is overwritten" diff_of 1 again "$a" "$b" -o "$out/d.svg"
holds "and --force is named" told 'force' again.err
holds "the graph is XML" xmllint --huge --noout "$out/d.svg"
holds "and is drawn without a browser" rsvg-convert -o "$out/d.png" "$out/d.svg"
holds "a hostile name stays text" sh -c '! grep -q "<script>&" "$1"' sh "$out/d.svg"
holds "red is more" grep -qE '<g class="x4"><title>hash_step ' "$out/d.svg"
holds "blue is less" grep -qE '<g class="y[1-4]"><title>idle_loop ' "$out/d.svg"
holds "grey is chance" grep -qE '<g class="g"><title>parse ' "$out/d.svg"
holds "new and gone frames are marked" sh -c 'grep -q "class=\"x[1-4] new\"><title>new_path" "$1" &&
	grep -q "class=\"y[1-4] gone\"><title>old_path" "$1"' sh "$out/d.svg"
for width in after before max sum; do
	holds "--width $width" diff_of 0 width "$a" "$b" --width $width -o "$out/$width.svg"
done
holds "--width after: what is gone is counted" grep -q '2 frames are gone' "$out/after.svg"
holds "and not drawn" sh -c '! grep -q old_path "$1"' sh "$out/after.svg"
holds "but counts for its callers" grep -qE '<title>main \(1,653 samples, then 1,915 samples' "$out/after.svg"
holds "--width before: what is new is counted" grep -qE '[0-9] frames are new' "$out/before.svg"
holds "other flame graphs know nothing of it" sh -c '"$1" convert "$2" -o "$3" 2>/dev/null && ! grep -q diffOf "$3"' \
	sh "$bpfprof" "$a" "$out/plain.svg"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$chromium" ]; then
	python3 tests/e2e/diff_browser.py "$chromium" "$out/d.svg" "$out/shot-" || status=1
	python3 tests/e2e/diff_page.py "$chromium" "$out" "$bpfprof" || status=1
else
	skip "diff_browser" "no chromium"
fi
holds "pprof: total of delta" sh -c 'HOME="$2" go tool pprof -symbolize=none -top -sample_index=delta "$1" |
	grep -q "^Showing nodes accounting for 262, "' sh "$out/d.pb.gz" "$tmp"
holds "pprof: before is before" sh -c 'HOME="$2" go tool pprof -symbolize=none -raw "$1" | grep -q "^ *before/count after/count"' \
	sh "$out/d.pb.gz" "$tmp"

# --- Two columns, for flamegraph.pl ---

# colours FILE: "name sign" of each frame: + red, - blue, 0 white.
flame_colours()
{
	python3 - "$1" <<-'END'
		import re, sys
		text = open(sys.argv[1]).read()
		for name, red, green, blue in re.findall(
		        r'<title>(\S+) \([^<]*</title><rect [^>]*fill="rgb\((\d+),(\d+),(\d+)\)"', text):
		    print(name, "+" if int(red) > int(blue) else "-" if int(blue) > int(red) else "0")
	END
}

holds "-o -: two columns" diff_of 0 columns "$a" "$b" -o -
holds "are the file's" cmp "$out/columns" "$out/d.folded"
holds "with both counts" grep -qx 'app;main;old_path;copy 150 0' "$out/columns"
holds "they can be read again" "$bpfprof" convert "$out/d.folded" -o "$out/again.pb.gz"
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
if [ -e $flamegraph ]; then
	holds "flamegraph.pl takes them" sh -c 'perl "$1" --minwidth 0 "$2" >"$3" 2>"$3.err" && [ ! -s "$3.err" ]' \
		sh $flamegraph "$out/columns" "$out/theirs.svg"
	flame_colours "$out/theirs.svg" | sort -u >"$out/theirs"
	holds "and colours by the same signs" python3 - "$out/theirs" "$out/json" <<-'END'
		import json, sys
		# Its colour is that of a leaf's own change; callers' are summed up only for what they do themselves.
		theirs = dict(line.split() for line in open(sys.argv[1]))
		ours = {f["name"]: f["self"]["change"] for f in json.load(open(sys.argv[2]))["functions"]}
		compared = 0
		for name in ("hash_step", "idle_loop", "read_token", "tiny"):
		    sign = "+" if ours[name] > 0 else "-"
		    assert theirs[name] == sign, (name, theirs[name], ours[name])
		    compared += 1
		assert compared == 4
	END
else
	skip "flamegraph.pl" "libdevel-nytprof-perl is not there"
fi

# --- Regressions ---

holds "--fail-above: a growth that is larger" diff_of 1 fail "$a" "$b" --fail-above 5%
holds "is told by name" told '^bpfprof: regression: hash_step \+18\.15 % of all \(\+37\.5 % of itself\)$' fail.err
holds "one that is new" told 'regression: new_path .* \(new\)$' fail.err
holds "what shrank is none" quiet 'idle_loop' fail.err
holds "all are smaller: exit status 0" diff_of 0 pass "$a" "$b" --fail-above 20
holds "and nothing is told" sh -c '! grep -q regression "$1"' sh "$out/pass.err"
printf 'app;main;f 10\napp;main;g 1000\n' >"$tmp/few_a.folded"
printf 'app;main;f 16\napp;main;g 1000\n' >"$tmp/few_b.folded"
holds "growth that chance can explain is none" diff_of 0 chance "$tmp/few_a.folded" "$tmp/few_b.folded" --fail-above 0
holds "the profile itself" diff_of 0 self "$a" "$a" --fail-above 0
holds "markdown has them" diff_of 1 fail_md "$a" "$b" --fail-above 5 --format md
holds "in bold" told '^- \*\*regression: hash\\_step' fail_md

# --- Sides that cannot be compared without more ---

# host NAME JSON PERIOD DURATION_S [LEDGER]: a pprof with facts about where it was recorded.
host()
{
	python3 - "$tmp/$1.pb.gz" "$2" "$3" "$4" "${5:-}" <<-'END'
		import gzip, sys
		path, facts, period, duration, ledger = sys.argv[1:]
		def varint(n):
		    out = b""
		    while True:
		        out += bytes([n & 127 | (128 if n > 127 else 0)])
		        n >>= 7
		        if not n:
		            return out
		def field(nr, value):
		    if isinstance(value, int):
		        return varint(nr << 3) + varint(value)
		    return varint(nr << 3 | 2) + varint(len(value)) + value
		strings = ["", "samples", "count", "cpu", "nanoseconds", "work", "bpfprof-host: " + facts,
		           "bpfprof-ledger: " + ledger]
		period = int(period)
		data = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
		data += field(2, field(1, 1) + field(2, varint(500) + varint(500 * period)))
		data += field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 5))
		data += b"".join(field(6, text.encode()) for text in strings)
		data += field(10, int(float(duration) * 1e9)) + field(11, field(1, 3) + field(2, 4)) + field(12, period)
		data += field(13, 6) + field(13, 7)
		open(path, "wb").write(gzip.compress(data))
	END
}

host one '{"host":"alpha","governor":"performance","cpus":8,"command":"a"}' 10000000 5 \
	'{"version":"1.0","kernel":"6.1.0","arch":"x86_64","duration_s":5,"events":[]}'
host two '{"host":"beta","governor":"powersave","cpus":8,"command":"b"}' 2000000 1 \
	'{"version":"1.1","kernel":"6.18.0","arch":"x86_64","duration_s":1,"events":[]}'
host bad '{"host":[1,{"x":' 10000000 5
host evil '{"host":"be\u001b[31mta"}' 10000000 5
holds "facts are told" diff_of 0 facts "$tmp/one.pb.gz" "$tmp/two.pb.gz"
holds "hosts that differ are warned of" told '^WARNING   host differs: alpha before, beta after$' facts
holds "versions" told '^WARNING   version differs: 1\.0 before, 1\.1 after$' facts
holds "kernels" told '^WARNING   kernel differs: 6\.1\.0 before, 6\.18\.0 after$' facts
holds "governors" told '^WARNING   governor differs: performance before, powersave after$' facts
holds "frequencies" told '^WARNING   period differs: .*\(100 Hz\).*\(500 Hz\)' facts
holds "durations" told '^WARNING   the recordings are not of one length, 5\.00 s and 1\.00 s' facts
holds "what is equal, or differs always, is not" quiet 'cpus differs|command differs' facts
holds "time is compared as time" told '^value +cpu \(nanoseconds\)$' facts
holds "and by its samples" told '500 samples, period 10\.00 ms of cpu \(100 Hz\)' facts
holds "warnings are seen beside -o -" diff_of 0 beside "$tmp/one.pb.gz" "$tmp/two.pb.gz" -o -
holds "on stderr" told '^bpfprof: warning: host differs' beside.err
holds "facts that are no JSON are no error" diff_of 0 bad "$tmp/one.pb.gz" "$tmp/bad.pb.gz"
holds "facts that mean harm" diff_of 0 evil "$tmp/one.pb.gz" "$tmp/evil.pb.gz"
holds "do not steer the terminal" sh -c '! grep -q "$(printf "\033")" "$1"' sh "$out/evil"
sed 's/^app/other/' "$b" >"$tmp/other.folded"
holds "threads of other names" diff_of 0 other "$a" "$tmp/other.folded" -o "$out/other.folded"
holds "are warned of" told '^WARNING   no stack is in both; .*--by none' other
holds "and are apart" grep -q '^other;main;hash_step 0 1100$' "$out/other.folded"
holds "--by none" diff_of 0 nobody "$a" "$tmp/other.folded" --by none -o "$out/nobody.folded"
holds "leaves them out" grep -q '^main;hash_step 800 1100$' "$out/nobody.folded"
holds "and warns of nothing" quiet WARNING nobody

# --- What is refused ---

# refused STATUS REGEX NAME ARG...: that status, one line on stderr that matches, nothing on stdout.
refused()
{
	local code=$1 regex=$2 name=$3
	shift 3
	holds "$name: exit status $code" diff_of "$code" refused "$@"
	holds "$name: one line" sh -c '[ "$(wc -l <"$1.err")" = 1 ] && grep -qE -- "$2" "$1.err" && [ ! -s "$1" ]' \
		sh "$out/refused" "$regex"
}

refused 2 'no files to compare.*BEFORE AFTER' "no file"
refused 2 'one file alone' "one file" "$a"
refused 2 'more than two' "three files" "$a" "$b" "$a"
refused 2 "standard input .* only be one" "standard input twice" - -
refused 1 "input '$tmp/none': No such file" "a file that is not there" "$a" "$tmp/none"
refused 1 "input '$tmp': Is a directory" "a folder" "$tmp" "$b"
refused 1 "no value 'heap' .*BEFORE has samples/count; AFTER has samples/count" "an unknown value" "$a" "$b" --value heap
refused 2 "output 'x.txt': a difference can be .html, .svg, .folded, .md or .json, or, as values before, after and delta, .pb.gz or .speedscope.json" "an unknown format" "$a" "$b" -o x.txt
refused 2 'named twice' "an output twice" "$a" "$b" -o "$tmp/x.md" -o "$tmp/x.md"
refused 2 "'200%' is not a percentage" "no percentage" "$a" "$b" --fail-above 200%
refused 2 'not one of after, before, max, sum' "an unknown width" "$a" "$b" --width both
refused 1 'no/such' "a folder that is not there" "$a" "$b" -o "$tmp/no/such.svg"
head -c 100 /dev/urandom >"$tmp/noise"
refused 1 "input '$tmp/noise'" "a file that is no profile" "$a" "$tmp/noise"
holds "nothing is left of a refused output" sh -c '[ -z "$(ls "$1"/x.* 2>/dev/null)" ]' sh "$tmp"
holds "--help" diff_of 0 help --help
holds "has examples" told 'fail-above 5%' help
holds "an empty profile" sh -c ': >"$3" && "$1" diff "$2" "$3" >"$4" && "$1" diff "$3" "$3" -o "$3.svg"' sh \
	"$bpfprof" "$a" "$tmp/empty.folded" "$out/empty"

exit $status
