/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading /etc/ld.so.cache, by which the dynamic linker finds libraries.
 *
 *	"glibc-ld.so.cache1.1"   20 bytes
 *	u32 entries, u32 bytes of strings, 20 bytes of other things
 *	entries of 24 bytes: u32 flags, u32 name, u32 path, u32, u64 hwcap
 *
 * Name and path are offsets from the magic. Flags tell the architecture: 0x0303 is x86-64, 0x0a03
 * is aarch64. Until glibc 2.32 all of it stood behind a table of the format before, "ld.so-1.7.0",
 * which has 12 bytes per entry.
 */
#ifndef BPFPROF_EVENT_LD_CACHE_H
#define BPFPROF_EVENT_LD_CACHE_H

#include <stddef.h>

/* @name as programs ask for it ("libc.so.6"), @path from the root that the cache is of; both are
 * borrowed from the cache. A non-zero result ends the walk. */
typedef int ld_cache_fn(void *arg, const char *name, const char *path);

/* The entries of this machine's architecture, in the cache's order. 0; -EBADMSG: not such a cache,
 * or cut short (entries before may have been told); or what @fn returned. */
int ld_cache_for_each(const void *bytes, size_t len, ld_cache_fn *fn, void *arg);

#endif
