/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof store` of a fleet store. */
#ifndef BPFPROF_CLI_CMD_STORE_FLEET_H
#define BPFPROF_CLI_CMD_STORE_FLEET_H

#include <stdint.h>

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

/* Ship what sink @url has not got yet of the local store @path. */
int fleet_ship_run(const char *path, const char *url);

#endif
