/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "relay/relay_spool_priv.h"

enum {
	SEGMENT_BYTES = 64 << 20, /* no record is begun behind them */
	SEGMENTS_LEAST = 8, /* in all that the spool may have */
	ASIDE_SHARE = 4, /* the quarantine may have so much more: a part of the same */
	CHUNK_BYTES = 64 << 10,
};

static uint64_t bytes_of(const struct relay_spool *spool)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < spool->segment_cnt; i++)
		sum += spool->segments[i].bytes;
	return sum;
}

/* What relay_spool_state() tells from now on. */
static void publish(struct relay_spool *spool)
{
	struct relay_spool_state state = {
		.bytes = bytes_of(spool),
		.oldest_ns = spool->oldest_ns,
		.damaged_bytes = spool->damaged_bytes,
		.torn_bytes = spool->torn_bytes,
	};

	for (size_t i = spool->shipped.segment; i < spool->segment_cnt; i++)
		state.records += spool->segments[i].record_cnt;
	state.records -= spool->segment_cnt ? spool->shipped.record : 0;
	pthread_mutex_lock(&spool->state_lock);
	spool->state = state;
	pthread_mutex_unlock(&spool->state_lock);
}

static void unlock(struct relay_spool **spool)
{
	publish(*spool);
	pthread_mutex_unlock(&(*spool)->lock);
}

static struct relay_spool *lock(struct relay_spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	return spool;
}

/* Until the end of the scope. */
#define LOCKED(spool) _guard_(unlock) struct relay_spool *locked = lock(spool)

/* --- Reading --- */

static int open_segment(struct relay_spool *spool, uint64_t nr)
{
	char name[SPOOL_NAME_BYTES];

	if (spool->read_fd >= 0 && spool->read_nr == nr)
		return 0;
	if (spool->read_fd >= 0)
		close(spool->read_fd);
	spool_segment_name(nr, name);
	spool->read_fd = openat(spool->dir_fd, name, O_RDONLY | O_CLOEXEC);
	spool->read_nr = nr;
	return spool->read_fd < 0 ? -errno : 0;
}

/* Up to @len bytes of the segment that is open; less where it ends before. */
static int read_bytes(const struct relay_spool *spool, uint64_t offset, size_t len, struct buf *out)
{
	char chunk[CHUNK_BYTES];
	ssize_t got = 1;

	buf_reset(out);
	for (; len && got > 0 && !out->err; len -= (size_t)got) {
		got = fs_read_at(spool->read_fd, chunk, len < sizeof(chunk) ? len : sizeof(chunk),
				 offset);
		if (got < 0)
			return (int)got;
		buf_add(out, chunk, (size_t)got);
		offset += (uint64_t)got;
	}
	return out->err;
}

/* The record at @place, with its head in @message. 0; -EBADMSG: it is damaged; or negative errno.
 */
static int read_record(struct relay_spool *spool, const struct place *place,
		       struct relay_found *out, struct buf *message)
{
	const struct segment *segment = &spool->segments[place->segment];
	const uint64_t offset = segment->offsets[place->record];
	const uint64_t end = place->record + 1 < segment->record_cnt
				     ? segment->offsets[place->record + 1]
				     : segment->bytes;
	int err = open_segment(spool, segment->nr);

	if (!err)
		err = read_bytes(spool, offset, end - offset, message);
	return err ? err : relay_record_read(buf_cstr(message), message->len, 0, out);
}

/* When the first record that is not shipped was received. */
static void find_oldest(struct relay_spool *spool)
{
	_cleanup_(buf_deinit) struct buf message;
	struct relay_found found = {.end = 0};

	buf_init(&message, BUF_NO_MAX);
	spool->oldest_ns = 0;
	if (spool_has_record(spool, &spool->shipped) &&
	    !read_record(spool, &spool->shipped, &found, &message))
		spool->oldest_ns = found.record.received_ns;
}

int relay_spool_next(struct relay_spool *spool, struct relay_record *out, struct buf *message)
{
	struct relay_found found;
	LOCKED(spool);

	for (spool_settle(spool, &spool->read); spool_has_record(spool, &spool->read);
	     spool_settle(spool, &spool->read)) {
		int err = read_record(spool, &spool->read, &found, message);

		if (err && err != -EBADMSG)
			return err;
		spool->read.record++;
		if (!err) {
			memmove(message->data, message->data + RELAY_RECORD_HEAD_BYTES,
				message->len - RELAY_RECORD_HEAD_BYTES);
			message->len = found.end - RELAY_RECORD_HEAD_BYTES;
			*out = found.record;
			return 1;
		}
		spool->damaged_bytes += message->len;
		log_error("relay: the spool: a record of %zu bytes is damaged: what was in it is "
			  "lost, and the fleet's ledger lacks it",
			  message->len);
	}
	return 0;
}

void relay_spool_rewind(struct relay_spool *spool)
{
	LOCKED(spool);

	spool->read = spool->shipped;
}

/* --- What is shipped --- */

static void drop_segment(struct relay_spool *spool)
{
	char name[SPOOL_NAME_BYTES];

	/* A file that is open keeps its room. */
	if (spool->read_fd >= 0 && spool->read_nr == spool->segments[0].nr) {
		close(spool->read_fd);
		spool->read_fd = -1;
	}
	spool_segment_name(spool->segments[0].nr, name);
	if (unlinkat(spool->dir_fd, name, 0) && errno != ENOENT)
		log_warn("relay: '%s', which is shipped, cannot be removed: %s", name,
			 strerror(errno));
	free(spool->segments[0].offsets);
	spool->segment_cnt--;
	memmove(spool->segments, spool->segments + 1,
		spool->segment_cnt * sizeof(*spool->segments));
}

/* The last segment, too: the next record begins another one. */
static void drop_shipped(struct relay_spool *spool)
{
	if (spool->write_fd >= 0 && spool->shipped.segment == spool->segment_cnt - 1 &&
	    !spool_has_record(spool, &spool->shipped)) {
		close(spool->write_fd);
		spool->write_fd = -1;
	}
	while (spool->segment_cnt &&
	       (spool->shipped.segment ||
		(spool->write_fd < 0 && !spool_has_record(spool, &spool->shipped)))) {
		drop_segment(spool);
		if (spool->shipped.segment)
			spool->shipped.segment--;
		else
			spool->shipped.record = 0;
	}
	spool->read = spool->shipped;
}

void relay_spool_done(struct relay_spool *spool)
{
	LOCKED(spool);

	spool->shipped = spool->read;
	spool_settle(spool, &spool->shipped);
	if (!spool->segment_cnt)
		return;
	drop_shipped(spool);
	spool_note_cursor(spool);
	find_oldest(spool);
}

int relay_spool_put_aside(struct relay_spool *spool, const struct relay_record *record,
			  const struct buf *message)
{
	char name[3 * SPOOL_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	int err;
	LOCKED(spool);

	if (spool->aside_bytes + message->len > spool->max_bytes / ASIDE_SHARE)
		return -EDQUOT;
	snprintf(name, sizeof(name), "%016" PRIx64 "-%016" PRIx64 "-%" PRIu64 ".gz", record->nr,
		 record->host, record->first_seq);
	fd = openat(spool->aside_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    SPOOL_FILE_MODE);
	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, message->data, message->len);
	if (!err && fsync(fd))
		err = -errno;
	if (err)
		unlinkat(spool->aside_fd, name, 0);
	else
		spool->aside_bytes += message->len;
	return err;
}

/* --- Writing --- */

static int check_room(const struct relay_spool *spool, size_t len, uint64_t now_ns)
{
	if (bytes_of(spool) + len + RELAY_RECORD_HEAD_BYTES > spool->max_bytes)
		return -EDQUOT;
	if (spool->max_age_ns && spool->oldest_ns && now_ns > spool->oldest_ns &&
	    now_ns - spool->oldest_ns > spool->max_age_ns)
		return -ETIME;
	return 0;
}

int relay_spool_room(struct relay_spool *spool, size_t len, uint64_t now_ns)
{
	LOCKED(spool);

	return check_room(spool, len, now_ns);
}

/* The last segment, or a new one where that is full, or is none of ours. */
static int open_last(struct relay_spool *spool)
{
	const uint64_t nr = spool->next_segment_nr;
	char name[SPOOL_NAME_BYTES];
	int err = 0;

	if (spool->write_fd >= 0 &&
	    spool->segments[spool->segment_cnt - 1].bytes < spool->segment_bytes)
		return 0;
	if (spool->write_fd >= 0)
		close(spool->write_fd);
	spool_segment_name(nr, name);
	spool->write_fd = openat(spool->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 SPOOL_FILE_MODE);
	if (spool->write_fd < 0)
		return -errno;
	/* Else a crash may take the name with all that is in it. */
	if (fsync(spool->dir_fd))
		err = -errno;
	if (!err)
		err = spool_add_segment(spool, nr);
	if (err) {
		close(spool->write_fd);
		spool->write_fd = -1;
		unlinkat(spool->dir_fd, name, 0);
	}
	return err;
}

/* Nothing is to be behind what is known to be there; where that cannot be had, a new segment
 * begins. */
static void take_back(struct relay_spool *spool, const struct segment *segment, bool is_unsure)
{
	if (!ftruncate(spool->write_fd, (off_t)segment->bytes) && !is_unsure)
		return;
	close(spool->write_fd);
	spool->write_fd = -1;
}

static int write_record(struct relay_spool *spool, const struct buf *bytes)
{
	struct segment *segment = &spool->segments[spool->segment_cnt - 1];
	const struct relay_found found = {
		.record.nr = spool->next_record_nr,
		.at = segment->bytes,
		.end = segment->bytes + bytes->len,
	};
	int err = lseek(spool->write_fd, (off_t)segment->bytes, SEEK_SET) < 0 ? -errno : 0;
	bool is_unsure = false;

	if (!err)
		err = fs_write_all(spool->write_fd, bytes->data, bytes->len);
	if (!err && fdatasync(spool->write_fd)) {
		err = -errno;
		/* What is in memory may never be on the disk, and the next call says nothing. */
		is_unsure = true;
	}
	if (!err)
		err = spool_add_record(spool, segment, &found);
	if (err)
		take_back(spool, segment, is_unsure);
	return err;
}

int relay_spool_append(struct relay_spool *spool, const struct relay_record *record,
		       const void *message, size_t len)
{
	struct relay_record numbered = *record;
	_cleanup_(buf_deinit) struct buf bytes;
	int err;
	LOCKED(spool);

	buf_init(&bytes, BUF_NO_MAX);
	numbered.nr = spool->next_record_nr;
	relay_record_add(&bytes, &numbered, message, len);
	err = bytes.err ? bytes.err : check_room(spool, len, record->received_ns);
	if (!err)
		err = open_last(spool);
	if (!err)
		err = write_record(spool, &bytes);
	if (!err && !spool->oldest_ns)
		spool->oldest_ns = record->received_ns;
	return err;
}

/* --- Its life --- */

static uint64_t segment_bytes(uint64_t max_bytes)
{
	return max_bytes / SEGMENTS_LEAST < SEGMENT_BYTES ? max_bytes / SEGMENTS_LEAST
							  : SEGMENT_BYTES;
}

int relay_spool_open(const struct relay_spool_opts *opts, struct relay_spool **out, struct buf *why)
{
	struct relay_spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	pthread_mutex_init(&spool->lock, NULL);
	pthread_mutex_init(&spool->state_lock, NULL);
	spool->dir_fd = spool->lock_fd = spool->aside_fd = spool->write_fd = spool->read_fd = -1;
	spool->max_bytes = opts->max_bytes;
	spool->max_age_ns = opts->max_age_ns;
	spool->segment_bytes = segment_bytes(opts->max_bytes);
	spool->next_record_nr = 1;
	err = spool_load(spool, opts->path);
	if (err) {
		buf_printf(why, "spool '%s': %s", opts->path,
			   err == -EBUSY ? "another relay has it" : strerror(-err));
		relay_spool_close(spool);
		return err;
	}
	spool->read = spool->shipped;
	if (spool->segment_cnt)
		drop_shipped(spool);
	find_oldest(spool);
	publish(spool);
	*out = spool;
	return 0;
}

void relay_spool_close(struct relay_spool *spool)
{
	if (!spool)
		return;
	cleanup_close_fn(&spool->write_fd);
	cleanup_close_fn(&spool->read_fd);
	cleanup_close_fn(&spool->aside_fd);
	cleanup_close_fn(&spool->lock_fd);
	cleanup_close_fn(&spool->dir_fd);
	for (size_t i = 0; i < spool->segment_cnt; i++)
		free(spool->segments[i].offsets);
	free(spool->segments);
	pthread_mutex_destroy(&spool->lock);
	pthread_mutex_destroy(&spool->state_lock);
	free(spool);
}

uint64_t relay_spool_epoch(const struct relay_spool *spool)
{
	return atomic_load(&spool->epoch);
}

void relay_spool_renew_epoch(struct relay_spool *spool)
{
	LOCKED(spool);
	int err = spool_make_epoch(spool);

	if (err)
		log_warn("relay: the spool's epoch stays what it was: %s", strerror(-err));
}

struct relay_spool_state relay_spool_state(struct relay_spool *spool)
{
	struct relay_spool_state state;

	pthread_mutex_lock(&spool->state_lock);
	state = spool->state;
	pthread_mutex_unlock(&spool->state_lock);
	return state;
}
