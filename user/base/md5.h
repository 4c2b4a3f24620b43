/* SPDX-License-Identifier: Apache-2.0 */
/* MD5 (RFC 1321) of bytes in memory: against damage on the way, not against anybody. */
#ifndef BPFPROF_BASE_MD5_H
#define BPFPROF_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_BYTES = 16 };

void md5(const void *data, size_t len, uint8_t out[MD5_BYTES]);

#endif
