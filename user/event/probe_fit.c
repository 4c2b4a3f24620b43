/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and moving the places of user probes. */
#include "event/probe_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "event/code_check.h"
#include "event/probe_slide.h"

enum {
	CODE_MAX_BYTES = 1 << 20, /* of a function; a larger one is not searched for jumps */
#ifdef __aarch64__
	IS_ARM64 = true,
#else
	IS_ARM64 = false,
#endif
};

/* The instruction at @vaddr alone. */
static int check(struct probe_image *image, struct event_site *site, uint64_t vaddr,
		 struct buf *why)
{
	const struct code_image code = {
		.fd = image->file.fd,
		.is_arm64 = IS_ARM64,
		.elf = image->elf,
		.segments = &image->segments,
		.functions = &image->functions,
	};
	struct insn insn;
	int err = code_check(&code, vaddr, &insn, why);

	/* Of a stripped file nothing says where instructions begin: the person does. */
	if (err == -ENOENT) {
		log_debug("%s: 0x%llx: %s", image->file.path, (unsigned long long)vaddr,
			  buf_cstr(why));
		buf_reset(why);
		return 0;
	}
	if (!err)
		site->cost_ns = probe_cost_ns(insn.probe);
	return err;
}

/* The code of the function at @vaddr, owned, and its length; NULL: it is not known how long it is.
 */
static uint8_t *read_function(const struct probe_image *image, const struct event_site *site,
			      uint64_t vaddr, uint64_t *len)
{
	const struct function *function = functions_at(&image->functions, vaddr);
	uint8_t *bytes;

	if (!function || function->vaddr != vaddr)
		return NULL;
	*len = functions_extent(&image->functions, function);
	if (!*len || *len > CODE_MAX_BYTES)
		return NULL;
	bytes = malloc(*len);
	if (bytes && fs_read_at(image->file.fd, bytes, *len, site->file_off) == (ssize_t)*len)
		return bytes;
	free(bytes);
	return NULL;
}

static int slide(const struct probe_image *image, struct event_site *site, uint64_t vaddr,
		 const uint8_t *bytes, uint64_t len, struct buf *why)
{
	const struct slide_opts opts = {.keep_args = true, .keep_sp = true};
	const struct code_range range = {bytes, len, vaddr};
	_cleanup_(buf_deinit) struct buf text;
	struct probe_place place;
	int err;

	buf_init(&text, BUF_NO_MAX);
	err = probe_slide(&range, &opts, &place, &text);
	if (err) {
		buf_printf(why, "'%s' of '%s': %s", site->symbol, image->file.path,
			   buf_cstr(&text));
		return -EOPNOTSUPP;
	}
	log_debug("%s: probe at %s+%u: %s", image->file.path, site->symbol, place.off,
		  buf_cstr(&text));
	site->file_off += place.off;
	site->symbol_off += place.off;
	site->cost_ns = place.cost_ns;
	return 0;
}

int probe_fit(struct probe_image *image, struct event_site *site, uint64_t vaddr, struct buf *why)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t len;

	if (!image->has_functions &&
	    functions_from_elf(image->elf, &image->debug, &image->functions))
		return -ENOMEM;
	image->has_functions = true;
	if (site->is_entry && !IS_ARM64)
		bytes = read_function(image, site, vaddr, &len);
	return bytes ? slide(image, site, vaddr, bytes, len, why) : check(image, site, vaddr, why);
}
