/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding .gopclntab in place. */
#include "elf/gopclntab.h"

#include "base/search.h"

enum {
	FUNCS_MAX = 1 << 24,
	POINTER_BYTES = 8,
};

static struct reader read_at(const struct go_pclntab *tab, uint64_t off)
{
	struct reader rd;

	reader_init(&rd, tab->data, tab->len);
	reader_seek(&rd, off);
	return rd;
}

static bool version_of(uint32_t magic, enum go_version *out)
{
	static const uint32_t magics[] = {
		[GO_1_2] = 0xfffffffb,
		[GO_1_16] = 0xfffffffa,
		[GO_1_18] = 0xfffffff0,
		[GO_1_20] = 0xfffffff1,
	};

	for (enum go_version i = GO_1_2; i <= GO_1_20; i++) {
		if (magic == magics[i]) {
			*out = i;
			return true;
		}
	}
	return false;
}

/* Before 1.16 all offsets count from the table's start, and the list of files is behind the
 * functions'. */
static void header_1_2(struct go_pclntab *tab, struct reader *rd)
{
	tab->functab_off = reader_offset(rd);
	reader_seek(rd, tab->functab_off + (2 * tab->func_cnt + 1) * POINTER_BYTES);
	tab->files_off = reader_u32(rd);
}

static void header_1_16(struct go_pclntab *tab, struct reader *rd)
{
	reader_u64(rd); /* files */
	if (tab->version >= GO_1_18)
		tab->text_vaddr = reader_u64(rd);
	tab->names_off = reader_u64(rd);
	tab->cutab_off = reader_u64(rd);
	tab->files_off = reader_u64(rd);
	tab->pctab_off = reader_u64(rd);
	tab->functab_off = reader_u64(rd);
	tab->funcs_off = tab->functab_off;
}

static bool is_inside(const struct go_pclntab *tab, uint64_t off)
{
	return off < tab->len;
}

bool go_pclntab_init(struct go_pclntab *tab, const void *data, size_t len)
{
	struct reader rd;
	uint32_t magic;

	*tab = (struct go_pclntab){.data = data, .len = len};
	rd = read_at(tab, 0);
	magic = reader_u32(&rd);
	if (!version_of(magic, &tab->version) || reader_u16(&rd))
		return false;
	tab->quantum = reader_u8(&rd);
	if (!tab->quantum || tab->quantum > 4 || reader_u8(&rd) != POINTER_BYTES)
		return false;
	tab->func_cnt = reader_u64(&rd);
	if (rd.err || !tab->func_cnt || tab->func_cnt > FUNCS_MAX)
		return false;
	if (tab->version == GO_1_2)
		header_1_2(tab, &rd);
	else
		header_1_16(tab, &rd);
	return !rd.err && is_inside(tab, tab->names_off) && is_inside(tab, tab->cutab_off) &&
	       is_inside(tab, tab->files_off) && is_inside(tab, tab->pctab_off) &&
	       is_inside(tab, tab->functab_off);
}

/* A number of the functab's: u32, before 1.18 u64. */
static uint64_t functab_number(const struct go_pclntab *tab, struct reader *rd)
{
	return tab->version >= GO_1_18 ? reader_u32(rd) : reader_u64(rd);
}

static struct reader functab_at(const struct go_pclntab *tab, uint64_t index)
{
	return read_at(tab, tab->functab_off +
				    index * (tab->version >= GO_1_18 ? 8 : 2 * POINTER_BYTES));
}

uint64_t go_pclntab_entry(const struct go_pclntab *tab, uint64_t index)
{
	struct reader rd = functab_at(tab, index);
	uint64_t entry = functab_number(tab, &rd);

	return rd.err ? UINT64_MAX : tab->text_vaddr + entry;
}

uint64_t go_pclntab_search(const struct go_pclntab *tab, uint64_t vaddr)
{
	return SEARCH_CNT(i, tab->func_cnt, go_pclntab_entry(tab, i) < vaddr);
}

bool go_pclntab_func(const struct go_pclntab *tab, uint64_t index, struct go_func *out)
{
	struct reader rd = functab_at(tab, index);
	uint64_t off;

	*out = (struct go_func){.vaddr = go_pclntab_entry(tab, index),
				.end_vaddr = go_pclntab_entry(tab, index + 1)};
	functab_number(tab, &rd);
	off = functab_number(tab, &rd);
	if (rd.err || off > tab->len)
		return false;
	reader_seek(&rd, tab->funcs_off + off);
	functab_number(tab, &rd); /* the entry again */
	out->name = reader_u32(&rd);
	reader_skip(&rd, 8); /* args, deferreturn */
	out->pcsp = reader_u32(&rd);
	out->pcfile = reader_u32(&rd);
	out->pcln = reader_u32(&rd);
	out->pcdata_cnt = reader_u32(&rd);
	if (tab->version >= GO_1_16)
		out->cu = reader_u32(&rd);
	if (tab->version >= GO_1_20)
		out->start_line = reader_u32(&rd);
	reader_u8(&rd); /* id */
	out->flags = reader_u8(&rd);
	reader_u8(&rd);
	out->funcdata_cnt = reader_u8(&rd);
	out->pcdata_off = reader_offset(&rd);
	return !rd.err && out->vaddr < out->end_vaddr && out->end_vaddr != UINT64_MAX;
}

static const char *string_at(const struct go_pclntab *tab, uint64_t off)
{
	struct reader rd = read_at(tab, off);

	return reader_cstr(&rd, NULL);
}

const char *go_pclntab_name(const struct go_pclntab *tab, uint32_t name)
{
	uint64_t off = tab->names_off + name;
	const char *str;

	/* Behind the end of another one; the first has nothing before it. */
	if (name && (!is_inside(tab, off) || tab->data[off - 1]))
		return NULL;
	str = string_at(tab, off);
	return str && str[0] ? str : NULL;
}

const char *go_pclntab_file(const struct go_pclntab *tab, const struct go_func *func,
			    int32_t file_no)
{
	struct reader rd;
	uint32_t off;

	if (file_no < 0)
		return NULL;
	if (tab->version == GO_1_2) {
		/* The list's first entry is its length. */
		rd = read_at(tab, tab->files_off);
		if (!file_no || (uint32_t)file_no >= reader_u32(&rd))
			return NULL;
		rd = read_at(tab, tab->files_off + (uint64_t)file_no * 4);
		off = reader_u32(&rd);
		return rd.err ? NULL : string_at(tab, off);
	}
	rd = read_at(tab, tab->cutab_off + ((uint64_t)func->cu + (uint64_t)file_no) * 4);
	off = reader_u32(&rd);
	return rd.err || off == UINT32_MAX ? NULL : string_at(tab, tab->files_off + off);
}

void go_pcvalue_init(struct go_pcvalue *pcv, const struct go_pclntab *tab,
		     const struct go_func *func, uint32_t table)
{
	*pcv = (struct go_pcvalue){
		.rd = read_at(tab, tab->pctab_off + table),
		.vaddr = func->vaddr,
		.end_vaddr = func->vaddr,
		.limit_vaddr = func->end_vaddr,
		.value = -1,
		.quantum = tab->quantum,
	};
}

bool go_pcvalue_next(struct go_pcvalue *pcv)
{
	uint32_t change;
	uint64_t quanta;

	if (pcv->end_vaddr >= pcv->limit_vaddr)
		return false;
	change = (uint32_t)reader_uleb128(&pcv->rd);
	quanta = (uint32_t)reader_uleb128(&pcv->rd);
	/* Only the first range may repeat the value before it: else this is the table's end. */
	if (pcv->rd.err || !quanta || (!change && pcv->is_started))
		return false;
	pcv->is_started = true;
	pcv->value = (int32_t)((uint32_t)pcv->value + (change & 1 ? ~(change >> 1) : change >> 1));
	pcv->vaddr = pcv->end_vaddr;
	pcv->end_vaddr += quanta * pcv->quantum;
	if (pcv->end_vaddr > pcv->limit_vaddr)
		pcv->end_vaddr = pcv->limit_vaddr;
	return true;
}

uint32_t go_func_pcdata(const struct go_pclntab *tab, const struct go_func *func, uint32_t index)
{
	struct reader rd = read_at(tab, func->pcdata_off + (uint64_t)index * 4);

	return index < func->pcdata_cnt ? reader_u32(&rd) : 0;
}

bool go_func_funcdata(const struct go_pclntab *tab, const struct go_func *func, uint32_t index,
		      uint64_t *out)
{
	uint64_t off = func->pcdata_off + (uint64_t)func->pcdata_cnt * 4, value;
	struct reader rd;

	if (index >= func->funcdata_cnt)
		return false;
	if (tab->version >= GO_1_18) {
		rd = read_at(tab, off + (uint64_t)index * 4);
		value = reader_u32(&rd);
		if (rd.err || value == UINT32_MAX)
			return false;
	} else {
		off = (off + POINTER_BYTES - 1) & ~(uint64_t)(POINTER_BYTES - 1);
		rd = read_at(tab, off + (uint64_t)index * POINTER_BYTES);
		value = reader_u64(&rd);
		if (rd.err || !value)
			return false;
	}
	*out = value;
	return true;
}
