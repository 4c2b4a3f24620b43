/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a recording, kept where the next process finds them. */
#include "capture/pins.h"
#include "capture/samplers.h"

static void save_idle(const struct idle *idle, struct pin_book *out)
{
	out->idle_ns = idle->ns;
	out->idle_exits = idle->exits;
}

static void load_idle(const struct pin_book *book, struct idle *out)
{
	out->ns = book->idle_ns;
	out->exits = (uint32_t)book->idle_exits;
}

void samplers_save_marks(const struct samplers *samplers, struct pins *pins, uint32_t parity)
{
	struct pin_mark *mark = &pins->state->marks[parity & 1];

	for (uint32_t i = 0; i < samplers->cnt; i++) {
		const struct sampler *sampler = &samplers->items[i];
		struct pin_book *out = pins_books(pins, parity & 1, i);

		mark->misses[i] = sampler->misses_end;
		for (size_t k = 0; k < sampler->books.cnt; k++)
			save_idle(&sampler->books.items[k].idle_end, &out[k]);
		for (size_t k = 0; k < sampler->counters.cnt; k++)
			out[k].ticks = sampler->counters.cpus[k].ticks;
	}
}

void samplers_save_totals(const struct samplers *samplers, struct pins *pins, uint32_t parity)
{
	struct pin_mark *mark = &pins->state->marks[parity & 1];

	for (uint32_t i = 0; i < samplers->cnt; i++) {
		const struct books *books = &samplers->items[i].books;
		struct pin_book *out = pins_books(pins, parity & 1, i);

		mark->misses_total[i] = books->misses_total;
		mark->ran_off[i] = books->ran_off;
		for (size_t k = 0; k < books->cnt; k++) {
			out[k].ran_total = books->items[k].ran_total;
			out[k].never_ran_total = books->items[k].never_ran_total;
		}
	}
}

void samplers_load_begin(struct samplers *samplers, struct pins *pins, uint32_t parity)
{
	const struct pin_mark *mark = &pins->state->marks[parity & 1];

	for (uint32_t i = 0; i < samplers->cnt; i++) {
		const struct pin_book *from = pins_books(pins, parity & 1, i);
		struct books *books = &samplers->items[i].books;

		samplers->items[i].misses_before = pins->state->misses_before[i];
		books->misses_total = mark->misses_total[i];
		books->ran_off = mark->ran_off[i];
		for (size_t k = 0; k < books->cnt; k++) {
			struct book *book = &books->items[k];

			book->ran_total = from[k].ran_total;
			book->never_ran_total = from[k].never_ran_total;
			load_idle(&from[k], &book->idle);
		}
	}
}

void samplers_load_end(struct samplers *samplers, struct pins *pins, uint32_t parity)
{
	const struct pin_mark *mark = &pins->state->marks[parity & 1];

	for (uint32_t i = 0; i < samplers->cnt; i++) {
		const struct pin_book *from = pins_books(pins, parity & 1, i);
		struct sampler *sampler = &samplers->items[i];

		sampler->misses_end = mark->misses[i];
		sampler->is_marked = sampler->books.is_marked = true;
		for (size_t k = 0; k < sampler->books.cnt; k++)
			load_idle(&from[k], &sampler->books.items[k].idle_end);
		for (size_t k = 0; k < sampler->counters.cnt; k++)
			sampler->counters.cpus[k].ticks = from[k].ticks;
	}
}
