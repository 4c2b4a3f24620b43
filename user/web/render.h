/* SPDX-License-Identifier: Apache-2.0 */
/* A profile, or the difference of two, in the format that a client wants. */
#ifndef BPFPROF_WEB_RENDER_H
#define BPFPROF_WEB_RENDER_H

#include "encode/encoder.h"
#include "web/site.h"

struct web_format {
	const char *name; /* of the parameter, and of the encoder */
	const char *type; /* of the content */
	const char *file; /* its name when it is saved; NULL: it is shown */
	enum web_policy policy;
};

/* The format that @request asks for by format=, else HTML where Accept names it, else @usual. NULL:
 * @reply says that there is no such format. */
const struct web_format *web_format_of(const struct web_request *request, const char *usual,
				       struct web_reply *reply);

/* Tell @reply what it is in @format. */
void web_reply_format(struct web_reply *reply, const struct web_format *format);

/*
 * Send what a report in @format begins with, where that is of use: whoever shows it prepares to do
 * so while it is being made. 0, or negative errno: @reply says why.
 */
int web_render_begin(const struct web_format *format, const struct web_request *request,
		     struct web_reply *reply);

/*
 * Send, behind what web_render_begin() has sent, the first picture of a report whose calls @calls
 * are: it is shown while the rest is being read. 0, or negative errno: @reply says why.
 */
int web_render_first(const struct profile_calls *calls, const struct web_format *format,
		     const struct web_request *request, struct web_reply *reply);

/*
 * Where @reply has failed after pieces of it were sent, what is still to be sent becomes HTML that
 * says why, to who shows it; to others the reply stays failed, and ends unfinished.
 */
void web_render_failure(const struct web_request *request, struct web_reply *reply);

/* Answer with @prof: value= and by= say what is shown. */
void web_render(const struct profile *prof, const struct web_format *format,
		const struct web_request *request, struct web_reply *reply);

/* A side of a difference; borrowed. */
struct web_side {
	const struct profile *prof;
	const char *name;
};

/* Answer with the difference of two profiles. */
void web_render_difference(const struct web_side sides[2], const struct web_format *format,
			   const struct web_request *request, struct web_reply *reply);

#endif
