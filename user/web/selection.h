/* SPDX-License-Identifier: Apache-2.0 */
/* What of the store a request means: a range of time, a kind, labels. */
#ifndef BPFPROF_WEB_SELECTION_H
#define BPFPROF_WEB_SELECTION_H

#include "store/key_list.h"
#include "store/match_list.h"
#include "web/site.h"

enum { WEB_KEYS_MAX = 16 };

struct web_selection {
	struct store_query query; /* points into what follows, and into the request */
	struct match_list where;
	struct key_list by;
};

/*
 * Take the moments @from and @to (names of parameters; without one: an hour before, and now), and
 * kind=, select=key=glob,key=glob, by=key,key of @request. 0, or -EINVAL, -ENOMEM: @reply says
 * why. Release with web_selection_deinit() in either case.
 */
int web_selection_init(struct web_selection *selection, const struct web_request *request,
		       const char *from, const char *to, struct web_reply *reply);
void web_selection_deinit(struct web_selection *selection);

/*
 * Read what @selection means; its ledger is the profile's. @out is initialised on success. 0, or
 * negative errno: @reply says why.
 */
int web_selection_read(const struct web_selection *selection, struct web_site *site,
		       struct profile *out, struct web_reply *reply);

/* The calls alone of the value that is called @value (NULL: the default), without a ledger, from a
 * store that has them merged (store_source_calls()). Negative errno: web_selection_read() does it,
 * or says why. */
int web_selection_read_calls(const struct web_selection *selection, struct web_site *site,
			     const char *value, struct profile_calls *out);

/* A number between @min and @max that parameter @name gives, @usual where it is not there. 0, or
 * -EINVAL: @reply says why. */
int web_number_of(const struct web_request *request, const char *name, uint64_t min, uint64_t max,
		  uint64_t usual, struct web_reply *reply, uint64_t *out);

/* What the error @err of @store means to a client. */
void web_reply_fail_store(struct web_reply *reply, const struct store_source *store,
			  const char *kind, int err);

#endif
