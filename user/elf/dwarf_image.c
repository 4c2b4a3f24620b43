/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and decompressing the DWARF sections of an ELF file. */
#include "elf/dwarf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/clock.h"
#include "elf/dwarf_cu.h"
#include "elf/elf_priv.h"

enum {
	/* Between two looks at the clock: some ms of inflating, some us of paying. */
	INFLATE_STEP_BYTES = 1 << 20,
	PAYMENTS_PER_LOOK = 16,
	/* Deflate cannot do better, so a header that promises more lies. */
	INFLATE_RATIO_MAX = 1032,
	ZDEBUG_HEADER_BYTES = 12, /* "ZLIB" and a big-endian size, before SHF_COMPRESSED was */
};

static const char *const section_names[DWARF_SECTION_CNT] = {
	[DWARF_INFO] = "info",	       [DWARF_ABBREV] = "abbrev",
	[DWARF_STR] = "str",	       [DWARF_LINE] = "line",
	[DWARF_LINE_STR] = "line_str", [DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",	       [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_CU_INDEX] = "cu_index",
};

/* Which section @name is; DWARF_SECTION_CNT: none of ours. */
static enum dwarf_section section_of(const char *name, bool is_split, bool *is_zdebug)
{
	*is_zdebug = !strncmp(name, ".zdebug_", strlen(".zdebug_"));
	if (!*is_zdebug && strncmp(name, ".debug_", strlen(".debug_")))
		return DWARF_SECTION_CNT;
	name = strchr(name, '_') + 1;
	for (int i = 0; i < DWARF_SECTION_CNT; i++) {
		size_t len = strlen(section_names[i]);
		/* The index of a package has no suffix. */
		const char *suffix = is_split && i != DWARF_CU_INDEX ? ".dwo" : "";

		if (!strncmp(name, section_names[i], len) && !strcmp(name + len, suffix))
			return i;
	}
	return DWARF_SECTION_CNT;
}

static int inflate_steps(z_stream *stream, uint64_t full_bytes, struct dwarf_account *account)
{
	int status = Z_OK;

	while (status == Z_OK && full_bytes) {
		uint64_t step_bytes =
			full_bytes < INFLATE_STEP_BYTES ? full_bytes : INFLATE_STEP_BYTES;

		if (dwarf_is_late(account))
			return -ETIME;
		stream->avail_out = (uInt)step_bytes;
		status = inflate(stream, full_bytes == step_bytes ? Z_FINISH : Z_NO_FLUSH);
		if (stream->avail_out == step_bytes)
			break;
		full_bytes -= step_bytes - stream->avail_out;
	}
	return status == Z_STREAM_END && !full_bytes ? 0 : -EBADMSG;
}

/* Replace @bytes, compressed, by its content of @full_bytes, which the file claims. */
static int inflate_section(struct dwarf_bytes *bytes, uint64_t full_bytes,
			   struct dwarf_account *account)
{
	z_stream stream = {.next_in = (Bytef *)bytes->data, .avail_in = (uInt)bytes->len};
	void *full;
	int err;

	if (!full_bytes || bytes->len > UINT32_MAX || full_bytes > DWARF_MEMORY_MAX_BYTES ||
	    full_bytes / INFLATE_RATIO_MAX > bytes->len)
		return -EFBIG;
	full = mmap(NULL, full_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (full == MAP_FAILED)
		return -ENOMEM;
	stream.next_out = full;
	err = inflateInit(&stream) == Z_OK ? 0 : -ENOMEM;
	if (!err) {
		err = inflate_steps(&stream, full_bytes, account);
		inflateEnd(&stream);
	}
	if (err) {
		munmap(full, full_bytes);
		return err;
	}
	*bytes = (struct dwarf_bytes){.data = full, .len = full_bytes, .is_owned = true};
	return 0;
}

static int inflate_zdebug(struct dwarf_bytes *bytes, struct dwarf_account *account)
{
	struct reader rd;
	const char *magic;
	uint64_t full_bytes;

	reader_init(&rd, bytes->data, bytes->len);
	rd.big_endian = true;
	magic = reader_bytes(&rd, 4);
	full_bytes = reader_u64(&rd);
	if (rd.err || memcmp(magic, "ZLIB", 4))
		return -EBADMSG;
	bytes->data += ZDEBUG_HEADER_BYTES;
	bytes->len -= ZDEBUG_HEADER_BYTES;
	return inflate_section(bytes, full_bytes, account);
}

static int inflate_elf(Elf_Scn *scn, const struct dwarf_image *image, struct dwarf_bytes *bytes)
{
	size_t header_bytes = image->elf->ehdr.e_ident[EI_CLASS] == ELFCLASS32 ? sizeof(Elf32_Chdr)
									       : sizeof(Elf64_Chdr);
	GElf_Chdr chdr;

	if (!gelf_getchdr(scn, &chdr) || bytes->len < header_bytes)
		return -EBADMSG;
	if (chdr.ch_type != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	bytes->data += header_bytes;
	bytes->len -= header_bytes;
	return inflate_section(bytes, chdr.ch_size, image->account);
}

/* Memory for sections so far. */
static uint64_t memory_bytes(const struct dwarf_image *image)
{
	uint64_t bytes = 0;

	for (int i = 0; i < DWARF_SECTION_CNT; i++)
		if (image->sections[i].is_owned || image->elf->is_copied)
			bytes += image->sections[i].len;
	return bytes;
}

static int section_take(struct dwarf_image *image, Elf_Scn *scn)
{
	struct dwarf_bytes bytes = {0};
	enum dwarf_section which;
	bool is_zdebug;
	GElf_Shdr shdr;
	Elf_Data *data;
	int err = 0;

	if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
		return 0;
	which = section_of(elf_section_name(image->elf, &shdr), image->is_split, &is_zdebug);
	/* The first of a name: a file may have thousands that each claim all of it. */
	if (which == DWARF_SECTION_CNT || image->sections[which].data)
		return 0;
	if (image->elf->is_copied && (shdr.sh_size > DWARF_MEMORY_MAX_BYTES ||
				      memory_bytes(image) + shdr.sh_size > DWARF_MEMORY_MAX_BYTES))
		return -EFBIG;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return 0;
	bytes.data = data->d_buf;
	bytes.len = data->d_size;
	if (shdr.sh_flags & SHF_COMPRESSED)
		err = inflate_elf(scn, image, &bytes);
	else if (is_zdebug)
		err = inflate_zdebug(&bytes, image->account);
	if (!err)
		image->sections[which] = bytes;
	return err;
}

static int take_sections(struct dwarf_image *image)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(image->elf->elf, scn))) {
		int err = section_take(image, scn);

		if (!err && memory_bytes(image) > DWARF_MEMORY_MAX_BYTES)
			err = -EFBIG;
		if (err)
			return err;
	}
	return 0;
}

static void take_exec(struct dwarf_image *image)
{
	for (size_t i = 0; i < image->elf->phdr_cnt && image->exec_cnt < DWARF_EXEC_MAX; i++) {
		struct dwarf_exec *exec = &image->exec[image->exec_cnt];
		GElf_Phdr phdr;

		/* memsz: a separate debug file has no bytes of the code. */
		if (!gelf_getphdr(image->elf->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X) ||
		    __builtin_add_overflow(phdr.p_vaddr, phdr.p_memsz, &exec->hi))
			continue;
		exec->lo = phdr.p_vaddr;
		image->exec_cnt++;
	}
}

int dwarf_image_init(struct dwarf_image *out, struct elf_file *elf, bool is_split,
		     struct dwarf_account *account)
{
	struct dwarf_image image = {.elf = elf, .is_split = is_split, .account = account};
	int err;

	image.is_big_endian = elf->ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	err = take_sections(&image);
	if (!err && (!image.sections[DWARF_INFO].data || !image.sections[DWARF_ABBREV].data))
		err = -ENODATA;
	if (err) {
		dwarf_image_deinit(&image);
		return err;
	}
	take_exec(&image);
	*out = image;
	return 0;
}

int dwarf_image_open(struct dwarf_image *out, int fd, bool is_split, bool is_foreign,
		     struct dwarf_account *account)
{
	struct elf_file *elf = elf_file_open_wary(fd, is_foreign);
	int err;

	if (!elf)
		return -errno;
	err = dwarf_image_init(out, elf, is_split, account);
	if (err) {
		elf_file_free(elf);
		return err;
	}
	/* What is needed is in memory: a thousand split units need no thousand descriptors. */
	elf_cntl(elf->elf, ELF_C_FDDONE);
	out->is_elf_owned = true;
	return 0;
}

void dwarf_image_deinit(struct dwarf_image *image)
{
	for (int i = 0; i < DWARF_SECTION_CNT; i++)
		if (image->sections[i].is_owned)
			munmap((void *)image->sections[i].data, image->sections[i].len);
	dwarf_cus_free(image);
	if (image->is_elf_owned)
		elf_file_free(image->elf);
	*image = (struct dwarf_image){0};
}

bool dwarf_is_there(const struct elf_file *elf)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		bool is_zdebug;
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS &&
		    section_of(elf_section_name(elf, &shdr), false, &is_zdebug) == DWARF_INFO)
			return true;
	}
	return false;
}

uint64_t dwarf_image_bytes(const struct dwarf_image *image)
{
	uint64_t bytes = 0;

	for (int i = 0; i < DWARF_SECTION_CNT; i++)
		bytes += image->sections[i].len;
	return bytes;
}

bool dwarf_image_is_code(const struct dwarf_image *image, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < image->exec_cnt; i++)
		if (lo >= image->exec[i].lo && hi <= image->exec[i].hi)
			return lo < hi;
	return false;
}

struct reader dwarf_reader(const struct dwarf_image *image, enum dwarf_section section,
			   uint64_t off)
{
	struct reader rd;

	reader_init(&rd, image->sections[section].data, image->sections[section].len);
	rd.big_endian = image->is_big_endian;
	reader_seek(&rd, off);
	return rd;
}

const char *dwarf_image_string(const struct dwarf_image *image, enum dwarf_section section,
			       uint64_t off)
{
	struct reader rd = dwarf_reader(image, section, off);

	return reader_cstr(&rd, NULL);
}

bool dwarf_is_late(struct dwarf_account *account)
{
	account->payments_cnt = 0;
	if (account->deadline_ns && clock_monotonic_ns() >= account->deadline_ns)
		account->is_late = true;
	return account->is_late;
}

int dwarf_spend(const struct dwarf_image *image, uint64_t bytes)
{
	struct dwarf_account *account = image->account;

	if (bytes > account->fuel_bytes ||
	    (++account->payments_cnt >= PAYMENTS_PER_LOOK && dwarf_is_late(account))) {
		account->fuel_bytes = 0;
		return -E2BIG;
	}
	account->fuel_bytes -= bytes;
	return 0;
}

uint64_t dwarf_read_uint(struct reader *rd, unsigned int bytes)
{
	uint64_t low;

	switch (bytes) {
	case 1:
		return reader_u8(rd);
	case 2:
		return reader_u16(rd);
	case 3:
		if (rd->big_endian) {
			low = (uint64_t)reader_u8(rd) << 16;
			return low | reader_u16(rd);
		}
		low = reader_u16(rd);
		return low | (uint64_t)reader_u8(rd) << 16;
	case 4:
		return reader_u32(rd);
	default:
		return reader_u64(rd);
	}
}
