/* SPDX-License-Identifier: Apache-2.0 */
/* Which file keeps the names of which module. */
#include "symbol/name_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"

enum { BUILD_ID_MIN = 8 }; /* bytes: less is no hash */

struct cache_dir *name_cache_open(const char *base)
{
	return cache_dir_open(base, "names", NAME_CACHE_MAX_BYTES);
}

/* The build-id, and where debug files would be: the same program may have them in one container and
 * not in another. */
static bool name_of(const struct module_symbols *syms, const struct name_source *source,
		    char out[static CACHE_NAME_MAX])
{
	const struct module *module = syms->module;
	size_t id_chars = 2UL * module->build_id_len;

	_Static_assert(2 * BUILD_ID_MAX + 1 + 2 * sizeof(source->places) < CACHE_NAME_MAX,
		       "every build-id is a name");
	if (module->build_id_len < BUILD_ID_MIN || module->build_id_len > BUILD_ID_MAX)
		return false;
	hex_format(module->build_id, module->build_id_len, out);
	out[id_chars] = '-';
	hex_format((const uint8_t *)&source->places, sizeof(source->places), out + id_chars + 1);
	return true;
}

void kept_names_load(struct kept_names *kept, struct cache_dir *cache,
		     const struct module_symbols *syms)
{
	int err;

	*kept = (struct kept_names){0};
	if (!cache || !module_symbols_source(syms, &kept->source) ||
	    !name_of(syms, &kept->source, kept->name)) {
		kept->name[0] = '\0';
		return;
	}
	kept->data = cache_dir_map(cache, kept->name, NAME_FILE_MAX_BYTES, &kept->data_bytes);
	if (!kept->data)
		return;
	err = name_file_decode(kept->data, kept->data_bytes, &kept->source, &kept->table);
	if (err)
		cache_dir_remove(cache, kept->name, err == -ESTALE ? "out of date" : "not valid");
}

void kept_names_deinit(struct kept_names *kept)
{
	if (kept->data)
		munmap((void *)kept->data, kept->data_bytes);
}

static void save(const struct kept_names *kept, struct cache_dir *cache,
		 const struct name_table *table)
{
	size_t len;
	_cleanup_free_ void *data = name_file_encode(table, &kept->source, &len);

	if (data)
		cache_dir_write(cache, kept->name, data, len);
	else
		log_debug("names: %s: not kept: %s", kept->name, strerror(errno));
}

void kept_names_save(const struct kept_names *kept, struct cache_dir *cache,
		     const struct name_table *learned)
{
	_cleanup_(name_builder_deinit) struct name_builder both = {0};
	struct name_table table = *learned;

	if (!kept->name[0] || !learned->stretches_cnt)
		return;
	if (kept->table.stretches_cnt) {
		if (name_builder_init(&both))
			return;
		/* Too many for one file: those that were needed last. */
		if (!name_builder_join(&both, &kept->table, learned))
			table = name_builder_table(&both);
	}
	save(kept, cache, &table);
}
