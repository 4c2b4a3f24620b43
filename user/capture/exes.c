/* SPDX-License-Identifier: Apache-2.0 */
/* The table of executables that the kernel side has met. */
#include "capture/exes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "capture/preload.h"
#include "elf/elf_file.h"

enum { VDSO_MAX_BYTES = 2 * 4096 };

static bool id_equals(const void *owner, uint32_t index, const void *key)
{
	const struct exes *exes = owner;

	return exes->items[index].id == *(const uint32_t *)key;
}

static uint64_t id_hash(uint32_t id)
{
	return hash_mix(0, id);
}

struct exe_entry *exes_find(const struct exes *exes, uint32_t id)
{
	uint32_t index = hmap_find(&exes->by_id, id_hash(id), id_equals, exes, &id);

	return index == HMAP_NONE ? NULL : &exes->items[index];
}

/* A file whose segments cannot be read counts as absent: see struct exe_entry. 0 or -ENOMEM. */
static int load_segments(struct module *module, struct elf_segments *out)
{
	int err = 0;

	if (module->kind == MODULE_VDSO)
		err = elf_segments_parse((const void *)getauxval(AT_SYSINFO_EHDR), VDSO_MAX_BYTES,
					 out);
	else if (module->fd >= 0)
		err = elf_segments_read(module->fd, out);
	if (!err || err == -ENOMEM)
		return err;
	log_debug("%s: its ELF headers: %s", module->path, strerror(-err));
	module_drop_file(module);
	return 0;
}

void exe_identify(struct exe_entry *exe, struct elf_segments *segments, const uint8_t *build_id,
		  size_t build_id_len)
{
	struct module *module = exe->module;

	if (build_id_len > BUILD_ID_MAX)
		build_id_len = 0;
	elf_segments_deinit(&exe->segments);
	exe->segments = *segments;
	*segments = (struct elf_segments){0};
	memcpy(module->build_id, build_id, build_id_len);
	module->build_id_len = (uint32_t)build_id_len;
	hex_format(module->build_id, build_id_len, exe->build_id_hex);
}

/* From what a process had mapped of a file that is gone. 0 or -ENOMEM. */
static int identify_by_head(struct exe_entry *exe, const struct bp_exe_event *event)
{
	size_t len = event->head_bytes <= BP_EXE_HEAD_BYTES ? event->head_bytes : 0;
	struct elf_segments segments;
	uint8_t build_id[BUILD_ID_MAX];
	size_t id_len;
	int err;

	id_len = len ? elf_build_id_head(event->head, len, event->file_off, build_id,
					 sizeof(build_id))
		     : 0;
	if (!id_len)
		return 0;
	err = elf_segments_parse(event->head, len, &segments);
	if (!err)
		exe_identify(exe, &segments, build_id, id_len);
	return err == -ENOMEM ? err : 0;
}

/* Takes @module, also on failure. */
static int exes_add(struct exes *exes, uint32_t id, const struct bp_exe_key *key, bool is_sampled,
		    struct module *module)
{
	struct exe_entry *entry;
	int err = array_reserve(&exes->items, &exes->cap, exes->cnt + 1, sizeof(*exes->items));

	if (!err)
		err = hmap_insert(&exes->by_id, id_hash(id), exes->cnt);
	if (err) {
		module_free(module);
		return err;
	}
	entry = &exes->items[exes->cnt++];
	*entry = (struct exe_entry){.id = id, .is_sampled = is_sampled, .module = module};
	if (key)
		entry->key = *key;
	err = load_segments(module, &entry->segments);
	hex_format(module->build_id, module->build_id_len, entry->build_id_hex);
	return err;
}

int exes_init(struct exes *exes)
{
	struct module *vdso;

	*exes = (struct exes){0};
	hmap_init(&exes->by_id);
	vdso = module_vdso();
	return vdso ? exes_add(exes, BP_EXE_VDSO, NULL, true, vdso) : 0;
}

void exes_deinit(struct exes *exes)
{
	for (size_t i = 0; i < exes->cnt; i++) {
		module_free(exes->items[i].module);
		elf_segments_deinit(&exes->items[i].segments);
	}
	free(exes->items);
	hmap_deinit(&exes->by_id);
	*exes = (struct exes){0};
}

/* The components stand leaf first, each NUL-terminated: "/" + them in reverse. */
static void path_from_event(const struct bp_exe_event *event, size_t len, struct buf *out)
{
	const char *parts[BP_PATH_PARTS];
	size_t cnt = 0, bytes = event->path_bytes, pos = 0;

	if (bytes > BP_PATH_BYTES || bytes > len - offsetof(struct bp_exe_event, path))
		return;
	while (pos < bytes && cnt < BP_PATH_PARTS) {
		size_t part_len = strnlen(event->path + pos, bytes - pos);

		if (pos + part_len == bytes)
			break;
		if (part_len)
			parts[cnt++] = event->path + pos;
		pos += part_len + 1;
	}
	while (cnt--) {
		buf_add_char(out, '/');
		buf_add_str(out, parts[cnt]);
	}
}

/* A file of a container that runs already is announced from our own memory, but what belongs to it
 * is in the container. */
static pid_t enter_root(const struct exes *exes, const struct bp_exe_event *event,
			struct module *module)
{
	pid_t tgid = 0;

	if (exes->preload && event->tgid == (uint32_t)getpid() && module->fd >= 0)
		tgid = preload_tgid(exes->preload, event->vma_start);
	if (tgid)
		module_enter_root(module, tgid);
	return tgid;
}

int exes_announce(struct exes *exes, const struct bp_exe_event *event, size_t len)
{
	struct module_identity identity;
	_cleanup_(buf_deinit) struct buf path;
	struct module *module;
	pid_t root_tgid;
	int err;

	buf_init(&path, BP_PATH_BYTES + BP_PATH_PARTS);
	if (len < offsetof(struct bp_exe_event, path) || exes_find(exes, event->id))
		return 0;
	path_from_event(event, len, &path);
	identity = (struct module_identity){
		.ino = event->key.ino,
		.size_bytes = event->key.size_bytes,
		.mtime_s = event->key.mtime_s,
		.mtime_ns = event->key.mtime_ns,
		.dev = event->key.dev,
	};
	module = module_open(event->tgid, event->vma_start, event->vma_end, buf_cstr(&path),
			     &identity);
	if (!module)
		return -errno;
	root_tgid = enter_root(exes, event, module);
	log_debug("exe %u: %s%s", event->id, module->path,
		  module->fd < 0 ? " (could not be opened)" : "");
	err = exes_add(exes, event->id, &event->key, event->tgid != (uint32_t)getpid(), module);
	if (!err && module->fd < 0)
		err = identify_by_head(exes_find(exes, event->id), event);
	len -= offsetof(struct bp_exe_event, path);
	if (!err && exes->pins)
		exes_keep(exes, event, event->path_bytes < len ? event->path_bytes : len,
			  root_tgid);
	return err;
}

static void ask_symbols(const struct module *module, struct debuginfod *debuginfod)
{
	const struct debuginfod_wish wish = {
		.kind = DEBUGINFOD_DEBUG_FILE,
		.build_id = module->build_id,
		.build_id_len = module->build_id_len,
		.path = module->path + module->path_in_root,
		.fd = module->fd,
		.root_fd = module->root_fd,
	};
	int err = debuginfod_ask(debuginfod, &wish);

	if (err)
		log_debug("debuginfod: not asked for '%s': %s", module->path, strerror(-err));
}

void exes_ask_symbols(struct exes *exes, struct debuginfod *debuginfod)
{
	for (size_t i = 0; i < exes->cnt; i++) {
		struct exe_entry *exe = &exes->items[i];
		const struct module *module = exe->module;

		if (exe->is_asked || !(exe->is_sampled || exe->is_used))
			continue;
		exe->is_asked = true;
		if (module->kind == MODULE_FILE && module->fd >= 0 && module->build_id_len)
			ask_symbols(module, debuginfod);
	}
}

uint64_t exe_vaddr(const struct exe_entry *exe, uint64_t file_off)
{
	uint64_t vaddr;

	return elf_segments_vaddr(&exe->segments, file_off, &vaddr) ? file_off : vaddr;
}
