/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic linker's cache. */
#include "event/ld_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/reader.h"

#if defined(__x86_64__)
enum { FLAGS_OURS = 0x0303 };
#elif defined(__aarch64__)
enum { FLAGS_OURS = 0x0a03 };
#else
#error "which flags has this architecture in ld.so.cache?"
#endif

enum { OLD_ENTRY_BYTES = 12, ENTRY_ALIGN = 8 };

static const char magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";

static bool accept_magic(struct reader *rd, const char *text, size_t len)
{
	if (reader_left(rd) < len || memcmp(rd->pos, text, len) != 0)
		return false;
	reader_skip(rd, len);
	return true;
}

/* Go to the magic, behind the old table if there is one. */
static void skip_old_table(struct reader *rd)
{
	uint64_t bytes;

	if (!accept_magic(rd, old_magic, sizeof(old_magic) - 1))
		return;
	reader_skip(rd, 1);
	bytes = reader_u32(rd) * (uint64_t)OLD_ENTRY_BYTES;
	reader_skip(rd, bytes);
	reader_skip(rd, -reader_offset(rd) % ENTRY_ALIGN);
}

/* The string at @off of @strings; NULL when it has no end, or none that a path could have: many
 * entries may share one that is as long as the file. */
static const char *string_at(struct reader strings, uint32_t off)
{
	struct reader near_end;

	reader_seek(&strings, off);
	near_end = reader_sub(&strings,
			      reader_left(&strings) < PATH_MAX ? reader_left(&strings) : PATH_MAX);
	return reader_cstr(&near_end, NULL);
}

int ld_cache_for_each(const void *bytes, size_t len, ld_cache_fn *fn, void *arg)
{
	struct reader rd, strings;
	uint32_t cnt;

	reader_init(&rd, bytes, len);
	skip_old_table(&rd);
	if (rd.err)
		return -EBADMSG;
	reader_init(&strings, rd.pos, reader_left(&rd));
	if (!accept_magic(&rd, magic, sizeof(magic) - 1))
		return -EBADMSG;
	cnt = reader_u32(&rd);
	reader_skip(&rd, 24);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t flags = reader_u32(&rd);
		const char *name = string_at(strings, reader_u32(&rd));
		const char *path = string_at(strings, reader_u32(&rd));
		int err;

		reader_skip(&rd, 12);
		if (rd.err)
			return -EBADMSG;
		if (flags != FLAGS_OURS || !name || !path || path[0] != '/')
			continue;
		err = fn(arg, name, path);
		if (err)
			return err;
	}
	return 0;
}
