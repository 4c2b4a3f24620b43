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

struct profile_calls;
struct encoder_sink;
struct html_changes;

struct encoder_opts {
	uint32_t value; /* index of the value type for one-value formats; PROFILE_NONE: the
			   profile's default */
	const char *by; /* comma list of label keys that make the first frame ("comm", "comm,pid");
			   NULL: comm. Missing labels are left out */
	bool annotate; /* folded: _[k] _[i] _[j] _[w] suffixes */
	const char *title; /* svg: NULL for a default that names the event */
	const char *subtitle; /* svg: NULL for one made from the profile (event, rate, duration) */
	const char *ledger_line; /* svg: shown under the graph; NULL: none */
	const char *sources; /* html: JSON, source lines (cli/source_embed.h); NULL: none */
	const char *difference; /* html: JSON, what its values "before" and "after" differ in
				   (html_diff.js); NULL: they are no two sides */
	const struct html_changes
		*changes; /* html: of a difference, what its first picture shows */
	const struct profile_calls *calls; /* svg: of the profile, which is their head; NULL: its
					      samples are drawn */
	bool is_near; /* html: it goes nowhere: larger, because not compressed, but there sooner */
	bool has_head; /* html: html_add_head() has written the beginning */
	bool has_first; /* html: so has html_add_first_calls() what follows it */
	const struct encoder_sink *sink; /* html: gets all but the last piece; NULL: there is one */
};

/* Takes pieces of an encoding while the rest is being made. */
struct encoder_sink {
	uint64_t max_bytes; /* what may become larger is made whole, so that it can be refused */
	/* Take the content of @out, which is empty then. 0, or negative errno, which ends it. */
	int (*take)(void *arg, struct buf *out);
	void *arg;
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
extern const struct encoder encoder_speedscope, encoder_callgrind, encoder_dot, encoder_json,
	encoder_perf_script, encoder_html, encoder_pgo, encoder_autofdo;

/* Folded stacks with two columns, @opts->value and value @second of @prof: what difffolded.pl
 * writes and flamegraph.pl colours. Errors as of encode(). */
int folded_encode_pair(const struct profile *prof, const struct encoder_opts *opts, uint32_t second,
		       struct buf *out);

/* The sources that a report allows in itself, as of a Content-Security-Policy: 'sha256-...' of its
 * script, and of its style. */
void html_add_script_source(struct buf *out);
void html_add_style_source(struct buf *out);

/* What all reports begin with: a browser that has it prepares to show what follows. */
void html_add_head(struct buf *out);

/* What follows it, the first picture included, of the calls of the report's profile. 0 or negative
 * errno as flame_build_calls(); @out is then as it was. */
int html_add_first_calls(const struct profile_calls *calls, const struct encoder_opts *opts,
			 struct buf *out);

/* What follows it where there is no report: @why, in the element with the id "failed". */
void html_add_failure(struct buf *out, const char *why);

/* The same behind any pieces of a report that ends there. */
void html_add_break(struct buf *out, const char *why);

/* The encoder for @path by its extension ("-" is folded), or NULL. */
const struct encoder *encoder_for_path(const char *path);

/* The value that a format of one value holds of @prof into *@out, PROFILE_NONE where the profile
 * has neither values nor samples. 0, or -EINVAL: there is no such value. */
int encoder_pick_value(const struct profile *prof, const struct encoder_opts *opts, uint32_t *out);

/* Registered encoders in order, NULL-terminated. */
const struct encoder *const *encoder_list(void);

#endif
