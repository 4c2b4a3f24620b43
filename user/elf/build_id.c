/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GNU build-id. Twice: from an opened image, and from a descriptor by three or four small
 * pread()s for capture time, when hundreds of files may turn up at once. Sizes in the file are
 * never trusted: the tables are read into fixed buffers and what lies beyond them is not there.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/elf_priv.h"
#include "elf/segments.h"

enum {
	PHDRS_MAX = 128, /* linkers write about 12 */
	NOTES_BYTES_MAX = 16 * 1024, /* of one PT_NOTE; the build-id is among its first */
	NOTES_MAX = 64, /* that are looked at; libelf keeps what it has read of each */
};

/* The smallest page: a mapping begins at or before its segment. */
#define PAGE_BYTES UINT64_C(4096)

/* Where a table or segment lies in the file. */
struct file_span {
	uint64_t off, len, align;
};

static void reader_align(struct reader *rd, size_t align)
{
	size_t rest = reader_offset(rd) % align;

	if (rest && align - rest <= reader_left(rd))
		reader_skip(rd, align - rest);
}

/* Notes are aligned to 4, those of a segment with p_align 8 to 8 (gABI). */
static size_t notes_find_build_id(struct reader *rd, uint64_t align, uint8_t *out, size_t max)
{
	align = align == 8 ? 8 : 4;
	while (!reader_done(rd)) {
		uint32_t name_len = reader_u32(rd);
		uint32_t desc_len = reader_u32(rd);
		uint32_t type = reader_u32(rd);
		const char *name = reader_bytes(rd, name_len);
		const uint8_t *desc;

		reader_align(rd, align);
		desc = reader_bytes(rd, desc_len);
		if (rd->err)
			break;
		if (type == NT_GNU_BUILD_ID && name_len == sizeof("GNU") &&
		    !memcmp(name, "GNU", sizeof("GNU")) && desc_len) {
			size_t len = desc_len < max ? desc_len : max;

			memcpy(out, desc, len);
			return len;
		}
		reader_align(rd, align);
	}
	return 0;
}

static size_t notes_in_chunk(const struct elf_file *elf, const struct file_span *span, uint8_t *out,
			     size_t max)
{
	size_t len = span->len < NOTES_BYTES_MAX ? span->len : NOTES_BYTES_MAX;
	Elf_Data *data;
	struct reader rd;

	data = elf_getdata_rawchunk(elf->elf, (int64_t)span->off, len, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return 0;
	reader_init(&rd, data->d_buf, data->d_size);
	rd.big_endian = elf->ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	return notes_find_build_id(&rd, span->align, out, max);
}

size_t elf_build_id(const struct elf_file *elf, uint8_t *out, size_t max)
{
	size_t tried_cnt = 0, len;
	Elf_Scn *scn = NULL;

	for (size_t i = 0; i < elf->phdr_cnt && tried_cnt < NOTES_MAX; i++) {
		struct file_span span;
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE)
			continue;
		tried_cnt++;
		span = (struct file_span){phdr.p_offset, phdr.p_filesz, phdr.p_align};
		len = notes_in_chunk(elf, &span, out, max);
		if (len)
			return len;
	}
	while (tried_cnt < NOTES_MAX && (scn = elf_nextscn(elf->elf, scn))) {
		struct file_span span;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		tried_cnt++;
		span = (struct file_span){shdr.sh_offset, shdr.sh_size, shdr.sh_addralign};
		len = notes_in_chunk(elf, &span, out, max);
		if (len)
			return len;
	}
	return 0;
}

/* Up to @len bytes at @off; fewer at the end of the file, 0 on error. */
static size_t pread_span(int fd, void *out, size_t len, uint64_t off)
{
	ssize_t got = fs_read_at(fd, out, len, off);

	return got < 0 ? 0 : (size_t)got;
}

struct phdr_table {
	bool is_64;
	bool big_endian;
	uint64_t off;
	size_t cnt;
	size_t entry_bytes;
};

static int phdr_table_read(int fd, struct phdr_table *out)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	struct phdr_table table;
	const uint8_t *ident;
	struct reader rd;

	reader_init(&rd, bytes, pread_span(fd, bytes, sizeof(bytes), 0));
	ident = reader_bytes(&rd, EI_NIDENT);
	if (!ident || memcmp(ident, ELFMAG, SELFMAG))
		return -EBADMSG;
	table.is_64 = ident[EI_CLASS] == ELFCLASS64;
	table.big_endian = rd.big_endian = ident[EI_DATA] == ELFDATA2MSB;
	if (table.is_64) {
		reader_seek(&rd, offsetof(Elf64_Ehdr, e_phoff));
		table.off = reader_u64(&rd);
		reader_seek(&rd, offsetof(Elf64_Ehdr, e_phentsize));
	} else {
		reader_seek(&rd, offsetof(Elf32_Ehdr, e_phoff));
		table.off = reader_u32(&rd);
		reader_seek(&rd, offsetof(Elf32_Ehdr, e_phentsize));
	}
	table.entry_bytes = reader_u16(&rd);
	table.cnt = reader_u16(&rd);
	if (rd.err || table.entry_bytes != (table.is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return -EBADMSG;
	if (table.cnt > PHDRS_MAX)
		table.cnt = PHDRS_MAX;
	*out = table;
	return 0;
}

/* One program header at the cursor; true when it is a PT_NOTE. */
static bool phdr_read_note(struct reader *rd, bool is_64, struct file_span *out)
{
	uint32_t type = reader_u32(rd);

	if (is_64) {
		reader_skip(rd, 4); /* p_flags */
		out->off = reader_u64(rd);
		reader_skip(rd, 16); /* p_vaddr, p_paddr */
		out->len = reader_u64(rd);
		reader_skip(rd, 8); /* p_memsz */
		out->align = reader_u64(rd);
	} else {
		out->off = reader_u32(rd);
		reader_skip(rd, 8);
		out->len = reader_u32(rd);
		reader_skip(rd, 8); /* p_memsz, p_flags */
		out->align = reader_u32(rd);
	}
	return type == PT_NOTE && !rd->err;
}

size_t elf_build_id_fd(int fd, uint8_t *out, size_t max)
{
	uint8_t phdrs[PHDRS_MAX * sizeof(Elf64_Phdr)];
	uint8_t notes[NOTES_BYTES_MAX];
	struct phdr_table table;
	struct reader rd;

	if (phdr_table_read(fd, &table))
		return 0;
	reader_init(&rd, phdrs, pread_span(fd, phdrs, table.cnt * table.entry_bytes, table.off));
	rd.big_endian = table.big_endian;
	while (!reader_done(&rd)) {
		struct file_span span;
		struct reader note_rd;
		size_t len;

		if (!phdr_read_note(&rd, table.is_64, &span))
			continue;
		len = span.len < sizeof(notes) ? span.len : sizeof(notes);
		reader_init(&note_rd, notes, pread_span(fd, notes, len, span.off));
		note_rd.big_endian = table.big_endian;
		len = notes_find_build_id(&note_rd, span.align, out, max);
		if (len)
			return len;
	}
	return 0;
}

/* Does the file with this head load code from file offset @off? */
static bool loads_code_from(const void *head, size_t len, uint64_t off)
{
	_cleanup_(elf_segments_deinit) struct elf_segments segments = {0};

	if (elf_segments_parse(head, len, &segments))
		return false;
	for (size_t i = 0; i < segments.cnt; i++) {
		const struct elf_segment *segment = &segments.items[i];
		uint64_t start = segment->file_off & -PAGE_BYTES;

		if (segment->is_exec && off >= start &&
		    off < segment->file_off + segment->file_bytes)
			return true;
	}
	return false;
}

size_t elf_build_id_head(const void *head, size_t len, uint64_t exec_off, uint8_t *out, size_t max)
{
	int fd = memfd_create("head", MFD_CLOEXEC);
	size_t id_len = 0;

	if (fd < 0)
		return 0;
	if (write(fd, head, len) == (ssize_t)len && loads_code_from(head, len, exec_off))
		id_len = elf_build_id_fd(fd, out, max);
	close(fd);
	return id_len;
}
