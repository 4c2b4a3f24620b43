/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the flame graph, part 2 of 3: drawing. The part of the tree that is zoomed into is
 * drawn at the window's width, every time anew from the data; head and foot are fitted around it.
 */
const SVG = 'http://www.w3.org/2000/svg';
const FRAME_MIN = 1; /* px; narrower neighbours are drawn as one grey block */
const REST_MIN = 1; /* px; what a pointer can hit */
const LABEL_INDENT = 4;
const LABEL_BASELINE = 13;
const GAP = 0.6;
const WIDTH_MIN = 360;
const LEGEND_GAP = 18;
const MIDDLE_DOT = ' \u00b7 ';

const isDocument = svg === document.documentElement;
const head = svg.querySelector('.head');
const plot = svg.querySelector('.plot');
const foot = svg.querySelector('.foot');
const details = svg.querySelector('.details');
const paragraphs = Array.from(svg.querySelectorAll('.subtitle, .ledger'), readParagraph);

/* What is shown. */
const state = { zoom: 0, search: '', ignoreCase: false };
let hits = null; /* by name: does it match; null without a search */
let current = 0; /* the node that has, or had, the keyboard's focus */

/* How it is drawn. */
let elements = new Map(); /* node -> its drawn group */
let drawn = []; /* nodes, in pre-order: per row from left to right */
let rowCnt = 0; /* never shrinks while zooming, so that nothing jumps */
let plotTop = 0;
let legendExtra = 0; /* px that its further rows take */
let headBase, footBase; /* where the plot starts and the foot's height, without further lines of text */
let charWidth = 7;

/* ---- frames ---- */

function make(parent, name, attributes) {
	const element = document.createElementNS(SVG, name);
	for (const key of Object.keys(attributes || {}))
		element.setAttribute(key, attributes[key]);
	if (parent)
		parent.appendChild(element);
	return element;
}

function px(value) {
	return value.toFixed(2);
}

function plotWidth() {
	return width() - 2 * data.margin;
}

function width() {
	return Math.max(WIDTH_MIN, svg.getBoundingClientRect().width);
}

/*
 * What is to be seen: boxes { node, left, width } of the zoomed node's ancestors (full width) and of
 * its subtree, and blocks { depth, left, width, cnt, heaviest } of runs of siblings that are too narrow.
 */
function layOut(total) {
	const boxes = [], rests = [], open = [];
	const zoom = state.zoom;
	const scale = total / tree.total[zoom];
	const ancestors = [];

	for (let node = tree.parent[zoom]; node >= 0; node = tree.parent[node])
		ancestors.push(node);
	for (const node of ancestors.reverse())
		boxes.push({ node: node, left: data.margin, width: total, below: true });
	for (let node = zoom; node < tree.end[zoom];) {
		const left = data.margin + (tree.start[node] - tree.start[zoom]) * scale;
		const wide = tree.total[node] * scale;

		if (wide >= FRAME_MIN) {
			boxes.push({ node: node, left: left, width: wide, below: false });
			node++;
		} else {
			addRest(rests, open, node, left, wide);
			node = tree.end[node];
		}
	}
	return { boxes: boxes, rests: rests };
}

function addRest(rests, open, node, left, wide) {
	const depth = tree.depth[node];
	let rest = open[depth];

	if (!rest || tree.parent[rest.heaviest] !== tree.parent[node] || left > rest.left + rest.width + 0.01) {
		rest = { depth: depth, left: left, width: 0, cnt: 0, heaviest: node };
		open[depth] = rest;
		rests.push(rest);
	}
	if (tree.total[node] > tree.total[rest.heaviest])
		rest.heaviest = node;
	rest.width = left + wide - rest.left;
	rest.cnt++;
}

function top(depth) {
	return plotTop + (rowCnt - 1 - depth) * data.row;
}

function drawBox(box) {
	const node = box.node;
	const y = top(tree.depth[node]);
	const group = make(null, 'g', {
		'class': classOf(node) + (box.below ? ' below' : '') + (hits && hits[nameIndex(node)] ? ' hit' : ''),
		role: 'button', tabindex: -1, 'aria-label': describe(node),
	});
	const columns = Math.floor((box.width - 2 * LABEL_INDENT) / charWidth);

	make(group, 'rect', {
		x: px(box.left), y: y, width: px(box.width < 3 ? box.width : box.width - GAP),
		height: isInlined(node) ? data.row : data.row - 1,
	});
	if (columns >= 3)
		make(group, 'text', { x: px(box.left + LABEL_INDENT), y: y + LABEL_BASELINE })
			.textContent = fit(labelOf(node), columns);
	group.flameNode = node;
	elements.set(node, group);
	drawn.push(node);
	return group;
}

function drawRest(rest) {
	const group = make(null, 'g', { 'class': 'rest' });

	make(group, 'title').textContent = grouped(rest.cnt) + ' too narrow to draw, among them ' + describe(rest.heaviest);
	make(group, 'rect', {
		x: px(rest.left), y: top(rest.depth), width: px(Math.max(REST_MIN, rest.width)), height: data.row - 1,
	});
	group.flameNode = rest.heaviest;
	return group;
}

function draw() {
	const hadFocus = plot.contains(document.activeElement);
	const view = layOut(plotWidth());
	const fragment = document.createDocumentFragment();

	for (const box of view.boxes)
		rowCnt = Math.max(rowCnt, tree.depth[box.node] + 1);
	for (const rest of view.rests)
		rowCnt = Math.max(rowCnt, rest.depth + 1);
	elements = new Map();
	drawn = [];
	for (const box of view.boxes)
		fragment.appendChild(drawBox(box));
	for (const rest of view.rests)
		if (rest.width >= REST_MIN / 4)
			fragment.appendChild(drawRest(rest));
	plot.replaceChildren(fragment);
	svg.classList.toggle('searching', hits !== null);
	if (!elements.has(current))
		current = state.zoom;
	elements.get(current).setAttribute('tabindex', 0);
	if (hadFocus)
		elements.get(current).focus({ preventScroll: true });
	placeFoot();
	showDetails(current);
	showControls();
}

/* ---- head, foot, and their paragraphs ---- */

/* Everything about a frame but its name. */
function figures(node) {
	const total = tree.total[node];
	const parent = tree.parent[node];
	const parts = [formatValue(total), percent(total, tree.total[0]) + ' of all'];

	if (parent > 0)
		parts.push(percent(total, tree.total[parent]) + ' of parent');
	if (state.zoom > 0 && node > state.zoom && node < tree.end[state.zoom])
		parts.push(percent(total, tree.total[state.zoom]) + ' of zoomed');
	parts.push('self ' + formatValue(tree.self[node]) + ' (' + percent(tree.self[node], tree.total[0]) + ')');
	if (states(node))
		parts.push(states(node));
	if (node > 0)
		parts.push((isInlined(node) ? 'inlined, ' : '') + kindOf(node)[2]);
	return parts.join(MIDDLE_DOT);
}

function readParagraph(text) {
	const lines = Array.from(text.querySelectorAll('tspan'));
	return {
		text: text,
		words: lines.map(function (line) { return line.textContent; }).join(' ').split(' '),
		y: lines.length ? Number(lines[0].getAttribute('y')) : 0,
		leading: lines.length > 1 ? lines[1].getAttribute('y') - lines[0].getAttribute('y') : 16,
		lines: lines.length,
	};
}

/* Break a paragraph's words to the width. */
function reflow(paragraph) {
	const limit = plotWidth();
	let line = null, content = '';

	paragraph.text.replaceChildren();
	paragraph.lines = 0;
	for (const word of paragraph.words) {
		const longer = content ? content + ' ' + word : word;

		if (line)
			line.textContent = longer;
		if (!line || (content && line.getComputedTextLength() > limit)) {
			if (line)
				line.textContent = content;
			line = make(paragraph.text, 'tspan', {
				x: data.margin, y: paragraph.y + paragraph.leading * paragraph.lines++,
			});
			line.textContent = content = word;
		} else {
			content = longer;
		}
	}
}

function extraHeight(parent) {
	return paragraphs.reduce(function (sum, paragraph) {
		return parent.contains(paragraph.text) ? sum + Math.max(0, paragraph.lines - 1) * paragraph.leading : sum;
	}, 0);
}

function footHeight() {
	return footBase + extraHeight(foot) + legendExtra;
}

/* Put the legend's items one after the other, in as many rows as the width asks for. */
function flowLegend() {
	const ledger = svg.querySelector('.ledger');
	const limit = data.margin + plotWidth();
	let left = data.margin, row = 0;

	for (const item of svg.querySelectorAll('.legend > g')) {
		const box = item.getBBox();
		if (left > data.margin && left + box.width > limit) {
			left = data.margin;
			row++;
		}
		item.setAttribute('transform', 'translate(' + px(left - box.x) + ' ' + row * LEGEND_GAP + ')');
		left += box.width + LEGEND_GAP;
	}
	legendExtra = row * LEGEND_GAP;
	if (ledger)
		ledger.setAttribute('transform', 'translate(0 ' + legendExtra + ')');
}

function placeFoot() {
	svg.setAttribute('height', plotTop + rowCnt * data.row + footHeight());
	pin();
}

/* A graph taller than the window scrolls between its head and its foot, which stay in sight. */
function pin() {
	const above = -svg.getBoundingClientRect().top;
	const height = plotTop + rowCnt * data.row;
	const footTop = Math.min(height, above + window.innerHeight - footHeight());

	head.setAttribute('transform', 'translate(0 ' + px(isDocument ? Math.max(0, above) : 0) + ')');
	foot.setAttribute('transform', 'translate(0 ' + px(isDocument ? Math.max(plotTop, footTop) : height) + ')');
}

function showDetails(node) {
	const numbers = MIDDLE_DOT + figures(node);
	const limit = plotWidth();
	let columns = Math.floor(limit / 6);

	details.replaceChildren();
	const name = make(details, 'tspan', { 'font-weight': 600 });
	make(details, 'tspan').textContent = numbers;
	do {
		name.textContent = fit(nameOf(node), columns);
		columns = Math.floor(columns * 0.9) - 1;
	} while (columns > 8 && details.getComputedTextLength() > limit);
}
