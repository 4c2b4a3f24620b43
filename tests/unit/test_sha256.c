/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the examples of FIPS 180-2 and their lengths around a block, base64 against
 * RFC 4648's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/sha256.h"

static void expect_digest(const char *data, size_t len, const char *expected)
{
	uint8_t digest[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	sha256(data, len, digest);
	hex_format(digest, sizeof(digest), hex);
	assert_string_equal(hex, expected);
}

static void digests_known_messages(void **state)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *million = malloc(1000000);

	(void)state;
	memset(million, 'a', 1000000);
	expect_digest(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect_digest(two_blocks, 56,
		      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	expect_digest(million, 1000000,
		      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

static void expect_base64(const char *text, const char *expected)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	base64_add(&out, text, strlen(text));
	assert_string_equal(buf_cstr(&out), expected);
	buf_deinit(&out);
}

static void pads_base64(void **state)
{
	(void)state;
	expect_base64("", "");
	expect_base64("f", "Zg==");
	expect_base64("fo", "Zm8=");
	expect_base64("foo", "Zm9v");
	expect_base64("foob", "Zm9vYg==");
	expect_base64("\xff\xfe\xfd", "//79");
}

/* Longer than what is encoded at a time. */
static void encodes_long_data(void **state)
{
	size_t len = 40000;
	char *data = calloc(1, len);
	struct buf out;

	(void)state;
	buf_init(&out, BUF_NO_MAX);
	base64_add(&out, data, len);
	assert_int_equal(out.len, (len + 2) / 3 * 4);
	assert_int_equal(strspn(buf_cstr(&out), "A"), out.len - 2);
	buf_deinit(&out);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_known_messages),
		cmocka_unit_test(pads_base64),
		cmocka_unit_test(encodes_long_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
