/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's answers from a fuzzer's bytes, each behind its length in two bytes, in the order in
 * which they are asked for (../unit/fake_clickhouse.h: fake_answer).
 */
#ifndef BPFPROF_TESTS_FUZZ_ANSWERS_H
#define BPFPROF_TESTS_FUZZ_ANSWERS_H

#include <stdint.h>

#include "../unit/fake_clickhouse.h"
#include "base/log.h"
#include "base/reader.h"

static struct reader answers;

/* In the place of base/log.c: what fails here is not worth a line each time. */
void log_error(const char *fmt, ...)
{
}

void log_debug(const char *fmt, ...)
{
}

void log_warn(const char *fmt, ...)
{
}

void log_info(const char *fmt, ...)
{
}

static int take_answer(struct reader *rd, struct buf *answer)
{
	size_t len = reader_u16(rd);

	if (len > reader_left(rd))
		len = reader_left(rd);
	if (answer)
		buf_add(answer, reader_bytes(rd, len), len);
	return rd->err ? -EAGAIN : 0;
}

static inline int next_answer(const char *sql, struct buf *answer)
{
	return take_answer(&answers, answer);
}

#endif
