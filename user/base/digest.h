/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MD5 (RFC 1321) and SHA-256 (FIPS 180-4) have in common: a message is cut into blocks, the
 * last of which ends with its length; each is mixed into words of state, which are the digest.
 */
#ifndef BPFPROF_BASE_DIGEST_H
#define BPFPROF_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BLOCK_BYTES = 64 };

struct digest_kind {
	void (*mix)(uint32_t *hash, const uint8_t *block);
	size_t word_cnt;
	bool is_big_endian; /* the length and the words of the digest */
};

/* Of @block (NULL: none) and @len bytes of @data behind it, beginning with @hash, which is changed.
 * @out: four bytes for each word. */
void digest(const struct digest_kind *kind, uint32_t *hash, const uint8_t *block, const void *data,
	    size_t len, uint8_t *out);

#endif
