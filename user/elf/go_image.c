/* SPDX-License-Identifier: Apache-2.0 */
/* Finding .gopclntab and moduledata, with and without section headers, relocated and not. */
#include "elf/go_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "elf/elf_priv.h"

enum {
	WORD_BYTES = 8,
	SEGMENTS_MAX = 64, /* a handful occurs, and each lookup goes through them */
	CANDIDATES_MAX = 16, /* words that look like the start of moduledata: one or two occur */
	SEARCHED_MAX_BYTES = 512 << 20, /* of data, where no section says where to look */
	/* Of a file that may not be mapped; `go` itself has 10 MiB. */
	COPIED_MAX_BYTES = 256 << 20,

	/* Words of moduledata (runtime/symtab.go). Slices are address, length, capacity. */
	WORD_PCHEADER = 0,
	WORD_NAMES = 1,
	WORD_FUNCTAB = 13,
	WORD_FUNCTAB_LEN = 14,
	WORD_TEXT = 22,
	WORD_GOFUNC_1_18 = 38,
	WORD_GOFUNC_1_20 = 40,
	WORD_EPCLNTAB_LAST = 48,
	WORDS_CNT,
};

/* The part of a file that holds an array of Elf64_Rela. */
struct relocations {
	struct reader rd;
	uint32_t relative_type;
};

static struct reader reader_of(const struct go_image *image, uint64_t off, uint64_t len)
{
	struct reader rd;

	reader_init(&rd, image->bytes, image->len);
	reader_seek(&rd, off);
	return reader_sub(&rd, len);
}

/* What of @segment is in the file. */
static struct reader segment_reader(const struct go_image *image, const struct elf_segment *segment)
{
	uint64_t left = segment->file_off < image->len ? image->len - segment->file_off : 0;

	return reader_of(image, segment->file_off,
			 segment->file_bytes < left ? segment->file_bytes : left);
}

struct reader go_image_at(const struct go_image *image, uint64_t vaddr)
{
	struct reader rd = {0};

	for (size_t i = 0; i < image->segments.cnt; i++) {
		const struct elf_segment *segment = &image->segments.items[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_bytes) {
			rd = segment_reader(image, segment);
			reader_seek(&rd, vaddr - segment->vaddr);
			return rd;
		}
	}
	reader_init(&rd, NULL, 0);
	return rd;
}

/* A table that could be used as far as its first and last function tell. */
static bool pclntab_try(struct go_image *image, const void *data, size_t len, uint64_t vaddr)
{
	struct go_func func;

	if (!go_pclntab_init(&image->pclntab, data, len) ||
	    !go_pclntab_func(&image->pclntab, 0, &func) ||
	    !go_pclntab_func(&image->pclntab, image->pclntab.func_cnt - 1, &func))
		return false;
	image->pclntab_vaddr = vaddr;
	return true;
}

enum section_kind { SECTION_OTHER, SECTION_PCLNTAB, SECTION_GO_MARK };

static enum section_kind section_kind(const char *name)
{
	if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab"))
		return SECTION_PCLNTAB;
	if (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid"))
		return SECTION_GO_MARK;
	return SECTION_OTHER;
}

static bool pclntab_by_section(const struct elf_file *elf, struct go_image *image)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		struct reader rd;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		if (section_kind(elf_section_name(elf, &shdr)) != SECTION_PCLNTAB)
			continue;
		rd = reader_of(image, shdr.sh_offset, shdr.sh_size);
		return !rd.err && pclntab_try(image, rd.pos, reader_left(&rd), shdr.sh_addr);
	}
	return false;
}

/* A sparse file can be as long as it likes. */
static uint64_t searched_bytes(const struct go_image *image)
{
	return image->len < SEARCHED_MAX_BYTES ? image->len : SEARCHED_MAX_BYTES;
}

/* Data, as long as the segments together are no longer than the file: a hostile one could have each
 * of them hold all of it. */
static bool is_searched(const struct elf_segment *segment, uint64_t *left)
{
	if (segment->is_exec || segment->file_bytes > *left)
		return false;
	*left -= segment->file_bytes;
	return true;
}

static bool pclntab_in_segment(struct go_image *image, const struct elf_segment *segment)
{
	struct reader rd = segment_reader(image, segment);

	while (reader_left(&rd) >= WORD_BYTES) {
		const uint8_t *here = rd.pos;
		uint64_t word = reader_u64(&rd);

		/* Magic, two zeros, any quantum, pointers of 8 bytes. */
		if ((word & 0xff00ffffffffff00) == 0x08000000ffffff00 &&
		    pclntab_try(image, here, reader_left(&rd) + WORD_BYTES,
				segment->vaddr + (uint64_t)(here - rd.start)))
			return true;
	}
	return false;
}

/* Position-independent files have the table in a segment that is writable until it is relocated. */
static bool pclntab_by_magic(struct go_image *image)
{
	uint64_t left = searched_bytes(image);

	for (size_t i = 0; i < image->segments.cnt; i++) {
		if (is_searched(&image->segments.items[i], &left) &&
		    pclntab_in_segment(image, &image->segments.items[i]))
			return true;
	}
	return false;
}

/*
 * An external linker puts the table of a position-independent file into .data.rel.ro; a file
 * without sections may be anything. To search others as well would be to read all of them.
 */
static bool may_be_go(const struct elf_file *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	if (elf->is_copied && elf->file_bytes > COPIED_MAX_BYTES)
		return false;
	if (!elf->shstrndx)
		return true;
	while ((scn = elf_nextscn(elf->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS &&
		    section_kind(elf_section_name(elf, &shdr)) != SECTION_OTHER)
			return true;
	return false;
}

static bool is_moduledata(const struct go_image *image, const uint64_t *words)
{
	const struct go_pclntab *tab = &image->pclntab;

	return words[WORD_PCHEADER] == image->pclntab_vaddr &&
	       words[WORD_NAMES] == image->pclntab_vaddr + tab->names_off &&
	       words[WORD_FUNCTAB] == image->pclntab_vaddr + tab->functab_off && words[WORD_TEXT] &&
	       (!tab->text_vaddr || tab->text_vaddr == words[WORD_TEXT]);
}

static bool words_read(struct reader rd, uint64_t *words)
{
	for (size_t i = 0; i < WORDS_CNT; i++)
		words[i] = reader_u64(&rd);
	return !rd.err;
}

/* By its first word, from the last segment on: data is behind constants. */
static bool moduledata_in_place(const struct go_image *image, uint64_t *words)
{
	uint64_t left = searched_bytes(image);
	int candidates = 0;

	for (size_t i = image->segments.cnt; i-- > 0;) {
		struct reader rd = segment_reader(image, &image->segments.items[i]), at;

		if (!is_searched(&image->segments.items[i], &left))
			continue;
		while (reader_left(&rd) >= WORD_BYTES) {
			at = rd;
			if (reader_u64(&rd) != image->pclntab_vaddr)
				continue;
			if (words_read(at, words) && is_moduledata(image, words))
				return true;
			if (++candidates == CANDIDATES_MAX)
				return false;
		}
	}
	return false;
}

/* The file's relocations with addends, as its dynamic section tells; none when it has none. */
static struct relocations relocations_find(const struct elf_file *elf, const struct go_image *image)
{
	struct relocations relocs = {
		.relative_type =
			elf->ehdr.e_machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE,
	};
	uint64_t rela_vaddr = 0, rela_bytes = 0;
	struct reader rd;
	GElf_Phdr phdr;

	reader_init(&relocs.rd, NULL, 0);
	for (size_t i = 0; i < elf->phdr_cnt; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &phdr) || phdr.p_type != PT_DYNAMIC)
			continue;
		rd = reader_of(image, phdr.p_offset, phdr.p_filesz);
		while (!reader_done(&rd)) {
			uint64_t tag = reader_u64(&rd), value = reader_u64(&rd);

			if (tag == DT_RELA)
				rela_vaddr = value;
			else if (tag == DT_RELASZ)
				rela_bytes = value;
		}
		rd = go_image_at(image, rela_vaddr);
		if (rela_bytes <= reader_left(&rd))
			relocs.rd = reader_sub(&rd, rela_bytes);
		break;
	}
	return relocs;
}

/* The next word that will be an address of this file: *@vaddr will hold *@value. */
static bool relocation_next(struct relocations *relocs, uint64_t *vaddr, uint64_t *value)
{
	while (!reader_done(&relocs->rd)) {
		uint64_t info;

		*vaddr = reader_u64(&relocs->rd);
		info = reader_u64(&relocs->rd);
		*value = reader_u64(&relocs->rd);
		if (!relocs->rd.err && info == relocs->relative_type)
			return true;
	}
	return false;
}

/* The words at @vaddr when the relocations have been applied. */
static bool words_relocated(const struct go_image *image, struct relocations relocs, uint64_t start,
			    uint64_t *words)
{
	uint64_t vaddr, value;

	if (!words_read(go_image_at(image, start), words))
		return false;
	while (relocation_next(&relocs, &vaddr, &value)) {
		uint64_t off = vaddr - start;

		if (vaddr >= start && off < WORDS_CNT * WORD_BYTES && off % WORD_BYTES == 0)
			words[off / WORD_BYTES] = value;
	}
	return true;
}

static bool moduledata_relocated(const struct elf_file *elf, const struct go_image *image,
				 uint64_t *words)
{
	const struct relocations all = relocations_find(elf, image);
	struct relocations relocs = all;
	uint64_t vaddr, value;
	int candidates = 0;

	while (candidates < CANDIDATES_MAX && relocation_next(&relocs, &vaddr, &value)) {
		if (value != image->pclntab_vaddr)
			continue;
		if (words_relocated(image, all, vaddr, words) && is_moduledata(image, words))
			return true;
		candidates++;
	}
	return false;
}

/*
 * Fields were added before gofunc in Go 1.20, and again after 1.26; since 1.26 the end of the table
 * follows it.
 */
static uint64_t gofunc_of(const struct go_image *image, const uint64_t *words)
{
	uint64_t functab_end = words[WORD_FUNCTAB] + words[WORD_FUNCTAB_LEN];
	uint64_t pclntab_end = image->pclntab_vaddr + image->pclntab.len;

	if (image->pclntab.version == GO_1_18)
		return words[WORD_GOFUNC_1_18];
	for (size_t i = WORD_GOFUNC_1_20 + 1; i <= WORD_EPCLNTAB_LAST; i++) {
		if (words[i] == pclntab_end || words[i] == functab_end)
			return words[i - 1];
	}
	return words[WORD_GOFUNC_1_20];
}

/* Before Go 1.18 the table itself has all addresses. */
static int moduledata_use(const struct elf_file *elf, struct go_image *image)
{
	uint64_t words[WORDS_CNT];

	if (image->pclntab.version < GO_1_18)
		return 0;
	if (moduledata_in_place(image, words) || moduledata_relocated(elf, image, words)) {
		image->pclntab.text_vaddr = words[WORD_TEXT];
		image->gofunc_vaddr = gofunc_of(image, words);
	}
	return image->pclntab.text_vaddr ? 0 : -ENOENT;
}

/*
 * The whole file. One that may not be mapped is read here: elf_rawfile() would read it as well, but
 * elf_end() then forgets to free the sections that were read before (elfutils 0.188).
 */
static int bytes_read(const struct elf_file *elf, struct go_image *image)
{
	ssize_t got;

	if (!elf->is_copied) {
		image->bytes = (const uint8_t *)elf_rawfile(elf->elf, &image->len);
		return image->bytes ? 0 : -ENOENT;
	}
	image->copy = malloc(elf->file_bytes + 1);
	if (!image->copy)
		return -ENOMEM;
	while (image->len < elf->file_bytes) {
		got = fs_read_at(elf->fd, image->copy + image->len, elf->file_bytes - image->len,
				 image->len);
		if (got <= 0)
			return -ENOENT;
		image->len += (size_t)got;
	}
	image->bytes = image->copy;
	return 0;
}

static int image_find(const struct elf_file *elf, struct go_image *image)
{
	int err = bytes_read(elf, image);

	if (!err)
		err = elf_segments_parse(image->bytes, image->len, &image->segments);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (image->segments.cnt > SEGMENTS_MAX ||
	    (!pclntab_by_section(elf, image) && !pclntab_by_magic(image)))
		return -ENOENT;
	return moduledata_use(elf, image);
}

int go_image_open(const struct elf_file *elf, struct go_image *out)
{
	struct go_image image = {0};
	int err;

	if (!may_be_go(elf))
		return -ENOENT;
	err = image_find(elf, &image);
	if (err) {
		go_image_deinit(&image);
		return err;
	}
	*out = image;
	return 0;
}

void go_image_deinit(struct go_image *image)
{
	elf_segments_deinit(&image->segments);
	free(image->copy);
	*image = (struct go_image){0};
}
