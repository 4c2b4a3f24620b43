/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing the samples of both sides under the same names: every location of a profile becomes the
 * frames that its lines are, each of them a location of diff.joined that is told by its name and by
 * what it is; addresses tell only code that has no name, together with its module's base name.
 */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/profile_import.h"

enum {
	/* What makes frames of one name different ones. */
	CLASS_FLAGS = LOCATION_KERNEL | LOCATION_WAKER | LOCATION_SYNTHETIC,
	/* Of all stacks together: it bounds what a small hostile file can ask for, which may name a
	 * location of 65,535 lines again and again. */
	FRAMES_MAX = 1 << 27,
};

/* One profile being joined. The arrays are owned. */
struct joiner {
	struct diff *diff;
	const struct profile *src;
	uint32_t *first_frame; /* by location; one more closes the last range */
	uint32_t *frames; /* locations of diff.joined, leaf first within each */
	size_t frame_cnt, frame_cap;
	uint32_t *stacks, *label_sets; /* source -> joined, PROFILE_NONE: not met yet */
	uint32_t *scratch;
	size_t scratch_cap;
	struct profile_label *labels;
	size_t label_cap;
};

static void joiner_deinit(struct joiner *join)
{
	free(join->first_frame);
	free(join->frames);
	free(join->stacks);
	free(join->label_sets);
	free(join->scratch);
	free(join->labels);
}

static int joiner_init(struct joiner *join, struct diff *diff, const struct profile *src)
{
	*join = (struct joiner){
		.diff = diff,
		.src = src,
		.first_frame = calloc(src->location_cnt + 1, sizeof(uint32_t)),
		.stacks = profile_new_column(src->stack_cnt),
		.label_sets = profile_new_column(src->label_set_cnt),
	};
	return join->first_frame && join->stacks && join->label_sets ? 0 : -ENOMEM;
}

struct frame_key {
	const char *name; /* "": it has none */
	const char *module;
	uint64_t address;
	uint16_t flags;
};

static const char *module_of(const struct profile *prof, uint32_t mapping)
{
	const char *path =
		mapping == PROFILE_NONE ? "" : profile_str(prof, prof->mappings[mapping].path);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_frame(const void *owner, uint32_t location, const void *key_ptr)
{
	const struct profile *prof = owner;
	const struct profile_location *known = &prof->locations[location];
	const struct frame_key *key = key_ptr;

	if ((known->flags ^ key->flags) & CLASS_FLAGS ||
	    strcmp(profile_location_name(prof, location, 0), key->name))
		return false;
	return *key->name || (known->address == key->address &&
			      !strcmp(module_of(prof, known->mapping), key->module));
}

static uint64_t frame_hash(const struct frame_key *key)
{
	uint64_t hash =
		hash_mix(key->flags & CLASS_FLAGS, hash_bytes(key->name, strlen(key->name)));

	if (*key->name)
		return hash;
	return hash_mix(hash_mix(hash, key->address), hash_bytes(key->module, strlen(key->module)));
}

/* A mapping of @src as a name: which build it was no longer matters. */
static uint32_t join_mapping(struct joiner *join, uint32_t mapping)
{
	const struct profile *src = join->src;
	const struct profile_mapping *known;
	struct profile_mapping joined = {.flags = MAPPING_HAS_FUNCTIONS};
	uint64_t shift;

	if (mapping == PROFILE_NONE)
		return PROFILE_NONE;
	known = &src->mappings[mapping];
	joined.path = profile_string(&join->diff->joined, profile_str(src, known->path));
	joined.build_id = profile_string(&join->diff->joined, "");
	return profile_mapping_add(&join->diff->joined, &joined, &shift);
}

/* Line @line of @location as a location of its own; made when it is new. PROFILE_NONE on failure.
 */
static uint32_t join_frame(struct joiner *join, uint32_t location, uint32_t line)
{
	const struct profile *src = join->src;
	const struct profile_location *loc = &src->locations[location];
	struct profile *joined = &join->diff->joined;
	struct profile_line made = {.line = 0};
	struct frame_key key = {
		.name = profile_location_name(src, location, line),
		.module = module_of(src, loc->mapping),
		.address = loc->address,
		.flags = loc->flags,
	};
	uint64_t hash;
	uint32_t found;

	/* Other tools say "kernel" only by the mapping's name. */
	if (!strncmp(key.module, "[kernel", strlen("[kernel")))
		key.flags |= LOCATION_KERNEL;
	hash = frame_hash(&key);
	found = hmap_find(&join->diff->frames, hash, is_frame, joined, &key);
	if (found != HMAP_NONE)
		return found;
	if (*key.name) {
		const struct profile_function *function =
			&src->functions[src->lines[loc->first_line + line].function];

		made.function = profile_function(joined, key.name, key.name,
						 profile_str(src, function->file), 0);
	}
	found = profile_location_lines(joined, join_mapping(join, loc->mapping),
				       *key.name ? 0 : key.address, key.flags, &made,
				       *key.name ? 1 : 0);
	if (found == PROFILE_NONE || hmap_insert(&join->diff->frames, hash, found))
		return PROFILE_NONE;
	return found;
}

static int join_locations(struct joiner *join)
{
	const struct profile *src = join->src;

	for (uint32_t i = 0; i < src->location_cnt; i++) {
		uint32_t lines = src->locations[i].line_cnt ? src->locations[i].line_cnt : 1;

		if (array_reserve(&join->frames, &join->frame_cap, join->frame_cnt + lines,
				  sizeof(*join->frames)))
			return -ENOMEM;
		if (join->frame_cnt + lines > FRAMES_MAX)
			return -E2BIG;
		for (uint32_t line = 0; line < lines; line++) {
			uint32_t frame = join_frame(join, i, line);

			if (frame == PROFILE_NONE)
				return join->diff->joined.err ? join->diff->joined.err : -ENOMEM;
			join->frames[join->frame_cnt++] = frame;
		}
		join->first_frame[i + 1] = (uint32_t)join->frame_cnt;
	}
	return 0;
}

/* PROFILE_NONE on failure, which is in joined.err. */
static uint32_t join_stack(struct joiner *join, uint32_t id)
{
	const struct profile_stack *stack = &join->src->stacks[id];
	struct profile *joined = &join->diff->joined;
	size_t cnt = 0;

	if (join->stacks[id] != PROFILE_NONE)
		return join->stacks[id];
	for (uint32_t i = 0; i < stack->cnt && !joined->err; i++) {
		uint32_t location = join->src->stack_locations[stack->first + i];
		uint32_t first = join->first_frame[location];
		uint32_t more = join->first_frame[location + 1] - first;

		if (joined->stack_location_cnt + cnt + more > FRAMES_MAX)
			joined->err = -E2BIG;
		else
			joined->err = array_reserve(&join->scratch, &join->scratch_cap, cnt + more,
						    sizeof(*join->scratch));
		if (joined->err)
			return PROFILE_NONE;
		memcpy(join->scratch + cnt, join->frames + first, more * sizeof(*join->scratch));
		cnt += more;
	}
	join->stacks[id] = profile_stack(joined, join->scratch, cnt);
	return join->stacks[id];
}

/* Is @key in the comma list @keys? */
static bool lists_key(const char *keys, const char *key)
{
	size_t key_len = strlen(key);

	for (size_t len; *keys; keys += len + (keys[len] == ',')) {
		len = strcspn(keys, ",");
		if (len == key_len && !memcmp(keys, key, len))
			return true;
	}
	return false;
}

/* Of a label set, what samples are told apart by. */
static uint32_t join_labels(struct joiner *join, uint32_t id)
{
	const struct profile *src = join->src;
	const struct profile_label_set *set = &src->label_sets[id];
	struct profile *joined = &join->diff->joined;
	size_t cnt = 0;

	if (join->label_sets[id] != PROFILE_NONE)
		return join->label_sets[id];
	if (!joined->err)
		joined->err = array_reserve(&join->labels, &join->label_cap, set->cnt + 1,
					    sizeof(*join->labels));
	for (uint32_t i = 0; i < set->cnt && !joined->err; i++) {
		const struct profile_label *label = &src->labels[set->first + i];
		const char *key = profile_str(src, label->key);

		if (!lists_key(join->diff->by, key))
			continue;
		join->labels[cnt] = (struct profile_label){
			.key = profile_string(joined, key),
			.str = PROFILE_NONE,
			.num = label->num,
			.num_unit = profile_string(joined, profile_str(src, label->num_unit)),
		};
		if (label->str != PROFILE_NONE)
			join->labels[cnt].str =
				profile_string(joined, profile_str(src, label->str));
		cnt++;
	}
	join->label_sets[id] = profile_labels(joined, join->labels, cnt);
	return join->label_sets[id];
}

/* Of how many samples @row's @value is made, and the variance of that number times their size. */
static void weigh(const struct diff_counting *how, const int64_t *row, struct diff_entry *entry)
{
	double value = fabs((double)entry->value), samples = 0;

	if (how->column != PROFILE_NONE)
		samples = (double)row[how->column] * how->sampled;
	if (samples <= 0 && (how->per_sample > 0 || how->column == PROFILE_NONE))
		samples = value / (how->per_sample > 0 ? how->per_sample : 1);
	/* Something was seen at least once. */
	entry->samples = samples < 1 ? 1 : samples;
	entry->variance = how->spread * value * value / entry->samples;
	entry->draws = entry->samples;
	entry->chance = entry->variance;
	if (how->is_exact)
		entry->draws = INFINITY;
	else if (how->draw > 0)
		entry->draws = fmax(entry->samples, value / how->draw);
	if (entry->draws > entry->samples)
		entry->chance = value * value / entry->draws;
}

static int join_samples(struct joiner *join, enum diff_side side, uint32_t value)
{
	struct diff_counting how = diff_counting_of(join->src, value);
	const struct profile *src = join->src;
	struct diff *diff = join->diff;

	for (size_t i = 0; i < src->sample_cnt && !diff->joined.err; i++) {
		const int64_t *row = src->values + i * src->value_type_cnt;
		struct diff_entry entry = {.value = row[value]};
		int64_t values[DIFF_DELTA + 1] = {0};

		if (!entry.value)
			continue;
		values[side] = entry.value;
		values[DIFF_DELTA] =
			profile_value_difference(values[DIFF_AFTER], values[DIFF_BEFORE]);
		entry.sample =
			profile_sample(&diff->joined, join_stack(join, src->samples[i].stack),
				       join_labels(join, src->samples[i].label_set), values);
		weigh(&how, row, &entry);
		if (array_reserve(&diff->entries, &diff->entry_cap, diff->entry_cnt + 1,
				  sizeof(*diff->entries)))
			return -ENOMEM;
		diff->entries[diff->entry_cnt++] = entry;
	}
	return diff->joined.err;
}

/* Unit, period and beginning as of the first run. */
static void join_header(struct diff *diff, const struct profile *src, uint32_t value)
{
	static const char *const names[] = {
		[DIFF_BEFORE] = "before", [DIFF_AFTER] = "after", [DIFF_DELTA] = "delta"};
	const char *unit = profile_str(src, src->value_types[value].unit);
	struct profile *joined = &diff->joined;

	if (joined->value_type_cnt)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		profile_add_value_type(joined, names[i], unit);
	joined->default_value = DIFF_AFTER;
	diff->type = profile_string(joined, profile_str(src, src->value_types[value].type));
	joined->time_ns = src->time_ns;
}

int diff_add(struct diff *diff, enum diff_side side, const struct profile *prof, uint32_t value)
{
	_cleanup_(joiner_deinit) struct joiner join = {.diff = diff};
	struct diff_run run = {.side = side, .first = diff->entry_cnt};
	int err = prof->err ? prof->err : joiner_init(&join, diff, prof);

	if (!err)
		err = array_reserve(&diff->runs, &diff->run_cap, diff->run_cnt + 1,
				    sizeof(*diff->runs));
	if (err)
		return err;
	join_header(diff, prof, value);
	err = join_locations(&join);
	if (!err)
		err = join_samples(&join, side, value);
	run.cnt = diff->entry_cnt - run.first;
	diff->runs[diff->run_cnt++] = run;
	diff->side_runs[side]++;
	diff->duration_ns[side] += prof->duration_ns;
	return err;
}
