/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mangling a name is in, and compilers' suffixes. C++ is left to the C++ runtime of this
 * machine, found when it is first needed, so that bpfprof links no C++ (but for a static build).
 */
#include "symbol/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "base/reader.h"
#include "symbol/cxx_bound.h"
#include "symbol/rust_demangle.h"

enum {
	CXX_LEN_MAX = 1 << 20, /* a name that might become longer stays mangled: 50 ms at most */
};

/* Itanium C++ ABI 3.4: takes and returns a malloc()ed buffer that it may grow. */
typedef char *cxa_demangle_fn(const char *mangled, char *buf, size_t *buf_bytes, int *status);

struct demangler {
	bool is_tried; /* to load it: some milliseconds, for the first C++ name */
	void *library; /* dlopen()ed, may be NULL */
	cxa_demangle_fn *cxa_demangle;
	char *buf; /* owned, from malloc(): what cxa_demangle writes to */
	size_t buf_bytes;
};

struct demangler *demangler_new(void)
{
	struct demangler *dem = calloc(1, sizeof(*dem));

	if (!dem)
		return NULL;
	dem->buf_bytes = DEMANGLE_MAX;
	dem->buf = malloc(dem->buf_bytes);
	if (!dem->buf) {
		free(dem);
		return NULL;
	}
	return dem;
}

#ifdef BPFPROF_STATIC
/* The C++ runtime's, of which a static build has its own. */
cxa_demangle_fn __cxa_demangle;

static void load_cxx(struct demangler *dem)
{
	dem->is_tried = true;
	dem->cxa_demangle = __cxa_demangle;
}
#else
static const char *const cxx_libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};

static void load_cxx(struct demangler *dem)
{
	const char *why;

	dem->is_tried = true;
	for (size_t i = 0; i < sizeof(cxx_libraries) / sizeof(*cxx_libraries); i++) {
		void *symbol;

		dem->library = build_load_library(cxx_libraries[i], RTLD_NOW | RTLD_LOCAL, &why);
		symbol = dem->library ? dlsym(dem->library, "__cxa_demangle") : NULL;
		if (symbol) {
			/* ISO C has no conversion from object to function pointers; POSIX has. */
			memcpy(&dem->cxa_demangle, &symbol, sizeof(symbol));
			return;
		}
		if (dem->library)
			dlclose(dem->library);
		dem->library = NULL;
	}
}
#endif

void demangle_preload(void)
{
	struct demangler dem = {0};

	load_cxx(&dem);
}

void demangler_free(struct demangler *dem)
{
	if (!dem)
		return;
	free(dem->buf);
	if (dem->library)
		dlclose(dem->library);
	free(dem);
}

bool demangler_has_cxx(struct demangler *dem)
{
	if (!dem->is_tried)
		load_cxx(dem);
	return dem->cxa_demangle != NULL;
}

/* The C++ name at the cursor, up to the first '.', which no mangled name contains. */
static int cxx_demangle(struct demangler *dem, struct reader *rd, struct name_out *out)
{
	struct reader mine = *rd;
	char mangled[MANGLED_MAX + 1];
	size_t len = 0;
	const char *base = reader_until(&mine, '.', &len);
	int status = 0;
	char *name;

	if (!demangler_has_cxx(dem) || !base || len > MANGLED_MAX ||
	    cxx_demangled_bound(base, len) > CXX_LEN_MAX)
		return -EBADMSG;
	memcpy(mangled, base, len);
	mangled[len] = '\0';
	name = dem->cxa_demangle(mangled, dem->buf, &dem->buf_bytes, &status);
	if (!name)
		return -EBADMSG;
	dem->buf = name;
	name_add_str(out, name);
	reader_skip(rd, len);
	return 0;
}

static bool is_number(const char *str, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (str[i] < '0' || str[i] > '9')
			return false;
	}
	return len > 0;
}

/*
 * ".isra.0.cold" -> " [clone .isra.0] [clone .cold]": each word with the numbers behind it. The
 * number behind ".llvm" tells apart what has the same name in two files, and is left out.
 */
static void add_suffix(struct reader *rd, struct name_out *out)
{
	bool is_open = false, is_hidden = false;

	reader_accept(rd, '.');
	while (!reader_done(rd)) {
		size_t len;
		const char *word = reader_until(rd, '.', &len);

		if (!is_number(word, len) || (!is_open && !is_hidden)) {
			if (is_open)
				name_add_str(out, "]");
			is_hidden = len == strlen("llvm") && !memcmp(word, "llvm", len);
			is_open = !is_hidden;
			if (is_open)
				name_add_str(out, " [clone ");
		}
		if (is_open) {
			name_add_str(out, ".");
			name_add(out, word, len);
		}
	}
	if (is_open)
		name_add_str(out, "]");
}

/* As it is, but without ".llvm.1234". */
static void add_plain(const char *name, size_t len, struct name_out *out)
{
	static const char mark[] = ".llvm.";
	const char *found = memmem(name, len, mark, sizeof(mark) - 1);

	if (found && found > name &&
	    is_number(found + sizeof(mark) - 1, (size_t)(name + len - found) - (sizeof(mark) - 1)))
		len = (size_t)(found - name);
	name_add(out, name, len);
}

static int demangle_any(struct demangler *dem, struct reader *rd, struct name_out *out)
{
	char *start = out->buf;

	if (reader_left(rd) > MANGLED_MAX || reader_left(rd) < 3 || rd->pos[0] != '_')
		return -EBADMSG;
	if (rd->pos[1] == 'R')
		return rust_demangle_v0(rd, out);
	if (rd->pos[1] != 'Z')
		return -EBADMSG;
	if (!rust_demangle_legacy(rd, out))
		return 0;
	name_out_init(out, start, out->max);
	return cxx_demangle(dem, rd, out);
}

/* Words of GCC and LLVM; numbers may follow each. */
static bool is_clone_word(const char *word, size_t len)
{
	static const char *const words[] = {
		"cold",	      "part",	  "isra", "constprop", "lto_priv",
		"localalias", "unlikely", "llvm", "clone",     "warm",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (len == strlen(words[i]) && !memcmp(word, words[i], len))
			return true;
	}
	return false;
}

size_t demangle_trunk_len(const char *name, size_t len)
{
	struct reader rd;
	size_t trunk_len;

	reader_init(&rd, name, len);
	reader_until(&rd, '.', &trunk_len);
	/* A name that begins with a dot is one of its own. */
	if (!trunk_len)
		return len;
	while (!reader_done(&rd)) {
		size_t word_len, at = reader_offset(&rd);
		const char *word = reader_until(&rd, '.', &word_len);

		if (!is_clone_word(word, word_len) && !is_number(word, word_len))
			trunk_len = at + word_len;
	}
	return trunk_len;
}

bool demangle(struct demangler *dem, const char *name, size_t len, char out[static DEMANGLE_MAX])
{
	struct name_out name_out;
	struct reader rd;
	bool is_demangled;

	len = strnlen(name, len);
	name_out_init(&name_out, out, DEMANGLE_MAX);
	reader_init(&rd, name, len);
	is_demangled = !demangle_any(dem, &rd, &name_out) && name_out.len &&
		       (!reader_left(&rd) || *rd.pos == '.');
	if (is_demangled) {
		add_suffix(&rd, &name_out);
	} else {
		name_out_init(&name_out, out, DEMANGLE_MAX);
		add_plain(name, len, &name_out);
	}
	if (name_out.is_full) {
		size_t cut = name_out.len < DEMANGLE_MAX - 4 ? name_out.len : DEMANGLE_MAX - 4;

		while (cut && ((unsigned char)out[cut] & 0xc0) == 0x80) /* inside a character */
			cut--;
		memcpy(out + cut, "...", sizeof("..."));
	}
	return is_demangled;
}
