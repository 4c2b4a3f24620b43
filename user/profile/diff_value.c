/* SPDX-License-Identifier: Apache-2.0 */
/* Which value of two profiles is compared, and of how many samples it is made. */
#include "profile/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "profile/ledger.h"

static const char *type_of(const struct profile *prof, uint32_t value)
{
	return profile_str(prof, prof->value_types[value].type);
}

static const char *unit_of(const struct profile *prof, uint32_t value)
{
	return profile_str(prof, prof->value_types[value].unit);
}

/* The value type of @other that is called as @value of @prof is, with its unit. */
static uint32_t same_in(const struct profile *prof, uint32_t value, const struct profile *other)
{
	for (uint32_t i = 0; i < other->value_type_cnt; i++)
		if (!strcmp(type_of(prof, value), type_of(other, i)) &&
		    !strcmp(unit_of(prof, value), unit_of(other, i)))
			return i;
	return PROFILE_NONE;
}

/* Time by a timer is what people ask for; its default value is the number of samples. */
static uint32_t preferred(const struct profile *prof)
{
	uint32_t cpu = profile_find_value(prof, "cpu");
	bool is_default_samples = prof->default_value < prof->value_type_cnt &&
				  !strcmp(type_of(prof, prof->default_value), "samples");

	return is_default_samples && cpu != PROFILE_NONE ? cpu : prof->default_value;
}

static bool pick(const struct profile *before, uint32_t value, const struct profile *after,
		 uint32_t out[DIFF_SIDE_CNT])
{
	uint32_t same =
		value < before->value_type_cnt ? same_in(before, value, after) : PROFILE_NONE;

	if (same == PROFILE_NONE)
		return false;
	out[DIFF_BEFORE] = value;
	out[DIFF_AFTER] = same;
	return true;
}

/* The same with the sides exchanged. */
static bool pick_reversed(const struct profile *before, const struct profile *after, uint32_t value,
			  uint32_t out[DIFF_SIDE_CNT])
{
	uint32_t reversed[DIFF_SIDE_CNT];

	if (!pick(after, value, before, reversed))
		return false;
	out[DIFF_BEFORE] = reversed[DIFF_AFTER];
	out[DIFF_AFTER] = reversed[DIFF_BEFORE];
	return true;
}

static bool pick_any(const struct profile *before, const struct profile *after,
		     uint32_t out[DIFF_SIDE_CNT])
{
	if (pick(before, preferred(before), after, out) ||
	    pick_reversed(before, after, preferred(after), out) ||
	    pick(before, before->default_value, after, out) ||
	    pick_reversed(before, after, after->default_value, out))
		return true;
	for (uint32_t i = 0; i < before->value_type_cnt; i++)
		if (pick(before, i, after, out))
			return true;
	return false;
}

static void add_types(const struct profile *prof, struct buf *out)
{
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(out, "%s%s/%s", i ? ", " : "", type_of(prof, i), unit_of(prof, i));
	if (!prof->value_type_cnt)
		buf_add_str(out, "nothing");
}

int diff_pick_value(const struct profile *before, const struct profile *after, const char *name,
		    uint32_t out[DIFF_SIDE_CNT], struct buf *why)
{
	if (name ? pick(before, profile_find_value(before, name), after, out)
		 : pick_any(before, after, out))
		return 0;
	if (name)
		buf_printf(why, "no value '%s' (--value) of one unit in both", name);
	else
		buf_add_str(why, "no value is in both");
	buf_add_str(why, ": BEFORE has ");
	add_types(before, why);
	buf_add_str(why, "; AFTER has ");
	add_types(after, why);
	return -ENOENT;
}

/* What counts the samples of values whose name ends in, or is, something. */
static const struct {
	const char *tail, *count;
} companions[] = {
	{"_space", "_objects"}, {"off_cpu", "waits"}, {"blocked", "waits"},
	{"runnable", "waits"},	{"wall", "waits"},
};

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text), tail_len = strlen(tail);

	return len >= tail_len && !strcmp(text + len - tail_len, tail);
}

/* The count that belongs to @value by its name: "alloc_objects" of "alloc_space", "x_calls" of "x".
 */
static uint32_t companion_of(const struct profile *prof, uint32_t value)
{
	const char *type = type_of(prof, value);
	char name[128];

	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		size_t stem = strlen(type) - strlen(companions[i].tail);

		if (!ends_with(type, companions[i].tail))
			continue;
		if (companions[i].count[0] != '_')
			stem = 0;
		snprintf(name, sizeof(name), "%.*s%s", (int)stem, type, companions[i].count);
		return profile_find_value(prof, name);
	}
	snprintf(name, sizeof(name), "%s_calls", type);
	return profile_find_value(prof, name);
}

/* What a sample of the event called @type is worth, by the ledger; 0: it is not there. */
static double ledger_period(const struct ledger *ledger, const char *type)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_event *event = &ledger->events[i];

		if (!strcmp(event->name, type) ||
		    (!strcmp(type, "cpu") && !strcmp(event->name, "cpu-clock")))
			return (double)event->period;
	}
	return 0;
}

/* Of waits that chance left out, the recorded ones stand for the others: they are fewer. */
static double sampled_share(const struct ledger *ledger)
{
	double recorded = 0, thinned = 0;

	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		if (!ledger->events[i].thinned)
			continue;
		recorded += (double)ledger->events[i].sum.recorded;
		thinned += (double)ledger->events[i].thinned;
	}
	return recorded > 0 ? recorded / (recorded + thinned) : 1;
}

/* From which length on, waits were recorded whatever chance said, ns; 0: not known. */
static double thinned_below(const struct ledger *ledger)
{
	uint64_t below = 0;

	for (uint32_t i = 0; i < ledger->event_cnt; i++)
		if (below < ledger->events[i].thinned_below_ns)
			below = ledger->events[i].thinned_below_ns;
	return (double)below;
}

/* Counts that are kept beside what they count. */
static bool is_count(const char *type)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++)
		if (ends_with(type, companions[i].count))
			return true;
	return ends_with(type, "_calls");
}

/* The heap's comment says so where one byte in many was sampled. */
static bool is_heap_sampled(const struct profile *prof)
{
	static const char text[] = "heap: sampled";

	for (size_t i = 0; i < prof->comment_cnt; i++)
		if (!strncmp(profile_str(prof, prof->comments[i]), text, strlen(text)))
			return true;
	return false;
}

static bool is_period_type(const struct profile *prof, uint32_t value)
{
	return !strcmp(profile_str(prof, prof->period_type.type), type_of(prof, value)) &&
	       !strcmp(profile_str(prof, prof->period_type.unit), unit_of(prof, value));
}

static double period_of(const struct profile *prof, uint32_t value, const struct ledger *ledger)
{
	double period = ledger_period(ledger, type_of(prof, value));

	if (period <= 0 && is_period_type(prof, value))
		period = (double)prof->period;
	return period > 0 ? period : 0;
}

struct diff_counting diff_counting_of(const struct profile *prof, uint32_t value)
{
	struct diff_counting how = {.column = companion_of(prof, value), .sampled = 1, .spread = 1};
	struct ledger ledger;

	if (profile_get_ledger(prof, &ledger))
		ledger_init(&ledger);
	if (how.column != PROFILE_NONE) {
		/* In "wall", what is no wait was sampled by the timer. */
		how.per_sample = ledger_period(&ledger, "cpu");
		how.sampled = sampled_share(&ledger);
		how.spread = 2;
		if (!strcmp(type_of(prof, how.column), "waits") &&
		    strcmp(type_of(prof, value), "wall") != 0)
			how.draw = thinned_below(&ledger);
	} else if (strcmp(type_of(prof, value), "samples")) {
		how.per_sample = period_of(prof, value, &ledger);
		if (!how.per_sample && strcmp(unit_of(prof, value), "count"))
			how.column = profile_find_value(prof, "samples");
	}
	how.is_exact = (how.column != PROFILE_NONE && how.spread > 1) ||
		       is_count(type_of(prof, value)) ||
		       (how.per_sample == 1 && strcmp(unit_of(prof, value), "nanoseconds"));
	/* "wall" is a timer's as well. */
	if (sampled_share(&ledger) < 1 || is_heap_sampled(prof) ||
	    !strcmp(type_of(prof, value), "wall"))
		how.is_exact = false;
	ledger_deinit(&ledger);
	return how;
}
