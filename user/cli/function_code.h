/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a function of a profile, and its source, where this host has them. */
#ifndef BPFPROF_CLI_FUNCTION_CODE_H
#define BPFPROF_CLI_FUNCTION_CODE_H

#include "cli/report.h"
#include "elf/code.h"

struct function_code {
	struct elf_code code; /* owned */
	uint64_t shift; /* to add to an address of the profile to have that in the file */
};

/*
 * The code of the function around @address, which is one of @mapping's: read from the file at the
 * mapping's path if that has the mapping's build-id. 0 and *@out (function_code_deinit()); -ENOENT
 * with the reason in @why; -ENOMEM.
 */
int function_code_find(const struct profile *prof, uint32_t mapping, uint64_t address,
		       struct function_code *out, struct buf *why);
void function_code_deinit(struct function_code *code);

/* A source file's lines. */
struct source_text {
	struct buf text; /* its newlines are NULs */
	size_t *lines; /* owned: where each begins; the first is line 1 */
	size_t cnt, cap;
};

/* Read @path, a regular file of at most 16 MiB. 0; -ENOENT with the reason in @why; -ENOMEM;
 * source_text_deinit() in either case. */
int source_text_read(const char *path, struct source_text *out, struct buf *why);
void source_text_deinit(struct source_text *source);

/* Line @nr, tabs expanded by 8, or "" beyond the end, appended to @out. */
void source_text_line(const struct source_text *source, uint64_t nr, struct buf *out);

#endif
