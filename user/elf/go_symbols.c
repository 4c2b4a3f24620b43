/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of inlined calls from Go's tables. */
#include "elf/go_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/go_image.h"

enum {
	PCDATA_INLINE_INDEX = 2, /* since Go 1.13 */
	/* Since Go 1.15; before it, one of the tables that were in front of it was still there. */
	FUNCDATA_INLINE_TREE = 3,
	FUNCDATA_INLINE_TREE_1_13 = 4,

	INLINED_BYTES_1_13 = 20,
	INLINED_BYTES_1_20 = 16,

	/* Ranges that one lookup goes through: the largest functions of generated code have some
	 * ten thousand. */
	STEPS_MAX = 1 << 20,
};

struct go_symbols {
	struct go_image image;
};

/* One lookup. */
struct lookup {
	const struct go_image *image;
	const struct go_pclntab *tab;
	struct go_func func;
	uint32_t steps_left;
	int32_t last_index; /* of the inlined call that the walk has come from */
	const char *last_name;
	bool is_lost; /* the walk has left the tree: the function's own place is not known */
};

/* An entry of an inline tree. */
struct inlined_call {
	const char *name; /* NULL: this is none */
	uint32_t start_line;
	uint32_t call_line; /* before Go 1.20 */
	uint64_t parent_vaddr;
};

int go_symbols_from_elf(const struct elf_file *elf, struct go_symbols **out)
{
	struct go_symbols *syms = calloc(1, sizeof(*syms));
	int err;

	if (!syms)
		return -ENOMEM;
	err = go_image_open(elf, &syms->image);
	if (err) {
		free(syms);
		return err;
	}
	*out = syms;
	return 0;
}

void go_symbols_free(struct go_symbols *syms)
{
	if (!syms)
		return;
	go_image_deinit(&syms->image);
	free(syms);
}

size_t go_symbols_func_cnt(const struct go_symbols *syms)
{
	return syms->image.pclntab.func_cnt;
}

/* What the pc table at @table says of @vaddr; -1 when nothing. */
static int32_t value_at(struct lookup *look, uint32_t table, uint64_t vaddr)
{
	struct go_pcvalue pcv;

	if (!table)
		return -1;
	go_pcvalue_init(&pcv, look->tab, &look->func, table);
	while (look->steps_left && go_pcvalue_next(&pcv)) {
		look->steps_left--;
		if (vaddr < pcv.end_vaddr)
			return pcv.value;
	}
	return -1;
}

static uint32_t line_at(struct lookup *look, uint64_t vaddr)
{
	int32_t line = value_at(look, look->func.pcln, vaddr);

	return line > 0 ? (uint32_t)line : 0;
}

/*
 * struct inlinedCall of the runtime. Go 1.20: id u8, 0 u8[3], name, parent pc, line. Go 1.12:
 * parent i16, id u8, 0 u8, file, line of the call, name, parent pc.
 */
static struct inlined_call inlined_read(const struct lookup *look, uint64_t tree_vaddr,
					int32_t index)
{
	bool is_new = look->tab->version >= GO_1_20;
	uint64_t bytes = is_new ? INLINED_BYTES_1_20 : INLINED_BYTES_1_13;
	struct reader rd = go_image_at(look->image, tree_vaddr + (uint64_t)index * bytes);
	struct inlined_call call = {0};
	uint32_t name;

	reader_u32(&rd);
	if (!is_new) {
		reader_u32(&rd);
		call.call_line = reader_u32(&rd);
	}
	name = reader_u32(&rd);
	call.parent_vaddr = look->func.vaddr + reader_u32(&rd);
	if (is_new)
		call.start_line = reader_u32(&rd);
	if (!rd.err && call.parent_vaddr < look->func.end_vaddr)
		call.name = go_pclntab_name(look->tab, name);
	return call;
}

/* Before Go 1.18 one of two places has the tree; there, a call's line is in the tree as well. */
static struct inlined_call inlined_find_old(struct lookup *look, int32_t index)
{
	for (uint32_t i = FUNCDATA_INLINE_TREE; i <= FUNCDATA_INLINE_TREE_1_13; i++) {
		struct inlined_call call;
		uint64_t tree;

		if (!go_func_funcdata(look->tab, &look->func, i, &tree))
			continue;
		call = inlined_read(look, tree, index);
		if (call.name && call.call_line == line_at(look, call.parent_vaddr))
			return call;
	}
	return (struct inlined_call){0};
}

/* The innermost call that was inlined at @vaddr, as the tables say. */
static struct inlined_call inlined_find(struct lookup *look, uint64_t vaddr, int32_t *index)
{
	uint32_t table = go_func_pcdata(look->tab, &look->func, PCDATA_INLINE_INDEX);
	uint64_t tree;

	*index = value_at(look, table, vaddr);
	if (*index < 0)
		return (struct inlined_call){0};
	if (look->tab->version < GO_1_18)
		return inlined_find_old(look, *index);
	if (!look->image->gofunc_vaddr ||
	    !go_func_funcdata(look->tab, &look->func, FUNCDATA_INLINE_TREE, &tree))
		return (struct inlined_call){0};
	return inlined_read(look, look->image->gofunc_vaddr + tree, *index);
}

/*
 * The same, if the last call found may have been inlined into it: callers come before in a tree,
 * and no function is inlined into itself. Compilers (Go 1.24 still does) sometimes give a call in
 * the initialisation of variables a parent pc that is within the call itself, or within another
 * call of the same function.
 */
static struct inlined_call inlined_next(struct lookup *look, uint64_t vaddr)
{
	int32_t index;
	struct inlined_call call = inlined_find(look, vaddr, &index);

	look->is_lost = call.name && (index >= look->last_index || call.name == look->last_name);
	if (look->is_lost)
		return (struct inlined_call){0};
	look->last_index = index;
	look->last_name = call.name;
	return call;
}

static void chain_add(struct lookup *look, uint64_t vaddr, struct go_frame frame,
		      struct go_chain *out)
{
	int32_t file_no = value_at(look, look->func.pcfile, vaddr);
	const char *file = go_pclntab_file(look->tab, &look->func, file_no);

	frame.file = file ? file : "";
	frame.line = line_at(look, vaddr);
	out->frames[out->cnt++] = frame;
}

/* The function itself, around what was inlined at @vaddr. */
static void chain_end(struct lookup *look, uint64_t vaddr, const char *name, struct go_chain *out)
{
	struct go_frame frame = {.name = name, .start_line = look->func.start_line};

	chain_add(look, look->is_lost ? look->func.vaddr : vaddr, frame, out);
	if (look->is_lost)
		out->frames[out->cnt - 1].line = 0;
}

int go_symbols_find(const struct go_symbols *syms, uint64_t vaddr, struct go_chain *out)
{
	struct lookup look = {
		.image = &syms->image,
		.tab = &syms->image.pclntab,
		.steps_left = STEPS_MAX,
		.last_index = INT32_MAX,
	};
	uint64_t index = vaddr < UINT64_MAX ? go_pclntab_search(look.tab, vaddr + 1) : 0;
	struct inlined_call call;
	const char *name;

	if (!index || !go_pclntab_func(look.tab, index - 1, &look.func) ||
	    vaddr < look.func.vaddr || vaddr >= look.func.end_vaddr)
		return -ENOENT;
	name = go_pclntab_name(look.tab, look.func.name);
	if (!name)
		return -ENOENT;
	out->cnt = 0;
	while ((call = inlined_next(&look, vaddr)).name) {
		struct go_frame frame = {
			.name = call.name,
			.start_line = call.start_line,
			.is_inlined = true,
		};

		if (out->cnt == GO_FRAMES_MAX - 1) {
			look.is_lost = true;
			break;
		}
		chain_add(&look, vaddr, frame, out);
		vaddr = call.parent_vaddr;
	}
	chain_end(&look, vaddr, name, out);
	return 0;
}
