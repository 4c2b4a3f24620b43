/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side announces: executables that are known already, records that are cut short,
 * files that are gone, here and in the next process, and files that are read with faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "capture/exes.h"
#include "capture/pins.h"

enum {
	EXE_ID = 77,
	CODE_OFF = 0x1000,
	CODE_VADDR = 0x2000, /* as lld lays programs out: not where it lies in the file */
	FAULT_SHORT = -1,
};

/* The fault_nth-th pread() (0: none) fails with this errno, or does half of what was asked. */
static int fault_nth, fault_error, preads;

ssize_t pread(int fd, void *out, size_t len, off_t at)
{
	if (++preads == fault_nth) {
		if (fault_error != FAULT_SHORT) {
			errno = fault_error;
			return -1;
		}
		len = (len + 1) / 2;
	}
	return syscall(SYS_pread64, fd, out, len, at);
}

/* The map of what is kept for the next process: one element. */
static struct pin_exe kept;
static bool is_kept;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	kept = *(const struct pin_exe *)value;
	is_kept = true;
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	const uint32_t id = EXE_ID;

	if (key || !is_kept) {
		errno = ENOENT;
		return -1;
	}
	memcpy(next, &id, sizeof(id));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	*(struct pin_exe *)value = kept;
	return 0;
}

/* What a call leaves on the stack is what the next one finds in variables that it does not set. */
static __attribute__((noinline)) void dirty_stack(void)
{
	volatile char bytes[16384];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x38;
}

static void announce(struct exes *exes, const struct bp_exe_event *event, size_t len)
{
	dirty_stack();
	assert_int_equal(exes_announce(exes, event, len), 0);
}

static void test_announced_twice(void **state)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};
	struct exes exes;
	size_t cnt;

	assert_int_equal(exes_init(&exes), 0);
	announce(&exes, &event, sizeof(event));
	assert_non_null(exes_find(&exes, EXE_ID));
	cnt = exes.cnt;
	announce(&exes, &event, sizeof(event));
	assert_int_equal(exes.cnt, cnt);
	exes_deinit(&exes);
}

static void test_cut_short(void **state)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};
	struct exes exes;

	assert_int_equal(exes_init(&exes), 0);
	announce(&exes, &event, offsetof(struct bp_exe_event, path) - 1);
	assert_null(exes_find(&exes, EXE_ID));
	exes_deinit(&exes);
}

/* The first bytes of a program of one segment of code, with a build-id. */
static size_t put_head(uint8_t *head)
{
	static const struct {
		Elf64_Nhdr nhdr;
		char name[4];
		uint8_t id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, 4, 5, 6, 7, 8}};
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_phoff = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr phdrs[] = {
		{
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = CODE_OFF,
			.p_vaddr = CODE_VADDR,
			.p_filesz = 0x1000,
			.p_memsz = 0x1000,
		},
		{
			.p_type = PT_NOTE,
			.p_offset = sizeof(ehdr) + 2 * sizeof(Elf64_Phdr),
			.p_filesz = sizeof(note),
			.p_align = 4,
		},
	};

	memcpy(head, &ehdr, sizeof(ehdr));
	memcpy(head + sizeof(ehdr), phdrs, sizeof(phdrs));
	memcpy(head + sizeof(ehdr) + sizeof(phdrs), &note, sizeof(note));
	return sizeof(ehdr) + sizeof(phdrs) + sizeof(note);
}

/* Its file, made from the template @path. */
static void write_program(char *path)
{
	uint8_t head[BP_EXE_HEAD_BYTES];
	size_t len = put_head(head);
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, head, len), len);
	close(fd);
}

/* @path, in /tmp, is announced while the @nth pread() fails with @error: whether that was
 * reached. What is left of it in @has_file; where there is a file, its addresses are right. */
static bool announce_faulty(const char *path, int nth, int error, bool *has_file)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};
	const struct exe_entry *exe;
	struct exes exes;

	event.path_bytes = 1 + (uint32_t)snprintf(event.path, sizeof(event.path), "%s%ctmp",
						  path + strlen("/tmp/"), '\0');
	assert_int_equal(exes_init(&exes), 0);
	preads = 0;
	fault_nth = nth;
	fault_error = error;
	announce(&exes, &event, sizeof(event));
	fault_nth = 0;
	exe = exes_find(&exes, EXE_ID);
	assert_non_null(exe);
	*has_file = exe->module->fd >= 0;
	if (*has_file)
		assert_int_equal(exe_vaddr(exe, CODE_OFF + 0x10), CODE_VADDR + 0x10);
	else
		assert_int_equal(exe->module->absence, MODULE_BAD_ELF);
	assert_true(*has_file || !exe->module->build_id_len);
	exes_deinit(&exes);
	return preads >= nth;
}

/* A program that is gone; whoever mapped it had its head. */
static void announce_gone(struct exes *exes)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};

	event.path_bytes = 1 + (uint32_t)snprintf(event.path, sizeof(event.path), "not-there");
	event.key.ino = UINT32_MAX;
	event.file_off = CODE_OFF;
	event.head_bytes = put_head(event.head);
	announce(exes, &event, sizeof(event));
}

/* Whoever has the file later finds names by the build-id and the address. */
static void expect_identified(const struct exes *exes)
{
	const struct exe_entry *exe = exes_find(exes, EXE_ID);

	assert_non_null(exe);
	assert_true(exe->module->fd < 0);
	assert_string_equal(exe->build_id_hex, "0102030405060708");
	assert_int_equal(exe_vaddr(exe, CODE_OFF + 0x10), CODE_VADDR + 0x10);
}

static void test_gone_with_its_head(void **state)
{
	struct exes exes;

	assert_int_equal(exes_init(&exes), 0);
	announce_gone(&exes);
	expect_identified(&exes);
	exes_deinit(&exes);
}

static void test_gone_in_the_next_process(void **state)
{
	struct exes exes, next;
	struct pins pins = {0};

	is_kept = false;
	assert_int_equal(exes_init(&exes), 0);
	assert_int_equal(exes_restore(&exes, &pins), 0);
	announce_gone(&exes);
	assert_true(is_kept);
	exes_deinit(&exes);

	assert_int_equal(exes_init(&next), 0);
	assert_int_equal(exes_restore(&next, &pins), 0);
	expect_identified(&next);
	exes_deinit(&next);

	/* Of another layout, or damaged */
	kept.segment_cnt = PIN_EXE_SEGMENTS + 1;
	assert_int_equal(exes_init(&next), 0);
	assert_int_equal(exes_restore(&next, &pins), 0);
	assert_int_equal(exes_find(&next, EXE_ID)->module->build_id_len, 0);
	exes_deinit(&next);
}

/* By the address of another place there would be another function's name. */
static void test_unreadable_headers(void **state)
{
	char path[] = "/tmp/bpfprof-exes-XXXXXX";
	int nth = 0, without_file = 0;
	bool has_file;

	write_program(path);
	while (announce_faulty(path, ++nth, EIO, &has_file))
		without_file += !has_file;
	assert_int_equal(without_file, 2); /* the ELF header, and the program headers */
	assert_int_equal(unlink(path), 0);
}

static void test_interrupted_and_short_reads(void **state)
{
	char path[] = "/tmp/bpfprof-exes-XXXXXX";
	const int errors[] = {EINTR, FAULT_SHORT};
	bool has_file;

	write_program(path);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		for (int nth = 1; announce_faulty(path, nth, errors[i], &has_file); nth++)
			assert_true(has_file);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_announced_twice),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_gone_with_its_head),
		cmocka_unit_test(test_gone_in_the_next_process),
		cmocka_unit_test(test_unreadable_headers),
		cmocka_unit_test(test_interrupted_and_short_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
