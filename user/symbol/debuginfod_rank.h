/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the files that were asked for a profile misses most. */
#ifndef BPFPROF_SYMBOL_DEBUGINFOD_RANK_H
#define BPFPROF_SYMBOL_DEBUGINFOD_RANK_H

struct debuginfod;
struct profile;

/* Each file counts as its frames in @prof, times the default value of their samples: what
 * debuginfod_report() says first is what names most of the picture. 0 or -ENOMEM. */
int debuginfod_rank(struct debuginfod *client, const struct profile *prof);

#endif
