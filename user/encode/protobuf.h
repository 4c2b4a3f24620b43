/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protobuf wire format (protobuf.dev, "Encoding"), as much of it as profiles need: varints,
 * numbers of 64 bits and length-delimited fields are written; every wire type but the withdrawn
 * groups is read.
 */
#ifndef BPFPROF_ENCODE_PROTOBUF_H
#define BPFPROF_ENCODE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"

enum pb_wire {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2, /* strings, messages, packed numbers */
	PB_FIXED32 = 5
};

/* One field as read. */
struct pb_field {
	uint32_t number;
	uint32_t wire; /* enum pb_wire */
	uint64_t value; /* of a number */
	struct reader bytes; /* of PB_BYTES; borrowed */
};

/* The next field of the message in @rd. False at its end, and on malformed bytes, when rd->err is
 * set. */
bool pb_next(struct reader *rd, struct pb_field *out);

void pb_add_varint(struct buf *out, uint64_t value);

/* Fields, written even when they hold the default value. */
void pb_add_uint(struct buf *out, uint32_t number, uint64_t value);
void pb_add_fixed64(struct buf *out, uint32_t number, uint64_t value);
void pb_add_bytes(struct buf *out, uint32_t number, const void *data, size_t len);

void pb_add_double(struct buf *out, uint32_t number, double value);

/* As the above, but a 0 is left out, as proto3 wants it. */
void pb_add_nonzero(struct buf *out, uint32_t number, uint64_t value);

/*
 * A message or packed numbers, whose length is known only at the end: what is appended between
 * begin and end is its content. They nest. Begin returns what end has to be given.
 */
size_t pb_begin(struct buf *out, uint32_t number);
void pb_end(struct buf *out, size_t begin);

#endif
