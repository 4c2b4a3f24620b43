/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in the format that a client wants. */
#include "web/render.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/diff_page.h"

static const struct web_format formats[] = {
	{"pprof", "application/octet-stream", "profile", WEB_POLICY_DATA},
	{"html", "text/html; charset=utf-8", NULL, WEB_POLICY_REPORT},
	{"svg", "image/svg+xml", NULL, WEB_POLICY_PICTURE},
	{"folded", "text/plain; charset=utf-8", NULL, WEB_POLICY_DATA},
	{"speedscope", "application/json", "profile.speedscope.json", WEB_POLICY_DATA},
	{"json", "application/json", NULL, WEB_POLICY_DATA},
	{"pgo", "application/octet-stream", "default.pgo", WEB_POLICY_DATA},
	{"autofdo", "text/plain; charset=utf-8", "profile.afdo.txt", WEB_POLICY_DATA},
};

static const struct web_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct web_format *web_format_of(const struct web_request *request, const char *usual,
				       struct web_reply *reply)
{
	const char *asked = web_target_get(request->target, "format");
	const struct web_format *format;

	if (!asked)
		return find_format(web_accept_names(request->accept, "text/html") ? "html" : usual);
	format = find_format(asked);
	if (!format)
		web_reply_fail(
			reply, 400,
			"format '%s' is none of pprof, html, svg, folded, speedscope, json, pgo, "
			"autofdo",
			asked);
	return format;
}

void web_reply_format(struct web_reply *reply, const struct web_format *format)
{
	reply->type = format->type;
	reply->policy = format->policy;
	snprintf(reply->disposition, sizeof(reply->disposition), "%s",
		 format->file ? format->file : "");
}

static const struct encoder *encoder_of(const struct web_format *format)
{
	const struct encoder *const *encoder = encoder_list();

	while (*encoder && strcmp((*encoder)->name, format->name))
		encoder++;
	assert(*encoder);
	return *encoder;
}

/* The label keys that make the first frame, as by= says; NULL: the encoders' own default. */
static const char *first_frame(const struct web_request *request)
{
	const char *by = web_target_get(request->target, "by");

	if (by && !strcmp(by, "none"))
		return "";
	return by && *by ? by : NULL;
}

static void fail_encoding(struct web_reply *reply, const struct web_format *format, int err)
{
	if (err == -EFBIG)
		web_reply_fail(reply, 413,
			       "the %s would be larger than %d MiB: ask for a shorter time or less",
			       format->name, WEB_REPLY_BYTES_MAX >> 20);
	else if (err == -ENOBUFS)
		web_reply_fail(reply, 503, "too many large replies are under way");
	else if (err == -ENODATA)
		web_reply_fail(reply, 400, "there are no samples of the CPU, which %s is made of",
			       format->name);
	else if (err)
		web_reply_fail(reply, 500, "cannot be encoded as %s: %s", format->name,
			       strerror(-err));
}

/* The first pieces of a report that is shown: its head, and its first picture. Which a browser on
 * the same two CPUs paints 20 ms earlier (in 71 for 91) when what follows neither is encoded nor
 * comes meanwhile; the whole report is there 30 ms later (in 286 for 254). */
enum { PICTURE_PIECE = 2, PAINT_MS = 45 };

/* Pieces of an encoding become pieces of the reply. */
struct pieces {
	struct encoder_sink sink;
	const struct web_request *request;
	struct web_reply *reply; /* whose body is what is encoded into */
};

static int send_piece(void *pieces_ptr, struct buf *out)
{
	static const struct timespec painting = {.tv_nsec = PAINT_MS * NSEC_PER_MSEC};
	const struct pieces *pieces = pieces_ptr;
	const struct web_sender *sender = pieces->request->sender;
	int err = sender->send(sender->arg, pieces->reply);

	if (!err && pieces->request->is_shown && pieces->reply->piece_cnt == PICTURE_PIECE)
		nanosleep(&painting, NULL);
	return err;
}

/* How a report goes to who asked for it; @pieces is borrowed. */
static struct encoder_opts way_of(const struct web_request *request, struct web_reply *reply,
				  struct pieces *pieces)
{
	*pieces = (struct pieces){
		.sink = {WEB_REPLY_BYTES_MAX, send_piece, pieces},
		.request = request,
		.reply = reply,
	};
	return (struct encoder_opts){
		.value = PROFILE_NONE,
		.by = first_frame(request),
		.is_near = request->is_near,
		.has_head = reply->piece_cnt > 0,
		.has_first = reply->piece_cnt > 1,
		.sink = request->sender ? &pieces->sink : NULL,
	};
}

int web_render_begin(const struct web_format *format, const struct web_request *request,
		     struct web_reply *reply)
{
	int err;

	if (!request->sender || !request->is_shown || format->policy != WEB_POLICY_REPORT)
		return 0;
	web_reply_format(reply, format);
	html_add_head(&reply->body);
	err = request->sender->send(request->sender->arg, reply);
	fail_encoding(reply, format, err);
	return err;
}

int web_render_first(const struct profile_calls *calls, const struct web_format *format,
		     const struct web_request *request, struct web_reply *reply)
{
	const struct encoder_opts how = {.value = calls->value, .by = first_frame(request)};
	int err = html_add_first_calls(calls, &how, &reply->body);

	if (!err)
		err = request->sender->send(request->sender->arg, reply);
	fail_encoding(reply, format, err);
	return err;
}

void web_render_failure(const struct web_request *request, struct web_reply *reply)
{
	_cleanup_(buf_deinit) struct buf why = {0};

	if (reply->status < 400 || !reply->piece_cnt)
		return;
	why = reply->body;
	buf_init(&reply->body, WEB_REPLY_BYTES_MAX);
	if (reply->piece_cnt > 1)
		html_add_break(&reply->body, buf_cstr(&why));
	else
		html_add_failure(&reply->body, buf_cstr(&why));
	/* Of a reply that ends unfinished a browser leaves out what it has not read by then. */
	if (request->is_shown)
		reply->status = 200;
}

void web_render(const struct profile *prof, const struct web_format *format,
		const struct web_request *request, struct web_reply *reply)
{
	const char *value = web_target_get(request->target, "value");
	struct pieces pieces;
	struct encoder_opts how = way_of(request, reply, &pieces);
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	if (value) {
		how.value = profile_find_value(prof, value);
		if (how.value == (uint32_t)PROFILE_NONE) {
			web_reply_fail(reply, 400, "the profile has no value '%s'", value);
			return;
		}
	}
	if (profile_format_ledger(prof, &line))
		how.ledger_line = buf_cstr(&line);
	web_reply_format(reply, format);
	fail_encoding(reply, format, encoder_of(format)->encode(prof, &how, &reply->body));
}

static int encode_difference(const struct diff_report *report, const struct web_format *format,
			     const struct encoder_opts *way, struct buf *out)
{
	struct encoder_opts how = {.value = DIFF_AFTER, .by = report->diff->by};

	if (!strcmp(format->name, "html"))
		return diff_page_html(report, DIFF_WIDTH_AFTER, NULL, way, out);
	if (!strcmp(format->name, "svg"))
		return diff_page_svg(report, DIFF_WIDTH_AFTER, NULL, out);
	if (!strcmp(format->name, "folded"))
		return diff_page_folded(report, out);
	if (!strcmp(format->name, "json")) {
		diff_report_json(report, out);
		return out->err;
	}
	return encoder_of(format)->encode(&report->diff->joined, &how, out);
}

static int join(const struct web_side sides[DIFF_SIDE_CNT], const char *value, struct diff *diff,
		struct buf *why)
{
	const char *names[DIFF_SIDE_CNT] = {sides[DIFF_BEFORE].name, sides[DIFF_AFTER].name};
	uint32_t values[DIFF_SIDE_CNT];
	int err = diff_pick_value(sides[DIFF_BEFORE].prof, sides[DIFF_AFTER].prof, value, values,
				  why);

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER && !err; side++)
		err = diff_add(diff, side, sides[side].prof, values[side]);
	if (!err)
		err = diff_finish(diff);
	return err ? err : diff_note_names(diff, names);
}

static int show(const struct web_side sides[DIFF_SIDE_CNT], const struct diff *diff,
		const struct web_format *format, const struct encoder_opts *way, struct buf *out)
{
	_cleanup_(diff_report_deinit) struct diff_report report;
	int err = diff_report_init(&report, diff, DIFF_BY_CHANGE);

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER && !err; side++) {
		report.names[side] = sides[side].name;
		err = diff_report_facts(&report, side, sides[side].prof);
	}
	if (!err)
		err = diff_report_conclude(&report);
	return err ? err : encode_difference(&report, format, way, out);
}

void web_render_difference(const struct web_side sides[DIFF_SIDE_CNT],
			   const struct web_format *format, const struct web_request *request,
			   struct web_reply *reply)
{
	bool normalize = web_target_get(request->target, "normalize") != NULL;
	struct pieces pieces;
	struct encoder_opts way = way_of(request, reply, &pieces);
	_cleanup_(diff_deinit) struct diff diff;
	_cleanup_(buf_deinit) struct buf why;
	int err = diff_init(&diff, first_frame(request), normalize);

	buf_init(&why, BUF_NO_MAX);
	web_reply_format(reply, format);
	if (!err)
		err = join(sides, web_target_get(request->target, "value"), &diff, &why);
	if (!err)
		err = show(sides, &diff, format, &way, &reply->body);
	if (why.len)
		web_reply_fail(reply, 400, "%s", buf_cstr(&why));
	else
		fail_encoding(reply, format, err);
}
