# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh, by the tests that need a ClickHouse server: one of the test's own, on loopback, with its
# configuration and its data below $TMPDIR. It is killed with the test.

ch_folder=$TMPDIR/clickhouse
ch_pid=
ch_port=

# ch_configure: once, before the first ch_start. User fleet has the password "se:cret", default has none.
ch_configure()
{
	ch_port=$(free_port) || return 1
	mkdir -p "$ch_folder/data" "$ch_folder/tmp"
	cat >"$ch_folder/config.xml" <<-END
		<yandex>
		<logger><level>warning</level><log>$ch_folder/log</log><errorlog>$ch_folder/errors</errorlog></logger>
		<http_port>$ch_port</http_port><tcp_port>$((ch_port + 1))</tcp_port><listen_host>127.0.0.1</listen_host>
		<path>$ch_folder/data/</path><tmp_path>$ch_folder/tmp/</tmp_path>
		<users_config>$ch_folder/users.xml</users_config>
		<default_profile>default</default_profile><default_database>default</default_database>
		<mark_cache_size>67108864</mark_cache_size><max_concurrent_queries>100</max_concurrent_queries>
		<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio>
		<method>zstd</method></case></compression>
		</yandex>
	END
	cat >"$ch_folder/users.xml" <<-END
		<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
		<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
		<quota>default</quota></default>
		<fleet><password>se:cret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
		<quota>default</quota></fleet>
		</users>
		<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>
	END
}

# ch_start: and wait until it answers.
ch_start()
{
	clickhouse-server --config-file="$ch_folder/config.xml" >"$ch_folder/out" 2>&1 &
	ch_pid=$!
	for _ in $(seq 300); do
		[ "$(curl -s -m 2 "http://127.0.0.1:$ch_port/?query=SELECT+1" 2>/dev/null)" = 1 ] && return
		kill -0 "$ch_pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$ch_folder/out" "$ch_folder/errors"
	return 1
}

# ch_kill: as a crash, or a lack of memory, ends it.
ch_kill()
{
	[ -n "$ch_pid" ] || return 0
	kill -9 "$ch_pid" 2>/dev/null
	wait "$ch_pid" 2>/dev/null
	ch_pid=
}

# ch_sql DATABASE SQL: its answer.
ch_sql()
{
	curl -s -m 60 "http://127.0.0.1:$ch_port/?database=$1&allow_experimental_low_cardinality_type=1" \
		--data-binary "$2"
}

# ch_mutated DATABASE: wait until its ALTER TABLE ... DELETE are done, which happen behind the answer.
ch_mutated()
{
	for _ in $(seq 600); do
		[ "$(ch_sql "$1" "SELECT count() FROM system.mutations WHERE database = '$1' AND NOT is_done")" = 0 ] && return
		sleep 0.1
	done
	ch_sql "$1" "SELECT * FROM system.mutations WHERE NOT is_done FORMAT Vertical"
	return 1
}

# hits_in_fleet: how often the function that is called hit was, by the samples of database fleet.
hits_in_fleet()
{
	ch_sql fleet "SELECT toInt64(sum(n)) FROM samples FINAL WHERE kind IN (SELECT kind FROM kinds WHERE name LIKE
		'%hit%')"
}
