#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --open: what xdg-open is called with, as whom, and that nobody waits for it. A fake one writes all of that down.
# beside others
set -u
. tests/e2e/live.sh
bin=$TMPDIR/bin seen=$TMPDIR/seen
mkdir "$seen"
chmod 777 "$seen"
cat >"$bin/xdg-open" <<END
#!/bin/sh
{
	printf '%s\n' "\$@" >"$seen/arguments"
	id -u >"$seen/uid"
	id -G >"$seen/groups"
	env >"$seen/env"
	readlink /proc/self/fd/0 >"$seen/stdin"
	ps -o sid= \$\$ | tr -d ' ' >"$seen/session"
	echo \$\$ >"$seen/pid"
} 2>"$seen/errors"
echo 'noise of the browser'
mv "$seen/pid" "$seen/done"
while [ ! -e "$seen/end" ]; do sleep 0.1; done
END
chmod 755 "$bin/xdg-open"
printf 'main;work 3\n' >"$TMPDIR/a.folded"
printf 'main;work 5\n' >"$TMPDIR/b.folded"
chmod 644 "$TMPDIR"/*.folded
cd "$TMPDIR/out" || exit 1

# opens FILE VARIABLE=VALUE... ARG...: bpfprof ends though the browser has not, which was given FILE alone.
opens()
{
	local file=$1 pid
	shift
	rm -f "$seen"/*
	timeout 20 env "$@" </dev/null >"$TMPDIR/said" 2>&1 || return 1
	cat "$TMPDIR/said"
	for _ in $(seq 100); do
		[ ! -e "$seen/done" ] || break
		sleep 0.1
	done
	pid=$(cat "$seen/done") && kill -0 "$pid" || return 1
	touch "$seen/end"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
	head "$seen"/*
	[ "$(cat "$seen/arguments")" = "$file" ] && [ "$(cat "$seen/stdin")" = /dev/null ] && [ "$(cat "$seen/session")" = "$pid" ] &&
		! grep -q noise "$TMPDIR/said"
}

opens_nothing()
{
	rm -f "$seen"/*
	timeout 20 "$@" </dev/null >"$TMPDIR/said" 2>&1
	[ $? = "${wanted:-0}" ] && [ ! -e "$seen/arguments" ] && cat "$TMPDIR/said"
}

check "convert: the .html, not what came first" \
	opens "$PWD/c.html" "$bpfprof" convert "$TMPDIR/a.folded" -o c.pb.gz -o c.html -o c.svg --open
check "a name that is no option, with what a shell would take" \
	opens "$PWD/-x; \$(id) &.svg" "$bpfprof" convert "$TMPDIR/a.folded" '--output=-x; $(id) &.svg' --open
check "diff: the .svg" opens "$PWD/d.svg" "$bpfprof" diff "$TMPDIR/a.folded" "$TMPDIR/b.folded" -o d.md -o d.svg --open
check "without --open nothing is opened" opens_nothing "$bpfprof" convert "$TMPDIR/a.folded" -o e.html
check "nothing to show: one line says so" opens_nothing "$bpfprof" convert "$TMPDIR/a.folded" -o f.pb.gz --open
grep -q 'neither .html nor .svg was written' "$TMPDIR/said"
verdict $? "... that"
wanted=1 check "an output that fails is not opened" opens_nothing "$bpfprof" convert "$TMPDIR/a.folded" -o c.html --open

mkdir "$TMPDIR/none"
check "no xdg-open: the exit status is 0" opens_nothing env PATH="$TMPDIR/none" "$bpfprof" convert "$TMPDIR/a.folded" -o g.html --open
[ "$(grep -c . "$TMPDIR/said")" = 1 ] &&
	grep -qxF "bpfprof: warning: --open: there is no xdg-open (package xdg-utils): open 'g.html' yourself" "$TMPDIR/said"
verdict $? "... one line names it and the file"

if [ "$(id -u)" = 0 ]; then
	nobody=$(id -u nobody) nogroup=$(id -g nobody)
	as_sudo=(env -i PATH="$PATH" DISPLAY=:7 HOME=/root USER=root LOGNAME=root XDG_RUNTIME_DIR=/run/user/0 SUDO_UID="$nobody" SUDO_GID="$nogroup" "$bpfprof")
	check "through sudo" opens "$PWD/s.svg" "${as_sudo[@]}" convert "$TMPDIR/a.folded" -o s.svg --open
	check "... as that user" is "$(cat "$seen/uid") == $nobody"
	check "... with no group of root's" bash -c '! tr " " "\n" <"$1" | grep -qx 0' sh "$seen/groups"
	for variable in DISPLAY=:7 USER=nobody LOGNAME=nobody "HOME=$(getent passwd nobody | cut -d: -f6)"; do
		check "... with $variable" grep -qx -- "$variable" "$seen/env"
	done
	check "... nothing of root's, nothing twice" \
		bash -c '! grep -E "=/root|=root|/run/user/0$" "$1" && [ "$(cut -d= -f1 "$1" | sort | uniq -d)" = "" ]' sh "$seen/env"
	check "a user without an entry" opens "$PWD/n.svg" env -i PATH="$PATH" SUDO_UID=4242424 SUDO_GID=4242425 "$bpfprof" convert "$TMPDIR/a.folded" -o n.svg --open
	check "... as that" is "$(cat "$seen/uid") == 4242424"
	# Recording, where it works.
	if "$bpfprof" -q -d 100ms -f >/dev/null 2>&1; then
		compile split split.c
		check "record, with COMMAND" opens "$PWD/r.html" "${as_sudo[@]}" -o r.folded -o r.html --open -- split 0.2
		check "... as that user" is "$(cat "$seen/uid") == $nobody"
	else
		skip "record --open" "recording does not work here"
	fi
fi
exit $status
