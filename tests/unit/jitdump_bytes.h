/* SPDX-License-Identifier: Apache-2.0 */
/* Making jitdumps for tests, record by record and in either byte order. */
#ifndef BPFPROF_TESTS_UNIT_JITDUMP_BYTES_H
#define BPFPROF_TESTS_UNIT_JITDUMP_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { DUMP_PID = 77 };

struct dump_bytes {
	struct buf buf;
	bool is_big_endian;
};

/* The low @bytes bytes of @value. */
static inline void dump_int(struct dump_bytes *dump, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		buf_add_char(&dump->buf,
			     (char)(value >> 8 * (dump->is_big_endian ? bytes - 1 - i : i)));
}

static inline void dump_begin(struct dump_bytes *dump, bool is_big_endian, uint64_t flags)
{
	buf_init(&dump->buf, BUF_NO_MAX);
	dump->is_big_endian = is_big_endian;
	dump_int(dump, 0x4a695444, 4);
	dump_int(dump, 1, 4);
	dump_int(dump, 40, 4);
	dump_int(dump, 62, 4);
	dump_int(dump, 0, 4);
	dump_int(dump, DUMP_PID, 4);
	dump_int(dump, 1, 8);
	dump_int(dump, flags, 8);
}

static inline void dump_record(struct dump_bytes *dump, uint32_t id, uint64_t body_bytes,
			       uint64_t time_ns)
{
	dump_int(dump, id, 4);
	dump_int(dump, 16 + body_bytes, 4);
	dump_int(dump, time_ns, 8);
}

/* The code itself is @code_bytes zeros. */
static inline void dump_load_of(struct dump_bytes *dump, uint32_t pid, uint64_t time_ns,
				uint64_t start, uint64_t code_bytes, uint64_t index,
				const char *name)
{
	dump_record(dump, 0, 40 + strlen(name) + 1 + code_bytes, time_ns);
	dump_int(dump, pid, 4);
	dump_int(dump, pid, 4);
	dump_int(dump, start, 8);
	dump_int(dump, start, 8);
	dump_int(dump, code_bytes, 8);
	dump_int(dump, index, 8);
	buf_add(&dump->buf, name, strlen(name) + 1);
	for (uint64_t i = 0; i < code_bytes; i++)
		buf_add_char(&dump->buf, '\0');
}

static inline void dump_load(struct dump_bytes *dump, uint64_t time_ns, uint64_t start,
			     uint64_t code_bytes, uint64_t index, const char *name)
{
	dump_load_of(dump, DUMP_PID, time_ns, start, code_bytes, index, name);
}

static inline void dump_move(struct dump_bytes *dump, uint64_t time_ns, uint64_t from, uint64_t to,
			     uint64_t code_bytes, uint64_t index)
{
	dump_record(dump, 1, 48, time_ns);
	dump_int(dump, DUMP_PID, 4);
	dump_int(dump, DUMP_PID, 4);
	dump_int(dump, to, 8);
	dump_int(dump, from, 8);
	dump_int(dump, to, 8);
	dump_int(dump, code_bytes, 8);
	dump_int(dump, index, 8);
}

struct dump_test_line {
	uint64_t off; /* from the start of the code */
	uint32_t line;
	const char *file; /* "\xff": the one before */
};

static inline void dump_lines(struct dump_bytes *dump, uint64_t start,
			      const struct dump_test_line *lines, size_t cnt)
{
	uint64_t bytes = 16;

	for (size_t i = 0; i < cnt; i++)
		bytes += 16 + strlen(lines[i].file) + 1;
	dump_record(dump, 2, bytes, 1);
	dump_int(dump, start, 8);
	dump_int(dump, cnt, 8);
	for (size_t i = 0; i < cnt; i++) {
		dump_int(dump, start + lines[i].off, 8);
		dump_int(dump, lines[i].line, 4);
		dump_int(dump, 7, 4); /* the column */
		buf_add(&dump->buf, lines[i].file, strlen(lines[i].file) + 1);
	}
}

#endif
