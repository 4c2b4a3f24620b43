/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and who they are: see identity.h. */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/label_text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "elf/elf_file.h"

enum {
	ENVIRON_MAX_BYTES = 128 << 10,
	PROC_FILE_MAX_BYTES = 16 << 10,
};

/* A process may be about to become another program, or to be moved to its control group. */
#define YOUNG_NS (2 * NSEC_PER_SEC)
/* What is read again of those that go on. */
#define STALE_NS (60 * NSEC_PER_SEC)

int identities_init(struct identities *ids, const char *cgroup_root)
{
	*ids = (struct identities){.items = NULL};
	hmap_init(&ids->index);
	return cgroup_ids_init(&ids->cgroups, cgroup_root);
}

void identities_deinit(struct identities *ids)
{
	free(ids->items);
	hmap_deinit(&ids->index);
	cgroup_ids_deinit(&ids->cgroups);
}

void identities_forget(struct identities *ids)
{
	free(ids->items);
	ids->items = NULL;
	ids->cnt = ids->cap = 0;
	hmap_deinit(&ids->index);
	hmap_init(&ids->index);
	cgroup_ids_forget(&ids->cgroups);
}

/* --- /proc/PID --- */

/* What file @name of the folder holds, as much as @out may hold of it. False: nothing. */
static bool read_in(int folder, const char *name, struct buf *out)
{
	_cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return false;
	fs_read_fd(fd, out);
	return out->len;
}

/* Clock ticks since boot, as stat shows them; 0: not known. */
static uint64_t start_ticks(int folder)
{
	_cleanup_(buf_deinit) struct buf stat;

	buf_init(&stat, PROC_FILE_MAX_BYTES);
	return read_in(folder, "stat", &stat) ? clock_parse_start_ticks(stat.data, stat.len) : 0;
}

/* Is the process behind @folder the one that started at @start_ns? */
static bool is_same(int folder, uint64_t start_ns)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = NSEC_PER_SEC / (hz > 0 ? (uint64_t)hz : 100);
	uint64_t ticks = start_ticks(folder);

	return ticks && (!start_ns || ticks == start_ns / tick_ns);
}

/* Its folder, *owned*; -ESRCH: it has gone. */
static int open_process(const struct identity_key *key)
{
	char path[32];
	int folder;

	snprintf(path, sizeof(path), "/proc/%u", key->tgid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -ESRCH;
	if (is_same(folder, key->start_ns))
		return folder;
	close(folder);
	return -ESRCH;
}

static void read_build_id(int folder, char *out)
{
	_cleanup_close_ int fd = openat(folder, "exe", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	uint8_t id[BUILD_ID_MAX];

	out[0] = '\0';
	if (fd >= 0)
		hex_format(id, elf_build_id_fd(fd, id, sizeof(id)), out);
}

static void take_cgroup(struct identity *id, const char *path, size_t len)
{
	cgroup_path_parse(path, len, &id->names);
	label_copy(id->cgroup, sizeof(id->cgroup), path, len);
}

/* All that there is to read of the process behind @folder. */
static void read_process(int folder, const struct identity_key *key, struct identity *id)
{
	_cleanup_(buf_deinit) struct buf env, cgroup;
	char build_id[2 * BUILD_ID_MAX + 1], exe[PATH_MAX];
	ssize_t exe_len = readlinkat(folder, "exe", exe, sizeof(exe) - 1);
	struct service_facts facts = {.pod_name = "", .exe = exe, .build_id = build_id};
	const char *path;
	size_t len;

	buf_init(&env, ENVIRON_MAX_BYTES);
	buf_init(&cgroup, PROC_FILE_MAX_BYTES);
	read_in(folder, "cgroup", &cgroup);
	path = cgroup_file_pick(buf_cstr(&cgroup), cgroup.len, &len);
	if (path)
		take_cgroup(id, path, len);
	read_in(folder, "environ", &env);
	exe[exe_len > 0 ? exe_len : 0] = '\0';
	read_build_id(folder, build_id);
	facts.environ = buf_cstr(&env);
	facts.environ_len = env.len;
	facts.unit = id->names.unit;
	facts.comm = key->comm;
	facts.is_kernel = exe_len <= 0 && !env.len;
	service_choose(&facts, &id->service);
}

/* What the sample alone says. */
static void guess(struct identities *ids, const struct identity_key *key, uint64_t now_ns,
		  struct identity *id)
{
	const char *path = cgroup_ids_find(&ids->cgroups, key->cgroup_id, now_ns);
	struct service_facts facts = {.environ = "", .pod_name = "", .exe = "", .build_id = ""};

	if (path)
		take_cgroup(id, path, strlen(path));
	facts.unit = id->names.unit;
	facts.comm = key->comm;
	service_choose(&facts, &id->service);
}

/* --- Those that are known --- */

static bool may_look(struct identities *ids, uint64_t now_ns)
{
	if (now_ns - ids->second_ns >= NSEC_PER_SEC) {
		ids->second_ns = now_ns;
		ids->lookups = 0;
	}
	return ids->lookups++ < IDENTITY_LOOKUPS_MAX;
}

/* Fill @id; of one that is known, only if the process is still there. */
static void look(struct identities *ids, const struct identity_key *key, uint64_t now_ns,
		 bool is_known, struct identity *id)
{
	_cleanup_close_ int folder = open_process(key);
	uint64_t age_ns = clock_boottime_ns() - key->start_ns;

	id->looked_ns = now_ns;
	id->is_settled = folder < 0 || age_ns > YOUNG_NS;
	if (folder >= 0) {
		id->names = (struct cgroup_names){.container = ""};
		id->cgroup[0] = '\0';
		read_process(folder, key, id);
		id->was_there = true;
	} else if (!is_known) {
		guess(ids, key, now_ns, id);
	}
}

static bool is_identity(const void *owner, uint32_t index, const void *key)
{
	const struct identity *id = &((const struct identities *)owner)->items[index];
	const struct identity_key *wanted = key;

	return id->tgid == wanted->tgid && id->start_ns == wanted->start_ns;
}

static uint64_t hash_of(uint32_t tgid, uint64_t start_ns)
{
	return hash_mix(hash_mix(0, tgid), start_ns);
}

static struct identity *add(struct identities *ids, const struct identity_key *key)
{
	struct identity *id;

	if (ids->cnt >= IDENTITIES_MAX ||
	    array_reserve(&ids->items, &ids->cap, ids->cnt + 1, sizeof(*ids->items)) ||
	    hmap_insert(&ids->index, hash_of(key->tgid, key->start_ns), (uint32_t)ids->cnt))
		return NULL;
	id = &ids->items[ids->cnt++];
	*id = (struct identity){.tgid = key->tgid, .start_ns = key->start_ns};
	return id;
}

const struct identity *identities_get(struct identities *ids, const struct identity_key *key,
				      uint64_t now_ns)
{
	uint32_t at =
		hmap_find(&ids->index, hash_of(key->tgid, key->start_ns), is_identity, ids, key);
	struct identity *id = at != HMAP_NONE ? &ids->items[at] : NULL;
	uint64_t fresh_ns;

	if (!id && (!may_look(ids, now_ns) || !(id = add(ids, key)))) {
		ids->spare = (struct identity){.tgid = key->tgid, .start_ns = key->start_ns};
		guess(ids, key, now_ns, &ids->spare);
		return &ids->spare;
	}
	id->window = ids->window;
	fresh_ns = id->is_settled ? STALE_NS : YOUNG_NS;
	if (at == HMAP_NONE || (now_ns - id->looked_ns > fresh_ns && may_look(ids, now_ns)))
		look(ids, key, now_ns, at != HMAP_NONE, id);
	return id;
}

void identities_end_window(struct identities *ids)
{
	size_t kept = 0;

	hmap_clear(&ids->index);
	for (size_t i = 0; i < ids->cnt; i++) {
		struct identity *id = &ids->items[i];

		if (ids->window - id->window > 1 ||
		    hmap_insert(&ids->index, hash_of(id->tgid, id->start_ns), (uint32_t)kept))
			continue;
		ids->items[kept++] = *id;
	}
	ids->cnt = kept;
	ids->window++;
}
