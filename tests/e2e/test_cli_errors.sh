#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bpfprof says and returns when it is used wrongly, and that it leaves no file behind then.
set -u
. tests/e2e/cases.sh
bpfprof=$BUILD/bpfprof
dir=$tmp/here
mkdir "$dir" && cd "$dir" || exit 1

# verdict STATUS NAME: one case, which bpfprof's last words explain
verdict()
{
	cat out err >"$log" 2>/dev/null
	result "$1" "$2"
}

# fails CODE PATTERN ARG...: exit status CODE, nothing on stdout, one line on stderr that has PATTERN
# (a fixed string), no file left
fails()
{
	code=$1 pattern=$2
	shift 2
	(mkdir run && cd run && timeout 20 "$bpfprof" "$@" >../out 2>../err </dev/null)
	got=$?
	left=$(ls -A run)
	rm -rf run
	[ "$got" = "$code" ] && [ ! -s out ] && [ -z "$left" ] && [ "$(wc -l <err)" = 1 ] &&
		grep -q '^bpfprof: ' err && grep -qF -- "$pattern" err
	verdict $? "bpfprof $* -> $code, '$pattern'"
}

# answers PATTERN ARG...: exit status 0, PATTERN on stdout, nothing on stderr
answers()
{
	pattern=$1
	shift
	timeout 20 "$bpfprof" "$@" >out 2>err </dev/null && [ ! -s err ] &&
		grep -qF -- "$pattern" out
	verdict $? "bpfprof $* answers '$pattern'"
}

# --- Help ---
for command in record report convert stat list doctor query store; do
	answers "Usage: bpfprof" $command --help
	answers "Usage: bpfprof" $command -h
	answers "Usage: bpfprof" help $command
	answers "bpfprof " $command -V
done
answers "Commands" --help
answers "Commands" -h
answers "Exit status" help
answers "bpfprof " --version
answers "Usage: bpfprof [record]" -F 99 --help
answers ".TH BPFPROF 1" help --man
fails 2 "option '--completion': 'csh' is not one of bash, zsh, fish" help --completion csh

# --- Options ---
fails 2 "unknown option '--foo' (see bpfprof record --help)" --foo
fails 2 "unknown option '--foo' (see bpfprof record --help)" record --foo
fails 2 "unknown option '--outptu' (did you mean '--output'?" --outptu x.svg
fails 2 "unknown option '--dur' (did you mean '--duration'?" --dur 3
fails 2 "unknown option '--no-such-option'" --no-such-option
fails 2 "exclude each other: --wall has both kinds of time" --off-cpu --wall
fails 2 "option '--wakers': only with --off-cpu or --wall" --wakers
fails 2 "option '-m': only with --off-cpu or --wall" -m 100
fails 2 "option '-m': 'soon' is no time" --off-cpu -m soon
fails 2 "no wait is between 10 and 5" --off-cpu -m 10 -M 5
fails 2 "option '--max-cpu': '0' is no percentage from 0.1 to 100" --off-cpu --max-cpu 0
fails 2 "option '--off-cpu': no event is sampled with it" --off-cpu -F 99
fails 2 "option '-C': threads wait on no CPU in particular" --wall -C 0
fails 2 "option '--state': 'asleep'" --off-cpu --state asleep
fails 2 "unknown option '-Z'" -aZ
fails 2 "unknown command 'reprot' (did you mean 'report'?" reprot x.pb.gz
fails 2 "unknown command 'gcc'" gcc x.c
fails 2 "unknown command 'nope'" help nope
fails 2 "option '-o' needs a value (FILE)" -o --force
fails 2 "option '-d': 'soon' is not a time" -d soon
fails 2 "option '-F': '0' must be more than 0" -F 0
fails 2 "option '-F': '-3' is not a number" -F -3
fails 2 "option '--freq': '99Hz' is not a number" --freq=99Hz
fails 2 "sysctl kernel.perf_event_max_sample_rate=4000000000" -F 4000000000
fails 2 "option '-c': '0' must be more than 0" -c 0
fails 2 "exclude each other" -F 99 -c 1000
fails 2 "exclude each other" -U -K
fails 2 "the duration is given twice" -d 3 5
fails 2 "unexpected argument '7'" record 5 7
fails 2 "SECONDS: '0' must be more than 0" 0
fails 2 "no COMMAND after '--'" -d 3 --
fails 2 "option '--by': 'colour' is not one of comm, process" --by comm,colour
fails 2 "option '--call-graph': 'magic'" --call-graph magic
fails 2 "did you mean 'cycles'" -e cycels
fails 2 "the function is missing: uprobe:PATH:FUNCTION" -e uprobe:libc:
fails 2 "a file and a name are needed" -e usdt:libc
fails 2 "an event is empty" -e cpu-clock,,page-faults
fails 1 "did you mean 'sched:sched_switch'" -e sched:sched_swich -d 1
fails 2 "not of the form CATEGORY:NAME" -e 'syscalls:%s%n'
fails 1 "did you mean 'kprobe:'" -e kprob:vfs_read -d 1
fails 1 "has no function 'mallox'" -e uprobe:libc:mallox -d 1
fails 1 "is the most: write more of the name" -e 'uprobe:libc:*' -d 1
fails 1 "begins one of" -e uprobe:libc:malloc+1 -d 1
fails 1 "column 9: a number is compared with a string" -e uprobe:libc:malloc --where 'arg0 == "x"' -d 1
fails 1 "there is no 'nosuch' here" -e uprobe:libc:malloc --where 'nosuch > 1' -d 1
fails 1 "ret is known where a function returns" -e uprobe:libc:malloc --where 'ret == 0' -d 1
fails 1 "it is a counter" -e page-faults --weight pid -d 1
fails 1 "at most 6 events" -e faults,cs,minor-faults,major-faults,cpu-migrations,task-clock,cpu-clock -d 1
fails 1 "--elapsed times calls of functions" -e sched:sched_switch --elapsed -d 1
fails 1 "looks at a function's entry" -e uretprobe:libc:malloc --by caller -d 1
fails 2 "the unit is missing behind the colon" -e uprobe:libc:malloc --weight arg0: -d 1

# --- stat and list ---
fails 1 "event 'cylces': unknown event (did you mean 'cycles'?" stat -e cylces
fails 125 "event 'cylces': unknown event (did you mean 'cycles'?" stat -e cylces -- true
fails 1 "event 'cycles/frq=9/': unknown term 'frq' (did you mean 'freq'?)" stat -e cycles/frq=9/
fails 1 "modifier 'h': a hypervisor" stat -e page-faults:h
fails 1 "not of the form CATEGORY:NAME" stat -e 'x:%s%n'
fails 1 "no PMU 'cqu'" stat -e cqu/event=1/
fails 1 "no process with pid 999999999 (-p)" stat -p 999999999
fails 1 "CPU 4095 is not online (-C" stat -C 4095
fails 2 "exclude each other" stat --json -x ,
fails 2 "options '-p' and COMMAND exclude each other" stat -p 1 -- true
fails 2 "options '-p' and '-a' or '-C' exclude each other" stat -a -p 1
fails 2 "option '-i': only with -p or COMMAND" stat -i
fails 1 "output 'nowhere/x': no such folder" stat -o nowhere/x -d 1
fails 2 "unexpected argument 'b'" list a b
fails 1 "no event that opens here matches 'qwertyuiop'" list qwertyuiop

# --- Outputs: refused before anything is recorded ---
fails 2 "output 'x.foo': unknown extension (known: " -o x.foo
fails 2 "unknown extension" -o svg
fails 2 "standard output can be named only once" -f -o -
fails 2 "standard output can be named only once" -o - -o -
fails 2 "output 'a.svg' is named twice" -o a.svg -o a.svg
fails 2 "hold every value" -o 'a-%v.pb.gz'
fails 2 "option '--stats': '-' is not possible" --stats -
fails 1 "output 'nowhere/x.svg': no such folder" -d 1 -o nowhere/x.svg
fails 1 "output 'nowhere/x-%v.svg': no such folder" -d 1 -o 'nowhere/x-%v.svg'
fails 1 "output 'nowhere/s.json': no such folder" -d 1 -o x.svg --stats nowhere/s.json
fails 125 "output 'nowhere/x.svg': no such folder" -o nowhere/x.svg -- true
echo precious >taken.svg
fails 1 "exists already (--force replaces it)" -d 1 -o "$dir/taken.svg"
fails 1 "exists already (--force replaces it)" -d 1 -o x.svg --stats "$dir/taken.svg"
[ "$(cat taken.svg)" = precious ]
verdict $? "a refused output is untouched"
mkdir folder.svg
fails 1 "is a folder" -d 1 -o "$dir/folder.svg"

# --- Targets ---
fails 1 "no process with pid 999999999 (-p)" -p 999999999
fails 1 "no process with pid 999999999 (-p)" -p $$,999999999 -o nowhere/x.svg
fails 1 "no thread with tid 999999999 (-t)" -t 999999999
fails 2 "option '-p': 'nginx' is not a list of numbers" -p nginx
fails 1 "CPU 4095 is not online (-C" -C 0,4095
fails 1 "no control group 'no-such-group' (-G" -G no-such-group
fails 1 "no container 'abcdef0123456789'" --container abcdef0123456789
fails 1 "hexadecimal digits" --container web
fails 1 "kernel types '/nonexistent' (--btf): No such file" --btf /nonexistent
fails 125 "no process with pid 999999999 (-p)" -p 999999999 -- true

# --- report and convert ---
fails 2 "no FILE to report" report
fails 2 "no FILE to convert" convert -o x.svg
fails 2 "no output named (-o OUT)" convert x.pb.gz
fails 1 "input 'nowhere.pb.gz': No such file or directory" report nowhere.pb.gz
fails 1 "input '/tmp': Is a directory" report /tmp
head -c 4096 /dev/urandom >noise.pb.gz
printf '\037\213\010\0\0\0\0\0\0\0garbage' >cut.pb.gz
printf 'main;work 3\nmain;idle 1\nmain;work;main;work 2\n' >good.folded
for file in noise cut; do
	fails 1 "input '$dir/$file.pb.gz': " report "$dir/$file.pb.gz"
	fails 1 "input '$dir/$file.pb.gz': " convert "$dir/$file.pb.gz" -o x.svg
	fails 1 "input '$dir/$file.pb.gz': " convert "$dir/good.folded" "$dir/$file.pb.gz" -o x.svg
done
fails 1 "no value 'bytes' (--value); there are: samples" report --value bytes "$dir/good.folded"
fails 1 "no value 'bytes' (--value); there are: samples" convert --value bytes "$dir/good.folded" -o x.svg
fails 1 "no function 'nothing' in the profile (--callers)" report --callers nothing "$dir/good.folded"
fails 2 "option '--sort': 'size' is not one of self, total, name" report --sort size "$dir/good.folded"
fails 2 "option '--percent-limit': '101' is not a percentage" report --percent-limit 101 "$dir/good.folded"
fails 2 "unexpected argument 'x'" doctor x

# --- query and store ---
fails 2 "what is to be shown is missing: top, flame, diff, regressions, labels or kinds" query
fails 2 "'tpo' is none of top, flame, diff, regressions, labels, kinds (did you mean 'top'?)" query tpo
fails 2 "unexpected argument 'flame'" query top flame
fails 2 "option '--since': '30' is not a time (wanted: 15m, 1h or 2d back from now" query top --since 30
fails 2 "option '--until': '2026-02-30' is not a time" query top --until 2026-02-30
fails 2 "option '--since': '1960-01-01T00:00:00Z' is not between 1970 and 2554" query top --since 1960-01-01T00:00:00Z
fails 2 "option '--since': not before --until" query top --since 1h --until 2h
fails 2 "option '--since': not before the present" query top --since now
fails 2 "option '--select': 'web' is not of the form KEY=GLOB" query top --select web
fails 2 "option '--by': a label in 'a,,b' has no name" query top --by a,,b
fails 2 "option '--output': not of top (of flame, diff, regressions)" query top -o x.svg
fails 2 "option '--before-since': not of flame (of diff, regressions)" query flame --before-since 1d
fails 2 "option '--kind': not of kinds" query kinds --kind cpu
fails 2 "options '--sort' and '--by' of top exclude each other" query top --sort self --by comm
fails 2 "option '--sort': 'total' is not one of change" query diff --sort total
fails 2 "option '--before-select': not of top (of diff, regressions)" query top --before-select a=b
fails 2 "option '--before-select': 'a' is not of the form KEY=GLOB" query regressions --before-select a
fails 2 "the two ranges overlap" query diff --before-since 30m --before-until now
fails 2 "output 'x.foo': unknown extension" query flame -o x.foo
fails 2 "a difference can be" query diff -o x.dot
fails 1 "does the server run, and listen there?" query top --store clickhouse://127.0.0.1:1/db
fails 2 "not the name of a store" query top --store http://host/
for view in top flame diff regressions labels kinds; do
	fails 1 "no store at 'nowhere.db': is the agent running? (bpfprof agent" query $view --store nowhere.db
done
fails 2 "what is to be done is missing: init, migrate, fsck, sizes, drop, ship, rollup, symbolize or upload" store
fails 2 "'fsk' is none of init, migrate, fsck, sizes, drop, ship, rollup, symbolize, upload (did you mean 'fsck'?" store fsk
fails 2 "option '--json': of sizes only" store fsck --json
fails 2 "the URL of the fleet store: the host is missing" store init --store clickhouse:///db
fails 2 "store sizes: of a local store only" store sizes --store clickhouse://127.0.0.1/db
fails 2 "option '--to' is missing: where to" store ship
fails 2 "option '--to': of ship only" store fsck --to clickhouse://127.0.0.1/db
fails 2 "store rollup: of a fleet store only (--store clickhouse://HOST/DATABASE)" store rollup
fails 2 "options '--since' and '--until': of fsck, rollup and symbolize of a fleet store only" store fsck --since 1h
fails 2 "option '--since': 'x' is no time" store fsck --store clickhouse://127.0.0.1/db --since x
fails 2 "option '--cluster': of init of a fleet store only" store init --cluster main
fails 2 "option '--retain': drop needs it" store drop --store clickhouse://127.0.0.1/db
fails 2 "option '--retain': drop needs it, and nothing else" store fsck --retain 1d
fails 2 "store drop: of a fleet store only" store drop --retain 1d
fails 2 "option '--cluster': of init of a fleet store only" store fsck --cluster main --store clickhouse://127.0.0.1/db
fails 2 "option '--cluster': 'a b' is no cluster's name" store init --cluster "a b" --store clickhouse://127.0.0.1/db
fails 2 "option '--debug-dir': of symbolize and upload only" store fsck --debug-dir .
fails 2 "what is to be uploaded is missing: FILE..." store upload --store clickhouse://127.0.0.1/db
fails 2 "store symbolize: of a fleet store only" store symbolize --debug-dir .
fails 2 "option '--debug-dir': 'nowhere'" store symbolize --store clickhouse://127.0.0.1/db --debug-dir nowhere
fails 1 "no store at 'nowhere.db'" store ship --store nowhere.db --to clickhouse://127.0.0.1/db
fails 2 "option '--sink': not the URL of a sink (wanted: clickhouse://HOST/DATABASE, relay+http://HOST, file:/DIR, s3://BUCKET/PREFIX, pyroscope+http://HOST or otlp+http://HOST)" \
	agent --check-config --sink kafka://host
fails 2 "option '--sink': behind file: the folder's full name is wanted: file:/DIR" agent --check-config --sink file:profiles
fails 2 "option '--sink': it does not begin with s3://" agent --check-config --sink s3:bucket
fails 2 "option '--sink': behind '?' only endpoint=URL, region=NAME and ca=FILE are known" agent --check-config --sink s3://bucket?tenant=x
fails 2 "option '--sink': the endpoint does not begin with http:// or https://" agent --check-config --sink s3://bucket?endpoint=host
fails 2 "option '--sink': there is a port behind the bucket: name the server by ?endpoint=http://HOST:PORT" \
	agent --check-config --sink s3://host:9000/bucket
fails 2 "option '--sink': there is a '@' behind the bucket: a '/' in the secret has to be %2F" \
	agent --check-config --sink s3://AKIA/cret@bucket
fails 2 "option '--sink': behind '?' only tenant=NAME and ca=FILE are known" agent --check-config --sink otlp+http://host?x=1
for action in migrate fsck sizes; do
	fails 1 "no store at 'nowhere.db'" store $action --store nowhere.db
done

# --- What works without recording ---
answers " 83.33%          5    83.33%          5  work" report "$dir/good.folded"
answers "100.00%  main" report --tree "$dir/good.folded"
answers " 33.33%        work" report --tree "$dir/good.folded"
answers " 33.33%          2  main" report --callers work "$dir/good.folded"
answers "main;work;main;work 4" convert "$dir/good.folded" "$dir/good.folded" -o -
"$bpfprof" convert good.folded -o good.pb.gz 2>err && "$bpfprof" convert good.pb.gz -o - >out 2>>err &&
	[ "$(sort out)" = "$(sort good.folded)" ]
verdict $? "folded -> pprof -> folded keeps every stack"
cp good.folded before.folded
"$bpfprof" convert good.folded -o good.folded 2>err
[ $? = 1 ] && cmp -s good.folded before.folded
verdict $? "convert does not overwrite its input"

# --- With a COMMAND; these record, so they need the right to ---
timeout 20 "$bpfprof" -q -d 200ms -f >/dev/null 2>&1
if [ $? = 1 ]; then
	skip "COMMAND's exit status" "recording does not work here"
	exit $status
fi
for code in 0 1 7 255; do
	"$bpfprof" -q -o "c$code.svg" -- sh -c "exit $code" >out 2>err
	[ $? = $code ] && [ -s "c$code.svg" ]
	verdict $? "COMMAND's exit status $code is ours, and the file is there"
done
"$bpfprof" -q -f -- sh -c 'kill -TERM $$' >/dev/null 2>err
[ $? = 143 ]
verdict $? "128 + N for a COMMAND that signal N ended"
fails 127 "cannot run '/nonexistent/x': No such file" -o x.svg -- /nonexistent/x
fails 127 "cannot run 'no-such-program': No such file" -- no-such-program
fails 126 "cannot run '/tmp': Permission denied" -- /tmp

# --- Signals ---
# signalled NAME STATUS SIGNALS ARG...: SIGNALS are sent half a second apart, to bpfprof alone
signalled()
{
	name=$1 code=$2 signals=$3
	shift 3
	mkdir -p signals
	(cd signals && exec "$bpfprof" -q "$@") >out 2>err </dev/null &
	pid=$!
	sleep 1
	for signal in $signals; do
		kill -"$signal" $pid
		sleep 0.5
	done
	wait $pid
	got=$?
	[ $got = "$code" ]
	verdict $? "$name (status $got)"
}
busy='while :; do :; done'

signalled "SIGINT finishes and writes; COMMAND gets it too" 130 INT -o a.svg -- sh -c "$busy"
signalled "SIGTERM finishes and writes; COMMAND gets it too" 143 TERM -o b.svg -- sh -c "$busy"
[ -s signals/a.svg ] && [ -s signals/b.svg ]
verdict $? "both files are there"
signalled "COMMAND may answer SIGINT its own way" 5 INT -o c.svg -- sh -c "trap 'exit 5' INT; $busy"
signalled "a second SIGINT stops at once" 1 "INT INT" -o d.svg -- sh -c "trap '' INT; sleep 4"
[ -s signals/d.svg ]
verdict $? "what the first SIGINT wrote stays"
[ -z "$(find signals -name '.*' -type f)" ]
verdict $? "no temporary file is left"
exit $status
