/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 12: the evidence: from where the numbers are and how far they are to be trusted. What a recording says of itself
 * is in its comments ("bpfprof-recording: {json}", written by record_facts.c) and in its ledger; both may come from
 * anybody's file, so nothing of them is taken for granted.
 */
const RECORDING = 'bpfprof-recording: ';
const INTERNAL_COMMENT = /^bpfprof-[a-z]+: /;

function parseObject(text) {
	try {
		const made = JSON.parse(text);
		return made && typeof made === 'object' ? made : {};
	} catch (error) {
		/* Somebody else's comment */
		return {};
	}
}

function number(object, ...keys) {
	for (const key of keys)
		object = object && typeof object === 'object' ? object[key] : undefined;
	return typeof object === 'number' && Number.isFinite(object) ? object : 0;
}

function sumOf(object) {
	return object && typeof object === 'object' ? Object.keys(object).reduce((sum, key) => sum + number(object, key), 0) : 0;
}

function recordings() {
	return facts.comments.filter(text => text.startsWith(RECORDING)).map(text => parseObject(text.slice(RECORDING.length)));
}

const ledger = facts.ledger ? parseObject(facts.ledger) : null;
const ledgerEvents = ledger && Array.isArray(ledger.events) ? ledger.events : [];

function lostCount() {
	return ledgerEvents.reduce((sum, event) => sum + sumOf(event.lost), 0);
}

/* What the kernel did not let run while a CPU was busy, as a share of the ticks. */
function heldBack() {
	const sum = (...keys) => ledgerEvents.reduce((all, event) => all + number(event, ...keys), 0);
	return percent(sum('never_ran', 'busy'), sum('ticks'));
}

/* A recording that was ended before its time holds what it saw until then. */
function stoppedText() {
	const reasons = { max_cpu: 'its bound of CPU time (--max-cpu)', max_memory: 'its bound of memory (--max-memory)', stop_file: 'the file that forbids recording' };
	const stopped = ledger && ledger.stopped, reason = textOf(stopped && stopped.reason);
	if (!reason)
		return '';
	const observed = number(stopped, 'observed'), allowed = number(stopped, 'allowed');
	const show = reason === 'max_cpu' ? value => value.toFixed(2) + ' %' : value => formatIn({ unit: 'bytes' }, value);
	return 'by ' + (Object.hasOwn(reasons, reason) ? reasons[reason] : reason) + (allowed > 0 ? ': ' + show(observed) + ', allowed ' + show(allowed) : '');
}

/* { cls, text, title } of the ledger: green only when nothing was lost and the books balance. */
function verdict() {
	if (!ledger)
		return { cls: 'unknown', mark: '?', text: 'No ledger', title: 'The profile does not say what was lost while it was recorded' };
	if (!facts.balances)
		return { cls: 'bad', mark: '!', text: 'Books do not balance', title: facts.why };
	const lost = lostCount();
	if (lost > 0)
		return { cls: 'bad', mark: '!', text: grouped(lost) + ' samples lost', title: facts.ledgerLine || '' };
	if (!facts.isClean)
		return { cls: 'warn', mark: '!', text: heldBack() + ' never ran', title: facts.ledgerLine || '' };
	return { cls: 'good', mark: '\u2713', text: 'Nothing lost', title: facts.ledgerLine || '' };
}

/* Shares of the ledger's stacks and frames, null where it has none. */
function completeShare() {
	const complete = number(ledger, 'stacks', 'complete'), cut = sumOf(ledger && ledger.stacks && ledger.stacks.truncated);
	return complete + cut > 0 ? [complete, complete + cut] : null;
}

function namedShare() {
	const all = number(ledger, 'frames', 'distinct');
	return all > 0 ? [number(ledger, 'frames', 'named'), all] : null;
}

function costText() {
	const spent = number(ledger, 'cost', 'bpf_run_ns') + number(ledger, 'cost', 'capture_cpu_ns');
	const span = number(ledger, 'duration_s') * 1e9;
	return spent > 0 && span > 0 ? percent(spent, span) + ' of one CPU' : '';
}

function periodText() {
	const period = profile.period, time = { unit: 'nanoseconds' };
	if (!(period.number > 0))
		return '';
	if (period.unit === 'nanoseconds')
		return 'one sample per ' + formatIn(time, period.number) + ' (' + grouped(1e9 / period.number) + ' Hz)';
	return period.number === 1 ? 'every ' + (period.type || 'event') : 'one sample per ' + grouped(period.number) + ' ' + (period.type || period.unit);
}

function eventText(event) {
	const period = number(event, 'period'), lost = sumOf(event.lost);
	return String(event.name) + ': ' + grouped(number(event, 'ticks')) + ' ticks, ' + grouped(number(event, 'ran')) + ' ran, ' +
		grouped(number(event, 'recorded')) + ' recorded, ' + grouped(number(event, 'filtered')) + ' filtered, ' + grouped(lost) + ' lost, ' +
		grouped(number(event, 'never_ran', 'busy')) + ' never ran while busy' + (period > 1 ? '; period ' + grouped(period) : '');
}

/* The text of a field that should be text. */
function textOf(value) {
	return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

function recordingRows(recording) {
	const cpus = number(recording, 'cpus'), model = textOf(recording.cpu);
	return [['Command', textOf(recording.command)], ['Host', textOf(recording.host)], ['Kernel', textOf(recording.kernel)],
		['CPU', [model, cpus ? cpus + (cpus === 1 ? ' CPU' : ' CPUs') : ''].filter(Boolean).join(', ')],
		['Recorded by', textOf(recording.version) && 'bpfprof ' + textOf(recording.version)]];
}

function shareText(share) {
	return share ? percent(share[0], share[1]) + ' (' + grouped(share[0]) + ' of ' + grouped(share[1]) + ')' : '';
}

/* [[name, text], ...]: what the panel shows and what is copied. */
function evidenceRows() {
	if (difference)
		return diffEvidence().filter(row => row[1]);
	const rows = recordings().flatMap(recordingRows);
	if (!rows.some(row => row[0] === 'Kernel' && row[1]) && ledger)
		rows.push(['Kernel', [textOf(ledger.kernel), textOf(ledger.arch)].filter(Boolean).join(' ')]);
	rows.push(['Window', profile.startNs ? utc(profile.startNs) + (profile.durationNs ? ' to ' + utc(profile.startNs + profile.durationNs) : '') : ''],
		  ['Duration', profile.durationNs ? formatIn({ unit: 'nanoseconds' }, profile.durationNs) : ''], ['Sampled', periodText()]);
	profile.values.forEach(function (value, i) {
		const sum = profile.samples.values[i].reduce((all, one) => all + one, 0);
		rows.push([valueName(value), formatIn(value, sum)]);
	});
	for (const event of ledgerEvents)
		rows.push(['Event', event && typeof event === 'object' ? eventText(event) : '']);
	rows.push(['Stopped early', stoppedText()]);
	rows.push(['Ledger', facts.ledgerLine || ''], ['Verdict', verdict().text + (facts.balances ? ', the books balance' : facts.why ? ': ' + facts.why : '')],
		  ['Stacks complete', shareText(completeShare())], ['Frames named', shareText(namedShare())],
		  ['Profiler\'s cost', costText()], ['Report by', 'bpfprof ' + facts.version]);
	for (const text of facts.comments)
		if (!INTERNAL_COMMENT.test(text))
			rows.push(['Note', text]);
	return rows.filter(row => row[1]);
}

function evidenceText() {
	const title = document.querySelector('h1').textContent;
	return [title, ...evidenceRows().map(row => row[0] + ': ' + row[1])].join('\n') + '\n';
}

/* ---- at first sight ---- */

function card(label, text, note, cls) {
	return el('div', 'card ' + (cls || ''), el('div', 'label', label), el('div', 'figure', text), note ? el('div', 'note', note) : null);
}

/* A function, to be picked. */
function cardOf(frame, note) {
	const isCode = profile.frames.kind[frame] < SYNTHETIC, made = card(isCode ? 'Hottest function' : 'Most of it', '', note), name = button(profile.frames.name[frame], profile.frames.name[frame], () => pick(frame));
	name.className = 'link';
	made.querySelector('.figure').append(name);
	return made;
}

/* On which machine, and how: the first recording's; a merged profile has several. */
function originText() {
	const all = recordings();
	if (!all.length)
		return '';
	const said = document.querySelector('.subtitle').textContent;
	const cpus = number(all[0], 'cpus'), more = all.length > 1 ? 'and ' + grouped(all.length - 1) + ' more' : '';
	return [textOf(all[0].host), said.includes(textOf(all[0].kernel).split(' ')[0]) ? '' : 'Linux ' + textOf(all[0].kernel), textOf(all[0].cpu), cpus ? grouped(cpus) + ' CPUs' : '', more]
		.filter(text => text && !said.includes(text)).join(' \u00b7 ');
}

/* Under the title: what does not stand there already. */
function showOrigin() {
	const command = recordings().length ? textOf(recordings()[0].command) : '';
	document.getElementById('titles').append(...[originText() && el('p', 'subtitle', originText()),
		command && setAttributes(el('p', 'command', command), { title: command })].filter(Boolean));
}

function cards() {
	if (difference)
		return diffCards();
	const tree = mainTree(state), value = currentValue(state), sums = functionSums(state), shown = verdict(), made = [];
	const all = profile.samples.values[state.value] ? profile.samples.values[state.value].reduce((sum, one) => sum + Math.max(0, one), 0) : 0;
	const isPart = state.steps.length > 0 && tree.total[0] !== all;
	made.push(card(valueName(value), formatIn(value, tree.total[0]), isPart ? percent(tree.total[0], all) + ' of ' + formatIn(value, all) :
		sums.allN !== null && value.type !== 'samples' ? grouped(tree.totalN[0]) + ' samples' : ''));
	const hottest = hottestFunction(sums);
	if (hottest >= 0)
		made.push(cardOf(hottest, share(sums.self[hottest], sums.all, sums.allN === null ? null : sums.n[hottest], sums.allN)));
	const complete = completeShare(), named = namedShare();
	if (complete)
		made.push(card('Stacks complete', percent(complete[0], complete[1]), named ? percent(named[0], named[1]) + ' of frames named' : ''));
	if (costText())
		made.push(card('Profiler\'s cost', costText(), ''));
	const badge = card('Ledger', shown.mark + ' ' + shown.text, facts.balances ? 'the books balance' : '', 'ledger ' + shown.cls);
	badge.title = shown.title;
	made.push(badge);
	return made;
}

function renderEvidence() {
	const key = draftKey(state);
	if (key === renderEvidence.shown)
		return;
	renderEvidence.shown = key;
	replaceChildren(ui.cards, ...cards());
}

function makeEvidence() {
	const list = el('dl', '');
	for (const row of evidenceRows())
		field(list, row[0], row[1]);
	return setAttributes(el('dialog', '', el('div', 'panel-head', el('h2', '', 'Evidence'), button('Copy as text', '', () => copyText(evidenceText())),
		button('\u00d7', 'Close (Escape)', closeDialogs)), list), { id: 'evidence' });
}

/* Nothing to draw: say so, and why. */
function emptyText() {
	if (!profile.samples.cnt)
		return 'The profile is valid and holds no stacks.';
	if (state.steps.length)
		return 'No stack is left after the filters above.';
	return 'None of its ' + grouped(profile.samples.cnt) + ' stacks has a value above zero.';
}
