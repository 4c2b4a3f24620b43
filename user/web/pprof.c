/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints of Go's net/http/pprof, of a whole machine: what `go tool pprof`, and whatever else
 * scrapes Go programs, expects there. With seconds= they record now; with from= or to= the profile
 * comes from the store.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "encode/decode.h"
#include "web/render.h"
#include "web/routes.h"
#include "web/selection.h"

enum { SECONDS_USUAL = 30, CMDLINE_BYTES_MAX = 64 << 10 };

/* Some endpoints by name, what a browser is shown. */
static const struct endpoint {
	const char *name, *help;
} endpoints[] = {
	{"profile", "where CPU time goes (seconds=30, hz=, pid=, comm=, cgroup=)"},
	{"block", "where threads wait, and for how long (seconds=30, pid=, comm=, cgroup=)"},
	{"mutex", "where threads wait for a futex: mutexes, conditions, channels"},
	{"allocs", "what a process allocates (pid=, seconds=30)"},
	{"heap", "what of it is still there at the end (pid=, seconds=30)"},
	{"cmdline", "the command line of the program that answers"},
	{"symbol", "names of addresses: profiles have theirs already"},
};

static void add_html_index(struct buf *out)
{
	buf_add_str(out,
		    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		    "<title>/debug/pprof/</title></head><body>\n<h1>/debug/pprof/</h1>\n<ul>\n");
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
		buf_printf(out, "<li><a href=\"/debug/pprof/%s\">%s</a>: %s</li>\n",
			   endpoints[i].name, endpoints[i].name, endpoints[i].help);
	buf_add_str(out,
		    "</ul>\n<p>format=pprof, html, svg, folded, speedscope, json, pgo or autofdo. "
		    "From the store: "
		    "from= and to= (-15m, now, 2026-01-31T12:00:00Z), kind=, select=key=glob, by=; "
		    "before_from= and before_to= for what changed.</p>\n</body></html>\n");
}

void web_answer_pprof_index(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply)
{
	if (web_accept_names(request->accept, "text/html")) {
		reply->type = "text/html; charset=utf-8";
		add_html_index(&reply->body);
		return;
	}
	buf_add_str(&reply->body, "/debug/pprof/\n\n");
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
		buf_printf(&reply->body, "%-8s %s\n", endpoints[i].name, endpoints[i].help);
}

static int take_seconds(const struct web_request *request, struct web_reply *reply, uint64_t *out)
{
	const char *text = web_target_get(request->target, "seconds");
	uint64_t duration_ns = SECONDS_USUAL * NSEC_PER_SEC;
	bool is_number =
		!text || (digit_value(*text) < 10 && strspn(text, "0123456789.") == strlen(text) &&
			  !parse_duration_ns(text, &duration_ns));

	if (!is_number || duration_ns < NSEC_PER_SEC / 10 ||
	    duration_ns > WEB_CAPTURE_SECONDS_MAX * NSEC_PER_SEC) {
		web_reply_fail(reply, 400, "seconds: '%s' is no number between 0.1 and %d", text,
			       WEB_CAPTURE_SECONDS_MAX);
		return -EINVAL;
	}
	*out = duration_ns;
	return 0;
}

static int take_capture(const struct web_request *request, struct web_capture *capture,
			struct web_reply *reply)
{
	uint64_t hz, pid;
	int err = take_seconds(request, reply, &capture->duration_ns);

	if (!err)
		err = web_number_of(request, "hz", 1, WEB_CAPTURE_HZ_MAX, 0, reply, &hz);
	if (!err)
		err = web_number_of(request, "pid", 1, INT32_MAX, 0, reply, &pid);
	if (err)
		return err;
	capture->hz = (uint32_t)hz;
	capture->pid = (uint32_t)pid;
	capture->comm = web_target_get(request->target, "comm");
	capture->cgroup = web_target_get(request->target, "cgroup");
	capture->event = web_target_get(request->target, "event");
	capture->client_fd = request->client_fd;
	return 0;
}

static void fail_capture(struct web_reply *reply, const struct buf *why, int err)
{
	int status = err == -EINVAL ? 400 : err == -EBUSY ? 503 : err == -ETIMEDOUT ? 504 : 500;

	web_reply_fail(reply, status, "%s", buf_error_text(why, err));
}

/* pprof of what is recorded now, into @out. 0, or negative errno: @reply says why. */
static int record(struct web_site *site, const struct web_request *request,
		  enum web_capture_kind kind, struct buf *out, struct web_reply *reply)
{
	struct web_capture capture = {.kind = kind};
	_cleanup_(buf_deinit) struct buf why = {0};
	int err;

	if (!site->host || !site->host->capture) {
		web_reply_fail(reply, 404,
			       "nothing is recorded here, this is a store alone: ask with from=");
		return -ENOENT;
	}
	err = take_capture(request, &capture, reply);
	if (err)
		return err;
	if (kind == WEB_CAPTURE_ALLOCS && !capture.pid) {
		web_reply_fail(reply, 400, "the heap is one process's: say which, with pid=");
		return -EINVAL;
	}
	buf_init(&why, BUF_NO_MAX);
	err = site->host->capture(site->host->arg, &capture, out, &why);
	if (!err)
		err = out->err;
	if (err)
		fail_capture(reply, &why, err);
	return err;
}

/* Is @sample a wait for a futex? */
static bool is_futex(const struct profile *prof, uint32_t sample, void *arg)
{
	const struct profile_label_set *set = &prof->label_sets[prof->samples[sample].label_set];

	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		if (!strcmp(profile_str(prof, label->key), "cause"))
			return !strcmp(profile_str(prof, label->str), "futex");
	}
	return false;
}

/* What changes a recording before it is shown. */
struct view {
	const char *value; /* is shown first; NULL: as recorded */
	bool only_futex;
};

/* @prof as @view has it. 0 or negative errno. */
static int apply(struct profile *prof, const struct view *view)
{
	struct profile kept;
	int err;

	if (view->only_futex) {
		err = profile_init(&kept);
		if (err)
			return err;
		err = profile_filter(prof, is_futex, NULL, &kept);
		if (err) {
			profile_deinit(&kept);
			return err;
		}
		profile_deinit(prof);
		*prof = kept;
	}
	if (view->value && profile_find_value(prof, view->value) != (uint32_t)PROFILE_NONE)
		prof->default_value = profile_find_value(prof, view->value);
	return prof->err;
}

/* Show the pprof bytes @data. */
static void show(struct buf *data, const struct view *view, const struct web_format *format,
		 const struct web_request *request, struct web_reply *reply)
{
	bool is_as_recorded = !view->value && !view->only_futex;
	_cleanup_(profile_deinit) struct profile prof = {0};
	_cleanup_(buf_deinit) struct buf why = {0};
	int err;

	if (is_as_recorded && !strcmp(format->name, "pprof")) {
		web_reply_format(reply, format);
		buf_add(&reply->body, data->data, data->len);
		return;
	}
	err = profile_init(&prof);
	if (!err)
		err = profile_decode(data->data, data->len, &prof, &why);
	if (!err)
		err = apply(&prof, view);
	if (err)
		web_reply_fail(reply, 500, "what was recorded cannot be read: %s",
			       buf_error_text(&why, err));
	else
		web_render(&prof, format, request, reply);
	web_render_failure(request, reply);
}

static void answer(struct web_site *site, const struct web_request *request,
		   enum web_capture_kind kind, const struct view *view, struct web_reply *reply)
{
	const struct web_format *format;
	_cleanup_(buf_deinit) struct buf data = {0};

	if (web_target_get(request->target, "from") || web_target_get(request->target, "to")) {
		web_answer_profile(site, request, reply);
		return;
	}
	format = web_format_of(request, "pprof", reply);
	if (!format)
		return;
	buf_init(&data, WEB_REPLY_BYTES_MAX);
	if (!record(site, request, kind, &data, reply))
		show(&data, view, format, request, reply);
}

void web_answer_pprof_cpu(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply)
{
	answer(site, request, WEB_CAPTURE_CPU, &(struct view){0}, reply);
}

void web_answer_pprof_allocs(struct web_site *site, const struct web_request *request,
			     struct web_reply *reply)
{
	answer(site, request, WEB_CAPTURE_ALLOCS, &(struct view){.value = "alloc_space"}, reply);
}

void web_answer_pprof_heap(struct web_site *site, const struct web_request *request,
			   struct web_reply *reply)
{
	answer(site, request, WEB_CAPTURE_ALLOCS, &(struct view){.value = "inuse_space"}, reply);
}

void web_answer_pprof_block(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply)
{
	answer(site, request, WEB_CAPTURE_OFF_CPU, &(struct view){0}, reply);
}

void web_answer_pprof_mutex(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply)
{
	answer(site, request, WEB_CAPTURE_OFF_CPU, &(struct view){.only_futex = true}, reply);
}

/*
 * Profiles leave here with their names: what has none has none on this machine, and an address
 * alone does not say in which file it is. So no address has a name, which is what the protocol's
 * missing line means; "num_symbols: 1" says that the question is understood.
 */
void web_answer_pprof_symbol(struct web_site *site, const struct web_request *request,
			     struct web_reply *reply)
{
	buf_add_str(&reply->body, "num_symbols: 1\n");
}

void web_answer_pprof_cmdline(struct web_site *site, const struct web_request *request,
			      struct web_reply *reply)
{
	_cleanup_(buf_deinit) struct buf line;
	int err;

	buf_init(&line, CMDLINE_BYTES_MAX);
	err = fs_read_file("/proc/self/cmdline", &line);
	if (err)
		web_reply_fail(reply, 500, "/proc/self/cmdline: %s", strerror(-err));
	else /* arguments with NULs between them, none behind the last */
		buf_add(&reply->body, line.data, line.len ? line.len - 1 : 0);
}
