# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh and clickhouse.sh, by tests that need relays: processes of the test's own, on loopback, with
# their configurations and spools below $TMPDIR.

declare -A relay_pids relay_ports
relay_scheme=http

# relay_configure NAME STORE-URL [LINE...]: once, before it starts; its spool is $TMPDIR/NAME.spool unless a line says
# another.
relay_configure()
{
	local name=$1 url=$2
	shift 2
	relay_ports[$name]=$(free_port)
	{
		printf '%s\n' "store = $url" "listen = 127.0.0.1:${relay_ports[$name]}" "every = 100ms" "$@"
		[[ " $*" == *" spool = "* ]] || echo "spool = $TMPDIR/$name.spool"
	} >"$TMPDIR/$name.conf"
}

# relay_get NAME PATH [CURL-OPTION...]: what it answers.
relay_get()
{
	curl -s -m 10 "${@:3}" "$relay_scheme://127.0.0.1:${relay_ports[$1]}$2"
}

# relay_start NAME: and wait until it answers somebody, at all.
relay_start()
{
	"$BUILD/bpfprof" relay --config "$TMPDIR/$1.conf" 2>>"$out/$1.err" &
	relay_pids[$1]=$!
	for _ in $(seq 200); do
		relay_get "$1" /healthz -k -o /dev/null && return
		kill -0 "${relay_pids[$1]}" 2>/dev/null || break
		sleep 0.05
	done
	cat "$out/$1.err"
	return 1
}

# relay_kill NAME [SIGNAL]
relay_kill()
{
	[ -n "${relay_pids[$1]:-}" ] || return 0
	kill "-${2:-KILL}" "${relay_pids[$1]}" 2>/dev/null
	wait "${relay_pids[$1]}" 2>/dev/null
	relay_pids[$1]=
}

relay_kill_all()
{
	local name
	for name in "${!relay_pids[@]}"; do
		relay_kill "$name"
	done
}

# relay_metric NAME METRIC [CURL-OPTION...]: its value.
relay_metric()
{
	relay_get "$1" /metrics "${@:3}" | sed -n "s/^bpfprof_relay_$2 //p"
}

# relay_drained NAME...: wait until nothing is left in their spools.
relay_drained()
{
	local name
	for name; do
		for _ in $(seq 600); do
			[ "$(relay_metric "$name" spool_messages)" = 0 ] && continue 2
			kill -0 "${relay_pids[$name]}" 2>/dev/null || break
			sleep 0.1
		done
		relay_get "$name" /metrics
		tail -5 "$out/$name.err"
		return 1
	done
}

# relay_url NAME...: as a sink.
relay_url()
{
	local name hosts=
	for name; do
		hosts=$hosts${hosts:+,}127.0.0.1:${relay_ports[$name]}
	done
	echo "relay+$relay_scheme://$hosts"
}

# ship_to_end STORE URL: until it says that all is there.
ship_to_end()
{
	local tries=0
	until bp store ship --store "$1" --to "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] || return 1
		sleep 0.05
	done
}
