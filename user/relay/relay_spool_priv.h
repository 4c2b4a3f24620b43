/* SPDX-License-Identifier: Apache-2.0 */
/* The spool's inside: see relay_spool.h. Its lock is held by who calls what is here. */
#ifndef BPFPROF_RELAY_RELAY_SPOOL_PRIV_H
#define BPFPROF_RELAY_RELAY_SPOOL_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/relay_spool.h"

enum { SPOOL_NAME_BYTES = 64, SPOOL_FILE_MODE = 0600 };

struct segment {
	uint64_t nr;
	uint64_t bytes; /* of the file, as far as there are records */
	uint64_t *offsets; /* owned: of records */
	size_t record_cnt, offset_cap;
};

/* A record: that of @record in the segment of that index. */
struct place {
	size_t segment, record;
};

struct relay_spool {
	pthread_mutex_t lock;
	uint64_t max_bytes, max_age_ns, segment_bytes;
	_Atomic uint64_t epoch;
	int dir_fd, lock_fd, aside_fd;
	struct segment *segments; /* owned: by nr, oldest first */
	size_t segment_cnt, segment_cap;
	int write_fd; /* of the last segment; -1: the next record begins a new one */
	int read_fd; /* of the segment that was read last; -1: none */
	uint64_t read_nr; /* which that is */
	struct place shipped, read; /* the first record that is not */
	uint64_t next_segment_nr, next_record_nr;
	uint64_t oldest_ns; /* of the first that is not shipped; 0: there is none */
	uint64_t aside_bytes; /* in the quarantine */
	uint64_t damaged_bytes, torn_bytes;
	pthread_mutex_t state_lock; /* of state: who asks for it does not wait for the disk */
	struct relay_spool_state state;
};

/* "segment-0123456789abcdef" */
void spool_segment_name(uint64_t nr, char out[static SPOOL_NAME_BYTES]);

/* Replace file @name of the folder by the @len bytes at @data; @is_synced: they are on the disk
 * afterwards. Until it has that name it is called ".NAME.new". 0, or negative errno: what was there
 * is. */
int spool_write_file(int dir_fd, const char *name, const void *data, size_t len, bool is_synced);

/* Open the folder's files and index what is in them: 0 or negative errno. */
int spool_load(struct relay_spool *spool, const char *path);

/* Give the spool a new epoch: 0 or negative errno, and it keeps the one that it has. */
int spool_make_epoch(struct relay_spool *spool);

/* Add a segment that is the last one. 0 or -ENOMEM. */
int spool_add_segment(struct relay_spool *spool, uint64_t nr);

/* Add the record at @found to @segment, which ends there. 0 or -ENOMEM. */
int spool_add_record(struct relay_spool *spool, struct segment *segment,
		     const struct relay_found *found);

/* Past the ends of segments, to where a record is or will be. */
void spool_settle(const struct relay_spool *spool, struct place *place);
bool spool_has_record(const struct relay_spool *spool, const struct place *place);

/* Write down what is shipped. */
void spool_note_cursor(const struct relay_spool *spool);

#endif
