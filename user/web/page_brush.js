/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer and keyboard on the timeline: cursor, ranges, pan and zoom. */
const CLICK_PX = 4;

const brush = { from: null, to: null, isBefore: false, pan: null, startX: 0, anchor: null };

/* What is being drawn now, or null. */
function brushRange() {
	if (brush.from === null || brush.from === brush.to)
		return null;
	return [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
}

/* Ranges begin and end where steps do: a sum has no finer times. */
function snap(ms) {
	return view.plan ? view.plan.from + Math.round((ms - view.plan.from) / view.plan.step) * view.plan.step : Math.round(ms);
}

/* @isBefore: it is what the picked range is compared with. */
function takeRange(range, isBefore) {
	const made = range.map(snap);
	if (made[0] === made[1])
		made[1] += view.plan ? view.plan.step : 1e3;
	if (isBefore && state.picked)
		change({ before: made });
	else
		change({ picked: made, before: null });
	say((isBefore && state.picked ? 'Compared with ' : 'Picked ') + rangeWords(made));
}

function compareAgo(ms) {
	if (!state.picked) {
		say('Pick a range first: drag over the timeline');
		return;
	}
	const ago = ms || state.picked[1] - state.picked[0];
	change({ before: state.picked.map(at => at - ago) });
}

/* ---- the pointer ---- */

function pointOf(event) {
	const box = chart.top.getBoundingClientRect();
	return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function pressChart(event) {
	if (event.button !== 0)
		return;
	const at = pointOf(event);
	chart.top.setPointerCapture(event.pointerId);
	brush.startX = at.x;
	if (at.y > chart.height - AXIS_HIGH || event.altKey) {
		brush.pan = { x: at.x, end: shownRange()[1] };
		return;
	}
	brush.from = brush.to = msOf(at.x);
	brush.isBefore = event.shiftKey && state.picked !== null;
}

function dragChart(event) {
	const at = pointOf(event);
	if (brush.pan) {
		const ms = (brush.pan.x - at.x) / (chart.width - CHART_LEFT - CHART_RIGHT) * state.span, end = brush.pan.end + ms;
		if (Math.abs(brush.pan.x - at.x) >= CLICK_PX)
			change({ end: end >= Date.now() ? null : end }, false);
		return;
	}
	chart.cursor = msOf(at.x);
	if (brush.from !== null)
		brush.to = chart.cursor;
	else
		hoverSeries(at);
	renderReadout();
	drawTopSoon();
	chart.top.classList.toggle('pans', at.y > chart.height - AXIS_HIGH);
}

function dropChart(event) {
	const range = brushRange(), isDrawn = range && Math.abs(pointOf(event).x - brush.startX) >= CLICK_PX, isBefore = brush.isBefore;
	brush.from = brush.to = brush.pan = null;
	if (isDrawn)
		takeRange(range, isBefore);
	else
		drawTopSoon();
}

function leaveChart() {
	chart.cursor = null;
	light(null);
	showTip(null);
	renderReadout();
	drawTopSoon();
}

/* A wheel alone scrolls the page. */
function wheelChart(event) {
	const pans = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
	if (!pans && !event.ctrlKey && !event.altKey)
		return;
	event.preventDefault();
	if (pans)
		panBy((event.deltaX || event.deltaY) / (chart.width - CHART_LEFT) * state.span);
	else
		zoomBy(Math.pow(1.0015, event.deltaY), msOf(pointOf(event).x));
}

/* ---- which area is under the pointer ---- */

function layerAt(at, step) {
	const panel = chart.panels.find(one => at.y >= one.top && at.y <= one.top + one.high);
	if (!panel || step < 0 || !view.presence[step])
		return null;
	return panel.layers.find(layer => at.y <= yOf(panel, rateValue(layer.lower[step], view.unit)) &&
		at.y >= yOf(panel, rateValue(layer.upper[step], view.unit))) || (state.isEach ? panel.layers[0] : null);
}

function hoverSeries(at) {
	const step = stepAt(chart.cursor), layer = layerAt(at, step);
	light(layer ? layer.name : null, layer !== null);
	showTip(step >= 0 ? step : null, at);
}

/* ---- the keyboard ---- */

function cursorMs() {
	return chart.cursor === null ? (state.picked ? state.picked[0] : (chart.range[0] + chart.range[1]) / 2) : chart.cursor;
}

/* A step of at least four pixels. */
function moveCursor(way, isSelecting) {
	const px = state.span / Math.max(1, chart.width - CHART_LEFT), step = Math.max(view.plan ? view.plan.step : 1e3, 4 * px);
	if (isSelecting && brush.anchor === null)
		brush.anchor = cursorMs();
	else if (!isSelecting)
		dropAnchor();
	chart.cursor = Math.max(chart.range[0], Math.min(chart.range[1], cursorMs() + way * step));
	if (isSelecting) {
		brush.from = brush.anchor;
		brush.to = chart.cursor;
		brush.isBefore = false;
	}
	renderReadout();
	drawTopSoon();
	say(ui.readout.textContent);
}

function dropAnchor() {
	brush.anchor = brush.from = brush.to = null;
}

/* What Shift and the arrows have drawn; without that, what is shown. */
function takeCursor() {
	const range = brushRange() || shownRange();
	dropAnchor();
	takeRange(range, false);
}

function clearPicked() {
	if (brushRange()) {
		dropAnchor();
		drawTopSoon();
	} else if (state.before) {
		change({ before: null });
	} else if (state.picked) {
		change({ picked: null });
	} else if (state.name) {
		change({ name: '' });
	}
}

function listenChart() {
	const canvas = chart.top;
	canvas.addEventListener('pointerdown', pressChart);
	canvas.addEventListener('pointermove', dragChart);
	canvas.addEventListener('pointerup', dropChart);
	canvas.addEventListener('pointercancel', () => { brush.pan = null; dropAnchor(); drawTopSoon(); });
	canvas.addEventListener('pointerleave', leaveChart);
	canvas.addEventListener('wheel', wheelChart, { passive: false });
	canvas.addEventListener('dblclick', () => state.picked && goTo(state.picked));
	new ResizeObserver(function () {
		if (chart.box.clientWidth !== chart.width)
			drawBase();
	}).observe(chart.box);
}

/* ---- words ---- */

function gapWords(ms) {
	const gap = shownGaps().find(one => ms >= one.from && ms < one.to);
	if (!gap)
		return '';
	return 'no data' + (gap.dropped ? ': windows were dropped here (' + grouped(gap.dropped) + ')' : '');
}

function totalWords(step) {
	const total = view.series.reduce((sum, one) => sum + one.rate[step], 0);
	return rateText(rateValue(total, view.unit), view.unit) + ' ' + rateWords(state.kind, view.unit);
}

function momentWords(ms) {
	const step = stepAt(ms), at = dayText(ms) + ' ' + clockText(ms, true) + ' UTC: ';
	return at + (step < 0 ? 'not loaded' : gapWords(ms) || (view.presence[step] ? totalWords(step) : 'nothing yet'));
}

function renderReadout() {
	const range = brushRange();
	if (range)
		ui.readout.textContent = rangeWords(range) + ' (' + spanWords(range[1] - range[0]) + ')';
	else if (chart.cursor !== null)
		ui.readout.textContent = momentWords(chart.cursor);
	else
		ui.readout.textContent = 'Drag over the timeline for the report of a range; drag the times below to pan, Ctrl and wheel to zoom';
}

const TIP_ROWS = 9;

function showTip(step, at) {
	ui.tip.hidden = step === null || !view.plan;
	if (ui.tip.hidden)
		return;
	const ms = chart.cursor, gap = gapWords(ms), rows = view.series.filter(one => one.rate[step] > 0).sort((one, two) => two.rate[step] - one.rate[step]);
	const row = (colour, name, value, isLit) => {
		const square = el('span', 'swatch');
		square.style.background = colour;
		return el('div', isLit ? 'tip-row lit' : 'tip-row', square, el('span', 'text', name), el('span', 'num', value));
	};
	replaceChildren(ui.tip, el('strong', '', clockText(ms, true) + ' UTC'), el('div', '', gap || (view.presence[step] ? totalWords(step) : 'nothing yet')),
		...(gap ? [] : rows.slice(0, TIP_ROWS).map(one => row(colourOf(one.name), fit(seriesWords(one.name), 40), rateText(rateValue(one.rate[step], view.unit), view.unit), chart.isLit && one.name === chart.lit))),
		rows.length > TIP_ROWS && !gap ? el('div', '', '+ ' + (rows.length - TIP_ROWS) + ' more') : null,
		view.found && !gap ? row('var(--hit)', fit(state.name, 40), rateText(rateValue(foundRate()[step], view.unit), view.unit), false) : null);
	const box = chart.top.getBoundingClientRect(), wide = ui.tip.offsetWidth, x = box.left + at.x;
	ui.tip.style.left = (x + 16 + wide > innerWidth ? Math.max(4, x - wide - 16) : x + 16) + 'px';
	ui.tip.style.top = Math.max(4, Math.min(box.top + at.y + 14, innerHeight - ui.tip.offsetHeight - 6)) + 'px';
}

/* The series that stands out. @isNamed: null is a name, too, that of the others. */
function light(name, isNamed) {
	const isLit = name !== null || isNamed === true;
	if (chart.lit === name && chart.isLit === isLit)
		return;
	chart.lit = name;
	chart.isLit = isLit;
	for (const item of ui.legend.querySelectorAll('.hot'))
		item.classList.toggle('lit', isLit && name !== null && item.dataset.name === name);
	drawBase();
}
