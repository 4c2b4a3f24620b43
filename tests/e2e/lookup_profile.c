/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver of test_lines.sh and test_go_lines.sh: what a flame graph would show at addresses of one
 * file. They become the locations of a profile with that one mapping, which goes through the
 * symbolizer; so which debug file is found, and whose name is taken, is part of the answer. For
 * each hex address a line with the system name and one with file:line per level, innermost first,
 * then an empty line; a frame without a symbol has its name in brackets.
 *
 *	lookup_profile [--no-inline] [--root FOLDER] [--keep FOLDER] FILE < ADDRESSES
 *
 * --no-inline: as that option of the program. --keep: names are kept in FOLDER, and read from
 * there. --root: FILE (below FOLDER) is that of a process whose root is FOLDER, as in a container;
 * its debug files are looked for there first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/module.h"
#include "profile/profile.h"
#include "symbol/name_keeper.h"
#include "symbol/symbolizer.h"

struct options {
	const char *path, *root, *keep;
	bool no_inline;
};

struct locations {
	uint32_t *ids; /* owned */
	size_t cnt, cap;
};

static int read_locations(struct profile *prof, uint32_t mapping, struct locations *out)
{
	uint64_t vaddr;

	while (scanf("%" SCNx64, &vaddr) == 1) {
		int err = array_reserve(&out->ids, &out->cap, out->cnt + 1, sizeof(*out->ids));

		if (err)
			return err;
		out->ids[out->cnt++] = profile_location(prof, mapping, vaddr, 0);
	}
	return prof->err;
}

static void print_location(const struct profile *prof, const struct profile_location *loc)
{
	for (uint32_t i = loc->first_line; i < loc->first_line + loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[i];
		const struct profile_function *function = &prof->functions[line->function];
		const char *file = profile_str(prof, function->file);

		printf("%s\n%s:%u\n", profile_str(prof, function->system_name), *file ? file : "??",
		       line->line);
	}
	putchar('\n');
}

static int set_root(struct module *module, const char *root)
{
	char path[PATH_MAX];
	int fd = realpath(root, path) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return -errno;
	if (module->root_fd >= 0)
		close(module->root_fd);
	module->root_fd = fd;
	module->path_in_root = (uint32_t)strlen(path);
	return 0;
}

/* As of a process that has mapped the file; NULL + errno. */
static struct module *open_module(const struct options *options)
{
	struct module_identity identity = {0};
	char path[PATH_MAX];
	struct module *module;
	struct stat st;

	if (!realpath(options->path, path) || stat(path, &st))
		return NULL;
	identity.ino = st.st_ino;
	identity.size_bytes = (uint64_t)st.st_size;
	module = module_open(getpid(), 0, 0, path, &identity);
	if (!module)
		return NULL;
	if (module->fd >= 0 && (!options->root || !set_root(module, options->root)))
		return module;
	module_free(module);
	errno = ENOENT;
	return NULL;
}

static int name_all(struct profile *prof, struct module *module, const struct options *options)
{
	_cleanup_(name_keeper_freep) struct name_keeper *keeper =
		options->keep ? name_keeper_new(options->keep) : NULL;
	const struct symbolizer_opts opts = {.no_inline = options->no_inline, .keeper = keeper};
	uint32_t mapping = profile_mapping(prof, module->path, "");
	struct ledger_frames frames = {0};
	struct locations locations = {0};
	int err = read_locations(prof, mapping, &locations);

	if (!err)
		err = symbolizer_run(prof, &module, 1, &opts, &frames);
	name_keeper_save(keeper);
	for (size_t i = 0; i < locations.cnt && !err; i++)
		print_location(prof, &prof->locations[locations.ids[i]]);
	free(locations.ids);
	return err;
}

static void parse_args(int argc, char **argv, struct options *out)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--no-inline"))
			out->no_inline = true;
		else if (!strcmp(argv[i], "--root") && i + 1 < argc)
			out->root = argv[++i];
		else if (!strcmp(argv[i], "--keep") && i + 1 < argc)
			out->keep = argv[++i];
		else
			out->path = argv[i];
	}
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct module *module;
	struct profile prof;
	int err;

	parse_args(argc, argv, &options);
	if (!options.path) {
		fprintf(stderr, "usage: lookup_profile [--no-inline] [--root FOLDER] [--keep "
				"FOLDER] FILE\n");
		return 2;
	}
	module = open_module(&options);
	err = module ? profile_init(&prof) : -errno;
	if (!err) {
		err = name_all(&prof, module, &options);
		profile_deinit(&prof);
	}
	module_free(module);
	if (err)
		fprintf(stderr, "lookup_profile: '%s': %s\n", options.path, strerror(-err));
	return err ? 1 : 0;
}
