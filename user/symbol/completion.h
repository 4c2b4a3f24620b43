/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completing a profile that was recorded elsewhere: its mappings' files are found by build-id
 * (symbol/locate.h), and what has no name, or a name without lines, is named from them. Kernel
 * frames and those of JIT code keep what they have: only the host that recorded them could name
 * them.
 *
 *	completion_init()	files that are here
 *	completion_ask()	servers are asked for the others
 *	...			they are waited for
 *	completion_run()	files that came, then names
 */
#ifndef BPFPROF_SYMBOL_COMPLETION_H
#define BPFPROF_SYMBOL_COMPLETION_H

#include "elf/segments.h"
#include "symbol/symbolizer.h"

/* A mapping of the profile. */
struct completion_file {
	struct module *module; /* owned; NULL while its file is not found */
	struct elf_segments segments; /* of module, for addresses that were not translated yet */
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_len; /* 0: it is not looked for */
};

struct completion {
	struct profile *prof; /* borrowed */
	const struct symbol_sources *sources; /* borrowed */
	struct completion_file *files; /* owned; one for each mapping */
	/* Filled by completion_run(). */
	size_t wanted_cnt; /* mappings with frames that lacked something */
	size_t found_cnt; /* of these, whose file was found */
	size_t no_id_cnt; /* of these, that have no build-id to look for */
	size_t replaced_cnt; /* frames that had lines, which are left without use */
	struct ledger_frames before, after;
};

/* Find the files of @prof (borrowed, as is @sources, for the life of @out) on this host. 0 or
 * -ENOMEM; completion_deinit() in either case. */
int completion_init(struct completion *out, struct profile *prof,
		    const struct symbol_sources *sources);
void completion_deinit(struct completion *completion);

/* Ask sources->debuginfod for what is missing. */
void completion_ask(struct completion *completion);

/*
 * Name what can be named; opts->sources is replaced by that of the completion. Frames that had a
 * name and get none keep theirs. A ledger in the profile gets the new counts of frames. 0 or
 * -ENOMEM.
 */
int completion_run(struct completion *completion, const struct symbolizer_opts *opts);

#endif
