/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .gnu_debuglink and .gnu_debugdata; both are as hostile as the image that they lie in. */
#include "elf/debug_link.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/elf_priv.h"

enum {
	/* A second or less of reading; only files without a build-id are read for their CRC. */
	CRC_FILE_MAX_BYTES = 512 << 20,
	/* `xz -9` makes dictionaries of 64 MiB. */
	XZ_MEMORY_MAX_BYTES = 96 << 20,
	CHUNK_BYTES = 32 * 1024,
	/* Fedora's largest .gnu_debugdata have a few MiB. */
	SECTION_MAX_BYTES = 64 << 20,
};

/* The bytes of the first section called @name as they are in the file. 0 or -ENOENT. */
static int section_bytes(const struct elf_file *elf, const char *name, struct reader *out)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    strcmp(elf_section_name(elf, &shdr), name) != 0)
			continue;
		data = elf_section_bytes(scn, SECTION_MAX_BYTES);
		if (!data)
			return -ENOENT;
		reader_init(out, data->d_buf, data->d_size);
		return 0;
	}
	return -ENOENT;
}

int debug_link_read(const struct elf_file *elf, struct debug_link *out)
{
	struct reader rd;
	const char *name;
	uint32_t crc;
	size_t len;

	if (section_bytes(elf, ".gnu_debuglink", &rd))
		return -ENOENT;
	rd.big_endian = elf->ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	name = reader_cstr(&rd, &len);
	reader_seek(&rd, (len + 1 + 3) & ~(size_t)3);
	crc = reader_u32(&rd);
	if (rd.err || !len || len > NAME_MAX || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return -EBADMSG;
	memcpy(out->name, name, len + 1);
	out->crc = crc;
	return 0;
}

int debug_link_check(const struct debug_link *link, int fd)
{
	uint8_t chunk[CHUNK_BYTES];
	uLong crc = crc32(0, NULL, 0);
	off_t pos = 0;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size > CRC_FILE_MAX_BYTES)
		return -EFBIG;
	while (pos < st.st_size) {
		ssize_t got = fs_read_at(fd, chunk, sizeof(chunk), (uint64_t)pos);

		if (got < 0)
			return (int)got;
		if (!got)
			break;
		crc = crc32(crc, chunk, (uInt)got);
		pos += got;
	}
	return crc == link->crc ? 0 : -ESTALE;
}

static int xz_error(lzma_ret status)
{
	switch (status) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG; /* LZMA_BUF_ERROR: the input ends early */
	}
}

/* All of @packed, one xz stream, behind what @out holds. */
static int xz_unpack(struct reader packed, struct buf *out)
{
	_cleanup_(lzma_end) lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&stream, XZ_MEMORY_MAX_BYTES, 0);
	uint8_t chunk[CHUNK_BYTES];

	stream.next_in = packed.pos;
	stream.avail_in = reader_left(&packed);
	while (status == LZMA_OK && !out->err) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		status = lzma_code(&stream, LZMA_FINISH);
		buf_add(out, chunk, sizeof(chunk) - stream.avail_out);
	}
	return out->err ? out->err : xz_error(status);
}

int debug_data_unpack(const struct elf_file *elf, struct buf *out)
{
	struct reader packed;
	int err = section_bytes(elf, ".gnu_debugdata", &packed);

	return err ? err : xz_unpack(packed, out);
}
