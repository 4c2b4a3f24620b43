/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) of bytes in memory, and HMAC by it (RFC 2104). */
#ifndef BPFPROF_BASE_SHA256_H
#define BPFPROF_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES]);

/* HMAC-SHA-256 by a key of any length; @out may be @key. */
void sha256_hmac(const void *key, size_t key_len, const void *data, size_t len,
		 uint8_t out[SHA256_BYTES]);

#endif
