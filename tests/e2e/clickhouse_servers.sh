# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced after cases.sh by the tests that need ClickHouse: servers of Debian's package, each with configuration and
# data of its own in $tmp, on loopback alone. They end with the test.

# The servers that run: NAME:PID
clickhouse_running=
# More of their configuration, as XML.
clickhouse_more=

# free_ports COUNT: so many numbers of TCP ports on loopback that are free now.
free_ports()
{
	python3 -c 'import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in sockets:
    each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in sockets])' "$1"
}

# clickhouse_config FOLDER HTTP TCP INTERSERVER: what a server in FOLDER reads; $clickhouse_more is put into it as it is.
clickhouse_config()
{
	mkdir -p "$1/data" "$1/tmp" && cat >"$1/config.xml" <<END && cat >"$1/users.xml" <<'END'
<yandex>
	<logger><level>warning</level><log>$1/server.log</log><errorlog>$1/server.err</errorlog></logger>
	<listen_host>127.0.0.1</listen_host>
	<http_port>$2</http_port><tcp_port>$3</tcp_port>
	<interserver_http_host>127.0.0.1</interserver_http_host><interserver_http_port>$4</interserver_http_port>
	<path>$1/data/</path><tmp_path>$1/tmp/</tmp_path>
	<users_config>$1/users.xml</users_config>
	<default_profile>default</default_profile><default_database>default</default_database>
	<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
	<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio>
		<method>zstd</method></case></compression>
	$clickhouse_more
</yandex>
END
<yandex>
	<profiles><default><max_memory_usage>4000000000</max_memory_usage><log_queries>0</log_queries></default>
		<readonly><readonly>1</readonly></readonly></profiles>
	<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		<keeper><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></keeper>
	</users>
	<quotas><default></default></quotas>
</yandex>
END
}

# clickhouse_sql PORT SQL: what the server at that port of HTTP answers, 1 where it refuses.
clickhouse_sql()
{
	curl -sSf -m 60 "http://127.0.0.1:$1/" --data-binary "$2"
}

# clickhouse_run NAME: the server of that name, which was configured, in the background; 1 when it does not answer.
clickhouse_run()
{
	clickhouse_folder=$tmp/clickhouse-$1
	clickhouse_port=$(cat "$clickhouse_folder/port")
	clickhouse-server --config-file="$clickhouse_folder/config.xml" >"$clickhouse_folder/out" 2>&1 </dev/null &
	clickhouse_pid=$!
	clickhouse_running="$clickhouse_running $1:$clickhouse_pid"
	for _ in $(seq 300); do
		clickhouse_sql "$clickhouse_port" 'SELECT 1' >/dev/null 2>&1 && return
		kill -0 "$clickhouse_pid" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 20 "$clickhouse_folder/out" "$clickhouse_folder/server.err"
	return 1
}

# clickhouse_start NAME: a new server, empty. Its port of HTTP is in $clickhouse_port; user "default" has no password,
# "keeper" has "secret".
clickhouse_start()
{
	# shellcheck disable=SC2046 # three words
	set -- "$1" $(free_ports 3)
	clickhouse_config "$tmp/clickhouse-$1" "$2" "$3" "$4" && echo "$2" >"$tmp/clickhouse-$1/port" && clickhouse_run "$1"
}

# clickhouse_end NAME [SIGNAL]: TERM where none is named; it is awaited.
clickhouse_end()
{
	clickhouse_left=
	for clickhouse_one in $clickhouse_running; do
		if [ "${clickhouse_one%:*}" = "$1" ]; then
			kill -s "${2:-TERM}" "${clickhouse_one#*:}"
			wait "${clickhouse_one#*:}"
		else
			clickhouse_left="$clickhouse_left $clickhouse_one"
		fi
	done 2>/dev/null
	clickhouse_running=$clickhouse_left
}

clickhouse_end_all()
{
	for clickhouse_one in $clickhouse_running; do
		kill -KILL "${clickhouse_one#*:}" && wait "${clickhouse_one#*:}"
	done 2>/dev/null
	clickhouse_running=
}

trap 'clickhouse_end_all; rm -rf "$tmp"' EXIT
