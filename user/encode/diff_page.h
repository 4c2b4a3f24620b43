/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as a page and as pictures: what a diff_report says, drawn. */
#ifndef BPFPROF_ENCODE_DIFF_PAGE_H
#define BPFPROF_ENCODE_DIFF_PAGE_H

#include "base/buf.h"
#include "encode/diff_report.h"
#include "encode/diff_svg.h"
#include "encode/encoder.h"

/*
 * Append @report, which is concluded (but for the folded stacks). @title (borrowed) may be NULL:
 * one that names the value. 0 or negative errno (those of the encoders, out->err included).
 */
int diff_page_svg(const struct diff_report *report, enum diff_width width, const char *title,
		  struct buf *out);

/* The report of both sides, one HTML file. Of @way only is_near, has_head and sink count; NULL:
 * none of them. */
int diff_page_html(const struct diff_report *report, enum diff_width width, const char *title,
		   const struct encoder_opts *way, struct buf *out);

/* Two columns: before and after. */
int diff_page_folded(const struct diff_report *report, struct buf *out);

#endif
