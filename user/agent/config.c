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
#include "base/sha256.h"
#include "base/trim.h"

static const struct opt service_options[] = {
	{OPT_FLAG, 0, "enabled", .offset = OPT_AT(struct service_policy, enabled, bool),
	 .help = "store the samples of these services"},
	{OPT_END},
};

static const struct opts_spec service_spec = {.name = "service", .options = service_options};

static const struct opt sink_options[] = {
	{OPT_STRING, 0, "url", "URL", .offset = OPT_AT(struct sink_config, url, const char *),
	 .help = "where to"},
	{OPT_BYTES, 0, "max-rate", "BYTES",
	 .offset = OPT_AT(struct sink_config, max_rate, uint64_t),
	 .help = "sent in a second at most"},
	{OPT_END},
};

static const struct opts_spec sink_spec = {.name = "sink", .options = sink_options};

/* Of a file that has sections alone. */
static const struct opts_spec no_spec = {.name = "policy",
					 .options = (const struct opt[]){{OPT_END}}};

/* Whose keys come. */
enum section { SECTION_NONE, SECTION_SERVICE, SECTION_SINK, SECTION_POLICY };

static const struct section_kind {
	const char *word, *form;
	enum section section;
} section_kinds[] = {
	{"service", "[service NAME-GLOB]", SECTION_SERVICE},
	{"sink", "[sink NAME]", SECTION_SINK},
	{"policy", "[policy SELECTOR]", SECTION_POLICY},
};

enum { SECTION_KIND_CNT = sizeof(section_kinds) / sizeof(*section_kinds) };

struct parser {
	const char *path;
	unsigned int line; /* from 1 */
	const struct opts_spec *spec;
	void *target;
	struct config *config;
	bool is_policy; /* it has that kind of section alone */
	enum section section; /* keys are of the last one of these */
	struct buf *why;
};

static void say_where(struct parser *par)
{
	buf_printf(par->why, "%s:%u: ", par->path, par->line);
}

static int add_policy(struct config *config, const char *glob)
{
	if (array_reserve(&config->policies, &config->policy_cap, config->policy_cnt + 1,
			  sizeof(*config->policies)))
		return -ENOMEM;
	config->policies[config->policy_cnt++] =
		(struct service_policy){.glob = glob, .enabled = true};
	return 0;
}

static int add_sink(struct config *config, const char *name)
{
	if (array_reserve(&config->sinks, &config->sink_cap, config->sink_cnt + 1,
			  sizeof(*config->sinks)))
		return -ENOMEM;
	config->sinks[config->sink_cnt++] = (struct sink_config){.name = name};
	return 0;
}

static bool may_have(const struct parser *par, const struct section_kind *kind)
{
	return !par->is_policy || kind->section == SECTION_POLICY;
}

/* What @line, "WORD NAME", begins with; *@name_out is the rest. NULL: no kind of section that may
 * be here, or no name. */
static const struct section_kind *find_section(const struct parser *par, char *line,
					       char **name_out)
{
	for (size_t i = 0; i < SECTION_KIND_CNT; i++) {
		const size_t len = strlen(section_kinds[i].word);

		if (!may_have(par, &section_kinds[i]) ||
		    strncmp(line, section_kinds[i].word, len) || !strchr(" \t", line[len]))
			continue;
		*name_out = trim(line + len);
		return **name_out ? &section_kinds[i] : NULL;
	}
	return NULL;
}

static void say_which_kinds(struct parser *par, const char *line)
{
	const char *between = "";

	say_where(par);
	buf_printf(par->why, "section '[%.60s]' is none:", line);
	for (size_t i = 0; i < SECTION_KIND_CNT; i++) {
		if (!may_have(par, &section_kinds[i]))
			continue;
		buf_printf(par->why, "%s %s", between, section_kinds[i].form);
		between = " or";
	}
}

static int add_rule(struct parser *par, char *selector)
{
	const size_t start = par->why->len;
	int err;

	say_where(par);
	err = policy_begin_rule(&par->config->policy, selector, par->why);
	if (!err)
		par->why->len = start;
	return err;
}

static int add_section(struct parser *par, enum section section, char *name)
{
	switch (section) {
	case SECTION_SERVICE:
		return add_policy(par->config, name);
	case SECTION_SINK:
		return add_sink(par->config, name);
	default:
		return add_rule(par, name);
	}
}

/* "[service GLOB]", "[sink NAME]", "[policy SELECTOR]". */
static int begin_section(struct parser *par, char *line)
{
	size_t len = strlen(line);
	const struct section_kind *kind;
	char *name;
	int err;

	if (line[len - 1] != ']') {
		say_where(par);
		buf_printf(par->why, "'%.60s': the closing ']' is missing", line);
		return -EINVAL;
	}
	line[len - 1] = '\0';
	line = trim(line + 1);
	kind = find_section(par, line, &name);
	if (!kind) {
		say_which_kinds(par, line);
		return -EINVAL;
	}
	err = add_section(par, kind->section, name);
	if (!err)
		par->section = kind->section;
	return err;
}

/* Into what the key of the section goes. */
static int set_option(struct parser *par, const char *key, const char *value)
{
	struct config *config = par->config;

	switch (par->section) {
	case SECTION_SERVICE:
		return opts_set(&service_spec, &config->policies[config->policy_cnt - 1], key,
				value, par->why);
	case SECTION_SINK:
		return opts_set(&sink_spec, &config->sinks[config->sink_cnt - 1], key, value,
				par->why);
	case SECTION_POLICY:
		return policy_set(&config->policy, key, value, par->why);
	default:
		return opts_set(par->spec, par->target, key, value, par->why);
	}
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
	err = set_option(par, trim(line), trim(equals + 1));
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

static int parse(struct parser *par, const char *text, size_t len)
{
	struct config *out = par->config;
	char *line, *next;
	int err = 0;

	*out = (struct config){.text = malloc(len + 1)};
	if (!out->text)
		return -ENOMEM;
	memcpy(out->text, text, len);
	out->text[len] = '\0';
	for (line = out->text; line && !err; line = next) {
		par->line++;
		next = memchr(line, '\n', (size_t)(out->text + len - line));
		if (next)
			*next++ = '\0';
		if (strlen(line) < (size_t)((next ? next - 1 : out->text + len) - line)) {
			say_where(par);
			buf_add_str(par->why, "a NUL byte: this is no text");
			return -EINVAL;
		}
		err = parse_line(par, line);
	}
	return err;
}

int config_parse(const char *path, const char *text, size_t len, const struct opts_spec *spec,
		 void *target, struct config *out, struct buf *why)
{
	struct parser par = {
		.path = path, .spec = spec, .target = target, .config = out, .why = why};

	return parse(&par, text, len);
}

int config_parse_policy(const char *path, const char *text, size_t len, struct config *out,
			struct buf *why)
{
	struct parser par = {
		.path = path, .spec = &no_spec, .config = out, .is_policy = true, .why = why};
	uint8_t hash[SHA256_BYTES];
	int err = parse(&par, text, len);

	sha256(text, len, hash);
	hex_format(hash, CONFIG_VERSION_MAX / 2, out->version);
	return err;
}

/* @what it is called in messages. */
static int read_text(const char *what, const char *path, struct config *out, struct buf *text,
		     struct buf *why)
{
	int err;

	*out = (struct config){.text = NULL};
	buf_init(text, CONFIG_MAX_BYTES);
	err = fs_read_file(path, text);
	if (err)
		buf_printf(why, "%s '%s': %s", what, path,
			   err == -EFBIG ? "too large, 1 MiB is possible" : strerror(-err));
	return err;
}

int config_read(const char *path, const struct opts_spec *spec, void *target, struct config *out,
		struct buf *why)
{
	_cleanup_(buf_deinit) struct buf text;
	int err = read_text("configuration", path, out, &text, why);

	if (err)
		return err;
	return config_parse(path, buf_cstr(&text), text.len, spec, target, out, why);
}

int config_read_policy(const char *path, struct config *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf text;
	int err = read_text("policy", path, out, &text, why);

	return err ? err : config_parse_policy(path, buf_cstr(&text), text.len, out, why);
}

void config_deinit(struct config *config)
{
	policy_deinit(&config->policy);
	free(config->text);
	free(config->policies);
	free(config->sinks);
	*config = (struct config){.text = NULL};
}

void config_print_sections(const struct config *config, struct buf *out)
{
	for (size_t i = 0; i < config->policy_cnt; i++) {
		buf_printf(out, "\n[service %s]\n", config->policies[i].glob);
		opts_print(&service_spec, &config->policies[i], 0, out);
	}
	policy_print(&config->policy, out);
	for (size_t i = 0; i < config->sink_cnt; i++) {
		buf_printf(out, "\n[sink %s]\n", config->sinks[i].name);
		opts_print(&sink_spec, &config->sinks[i], 0, out);
	}
}

bool config_allows(const struct config *config, const char *service)
{
	for (size_t i = config->policy_cnt; i; i--)
		if (!fnmatch(config->policies[i - 1].glob, service, 0))
			return config->policies[i - 1].enabled;
	return true;
}
