/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The -o files of a command: name patterns, opened before the work, written after it.
 *
 *	%t	UTC time at which the profile begins: 20261120T183012Z
 *	%n	number of the window (--interval), from 1
 *	%v	name of the value that a one-value format holds: one file per value
 *	%%	a percent sign; any other use of '%' stands for itself
 *
 * output_set_add()... -> output_set_open() -> output_set_resolve() -> output_set_write(), the last
 * three once per window. The names with %v are known only once there is a profile, so that
 * output_set_open() merely tries whether a file could be made in their folder.
 */
#ifndef BPFPROF_CLI_OUTPUTS_H
#define BPFPROF_CLI_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fs.h"
#include "encode/encoder.h"
#include "profile/profile.h"

struct output {
	char *pattern; /* owned; "-" is standard output */
	const struct encoder *encoder;
	bool per_value; /* %v */
};

/* An opened file of the current window. */
struct output_file {
	uint32_t output; /* index into outputs */
	uint32_t value; /* of a per_value output, else PROFILE_NONE */
	bool is_open; /* false: handed over to the commit */
	struct fs_output file;
};

struct output_set {
	bool force; /* replace existing regular files */
	bool is_windowed; /* --interval: standard output gets an empty line after each window */
	struct output *outputs; /* owned */
	size_t output_cnt, output_cap;
	struct output_file *files; /* owned */
	size_t file_cnt, file_cap;
	struct buf written; /* names of the files written so far in this window: "a, b" */
	char *first_page; /* owned: first file ever written that viewer_can_show(); NULL: none */
};

struct output_naming {
	uint64_t utc_ns;
	uint64_t monotonic_ns; /* when it was so late */
	uint64_t window;
};

void output_set_init(struct output_set *set);
void output_set_deinit(struct output_set *set); /* abandons what is open */

/* 0; -EINVAL with one line in @why (unknown extension, "-" or a name twice); -ENOMEM. */
int output_set_add(struct output_set *set, const char *path, struct buf *why);

/* Put ".%n" before the extension of every name that has neither %t nor %n; @interval_ns is how far
 * windows are apart: where two may begin in the same second, %t alone does not do. 0 or -ENOMEM. */
int output_set_number(struct output_set *set, uint64_t interval_ns);

/* Name the first window of a recording, or its only one: the clocks show these times. */
struct output_naming output_naming_first(uint64_t realtime_ns, uint64_t monotonic_ns);

/* Name the next window. Names keep their order and distance when the clock was set back meanwhile:
 * a file of the same recording is not to be named twice. */
void output_naming_next(struct output_naming *naming, uint64_t realtime_ns, uint64_t monotonic_ns);

/* Append the name that @pattern stands for. @value: what %v becomes; NULL leaves it. */
void output_expand(const char *pattern, const struct output_naming *naming, const char *value,
		   struct buf *out);

/* Open this window's files, none of which is visible yet. 0, or negative errno after log_error().
 */
int output_set_open(struct output_set *set, const struct output_naming *naming);

/* Open the files with %v: for value @value of @prof, or, with PROFILE_NONE, for each. Errors as
 * above. */
int output_set_resolve(struct output_set *set, const struct output_naming *naming,
		       const struct profile *prof, uint32_t value);

/*
 * Encode @prof into every file and make it visible. @opts->value serves the outputs without %v.
 * A failure is logged and does not keep the other files from being written; the first one is
 * returned.
 */
int output_set_write(struct output_set *set, const struct profile *prof,
		     const struct encoder_opts *opts);

/* Is every file that will be written this user's own (fs_output_is_ours())? */
bool output_set_is_ours(const struct output_set *set);

/* Close what is open without leaving anything. */
void output_set_abandon(struct output_set *set);

/* Say why @path could not be opened or written, and how to mend it. */
void output_log_error(const char *path, int err);

#endif
