/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uploads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hmap.h"
#include "base/log.h"
#include "cli/symbol_upload.h"
#include "symbol/locate.h"

enum { TIMEOUT_MS = 120000 };

#define LOOK_MIN_NS (60 * NSEC_PER_SEC)
#define LOOK_SPREAD_NS (60 * NSEC_PER_SEC) /* up to so much more: hosts do not come all at once */

struct uploads {
	struct symbol_uploader uploader; /* owned */
	struct buf why; /* its */
	const char *name; /* borrowed */
	uint64_t next_ns; /* CLOCK_MONOTONIC: when to look */
	struct hmap tried; /* build-ids that are of no use here */
};

struct uploads *uploads_open(const struct uploads_opts *opts)
{
	static const struct symbol_sources sources = {.debug_dirs = NULL};
	const struct http_opts http = {
		.timeout_ms = TIMEOUT_MS,
		.send_bytes_per_s = opts->bytes_per_s ? opts->bytes_per_s : UPLOADS_BYTES_PER_S,
		.is_cancelled = opts->is_cancelled,
		.arg = opts->arg,
	};
	struct uploads *uploads = calloc(1, sizeof(*uploads));

	if (!uploads)
		return NULL;
	uploads->name = opts->name;
	hmap_init(&uploads->tried);
	buf_init(&uploads->why, BUF_NO_MAX);
	uploads->uploader = (struct symbol_uploader){
		.host = opts->host, .sources = &sources, .why = &uploads->why};
	if (!symbol_uploader_open(&uploads->uploader, opts->url, &http))
		return uploads;
	uploads_close(uploads);
	return NULL;
}

void uploads_close(struct uploads *uploads)
{
	if (!uploads)
		return;
	hmap_deinit(&uploads->tried);
	symbol_uploader_close(&uploads->uploader);
	buf_deinit(&uploads->why);
	free(uploads);
}

/* The hash is all of it. */
static bool is_equal(const void *owner, uint32_t index, const void *key)
{
	return true;
}

static uint64_t hash_of(const struct fleet_module *wanted)
{
	return hash_bytes(wanted->build_id, strlen(wanted->build_id));
}

/* The file, where this host has it: *owned*. */
static struct module *find_file(const struct fleet_module *wanted,
				const struct symbol_sources *sources)
{
	uint8_t build_id[BUILD_ID_MAX];
	const struct image_id image = {
		.path = wanted->path,
		.build_id = build_id,
		.build_id_len = hex_parse(wanted->build_id, build_id, sizeof(build_id)),
	};

	return locate_module(&image, sources);
}

/* 1: it is uploaded; 0: it is not for us; negative errno: the server's. */
static int upload(struct uploads *uploads, const struct fleet_module *wanted, uint64_t *bytes_out)
{
	struct module *module = find_file(wanted, uploads->uploader.sources);
	int err;

	if (!module)
		return 0;
	err = symbol_upload(&uploads->uploader, module, wanted->build_id,
			    !strcmp(wanted->why, "no_lines"), bytes_out);
	module_free(module);
	if (err == 1)
		log_info("sink '%s': symbols of '%s' (build-id %s) uploaded, %" PRIu64 " bytes",
			 uploads->name, wanted->path, wanted->build_id, *bytes_out);
	if (err == -ENOENT || err == -EFBIG || err == -E2BIG)
		err = hmap_insert(&uploads->tried, hash_of(wanted), 0);
	return err;
}

/* 1: one table was uploaded, and there may be more to do. */
static int look(struct uploads *uploads, uint64_t *bytes_out)
{
	struct fleet_modules wanted;
	int err;

	buf_reset(&uploads->why);
	err = symbol_uploader_wanted(&uploads->uploader, &wanted);
	for (size_t i = 0; i < wanted.cnt && !err; i++)
		if (hmap_find(&uploads->tried, hash_of(&wanted.items[i]), is_equal, NULL, NULL) ==
		    HMAP_NONE)
			err = upload(uploads, &wanted.items[i], bytes_out);
	fleet_modules_deinit(&wanted);
	return err;
}

bool uploads_step(struct uploads *uploads, uint64_t *bytes_out)
{
	const uint64_t now_ns = clock_monotonic_ns();
	uint32_t chance = 0;
	int err;

	if (!uploads || now_ns < uploads->next_ns)
		return false;
	err = look(uploads, bytes_out);
	if (err < 0)
		log_debug("sink '%s': symbols: %s", uploads->name,
			  buf_error_text(&uploads->why, err));
	if (err == 1)
		return true;
	if (getrandom(&chance, sizeof(chance), 0) < 0)
		log_debug("uploads: no random numbers: %s", strerror(errno));
	uploads->next_ns =
		now_ns + LOOK_MIN_NS + chance % (LOOK_SPREAD_NS / NSEC_PER_MSEC) * NSEC_PER_MSEC;
	return false;
}
