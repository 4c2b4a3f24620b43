/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of profiles: pprof (ours or anybody's), folded text, the text of perf script, our JSON;
 * each gzipped or not. Bytes in, profile out; hostile input is expected. decoders[] in decode.c is
 * the only list of them.
 */
#ifndef BPFPROF_ENCODE_DECODE_H
#define BPFPROF_ENCODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "profile/profile.h"

struct decoder {
	const char *name; /* "folded" */
	/* Does @data, not compressed, look like it? Of the first that says so all of it is read. */
	bool (*sniff)(const void *data, size_t len);
	/* As profile_decode(), of data that is not compressed. */
	int (*decode)(const void *data, size_t len, struct profile *out, struct buf *why);
};

/* Registered decoders in the order in which they are asked, NULL-terminated. */
const struct decoder *const *decoder_list(void);

/*
 * Find out what @data is and add it to @out (initialised, empty). 0; -EBADMSG: corrupt or of no
 * known format; -EFBIG: more than 1 GiB uncompressed; -ENOMEM. @out may hold a part on failure and
 * must only be deinitialised. @why (may be NULL) gets one line, on success of what was left out.
 */
int profile_decode(const void *data, size_t len, struct profile *out, struct buf *why);

int pprof_decode(const void *data, size_t len, struct profile *out, struct buf *why);
int folded_decode(const void *data, size_t len, struct profile *out, struct buf *why);
int perf_script_decode(const void *data, size_t len, struct profile *out, struct buf *why);
int json_decode(const void *data, size_t len, struct profile *out, struct buf *why);

/* Is @data, text, from perf script? */
bool perf_script_sniff(const void *data, size_t len);

#endif
