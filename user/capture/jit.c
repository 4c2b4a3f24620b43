/* SPDX-License-Identifier: Apache-2.0 */
/* The list of processes with JIT code: few, so that it is searched in order. */
#include "capture/jit.h"

#include <stdlib.h>

#include "base/array.h"
#include "profile/profile.h"

/* Two descriptors each. */
enum { PROCESSES_MAX = 256 };

void jit_deinit(struct jit *jit)
{
	for (size_t i = 0; i < jit->cnt; i++)
		module_free(jit->items[i].module);
	free(jit->items);
	*jit = (struct jit){0};
}

struct jit_process *jit_find(struct jit *jit, uint32_t tgid, uint64_t start_ns)
{
	struct jit_process *process;

	for (size_t i = 0; i < jit->cnt; i++) {
		process = &jit->items[i];
		if (process->tgid != tgid)
			continue;
		if (process->start_ns == start_ns) {
			process->last_window = jit->window;
			return process;
		}
		if (process->last_window == jit->window)
			return NULL;
	}
	if (jit->cnt == PROCESSES_MAX ||
	    array_reserve(&jit->items, &jit->cap, jit->cnt + 1, sizeof(*jit->items)))
		return NULL;
	process = &jit->items[jit->cnt];
	*process = (struct jit_process){
		.start_ns = start_ns,
		.tgid = tgid,
		.mapping = PROFILE_NONE,
		.module = module_jit((pid_t)tgid),
		.last_window = jit->window,
		.looked = jit->drain,
		.look_next = jit->drain + 1,
	};
	if (!process->module)
		return NULL;
	jit->cnt++;
	return process;
}

void jit_look_again(struct jit *jit)
{
	jit->drain++;
	for (size_t i = 0; i < jit->cnt; i++) {
		struct jit_process *process = &jit->items[i];

		if (jit->drain < process->look_next)
			continue;
		module_jit_refresh(process->module);
		process->look_next = jit->drain + 2 * (jit->drain - process->looked);
		process->looked = jit->drain;
	}
}

void jit_refresh(struct jit *jit)
{
	for (size_t i = 0; i < jit->cnt; i++)
		if (jit->items[i].last_window == jit->window)
			module_jit_refresh(jit->items[i].module);
}

void jit_begin_window(struct jit *jit)
{
	size_t kept = 0;

	for (size_t i = 0; i < jit->cnt; i++) {
		struct jit_process process = jit->items[i];

		if (process.last_window < jit->window) {
			module_free(process.module);
			continue;
		}
		process.mapping = PROFILE_NONE;
		jit->items[kept++] = process;
	}
	jit->cnt = kept;
	jit->window++;
}
