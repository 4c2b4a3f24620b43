/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of configuration files: see config.h. */
#include "agent/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"

static const struct opt service_options[] = {
	{OPT_FLAG, 0, "enabled", .offset = OPT_AT(struct service_policy, enabled, bool),
	 .help = "store the samples of these services"},
	{OPT_END},
};

static const struct opts_spec service_spec = {.name = "service", .options = service_options};

struct parser {
	const char *path;
	unsigned int line; /* from 1 */
	const struct opts_spec *spec;
	void *target;
	struct config *config;
	bool in_policy; /* keys are of the last policy */
	struct buf *why;
};

static void say_where(struct parser *par)
{
	buf_printf(par->why, "%s:%u: ", par->path, par->line);
}

static char *trim(char *str)
{
	size_t len;

	str += strspn(str, " \t\r");
	len = strlen(str);
	while (len && strchr(" \t\r", str[len - 1]))
		str[--len] = '\0';
	return str;
}

/* "[service GLOB]", without what is around it. */
static int begin_section(struct parser *par, char *line)
{
	static const char kind[] = "service";
	struct config *config = par->config;
	size_t len = strlen(line), kind_len = strlen(kind);
	char *glob;

	if (line[len - 1] != ']') {
		say_where(par);
		buf_printf(par->why, "'%.60s': the closing ']' is missing", line);
		return -EINVAL;
	}
	line[len - 1] = '\0';
	line = trim(line + 1);
	if (strncmp(line, kind, kind_len) || !strchr(" \t", line[kind_len]) ||
	    !*(glob = trim(line + kind_len))) {
		say_where(par);
		buf_printf(par->why, "section '[%.60s]' is none: [service NAME-GLOB]", line);
		return -EINVAL;
	}
	if (array_reserve(&config->policies, &config->policy_cap, config->policy_cnt + 1,
			  sizeof(*config->policies)))
		return -ENOMEM;
	config->policies[config->policy_cnt++] =
		(struct service_policy){.glob = glob, .enabled = true};
	par->in_policy = true;
	return 0;
}

static int set_key(struct parser *par, char *line)
{
	char *equals = strchr(line, '=');
	size_t start;
	int err;

	if (!equals) {
		say_where(par);
		buf_printf(par->why, "'%.60s': 'key = value' is expected", line);
		return -EINVAL;
	}
	*equals = '\0';
	start = par->why->len;
	say_where(par);
	err = par->in_policy
		      ? opts_set(&service_spec, &par->config->policies[par->config->policy_cnt - 1],
				 trim(line), trim(equals + 1), par->why)
		      : opts_set(par->spec, par->target, trim(line), trim(equals + 1), par->why);
	if (err || par->why->err)
		return err ? err : par->why->err;
	par->why->len = start;
	return 0;
}

static int parse_line(struct parser *par, char *line)
{
	line = trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	return *line == '[' ? begin_section(par, line) : set_key(par, line);
}

int config_parse(const char *path, const char *text, size_t len, const struct opts_spec *spec,
		 void *target, struct config *out, struct buf *why)
{
	struct parser par = {
		.path = path, .spec = spec, .target = target, .config = out, .why = why};
	char *line, *next;
	int err = 0;

	*out = (struct config){.text = malloc(len + 1)};
	if (!out->text)
		return -ENOMEM;
	memcpy(out->text, text, len);
	out->text[len] = '\0';
	for (line = out->text; line && !err; line = next) {
		par.line++;
		next = memchr(line, '\n', (size_t)(out->text + len - line));
		if (next)
			*next++ = '\0';
		if (strlen(line) < (size_t)((next ? next - 1 : out->text + len) - line)) {
			say_where(&par);
			buf_add_str(why, "a NUL byte: this is no text");
			return -EINVAL;
		}
		err = parse_line(&par, line);
	}
	return err;
}

int config_read(const char *path, const struct opts_spec *spec, void *target, struct config *out,
		struct buf *why)
{
	_cleanup_(buf_deinit) struct buf text;
	int err;

	*out = (struct config){.text = NULL};
	buf_init(&text, CONFIG_MAX_BYTES);
	err = fs_read_file(path, &text);
	if (err) {
		buf_printf(why, "configuration '%s': %s", path,
			   err == -EFBIG ? "too large, 1 MiB is possible" : strerror(-err));
		return err;
	}
	return config_parse(path, buf_cstr(&text), text.len, spec, target, out, why);
}

void config_deinit(struct config *config)
{
	free(config->text);
	free(config->policies);
	*config = (struct config){.text = NULL};
}

void config_print_policies(const struct config *config, struct buf *out)
{
	for (size_t i = 0; i < config->policy_cnt; i++) {
		buf_printf(out, "\n[service %s]\n", config->policies[i].glob);
		opts_print(&service_spec, &config->policies[i], 0, out);
	}
}

bool config_allows(const struct config *config, const char *service)
{
	for (size_t i = config->policy_cnt; i; i--)
		if (!fnmatch(config->policies[i - 1].glob, service, 0))
			return config->policies[i - 1].enabled;
	return true;
}
