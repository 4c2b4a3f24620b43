#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a kernel, a security module or a container may refuse: each is told from the others, in the error and by doctor,
# with what to do. Settings are files of ours, laid over the kernel's in a mount namespace.
# beside others
set -u
. tests/e2e/live.sh

out=$TMPDIR/out
if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>>"$log"; then
	skip "refusals" "no namespaces to be had here"
	exit 0
fi
if ! "$bpfprof" -q -d 100ms -f >/dev/null 2>&1; then
	skip "refusals" "recording does not work here"
	exit 0
fi
if ! gcc -O2 -o "$TMPDIR/bin/deny" "$workloads/deny.c" -lseccomp >>"$log" 2>&1; then
	verdict 1 "deny compiles"
	exit 1
fi
fake=$TMPDIR/fake
mkdir "$fake"
export bpfprof out fake

# under SCRIPT: in a mount namespace; what it says into $out/said
under()
{
	unshare --mount bash -c "over() { mount --bind \"\$fake/\$1\" \"\$2\"; }; $1" >"$out/said" 2>&1 </dev/null
	local code=$?
	cat "$out/said" >>"$log"
	return $code
}

# one_line REGEX: all that was said
one_line()
{
	cat "$out/said"
	[ "$(wc -l <"$out/said")" = 1 ] && grep -qE -- "$1" "$out/said"
}

# row REGEX [FIX]: doctor's row, and the fix below
row()
{
	grep -A 1 -E -- "$1" "$out/said" | tee "$out/row"
	grep -qE -- "$1" "$out/row" && { [ -z "${2:-}" ] || grep -qE "^ +fix: .*$2" "$out/row"; }
}

# --- Who says no, where no capability is missing ---

mkdir "$fake/security"
echo 'capability,landlock,selinux' >"$fake/security/lsm"
echo '[none] integrity confidentiality' >"$fake/security/lockdown"
for call in bpf perf_event_open; do
	under "over security /sys/kernel/security; deny $call=EACCES -- \$bpfprof -d 1 -f"
	code=$?
	check "$call is refused by a security module: status 1" is "$code == 1"
	check "... one line names those that are active" one_line \
		'^bpfprof: .*: not permitted, though no capability is missing: a security module \(.*; active here: capability,landlock,selinux\) must allow it: its denial is in the audit log'
	under "over security /sys/kernel/security; deny $call=EACCES -- \$bpfprof doctor"
	code=$?
	check "... doctor: status 1" is "$code == 1"
	check "... and the same" row '^FAIL +(perf events|BPF programs) ' 'active here: capability,landlock,selinux'
	under "deny $call=EPERM -- \$bpfprof -d 1 -f"
	code=$?
	check "$call is refused by a container's filter: status 1" is "$code == 1"
	check "... one line says so" one_line '^bpfprof: .*: not permitted, though no capability is missing: in a container its seccomp profile must allow it; see bpfprof doctor$'
	under "deny $call=ENOSYS -- \$bpfprof -d 1 -f"
	code=$?
	check "$call is hidden by a filter: status 1" is "$code == 1"
	check "... one line says who hides it" one_line '^bpfprof: .*: the kernel has (BPF|perf events), but a filter of system calls \(seccomp\) hides the call: '
	under "deny $call=ENOSYS -- \$bpfprof doctor"
	code=$?
	check "... doctor: status 1" is "$code == 1"
	check "... and the fix" row '^FAIL +(perf events|BPF programs) .*Function not implemented' 'profile allow perf_event_open and bpf '
	check "... no capability is to blame" is "$(grep -c 'no capability is missing\|not permitted' "$out/said") == 0"
done
# What is laid over the settings, as of a kernel that has neither.
mkdir -p "$fake/kernel"
cp /proc/sys/kernel/{osrelease,pid_max,cap_last_cap} "$fake/kernel/"
under 'over kernel /proc/sys/kernel; deny perf_event_open=ENOSYS -- $bpfprof doctor'
check "a kernel without perf events: doctor" row '^FAIL +perf events .*Function not implemented' 'built without perf events: use one with CONFIG_PERF_EVENTS=y'
check "... the counters of the hardware go with them" row '^no +hardware counters' 'as of perf events, above$'
under 'over security /sys/kernel/security; $bpfprof doctor'
check "doctor: the security modules" row '^ok +security modules +active: capability,landlock,selinux$'
check "... and lockdown" row '^ok +lockdown +\[none\] integrity confidentiality$'

echo 'none integrity [confidentiality]' >"$fake/security/lockdown"
for errno in EPERM EACCES EINVAL; do
	under "over security /sys/kernel/security; deny bpf=$errno -- \$bpfprof -d 1 -f"
	code=$?
	check "lockdown, as $errno: status 1" is "$code == 1"
	check "... one line names it" one_line "^bpfprof: load the BPF programs: kernel lockdown is 'confidentiality', .*: boot with lockdown=integrity$"
done
under 'over security /sys/kernel/security; $bpfprof doctor'
code=$?
check "doctor: status 1" is "$code == 1"
check "... lockdown, and the fix" row '^FAIL +lockdown +none integrity \[confidentiality\]$' 'lockdown=integrity'

# --- What is missing ---

mkdir "$fake/empty"
under 'over empty /sys/kernel/btf; $bpfprof doctor'
check "no BTF: doctor" row '^FAIL +kernel type information \(BTF\) .*No such file' '--btf FILE'
if [ -r /sys/kernel/btf/vmlinux ]; then
	cp /sys/kernel/btf/vmlinux "$fake/vmlinux"
	under 'over empty /sys/kernel/btf; $bpfprof -q -d 200ms --btf "$fake/vmlinux" -f'
	verdict $? "no BTF: --btf FILE does"
fi
under 'over empty /sys/kernel/tracing; over empty /sys/kernel/debug; deny fsopen=EPERM -- $bpfprof doctor'
verdict $? "no tracefs: recording works"
check "... doctor" row '^no +tracepoints +tracefs: ' 'counters and probes work without it'
under 'over empty /sys/kernel/tracing; over empty /sys/kernel/debug; deny fsopen=EPERM -- $bpfprof -q -d 200ms -f'
verdict $? "... it does"
under 'over empty /sys/kernel/tracing; over empty /sys/kernel/debug; deny fsopen=EPERM -- $bpfprof -d 1 -e sched:sched_switch -f'
code=$?
check "... tracepoints do not" is "$code == 1"
check "... and that is why" one_line '^bpfprof: .*tracefs: '

# --- Settings ---

sed 's/^[0-9a-f]* /0000000000000000 /' /proc/kallsyms | head -n 2000 >"$fake/kallsyms"
echo 2 >"$fake/kptr_restrict"
under 'over kallsyms /proc/kallsyms; over kptr_restrict /proc/sys/kernel/kptr_restrict; $bpfprof doctor'
verdict $? "kptr_restrict=2: recording works"
check "... doctor" row '^no +kernel symbols +kernel.kptr_restrict is 2; addresses of functions are hidden$' 'sysctl kernel.kptr_restrict=1$'
under 'over kallsyms /proc/kallsyms; $bpfprof -d 1 -f -- dd if=/dev/zero of=/dev/null bs=1M count=3000 status=none'
check "... and a warning, once" is "$(grep -cx 'bpfprof: warning: kernel symbols are hidden: sysctl kernel.kptr_restrict=1' "$out/said") == 1"

echo 50 >"$fake/rate"
under 'over rate /proc/sys/kernel/perf_event_max_sample_rate; $bpfprof doctor'
check "a sampling rate that is too low: doctor" row '^no +sampling rate +kernel.perf_event_max_sample_rate is 50; ' \
	'sysctl kernel.perf_event_max_sample_rate='
under 'over rate /proc/sys/kernel/perf_event_max_sample_rate; $bpfprof -F 99 -d 1 -f'
code=$?
check "... -F is refused" is "$code == 2"
check "... with the limit" one_line "^bpfprof: option '-F': '99' is beyond what this kernel allows, 50 "
limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
under '$bpfprof -e page-faults/freq='$((limit + 1))'/ -d 1 -f'
code=$?
check "... an event's own frequency, too" is "$code == 1"
check "... with the limit" one_line "^bpfprof: event 'page-faults' cannot be sampled $((limit + 1)) times a second: the kernel allows $limit; .* kernel.perf_event_max_sample_rate=$((limit + 1))$"
echo 100000 >"$fake/rate"
under 'over rate /proc/sys/kernel/perf_event_max_sample_rate
	$bpfprof -f -- sh -c "echo 25000 >\"$fake/rate\"; sleep 0.2"'
check "throttling while it records is told" grep -qE \
	'^bpfprof: warning: kernel.perf_event_max_sample_rate sank from 100000 to 25000 meanwhile: .* never_ran counts what was throttled$' "$out/said"

for value in 0 2; do
	echo $value >"$fake/unprivileged"
	if [ -e /proc/sys/kernel/unprivileged_bpf_disabled ]; then
		under 'over unprivileged /proc/sys/kernel/unprivileged_bpf_disabled; $bpfprof doctor'
		check "doctor: unprivileged_bpf_disabled=$value" row "^ok +unprivileged BPF +kernel.unprivileged_bpf_disabled is $value; CAP_BPF is needed "
	fi
	echo $value >"$fake/paranoid"
	under 'over paranoid /proc/sys/kernel/perf_event_paranoid; $bpfprof doctor'
	check "doctor: perf_event_paranoid=$value" row "^ok +perf events +.*; perf_event_paranoid is $value$"
done

exit $status
