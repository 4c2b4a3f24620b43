/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a profile that is hard on readers as FOLDER/NAME.pb.gz, and each value of it as
 * FOLDER/NAME.<value>.folded, so that another reader's opinion of the former can be compared:
 *
 *	make_profile FOLDER hostile|plain|empty
 *
 * "plain" has names that no text output can garble, so that whole stacks can be compared.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "encode/encoder.h"
#include "sample_profile.h"

static int write_file(const char *folder, const char *name, const char *extension,
		      const struct buf *content)
{
	struct fs_output output;
	char path[4096];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s%s", folder, name, extension) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = fs_output_open(path, true, &output);
	return err ? err : fs_output_commit(&output, buf_cstr(content), content->len);
}

static int write_encoded(const struct profile *prof, const struct encoder *encoder, uint32_t value,
			 const char *folder, const char *name)
{
	/* No process frame: pprof's readers show labels elsewhere. */
	const struct encoder_opts opts = {.value = value, .by = ""};
	char extension[128];
	struct buf content;
	int err;

	if (encoder->is_one_value)
		snprintf(extension, sizeof(extension), ".%s%s",
			 profile_str(prof, prof->value_types[value].type), encoder->extension);
	else
		snprintf(extension, sizeof(extension), "%s", encoder->extension);
	buf_init(&content, BUF_NO_MAX);
	err = encoder->encode(prof, &opts, &content);
	if (!err)
		err = write_file(folder, name, extension, &content);
	buf_deinit(&content);
	return err;
}

/* Inlines, kernel frames, frames without symbol, two threads; stacks of several depths. */
static void plain_profile(struct profile *prof)
{
	uint32_t mapping, stack[5];

	sample_header(prof);
	mapping = sample_mapping(prof);
	stack[0] = sample_kernel(prof);
	stack[1] = sample_inlined(prof, mapping);
	stack[2] = profile_named_location(prof, "main", 0);
	stack[3] = profile_named_location(prof, "_start", 0);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t first = i % 4, cnt = 4 - first;

		stack[4] = profile_named_location(prof, i % 3 ? "even" : "odd", 0);
		profile_sample(prof, profile_stack(prof, stack + first, cnt + i % 2),
			       sample_labels(prof, i % 5 ? "web" : "sh", 100 + i, i % 2),
			       (int64_t[]){i + 1, 10101010 * ((int64_t)i + 1)});
	}
}

static int fill(struct profile *prof, const char *name)
{
	if (!strcmp(name, "plain"))
		plain_profile(prof);
	else if (!strcmp(name, "hostile"))
		sample_profile(prof);
	else if (!strcmp(name, "empty"))
		sample_header(prof);
	else
		return -EINVAL;
	sample_set_ledger(prof);
	return prof->err;
}

int main(int argc, char **argv)
{
	struct profile prof;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: make_profile FOLDER hostile|plain|empty\n");
		return 2;
	}
	err = profile_init(&prof);
	if (!err)
		err = fill(&prof, argv[2]);
	if (!err)
		err = write_encoded(&prof, &encoder_pprof, 0, argv[1], argv[2]);
	for (uint32_t i = 0; !err && i < prof.value_type_cnt; i++)
		err = write_encoded(&prof, &encoder_folded, i, argv[1], argv[2]);
	profile_deinit(&prof);
	if (err)
		fprintf(stderr, "make_profile: %s: %s\n", argv[2], strerror(-err));
	return err ? 1 : 0;
}
