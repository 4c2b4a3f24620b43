/* SPDX-License-Identifier: Apache-2.0 */
/* Locations and label sets expanded into frames. */
#include "encode/flame_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "encode/frame_name.h"
#include "profile/synthetic.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *mapping_path(const struct profile *prof, const struct profile_location *loc)
{
	return loc->mapping == PROFILE_NONE ? ""
					    : profile_str(prof, prof->mappings[loc->mapping].path);
}

static uint8_t synthetic_kind(const char *name)
{
	static const uint8_t kinds[] = {
		[SYNTHETIC_NOT] = FLAME_SYNTHETIC,     [SYNTHETIC_INCOMPLETE] = FLAME_SYNTHETIC,
		[SYNTHETIC_RUNNING] = FLAME_SYNTHETIC, [SYNTHETIC_BLOCKED] = FLAME_BLOCKED,
		[SYNTHETIC_RUNNABLE] = FLAME_RUNNABLE, [SYNTHETIC_WAKER] = FLAME_WOKEN_BY,
	};

	return kinds[synthetic_of(name, strlen(name))];
}

static uint8_t location_kind(const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];
	const char *path = mapping_path(prof, loc);

	if (loc->flags & LOCATION_SYNTHETIC)
		return synthetic_kind(profile_location_name(prof, location, 0));
	/* Profiles of other tools say "kernel" only by the mapping's name. */
	if (loc->flags & LOCATION_KERNEL || !strncmp(path, "[kernel", strlen("[kernel")))
		return FLAME_KERNEL;
	if (loc->flags & LOCATION_JIT)
		return FLAME_JIT;
	return strstr(base_name(path), ".so") ? FLAME_LIBRARY : FLAME_USER;
}

static uint32_t intern_line(struct flame_frames *frames, uint32_t location, uint32_t line)
{
	const char *name = profile_location_name(frames->prof, location, line);
	struct buf address;
	uint32_t id;

	if (*name)
		return strtab_add(&frames->names, name, strlen(name));
	buf_init(&address, BUF_NO_MAX);
	frame_add_name(frames->prof, location, line, &address);
	id = address.err ? STRTAB_NONE
			 : strtab_add(&frames->names, buf_cstr(&address), address.len);
	buf_deinit(&address);
	return id;
}

static int push_frame(struct flame_frames *frames, struct flame_frame frame)
{
	int err = array_reserve(&frames->items, &frames->cap, frames->cnt + 1,
				sizeof(*frames->items));

	if (err)
		return err;
	frames->items[frames->cnt++] = frame;
	return frame.name == STRTAB_NONE ? -ENOMEM : 0;
}

/* A location's lines are innermost first; all but the last were inlined into the one after them. */
static int expand_location(struct flame_frames *frames, uint32_t location)
{
	const struct profile_location *loc = &frames->prof->locations[location];
	struct flame_frame frame = {
		.kind = location_kind(frames->prof, location),
		.flags = loc->flags & LOCATION_WAKER ? FLAME_WAKER : 0,
	};
	int err = 0;

	for (uint32_t line = loc->line_cnt ? loc->line_cnt : 1; line-- > 0 && !err;) {
		frame.name = intern_line(frames, location, line);
		err = push_frame(frames, frame);
		frame.flags |= FLAME_INLINED;
	}
	return err;
}

/* A stack that ends in the waker's frames has its name at the leaf. */
static void mark_waker_names(struct flame_frames *frames)
{
	const struct profile *prof = frames->prof;

	for (size_t i = 0; i < prof->stack_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[i];
		const struct profile_location *leaf;
		uint32_t location;

		if (!stack->cnt)
			continue;
		location = prof->stack_locations[stack->first];
		leaf = &prof->locations[location];
		if (leaf->flags == LOCATION_WAKER && leaf->mapping == PROFILE_NONE &&
		    leaf->line_cnt == 1)
			frames->items[frames->first[location]].kind = FLAME_PROCESS;
	}
}

static int expand_locations(struct flame_frames *frames)
{
	size_t cnt = frames->prof->location_cnt;

	frames->first = calloc(cnt + 1, sizeof(*frames->first));
	if (!frames->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		int err = expand_location(frames, i);

		if (err)
			return err;
		if (frames->cnt > UINT32_MAX)
			return -E2BIG;
		frames->first[i + 1] = (uint32_t)frames->cnt;
	}
	mark_waker_names(frames);
	return 0;
}

/* @prof has the label sets. */
static int name_processes(struct flame_frames *frames, const struct profile *prof, const char *by)
{
	struct buf name;
	int err = 0;

	frames->process_names = calloc(prof->label_set_cnt + 1, sizeof(*frames->process_names));
	if (!frames->process_names)
		return -ENOMEM;
	buf_init(&name, BUF_NO_MAX);
	for (uint32_t i = 0; i < prof->label_set_cnt && !err; i++) {
		buf_reset(&name);
		frame_add_process(prof, i, by, &name);
		frames->process_names[i] = strtab_add(&frames->names, buf_cstr(&name), name.len);
		if (name.err || frames->process_names[i] == STRTAB_NONE)
			err = -ENOMEM;
	}
	buf_deinit(&name);
	return err;
}

static int init(struct flame_frames *frames, const struct profile *places,
		const struct profile *labelled, const char *by)
{
	int err;

	*frames = (struct flame_frames){.prof = places};
	err = strtab_init(&frames->names);
	if (!err)
		err = expand_locations(frames);
	return err ? err : name_processes(frames, labelled, by);
}

int flame_frames_init(struct flame_frames *frames, const struct profile *prof, const char *by)
{
	return init(frames, prof, prof, by);
}

int flame_frames_init_calls(struct flame_frames *frames, const struct profile_calls *tree,
			    const char *by)
{
	return init(frames, tree->places, &tree->head, by);
}

void flame_frames_deinit(struct flame_frames *frames)
{
	strtab_deinit(&frames->names);
	free(frames->items);
	free(frames->first);
	free(frames->process_names);
}

struct flame_gap flame_stack_gap(const struct flame_frames *frames, const uint32_t *locations,
				 uint32_t cnt)
{
	uint64_t frame_cnt = 0;

	for (uint32_t i = 0; i < cnt; i++)
		frame_cnt += frames->first[locations[i] + 1] - frames->first[locations[i]];
	if (frame_cnt <= FLAME_FRAMES_MAX)
		return (struct flame_gap){UINT64_MAX, UINT64_MAX};
	return (struct flame_gap){FLAME_FRAMES_MAX / 2, frame_cnt - FLAME_FRAMES_MAX / 2};
}

uint32_t flame_elided_name(struct flame_frames *frames, uint64_t elided_cnt)
{
	char name[48];
	int len = snprintf(name, sizeof(name), "[%" PRIu64 " frames elided]", elided_cnt);

	return strtab_add(&frames->names, name, (size_t)len);
}
