/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first picture of a difference: what html_diff.js makes of the profile, so that the picture is
 * that of the report which takes its place. The tree is that of both sides; a node's before and
 * after are those of everything above it, and how surely it changed is what is known of its
 * function.
 */
#include "encode/html_changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/diff_report.h"

static const double WHOLE = 1e15; /* of the width, as an integer */

/* How often such a change comes by chance, at most, from 1 to 4. */
static const double sure_rates[] = {0.05, 0.01, 0.001, 0.000001};

static int strength_of(const struct diff_change *change)
{
	int strength = 0;

	if (!change->is_significant || isnan(change->rate))
		return 0;
	for (size_t i = 0; i < sizeof(sure_rates) / sizeof(*sure_rates); i++)
		strength += change->rate <= sure_rates[i];
	return strength;
}

static double width_of(const struct html_changes *changes, const int64_t *values)
{
	double before = values[DIFF_BEFORE] > 0 ? (double)values[DIFF_BEFORE] : 0;
	double after = values[DIFF_AFTER] > 0 ? (double)values[DIFF_AFTER] : 0;

	switch (changes->width) {
	case DIFF_WIDTH_BEFORE:
		return before;
	case DIFF_WIDTH_MAX:
		return before > after ? before : after;
	case DIFF_WIDTH_SUM:
		return before + after;
	default:
		return after;
	}
}

/* The tree of all samples, and by sample where its stack ends. */
static int build_tree(struct html_changes *changes, uint32_t **leaves)
{
	const struct diff *diff = changes->report->diff;
	struct profile both = diff->joined; /* its values are ours */
	_cleanup_free_ int64_t *sums = calloc(both.sample_cnt + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < both.sample_cnt; i++) {
		const int64_t *values = diff->joined.values + i * both.value_type_cnt;

		sums[i] = values[DIFF_BEFORE] > 0 || values[DIFF_AFTER] > 0;
	}
	both.values = sums;
	both.value_cnt = both.sample_cnt;
	both.value_type_cnt = both.value_type_cnt ? 1 : 0;
	return flame_build_unsorted(&both, both.value_type_cnt ? 0 : PROFILE_NONE, diff->by,
				    &changes->tree, leaves);
}

static void add_change(struct html_change *to, const int64_t *values, double width)
{
	for (int side = DIFF_BEFORE; side <= DIFF_AFTER; side++)
		if (values[side] > 0)
			to->value[side] += values[side];
	to->width += width;
}

/* What each node has on either side, and its width. */
static void add_up(struct html_changes *changes, const uint32_t *leaves)
{
	const struct profile *joined = &changes->report->diff->joined;
	struct flame_node *nodes = changes->tree.nodes;
	struct html_change *sums = changes->nodes;

	for (size_t i = 0; i < joined->sample_cnt; i++) {
		const int64_t *values = joined->values + i * joined->value_type_cnt;

		if (leaves[i] != PROFILE_NONE)
			add_change(&sums[leaves[i]], values, width_of(changes, values));
	}
	for (size_t i = changes->tree.node_cnt; i-- > 1;)
		add_change(&sums[nodes[i].parent], sums[i].value, sums[i].width);
	for (size_t i = 0; i < changes->tree.node_cnt; i++)
		nodes[i].total =
			sums->width > 0 ? diff_round(sums[i].width / sums->width * WHOLE) : 0;
}

/* By name, and whether it is the kernel's. */
static size_t function_at(uint32_t name, bool is_kernel)
{
	return 2 * (size_t)name + is_kernel;
}

static void weigh_functions(const struct html_changes *changes, uint8_t *strengths)
{
	const struct diff_report *report = changes->report;
	const struct profile *joined = &report->diff->joined;

	for (size_t i = 0; i < report->order_cnt; i++) {
		const struct diff_row *row = &report->diff->rows[report->order[i]];
		const char *text = profile_location_name(joined, row->location, 0);
		uint32_t name = strtab_find(&changes->tree.names, text, strlen(text));
		bool is_kernel = joined->locations[row->location].flags & LOCATION_KERNEL;

		if (name != STRTAB_NONE)
			strengths[function_at(name, is_kernel)] = (uint8_t)strength_of(&row->total);
	}
}

static int weigh_nodes(struct html_changes *changes)
{
	_cleanup_free_ uint8_t *strengths = calloc(2 * changes->tree.names.cnt + 1, 1);
	int whole = strength_of(&changes->report->diff->total);

	if (!strengths)
		return -ENOMEM;
	weigh_functions(changes, strengths);
	for (size_t i = 0; i < changes->tree.node_cnt; i++) {
		const struct flame_node *node = &changes->tree.nodes[i];
		struct html_change *change = &changes->nodes[i];
		int64_t before = change->value[DIFF_BEFORE], after = change->value[DIFF_AFTER];
		int strength =
			i ? strengths[function_at(node->name, node->kind == FLAME_KERNEL)] : whole;

		if (node->kind != FLAME_PROCESS)
			change->strength = (int8_t)(after < before   ? -strength
						    : after > before ? strength
								     : 0);
	}
	return 0;
}

int html_changes_init(struct html_changes *changes, const struct diff_report *report,
		      enum diff_width width)
{
	_cleanup_free_ uint32_t *leaves = NULL;
	int err;

	*changes = (struct html_changes){.report = report, .width = width};
	err = build_tree(changes, &leaves);
	if (err)
		return err;
	changes->nodes = calloc(changes->tree.node_cnt, sizeof(*changes->nodes));
	if (!changes->nodes)
		return -ENOMEM;
	add_up(changes, leaves);
	return weigh_nodes(changes);
}

void html_changes_deinit(struct html_changes *changes)
{
	flame_deinit(&changes->tree);
	free(changes->nodes);
}

void html_change_colour(const struct html_change *change, struct buf *out)
{
	if (change->strength)
		buf_printf(out, "%c%d", change->strength > 0 ? 'x' : 'y', abs(change->strength));
	else
		buf_add_str(out, "same");
}

void html_change_words(const struct html_changes *changes, uint32_t node, struct buf *out)
{
	const struct html_change *change = &changes->nodes[node];
	double before = (double)change->value[DIFF_BEFORE];
	double after = (double)change->value[DIFF_AFTER];

	if (!change->strength)
		return;
	if (!(before > 0))
		buf_add_str(out, after > 0 ? " new" : " ");
	else if (!(after > 0))
		buf_add_str(out, " gone");
	else
		buf_printf(out, " %s%.1f %%", after < before ? "\xe2\x88\x92" : "+",
			   fabs(100 * (after - before) / before));
}
