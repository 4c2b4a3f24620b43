/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernel code lay where, and when.
 *
 * The core kernel stays. Modules, BPF programs and their trampolines, those of ftrace and the slots
 * of kprobes come and go, and the addresses of what went are soon those of something else: a name
 * is right only for the time of the sample. There are two sources:
 *
 *	a reading        all of /proc/kallsyms. It holds from the event that made us read until the
 *	                 next one does. The window's first is its base
 *	an announcement  one stretch of code, its length and name, and when it came or went
 *	                 (proc/ksym_record.h): everything but modules
 *
 * Samples carry no time, but are counted by epochs, from one flip to the next. In an epoch the
 * owner of an address is
 *
 *	1. the core kernel, where that has a symbol there
 *	2. of what was announced, and the base's module, the one that was there longest
 *	3. else what the reading says that held longest
 *
 * and whoever drains makes an epoch end where an address changes hands (kernel_map_came() tells),
 * so that what the rule cannot know is the moment between the event and the flip. Example, in ms:
 *
 *	0      base: nf_tables at c0200000
 *	400    nf_tables goes; nobody says so
 *	600    bpf_prog_a comes, c0200000..c0201000: in the base that is a module's; flip at 601
 *	800    bpf_prog_a goes, bpf_prog_b comes, c0200000..c0200800; flip at 801
 *	1000   the window ends
 *
 *	epoch 0..601      nf_tables 600, bpf_prog_a 1:    nf_tables
 *	epoch 601..801    bpf_prog_a 199, bpf_prog_b 1:   bpf_prog_a
 *	epoch 801..1000   bpf_prog_b
 *
 * Usually nothing changes: then there is the base, and nothing is asked until names are wanted. A
 * frame that the base answers for is in the kernel's own mapping until it is named; only others
 * need one of their own at once, as their address alone would not tell.
 *
 * Bounds: KERNEL_MAP_READINGS and KERNEL_MAP_STRETCHES; what is forgotten for lack of room is
 * counted. Not thread-safe.
 */
#ifndef BPFPROF_PROC_KERNEL_MAP_H
#define BPFPROF_PROC_KERNEL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/kallsyms.h"
#include "proc/ksym_record.h"

enum {
	KERNEL_MAP_READINGS = 16,
	KERNEL_MAP_STRETCHES = 4096,
	KERNEL_OWNER_BYTES = 512, /* KSYM_NAME_LEN, with its NUL: what is longer is cut */
};

struct kernel_map;

struct kernel_map *kernel_map_new(void); /* *owned*; NULL + ENOMEM */
void kernel_map_free(struct kernel_map *map); /* NULL is fine */

/* Is there a reading? */
bool kernel_map_is_read(const struct kernel_map *map);

/* Add all of /proc/kallsyms, @syms (*taken*, also on failure), which holds from @from_ns on. 0 or
 * -ENOMEM. */
int kernel_map_add(struct kernel_map *map, struct kallsyms *syms, uint64_t from_ns);

/*
 * Code came, as @record (KSYM_RECORD_CAME) says. True when in the epoch that began at @epoch_ns its
 * addresses have had another owner: the epoch should end now.
 */
bool kernel_map_came(struct kernel_map *map, const struct ksym_record *record, uint64_t epoch_ns);

/* Code went (KSYM_RECORD_WENT); that of before the first announcement had always been there. */
void kernel_map_went(struct kernel_map *map, const struct ksym_record *record);

/* Forget what ended before @ns, the start of a window. Cheap when there is nothing. */
void kernel_map_forget(struct kernel_map *map, uint64_t ns);

/* Announcements and readings that were forgotten too early, for lack of room. */
uint64_t kernel_map_dropped(const struct kernel_map *map);

/*
 * Who owned @ip in the epoch [@from_ns, @to_ns), when the base does not answer for it; NULL when it
 * does, or nobody is known. A module's name, or that of the one function. Borrowed until the next
 * change.
 */
const char *kernel_map_owner(const struct kernel_map *map, uint64_t ip, uint64_t from_ns,
			     uint64_t to_ns);

/* Borrowed until the next change. */
struct kernel_name {
	const char *name;
	const char *owner; /* as above; NULL: the core kernel */
};

/*
 * The function around @ip, of @owner's, or where that is NULL: the base's, else of whoever is known
 * to have been there. 0; -ENOENT where there is none; -EPERM where the kernel hides addresses
 * (kernel.kptr_restrict).
 */
int kernel_map_find(const struct kernel_map *map, uint64_t ip, const char *owner,
		    struct kernel_name *out);

/* True on the first call: what is to be said once is. */
bool kernel_map_say_once(struct kernel_map *map);

#endif
