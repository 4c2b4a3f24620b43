#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The completion in bash, zsh and fish: each shell is asked, and offers every command, every option that --help has,
# the values of options, and files.
# beside others
set -u
. tests/e2e/cases.sh
bpfprof=$BUILD/bpfprof
commands=$("$bpfprof" help | sed -n '/^Commands$/,/^$/s/^  \([a-z]*\) .*/\1/p')
mkdir "$tmp/here" && cd "$tmp/here" || exit 1
touch 'app profile.pb.gz' other.folded

# The options of a command as its help has them, one spelling a line.
options_of()
{
	"$bpfprof" "$1" --help | sed -nE 's/^  (-.), (--[a-z-]+).*/\1\n\2/p; s/^      (--[a-z-]+).*/\1/p; s/^  (-[A-Za-z])( .*|)$/\1/p' | sort -u
}

# offered SHELL WORD...: what the shell offers for the last word of the line, one a line.
offered()
{
	local shell=$1
	shift
	"offered_$shell" "$@" 2>"$tmp/errors"
	cat "$tmp/errors" >&2
	[ ! -s "$tmp/errors" ]
}

offered_bash()
{
	bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bpfprof; printf "%s\n" "${COMPREPLY[@]}"' "$tmp/script.bash" "$@"
}

offered_fish()
{
	local line="$*"
	fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$tmp/script.fish" "$line" | cut -f1 | sed 's/^.*\///'
}

# What zsh's own completion makes of it is asked in a terminal; here, what it is given.
offered_zsh()
{
	zsh -f -c '
		_arguments() { print -rl -- "$@" }
		_describe() { print -rl -- ${(P)2} }
		_files() { print -rl -- * }
		_normal() { print -r -- "command line: $words" }
		script=$1; shift
		words=("$@") CURRENT=$#
		. $script' zsh "$tmp/script.zsh" "$@" |
		if [ $# = 2 ] && [ -z "$2" ]; then
			sed 's/:.*//'
		else
			sed -E "s/^(\([^)]*\)|\*)?(--?[a-zA-Z-]+)[+=]?-?\[.*/\2/"
		fi
}

# offers SHELL WANTED... -- WORD...: each WANTED is among them.
offers()
{
	local shell=$1 wanted=()
	shift
	while [ "$1" != -- ]; do
		wanted+=("$1")
		shift
	done
	shift
	offered "$shell" "$@" | sort -u >"$tmp/offered"
	[ "${PIPESTATUS[0]}" = 0 ] || return 1
	printf '%s\n' "${wanted[@]}" | sort -u | comm -23 - "$tmp/offered" >"$tmp/missing"
	cat "$tmp/offered"
	[ ${#wanted[@]} -gt 0 ] && [ ! -s "$tmp/missing" ] && return
	echo "not offered: $(cat "$tmp/missing")"
	return 1
}

for shell in bash zsh fish; do
	if ! have $shell; then
		skip "$shell" "it is not installed"
		continue
	fi
	"$bpfprof" help --completion $shell >"$tmp/script.$shell"
	holds "$shell: a valid script" $shell -n "$tmp/script.$shell"
	# shellcheck disable=SC2086 # one word for each
	holds "$shell: every command" offers $shell $commands help -- bpfprof ''
	for command in $commands help; do
		mapfile -t options < <(options_of "$command")
		holds "$shell: $command: its ${#options[@]} options" offers $shell "${options[@]/#-[a-zA-Z]/--help}" -- bpfprof "$command" --
		[ $shell = fish ] || holds "$shell: $command: the short ones" offers $shell "${options[@]}" -- bpfprof "$command" -
	done
	mapfile -t options < <(options_of record)
	holds "$shell: record's without its name" offers $shell "${options[@]/#-[a-zA-Z]/--help}" -- bpfprof --
done
for shell in bash fish; do
	have $shell || continue
	holds "$shell: files, with spaces in their names" offers $shell 'app profile.pb.gz' 'other.folded' -- bpfprof convert ''
	holds "$shell: files as values" offers $shell 'other.folded' -- bpfprof convert -o ''
	holds "$shell: a choice" offers $shell md json -- bpfprof report --format ''
	holds "$shell: commands to be explained" offers $shell record doctor -- bpfprof help ''
	holds "$shell: nothing for a number" [ -z "$(offered $shell bpfprof record -F '')" ]
done
if have fish; then
	holds "fish: the next of a list" offers fish comm,pid -- bpfprof record --by comm,
fi
if have zsh; then
	holds "zsh: COMMAND's own" offers zsh 'command line: gcc -O' -- bpfprof record -F 99 -- gcc -O

	mkdir -p "$tmp/functions" && cp "$tmp/script.zsh" "$tmp/functions/_bpfprof"
	cat >"$tmp/.zshrc" <<-END
		fpath=("$tmp/functions" \$fpath)
		autoload -U compinit && compinit -u -D
		cd "$tmp/here"
		write_line() { print -r -- "\$BUFFER|" >"$tmp/line" }
		zle -N write_line && bindkey '^X' write_line
		zle-line-init() { touch "$tmp/ready" }
		zle -N zle-line-init
	END

	# typed KEYS TEXT: of the keys and a tab, zsh in a terminal makes the line TEXT. Its ^X writes the line down.
	typed()
	{
		rm -f "$tmp/line" "$tmp/ready"
		# shellcheck disable=SC2016 # the inner shell's
		timeout 20 zsh -f -c '
			zmodload zsh/zpty
			zpty -b shell "TERM=vt100 ZDOTDIR=$1 zsh -d -i"
			wait_for() { while [[ ! -s $1 && ! -e $1 ]]; do zpty -r -t shell dropped; sleep 0.05; done }
			wait_for $1/ready
			zpty -w -n shell "bpfprof $2"
			zpty -w -n shell $'"'\\t'"'
			zpty -w -n shell $'"'\\C-x'"'
			wait_for $1/line
			zpty -d shell' zsh "$tmp" "$1"
		[ "$(cat "$tmp/line")" = "bpfprof $2|" ] && return
		cat -v "$tmp/line"
		return 1
	}
	holds "zsh, in a terminal: an option" typed 'record --dura' 'record --duration='
	holds "zsh, in a terminal: a command" typed 'symb' 'symbolize '
	holds "zsh, in a terminal: a choice" typed 'report --format j' 'report --format json '
	holds "zsh, in a terminal: a list" typed 'record --by cgr' 'record --by cgroup,'
	holds "zsh, in a terminal: an input" typed 'report oth' 'report other.folded '
fi
exit $status
