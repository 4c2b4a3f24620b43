/* SPDX-License-Identifier: Apache-2.0 */
/* Globs to automata; see struct bp_glob. */
#include "capture/glob.h"

#include <errno.h>
#include <string.h>

int glob_compile(const char *pattern, struct bp_glob *out)
{
	struct bp_glob glob = {0};
	unsigned int tokens = 0;

	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			glob.star_mask |= 1u << tokens;
			continue;
		}
		if (tokens == BP_GLOB_TOKENS_MAX)
			return -E2BIG;
		if (*pattern == '?') {
			for (int byte = 0; byte < 256; byte++)
				glob.token_mask[byte] |= 1u << tokens;
		} else {
			if (*pattern == '\\' && pattern[1])
				pattern++;
			glob.token_mask[(unsigned char)*pattern] |= 1u << tokens;
		}
		tokens++;
	}
	glob.accept_mask = 1u << tokens;
	*out = glob;
	return 0;
}
