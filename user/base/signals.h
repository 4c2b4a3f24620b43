/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of threads and processes that are not to be disturbed. */
#ifndef BPFPROF_BASE_SIGNALS_H
#define BPFPROF_BASE_SIGNALS_H

#include <signal.h>

/* Every signal but those of a thread's own faults into *@out: blocked, these would end the process
 * though somebody handles them (base/mapped_file.h). */
static inline void signals_fill_but_faults(sigset_t *out)
{
	static const int faults[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE};

	sigfillset(out);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(out, faults[i]);
}

#endif
