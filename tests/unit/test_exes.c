/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side announces: executables that are known already, records that are cut short,
 * and files that are read with faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "capture/exes.h"

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

/* A program of one segment, in a new file made from the template @path. */
static void write_program(char *path)
{
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE_OFF,
		.p_vaddr = CODE_VADDR,
		.p_filesz = 0x1000,
		.p_memsz = 0x1000,
	};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &ehdr, sizeof(ehdr)), sizeof(ehdr));
	assert_int_equal(write(fd, &phdr, sizeof(phdr)), sizeof(phdr));
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
	exes_deinit(&exes);
	return preads >= nth;
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
		cmocka_unit_test(test_unreadable_headers),
		cmocka_unit_test(test_interrupted_and_short_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
