/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders: pure functions from a profile to bytes; no I/O, no clocks, no BPF. One format, one
 * file, one const struct encoder; encoders[] in encoder.c is the only list of them.
 */
#ifndef BPFPROF_ENCODE_ENCODER_H
#define BPFPROF_ENCODE_ENCODER_H

#include <stdbool.h>

#include "base/buf.h"
#include "profile/profile.h"

struct encoder_opts {
	uint32_t value; /* index of the value type for one-value formats; PROFILE_NONE: the
			   profile's default */
	const char *by; /* comma list of label keys that make the first frame ("comm", "comm,pid");
			   NULL: comm. Missing labels are left out */
	bool annotate; /* folded: _[k] _[i] _[j] _[w] suffixes */
	const char *title; /* svg: NULL for a default that names the event */
	const char *subtitle; /* svg: NULL for one made from the profile (event, rate, duration) */
	const char *ledger_line; /* svg: shown under the graph; NULL: none */
};

struct encoder {
	const char *name; /* "svg" */
	const char *extension; /* ".svg"; the longest that matches a file's name wins */
	const char *help;
	bool is_one_value; /* holds a single value type */
	/* Append the encoding to @out. 0 or negative errno (out->err included). An empty profile is
	 * valid and says that it is empty. */
	int (*encode)(const struct profile *prof, const struct encoder_opts *opts, struct buf *out);
};

extern const struct encoder encoder_folded, encoder_svg, encoder_pprof, encoder_massif;

/* The encoder for @path by its extension ("-" is folded), or NULL. */
const struct encoder *encoder_for_path(const char *path);

/* Registered encoders in order, NULL-terminated. */
const struct encoder *const *encoder_list(void);

#endif
