/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), with padding. */
#ifndef BPFPROF_BASE_BASE64_H
#define BPFPROF_BASE_BASE64_H

#include "base/buf.h"

void base64_add(struct buf *out, const void *data, size_t len);

#endif
