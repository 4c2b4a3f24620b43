/* SPDX-License-Identifier: Apache-2.0 */
/* BPF_PROG_GET_NEXT_ID, and of each program struct bpf_prog_info's lists of functions. */
#include "capture/bpf_code.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

/* More are not asked for: the rest reaches to the next symbol, as it does without this. */
enum { PROGRAMS_MAX = 8192, FUNCTIONS_MAX = 1024 };

/* One program's functions: where they are, and how long. */
struct functions {
	uint64_t starts[FUNCTIONS_MAX];
	uint32_t lens[FUNCTIONS_MAX];
};

static int add_program(struct bpf_code *code, int fd, struct functions *functions)
{
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)functions->starts,
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_func_lens = (uintptr_t)functions->lens,
		.nr_jited_func_lens = FUNCTIONS_MAX,
	};
	uint32_t len = sizeof(info), cnt;
	int err;

	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.nr_jited_ksyms > FUNCTIONS_MAX ||
	    info.nr_jited_func_lens != info.nr_jited_ksyms)
		return 0;
	cnt = info.nr_jited_ksyms;
	err = array_reserve(&code->ends, &code->cap, code->cnt + cnt, sizeof(*code->ends));
	if (err)
		return err;
	for (uint32_t i = 0; i < cnt; i++)
		if (functions->starts[i])
			code->ends[code->cnt++] = functions->starts[i] + functions->lens[i];
	return 0;
}

int bpf_code_read(struct bpf_code *out)
{
	_cleanup_free_ struct functions *functions = malloc(sizeof(*functions));
	struct bpf_code code = {0};
	int err = functions ? 0 : -ENOMEM;
	uint32_t id = 0;

	for (int i = 0; i < PROGRAMS_MAX && !err && !bpf_prog_get_next_id(id, &id); i++) {
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

		if (fd >= 0)
			err = add_program(&code, fd, functions);
	}
	if (err)
		bpf_code_deinit(&code);
	else
		*out = code;
	return err;
}

void bpf_code_deinit(struct bpf_code *code)
{
	free(code->ends);
	*code = (struct bpf_code){0};
}
