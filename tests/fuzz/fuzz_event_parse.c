/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the text of -e. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What each kind must have. */
static void check(const struct event_spec *spec)
{
	if (!spec->text || !*spec->text || (spec->user_only && spec->kernel_only) ||
	    (spec->freq_hz && spec->period))
		abort();
	if (!spec->name == !spec->has_addr)
		abort();
	if ((spec->kind >= EVENT_UPROBE) != (spec->path != NULL))
		abort();
	if (spec->kind == EVENT_TRACEPOINT &&
	    (!spec->group || strpbrk(spec->group, "/.%") || strpbrk(spec->name, "/.%")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len);
	struct event_spec *specs;
	struct buf why;
	size_t cnt;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = event_parse(text, &specs, &cnt, &why);
	if (err ? err != -EINVAL || !why.len : !cnt || why.len)
		abort();
	for (size_t i = 0; i < cnt && !err; i++) {
		check(&specs[i]);
		event_spec_deinit(&specs[i]);
	}
	if (!err)
		free(specs);
	buf_deinit(&why);
	free(text);
	return 0;
}
