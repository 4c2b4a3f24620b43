/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module: one executable image that frames point into, whoever has it mapped. Its identity is its
 * build-id, else (device, inode, mtime, size). It is opened when it is first seen, while the file
 * or a process that maps it is still there, and keeps the descriptor, so that it can be named after
 * both are gone.
 */
#ifndef BPFPROF_PROC_MODULE_H
#define BPFPROF_PROC_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/elf_file.h"

enum module_kind {
	MODULE_FILE, /* an ELF file on some file system */
	MODULE_VDSO, /* the kernel's vdso image */
	MODULE_ANON, /* anonymous executable memory: no image */
	MODULE_JIT, /* one process' anonymous code, and its runtime's lists of names */
	MODULE_KERNEL, /* kernel text, modules, BPF programs */
};

/* Why a module of kind MODULE_FILE has no descriptor. */
enum module_absence {
	MODULE_PRESENT,
	MODULE_NO_FILE, /* nothing under its path any more */
	MODULE_FILE_CHANGED, /* a file is there, but another than the one that is mapped */
	MODULE_NOT_PERMITTED, /* it may be there: we may not look, or not read it */
	MODULE_BAD_ELF, /* it was there: what its headers say cannot be read */
};

/* What the kernel side saw of the file; fields it could not read are 0. */
struct module_identity {
	uint64_t ino, size_bytes;
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint32_t dev; /* kernel's internal encoding (MAJOR << 20 | MINOR) of the superblock; not
			 what stat shows on overlayfs */
};

struct module {
	enum module_kind kind;
	char *path; /* owned: from the root of the process's mount namespace, or "[vdso]" */
	int fd; /* owned, -1 when the file was gone before it could be opened. MODULE_JIT: the perf
		   map (proc/perf_map_file.h), -1 when there is none */
	/* Owned, O_PATH: the root that path counts from, where separate symbols may lie; -1 when
	 * that is our own, or not known any more. */
	int root_fd;
	/* Where path begins as its process sees it: behind the folder that it was chrooted to. */
	uint32_t path_in_root;
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_len; /* 0: none */
	struct module_identity identity;
	bool is_verified; /* fd's inode, mtime and size (or build-id) are those the kernel saw */
	enum module_absence absence;
	/* MODULE_JIT */
	pid_t tgid;
	int dump_fd; /* owned: the jitdump (proc/jitdump_file.h), -1 when there is none */
	bool is_map_foreign; /* there is one, but it is not the process' own: said and ignored */
	bool is_dump_foreign;
	char *program; /* owned: the name of the process' executable; NULL: not known */
};

/*
 * Open what process @tgid has mapped at [@start, @end) with path @path (as seen from its root):
 * map_files first, then exe, then root + path, then @path on the host; the first whose inode, mtime
 * and size agree with @identity is taken (on overlayfs, the latter two). A field of @identity that
 * is 0 is not compared; where the inode is 0, the first file that opens is taken, unverified. The
 * build-id is read from it. Always makes a module (owned; module_free()); with fd -1 and the reason
 * in absence when nothing fitted. Never touches what is not a regular file. @path may end in "
 * (deleted)", which is cut off. Memory without an ELF file behind it (a path as "//anon", or
 * "/memfd:" without an ELF image) makes MODULE_ANON. NULL + ENOMEM.
 */
struct module *module_open(pid_t tgid, uint64_t start, uint64_t end, const char *path,
			   const struct module_identity *identity);

/* A file that was found without a process: @fd (taken) is what there is of @path. *owned*; NULL +
 * ENOMEM. */
struct module *module_of_file(const char *path, int fd);

/* Have the path of @module count from the root of process @tgid instead: that of module_open() had
 * the file open, but on behalf of this one. */
void module_enter_root(struct module *module, pid_t tgid);

/* The vdso of this kernel, copied from our own address space into an unnamed file. *owned*; NULL +
 * errno. */
struct module *module_vdso(void);

/* The JIT code of process @tgid, with path "//anon:TGID". *owned*; NULL + ENOMEM. */
struct module *module_jit(pid_t tgid);

/* The runtime may have begun its lists of names since: look again for what was not there. */
void module_jit_refresh(struct module *module);

/*
 * Has somebody written another file into the one that is open in @module? So it is when time or
 * size are not what the kernel saw, as far as that is known, and the build-id is another or there
 * is none. Names and lines of what is there now would be wrong.
 */
bool module_is_rewritten(const struct module *module);

/* Do without the file of @module, whose ELF headers cannot be read: it is closed, has no build-id,
 * and its absence is MODULE_BAD_ELF. */
void module_drop_file(struct module *module);

void module_free(struct module *module);

#endif
