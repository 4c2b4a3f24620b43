/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is asked, whichever it is: one host's own file (store.h), or a fleet's. Questions,
 * answers and errors are those of store.h; who implements them logs what failed, once, and leaves
 * it in `why` for those who tell somebody else.
 */
#ifndef BPFPROF_STORE_SOURCE_H
#define BPFPROF_STORE_SOURCE_H

#include <stdbool.h>

#include "profile/profile_calls.h"
#include "store/store.h"

struct store_source;

struct store_source_ops {
	void (*close)(struct store_source *source);
	bool (*is_current)(struct store_source *source);
	int (*read)(struct store_source *source, const struct store_query *query,
		    struct profile *out, struct ledger *ledger_out,
		    struct store_coverage *coverage_out);
	int (*each_kind)(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			 store_kind_fn *fn, void *arg);
	int (*each_label)(struct store_source *source, const struct store_query *query,
			  store_label_fn *fn, void *arg);
	int (*timeline)(struct store_source *source, const struct store_query *query,
			const char *by, const char *function, size_t point_cnt, store_series_fn *fn,
			void *arg);
	int (*coverage)(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			struct store_coverage *out);
	int (*ledger)(struct store_source *source, const struct store_query *query,
		      struct ledger *ledger_out, struct store_coverage *coverage_out);
	/* NULL: it has no trees. */
	int (*calls)(struct store_source *source, const struct store_query *query,
		     const char *value, struct profile_calls *out, struct ledger *ledger_out,
		     struct store_coverage *coverage_out);
};

enum { STORE_SOURCE_WHY_BYTES = 512 };

/* The head of what implements it. */
struct store_source {
	const struct store_source_ops *ops;
	const char *name; /* of a fleet's, without password; "": it is one host's */
	/* The last failure in words, "" where its errno says all. */
	char why[STORE_SOURCE_WHY_BYTES];
};

/* The file @path ("sqlite:" before it is accepted), to be read. *@out is *owned*
 * (store_source_close()). 0, or negative errno as store_open(); that there is no such file is not
 * logged. */
int store_source_open_file(const char *path, struct store_source **out);
void store_source_close(struct store_source *source); /* NULL is fine */

/* False: what was opened is not what its name means now, and is to be opened anew. */
bool store_source_is_current(struct store_source *source);

/* store_read(), store_each_kind(), store_each_label(), store_timeline(), store_coverage() of a
 * source. Of the range of all time, 0 to INT64_MAX or later, a fleet tells the kinds without their
 * sums (0). */
int store_source_read(struct store_source *source, const struct store_query *query,
		      struct profile *out, struct ledger *ledger_out,
		      struct store_coverage *coverage_out);
int store_source_each_kind(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			   store_kind_fn *fn, void *arg);
int store_source_each_label(struct store_source *source, const struct store_query *query,
			    store_label_fn *fn, void *arg);
int store_source_timeline(struct store_source *source, const struct store_query *query,
			  const char *by, const char *function, size_t point_cnt,
			  store_series_fn *fn, void *arg);
int store_source_coverage(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
			  struct store_coverage *out);

/* What store_source_read() tells beside the profile, which is there, and empty, where the kind was
 * never stored, too. */
int store_source_ledger(struct store_source *source, const struct store_query *query,
			struct ledger *ledger_out, struct store_coverage *coverage_out);

/*
 * What store_source_read() tells of the value called @value (NULL: the default), of a source that
 * has it merged already, which takes less than to read all stacks. *@out is initialised by the call
 * on success (profile_calls_deinit()); its places are borrowed from @source until it is asked
 * anything else. @ledger_out, @coverage_out: as there. -ENOTSUP: it has not, or not this; or it is
 * nothing.
 */
int store_source_calls(struct store_source *source, const struct store_query *query,
		       const char *value, struct profile_calls *out, struct ledger *ledger_out,
		       struct store_coverage *coverage_out);

#endif
