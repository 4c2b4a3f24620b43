/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part 14: the whole profile as pprof (google/pprof, proto/profile.proto), with the ledger among its comments. Ids are
 * indices + 1, as pprof_encode.c has them; the field numbers are pprof.h's.
 */
const LOCATION_FLAGS_FIELD = 1000; /* our own: enum profile_location_flags */

/* Bytes of protobuf messages. */
function makeWriter() {
	let bytes = new Uint8Array(1 << 16), at = 0;

	function room(cnt) {
		if (at + cnt > bytes.length)
			bytes = grown(bytes, Math.max(2 * bytes.length, at + cnt));
	}

	function big(value) {
		value = BigInt.asUintN(64, value);
		room(10);
		while (value > 127n) {
			bytes[at++] = Number(value & 127n) | 128;
			value >>= 7n;
		}
		bytes[at++] = Number(value);
	}

	function varint(value) {
		if (value < 0 || value > Number.MAX_SAFE_INTEGER) {
			big(BigInt(value));
			return;
		}
		room(10);
		while (value > 127) {
			bytes[at++] = value % 128 | 128;
			value = Math.floor(value / 128);
		}
		bytes[at++] = value;
	}

	function block(data) {
		varint(data.length);
		room(data.length);
		bytes.set(data, at);
		at += data.length;
	}

	return {
		varint: varint,
		number: function (field, value) {
			varint(field * 8);
			varint(value);
		},
		wide: function (field, value, which) {
			varint(field * 8);
			big(BigInt(value.high[which]) << 32n | BigInt(value.low[which]));
		},
		bytes: function (field, data) {
			varint(field * 8 + 2);
			block(data);
		},
		message: function (field, fill) {
			const inner = makeWriter.spare.pop() || makeWriter();
			inner.reset();
			fill(inner);
			varint(field * 8 + 2);
			block(inner.done());
			makeWriter.spare.push(inner);
		},
		reset: () => { at = 0; },
		done: () => bytes.subarray(0, at),
	};
}
makeWriter.spare = []; /* writers of inner messages, to be used again */

function packed(writer, field, list) {
	writer.message(field, inner => list.forEach(value => inner.varint(value)));
}

function writeValueType(writer, field, type, unit) {
	writer.message(field, function (inner) {
		inner.number(1, type);
		inner.number(2, unit);
	});
}

function writeLabel(writer, label) {
	writer.message(3, function (inner) {
		inner.number(1, label.key);
		inner.number(label.isString ? 2 : 3, label.value);
		if (!label.isString && label.unit)
			inner.number(4, label.unit);
	});
}

function writeSample(writer, i) {
	const samples = profile.samples, trie = profile.trie, stack = [];
	for (let node = samples.node[i]; trie.parent[node] >= 0; node = trie.parent[node])
		stack.push(trie.ref[node] + 1);
	writer.message(2, function (inner) {
		packed(inner, 1, stack);
		packed(inner, 2, samples.values.map(values => values[i]));
		profile.labelSets[samples.labels[i]].forEach(label => writeLabel(inner, label));
	});
}

function writeMapping(writer, i) {
	const mappings = profile.mappings;
	writer.message(3, function (inner) {
		inner.number(1, i + 1);
		inner.wide(2, mappings.start, i);
		inner.wide(3, mappings.limit, i);
		inner.wide(4, mappings.offset, i);
		inner.number(5, mappings.path[i]);
		inner.number(6, mappings.buildId[i]);
		for (let bit = 0; bit < 4; bit++)
			inner.number(7 + bit, mappings.flags[i] >> bit & 1);
	});
}

/* @named: of names without a function, the functions that are made for them. */
function writeLocation(writer, i, named) {
	const locations = profile.locations, first = locations.firstLine[i];
	writer.message(4, function (inner) {
		inner.number(1, i + 1);
		inner.number(2, locations.mapping[i]);
		inner.wide(3, locations.address, i);
		for (let line = first; line < first + locations.lineCnt[i]; line++)
			inner.message(4, function (at) {
				at.number(1, locations.lineFunction[line]);
				at.number(2, locations.lineNumber[line]);
			});
		if (!locations.lineCnt[i] && locations.kind[i] === SYNTHETIC)
			inner.message(4, at => at.number(1, named(locations.name[i])));
		inner.number(LOCATION_FLAGS_FIELD, locations.flags[i]);
	});
}

function writeFunction(writer, id, name, systemName, file, line) {
	writer.message(5, function (inner) {
		inner.number(1, id);
		inner.number(2, name);
		inner.number(3, systemName);
		inner.number(4, file);
		inner.number(5, line);
	});
}

function writeLocations(writer) {
	const functions = profile.functions, made = new Map();
	const named = function (name) {
		if (!made.has(name))
			made.set(name, functions.cnt + 1 + made.size);
		return made.get(name);
	};
	for (let i = 0; i < profile.locations.cnt; i++)
		writeLocation(writer, i, named);
	for (let i = 0; i < functions.cnt; i++)
		writeFunction(writer, i + 1, functions.name[i], functions.systemName[i], functions.file[i], functions.line[i]);
	for (const [name, id] of made)
		writeFunction(writer, id, name, name, 0, 0);
}

function pprofBytes() {
	const writer = makeWriter(), strings = profile.strings.slice(), encoder = new TextEncoder();
	const string = function (text) {
		const at = strings.indexOf(text);
		return at >= 0 ? at : strings.push(text) - 1;
	};
	for (const value of profile.values)
		writeValueType(writer, 1, string(value.type), string(value.unit));
	for (let i = 0; i < profile.samples.cnt; i++)
		writeSample(writer, i);
	for (let i = 0; i < profile.mappings.cnt; i++)
		writeMapping(writer, i);
	writeLocations(writer);
	if (profile.startNs)
		writer.wide(9, profile.timeWide, 0);
	if (profile.durationNs)
		writer.wide(10, profile.durationWide, 0);
	if (profile.period.type || profile.period.unit)
		writeValueType(writer, 11, string(profile.period.type), string(profile.period.unit));
	writer.number(12, profile.period.number);
	for (const text of facts.comments)
		writer.number(13, string(text));
	if (profile.values.length)
		writer.number(14, string(profile.values[profile.defaultValue].type));
	for (const text of strings)
		writer.bytes(6, encoder.encode(text));
	return writer.done();
}

async function savePprof() {
	const stream = new Blob([pprofBytes()]).stream().pipeThrough(new CompressionStream('gzip'));
	download([await new Response(stream).arrayBuffer()], 'application/gzip', '.pb.gz');
}
