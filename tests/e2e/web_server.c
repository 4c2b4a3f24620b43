/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_server [-l LISTEN] [-t TOKEN_FILE] [-c CERT -k KEY] [-s STORE] [-p PROGRAM]: the web side as
 * an agent starts it, until standard input ends. With -p it records on demand by PROGRAM. Says on
 * stdout where it listens. SIGUSR1 makes it unhealthy.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/on_demand.h"
#include "web/web.h"

static atomic_bool is_sick;

static int metrics(void *arg, struct buf *out)
{
	buf_add_str(out, "# HELP bpfprof_build_info The version that runs.\n"
			 "# TYPE bpfprof_build_info gauge\n"
			 "bpfprof_build_info{version=\"test\"} 1\n");
	return out->err;
}

static bool is_healthy(void *arg, struct buf *why)
{
	if (is_sick)
		buf_add_str(why, "it was told to be sick");
	return !is_sick;
}

int main(int argc, char **argv)
{
	struct on_demand on_demand = {0};
	struct web_host host = {.arg = &on_demand, .metrics = metrics, .is_healthy = is_healthy};
	struct web_opts opts = {.listen = "127.0.0.1:0", .host = &host};
	struct web_server *server;
	sigset_t signals;
	int opt, number = 0;

	while ((opt = getopt(argc, argv, "l:t:c:k:s:p:")) != -1) {
		switch (opt) {
		case 'l':
			opts.listen = optarg;
			break;
		case 't':
			opts.token_file = optarg;
			break;
		case 'c':
			opts.tls_cert = optarg;
			break;
		case 'k':
			opts.tls_key = optarg;
			break;
		case 's':
			opts.store_url = optarg;
			break;
		case 'p':
			on_demand.program = optarg;
			host.capture = on_demand_capture;
			break;
		default:
			return 2;
		}
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (web_server_start(&opts, &server))
		return 1;
	printf("%s\n", web_server_address(server));
	fflush(stdout);
	while (number != SIGTERM) {
		sigwait(&signals, &number);
		is_sick = true;
	}
	web_server_stop(server);
	return 0;
}
