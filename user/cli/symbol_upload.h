/* SPDX-License-Identifier: Apache-2.0 */
/* Uploading the symbols of a file that is here into a fleet's store (fleet/fleet_symbols.h), or to
 * a relay in front of one (sink/relay_symbols.h). */
#ifndef BPFPROF_CLI_SYMBOL_UPLOAD_H
#define BPFPROF_CLI_SYMBOL_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"
#include "proc/module.h"
#include "sink/relay_symbols.h"
#include "symbol/symbolizer.h"

/* Who uploads, and where to; all borrowed. */
struct symbol_uploader {
	struct ch_client *client; /* the fleet's store; NULL: */
	struct remote *relay; /* a relay */
	uint64_t host; /* a number that no other has; neither 0 nor UINT64_MAX */
	const struct symbol_sources *sources;
	bool is_alone; /* others with the same files are not to be expected: nothing is claimed */
	struct buf *why; /* of a relay: the reason of what fails is appended to it */
};

/*
 * Upload what is known of @module's code, whose build-id as text is @build_id, unless that is done
 * or begun. 1: it is there now, *@sent_out bytes of it; 0: somebody else did or does it; -ENOENT:
 * there is too little to be worth it (all symbols, lines if @needs_lines); -EFBIG; other negative
 * errno as ch_client_insert() or relay_symbols_send().
 */
int symbol_upload(const struct symbol_uploader *uploader, const struct module *module,
		  const char *build_id, bool needs_lines, uint64_t *sent_out);

#endif
