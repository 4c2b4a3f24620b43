/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first picture, drawn before the profile is read: the flame graph of html_first.c in the place where the report will
 * have it. It stands in a script of its own, together with html_text.js, in the head of the page, and prepares there: a
 * server sends that much before it knows what the report is. The report's other parts use what is here, too. A link to
 * another view than the first one has no such picture.
 */
const ROW = 19;
const LABEL_FROM = 26; /* px */
const GAP_FROM = 3; /* px: narrower ones would lose too much of their width */
const INLINED = 1; /* enum flame_flags */
const BOX_FIELDS = 6; /* depth, left, width, colour, flags, name */
const FIRST_WAIT_MS = 200; /* where the browser paints nothing, the report does not wait for it */

const first = { element: null, painted: Promise.resolve(), context: null, paint: null };

/* The theme that the address asks for, or the system's. */
function showTheme(theme) {
	const isDark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
	document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

/* The font of names, and how wide its characters are. */
function nameFont(context) {
	const made = { font: '11.5px ' + getComputedStyle(document.documentElement).getPropertyValue('--mono'), charWidth: 7 };
	context.font = made.font;
	made.charWidth = context.measureText('M'.repeat(100)).width / 100 || made.charWidth;
	return made;
}

function hatchPattern(context, ground, line) {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 6;
	const on = tile.getContext('2d');
	if (ground) {
		on.fillStyle = ground;
		on.fillRect(0, 0, 6, 6);
	}
	on.strokeStyle = line;
	on.lineWidth = 1.2;
	on.beginPath();
	for (const from of [-6, 0, 6]) {
		on.moveTo(from, 6);
		on.lineTo(from + 6, 0);
	}
	on.stroke();
	return context.createPattern(tile, 'repeat');
}

/* From the names of the style's colours to what fills with them. */
function makeColours(context) {
	const style = getComputedStyle(document.documentElement), known = new Map();
	const colour = name => style.getPropertyValue('--' + name).trim();
	known.set('s', hatchPattern(context, colour('hatch-ground'), colour('hatch-line')));
	return function (name) {
		if (!known.has(name))
			known.set(name, colour(name));
		return known.get(name);
	};
}

function drawFirstBox(context, box, place, paint) {
	const isInlined = (box.flags & INLINED) !== 0, wide = place.wide - (place.wide >= GAP_FROM ? 1 : 0);
	context.globalAlpha = isInlined ? 0.62 : 1;
	context.fillStyle = paint.colour(box.colour);
	context.fillRect(place.left, place.y, wide, isInlined ? ROW : ROW - 1);
	if (wide < LABEL_FROM || !box.name)
		return;
	context.globalAlpha = 1;
	context.fillStyle = paint.colour('pbq'.includes(box.colour) ? 'ink-on-strong' : 'ink');
	context.font = (isInlined ? 'italic ' : '') + paint.font;
	context.fillText(fit(box.name, Math.floor((wide - 8) / paint.charWidth)), place.left + 5, place.y + 13.5);
}

function drawFirstBoxes(boxes, width, height) {
	const context = first.context, paint = first.paint, scale = width / boxes[2];
	context.fillStyle = paint.colour('ground');
	context.fillRect(0, 0, width, height);
	for (let i = 0; i < boxes.length; i += BOX_FIELDS) {
		const y = boxes[i] * ROW, left = Math.min(Math.round(boxes[i + 1] * scale), width - 1);
		const right = Math.max(left + 1, Math.round((boxes[i + 1] + boxes[i + 2]) * scale));
		if (y < height)
			drawFirstBox(context, { colour: boxes[i + 3], flags: boxes[i + 4], name: boxes[i + 5] },
				     { left: left, wide: right - left, y: y }, paint);
	}
}

/* A browser looks for a font when it is first used. */
function findFonts(context, paint) {
	const sans = getComputedStyle(document.documentElement).getPropertyValue('--sans');
	for (const font of ['italic ' + paint.font, '13px ' + sans, '650 19px ' + sans]) {
		context.font = font;
		context.measureText('M');
	}
}

function prepareFirst() {
	const context = document.createElement('canvas').getContext('2d', { alpha: false });
	showTheme(new URLSearchParams(location.hash.slice(1)).get('m'));
	first.context = context;
	first.paint = Object.assign({ colour: makeColours(context) }, nameFont(context));
	findFonts(context, first.paint);
}

/* The boxes are there. */
function drawFirst() {
	const boxes = JSON.parse(document.getElementById('boxes').textContent), fields = new URLSearchParams(location.hash.slice(1));
	fields.delete('m');
	if (!boxes.length || fields.size)
		return;
	const canvas = first.context.canvas, ratio = window.devicePixelRatio || 1;
	first.element = document.getElementById('first');
	const width = first.element.clientWidth, height = first.element.clientHeight;
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	first.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	drawFirstBoxes(boxes, width, height);
	first.element.append(canvas, el('p', 'coming', 'The rest of this report is not here yet'));
	first.painted = new Promise(function (done) {
		requestAnimationFrame(() => setTimeout(function () {
			document.documentElement.dataset.painted = String(Math.round(performance.now()));
			done();
		}));
		setTimeout(done, FIRST_WAIT_MS);
	});
}

prepareFirst();
