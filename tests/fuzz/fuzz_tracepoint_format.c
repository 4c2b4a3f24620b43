/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: format files of tracepoints. */
#include <stdint.h>
#include <stdlib.h>

#include "event/tracepoint_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tracepoint_format format, half;

	if (tracepoint_format_parse((const char *)data, len, &format))
		return 0;
	for (size_t i = 0; i < format.cnt; i++) {
		const struct event_field *field = &format.fields[i];

		if (!*field->name || !*field->type || field->off + field->size > 65536 ||
		    (field->is_data_loc && field->size != 4))
			abort();
	}
	if (!tracepoint_format_parse((const char *)data, len / 2, &half)) {
		tracepoint_format_intersect(&format, &half);
		tracepoint_format_deinit(&half);
	}
	tracepoint_format_deinit(&format);
	return 0;
}
