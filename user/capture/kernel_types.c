/* SPDX-License-Identifier: Apache-2.0 */
/* BTF reduced to what is asked for. The format: the kernel's Documentation/bpf/btf.rst. */
#include "capture/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hmap.h"
#include "base/log.h"
#include "base/strtab.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

enum {
	CACHE_BYTES = 1 << 20,
	FILE_MAX_BYTES = 256 << 10,
	NOTES_MAX_BYTES = 64 << 10,
	DEPTH_MAX = 32, /* of types that consist of types */
	FORMAT_VERSION = 1, /* of what kernel_types_reduce() makes */
};

/* What a kept file begins with: one that a crash cut short does not have this checksum. */
struct types_header {
	uint64_t checksum; /* of what follows */
};

struct reduction {
	const struct btf *kernel; /* borrowed */
	struct btf *out; /* owned */
	uint32_t *ids; /* owned: kernel type -> type of out, 0: not there yet */
	struct strtab types, members; /* the names that may be kept */
};

/* --- Names --- */

/* struct task_struct___before_6_1 is a struct task_struct. */
static size_t essential_len(const char *name)
{
	const char *flavor = strstr(name, "___");

	return flavor ? (size_t)(flavor - name) : strlen(name);
}

static bool is_named(const struct strtab *names, const struct btf *btf, uint32_t name_off)
{
	const char *name = btf__name_by_offset(btf, name_off);
	size_t len = name ? essential_len(name) : 0;

	return len && strtab_find(names, name, len) != STRTAB_NONE;
}

static int name_add(struct strtab *names, const struct btf *btf, uint32_t name_off)
{
	const char *name = btf__name_by_offset(btf, name_off);

	return strtab_add(names, name ? name : "", name ? essential_len(name) : 0) == STRTAB_NONE
		       ? -ENOMEM
		       : 0;
}

static int names_collect(struct reduction *red, const struct btf *local)
{
	int err = 0;

	for (uint32_t id = 1; !err && id < btf__type_cnt(local); id++) {
		const struct btf_type *type = btf__type_by_id(local, id);

		err = name_add(&red->types, local, type->name_off);
		for (uint32_t i = 0; !err && btf_is_composite(type) && i < btf_vlen(type); i++)
			err = name_add(&red->members, local, btf_members(type)[i].name_off);
	}
	return err;
}

/* --- Types --- */

static int copy_type(struct reduction *red, uint32_t id, int depth);

/* Of an unnamed member what it consists of can be named from outside. */
static bool is_kept(const struct reduction *red, const struct btf_member *member)
{
	return !member->name_off || is_named(&red->members, red->kernel, member->name_off);
}

/* Members are added to the type added last: what they consist of comes first. */
static int copy_composite(struct reduction *red, const struct btf_type *type, const char *name,
			  int depth)
{
	const struct btf_member *members = btf_members(type);
	uint32_t cnt = btf_vlen(type);
	int id, err = 0;

	for (uint32_t i = 0; i < cnt && err >= 0; i++)
		if (is_kept(red, &members[i]))
			err = copy_type(red, members[i].type, depth);
	if (err < 0)
		return err;
	id = btf_is_struct(type) ? btf__add_struct(red->out, name, type->size)
				 : btf__add_union(red->out, name, type->size);
	for (uint32_t i = 0; i < cnt && id > 0 && err >= 0; i++)
		if (is_kept(red, &members[i]))
			err = btf__add_field(red->out,
					     btf__name_by_offset(red->kernel, members[i].name_off),
					     copy_type(red, members[i].type, depth),
					     btf_member_bit_offset(type, i),
					     btf_member_bitfield_size(type, i));
	return err < 0 ? err : id;
}

static int copy_enum(struct reduction *red, const struct btf_type *type, const char *name)
{
	int id = btf__add_enum(red->out, name, type->size);

	for (uint32_t i = 0; i < btf_vlen(type) && id > 0; i++) {
		const struct btf_enum *value = &btf_enum(type)[i];
		int err = btf__add_enum_value(
			red->out, btf__name_by_offset(red->kernel, value->name_off), value->val);

		if (err)
			return err;
	}
	return id;
}

static int copy_enum64(struct reduction *red, const struct btf_type *type, const char *name)
{
	int id = btf__add_enum64(red->out, name, type->size, btf_kflag(type));

	for (uint32_t i = 0; i < btf_vlen(type) && id > 0; i++) {
		const struct btf_enum64 *value = &btf_enum64(type)[i];
		int err = btf__add_enum64_value(red->out,
						btf__name_by_offset(red->kernel, value->name_off),
						btf_enum64_value(value));

		if (err)
			return err;
	}
	return id;
}

static int copy_array(struct reduction *red, const struct btf_array *array, int depth)
{
	int index_id = copy_type(red, array->index_type, depth);
	int elem_id = index_id < 0 ? index_id : copy_type(red, array->type, depth);

	return elem_id < 0 ? elem_id
			   : btf__add_array(red->out, index_id, elem_id, (__s32)array->nelems);
}

static int copy_new(struct reduction *red, const struct btf_type *type, int depth)
{
	const char *name = btf__name_by_offset(red->kernel, type->name_off);
	int id;

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		return btf__add_int(red->out, name, type->size, btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(red->out, name, type->size);
	case BTF_KIND_PTR:
		return btf__add_ptr(red->out, 0);
	case BTF_KIND_ARRAY:
		return copy_array(red, btf_array(type), depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(red, type, name, depth);
	case BTF_KIND_ENUM:
		return copy_enum(red, type, name);
	case BTF_KIND_ENUM64:
		return copy_enum64(red, type, name);
	case BTF_KIND_TYPEDEF:
		id = copy_type(red, type->type, depth);
		return id < 0 ? id : btf__add_typedef(red->out, name, id);
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		/* A relocation looks through these. */
		return copy_type(red, type->type, depth);
	default:
		return 0;
	}
}

/* The type of red->out that is kernel type @id, added where it is missing; 0 is void. Negative
 * errno. */
static int copy_type(struct reduction *red, uint32_t id, int depth)
{
	const struct btf_type *type = btf__type_by_id(red->kernel, id);
	int new_id;

	if (!id)
		return 0;
	if (!type)
		return -EBADMSG;
	if (red->ids[id])
		return (int)red->ids[id];
	if (depth == DEPTH_MAX)
		return -E2BIG;
	new_id = copy_new(red, type, depth + 1);
	if (new_id > 0)
		red->ids[id] = (uint32_t)new_id;
	return new_id;
}

static bool is_root(const struct reduction *red, const struct btf_type *type)
{
	return (btf_is_composite(type) || btf_is_any_enum(type) || btf_is_typedef(type)) &&
	       is_named(&red->types, red->kernel, type->name_off);
}

static int reduce(struct reduction *red, const struct btf *local, struct buf *out)
{
	uint32_t cnt = btf__type_cnt(red->kernel), len;
	int err = names_collect(red, local);
	const void *data;

	red->ids = calloc(cnt, sizeof(*red->ids));
	red->out = btf__new_empty();
	if (!red->ids || !red->out)
		return -ENOMEM;
	for (uint32_t id = 1; err >= 0 && id < cnt; id++)
		if (is_root(red, btf__type_by_id(red->kernel, id)))
			err = copy_type(red, id, 0);
	if (err < 0)
		return err;
	data = btf__raw_data(red->out, &len);
	if (!data)
		return -ENOMEM;
	buf_add(out, data, len);
	return out->err;
}

int kernel_types_reduce(const struct btf *kernel, const struct btf *local, struct buf *out)
{
	struct reduction red = {.kernel = kernel};
	int err = strtab_init(&red.types);

	if (!err) {
		err = strtab_init(&red.members);
		if (!err)
			err = reduce(&red, local, out);
		strtab_deinit(&red.members);
	}
	strtab_deinit(&red.types);
	btf__free(red.out);
	free(red.ids);
	return err;
}

/* --- Kept --- */

/* What names this build of the kernel, and the object. False: the kernel does not say. */
static bool name_of(const void *elf, size_t len, char out[static CACHE_NAME_MAX])
{
	_cleanup_(buf_deinit) struct buf notes; /* its build-id among them */
	struct utsname uts;
	uint64_t hash;

	buf_init(&notes, NOTES_MAX_BYTES);
	if (fs_read_file("/sys/kernel/notes", &notes) || !notes.len || uname(&uts))
		return false;
	hash = hash_mix(hash_bytes(notes.data, notes.len),
			hash_bytes(uts.release, strlen(uts.release)));
	hash = hash_mix(hash, hash_bytes(uts.version, strlen(uts.version)));
	hash = hash_mix(hash, FORMAT_VERSION);
	snprintf(out, CACHE_NAME_MAX, "%016llx-%016llx", (unsigned long long)hash,
		 (unsigned long long)hash_bytes(elf, len));
	return true;
}

/* The types kept under @name, appended to @out. False: none. */
static bool load(struct cache_dir *cache, const char *name, struct buf *out)
{
	size_t len;
	_cleanup_free_ uint8_t *data = cache_dir_read(cache, name, FILE_MAX_BYTES, &len);
	struct types_header header;

	if (!data)
		return false;
	if (len > sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		if (header.checksum == hash_bytes(data + sizeof(header), len - sizeof(header))) {
			buf_add(out, data + sizeof(header), len - sizeof(header));
			return !out->err;
		}
	}
	cache_dir_remove(cache, name, "not valid");
	return false;
}

static void store(struct cache_dir *cache, const char *name, const struct buf *types)
{
	struct types_header header = {.checksum = hash_bytes(types->data, types->len)};
	_cleanup_(buf_deinit) struct buf file;

	buf_init(&file, FILE_MAX_BYTES);
	buf_add(&file, &header, sizeof(header));
	buf_add(&file, types->data, types->len);
	if (!file.err)
		cache_dir_write(cache, name, file.data, file.len);
}

/* The running kernel's types for the object @elf, appended to @out. 0 or negative errno. */
static int make(const void *elf, size_t len, struct buf *out)
{
	struct bpf_object *object = bpf_object__open_mem(elf, len, NULL);
	struct btf *kernel = NULL;
	int err = -errno;

	if (object) {
		kernel = btf__parse_raw(BTF_PATH);
		err = kernel ? kernel_types_reduce(kernel, bpf_object__btf(object), out) : -errno;
	}
	btf__free(kernel);
	bpf_object__close(object);
	return err;
}

int kernel_types_open(const void *elf, size_t len)
{
	_cleanup_(buf_deinit) struct buf types;
	_cleanup_close_ int fd = -1;
	char name[CACHE_NAME_MAX];
	struct cache_dir *cache;
	bool has_name;
	int err = 0;

	buf_init(&types, FILE_MAX_BYTES);
	/* Whether a recording works does not depend on what was kept of an earlier one. */
	if (access(BTF_PATH, R_OK))
		return -errno;
	has_name = name_of(elf, len, name);
	cache = has_name ? cache_dir_open(NULL, "btf", CACHE_BYTES) : NULL;
	if (!load(cache, name, &types)) {
		err = make(elf, len, &types);
		if (!err)
			store(cache, name, &types);
	}
	cache_dir_close(cache);
	if (!err) {
		fd = memfd_create("types", MFD_CLOEXEC);
		err = fd < 0 ? -errno : fs_write_all(fd, types.data, types.len);
	}
	if (err)
		log_debug("the kernel's types are not reduced: %s", strerror(-err));
	return err ? err : take_fd(&fd);
}
