/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What test_user_probes.sh puts probes into: stops itself, and when it is let go on calls each
 * function as often as its name says. With -DLIBRARY it is the library that has lib_300.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define KEEP __attribute__((noinline, noclone, used))

extern "C" int lib_300(int value);
extern "C" volatile unsigned short sems_seen;
volatile int sink;

#ifdef LIBRARY
extern "C" KEEP int lib_300(int value)
{
	return sink = value + 300;
}
#else

#if defined(__x86_64__)
#define ARG "-4@%k[arg]"
#else
#define ARG "-4@%w[arg]"
#endif

/* The note that <sys/sdt.h> would make: a nop, and where it is. */
#define PROBE(name, semaphore, value)                                                              \
	asm volatile("990: nop\n"                                                                  \
		     ".pushsection .note.stapsdt, \"\", %%note\n"                                  \
		     ".balign 4\n"                                                                 \
		     ".4byte 8, 994f - 993f, 3\n"                                                  \
		     ".asciz \"stapsdt\"\n"                                                        \
		     "993: .8byte 990b, stapsdt_base, " semaphore "\n"                             \
		     ".asciz \"target\"\n"                                                         \
		     ".asciz \"" name "\"\n"                                                       \
		     ".asciz \"" ARG "\"\n"                                                        \
		     "994: .balign 4\n"                                                            \
		     ".popsection\n"                                                               \
		     :                                                                             \
		     : [arg] "r"(value))

asm(".pushsection .stapsdt.base, \"a\", %progbits\n"
    ".global stapsdt_base\n"
    ".hidden stapsdt_base\n"
    "stapsdt_base: .space 1\n"
    ".popsection\n"
    ".pushsection .probes, \"aw\", %progbits\n"
    ".global watched_semaphore\n"
    ".hidden watched_semaphore\n"
    "watched_semaphore: .2byte 0\n"
    ".popsection\n");

extern "C" volatile unsigned short watched_semaphore __attribute__((visibility("hidden")));

extern "C" KEEP int work_100(int value)
{
	return sink = value + 100;
}

extern "C" KEEP int work_200(int value)
{
	return sink = value + 200;
}

namespace net
{
struct Server {
	KEEP explicit Server(int port)
	{
		sink = port;
	}
	KEEP int accept_50(int value)
	{
		return sink = value + 50;
	}
	KEEP int send(int value)
	{
		return sink = value;
	}
	KEEP int send(long value)
	{
		return sink = (int)value + 1;
	}
};
} // namespace net

/* In two places: 150 hits together. */
static KEEP void fire(int round)
{
	if (round < 100)
		PROBE("twice", "0", round);
	if (round < 50)
		PROBE("twice", "0", round + 1);
	if (watched_semaphore)
		PROBE("watched", "watched_semaphore", round);
}

extern "C" KEEP size_t length_of(const char *text)
{
	size_t (*volatile indirect)(const char *) = strlen;

	return indirect(text);
}

int main(int argc, char **argv)
{
	char name[256];

	raise(SIGSTOP);
	snprintf(name, sizeof(name), "%s", argv[0]);
	for (int i = 0; i < 300; i++) {
		net::Server server(i);

		if (i < 100)
			sink = work_100(i);
		if (i < 200)
			sink = work_200(i);
		if (i < 50)
			sink = server.accept_50(i);
		sink = server.send(i) + server.send((long)i) + lib_300(i);
		fire(i);
	}
	for (int i = 0; i < 4000; i++)
		sink = (int)length_of(name);
	return 0;
}
#endif
