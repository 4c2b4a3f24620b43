/* SPDX-License-Identifier: Apache-2.0 */
/* MD5: each block is mixed into four words of state in four rounds. */
#include "base/md5.h"

#include <endian.h>
#include <string.h>

#include "base/digest.h"

enum { STEP_CNT = 64, STATE_WORDS = 4 };

/* RFC 1321, 3.4: 2^32 times the sine's absolute value of 1 to 64 (radians), its whole part. */
static const uint32_t step_constants[STEP_CNT] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
	0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
	0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
	0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
	0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
	0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
	0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
	0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
	0xeb86d391,
};

/* How far each of a round's four steps, which take turns, rotates. */
static const uint8_t rotations[4][4] = {
	{7, 12, 17, 22},
	{5, 9, 14, 20},
	{4, 11, 16, 23},
	{6, 10, 15, 21},
};

/* The function of the @step's round, and which word of the block it takes. */
static uint32_t choose(unsigned int step, uint32_t b, uint32_t c, uint32_t d, unsigned int *word)
{
	switch (step / 16) {
	case 0:
		*word = step;
		return (b & c) | (~b & d);
	case 1:
		*word = (5 * step + 1) % 16;
		return (b & d) | (c & ~d);
	case 2:
		*word = (3 * step + 5) % 16;
		return b ^ c ^ d;
	default:
		*word = 7 * step % 16;
		return c ^ (b | ~d);
	}
}

static void mix(uint32_t *hash, const uint8_t *block)
{
	uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], words[16];

	memcpy(words, block, sizeof(words));
	for (unsigned int step = 0; step < STEP_CNT; step++) {
		const unsigned int by = rotations[step / 16][step % 4];
		unsigned int word;
		uint32_t sum = a + choose(step, b, c, d, &word) + step_constants[step];

		sum += le32toh(words[word]);
		a = d;
		d = c;
		c = b;
		b += sum << by | sum >> (32 - by);
	}
	hash[0] += a;
	hash[1] += b;
	hash[2] += c;
	hash[3] += d;
}

static const struct digest_kind kind = {.mix = mix, .word_cnt = STATE_WORDS};

void md5(const void *data, size_t len, uint8_t out[MD5_BYTES])
{
	uint32_t hash[STATE_WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

	digest(&kind, hash, NULL, data, len, out);
}
