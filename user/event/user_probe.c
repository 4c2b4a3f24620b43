/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions to places in a file. */
#include "event/user_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/go_image.h"
#include "event/cxx_name.h"
#include "event/function_search.h"
#include "event/ifunc.h"
#include "event/probe_fit.h"
#include "event/probe_image.h"

/* One event while its places are looked for. */
struct resolve {
	struct event *event;
	struct probe_image image;
	bool is_go; /* of return probes: has Go's functions */
	bool is_quiet; /* one line says it for all indirect functions of a glob */
	struct buf *why;
};

static const char *file_name(const struct resolve *res)
{
	return res->image.file.path;
}

static bool is_glob(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

/* --- Return probes --- */

/* What keeps the address that it returns to for later, and what has none. */
static const char *const return_keepers[] = {
	"_start",      "__restore_rt", "setjmp",       "_setjmp",     "__setjmp",
	"__sigsetjmp", "getcontext",   "__getcontext", "swapcontext", "__swapcontext",
};

/* Why no return probe may be there, as the end of a sentence; NULL: it may. */
static const char *return_hazard(const struct resolve *res, const char *name)
{
	size_t cnt = sizeof(return_keepers) / sizeof(*return_keepers);

	if (!event_is_return(res->event->spec.kind))
		return NULL;
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(name, return_keepers[i]))
			return "keeps its return address or has none: a return probe would crash "
			       "the program";
	}
	if (is_function_part(name))
		return "is jumped to: there is no return address";
	if (res->is_go && strchr(name, '.'))
		return "is Go's, whose stacks move: a return probe would crash the program; "
		       "uprobe: works";
	return NULL;
}

static bool has_go(const struct elf_file *elf)
{
	struct go_image go;

	if (go_image_open(elf, &go))
		return false;
	go_image_deinit(&go);
	return true;
}

/* --- Places --- */

static int refuse_code(const struct resolve *res, uint64_t vaddr)
{
	buf_printf(res->why, "0x%" PRIx64 " is not in the code of '%s'", vaddr, file_name(res));
	for (size_t i = 0; i < res->image.segments.cnt; i++) {
		const struct elf_segment *segment = &res->image.segments.items[i];

		if (segment->is_exec)
			buf_printf(res->why, ", which is 0x%" PRIx64 "-0x%" PRIx64, segment->vaddr,
				   segment->vaddr + segment->file_bytes);
	}
	return -EINVAL;
}

/* A site where it may be, or none. */
static int add_site(struct resolve *res, uint64_t vaddr, const char *name, uint64_t off)
{
	struct event_site *site;
	int err = probe_image_add_site(&res->image, res->event, vaddr, name, off, &site);

	if (err)
		return err == -ENOENT ? refuse_code(res, vaddr) : err;
	err = probe_fit(&res->image, site, vaddr, res->why);
	if (err)
		event_drop_site(res->event);
	return err;
}

/* memcpy and memmove may stand for the same code. */
static bool has_place(const struct resolve *res, uint64_t vaddr)
{
	uint64_t file_off;

	if (elf_segments_file_off(&res->image.segments, vaddr, &file_off))
		return false;
	for (size_t i = 0; i < res->event->site_cnt; i++) {
		if (res->event->sites[i].asked_file_off == file_off)
			return true;
	}
	return false;
}

static int add_place(struct resolve *res, const struct found_function *function)
{
	const struct event_spec *spec = &res->event->spec;

	if (spec->off && function->size_bytes && spec->off >= function->size_bytes) {
		buf_printf(res->why, "'%s' of '%s' has only 0x%" PRIx64 " bytes", function->name,
			   file_name(res), function->size_bytes);
		return -EINVAL;
	}
	if (has_place(res, function->vaddr + spec->off))
		return 0;
	if (res->event->site_cnt == PROBE_SITES_MAX) {
		buf_printf(res->why, "'%s' of '%s' is more than %d places", spec->name,
			   file_name(res), PROBE_SITES_MAX);
		return -E2BIG;
	}
	return add_site(res, function->vaddr + spec->off, function->name, spec->off);
}

static int add_places(struct resolve *res, const struct function_search *found)
{
	int err = 0;

	for (size_t i = 0; !err && i < found->cnt; i++)
		err = add_place(res, &found->items[i]);
	return err;
}

/* --- Indirect functions --- */

static void log_choice(const struct resolve *res, const char *name, size_t first, const char *how)
{
	struct buf names;

	if (first == res->event->site_cnt || res->is_quiet)
		return;
	buf_init(&names, BUF_NO_MAX);
	for (size_t i = first; i < res->event->site_cnt; i++)
		buf_printf(&names, "%s%s", i > first ? ", " : "", res->event->sites[i].symbol);
	log_info("%s: '%s' is chosen when it is linked (IFUNC); the probe is on %s: %s",
		 res->event->spec.text, name, how, buf_cstr(&names));
	buf_deinit(&names);
}

/* The code that @name stands for in our own process. -ENOENT: not known. */
static int add_own_choice(struct resolve *res, const char *name)
{
	struct found_function choice = {.name = (char *)name};
	size_t first = res->event->site_cnt;
	int err = ifunc_own_choice(res->image.file.fd, name, &choice.vaddr);
	char *symbol = NULL;
	uint64_t off = 0;

	if (err)
		return err;
	symbol = probe_image_function_at(&res->image, choice.vaddr, &off);
	if (symbol && !off)
		choice.name = symbol;
	err = add_place(res, &choice);
	if (!err)
		log_choice(res, name, first, "what it stands for on this CPU");
	free(symbol);
	return err;
}

static int add_variants(struct resolve *res, const char *name)
{
	struct function_search found;
	size_t first = res->event->site_cnt;
	int err = function_search(&res->image, MATCH_VARIANT, name, &found);

	if (err)
		return err;
	err = found.cnt ? add_places(res, &found) : -ENOENT;
	if (!err)
		log_choice(res, name, first, "all that it may stand for");
	function_search_deinit(&found);
	return err;
}

static int add_indirect(struct resolve *res, const char *name)
{
	int err = add_own_choice(res, name);

	if (err == -EXDEV) {
		buf_printf(res->why, "'%s' of '%s' is code of the vdso, which takes no probes",
			   name, file_name(res));
		return -EINVAL;
	}
	if (err == -ENOENT)
		err = add_variants(res, name);
	if (err == -ENOENT)
		buf_printf(res->why,
			   "'%s' of '%s' is chosen when it is linked (IFUNC), and no symbol names "
			   "the choices: its debug file has them as __%s_*, and 0xADDR works",
			   name, file_name(res), name);
	return err;
}

/* --- Names --- */

static int explain_missing(const struct resolve *res, const struct function_search *found)
{
	const char *name = res->event->spec.name;
	struct suggest near;

	if (found->source == SYMTAB_NONE) {
		buf_printf(res->why,
			   "'%s' names no function, it is stripped: 0xADDR works, or a debug file "
			   "(-dbg, -dbgsym or -debuginfo packages)",
			   file_name(res));
		return -ENOENT;
	}
	buf_printf(res->why, "'%s' has no function '%s'", file_name(res), name);
	if (found->source == SYMTAB_DYNAMIC)
		buf_printf(
			res->why,
			" among the %zu that it exports; it is stripped: 0xADDR, or a debug file, "
			"reaches the others",
			found->function_cnt);
	else
		buf_printf(res->why, " among its %zu", found->function_cnt);
	if (is_glob(name))
		return -ENOENT;
	suggest_init(&near, name);
	function_search_suggest(&res->image, &near);
	suggest_print(&near, res->why);
	suggest_deinit(&near);
	return -ENOENT;
}

/* Where the parameters begin, so that overloads differ and C1 does not from C2. */
static const char *params_of(const char *symbol)
{
	char plain[CXX_NAME_MAX];
	const char *params = "";

	return cxx_plain_name(symbol, plain, &params) ? params : "";
}

/* Are the C++ functions that were found one, perhaps several times? */
static int check_unique(const struct resolve *res, const struct function_search *found)
{
	const char *first = found->cnt ? params_of(found->items[0].name) : "";
	bool is_one = true;

	for (size_t i = 1; i < found->cnt && found->items[i].name; i++) {
		const char *params = params_of(found->items[i].name);

		is_one &= strcspn(params, ".") == strcspn(first, ".") &&
			  !strncmp(params, first, strcspn(first, "."));
	}
	if (is_one)
		return 0;
	buf_printf(res->why, "'%s' of '%s' is %zu functions, write one as", res->event->spec.name,
		   file_name(res), found->cnt);
	for (size_t i = 0; i < found->cnt && i < 4; i++)
		buf_printf(res->why, "%s %s", i ? " or" : "", found->items[i].name);
	return -EINVAL;
}

static int add_named(struct resolve *res, const struct function_search *found)
{
	const char *hazard;
	int err = 0;

	for (size_t i = 0; !err && i < found->cnt; i++) {
		hazard = return_hazard(res, found->items[i].name);
		if (hazard) {
			buf_printf(res->why, "'%s' %s", found->items[i].name, hazard);
			return -EINVAL;
		}
		err = found->items[i].is_ifunc ? add_indirect(res, found->items[i].name)
					       : add_place(res, &found->items[i]);
	}
	return err;
}

/* What became of the functions of a glob that take no probe as they are. */
struct glob_outcome {
	size_t indirect_cnt, unknown_cnt, hazard_cnt, refused_cnt;
};

static int add_match(struct resolve *res, const struct found_function *item,
		     struct glob_outcome *outcome)
{
	int err;

	if (return_hazard(res, item->name)) {
		outcome->hazard_cnt++;
		return 0;
	}
	err = item->is_ifunc ? add_indirect(res, item->name) : add_place(res, item);
	if (err == -EOPNOTSUPP) {
		log_debug("left out: %s", buf_cstr(res->why));
		buf_reset(res->why);
		outcome->refused_cnt++;
		return 0;
	}
	if (!item->is_ifunc)
		return err;
	if (!err)
		outcome->indirect_cnt++;
	if (err != -ENOENT && err != -EINVAL)
		return err;
	outcome->unknown_cnt++;
	return 0;
}

static void log_outcome(const struct resolve *res, const struct glob_outcome *outcome)
{
	const char *text = res->event->spec.text;

	if (outcome->indirect_cnt)
		log_info("%s: %zu functions are chosen when they are linked (IFUNC); their probes "
			 "are on what they stand for on this CPU",
			 text, outcome->indirect_cnt);
	if (outcome->unknown_cnt)
		log_info(
			"%s: %zu functions are left out: it is not known which code they stand for "
			"(IFUNC)",
			text, outcome->unknown_cnt);
	if (outcome->refused_cnt)
		log_info("%s: %zu functions are left out: the kernel does not run their first "
			 "instructions rightly under a probe (-v says which)",
			 text, outcome->refused_cnt);
	if (outcome->hazard_cnt)
		log_info("%s: %zu functions are left out: a return probe would crash the program",
			 text, outcome->hazard_cnt);
}

/* What a glob takes in by the way and cannot be had is left out and counted. */
static int add_matches(struct resolve *res, const struct function_search *found)
{
	struct glob_outcome outcome = {0};
	int err = 0;

	res->is_quiet = true;
	for (size_t i = 0; !err && i < found->cnt; i++)
		err = add_match(res, &found->items[i], &outcome);
	if (err)
		return err;
	if (!res->event->site_cnt) {
		buf_reset(res->why);
		buf_printf(res->why,
			   "none of the %zu functions of '%s' that fit '%s' takes a probe",
			   found->cnt, file_name(res), res->event->spec.name);
		return -EINVAL;
	}
	log_outcome(res, &outcome);
	return 0;
}

static int use_matches(struct resolve *res, const struct function_search *found)
{
	if (!found->cnt)
		return explain_missing(res, found);
	if (found->cnt <= PROBE_SITES_MAX)
		return add_matches(res, found);
	buf_printf(res->why,
		   "'%s' fits %zu functions of '%s', and %d is the most: write more of the name "
		   "(bpfprof list shows what fits)",
		   res->event->spec.name, found->cnt, file_name(res), PROBE_SITES_MAX);
	return -E2BIG;
}

static int use_named(struct resolve *res, const struct function_search *found)
{
	int err = check_unique(res, found);

	return err ? err : add_named(res, found);
}

/* A symbol first, whatever it looks like: Go's have '*' and '[' in their names. */
static int resolve_name(struct resolve *res)
{
	static const enum function_match order[] = {MATCH_NAME, MATCH_CXX_NAME, MATCH_GLOB};
	const char *name = res->event->spec.name;
	size_t tries = is_glob(name) ? 3 : 2;
	struct function_search found = {0};
	int err = 0;

	for (size_t i = 0; !err && !found.cnt && i < tries; i++) {
		function_search_deinit(&found);
		err = function_search(&res->image, order[i], name, &found);
		if (!err && found.cnt && order[i] != MATCH_GLOB)
			err = use_named(res, &found);
		else if (!err && i + 1 == tries)
			err = use_matches(res, &found);
	}
	function_search_deinit(&found);
	return err;
}

static int resolve_vaddr(struct resolve *res)
{
	const struct event_spec *spec = &res->event->spec;
	const struct event_site *site;
	const char *hazard;
	int err = add_site(res, spec->addr, NULL, 0);

	if (err)
		return err;
	site = &res->event->sites[0];
	if (event_is_return(spec->kind) && site->symbol && site->symbol_off) {
		buf_printf(res->why,
			   "0x%" PRIx64 " is %s+0x%" PRIx64
			   ": a return probe goes where a function begins",
			   spec->addr, site->symbol, site->symbol_off);
		return -EINVAL;
	}
	hazard = site->symbol ? return_hazard(res, site->symbol) : NULL;
	if (!hazard)
		return 0;
	buf_printf(res->why, "'%s' %s", site->symbol, hazard);
	return -EINVAL;
}

static int resolve(struct resolve *res)
{
	const struct event_spec *spec = &res->event->spec;

	if (event_is_return(spec->kind) && spec->off) {
		buf_add_str(res->why, "a return probe goes where a function begins: no +OFFSET");
		return -EINVAL;
	}
	res->is_go = event_is_return(spec->kind) && has_go(res->image.elf);
	if (spec->has_addr)
		return resolve_vaddr(res);
	return resolve_name(res);
}

int user_probe_resolve(struct event *event, const struct event_scope *scope, struct buf *why)
{
	struct resolve res = {.event = event};
	struct buf reason;
	int err;

	buf_init(&reason, BUF_NO_MAX);
	res.why = &reason;
	err = probe_image_open(event->spec.path, scope->tgid, &res.image, &reason);
	if (!err) {
		err = probe_image_verify(&res.image, resolve(&res), &reason);
		probe_image_deinit(&res.image);
	}
	if (err)
		buf_printf(why, "%s: %s", event->spec.text, buf_error_text(&reason, err));
	buf_deinit(&reason);
	return err;
}

int user_probe_list(const char *path, const char *glob, pid_t tgid, probe_name_fn *fn, void *arg,
		    struct buf *why)
{
	struct function_search found;
	struct probe_image image;
	int err = probe_image_open(path, tgid, &image, why);

	if (err)
		return err;
	err = function_search(&image, MATCH_GLOB, glob, &found);
	probe_image_deinit(&image);
	if (err)
		return err;
	for (size_t i = 0; !err && i < found.cnt; i++) {
		if (found.items[i].name)
			err = fn(arg, found.items[i].name);
	}
	function_search_deinit(&found);
	return err;
}
