/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large profile for the report: `html_profile NODES PROFILE.pb.gz REPORT.html` writes it in both
 * formats and prints what the report's encoding took.
 *
 * Call trees of services look alike: a few hundred entry points, hot middles that are shared, long
 * tails. Stacks of 12 to 59 frames walk through 40,000 functions of 40 modules; where a stack turns
 * off from the one before is chosen so that about eleven nodes of the merged tree are new per
 * stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "encode/encoder.h"
#include "encode/flame.h"

enum { FUNCTION_CNT = 40000, MODULE_CNT = 40, DEPTH_MIN = 12, DEPTH_SPAN = 48, PROCESS_CNT = 24 };

static uint64_t seed = 88172645463325252ULL;

/* xorshift64 (Marsaglia 2003): the same profile everywhere */
static uint32_t random_below(uint32_t end)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % end);
}

static uint32_t make_location(struct profile *prof, const uint32_t *mappings, uint32_t nr)
{
	char name[96], file[64];
	struct profile_line line;

	snprintf(name, sizeof(name),
		 "service::Handler%u<std::pair<int, T%u>>::process_%u(Request const&)", nr % 977,
		 nr % 13, nr);
	snprintf(file, sizeof(file), "/src/service/handler_%u.cc", nr % 977);
	line.function = profile_function(prof, name, name, file, nr % 4000 + 1);
	line.line = nr % 4000 + 7;
	return profile_location_lines(prof, mappings[nr % MODULE_CNT], 0x1000 + nr * 64ULL, 0,
				      &line, 1);
}

static void make_code(struct profile *prof, uint32_t *locations)
{
	uint32_t mappings[MODULE_CNT];
	char path[64];

	for (uint32_t i = 0; i < MODULE_CNT; i++) {
		snprintf(path, sizeof(path), i ? "/usr/lib/libpart%u.so.1" : "/usr/bin/service", i);
		mappings[i] = profile_mapping(prof, path, "0123456789abcdef");
	}
	for (uint32_t i = 0; i < FUNCTION_CNT; i++)
		locations[i] = make_location(prof, mappings, i);
}

static void add_stacks(struct profile *prof, const uint32_t *locations, uint32_t stack_cnt)
{
	uint32_t path[DEPTH_MIN + DEPTH_SPAN] = {0}, leaf_first[DEPTH_MIN + DEPTH_SPAN];
	struct profile_label label = {.key = profile_string(prof, "comm")};
	char comm[16];

	for (uint32_t i = 0; i < stack_cnt; i++) {
		uint32_t depth = DEPTH_MIN + random_below(DEPTH_SPAN);
		uint32_t fresh = 1 + random_below(random_below(8) ? 5 : depth);

		for (uint32_t j = depth > fresh ? depth - fresh : 0; j < depth; j++)
			path[j] = random_below(FUNCTION_CNT);
		for (uint32_t j = 0; j < depth; j++)
			leaf_first[j] = locations[path[depth - 1 - j]];
		snprintf(comm, sizeof(comm), "worker-%u", i * PROCESS_CNT / stack_cnt);
		label.str = profile_string(prof, comm);
		profile_sample(prof, profile_stack(prof, leaf_first, depth),
			       profile_labels(prof, &label, 1),
			       (int64_t[]){1 + random_below(9),
					   10101010LL * (1 + random_below(9))});
	}
}

static size_t node_cnt(const struct profile *prof)
{
	struct flame_tree tree;
	size_t cnt;

	if (flame_build(prof, 0, NULL, &tree))
		return 0;
	cnt = tree.node_cnt;
	flame_deinit(&tree);
	return cnt;
}

static int write_as(const struct profile *prof, const struct encoder *encoder, const char *path)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	struct fs_output output;
	struct buf content;
	uint64_t begin;
	int err;

	buf_init(&content, BUF_NO_MAX);
	begin = clock_monotonic_ns();
	err = encoder->encode(prof, &opts, &content);
	printf("%s %.3f s %zu bytes\n", encoder->name,
	       (double)(clock_monotonic_ns() - begin) / NSEC_PER_SEC, content.len);
	if (!err)
		err = fs_output_open(path, true, &output);
	if (!err)
		err = fs_output_commit(&output, buf_cstr(&content), content.len);
	buf_deinit(&content);
	return err;
}

static int run(uint32_t wanted, const char *pprof_path, const char *html_path)
{
	uint32_t *locations = calloc(FUNCTION_CNT, sizeof(*locations));
	struct profile prof;
	int err = locations ? profile_init(&prof) : -ENOMEM;

	if (err)
		return err;
	profile_add_value_type(&prof, "samples", "count");
	profile_add_value_type(&prof, "cpu", "nanoseconds");
	make_code(&prof, locations);
	for (size_t has = 0; has < wanted && !prof.err; has = node_cnt(&prof))
		add_stacks(&prof, locations, 1 + (uint32_t)(wanted - has) / 12);
	printf("nodes %zu stacks %zu\n", node_cnt(&prof), prof.stack_cnt);
	err = prof.err;
	if (!err)
		err = write_as(&prof, &encoder_pprof, pprof_path);
	if (!err)
		err = write_as(&prof, &encoder_html, html_path);
	profile_deinit(&prof);
	free(locations);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: html_profile NODES PROFILE.pb.gz REPORT.html\n");
		return 2;
	}
	err = run((uint32_t)strtoul(argv[1], NULL, 10), argv[2], argv[3]);
	if (err)
		fprintf(stderr, "html_profile: %s\n", strerror(-err));
	return err ? 1 : 0;
}
