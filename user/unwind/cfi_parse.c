/* SPDX-License-Identifier: Apache-2.0 */
/* Walking .eh_frame and .debug_frame. */
#include "unwind/cfi_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/cfi_pointer.h"

#define DWARF64_ESCAPE 0xffffffffU
#define NO_OFF UINT64_MAX

/* A record: its length taken off, its id read. */
struct cfi_record {
	uint64_t end_off; /* in the section */
	uint64_t id_off;
	uint64_t id;
	bool is_64bit; /* the 64-bit DWARF format */
};

void cfi_walk_init(struct cfi_walk *walk, const struct cfi_section *section)
{
	*walk = (struct cfi_walk){.section = *section, .last_cie_off = NO_OFF};
	reader_init(&walk->rd, section->data, section->len);
	hmap_init(&walk->cie_by_off);
}

void cfi_walk_deinit(struct cfi_walk *walk)
{
	free(walk->cies);
	hmap_deinit(&walk->cie_by_off);
	*walk = (struct cfi_walk){.last_cie_off = NO_OFF};
}

struct reader cfi_walk_program(const struct cfi_walk *walk, uint32_t off, uint32_t len)
{
	struct reader rd;

	reader_init(&rd, walk->section.data, walk->section.len);
	reader_seek(&rd, off);
	return reader_sub(&rd, len);
}

/* Read the head of the record at @rd's cursor. False when there is none: a zero word, or bytes are
 * missing (rd->err). */
static bool record_read(struct reader *rd, struct cfi_record *out)
{
	uint64_t len = reader_u32(rd);

	if (!len)
		return false;
	*out = (struct cfi_record){.is_64bit = len == DWARF64_ESCAPE};
	if (out->is_64bit)
		len = reader_u64(rd);
	out->id_off = reader_offset(rd);
	if (len > reader_left(rd)) {
		rd->err = -EBADMSG;
		return false;
	}
	out->end_off = out->id_off + len;
	out->id = out->is_64bit ? reader_u64(rd) : reader_u32(rd);
	return !rd->err;
}

static bool record_is_cie(const struct cfi_walk *walk, const struct cfi_record *record)
{
	if (!walk->section.is_debug_frame)
		return record->id == 0;
	return record->id == (record->is_64bit ? UINT64_MAX : UINT32_MAX);
}

static struct cfi_pointer_bases walk_bases(const struct cfi_walk *walk)
{
	return (struct cfi_pointer_bases){
		.section = walk->section.vaddr,
		.text = walk->section.text_vaddr,
		.data = walk->section.data_vaddr,
	};
}

/* What the letters after 'z' say; unknown ones end it, the length in front lets us skip them. */
static void cie_augmentation(struct cfi_cie *cie, struct reader *rd, const char *letters)
{
	uint64_t len = reader_uleb128(rd);
	struct reader data = reader_sub(rd, len);

	cie->has_augmentation = true;
	for (; *letters && !data.err; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_enc = reader_u8(&data);
			break;
		case 'L':
			reader_skip(&data, 1);
			break;
		case 'P':
			cfi_pointer_skip(&data, reader_u8(&data));
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* return addresses are signed with key B */
		case 'G': /* the stack is tagged */
			break;
		default:
			return;
		}
	}
	if (data.err)
		rd->err = data.err;
}

/* The fields behind a CIE's id, up to its instructions. False: not understood. */
static bool cie_read(struct cfi_cie *cie, struct reader *rd)
{
	uint8_t version = reader_u8(rd), address_bytes = 8, selector_bytes = 0;
	const char *augmentation = reader_cstr(rd, NULL);

	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		address_bytes = reader_u8(rd);
		selector_bytes = reader_u8(rd);
	}
	cie->code_align = reader_uleb128(rd);
	cie->data_align = reader_sleb128(rd);
	cie->ra_reg = version == 1 ? reader_u8(rd) : reader_uleb128(rd);
	cie->pointer_enc = CFI_PTR_ABS;
	if (*augmentation == 'z')
		cie_augmentation(cie, rd, augmentation + 1);
	else if (*augmentation)
		return false;
	return !rd->err && address_bytes == 8 && !selector_bytes && cie->code_align;
}

/* The CIE whose record starts at @off; is_bad when there is none that we understand. */
static struct cfi_cie cie_parse(const struct cfi_walk *walk, uint64_t off)
{
	struct cfi_cie cie = {.is_bad = true};
	struct cfi_record record;
	struct reader rd, body;

	reader_init(&rd, walk->section.data, walk->section.len);
	reader_seek(&rd, off);
	if (rd.err || !record_read(&rd, &record) || !record_is_cie(walk, &record))
		return cie;
	reader_init(&body, walk->section.data, record.end_off);
	reader_seek(&body, reader_offset(&rd));
	if (!cie_read(&cie, &body))
		return cie;
	cie.program_off = (uint32_t)reader_offset(&body);
	cie.program_len = (uint32_t)reader_left(&body);
	cie.is_bad = false;
	return cie;
}

/* Offsets are the whole key, and the hash keeps all of it apart. */
static bool same_off(const void *owner, uint32_t index, const void *key)
{
	(void)owner, (void)index, (void)key;
	return true;
}

/* The index of the CIE at @off, parsed on first use; HMAP_NONE: too many, or no memory
 * (walk->err). */
static uint32_t cie_get(struct cfi_walk *walk, uint64_t off)
{
	uint32_t index;

	if (off == walk->last_cie_off)
		return walk->last_cie;
	index = hmap_find(&walk->cie_by_off, hash_mix(0, off), same_off, NULL, NULL);
	if (index == HMAP_NONE) {
		if (walk->cies_cnt == CFI_CIES_MAX)
			return HMAP_NONE;
		walk->err = array_reserve(&walk->cies, &walk->cies_cap, walk->cies_cnt + 1,
					  sizeof(*walk->cies));
		index = (uint32_t)walk->cies_cnt;
		if (!walk->err)
			walk->err = hmap_insert(&walk->cie_by_off, hash_mix(0, off), index);
		if (walk->err)
			return HMAP_NONE;
		walk->cies[walk->cies_cnt++] = cie_parse(walk, off);
	}
	walk->last_cie_off = off;
	walk->last_cie = index;
	return index;
}

/*
 * Where @record's CIE is. .eh_frame counts backwards from the id, .debug_frame from the section's
 * start; both may name any place, so NO_OFF for what lies outside or is the FDE itself.
 */
static uint64_t cie_off_of(const struct cfi_walk *walk, const struct cfi_record *record)
{
	uint64_t off = walk->section.is_debug_frame ? record->id : record->id_off - record->id;

	return off < walk->section.len ? off : NO_OFF;
}

/* The fields of the FDE @record, whose id has just been read by @body. */
static bool fde_read(struct cfi_walk *walk, const struct cfi_record *record, struct reader *body,
		     struct cfi_fde *out)
{
	struct cfi_pointer_bases bases = walk_bases(walk);
	uint64_t cie_off = cie_off_of(walk, record);
	const struct cfi_cie *cie;

	if (cie_off == NO_OFF)
		return false;
	out->cie = cie_get(walk, cie_off);
	if (out->cie == HMAP_NONE)
		return false;
	cie = &walk->cies[out->cie];
	if (cie->is_bad)
		return false;
	out->start_vaddr = cfi_pointer_read(body, cie->pointer_enc, &bases);
	out->bytes = cfi_pointer_read(body, cie->pointer_enc & CFI_PTR_FORMAT_MASK, &bases);
	if (cie->has_augmentation)
		reader_skip(body, reader_uleb128(body));
	out->program_off = (uint32_t)reader_offset(body);
	out->program_len = (uint32_t)reader_left(body);
	return !body->err;
}

/* Whether the record at the cursor is an FDE that we understand; moves behind it either way. */
static bool walk_record(struct cfi_walk *walk, const struct cfi_record *record, struct cfi_fde *out)
{
	struct reader body = walk->rd;

	body.end = body.start + record->end_off;
	reader_seek(&walk->rd, record->end_off);
	if (record_is_cie(walk, record))
		return false;
	if (body.pos <= body.end && fde_read(walk, record, &body, out))
		return true;
	walk->refused_cnt++;
	return false;
}

bool cfi_walk_next(struct cfi_walk *walk, struct cfi_fde *out)
{
	struct cfi_record record;

	while (!walk->err && !reader_done(&walk->rd)) {
		if (record_read(&walk->rd, &record)) {
			if (walk_record(walk, &record, out))
				return true;
		} else if (walk->rd.err) {
			/* The lengths no longer lead on: what is left is not readable. */
			walk->refused_cnt++;
		} else if (walk->section.is_open) {
			return false;
		}
	}
	return false;
}
