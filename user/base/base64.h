/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), with padding. */
#ifndef BPFPROF_BASE_BASE64_H
#define BPFPROF_BASE_BASE64_H

#include "base/buf.h"

void base64_add(struct buf *out, const void *data, size_t len);

/* Append what the string @text encodes. 0; -EINVAL: it is no base64 with padding; out->err. A part
 * may have been appended on failure. */
int base64_decode(const char *text, struct buf *out);

#endif
