/* SPDX-License-Identifier: Apache-2.0 */
/* Container, pod and unit from a control group's path: see cgroup_path.h. */
#include "agent/cgroup_path.h"

#include <stdbool.h>
#include <string.h>

#include "agent/label_text.h"
#include "base/parse.h"
#include "base/reader.h"

/* A piece of the path; borrowed. */
struct word {
	const char *str;
	size_t len;
};

static bool is_hex(char chr)
{
	return digit_value(chr) < 16 && !(chr >= 'A' && chr <= 'F');
}

static bool ends_with(struct word word, const char *suffix)
{
	size_t len = strlen(suffix);

	return word.len > len && !memcmp(word.str + word.len - len, suffix, len);
}

static struct word without(struct word word, const char *suffix)
{
	if (ends_with(word, suffix))
		word.len -= strlen(suffix);
	return word;
}

/* The monitor of a container (libpod-conmon-ID.scope) is beside it, not in it. */
static bool is_container(struct word word, const char **id_out)
{
	struct word name = without(word, ".scope");
	size_t before;

	if (name.len < CGROUP_CONTAINER_DIGITS ||
	    memmem(word.str, word.len, "conmon-", strlen("conmon-")))
		return false;
	before = name.len - CGROUP_CONTAINER_DIGITS;
	if (before && name.str[before - 1] != '-' && name.str[before - 1] != ':')
		return false;
	for (size_t i = before; i < name.len; i++)
		if (!is_hex(name.str[i]))
			return false;
	*id_out = name.str + before;
	return true;
}

/* Is it 8-4-4-4-12 digits with one kind of separator, or 32 digits (a static pod's)? */
static bool is_uid(struct word uid)
{
	if (uid.len != 32 && uid.len != 36)
		return false;
	for (size_t i = 0; i < uid.len; i++) {
		bool is_dash = uid.len == 36 && (i == 8 || i == 13 || i == 18 || i == 23);

		if (is_dash ? uid.str[i] != '-' && uid.str[i] != '_' : !is_hex(uid.str[i]))
			return false;
	}
	return true;
}

static void take_pod(struct word word, char *out)
{
	struct word name = {word.str, 0};
	const char *pod = NULL;

	/* Before "...slice:cri-containerd:ID" and ".slice". */
	while (name.len < word.len && word.str[name.len] != ':')
		name.len++;
	name = without(name, ".slice");
	for (size_t i = 0; i + 3 <= name.len; i++)
		if (!memcmp(name.str + i, "pod", 3) && (!i || name.str[i - 1] == '-'))
			pod = name.str + i + 3;
	if (!pod || !is_uid((struct word){pod, (size_t)(name.str + name.len - pod)}))
		return;
	name.len = (size_t)(name.str + name.len - pod);
	memcpy(out, pod, name.len);
	out[name.len] = '\0';
	for (char *chr = out; *chr; chr++)
		if (*chr == '_')
			*chr = '-';
}

static void take_word(struct word word, struct cgroup_names *out)
{
	const char *id;

	take_pod(word, out->pod);
	if (is_container(word, &id)) {
		memcpy(out->container, id, CGROUP_CONTAINER_DIGITS);
		out->container[CGROUP_CONTAINER_DIGITS] = '\0';
		/* That of its runtime was none of its own. */
		out->unit[0] = '\0';
	} else if (ends_with(word, ".service") || ends_with(word, ".scope")) {
		label_copy(out->unit, sizeof(out->unit), word.str, word.len);
	}
}

void cgroup_path_parse(const char *path, size_t len, struct cgroup_names *out)
{
	struct reader rd;
	struct word word;

	*out = (struct cgroup_names){.container = ""};
	reader_init(&rd, path, len);
	while ((word.str = reader_until(&rd, '/', &word.len)))
		take_word(word, out);
}

/* How much a line of /proc/PID/cgroup says; 0: it is none. @path is where its path begins. */
static int worth_of(const char *line, size_t len, struct word *path)
{
	const char *first = memchr(line, ':', len), *second;
	struct cgroup_names names;
	struct word controllers;
	int worth = 1;

	second = first ? memchr(first + 1, ':', (size_t)(line + len - first - 1)) : NULL;
	if (!second)
		return 0;
	controllers = (struct word){first + 1, (size_t)(second - first - 1)};
	*path = (struct word){second + 1, (size_t)(line + len - second - 1)};
	cgroup_path_parse(path->str, path->len, &names);
	worth += 16 * !!names.container[0] + 8 * !!names.pod[0] + 4 * !!names.unit[0];
	if (!controllers.len && path->len > 1)
		worth += 2;
	else if (ends_with(controllers, "=systemd") && path->len > 1)
		worth += 1;
	return worth;
}

const char *cgroup_file_pick(const char *text, size_t len, size_t *len_out)
{
	struct word best = {NULL, 0}, path;
	int best_worth = 0;
	struct reader rd;
	const char *line;
	size_t line_len;

	reader_init(&rd, text, len);
	while ((line = reader_until(&rd, '\n', &line_len))) {
		int worth = worth_of(line, line_len, &path);

		if (worth < best_worth || !worth || (worth == best_worth && path.len <= best.len))
			continue;
		best_worth = worth;
		best = path;
	}
	*len_out = best.len;
	return best.str;
}
