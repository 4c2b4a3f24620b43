/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations. They are found in two ways: by (mapping, address, flags) while they are added by
 * capture, and by all of their content while they are read from a file, where the lines are there
 * from the start. Both kinds of keys are in the one location_index, told apart by what their hashes
 * start from; a location that gets its lines later is then noted under both.
 */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "profile/profile_priv.h"

enum { HASH_BY_ADDRESS = 1, HASH_BY_LINES = 2 };

struct location_key {
	uint64_t address;
	uint32_t mapping;
	uint16_t flags;
	const struct profile_line *lines;
	size_t line_cnt;
};

static uint64_t location_hash(const struct location_key *key, uint64_t kind)
{
	uint64_t hash = hash_mix(kind, key->address);

	hash = hash_mix(hash, (uint64_t)key->mapping << 16 | key->flags);
	if (kind == HASH_BY_LINES)
		hash = hash_mix(hash, hash_bytes(key->lines, key->line_cnt * sizeof(*key->lines)));
	return hash;
}

static bool equal_by_address(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_location *known = &prof->locations[index];
	const struct location_key *wanted = key;

	return known->address == wanted->address && known->mapping == wanted->mapping &&
	       known->flags == wanted->flags;
}

static bool equal_by_lines(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_location *known = &prof->locations[index];
	const struct location_key *wanted = key;

	return equal_by_address(owner, index, key) && known->line_cnt == wanted->line_cnt &&
	       !memcmp(prof->lines + known->first_line, wanted->lines,
		       wanted->line_cnt * sizeof(*wanted->lines));
}

/* Append @lines to the column of lines; false, and prof->err set, on failure. */
static bool append_lines(struct profile *prof, const struct profile_line *lines, size_t line_cnt)
{
	if (line_cnt > UINT16_MAX)
		prof->err = prof->err ? prof->err : -EINVAL;
	if (!profile_reserve(prof, &prof->lines, &prof->line_cap, prof->line_cnt, line_cnt,
			     sizeof(*prof->lines)))
		return false;
	memcpy(prof->lines + prof->line_cnt, lines, line_cnt * sizeof(*lines));
	prof->line_cnt += line_cnt;
	return true;
}

static uint32_t add_location(struct profile *prof, const struct location_key *key, uint64_t hash)
{
	size_t first_line = prof->line_cnt;

	if (!profile_reserve(prof, &prof->locations, &prof->location_cap, prof->location_cnt, 1,
			     sizeof(*prof->locations)))
		return PROFILE_NONE;
	if (key->line_cnt && !append_lines(prof, key->lines, key->line_cnt))
		return PROFILE_NONE;
	if (!profile_note(prof, &prof->location_index, hash, prof->location_cnt)) {
		prof->line_cnt = first_line;
		return PROFILE_NONE;
	}
	prof->locations[prof->location_cnt] = (struct profile_location){
		.address = key->address,
		.mapping = key->mapping,
		.first_line = (uint32_t)first_line,
		.line_cnt = (uint16_t)key->line_cnt,
		.flags = key->flags,
	};
	return (uint32_t)prof->location_cnt++;
}

uint32_t profile_location(struct profile *prof, uint32_t mapping, uint64_t address, uint16_t flags)
{
	struct location_key key = {.address = address, .mapping = mapping, .flags = flags};
	uint64_t hash = location_hash(&key, HASH_BY_ADDRESS);
	uint32_t found;

	if (prof->err)
		return PROFILE_NONE;
	found = hmap_find(&prof->location_index, hash, equal_by_address, prof, &key);
	return found != HMAP_NONE ? found : add_location(prof, &key, hash);
}

uint32_t profile_location_lines(struct profile *prof, uint32_t mapping, uint64_t address,
				uint16_t flags, const struct profile_line *lines, size_t line_cnt)
{
	struct location_key key = {
		.address = address,
		.mapping = mapping,
		.flags = flags,
		.lines = lines,
		.line_cnt = line_cnt,
	};
	uint64_t hash;
	uint32_t found;

	if (!line_cnt)
		return profile_location(prof, mapping, address, flags);
	if (prof->err)
		return PROFILE_NONE;
	for (size_t i = 0; i < line_cnt; i++) {
		if (lines[i].function == PROFILE_NONE)
			return PROFILE_NONE;
	}
	hash = location_hash(&key, HASH_BY_LINES);
	found = hmap_find(&prof->location_index, hash, equal_by_lines, prof, &key);
	return found != HMAP_NONE ? found : add_location(prof, &key, hash);
}

uint32_t profile_named_location(struct profile *prof, const char *name, uint16_t flags)
{
	struct profile_line line = {.function = profile_function(prof, name, name, "", 0)};

	return profile_location_lines(prof, PROFILE_NONE, 0, flags, &line, 1);
}

void profile_set_lines(struct profile *prof, uint32_t location, const struct profile_line *lines,
		       size_t line_cnt)
{
	struct profile_location *loc;
	struct location_key key;
	size_t first_line = prof->line_cnt;

	if (prof->err || location == PROFILE_NONE || !line_cnt)
		return;
	loc = &prof->locations[location];
	if (loc->line_cnt || !append_lines(prof, lines, line_cnt))
		return;
	key = (struct location_key){
		.address = loc->address,
		.mapping = loc->mapping,
		.flags = loc->flags,
		.lines = lines,
		.line_cnt = line_cnt,
	};
	if (!profile_note(prof, &prof->location_index, location_hash(&key, HASH_BY_LINES),
			  location)) {
		prof->line_cnt = first_line;
		return;
	}
	loc->first_line = (uint32_t)first_line;
	loc->line_cnt = (uint16_t)line_cnt;
}

void profile_set_mapping(struct profile *prof, uint32_t location, uint32_t mapping)
{
	struct profile_location *loc;
	struct location_key key;

	if (prof->err || location == PROFILE_NONE || mapping == PROFILE_NONE)
		return;
	loc = &prof->locations[location];
	key = (struct location_key){
		.address = loc->address,
		.mapping = mapping,
		.flags = loc->flags,
	};
	if (!loc->line_cnt && profile_note(prof, &prof->location_index,
					   location_hash(&key, HASH_BY_ADDRESS), location))
		loc->mapping = mapping;
}

const char *profile_location_name(const struct profile *prof, uint32_t location, uint32_t line)
{
	const struct profile_location *loc = &prof->locations[location];
	uint32_t function;

	if (line >= loc->line_cnt)
		return "";
	function = prof->lines[loc->first_line + line].function;
	return profile_str(prof, prof->functions[function].name);
}

bool profile_location_is_bare(const struct profile *prof, uint32_t location)
{
	const char *name = profile_location_name(prof, location, 0), *plus = strrchr(name, '+');

	if (prof->locations[location].line_cnt != 1)
		return !prof->locations[location].line_cnt;
	return name[0] == '[' && plus && !strncmp(plus, "+0x", 3) &&
	       plus[3 + strspn(plus + 3, "0123456789abcdef")] == ']';
}
