/* SPDX-License-Identifier: Apache-2.0 */
/* Service and version of a process: see service.h. */
#include "agent/service.h"

#include <string.h>

#include "agent/label_text.h"
#include "base/parse.h"
#include "base/reader.h"

const char *environ_find(const char *environ, size_t len, const char *name, size_t *len_out)
{
	size_t name_len = strlen(name), word_len;
	struct reader rd;
	const char *word;

	reader_init(&rd, environ, len);
	while ((word = reader_until(&rd, '\0', &word_len))) {
		if (word_len <= name_len || memcmp(word, name, name_len) || word[name_len] != '=')
			continue;
		*len_out = word_len - name_len - 1;
		return word + name_len + 1;
	}
	*len_out = 0;
	return NULL;
}

/* @text without its %XX, at most as much as @out has room for; how many bytes. */
static size_t percent_decode(const char *text, size_t len, char *out, size_t size)
{
	size_t to = 0;

	for (size_t i = 0; i < len && to < size; i++) {
		out[to++] = text[i];
		if (text[i] != '%' || i + 2 >= len)
			continue;
		if (digit_value(text[i + 1]) >= 16 || digit_value(text[i + 2]) >= 16)
			continue;
		out[to - 1] = (char)(digit_value(text[i + 1]) << 4 | digit_value(text[i + 2]));
		i += 2;
	}
	return to;
}

static void trim(const char **str, size_t *len)
{
	for (; *len && **str == ' '; (*str)++)
		(*len)--;
	while (*len && (*str)[*len - 1] == ' ')
		(*len)--;
}

bool resource_attribute(const char *text, size_t len, const char *key, char *out, size_t size)
{
	struct reader rd;
	const char *pair;
	size_t pair_len;

	reader_init(&rd, text, len);
	while ((pair = reader_until(&rd, ',', &pair_len))) {
		const char *equals = memchr(pair, '=', pair_len), *value;
		char decoded[4 * SERVICE_NAME_MAX];
		size_t key_len, value_len;

		if (!equals)
			continue;
		value = equals + 1;
		key_len = (size_t)(equals - pair);
		value_len = pair_len - key_len - 1;
		trim(&pair, &key_len);
		trim(&value, &value_len);
		if (key_len != strlen(key) || memcmp(pair, key, key_len) || !value_len)
			continue;
		value_len = percent_decode(value, value_len, decoded, sizeof(decoded));
		label_copy(out, size, decoded, value_len);
		return true;
	}
	return false;
}

/* "nginx" of nginx.service. A user's manager and sessions hold many programs and are none. */
static bool take_unit(const char *unit, char *out, size_t size)
{
	const char *end = strrchr(unit, '.');

	if (!end || end == unit || strcmp(end, ".service") || !strncmp(unit, "user@", 5))
		return false;
	label_copy(out, size, unit, (size_t)(end - unit));
	return true;
}

static bool take_exe(const char *exe, char *out, size_t size)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(exe, '/');
	const char *base = slash ? slash + 1 : exe;
	size_t len = strlen(base);

	if (len > strlen(deleted) && !strcmp(base + len - strlen(deleted), deleted))
		len -= strlen(deleted);
	label_copy(out, size, base, len);
	return len;
}

static void choose_name(const struct service_facts *facts, const char *attributes, size_t len,
			char *out)
{
	size_t name_len;
	const char *name =
		environ_find(facts->environ, facts->environ_len, "OTEL_SERVICE_NAME", &name_len);

	if (name && name_len)
		label_copy(out, SERVICE_NAME_MAX, name, name_len);
	else if (attributes &&
		 resource_attribute(attributes, len, "service.name", out, SERVICE_NAME_MAX))
		return;
	else if (facts->pod_name[0])
		label_copy(out, SERVICE_NAME_MAX, facts->pod_name, strlen(facts->pod_name));
	else if (take_unit(facts->unit, out, SERVICE_NAME_MAX) ||
		 take_exe(facts->exe, out, SERVICE_NAME_MAX))
		return;
	else
		label_copy(out, SERVICE_NAME_MAX, facts->comm,
			   facts->is_kernel ? strcspn(facts->comm, "/") : strlen(facts->comm));
}

void service_choose(const struct service_facts *facts, struct service *out)
{
	size_t len;
	const char *attributes =
		environ_find(facts->environ, facts->environ_len, "OTEL_RESOURCE_ATTRIBUTES", &len);

	*out = (struct service){.name = ""};
	choose_name(facts, attributes, len, out->name);
	if (!attributes || !resource_attribute(attributes, len, "service.version", out->version,
					       sizeof(out->version)))
		label_copy(out->version, sizeof(out->version), facts->build_id,
			   strlen(facts->build_id));
}
