/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 4: when samples were, where the profile says so (the label "time", profile/timeline.h): the cells of the timeline,
 * and the range of time that a transform leaves. A heat map has a column per second, or per as many as are needed for
 * all to fit, and in it the buckets from the bottom up; lanes have a row for each thread, CPU or process.
 */
const HEAT_ROWS = 50;
const HEAT_SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600]; /* s */
const LANES_MAX = 100; /* what has less than these is one lane */
const BUCKET_NS = 2e7; /* where all times are 0 */
const LANE_WORDS = { thread: ['Threads', 'tid'], cpu: ['CPUs', 'cpu'], process: ['Processes', 'pid'] };

function commonDivisor(one, two) {
	while (two)
		[one, two] = [two, one % two];
	return one;
}

/* { at: by label set the time in ns, -1 none; bucketNs, endNs }, or null when nobody kept it. */
function readTimes(profile) {
	const key = profile.strings.indexOf('time'), unit = profile.strings.indexOf('nanoseconds');
	const at = new Float64Array(profile.labelSets.length).fill(-1);
	let bucket = 0, last = -1;
	if (key < 0 || unit < 0)
		return null;
	profile.labelSets.forEach(function (set, i) {
		const label = set.find(one => one.key === key && !one.isString && one.unit === unit && one.value >= 0);
		if (!label)
			return;
		at[i] = label.value;
		bucket = commonDivisor(bucket, label.value);
		last = Math.max(last, label.value);
	});
	if (last < 0)
		return null;
	bucket = bucket || BUCKET_NS;
	return { at: at, bucketNs: bucket, endNs: last + bucket };
}

/* ---- ranges: steps whose name is "FROM-TO" in milliseconds ---- */

function rangeName(fromNs, toNs) {
	return fromNs / 1e6 + '-' + toNs / 1e6;
}

/* [from, to) in ns, or null. */
function parseRange(text) {
	const match = /^(\d{1,16}(?:\.\d{1,6})?)-(\d{1,16}(?:\.\d{1,6})?)$/.exec(text);
	const from = match ? Number(match[1]) * 1e6 : 0, to = match ? Number(match[2]) * 1e6 : 0;
	return from < to ? [from, to] : null;
}

/* What all ranges among @steps leave; null: there is none. */
function rangeOf(steps) {
	const ranges = steps.filter(step => step.type === 'T').map(step => parseRange(step.name));
	return ranges.length ? [Math.max(...ranges.map(range => range[0])), Math.min(...ranges.map(range => range[1]))] : null;
}

/* Without times, nothing is in a range. */
function isInRange(profile, set, range) {
	return profile.times !== null && profile.times.at[set] >= range[0] && profile.times.at[set] < range[1];
}

function seconds(ns) {
	return String(Number((ns / 1e9).toFixed(6))) + ' s';
}

function rangeText(range) {
	return 'from ' + seconds(range[0]) + ' to ' + seconds(range[1]);
}

/* ---- lanes ---- */

function labelOfSet(profile, set, key) {
	return profile.labelSets[set].find(one => profile.strings[one.key] === key);
}

function labelText(profile, set, key) {
	const label = labelOfSet(profile, set, key);
	return label ? label.isString ? profile.strings[label.value] : String(label.value) : '';
}

function hasLanes(profile, mode) {
	return profile.times !== null && profile.labelSets.some((set, i) => profile.times.at[i] >= 0 && labelOfSet(profile, i, LANE_WORDS[mode][1]));
}

function laneName(profile, set, mode) {
	const number = labelText(profile, set, LANE_WORDS[mode][1]);
	if (!number)
		return 'no ' + LANE_WORDS[mode][1];
	if (mode === 'cpu')
		return 'CPU ' + number;
	return (mode === 'process' && labelText(profile, set, 'process') || labelText(profile, set, 'comm') || '[no name]') + ' ' + number;
}

/* By label set its lane: those of one number are one, whatever their names. */
function laneSets(profile, mode) {
	const known = new Map(), names = [], of = new Int32Array(profile.labelSets.length);
	for (let i = 0; i < of.length; i++) {
		const number = labelText(profile, i, LANE_WORDS[mode][1]);
		if (!known.has(number)) {
			known.set(number, names.length);
			names.push(laneName(profile, i, mode));
		}
		of[i] = known.get(number);
	}
	return { of: of, names: names };
}

/* ---- cells ---- */

/* Calls @take(time, value, label set) for all samples that have a time and a value. */
function eachTime(profile, which, take) {
	const samples = profile.samples, values = samples.values[which] || [], at = profile.times.at;
	for (let i = 0; i < values.length; i++)
		if (values[i] > 0 && at[samples.labels[i]] >= 0)
			take(at[samples.labels[i]], values[i], samples.labels[i]);
}

/* The last column also has what rounds to behind it: times may be larger than numbers are exact. */
function columnOf(grid, time) {
	return Math.min(Math.floor(time / grid.colNs), grid.cols - 1);
}

/* A grid: { cols, rows, colNs, rowNs, value: by row and column, lanes: names by row, or null }. */
function heatGrid(profile, which, room) {
	const times = profile.times;
	let span = HEAT_SPANS.find(one => times.endNs / (one * 1e9) <= room) || HEAT_SPANS[HEAT_SPANS.length - 1];
	while (times.endNs / (span * 1e9) > room)
		span *= 2;
	const colNs = span * 1e9, cols = Math.max(1, Math.ceil(times.endNs / colNs));
	const rowNs = Math.min(colNs, times.bucketNs * Math.max(1, Math.ceil(colNs / times.bucketNs / HEAT_ROWS)));
	const rows = Math.ceil(colNs / rowNs), made = { cols: cols, rows: rows, colNs: colNs, rowNs: rowNs, value: new Float64Array(cols * rows), lanes: null };
	eachTime(profile, which, function (time, value) {
		made.value[Math.min(Math.floor(time % colNs / rowNs), rows - 1) * cols + columnOf(made, time)] += value;
	});
	return made;
}

function laneGrid(profile, which, mode, room) {
	const times = profile.times, sets = laneSets(profile, mode), total = new Float64Array(sets.names.length);
	const colNs = times.bucketNs * Math.max(1, Math.ceil(times.endNs / times.bucketNs / room)), cols = Math.max(1, Math.ceil(times.endNs / colNs));
	eachTime(profile, which, (time, value, set) => { total[sets.of[set]] += value; });
	const order = Array.from(total.keys()).filter(lane => total[lane] > 0);
	order.sort((one, two) => total[two] - total[one] || one - two);
	const shown = order.slice(0, order.length > LANES_MAX ? LANES_MAX - 1 : LANES_MAX), rest = order.length - shown.length;
	if (mode === 'cpu')
		shown.sort((one, two) => sets.names[one].localeCompare(sets.names[two], 'en', { numeric: true }));
	const rowOf = new Int32Array(total.length).fill(shown.length), lanes = shown.map(lane => sets.names[lane]);
	shown.forEach((lane, row) => { rowOf[lane] = row; });
	if (rest)
		lanes.push(grouped(rest) + ' others');
	const made = { cols: cols, rows: lanes.length, colNs: colNs, rowNs: 0, value: new Float64Array(cols * lanes.length), lanes: lanes };
	eachTime(profile, which, function (time, value, set) {
		made.value[rowOf[sets.of[set]] * cols + columnOf(made, time)] += value;
	});
	return made;
}

/* The times of a cell, [from, to). */
function cellRange(grid, col, row) {
	const from = col * grid.colNs + row * grid.rowNs;
	return [from, grid.lanes ? from + grid.colNs : Math.min(from + grid.rowNs, (col + 1) * grid.colNs)];
}

/*
 * The least value of each of @cnt shades: equal steps, or, where a few cells have most, equal ratios; of what is counted,
 * whole ones, so that several may be the same. The first shade is of what is less than the second's.
 */
function shadeSteps(values, cnt, isWhole) {
	const some = values.filter(value => value > 0).sort(), most = some.length ? some[some.length - 1] : 0;
	const middle = some.length ? some[some.length >> 1] : 0, least = Math.max(some.length ? some[0] : 0, most / 1e6);
	const isEven = most <= 8 * middle, made = [];
	for (let i = 0; i < cnt; i++)
		made.push(!i ? 0 : isEven ? most * i / cnt : least * Math.pow(most / least, i / cnt));
	return isWhole ? made.map(Math.ceil) : made;
}
