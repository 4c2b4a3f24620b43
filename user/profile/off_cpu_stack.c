/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of waits. */
#include "profile/off_cpu_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/wait_cause.h"

enum { KERNEL_FRAMES_MAX = 128 };

void off_cpu_stacks_init(struct off_cpu_stacks *stacks, struct profile *prof)
{
	*stacks = (struct off_cpu_stacks){.prof = prof, .cnt = prof->stack_cnt};
	stacks->items = calloc(stacks->cnt + 1, sizeof(*stacks->items));
	if (!stacks->items)
		stacks->cnt = 0;
}

void off_cpu_stacks_deinit(struct off_cpu_stacks *stacks)
{
	free(stacks->items);
	free(stacks->locations);
	*stacks = (struct off_cpu_stacks){0};
}

/* The names of the kernel's frames of @stack, leaf first: how many. */
static size_t kernel_names(const struct profile *prof, uint32_t stack, const char **names)
{
	const struct profile_stack *at = &prof->stacks[stack];
	size_t cnt = 0;

	for (uint32_t i = 0; i < at->cnt && cnt < KERNEL_FRAMES_MAX; i++) {
		uint32_t location = prof->stack_locations[at->first + i];

		if (!(prof->locations[location].flags & LOCATION_KERNEL))
			break;
		names[cnt++] = profile_location_name(prof, location, 0);
	}
	return cnt;
}

static bool is_any_named(const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (*names[i])
			return true;
	return false;
}

/*
 * The scheduler's own functions at the leaf tell nothing that the leaf we add does not; and where
 * the kernel gives the stack of another thread it leaves them out, so that the stack of one wait
 * would be two.
 */
static bool is_scheduler(const char *name)
{
	static const char *const names[] = {"__schedule",
					    "schedule",
					    "schedule_timeout",
					    "io_schedule",
					    "io_schedule_timeout",
					    "schedule_preempt_disabled",
					    "schedule_hrtimeout_range",
					    "schedule_hrtimeout_range_clock",
					    "schedule_hrtimeout",
					    "preempt_schedule_common",
					    "preempt_schedule",
					    "preempt_schedule_irq",
					    "do_nanosleep"};

	/* Compilers append: "schedule_hrtimeout_range_clock.part.0" */
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !memcmp(name, names[i], len))
			return true;
	return false;
}

static struct off_cpu_stack look(const struct profile *prof, uint32_t stack)
{
	const char *names[KERNEL_FRAMES_MAX];
	size_t cnt = kernel_names(prof, stack, names);
	struct off_cpu_stack found;

	if (!is_any_named(names, cnt))
		cnt = 0;
	found.begin = (uint32_t)wait_stack_begin(names, cnt);
	found.cause = wait_cause(names + found.begin, cnt - found.begin);
	while (found.begin < cnt && is_scheduler(names[found.begin]))
		found.begin++;
	return found;
}

static struct off_cpu_stack get(struct off_cpu_stacks *stacks, uint32_t stack)
{
	if (stack >= stacks->cnt)
		return look(stacks->prof, stack);
	if (!stacks->items[stack].cause)
		stacks->items[stack] = look(stacks->prof, stack);
	return stacks->items[stack];
}

const char *off_cpu_cause(struct off_cpu_stacks *stacks, uint32_t stack)
{
	return get(stacks, stack).cause;
}

/* Room for @cnt locations; false: none, which the profile says. */
static bool reserve(struct off_cpu_stacks *stacks, size_t cnt)
{
	if (!array_reserve(&stacks->locations, &stacks->location_cap, cnt,
			   sizeof(*stacks->locations)))
		return true;
	stacks->prof->err = -ENOMEM;
	return false;
}

/* Append @stack without what is the switch's own. Returns how many locations there are now. */
static size_t append_stack(struct off_cpu_stacks *stacks, size_t cnt, uint32_t stack)
{
	const struct profile *prof = stacks->prof;
	const struct profile_stack *at = &prof->stacks[stack];
	uint32_t begin = get(stacks, stack).begin;

	if (!reserve(stacks, cnt + at->cnt))
		return 0;
	for (uint32_t i = begin; i < at->cnt; i++)
		stacks->locations[cnt++] = prof->stack_locations[at->first + i];
	return cnt;
}

static uint32_t synthetic(struct off_cpu_stacks *stacks, const char *name)
{
	return profile_named_location(stacks->prof, name, LOCATION_SYNTHETIC);
}

/* An interrupt wakes in the name of whoever it has interrupted: where its part of @stack ends. */
static uint32_t interrupt_end(const struct profile *prof, uint32_t stack)
{
	static const char *const entries[] = {"asm_sysvec_", "asm_common_interrupt", "el1h_64_irq",
					      "el1_irq",     "el0t_64_irq",	     "el0_irq"};
	const char *names[KERNEL_FRAMES_MAX];
	size_t cnt = kernel_names(prof, stack, names);

	for (uint32_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++)
			if (!strncmp(names[i], entries[k], strlen(entries[k])))
				return i + 1;
	return 0;
}

/* The leaf of a waker's stack is our own program and what has called it. */
static uint32_t waker_begin(const struct profile *prof, uint32_t stack)
{
	static const char *const own[] = {"bpf_", "__bpf_", "__traceiter_"};
	const char *names[KERNEL_FRAMES_MAX];
	size_t cnt = kernel_names(prof, stack, names), k;

	for (uint32_t i = 0; i < cnt; i++) {
		for (k = 0; k < sizeof(own) / sizeof(*own); k++)
			if (!strncmp(names[i], own[k], strlen(own[k])))
				break;
		if (k == sizeof(own) / sizeof(*own))
			return i;
	}
	return 0;
}

/*
 * Append @location as a waker's, outermost line first. A waker's frames stand upside down, which
 * the lines of one location cannot: each is a location of its own, and none is marked as inlined.
 */
static size_t append_waker_frame(struct off_cpu_stacks *stacks, size_t cnt, uint32_t location)
{
	struct profile *prof = stacks->prof;
	const struct profile_location from = prof->locations[location];
	uint16_t flags = from.flags | LOCATION_WAKER;

	if (!reserve(stacks, cnt + from.line_cnt + 1))
		return cnt;
	if (!from.line_cnt)
		stacks->locations[cnt++] =
			profile_location_lines(prof, from.mapping, from.address, flags, NULL, 0);
	for (uint32_t i = from.line_cnt; i-- > 0;) {
		const struct profile_line line = prof->lines[from.first_line + i];

		stacks->locations[cnt++] =
			profile_location_lines(prof, from.mapping, from.address, flags, &line, 1);
	}
	return cnt;
}

/* The waker's name, its frames from the root to the leaf, "--": the leaf end of the whole. */
static size_t put_waker(struct off_cpu_stacks *stacks, const struct off_cpu_waker *waker)
{
	struct profile *prof = stacks->prof;
	const struct profile_stack at = prof->stacks[waker->stack];
	uint32_t irq_end = interrupt_end(prof, waker->stack);
	uint32_t end = irq_end ? irq_end : at.cnt, begin = waker_begin(prof, waker->stack);
	size_t cnt = 0;

	if (!reserve(stacks, 1))
		return 0;
	stacks->locations[cnt++] = profile_named_location(
		prof, irq_end ? "[interrupt]" : profile_str(prof, waker->comm), LOCATION_WAKER);
	for (uint32_t i = end; i > begin; i--)
		cnt = append_waker_frame(stacks, cnt, prof->stack_locations[at.first + i - 1]);
	if (!reserve(stacks, cnt + 1))
		return 0;
	stacks->locations[cnt++] = synthetic(stacks, "--");
	return cnt;
}

uint32_t off_cpu_blocked_stack(struct off_cpu_stacks *stacks, uint32_t stack,
			       const struct off_cpu_waker *waker)
{
	size_t cnt = waker ? put_waker(stacks, waker) : 0;
	char leaf[80];

	snprintf(leaf, sizeof(leaf), "[blocked: %s]", off_cpu_cause(stacks, stack));
	if (!reserve(stacks, cnt + 1))
		return PROFILE_NONE;
	stacks->locations[cnt++] = synthetic(stacks, leaf);
	cnt = append_stack(stacks, cnt, stack);
	return profile_stack(stacks->prof, stacks->locations, cnt);
}

uint32_t off_cpu_runnable_stack(struct off_cpu_stacks *stacks, uint32_t stack, const char *why)
{
	size_t cnt = 0;
	char leaf[80];

	snprintf(leaf, sizeof(leaf), "[runnable: %s]", why);
	if (!reserve(stacks, 1))
		return PROFILE_NONE;
	stacks->locations[cnt++] = synthetic(stacks, leaf);
	cnt = append_stack(stacks, cnt, stack);
	return profile_stack(stacks->prof, stacks->locations, cnt);
}
