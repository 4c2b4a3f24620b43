/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 10: the timeline, where times were kept: a heat map or lanes on a canvas, and the same cells as a table. A range
 * that is drawn with the mouse, or with Shift and the arrows, is what the other views show from then on.
 */
const TIME_SHADES = 6;
const TIME_FOOT = 24; /* px: the seconds below */
const LANE_HIGH = 20;

const timeline = {
	grid: null, gridKey: '', cursor: { col: 0, row: 0 }, anchor: null, isDragging: false, isTable: false, rows: [], current: 0,
	left: 0, high: 0, wide: 0, width: 0, height: 0,
};

function hasTimes() {
	return profile.times !== null;
}

/* What is shown: less than two seconds have no use for columns of seconds. */
function timeMode() {
	const modes = timeline.modes;
	if (modes.includes(state.lanes))
		return state.lanes;
	return profile.times.endNs < 2e9 && modes.length > 1 ? modes[1] : 'heat';
}

/* ---- what is where ---- */

function layOutTime() {
	const mode = timeMode(), box = timeline.isTable ? timeline.list.scroller : timeline.scroller, ratio = window.devicePixelRatio || 1;
	const width = Math.max(200, box.clientWidth), height = Math.max(120, box.clientHeight - 2);
	timeline.left = mode === 'heat' ? 56 : Math.min(190, Math.floor(width / 3));
	const room = Math.max(10, Math.floor((width - timeline.left) / (mode === 'heat' ? 4 : 2)));
	timeline.grid = keep('time ' + [mode, state.value, room].join(' '), () => mode === 'heat' ?
		heatGrid(profile, state.value, room) : laneGrid(profile, state.value, mode, room));
	const grid = timeline.grid;
	timeline.high = grid.lanes ? LANE_HIGH : Math.max(4, Math.min(16, Math.floor((height - TIME_FOOT) / grid.rows)));
	timeline.wide = Math.min(grid.lanes ? 12 : 64, (width - timeline.left) / grid.cols);
	timeline.width = width;
	timeline.height = Math.max(1, grid.rows) * timeline.high + TIME_FOOT;
	timeline.canvas.width = Math.round(width * ratio);
	timeline.canvas.height = Math.round(timeline.height * ratio);
	timeline.canvas.style.width = width + 'px';
	timeline.canvas.style.height = timeline.height + 'px';
	timeline.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	timeline.cursor.col = Math.min(timeline.cursor.col, grid.cols - 1);
	timeline.cursor.row = Math.max(0, Math.min(timeline.cursor.row, grid.rows - 1));
	timeline.steps = shadeSteps(grid.value, TIME_SHADES, !['nanoseconds', 'bytes'].includes(currentValue(state).unit));
}

/* Time goes up in a column of the heat map; lanes go down. */
function rowTop(row) {
	return (timeline.grid.lanes ? row : timeline.grid.rows - 1 - row) * timeline.high;
}

function cellAt(x, y) {
	const grid = timeline.grid, line = Math.floor(y / timeline.high), col = Math.floor((x - timeline.left) / timeline.wide);
	return {
		col: Math.max(0, Math.min(col, grid.cols - 1)),
		row: Math.max(0, Math.min(grid.lanes ? line : grid.rows - 1 - line, grid.rows - 1)),
	};
}

/* From the one end of the selection to the other, or null. */
function selectedRange() {
	if (!timeline.anchor)
		return null;
	const one = cellRange(timeline.grid, timeline.anchor.col, timeline.anchor.row);
	const two = cellRange(timeline.grid, timeline.cursor.col, timeline.cursor.row);
	return [Math.min(one[0], two[0]), Math.max(one[1], two[1])];
}

/* ---- drawing ---- */

function shadeOfCell(value) {
	let shade = TIME_SHADES - 1;
	while (shade > 0 && value < timeline.steps[shade])
		shade--;
	return shade;
}

function drawCells(context, colours) {
	const grid = timeline.grid, kept = selectedRange() || rangeOf(state.steps), gap = timeline.wide > 5 ? 1 : 0;
	for (let row = 0; row < grid.rows; row++) {
		for (let col = 0; col < grid.cols; col++) {
			const value = grid.value[row * grid.cols + col], range = cellRange(grid, col, row);
			const isIn = !kept || (range[0] < kept[1] && range[1] > kept[0]);
			if (value <= 0 && (isIn || !kept))
				context.fillStyle = colours.none;
			else
				context.fillStyle = value > 0 ? colours.shades[shadeOfCell(value)] : colours.none;
			context.globalAlpha = isIn ? 1 : 0.25;
			context.fillRect(timeline.left + col * timeline.wide, rowTop(row), Math.max(1, timeline.wide - gap), timeline.high - (timeline.high > 5 ? 1 : 0));
		}
	}
	context.globalAlpha = 1;
}

/* A step between marks of which at most @cnt have room. */
function markStep(whole, cnt) {
	let step = Math.pow(10, Math.floor(Math.log10(whole / Math.max(1, cnt))));
	for (const factor of [1, 2, 5, 10])
		if (whole / (step * factor) <= cnt)
			return step * factor;
	return step * 10;
}

function drawAxes(context, colours) {
	const grid = timeline.grid, bottom = grid.rows * timeline.high, wholeNs = grid.cols * grid.colNs, wide = grid.cols * timeline.wide;
	const step = Math.max(markStep(wholeNs, Math.max(1, wide / 70)), grid.lanes ? 1 : grid.colNs);
	context.fillStyle = colours.muted;
	context.font = '11px ' + colours.sans;
	context.textAlign = 'left';
	for (let at = 0; at < wholeNs; at += step) {
		const x = timeline.left + at / wholeNs * wide;
		context.fillRect(x, bottom, 1, 4);
		if (x + 40 < timeline.width)
			context.fillText(seconds(at), x, bottom + 16);
	}
	context.textAlign = 'right';
	if (grid.lanes) {
		grid.lanes.forEach((name, row) => context.fillText(fit(name, Math.floor((timeline.left - 12) / 6.5)), timeline.left - 6, rowTop(row) + 14));
		return;
	}
	for (let i = 0; i < 4; i++) {
		const row = Math.round(i * grid.rows / 4);
		context.fillText(Number((row * grid.rowNs / 1e6).toFixed(1)) + ' ms', timeline.left - 6, rowTop(row) + Math.max(timeline.high, 10));
	}
}

function readTimeColours() {
	const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue('--' + name).trim();
	return {
		shades: Array.from({ length: TIME_SHADES }, (none, i) => colour('t' + i)), none: colour('sunken'), ground: colour('ground'),
		muted: colour('muted'), cursor: colour('cursor'), sans: colour('sans'),
	};
}

function drawTime() {
	if (state.view !== 'time' || !timeline.grid)
		return;
	const context = timeline.context, colours = readTimeColours(), at = timeline.cursor;
	context.fillStyle = colours.ground;
	context.fillRect(0, 0, timeline.width, timeline.height);
	drawCells(context, colours);
	drawAxes(context, colours);
	context.strokeStyle = colours.cursor;
	context.lineWidth = 2;
	context.strokeRect(timeline.left + at.col * timeline.wide - 1, rowTop(at.row) - 1, Math.max(4, timeline.wide + 1), timeline.high + 1);
}

/* ---- words ---- */

function cellText(at) {
	const grid = timeline.grid, range = cellRange(grid, at.col, at.row);
	return (grid.lanes ? grid.lanes[at.row] + ', ' : '') + rangeText(range) + ': ' + formatIn(currentValue(state), grid.value[at.row * grid.cols + at.col] || 0);
}

function selectionText() {
	const range = selectedRange();
	if (!range)
		return '';
	let sum = 0;
	eachTime(profile, state.value, (time, value) => { sum += time >= range[0] && time < range[1] ? value : 0; });
	return rangeText(range) + ': ' + formatIn(currentValue(state), sum);
}

function renderReadout(at) {
	timeline.readout.textContent = selectionText() || (at && timeline.grid.rows ? cellText(at) : 'Drag over a range of time, or Shift and the arrows, then Enter');
}

function renderScale() {
	const value = currentValue(state);
	const words = timeline.steps.map((least, i) => i ? '\u2265 ' + formatIn(value, least) : 'less');
	/* Of shades with one bound, the darkest is used. */
	const isUsed = i => i === words.length - 1 || (words[i + 1] !== words[i] && !(i === 0 && timeline.steps[1] <= 1));
	replaceChildren(timeline.scale, legendItem('edged', 'var(--sunken)', 'nothing'), ...words.map((text, i) =>
		isUsed(i) ? legendItem('', 'var(--t' + i + ')', text) : null));
}

/* ---- the range ---- */

/* A new range takes the place of the one before. */
function applyRange() {
	const range = selectedRange() || cellRange(timeline.grid, timeline.cursor.col, timeline.cursor.row);
	const step = { type: 'T', name: rangeName(range[0], range[1]), kind: 0, isWaker: false };
	timeline.anchor = null;
	undone = [];
	change({ steps: state.steps.filter(known => known.type !== 'T').concat([step]), view: 'flame', zoom: [] });
	say(stepText(step));
}

function clearSelection() {
	timeline.anchor = null;
	drawTime();
	renderReadout(timeline.cursor);
}

/* Into the next second at a column's end. */
function moveTime(way, isSelecting) {
	const grid = timeline.grid, at = timeline.cursor, up = grid.lanes ? -1 : 1;
	let col = at.col + (way === 'right' ? 1 : way === 'left' ? -1 : 0), row = at.row + (way === 'up' ? up : way === 'down' ? -up : 0);
	if (!grid.rows)
		return;
	if (!grid.lanes && row >= grid.rows && col + 1 < grid.cols)
		[col, row] = [col + 1, 0];
	else if (!grid.lanes && row < 0 && col > 0)
		[col, row] = [col - 1, grid.rows - 1];
	if (isSelecting && !timeline.anchor)
		timeline.anchor = Object.assign({}, at);
	else if (!isSelecting)
		timeline.anchor = null;
	timeline.cursor = { col: Math.max(0, Math.min(col, grid.cols - 1)), row: Math.max(0, Math.min(row, grid.rows - 1)) };
	drawTime();
	renderReadout(timeline.cursor);
	say(timeline.readout.textContent);
}

/* Arrows: walk() of html.js, but for those with Shift. */
function timeKey(event) {
	const match = /^Arrow(Up|Down|Left|Right)$/.exec(event.key);
	if (match && event.shiftKey)
		moveTime(match[1].toLowerCase(), true);
	else if (event.key === 'Escape' && timeline.anchor)
		clearSelection();
	else
		return;
	event.preventDefault();
	event.stopPropagation();
}

function timePoint(event) {
	const box = timeline.canvas.getBoundingClientRect();
	return cellAt(event.clientX - box.left, event.clientY - box.top);
}

function isSameCell(one, two) {
	return one.col === two.col && one.row === two.row;
}

function pointTime(event) {
	const at = timePoint(event);
	if (!timeline.isDragging) {
		renderReadout(at);
		return;
	}
	timeline.cursor = at;
	drawTime();
	renderReadout(at);
}

function listenTime() {
	const canvas = timeline.canvas;
	canvas.addEventListener('pointerdown', function (event) {
		if (event.button !== 0 || !timeline.grid.rows)
			return;
		timeline.cursor = timePoint(event);
		timeline.anchor = Object.assign({}, timeline.cursor);
		timeline.isDragging = true;
		canvas.setPointerCapture(event.pointerId);
		drawTime();
	});
	canvas.addEventListener('pointermove', pointTime);
	canvas.addEventListener('pointerleave', () => renderReadout(null));
	canvas.addEventListener('pointercancel', () => { timeline.isDragging = false; clearSelection(); });
	canvas.addEventListener('pointerup', function () {
		if (!timeline.isDragging)
			return;
		timeline.isDragging = false;
		/* A click picks a cell; Enter takes it. */
		if (isSameCell(timeline.anchor, timeline.cursor))
			clearSelection();
		else
			applyRange();
	});
	canvas.addEventListener('keydown', timeKey);
}

/* ---- the same as a table ---- */

function timeCells() {
	const grid = timeline.grid, made = [];
	for (let col = 0; col < grid.cols; col++)
		for (let row = 0; row < grid.rows; row++)
			if (grid.value[row * grid.cols + col] > 0)
				made.push({ col: col, row: row });
	return made;
}

function timeRow(i) {
	const at = timeline.rows[i], grid = timeline.grid, range = cellRange(grid, at.col, at.row), value = grid.value[at.row * grid.cols + at.col];
	const row = el('div', 'row', cell('cell', 'num', seconds(range[0])), cell('cell', 'num', seconds(range[1])),
		       cell('cell', 'num', formatIn(currentValue(state), value)), shareCell('cell', value, timeline.sum, NOISE_BELOW),
		       cell('cell', 'name', el('span', 'text', grid.lanes ? grid.lanes[at.row] : '')));
	row.classList.toggle('current', i === timeline.current);
	row.addEventListener('click', () => moveTimeRow(i - timeline.current));
	row.addEventListener('dblclick', applyRange);
	return row;
}

function renderTimeTable() {
	const list = timeline.list;
	timeline.rows = timeCells();
	timeline.sum = timeline.grid.value.reduce((sum, one) => sum + one, 0);
	timeline.current = Math.max(0, timeline.rows.findIndex(at => isSameCell(at, timeline.cursor)));
	list.rowCnt = timeline.rows.length;
	list.makeRow = timeRow;
	replaceChildren(list.head, ...['From', 'To', valueName(currentValue(state)), 'Share', timeline.grid.lanes ? 'Lane' : ''].map((text, i) =>
		cell('columnheader', i < 4 ? 'num' : 'name', text)));
	fillList(list, true);
}

function moveTimeRow(step) {
	timeline.current = Math.max(0, Math.min(timeline.current + step, timeline.rows.length - 1));
	if (!timeline.rows.length)
		return;
	timeline.cursor = Object.assign({}, timeline.rows[timeline.current]);
	timeline.anchor = null;
	showRow(timeline.list, timeline.current);
	fillList(timeline.list, true);
	renderReadout(timeline.cursor);
	say(timeline.readout.textContent);
}

function walkTime(way) {
	if (!timeline.isTable)
		moveTime(way, false);
	else if (way === 'up' || way === 'down')
		moveTimeRow(way === 'up' ? -1 : 1);
}

/* ---- the view ---- */

function renderTimeline() {
	timeline.choice.value = timeMode();
	timeline.asTable.setAttribute('aria-pressed', String(timeline.isTable));
	timeline.scroller.hidden = timeline.isTable;
	timeline.list.scroller.hidden = !timeline.isTable;
	layOutTime();
	timeline.canvas.setAttribute('aria-label', 'Timeline, ' + timeline.choice.selectedOptions[0].textContent + '; the button As a table shows the same as one');
	if (timeline.isTable)
		renderTimeTable();
	renderScale();
	renderReadout(timeline.cursor);
	drawTime();
}

function makeTimeChoice() {
	const made = setAttributes(el('select', ''), { 'aria-label': 'Rows of the timeline' });
	timeline.modes = ['heat', ...Object.keys(LANE_WORDS).filter(mode => hasLanes(profile, mode))];
	for (const mode of timeline.modes)
		made.append(setAttributes(el('option', '', mode === 'heat' ? 'Sub-second heat map' : LANE_WORDS[mode][0]), { value: mode }));
	made.addEventListener('change', function () {
		timeline.anchor = null;
		change({ lanes: made.value });
	});
	return made;
}

function makeTimeline() {
	if (!hasTimes())
		return setAttributes(el('div', ''), { id: 'time' });
	timeline.choice = makeTimeChoice();
	timeline.readout = el('output', 'muted');
	timeline.asTable = toggle('As a table', 'The cells as a table', function () {
		timeline.isTable = !timeline.isTable;
		renderTimeline();
		focusView();
	});
	timeline.canvas = setAttributes(el('canvas', ''), { tabindex: '0', role: 'img', 'aria-describedby': 'said' });
	timeline.context = timeline.canvas.getContext('2d', { alpha: false });
	timeline.scroller = el('div', 'scroller cells', timeline.canvas);
	timeline.list = makeList('table', 'Timeline');
	timeline.list.scroller.classList.add('times');
	timeline.scale = setAttributes(el('div', 'legend'), { 'aria-label': 'Scale' });
	listenTime();
	new ResizeObserver(() => { if (state.view === 'time' && !timeline.isTable) renderTimeline(); }).observe(timeline.scroller);
	return setAttributes(el('div', 'sheet', el('div', 'tools', timeline.choice, timeline.asTable,
		button('Show this range', 'Key Enter', applyRange), timeline.readout), timeline.scroller, timeline.list.scroller, timeline.scale), { id: 'time' });
}
