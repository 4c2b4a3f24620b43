/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 9: the tables, functions and call tree. Both are lists of rows of one height, of which only those exist that are
 * to be seen: a profile has hundreds of thousands.
 */
const TABLE_ROW = 24;
const ROWS_BEYOND = 6; /* above and below what is seen */

/* A list of @rowCnt() rows, made by @makeRow(index). */
function makeList(role, label) {
	const list = { rowCnt: 0, makeRow: null, first: -1, last: -1 };
	list.body = setAttributes(el('div', 'rows'), { role: 'rowgroup' });
	list.head = setAttributes(el('div', 'row head'), { role: 'row', 'aria-rowindex': 1 });
	const top = setAttributes(el('div', 'heads', list.head), { role: 'rowgroup' });
	list.scroller = setAttributes(el('div', 'scroller', top, list.body), { role: role, 'aria-label': label, tabindex: '0' });
	list.scroller.addEventListener('scroll', () => fillList(list, false), { passive: true });
	new ResizeObserver(() => fillList(list, false)).observe(list.scroller);
	return list;
}

function fillList(list, isNew) {
	const top = list.scroller.scrollTop, high = list.scroller.clientHeight;
	const first = Math.max(0, Math.floor(top / TABLE_ROW) - ROWS_BEYOND);
	const last = Math.min(list.rowCnt, Math.ceil((top + high) / TABLE_ROW) + ROWS_BEYOND);
	if (!list.makeRow || (!isNew && first === list.first && last === list.last))
		return;
	const rows = [];
	for (let i = first; i < last; i++) {
		const row = setAttributes(list.makeRow(i), { role: 'row', 'aria-rowindex': i + 2 });
		row.style.top = i * TABLE_ROW + 'px';
		rows.push(row);
	}
	list.first = first;
	list.last = last;
	list.body.style.height = list.rowCnt * TABLE_ROW + 'px';
	list.scroller.setAttribute('aria-rowcount', list.rowCnt + 1);
	list.body.replaceChildren(...rows);
}

function showRow(list, at) {
	const top = at * TABLE_ROW, seen = list.scroller.clientHeight - TABLE_ROW - 4;
	if (top < list.scroller.scrollTop)
		list.scroller.scrollTop = top;
	else if (top + TABLE_ROW > list.scroller.scrollTop + seen)
		list.scroller.scrollTop = top + TABLE_ROW - seen;
}

function cell(role, cls, ...children) {
	return setAttributes(el('div', 'cell ' + cls, ...children), { role: role });
}

/* A share with a bar behind it. */
function shareCell(role, part, whole, n) {
	const made = cell(role, 'num share', percent(part, whole)), bar = el('span', 'bar');
	bar.style.width = (whole > 0 ? Math.min(100, 100 * part / whole) : 0) + '%';
	made.append(bar);
	if (isNoise(state, n))
		made.classList.add('noise');
	return made;
}

/* The square that tells a frame's kind, with its word for those who do not see it. */
function swatch(frame) {
	const kind = frame < 0 ? ROOT : profile.frames.kind[frame];
	const made = setAttributes(el('span', 'swatch'), { role: 'img', 'aria-label': facts.kinds[kind], title: facts.kinds[kind] });
	if (kind === SYNTHETIC)
		made.classList.add('hatched');
	else
		made.style.background = 'var(--' + LETTERS[kind] + (kind === ROOT || kind > LIBRARY + 2 || kind === PROCESS ? '' : '1') + ')';
	return made;
}

function sameFrame(ref, frame) {
	return ref !== null && frame >= 0 && ref.name === profile.frames.name[frame] && ref.kind === profile.frames.kind[frame] &&
		ref.isWaker === profile.frames.isWaker[frame];
}

/* ---- functions ---- */

const top_ = { list: null, rows: [], current: 0 };
const TOP_COLUMNS = [['self', 'Self'], ['self', 'Self %'], ['total', 'Total'], ['total', 'Total %'], ['', 'n'], ['name', 'Function']];

function topColumns() {
	return difference ? DIFF_COLUMNS : TOP_COLUMNS;
}

function topRows() {
	const sums = functionSums(state), kinds = profile.frames.kind, names = profile.frames.name, wanted = state.filter.toLowerCase();
	const rows = [];
	for (let i = 0; i < names.length; i++)
		if (sums.total[i] > 0 && kinds[i] !== PROCESS && (!wanted || names[i].toLowerCase().includes(wanted)))
			rows.push(i);
	const ranks = frameRanks(profile), order = state.order.replace('-', '');
	const by = order === 'name' ? (one, two) => ranks[one] - ranks[two] :
		(one, two) => topKey(sums, order, two) - topKey(sums, order, one) || sums.total[two] - sums.total[one] || ranks[one] - ranks[two];
	rows.sort(state.order.startsWith('-') ? (one, two) => by(two, one) : by);
	return rows;
}

function topKey(sums, order, frame) {
	return difference ? diffKey(sums, order, frame) : sums[order][frame];
}

function sortTop(order) {
	change({ order: state.order === order ? '-' + order : order });
}

function topHead() {
	const order = state.order.replace('-', ''), arrow = state.order.startsWith('-') ? ' \u2191' : ' \u2193';
	replaceChildren(top_.list.head, ...topColumns().map(function (column, i) {
		const isSorted = column[0] === order && (difference || i >= 4 || i % 2 === 0);
		const made = cell('columnheader', column[0] === 'name' ? 'name' : 'num');
		made.append(column[0] ? button(column[1] + (isSorted ? arrow : ''), 'Sort by ' + column[0], () => sortTop(column[0])) : column[1]);
		if (isSorted)
			made.setAttribute('aria-sort', (order === 'name') === state.order.startsWith('-') ? 'descending' : 'ascending');
		return made;
	}));
}

function amountCells(frame) {
	const sums = functionSums(state), value = currentValue(state);
	return [cell('cell', 'num', formatIn(value, sums.self[frame])), shareCell('cell', sums.self[frame], sums.all, sums.n[frame]),
		cell('cell', 'num', formatIn(value, sums.total[frame])), shareCell('cell', sums.total[frame], sums.all, sums.totalN[frame]),
		cell('cell', 'num', hasCounts(state) ? grouped(sums.totalN[frame]) : '')];
}

function topRow(at) {
	const frame = top_.rows[at], hits = searchHits(state);
	const row = el('div', 'row', ...(difference ? diffCells(frame) : amountCells(frame)),
		       cell('cell', 'name', swatch(frame), el('span', 'text', profile.frames.name[frame]), el('span', 'module', libraryOf(profile, frame))));
	row.classList.toggle('picked', sameFrame(state.picked, frame));
	row.classList.toggle('hit', Boolean(hits && hits[frame]));
	row.classList.toggle('current', at === top_.current);
	row.addEventListener('click', function () {
		top_.current = at;
		pick(frame);
	});
	row.addEventListener('dblclick', () => change({ view: 'sandwich', picked: frameRef(frame) }));
	return row;
}

function renderTop() {
	top_.rows = topRows();
	top_.current = Math.min(top_.current, Math.max(0, top_.rows.length - 1));
	top_.list.rowCnt = top_.rows.length;
	top_.list.makeRow = topRow;
	topHead();
	top_.count.textContent = grouped(top_.rows.length) + ' functions';
	if (top_.filter.value !== state.filter)
		top_.filter.value = state.filter;
	fillList(top_.list, true);
}

function moveTop(step) {
	top_.current = Math.min(Math.max(0, top_.current + step), top_.rows.length - 1);
	showRow(top_.list, top_.current);
	fillList(top_.list, true);
	if (top_.rows.length)
		pick(top_.rows[top_.current]);
}

function makeTop() {
	top_.list = makeList('table', 'Functions');
	top_.list.scroller.classList.add(difference ? 'changes' : 'top');
	top_.filter = setAttributes(el('input', ''), { type: 'text', placeholder: 'Filter by name', 'aria-label': 'Filter by name', spellcheck: 'false' });
	top_.filter.addEventListener('input', () => change({ filter: top_.filter.value }, false));
	top_.count = el('output', 'muted');
	return setAttributes(el('div', 'sheet', el('div', 'tools', top_.filter, top_.count), top_.list.scroller), { id: 'top' });
}

/* ---- the call tree ---- */

const calls = { list: null, tree: null, rows: [], current: 0, hottest: new Set() };

/* The address has draft nodes: an open one, or, negative, one of the hottest path that is closed. */
function isOpen(node) {
	const id = calls.tree.draftNode[node];
	return node === 0 || (calls.hottest.has(node) ? !calls.closed.has(id) : calls.opened.has(id));
}

function treeRows() {
	const tree = calls.tree, rows = [];
	calls.hottest = new Set(hottestPath(tree));
	calls.opened = new Set(state.open.filter(id => id > 0));
	calls.closed = new Set(state.open.filter(id => id < 0).map(id => -id));
	for (let i = 0; i < tree.cnt;) {
		if (i > 0 || tree.total[0] > 0)
			rows.push(i);
		i = isOpen(i) ? i + 1 : tree.end[i];
	}
	return rows;
}

function setOpen(node, wanted) {
	const tree = calls.tree, id = tree.draftNode[node];
	if (node === 0 || node + 1 === tree.end[node] || isOpen(node) === wanted)
		return;
	const open = state.open.filter(known => known !== id && known !== -id);
	if (wanted !== calls.hottest.has(node))
		open.push(wanted ? id : -id);
	change({ open: open }, false);
}

function treeRow(at) {
	const node = calls.rows[at], tree = calls.tree, frame = tree.frame[node], value = currentValue(state), hits = searchHits(state);
	const hasChildren = node + 1 < tree.end[node];
	const twist = el('span', 'twist', hasChildren ? isOpen(node) ? '\u25be' : '\u25b8' : '');
	const name = cell('gridcell', 'name', twist, swatch(frame), el('span', 'text' + (tree.isInlined[node] ? ' inlined' : ''), labelOf(tree, node)),
			  el('span', 'module', frame < 0 ? '' : libraryOf(profile, frame)));
	name.style.paddingLeft = 6 + 14 * Math.min(tree.depth[node], 60) + 'px';
	const amounts = difference ? diffTreeCells(tree, node) : [shareCell('gridcell', tree.total[node], tree.total[0], tree.totalN[node]),
		cell('gridcell', 'num', formatIn(value, tree.total[node])), cell('gridcell', 'num', formatIn(value, tree.self[node])),
		cell('gridcell', 'num', hasCounts(state) ? grouped(tree.totalN[node]) : '')];
	const row = el('div', 'row', ...amounts, name);
	setAttributes(row, { 'aria-level': tree.depth[node] + 1, 'aria-selected': String(at === calls.current), id: 'call' + node });
	if (hasChildren)
		row.setAttribute('aria-expanded', String(isOpen(node)));
	row.classList.toggle('current', at === calls.current);
	row.classList.toggle('hit', Boolean(hits && frame >= 0 && hits[frame]));
	row.addEventListener('click', function (event) {
		calls.current = at;
		if (event.target === twist)
			setOpen(node, !isOpen(node));
		else
			pick(frame);
	});
	return row;
}

function renderTree() {
	calls.tree = mainTree(state);
	calls.rows = treeRows();
	calls.current = Math.min(calls.current, Math.max(0, calls.rows.length - 1));
	calls.list.rowCnt = calls.rows.length;
	calls.list.makeRow = treeRow;
	const heads = difference ? DIFF_TREE_COLUMNS : ['Total %', 'Total', 'Self', 'n', 'Function'];
	replaceChildren(calls.list.head, ...heads.map((text, i) => cell('columnheader', i < 4 ? 'num' : 'name', text)));
	fillList(calls.list, true);
	if (calls.rows.length)
		calls.list.scroller.setAttribute('aria-activedescendant', 'call' + calls.rows[calls.current]);
}

function moveTree(step) {
	calls.current = Math.min(Math.max(0, calls.current + step), calls.rows.length - 1);
	showRow(calls.list, calls.current);
	if (calls.rows.length)
		pick(calls.tree.frame[calls.rows[calls.current]]);
	renderTree();
}

/* Right opens, left closes; where that is done already, they go to the child and to the parent. */
function twistTree(wanted) {
	const node = calls.rows[calls.current];
	if (node === undefined)
		return;
	const hasChildren = node + 1 < calls.tree.end[node];
	if (wanted && hasChildren && isOpen(node))
		moveTree(1);
	else if (!wanted && (!hasChildren || !isOpen(node)))
		moveTree(Math.max(0, calls.rows.indexOf(calls.tree.parent[node])) - calls.current);
	else
		setOpen(node, wanted);
}

function makeTree() {
	calls.list = makeList('treegrid', 'Call tree');
	calls.list.scroller.classList.add('calls', ...(difference ? ['sides'] : []));
	return setAttributes(el('div', 'sheet', calls.list.scroller), { id: 'tree' });
}
