/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent tells of itself, in Prometheus' text format. The loop that records writes the
 * numbers; whoever serves them reads, from any thread.
 *
 *	seen = stored + dropped + waiting	for the samples of every kind
 */
#ifndef BPFPROF_AGENT_METRICS_H
#define BPFPROF_AGENT_METRICS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/ledger.h"
#include "store/store.h"

/* A number under the value of its metric's one label. */
struct metric_count {
	char name[STORE_NAME_MAX];
	uint64_t cnt;
};

enum { METRIC_COUNTS_MAX = 40 };

struct metric_counts {
	struct metric_count items[METRIC_COUNTS_MAX];
	size_t cnt;
};

/* All of it, as of one moment. */
struct metrics_values {
	struct metric_counts seen; /* samples, by kind */
	struct metric_counts dropped; /* samples, by reason */
	struct metric_counts stack_errors; /* by type */
	uint64_t stored, waiting; /* samples */
	uint64_t windows, waiting_windows;
	double drain_s; /* what the last window's drain took */
	double finish_s; /* from its drain to the store */
	uint64_t spool_bytes; /* of the store */
	double spool_oldest_s; /* age of the oldest window that waits for it */
	double cpu_s, http_cpu_s, bpf_s; /* our threads, of them the HTTP server's, our programs */
	uint64_t rss_bytes; /* anonymous */
	uint64_t kernel_bytes;
	uint64_t freq_hz;
	uint64_t store_errors; /* attempts that failed */
	uint64_t is_recording; /* 1; 0: it is forbidden, or off by the policy */
	struct metric_counts policy; /* the version in force as the name */
	double policy_age_s;
	struct metric_counts policy_answers; /* of its server */
	double policy_asked_s; /* since the last one that was right */
	uint64_t refused; /* configurations and policies */
	/* Of each sink */
	struct metric_counts acked, retries, quarantined, rejected, dict_rows, sent_bytes;
	struct metric_counts lag_windows, lag_s, ship_cpu_ms, uploads, upload_bytes;
};

struct metrics {
	pthread_mutex_t lock;
	struct metrics_values values;
};

void metrics_init(struct metrics *metrics);
void metrics_deinit(struct metrics *metrics);

/* The loop's part: replace what is shown. */
void metrics_set(struct metrics *metrics, const struct metrics_values *values);

/* Add @cnt under @name; names beyond METRIC_COUNTS_MAX add up under "other". */
void metric_count_add(struct metric_counts *counts, const char *name, uint64_t cnt);

/* Append the text. For struct metrics as @arg, it is what the web side asks for: 0 or -ENOMEM. Any
 * thread. */
int metrics_format(void *arg, struct buf *out);

#endif
