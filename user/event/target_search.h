/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a bare name may mean. "libssl" means libssl.so.3, and libssl-1.1.so of older systems,
 * but not libsslcommon.so; "libc" is libc.so.6, or musl's, never libcrypt. A name that is written
 * out is preferred to what begins with it.
 *
 * Each function adds what one place has; nothing is opened but lists and folders.
 */
#ifndef BPFPROF_EVENT_TARGET_SEARCH_H
#define BPFPROF_EVENT_TARGET_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "event/suggest.h"

/* Whose names and paths are meant. */
struct target_root {
	pid_t tgid; /* 0: nobody's in particular */
	int fd; /* O_PATH, owned */
	bool is_own; /* our own root, whoever's process it is */
	char folder[PATH_MAX]; /* what paths in /proc/TGID/maps have in front of those in the root
				*/
};

struct candidate {
	char *path; /* owned: from the root */
	char *map_path; /* owned: "/proc/TGID/map_files/START-END"; NULL: not by a mapping */
};

/* The best that was found so far: candidates of another rank are not kept. */
struct candidates {
	struct candidate *items; /* owned */
	size_t cnt, cap;
	int rank; /* of all of them; 0: there are none */
};

void candidates_deinit(struct candidates *candidates);

/* How well the file name @file fits @name: 0 not at all; larger is better. */
int target_name_rank(const char *name, const char *file);

/*
 * What process root->tgid has mapped as code: by bare name, or by a path that counts from its root.
 * 0 whatever is found; negative errno when its maps cannot be read. -ENOMEM, here and below.
 */
int target_search_mapped(const struct target_root *root, const char *name,
			 struct candidates *candidates, struct suggest *near);

/* What /etc/ld.so.cache of the root has. */
int target_search_cache(const struct target_root *root, const char *name,
			struct candidates *candidates, struct suggest *near);

/* What the folders of libraries have: for roots without that cache, as musl's. */
int target_search_folders(const struct target_root *root, const char *name,
			  struct candidates *candidates);

/* The programs of that name in the folders of $PATH. */
int target_search_programs(const struct target_root *root, const char *name,
			   struct candidates *candidates);

#endif
