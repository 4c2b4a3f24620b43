/* SPDX-License-Identifier: Apache-2.0 */
/* Profile types as Pyroscope names them, of kinds and value types. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "web/querier.h"

/* Kinds whose names Grafana knows, with the period's type and unit. */
static const struct {
	const char *kind, *name, *period_type, *period_unit;
} known_kinds[] = {
	{"cpu", "process_cpu", "cpu", "nanoseconds"},
	{"heap", "memory", "space", "bytes"},
};

const char *const querier_type_labels[] = {
	"__name__",
	"__period_type__",
	"__period_unit__",
	"__profile_type__",
	"__type__",
	"__unit__",
	NULL,
};

static void set_part(char out[static QUERIER_PART_BYTES], const char *text)
{
	snprintf(out, QUERIER_PART_BYTES, "%s", text);
	for (; *out; out++)
		if (*out == ':')
			*out = '_';
}

static void set_name(struct querier_type *type)
{
	char *name = type->parts[QUERIER_NAME];

	set_part(name, type->kind);
	for (; *name; name++)
		if (*name == '-')
			*name = '_';
	for (size_t i = 0; i < sizeof(known_kinds) / sizeof(known_kinds[0]); i++) {
		if (strcmp(known_kinds[i].kind, type->kind) != 0)
			continue;
		set_part(type->parts[QUERIER_NAME], known_kinds[i].name);
		set_part(type->parts[QUERIER_PERIOD_TYPE], known_kinds[i].period_type);
		set_part(type->parts[QUERIER_PERIOD_UNIT], known_kinds[i].period_unit);
	}
}

const struct querier_type *querier_type_find(const struct querier_types *types, const char *id)
{
	for (size_t i = 0; i < types->cnt; i++)
		if (!strcmp(types->items[i].id, id))
			return &types->items[i];
	return NULL;
}

static int add_kind(void *arg, const char *name, const struct profile_value_type *value_types,
		    const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		    int64_t total)
{
	struct querier_types *types = arg;
	const uint32_t usual_at = default_type < type_cnt ? default_type : 0;
	const struct profile_value_type *usual = &value_types[usual_at];

	for (uint32_t i = 0; i < type_cnt; i++) {
		struct querier_type type = {.is_default = i == default_type};
		int err;

		snprintf(type.kind, sizeof(type.kind), "%s", name);
		set_part(type.parts[QUERIER_TYPE], profile_str(strings, value_types[i].type));
		set_part(type.parts[QUERIER_UNIT], profile_str(strings, value_types[i].unit));
		set_part(type.parts[QUERIER_PERIOD_TYPE], profile_str(strings, usual->type));
		set_part(type.parts[QUERIER_PERIOD_UNIT], profile_str(strings, usual->unit));
		set_name(&type);
		snprintf(type.id, sizeof(type.id), "%s:%s:%s:%s:%s", type.parts[0], type.parts[1],
			 type.parts[2], type.parts[3], type.parts[4]);
		if (querier_type_find(types, type.id))
			continue;
		err = array_reserve(&types->items, &types->cap, types->cnt + 1,
				    sizeof(*types->items));
		if (err)
			return err;
		types->items[types->cnt++] = type;
	}
	return 0;
}

static int compare_kinds(const void *left, const void *right)
{
	const struct querier_type *one = left, *other = right;
	int order = strcmp(one->kind, other->kind);

	return order ? order : strcmp(one->id, other->id);
}

int querier_types_read(struct store_source *store, uint64_t from_ns, uint64_t to_ns,
		       struct querier_types *types)
{
	int err;

	*types = (struct querier_types){0};
	err = store_source_each_kind(store, from_ns, to_ns, add_kind, types);
	if (types->cnt)
		qsort(types->items, types->cnt, sizeof(*types->items), compare_kinds);
	return err;
}

void querier_types_deinit(struct querier_types *types)
{
	free(types->items);
	*types = (struct querier_types){0};
}

bool querier_type_is_id(const char *text)
{
	int colons = 0;

	for (; *text; text++)
		colons += *text == ':';
	return colons == QUERIER_PART_CNT - 1;
}

uint32_t querier_type_value(const struct querier_type *type, const struct profile *prof)
{
	char part[QUERIER_PART_BYTES];

	for (uint32_t i = 0; i < prof->value_type_cnt; i++) {
		set_part(part, profile_str(prof, prof->value_types[i].type));
		if (strcmp(part, type->parts[QUERIER_TYPE]) != 0)
			continue;
		set_part(part, profile_str(prof, prof->value_types[i].unit));
		if (!strcmp(part, type->parts[QUERIER_UNIT]))
			return i;
	}
	return PROFILE_NONE;
}

const char *querier_type_label(const struct querier_type *type, const char *label)
{
	static const struct {
		const char *label;
		enum querier_part part;
	} parts[] = {
		{"__name__", QUERIER_NAME},
		{"__type__", QUERIER_TYPE},
		{"__unit__", QUERIER_UNIT},
		{"__period_type__", QUERIER_PERIOD_TYPE},
		{"__period_unit__", QUERIER_PERIOD_UNIT},
	};

	if (!strcmp(label, "__profile_type__"))
		return type->id;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(parts[i].label, label))
			return type->parts[parts[i].part];
	return NULL;
}

static const char STORED_SERVICE[] = "service", SHOWN_SERVICE[] = "service_name";

const char *querier_stored_label(const char *label)
{
	return !strcmp(label, SHOWN_SERVICE) ? STORED_SERVICE : label;
}

const char *querier_shown_label(const char *label)
{
	return !strcmp(label, STORED_SERVICE) ? SHOWN_SERVICE : label;
}
