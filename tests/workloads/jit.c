/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit SECONDS PREFIX [map|dump|memfd|late|deleted|change]...: a runtime in small (x86-64). All of
 * the time is spent in code that it writes into memory, at an address of its choice:
 *
 *	main > PREFIX outer function > PREFIX hot
 *
 *	map      lists it in /tmp/perf-PID.map, with a line for code that was there before; the last
 *	         holds. That is what it does when it is told neither
 *	dump     writes jit-PID.dump in the current folder, with lines, code that was there before,
 *	         code that comes in an hour, and (not with map) the outer function, which was loaded
 *	         elsewhere and moved
 *	memfd    the code is in a memfd, mapped twice, as .NET does
 *	late     the lists are begun after two seconds
 *	deleted  a dump is deleted once it is mapped, a map after three seconds
 *	change   after three seconds the dump says that hot is another function
 */
#include <fcntl.h>
#include <stdbool.h>
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

static const char *prefix;
static int option_cnt;
static char **options;

static bool has_option(const char *name)
{
	for (int i = 0; i < option_cnt; i++)
		if (!strcmp(options[i], name))
			return true;
	return false;
}

static void write_map(const uint8_t *code)
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

static void delete_map(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct record {
	uint32_t id, bytes;
	uint64_t time_ns;
};

static void write_load(FILE *dump, uint64_t time_ns, uint64_t start, uint64_t bytes, uint64_t index,
		       const char *what)
{
	char name[256] = "";
	struct record record = {0, 0, time_ns};
	uint32_t pids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	uint64_t body[] = {start, start, bytes, index};
	size_t name_bytes = (size_t)snprintf(name, sizeof(name), "%s %s", prefix, what) + 1;

	record.bytes = (uint32_t)(sizeof(record) + sizeof(pids) + sizeof(body) + name_bytes);
	fwrite(&record, sizeof(record), 1, dump);
	fwrite(pids, sizeof(pids), 1, dump);
	fwrite(body, sizeof(body), 1, dump);
	fwrite(name, name_bytes, 1, dump);
}

static void write_move(FILE *dump, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t bytes,
		       uint64_t index)
{
	uint32_t pids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	uint64_t body[] = {to, from, to, bytes, index};
	struct record record = {1, sizeof(record) + sizeof(pids) + sizeof(body), time_ns};

	fwrite(&record, sizeof(record), 1, dump);
	fwrite(pids, sizeof(pids), 1, dump);
	fwrite(body, sizeof(body), 1, dump);
}

/* hot's loop is line 42. */
static void write_lines(FILE *dump, uint64_t start)
{
	struct {
		uint64_t start, cnt;
	} head = {start, 2};
	struct {
		uint64_t start;
		uint32_t line, column;
		char file[8];
	} lines[] = {{start, 41, 0, "/hot.js"}, {start + 9, 42, 0, "/hot.js"}};
	struct record record = {2, sizeof(record) + sizeof(head) + sizeof(lines), now_ns()};

	fwrite(&record, sizeof(record), 1, dump);
	fwrite(&head, sizeof(head), 1, dump);
	fwrite(lines, sizeof(lines), 1, dump);
}

static FILE *write_dump(const uint8_t *code)
{
	uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	uint64_t start = (uintptr_t)code, elsewhere = start + 0x100000;
	char path[64];
	FILE *dump;

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+");
	if (!dump)
		exit(1);
	fwrite(header, sizeof(header), 1, dump);
	write_load(dump, 1, start, HOT_AT + sizeof(hot), 0, "stale");
	write_lines(dump, start + HOT_AT);
	write_load(dump, 2, start + HOT_AT, sizeof(hot), 1, "dumped hot");
	if (!has_option("map")) {
		write_load(dump, 3, elsewhere, sizeof(outer), 2, "dumped outer function");
		write_move(dump, 4, elsewhere, start + OUTER_AT, sizeof(outer), 2);
	}
	write_load(dump, now_ns() + 3600 * 1000000000ULL, start, CODE_BYTES, 3, "to come");
	fflush(dump);
	if (mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) ==
	    MAP_FAILED)
		exit(1);
	if (has_option("deleted"))
		unlink(path);
	return dump;
}

/* Memory at @wanted that can be run, and where it can be written. */
static uint8_t *map_code(void *wanted, uint8_t **out_writable)
{
	int fd = has_option("memfd") ? memfd_create("doublemapper", MFD_CLOEXEC) : -1;
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	int writable = fd >= 0 ? 0 : PROT_WRITE;
	uint8_t *code;

	/* Not at the begin of the file: the offset is not the address. */
	if (fd >= 0 && ftruncate(fd, 4 * CODE_BYTES))
		exit(1);
	code = mmap(wanted, CODE_BYTES, PROT_READ | PROT_EXEC | writable,
		    flags | MAP_FIXED_NOREPLACE, fd, fd >= 0 ? 2 * CODE_BYTES : 0);
	*out_writable =
		fd < 0 ? code
		       : mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, flags, fd, 2 * CODE_BYTES);
	return code;
}

static void change_hot(const uint8_t *code, FILE *dump)
{
	write_load(dump, now_ns(), (uintptr_t)code + HOT_AT, sizeof(hot), 4, "changed hot");
	fflush(dump);
}

/* No frame of its own. */
static inline __attribute__((always_inline)) void run_until(const uint8_t *code, time_t end)
{
	void (*run)(void);

	*(const void **)&run = code + OUTER_AT;
	while (time(NULL) < end)
		run();
}

int main(int argc, char **argv)
{
	void *wanted = (void *)0x10000000;
	time_t begin = time(NULL);
	uint8_t *code, *writable;
	FILE *dump = NULL;

	if (argc < 3)
		return 1;
	prefix = argv[2];
	option_cnt = argc - 3;
	options = argv + 3;
	code = map_code(wanted, &writable);
	if (code != wanted || writable == MAP_FAILED)
		return 1;
	memcpy(writable + HOT_AT, hot, sizeof(hot));
	memcpy(writable + OUTER_AT, outer, sizeof(outer));
	if (has_option("late"))
		run_until(code, begin + 2);
	if (has_option("dump"))
		dump = write_dump(code);
	if (has_option("map") || !has_option("dump"))
		write_map(code);
	if (has_option("map") && has_option("deleted")) {
		run_until(code, begin + 3);
		delete_map();
	}
	if (has_option("change")) {
		run_until(code, begin + 3);
		change_hot(code, dump);
	}
	run_until(code, begin + strtol(argv[1], NULL, 10));
	return 0;
}
