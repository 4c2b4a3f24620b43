#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel tests' own tools: a machine's end is told for what it is, and check_stats can say no.
# timeout: 300
# beside others, records nothing
set -u

. tests/e2e/cases.sh
here=$top/tests/kernel
kernel=amd64-6.1 limit=60

# ends STATUS NAME MESSAGE COMMAND: a machine that runs COMMAND (sh -c) ends so, and MESSAGE is in what it says.
ends() {
	"$here/run-vm" --kernel $kernel --timeout $limit --out "$tmp/vm" -- sh -c "$4" > "$log" 2> "$tmp/err"
	code=$?
	cat "$tmp/err" >> "$log"
	[ $code -eq "$1" ] && grep -q "$3" "$log"
	result $? "run-vm: $2"
}

# judges STATUS NAME SED-SCRIPT: what check_stats says about balanced books with this change.
judges() {
	sed "$3" > "$tmp/stats.json" <<-'END'
		{"events": [{"name": "e", "ticks": 20, "ran": 17, "filtered": 4, "recorded": 13, "kernel_runs": 17,
		"lost": {"a": 0}, "never_ran": {"busy": 1, "idle": 2}, "per_cpu": [
		{"cpu": 0, "ticks": 11, "ran": 9, "filtered": 3, "recorded": 6, "lost": {}, "never_ran": {"busy": 1, "idle": 1}},
		{"cpu": 1, "ticks": 9, "ran": 8, "filtered": 1, "recorded": 7, "lost": {}, "never_ran": {"busy": 0, "idle": 1}}]}]}
	END
	"$tmp/check_stats" "$tmp/stats.json" > "$log"
	[ $? -eq "$1" ]
	result $? "check_stats: $2"
}

if gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$tmp/check_stats" "$here/check_stats.c" -lcjson \
	> "$log" 2>&1; then
	judges 0 'balanced books' ''
	judges 1 'a sample that went nowhere' 's/"recorded": 13/"recorded": 12/'
	judges 1 'a loss' 's/"a": 0/"a": 1/; s/"recorded": 13/"recorded": 12/'
	judges 1 "a tick that a CPU's row does not explain" 's/"ticks": 11/"ticks": 12/'
	judges 1 'CPUs that do not add up' 's/"ran": 8, "filtered": 1/"ran": 9, "filtered": 2/; s/"ticks": 9/"ticks": 10/'
	judges 1 "the kernel's count differs" 's/"kernel_runs": 17/"kernel_runs": 18/'
	judges 2 'a count that is missing' 's/"recorded": 13, //'
	judges 2 'a negative count' 's/"idle": 2/"idle": -2/'
	judges 2 'no events' 's/"events"/"event"/'
else
	result 1 'check_stats compiles'
fi

if ! "$here/fetch-kernel" $kernel > /dev/null 2> "$log"; then
	skip run-vm "$(tail -n 1 "$log")"
	exit $status
fi
ends 0 'output and success' '^hello$' 'echo hello'
ends 7 'a status' '^no newline$' 'printf "no newline"; exit 7'
ends 0 'files of the guest' '^done$' 'dd if=/dev/zero of=/out/block bs=1k count=300; echo done'
[ "$(wc -c < "$tmp/vm/files/block")" -eq 307200 ]
result $? 'run-vm: the files are whole'
ends 127 'a command that is not there' '^before$' 'echo before; exec /test/not-there'
ends 254 'a panic' 'the kernel panicked' 'echo c > /proc/sysrq-trigger'
limit=15
ends 253 'a hang' 'no end after 15 s' 'sleep 1000'
limit=60
ends 252 'an end without a status' 'ended without a status' 'poweroff -f'
exit $status
