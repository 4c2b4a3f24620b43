/* SPDX-License-Identifier: Apache-2.0 */
/* The page's files, metrics, health. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "web/routes.h"

enum { ETAG_BYTES = 16 };

struct page_file {
	const char *path, *type, *data;
	size_t len;
	char etag[2 * ETAG_BYTES + 3]; /* quoted; made when the first one is asked for */
};

#include "gen/page_files.h"

enum { FILE_CNT = sizeof(files) / sizeof(files[0]) };

static void make_etags(void)
{
	for (size_t i = 0; i < FILE_CNT; i++) {
		uint8_t digest[SHA256_BYTES];
		char hex[2 * ETAG_BYTES + 1];

		sha256(files[i].data, files[i].len, digest);
		hex_format(digest, ETAG_BYTES, hex);
		snprintf(files[i].etag, sizeof(files[i].etag), "\"%s\"", hex);
	}
}

static struct page_file *find_file(const char *path)
{
	for (size_t i = 0; i < FILE_CNT; i++)
		if (!strcmp(files[i].path, path))
			return &files[i];
	return NULL;
}

bool web_page_has(const char *path)
{
	return find_file(path) != NULL;
}

void web_answer_page(struct web_site *site, const struct web_request *request,
		     struct web_reply *reply)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct page_file *file = find_file(request->target->path);

	assert(file); /* who asked web_page_has() */
	pthread_once(&once, make_etags);
	reply->type = file->type;
	reply->policy = WEB_POLICY_PAGE;
	reply->etag = file->etag;
	if (web_etag_matches(request->if_none_match, file->etag))
		reply->status = 304;
	else
		buf_add(&reply->body, file->data, file->len);
}

void web_answer_metrics(struct web_site *site, const struct web_request *request,
			struct web_reply *reply)
{
	int err;

	if (!site->host || !site->host->metrics) {
		web_reply_fail(reply, 404, "no agent runs here: there are no metrics");
		return;
	}
	reply->type = "text/plain; version=0.0.4; charset=utf-8";
	err = site->host->metrics(site->host->arg, &reply->body);
	if (err)
		web_reply_fail(reply, 500, "metrics: %s", strerror(-err));
}

void web_answer_health(struct web_site *site, const struct web_request *request,
		       struct web_reply *reply)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (site->host && site->host->is_healthy && !site->host->is_healthy(site->host->arg, &why))
		web_reply_fail(reply, 503, "%s", why.len ? buf_cstr(&why) : "not healthy");
	else
		buf_add_str(&reply->body, "ok\n");
}
