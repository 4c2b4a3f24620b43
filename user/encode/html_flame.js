/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 8: the flame graph on its canvas. The canvas is as large as its window on the page; behind it lies a spacer of the
 * graph's height, which makes the scroll bar. A layout is made when the tree, the zoom or the width changes: for each
 * part (one; in a sandwich, callers and callees) and depth the boxes from left to right. Frames that would be narrower
 * than half a pixel are not looked into; neighbours of that kind are one box. So the time is that of what is seen.
 */
const NARROW = 0.5; /* px */
const LETTERS = 'rpuljksbqd'; /* of a kind in the style's variables, by enum flame_kind */
const SHADES = 6;

const flame = {
	parts: [], rows: 0, width: 0, height: 0, cursor: null, hovered: null, palette: null, charWidth: 7, frameRequest: 0,
	isLayoutStale: true, drawMs: 0,
};

/* ---- colours ---- */

function readPalette() {
	const style = getComputedStyle(document.documentElement);
	const colour = name => style.getPropertyValue('--' + name).trim();
	const made = { kinds: [], states: {} };
	for (const letter of LETTERS)
		made.kinds.push(Array.from({ length: SHADES }, (none, i) => colour(letter + i) || colour(letter)));
	for (const kind of [USER, LIBRARY, JIT, KERNEL])
		made.states[kind] = { b: colour(LETTERS[kind] + 'b'), q: colour(LETTERS[kind] + 'q') };
	for (const name of ['ground', 'ink', 'ink-on-strong', 'muted', 'hit', 'ink-on-hit', 'cursor', 'rest', 'line', 'hatch-ground', 'hatch-line', 'noise-line'])
		made[name] = colour(name);
	made.changes = ['y4', 'y3', 'y2', 'y1', 'same', 'x1', 'x2', 'x3', 'x4'].map(colour);
	made.only = { new: colour('only-after'), gone: colour('only-before') };
	made.same = colour('same');
	made.hatch = hatchPattern(flame.context, made['hatch-ground'], made['hatch-line']);
	made.noise = hatchPattern(flame.context, '', made['noise-line']);
	flame.palette = made;
}

function shadeOf(name) {
	let hash = 0x811c9dc5;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	return (hash >>> 8) % SHADES;
}

/* Of a function the same in every graph. */
function frameShades() {
	if (!profile.shades)
		profile.shades = Uint8Array.from(profile.frames.name, shadeOf);
	return profile.shades;
}

/* By node: what of its total is blocked, what runnable. A state's time is that of all that stands on it, too. */
function stateSums(tree) {
	if (tree.states !== undefined)
		return tree.states;
	const kinds = profile.frames.kind, blocked = new Float64Array(tree.cnt), runnable = new Float64Array(tree.cnt);
	for (let i = 1; i < tree.cnt;) {
		const kind = kinds[tree.frame[i]];
		if (kind !== BLOCKED && kind !== RUNNABLE) {
			i++;
			continue;
		}
		const into = kind === BLOCKED ? blocked : runnable;
		for (let above = tree.parent[i]; above >= 0; above = tree.parent[above])
			into[above] += tree.total[i];
		for (const end = tree.end[i]; i < end; i++)
			into[i] = tree.total[i];
	}
	const off = blocked[0] + runnable[0];
	tree.states = off > 0 && off < tree.total[0] ? { blocked: blocked, runnable: runnable } : null;
	return tree.states;
}

/* 'b' or 'q' for code that is mostly blocked or mostly wants a CPU, in a graph that has time on it, too. */
function stateOf(tree, node) {
	const states = stateSums(tree);
	if (!states)
		return '';
	const off = states.blocked[node] + states.runnable[node];
	if (2 * off <= tree.total[node])
		return '';
	return states.blocked[node] >= states.runnable[node] ? 'b' : 'q';
}

function colourOf(tree, node) {
	const frame = tree.frame[node], palette = flame.palette;
	if (frame < 0)
		return difference ? diffColour(palette, tree, node) : palette.kinds[ROOT][0];
	const kind = profile.frames.kind[frame], states = palette.states[kind];
	/* Processes are not tested. */
	if (difference && kind !== PROCESS)
		return diffColour(palette, tree, node);
	const state = states ? profile.frames.isWaker[frame] ? 'b' : stateOf(tree, node) : '';
	return state ? states[state] : palette.kinds[kind][frameShades()[frame]];
}

function labelOf(tree, node) {
	const frame = tree.frame[node];
	if (frame < 0)
		return 'all';
	return profile.frames.kind[frame] === WOKEN_BY ? 'woken by' : profile.frames.name[frame];
}

/* What stands in a box: in a difference also what became of it. */
function boxLabel(tree, node) {
	return labelOf(tree, node) + (difference ? diffLabel(tree, node) : '');
}

/* Is the text on it light on a strong ground? */
function isStrong(kind) {
	return kind === PROCESS || (!difference && (kind === BLOCKED || kind === RUNNABLE));
}

/* The outline of what only one side has. */
function drawOnly(context, at, palette) {
	const only = onlySide(at.tree, at.node);
	if (!only || at.wide < 4)
		return;
	context.strokeStyle = palette.only[only];
	context.setLineDash(only === 'gone' ? [3, 2] : []);
	context.strokeRect(at.left + 0.5, at.y + 0.5, at.wide - 1, at.high - 1);
	context.setLineDash([]);
}

/* ---- layout ---- */

/* The node at the end of a way of frames from the root, or of the part of it that there is. */
function zoomNode(tree, way) {
	let node = 0;
	for (const frame of way) {
		let child = node + 1;
		while (child < tree.end[node] && tree.frame[child] !== frame)
			child = tree.end[child];
		if (child >= tree.end[node])
			break;
		node = child;
	}
	return node;
}

function wayTo(tree, node) {
	const way = [];
	for (; node > 0; node = tree.parent[node])
		way.push(tree.frame[node]);
	return way.reverse();
}

function boxRow(part, depth) {
	while (part.rows.length <= depth)
		part.rows.push({ node: [], left: [], right: [], narrow: [] });
	return part.rows[depth];
}

function addBox(part, depth, node, left, right, narrow) {
	const row = boxRow(part, depth), last = row.node.length - 1;
	/* Narrow ones that touch are one; it stands for its widest. */
	if (narrow && last >= 0 && row.narrow[last] && left - row.right[last] < NARROW) {
		row.right[last] = Math.max(row.right[last], right);
		row.narrow[last]++;
		if (part.tree.total[node] > part.tree.total[row.node[last]])
			row.node[last] = node;
		return;
	}
	row.node.push(node);
	row.left.push(left);
	row.right.push(right);
	row.narrow.push(narrow);
}

/* Boxes of @part from depth part.from on, zoomed to part.zoom, on @width pixels. */
function layOut(part, width) {
	const tree = part.tree, zoom = part.zoom, scale = tree.total[zoom] > 0 ? width / tree.total[zoom] : 0;
	const start = tree.start[zoom], end = tree.end[zoom];
	part.rows = [];
	for (let above = tree.parent[zoom]; above >= 0; above = tree.parent[above])
		if (tree.depth[above] >= part.from)
			addBox(part, tree.depth[above] - part.from, above, 0, width, 0);
	for (let i = zoom; i < end;) {
		const left = (tree.start[i] - start) * scale, wide = tree.total[i] * scale;
		const isNarrow = wide < NARROW && i > zoom;
		if (tree.depth[i] >= part.from)
			addBox(part, tree.depth[i] - part.from, i, left, left + wide, isNarrow ? 1 : 0);
		i = isNarrow ? tree.end[i] : i + 1;
	}
}

function makeParts() {
	if (state.view === 'callers') {
		const tree = callersTree(state);
		return [{ tree: tree, zoom: zoomNode(tree, state.zoom), from: 0, isFlame: state.isFlame }];
	}
	if (state.view !== 'sandwich') {
		const tree = mainTree(state);
		return [{ tree: tree, zoom: zoomNode(tree, state.zoom), from: 0, isFlame: state.isFlame }];
	}
	const frame = sandwichFrame();
	if (frame < 0)
		return [];
	const trees = sandwichTrees(state, frame);
	/* The function itself is the lower part's first row. */
	return [{ tree: trees.up, zoom: Math.min(1, trees.up.cnt - 1), from: 2, isFlame: true },
		{ tree: trees.down, zoom: Math.min(1, trees.down.cnt - 1), from: 1, isFlame: false }];
}

/* The function of the sandwich: what was picked, else where most of the time is. */
function sandwichFrame() {
	const picked = frameOf(state.picked);
	if (picked >= 0)
		return picked;
	return hottestFunction(functionSums(state));
}

/* What the keyboard is on stays, where its tree does. */
function keepCursor() {
	const at = flame.cursor, part = at && flame.parts.find(one => one.tree === at.part.tree);
	flame.cursor = part ? { part: part, node: at.node } : null;
}

function layOutAll() {
	flame.parts = makeParts();
	flame.rows = 0;
	keepCursor();
	for (const part of flame.parts) {
		layOut(part, flame.width);
		part.top = flame.rows;
		flame.rows += part.rows.length;
	}
	flame.isLayoutStale = false;
	flame.spacer.style.height = flame.rows * ROW + 'px';
}

/* The row on the page, from the top, that a depth of a part has. */
function rowOf(part, depth) {
	return part.top + (part.isFlame ? part.rows.length - 1 - depth : depth);
}

/* ---- drawing ---- */

/* Where a box begins on the canvas: even what is less than a pixel has one. */
function firstPixel(row, i) {
	return Math.min(Math.round(row.left[i]), flame.width - 1);
}

function drawBox(context, part, row, i, y, hits, isAbove) {
	const tree = part.tree, node = row.node[i], frame = tree.frame[node], palette = flame.palette;
	const left = firstPixel(row, i), right = Math.max(left + 1, Math.round(row.right[i]));
	const wide = right - left - (right - left >= GAP_FROM ? 1 : 0);
	const isInlined = tree.isInlined[node] !== 0, high = isInlined ? ROW : ROW - 1;
	const isHit = hits && frame >= 0 && hits[frame];
	const kind = frame < 0 ? ROOT : profile.frames.kind[frame];

	context.globalAlpha = hits && !isHit ? 0.35 : isAbove ? 0.6 : isInlined && !isHit ? 0.62 : 1;
	context.fillStyle = row.narrow[i] ? palette.rest : isHit ? palette.hit : kind === SYNTHETIC ? palette.hatch : colourOf(tree, node);
	if (kind === WOKEN_BY && !isHit)
		context.fillRect(left, y + high - 2, wide, 1);
	else
		context.fillRect(left, y, wide, high);
	if (wide > 4 && isNoise(state, tree.totalN[node]) && !row.narrow[i]) {
		context.fillStyle = palette.noise;
		context.fillRect(left, y, wide, high);
	}
	if (difference && !row.narrow[i])
		drawOnly(context, { tree: tree, node: node, left: left, y: y, wide: wide, high: high }, palette);
	if (frame >= 0 && profile.frames.isWaker[frame]) {
		context.strokeStyle = palette.muted;
		context.setLineDash([2, 2]);
		context.strokeRect(left + 0.5, y + 0.5, wide - 1, high - 1);
		context.setLineDash([]);
	}
	if (wide < LABEL_FROM || row.narrow[i])
		return;
	context.globalAlpha = hits && !isHit ? 0.6 : 1;
	context.fillStyle = isHit ? palette['ink-on-hit'] : isStrong(kind) ? palette['ink-on-strong'] : palette.ink;
	context.font = isInlined || kind === WOKEN_BY ? flame.italic : flame.font;
	context.fillText(fit(boxLabel(tree, node), Math.floor((wide - 8) / flame.charWidth)), left + 5, y + 13.5);
}

function outline(context, at, colour, width) {
	const place = at && boxOf(at.part, at.node);
	if (!place)
		return;
	context.globalAlpha = 1;
	context.strokeStyle = colour;
	context.lineWidth = width;
	context.strokeRect(Math.round(place.left) + width / 2, place.y - flame.scroller.scrollTop + width / 2,
			   Math.max(2, Math.round(place.right) - Math.round(place.left)) - width - 1, ROW - 1 - width);
	context.lineWidth = 1;
}

function drawRows(context, part, hits) {
	const top = flame.scroller.scrollTop;
	for (let depth = 0; depth < part.rows.length; depth++) {
		const y = rowOf(part, depth) * ROW - top, row = part.rows[depth];
		if (y < -ROW || y > flame.height)
			continue;
		const isAbove = depth + part.from < part.tree.depth[part.zoom];
		for (let i = 0; i < row.node.length; i++)
			drawBox(context, part, row, i, y, hits, isAbove);
	}
}

function drawNow() {
	const begin = performance.now();
	flame.frameRequest = 0;
	if (!isGraph())
		return;
	if (flame.isLayoutStale)
		layOutAll();
	if (!flame.palette)
		readPalette();
	const context = flame.context, ratio = flame.ratio, hits = searchHits(state);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.globalAlpha = 1;
	context.fillStyle = flame.palette.ground;
	context.fillRect(0, 0, flame.width, flame.height);
	for (const part of flame.parts)
		drawRows(context, part, hits);
	outline(context, flame.hovered, flame.palette.ink, 1);
	outline(context, flame.cursor, flame.palette.cursor, 2);
	context.globalAlpha = 1;
	flame.drawMs = performance.now() - begin;
}

function drawSoon() {
	if (!flame.frameRequest)
		flame.frameRequest = requestAnimationFrame(drawNow);
}

function isGraph() {
	return !['top', 'tree', 'time', 'hist'].includes(state.view);
}

/* ---- where things are ---- */

/* The place of a node that is drawn, in the spacer's coordinates, or null. */
function boxOf(part, node) {
	const depth = part.tree.depth[node] - part.from, row = part.rows[depth];
	if (!row)
		return null;
	for (let i = 0; i < row.node.length; i++)
		if (row.node[i] === node)
			return { left: row.left[i], right: row.right[i], y: rowOf(part, depth) * ROW, narrow: row.narrow[i] };
	return null;
}

/* What is at a point of the canvas: { part, node, narrow } or null. */
function boxAt(x, y) {
	const line = Math.floor((y + flame.scroller.scrollTop) / ROW);
	for (const part of flame.parts) {
		if (line < part.top || line >= part.top + part.rows.length)
			continue;
		const row = part.rows[part.isFlame ? part.rows.length - 1 - (line - part.top) : line - part.top];
		let low = 0, high = row.node.length;
		while (low < high) {
			const middle = low + high >> 1;
			if (firstPixel(row, middle) <= x)
				low = middle + 1;
			else
				high = middle;
		}
		const i = low - 1;
		if (i >= 0 && x < Math.max(row.right[i], firstPixel(row, i) + 1))
			return { part: part, node: row.node[i], narrow: row.narrow[i] };
	}
	return null;
}

function scrollToNode(at) {
	const place = boxOf(at.part, at.node);
	if (!place)
		return;
	const top = flame.scroller.scrollTop;
	if (place.y < top)
		flame.scroller.scrollTop = place.y - ROW;
	else if (place.y + ROW > top + flame.height)
		flame.scroller.scrollTop = place.y + 2 * ROW - flame.height;
}

/* A graph is read from its root, a sandwich from its function. */
function scrollToStart() {
	const part = flame.parts[flame.parts.length - 1];
	if (!part)
		return;
	if (state.view === 'sandwich')
		flame.scroller.scrollTop = part.top * ROW - flame.height / 2;
	else
		flame.scroller.scrollTop = part.isFlame ? flame.rows * ROW : 0;
}

function resizeFlame() {
	const box = flame.scroller, ratio = window.devicePixelRatio || 1;
	const width = Math.max(50, box.clientWidth), height = Math.max(50, box.clientHeight);
	if (width === flame.width && height === flame.height && ratio === flame.ratio)
		return;
	Object.assign(flame, { width: width, height: height, ratio: ratio, isLayoutStale: true });
	flame.canvas.width = Math.round(width * ratio);
	flame.canvas.height = Math.round(height * ratio);
	flame.canvas.style.width = width + 'px';
	flame.canvas.style.height = height + 'px';
	drawSoon();
}

function makeFlame() {
	flame.canvas = setAttributes(el('canvas', ''), { tabindex: '0', role: 'img', 'aria-describedby': 'said' });
	flame.spacer = el('div', 'spacer', flame.canvas);
	flame.scroller = setAttributes(el('div', 'scroller', flame.spacer), { id: 'graph' });
	flame.context = flame.canvas.getContext('2d', { alpha: false });
	Object.assign(flame, nameFont(flame.context));
	flame.italic = 'italic ' + flame.font;
	flame.scroller.addEventListener('scroll', drawSoon, { passive: true });
	new ResizeObserver(resizeFlame).observe(flame.scroller);
	return flame.scroller;
}
