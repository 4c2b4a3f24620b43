/* SPDX-License-Identifier: Apache-2.0 */
/* The profile model: strings, value types, mappings, functions and locations. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile_priv.h"

int profile_init(struct profile *prof)
{
	*prof = (struct profile){.default_value = 0};
	hmap_init(&prof->mapping_index);
	hmap_init(&prof->function_index);
	hmap_init(&prof->location_index);
	hmap_init(&prof->stack_index);
	hmap_init(&prof->label_set_index);
	hmap_init(&prof->sample_index);
	return strtab_init(&prof->strings);
}

void profile_deinit(struct profile *prof)
{
	strtab_deinit(&prof->strings);
	free(prof->mappings);
	free(prof->functions);
	free(prof->locations);
	free(prof->lines);
	free(prof->stacks);
	free(prof->stack_locations);
	free(prof->labels);
	free(prof->label_sets);
	free(prof->samples);
	free(prof->values);
	free(prof->comments);
	hmap_deinit(&prof->mapping_index);
	hmap_deinit(&prof->function_index);
	hmap_deinit(&prof->location_index);
	hmap_deinit(&prof->stack_index);
	hmap_deinit(&prof->label_set_index);
	hmap_deinit(&prof->sample_index);
	*prof = (struct profile){.default_value = 0};
}

bool profile_reserve(struct profile *prof, void *items, size_t *cap, size_t cnt, size_t more,
		     size_t elem_bytes)
{
	if (prof->err)
		return false;
	if (more >= PROFILE_NONE - cnt)
		prof->err = -ENOMEM;
	else
		prof->err = array_reserve(items, cap, cnt + more, elem_bytes);
	return !prof->err;
}

bool profile_note(struct profile *prof, struct hmap *map, uint64_t hash, size_t index)
{
	if (!prof->err)
		prof->err = hmap_insert(map, hash, (uint32_t)index);
	return !prof->err;
}

uint32_t profile_string(struct profile *prof, const char *str)
{
	return profile_stringn(prof, str, str ? strlen(str) : 0);
}

uint32_t profile_stringn(struct profile *prof, const char *str, size_t len)
{
	uint32_t id;

	if (prof->err)
		return PROFILE_NONE;
	id = strtab_add(&prof->strings, str, len);
	if (id == STRTAB_NONE)
		prof->err = -ENOMEM;
	return id;
}

const char *profile_str(const struct profile *prof, uint32_t id)
{
	return id == PROFILE_NONE ? "" : strtab_get(&prof->strings, id);
}

uint32_t profile_add_value_type(struct profile *prof, const char *type, const char *unit)
{
	struct profile_value_type value_type = {
		.type = profile_string(prof, type),
		.unit = profile_string(prof, unit),
	};

	if (prof->err)
		return PROFILE_NONE;
	if (prof->sample_cnt || prof->value_type_cnt == PROFILE_VALUES_MAX) {
		prof->err = -EINVAL;
		return PROFILE_NONE;
	}
	prof->value_types[prof->value_type_cnt] = value_type;
	return prof->value_type_cnt++;
}

uint32_t profile_find_value(const struct profile *prof, const char *type)
{
	for (uint32_t i = 0; i < prof->value_type_cnt; i++) {
		if (!strcmp(profile_str(prof, prof->value_types[i].type), type))
			return i;
	}
	return PROFILE_NONE;
}

static bool mapping_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_mapping *known = &prof->mappings[index], *wanted = key;

	return known->path == wanted->path && known->build_id == wanted->build_id;
}

/* The image under its identity; @wanted's other fields are taken only when it is new. */
static uint32_t intern_mapping(struct profile *prof, const struct profile_mapping *wanted,
			       bool *is_new_out)
{
	uint64_t hash = hash_mix(hash_mix(0, wanted->path), wanted->build_id);
	uint32_t found;

	if (prof->err || wanted->path == PROFILE_NONE || wanted->build_id == PROFILE_NONE)
		return PROFILE_NONE;
	found = hmap_find(&prof->mapping_index, hash, mapping_equal, prof, wanted);
	*is_new_out = found == HMAP_NONE;
	if (found != HMAP_NONE)
		return found;
	if (!profile_reserve(prof, &prof->mappings, &prof->mapping_cap, prof->mapping_cnt, 1,
			     sizeof(*prof->mappings)) ||
	    !profile_note(prof, &prof->mapping_index, hash, prof->mapping_cnt))
		return PROFILE_NONE;
	prof->mappings[prof->mapping_cnt] = *wanted;
	return (uint32_t)prof->mapping_cnt++;
}

uint32_t profile_mapping(struct profile *prof, const char *path, const char *build_id_hex)
{
	struct profile_mapping mapping = {
		.path = profile_string(prof, path),
		.build_id = profile_string(prof, build_id_hex),
	};
	bool is_new;

	return intern_mapping(prof, &mapping, &is_new);
}

static bool has_file(const struct profile *prof, const struct profile_mapping *mapping)
{
	const char *path = profile_str(prof, mapping->path);

	return path[0] && path[0] != '[' && strncmp(path, "//", 2) != 0;
}

bool profile_path_is_anon(const char *path)
{
	const char anon[] = "//anon";
	size_t len = sizeof(anon) - 1;

	return !strncmp(path, anon, len) && (!path[len] || path[len] == ':');
}

/*
 * Widen @known so that it also covers @other, the same image. Both ranges say where file offset 0
 * would lie (start - file_off, the load bias); moving @other by the difference of the two makes its
 * addresses name the same bytes. Unsigned arithmetic wraps as the loader's does.
 */
static uint64_t widen_mapping(struct profile_mapping *known, const struct profile_mapping *other,
			      bool is_file)
{
	uint64_t shift = 0;

	known->flags &= other->flags;
	if (!other->limit)
		return 0;
	if (!known->limit) {
		known->start = other->start;
		known->limit = other->limit;
		known->file_off = other->file_off;
		return 0;
	}
	if (is_file)
		shift = known->start - known->file_off - (other->start - other->file_off);
	if (other->start + shift < known->start) {
		known->start = other->start + shift;
		known->file_off = other->file_off;
	}
	if (other->limit + shift > known->limit)
		known->limit = other->limit + shift;
	return shift;
}

uint32_t profile_mapping_add(struct profile *prof, const struct profile_mapping *mapping,
			     uint64_t *shift_out)
{
	bool is_new;
	uint32_t index = intern_mapping(prof, mapping, &is_new);

	if (index == PROFILE_NONE)
		return PROFILE_NONE;
	*shift_out = 0;
	if (!is_new)
		*shift_out =
			widen_mapping(&prof->mappings[index], mapping, has_file(prof, mapping));
	return index;
}

static bool function_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_function *known = &prof->functions[index], *wanted = key;

	return known->name == wanted->name && known->system_name == wanted->system_name &&
	       known->file == wanted->file && known->start_line == wanted->start_line;
}

uint32_t profile_function_add(struct profile *prof, const struct profile_function *function)
{
	uint64_t hash = hash_bytes(function, sizeof(*function));
	uint32_t found;

	if (prof->err || function->name == PROFILE_NONE || function->system_name == PROFILE_NONE ||
	    function->file == PROFILE_NONE)
		return PROFILE_NONE;
	found = hmap_find(&prof->function_index, hash, function_equal, prof, function);
	if (found != HMAP_NONE)
		return found;
	if (!profile_reserve(prof, &prof->functions, &prof->function_cap, prof->function_cnt, 1,
			     sizeof(*prof->functions)) ||
	    !profile_note(prof, &prof->function_index, hash, prof->function_cnt))
		return PROFILE_NONE;
	prof->functions[prof->function_cnt] = *function;
	return (uint32_t)prof->function_cnt++;
}

uint32_t profile_function(struct profile *prof, const char *name, const char *system_name,
			  const char *file, uint32_t start_line)
{
	struct profile_function function = {
		.name = profile_string(prof, name),
		.system_name = profile_string(prof, system_name),
		.file = profile_string(prof, file),
		.start_line = start_line,
	};

	return profile_function_add(prof, &function);
}
