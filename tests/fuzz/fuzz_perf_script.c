/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of perf script's text. What it accepts is written as such text again, is known as such
 * by profile_decode(), and reads back with the same total.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Periods in the text are not negative, so all of the total is written. */
static void check_writer(const struct profile *prof, uint32_t value)
{
	const struct encoder_opts opts = {.value = value};
	struct profile again;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (encoder_perf_script.encode(prof, &opts, &text) || profile_init(&again) ||
	    profile_decode(text.data, text.len, &again, NULL))
		abort();
	if (profile_total(prof, value) != profile_total(&again, again.default_value))
		abort();
	profile_deinit(&again);
	buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile prof;

	perf_script_sniff(data, size);
	if (profile_init(&prof))
		return 0;
	if (!perf_script_decode(data, size, &prof, NULL))
		for (uint32_t i = 0; i < prof.value_type_cnt; i++)
			check_writer(&prof, i);
	profile_deinit(&prof);
	return 0;
}
