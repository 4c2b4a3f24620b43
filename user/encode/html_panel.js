/* SPDX-License-Identifier: Apache-2.0 */
/* Part 11: what is said about a frame, beside the pointer and in the panel, and what is hot when none is picked. */
const LINES_SHOWN = 12;
const HOT_SHOWN = 8;

/* Why a frame that is no code is there; '' where its name says it all. */
function reasonOf(name) {
	const cut = /^\[truncated: (.*)\]$/.exec(name);
	if (cut)
		return Object.prototype.hasOwnProperty.call(facts.outcomes, cut[1]) ?
			'The stack is not whole from here to its root: ' + facts.outcomes[cut[1]] + '.' : 'The stack is not whole from here to its root.';
	if (/ frames elided\]$/.test(name))
		return 'The stack is deeper than what is kept: its two ends are here.';
	if (name.startsWith('[running:'))
		return 'Time on the CPU that no sample saw.';
	return '';
}

/* What a node is, in a few lines of text: the first its name. */
function describe(part, node, narrow) {
	const tree = part.tree, value = currentValue(state), frame = tree.frame[node], lines = [labelOf(tree, node)];
	const allN = hasCounts(state) ? tree.totalN[0] : null;
	const shareOf = (sum, n) => formatIn(value, sum) + ', ' + share(sum, tree.total[0], allN === null ? null : n, allN);

	if (difference)
		lines.push(...describeChange(tree, node));
	else
		lines.push(shareOf(tree.total[node], tree.totalN[node]));
	if (!difference && tree.self[node] > 0 && tree.self[node] < tree.total[node])
		lines.push('itself ' + formatIn(value, tree.self[node]) + ', ' + percent(tree.self[node], tree.total[0]));
	if (part.zoom > 0 && node > part.zoom)
		lines.push(percent(tree.total[node], tree.total[part.zoom]) + ' of what is zoomed to');
	if (frame >= 0) {
		const kind = facts.kinds[profile.frames.kind[frame]] + (tree.isInlined[node] ? ', inlined' : '') +
			(profile.frames.isWaker[frame] ? ', of the waker' : '');
		lines.push([kind, placeOf(frame)].filter(Boolean).join(' \u00b7 '));
		lines.push(reasonOf(profile.frames.name[frame]));
	}
	lines.push(statesText(tree, node));
	if (isNoise(state, tree.totalN[node]))
		lines.push('Fewer than ' + NOISE_BELOW + ' samples: noise');
	if (narrow > 1)
		lines.push('The widest of ' + grouped(narrow) + ' frames too narrow to draw: click to zoom in');
	if (tree.cut && tree.cut.has(tree.draftNode[node]))
		lines.push('Its callers are opened when it is zoomed to');
	return lines.filter(Boolean);
}

/* In what state the time was. */
function statesText(tree, node) {
	const states = difference ? null : stateSums(tree), total = tree.total[node], frame = tree.frame[node];
	if (!states || (frame >= 0 && profile.frames.kind[frame] > SYNTHETIC))
		return '';
	const blocked = states.blocked[node], runnable = states.runnable[node];
	return [[total - blocked - runnable, 'on CPU'], [runnable, 'runnable'], [blocked, 'blocked']]
		.filter(entry => entry[0] > 0).map(entry => percent(entry[0], total) + ' ' + entry[1]).join(', ');
}

/* 'parse.c:20 libwork.so' */
function placeOf(frame) {
	const fn = profile.frames.fn[frame], file = fn < 0 ? '' : profile.strings[profile.functions.file[fn]];
	const line = fn < 0 ? 0 : profile.functions.line[fn];
	return [file && baseName(file) + (line ? ':' + line : ''), libraryOf(profile, frame)].filter(Boolean).join(' \u00b7 ');
}

/* ---- the tooltip ---- */

const tip = el('div', 'tip');

function showTip(at, x, y) {
	if (!at) {
		tip.hidden = true;
		return;
	}
	const lines = describe(at.part, at.node, at.narrow);
	replaceChildren(tip, el('strong', '', fit(lines[0], 300)), ...lines.slice(1).map(line => el('div', '', line)));
	tip.hidden = false;
	const wide = tip.offsetWidth, high = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - wide - 6)) + 'px';
	tip.style.top = (y + 20 + high > window.innerHeight ? Math.max(4, y - high - 12) : y + 20) + 'px';
}

/* ---- the panel ---- */

/* The mappings that hold a function, as they are found at its locations. */
function mappingsOf(frame) {
	const found = new Set(), first = profile.firstFrame;
	for (let i = 0; i < profile.locations.cnt; i++)
		for (let at = first[i]; at < first[i + 1]; at++)
			if (profile.locationFrames[at] === frame && profile.locations.mapping[i])
				found.add(profile.locations.mapping[i] - 1);
	return Array.from(found);
}

/* By source line of a function, what it has itself and with what it calls, in the whole profile. */
function lineSums(frame) {
	return keep('lines ' + frame + ' ' + state.value, function () {
		const own = trieSums(profile, state.value, rangeOf(state.steps)), trie = profile.trie, locations = profile.locations, lines = new Map();
		const total = Float64Array.from(own.self), isWithin = new Uint8Array(trie.cnt);
		for (let i = trie.cnt - 1; i >= 0; i--)
			if (trie.parent[i] >= 0)
				total[trie.parent[i]] += total[i];
		for (let i = 0; i < trie.cnt; i++) {
			const above = trie.parent[i];
			if (above < 0)
				continue;
			const location = trie.ref[i], first = profile.firstFrame[location], end = profile.firstFrame[location + 1];
			let isIn = isWithin[above];
			for (let at = first; at < end; at++) {
				if (profile.locationFrames[at] !== frame)
					continue;
				const line = locations.lineCnt[location] ? locations.firstLine[location] + end - 1 - at : -1;
				const number = line < 0 ? 0 : locations.lineNumber[line];
				if (!lines.has(number))
					lines.set(number, { number: number, self: 0, total: 0 });
				lines.get(number).total += isIn ? 0 : total[i];
				lines.get(number).self += at === end - 1 ? own.self[i] : 0;
				isIn = 1;
			}
			isWithin[i] = isIn;
		}
		return Array.from(lines.values()).sort((one, two) => two.total - one.total);
	});
}

function field(list, name, ...value) {
	list.append(el('dt', '', name), el('dd', '', ...value));
}

/* All of the trie is looked through for it: after the frame that was asked for is on the screen. */
function linesLater(frame, all) {
	const place = el('div', '');
	setTimeout(function () {
		const table = place.isConnected ? linesTable(frame, all) : null;
		if (table)
			place.append(table);
	}, 30);
	return place;
}

function linesTable(frame, all) {
	const lines = lineSums(frame).filter(line => line.number > 0), value = currentValue(state);
	if (!lines.length)
		return null;
	const source = sourceTable(frame, lines, all);
	if (source)
		return source;
	const rows = lines.slice(0, LINES_SHOWN).map(line => el('tr', '', el('td', 'num', String(line.number)), el('td', 'num', formatIn(value, line.self)),
		el('td', 'num', formatIn(value, line.total)), el('td', 'num', percent(line.total, all))));
	const more = lines.length > LINES_SHOWN ? el('p', 'muted', 'and ' + grouped(lines.length - LINES_SHOWN) + ' more lines') : null;
	return el('section', '', el('h3', '', 'By line'), el('table', 'lines', el('thead', '', el('tr', '', ...['Line', 'Self', 'Total', '%'].map(text => el('th', '', text)))),
		el('tbody', '', ...rows)), ...(more ? [more] : []));
}

function panelActions(frame) {
	const ref = frameRef(frame), library = libraryOf(profile, frame), made = el('div', 'actions');
	const add = (type, text, title) => made.append(button(text, title, () => addStep(type, ref)));
	made.append(button('Sandwich', 'Callers above, callees below (s)', () => change({ view: 'sandwich' })));
	add('f', 'Focus', 'Only stacks through it (f)');
	add('d', 'Drop', 'No stacks through it (x)');
	add('h', 'Hide', 'Without this frame; what it calls moves to its caller (h)');
	add('m', 'Merge', 'It and all that it calls count as its caller\'s own (m)');
	add('r', 'Fold recursion', 'Calls of it within itself go back to the outer one (r)');
	if (library)
		made.append(button('Fold ' + fit(library, 18), 'Frames of this library that follow each other become one (l)', () => addStep('l', { name: library })));
	made.append(button('Copy name', 'y', () => copyText(ref.name)), button('Copy stack', 'Y', copyStack));
	return made;
}

/* How much there is of a function, here and in all. */
function amountFacts(list, frame) {
	const sums = functionSums(state), value = currentValue(state), at = isGraph() ? flame.cursor : null;
	const line = (sum, n) => formatIn(value, sum) + ' \u00b7 ' + share(sum, sums.all, sums.allN === null ? null : n, sums.allN);
	if (at && at.part.tree.frame[at.node] === frame && at.part.tree.total[at.node] < sums.total[frame])
		field(list, 'Here', line(at.part.tree.total[at.node], at.part.tree.totalN[at.node]));
	field(list, 'Total', line(sums.total[frame], sums.totalN[frame]));
	field(list, 'Self', line(sums.self[frame], sums.n[frame]));
	if (sums.total[frame] > 0 && isNoise(state, sums.totalN[frame]))
		field(list, '', el('em', '', 'Fewer than ' + NOISE_BELOW + ' samples: noise'));
}

function panelFacts(frame) {
	const list = el('dl', ''), fn = profile.frames.fn[frame], strings = profile.strings;
	if (difference)
		diffFacts(list, frame);
	else
		amountFacts(list, frame);
	field(list, 'Kind', facts.kinds[profile.frames.kind[frame]] + (profile.frames.isWaker[frame] ? ', of the waker' : ''));
	if (fn >= 0 && profile.functions.file[fn])
		field(list, 'Source', strings[profile.functions.file[fn]] + (profile.functions.line[fn] ? ':' + profile.functions.line[fn] : ''));
	if (fn >= 0 && profile.functions.systemName[fn] && profile.functions.systemName[fn] !== profile.functions.name[fn])
		field(list, 'Symbol', strings[profile.functions.systemName[fn]]);
	for (const mapping of mappingsOf(frame).slice(0, 4)) {
		field(list, 'Module', strings[profile.mappings.path[mapping]]);
		if (profile.mappings.buildId[mapping])
			field(list, 'Build-id', el('code', '', strings[profile.mappings.buildId[mapping]]));
	}
	return list;
}

function framePanel(frame) {
	const name = profile.frames.name[frame], reason = reasonOf(name), sums = functionSums(state);
	return [el('div', 'panel-head', swatch(frame), el('h2', '', name), button('\u00d7', 'Close (Escape)', () => change({ picked: null }))),
		reason ? el('p', 'reason', reason) : null, panelFacts(frame), panelActions(frame), linesLater(frame, sums.all)];
}

/* A function with its share, to be picked. */
function hotItem(frame, part, whole) {
	const item = button('', profile.frames.name[frame], () => pick(frame)), bar = el('span', 'bar');
	bar.style.width = 100 * part / whole + '%';
	item.className = 'hot';
	item.append(bar, swatch(frame), el('span', 'text', profile.frames.name[frame]), el('span', 'num', shortPercent(part, whole)));
	return el('li', '', item);
}

/* The hottest path where it loses weight: runs of frames that pass on nearly all they have are told by their number. */
function pathItems(tree) {
	const path = hottestPath(tree), items = [];
	let left = 0;
	path.forEach(function (node, i) {
		const next = path[i + 1];
		if (i > 0 && next !== undefined && tree.total[next] > 0.98 * tree.total[node]) {
			left++;
			return;
		}
		if (left)
			items.push(el('li', 'left-out', '\u22ee ' + grouped(left) + (left === 1 ? ' frame' : ' frames')));
		left = 0;
		items.push(hotItem(tree.frame[node], tree.total[node], tree.total[0]));
	});
	return items;
}

/* Nothing is picked: where the time is; of a difference what changed. */
function hotPanel() {
	if (difference)
		return changePanel();
	const sums = functionSums(state), tree = mainTree(state), kinds = profile.frames.kind;
	const hot = [];
	for (let i = 0; i < sums.self.length; i++)
		if (sums.self[i] > 0 && kinds[i] !== PROCESS)
			hot.push(i);
	hot.sort((one, two) => sums.self[two] - sums.self[one]);
	if (!hot.length)
		return [el('p', 'muted', 'Nothing is left to show.')];
	return [el('h3', '', 'Most by themselves'), el('ol', 'hots', ...hot.slice(0, HOT_SHOWN).map(frame => hotItem(frame, sums.self[frame], sums.all))),
		el('h3', '', 'Hottest path'), el('ol', 'hots', ...pathItems(tree))];
}

function renderPanel() {
	const frame = frameOf(state.picked), panel = ui.panel, at = isGraph() && flame.cursor;
	const key = [frame, at ? at.node : -1, state.view, draftKey(state)].join('\n');
	if (key === renderPanel.shown)
		return;
	renderPanel.shown = key;
	const isThere = frame >= 0 && (functionSums(state).total[frame] > 0 || profile.frames.kind[frame] === PROCESS);
	const parts = frame < 0 ? hotPanel() : isThere ? framePanel(frame) :
		[el('p', 'muted', profile.frames.name[frame] + ' has nothing in what is shown now.'), ...hotPanel()];
	replaceChildren(panel, ...parts);
	panel.scrollTop = 0;
}
