/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/label_text.h"

#include <string.h>

#include "encode/text.h"

void label_copy(char *dst, size_t size, const char *src, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len;) {
		size_t char_len = text_utf8_len(src + at, len - at);
		unsigned char first = (unsigned char)src[at];

		if (to + (char_len ? char_len : 1) >= size)
			break;
		if (!char_len || first < 0x20 || first == 0x7f) {
			dst[to++] = '?';
			at++;
			continue;
		}
		memcpy(dst + to, src + at, char_len);
		to += char_len;
		at += char_len;
	}
	dst[to] = '\0';
}
