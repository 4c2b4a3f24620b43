/* SPDX-License-Identifier: Apache-2.0 */
/* Blanks around a word of a file that people write. */
#ifndef BPFPROF_BASE_TRIM_H
#define BPFPROF_BASE_TRIM_H

#include <string.h>

/* @str without blanks, tabs and carriage returns before it and behind it: a part of it, cut there.
 */
static inline char *trim(char *str)
{
	static const char blanks[] = " \t\r";
	size_t len;

	str += strspn(str, blanks);
	len = strlen(str);
	while (len && strchr(blanks, str[len - 1]))
		str[--len] = '\0';
	return str;
}

#endif
