/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the server. Where it wants a token, that is asked for once and kept as long as the tab is. */
const TOKEN_KEY = 'bpfprof-token';

class ApiError extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

function token() {
	return sessionStorage.getItem(TOKEN_KEY) || '';
}

function setToken(text) {
	if (text)
		sessionStorage.setItem(TOKEN_KEY, text);
	else
		sessionStorage.removeItem(TOKEN_KEY);
}

/* What globs take for more than itself, and the comma between filters. */
function escapeGlob(text) {
	return text.replace(/[\\*?[\],]/g, '\\$&');
}

/* Of the kind and the filters; @range in ms. */
function selection(range, more) {
	const fields = new URLSearchParams();
	if (state.kind)
		fields.set('kind', state.kind);
	fields.set('from', seconds_(range[0]));
	fields.set('to', seconds_(range[1]));
	for (const one of state.select)
		fields.append('select', one.key + '=' + escapeGlob(one.value));
	for (const key of Object.keys(more || {}))
		fields.set(key, more[key]);
	return fields;
}

/* Why the server refused, in its own words where it gave some. */
async function refusal(reply) {
	let text = '';
	try {
		text = String(JSON.parse(await reply.text()).error || '');
	} catch (error) {
		text = '';
	}
	return new ApiError(reply.status, text || 'the server answers ' + reply.status + (reply.statusText ? ' ' + reply.statusText : ''));
}

/* The reply to GET @path; throws ApiError, status 0 where nobody answers, or what @signal was aborted with. */
async function ask(path, signal) {
	let reply;
	try {
		reply = await fetch(path, { headers: token() ? { Authorization: 'Bearer ' + token() } : {}, signal: signal, cache: 'no-store' });
	} catch (error) {
		throw signal && signal.aborted ? error : new ApiError(0, 'the server does not answer');
	}
	if (reply.status === 401)
		askToken();
	if (!reply.ok)
		throw await refusal(reply);
	return reply;
}

async function askJson(path, fields, signal) {
	const reply = await ask(fields ? path + '?' + fields : path, signal);
	try {
		return await reply.json();
	} catch (error) {
		throw signal && signal.aborted ? error : new ApiError(reply.status, 'the server answers what is no JSON');
	}
}

/* ---- the token ---- */

const access = { dialog: null, field: null, words: null };

function askToken() {
	access.words.textContent = token() ? 'The server does not accept this token.' : 'The server wants a token. It is kept until this tab is closed.';
	if (access.dialog.open)
		return;
	access.field.value = '';
	access.dialog.showModal();
	access.field.focus();
}

function takeToken(event) {
	event.preventDefault();
	setToken(access.field.value.trim());
	access.dialog.close();
	start();
}

function makeAccess() {
	access.field = setAttributes(el('input', ''), { type: 'password', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Token' });
	access.words = el('p', '');
	const form = el('form', 'access', el('h2', '', 'Token'), access.words, el('div', 'tools', access.field,
		setAttributes(el('button', '', 'Go on'), { type: 'submit' })));
	form.addEventListener('submit', takeToken);
	access.dialog = setAttributes(el('dialog', '', form), { id: 'access', 'aria-label': 'Token' });
	return access.dialog;
}
