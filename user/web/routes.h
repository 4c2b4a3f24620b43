/* SPDX-License-Identifier: Apache-2.0 */
/* The answers behind the table of routes; all are web_route.answer, see site.h. */
#ifndef BPFPROF_WEB_ROUTES_H
#define BPFPROF_WEB_ROUTES_H

#include "web/site.h"

/* Files of the page, metrics, health: pages.c */
bool web_page_has(const char *path); /* a file of the page */
void web_answer_page(struct web_site *site, const struct web_request *request,
		     struct web_reply *reply);
void web_answer_metrics(struct web_site *site, const struct web_request *request,
			struct web_reply *reply);
void web_answer_health(struct web_site *site, const struct web_request *request,
		       struct web_reply *reply);

/* /debug/pprof/: pprof.c */
void web_answer_pprof_index(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply);
void web_answer_pprof_cpu(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply);
void web_answer_pprof_allocs(struct web_site *site, const struct web_request *request,
			     struct web_reply *reply);
void web_answer_pprof_heap(struct web_site *site, const struct web_request *request,
			   struct web_reply *reply);
void web_answer_pprof_block(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply);
void web_answer_pprof_mutex(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply);
void web_answer_pprof_symbol(struct web_site *site, const struct web_request *request,
			     struct web_reply *reply);
void web_answer_pprof_cmdline(struct web_site *site, const struct web_request *request,
			      struct web_reply *reply);

/* /api/: api.c, api_profile.c */
void web_answer_info(struct web_site *site, const struct web_request *request,
		     struct web_reply *reply);
void web_answer_kinds(struct web_site *site, const struct web_request *request,
		      struct web_reply *reply);
void web_answer_timeline(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply);
void web_answer_labels(struct web_site *site, const struct web_request *request,
		       struct web_reply *reply);
void web_answer_functions(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply);
void web_answer_coverage(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply);
void web_answer_profile(struct web_site *site, const struct web_request *request,
			struct web_reply *reply);

/* /querier.v1.QuerierService/: querier.c, querier_flame.c, querier_series.c */
void querier_answer_profile_types(struct web_site *site, const struct web_request *request,
				  struct web_reply *reply);
void querier_answer_label_names(struct web_site *site, const struct web_request *request,
				struct web_reply *reply);
void querier_answer_label_values(struct web_site *site, const struct web_request *request,
				 struct web_reply *reply);
void querier_answer_series(struct web_site *site, const struct web_request *request,
			   struct web_reply *reply);
void querier_answer_stacktraces(struct web_site *site, const struct web_request *request,
				struct web_reply *reply);
void querier_answer_profile(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply);
void querier_answer_select_series(struct web_site *site, const struct web_request *request,
				  struct web_reply *reply);
void querier_answer_stats(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply);
void querier_answer_diff(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply);

#endif
