/* SPDX-License-Identifier: Apache-2.0 */
/* What a differential graph shows of a node: its colour, its words, its data for the script. */
#include <math.h>
#include <stdlib.h>

#include "encode/svg.h"

enum { SURE_CNT = 4, NAME_COLUMNS_MAX = 4096 };

/* How often such a change is to be expected without a cause, at most: from it on, the colour. */
static const double sure_rates[SURE_CNT] = {0.05, 0.01, 0.001, 0.000001};

enum sureness { TOO_FEW, NOT_SURE, SURE };

static const char *const sure_words[] = {
	[TOO_FEW] = "too few samples",
	[NOT_SURE] = "not significant",
	[SURE] = "significant",
};

/* Only the words of svg_diff_legend() tell what these are. */
static const char *const class_names[] = {
	"g",	  "x1",	     "x2",	"x3",	   "x4",      "y1",	"y2",
	"y3",	  "y4",	     "g new",	"x1 new",  "x2 new",  "x3 new", "x4 new",
	"g gone", "y1 gone", "y2 gone", "y3 gone", "y4 gone",
};

enum { CLASS_LESS = 5, CLASS_NEW = 9, CLASS_GONE = 14 };

static enum sureness sureness_of(const struct diff_change *change)
{
	if (isnan(change->p))
		return TOO_FEW;
	return change->is_significant ? SURE : NOT_SURE;
}

/* 0: grey; else how strong the colour is. */
static unsigned strength_of(const struct diff_change *change)
{
	unsigned strength = 0;

	while (change->is_significant && strength < SURE_CNT &&
	       change->rate <= sure_rates[strength])
		strength++;
	return strength;
}

static bool is_new(const struct diff_change *change)
{
	return !change->value[DIFF_BEFORE] && change->value[DIFF_AFTER];
}

static bool is_gone(const struct diff_change *change)
{
	return change->value[DIFF_BEFORE] && !change->value[DIFF_AFTER];
}

static unsigned class_of(const struct diff_change *change)
{
	unsigned strength = strength_of(change);

	if (is_new(change))
		return CLASS_NEW + strength;
	if (is_gone(change))
		return CLASS_GONE + strength;
	return strength && change->change < 0 ? CLASS_LESS - 1 + strength : strength;
}

void svg_diff_add_class(struct buf *out, const struct svg_diff *diff, uint32_t node)
{
	buf_printf(out, " class=\"%s\"", class_names[class_of(&diff->changes[node])]);
}

/* What after is when it was scaled, too. */
static int64_t after_of(const struct diff_change *change)
{
	return diff_round((double)change->value[DIFF_BEFORE] + change->change);
}

static void add_signed(struct buf *out, const struct svg_unit *unit, double value)
{
	buf_add_str(out, value < 0 ? "\xe2\x88\x92" : "+");
	svg_add_value(out, unit, diff_round(fabs(value)));
}

/* "+26.0 %", "new", "gone". */
static void add_change(struct buf *out, const struct diff_change *change)
{
	double percent = diff_percent(change);

	if (is_gone(change))
		buf_add_str(out, "gone");
	else if (is_new(change))
		buf_add_str(out, "new");
	else
		buf_printf(out, "%s%.1f %%", percent < 0 ? "\xe2\x88\x92" : "+", fabs(percent));
}

void svg_diff_add_words(struct buf *out, const struct svg_diff *diff, uint32_t node)
{
	const struct diff_change *change = &diff->changes[node];

	svg_add_fitted(out, flame_name(diff->tree, &diff->tree->nodes[node]), NAME_COLUMNS_MAX);
	buf_add_str(out, " (");
	svg_add_value(out, diff->unit, change->value[DIFF_BEFORE]);
	buf_add_str(out, ", then ");
	svg_add_value(out, diff->unit, after_of(change));
	buf_add_str(out, ": ");
	add_signed(out, diff->unit, change->change);
	buf_add_str(out, " \xc2\xb1 ");
	svg_add_value(out, diff->unit, diff_round(change->margin));
	buf_add_str(out, ", ");
	add_change(out, change);
	buf_printf(out, ", %s)", sure_words[sureness_of(change)]);
}

void svg_diff_add_label(struct buf *out, const struct svg_diff *diff, uint32_t node)
{
	buf_add_str(out, svg_label(diff->tree, &diff->tree->nodes[node]));
	if (!diff->changes[node].is_significant)
		return;
	buf_add_char(out, ' ');
	add_change(out, &diff->changes[node]);
}

bool svg_diff_legend(uint32_t item, const char **cls, const char **text)
{
	static const char *const items[][2] = {
		{"x4", "more"},		  {"x2", "more, less surely"},
		{"y4", "less"},		  {"y2", "less, less surely"},
		{"g", "not significant"}, {"x4 new", "new"},
		{"y4 gone", "gone"},
	};

	if (item >= sizeof(items) / sizeof(*items))
		return false;
	*cls = items[item][0];
	*text = items[item][1];
	return true;
}

static int64_t before_number(const struct diff_change *change)
{
	return change->value[DIFF_BEFORE];
}

static int64_t change_number(const struct diff_change *change)
{
	return diff_round(change->change);
}

static int64_t margin_number(const struct diff_change *change)
{
	return diff_round(change->margin);
}

static int64_t class_number(const struct diff_change *change)
{
	return class_of(change);
}

static int64_t sure_number(const struct diff_change *change)
{
	return sureness_of(change);
}

static void add_words(struct buf *out, const char *key, const char *const *words, size_t cnt)
{
	buf_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < cnt; i++)
		buf_printf(out, "%s\"%s\"", i ? "," : "", words[i]);
	buf_add_char(out, ']');
}

void svg_diff_add_data(struct buf *out, const struct svg_diff *diff)
{
	static const struct {
		const char *key;
		int64_t (*number)(const struct diff_change *change);
	} columns[] = {
		{"before", before_number}, {"after", after_of},	    {"change", change_number},
		{"margin", margin_number}, {"class", class_number}, {"sure", sure_number},
	};

	buf_add_str(out, ",\n\"diff\":{");
	add_words(out, "classes", class_names, sizeof(class_names) / sizeof(*class_names));
	buf_add_char(out, ',');
	add_words(out, "words", sure_words, sizeof(sure_words) / sizeof(*sure_words));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		buf_printf(out, ",\n\"%s\":[", columns[i].key);
		for (size_t k = 0; k < diff->tree->node_cnt; k++)
			buf_printf(out, "%s%lld", k ? "," : "",
				   (long long)columns[i].number(&diff->changes[k]));
		buf_add_char(out, ']');
	}
	buf_add_char(out, '}');
}
