/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for relays, of the window of sink_fixture.h. Include it after cmocka. */
#ifndef BPFPROF_TESTS_RELAY_FIXTURE_H
#define BPFPROF_TESTS_RELAY_FIXTURE_H

#include "sink/relay_message.h"
#include "sink_fixture.h"

#define RELAY_HOST_ID "id-of-host"

struct relay_fixture {
	struct sink_fixture fix;
	struct fleet_filler filler;
	struct fleet_blocks blocks, read; /* the message's; without rows */
	struct relay_head head;
	struct buf message;
};

static inline void relay_fixture_init(struct relay_fixture *relay)
{
	*relay = (struct relay_fixture){
		.head = {.epoch = 7, .first_seq = 17, .last_seq = 17, .name = "alpha"}};
	snprintf(relay->head.id, sizeof(relay->head.id), RELAY_HOST_ID);
	fixture_init(&relay->fix, "web", "db");
	fleet_filler_init(&relay->filler, RELAY_HOST_ID);
	relay->filler.tells_all = true;
	assert_int_equal(fleet_blocks_init(&relay->blocks), 0);
	assert_int_equal(fleet_blocks_init(&relay->read), 0);
	buf_init(&relay->message, BUF_NO_MAX);
	assert_int_equal(fleet_fill(&relay->filler, NULL, &relay->fix.window, 1, &relay->blocks),
			 0);
	assert_int_equal(relay_message_write(&relay->head, &relay->blocks, &relay->message), 0);
}

static inline void relay_fixture_deinit(struct relay_fixture *relay)
{
	fleet_blocks_deinit(&relay->blocks);
	fleet_blocks_deinit(&relay->read);
	fleet_filler_deinit(&relay->filler);
	fixture_deinit(&relay->fix);
	buf_deinit(&relay->message);
}

#endif
