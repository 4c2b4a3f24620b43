/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what processes say of themselves: /proc/PID/cgroup, and their environment. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup_path.h"
#include "agent/service.h"
#include "encode/text.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == size || !text_is_utf8(text, len))
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20)
			abort();
}

static void check_names(const char *path, size_t len)
{
	struct cgroup_names names;
	size_t digits;

	cgroup_path_parse(path, len, &names);
	check_text(names.container, sizeof(names.container));
	check_text(names.pod, sizeof(names.pod));
	check_text(names.unit, sizeof(names.unit));
	digits = strspn(names.container, "0123456789abcdef");
	if (names.container[0] && digits != CGROUP_CONTAINER_DIGITS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = image_copy(data, len);
	size_t path_len;
	const char *path = cgroup_file_pick(text, len, &path_len);
	const struct service_facts facts = {
		.environ = text,
		.environ_len = len,
		.pod_name = "",
		.unit = "",
		.exe = "",
		.comm = "",
		.build_id = "",
	};
	struct service service;

	if (path && (path < text || path + path_len > text + len))
		abort();
	if (path)
		check_names(path, path_len);
	check_names(text, len);
	service_choose(&facts, &service);
	check_text(service.name, sizeof(service.name));
	check_text(service.version, sizeof(service.version));
	free(text);
	return 0;
}
