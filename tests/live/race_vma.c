/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_vma SECONDS COPY.so...: executable mappings that come and go as fast as they can, under code
 * that knows which file it runs.
 *
 * The copies are the same code at the same place in different files. Each of PLACES addresses has
 * a spinner, which runs the copy that is mapped there and says so in its thread's name (copy_N),
 * and a mapper, which maps the same copy over itself again and again, so that the mapping's kernel
 * object is freed and made anew, often out of one that another place has just freed, while the
 * profiler looks for it. The spinner changes its copy from time to time, under another name. Two
 * more threads split, join and unmap executable mappings in between. So: a sample of a thread named
 * copy_N that has a frame in another copy is attributed wrongly.
 */
#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 3, COPIES_MAX = 16, CHURN_PAGES = 64, SPIN = 20000, ROUNDS = 20, PAGE = 4096 };

struct copy {
	int fd;
	off_t text_off; /* of the segment with the code */
	size_t text_bytes;
	size_t entry; /* of the function in the segment */
};

struct place {
	pthread_mutex_t lock;
	char *at;
	int current;
	unsigned int seed;
};

static struct copy copies[COPIES_MAX];
static int copy_cnt;
static struct place places[PLACES];
static atomic_bool stop;
static atomic_ulong maps_made, turns;

static void copy_open(struct copy *copy, const char *path)
{
	ElfW(Ehdr) head;

	copy->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (copy->fd < 0 || pread(copy->fd, &head, sizeof(head), 0) != sizeof(head))
		err(1, "%s", path);
	for (int i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) seg;

		if (pread(copy->fd, &seg, sizeof(seg),
			  (off_t)head.e_phoff + i * head.e_phentsize) != sizeof(seg))
			err(1, "%s", path);
		if (seg.p_type == PT_LOAD && (seg.p_flags & PF_X)) {
			copy->text_off = (off_t)seg.p_offset;
			copy->text_bytes = (seg.p_filesz + PAGE - 1) / PAGE * PAGE;
			copy->entry = head.e_entry - seg.p_vaddr;
		}
	}
}

/* Map the place's current copy over what is there. */
static void place_map(struct place *place)
{
	const struct copy *copy = &copies[place->current];

	if (mmap(place->at, copy->text_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		 copy->fd, copy->text_off) == MAP_FAILED)
		err(1, "mmap");
	atomic_fetch_add_explicit(&maps_made, 1, memory_order_relaxed);
}

static void name_set(int copy)
{
	char name[16];

	snprintf(name, sizeof(name), copy < 0 ? "between" : "copy_%d", copy);
	prctl(PR_SET_NAME, name);
}

static void *spinner_main(void *arg)
{
	struct place *place = arg;

	while (!stop) {
		name_set(-1);
		pthread_mutex_lock(&place->lock);
		place->current = (int)(rand_r(&place->seed) % (unsigned int)copy_cnt);
		place_map(place);
		pthread_mutex_unlock(&place->lock);
		name_set(place->current);
		for (int i = 0; i < ROUNDS && !stop; i++) {
			volatile unsigned int left = SPIN;
			void (*run)(volatile unsigned int *) = (void (*)(volatile unsigned int *))(
				place->at + copies[place->current].entry);

			run(&left);
		}
		atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *mapper_main(void *arg)
{
	struct place *place = arg;

	prctl(PR_SET_NAME, "mapper");
	while (!stop) {
		pthread_mutex_lock(&place->lock);
		place_map(place);
		pthread_mutex_unlock(&place->lock);
	}
	return NULL;
}

/* Mappings around the places: made, split, joined, unmapped. */
static void *churn_main(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	prctl(PR_SET_NAME, "churn");
	while (!stop) {
		const struct copy *copy = &copies[rand_r(&seed) % (unsigned int)copy_cnt];
		size_t bytes = (size_t)CHURN_PAGES * PAGE;
		char *at = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);

		if (at == MAP_FAILED)
			err(1, "mmap");
		for (size_t page = 0; page < CHURN_PAGES; page += 2)
			mprotect(at + page * PAGE, PAGE, PROT_READ);
		mmap(at + 8 * PAGE, copy->text_bytes, PROT_READ | PROT_EXEC,
		     MAP_PRIVATE | MAP_FIXED, copy->fd, copy->text_off);
		for (size_t page = 0; page < CHURN_PAGES; page += 2)
			mprotect(at + page * PAGE, PAGE, PROT_READ | PROT_EXEC);
		munmap(at, bytes);
		atomic_fetch_add_explicit(&maps_made, 2, memory_order_relaxed);
	}
	return NULL;
}

static void start(void *(*main_fn)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, main_fn, arg))
		errx(1, "no thread");
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	if (argc < 4 || argc - 2 > COPIES_MAX)
		errx(2, "usage: race_vma SECONDS COPY.so COPY.so...");
	for (int i = 2; i < argc; i++)
		copy_open(&copies[copy_cnt++], argv[i]);
	for (int i = 0; i < PLACES; i++) {
		places[i].at = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		places[i].seed = (unsigned int)i + 1;
		pthread_mutex_init(&places[i].lock, NULL);
		place_map(&places[i]);
		start(spinner_main, &places[i]);
		start(mapper_main, &places[i]);
	}
	start(churn_main, (void *)1);
	start(churn_main, (void *)2);
	sleep((unsigned int)strtoul(argv[1], NULL, 10));
	stop = true;
	printf("%lu mappings made, %lu turns\n", atomic_load(&maps_made), atomic_load(&turns));
	return 0;
}
