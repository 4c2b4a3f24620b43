/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shown range holds, asked for whenever it or the filters change, and again and again while it follows. Each
 * load ends the one before; what is shown stays until the next is there.
 */
const GAPS_ASKED = 8; /* the longest; what is in shorter ones is not asked for */
const FOLLOW_MIN_MS = 2e3, FOLLOW_MAX_MS = 60e3;

const view = {
	info: null, kinds: [], plan: null, unit: '', coverage: null, windowMs: WINDOW_USUAL_MS, series: [], found: null, presence: null, gaps: [],
	error: '', isLoading: false, isEmpty: false, abort: null, timer: 0, isFresh: false, isStale: true,
};

function timelineFields(plan, more) {
	return selection([plan.from, plan.to], Object.assign({ points: plan.points }, more));
}

/* Without filters: where windows start. */
function plainFields(plan) {
	const fields = new URLSearchParams({ from: seconds_(plan.from), to: seconds_(plan.to), points: plan.points });
	if (state.kind)
		fields.set('kind', state.kind);
	return fields;
}

/* An answer that is none would break what is drawn from it. */
function checkTimeline(answer) {
	if (!answer || !Array.isArray(answer.series) || !answer.series.every(one => Array.isArray(one.values)))
		throw new ApiError(200, 'the server answers what is no timeline');
	return answer;
}

async function loadTimeline(fields, signal) {
	return checkTimeline(await askJson('/api/timeline', fields, signal));
}

/* Steps without samples are idle where windows cover them, else gaps, with what is known of them. */
async function explainGaps(made, signal) {
	const plan = made.plan, coverage = made.coverage, at = step => plan.from + step * plan.step;
	const inside = gap => at(gap[0]) >= coverage.first && at(gap[1]) <= coverage.last;
	const gaps = coverage.windows ? gapsOf(made.presence) : [[0, plan.points]];
	const asked = gaps.filter(inside).sort((one, two) => (two[1] - two[0]) - (one[1] - one[0])).slice(0, GAPS_ASKED);
	const answers = await Promise.all(asked.map(gap => askJson('/api/coverage', new URLSearchParams({ from: seconds_(at(gap[0])), to: seconds_(at(gap[1])) }), signal)));
	made.gaps = gaps.map(function (gap) {
		const known = answers[asked.indexOf(gap)], isIdle = known && known.windows > 0;
		if (isIdle)
			made.presence.fill(1, gap[0], gap[1]);
		return isIdle ? null : { from: at(gap[0]), to: at(gap[1]), dropped: known ? known.tombstones : 0 };
	}).filter(gap => gap !== null);
}

async function loadView(signal) {
	const range = shownRange(), made = { gaps: [], found: null };
	made.coverage = await askJson('/api/coverage', new URLSearchParams({ from: seconds_(range[0]), to: seconds_(range[1]) }), signal);
	made.windowMs = made.coverage.windows > 0 ? made.coverage.covered_ms / made.coverage.windows : view.windowMs;
	made.plan = planSteps(range, made.windowMs);
	const grouped_ = timelineFields(made.plan, { by: state.by });
	const wanted = [loadTimeline(grouped_, signal), state.select.length ? loadTimeline(plainFields(made.plan), signal) : null,
		state.name ? loadTimeline(timelineFields(made.plan, { by: state.by, function: state.name }), signal) : null];
	const [answer, plain, found] = await Promise.all(wanted), all = plain || answer;
	made.unit = String(answer.unit || '');
	made.series = ratesOf(answer, made.plan, all, made.coverage, made.windowMs);
	made.presence = presenceOf(made.plan, all, made.coverage, made.windowMs);
	if (found)
		made.found = ratesOf(found, made.plan, all, made.coverage, made.windowMs);
	await explainGaps(made, signal);
	return made;
}

async function loadInfo(signal) {
	view.info = await askJson('/api/info', null, signal);
	view.isStale = false;
	view.isEmpty = !view.info.last;
	const answer = view.isEmpty ? { kinds: [] } : await askJson('/api/kinds', new URLSearchParams({ from: seconds_(view.info.first), to: seconds_(view.info.last + 1e3) }), signal);
	view.kinds = answer.kinds || [];
	if (!view.kinds.some(kind => kind.name === state.kind))
		state.kind = view.kinds.length ? (view.kinds.find(kind => kind.name === 'cpu') || view.kinds[0]).name : '';
}

function followMs() {
	return Math.min(FOLLOW_MAX_MS, Math.max(FOLLOW_MIN_MS, view.windowMs / 2, state.span / POINTS_MAX));
}

/* Not while nobody looks. */
function followSoon() {
	clearTimeout(view.timer);
	if (state.end === null && !document.hidden)
		view.timer = setTimeout(load, followMs());
}

async function load() {
	if (view.abort)
		view.abort.abort();
	const abort = view.abort = new AbortController();
	clearTimeout(view.timer);
	view.isLoading = true;
	renderStatus();
	try {
		/* What is there may have changed where it was not what was looked for. */
		if (view.isStale || view.isEmpty || !view.coverage || !view.coverage.windows)
			await loadInfo(abort.signal);
		renderReport();
		if (!view.isEmpty)
			Object.assign(view, await loadView(abort.signal));
		view.error = '';
	} catch (error) {
		if (abort.signal.aborted)
			return;
		view.error = error.message;
		if (!(error instanceof ApiError))
			throw error;
	} finally {
		if (view.abort === abort) {
			view.isLoading = false;
			view.isFresh = true;
			renderView();
			followSoon();
		}
	}
}

/* Of a drag or a key that repeats, the last one asks. */
function loadSoon() {
	clearTimeout(view.timer);
	view.timer = setTimeout(load, 120);
}
