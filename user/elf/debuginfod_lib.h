/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdebuginfod, loaded when it is first needed: one question, asked and waited for, and
 * its answer looked at. Private to elf/.
 */
#ifndef BPFPROF_ELF_DEBUGINFOD_LIB_H
#define BPFPROF_ELF_DEBUGINFOD_LIB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/debuginfod.h"

/* debuginfod_find_debuginfo(3): the library's functions, by the types that elfutils gives them. */
struct debuginfod_client;
typedef int debuginfod_progress_fn(struct debuginfod_client *handle, long done, long total);
typedef int debuginfod_find_fn(struct debuginfod_client *handle, const unsigned char *build_id,
			       int build_id_len, char **path);

/* All zero: not loaded. It stays loaded until the process ends, as threads may be inside it. */
struct debuginfod_lib {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *handle);
	void (*set_progressfn)(struct debuginfod_client *handle, debuginfod_progress_fn *progress);
	debuginfod_find_fn *find[DEBUGINFOD_KIND_CNT];
};

/* 0 and *@out, or -ELIBACC with the reason in @why (@why_bytes). Takes tens of milliseconds: it
 * brings an HTTP client along. */
int debuginfod_lib_open(struct debuginfod_lib *out, char *why, size_t why_bytes);

struct debuginfod_question {
	enum debuginfod_kind kind;
	const uint8_t *build_id; /* borrowed */
	size_t build_id_len;
	uint64_t max_bytes; /* a larger file is not fetched */
	const atomic_bool *is_cancelled; /* borrowed: looked at about every second */
};

/*
 * Ask the servers in $DEBUGINFOD_URLS, or the library's cache, through @handle (the thread's own,
 * from lib->begin()). The descriptor of a regular file in that cache that has the build-id itself,
 * and its path, both *owned*. -ESTALE: it is something else, and taken out of the cache; -ENOENT:
 * no server has it, or none had it some minutes ago; -ETIMEDOUT, -ETIME, -ECONNREFUSED,
 * -EHOSTUNREACH and the like: no answer; -EFBIG; -ECANCELED.
 */
int debuginfod_lib_find(const struct debuginfod_lib *lib, struct debuginfod_client *handle,
			const struct debuginfod_question *question, char **path_out);

/*
 * A question that was ended before its answer counts as answered with "no" (elfutils 0.188), and
 * nobody would ask again for ten minutes: take back the empty file in the cache that says so.
 * debuginfod_lib_find() does that itself, where it returns.
 */
void debuginfod_lib_forget(enum debuginfod_kind kind, const uint8_t *build_id, size_t build_id_len);

#endif
