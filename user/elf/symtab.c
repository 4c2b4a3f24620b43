/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries of a symbol table name code, and lookups among them. Names stay in the mapped
 * string table: the index holds 12 bytes for each function.
 */
#include "elf/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "elf/elf_priv.h"
#include "elf/plt.h"
#include "elf/symbol_index.h"

/* A symbol's name field: an offset into the string table, or into .dynstr; for a PLT entry always
 * that. */
#define NAME_IS_PLT (1u << 31)
#define NAME_IS_DYNAMIC (1u << 30)
#define NAME_OFFSET_MAX (NAME_IS_DYNAMIC - 1)

/* The largest browsers have 200 MiB of names; it bounds what a hostile header makes us read, or
 * hold. */
#define TABLE_MAX_BYTES (512u << 20)
#define TABLE_COPIED_MAX_BYTES (256u << 20)

/* One section of code: [start, end). */
struct text_section {
	uint64_t start, end;
};

/* NUL-terminated strings; borrowed from the image. */
struct strings {
	const char *bytes;
	size_t len;
};

struct symtab {
	enum symtab_source source;
	uint64_t base; /* vaddr that the index counts from */
	struct strings names; /* of a .symtab */
	struct strings dynamic_names; /* .dynstr */
	struct symbol_index index;
};

/* One table of symbols, and how its entries are to be read. */
struct table {
	const struct elf_file *elf;
	Elf_Data *data;
	struct strings names;
	uint32_t name_flags; /* NAME_IS_DYNAMIC or 0 */
};

struct builder {
	const struct elf_file *elf;
	struct symtab *symtab;
	struct text_section *texts; /* owned; ascending */
	size_t text_cnt, text_cap;
	size_t text_hint; /* the section of the symbol before */
	struct symbol *symbols; /* owned */
	size_t symbol_cnt, symbol_cap;
};

static void builder_deinit(struct builder *bld)
{
	free(bld->texts);
	free(bld->symbols);
}

static int text_cmp(const void *left, const void *right)
{
	uint64_t lhs = ((const struct text_section *)left)->start;
	uint64_t rhs = ((const struct text_section *)right)->start;

	return (lhs > rhs) - (lhs < rhs);
}

static int collect_texts(struct builder *bld)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(bld->elf->elf, scn))) {
		GElf_Shdr shdr;
		int err;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC) ||
		    !(shdr.sh_flags & SHF_EXECINSTR) || !shdr.sh_size)
			continue;
		if (shdr.sh_addr + shdr.sh_size < shdr.sh_addr)
			continue;
		err = array_reserve(&bld->texts, &bld->text_cap, bld->text_cnt + 1,
				    sizeof(*bld->texts));
		if (err)
			return err;
		bld->texts[bld->text_cnt++] =
			(struct text_section){shdr.sh_addr, shdr.sh_addr + shdr.sh_size};
	}
	if (bld->text_cnt) {
		qsort(bld->texts, bld->text_cnt, sizeof(*bld->texts), text_cmp);
		bld->symtab->base = bld->texts[0].start;
	}
	return 0;
}

/* The code section around @vaddr, NULL when it is data. Asked by address and not by section index,
 * so that it also holds for files with more than 65,279 sections. */
static const struct text_section *text_at(struct builder *bld, uint64_t vaddr)
{
	const struct text_section *hint;
	size_t cnt;

	if (!bld->text_cnt)
		return NULL;
	hint = &bld->texts[bld->text_hint];
	if (vaddr >= hint->start && vaddr < hint->end)
		return hint;
	cnt = SEARCH_CNT(i, bld->text_cnt, bld->texts[i].start <= vaddr);
	if (!cnt || vaddr >= bld->texts[cnt - 1].end)
		return NULL;
	bld->text_hint = cnt - 1;
	return &bld->texts[cnt - 1];
}

/* @offset's string, "" when it lies outside or the table does not end in a NUL behind it. */
static const char *strings_at(const struct strings *strings, uint32_t offset)
{
	if (offset >= strings->len || !memchr(strings->bytes + offset, '\0', strings->len - offset))
		return "";
	return strings->bytes + offset;
}

static const char *symtab_name_str(const void *arg, uint32_t name)
{
	const struct symtab *symtab = arg;

	return strings_at(name & NAME_IS_DYNAMIC ? &symtab->dynamic_names : &symtab->names,
			  name & NAME_OFFSET_MAX);
}

/* Arm marks the borders of code and data inside a section: $x, $d, $t, $a, also "$x.12" (AAELF64
 * 5.5.5). */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("xdta", name[1]) &&
	       (name[2] == '\0' || name[2] == '.');
}

static bool is_arm(const struct elf_file *elf)
{
	return elf->ehdr.e_machine == EM_AARCH64 || elf->ehdr.e_machine == EM_ARM;
}

/* Could @sym name code? Its address is checked by the caller. */
static bool is_code_symbol(const struct table *table, const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF ||
	    (sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX))
		return false; /* SHN_ABS: version names and constants, not places */
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (!sym->st_name || sym->st_name >= table->names.len || sym->st_name > NAME_OFFSET_MAX)
		return false;
	return !(type == STT_NOTYPE && is_arm(table->elf) &&
		 is_mapping_symbol(strings_at(&table->names, sym->st_name)));
}

static enum symbol_rank rank_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default: /* STB_GLOBAL, STB_GNU_UNIQUE */
		return SYMBOL_GLOBAL;
	}
}

/*
 * Note [@vaddr, @vaddr + @size) as @name; @size 0 as unknown, reaching at most to @limit. Text that
 * begins 4 GiB or more above the lowest code section is left out: no linker's code model makes it.
 */
static int add_symbol(struct builder *bld, uint64_t vaddr, uint64_t size, uint64_t limit,
		      struct symbol sym)
{
	uint64_t start = vaddr - bld->symtab->base;
	uint64_t end = limit - bld->symtab->base;
	int err;

	if (size)
		end = size < UINT32_MAX ? start + size : UINT32_MAX;
	if (start >= UINT32_MAX)
		return 0;
	sym.start = (uint32_t)start;
	sym.end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
	sym.is_sized = size != 0;
	err = array_reserve(&bld->symbols, &bld->symbol_cap, bld->symbol_cnt + 1,
			    sizeof(*bld->symbols));
	if (err)
		return err;
	bld->symbols[bld->symbol_cnt++] = sym;
	return 0;
}

static int add_table_symbol(struct builder *bld, const struct table *table, const GElf_Sym *gsym)
{
	const struct text_section *text;
	struct symbol sym = {.name = gsym->st_name | table->name_flags, .rank = rank_of(gsym)};
	uint64_t limit;

	if (!is_code_symbol(table, gsym))
		return 0;
	text = text_at(bld, gsym->st_value);
	if (!text)
		return 0;
	/* The exported symbols are a thin selection: between two of them lies code of others, so
	 * one without a size says nothing about the bytes behind its first. */
	limit = table->name_flags & NAME_IS_DYNAMIC ? gsym->st_value + 1 : text->end;
	return add_symbol(bld, gsym->st_value, gsym->st_size, limit, sym);
}

static bool is_table_sane(const struct elf_file *elf, const GElf_Shdr *shdr)
{
	return shdr->sh_size <= (elf->is_copied ? TABLE_COPIED_MAX_BYTES : TABLE_MAX_BYTES);
}

/* The first section of @type with its header; NULL when there is none. Linkers and strip compress
 * debug information only, never a table of symbols. */
static Elf_Scn *find_section(const struct elf_file *elf, uint32_t type, GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		if (gelf_getshdr(scn, out) && out->sh_type == type &&
		    !(out->sh_flags & SHF_COMPRESSED) && is_table_sane(elf, out))
			return scn;
	}
	return NULL;
}

static struct strings load_strings(const struct elf_file *elf, uint32_t section)
{
	Elf_Scn *scn = elf_getscn(elf->elf, section);
	Elf_Data *data = NULL;
	GElf_Shdr shdr;

	if (scn && gelf_getshdr(scn, &shdr) && is_table_sane(elf, &shdr))
		data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return (struct strings){0};
	return (struct strings){data->d_buf, data->d_size};
}

/* The table of @type in @elf; without data when there is none. */
static struct table load_table(const struct elf_file *elf, uint32_t type)
{
	struct table table = {.elf = elf};
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(elf, type, &shdr);

	if (!scn || !shdr.sh_entsize)
		return table;
	table.data = elf_getdata(scn, NULL);
	if (!table.data || !table.data->d_buf)
		return (struct table){.elf = elf};
	table.names = load_strings(elf, shdr.sh_link);
	table.name_flags = type == SHT_DYNSYM ? NAME_IS_DYNAMIC : 0;
	return table;
}

/* The entry at @index; false behind the last. */
static bool table_symbol(const struct table *table, size_t index, GElf_Sym *out)
{
	return table->data && index < INT32_MAX && gelf_getsym(table->data, (int)index, out);
}

static int collect_table(struct builder *bld, const struct elf_file *elf, uint32_t type)
{
	struct table table = load_table(elf, type);
	GElf_Sym sym;

	if (type == SHT_DYNSYM)
		bld->symtab->dynamic_names = table.names;
	else
		bld->symtab->names = table.names;
	for (size_t i = 1; table_symbol(&table, i, &sym); i++) {
		int err = add_table_symbol(bld, &table, &sym);

		if (err)
			return err;
	}
	return 0;
}

static int add_plt_symbol(void *arg, uint64_t vaddr, uint64_t size, uint32_t name)
{
	struct builder *bld = arg;
	struct symbol sym = {.name = name | NAME_IS_PLT | NAME_IS_DYNAMIC, .rank = SYMBOL_PLT};

	if (name >= bld->symtab->dynamic_names.len || name > NAME_OFFSET_MAX)
		return 0;
	return add_symbol(bld, vaddr, size, 0, sym);
}

static int collect_plt(struct builder *bld)
{
	GElf_Shdr shdr;

	if (!bld->text_cnt || !find_section(bld->elf, SHT_DYNSYM, &shdr))
		return 0;
	bld->symtab->dynamic_names = load_strings(bld->elf, shdr.sh_link);
	return plt_for_each(bld->elf, add_plt_symbol, bld);
}

/* The best table that names any code. */
static int collect_functions(struct builder *bld, const struct debug_file *debug)
{
	enum symtab_source *source = &bld->symtab->source;
	int err = collect_table(bld, bld->elf, SHT_SYMTAB);

	*source = SYMTAB_FULL;
	if (err || bld->symbol_cnt)
		return err;
	if (debug && debug->kind != DEBUG_NONE)
		err = collect_table(bld, debug->elf, SHT_SYMTAB);
	if (err || (bld->symbol_cnt && debug->kind == DEBUG_FULL))
		return err;
	*source = bld->symbol_cnt ? SYMTAB_MINI : SYMTAB_DYNAMIC;
	err = collect_table(bld, bld->elf, SHT_DYNSYM);
	if (!bld->symbol_cnt)
		*source = SYMTAB_NONE;
	return err;
}

static int collect(struct builder *bld, const struct debug_file *debug)
{
	int err = collect_texts(bld);

	if (!err)
		err = collect_functions(bld, debug);
	return err ? err : collect_plt(bld);
}

int symtab_from_elf(const struct elf_file *elf, const struct debug_file *debug, struct symtab **out)
{
	_cleanup_(builder_deinit) struct builder bld = {.elf = elf};
	struct symtab *symtab = calloc(1, sizeof(*symtab));
	int err;

	if (!symtab)
		return -ENOMEM;
	bld.symtab = symtab;
	err = collect(&bld, debug);
	if (!err)
		err = symbol_index_build(bld.symbols, bld.symbol_cnt, symtab_name_str, symtab,
					 &symtab->index);
	if (err) {
		free(symtab);
		return err;
	}
	*out = symtab;
	return 0;
}

/* A walk over tables, for somebody else's list. */
struct walk {
	struct builder bld; /* of which only the code sections are used */
	elf_function_fn *fn;
	void *arg;
	struct buf name; /* one without its version */
	size_t cnt;
};

static void walk_deinit(struct walk *walk)
{
	builder_deinit(&walk->bld);
	buf_deinit(&walk->name);
}

/* The name without what follows an '@' behind its first character; NULL: it is empty. */
static const char *bare_name(struct walk *walk, const char *name)
{
	size_t len = name[0] ? 1 + strcspn(name + 1, "@") : 0;

	if (!len || !name[len])
		return len ? name : NULL;
	buf_reset(&walk->name);
	buf_add(&walk->name, name, len);
	return walk->name.err ? NULL : buf_cstr(&walk->name);
}

static int walk_table(struct walk *walk, const struct elf_file *elf, uint32_t type)
{
	struct table table = load_table(elf, type);
	GElf_Sym sym;
	int err = 0;

	for (size_t i = 1; !err && table_symbol(&table, i, &sym); i++) {
		struct elf_function function = {
			.vaddr = sym.st_value,
			.size_bytes = sym.st_size,
			.is_ifunc = GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC,
			.is_label = GELF_ST_TYPE(sym.st_info) == STT_NOTYPE,
			.is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL,
		};

		if (!is_code_symbol(&table, &sym) || !text_at(&walk->bld, sym.st_value))
			continue;
		function.name = bare_name(walk, strings_at(&table.names, sym.st_name));
		if (!function.name)
			continue;
		walk->cnt++;
		err = walk->fn(walk->arg, &function);
	}
	return err;
}

int symtab_for_each(const struct elf_file *elf, const struct debug_file *debug, elf_function_fn *fn,
		    void *arg, enum symtab_source *source)
{
	struct symtab symtab = {0}; /* collect_texts() notes its base */
	_cleanup_(walk_deinit) struct walk walk = {
		.bld = {.elf = elf, .symtab = &symtab},
		.fn = fn,
		.arg = arg,
	};
	int err = collect_texts(&walk.bld);

	buf_init(&walk.name, BUF_NO_MAX);
	*source = SYMTAB_FULL;
	if (!err)
		err = walk_table(&walk, elf, SHT_SYMTAB);
	if (err || walk.cnt)
		return err;
	if (debug && debug->kind != DEBUG_NONE)
		err = walk_table(&walk, debug->elf, SHT_SYMTAB);
	if (err || (walk.cnt && debug->kind == DEBUG_FULL))
		return err;
	*source = walk.cnt ? SYMTAB_MINI : SYMTAB_DYNAMIC;
	err = walk_table(&walk, elf, SHT_DYNSYM);
	if (!walk.cnt)
		*source = SYMTAB_NONE;
	return err;
}

bool symtab_is_full(const struct elf_file *elf)
{
	struct table table = load_table(elf, SHT_SYMTAB);
	struct symtab symtab = {0};
	_cleanup_(builder_deinit) struct builder bld = {.elf = elf, .symtab = &symtab};
	GElf_Sym sym;

	if (collect_texts(&bld))
		return false;
	for (size_t i = 1; table_symbol(&table, i, &sym); i++) {
		if (is_code_symbol(&table, &sym) && text_at(&bld, sym.st_value))
			return true;
	}
	return false;
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	symbol_index_deinit(&symtab->index);
	free(symtab);
}

enum symtab_source symtab_source(const struct symtab *symtab)
{
	return symtab->source;
}

size_t symtab_range_cnt(const struct symtab *symtab)
{
	return symtab->index.cnt;
}

int symtab_find(const struct symtab *symtab, uint64_t vaddr, struct symtab_name *out)
{
	const struct symbol_range *range;
	const char *name;
	size_t len;

	if (vaddr < symtab->base || vaddr - symtab->base > UINT32_MAX)
		return -ENOENT;
	range = symbol_index_find(&symtab->index, (uint32_t)(vaddr - symtab->base));
	if (!range)
		return -ENOENT;
	name = symtab_name_str(symtab, range->name);
	/* "memcpy@@GLIBC_2.14" is how .symtab writes a version; no language's names hold an '@'
	 * behind their first character. */
	len = name[0] ? 1 + strcspn(name + 1, "@") : 0;
	if (!len)
		return -ENOENT;
	*out = (struct symtab_name){
		.str = name,
		.len = len,
		.is_plt = range->name & NAME_IS_PLT,
		.start = symtab->base + range->start,
		.end = symtab->base + range->end,
	};
	return 0;
}
