/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a probe be put at this address? A uprobe in the middle of an instruction changes what that
 * instruction does, in every process that has the file mapped, and the kernel does not notice. Nor
 * does it ask whether the segment is executable.
 */
#ifndef BPFPROF_EVENT_CODE_CHECK_H
#define BPFPROF_EVENT_CODE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "elf/functions.h"
#include "elf/segments.h"
#include "event/insn.h"

/* Of one file; all borrowed. */
struct code_image {
	int fd;
	bool is_arm64;
	const struct elf_file *elf;
	const struct elf_segments *segments;
	const struct functions *functions;
};

/*
 * Does an instruction that may be probed begin at @vaddr? Decoded from the start of the function
 * around it: by a symbol, else by the unwind table. 0 and *@out, the instruction there. With one
 * line in @why: -EFAULT, not in an executable segment; -ENOENT, no function known there; -EINVAL,
 * in the middle of an instruction; -EBADMSG, what lies before it cannot be decoded; -EOPNOTSUPP,
 * not to be probed; -EIO; -ENOMEM.
 */
int code_check(const struct code_image *image, uint64_t vaddr, struct insn *out, struct buf *why);

/* The offset in the file of the code at @vaddr. 0 and *@out; -ENOENT: not in an executable segment.
 */
int code_file_off(const struct elf_segments *segments, uint64_t vaddr, uint64_t *out);

#endif
