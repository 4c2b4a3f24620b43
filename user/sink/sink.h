/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink: where windows of the local store go. It is given them in the order of their seqs, and
 * acknowledges what it will not lose. What it is given a second time is the same, byte for byte:
 * one that keeps a row, or a file, of each key then has everything once.
 *
 * Sinks know nothing of the store, of cursors, of retries: store/shipper.h does.
 */
#ifndef BPFPROF_SINK_SINK_H
#define BPFPROF_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/ledger.h"
#include "profile/profile.h"

struct sink_row {
	uint32_t stack, label_set; /* of the window's dictionary */
};

/* The samples of one kind in a window. */
struct sink_batch {
	const char *kind, *event; /* event: whose samples the ledger counts, or "" */
	const struct profile *types; /* value types, default value, period */
	const struct sink_row *rows; /* sorted, each once */
	const int64_t *values; /* one for each value type, of each row */
	size_t row_cnt;
};

/*
 * A window, or what is told of windows that are lost. All of it is borrowed for the call. The
 * dictionary only grows: a number means the same in every window of a generation.
 */
struct sink_window {
	uint64_t seq, last_seq, prev_seq;
	uint64_t start_ns, end_ns; /* UTC */
	uint64_t covered_ns; /* how much of it was recorded */
	uint64_t window_cnt; /* that were put together */
	const char *boot_id;
	uint64_t instance, epoch, last_epoch;
	uint64_t generation;
	const struct profile *dict;
	const uint32_t *named; /* locations that got their lines after they were stored, in that
				  order */
	size_t named_cnt;
	const struct ledger *ledger;
	const struct sink_batch *batches;
	size_t batch_cnt;
	const char *lost; /* why the windows are lost; NULL: they are here */
	uint64_t lost_samples;
};

struct sink_opts {
	const char *host_id; /* the store's */
	uint64_t bytes_per_s; /* sent at most; 0: no bound */
	/* Asked about once a second while a call waits: true ends it (-ECANCELED). May be NULL. */
	bool (*is_cancelled)(void *arg);
	void *arg;
};

/* What went through it since it was opened. */
struct sink_counts {
	uint64_t windows, rows, dict_rows, sent_bytes;
	uint64_t rejected; /* profiles that the receiver threw away, and took the others */
};

struct sink;

struct sink_ops {
	bool (*is_url)(const char *url); /* is that one of its URLs? */
	/* sink_name() */
	int (*name)(const char *url, struct buf *out, struct buf *why);
	/* *@out is *owned* (close()); nothing need be connected yet. 0 or negative errno, @why then
	 * has what is wrong with @url. */
	int (*open)(const char *url, const struct sink_opts *opts, struct sink **out,
		    struct buf *why);
	/*
	 * Ship windows of one generation. 0: all of them are there to stay. -EINVAL: what was sent
	 * is refused, and will be again; other negative errno: it is not known what has arrived,
	 * try again later. @why has the reason and how to mend it.
	 */
	int (*send)(struct sink *sink, const struct sink_window *windows, size_t cnt,
		    struct buf *why);
	void (*close)(struct sink *sink);
	const char *lost_told; /* where it can be seen that windows are lost: "files say so" */
};

/* What every sink begins with. */
struct sink {
	const struct sink_ops *ops;
	struct sink_counts counts;
	uint64_t retry_after_ns; /* the receiver asks not to be asked before; 0: it does not */
};

/* The sink that @url names. 0 or negative errno with the reason in @why; -EINVAL: no sink has such
 * URLs. */
int sink_open(const char *url, const struct sink_opts *opts, struct sink **out, struct buf *why);
void sink_close(struct sink *sink); /* NULL is fine */

/* Append what @url is called where its password must not be seen. 0, or -EINVAL with the reason in
 * @why. */
int sink_name(const char *url, struct buf *out, struct buf *why);

#endif
