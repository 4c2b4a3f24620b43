/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs of the object are loaded for events. */
#include "capture/event_programs.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bpfprof.skel.h"
#include "capture/samplers.h"

static struct bpf_program *choose_program(struct bpfprof *skel, const char *prefix, uint32_t nr,
					  enum event_kind kind)
{
	struct bpf_program *prog;
	char name[32];

	snprintf(name, sizeof(name), "%s_%u", prefix, nr);
	prog = bpf_object__find_program_by_name(skel->obj, name);
	bpf_program__set_autoload(prog, true);
	if (event_is_user_probe(kind) && probes_have_multi())
		bpf_program__set_expected_attach_type(
			prog, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	return prog;
}

/* Each event has its own program, of the type that its kind needs; the others are not loaded. */
void event_programs_choose(struct event_programs *programs, struct bpfprof *skel,
			   const struct samplers *samplers)
{
	static const char *const prefixes[] = {
		[EVENT_COUNTER] = "bp_oncpu", [EVENT_TRACEPOINT] = "bp_tracepoint",
		[EVENT_KPROBE] = "bp_kprobe", [EVENT_KRETPROBE] = "bp_kprobe",
		[EVENT_UPROBE] = "bp_uprobe", [EVENT_URETPROBE] = "bp_uprobe",
		[EVENT_USDT] = "bp_uprobe",
	};
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
	{
		const char *name = bpf_program__name(prog);

		if (isdigit((unsigned char)name[strlen(name) - 1]))
			bpf_program__set_autoload(prog, false);
	}
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		enum event_kind kind = samplers->items[i].event.spec.kind;

		programs->samplers[i] = choose_program(skel, prefixes[kind], i, kind);
		if (skel->rodata->cfg.events[i].elapsed)
			programs->calls[i] = choose_program(skel, "bp_call", i, kind);
	}
}

int event_programs_begin(struct event_programs *programs, const struct samplers *samplers)
{
	programs->patch = (struct expr_patch){0};
	for (uint32_t i = 0; i < samplers->cnt; i++)
		for (uint32_t use = 0; use < BP_EXPR_USES; use++)
			programs->patch.codes[i][use] = samplers->items[i].exprs.codes[use];
	return expr_patch_begin(&programs->patch);
}

int event_programs_end(struct event_programs *programs)
{
	return expr_patch_end(&programs->patch);
}

void event_programs_abandon(struct event_programs *programs)
{
	expr_patch_abandon(&programs->patch);
}
