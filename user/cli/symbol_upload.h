/* SPDX-License-Identifier: Apache-2.0 */
/* Uploading the symbols of a file that is here into a fleet's store (fleet/fleet_symbols.h), or to
 * a relay in front of one (sink/relay_symbols.h). */
#ifndef BPFPROF_CLI_SYMBOL_UPLOAD_H
#define BPFPROF_CLI_SYMBOL_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"
#include "fleet/fleet_unnamed.h"
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
	struct buf *why; /* the reason of what fails; ch_client_error() may have more */
};

/*
 * Open @uploader's way to @url, of a fleet's store or of a relay, whose requests are bounded by
 * @http (a relay's take the time that sending does, and some); close it with
 * symbol_uploader_close(). 0; -EINVAL: @url is neither, or wrong; or negative errno. uploader->why
 * has the reason.
 */
int symbol_uploader_open(struct symbol_uploader *uploader, const char *url,
			 const struct http_opts *http);
void symbol_uploader_close(struct symbol_uploader *uploader);

/* The files that are wanted there, as fleet_symbols_wanted() has them. 0 or negative errno as that,
 * as fleet_schema_check(), or as relay_symbols_send(), with the reason in uploader->why; release
 * with fleet_modules_deinit() in either case. */
int symbol_uploader_wanted(const struct symbol_uploader *uploader, struct fleet_modules *out);

/*
 * Upload what is known of @module's code, whose build-id as text is @build_id, unless that is done
 * or begun. 1: it is there now, *@sent_out bytes of it; 0: somebody else did or does it; -ENOENT:
 * there is too little to be worth it (all symbols, lines if @needs_lines); -EFBIG; other negative
 * errno as ch_client_insert() or relay_symbols_send().
 */
int symbol_upload(const struct symbol_uploader *uploader, const struct module *module,
		  const char *build_id, bool needs_lines, uint64_t *sent_out);

#endif
