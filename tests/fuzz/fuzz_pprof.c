/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof reader and, on what it accepts, the writers. What we have written once must read back
 * as the same bytes: the second and the third writing are compared, because the first may repair
 * text that is not UTF-8.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Write @prof, and read the file as @out. */
static void rewrite(const struct profile *prof, struct profile *out, struct buf *file)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};

	buf_init(file, BUF_NO_MAX);
	if (encoder_pprof.encode(prof, &opts, file) || profile_init(out) ||
	    pprof_decode(file->data, file->len, out, NULL))
		abort();
}

static void check_writers(const struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE, .annotate = true};
	struct profile second, third, fourth;
	struct buf first_file, second_file, third_file, folded;

	rewrite(prof, &second, &first_file);
	rewrite(&second, &third, &second_file);
	rewrite(&third, &fourth, &third_file);
	if (second_file.len != third_file.len ||
	    memcmp(second_file.data, third_file.data, second_file.len) != 0)
		abort();
	for (uint32_t i = 0; i < prof->value_type_cnt; i++) {
		if (profile_total(&second, i) != profile_total(&fourth, i))
			abort();
	}
	buf_init(&folded, 1 << 20);
	encoder_folded.encode(prof, &opts, &folded);
	buf_deinit(&folded);
	buf_deinit(&first_file);
	buf_deinit(&second_file);
	buf_deinit(&third_file);
	profile_deinit(&second);
	profile_deinit(&third);
	profile_deinit(&fourth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile prof;
	struct buf why;

	if (profile_init(&prof))
		return 0;
	buf_init(&why, BUF_NO_MAX);
	if (!pprof_decode(data, size, &prof, &why))
		check_writers(&prof);
	else if (!why.len)
		abort();
	buf_deinit(&why);
	profile_deinit(&prof);
	return 0;
}
