/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relays as a sink, which stand between many hosts and the fleet's store:
 *
 *	relay+http://[:TOKEN@]HOST[:PORT][,HOST[:PORT]...][?ca=FILE], or relay+https://
 *
 * What the ClickHouse sink would insert goes there as messages (relay_message.h), each of whole
 * windows. What a relay has acknowledged is on its disk, and it ships for ever. Where one is gone
 * or has no room, the next one of the URL is asked (remote.h); what two of them have got is there
 * once, as it is when it is sent twice.
 *
 * Of the dictionary a relay is told once a day what windows name, as nobody is asked what the fleet
 * has of it. Which relay was told is known by the epoch of its spool: one that was told by nobody,
 * another one or the same with a new disk, refuses a message that relies on it, and is told all.
 */
#ifndef BPFPROF_SINK_RELAY_H
#define BPFPROF_SINK_RELAY_H

#include "sink/sink.h"

extern const struct sink_ops relay_sink;

/* What of a struct remote_kind all that goes to a relay has in common. */
#define RELAY_REMOTE_KIND                                                                        \
	.scheme = "relay", .user_variable = "RELAY_USER", .password_variable = "RELAY_PASSWORD", \
	.headers = (const char *const[]){"Content-Type: application/vnd.bpfprof.relay", NULL},   \
	.port = 7711, .has_hosts = true, .may_pass = true

#endif
