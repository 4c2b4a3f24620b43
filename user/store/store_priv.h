/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share among themselves, and nobody else may use. */
#ifndef BPFPROF_STORE_STORE_PRIV_H
#define BPFPROF_STORE_STORE_PRIV_H

#include "store/batch.h"
#include "store/db.h"
#include "store/dict.h"
#include "store/kinds.h"
#include "store/store.h"

/* A dictionary as far as it was read. */
struct generation {
	uint64_t id; /* 0: none */
	uint64_t last_nr; /* of its chunks */
	uint64_t damaged_cnt; /* chunks that could not be read */
	struct dict dict;
};

enum { GENERATIONS_KEPT = 2 /* of those that were read last */ };

struct store {
	char *path; /* owned */
	enum store_mode mode;
	int lock_fd; /* of the writer: PATH-lock; else -1 */
	sqlite3 *db; /* owned */
	struct generation *kept[GENERATIONS_KEPT]; /* owned, or NULL; [0] was used last */
	/* The writer's */
	uint64_t last_seq;
	struct generation current; /* its dictionary can grow; id 0: not loaded */
	uint64_t current_day; /* since 1970, UTC */
	bool current_is_new; /* no row of the database has it yet */
	uint64_t unnamed_id; /* the generation of the last store_unnamed() */
};

/* store.c: the error of an operation on @store, logged once as "store: @what 'PATH': ..."; returns
 * @err. */
int store_fail(const struct store *store, const char *what, int err);

/* The path behind "sqlite:", or @path itself. */
const char *store_path_of(const char *path);

/*
 * store_dict.c. Read what chunks of generation @id there are now, within the caller's transaction.
 * *@out is borrowed until the second next call. Damaged chunks are passed over. 0 or negative
 * errno.
 */
int store_generation(struct store *store, uint64_t id, struct generation **out);

void store_generation_free(struct generation *generation); /* NULL is fine */

/* The writer's dictionary for a window that starts at @start_ns: the one that is being written, or
 * a new one. 0 or negative errno. */
int store_current(struct store *store, uint64_t start_ns);

/* Write what is new in the writer's dictionary as a chunk, and its generation where that is new;
 * within a transaction, after whose commit store_current_saved() is called. */
int store_write_dict(struct store *store);
void store_current_saved(struct store *store);

/* Forget the writer's dictionary; it is loaded again when it is needed. */
void store_drop_current(struct store *store);

/* store_kind.c. The kinds called @name (NULL: all), newest first. 0, -ENOENT: there is none called
 * so, or negative errno. */
int kinds_read(struct store *store, const char *name, struct kinds *out);

/* The id of @kind, made where it is new, with the value types and the period of @prof; within a
 * transaction. 0 or negative errno. */
int kind_id(struct store *store, const struct store_kind *kind, const struct profile *prof,
	    uint64_t *out);

/* store_write.c. Add a row to the table of batches. @batch is sorted. */
int store_write_batch(struct store *store, uint64_t seq, uint64_t kind, uint32_t default_column,
		      const struct batch *batch, int level);

/* store_ledger.c: a ledger as bytes for the window @seq, and back (hostile). 0 or negative errno;
 * -EBADMSG where it is none. */
int store_pack_ledger(const struct ledger *ledger, uint64_t seq, int level, struct buf *out);
int store_unpack_ledger(const void *data, size_t len, uint64_t seq, struct ledger *out);

/* store_scan.c: a batch that was read. */
struct scan_batch {
	uint64_t seq, start_ns;
	const struct generation *generation;
	size_t kind; /* index into the kinds */
	const struct batch *batch;
};

typedef int scan_fn(void *arg, const struct scan_batch *batch);

/*
 * Tell @fn each batch of @kinds whose window starts in [from, to), generation by generation, within
 * the caller's transaction. Those that are damaged are counted in *@damaged. A non-zero answer ends
 * it and is returned. 0 or negative errno.
 */
int store_scan(struct store *store, const struct store_query *query, const struct kinds *kinds,
	       scan_fn *fn, void *arg, uint64_t *damaged);

/* store_label.c: which label sets of a generation a query wants, and as what. */
struct label_map {
	const struct store_query *query;
	const struct profile *src; /* the generation's */
	struct profile *dst; /* where the sets go */
	uint32_t *sets; /* owned: source -> target */
	size_t set_cnt;
};

enum {
	LABELS_UNKNOWN = UINT32_MAX, /* not asked for yet */
	LABELS_UNWANTED = UINT32_MAX - 1, /* @where refuses it */
};

int label_map_init(struct label_map *map, const struct store_query *query,
		   const struct profile *src, struct profile *dst);
void label_map_deinit(struct label_map *map);

/* The label set of @dst for @set, LABELS_UNWANTED, or PROFILE_NONE with dst->err set. */
uint32_t label_map_get(struct label_map *map, uint32_t set);

enum { LABEL_NUMBER_BYTES = 24 };

/* The value of @label of @prof as text; a number's goes to @number. Borrowed. */
const char *label_text(const struct profile *prof, const struct profile_label *label,
		       char number[static LABEL_NUMBER_BYTES]);

/* The same of label @key in @set, "" where it has none. */
const char *label_value(const struct profile *prof, uint32_t set, const char *key,
			char number[static LABEL_NUMBER_BYTES]);

/* store_coverage.c: as store_coverage(), within the caller's transaction and not logged;
 * damaged_cnt is 0. */
int store_cover(struct store *store, uint64_t from_ns, uint64_t to_ns, struct store_coverage *out);

/* UTC as SQLite's integers have it. */
static inline uint64_t store_time(uint64_t ns)
{
	return ns <= INT64_MAX ? ns : INT64_MAX;
}

#endif
