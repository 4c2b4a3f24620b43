/* SPDX-License-Identifier: Apache-2.0 */
/* libdwfl on a stopped process or a core file. */
#include "libdw_chain.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "registers.h"

static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
			const char *file_name, const char *debuglink_file, GElf_Word debuglink_crc,
			char **debuginfo_file_name)
{
	return -1;
}

static const Dwfl_Callbacks process_callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

static const Dwfl_Callbacks core_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debuginfo,
};

static int failure(const char *what)
{
	fprintf(stderr, "libdwfl: %s: %s\n", what, dwfl_errmsg(-1));
	return -1;
}

int libdw_chain_reload(struct libdw_chain *chain)
{
	dwfl_report_begin(chain->dwfl);
	if (dwfl_linux_proc_report(chain->dwfl, chain->pid) ||
	    dwfl_report_end(chain->dwfl, NULL, NULL))
		return failure("report");
	return 0;
}

int libdw_chain_process(struct libdw_chain *chain, pid_t pid)
{
	*chain = (struct libdw_chain){.pid = pid, .core_fd = -1};
	chain->dwfl = dwfl_begin(&process_callbacks);
	if (!chain->dwfl || libdw_chain_reload(chain))
		return failure("begin");
	return dwfl_linux_proc_attach(chain->dwfl, pid, true) ? failure("attach") : 0;
}

int libdw_chain_core(struct libdw_chain *chain, const char *path)
{
	*chain = (struct libdw_chain){.core_fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	chain->core = elf_begin(chain->core_fd, ELF_C_READ_MMAP, NULL);
	chain->dwfl = dwfl_begin(&core_callbacks);
	if (!chain->core || !chain->dwfl)
		return failure(path);
	if (dwfl_core_file_report(chain->dwfl, chain->core, NULL) < 0 ||
	    dwfl_report_end(chain->dwfl, NULL, NULL))
		return failure("core report");
	return dwfl_core_file_attach(chain->dwfl, chain->core) < 0 ? failure("core attach") : 0;
}

void libdw_chain_deinit(struct libdw_chain *chain)
{
	dwfl_end(chain->dwfl);
	elf_end(chain->core);
	if (chain->core_fd >= 0)
		close(chain->core_fd);
}

struct frames {
	uint64_t *ips;
	size_t cnt, max;
};

static int frame_add(Dwfl_Frame *state, void *arg)
{
	struct frames *frames = arg;
	bool is_exact;
	Dwarf_Addr ip;

	if (frames->cnt == frames->max || !dwfl_frame_pc(state, &ip, &is_exact))
		return DWARF_CB_ABORT;
	frames->ips[frames->cnt++] = is_exact ? ip : ip - 1;
	return DWARF_CB_OK;
}

size_t libdw_chain_get(struct libdw_chain *chain, pid_t tid, uint64_t *ips, size_t max,
		       bool *is_complete)
{
	struct frames frames = {.ips = ips, .max = max};

	/* It ends with an error wherever the bottom is not marked: what was found so far stands. */
	*is_complete = !dwfl_getthread_frames(chain->dwfl, tid, frame_add, &frames);
	return frames.cnt;
}

const char *libdw_chain_symbol(struct libdw_chain *chain, uint64_t ip)
{
	Dwfl_Module *module = dwfl_addrmodule(chain->dwfl, ip);

	return module ? dwfl_module_addrname(module, ip) : NULL;
}

/* The frame at @ip, to be freed, or NULL. */
static Dwarf_Frame *frame_at(struct libdw_chain *chain, uint64_t ip)
{
	Dwfl_Module *module = dwfl_addrmodule(chain->dwfl, ip);
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *frame;

	return cfi && !dwarf_cfi_addrframe(cfi, ip - bias, &frame) ? frame : NULL;
}

bool libdw_chain_has_cfi(struct libdw_chain *chain, uint64_t ip)
{
	Dwarf_Frame *frame = frame_at(chain, ip);
	bool has_cfi = frame;

	free(frame);
	return has_cfi;
}

bool libdw_chain_cfa(struct libdw_chain *chain, const struct user_regs_struct *regs, uint64_t *out)
{
	Dwarf_Frame *frame = frame_at(chain, REGS_IP(regs));
	Dwarf_Op *ops;
	size_t cnt;
	bool found = false;

	if (!frame)
		return false;
	if (!dwarf_frame_cfa(frame, &ops, &cnt) && cnt == 1) {
		unsigned int reg = ops->atom == DW_OP_bregx
					   ? (unsigned int)ops->number
					   : (unsigned int)(ops->atom - DW_OP_breg0);

		found = ops->atom == DW_OP_bregx ||
			(ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31);
		*out = regs_dwarf(regs, reg) +
		       (ops->atom == DW_OP_bregx ? ops->number2 : ops->number);
	}
	free(frame);
	return found;
}
