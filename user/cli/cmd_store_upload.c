/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof store upload`: symbols of what was just built, say, for a fleet that will run it. */
#include "cli/cmd_store_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/symbol_upload.h"

struct files {
	const char *const *items;
	size_t cnt;
	const struct debug_dirs *dirs;
};

/* The program, library or debug file @path, with its build-id; NULL after log_error(). *Owned*. */
static struct module *open_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elf_file *elf;
	struct module *module;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		log_error("'%s': %s", path, fd < 0 ? strerror(errno) : "no regular file");
		return NULL;
	}
	elf = elf_file_open_unmapped(fd);
	module = elf ? module_of_file(path, take_fd(&fd)) : NULL;
	if (!module) {
		log_error("'%s': %s", path, elf ? strerror(ENOMEM) : "no ELF file");
		elf_file_free(elf);
		return NULL;
	}
	/* Debug files have it, too, but not where their program headers say. */
	module->build_id_len =
		(uint32_t)elf_build_id(elf, module->build_id, sizeof(module->build_id));
	elf_file_free(elf);
	if (module->build_id_len)
		return module;
	log_error("'%s': it has no build-id (link it with -Wl,--build-id)", path);
	module_free(module);
	return NULL;
}

/* What keeps the file from it; NULL: it is not the file's fault. */
static const char *file_error(const struct symbol_uploader *uploader, int err)
{
	if (err == -ENOENT)
		return "it has no symbols (strip has taken them; --debug-dir DIR says where they "
		       "are)";
	if (err != -EFBIG && err != -E2BIG)
		return NULL;
	return uploader->why && uploader->why->len ? buf_cstr(uploader->why)
						   : "it has too many symbols";
}

/* 0, or negative errno: -ENOENT and others that are the file's are told, and the server's not. */
static int upload_file(const struct symbol_uploader *uploader, const char *path, int *status)
{
	struct module *module = open_file(path);
	char build_id[2 * BUILD_ID_MAX + 1];
	uint64_t sent;
	int err;

	if (!module) {
		*status = CLI_FAILED;
		return 0;
	}
	hex_format(module->build_id, module->build_id_len, build_id);
	err = symbol_upload(uploader, module, build_id, false, &sent);
	module_free(module);
	if (err == 1)
		log_info("'%s': the symbols of build-id %s are uploaded, %" PRIu64 " bytes", path,
			 build_id, sent);
	else if (!err)
		log_info("'%s': the symbols of build-id %s are there already", path, build_id);
	if (err >= 0)
		return 0;
	if (!file_error(uploader, err))
		return err;
	log_error("'%s': %s", path, file_error(uploader, err));
	*status = CLI_FAILED;
	return 0;
}

/* Not one of the two numbers that are no hosts. */
static int make_host(uint64_t *out)
{
	if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
		return -EIO;
	*out = *out >> 1 | 1;
	return 0;
}

/* Each file by @to, which has where to. As upload_file(). */
static int upload_all(const struct symbol_uploader *to, const struct files *files, int *status)
{
	const struct symbol_sources sources = {.debug_dirs = files->dirs->items};
	struct symbol_uploader uploader = *to;
	int err = make_host(&uploader.host);

	uploader.sources = &sources;
	uploader.is_alone = true;
	*status = err ? CLI_FAILED : CLI_OK;
	for (size_t i = 0; i < files->cnt && !err; i++)
		err = upload_file(&uploader, files->items[i], status);
	return err;
}

static int upload_files(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, void *arg,
			int *status)
{
	const struct files *files = arg;
	const struct symbol_uploader to = {.client = client};

	return upload_all(&to, files, status);
}

/* What the relay has taken is on its disk, and will be in the fleet's store. */
static int upload_to_relay(const char *url, const struct files *files)
{
	const struct http_opts http = {.timeout_ms = 0};
	_cleanup_(buf_deinit) struct buf why;
	struct symbol_uploader to = {.why = &why};
	int status = CLI_FAILED, err;

	buf_init(&why, BUF_NO_MAX);
	err = symbol_uploader_open(&to, url, &http);
	if (err) {
		log_error("store: the URL of the relay: %s", buf_cstr(&why));
		return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	err = upload_all(&to, files, &status);
	if (err)
		log_error("store: the relay: %s", buf_error_text(&why, err));
	symbol_uploader_close(&to);
	return err ? CLI_FAILED : status;
}

int fleet_upload_run(const char *url, const char *const *paths, size_t cnt,
		     const struct debug_dirs *dirs)
{
	struct files files = {paths, cnt, dirs};

	if (relay_symbols_is_url(url))
		return upload_to_relay(url, &files);
	return fleet_on_days(url, NULL, NULL, upload_files, &files);
}
