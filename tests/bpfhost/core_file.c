/* SPDX-License-Identifier: Apache-2.0 */
/* Notes and segments of a core file. What it leaves out of memory is read from the mapped files. */
#include "core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"
#include "elf/segments.h"

/* What NT_FILE says of one mapping; path NULL: none. */
struct core_mapping {
	uint64_t start, end, file_off;
	const char *path;
};

/* Entry @index of NT_FILE (Linux' fs/binfmt_elf.c); false behind the last. */
static bool file_entry(const struct core_file *core, uint64_t index, struct core_mapping *out)
{
	struct reader rd, names;
	uint64_t cnt, page_bytes;

	reader_init(&rd, core->files, core->files_bytes);
	cnt = reader_u64(&rd);
	page_bytes = reader_u64(&rd);
	names = rd;
	if (index >= cnt || cnt > core->files_bytes / 24)
		return false;
	reader_skip(&rd, index * 24);
	out->start = reader_u64(&rd);
	out->end = reader_u64(&rd);
	out->file_off = reader_u64(&rd) * page_bytes;
	reader_skip(&names, cnt * 24);
	for (uint64_t i = 0; i < index; i++)
		reader_cstr(&names, NULL);
	out->path = reader_cstr(&names, NULL);
	return !rd.err && !names.err;
}

/* The entry that contains @vaddr, or none (path NULL). */
static struct core_mapping file_at(const struct core_file *core, uint64_t vaddr)
{
	struct core_mapping mapping;

	for (uint64_t i = 0; file_entry(core, i, &mapping); i++)
		if (vaddr >= mapping.start && vaddr < mapping.end)
			return mapping;
	return (struct core_mapping){0};
}

static const GElf_Phdr *load_at(const struct core_file *core, uint64_t vaddr)
{
	for (size_t i = 0; i < core->loads_cnt; i++)
		if (vaddr >= core->loads[i].p_vaddr &&
		    vaddr < core->loads[i].p_vaddr + core->loads[i].p_memsz)
			return &core->loads[i];
	return NULL;
}

static int core_read_page(const struct space *space, uint64_t vaddr, uint8_t *out)
{
	const struct core_file *core = space->core;
	const GElf_Phdr *load = load_at(core, vaddr);
	struct core_mapping mapping;
	ssize_t len;
	int fd;

	if (load && vaddr + SPACE_PAGE_BYTES <= load->p_vaddr + load->p_filesz)
		return pread(core->fd, out, SPACE_PAGE_BYTES,
			     (off_t)(load->p_offset + (vaddr - load->p_vaddr))) == SPACE_PAGE_BYTES
			       ? 0
			       : -1;
	mapping = file_at(core, vaddr);
	fd = mapping.path ? open(mapping.path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return -1;
	memset(out, 0, SPACE_PAGE_BYTES);
	len = pread(fd, out, SPACE_PAGE_BYTES, (off_t)(vaddr - mapping.start + mapping.file_off));
	close(fd);
	return len > 0 ? 0 : -1;
}

static int add_thread(struct core_file *core, const struct elf_prstatus *status)
{
	struct core_thread *thread;

	if (array_reserve(&core->threads, &core->threads_cap, core->threads_cnt + 1,
			  sizeof(*core->threads)))
		return -ENOMEM;
	thread = &core->threads[core->threads_cnt++];
	thread->tid = status->pr_pid;
	memcpy(&thread->regs, status->pr_reg, sizeof(thread->regs));
	return 0;
}

static void read_auxv(struct core_file *core, const char *data, size_t len)
{
	struct reader rd;

	reader_init(&rd, data, len);
	while (!reader_done(&rd)) {
		uint64_t type = reader_u64(&rd), value = reader_u64(&rd);

		if (type == AT_SYSINFO_EHDR)
			core->vdso_vaddr = value;
	}
}

static int read_notes(struct core_file *core, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(core->elf, (int64_t)segment->p_offset,
					      segment->p_filesz, ELF_T_NHDR);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;
	int err = 0;

	while (data && !err && (at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const char *desc = (const char *)data->d_buf + desc_at;

		if (note.n_type == NT_PRSTATUS && note.n_descsz >= sizeof(struct elf_prstatus)) {
			err = add_thread(core, (const void *)desc);
		} else if (note.n_type == NT_FILE) {
			core->files = desc;
			core->files_bytes = note.n_descsz;
		} else if (note.n_type == NT_AUXV) {
			read_auxv(core, desc, note.n_descsz);
		}
	}
	return err;
}

static int read_segments(struct core_file *core)
{
	size_t cnt;
	int err = 0;

	if (elf_getphdrnum(core->elf, &cnt))
		return -EBADMSG;
	for (size_t i = 0; i < cnt && !err; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(core->elf, (int)i, &segment))
			return -EBADMSG;
		if (segment.p_type == PT_NOTE)
			err = read_notes(core, &segment);
		if (segment.p_type != PT_LOAD)
			continue;
		err = array_reserve(&core->loads, &core->loads_cap, core->loads_cnt + 1,
				    sizeof(*core->loads));
		if (!err)
			core->loads[core->loads_cnt++] = segment;
	}
	return err;
}

/* Does the mapping of @path from @file_off on hold code? NT_FILE does not say. */
static bool is_code(const char *path, uint64_t file_off)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_segments segments;
	bool found = false;

	if (fd < 0 || elf_segments_read(fd, &segments))
		return false;
	for (size_t i = 0; i < segments.cnt; i++) {
		const struct elf_segment *segment = &segments.items[i];

		found |= segment->is_exec && file_off < segment->file_off + segment->file_bytes &&
			 file_off + SPACE_PAGE_BYTES > segment->file_off;
	}
	elf_segments_deinit(&segments);
	return found;
}

/* Mappings of code: of files as NT_FILE has them (the core leaves them out), and the vdso. */
static int add_mappings(struct core_file *core, struct space *space)
{
	struct core_mapping file;
	int err = 0;

	for (uint64_t i = 0; !err && file_entry(core, i, &file); i++) {
		struct bpfhost_mapping mapping = {.start = file.start,
						  .end = file.end,
						  .file_off = file.file_off,
						  .is_exec = is_code(file.path, file.file_off)};

		err = space_add(space, &mapping, file.path, NULL);
	}
	if (!err && core->vdso_vaddr &&
	    !space_read(space, core->vdso_vaddr, core->vdso, sizeof(core->vdso))) {
		struct bpfhost_mapping vdso = {.start = core->vdso_vaddr,
					       .end = core->vdso_vaddr + sizeof(core->vdso),
					       .is_exec = true};

		err = space_add(space, &vdso, "[vdso]", core->vdso);
	}
	space_sort(space);
	return err;
}

int core_file_open(struct core_file *core, const char *path, struct space *space)
{
	int err;

	*core = (struct core_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	core->elf = core->fd < 0 ? NULL : elf_begin(core->fd, ELF_C_READ, NULL);
	if (!core->elf) {
		fprintf(stderr, "%s: not an ELF file\n", path);
		return -1;
	}
	space_init(space, core_read_page);
	space->core = core;
	err = read_segments(core);
	if (!err)
		err = add_mappings(core, space);
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	return err ? -1 : 0;
}

void core_file_deinit(struct core_file *core)
{
	free(core->loads);
	free(core->threads);
	elf_end(core->elf);
	if (core->fd >= 0)
		close(core->fd);
}
