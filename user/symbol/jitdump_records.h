/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a jitdump, one after another. Private to symbol/. */
#ifndef BPFPROF_SYMBOL_JITDUMP_RECORDS_H
#define BPFPROF_SYMBOL_JITDUMP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"
#include "symbol/jitdump.h"

enum dump_record_id {
	DUMP_LOAD = 0,
	DUMP_MOVE = 1,
	DUMP_DEBUG_INFO = 2, /* stands before the DUMP_LOAD that it is about */
	/* 3, the end of the list, and 4, unwind information, say nothing about names. */
};

enum {
	DUMP_RECORD_BYTES = 16, /* id, size, time: what all records begin with */
	DUMP_LOAD_BYTES = 56, /* all but the name and the code */
	DUMP_MOVE_BYTES = 64,
	DUMP_DEBUG_BYTES = 32, /* all but the lines */
	DUMP_HEAD_BYTES = 64, /* the longest of these */
};

struct dump_file {
	int fd; /* borrowed */
	bool is_big_endian;
	bool is_timeless; /* times are not those of CLOCK_MONOTONIC */
	uint32_t pid; /* its writer */
	uint64_t records_off;
	uint64_t file_bytes; /* when it was opened */
	uint64_t deadline_ns;
	uint8_t *piece; /* owned: what was read last */
	uint64_t piece_off;
	size_t piece_bytes;
	uint64_t work; /* since the clock was looked at */
	bool is_late;
	uint64_t at; /* the next record */
	struct jitdump_stats stats;
};

struct dump_record {
	uint32_t id; /* enum dump_record_id, or another */
	uint64_t off, bytes; /* in the file, all of it */
	uint64_t time_ns;
	struct reader body; /* behind DUMP_RECORD_BYTES, as far as DUMP_HEAD_BYTES */
};

struct dump_load {
	uint32_t pid;
	uint64_t start, bytes; /* of the code; not empty, and does not wrap */
	uint64_t code_index;
};

struct dump_move {
	uint32_t pid;
	uint64_t from, to, bytes; /* as above */
	uint64_t code_index;
};

/* Look at the header of @fd. 0, with *@out at the first record (dump_file_close()); -EBADMSG: it is
 * no jitdump; -ENOMEM, -EIO and the like. */
int dump_file_open(int fd, uint64_t deadline_ns, struct dump_file *out);

void dump_file_close(struct dump_file *file);

/* Again from the first record. */
void dump_file_rewind(struct dump_file *file);

/* The next finished record into *@out, its body borrowed until the next call. 1; 0: there is none,
 * or the time is up, and file->stats says which; negative errno. */
int dump_file_next(struct dump_file *file, struct dump_record *out);

/* @cnt steps of about a nanosecond were made. Is the time up? */
bool dump_file_is_late(struct dump_file *file, uint64_t cnt);

/* What @record says if it is a DUMP_LOAD or DUMP_MOVE and makes sense. */
bool dump_record_load(const struct dump_record *record, struct dump_load *out);
bool dump_record_move(const struct dump_record *record, struct dump_move *out);

#endif
