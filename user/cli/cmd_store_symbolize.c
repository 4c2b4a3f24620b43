/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof store symbolize`: names for what a fleet's hosts could not name. */
#include "cli/cmd_store_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/symbol_files.h"
#include "elf/debuginfod.h"
#include "encode/func_table.h"
#include "fleet/fleet_symbols.h"
#include "fleet/fleet_unnamed.h"
#include "symbol/completion.h"
#include "symbol/symbol_table.h"

/* Of files that are read and written together: what a run that is ended has done until then, stays.
 */
enum { GROUP_MODULES_MAX = 100, GROUP_FRAMES_MAX = 50000 };

struct job {
	struct ch_client *client;
	const struct debug_dirs *dirs;
	struct symbol_sources sources;
	struct fleet_days days;
	struct fleet_modules modules;
	struct demangler *demangler; /* owned */
	struct buf *lines; /* what is missing */
	uint64_t lacking, bettered;
	size_t no_file_cnt, no_lines_cnt;
};

/* What is to be remembered of @module, whose frames have what names they will have. */
static const char *why_not(const struct completion *completion, const struct fleet_module *module)
{
	const struct profile *prof = completion->prof;
	const char *why = "no_build_id";

	for (size_t i = 0; i < prof->mapping_cnt; i++) {
		const struct completion_file *file = &completion->files[i];

		if (strcmp(profile_str(prof, prof->mappings[i].build_id), module->build_id) != 0 ||
		    !file->build_id_len)
			continue;
		if (prof->mappings[i].flags & MAPPING_HAS_LINES)
			return "";
		why = file->module ? "no_lines" : "no_file";
	}
	return why;
}

static void tell_module(struct job *job, const struct fleet_module *module)
{
	job->lacking += module->lacking;
	job->bettered += module->bettered;
	if (!*module->why)
		return;
	job->no_file_cnt += strcmp(module->why, "no_lines") != 0;
	job->no_lines_cnt += !strcmp(module->why, "no_lines");
	buf_printf(job->lines, "%-11s  %8" PRIu64 " frames  ", module->why, module->lacking);
	func_table_printable(module->build_id, job->lines);
	buf_add_str(job->lines, "  ");
	func_table_printable(module->path, job->lines);
	buf_add_char(job->lines, '\n');
}

/* Name what lies in @module's mappings by @table, which has lines. */
static void name_by_table(struct job *job, struct profile *prof, const struct fleet_module *module,
			  const struct name_table *table)
{
	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		struct profile_mapping *mapping = &prof->mappings[prof->locations[i].mapping];

		if (strcmp(profile_str(prof, mapping->build_id), module->build_id) != 0)
			continue;
		symbol_table_name(prof, i, table, job->demangler);
		mapping->flags |= symbol_table_has_lines(table) ? MAPPING_HAS_LINES : 0;
	}
}

/* What somebody has uploaded of @module, which is not here, or without lines. */
static int use_upload(struct job *job, struct profile *prof, struct fleet_module *module)
{
	_cleanup_(buf_deinit) struct buf data;
	char format[SYMBOL_TABLE_FORMAT_BYTES];
	struct name_table table;
	int err;

	buf_init(&data, BUF_NO_MAX);
	symbol_table_format(format);
	err = fleet_symbols_get(job->client, module->build_id, format, &data);
	if (!err)
		err = symbol_table_read(data.data, data.len, &table);
	if (err == -EBADMSG)
		log_warn("store: the symbols of '%s' (build-id %s) that were uploaded are damaged",
			 module->path, module->build_id);
	if (err)
		return err == -ENOENT || err == -EBADMSG ? 0 : err;
	name_by_table(job, prof, module, &table);
	module->why = symbol_table_has_lines(&table) ? "" : "no_lines";
	return prof->err;
}

static int complete(struct job *job, struct profile *prof, struct fleet_module *modules, size_t cnt)
{
	const struct symbolizer_opts how = {.no_inline = false};
	_cleanup_(completion_deinit) struct completion completion;
	int err = completion_init(&completion, prof, &job->sources);

	if (!err && job->sources.debuginfod) {
		completion_ask(&completion);
		symbol_files_wait(job->sources.debuginfod);
	}
	if (!err)
		err = completion_run(&completion, &how);
	for (size_t i = 0; i < cnt && !err; i++) {
		modules[i].why = why_not(&completion, &modules[i]);
		if (*modules[i].why)
			err = use_upload(job, prof, &modules[i]);
	}
	return err;
}

static int name_group(struct job *job, struct fleet_module *modules, size_t cnt)
{
	struct fleet_unnamed unnamed;
	int err = fleet_unnamed_read(job->client, &job->days, modules, cnt, &unnamed);

	if (!err)
		err = complete(job, &unnamed.prof, modules, cnt);
	if (!err)
		err = fleet_unnamed_write(job->client, &unnamed, modules, cnt);
	fleet_unnamed_deinit(&unnamed);
	for (size_t i = 0; i < cnt && !err; i++)
		tell_module(job, &modules[i]);
	return err;
}

static int name_all(struct job *job)
{
	size_t first = 0;
	int err = fleet_unnamed_modules(job->client, &job->days, &job->modules);

	while (first < job->modules.cnt && !err) {
		struct fleet_module *modules = &job->modules.items[first];
		uint64_t frames = modules[0].lacking;
		size_t cnt = 1;

		while (first + cnt < job->modules.cnt && cnt < GROUP_MODULES_MAX &&
		       frames + modules[cnt].lacking <= GROUP_FRAMES_MAX)
			frames += modules[cnt++].lacking;
		err = name_group(job, modules, cnt);
		first += cnt;
	}
	return err;
}

static int symbolize_days(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, void *arg,
			  int *status)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct job job = {
		.client = client,
		.dirs = arg,
		.days = fleet_days_of(from_ns, to_ns),
		.lines = &lines,
	};
	int err;

	buf_init(&lines, BUF_NO_MAX);
	job.demangler = demangler_new();
	if (!job.demangler)
		log_error("names: %s", strerror(ENOMEM));
	if (!job.demangler || symbol_files_open(job.dirs, &job.sources)) {
		demangler_free(job.demangler);
		return 0;
	}
	err = name_all(&job);
	demangler_free(job.demangler);
	if (job.sources.debuginfod)
		debuginfod_report(job.sources.debuginfod);
	debuginfod_stop(job.sources.debuginfod);
	*status = cli_print(&lines);
	log_info("store '%s': %" PRIu64 " of %" PRIu64
		 " frames that lacked names or lines got some; %zu files, %zu not found, %zu "
		 "without lines",
		 ch_client_name(client), job.bettered, job.lacking, job.modules.cnt,
		 job.no_file_cnt, job.no_lines_cnt);
	fleet_modules_deinit(&job.modules);
	return err;
}

int fleet_symbolize_run(const char *url, const char *since, const char *until,
			const struct debug_dirs *dirs)
{
	return fleet_on_days(url, since, until, symbolize_days, (void *)dirs);
}
