/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The separate file, or part of its own file, that holds the symbols or the debugging information
 * that were taken out of an image.
 *
 * A worked example: /usr/bin/tool of a container, stripped, build-id 12ab34..., with a
 * .gnu_debuglink to "tool.debug". Each of these is looked for, first below the root of a process of
 * that container, then below our own:
 *
 *	/usr/lib/debug/.build-id/12/ab34....debug
 *	/usr/bin/tool.debug
 *	/usr/bin/.debug/tool.debug
 *	/usr/lib/debug/usr/bin/tool.debug
 *
 * Before them, in each folder DIR that the user names (--debug-dir), below our own root:
 *
 *	DIR/.build-id/12/ab34....debug
 *	DIR/usr/bin/tool.debug
 *	DIR/tool.debug
 *	DIR/tool
 *
 * The first that is of the same machine, has the build-id 12ab34... and a .symtab with functions is
 * taken. An image without a build-id is believed to belong to a file with the CRC-32 that its
 * .gnu_debuglink names. If there is none, a server may have sent one in the meantime
 * (elf/debuginfod.h). At last .gnu_debugdata inside the image is unpacked: it leaves out what
 * .dynsym has.
 *
 * Symbols there have the virtual addresses of the image that was stripped, but its program headers
 * need not: file offsets are always translated by the original's.
 *
 * An image whose symbols were left in it may still have its lines elsewhere (`strip -g`): the same
 * places, but the file must have .debug_info. And what several debug files have in common may be in
 * one more file, which dwz makes and .gnu_debugaltlink names.
 */
#ifndef BPFPROF_ELF_DEBUG_FILE_H
#define BPFPROF_ELF_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct buf;
struct debuginfod;

enum debug_kind {
	DEBUG_NONE,
	DEBUG_FULL, /* a file with all of the symbols */
	DEBUG_MINI, /* .gnu_debugdata: functions that are not in .dynsym */
};

/* All zero: none. */
struct debug_file {
	enum debug_kind kind;
	struct elf_file *elf; /* owned */
	int fd; /* owned: what elf reads, of DEBUG_FULL */
	char *path; /* owned: of DEBUG_FULL, as seen from its root */
	bool is_in_root; /* path counts from the query's root_fd, else from our own root */
	char *image; /* owned: what elf reads, of DEBUG_MINI */
};

/* The image whose symbols are wanted; all borrowed. */
struct debug_query {
	const struct elf_file *elf;
	const char *path; /* as its process sees it; "" or a name in brackets without */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: none */
	int root_fd; /* O_PATH: the root of its process; -1 when that is ours */
	struct debuginfod *debuginfod; /* what servers have sent; NULL: nobody is asked */
	/* --debug-dir: absolute paths on this host, NULL-terminated; NULL: none. */
	const char *const *debug_dirs;
};

enum debug_want {
	DEBUG_WANT_SYMBOLS, /* of a stripped image */
	DEBUG_WANT_LINES, /* .debug_info of an image without it */
};

/*
 * Find what an image lacks. 0 and *@out (debug_file_deinit()); -ENOENT when there is no such file,
 * or when the image itself has what is wanted; -ENOMEM. What does not fit, is damaged or is no
 * regular file is passed over.
 */
int debug_file_find(const struct debug_query *query, enum debug_want want, struct debug_file *out);
void debug_file_deinit(struct debug_file *debug);

/* Are the image's symbols neither in it nor in a file on this machine? .gnu_debugdata does not
 * count. */
bool debug_file_is_missed(const struct debug_query *query);

/*
 * A number that changes when something comes, goes or changes at the places where debug_file_find()
 * looks, or when the root of the image's process is another one. Nothing is opened.
 */
uint64_t debug_places_hash(const struct debug_query *query);

/*
 * Open the file that the .gnu_debugaltlink of @elf names: relative to the folder of @path (of @elf
 * as its root shows it; borrowed), or by its build-id, which it must have. Looked for in
 * query->debug_dirs, below @root_fd (-1: none), then below our own root. The descriptor (owned), or
 * -ENOENT.
 */
int debug_alt_open(const struct debug_query *query, const struct elf_file *elf, const char *path,
		   int root_fd);

/* Append to @out where a file lies by its build-id: FOLDER/.build-id/12/ab34...SUFFIX. */
void debug_id_path(const char *folder, const uint8_t *build_id, size_t len, const char *suffix,
		   struct buf *out);

#endif
