/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are set aside, looked for anew, and put back where nothing better was found. */
#include "symbol/completion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debuginfod.h"
#include "symbol/locate.h"

/* The lines that a location had. */
struct aside {
	uint32_t first_line;
	uint16_t line_cnt; /* 0: none were set aside */
};

struct work {
	struct completion *completion;
	struct aside *asides; /* borrowed; one for each location */
};

/* --- Files --- */

/* How long the build-id @hex is, which goes into @out; 0: no file can be found by it. */
static uint32_t parse_build_id(const char *hex, uint8_t out[static BUILD_ID_MAX])
{
	size_t len = hex_parse(hex, out, BUILD_ID_MAX);

	return len < 2 ? 0 : (uint32_t)len;
}

/* Code of the kernel and its modules, and of JIT compilers, is in no file that we could find. */
static bool is_in_file(const struct profile *prof, uint32_t mapping)
{
	const char *path;

	if (mapping == PROFILE_NONE)
		return false;
	path = profile_str(prof, prof->mappings[mapping].path);
	return !profile_path_is_anon(path) && (path[0] != '[' || !strcmp(path, "[vdso]"));
}

static int find_file(struct completion *completion, uint32_t mapping)
{
	struct completion_file *file = &completion->files[mapping];
	const struct profile *prof = completion->prof;
	const struct image_id image = {
		.path = profile_str(prof, prof->mappings[mapping].path),
		.build_id = file->build_id,
		.build_id_len = file->build_id_len,
	};

	if (file->module || !file->build_id_len)
		return 0;
	file->module = locate_module(&image, completion->sources);
	if (!file->module)
		return errno == ENOMEM ? -ENOMEM : 0;
	return elf_segments_read(file->module->fd, &file->segments) == -ENOMEM ? -ENOMEM : 0;
}

static int find_files(struct completion *completion)
{
	int err = 0;

	for (uint32_t i = 0; i < completion->prof->mapping_cnt && !err; i++)
		err = find_file(completion, i);
	return err;
}

int completion_init(struct completion *out, struct profile *prof,
		    const struct symbol_sources *sources)
{
	*out = (struct completion){.prof = prof, .sources = sources};
	out->files = calloc(prof->mapping_cnt + 1, sizeof(*out->files));
	if (!out->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->mapping_cnt; i++)
		if (is_in_file(prof, i))
			out->files[i].build_id_len =
				parse_build_id(profile_str(prof, prof->mappings[i].build_id),
					       out->files[i].build_id);
	return find_files(out);
}

void completion_deinit(struct completion *completion)
{
	for (size_t i = 0; completion->files && i < completion->prof->mapping_cnt; i++) {
		module_free(completion->files[i].module);
		elf_segments_deinit(&completion->files[i].segments);
	}
	free(completion->files);
}

/* A file that is here is asked for only when it is stripped. */
void completion_ask(struct completion *completion)
{
	const struct profile *prof = completion->prof;
	struct debuginfod *client = completion->sources->debuginfod;

	for (size_t i = 0; client && i < prof->mapping_cnt; i++) {
		const struct completion_file *file = &completion->files[i];
		struct debuginfod_wish wish = {
			.kind = DEBUGINFOD_DEBUG_FILE,
			.build_id = file->build_id,
			.build_id_len = file->build_id_len,
			.path = profile_str(prof, prof->mappings[i].path),
			.fd = file->module ? file->module->fd : -1,
			.root_fd = -1,
		};
		int err = file->build_id_len ? debuginfod_ask(client, &wish) : 0;

		if (err)
			log_debug("debuginfod: not asked for '%s': %s", wish.path, strerror(-err));
	}
}

/* --- Lines --- */

/* Could the file of @loc tell more of it? */
static bool is_wanted(const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];

	if (loc->flags & LOCATION_SYNTHETIC)
		return false;
	if (profile_location_is_bare(prof, location))
		return true;
	return is_in_file(prof, loc->mapping) &&
	       !(prof->mappings[loc->mapping].flags & MAPPING_HAS_LINES);
}

static void set_aside(struct completion *completion, struct aside *asides)
{
	struct ledger_frames *before = &completion->before;
	struct profile *prof = completion->prof;

	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		struct profile_location *loc = &prof->locations[i];

		before->distinct += !(loc->flags & LOCATION_SYNTHETIC);
		before->named +=
			!(loc->flags & LOCATION_SYNTHETIC) && !profile_location_is_bare(prof, i);
		if (!is_wanted(prof, i))
			continue;
		asides[i] = (struct aside){loc->first_line, loc->line_cnt};
		completion->replaced_cnt += loc->line_cnt > 0;
		loc->line_cnt = 0;
	}
}

/* The old lines of @location, which gets no new ones, if they say more than its address. */
static bool put_back(void *arg, uint32_t location)
{
	const struct work *work = arg;
	struct profile *prof = work->completion->prof;
	struct profile_location *loc = &prof->locations[location];
	const struct profile_location without = *loc;

	loc->first_line = work->asides[location].first_line;
	loc->line_cnt = work->asides[location].line_cnt;
	if (!profile_location_is_bare(prof, location))
		return true;
	*loc = without;
	return false;
}

/* Which mappings have frames that lack something. */
static int count_wanted(struct completion *completion)
{
	const struct profile *prof = completion->prof;
	_cleanup_free_ bool *is_counted = calloc(prof->mapping_cnt + 1, sizeof(*is_counted));

	if (!is_counted)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		const struct profile_location *loc = &prof->locations[i];
		const struct completion_file *file;

		if (!is_in_file(prof, loc->mapping) || is_counted[loc->mapping] ||
		    !is_wanted(prof, i))
			continue;
		is_counted[loc->mapping] = true;
		file = &completion->files[loc->mapping];
		completion->wanted_cnt++;
		completion->found_cnt += file->module != NULL;
		completion->no_id_cnt += !file->build_id_len;
	}
	return 0;
}

/* --- Addresses --- */

/* In a profile of ours they are the file's own; elsewhere they are the process', and the mapping
 * says where it had the file. */
static uint64_t vaddr_of(void *arg, uint32_t mapping, uint64_t address)
{
	const struct completion *completion = ((const struct work *)arg)->completion;
	const struct profile_mapping *map = &completion->prof->mappings[mapping];
	uint64_t vaddr;

	if ((!map->start && !map->limit) || address < map->start ||
	    elf_segments_vaddr(&completion->files[mapping].segments,
			       address - map->start + map->file_off, &vaddr))
		return address;
	return vaddr;
}

/* --- All of it --- */

static int run_symbolizer(struct work *work, const struct symbolizer_opts *wanted)
{
	struct completion *completion = work->completion;
	const struct profile *prof = completion->prof;
	_cleanup_free_ struct module **modules = calloc(prof->mapping_cnt + 1, sizeof(*modules));
	const struct symbolizer_elsewhere elsewhere = {work, vaddr_of, put_back};
	struct symbolizer_opts opts = *wanted;

	if (!modules)
		return -ENOMEM;
	for (size_t i = 0; i < prof->mapping_cnt; i++)
		modules[i] = completion->files[i].module;
	opts.sources = *completion->sources;
	opts.elsewhere = &elsewhere;
	return symbolizer_run(completion->prof, modules, prof->mapping_cnt, &opts,
			      &completion->after);
}

static int update_ledger(struct completion *completion)
{
	struct ledger ledger;
	int err = profile_get_ledger(completion->prof, &ledger);

	if (err)
		return err == -ENOMEM ? -ENOMEM : 0;
	ledger.frames = completion->after;
	err = profile_set_ledger(completion->prof, &ledger);
	ledger_deinit(&ledger);
	return err;
}

int completion_run(struct completion *completion, const struct symbolizer_opts *opts)
{
	struct profile *prof = completion->prof;
	_cleanup_free_ struct aside *asides = calloc(prof->location_cnt + 1, sizeof(*asides));
	struct work work = {completion, asides};
	int err = asides ? find_files(completion) : -ENOMEM;

	if (!err)
		err = count_wanted(completion);
	if (err)
		return err;
	set_aside(completion, asides);
	err = run_symbolizer(&work, opts);
	return err ? err : update_ledger(completion);
}
