/* SPDX-License-Identifier: Apache-2.0 */
/* A program with the awkward kinds of symbols: aliases, weak names, an ifunc, functions without a
 * size, labels inside functions, imports behind a PLT. Compiled by test_symbols_nm.sh, not run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __aliased(int value);
int aliased(int value) __attribute__((alias("__aliased")));
int weakly_aliased(int value) __attribute__((weak, alias("__aliased")));

__attribute__((noinline)) int __aliased(int value)
{
	return value * 7;
}

static __attribute__((noinline, cold)) void fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	abort();
}

static __attribute__((noinline)) size_t measure(const char *text)
{
	if (!text)
		fail("no text");
	return strlen(text) + (size_t)aliased((int)text[0]);
}

static int plain_choice(int value)
{
	return value + 1;
}

static int (*choose(void))(int)
{
	return plain_choice;
}

int chosen(int value) __attribute__((ifunc("choose")));

/* No .size: it reaches to the next symbol. */
__asm__(".text\n"
	".globl asm_without_size\n"
	".type asm_without_size, %function\n"
	"asm_without_size:\n"
	"	nop\n	nop\n	nop\n	nop\n"
	"	ret\n"
	".type asm_with_label, %function\n"
	"asm_with_label:\n"
	"	nop\n	nop\n"
	"inner_label:\n"
	"	nop\n	nop\n"
	"	ret\n"
	".size asm_with_label, . - asm_with_label\n");

int main(int argc, char **argv)
{
	char *copy = strdup(argv[0]);
	size_t len = measure(copy);

	printf("%zu %d %d\n", len, chosen(argc), weakly_aliased(argc));
	free(copy);
	return 0;
}
