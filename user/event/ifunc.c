/* SPDX-License-Identifier: Apache-2.0 */
/* Which code an indirect function stands for. */
#include "event/ifunc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "base/build.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"

/* The library that is looked for among those that we have loaded. */
struct own_library {
	struct stat want;
	uint8_t build_id[BUILD_ID_MAX]; /* of the one that is wanted */
	size_t build_id_len;
	const char *name; /* borrowed from the dynamic linker; NULL: not found */
	uint64_t base, end; /* ips: of vaddr 0, and behind its last segment */
};

/* A copy elsewhere, as a container's, is the same library. */
static bool is_wanted(const struct own_library *library, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t build_id[BUILD_ID_MAX];
	struct stat have;

	if (fd < 0 || fstat(fd, &have))
		return false;
	if (have.st_dev == library->want.st_dev && have.st_ino == library->want.st_ino)
		return true;
	return library->build_id_len &&
	       elf_build_id_fd(fd, build_id, sizeof(build_id)) == library->build_id_len &&
	       !memcmp(build_id, library->build_id, library->build_id_len);
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own_library *library = arg;

	if (info->dlpi_name[0] != '/' || !is_wanted(library, info->dlpi_name))
		return 0;
	library->name = info->dlpi_name;
	library->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t end =
			info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && end > library->end)
			library->end = end;
	}
	return 1;
}

int ifunc_own_choice(int fd, const char *name, uint64_t *vaddr)
{
	struct own_library library = {0};
	uint64_t ip = 0;
	void *handle, *symbol;
	const char *why;

	if (fstat(fd, &library.want))
		return -errno;
	library.build_id_len = elf_build_id_fd(fd, library.build_id, sizeof(library.build_id));
	dl_iterate_phdr(look_at_library, &library);
	handle = library.name ? build_load_library(library.name, RTLD_LAZY | RTLD_NOLOAD, &why)
			      : NULL;
	if (!handle)
		return -ENOENT;
	symbol = dlsym(handle, name);
	memcpy(&ip, &symbol, sizeof(symbol));
	dlclose(handle);
	if (!ip)
		return -ENOENT;
	if (ip < library.base || ip >= library.end)
		return -EXDEV;
	*vaddr = ip - library.base;
	return 0;
}

/* What is a function of its own: __memcpy_chk_avx2 is memcpy_chk, and no variant of memcpy. */
static bool is_other_function(const char *rest)
{
	return !strncmp(rest, "chk_", 4) || !strcmp(rest, "chk") || !strncmp(rest, "l_", 2) ||
	       !strcmp(rest, "l");
}

bool ifunc_is_variant(const char *name, const char *function)
{
	size_t len = strlen(name);

	if (strncmp(function, "__", 2) != 0 || strncmp(function + 2, name, len) != 0)
		return false;
	function += 2 + len;
	return function[0] == '_' && !is_other_function(function + 1) && !strchr(function, '.') &&
	       strcmp(function, "_ifunc") != 0;
}
