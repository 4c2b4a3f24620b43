/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executables by the id that the kernel side gave them: opened when they are announced, while the
 * file or a process that maps it is still there. Frames (id, file offset) become (module, vaddr)
 * here.
 */
#ifndef BPFPROF_CAPTURE_EXES_H
#define BPFPROF_CAPTURE_EXES_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/hmap.h"
#include "elf/debuginfod.h"
#include "elf/segments.h"
#include "proc/module.h"

struct pins;
struct preload;

/* Where an executable's unwind rows are. */
enum rows_at {
	ROWS_AWAITED = 0, /* in the builder, or not asked for yet */
	ROWS_STORED, /* in the store, unless it has evicted them */
	ROWS_CROWDED_OUT, /* there was no room, or others needed it; wanted again when it is used */
	ROWS_NOWHERE, /* there will be none */
};

struct exe_entry {
	uint32_t id;
	struct bp_exe_key key; /* as the kernel side has it; zero for the vdso */
	bool is_sampled; /* announced by a sample, not by preloading */
	enum rows_at rows_at;
	uint64_t rows_retry_nr; /* of ROWS_CROWDED_OUT: not before that drain */
	bool is_used; /* a frame of it was seen since this was cleared */
	bool is_asked; /* a server is asked for its symbols, if they are missing */
	struct module *module; /* owned */
	/* Empty when neither the file nor its head has told them: vaddr is then the file offset,
	 * and there is no build-id, by which others would look for the names of such addresses. */
	struct elf_segments segments;
	char build_id_hex[2 * BUILD_ID_MAX + 1];
};

struct exes {
	struct exe_entry *items; /* owned */
	size_t cnt, cap;
	struct hmap by_id;
	struct preload *preload; /* borrowed: who has announced what we have mapped; may be NULL */
	struct pins *pins; /* borrowed: what is known is kept there; NULL: nowhere */
};

int exes_init(struct exes *exes); /* 0 or -ENOMEM; knows the vdso already */
void exes_deinit(struct exes *exes);

/* An announcement from the ring (@len bytes, ours: from the kernel side). Known ids are ignored. 0
 * or -ENOMEM. */
int exes_announce(struct exes *exes, const struct bp_exe_event *event, size_t len);

/* Of what an announcement has told of @id, and the first @path_bytes of its path, as much as a
 * later process can do with; @root_tgid: whose root the path counts from, 0: the announcement's own
 * process'. */
void exes_keep(const struct exes *exes, const struct bp_exe_event *event, uint32_t path_bytes,
	       pid_t root_tgid);

/* Know what an earlier process has kept in @pins (borrowed until exes_deinit()), and keep there
 * from now on. 0 or -ENOMEM. */
int exes_restore(struct exes *exes, struct pins *pins);

/* What is known of the file of @exe, which is not there to be looked at. @segments: *taken*. */
void exe_identify(struct exe_entry *exe, struct elf_segments *segments, const uint8_t *build_id,
		  size_t build_id_len);

/* Entry of @id, or NULL; borrowed until the next announcement. */
struct exe_entry *exes_find(const struct exes *exes, uint32_t id);

/* Ask for the symbols of what samples have met since the last call (elf/debuginfod.h: whether they
 * are missing is found out there). Looks at a flag of each entry. */
void exes_ask_symbols(struct exes *exes, struct debuginfod *debuginfod);

/* ELF virtual address of a frame of @exe. */
uint64_t exe_vaddr(const struct exe_entry *exe, uint64_t file_off);

#endif
