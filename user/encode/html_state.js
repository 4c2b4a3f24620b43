/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 7: the state of the page, all of which is in the address' fragment, so that a link shows the same and the
 * browser's back button is a step back:
 *
 *	v=flame|callers|sandwich|top|tree|time|hist  w=VALUE   value's type, when it is not the first one shown
 *	i=1 root at the bottom   a=1 by name         z=N.N.N  zoomed to: numbers of frames, from the root
 *	s=EXPRESSION  c=1 ignore case  n=1 invert    p=FRAME  function of the panel and of the sandwich
 *	w=WIDTH       in a difference, o=COLUMN its table's
 *	t=STEP...     transforms, first to last      q=TEXT  o=COLUMN  the top table's filter and order
 *	x=NODE.NODE   what the call tree has open besides its hottest path, or, first -, closed
 *	l=heat|thread|cpu|process  rows of the timeline
 *	m=light|dark  instead of the system's choice
 *
 * FRAME is KIND.NAME, with a "w" before the kind for a waker's; STEP is a letter and what it is about. They go by name,
 * so that a link fits the next recording, too.
 */
const VIEWS = ['flame', 'callers', 'sandwich', 'top', 'tree', 'time', 'hist'];
const TOP_ORDERS = (difference ? DIFF_ORDERS : ['self', 'total', 'name']).flatMap(order => [order, '-' + order]);
const OPEN_MAX = 400; /* nodes that the address remembers */

const defaults = {
	view: 'flame', value: 0, isFlame: false, isByName: false, zoom: [], search: '', ignoreCase: false, invert: false,
	picked: null, steps: [], filter: '', order: difference ? 'change' : 'self', open: [], lanes: '', theme: '',
};
let state = Object.assign({}, defaults);
let undone = []; /* steps that were taken back, for redo */

function frameText(frame) {
	return frame ? (frame.isWaker ? 'w' : '') + frame.kind + '.' + frame.name : '';
}

function parseFrame(text) {
	const match = /^(w?)(\d)\.([^]*)$/.exec(text || '');
	return match ? { isWaker: match[1] === 'w', kind: Number(match[2]), name: match[3] } : null;
}

/* A frame as the state names it. */
function frameRef(frame) {
	const frames = profile.frames;
	return { isWaker: frames.isWaker[frame], kind: frames.kind[frame], name: frames.name[frame] };
}

function frameOf(ref) {
	return ref ? findFrame(ref.name, ref.kind, ref.isWaker) : -1;
}

function stepToText(step) {
	if (GLOBAL_STEPS.includes(step.type))
		return step.type;
	return step.type + ('lT'.includes(step.type) ? step.name : frameText(step));
}

function parseStep(text) {
	const type = text[0];
	if (!Object.prototype.hasOwnProperty.call(STEP_WORDS, type))
		return null;
	if (GLOBAL_STEPS.includes(type))
		return { type: type, name: '', kind: 0, isWaker: false };
	if (type === 'T' && !parseRange(text.slice(1)))
		return null;
	if ('lT'.includes(type))
		return { type: type, name: text.slice(1), kind: 0, isWaker: false };
	const frame = parseFrame(text.slice(1));
	return frame && Object.assign({ type: type }, frame);
}

function makeHash() {
	const fields = new URLSearchParams();
	const put = function (key, value, isSet) {
		if (isSet)
			fields.set(key, value);
	};
	put('v', state.view, state.view !== defaults.view);
	put('w', state.value, state.value !== defaults.value);
	put('i', '1', state.isFlame);
	put('a', '1', state.isByName);
	for (const step of state.steps)
		fields.append('t', stepToText(step));
	put('z', state.zoom.join('.'), state.zoom.length);
	put('s', state.search, state.search);
	put('c', '1', state.ignoreCase);
	put('n', '1', state.invert);
	put('p', frameText(state.picked), state.picked);
	put('q', state.filter, state.filter);
	put('o', state.order, state.order !== defaults.order);
	put('x', state.open.slice(-OPEN_MAX).join('.'), state.open.length);
	put('l', state.lanes, state.lanes);
	put('m', state.theme, state.theme);
	return fields.toString();
}

/* Timelines and histograms are there where something was kept for them. */
function hasView(view) {
	return view === 'time' ? hasTimes() : view === 'hist' ? hasHistograms() : true;
}

function oneOf(text, list, otherwise) {
	return list.includes(text) ? text : otherwise;
}

function parseNumbers(text) {
	return text ? text.split('.').map(Number).filter(Number.isInteger) : [];
}

function parseHash(hash) {
	const fields = new URLSearchParams(hash);
	const value = Number(fields.get('w'));
	return {
		view: oneOf(fields.get('v'), VIEWS.filter(hasView), defaults.view),
		value: fields.has('w') && Number.isInteger(value) && value >= 0 && value < profile.values.length ? value : defaults.value,
		isFlame: fields.get('i') === '1', isByName: fields.get('a') === '1',
		steps: fields.getAll('t').map(parseStep).filter(step => step !== null),
		zoom: parseNumbers(fields.get('z')).filter(frame => frame >= 0 && frame < profile.frames.name.length),
		search: fields.get('s') || '', ignoreCase: fields.get('c') === '1', invert: fields.get('n') === '1',
		picked: parseFrame(fields.get('p')),
		filter: fields.get('q') || '', order: oneOf(fields.get('o'), TOP_ORDERS, defaults.order),
		open: parseNumbers(fields.get('x')).slice(-OPEN_MAX), lanes: oneOf(fields.get('l'), ['heat', ...Object.keys(LANE_WORDS)], ''),
		theme: oneOf(fields.get('m'), ['light', 'dark'], ''),
	};
}

let hashTimer = 0;

/* @isStep: a new entry in the browser's history. Browsers limit how often a page may rewrite its address. */
function writeHash(isStep) {
	clearTimeout(hashTimer);
	if (!isStep) {
		hashTimer = setTimeout(() => putHash(false), 200);
		return;
	}
	putHash(true);
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

/* Change the state and show it. The zoom follows, as far as there is a way like it where the tree changes. */
function change(fields, isStep) {
	const isOther = ['value', 'steps', 'view'].some(key => key in fields && fields[key] !== state[key]);
	state = Object.assign({}, state, fields);
	if (fields.picked === null)
		flame.cursor = null;
	if (isOther && !('open' in fields))
		state.open = [];
	render();
	writeHash(isStep !== false);
}

function readHash() {
	if (makeHash() === location.hash.slice(1))
		return;
	state = Object.assign({}, defaults, parseHash(location.hash.slice(1)));
	render();
}

/* ---- steps ---- */

function addStep(type, ref) {
	const step = Object.assign({ type: type, name: '', kind: 0, isWaker: false }, ref);
	if (state.steps.some(known => stepKey(known) === stepKey(step))) {
		say('That is there already: ' + stepText(step));
		return;
	}
	undone = [];
	change({ steps: state.steps.concat([step]) });
	say(stepText(step));
}

function removeStep(at) {
	undone = [];
	change({ steps: state.steps.filter((step, i) => i !== at) });
}

/* Steps of the whole profile are switches. */
function toggleStep(type) {
	const at = state.steps.findIndex(step => step.type === type);
	if (at >= 0)
		removeStep(at);
	else
		addStep(type, {});
}

function undoStep() {
	if (!state.steps.length) {
		say('Nothing to undo');
		return;
	}
	undone.push(state.steps[state.steps.length - 1]);
	change({ steps: state.steps.slice(0, -1) });
}

function redoStep() {
	if (undone.length)
		change({ steps: state.steps.concat([undone.pop()]) });
}
