/* SPDX-License-Identifier: Apache-2.0 */
/* What is told, and by which name. */
#include "agent/metrics.h"

#include <stdio.h>
#include <string.h>

#include "web/metrics_text.h"

void metrics_init(struct metrics *metrics)
{
	pthread_mutex_init(&metrics->lock, NULL);
	memset(&metrics->values, 0, sizeof(metrics->values));
}

void metrics_deinit(struct metrics *metrics)
{
	pthread_mutex_destroy(&metrics->lock);
}

void metrics_set(struct metrics *metrics, const struct metrics_values *values)
{
	pthread_mutex_lock(&metrics->lock);
	metrics->values = *values;
	pthread_mutex_unlock(&metrics->lock);
}

void metric_count_add(struct metric_counts *counts, const char *name, uint64_t cnt)
{
	struct metric_count *item = counts->items;

	if (counts->cnt >= METRIC_COUNTS_MAX - 1) {
		while (item < counts->items + counts->cnt && strcmp(item->name, name))
			item++;
		if (item == counts->items + counts->cnt)
			name = "other";
		item = counts->items;
	}
	while (item < counts->items + counts->cnt && strcmp(item->name, name))
		item++;
	if (item == counts->items + counts->cnt) {
		counts->cnt++;
		*item = (struct metric_count){.cnt = 0};
		snprintf(item->name, sizeof(item->name), "%s", name);
	}
	item->cnt += cnt;
}

enum metric_kind { METRIC_COUNTS, METRIC_U64, METRIC_SECONDS };

/* Every metric, once. */
static const struct metric {
	const char *name, *type, *help;
	enum metric_kind kind;
	size_t offset; /* in struct metrics_values */
	const char *label; /* of METRIC_COUNTS */
} table[] = {
#define AT(member) offsetof(struct metrics_values, member)
	{"samples_seen_total", "counter", "Samples that were recorded.", METRIC_COUNTS, AT(seen),
	 "kind"},
	{"samples_stored_total", "counter", "Samples that are in the store.", METRIC_U64,
	 AT(stored)},
	{"samples_dropped_total", "counter", "Samples that are in no store.", METRIC_COUNTS,
	 AT(dropped), "reason"},
	{"samples_waiting", "gauge", "Samples that wait for the store.", METRIC_U64, AT(waiting)},
	{"windows_stored_total", "counter", "Windows that are in the store.", METRIC_U64,
	 AT(windows)},
	{"windows_waiting", "gauge", "Windows that wait for the store.", METRIC_U64,
	 AT(waiting_windows)},
	{"stack_errors_total", "counter", "Stacks that did not reach their bottom.", METRIC_COUNTS,
	 AT(stack_errors), "type"},
	{"drain_seconds", "gauge", "Time that the last drain of a window took.", METRIC_SECONDS,
	 AT(drain_s)},
	{"finish_seconds", "gauge", "Time from the last drain to the store.", METRIC_SECONDS,
	 AT(finish_s)},
	{"spool_bytes", "gauge", "Size of the local store.", METRIC_U64, AT(spool_bytes)},
	{"spool_oldest_seconds", "gauge", "Age of the oldest window that waits for the store.",
	 METRIC_SECONDS, AT(spool_oldest_s)},
	{"store_errors_total", "counter", "Windows that the store did not take at first.",
	 METRIC_U64, AT(store_errors)},
	{"agent_cpu_seconds_total", "counter", "CPU time of the agent's threads.", METRIC_SECONDS,
	 AT(cpu_s)},
	{"agent_http_cpu_seconds_total", "counter",
	 "CPU time of them that went into answers over HTTP.", METRIC_SECONDS, AT(http_cpu_s)},
	{"agent_bpf_seconds_total", "counter", "CPU time of the agent's BPF programs.",
	 METRIC_SECONDS, AT(bpf_s)},
	{"agent_rss_bytes", "gauge", "Anonymous memory of the agent.", METRIC_U64, AT(rss_bytes)},
	{"agent_kernel_bytes", "gauge", "Memory of the agent's BPF maps and programs.", METRIC_U64,
	 AT(kernel_bytes)},
	{"agent_frequency_hertz", "gauge", "Samples per second and CPU that are asked for now.",
	 METRIC_U64, AT(freq_hz)},
	{"agent_recording", "gauge", "1 while something is recorded (a policy may have hours off).",
	 METRIC_U64, AT(is_recording)},
	{"policy_info", "gauge", "1 for the policy in force: its SHA-256's first digits.",
	 METRIC_COUNTS, AT(policy), "version"},
	{"policy_age_seconds", "gauge", "Time since the policy in force was read first.",
	 METRIC_SECONDS, AT(policy_age_s)},
	{"policy_answers_total", "counter", "Times that the policy was asked for at its URL.",
	 METRIC_COUNTS, AT(policy_answers), "result"},
	{"policy_asked_seconds", "gauge", "Time since its server answered as it should.",
	 METRIC_SECONDS, AT(policy_asked_s)},
	{"configurations_refused_total", "counter",
	 "Changes of the configuration or the policy that were wrong, and are not in force.",
	 METRIC_U64, AT(refused)},
	{"batches_acked_total", "counter", "Batches that the sink has: the windows of a minute.",
	 METRIC_COUNTS, AT(acked), "sink"},
	{"batch_retries_total", "counter", "Attempts to ship that failed, and were made again.",
	 METRIC_COUNTS, AT(retries), "sink"},
	{"batches_quarantined_total", "counter",
	 "Windows that the sink refused, or that were damaged in the store.", METRIC_COUNTS,
	 AT(quarantined), "sink"},
	{"profiles_rejected_total", "counter",
	 "Profiles that the sink threw away while it took others (OTLP's partial success).",
	 METRIC_COUNTS, AT(rejected), "sink"},
	{"dict_rows_sent_total", "counter", "Stacks, frames and sources that were shipped.",
	 METRIC_COUNTS, AT(dict_rows), "sink"},
	{"sink_sent_bytes_total", "counter", "Bytes that were sent to the sink.", METRIC_COUNTS,
	 AT(sent_bytes), "sink"},
	{"symbol_tables_uploaded_total", "counter",
	 "Builds whose symbols were uploaded (--upload-symbols).", METRIC_COUNTS, AT(uploads),
	 "sink"},
	{"symbol_tables_uploaded_bytes_total", "counter", "Bytes of them, compressed.",
	 METRIC_COUNTS, AT(upload_bytes), "sink"},
	{"sink_lag_windows", "gauge", "Windows in the store that the sink has not got yet.",
	 METRIC_COUNTS, AT(lag_windows), "sink"},
	{"sink_lag_seconds", "gauge", "Age of the oldest of them.", METRIC_COUNTS, AT(lag_s),
	 "sink"},
	{"sink_cpu_milliseconds_total", "counter", "CPU time of shipping.", METRIC_COUNTS,
	 AT(ship_cpu_ms), "sink"},
#undef AT
};

static void add_metric(struct buf *out, const struct metric *metric,
		       const struct metrics_values *values)
{
	const void *at = (const char *)values + metric->offset;
	const struct metric_counts *counts = at;

	metrics_add_head(out, metric->name, metric->type, metric->help);
	if (metric->kind == METRIC_U64)
		metrics_add_u64(out, metric->name, NULL, NULL, *(const uint64_t *)at);
	else if (metric->kind == METRIC_SECONDS)
		metrics_add_seconds(out, metric->name, *(const double *)at);
	else
		for (size_t i = 0; i < counts->cnt; i++)
			metrics_add_u64(out, metric->name, metric->label, counts->items[i].name,
					counts->items[i].cnt);
}

int metrics_format(void *arg, struct buf *out)
{
	struct metrics *metrics = arg;
	struct metrics_values values;

	pthread_mutex_lock(&metrics->lock);
	values = metrics->values;
	pthread_mutex_unlock(&metrics->lock);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		add_metric(out, &table[i], &values);
	metrics_add_build(out, "build_info");
	return out->err;
}
