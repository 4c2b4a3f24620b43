/* SPDX-License-Identifier: Apache-2.0 */
/* What frames are called, in every format. */
#include "encode/frame_name.h"

#include <inttypes.h>
#include <string.h>

const char *frame_module(const char *path, size_t *len_out)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(base), tail = strlen(deleted);

	if (len > tail && !strcmp(base + len - tail, deleted))
		len -= tail;
	/* "[vdso]+0x10" would be bracketed twice */
	if (len > 2 && base[0] == '[' && base[len - 1] == ']') {
		base++;
		len -= 2;
	}
	*len_out = len;
	return base;
}

static void add_address(const struct profile *prof, const struct profile_location *loc,
			struct buf *out)
{
	const char *module = "";
	size_t len = 0;

	if (loc->mapping != PROFILE_NONE)
		module = frame_module(profile_str(prof, prof->mappings[loc->mapping].path), &len);
	buf_add_char(out, '[');
	if (len)
		buf_add(out, module, len);
	else
		buf_add_str(out, "unknown");
	buf_printf(out, "+0x%" PRIx64 "]", loc->address);
}

void frame_add_name(const struct profile *prof, uint32_t location, uint32_t line, struct buf *out)
{
	const char *name = profile_location_name(prof, location, line);

	if (*name)
		buf_add_str(out, name);
	else
		add_address(prof, &prof->locations[location], out);
}

static void add_label(const struct profile *prof, const struct profile_label *label,
		      struct buf *out)
{
	if (label->str != PROFILE_NONE)
		buf_add_str(out, profile_str(prof, label->str));
	else
		buf_printf(out, "%" PRId64, label->num);
}

static const struct profile_label *find_label(const struct profile *prof, uint32_t label_set,
					      const char *key, size_t key_len)
{
	const struct profile_label_set *set = &prof->label_sets[label_set];
	uint32_t id = strtab_find(&prof->strings, key, key_len);

	for (uint32_t i = 0; key_len && i < set->cnt && id != STRTAB_NONE; i++)
		if (prof->labels[set->first + i].key == id)
			return &prof->labels[set->first + i];
	return NULL;
}

bool frame_add_process(const struct profile *prof, uint32_t label_set, const char *by,
		       struct buf *out)
{
	size_t begin = out->len;
	bool is_found = false;

	by = by ? by : "comm";
	for (size_t len; *by; by += len + (by[len] == ',')) {
		const struct profile_label *label;

		len = strcspn(by, ",");
		label = find_label(prof, label_set, by, len);
		if (!label)
			continue;
		if (is_found)
			buf_add_char(out, '-');
		add_label(prof, label, out);
		is_found = true;
	}
	if (is_found && out->len == begin)
		buf_add_char(out, '?');
	return is_found;
}
