#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpfprof report on a terminal: the real program in tmux, its keys pressed, its screen read.
# timeout: 240
# beside others, records nothing
set -u
. tests/e2e/cases.sh

export LC_ALL=C.UTF-8
unset NO_COLOR
bpfprof=$BUILD/bpfprof
folded=$tmp/app.folded

pane()
{
	tmux -u -S "$tmp/tmux" -f /dev/null "$@"
}

trap 'pane kill-server 2>/dev/null; rm -rf "$tmp"' EXIT

# What is on the screen, without spaces at the ends of lines and empty lines at its end.
seen()
{
	printf '%s\n' "$(pane capture-pane -p | sed 's/ *$//')"
}

# shows REGEX: until the screen has a line that matches; what it has is in the log.
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

# keys KEY...: as tmux send-keys
keys()
{
	pane send-keys "$@"
}

# run COMMAND: in the shell of the terminal, on an empty screen
run()
{
	keys -R
	keys "clear; $1" Enter
}

# selected: the text of the row that is shown in reverse, before the last line
selected()
{
	pane capture-pane -ep | sed '$d' | grep -E $'\033\\[([0-9;]*;)?7[;m]' | sed $'s/\033\\[[0-9;]*m//g; s/\016//g; s/\017//g; s/ *$//'
}

# on NAME: until the selected row is of NAME
on()
{
	for _ in $(seq 200); do
		[[ $(selected) == *" $1" ]] && return
		sleep 0.05
	done
	echo "selected: '$(selected)', not '$1'"
	seen
	return 1
}

# screen_is TEXT: the whole screen
screen_is()
{
	local got
	for _ in $(seq 100); do
		got=$(seen)
		[ "$got" = "$1" ] && return
		sleep 0.05
	done
	diff <(echo "$got") <(echo "$1")
}

equal()
{
	printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"
	[ "$1" = "$2" ]
}

printf '%s\n' 'web;main;parse;next_char 50' 'web;main;parse;eval 20' 'web;main;write 15' 'db;main;eval;eval 10' \
	'db;main;[fsync 5' >"$folded"

pane new-session -d -x 80 -y 16 "env PS1='prompt> ' HISTFILE= bash --norc --noprofile" || exit 1
pane set-option -g status off
pane resize-window -x 80 -y 16
holds "a shell in the terminal" shows '^prompt>'
run "stty -a >$tmp/stty.before; cd $tmp"
holds "its settings are noted" shows '^prompt>$'

# --- The table ---
run "echo before; $bpfprof report app.folded; echo status \$?"
holds "the table of functions" screen_is "bpfprof report  app.folded
samples (count)  total 100  100 samples
functions by self
   self%       self    total%      total  function
  50.00%         50    50.00%         50  next_char
  30.00%         30    30.00%         30  eval
  15.00%         15    15.00%         15  write
  ~5.00%          5    ~5.00%          5  [fsync
                      100.00%        100  main
                       70.00%         70  parse





h help  q quit  Enter callers  e callees  a annotate  t tree  s sort  / search"
holds "the first row is selected" on next_char
keys Down Down
holds "arrows move" on write
keys PageDown
holds "PgDn" on parse
keys Home
holds "Home" on next_char
keys s
holds "s: by total" shows '^functions by total$'
holds "the heaviest is first" on main
keys s
holds "s: by name" on '[fsync'
keys s
holds "s: by self again" on next_char

# --- The tree ---
keys t
holds "the tree" shows '^calls$'
keys Right
holds "unfolded as far as nothing branches off" screen_is "bpfprof report  app.folded
samples (count)  total 100  100 samples
calls
  total%      total    self%  function
  85.00%         85           - web
  85.00%         85             - main
  70.00%         70               + parse
  15.00%         15   15.00%        write
  15.00%         15           + db






h help  q quit  Esc back  Enter unfold  E all  a annotate  t table  / search"
keys E
holds "E unfolds all" shows '^  20.00%         20   20.00%          eval$'
keys C
holds "C folds all" shows '^  85.00%         85           \+ web$'
keys / EVAL Enter
holds "/ finds what is folded, in any case" on eval
holds "under what calls it" shows '^  70.00%         70               - parse$'
keys n
holds "n: the next" shows '^  10.00%         10               \+ eval$'
keys / '(' Enter
holds "no regular expression" shows '^not a regular expression: '
keys / nowhere Enter
holds "nothing is found" shows '^nothing found$'

# --- Callers, callees, zoom ---
keys t
holds "t: back to the table" on next_char
keys Down Enter
holds "callers, recursion counted once" shows '^callers of eval: 30.00%$'
keys E
holds "who calls it" screen_is "bpfprof report  app.folded
samples (count)  total 100  100 samples
callers of eval: 30.00%
  total%      total    self%  function
  30.00%         30           - eval
  20.00%         20             - parse
  20.00%         20               - main
  20.00%         20   20.00%          web
  10.00%         10             - main
  10.00%         10   10.00%        db





h help  q quit  Esc back  Enter unfold  E all  a annotate  t table  / search"
keys Escape
holds "Esc: back, where it was" on eval
keys End z
holds "z: below parse alone" shows '^functions by self from parse: 70.00%$'
keys u
holds "u: undone" on parse
keys e
holds "e: whom it calls" shows '^calls from parse: 70.00%$'
keys BSpace h
holds "h: the keys" shows '^  PgUp PgDn Space     one page$'
keys Escape
holds "Esc leaves them" on parse
keys a
holds "a: what cannot be annotated says why" shows '^the profile does not say in which file the code is$'
keys s
holds "s: neither has it a source" shows '^no source file is known: the profile has no lines of it$'
keys Left
holds "Left: back" on parse

# --- Sizes, and the end ---
pane resize-window -x 46 -y 9
holds "a small terminal" screen_is "bpfprof report  app.folded
samples (count)  total 100  100 samples
functions by self
   self%       self    total%      total  fun…
  15.00%         15    15.00%         15  wri…
  ~5.00%          5    ~5.00%          5  [fs…
                      100.00%        100  main
                       70.00%         70  par…
h help  q quit  Enter callers  e callees  a a…"
pane resize-window -x 5 -y 2
holds "a tiny one" shows '^bpfp…$'
pane resize-window -x 80 -y 16
holds "and back" shows '^  50.00%         50    50.00%         50  next_char$'
keys q
holds "q quits" shows '^status 0$'
holds "what was on the screen before is there again" shows '^before$'

# as_before COMMAND...: the terminal's settings after the program has ended
as_before()
{
	run "stty -a >$tmp/stty.after; echo noted"
	shows '^noted$' && diff "$tmp/stty.before" "$tmp/stty.after"
}

holds "the terminal is as before" as_before
run "$bpfprof report app.folded; echo status \$?"
shows '^functions by self$' >/dev/null
keys C-c
holds "Ctrl-C ends it" shows '^status '
holds "and leaves the terminal as before" as_before
run "$bpfprof report app.folded & echo \$! >$tmp/pid; fg; echo status \$?"
shows '^functions by self$' >/dev/null
kill "$(cat "$tmp/pid")"
holds "SIGTERM ends it" shows '^status '
holds "the terminal is as before that" as_before
run "$bpfprof report app.folded"
shows '^functions by self$' >/dev/null
keys C-z
holds "Ctrl-Z gives the shell" shows '^\[1\]\+  Stopped'
keys fg Enter
holds "and fg the view" on next_char
keys q

# --- Text ---
"$bpfprof" report app.folded >"$tmp/text" 2>/dev/null || (cd "$tmp" && "$bpfprof" report app.folded >"$tmp/text")
text_is()
{
	run "$1 >/dev/null; $1 | cmp - $tmp/text && echo same"
	shows '^same$'
}
# On the terminal itself, by its screen.
shown_as_text()
{
	run "$1"
	shows '^prompt>$' && shows '^ +self +total  function$' && ! seen | grep -q '^h help'
}
holds "a pipe gets text" text_is "$bpfprof report app.folded"
holds "a table of two columns and a head" grep -qE '^ +self +total  function$' "$tmp/text"
holds "--stdio is text" shown_as_text "$bpfprof report --stdio app.folded"
holds "--limit is text" shown_as_text "$bpfprof report --limit 3 app.folded"
holds "TERM=dumb is text" shown_as_text "TERM=dumb $bpfprof report app.folded"
holds "an unknown terminal is text" shown_as_text "TERM=no-such-terminal $bpfprof report app.folded"
holds "standard input from elsewhere is text" shown_as_text "$bpfprof report app.folded </dev/null"
run "NO_COLOR=1 $bpfprof report app.folded"
shows '^functions by self$' >/dev/null
colours()
{
	pane capture-pane -ep | grep -cE $'\033\\[([0-9;]*;)?3[0-7][;m]'
}
holds "NO_COLOR" equal "$(colours)" 0
keys q
run "TERM=screen $bpfprof report app.folded"
shows '^functions by self$' >/dev/null
holds "colours otherwise" test "$(colours)" -gt 0
keys q

# --- Names that mean harm ---
{
	yes 'app;plain 1' | head -n 1000 # as text that is no pprof
	printf 'app;a\033kowned\033\\b 3\n' # names the window
	printf 'app;c\033[2Jd\033[31m 2\n' # clears the screen
	printf 'app;e\xc2\x9b2Jf 2\n' # the same with one C1 character
	printf 'app;g\xe2\x80\xaeh 1\n' # written from right to left
	printf 'app;i\xff\xfej 1\n'
	printf 'app;%s 1\n' "$(head -c 5000 /dev/zero | tr '\0' x)"
} >"$tmp/hostile.folded"
pane pipe-pane "cat >$tmp/raw"
run "$bpfprof report hostile.folded"
holds "names that mean harm are shown" shows '  a\?kowned\?.b$'
holds "none of them acts" shows '  c\?\[2Jd\?\[31m$'
holds "C1 controls are none" shows '  e\?2Jf$'
holds "nor is the direction of writing" shows '  g\?h$'
holds "bytes that are no text" shows '  i\?\?j$'
holds "a long one is cut" shows ' x+…$'
keys q
holds "the view is left" shows '^prompt>$'
pane pipe-pane
holds "none has reached the terminal" equal "$(grep -caE $'\033(k|\\[2J.*d|\\[31md)|\xc2\x9b|\xe2\x80\xae' "$tmp/raw"
	grep -ca 'kowned' "$tmp/raw")" "$(printf '0\n1')"

# --- Annotated code ---
cat >"$tmp/spin.c" <<'END'
#include <time.h>

volatile unsigned long sink;

__attribute__((noinline)) void hot(unsigned long rounds)
{
	for (unsigned long i = 1; i < rounds; i++)
		sink = sink / i + rounds; /* divides */
}

int main(void)
{
	time_t end = time(0) + 3;

	while (time(0) < end)
		hot(100000);
	return 0;
}
END
build_spin()
{
	(cd "$tmp" && ${CC:-cc} -g -O1 -Wl,--build-id "$@" -o spin spin.c)
}
holds "a program" build_spin
holds "is recorded" "$bpfprof" -q --force -e cpu-clock -F 199 -o "$tmp/spin.pb.gz" -- "$tmp/spin"

# self_of FUNCTION: its samples
self_of()
{
	"$bpfprof" report --sort symbol --format json --value samples "$tmp/spin.pb.gz" |
		python3 -c 'import json, sys; print(sum(r["self"] for r in json.load(sys.stdin)["rows"] if r["symbol"] == sys.argv[1]))' "$1"
}

# column_sum: of the self column of what is shown
column_sum()
{
	seen | sed 1,4d | awk '$1 ~ /%$/ { sum += $2 } END { print sum + 0 }'
}

pane resize-window -x 100 -y 30
run "$bpfprof report --value samples spin.pb.gz"
shows '^functions by self$' >/dev/null
keys / '^hot ' Enter
holds "the function is found" on 'hot  [spin]'
keys a
holds "its source lines" shows '^source lines of hot  \[spin\]: [0-9.]+%$'
holds "the hottest is selected" on '/* divides */'
holds "the source is shown" shows ' 5  __attribute__\(\(noinline\)\) void hot\(unsigned long rounds\)$'
holds "the lines have the samples of the function" equal "$(column_sum)" "$(self_of hot)"
keys s
holds "its instructions" shows '^instructions of hot  \[spin\]: [0-9.]+%$'
# Addresses and lengths against another disassembler.
addresses()
{
	seen | sed 1,4d | sed '$d' | grep -oE ' [0-9a-f]+  [a-z]+' | awk '{ print $1 }'
}
holds "are those of objdump" equal "$(addresses)" \
	"$(objdump -d --no-show-raw-insn --disassemble=hot "$tmp/spin" | sed -n 's/^ *\([0-9a-f]*\):.*/\1/p')"
holds "have the samples of the function" equal "$(column_sum)" "$(self_of hot)"
holds "the hottest is beside the division" test -n "$(seen | grep -A 3 -B 3 -E ' div' | grep -F -- "$(selected)")"
keys / ' div' Enter
holds "/ finds in the text" shows ' div'
keys q
rm "$tmp/spin.c.bak" 2>/dev/null
sed -i.bak 's/+ rounds/- rounds/' "$tmp/spin.c"
holds "another build" build_spin
rm "$tmp/spin.c"
run "$bpfprof report --value samples spin.pb.gz"
shows '^functions by self$' >/dev/null
keys / '^hot ' Enter a
holds "a source that is gone" shows 'spin\.c: No such file or directory$'
holds "its lines all the same" shows '% +8$'
keys s
holds "code of another build is not shown" shows '/spin has another build-id than what was profiled$'
keys q
exit $status
