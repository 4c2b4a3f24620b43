/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows as objects, for sinks that keep them as files: a pprof for each service, kind and window,
 * which is a minute where nothing has cut it:
 *
 *	SERVICE/KIND/20261125T010200Z-HOST-ID-SEQ.pb.gz
 *
 * The name sorts by time. HOST is the host's name, ID the beginning of the hash of its store's id,
 * SEQ the window's number in it, so that several hosts can share a folder. In names of services,
 * kinds and hosts bytes other than letters, digits, '_', '-' and '.' (not the first) are %XX; what
 * has no name is "(none)". Of windows that are lost (lost)/START-ID-SEQ.json tells.
 *
 * The same window gives the same names again, and the same bytes, but for what frames are called by
 * then.
 */
#ifndef BPFPROF_SINK_OBJECTS_H
#define BPFPROF_SINK_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/sink.h"

enum {
	SINK_NAME_BYTES = 120, /* of a service's, kind's or host's: three fit into a file's name */
	/* Of an object's, with its folder: the time, the id, a number, and what is between them. */
	SINK_OBJECT_NAME_BYTES = 3 * SINK_NAME_BYTES + 70,
};

struct sink_object {
	struct buf folder; /* "SERVICE/KIND", or "(lost)" */
	struct buf name; /* in it */
	struct buf data;
	size_t row_cnt; /* of the window, that are in it */
};

void sink_object_init(struct sink_object *object);
void sink_object_deinit(struct sink_object *object);

/* ID of the store @host_id. */
uint32_t sink_store_id(const char *host_id);

/* Append @name as the name of a folder or a part of one: what is written above, at most
 * SINK_NAME_BYTES; longer ones end in a hash. Different names stay different. */
void sink_add_plain(struct buf *out, const char *name);

/* Keep @object, which is borrowed for the call. 0 or negative errno. */
typedef int sink_put_fn(void *arg, struct sink_object *object);

/*
 * @put the objects of @window, one after the other, until one fails: 0, or what @put returned, or
 * another negative errno. @object is made for each, and has the last one afterwards.
 */
int sink_put_objects(const struct sink_window *window, uint32_t store_id, sink_put_fn *put,
		     void *arg, struct sink_object *object);

#endif
