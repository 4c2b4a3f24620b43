/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that one file's symbols and debugging information say of its code, as a table of names
 * (symbol/name_table.h): functions, files, lines and inlined calls, no code. It can be taken to
 * where the file is not, as symbol/name_file.h without a source, and does there what the file
 * would.
 */
#ifndef BPFPROF_SYMBOL_SYMBOL_TABLE_H
#define BPFPROF_SYMBOL_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/module_symbols.h"
#include "symbol/name_table.h"

enum { SYMBOL_TABLE_FORMAT_BYTES = 32 };

/* What tables of this program are like; another text is another kind. */
void symbol_table_format(char out[static SYMBOL_TABLE_FORMAT_BYTES]);

/* Is there enough for one: all symbols of @module's file, debugging information too if
 * @needs_lines? Costs little beside making it. */
bool symbol_table_is_there(const struct module *module, const struct symbol_sources *sources,
			   bool needs_lines);

/*
 * The table of @module's file, with what was split off it and @sources have, as bytes: *owned*
 * (free()), @len of them. Go's own tables, which are in every Go program, are left out. NULL +
 * errno: ENOENT it has no symbols, or no lines and @needs_lines; EFBIG; ENOMEM. Takes as long as
 * reading all of its debugging information.
 */
void *symbol_table_make(const struct module *module, const struct symbol_sources *sources,
			bool needs_lines, size_t *len);

/* The inverse: *@out borrows the @len bytes at @data, which are hostile and aligned to 8. 0 or
 * -EBADMSG: of another version, or no such table. */
int symbol_table_read(const void *data, size_t len, struct name_table *out);

/* Does it know of any line? */
bool symbol_table_has_lines(const struct name_table *table);

/*
 * Give @location the lines that @table has for its address, where they are better than those that
 * it has: names for a bare address, lines for names without. True: they were. Memory shows in the
 * profile's error.
 */
bool symbol_table_name(struct profile *prof, uint32_t location, const struct name_table *table,
		       struct demangler *demangler);

#endif
