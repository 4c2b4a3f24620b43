/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every format that holds a whole profile, for the fuzz targets of such. */
#ifndef BPFPROF_FUZZ_REWRITE_H
#define BPFPROF_FUZZ_REWRITE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "encode/decode.h"
#include "encode/encoder.h"

struct rewrite_format {
	const struct encoder *encoder;
	int (*decode)(const void *data, size_t len, struct profile *out, struct buf *why);
};

/* Write @prof, and read the file as @out. */
static inline void rewrite_once(const struct rewrite_format *format, const struct profile *prof,
				struct profile *out, struct buf *file)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};

	buf_init(file, BUF_NO_MAX);
	if (format->encoder->encode(prof, &opts, file) || profile_init(out) ||
	    format->decode(file->data, file->len, out, NULL))
		abort();
}

/* What was read from our own file is written as the same bytes again, with the same totals. */
static inline void rewrite_check(const struct rewrite_format *format, const struct profile *prof)
{
	struct buf first_file, second_file, third_file;
	struct profile second, third, fourth;

	rewrite_once(format, prof, &second, &first_file);
	rewrite_once(format, &second, &third, &second_file);
	rewrite_once(format, &third, &fourth, &third_file);
	if (second_file.len != third_file.len ||
	    memcmp(second_file.data, third_file.data, second_file.len) != 0)
		abort();
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		if (profile_total(&second, i) != profile_total(&fourth, i))
			abort();
	buf_deinit(&first_file);
	buf_deinit(&second_file);
	buf_deinit(&third_file);
	profile_deinit(&second);
	profile_deinit(&third);
	profile_deinit(&fourth);
}

/* Read hostile bytes; what is read goes to @check, what is not has a reason. */
static inline void rewrite_read(const struct rewrite_format *format, const uint8_t *data,
				size_t size, void (*check)(const struct profile *prof))
{
	struct profile prof;
	struct buf why;

	if (profile_init(&prof))
		return;
	buf_init(&why, BUF_NO_MAX);
	if (!format->decode(data, size, &prof, &why))
		check(&prof);
	else if (!why.len)
		abort();
	buf_deinit(&why);
	profile_deinit(&prof);
}

#endif
