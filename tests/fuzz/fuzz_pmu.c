/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what sysfs says of a PMU, and the terms of it that are asked for. The input's lines,
 * in order: the terms; the PMU's number; the bits of the term "event", of "umask" and of "inv"; the
 * events "cycles" and "stores".
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/pmu.h"

static const char *const files[] = {
	"cpu/type",	  "cpu/format/event",  "cpu/format/umask",
	"cpu/format/inv", "cpu/events/cycles", "cpu/events/stores",
};
static const char *const folders[] = {"cpu", "cpu/format", "cpu/events"};

enum {
	FILES_CNT = sizeof(files) / sizeof(*files),
	FOLDERS_CNT = sizeof(folders) / sizeof(*folders),
	INPUT_MAX = 256, /* events that name events multiply */
};

static char root[] = "/dev/shm/bpfprof-fuzz-pmu.XXXXXX";
static int root_fd = -1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void remove_root(void)
{
	for (size_t i = 0; i < FILES_CNT; i++)
		unlinkat(root_fd, files[i], 0);
	for (size_t i = FOLDERS_CNT; i-- > 0;)
		unlinkat(root_fd, folders[i], AT_REMOVEDIR);
	rmdir(root);
}

static void make_root(void)
{
	if (root_fd >= 0)
		return;
	if (!mkdtemp(root))
		abort();
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || atexit(remove_root))
		abort();
	for (size_t i = 0; i < FOLDERS_CNT; i++)
		if (mkdirat(root_fd, folders[i], 0700))
			abort();
}

static void write_file(const char *name, const char *text)
{
	size_t len = strlen(text);
	int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void check_config(const char *terms)
{
	struct pmu_config config = {0};
	struct buf why;
	uint32_t bit;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = pmu_config(root, "cpu", terms, &config, &why);
	if ((err && err != -ENOMEM) != (why.len > 0))
		abort();
	buf_deinit(&why);
	if (!pmu_format_bit(root, "cpu", "inv", &bit) && bit > 63)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text, *next;
	const char *terms;

	if (len > INPUT_MAX)
		return 0;
	next = text = strndup((const char *)data, len);
	if (!text)
		abort();
	make_root();
	terms = strsep(&next, "\n");
	for (size_t i = 0; i < FILES_CNT; i++) {
		const char *line = strsep(&next, "\n");

		write_file(files[i], line ? line : "");
	}
	check_config(terms);
	free(text);
	return 0;
}
