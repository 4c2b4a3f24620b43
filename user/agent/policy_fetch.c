/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a server for the policy: see policy_fetch.h. */
#include "agent/policy_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/confinement.h"
#include "http/http.h"
#include "http/url.h"

enum { TIMEOUT_MS = 30000, HTTP_OK = 200, HTTP_NOT_MODIFIED = 304 };

struct fetcher {
	const char *url, *path; /* borrowed; of the file */
	uint64_t every_ns;
	struct policy_counts *counts;
	int end_fd; /* readable when the agent has ended */
	char etag[HTTP_ERROR_MAX]; /* of the last answer that was read; "": none */
	struct buf shown; /* the URL without its password */
	bool is_told; /* that it fails */
};

static bool has_ended(void *arg, int timeout_ms)
{
	struct pollfd fd = {.fd = ((struct fetcher *)arg)->end_fd, .events = POLLIN};

	return poll(&fd, 1, timeout_ms) > 0;
}

static bool is_cancelled(void *arg)
{
	return has_ended(arg, 0);
}

/* Said when it changes, not each time. */
static void tell_failed(struct fetcher *fetcher, const char *why)
{
	fetcher->counts->failed++;
	if (!fetcher->is_told)
		log_warn("policy '%s': %s; the one before stays in force",
			 buf_cstr(&fetcher->shown), why);
	fetcher->is_told = true;
}

static void tell_works(struct fetcher *fetcher)
{
	fetcher->counts->asked_ns = clock_monotonic_ns();
	if (fetcher->is_told)
		log_info("policy '%s': answers again", buf_cstr(&fetcher->shown));
	fetcher->is_told = false;
}

static bool is_right(struct fetcher *fetcher, const struct buf *text)
{
	_cleanup_(buf_deinit) struct buf why;
	struct config config;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = config_parse_policy(buf_cstr(&fetcher->shown), buf_cstr(text), text->len, &config,
				  &why);
	config_deinit(&config);
	if (!err)
		return true;
	fetcher->counts->refused++;
	log_warn("policy: %s; the one before stays in force", buf_error_text(&why, err));
	return false;
}

static bool is_there(const struct fetcher *fetcher, const struct buf *text)
{
	_cleanup_(buf_deinit) struct buf old;

	buf_init(&old, CONFIG_MAX_BYTES);
	return !fs_read_file(fetcher->path, &old) && old.len == text->len &&
	       !memcmp(buf_cstr(&old), buf_cstr(text), text->len);
}

/* Into the file, which the agent then reads. */
static int keep(const struct fetcher *fetcher, const struct buf *text)
{
	struct fs_output file;
	int err;

	if (is_there(fetcher, text))
		return 0;
	err = fs_output_open(fetcher->path, true, &file);
	return err ? err : fs_output_commit(&file, buf_cstr(text), text->len);
}

static void take(struct fetcher *fetcher, const struct buf *text, const char *etag)
{
	int err = 0;

	if (is_right(fetcher, text)) {
		err = keep(fetcher, text);
		fetcher->counts->fetched += !err;
	}
	if (err) {
		log_warn("policy: file '%s': %s", fetcher->path, strerror(-err));
		fetcher->counts->failed++;
		return;
	}
	/* One that was wrong is not asked for again until it is another. */
	snprintf(fetcher->etag, sizeof(fetcher->etag), "%s", etag);
}

static void ask(struct fetcher *fetcher, struct http *http)
{
	_cleanup_(buf_deinit) struct buf text;
	_cleanup_(buf_deinit) struct buf header;
	const char *headers[] = {NULL, NULL};
	const struct http_request request = {
		.url = fetcher->url, .headers = headers, .wanted = "ETag"};
	char why[64];
	uint32_t status;
	int err;

	buf_init(&text, CONFIG_MAX_BYTES);
	buf_init(&header, BUF_NO_MAX);
	buf_printf(&header, "If-None-Match: %s", fetcher->etag);
	if (*fetcher->etag)
		headers[0] = buf_cstr(&header);
	err = http_send(http, &request, &text, &status);
	if (err == -ECANCELED)
		return;
	snprintf(why, sizeof(why), "status %u", err ? 0 : status);
	if (err || (status != HTTP_OK && status != HTTP_NOT_MODIFIED)) {
		tell_failed(fetcher, err ? http_error(http) : why);
		return;
	}
	tell_works(fetcher);
	if (status == HTTP_NOT_MODIFIED)
		fetcher->counts->unchanged++;
	else
		take(fetcher, &text, http_wanted(http));
}

/* Between half and one and a half times the interval, but not before the server wants it. */
static int pause_ms(const struct fetcher *fetcher, const struct http *http)
{
	const uint64_t asked_ns = http_retry_after_s(http) * NSEC_PER_SEC;
	const uint64_t day_ns = 86400 * NSEC_PER_SEC;
	uint64_t wait_ns = fetcher->every_ns / 2;
	uint64_t chance;

	if (getrandom(&chance, sizeof(chance), 0) == sizeof(chance))
		wait_ns += chance % fetcher->every_ns;
	if (asked_ns > wait_ns)
		wait_ns = asked_ns;
	return (int)((wait_ns < day_ns ? wait_ns : day_ns) / NSEC_PER_MSEC);
}

static int work(void *arg)
{
	struct fetcher *fetcher = arg;
	const struct http_opts opts = {
		.timeout_ms = TIMEOUT_MS, .is_cancelled = is_cancelled, .arg = fetcher};
	struct http *http;
	int err;

	buf_init(&fetcher->shown, BUF_NO_MAX);
	http_url_add_hidden(&fetcher->shown, fetcher->url);
	confine_reader(true);
	err = http_open(&opts, &http);
	if (err) {
		log_error("policy '%s': %s", buf_cstr(&fetcher->shown),
			  err == -ENOSYS ? http_missing() : strerror(-err));
		return err;
	}
	do
		ask(fetcher, http);
	while (!has_ended(fetcher, pause_ms(fetcher, http)));
	http_close(http);
	buf_deinit(&fetcher->shown);
	return 0;
}

/* --- The agent's side --- */

static _Noreturn void run(const struct agent_opts *opts, struct policy_counts *counts, int end_fd)
{
	struct fetcher fetcher = {
		.url = opts->policy_path,
		.path = agent_opts_policy_file(opts),
		.every_ns = opts->policy_every_ns,
		.counts = counts,
		.end_fd = end_fd,
	};

	keeper_run(&(const struct keeper){
		.work = work,
		.has_ended = has_ended,
		.arg = &fetcher,
		.restarts = &counts->restarts,
	});
}

int policy_fetcher_start(const struct agent_opts *opts, const int *others, size_t other_cnt,
			 struct policy_fetcher *out)
{
	int fds[2];

	*out = (struct policy_fetcher){.fd = -1};
	if (!agent_opts_policy_is_url(opts))
		return 0;
	out->counts = mmap(NULL, sizeof(*out->counts), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out->counts == MAP_FAILED) {
		out->counts = NULL;
		return -errno;
	}
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	out->fd = fds[1];
	out->pid = fork();
	if (!out->pid) {
		close(fds[1]);
		for (size_t i = 0; i < other_cnt; i++)
			if (others[i] >= 0)
				close(others[i]);
		run(opts, out->counts, fds[0]);
	}
	close(fds[0]);
	return out->pid < 0 ? -EAGAIN : 0;
}

void policy_fetcher_stop(struct policy_fetcher *fetcher)
{
	if (!fetcher->counts)
		return;
	if (fetcher->fd >= 0)
		close(fetcher->fd);
	if (fetcher->pid > 0)
		while (waitpid(fetcher->pid, NULL, 0) < 0 && errno == EINTR)
			;
	munmap(fetcher->counts, sizeof(*fetcher->counts));
	*fetcher = (struct policy_fetcher){.fd = -1};
}
