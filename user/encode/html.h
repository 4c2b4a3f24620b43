/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the HTML encoder: what html.c (the document) and its parts share. Not for others;
 * the outside is encoder_html in encode/encoder.h.
 */
#ifndef BPFPROF_ENCODE_HTML_H
#define BPFPROF_ENCODE_HTML_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hmap.h"
#include "encode/encoder.h"
#include "encode/flame_frames.h"
#include "encode/html_changes.h"

/* A stack's end, or a part that stacks share. */
struct html_node {
	uint32_t parent; /* or PROFILE_NONE */
	uint32_t ref; /* without parent: the process frame, a string; else a location */
	uint32_t first_child, next_sibling; /* or PROFILE_NONE */
	uint32_t first_sample; /* that ends here, or PROFILE_NONE */
};

/*
 * The stacks of a profile as a trie of locations, one tree for each process frame ("" for stacks
 * without one). Of a stack with more than FLAME_FRAMES_MAX frames the middle is one location that
 * the profile does not have: location_cnt + i for the name elided[i].
 */
struct html_trie {
	struct flame_frames frames;
	struct html_node *nodes; /* owned; in order of creation: a parent before its children */
	size_t node_cnt, node_cap;
	uint32_t first_root;
	uint32_t *next_sample; /* owned: by sample, the next one that ends at the same node */
	uint32_t *elided; /* owned: strings in frames.names */
	size_t elided_cnt, elided_cap;
	struct hmap index;
	uint64_t frame_cnt; /* of all nodes: the most that a merged tree can have */
};

/* 0; -ENOMEM; -E2BIG: more than FLAME_NODES_MAX frames. Released with html_trie_deinit() in either
 * case. O(frames in all stacks). */
int html_trie_init(struct html_trie *trie, const struct profile *prof, const char *by);
void html_trie_deinit(struct html_trie *trie);

/* The node behind @node in pre-order, or PROFILE_NONE behind the last; *@up: how far to climb from
 * @node to the parent of what is returned (0: its child). The first one is first_root. */
uint32_t html_trie_next(const struct html_trie *trie, uint32_t node, uint32_t *up);

/* How many lines of @location are in the page; the innermost ones. */
uint32_t html_line_cnt(const struct profile *prof, uint32_t location);

/* The whole profile, as the head of html_data.c describes it. Adds to the trie's names. 0 or
 * negative errno. */
int html_add_binary(struct buf *out, struct html_trie *trie);

/*
 * The first picture as JSON, schema in html_first.c: the flame graph of the value @value as far as
 * a screen shows it. 0 or negative errno, as of flame_build().
 */
int html_add_first(struct buf *out, const struct profile *prof, uint32_t value, const char *by);

/* The same of @tree, whose nodes need not be sorted. */
int html_add_first_tree(struct buf *out, const struct flame_tree *tree);

/* The same of a difference. */
int html_add_first_changes(struct buf *out, const struct html_changes *changes);

/* The functions with the highest selves by the value @value, as rows of an HTML table: self, its
 * share, total, its share, name; none where there is no such value. 0 or -ENOMEM. */
int html_add_top(struct buf *out, const struct flame_frames *frames, uint32_t value);

/* What the page says about the recording, as JSON: schema in html_facts.c. 0 or negative errno. */
int html_add_facts(struct buf *out, const struct profile *prof, const struct encoder_opts *opts);

#endif
