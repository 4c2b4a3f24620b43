/* SPDX-License-Identifier: Apache-2.0 */
/* A program without any library, to be single-stepped: linked statically with -nostdlib, begun as
 * musl's start-up code does, by an entry point without unwind information that clears the frame
 * pointer. */
#include <stddef.h>

#define NOINLINE __attribute__((noinline))

__asm__(".pushsection .text\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
#if defined(__x86_64__)
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start_c\n"
	"	hlt\n"
#else
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	and sp, x0, #-16\n"
	"	bl start_c\n"
	"	brk #1\n"
#endif
	".size _start, . - _start\n"
	".popsection\n");

void start_c(const long *stack);

/* In the file: Linux 5.10 kills on arm64 what has a segment of which the file has nothing. */
static volatile long sink = 1;

static void leave(long status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = 94;
	register long x0 __asm__("x0") = status;

	__asm__ volatile("svc #0" : : "r"(x8), "r"(x0) : "memory");
#endif
}

static NOINLINE long count(const char *text)
{
	long len = 0;

	while (text[len])
		len++;
	return len;
}

static NOINLINE long fibonacci(long nr)
{
	return nr < 2 ? nr : fibonacci(nr - 1) + fibonacci(nr - 2);
}

static NOINLINE long sorted(long *values, long cnt)
{
	for (long i = 1; i < cnt; i++)
		for (long k = i; k && values[k - 1] > values[k]; k--) {
			long tmp = values[k];

			values[k] = values[k - 1];
			values[k - 1] = tmp;
		}
	return values[0];
}

void start_c(const long *stack)
{
	long values[16];

	for (long i = 0; i < 16; i++)
		values[i] = i * 7 % 16;
	sink = stack[0];
	leave(fibonacci(12) != 144 || sorted(values, 16) || count("bare") != 4);
}
