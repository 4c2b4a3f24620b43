/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says about itself: the flame graph's title and the line under it. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/record.h"

enum {
	TITLE_ITEMS_MAX = 6, /* of a list; the rest is "..." */
	TITLE_COMMAND_MAX = 80,
};

static void add_separator(size_t start, struct buf *out)
{
	if (out->len > start)
		buf_add_str(out, ", ");
}

/* "0,2-5" */
static void add_numbers(const struct number_set *set, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < set->cnt; shown++) {
		size_t last = i;

		if (shown == TITLE_ITEMS_MAX) {
			buf_add_str(out, ",...");
			return;
		}
		while (last + 1 < set->cnt && set->items[last + 1] == set->items[last] + 1)
			last++;
		buf_printf(out, "%s%u", shown ? "," : "", set->items[i]);
		if (last > i)
			buf_printf(out, "-%u", set->items[last]);
		i = last + 1;
	}
}

static void add_kind(const char *one, const char *many, const struct number_set *set, size_t start,
		     struct buf *out)
{
	if (!set->cnt)
		return;
	add_separator(start, out);
	buf_printf(out, "%s ", set->cnt == 1 ? one : many);
	add_numbers(set, out);
}

static void add_strings(const char *kind, const struct opts_list *list, size_t start,
			struct buf *out)
{
	if (!list->cnt)
		return;
	add_separator(start, out);
	buf_add_str(out, kind);
	for (size_t i = 0; i < list->cnt && i < TITLE_ITEMS_MAX; i++)
		buf_printf(out, "%s%s", i ? ", " : " ", list->items[i]);
	if (list->cnt > TITLE_ITEMS_MAX)
		buf_add_str(out, ", ...");
}

/* " (nginx)" after a single pid. */
static void add_process_name(const struct number_set *tgids, struct buf *out)
{
	_cleanup_free_ char *name = NULL;
	char path[40];

	if (tgids->cnt != 1)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", tgids->items[0]);
	name = fs_read_line(path);
	if (name)
		buf_printf(out, " (%s)", name);
}

static void add_command(char *const *command, size_t start, struct buf *out)
{
	size_t before;

	if (!command)
		return;
	add_separator(start, out);
	before = out->len;
	for (size_t i = 0; command[i]; i++) {
		if (out->len - before + strlen(command[i]) > TITLE_COMMAND_MAX && i) {
			buf_add_str(out, " ...");
			break;
		}
		buf_printf(out, "%s%s", i ? " " : "", command[i]);
	}
}

static bool is_cpu_time(const struct event *event)
{
	return event->is_clock || !strcmp(event->name, "cycles") ||
	       !strcmp(event->name, "cpu-cycles");
}

void record_title(const struct record_opts *opts, const struct event *event, struct buf *out)
{
	size_t start;

	buf_printf(out, "%s flame graph: ",
		   opts->heap		? "Heap"
		   : opts->off_cpu	? "Off-CPU time"
		   : opts->wall		? "Wall time"
		   : is_cpu_time(event) ? "CPU"
					: event->name);
	start = out->len;
	if (!opts->all_cpus)
		add_command(opts->args.command, start, out);
	add_kind("pid", "pids", &opts->tgids, start, out);
	add_process_name(&opts->tgids, out);
	add_kind("thread", "threads", &opts->tids, start, out);
	add_kind("user", "users", &opts->uids, start, out);
	add_strings("comm", &opts->comms, start, out);
	add_strings("cgroup", &opts->cgroups, start, out);
	add_strings("container", &opts->containers, start, out);
	add_kind("CPU", "CPUs", &opts->cpus, start, out);
	if (out->len == start)
		buf_add_str(out, "all CPUs");
	if (opts->all_cpus && opts->args.command) {
		buf_add_str(out, " during ");
		add_command(opts->args.command, out->len, out);
	}
}

void record_rate(const struct event *event, struct buf *out)
{
	add_separator(0, out);
	buf_add_str(out, event->name);
	if (event->freq_hz)
		buf_printf(out, " at %llu Hz", (unsigned long long)event->freq_hz);
	else if (event->period != 1)
		buf_printf(out, " (one sample every %llu)", (unsigned long long)event->period);
}

void record_subtitle(const struct profile *prof, const struct ledger *ledger, const char *rate,
		     struct buf *out)
{
	time_t start_s = (time_t)(prof->time_ns / NSEC_PER_SEC);
	struct utsname host;
	struct tm utc;
	char when[32];

	buf_printf(out, "%s, %.1f s", rate, ledger->duration_s);
	if (!uname(&host))
		buf_printf(out, ", %s", host.nodename);
	if (prof->time_ns && gmtime_r(&start_s, &utc) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc))
		buf_printf(out, ", %s", when);
	buf_printf(out, ", Linux %s", ledger->kernel);
}
