/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of files that could be made again, and cost less to read:
 *
 *	/var/cache/bpfprof/<kind>/<name>.<kind>		root
 *	$XDG_CACHE_HOME/bpfprof/<kind>/...		others; ~/.cache without the variable
 *
 * Only folders and files are used that belong to the effective user and that nobody else may write.
 * Several processes may share a folder: files appear whole, by rename, but are not synced, so what
 * a crash cut short must be known by its content. For one thread at a time.
 */
#ifndef BPFPROF_BASE_CACHE_DIR_H
#define BPFPROF_BASE_CACHE_DIR_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_NAME_MAX = 160 }; /* bytes of a name, the end of string included */

struct cache_dir;

/*
 * The folder bpfprof/@kind in @base (NULL: where the user's caches are), made with mode 0700 where
 * it is missing; its files take at most @max_bytes of disk. @kind is borrowed for ever. *owned*;
 * NULL, which is a cache as well, one that keeps nothing: there is no such folder, and none can be
 * made, or it is not safe.
 */
struct cache_dir *cache_dir_open(const char *base, const char *kind, uint64_t max_bytes);
void cache_dir_close(struct cache_dir *dir);

/*
 * The content of @name, 1 to @max_bytes long, *owned*, its length into *@len. NULL: there is none,
 * or none that we alone can have written; such a file is removed. That it is used is noted.
 */
void *cache_dir_read(struct cache_dir *dir, const char *name, size_t max_bytes, size_t *len);

/*
 * The same as a mapping (*owned*: munmap()), which costs neither copy nor memory of ours: nobody
 * but us can change the file, and we replace it as a whole.
 */
const void *cache_dir_map(struct cache_dir *dir, const char *name, size_t max_bytes, size_t *len);

/* Keep @data under @name, all of it or nothing; the least recently used files make room. */
void cache_dir_write(struct cache_dir *dir, const char *name, const void *data, size_t len);

/* @name turned out to be @why ("not valid", ...): remove it. */
void cache_dir_remove(struct cache_dir *dir, const char *name, const char *why);

#endif
