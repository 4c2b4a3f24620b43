/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the string of a USDT note that says where the arguments are. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/usdt_args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { REGS_BYTES_MAX = 1024, ARGS_MAX = 16 };

static void check_arg(const struct usdt_arg *arg)
{
	if (arg->size != 1 && arg->size != 2 && arg->size != 4 && arg->size != 8)
		abort();
	if (arg->kind > USDT_DEREF_INDEX || arg->index_shift > 63 ||
	    arg->reg_off >= REGS_BYTES_MAX || arg->index_off >= REGS_BYTES_MAX)
		abort();
}

static void check_args(const char *args, enum event_arch arch)
{
	uint32_t cnt = usdt_arg_cnt(args);

	for (uint32_t i = 0; i <= cnt && i <= ARGS_MAX; i++) {
		struct usdt_arg arg = {0};
		struct buf why;
		int err;

		buf_init(&why, BUF_NO_MAX);
		err = usdt_arg_parse(args, i, arch, &arg, &why);
		if (err ? !why.len : i >= cnt || why.len)
			abort();
		if ((i == cnt) != (err == -ENOENT))
			abort();
		if (!err)
			check_arg(&arg);
		buf_deinit(&why);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *args = strndup((const char *)data, len);

	if (!args)
		abort();
	check_args(args, EVENT_ARCH_X86_64);
	check_args(args, EVENT_ARCH_ARM64);
	free(args);
	return 0;
}
