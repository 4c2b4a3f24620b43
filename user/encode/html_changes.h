/* SPDX-License-Identifier: Apache-2.0 */
/* The flame tree of a difference, and what became of its nodes, as the report shows it. */
#ifndef BPFPROF_ENCODE_HTML_CHANGES_H
#define BPFPROF_ENCODE_HTML_CHANGES_H

#include "base/buf.h"
#include "encode/diff_svg.h"
#include "encode/flame.h"

struct diff_report;

struct html_change {
	int64_t value[DIFF_SIDE_CNT]; /* of diff.joined, with all that it calls */
	double width; /* likewise */
	int8_t strength; /* -4, surely less, to 4, surely more; 0: chance can explain it */
};

struct html_changes {
	const struct diff_report *report; /* borrowed */
	enum diff_width width;
	struct flame_tree tree; /* totals are widths, in parts of the whole */
	struct html_change *nodes; /* owned; by node */
};

/* 0, or negative errno as flame_build(). Release with html_changes_deinit() in either case. */
int html_changes_init(struct html_changes *changes, const struct diff_report *report,
		      enum diff_width width);
void html_changes_deinit(struct html_changes *changes);

/* The style's colour for it: "x4" to "x1", "same", "y1" to "y4". */
void html_change_colour(const struct html_change *change, struct buf *out);

/* What is told behind the name of @node: " +26.0 %", " new", " gone"; nothing where chance can
 * explain it. */
void html_change_words(const struct html_changes *changes, uint32_t node, struct buf *out);

#endif
