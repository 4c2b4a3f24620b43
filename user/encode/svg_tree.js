/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the flame graph, part 1 of 3: the tree, read from the JSON beside the script (schema in
 * svg_data.c), and the words for it. svg.c puts the three files into one strict block in one CDATA
 * section; so they are ASCII without "]]" before ">", and share their names with nobody else.
 */
const svg = document.currentScript.closest('svg');
const data = JSON.parse(svg.querySelector('script[type="application/json"]').textContent);
const tree = decodeTree(data.nodes);

function decodeTree(flat) {
	const cnt = flat.length / 3;
	const made = {
		cnt: cnt,
		parent: new Int32Array(cnt).fill(-1),
		end: new Int32Array(cnt),
		depth: new Int32Array(cnt),
		frame: new Float64Array(cnt),
		self: new Float64Array(cnt),
		total: new Float64Array(cnt),
		blocked: new Float64Array(cnt), /* parts of total; what is left was on the CPU */
		runnable: new Float64Array(cnt),
		start: new Float64Array(cnt),
	};
	for (let i = 0; i < cnt; i++) {
		let parent = i - 1;
		for (let up = flat[3 * i]; up > 0; up--)
			parent = made.parent[parent];
		made.parent[i] = parent;
		made.depth[i] = parent < 0 ? 0 : made.depth[parent] + 1;
		made.frame[i] = flat[3 * i + 1];
		made.self[i] = made.total[i] = flat[3 * i + 2];
		made.end[i] = i + 1;
	}
	sumTree(made);
	return made;
}

function letterOf(made, node) {
	return data.kinds[(made.frame[node] % 64) >> 2][0];
}

function isState(made, node) {
	return 'bq'.includes(letterOf(made, node));
}

/* All of @node's time is in the state that @state is, if it is one. */
function setState(made, state, node) {
	if (!isState(made, state))
		return;
	made.blocked[node] = letterOf(made, state) === 'b' ? made.total[node] : 0;
	made.runnable[node] = letterOf(made, state) === 'q' ? made.total[node] : 0;
}

function sumTree(made) {
	const next = new Float64Array(made.cnt); /* where a node's next child starts */

	for (let i = made.cnt - 1; i >= 0; i--) {
		const parent = made.parent[i];
		setState(made, i, i);
		if (parent < 0)
			continue;
		made.total[parent] += made.total[i];
		made.blocked[parent] += made.blocked[i];
		made.runnable[parent] += made.runnable[i];
		made.end[parent] = Math.max(made.end[parent], made.end[i]);
	}
	for (let i = 0; i < made.cnt; i++)
		for (const state = i; isState(made, state) && i + 1 < made.end[state];)
			setState(made, state, ++i);
	for (let i = 1; i < made.cnt; i++) {
		const parent = made.parent[i];
		made.start[i] = next[i] = next[parent];
		next[parent] += made.total[i];
	}
}

function nameIndex(node) {
	return Math.floor(tree.frame[node] / 64);
}

function nameOf(node) {
	return data.names[nameIndex(node)];
}

function kindOf(node) {
	return data.kinds[(tree.frame[node] % 64) >> 2];
}

function isInlined(node) {
	return (tree.frame[node] & 1) !== 0;
}

function isWaker(node) {
	return (tree.frame[node] & 2) !== 0;
}

function offCpu(node) {
	return tree.blocked[node] + tree.runnable[node];
}

/* Of a function the same in every graph; of one that waits, or a waker's, that of the state. */
function shadeOf(node) {
	if (isWaker(node))
		return 'b';
	if (2 * offCpu(node) > tree.total[node] && offCpu(0) < tree.total[0])
		return tree.blocked[node] >= tree.runnable[node] ? 'b' : 'q';
	return data.shades[nameIndex(node)];
}

function classOf(node) {
	const kind = kindOf(node);
	return kind[0] + (kind[1] ? shadeOf(node) : '') +
		(isInlined(node) ? ' i' : '') + (isWaker(node) ? ' w' : '');
}

/* What is written on a frame: its name, but words for the line under a waker's frames. */
function labelOf(node) {
	return kindOf(node)[0] === 'd' ? 'woken by' : nameOf(node);
}

/* ---- numbers and words, as svg_unit.c and svg_text.c write them ---- */

function grouped(value) {
	return String(Math.floor(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function scaled(value, table) {
	const step = table.find(function (entry) { return value >= entry[0]; }) || table[table.length - 1];
	const parts = (value / step[0]).toFixed(step[0] > 1 ? 2 : 0).split('.');
	return grouped(Number(parts[0])) + (parts[1] ? '.' + parts[1] : '') + ' ' + step[1];
}

function formatValue(value) {
	if (data.scale === 'time')
		return scaled(value, [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']]);
	if (data.scale === 'bytes')
		return scaled(value, [[Math.pow(2, 40), 'TiB'], [Math.pow(2, 30), 'GiB'],
				      [Math.pow(2, 20), 'MiB'], [1024, 'KiB'], [1, 'bytes']]);
	return grouped(value) + ' ' + data.noun;
}

function percent(part, whole) {
	return (whole > 0 ? 100 * part / whole : 0).toFixed(2) + '%';
}

/* In what state the time was: '12.00% on CPU, 88.00% blocked'. A state itself has it in its name. */
function states(node) {
	const total = tree.total[node];

	if (isWaker(node))
		return 'waker';
	if ('bqd'.includes(letterOf(tree, node)) || !offCpu(0))
		return '';
	return [[total - offCpu(node), 'on CPU'], [tree.runnable[node], 'runnable'], [tree.blocked[node], 'blocked']]
		.filter(function (part) { return part[0] > 0; })
		.map(function (part) { return (part[0] < total ? percent(part[0], total) + ' ' : '') + part[1]; })
		.join(', ');
}

function describe(node) {
	return nameOf(node) + ' (' + formatValue(tree.total[node]) + ', ' +
		percent(tree.total[node], tree.total[0]) + (states(node) ? '; ' + states(node) : '') + ')';
}

function isWide(character) {
	return character >= '\u1100' && /[\u1100-\u115f\u2e80-\ud7a3\ud800-\udbff\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/.test(character);
}

/* @text cut to @columns of the fixed-width font, by whole characters. */
function fit(text, columns) {
	let used = 0, len = 0;
	for (const character of text) {
		used += isWide(character) ? 2 : 1;
		if (used > columns)
			return fitCut(text, columns);
		len += character.length;
	}
	return text.slice(0, len);
}

function fitCut(text, columns) {
	let used = 1, len = 0;
	for (const character of text) {
		used += isWide(character) ? 2 : 1;
		if (used > columns)
			break;
		len += character.length;
	}
	return text.slice(0, len) + '\u2026';
}
