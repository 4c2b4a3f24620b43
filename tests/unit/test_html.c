/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as bytes: what the page holds is the profile, hostile names are text, the security
 * policy allows the page's own scripts. What it does in a browser is
 * tests/e2e/test_html_browser.sh's; `test_html --emit FOLDER` writes the reports, and as pprof what
 * they were made from.
 */
#include "html_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "encode/encoder.h"
#include "encode/svg.h"
#include "sample_profile.h"
#include "svg_cases.h"

static const struct encoder_opts plain_opts = {.value = PROFILE_NONE};

static void clean(struct buf *out, const char *text)
{
	svg_add_clean(out, text);
	buf_add_char(out, '|');
}

/* ---- one sample in words: from the profile, and from the page ---- */

static void say_location(struct buf *out, const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];

	clean(out, loc->mapping == PROFILE_NONE
			   ? "-"
			   : profile_str(prof, prof->mappings[loc->mapping].path));
	clean(out, loc->mapping == PROFILE_NONE
			   ? "-"
			   : profile_str(prof, prof->mappings[loc->mapping].build_id));
	buf_printf(out, "%" PRIx64 " %u ", loc->address, loc->flags);
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		const struct profile_function *function = &prof->functions[line->function];

		clean(out, profile_str(prof, function->name));
		clean(out, profile_str(prof, function->system_name));
		clean(out, profile_str(prof, function->file));
		buf_printf(out, "%u %u;", function->start_line, line->line);
	}
}

static void say_sample(struct buf *out, const struct profile *prof, size_t at)
{
	const struct profile_sample *sample = &prof->samples[at];
	const struct profile_stack *stack = &prof->stacks[sample->stack];
	const struct profile_label_set *set = &prof->label_sets[sample->label_set];

	for (uint32_t i = 0; i < stack->cnt; i++)
		say_location(out, prof, prof->stack_locations[stack->first + i]);
	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		clean(out, profile_str(prof, label->key));
		if (label->str != PROFILE_NONE)
			clean(out, profile_str(prof, label->str));
		else
			buf_printf(out, "%" PRId64 "|", label->num);
	}
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(out, " %" PRId64, prof->values[at * prof->value_type_cnt + i]);
	buf_add_char(out, '\n');
}

static void say_page_location(struct buf *out, const struct page *page, uint64_t location)
{
	uint64_t mapping = page->loc_mapping.items[location], line = 0;

	buf_printf(out, "%s|%s|%" PRIx64 " %" PRIu64 " ",
		   mapping ? page->strings[page->map_path.items[mapping - 1]] : "-",
		   mapping ? page->strings[page->map_build_id.items[mapping - 1]] : "-",
		   page->loc_address.items[location], page->loc_flags.items[location]);
	for (uint64_t i = 0; i < location; i++)
		line += page->loc_lines.items[i];
	for (uint64_t i = 0; i < page->loc_lines.items[location]; i++, line++) {
		uint64_t function = page->line_function.items[line] - 1;

		buf_printf(out, "%s|%s|%s|%" PRIu64 " %" PRIu64 ";",
			   page->strings[page->fn_name.items[function]],
			   page->strings[page->fn_system.items[function]],
			   page->strings[page->fn_file.items[function]],
			   page->fn_line.items[function], page->line_number.items[line]);
	}
}

static void say_page_sample(struct buf *out, const struct page *page, size_t at)
{
	uint64_t node = page->sample_node.items[at], set = page->sample_set.items[at], label = 0;

	for (; page->trie_parent.items[node]; node = page->trie_parent.items[node] - 1)
		say_page_location(out, page, page->trie_ref.items[node]);
	for (uint64_t i = 0; i < set; i++)
		label += page->set_labels.items[i];
	for (uint64_t i = 0; i < page->set_labels.items[set]; i++, label++) {
		uint64_t value = page->label_value.items[label];

		buf_printf(out, "%s|", page->strings[page->label_key.items[label]]);
		if (page->label_is_string.items[label])
			buf_printf(out, "%s|", page->strings[value]);
		else
			buf_printf(out, "%" PRId64 "|", page_signed(value));
	}
	for (size_t i = 0; i < page->value_type.cnt; i++)
		buf_printf(out, " %" PRId64, page_signed(page->values[i].items[at]));
	buf_add_char(out, '\n');
}

static void read_back(const struct profile *prof, const char *by, struct page *page)
{
	struct html_trie trie;
	struct buf binary;

	buf_init(&binary, BUF_NO_MAX);
	assert_int_equal(html_trie_init(&trie, prof, by), 0);
	assert_int_equal(html_add_binary(&binary, &trie), 0);
	html_trie_deinit(&trie);
	page_read(&binary, page);
	buf_deinit(&binary);
}

/* Every sample of the profile is one of the page's, whatever the order. */
static void expect_all_samples(const struct profile *prof, const char *by)
{
	struct buf own, all;
	struct page page;

	read_back(prof, by, &page);
	assert_int_equal(page.sample_node.cnt, prof->sample_cnt);
	buf_init(&own, BUF_NO_MAX);
	buf_init(&all, BUF_NO_MAX);
	buf_add_char(&all, '\n');
	for (size_t i = 0; i < page.sample_node.cnt; i++)
		say_page_sample(&all, &page, i);
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		buf_reset(&own);
		buf_add_char(&own, '\n');
		say_sample(&own, prof, i);
		if (!strstr(buf_cstr(&all), buf_cstr(&own)))
			fail_msg("not in the page: %s", buf_cstr(&own));
	}
	buf_deinit(&own);
	buf_deinit(&all);
	page_deinit(&page);
}

static void holds_the_whole_profile(void **state)
{
	static const char *const bys[] = {NULL, "", "comm,tid", "nobody"};
	struct profile prof;

	(void)state;
	profile_init(&prof);
	sample_profile(&prof);
	assert_int_equal(prof.err, 0);
	for (size_t i = 0; i < sizeof(bys) / sizeof(*bys); i++)
		expect_all_samples(&prof, bys[i]);
	profile_deinit(&prof);
}

static void holds_every_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < SVG_CASE_CNT; i++) {
		struct profile prof;

		if (!svg_cases[i].is_golden)
			continue;
		fixture_init(&prof, svg_cases[i].type, svg_cases[i].unit);
		svg_cases[i].fill(&prof);
		expect_all_samples(&prof, svg_cases[i].opts.by);
		profile_deinit(&prof);
	}
}

/* The example in the head of html_data.c. */
static void writes_the_documented_example(void **state)
{
	static const uint64_t up[] = {0, 0, 0, 1};
	struct profile prof;
	struct page page;

	(void)state;
	fixture_init(&prof, "samples", "count");
	fixture_add(&prof, "web", 4, "main|work");
	fixture_add(&prof, "web", 3, "main|read");
	read_back(&prof, NULL, &page);
	assert_int_equal(page.trie_up.cnt, 4);
	assert_memory_equal(page.trie_up.items, up, sizeof(up));
	assert_string_equal(page.strings[page.trie_ref.items[0]], "web");
	assert_int_equal(page.sample_node.items[0], 2);
	assert_int_equal(page.sample_node.items[1], 3);
	assert_int_equal(page.values[0].items[0] + page.values[0].items[1], 6 + 8);
	page_deinit(&page);
	profile_deinit(&prof);
}

/* A location names the frame that the flame tree has. */
static void names_code_without_symbol(void **state)
{
	struct profile prof;
	struct page page;
	bool is_found = false;

	(void)state;
	fixture_init(&prof, "samples", "count");
	fixture_add(&prof, "web", 4, "main|a:7f30");
	read_back(&prof, NULL, &page);
	for (size_t i = 0; i < page.loc_name.cnt; i++)
		is_found |=
			!strcmp(page.strings[page.loc_name.items[i]], "[libfixture.so.1+0x7f30]") &&
			page.loc_kind.items[i] == FLAME_LIBRARY;
	assert_true(is_found);
	page_deinit(&page);
	profile_deinit(&prof);
}

static void elides_the_middle_of_deep_stacks(void **state)
{
	enum { DEPTH = 5000 };
	uint32_t *locations = calloc(DEPTH, sizeof(*locations));
	struct profile prof;
	struct page page;
	char name[32];

	(void)state;
	fixture_init(&prof, "samples", "count");
	for (uint32_t i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "level_%u", i);
		locations[i] = profile_named_location(&prof, name, 0);
	}
	profile_sample(&prof, profile_stack(&prof, locations, DEPTH),
		       profile_labels(&prof, NULL, 0), (int64_t[]){1});
	read_back(&prof, NULL, &page);
	assert_int_equal(page.trie_ref.cnt, 1 + FLAME_FRAMES_MAX + 1);
	assert_int_equal(page.loc_name.cnt, DEPTH + 1);
	assert_string_equal(page.strings[page.loc_name.items[DEPTH]], "[3200 frames elided]");
	page_deinit(&page);
	profile_deinit(&prof);
	free(locations);
}

/* ---- the document ---- */

static void encode_case(const char *name, struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	for (size_t i = 0; i < SVG_CASE_CNT; i++) {
		struct profile prof;

		if (strcmp(svg_cases[i].name, name))
			continue;
		fixture_init(&prof, svg_cases[i].type, svg_cases[i].unit);
		svg_cases[i].fill(&prof);
		assert_int_equal(encoder_html.encode(&prof, &svg_cases[i].opts, out), 0);
		profile_deinit(&prof);
	}
	assert_true(out->len > 0);
}

static size_t occurrences(const char *text, const char *what)
{
	size_t cnt = 0;

	for (; (text = strstr(text, what)); text++)
		cnt++;
	return cnt;
}

/* Without the first of the page's own scripts. */
static void cut_script(struct buf *html)
{
	static const char end[] = "</script>";
	char *from = strstr(html->data, "<script>"), *to;

	assert_non_null(from);
	to = strstr(from, end);
	assert_non_null(to);
	to += strlen(end);
	memmove(from, to, strlen(to) + 1);
}

/* No byte of a hostile name acts as markup, outside of the page's own scripts. */
static void passes_no_markup_from_outside(void **state)
{
	struct buf html;

	(void)state;
	encode_case("hostile", &html);
	for (int i = 0; i < 3; i++)
		cut_script(&html);
	assert_null(strstr(html.data, "<script>"));
	assert_int_equal(occurrences(html.data, "<script"), 3);
	assert_int_equal(occurrences(html.data, "</script"), 3);
	assert_int_equal(occurrences(html.data, "<title>"), 1);
	assert_null(strstr(html.data, "<b>"));
	assert_null(strstr(html.data, "<svg"));
	assert_null(strstr(html.data, "<!--"));
	assert_null(strstr(html.data, "\xe2\x80\xae"));
	for (const char *chr = html.data; *chr; chr++)
		assert_true((uint8_t)*chr >= ' ' || *chr == '\n' || *chr == '\t');
	buf_deinit(&html);
}

/* The policy of @html allows as @directive exactly what stands between @begin and @end. */
static void expect_hashes(const char *html, const char *directive, const char *begin,
			  const char *end)
{
	uint8_t digest[SHA256_BYTES];
	struct buf expected;

	buf_init(&expected, BUF_NO_MAX);
	buf_add_str(&expected, directive);
	for (const char *from = html, *to; (from = strstr(from, begin)); from = to) {
		from += strlen(begin);
		to = strstr(from, end);
		sha256(from, (size_t)(to - from), digest);
		buf_add_str(&expected, " 'sha256-");
		base64_add(&expected, digest, sizeof(digest));
		buf_add_str(&expected, "'");
	}
	assert_non_null(strstr(html, buf_cstr(&expected)));
	buf_deinit(&expected);
}

static void allows_only_its_own_scripts(void **state)
{
	struct buf html;

	(void)state;
	encode_case("kinds", &html);
	expect_hashes(html.data, "style-src", "<style>", "</style>");
	expect_hashes(html.data, "script-src", "<script>", "</script>");
	assert_null(strstr(html.data, "unsafe-"));
	assert_null(strstr(html.data, "src="));
	assert_null(strstr(html.data, "@import"));
	buf_deinit(&html);
}

static void says_that_it_is_empty(void **state)
{
	static const char *const names[] = {"empty", "zeros"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct buf html;

		encode_case(names[i], &html);
		assert_non_null(strstr(html.data, "Nothing was sampled"));
		buf_deinit(&html);
	}
}

/* A pprof file may have no value at all. */
static void takes_a_profile_without_values(void **state)
{
	struct profile prof;
	struct buf html;

	(void)state;
	profile_init(&prof);
	profile_named_location(&prof, "main", 0);
	buf_init(&html, BUF_NO_MAX);
	assert_int_equal(encoder_html.encode(&prof, &plain_opts, &html), 0);
	assert_non_null(strstr(html.data, "Nothing was sampled"));
	buf_deinit(&html);
	profile_deinit(&prof);
}

/* Nor do its samples need a stack. */
static void takes_samples_without_frames(void **state)
{
	const int64_t value = 7;
	struct profile prof;

	(void)state;
	fixture_init(&prof, "samples", "count");
	profile_sample(&prof, profile_stack(&prof, NULL, 0), profile_labels(&prof, NULL, 0),
		       &value);
	expect_all_samples(&prof, NULL);
	profile_deinit(&prof);
}

static void lists_the_hottest_without_scripts(void **state)
{
	struct buf html;

	(void)state;
	encode_case("kinds", &html);
	assert_non_null(strstr(html.data, "<tr><td>820 samples</td><td>30.10%</td>"
					  "<td>820 samples</td><td>30.10%</td>"
					  "<td>longest_match</td></tr>"));
	buf_deinit(&html);
}

/* The time of a wait is its state's, not that of the waker's frames on it. */
static void counts_no_waker_as_a_function(void **state)
{
	struct buf html;
	char *end;

	(void)state;
	encode_case("wall", &html);
	end = strstr(html.data, "</tbody>");
	assert_non_null(end);
	*end = '\0';
	assert_non_null(strstr(html.data, "<tr><td>3.00 s</td><td>30.00%</td><td>3.00 s</td>"
					  "<td>30.00%</td><td>[blocked: futex]</td></tr>"));
	assert_null(strstr(html.data, "<td>walwriter</td>"));
	assert_null(strstr(html.data, "<td>commit</td>"));
	buf_deinit(&html);
}

/* web: main > read (3) and main > work (4), and 2,000 functions of one sample each under init. */
static void draws_the_first_picture(void **state)
{
	static const char expected[] =
		"[0,0,100000,\"r\",0,\"all\",1,0,99651,\"p\",0,\"init\",2,0,99651,\"rest\",0,0,"
		"1,99651,349,\"p\",0,0,2,99651,349,\"u4\",0,0,3,99651,199,\"u0\",0,0,"
		"3,99851,149,\"u1\",0,0]";
	struct profile prof;
	struct buf picture;
	char name[16];

	(void)state;
	fixture_init(&prof, "samples", "count");
	fixture_add(&prof, "web", 3, "main|read");
	fixture_add(&prof, "web", 4, "main|work");
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		fixture_add(&prof, "init", 1, name);
	}
	buf_init(&picture, BUF_NO_MAX);
	assert_int_equal(html_add_first(&picture, &prof, 0, NULL), 0);
	assert_string_equal(buf_cstr(&picture), expected);
	buf_deinit(&picture);
	profile_deinit(&prof);
}

/* What goes nowhere is not compressed, and says the same. */
static void leaves_it_plain_for_the_near(void **state)
{
	static const char begin[] = "type=\"application/octet-stream;base64\">";
	struct encoder_opts opts = plain_opts;
	struct profile prof;
	struct buf html, base64, binary;
	struct html_trie trie;
	const char *from;

	(void)state;
	fixture_init(&prof, "samples", "count");
	fixture_add(&prof, "web", 3, "main|read");
	opts.is_near = true;
	buf_init(&html, BUF_NO_MAX);
	buf_init(&base64, BUF_NO_MAX);
	buf_init(&binary, BUF_NO_MAX);
	assert_int_equal(encoder_html.encode(&prof, &opts, &html), 0);
	assert_int_equal(html_trie_init(&trie, &prof, NULL), 0);
	assert_int_equal(html_add_binary(&binary, &trie), 0);
	base64_add(&base64, binary.data, binary.len);
	from = strstr(html.data, begin);
	assert_non_null(from);
	assert_memory_equal(from + strlen(begin), base64.data, base64.len);
	html_trie_deinit(&trie);
	buf_deinit(&binary);
	buf_deinit(&base64);
	buf_deinit(&html);
	profile_deinit(&prof);
}

static void refuses_a_value_that_is_not_there(void **state)
{
	const struct encoder_opts opts = {.value = 7};
	struct profile prof;
	struct buf html;

	(void)state;
	buf_init(&html, BUF_NO_MAX);
	fixture_init(&prof, "samples", "count");
	assert_int_equal(encoder_html.encode(&prof, &opts, &html), -EINVAL);
	profile_deinit(&prof);
	buf_deinit(&html);
}

/* ---- for the browser's test ---- */

static int write_as(const struct profile *prof, const struct encoder *encoder,
		    const struct encoder_opts *opts, const char *folder, const char *name)
{
	struct fs_output output;
	struct buf content;
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, encoder->extension);
	buf_init(&content, BUF_NO_MAX);
	err = encoder->encode(prof, opts, &content);
	if (!err)
		err = fs_output_open(path, true, &output);
	if (!err)
		err = fs_output_commit(&output, content.data, content.len);
	buf_deinit(&content);
	if (err)
		fprintf(stderr, "test_html: %s: %s\n", path, strerror(-err));
	return err;
}

static void add_recording(struct profile *prof)
{
	profile_add_comment(prof, "bpfprof-recording: {\"version\":\"1\",\"command\":\"bpfprof -F "
				  "99 -- ./web '</script><b>'\",\"host\":\"db7\",\"kernel\":"
				  "\"6.18.44 x86_64\",\"cpu\":\"Some CPU\",\"cpus\":2}");
	profile_add_comment(prof, "a note </script><script>alert(1)</script>");
}

static void add_recursion(struct profile *prof)
{
	fixture_add(prof, "app", 5, "main|walk|walk|walk|visit");
	fixture_add(prof, "app", 4, "main|walk|visit|walk");
	fixture_add(prof, "app", 7, "main|other");
}

/* A clock that samples, beside an event that is counted every time. */
static void add_events(struct profile *prof)
{
	const struct profile_label label = {.key = profile_string(prof, "comm"),
					    .str = profile_string(prof, "app")};
	uint32_t stack[2] = {profile_named_location(prof, "work", 0),
			     profile_named_location(prof, "main", 0)};
	uint32_t labels;

	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	profile_add_value_type(prof, "page-faults", "count");
	prof->period_type = prof->value_types[1];
	prof->period = 10000000;
	labels = profile_labels(prof, &label, 1);
	profile_sample(prof, profile_stack(prof, stack, 2), labels,
		       (int64_t[]){140, 400000000, 100});
	profile_sample(prof, profile_stack(prof, stack + 1, 1), labels,
		       (int64_t[]){60, 600000000, 0});
}

static int emit(const char *folder)
{
	struct profile prof;
	int err = 0;

	for (size_t i = 0; i < SVG_CASE_CNT && !err; i++) {
		fixture_init(&prof, svg_cases[i].type, svg_cases[i].unit);
		svg_cases[i].fill(&prof);
		err = write_as(&prof, &encoder_html, &svg_cases[i].opts, folder, svg_cases[i].name);
		if (!err)
			err = write_as(&prof, &encoder_pprof, &plain_opts, folder,
				       svg_cases[i].name);
		profile_deinit(&prof);
	}
	profile_init(&prof);
	if (!err)
		err = write_as(&prof, &encoder_html, &plain_opts, folder, "valueless");
	profile_deinit(&prof);
	profile_init(&prof);
	add_events(&prof);
	if (!err)
		err = write_as(&prof, &encoder_html, &plain_opts, folder, "events");
	profile_deinit(&prof);
	fixture_init(&prof, "samples", "count");
	add_recursion(&prof);
	if (!err)
		err = write_as(&prof, &encoder_html, &plain_opts, folder, "recursive");
	profile_deinit(&prof);
	profile_init(&prof);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	add_recording(&prof);
	if (!err)
		err = write_as(&prof, &encoder_html, &plain_opts, folder, "sample");
	if (!err)
		err = write_as(&prof, &encoder_pprof, &plain_opts, folder, "sample");
	profile_deinit(&prof);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_the_whole_profile),
		cmocka_unit_test(holds_every_case),
		cmocka_unit_test(writes_the_documented_example),
		cmocka_unit_test(names_code_without_symbol),
		cmocka_unit_test(elides_the_middle_of_deep_stacks),
		cmocka_unit_test(passes_no_markup_from_outside),
		cmocka_unit_test(allows_only_its_own_scripts),
		cmocka_unit_test(says_that_it_is_empty),
		cmocka_unit_test(takes_a_profile_without_values),
		cmocka_unit_test(takes_samples_without_frames),
		cmocka_unit_test(lists_the_hottest_without_scripts),
		cmocka_unit_test(counts_no_waker_as_a_function),
		cmocka_unit_test(draws_the_first_picture),
		cmocka_unit_test(leaves_it_plain_for_the_near),
		cmocka_unit_test(refuses_a_value_that_is_not_there),
	};

	if (argc == 3 && !strcmp(argv[1], "--emit"))
		return emit(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
