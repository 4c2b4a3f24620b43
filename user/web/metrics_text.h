/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in Prometheus' text exposition format, version 0.0.4, whose names begin with "bpfprof_".
 */
#ifndef BPFPROF_WEB_METRICS_TEXT_H
#define BPFPROF_WEB_METRICS_TEXT_H

#include <stdint.h>

#include "base/buf.h"

/* What metric @name is: @type "counter" or "gauge". Its values follow. */
void metrics_add_head(struct buf *out, const char *name, const char *type, const char *help);

/* A value of it. @label NULL: it has none; @label_value may be any text. */
void metrics_add_u64(struct buf *out, const char *name, const char *label, const char *label_value,
		     uint64_t value);
void metrics_add_seconds(struct buf *out, const char *name, double seconds);

/* Metric @name, whose value is 1 and whose label is the program's version. */
void metrics_add_build(struct buf *out, const char *name);

#endif
