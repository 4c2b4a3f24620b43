/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a segment of a relay's spool consists of: records, one behind the other, each a message as
 * it was received (sink/relay_message.h, compressed) behind a head that has its length and a
 * checksum of both. A segment has no head of its own: whatever has become of a part of it, the
 * records that are whole are found. In the machine's byte order.
 */
#ifndef BPFPROF_RELAY_RELAY_RECORD_H
#define BPFPROF_RELAY_RELAY_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What is known of a message without reading it. */
struct relay_record {
	uint64_t nr; /* of all that the spool has had */
	uint64_t received_ns; /* UTC */
	uint64_t host, first_seq, last_seq;
	uint64_t rows; /* of samples */
};

enum {
	RELAY_RECORD_HEAD_BYTES = 64,
	RELAY_RECORD_BYTES_MAX = 1 << 30, /* of a message */
};

/* Append the record of @message, @len bytes (at most RELAY_RECORD_BYTES_MAX), to @out. */
void relay_record_add(struct buf *out, const struct relay_record *record, const void *message,
		      size_t len);

/* A record that was found. */
struct relay_found {
	struct relay_record record;
	size_t at; /* where its head begins */
	size_t end; /* behind its message, which is what is behind the head */
};

/*
 * The record at @at of @data, of which there are @len bytes. 0; -EBADMSG: none begins there that is
 * whole. O(bytes of the record).
 */
int relay_record_read(const void *data, size_t len, size_t at, struct relay_found *out);

/* The first record at @at or behind it. 0; -ENOENT: there is none. What is damaged costs as much as
 * reading it once for every record's beginning in it. */
int relay_record_find(const void *data, size_t len, size_t at, struct relay_found *out);

#endif
