/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering what opens here. */
#include "event/listing.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "event/event_names.h"
#include "event/event_parse.h"
#include "event/kernel_fs.h"
#include "event/kernel_functions.h"
#include "event/perf_open.h"
#include "event/pmu.h"
#include "event/tracepoint.h"
#include "event/user_probe.h"

static const char kind_tracepoint[] = "tracepoint";
static const char kind_pmu[] = "pmu";
static const char kind_pmu_counting[] = "pmu, stat only"; /* it has no interrupt */

int listing_add(struct listing *listing, const char *name, const char *kind)
{
	char *copy;

	if (array_reserve(&listing->items, &listing->cap, listing->cnt + 1,
			  sizeof(*listing->items)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	listing->items[listing->cnt++] = (struct listed_event){copy, kind};
	return 0;
}

void listing_deinit(struct listing *listing)
{
	for (size_t i = 0; i < listing->cnt; i++)
		free(listing->items[i].name);
	free(listing->items);
	*listing = (struct listing){0};
}

/* A kind's word means all of it, and is not looked for in names. */
static bool is_kind(const char *glob)
{
	static const char *const kinds[] = {"hw", "sw", "cache", "pmu", "tracepoint"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(glob, kinds[i]))
			return true;
	return false;
}

static bool is_wanted(const char *glob, const char *name, const char *kind)
{
	if (!glob)
		return true;
	if (is_kind(glob))
		return !strncmp(kind, glob, strlen(glob));
	return event_is_glob(glob) ? !fnmatch(glob, name, 0) : strstr(name, glob) != NULL;
}

/* --- Counters --- */

/* On CPU @cpu for everybody, or, where that is not allowed, for ourselves. */
static bool opens(struct perf_event_attr *attr, int cpu)
{
	int fd = perf_open(attr, -1, cpu, 0);

	if (fd == -EACCES || fd == -EPERM)
		fd = perf_open(attr, 0, -1, 0);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Without privilege a counter may open for what programs do themselves. */
static int add_user_only(struct perf_event_attr *attr, const char *name, const char *kind,
			 struct listing *out)
{
	char user_name[EVENT_NAME_MAX + 2];

	attr->exclude_kernel = attr->exclude_hv = 1;
	if (!opens(attr, 0))
		return 0;
	snprintf(user_name, sizeof(user_name), "%s:u", name);
	return listing_add(out, user_name, kind);
}

static int add_names(const char *glob, struct listing *out)
{
	struct event_name name;
	int err = 0;

	for (size_t i = 0; event_name_at(i, &name) && !err; i++) {
		const char *kind = event_name_class(name.type);
		struct perf_event_attr attr = {.type = name.type, .config = name.config};

		/* Aliases: only where they are asked for by name. */
		if (!is_wanted(glob, name.name, kind) ||
		    (name.is_alias && (!glob || !is_wanted(glob, name.name, ""))))
			continue;
		attr.disabled = 1;
		if (opens(&attr, 0))
			err = listing_add(out, name.name, kind);
		else
			err = add_user_only(&attr, name.name, kind, out);
	}
	return err;
}

struct pmu_walk {
	const char *glob;
	struct listing *out;
};

static int first_cpu(const char *pmu)
{
	_cleanup_free_ char *mask = pmu_cpumask(PMU_ROOT, pmu);
	struct number_set cpus = {0};
	int cpu = 0;

	if (mask && !number_set_parse(&cpus, mask) && cpus.cnt)
		cpu = (int)cpus.items[0];
	number_set_deinit(&cpus);
	return cpu;
}

static int add_pmu_event(const char *pmu, const char *event, void *ctx)
{
	struct pmu_walk *walk = ctx;
	_cleanup_(buf_deinit) struct buf name, why;
	struct perf_event_attr attr = {.disabled = 1};
	struct pmu_config config;
	int cpu;

	buf_init(&name, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	if (!event)
		return 0;
	buf_printf(&name, "%s/%s/", pmu, event);
	if (!is_wanted(walk->glob, buf_cstr(&name), kind_pmu) ||
	    pmu_config(PMU_ROOT, pmu, event, &config, &why))
		return 0;
	attr.type = config.type;
	attr.config = config.config[0];
	attr.config1 = config.config[1];
	attr.config2 = config.config[2];
	cpu = first_cpu(pmu);
	if (!opens(&attr, cpu))
		return 0;
	attr.sample_period = 1000000;
	return listing_add(walk->out, buf_cstr(&name),
			   opens(&attr, cpu) ? kind_pmu : kind_pmu_counting);
}

/* --- Tracepoints --- */

/* If one opens, all do: what may forbid it forbids all. */
static bool tracepoint_opens(int tracefs, const char *name)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .disabled = 1};
	struct tracepoint_format format;

	if (tracepoint_load(tracefs, name, &format))
		return false;
	attr.config = format.id;
	tracepoint_format_deinit(&format);
	return opens(&attr, 0);
}

static int add_tracepoints(const char *glob, struct listing *out, struct buf *why)
{
	_cleanup_close_ int tracefs = kernel_fs_tracefs(why);
	struct names names = {0};
	bool is_tried = false;
	int err;

	if (tracefs < 0)
		return 0; /* @why tells, when nothing else is found */
	err = tracepoints_match(tracefs, "*", "*", &names);
	for (size_t i = 0; i < names.cnt && !err; i++) {
		if (!is_wanted(glob, names.items[i], kind_tracepoint))
			continue;
		if (!is_tried && !tracepoint_opens(tracefs, names.items[i]))
			break;
		is_tried = true;
		err = listing_add(out, names.items[i], kind_tracepoint);
	}
	names_deinit(&names);
	return err;
}

int listing_fields(int tracefs, const char *name, struct buf *out)
{
	struct tracepoint_format format;
	int err = tracepoint_load(tracefs, name, &format);

	if (err)
		return err;
	for (size_t i = 0; i < format.cnt; i++)
		buf_printf(out, "    %s %s%s\n", format.fields[i].type, format.fields[i].name,
			   format.fields[i].is_data_loc ? " (in the record)" : "");
	tracepoint_format_deinit(&format);
	return 0;
}

/* --- Functions --- */

static int add_kernel_functions(const struct event_prefix *prefix, const char *glob,
				struct listing *out, struct buf *why)
{
	struct event_spec spec = {.kind = prefix->kind, .text = (char *)glob};
	struct kernel_functions functions;
	int err = kernel_probes_check(&spec, why);

	if (!err)
		err = kernel_functions_load(&functions);
	if (err)
		return err;
	for (size_t i = 0; i < functions.cnt && !err; i++) {
		const char *kind = event_kind_name(prefix->kind);
		_cleanup_free_ char *name = NULL;

		if (!kernel_function_matches(&functions.items[i], strchr(glob, ':') + 1))
			continue;
		if (asprintf(&name, "%s:%s", kind, functions.items[i].name) < 0)
			name = NULL;
		err = name ? listing_add(out, name, kind) : -ENOMEM;
	}
	kernel_functions_deinit(&functions);
	return err;
}

struct function_walk {
	const char *kind, *path;
	struct listing *out;
};

static int add_user_function(void *arg, const char *function)
{
	const struct function_walk *walk = arg;
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s:%s:%s", walk->kind, walk->path, function) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return listing_add(walk->out, name, walk->kind);
}

/* Functions behind a probe's prefix. */
static int add_functions(const struct event_prefix *prefix, const char *glob, struct listing *out,
			 struct buf *why)
{
	struct function_walk walk = {.kind = event_kind_name(prefix->kind), .out = out};
	struct event_spec spec;
	int err;

	if (prefix->kind == EVENT_KPROBE || prefix->kind == EVENT_KRETPROBE)
		return add_kernel_functions(prefix, glob, out, why);
	if (prefix->kind == EVENT_USDT) {
		buf_printf(why, "'%s': USDT probes are not listed yet", glob);
		return -EOPNOTSUPP;
	}
	err = event_parse_one(glob, strlen(glob), &spec, why);
	if (err)
		return err;
	walk.path = spec.path;
	err = spec.name ? user_probe_list(spec.path, spec.name, 0, add_user_function, &walk, why)
			: event_bad(&spec, why, "an address has no name to list");
	event_spec_deinit(&spec);
	return err;
}

/* --- All --- */

static int add_all(const char *glob, struct listing *out, struct buf *why)
{
	struct pmu_walk walk = {glob, out};
	int err = add_names(glob, out);

	/* Without sysfs there are no PMUs to name. */
	if (!err && pmu_each(PMU_ROOT, add_pmu_event, &walk) == -ENOMEM)
		err = -ENOMEM;
	return err ? err : add_tracepoints(glob, out, why);
}

/* The event that was meant: one that opens, else a counter that other machines have. */
static void explain_nearest(const char *glob, const struct listing *all, struct buf *why)
{
	char counter[EVENT_NAME_MAX];
	struct nearest nearest;

	buf_printf(why, "no event that opens here matches '%s'", glob);
	nearest_init(&nearest, glob);
	for (size_t i = 0; i < all->cnt; i++)
		nearest_offer(&nearest, all->items[i].name);
	if (nearest.best)
		buf_printf(why, " (did you mean '%s'?)", nearest.best);
	else if (is_kind(glob))
		buf_add_str(why, " (many virtual machines have no counters of a processor)");
	else if (event_name_nearest(glob, counter))
		buf_printf(why, " ('%s' does not open on this machine)", counter);
}

static int explain_nothing(const char *glob, struct buf *why)
{
	struct listing all = {0};

	if (why->len)
		return -ENOENT;
	add_all(NULL, &all, why);
	buf_reset(why);
	if (glob)
		explain_nearest(glob, &all, why);
	else
		buf_add_str(why, "no event opens here: run as root (see bpfprof doctor)");
	listing_deinit(&all);
	return -ENOENT;
}

int listing_make(const char *glob, struct listing *out, struct buf *why)
{
	size_t prefix_len;
	const struct event_prefix *prefix =
		glob ? event_prefix_find(glob, strlen(glob), &prefix_len) : NULL;
	struct listing listing = {0};
	int err;

	if (prefix && prefix->kind == EVENT_TRACEPOINT)
		err = add_tracepoints(glob + prefix_len, &listing, why);
	else if (prefix)
		err = add_functions(prefix, glob, &listing, why);
	else
		err = add_all(glob, &listing, why);
	if (!err && !listing.cnt)
		err = explain_nothing(glob, why);
	if (!err) {
		*out = listing;
		return 0;
	}
	if (!why->len)
		buf_printf(why, "listing events: %s", strerror(-err));
	listing_deinit(&listing);
	return err;
}
