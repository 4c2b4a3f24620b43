/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: three bytes become four characters. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK_GROUPS = 4096 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const uint8_t *bytes, char *out)
{
	uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];

	for (int i = 0; i < 4; i++)
		out[i] = alphabet[word >> (18 - 6 * i) & 63];
}

void base64_add(struct buf *out, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	char text[4 * CHUNK_GROUPS];

	while (len >= 3) {
		size_t cnt = len / 3 < CHUNK_GROUPS ? len / 3 : CHUNK_GROUPS;

		for (size_t i = 0; i < cnt; i++)
			encode_group(bytes + 3 * i, text + 4 * i);
		buf_add(out, text, 4 * cnt);
		bytes += 3 * cnt;
		len -= 3 * cnt;
	}
	if (len) {
		uint8_t last[3] = {bytes[0], len > 1 ? bytes[1] : 0, 0};

		encode_group(last, text);
		memset(text + 1 + len, '=', 3 - len);
		buf_add(out, text, 4);
	}
}

static int sextet_of(char chr)
{
	const char *found = chr ? strchr(alphabet, chr) : NULL;

	return found ? (int)(found - alphabet) : -1;
}

int base64_decode(const char *text, struct buf *out)
{
	size_t len = strlen(text), padding = 0;

	while (padding < 2 && padding < len && text[len - padding - 1] == '=')
		padding++;
	if (len % 4)
		return -EINVAL;
	for (size_t i = 0; i < len; i += 4) {
		size_t cnt = i + 4 == len ? 3 - padding : 3;
		uint32_t bits = 0;

		for (size_t j = 0; j < 4; j++) {
			int sextet = j > cnt ? 0 : sextet_of(text[i + j]);

			if (sextet < 0)
				return -EINVAL;
			bits = bits << 6 | (uint32_t)sextet;
		}
		for (size_t j = 0; j < cnt; j++)
			buf_add_char(out, (char)(bits >> (16 - 8 * j)));
	}
	return out->err;
}
