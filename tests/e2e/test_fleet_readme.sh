#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to a fleet's page: the README's commands as they stand there, in namespaces where no port is taken and
# nothing is in /var/lib. The page is shown to who has the token; an agent with a wrong one says so and loses nothing.
# timeout: 240
# beside others
set -u
if [ -z "${OWN_NAMES:-}" ] && unshare -m -n true 2>/dev/null; then
	OWN_NAMES=1 exec unshare -m -n "$0"
fi
. tests/e2e/live.sh

[ -n "${OWN_NAMES:-}" ] || { skip "the README's fleet" "no namespaces here"; exit 0; }
have clickhouse-server || { skip "the README's fleet" "no clickhouse-server"; exit 0; }
mount -t tmpfs none /var/lib && mount -t bpf none /sys/fs/bpf && busybox ip link set lo up || exit 1
. tests/e2e/clickhouse.sh
unset http_proxy https_proxy CLICKHOUSE_USER CLICKHOUSE_PASSWORD RELAY_PASSWORD
compile hits hits.c -DCOUNT=20000L -DPER_SECOND=10000L -DDEPTHS=1
top=$PWD
export PATH=$BUILD:$PATH
store=clickhouse://127.0.0.1/profiles
# shellcheck disable=SC2154 # of clickhouse.sh
trap 'kill -9 $(jobs -p) 2>/dev/null; bpfprof agent --detach >>"$log" 2>&1; ch_kill; stop_loads; rm -rf "$tmp"' EXIT

# The server that the package would be, at its port.
free_port()
{
	echo 8123
}

# --- The commands ---

sed -n '/^From nothing to a fleet/,/^A minute after/s/^\$ //p' README.md >"$TMPDIR/commands"
check "the README has commands" is "$(wc -l <"$TMPDIR/commands") >= 12"
ch_configure || exit 1
mkdir "$TMPDIR/fleet" && cd "$TMPDIR/fleet" || exit 1

# begun: how many of what they leave behind say that they have.
begun()
{
	grep -cE '^bpfprof: (relay: takes messages|agent: recording|serving) ' "$TMPDIR/told"
}

# does COMMAND: what stands for it here.
does()
{
	local count

	case $1 in
	# Both packages have the name of their program.
	"apt-get install "*) for count in ${1#apt-get install }; do have "$count" || return; done ;;
	"systemctl start clickhouse-server") ch_start ;;
	*"&")
		count=$(begun)
		eval "$1"
		for _ in $(seq 300); do
			[ "$(begun)" -gt "$count" ] && return
			sleep 0.1
		done
		return 1
		;;
	*) eval "$1" ;;
	esac
}

agent_pid='' agent_command=''
while read -r command; do
	does "$command" </dev/null >"$TMPDIR/said" 2>>"$TMPDIR/told"
	verdict $? "$command"
	case $command in
	"bpfprof agent "*) agent_pid=$! agent_command=${command%&} ;;
	"curl "*) check "... it answers" grep '"host":"clickhouse://127.0.0.1:8123/profiles"' "$TMPDIR/said" ;;
	esac
done <"$TMPDIR/commands"
cat "$TMPDIR/told" >>"$log"
check "all of them are there still" is "$(jobs -pr | wc -l) == 4"

# --- The page ---

# asked PATH [CURL-OPTION...]: of the page's server.
asked()
{
	curl -s -m 10 --cacert fleet.crt "${@:2}" "https://localhost:7710$1"
}

# is_shown: the agent's minute is over, and in the fleet.
is_shown()
{
	for _ in $(seq 100); do
		[ "$(ch_sql profiles "SELECT count() FROM batches WHERE kind = 0")" != 0 ] && return
		sleep 1
	done
	return 1
}

# flame: of the fleet, by the page's server.
flame()
{
	asked '/api/profile?format=svg&from=-1h' -u ":$(cat page.token)" >"$TMPDIR/flame.svg" && grep -q "<svg" "$TMPDIR/flame.svg"
}

check "nobody is answered without the token" is "$(asked /api/info -o /dev/null -w '%{http_code}') == 401"
check "... nor with another one" is "$(asked /api/info -u :0123456789abcdef -o /dev/null -w '%{http_code}') == 401"
check "... nor without TLS" bash -c '! curl -s -m 10 http://localhost:7710/'
check "a minute comes in" is_shown
check "a flame graph of it" flame
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
	skip "the page in a browser" "no chromium"
else
	(cd "$top" && python3 tests/e2e/readme_browser.py "$chromium" https://localhost:7710/ "$TMPDIR/fleet/page.token") || status=1
fi

# --- A wrong token ---

# samples STORE: that fsck finds in it.
samples()
{
	bpfprof store fsck --store "$1" 2>&1 | sed -n 's/.* is whole: .* \([0-9]*\) samples.*/\1/p'
}

# ended: the agent is told to, and does.
ended()
{
	kill -TERM "$agent_pid"
	wait "$agent_pid"
}

# counted: that agent again, which counts calls now.
counted()
{
	local -a words
	eval "words=($agent_command)"
	agent=("${words[@]}" -e "uprobe:$TMPDIR/bin/hits:hit")
	begin_agent
}

# hits_are COUNT: in the fleet, as soon as the relay has inserted what it has.
hits_are()
{
	for _ in $(seq 100); do
		[ "$(curl -s --cacert fleet.crt -u ":$RELAY_PASSWORD" https://localhost:7711/metrics |
			sed -n 's/^bpfprof_relay_spool_messages //p')" = 0 ] && break
		sleep 0.1
	done
	[ "$(ch_sql profiles "SELECT toInt64(sum(n)) FROM samples FINAL WHERE kind IN (SELECT kind FROM kinds WHERE name LIKE '%hit%')")" = "$1" ]
}

check "the agent ends" ended
token=$RELAY_PASSWORD
RELAY_PASSWORD=0123456789abcdef-wrong
check "another one has a wrong token" counted
check "calls are counted" hits
sleep 1
check "it ends" ended
check "... and says what is wrong" grep "sink 'relay.https://localhost.*': .*HTTP status 401: this token is not known: .*RELAY_PASSWORD" "$TMPDIR/agent.err"
check "... but not the token" bash -c '! grep -q 0123456789abcdef "$1"' _ "$TMPDIR/agent.err"
RELAY_PASSWORD=$token
check "none of the calls is in the fleet" hits_are 0
check "the right token" counted
sleep 1
check "it ends" ended
check "each call is in the fleet once" hits_are 20000
local_samples=$(samples /var/lib/bpfprof/store.db)
check "all that was stored is in the fleet" is "${local_samples:-0} > 20000 && ${local_samples:-0} == $(samples $store)"
exit $status
