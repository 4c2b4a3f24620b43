/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a profile as a trie: every sample walks from its process frame along its locations
 * through one hash index (parent, location) -> child. */
#include "encode/html.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

struct child_key {
	uint32_t parent, ref;
};

static bool is_child(const void *owner, uint32_t index, const void *key_ptr)
{
	const struct html_node *node = &((const struct html_trie *)owner)->nodes[index];
	const struct child_key *key = key_ptr;

	return node->parent == key->parent && node->ref == key->ref;
}

uint32_t html_line_cnt(const struct profile *prof, uint32_t location)
{
	uint32_t cnt = prof->locations[location].line_cnt;

	return cnt < FLAME_FRAMES_MAX ? cnt : FLAME_FRAMES_MAX;
}

static uint32_t frames_of(const struct html_trie *trie, const struct child_key *key)
{
	const struct profile *prof = trie->frames.prof;
	uint32_t cnt = 1;

	if (key->parent != PROFILE_NONE && key->ref < prof->location_cnt)
		cnt = html_line_cnt(prof, key->ref);
	return cnt ? cnt : 1;
}

static int new_node(struct html_trie *trie, const struct child_key *key, uint32_t *out)
{
	uint32_t *first = key->parent == PROFILE_NONE ? &trie->first_root
						      : &trie->nodes[key->parent].first_child;
	uint32_t sibling = *first;
	int err;

	trie->frame_cnt += frames_of(trie, key);
	if (trie->frame_cnt > FLAME_NODES_MAX)
		return -E2BIG;
	*first = (uint32_t)trie->node_cnt;
	err = array_reserve(&trie->nodes, &trie->node_cap, trie->node_cnt + 1,
			    sizeof(*trie->nodes));
	if (err)
		return err;
	trie->nodes[trie->node_cnt] = (struct html_node){
		.parent = key->parent,
		.ref = key->ref,
		.first_child = PROFILE_NONE,
		.next_sibling = sibling,
		.first_sample = PROFILE_NONE,
	};
	*out = (uint32_t)trie->node_cnt++;
	return 0;
}

/* Move *@node to its child @ref, made when it is new. */
static int descend(struct html_trie *trie, uint32_t ref, uint32_t *node)
{
	const struct child_key key = {*node, ref};
	uint64_t hash = hash_mix(hash_mix(0, key.parent), key.ref);
	uint32_t known = hmap_find(&trie->index, hash, is_child, trie, &key);
	int err;

	if (known != HMAP_NONE) {
		*node = known;
		return 0;
	}
	err = new_node(trie, &key, node);
	return err ? err : hmap_insert(&trie->index, hash, *node);
}

/* To "[N frames elided]", a location of our own. */
static int descend_elided(struct html_trie *trie, uint64_t frame_cnt, uint32_t *node)
{
	uint32_t name = flame_elided_name(&trie->frames, frame_cnt);
	size_t at = 0;
	int err;

	if (name == STRTAB_NONE)
		return -ENOMEM;
	while (at < trie->elided_cnt && trie->elided[at] != name)
		at++;
	if (at == trie->elided_cnt) {
		err = array_reserve(&trie->elided, &trie->elided_cap, at + 1,
				    sizeof(*trie->elided));
		if (err)
			return err;
		trie->elided[trie->elided_cnt++] = name;
	}
	return descend(trie, (uint32_t)(trie->frames.prof->location_cnt + at), node);
}

/* Locations are left out as a whole, those that begin within the gap. */
static int descend_stack(struct html_trie *trie, const struct profile_stack *stack, uint32_t *node)
{
	const uint32_t *locations =
		stack->cnt ? trie->frames.prof->stack_locations + stack->first : NULL;
	struct flame_gap gap = flame_stack_gap(&trie->frames, locations, stack->cnt);
	const uint32_t *first = trie->frames.first;
	uint64_t pos = 0, elided = 0;
	int err = 0;

	for (uint32_t i = stack->cnt; i-- > 0 && !err;) {
		uint32_t cnt = first[locations[i] + 1] - first[locations[i]];
		bool is_elided = pos >= gap.from && pos < gap.to;

		elided += is_elided ? cnt : 0;
		pos += cnt;
		if (is_elided)
			continue;
		if (elided) {
			err = descend_elided(trie, elided, node);
			elided = 0;
		}
		if (!err)
			err = descend(trie, locations[i], node);
	}
	return elided && !err ? descend_elided(trie, elided, node) : err;
}

static int add_samples(struct html_trie *trie)
{
	const struct profile *prof = trie->frames.prof;
	int err = 0;

	trie->next_sample = calloc(prof->sample_cnt + 1, sizeof(*trie->next_sample));
	if (!trie->next_sample)
		return -ENOMEM;
	for (size_t i = prof->sample_cnt; i-- > 0 && !err;) {
		const struct profile_sample *sample = &prof->samples[i];
		uint32_t node = PROFILE_NONE;

		err = descend(trie, trie->frames.process_names[sample->label_set], &node);
		if (!err)
			err = descend_stack(trie, &prof->stacks[sample->stack], &node);
		if (err)
			break;
		trie->next_sample[i] = trie->nodes[node].first_sample;
		trie->nodes[node].first_sample = (uint32_t)i;
	}
	return err;
}

int html_trie_init(struct html_trie *trie, const struct profile *prof, const char *by)
{
	int err;

	*trie = (struct html_trie){.first_root = PROFILE_NONE};
	hmap_init(&trie->index);
	err = flame_frames_init(&trie->frames, prof, by);
	return err ? err : add_samples(trie);
}

void html_trie_deinit(struct html_trie *trie)
{
	flame_frames_deinit(&trie->frames);
	free(trie->nodes);
	free(trie->next_sample);
	free(trie->elided);
	hmap_deinit(&trie->index);
}

uint32_t html_trie_next(const struct html_trie *trie, uint32_t node, uint32_t *up)
{
	const struct html_node *nodes = trie->nodes;

	*up = 0;
	if (nodes[node].first_child != PROFILE_NONE)
		return nodes[node].first_child;
	for (; node != PROFILE_NONE; node = nodes[node].parent) {
		++*up;
		if (nodes[node].next_sibling != PROFILE_NONE)
			return nodes[node].next_sibling;
	}
	return PROFILE_NONE;
}
