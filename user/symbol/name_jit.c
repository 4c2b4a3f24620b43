/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code, from the list that its runtime writes. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "symbol/jit_advice.h"
#include "symbol/naming.h"
#include "symbol/perf_map.h"

/* For one list of names. A million lines take a tenth of it. */
#define PERF_MAP_BUDGET_NS (1 * NSEC_PER_SEC)

/* The names of @items, all in @module's JIT code, into @names: ids of @strings. */
static int read_perf_map(struct symbolizer *sym, const struct module *module,
			 const struct pending *items, size_t cnt, struct strtab *strings,
			 uint32_t *names)
{
	_cleanup_free_ uint64_t *addresses = malloc(cnt * sizeof(*addresses));
	struct perf_map_stats stats;
	int err;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		addresses[i] = items[i].address;
	err = perf_map_read(module->fd, addresses, cnt, clock_monotonic_ns() + PERF_MAP_BUDGET_NS,
			    strings, names, &stats);
	if (!err && stats.is_cut)
		log_warn("names of JIT code: '/tmp/perf-%d.map' is too long: not read beyond line "
			 "%llu",
			 (int)module->tgid, (unsigned long long)stats.lines);
	return err == -ENOMEM ? err : 0;
}

int name_jit(struct symbolizer *sym, const struct module *module, const struct pending *items,
	     size_t cnt)
{
	_cleanup_free_ uint32_t *names = malloc(cnt * sizeof(*names));
	struct strtab strings;
	size_t unnamed_cnt = 0;
	int err = names ? strtab_init(&strings) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++)
		names[i] = STRTAB_NONE;
	if (module->fd >= 0)
		err = read_perf_map(sym, module, items, cnt, &strings, names);
	for (size_t i = 0; i < cnt && !err; i++) {
		const char *name = names[i] == STRTAB_NONE ? NULL : strtab_get(&strings, names[i]);

		if (name)
			naming_set_named(sym, &items[i],
					 profile_function(sym->prof, name, name, "", 0));
		else
			naming_set_unnamed(sym, &items[i], "jit");
		unnamed_cnt += !name;
	}
	strtab_deinit(&strings);
	if (unnamed_cnt)
		jit_advise(module, unnamed_cnt);
	return err ? err : sym->prof->err;
}
