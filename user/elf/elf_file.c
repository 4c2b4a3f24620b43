/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an ELF image and translating file offsets. The file is mapped, so an index costs page
 * cache and not anonymous memory, and what somebody has cut short reads as zeros. That is a signal
 * for each page, so that what others may change is copied, as far as it is asked for
 * (elf_file_open_wary()). Memory is then what a header claims: whoever asks says how much is sane.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/elf_priv.h"

/* The most sections and segments that an image may have; 65,280 is where linkers begin to need the
 * extended count. */
enum { HEADERS_MAX = 1 << 20 };

/* Names of as many sections, of 60 bytes. */
enum { SECTION_NAMES_MAX_BYTES = 64 << 20 };

/* Where the fields lie that matter here, by class. */
struct header_layout {
	size_t shoff, phnum, shnum; /* in the ELF header */
	size_t size, info, end; /* in a section header */
};

static const struct header_layout layout_32 = {
	offsetof(Elf32_Ehdr, e_shoff), offsetof(Elf32_Ehdr, e_phnum), offsetof(Elf32_Ehdr, e_shnum),
	offsetof(Elf32_Shdr, sh_size), offsetof(Elf32_Shdr, sh_info), sizeof(Elf32_Shdr),
};

static const struct header_layout layout_64 = {
	offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_phnum), offsetof(Elf64_Ehdr, e_shnum),
	offsetof(Elf64_Shdr, sh_size), offsetof(Elf64_Shdr, sh_info), sizeof(Elf64_Shdr),
};

static uint64_t read_word(struct reader *rd, size_t offset, bool is_64)
{
	reader_seek(rd, offset);
	return is_64 ? reader_u64(rd) : reader_u32(rd);
}

static uint16_t read_half(struct reader *rd, size_t offset)
{
	reader_seek(rd, offset);
	return reader_u16(rd);
}

bool elf_counts_are_sane(int fd)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	ssize_t len = fs_read_at(fd, bytes, sizeof(bytes), 0);
	bool is_64 = len > EI_CLASS && bytes[EI_CLASS] == ELFCLASS64;
	const struct header_layout *layout = is_64 ? &layout_64 : &layout_32;
	bool has_many_sections, has_many_segments;
	struct reader rd;
	uint64_t shoff;

	reader_init(&rd, bytes, len > 0 ? (size_t)len : 0);
	rd.big_endian = len > EI_DATA && bytes[EI_DATA] == ELFDATA2MSB;
	shoff = read_word(&rd, layout->shoff, is_64);
	has_many_sections = !read_half(&rd, layout->shnum);
	has_many_segments = read_half(&rd, layout->phnum) == PN_XNUM;
	if (rd.err || !shoff || (!has_many_sections && !has_many_segments))
		return true; /* 16-bit counts, or nothing that libelf would take */
	if (shoff > INT64_MAX)
		return false;
	/* The first section header then holds what the ELF header has no room for. */
	len = fs_read_at(fd, bytes, layout->end, shoff);
	reader_init(&rd, bytes, len > 0 ? (size_t)len : 0);
	if (has_many_sections && read_word(&rd, layout->size, is_64) > HEADERS_MAX)
		return false;
	reader_seek(&rd, layout->info);
	return !has_many_segments || reader_u32(&rd) <= HEADERS_MAX;
}

size_t elf_names_section(Elf *elf)
{
	size_t index;
	Elf_Scn *scn;
	GElf_Shdr shdr;

	if (elf_getshdrstrndx(elf, &index) || !index)
		return 0;
	scn = elf_getscn(elf, index);
	return scn && gelf_getshdr(scn, &shdr) && shdr.sh_size <= SECTION_NAMES_MAX_BYTES ? index
											  : 0;
}

Elf_Data *elf_section_bytes(Elf_Scn *scn, uint64_t max_bytes)
{
	GElf_Shdr shdr;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_size > max_bytes)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

static void cleanup_elf_fn(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

/* Takes @handle. */
static struct elf_file *elf_file_new(Elf *handle)
{
	_cleanup_(cleanup_elf_fn) Elf *guard = handle;
	struct elf_file *elf;

	if (!guard || elf_kind(guard) != ELF_K_ELF) {
		errno = EBADMSG;
		return NULL;
	}
	elf = calloc(1, sizeof(*elf));
	if (!elf)
		return NULL;
	if (!gelf_getehdr(guard, &elf->ehdr)) {
		free(elf);
		errno = EBADMSG;
		return NULL;
	}
	/* Both are 0 for an image without that table; what is in it is still usable. */
	if (elf_getphdrnum(guard, &elf->phdr_cnt))
		elf->phdr_cnt = 0;
	elf->shstrndx = elf_names_section(guard);
	elf->elf = take_ptr(guard);
	return elf;
}

struct elf_file *elf_file_open(int fd)
{
	_cleanup_(mapped_file_close) struct mapped_file map = {0};
	struct elf_file *elf;

	if (mapped_file_open(fd, &map)) /* no memory, or nothing that can be mapped */
		return elf_file_open_unmapped(fd);
	if (!elf_counts_are_sane(fd)) {
		errno = EBADMSG;
		return NULL;
	}
	elf = elf_file_from_memory((void *)map.bytes, map.len);
	if (elf) {
		elf->map = map;
		map = (struct mapped_file){0};
	}
	return elf;
}

struct elf_file *elf_file_open_unmapped(int fd)
{
	struct elf_file *elf;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (!elf_counts_are_sane(fd)) {
		errno = EBADMSG;
		return NULL;
	}
	elf_version(EV_CURRENT);
	elf = elf_file_new(elf_begin(fd, ELF_C_READ, NULL));
	if (elf) {
		elf->is_copied = true;
		elf->file_bytes = (uint64_t)st.st_size;
		elf->fd = fd;
	}
	return elf;
}

struct elf_file *elf_file_open_wary(int fd, bool is_foreign)
{
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (!is_foreign && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return elf_file_open(fd);
	return elf_file_open_unmapped(fd);
}

struct elf_file *elf_file_from_memory(void *image, size_t len)
{
	elf_version(EV_CURRENT);
	return elf_file_new(elf_memory(image, len));
}

bool elf_file_is_cut(const struct elf_file *elf)
{
	return elf && mapped_file_is_cut(&elf->map);
}

void elf_file_free(struct elf_file *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	mapped_file_close(&elf->map);
	free(elf);
}
