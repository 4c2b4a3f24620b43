/* SPDX-License-Identifier: Apache-2.0 */
/* The spool's files, and what is found in them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hmap.h"
#include "base/log.h"
#include "base/reader.h"
#include "relay/relay_spool_priv.h"

enum { FOLDER_MODE = 0700, NUMBER_BYTES = 17, CURSOR_BYTES = 3 * NUMBER_BYTES };

#define SEGMENT_PREFIX "segment-"

/* --- Files --- */

void spool_segment_name(uint64_t nr, char out[static SPOOL_NAME_BYTES])
{
	snprintf(out, SPOOL_NAME_BYTES, SEGMENT_PREFIX "%016" PRIx64, nr);
}

/* All of a small file: 0 or negative errno. */
static int read_file(const struct relay_spool *spool, const char *name, struct buf *out)
{
	_cleanup_close_ int fd = openat(spool->dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fs_read_fd(fd, out);
}

int spool_write_file(int dir_fd, const char *name, const void *data, size_t len, bool is_synced)
{
	char temporary[SPOOL_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	int err;

	snprintf(temporary, sizeof(temporary), ".%.48s.new", name);
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, SPOOL_FILE_MODE);
	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, data, len);
	if (!err && is_synced && fsync(fd))
		err = -errno;
	if (!err && renameat(dir_fd, temporary, dir_fd, name))
		err = -errno;
	if (!err && is_synced && fsync(dir_fd))
		err = -errno;
	if (err)
		unlinkat(dir_fd, temporary, 0);
	return err;
}

/* --- Opening --- */

static int open_folder(struct relay_spool *spool, const char *path)
{
	if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	spool->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->dir_fd < 0)
		return -errno;
	if (mkdirat(spool->dir_fd, "quarantine", FOLDER_MODE) && errno != EEXIST)
		return -errno;
	spool->aside_fd = openat(spool->dir_fd, "quarantine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->aside_fd < 0)
		return -errno;
	spool->lock_fd =
		openat(spool->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, SPOOL_FILE_MODE);
	if (spool->lock_fd < 0)
		return -errno;
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

/* It is on the disk before anybody is told. */
int spool_make_epoch(struct relay_spool *spool)
{
	char line[NUMBER_BYTES + 1];
	uint64_t epoch;
	int err;

	do {
		if (getrandom(&epoch, sizeof(epoch), 0) != sizeof(epoch))
			return -EIO;
	} while (!epoch);
	snprintf(line, sizeof(line), "%016" PRIx64 "\n", epoch);
	err = spool_write_file(spool->dir_fd, "epoch", line, strlen(line), true);
	if (!err)
		atomic_store(&spool->epoch, epoch);
	return err;
}

/* The one that is there, or a new one. */
static int take_epoch(struct relay_spool *spool)
{
	_cleanup_(buf_deinit) struct buf text;
	struct reader rd;
	int err;

	buf_init(&text, NUMBER_BYTES);
	err = read_file(spool, "epoch", &text);
	reader_init(&rd, buf_cstr(&text), text.len);
	atomic_store(&spool->epoch, err ? 0 : reader_number(&rd, 16));
	return !err && !rd.err && atomic_load(&spool->epoch) ? 0 : spool_make_epoch(spool);
}

static int compare_segments(const void *left, const void *right)
{
	const uint64_t one = ((const struct segment *)left)->nr;
	const uint64_t other = ((const struct segment *)right)->nr;

	return (one > other) - (one < other);
}

int spool_add_segment(struct relay_spool *spool, uint64_t nr)
{
	if (array_reserve(&spool->segments, &spool->segment_cap, spool->segment_cnt + 1,
			  sizeof(*spool->segments)))
		return -ENOMEM;
	spool->segments[spool->segment_cnt++] = (struct segment){.nr = nr};
	if (nr >= spool->next_segment_nr)
		spool->next_segment_nr = nr + 1;
	return 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Is @name "segment-NR"? */
static bool parse_name(const char *name, uint64_t *nr)
{
	const size_t prefix_len = strlen(SEGMENT_PREFIX);
	struct reader rd;

	if (strncmp(name, SEGMENT_PREFIX, prefix_len) != 0)
		return false;
	reader_init(&rd, name + prefix_len, strlen(name + prefix_len));
	*nr = reader_number(&rd, 16);
	return !rd.err && rd.pos == rd.end;
}

static int list_segments(struct relay_spool *spool)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	const struct dirent *entry;
	int err = 0, fd = openat(spool->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t nr;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)) != NULL)
		if (parse_name(entry->d_name, &nr))
			err = spool_add_segment(spool, nr);
	if (spool->segment_cnt)
		qsort(spool->segments, spool->segment_cnt, sizeof(*spool->segments),
		      compare_segments);
	return err;
}

int spool_add_record(struct relay_spool *spool, struct segment *segment,
		     const struct relay_found *found)
{
	if (array_reserve(&segment->offsets, &segment->offset_cap, segment->record_cnt + 1,
			  sizeof(*segment->offsets)))
		return -ENOMEM;
	segment->offsets[segment->record_cnt++] = found->at;
	segment->bytes = found->end;
	if (found->record.nr >= spool->next_record_nr)
		spool->next_record_nr = found->record.nr + 1;
	return 0;
}

/* Cut off what was being written: nobody was told that it is there. */
static void cut_tail(struct relay_spool *spool, const struct segment *segment, const char *name,
		     uint64_t torn)
{
	_cleanup_close_ int fd = openat(spool->dir_fd, name, O_WRONLY | O_CLOEXEC);

	spool->torn_bytes += torn;
	log_warn("relay: '%s': the last %" PRIu64 " bytes are no whole record: they were being "
		 "written when the relay ended",
		 name, torn);
	if (fd < 0 || ftruncate(fd, (off_t)segment->bytes))
		log_warn("relay: '%s' cannot be cut there: %s", name, strerror(errno));
}

static int index_segment(struct relay_spool *spool, struct segment *segment)
{
	_cleanup_(buf_deinit) struct buf data;
	struct relay_found found = {.end = 0};
	char name[SPOOL_NAME_BYTES];
	size_t at = 0;
	int err;

	buf_init(&data, BUF_NO_MAX);
	spool_segment_name(segment->nr, name);
	err = read_file(spool, name, &data);
	while (!err && !relay_record_find(data.data, data.len, at, &found)) {
		if (found.at > at) {
			spool->damaged_bytes += found.at - at;
			log_error("relay: '%s': %zu bytes from %zu on are damaged: what was "
				  "in them is lost, and the fleet's ledger lacks it",
				  name, found.at - at, at);
		}
		err = spool_add_record(spool, segment, &found);
		at = found.end;
	}
	if (!err && data.len > at)
		cut_tail(spool, segment, name, data.len - at);
	return err;
}

static int index_segments(struct relay_spool *spool)
{
	int err = 0;

	for (size_t i = 0; i < spool->segment_cnt && !err; i++)
		err = index_segment(spool, &spool->segments[i]);
	return err;
}

/* What the quarantine has. */
static int weigh_aside(struct relay_spool *spool)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	int fd = openat(spool->aside_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	struct stat st;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL)
		if (!fstatat(spool->aside_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			spool->aside_bytes += (uint64_t)st.st_size;
	return 0;
}

/* --- Places --- */

void spool_settle(const struct relay_spool *spool, struct place *place)
{
	while (place->segment + 1 < spool->segment_cnt &&
	       place->record >= spool->segments[place->segment].record_cnt)
		*place = (struct place){.segment = place->segment + 1};
}

bool spool_has_record(const struct relay_spool *spool, const struct place *place)
{
	return place->segment < spool->segment_cnt &&
	       place->record < spool->segments[place->segment].record_cnt;
}

/* "SEGMENT OFFSET CHECKSUM", which a crash may leave empty, or as it was before. */
static void take_cursor(struct relay_spool *spool)
{
	_cleanup_(buf_deinit) struct buf text;
	uint64_t numbers[3];
	struct reader rd;

	buf_init(&text, CURSOR_BYTES + 1);
	if (read_file(spool, "cursor", &text))
		return;
	reader_init(&rd, buf_cstr(&text), text.len);
	for (size_t i = 0; i < 3; i++) {
		numbers[i] = reader_number(&rd, 16);
		reader_accept(&rd, ' ');
	}
	if (rd.err || numbers[2] != hash_bytes(numbers, 2 * sizeof(*numbers)))
		return;
	while (spool_has_record(spool, &spool->shipped)) {
		const struct segment *segment = &spool->segments[spool->shipped.segment];

		if (segment->nr > numbers[0] ||
		    (segment->nr == numbers[0] &&
		     segment->offsets[spool->shipped.record] >= numbers[1]))
			break;
		spool->shipped.record++;
		spool_settle(spool, &spool->shipped);
	}
}

void spool_note_cursor(const struct relay_spool *spool)
{
	char line[CURSOR_BYTES + 1];
	uint64_t at[2] = {0};

	if (spool->shipped.segment < spool->segment_cnt) {
		const struct segment *segment = &spool->segments[spool->shipped.segment];

		at[0] = segment->nr;
		at[1] = spool_has_record(spool, &spool->shipped)
				? segment->offsets[spool->shipped.record]
				: segment->bytes;
	}
	snprintf(line, sizeof(line), "%016" PRIx64 " %016" PRIx64 " %016" PRIx64, at[0], at[1],
		 hash_bytes(at, sizeof(at)));
	/* Without it what is shipped is shipped again. */
	if (spool_write_file(spool->dir_fd, "cursor", line, strlen(line), false))
		log_debug("relay: the cursor cannot be written: %s", strerror(errno));
}

int spool_load(struct relay_spool *spool, const char *path)
{
	int err = open_folder(spool, path);

	if (!err)
		err = take_epoch(spool);
	if (!err)
		err = list_segments(spool);
	if (!err)
		err = index_segments(spool);
	if (!err)
		err = weigh_aside(spool);
	if (!err)
		take_cursor(spool);
	return err;
}
