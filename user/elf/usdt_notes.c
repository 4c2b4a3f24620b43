/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of USDT probes. */
#include "elf/usdt_notes.h"

#include <string.h>

#include "base/reader.h"
#include "elf/elf_priv.h"

enum {
	STAPSDT_TYPE = 3,
	NOTE_ALIGN = 4,
	NOTES_MAX_BYTES = 16 << 20, /* of all sections: a probe takes about 100 */
};

static const char stapsdt_owner[] = "stapsdt";

/* The next @len bytes and what pads them; the last note's padding may be missing. */
static const void *padded_bytes(struct reader *rd, size_t len)
{
	const void *bytes = reader_bytes(rd, len);
	size_t pad = -reader_offset(rd) % NOTE_ALIGN;

	if (bytes)
		reader_skip(rd, pad < reader_left(rd) ? pad : reader_left(rd));
	return bytes;
}

/* False when it is cut short. */
static bool parse_descriptor(const void *bytes, size_t len, struct usdt_note *out)
{
	struct reader rd;

	reader_init(&rd, bytes, len);
	out->pc_vaddr = reader_u64(&rd);
	out->base_vaddr = reader_u64(&rd);
	out->semaphore_vaddr = reader_u64(&rd);
	out->provider = reader_cstr(&rd, NULL);
	out->name = reader_cstr(&rd, NULL);
	out->args = reader_cstr(&rd, NULL);
	return !rd.err;
}

int usdt_notes_parse(const void *bytes, size_t len, usdt_note_fn *fn, void *arg)
{
	struct reader rd;

	reader_init(&rd, bytes, len);
	while (!reader_done(&rd)) {
		uint32_t owner_len = reader_u32(&rd);
		uint32_t desc_len = reader_u32(&rd);
		uint32_t type = reader_u32(&rd);
		const char *owner = padded_bytes(&rd, owner_len);
		const void *desc = padded_bytes(&rd, desc_len);
		struct usdt_note note;
		int err;

		if (rd.err)
			break;
		if (type != STAPSDT_TYPE || owner_len != sizeof(stapsdt_owner) ||
		    memcmp(owner, stapsdt_owner, sizeof(stapsdt_owner)) != 0)
			continue;
		if (!parse_descriptor(desc, desc_len, &note))
			continue;
		err = fn(arg, &note);
		if (err)
			return err;
	}
	return 0;
}

/* A walk over the notes of an image. */
struct notes_walk {
	usdt_note_fn *fn;
	void *arg;
	bool has_base;
	uint64_t base_vaddr; /* of .stapsdt.base as it is now */
};

static int correct_note(void *arg, const struct usdt_note *note)
{
	const struct notes_walk *walk = arg;
	struct usdt_note moved = *note;

	if (walk->has_base && note->base_vaddr) {
		uint64_t shift = walk->base_vaddr - note->base_vaddr;

		moved.pc_vaddr += shift;
		if (moved.semaphore_vaddr)
			moved.semaphore_vaddr += shift;
	}
	return walk->fn(walk->arg, &moved);
}

static void find_base(const struct elf_file *elf, struct notes_walk *walk)
{
	Elf_Scn *scn = NULL;

	while (!walk->has_base && (scn = elf_nextscn(elf->elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) ||
		    strcmp(elf_section_name(elf, &shdr), ".stapsdt.base") != 0)
			continue;
		walk->has_base = true;
		walk->base_vaddr = shdr.sh_addr;
	}
}

int usdt_notes_for_each(const struct elf_file *elf, usdt_note_fn *fn, void *arg)
{
	struct notes_walk walk = {.fn = fn, .arg = arg};
	uint64_t left_bytes = NOTES_MAX_BYTES;
	Elf_Scn *scn = NULL;

	if (elf->ehdr.e_ident[EI_CLASS] != ELFCLASS64 || elf->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	find_base(elf, &walk);
	while ((scn = elf_nextscn(elf->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr shdr;
		int err;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    (shdr.sh_flags & SHF_COMPRESSED))
			continue;
		data = elf_section_bytes(scn, left_bytes);
		if (!data)
			continue;
		left_bytes -= data->d_size;
		err = usdt_notes_parse(data->d_buf, data->d_size, correct_note, &walk);
		if (err)
			return err;
	}
	return 0;
}
