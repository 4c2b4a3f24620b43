/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of a whole fleet (clickhouse/schema.h), to be asked as one host's is: the same
 * questions, the same answers, of all hosts that ship to it. A window counts when its ledger row is
 * there, which comes last, and once, however often it was sent.
 *
 * The server adds up; trees, differences and tables are made here, of stacks that come once each.
 */
#ifndef BPFPROF_FLEET_FLEET_H
#define BPFPROF_FLEET_FLEET_H

#include <stdbool.h>

#include "store/source.h"

enum { FLEET_POINTS_MAX = 1 << 16 /* of a timeline's series */ };

/*
 * The store at @url ("clickhouse://USER:PASSWORD@HOST:PORT/DATABASE", clickhouse/url.h), which is
 * asked for its schema. *@out is *owned* (store_source_close()); one thread at a time uses it. 0,
 * or negative errno with one line about it in @why: -EINVAL no such URL; -ENOENT no store there;
 * -EPROTO one of another version; -ENOSYS this build has no HTTP client; what ch_client_query()
 * says.
 */
int fleet_open(const char *url, struct store_source **out, struct buf *why);

/* Is that the URL of a fleet's store? Else it is a file's name. */
bool fleet_is_url(const char *url);

/*
 * Either: a fleet's store by its URL, or the file of that name (store_source_open_file()). What is
 * wrong with a fleet's is in @why; what with a file, only in the errno.
 */
int fleet_or_file_open(const char *url, struct store_source **out, struct buf *why);

#endif
