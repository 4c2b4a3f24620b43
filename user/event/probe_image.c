/* SPDX-License-Identifier: Apache-2.0 */
/* The image that probes are put into. */
#include "event/probe_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void find_debug_file(struct probe_image *image)
{
	uint8_t build_id[BUILD_ID_MAX];
	const struct debug_query query = {
		.elf = image->elf,
		.path = image->file.path,
		.build_id = build_id,
		.build_id_len = elf_build_id(image->elf, build_id, sizeof(build_id)),
		.root_fd = image->file.root_fd,
	};

	if (!symtab_is_full(image->elf))
		debug_file_find(&query, DEBUG_WANT_SYMBOLS, &image->debug);
}

/* Into @why: what @err of opening or reading them means. */
static void explain_headers(const struct probe_image *image, int err, struct buf *why)
{
	if (err == -EBADMSG)
		buf_printf(why, "'%s' is damaged: it has no usable headers", image->file.path);
	else
		buf_printf(why, "'%s' cannot be read: %s", image->file.path, strerror(-err));
}

int probe_image_open(const char *path, pid_t tgid, struct probe_image *out, struct buf *why)
{
	struct probe_image image = {0};
	int err = target_file_find(path, tgid, &image.file, why);

	if (err)
		return err;
	image.elf = elf_file_open_wary(image.file.fd, image.file.root_fd >= 0);
	err = image.elf ? elf_segments_read(image.file.fd, &image.segments) : -errno;
	if (err) {
		explain_headers(&image, err, why);
		probe_image_deinit(&image);
		return err == -EBADMSG ? -EINVAL : err;
	}
	find_debug_file(&image);
	*out = image;
	return 0;
}

void probe_image_deinit(struct probe_image *image)
{
	symtab_free(image->symtab);
	functions_deinit(&image->functions);
	elf_segments_deinit(&image->segments);
	debug_file_deinit(&image->debug);
	elf_file_free(image->elf);
	target_file_deinit(&image->file);
	*image = (struct probe_image){.file = {.fd = -1, .root_fd = -1}};
}

int probe_image_verify(const struct probe_image *image, int err, struct buf *why)
{
	if (!elf_file_is_cut(image->elf) && !elf_file_is_cut(image->debug.elf))
		return err;
	buf_reset(why);
	buf_printf(why, "'%s' was cut short while it was read: try again", image->file.path);
	return -ESTALE;
}

int probe_image_functions(const struct probe_image *image, elf_function_fn *fn, void *arg,
			  enum symtab_source *source)
{
	return symtab_for_each(image->elf, &image->debug, fn, arg, source);
}

char *probe_image_function_at(struct probe_image *image, uint64_t vaddr, uint64_t *off)
{
	struct symtab_name name;

	if (!image->symtab && symtab_from_elf(image->elf, &image->debug, &image->symtab))
		return NULL;
	if (symtab_find(image->symtab, vaddr, &name) || name.is_plt)
		return NULL;
	*off = vaddr - name.start;
	return strndup(name.str, name.len);
}

int probe_image_add_site(struct probe_image *image, struct event *event, uint64_t vaddr,
			 const char *name, uint64_t off, struct event_site **out)
{
	struct event_site site = {.symbol_off = off};
	uint64_t file_off;

	if (!elf_segments_is_code(&image->segments, vaddr) ||
	    elf_segments_file_off(&image->segments, vaddr, &file_off))
		return -ENOENT;
	if (array_reserve(&event->sites, &event->site_cap, event->site_cnt + 1, sizeof(site)))
		return -ENOMEM;
	site.file_off = site.asked_file_off = file_off;
	site.symbol = name ? strdup(name) : probe_image_function_at(image, vaddr, &site.symbol_off);
	site.path = strdup(image->file.open_path);
	if (!site.path || (name && !site.symbol)) {
		free(site.path);
		free(site.symbol);
		return -ENOMEM;
	}
	site.is_entry = site.symbol && !site.symbol_off;
	event->sites[event->site_cnt++] = site;
	if (out)
		*out = &event->sites[event->site_cnt - 1];
	return 0;
}
