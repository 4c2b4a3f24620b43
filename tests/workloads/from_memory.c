/* SPDX-License-Identifier: Apache-2.0 */
/* from_memory PROGRAM ARG...: run a copy of it that no folder ever had: a memfd, by fexecve(3). */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int from = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int copy = memfd_create("copy", MFD_CLOEXEC);
	struct stat st;

	if (from < 0 || copy < 0 || fstat(from, &st))
		return 1;
	for (off_t left = st.st_size; left;) {
		ssize_t sent = sendfile(copy, from, NULL, (size_t)left);

		if (sent <= 0)
			return 1;
		left -= sent;
	}
	fexecve(copy, argv + 1, environ);
	perror("fexecve");
	return 1;
}
