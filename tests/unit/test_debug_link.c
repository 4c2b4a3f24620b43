/* SPDX-License-Identifier: Apache-2.0 */
/* .gnu_debuglink and .gnu_debugdata: sound ones, and those that somebody forged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "elf/debug_link.h"
#include "elf/elf_file.h"
#include "elf_image.h"

static void check_link(const char *bytes, size_t len, int wanted)
{
	struct elf_image image;
	struct elf_file *elf = image_with(&image, ".gnu_debuglink", bytes, len);
	struct debug_link link;

	assert_int_equal(debug_link_read(elf, &link), wanted);
	if (!wanted) {
		assert_string_equal(link.name, bytes);
		assert_int_equal(link.crc, 0x04030201);
	}
	elf_file_free(elf);
	image_deinit(&image);
}

static void test_hostile_links(void **state)
{
	char longest[NAME_MAX + 10];

	check_link("abc\0\1\2\3\4", 8, 0);
	check_link("abcd\0???\1\2\3\4", 12, 0);
	check_link("abc\0\1\2\3", 7, -EBADMSG);
	check_link("abcd", 4, -EBADMSG);
	check_link("abcdefgh", 8, -EBADMSG);
	check_link("\0\0\0\0\1\2\3\4", 8, -EBADMSG);
	check_link("..\0\0\1\2\3\4", 8, -EBADMSG);
	check_link(".\0\0\0\1\2\3\4", 8, -EBADMSG);
	check_link("../etc/shadow\0\0\0\1\2\3\4", 20, -EBADMSG);
	check_link("/a\0\0\1\2\3\4", 8, -EBADMSG);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + NAME_MAX + 1, "\0\0\0\0\1\2\3\4", 8);
	check_link(longest, sizeof(longest) - 1, -EBADMSG);
}

/* Unpack @packed, at most 64 MiB of it; @wanted and its size. */
static void check_unpack(const void *packed, size_t len, int wanted, size_t wanted_bytes)
{
	struct elf_image image;
	struct elf_file *elf = image_with(&image, ".gnu_debugdata", packed, len);
	struct buf out;

	buf_init(&out, 64 << 20);
	assert_int_equal(debug_data_unpack(elf, &out), wanted);
	if (!wanted)
		assert_int_equal(out.len, wanted_bytes);
	buf_deinit(&out);
	elf_file_free(elf);
	image_deinit(&image);
}

/* @len zeros, packed into @out; the packed size. */
static size_t pack_zeros(size_t len, uint8_t *out, size_t max)
{
	uint8_t *zeros = calloc(1, len);
	size_t packed = 0;

	assert_non_null(zeros);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, zeros, len, out,
						 &packed, max),
			 LZMA_OK);
	free(zeros);
	return packed;
}

/* Have the first block ask for a dictionary of 4 GiB (xz format 3.1 and 5.3.1). */
static void enlarge_dictionary(uint8_t *packed)
{
	static const uint8_t lzma2[] = {0x21, 1}; /* the filter, and how many bytes describe it */
	uint8_t *header = packed + 12;
	size_t len = (header[0] + 1u) * 4;
	uint8_t *filter = memmem(header, len, lzma2, sizeof(lzma2));
	uint32_t crc;

	assert_non_null(filter);
	filter[2] = 40;
	crc = (uint32_t)crc32(0, header, (uInt)(len - sizeof(crc)));
	memcpy(header + len - sizeof(crc), &crc, sizeof(crc));
}

static void test_hostile_xz(void **state)
{
	static uint8_t packed[48 * 1024];
	size_t len;

	check_unpack("no xz stream", 12, -EBADMSG, 0);
	len = pack_zeros(64 << 20, packed, sizeof(packed));
	check_unpack(packed, len, 0, 64 << 20);
	check_unpack(packed, len - 1, -EBADMSG, 0);
	check_unpack(packed, 30, -EBADMSG, 0);
	len = pack_zeros((64 << 20) + 1, packed, sizeof(packed));
	check_unpack(packed, len, -EFBIG, 0);

	len = pack_zeros(4096, packed, sizeof(packed));
	check_unpack(packed, len, 0, 4096);
	enlarge_dictionary(packed);
	check_unpack(packed, len, -EFBIG, 0);
}

static void test_crc(void **state)
{
	struct debug_link link = {.crc = (uint32_t)crc32(0, (const Bytef *)"content", 7)};
	int fd = bytes_to_fd("content", 7);

	assert_int_equal(debug_link_check(&link, fd), 0);
	assert_int_equal(pwrite(fd, "C", 1, 0), 1);
	assert_int_equal(debug_link_check(&link, fd), -ESTALE);
	assert_int_equal(ftruncate(fd, (512LL << 20) + 1), 0);
	assert_int_equal(debug_link_check(&link, fd), -EFBIG);
	assert_int_equal(debug_link_check(&link, -1), -EBADF);
	close(fd);
}

static void test_absent(void **state)
{
	struct elf_image image;
	struct elf_file *elf = image_with(&image, ".other", "abc\0\1\2\3\4", 8);
	struct debug_link link;
	struct buf out;

	buf_init(&out, 64);
	assert_int_equal(debug_link_read(elf, &link), -ENOENT);
	assert_int_equal(debug_data_unpack(elf, &out), -ENOENT);
	assert_int_equal(out.len, 0);
	elf_file_free(elf);
	image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_links),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_hostile_xz),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
