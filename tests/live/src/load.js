// SPDX-License-Identifier: Apache-2.0
// A load for Node: optimised and interpreted JavaScript, builtins, native code, workers. Runs until killed.
const { Worker, isMainThread } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');

function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

class Tree {
	constructor(depth) {
		this.kids = depth ? [new Tree(depth - 1), new Tree(depth - 1)] : [];
	}
	count() {
		return this.kids.reduce((sum, kid) => sum + kid.count(), 1);
	}
}

function work() {
	fib(20);
	new Tree(9).count();
	const items = Array.from({ length: 2000 }, (_, i) => ({ key: (i * 7919) % 2003, text: 'item ' + i }));
	items.sort((a, b) => a.key - b.key);
	const text = JSON.stringify(items);
	JSON.parse(text).map((item) => item.text.replace(/(\w+) (\d+)/, '$2 $1'));
	crypto.createHash('sha256').update(zlib.deflateSync(text)).digest('hex');
	// A function that is always new: compiled, run a few times in the interpreter, forgotten.
	new Function('x', `let s = ${Math.random()}; for (let i = 0; i < 200; i++) s += x * i; return s`)(2);
	setImmediate(work);
}

if (isMainThread)
	new Worker(__filename);
work();
