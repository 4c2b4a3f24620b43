/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of profiles: pprof (ours or anybody's, gzip or raw) and folded text. Bytes in, profile
 * out; hostile input is expected. */
#ifndef BPFPROF_ENCODE_DECODE_H
#define BPFPROF_ENCODE_DECODE_H

#include <stddef.h>

#include "base/buf.h"
#include "profile/profile.h"

/*
 * Find out what @data is and add it to @out (initialised, empty). 0; -EBADMSG: corrupt or of no
 * known format; -EFBIG: more than 1 GiB uncompressed; -ENOMEM. @out may hold a part on failure and
 * must only be deinitialised. @why (may be NULL) gets one line.
 */
int profile_decode(const void *data, size_t len, struct profile *out, struct buf *why);

int pprof_decode(const void *data, size_t len, struct profile *out, struct buf *why);
int folded_decode(const void *data, size_t len, struct profile *out, struct buf *why);

#endif
