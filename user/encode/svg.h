/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the SVG encoder: what svg.c (the document) and its parts share. Not for others; the
 * outside is encoder_svg in encode/encoder.h. Everything appends to a struct buf, whose sticky
 * error is checked once, at the end of the encoding.
 */
#ifndef BPFPROF_ENCODE_SVG_H
#define BPFPROF_ENCODE_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/task.h"
#include "encode/encoder.h"
#include "encode/flame.h"
#include "profile/diff.h"

/* Pixels. The script gets those that it needs with the data. */
enum {
	SVG_WIDTH = 1200, /* of the plain image; the script follows the window */
	SVG_MARGIN = 16,
	SVG_ROW = 18, /* one frame and the gap above it */
	SVG_SHADES = 6, /* per kind; a function has the same one in every graph */
};

/* How values are written: "1,234 samples", "1.23 ms", "4.50 KiB". */
enum svg_scale {
	SVG_COUNT,
	SVG_TIME, /* values are nanoseconds */
	SVG_BYTES,
};

struct svg_unit {
	enum svg_scale scale;
	const char *noun; /* borrowed from the profile: "samples", "nanoseconds" */
};

/* What a value of this type and unit counts: its type when the unit is "count", else its unit. */
struct svg_unit svg_unit_of(const char *type, const char *unit);
void svg_add_value(struct buf *out, const struct svg_unit *unit, int64_t value);
void svg_add_percent(struct buf *out, int64_t part, int64_t whole); /* "12.34%" */
void svg_add_grouped(struct buf *out, uint64_t value); /* "1,234,567" */
void svg_add_fixed(struct buf *out, uint64_t hundredths); /* "12.5": in no locale's manner */

/*
 * Text from outside, made harmless: control bytes and characters that reorder or break lines become
 * '?', bytes that are not UTF-8 (and the non-characters that XML forbids) U+FFFD.
 */
void svg_add_clean(struct buf *out, const char *str); /* nothing else: what quotes stays */
void svg_add_text(struct buf *out, const char *str); /* as XML text or attribute value */
void svg_add_json_str(struct buf *out, const char *str); /* quoted; has no '<', '>', '&' either */

/* Like svg_add_text(), cut to at most @columns of a fixed-width font; what is cut ends in U+2026.
 */
void svg_add_fitted(struct buf *out, const char *str, uint32_t columns);

/*
 * A <text> of class @cls whose lines, broken at spaces to @columns, are <tspan>s from baseline @y
 * on,
 * @leading pixels apart, the last of at most @max_lines cut. Returns the number of lines.
 */
uint32_t svg_add_paragraph(struct buf *out, const char *cls, const char *str, uint32_t y,
			   uint32_t leading, uint32_t columns, uint32_t max_lines);

/* Class attribute of a node: kind and shade, and what it is besides ("k3 i"). A shade "b" or "q" is
 * that of a state, for code that is mostly blocked or runnable. */
void svg_add_class(struct buf *out, const struct flame_tree *tree, const struct flame_node *node);

/* The letter of a kind in classes and in the style's colours, and whether it has shades: "u0" to
 * "u5". */
char svg_kind_letter(enum flame_kind kind);
bool svg_kind_has_shades(enum flame_kind kind);

/* The word for a kind in the legend and in the details: "library". */
const char *svg_kind_name(enum flame_kind kind);

/* What is written on a node: its name, but words for the line under a waker's frames. */
const char *svg_label(const struct flame_tree *tree, const struct flame_node *node);

/* What a differential graph knows of its nodes, in their order (diff_svg.c); other graphs have
 * none: NULL. */
struct svg_diff {
	const struct flame_tree *tree;
	const struct svg_unit *unit;
	const struct diff_change *changes;
};

void svg_diff_add_class(struct buf *out, const struct svg_diff *diff, uint32_t node);

/* "main (1.00 s, then 1.50 s: +500.00 ms +- ...)". */
void svg_diff_add_words(struct buf *out, const struct svg_diff *diff, uint32_t node);

/* What is written on a node: its name and the sign of what is significant. */
void svg_diff_add_label(struct buf *out, const struct svg_diff *diff, uint32_t node);

/* The colours, one after the other: class and text of item @item; false: there are no more. */
bool svg_diff_legend(uint32_t item, const char **cls, const char **text);

/* What the script needs beside the tree, after a comma. */
void svg_diff_add_data(struct buf *out, const struct svg_diff *diff);

/* The whole tree as JSON, for the script: schema in svg_data.c. */
struct svg_data {
	const struct flame_tree *tree; /* borrowed */
	uint32_t *numbers; /* owned: by name, in order of first use */
	struct buf names;
	size_t first_cnt; /* nodes; those behind them are written by a thread */
	struct buf second; /* the thread's */
	struct task task;
};

/* Begin to write @tree, which stays until the end. 0 or -ENOMEM; release with svg_data_deinit() in
 * either case. */
int svg_data_begin(struct svg_data *data, const struct flame_tree *tree);
/* Append all of it. 0 or -ENOMEM; once. */
int svg_data_end(struct svg_data *data, struct buf *out, const struct svg_unit *unit,
		 const struct svg_diff *diff);
void svg_data_deinit(struct svg_data *data);

/* The frames as SVG, root at the bottom. */
struct svg_frames {
	const struct flame_tree *tree;
	const struct svg_unit *unit;
	const struct svg_diff *diff; /* NULL: none */
	uint32_t min_width; /* narrower frames are left to the script; 1/100 px */
	uint32_t row_cnt; /* levels that have a frame of that width */
};

/* Decide min_width and row_cnt. */
void svg_frames_init(struct svg_frames *frames, const struct flame_tree *tree,
		     const struct svg_unit *unit, const struct svg_diff *diff);

/* Draw them with the top of the uppermost row at @top. */
void svg_add_frames(struct buf *out, const struct svg_frames *frames, uint32_t top);

/* The document around @tree, which is made of value @value of @prof (PROFILE_NONE: it has none). 0
 * or negative errno. */
int svg_add_document(struct buf *out, const struct profile *prof, const struct encoder_opts *opts,
		     uint32_t value, const struct flame_tree *tree, const struct svg_diff *diff);

#endif
