/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted: a table, separated values, or JSON. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/stat.h"

static const char *unit_of(const struct event *event)
{
	return event->is_clock ? "ns" : "";
}

/* Other events had the PMU all the time. */
static bool is_uncounted(const struct counter_value *value)
{
	return value->enabled_ns && !value->running_ns;
}

static double share_of(const struct counter_value *value)
{
	return value->enabled_ns && value->running_ns < value->enabled_ns
		       ? 100.0 * (double)value->running_ns / (double)value->enabled_ns
		       : 100.0;
}

static double rate_of(const struct stat_run *run, const struct counter_value *value)
{
	return run->elapsed_ns ? (double)value->count * NSEC_PER_SEC / (double)run->elapsed_ns : 0;
}

/* "1.25 K/s" */
static void format_rate(double rate, char out[static 32])
{
	static const char *const prefixes[] = {"", " K", " M", " G"};
	size_t i = 0;

	while (rate >= 1000 && i < 3) {
		rate /= 1000;
		i++;
	}
	snprintf(out, 32, "%.*f%s/s", i || rate != (double)(uint64_t)rate ? 2 : 0, rate,
		 prefixes[i]);
}

static void add_row(const struct stat_run *run, const struct stat_event *item, struct buf *out)
{
	const struct counter_value *value = &item->value;
	char count[40], rate[32];
	const char *unit = "";

	if (is_uncounted(value)) {
		buf_printf(out, "%18s      %s\n", "<not counted>", item->event.name);
		return;
	}
	if (item->event.is_clock) {
		snprintf(count, sizeof(count), "%.3f", (double)value->count / NSEC_PER_MSEC);
		snprintf(rate, sizeof(rate), "%.3f CPUs",
			 rate_of(run, value) / (double)NSEC_PER_SEC);
		unit = "ms";
	} else {
		snprintf(count, sizeof(count), "%llu", (unsigned long long)value->count);
		format_rate(rate_of(run, value), rate);
	}
	buf_printf(out, "%18s  %-2s  %-40s %14s", count, unit, item->event.name, rate);
	if (share_of(value) < 99.995)
		buf_printf(out, "  (%.2f%%)", share_of(value));
	buf_add_char(out, '\n');
}

static void add_table(const struct stat_run *run, struct buf *out)
{
	char **argv = run->opts->args.command;

	buf_printf(out, "%18s  %-2s  %-40s %14s\n", "count", "", "event", "rate");
	for (size_t i = 0; i < run->cnt; i++)
		add_row(run, &run->events[i], out);
	buf_printf(out, "\n%18.6f  s   elapsed\n", (double)run->elapsed_ns / NSEC_PER_SEC);
	if (argv) {
		buf_printf(out, "%18.6f  s   user\n", (double)run->user_us / 1e6);
		buf_printf(out, "%18.6f  s   system\n", (double)run->system_us / 1e6);
	}
}

/* count, unit, event, percent of the time that it was on the PMU, rate per second */
static void add_separated(const struct stat_run *run, struct buf *out)
{
	const char *sep = run->opts->separator;

	for (size_t i = 0; i < run->cnt; i++) {
		const struct stat_event *item = &run->events[i];

		if (is_uncounted(&item->value))
			buf_add_str(out, "<not counted>");
		else
			buf_add_u64(out, item->value.count);
		buf_printf(out, "%s%s%s%s%s%.2f%s%.6g\n", sep, unit_of(&item->event), sep,
			   item->event.name, sep, share_of(&item->value), sep,
			   rate_of(run, &item->value));
	}
}

static void add_json_event(const struct stat_run *run, const struct stat_event *item,
			   struct json *js)
{
	json_object_begin(js);
	json_kv_str(js, "name", item->event.name);
	if (!is_uncounted(&item->value))
		json_kv_u64(js, "count", item->value.count);
	json_kv_str(js, "unit", unit_of(&item->event));
	json_kv_double(js, "rate_per_s", rate_of(run, &item->value));
	json_kv_u64(js, "enabled_ns", item->value.enabled_ns);
	json_kv_u64(js, "running_ns", item->value.running_ns);
	json_object_end(js);
}

static void add_json(const struct stat_run *run, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "version", BPFPROF_VERSION);
	json_kv_double(&js, "elapsed_s", (double)run->elapsed_ns / NSEC_PER_SEC);
	if (run->opts->args.command) {
		json_kv_double(&js, "user_s", (double)run->user_us / 1e6);
		json_kv_double(&js, "system_s", (double)run->system_us / 1e6);
		json_kv_i64(&js, "status", run->command_status);
	}
	json_key(&js, "events");
	json_array_begin(&js);
	for (size_t i = 0; i < run->cnt; i++)
		add_json_event(run, &run->events[i], &js);
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

void stat_print(const struct stat_run *run, struct buf *out)
{
	if (run->opts->json)
		add_json(run, out);
	else if (run->opts->separator)
		add_separated(run, out);
	else
		add_table(run, out);
}
