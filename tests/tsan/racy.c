/* SPDX-License-Identifier: Apache-2.0 */
/* A race that ThreadSanitizer has to see, or it sees none on this machine. */
#include <pthread.h>
#include <unistd.h>

static int shared;

static void *write_shared(void *arg)
{
	shared++;
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_shared, NULL))
		return 2;
	usleep(100000);
	shared++;
	return pthread_join(thread, NULL) ? 2 : 0;
}
