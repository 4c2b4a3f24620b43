/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger as JSON and back. The layout of each object is one table of (key, field), used by the
 * writer and the reader alike.
 */
#include "profile/ledger.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"

#ifndef BPFPROF_VERSION
#define BPFPROF_VERSION "unknown"
#endif

enum {
	LEDGER_JSON_MAX_BYTES = 4 << 20, /* 8 events on 512 CPUs with every reason are 3 MiB */
	LEDGER_CPUS_MAX = 8192 /* CONFIG_NR_CPUS of MAXSMP kernels */
};

struct count_field {
	const char *key;
	size_t offset; /* of a uint64_t */
};

#define COUNT_FIELD(type, key)                   \
	{                                        \
#key, offsetof(struct type, key) \
	}
#define FIELD_CNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static const struct count_field row_fields[] = {
	COUNT_FIELD(ledger_row, ticks),
	COUNT_FIELD(ledger_row, ran),
	COUNT_FIELD(ledger_row, filtered),
	COUNT_FIELD(ledger_row, recorded),
};

static const struct count_field never_ran_fields[] = {
	{"busy", offsetof(struct ledger_row, never_ran_busy)},
	{"idle", offsetof(struct ledger_row, never_ran_idle)},
};

static const struct count_field stack_fields[] = {
	COUNT_FIELD(ledger_stacks, complete),
	COUNT_FIELD(ledger_stacks, no_user_stack),
	COUNT_FIELD(ledger_stacks, distinct),
	COUNT_FIELD(ledger_stacks, deepest),
};

static const struct count_field snapshot_fields[] = {
	COUNT_FIELD(ledger_snapshots, taken),
	COUNT_FIELD(ledger_snapshots, completed),
	COUNT_FIELD(ledger_snapshots, refused),
};

static const struct count_field frame_fields[] = {
	COUNT_FIELD(ledger_frames, distinct),
	COUNT_FIELD(ledger_frames, named),
	COUNT_FIELD(ledger_frames, lines_cut),
};

static const struct count_field cost_fields[] = {
	COUNT_FIELD(ledger_cost, bpf_run_ns),
	COUNT_FIELD(ledger_cost, bpf_runs),
	COUNT_FIELD(ledger_cost, capture_cpu_ns),
	COUNT_FIELD(ledger_cost, symbolize_cpu_ns),
	COUNT_FIELD(ledger_cost, rss_anon_peak_bytes),
	COUNT_FIELD(ledger_cost, kernel_bytes),
	COUNT_FIELD(ledger_cost, start_ns),
	COUNT_FIELD(ledger_cost, finish_ns),
	COUNT_FIELD(ledger_cost, verifier_insns),
};

/* Its readers' numbers are doubles, and the next one of these is no count: 2^64. */
static const uint64_t WRITTEN_MAX = UINT64_MAX - 0x7ff;

/* As it will be read: above 2^53 not each count is a double. */
static void write_count(struct json *js, const char *key, uint64_t cnt)
{
	json_kv_u64(js, key, cnt < WRITTEN_MAX ? (uint64_t)(double)cnt : WRITTEN_MAX);
}

static void write_counts(struct json *js, const void *object, const struct count_field *fields,
			 size_t field_cnt)
{
	uint64_t value;

	for (size_t i = 0; i < field_cnt; i++) {
		memcpy(&value, (const char *)object + fields[i].offset, sizeof(value));
		write_count(js, fields[i].key, value);
	}
}

static void write_reasons(struct json *js, const char *key, const struct ledger_reasons *reasons)
{
	json_key(js, key);
	json_object_begin(js);
	for (uint32_t i = 0; i < reasons->cnt; i++)
		write_count(js, reasons->items[i].name, reasons->items[i].cnt);
	json_object_end(js);
}

static void write_row(struct json *js, const struct ledger_row *row)
{
	write_counts(js, row, row_fields, FIELD_CNT(row_fields));
	write_reasons(js, "lost", &row->lost);
	json_key(js, "never_ran");
	json_object_begin(js);
	write_counts(js, row, never_ran_fields, FIELD_CNT(never_ran_fields));
	json_object_end(js);
}

static void write_event(struct json *js, const struct ledger_event *event)
{
	json_object_begin(js);
	json_kv_str(js, "name", event->name);
	json_kv_str(js, "unit", event->unit);
	write_count(js, "period", event->period);
	write_count(js, "kernel_runs", event->sum.kernel_runs);
	if (event->thinned || event->asleep) {
		write_count(js, "thinned", event->thinned);
		write_count(js, "thinned_below_ns", event->thinned_below_ns);
		write_count(js, "asleep", event->asleep);
	}
	if (event->passed_over)
		write_count(js, "passed_over", event->passed_over);
	if (event->absent_ns)
		write_count(js, "absent_ns", event->absent_ns);
	write_row(js, &event->sum);
	json_key(js, "per_cpu");
	json_array_begin(js);
	for (size_t i = 0; i < event->per_cpu_cnt; i++) {
		json_object_begin(js);
		json_kv_i64(js, "cpu", event->per_cpu[i].cpu);
		write_row(js, &event->per_cpu[i]);
		json_object_end(js);
	}
	json_array_end(js);
	json_object_end(js);
}

static void write_stopped(struct json *js, const struct ledger_stopped *stopped)
{
	if (!stopped->reason[0])
		return;
	json_key(js, "stopped");
	json_object_begin(js);
	json_kv_str(js, "reason", stopped->reason);
	json_kv_double(js, "observed", stopped->observed);
	json_kv_double(js, "allowed", stopped->allowed);
	json_object_end(js);
}

void ledger_to_json(const struct ledger *ledger, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "version", BPFPROF_VERSION);
	json_kv_str(&js, "kernel", ledger->kernel);
	json_kv_str(&js, "arch", ledger->arch);
	json_kv_double(&js, "duration_s", ledger->duration_s);
	write_stopped(&js, &ledger->stopped);
	json_key(&js, "events");
	json_array_begin(&js);
	for (uint32_t i = 0; i < ledger->event_cnt; i++)
		write_event(&js, &ledger->events[i]);
	json_array_end(&js);
	json_key(&js, "stacks");
	json_object_begin(&js);
	write_counts(&js, &ledger->stacks, stack_fields, FIELD_CNT(stack_fields));
	write_reasons(&js, "truncated", &ledger->stacks.truncated);
	json_key(&js, "snapshots");
	json_object_begin(&js);
	write_counts(&js, &ledger->stacks.snapshots, snapshot_fields, FIELD_CNT(snapshot_fields));
	json_object_end(&js);
	json_object_end(&js);
	json_key(&js, "frames");
	json_object_begin(&js);
	write_counts(&js, &ledger->frames, frame_fields, FIELD_CNT(frame_fields));
	write_reasons(&js, "unnamed", &ledger->frames.unnamed);
	json_object_end(&js);
	json_key(&js, "cost");
	json_object_begin(&js);
	write_counts(&js, &ledger->cost, cost_fields, FIELD_CNT(cost_fields));
	json_object_end(&js);
	json_object_end(&js);
}

/*
 * The readers below take a node that may be NULL (the key is missing: nothing is changed) and
 * return 0 or -EBADMSG for a node of another type or range.
 */
static int read_count(const cJSON *node, uint64_t *out)
{
	if (!node)
		return 0;
	if (!cJSON_IsNumber(node) || !(node->valuedouble >= 0) || node->valuedouble >= 0x1p64 ||
	    node->valuedouble != (double)(uint64_t)node->valuedouble)
		return -EBADMSG;
	*out = (uint64_t)node->valuedouble;
	return 0;
}

static bool is_printable(const char *text)
{
	for (const unsigned char *chr = (const unsigned char *)text; *chr; chr++) {
		if (*chr < ' ' || *chr == 0x7f)
			return false;
	}
	return true;
}

/* Names end up on terminals: no control bytes. */
static int read_name(const cJSON *node, char *out, size_t size)
{
	if (!node)
		return 0;
	if (!cJSON_IsString(node) || !is_printable(node->valuestring))
		return -EBADMSG;
	ledger_copy_name(out, size, node->valuestring);
	return 0;
}

static const cJSON *child(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int read_counts(const cJSON *object, void *out, const struct count_field *fields,
		       size_t field_cnt)
{
	uint64_t value;
	int err;

	if (!object)
		return 0;
	if (!cJSON_IsObject(object))
		return -EBADMSG;
	for (size_t i = 0; i < field_cnt; i++) {
		value = 0;
		err = read_count(child(object, fields[i].key), &value);
		if (err)
			return err;
		memcpy((char *)out + fields[i].offset, &value, sizeof(value));
	}
	return 0;
}

static int read_reasons(const cJSON *object, struct ledger_reasons *out)
{
	const cJSON *node;
	uint64_t cnt;

	if (!object)
		return 0;
	if (!cJSON_IsObject(object) || cJSON_GetArraySize(object) > LEDGER_REASONS_MAX)
		return -EBADMSG;
	cJSON_ArrayForEach(node, object)
	{
		if (!is_printable(node->string) || read_count(node, &cnt))
			return -EBADMSG;
		ledger_reason_add(out, node->string, cnt);
	}
	return 0;
}

static int read_row(const cJSON *object, struct ledger_row *out)
{
	int err = read_counts(object, out, row_fields, FIELD_CNT(row_fields));

	if (!err)
		err = read_counts(child(object, "never_ran"), out, never_ran_fields,
				  FIELD_CNT(never_ran_fields));
	if (!err)
		err = read_reasons(child(object, "lost"), &out->lost);
	return err;
}

/* Rows in strictly ascending order of CPU, as they are written. */
static int read_per_cpu(const cJSON *array, struct ledger_event *event)
{
	const cJSON *node, *cpu;
	int32_t last = -1;
	struct ledger_row *row;
	int err;

	if (!array)
		return 0;
	if (!cJSON_IsArray(array))
		return -EBADMSG;
	cJSON_ArrayForEach(node, array)
	{
		cpu = child(node, "cpu");
		if (!cJSON_IsNumber(cpu) || cpu->valueint <= last ||
		    cpu->valueint >= LEDGER_CPUS_MAX || cpu->valuedouble != cpu->valueint)
			return -EBADMSG;
		last = cpu->valueint;
		row = ledger_row(event, last);
		if (!row)
			return -ENOMEM;
		err = read_row(node, row);
		if (err)
			return err;
	}
	return 0;
}

static int read_event(const cJSON *object, struct ledger_event *event)
{
	int err;

	if (!cJSON_IsString(child(object, "name")))
		return -EBADMSG;
	event->sum.cpu = -1;
	err = read_name(child(object, "name"), event->name, sizeof(event->name));
	if (!err)
		err = read_name(child(object, "unit"), event->unit, sizeof(event->unit));
	if (!err)
		err = read_count(child(object, "period"), &event->period);
	if (!err)
		err = read_count(child(object, "kernel_runs"), &event->sum.kernel_runs);
	if (!err)
		err = read_count(child(object, "thinned"), &event->thinned);
	if (!err)
		err = read_count(child(object, "thinned_below_ns"), &event->thinned_below_ns);
	if (!err)
		err = read_count(child(object, "asleep"), &event->asleep);
	if (!err)
		err = read_count(child(object, "passed_over"), &event->passed_over);
	if (!err)
		err = read_count(child(object, "absent_ns"), &event->absent_ns);
	if (!err)
		err = read_row(object, &event->sum);
	return err ? err : read_per_cpu(child(object, "per_cpu"), event);
}

static int read_events(const cJSON *array, struct ledger *ledger)
{
	const cJSON *node;
	int err;

	/* Without events it is some other program's JSON. */
	if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > LEDGER_EVENTS_MAX)
		return -EBADMSG;
	cJSON_ArrayForEach(node, array)
	{
		err = read_event(node, &ledger->events[ledger->event_cnt++]);
		if (err)
			return err;
	}
	return 0;
}

/* Of what is not negative: a time in seconds, a share, bytes. */
static int read_number(const cJSON *node, double *out)
{
	if (!node)
		return 0;
	if (!cJSON_IsNumber(node) || !(node->valuedouble >= 0) || isinf(node->valuedouble))
		return -EBADMSG;
	*out = node->valuedouble;
	return 0;
}

static int read_stopped(const cJSON *object, struct ledger_stopped *out)
{
	int err;

	if (!object)
		return 0;
	if (!cJSON_IsObject(object))
		return -EBADMSG;
	err = read_name(child(object, "reason"), out->reason, sizeof(out->reason));
	if (!err)
		err = read_number(child(object, "observed"), &out->observed);
	return err ? err : read_number(child(object, "allowed"), &out->allowed);
}

static int read_ledger(const cJSON *root, struct ledger *ledger)
{
	const cJSON *stacks = child(root, "stacks"), *frames = child(root, "frames");
	int err = read_events(child(root, "events"), ledger);

	if (!err)
		err = read_name(child(root, "kernel"), ledger->kernel, sizeof(ledger->kernel));
	if (!err)
		err = read_name(child(root, "arch"), ledger->arch, sizeof(ledger->arch));
	if (!err)
		err = read_number(child(root, "duration_s"), &ledger->duration_s);
	if (!err)
		err = read_stopped(child(root, "stopped"), &ledger->stopped);
	if (!err)
		err = read_counts(stacks, &ledger->stacks, stack_fields, FIELD_CNT(stack_fields));
	if (!err)
		err = read_reasons(child(stacks, "truncated"), &ledger->stacks.truncated);
	if (!err)
		err = read_counts(child(stacks, "snapshots"), &ledger->stacks.snapshots,
				  snapshot_fields, FIELD_CNT(snapshot_fields));
	if (!err)
		err = read_counts(frames, &ledger->frames, frame_fields, FIELD_CNT(frame_fields));
	if (!err)
		err = read_reasons(child(frames, "unnamed"), &ledger->frames.unnamed);
	if (!err)
		err = read_counts(child(root, "cost"), &ledger->cost, cost_fields,
				  FIELD_CNT(cost_fields));
	return err;
}

static void delete_json(cJSON **root)
{
	cJSON_Delete(*root);
}

int ledger_from_json(const char *json, size_t len, struct ledger *out)
{
	_cleanup_(delete_json) cJSON *root = NULL;
	_cleanup_(ledger_deinit) struct ledger ledger;
	const char *end = NULL;
	int err;

	ledger_init(&ledger);
	if (len > LEDGER_JSON_MAX_BYTES)
		return -EBADMSG;
	root = cJSON_ParseWithLengthOpts(json, len, &end, false);
	if (!root || end != json + len)
		return -EBADMSG;
	err = read_ledger(root, &ledger);
	if (err)
		return err;
	*out = ledger;
	ledger_init(&ledger);
	return 0;
}
