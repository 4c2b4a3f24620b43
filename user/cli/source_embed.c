/* SPDX-License-Identifier: Apache-2.0 */
/* Source for the report: see source_embed.h. */
#include "cli/source_embed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cli/source_text.h"

enum { CONTEXT_LINES = 6, TEXT_MAX_BYTES = 4 << 20, LINE_MAX_BYTES = 400 };

/* A line of source that is wanted. */
struct place {
	uint32_t file; /* string of the profile */
	uint32_t line;
};

struct embedding {
	const struct profile *prof;
	struct json *js;
	size_t bytes; /* so far */
	size_t file_cnt, left_cnt;
	struct buf left; /* why the first one is left out */
};

static int compare_places(const void *left_ptr, const void *right_ptr)
{
	const struct place *left = left_ptr, *right = right_ptr;

	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	return (left->line > right->line) - (left->line < right->line);
}

static size_t add_place(struct place *places, size_t cnt, const struct profile_function *function,
			uint32_t line, const struct profile *prof)
{
	if (!line || !*profile_str(prof, function->file))
		return cnt;
	places[cnt] = (struct place){function->file, line};
	return cnt + 1;
}

/* All lines that have samples, and where their functions begin, in order. *@out is *owned*. */
static int find_places(const struct profile *prof, struct place **out, size_t *cnt)
{
	struct place *places = calloc(2 * prof->line_cnt + 1, sizeof(*places));

	*cnt = 0;
	*out = places;
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < prof->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[i];
		const struct profile_function *function;

		if (line->function >= prof->function_cnt)
			continue;
		function = &prof->functions[line->function];
		*cnt = add_place(places, *cnt, function, line->line, prof);
		*cnt = add_place(places, *cnt, function, function->start_line, prof);
	}
	qsort(places, *cnt, sizeof(*places), compare_places);
	return 0;
}

/* May whoever gets the report see it? Root may read what is nobody else's business. */
static bool is_allowed(int fd)
{
	const char *sudo_uid = getenv("SUDO_UID");
	uint64_t uid;
	struct stat st;

	if (geteuid())
		return true;
	if (fstat(fd, &st))
		return false;
	return st.st_mode & S_IROTH || (sudo_uid && !parse_u64(sudo_uid, &uid) && st.st_uid == uid);
}

static void leave_out(struct embedding *embedding, const char *path, const char *why)
{
	if (!embedding->left_cnt++)
		buf_printf(&embedding->left, "%s: %s", path, why);
}

static void add_line(struct embedding *embedding, const struct source_text *source, uint64_t nr)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	source_text_line(source, nr, &text);
	if (text.len > LINE_MAX_BYTES)
		text.data[LINE_MAX_BYTES] = '\0';
	embedding->bytes += text.len < LINE_MAX_BYTES ? text.len : LINE_MAX_BYTES;
	json_str(embedding->js, buf_cstr(&text));
}

/* The end of the run that begins at @places[@from]: lines whose surroundings touch. */
static size_t run_end(const struct place *places, size_t from, size_t cnt)
{
	size_t end = from + 1;

	while (end < cnt && places[end].line <= places[end - 1].line + 2 * CONTEXT_LINES + 1)
		end++;
	return end;
}

static uint64_t first_line(const struct place *place)
{
	return place->line > CONTEXT_LINES ? place->line - CONTEXT_LINES : 1;
}

static void add_runs(struct embedding *embedding, const struct place *places, size_t cnt,
		     const struct source_text *source)
{
	json_key(embedding->js, "first");
	json_array_begin(embedding->js);
	for (size_t i = 0; i < cnt; i = run_end(places, i, cnt))
		json_u64(embedding->js, first_line(&places[i]));
	json_array_end(embedding->js);
	json_key(embedding->js, "lines");
	json_array_begin(embedding->js);
	for (size_t i = 0; i < cnt; i = run_end(places, i, cnt)) {
		uint64_t last = (uint64_t)places[run_end(places, i, cnt) - 1].line + CONTEXT_LINES;

		json_array_begin(embedding->js);
		for (uint64_t nr = first_line(&places[i]); nr <= last && nr <= source->cnt; nr++)
			add_line(embedding, source, nr);
		json_array_end(embedding->js);
	}
	json_array_end(embedding->js);
}

/* The wanted lines of one file. 0 or -ENOMEM. */
static int add_file(struct embedding *embedding, const struct place *places, size_t cnt)
{
	const char *path = profile_str(embedding->prof, places->file);
	_cleanup_(source_text_deinit) struct source_text source = {0};
	_cleanup_close_ int fd = -1;
	int err;

	if (embedding->bytes > TEXT_MAX_BYTES) {
		leave_out(embedding, path, "there are 4 MiB of others");
		return 0;
	}
	privilege_pause();
	fd = source_text_open(path);
	privilege_resume();
	if (fd >= 0 && !is_allowed(fd)) {
		leave_out(embedding, path, "not everybody may read it");
		return 0;
	}
	err = fd < 0 ? fd : source_text_load(fd, &source);
	if (err == -ENOMEM)
		return err;
	if (err) {
		leave_out(embedding, path, strerror(-err));
		return 0;
	}
	json_object_begin(embedding->js);
	json_kv_str(embedding->js, "file", path);
	add_runs(embedding, places, cnt, &source);
	json_object_end(embedding->js);
	embedding->file_cnt++;
	return 0;
}

int source_embed(const struct profile *prof, struct buf *out)
{
	_cleanup_free_ struct place *places = NULL;
	struct json js;
	struct embedding embedding = {.prof = prof, .js = &js};
	size_t cnt, end;
	int err = find_places(prof, &places, &cnt);

	buf_init(&embedding.left, BUF_NO_MAX);
	json_init(&js, out);
	json_object_begin(&js);
	json_key(&js, "files");
	json_array_begin(&js);
	for (size_t i = 0; i < cnt && !err; i = end) {
		for (end = i + 1; end < cnt && places[end].file == places[i].file; end++)
			;
		err = add_file(&embedding, places + i, end - i);
	}
	json_array_end(&js);
	json_object_end(&js);
	if (!err && embedding.left_cnt)
		log_warn("--embed-source: %zu of %zu source files are left out (%s)",
			 embedding.left_cnt, embedding.left_cnt + embedding.file_cnt,
			 buf_cstr(&embedding.left));
	else if (!err && !embedding.file_cnt)
		log_warn("--embed-source: the profile names no source files: is there debug "
			 "information?");
	buf_deinit(&embedding.left);
	return err ? err : out->err;
}
