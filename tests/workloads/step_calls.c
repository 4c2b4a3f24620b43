/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through the PLT and callbacks from libc, to be single-stepped: with lazy binding the first
 * call of each function goes through the dynamic linker. And vfork(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 24 };

static int compare_words(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int sort_words(void)
{
	char text[WORDS][8], *words[WORDS];
	int wrong = 0;

	for (int i = 0; i < WORDS; i++) {
		snprintf(text[i], sizeof(text[i]), "%d", i * 7919 % 1000);
		words[i] = text[i];
	}
	qsort(words, WORDS, sizeof(words[0]), compare_words);
	for (int i = 1; i < WORDS; i++)
		wrong += strcmp(words[i - 1], words[i]) > 0;
	return wrong;
}

static int strings(void)
{
	char text[256], *copy;
	int wrong;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	copy = strdup(text);
	wrong = !copy || strlen(copy) != sizeof(text) - 1 || memcmp(copy, text, sizeof(text));
	wrong += strchr(copy, 'y') != NULL;
	wrong += strtol("1234", NULL, 10) != 1234;
	free(copy);
	return wrong;
}

static int children(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = vfork();
		int status;

		if (!pid)
			_exit(7);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
			return 1;
	}
	return 0;
}

static void at_end(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(void)
{
	atexit(at_end);
	return sort_words() + strings() + children() + (getenv("NO_SUCH_VARIABLE") != NULL);
}
