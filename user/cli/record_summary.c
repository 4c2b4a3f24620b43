/* SPDX-License-Identifier: Apache-2.0 */
/* What the person at the terminal reads when a recording is done. */
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/privilege.h"
#include "cli/record.h"
#include "encode/func_table.h"
#include "profile/value_hist.h"

enum { SUMMARY_FUNCTIONS = 10 };

/* Time says more than a count of samples: the first value in nanoseconds, if there is one. */
static uint32_t summary_value(const struct profile *prof)
{
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		if (!strcmp(profile_str(prof, prof->value_types[i].unit), "nanoseconds"))
			return i;
	return prof->default_value;
}

static void print_functions(const struct profile *prof)
{
	uint32_t value = summary_value(prof);
	_cleanup_(buf_deinit) struct buf out;
	struct func_table table;

	buf_init(&out, BUF_NO_MAX);
	if (!prof->sample_cnt || value >= prof->value_type_cnt)
		return;
	/* Short of memory, the files matter and this does not. */
	if (!func_table_init(&table, prof, value) &&
	    !func_table_print(&table, FUNC_BY_SELF, SUMMARY_FUNCTIONS,
			      profile_str(prof, prof->value_types[value].unit), &out))
		fs_write_all(STDERR_FILENO, out.data, out.len);
	func_table_deinit(&table);
}

static uint64_t recorded_samples(const struct ledger *ledger)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < ledger->event_cnt; i++)
		cnt += ledger->events[i].sum.recorded;
	return cnt;
}

void record_explain_empty(const struct ledger *ledger, struct buf *out)
{
	const struct ledger_event *event = ledger->event_cnt ? &ledger->events[0] : NULL;

	buf_add_str(out, "nothing was sampled: ");
	if (!event || (!event->sum.ticks && !event->sum.ran))
		buf_printf(out, "%s did not happen in %.2f s (idle, or too short a time)",
			   event ? event->name : "the event", ledger->duration_s);
	else if (event->sum.filtered)
		buf_printf(out,
			   "%llu samples of %s were taken, all of the idle task or outside the "
			   "target",
			   (unsigned long long)event->sum.filtered, event->name);
	else if (ledger_reasons_sum(&event->sum.lost))
		buf_printf(out, "all %llu samples of %s were lost",
			   (unsigned long long)event->sum.ran, event->name);
	else
		buf_printf(out, "of %llu ticks of %s none reached the program",
			   (unsigned long long)event->sum.ticks, event->name);
}

/* Causes and lengths of waits. */
static void print_waits(const struct recording *rec, const struct profile *prof)
{
	const struct off_cpu *off = capture_off_cpu(rec->capture);
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (!off)
		return;
	off_cpu_format(prof, off, &out);
	if (!out.err)
		fs_write_all(STDERR_FILENO, out.data, out.len);
}

/* What --hist and --elapsed saw, an event at a time. */
static void print_hists(const struct recording *rec, const struct profile *prof)
{
	_cleanup_(buf_deinit) struct buf out, table;
	const struct event *event;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&table, BUF_NO_MAX);
	for (uint32_t i = 0; (event = capture_event(rec->capture, i)); i++) {
		uint32_t value = profile_find_value(prof, event->name);

		if (value == PROFILE_NONE || !value)
			continue;
		buf_reset(&table);
		/* How often stands before what, where that is another value. */
		value_hist_format(prof, value,
				  rec->opts->elapsed || rec->opts->weight ? value - 1 : value,
				  &table);
		if (table.len)
			buf_printf(&out, "%s%s%s\n%s", event->name, rec->opts->hist ? ", by " : "",
				   rec->opts->hist ? rec->opts->hist : "", buf_cstr(&table));
	}
	if (!out.err)
		fs_write_all(STDERR_FILENO, out.data, out.len);
}

static void print_heap(const struct recording *rec)
{
	const struct heap_summary *heap = capture_heap(rec->capture);
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (!heap)
		return;
	heap_format(heap, &out);
	if (!out.err)
		fs_write_all(STDERR_FILENO, out.data, out.len);
}

/* Frames that have no name because we may not read their files. */
static void warn_not_permitted(const struct ledger *ledger)
{
	const struct ledger_reasons *unnamed = &ledger->frames.unnamed;
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (uint32_t i = 0; i < unnamed->cnt; i++) {
		if (strcmp(unnamed->items[i].name, "not_permitted") || !unnamed->items[i].cnt)
			continue;
		privilege_explain("reading the files of their programs and libraries (-v names "
				  "them)",
				  PRIVILEGES_FILES, -EACCES, &why);
		log_warn("%llu frames have no names: %s", (unsigned long long)unnamed->items[i].cnt,
			 buf_cstr(&why));
	}
}

void record_tell_stopped(struct capture *cap)
{
	static const struct {
		const char *reason, *fix;
	} fixes[] = {
		{"max_cpu", "a lower -F, a higher -c or --max-cpu, or fewer targets let it go on"},
		{"max_memory", "a higher --max-memory, fewer targets or a shorter recording let it "
			       "go on"},
		{"stop_file", "remove it to record again"},
	};
	struct ledger_stopped stopped = capture_stopped(cap);
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	ledger_format_stopped(&stopped, &line);
	for (size_t i = 0; i < sizeof(fixes) / sizeof(*fixes); i++)
		if (!strcmp(stopped.reason, fixes[i].reason))
			log_warn("%s (%s)", buf_cstr(&line), fixes[i].fix);
}

void record_summary(const struct recording *rec, const struct profile *prof,
		    const struct ledger *ledger)
{
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	warn_not_permitted(ledger);
	if (log_get_level() < LOG_NORMAL)
		return;
	print_waits(rec, prof);
	if (rec->opts->elapsed || rec->opts->hist)
		print_hists(rec, prof);
	print_heap(rec);
	print_functions(prof);
	log_info("%llu samples of %s in %.2f s%s", (unsigned long long)recorded_samples(ledger),
		 buf_cstr(&rec->rate), ledger->duration_s,
		 rec->is_fallback && rec->naming.window == 1 ? " (there is no PMU for cycles here)"
							     : "");
	ledger_format_line(ledger, &line);
	log_info("%s", buf_cstr(&line));
	if (rec->outputs.written.len)
		log_info("wrote %s", buf_cstr(&rec->outputs.written));
}
