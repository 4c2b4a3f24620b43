/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/dwarf_index.h"
#include "elf/functions.h"
#include "symbol/name_file.h"
#include "symbol/name_learn.h"

/* It is of no file here. */
static const struct name_source no_source = {.places = 0};

void symbol_table_format(char out[static SYMBOL_TABLE_FORMAT_BYTES])
{
	snprintf(out, SYMBOL_TABLE_FORMAT_BYTES, "names %d.%d", NAME_FORMAT_VERSION,
		 NAME_RULES_VERSION);
}

/* --- Making --- */

bool symbol_table_is_there(const struct module *module, const struct symbol_sources *sources,
			   bool needs_lines)
{
	_cleanup_(module_symbols_deinit) struct module_symbols syms = {0};

	if (module_symbols_open(module, module->path, sources, &syms) || syms.reason ||
	    module_symbols_load(&syms))
		return false;
	return needs_lines ? module_symbols_have_lines(&syms) : module_symbols_are_full(&syms);
}

static uint64_t end_of(const struct name_builder *builder)
{
	const struct name_stretch *last;

	if (!builder->stretches_cnt)
		return 0;
	last = &builder->stretches[builder->stretches_cnt - 1];
	return last->lo + last->bytes;
}

/* What is known of [@vaddr, @end), as far as the builder has not been there. */
static int learn_range(struct module_symbols *syms, uint64_t vaddr, uint64_t end,
		       struct name_builder *builder)
{
	static const struct name_table nothing = {.stretches_cnt = 0};
	int err = 0;

	if (vaddr < end_of(builder))
		vaddr = end_of(builder);
	while (vaddr < end && !err) {
		err = name_learn(syms, NAME_LINES, vaddr, 0, &nothing, builder);
		/* What stretches do not reach is passed over. */
		vaddr = end_of(builder) > vaddr ? end_of(builder) : vaddr + 1;
	}
	return err;
}

static int learn_all(struct module_symbols *syms, struct name_builder *builder)
{
	struct functions functions;
	int err = functions_from_elf(syms->elf, &syms->symbols_file, &functions);

	if (err)
		return err;
	for (size_t i = 0; i < functions.cnt && !err; i++) {
		const struct function *function = &functions.items[i];
		const uint64_t bytes = functions_extent(&functions, function);
		uint64_t end;

		if (!__builtin_add_overflow(function->vaddr, bytes ? bytes : 1, &end))
			err = learn_range(syms, function->vaddr, end, builder);
	}
	functions_deinit(&functions);
	return err;
}

bool symbol_table_has_lines(const struct name_table *table)
{
	for (uint32_t i = 0; i < table->sites_cnt; i++)
		if (table->sites[i].line)
			return true;
	return false;
}

static void *encode(const struct name_builder *builder, bool needs_lines, size_t *len)
{
	const struct name_table table = name_builder_table(builder);

	if (!table.sites_cnt || (needs_lines && !symbol_table_has_lines(&table))) {
		errno = ENOENT;
		return NULL;
	}
	return name_file_encode(&table, &no_source, len);
}

void *symbol_table_make(const struct module *module, const struct symbol_sources *sources,
			bool needs_lines, size_t *len)
{
	_cleanup_(module_symbols_deinit) struct module_symbols syms = {0};
	struct name_builder builder;
	void *data = NULL;
	int err = module_symbols_open(module, module->path, sources, &syms);

	if (!err)
		err = syms.reason ? -ENOENT : module_symbols_load(&syms);
	if (!err)
		err = name_builder_init(&builder);
	if (err) {
		errno = -err;
		return NULL;
	}
	err = learn_all(&syms, &builder);
	if (!err)
		data = encode(&builder, needs_lines, len);
	else
		errno = err == -E2BIG ? EFBIG : -err;
	name_builder_deinit(&builder);
	return data;
}

/* --- Using --- */

int symbol_table_read(const void *data, size_t len, struct name_table *out)
{
	int err = name_file_decode(data, len, &no_source, out);

	return err ? -EBADMSG : 0;
}

static uint32_t add_function(struct profile *prof, const struct name_table *table,
			     const struct name_function *function, struct demangler *demangler)
{
	const char *name = table->strings + function->name;
	const char *suffix = function->flags & NAME_IS_PLT ? "@plt" : "";
	char demangled[DEMANGLE_MAX];
	_cleanup_(buf_deinit) struct buf shown, system;
	struct profile_function known = {.start_line = function->start_line};

	buf_init(&shown, BUF_NO_MAX);
	buf_init(&system, BUF_NO_MAX);
	demangle(demangler, name, strlen(name), demangled);
	buf_printf(&shown, "%s%s", demangled, suffix);
	buf_printf(&system, "%s%s", name, suffix);
	known.name = profile_string(prof, buf_cstr(&shown));
	known.system_name = profile_string(prof, buf_cstr(&system));
	known.file = profile_string(prof, table->strings + function->file);
	return profile_function_add(prof, &known);
}

static bool is_better(const struct profile *prof, uint32_t location,
		      const struct profile_line *lines, size_t cnt)
{
	const struct profile_location *loc = &prof->locations[location];

	if (profile_location_is_bare(prof, location))
		return cnt > 0;
	for (uint32_t i = 0; i < loc->line_cnt; i++)
		if (prof->lines[loc->first_line + i].line)
			return false;
	for (size_t i = 0; i < cnt; i++)
		if (lines[i].line)
			return true;
	return false;
}

bool symbol_table_name(struct profile *prof, uint32_t location, const struct name_table *table,
		       struct demangler *demangler)
{
	const struct name_stretch *stretch =
		name_table_find(table, prof->locations[location].address);
	uint32_t site = stretch ? stretch->site : (uint32_t)NAME_NONE;
	struct profile_line lines[DWARF_SITES_DEEP];
	size_t cnt = 0;

	for (; site != (uint32_t)NAME_NONE && cnt < DWARF_SITES_DEEP;
	     site = table->sites[site].caller) {
		const struct name_function *function =
			&table->functions[table->sites[site].function];

		lines[cnt++] = (struct profile_line){
			.function = add_function(prof, table, function, demangler),
			.line = table->sites[site].line,
		};
	}
	if (prof->err || !is_better(prof, location, lines, cnt))
		return false;
	prof->locations[location].line_cnt = 0;
	profile_set_lines(prof, location, lines, cnt);
	return true;
}
