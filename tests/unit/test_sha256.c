/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the examples of FIPS 180-2 and their lengths around a block, HMAC against
 * RFC 4231's, MD5 against RFC 1321's, base64 against RFC 4648's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/md5.h"
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

static void expect_hmac(const char *key, size_t key_len, const char *data, const char *expected)
{
	uint8_t digest[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	sha256_hmac(key, key_len, data, strlen(data), digest);
	hex_format(digest, sizeof(digest), hex);
	assert_string_equal(hex, expected);
}

static void authenticates_known_messages(void **state)
{
	char key[131];

	(void)state;
	memset(key, 0x0b, sizeof(key));
	expect_hmac(key, 20, "Hi There",
		    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	expect_hmac("Jefe", 4, "what do ya want for nothing?",
		    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	expect_hmac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First",
		    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	expect_hmac(NULL, 0, "",
		    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void expect_md5(const char *text, const char *expected)
{
	uint8_t digest[MD5_BYTES];
	char hex[2 * MD5_BYTES + 1];

	md5(text, strlen(text), digest);
	hex_format(digest, sizeof(digest), hex);
	assert_string_equal(hex, expected);
}

static void md5_of_known_messages(void **state)
{
	static const char digits[] = "1234567890123456789012345678901234567890"
				     "1234567890123456789012345678901234567890";

	(void)state;
	expect_md5("", "d41d8cd98f00b204e9800998ecf8427e");
	expect_md5("a", "0cc175b9c0f1b6a831c399e269772661");
	expect_md5("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
	expect_md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		   "d174ab98d277d9f5a5611c2c9f419d9f");
	expect_md5(digits, "57edf4a22be3c955ac49da2e2107b67a");
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
		cmocka_unit_test(authenticates_known_messages),
		cmocka_unit_test(md5_of_known_messages),
		cmocka_unit_test(pads_base64),
		cmocka_unit_test(encodes_long_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
