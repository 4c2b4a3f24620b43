/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the flame graph, part 3 of 3: the controls, the keyboard and the pointer. The state
 * { zoom, search, ignoreCase } lives in the URL's fragment too, #x=NODE&s=EXPRESSION&i=1, so that a
 * link shows the same and the browser's back button is a step back.
 */
const XHTML = 'http://www.w3.org/1999/xhtml';
const WIDTH_NARROW = 900; /* below, the controls get a row of their own */
const CONTROLS_ROW = 38;
const TITLE_CHAR = 10.5;

let bar; /* the controls */
let drawnWidth = 0;
let hashTimer = 0;

/* ---- the controls ---- */

function makeHtml(parent, name, text, attributes) {
	const element = document.createElementNS(XHTML, name);
	for (const key of Object.keys(attributes))
		element.setAttribute(key, attributes[key]);
	element.textContent = text;
	parent.appendChild(element);
	return element;
}

function makeControls() {
	const frame = make(head, 'foreignObject', { height: 32 });
	const box = makeHtml(frame, 'div', '', { 'class': 'bar' });

	bar = {
		frame: frame,
		matched: makeHtml(box, 'output', '', {}),
		input: makeHtml(box, 'input', '', {
			type: 'text', placeholder: 'Regular expression', 'aria-label': 'Search, regular expression',
			spellcheck: 'false', autocomplete: 'off',
		}),
		search: makeHtml(box, 'button', 'Search', { type: 'button', title: 'Ctrl-F or /; again: next match' }),
		ignoreCase: makeHtml(box, 'button', 'Aa', {
			type: 'button', title: 'Ignore case', 'aria-label': 'Ignore case', 'aria-pressed': 'false',
		}),
		reset: makeHtml(box, 'button', 'Reset zoom', { type: 'button', title: 'Escape or 0' }),
	};
	bar.input.addEventListener('input', function () { search(bar.input.value, state.ignoreCase); });
	bar.search.addEventListener('click', searchClicked);
	bar.ignoreCase.addEventListener('click', function () { search(state.search, !state.ignoreCase); });
	bar.reset.addEventListener('click', function () { zoomTo(0); });
}

function searchClicked() {
	if (state.search)
		nextHit(1);
	else
		bar.input.focus();
}

function showControls() {
	bar.ignoreCase.setAttribute('aria-pressed', String(state.ignoreCase));
	bar.reset.disabled = state.zoom === 0;
	if (bar.input.value !== state.search)
		bar.input.value = state.search;
	bar.input.classList.toggle('bad', state.search !== '' && hits === null);
	bar.matched.textContent = matchedText();
}

function matchedText() {
	if (!state.search)
		return '';
	if (!hits)
		return 'not a regular expression';
	return percent(matchedTotal(0), tree.total[0]) + ' matched' +
		(state.zoom ? ', ' + percent(matchedTotal(state.zoom), tree.total[state.zoom]) + ' of zoomed' : '');
}

/* The total of what matches in @root's subtree; a match inside a match counts once. */
function matchedTotal(root) {
	let sum = 0;
	for (let node = root; node < tree.end[root];) {
		const isHit = hits[nameIndex(node)];
		sum += isHit ? tree.total[node] : 0;
		node = isHit ? tree.end[node] : node + 1;
	}
	return sum;
}

/* ---- state ---- */

function compile() {
	hits = null;
	if (!state.search)
		return;
	try {
		const expression = new RegExp(state.search, state.ignoreCase ? 'i' : '');
		hits = data.names.map(function (name) { return expression.test(name); });
	} catch (error) {
		/* Half-typed expressions are the rule; the field turns red. */
		hits = null;
	}
}

function search(text, ignoreCase) {
	state.search = text;
	state.ignoreCase = ignoreCase;
	compile();
	draw();
	/* Browsers limit how often a page may rewrite its address. */
	clearTimeout(hashTimer);
	hashTimer = setTimeout(function () { writeHash(false); }, 200);
}

function zoomTo(node) {
	if (node === state.zoom)
		return;
	state.zoom = current = node;
	draw();
	clearTimeout(hashTimer);
	writeHash(true);
}

function makeHash() {
	const fields = new URLSearchParams();
	if (state.zoom)
		fields.set('x', state.zoom);
	if (state.search)
		fields.set('s', state.search);
	if (state.ignoreCase)
		fields.set('i', '1');
	return fields.toString();
}

function writeHash(isStep) {
	const hash = makeHash();
	if (!isDocument || hash === location.hash.slice(1))
		return;
	if (isStep)
		location.hash = hash;
	else
		location.replace('#' + hash);
}

function readHash() {
	if (!isDocument || makeHash() === location.hash.slice(1))
		return;
	const fields = new URLSearchParams(location.hash.slice(1));
	const node = Number(fields.get('x'));

	state.zoom = current = Number.isInteger(node) && node > 0 && node < tree.cnt ? node : 0;
	state.search = fields.get('s') || '';
	state.ignoreCase = fields.get('i') === '1';
	compile();
	draw();
}

/* ---- keyboard and pointer ---- */

function focusNode(node) {
	const element = elements.get(node);
	if (!element)
		return;
	if (elements.has(current))
		elements.get(current).setAttribute('tabindex', -1);
	current = node;
	element.setAttribute('tabindex', 0);
	element.focus();
}

function heaviestChild(node) {
	let best = -1;
	for (let child = node + 1; child < tree.end[node]; child = tree.end[child])
		if (elements.has(child) && (best < 0 || tree.total[child] > tree.total[best]))
			best = child;
	return best;
}

function neighbour(node, step) {
	for (let i = drawn.indexOf(node) + step; i >= 0 && i < drawn.length; i += step)
		if (tree.depth[drawn[i]] === tree.depth[node])
			return drawn[i];
	return -1;
}

/* The next node that matches, around the end; one that is not drawn is zoomed to. */
function nextHit(step) {
	for (let i = 1; hits && i <= tree.cnt; i++) {
		const node = (current + step * i + tree.cnt) % tree.cnt;
		if (hits[nameIndex(node)]) {
			if (!elements.has(node))
				zoomTo(node);
			focusNode(node);
			return;
		}
	}
}

function escape() {
	if (state.zoom)
		zoomTo(0);
	else if (state.search)
		search('', state.ignoreCase);
}

const keys = {
	'/': function () { bar.input.focus(); bar.input.select(); },
	'0': function () { zoomTo(0); },
	Escape: escape,
	n: function () { nextHit(1); },
	N: function () { nextHit(-1); },
	ArrowUp: function () { focusNode(heaviestChild(current)); },
	ArrowDown: function () { focusNode(tree.parent[current]); },
	ArrowLeft: function () { focusNode(neighbour(current, -1)); },
	ArrowRight: function () { focusNode(neighbour(current, 1)); },
	Enter: function () { zoomTo(current); },
};

function inputKey(event) {
	if (event.key === 'Enter')
		nextHit(event.shiftKey ? -1 : 1);
	else if (event.key === 'Escape' && state.search)
		search('', state.ignoreCase);
	else if (event.key === 'Escape')
		bar.input.blur();
	else
		return;
	event.preventDefault();
}

function keyDown(event) {
	const isFind = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'f';

	if (document.activeElement === bar.input) {
		inputKey(event);
	} else if (isFind) {
		/* A second Ctrl-F, from inside the field, is the browser's own. */
		keys['/']();
		event.preventDefault();
	} else if (!event.ctrlKey && !event.metaKey && !event.altKey &&
		   Object.prototype.hasOwnProperty.call(keys, event.key) &&
		   !(event.key === 'Enter' && event.target.localName === 'button')) {
		keys[event.key]();
		event.preventDefault();
	}
}

function frameAt(event) {
	const group = event.target.closest ? event.target.closest('.plot > g') : null;
	return group && group.flameNode >= 0 ? group : null;
}

function pointed(event) {
	const group = frameAt(event);
	if (!group)
		return;
	showDetails(group.flameNode);
	if (!group.querySelector('title'))
		group.insertBefore(make(null, 'title'), group.firstChild).textContent = describe(group.flameNode);
}

function listen() {
	plot.addEventListener('click', function (event) {
		const group = frameAt(event);
		if (group)
			zoomTo(group.flameNode);
	});
	plot.addEventListener('pointerover', pointed);
	plot.addEventListener('pointerleave', function () { showDetails(current); });
	plot.addEventListener('focusin', function (event) {
		const group = frameAt(event);
		if (group)
			showDetails(current = group.flameNode);
	});
	/* Within somebody's page, only the keys that are typed here. */
	(isDocument ? document : svg).addEventListener('keydown', keyDown);
	window.addEventListener('resize', resize);
	/* A scroll bar that comes or goes is no resize of the window. */
	new ResizeObserver(function () {
		if (width() !== drawnWidth)
			resize();
	}).observe(svg);
	window.addEventListener('scroll', pin, { passive: true });
	window.addEventListener('hashchange', readHash);
}

/* ---- start ---- */

function measureFont() {
	const probe = make(make(plot, 'g'), 'text');
	probe.textContent = 'M'.repeat(100);
	charWidth = Math.max(1, probe.getComputedTextLength() / 100);
	probe.parentNode.remove();
}

/* The controls stand beside the title, or, in a narrow window, in a row under the subtitle. */
function placeControls() {
	const isNarrow = width() < WIDTH_NARROW;
	const wide = isNarrow ? plotWidth() : Math.min(600, width() * 0.6);
	const title = head.querySelector('.title');
	const room = isNarrow ? plotWidth() : plotWidth() - wide - 20;

	plotTop = headBase + extraHeight(head) + (isNarrow ? CONTROLS_ROW : 0);
	bar.frame.setAttribute('x', width() - data.margin - wide);
	bar.frame.setAttribute('y', isNarrow ? plotTop - CONTROLS_ROW - 6 : 13);
	bar.frame.setAttribute('width', wide);
	title.textContent = fit(svg.querySelector('title').textContent, Math.floor(room / TITLE_CHAR));
}

function resize() {
	drawnWidth = width();
	paragraphs.forEach(reflow);
	flowLegend();
	placeControls();
	rowCnt = 0;
	for (const pinned of svg.querySelectorAll('.pin'))
		pinned.setAttribute('height', pinned.parentNode === head ? plotTop - 6 : footHeight());
	draw();
}

function start() {
	headBase = svg.dataset.top - extraHeight(head);
	footBase = svg.dataset.foot - extraHeight(foot);
	svg.classList.add('live');
	svg.setAttribute('width', '100%');
	svg.removeAttribute('viewBox');
	svg.appendChild(head);
	for (const part of [head, foot])
		part.insertBefore(make(null, 'rect', { 'class': 'pin', y: 0, width: '100%' }), part.firstChild);
	measureFont();
	makeControls();
	listen();
	resize();
	readHash();
	/* A flame graph is read from its root. */
	if (isDocument)
		window.scrollTo(0, svg.getBoundingClientRect().height);
}

if (tree.total[0] > 0)
	start();
