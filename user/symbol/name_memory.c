/* SPDX-License-Identifier: Apache-2.0 */
/* A table for each module, found by what makes two modules one: see name_memory.h. */
#include "symbol/name_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* No padding: compared as bytes. */
struct module_key {
	uint64_t path_hash; /* 0 with a build-id */
	uint64_t ino, size_bytes, mtime_s, mtime_ns, dev; /* likewise */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len[8];
};

struct known_module {
	struct module_key key;
	struct name_builder names; /* owned */
};

struct name_memory {
	struct known_module *modules; /* owned */
	size_t cnt, cap;
	size_t stretches_cnt; /* of all modules */
	struct hmap index;
};

struct name_memory *name_memory_new(void)
{
	struct name_memory *memory = calloc(1, sizeof(*memory));

	if (memory)
		hmap_init(&memory->index);
	return memory;
}

static void forget(struct name_memory *memory)
{
	for (size_t i = 0; i < memory->cnt; i++)
		name_builder_deinit(&memory->modules[i].names);
	memory->cnt = memory->stretches_cnt = 0;
	hmap_clear(&memory->index);
}

void name_memory_free(struct name_memory *memory)
{
	if (!memory)
		return;
	forget(memory);
	free(memory->modules);
	hmap_deinit(&memory->index);
	free(memory);
}

/* A build-id says all; a file without one is its inode, as long as nobody writes to it. */
static struct module_key key_of(const struct module *module)
{
	const struct module_identity *identity = &module->identity;
	struct module_key key;

	memset(&key, 0, sizeof(key));
	if (module->build_id_len) {
		memcpy(key.build_id, module->build_id, module->build_id_len);
		key.build_id_len[0] = (uint8_t)module->build_id_len;
		return key;
	}
	key.path_hash = hash_bytes(module->path, strlen(module->path));
	key.ino = identity->ino;
	key.size_bytes = identity->size_bytes;
	key.mtime_s = (uint64_t)identity->mtime_s;
	key.mtime_ns = identity->mtime_ns;
	key.dev = identity->dev;
	return key;
}

static bool module_is(const void *owner, uint32_t index, const void *key)
{
	const struct name_memory *memory = owner;

	return !memcmp(&memory->modules[index].key, key, sizeof(struct module_key));
}

static uint32_t find(const struct name_memory *memory, const struct module_key *key)
{
	return hmap_find(&memory->index, hash_bytes(key, sizeof(*key)), module_is, memory, key);
}

struct name_table name_memory_find(const struct name_memory *memory, const struct module *module)
{
	const struct module_key key = key_of(module);
	uint32_t index = find(memory, &key);

	if (index == (uint32_t)HMAP_NONE)
		return (struct name_table){0};
	return name_builder_table(&memory->modules[index].names);
}

/* The entry of @key, made when it is new; NULL when memory is out. */
static struct known_module *entry_of(struct name_memory *memory, const struct module_key *key)
{
	uint32_t index = find(memory, key);
	struct known_module *entry;

	if (index != (uint32_t)HMAP_NONE)
		return &memory->modules[index];
	if (array_reserve(&memory->modules, &memory->cap, memory->cnt + 1,
			  sizeof(*memory->modules)))
		return NULL;
	entry = &memory->modules[memory->cnt];
	entry->key = *key;
	if (name_builder_init(&entry->names))
		return NULL;
	if (hmap_insert(&memory->index, hash_bytes(key, sizeof(*key)), (uint32_t)memory->cnt)) {
		name_builder_deinit(&entry->names);
		return NULL;
	}
	memory->cnt++;
	return entry;
}

int name_memory_add(struct name_memory *memory, const struct module *module,
		    const struct name_table *learned)
{
	const struct module_key key = key_of(module);
	struct known_module *entry;
	struct name_builder joined;
	struct name_table known;
	int err;

	if (memory->stretches_cnt + learned->stretches_cnt > NAME_MEMORY_STRETCHES_MAX)
		forget(memory);
	entry = entry_of(memory, &key);
	if (!entry)
		return -ENOMEM;
	err = name_builder_init(&joined);
	known = name_builder_table(&entry->names);
	if (!err)
		err = name_builder_join(&joined, &known, learned);
	if (err) {
		name_builder_deinit(&joined);
		return err;
	}
	name_builder_deinit(&entry->names);
	entry->names = joined;
	memory->stretches_cnt += learned->stretches_cnt;
	return 0;
}
