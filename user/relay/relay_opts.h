/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof relay`: what was asked for, on the command line and in a file. */
#ifndef BPFPROF_RELAY_RELAY_OPTS_H
#define BPFPROF_RELAY_RELAY_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"

struct relay_opts {
	const char *config_path; /* NULL: none */
	bool check_config;
	const char *store; /* the fleet's, a URL */
	const char *spool; /* a folder */
	uint64_t max_spool_bytes, max_age_ns; /* max_age_ns 0: no bound */
	uint64_t every_ns, max_rows; /* between two inserts; rows of samples of one */
	const char *listen, *token_file, *tls_cert, *tls_key; /* NULL: none */
	uint64_t max_clients, max_message_bytes;
	struct config config; /* what the fields borrow from */
};

/*
 * Defaults, then the file of --config, then the command line. True: go on. False: leave with
 * *@status_out. Release with relay_opts_deinit() in either case.
 */
bool relay_opts_parse(struct relay_opts *opts, int argc, char **argv, int *status_out);
void relay_opts_deinit(struct relay_opts *opts);

/* Append the configuration in force, as a file would have it. */
void relay_opts_print(const struct relay_opts *opts, struct buf *out);

#endif
