/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own file format (its schema: speedscope.app/file-format-schema.json): the frames
 * once, each distinct (name, file, line), and for every value type a profile of type "sampled" that
 * lists stacks as indices, root first, beside their weights.
 *
 * The line is the one that the function begins at: the reader adds up, finds and colours what is
 * one frame, and with the sampled line a function would be as many of them as it has lines.
 *
 * Where times were kept (profile/timeline.h) the stacks stand in their order, so that the reader's
 * "time order" is true, but for the width of a bucket.
 *
 * Inlined calls are frames of their own. The reader refuses negative weights and drops zeros:
 * samples that are not above 0 are left out, and what was negative is told in the profile's name.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "encode/frames.h"
#include "profile/timeline.h"

/* The most bytes of output; the same stacks stand there once for each value. */
static const size_t SPEEDSCOPE_BYTES_MAX = 1ULL << 32;

struct shared {
	struct frames frames;
	uint32_t *ids; /* owned: by item its number in the file */
	uint32_t *items; /* owned: by number in the file the first item */
	uint32_t *order; /* owned: the samples as they are written */
	size_t cnt;
	struct hmap index;
};

static void shared_deinit(struct shared *shared)
{
	frames_deinit(&shared->frames);
	free(shared->ids);
	free(shared->items);
	free(shared->order);
	hmap_deinit(&shared->index);
}

static bool is_same_frame(const void *owner, uint32_t index, const void *key)
{
	const struct shared *shared = owner;
	const struct frame *known = &shared->frames.items[shared->items[index]], *wanted = key;

	return known->name == wanted->name && known->file == wanted->file &&
	       known->start_line == wanted->start_line;
}

/* Number the frames by what of them is written. */
static int number_frames(struct shared *shared)
{
	size_t cnt = shared->frames.cnt;
	int err = 0;

	shared->ids = calloc(cnt + 1, sizeof(*shared->ids));
	shared->items = calloc(cnt + 1, sizeof(*shared->items));
	if (!shared->ids || !shared->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		const struct frame *frame = &shared->frames.items[i];
		uint64_t hash = hash_mix(hash_mix(frame->name, frame->file), frame->start_line);
		uint32_t known = hmap_find(&shared->index, hash, is_same_frame, shared, frame);

		if (known == HMAP_NONE) {
			known = (uint32_t)shared->cnt++;
			shared->items[known] = i;
			err = hmap_insert(&shared->index, hash, known);
		}
		shared->ids[i] = known;
	}
	return err;
}

static int order_samples(struct shared *shared)
{
	const struct profile *prof = shared->frames.prof;

	shared->order = calloc(prof->sample_cnt + 1, sizeof(*shared->order));
	return shared->order ? timeline_order(prof, shared->order) : -ENOMEM;
}

static void add_frames(struct json *js, const struct shared *shared)
{
	json_key(js, "shared");
	json_object_begin(js);
	json_key(js, "frames");
	json_array_begin(js);
	for (size_t i = 0; i < shared->cnt; i++) {
		const struct frame *frame = &shared->frames.items[shared->items[i]];
		const char *file = profile_str(shared->frames.prof, frame->file);

		json_object_begin(js);
		json_kv_str(js, "name", frames_name(&shared->frames, frame));
		if (*file)
			json_kv_str(js, "file", file);
		if (frame->start_line)
			json_kv_u64(js, "line", frame->start_line);
		json_object_end(js);
	}
	json_array_end(js);
	json_object_end(js);
}

static int add_stacks(struct json *js, struct shared *shared, uint32_t value)
{
	const struct profile *prof = shared->frames.prof;
	int err = 0;

	json_key(js, "samples");
	json_array_begin(js);
	for (size_t at = 0; at < prof->sample_cnt && !err; at++) {
		size_t i = shared->order[at];

		if (prof->values[i * prof->value_type_cnt + value] <= 0)
			continue;
		err = frames_stack(&shared->frames, &prof->samples[i]);
		json_array_begin(js);
		for (size_t j = 0; j < shared->frames.stack_cnt; j++)
			json_u64(js, shared->ids[shared->frames.stack[j]]);
		json_array_end(js);
		if (js->out->len > SPEEDSCOPE_BYTES_MAX)
			return -EFBIG;
	}
	json_array_end(js);
	return err;
}

static void add_weights(struct json *js, const struct shared *shared, uint32_t value)
{
	const struct profile *prof = shared->frames.prof;
	int64_t total = 0;

	json_key(js, "weights");
	json_array_begin(js);
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		size_t at = (size_t)shared->order[i] * prof->value_type_cnt + value;
		int64_t weight = prof->values[at];

		if (weight <= 0)
			continue;
		json_i64(js, weight);
		total = profile_value_sum(total, weight);
	}
	json_array_end(js);
	json_kv_u64(js, "startValue", 0);
	json_kv_i64(js, "endValue", total);
}

static const char *unit_name(const char *unit)
{
	return strcmp(unit, "nanoseconds") && strcmp(unit, "bytes") ? "none" : unit;
}

/* What the reader's menu shows: "cpu", and what of it is not in the file. */
static void add_name(struct json *js, const struct profile *prof, uint32_t value)
{
	size_t positive = 0, negative = 0;
	struct buf name;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		int64_t weight = prof->values[i * prof->value_type_cnt + value];

		positive += weight > 0;
		negative += weight < 0;
	}
	buf_init(&name, BUF_NO_MAX);
	buf_add_str(&name, profile_str(prof, prof->value_types[value].type));
	if (!positive)
		buf_add_str(&name, " (empty: nothing was sampled)");
	if (negative)
		buf_printf(&name, " (without %zu negative samples)", negative);
	json_kv_str(js, "name", buf_cstr(&name));
	if (name.err)
		js->out->err = name.err;
	buf_deinit(&name);
}

static int add_profile(struct json *js, struct shared *shared, uint32_t value)
{
	const struct profile *prof = shared->frames.prof;
	int err;

	json_object_begin(js);
	json_kv_str(js, "type", "sampled");
	add_name(js, prof, value);
	json_kv_str(js, "unit", unit_name(profile_str(prof, prof->value_types[value].unit)));
	add_weights(js, shared, value);
	err = add_stacks(js, shared, value);
	json_object_end(js);
	return err;
}

/* The reader wants a profile to show. */
static void add_nothing(struct json *js)
{
	json_object_begin(js);
	json_kv_str(js, "type", "sampled");
	json_kv_str(js, "name", "empty: nothing was sampled");
	json_kv_str(js, "unit", "none");
	json_kv_u64(js, "startValue", 0);
	json_kv_u64(js, "endValue", 0);
	json_key(js, "samples");
	json_array_begin(js);
	json_array_end(js);
	json_key(js, "weights");
	json_array_begin(js);
	json_array_end(js);
	json_object_end(js);
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(shared_deinit) struct shared shared = {.cnt = 0};
	uint32_t value = 0;
	struct json js;
	int err = frames_init(&shared.frames, prof, opts->by);

	if (!err)
		err = number_frames(&shared);
	if (!err)
		err = order_samples(&shared);
	if (!err)
		err = encoder_pick_value(prof, opts, &value);
	if (err)
		return err;
	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_kv_str(&js, "name", opts->title ? opts->title : "bpfprof");
	json_kv_str(&js, "exporter", "bpfprof");
	json_kv_u64(&js, "activeProfileIndex", value == PROFILE_NONE ? 0 : value);
	add_frames(&js, &shared);
	json_key(&js, "profiles");
	json_array_begin(&js);
	for (uint32_t i = 0; i < prof->value_type_cnt && !err; i++)
		err = add_profile(&js, &shared, i);
	if (!prof->value_type_cnt)
		add_nothing(&js);
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
	return err ? err : out->err;
}

const struct encoder encoder_speedscope = {
	.name = "speedscope",
	.extension = ".speedscope.json",
	.help = "speedscope.app: every value, inlined calls, where functions begin",
	.encode = encode,
};
