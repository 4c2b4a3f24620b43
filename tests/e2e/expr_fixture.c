/* SPDX-License-Identifier: Apache-2.0 */
/* expr_fixture: calls of known functions with known arguments: 100 of probed() and of answer(). */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

int probed(long size, const char *name, int fd, unsigned int flags);
int answer(int number);
long long_answer(int number);

/* A literal may be in a page that no one has read: the kernel reads no page from a file for us. */
static char names[3][80];

__attribute__((noipa)) int probed(long size, const char *name, int fd, unsigned int flags)
{
	__asm__ volatile("" ::: "memory");
	return 0;
}

__attribute__((noipa)) int answer(int number)
{
	return number % 4 ? number : -1;
}

__attribute__((noipa)) long long_answer(int number)
{
	return number % 5 ? number : -1L;
}

int main(int argc, char **argv)
{
	snprintf(names[0], sizeof(names[0]), "/etc/passwd");
	snprintf(names[1], sizeof(names[1]), "/etc/passwords");
	memset(names[2], 'x', 64);
	for (int i = 0; i < 100; i++) {
		const char *name = i == 99 ? (const char *)8 : names[i % 3];

		if (i == 90)
			prctl(PR_SET_NAME, "renamed");
		probed(i * 1024L, name, i % 10 ? i : -1, 0x80000000U + (unsigned int)i);
		answer(i);
		long_answer(i);
	}
	return 0;
}
