#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every format that is written, in the eyes of other readers: they accept it, and their totals are those of the
# folded file that was written from the same profile. And what others write, in ours.
# beside others
# timeout: 300
set -u
. tests/e2e/cases.sh
# pprof looks for binaries and keeps state under these.
export HOME=$tmp PPROF_TMPDIR=$tmp PPROF_BINARY_PATH=$tmp PYTHONDONTWRITEBYTECODE=1
flamegraph_pl=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
extensions='svg folded pb.gz speedscope.json json callgrind dot perf.txt massif'

look()
{
	python3 tests/e2e/formats.py "$@" 2>>"$log"
}

# equal WHAT LEFT RIGHT: and neither empty nor 0
equal()
{
	printf '%s: %s against %s\n' "$1" "$2" "$3" >>"$log"
	[ -n "$2" ] && [ "$2" != 0 ] && [ "$2" = "$3" ]
	result $? "$1"
}

convert()
{
	"$BUILD/bpfprof" convert --force "$@" >>"$log" 2>&1
}

# pprof_total FILE VALUE UNIT
pprof_total()
{
	go tool pprof -symbolize=none -top -sample_index="$2" -unit="$3" "$1" 2>>"$log" |
		sed -n 's/.*Total samples = \([0-9]*\).*/\1/p'
}

# program_total FILE: of callgrind_annotate
program_total()
{
	sed -n 's/^ *\([0-9,]*\) .*PROGRAM TOTALS$/\1/p' "$1.annotated" | tr -d ,
}

# every_format CASE VALUE: all files of $tmp/CASE.pb.gz, in $tmp/CASE-VALUE.*
every_format()
{
	local outputs=() extension
	for extension in $extensions; do
		outputs+=(-o "$tmp/$1-$2.$extension")
	done
	convert "$tmp/$1.pb.gz" --value "$2" "${outputs[@]}"
	result $? "$1, $2: every format is written"
}

# accepted CASE VALUE: by readers that check a file's form
accepted()
{
	local base=$tmp/$1-$2
	xmllint --huge --noout "$base.svg" >>"$log" 2>&1
	result $? "$1, $2: xmllint accepts the SVG"
	look schema tests/golden/profile.schema.json "$base.json"
	result $? "$1, $2: the JSON follows its schema"
	dot -Tsvg -o "$base.dot.svg" "$base.dot" >>"$log" 2>&1 && xmllint --noout "$base.dot.svg" >>"$log" 2>&1
	result $? "$1, $2: dot draws the graph"
	callgrind_annotate --tree=both --inclusive=yes --threshold=100 --auto=no "$base.callgrind" \
		>"$base.annotated" 2>"$base.warnings" && ! grep WARNING "$base.warnings" >>"$log"
	result $? "$1, $2: callgrind_annotate accepts the file without a warning"
	ms_print "$base.massif" >"$base.ms_print" 2>>"$log"
	result $? "$1, $2: ms_print accepts the file"
	perl "$flamegraph_pl" --minwidth 0 "$base.folded" >"$base.fg.svg" 2>"$base.warnings"
	! grep -i ignored "$base.warnings" >>"$log"
	result $? "$1, $2: flamegraph.pl ignores no line"
}

# totals CASE VALUE UNIT
totals()
{
	local base=$tmp/$1-$2 total
	total=$(look total folded "$base.folded")
	equal "$1, $2: pprof's total" "$(pprof_total "$base.pb.gz" "$2" "$3")" "$total"
	equal "$1, $2: the SVG's total" "$(look total svg "$base.svg")" "$total"
	equal "$1, $2: speedscope's total" "$(look total speedscope "$base.speedscope.json" "$2")" "$total"
	equal "$1, $2: the JSON's total" "$(look total json "$base.json" "$2")" "$total"
	equal "$1, $2: perf script's total" "$(look total perf "$base.perf.txt")" "$total"
	equal "$1, $2: callgrind_annotate's total" "$(program_total "$base")" "$total"
}

# read_back CASE VALUE: what we read of what we wrote has the same stacks
read_back()
{
	local base=$tmp/$1-$2 extension value
	for extension in json perf.txt pb.gz folded; do
		# in folded text there is one, without a name
		value=$2
		[ $extension != folded ] || value=samples
		convert "$base.$extension" --value "$value" -o "$base.$extension.again.folded" &&
			diff "$base.folded" "$base.$extension.again.folded" >>"$log" 2>&1
		result $? "$1, $2: the same stacks come back from .$extension"
	done
}

build_driver make_profile -iquote tests/unit tests/e2e/make_profile.c
for case in plain hostile empty; do
	"$tmp/make_profile" "$tmp" "$case" >>"$log" 2>&1
	result $? "$case: made"
done
cp tests/golden/go-cpu.pb.gz "$tmp/go.pb.gz"

# --- What is written ---

for case in plain go; do
	for value in samples:count cpu:nanoseconds; do
		every_format "$case" "${value%:*}"
		accepted "$case" "${value%:*}"
		totals "$case" "${value%:*}" "${value#*:}"
		read_back "$case" "${value%:*}"
	done
done
for case in hostile empty; do
	every_format "$case" samples
	accepted "$case" samples
done
totals hostile samples count
read_back hostile samples

base=$tmp/go-cpu
equal "callgrind_annotate: main's inclusive cost is the total" "$(look inclusive "$base.annotated" main.main)" \
	"$(look total folded "$base.folded")"
equal "callgrind_annotate: recursion counts once" "$(look inclusive "$base.annotated" sort.pdqsort)" \
	"$(awk '/;sort.pdqsort[; ]/ { sum += $NF } END { printf "%.0f\n", sum }' "$base.folded")"
grep -q '/src/parse.c:next_char' "$tmp/plain-cpu.annotated" && grep -q '^123 ' "$tmp/plain-cpu.callgrind"
result $? "callgrind: inlined calls and lines are there"

for case in plain go; do
	look frames flamegraph "$tmp/$case-samples.fg.svg" | LC_ALL=C sort >"$tmp/theirs"
	# It writes parentheses for these.
	look frames svg "$tmp/$case-samples.svg" | tr '<>' '()' | LC_ALL=C sort >"$tmp/ours"
	[ "$(wc -l <"$tmp/ours")" -gt 5 ] && diff "$tmp/theirs" "$tmp/ours" >>"$log" 2>&1
	result $? "$case: the SVG has flamegraph.pl's frames and counts"
done

for extension in speedscope.json callgrind dot perf.txt; do
	grep -q empty "$tmp/empty-samples.$extension"
	result $? "an empty .$extension says so"
done

convert "$tmp/plain.pb.gz" -o "$tmp/each.%v.callgrind" && [ -s "$tmp/each.cpu.callgrind" ] &&
	[ -s "$tmp/each.samples.callgrind" ]
result $? "%v: one callgrind file per value"
"$BUILD/bpfprof" convert "$tmp/plain.pb.gz" -o "$tmp/x.xyz" 2>&1 | grep -q '\.speedscope\.json.*\.perf\.txt'
result $? "an unknown extension: the known ones are named"

# --- What others write ---

# perf_totals FILE EVENT: samples and sum of periods, as they stand in the text
perf_totals()
{
	awk -v event="$2:" '/^[^ \t#]/ && $0 ~ event { for (i = 2; i <= NF; i++) if ($i == event) { n++; sum += $(i - 1) } }
		END { printf "%d %.0f\n", n, sum }' "$1"
}

# perf_case NAME FILE EVENT
perf_case()
{
	convert "$2" -o "$2.pb.gz" &&
		equal "$1: the sum of periods" "$(python3 tests/e2e/pprof_values.py "$2.pb.gz" "$3" 2>>"$log")" \
			"$(perf_totals "$2" "$3" | cut -d ' ' -f 2)"
}

cp tests/golden/perf-script.txt "$tmp/perf-script.txt"
perf_case "perf's text, cpu-clock" "$tmp/perf-script.txt" cpu-clock
perf_case "perf's text, page-faults" "$tmp/perf-script.txt" page-faults
equal "perf's text: samples" "$(python3 tests/e2e/pprof_values.py "$tmp/perf-script.txt.pb.gz" samples)" \
	"$(grep -c '^[^ 	]' "$tmp/perf-script.txt")"
convert "$tmp/perf-script.txt" -o "$tmp/perf.svg" && xmllint --noout "$tmp/perf.svg" >>"$log" 2>&1
result $? "perf's text: a flame graph"

perf record -q -e cpu-clock -F 499 -g --sample-cpu -o "$tmp/perf.data" -- sh -c \
	'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >>"$log" 2>&1
result $? "perf records"
for fields in comm,pid,tid,time,event,period,ip,sym,dso comm,tid,cpu,time,period,event,ip,sym,symoff,dso \
	comm,pid,period,event,ip,sym,dso; do
	perf script -i "$tmp/perf.data" -F "$fields" >"$tmp/live.txt" 2>>"$log"
	perf_case "perf script -F $fields" "$tmp/live.txt" cpu-clock
	equal "perf script -F $fields: samples" \
		"$(python3 tests/e2e/pprof_values.py "$tmp/live.txt.pb.gz" samples 2>>"$log")" \
		"$(perf_totals "$tmp/live.txt" cpu-clock | cut -d ' ' -f 1)"
done

exit $status
