# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# Redis under redis-benchmark, on the loopback.
packages='redis-server redis-tools'
prepare() { :; }
load() {
	redis-server --port 16379 --bind 127.0.0.1 --save '' --daemonize no >/dev/null &
	sleep 0.5
	exec redis-benchmark -h 127.0.0.1 -p 16379 -q -l -n 20000 -P 4 \
		-t set,get,lpush,lrange_100,zadd,mset,hset >/dev/null
}
