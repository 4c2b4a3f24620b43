/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process' service and version are called: what its environment says (OpenTelemetry's
 * variables), else the systemd unit, else the executable. Environments are hostile.
 */
#ifndef BPFPROF_AGENT_SERVICE_H
#define BPFPROF_AGENT_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

enum { SERVICE_NAME_MAX = 64 };

/* What is known of a process; strings borrowed, "" where it is not. */
struct service_facts {
	const char *environ; /* /proc/PID/environ: NUL-terminated assignments */
	size_t environ_len;
	const char *pod_name; /* as an orchestrator labels it */
	const char *unit; /* "nginx.service" */
	const char *exe; /* path of the executable, maybe with " (deleted)" */
	const char *comm; /* the thread's name */
	const char *build_id; /* of the executable, hexadecimal */
	bool is_kernel; /* a kernel thread: "kworker/0:1" is called kworker */
};

struct service {
	char name[SERVICE_NAME_MAX];
	char version[SERVICE_NAME_MAX]; /* "": not known */
};

/* The first that is there of $OTEL_SERVICE_NAME, service.name in $OTEL_RESOURCE_ATTRIBUTES, the
 * pod, the unit, the executable's base name, the thread's name; the version likewise of
 * service.version and the build-id. */
void service_choose(const struct service_facts *facts, struct service *out);

/* The value of @name in an environment, *@len_out bytes, borrowed; NULL: it has none. */
const char *environ_find(const char *environ, size_t len, const char *name, size_t *len_out);

/*
 * The value of @key in what $OTEL_RESOURCE_ATTRIBUTES holds, "k=v,k=v" with %XX in values, into
 * @out of @size as label_copy() does; false: it has none.
 */
bool resource_attribute(const char *text, size_t len, const char *key, char *out, size_t size);

#endif
