/* SPDX-License-Identifier: Apache-2.0 */
/* What a jitdump says of one piece of code: its name and its lines. Private to symbol/. */
#ifndef BPFPROF_SYMBOL_JITDUMP_CODE_H
#define BPFPROF_SYMBOL_JITDUMP_CODE_H

#include "symbol/jitdump_records.h"

/* Code at some address, by what the file has of it. */
struct dump_code {
	uint64_t record_off; /* its DUMP_LOAD, or the DUMP_MOVE while that is not known; 0: none */
	uint64_t debug_off; /* its DUMP_DEBUG_INFO; 0: none */
	uint64_t start; /* where it is */
	bool is_moved; /* so not where it was loaded */
};

/* The DUMP_MOVE that brought @code. 0; -EBADMSG: there is none any more; negative errno. */
int dump_code_move(const struct dump_file *file, const struct dump_code *code,
		   struct dump_move *out);

/*
 * The name of @code, which is at each of the @cnt addresses (ascending), and their lines, into
 * @names. The file is believed nothing: where there is no such record any more, or the time for
 * lines is up, the answer is none. 0, -ENOMEM, -EIO and the like.
 */
int dump_code_name(struct dump_file *file, const struct dump_code *code, const uint64_t *addresses,
		   size_t cnt, struct strtab *strings, struct jitdump_name *names);

#endif
