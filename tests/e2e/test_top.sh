#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof top: the table against loads whose split is known, its targets, its ends, and its screen in tmux.
# timeout: 300
set -u
. tests/e2e/live.sh
export LC_ALL=C.UTF-8
unset NO_COLOR
compile split split.c
compile sleeps sleeps.c
out=$TMPDIR/out

# table STATUS NAME ARG...: bpfprof top with stdout in out/NAME
table()
{
	bpfprof_into "$1" "$2" top "${@:3}"
}

# cell NAME COLUMN FUNCTION: of the last table, a function of one word; columns are 1 self, 2 total, 3 off, 4 off total;
# 0: there is no such row.
cell()
{
	awk -v column="$2" -v name="$3" '
		/ samples, / { found = 0 }
		NF > 1 && $(NF - 1) == name { found = $column + 0 }
		END { print found + 0 }' "$out/$1"
}

# samples_of NAME: of the last table
samples_of()
{
	sed -n 's/.*: \([0-9]*\) samples, .*/\1/p' "$out/$1" | tail -n 1
}

# split_is NAME FUNCTION SHARE: of deal_deck's time, within four standard deviations
split_is()
{
	local part all cnt
	part=$(cell "$1" 2 "$2") all=$(cell "$1" 2 deal_deck) cnt=$(samples_of "$1")
	cat "$out/$1"
	is "$cnt > 100 && $all > 0 && ($part / $all - $3) ^ 2 <= 16 * $3 * (1 - $3) / $cnt"
}

# --- What is known ---

load split 600
pid=$load
check "two tables" table 0 two -n 2 -i 2 -F 999 -p "$pid" --ms
check "... are two" is "$(grep -c ' samples, ' "$out/two") == 2 && $(grep -c '^$' "$out/two") == 2"
check "... nothing was lost" is "$(grep -c ', 0 lost' "$out/two") == 2"
check "work_70 has 7/10" split_is two work_70 0.7
check "work_20 has 2/10" split_is two work_20 0.2
check "all self is the loop's" is "$(cell two 1 burn) >= 0.95 * $(cell two 2 deal_deck) && $(cell two 1 work_70) <= 0.02 * $(cell two 2 work_70)"
check "the last interval alone" table 0 last -z -n 1 -i 2 -F 999 -p "$pid" --ms --no-off-cpu
check "... has the same split" split_is last work_70 0.7
check "... and no columns of waits" is "$(grep -c 'off' "$out/last") == 0"
check "on the CPU or waiting for it: all of the thread's second" \
	is "($(cell two 2 main) + $(cell two 4 main) - 1000) ^ 2 <= 100 ^ 2"

# Those that sleep for 100 us and 1 ms each time are awake for a quarter and a twentieth of their time.
sleeping()
{
	table 0 asleep -z -n 2 -i 2 --ms --order off-total --comm 'sleep_*0ms' -- sleeps 8 && cat "$out/asleep" &&
		is "($(cell asleep 4 sleep_here) - 3000) ^ 2 <= 150 ^ 2 && $(cell asleep 2 sleep_here) < 100"
}
check "three threads that sleep: 3 s per second" sleeping
check "... ordered by it" is "$(awk '/ samples, / { cnt = 0 } / \[/ && !/module/ { if (cnt++ && $4 > last) bad = 1; last = $4 } END { print bad + 0 }' "$out/asleep") == 0"

# --- Targets, rows ---

check "a name" table 0 comm -n 1 -i 1 -F 999 --comm 'spl*' -s comm,dso,symbol
check "... and its thread's name in each row" is \
	"$(awk '/ comm /, 0' "$out/comm" | awk 'NR > 1 && NF && $5 != "split"' | wc -l) == 0 && $(grep -c ' split  *burn' "$out/comm") == 1"
check "rows by pid" table 0 pid -n 1 -i 1 -F 999 -p "$pid" --by comm,pid
check "... have it" told " split-$pid +burn " pid
check "a user that runs nothing" table 0 uid -n 1 -i 1 -u 64999
check "... has no rows" is "$(awk '/function/, 0' "$out/uid" | tail -n +2 | grep -c '\[') == 0"
check "one CPU" table 0 cpu -n 1 -i 1 -C "$(online_cpus | head -n 1)"
check "... is one CPU's time" told '  1 CPU, 99 Hz ' cpu
check "modules alone" table 0 dso -n 1 -i 1 -F 999 -p "$pid" -s dso --no-off-cpu
check "... a row each" is "$(awk '$3 == "split"' "$out/dso" | wc -l) == 1"
check "--filter" table 0 filter -n 1 -i 1 -F 999 -p "$pid" --filter '^(work_7|burn)'
check "... leaves two rows" is "$(awk '/function/, 0' "$out/filter" | grep -c '\[split\]') == 2"
check "--entries" table 0 entries -n 1 -i 1 -F 999 -E 3
check "... leaves three" is "$(awk '/function/, 0' "$out/entries" | tail -n +2 | grep -c .) == 3"

# --- Ends ---

# stopped SIGNAL: the run ends as it should
stopped()
{
	"$bpfprof" top -i 1 >"$out/stopped" 2>"$out/stopped.err" &
	local top_pid=$! code
	for _ in $(seq 200); do
		grep -q ' samples, ' "$out/stopped" && break
		sleep 0.1
	done
	kill -"$1" $top_pid
	wait $top_pid
	code=$?
	cat "$out/stopped.err"
	is "$code == 0 && $(wc -l <"$out/stopped.err") == 0 && $(grep -c '^$' "$out/stopped") == $(grep -c ' samples, ' "$out/stopped")"
}
check "Ctrl-C" stopped INT
check "SIGTERM" stopped TERM
check "COMMAND's end is the end, its status ours" table 7 command -F 999 -- sh -c 'split 1; exit 7'
check "... with what it did" told ' burn +\[split\]' command
check "SECONDS" table 0 seconds -i 1 2
check "the target's end" table 0 gone -i 60 -p "$(sleep 2 >/dev/null & echo $!)"
check "COMMAND that is not there" table 127 missing -- ./not-there
check "whoever reads goes" bash -c "'$bpfprof' top -b -i 0.2 -d 20 | head -n 3 >/dev/null; exit \${PIPESTATUS[0]}"
bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool)
programs_left()
{
	sleep 1
	is "$("$bpftool" prog show | grep -c 'name bp_switch.*pids bpfprof') == 0"
}
[ -z "$bpftool" ] || check "nothing stays in the kernel" programs_left

# refused NAME REGEX ARG...: exit status 2 and one line
refused()
{
	table 2 refused "${@:2}" && told "$1" refused.err && is "$(wc -l <"$out/refused.err") == 1"
}
check "no such order" refused "'x' is not one of self, total, off, off-total" --order x
check "an order without its column" refused "column of --off-cpu" --no-off-cpu --order off
check "no expression" refused "option '--filter': '\('" --filter '('
check "both -U and -K" refused "exclude each other" -U -K
check "an interval too short" refused "option '-i'" -i 1ms
check "-i and --delay" refused "are the same" -i 1 --delay 1
check "a program without --" refused "unexpected argument" 1 2
check "no table" refused "option '-n'" -n 0

# --- The screen ---

if ! have tmux; then
	skip "the screen" "there is no tmux"
	stop_loads
	exit $status
fi

pane()
{
	tmux -u -S "$tmp/tmux" -f /dev/null "$@"
}
trap 'pane kill-server 2>/dev/null; stop_loads; rm -rf "$tmp"' EXIT

seen()
{
	printf '%s\n' "$(pane capture-pane -p | sed 's/ *$//')"
}

# shows REGEX: until the screen has a line that matches
shows()
{
	for _ in $(seq 200); do
		seen | grep -qE -- "$1" && return
		sleep 0.05
	done
	echo "no line matches: $1"
	seen
	return 1
}

keys()
{
	pane send-keys "$@"
}

cp "$TMPDIR/bin/split" "$TMPDIR/bin/"$'sp\e[31m;x'
load "$TMPDIR/bin/"$'sp\e[31m;x' 600
hostile=$load
pane new-session -d -x 110 -y 30 "env PS1='ready> ' bash --norc"
shows '^ready>' >/dev/null
keys "echo before; '$bpfprof' top -i 0.5 -F 999 -p $pid,$hostile --by comm" Enter
check "the table" shows '>self .*function  \[module\]$'
check "... with rows" shows ' split  *burn  \[split\]$'
check "a name that means harm" shows ' sp\?\[31m;x '
keys t
check "t: by total" shows '^ +self +>total '
keys o
check "o: by time off the CPU" shows ' >off ms/s '
keys '>'
check ">: the next column" shows ' >off total'
keys m
check "m: in ms" shows 'self ms/s'
keys m s
keys K
check "K: without the kernel" shows '; without kernel'
keys K z
check "z: the last interval" shows 'the last interval'
keys z / 'work_70'
check "/: asks" shows '^filter: work_70$'
keys Enter
check "... and leaves what matches" shows '; only /work_70/$'
check "... nothing else" eval '! seen | grep -q burn'
keys Enter
check "Enter: who calls it" shows '^callers of (split|sp.*) +work_70 '
check "... deal_deck" shows ' deal_deck  \['
keys Escape
check "Esc: back" shows '; only /work_70/$'
keys / C-u '(' Enter
check "no expression: it says why" shows '(Unmatched|parenthes)'
keys / C-u Enter
check "an empty one: all" shows ' burn  \['
keys f
check "f: frozen" shows '^FROZEN'
frozen()
{
	local before
	before=$(seen)
	sleep 1.5
	[ "$before" = "$(seen)" ] || { diff <(echo "$before") <(seen); return 1; }
}
check "... and it stays" frozen
keys f h
check "h: help" shows 'Enter +who calls the function'
keys x
check "any key: back" shows '>self '
pane resize-window -x 80 -y 20
check "a smaller terminal" eval 'shows "^h help" && [ "$(seen | wc -l)" -le 20 ]'
keys q
check "q: the terminal is as before" shows '^before$'
keys 'stty -a | grep -o " echo " | tr -d " "' Enter
check "... and echoes" shows '^echo$'

stop_loads
exit $status
