#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A user who is not root, and a binary with file capabilities: with those of the main job it works; each one that is
# taken away is named, with what it was for.
# timeout: 240
# beside others
set -u
. tests/e2e/live.sh

if [ "$(id -u)" != 0 ]; then
	skip "privileges" "no root to give capabilities away"
	exit 0
fi
out=$TMPDIR/out
theirs=$TMPDIR/theirs
main_job=cap_bpf,cap_perfmon
all=$main_job,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_syslog
chmod 755 "$out"
mkdir "$theirs"
chown 65534:65534 "$theirs"
cp "$bpfprof" "$TMPDIR/bin/bpfprof-caps"
# Without frame pointers: who may not read the file has no stacks of it either.
compile spin split.c -fomit-frame-pointer
cp "$TMPDIR/bin/spin" "$TMPDIR/bin/private"
chmod 700 "$TMPDIR/bin/private"

# with CAPABILITIES ARG...: bpfprof as nobody, its words in $out/err.
with()
{
	setcap "$1+ep" "$TMPDIR/bin/bpfprof-caps" || return 125
	shift
	(cd "$theirs" && timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$TMPDIR/bin/bpfprof-caps" "$@") >"$out/stdout" 2>"$out/err" </dev/null
}

# recorded CAPABILITIES NAME PROGRAM: PROGRAM, which is root's, for a second, into $theirs/NAME.folded.
recorded()
{
	local pid status
	"$TMPDIR/bin/$3" 30 >/dev/null &
	pid=$!
	with "$1" -p $pid -d 1 --force -v -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	grep -v 'libbpf' "$out/err"
	return $status
}

# stat_of NAME KEY...: a number of its --stats, 0 where it is not there
stat_of()
{
	python3 - "$theirs/$1.json" "${@:2}" <<-'END'
		import json, sys
		node = json.load(open(sys.argv[1]))
		for key in sys.argv[2:]:
		    node = node.get(key, 0) if isinstance(node, dict) else 0
		print(node)
	END
}

# complete NAME: so are nearly all of its stacks, and there are some. How many come depends on who else wants the CPU.
complete()
{
	local complete recorded
	complete=$(stat_of "$1" stacks complete)
	recorded=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["events"][0]["recorded"])' "$theirs/$1.json")
	is "$complete >= 20 && $complete >= 0.9 * $recorded"
}

told()
{
	cat "$out/err"
	grep -qE -- "$1" "$out/err"
}

check "the main job's two capabilities: exit status 0" recorded $main_job main spin
check "the functions have their names" grep -qE '^(spin;)?_start;.*main;.*work_70;burn [0-9]+$' "$theirs/main.folded"
check "stacks are complete" complete main
check "and named" is "$(stat_of main frames unnamed not_permitted) == 0"
check "nothing is lost" told '= [0-9]+ recorded \+ [0-9]+ filtered \+ 0 lost; balanced$'

for cap in bpf perfmon; do
	rest=${main_job/cap_$cap/}
	with "${rest//,/}" -a -d 1 -o x.folded
	code=$?
	check "without CAP_${cap^^}: status 1" is "$code == 1"
	check "names it" told "^bpfprof: .*: not permitted without CAP_${cap^^}: run as root, or give the binary CAP_BPF and CAP_PERFMON$"
	check "in one line, and without a file" is "$(wc -l <"$out/err") == 1 && $(find "$theirs" -name 'x*' | wc -l) == 0"
	with "${rest//,/}" doctor
	code=$?
	check "doctor: status 1, with the capability's name" is "$code == 1 && $(grep -c "^FAIL *CAP_${cap^^} " "$out/stdout") == 1"
done

check "a program that only root may read" recorded $all readable private
check "has complete stacks" complete readable
check "and is named" is "$(stat_of readable frames unnamed not_permitted) == 0"
check "no word about it" is "$(grep -c 'not permitted' "$out/err") == 0"
check "without CAP_DAC_READ_SEARCH it is recorded" recorded "${all/,cap_dac_read_search/}" unreadable private
check "has no names, and that is why" is "$(stat_of unreadable frames unnamed not_permitted) >= 1"
check "which is told with the capability that would do" told '^bpfprof: warning: [0-9]+ frames have no names: .*not permitted without CAP_DAC_READ_SEARCH: '
check "and with the file" told 'bin/private: not permitted to read it'

# In a root of its own, where it has been deleted: its process is the way to it.
deleted()
{
	local status pid
	cp "$TMPDIR/bin/spin" "$TMPDIR/bin/doomed"
	"$TMPDIR/bin/doomed" 30 >/dev/null &
	pid=$!
	while [ "$(readlink /proc/$pid/exe)" != "$TMPDIR/bin/doomed" ]; do sleep 0.05; done
	rm "$TMPDIR/bin/doomed"
	with "$1" -p $pid -d 1 --force -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	cat "$out/err"
	return $status
}
check "a program that was deleted" deleted $all deleted
check "is named by its process" is "$(stat_of deleted frames unnamed not_permitted) == 0"
check "has complete stacks" complete deleted
check "without CAP_SYS_PTRACE it is recorded" deleted "${all/,cap_sys_ptrace/}" gone
check "told with the capability that would do" told '^bpfprof: warning: [0-9]+ frames have no names: .*not permitted without CAP_SYS_PTRACE: '

# A library that was deleted while it is in use: only /proc/PID/map_files leads to it.
busy deleted_work -DLIBRARY -fPIC -shared -fomit-frame-pointer -Wl,-soname,"$TMPDIR/bin/library.so"
mv "$TMPDIR/bin/deleted_work" "$TMPDIR/bin/library.kept"
cp "$TMPDIR/bin/library.kept" "$TMPDIR/bin/library.so"
compile user busy.c -DBUSY=deleted_work -DCALLS -Wl,--no-as-needed "$TMPDIR/bin/library.so"
library()
{
	local status pid
	cp "$TMPDIR/bin/library.kept" "$TMPDIR/bin/library.so"
	"$TMPDIR/bin/user" 30 >/dev/null &
	pid=$!
	while ! grep -q library.so /proc/$pid/maps; do sleep 0.05; done
	rm "$TMPDIR/bin/library.so"
	with "$1" -p $pid -d 1 --force -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	cat "$out/err"
	return $status
}
check "a library that was deleted" library $all library
check "is named" grep -q ';deleted_work' "$theirs/library.folded"
check "without CAP_CHECKPOINT_RESTORE it is recorded" library "${all/,cap_checkpoint_restore/}" no_library
check "has no names" grep -q 'library.so+0x' "$theirs/no_library.folded"
check "told with the capability that would do" told '^bpfprof: warning: [0-9]+ frames have no names: .*not permitted without CAP_CHECKPOINT_RESTORE: '

# Kernel symbols, where sysctls do not show them to everybody.
spinning()
{
	local status pid
	dd if=/dev/zero of=/dev/null bs=1M 2>/dev/null &
	pid=$!
	with "$1" -p $pid -d 1 --force -F 199 -o "$2.folded" --stats "$2.json"
	status=$?
	kill $pid
	wait $pid 2>>"$log"
	cat "$out/err"
	return $status
}
check "what the kernel does" spinning $all kernel
if [ "$(cat /proc/sys/kernel/kptr_restrict)" = 2 ]; then
	skip "kernel symbols" "kernel.kptr_restrict is 2: nobody sees them"
else
	check "has names" grep -q ';do_syscall_64;' "$theirs/kernel.folded"
	if setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all grep -q ' do_syscall_64$' /proc/kallsyms &&
		! setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all grep -q '^00000000.* do_syscall_64$' /proc/kallsyms; then
		skip "without CAP_SYSLOG" "everybody sees kernel addresses here"
	else
		check "without CAP_SYSLOG it is recorded" spinning "${all/,cap_syslog/}" hidden
		check "has none" is "$(grep -c ';do_syscall_64;' "$theirs/hidden.folded") == 0 && $(stat_of hidden frames unnamed kptr_restrict) >= 1"
		check "told with the capability that would do" told '^bpfprof: warning: kernel symbols are hidden: not permitted without CAP_SYSLOG: '
		with "${all/,cap_syslog/}" doctor
		check "doctor: too" grep -qE '^no +kernel symbols .* are hidden$' "$out/stdout"
	fi
fi

# The kernel's own count of runs, which is on for everybody while anybody has it on.
with $all doctor
check "without CAP_SYS_ADMIN doctor says what is not checked" grep -A 1 -E '^no +BPF run statistics ' "$out/stdout"
with $all,cap_sys_admin doctor
check "with it nothing is amiss" grep -E '^ok +BPF run statistics ' "$out/stdout"
check "and it records" recorded "$all,cap_sys_admin" admin spin

# --- The capabilities of the binary are not its caller's ---

# What a caller could lead it by, each of which would leave a mark.
cat >"$TMPDIR/mark.c" <<-END
	#include <fcntl.h>
	__attribute__((constructor)) static void mark(void) { open("$theirs/mark", O_CREAT | O_WRONLY, 0600); }
	char *__cxa_demangle(const char *name, char *buf, unsigned long *len, int *status) { *status = -1; return 0; }
END
mkdir "$theirs/evil"
gcc -shared -fPIC -o "$theirs/evil/libstdc++.so.6" "$TMPDIR/mark.c"
cp "$theirs/evil/libstdc++.so.6" "$theirs/evil/libdebuginfod.so.1"
chmod -R a+rX "$theirs/evil"
: >"$theirs/asked"
chown 65534 "$theirs/asked"
compile cxx names.cpp
hostile_environment()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env LD_PRELOAD="$theirs/evil/libstdc++.so.6" LD_LIBRARY_PATH="$theirs/evil" LD_AUDIT="$theirs/evil/libstdc++.so.6" \
		XDG_CACHE_HOME="$theirs/cache" HOME="$theirs/home" DEBUGINFOD_URLS="file://$theirs/asked http://127.0.0.1:1" \
		DEBUGINFOD_CACHE_PATH="$theirs/debuginfod" TERMINFO="$theirs/evil" LOCPATH="$theirs/evil" GCONV_PATH="$theirs/evil" \
		TMPDIR="$theirs/tmp" SUDO_UID=0 SUDO_GID=0 "$TMPDIR/bin/bpfprof-caps" "$@"
}
# The mark works: without capabilities the environment is the caller's business.
setcap -r "$TMPDIR/bin/bpfprof-caps"
(cd "$theirs" && hostile_environment --version) >>"$log" 2>&1
check "a program without capabilities is led by its caller" test -e "$theirs/mark"
rm -f "$theirs/mark"
setcap $all+ep "$TMPDIR/bin/bpfprof-caps"
"$TMPDIR/bin/cxx" 30 >/dev/null 2>&1 &
pid=$!
(cd "$theirs" && hostile_environment -a -d 1 --force -o env.folded) >"$out/err" 2>&1 </dev/null
verdict $? "one with capabilities records"
kill $pid 2>>"$log"
wait $pid 2>>"$log"
check "no library of the caller's is loaded" test ! -e "$theirs/mark"
check "nothing is kept in a folder of the caller's" test ! -e "$theirs/cache" -a ! -e "$theirs/home" -a ! -e "$theirs/debuginfod"
check "no server is asked" is "$(grep -ci debuginfod "$out/err") == 0"
check "the files are the caller's, whatever it says of sudo" [ "$(stat -c %u:%g "$theirs/env.folded")" = 65534:65534 ]

# What the caller may not read or write, it does not for the caller.
mkdir "$out/private"
printf 'the secret\n' >"$out/private/secret.c"
chmod 700 "$out/private"
cat >"$TMPDIR/deputy.c" <<-END
	#line 1 "$out/private/secret.c"
	int main(void) { for (volatile long i = 0;; i++) ; }
END
gcc -g -O1 -fno-omit-frame-pointer -o "$TMPDIR/bin/deputy" "$TMPDIR/deputy.c"
"$TMPDIR/bin/deputy" &
pid=$!
"$bpfprof" -q -p $pid -d 1 --embed-source --force -o "$out/root.html"
check "root's report has the source" grep -q 'the secret' "$out/root.html"
with $all -p $pid -d 1 --embed-source --force -o deputy.html
check "the caller's has not" is "$(grep -c 'the secret' "$theirs/deputy.html") == 0"
check "and says so" told '^bpfprof: warning: --embed-source: .*secret.c: Permission denied'
mkdir "$out/private/open"
chmod 777 "$out/private/open"
with $all -p $pid -d 100ms --force -o "$out/private/open/x.folded"
code=$?
kill $pid
wait $pid 2>>"$log"
check "a folder that it does not reach is not written to" is "$code == 1"
check "and that is why" told '^bpfprof: .*private/open/x.folded.*Permission denied'

cp "$theirs/main.folded" "$out/secret.folded"
chmod 600 "$out/secret.folded"
check "root reads its file" "$bpfprof" report "$out/secret.folded"
for command in "report" "convert -o y.svg" "symbolize -o y.pb.gz"; do
	# shellcheck disable=SC2086 # words
	with $all $command "$out/secret.folded"
	code=$?
	check "${command%% *} gives others' files to nobody" is "$code == 1"
	check "and says so" told "^bpfprof: input '.*secret.folded': Permission denied$"
done
with $all diff "$theirs/main.folded" "$out/secret.folded"
code=$?
check "nor does diff" is "$code == 1"

exit $status
