/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of the kernel can be probed. */
#include "event/kernel_functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/nearest.h"
#include "base/reader.h"
#include "event/event_parse.h"
#include "event/kernel_fs.h"
#include "event/pmu.h"
#include "event/tracepoint.h"
#include "proc/kallsyms.h"

enum { SYMBOLS_MAX_BYTES = 256 << 20 };

/* Names that compilers make for parts of functions and for what stands before them. */
static bool is_made_up(const char *name)
{
	return strstr(name, ".cold") || !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6);
}

/* "ffffffff81000000 T name\t[module]": the name is ended in place. NULL: no function. */
static char *parse_symbol(char *line, size_t len, uint64_t *ip)
{
	struct reader rd;
	const char *type;
	char *name;

	reader_init(&rd, line, len);
	*ip = reader_number(&rd, 16);
	reader_accept(&rd, ' ');
	type = reader_bytes(&rd, 2);
	if (!type || type[1] != ' ' || !strchr("TtWw", *type) || !*type || !reader_left(&rd))
		return NULL;
	name = line + reader_offset(&rd);
	line[len] = '\0';
	if (strstr(name, "\t[bpf]") || strstr(name, "\t[__builtin"))
		return NULL;
	name[strcspn(name, "\t")] = '\0';
	return *name && !is_made_up(name) ? name : NULL;
}

static int parse_symbols(struct kernel_functions *functions)
{
	char *text = functions->symbols.data;
	struct reader rd;
	const char *line;
	size_t len;

	reader_init(&rd, text, functions->symbols.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		uint64_t ip;
		/* What follows a line is its newline, or the buffer's NUL. */
		char *name = parse_symbol(text + (line - text), len, &ip);

		if (!name)
			continue;
		if (array_reserve(&functions->items, &functions->cap, functions->cnt + 1,
				  sizeof(*functions->items)))
			return -ENOMEM;
		functions->items[functions->cnt++] =
			(struct kernel_function){.name = name, .ip = ip, .same_cnt = 1};
	}
	return 0;
}

static int compare(const void *one, const void *two)
{
	return strcmp(((const struct kernel_function *)one)->name,
		      ((const struct kernel_function *)two)->name);
}

/* Functions of one name become one row. */
static void merge_same(struct kernel_functions *functions)
{
	struct kernel_function *items = functions->items;
	size_t kept = 0;

	if (functions->cnt)
		qsort(items, functions->cnt, sizeof(*items), compare);
	for (size_t i = 0; i < functions->cnt; i++) {
		if (kept && !strcmp(items[kept - 1].name, items[i].name))
			items[kept - 1].same_cnt++;
		else
			items[kept++] = items[i];
	}
	functions->cnt = kept;
}

const struct kernel_function *kernel_functions_find(const struct kernel_functions *functions,
						    const char *name)
{
	struct kernel_function key = {.name = name};

	return functions->cnt ? bsearch(&key, functions->items, functions->cnt,
					sizeof(*functions->items), compare)
			      : NULL;
}

/* The row of the name that is @len bytes at @text; NULL: none. */
static struct kernel_function *row_of(struct kernel_functions *functions, const char *text,
				      size_t len)
{
	char name[512];

	if (len >= sizeof(name))
		return NULL;
	memcpy(name, text, len);
	name[len] = '\0';
	return (struct kernel_function *)kernel_functions_find(functions, name);
}

/* "name" or "name [module]" a line. */
static void mark_traceable(struct kernel_functions *functions, const struct buf *text)
{
	struct reader rd;
	const char *line;
	size_t len;

	if (!text->len)
		return;
	for (size_t i = 0; i < functions->cnt; i++)
		functions->items[i].is_untraceable = true;
	reader_init(&rd, text->data, text->len);
	while ((line = reader_until(&rd, '\n', &len))) {
		const char *space = memchr(line, ' ', len);
		struct kernel_function *row =
			row_of(functions, line, space ? (size_t)(space - line) : len);

		if (row)
			row->is_untraceable = false;
	}
}

/* "0xBEGIN-0xEND\tname" a line. */
static void mark_blacklisted(struct kernel_functions *functions, const struct buf *text)
{
	struct reader rd;
	const char *line;
	size_t len;

	reader_init(&rd, text->data, text->len);
	while ((line = reader_until(&rd, '\n', &len))) {
		const char *tab = memchr(line, '\t', len);
		struct kernel_function *row =
			tab ? row_of(functions, tab + 1, (size_t)(line + len - tab - 1)) : NULL;

		if (row)
			row->is_blacklisted = true;
	}
}

int kernel_functions_parse(struct buf *symbols, const struct buf *traceable,
			   const struct buf *blacklist, struct kernel_functions *out)
{
	struct kernel_functions functions = {.symbols = *symbols};
	int err;

	buf_init(symbols, BUF_NO_MAX);
	err = parse_symbols(&functions);
	if (err) {
		kernel_functions_deinit(&functions);
		return err;
	}
	merge_same(&functions);
	mark_traceable(&functions, traceable);
	mark_blacklisted(&functions, blacklist);
	*out = functions;
	return 0;
}

int kernel_functions_load(struct kernel_functions *out)
{
	_cleanup_(buf_deinit) struct buf symbols, traceable, blacklist, unused;
	_cleanup_close_ int tracefs = -1, debugfs = -1;
	int err;

	buf_init(&symbols, SYMBOLS_MAX_BYTES);
	buf_init(&traceable, SYMBOLS_MAX_BYTES);
	buf_init(&blacklist, SYMBOLS_MAX_BYTES);
	buf_init(&unused, BUF_NO_MAX);
	err = fs_read_file(KALLSYMS_PATH, &symbols);
	if (err)
		return err;
	tracefs = kernel_fs_tracefs(&unused);
	if (tracefs >= 0 && kernel_fs_read(tracefs, "available_filter_functions", &traceable))
		buf_reset(&traceable);
	debugfs = kernel_fs_debugfs();
	if (debugfs >= 0 && kernel_fs_read(debugfs, "kprobes/blacklist", &blacklist))
		buf_reset(&blacklist);
	return kernel_functions_parse(&symbols, &traceable, &blacklist, out);
}

void kernel_functions_deinit(struct kernel_functions *functions)
{
	free(functions->items);
	buf_deinit(&functions->symbols);
	*functions = (struct kernel_functions){0};
}

const char *kernel_functions_nearest(const struct kernel_functions *functions, const char *typed)
{
	struct nearest nearest;

	nearest_init(&nearest, typed);
	for (size_t i = 0; i < functions->cnt; i++)
		if (!functions->items[i].is_untraceable)
			nearest_offer(&nearest, functions->items[i].name);
	return nearest.best;
}

bool kernel_function_matches(const struct kernel_function *function, const char *glob)
{
	return !function->is_untraceable && !function->is_blacklisted && function->same_cnt == 1 &&
	       !fnmatch(glob, function->name, 0);
}

/* --- Resolving --- */

static int add_site(struct event *event, const char *symbol, uint64_t kernel_ip)
{
	struct event_site site = {
		.symbol_off = event->spec.off,
		.kernel_ip = kernel_ip,
		.is_entry = !event->spec.off && !kernel_ip,
	};
	int err = array_reserve(&event->sites, &event->site_cap, event->site_cnt + 1,
				sizeof(*event->sites));

	if (err)
		return err;
	if (symbol) {
		site.symbol = strdup(symbol);
		if (!site.symbol)
			return -ENOMEM;
	}
	event->sites[event->site_cnt++] = site;
	return 0;
}

static int resolve_name(const struct kernel_functions *functions, struct event *event,
			struct buf *why)
{
	const struct event_spec *spec = &event->spec;
	const struct kernel_function *found = kernel_functions_find(functions, spec->name);
	const char *near;

	if (found && found->is_blacklisted) {
		event_bad(spec, why,
			  "the kernel does not let '%s' be probed (its blacklist): "
			  "probe a function that calls it",
			  spec->name);
		return -EOPNOTSUPP;
	}
	if (found && found->same_cnt > 1) {
		event_bad(spec, why,
			  "'%s' is the name of %u functions: give the address, as %s:"
			  "0x%llx (see /proc/kallsyms)",
			  spec->name, found->same_cnt, event_kind_name(spec->kind),
			  (unsigned long long)found->ip);
		return -EINVAL;
	}
	if (found && found->is_untraceable && !spec->off) {
		event_bad(spec, why,
			  "'%s' cannot be traced (notrace): probe a function that calls "
			  "it",
			  spec->name);
		return -EOPNOTSUPP;
	}
	if (found)
		return add_site(event, spec->name, 0);
	near = kernel_functions_nearest(functions, spec->name);
	event_bad(spec, why,
		  near ? "the kernel has no function '%s' (did you mean '%s'?)"
		       : "the kernel has no function '%s', or it was inlined",
		  spec->name, near);
	return -ENOENT;
}

static int resolve_glob(const struct kernel_functions *functions, struct event *event,
			struct buf *why)
{
	const struct event_spec *spec = &event->spec;
	size_t cnt = 0;
	int err = 0;

	for (size_t i = 0; i < functions->cnt; i++)
		cnt += kernel_function_matches(&functions->items[i], spec->name);
	if (!cnt) {
		event_bad(spec, why, "no function of the kernel matches");
		return -ENOENT;
	}
	if (cnt > KERNEL_PROBES_MAX) {
		event_bad(spec, why,
			  "%zu functions match, %d are the most for one event: narrow "
			  "the glob",
			  cnt, KERNEL_PROBES_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < functions->cnt && !err; i++)
		if (kernel_function_matches(&functions->items[i], spec->name))
			err = add_site(event, functions->items[i].name, 0);
	return err;
}

int kernel_functions_resolve(const struct kernel_functions *functions, struct event *event,
			     struct buf *why)
{
	if (event->spec.has_addr)
		return add_site(event, NULL, event->spec.addr);
	if (event_is_glob(event->spec.name))
		return resolve_glob(functions, event, why);
	return resolve_name(functions, event, why);
}

int kernel_probes_check(const struct event_spec *spec, struct buf *why)
{
	uint32_t type;

	if (!pmu_type(PMU_ROOT, "kprobe", &type))
		return 0;
	event_bad(spec, why,
		  "this kernel has no kprobes (CONFIG_KPROBE_EVENTS is not set): take a "
		  "tracepoint (see bpfprof list '*:*') or a program's function "
		  "(uprobe:PATH:FUNCTION)");
	return -EOPNOTSUPP;
}
