/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, making and ending a pinned recording. */
#include "capture/pins.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/log.h"
#include "capture/capture.h"
#include "capture/pin_dir.h"

enum { EXES_MAX = 8192 }; /* as many as the kernel side has ids for */

/* Of everything in the maps that a later process reads. */
static uint32_t layout_hash(void)
{
	uint64_t hash = hash_mix(BP_ABI_HASH, sizeof(struct pin_state));

	hash = hash_mix(hash, sizeof(struct pin_book));
	hash = hash_mix(hash, sizeof(struct pin_counter));
	hash = hash_mix(hash, sizeof(struct pin_exe));
	hash = hash_mix(hash, sizeof(struct bp_stack));
	return (uint32_t)(hash >> 32);
}

/* What a recording is called that has not taken the place of the one before yet. */
static const char next_suffix[] = "-next"; /* no dots on that file system */

/* @base_fd is *taken*. */
static void begin(struct pins *pins, int base_fd)
{
	*pins = (struct pins){
		.base_fd = base_fd,
		.dir_fd = -1,
		.state_fd = -1,
		.exes_fd = -1,
		.counters_fd = -1,
		.ticks_fd = -1,
	};
	snprintf(pins->name, sizeof(pins->name), "v%d-%08x", BP_ABI_VERSION, layout_hash());
}

int pins_open(struct pins *pins, const char *path)
{
	begin(pins, pin_dir_open(path, true));
	return pins->base_fd < 0 ? pins->base_fd : 0;
}

int pins_open_beside(struct pins *pins, const struct pins *old)
{
	/* The lock is that of both. */
	begin(pins, fcntl(old->base_fd, F_DUPFD_CLOEXEC, 0));
	if (pins->base_fd < 0)
		return -errno;
	memcpy(pins->taken_name, pins->name, sizeof(pins->taken_name));
	snprintf(pins->name + strlen(pins->name), sizeof(pins->name) - strlen(pins->name), "%s",
		 next_suffix);
	return 0;
}

void pins_close(struct pins *pins)
{
	int fds[] = {pins->dir_fd, pins->state_fd, pins->exes_fd, pins->base_fd};

	if (pins->dir_fd >= 0 && !(pins->state && pins->state->is_complete))
		pin_dir_remove(pins->base_fd, pins->name);
	if (pins->state)
		munmap(pins->state, pins->state_bytes);
	if (pins->read)
		munmap(pins->read, (size_t)sysconf(_SC_PAGESIZE));
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*pins = (struct pins){.base_fd = -1, .dir_fd = -1, .state_fd = -1, .exes_fd = -1};
}

static size_t state_bytes(uint32_t cpu_cnt)
{
	return sizeof(struct pin_state) +
	       (size_t)BP_EVENTS_SAMPLED * cpu_cnt *
		       (2 * sizeof(struct pin_book) + sizeof(struct pin_counter));
}

static size_t page_align(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* Samples in the shards of the recording in @dir_fd: what is committed is cleared. */
static uint64_t uncommitted_samples(int dir_fd)
{
	_cleanup_close_ int fd = pin_get(dir_fd, "map_shards");
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	struct bp_shard *shards;
	uint64_t sum = 0;
	size_t bytes;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || info.value_size != sizeof(*shards))
		return 0;
	bytes = page_align(info.max_entries * sizeof(*shards));
	shards = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (shards == MAP_FAILED)
		return 0;
	for (uint32_t i = 0; i < info.max_entries; i++)
		for (int k = 0; k < BP_EVENTS_MAX; k++)
			sum += shards[i].events[k].recorded;
	munmap(shards, bytes);
	return sum;
}

/* Has the recording in folder @name begun to sample? */
static bool is_sampling(const struct pins *pins, const char *name)
{
	_cleanup_close_ int dir_fd = pin_dir_find(pins->base_fd, name);
	_cleanup_close_ int fd = dir_fd < 0 ? -1 : pin_get(dir_fd, "map_ctl");
	size_t bytes = page_align(sizeof(struct bp_ctl));
	struct bp_ctl *ctl;
	bool samples;

	if (fd < 0)
		return false;
	ctl = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (ctl == MAP_FAILED)
		return false;
	samples = ctl->is_sampling;
	munmap(ctl, bytes);
	return samples;
}

/* End the recording in folder @name, which is not to be gone on with. */
static int end_recording(struct pins *pins, const char *name)
{
	int err;

	if (strcmp(name, pins->name) && !pins->is_detaching)
		log_warn("a recording of another version's layout (%s) is ended: what it had "
			 "recorded since its last stored window is lost",
			 name);
	err = pin_dir_remove(pins->base_fd, name);
	if (err)
		log_error("pins: remove the recording '%s': %s", name, strerror(-err));
	return err;
}

static int end_others(void *arg, const char *name)
{
	struct pins *pins = arg;

	return strcmp(name, pins->name) ? end_recording(pins, name) : 0;
}

/* Map the state of the recording in dir_fd. False where there is none of this size. */
static bool map_state(struct pins *pins, uint32_t cpu_cnt)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	void *mem;

	pins->state_fd = pin_get(pins->dir_fd, "state");
	if (pins->state_fd < 0 || bpf_obj_get_info_by_fd(pins->state_fd, &info, &len) ||
	    info.value_size != state_bytes(cpu_cnt))
		return false;
	pins->state_bytes = page_align(info.value_size);
	mem = mmap(NULL, pins->state_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pins->state_fd, 0);
	if (mem == MAP_FAILED)
		return false;
	pins->state = mem;
	return true;
}

static void unmap_state(struct pins *pins)
{
	if (pins->state)
		munmap(pins->state, pins->state_bytes);
	pins->state = NULL;
	if (pins->state_fd >= 0)
		close(pins->state_fd);
	pins->state_fd = -1;
}

static bool is_ours(struct pins *pins, uint64_t options, uint32_t cpu_cnt)
{
	if (!map_state(pins, cpu_cnt) || !pins->state->is_complete ||
	    pins->state->options != options || pins->state->cpu_cnt != cpu_cnt)
		return false;
	pins->exes_fd = pin_get(pins->dir_fd, "exes");
	return pins->exes_fd >= 0;
}

static int make_state(struct pins *pins, uint64_t options, uint32_t cpu_cnt)
{
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
	LIBBPF_OPTS(bpf_map_create_opts, sparse, .map_flags = BPF_F_NO_PREALLOC);
	_cleanup_close_ int state_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bp_pin_state", 4,
						      state_bytes(cpu_cnt), 1, &mapped);
	int err = state_fd < 0 ? -errno : pin_put(pins->dir_fd, "state", state_fd);

	if (err)
		return err;
	pins->exes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "bp_pin_exes", 4, sizeof(struct pin_exe),
				       EXES_MAX, &sparse);
	err = pins->exes_fd < 0 ? -errno : pin_put(pins->dir_fd, "exes", pins->exes_fd);
	if (err)
		return err;
	if (!map_state(pins, cpu_cnt))
		return -EIO;
	pins->state->options = options;
	pins->state->cpu_cnt = cpu_cnt;
	return getrandom(&pins->state->instance, sizeof(pins->state->instance), 0) < 0 ? -errno : 0;
}

/* Ours, but not one to go on with; @which is for people. */
static int end_ours(struct pins *pins, const char *which)
{
	bool began = pins->state && pins->state->is_complete;
	uint64_t samples = uncommitted_samples(pins->dir_fd);

	unmap_state(pins);
	close(take_fd(&pins->dir_fd));
	if (began)
		log_warn("the recording that was going on %s is ended: %llu samples of it that "
			 "were not stored yet are lost",
			 which, (unsigned long long)samples);
	return end_recording(pins, pins->name);
}

int pins_move_in(struct pins *pins)
{
	int err = pins->taken_name[0] ? pin_dir_remove(pins->base_fd, pins->taken_name) : 0;

	if (!err && pins->taken_name[0])
		err = pin_dir_rename(pins->base_fd, pins->name, pins->taken_name);
	if (err) {
		log_error("pins: '%s' in the place of '%s': %s", pins->name, pins->taken_name,
			  strerror(-err));
		return err;
	}
	if (pins->taken_name[0])
		memcpy(pins->name, pins->taken_name, sizeof(pins->name));
	pins->taken_name[0] = '\0';
	return 0;
}

/* Who recorded before died while one recording took the place of another: the one that samples
 * stays. */
static int end_change(struct pins *pins, uint32_t cpu_cnt)
{
	char next[sizeof(pins->name) + sizeof(next_suffix)];
	int err;

	snprintf(next, sizeof(next), "%s%s", pins->name, next_suffix);
	if (!pin_is_there(pins->base_fd, next))
		return 0;
	if (!is_sampling(pins, next))
		return pin_dir_remove(pins->base_fd, next);
	pins->dir_fd = pin_dir_sub(pins->base_fd, pins->name);
	if (pins->dir_fd < 0)
		return pins->dir_fd;
	map_state(pins, cpu_cnt);
	err = end_ours(pins, "before the change");
	return err ? err : pin_dir_rename(pins->base_fd, next, pins->name);
}

/* What else is there. */
static int clear_place(struct pins *pins, uint32_t cpu_cnt)
{
	int err;

	if (pins->taken_name[0])
		return pin_is_there(pins->base_fd, pins->name)
			       ? pin_dir_remove(pins->base_fd, pins->name)
			       : 0;
	err = end_change(pins, cpu_cnt);
	return err ? err : pin_dir_each(pins->base_fd, end_others, pins);
}

int pins_choose(struct pins *pins, uint64_t options, uint32_t cpu_cnt)
{
	int err = clear_place(pins, cpu_cnt);

	if (err)
		return err;
	pins->dir_fd = pin_dir_sub(pins->base_fd, pins->name);
	if (pins->dir_fd < 0)
		err = pins->dir_fd;
	else if (is_ours(pins, options, cpu_cnt))
		pins->is_resumed = true;
	else
		err = end_ours(pins, "with other options");
	if (!err && !pins->is_resumed) {
		pins->dir_fd = pin_dir_sub(pins->base_fd, pins->name);
		err = pins->dir_fd < 0 ? pins->dir_fd : make_state(pins, options, cpu_cnt);
	}
	if (err)
		log_error("pins in '%s': %s", pins->name, strerror(-err));
	return err;
}

int capture_detach_pinned(const char *pin_dir)
{
	_cleanup_close_ int base_fd = pin_dir_open(pin_dir, false);
	struct pins pins = {.base_fd = base_fd, .is_detaching = true};
	int err;

	if (base_fd < 0)
		return base_fd == -ENOENT ? 0 : base_fd;
	err = pin_dir_each(base_fd, end_others, &pins);
	if (err)
		return err;
	return rmdir(pin_dir) ? -errno : 0;
}

static void object_name(const char *kind, const char *name, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s_%s", kind, name);
}

int pins_put(struct pins *pins, const char *kind, const char *name, int obj_fd)
{
	char pin[64];

	object_name(kind, name, pin, sizeof(pin));
	return pin_put(pins->dir_fd, pin, obj_fd);
}

int pins_get(struct pins *pins, const char *kind, const char *name)
{
	char pin[64];

	object_name(kind, name, pin, sizeof(pin));
	return pin_get(pins->dir_fd, pin);
}

struct pin_book *pins_books(struct pins *pins, uint32_t parity, uint32_t nr)
{
	return &pins->state->books[(parity * BP_EVENTS_SAMPLED + nr) * pins->state->cpu_cnt];
}

struct pin_counter *pins_counter(struct pins *pins, uint32_t nr, uint32_t index)
{
	struct pin_counter *counters = (struct pin_counter *)pins_books(pins, 2, 0);

	return &counters[nr * pins->state->cpu_cnt + index];
}

int pins_keep_exe(struct pins *pins, uint32_t id, const struct pin_exe *exe)
{
	return bpf_map_update_elem(pins->exes_fd, &id, exe, BPF_ANY) ? -errno : 0;
}

int pins_each_exe(struct pins *pins, pins_exe_fn *each, void *arg)
{
	_cleanup_free_ struct pin_exe *exe = malloc(sizeof(*exe));
	uint32_t id, *before = NULL;
	int ret = 0;

	if (!exe)
		return -ENOMEM;
	while (!ret && !bpf_map_get_next_key(pins->exes_fd, before, &id)) {
		if (!bpf_map_lookup_elem(pins->exes_fd, &id, exe))
			ret = each(arg, id, exe);
		before = &id;
	}
	return ret;
}
