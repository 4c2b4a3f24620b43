/* SPDX-License-Identifier: Apache-2.0 */
/* Code by its address: see code.h. */
#include "elf/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "elf/segments.h"

/* Where the file has the code at @vaddr, in *@file_off, and how many bytes of @len; 0: nowhere. */
static uint64_t find(const struct elf_segments *segments, uint64_t vaddr, uint64_t len,
		     uint64_t *file_off)
{
	for (size_t i = 0; i < segments->cnt; i++) {
		const struct elf_segment *segment = &segments->items[i];
		uint64_t into = vaddr - segment->vaddr;

		if (!segment->is_exec || vaddr < segment->vaddr || into >= segment->file_bytes)
			continue;
		*file_off = segment->file_off + into;
		return len < segment->file_bytes - into ? len : segment->file_bytes - into;
	}
	return 0;
}

int elf_code_read(int fd, uint64_t vaddr, uint64_t len, struct elf_code *out)
{
	_cleanup_(elf_segments_deinit) struct elf_segments segments = {0};
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t machine[2];
	uint64_t file_off;
	ssize_t got;
	int err = elf_segments_read(fd, &segments);

	if (err)
		return err;
	if (fs_read_at(fd, machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)) !=
	    sizeof(machine))
		return -EBADMSG;
	len = find(&segments, vaddr, len < ELF_CODE_MAX_BYTES ? len : ELF_CODE_MAX_BYTES,
		   &file_off);
	if (!len)
		return -ENOENT;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	got = fs_read_at(fd, bytes, len, file_off);
	if (got <= 0)
		return got ? (int)got : -ENOENT;
	*out = (struct elf_code){
		.machine = (uint16_t)(machine[0] | machine[1] << 8),
		.vaddr = vaddr,
		.bytes = take_ptr(bytes),
		.len = (size_t)got,
	};
	return 0;
}

void elf_code_deinit(struct elf_code *code)
{
	free(code->bytes);
	*code = (struct elf_code){0};
}
