/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 3: call trees. A draft is a tree in the order in which its nodes came to be, parents first, node 0 the root:
 *
 *	{ cnt, parent: Int32Array, frame: Int32Array, isInlined: Uint8Array, self, n: Float64Array }
 *
 * `self` is in the unit of the value that is shown, `n` the samples behind it. In a difference (html_diff.js) `n` is what
 * there was before, and there is an `m`, what there is after. A tree is a draft that finishTree() has
 * given its sums and its order: pre-order, so that the first child of i is i + 1, the next sibling end[i], and no walk
 * needs a stack.
 */
const NO_FRAME = -1; /* of the root */

function grown(array, cnt) {
	const made = new array.constructor(cnt);
	made.set(array);
	return made;
}

/* Makes a draft node by node; equal (parent, frame) are one. */
function makeBuilder(expected) {
	let room = Math.max(16, expected), cnt = 1, mask = 1;
	let parent = new Int32Array(room), frame = new Int32Array(room), isInlined = new Uint8Array(room);
	let self = new Float64Array(room), n = new Float64Array(room), m = difference ? new Float64Array(room) : null;

	while (mask < 2 * room)
		mask *= 2;
	let slots = new Int32Array(mask);
	mask--;
	parent[0] = -1;
	frame[0] = NO_FRAME;
	isInlined.fill(1);
	isInlined[0] = 0;

	function slotOf(above, which) {
		let at = Math.imul(above, 0x9e3779b1) ^ Math.imul(which + 1, 0x85ebca6b);
		at = (at ^ at >>> 15) & mask;
		for (;;) {
			const node = slots[at];
			if (node === 0 || (parent[node] === above && frame[node] === which))
				return at;
			at = at + 1 & mask;
		}
	}

	function grow() {
		room *= 2;
		parent = grown(parent, room);
		frame = grown(frame, room);
		self = grown(self, room);
		n = grown(n, room);
		m = m && grown(m, room);
		isInlined = grown(isInlined, room);
		isInlined.fill(1, cnt);
		slots = new Int32Array(2 * (mask + 1));
		mask = slots.length - 1;
		for (let node = 1; node < cnt; node++)
			slots[slotOf(parent[node], frame[node])] = node;
	}

	/* The child @which of @above, made when it is new. */
	function child(above, which, inlined) {
		let at = slotOf(above, which), node = slots[at];
		if (node === 0) {
			if (cnt === room) {
				grow();
				at = slotOf(above, which);
			}
			node = slots[at] = cnt++;
			parent[node] = above;
			frame[node] = which;
		}
		isInlined[node] &= inlined;
		return node;
	}

	return {
		child: child,
		frameOf: node => frame[node],
		parentOf: node => parent[node],
		add: function (node, value, samples, after) {
			self[node] += value;
			n[node] += samples;
			if (m)
				m[node] += after;
		},
		finish: () => ({
			cnt: cnt, parent: parent.subarray(0, cnt), frame: frame.subarray(0, cnt), isInlined: isInlined.subarray(0, cnt),
			self: self.subarray(0, cnt), n: n.subarray(0, cnt), m: m && m.subarray(0, cnt),
		}),
	};
}

/* What a node has after, in a difference. */
function afterOf(draft, node) {
	return draft.m ? draft.m[node] : 0;
}

/* Has a node anything of its own? In a difference also what has no width now. */
function hasOwn(draft, node) {
	return draft.self[node] !== 0 || draft.n[node] !== 0 || afterOf(draft, node) !== 0;
}

/* Sums from the leaves to the root. */
function sums(draft, own) {
	const total = Float64Array.from(own);
	for (let i = draft.cnt - 1; i > 0; i--)
		total[draft.parent[i]] += total[i];
	return total;
}

/* The children of all nodes, one list behind the other: those of i from first[i] to first[i + 1]. */
function childLists(draft, total) {
	const first = new Int32Array(draft.cnt + 2), list = new Int32Array(draft.cnt);
	for (let i = 1; i < draft.cnt; i++)
		if (total[i] > 0)
			first[draft.parent[i] + 2]++;
	for (let i = 2; i < first.length; i++)
		first[i] += first[i - 1];
	for (let i = 1; i < draft.cnt; i++)
		if (total[i] > 0)
			list[first[draft.parent[i] + 1]++] = i;
	return { first: first, list: list };
}

function sortList(list, from, to, isBefore) {
	if (to - from > 12) {
		const sorted = Array.from(list.subarray(from, to)).sort((one, two) => isBefore(one, two) ? -1 : 1);
		list.set(sorted, from);
		return;
	}
	for (let i = from + 1; i < to; i++) {
		const node = list[i];
		let at = i;
		for (; at > from && isBefore(node, list[at - 1]); at--)
			list[at] = list[at - 1];
		list[at] = node;
	}
}

/* Positions of the frames in the order of their names, made when they are first asked for. */
function frameRanks(profile) {
	const names = profile.frames.name;
	if (!profile.ranks || profile.ranks.length !== names.length) {
		const order = Uint32Array.from(names, (name, i) => i);
		order.sort((one, two) => names[one] < names[two] ? -1 : names[one] > names[two] ? 1 : one - two);
		profile.ranks = new Int32Array(names.length);
		order.forEach((frame, rank) => { profile.ranks[frame] = rank; });
	}
	return profile.ranks;
}

/* Does one sibling stand left of another? */
function siblingOrder(profile, draft, total, isByName) {
	if (!isByName)
		return (one, two) => total[one] !== total[two] ? total[one] > total[two] : draft.frame[one] < draft.frame[two];
	const ranks = frameRanks(profile);
	return (one, two) => ranks[draft.frame[one]] < ranks[draft.frame[two]];
}

function finishTree(profile, draft, isByName) {
	const total = sums(draft, draft.self), totalN = sums(draft, draft.n), totalM = draft.m && sums(draft, draft.m);
	const children = childLists(draft, total), isBefore = siblingOrder(profile, draft, total, isByName);
	const tree = {
		cnt: 0, parent: new Int32Array(draft.cnt), end: new Int32Array(draft.cnt), depth: new Uint16Array(draft.cnt),
		frame: new Int32Array(draft.cnt), isInlined: new Uint8Array(draft.cnt), self: new Float64Array(draft.cnt),
		total: new Float64Array(draft.cnt), n: new Float64Array(draft.cnt), totalN: new Float64Array(draft.cnt),
		start: new Float64Array(draft.cnt), draftNode: new Int32Array(draft.cnt), maxDepth: 0,
		m: draft.m && new Float64Array(draft.cnt), totalM: totalM && new Float64Array(draft.cnt),
	};
	const next = new Int32Array(draft.cnt); /* by draft node: the position of its next child */

	function place(node, above, start) {
		const at = tree.cnt++;
		tree.parent[at] = above;
		tree.depth[at] = above < 0 ? 0 : tree.depth[above] + 1;
		tree.maxDepth = Math.max(tree.maxDepth, tree.depth[at]);
		tree.frame[at] = draft.frame[node];
		tree.isInlined[at] = draft.isInlined[node];
		tree.self[at] = draft.self[node];
		tree.total[at] = total[node];
		tree.n[at] = draft.n[node];
		tree.totalN[at] = totalN[node];
		if (totalM) {
			tree.m[at] = draft.m[node];
			tree.totalM[at] = totalM[node];
		}
		tree.start[at] = start;
		tree.draftNode[at] = node;
		next[node] = children.first[node];
		sortList(children.list, children.first[node], children.first[node + 1], isBefore);
		return at;
	}

	let at = place(0, -1, 0), start = 0;
	while (at >= 0) {
		const node = tree.draftNode[at];
		if (next[node] < children.first[node + 1]) {
			at = place(children.list[next[node]++], at, start);
			continue;
		}
		tree.end[at] = tree.cnt;
		start += draft.self[node];
		at = tree.parent[at];
	}
	return tree;
}

/* ---- the tree of a whole profile ---- */

/* Which value tells how many samples there are, by index; -1: none does. */
function samplesValue(profile) {
	return profile.values.findIndex(value => value.type === 'samples' && value.unit === 'count');
}

/*
 * How many samples stand behind the values of @which: [column, factor], so that a share has an error that follows from
 * their number. Null where it does not, or nobody says so: every event was counted, or the values are lengths that
 * differ, as waits are.
 */
function countsOf(profile, which) {
	const value = profile.values[which], values = profile.samples.values[which], period = profile.period;
	if (difference || period.number === 1)
		return null;
	if (period.number > 1 && period.type === value.type && period.unit === value.unit)
		return [values, 1 / period.number];
	return samplesValue(profile) === which ? [values, 1] : null;
}

/* Sums of the samples that end at each node of the trie; only of those in @range (html_time.js), where there is one. */
function trieSums(profile, which, range) {
	const cnt = profile.trie.cnt, self = new Float64Array(cnt), n = new Float64Array(cnt);
	const samples = profile.samples, values = samples.values[which], counts = countsOf(profile, which), m = difference ? new Float64Array(cnt) : null;
	for (let i = 0; i < samples.cnt; i++) {
		if (range && !isInRange(profile, samples.labels[i], range))
			continue;
		if (difference) {
			n[samples.node[i]] += profile.before[i];
			m[samples.node[i]] += profile.after[i];
		}
		if (!(values[i] > 0))
			continue;
		self[samples.node[i]] += values[i];
		if (counts)
			n[samples.node[i]] += Math.max(0, counts[0][i] * counts[1]);
	}
	return { self: self, n: n, m: m };
}

/* The trie's nodes that have anything of @own at or below them. */
function usedNodes(trie, own) {
	const used = new Uint8Array(trie.cnt);
	for (let i = trie.cnt - 1; i >= 0; i--) {
		if (hasOwn(own, i))
			used[i] = 1;
		if (used[i] && trie.parent[i] >= 0)
			used[trie.parent[i]] = 1;
	}
	return used;
}

/* All stacks merged from the root, or those in @range. */
function profileDraft(profile, which, range) {
	const trie = profile.trie, frames = profile.locationFrames, first = profile.firstFrame;
	const builder = makeBuilder(trie.cnt + 1), place = new Int32Array(trie.cnt);
	if (which >= profile.values.length)
		return builder.finish();
	const own = trieSums(profile, which, range), used = usedNodes(trie, own);

	for (let i = 0; i < trie.cnt; i++) {
		if (!used[i])
			continue;
		const ref = trie.ref[i];
		let node = 0;
		if (trie.parent[i] < 0) {
			if (profile.strings[ref])
				node = builder.child(0, profile.processFrame(ref), 0);
		} else {
			node = place[trie.parent[i]];
			for (let at = first[ref]; at < first[ref + 1]; at++)
				node = builder.child(node, frames[at], at > first[ref] ? 1 : 0);
		}
		place[i] = node;
		if (hasOwn(own, i))
			builder.add(node, own.self[i], own.n[i], afterOf(own, i));
	}
	return builder.finish();
}
