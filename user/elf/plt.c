/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PLT stubs to names. The stubs (psABI x86-64 5.2, AArch64 ELF 10):
 *
 *	x86-64   [endbr64] [bnd] jmp *slot(%rip)                ff 25 <rel32>
 *	aarch64  [bti c] adrp x16, page; ldr x17, [x16, #off]   slot = page + off
 */
#include "elf/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"
#include "base/search.h"
#include "elf/elf_priv.h"

/* Debian 12's Chromium has 25 MiB of relocations. */
enum { SECTION_MAX_BYTES = 128 << 20 };

/* A GOT slot that the dynamic linker fills with the address of a function. */
struct got_slot {
	uint64_t vaddr;
	uint32_t name; /* offset into .dynstr; 0: by resolver */
	uint64_t resolver; /* of an indirect function without symbol (IRELATIVE): where it begins */
};

struct got {
	struct got_slot *slots; /* owned; ascending */
	size_t cnt, cap;
	Elf_Data *dynsym; /* borrowed from the image */
};

struct stub {
	uint64_t vaddr;
	uint64_t slot_vaddr;
};

static bool is_got_relocation(const struct elf_file *elf, uint32_t type)
{
	if (elf->ehdr.e_machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static bool is_irelative(const struct elf_file *elf, uint32_t type)
{
	return type == (elf->ehdr.e_machine == EM_X86_64 ? (uint32_t)R_X86_64_IRELATIVE
							 : (uint32_t)R_AARCH64_IRELATIVE);
}

/* The slot that @rela fills. False: none that we can name. */
static bool slot_of(const struct got *got, const struct elf_file *elf, const GElf_Rela *rela,
		    struct got_slot *out)
{
	GElf_Sym sym;

	*out = (struct got_slot){.vaddr = rela->r_offset};
	if (is_irelative(elf, GELF_R_TYPE(rela->r_info))) {
		out->resolver = (uint64_t)rela->r_addend;
		return true;
	}
	if (!is_got_relocation(elf, GELF_R_TYPE(rela->r_info)) ||
	    GELF_R_SYM(rela->r_info) > INT32_MAX ||
	    !gelf_getsym(got->dynsym, (int)GELF_R_SYM(rela->r_info), &sym))
		return false;
	out->name = sym.st_name;
	return sym.st_name != 0;
}

static int got_add_relocations(struct got *got, const struct elf_file *elf, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Rela rela;

	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		struct got_slot slot;
		int err;

		if (!slot_of(got, elf, &rela, &slot))
			continue;
		err = array_reserve(&got->slots, &got->cap, got->cnt + 1, sizeof(*got->slots));
		if (err)
			return err;
		got->slots[got->cnt++] = slot;
	}
	return 0;
}

static int resolver_cmp(const void *left, const void *right)
{
	uint64_t lhs = ((const struct got_slot *)left)->resolver;
	uint64_t rhs = ((const struct got_slot *)right)->resolver;

	return (lhs > rhs) - (lhs < rhs);
}

/* A library calls its own indirect functions by where their resolvers are: these have the names. */
static void got_name_resolvers(struct got *got)
{
	GElf_Sym sym;
	size_t first;

	qsort(got->slots, got->cnt, sizeof(*got->slots), resolver_cmp);
	first = SEARCH_CNT(i, got->cnt, !got->slots[i].resolver);
	if (first == got->cnt)
		return;
	for (int k = 0; gelf_getsym(got->dynsym, k, &sym); k++) {
		size_t at;

		if (GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC || !sym.st_name)
			continue;
		at = SEARCH_CNT(i, got->cnt, got->slots[i].resolver < sym.st_value);
		/* Of several names the first one. */
		for (; at < got->cnt && got->slots[at].resolver == sym.st_value; at++)
			if (!got->slots[at].name)
				got->slots[at].name = (uint32_t)sym.st_name;
	}
}

static int slot_cmp(const void *left, const void *right)
{
	uint64_t lhs = ((const struct got_slot *)left)->vaddr;
	uint64_t rhs = ((const struct got_slot *)right)->vaddr;

	return (lhs > rhs) - (lhs < rhs);
}

/* The section called @name, NULL when there is none that a linker would have made. */
static Elf_Scn *section_by_name(const struct elf_file *elf, const char *name, GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		if (gelf_getshdr(scn, out) && !strcmp(elf_section_name(elf, out), name))
			return out->sh_size <= SECTION_MAX_BYTES ? scn : NULL;
	}
	return NULL;
}

static int got_init(struct got *got, const struct elf_file *elf)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = section_by_name(elf, ".dynsym", &shdr);
	int err = 0;

	*got = (struct got){0};
	got->dynsym = scn ? elf_getdata(scn, NULL) : NULL;
	if (!got->dynsym)
		return 0;
	scn = section_by_name(elf, ".rela.plt", &shdr);
	if (scn && shdr.sh_type == SHT_RELA)
		err = got_add_relocations(got, elf, scn);
	/* Only the stubs of .plt.got use what .rela.dyn fills; it can hold a million entries. */
	if (!err && section_by_name(elf, ".plt.got", &shdr)) {
		scn = section_by_name(elf, ".rela.dyn", &shdr);
		if (scn && shdr.sh_type == SHT_RELA)
			err = got_add_relocations(got, elf, scn);
	}
	if (err || !got->cnt)
		return err;
	got_name_resolvers(got);
	qsort(got->slots, got->cnt, sizeof(*got->slots), slot_cmp);
	return 0;
}

static void got_deinit(struct got *got)
{
	free(got->slots);
}

static const struct got_slot *got_find(const struct got *got, uint64_t vaddr)
{
	struct got_slot key = {.vaddr = vaddr};

	return bsearch(&key, got->slots, got->cnt, sizeof(key), slot_cmp);
}

/* A stub that begins at the cursor, @rd counting from @vaddr. */
static bool decode_x86(struct reader rd, uint64_t vaddr, struct stub *out)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t begin = reader_offset(&rd);
	int32_t rel;

	if (reader_left(&rd) >= sizeof(endbr64) && !memcmp(rd.pos, endbr64, sizeof(endbr64)))
		reader_skip(&rd, sizeof(endbr64));
	reader_accept(&rd, (char)0xf2); /* bnd */
	if (reader_u8(&rd) != 0xff || reader_u8(&rd) != 0x25)
		return false;
	rel = (int32_t)reader_u32(&rd);
	out->vaddr = vaddr + begin;
	out->slot_vaddr = vaddr + reader_offset(&rd) + (uint64_t)(int64_t)rel;
	return !rd.err;
}

static bool decode_aarch64(struct reader rd, uint64_t vaddr, struct stub *out)
{
	size_t begin = reader_offset(&rd);
	uint64_t page = (vaddr + begin) & ~0xfffULL;
	uint32_t adrp = reader_u32(&rd);
	uint32_t ldr;
	int64_t pages;

	if (adrp == 0xd503245f) { /* bti c */
		page = (vaddr + begin + 4) & ~0xfffULL;
		adrp = reader_u32(&rd);
	}
	ldr = reader_u32(&rd);
	if (rd.err || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	/* immhi in bits 23:5, immlo in 30:29, signed */
	pages = (int64_t)((uint64_t)(((adrp >> 5 & 0x7ffff) << 2) | (adrp >> 29 & 3)) << 43) >> 43;
	out->vaddr = vaddr + begin;
	out->slot_vaddr = page + (uint64_t)pages * 4096 + (ldr >> 10 & 0xfff) * 8;
	return true;
}

/* The stubs of one section: 16 bytes each, 8 in a .plt.got without IBT, 24 with BTI. A stub ends
 * where the next begins at the latest (symbol_index), so a guess that is too long does no harm. */
static int walk_section(const struct elf_file *elf, const struct got *got, Elf_Scn *scn,
			const GElf_Shdr *shdr, plt_stub_fn *fn, void *arg)
{
	bool is_x86 = elf->ehdr.e_machine == EM_X86_64;
	Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t size = shdr->sh_entsize == 8 || shdr->sh_entsize == 24 ? shdr->sh_entsize : 16;
	struct reader rd;

	if (!data || !data->d_buf)
		return 0;
	reader_init(&rd, data->d_buf, data->d_size);
	while (!reader_done(&rd)) {
		const struct got_slot *slot = NULL;
		struct stub stub;
		int err;

		if (is_x86 ? decode_x86(rd, shdr->sh_addr, &stub)
			   : decode_aarch64(rd, shdr->sh_addr, &stub))
			slot = got_find(got, stub.slot_vaddr);
		if (!slot || !slot->name) {
			reader_skip(&rd, is_x86 ? 8 : 4);
			continue;
		}
		err = fn(arg, stub.vaddr, size, slot->name);
		if (err)
			return err;
		reader_skip(&rd, size);
	}
	return 0;
}

int plt_for_each(const struct elf_file *elf, plt_stub_fn *fn, void *arg)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	_cleanup_(got_deinit) struct got got = {0};
	int err;

	if (elf->ehdr.e_machine != EM_X86_64 && elf->ehdr.e_machine != EM_AARCH64)
		return 0;
	err = got_init(&got, elf);
	for (size_t i = 0; !err && got.cnt && i < sizeof(sections) / sizeof(*sections); i++) {
		GElf_Shdr shdr;
		Elf_Scn *scn = section_by_name(elf, sections[i], &shdr);

		if (scn && shdr.sh_type == SHT_PROGBITS)
			err = walk_section(elf, &got, scn, &shdr, fn, arg);
	}
	return err;
}
