/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way to read bytes that we did not write (ELF, DWARF, maps, profiles, HTTP, other
 * processes' memory). A cursor over borrowed memory: every read is checked against the end; the
 * first failure (-EBADMSG: ran out of bytes or a malformed number) is sticky, reads then return 0 /
 * NULL and move nothing, so that a parser may read a whole record and check `err` once. Each user
 * of it has a fuzz target.
 */
#ifndef BPFPROF_BASE_READER_H
#define BPFPROF_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *start; /* borrowed */
	const uint8_t *pos;
	const uint8_t *end;
	int err;
	bool big_endian; /* of the fixed-width reads; little by default */
};

void reader_init(struct reader *rd, const void *data, size_t len);

static inline size_t reader_left(const struct reader *rd)
{
	return (size_t)(rd->end - rd->pos);
}

static inline size_t reader_offset(const struct reader *rd)
{
	return (size_t)(rd->pos - rd->start);
}

/* True when nothing is left or an error has occurred: the loop condition of record parsers. */
static inline bool reader_done(const struct reader *rd)
{
	return rd->err || rd->pos == rd->end;
}

/* Make the failure stick. Returns 0, the value of a failed read. */
uint8_t reader_fail(struct reader *rd);

static inline uint8_t reader_u8(struct reader *rd)
{
	return !rd->err && rd->pos < rd->end ? *rd->pos++ : reader_fail(rd);
}

uint16_t reader_u16(struct reader *rd);
uint32_t reader_u32(struct reader *rd);
uint64_t reader_u64(struct reader *rd);
uint64_t reader_uleb128_long(struct reader *rd);

/* DWARF and protobuf varints; more than 64 bits is malformed. Most have one byte. */
static inline uint64_t reader_uleb128(struct reader *rd)
{
	if (!rd->err && rd->pos < rd->end && *rd->pos < 0x80)
		return *rd->pos++;
	return reader_uleb128_long(rd);
}

int64_t reader_sleb128(struct reader *rd);

/* @len bytes, borrowed from the underlying memory; NULL when fewer are left. */
const void *reader_bytes(struct reader *rd, size_t len);

/* A NUL-terminated string, borrowed; NULL when no NUL is left. @len_out (may be NULL) excludes the
 * NUL; 0 with NULL, here and below, so that careless callers read nothing. */
const char *reader_cstr(struct reader *rd, size_t *len_out);

/* Up to and without @delim (which is skipped) or up to the end; NULL only at the end. Borrowed, not
 * NUL-terminated. */
const char *reader_until(struct reader *rd, char delim, size_t *len_out);

void reader_skip(struct reader *rd, size_t len);
void reader_seek(struct reader *rd, size_t offset); /* from the start */

/* A reader over the next @len bytes, which @rd skips. On failure @rd->err is set and the result is
 * empty with err set. */
struct reader reader_sub(struct reader *rd, size_t len);

/* Text numbers as in /proc: digits of @base (10 or 16) at the cursor, at least one; stops at the
 * first other byte. */
uint64_t reader_number(struct reader *rd, int base);

/* Skip @chr if it is next; true when it was. */
bool reader_accept(struct reader *rd, char chr);

#endif
