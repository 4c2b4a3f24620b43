/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording's profile says about where it was made: one comment line of JSON, for the
 * report's evidence. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "capture/cpus.h"
#include "cli/record.h"

enum { COMMAND_MAX_BYTES = 4096 };

/* Does a shell take @word as it is? */
static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_=+.,:/@%";

	return *word && strspn(word, plain) == strlen(word);
}

static void add_word(const char *word, struct buf *out)
{
	if (out->len)
		buf_add_char(out, ' ');
	if (is_plain(word)) {
		buf_add_str(out, word);
		return;
	}
	buf_add_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *word);
	}
	buf_add_char(out, '\'');
}

/* Our own command line, as it could be typed. */
static void add_command(struct json *js)
{
	_cleanup_(buf_deinit) struct buf raw, text;
	size_t at = 0;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&text, BUF_NO_MAX);
	if (fs_read_file("/proc/self/cmdline", &raw))
		return;
	while (at < raw.len && text.len < COMMAND_MAX_BYTES) {
		add_word(raw.data + at, &text);
		at += strlen(raw.data + at) + 1;
	}
	if (at < raw.len)
		buf_add_str(&text, " ...");
	json_kv_str(js, "command", buf_cstr(&text));
}

/* "model name" of the first CPU; arm64 has none. */
static void add_cpu_model(struct json *js)
{
	static const char key[] = "model name";
	_cleanup_(buf_deinit) struct buf text;
	const char *line, *value;

	buf_init(&text, BUF_NO_MAX);
	if (fs_read_file("/proc/cpuinfo", &text))
		return;
	line = strstr(buf_cstr(&text), key);
	value = line ? strchr(line, ':') : NULL;
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	json_key(js, "cpu");
	json_strn(js, value, strcspn(value, "\n"));
}

void record_add_facts(struct profile *prof)
{
	_cleanup_(number_set_deinit) struct number_set cpus = {0};
	_cleanup_(buf_deinit) struct buf text;
	struct utsname host;
	struct json js;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "bpfprof-recording: ");
	json_init(&js, &text);
	json_object_begin(&js);
	json_kv_str(&js, "version", BPFPROF_VERSION);
	add_command(&js);
	if (!uname(&host)) {
		char kernel[2 * sizeof(host.release)];

		snprintf(kernel, sizeof(kernel), "%s %s", host.release, host.machine);
		json_kv_str(&js, "host", host.nodename);
		json_kv_str(&js, "kernel", kernel);
	}
	add_cpu_model(&js);
	if (!cpus_read("online", &cpus))
		json_kv_u64(&js, "cpus", cpus.cnt);
	json_object_end(&js);
	if (!text.err)
		profile_add_comment(prof, buf_cstr(&text));
	else
		prof->err = text.err;
}
