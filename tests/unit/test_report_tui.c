/* SPDX-License-Identifier: Apache-2.0 */
/* The full-screen report without a terminal: what keys show, counted by hand on one profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tui.h"

struct fixture {
	struct profile prof;
	struct tui tui;
};

struct frame_line {
	const char *name;
	uint32_t line;
};

static uint32_t place(struct profile *prof, uint32_t mapping, uint64_t address, uint16_t flags,
		      const struct frame_line *frames)
{
	struct profile_line lines[4];
	size_t cnt = 0;

	for (; frames[cnt].name; cnt++)
		lines[cnt] = (struct profile_line){
			profile_function(prof, frames[cnt].name, frames[cnt].name, "/src/app.c", 1),
			frames[cnt].line};
	return profile_location_lines(prof, mapping, address, flags, lines, cnt);
}

#define PLACE(prof, mapping, address, flags, ...) \
	place(prof, mapping, address, flags, (const struct frame_line[]){__VA_ARGS__, {NULL, 0}})

static void add(struct profile *prof, const char *comm, int64_t cnt, const uint32_t *stack,
		size_t depth)
{
	const int64_t values[] = {cnt, 10 * cnt};
	struct profile_label label = {
		.key = profile_string(prof, "comm"),
		.str = profile_string(prof, comm),
		.num_unit = STRTAB_EMPTY,
	};

	profile_sample(prof, profile_stack(prof, stack, depth), profile_labels(prof, &label, 1),
		       values);
}

#define ADD(prof, comm, cnt, ...)                             \
	add(prof, comm, cnt, (const uint32_t[]){__VA_ARGS__}, \
	    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/*
 * Root first:
 *	web	50 main;parse;next (inlined)   20 main;parse;eval   20 main;parse;vfs_read (kernel)
 *	db	 5 main;eval;eval               5 main;eval
 */
static void make_profile(struct profile *prof)
{
	uint32_t app, kernel, main_, parse, parse_read, next, eval, read;

	assert_int_equal(profile_init(prof), 0);
	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	app = profile_mapping(prof, "/usr/bin/app", "");
	kernel = profile_mapping(prof, "[kernel.kallsyms]", "");
	main_ = PLACE(prof, app, 0x110, 0, {"main", 9});
	parse = PLACE(prof, app, 0x200, 0, {"parse", 31});
	parse_read = PLACE(prof, app, 0x208, 0, {"parse", 33});
	next = PLACE(prof, app, 0x210, 0, {"next", 12}, {"parse", 31});
	eval = PLACE(prof, app, 0x300, 0, {"eval", 40});
	read = PLACE(prof, kernel, 0xffffffff81000000, LOCATION_KERNEL, {"vfs_read", 0});
	ADD(prof, "web", 50, next, main_);
	ADD(prof, "web", 20, eval, parse, main_);
	ADD(prof, "web", 20, read, parse_read, main_);
	ADD(prof, "db", 5, eval, eval, main_);
	ADD(prof, "db", 5, eval, main_);
	assert_int_equal(prof->err, 0);
}

static const struct tui_opts opts = {.files = "app.pb.gz"};

static int setup(void **state)
{
	static struct fixture fix;

	fix = (struct fixture){0};
	make_profile(&fix.prof);
	assert_int_equal(tui_init(&fix.tui, &fix.prof, &opts), 0);
	tui_set_height(&fix.tui, 20);
	*state = &fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	tui_deinit(&fix->tui);
	profile_deinit(&fix->prof);
	return 0;
}

/* --- What is shown --- */

static void add_row(const struct tui *tui, size_t index, struct buf *out)
{
	const struct tui_view *view = tui->view;
	const struct call_node *node;
	struct tui_code_row row;

	switch (view->kind) {
	case TUI_TOP:
		report_row_label(&tui->report, view->top.order[index], out);
		buf_printf(out, " %lld/%lld",
			   (long long)view->top.table.rows[view->top.order[index]].self,
			   (long long)view->top.table.rows[view->top.order[index]].total);
		break;
	case TUI_TREE:
	case TUI_CALLERS:
		node = &view->tree.nodes[view->rows.nodes[index]];
		buf_printf(out, "%*s", (int)node->depth, "");
		report_row_label(&tui->report, node->row, out);
		buf_printf(out, " %lld/%lld", (long long)node->self, (long long)node->total);
		break;
	case TUI_ANNOTATE:
		buf_init(&row.text, BUF_NO_MAX);
		tui_code_get(&view->code, index, &row);
		buf_printf(out, "%llx %lld/%lld%s", (unsigned long long)row.at, (long long)row.self,
			   (long long)row.total, buf_cstr(&row.text));
		buf_deinit(&row.text);
		break;
	case TUI_HELP:
		buf_add_str(out, "help");
		break;
	}
}

/* All rows of the list, the current one in angle brackets, against @expected. */
static void shows(struct tui *tui, const char *expected)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < tui->view->list.cnt; i++) {
		buf_add_str(&out, i == tui->view->list.current ? "<" : "");
		add_row(tui, i, &out);
		buf_add_str(&out, i == tui->view->list.current ? ">\n" : "\n");
	}
	assert_string_equal(buf_cstr(&out), expected);
	buf_deinit(&out);
}

static void press(struct tui *tui, uint32_t key)
{
	assert_int_equal(tui_key(tui, key), 0);
}

static void type(struct tui *tui, const char *text)
{
	for (; *text; text++)
		press(tui, (uint8_t)*text);
}

/* --- The table --- */

static void test_table(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	shows(tui, "<next  [app] 50/50>\n"
		   "eval  [app] 30/30\n"
		   "vfs_read  [kernel.kallsyms] 20/20\n"
		   "main  [app] 0/100\n"
		   "parse  [app] 0/90\n");
	press(tui, SCREEN_KEY_DOWN);
	press(tui, 's');
	shows(tui, "<main  [app] 0/100>\n"
		   "parse  [app] 0/90\n"
		   "next  [app] 50/50\n"
		   "eval  [app] 30/30\n"
		   "vfs_read  [kernel.kallsyms] 20/20\n");
	press(tui, 's');
	shows(tui, "<eval  [app] 30/30>\n"
		   "main  [app] 0/100\n"
		   "next  [app] 50/50\n"
		   "parse  [app] 0/90\n"
		   "vfs_read  [kernel.kallsyms] 20/20\n");
	press(tui, 's');
	assert_int_equal(tui->view->sort, FUNC_BY_SELF);
}

static void test_zoom(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, SCREEN_KEY_END);
	press(tui, 'z');
	shows(tui, "<next  [app] 50/50>\n"
		   "eval  [app] 20/20\n"
		   "vfs_read  [kernel.kallsyms] 20/20\n"
		   "parse  [app] 0/90\n");
	assert_int_equal(tui->view->top.total, 90);
	press(tui, 't');
	shows(tui, "<parse  [app] 0/90>\n"
		   " next  [app] 50/50\n"
		   " eval  [app] 20/20\n"
		   " vfs_read  [kernel.kallsyms] 20/20\n");
	press(tui, 'u');
	assert_int_equal(tui->view->kind, TUI_TOP);
	assert_int_equal(tui->view->list.current, 4);
	press(tui, 'u');
	assert_non_null(tui->view);
}

static void test_values(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, 'v');
	assert_string_equal(tui->report.unit, "nanoseconds");
	assert_int_equal(tui->table.total, 1000);
	assert_int_equal(tui->view->top.table.rows[tui->view->top.order[0]].self, 500);
	press(tui, 't');
	assert_int_equal(tui->view->tree.total, 1000);
	press(tui, 'v');
	assert_int_equal(tui->view->tree.total, 100);
}

/* --- Trees --- */

static void test_folding(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, 't');
	shows(tui, "<web 0/90>\n"
		   "db 0/10\n");
	/* As far as nothing branches off. */
	press(tui, SCREEN_KEY_RIGHT);
	shows(tui, "<web 0/90>\n"
		   " main  [app] 0/90\n"
		   "  parse  [app] 0/90\n"
		   "   next  [app] 50/50\n"
		   "   eval  [app] 20/20\n"
		   "   vfs_read  [kernel.kallsyms] 20/20\n"
		   "db 0/10\n");
	press(tui, SCREEN_KEY_DOWN);
	press(tui, '-');
	shows(tui, "web 0/90\n"
		   "< main  [app] 0/90>\n"
		   "db 0/10\n");
	/* Left of a folded one is its caller; what was open below comes back with it. */
	press(tui, SCREEN_KEY_LEFT);
	assert_int_equal(tui->view->list.current, 0);
	press(tui, SCREEN_KEY_LEFT);
	shows(tui, "<web 0/90>\n"
		   "db 0/10\n");
	press(tui, SCREEN_KEY_END);
	press(tui, 'E');
	shows(tui, "web 0/90\n"
		   "<db 0/10>\n"
		   " main  [app] 0/10\n"
		   "  eval  [app] 5/10\n"
		   "   eval  [app] 5/5\n");
	press(tui, SCREEN_KEY_ENTER);
	press(tui, SCREEN_KEY_ENTER);
	assert_int_equal(tui->view->list.cnt, 5);
	press(tui, 'C');
	shows(tui, "web 0/90\n"
		   "<db 0/10>\n");
	/* Nothing is below a leaf. */
	press(tui, 'E');
	press(tui, SCREEN_KEY_END);
	press(tui, SCREEN_KEY_ENTER);
	press(tui, '+');
	press(tui, '-');
	press(tui, 'C');
	assert_int_equal(tui->view->list.cnt, 5);
}

static void test_callers_and_callees(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, SCREEN_KEY_DOWN);
	press(tui, SCREEN_KEY_ENTER);
	/* eval() that calls itself counts once, from its outermost call. */
	shows(tui, "<eval  [app] 0/30>\n"
		   " parse  [app] 0/20\n"
		   " main  [app] 0/10\n");
	press(tui, 'E');
	shows(tui, "<eval  [app] 0/30>\n"
		   " parse  [app] 0/20\n"
		   "  main  [app] 0/20\n"
		   "   web 20/20\n"
		   " main  [app] 0/10\n"
		   "  db 10/10\n");
	press(tui, 'e');
	shows(tui, "<eval  [app] 25/30>\n"
		   " eval  [app] 5/5\n");
	press(tui, SCREEN_KEY_ESCAPE);
	assert_int_equal(tui->view->list.cnt, 6);
	press(tui, SCREEN_KEY_BACKSPACE);
	assert_int_equal(tui->view->kind, TUI_TOP);
	assert_int_equal(tui->view->list.current, 1);
}

/* --- Searching --- */

static void test_search_table(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, '/');
	type(tui, "^(PARSE|VFS).*");
	press(tui, SCREEN_KEY_ENTER);
	assert_int_equal(tui->view->list.current, 2);
	press(tui, 'n');
	assert_int_equal(tui->view->list.current, 4);
	press(tui, 'n');
	assert_int_equal(tui->view->list.current, 2);
	press(tui, 'N');
	assert_int_equal(tui->view->list.current, 4);
	/* Keys are text while a search is typed; Esc leaves it. */
	press(tui, '/');
	type(tui, "qzt");
	press(tui, SCREEN_KEY_ESCAPE);
	assert_false(tui->is_done);
	shows(tui, "next  [app] 50/50\n"
		   "eval  [app] 30/30\n"
		   "vfs_read  [kernel.kallsyms] 20/20\n"
		   "main  [app] 0/100\n"
		   "<parse  [app] 0/90>\n");
}

static void test_search_fails(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, 'n');
	assert_non_null(strstr(buf_cstr(&tui->message), "no search yet"));
	press(tui, '/');
	type(tui, "(");
	press(tui, SCREEN_KEY_ENTER);
	assert_non_null(strstr(buf_cstr(&tui->message), "not a regular expression: "));
	press(tui, '/');
	type(tui, "absent");
	press(tui, SCREEN_KEY_ENTER);
	assert_string_equal(buf_cstr(&tui->message), "nothing found");
	press(tui, SCREEN_KEY_DOWN);
	assert_int_equal(tui->message.len, 0);
	assert_int_equal(tui->view->list.current, 1);
}

static void test_search_tree(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, 't');
	press(tui, '/');
	type(tui, "eval");
	press(tui, SCREEN_KEY_ENTER);
	/* What hides it is unfolded, and nothing else. */
	shows(tui, "web 0/90\n"
		   " main  [app] 0/90\n"
		   "  parse  [app] 0/90\n"
		   "   next  [app] 50/50\n"
		   "<   eval  [app] 20/20>\n"
		   "   vfs_read  [kernel.kallsyms] 20/20\n"
		   "db 0/10\n");
	press(tui, 'n');
	assert_int_equal(tui->view->list.current, 8);
	press(tui, 'n');
	shows(tui, "web 0/90\n"
		   " main  [app] 0/90\n"
		   "  parse  [app] 0/90\n"
		   "   next  [app] 50/50\n"
		   "   eval  [app] 20/20\n"
		   "   vfs_read  [kernel.kallsyms] 20/20\n"
		   "db 0/10\n"
		   " main  [app] 0/10\n"
		   "  eval  [app] 5/10\n"
		   "<   eval  [app] 5/5>\n");
	press(tui, 'n');
	assert_int_equal(tui->view->list.current, 4);
	press(tui, 'N');
	assert_int_equal(tui->view->list.current, 9);
	/* The same symbol. */
	press(tui, SCREEN_KEY_HOME);
	press(tui, SCREEN_KEY_DOWN);
	press(tui, '#');
	assert_int_equal(tui->view->list.current, 7);
	press(tui, 'n');
	assert_int_equal(tui->view->list.current, 1);
}

/* --- Annotated functions --- */

static void test_annotate_lines(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, SCREEN_KEY_END);
	press(tui, 'a');
	/* parse(): line 31 has the inlined next() and the call of eval(). */
	shows(tui, "<1f 0/70>\n"
		   "21 0/20\n");
	assert_non_null(strstr(tui_code_why(&tui->view->code), "/src/app.c: No such file"));
	press(tui, 's');
	shows(tui, "200 0/20\n"
		   "208 0/20\n"
		   "<210 0/50>\n");
	assert_string_equal(tui_code_why(&tui->view->code),
			    "the profile has no build-id of /usr/bin/app: another file could be "
			    "there now");
	press(tui, 'H');
	assert_int_equal(tui->view->list.current, 2);
	press(tui, SCREEN_KEY_TAB);
	assert_int_equal(tui->view->list.cnt, 2);
	press(tui, SCREEN_KEY_LEFT);
	assert_int_equal(tui->view->kind, TUI_TOP);
	/* Recursion: both calls are at one line, and count once. */
	press(tui, SCREEN_KEY_HOME);
	press(tui, SCREEN_KEY_DOWN);
	press(tui, 'a');
	shows(tui, "<28 30/30>\n");
}

static void test_annotate_kernel(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;

	press(tui, SCREEN_KEY_DOWN);
	press(tui, SCREEN_KEY_DOWN);
	press(tui, 'a');
	assert_true(tui->view->code.by_insn);
	shows(tui, "<ffffffff81000000 20/20>\n");
	assert_string_equal(tui_code_why(&tui->view->code),
			    "the code of [kernel.kallsyms] is in no file");
	press(tui, SCREEN_KEY_ESCAPE);
	press(tui, 't');
	press(tui, 'a');
	assert_string_equal(buf_cstr(&tui->message),
			    "a thread's name or state has no code to annotate");
}

static void test_annotation_parts(void **state)
{
	struct tui *tui = &((struct fixture *)*state)->tui;
	struct annotation annotation;
	struct annotation_part sum;

	assert_int_equal(annotation_init(&annotation, &tui->report, tui->view->top.order[4],
					 ANNOTATE_ADDRESSES),
			 0);
	assert_int_equal(annotation.cnt, 3);
	assert_int_equal(annotation.total, 90);
	sum = annotation_sum(&annotation, 0x201, 0x210);
	assert_int_equal(sum.total, 20);
	sum = annotation_sum(&annotation, 0x208, 0x211);
	assert_int_equal(sum.total, 70);
	sum = annotation_sum(&annotation, 0x211, UINT64_MAX);
	assert_int_equal(sum.total, 0);
	assert_int_equal(annotation_hottest(&annotation)->at, 0x210);
	annotation_deinit(&annotation);
	assert_null(annotation_hottest(&annotation));
}

static void test_disassembly(void **state)
{
	/* push %rbp; mov %rsp,%rbp; two bytes that are no instruction; ret */
	uint8_t x86[] = {0x55, 0x48, 0x89, 0xe5, 0x06, 0xc3};
	uint8_t arm64[] = {0xff, 0x43, 0x00, 0xd1, 0xc0, 0x03, 0x5f, 0xd6};
	struct elf_code code = {EM_X86_64, 0x1000, x86, sizeof(x86)};
	struct disasm disasm;

	assert_int_equal(disasm_init(&disasm, &code), 0);
	assert_int_equal(disasm.cnt, 4);
	assert_string_equal(disasm_text(&disasm, 1), "movq     %rsp, %rbp");
	assert_int_equal(disasm.insns[1].vaddr, 0x1001);
	assert_string_equal(disasm_text(&disasm, 2), ".byte    0x06");
	assert_string_equal(disasm_text(&disasm, 3), "retq");
	disasm_deinit(&disasm);
	code = (struct elf_code){EM_AARCH64, 0x1000, arm64, sizeof(arm64)};
	assert_int_equal(disasm_init(&disasm, &code), 0);
	assert_int_equal(disasm.cnt, 2);
	assert_string_equal(disasm_text(&disasm, 0), "sub      sp, sp, #0x10");
	assert_string_equal(disasm_text(&disasm, 1), "ret");
	disasm_deinit(&disasm);
	code.machine = EM_RISCV;
	assert_int_equal(disasm_init(&disasm, &code), -ENOTSUP);
	disasm_deinit(&disasm);
}

/* --- Source --- */

static void read_source(const char *text, struct source_text *out)
{
	char path[] = "/tmp/bpfprof-source-XXXXXX";
	int fd = mkstemp(path);
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(source_text_read(path, out, &why), 0);
	unlink(path);
	buf_deinit(&why);
}

static void line_is(const struct source_text *source, uint64_t nr, const char *expected)
{
	struct buf line;

	buf_init(&line, BUF_NO_MAX);
	source_text_line(source, nr, &line);
	assert_string_equal(buf_cstr(&line), expected);
	buf_deinit(&line);
}

static void test_source(void **state)
{
	struct source_text source;
	struct buf why;

	read_source("one\n\n\tthree\tx\r\nfour", &source);
	assert_int_equal(source.cnt, 4);
	line_is(&source, 0, "");
	line_is(&source, 1, "one");
	line_is(&source, 2, "");
	line_is(&source, 3, "        three   x");
	line_is(&source, 4, "four");
	line_is(&source, 5, "");
	line_is(&source, UINT64_MAX, "");
	source_text_deinit(&source);

	/* Neither a device nor a folder is read, nor what lies outside of where we are. */
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(source_text_read("/dev/zero", &source, &why), -ENOENT);
	assert_non_null(strstr(buf_cstr(&why), "/dev/zero: "));
	assert_int_equal(source_text_read("/tmp", &source, &why), -ENOENT);
	assert_int_equal(source_text_read("../../../../../../../../../../../../etc/passwd", &source,
					  &why),
			 -ENOENT);
	assert_int_equal(source_text_read("", &source, &why), -ENOENT);
	buf_deinit(&why);
}

/* --- Noise, and profiles without anything --- */

static void test_noise(void **state)
{
	struct fixture *fix = *state;
	struct report report = fix->tui.report;

	assert_true(report_is_noise(&report, 9));
	assert_false(report_is_noise(&report, 10));
	/* Lengths: nobody says how many there were. */
	report.value = 1;
	assert_int_equal(report_sample_cnt(&report, 5), -1);
	assert_false(report_is_noise(&report, 5));
	fix->prof.period = 100;
	fix->prof.period_type = fix->prof.value_types[1];
	assert_int_equal(report_sample_cnt(&report, 1000), 10);
	assert_true(report_is_noise(&report, 999));
	/* Every event was counted. */
	fix->prof.period = 1;
	assert_false(report_is_noise(&report, 1));
}

static void test_empty(void **state)
{
	static const char keys[] = "tE+-CLrezavsnN#HuaAh?";
	struct profile prof;
	struct tui tui;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	assert_int_equal(tui_init(&tui, &prof, &opts), 0);
	for (size_t height = 0; height < 3; height++) {
		tui_set_height(&tui, height);
		for (const char *key = keys; *key; key++)
			press(&tui, (uint8_t)*key);
		for (uint32_t key = SCREEN_KEY_NONE; key <= SCREEN_KEY_OTHER; key++)
			if (key != SCREEN_KEY_STOP)
				press(&tui, key);
	}
	assert_false(tui.is_done);
	press(&tui, SCREEN_KEY_STOP);
	assert_true(tui.is_done);
	tui_deinit(&tui);
	profile_deinit(&prof);
}

/* A long way of keys in random order: sanitizers watch. */
static void test_any_keys(void **state)
{
	static const char keys[] = "tE+-CrezavsnN#HuahjkjkE ";
	struct tui *tui = &((struct fixture *)*state)->tui;
	uint32_t seed = 1;

	press(tui, '/');
	type(tui, "e");
	press(tui, SCREEN_KEY_ENTER);
	for (int i = 0; i < 3000; i++) {
		seed = seed * 1103515245 + 12345;
		press(tui, seed >> 16 & 1 ? (uint8_t)keys[(seed >> 20) % (sizeof(keys) - 1)]
					  : SCREEN_KEY_UP + (seed >> 20) % 10);
		assert_true(!tui->view->list.cnt || tui->view->list.current < tui->view->list.cnt);
		if (i % 20 == 0)
			while (tui->view->below)
				tui_pop(tui);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_table),
		TEST(test_zoom),
		TEST(test_values),
		TEST(test_folding),
		TEST(test_callers_and_callees),
		TEST(test_search_table),
		TEST(test_search_fails),
		TEST(test_search_tree),
		TEST(test_annotate_lines),
		TEST(test_annotate_kernel),
		TEST(test_annotation_parts),
		cmocka_unit_test(test_disassembly),
		cmocka_unit_test(test_source),
		TEST(test_noise),
		cmocka_unit_test(test_empty),
		TEST(test_any_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
