/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source, where it was embedded (--embed-source): the lines of a function with what they cost. facts.sources is a text,
 * JSON: its form is in cli/source_embed.h.
 */
const sourceFiles = new Map(); /* file -> Map of line -> text */
const SOURCE_AROUND = 6; /* lines without samples that are shown beside those that have some */

for (const file of facts.sources ? JSON.parse(facts.sources).files : []) {
	const lines = new Map();
	file.first.forEach((first, run) => file.lines[run].forEach((text, i) => lines.set(first + i, text)));
	sourceFiles.set(file.file, lines);
}

/* Numbers of the lines near those of @costs that there are, in order. */
function linesAround(costs, lines) {
	const made = new Set();
	for (const number of costs.keys())
		for (let i = number - SOURCE_AROUND; i <= number + SOURCE_AROUND; i++)
			if (lines.has(i))
				made.add(i);
	return Array.from(made).sort((one, two) => one - two);
}

function sourceRow(number, text, cost, all) {
	const value = currentValue(state), row = el('tr', cost ? 'costs' : '', el('td', 'num', String(number)),
		el('td', 'num', cost && cost.self ? formatIn(value, cost.self) : ''), el('td', 'num', cost ? percent(cost.total, all) : ''), el('td', 'code', text));
	if (cost && all > 0)
		row.style.setProperty('--share', Math.min(100, 100 * cost.total / all) + '%');
	return row;
}

/* The source of @frame beside the sums of its lines, or null where there is none. */
function sourceTable(frame, sums, all) {
	const fn = profile.frames.fn[frame], file = fn < 0 ? '' : profile.strings[profile.functions.file[fn]], lines = sourceFiles.get(file);
	const costs = new Map(sums.map(sum => [sum.number, sum])), numbers = lines ? linesAround(costs, lines) : [];
	if (!numbers.some(number => costs.has(number)))
		return null;
	const rows = [];
	numbers.forEach(function (number, i) {
		if (i && number !== numbers[i - 1] + 1)
			rows.push(el('tr', 'gap', setAttributes(el('td', '', '\u22ee'), { colspan: 4 })));
		rows.push(sourceRow(number, lines.get(number), costs.get(number), all));
	});
	return el('section', '', el('h3', '', 'Source'), el('p', 'muted', file), el('div', 'source', el('table', '', el('thead', '', el('tr', '',
		...['Line', 'Self', '%', ''].map(text => el('th', '', text)))), el('tbody', '', ...rows))));
}
