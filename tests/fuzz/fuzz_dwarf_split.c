/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: split DWARF. The input is both halves:
 *
 *	kind u8 (split_kind)   skeleton's length u16, little-endian   skeleton   the other file
 *
 * The skeleton is an ELF image; the other file lies beside it, in a folder that is its "/": as the
 * package, or as the .dwo file that the seeds name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/dwarf_chain.h"
#include "fuzz_image.h"

enum split_kind { AS_PACKAGE, AS_DWO, SPLIT_KINDS };

enum {
	HEADER_BYTES = 3,
	FRAMES_MAX = 8,
	CODE_AT = 0x401000, /* where the seeds are linked to */
	CODE_STEP = 5,
	LOOKUPS_CNT = 32,
};

static const char *const file_names[SPLIT_KINDS] = {"split.dwp", "split.dwo"};
static char folder[] = "/dev/shm/bpfprof-fuzz-split.XXXXXX";
static int folder_fd = -1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void remove_files(void)
{
	for (int i = 0; i < SPLIT_KINDS; i++)
		unlinkat(folder_fd, file_names[i], 0);
}

static void remove_folder(void)
{
	remove_files();
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder_fd >= 0)
		return;
	if (!mkdtemp(folder))
		abort();
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0 || atexit(remove_folder))
		abort();
}

static void write_file(const char *name, const uint8_t *data, size_t len)
{
	int fd;

	remove_files();
	fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void look_up(struct dwarf_index *index, uint64_t vaddr)
{
	struct dwarf_frame frames[FRAMES_MAX];
	int cnt = chain_find(index, vaddr, frames, FRAMES_MAX);

	for (int i = 0; i < cnt && i < FRAMES_MAX; i++) {
		/* Every byte that is lent must be readable. */
		if (frames[i].name && strlen(frames[i].name) > SIZE_MAX / 2)
			abort();
		if (frames[i].is_inlined == (i == cnt - 1))
			abort();
	}
}

static void fuzz_skeleton(void *image, size_t len)
{
	const struct dwarf_index_opts opts = {
		.alt_fd = -1,
		.root_fd = folder_fd,
		.path = "/split",
	};
	struct elf_file *elf = elf_file_from_memory(image, len);
	struct dwarf_index *index = NULL;

	if (elf && !dwarf_index_new(elf, &opts, &index))
		for (uint64_t i = 0; i < LOOKUPS_CNT; i++)
			look_up(index, CODE_AT + i * CODE_STEP);
	dwarf_index_free(index);
	elf_file_free(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t skeleton_len;
	void *skeleton;

	if (len < HEADER_BYTES)
		return 0;
	skeleton_len = data[1] | (size_t)data[2] << 8;
	if (skeleton_len > len - HEADER_BYTES)
		return 0;
	make_folder();
	write_file(file_names[data[0] % SPLIT_KINDS], data + HEADER_BYTES + skeleton_len,
		   len - HEADER_BYTES - skeleton_len);
	skeleton = image_copy(data + HEADER_BYTES, skeleton_len);
	fuzz_skeleton(skeleton, skeleton_len);
	free(skeleton);
	return 0;
}
