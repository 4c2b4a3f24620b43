/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From sums over steps to what was busy when. The server counts a window of samples in the step in which it starts, so
 * steps must not be of about a window's length: some would have one, some two or none. They are
 *
 *	short   two for each window; a window's sum is spread over the steps until the next one starts
 *	long    at least four windows
 *
 * A step in which no window starts, and over which none was spread, has no data; that is not the same as zero.
 */
const POINTS_MAX = 1500; /* a day of minutes, and what is needed before it */
const WINDOW_USUAL_MS = 10e3;
const LONG_WINDOWS = 4;
const GAP_WINDOWS = 1.6; /* a window later than that is missing */
const PARTIAL_MIN = 0.25; /* the share of a step that must be there for its sum to say something */

/* What to ask for, so that @range is covered: { from, to, step, points }. */
function planSteps(range, windowMs) {
	const length = windowMs > 0 ? windowMs : WINDOW_USUAL_MS, span = range[1] - range[0];
	let step = length / 2;
	if (span / step > POINTS_MAX)
		step = length * Math.max(LONG_WINDOWS, Math.ceil(span / POINTS_MAX / length));
	step = Math.max(1, Math.round(step));
	/* The window that is under way at the beginning started before it. */
	const lead = step <= length ? length : 0, from = Math.floor((range[0] - lead) / step) * step, points = Math.max(1, Math.ceil((range[1] - from) / step));
	return { from: from, to: from + points * step, step: step, points: points };
}

/* Sum over all series of an answer, by step. */
function totalOf(answer, cnt) {
	const sum = new Float64Array(cnt);
	for (const one of answer.others ? answer.series.concat([{ values: answer.others }]) : answer.series)
		for (let i = 0; i < cnt; i++)
			sum[i] += one.values[i] || 0;
	return sum;
}

/* By step, how many the window that starts there is spread over; 0: none starts. */
function lengthsOf(starts, step, windowMs) {
	const cnt = starts.length, made = new Int32Array(cnt), usual = Math.max(1, Math.round(windowMs / step));
	const most = Math.max(usual, Math.ceil(GAP_WINDOWS * windowMs / step));
	for (let i = 0, next; i < cnt; i = next) {
		next = i + 1;
		if (!starts[i])
			continue;
		while (next < cnt && !starts[next])
			next++;
		made[i] = next < cnt && next - i <= most ? next - i : Math.min(usual, cnt - i);
	}
	return made;
}

function spreadOver(values, lengths) {
	const made = new Float64Array(values.length);
	for (let i = 0; i < values.length; i++)
		for (let k = 0; k < lengths[i]; k++)
			made[i + k] = (values[i] || 0) / lengths[i];
	return made;
}

/* The share of each step for which there is data, from what the range's first and last window say; 1: all. */
function sharesOf(plan, coverage) {
	const shares = new Float64Array(plan.points);
	for (let i = 0; i < plan.points && coverage.windows; i++) {
		const from = plan.from + i * plan.step;
		const part = (Math.min(from + plan.step, coverage.last) - Math.max(from, coverage.first)) / plan.step;
		shares[i] = Math.max(0, Math.min(1, part));
	}
	return shares;
}

/*
 * The series of an answer as rates: value for each millisecond of time, { name, rate, sum }, the same with what is no
 * series of its own ("others"). @all is the answer without filters, which says where windows start.
 */
function ratesOf(answer, plan, all, coverage, windowMs) {
	const starts = totalOf(all, plan.points), isShort = plan.step <= windowMs;
	const lengths = isShort ? lengthsOf(starts, plan.step, windowMs) : null, shares = sharesOf(plan, coverage);
	const list = answer.series.slice();
	if (answer.others)
		list.push({ name: null, values: answer.others });
	return list.map(function (one) {
		const values = Array.from({ length: plan.points }, (none, i) => Number(one.values[i]) || 0);
		const spread = isShort ? spreadOver(values, lengths) : Float64Array.from(values);
		for (let i = 0; i < plan.points; i++)
			spread[i] /= plan.step * (isShort || shares[i] < PARTIAL_MIN ? 1 : shares[i]);
		return { name: one.name, rate: spread, sum: values.reduce((sum, value) => sum + value, 0) };
	}).sort((one, two) => (one.name === null) - (two.name === null) || two.sum - one.sum);
}

/* By step: 1 where there is data. */
function presenceOf(plan, all, coverage, windowMs) {
	const made = new Uint8Array(plan.points), starts = totalOf(all, plan.points);
	const shares = sharesOf(plan, coverage), isShort = plan.step <= windowMs;
	const lengths = isShort ? lengthsOf(starts, plan.step, windowMs) : null;
	for (let i = 0; i < plan.points; i++) {
		if (isShort)
			made.fill(1, i, i + lengths[i]);
		else
			made[i] = starts[i] > 0 && shares[i] >= PARTIAL_MIN ? 1 : 0;
	}
	return made;
}

/* Runs of steps without data as [first, end), steps. */
function gapsOf(presence) {
	const made = [];
	for (let i = 0, next; i < presence.length; i = next) {
		next = i + 1;
		while (next < presence.length && presence[next] === presence[i])
			next++;
		if (!presence[i])
			made.push([i, next]);
	}
	return made;
}

/* ---- what a rate is called ---- */

/* Nanoseconds in each nanosecond are cores, or threads that wait; all else is by the second. */
function rateWords(kind, unit) {
	if (unit === 'nanoseconds')
		return kind === 'cpu' || kind === 'on-cpu' || !kind ? 'cores busy' : 'threads';
	return (unit === 'bytes' ? 'bytes' : unit && unit !== 'count' ? unit : kind || 'events') + ' per second';
}

/* In the unit of the axis. */
function rateValue(rate, unit) {
	return unit === 'nanoseconds' ? rate / 1e6 : rate * 1e3;
}

function rateText(value, unit) {
	if (unit === 'bytes')
		return scaled(value, SIZES) + '/s';
	if (value === 0 || Math.abs(value) >= 100)
		return grouped(value);
	return String(Number(value.toPrecision(value < 1 ? 2 : 3)));
}

/* At most @cnt even steps up to @most: the step. */
function niceStep(most, cnt) {
	const raw = most / cnt, power = Math.pow(10, Math.floor(Math.log10(raw)));
	for (const factor of [1, 2, 2.5, 5, 10])
		if (power * factor >= raw * 0.9999)
			return power * factor;
	return power * 10;
}

const TIME_STEPS = [1e3, 2e3, 5e3, 10e3, 15e3, 30e3, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS,
	HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 30 * DAY_MS];

function timeStep(span, cnt) {
	return TIME_STEPS.find(step => span / step <= cnt) || 90 * DAY_MS;
}
