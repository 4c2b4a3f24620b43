# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced, after cases.sh, by the tests that need a cluster: four of Debian's ClickHouse, 1 and 2 the replicas of one
# shard, 3 and 4 those of the other, and a ZooKeeper; on loopback, with everything below $TMPDIR.

cluster_folder=$TMPDIR/cluster
zk_port=
zk_pid=
node_pids=(0 0 0 0 0)
node_ports=(0 0 0 0 0) # of HTTP; behind it those of the native protocol and between servers

# It listens before it serves: a ClickHouse that begins meanwhile ends, and a question may get no answer at all.
zk_serves()
{
	timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && echo srvr >&3 && grep -q ^Mode <&3' _ "$zk_port"
}

zk_start()
{
	java -Xmx96m -XX:TieredStopAtLevel=1 -cp /usr/share/java/zookeeper.jar \
		org.apache.zookeeper.server.quorum.QuorumPeerMain "$cluster_folder/zoo.cfg" >>"$cluster_folder/zk.out" 2>&1 &
	zk_pid=$!
	for _ in $(seq 300); do
		zk_serves 2>/dev/null && return
		kill -0 "$zk_pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$cluster_folder/zk.out"
	return 1
}

zk_kill()
{
	[ -n "$zk_pid" ] || return 0
	kill -9 "$zk_pid" 2>/dev/null
	wait "$zk_pid" 2>/dev/null
	zk_pid=
}

# A server as system.clusters has it.
replica()
{
	echo "<replica><host>127.0.0.1</host><port>$((node_ports[$1] + 1))</port></replica>"
}

# node_configure NODE [WINDOW]: among how many blocks it looks for one that comes again, where that is not the server's own.
node_configure()
{
	local folder=$cluster_folder/$1 port=${node_ports[$1]}

	mkdir -p "$folder/data" "$folder/tmp"
	cat >"$folder/config.xml" <<-END
		<yandex>
		<logger><level>warning</level><log>$folder/log</log><errorlog>$folder/errors</errorlog></logger>
		<http_port>$port</http_port><tcp_port>$((port + 1))</tcp_port>
		<interserver_http_port>$((port + 2))</interserver_http_port>
		<interserver_http_host>127.0.0.1</interserver_http_host><listen_host>127.0.0.1</listen_host>
		<path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path><users_config>$folder/users.xml</users_config>
		<default_profile>default</default_profile><default_database>default</default_database>
		<mark_cache_size>16777216</mark_cache_size><max_concurrent_queries>100</max_concurrent_queries>
		<zookeeper><node><host>127.0.0.1</host><port>$zk_port</port></node>
		<session_timeout_ms>2000</session_timeout_ms></zookeeper>
		<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
		<macros><shard>$((($1 + 1) / 2))</shard><replica>$1</replica></macros>
		${2:+<merge_tree><replicated_deduplication_window>$2</replicated_deduplication_window></merge_tree>}
		<remote_servers><two_by_two>
		<shard><internal_replication>true</internal_replication>$(replica 1)$(replica 2)</shard>
		<shard><internal_replication>true</internal_replication>$(replica 3)$(replica 4)</shard>
		</two_by_two></remote_servers>
		</yandex>
	END
	cat >"$folder/users.xml" <<-END
		<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage><max_threads>1</max_threads>
		<allow_experimental_low_cardinality_type>1</allow_experimental_low_cardinality_type>
		<background_pool_size>4</background_pool_size></default></profiles>
		<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
		<quota>default</quota></default></users>
		<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>
	END
}

# cluster_configure: once, before anything starts. The first shard takes what comes twice, the second looks for it, as it
# does where nothing says otherwise.
cluster_configure()
{
	mkdir -p "$cluster_folder/zk"
	zk_port=$(free_ports 1 1) || return
	mapfile -t -O 1 node_ports < <(free_ports 4 3)
	cat >"$cluster_folder/zoo.cfg" <<-END
		tickTime=500
		dataDir=$cluster_folder/zk
		clientPortAddress=127.0.0.1
		clientPort=$zk_port
		admin.enableServer=false
	END
	node_configure 1 0
	node_configure 2 0
	node_configure 3
	node_configure 4
}

# node_sql NODE SQL [DATABASE]: its answer.
node_sql()
{
	curl -s -m 60 "http://127.0.0.1:${node_ports[$1]}/?database=${3:-default}&distributed_product_mode=global" \
		--data-binary "$2"
}

node_begin()
{
	clickhouse-server --config-file="$cluster_folder/$1/config.xml" >>"$cluster_folder/$1/out" 2>&1 &
	node_pids[$1]=$!
}

node_await()
{
	for _ in $(seq 600); do
		[ "$(node_sql "$1" "SELECT 1" 2>/dev/null)" = 1 ] && return
		kill -0 "${node_pids[$1]}" 2>/dev/null || break
		sleep 0.1
	done
	tail "$cluster_folder/$1/out" "$cluster_folder/$1/errors"
	return 1
}

# node_kill NODE: as a crash, or a lack of memory, ends it.
node_kill()
{
	[ "${node_pids[$1]}" != 0 ] || return 0
	kill -9 "${node_pids[$1]}" 2>/dev/null
	wait "${node_pids[$1]}" 2>/dev/null
	node_pids[$1]=0
}

cluster_start()
{
	local node

	zk_start || return
	for node in 1 2 3 4; do
		node_begin $node
	done
	for node in 1 2 3 4; do
		node_await $node || return
	done
}

cluster_kill()
{
	local node

	for node in 1 2 3 4; do
		node_kill $node
	done
	zk_kill
}
