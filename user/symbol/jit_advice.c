/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes, and their options as of Node 20, OpenJDK 17, CPython 3.12, .NET 8, Erlang/OTP 26. */
#include "symbol/jit_advice.h"

#include <string.h>

#include "base/log.h"

static const char *advice_for(const char *program)
{
	static const struct {
		const char *prefix, *advice;
	} runtimes[] = {
		{"node", "start it with --perf-basic-prof"},
		{"java", "run `jcmd PID Compiler.perfmap` while it is recorded, and start it with "
			 "-XX:+PreserveFramePointer"},
		{"python", "start it with -X perf"},
		{"dotnet", "start it with DOTNET_PerfMapEnabled=1 in its environment"},
		{"beam.smp", "start it with +JPperf true"},
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (!strncmp(program, runtimes[i].prefix, strlen(runtimes[i].prefix)))
			return runtimes[i].advice;
	return NULL;
}

void jit_advise(const struct module *module, size_t cnt)
{
	const char *advice = module->program ? advice_for(module->program) : NULL;

	if (module->fd < 0 && advice)
		log_warn("%zu frames of JIT code of %s (pid %d) have no names: %s", cnt,
			 module->program, (int)module->tgid, advice);
}
