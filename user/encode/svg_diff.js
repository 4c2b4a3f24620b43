/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a differential graph: instead of a kind, a frame tells what changed. data.diff has, per node of the
 * tree, its class, what was before, after, the change and its margin, and the word for how sure it is.
 */
const diffOf = data.diff;

function signed(value) {
	return (value < 0 ? '\u2212' : '+') + formatValue(Math.abs(value));
}

/* How much more, as on the label: '+26.0 %', 'new', 'gone'. */
function changeOf(node) {
	const before = diffOf.before[node];

	if (!diffOf.after[node])
		return 'gone';
	if (!before)
		return 'new';
	const share = 100 * diffOf.change[node] / before;
	return (share < 0 ? '\u2212' : '+') + Math.abs(share).toFixed(1) + ' %';
}

function changed(node) {
	return formatValue(diffOf.before[node]) + ', then ' + formatValue(diffOf.after[node]) + ': ' +
		signed(diffOf.change[node]) + ' \u00b1 ' + formatValue(diffOf.margin[node]) + ', ' +
		changeOf(node) + ', ' + diffOf.words[diffOf.sure[node]];
}

classOf = function (node) {
	return diffOf.classes[diffOf.class[node]];
};

describe = function (node) {
	return nameOf(node) + ' (' + changed(node) + ')';
};

labelOf = function (node) {
	const isSure = /^[xy]/.test(classOf(node));
	return nameOf(node) + (isSure ? ' ' + changeOf(node) : '');
};

figures = function (node) {
	return changed(node) + MIDDLE_DOT + percent(tree.total[node], tree.total[0]) + ' of the width';
};
