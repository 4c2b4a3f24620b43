/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 6: from the state (html_state.js) to what the views show. Everything is made when it is first asked for and kept
 * until the state has made it stale; a step that is taken back finds what was there before.
 */
const KEPT_DRAFTS = 6;
const CALLERS_WHOLE = 2e6; /* ways up that are opened to their ends; above, what would be narrower than a pixel is not */
const CALLERS_SHARE = 1 / 4000;

let profile; /* set once, by html.js */
const kept = new Map(); /* key -> draft or tree, the latest last */

function keep(key, make) {
	let made = kept.get(key);
	kept.delete(key);
	if (made === undefined)
		made = make();
	kept.set(key, made);
	while (kept.size > 4 * KEPT_DRAFTS)
		kept.delete(kept.keys().next().value);
	return made;
}

function stepKey(step) {
	return [step.type, step.kind, step.isWaker ? 1 : 0, step.name].join('.');
}

function draftKey(view) {
	return 'draft ' + view.value + '\n' + view.steps.map(stepKey).join('\n');
}

/* The draft of @view's value with its transforms: ranges of time choose samples, the others change the tree of these. */
function currentDraft(view) {
	const last = view.steps.findLastIndex(step => step.type !== 'T');
	return keep(draftKey(view), function () {
		if (last < 0)
			return profileDraft(profile, view.value, rangeOf(view.steps));
		const before = currentDraft({ value: view.value, steps: view.steps.filter((step, i) => i !== last) });
		return applyStep(profile, before, view.steps[last]);
	});
}

function orderKey(view) {
	return '\n' + (view.isByName ? 'name' : 'weight') + ' ' + draftKey(view);
}

/* The tree of callees from the root. */
function mainTree(view) {
	return keep('tree' + orderKey(view), () => finishTree(profile, currentDraft(view), view.isByName));
}

/* How many steps all the ways from @entries to the root have. */
function waysUp(draft, entries) {
	const depth = new Uint16Array(draft.cnt);
	let sum = 0;
	for (let i = 1; i < draft.cnt; i++)
		depth[i] = depth[draft.parent[i]] + 1;
	for (const node of entries.node)
		sum += depth[node];
	return sum;
}

/* @way: what is zoomed to; parts of a large profile's tree that are less than 1/4000 of it are not opened. */
function upTree(view, key, entries, way) {
	const draft = currentDraft(view);
	const isLarge = keep('ways ' + key + draftKey(view), () => waysUp(draft, entries)) > CALLERS_WHOLE;
	const all = isLarge ? entries.value.reduce((sum, one) => sum + one, 0) : 0;
	return keep(key + ' ' + (isLarge ? way.join('.') : '') + orderKey(view), function () {
		const made = callersDraft(draft, entries, all * CALLERS_SHARE, isLarge ? way : []);
		const tree = finishTree(profile, made, view.isByName);
		tree.cut = made.cut;
		return tree;
	});
}

function callersTree(view) {
	const entries = keep('leaves ' + draftKey(view), () => leafEntries(currentDraft(view)));
	return upTree(view, 'callers', entries, view.zoom);
}

/* What a sandwich is about: callers above, callees below. */
function sandwichTrees(view, frame) {
	const draft = currentDraft(view), mask = new Uint8Array(profile.frames.name.length);
	mask[frame] = 1;
	const entries = keep('outermost ' + frame + draftKey(view), () => outermost(draft, mask));
	return {
		up: upTree(view, 'up ' + frame, entries, []),
		down: keep('down ' + frame + orderKey(view), () => finishTree(profile, calleesDraft(draft, mask), view.isByName)),
	};
}

function findFrame(name, kind, isWaker) {
	const frames = profile.frames;
	for (let i = 0; i < frames.name.length; i++)
		if (frames.name[i] === name && frames.kind[i] === kind && frames.isWaker[i] === isWaker)
			return i;
	return -1;
}

/*
 * Functions of a tree: by frame, self and total. A function counts once per stack in its total, however often it recurs
 * there. A waker's frames are not the sampled thread's: the time is that of the state below them.
 */
function functionSums(view) {
	return keep('functions ' + draftKey(view), function () {
		/* What is gone has no width after, and what is new none before: of a difference all that either side has. */
		const wide = difference ? Object.assign({}, view, { value: WIDTHS.indexOf('sum') }) : view;
		const draft = currentDraft(wide), cnt = profile.frames.name.length;
		const tree = mainTree(wide), active = new Int32Array(cnt), path = [];
		const made = {
			self: new Float64Array(cnt), total: new Float64Array(cnt), n: new Float64Array(cnt), totalN: new Float64Array(cnt),
			m: new Float64Array(cnt), totalM: new Float64Array(cnt),
			all: tree.total[0], allN: hasCounts(view) ? tree.totalN[0] : null, nodes: draft.cnt,
		};
		for (let i = 1; i < tree.cnt; i++) {
			while (path.length && tree.end[path[path.length - 1]] <= i)
				active[tree.frame[path.pop()]]--;
			const frame = tree.frame[i];
			if (profile.frames.kind[frame] === WOKEN_BY && path.length) {
				const woken = tree.frame[path[path.length - 1]];
				made.self[woken] += tree.total[i];
				made.n[woken] += tree.totalN[i];
				made.m[woken] += tree.totalM ? tree.totalM[i] : 0;
				i = tree.end[i] - 1;
				continue;
			}
			if (active[frame]++ === 0) {
				made.total[frame] += tree.total[i];
				made.totalN[frame] += tree.totalN[i];
				made.totalM[frame] += tree.totalM ? tree.totalM[i] : 0;
			}
			made.self[frame] += tree.self[i];
			made.n[frame] += tree.n[i];
			made.m[frame] += tree.m ? tree.m[i] : 0;
			path.push(i);
		}
		return made;
	});
}

/* The one with the largest self, or -1. */
function hottestFunction(sums) {
	let best = -1;
	for (let i = 0; i < sums.self.length; i++)
		if (profile.frames.kind[i] !== PROCESS && sums.self[i] > 0 && (best < 0 || sums.self[i] > sums.self[best]))
			best = i;
	return best;
}

/* Are there samples to count behind the value, so that a share has an error? */
function hasCounts(view) {
	return view.value < profile.values.length && countsOf(profile, view.value) !== null;
}

function isNoise(view, n) {
	return hasCounts(view) && n < NOISE_BELOW;
}

function currentValue(view) {
	return profile.values[view.value] || { type: 'samples', unit: 'count' };
}

/* ---- search: over distinct names, not nodes ---- */

/* By frame 1 where it matches; null without a search, undefined: not a regular expression. */
function searchHits(view) {
	if (!view.search)
		return null;
	return keep('hits ' + [view.ignoreCase, view.invert, profile.frames.name.length, view.search].join(' '), function () {
		let expression;
		try {
			expression = new RegExp(view.search, view.ignoreCase ? 'i' : '');
		} catch (error) {
			/* Half-typed expressions are the rule; the field turns red. */
			return undefined;
		}
		const names = profile.frames.name, hits = new Uint8Array(names.length);
		for (let i = 0; i < names.length; i++)
			hits[i] = expression.test(names[i]) !== view.invert ? 1 : 0;
		return hits;
	});
}

/* The total of what matches below @root; a match inside a match counts once. */
function matchedTotal(tree, hits, root) {
	let sum = 0;
	for (let i = Math.max(root, 1); i < tree.end[root];) {
		const isHit = hits[tree.frame[i]];
		sum += isHit ? tree.total[i] : 0;
		i = isHit ? tree.end[i] : i + 1;
	}
	return sum;
}

/* From the root down, always to the heaviest child: nodes of @tree. */
function hottestPath(tree) {
	const path = [];
	for (let i = 0; i + 1 < tree.end[i];) {
		let best = i + 1;
		for (let child = i + 1; child < tree.end[i]; child = tree.end[child])
			if (tree.total[child] > tree.total[best])
				best = child;
		/* Where most of the time stays, the way ends; a waker is another way. */
		if (profile.frames.kind[tree.frame[best]] === WOKEN_BY)
			break;
		if (tree.total[best] < tree.total[i] / 4 && tree.self[i] > tree.total[best])
			break;
		path.push(best);
		i = best;
	}
	return path;
}
