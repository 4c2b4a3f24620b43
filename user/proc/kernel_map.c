/* SPDX-License-Identifier: Apache-2.0 */
/* Readings in order of time; announced stretches in order of arrival, searched one by one: they are
 * few, and asked for code outside of the core alone. */
#include "proc/kernel_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct reading {
	uint64_t from_ns;
	struct kallsyms *modules; /* owned: all but the core */
};

/* One function's code. */
struct stretch {
	uint64_t start, end;
	uint64_t from_ns, to_ns; /* UINT64_MAX: it is there */
	char *name; /* owned */
};

struct kernel_map {
	struct kallsyms *core; /* owned; NULL: no reading yet */
	struct reading readings[KERNEL_MAP_READINGS]; /* ascending; the first is the base */
	size_t reading_cnt;
	struct stretch *stretches; /* owned */
	size_t cnt, cap;
	uint64_t dropped;
	bool is_said;
};

struct kernel_map *kernel_map_new(void)
{
	return calloc(1, sizeof(struct kernel_map));
}

void kernel_map_free(struct kernel_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->reading_cnt; i++)
		kallsyms_free(map->readings[i].modules);
	for (size_t i = 0; i < map->cnt; i++)
		free(map->stretches[i].name);
	kallsyms_free(map->core);
	free(map->stretches);
	free(map);
}

bool kernel_map_is_read(const struct kernel_map *map)
{
	return map->core;
}

static void remove_reading(struct kernel_map *map, size_t at)
{
	kallsyms_free(map->readings[at].modules);
	map->reading_cnt--;
	memmove(&map->readings[at], &map->readings[at + 1],
		(map->reading_cnt - at) * sizeof(*map->readings));
}

int kernel_map_add(struct kernel_map *map, struct kallsyms *syms, uint64_t from_ns)
{
	struct kallsyms *modules = kallsyms_split(syms);

	if (!modules) {
		kallsyms_free(syms);
		return -ENOMEM;
	}
	if (map->core)
		kallsyms_free(syms);
	else
		map->core = syms;
	/* The base answers for most frames: of the others the oldest goes. */
	if (map->reading_cnt == KERNEL_MAP_READINGS) {
		remove_reading(map, 1);
		map->dropped++;
	}
	map->readings[map->reading_cnt++] = (struct reading){from_ns, modules};
	return 0;
}

static void remove_stretch(struct kernel_map *map, size_t at)
{
	free(map->stretches[at].name);
	map->cnt--;
	memmove(&map->stretches[at], &map->stretches[at + 1],
		(map->cnt - at) * sizeof(*map->stretches));
}

/* The one that is gone longest, or the oldest. */
static size_t least_wanted(const struct kernel_map *map)
{
	size_t least = 0;

	for (size_t i = 1; i < map->cnt; i++)
		if (map->stretches[i].to_ns < map->stretches[least].to_ns)
			least = i;
	return least;
}

static uint64_t end_of(const struct ksym_record *record)
{
	uint64_t end;

	return __builtin_add_overflow(record->ip, record->code_bytes, &end) ? UINT64_MAX : end;
}

static void add_stretch(struct kernel_map *map, const struct ksym_record *record, uint64_t from_ns,
			uint64_t to_ns)
{
	struct stretch stretch = {
		.start = record->ip,
		.end = end_of(record),
		.from_ns = from_ns,
		.to_ns = to_ns,
	};

	if (!*record->name)
		return;
	if (map->cnt == KERNEL_MAP_STRETCHES) {
		remove_stretch(map, least_wanted(map));
		map->dropped++;
	}
	stretch.name = strdup(record->name);
	if (!stretch.name ||
	    array_reserve(&map->stretches, &map->cap, map->cnt + 1, sizeof(*map->stretches))) {
		free(stretch.name);
		map->dropped++;
		return;
	}
	map->stretches[map->cnt++] = stretch;
}

/* Announced again by their owner's own records: what a reading says of them is not needed, and its
 * symbols without a size reach over what came behind them later. */
static bool is_announced(const char *module)
{
	static const char builtin[] = "__builtin__";

	return !strcmp(module, "bpf") || !strncmp(module, builtin, strlen(builtin));
}

/* Does @modules have a module's function at @ip? */
static bool has_module(const struct kallsyms *modules, uint64_t ip)
{
	const char *module = kallsyms_module(modules, ip);

	return *module && !is_announced(module);
}

/* The number of the reading that held longest in the epoch. */
static size_t reading_of(const struct kernel_map *map, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t longest_ns = 0;
	size_t found = 0;

	for (size_t i = 0; i < map->reading_cnt; i++) {
		uint64_t start_ns = i ? map->readings[i].from_ns : 0;
		uint64_t end_ns =
			i + 1 < map->reading_cnt ? map->readings[i + 1].from_ns : UINT64_MAX;

		start_ns = start_ns > from_ns ? start_ns : from_ns;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		if (end_ns > start_ns && end_ns - start_ns > longest_ns) {
			longest_ns = end_ns - start_ns;
			found = i;
		}
	}
	return found;
}

static const struct kallsyms *latest(const struct kernel_map *map)
{
	return map->reading_cnt ? map->readings[map->reading_cnt - 1].modules : NULL;
}

bool kernel_map_came(struct kernel_map *map, const struct ksym_record *record, uint64_t epoch_ns)
{
	const struct kallsyms *modules = latest(map);
	uint64_t end = end_of(record);
	bool is_second = modules && has_module(modules, record->ip);

	for (size_t i = 0; i < map->cnt; i++) {
		struct stretch *known = &map->stretches[i];

		if (known->start >= end || known->end <= record->ip)
			continue;
		/* Its end has been missed. */
		if (known->to_ns == UINT64_MAX)
			known->to_ns = record->time_ns;
		is_second |= known->to_ns > epoch_ns;
	}
	add_stretch(map, record, record->time_ns, UINT64_MAX);
	return is_second;
}

void kernel_map_went(struct kernel_map *map, const struct ksym_record *record)
{
	for (size_t i = map->cnt; i > 0; i--) {
		struct stretch *known = &map->stretches[i - 1];

		if (known->start == record->ip && known->from_ns <= record->time_ns &&
		    known->to_ns >= record->time_ns) {
			known->to_ns = record->time_ns;
			return;
		}
	}
	add_stretch(map, record, 0, record->time_ns);
}

void kernel_map_forget(struct kernel_map *map, uint64_t ns)
{
	size_t kept = 0;

	while (map->reading_cnt > 1 && map->readings[1].from_ns <= ns)
		remove_reading(map, 0);
	for (size_t i = 0; i < map->cnt; i++) {
		if (map->stretches[i].to_ns <= ns)
			free(map->stretches[i].name);
		else
			map->stretches[kept++] = map->stretches[i];
	}
	map->cnt = kept;
}

uint64_t kernel_map_dropped(const struct kernel_map *map)
{
	return map->dropped;
}

static bool is_restricted(const struct kernel_map *map)
{
	return map->core && kallsyms_is_restricted(map->core);
}

/* How much of the epoch was it there? */
static uint64_t overlap_ns(const struct stretch *stretch, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start_ns = stretch->from_ns > from_ns ? stretch->from_ns : from_ns;
	uint64_t end_ns = stretch->to_ns < to_ns ? stretch->to_ns : to_ns;

	return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* The name of what was announced at @ip, and was there longest; NULL when that is the base's
 * module, or there is none. */
static const char *announced(const struct kernel_map *map, uint64_t ip, uint64_t from_ns,
			     uint64_t to_ns, bool is_module)
{
	uint64_t longest_ns = 0, all_ns = 0;
	const char *name = NULL;

	for (size_t i = 0; i < map->cnt; i++) {
		const struct stretch *stretch = &map->stretches[i];
		uint64_t ns;

		if (ip < stretch->start || ip >= stretch->end)
			continue;
		ns = overlap_ns(stretch, from_ns, to_ns);
		all_ns += ns;
		if (ns && ns >= longest_ns) {
			longest_ns = ns;
			name = stretch->name;
		}
	}
	if (is_module && to_ns - from_ns > all_ns && to_ns - from_ns - all_ns > longest_ns)
		return NULL;
	return name;
}

/* Who has @ip in a reading; "" for nobody. */
static const char *owner_in(const struct kallsyms *modules, uint64_t ip)
{
	const char *module = kallsyms_module(modules, ip);

	return is_announced(module) ? kallsyms_find(modules, ip) : module;
}

static bool is_same(const struct kallsyms *one, const struct kallsyms *two, uint64_t ip)
{
	const char *left = kallsyms_find(one, ip), *right = kallsyms_find(two, ip);

	return left && right && !strcmp(left, right) &&
	       !strcmp(kallsyms_module(one, ip), kallsyms_module(two, ip));
}

const char *kernel_map_owner(const struct kernel_map *map, uint64_t ip, uint64_t from_ns,
			     uint64_t to_ns)
{
	const struct kallsyms *base, *now;
	const char *owner;
	bool is_module;
	size_t reading;

	if ((!map->cnt && map->reading_cnt < 2) || is_restricted(map))
		return NULL;
	if (map->core && kallsyms_find(map->core, ip))
		return NULL;
	base = map->reading_cnt ? map->readings[0].modules : NULL;
	reading = reading_of(map, from_ns, to_ns);
	now = map->reading_cnt ? map->readings[reading].modules : NULL;
	is_module = now && has_module(now, ip);
	owner = announced(map, ip, from_ns, to_ns, is_module);
	if (owner || !reading || is_same(base, now, ip))
		return owner;
	owner = owner_in(now, ip);
	return *owner ? owner : NULL;
}

/* Only functions of modules with @is_module. */
static bool find_in(const struct kernel_map *map, uint64_t ip, const char *owner, bool is_module,
		    struct kernel_name *out)
{
	for (size_t i = 0; i < map->reading_cnt; i++) {
		const struct kallsyms *modules = map->readings[i].modules;
		const char *name = kallsyms_find(modules, ip);
		const char *found = name ? owner_in(modules, ip) : "";

		if (!*found || (owner && strcmp(owner, found)) ||
		    (is_module && !has_module(modules, ip)))
			continue;
		*out = (struct kernel_name){name, found};
		return true;
	}
	return false;
}

/* The last of them. */
static bool find_announced(const struct kernel_map *map, uint64_t ip, const char *owner,
			   struct kernel_name *out)
{
	for (size_t i = map->cnt; i > 0; i--) {
		const struct stretch *known = &map->stretches[i - 1];

		if (ip < known->start || ip >= known->end || (owner && strcmp(owner, known->name)))
			continue;
		*out = (struct kernel_name){known->name, known->name};
		return true;
	}
	return false;
}

int kernel_map_find(const struct kernel_map *map, uint64_t ip, const char *owner,
		    struct kernel_name *out)
{
	const char *name = map->core && !owner ? kallsyms_find(map->core, ip) : NULL;

	if (is_restricted(map))
		return -EPERM;
	if (name) {
		*out = (struct kernel_name){name, NULL};
		return 0;
	}
	/* What a reading has of a program may reach too far: whoever is known better comes first.
	 */
	if ((!owner && find_in(map, ip, NULL, true, out)) || find_announced(map, ip, owner, out) ||
	    find_in(map, ip, owner, false, out))
		return 0;
	return -ENOENT;
}

bool kernel_map_say_once(struct kernel_map *map)
{
	bool is_first = !map->is_said;

	map->is_said = true;
	return is_first;
}
