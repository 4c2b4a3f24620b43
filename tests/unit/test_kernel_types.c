/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a kernel's types, and that it stays where it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "capture/kernel_types.h"

static struct btf *kernel, *local, *reduced;

static int setup(void **state)
{
	kernel = btf__new_empty();
	local = btf__new_empty();
	reduced = NULL;
	return kernel && local ? 0 : -1;
}

static int teardown(void **state)
{
	btf__free(kernel);
	btf__free(local);
	btf__free(reduced);
	return 0;
}

static int reduce(void)
{
	struct buf out;
	int err;

	buf_init(&out, BUF_NO_MAX);
	err = kernel_types_reduce(kernel, local, &out);
	if (!err) {
		reduced = btf__new(out.data, (uint32_t)out.len);
		assert_non_null(reduced);
	}
	buf_deinit(&out);
	return err;
}

static const struct btf_type *found(const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(reduced, name, kind);

	assert_true(id > 0);
	return btf__type_by_id(reduced, (uint32_t)id);
}

static void assert_member(const struct btf_type *type, uint32_t i, const char *name, uint32_t bit)
{
	assert_true(i < btf_vlen(type));
	assert_string_equal(btf__name_by_offset(reduced, btf_members(type)[i].name_off), name);
	assert_int_equal(btf_member_bit_offset(type, i), bit);
}

/* struct task { int a, pid; struct task *parent; int b; } of which pid and parent are asked for */
static void test_members(void **state)
{
	int num = btf__add_int(kernel, "int", 4, BTF_INT_SIGNED);
	int ptr = btf__add_ptr(kernel, num + 2);
	const struct btf_type *type;

	assert_int_equal(btf__add_struct(kernel, "task", 24), num + 2);
	btf__add_field(kernel, "a", num, 0, 0);
	btf__add_field(kernel, "pid", num, 32, 0);
	btf__add_field(kernel, "parent", ptr, 64, 0);
	btf__add_field(kernel, "b", num, 128, 0);
	btf__add_struct(kernel, "other", 4);
	btf__add_field(kernel, "pid", num, 0, 0);

	num = btf__add_int(local, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(local, "task___old", 8);
	btf__add_field(local, "parent", num, 0, 0);
	btf__add_field(local, "pid", num, 32, 0);

	assert_int_equal(reduce(), 0);
	type = found("task", BTF_KIND_STRUCT);
	assert_int_equal(type->size, 24);
	assert_int_equal(btf_vlen(type), 2);
	assert_member(type, 0, "pid", 32);
	assert_member(type, 1, "parent", 64);
	type = btf__type_by_id(reduced, btf_members(type)[1].type);
	assert_true(btf_is_ptr(type));
	assert_int_equal(type->type, 0);
	assert_true(btf__find_by_name_kind(reduced, "other", BTF_KIND_STRUCT) < 0);
}

/* What is asked for in an unnamed member, through const, in an array, and a bit field. */
static void test_nested(void **state)
{
	const struct btf_type *type, *inner;
	int num = btf__add_int(kernel, "int", 4, 0);
	int inner_id = btf__add_union(kernel, NULL, 8);
	int array, constant;

	btf__add_field(kernel, "x", num, 0, 0);
	btf__add_field(kernel, "y", num, 0, 0);
	array = btf__add_array(kernel, num, num, 5);
	constant = btf__add_const(kernel, array);
	btf__add_struct(kernel, "node", 40);
	btf__add_field(kernel, NULL, inner_id, 64, 0);
	btf__add_field(kernel, "slots", constant, 128, 0);
	btf__add_field(kernel, "flag", num, 291, 3);

	btf__add_struct(local, "node", 16);
	btf__add_field(local, "y", 0, 0, 0);
	btf__add_field(local, "slots", 0, 0, 0);
	btf__add_field(local, "flag", 0, 0, 0);

	assert_int_equal(reduce(), 0);
	type = found("node", BTF_KIND_STRUCT);
	assert_int_equal(btf_vlen(type), 3);
	assert_member(type, 0, "", 64);
	assert_member(type, 1, "slots", 128);
	assert_member(type, 2, "flag", 291);
	assert_int_equal(btf_member_bitfield_size(type, 2), 3);
	inner = btf__type_by_id(reduced, btf_members(type)[0].type);
	assert_true(btf_is_union(inner));
	assert_int_equal(btf_vlen(inner), 1);
	assert_member(inner, 0, "y", 0);
	inner = btf__type_by_id(reduced, btf_members(type)[1].type);
	assert_true(btf_is_array(inner));
	assert_int_equal(btf_array(inner)->nelems, 5);
}

static void test_enums(void **state)
{
	const struct btf_type *type;

	btf__add_enum(kernel, "how", 4);
	btf__add_enum_value(kernel, "A", 1);
	btf__add_enum_value(kernel, "B", 7);
	btf__add_enum64(kernel, "wide", 8, false);
	btf__add_enum64_value(kernel, "W", 1ULL << 40);
	btf__add_enum(local, "how", 4);
	btf__add_enum_value(local, "B", 2);
	btf__add_enum64(local, "wide", 8, false);
	btf__add_enum64_value(local, "W", 1);

	assert_int_equal(reduce(), 0);
	type = found("how", BTF_KIND_ENUM);
	assert_int_equal(btf_vlen(type), 2);
	assert_int_equal(btf_enum(type)[1].val, 7);
	type = found("wide", BTF_KIND_ENUM64);
	assert_int_equal(btf_enum64_value(&btf_enum64(type)[0]), 1ULL << 40);
}

/* Two types of one name are two candidates. */
static void test_same_name(void **state)
{
	uint32_t cnt = 0;

	btf__add_struct(kernel, "s", 4);
	btf__add_struct(kernel, "s", 8);
	btf__add_struct(local, "s", 1);
	assert_int_equal(reduce(), 0);
	for (uint32_t id = 1; id < btf__type_cnt(reduced); id++)
		cnt += btf_is_struct(btf__type_by_id(reduced, id));
	assert_int_equal(cnt, 2);
}

/* No compiler makes a struct that contains itself. */
static void test_cycle(void **state)
{
	assert_int_equal(btf__add_struct(kernel, "s", 4), 1);
	btf__add_field(kernel, "self", 1, 0, 0);
	btf__add_struct(local, "s", 1);
	btf__add_field(local, "self", 0, 0, 0);
	assert_int_equal(reduce(), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_enums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cycle, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
