/* SPDX-License-Identifier: Apache-2.0 */
/* A program or library that probes are put into: its file, its functions, and what lies where. */
#ifndef BPFPROF_EVENT_PROBE_IMAGE_H
#define BPFPROF_EVENT_PROBE_IMAGE_H

#include <stdint.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/functions.h"
#include "elf/segments.h"
#include "elf/symtab.h"
#include "event/event.h"
#include "event/target_file.h"

enum { PROBE_SITES_MAX = 256 }; /* of one event */

struct probe_image {
	struct target_file file; /* owned */
	struct elf_file *elf; /* owned */
	struct debug_file debug; /* owned: symbols that were split off it */
	struct elf_segments segments; /* owned */
	struct symtab *symtab; /* owned; NULL until it is needed */
	struct functions functions; /* owned; when has_functions */
	bool has_functions;
};

/* Open what target_file_find() finds for @path and @tgid, which see for errors and @why. */
int probe_image_open(const char *path, pid_t tgid, struct probe_image *out, struct buf *why);
void probe_image_deinit(struct probe_image *image);

/* Each function symbol of the image or of its debug file; symtab_for_each(). */
int probe_image_functions(const struct probe_image *image, elf_function_fn *fn, void *arg,
			  enum symtab_source *source);

/* The name of the function at @vaddr, *owned*, and how far behind its begin that is; NULL: no
 * symbol covers it. The first call builds an index of all symbols. */
char *probe_image_function_at(struct probe_image *image, uint64_t vaddr, uint64_t *off);

/* @err, which is what came of looking through @image; -ESTALE, and that instead in *@why, when its
 * file was cut short meanwhile. */
int probe_image_verify(const struct probe_image *image, int err, struct buf *why);

/*
 * Add the place at @vaddr, in function @name (copied) of which it is @off bytes away from the
 * begin, to the sites of @event. @name NULL: what the image's symbols say. *@out (may be NULL) is
 * borrowed until the next is added. 0; -ENOENT: no file bytes are loaded there as code; -ENOMEM.
 */
int probe_image_add_site(struct probe_image *image, struct event *event, uint64_t vaddr,
			 const char *name, uint64_t off, struct event_site **out);

#endif
