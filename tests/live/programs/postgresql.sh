# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# PostgreSQL under pgbench, over a socket in the work folder; the server refuses to be root.
packages='postgresql postgresql-client util-linux'
as_postgres() { runuser -u postgres -- "$@"; }
prepare() {
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
	chown postgres . && as_postgres "$bin/initdb" -D "$PWD/data" -A trust >/dev/null &&
		printf "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\n" "$PWD" \
			>>data/postgresql.conf
}
load() {
	as_postgres "$bin/postgres" -D "$PWD/data" >postgres.log 2>&1 &
	until as_postgres "$bin/pg_isready" -q -h "$PWD"; do sleep 0.1; done
	as_postgres "$bin/pgbench" -h "$PWD" -i -q -s 5 postgres >/dev/null 2>&1
	: >ready
	exec runuser -u postgres -- "$bin/pgbench" -h "$PWD" -c 4 -j 2 -T 600 postgres >/dev/null 2>&1
}
wait_s=60
