/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: machine code, decoded for probes. Of a part of an instruction nothing is made up. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/insn.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { VADDR = 0x401000 };

typedef int decode_fn(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out);

static void check_insn(const struct insn *insn, size_t len)
{
	if (!insn->len || insn->len > INSN_X86_MAX_BYTES || insn->len > len)
		abort();
	if (insn->probe >= PROBE_CLASSES || insn->flow > INSN_END)
		abort();
	if ((insn->probe == PROBE_REFUSED || insn->probe == PROBE_MISHANDLED) !=
	    (insn->why != NULL))
		abort();
	if (insn->has_target && insn->flow != INSN_COND && insn->flow != INSN_JUMP &&
	    insn->flow != INSN_CALL)
		abort();
}

/* What stands behind an instruction does not matter, and all of its bytes do. */
static void check_ends(decode_fn *decode, const uint8_t *code, uint64_t vaddr,
		       const struct insn *insn)
{
	for (size_t len = 0; len <= insn->len; len++) {
		uint8_t *part = image_copy(code, len);
		struct insn other = {0};
		int err = decode(part, len, vaddr, &other);

		if (len < insn->len
			    ? err != -ENODATA
			    : err || other.len != insn->len || other.probe != insn->probe ||
				      other.flow != insn->flow || other.target != insn->target ||
				      other.written != insn->written)
			abort();
		free(part);
	}
}

static void decode_all(decode_fn *decode, const uint8_t *code, size_t len, size_t step)
{
	for (size_t at = 0; at < len;) {
		struct insn insn = {0};
		int err = decode(code + at, len - at, VADDR + at, &insn);

		if (err && err != -EINVAL && err != -ENODATA)
			abort();
		if (!err) {
			check_insn(&insn, len - at);
			check_ends(decode, code + at, VADDR + at, &insn);
		}
		at += err ? step : insn.len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *code = image_copy(data, len);

	decode_all(insn_x86_decode, code, len, 1);
	decode_all(insn_arm64_decode, code, len, 4);
	free(code);
	return 0;
}
