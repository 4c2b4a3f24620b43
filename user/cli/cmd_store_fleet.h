/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof store` of a fleet store. */
#ifndef BPFPROF_CLI_CMD_STORE_FLEET_H
#define BPFPROF_CLI_CMD_STORE_FLEET_H

#include <stdint.h>

#include "cli/debug_dirs.h"
#include "clickhouse/client.h"

/* What is asked of a fleet's store, of the days from @from_ns to @to_ns. Returns 0 with the exit
 * status in *@status (CLI_FAILED before), or negative errno as ch_client_query(). */
typedef int fleet_days_fn(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, void *arg,
			  int *status);

/* Each returns the exit status, after log_error() where it is not CLI_OK. */

/* Make what is missing at @url, and say what that was. @cluster: on all servers of that one; NULL:
 * where it is. */
int fleet_init_run(const char *url, const char *cluster);

/* Compare the ledger at @url with the samples of the days from @since to @until (as --since has
 * them; NULL: all). */
int fleet_fsck_run(const char *url, const char *since, const char *until);

/* Drop the days at @url that are over for longer than @retain_ns. */
int fleet_drop_run(const char *url, uint64_t retain_ns);

/* Bring the roll-ups at @url up to the ledger, of the same days. */
int fleet_rollup_run(const char *url, const char *since, const char *until);

/* Look for debug files for what has no names or no lines at @url, in @dirs and elsewhere, and write
 * what they say, of the same days. */
int fleet_symbolize_run(const char *url, const char *since, const char *until,
			const struct debug_dirs *dirs);

/* Upload the symbols of the @cnt files at @paths to @url, where nobody has; @dirs may have what was
 * split off them. */
int fleet_upload_run(const char *url, const char *const *paths, size_t cnt,
		     const struct debug_dirs *dirs);

/* Ask @fn of the store at @url, whose schema is checked first. */
int fleet_on_days(const char *url, const char *since, const char *until, fleet_days_fn *fn,
		  void *arg);

/* Ship what sink @url has not got yet of the local store @path. */
int fleet_ship_run(const char *path, const char *url);

#endif
