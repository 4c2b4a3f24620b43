/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms in powers of two: of what a probe saw (--hist, --elapsed; the label "hist" of samples, the lower bound of their
 * column), for all stacks or those through the picked function; and of how long threads waited, by what for, which the comment "bpfprof-waits: {json}" has of the whole recording.
 */
const WAITS = 'bpfprof-waits: ';
const histograms = { list: null, ofSet: null, unit: '' };

/* By label set: the column's number, -1 for sets without one. */
function findHistograms() {
	if (histograms.ofSet)
		return histograms.ofSet;
	histograms.ofSet = profile.labelSets.map(function (set) {
		const label = set.find(one => !one.isString && profile.strings[one.key] === 'hist');
		if (!label)
			return -1;
		histograms.unit = profile.strings[label.unit];
		return label.value > 0 ? Math.floor(Math.log2(label.value)) : 0;
	});
	return histograms.ofSet;
}

function waitsComment() {
	const text = facts.comments.find(one => one.startsWith(WAITS));
	return text ? parseObject(text.slice(WAITS.length)) : null;
}

function hasHistograms() {
	return !difference && (findHistograms().some(column => column >= 0) || waitsComment() !== null);
}

/* By node of the trie: is it in a stack through @frame? */
function trieThrough(frame) {
	const trie = profile.trie, made = new Uint8Array(trie.cnt);
	for (let i = 0; i < trie.cnt; i++) {
		const above = trie.parent[i], ref = trie.ref[i];
		if (above < 0) {
			made[i] = profile.strings[ref] && profile.processFrame(ref) === frame ? 1 : 0;
			continue;
		}
		made[i] = made[above];
		for (let at = profile.firstFrame[ref]; at < profile.firstFrame[ref + 1] && !made[i]; at++)
			made[i] = profile.locationFrames[at] === frame ? 1 : 0;
	}
	return made;
}

/* Sums of the shown value by column, of stacks through @frame (-1: of all). */
function valueColumns(frame) {
	const columns = [], ofSet = findHistograms(), samples = profile.samples, values = samples.values[state.value] || [];
	const isIn = frame < 0 ? null : trieThrough(frame);
	for (let i = 0; i < samples.cnt; i++) {
		const column = ofSet[samples.labels[i]];
		if (column < 0 || (isIn && !isIn[samples.node[i]]))
			continue;
		while (columns.length <= column)
			columns.push(0);
		columns[column] += values[i];
	}
	return columns;
}

/* [from, to] of a column. */
function columnRange(column) {
	return [column ? Math.pow(2, column) : 0, Math.pow(2, column + 1) - 1];
}

function boundText(number, unit) {
	return unit === 'nanoseconds' || unit === 'bytes' ? formatIn({ unit: unit }, number) : grouped(number) + (unit ? ' ' + unit : '');
}

/* [{ title, note, unit, format, columns }, ...]: what there is to show. */
function histogramList() {
	const frame = frameOf(state.picked), value = currentValue(state), made = [], sums = valueColumns(frame);
	if (sums.some(sum => sum > 0))
		made.push({
			title: valueName(value), note: frame < 0 ? 'of all stacks' : 'of stacks through ' + profile.frames.name[frame],
			unit: histograms.unit, format: sum => formatIn(value, sum), columns: sums,
		});
	const waits = waitsComment(), counts = list => Array.isArray(list) ? list.map(one => typeof one === 'number' && one > 0 ? one : 0) : [];
	if (!waits)
		return made;
	const add = (title, columns) => columns.some(cnt => cnt > 0) &&
		made.push({ title: title, note: 'of all threads', unit: 'nanoseconds', format: cnt => grouped(cnt) + (cnt === 1 ? ' wait' : ' waits'), columns: columns });
	add('Waits for a CPU (run queue)', counts(waits.run_queue_log2_ns));
	const causes = waits.blocked && typeof waits.blocked === 'object' ? waits.blocked : {};
	for (const cause of Object.keys(causes).sort((one, two) => number(causes[two], 'ns') - number(causes[one], 'ns')))
		add('Waits for ' + cause, counts(causes[cause] && causes[cause].log2_ns));
	return made;
}

function histogramTable(histogram) {
	const columns = histogram.columns, first = columns.findIndex(sum => sum > 0), sum = columns.reduce((all, one) => all + one, 0);
	const most = Math.max(...columns), rows = [];
	for (let i = first; i < columns.length; i++) {
		if (!columns.slice(i).some(one => one > 0))
			break;
		const bar = el('span', 'bar'), range = columnRange(i);
		bar.style.width = 100 * columns[i] / most + '%';
		rows.push(el('tr', '', el('td', 'num', boundText(range[0], histogram.unit)), el('td', 'num', boundText(range[1], histogram.unit)),
			     el('td', 'num', histogram.format(columns[i])), el('td', 'num', percent(columns[i], sum)), el('td', 'bars', bar)));
	}
	return el('section', 'histogram', el('h3', '', histogram.title), el('p', 'muted', histogram.note), el('table', '', el('thead', '', el('tr', '',
		...['From', 'To', 'How many', '%', ''].map(text => el('th', '', text)))), el('tbody', '', ...rows)));
}

function renderHistograms() {
	const list = histogramList();
	replaceChildren(ui.hist, ...(list.length ? list.map(histogramTable) :
		[el('p', 'muted', 'What is shown as value, and picked, has no histogram: choose another value (v), or none (Escape).')]));
}

function makeHistograms() {
	return setAttributes(el('div', ''), { id: 'hist', tabindex: '0', role: 'region', 'aria-label': 'Histograms' });
}
