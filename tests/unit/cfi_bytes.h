/* SPDX-License-Identifier: Apache-2.0 */
/* Writing call frame information by hand: records are opened, filled and closed. */
#ifndef BPFPROF_TESTS_CFI_BYTES_H
#define BPFPROF_TESTS_CFI_BYTES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	CFI_BYTES_MAX = 1 << 16,
	SECTION_VADDR = 0x400000, /* where the tests pretend that the section is */
};

struct cfi_bytes {
	uint8_t data[CFI_BYTES_MAX];
	size_t len;
	size_t record; /* offset of the open record's length */
	size_t cie; /* offset of the last CIE */
};

static inline void put(struct cfi_bytes *bytes, const void *data, size_t len)
{
	assert(bytes->len + len <= sizeof(bytes->data));
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

#define PUT(bytes, ...) \
	put((bytes), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void put_u32(struct cfi_bytes *bytes, uint32_t value)
{
	put(bytes, &value, sizeof(value));
}

static inline void put_u64(struct cfi_bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

static inline void record_open(struct cfi_bytes *bytes)
{
	bytes->record = bytes->len;
	put_u32(bytes, 0);
}

static inline void record_close(struct cfi_bytes *bytes)
{
	uint32_t len = (uint32_t)(bytes->len - bytes->record - 4);

	memcpy(bytes->data + bytes->record, &len, sizeof(len));
}

/* The head of a CIE of .eh_frame: code_align 1, data_align -8, return address column @ra_reg. */
static inline void cie_open(struct cfi_bytes *bytes, uint8_t version, const char *augmentation,
			    uint8_t ra_reg)
{
	record_open(bytes);
	bytes->cie = bytes->record;
	put_u32(bytes, 0);
	PUT(bytes, version);
	put(bytes, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		PUT(bytes, 8, 0);
	PUT(bytes, 1, 0x78, ra_reg);
}

/* A whole CIE as GCC writes it: "zR", pcrel sdata4, CFA = rsp + 8, return address at CFA - 8. */
static inline void cie_usual(struct cfi_bytes *bytes)
{
	cie_open(bytes, 1, "zR", 16);
	PUT(bytes, 1, 0x1b);
	PUT(bytes, 0x0c, 7, 8, 0x90, 1);
	record_close(bytes);
}

/* The head of an FDE of the last CIE, whose augmentation is "zR" with pcrel sdata4. */
static inline void fde_open(struct cfi_bytes *bytes, uint64_t vaddr, uint32_t len)
{
	record_open(bytes);
	put_u32(bytes, (uint32_t)(bytes->len - bytes->cie));
	put_u32(bytes, (uint32_t)(vaddr - (SECTION_VADDR + bytes->len)));
	put_u32(bytes, len);
	PUT(bytes, 0);
}

/* An FDE whose program is the given bytes. */
#define FDE(bytes, vaddr, len, ...)                \
	do {                                       \
		fde_open((bytes), (vaddr), (len)); \
		PUT((bytes), __VA_ARGS__);         \
		record_close(bytes);               \
	} while (0)

#endif
