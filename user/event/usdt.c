/* SPDX-License-Identifier: Apache-2.0 */
/* USDT probes to places in a file. */
#include "event/usdt.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "elf/usdt_notes.h"
#include "event/probe_image.h"
#include "event/suggest.h"

static bool fits(const char *provider, const char *name, const struct usdt_note *note)
{
	return !fnmatch(provider, note->provider, 0) && !fnmatch(name, note->name, 0);
}

/* One event while its places are looked for. */
struct usdt_search {
	struct event *event;
	struct probe_image image;
	size_t note_cnt; /* of the file */
	size_t match_cnt;
	struct buf *why;
};

static int add_note(struct usdt_search *search, const struct usdt_note *note)
{
	struct event_site *site;
	int err =
		probe_image_add_site(&search->image, search->event, note->pc_vaddr, NULL, 0, &site);

	if (err == -ENOENT) {
		buf_printf(search->why,
			   "%s:%s of '%s' is said to be at 0x%" PRIx64 ", which is no code",
			   note->provider, note->name, search->image.file.path, note->pc_vaddr);
		return -EINVAL;
	}
	if (err)
		return err;
	if (note->semaphore_vaddr &&
	    elf_segments_file_off(&search->image.segments, note->semaphore_vaddr,
				  &site->semaphore_off)) {
		buf_printf(search->why, "%s:%s of '%s' has a semaphore that is not in the file",
			   note->provider, note->name, search->image.file.path);
		return -EINVAL;
	}
	site->usdt_args = strdup(note->args);
	return site->usdt_args ? 0 : -ENOMEM;
}

static int look_at_note(void *arg, const struct usdt_note *note)
{
	struct usdt_search *search = arg;
	const struct event_spec *spec = &search->event->spec;

	search->note_cnt++;
	if (!fits(spec->group, spec->name, note))
		return 0;
	search->match_cnt++;
	/* The rest is only counted: it is refused. */
	return search->match_cnt > PROBE_SITES_MAX ? 0 : add_note(search, note);
}

static int offer_note(void *arg, const struct usdt_note *note)
{
	char name[256];

	snprintf(name, sizeof(name), "%s:%s", note->provider, note->name);
	suggest_offer(arg, name);
	return 0;
}

static int explain_missing(const struct usdt_search *search)
{
	const struct event_spec *spec = &search->event->spec;
	struct suggest near;
	char typed[256];

	if (!search->note_cnt) {
		buf_printf(search->why, "'%s' has no USDT probes", search->image.file.path);
		return -ENOENT;
	}
	snprintf(typed, sizeof(typed), "%s:%s", spec->group, spec->name);
	buf_printf(search->why, "'%s' has no USDT probe %s among its %zu", search->image.file.path,
		   typed, search->note_cnt);
	suggest_init(&near, typed);
	usdt_notes_for_each(search->image.elf, offer_note, &near);
	suggest_print(&near, search->why);
	suggest_deinit(&near);
	return -ENOENT;
}

static int resolve(struct usdt_search *search)
{
	int err = usdt_notes_for_each(search->image.elf, look_at_note, search);

	if (err)
		return err;
	if (!search->match_cnt)
		return explain_missing(search);
	if (search->match_cnt <= PROBE_SITES_MAX)
		return 0;
	buf_printf(search->why,
		   "%zu places of '%s' fit, and %d is the most: write more of the name",
		   search->match_cnt, search->image.file.path, PROBE_SITES_MAX);
	return -E2BIG;
}

int usdt_resolve(struct event *event, const struct event_scope *scope, struct buf *why)
{
	struct usdt_search search = {.event = event};
	struct buf reason;
	int err;

	buf_init(&reason, BUF_NO_MAX);
	search.why = &reason;
	err = probe_image_open(event->spec.path, scope->tgid, &search.image, &reason);
	if (!err) {
		err = probe_image_verify(&search.image, resolve(&search), &reason);
		probe_image_deinit(&search.image);
	}
	if (err)
		buf_printf(why, "%s: %s", event->spec.text, buf_error_text(&reason, err));
	buf_deinit(&reason);
	return err;
}

/* What usdt_list() is asked for. */
struct usdt_listing {
	const char *provider, *name;
	usdt_name_fn *fn;
	void *arg;
};

static int list_note(void *arg, const struct usdt_note *note)
{
	const struct usdt_listing *listing = arg;

	if (!fits(listing->provider, listing->name, note))
		return 0;
	return listing->fn(listing->arg, note->provider, note->name);
}

int usdt_list(const char *path, const char *provider, const char *name, pid_t tgid,
	      usdt_name_fn *fn, void *arg, struct buf *why)
{
	struct usdt_listing listing = {provider, name, fn, arg};
	struct probe_image image;
	int err = probe_image_open(path, tgid, &image, why);

	if (err)
		return err;
	err = usdt_notes_for_each(image.elf, list_note, &listing);
	probe_image_deinit(&image);
	return err;
}
