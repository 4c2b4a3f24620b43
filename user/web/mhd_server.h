/* SPDX-License-Identifier: Apache-2.0 */
/* The server's inside: what libmicrohttpd calls, and what it needs. Not for others; the outside is
 * web.h. */
#ifndef BPFPROF_WEB_MHD_SERVER_H
#define BPFPROF_WEB_MHD_SERVER_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "base/threads.h"
#include "web/clients.h"
#include "web/lanes.h"
#include "web/listen.h"
#include "web/secrets.h"
#include "web/site.h"
#include "web/stream.h"

enum { REPLIES_BYTES_MAX = 256 << 20 /* of all that wait to be sent */ };

struct web_server {
	struct MHD_Daemon *daemon;
	struct web_listener listener;
	const struct web_host *host; /* borrowed; may be NULL */
	const struct web_service *service; /* borrowed; may be NULL */
	struct web_secrets secrets;
	struct clients clients;
	bool has_clients; /* they are set up */
	struct lane stores, captures;
	struct threads threads; /* owned: the daemon's, the lanes' and that of the clients */
	struct web_site quick; /* for what needs no store: several threads read it */
	char *store_url; /* owned */
	char *address; /* owned */
	char *policies[WEB_POLICY_CNT]; /* owned: Content-Security-Policy, by enum web_policy */
	struct stream_room room; /* of all replies that wait to be sent */
	atomic_size_t body_bytes; /* of requests, as their heads say it */
};

/* The callbacks of a request's life; @server is a struct web_server. */
void *mhd_on_target(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result mhd_on_request(void *server, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_len, void **exchange);
void mhd_on_completed(void *server, struct MHD_Connection *connection, void **exchange,
		      enum MHD_RequestTerminationCode code);
void mhd_on_connection(void *server, struct MHD_Connection *connection, void **client,
		       enum MHD_ConnectionNotificationCode code);

/* What a lane does with a request. */
void mhd_work(struct lane_job *job, struct web_site *site);

#endif
