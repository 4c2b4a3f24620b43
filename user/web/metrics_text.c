/* SPDX-License-Identifier: Apache-2.0 */
#include "web/metrics_text.h"

#include <inttypes.h>

#include "base/build.h"

void metrics_add_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP bpfprof_%s %s\n# TYPE bpfprof_%s %s\n", name, help, name, type);
}

/* What the format wants escaped is. */
static void add_label(struct buf *out, const char *label, const char *value)
{
	buf_printf(out, "{%s=\"", label);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buf_add_char(out, '\\');
		if (*value == '\n')
			buf_add_str(out, "\\n");
		else
			buf_add_char(out, *value);
	}
	buf_add_str(out, "\"}");
}

void metrics_add_u64(struct buf *out, const char *name, const char *label, const char *label_value,
		     uint64_t value)
{
	buf_printf(out, "bpfprof_%s", name);
	if (label)
		add_label(out, label, label_value);
	buf_printf(out, " %" PRIu64 "\n", value);
}

void metrics_add_seconds(struct buf *out, const char *name, double seconds)
{
	buf_printf(out, "bpfprof_%s %.9g\n", name, seconds);
}

void metrics_add_build(struct buf *out, const char *name)
{
	metrics_add_head(out, name, "gauge", "The program's version.");
	metrics_add_u64(out, name, "version", BPFPROF_VERSION, 1);
}
