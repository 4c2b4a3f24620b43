/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/kallsyms to a sorted array. The file lists the core kernel in ascending order and behind it
 * modules, ftrace trampolines and BPF programs in any: only that tail is sorted and merged in.
 */
#include "proc/kallsyms.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"
#include "base/search.h"
#include "base/strtab.h"

enum {
	CHUNK_BYTES = 64 * 1024, /* also the longest line that is understood */
	/* What a distribution's kernel needs, so that neither array is copied while it grows. */
	SYMS_FIRST = 128 * 1024,
	NAMES_BYTES_FIRST = 4 << 20,
	NAMES_BYTES_MAX = 1 << 30,
};

/* Among symbols of one address the smallest wins. */
enum ksym_rank {
	KSYM_GLOBAL,
	KSYM_WEAK,
	KSYM_LOCAL,
	KSYM_END, /* not code: here the function before it ends */
};

struct ksym {
	uint64_t ip;
	uint32_t name; /* offset into names; ascends in file order */
	uint16_t owner; /* which module; 0: the core kernel */
	uint16_t rank; /* enum ksym_rank */
};

struct kallsyms {
	struct ksym *syms; /* owned; ascending, distinct addresses */
	size_t cnt, cap;
	char *names; /* owned; NUL-terminated, one behind the other */
	size_t names_len, names_cap;
	struct strtab owners; /* ids are those of struct ksym */
	bool is_restricted;
};

/* What only the reading needs. */
struct loader {
	struct kallsyms *syms;
	size_t line_cnt;
	size_t address_cnt; /* lines whose address was not 0 */
};

/* The end of a stretch of text, although its type letter says text. */
static bool is_end_marker(const char *name, size_t len)
{
	static const char *const markers[] = {"_etext", "_einittext"};

	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
		if (strlen(markers[i]) == len && !memcmp(name, markers[i], len))
			return true;
	}
	return false;
}

/* $x, $d and so on of Arm, which kernels before 6.0 list for their modules. */
static bool is_mapping_symbol(const char *name, size_t len)
{
	return len >= 2 && name[0] == '$' && (len == 2 || name[2] == '.');
}

static enum ksym_rank rank_of(uint8_t type, const char *name, size_t len)
{
	if (is_end_marker(name, len))
		return KSYM_END;
	switch (type) {
	case 'T':
		return KSYM_GLOBAL;
	case 'W':
	case 'w':
		return KSYM_WEAK;
	case 't':
		return KSYM_LOCAL;
	default:
		return KSYM_END;
	}
}

/* The id of "[module]" at the cursor, 0 for the core kernel. */
static uint16_t read_owner(struct loader *load, struct reader *line)
{
	size_t len;
	const char *name;
	uint32_t id;

	if (!reader_accept(line, '['))
		return 0;
	name = reader_until(line, ']', &len);
	id = name ? strtab_add(&load->syms->owners, name, len) : 0;
	return id < UINT16_MAX ? (uint16_t)id : UINT16_MAX;
}

/* Not array_reserve(), whose zeroes would touch the pages that are only there to spare copies. */
static int add_name(struct kallsyms *syms, const char *name, size_t len)
{
	size_t need = syms->names_len + len + 1;

	if (need > syms->names_cap) {
		size_t cap = syms->names_cap ? syms->names_cap * 2 : NAMES_BYTES_FIRST;
		char *grown = need <= NAMES_BYTES_MAX ? realloc(syms->names, cap) : NULL;

		if (!grown)
			return -ENOMEM;
		syms->names = grown;
		syms->names_cap = cap;
	}
	memcpy(syms->names + syms->names_len, name, len);
	syms->names[need - 1] = '\0';
	syms->names_len = need;
	return 0;
}

static int add_ksym(struct loader *load, struct ksym sym, const char *name, size_t len)
{
	struct kallsyms *syms = load->syms;
	int err;

	/* With CONFIG_KALLSYMS_ALL half the file is data; of a run of it the first says enough. */
	if (sym.rank == KSYM_END && syms->cnt && syms->syms[syms->cnt - 1].rank == KSYM_END &&
	    syms->syms[syms->cnt - 1].ip <= sym.ip && syms->syms[syms->cnt - 1].owner == sym.owner)
		return 0;
	sym.name = (uint32_t)syms->names_len;
	err = sym.rank == KSYM_END ? 0 : add_name(syms, name, len);
	if (err)
		return err;
	err = array_reserve(&syms->syms, &syms->cap, syms->cnt + 1, sizeof(*syms->syms));
	if (err)
		return err;
	syms->syms[syms->cnt++] = sym;
	return 0;
}

/*
 * Eight lower-case hex digits at once: @word holds them as characters, the first in its lowest
 * byte. False when one of them is something else.
 */
static bool hex_word(uint64_t word, uint64_t *out)
{
	const uint64_t ones = 0x0101010101010101ULL;
	uint64_t letters = word >> 6 & ones; /* '0'..'9' are 0x30.., 'a'..'f' are 0x61.. */
	uint64_t nibbles = (word & 0x0f * ones) + 9 * letters;
	uint64_t tens = (nibbles + 6 * ones) >> 4 & ones;

	if ((word & 0xf0 * ones) != 0x30 * ones + 0x30 * letters || tens != letters ||
	    (nibbles & 0xf0 * ones))
		return false;
	nibbles = (nibbles << 4 | nibbles >> 8) & 0x00ff00ff00ff00ffULL;
	nibbles = (nibbles << 8 | nibbles >> 16) & 0x0000ffff0000ffffULL;
	*out = (nibbles << 16 | nibbles >> 32) & 0xffffffffULL;
	return true;
}

/*
 * The address in front of a line. A 64-bit kernel writes 16 digits, which are a third of the text:
 * two words are taken instead of 16 characters.
 */
static uint64_t read_address(struct reader *line)
{
	const uint8_t *digits = line->pos;
	uint64_t words[2], high, low;

	if (reader_left(line) < sizeof(words))
		return reader_number(line, 16);
	memcpy(words, digits, sizeof(words));
	if (!hex_word(le64toh(words[0]), &high) || !hex_word(le64toh(words[1]), &low))
		return reader_number(line, 16);
	reader_skip(line, sizeof(words));
	return high << 32 | low;
}

/* "ffffffff81000000 T name" or "ffffffffc0000000 t name\t[module]". */
static int load_line(struct loader *load, const char *text, size_t len)
{
	struct ksym sym = {0};
	struct reader line;
	const uint8_t *type;
	const char *name;
	size_t name_len = 0;

	reader_init(&line, text, len);
	sym.ip = read_address(&line);
	type = reader_bytes(&line, strlen(" T "));
	name = reader_until(&line, '\t', &name_len);
	if (line.err || type[0] != ' ' || type[2] != ' ' || !name || !name_len || !name[0])
		return 0;
	load->line_cnt++;
	if (!sym.ip || is_mapping_symbol(name, name_len))
		return 0;
	load->address_cnt++;
	sym.owner = read_owner(load, &line);
	sym.rank = rank_of(type[1], name, name_len);
	return add_ksym(load, sym, name, name_len);
}

/* Load the lines of @text; with @is_last also an unfinished one at its end. *@used_out tells how
 * far that went. */
static int load_lines(struct loader *load, const char *text, size_t len, bool is_last,
		      size_t *used_out)
{
	struct reader rd;

	reader_init(&rd, text, len);
	*used_out = 0;
	while (!reader_done(&rd)) {
		size_t line_len;
		const char *line = reader_until(&rd, '\n', &line_len);
		int err;

		if (!is_last && line + line_len == text + len)
			break;
		err = load_line(load, line, line_len);
		if (err)
			return err;
		*used_out = reader_offset(&rd);
	}
	return 0;
}

static int load_fd(struct loader *load, int fd)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	size_t have = 0;

	if (!chunk || array_reserve(&load->syms->syms, &load->syms->cap, SYMS_FIRST,
				    sizeof(*load->syms->syms)))
		return -ENOMEM;
	for (;;) {
		ssize_t got = read(fd, chunk + have, CHUNK_BYTES - have);
		size_t used;
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		have += (size_t)got;
		/* procfs hands out a page at a time: wait until there is a chunk to work on. */
		if (got && have < CHUNK_BYTES)
			continue;
		err = load_lines(load, chunk, have, !got, &used);
		if (err || !got)
			return err;
		if (!used) /* a line longer than the chunk */
			used = have;
		have -= used;
		memmove(chunk, chunk + used, have);
	}
}

static int ksym_cmp(const void *left, const void *right)
{
	const struct ksym *lhs = left, *rhs = right;

	if (lhs->ip != rhs->ip)
		return lhs->ip < rhs->ip ? -1 : 1;
	return (lhs->name > rhs->name) - (lhs->name < rhs->name);
}

static size_t sorted_prefix(const struct ksym *syms, size_t cnt)
{
	size_t sorted = cnt ? 1 : 0;

	while (sorted < cnt && syms[sorted - 1].ip <= syms[sorted].ip)
		sorted++;
	return sorted;
}

static int sort_syms(struct kallsyms *syms)
{
	size_t core = sorted_prefix(syms->syms, syms->cnt);
	size_t tail_cnt = syms->cnt - core;
	_cleanup_free_ struct ksym *tail = NULL;
	size_t from_core, from_tail;

	if (!tail_cnt)
		return 0;
	tail = malloc(tail_cnt * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, syms->syms + core, tail_cnt * sizeof(*tail));
	qsort(tail, tail_cnt, sizeof(*tail), ksym_cmp);
	/* Merge from the back, in place: the slots behind the core's part are free now. */
	from_core = core;
	from_tail = tail_cnt;
	for (size_t to = syms->cnt; from_tail; to--) {
		if (from_core && ksym_cmp(&syms->syms[from_core - 1], &tail[from_tail - 1]) > 0)
			syms->syms[to - 1] = syms->syms[--from_core];
		else
			syms->syms[to - 1] = tail[--from_tail];
	}
	return 0;
}

static const char *ksym_name(const struct kallsyms *syms, const struct ksym *sym)
{
	return syms->names + sym->name;
}

static bool is_better(const struct kallsyms *syms, const struct ksym *left,
		      const struct ksym *right)
{
	if (left->rank != right->rank)
		return left->rank < right->rank;
	if (left->rank == KSYM_END)
		return false;
	return strspn(ksym_name(syms, left), "_") < strspn(ksym_name(syms, right), "_");
}

static void unique_syms(struct kallsyms *syms)
{
	size_t kept = 0;

	for (size_t i = 0; i < syms->cnt; i++) {
		const struct ksym *sym = &syms->syms[i];

		if (!kept || syms->syms[kept - 1].ip != sym->ip)
			syms->syms[kept++] = *sym;
		else if (is_better(syms, sym, &syms->syms[kept - 1]))
			syms->syms[kept - 1] = *sym;
	}
	syms->cnt = kept;
}

/* From memory when @fd is -1. */
static struct kallsyms *kallsyms_load(int fd, const char *text, size_t len)
{
	struct loader load = {0};
	size_t used;
	int err;

	load.syms = calloc(1, sizeof(*load.syms));
	if (!load.syms)
		return NULL;
	err = strtab_init(&load.syms->owners);
	if (!err)
		err = fd >= 0 ? load_fd(&load, fd) : load_lines(&load, text, len, true, &used);
	if (!err)
		err = sort_syms(load.syms);
	if (err) {
		kallsyms_free(load.syms);
		errno = -err;
		return NULL;
	}
	unique_syms(load.syms);
	load.syms->is_restricted = load.line_cnt && !load.address_cnt;
	return load.syms;
}

struct kallsyms *kallsyms_open(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : kallsyms_load(fd, NULL, 0);
}

struct kallsyms *kallsyms_parse(const char *text, size_t len)
{
	return kallsyms_load(-1, text, len);
}

void kallsyms_free(struct kallsyms *syms)
{
	if (!syms)
		return;
	free(syms->syms);
	free(syms->names);
	strtab_deinit(&syms->owners);
	free(syms);
}

bool kallsyms_is_restricted(const struct kallsyms *syms)
{
	return syms->is_restricted;
}

size_t kallsyms_cnt(const struct kallsyms *syms)
{
	return syms->cnt;
}

/* NULL: no code that is known is there. */
static const struct ksym *find_sym(const struct kallsyms *syms, uint64_t ip)
{
	size_t cnt = SEARCH_CNT(i, syms->cnt, syms->syms[i].ip <= ip);
	const struct ksym *sym;

	if (!cnt || syms->syms[cnt - 1].rank == KSYM_END)
		return NULL;
	sym = &syms->syms[cnt - 1];
	if ((cnt == syms->cnt || syms->syms[cnt].owner != sym->owner) &&
	    ip - sym->ip >= KALLSYMS_TAIL_BYTES)
		return NULL;
	return sym;
}

int kallsyms_add_ends(struct kallsyms *syms, const uint64_t *ends, size_t cnt)
{
	size_t known = syms->cnt;
	int err = array_reserve(&syms->syms, &syms->cap, known + cnt, sizeof(*syms->syms));

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		const struct ksym *sym = find_sym(syms, ends[i] - 1);

		/* An end goes where the code goes that it ends. */
		syms->syms[known + i] = (struct ksym){
			.ip = ends[i],
			.owner = sym ? sym->owner : 0,
			.rank = KSYM_END,
		};
	}
	syms->cnt += cnt;
	err = sort_syms(syms);
	if (err)
		syms->cnt = known;
	else
		unique_syms(syms);
	return err;
}

static int copy_sym(struct kallsyms *syms, const struct kallsyms *from, struct ksym sym)
{
	int err = array_reserve(&syms->syms, &syms->cap, syms->cnt + 1, sizeof(*syms->syms));

	if (!err && sym.rank != KSYM_END) {
		const char *name = from->names + sym.name;

		sym.name = (uint32_t)syms->names_len;
		err = add_name(syms, name, strlen(name));
	}
	if (!err)
		syms->syms[syms->cnt++] = sym;
	return err;
}

/* Keep those of the core alone. Its names stand before those of modules: the rest is given back. */
static void keep_core(struct kallsyms *syms)
{
	size_t kept = 0, names_len = 0;
	void *shrunk;

	for (size_t i = 0; i < syms->cnt; i++) {
		const struct ksym sym = syms->syms[i];
		size_t end;

		if (sym.owner)
			continue;
		syms->syms[kept++] = sym;
		end = sym.rank == KSYM_END ? 0 : sym.name + strlen(syms->names + sym.name) + 1;
		if (end > names_len)
			names_len = end;
	}
	syms->cnt = kept;
	syms->names_len = names_len;
	shrunk = realloc(syms->names, names_len + 1);
	if (shrunk) {
		syms->names = shrunk;
		syms->names_cap = names_len + 1;
	}
}

struct kallsyms *kallsyms_split(struct kallsyms *syms)
{
	struct kallsyms *modules = calloc(1, sizeof(*modules));
	struct strtab owners;

	if (!modules || strtab_init(&modules->owners))
		goto fail;
	for (size_t i = 0; i < syms->cnt; i++)
		if (syms->syms[i].owner && copy_sym(modules, syms, syms->syms[i]))
			goto fail;
	keep_core(syms);
	owners = modules->owners;
	modules->owners = syms->owners;
	syms->owners = owners;
	modules->is_restricted = syms->is_restricted;
	return modules;
fail:
	kallsyms_free(modules);
	errno = ENOMEM;
	return NULL;
}

const char *kallsyms_find(const struct kallsyms *syms, uint64_t ip)
{
	const struct ksym *sym = find_sym(syms, ip);

	return sym ? ksym_name(syms, sym) : NULL;
}

const char *kallsyms_module(const struct kallsyms *syms, uint64_t ip)
{
	const struct ksym *sym = find_sym(syms, ip);

	if (!sym || sym->owner >= syms->owners.cnt)
		return "";
	return strtab_get(&syms->owners, sym->owner);
}
