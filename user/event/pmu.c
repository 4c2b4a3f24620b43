/* SPDX-License-Identifier: Apache-2.0 */
/* Terms to numbers, by sysfs. */
#include "event/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/reader.h"
#include "event/names_of.h"

enum { ALIASES_MAX = 4 }; /* an event that names another one */

/* Where a term's value goes. */
struct term_bits {
	uint32_t config;
	uint64_t mask;
};

struct pmu_job {
	const char *root, *pmu; /* borrowed */
	struct pmu_config *out; /* borrowed */
	uint64_t *unset; /* borrowed: bits of each config that an event leaves to its user
			    ("umask=?") */
	struct buf *why; /* borrowed */
};

/* What stands in root/pmu/folder/name, *owned*; NULL + errno. */
static char *read_entry(const char *root, const char *pmu, const char *folder, const char *name)
{
	_cleanup_free_ char *path = NULL;

	/* Names come from the command line. */
	if (strchr(pmu, '/') || strchr(name, '/') || *pmu == '.' || *name == '.') {
		errno = ENOENT;
		return NULL;
	}
	if (asprintf(&path, "%s/%s/%s/%s", root, pmu, folder, name) < 0) {
		path = NULL;
		errno = ENOMEM;
		return NULL;
	}
	return fs_read_line(path);
}

int pmu_type(const char *root, const char *pmu, uint32_t *out)
{
	_cleanup_free_ char *text = read_entry(root, pmu, ".", "type");
	uint64_t number;

	if (!text)
		return -errno;
	if (parse_u64(text, &number) || number > UINT32_MAX)
		return -EBADMSG;
	*out = (uint32_t)number;
	return 0;
}

char *pmu_cpumask(const char *root, const char *pmu)
{
	return read_entry(root, pmu, ".", "cpumask");
}

/* "3" or "8-15" of a format. */
static int parse_range(struct reader *rd, uint64_t *mask)
{
	uint64_t first = reader_number(rd, 10), last = first;

	if (reader_accept(rd, '-'))
		last = reader_number(rd, 10);
	if (rd->err || first > last || last > 63)
		return -EBADMSG;
	*mask |= (last == 63 ? UINT64_MAX : (1ULL << (last + 1)) - 1) & ~((1ULL << first) - 1);
	return 0;
}

/* "config1:0-7,32-35" */
static int parse_format(const char *text, struct term_bits *out)
{
	static const char *const words[PMU_CONFIGS] = {"config:", "config1:", "config2:"};

	for (uint32_t i = 0; i < PMU_CONFIGS; i++) {
		size_t len = strlen(words[i]);
		struct term_bits bits = {.config = i};
		struct reader rd;
		int err;

		if (strncmp(text, words[i], len))
			continue;
		reader_init(&rd, text + len, strlen(text + len));
		do {
			err = parse_range(&rd, &bits.mask);
		} while (!err && reader_accept(&rd, ','));
		if (err || !reader_done(&rd))
			return -EBADMSG;
		*out = bits;
		return 0;
	}
	return -EBADMSG;
}

/* Where the bits of @term are: a format, or config, config1, config2 themselves. */
static int find_bits(const struct pmu_job *job, const char *term, struct term_bits *out)
{
	static const char *const whole[PMU_CONFIGS] = {"config", "config1", "config2"};
	_cleanup_free_ char *format = NULL;

	for (uint32_t i = 0; i < PMU_CONFIGS; i++)
		if (!strcmp(term, whole[i])) {
			*out = (struct term_bits){i, UINT64_MAX};
			return 0;
		}
	format = read_entry(job->root, job->pmu, "format", term);
	return format ? parse_format(format, out) : -errno;
}

int pmu_format_bit(const char *root, const char *pmu, const char *name, uint32_t *bit)
{
	struct pmu_job job = {.root = root, .pmu = pmu};
	struct term_bits bits = {0};
	int err = find_bits(&job, name, &bits);

	if (err)
		return err;
	if (bits.config || !bits.mask)
		return -EBADMSG;
	*bit = (uint32_t)__builtin_ctzll(bits.mask);
	return 0;
}

/* The low bits of @value to the places of @mask, lowest first. False: it has more bits than those.
 */
static bool spread_bits(uint64_t value, uint64_t mask, uint64_t *config)
{
	uint64_t placed = 0;

	for (uint64_t left = mask; left && value; left &= left - 1, value >>= 1)
		if (value & 1)
			placed |= left & -left;
	*config = (*config & ~mask) | placed;
	return !value;
}

static int bad_term(const struct pmu_job *job, const char *term, const char *what)
{
	buf_printf(job->why, "PMU '%s': term '%s' %s", job->pmu, term, what);
	return -EINVAL;
}

/* The terms that the PMU has, for a mistyped one. */
static int unknown_term(const struct pmu_job *job, const char *term)
{
	static const char *const folders[] = {"format", "events"};
	struct names names[2] = {0};
	struct nearest nearest;

	nearest_init(&nearest, term);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s/%s", job->root, job->pmu, folders[i]) < 0)
			path = NULL;
		else
			names_of(AT_FDCWD, path, 0, &names[i]);
		for (size_t k = 0; k < names[i].cnt; k++)
			nearest_offer(&nearest, names[i].items[k]);
	}
	buf_printf(job->why, "PMU '%s' has no term '%s'", job->pmu, term);
	if (nearest.best)
		buf_printf(job->why, " (did you mean '%s'?)", nearest.best);
	else
		buf_printf(job->why, " (it has the files of %s/%s/format and events)", job->root,
			   job->pmu);
	names_deinit(&names[0]);
	names_deinit(&names[1]);
	return -EINVAL;
}

static int add_terms(const struct pmu_job *job, const char *terms, uint32_t depth);

static int add_term(const struct pmu_job *job, char *term, uint32_t depth)
{
	_cleanup_free_ char *alias = NULL;
	char *value_text = strchr(term, '=');
	struct term_bits bits = {0};
	uint64_t value = 1;
	int err;

	if (value_text)
		*value_text++ = '\0';
	else
		alias = read_entry(job->root, job->pmu, "events", term);
	if (alias && depth == ALIASES_MAX)
		return bad_term(job, term, "names itself");
	if (alias)
		return add_terms(job, alias, depth + 1);
	err = find_bits(job, term, &bits);
	if (err == -ENOENT)
		return unknown_term(job, term);
	if (err)
		return bad_term(job, term, "has a format that is not understood");
	if (value_text && !strcmp(value_text, "?")) {
		job->unset[bits.config] |= bits.mask;
		return 0;
	}
	job->unset[bits.config] &= ~bits.mask;
	if (value_text && parse_u64(value_text, &value))
		return bad_term(job, term, "needs a number: 3 or 0x3");
	if (!spread_bits(value, bits.mask, &job->out->config[bits.config]))
		return bad_term(job, term, "has no room for a value so large");
	return 0;
}

static int add_terms(const struct pmu_job *job, const char *terms, uint32_t depth)
{
	struct reader rd;
	const char *item;
	size_t len;
	int err = 0;

	reader_init(&rd, terms, strlen(terms));
	while (!err && (item = reader_until(&rd, ',', &len))) {
		_cleanup_free_ char *term = strndup(item, len);

		err = term ? add_term(job, term, depth) : -ENOMEM;
	}
	return err;
}

/* With the PMU that is most like it, or all that there are. */
static int unknown_pmu(const struct pmu_job *job)
{
	struct names names = {0};
	struct nearest nearest;

	nearest_init(&nearest, job->pmu);
	names_of(AT_FDCWD, job->root, 0, &names);
	for (size_t i = 0; i < names.cnt; i++)
		nearest_offer(&nearest, names.items[i]);
	buf_printf(job->why, "this machine has no PMU '%s'", job->pmu);
	if (nearest.best)
		buf_printf(job->why, " (did you mean '%s'?)", nearest.best);
	for (size_t i = 0; i < names.cnt && !nearest.best; i++)
		buf_printf(job->why, "%s%s", i ? ", " : "; there are: ", names.items[i]);
	names_deinit(&names);
	return -ENOENT;
}

int pmu_config(const char *root, const char *pmu, const char *terms, struct pmu_config *out,
	       struct buf *why)
{
	struct pmu_config config = {0};
	uint64_t unset[PMU_CONFIGS] = {0};
	struct pmu_job job = {root, pmu, &config, unset, why};
	int err = pmu_type(root, pmu, &config.type);

	if (err == -ENOENT)
		return unknown_pmu(&job);
	if (err) {
		buf_printf(why, "PMU '%s': its type: %s", pmu, strerror(-err));
		return err;
	}
	err = add_terms(&job, terms, 0);
	for (uint32_t i = 0; i < PMU_CONFIGS && !err; i++)
		if (unset[i])
			err = bad_term(&job, terms, "has a term without a value: name it, too");
	if (!err)
		*out = config;
	return err;
}

/* events/NAME has NAME.scale, NAME.unit, ... beside it. */
static int each_event(const char *root, const char *pmu, pmu_fn fn, void *ctx)
{
	_cleanup_free_ char *path = NULL;
	struct names names = {0};
	int err = 0;

	if (asprintf(&path, "%s/%s/events", root, pmu) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (names_of(AT_FDCWD, path, 0, &names))
		return 0;
	for (size_t i = 0; i < names.cnt && !err; i++)
		if (!strchr(names.items[i], '.'))
			err = fn(pmu, names.items[i], ctx);
	names_deinit(&names);
	return err;
}

int pmu_each(const char *root, pmu_fn fn, void *ctx)
{
	struct names names = {0};
	int err = names_of(AT_FDCWD, root, 0, &names);

	for (size_t i = 0; i < names.cnt && !err; i++) {
		err = fn(names.items[i], NULL, ctx);
		err = err ? err : each_event(root, names.items[i], fn, ctx);
	}
	names_deinit(&names);
	return err;
}
