/* SPDX-License-Identifier: Apache-2.0 */
/* Uploading the symbols of a file that is here into a fleet's store (fleet/fleet_symbols.h). */
#ifndef BPFPROF_CLI_SYMBOL_UPLOAD_H
#define BPFPROF_CLI_SYMBOL_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "clickhouse/client.h"
#include "proc/module.h"
#include "symbol/symbolizer.h"

/* Who uploads, and where to; all borrowed. */
struct symbol_uploader {
	struct ch_client *client;
	uint64_t host; /* a number that no other has; neither 0 nor UINT64_MAX */
	const struct symbol_sources *sources;
	bool is_alone; /* others with the same files are not to be expected: nothing is claimed */
};

/*
 * Upload what is known of @module's code, whose build-id as text is @build_id, unless that is done
 * or begun. 1: it is there now, *@sent_out bytes of it; 0: somebody else did or does it; -ENOENT:
 * there is too little to be worth it (all symbols, lines if @needs_lines); -EFBIG; other negative
 * errno as ch_client_insert().
 */
int symbol_upload(const struct symbol_uploader *uploader, const struct module *module,
		  const char *build_id, bool needs_lines, uint64_t *sent_out);

#endif
