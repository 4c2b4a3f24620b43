/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images: opening, build-ids both ways, file offsets to vaddrs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "elf/cfi_sections.h"
#include "elf/elf_file.h"
#include "elf/segments.h"
#include "elf_image.h"

static const uint8_t build_id[20] = {0xde, 0xad, 0xbe, 0xef, 5,	 6,  7,	 8,  9,	 10,
				     11,   12,	 13,   14,   15, 16, 17, 18, 19, 20};

/* A note "GNU" of @type. */
static size_t put_note(uint8_t *out, uint32_t type, const void *desc, uint32_t desc_len)
{
	uint32_t head[3] = {4, desc_len, type};

	memcpy(out, head, sizeof(head));
	memcpy(out + 12, "GNU", 4);
	memcpy(out + 16, desc, desc_len);
	return 16 + desc_len;
}

/* Another note in front, so that its padding counts too. */
static size_t put_notes(uint8_t *out, size_t align)
{
	size_t len = put_note(out, NT_GNU_PROPERTY_TYPE_0, "0123456789ab", 12);

	while (len % align)
		out[len++] = 0;
	return len + put_note(out + len, NT_GNU_BUILD_ID, build_id, sizeof(build_id));
}

static void image_with_notes(struct elf_image *image, size_t align, bool has_segment)
{
	uint8_t notes[128] = {0};
	size_t len = put_notes(notes, align);
	unsigned int section;

	image_init(image, EM_X86_64);
	section =
		image_section(image, ".note",
			      (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_addralign = align}, notes, len);
	if (has_segment) {
		image_segment(image, (Elf64_Phdr){.p_type = PT_LOAD, .p_align = 4096});
		image_segment(image, (Elf64_Phdr){.p_type = PT_NOTE,
						  .p_offset = image->shdrs[section].sh_offset,
						  .p_filesz = len,
						  .p_align = align});
	}
	image_finish(image);
}

static size_t build_id_by_fd(const void *bytes, size_t len, uint8_t *out, size_t max)
{
	int fd = bytes_to_fd(bytes, len);
	size_t id_len = elf_build_id_fd(fd, out, max);

	close(fd);
	return id_len;
}

static void check_build_id(size_t align)
{
	struct elf_image image;
	struct elf_file *elf;
	uint8_t out[64] = {0};

	image_with_notes(&image, align, true);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(elf_build_id(elf, out, sizeof(out)), sizeof(build_id));
	assert_memory_equal(out, build_id, sizeof(build_id));
	memset(out, 0, sizeof(out));
	assert_int_equal(build_id_by_fd(image.bytes, image.len, out, sizeof(out)),
			 sizeof(build_id));
	assert_memory_equal(out, build_id, sizeof(build_id));

	/* Only what fits is written. */
	memset(out, 0xcc, sizeof(out));
	assert_int_equal(elf_build_id(elf, out, 4), 4);
	assert_int_equal(build_id_by_fd(image.bytes, image.len, out, 4), 4);
	assert_int_equal(out[4], 0xcc);
	elf_file_free(elf);
	image_deinit(&image);
}

static void test_build_id(void **state)
{
	check_build_id(4);
	check_build_id(8);
}

/* What a process has mapped of a file that is gone. */
static void test_build_id_of_head(void **state)
{
	struct elf_image image;
	uint8_t notes[128] = {0}, out[64];
	unsigned int section;
	size_t len = put_notes(notes, 4);

	image_init(&image, EM_X86_64);
	section = image_section(&image, ".note",
				(Elf64_Shdr){.sh_type = SHT_NOTE, .sh_addralign = 4}, notes, len);
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_X,
					   .p_offset = 0x3040,
					   .p_filesz = 0x2100,
					   .p_align = 4096});
	image_segment(&image, (Elf64_Phdr){.p_type = PT_NOTE,
					   .p_offset = image.shdrs[section].sh_offset,
					   .p_filesz = len,
					   .p_align = 4});
	image_finish(&image);
	assert_true(image.len <= 4096);
	assert_int_equal(elf_build_id_head(image.bytes, image.len, 0x3000, out, sizeof(out)),
			 sizeof(build_id));
	assert_memory_equal(out, build_id, sizeof(build_id));
	assert_int_equal(elf_build_id_head(image.bytes, image.len, 0x5000, out, sizeof(out)),
			 sizeof(build_id));
	/* Code from elsewhere: another file's head. */
	assert_int_equal(elf_build_id_head(image.bytes, image.len, 0x2000, out, sizeof(out)), 0);
	assert_int_equal(elf_build_id_head(image.bytes, image.len, 0x6000, out, sizeof(out)), 0);
	/* Cut off anywhere: no build-id, or the right one. */
	for (size_t cut = 0; cut < image.len; cut++) {
		size_t got = elf_build_id_head(image.bytes, cut, 0x3000, out, sizeof(out));

		if (got) {
			assert_int_equal(got, sizeof(build_id));
			assert_memory_equal(out, build_id, sizeof(build_id));
		}
	}
	image_deinit(&image);
}

/* As in a kernel module: no segments, only the section. */
static void test_build_id_of_section(void **state)
{
	struct elf_image image;
	struct elf_file *elf;
	uint8_t out[64];

	image_with_notes(&image, 4, false);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(elf_build_id(elf, out, sizeof(out)), sizeof(build_id));
	assert_memory_equal(out, build_id, sizeof(build_id));
	assert_int_equal(build_id_by_fd(image.bytes, image.len, out, sizeof(out)), 0);
	elf_file_free(elf);
	image_deinit(&image);
}

/* Whatever is cut off, or forged in the headers: no build-id, and no read outside (ASan). */
static void test_damaged_build_id(void **state)
{
	struct elf_image image;
	uint8_t out[64];

	image_with_notes(&image, 4, true);
	for (size_t len = 0; len < image.len; len += 7) {
		size_t got = build_id_by_fd(image.bytes, len, out, sizeof(out));
		void *copy = malloc(len ? len : 1);
		struct elf_file *elf;

		assert_non_null(copy);
		memcpy(copy, image.bytes, len);
		elf = elf_file_from_memory(copy, len);
		assert_true(got == 0 || got == sizeof(build_id));
		if (elf) {
			got = elf_build_id(elf, out, sizeof(out));
			assert_true(got == 0 || got == sizeof(build_id));
		}
		elf_file_free(elf);
		free(copy);
	}
	for (size_t pos = 32; pos < 64 + 2 * sizeof(Elf64_Phdr); pos++) {
		uint8_t saved = image.bytes[pos];

		image.bytes[pos] = 0xff;
		assert_true(build_id_by_fd(image.bytes, image.len, out, sizeof(out)) <=
			    sizeof(out));
		image.bytes[pos] = saved;
	}
	image_deinit(&image);
}

static void test_no_build_id(void **state)
{
	static const char text[] = "#!/bin/sh\necho this is no ELF file, however long it may be\n";
	struct elf_image image;
	struct elf_file *elf;
	uint8_t out[64];

	assert_int_equal(build_id_by_fd(text, sizeof(text), out, sizeof(out)), 0);
	assert_int_equal(elf_build_id_fd(-1, out, sizeof(out)), 0);
	image_init(&image, EM_X86_64);
	image_finish(&image);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(elf_build_id(elf, out, sizeof(out)), 0);
	assert_int_equal(build_id_by_fd(image.bytes, image.len, out, sizeof(out)), 0);
	elf_file_free(elf);
	image_deinit(&image);
}

/* 32 bits, big-endian. */
static void test_build_id_of_other_machine(void **state)
{
	struct {
		Elf32_Ehdr ehdr;
		Elf32_Phdr phdr;
		uint32_t head[3];
		char name[4];
		uint8_t id[20];
	} file = {
		.ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2MSB, EV_CURRENT}},
		.head = {htonl(4), htonl(20), htonl(NT_GNU_BUILD_ID)},
		.name = "GNU",
	};
	uint8_t out[64];

	file.ehdr.e_phoff = htonl(sizeof(Elf32_Ehdr));
	file.ehdr.e_phentsize = htons(sizeof(Elf32_Phdr));
	file.ehdr.e_phnum = htons(1);
	file.phdr.p_type = htonl(PT_NOTE);
	file.phdr.p_offset = htonl(sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr));
	file.phdr.p_filesz = htonl(36);
	file.phdr.p_align = htonl(4);
	memcpy(file.id, build_id, sizeof(build_id));
	assert_int_equal(build_id_by_fd(&file, sizeof(file), out, sizeof(out)), sizeof(build_id));
	assert_memory_equal(out, build_id, sizeof(build_id));
}

static void test_vaddr_of_offset(void **state)
{
	struct elf_image image;
	struct elf_segments segments;
	uint64_t vaddr = 1;

	image_init(&image, EM_X86_64);
	/* The file page at 0x1000 is mapped twice: by the data in front, and as code. */
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R,
					   .p_offset = 0,
					   .p_vaddr = 0x400000,
					   .p_filesz = 0x1800,
					   .p_memsz = 0x1800});
	/* lld: p_offset and p_vaddr differ by more than the base. Its memory is larger than what
	 * the file holds of it. */
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_X,
					   .p_offset = 0x1000,
					   .p_vaddr = 0x402000,
					   .p_filesz = 0x1000,
					   .p_memsz = 0x5000});
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_W,
					   .p_offset = 0x2000,
					   .p_vaddr = 0x409000,
					   .p_filesz = 0x10,
					   .p_memsz = 0x1000});
	image_segment(&image, (Elf64_Phdr){.p_type = PT_DYNAMIC,
					   .p_flags = PF_R | PF_X,
					   .p_offset = 0x8000,
					   .p_vaddr = 0x500000,
					   .p_filesz = 0x1000});
	image_finish(&image);
	assert_int_equal(elf_segments_parse(image.bytes, image.len, &segments), 0);

	assert_int_equal(elf_segments_vaddr(&segments, 0x1234, &vaddr), 0);
	assert_true(vaddr == 0x402234);
	assert_int_equal(elf_segments_vaddr(&segments, 0x1fff, &vaddr), 0);
	assert_true(vaddr == 0x402fff);
	assert_int_equal(elf_segments_vaddr(&segments, 0x2000, &vaddr), 0);
	assert_true(vaddr == 0x409000);
	assert_int_equal(elf_segments_vaddr(&segments, 0xfff, &vaddr), 0);
	assert_true(vaddr == 0x400fff);
	vaddr = 77;
	assert_int_equal(elf_segments_vaddr(&segments, 0x2010, &vaddr), -ENOENT);
	assert_int_equal(elf_segments_vaddr(&segments, 0x8000, &vaddr), -ENOENT);
	assert_int_equal(elf_segments_vaddr(&segments, UINT64_MAX, &vaddr), -ENOENT);
	assert_true(vaddr == 77);
	elf_segments_deinit(&segments);
	image_deinit(&image);
}

static void test_open(void **state)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char garbage[] = "\177ELFgarbage";
	int fd = bytes_to_fd(garbage, sizeof(garbage));
	struct elf_file *elf;
	uint8_t by_elf[64], by_fd[64];
	size_t len;

	errno = 0;
	assert_null(elf_file_open(fd));
	assert_int_equal(errno, EBADMSG);
	errno = 0;
	assert_null(elf_file_from_memory(garbage, sizeof(garbage)));
	assert_int_equal(errno, EBADMSG);
	close(fd);
	assert_null(elf_file_open(-1));
	elf_file_free(NULL);

	assert_true(self >= 0);
	elf = elf_file_open(self);
	assert_non_null(elf);
	len = elf_build_id(elf, by_elf, sizeof(by_elf));
	assert_int_equal(elf_build_id_fd(self, by_fd, sizeof(by_fd)), len);
	assert_memory_equal(by_elf, by_fd, len);
	elf_file_free(elf);
	close(self);
}

/* A file without content, whose headers claim @section_cnt sections in the extended way, and
 * @phdr_cnt segments unless that is 0. */
static int sparse_image(uint64_t section_cnt, uint32_t phdr_cnt)
{
	const Elf64_Shdr first = {.sh_size = section_cnt, .sh_info = phdr_cnt};
	const Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_shoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = phdr_cnt ? PN_XNUM : 0,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	int fd = bytes_to_fd(&ehdr, sizeof(ehdr));

	assert_int_equal(pwrite(fd, &first, sizeof(first), sizeof(ehdr)), sizeof(first));
	assert_int_equal(ftruncate(fd, 1LL << 40), 0);
	return fd;
}

/* libelf makes memory for all that a file claims as long as it is in there; ours was 5.5 GB. */
static void test_sparse_file(void **state)
{
	static const struct {
		uint64_t section_cnt;
		uint32_t phdr_cnt;
		bool is_sane;
	} cases[] = {
		{70000, 0, true},	{3, 70000, true},     {16 << 20, 0, false},
		{UINT64_MAX, 0, false}, {3, 16 << 20, false}, {3, UINT32_MAX, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = sparse_image(cases[i].section_cnt, cases[i].phdr_cnt);
		struct elf_file *mapped = elf_file_open(fd);
		struct elf_file *copied = elf_file_open_unmapped(fd);
		struct cfi_sections cfi;
		int err = cfi_sections_open(fd, &cfi);

		assert_int_equal(mapped != NULL, cases[i].is_sane);
		assert_int_equal(copied != NULL, cases[i].is_sane);
		assert_true(cases[i].is_sane || err == -EBADMSG);
		if (!err)
			cfi_sections_deinit(&cfi);
		elf_file_free(mapped);
		elf_file_free(copied);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_build_id_of_head),
		cmocka_unit_test(test_build_id_of_section),
		cmocka_unit_test(test_damaged_build_id),
		cmocka_unit_test(test_no_build_id),
		cmocka_unit_test(test_build_id_of_other_machine),
		cmocka_unit_test(test_vaddr_of_offset),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_sparse_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
