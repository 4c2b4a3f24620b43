#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the machine refuses: no root, no BTF, a read-only or a full disk. One clear line, the right exit status, nothing
# half written, and nothing lost that was already recorded. (Wrong use is in test_cli_errors.sh.)
# beside others
set -u
. tests/e2e/live.sh
compile split split.c
out=$TMPDIR/out
chmod 755 "$TMPDIR/out"

# one_line PATTERN FILE: the whole message
one_line()
{
	cat "$2"
	[ "$(wc -l <"$2")" = 1 ] && grep -q '^bpfprof: ' "$2" && grep -qE -- "$1" "$2"
}

if [ "$(id -u)" != 0 ]; then
	skip "bad input" "no root to take rights away from"
	exit 0
fi

# --- Without root ---
mkdir "$out/theirs"
chown 65534 "$out/theirs"
(cd "$out/theirs" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$bpfprof" -a -d 1 -o x.svg) \
	2>"$out/err" </dev/null
code=$?
check "no root: status 1" is "$code == 1"
check "no root: one line that says how to mend it" one_line 'root|CAP_' "$out/err"
check "no root: no file" is "$(find "$out/theirs" -type f | wc -l) == 0"
(cd "$out/theirs" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$bpfprof" doctor) \
	>"$out/doctor" 2>&1 </dev/null
code=$?
cat "$out/doctor" >>"$log"
check "no root: doctor says so, status 1" is "$code == 1 && $(grep -ciE 'root|CAP_' "$out/doctor") >= 1"

# --- Without BTF ---
# isolated SCRIPT ARG...: in a mount name space of its own
isolated()
{
	local script=$1
	shift
	unshare -m sh -c "$script" sh "$@" 2>"$out/err" </dev/null
}
if ! unshare -m true 2>>"$log"; then
	skip "no BTF, read-only and full disks" "no mount name space here"
	exit $status
fi
isolated 'mount -t tmpfs none /sys/kernel/btf && exec "$1" -a -d 1 -o "$2/no_btf.svg"' "$bpfprof" "$out"
code=$?
check "no BTF: status 1" is "$code == 1"
check "no BTF: one line that names it" one_line 'BTF' "$out/err"
check "no BTF: no file" is "$(find "$out" -name 'no_btf*' -o -name '.no_btf*' | wc -l) == 0"

# --- An output that cannot be written is refused before anything is recorded ---
mkdir "$out/disk"
seconds_before=$SECONDS
isolated 'mount -t tmpfs -o ro none "$2" && exec "$1" -a -d 20 -o "$2/x.svg" -o "$3/other.folded"' \
	"$bpfprof" "$out/disk" "$out"
code=$?
check "read-only file system: status 1, at once" is "$code == 1 && $((SECONDS - seconds_before)) < 15"
check "read-only file system: one line that names the file" one_line "disk/x.svg.*Read-only" "$out/err"
check "read-only file system: no other file either" is "$(find "$out" -name '*other*' | wc -l) == 0"

# --- A disk that fills up ---
load split 60
isolated 'mount -t tmpfs -o size=4k none "$2" && "$1" -q -a -F 999 -d 1 -o "$2/x.svg" -o "$3/kept.pb.gz" --stats "$3/kept.json"
	code=$?; ls -A "$2" >"$3/left"; exit $code' "$bpfprof" "$out/disk" "$out"
code=$?
check "full disk: status 1" is "$code == 1"
check "full disk: one line that names the file" one_line "disk/x.svg.*No space" "$out/err"
check "full disk: nothing half written" is "$(wc -l <"$out/left") == 0"
"$bpfprof" convert "$out/kept.pb.gz" -o - >"$out/kept.folded" 2>>"$log"
check "full disk: the other output and the ledger are complete" balanced kept 500

isolated 'mount -t tmpfs -o size=4k none "$2" && "$1" -q -a -F 999 -d 1 -o "$2/x.svg" -- sh -c "split 0.2; exit 7"' \
	"$bpfprof" "$out/disk"
code=$?
check "full disk, with COMMAND: status 125" is "$code == 125"

# --- The reader of stdout goes away ---
"$bpfprof" -q -a -F 999 -d 1 -f -o "$out/beside.folded" --stats "$out/beside.json" 2>>"$log" | head -n 1 >/dev/null
check "a reader that stops early costs no other output" balanced beside 500

# --- An event that is not there ---
"$bpfprof" -a -d 1 -e instructions -o "$out/pmu.svg" 2>"$out/err" </dev/null
code=$?
if [ $code = 0 ]; then
	skip "an event that this machine does not have" "it has instructions"
else
	check "an event that this machine does not have: status 1 or 2, one line" \
		one_line "instructions" "$out/err"
	check "... and no file" is "$code <= 2 && $(find "$out" -name 'pmu*' | wc -l) == 0"
fi

# --- A frequency beyond the kernel's limit ---
limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
"$bpfprof" -a -d 1 -F $((limit + 1)) -o "$out/fast.svg" 2>"$out/err" </dev/null
code=$?
check "-F beyond the kernel's limit: status 2" is "$code == 2"
check "... one line with the limit" one_line "$limit" "$out/err"

# --- SIGKILL leaves nothing in the kernel and no file ---
"$bpfprof" -q -a -d 60 -o "$out/killed.svg" 2>>"$log" &
victim=$!
bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool)
programs()
{
	"$bpftool" prog show | grep -c 'name bp_oncpu'
}
sleep 1
with=$(programs)
kill -KILL $victim
wait $victim 2>/dev/null
for _ in $(seq 50); do
	[ "$(programs)" -ge "$with" ] || break
	sleep 0.1
done
check "SIGKILL: its program is gone from the kernel" is "$with >= 1 && $(programs) < $with"
check "SIGKILL: no file" is "$(find "$out" -name '*killed*' | wc -l) == 0"
exit $status
