/* SPDX-License-Identifier: Apache-2.0 */
/* Releasing what an event is made of. */
#include "event/event.h"

#include <stdlib.h>

void event_spec_deinit(struct event_spec *spec)
{
	free(spec->text);
	free(spec->group);
	free(spec->name);
	free(spec->path);
	*spec = (struct event_spec){0};
}

static void site_deinit(struct event_site *site)
{
	free(site->path);
	free(site->symbol);
	free(site->usdt_args);
}

void event_field_deinit(struct event_field *field)
{
	free(field->name);
	free(field->type);
	*field = (struct event_field){0};
}

void event_drop_site(struct event *event)
{
	site_deinit(&event->sites[--event->site_cnt]);
}

void event_deinit(struct event *event)
{
	for (size_t i = 0; i < event->site_cnt; i++)
		site_deinit(&event->sites[i]);
	for (size_t i = 0; i < event->field_cnt; i++)
		event_field_deinit(&event->fields[i]);
	free(event->sites);
	free(event->fields);
	free(event->tracepoint_ids);
	event_spec_deinit(&event->spec);
	*event = (struct event){0};
}
