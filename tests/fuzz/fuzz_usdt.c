/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: USDT notes, as bytes and in a whole image, and C++ names, which lie beside them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/usdt_notes.h"
#include "event/cxx_name.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int check_note(void *arg, const struct usdt_note *note)
{
	size_t *bytes = arg;

	*bytes += strlen(note->provider) + strlen(note->name) + strlen(note->args) + 3;
	return 0;
}

static void fuzz_cxx_name(const uint8_t *data, size_t len)
{
	char *name = malloc(len + 3), plain[CXX_NAME_MAX];
	const char *params;

	if (!name)
		abort();
	memcpy(name, "_Z", 2);
	memcpy(name + 2, data, len);
	name[len + 2] = '\0';
	if (cxx_plain_name(name, plain, &params) &&
	    (!plain[0] || !memchr(plain, '\0', sizeof(plain)) || params < name ||
	     params > name + strlen(name)))
		abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	void *copy = image_copy(data, len);
	struct elf_file *elf;
	size_t bytes = 0;

	usdt_notes_parse(copy, len, check_note, &bytes);
	if (bytes > len)
		abort();
	fuzz_cxx_name(data, len);
	elf = elf_file_from_memory(copy, len);
	bytes = 0;
	if (elf)
		usdt_notes_for_each(elf, check_note, &bytes);
	elf_file_free(elf);
	free(copy);
	return 0;
}
