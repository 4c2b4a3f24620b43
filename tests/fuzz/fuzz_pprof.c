/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof reader and, on what it accepts, the writers. What we have written once must read back
 * as the same bytes: the second and the third writing are compared, because the first may repair
 * text that is not UTF-8.
 */
#include "fuzz_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rewrite_format format = {&encoder_pprof, pprof_decode};

static void check_writers(const struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE, .annotate = true};
	struct buf folded;

	rewrite_check(&format, prof);
	buf_init(&folded, 1 << 20);
	encoder_folded.encode(prof, &opts, &folded);
	buf_deinit(&folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rewrite_read(&format, data, size, check_writers);
	return 0;
}
