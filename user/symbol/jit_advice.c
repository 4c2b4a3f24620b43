/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes, and their options as of Node 20, OpenJDK 17, CPython 3.13, .NET 8, Erlang/OTP 26, Ruby
 * 3.3, PHP 8.0, LuaJIT 2.1.
 */
#include "symbol/jit_advice.h"

#include <string.h>

#include "base/log.h"
#include "base/reader.h"

enum { PYTHON_MINOR_MIN = 12 }; /* has -X perf */

struct runtime {
	const char *prefix; /* of the program's name */
	const char *advice;
	bool has_dump; /* this is for those that write a jitdump, else for those that do not */
};

static const struct runtime runtimes[] = {
	{"node", "start it with --perf-basic-prof"},
	{"java", "run `jcmd PID Compiler.perfmap` while it is recorded, and start it with "
		 "-XX:+PreserveFramePointer"},
	{"dotnet", "start it with DOTNET_PerfMapEnabled=1 in its environment"},
	{"beam.smp", "start it with +JPperf true"},
	{"ruby", "start it with --yjit-perf (from Ruby 3.3 on)"},
	{"php", "start it with -d opcache.jit_debug=16"},
	{"luajit", "build it with -DLUAJIT_USE_PERFTOOLS"},
	{"node", "its jitdump is whole only when it ends; --perf-basic-prof lists them at once",
	 true},
	{"python", "its jitdump is whole only when it ends; -X perf lists them at once", true},
};

enum { RUNTIME_CNT = sizeof(runtimes) / sizeof(runtimes[0]) };

_Static_assert(sizeof(runtimes) / sizeof(runtimes[0]) <= JIT_RUNTIMES_MAX, "a place for each");

void jit_advice_note(struct jit_advice *advice, const struct module *module, size_t cnt)
{
	if (!module->program || module->fd >= 0)
		return;
	for (size_t i = 0; i < RUNTIME_CNT; i++) {
		const char *prefix = runtimes[i].prefix;

		if (strncmp(module->program, prefix, strlen(prefix)) != 0 ||
		    runtimes[i].has_dump != (module->dump_fd >= 0))
			continue;
		if (!advice->runtimes[i].process_cnt++)
			advice->runtimes[i].first = module;
		advice->runtimes[i].frame_cnt += cnt;
		return;
	}
}

void jit_advice_note_file(struct jit_advice *advice, const char *path)
{
	static const char *const names[] = {"python3.", "libpython3."};
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);
		struct reader rd;
		uint64_t minor;

		if (strncmp(base, names[i], len) != 0)
			continue;
		reader_init(&rd, base + len, strlen(base + len));
		minor = reader_number(&rd, 10);
		if (!rd.err && minor >= PYTHON_MINOR_MIN && minor < 100)
			advice->python_minor = (unsigned int)minor;
	}
}

static void tell_python(struct jit_advice *advice)
{
	if (advice->python_minor && !advice->has_python && !advice->is_python_told) {
		log_warn("functions of Python programs are not named, only the interpreter's: "
			 "start python3.%u with -X perf",
			 advice->python_minor);
		advice->is_python_told = true;
	}
	advice->python_minor = 0;
	advice->has_python = false;
}

void jit_advice_tell(struct jit_advice *advice)
{
	tell_python(advice);
	for (size_t i = 0; i < RUNTIME_CNT; i++) {
		const struct module *first = advice->runtimes[i].first;
		size_t others = advice->runtimes[i].process_cnt - 1;
		bool is_told = advice->runtimes[i].is_told;

		if (first && !is_told && !others)
			log_warn("%zu frames of JIT code of %s (pid %d) have no names: %s",
				 advice->runtimes[i].frame_cnt, first->program, (int)first->tgid,
				 runtimes[i].advice);
		else if (first && !is_told)
			log_warn("%zu frames of JIT code of %s (pid %d, and %zu more) have no "
				 "names: %s",
				 advice->runtimes[i].frame_cnt, first->program, (int)first->tgid,
				 others, runtimes[i].advice);
		advice->runtimes[i].is_told |= first != NULL;
		advice->runtimes[i].first = NULL;
		advice->runtimes[i].process_cnt = advice->runtimes[i].frame_cnt = 0;
	}
}
