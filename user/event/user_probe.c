/* SPDX-License-Identifier: Apache-2.0 */
/* TODO(the ELF side of user probes is made elsewhere): every user probe is refused here. */
#include "event/user_probe.h"

#include <errno.h>

int user_probe_resolve(struct event *event, const struct event_scope *scope, struct buf *why)
{
	buf_printf(why, "event '%s': user probes are not in this build", event->spec.text);
	return -EOPNOTSUPP;
}
