/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the page, all of which is in the address' fragment, so that a link shows the same and the browser's back
 * button is a step back:
 *
 *	k=KIND          of profile                    r=SECONDS  how long the shown range is
 *	e=SECONDS       its end, unix time; without it the range ends now and follows
 *	g=KEY           the label that makes series   s=KEY=VALUE  filters, any number
 *	f=NAME          the function whose cost is drawn over it
 *	p=FROM-TO       the picked range, unix time   b=FROM-TO    what it is compared with
 *	y=each          a chart for each series       m=light|dark instead of the system's choice
 *
 * Times are milliseconds inside, seconds in the address and towards the API.
 */
const MINUTE_MS = 60e3, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS;
const SPANS = [['15 m', 15 * MINUTE_MS], ['1 h', HOUR_MS], ['6 h', 6 * HOUR_MS], ['1 d', DAY_MS], ['7 d', 7 * DAY_MS]];
const SPAN_MIN_MS = 1e3, SPAN_MAX_MS = 366 * DAY_MS;

const defaults = {
	kind: '', span: HOUR_MS, end: null, by: 'service', select: [], name: '', picked: null, before: null, isEach: false, theme: '',
};
let state = Object.assign({}, defaults);

function seconds_(ms) {
	return String(Math.round(ms) / 1e3);
}

function rangeText(range) {
	return range.map(seconds_).join('-');
}

function parseRange(text) {
	const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text || '');
	const made = match ? [Number(match[1]) * 1e3, Number(match[2]) * 1e3] : null;
	return made && made[0] < made[1] && made[1] < 9e15 ? made : null;
}

function makeHash() {
	const fields = new URLSearchParams();
	const put = (key, value, isSet) => isSet && fields.set(key, value);
	put('k', state.kind, state.kind);
	put('r', seconds_(state.span), state.span !== defaults.span);
	put('e', seconds_(state.end || 0), state.end !== null);
	put('g', state.by, state.by !== defaults.by);
	for (const one of state.select)
		fields.append('s', one.key + '=' + one.value);
	put('f', state.name, state.name);
	put('p', state.picked && rangeText(state.picked), state.picked);
	put('b', state.before && rangeText(state.before), state.before);
	put('y', 'each', state.isEach);
	put('m', state.theme, state.theme);
	return fields.toString();
}

function parseSelect(text) {
	const at = text.indexOf('=');
	return at > 0 ? { key: text.slice(0, at), value: text.slice(at + 1) } : null;
}

function parseHash(hash) {
	const fields = new URLSearchParams(hash), span = Number(fields.get('r')) * 1e3, end = Number(fields.get('e')) * 1e3;
	const picked = parseRange(fields.get('p'));
	return {
		kind: fields.get('k') || '', span: span >= SPAN_MIN_MS && span <= SPAN_MAX_MS ? span : defaults.span,
		end: end > 0 && end < 9e15 ? end : null, by: fields.get('g') || defaults.by,
		select: fields.getAll('s').map(parseSelect).filter(one => one !== null), name: fields.get('f') || '',
		picked: picked, before: picked && parseRange(fields.get('b')), isEach: fields.get('y') === 'each',
		theme: ['light', 'dark'].includes(fields.get('m')) ? fields.get('m') : '',
	};
}

let hashTimer = 0;

/* @isStep: a new entry in the browser's history. Browsers limit how often a page may rewrite its address. */
function writeHash(isStep) {
	clearTimeout(hashTimer);
	if (isStep)
		putHash(true);
	else
		hashTimer = setTimeout(() => putHash(false), 200);
}

function putHash(isStep) {
	const hash = '#' + makeHash();
	if (hash === (location.hash || '#'))
		return;
	if (isStep)
		history.pushState(null, '', hash);
	else
		history.replaceState(null, '', hash);
}

/* Change the state and show it. */
function change(fields, isStep) {
	const old = state;
	state = Object.assign({}, state, fields);
	if (!state.picked)
		state.before = null;
	show(old);
	writeHash(isStep !== false);
}

function readHash() {
	if (makeHash() === location.hash.slice(1))
		return;
	const old = state;
	state = Object.assign({}, defaults, parseHash(location.hash.slice(1)));
	show(old);
}

/* ---- the range that is shown ---- */

function shownRange() {
	const end = state.end === null ? Date.now() : state.end;
	return [end - state.span, end];
}

/* A span around the moment @at, which stays where it is. A range that follows goes on doing so. */
function zoomBy(factor, at) {
	const range = shownRange(), span = Math.min(SPAN_MAX_MS, Math.max(SPAN_MIN_MS, state.span * factor));
	if (state.end === null) {
		change({ span: span }, false);
		return;
	}
	const share = (at - range[0]) / state.span;
	change({ span: span, end: at + span * (1 - share) }, false);
}

/* Later than now is nothing: there the range follows. */
function panBy(ms) {
	const end = shownRange()[1] + ms;
	change({ end: end >= Date.now() ? null : end }, false);
}

function goTo(range) {
	const span = Math.min(SPAN_MAX_MS, Math.max(SPAN_MIN_MS, range[1] - range[0]));
	change({ span: span, end: (range[0] + range[1]) / 2 + span / 2 });
}

/* ---- filters ---- */

function hasFilter(key, value) {
	return state.select.some(one => one.key === key && one.value === value);
}

function toggleFilter(key, value) {
	if (hasFilter(key, value))
		change({ select: state.select.filter(one => one.key !== key || one.value !== value) });
	else
		change({ select: state.select.concat([{ key: key, value: value }]) });
}

function removeFilter(at) {
	change({ select: state.select.filter((one, i) => i !== at) });
}

/* ---- words for moments, UTC as in the report ---- */

function clockText(ms, hasSeconds) {
	return new Date(ms).toISOString().slice(11, hasSeconds ? 19 : 16);
}

function dayText(ms) {
	return new Date(ms).toISOString().slice(0, 10);
}

/* '2026-11-24 10:00:00 – 10:15:00' */
function rangeWords(range) {
	const isOneDay = dayText(range[0]) === dayText(range[1]);
	return dayText(range[0]) + ' ' + clockText(range[0], true) + ' \u2013 ' + (isOneDay ? '' : dayText(range[1]) + ' ') + clockText(range[1], true);
}

/* '2 min 50 s': the two largest units. */
function spanWords(ms) {
	const units = [['d', DAY_MS], ['h', HOUR_MS], ['min', MINUTE_MS], ['s', 1e3]], made = [];
	let rest = Math.round(ms / 1e3) * 1e3;
	for (const [word, size] of units) {
		const cnt = Math.floor(rest / size);
		if (cnt && made.length < 2)
			made.push(cnt + ' ' + word);
		rest -= cnt * size;
	}
	return made.join(' ') || (ms / 1e3).toFixed(1) + ' s';
}
