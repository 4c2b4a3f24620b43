/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/fleet_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

void fleet_names_init(struct fleet_names *names, uint64_t host)
{
	*names = (struct fleet_names){.host = host};
	buf_init(&names->scratch, BUF_NO_MAX);
}

void fleet_names_deinit(struct fleet_names *names)
{
	free(names->frames);
	free(names->is_late);
	free(names->stacks);
	free(names->sources);
	buf_deinit(&names->scratch);
}

/* Another generation's. */
static void forget(struct fleet_names *names, uint64_t generation)
{
	const uint64_t host = names->host;

	fleet_names_deinit(names);
	fleet_names_init(names, host);
	names->generation = generation;
}

/* New elements are zero; of stacks they are to be none. */
static int grow_stacks(struct fleet_names *names, size_t cnt)
{
	const size_t before = names->stack_cap;
	int err = array_reserve(&names->stacks, &names->stack_cap, cnt, sizeof(*names->stacks));

	for (size_t i = before; !err && i < names->stack_cap; i++)
		names->stacks[i].service = STRTAB_NONE;
	return err;
}

int fleet_names_update(struct fleet_names *names, const struct sink_window *window)
{
	const struct profile *dict = window->dict;
	int err;

	if (names->generation != window->generation)
		forget(names, window->generation);
	names->dict = dict;
	err = array_reserve(&names->frames, &names->frame_cap, dict->location_cnt,
			    sizeof(*names->frames));
	if (!err)
		err = array_reserve(&names->is_late, &names->late_cap, dict->location_cnt,
				    sizeof(*names->is_late));
	if (!err)
		err = array_reserve(&names->sources, &names->source_cap, dict->label_set_cnt,
				    sizeof(*names->sources));
	if (!err)
		err = grow_stacks(names, dict->stack_cnt);
	for (size_t i = names->late_cnt; !err && i < window->named_cnt; i++)
		names->is_late[window->named[i]] = true;
	if (!err)
		names->late_cnt = window->named_cnt;
	return err;
}

static const char *build_id_of(const struct profile *dict, uint32_t location)
{
	const uint32_t mapping = dict->locations[location].mapping;

	return mapping == PROFILE_NONE ? "" : profile_str(dict, dict->mappings[mapping].build_id);
}

bool fleet_has_address(const struct profile *dict, uint32_t location)
{
	return *build_id_of(dict, location);
}

const char *fleet_path(const struct profile *dict, uint32_t location)
{
	const uint32_t mapping = dict->locations[location].mapping;
	const char *path =
		mapping == PROFILE_NONE ? "" : profile_str(dict, dict->mappings[mapping].path);

	return profile_path_is_anon(path) ? "//anon" : path;
}

static void add_str(struct buf *out, const char *str)
{
	buf_add(out, str, strlen(str) + 1);
}

static void add_number(struct buf *out, uint64_t number)
{
	buf_add(out, &number, sizeof(number));
}

static uint64_t hash_of(const struct buf *buf)
{
	return buf->err ? 0 : hash_bytes(buf->data, buf->len);
}

static void add_lines(const struct profile *dict, const struct profile_location *loc,
		      struct buf *out)
{
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &dict->lines[loc->first_line + i];
		const struct profile_function *func = &dict->functions[line->function];

		add_str(out, profile_str(dict, func->name));
		add_str(out, profile_str(dict, func->system_name));
		add_str(out, profile_str(dict, func->file));
		add_number(out, (uint64_t)func->start_line << 32 | line->line);
	}
}

uint64_t fleet_frame(struct fleet_names *names, uint32_t location)
{
	const struct profile_location *loc = &names->dict->locations[location];
	const char *build_id = build_id_of(names->dict, location);
	struct buf *out = &names->scratch;

	if (names->frames[location])
		return names->frames[location];
	buf_reset(out);
	add_number(out, loc->flags);
	add_str(out, build_id);
	if (*build_id) {
		add_number(out, loc->address);
	} else if (loc->line_cnt && !names->is_late[location]) {
		add_str(out, fleet_path(names->dict, location));
		add_lines(names->dict, loc, out);
	} else {
		add_number(out, names->host);
		add_number(out, names->generation);
		add_number(out, location);
	}
	names->frames[location] = hash_of(out);
	return names->frames[location];
}

uint64_t fleet_stack(struct fleet_names *names, uint32_t service, uint32_t stack)
{
	const struct profile_stack *frames = &names->dict->stacks[stack];
	struct fleet_stack *known = &names->stacks[stack];
	_cleanup_(buf_deinit) struct buf out = {0};

	buf_init(&out, BUF_NO_MAX);
	if (known->service == service)
		return known->hash;
	add_str(&out, profile_str(names->dict, service));
	for (uint32_t i = frames->cnt; i; i--)
		add_number(&out,
			   fleet_frame(names, names->dict->stack_locations[frames->first + i - 1]));
	known->hash = hash_of(&out);
	known->service = known->hash ? service : STRTAB_NONE;
	return known->hash;
}

const struct fleet_source *fleet_source(struct fleet_names *names, uint32_t label_set)
{
	const struct profile *dict = names->dict;
	const struct profile_label_set *set = &dict->label_sets[label_set];
	struct fleet_source *source = &names->sources[label_set];

	if (source->is_known)
		return source;
	*source = (struct fleet_source){STRTAB_EMPTY, STRTAB_EMPTY, true};
	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &dict->labels[set->first + i];
		const char *key = profile_str(dict, label->key);

		if (label->str == PROFILE_NONE)
			continue;
		if (!strcmp(key, "service"))
			source->service = label->str;
		else if (!strcmp(key, "version"))
			source->version = label->str;
	}
	return source;
}

uint64_t fleet_host(const char *host_id)
{
	return hash_bytes(host_id, strlen(host_id));
}

uint64_t fleet_kind(const struct sink_batch *batch)
{
	const struct profile *types = batch->types;
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	add_str(&out, batch->kind);
	add_str(&out, batch->event);
	for (uint32_t i = 0; i < types->value_type_cnt; i++) {
		add_str(&out, profile_str(types, types->value_types[i].type));
		add_str(&out, profile_str(types, types->value_types[i].unit));
	}
	add_number(&out, types->default_value);
	add_str(&out, profile_str(types, types->period_type.type));
	add_str(&out, profile_str(types, types->period_type.unit));
	add_number(&out, (uint64_t)types->period);
	return hash_of(&out);
}
