/* SPDX-License-Identifier: Apache-2.0 */
/* The names that allocators have. */
#include "capture/heap_family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
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
 * (gperftools and Google's); rpmalloc, snmalloc; dlmalloc; scudo. */
static const char *const prefixes[] = {"",    "__libc_", "je_", "_rjem_", "jemalloc_", "mi_",
				       "tc_", "rp",	 "sn_", "dl",	  "scudo_"};

static const struct {
	const char *name; /* after the prefix */
	enum bp_heap_call call;
	bool needs_prefix; /* alone it may be anything */
} calls[] = {
	{"malloc", BP_HEAP_ALLOC},	 {"calloc", BP_HEAP_ALLOC_COUNT},
	{"realloc", BP_HEAP_REALLOC},	 {"reallocarray", BP_HEAP_REALLOC_COUNT},
	{"memalign", BP_HEAP_ALIGNED},	 {"aligned_alloc", BP_HEAP_ALIGNED},
	{"posix_memalign", BP_HEAP_OUT}, {"valloc", BP_HEAP_ALLOC},
	{"pvalloc", BP_HEAP_ALLOC},	 {"mallocx", BP_HEAP_ALLOC},
	{"rallocx", BP_HEAP_REALLOC},	 {"zalloc", BP_HEAP_ALLOC, true},
	{"alloc", BP_HEAP_ALLOC, true},	 {"alloc_zeroed", BP_HEAP_ALLOC, true},
	{"free", BP_HEAP_FREE},		 {"cfree", BP_HEAP_FREE},
	{"dallocx", BP_HEAP_FREE},	 {"sdallocx", BP_HEAP_FREE},
	{"free_sized", BP_HEAP_FREE},	 {"dealloc", BP_HEAP_FREE, true},
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

/* What Rust's compiler makes of a program's allocator, after RUST_PREFIX. The standard one calls
 * the C library's: where it is linked, RUST_DEFAULT_PREFIX is there. */
#define RUST_PREFIX "__rust_"
#define RUST_DEFAULT_PREFIX "__rdl_"
static const struct {
	const char *name;
	enum bp_heap_call call;
} rust_calls[] = {
	{"alloc", BP_HEAP_ALLOC},
	{"alloc_zeroed", BP_HEAP_ALLOC},
	{"realloc", BP_HEAP_RUST_REALLOC},
	{"dealloc", BP_HEAP_FREE},
};

/* How the C library takes memory from the kernel. */
static const struct {
	const char *name;
	enum bp_heap_call call;
} map_calls[] = {
	{"mmap", BP_HEAP_MAP},	   {"mmap64", BP_HEAP_MAP}, {"munmap", BP_HEAP_FREE},
	{"mremap", BP_HEAP_REMAP}, {"sbrk", BP_HEAP_BREAK},
};

struct finder {
	const char *own_prefix; /* --alloc-prefix, or NULL */
	bool allocates, frees;
	bool is_rust_default; /* Rust's allocator is the C library's */
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
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!matches(name, prefix, calls[i].name))
			continue;
		if (!*prefix && calls[i].needs_prefix)
			continue;
		add(finder, vaddr, calls[i].call);
		snprintf(finder->out->prefix, sizeof(finder->out->prefix), "%s", prefix);
	}
}

static int on_map_call(void *arg, const struct elf_function *function)
{
	for (size_t i = 0; i < sizeof(map_calls) / sizeof(*map_calls); i++)
		if (!strcmp(function->name, map_calls[i].name))
			add(arg, function->vaddr, map_calls[i].call);
	return 0;
}

static int on_operator(void *arg, const struct elf_function *function)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (!strncmp(function->name, operators[i].prefix, strlen(operators[i].prefix)))
			add(arg, function->vaddr, operators[i].call);
	return 0;
}

/*
 * "__rust_alloc" of that, and of "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc": compilers of 2025
 * and later mangle it as a function of the crate "__rustc" (RFC 2603: an identifier is its length
 * and, where it begins with '_', another one before it). NULL: neither.
 */
static const char *rust_name(const char *name)
{
	static const char crate[] = "_7___rustc";
	const char *at = strncmp(name, "_RNvC", 5) ? NULL : strstr(name, crate);
	size_t len = 0;

	if (!at)
		return strncmp(name, "_R", 2) ? name : NULL;
	for (at += sizeof(crate) - 1; *at >= '0' && *at <= '9' && len < 1000; at++)
		len = 10 * len + (size_t)(*at - '0');
	at += *at == '_';
	return strlen(at) == len ? at : NULL;
}

static int on_rust(void *arg, const struct elf_function *function)
{
	const char *name = rust_name(function->name);
	struct finder *finder = arg;

	if (name && !strncmp(name, RUST_DEFAULT_PREFIX, strlen(RUST_DEFAULT_PREFIX)))
		finder->is_rust_default = true;
	for (size_t i = 0; name && i < sizeof(rust_calls) / sizeof(*rust_calls); i++) {
		if (!matches(name, RUST_PREFIX, rust_calls[i].name))
			continue;
		add(finder, function->vaddr, rust_calls[i].call);
		snprintf(finder->out->prefix, sizeof(finder->out->prefix), "%s", RUST_PREFIX);
	}
	return 0;
}

static int on_allocator(void *arg, const struct elf_function *function)
{
	struct finder *finder = arg;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		try_prefix(finder, prefixes[i], function->name, function->vaddr);
	if (finder->own_prefix)
		try_prefix(finder, finder->own_prefix, function->name, function->vaddr);
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
	if (!IS_X86 || !code || fs_read_at(fd, code, len, place->file_off) != (ssize_t)len)
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

	/* All of a program's functions are many. */
	if (!places->cnt || functions_from_elf(elf, NULL, &functions))
		return;
	for (size_t i = 0; i < places->cnt; i++)
		if (slide(fd, &functions, &places->items[i]))
			places->items[kept++] = places->items[i];
	places->cnt = kept;
	functions_deinit(&functions);
}

static int find_calls(struct finder *finder, const struct elf_file *elf, bool with_maps)
{
	enum symtab_source source;
	int err =
		symtab_for_each(elf, NULL, with_maps ? on_map_call : on_allocator, finder, &source);

	if (err || with_maps)
		return err;
	if (finder->allocates && finder->frees)
		return symtab_for_each(elf, NULL, on_operator, finder, &source);
	if (finder->out->cnt)
		return 0;
	err = symtab_for_each(elf, NULL, on_rust, finder, &source);
	if (finder->is_rust_default)
		finder->out->cnt = 0;
	return err;
}

int heap_places_find(int fd, const char *prefix, bool with_maps, struct heap_places *out)
{
	struct elf_file *elf = elf_file_open_unmapped(fd);
	struct elf_segments segments = {0};
	struct finder finder = {.own_prefix = prefix, .segments = &segments, .out = out};
	int err;

	out->cnt = 0;
	out->prefix[0] = '\0';
	if (!elf)
		return -errno;
	err = elf_segments_read(fd, &segments);
	if (!err)
		err = find_calls(&finder, elf, with_maps);
	if (!finder.allocates || !finder.frees)
		out->cnt = 0;
	slide_all(fd, elf, out);
	elf_segments_deinit(&segments);
	elf_file_free(elf);
	return err;
}
