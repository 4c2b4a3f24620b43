/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, before it is opened as a store. */
#include "store/store_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "store/schema.h"
#include "store/store_priv.h"

/* SQLite's file format, section 1.3.1: the first 16 bytes, with the NUL. */
static const char magic[] = "SQLite format 3";

/* A FIFO must not hold us up, nor a device be read. */
static int look_at_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[sizeof(magic)];
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	len = fs_read_at(fd, head, sizeof(head), 0);
	if (len < 0)
		return (int)len;
	return len == sizeof(head) && !memcmp(head, magic, sizeof(head)) ? 0 : -EBADMSG;
}

int store_probe(const char *path, struct store_probe *out)
{
	const char *file = store_path_of(path);
	sqlite3 *db = NULL;
	uint64_t version;
	int err = look_at_file(file);

	if (!err)
		err = db_open(file, DB_READ, &db);
	if (err)
		return err;
	err = schema_version(db, &version);
	sqlite3_close(db);
	if (!err)
		*out = (struct store_probe){.version = version, .own_version = SCHEMA_VERSION};
	return err;
}
