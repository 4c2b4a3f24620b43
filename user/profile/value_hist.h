/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of what a probe saw (--hist, --elapsed), in powers of two: samples are apart by the
 * label "hist", the lower bound of their column, so that each stack has its own; here they are
 * added up for the eye.
 */
#ifndef BPFPROF_PROFILE_VALUE_HIST_H
#define BPFPROF_PROFILE_VALUE_HIST_H

#include "base/buf.h"
#include "profile/profile.h"

/* The labels of @set and that of the power of two @log2 (0: also for the value 0). @unit: of the
 * value, "" where it has none. */
uint32_t value_hist_labels(struct profile *prof, uint32_t set, uint32_t log2, const char *unit);

/*
 * Append a table: how many samples, as value @count counts them, had a value of each power of two,
 * of those that have anything of value @value. Nothing when there are none.
 */
void value_hist_format(const struct profile *prof, uint32_t value, uint32_t count, struct buf *out);

#endif
