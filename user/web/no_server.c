/* SPDX-License-Identifier: Apache-2.0 */
/* web.h in a static build, which cannot have libmicrohttpd: its TLS library loads others. */
#include <errno.h>
#include <stddef.h>

#include "base/log.h"
#include "web/web.h"

int web_server_open(const struct web_opts *opts, struct web_server **out)
{
	if (opts->service)
		log_error("web: a static build has no HTTP server: take a build with shared "
			  "libraries");
	else if (opts->is_optional)
		log_info("web: a static build has no HTTP server");
	else
		log_error("web: a static build has no HTTP server (leave --listen out, or take a "
			  "build with shared libraries)");
	return -ENOSYS;
}

int web_server_run(struct web_server *server)
{
	return -ENOSYS;
}

int web_server_start(const struct web_opts *opts, struct web_server **out)
{
	return web_server_open(opts, out);
}

void web_server_stop(struct web_server *server)
{
}

uint64_t web_server_cpu_ns(const struct web_server *server)
{
	return 0;
}

const char *web_server_address(const struct web_server *server)
{
	return NULL;
}
