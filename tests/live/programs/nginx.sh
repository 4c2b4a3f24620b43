# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read and set by run
# nginx (gzip on) under wrk, on the loopback.
packages='nginx-light wrk'
prepare() {
	mkdir -p www logs && chmod 755 . www
	seq 1 20000 >www/big.txt
	echo hello >www/small.txt
	chmod 644 www/*
	cat >nginx.conf <<-END
		daemon off; worker_processes 1; error_log logs/error.log; pid nginx.pid;
		events { worker_connections 256; }
		http {
			access_log logs/access.log; gzip on; gzip_types text/plain; default_type text/plain;
			client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
			uwsgi_temp_path t4; scgi_temp_path t5;
			server { listen 127.0.0.1:18080; root $PWD/www; }
		}
	END
}
load() {
	/usr/sbin/nginx -p "$PWD" -c nginx.conf 2>/dev/null &
	sleep 0.5
	wrk -t 1 -c 8 -d 600 http://127.0.0.1:18080/small.txt >/dev/null &
	exec wrk -t 1 -c 2 -d 600 -H 'Accept-Encoding: gzip' http://127.0.0.1:18080/big.txt >/dev/null
}
