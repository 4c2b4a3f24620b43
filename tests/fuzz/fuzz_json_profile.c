/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of our JSON (and with it base/json_reader.c) and, on what it accepts, the writers. The
 * second and the third writing are compared: the first may repair text that is not UTF-8 and merge
 * what stands in the file twice.
 */
#include "fuzz_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rewrite_format format = {&encoder_json, json_decode};

/* Whatever the profile, the other writers end without harm; what is too large they refuse. */
static void check_writers(const struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	struct buf text;

	rewrite_check(&format, prof);
	for (const struct encoder *const *encoder = encoder_list(); *encoder; encoder++) {
		buf_init(&text, 16 << 20);
		(*encoder)->encode(prof, &opts, &text);
		buf_deinit(&text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rewrite_read(&format, data, size, check_writers);
	return 0;
}
