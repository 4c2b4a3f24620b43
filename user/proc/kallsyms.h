/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own symbols: text of the core kernel, its modules and BPF programs, by address.
 * /proc/kallsyms has no sizes: a symbol reaches to the next one. The last of the core kernel, of a
 * module, or among the BPF programs has no next one of its own and reaches at most
 * KALLSYMS_TAIL_BYTES, so that what lies far behind stays unnamed instead of wrong.
 */
#ifndef BPFPROF_PROC_KALLSYMS_H
#define BPFPROF_PROC_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALLSYMS_PATH "/proc/kallsyms"

enum { KALLSYMS_TAIL_BYTES = 64 * 1024 };

struct kallsyms;

/*
 * Read @path ("/proc/kallsyms") in pieces, never whole. 122 k symbols take 5 ms besides the 36 ms
 * that the kernel needs to print them, and 5 MB. *owned*; NULL + errno.
 */
struct kallsyms *kallsyms_open(const char *path);

/* The same from @text of @len bytes, which is not kept. Lines that are not of the form are skipped.
 * *owned*; NULL + ENOMEM. */
struct kallsyms *kallsyms_parse(const char *text, size_t len);

void kallsyms_free(struct kallsyms *syms);

/* kernel.kptr_restrict hides the addresses: every one reads as 0, and nothing can be found. */
bool kallsyms_is_restricted(const struct kallsyms *syms);

/*
 * Take everything that is not the core kernel's out of @syms: the core stays for as long as the
 * machine runs, the rest is of the moment. What was taken is *owned*, and as restricted as @syms;
 * NULL + ENOMEM, with @syms unchanged.
 */
struct kallsyms *kallsyms_split(struct kallsyms *syms);

/*
 * No code that reaches there goes on beyond each of the @cnt addresses @ends, unless a symbol is
 * there: what is known of lengths. 0 or -ENOMEM. Before kallsyms_split().
 */
int kallsyms_add_ends(struct kallsyms *syms, const uint64_t *ends, size_t cnt);

/* Distinct addresses held. */
size_t kallsyms_cnt(const struct kallsyms *syms);

/* Name of the function around @ip, borrowed; NULL when there is none. O(log symbols). */
const char *kallsyms_find(const struct kallsyms *syms, uint64_t ip);

/* What stands in brackets behind that function: its module, "bpf" of BPF programs, "__builtin__"
 * and a subsystem's name of trampolines and slots; "" in the core kernel and where there is none.
 * Borrowed. */
const char *kallsyms_module(const struct kallsyms *syms, uint64_t ip);

#endif
