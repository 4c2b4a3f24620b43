/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped files and the handler of SIGBUS. The ranges are a list that only grows, of atomics alone:
 * the handler walks it at any moment, in any thread.
 */
#include "base/mapped_file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapped_range {
	struct mapped_range *next; /* does not change once it is in the list */
	atomic_bool is_taken;
	atomic_uintptr_t start;
	atomic_size_t len; /* in whole pages; 0: nothing is mapped */
	atomic_bool is_cut;
};

static _Atomic(struct mapped_range *) ranges;
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static size_t page_bytes;

static struct mapped_range *range_of(uintptr_t addr)
{
	for (struct mapped_range *range = atomic_load(&ranges); range; range = range->next) {
		size_t len = atomic_load(&range->len);

		if (len && addr - atomic_load(&range->start) < len)
			return range;
	}
	return NULL;
}

/* Zeros in the place of the page that is gone. */
static bool fill_page(uintptr_t addr)
{
	struct mapped_range *range = range_of(addr);
	uintptr_t page = addr / page_bytes * page_bytes;

	if (!range || mmap((void *)page, page_bytes, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	atomic_store(&range->is_cut, true);
	return true;
}

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	const bool is_sent = info->si_code <= 0;
	int saved_errno = errno;

	/* Not ours: what was there before gets it, as soon as the instruction is tried again. */
	if (is_sent || !fill_page((uintptr_t)info->si_addr))
		sigaction(sig, &before, NULL);
	if (is_sent)
		raise(sig);
	errno = saved_errno;
}

/* Also where somebody has put another in its place since. */
static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, now;

	pthread_mutex_lock(&install_lock);
	if (!sigaction(SIGBUS, NULL, &now) && now.sa_sigaction != on_bus_error) {
		before = now;
		page_bytes = (size_t)sysconf(_SC_PAGESIZE);
		sigemptyset(&action.sa_mask);
		sigaction(SIGBUS, &action, NULL);
	}
	pthread_mutex_unlock(&install_lock);
}

static struct mapped_range *take_range(void)
{
	struct mapped_range *range;
	bool is_free;

	for (range = atomic_load(&ranges); range; range = range->next) {
		is_free = false;
		if (atomic_compare_exchange_strong(&range->is_taken, &is_free, true))
			return range;
	}
	range = calloc(1, sizeof(*range));
	if (!range)
		return NULL;
	atomic_init(&range->is_taken, true);
	range->next = atomic_load(&ranges);
	while (!atomic_compare_exchange_weak(&ranges, &range->next, range))
		;
	return range;
}

int mapped_file_open(int fd, struct mapped_file *out)
{
	struct mapped_file file;
	struct stat st;
	void *bytes;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0)
		return -ENODATA;
	if ((uint64_t)st.st_size > SIZE_MAX / 2)
		return -EFBIG;
	install();
	file.range = take_range();
	if (!file.range)
		return -ENOMEM;
	file.len = (size_t)st.st_size;
	bytes = mmap(NULL, file.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		int err = -errno;

		atomic_store(&file.range->is_taken, false);
		return err;
	}
	file.bytes = bytes;
	atomic_store(&file.range->is_cut, false);
	atomic_store(&file.range->start, (uintptr_t)bytes);
	atomic_store(&file.range->len, (file.len + page_bytes - 1) / page_bytes * page_bytes);
	*out = file;
	return 0;
}

bool mapped_file_is_cut(const struct mapped_file *file)
{
	return file->range && atomic_load(&file->range->is_cut);
}

void mapped_file_close(struct mapped_file *file)
{
	if (!file->range)
		return;
	atomic_store(&file->range->len, 0);
	munmap((void *)file->bytes, file->len);
	atomic_store(&file->range->is_taken, false);
	*file = (struct mapped_file){0};
}
