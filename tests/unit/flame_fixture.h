/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for the tests of what draws call paths, from lines like
 *
 *	fixture_add(&prof, "web", 3, "main|l:read|k:vfs_read");
 *
 * root first. A frame's prefix is its kind: none an executable, l: library, k: kernel, j: JIT, s:
 * not code, w: waker, n: a waker's name; i: inlined into the frame before it; a: an address without
 * symbol (hexadecimal).
 */
#ifndef BPFPROF_TESTS_FLAME_FIXTURE_H
#define BPFPROF_TESTS_FLAME_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

enum { FIXTURE_FRAMES_MAX = 4096, FIXTURE_LINES_MAX = 8 };

/* A stack under construction, root first. */
struct fixture_stack {
	uint32_t locations[FIXTURE_FRAMES_MAX];
	uint32_t cnt;
	struct profile_line
		lines[FIXTURE_LINES_MAX]; /* of the location being read, outermost first */
	uint32_t line_cnt;
	char kind;
};

static inline uint32_t fixture_mapping(struct profile *prof, char kind)
{
	switch (kind) {
	case 'l':
	case 'a':
		return profile_mapping(prof, "/usr/lib/libfixture.so.1", "00aa");
	case 'k':
		return profile_mapping(prof, "[kernel.kallsyms]", "00bb");
	case 'j':
		return profile_mapping(prof, "//anon", "");
	default:
		return profile_mapping(prof, "/usr/bin/fixture", "00cc");
	}
}

static inline uint16_t fixture_flags(char kind)
{
	return kind == 'k'   ? LOCATION_KERNEL
	       : kind == 'j' ? LOCATION_JIT
	       : kind == 's' ? LOCATION_SYNTHETIC
	       : kind == 'w' ? LOCATION_WAKER
	       : kind == 'n' ? LOCATION_WAKER
			     : 0;
}

/* Close the location whose lines were collected. */
static inline void fixture_flush(struct profile *prof, struct fixture_stack *stack)
{
	struct profile_line inner_first[FIXTURE_LINES_MAX];
	bool is_named = stack->kind == 's' || stack->kind == 'n';
	uint32_t mapping = is_named ? PROFILE_NONE : fixture_mapping(prof, stack->kind);
	uint64_t address = 0x1000;

	if (!stack->line_cnt)
		return;
	for (uint32_t i = 0; i < stack->line_cnt; i++) {
		inner_first[i] = stack->lines[stack->line_cnt - 1 - i];
		address = address * 31 + stack->lines[i].function * 16;
	}
	stack->locations[stack->cnt++] = profile_location_lines(
		prof, mapping, address, fixture_flags(stack->kind), inner_first, stack->line_cnt);
	stack->line_cnt = 0;
}

static inline void fixture_frame(struct profile *prof, struct fixture_stack *stack,
				 const char *text, size_t len)
{
	char kind = len > 2 && text[1] == ':' ? text[0] : 'u';
	size_t skip = kind == 'u' ? 0 : 2;
	char *name = strndup(text + skip, len - skip);

	if (kind != 'i')
		fixture_flush(prof, stack);
	if (kind == 'a') {
		stack->locations[stack->cnt++] = profile_location(prof, fixture_mapping(prof, kind),
								  strtoull(name, NULL, 16), 0);
	} else {
		stack->lines[stack->line_cnt++].function =
			profile_function(prof, name, name, "", 0);
		if (kind != 'i')
			stack->kind = kind;
	}
	free(name);
}

static inline void fixture_add(struct profile *prof, const char *comm, int64_t value,
			       const char *path)
{
	struct profile_label label = {
		.key = profile_string(prof, "comm"),
		.str = profile_string(prof, comm),
	};
	struct fixture_stack *stack = calloc(1, sizeof(*stack));
	uint32_t leaf_first[FIXTURE_FRAMES_MAX];

	while (*path) {
		size_t len = strcspn(path, "|");

		fixture_frame(prof, stack, path, len);
		path += len + (path[len] == '|');
	}
	fixture_flush(prof, stack);
	for (uint32_t i = 0; i < stack->cnt; i++)
		leaf_first[i] = stack->locations[stack->cnt - 1 - i];
	profile_sample(prof, profile_stack(prof, leaf_first, stack->cnt),
		       profile_labels(prof, &label, *comm ? 1 : 0), &value);
	free(stack);
}

/* A profile of one value. */
static inline void fixture_init(struct profile *prof, const char *type, const char *unit)
{
	profile_init(prof);
	profile_add_value_type(prof, type, unit);
}

#endif
