/* SPDX-License-Identifier: Apache-2.0 */
/* The names that allocators have. */
#include "capture/heap_family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/elf_file.h"
#include "elf/functions.h"
#include "elf/segments.h"
#include "elf/symtab.h"
#include "event/probe_slide.h"

enum {
	CODE_MAX_BYTES = 1 << 20, /* of a function that is searched for a cheap place */
#ifdef __x86_64__
	IS_X86 = 1,
#else
	IS_X86 = 0,
#endif
};

/* Of glibc and musl; jemalloc, as built, as Rust's and FreeBSD's builds have it; mimalloc; tcmalloc
 * (gperftools and Google's); Rust's allocator interface; scudo, rpmalloc, snmalloc; dlmalloc. */
static const char *const prefixes[] = {"",    "__libc_", "je_",	    "_rjem_", "jemalloc_",
				       "mi_", "tc_",	 "__rust_", "__rdl_", "rp",
				       "sn_", "dl",	 "scudo_"};

static const struct {
	const char *name; /* after the prefix */
	enum bp_heap_call call;
	bool needs_prefix; /* alone it may be anything */
} calls[] = {
	{"malloc", BP_HEAP_ALLOC},
	{"calloc", BP_HEAP_ALLOC_COUNT},
	{"realloc", BP_HEAP_REALLOC},
	{"reallocarray", BP_HEAP_REALLOC_COUNT},
	{"memalign", BP_HEAP_ALIGNED},
	{"aligned_alloc", BP_HEAP_ALIGNED},
	{"posix_memalign", BP_HEAP_OUT},
	{"valloc", BP_HEAP_ALLOC},
	{"pvalloc", BP_HEAP_ALLOC},
	{"mallocx", BP_HEAP_ALLOC},
	{"rallocx", BP_HEAP_REALLOC},
	{"zalloc", BP_HEAP_ALLOC, true},
	{"alloc", BP_HEAP_ALLOC, true}, /* __rust_alloc(size, alignment) */
	{"alloc_zeroed", BP_HEAP_ALLOC, true},
	{"free", BP_HEAP_FREE},
	{"cfree", BP_HEAP_FREE},
	{"dallocx", BP_HEAP_FREE},
	{"sdallocx", BP_HEAP_FREE},
	{"free_sized", BP_HEAP_FREE},
	{"dealloc", BP_HEAP_FREE, true},
};

/* operator new, new[], with alignment, nothrow; delete likewise (Itanium C++ ABI names). */
static const struct {
	const char *prefix; /* any that begin so */
	enum bp_heap_call call;
} operators[] = {
	{"_Znwm", BP_HEAP_ALLOC},
	{"_Znam", BP_HEAP_ALLOC},
	{"_ZdlPv", BP_HEAP_FREE},
	{"_ZdaPv", BP_HEAP_FREE},
};

struct finder {
	const char *own_prefix; /* --alloc-prefix, or NULL */
	bool with_maps;
	bool wants_operators; /* the file is an allocator's */
	bool allocates, frees;
	const struct elf_segments *segments;
	struct heap_places *out;
};

static bool file_off(const struct elf_segments *segments, uint64_t vaddr, uint64_t *out)
{
	for (size_t i = 0; i < segments->cnt; i++) {
		const struct elf_segment *segment = &segments->items[i];

		if (!segment->is_exec || vaddr < segment->vaddr ||
		    vaddr - segment->vaddr >= segment->file_bytes)
			continue;
		*out = vaddr - segment->vaddr + segment->file_off;
		return true;
	}
	return false;
}

static void add(struct finder *finder, uint64_t vaddr, enum bp_heap_call call)
{
	struct heap_places *out = finder->out;
	uint64_t off;

	if (!file_off(finder->segments, vaddr, &off) || out->cnt == HEAP_PLACES_MAX)
		return;
	for (size_t i = 0; i < out->cnt; i++)
		if (out->items[i].file_off == off)
			return;
	out->items[out->cnt++] = (struct heap_place){off, off, vaddr, call};
	finder->allocates |= call != BP_HEAP_FREE;
	finder->frees |= call == BP_HEAP_FREE;
}

static bool matches(const char *name, const char *prefix, const char *rest)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && !strcmp(name + len, rest);
}

static void try_prefix(struct finder *finder, const char *prefix, const char *name, uint64_t vaddr)
{
	bool is_rust = !strncmp(prefix, "__r", 3) && prefix[2] == 'r';

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		enum bp_heap_call call = calls[i].call;

		if (!matches(name, prefix, calls[i].name))
			continue;
		if (!*prefix && calls[i].needs_prefix)
			continue;
		if (is_rust && call == BP_HEAP_REALLOC)
			call = BP_HEAP_RUST_REALLOC;
		add(finder, vaddr, call);
		snprintf(finder->out->prefix, sizeof(finder->out->prefix), "%s", prefix);
	}
}

static int on_function(void *arg, const struct elf_function *function)
{
	struct finder *finder = arg;
	const char *name = function->name;
	uint64_t vaddr = function->vaddr;

	if (finder->with_maps) {
		if (!strcmp(name, "mmap") || !strcmp(name, "mmap64"))
			add(finder, vaddr, BP_HEAP_MAP);
		else if (!strcmp(name, "munmap"))
			add(finder, vaddr, BP_HEAP_FREE);
		return 0;
	}
	for (size_t i = 0; finder->wants_operators && i < sizeof(operators) / sizeof(*operators);
	     i++)
		if (!strncmp(name, operators[i].prefix, strlen(operators[i].prefix)))
			add(finder, vaddr, operators[i].call);
	if (finder->wants_operators)
		return 0;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		try_prefix(finder, prefixes[i], name, vaddr);
	if (finder->own_prefix)
		try_prefix(finder, finder->own_prefix, name, vaddr);
	return 0;
}

/* Where the probe of @place, at @vaddr, is safe and cheap. False: nowhere. */
static bool slide(int fd, const struct functions *functions, struct heap_place *place)
{
	const struct slide_opts opts = {.keep_args = true, .keep_sp = true};
	const struct function *function = functions_at(functions, place->vaddr);
	uint64_t len = function && function->vaddr == place->vaddr
			       ? functions_extent(functions, function)
			       : 0;
	_cleanup_free_ uint8_t *code = len && len <= CODE_MAX_BYTES ? malloc(len) : NULL;
	_cleanup_(buf_deinit) struct buf text;
	struct probe_place at;

	buf_init(&text, BUF_NO_MAX);
	if (!IS_X86 || !code || pread(fd, code, len, (off_t)place->file_off) != (ssize_t)len)
		return true;
	if (probe_slide(&(struct code_range){code, len, place->vaddr}, &opts, &at, &text)) {
		log_info("--heap: no probe on %s: %s", function->name, buf_cstr(&text));
		return false;
	}
	place->probe_off += at.off;
	return true;
}

static void slide_all(int fd, const struct elf_file *elf, struct heap_places *places)
{
	struct functions functions;
	size_t kept = 0;

	if (functions_from_elf(elf, NULL, &functions))
		return;
	for (size_t i = 0; i < places->cnt; i++)
		if (slide(fd, &functions, &places->items[i]))
			places->items[kept++] = places->items[i];
	places->cnt = kept;
	functions_deinit(&functions);
}

int heap_places_find(int fd, const char *prefix, bool with_maps, struct heap_places *out)
{
	struct elf_file *elf = elf_file_open_unmapped(fd);
	struct elf_segments segments = {0};
	struct finder finder = {
		.own_prefix = prefix, .with_maps = with_maps, .segments = &segments, .out = out};
	enum symtab_source source;
	int err;

	out->cnt = 0;
	out->prefix[0] = '\0';
	if (!elf)
		return -errno;
	err = elf_segments_read(fd, &segments);
	if (!err)
		err = symtab_for_each(elf, NULL, on_function, &finder, &source);
	finder.wants_operators = !with_maps && finder.allocates && finder.frees;
	if (!err && finder.wants_operators)
		err = symtab_for_each(elf, NULL, on_function, &finder, &source);
	if (!finder.allocates || !finder.frees)
		out->cnt = 0;
	slide_all(fd, elf, out);
	elf_segments_deinit(&segments);
	elf_file_free(elf);
	return err;
}
