/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in a folder of base/cache_dir.h; one that a crash cut short fails its checksum. */
#include "unwind/table_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file_stamp.h"
#include "proc/module.h"
#include "unwind/table_file.h"

struct cache_dir *table_cache_open(const char *base, uint64_t max_bytes)
{
	return cache_dir_open(base, "rows", max_bytes);
}

static bool name_of(const uint8_t *build_id, size_t len, char out[static CACHE_NAME_MAX])
{
	_Static_assert(2 * BUILD_ID_MAX < CACHE_NAME_MAX, "every build-id is a name");

	if (len < TABLE_CACHE_ID_MIN || len > BUILD_ID_MAX)
		return false;
	hex_format(build_id, len, out);
	return true;
}

/* The table under @name; NULL: none that is good. */
static struct unwind_table *cache_load(struct cache_dir *cache, const char *name,
				       const struct file_stamp *source)
{
	struct unwind_table *table;
	size_t len;
	void *data = cache_dir_read(cache, name, TABLE_FILE_MAX_BYTES, &len);

	if (!data)
		return NULL;
	table = table_file_decode(data, len, source);
	if (!table && (errno == EBADMSG || errno == ESTALE))
		cache_dir_remove(cache, name, errno == ESTALE ? "out of date" : "not valid");
	return table;
}

static void cache_store(struct cache_dir *cache, const char *name, const struct file_stamp *source,
			const struct unwind_table *table)
{
	size_t len;
	_cleanup_free_ void *data = table_file_encode(table, source, &len);

	if (data)
		cache_dir_write(cache, name, data, len);
}

struct unwind_table *table_cache_get(struct cache_dir *cache, int fd, const uint8_t *build_id,
				     size_t len)
{
	struct unwind_table *table;
	struct file_stamp source;
	char name[CACHE_NAME_MAX];

	if (!cache || !name_of(build_id, len, name) || !file_stamp_get(fd, &source))
		return unwind_table_open(fd);
	table = cache_load(cache, name, &source);
	if (table)
		return table;
	table = unwind_table_open(fd);
	if (table && table->rows.cnt >= TABLE_CACHE_ROWS_MIN)
		cache_store(cache, name, &source, table);
	return table;
}
