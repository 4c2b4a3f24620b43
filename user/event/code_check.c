/* SPDX-License-Identifier: Apache-2.0 */
#include "event/code_check.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/fs.h"

/* Larger than any function; it bounds what is read for one address. */
enum { FUNCTION_MAX_BYTES = 64 << 20 };

/* The executable segment that has @vaddr in the file, or NULL. */
static const struct elf_segment *segment_at(const struct elf_segments *segments, uint64_t vaddr)
{
	for (size_t i = 0; i < segments->cnt; i++) {
		const struct elf_segment *segment = &segments->items[i];

		if (segment->is_exec && vaddr - segment->vaddr < segment->file_bytes)
			return segment;
	}
	return NULL;
}

int code_file_off(const struct elf_segments *segments, uint64_t vaddr, uint64_t *out)
{
	const struct elf_segment *segment = segment_at(segments, vaddr);

	if (!segment)
		return -ENOENT;
	*out = vaddr - segment->vaddr + segment->file_off;
	return 0;
}

static int decode(const struct code_image *image, const uint8_t *code, size_t len, uint64_t vaddr,
		  struct insn *out)
{
	return image->is_arm64 ? insn_arm64_decode(code, len, vaddr, out)
			       : insn_x86_decode(code, len, vaddr, out);
}

/* Decode from @start on until an instruction begins at @vaddr, or one goes beyond it. */
static int walk_to(const struct code_image *image, const uint8_t *code, size_t len, uint64_t start,
		   uint64_t vaddr, struct insn *out, struct buf *why)
{
	uint64_t at = start;

	for (;;) {
		if (decode(image, code + (at - start), len - (at - start), at, out)) {
			buf_printf(why, "the bytes at 0x%" PRIx64 " are no instruction", at);
			return -EBADMSG;
		}
		if (at == vaddr)
			return 0;
		if (vaddr - at < out->len) {
			buf_printf(why,
				   "in the middle of an instruction: 0x%" PRIx64
				   " begins one of %u bytes",
				   at, out->len);
			return -EINVAL;
		}
		at += out->len;
	}
}

/* Read from @start to what may be an instruction at @vaddr, and walk. */
static int check_from(const struct code_image *image, const struct elf_segment *segment,
		      uint64_t start, uint64_t vaddr, struct insn *out, struct buf *why)
{
	uint64_t want = vaddr - start + INSN_X86_MAX_BYTES;
	uint64_t room = segment->vaddr + segment->file_bytes - start;
	_cleanup_free_ uint8_t *code = NULL;
	ssize_t got;

	if (want > room)
		want = room;
	if (want > FUNCTION_MAX_BYTES) {
		buf_add_str(why, "no function begins near it");
		return -ENOENT;
	}
	code = malloc(want);
	if (!code)
		return -ENOMEM;
	got = fs_read_at(image->fd, code, want, start - segment->vaddr + segment->file_off);
	if (got < 0 || (uint64_t)got <= vaddr - start) {
		buf_add_str(why, "the file cannot be read there");
		return -EIO;
	}
	return walk_to(image, code, (size_t)got, start, vaddr, out, why);
}

/* Where the function around @vaddr starts. */
static int find_start(const struct code_image *image, const struct elf_segment *segment,
		      uint64_t vaddr, uint64_t *out)
{
	const struct function *function = functions_at(image->functions, vaddr);
	uint64_t start;

	if (function) {
		start = function->vaddr;
	} else {
		int err = unwind_table_start(image->elf, vaddr, &start);

		if (err)
			return err;
	}
	if (start - segment->vaddr >= segment->file_bytes)
		return -ENOENT;
	*out = start;
	return 0;
}

int code_check(const struct code_image *image, uint64_t vaddr, struct insn *out, struct buf *why)
{
	const struct elf_segment *segment = segment_at(image->segments, vaddr);
	struct insn insn;
	uint64_t start;
	int err;

	if (!segment) {
		buf_add_str(why, "not in an executable segment");
		return -EFAULT;
	}
	if (find_start(image, segment, vaddr, &start)) {
		buf_add_str(why, "no function is known there");
		return -ENOENT;
	}
	err = check_from(image, segment, start, vaddr, &insn, why);
	if (err)
		return err;
	if (insn.probe == PROBE_REFUSED || insn.probe == PROBE_MISHANDLED) {
		buf_add_str(why, insn.why);
		return -EOPNOTSUPP;
	}
	*out = insn;
	return 0;
}
