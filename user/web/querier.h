/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope's querier API over a store: what Grafana's data source asks. The fields' numbers and
 * names are those of querier/v1/querier.proto and types/v1/types.proto in grafana/pyroscope.
 * Connect's unary calls: POST, JSON or protobuf, gzipped or not.
 *
 *	querier.c         what all calls have in common; types, labels, what there is
 *	querier_types.c   profile types and the labels that are made of them
 *	querier_series.c  Series, SelectSeries
 *	querier_flame.c   SelectMergeStacktraces, SelectMergeProfile, Diff
 *
 * A profile type is a value type of a kind: "process_cpu:cpu:nanoseconds:cpu:nanoseconds" is the
 * value cpu of kind "cpu". Its parts are name, type, unit, and type and unit of the period:
 *
 *	kind      name         period
 *	cpu       process_cpu  cpu:nanoseconds
 *	heap      memory       space:bytes
 *	off-cpu   off_cpu      the kind's own value
 *	others    the kind     the kind's own value
 *
 * '-' is '_' in names, and ':' is in all parts. The label service is service_name.
 */
#ifndef BPFPROF_WEB_QUERIER_H
#define BPFPROF_WEB_QUERIER_H

#include "base/strtab.h"
#include "store/key_list.h"
#include "store/match_list.h"
#include "store/selector.h"
#include "web/message.h"
#include "web/site.h"

/* --- Profile types --- */

enum querier_part {
	QUERIER_NAME,
	QUERIER_TYPE,
	QUERIER_UNIT,
	QUERIER_PERIOD_TYPE,
	QUERIER_PERIOD_UNIT,
	QUERIER_PART_CNT
};

enum { QUERIER_PART_BYTES = 96 };

struct querier_type {
	char id[QUERIER_PART_CNT * QUERIER_PART_BYTES];
	char parts[QUERIER_PART_CNT][QUERIER_PART_BYTES];
	char kind[STORE_NAME_MAX];
	bool is_default; /* the value of the kind that a store adds up by itself */
};

struct querier_types {
	struct querier_type *items; /* owned */
	size_t cnt, cap;
};

/* All types of what was stored in [from, to). 0, or negative errno as store_each_kind(). Release
 * with querier_types_deinit() in either case. */
int querier_types_read(struct store_source *store, uint64_t from_ns, uint64_t to_ns,
		       struct querier_types *types);
void querier_types_deinit(struct querier_types *types);

const struct querier_type *querier_type_find(const struct querier_types *types, const char *id);

/* Is it the form of an id: five parts? */
bool querier_type_is_id(const char *text);

/* The value of @prof that @type is, PROFILE_NONE: it has none. */
uint32_t querier_type_value(const struct querier_type *type, const struct profile *prof);

/* Labels that types have: "__profile_type__" and so on, NULL-terminated. And the value of one of
 * them, NULL: it is none. */
extern const char *const querier_type_labels[];
const char *querier_type_label(const struct querier_type *type, const char *label);

/* What a label is called in the store, and there. Borrowed from @label or static. */
const char *querier_stored_label(const char *label);
const char *querier_shown_label(const char *label);

/* --- Calls --- */

/* What requests ask; each has some of it. Texts are owned, NULL: not given. */
struct querier_request {
	char *type_id, *selector, *name;
	struct message_texts matchers, labels; /* labels: label_names, group_by */
	int64_t start_ms, end_ms;
	int64_t max_nodes, limit; /* 0: not given */
	int64_t format, aggregation; /* enums of the schema */
	int64_t step_ns;
	bool has_stack_selector;
};

struct querier_call {
	struct web_site *site;
	const struct web_request *request;
	struct web_reply *reply;
	struct store_source *store; /* borrowed */
	bool is_json;
	struct message answer;
};

/*
 * Read @request, which has @fields, into @asked (zeroed), and open the store. 0, or negative errno:
 * the reply says why. Release what @asked has with querier_request_deinit() in either case.
 */
int querier_call_read(struct querier_call *call, const struct message_field *fields, void *asked);
void querier_request_deinit(struct querier_request *asked);

/* Begin the answer, and end it. */
void querier_answer_begin(struct querier_call *call);
void querier_answer_end(struct querier_call *call);

/* The reply becomes an error, of the client's or of the store's. @err, for the caller to return. */
int querier_refuse(struct querier_call *call, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int querier_fail(struct querier_call *call, const char *kind, int err);

/* What of the store is asked. */
struct querier_where {
	struct selector selector; /* those of the store's labels, then those of types' labels */
	size_t label_cnt; /* of the former */
	struct store_query query; /* points into it; without a kind */
};

/* The range of @asked and the conditions @selector (NULL: none). A range of 0 is all of time where
 * @is_optional. 0, or negative errno: the reply says why. Release with querier_where_deinit() in
 * either case. */
int querier_where_init(struct querier_where *where, struct querier_call *call,
		       const struct querier_request *asked, const char *selector, bool is_optional);
void querier_where_deinit(struct querier_where *where);

/* Do the conditions on types' labels hold? */
bool querier_where_takes(const struct querier_where *where, const struct querier_type *type);

/* For each kind that @where takes a type of: @fn with one of these, the types of which stand
 * together from there on. A failure of @fn ends it and is returned. */
typedef int querier_kind_fn(void *arg, const struct querier_where *where,
			    const struct querier_types *types, size_t first);
int querier_each_kind(struct querier_call *call, const struct querier_where *where,
		      querier_kind_fn *fn, void *arg);

#endif
