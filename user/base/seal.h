/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What files of ours begin with that may be cut short, damaged, or written by another version of
 * us: their kind, the versions of what made them, and a checksum. In the machine's byte order.
 */
#ifndef BPFPROF_BASE_SEAL_H
#define BPFPROF_BASE_SEAL_H

#include <stddef.h>
#include <stdint.h>

struct seal {
	uint8_t magic[8];
	uint32_t format; /* version of how the content is laid out */
	uint32_t rules; /* version of what makes the content */
	uint64_t checksum; /* XXH3-64 of all that follows this field, to the end of the file */
};

_Static_assert(sizeof(struct seal) == 24, "no padding");

/* A piece of a file; borrowed. */
struct seal_part {
	const void *data;
	size_t len;
};

/*
 * The @cnt @parts behind each other, *owned* (free()), *@len of them. The first begins with a
 * struct seal, whose checksum is put in. NULL + ENOMEM.
 */
void *seal_join(const struct seal_part *parts, size_t cnt, size_t *len);

/* Is @seal of the kind and the versions of @wanted? 0; -EBADMSG: of another kind; -ESTALE: of
 * another version. */
int seal_check(const struct seal *seal, const struct seal *wanted);

/* What the checksum of @file must be; its @len bytes are a struct seal at least. O(len). */
uint64_t seal_checksum(const void *file, size_t len);

#endif
