/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables of files in a fleet's store, by build-id: what one who has the file uploads once,
 * when nobody has done so, for all whose frames lack names.
 *
 *	symbol_tables	a row for each (file, host that began to upload it); chunks = 0: it claims
 *			to be about to, which others believe for FLEET_CLAIM_S. Who finds itself to
 *			be the first uploads:
 *	symbol_chunks	the bytes, in pieces. They are named by a hash of all of them, so that what
 *			was begun by another one, or is sent again, does no harm; then the row of
 *			symbol_tables becomes that of a whole table
 *
 * What is uploaded is compressed and sealed for its build-id (store/blob.h), and hostile.
 */
#ifndef BPFPROF_FLEET_FLEET_SYMBOLS_H
#define BPFPROF_FLEET_FLEET_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"
#include "fleet/fleet_unnamed.h"
#include "store/blob.h"

enum {
	FLEET_CLAIM_S = 600,
	FLEET_SETTLE_S = 2, /* until all see a claim of the same second; two tables do no harm */
	FLEET_WANTED_MAX = 1000,
	/* Of a table, compressed: what does not become smaller becomes a little larger. */
	FLEET_TABLE_BYTES_MAX = BLOB_MAX_BYTES + (1 << 20),
};

/* Whose table, who says so, and of which kind it is; all borrowed. Neither 0 nor UINT64_MAX is a
 * host. */
struct fleet_table_key {
	const char *build_id, *path, *format;
	uint64_t host;
};

/*
 * The files that were looked for and not found, or without lines (modules.why), of which no table
 * of @format is there, or about to be; those with most frames first, FLEET_WANTED_MAX at most. 0 or
 * negative errno as ch_client_query(); release with fleet_modules_deinit() in either case. `why` is
 * "no_file" or "no_lines".
 */
int fleet_symbols_wanted(struct ch_client *client, const char *format, struct fleet_modules *out);

/* Is a table of that kind there? 0 or negative errno. */
int fleet_symbols_has(struct ch_client *client, const struct fleet_table_key *key, bool *out);

/* Claim to upload @key's table, which takes FLEET_SETTLE_S where nobody else does. *@is_ours:
 * nobody has one, and nobody was faster. 0 or negative errno. */
int fleet_symbols_claim(struct ch_client *client, const struct fleet_table_key *key, bool *is_ours);

/* Append the @len bytes at @data, a table of @build_id, to @out as they are uploaded. 0, -E2BIG or
 * -ENOMEM. */
int fleet_symbols_pack(const char *build_id, const void *data, size_t len, struct buf *out);

/* The inverse, of @packed, which is hostile: 0; -EBADMSG: it is not what was packed for @build_id;
 * -ENOMEM. */
int fleet_symbols_unpack(const char *build_id, const void *packed, size_t len, struct buf *out);

/* Upload what fleet_symbols_pack() made, @len bytes at @packed. 0 or negative errno as
 * ch_client_insert(). */
int fleet_symbols_put(struct ch_client *client, const struct fleet_table_key *key,
		      const void *packed, size_t len);

/* Append the table of @build_id to @out. 0; -ENOENT: there is none; -EBADMSG: what is there is not
 * what was uploaded; or negative errno as ch_client_query(). */
int fleet_symbols_get(struct ch_client *client, const char *build_id, const char *format,
		      struct buf *out);

#endif
