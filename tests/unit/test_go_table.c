/* SPDX-License-Identifier: Apache-2.0 */
/* Go's tables: frames of both prologues, functions on two stacks, bottoms, and tables that are
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/go_table.h"

enum {
	TEXT_VADDR = 0x401000,
	TEXT_BYTES = 0x200,
	NAMES_AT = 0x48,
	PCTAB_AT = 0x100,
	FUNCTAB_AT = 0x180,
	FUNCS_AT = 0x100, /* from functab */
	FUNC_BYTES = 48,
	TABLE_BYTES = 0x500,
	ROWS_MAX_TEST = 32,

	FLAG_TOP_FRAME = 1,
	FLAG_SP_WRITE = 2,
	FLAG_ASM = 4,
};

struct image {
	uint8_t table[TABLE_BYTES], text[TEXT_BYTES];
	uint32_t funcs, names_len, pctab_len, flags_off;
	struct cfi_sections sections;
};

struct seen {
	uint64_t vaddr[ROWS_MAX_TEST];
	struct bp_rule rule[ROWS_MAX_TEST];
	size_t cnt;
};

static void put(struct image *image, uint32_t at, uint64_t value, uint32_t bytes)
{
	memcpy(image->table + at, &value, bytes);
}

static void image_init(struct image *image, uint32_t magic)
{
	*image = (struct image){.flags_off = magic == 0xfffffff0 ? 37 : 41};
	put(image, 0, magic, 4);
	put(image, 4, 0x08010000, 4);
	put(image, 24, TEXT_VADDR, 8);
	put(image, 32, NAMES_AT, 8);
	put(image, 56, PCTAB_AT, 8);
	put(image, 64, FUNCTAB_AT, 8);
	image->sections = (struct cfi_sections){
		.machine = EM_X86_64,
		.go_pclntab = {.data = image->table, .len = TABLE_BYTES},
		.go_text = {.data = image->text, .len = TEXT_BYTES, .vaddr = TEXT_VADDR},
	};
}

/* Function @name from @entry up to @end, with @pcsp. */
static void add(struct image *image, const char *name, uint32_t entry, uint32_t end, uint8_t flags,
		const char *pcsp)
{
	uint32_t index = image->funcs++, func = FUNCS_AT + index * FUNC_BYTES;

	put(image, 8, image->funcs, 8);
	put(image, FUNCTAB_AT + index * 8, entry, 4);
	put(image, FUNCTAB_AT + index * 8 + 4, func, 4);
	put(image, FUNCTAB_AT + index * 8 + 8, end, 4);
	put(image, FUNCTAB_AT + func + 4, image->names_len, 4);
	put(image, FUNCTAB_AT + func + 16, image->pctab_len, 4);
	put(image, FUNCTAB_AT + func + image->flags_off, flags, 1);
	memcpy(image->table + NAMES_AT + image->names_len, name, strlen(name) + 1);
	image->names_len += strlen(name) + 1;
	memcpy(image->table + PCTAB_AT + image->pctab_len, pcsp, strlen(pcsp) + 1);
	image->pctab_len += strlen(pcsp) + 1;
}

static void code(struct image *image, uint32_t at, const char *bytes, size_t len)
{
	memcpy(image->text + at, bytes, len);
}

static void see(void *ctx, uint64_t vaddr, const struct bp_rule *rule)
{
	struct seen *seen = ctx;

	assert_true(seen->cnt < ROWS_MAX_TEST);
	seen->vaddr[seen->cnt] = vaddr;
	seen->rule[seen->cnt++] = *rule;
}

static struct seen rows_of(const struct image *image)
{
	struct seen seen = {.cnt = 0};
	struct go_table table;

	assert_true(go_table_init(&table, &image->sections));
	go_table_rows(&table, TEXT_VADDR, TEXT_VADDR + TEXT_BYTES, see, &seen);
	return seen;
}

static void assert_frame(const struct seen *seen, size_t i, uint32_t at, int32_t cfa_off,
			 uint8_t fp_save)
{
	assert_true(i < seen->cnt);
	assert_int_equal(seen->vaddr[i], TEXT_VADDR + at);
	assert_int_equal(seen->rule[i].kind, BP_RULE_REG);
	assert_int_equal(seen->rule[i].cfa_reg, 7);
	assert_int_equal(seen->rule[i].cfa_off, cfa_off);
	assert_int_equal(seen->rule[i].ra_save, BP_SAVE_CFA);
	assert_int_equal(seen->rule[i].ra_off, -8);
	assert_int_equal(seen->rule[i].fp_save, fp_save);
	assert_int_equal(seen->rule[i].fp_off, fp_save == BP_SAVE_CFA ? -16 : 0);
}

static void assert_kind(const struct seen *seen, size_t i, uint32_t at, uint8_t kind)
{
	assert_true(i < seen->cnt);
	assert_int_equal(seen->vaddr[i], TEXT_VADDR + at);
	assert_int_equal(seen->rule[i].kind, kind);
}

/* sub $24,%rsp; mov %rbp,16(%rsp); ...; add $24,%rsp; ret: values 0, 24, 0. */
static void prologue_of_1_18(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff0);
	add(&image, "main.f", 0, 0x20, 0, "\x02\x04\x30\x1b\x2f\x01");
	code(&image, 0, "\x48\x83\xec\x18\x48\x89\x6c\x24\x10", 9);
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 4);
	assert_frame(&seen, 0, 0, 8, BP_SAVE_SAME);
	assert_frame(&seen, 1, 4, 32, BP_SAVE_SAME);
	assert_frame(&seen, 2, 9, 32, BP_SAVE_CFA);
	assert_frame(&seen, 3, 0x1f, 8, BP_SAVE_SAME);
}

/* The same with displacements of no byte and of four. */
static void prologues_with_other_displacements(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff0);
	add(&image, "main.small", 0, 0x20, 0, "\x02\x04\x10\x1c");
	code(&image, 0, "\x48\x83\xec\x08\x48\x89\x2c\x24", 8);
	add(&image, "main.large", 0x20, 0x40, 0, "\x02\x07\xc0\x02\x19");
	code(&image, 0x20, "\x48\x81\xec\xa0\x00\x00\x00\x48\x89\xac\x24\x98\x00\x00\x00", 15);
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 6);
	assert_frame(&seen, 1, 4, 16, BP_SAVE_SAME);
	assert_frame(&seen, 2, 8, 16, BP_SAVE_CFA);
	assert_frame(&seen, 4, 0x27, 168, BP_SAVE_SAME);
	assert_frame(&seen, 5, 0x2f, 168, BP_SAVE_CFA);
}

/* push %rbp; mov %rsp,%rbp; sub $16,%rsp: values 0, 8, 24. */
static void prologue_of_1_21(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff1);
	add(&image, "main.f", 0, 0x20, 0, "\x02\x01\x10\x07\x20\x18");
	code(&image, 0, "\x55\x48\x89\xe5\x48\x83\xec\x10", 8);
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 3);
	assert_frame(&seen, 1, 1, 16, BP_SAVE_CFA);
	assert_frame(&seen, 2, 8, 32, BP_SAVE_CFA);
}

static void rbp_saved_elsewhere_is_lost(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff0);
	add(&image, "runtime.sigtramp", 0, 0x20, FLAG_ASM | FLAG_TOP_FRAME, "\x02\x04\x30\x1c");
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 2);
	assert_frame(&seen, 1, 4, 32, BP_SAVE_UNDEFINED);
}

static void two_stacks_go_by_frame_pointer(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff0);
	add(&image, "runtime.systemstack", 0, 0x20, FLAG_ASM | FLAG_SP_WRITE, "\x02\x20");
	add(&image, "time.now", 0x20, 0x40, FLAG_ASM | FLAG_SP_WRITE, "\x02\x04\x30\x1b\x2f\x01");
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 4);
	assert_kind(&seen, 0, 0, BP_RULE_FP);
	assert_frame(&seen, 1, 0x20, 8, BP_SAVE_SAME);
	assert_kind(&seen, 2, 0x24, BP_RULE_FP);
	assert_frame(&seen, 3, 0x3f, 8, BP_SAVE_SAME);
}

static void bottoms_and_signals(void **state)
{
	struct image image;
	struct seen seen;

	image_init(&image, 0xfffffff0);
	add(&image, "runtime.goexit", 0, 0x10, FLAG_ASM | FLAG_TOP_FRAME, "\x02\x10");
	add(&image, "runtime.mcall", 0x10, 0x20, FLAG_ASM | FLAG_SP_WRITE, "\x02\x10");
	add(&image, "runtime.sigreturn", 0x20, 0x30, FLAG_ASM, "\x02\x10");
	add(&image, "start", 0x30, 0x40, 0, "\x02\x10");
	image.sections.entry_vaddr = TEXT_VADDR + 0x34;
	seen = rows_of(&image);
	assert_int_equal(seen.cnt, 4);
	assert_kind(&seen, 0, 0, BP_RULE_END);
	assert_kind(&seen, 1, 0x10, BP_RULE_END);
	assert_kind(&seen, 2, 0x20, BP_RULE_SIGNAL);
	assert_kind(&seen, 3, 0x30, BP_RULE_END);
}

static void only_the_range_that_is_asked_for(void **state)
{
	struct seen seen = {.cnt = 0};
	struct go_table table;
	struct image image;

	image_init(&image, 0xfffffff0);
	add(&image, "main.a", 0, 0x10, 0, "\x02\x10");
	add(&image, "main.b", 0x10, 0x20, 0, "\x02\x10");
	add(&image, "main.c", 0x20, 0x30, 0, "\x02\x08\x10\x08");
	assert_true(go_table_init(&table, &image.sections));
	assert_int_equal(go_table_rows(&table, TEXT_VADDR + 8, TEXT_VADDR + 0x24, see, &seen),
			 TEXT_VADDR + 0x24);
	assert_int_equal(seen.cnt, 2);
	assert_frame(&seen, 0, 0x10, 8, BP_SAVE_SAME);
	assert_frame(&seen, 1, 0x20, 8, BP_SAVE_SAME);
	assert_int_equal(go_table_rows(&table, TEXT_VADDR + 0x21, TEXT_VADDR + 0x40, see, &seen),
			 TEXT_VADDR + 0x21);
}

/* Whatever is cut off or broken, rows ascend and stay inside. */
static void broken_tables(void **state)
{
	struct image whole, image;
	struct go_table table;

	image_init(&whole, 0xfffffff0);
	add(&whole, "main.f", 0, 0x20, 0, "\x02\x04\x30\x1b\x2f\x01");
	add(&whole, "main.g", 0x20, 0x40, 0, "\x02\x20");
	for (size_t len = 0; len < TABLE_BYTES; len++) {
		struct seen seen = {.cnt = 0};

		image = whole;
		image.sections.go_pclntab = (struct elf_bytes){image.table, len, 0};
		image.sections.go_text.data = image.text;
		if (go_table_init(&table, &image.sections))
			go_table_rows(&table, TEXT_VADDR, TEXT_VADDR + TEXT_BYTES, see, &seen);
	}
	for (size_t at = 0; at < TABLE_BYTES; at++) {
		struct seen seen = {.cnt = 0};

		image = whole;
		image.sections.go_pclntab.data = image.table;
		image.sections.go_text.data = image.text;
		image.table[at] ^= 0xff;
		if (!go_table_init(&table, &image.sections))
			continue;
		go_table_rows(&table, TEXT_VADDR, TEXT_VADDR + TEXT_BYTES, see, &seen);
		for (size_t i = 0; i < seen.cnt; i++) {
			assert_in_range(seen.vaddr[i], TEXT_VADDR, TEXT_VADDR + TEXT_BYTES - 1);
			assert_true(!i || seen.vaddr[i] > seen.vaddr[i - 1]);
		}
	}
}

static void not_for_us(void **state)
{
	struct go_table table;
	struct image image;

	image_init(&image, 0xfffffffb); /* before 1.16 */
	add(&image, "main.f", 0, 0x20, 0, "\x02\x20");
	assert_false(go_table_init(&table, &image.sections));
	image_init(&image, 0xfffffff0);
	add(&image, "main.f", 0, 0x20, 0, "\x02\x20");
	image.sections.machine = EM_AARCH64;
	assert_false(go_table_init(&table, &image.sections));
	image.sections.machine = EM_X86_64;
	put(&image, 24, 0, 8); /* position-independent */
	assert_false(go_table_init(&table, &image.sections));
	image.sections.go_pclntab = (struct elf_bytes){0};
	assert_false(go_table_init(&table, &image.sections));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prologue_of_1_18),
		cmocka_unit_test(prologues_with_other_displacements),
		cmocka_unit_test(prologue_of_1_21),
		cmocka_unit_test(rbp_saved_elsewhere_is_lost),
		cmocka_unit_test(two_stacks_go_by_frame_pointer),
		cmocka_unit_test(bottoms_and_signals),
		cmocka_unit_test(only_the_range_that_is_asked_for),
		cmocka_unit_test(broken_tables),
		cmocka_unit_test(not_for_us),
	};

	return cmocka_run_group_tests_name("go_table", tests, NULL, NULL);
}
