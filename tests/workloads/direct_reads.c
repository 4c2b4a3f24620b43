/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_reads SECONDS FILE: makes FILE, and then the thread `direct_reader` reads pieces of it
 * past the page cache (O_DIRECT), in direct_read(). Exit status 77 where the file system has no
 * disk.
 */
#include "keep_frame.h"
#include "truth.h"
#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/vfs.h>

enum { PIECE = 256 * 1024, PIECES = 128, NO_DISK = 77 };

static int64_t until_ns;
static int fd;
static char *piece;

static __attribute__((noinline)) void direct_read(unsigned int nr)
{
	if (pread(fd, piece, PIECE, (off_t)(nr % PIECES) * PIECE) != PIECE)
		give_up("pread");
	KEEP_FRAME();
}

static void *reader_run(void *arg)
{
	struct truth truth;
	unsigned int nr = 1;

	(void)arg;
	truth_begin(&truth, "direct_reader");
	while (now_ns() < until_ns) {
		nr = nr * 1103515245 + 12345;
		wait_begin(&truth);
		direct_read(nr >> 16);
		wait_end(&truth);
	}
	truth_tell(&truth, "cause=disk");
	return NULL;
}

static void file_make(const char *path)
{
	struct statfs where;
	int made_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (made_fd < 0 || fstatfs(made_fd, &where))
		give_up(path);
	if (where.f_type == TMPFS_MAGIC)
		exit(NO_DISK);
	for (int i = 0; i < PIECES; i++) {
		memset(piece, i + 1, PIECE);
		if (write(made_fd, piece, PIECE) != PIECE)
			give_up(path);
	}
	if (fsync(made_fd))
		give_up(path);
	close(made_fd);
}

int main(int argc, char **argv)
{
	pthread_t reader;

	if (argc != 3 || posix_memalign((void **)&piece, 4096, PIECE))
		return 2;
	file_make(argv[2]);
	fd = open(argv[2], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 && errno == EINVAL)
		return NO_DISK;
	if (fd < 0)
		give_up(argv[2]);
	until_ns = end_ns(argc, argv);
	if (pthread_create(&reader, NULL, reader_run, NULL))
		give_up("pthread_create");
	pthread_join(reader, NULL);
	return 0;
}
