/* SPDX-License-Identifier: Apache-2.0 */
/* Locations that are met again: see top_names.h. */
#include "cli/top_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "encode/frame_name.h"
#include "profile/off_cpu.h"
#include "profile/profile_import.h"
#include "symbol/demangle.h"
#include "symbol/name_memory.h"

int top_names_init(struct top_names *names)
{
	int err;

	*names = (struct top_names){0};
	hmap_init(&names->index);
	err = strtab_init(&names->mappings);
	names->memory = name_memory_new();
	names->demangler = demangler_new();
	if (err || !names->memory || !names->demangler)
		return -ENOMEM;
	demangler_has_cxx(names->demangler);
	return 0;
}

void top_names_deinit(struct top_names *names)
{
	strtab_deinit(&names->mappings);
	free(names->locations);
	hmap_deinit(&names->index);
	name_memory_free(names->memory);
	demangler_free(names->demangler);
	*names = (struct top_names){0};
}

void top_names_forget(struct top_names *names)
{
	names->cnt = 0;
	hmap_clear(&names->index);
}

/* One window on its way into the table. */
struct adding {
	struct top_names *names;
	struct top_table *table;
	const struct top_window *window;
	uint32_t *mappings; /* owned: by mapping of the profile its string */
	uint32_t *functions; /* owned: by location; TOP_NONE: no function, or not yet known */
	uint32_t *rows; /* owned: by location, of whoever came last */
	uint32_t *known_as; /* owned: by location its entry in names; TOP_NONE: none */
	uint32_t *stack; /* owned: rows */
	size_t stack_cap;
};

static void adding_deinit(struct adding *adding)
{
	free(adding->mappings);
	free(adding->functions);
	free(adding->rows);
	free(adding->known_as);
	free(adding->stack);
}

static int adding_init(struct adding *adding)
{
	const struct profile *prof = adding->window->prof;
	_cleanup_(buf_deinit) struct buf key;

	buf_init(&key, BUF_NO_MAX);
	adding->mappings = profile_new_column(prof->mapping_cnt);
	adding->functions = profile_new_column(prof->location_cnt);
	adding->rows = profile_new_column(prof->location_cnt);
	adding->known_as = profile_new_column(prof->location_cnt);
	if (!adding->mappings || !adding->functions || !adding->rows || !adding->known_as)
		return -ENOMEM;
	for (size_t i = 0; i < prof->mapping_cnt; i++) {
		buf_reset(&key);
		buf_printf(&key, "%s\n%s", profile_str(prof, prof->mappings[i].build_id),
			   profile_str(prof, prof->mappings[i].path));
		adding->mappings[i] = strtab_add(&adding->names->mappings, buf_cstr(&key), key.len);
		if (key.err || adding->mappings[i] == (uint32_t)STRTAB_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* --- Names --- */

static bool location_is(const void *owner, uint32_t index, const void *key)
{
	const struct top_names *names = owner;
	const struct top_location *known = &names->locations[index], *wanted = key;

	return known->address == wanted->address && known->mapping == wanted->mapping &&
	       known->flags == wanted->flags;
}

static uint64_t location_hash(const struct top_location *location)
{
	return hash_mix(hash_mix(location->address, location->mapping), location->flags);
}

static struct top_location key_of(const struct adding *adding, size_t location)
{
	const struct profile_location *loc = &adding->window->prof->locations[location];

	return (struct top_location){
		.address = loc->address,
		.mapping = loc->mapping < adding->window->prof->mapping_cnt
				   ? adding->mappings[loc->mapping]
				   : (uint32_t)TOP_NONE,
		.flags = loc->flags,
	};
}

static bool is_believed(const struct top_names *names, const struct top_location *location)
{
	return !(location->flags & LOCATION_JIT) ||
	       names->window - location->window < TOP_JIT_WINDOWS;
}

/* What is known already gets a line, so that it is not named again. How many are left? */
static size_t take_known(struct adding *adding)
{
	struct top_names *names = adding->names;
	struct profile *prof = adding->window->prof;
	const struct profile_line seen = {.function = profile_function(prof, "", "", "", 0)};
	size_t left = 0;

	for (size_t i = 0; i < prof->location_cnt; i++) {
		const struct top_location key = key_of(adding, i);
		uint32_t known;

		if (prof->locations[i].flags & LOCATION_SYNTHETIC)
			continue;
		known = hmap_find(&names->index, location_hash(&key), location_is, names, &key);
		adding->known_as[i] = known;
		if (known == (uint32_t)HMAP_NONE || !is_believed(names, &names->locations[known])) {
			left++;
			continue;
		}
		adding->functions[i] = names->locations[known].function;
		profile_set_lines(prof, (uint32_t)i, &seen, 1);
	}
	return left;
}

/* The function of the table that @location, which has its name now, is in. */
static uint32_t function_of(struct adding *adding, uint32_t location)
{
	const struct profile *prof = adding->window->prof;
	const struct profile_location *loc = &prof->locations[location];
	const char *path = loc->mapping < prof->mapping_cnt
				   ? profile_str(prof, prof->mappings[loc->mapping].path)
				   : "";
	char module[256];
	size_t len;
	const char *name = frame_module(path, &len);

	snprintf(module, sizeof(module), "%.*s", (int)(len < sizeof(module) ? len : 255), name);
	return top_table_function(adding->table, profile_location_name(prof, location, 0), module,
				  loc->flags & LOCATION_KERNEL);
}

static int remember(struct adding *adding, uint32_t location, struct top_location *key)
{
	struct top_names *names = adding->names;
	uint32_t known = adding->known_as[location];

	key->function = adding->functions[location];
	key->window = names->window;
	if (known != (uint32_t)HMAP_NONE) {
		names->locations[known] = *key;
		return 0;
	}
	if (array_reserve(&names->locations, &names->cap, names->cnt + 1,
			  sizeof(*names->locations)) ||
	    hmap_insert(&names->index, location_hash(key), (uint32_t)names->cnt))
		return -ENOMEM;
	names->locations[names->cnt++] = *key;
	return 0;
}

/* The keys before symbolizing: a module's function moves to another mapping then. */
static int name_new(struct adding *adding)
{
	const struct top_window *window = adding->window;
	struct profile *prof = window->prof;
	_cleanup_free_ struct top_location *keys = calloc(prof->location_cnt + 1, sizeof(*keys));
	struct symbolizer_opts opts = *window->naming;
	struct ledger_frames frames = {0};
	size_t cnt = prof->location_cnt;
	int err;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		keys[i] = key_of(adding, i);
	opts.memory = adding->names->memory;
	opts.no_inline = true;
	err = symbolizer_run(prof, window->modules, window->module_cnt, &opts, &frames);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (adding->functions[i] != (uint32_t)TOP_NONE ||
		    prof->locations[i].flags & LOCATION_SYNTHETIC)
			continue;
		adding->functions[i] = function_of(adding, (uint32_t)i);
		adding->names->named_cnt++;
		err = adding->table->err;
		if (!err)
			err = remember(adding, (uint32_t)i, &keys[i]);
	}
	return err;
}

/* --- Stacks --- */

/* Whose label sets are; TOP_NONE where rows are not told apart by it. */
static uint32_t who_of(struct adding *adding, uint32_t label_set, struct buf *text)
{
	if (!(adding->table->sort & TOP_SORT_WHO))
		return TOP_NONE;
	buf_reset(text);
	label_set = off_cpu_who(adding->window->prof, label_set);
	frame_add_process(adding->window->prof, label_set, adding->window->by, text);
	return top_table_string(adding->table, buf_cstr(text));
}

/* The rows of stack @stack of @who into adding->stack: how many; -ENOMEM. */
static int64_t rows_of(struct adding *adding, uint32_t stack, uint32_t who, uint32_t *waiter)
{
	const struct profile *prof = adding->window->prof;
	const struct profile_stack *from = &prof->stacks[stack];
	bool has_user = false;
	uint32_t cnt = 0;

	*waiter = 0;
	if (array_reserve(&adding->stack, &adding->stack_cap, from->cnt + 1,
			  sizeof(*adding->stack)))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->cnt; i++) {
		uint32_t location = prof->stack_locations[from->first + i];
		uint32_t function = adding->functions[location];

		if (function == (uint32_t)TOP_NONE)
			continue;
		if (!has_user && !(prof->locations[location].flags & LOCATION_KERNEL)) {
			has_user = true;
			*waiter = cnt;
		}
		if (who != (uint32_t)TOP_NONE || adding->rows[location] == (uint32_t)TOP_NONE)
			adding->rows[location] = top_table_row(adding->table, who, function);
		adding->stack[cnt++] = adding->rows[location];
	}
	return adding->table->err ? adding->table->err : (int64_t)cnt;
}

static double value_at(const struct profile *prof, size_t sample, uint32_t value)
{
	return value < prof->value_type_cnt
		       ? (double)prof->values[sample * prof->value_type_cnt + value]
		       : 0;
}

static int add_samples(struct adding *adding)
{
	const struct profile *prof = adding->window->prof;
	const uint32_t cpu = profile_find_value(prof, "cpu");
	const uint32_t blocked = profile_find_value(prof, "blocked");
	const uint32_t runnable = profile_find_value(prof, "runnable");
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_sample *sample = &prof->samples[i];
		const struct top_time time = {
			value_at(prof, i, cpu),
			value_at(prof, i, blocked) + value_at(prof, i, runnable),
		};
		uint32_t waiter, who = who_of(adding, sample->label_set, &text);
		int64_t cnt = rows_of(adding, sample->stack, who, &waiter);

		if (cnt < 0)
			return (int)cnt;
		top_table_add(adding->table, adding->stack, (uint32_t)cnt, waiter, &time);
	}
	return adding->table->err ? adding->table->err : text.err;
}

int top_names_add(struct top_names *names, struct top_table *table, const struct top_window *window)
{
	_cleanup_(adding_deinit) struct adding adding = {
		.names = names,
		.table = table,
		.window = window,
	};
	int err;

	names->window++;
	if (names->cnt > TOP_LOCATIONS_MAX)
		top_names_forget(names);
	err = adding_init(&adding);
	if (!err && take_known(&adding))
		err = name_new(&adding);
	if (!err)
		err = add_samples(&adding);
	return err ? err : window->prof->err;
}
