/* SPDX-License-Identifier: Apache-2.0 */
/* Finding .eh_frame and .debug_frame (LSB 5.0, chapter 10; DWARF 5, section 6.4) in an ELF image.
 */
#include "elf/cfi_sections.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reader.h"
#include "elf/elf_priv.h"

/* Ten times the largest seen; it bounds what a hostile header can make us allocate. */
enum { SECTION_MAX_BYTES = 128 << 20 };

enum {
	EH_PE_SDATA4 = 0x0b,
	EH_PE_PCREL = 0x10,
	EH_FRAME_PTR_AT = 4, /* in .eh_frame_hdr, after version and three encodings */
};

static int bytes_from_section(Elf_Scn *scn, const GElf_Shdr *shdr, struct elf_bytes *out)
{
	Elf_Data *data;

	if (shdr->sh_type == SHT_NOBITS || !shdr->sh_size)
		return 0;
	if (shdr->sh_size > SECTION_MAX_BYTES)
		return -EFBIG;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return -EBADMSG;
	*out = (struct elf_bytes){.data = data->d_buf, .len = data->d_size, .vaddr = shdr->sh_addr};
	return 0;
}

static int debug_frame_from_section(Elf_Scn *scn, GElf_Shdr *shdr, struct elf_bytes *out)
{
	GElf_Chdr chdr;
	Elf_Data *data;

	if (!(shdr->sh_flags & SHF_COMPRESSED))
		return bytes_from_section(scn, shdr, out);
	if (!gelf_getchdr(scn, &chdr))
		return -EBADMSG;
	if (chdr.ch_size > SECTION_MAX_BYTES)
		return -EFBIG;
	/* Type 0: decompress in libelf's memory, the file stays as it is. */
	if (elf_compress(scn, 0, 0) < 0 || !(data = elf_getdata(scn, NULL)))
		return -EBADMSG;
	*out = (struct elf_bytes){.data = data->d_buf, .len = data->d_size, .vaddr = shdr->sh_addr};
	return 0;
}

static bool is_stub(const struct cfi_sections *cfi, const GElf_Shdr *shdr, const char *name)
{
	if (!(shdr->sh_flags & SHF_EXECINSTR))
		return false;
	return !strcmp(name, ".init") || !strcmp(name, ".fini") ||
	       !strncmp(name, ".plt", strlen(".plt")) ||
	       (cfi->is_vdso && cfi->machine == EM_AARCH64 && !strcmp(name, ".text"));
}

static int section_take(struct cfi_sections *cfi, Elf_Scn *scn, GElf_Shdr *shdr, const char *name)
{
	/* The first of a name: a file may have thousands that each claim all of it. */
	if (!cfi->eh_frame.data && !strcmp(name, ".eh_frame"))
		return bytes_from_section(scn, shdr, &cfi->eh_frame);
	if (!cfi->debug_frame.data && !strcmp(name, ".debug_frame"))
		return debug_frame_from_section(scn, shdr, &cfi->debug_frame);
	if (!cfi->go_pclntab.data && !strcmp(name, ".gopclntab"))
		return bytes_from_section(scn, shdr, &cfi->go_pclntab);
	if (!strcmp(name, ".text"))
		cfi->text_vaddr = shdr->sh_addr;
	else if (!strcmp(name, ".got"))
		cfi->got_vaddr = shdr->sh_addr;
	if (cfi->stubs_cnt < CFI_STUBS_MAX && is_stub(cfi, shdr, name))
		return bytes_from_section(scn, shdr, &cfi->stubs[cfi->stubs_cnt++]);
	return 0;
}

static int sections_find(struct cfi_sections *cfi)
{
	size_t names = elf_names_section(cfi->elf);
	Elf_Scn *scn = NULL;

	if (!names)
		return 0;
	while ((scn = elf_nextscn(cfi->elf, scn))) {
		GElf_Shdr shdr;
		const char *name;
		int err;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(cfi->elf, names, shdr.sh_name);
		err = name ? section_take(cfi, scn, &shdr, name) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* @len bytes of the image at file offset @off, of which @vaddr is the address. */
static int bytes_at(struct cfi_sections *cfi, uint64_t off, uint64_t len, uint64_t vaddr,
		    struct elf_bytes *out)
{
	Elf_Data *data;

	if (len > SECTION_MAX_BYTES)
		return -EFBIG;
	data = elf_getdata_rawchunk(cfi->elf, (int64_t)off, len, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return -EBADMSG;
	*out = (struct elf_bytes){.data = data->d_buf, .len = data->d_size, .vaddr = vaddr};
	return 0;
}

/* From @vaddr to the end of its segment's bytes in the file. */
static int bytes_from_vaddr(struct cfi_sections *cfi, uint64_t vaddr, struct elf_bytes *out)
{
	for (size_t i = 0; i < cfi->segments.cnt; i++) {
		const struct elf_segment *segment = &cfi->segments.items[i];
		uint64_t skip = vaddr - segment->vaddr;

		if (vaddr >= segment->vaddr && skip < segment->file_bytes)
			return bytes_at(cfi, segment->file_off + skip, segment->file_bytes - skip,
					vaddr, out);
	}
	return -EBADMSG;
}

/* .eh_frame_hdr names .eh_frame; only the encoding that every linker writes is followed. */
static int eh_frame_from_hdr(struct cfi_sections *cfi)
{
	struct reader rd;
	uint8_t version, encoding;
	int32_t delta;

	reader_init(&rd, cfi->eh_frame_hdr.data, cfi->eh_frame_hdr.len);
	version = reader_u8(&rd);
	encoding = reader_u8(&rd);
	reader_seek(&rd, EH_FRAME_PTR_AT);
	delta = (int32_t)reader_u32(&rd);
	if (rd.err || version != 1 || encoding != (EH_PE_PCREL | EH_PE_SDATA4))
		return 0;
	cfi->eh_frame_is_open = true;
	return bytes_from_vaddr(cfi, cfi->eh_frame_hdr.vaddr + EH_FRAME_PTR_AT + (uint64_t)delta,
				&cfi->eh_frame);
}

static int eh_frame_from_phdr(struct cfi_sections *cfi)
{
	size_t cnt;
	int err;

	if (elf_getphdrnum(cfi->elf, &cnt))
		return -EBADMSG;
	for (size_t i = 0; i < cnt; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(cfi->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		err = bytes_at(cfi, phdr.p_offset, phdr.p_filesz, phdr.p_vaddr, &cfi->eh_frame_hdr);
		return err ? err : eh_frame_from_hdr(cfi);
	}
	return 0;
}

/* Segments may claim more bytes than the file has; only those that exist can be executed. */
static void segments_clip(struct elf_segments *segments, uint64_t image_bytes)
{
	for (size_t i = 0; i < segments->cnt; i++) {
		struct elf_segment *segment = &segments->items[i];
		uint64_t left =
			segment->file_off < image_bytes ? image_bytes - segment->file_off : 0;

		if (segment->file_bytes > left)
			segment->file_bytes = left;
	}
}

/* Takes what @cfi already holds; releases it on failure. */
static int sections_load(struct cfi_sections *cfi, uint64_t image_bytes)
{
	GElf_Ehdr ehdr;
	int err = -EBADMSG;

	segments_clip(&cfi->segments, image_bytes);
	if (!cfi->elf || elf_kind(cfi->elf) != ELF_K_ELF || !gelf_getehdr(cfi->elf, &ehdr))
		goto fail;
	if (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64)
		goto fail;
	cfi->machine = ehdr.e_machine;
	cfi->entry_vaddr = ehdr.e_entry;
	err = sections_find(cfi);
	if (!err && !cfi->eh_frame.data)
		err = eh_frame_from_phdr(cfi);
	if (!err && cfi->go_pclntab.data && cfi->text_vaddr)
		err = bytes_from_vaddr(cfi, cfi->text_vaddr, &cfi->go_text);
	if (!err)
		return 0;
fail:
	cfi_sections_deinit(cfi);
	return err;
}

int cfi_sections_open(int fd, struct cfi_sections *out)
{
	struct cfi_sections cfi = {0};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!elf_counts_are_sane(fd))
		return -EBADMSG;
	err = elf_segments_read(fd, &cfi.segments);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	cfi.elf = elf_begin(fd, ELF_C_READ, NULL);
	err = sections_load(&cfi, (uint64_t)st.st_size);
	if (err)
		return err;
	*out = cfi;
	return 0;
}

int cfi_sections_from_memory(void *image, size_t len, struct cfi_sections *out)
{
	struct cfi_sections cfi = {.is_vdso = true};
	int err;

	err = elf_segments_parse(image, len, &cfi.segments);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	cfi.elf = elf_memory(image, len);
	err = sections_load(&cfi, len);
	if (err)
		return err;
	*out = cfi;
	return 0;
}

void cfi_sections_deinit(struct cfi_sections *sections)
{
	elf_end(sections->elf);
	elf_segments_deinit(&sections->segments);
	*sections = (struct cfi_sections){0};
}
