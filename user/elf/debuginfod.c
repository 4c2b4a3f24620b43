/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of files that were asked for, and the threads that work through it: one sorts out what
 * is not needed, so that a server that is slow does not hide how little is missing; up to four ask.
 * All of them leave by themselves: nobody can be made to wait for a thread that is inside a
 * library.
 */
#include "elf/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/build.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "elf/debug_file.h"
#include "elf/debuginfod_lib.h"
#include "elf/debuginfod_tally.h"
#include "elf/elf_file.h"

enum {
	WISHES_MAX = 1000,
	ASKERS_MAX = 4,
	FAILURES_MAX = 2,
	WHY_BYTES = 160,
};

#define FILE_MAX_BYTES (UINT64_C(2) << 30) /* Chromium's has 1.5 GiB, compressed */
#define STOP_WAIT_NS (2 * NSEC_PER_SEC)

static const char urls_name[] = "DEBUGINFOD_URLS";

enum wish_state {
	WISH_NEW,
	WISH_NEEDED,
	WISH_ASKED, /* a thread is at it */
	WISH_SETTLED,
};

/* A file that was asked for. */
struct wish {
	enum wish_state state;
	enum debuginfod_kind kind;
	uint8_t build_id[DEBUGINFOD_ID_MAX_BYTES];
	size_t build_id_len;
	char *image_path; /* owned */
	uint64_t weight; /* debuginfod_weigh() */
	int image_fd, root_fd; /* owned; -1: none, or not needed any more */
	/* Of WISH_SETTLED: 0 with the file, -EALREADY when it was not needed, or why there is none.
	 */
	int err;
	int fd; /* owned */
	char *path; /* owned: of fd */
};

struct debuginfod {
	pthread_mutex_t lock; /* of all that follows, but for what is said there */
	pthread_cond_t changed;
	struct wish *wishes; /* owned; in the order they came */
	size_t wish_cnt, wish_cap;
	size_t sorted_cnt; /* wishes[0 .. sorted_cnt) are not WISH_NEW */
	size_t asked_cnt; /* wishes[0 .. asked_cnt) are not WISH_NEEDED either */
	size_t settled_cnt;
	size_t refused_cnt; /* by WISHES_MAX */
	unsigned int failure_cnt; /* questions that nobody answered */
	unsigned int thread_cnt, asker_cnt;
	bool is_stopped; /* the owner has gone: the last thread releases everything */
	atomic_bool is_cancelled; /* read without the lock */
	/* Written by the sorting thread before the first one asks; lib_err > 0: not tried. */
	struct debuginfod_lib lib;
	int lib_err;
	char lib_why[WHY_BYTES];
};

/* --- Making and releasing --- */

bool debuginfod_is_configured(void)
{
	const char *urls = secure_getenv(urls_name);

	return urls && urls[strspn(urls, " ")];
}

struct debuginfod *debuginfod_new(void)
{
	struct debuginfod *client = calloc(1, sizeof(*client));
	pthread_condattr_t attr;

	if (!client)
		return NULL;
	pthread_mutex_init(&client->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&client->changed, &attr);
	pthread_condattr_destroy(&attr);
	client->lib_err = 1;
	return client;
}

static void close_image(struct wish *wish)
{
	if (wish->image_fd >= 0)
		close(wish->image_fd);
	if (wish->root_fd >= 0)
		close(wish->root_fd);
	wish->image_fd = wish->root_fd = -1;
}

static void wish_deinit(struct wish *wish)
{
	close_image(wish);
	if (wish->fd >= 0)
		close(wish->fd);
	free(wish->image_path);
	free(wish->path);
}

static void client_free(struct debuginfod *client)
{
	for (size_t i = 0; i < client->wish_cnt; i++)
		wish_deinit(&client->wishes[i]);
	free(client->wishes);
	pthread_cond_destroy(&client->changed);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

/* --- Threads: all of this under the lock, unless it says otherwise --- */

static bool is_working(const struct debuginfod *client)
{
	return !atomic_load(&client->is_cancelled);
}

static int start_thread(struct debuginfod *client, void *(*thread_main)(void *))
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, thread_main, client);

	if (err)
		return -err;
	pthread_detach(thread);
	client->thread_cnt++;
	return 0;
}

/* The thread's last act; gives up the lock. */
static void *leave(struct debuginfod *client)
{
	bool is_last = !--client->thread_cnt && client->is_stopped;

	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
	if (is_last)
		client_free(client);
	return NULL;
}

static void settle(struct debuginfod *client, size_t index, int err)
{
	struct wish *wish = &client->wishes[index];

	wish->state = WISH_SETTLED;
	wish->err = err;
	client->settled_cnt++;
	pthread_cond_broadcast(&client->changed);
	log_debug("debuginfod: '%s': %s", wish->image_path,
		  err == -EALREADY ? "not needed" : strerror(-err));
}

/* --- Sorting --- */

/* Without the lock. */
static bool is_needed(const struct wish *wish)
{
	struct debug_query query = {
		.path = wish->image_path,
		.build_id = wish->build_id,
		.build_id_len = wish->build_id_len,
		.root_fd = wish->root_fd,
	};
	struct elf_file *elf;
	bool is_missed;

	if (wish->image_fd < 0)
		return true;
	elf = elf_file_open_wary(wish->image_fd, wish->root_fd >= 0);
	if (!elf)
		return false;
	query.elf = elf;
	is_missed = debug_file_is_missed(&query);
	elf_file_free(elf);
	return is_missed;
}

static void *asker_main(void *arg);

/* @wish is needed: by whom is it asked for? */
static void queue_question(struct debuginfod *client, size_t index)
{
	if (client->lib_err || client->failure_cnt >= FAILURES_MAX) {
		settle(client, index, client->lib_err ? client->lib_err : -ECONNABORTED);
		return;
	}
	client->wishes[index].state = WISH_NEEDED;
	if (client->asker_cnt < ASKERS_MAX && !start_thread(client, asker_main))
		client->asker_cnt++;
	if (!client->asker_cnt)
		settle(client, index, -EAGAIN);
	pthread_cond_broadcast(&client->changed);
}

static void *sorter_main(void *arg)
{
	struct debuginfod *client = arg;

	privilege_keep(PRIVILEGES_RUN | PRIVILEGES_OUTPUT);
	pthread_mutex_lock(&client->lock);
	while (is_working(client)) {
		size_t index = client->sorted_cnt;
		struct wish wish;
		bool needed;

		if (index == client->wish_cnt) {
			pthread_cond_wait(&client->changed, &client->lock);
			continue;
		}
		wish = client->wishes[index];
		pthread_mutex_unlock(&client->lock);
		needed = is_needed(&wish);
		if (needed && client->lib_err > 0)
			client->lib_err = debuginfod_lib_open(&client->lib, client->lib_why,
							      sizeof(client->lib_why));
		pthread_mutex_lock(&client->lock);
		client->sorted_cnt++;
		close_image(&client->wishes[index]);
		if (needed)
			queue_question(client, index);
		else
			settle(client, index, -EALREADY);
	}
	return leave(client);
}

/* --- Asking; without the lock --- */

/* Fills fd and path of @wish. 0 or negative errno. */
static int ask_servers(struct debuginfod *client, struct debuginfod_client *handle,
		       struct wish *wish)
{
	const struct debuginfod_question question = {
		.kind = wish->kind,
		.build_id = wish->build_id,
		.build_id_len = wish->build_id_len,
		.max_bytes = FILE_MAX_BYTES,
		.is_cancelled = &client->is_cancelled,
	};
	int fd;

	if (!handle)
		return -ENOMEM;
	fd = debuginfod_lib_find(&client->lib, handle, &question, &wish->path);
	if (fd < 0)
		return fd;
	wish->fd = fd;
	return 0;
}

/* Nobody said anything, which will cost as much time again. */
static bool is_silence(int err)
{
	switch (-err) {
	case ETIMEDOUT:
	case ETIME:
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return true;
	default:
		return false;
	}
}

/* --- The threads that ask --- */

/* Under the lock: the next wish to ask for. */
static bool next_needed(struct debuginfod *client, size_t *index_out)
{
	while (client->asked_cnt < client->sorted_cnt) {
		size_t index = client->asked_cnt++;

		if (client->wishes[index].state != WISH_NEEDED)
			continue;
		if (client->failure_cnt >= FAILURES_MAX) {
			settle(client, index, -ECONNABORTED);
			continue;
		}
		*index_out = index;
		return true;
	}
	return false;
}

static void take_answer(struct debuginfod *client, size_t index, const struct wish *answer, int err)
{
	client->wishes[index].fd = answer->fd;
	client->wishes[index].path = answer->path;
	client->failure_cnt += is_silence(err);
	settle(client, index, err);
}

static void *asker_main(void *arg)
{
	struct debuginfod *client = arg;
	struct debuginfod_client *handle = client->lib.begin();

	pthread_mutex_lock(&client->lock);
	while (is_working(client)) {
		struct wish wish;
		size_t index;
		int err;

		if (!next_needed(client, &index)) {
			pthread_cond_wait(&client->changed, &client->lock);
			continue;
		}
		client->wishes[index].state = WISH_ASKED;
		wish = client->wishes[index];
		pthread_mutex_unlock(&client->lock);
		err = ask_servers(client, handle, &wish);
		pthread_mutex_lock(&client->lock);
		take_answer(client, index, &wish, err);
	}
	pthread_mutex_unlock(&client->lock);
	if (handle)
		client->lib.end(handle);
	pthread_mutex_lock(&client->lock);
	return leave(client);
}

/* --- What the owner does --- */

/* Under the lock. NULL: not asked for. */
static struct wish *find_wish(struct debuginfod *client, enum debuginfod_kind kind,
			      const uint8_t *build_id, size_t build_id_len)
{
	for (size_t i = 0; i < client->wish_cnt; i++) {
		struct wish *wish = &client->wishes[i];

		if (wish->kind == kind && wish->build_id_len == build_id_len &&
		    !memcmp(wish->build_id, build_id, build_id_len))
			return wish;
	}
	return NULL;
}

/* A duplicate of @fd, -1 of -1; false when there is none to be had. */
static bool duplicate(int fd, int *out)
{
	*out = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 || *out >= 0;
}

static int wish_init(const struct debuginfod_wish *from, struct wish *out)
{
	struct wish wish = {
		.kind = from->kind,
		.build_id_len = from->build_id_len,
		.image_fd = -1,
		.root_fd = -1,
		.fd = -1,
	};

	memcpy(wish.build_id, from->build_id, from->build_id_len);
	wish.image_path = strdup(from->path);
	if (!wish.image_path)
		return -ENOMEM;
	if (!duplicate(from->fd, &wish.image_fd) || !duplicate(from->root_fd, &wish.root_fd)) {
		int err = -errno;

		wish_deinit(&wish);
		return err;
	}
	*out = wish;
	return 0;
}

/* Under the lock. */
static int add_wish(struct debuginfod *client, const struct debuginfod_wish *from)
{
	struct wish wish = {.image_fd = -1, .root_fd = -1, .fd = -1};
	int err;

	if (client->wish_cnt >= WISHES_MAX) {
		client->refused_cnt++;
		return -ENOSPC;
	}
	err = array_reserve(&client->wishes, &client->wish_cap, client->wish_cnt + 1, sizeof(wish));
	if (!err)
		err = wish_init(from, &wish);
	/* The sorting thread is the first. */
	if (!err && !client->thread_cnt) {
		err = start_thread(client, sorter_main);
		if (err)
			wish_deinit(&wish);
	}
	if (err)
		return err;
	client->wishes[client->wish_cnt++] = wish;
	pthread_cond_broadcast(&client->changed);
	return 0;
}

int debuginfod_ask(struct debuginfod *client, const struct debuginfod_wish *wish)
{
	int err = 0;

	if (!wish->build_id_len || wish->build_id_len > DEBUGINFOD_ID_MAX_BYTES)
		return -EINVAL;
	pthread_mutex_lock(&client->lock);
	if (is_working(client) &&
	    !find_wish(client, wish->kind, wish->build_id, wish->build_id_len))
		err = add_wish(client, wish);
	pthread_mutex_unlock(&client->lock);
	return err;
}

/* Under the lock, until something changes or @deadline_ns. */
static void wait_for_change(struct debuginfod *client, uint64_t deadline_ns)
{
	const struct timespec until = {
		(time_t)(deadline_ns / NSEC_PER_SEC),
		(long)(deadline_ns % NSEC_PER_SEC),
	};

	pthread_cond_timedwait(&client->changed, &client->lock, &until);
}

size_t debuginfod_wait(struct debuginfod *client, uint64_t deadline_ns)
{
	size_t left_cnt;

	pthread_mutex_lock(&client->lock);
	while (client->settled_cnt < client->wish_cnt && clock_monotonic_ns() < deadline_ns)
		wait_for_change(client, deadline_ns);
	left_cnt = client->wish_cnt - client->settled_cnt;
	pthread_mutex_unlock(&client->lock);
	return left_cnt;
}

void debuginfod_cancel(struct debuginfod *client)
{
	pthread_mutex_lock(&client->lock);
	atomic_store(&client->is_cancelled, true);
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

int debuginfod_open(struct debuginfod *client, enum debuginfod_kind kind, const uint8_t *build_id,
		    size_t build_id_len, char **path_out)
{
	const struct wish *wish;
	char *path = NULL;
	int fd = -ENOENT;

	pthread_mutex_lock(&client->lock);
	wish = find_wish(client, kind, build_id, build_id_len);
	if (wish && wish->state != WISH_SETTLED)
		fd = -EAGAIN;
	else if (wish && !wish->err && (path = strdup(wish->path)) && !duplicate(wish->fd, &fd))
		fd = -errno;
	pthread_mutex_unlock(&client->lock);
	if (fd < 0) {
		free(path);
		return fd;
	}
	*path_out = path;
	return fd;
}

void debuginfod_stop(struct debuginfod *client)
{
	uint64_t deadline_ns = clock_monotonic_ns() + STOP_WAIT_NS;
	bool is_last;

	if (!client)
		return;
	debuginfod_cancel(client);
	pthread_mutex_lock(&client->lock);
	while (client->thread_cnt && clock_monotonic_ns() < deadline_ns)
		wait_for_change(client, deadline_ns);
	/* What is stuck in the library may have left its negative answer behind already. */
	for (size_t i = 0; i < client->wish_cnt; i++) {
		const struct wish *wish = &client->wishes[i];

		if (wish->state == WISH_ASKED)
			debuginfod_lib_forget(wish->kind, wish->build_id, wish->build_id_len);
	}
	client->is_stopped = true;
	is_last = !client->thread_cnt;
	pthread_mutex_unlock(&client->lock);
	if (is_last)
		client_free(client);
}

/* --- What is said --- */

void debuginfod_weigh(struct debuginfod *client, enum debuginfod_kind kind, const uint8_t *build_id,
		      size_t build_id_len, uint64_t weight)
{
	struct wish *wish;

	pthread_mutex_lock(&client->lock);
	wish = find_wish(client, kind, build_id, build_id_len);
	if (wish)
		wish->weight = weight;
	pthread_mutex_unlock(&client->lock);
}

static bool did_not_arrive(const struct wish *wish)
{
	if (wish->state != WISH_SETTLED)
		return wish->state != WISH_NEW;
	return wish->err && wish->err != -EALREADY && wish->err != -ENOENT && wish->err != -ESTALE;
}

/* What became of what was asked for. Says nothing: a terminal may be slow, and the lock is held. */
static void count_fates(struct debuginfod *client, struct debuginfod_tally *missing,
			struct debuginfod_tally *wrong)
{
	pthread_mutex_lock(&client->lock);
	for (size_t i = 0; i < client->wish_cnt; i++) {
		const struct wish *wish = &client->wishes[i];

		if (did_not_arrive(wish))
			debuginfod_tally_add(missing, wish->image_path, wish->weight,
					     wish->err == -ECONNABORTED || wish->err == -ECANCELED
						     ? 0
						     : wish->err);
		else if (wish->state == WISH_SETTLED && wish->err == -ESTALE)
			debuginfod_tally_add(wrong, wish->image_path, wish->weight, wish->err);
	}
	missing->cnt += client->refused_cnt;
	debuginfod_tally_name(missing);
	debuginfod_tally_name(wrong);
	pthread_mutex_unlock(&client->lock);
}

void debuginfod_report(struct debuginfod *client)
{
	struct debuginfod_tally missing = {0}, wrong = {0};

	buf_init(&missing.names, BUF_NO_MAX);
	buf_init(&wrong.names, BUF_NO_MAX);
	count_fates(client, &missing, &wrong);
	if (missing.err == -ELIBACC)
		log_warn("$%s is set, but its library cannot be loaded%s: %s", urls_name,
			 BUILD_IS_STATIC ? "" : " (Debian's package libdebuginfod1)",
			 client->lib_why);
	else if (missing.cnt)
		log_warn("debuginfod: what did not arrive (%s): symbols of %s",
			 missing.err ? strerror(-missing.err) : "not in time",
			 buf_cstr(&missing.names));
	if (wrong.cnt)
		log_warn("debuginfod: refused, because it belongs to something else: what was sent "
			 "for %s",
			 buf_cstr(&wrong.names));
	buf_deinit(&missing.names);
	buf_deinit(&wrong.names);
}
