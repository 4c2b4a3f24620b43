/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of a jitdump is code, which nobody here wants: of each record the head is looked at, and a
 * piece of the file read only when the head is not in the last one.
 */
#include "symbol/jitdump_records.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"

#define DUMP_MAGIC 0x4a695444 /* "JiTD" in the writer's byte order */

enum {
	PIECE_BYTES = 64 * 1024,
	FILE_HEADER_BYTES = 40,
	FLAG_ARCH_TIMESTAMP = 1 << 0,
	WORK_PER_LOOK = 1 << 16, /* between two looks at the clock */
};

/* As much of @len bytes at @off as there are into *@out, borrowed. Negative errno. */
static ssize_t peek(struct dump_file *file, uint64_t off, size_t len, const uint8_t **out)
{
	uint64_t into = off - file->piece_off;

	if (off < file->piece_off || into > file->piece_bytes || file->piece_bytes - into < len) {
		ssize_t got = fs_read_at(file->fd, file->piece, PIECE_BYTES, off);

		file->piece_off = off;
		file->piece_bytes = got < 0 ? 0 : (size_t)got;
		if (got < 0)
			return got;
		into = 0;
	}
	*out = file->piece + into;
	return (ssize_t)(file->piece_bytes - into < len ? file->piece_bytes - into : len);
}

static int read_header(struct dump_file *file)
{
	const uint8_t *bytes;
	ssize_t got = peek(file, 0, FILE_HEADER_BYTES, &bytes);
	struct reader rd;

	if (got < 0)
		return (int)got;
	reader_init(&rd, bytes, (size_t)got);
	if (reader_u32(&rd) != DUMP_MAGIC) {
		rd.big_endian = true;
		reader_seek(&rd, 0);
		if (reader_u32(&rd) != DUMP_MAGIC)
			return -EBADMSG;
	}
	reader_u32(&rd); /* the version: 1, and no other in ten years */
	file->is_big_endian = rd.big_endian;
	file->records_off = reader_u32(&rd);
	reader_skip(&rd, 8); /* the machine, padding */
	file->pid = reader_u32(&rd);
	reader_skip(&rd, 8); /* when it was begun */
	file->is_timeless = reader_u64(&rd) & FLAG_ARCH_TIMESTAMP;
	if (rd.err || file->records_off < FILE_HEADER_BYTES)
		return -EBADMSG;
	file->at = file->records_off;
	return 0;
}

int dump_file_open(int fd, uint64_t deadline_ns, struct dump_file *out)
{
	struct dump_file file = {.fd = fd, .deadline_ns = deadline_ns};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	file.file_bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	file.piece = malloc(PIECE_BYTES);
	if (!file.piece)
		return -ENOMEM;
	err = read_header(&file);
	if (err) {
		free(file.piece);
		return err;
	}
	*out = file;
	return 0;
}

void dump_file_close(struct dump_file *file)
{
	free(file->piece);
	*file = (struct dump_file){0};
}

void dump_file_rewind(struct dump_file *file)
{
	file->at = file->records_off;
}

bool dump_file_is_late(struct dump_file *file, uint64_t cnt)
{
	file->work += cnt;
	if (file->work >= WORK_PER_LOOK && file->deadline_ns) {
		file->work = 0;
		file->is_late |= clock_monotonic_ns() >= file->deadline_ns;
	}
	return file->is_late;
}

/* The end of the records, for the reason that is true. */
static int end_of_records(struct dump_file *file, bool is_broken)
{
	file->stats.is_broken |= is_broken;
	file->stats.end_off = file->at < file->file_bytes ? file->at : file->file_bytes;
	return 0;
}

int dump_file_next(struct dump_file *file, struct dump_record *out)
{
	uint64_t left = file->file_bytes > file->at ? file->file_bytes - file->at : 0;
	const uint8_t *bytes;
	struct reader rd;
	ssize_t got;

	file->stats.is_cut |= left && (file->at >= JITDUMP_MAX_BYTES || dump_file_is_late(file, 1));
	if (file->stats.is_cut || left < DUMP_RECORD_BYTES)
		return end_of_records(file, false);
	got = peek(file, file->at, left < DUMP_HEAD_BYTES ? left : DUMP_HEAD_BYTES, &bytes);
	if (got < DUMP_RECORD_BYTES)
		return got < 0 ? (int)got : end_of_records(file, false);
	reader_init(&rd, bytes, (size_t)got);
	rd.big_endian = file->is_big_endian;
	out->id = reader_u32(&rd);
	out->bytes = reader_u32(&rd);
	out->time_ns = reader_u64(&rd);
	out->off = file->at;
	/* A writer may have made the file longer than what it has written: zeros. */
	if (out->bytes < DUMP_RECORD_BYTES)
		return end_of_records(file, out->id || out->bytes || out->time_ns);
	if (out->bytes > left)
		return end_of_records(file, false);
	if (out->bytes < (uint64_t)got)
		got = (ssize_t)out->bytes;
	out->body = reader_sub(&rd, (size_t)got - DUMP_RECORD_BYTES);
	file->at += out->bytes;
	file->stats.records++;
	return 1;
}

static bool is_range(uint64_t start, uint64_t bytes)
{
	return bytes && start + (bytes - 1) >= start;
}

bool dump_record_load(const struct dump_record *record, struct dump_load *out)
{
	struct reader rd = record->body;

	if (record->id != DUMP_LOAD || record->bytes < DUMP_LOAD_BYTES)
		return false;
	out->pid = reader_u32(&rd);
	reader_skip(&rd, 4 + 8); /* the thread; an address that perf does not look at either */
	out->start = reader_u64(&rd);
	out->bytes = reader_u64(&rd);
	out->code_index = reader_u64(&rd);
	return !rd.err && is_range(out->start, out->bytes);
}

bool dump_record_move(const struct dump_record *record, struct dump_move *out)
{
	struct reader rd = record->body;

	if (record->id != DUMP_MOVE || record->bytes < DUMP_MOVE_BYTES)
		return false;
	out->pid = reader_u32(&rd);
	reader_skip(&rd, 4 + 8);
	out->from = reader_u64(&rd);
	out->to = reader_u64(&rd);
	out->bytes = reader_u64(&rd);
	out->code_index = reader_u64(&rd);
	return !rd.err && is_range(out->from, out->bytes) && is_range(out->to, out->bytes);
}
