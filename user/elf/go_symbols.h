/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, files, lines and inlined calls of a Go program's code from .gopclntab, which survives
 * stripping. Go 1.2 and later; inlined calls since Go 1.13.
 *
 * Each function has three pc tables for this: file, line, and the index of the innermost inlined
 * call in the function's inline tree (-1: the code is the function's own). A tree's entry names the
 * inlined function and a place in the function's code (parent pc) to which the call itself belongs.
 * So a chain is walked by asking the same three tables again for the parent pc:
 *
 *	pc      0x4a1234  index  7   tree[7] = strings.IndexByte   strings/strings.go:38
 *	parent  0x4a1220  index  3   tree[3] = main.split          main.go:20
 *	parent  0x4a1210  index -1   the function, main.main       main.go:9
 */
#ifndef BPFPROF_ELF_GO_SYMBOLS_H
#define BPFPROF_ELF_GO_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

enum { GO_FRAMES_MAX = 64 };

struct go_symbols;

struct go_frame {
	const char *name; /* borrowed from the image */
	const char *file; /* borrowed from the image; "" unknown */
	uint32_t line; /* of the code, or of the call that was inlined into this; 0 unknown */
	uint32_t start_line; /* of the function; 0 before Go 1.20, whose tables lack it */
	bool is_inlined; /* into the frame after it */
};

struct go_chain {
	struct go_frame frames[GO_FRAMES_MAX]; /* innermost first; the last one is the function */
	size_t cnt;
};

/*
 * *@out is *owned* (go_symbols_free()); @elf must outlive it. 0; -ENOENT: no Go program, or tables
 * that are not understood; -ENOMEM. Builds nothing: the tables are searched where they lie.
 */
int go_symbols_from_elf(const struct elf_file *elf, struct go_symbols **out);
void go_symbols_free(struct go_symbols *syms);

/* For statistics and tests. */
size_t go_symbols_func_cnt(const struct go_symbols *syms);

/*
 * The calls at @vaddr, an address of the code itself (for a caller: inside the call). 0 and *@out;
 * -ENOENT when no Go function is there. Of inlined calls deeper than GO_FRAMES_MAX those next to
 * the function are left out; its line is then 0, as it is where a tree leads nowhere. O(log
 * functions + the function's tables), whatever these hold.
 */
int go_symbols_find(const struct go_symbols *syms, uint64_t vaddr, struct go_chain *out);

#endif
