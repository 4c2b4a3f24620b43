/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a function of a profile, where this host has it. */
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

#endif
