/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a page that shows a difference (diff, compare): what became of each function, and how surely. Its profile has the
 * values "before" and "after"; what is shown as values here are the four widths that frames can have. A tree's n and m
 * are then what its nodes have before and after, whatever makes them wide. facts.difference is a text, JSON:
 *
 *	{ "report": what `-o x.json` writes, "locations": [by function of the report, its location], "width": 0 }
 */
const difference = facts.difference ? JSON.parse(facts.difference) : null;
const WIDTHS = ['after', 'before', 'max', 'sum'];
const SURE_RATES = [0.05, 0.01, 0.001, 0.000001]; /* how often such a change comes by chance, at most, from 1 to 4 */

/* Of compare's runs, one on average. */
function runsOf() {
	const report = difference.report;
	return report.before.runs === report.after.runs ? Math.max(1, report.before.runs) : 1;
}

/* The values of the page from those of the file. */
function prepareDifference(profile) {
	const samples = profile.samples, runs = runsOf(), unit = profile.values[0].unit, noun = unit === 'count' ? difference.report.value : unit;
	const before = samples.values[0].map(value => Math.max(0, value) / runs);
	const after = samples.values[1].map(value => Math.max(0, value) / runs);
	profile.before = before;
	profile.after = after;
	samples.values = [after, before, after.map((value, i) => Math.max(value, before[i])), after.map((value, i) => value + before[i])];
	profile.values = WIDTHS.map(width => ({ type: width, unit: noun }));
	profile.defaultValue = difference.width;
}

/* By frame { total, self }, as the report has them; frames that did not change are not there. */
function changedFrames() {
	if (!profile.changed) {
		profile.changed = new Map();
		difference.report.functions.forEach(function (entry, i) {
			const at = profile.firstFrame[difference.locations[i]];
			if (at !== undefined && at < profile.locationFrames.length)
				profile.changed.set(profile.locationFrames[at], entry);
		});
	}
	return profile.changed;
}

function changeOf(frame) {
	return changedFrames().get(frame) || null;
}

/* 0: chance can explain it; up to 4. */
function strengthOf(change) {
	return change && change.significant ? SURE_RATES.filter(rate => change.rate !== null && change.rate <= rate).length : 0;
}

/* -4 (surely less) to 4 (surely more): the sign is the node's, how surely is the function's. */
function nodeStrength(tree, node) {
	const by = tree.totalM[node] - tree.totalN[node], frame = tree.frame[node];
	const strength = strengthOf(frame < 0 ? difference.report.total : (changeOf(frame) || {}).total);
	return by < 0 ? -strength : by > 0 ? strength : 0;
}

function diffColour(palette, tree, node) {
	const strength = nodeStrength(tree, node);
	return strength ? palette.changes[strength + 4] : palette.same;
}

/* 'new' or 'gone' where one side has none of it, and not by chance; '' otherwise. */
function onlySide(tree, node) {
	if (!nodeStrength(tree, node))
		return '';
	return !(tree.totalN[node] > 0) ? 'new' : !(tree.totalM[node] > 0) ? 'gone' : '';
}

/* ---- words ---- */

function signed(number) {
	return (number > 0 ? '+' : number < 0 ? '\u2212' : '') + formatIn(currentValue(state), Math.abs(number));
}

/* '+26.0 %', 'new', 'gone', '' where nothing is */
function changePercent(before, after) {
	if (!(before > 0))
		return after > 0 ? 'new' : '';
	if (!(after > 0))
		return 'gone';
	const by = 100 * (after - before) / before;
	return (by < 0 ? '\u2212' : '+') + Math.abs(by).toFixed(1) + ' %';
}

function sureWord(change) {
	return !change ? 'no change' : change.p === null ? 'too few samples' : change.significant ? 'significant' : 'not significant';
}

function marginText(change) {
	return change ? '\u00b1 ' + formatIn(currentValue(state), change.margin / runsOf()) : '';
}

/* Words after a label, where it is sure. */
function diffLabel(tree, node) {
	return nodeStrength(tree, node) ? ' ' + changePercent(tree.totalN[node], tree.totalM[node]) : '';
}

/* What a node became: lines of text. */
function describeChange(tree, node) {
	const value = currentValue(state), before = tree.totalN[node], after = tree.totalM[node], frame = tree.frame[node];
	const lines = [formatIn(value, before) + ', then ' + formatIn(value, after) + ': ' + signed(after - before) + ', ' + (changePercent(before, after) || 'nothing')];
	const own = tree.m[node] - tree.n[node];
	if (own !== 0 && own !== after - before)
		lines.push('itself ' + signed(own));
	const entry = frame < 0 ? null : changeOf(frame);
	if (frame >= 0)
		lines.push('The function: ' + (entry ? signed(entry.total.change / runsOf()) + ' ' + marginText(entry.total) + ', ' : '') + sureWord(entry && entry.total));
	return lines;
}

function diffFacts(list, frame) {
	const sums = functionSums(state), value = currentValue(state), entry = changeOf(frame);
	field(list, 'Before', formatIn(value, sums.totalN[frame]));
	field(list, 'After', formatIn(value, sums.totalM[frame]));
	field(list, 'Change', signed(sums.totalM[frame] - sums.totalN[frame]) + ' \u00b7 ' + (changePercent(sums.totalN[frame], sums.totalM[frame]) || 'nothing'));
	field(list, 'Itself', formatIn(value, sums.n[frame]) + ', then ' + formatIn(value, sums.m[frame]) + ': ' + signed(sums.m[frame] - sums.n[frame]));
	if (!entry)
		return;
	for (const [word, change] of [['Total', entry.total], ['Self', entry.self]])
		if (change.change !== 0)
			field(list, word + ', in all', signed(change.change / runsOf()) + ' ' + marginText(change) + ', ' + sureWord(change) +
			      (change.p === null ? '' : ' (p ' + change.p.toPrecision(2) + ')'));
}

/* What changed most, and surely. */
function changePanel() {
	const sure = Array.from(changedFrames()).filter(item => item[1].self.significant).sort((one, two) => Math.abs(two[1].self.change) - Math.abs(one[1].self.change));
	const most = sure.length ? Math.abs(sure[0][1].self.change) : 1;
	if (!sure.length)
		return [el('p', 'muted', 'No function\'s own part changed by more than chance can explain.')];
	return [el('h3', '', 'Changed most by themselves'), el('ol', 'hots', ...sure.slice(0, HOT_SHOWN).map(function (item) {
		const made = hotItem(item[0], Math.abs(item[1].self.change), most);
		made.querySelector('.num').textContent = signed(item[1].self.change / runsOf());
		made.querySelector('.bar').classList.add(item[1].self.change < 0 ? 'less' : 'more');
		return made;
	}))];
}

/* ---- the table ---- */

const DIFF_COLUMNS = [['before', 'Before'], ['after', 'After'], ['change', 'Change'], ['', '95 %'], ['percent', '%'], ['own', 'Self change'], ['name', 'Function']];
const DIFF_ORDERS = ['before', 'after', 'change', 'percent', 'own', 'name'];

/* What rows are sorted by, the larger the earlier; changes by their size. */
function diffKey(sums, order, frame) {
	const before = sums.totalN[frame], after = sums.totalM[frame];
	switch (order) {
	case 'before':
		return before;
	case 'after':
		return after;
	case 'own':
		return Math.abs(sums.m[frame] - sums.n[frame]);
	case 'percent':
		return before > 0 ? Math.abs(after - before) / before : Infinity;
	default:
		return Math.abs(after - before);
	}
}

function diffCells(frame) {
	const sums = functionSums(state), value = currentValue(state), entry = changeOf(frame), before = sums.totalN[frame], after = sums.totalM[frame];
	const own = sums.m[frame] - sums.n[frame], sure = cell('cell', 'num', signed(after - before)), isWhole = !state.steps.length;
	if (entry && entry.total.significant)
		sure.classList.add(after < before ? 'less' : 'more');
	return [cell('cell', 'num', formatIn(value, before)), cell('cell', 'num', formatIn(value, after)), sure,
		setAttributes(cell('cell', 'num muted', isWhole && entry ? marginText(entry.total) : ''), { title: entry ? sureWord(entry.total) : '' }),
		cell('cell', 'num', changePercent(before, after)), cell('cell', 'num', own ? signed(own) : '')];
}

const DIFF_TREE_COLUMNS = ['Before', 'After', 'Change', '%', 'Function'];

function diffTreeCells(tree, node) {
	const value = currentValue(state), before = tree.totalN[node], after = tree.totalM[node], change = cell('gridcell', 'num', signed(after - before));
	if (nodeStrength(tree, node))
		change.classList.add(after < before ? 'less' : 'more');
	return [cell('gridcell', 'num', formatIn(value, before)), cell('gridcell', 'num', formatIn(value, after)), change,
		cell('gridcell', 'num', changePercent(before, after))];
}

/* ---- at first sight, and the evidence ---- */

/* The function whose self changed most surely in one direction, or null. */
function mostChanged(sign) {
	let best = null;
	for (const [frame, entry] of changedFrames())
		if (entry.self.significant && sign * entry.self.change > 0 && (!best || sign * entry.self.change > sign * best.entry.self.change))
			best = { frame: frame, entry: entry };
	return best;
}

function changeCard(label, sign) {
	const best = mostChanged(sign);
	if (!best)
		return null;
	const made = card(label, '', signed(best.entry.self.change / runsOf()) + ' ' + marginText(best.entry.self));
	const name = button(profile.frames.name[best.frame], profile.frames.name[best.frame], () => pick(best.frame));
	name.className = 'link';
	made.querySelector('.figure').append(name);
	return made;
}

function diffCards() {
	const tree = mainTree(state), value = currentValue(state), report = difference.report, before = tree.totalN[0], after = tree.totalM[0];
	const made = [card('Before', formatIn(value, before), report.before.runs > 1 ? 'of one of ' + report.before.runs + ' runs' : ''),
		card('After', formatIn(value, after), report.normalized ? 'scaled to the same total' : ''),
		card('Change', signed(after - before), [changePercent(before, after), state.steps.length ? '' : marginText(report.total), sureWord(report.total)].filter(Boolean).join(', ')),
		changeCard('Grew most', 1), changeCard('Shrank most', -1)].filter(Boolean);
	if (report.warnings.length) {
		const badge = card('Comparable?', '! ' + report.warnings.length + (report.warnings.length === 1 ? ' warning' : ' warnings'), 'see the evidence', 'ledger warn');
		badge.title = report.warnings.join('\n');
		made.push(badge);
	}
	return made;
}

function sideText(side) {
	const name = textOf(side.name), seconds = number(side, 'duration_s');
	return [name, side.runs > 1 ? grouped(side.runs) + ' runs' : '', seconds ? seconds.toFixed(2) + ' s' : ''].filter(Boolean).join(', ');
}

function timingText(timing) {
	const range = timing.low_s === null ? '' : ' (' + timing.low_s.toFixed(4) + ' to ' + timing.high_s.toFixed(4) + ')';
	return timing.before_s.toFixed(4) + ' s, then ' + timing.after_s.toFixed(4) + ' s: ' + timing.change_s.toFixed(4) + ' s' + range + ', p ' + timing.p.toPrecision(2);
}

function diffEvidence() {
	const report = difference.report, rows = [['Before', sideText(report.before)], ['After', sideText(report.after)], ['Value', report.value + ' (' + report.unit + ')'],
		['Compared', report.normalized ? 'shares: after is scaled to the total of before' : 'absolute amounts']];
	for (const key of new Set([...Object.keys(report.before.facts), ...Object.keys(report.after.facts)])) {
		const one = textOf(report.before.facts[key]), two = textOf(report.after.facts[key]);
		rows.push([key, one === two ? one : (one || 'unknown') + ', then ' + (two || 'unknown')]);
	}
	for (const timing of report.timings)
		rows.push([timing.name, timingText(timing)]);
	for (const text of report.warnings)
		rows.push(['Warning', text]);
	rows.push(['Change', signed(report.total.change / runsOf()) + ' ' + marginText(report.total) + ', ' + sureWord(report.total)],
		  ['Significant', 'of what is marked so at most ' + 100 * report.level + ' % is chance, on average'], ['Report by', 'bpfprof ' + facts.version]);
	return rows;
}

function diffLegend() {
	return [['x4', 'more'], ['x2', 'more, less surely'], ['y4', 'less'], ['y2', 'less, less surely'], ['same', 'not significant']]
		.map(entry => legendItem('', 'var(--' + entry[0] + ')', entry[1]))
		.concat(legendItem('only-after', 'var(--x4)', 'new'), legendItem('only-before', 'var(--y4)', 'gone'));
}
