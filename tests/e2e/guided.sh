# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after live.sh, by the tests that build a Go program by its profile: tests/e2e/go_guided, whose Left, Right and
# Mix cost more than what is inlined without one. Of Left and Right one use of the program calls one.

export HOME=$TMPDIR PPROF_TMPDIR=$TMPDIR GOCACHE=$TMPDIR/cache GOENV=off GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0
unset GOROOT GOFLAGS
module=$TMPDIR/module
cp -r tests/e2e/go_guided "$module"

# find_go: one that builds by profiles, as $go. 1 when there is none, which is told.
find_go()
{
	local code
	# shellcheck disable=SC2154 # of cases.sh
	go=$("$top/tools/private-go" 2>"$log")
	code=$?
	case $code in
	0) : >"$log" && return ;;
	77) skip "go build -pgo" "$(tail -n 1 "$log")" ;;
	*) verdict $code "there is a Go that builds by profiles" ;;
	esac
	return 1
}

# built NAME [OPTION...]: the program as bin/NAME; what the compiler says of it into out/NAME.says.
built()
{
	(cd "$module" && GO111MODULE=on "$go" build -mod=mod "-gcflags=example.com/gopher/...=-m=2 -d=pgodebug=1" \
		-o "$TMPDIR/bin/$1" "${@:2}" .) >"$TMPDIR/out/$1.says" 2>&1 && return
	cat "$TMPDIR/out/$1.says"
	return 1
}

# says NAME REGEX
says()
{
	grep -E -- "$2" "$TMPDIR/out/$1.says" && return
	echo "'$2' is not what the compiler says:"
	grep -iE 'inlin|profile|pgo|hot' "$TMPDIR/out/$1.says"
	return 1
}

# calls NAME FUNCTION: are there calls of it in the loop of bin/NAME?
calls()
{
	"$go" tool objdump -s '^main\.spin$' "$TMPDIR/bin/$1" >"$TMPDIR/out/$1.code" || return
	grep -F 'CALL' "$TMPDIR/out/$1.code"
	grep -qF "CALL example.com/gopher/mix%2ev2.$2(SB)" "$TMPDIR/out/$1.code"
}

# called NAME FUNCTION: it costs too much, and is called.
called()
{
	says "$1" "mix\.go:[0-9:]+ cannot inline $2: function too complex: cost [0-9]+ exceeds budget 80\$" && calls "$1" "$2"
}

# inlined NAME FUNCTION: it is part of the loop.
inlined()
{
	says "$1" "mix\.go:[0-9:]+ can inline $2 with cost (8[1-9]|9[0-9]|[1-9][0-9]{2}) as: " &&
		says "$1" "main\.go:[0-9:]+ inlining call to mix\.$2\$" && ! calls "$1" "$2"
}

# direct NAME: the call through the interface is one of Squarer's Mix first, which is inlined.
direct()
{
	says "$1" 'main\.go:[0-9:]+ PGO devirtualizing interface call mixer\.Mix to mix\.\(\*Squarer\)\.Mix$' &&
		says "$1" 'main\.go:[0-9:]+ inlining call to mix\.\(\*Squarer\)\.Mix$'
}

# indirect NAME
indirect()
{
	says "$1" 'mix\.go:[0-9:]+ cannot inline \(\*Squarer\)\.Mix: ' && ! says "$1" 'inlining call to mix\.\(\*Squarer\)\.Mix'
}

# same_results NAME: bin/NAME and bin/plain say the same.
same_results()
{
	local side
	for side in left right; do
		diff <(plain $side 3) <("$1" $side 3) || return
	done
	[ -n "$(plain left 3)" ] && [ "$(plain left 3)" != "$(plain right 3)" ]
}

# built_by NAME FILE: bin/NAME says that a profile of that name was read.
built_by()
{
	"$go" version -m "$TMPDIR/bin/$1" >"$TMPDIR/out/$1.version"
	cat "$TMPDIR/out/$1.version"
	awk -v name="$2" '$1 == "build" && $2 ~ "^-pgo=" { n = split($2, part, "[=/]"); found = part[n] == name }
		END { exit !found }' "$TMPDIR/out/$1.version"
}

# in_profile PROFILE FUNCTION...: Go's pprof reads it, and these have samples.
in_profile()
{
	local function
	"$go" tool pprof -symbolize=none -top -nodefraction=0 "$1" >"$TMPDIR/out/top" || return
	cat "$TMPDIR/out/top"
	for function in "${@:2}"; do
		awk -v name="example.com/gopher/mix%2ev2.$function" '$6 == name { found = $1 > 0 } END { exit !found }' \
			"$TMPDIR/out/top" || return
	done
}

# check_plain: bin/plain is the program without a profile.
check_plain()
{
	local function
	check "it is built without a profile" built plain -pgo=off
	for function in Left Right; do
		check "... $function is called" called plain $function
	done
	check "... through the interface, too" indirect plain
}

# check_guided NAME WHAT PROFILE FUNCTION...: bin/NAME was built by PROFILE, in which the functions are hot.
check_guided()
{
	local name=$1 what=$2 profile=$3 function
	shift 3
	check "$what: pprof finds in it what was hot" in_profile "$profile" "$@" '(*Squarer).Mix'
	check "$what: the program says that it was built by it" built_by "$name" "${profile##*/}"
	for function in Left Right; do
		if [[ " $* " == *" $function "* ]]; then
			check "$what: $function, which was hot, is inlined" inlined "$name" $function
		else
			check "$what: $function, which was not, is called" called "$name" $function
		fi
	done
	check "$what: the interface's method, which was hot, is called directly, and inlined" direct "$name"
	check "$what: the program does the same" same_results "$name"
}
