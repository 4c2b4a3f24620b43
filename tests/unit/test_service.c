/* SPDX-License-Identifier: Apache-2.0 */
/* What a process' service and version are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/service.h"

static struct service choose(const char *environ, size_t len, const char *unit, const char *exe)
{
	const struct service_facts facts = {
		.environ = environ,
		.environ_len = len,
		.pod_name = "",
		.unit = unit,
		.exe = exe,
		.comm = "worker",
		.build_id = "abcd",
	};
	struct service out;

	service_choose(&facts, &out);
	return out;
}

#define ENV(text) text, sizeof(text)

static void test_order(void **state)
{
	struct service out = choose(ENV("A=1\0OTEL_SERVICE_NAME=shop\0OTEL_RESOURCE_ATTRIBUTES="
					"service.name=no,service.version=1.2"),
				    "x.service", "/usr/bin/python3");

	assert_string_equal(out.name, "shop");
	assert_string_equal(out.version, "1.2");
	out = choose(ENV("OTEL_RESOURCE_ATTRIBUTES=a=b, service.name = cart%20one ,c=d"),
		     "x.service", "/usr/bin/python3");
	assert_string_equal(out.name, "cart one");
	assert_string_equal(out.version, "abcd");
	out = choose(ENV("OTEL_SERVICE_NAME="), "nginx.service", "/usr/sbin/nginx");
	assert_string_equal(out.name, "nginx");
	out = choose("", 0, "session-3.scope", "/opt/app/bin/shop (deleted)");
	assert_string_equal(out.name, "shop");
	out = choose("", 0, "user@1000.service", "/usr/bin/bash");
	assert_string_equal(out.name, "bash");
	out = choose("", 0, "", "");
	assert_string_equal(out.name, "worker");
}

static void test_pod_before_unit(void **state)
{
	const struct service_facts facts = {.environ = "",
					    .pod_name = "cart",
					    .unit = "a.service",
					    .exe = "",
					    .comm = "",
					    .build_id = ""};
	struct service out;

	service_choose(&facts, &out);
	assert_string_equal(out.name, "cart");
	assert_string_equal(out.version, "");
}

static void test_kernel_threads_by_kind(void **state)
{
	struct service_facts facts = {.environ = "",
				      .pod_name = "",
				      .unit = "",
				      .exe = "",
				      .comm = "kworker/0:1-ev",
				      .build_id = "",
				      .is_kernel = true};
	struct service out;

	service_choose(&facts, &out);
	assert_string_equal(out.name, "kworker");
	facts.is_kernel = false;
	service_choose(&facts, &out);
	assert_string_equal(out.name, "kworker/0:1-ev");
}

static void test_hostile_environment(void **state)
{
	char text[1000] = "OTEL_SERVICE_NAME=";
	size_t len;

	/* Only at the beginning of an assignment, and with its whole name. */
	assert_null(environ_find("XOTEL_SERVICE_NAME=a", 20, "OTEL_SERVICE_NAME", &len));
	assert_null(environ_find("OTEL_SERVICE_NAME", 17, "OTEL_SERVICE_NAME", &len));
	memset(text + 18, 'n', sizeof(text) - 18);
	assert_int_equal(strlen(choose(text, sizeof(text), "", "").name), SERVICE_NAME_MAX - 1);
	assert_string_equal(choose(ENV("OTEL_SERVICE_NAME=a\nb\x1b[31m"), "", "").name, "a?b?[31m");
	assert_string_equal(choose(ENV("OTEL_RESOURCE_ATTRIBUTES=service.name=%"), "", "").name,
			    "%");
	assert_string_equal(choose(ENV("OTEL_RESOURCE_ATTRIBUTES=service.name=%4"), "", "").name,
			    "%4");
	assert_string_equal(choose(ENV("OTEL_RESOURCE_ATTRIBUTES=service.name=%00x"), "", "").name,
			    "?x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_pod_before_unit),
		cmocka_unit_test(test_kernel_threads_by_kind),
		cmocka_unit_test(test_hostile_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
