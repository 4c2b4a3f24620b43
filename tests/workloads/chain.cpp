/* SPDX-License-Identifier: Apache-2.0 */
/* chain SECONDS: all of the time is spent in a function that is inlined twice over. Tests look for
 * the lines that are marked. */
#include <cstdlib>
#include <ctime>

#define INLINED inline __attribute__((always_inline))

namespace chain
{
template <unsigned Step>
INLINED unsigned long turn(unsigned long sum) /* turn starts */
{
	for (unsigned long i = 0; i < 100000; i++) /* turn loops */
		__asm__ volatile("add %1, %0" : "+r"(sum) : "r"(i * Step)); /* turn adds */
	return sum;
}

struct crank {
	unsigned long sum;

	INLINED void wind(unsigned long by) /* wind starts */
	{
		sum += turn<3>(by); /* wind turns */
	}
};

__attribute__((noinline)) void drive(crank &handle, unsigned long by) /* drive starts */
{
	handle.wind(by); /* drive winds */
	__asm__ volatile("" ::: "memory");
}
} // namespace chain

static double now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? std::atof(argv[1]) : 1);
	chain::crank handle = {};

	while (now() < end)
		chain::drive(handle, handle.sum | 1);
	return handle.sum == 42;
}
