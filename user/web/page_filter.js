/* SPDX-License-Identifier: Apache-2.0 */
/* What narrows the view: the legend, labels with their totals, chips, and functions by cost. */
const FUNCTIONS_SHOWN = 40, VALUES_SHOWN = 300;

const finder = { list: [], current: -1, abort: null, timer: 0, total: 0, unit: '' };
const labels = { list: [], key: '', abort: null };

/* ---- values over a range ---- */

/* As in the report: cpu time, bytes, counts. */
function costText(value, unit) {
	return formatIn({ unit: unit === 'count' ? '' : unit, type: '' }, value);
}

function hot(name, value, whole, text, action) {
	const bar = el('span', 'bar'), item = el('button', 'hot', bar);
	bar.style.width = (whole > 0 ? Math.min(100, 100 * value / whole) : 0) + '%';
	item.type = 'button';
	item.title = name;
	item.append(el('span', 'text', name), el('span', 'num muted', text));
	item.addEventListener('click', action);
	return item;
}

/* ---- the legend ---- */

function legendRow(one, whole) {
	const square = el('span', 'swatch'), isReal = one.name !== null && one.name !== '';
	const item = hot(seriesWords(one.name), one.sum, whole, shortPercent(one.sum, whole), () => isReal && toggleFilter(state.by, one.name));
	square.style.background = colourOf(one.name);
	item.querySelector('.bar').after(square);
	item.dataset.name = one.name === null ? '' : one.name;
	item.title = seriesWords(one.name) + ': ' + costText(one.sum, view.unit) + (isReal ? '. Click: only this' : '');
	item.setAttribute('aria-pressed', String(isReal && hasFilter(state.by, one.name)));
	item.disabled = !isReal;
	item.addEventListener('pointerenter', () => light(one.name, true));
	item.addEventListener('pointerleave', () => light(null));
	return item;
}

function renderLegend() {
	const whole = view.series.reduce((sum, one) => sum + one.sum, 0), at = ui.legend.scrollTop, list = view.series.filter(one => one.sum > 0);
	const focused = document.activeElement && document.activeElement.closest('.legend-list') ? document.activeElement.dataset.name : null;
	replaceChildren(ui.legend, ...list.map(one => legendRow(one, whole)),
		list.length ? null : el('p', 'muted', view.isLoading ? 'Loading\u2026' : 'Nothing in this range'));
	ui.legend.scrollTop = at;
	if (focused !== null)
		for (const item of ui.legend.querySelectorAll('.hot'))
			if (item.dataset.name === focused)
				item.focus({ preventScroll: true });
}

/* Keys are known once labels were asked for; until then the usual one. */
function renderKeys() {
	const keys = Array.from(new Set([state.by, 'service', ...labels.list.map(one => one.key)])).sort();
	replaceChildren(ui.by, ...keys.map(key => setAttributes(el('option', '', key), { value: key })));
	ui.by.value = state.by;
}

function renderChips() {
	const chip = (words, name, action) => el('span', 'chip', el('span', '', fit(words, 60)),
		setAttributes(button('\u00d7', 'Remove', action), { 'aria-label': 'Remove: ' + name }));
	replaceChildren(ui.chips, ...state.select.map((one, i) => chip(one.key + ' = ' + one.value, one.value, () => removeFilter(i))),
		state.name ? chip('function ' + state.name, state.name, () => change({ name: '' })) : null);
	if (state.name)
		ui.chips.lastChild.classList.add('found');
}

/* ---- labels ---- */

async function loadLabels() {
	if (labels.abort)
		labels.abort.abort();
	const abort = labels.abort = new AbortController();
	try {
		const answer = await askJson('/api/labels', selection(shownRange()), abort.signal);
		labels.list = Array.isArray(answer.labels) ? answer.labels : [];
		labels.error = '';
	} catch (error) {
		if (abort.signal.aborted)
			return;
		labels.error = error.message;
	}
	renderKeys();
	renderLabels();
}

function labelButton(one) {
	const made = button(one.key, '', () => { labels.key = one.key; renderLabels(); });
	made.setAttribute('aria-pressed', String(one.key === labels.key));
	return made;
}

function renderLabels() {
	const chosen = labels.list.find(one => one.key === labels.key) || labels.list[0], text = ui.labelSearch.value.toLowerCase();
	if (chosen)
		labels.key = chosen.key;
	const values = (chosen ? chosen.values : []).filter(one => one.value.toLowerCase().includes(text));
	const whole = (chosen ? chosen.values : []).reduce((sum, one) => sum + one.total, 0);
	replaceChildren(ui.labelKeys, ...labels.list.map(labelButton));
	replaceChildren(ui.labelValues, ...values.slice(0, VALUES_SHOWN).map(function (one) {
		const row = hot(one.value || '(empty)', one.total, whole, costText(one.total, view.unit), function () {
			toggleFilter(chosen.key, one.value);
			ui.labelDialog.close();
		});
		row.setAttribute('aria-pressed', String(hasFilter(chosen.key, one.value)));
		return row;
	}), labels.error ? el('p', 'failed', labels.error) : values.length ? null : el('p', 'muted', 'Nothing here'),
		values.length > VALUES_SHOWN ? el('p', 'muted', '+ ' + grouped(values.length - VALUES_SHOWN) + ' more: write a part of the name above') : null);
}

function openLabels() {
	ui.labelSearch.value = '';
	labels.key = state.by;
	renderLabels();
	ui.labelDialog.showModal();
	ui.labelSearch.focus();
	loadLabels();
}

function makeLabels() {
	ui.labelSearch = setAttributes(el('input', ''), { type: 'text', placeholder: 'Part of a value', 'aria-label': 'Part of a value', spellcheck: 'false', autocomplete: 'off' });
	ui.labelSearch.addEventListener('input', renderLabels);
	ui.labelKeys = setAttributes(el('div', 'label-keys'), { 'aria-label': 'Labels' });
	ui.labelValues = el('div', 'label-values');
	ui.labelDialog = setAttributes(el('dialog', '', el('div', 'panel-head', el('h2', '', 'Filter'), ui.labelSearch, setAttributes(button('\u00d7', 'Close (Escape)', () => ui.labelDialog.close()), { 'aria-label': 'Close' })),
		el('div', 'label-columns', ui.labelKeys, ui.labelValues)), { id: 'labels', 'aria-label': 'Filter' });
	return ui.labelDialog;
}

/* ---- functions ---- */

async function findFunctions() {
	if (finder.abort)
		finder.abort.abort();
	const abort = finder.abort = new AbortController(), text = ui.find.value.trim();
	try {
		const answer = await askJson('/api/functions', selection(state.picked || shownRange(), { search: text, limit: FUNCTIONS_SHOWN }), abort.signal);
		finder.list = Array.isArray(answer.functions) ? answer.functions : [];
		finder.total = answer.total || 0;
		finder.unit = String(answer.unit || '');
		finder.error = '';
	} catch (error) {
		if (abort.signal.aborted)
			return;
		finder.list = [];
		finder.error = error.message;
	}
	finder.current = -1;
	renderFound();
}

function pickFunction(name) {
	closeFinder();
	ui.find.value = '';
	change({ name: name });
	say('Drawn over the timeline: ' + name);
	chart.top.focus({ preventScroll: true });
}

function renderFound() {
	ui.found.hidden = document.activeElement !== ui.find && !ui.found.contains(document.activeElement);
	ui.find.setAttribute('aria-expanded', String(!ui.found.hidden));
	replaceChildren(ui.found, el('p', 'muted', finder.error ? '' : (state.picked ? 'In the picked range' : 'In the shown range') + ', by total cost'),
		...finder.list.map(function (one, i) {
			const row = hot(one.name, one.total, finder.total, costText(one.total, finder.unit) + '  ' + shortPercent(one.total, finder.total), () => pickFunction(one.name));
			setAttributes(row, { role: 'option', id: 'found-' + i, tabindex: '-1', 'aria-selected': String(i === finder.current) });
			return row;
		}), finder.error ? el('p', 'failed', finder.error) : finder.list.length ? null : el('p', 'muted', 'No function matches'));
	if (finder.current >= 0) {
		ui.find.setAttribute('aria-activedescendant', 'found-' + finder.current);
		document.getElementById('found-' + finder.current).scrollIntoView({ block: 'nearest' });
	}
}

function closeFinder() {
	ui.found.hidden = true;
	ui.find.setAttribute('aria-expanded', 'false');
	clearTimeout(finder.timer);
}

function findKey(event) {
	const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
	if (step && finder.list.length) {
		finder.current = (finder.current + step + finder.list.length) % finder.list.length;
		renderFound();
	} else if (event.key === 'Enter' && finder.list.length) {
		pickFunction(finder.list[Math.max(0, finder.current)].name);
	} else if (event.key === 'Escape') {
		closeFinder();
		ui.find.value = '';
		chart.top.focus({ preventScroll: true });
	} else {
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

function makeFinder() {
	ui.find = setAttributes(el('input', ''), { type: 'text', placeholder: 'Find a function', 'aria-label': 'Find a function', role: 'combobox', 'aria-controls': 'found',
		'aria-expanded': 'false', 'aria-autocomplete': 'list', spellcheck: 'false', autocomplete: 'off' });
	ui.found = setAttributes(el('div', 'found-list'), { id: 'found', role: 'listbox', 'aria-label': 'Functions' });
	ui.found.hidden = true;
	ui.find.addEventListener('focus', findFunctions);
	ui.find.addEventListener('input', function () {
		clearTimeout(finder.timer);
		finder.timer = setTimeout(findFunctions, 150);
	});
	ui.find.addEventListener('keydown', findKey);
	/* A press on the list takes the focus from the field before its click comes. */
	ui.found.addEventListener('pointerdown', event => event.preventDefault());
	ui.find.addEventListener('blur', closeFinder);
	return el('div', 'finder', ui.find, ui.found);
}
