/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_probes OBJECT PID FILE MALLOC_OFF FREE_OFF SHAPE SECONDS: put probes on the allocator of
 * process PID, and on nobody else's. FILE is what it has mapped; offsets are into it. SHAPE:
 *
 *	session    one empty program at malloc's entry and return, an empty one at free
 *	entry      the same program says at the entry that it does not want the return
 *	perf       uprobe and uretprobe of perf_event_open(), empty
 *	count      session, counting
 *	memleak    as bcc's memleak: uprobe, uretprobe, uprobe, with its maps
 *
 * Prints "ready", then waits. OBJECT is heap_probes.bpf.c, compiled.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <linux/bpf.h> of 6.13; Debian 12's is of 6.1. */
enum { TRACE_UPROBE_SESSION = 57 };

struct link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

static const struct shape {
	const char *name, *enter, *leave, *release;
	bool is_session;
} shapes[] = {
	{"session", "empty", NULL, "empty", true},
	{"entry", "no_return", NULL, "empty", true},
	{"perf", "empty", "empty", "empty", false},
	{"count", "count", NULL, "count", true},
	{"memleak", "memleak_enter", "memleak_leave", "memleak_free", false},
};

struct place {
	const char *path;
	pid_t pid;
	uint64_t malloc_off, free_off;
};

static int attach_session(int prog_fd, const struct place *place)
{
	struct link_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = TRACE_UPROBE_SESSION,
		.path = (uintptr_t)place->path,
		.offsets = (uintptr_t)&place->malloc_off,
		.cnt = 1,
		.pid = (uint32_t)place->pid,
	};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static struct bpf_program *find(struct bpf_object *object, const char *name)
{
	return bpf_object__find_program_by_name(object, name);
}

/* The program at malloc's entry is also the one at its return where it is a session. */
static int attach(struct bpf_object *plain, struct bpf_object *session, const struct shape *shape,
		  const struct place *place)
{
	if (!bpf_program__attach_uprobe(find(plain, shape->release), false, place->pid, place->path,
					place->free_off))
		return -1;
	if (session)
		return attach_session(bpf_program__fd(find(session, shape->enter)), place) < 0;
	if (!bpf_program__attach_uprobe(find(plain, shape->enter), false, place->pid, place->path,
					place->malloc_off))
		return -1;
	return bpf_program__attach_uprobe(find(plain, shape->leave), true, place->pid, place->path,
					  place->malloc_off)
		       ? 0
		       : -1;
}

/* A program that is a session must be loaded as one; the same function is also wanted as a plain
 * one, at free. */
static struct bpf_object *load(const char *path, const struct shape *shape, bool is_session)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		return NULL;
	if (is_session) {
		program = find(object, shape->enter);
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)TRACE_UPROBE_SESSION);
	}
	return bpf_object__load(object) ? NULL : object;
}

static int run(const char *object_path, const struct shape *shape, const struct place *place)
{
	struct bpf_object *plain = load(object_path, shape, false);
	struct bpf_object *session = shape->is_session ? load(object_path, shape, true) : NULL;

	if (!plain || (shape->is_session && !session))
		return -1;
	return attach(plain, session, shape, place);
}

int main(int argc, char **argv)
{
	const struct shape *shape = NULL;
	struct place place;

	for (size_t i = 0; argc == 8 && i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!strcmp(argv[6], shapes[i].name))
			shape = &shapes[i];
	if (!shape) {
		fprintf(stderr, "usage: heap_probes OBJECT PID FILE MALLOC_OFF FREE_OFF SHAPE "
				"SECONDS\n");
		return 2;
	}
	place = (struct place){argv[3], (pid_t)strtol(argv[2], NULL, 10),
			       strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0)};
	if (run(argv[1], shape, &place)) {
		fprintf(stderr, "heap_probes: %s: %s\n", shape->name, strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	usleep((unsigned)(strtod(argv[7], NULL) * 1e6));
	return 0;
}
