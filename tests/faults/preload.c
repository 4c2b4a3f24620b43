/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: makes one call of the program fail, for tests/faults/run.
 *
 * FAULT_CALL=NAME: which: open, read, write, bpf, perf_event_open, mmap, alloc, ... (calls[])
 *
 * FAULT_NTH=N: the Nth of them, from 1; of alloc: the Nth place in code that allocates, met for the
 * first time; 0: none
 *
 * FAULT_ERRNO=NR: with this errno; SHORT: reads and writes do half of what was asked
 *
 * FAULT_TRAP=1: and raise SIGTRAP there, for a debugger
 *
 * FAULT_REPORT=PATH: at the end: "CALL SEEN INJECTED" as text, one line
 *
 * The environment is cleared of it, so that a recorded COMMAND is left alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call {
	CALL_OPEN,
	CALL_READ,
	CALL_WRITE,
	CALL_BPF,
	CALL_PERF_EVENT_OPEN,
	CALL_IOCTL,
	CALL_MMAP,
	CALL_THREAD,
	CALL_RENAME,
	CALL_FSYNC,
	CALL_ALLOC,
	CALL_CNT,
};

static const char *const calls[CALL_CNT] = {
	"open", "read",	  "write",  "bpf",   "perf_event_open", "ioctl",
	"mmap", "thread", "rename", "fsync", "alloc",
};

enum { PLACES_MAX = 1 << 16 };

static int wanted = -1;
static long nth;
static int error = EIO;
static bool is_short, is_trap;
static char report_path[256];
static atomic_long seen, injected;
/* Of alloc: where it was called from; 0: free. */
static _Atomic uintptr_t places[PLACES_MAX];

/* The next definition of @name, behind this one. */
#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

static bool hit(void)
{
	if (atomic_fetch_add(&seen, 1) + 1 != nth)
		return false;
	atomic_fetch_add(&injected, 1);
	if (is_trap)
		raise(SIGTRAP);
	return true;
}

static bool fails(enum call call)
{
	if (wanted != (int)call || !hit())
		return false;
	errno = error;
	return true;
}

/* Is @place met for the first time, and the one to fail? */
static bool place_fails(const void *place)
{
	uintptr_t key = (uintptr_t)place;

	if (wanted != CALL_ALLOC)
		return false;
	for (size_t i = (key * 0x9e3779b97f4a7c15u) >> 48, n = 0; n < PLACES_MAX;
	     i = (i + 1) % PLACES_MAX, n++) {
		uintptr_t there = 0;

		if (atomic_compare_exchange_strong(&places[i], &there, key)) {
			if (!hit())
				return false;
			errno = ENOMEM;
			return true;
		}
		if (there == key)
			return false;
	}
	return false;
}

__attribute__((constructor)) static void begin(void)
{
	const char *call = getenv("FAULT_CALL"), *number = getenv("FAULT_NTH");
	const char *err = getenv("FAULT_ERRNO"), *report = getenv("FAULT_REPORT");

	if (report)
		snprintf(report_path, sizeof(report_path), "%s", report);
	nth = number ? strtol(number, NULL, 10) : 0;
	is_trap = getenv("FAULT_TRAP");
	is_short = err && !strcmp(err, "SHORT");
	if (err && !is_short)
		error = (int)strtol(err, NULL, 10);
	unsetenv("LD_PRELOAD");
	for (int i = 0; call && i < CALL_CNT; i++)
		if (!strcmp(call, calls[i]))
			wanted = i;
}

/* By system calls: what the program calls is not counted here. */
__attribute__((destructor)) static void end(void)
{
	char line[128];
	int fd, len;

	if (wanted < 0 || !*report_path)
		return;
	len = snprintf(line, sizeof(line), "%s %ld %ld\n", calls[wanted], atomic_load(&seen),
		       atomic_load(&injected));
	fd = (int)syscall(SYS_openat, AT_FDCWD, report_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || syscall(SYS_write, fd, line, len) != len)
		abort();
	syscall(SYS_close, fd);
}

/* --- Files --- */

static mode_t mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                            \
	int name(const char *path, int flags, ...)                            \
	{                                                                     \
		va_list args;                                                 \
		mode_t mode;                                                  \
                                                                              \
		va_start(args, flags);                                        \
		mode = mode_of(flags, args);                                  \
		va_end(args);                                                 \
		return fails(CALL_OPEN) ? -1 : REAL(name)(path, flags, mode); \
	}

#define OPENAT(name)                                                                  \
	int name(int folder, const char *path, int flags, ...)                        \
	{                                                                             \
		va_list args;                                                         \
		mode_t mode;                                                          \
                                                                                      \
		va_start(args, flags);                                                \
		mode = mode_of(flags, args);                                          \
		va_end(args);                                                         \
		return fails(CALL_OPEN) ? -1 : REAL(name)(folder, path, flags, mode); \
	}

#define FOPEN(name)                                                      \
	FILE *name(const char *path, const char *mode)                   \
	{                                                                \
		return fails(CALL_OPEN) ? NULL : REAL(name)(path, mode); \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

/* How much of @len is to be done; -1: none, with errno. */
static ssize_t part(enum call call, size_t len)
{
	if (wanted != (int)call || !hit())
		return (ssize_t)len;
	if (is_short)
		return (ssize_t)(len > 1 ? len / 2 : len);
	errno = error;
	return -1;
}

ssize_t read(int fd, void *out, size_t len)
{
	ssize_t may = part(CALL_READ, len);

	return may < 0 ? -1 : REAL(read)(fd, out, (size_t)may);
}

ssize_t pread(int fd, void *out, size_t len, off_t at)
{
	ssize_t may = part(CALL_READ, len);

	return may < 0 ? -1 : REAL(pread)(fd, out, (size_t)may, at);
}

ssize_t pread64(int fd, void *out, size_t len, off64_t at)
{
	ssize_t may = part(CALL_READ, len);

	return may < 0 ? -1 : REAL(pread64)(fd, out, (size_t)may, at);
}

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t may = part(CALL_WRITE, len);

	return may < 0 ? -1 : REAL(write)(fd, data, (size_t)may);
}

int rename(const char *from, const char *to)
{
	return fails(CALL_RENAME) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
	return fails(CALL_RENAME) ? -1 : REAL(renameat)(from_at, from, to_at, to);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned int flags)
{
	return fails(CALL_RENAME) ? -1 : REAL(renameat2)(from_at, from, to_at, to, flags);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	return fails(CALL_RENAME) ? -1 : REAL(linkat)(from_at, from, to_at, to, flags);
}

int fsync(int fd)
{
	return fails(CALL_FSYNC) ? -1 : REAL(fsync)(fd);
}

int ftruncate(int fd, off_t len)
{
	return fails(CALL_FSYNC) ? -1 : REAL(ftruncate)(fd, len);
}

int ftruncate64(int fd, off64_t len)
{
	return fails(CALL_FSYNC) ? -1 : REAL(ftruncate64)(fd, len);
}

/* --- The kernel --- */

long syscall(long nr, ...)
{
	long arg[6];
	va_list args;

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (nr == SYS_bpf && fails(CALL_BPF))
		return -1;
	if (nr == SYS_perf_event_open && fails(CALL_PERF_EVENT_OPEN))
		return -1;
	return REAL(syscall)(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return fails(CALL_IOCTL) ? -1 : REAL(ioctl)(fd, request, arg);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return fails(CALL_MMAP) ? MAP_FAILED : REAL(mmap)(at, len, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return fails(CALL_MMAP) ? MAP_FAILED : REAL(mmap64)(at, len, prot, flags, fd, offset);
}

int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return fails(CALL_THREAD) ? EAGAIN : REAL(pthread_create)(out, attr, run, arg);
}

/* --- Memory: glibc's own names, because dlsym() allocates --- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t cnt, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

void *malloc(size_t bytes)
{
	return place_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t cnt, size_t bytes)
{
	return place_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(cnt, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return place_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}
