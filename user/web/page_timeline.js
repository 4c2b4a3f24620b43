/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline on a canvas: areas on top of each other, or a chart for each series. Two layers: what was loaded, drawn when
 * that changes, and above it cursor and ranges, drawn when they move.
 */
const CHART_LEFT = 62, CHART_RIGHT = 12, CHART_TOP = 10, AXIS_HIGH = 26;
const STACK_HIGH = 264, STACK_HIGH_MAX = 460, EACH_HIGH = 62, EACH_MAX = 24;
/* Hues in an order in which neighbours differ for all eyes; lightness and chroma by the round. */
const HUES = [255, 55, 165, 320, 95, 215, 20, 285, 130, 350];
const ROUNDS = { light: [[0.72, 0.115], [0.83, 0.075], [0.6, 0.125]], dark: [[0.62, 0.11], [0.5, 0.09], [0.74, 0.09]] };

const chart = {
	base: null, top: null, width: 0, height: 0, most: 0, panels: [], cursor: null, lit: null, isLit: false, drawMs: 0, slots: new Map(), colours: new Map(), range: shownRange(), isTop: false,
};

/* ---- colours ---- */

/* A series keeps its colour as long as the page is open, whatever its place. */
function colourOf(name) {
	if (name === null)
		return cssColour('rest');
	if (!chart.slots.has(name))
		chart.slots.set(name, chart.slots.size);
	const slot = chart.slots.get(name), rounds = ROUNDS[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];
	const [light, chroma] = rounds[Math.floor(slot / HUES.length) % rounds.length];
	return 'oklch(' + light + ' ' + chroma + ' ' + HUES[slot % HUES.length] + ')';
}

function cssColour(name) {
	if (!chart.colours.has(name))
		chart.colours.set(name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());
	return chart.colours.get(name);
}

/* What is not pointed at steps back towards the ground. */
function faded(colour) {
	return 'color-mix(in oklab, ' + colour + ' 28%, ' + cssColour('raised') + ')';
}

function seriesWords(name) {
	return name === null ? 'all others' : name === '' ? 'without ' + state.by : name;
}

/* ---- where what is ---- */

/* Drawn is what the page shows now, not what was loaded: they differ while a pan is under way. */
function xOf(ms) {
	return CHART_LEFT + (ms - chart.range[0]) / (chart.range[1] - chart.range[0]) * (chart.width - CHART_LEFT - CHART_RIGHT);
}

function msOf(x) {
	const share = (x - CHART_LEFT) / Math.max(1, chart.width - CHART_LEFT - CHART_RIGHT);
	return chart.range[0] + Math.max(0, Math.min(1, share)) * (chart.range[1] - chart.range[0]);
}

function stepAt(ms) {
	const step = view.plan ? Math.floor((ms - view.plan.from) / view.plan.step) : -1;
	return view.plan && step >= 0 && step < view.plan.points ? step : -1;
}

/* The function's cost in a series, or in all. */
function foundRate(name) {
	const list = (view.found || []).filter(one => name === undefined || one.name === name), sum = new Float64Array(view.plan.points);
	for (const one of list)
		for (let i = 0; i < sum.length; i++)
			sum[i] += one.rate[i];
	return sum;
}

/* Which part of the loaded steps is to be seen, for the largest value that counts. */
function shownSteps() {
	const first = Math.max(0, Math.floor((chart.range[0] - view.plan.from) / view.plan.step));
	return [first, Math.min(view.plan.points, Math.ceil((chart.range[1] - view.plan.from) / view.plan.step))];
}

function mostOf(upper, found) {
	const [first, end] = shownSteps();
	let most = 0;
	for (let i = first; i < end; i++)
		most = Math.max(most, upper[i], found ? found[i] : 0);
	return rateValue(most, view.unit);
}

/* A report below needs the room. */
function stackHigh() {
	return state.picked ? STACK_HIGH : Math.max(STACK_HIGH, Math.min(STACK_HIGH_MAX, innerHeight - 330, chart.width / 2));
}

/* Each panel: what is stacked in it, from below, the sums up to there, and its scale. */
function makePanels() {
	const cnt = view.plan.points, lists = state.isEach ? view.series.slice(0, EACH_MAX).map(one => [one]) : [view.series];
	const high = state.isEach ? EACH_HIGH : stackHigh();
	view.series.forEach(one => colourOf(one.name));
	chart.panels = lists.map(function (list, at) {
		const layers = [], found = view.found ? foundRate(state.isEach ? list[0].name : undefined) : null;
		let below = new Float64Array(cnt);
		for (const one of list) {
			const upper = new Float64Array(cnt);
			for (let i = 0; i < cnt; i++)
				upper[i] = below[i] + one.rate[i];
			layers.push({ name: one.name, lower: below, upper: upper, rate: one.rate });
			below = upper;
		}
		const most = mostOf(below, found), step = most > 0 ? niceStep(most, state.isEach ? 2 : 5) : 1;
		return { layers: layers, found: found, total: below, step: step, most: Math.max(step, Math.ceil(most * 1.02 / step) * step),
			 top: CHART_TOP + at * high, high: high - (state.isEach ? 8 : 0), name: state.isEach ? list[0].name : undefined };
	});
	return CHART_TOP + Math.max(1, lists.length) * high + AXIS_HIGH;
}

function yOf(panel, value) {
	return panel.top + panel.high - value / panel.most * (panel.high - (state.isEach ? 14 : 4));
}

function sizeCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	const context = canvas.getContext('2d');
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

/* ---- what was loaded ---- */

/* The outline of @values over the steps [first, end), which have data, down to zero. Wide steps are drawn as steps. */
function traceArea(context, panel, values, first, end) {
	const plan = view.plan, left = xOf(plan.from), wide = xOf(plan.from + plan.step) - left, isBlocks = wide > 3;
	const bottom = yOf(panel, 0), scale = (yOf(panel, rateValue(1, view.unit)) - bottom);
	context.moveTo(left + first * wide, bottom);
	for (let i = first; i < end; i++) {
		const y = bottom + values[i] * scale;
		if (isBlocks || i === first)
			context.lineTo(left + i * wide, y);
		context.lineTo(left + (isBlocks || i === end - 1 ? i + 1 : i + 0.5) * wide, y);
	}
	context.lineTo(left + end * wide, bottom);
	context.closePath();
}

/* Runs of steps with data that are to be seen. */
function runs() {
	const [first, end] = shownSteps(), presence = view.presence, made = [];
	for (let i = first, next; i < end; i = next) {
		next = i + 1;
		while (next < end && presence[next] === presence[i])
			next++;
		if (presence[i])
			made.push([i, next]);
	}
	return made;
}

/* From the highest sum down: each covers what is not its own, so that no seam shows between two. */
function drawLayers(context, panel) {
	const spans = runs();
	for (let at = panel.layers.length - 1; at >= 0; at--) {
		const layer = panel.layers[at], colour = colourOf(layer.name);
		context.beginPath();
		for (const [first, end] of spans)
			traceArea(context, panel, layer.upper, first, end);
		context.fillStyle = chart.isLit && chart.lit !== layer.name ? faded(colour) : colour;
		context.fill();
	}
}

/* Over the areas: from zero, so that it is compared with all. */
function drawFound(context, panel) {
	if (!panel.found)
		return;
	context.beginPath();
	for (const [first, end] of runs())
		traceArea(context, panel, panel.found, first, end);
	context.fillStyle = context.strokeStyle = cssColour('hit');
	context.globalAlpha = 0.35;
	context.fill();
	context.globalAlpha = 1;
	context.lineWidth = 1.5;
	context.stroke();
}

function drawValues(context, panel) {
	context.font = '11px ' + cssColour('sans');
	context.textAlign = 'right';
	for (let value = 0; value <= panel.most * 1.0001; value += panel.step) {
		const y = Math.round(yOf(panel, value)) + 0.5;
		if (state.isEach && value > 0 && value < panel.most * 0.999)
			continue;
		context.strokeStyle = cssColour(value ? 'line' : 'edge');
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(CHART_LEFT, y);
		context.lineTo(chart.width - CHART_RIGHT, y);
		context.stroke();
		context.fillStyle = cssColour('muted');
		context.fillText(rateText(Number(value.toPrecision(6)), view.unit), CHART_LEFT - 7, y + 3.5);
	}
}

function drawName(context, panel) {
	if (panel.name === undefined)
		return;
	context.textAlign = 'left';
	context.font = '600 11.5px ' + cssColour('sans');
	context.fillStyle = cssColour('ink');
	context.fillText(fit(seriesWords(panel.name), 60), CHART_LEFT + 6, panel.top + 9);
}

function drawMoments(context) {
	const [from, to] = chart.range, bottom = chart.height - AXIS_HIGH, step = timeStep(to - from, (chart.width - CHART_LEFT) / 82);
	context.font = '11px ' + cssColour('sans');
	context.textAlign = 'center';
	context.strokeStyle = cssColour('edge');
	context.fillStyle = cssColour('muted');
	let day = '';
	for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
		const x = Math.round(xOf(at)) + 0.5, isNewDay = dayText(at) !== day && (step >= DAY_MS || (day !== '' || at % DAY_MS === 0));
		context.beginPath();
		context.moveTo(x, bottom);
		context.lineTo(x, bottom + 5);
		context.stroke();
		day = dayText(at);
		if (x > CHART_LEFT - 4 && x < chart.width - 20)
			context.fillText(isNewDay ? day.slice(5) : clockText(at, step < MINUTE_MS), x, bottom + 17);
	}
	context.textAlign = 'right';
	context.fillText('UTC', CHART_LEFT - 22, bottom + 17);
}

function hatch(context, x, y, width, height) {
	context.save();
	context.beginPath();
	context.rect(x, y, width, height);
	context.clip();
	context.fillStyle = cssColour('hatch-ground');
	context.fillRect(x, y, width, height);
	context.strokeStyle = cssColour('hatch-line');
	context.lineWidth = 2;
	context.beginPath();
	for (let at = Math.floor((x - height) / 7) * 7; at < x + width; at += 7) {
		context.moveTo(at, y + height);
		context.lineTo(at + height, y);
	}
	context.stroke();
	context.restore();
}

/* A gap is no zero: it is hatched and says so where there is room. */
function drawGaps(context) {
	const top = CHART_TOP, high = chart.height - AXIS_HIGH - top - (state.isEach ? 8 : 0), right = chart.width - CHART_RIGHT;
	context.font = '11px ' + cssColour('sans');
	context.textAlign = 'center';
	for (const gap of shownGaps()) {
		const from = Math.max(CHART_LEFT, xOf(gap.from)), to = Math.min(right, xOf(gap.to));
		if (to <= from)
			continue;
		hatch(context, from, top, Math.max(1, to - from), high);
		context.fillStyle = cssColour('muted');
		if (to - from > 60)
			context.fillText('no data', (from + to) / 2, top + high / 2);
	}
}

/*
 * At the shown range's ends, less than a step and two windows says nothing: the window there is not complete, or not here
 * yet.
 */
function shownGaps() {
	const [from, to] = [chart.range[0], Math.min(chart.range[1], Date.now())];
	const least = (view.plan ? view.plan.step : 0) + 2 * view.windowMs + (state.end === null ? followMs() : 0);
	return view.gaps.filter(function (gap) {
		const first = Math.max(gap.from, from), last = Math.min(gap.to, to), isAtEnd = first === from || last === to;
		return last > first && (!isAtEnd || last - first > least);
	});
}

function drawBase() {
	const begin = performance.now();
	chart.range = shownRange();
	chart.width = Math.max(280, chart.box.clientWidth);
	chart.height = view.plan ? makePanels() : CHART_TOP + stackHigh() + AXIS_HIGH;
	chart.box.style.height = chart.height + 'px';
	const context = sizeCanvas(chart.base, chart.width, chart.height);
	if (view.plan) {
		chart.panels.forEach(panel => drawValues(context, panel));
		context.save();
		context.beginPath();
		context.rect(CHART_LEFT, 0, chart.width - CHART_LEFT - CHART_RIGHT, chart.height);
		context.clip();
		chart.panels.forEach(panel => drawLayers(context, panel));
		drawGaps(context);
		chart.panels.forEach(panel => drawFound(context, panel));
		context.restore();
		chart.panels.forEach(panel => drawName(context, panel));
	}
	drawMoments(context);
	chart.drawMs = performance.now() - begin;
	drawTop();
}

/* ---- cursor and ranges ---- */

function drawRange(context, range, name, words) {
	const from = Math.max(CHART_LEFT, xOf(range[0])), to = Math.min(chart.width - CHART_RIGHT, xOf(range[1]));
	const high = chart.height - AXIS_HIGH - CHART_TOP;
	if (to < CHART_LEFT || from > chart.width - CHART_RIGHT)
		return;
	context.fillStyle = cssColour(name);
	context.fillRect(from, CHART_TOP, 1.5, high);
	context.fillRect(Math.max(from, to - 1.5), CHART_TOP, 1.5, high);
	context.font = '600 11px ' + cssColour('sans');
	const wide = context.measureText(words).width + 10;
	context.fillRect(from, CHART_TOP, wide, 16);
	context.fillStyle = cssColour('ground');
	context.textAlign = 'left';
	context.fillText(words, from + 5, CHART_TOP + 12);
}

/* What is not in one of the ranges steps back. */
function drawOutside(context, ranges) {
	const right = chart.width - CHART_RIGHT;
	context.beginPath();
	context.rect(CHART_LEFT, CHART_TOP, right - CHART_LEFT, chart.height - AXIS_HIGH - CHART_TOP);
	for (const range of ranges) {
		const from = Math.max(CHART_LEFT, xOf(range[0])), to = Math.min(right, xOf(range[1]));
		if (to > from)
			context.rect(from, CHART_TOP, to - from, chart.height);
	}
	context.save();
	context.clip('evenodd');
	context.fillStyle = cssColour('raised');
	context.globalAlpha = 0.55;
	context.fillRect(CHART_LEFT, CHART_TOP, right - CHART_LEFT, chart.height - AXIS_HIGH - CHART_TOP);
	context.restore();
}

function drawTop() {
	const context = sizeCanvas(chart.top, chart.width, chart.height), drawn = brushRange();
	const kept = drawn && !brush.isBefore ? [drawn] : [state.picked, drawn || state.before].filter(range => range !== null);
	if (kept.length)
		drawOutside(context, kept.length > 1 && kept[0][0] < kept[1][1] && kept[1][0] < kept[0][1] ?
			[[Math.min(kept[0][0], kept[1][0]), Math.max(kept[0][1], kept[1][1])]] : kept);
	if (state.before && !drawn)
		drawRange(context, state.before, 'muted', 'before');
	if (state.picked && !(drawn && !brush.isBefore))
		drawRange(context, state.picked, 'accent', state.before ? 'after' : 'picked');
	if (drawn)
		drawRange(context, drawn, brush.isBefore ? 'muted' : 'accent', spanWords(drawn[1] - drawn[0]));
	if (chart.cursor === null || chart.cursor < chart.range[0] || chart.cursor > chart.range[1])
		return;
	context.fillStyle = cssColour('ink');
	context.globalAlpha = 0.6;
	context.fillRect(Math.round(xOf(chart.cursor)), CHART_TOP, 1, chart.height - AXIS_HIGH - CHART_TOP);
	context.globalAlpha = 1;
}

function drawTopSoon() {
	if (chart.isTop)
		return;
	chart.isTop = true;
	requestAnimationFrame(function () {
		chart.isTop = false;
		drawTop();
	});
}
