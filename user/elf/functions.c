/* SPDX-License-Identifier: Apache-2.0 */
/* An image's functions in the order of their addresses; what .eh_frame_hdr says of them. */
#include "elf/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "elf/elf_priv.h"
#include "elf/symtab.h"

/* 10 times what the largest browsers have. */
enum { FUNCTIONS_MAX = 1 << 24, NAMES_MAX_BYTES = 1 << 30 };

struct builder {
	struct functions *functions;
	struct buf names; /* NUL-terminated; items[].name is an offset into it until the end */
};

static void builder_deinit(struct builder *bld)
{
	buf_deinit(&bld->names);
}

static int add_function(void *arg, const struct elf_function *symbol)
{
	struct builder *bld = arg;
	struct functions *functions = bld->functions;
	int err;

	if (!*symbol->name || (symbol->is_label && symbol->is_local))
		return 0;
	if (functions->cnt >= FUNCTIONS_MAX)
		return -ENOMEM;
	err = array_reserve(&functions->items, &functions->cap, functions->cnt + 1,
			    sizeof(*functions->items));
	if (err)
		return err;
	functions->items[functions->cnt++] = (struct function){
		.name = (const char *)(uintptr_t)bld->names.len,
		.vaddr = symbol->vaddr,
		.size = symbol->size_bytes,
		.is_ifunc = symbol->is_ifunc,
		.is_label = symbol->is_label,
	};
	buf_add(&bld->names, symbol->name, strlen(symbol->name) + 1);
	return 0;
}

static int function_cmp(const void *left, const void *right)
{
	const struct function *lhs = left, *rhs = right;
	size_t lhs_under = strspn(lhs->name, "_"), rhs_under = strspn(rhs->name, "_");
	size_t lhs_len = strlen(lhs->name), rhs_len = strlen(rhs->name);

	if (lhs->vaddr != rhs->vaddr)
		return lhs->vaddr > rhs->vaddr ? 1 : -1;
	if (lhs_under != rhs_under)
		return lhs_under > rhs_under ? 1 : -1;
	if (lhs_len != rhs_len)
		return lhs_len > rhs_len ? 1 : -1;
	return strcmp(lhs->name, rhs->name);
}

/* One that stands in two tables is one; it is what the better of both says. */
static void drop_doubles(struct functions *functions)
{
	size_t kept = 0;

	for (size_t i = 0; i < functions->cnt; i++) {
		struct function *item = &functions->items[i];
		struct function *last = kept ? &functions->items[kept - 1] : NULL;

		if (last && last->vaddr == item->vaddr && strcmp(last->name, item->name) == 0) {
			last->size = last->size > item->size ? last->size : item->size;
			last->is_ifunc |= item->is_ifunc;
			last->is_label &= item->is_label;
		} else {
			functions->items[kept++] = *item;
		}
		if (item->vaddr + item->size > functions->end)
			functions->end = item->vaddr + item->size;
	}
	functions->cnt = kept;
}

int functions_from_elf(const struct elf_file *elf, const struct debug_file *debug,
		       struct functions *out)
{
	struct functions functions = {0};
	_cleanup_(builder_deinit) struct builder bld = {.functions = &functions};
	enum symtab_source source;
	int err;

	buf_init(&bld.names, NAMES_MAX_BYTES);
	err = symtab_for_each(elf, debug, add_function, &bld, &source);
	if (!err && functions.cnt) {
		functions.names = buf_take(&bld.names, NULL);
		err = functions.names ? 0 : -ENOMEM;
	}
	if (err) {
		functions_deinit(&functions);
		return err;
	}
	for (size_t i = 0; i < functions.cnt; i++)
		functions.items[i].name = functions.names + (uintptr_t)functions.items[i].name;
	if (functions.cnt)
		qsort(functions.items, functions.cnt, sizeof(*functions.items), function_cmp);
	drop_doubles(&functions);
	*out = functions;
	return 0;
}

void functions_deinit(struct functions *functions)
{
	free(functions->items);
	free(functions->names);
	*functions = (struct functions){0};
}

static bool holds(const struct function *item, uint64_t vaddr)
{
	return vaddr - item->vaddr < item->size || vaddr == item->vaddr ||
	       (!item->size && !item->is_label);
}

const struct function *functions_at(const struct functions *functions, uint64_t vaddr)
{
	const struct function *items = functions->items;
	size_t i = SEARCH_CNT(j, functions->cnt, items[j].vaddr <= vaddr);

	/* The innermost is the one that begins last; of its names the first. */
	while (i-- > 0) {
		if (!holds(&items[i], vaddr))
			continue;
		while (i > 0 && items[i - 1].vaddr == items[i].vaddr && holds(&items[i - 1], vaddr))
			i--;
		return &items[i];
	}
	return NULL;
}

uint64_t functions_extent(const struct functions *functions, const struct function *function)
{
	size_t i = SEARCH_CNT(j, functions->cnt, functions->items[j].vaddr <= function->vaddr);
	uint64_t next = i < functions->cnt ? functions->items[i].vaddr - function->vaddr : 0;

	if (!function->size || !next)
		return function->size;
	return next < function->size ? next : function->size;
}

/* --- .eh_frame_hdr --- */

/* Encodings of GNU's form: version 1, any pointer to .eh_frame, a count of 4 bytes, entries of two
 * signed 4-byte offsets from the header (LSB core 10.6.2). */
enum {
	HDR_BYTES = 12,
	HDR_ENTRY_BYTES = 8,
	HDR_VERSION = 1,
	HDR_COUNT_UDATA4 = 0x03,
	HDR_TABLE_DATAREL_SDATA4 = 0x3b
};

static int32_t hdr_word(const uint8_t *at)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static const uint8_t *find_hdr(const struct elf_file *elf, size_t *len, uint64_t *vaddr)
{
	for (size_t i = 0; i < elf->phdr_cnt; i++) {
		Elf_Data *data;
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    ELF_T_BYTE);
		if (!data || !data->d_buf)
			return NULL;
		*len = data->d_size;
		*vaddr = phdr.p_vaddr;
		return data->d_buf;
	}
	return NULL;
}

int unwind_table_start(const struct elf_file *elf, uint64_t vaddr, uint64_t *out)
{
	size_t len, cnt;
	uint64_t base;
	const uint8_t *hdr = find_hdr(elf, &len, &base);
	const uint8_t *entries;
	size_t before;

	if (!hdr || len < HDR_BYTES || hdr[0] != HDR_VERSION || hdr[2] != HDR_COUNT_UDATA4 ||
	    hdr[3] != HDR_TABLE_DATAREL_SDATA4)
		return -ENOENT;
	entries = hdr + HDR_BYTES;
	cnt = (uint32_t)hdr_word(hdr + 8);
	if (cnt > (len - HDR_BYTES) / HDR_ENTRY_BYTES)
		cnt = (len - HDR_BYTES) / HDR_ENTRY_BYTES;
	before = SEARCH_CNT(
		i, cnt, base + (uint64_t)(int64_t)hdr_word(entries + i * HDR_ENTRY_BYTES) <= vaddr);
	if (!before)
		return -ENOENT;
	*out = base + (uint64_t)(int64_t)hdr_word(entries + (before - 1) * HDR_ENTRY_BYTES);
	return 0;
}
