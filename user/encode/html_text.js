/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and words, as svg_unit.c and svg_text.c write them, and what makes elements of them. Before the profile, as html_first.js. */
'use strict';

function grouped(value) {
	return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function scaled(value, table) {
	const size = Math.abs(value);
	const step = table.find(entry => size >= entry[0]) || table[table.length - 1];
	const parts = (size / step[0]).toFixed(step[0] > 1 ? 2 : 0).split('.');
	return (value < 0 ? '\u2212' : '') + grouped(Number(parts[0])) + (parts[1] ? '.' + parts[1] : '') + ' ' + step[1];
}

const TIMES = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];
const SIZES = [[Math.pow(2, 40), 'TiB'], [Math.pow(2, 30), 'GiB'], [Math.pow(2, 20), 'MiB'], [1024, 'KiB'], [1, 'bytes']];

/* What a value of this type counts: 'samples'. */
function nounOf(value) {
	return (value.unit === 'count' || !value.unit) && value.type ? value.type : value.unit || 'samples';
}

function formatIn(value, number) {
	if (value.unit === 'nanoseconds')
		return scaled(number, TIMES);
	if (value.unit === 'bytes')
		return scaled(number, SIZES);
	return grouped(number) + ' ' + nounOf(value);
}

function percent(part, whole) {
	return (whole > 0 ? 100 * part / whole : 0).toFixed(2) + '%';
}

/* Where every digit would be noise. */
function shortPercent(part, whole) {
	const share = whole > 0 ? 100 * part / whole : 0;
	return share.toFixed(share >= 9.95 ? 0 : 1) + '%';
}

/* A value's name in the switcher. */
const VALUE_WORDS = {
	cpu: 'CPU time', samples: 'Samples', wall: 'Wall time', off_cpu: 'Off-CPU time', blocked: 'Blocked', runnable: 'Runnable',
	waits: 'Waits', before: 'Before', after: 'After', max: 'The larger of both', sum: 'Both added', alloc_space: 'Allocated bytes', alloc_objects: 'Allocated blocks', inuse_space: 'Live bytes',
	inuse_objects: 'Live blocks', peak_space: 'Bytes at peak', peak_objects: 'Blocks at peak',
};

function valueName(value) {
	return Object.prototype.hasOwnProperty.call(VALUE_WORDS, value.type) ? VALUE_WORDS[value.type] : value.type || 'value';
}

const NOISE_BELOW = 10; /* samples */

/*
 * How far the share p of n of all samples may be from the truth, in 95 of 100 cases, as percentage points: half of the
 * Wilson interval's width (Wilson 1927), which is also right at the ends.
 */
function marginOf(samples, all) {
	if (!(all > 0))
		return 0;
	const z = 1.959964, p = Math.min(1, Math.max(0, samples / all));
	return 100 * z / (1 + z * z / all) * Math.sqrt(p * (1 - p) / all + z * z / (4 * all * all));
}

/* '12.34% \u00b10.50 (n = 1,234)'; without samples to count, the share alone. */
function share(part, whole, samples, allSamples) {
	const text = percent(part, whole);
	if (samples === null)
		return text;
	return text + ' \u00b1' + marginOf(samples, allSamples).toFixed(2) + ' (n = ' + grouped(samples) + ')';
}

function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

/* East Asian wide characters take two columns. */
function columns(text) {
	let cnt = 0;
	for (const character of text) {
		const code = character.codePointAt(0);
		const isWide = code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xd7a3) ||
			(code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) ||
			(code >= 0xff00 && code <= 0xff60) || code >= 0x1f300);
		cnt += isWide ? 2 : 1;
	}
	return cnt;
}

/* @text cut to @room columns. */
function fit(text, room) {
	if (text.length <= room && columns(text) <= room)
		return text;
	if (room < 2)
		return '';
	let made = '', used = 1;
	for (const character of text) {
		used += columns(character);
		if (used > room)
			break;
		made += character;
	}
	return made + '\u2026';
}

/* 64 bits as hexadecimal. */
function hex(wide, at) {
	const low = wide.low[at].toString(16);
	return '0x' + (wide.high[at] ? wide.high[at].toString(16) + low.padStart(8, '0') : low);
}

function utc(ns) {
	return new Date(ns / 1e6).toISOString().replace('T', ' ').replace(/\..*$/, ' UTC');
}

/* A part of a file's name. */
function fileStem(text) {
	return text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|-+$/g, '').slice(0, 80) || 'profile';
}

/* ---- elements: text from outside goes through textContent, always ---- */

/* An element of class @cls with children: elements and texts. */
function el(name, cls, ...children) {
	const element = document.createElement(name);
	if (cls)
		element.className = cls;
	element.append(...children.filter(child => child !== null));
	return element;
}

function setAttributes(element, attributes) {
	for (const key of Object.keys(attributes))
		element.setAttribute(key, attributes[key]);
	return element;
}

function button(text, title, action) {
	const element = setAttributes(el('button', '', text), { type: 'button' });
	if (title)
		element.title = title;
	element.addEventListener('click', action);
	return element;
}

function replaceChildren(element, ...children) {
	element.replaceChildren(...children.filter(child => child !== null));
}
