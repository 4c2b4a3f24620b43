/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of the picked range, below the timeline, and files of it. A frame cannot send a token: where there is one the
 * report is fetched, and shown from memory; the page's own policy holds there, too, so it names the report's script and
 * style by their hashes.
 */
const report = { key: '', blob: '', abort: null };
const FORMATS = [['P', 'pprof', 'pb.gz', 'pprof'], ['S', 'svg', 'svg', 'Flame graph, SVG'], ['F', 'folded', 'folded', 'Folded stacks'],
	['J', 'speedscope', 'speedscope.json', 'speedscope']];

/* Of ranges that are not as long, shares can be compared, but not sums. */
function isUneven() {
	const [length, before] = [state.picked, state.before].map(range => range[1] - range[0]);
	return Math.abs(length - before) > 0.01 * Math.max(length, before);
}

function reportUrl(format) {
	const more = { format: format };
	if (state.before && format === 'html')
		Object.assign(more, { before_from: seconds_(state.before[0]), before_to: seconds_(state.before[1]) }, isUneven() ? { normalize: '1' } : {});
	return '/api/profile?' + selection(state.picked || shownRange(), more);
}

function reportHash() {
	return '#m=' + (document.documentElement.dataset.theme || 'light');
}

function forgetBlob() {
	if (report.blob)
		URL.revokeObjectURL(report.blob);
	report.blob = '';
}

async function fetchBlob(url, signal) {
	return (await ask(url, signal)).blob();
}

/* Why @shown, which is a page, is no report; '': it is one. Its last script comes behind the profile. */
function pageError(shown) {
	const failed = shown.getElementById('failed'), profile = shown.getElementById('profile');
	return failed ? failed.textContent : profile && profile.nextElementSibling ? '' : 'it has ended before it was whole';
}

/* What is shown when it is no report: a frame does not tell why, and what is no page may not be shown in one. */
async function frameError() {
	const shown = ui.frame.contentDocument;
	if (shown && shown.contentType === 'text/html')
		return pageError(shown);
	try {
		await (await ask(reportUrl('html'))).body.cancel(); // what is not read keeps its connection
	} catch (error) {
		return error.message;
	}
	return 'the browser does not show it';
}

function showReportWords(text, isError) {
	ui.reportWords.textContent = text;
	ui.reportWords.hidden = !text;
	ui.reportWords.classList.toggle('failed', isError === true);
	ui.frame.classList.toggle('waits', Boolean(text));
	ui.frame.classList.toggle('fails', isError === true);
}

/* The flame graph is painted before the rest of the report is there. */
function watchFrame(frame) {
	const shown = frame.contentDocument, root = shown && shown.documentElement;
	if (frame !== ui.frame || ui.reportWords.hidden || ui.frame.classList.contains('fails'))
		return;
	if (root && root.dataset.painted)
		showReportWords('');
	else
		setTimeout(() => watchFrame(frame), 20);
}

/* A frame without an address is loaded, empty, as soon as it is in the page. */
async function loadedFrame(frame) {
	if (frame !== ui.frame || !report.key || !frame.getAttribute('src'))
		return;
	const key = report.key, error = await frameError();
	if (key === report.key)
		showReportWords(error ? 'No report: ' + error : '', Boolean(error));
}

async function loadReport() {
	const url = reportUrl('html');
	if (report.abort)
		report.abort.abort();
	forgetBlob();
	freshFrame(token() ? '' : url + reportHash());
	showReportWords(state.before ? 'Comparing\u2026' : 'Making the report\u2026');
	watchFrame(ui.frame);
	if (!token())
		return;
	const abort = report.abort = new AbortController();
	try {
		report.blob = URL.createObjectURL(await fetchBlob(url, abort.signal));
		ui.frame.src = report.blob + reportHash();
	} catch (error) {
		if (abort.signal.aborted)
			return;
		showReportWords('No report: ' + error.message, true);
	}
}

/* The report follows what is picked, and the filters; not the range that is shown, for which it does not wait. */
function renderReport() {
	const isShown = state.picked !== null && !view.isEmpty && view.info !== null;
	ui.report.hidden = !isShown;
	ui.picked.hidden = !isShown;
	const key = isShown ? reportUrl('html') + (token() ? ' token' : '') : '';
	renderPicked();
	if (key === report.key)
		return;
	report.key = key;
	if (key)
		loadReport();
	else
		freshFrame('');
}

/* Without the day that was told already. */
function againstWords() {
	const words = rangeWords(state.before), day = dayText(state.picked[0]) + ' ';
	return words.startsWith(day) ? words.slice(day.length) : words;
}

function renderPicked() {
	if (!state.picked)
		return;
	ui.pickedWords.textContent = rangeWords(state.picked) + ' (' + spanWords(state.picked[1] - state.picked[0]) + ')';
	ui.beforeWords.hidden = !state.before;
	ui.noCompare.hidden = !state.before;
	ui.beforeWords.textContent = state.before ? 'against ' + againstWords() + (isUneven() ? ', by shares' : '') : '';
	const ago = state.before ? state.picked[0] - state.before[0] : 0, length = state.picked[1] - state.picked[0];
	for (const [element, ms] of ui.agos)
		element.setAttribute('aria-pressed', String(state.before !== null && ago === (ms || length)));
}

/* The frame's own document, in a tab of its own. */
async function openReport() {
	if (!state.picked) {
		say('Pick a range first: drag over the timeline');
		return;
	}
	if (!token()) {
		window.open(reportUrl('html') + reportHash(), '_blank', 'noopener');
		return;
	}
	if (report.blob)
		window.open(report.blob + reportHash(), '_blank');
	else
		say('The report is not there yet');
}

async function save(format) {
	const entry = FORMATS.find(one => one[1] === format), range = state.picked || shownRange();
	const stamp = new Date(range[0]).toISOString().replace(/[-:]|\..*$/g, '') + 'Z';
	ui.downloads.open = false;
	say('Making ' + entry[3] + '\u2026');
	try {
		const blob = await fetchBlob(reportUrl(format)), link = el('a', '');
		link.href = URL.createObjectURL(blob);
		link.download = fileStem([view.info && view.info.host, state.kind, stamp].filter(Boolean).join('-')) + '.' + entry[2];
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 10e3);
		say('Saved ' + link.download);
	} catch (error) {
		say('Not saved: ' + error.message);
		if (!(error instanceof ApiError))
			throw error;
	}
}

function makePicked() {
	ui.pickedWords = el('strong', '');
	ui.beforeWords = el('span', 'muted');
	ui.noCompare = button('No comparison', 'Key x', () => change({ before: null }));
	ui.agos = [['the range before', 0, 'b'], ['an hour before', HOUR_MS, 'B'], ['a day before', DAY_MS, 'D']].map(([text, ms, key]) =>
		[setAttributes(button(text, 'Key ' + key, () => compareAgo(ms)), { 'aria-pressed': 'false' }), ms]);
	ui.picked = setAttributes(el('section', 'picked', ui.pickedWords, ui.beforeWords,
		el('span', 'compare', el('span', 'muted', 'Compare with'), ...ui.agos.map(one => one[0]), ui.noCompare),
		el('span', 'menus', button('Open alone', 'The report in a tab of its own (o)', openReport), button('Zoom to it', 'Key z', () => goTo(state.picked)),
			setAttributes(button('\u00d7', 'No range (Escape)', () => change({ picked: null })), { 'aria-label': 'No range' }))), { 'aria-label': 'Picked range' });
	return ui.picked;
}

/*
 * A frame's first address makes no step in the browser's history, each later one does: each report has its own frame. It
 * has its address before it is in the page, so that the server is asked before the frame before it goes.
 */
function freshFrame(address) {
	const made = setAttributes(el('iframe', ''), { title: 'Report of the picked range' }), before = ui.frame;
	ui.frame = made;
	made.addEventListener('load', () => loadedFrame(made));
	if (address)
		made.src = address;
	if (!before)
		return;
	before.after(made);
	before.remove();
}

/* The report keeps its state in its own address, and reads it when that is said to have changed. */
function themeReport() {
	const inside = ui.frame.contentWindow, fields = report.key && inside && inside.location.href !== 'about:blank' ? new URLSearchParams(inside.location.hash.slice(1)) : null;
	if (!fields)
		return;
	fields.set('m', document.documentElement.dataset.theme);
	inside.history.replaceState(null, '', '#' + fields);
	inside.dispatchEvent(new Event('hashchange'));
}

function makeReport() {
	freshFrame('');
	ui.reportWords = setAttributes(el('p', 'report-words'), { role: 'status' });
	ui.report = setAttributes(el('section', 'report', ui.reportWords, ui.frame), { 'aria-label': 'Report' });
	return ui.report;
}
