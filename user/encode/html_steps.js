/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 5: the transforms, which turn one draft of a tree into another. They are applied one after the other, in the
 * order in which they were asked for; each is { type, name, kind, isWaker } with the letter of its type, and the frame
 * (or, in `name`, the library) that it is about.
 *
 *	f  focus      only stacks through the frame
 *	d  drop       no stacks through the frame
 *	h  hide       the frame goes, what it calls moves to its caller
 *	m  merge      the frame and all that it calls count as its caller's own
 *	r  recursion  a call of the function within itself goes back to the outer one
 *	l  library    frames of a library that follow each other become one
 *	T  time       only samples of a range of time (html_time.js)
 *	g, w          of a difference: without stacks that are gone; that are new
 *	R, k, u       direct recursion of all functions; no kernel; executables and JIT code alone
 */
const STEP_WORDS = {
	f: 'only through', d: 'without', h: 'hide', m: 'merge', r: 'fold recursion of', l: 'fold library',
	T: 'only', R: 'direct recursion folded', k: 'kernel hidden', u: 'my code only', g: 'without what is gone', w: 'without what is new',
};
const GLOBAL_STEPS = 'Rkugw';

function stepText(step) {
	if (step.type === 'T')
		return STEP_WORDS.T + ' ' + rangeText(parseRange(step.name));
	return STEP_WORDS[step.type] + (GLOBAL_STEPS.includes(step.type) ? '' : ' ' + step.name);
}

function libraryOf(profile, frame) {
	const location = profile.frames.location[frame];
	const mapping = location < 0 ? -1 : profile.locations.mapping[location] - 1;
	return mapping < 0 ? '' : baseName(profile.strings[profile.mappings.path[mapping]]);
}

/* By frame: is the step about it? */
function stepMask(profile, step) {
	const frames = profile.frames, mask = new Uint8Array(frames.name.length);
	for (let i = 0; i < mask.length; i++) {
		const kind = frames.kind[i];
		if (step.type === 'k')
			mask[i] = kind === KERNEL ? 1 : 0;
		else if (step.type === 'u')
			mask[i] = kind === KERNEL || kind === LIBRARY ? 1 : 0;
		else if (step.type === 'l')
			mask[i] = kind !== PROCESS && libraryOf(profile, i) === step.name ? 1 : 0;
		else if (step.type !== 'R')
			mask[i] = frames.name[i] === step.name && kind === step.kind && frames.isWaker[i] === step.isWaker ? 1 : 0;
	}
	return mask;
}

/* By node: does its stack go through a frame of @mask? */
function through(draft, mask) {
	const made = new Uint8Array(draft.cnt);
	for (let i = 1; i < draft.cnt; i++)
		made[i] = made[draft.parent[i]] || mask[draft.frame[i]];
	return made;
}

/* The draft with only the selves of nodes for which @keep says so. */
function keepSelves(draft, keep) {
	const made = Object.assign({}, draft, { self: Float64Array.from(draft.self), n: Float64Array.from(draft.n), m: draft.m && Float64Array.from(draft.m) });
	for (let i = 0; i < draft.cnt; i++) {
		if (!keep(i)) {
			made.self[i] = 0;
			made.n[i] = 0;
			if (made.m)
				made.m[i] = 0;
		}
	}
	return made;
}

/* A new draft: @moveTo says where a node goes that is called from the node @above of the new one. */
function rebuild(draft, moveTo) {
	const builder = makeBuilder(draft.cnt), place = new Int32Array(draft.cnt);
	builder.add(0, draft.self[0], draft.n[0], afterOf(draft, 0));
	for (let i = 1; i < draft.cnt; i++) {
		place[i] = moveTo(builder, place[draft.parent[i]], i);
		if (hasOwn(draft, i))
			builder.add(place[i], draft.self[i], draft.n[i], afterOf(draft, i));
	}
	return builder.finish();
}

function copyNode(builder, above, draft, i) {
	return builder.child(above, draft.frame[i], draft.isInlined[i]);
}

function hideFrames(draft, mask) {
	return rebuild(draft, (builder, above, i) => mask[draft.frame[i]] ? above : copyNode(builder, above, draft, i));
}

function mergeFrames(draft, mask) {
	const isMerged = through(draft, mask);
	return rebuild(draft, (builder, above, i) => isMerged[i] ? above : copyNode(builder, above, draft, i));
}

/* Back to the node of the same function that is nearest above, if there is one. */
function foldRecursion(draft, mask) {
	const outer = new Int32Array(draft.cnt); /* by node: the new node of the function in its stack, 0: none */
	return rebuild(draft, function (builder, above, i) {
		const known = outer[draft.parent[i]];
		if (!mask[draft.frame[i]]) {
			outer[i] = known;
			return copyNode(builder, above, draft, i);
		}
		return outer[i] = known || copyNode(builder, above, draft, i);
	});
}

function foldDirectRecursion(draft) {
	return rebuild(draft, (builder, above, i) =>
		builder.frameOf(above) === draft.frame[i] ? above : copyNode(builder, above, draft, i));
}

function foldLibrary(profile, draft, mask, name) {
	const frame = profile.libraryFrame.get(name);
	if (frame === undefined)
		return draft;
	return rebuild(draft, function (builder, above, i) {
		if (!mask[draft.frame[i]])
			return copyNode(builder, above, draft, i);
		return builder.frameOf(above) === frame ? above : builder.child(above, frame, 0);
	});
}

/* Only nodes that have something below them, or are part of a stack at all, are left. */
function applyStep(profile, draft, step) {
	const mask = stepMask(profile, step);
	switch (step.type) {
	case 'g':
		return keepSelves(draft, i => !(draft.n[i] > 0 && !(afterOf(draft, i) > 0)));
	case 'w':
		return keepSelves(draft, i => !(afterOf(draft, i) > 0 && !(draft.n[i] > 0)));
	case 'f': {
		const isIn = through(draft, mask);
		return keepSelves(draft, i => isIn[i]);
	}
	case 'd': {
		const isIn = through(draft, mask);
		return keepSelves(draft, i => !isIn[i]);
	}
	case 'm':
		return mergeFrames(draft, mask);
	case 'r':
		return foldRecursion(draft, mask);
	case 'R':
		return foldDirectRecursion(draft);
	case 'l':
		return foldLibrary(profile, draft, mask, step.name);
	default:
		return hideFrames(draft, mask);
	}
}

/* ---- trees from other ends ---- */

/*
 * Stacks from the leaf: who calls it, and who calls them. @entries are [node, value, n, m]; the tree has the frame of
 * each entry under its root, its callers above. A profile of a million nodes has many more ways up than down: a group of
 * less than @least is marked as cut instead of opened. Not so on the way @way, frames from the root; behind its end, what
 * counts is the share of the group there.
 */
function callersDraft(draft, entries, least, way) {
	const builder = makeBuilder(Math.max(1024, entries.node.length)), cut = new Map();
	const all = entries.value.reduce((sum, one) => sum + one, 0);
	let groups = [{ node: 0, total: all, at: entries, least: least, steps: 0 }];

	while (groups.length) {
		const following = [];
		for (const group of groups)
			openGroup(draft, builder, group, following, cut, way);
		groups = following;
	}
	const made = builder.finish();
	made.cut = cut;
	return made;
}

/* The entries of @group by their frames. steps: how much of the way lies behind, -1: off it. */
function splitGroup(draft, builder, group, way) {
	const at = group.at, parts = new Map();
	for (let i = 0; i < at.node.length; i++) {
		const node = at.node[i];
		if (node === 0) {
			builder.add(group.node, at.value[i], at.n[i], at.m[i]);
			continue;
		}
		const frame = draft.frame[node], made = builder.child(group.node, frame, draft.isInlined[node]);
		let part = parts.get(made);
		if (!part) {
			const steps = group.steps < 0 ? -1 : group.steps === way.length ? way.length : way[group.steps] === frame ? group.steps + 1 : -1;
			parts.set(made, part = { node: made, total: 0, at: { node: [], value: [], n: [], m: [] }, least: group.least, steps: steps });
		}
		part.total += at.value[i];
		part.at.node.push(draft.parent[node]);
		part.at.value.push(at.value[i]);
		part.at.n.push(at.n[i]);
		part.at.m.push(at.m[i]);
	}
	return parts;
}

function openGroup(draft, builder, group, following, cut, way) {
	for (const part of splitGroup(draft, builder, group, way).values()) {
		const isOnWay = part.steps > 0 && part.steps > group.steps;
		if (isOnWay && part.steps === way.length)
			part.least = Math.min(part.least, part.total * CALLERS_SHARE);
		if (isOnWay || part.total >= part.least || part.at.node.every(node => node === 0)) {
			following.push(part);
			continue;
		}
		cut.set(part.node, true);
		for (let i = 0; i < part.at.node.length; i++)
			builder.add(part.node, part.at.value[i], part.at.n[i], part.at.m[i]);
	}
}

function leafEntries(draft) {
	const made = { node: [], value: [], n: [], m: [] };
	for (let i = 0; i < draft.cnt; i++) {
		if (hasOwn(draft, i)) {
			made.node.push(i);
			made.value.push(draft.self[i]);
			made.n.push(draft.n[i]);
			made.m.push(afterOf(draft, i));
		}
	}
	return made;
}

/* The outermost nodes of @mask with their totals. */
function outermost(draft, mask) {
	const isIn = through(draft, mask), all = { self: sums(draft, draft.self), n: sums(draft, draft.n), m: draft.m && sums(draft, draft.m) };
	const made = { node: [], value: [], n: [], m: [] };
	for (let i = 1; i < draft.cnt; i++) {
		if (mask[draft.frame[i]] && !isIn[draft.parent[i]] && hasOwn(all, i)) {
			made.node.push(i);
			made.value.push(all.self[i]);
			made.n.push(all.n[i]);
			made.m.push(afterOf(all, i));
		}
	}
	return made;
}

/* What the outermost calls of a function call, merged. */
function calleesDraft(draft, mask) {
	const isIn = through(draft, mask), builder = makeBuilder(1024), place = new Int32Array(draft.cnt);
	for (let i = 1; i < draft.cnt; i++) {
		if (!isIn[i])
			continue;
		const above = isIn[draft.parent[i]] ? place[draft.parent[i]] : 0;
		place[i] = copyNode(builder, above, draft, i);
		if (hasOwn(draft, i))
			builder.add(place[i], draft.self[i], draft.n[i], afterOf(draft, i));
	}
	return builder.finish();
}
