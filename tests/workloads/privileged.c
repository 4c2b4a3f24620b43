/* SPDX-License-Identifier: Apache-2.0 */
/* What a setuid program finds itself with: "UID EUID NO_NEW_PRIVS SECCOMP". */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	printf("%d %d %d %d\n", (int)getuid(), (int)geteuid(),
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP));
	return 0;
}
