/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of folded stacks, and whatever profile_decode() takes the input for. What we write is
 * in order, has a count in every line, and reads back without complaint.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines in strictly ascending order of their bytes. */
static void check_order(char *text)
{
	char *last = NULL, *line;

	while ((line = strsep(&text, "\n")) && text) {
		if (last && strcmp(last, line) >= 0)
			abort();
		last = line;
	}
}

static void check_writer(const struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE, .annotate = true};
	struct profile again;
	struct buf text, why;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	if (encoder_folded.encode(prof, &opts, &text) || profile_init(&again) ||
	    folded_decode(buf_cstr(&text), text.len, &again, &why) || why.len)
		abort();
	if (text.len)
		check_order(text.data);
	profile_deinit(&again);
	buf_deinit(&why);
	buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile prof;

	if (profile_init(&prof))
		return 0;
	if (!folded_decode(data, size, &prof, NULL))
		check_writer(&prof);
	profile_deinit(&prof);
	if (profile_init(&prof))
		return 0;
	profile_decode(data, size, &prof, NULL);
	profile_deinit(&prof);
	return 0;
}
