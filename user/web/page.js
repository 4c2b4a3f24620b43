/* SPDX-License-Identifier: Apache-2.0 */
/* The last part: the page around the views, the table of what can be done (from which keys and help are made), the start. */
const ui = {};

const VALUE_KIND_WORDS = { cpu: 'CPU', 'on-cpu': 'CPU', 'off-cpu': 'Off-CPU', wall: 'Wall', heap: 'Heap', 'page-faults': 'Page faults' };

/* Said to those who do not see the page, and shown for a moment to all. */
function say(text) {
	ui.said.textContent = text;
	ui.said.classList.add('fresh');
	clearTimeout(say.timer);
	say.timer = setTimeout(() => ui.said.classList.remove('fresh'), 2500);
}

/* ---- what can be done ---- */

function nextKind(step) {
	const at = view.kinds.findIndex(kind => kind.name === state.kind), cnt = view.kinds.length;
	if (cnt > 1)
		change({ kind: view.kinds[(at + step + cnt) % cnt].name });
}

function switchTheme() {
	change({ theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark' }, false);
	themeReport();
}

/* With the kinds that there are now. */
function reload() {
	view.isStale = true;
	load();
}

function follow() {
	change({ end: state.end === null ? Date.now() : null });
	say(state.end === null ? 'Follows' : 'Stands still');
}

/* [key, words, action]; what has no words belongs to the entry before. */
const ACTIONS = [
	...SPANS.map(([text, ms], i) => [String(i + 1), 'The last ' + text, () => change({ span: ms, end: null })]),
	['l', 'Follow, or stand still', follow],
	[',', 'Earlier', () => panBy(-state.span / 4)], ['.', 'Later', () => panBy(state.span / 4)],
	['+', 'Zoom in, at the cursor', () => zoomBy(0.5, cursorMs())], ['=', '', () => zoomBy(0.5, cursorMs())], ['-', 'Zoom out', () => zoomBy(2, cursorMs())],
	['ArrowLeft', 'Move the cursor; with Shift, draw a range', event => moveCursor(-1, event.shiftKey)], ['ArrowRight', '', event => moveCursor(1, event.shiftKey)],
	['Enter', 'Report of the drawn range, or of all that is shown', takeCursor],
	['z', 'Zoom to the picked range', () => state.picked && goTo(state.picked)],
	['b', 'Compare with the range before', () => compareAgo(0)], ['B', 'Compare with an hour before', () => compareAgo(HOUR_MS)],
	['D', 'Compare with a day before', () => compareAgo(DAY_MS)], ['x', 'No comparison', () => change({ before: null })],
	['Escape', 'Take back: drawn, compared, picked, function', clearPicked],
	['o', 'Open the report alone', openReport],
	['v', 'Next kind', () => nextKind(1)], ['V', 'Previous kind', () => nextKind(-1)],
	['g', 'Stacked, or a chart for each', () => change({ isEach: !state.isEach })],
	['f', 'Filter by a label', openLabels], ['Backspace', 'Remove the last filter', () => state.select.length && removeFilter(state.select.length - 1)],
	['/', 'Find a function', () => { ui.find.focus(); ui.find.select(); }],
	...FORMATS.map(one => [one[0], 'Save as ' + one[3], () => save(one[1])]),
	['r', 'Load again', reload], ['t', 'Light or dark', switchTheme], ['?', 'This list', () => ui.help.showModal()],
];

function keyDown(event) {
	const target = event.target, isField = ['input', 'select', 'textarea'].includes(target.localName);
	if (document.querySelector('dialog[open]') || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (isField || (event.key === 'Enter' && target.matches('button, summary, a')))
		return;
	const action = ACTIONS.find(entry => entry[0] === event.key);
	if (!action)
		return;
	event.preventDefault();
	action[2](event);
}

/* ---- the page ---- */

function toggle(text, title, action) {
	return setAttributes(button(text, title, action), { 'aria-pressed': 'false' });
}

function labelled(element, text) {
	return setAttributes(element, { 'aria-label': text });
}

function makeHead() {
	ui.host = el('h1', '', 'bpfprof');
	ui.subtitle = el('p', 'subtitle');
	ui.cards = labelled(el('section', 'cards'), 'What was recorded');
	return setAttributes(el('header', '', setAttributes(el('div', '', ui.host, ui.subtitle), { id: 'titles' }), ui.cards), { id: 'head' });
}

function makeMenu() {
	ui.downloads = el('details', 'menu', el('summary', '', 'Save'), el('div', '', ...FORMATS.map(one => button(one[3] + '  ' + one[0], 'Key ' + one[0], () => save(one[1])))));
	return el('div', 'menus', ui.downloads, labelled(button('\u25d0', 'Light or dark (t)', switchTheme), 'Light or dark'),
		labelled(button('?', 'Keys (?)', () => ui.help.showModal()), 'Keys'));
}

function makeRange() {
	ui.spans = SPANS.map(([text, ms], i) => toggle(text, 'The last ' + text + ' (' + (i + 1) + ')', () => change({ span: ms, end: null })));
	ui.live = toggle('Live', 'Follow (l)', follow);
	return labelled(el('div', 'range', el('div', 'tabs', ...ui.spans), ui.live, el('span', 'steppers',
		labelled(button('\u2039', 'Earlier (,)', () => panBy(-state.span / 4)), 'Earlier'), labelled(button('\u203a', 'Later (.)', () => panBy(state.span / 4)), 'Later'),
		labelled(button('+', 'Zoom in (+)', () => zoomBy(0.5, cursorMs())), 'Zoom in'), labelled(button('\u2212', 'Zoom out (-)', () => zoomBy(2, cursorMs())), 'Zoom out'))), 'Range');
}

function makeBar() {
	ui.kinds = setAttributes(el('div', 'tabs'), { role: 'tablist', 'aria-label': 'Kind' });
	const bar = setAttributes(el('div', ''), { id: 'bar' });
	bar.append(ui.kinds, makeRange(), makeFinder(), makeMenu());
	return bar;
}

function makeTrail() {
	ui.chips = labelled(el('div', 'chips'), 'Filters');
	ui.each = toggle('Each alone', 'A chart for each (g)', () => change({ isEach: !state.isEach }));
	ui.unit = el('strong', '');
	ui.rangeWords = el('span', 'muted');
	return el('div', 'trail', ui.unit, ui.rangeWords, el('div', 'switches', ui.each, button('Filter\u2026', 'By any label (f)', openLabels)), ui.chips);
}

function makeChart() {
	chart.base = el('canvas', 'base');
	chart.top = setAttributes(el('canvas', 'top'), { tabindex: '0', role: 'img', 'aria-label': 'Timeline', 'aria-describedby': 'readout' });
	chart.box = el('div', 'chart', chart.base, chart.top);
	ui.notice = setAttributes(el('div', 'notice'), { role: 'alert' });
	ui.readout = setAttributes(el('output', 'muted readout'), { id: 'readout' });
	ui.by = labelled(el('select', ''), 'Series');
	ui.by.addEventListener('change', () => change({ by: ui.by.value }));
	ui.by.addEventListener('focus', loadLabels);
	ui.legend = labelled(el('div', 'hots legend-list'), 'Series');
	const side = labelled(el('aside', 'side', el('div', 'side-head', el('span', 'muted', 'By'), ui.by), ui.legend), 'Legend');
	listenChart();
	return el('main', 'timeline', el('div', 'plot', chart.box, ui.notice, ui.readout), side);
}

function makeHelp() {
	const list = el('dl', 'keys'), words = { ArrowLeft: '\u2190 \u2192' };
	for (const action of ACTIONS)
		if (action[1])
			list.append(el('dt', '', el('kbd', '', words[action[0]] || action[0])), el('dd', '', action[1]));
	return setAttributes(el('dialog', '', el('div', 'panel-head', el('h2', '', 'Keys'), labelled(button('\u00d7', 'Close (Escape)', () => ui.help.close()), 'Close')), list,
		el('p', 'muted', 'Drag over the timeline: its report. Shift and drag: what that is compared with. Drag the times below, or Shift and wheel: pan. Ctrl and wheel: zoom. ' +
			'Double click: zoom to what is picked. Click in the legend: only that. Hatched: no data, which is not zero.')), { id: 'help', 'aria-label': 'Keys' });
}

function makePage() {
	ui.said = setAttributes(el('div', 'said'), { id: 'said', role: 'status', 'aria-live': 'polite' });
	ui.tip = el('div', 'tip');
	ui.tip.hidden = true;
	ui.empty = el('section', 'nothing');
	ui.ledger = el('p', 'ledger-line');
	ui.help = makeHelp();
	ui.work = el('div', 'body', makeBar(), makeTrail(), makeChart(), makePicked(), makeReport());
	document.body.append(makeHead(), ui.work, ui.empty, el('footer', '', ui.ledger), ui.said, ui.tip, ui.help, makeLabels(), makeAccess());
}

/* ---- showing the state ---- */

function renderTheme() {
	const theme = state.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
	document.documentElement.dataset.theme = theme;
	chart.colours.clear();
}

function renderHead() {
	const info = view.info;
	if (!info)
		return;
	ui.host.textContent = info.host || 'bpfprof';
	document.title = (info.host ? info.host + ' \u2013 ' : '') + 'bpfprof';
	ui.subtitle.textContent = view.isEmpty ? 'bpfprof ' + info.version : 'profiled since ' + dayText(info.first) + ' ' + clockText(info.first) + ' UTC by bpfprof ' + info.version;
}

function renderKinds() {
	replaceChildren(ui.kinds, ...view.kinds.map(kind => setAttributes(button(VALUE_KIND_WORDS[kind.name] || kind.name, 'Keys v, V', () => change({ kind: kind.name })),
		{ role: 'tab', 'aria-selected': String(kind.name === state.kind) })));
}

/* A share in which little is not nothing, and nearly all not all. */
function carefulPercent(part, whole) {
	const share = whole > 0 ? 100 * part / whole : 0;
	return share > 0 && share < 0.1 ? '< 0.1%' : share > 99.9 && share < 100 ? '> 99.9%' : Number(share.toFixed(1)) + '%';
}

function card(label, figure, cls, note) {
	return el('div', 'card ' + cls, el('div', 'label', label), el('div', 'figure', figure), note ? el('div', 'note', note) : null);
}

/* The books: what was recorded, what was lost, how much of the range is there. */
function renderCoverage() {
	const coverage = view.coverage, range = view.plan ? shownRange() : null;
	if (!coverage || !range)
		return;
	const last = Math.min(range[1], Date.now()), length = Math.max(1, last - Math.max(range[0], view.info.first)), share = Math.min(1, coverage.covered_ms / (coverage.hosts || 1) / length);
	/* The last window is not here yet. */
	const isLate = view.windowMs * 2 > length * (1 - share);
	replaceChildren(ui.cards, card('Covered', coverage.windows && isLate ? 'all of it' : coverage.windows ? carefulPercent(share, 1) : 'nothing', coverage.windows && isLate ? 'ledger good' : 'ledger warn', grouped(coverage.windows) + ' windows'),
		coverage.hosts === undefined ? null : card('Hosts', grouped(coverage.hosts) + (coverage.hosts_known > coverage.hosts ? ' of ' + grouped(coverage.hosts_known) : ''),
		     coverage.hosts_known > coverage.hosts ? 'ledger warn' : 'ledger good', coverage.hosts_known > coverage.hosts ? 'of the day before' : 'reported'),
		card('Recorded', grouped(coverage.recorded), '', 'samples'),
		card('Lost', coverage.lost ? grouped(coverage.lost) : 'none', coverage.lost ? 'ledger bad' : 'ledger good',
		     coverage.lost ? carefulPercent(coverage.lost, coverage.lost + coverage.recorded) + ' of all' : 'samples'),
		coverage.tombstones ? card('Dropped', grouped(coverage.tombstones) + (coverage.tombstones === 1 ? ' gap' : ' gaps'), 'ledger bad', 'could not be stored') : null);
	ui.ledger.textContent = coverage.ledger || '';
}

function command(text) {
	return el('p', '', el('code', '', text));
}

function renderEmpty() {
	ui.empty.hidden = !view.isEmpty;
	ui.work.hidden = view.isEmpty;
	if (view.isEmpty)
		replaceChildren(ui.empty, el('h2', '', 'Nothing is stored yet'), el('p', '', 'The agent fills the store. On the host to profile, as root:'), command('bpfprof agent'),
			el('p', 'muted', 'If it runs already: its first window is here in a moment, and this page looks again by itself. If this page is of another store, say which: '),
			command('bpfprof serve --store PATH'));
}

/* Over the timeline: why it shows nothing. */
function renderNotice() {
	const isBare = view.isFresh && !view.isEmpty && view.coverage && !view.coverage.windows && !view.isLoading, range = shownRange();
	ui.notice.hidden = !view.error && !isBare;
	if (view.error) {
		replaceChildren(ui.notice, el('p', 'failed', view.error), el('p', '', button('Try again', 'Key r', reload)));
	} else if (isBare) {
		const last = view.info.last;
		replaceChildren(ui.notice, el('p', '', 'No data from ' + rangeWords(range) + '.'), el('p', 'muted', 'There is some from ' + rangeWords([view.info.first, last]) + '.'),
			el('p', '', button('Show the last that there is', '', () => change({ end: last }))));
	}
}

function renderStatus() {
	document.body.classList.toggle('loading', view.isLoading);
	ui.live.setAttribute('aria-pressed', String(state.end === null));
	ui.spans.forEach((element, i) => element.setAttribute('aria-pressed', String(SPANS[i][1] === state.span)));
	ui.each.setAttribute('aria-pressed', String(state.isEach));
	ui.rangeWords.textContent = rangeWords(shownRange());
}

/* The report first: the server makes it meanwhile. */
function renderView() {
	if (!view.isEmpty)
		renderReport();
	renderHead();
	renderEmpty();
	renderKinds();
	renderStatus();
	renderKeys();
	renderChips();
	ui.unit.textContent = view.plan ? axisWords() : '';
	ui.kinds.hidden = !view.kinds.length;
	chart.top.setAttribute('aria-label', 'Timeline of ' + axisWords() + ' by ' + state.by + ', ' + rangeWords(shownRange()));
	if (!view.isEmpty) {
		renderCoverage();
		drawBase();
		renderLegend();
		renderReadout();
	}
	renderNotice();
	if (!view.isLoading)
		document.documentElement.dataset.ready = '1';
}

/* What is loaded depends on these. */
const LOADED_BY = ['kind', 'span', 'end', 'by', 'select', 'name'];

function show(old) {
	const changed = Object.keys(state).filter(key => JSON.stringify(old[key]) !== JSON.stringify(state[key]));
	if (changed.length && state.picked && old.picked && changed.every(key => key === 'picked' || key === 'before')) {
		renderReport();
		drawTop();
		return;
	}
	renderTheme();
	renderView();
	if (LOADED_BY.some(key => changed.includes(key)))
		loadSoon();
}

function start() {
	report.key = '';
	load();
}

function listen() {
	document.addEventListener('keydown', keyDown);
	window.addEventListener('popstate', readHash);
	window.addEventListener('hashchange', readHash);
	document.addEventListener('visibilitychange', () => !document.hidden && state.end === null && load());
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(state));
	document.addEventListener('click', event => { if (!ui.downloads.contains(event.target)) ui.downloads.open = false; });
}

state = Object.assign({}, defaults, parseHash(location.hash.slice(1)));
makePage();
renderTheme();
renderStatus();
listen();
start();
