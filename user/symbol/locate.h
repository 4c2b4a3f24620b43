/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the file of a mapping without its process: of a profile that was recorded elsewhere, or
 * long ago. The build-id decides; the path only says where to look first:
 *
 *	in each --debug-dir DIR		DIR/.build-id/12/ab34..., DIR/<path>, DIR/<name>
 *	on this host			<path>
 *	the debug file alone		the same in each DIR and in /usr/lib/debug, with .debug
 *	from debuginfod			what has arrived: the debug file, the executable
 *
 * The image itself is preferred: it has the program headers and Go's tables, and its debug file is
 * looked for later (elf/debug_file.h). A debug file alone names all but PLT entries.
 */
#ifndef BPFPROF_SYMBOL_LOCATE_H
#define BPFPROF_SYMBOL_LOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "proc/module.h"
#include "symbol/symbolizer.h"

/* A mapping's image, as the profile knows it; all borrowed. */
struct image_id {
	const char *path; /* as its process saw it */
	const uint8_t *build_id;
	size_t build_id_len; /* 2 at least */
};

/* The file of @image, *owned* (module_free()); NULL + errno: ENOENT when it is nowhere, ENOMEM. */
struct module *locate_module(const struct image_id *image, const struct symbol_sources *sources);

#endif
