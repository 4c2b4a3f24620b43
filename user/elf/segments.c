/* SPDX-License-Identifier: Apache-2.0 */
/* Program headers (System V gABI, chapter 5) to segments. */
#include "elf/segments.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"

enum { PHDRS_MAX_BYTES = 1 << 20 };

/* What the ELF header says of the program headers: *@off, *@cnt. 0 or -EBADMSG. */
static int phdrs_locate(struct reader *rd, uint64_t *off, uint16_t *cnt)
{
	const uint8_t *ident = reader_bytes(rd, EI_NIDENT);
	uint16_t entry_bytes;

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	reader_seek(rd, offsetof(Elf64_Ehdr, e_phoff));
	*off = reader_u64(rd);
	reader_seek(rd, offsetof(Elf64_Ehdr, e_phentsize));
	entry_bytes = reader_u16(rd);
	*cnt = reader_u16(rd);
	return rd->err || entry_bytes != sizeof(Elf64_Phdr) ? -EBADMSG : 0;
}

static int segments_add(struct reader *rd, uint16_t cnt, struct elf_segments *out)
{
	struct elf_segments segments = {0};

	for (uint16_t i = 0; i < cnt; i++) {
		uint32_t type = reader_u32(rd), flags = reader_u32(rd);
		struct elf_segment segment = {.is_exec = flags & PF_X};

		segment.file_off = reader_u64(rd);
		segment.vaddr = reader_u64(rd);
		reader_skip(rd, 8);
		segment.file_bytes = reader_u64(rd);
		reader_skip(rd, 16);
		if (rd->err || type != PT_LOAD)
			continue;
		if (array_reserve(&segments.items, &segments.cap, segments.cnt + 1,
				  sizeof(segment))) {
			elf_segments_deinit(&segments);
			return -ENOMEM;
		}
		segments.items[segments.cnt++] = segment;
	}
	if (rd->err || !segments.cnt) {
		elf_segments_deinit(&segments);
		return -EBADMSG;
	}
	*out = segments;
	return 0;
}

int elf_segments_parse(const void *image, size_t len, struct elf_segments *out)
{
	struct reader rd;
	uint64_t off;
	uint16_t cnt;

	reader_init(&rd, image, len);
	if (phdrs_locate(&rd, &off, &cnt))
		return -EBADMSG;
	reader_seek(&rd, off);
	return segments_add(&rd, cnt, out);
}

/* 0, -EBADMSG where the file ends before, or negative errno. */
static int read_whole(int fd, void *out, size_t len, uint64_t off)
{
	ssize_t got = fs_read_at(fd, out, len, off);

	if (got < 0)
		return (int)got;
	return (size_t)got == len ? 0 : -EBADMSG;
}

int elf_segments_read(int fd, struct elf_segments *out)
{
	_cleanup_free_ char *phdrs = NULL;
	char header[sizeof(Elf64_Ehdr)];
	struct reader rd;
	uint64_t off;
	size_t bytes;
	uint16_t cnt;
	int err = read_whole(fd, header, sizeof(header), 0);

	if (err)
		return err;
	reader_init(&rd, header, sizeof(header));
	if (phdrs_locate(&rd, &off, &cnt))
		return -EBADMSG;
	bytes = cnt * sizeof(Elf64_Phdr);
	if (!bytes || bytes > PHDRS_MAX_BYTES)
		return -EBADMSG;
	phdrs = malloc(bytes);
	if (!phdrs)
		return -ENOMEM;
	err = read_whole(fd, phdrs, bytes, off);
	if (err)
		return err;
	reader_init(&rd, phdrs, bytes);
	return segments_add(&rd, cnt, out);
}

void elf_segments_deinit(struct elf_segments *segments)
{
	free(segments->items);
	*segments = (struct elf_segments){0};
}

int elf_segments_vaddr(const struct elf_segments *segments, uint64_t file_off, uint64_t *out)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < segments->cnt; i++) {
			const struct elf_segment *segment = &segments->items[i];

			if (segment->is_exec != want_exec || file_off < segment->file_off ||
			    file_off - segment->file_off >= segment->file_bytes)
				continue;
			*out = file_off - segment->file_off + segment->vaddr;
			return 0;
		}
	}
	return -ENOENT;
}

static bool loads(const struct elf_segment *segment, uint64_t vaddr)
{
	return vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_bytes;
}

int elf_segments_file_off(const struct elf_segments *segments, uint64_t vaddr, uint64_t *out)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < segments->cnt; i++) {
			const struct elf_segment *segment = &segments->items[i];

			if (segment->is_exec != want_exec || !loads(segment, vaddr))
				continue;
			*out = vaddr - segment->vaddr + segment->file_off;
			return 0;
		}
	}
	return -ENOENT;
}

bool elf_segments_is_code(const struct elf_segments *segments, uint64_t vaddr)
{
	for (size_t i = 0; i < segments->cnt; i++) {
		if (segments->items[i].is_exec && loads(&segments->items[i], vaddr))
			return true;
	}
	return false;
}
