/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_tables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hmap.h"
#include "base/log.h"
#include "fleet/fleet_symbols.h"
#include "relay/relay_spool_priv.h"

enum { FOLDER_MODE = 0700 };

#define CLAIM_NS (FLEET_CLAIM_S * NSEC_PER_SEC)
#define FOR_EVER UINT64_MAX

/* A table that waits. */
struct table {
	char *build_id; /* owned: its file's name */
	uint64_t bytes;
};

/* Who makes a table. */
struct claim {
	uint64_t module; /* the build-id's hash is all of it */
	uint64_t host; /* 0: nobody may */
	uint64_t until_ns;
};

struct relay_tables {
	pthread_mutex_t lock;
	int dir_fd;
	uint64_t max_bytes, bytes;
	bool is_full; /* there was no room for the last one: until another one goes */
	struct table *tables; /* owned */
	size_t table_cnt, table_cap;
	size_t next; /* that is shipped */
	struct fleet_modules wanted; /* less what has come since */
	uint64_t known_ns; /* since when; 0: it is not known */
	bool is_asked; /* by hosts, since */
	struct claim *claims; /* owned */
	size_t claim_cnt, claim_cap;
};

static void unlock(struct relay_tables **tables)
{
	pthread_mutex_unlock(&(*tables)->lock);
}

static struct relay_tables *lock(struct relay_tables *tables)
{
	pthread_mutex_lock(&tables->lock);
	return tables;
}

/* Until the end of the scope. */
#define LOCKED(tables) _guard_(unlock) struct relay_tables *locked = lock(tables)

/* --- What waits --- */

/* table_cnt: none. */
static size_t find_table(const struct relay_tables *tables, const char *build_id)
{
	size_t i = 0;

	while (i < tables->table_cnt && strcmp(tables->tables[i].build_id, build_id) != 0)
		i++;
	return i;
}

static int add_table(struct relay_tables *tables, const char *build_id, uint64_t bytes)
{
	struct table table = {.build_id = strdup(build_id), .bytes = bytes};

	if (!table.build_id || array_reserve(&tables->tables, &tables->table_cap,
					     tables->table_cnt + 1, sizeof(*tables->tables))) {
		free(table.build_id);
		return -ENOMEM;
	}
	tables->tables[tables->table_cnt++] = table;
	tables->bytes += bytes;
	return 0;
}

static void drop_table(struct relay_tables *tables, size_t index)
{
	free(tables->tables[index].build_id);
	tables->bytes -= tables->tables[index].bytes;
	tables->table_cnt--;
	memmove(&tables->tables[index], &tables->tables[index + 1],
		(tables->table_cnt - index) * sizeof(*tables->tables));
	if (tables->next > index)
		tables->next--;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int take_file(struct relay_tables *tables, const char *name)
{
	struct stat st;

	if (fstatat(tables->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	if (relay_is_build_id(name))
		return add_table(tables, name, (uint64_t)st.st_size);
	/* It was being written: nobody was told that it is there. */
	if (unlinkat(tables->dir_fd, name, 0))
		log_warn("relay: 'symbols/%s' cannot be removed: %s", name, strerror(errno));
	return 0;
}

static int list_files(struct relay_tables *tables)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	const struct dirent *entry;
	int err = 0, fd = openat(tables->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)) != NULL)
		err = take_file(tables, entry->d_name);
	return err;
}

static int open_folder(struct relay_tables *tables, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || (mkdirat(fd, "symbols", FOLDER_MODE) && errno != EEXIST))
		return -errno;
	tables->dir_fd = openat(fd, "symbols", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return tables->dir_fd < 0 ? -errno : 0;
}

int relay_tables_open(const char *path, uint64_t max_bytes, struct relay_tables **out)
{
	struct relay_tables *tables = calloc(1, sizeof(*tables));
	int err;

	if (!tables)
		return -ENOMEM;
	pthread_mutex_init(&tables->lock, NULL);
	tables->dir_fd = -1;
	tables->max_bytes = max_bytes;
	tables->is_asked = true;
	err = open_folder(tables, path);
	if (!err)
		err = list_files(tables);
	if (err)
		relay_tables_close(tables);
	else
		*out = tables;
	return err;
}

void relay_tables_close(struct relay_tables *tables)
{
	if (!tables)
		return;
	cleanup_close_fn(&tables->dir_fd);
	for (size_t i = 0; i < tables->table_cnt; i++)
		free(tables->tables[i].build_id);
	free(tables->tables);
	free(tables->claims);
	fleet_modules_deinit(&tables->wanted);
	pthread_mutex_destroy(&tables->lock);
	free(tables);
}

/* --- What is wanted --- */

static uint64_t module_of(const char *build_id)
{
	return hash_bytes(build_id, strlen(build_id));
}

/* claim_cnt: there is none that holds. */
static size_t find_claim(const struct relay_tables *tables, uint64_t module, uint64_t now_ns)
{
	size_t i = 0;

	while (i < tables->claim_cnt &&
	       (tables->claims[i].module != module || tables->claims[i].until_ns <= now_ns))
		i++;
	return i;
}

/* Could @host make the table: is it neither here, nor somebody else's? */
static bool is_open(const struct relay_tables *tables, const char *build_id, uint64_t host,
		    uint64_t now_ns)
{
	const size_t claim = find_claim(tables, module_of(build_id), now_ns);

	return find_table(tables, build_id) == tables->table_cnt &&
	       (claim == tables->claim_cnt || tables->claims[claim].host == host);
}

bool relay_tables_is_due(struct relay_tables *tables, uint64_t now_ns)
{
	LOCKED(tables);

	return tables->is_asked &&
	       (!tables->known_ns || now_ns - tables->known_ns >= RELAY_TABLES_LIST_NS);
}

void relay_tables_want(struct relay_tables *tables, struct fleet_modules *wanted, uint64_t now_ns)
{
	size_t kept = 0;
	LOCKED(tables);

	fleet_modules_deinit(&tables->wanted);
	tables->wanted = *wanted;
	*wanted = (struct fleet_modules){.cnt = 0};
	tables->known_ns = now_ns;
	tables->is_asked = false;
	/* Claims that are over. */
	for (size_t i = 0; i < tables->claim_cnt; i++)
		if (tables->claims[i].until_ns > now_ns)
			tables->claims[kept++] = tables->claims[i];
	tables->claim_cnt = kept;
}

int relay_tables_list(struct relay_tables *tables, uint64_t host, uint64_t now_ns,
		      struct buf *answer)
{
	LOCKED(tables);

	tables->is_asked = true;
	if (!tables->known_ns)
		return -EAGAIN;
	for (size_t i = 0; i < tables->wanted.cnt && answer->len < RELAY_WANTED_BYTES_MAX; i++) {
		const struct fleet_module *module = &tables->wanted.items[i];

		/* Go's build-ids, say, are none by which a host could find a file. */
		if (relay_is_build_id(module->build_id) && strlen(module->path) < RELAY_FILE_MAX &&
		    is_open(tables, module->build_id, host, now_ns))
			relay_answer_add(module->build_id, module->path,
					 !strcmp(module->why, "no_lines"), answer);
	}
	return 0;
}

static bool is_wanted(const struct relay_tables *tables, const char *build_id)
{
	for (size_t i = 0; i < tables->wanted.cnt; i++)
		if (!strcmp(tables->wanted.items[i].build_id, build_id))
			return true;
	return false;
}

/* Not until the store is asked again. */
static void stop_wanting(struct relay_tables *tables, const char *build_id)
{
	struct fleet_modules *wanted = &tables->wanted;

	for (size_t i = 0; i < wanted->cnt; i++) {
		if (strcmp(wanted->items[i].build_id, build_id) != 0)
			continue;
		free(wanted->items[i].build_id);
		free(wanted->items[i].path);
		wanted->cnt--;
		memmove(&wanted->items[i], &wanted->items[i + 1],
			(wanted->cnt - i) * sizeof(*wanted->items));
		return;
	}
}

static int set_claim(struct relay_tables *tables, const struct claim *claim, uint64_t now_ns)
{
	const size_t at = find_claim(tables, claim->module, now_ns);

	if (at == tables->claim_cnt) {
		if (array_reserve(&tables->claims, &tables->claim_cap, tables->claim_cnt + 1,
				  sizeof(*tables->claims)))
			return -ENOMEM;
		tables->claim_cnt++;
	}
	tables->claims[at] = *claim;
	return 0;
}

int relay_tables_claim(struct relay_tables *tables, const char *build_id, uint64_t host,
		       uint64_t now_ns, bool *is_ours)
{
	const struct claim claim = {
		.module = module_of(build_id), .host = host, .until_ns = now_ns + CLAIM_NS};
	LOCKED(tables);

	*is_ours = !tables->is_full && is_wanted(tables, build_id) &&
		   is_open(tables, build_id, host, now_ns);
	return *is_ours ? set_claim(tables, &claim, now_ns) : 0;
}

/* --- Keeping them --- */

int relay_tables_put(struct relay_tables *tables, const char *build_id, const void *message,
		     size_t len)
{
	int err;
	LOCKED(tables);

	if (find_table(tables, build_id) < tables->table_cnt)
		return -EEXIST;
	if (len > tables->max_bytes)
		return -EFBIG;
	tables->is_full = tables->bytes + len > tables->max_bytes;
	if (tables->is_full)
		return -EDQUOT;
	err = spool_write_file(tables->dir_fd, build_id, message, len, true);
	if (!err)
		err = add_table(tables, build_id, len);
	if (!err)
		stop_wanting(tables, build_id);
	return err;
}

int relay_tables_next(struct relay_tables *tables, char build_id[static RELAY_BUILD_ID_MAX],
		      struct buf *message)
{
	_cleanup_close_ int fd = -1;
	int err;
	LOCKED(tables);

	if (!tables->table_cnt)
		return 0;
	tables->next = tables->next < tables->table_cnt ? tables->next : 0;
	snprintf(build_id, RELAY_BUILD_ID_MAX, "%s", tables->tables[tables->next++].build_id);
	buf_reset(message);
	fd = openat(tables->dir_fd, build_id, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : fs_read_fd(fd, message);
	return err ? err : 1;
}

void relay_tables_done(struct relay_tables *tables, const char *build_id, bool is_refused)
{
	const struct claim nobody = {.module = module_of(build_id), .until_ns = FOR_EVER};
	size_t index;
	LOCKED(tables);

	index = find_table(tables, build_id);
	if (index == tables->table_cnt)
		return;
	if (unlinkat(tables->dir_fd, build_id, 0) && errno != ENOENT)
		log_warn("relay: 'symbols/%s', which is shipped, cannot be removed: %s", build_id,
			 strerror(errno));
	drop_table(tables, index);
	tables->is_full = false;
	/* What was asked of the store may be older than that. */
	stop_wanting(tables, build_id);
	if (is_refused && set_claim(tables, &nobody, 0))
		log_warn("relay: no memory to note what is refused");
}

struct relay_tables_state relay_tables_state(struct relay_tables *tables)
{
	LOCKED(tables);

	return (struct relay_tables_state){.cnt = tables->table_cnt, .bytes = tables->bytes};
}
