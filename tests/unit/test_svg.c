/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph as bytes: golden files (without the embedded style and script, which would hide
 * the changes that matter), XML well-formedness, sums, escaping, size. What it does in a browser is
 * tests/e2e/test_svg_browser.sh's. `GOLDEN_UPDATE=1 test_svg` rewrites the golden files;
 * `test_svg --emit FOLDER` writes every case as a whole SVG.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "encode/svg.h"
#include "svg_cases.h"

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

static int render(const struct svg_case *item, struct buf *out)
{
	struct profile prof;
	int err;

	fixture_init(&prof, item->type, item->unit);
	item->fill(&prof);
	err = encoder_svg.encode(&prof, &item->opts, out);
	profile_deinit(&prof);
	return err;
}

static const struct svg_case *find_case(const char *name)
{
	for (size_t i = 0; i < SVG_CASE_CNT; i++)
		if (!strcmp(svg_cases[i].name, name))
			return &svg_cases[i];
	return NULL;
}

static void render_case(const char *name, struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(render(find_case(name), out), 0);
}

/* Append @svg without what lies between @from and @to. */
static const char *add_without(struct buf *out, const char *svg, const char *from, const char *to)
{
	const char *begin = strstr(svg, from), *end;

	assert_non_null(begin);
	begin += strlen(from);
	end = strstr(begin, to);
	assert_non_null(end);
	buf_add(out, svg, (size_t)(begin - svg));
	return end;
}

static void without_assets(const struct buf *svg, struct buf *out)
{
	const char *rest = add_without(out, buf_cstr(svg), "<style>\n", "</style>");

	rest = add_without(out, rest, "<script><![CDATA[\n", "]]></script>");
	buf_add_str(out, rest);
}

static void expect_golden(const struct svg_case *item)
{
	struct buf svg, bare, golden;
	char path[256];

	render_case(item->name, &svg);
	buf_init(&bare, BUF_NO_MAX);
	buf_init(&golden, BUF_NO_MAX);
	without_assets(&svg, &bare);
	snprintf(path, sizeof(path), "%s/flame_%s.svg", GOLDEN_DIR, item->name);
	if (getenv("GOLDEN_UPDATE")) {
		struct fs_output output;

		assert_int_equal(fs_output_open(path, true, &output), 0);
		assert_int_equal(fs_output_commit(&output, bare.data, bare.len), 0);
	}
	assert_int_equal(fs_read_file(path, &golden), 0);
	assert_string_equal(buf_cstr(&bare), buf_cstr(&golden));
	buf_deinit(&svg);
	buf_deinit(&bare);
	buf_deinit(&golden);
}

static void equals_golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < SVG_CASE_CNT; i++)
		if (svg_cases[i].is_golden)
			expect_golden(&svg_cases[i]);
}

/* No byte of a hostile name acts as markup, and none is forbidden in XML. */
static void passes_no_markup_from_outside(void **state)
{
	struct buf svg, bare;

	(void)state;
	render_case("hostile", &svg);
	buf_init(&bare, BUF_NO_MAX);
	without_assets(&svg, &bare);
	assert_null(strstr(bare.data, "<b>"));
	assert_null(strstr(bare.data, "<svg onload"));
	assert_null(strstr(bare.data, "<!--"));
	assert_string_equal(strstr(bare.data, "<script>"),
			    "<script><![CDATA[\n]]></script>\n</svg>\n");
	assert_null(strstr(bare.data, "</text><script/>"));
	assert_string_equal(strstr(bare.data, "]]>"), "]]></script>\n</svg>\n");
	for (size_t i = 0; i < bare.len; i++)
		assert_true((unsigned char)bare.data[i] >= ' ' || bare.data[i] == '\n');
	assert_non_null(strstr(bare.data, "<title>ctl???[31m??? (14 samples, "));
	assert_non_null(
		strstr(bare.data, "]]]]]&gt;&lt;script&gt;alert(1)&lt;/script&gt; (12 samples, "));
	assert_non_null(strstr(bare.data, "\"]]]]]\\u003e\\u003cscript\\u003ealert(1)"));
	assert_non_null(strstr(bare.data, "\xd7\x9d ?gpj.exe? (16 samples, "));
	buf_deinit(&svg);
	buf_deinit(&bare);
}

static void replaces_what_is_not_utf8(void **state)
{
	static const char *const cases[][2] = {
		{"plain", "plain"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5"},
		{"\xff", "\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xef\xbf\xbe", "\xef\xbf\xbd"}, /* U+FFFE, no XML character */
		{"a\x01\tb\x7f\xc2\x85", "a??b??"},
		{"\xe2\x80\xaelr", "?lr"}, /* right-to-left override */
	};
	struct buf out;

	(void)state;
	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_reset(&out);
		svg_add_text(&out, cases[i][0]);
		assert_string_equal(buf_cstr(&out), cases[i][1]);
	}
	buf_deinit(&out);
}

static void fits_labels(void **state)
{
	static const struct {
		const char *text;
		uint32_t columns;
		const char *expected;
	} cases[] = {
		{"main", 4, "main"},
		{"main", 3, "ma\xe2\x80\xa6"},
		{"main", 1, ""},
		{"", 0, ""},
		{"\xe5\x87\xbd\xe6\x95\xb0", 4, "\xe5\x87\xbd\xe6\x95\xb0"},
		{"\xe5\x87\xbd\xe6\x95\xb0", 3, "\xe5\x87\xbd\xe2\x80\xa6"},
		{"a<b<c", 4, "a&lt;b\xe2\x80\xa6"},
	};
	struct buf out;

	(void)state;
	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_reset(&out);
		svg_add_fitted(&out, cases[i].text, cases[i].columns);
		assert_string_equal(buf_cstr(&out), cases[i].expected);
	}
	buf_deinit(&out);
}

static void breaks_paragraphs_at_spaces(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(svg_add_paragraph(&out, "c", "one two three", 10, 5, 8, 9), 2);
	assert_string_equal(buf_cstr(&out),
			    "<text class=\"c\"><tspan x=\"16\" y=\"10\">one two</tspan>"
			    "<tspan x=\"16\" y=\"15\">three</tspan></text>\n");
	buf_reset(&out);
	assert_int_equal(svg_add_paragraph(&out, "c", "unbreakable word", 0, 1, 5, 2), 2);
	assert_string_equal(buf_cstr(&out),
			    "<text class=\"c\"><tspan x=\"16\" y=\"0\">unbre</tspan>"
			    "<tspan x=\"16\" y=\"1\">akab\xe2\x80\xa6</tspan></text>\n");
	buf_reset(&out);
	assert_int_equal(svg_add_paragraph(&out, "c", "", 0, 1, 5, 2), 0);
	assert_string_equal(buf_cstr(&out), "<text class=\"c\"></text>\n");
	buf_deinit(&out);
}

static void writes_values_with_units(void **state)
{
	static const struct {
		const char *type, *unit;
		int64_t value;
		const char *expected;
	} cases[] = {
		{"samples", "count", 0, "0 samples"},
		{"samples", "count", 1, "1 samples"},
		{"samples", "count", 1234567, "1,234,567 samples"},
		{"page-faults", "count", 1000, "1,000 page-faults"},
		{"<x>", "count", 999, "999 &lt;x&gt;"},
		{"cpu", "milliseconds", 7, "7 milliseconds"},
		{"cpu", "nanoseconds", 999, "999 ns"},
		{"cpu", "nanoseconds", 1500, "1.50 \xc2\xb5s"},
		{"cpu", "nanoseconds", 1234567, "1.23 ms"},
		{"cpu", "nanoseconds", 1234567890123, "1,234.57 s"},
		{"space", "bytes", 1023, "1,023 bytes"},
		{"space", "bytes", 1536, "1.50 KiB"},
		{"space", "bytes", 3 << 20, "3.00 MiB"},
		{"space", "bytes", INT64_MAX, "8,388,608.00 TiB"},
	};
	struct buf out;

	(void)state;
	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct svg_unit unit = svg_unit_of(cases[i].type, cases[i].unit);

		buf_reset(&out);
		svg_add_value(&out, &unit, cases[i].value);
		assert_string_equal(buf_cstr(&out), cases[i].expected);
	}
	buf_reset(&out);
	svg_add_percent(&out, 1, 3);
	svg_add_percent(&out, INT64_MAX, INT64_MAX);
	svg_add_percent(&out, 0, 0);
	svg_add_fixed(&out, 1205);
	svg_add_fixed(&out, 30);
	svg_add_fixed(&out, 700);
	assert_string_equal(buf_cstr(&out), "33.33%100.00%0.00%12.050.37");
	buf_deinit(&out);
}

/* Everything a browser would fetch names a scheme, a host, or a url() that is not a fragment. */
static void needs_nothing_else(void **state)
{
	struct buf svg;

	(void)state;
	render_case("kinds", &svg);
	assert_null(strstr(svg.data, "href"));
	assert_null(strstr(svg.data, "@import"));
	assert_null(strstr(svg.data, "src="));
	for (const char *pos = svg.data; (pos = strstr(pos, "url(")); pos++)
		assert_memory_equal(pos, "url(#", 5);
	for (const char *pos = svg.data; (pos = strstr(pos, "://")); pos++)
		assert_memory_equal(pos, "://www.w3.org/", strlen("://www.w3.org/"));
	buf_deinit(&svg);
}

static cJSON *parse_data(const struct buf *svg)
{
	static const char open[] = "<script type=\"application/json\">";
	const char *begin = strstr(svg->data, open) + strlen(open);

	return cJSON_ParseWithLength(begin, (size_t)(strstr(begin, "</script>") - begin));
}

/* Read the data as the script does, and compare it with the tree node by node. */
static void expect_data_is_tree(const cJSON *data, const struct flame_tree *tree)
{
	const cJSON *names = cJSON_GetObjectItem(data, "names"), *name;
	const cJSON *item = cJSON_GetObjectItem(data, "nodes")->child;
	const char **texts = calloc((size_t)cJSON_GetArraySize(names) + 1, sizeof(*texts));
	int depth = -1, cnt = 0;

	cJSON_ArrayForEach(name, names) texts[cnt++] = name->valuestring;

	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];
		int frame = item->next->valueint;

		depth += 1 - item->valueint;
		assert_int_equal(depth, node->depth);
		assert_int_equal(frame % 64, node->kind * 4 + node->flags);
		assert_in_range(frame / 64, 0, cnt - 1);
		assert_string_equal(texts[frame / 64], flame_name(tree, node));
		assert_true(item->next->next->valuedouble == (double)node->self);
		item = item->next->next->next;
	}
	assert_null(item);
	free(texts);
}

static void carries_the_whole_tree(void **state)
{
	static const char *const names[] = {"kinds",  "empty", "times", "wall",
					    "narrow", "deep",  "large"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct svg_case *item = find_case(names[i]);
		struct flame_tree tree;
		struct profile prof;
		struct buf svg;
		cJSON *data;

		fixture_init(&prof, item->type, item->unit);
		item->fill(&prof);
		assert_int_equal(flame_build(&prof, 0, NULL, &tree), 0);
		render_case(names[i], &svg);
		data = parse_data(&svg);
		assert_non_null(data);
		expect_data_is_tree(data, &tree);
		cJSON_Delete(data);
		flame_deinit(&tree);
		profile_deinit(&prof);
		buf_deinit(&svg);
	}
}

/* Frames of a millionth are not drawn, but they are there. */
static void keeps_narrow_frames_in_the_data(void **state)
{
	struct buf svg;

	(void)state;
	render_case("narrow", &svg);
	assert_null(strstr(svg.data, "<title>inner_399 "));
	assert_non_null(strstr(svg.data, "\"inner_399\""));
	buf_deinit(&svg);
}

static void colours_the_state(void **state)
{
	static const char *const parts[] = {
		"<title>wall time flame graph</title>",
		"<g class=\"b\"><title>[blocked: futex] (3.00 s, 30.00%)</title>",
		"<g class=\"q\"><title>[runnable: woken] (1.00 s, 10.00%)</title>",
		">postgres (10.00 s, 100.00%; 35.00% on CPU, 25.00% runnable, 40.00% blocked)<",
		"<title>wait (4.00 s, 40.00%; 25.00% runnable, 75.00% blocked)</title>",
		"<title>work (5.00 s, 50.00%; 70.00% on CPU, 30.00% runnable)</title>",
		"<title>copy (2.00 s, 20.00%; on CPU)</title>",
		"<g class=\"kb\"><title>futex_wait (4.00 s",
		"<g class=\"lq\"><title>preempted (1.50 s, 15.00%; runnable)</title>",
		"<g class=\"d\"><title>-- (3.00 s, 30.00%)</title>",
		">woken by</text>",
		"<g class=\"ub w\"><title>unlock (3.00 s, 30.00%; waker)</title>",
		"<g class=\"p w\"><title>walwriter (3.00 s, 30.00%; waker)</title>",
		">blocked</text>",
		">runnable</text>",
		">mostly blocked</text>",
		">mostly runnable</text>",
		">waker (dashed)</text>",
	};
	struct buf svg;

	(void)state;
	render_case("wall", &svg);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strstr(svg.data, parts[i]))
			fail_msg("no %s", parts[i]);
	buf_deinit(&svg);
	render_case("kinds", &svg);
	assert_null(strstr(svg.data, ">blocked</text>"));
	assert_null(strstr(svg.data, "on CPU)</title>"));
	buf_deinit(&svg);
}

static void says_that_it_is_empty(void **state)
{
	struct buf svg;

	(void)state;
	render_case("empty", &svg);
	assert_non_null(strstr(svg.data, "Nothing was sampled"));
	assert_non_null(strstr(svg.data, "holds no stacks"));
	assert_non_null(strstr(svg.data, "5,940 ticks"));
	buf_deinit(&svg);
	render_case("zeros", &svg);
	assert_non_null(strstr(svg.data, "None of its 2 stacks"));
	buf_deinit(&svg);
}

/* A file need not declare any value. */
static void draws_a_profile_without_values(void **state)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	struct profile prof;
	struct buf svg;

	(void)state;
	profile_init(&prof);
	buf_init(&svg, BUF_NO_MAX);
	assert_int_equal(encoder_svg.encode(&prof, &opts, &svg), 0);
	assert_non_null(strstr(svg.data, "Nothing was sampled"));
	buf_deinit(&svg);
	profile_deinit(&prof);
}

static void refuses_wrong_options(void **state)
{
	struct svg_case item = *find_case("kinds");
	struct buf svg;

	(void)state;
	item.opts.value = 1;
	buf_init(&svg, BUF_NO_MAX);
	assert_int_equal(render(&item, &svg), -EINVAL);
	buf_deinit(&svg);
	item.opts.value = 0;
	buf_init(&svg, 1000);
	assert_int_equal(render(&item, &svg), -EFBIG);
	buf_deinit(&svg);
}

static void stays_small(void **state)
{
	const struct svg_case *item = find_case("large");
	struct profile prof;
	struct buf svg;
	uint64_t start;

	(void)state;
	fixture_init(&prof, item->type, item->unit);
	item->fill(&prof);
	buf_init(&svg, BUF_NO_MAX);
	start = clock_monotonic_ns();
	assert_int_equal(encoder_svg.encode(&prof, &item->opts, &svg), 0);
	assert_true(svg.len <= 8 << 20);
	print_message("%zu stacks: %zu bytes, %llu ms\n", prof.stack_cnt, svg.len,
		      (clock_monotonic_ns() - start) / NSEC_PER_MSEC);
	buf_deinit(&svg);
	profile_deinit(&prof);
}

static int emit(const char *folder)
{
	for (size_t i = 0; i < SVG_CASE_CNT; i++) {
		struct fs_output output;
		char path[4096];
		struct buf svg;
		int err;

		snprintf(path, sizeof(path), "%s/%s.svg", folder, svg_cases[i].name);
		buf_init(&svg, BUF_NO_MAX);
		err = render(&svg_cases[i], &svg);
		if (!err)
			err = fs_output_open(path, true, &output);
		if (!err)
			err = fs_output_commit(&output, svg.data, svg.len);
		buf_deinit(&svg);
		if (err) {
			fprintf(stderr, "test_svg: %s: %s\n", path, strerror(-err));
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_golden_files),
		cmocka_unit_test(passes_no_markup_from_outside),
		cmocka_unit_test(replaces_what_is_not_utf8),
		cmocka_unit_test(fits_labels),
		cmocka_unit_test(breaks_paragraphs_at_spaces),
		cmocka_unit_test(writes_values_with_units),
		cmocka_unit_test(needs_nothing_else),
		cmocka_unit_test(carries_the_whole_tree),
		cmocka_unit_test(keeps_narrow_frames_in_the_data),
		cmocka_unit_test(colours_the_state),
		cmocka_unit_test(says_that_it_is_empty),
		cmocka_unit_test(draws_a_profile_without_values),
		cmocka_unit_test(refuses_wrong_options),
		cmocka_unit_test(stays_small),
	};

	if (argc == 3 && !strcmp(argv[1], "--emit"))
		return emit(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
