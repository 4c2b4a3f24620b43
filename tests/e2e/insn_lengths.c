/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of instructions as the decoder has them, beside those of `objdump -d -w` on stdin.
 * Prints what differs and counts; exit 1 when anything does.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/insn.h"

/* "  401000:\t48 83 ec 08 \tsub ..." into bytes. */
static size_t parse_bytes(const char *text, uint8_t *out, size_t max)
{
	size_t cnt = 0;
	char *end;

	while (cnt < max && isxdigit(text[0]) && isxdigit(text[1])) {
		out[cnt++] = (uint8_t)strtoul(text, &end, 16);
		text = end + (*end == ' ');
	}
	return cnt;
}

/*
 * What objdump shows in its own way, mostly data among code: "(bad)"; prefixes or a REX without an
 * instruction; a wait (9b) together with what follows; a 16-bit jump, which processors differ in.
 */
static bool is_unlike(const char *text, const uint8_t *code, size_t len)
{
	static const char prefixes[] = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3";
	size_t pos = 0;

	while (pos < len && strchr(prefixes, code[pos]))
		pos++;
	return strstr(text, "(bad)") || strncmp(text, ".byte", 5) == 0 || pos == len ||
	       (code[pos] >> 4 == 4 && pos + 1 == len) || (code[pos] == 0x9b && len > 1) ||
	       (code[0] == 0x66 && (code[1] == 0xe9 || code[1] == 0xe8));
}

int main(void)
{
	static char line[1024];
	unsigned long total = 0, skipped = 0, differing = 0, classes[PROBE_CLASSES] = {0};

	while (fgets(line, sizeof(line), stdin)) {
		char *bytes = strchr(line, '\t'), *text;
		uint8_t code[32];
		struct insn insn;
		size_t len;

		if (!bytes || !(text = strchr(bytes + 1, '\t')))
			continue;
		len = parse_bytes(bytes + 1, code, sizeof(code));
		total++;
		if (is_unlike(text + 1, code, len)) {
			skipped++;
		} else if (insn_x86_decode(code, len, strtoull(line, NULL, 16), &insn) ||
			   insn.len != len) {
			if (differing++ < 40)
				printf("differs: %s", line);
		} else {
			classes[insn.probe]++;
		}
	}
	printf("%lu instructions, %lu differ, %lu not compared; emulated %lu, stepped %lu, "
	       "refused %lu, mishandled %lu\n",
	       total, differing, skipped, classes[PROBE_EMULATED], classes[PROBE_STEPPED],
	       classes[PROBE_REFUSED], classes[PROBE_MISHANDLED]);
	return differing || !total;
}
