/* SPDX-License-Identifier: Apache-2.0 */
/* Part 13: what can be taken from the page: text, the picture, and other formats. */
const SVG_NS = 'http://www.w3.org/2000/svg';
const SVG_MARGIN = 12;
const SVG_HEAD = 52;

function download(parts, type, extension) {
	const url = URL.createObjectURL(new Blob(parts, { type: type })), link = el('a', '');
	link.href = url;
	link.download = fileStem(document.title) + extension;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
	say('Saved as ' + link.download);
}

/* From a file on disk, a browser may have no clipboard for pages: then the old way. */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch (error) {
		const area = el('textarea', 'offscreen', text);
		(document.querySelector('dialog[open]') || document.body).append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	say('Copied');
}

/* The stack of the frame that the keyboard is on, root first. */
function copyStack() {
	const at = state.view === 'tree' ? { tree: calls.tree, node: calls.rows[calls.current] } :
		flame.cursor ? { tree: flame.cursor.part.tree, node: flame.cursor.node } : null;
	if (!at || at.node === undefined) {
		say('No frame is selected');
		return;
	}
	copyText(wayTo(at.tree, at.node).map(frame => profile.frames.name[frame]).join('\n') + '\n');
}

/* ---- folded: what is shown, by its value ---- */

function foldedText() {
	const tree = mainTree(state), names = profile.frames.name.map(name => name.replace(/;/g, ':')), lines = [], path = [];
	if (tree.self[0] > 0)
		lines.push('[no stack] ' + Math.round(tree.self[0]) + '\n');
	for (let i = 1; i < tree.cnt; i++) {
		path.length = tree.depth[i] - 1;
		path.push(names[tree.frame[i]]);
		if (tree.self[i] > 0)
			lines.push(path.join(';') + ' ' + Math.round(tree.self[i]) + '\n');
	}
	return lines;
}

function saveFolded() {
	download(foldedText(), 'text/plain', '.folded');
}

/* ---- speedscope: the whole profile, every value ---- */

/* The frames of the stack that ends at a node of the trie, root first. */
function stackFrames(node) {
	const trie = profile.trie, made = [];
	for (; node >= 0; node = trie.parent[node]) {
		const ref = trie.ref[node];
		if (trie.parent[node] < 0) {
			if (profile.strings[ref])
				made.push(profile.processFrame(ref));
			continue;
		}
		for (let at = profile.firstFrame[ref + 1] - 1; at >= profile.firstFrame[ref]; at--)
			made.push(profile.locationFrames[at]);
	}
	return made.reverse();
}

function speedscopeFrame(name, frame) {
	const fn = profile.frames.fn[frame], made = { name: name };
	if (fn >= 0 && profile.functions.file[fn])
		made.file = profile.strings[profile.functions.file[fn]];
	if (fn >= 0 && profile.functions.line[fn])
		made.line = profile.functions.line[fn];
	return made;
}

function speedscopeProfile(value, which) {
	const samples = profile.samples, stacks = [], weights = [], unit = oneOf(value.unit, ['nanoseconds', 'bytes'], 'none');
	let sum = 0;
	for (let i = 0; i < samples.cnt; i++) {
		const weight = samples.values[which][i];
		if (!(weight > 0))
			continue;
		stacks.push(stackFrames(samples.node[i]));
		weights.push(weight);
		sum += weight;
	}
	return { type: 'sampled', name: valueName(value), unit: unit, startValue: 0, endValue: sum, samples: stacks, weights: weights };
}

function speedscopeText() {
	return JSON.stringify({
		$schema: 'https://www.speedscope.app/file-format-schema.json', name: document.title, exporter: 'bpfprof ' + facts.version,
		activeProfileIndex: state.value, shared: { frames: profile.frames.name.map(speedscopeFrame) },
		profiles: profile.values.map(speedscopeProfile),
	});
}

function saveSpeedscope() {
	download([speedscopeText()], 'application/json', '.speedscope.json');
}

/* ---- the view as SVG ---- */

function svgElement(parent, name, attributes, text) {
	const element = setAttributes(document.createElementNS(SVG_NS, name), attributes);
	if (text !== undefined)
		element.textContent = text;
	if (parent)
		parent.append(element);
	return element;
}

function svgHatch(root) {
	const defs = svgElement(root, 'defs', {}), line = { d: 'M-2 8L8 -2M4 8L8 4', stroke: flame.palette.ink, 'stroke-opacity': 0.25, 'stroke-width': 1 };
	svgElement(svgElement(defs, 'pattern', { id: 'noise', width: 6, height: 6, patternUnits: 'userSpaceOnUse' }), 'path', line);
}

function svgBox(root, part, row, i, y, hits) {
	const tree = part.tree, node = row.node[i], frame = tree.frame[node], palette = flame.palette, kind = frame < 0 ? ROOT : profile.frames.kind[frame];
	const isHit = hits && frame >= 0 && hits[frame], wide = row.right[i] - row.left[i];
	const group = svgElement(root, 'g', hits && !isHit ? { opacity: 0.4 } : {});
	svgElement(group, 'title', {}, describe(part, node, row.narrow[i]).join('\n'));
	const box = { x: (row.left[i] + SVG_MARGIN).toFixed(2), y: y, width: Math.max(0.3, wide - (wide > GAP_FROM ? 1 : 0)).toFixed(2), height: ROW - 1 };
	svgElement(group, 'rect', Object.assign({
		fill: row.narrow[i] ? palette.rest : isHit ? palette.hit : kind === SYNTHETIC ? palette['hatch-line'] : colourOf(tree, node),
		'fill-opacity': tree.isInlined[node] && !isHit ? 0.62 : 1,
	}, box));
	if (wide > 4 && isNoise(state, tree.totalN[node]) && !row.narrow[i])
		svgElement(group, 'rect', Object.assign({ fill: 'url(#noise)' }, box));
	const label = wide < LABEL_FROM || row.narrow[i] ? '' : fit(boxLabel(tree, node), Math.floor((wide - 8) / flame.charWidth));
	if (label)
		svgElement(group, 'text', {
			x: (row.left[i] + SVG_MARGIN + 5).toFixed(2), y: y + 13.5, fill: isHit ? palette['ink-on-hit'] : isStrong(kind) ? palette['ink-on-strong'] : palette.ink,
			'font-style': tree.isInlined[node] ? 'italic' : 'normal',
		}, label);
}

function svgText() {
	const high = SVG_HEAD + flame.rows * ROW + SVG_MARGIN, wide = flame.width + 2 * SVG_MARGIN, palette = flame.palette, hits = searchHits(state);
	const root = svgElement(null, 'svg', { width: wide, height: high, viewBox: '0 0 ' + wide + ' ' + high, 'font-family': 'monospace', 'font-size': 11.5 });
	svgElement(root, 'rect', { width: wide, height: high, fill: palette.ground });
	svgHatch(root);
	svgElement(root, 'text', { x: SVG_MARGIN, y: 22, fill: palette.ink, 'font-size': 16, 'font-weight': 600, 'font-family': 'sans-serif' }, document.title);
	svgElement(root, 'text', { x: SVG_MARGIN, y: 40, fill: palette.muted, 'font-family': 'sans-serif' },
		   [document.querySelector('.subtitle').textContent, ...state.steps.map(stepText)].join(' \u00b7 '));
	for (const part of flame.parts)
		part.rows.forEach(function (row, depth) {
			for (let i = 0; i < row.node.length; i++)
				svgBox(root, part, row, i, SVG_HEAD + rowOf(part, depth) * ROW, hits);
		});
	return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(root) + '\n';
}

function saveSvg() {
	if (!isGraph()) {
		say('Only a graph is a picture: choose one first');
		return;
	}
	drawNow();
	download([svgText()], 'image/svg+xml', '.svg');
}
