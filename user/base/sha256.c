/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: each block is mixed into eight words of state. */
#include "base/sha256.h"

#include <endian.h>
#include <string.h>

#include "base/digest.h"

enum { ROUND_CNT = 64, STATE_WORDS = 8 };
enum { INNER_PAD = 0x36, OUTER_PAD = 0x5c /* RFC 2104, section 2 */ };

/* FIPS 180-4, 4.2.2: the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUND_CNT] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned by)
{
	return word >> by | word << (32 - by);
}

/* 6.2.2, step 1: the block's 16 words, stretched to one per round. */
static void schedule(const uint8_t *block, uint32_t words[ROUND_CNT])
{
	for (int i = 0; i < 16; i++) {
		memcpy(&words[i], block + i * sizeof(*words), sizeof(*words));
		words[i] = be32toh(words[i]);
	}
	for (int i = 16; i < ROUND_CNT; i++) {
		uint32_t near = words[i - 2], far = words[i - 15];

		words[i] = words[i - 16] + words[i - 7] +
			   (rotate(far, 7) ^ rotate(far, 18) ^ far >> 3) +
			   (rotate(near, 17) ^ rotate(near, 19) ^ near >> 10);
	}
}

/* 6.2.2, steps 2 to 4; the state is a to h. */
static void mix(uint32_t *hash, const uint8_t *block)
{
	uint32_t words[ROUND_CNT], state[STATE_WORDS];

	schedule(block, words);
	memcpy(state, hash, sizeof(state));
	for (int i = 0; i < ROUND_CNT; i++) {
		uint32_t a = state[0], e = state[4];
		uint32_t choice = (e & state[5]) ^ (~e & state[6]);
		uint32_t majority = (a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2]);
		uint32_t first = state[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				 choice + round_constants[i] + words[i];
		uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;

		memmove(state + 1, state, 7 * sizeof(*state));
		state[4] += first;
		state[0] = first + second;
	}
	for (int i = 0; i < STATE_WORDS; i++)
		hash[i] += state[i];
}

static const struct digest_kind kind = {.mix = mix, .word_cnt = STATE_WORDS, .is_big_endian = true};

/* Of a block (NULL: none) and @len bytes behind it. */
static void digest_behind(const uint8_t *block, const void *data, size_t len,
			  uint8_t out[SHA256_BYTES])
{
	/* 5.3.3: the fractions of the square roots of the first eight primes */
	uint32_t hash[STATE_WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	digest(&kind, hash, block, data, len, out);
}

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES])
{
	digest_behind(NULL, data, len, out);
}

void sha256_hmac(const void *key, size_t key_len, const void *data, size_t len,
		 uint8_t out[SHA256_BYTES])
{
	uint8_t block[DIGEST_BLOCK_BYTES] = {0}, inner[SHA256_BYTES];

	if (key_len > DIGEST_BLOCK_BYTES)
		sha256(key, key_len, block);
	else if (key_len)
		memcpy(block, key, key_len);
	for (int i = 0; i < DIGEST_BLOCK_BYTES; i++)
		block[i] ^= INNER_PAD;
	digest_behind(block, data, len, inner);
	for (int i = 0; i < DIGEST_BLOCK_BYTES; i++)
		block[i] ^= INNER_PAD ^ OUTER_PAD;
	digest_behind(block, inner, sizeof(inner), out);
	explicit_bzero(block, sizeof(block));
}
