/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver of test_user_probes.sh: where a probe in a program or library is put.
 *
 *	probe_sites EVENT PID		a line for each place: file offset, symbol, offset in it,
 *					"entry" or "inside", the semaphore's file offset,
 *					arguments, path
 *	probe_sites --count EVENT PID	put the probes into process PID, which is stopped, let it
 *					run to its end, and print how often they were hit
 *	probe_sites --list EVENT PID	the names that fit
 *
 * EVENT: uprobe:PATH:SYMBOL[+OFF], uprobe:PATH:0xADDR, uretprobe:..., usdt:PATH:PROVIDER:NAME.
 * PID 0: of no process. Errors are one line on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "event/event.h"
#include "event/usdt.h"
#include "event/user_probe.h"

/* Cut @text at its next colon: what is behind it. */
static char *cut(char *text, char chr)
{
	char *found = text ? strchr(text, chr) : NULL;

	if (found)
		*found++ = '\0';
	return found;
}

static void parse_place(char *place, struct event_spec *spec)
{
	char *off = strncmp(place, "operator", 8) != 0 ? cut(place, '+') : NULL;

	spec->has_addr = !strncmp(place, "0x", 2);
	if (spec->has_addr ? parse_u64(place, &spec->addr) : off && parse_u64(off, &spec->off))
		exit(2);
	spec->has_off = off != NULL;
	spec->name = strdup(place);
}

/* Only what a test writes: the program has a parser of its own. */
static void parse_event(const char *text, struct event_spec *spec)
{
	_cleanup_free_ char *copy = strdup(text);
	char *path = cut(copy, ':'), *place = cut(path, ':');

	*spec = (struct event_spec){.text = strdup(text)};
	if (!place)
		exit(2);
	spec->path = strdup(path);
	spec->kind = !strcmp(copy, "usdt")     ? EVENT_USDT
		     : !strcmp(copy, "uprobe") ? EVENT_UPROBE
					       : EVENT_URETPROBE;
	if (spec->kind == EVENT_USDT) {
		char *name = cut(place, ':');

		spec->group = strdup(place);
		spec->name = strdup(name ? name : "*");
	} else {
		parse_place(place, spec);
	}
}

static void print_sites(const struct event *event)
{
	for (size_t i = 0; i < event->site_cnt; i++) {
		const struct event_site *site = &event->sites[i];

		printf("0x%" PRIx64 "\t%s\t0x%" PRIx64 "\t%s\t0x%" PRIx64 "\t%s\t%s\n",
		       site->asked_file_off, site->symbol ? site->symbol : "-", site->symbol_off,
		       site->is_entry ? "entry" : "inside", site->semaphore_off,
		       site->usdt_args && *site->usdt_args ? site->usdt_args : "-", site->path);
	}
}

/* --- Putting them in --- */

static uint32_t uprobe_type(void)
{
	_cleanup_free_ char *line = fs_read_line("/sys/bus/event_source/devices/uprobe/type");
	uint64_t type;

	if (!line || parse_u64(line, &type)) {
		fprintf(stderr, "probe_sites: no uprobe PMU\n");
		exit(3);
	}
	return (uint32_t)type;
}

static int open_site(const struct event *event, const struct event_site *site, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = uprobe_type(),
		.size = sizeof(attr),
		/* format/retprobe: bit 0; format/ref_ctr_offset: bits 32 to 63 */
		.config = event_is_return(event->spec.kind) | site->semaphore_off << 32,
		.uprobe_path = (uintptr_t)site->path,
		.probe_offset = site->file_off,
		.inherit = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "probe_sites: perf_event_open '%s': %s\n", site->path,
			strerror(errno));
		exit(1);
	}
	return (int)fd;
}

static int count(const struct event *event, pid_t pid)
{
	int *fds = calloc(event->site_cnt, sizeof(*fds));
	uint64_t sum = 0;

	for (size_t i = 0; fds && i < event->site_cnt; i++)
		fds[i] = open_site(event, &event->sites[i], pid);
	printf("ready\n");
	fflush(stdout);
	kill(pid, SIGCONT);
	/* A process that nobody has waited for yet has no files any more. */
	for (int i = 0; i < 1000; i++) {
		char path[64], exe[16];

		snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
		if (readlink(path, exe, sizeof(exe)) < 0)
			break;
		usleep(10000);
	}
	for (size_t i = 0; fds && i < event->site_cnt; i++) {
		uint64_t value = 0;

		if (read(fds[i], &value, sizeof(value)) != sizeof(value))
			exit(1);
		sum += value;
	}
	printf("%" PRIu64 " hits\n", sum);
	free(fds);
	return 0;
}

/* --- Names --- */

static int print_name(void *arg, const char *name)
{
	puts(name);
	return 0;
}

static int print_usdt(void *arg, const char *provider, const char *name)
{
	printf("%s:%s\n", provider, name);
	return 0;
}

static int list(const struct event_spec *spec, pid_t pid, struct buf *why)
{
	if (spec->kind == EVENT_USDT)
		return usdt_list(spec->path, spec->group, spec->name, pid, print_usdt, NULL, why);
	return user_probe_list(spec->path, spec->name, pid, print_name, NULL, why);
}

int main(int argc, char **argv)
{
	const char *option = argc == 4 ? argv[1] : "";
	struct event event = {0};
	struct event_scope scope;
	struct buf why;
	uint64_t pid;
	int err;

	if (argc < 3 || argc > 4 || parse_u64(argv[argc - 1], &pid)) {
		fprintf(stderr, "usage: probe_sites [--count | --list] EVENT PID\n");
		return 2;
	}
	buf_init(&why, BUF_NO_MAX);
	scope = (struct event_scope){.tgid = (pid_t)pid};
	parse_event(argv[argc - 2], &event.spec);
	if (!strcmp(option, "--list"))
		err = list(&event.spec, scope.tgid, &why);
	else if (event.spec.kind == EVENT_USDT)
		err = usdt_resolve(&event, &scope, &why);
	else
		err = user_probe_resolve(&event, &scope, &why);
	if (err)
		fprintf(stderr, "%s (%s)\n", buf_cstr(&why), strerrorname_np(-err));
	else if (!strcmp(option, "--count"))
		err = count(&event, scope.tgid);
	else if (!*option)
		print_sites(&event);
	event_deinit(&event);
	buf_deinit(&why);
	return err ? 1 : 0;
}
