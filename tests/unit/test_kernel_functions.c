/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of the kernel are probed, from made-up files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/kernel_functions.h"

static const char symbols_text[] = "ffffffff81000000 T vfs_read\n"
				   "ffffffff81000100 T vfs_write\n"
				   "ffffffff81000200 t static_one\n"
				   "ffffffff81000300 t static_one\n"
				   "ffffffff81000400 T vfs_hidden\n"
				   "ffffffff81000500 T vfs_banned\n"
				   "ffffffff81000600 D vfs_data\n"
				   "ffffffff81000700 t vfs_read.cold\n"
				   "ffffffff81000800 t __pfx_vfs_read\n"
				   "ffffffff81000900 W vfs_weak\n"
				   "ffffffffc0000000 t ext4_sync\t[ext4]\n"
				   "ffffffffc0000100 t bpf_prog_123\t[bpf]\n"
				   "garbage\n\n"
				   "ffffffff81000a00 T\n";
static const char traceable_text[] =
	"vfs_read\nvfs_write\nstatic_one\nvfs_banned\nvfs_weak\next4_sync [ext4]\nunknown\n";
static const char blacklist_text[] = "0xffffffff81000500-0xffffffff81000510\tvfs_banned\nrubbish\n";

static void load(const char *symbols, const char *traceable, const char *blacklist,
		 struct kernel_functions *out)
{
	struct buf files[3];

	for (int i = 0; i < 3; i++)
		buf_init(&files[i], BUF_NO_MAX);
	buf_add_str(&files[0], symbols);
	buf_add_str(&files[1], traceable);
	buf_add_str(&files[2], blacklist);
	assert_int_equal(kernel_functions_parse(&files[0], &files[1], &files[2], out), 0);
	for (int i = 0; i < 3; i++)
		buf_deinit(&files[i]);
}

static int resolve(const struct kernel_functions *functions, struct event_spec spec, size_t *sites,
		   const char *says)
{
	struct event event = {.spec = spec};
	struct buf why;
	int err;

	event.spec.text = strdup("kprobe:TEXT");
	event.spec.name = spec.name ? strdup(spec.name) : NULL;
	buf_init(&why, BUF_NO_MAX);
	err = kernel_functions_resolve(functions, &event, &why);
	if (says && !strstr(buf_cstr(&why), says))
		fail_msg("%s: %s", spec.name, buf_cstr(&why));
	assert_int_equal(why.len != 0, err != 0);
	if (sites)
		*sites = event.site_cnt;
	if (!err && event.site_cnt == 1 && !spec.has_addr)
		assert_int_equal(event.sites[0].is_entry, !spec.off);
	event_deinit(&event);
	buf_deinit(&why);
	return err;
}

static struct event_spec named(const char *name)
{
	return (struct event_spec){.kind = EVENT_KPROBE, .name = (char *)name};
}

static void test_names(void **state)
{
	struct kernel_functions functions;
	struct event_spec inside = named("vfs_hidden");
	size_t sites;

	load(symbols_text, traceable_text, blacklist_text, &functions);
	assert_int_equal(functions.cnt, 7);
	assert_int_equal(resolve(&functions, named("vfs_read"), &sites, NULL), 0);
	assert_int_equal(sites, 1);
	assert_int_equal(resolve(&functions, named("ext4_sync"), &sites, NULL), 0);
	assert_int_equal(resolve(&functions, named("vfs_raed"), NULL, "did you mean 'vfs_read'?"),
			 -ENOENT);
	assert_int_equal(resolve(&functions, named("nothing_like_it"), NULL, "or it was inlined"),
			 -ENOENT);
	assert_int_equal(resolve(&functions, named("vfs_data"), NULL, "no function 'vfs_data'"),
			 -ENOENT);
	assert_int_equal(resolve(&functions, named("vfs_banned"), NULL, "blacklist"), -EOPNOTSUPP);
	assert_int_equal(resolve(&functions, named("vfs_hidden"), NULL, "notrace"), -EOPNOTSUPP);
	inside.off = 4;
	assert_int_equal(resolve(&functions, inside, NULL, NULL), 0);
	assert_int_equal(resolve(&functions, named("static_one"), NULL,
				 "2 functions: give the address, as kprobe:0xffffffff81000"),
			 -EINVAL);
	kernel_functions_deinit(&functions);
}

static void test_globs(void **state)
{
	struct kernel_functions functions;
	size_t sites;

	load(symbols_text, traceable_text, blacklist_text, &functions);
	assert_int_equal(resolve(&functions, named("vfs_*"), &sites, NULL), 0);
	assert_int_equal(sites, 3); /* read, write, weak */
	assert_int_equal(resolve(&functions, named("x?z"), NULL, "no function of the kernel"),
			 -ENOENT);
	kernel_functions_deinit(&functions);
	/* Without the other files everything may be probed, and an address needs no name. */
	load(symbols_text, "", "", &functions);
	assert_int_equal(resolve(&functions, named("vfs_*"), &sites, NULL), 0);
	assert_int_equal(sites, 5);
	assert_int_equal(
		resolve(NULL, (struct event_spec){.addr = 16, .has_addr = true}, &sites, NULL), 0);
	assert_int_equal(sites, 1);
	kernel_functions_deinit(&functions);
	load("", "", "", &functions);
	assert_int_equal(resolve(&functions, named("vfs_read"), NULL, "no function"), -ENOENT);
	kernel_functions_deinit(&functions);
}

static void test_too_many(void **state)
{
	struct kernel_functions functions;
	struct buf many;

	buf_init(&many, BUF_NO_MAX);
	for (int i = 0; i < 10000; i++)
		buf_printf(&many, "ffffffff81%06x T function_%d\n", i, i);
	load(buf_cstr(&many), "", "", &functions);
	assert_int_equal(resolve(&functions, named("function_*"), NULL,
				 "10000 functions match, 100 are the most"),
			 -E2BIG);
	assert_int_equal(resolve(&functions, named("function_99?"), NULL, NULL), 0);
	kernel_functions_deinit(&functions);
	buf_deinit(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
