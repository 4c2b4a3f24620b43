/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differential flame graph: the flame graph of both sides together, red where there is more
 * after, blue where less, the stronger the surer, grey where chance can explain it.
 */
#ifndef BPFPROF_ENCODE_DIFF_SVG_H
#define BPFPROF_ENCODE_DIFF_SVG_H

#include "base/buf.h"
#include "profile/diff.h"

/* What makes a frame wide. Of the larger and of the sum: what its stacks have, added up. */
enum diff_width {
	DIFF_WIDTH_AFTER,
	DIFF_WIDTH_BEFORE,
	DIFF_WIDTH_MAX,
	DIFF_WIDTH_SUM,
};

struct diff_svg_opts {
	enum diff_width width;
	const char *title;
	const char *subtitle; /* the graph adds what its width hides */
};

/* Append the graph of @diff, which is finished. 0 or negative errno (those of flame_build(),
 * out->err included). */
int diff_svg_encode(const struct diff *diff, const struct diff_svg_opts *opts, struct buf *out);

#endif
