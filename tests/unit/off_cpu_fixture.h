/* SPDX-License-Identifier: Apache-2.0 */
/* Waits as capture adds them, and samples as text, for tests. Include it after cmocka. */
#ifndef BPFPROF_TESTS_OFF_CPU_FIXTURE_H
#define BPFPROF_TESTS_OFF_CPU_FIXTURE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/off_cpu.h"

enum { KERNEL_MAX = 127, USER_MAX = 2048, NAME_BYTES = 32 };

/* Columns of off_cpu_declare(); behind those of an event they are two further on. */
enum { WAITS, BLOCKED, RUNNABLE, SUM, CPU_COLUMNS = 2 };

#define SWITCH "__schedule schedule "
#define SYSCALL "do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define FUTEX SWITCH "futex_wait_queue futex_wait do_futex __x64_sys_futex " SYSCALL
#define PIPE SWITCH "pipe_read vfs_read ksys_read __x64_sys_read " SYSCALL

struct fixture {
	struct profile prof;
	struct off_cpu off;
	uint64_t next_address;
	bool with_cpu;
};

static inline void begin(struct fixture *fix, bool with_cpu)
{
	*fix = (struct fixture){.next_address = 0x1000, .with_cpu = with_cpu};
	assert_int_equal(profile_init(&fix->prof), 0);
	off_cpu_init(&fix->off);
	if (with_cpu) {
		profile_add_value_type(&fix->prof, "samples", "count");
		profile_add_value_type(&fix->prof, "cpu", "nanoseconds");
	}
	off_cpu_declare(&fix->prof, with_cpu ? "wall" : "off_cpu");
}

static inline void end(struct fixture *fix)
{
	profile_deinit(&fix->prof);
	off_cpu_deinit(&fix->off);
}

static inline void finish(struct fixture *fix)
{
	assert_int_equal(off_cpu_finish(&fix->prof, &fix->off), 0);
	assert_int_equal(fix->prof.err, 0);
}

/* "-": it has no name. */
static inline uint32_t frame(struct fixture *fix, const char *name, uint16_t flags)
{
	struct profile *prof = &fix->prof;
	struct profile_line line = {0};
	uint32_t location;

	if (!strcmp(name, "-"))
		return profile_location(prof, PROFILE_NONE, fix->next_address++, flags);
	location = profile_named_location(prof, name, flags);
	line.function = profile_function(prof, name, name, "", 0);
	assert_int_equal(prof->lines[prof->locations[location].first_line].function, line.function);
	return location;
}

static inline size_t frames(struct fixture *fix, const char *names, uint16_t flags, uint32_t *out)
{
	char *text = strdup(names), *rest = NULL;
	size_t cnt = 0;

	for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		out[cnt++] = frame(fix, name, flags);
	free(text);
	return cnt;
}

/* Names separated by blanks, leaf first. */
static inline uint32_t stack_of(struct fixture *fix, const char *kernel, const char *user)
{
	uint32_t locations[KERNEL_MAX + USER_MAX];
	size_t cnt = frames(fix, kernel, LOCATION_KERNEL, locations);

	cnt += frames(fix, user, 0, locations + cnt);
	return profile_stack(&fix->prof, locations, cnt);
}

static inline uint32_t who_is(struct fixture *fix, const char *comm)
{
	const struct profile_label label = {.key = profile_string(&fix->prof, "comm"),
					    .str = profile_string(&fix->prof, comm)};

	return profile_labels(&fix->prof, &label, 1);
}

struct waits {
	uint32_t who, stack;
	enum off_cpu_state state;
	uint32_t log2_ns;
	uint64_t waker;
	int64_t cnt, blocked, runnable;
};

/* As capture does; the sample. */
static inline uint32_t add(struct fixture *fix, const struct waits *waits)
{
	int64_t values[6] = {0}, *at = values + (fix->with_cpu ? CPU_COLUMNS : 0);

	at[WAITS] = waits->cnt;
	at[BLOCKED] = waits->blocked;
	at[RUNNABLE] = waits->runnable;
	at[SUM] = waits->blocked + waits->runnable;
	return profile_sample(&fix->prof, waits->stack,
			      off_cpu_labels(&fix->prof, waits->who, waits->state, waits->log2_ns,
					     waits->waker),
			      values);
}

static inline void add_labels(const struct profile *prof, uint32_t set, struct buf *out)
{
	for (uint32_t i = 0; i < prof->label_sets[set].cnt; i++) {
		const struct profile_label *label = &prof->labels[prof->label_sets[set].first + i];

		if (label->str != PROFILE_NONE)
			buf_printf(out, "%s=%s ", profile_str(prof, label->key),
				   profile_str(prof, label->str));
		else
			buf_printf(out, "%s=%" PRId64 " ", profile_str(prof, label->key),
				   label->num);
	}
}

/* Labels, then frames, leaf first: "comm=a state=runnable |[runnable: woken]|f|g". A waker's frame
 * is in <>, a function of the kernel in (). */
static inline void add_sample_text(const struct profile *prof, size_t i, struct buf *out)
{
	const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];

	add_labels(prof, prof->samples[i].label_set, out);
	for (uint32_t k = 0; k < stack->cnt; k++) {
		uint32_t location = prof->stack_locations[stack->first + k];
		uint16_t flags = prof->locations[location].flags;
		const char *format = flags & LOCATION_WAKER    ? "|<%s>"
				     : flags & LOCATION_KERNEL ? "|(%s)"
							       : "|%s";

		buf_printf(out, format, profile_location_name(prof, location, 0));
	}
}

/* The values of the one sample that reads so. */
static inline const int64_t *values_of(const struct fixture *fix, const char *text)
{
	const struct profile *prof = &fix->prof;
	const int64_t *values = NULL;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		struct buf got;

		buf_init(&got, BUF_NO_MAX);
		add_sample_text(prof, i, &got);
		if (!strcmp(buf_cstr(&got), text)) {
			assert_null(values);
			values = prof->values + i * prof->value_type_cnt;
		}
		buf_deinit(&got);
	}
	if (!values)
		fail_msg("no sample: %s", text);
	return values;
}

static inline void assert_values(const struct fixture *fix, const char *text, int64_t waits,
				 int64_t blocked, int64_t runnable)
{
	const int64_t *values = values_of(fix, text) + (fix->with_cpu ? CPU_COLUMNS : 0);

	assert_int_equal(values[WAITS], waits);
	assert_int_equal(values[BLOCKED], blocked);
	assert_int_equal(values[RUNNABLE], runnable);
	assert_int_equal(values[SUM], blocked + runnable);
}

/* A wait of "a" in a pipe, ended by waker 7. */
static inline void add_woken(struct fixture *fix)
{
	add(fix, &(struct waits){.who = who_is(fix, "a"),
				 .stack = stack_of(fix, "pipe_read", "f"),
				 .waker = 7,
				 .cnt = 1,
				 .blocked = 10,
				 .runnable = 3});
}

#define WOKEN "cause=pipe comm=a state=interruptible "
#define WAITER "[blocked: pipe]|(pipe_read)|f"

#endif
