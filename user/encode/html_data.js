/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the report, part 1: the profile, read from the page. html.c puts the parts one behind the other into
 * one script element (html_text.js and html_first.js, which come before the profile, into another): they share their
 * names, later ones may use earlier ones at once and any from functions. What is read and how it is laid out: the heads
 * of html_data.c and html_facts.c.
 */
'use strict';

const facts = JSON.parse(document.getElementById('facts').textContent);

/* Kinds of frames: enum flame_kind. */
const ROOT = 0, PROCESS = 1, USER = 2, LIBRARY = 3, JIT = 4, KERNEL = 5, SYNTHETIC = 6, BLOCKED = 7, RUNNABLE = 8,
	WOKEN_BY = 9;
const GZIP_MAGIC = 0x1f; /* its first byte */
const LOCATION_WAKER = 4; /* enum profile_location_flags */

function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

async function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Numbers from @bytes, one behind the other. */
function makeReader(bytes) {
	let at = 0;

	/* The next number; beyond 2^53 the nearest that there is. */
	function next() {
		let byte = bytes[at++];
		if (byte < 128)
			return byte;
		let value = byte & 127, scale = 128;
		do {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte >= 128);
		return value;
	}

	function signed() {
		const value = next();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	function column(Type, cnt) {
		const made = new Type(cnt);
		for (let i = 0; i < cnt; i++)
			made[i] = next();
		return made;
	}

	function signedColumn(cnt) {
		const made = new Float64Array(cnt);
		for (let i = 0; i < cnt; i++)
			made[i] = signed();
		return made;
	}

	function raw(cnt) {
		at += cnt;
		return bytes.subarray(at - cnt, at);
	}

	return {
		next: next, signed: signed, signedColumn: signedColumn, raw: raw,
		u8: cnt => column(Uint8Array, cnt),
		u32: cnt => column(Uint32Array, cnt),
		wide: cnt => ({ high: column(Uint32Array, cnt), low: column(Uint32Array, cnt) }),
	};
}

function readStrings(reader) {
	const lengths = reader.u32(reader.next());
	const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(reader.raw(reader.next()));
	const strings = new Array(lengths.length);
	let at = 0;
	for (let i = 0; i < lengths.length; i++)
		strings[i] = text.slice(at, at += lengths[i]);
	return strings;
}

function readFunctions(reader) {
	const cnt = reader.next();
	return { cnt: cnt, name: reader.u32(cnt), systemName: reader.u32(cnt), file: reader.u32(cnt), line: reader.u32(cnt) };
}

function readMappings(reader) {
	const cnt = reader.next();
	if (!cnt)
		return { cnt: 0, path: [], buildId: [] };
	return {
		cnt: cnt, path: reader.u32(cnt), buildId: reader.u32(cnt), start: reader.wide(cnt), limit: reader.wide(cnt),
		offset: reader.wide(cnt), flags: reader.u32(cnt),
	};
}

function readLocations(reader) {
	const cnt = reader.next();
	const made = {
		cnt: cnt, mapping: reader.u32(cnt), address: reader.wide(cnt), flags: reader.u8(cnt), kind: reader.u8(cnt),
		name: reader.u32(cnt), lineCnt: reader.u32(cnt), firstLine: new Uint32Array(cnt),
	};
	for (let i = 1; i < cnt; i++)
		made.firstLine[i] = made.firstLine[i - 1] + made.lineCnt[i - 1];
	const lines = reader.next();
	made.lineFunction = reader.u32(lines);
	made.lineNumber = reader.u32(lines);
	return made;
}

/* The trie with its parents: -1 for process frames. */
function readTrie(reader) {
	const cnt = reader.next(), parent = new Int32Array(cnt);
	for (let i = 0; i < cnt; i++) {
		let above = i - 1;
		for (let up = reader.next(); up > 0; up--)
			above = parent[above];
		parent[i] = above;
	}
	return { cnt: cnt, parent: parent, ref: reader.u32(cnt) };
}

function readLabels(reader) {
	const sets = reader.u32(reader.next());
	const cnt = sets.reduce((sum, one) => sum + one, 0);
	const keys = reader.u32(cnt), isString = reader.u8(cnt), made = [];
	const values = Array.from(isString, is => is ? reader.next() : reader.signed());
	const units = reader.u32(cnt);
	let at = 0;
	for (const size of sets) {
		const set = [];
		for (let i = 0; i < size; i++, at++)
			set.push({ key: keys[at], isString: isString[at] === 1, value: values[at], unit: units[at] });
		made.push(set);
	}
	return made;
}

function nanoseconds(wide) {
	return wide.high[0] * 4294967296 + wide.low[0];
}

function readValueTypes(reader, profile) {
	const cnt = reader.next(), types = reader.u32(cnt), units = reader.u32(cnt);
	profile.values = Array.from(types, (type, i) => ({ type: profile.strings[type], unit: profile.strings[units[i]] }));
	profile.defaultValue = reader.next();
	profile.period = { type: profile.strings[reader.next()], unit: profile.strings[reader.next()], number: reader.signed() };
	profile.timeWide = reader.wide(1);
	profile.startNs = nanoseconds(profile.timeWide);
	profile.durationWide = reader.wide(1);
	profile.durationNs = nanoseconds(profile.durationWide);
}

function readSamples(reader, valueCnt) {
	const cnt = reader.next(), node = reader.u32(cnt), labels = reader.u32(cnt), values = [];
	for (let i = 1; i < cnt; i++)
		node[i] += node[i - 1];
	for (let i = 0; i < valueCnt; i++)
		values.push(reader.signedColumn(cnt));
	return { cnt: cnt, node: node, labels: labels, values: values };
}

function readProfile(bytes) {
	const reader = makeReader(bytes), profile = {};
	if (reader.next() !== 1)
		throw new Error('this page\'s data are of another version');
	profile.strings = readStrings(reader);
	profile.functions = readFunctions(reader);
	profile.mappings = readMappings(reader);
	profile.locations = readLocations(reader);
	profile.trie = readTrie(reader);
	profile.labelSets = readLabels(reader);
	readValueTypes(reader, profile);
	profile.samples = readSamples(reader, profile.values.length);
	profile.times = readTimes(profile);
	return profile;
}

/*
 * What is drawn is frames: a name and a kind, so that a `read` of libc and one of the kernel are two. They are numbered
 * in the order of their first use; of a location's frames, root-most first, locationFrames has the numbers from
 * firstFrame[location] on. A frame remembers the first location and line that it was seen at.
 */
function makeFrames(profile) {
	const locations = profile.locations, index = new Map();
	const frames = { name: [], kind: [], isWaker: [], location: [], fn: [] };

	function intern(name, kind, isWaker, location, fn) {
		const key = (name * 16 + kind) * 2 + (isWaker ? 1 : 0);
		let frame = index.get(key);
		if (frame === undefined) {
			index.set(key, frame = frames.name.length);
			frames.name.push(profile.strings[name]);
			frames.kind.push(kind);
			frames.isWaker.push(isWaker);
			frames.location.push(location);
			frames.fn.push(fn);
		}
		return frame;
	}

	const first = new Uint32Array(locations.cnt + 1), items = [];
	for (let i = 0; i < locations.cnt; i++) {
		const isWaker = (locations.flags[i] & LOCATION_WAKER) !== 0, lines = locations.lineCnt[i];
		for (let line = lines - 1; line >= 0; line--) {
			const fn = locations.lineFunction[locations.firstLine[i] + line] - 1;
			const named = fn >= 0 && profile.functions.name[fn] !== 0;
			items.push(intern(named ? profile.functions.name[fn] : locations.name[i], locations.kind[i], isWaker, i, fn));
		}
		if (!lines)
			items.push(intern(locations.name[i], locations.kind[i], isWaker, i, -1));
		first[i + 1] = items.length;
	}
	profile.firstFrame = first;
	profile.locationFrames = Uint32Array.from(items);
	/* Process frames and folded libraries have numbers, too, that no order of events changes. */
	profile.processFrame = name => intern(name, PROCESS, false, -1, -1);
	profile.libraryFrame = new Map();
	for (let i = 0; i < profile.trie.cnt; i++)
		if (profile.trie.parent[i] < 0)
			profile.processFrame(profile.trie.ref[i]);
	for (let i = 0; i < profile.mappings.cnt; i++) {
		const name = baseName(profile.strings[profile.mappings.path[i]]);
		if (profile.libraryFrame.has(name))
			continue;
		profile.strings.push('[' + name + ']');
		profile.libraryFrame.set(name, intern(profile.strings.length - 1, LIBRARY, false, -1, -1));
	}
	profile.frames = frames;
	return profile;
}

async function loadProfile() {
	const element = document.getElementById('profile');
	const data = fromBase64(element.textContent);
	element.textContent = '';
	/* What is not compressed begins with its version. */
	const made = makeFrames(readProfile(data[0] === GZIP_MAGIC ? await inflate(data) : data));
	if (difference)
		prepareDifference(made);
	return made;
}
