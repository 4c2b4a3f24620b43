/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of source a report gets, and which it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/source_embed.h"

struct fixture {
	char folder[64];
	struct profile prof;
	uint32_t value;
};

static int set_up(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	snprintf(fix->folder, sizeof(fix->folder), "/tmp/source-embed.XXXXXX");
	assert_non_null(mkdtemp(fix->folder));
	assert_int_equal(profile_init(&fix->prof), 0);
	*state = fix;
	unsetenv("SUDO_UID");
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"a.c", "private.c", "own.c", "wide.c"};
	struct fixture *fix = *state;
	char path[128];

	profile_deinit(&fix->prof);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fix->folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/folder.c", fix->folder);
	rmdir(path);
	assert_int_equal(rmdir(fix->folder), 0);
	free(fix);
	return 0;
}

/* A file of so many lines, "line 1" and so on. */
static void put_file(const struct fixture *fix, const char *name, int lines, mode_t mode,
		     char *path)
{
	FILE *file;

	snprintf(path, 128, "%s/%s", fix->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 1; i <= lines; i++)
		fprintf(file, "\tline %d\n", i);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static void add_line(struct fixture *fix, const char *file, uint32_t start, uint32_t number)
{
	const struct profile_line line = {
		.function = profile_function(&fix->prof, "f", "f", file, start),
		.line = number,
	};

	profile_location_lines(&fix->prof, PROFILE_NONE, number, 0, &line, 1);
}

/* The files of what is embedded; to be deleted with cJSON_Delete(). */
static cJSON *embed(struct fixture *fix, cJSON **files)
{
	_cleanup_(buf_deinit) struct buf out;
	cJSON *root;

	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(source_embed(&fix->prof, &out), 0);
	root = cJSON_Parse(buf_cstr(&out));
	assert_non_null(root);
	*files = cJSON_GetObjectItem(root, "files");
	assert_true(cJSON_IsArray(*files));
	return root;
}

static int number_at(const cJSON *array, int index)
{
	return (int)cJSON_GetArrayItem(array, index)->valuedouble;
}

static void test_runs(void **state)
{
	struct fixture *fix = *state;
	const cJSON *file, *first, *lines;
	cJSON *root, *files;
	char path[128];

	put_file(fix, "a.c", 200, 0644, path);
	add_line(fix, path, 40, 44);
	add_line(fix, path, 40, 51);
	add_line(fix, path, 0, 120);
	add_line(fix, path, 2, 3);
	add_line(fix, path, 2, 198);
	root = embed(fix, &files);
	assert_int_equal(cJSON_GetArraySize(files), 1);
	file = cJSON_GetArrayItem(files, 0);
	assert_string_equal(cJSON_GetObjectItem(file, "file")->valuestring, path);
	first = cJSON_GetObjectItem(file, "first");
	lines = cJSON_GetObjectItem(file, "lines");
	assert_int_equal(cJSON_GetArraySize(first), 4);
	assert_int_equal(cJSON_GetArraySize(lines), 4);
	/* From before the file's begin to its end; 40, 44 and 51 are one run. */
	assert_int_equal(number_at(first, 0), 1);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetArrayItem(lines, 0)), 9);
	assert_int_equal(number_at(first, 1), 34);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetArrayItem(lines, 1)), 57 - 34 + 1);
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(lines, 1), 10)->valuestring,
			    "        line 44");
	assert_int_equal(number_at(first, 2), 114);
	assert_int_equal(number_at(first, 3), 192);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetArrayItem(lines, 3)), 9);
	cJSON_Delete(root);
}

static void test_others_are_left_out(void **state)
{
	struct fixture *fix = *state;
	char private[128], folder[128], missing[128];
	cJSON *root, *files;

	put_file(fix, "private.c", 10, 0600, private);
	snprintf(folder, sizeof(folder), "%s/folder.c", fix->folder);
	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(missing, sizeof(missing), "%s/missing.c", fix->folder);
	if (!geteuid())
		add_line(fix, private, 1, 2);
	add_line(fix, folder, 1, 2);
	add_line(fix, missing, 1, 2);
	add_line(fix, "/dev/zero", 1, 2);
	add_line(fix, "../../../../../../etc/passwd", 1, 2);
	add_line(fix, "", 1, 2);
	root = embed(fix, &files);
	assert_int_equal(cJSON_GetArraySize(files), 0);
	cJSON_Delete(root);
}

/* A private file of whoever called sudo is not root's secret. */
static void test_callers_own_files(void **state)
{
	struct fixture *fix = *state;
	cJSON *root, *files;
	char path[128];

	if (geteuid())
		skip();
	put_file(fix, "own.c", 10, 0600, path);
	assert_int_equal(chown(path, 12345, 12345), 0);
	add_line(fix, path, 1, 2);
	setenv("SUDO_UID", "12345", 1);
	root = embed(fix, &files);
	assert_int_equal(cJSON_GetArraySize(files), 1);
	cJSON_Delete(root);
	setenv("SUDO_UID", "12346", 1);
	root = embed(fix, &files);
	assert_int_equal(cJSON_GetArraySize(files), 0);
	cJSON_Delete(root);
	unsetenv("SUDO_UID");
}

static void test_bounds(void **state)
{
	struct fixture *fix = *state;
	char path[128];
	cJSON *root, *files;
	const cJSON *line;
	FILE *file;

	snprintf(path, sizeof(path), "%s/wide.c", fix->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 5000; i++)
		fputc('x', file);
	fputs("\n</script>\x1b[31m\xff\n", file);
	fclose(file);
	add_line(fix, path, 1, 2);
	root = embed(fix, &files);
	line = cJSON_GetArrayItem(
		cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(files, 0), "lines"), 0),
		0);
	assert_int_equal(strlen(line->valuestring), 400);
	assert_int_equal(strncmp(line->next->valuestring, "</script>\x1b[31m", 14), 0);
	cJSON_Delete(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callers_own_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
