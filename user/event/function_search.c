/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the symbols, then one entry for each address. */
#include "event/function_search.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/cxx_name.h"
#include "event/ifunc.h"
#include "event/probe_image.h"

/* So many places are always refused: their number matters, their names do not. */
enum { NAMES_MAX = 4096 };

struct pass {
	enum function_match match;
	const char *name;
	struct function_search search;
};

bool is_function_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

static bool is_cxx_name(const char *symbol, const char *name)
{
	char plain[CXX_NAME_MAX];
	const char *params;

	return cxx_plain_name(symbol, plain, &params) && !strcmp(plain, name) &&
	       !is_function_part(params);
}

static bool is_match(const struct pass *pass, const struct elf_function *function)
{
	switch (pass->match) {
	case MATCH_NAME:
		return !strcmp(function->name, pass->name);
	case MATCH_CXX_NAME:
		return is_cxx_name(function->name, pass->name);
	case MATCH_GLOB:
		return !function->is_label && !fnmatch(pass->name, function->name, 0) &&
		       !is_function_part(function->name);
	default:
		return !function->is_ifunc && ifunc_is_variant(pass->name, function->name);
	}
}

static int look_at_function(void *arg, const struct elf_function *function)
{
	struct pass *pass = arg;
	struct function_search *search = &pass->search;
	struct found_function found = {
		.vaddr = function->vaddr,
		.size_bytes = function->size_bytes,
		.is_ifunc = function->is_ifunc,
	};

	search->function_cnt += !function->is_label;
	if (!is_match(pass, function))
		return 0;
	if (array_reserve(&search->items, &search->cap, search->cnt + 1, sizeof(found)))
		return -ENOMEM;
	if (search->cnt < NAMES_MAX) {
		found.name = strdup(function->name);
		if (!found.name)
			return -ENOMEM;
	}
	search->items[search->cnt++] = found;
	return 0;
}

/* Of one address: the indirect function, then the name with the fewest underscores in front. */
static int found_cmp(const void *left, const void *right)
{
	const struct found_function *lhs = left, *rhs = right;

	if (lhs->vaddr != rhs->vaddr)
		return lhs->vaddr > rhs->vaddr ? 1 : -1;
	if (lhs->is_ifunc != rhs->is_ifunc)
		return lhs->is_ifunc ? -1 : 1;
	if (!lhs->name || !rhs->name)
		return !lhs->name - !rhs->name;
	if ((lhs->name[0] == '_') != (rhs->name[0] == '_'))
		return lhs->name[0] == '_' ? 1 : -1;
	return strcmp(lhs->name, rhs->name);
}

static void keep_one_each(struct function_search *search)
{
	size_t kept = 0;

	if (search->cnt)
		qsort(search->items, search->cnt, sizeof(*search->items), found_cmp);
	for (size_t i = 0; i < search->cnt; i++) {
		struct found_function *item = &search->items[i];

		if (kept && search->items[kept - 1].vaddr == item->vaddr)
			free(item->name);
		else
			search->items[kept++] = *item;
	}
	search->cnt = kept;
}

int function_search(const struct probe_image *image, enum function_match match, const char *name,
		    struct function_search *out)
{
	struct pass pass = {.match = match, .name = name};
	int err = probe_image_functions(image, look_at_function, &pass, &pass.search.source);

	if (err) {
		function_search_deinit(&pass.search);
		return err;
	}
	keep_one_each(&pass.search);
	*out = pass.search;
	return 0;
}

void function_search_deinit(struct function_search *search)
{
	for (size_t i = 0; i < search->cnt; i++)
		free(search->items[i].name);
	free(search->items);
	*search = (struct function_search){0};
}

static int offer_function(void *arg, const struct elf_function *function)
{
	char plain[CXX_NAME_MAX];
	const char *params;

	if (!is_function_part(function->name))
		suggest_offer(arg, cxx_plain_name(function->name, plain, &params) ? plain
										  : function->name);
	return 0;
}

void function_search_suggest(const struct probe_image *image, struct suggest *near)
{
	enum symtab_source source;

	probe_image_functions(image, offer_function, near, &source);
}
