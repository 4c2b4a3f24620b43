/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The local store: what an agent saw on one host, in one SQLite file. It is also the spool that
 * fleet sinks read.
 *
 *	window      what was drained at once, numbered by `seq`: where it came from, its times,
 *	            its ledger
 *	batch       the samples of a window that are of one kind, as compressed columns: stack,
 *	            label set, one value for each of the kind's value types
 *	dictionary  stacks, frames, functions, labels, each once in a generation; batches hold
 *	            their numbers
 *	tombstone   windows that were dropped: how many, of when, and why
 *
 * A window, its batches, the dictionary entries that they need and its ledger are one transaction:
 * all there or nothing. `seq` rises by at least one from window to window and is the wall clock's
 * second where that is larger, so that it stays unique when the clock is set back; each window
 * carries the seq before it, so that a missing one shows.
 */
#ifndef BPFPROF_STORE_STORE_H
#define BPFPROF_STORE_STORE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/ledger.h"
#include "profile/profile.h"

struct store;

enum {
	STORE_KINDS_MAX = 8, /* in one window */
	STORE_NAME_MAX = 64, /* of a kind, with the NUL */
	STORE_BOOT_ID_BYTES = 37, /* a UUID as text, with the NUL */
};

/* Where --store is not given. */
#define STORE_DEFAULT_PATH "/var/lib/bpfprof/store.db"

enum store_mode {
	STORE_READ, /* must be there; beside a writer, which it does not hold up */
	STORE_WRITE, /* is made where it is missing; there is one writer */
	STORE_SHIP, /* must be there; beside a writer: sinks' cursors are written (ship.h) */
};

/*
 * The file @path ("sqlite:" before it is accepted). A store of an older schema is migrated by the
 * writer. *@out is *owned* (store_close()). 0, or negative errno after log_error(): -EBUSY another
 * writer has it, -EPROTO of a newer schema, -EBADMSG damaged beyond use (the writer has then put it
 * aside as PATH.damaged-UTC and made a new one, which is no error but a log_warn()).
 */
int store_open(const char *path, enum store_mode mode, struct store **out);
void store_close(struct store *store);

/* The random UUID (as text) that was given to the store when it was made: the host that it is of.
 * 0, -ENOENT: it has none; or negative errno. */
int store_host_id(struct store *store, char out[static STORE_BOOT_ID_BYTES]);

/* The value types of a profile that are stored together, with the samples that have one of them:
 * "cpu" with samples and cpu, "off-cpu" with waits, blocked, runnable and off_cpu. */
struct store_kind {
	char name[STORE_NAME_MAX];
	uint32_t columns[PROFILE_VALUES_MAX]; /* indices of the profile's value types */
	uint32_t column_cnt;
	uint32_t default_column; /* index into columns: the value that is shown first */
	/* The ledger's event whose `recorded` the first column sums up to, which store_fsck() then
	 * compares; "": none. */
	char event[LEDGER_NAME_MAX];
};

/* Which drain a window is: never stored twice. */
struct store_origin {
	char boot_id[STORE_BOOT_ID_BYTES];
	uint64_t instance; /* of the kernel's maps */
	uint64_t epoch; /* rises within an instance */
};

struct store_window {
	struct store_origin origin;
	uint64_t start_ns, end_ns; /* UTC */
	/* Borrowed. Its labels are stored as they are, but numbers too; locations without lines are
	 * named later, store_unnamed(). */
	const struct profile *prof;
	const struct ledger *ledger; /* borrowed */
	const struct store_kind *kinds; /* borrowed */
	size_t kind_cnt;
};

/*
 * Store a window; when it returns 0 it is on the disk (fsync). *@seq_out (may be NULL) is its
 * number. -EEXIST: a window of that origin is there, nothing was changed. -ENOSPC, -EROFS, -EIO:
 * the store is as it was before; try again later.
 */
int store_add(struct store *store, const struct store_window *window, uint64_t *seq_out);

bool store_has_origin(struct store *store, const struct store_origin *origin);

/*
 * Names that come after the samples. store_unnamed() makes @out (initialised by the call on
 * success, profile_deinit()) a profile of at most @max locations without lines, those that were
 * stored last first, of the dictionary that is being written; no samples. Its location i is number
 * ids[i] (@ids: room for @max). The caller names what it can as in any profile
 * (profile_set_lines(), symbolizer_run()), and store_set_names() makes those lines the names of all
 * samples of that dictionary, earlier ones too, when it returns 0. Mappings stay as they are. What
 * is not named by then is in the next call's answer again; when a dictionary ends (a UTC day) it
 * stays unnamed.
 */
int store_unnamed(struct store *store, size_t max, struct profile *out, uint32_t *ids);

/* @named, @ids: as store_unnamed() gave them; the store's windows may have become more meanwhile.
 * -ESTALE: another dictionary has been begun, nothing was changed. Else errors as store_add(). */
int store_set_names(struct store *store, const struct profile *named, const uint32_t *ids);

/* Record that @window_cnt windows with @sample_cnt samples between two times (UTC) could not be
 * stored, for @reason ("ENOSPC"). Errors as store_add(). */
int store_add_tombstone(struct store *store, uint64_t start_ns, uint64_t end_ns,
			uint64_t window_cnt, uint64_t sample_cnt, const char *reason);

/* key=GLOB (fnmatch(3); numbers as decimal text); several of one key OR, those of different keys
 * AND. A label that is not there is matched by "" alone. */
enum store_match_how {
	STORE_MATCH_GLOB,
	/* Of these each has to be true, and a label that is not there is "". */
	STORE_MATCH_EQUAL,
	STORE_MATCH_UNEQUAL,
	STORE_MATCH_REGEX,
	STORE_MATCH_NOT_REGEX,
};

struct store_match {
	const char *key, *glob; /* borrowed; what it is compared with */
	enum store_match_how how;
	const regex_t *regex; /* borrowed; where it is one */
};

struct store_query {
	uint64_t from_ns, to_ns; /* UTC; windows that start in [from, to) */
	const char *kind; /* NULL: "cpu" */
	const struct store_match *where;
	size_t where_cnt;
	const char *const *by; /* label keys that the result keeps, NULL-terminated; NULL: all */
};

/* What a range of time holds and what is missing in it. */
struct store_coverage {
	uint64_t first_ns, last_ns; /* UTC: start of the first window, end of the last; 0: none */
	uint64_t window_cnt;
	uint64_t covered_ns; /* their lengths in sum */
	uint64_t tombstone_cnt, tombstone_samples;
	uint64_t damaged_cnt; /* of store_read(): batches and ledgers that could not be read */
	struct store_hosts {
		bool is_fleet; /* else it is one host's, and the rest 0 */
		uint64_t cnt; /* that have windows in it */
		uint64_t known_cnt; /* and with those of the day before */
	} hosts;
};

/*
 * Samples of a range as one profile (@out: initialised by the call on success, profile_deinit()),
 * with the sum of its windows' ledgers (@ledger_out, likewise, ledger_deinit(); may be NULL) and
 * what was covered (@coverage_out; may be NULL). time_ns and duration_ns are those of the windows.
 * An empty range is an empty profile with the kind's value types. -ENOENT: there was never a batch
 * of that kind.
 */
int store_read(struct store *store, const struct store_query *query, struct profile *out,
	       struct ledger *ledger_out, struct store_coverage *coverage_out);

/* Each kind with batches in [from, to): its name, value types and the sum of its default value. */
typedef int store_kind_fn(void *arg, const char *name, const struct profile_value_type *types,
			  const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
			  int64_t total);
int store_each_kind(struct store *store, uint64_t from_ns, uint64_t to_ns, store_kind_fn *fn,
		    void *arg);

/* Each value of each label of a range with the sum of the kind's default value, keys in order,
 * values by falling sum. A non-zero answer of @fn ends it and is returned. */
typedef int store_label_fn(void *arg, const char *key, const char *value, int64_t total);
int store_each_label(struct store *store, const struct store_query *query, store_label_fn *fn,
		     void *arg);

/*
 * Sums of the kind's default value over time: @point_cnt equal steps of [from, to), a series for
 * each value of label @by (NULL: one, ""). A window counts in the step in which it starts.
 * @function (NULL: all): only samples that have this function on their stack. @fn is told series by
 * falling sum; points are borrowed for the call.
 */
typedef int store_series_fn(void *arg, const char *name, const int64_t *points, size_t point_cnt);
int store_timeline(struct store *store, const struct store_query *query, const char *by,
		   const char *function, size_t point_cnt, store_series_fn *fn, void *arg);

int store_coverage(struct store *store, uint64_t from_ns, uint64_t to_ns,
		   struct store_coverage *out);

struct store_limits {
	uint64_t max_age_ns; /* windows that ended earlier are dropped; 0: no bound */
	uint64_t max_bytes; /* of the file; the oldest go first; 0: no bound */
	/* Windows older than that become one a minute, whose samples share the time on the CPU that
	 * their label sets had in it; 0: never. */
	uint64_t compact_after_ns;
};

/* Some of the work that compaction and retention have to do at UTC @now_ns, at most about
 * @budget_ns of it; call again. 1: there is more, 0: done, or negative errno. */
int store_maintain(struct store *store, const struct store_limits *limits, uint64_t now_ns,
		   uint64_t budget_ns);

struct store_sizes {
	uint64_t file_bytes, ledger_bytes, dictionary_bytes;
	uint64_t window_cnt;
	struct store_kind_size {
		char name[STORE_NAME_MAX];
		uint64_t bytes, rows,
			samples; /* of its batches; samples: sum of the first column */
	} kinds[STORE_KINDS_MAX];
	size_t kind_cnt;
};
int store_sizes(struct store *store, struct store_sizes *out);

/*
 * Read everything and compare: each batch with its sums, its numbers with the dictionary, each
 * ledger with the samples beside it, the chain of seqs, SQLite's own pages. Each finding is a line
 * in @out. Returns their number, or negative errno.
 */
int store_fsck(struct store *store, struct buf *out);

#endif
