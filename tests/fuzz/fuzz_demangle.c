/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: one symbol name through every demangler. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct demangler *dem;
	char out[DEMANGLE_MAX];
	size_t out_len;

	if (!dem)
		dem = demangler_new();
	if (!dem)
		abort();
	memset(out, 0x55, sizeof(out));
	demangle(dem, (const char *)data, len, out);
	out_len = strnlen(out, sizeof(out));
	if (out_len == sizeof(out) || (len && *data && !out_len))
		abort();
	return 0;
}
