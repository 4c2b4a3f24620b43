/* SPDX-License-Identifier: Apache-2.0 */
/* runs PROGRAM ARG...: that, after a while, by exec. */
#include <unistd.h>

int main(int argc, char **argv)
{
	usleep(300000);
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 127;
}
