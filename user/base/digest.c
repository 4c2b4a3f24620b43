/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <endian.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

/* RFC 1321, 3.1 and 3.2; FIPS 180-4, 5.1.1: the rest, a one bit, zeros, the length in bits; two
 * blocks where one has no room. */
static void mix_rest(const struct digest_kind *kind, uint32_t *hash, const uint8_t *rest,
		     size_t rest_len, uint64_t len)
{
	uint64_t bits = kind->is_big_endian ? htobe64(len * 8) : htole64(len * 8);
	uint8_t blocks[2 * DIGEST_BLOCK_BYTES] = {0};
	size_t cnt = rest_len + 1 + LENGTH_BYTES <= DIGEST_BLOCK_BYTES ? 1 : 2;

	memcpy(blocks, rest, rest_len);
	blocks[rest_len] = 0x80;
	memcpy(blocks + cnt * DIGEST_BLOCK_BYTES - LENGTH_BYTES, &bits, LENGTH_BYTES);
	for (size_t i = 0; i < cnt; i++)
		kind->mix(hash, blocks + i * DIGEST_BLOCK_BYTES);
}

void digest(const struct digest_kind *kind, uint32_t *hash, const uint8_t *block, const void *data,
	    size_t len, uint8_t *out)
{
	const uint8_t *bytes = data;
	size_t whole = len / DIGEST_BLOCK_BYTES * DIGEST_BLOCK_BYTES;

	if (block)
		kind->mix(hash, block);
	for (size_t at = 0; at < whole; at += DIGEST_BLOCK_BYTES)
		kind->mix(hash, bytes + at);
	/* An empty message may be NULL, which memcpy() does not take. */
	mix_rest(kind, hash, len ? bytes + whole : (const uint8_t *)"", len - whole,
		 len + (block ? DIGEST_BLOCK_BYTES : 0));
	for (size_t i = 0; i < kind->word_cnt; i++) {
		uint32_t word = kind->is_big_endian ? htobe32(hash[i]) : htole32(hash[i]);

		memcpy(out + i * sizeof(word), &word, sizeof(word));
	}
}
