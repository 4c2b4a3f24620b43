/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to libdebuginfod. The library tells about once a second how far it is; what is
 * answered then ends the question when it is cancelled, when no server says anything or when one
 * sends too much. Its own timeout would be tried three times over.
 */
#include "elf/debuginfod_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "elf/elf_file.h"

static const char library_name[] = "libdebuginfod.so.1";

enum {
	TIMEOUT_DEFAULT_S = 90, /* the library's */
	TIMEOUT_MAX_S = 24 * 3600, /* more is for ever */
	/* Before it has a server's answer, the library counts its own rounds instead of bytes. */
	ANSWER_MIN_BYTES = 16 << 10,
};

/* The question that a thread is at. */
struct progress_state {
	const struct debuginfod_question *question;
	uint64_t answer_by_ns; /* CLOCK_MONOTONIC at which it must have begun */
	int err; /* why it was ended: negative errno; 0: it was not */
};

/* --- The library --- */

int debuginfod_lib_open(struct debuginfod_lib *out, char *why, size_t why_bytes)
{
	const char *reason;
	void *library = build_load_library(library_name, RTLD_NOW | RTLD_LOCAL, &reason);
	struct debuginfod_lib lib = {0};
	bool is_whole;

	if (!library) {
		snprintf(why, why_bytes, "%s", reason ? reason : library_name);
		return -ELIBACC;
	}
	is_whole = build_bind_symbol(library, "debuginfod_begin", &lib.begin) &&
		   build_bind_symbol(library, "debuginfod_end", &lib.end) &&
		   build_bind_symbol(library, "debuginfod_set_progressfn", &lib.set_progressfn) &&
		   build_bind_symbol(library, "debuginfod_find_debuginfo",
				     &lib.find[DEBUGINFOD_DEBUG_FILE]) &&
		   build_bind_symbol(library, "debuginfod_find_executable",
				     &lib.find[DEBUGINFOD_EXECUTABLE]);
	if (!is_whole) {
		snprintf(why, why_bytes, "%s is older than elfutils 0.179", library_name);
		dlclose(library);
		return -ELIBACC;
	}
	*out = lib;
	return 0;
}

/* --- Its cache --- */

/* Where the library keeps its files, as debuginfod_find_debuginfo(3) says under CACHE. */
static void cache_folder(struct buf *out)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH");
	const char *home = getenv("HOME");
	const char *xdg = getenv("XDG_CACHE_HOME");
	struct stat st;

	buf_reset(out);
	if (own && *own) {
		buf_add_str(out, own);
		return;
	}
	buf_printf(out, "%s/.debuginfod_client_cache", home ? home : "/");
	if (!stat(buf_cstr(out), &st))
		return;
	buf_reset(out);
	if (xdg && *xdg)
		buf_add_str(out, xdg);
	else
		buf_printf(out, "%s/.cache", home ? home : "/");
	buf_add_str(out, "/debuginfod_client");
}

void debuginfod_lib_forget(enum debuginfod_kind kind, const uint8_t *build_id, size_t build_id_len)
{
	static const char *const names[] = {
		[DEBUGINFOD_DEBUG_FILE] = "debuginfo",
		[DEBUGINFOD_EXECUTABLE] = "executable",
	};
	char hex[2 * DEBUGINFOD_ID_MAX_BYTES + 1];
	struct buf path;
	struct stat st;

	buf_init(&path, PATH_MAX);
	cache_folder(&path);
	hex_format(build_id, build_id_len, hex);
	buf_printf(&path, "/%s/%s", hex, names[kind]);
	if (!path.err && !lstat(buf_cstr(&path), &st) && S_ISREG(st.st_mode) && !st.st_size)
		unlink(buf_cstr(&path));
	buf_deinit(&path);
}

/* --- One question --- */

/* The library's own setting. */
static uint64_t answer_deadline_ns(void)
{
	const char *value = getenv("DEBUGINFOD_TIMEOUT");
	uint64_t seconds;

	if (!value || parse_u64(value, &seconds))
		seconds = TIMEOUT_DEFAULT_S;
	return seconds && seconds <= TIMEOUT_MAX_S ? clock_monotonic_ns() + seconds * NSEC_PER_SEC
						   : UINT64_MAX;
}

/* Why the question is to be ended, 0 to go on. @total is 0 until a server has said how long its
 * answer is, which it need not. */
static int objection(const struct progress_state *state, long done, long total)
{
	const struct debuginfod_question *question = state->question;

	if (atomic_load(question->is_cancelled))
		return -ECANCELED;
	if ((done > 0 && (uint64_t)done > question->max_bytes) ||
	    (total > 0 && (uint64_t)total > question->max_bytes))
		return -EFBIG;
	if (total <= 0 && done < ANSWER_MIN_BYTES && clock_monotonic_ns() >= state->answer_by_ns)
		return -ETIMEDOUT;
	return 0;
}

/* What the library calls is given nothing of ours. */
static _Thread_local struct progress_state *current;

/* Not 0 ends the question. */
static int on_progress(struct debuginfod_client *handle, long done, long total)
{
	current->err = objection(current, done, total);
	return current->err != 0;
}

/* The library's descriptor of the file at @path in its cache, or negative errno. */
static int ask(const struct debuginfod_lib *lib, struct debuginfod_client *handle,
	       const struct debuginfod_question *question, char **path_out)
{
	struct progress_state state = {.question = question, .answer_by_ns = answer_deadline_ns()};
	int fd;

	current = &state;
	lib->set_progressfn(handle, on_progress);
	fd = lib->find[question->kind](handle, question->build_id, (int)question->build_id_len,
				       path_out);
	current = NULL;
	if (fd >= 0 || !state.err)
		return fd;
	debuginfod_lib_forget(question->kind, question->build_id, question->build_id_len);
	return state.err;
}

/* --- What it has handed out --- */

static bool has_build_id(int fd, const struct debuginfod_question *question)
{
	uint8_t build_id[DEBUGINFOD_ID_MAX_BYTES + 1];
	struct elf_file *elf = elf_file_open_wary(fd, false);
	size_t len = elf ? elf_build_id(elf, build_id, sizeof(build_id)) : 0;

	elf_file_free(elf);
	return len == question->build_id_len && !memcmp(build_id, question->build_id, len);
}

/* The file at @path, opened as one that anybody may have put there, if it is what was asked for:
 * its descriptor, or negative errno. */
static int open_answer(const struct debuginfod_question *question, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? -ESTALE : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ESTALE;
	if ((uint64_t)st.st_size > question->max_bytes)
		return -EFBIG;
	return has_build_id(fd, question) ? take_fd(&fd) : -ESTALE;
}

int debuginfod_lib_find(const struct debuginfod_lib *lib, struct debuginfod_client *handle,
			const struct debuginfod_question *question, char **path_out)
{
	_cleanup_free_ char *path = NULL;
	int fd;

	if (atomic_load(question->is_cancelled))
		return -ECANCELED;
	fd = ask(lib, handle, question, &path);
	if (fd < 0)
		return fd;
	close(fd);
	if (!path)
		return -ENOMEM;
	fd = open_answer(question, path);
	/* Left in the cache, it would be the answer for ever: each look at it keeps it there. */
	if (fd == -ESTALE || fd == -EFBIG)
		unlink(path);
	if (fd >= 0)
		*path_out = take_ptr(path);
	return fd;
}
