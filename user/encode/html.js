/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 15, the last: the page around the views, the table of what can be done (from which the keys, the buttons and the
 * help are made), the pointer, and the start.
 */
const ui = {};

/* Said to those who do not see the page, and shown for a moment to all. */
function say(text) {
	ui.said.textContent = text;
	ui.said.classList.add('fresh');
	clearTimeout(say.timer);
	say.timer = setTimeout(() => ui.said.classList.remove('fresh'), 2500);
}

/* ---- frames: picking, zooming, walking ---- */

function pick(frame) {
	if (frame >= 0)
		change({ picked: frameRef(frame) }, false);
}

function moveCursor(part, node) {
	flame.cursor = { part: part, node: node };
	const frame = part.tree.frame[node];
	state.picked = frame < 0 ? state.picked : frameRef(frame);
	scrollToNode(flame.cursor);
	renderPanel();
	writeHash(false);
	drawSoon();
	say(describe(part, node, 0).slice(0, 2).join(', '));
}

function zoomTo(part, node) {
	const frame = part.tree.frame[node];
	if (state.view === 'sandwich') {
		if (frame >= 0)
			change({ picked: frameRef(frame) });
		return;
	}
	change({ zoom: wayTo(part.tree, node), picked: frame < 0 ? null : frameRef(frame) });
	flame.cursor = { part: flame.parts[0], node: flame.parts[0].zoom };
	renderPanel();
	drawSoon();
}

function resetZoom() {
	if (state.zoom.length)
		change({ zoom: [] });
}

/* The node that the keyboard is on, made the zoom's when there is none. */
function cursorAt() {
	if (!flame.cursor || !flame.parts.includes(flame.cursor.part)) {
		const part = flame.parts[flame.parts.length - 1];
		flame.cursor = part ? { part: part, node: part.zoom } : null;
	}
	return flame.cursor;
}

/* @towards: 1 to the children, -1 to the parent, as the part is drawn. */
function walkUpDown(isUp) {
	const at = cursorAt();
	if (!at)
		return;
	const tree = at.part.tree, toChild = isUp === at.part.isFlame;
	if (!toChild) {
		if (tree.parent[at.node] >= at.part.from - 1 && tree.parent[at.node] >= 0)
			moveCursor(at.part, tree.parent[at.node]);
		return;
	}
	let best = -1;
	for (let child = at.node + 1; child < tree.end[at.node]; child = tree.end[child])
		if (best < 0 || tree.total[child] > tree.total[best])
			best = child;
	if (best >= 0)
		moveCursor(at.part, best);
}

function walkSideways(step) {
	const at = cursorAt();
	if (!at)
		return;
	const row = at.part.rows[at.part.tree.depth[at.node] - at.part.from];
	const next = row ? row.node.indexOf(at.node) + step : -1;
	if (row && next >= 0 && next < row.node.length)
		moveCursor(at.part, row.node[next]);
}

/* The next node that matches, around the end; one that is too narrow is zoomed to. */
function nextHit(step) {
	const hits = searchHits(state);
	if (!hits) {
		ui.search.focus();
		return;
	}
	if (state.view === 'time' || state.view === 'hist') {
		say(VIEW_WORDS[state.view] + ': no frames are shown');
		return;
	}
	if (state.view === 'top' || state.view === 'tree') {
		nextHitInTable(hits, step);
		return;
	}
	const at = cursorAt(), tree = at && at.part.tree;
	for (let i = 1; at && i <= tree.cnt; i++) {
		const node = (at.node + step * i % tree.cnt + tree.cnt) % tree.cnt;
		if (tree.frame[node] < 0 || !hits[tree.frame[node]] || tree.depth[node] < at.part.from)
			continue;
		const place = boxOf(at.part, node);
		if (!place || place.narrow || place.right - place.left < 2)
			zoomTo(at.part, node);
		else
			moveCursor(at.part, node);
		return;
	}
	say('No frame matches');
}

function nextHitInTable(hits, step) {
	const isTop = state.view === 'top', list = isTop ? top_.rows : calls.rows.map(node => calls.tree.frame[node]);
	const current = isTop ? top_.current : calls.current;
	for (let i = 1; i <= list.length; i++) {
		const at = ((current + step * i) % list.length + list.length) % list.length;
		if (list[at] >= 0 && hits[list[at]]) {
			(isTop ? moveTop : moveTree)(at - current);
			return;
		}
	}
	say('No row matches');
}

function onPicked(type) {
	const frame = frameOf(state.picked);
	if (frame < 0)
		say('Pick a frame first');
	else if (type === 'l' && !libraryOf(profile, frame))
		say('It is in no library');
	else
		addStep(type, type === 'l' ? { name: libraryOf(profile, frame) } : frameRef(frame));
}

/* ---- what can be done ---- */

function nextValue(step) {
	const cnt = profile.values.length;
	if (cnt > 1)
		change({ value: (state.value + step + cnt) % cnt });
}

function closeDialogs() {
	for (const dialog of [ui.help, ui.evidence])
		dialog.close();
	ui.downloads.open = false;
}

function escape() {
	if (ui.downloads.open)
		ui.downloads.open = false;
	else if (state.zoom.length)
		resetZoom();
	else if (state.search)
		change({ search: '' });
	else if (state.picked)
		change({ picked: null });
}

function searchSame() {
	if (state.picked)
		change({ search: '^' + state.picked.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$', ignoreCase: false, invert: false });
}

function switchTheme() {
	change({ theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark' }, false);
}

/* [key, words, action]; several keys are tried by their names. What has no words belongs to the entry before. */
const ACTIONS = [
	['1', 'Flame graph', () => change({ view: 'flame' })], ['2', 'Callers: stacks from the leaf', () => change({ view: 'callers' })],
	['3', 'Sandwich: callers and callees of one function', () => change({ view: 'sandwich' })],
	['4', 'Functions', () => change({ view: 'top' })], ['5', 'Call tree', () => change({ view: 'tree' })],
	['6', 'Timeline, where times were kept', showTimeline], ['7', 'Histograms, where there are some', showHistograms],
	['v', 'Next value', () => nextValue(1)], ['V', 'Previous value', () => nextValue(-1)],
	['i', 'Root at the top or at the bottom', () => change({ isFlame: !state.isFlame })],
	['o', 'Heaviest first or by name', () => change({ isByName: !state.isByName })],
	['ArrowUp', 'Move among frames and rows', () => walk('up')], ['ArrowDown', '', () => walk('down')],
	['ArrowLeft', '', () => walk('left')], ['ArrowRight', '', () => walk('right')],
	['Enter', 'Zoom to the frame', zoomToCursor], ['0', 'Zoom out', resetZoom],
	['Escape', 'Zoom out, end the search, close the panel', escape],
	['/', 'Search (also Ctrl-F)', () => { ui.search.focus(); ui.search.select(); }],
	['n', 'Next match', () => nextHit(1)], ['N', 'Previous match', () => nextHit(-1)],
	['c', 'Ignore case', () => change({ ignoreCase: !state.ignoreCase }, false)],
	['!', 'Invert the search', () => change({ invert: !state.invert }, false)],
	['#', 'Search the same function', searchSame],
	['s', 'Sandwich of the picked function', () => change({ view: 'sandwich' })],
	['f', 'Focus: only stacks through it', () => onPicked('f')], ['x', 'Drop: no stacks through it', () => onPicked('d')],
	['h', 'Hide it: what it calls moves to its caller', () => onPicked('h')],
	['m', 'Merge it and all that it calls into its caller', () => onPicked('m')],
	['r', 'Fold its recursion', () => onPicked('r')], ['l', 'Fold its library', () => onPicked('l')],
	['R', 'Fold direct recursion of all functions', () => toggleStep('R')], ['k', 'Hide the kernel', () => toggleStep('k')],
	['u', 'My code only: executables and JIT code', () => toggleStep('u')],
	...(difference ? [['-', 'Without stacks that are gone', () => toggleStep('g')], ['+', 'Without stacks that are new', () => toggleStep('w')]] : []),
	['Backspace', 'Undo the last filter (also Ctrl-Z)', undoStep], ['Z', 'Redo', redoStep],
	['y', 'Copy the name', () => state.picked && copyText(state.picked.name)], ['Y', 'Copy the stack', copyStack],
	['e', 'Evidence', () => ui.evidence.showModal()], ['E', 'Copy the evidence', () => copyText(evidenceText())],
	['S', 'Save the view as SVG', saveSvg], ['F', 'Save as folded stacks', saveFolded],
	['P', 'Save as pprof', savePprof], ['J', 'Save as speedscope', saveSpeedscope],
	['t', 'Light or dark', switchTheme], ['?', 'This list', () => ui.help.showModal()],
];

function showTimeline() {
	if (hasTimes())
		change({ view: 'time' });
	else
		say('No times were kept: record --timeline does');
}

function showHistograms() {
	if (hasHistograms())
		change({ view: 'hist' });
	else
		say('There are no histograms: record --hist, --elapsed and --off-cpu make them');
}

function walk(way) {
	if (state.view === 'hist') {
		if (way === 'up' || way === 'down')
			ui.hist.scrollBy(0, way === 'up' ? -60 : 60);
		return;
	}
	if (state.view === 'time') {
		walkTime(way);
		return;
	}
	if (state.view === 'top') {
		if (way === 'up' || way === 'down')
			moveTop(way === 'up' ? -1 : 1);
	} else if (state.view === 'tree') {
		if (way === 'up' || way === 'down')
			moveTree(way === 'up' ? -1 : 1);
		else
			twistTree(way === 'right');
	} else if (way === 'up' || way === 'down') {
		walkUpDown(way === 'up');
	} else {
		walkSideways(way === 'left' ? -1 : 1);
	}
}

function zoomToCursor() {
	const at = isGraph() ? cursorAt() : null;
	if (state.view === 'time')
		applyRange();
	else if (at)
		zoomTo(at.part, at.node);
	else if (state.view === 'tree' && calls.rows.length)
		change({ view: 'flame', zoom: wayTo(calls.tree, calls.rows[calls.current]) });
	else if (state.view === 'top' && state.picked)
		change({ view: 'sandwich' });
}

/* ---- keyboard and pointer ---- */

function searchKey(event) {
	if (event.key === 'Enter') {
		nextHit(event.shiftKey ? -1 : 1);
		ui.search.focus();
	} else if (event.key === 'Escape') {
		if (state.search)
			change({ search: '' });
		ui.search.blur();
		focusView();
	} else {
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

function keyDown(event) {
	const isControl = (event.ctrlKey || event.metaKey) && !event.altKey, target = event.target;
	if (document.querySelector('dialog[open]'))
		return;
	if (isControl && event.key.toLowerCase() === 'f' && target !== ui.search) {
		/* A second Ctrl-F, from inside the field, is the browser's own. */
		ui.search.focus();
		ui.search.select();
		event.preventDefault();
		return;
	}
	const isField = target.localName === 'input' || target.localName === 'select' || target.localName === 'textarea';
	if (isField && !(event.key === 'Escape' && target.localName === 'input'))
		return;
	if (isField) {
		target.blur();
		focusView();
		return;
	}
	if (isControl && event.key.toLowerCase() === 'z') {
		(event.shiftKey ? redoStep : undoStep)();
		event.preventDefault();
		return;
	}
	if (isControl || event.altKey || (event.key === 'Enter' && (target.localName === 'button' || target.localName === 'summary')))
		return;
	const action = ACTIONS.find(entry => entry[0] === event.key);
	if (!action)
		return;
	action[2]();
	event.preventDefault();
}

function focusView() {
	const view = state.view === 'top' ? top_.list.scroller : state.view === 'tree' ? calls.list.scroller :
		state.view === 'time' ? timeline.isTable ? timeline.list.scroller : timeline.canvas : state.view === 'hist' ? ui.hist : flame.canvas;
	view.focus({ preventScroll: true });
}

function pointAt(event) {
	const box = flame.canvas.getBoundingClientRect();
	return boxAt(event.clientX - box.left, event.clientY - box.top);
}

function hover(event) {
	const at = event ? pointAt(event) : null;
	showTip(at, event ? event.clientX : 0, event ? event.clientY : 0);
	if (!at !== !flame.hovered || (at && (at.node !== flame.hovered.node || at.part !== flame.hovered.part))) {
		flame.hovered = at;
		drawSoon();
	}
}

function listen() {
	const canvas = flame.canvas;
	canvas.addEventListener('pointermove', hover);
	canvas.addEventListener('pointerleave', () => hover(null));
	canvas.addEventListener('click', function (event) {
		const at = pointAt(event);
		showTip(null);
		if (at)
			zoomTo(at.part, at.node);
	});
	ui.search.addEventListener('input', () => change({ search: ui.search.value }, false));
	ui.search.addEventListener('keydown', searchKey);
	document.addEventListener('keydown', keyDown);
	window.addEventListener('popstate', readHash);
	window.addEventListener('hashchange', readHash);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', render);
	window.addEventListener('beforeprint', beforePrint);
	window.addEventListener('afterprint', render);
	document.addEventListener('click', event => { if (!ui.downloads.contains(event.target)) ui.downloads.open = false; });
}

/* Paper is light, and gets the picture as SVG: it is sharp, and as long as the graph is. */
function beforePrint() {
	document.documentElement.dataset.theme = 'light';
	flame.palette = null;
	drawTime();
	if (!isGraph() || !flame.parts.length)
		return;
	readPalette();
	const image = new DOMParser().parseFromString(svgText(), 'image/svg+xml').documentElement;
	ui.paper.replaceChildren(document.importNode(image, true));
}

/* ---- the page ---- */

const VIEW_WORDS = { flame: 'Flame graph', callers: 'Callers', sandwich: 'Sandwich', top: 'Functions', tree: 'Call tree', time: 'Timeline', hist: 'Histograms' };

function makeTabs() {
	ui.tabs = {};
	const made = setAttributes(el('div', 'tabs'), { role: 'tablist', 'aria-label': 'View' });
	for (const view of VIEWS.filter(hasView)) {
		ui.tabs[view] = setAttributes(button(VIEW_WORDS[view], 'Key ' + (VIEWS.indexOf(view) + 1), () => change({ view: view })), { role: 'tab' });
		made.append(ui.tabs[view]);
	}
	return made;
}

function makeSwitcher() {
	ui.value = setAttributes(el('select', ''), { 'aria-label': 'Value' });
	profile.values.forEach((value, i) => ui.value.append(setAttributes(el('option', '', valueName(value)), { value: i })));
	ui.value.addEventListener('change', () => change({ value: Number(ui.value.value) }));
	ui.value.hidden = profile.values.length < 2;
	if (difference)
		setAttributes(ui.value, { 'aria-label': 'Width of frames', title: 'What makes frames wide (v)' });
	return ui.value;
}

function toggle(text, title, action) {
	return setAttributes(button(text, title, action), { 'aria-pressed': 'false' });
}

function makeSearch() {
	ui.search = setAttributes(el('input', ''), {
		type: 'text', placeholder: 'Search: regular expression', 'aria-label': 'Search, regular expression', spellcheck: 'false', autocomplete: 'off',
	});
	ui.matched = setAttributes(el('output', 'matched'), { 'aria-live': 'polite' });
	ui.ignoreCase = toggle('Aa', 'Ignore case (c)', () => change({ ignoreCase: !state.ignoreCase }, false));
	ui.invert = toggle('!', 'Invert (!)', () => change({ invert: !state.invert }, false));
	ui.ignoreCase.setAttribute('aria-label', 'Ignore case');
	ui.invert.setAttribute('aria-label', 'Invert');
	ui.steppers = el('span', 'steppers', setAttributes(button('\u2039', 'Previous match (N)', () => nextHit(-1)), { 'aria-label': 'Previous match' }),
			 setAttributes(button('\u203a', 'Next match (n)', () => nextHit(1)), { 'aria-label': 'Next match' }));
	return el('div', 'search', ui.search, ui.ignoreCase, ui.invert, ui.steppers, ui.matched);
}

function makeSwitches() {
	ui.isFlame = toggle('Root below', 'Root at the bottom (i)', () => change({ isFlame: !state.isFlame }));
	ui.isByName = toggle('A\u2013Z', 'By name instead of the heaviest first (o)', () => change({ isByName: !state.isByName }));
	ui.kernel = toggle('No kernel', 'Hide the kernel (k)', () => toggleStep('k'));
	ui.mine = toggle('My code', 'Executables and JIT code alone (u)', () => toggleStep('u'));
	ui.gone = toggle('No gone', 'Without stacks that are gone (-)', () => toggleStep('g'));
	ui.fresh = toggle('No new', 'Without stacks that are new (+)', () => toggleStep('w'));
	return el('div', 'switches', ui.isFlame, ui.isByName, ui.kernel, ui.mine, ...(difference ? [ui.gone, ui.fresh] : []));
}

function makeMenu() {
	const save = (text, key, action) => button(text + '  ' + key, 'Key ' + key, function () {
		ui.downloads.open = false;
		action();
	});
	ui.downloads = el('details', 'menu', el('summary', '', 'Save'), el('div', '', save('View as SVG', 'S', saveSvg), save('Folded stacks', 'F', saveFolded),
		save('pprof', 'P', savePprof), save('speedscope', 'J', saveSpeedscope)));
	return el('div', 'menus', ui.downloads, button('Evidence', 'e', () => ui.evidence.showModal()),
		  setAttributes(button('\u25d0', 'Light or dark (t)', switchTheme), { 'aria-label': 'Light or dark' }),
		  setAttributes(button('?', 'Keys (?)', () => ui.help.showModal()), { 'aria-label': 'Keys' }));
}

function makeHelp() {
	const list = el('dl', 'keys'), words = { ArrowUp: '\u2191 \u2193 \u2190 \u2192' };
	for (const action of ACTIONS)
		if (action[1])
			list.append(el('dt', '', el('kbd', '', words[action[0]] || action[0])), el('dd', '', action[1]));
	return setAttributes(el('dialog', '', el('div', 'panel-head', el('h2', '', 'Keys'), button('\u00d7', 'Close (Escape)', closeDialogs)), list,
		el('p', 'muted', 'A click on a frame zooms to it; in the sandwich it becomes the function in the middle. Hatched frames have fewer than ' +
			NOISE_BELOW + ' samples.')), { id: 'help' });
}

function legendItem(cls, style, text) {
	const square = el('span', 'swatch ' + cls);
	if (style)
		square.style.background = style;
	return el('span', 'item', square, text);
}

/* Only what is there: most profiles have three of the kinds. */
function makeLegend() {
	const present = new Set(profile.locations.kind), made = el('div', 'legend', ...(difference ? diffLegend() : []));
	if (difference)
		return made;
	for (const kind of [USER, LIBRARY, JIT, KERNEL, SYNTHETIC, BLOCKED, RUNNABLE])
		if (present.has(kind))
			made.append(legendItem(kind === SYNTHETIC ? 'hatched' : '', kind === SYNTHETIC ? '' :
				'var(--' + LETTERS[kind] + (kind < SYNTHETIC ? '1' : '') + ')', facts.kinds[kind]));
	if (present.has(BLOCKED))
		made.append(legendItem('', 'var(--ub)', 'mostly blocked'));
	if (present.has(RUNNABLE))
		made.append(legendItem('', 'var(--uq)', 'mostly runnable'));
	if (profile.locations.lineCnt.some(cnt => cnt > 1))
		made.append(legendItem('faint', 'var(--u1)', 'inlined (fainter, italic)'));
	if (profile.frames.isWaker.includes(true))
		made.append(legendItem('dashed', '', 'waker (dashed)'));
	if (profile.values.some((value, i) => countsOf(profile, i)))
		made.append(legendItem('noisy', 'var(--u1)', 'fewer than ' + NOISE_BELOW + ' samples'));
	return made;
}

function makePage() {
	ui.said = setAttributes(el('div', 'said'), { id: 'said', role: 'status', 'aria-live': 'polite' });
	ui.cards = setAttributes(el('section', 'cards'), { 'aria-label': 'At first sight' });
	ui.chips = setAttributes(el('div', 'chips'), { 'aria-label': 'Filters' });
	ui.way = setAttributes(el('nav', 'way'), { 'aria-label': 'Zoom' });
	ui.panel = setAttributes(el('aside', ''), { id: 'panel', 'aria-label': 'Details' });
	ui.empty = el('div', 'empty', el('h2', '', 'Nothing to show'), el('p', ''));
	ui.paper = el('div', 'paper');
	ui.help = makeHelp();
	ui.evidence = makeEvidence();
	ui.ledger = el('p', 'ledger-line', facts.ledgerLine || '');
	const bar = setAttributes(el('div', ''), { id: 'bar' });
	bar.append(makeTabs(), makeSwitcher(), makeSearch(), makeMenu());
	ui.graph = makeFlame();
	ui.top = makeTop();
	ui.tree = makeTree();
	ui.time = makeTimeline();
	ui.hist = makeHistograms();
	ui.stage = setAttributes(el('main', '', ui.graph, ui.top, ui.tree, ui.time, ui.hist, ui.empty), { id: 'stage' });
	showOrigin();
	document.getElementById('head').append(ui.cards);
	document.body.append(bar, el('div', 'trail', makeSwitches(), ui.chips, ui.way), el('div', 'work', ui.stage, ui.panel),
			     el('footer', '', makeLegend(), ui.ledger), ui.paper, ui.said, tip, ui.help, ui.evidence);
	tip.hidden = true;
	document.body.classList.add('live');
}

/* ---- showing the state ---- */

function renderChips() {
	replaceChildren(ui.chips, ...state.steps.map(function (step, i) {
		const close = setAttributes(button('\u00d7', 'Remove', () => removeStep(i)), { 'aria-label': 'Remove: ' + stepText(step) });
		return el('span', 'chip', el('span', '', fit(stepText(step), 60)), close);
	}), state.steps.length ? button('Undo', 'Backspace', undoStep) : null);
}

function renderWay() {
	const crumbs = state.zoom.map((frame, i) => button(fit(profile.frames.name[frame], 40), profile.frames.name[frame],
		() => change({ zoom: state.zoom.slice(0, i + 1) })));
	const shown = crumbs.length > 7 ? [...crumbs.slice(0, 2), el('span', 'muted', '\u2026'), ...crumbs.slice(-4)] : crumbs;
	replaceChildren(ui.way, ...(crumbs.length && isGraph() && state.view !== 'sandwich' ? [button('all', 'Zoom out (0)', resetZoom), ...shown] : []));
}

function renderMatched() {
	const hits = searchHits(state), isBad = hits === undefined;
	ui.search.classList.toggle('bad', isBad);
	ui.steppers.hidden = !hits;
	if (ui.search.value !== state.search)
		ui.search.value = state.search;
	if (!hits) {
		ui.matched.textContent = isBad ? 'not a regular expression' : '';
		return;
	}
	const tree = mainTree(state), all = tree.total[0], node = state.view === 'flame' ? zoomNode(tree, state.zoom) : 0;
	ui.matched.textContent = percent(matchedTotal(tree, hits, 0), all) + ' matched' +
		(node ? ', ' + percent(matchedTotal(tree, hits, node), tree.total[node]) + ' of zoomed' : '');
}

function renderControls() {
	const press = (element, isOn) => element.setAttribute('aria-pressed', String(isOn));
	for (const view of Object.keys(ui.tabs))
		ui.tabs[view].setAttribute('aria-selected', String(view === state.view));
	press(ui.isFlame, state.isFlame);
	press(ui.isByName, state.isByName);
	press(ui.ignoreCase, state.ignoreCase);
	press(ui.invert, state.invert);
	press(ui.kernel, state.steps.some(step => step.type === 'k'));
	press(ui.mine, state.steps.some(step => step.type === 'u'));
	press(ui.gone, state.steps.some(step => step.type === 'g'));
	press(ui.fresh, state.steps.some(step => step.type === 'w'));
	ui.isFlame.disabled = !isGraph() || state.view === 'sandwich';
	ui.value.value = String(state.value);
}

function renderTheme() {
	const before = document.documentElement.dataset.theme;
	showTheme(state.theme);
	if (document.documentElement.dataset.theme !== before)
		flame.palette = null;
}

/* What decides the layout of a graph; what else changes is only drawn. */
function layoutKey() {
	return [state.view, state.value, state.isFlame, state.isByName, state.zoom.join('.'), state.steps.map(stepKey).join('\n'),
		state.view === 'sandwich' ? frameText(state.picked) : ''].join('\n');
}

function renderGraph() {
	const key = layoutKey();
	if (key !== flame.layoutKey) {
		const isZoom = flame.layoutKey && flame.layoutKey.split('\n')[0] === state.view;
		flame.layoutKey = key;
		flame.isLayoutStale = true;
		flame.hovered = null;
		showTip(null);
		layOutAll();
		if (!isZoom || state.view === 'sandwich' || state.isFlame)
			scrollToStart();
	}
	flame.canvas.setAttribute('aria-label', VIEW_WORDS[state.view] + ' of ' + document.title + '; the call tree (key 5) is the same as a table');
	drawSoon();
}

function render() {
	renderTheme();
	renderControls();
	const isEmpty = !(mainTree(state).total[0] > 0) && !(['time', 'hist'].includes(state.view) && profile.samples.cnt);
	document.body.dataset.view = isEmpty ? 'empty' : state.view;
	ui.empty.querySelector('p').textContent = emptyText();
	renderChips();
	renderWay();
	renderMatched();
	renderEvidence();
	renderPanel();
	if (state.view === 'top')
		renderTop();
	else if (state.view === 'tree')
		renderTree();
	else if (state.view === 'time')
		renderTimeline();
	else if (state.view === 'hist')
		renderHistograms();
	else if (!isEmpty)
		renderGraph();
}

async function start() {
	await first.painted;
	profile = await loadProfile();
	defaults.value = difference ? profile.defaultValue : facts.value < profile.values.length ? facts.value : 0;
	state = Object.assign({}, defaults, parseHash(location.hash.slice(1)));
	makePage();
	listen();
	renderTheme();
	document.body.dataset.view = state.view;
	resizeFlame();
	render();
	drawNow();
	document.getElementById('first').remove();
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start().catch(function (error) {
	document.body.append(el('p', 'failed', 'This report cannot be shown: ' + error.message +
		'. It needs a browser of 2023 or later, and the file as it was written.'));
	throw error;
});
