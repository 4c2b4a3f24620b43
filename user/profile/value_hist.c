/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of powers of two. */
#include "profile/value_hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { HIST_CNT = 64, BAR_WIDTH = 40 };

static const char hist_key[] = "hist";

uint32_t value_hist_labels(struct profile *prof, uint32_t set, uint32_t log2, const char *unit)
{
	const struct profile_label_set *old = &prof->label_sets[set];
	_cleanup_free_ struct profile_label *labels = NULL;
	size_t cnt = old->cnt;

	labels = calloc(cnt + 1, sizeof(*labels));
	if (!labels) {
		prof->err = -ENOMEM;
		return PROFILE_NONE;
	}
	memcpy(labels, prof->labels + old->first, cnt * sizeof(*labels));
	labels[cnt] = (struct profile_label){
		.key = profile_string(prof, hist_key),
		.str = PROFILE_NONE,
		.num = log2 ? INT64_C(1) << (log2 < 62 ? log2 : 62) : 0,
		.num_unit = profile_string(prof, unit),
	};
	return profile_labels(prof, labels, cnt + 1);
}

/* The column of the label set @set; -1: it has none. */
static int column_of(const struct profile *prof, uint32_t set)
{
	const struct profile_label_set *labels = &prof->label_sets[set];

	for (uint32_t i = labels->first; i < labels->first + labels->cnt; i++) {
		const struct profile_label *label = &prof->labels[i];

		if (label->str == PROFILE_NONE && !strcmp(profile_str(prof, label->key), hist_key))
			return label->num > 0 ? 63 - __builtin_clzll((uint64_t)label->num) : 0;
	}
	return -1;
}

static void add_column(struct buf *out, int column, int64_t cnt, int64_t most)
{
	unsigned long long from = column ? 1ULL << column : 0;

	buf_printf(out, "%16llu -> %-16llu %12lld |", from, (2ULL << column) - 1, (long long)cnt);
	/* Counts that were scaled back may be so large that a product with them has no room. */
	for (int i = 0; i < BAR_WIDTH; i++)
		buf_add_char(out, (double)i * (double)most < (double)cnt * BAR_WIDTH ? '*' : ' ');
	buf_add_str(out, "|\n");
}

void value_hist_format(const struct profile *prof, uint32_t value, uint32_t count, struct buf *out)
{
	int64_t columns[HIST_CNT] = {0}, most = 0;
	int first = HIST_CNT, last = -1;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const int64_t *values = prof->values + i * prof->value_type_cnt;
		int column = values[count] > 0 ? column_of(prof, prof->samples[i].label_set) : -1;

		if (column < 0 || (!values[value] && column))
			continue;
		columns[column] = profile_value_sum(columns[column], values[count]);
		most = columns[column] > most ? columns[column] : most;
		first = column < first ? column : first;
		last = column > last ? column : last;
	}
	if (last < 0)
		return;
	buf_printf(out, "%16s    %-16s %12s\n", profile_str(prof, prof->value_types[value].unit),
		   "", "count");
	for (int column = first; column <= last; column++)
		add_column(out, column, columns[column], most);
}
