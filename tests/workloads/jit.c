/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit SECONDS PREFIX: a runtime in small (x86-64). All of the time is spent in code that it writes
 * into anonymous memory, at an address of its choice, and lists in /tmp/perf-PID.map:
 *
 *	main > PREFIX outer function > PREFIX hot
 *
 * The list also has a line for code that was there before; the last line holds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HOT_AT = 0x100, OUTER_AT = 0x200, CODE_BYTES = 0x1000 };

/* push %rbp; mov %rsp,%rbp; mov $10000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const uint8_t hot[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x80, 0x96, 0x98,
			      0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
/* push %rbp; mov %rsp,%rbp; call HOT; pop %rbp; ret */
static const uint8_t outer[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xfe, 0xff, 0xff, 0x5d, 0xc3};

static void write_list(const uint8_t *code, const char *prefix)
{
	char path[64];
	FILE *list;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	list = fopen(path, "w");
	if (!list)
		exit(1);
	fprintf(list, "%lx %x stale\n", (unsigned long)code, CODE_BYTES);
	fprintf(list, "%lx %zx %s hot\n", (unsigned long)(code + HOT_AT), sizeof(hot), prefix);
	fprintf(list, "0x%lx 0x%zx %s outer function\n", (unsigned long)(code + OUTER_AT),
		sizeof(outer), prefix);
	fclose(list);
}

int main(int argc, char **argv)
{
	void *wanted = (void *)0x10000000;
	uint8_t *code = mmap(wanted, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	time_t end;
	void (*run)(void);

	if (argc != 3 || code != wanted)
		return 1;
	memcpy(code + HOT_AT, hot, sizeof(hot));
	memcpy(code + OUTER_AT, outer, sizeof(outer));
	write_list(code, argv[2]);
	*(void **)&run = code + OUTER_AT;
	end = time(NULL) + strtol(argv[1], NULL, 10);
	while (time(NULL) < end)
		run();
	return 0;
}
