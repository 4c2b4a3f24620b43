/* SPDX-License-Identifier: Apache-2.0 */
/* Per-CPU accounts of an event. */
#include "capture/books.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/frames.h"

int books_init(struct books *books, const struct number_set *present, int idle_fd)
{
	*books = (struct books){.idle_fd = idle_fd};
	books->items = calloc(present->cnt, sizeof(*books->items));
	if (!books->items)
		return -ENOMEM;
	books->cnt = present->cnt;
	for (size_t i = 0; i < present->cnt; i++)
		books->items[i].cpu = present->items[i];
	return 0;
}

void books_deinit(struct books *books)
{
	free(books->items);
	*books = (struct books){0};
}

void books_add(struct books *books, uint32_t shard, const struct bp_event_counters *counters)
{
	struct bp_event_counters *window = &books->items[shard].window;

	window->ran += counters->ran;
	window->filtered += counters->filtered;
	window->recorded += counters->recorded;
	window->ran_idle += counters->ran_idle;
	window->unseen += counters->unseen;
	window->passed_over += counters->passed_over;
	books->ran_off += counters->ran_off;
	for (int i = 0; i < BP_LOSS_CNT; i++)
		window->lost[i] += counters->lost[i];
}

/* Ticks of a PMU event in frequency mode: its counter by the mean period of what ran. */
static uint64_t book_ticks(const struct perf_events *events, const struct event_cpu *cpu)
{
	return events->event->is_freq ? UINT64_MAX : cpu->ticks;
}

static void fill_row(struct book *book, uint64_t ticks, const struct idle *idle_now,
		     uint64_t period_ns, struct ledger_row *row)
{
	const struct bp_event_counters *window = &book->window;
	uint64_t ran_total = book->ran_total + window->ran, never = 0;

	/* The kernel adapts the period of frequency events to what it delivers: no tick is owed. */
	if (ticks != UINT64_MAX && ticks > ran_total + book->never_ran_total)
		never = ticks - ran_total - book->never_ran_total;
	row->ran = window->ran;
	row->ticks = window->ran + never;
	row->filtered = window->filtered;
	row->recorded = window->recorded;
	if (period_ns)
		row->never_ran_idle =
			idle_never_ran(&book->idle, idle_now, period_ns, window->ran_idle, never);
	row->never_ran_busy = never - row->never_ran_idle;
	for (uint32_t i = 0; i < BP_LOSS_CNT; i++)
		ledger_reason_add(&row->lost, loss_name(i), window->lost[i]);
	book->ran_total = ran_total;
	book->never_ran_total += never;
}

static void book_close(struct book *book, const struct perf_events *events,
		       const struct event_cpu *cpu, struct ledger_row *row)
{
	fill_row(book, book_ticks(events, cpu), &book->idle_end,
		 events->event->is_clock ? events->event->period : 0, row);
	memset(&book->window, 0, sizeof(book->window));
	book->idle = book->idle_end;
}

/* Idle times by CPU number, owned; NULL on -ENOMEM. Zero where they are not to be had. */
static struct idle *idle_times(const struct books *books)
{
	size_t cnt = books->cnt ? books->items[books->cnt - 1].cpu + 1 : 1;
	struct idle *idle = calloc(cnt, sizeof(*idle));

	if (idle)
		idle_read(books->idle_fd, idle, cnt);
	return idle;
}

void books_start(struct books *books)
{
	_cleanup_free_ struct idle *idle = idle_times(books);

	for (size_t i = 0; idle && i < books->cnt; i++)
		books->items[i].idle = books->items[i].idle_end = idle[books->items[i].cpu];
}

void books_mark_end(struct books *books)
{
	_cleanup_free_ struct idle *idle = idle_times(books);

	for (size_t i = 0; idle && i < books->cnt; i++)
		books->items[i].idle_end = idle[books->items[i].cpu];
	books->is_marked = true;
}

int books_close_window(struct books *books, const struct perf_events *events, uint64_t kernel_runs,
		       struct ledger_event *event)
{
	uint64_t ran_before = 0;

	if (!books->is_marked)
		books_mark_end(books);
	books->is_marked = false;
	for (size_t i = 0; i < events->cnt; i++) {
		const struct event_cpu *cpu = &events->cpus[i];
		struct ledger_row *row = ledger_row(event, cpu->cpu);

		if (!row)
			return -ENOMEM;
		for (size_t k = 0; k < books->cnt; k++) {
			if (books->items[k].cpu != cpu->cpu)
				continue;
			ran_before += books->items[k].ran_total;
			book_close(&books->items[k], events, cpu, row);
		}
	}
	event->sum.cpu = -1;
	if (kernel_runs)
		event->sum.kernel_runs = kernel_runs - books->ran_off - ran_before;
	return 0;
}

void books_note_between(struct books *books, uint64_t cnt)
{
	books->between_cnt += cnt;
}

/* They are the first CPU's, as whose they were is not known. */
static int close_between(struct books *books, struct ledger_event *event)
{
	uint64_t cnt = books->between_cnt;
	struct ledger_row *row;

	if (!cnt || !books->cnt)
		return 0;
	row = ledger_row(event, (int32_t)books->items[0].cpu);
	if (!row)
		return -ENOMEM;
	row->ticks += cnt;
	row->ran += cnt;
	ledger_reason_add(&row->lost, "handover", cnt);
	books->items[0].ran_total += cnt;
	books->ran_off -= cnt;
	books->between_cnt = 0;
	return 0;
}

int books_close_counted(struct books *books, uint64_t kernel_runs, uint64_t misses,
			struct ledger_event *event)
{
	uint64_t ran_before = 0;
	int err;

	for (size_t i = 0; i < books->cnt; i++) {
		struct book *book = &books->items[i];
		struct ledger_row *row = ledger_row(event, (int32_t)book->cpu);

		if (!row)
			return -ENOMEM;
		ran_before += book->ran_total;
		fill_row(book,
			 book->ran_total + book->never_ran_total + book->window.ran +
				 book->window.unseen,
			 NULL, 0, row);
		event->passed_over += book->window.passed_over;
		memset(&book->window, 0, sizeof(book->window));
	}
	err = close_between(books, event);
	if (err)
		return err;
	/* The kernel does not tell on which CPU. */
	if (books->cnt && misses > books->misses_total) {
		struct ledger_row *row = ledger_row(event, (int32_t)books->items[0].cpu);
		uint64_t missed = misses - books->misses_total;

		row->ticks += missed;
		row->never_ran_busy += missed;
		books->misses_total = misses;
	}
	event->sum.cpu = -1;
	if (kernel_runs)
		event->sum.kernel_runs = kernel_runs - books->ran_off - ran_before;
	return 0;
}
