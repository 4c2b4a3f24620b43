/* SPDX-License-Identifier: Apache-2.0 */
/* Scope guards: release on leaving the scope, whichever way it is left. */
#ifndef BPFPROF_BASE_CLEANUP_H
#define BPFPROF_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_fn(void *ptr)
{
	free(*(void **)ptr);
}

static inline void cleanup_close_fn(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_fn(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_(fn) __attribute__((cleanup(fn)))
/* For a variable that is there for its end alone. */
#define _guard_(fn) __attribute__((cleanup(fn), unused))
#define _cleanup_free_ _cleanup_(cleanup_free_fn)
#define _cleanup_close_ _cleanup_(cleanup_close_fn)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose_fn)

/* Hand @fd's ownership to the caller: the guard then has nothing to close. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *take_ptr_fn(void *ptr)
{
	void **slot = ptr;
	void *taken = *slot;

	*slot = NULL;
	return taken;
}

/* Hand the pointer's ownership to the caller: the guard then has nothing to free. */
#define take_ptr(ptr) ((__typeof__(ptr))take_ptr_fn(&(ptr)))

#endif
