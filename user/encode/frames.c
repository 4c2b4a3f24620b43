/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a profile as rows of frames. */
#include "encode/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "encode/flame.h"
#include "encode/frame_name.h"

enum { ROW_FRAMES_MAX = 1 << 27 };

void frames_deinit(struct frames *frames)
{
	strtab_deinit(&frames->names);
	free(frames->items);
	free(frames->stack);
	free(frames->locations);
	free(frames->processes);
	free(frames->elided);
}

/* Append @frame under the name in @name. */
static int push(struct frames *frames, struct frame frame, const struct buf *name)
{
	int err;

	if (frames->cnt + 1 >= PROFILE_NONE)
		return -E2BIG;
	err = array_reserve(&frames->items, &frames->cap, frames->cnt + 1, sizeof(*frames->items));
	if (err || name->err)
		return err ? err : name->err;
	frame.name = strtab_add(&frames->names, buf_cstr(name), name->len);
	if (frame.name == STRTAB_NONE)
		return -ENOMEM;
	frames->items[frames->cnt++] = frame;
	return 0;
}

/* The frames of @location, outermost first. */
static int push_location(struct frames *frames, uint32_t location, struct buf *name)
{
	const struct profile *prof = frames->prof;
	const struct profile_location *loc = &prof->locations[location];
	struct frame frame = {
		.address = loc->address,
		.mapping = loc->mapping,
		.flags = loc->flags,
	};
	int err = 0;

	for (uint32_t line = loc->line_cnt ? loc->line_cnt : 1; line-- > 0 && !err;) {
		if (loc->line_cnt) {
			const struct profile_line *at = &prof->lines[loc->first_line + line];

			frame.file = prof->functions[at->function].file;
			frame.start_line = prof->functions[at->function].start_line;
			frame.line = at->line;
		}
		buf_reset(name);
		frame_add_name(prof, location, line, name);
		err = push(frames, frame, name);
		frame.is_inlined = true;
	}
	return err;
}

static int push_locations(struct frames *frames, struct buf *name)
{
	size_t cnt = frames->prof->location_cnt;
	int err = 0;

	frames->locations = calloc(cnt + 1, sizeof(*frames->locations));
	if (!frames->locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		err = push_location(frames, i, name);
		frames->locations[i + 1] = (uint32_t)frames->cnt;
	}
	return err;
}

static int push_processes(struct frames *frames, const char *by, struct buf *name)
{
	const struct frame frame = {.mapping = PROFILE_NONE, .is_process = true};
	size_t cnt = frames->prof->label_set_cnt;
	int err = 0;

	frames->processes = calloc(cnt + 1, sizeof(*frames->processes));
	if (!frames->processes)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		buf_reset(name);
		frames->processes[i] = PROFILE_NONE;
		if (!frame_add_process(frames->prof, i, by, name))
			continue;
		frames->processes[i] = (uint32_t)frames->cnt;
		err = push(frames, frame, name);
	}
	return err;
}

static uint32_t location_frames(const struct frames *frames, uint32_t location)
{
	return frames->locations[location + 1] - frames->locations[location];
}

/* How many frames of @stack are left out: all but the FLAME_FRAMES_MAX at its ends. */
static uint64_t elided_cnt(const struct frames *frames, const struct profile_stack *stack)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < stack->cnt; i++)
		cnt += location_frames(frames, frames->prof->stack_locations[stack->first + i]);
	return cnt > FLAME_FRAMES_MAX ? cnt - FLAME_FRAMES_MAX : 0;
}

static int push_elided(struct frames *frames, struct buf *name)
{
	const struct frame frame = {.mapping = PROFILE_NONE, .flags = LOCATION_SYNTHETIC};
	size_t cnt = frames->prof->stack_cnt;
	int err = 0;

	frames->elided = calloc(cnt + 1, sizeof(*frames->elided));
	if (!frames->elided)
		return -ENOMEM;
	for (size_t i = 0; i < cnt && !err; i++) {
		uint64_t gap = elided_cnt(frames, &frames->prof->stacks[i]);

		frames->elided[i] = gap ? (uint32_t)frames->cnt : PROFILE_NONE;
		if (!gap)
			continue;
		buf_reset(name);
		buf_printf(name, "[%" PRIu64 " frames elided]", gap);
		err = push(frames, frame, name);
	}
	return err;
}

int frames_init(struct frames *frames, const struct profile *prof, const char *by)
{
	_cleanup_(buf_deinit) struct buf name;
	int err;

	*frames = (struct frames){.prof = prof};
	buf_init(&name, BUF_NO_MAX);
	err = strtab_init(&frames->names);
	if (!err)
		err = prof->err;
	if (!err)
		err = push_locations(frames, &name);
	if (!err)
		err = push_processes(frames, by, &name);
	return err ? err : push_elided(frames, &name);
}

/* Append what of @location is not in the gap [from, to) of the stack, whose frame @pos it begins
 * with. */
static void add_location(struct frames *frames, uint32_t location, uint32_t elided, uint64_t from,
			 uint64_t to, uint64_t *pos)
{
	uint32_t first = frames->locations[location], last = frames->locations[location + 1];

	if (*pos >= from && *pos + (last - first) <= to) {
		*pos += last - first;
		return;
	}
	for (uint32_t item = first; item < last; item++, (*pos)++) {
		if (*pos == to)
			frames->stack[frames->stack_cnt++] = elided;
		if (*pos < from || *pos >= to)
			frames->stack[frames->stack_cnt++] = item;
	}
}

int frames_stack(struct frames *frames, const struct profile_sample *sample)
{
	const struct profile *prof = frames->prof;
	const struct profile_stack *stack = &prof->stacks[sample->stack];
	uint32_t process = frames->processes[sample->label_set];
	uint64_t gap = elided_cnt(frames, stack), pos = 0;
	uint64_t from = gap ? FLAME_FRAMES_MAX / 2 : UINT64_MAX;
	uint64_t to = gap ? from + gap : UINT64_MAX;
	int err = array_reserve(&frames->stack, &frames->stack_cap, FLAME_FRAMES_MAX + 2,
				sizeof(*frames->stack));

	if (err)
		return err;
	frames->stack_cnt = 0;
	if (process != PROFILE_NONE)
		frames->stack[frames->stack_cnt++] = process;
	for (uint32_t i = stack->cnt; i-- > 0;)
		add_location(frames, prof->stack_locations[stack->first + i],
			     frames->elided[sample->stack], from, to, &pos);
	frames->given_cnt += frames->stack_cnt;
	return frames->given_cnt > ROW_FRAMES_MAX ? -EFBIG : 0;
}
