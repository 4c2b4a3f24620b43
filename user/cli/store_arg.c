/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/store_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clickhouse/url.h"
#include "fleet/fleet.h"

static bool has_scheme(const char *url, const char *scheme)
{
	return !strncmp(url, scheme, strlen(scheme));
}

int store_arg_path(const char *url, const char **out)
{
	if (!url) {
		*out = STORE_DEFAULT_PATH;
		return 0;
	}
	if (fleet_is_url(url)) {
		log_error("a fleet's store cannot be that: name a local one (--store FILE)");
		return -EINVAL;
	}
	if (has_scheme(url, "sqlite:"))
		url += strlen("sqlite:");
	if (!*url || strstr(url, "://")) {
		log_error("store '%s': not the name of a store (--store FILE, or sqlite:FILE)",
			  url);
		return -EINVAL;
	}
	*out = url;
	return 0;
}

static int refuse(const char *path, int err)
{
	switch (err) {
	case -ENOENT:
		log_error("no store at '%s': is the agent running? (bpfprof agent; --store FILE "
			  "names another one)",
			  path);
		break;
	case -EACCES:
		log_error("store '%s': this user may not read it (sudo bpfprof ..., or join the "
			  "group that may)",
			  path);
		break;
	case -EISDIR:
		log_error("store '%s' is a folder: name the file in it", path);
		break;
	case -EMEDIUMTYPE:
		log_error("store '%s' is no regular file: name the file of a store", path);
		break;
	case -EBADMSG:
		log_error("store '%s' is no store, or its first page is damaged: name another "
			  "one, or restore it from a copy",
			  path);
		break;
	case -EPROTO:
		log_error("store '%s' is another program's database: name one that bpfprof made",
			  path);
		break;
	default:
		log_error("store '%s': %s", path, strerror(-err));
	}
	return err;
}

int store_arg_probe(const char *path, struct store_probe *out)
{
	struct store_probe probe;
	int err = store_probe(path, &probe);

	if (err)
		return refuse(path, err);
	if (probe.version > probe.own_version) {
		log_error("store '%s' was made by a newer bpfprof (version %" PRIu64
			  "; this is %" PRIu64 "): read it with that one",
			  path, probe.version, probe.own_version);
		return -EPROTO;
	}
	*out = probe;
	return 0;
}

/* Is the store at @path one that this program reads? 0, or negative errno after log_error(). */
static int check(const char *path)
{
	struct store_probe probe;
	int err = store_arg_probe(path, &probe);

	if (err)
		return err;
	if (probe.version < probe.own_version) {
		log_error("store '%s' is of an older version (%" PRIu64 "; this is %" PRIu64
			  "): bpfprof store migrate --store %s",
			  path, probe.version, probe.own_version, path);
		return -EPROTO;
	}
	return 0;
}

int store_arg_open(const char *path, struct store **out)
{
	int err = check(path);

	return err ? err : store_open(path, STORE_READ, out);
}

int store_arg_url(const char *url, const char **out)
{
	if (!url || !fleet_is_url(url))
		return store_arg_path(url, out);
	*out = url;
	return 0;
}

static int open_fleet(const char *url, struct store_source **out)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = fleet_open(url, out, &why);
	if (err)
		log_error("%s", buf_error_text(&why, err));
	return err;
}

int store_arg_open_source(const char *url, struct store_source **out)
{
	int err;

	if (fleet_is_url(url))
		return open_fleet(url, out);
	err = check(url);
	return err ? err : store_source_open_file(url, out);
}

char *store_arg_name(const char *url)
{
	struct ch_url parts;
	const char *why;
	struct buf name;

	if (!fleet_is_url(url) || ch_url_parse(url, &parts, &why))
		return strdup(url);
	buf_init(&name, BUF_NO_MAX);
	ch_url_print(&parts, &name);
	explicit_bzero(&parts, sizeof(parts));
	return buf_take(&name, NULL);
}

int store_arg_open_to_ship(const char *path, struct store **out)
{
	int err = check(path);

	return err ? err : store_open(path, STORE_SHIP, out);
}
