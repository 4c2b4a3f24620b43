# SPDX-License-Identifier: Apache-2.0
"""A report in a tab of the browser, in the words of html_browser.py's tests."""

import collections
import json
import os
import subprocess
import time

from browser_tests import check, equal
from chromium import Page

FOLDER = ""  # set by the test: where the reports are
BPFPROF = ""

# Helpers inside the page; what is drawn is asked of the layout that the canvas is drawn from.
HELPERS = """
window.drawn = () => flame.parts.flatMap(part => part.rows.flatMap(row => row.node.map((node, i) =>
	({ part: part, node: node, name: labelOf(part.tree, node), narrow: row.narrow[i], width: row.right[i] - row.left[i] }))));
window.point = name => { const one = drawn().find(at => at.name === name && !at.narrow);
	if (!one) return null;
	scrollToNode(one);
	const place = boxOf(one.part, one.node), box = flame.canvas.getBoundingClientRect();
	return [box.x + (place.left + place.right) / 2, box.y + place.y - flame.scroller.scrollTop + 9]; };
window.middle = element => { const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
window.visible = selector => Array.from(document.querySelectorAll(selector)).filter(one => one.offsetParent !== null);
window.byText = (selector, text) => visible(selector).find(one => one.textContent === text);
window.saved = [];
URL.createObjectURL = blob => { saved.push(blob); return 'blob:none'; };
HTMLAnchorElement.prototype.click = function () { saved.name = this.download; };
"""


# Boxes of the first picture: depth, name (as much as the widest screen shows), width and colour (of a plain name that is
# whole); of the report's graph, those that are as wide.
SHOWN = """const shown = (depth, name, share, colour) => { const all = Array.from(name), most = Math.floor(share * 640) + 1;
	return [depth, all.slice(0, most).join(''), share.toFixed(4), all.length < most && /^[ -~]+$/.test(name) && !name.includes('?') ? colour : '']; }; """
FIRST = """(() => { const boxes = JSON.parse(document.getElementById('boxes').textContent), made = []; """ + SHOWN + """
	const style = getComputedStyle(document.documentElement);
	for (let i = 0; i < boxes.length; i += BOX_FIELDS)
		if (boxes[i + 5])
			made.push(shown(boxes[i], boxes[i + 5], boxes[i + 2] / 1e5, style.getPropertyValue('--' + boxes[i + 3])));
	return made.sort().map(String); })()"""
WHOLE = """(() => { const tree = mainTree(state), made = []; """ + SHOWN + """
	for (let i = 0; i < tree.cnt; i++)
		if (150 * tree.total[i] >= tree.total[0])
			made.push(shown(tree.depth[i], boxLabel(tree, i), tree.total[i] / tree.total[0], colourOf(tree, i)));
	return made.sort().map(String); })()"""


class Report(Page):
    """A report in a tab, in the words of the tests."""

    def __init__(self, browser, name, fragment="", **options):
        self.url = "file://%s/%s.html" % (FOLDER, name)
        super().__init__(browser, self.url + fragment, **options)
        if options.get("scripts", True):
            self.begin()

    def begin(self):
        check(self.wait("document.documentElement.dataset.ready"), "the page does not start: %r" % self.complaints())
        self.eval(HELPERS)

    def reload(self, fragment):
        self.go("about:blank")
        self.go(self.url + fragment)
        self.begin()

    def check_first(self):
        """The first picture is that of the graph."""
        first, whole = self.eval(FIRST), self.eval(WHOLE)
        check(first, "no boxes")
        equal(first, whole, "boxes of " + self.url)

    def names(self):
        return self.eval("drawn().map(at => at.name)")

    def has(self, name):
        return name in self.names()

    def frame_point(self, name):
        point = self.eval("point(%s)" % json.dumps(name))
        check(point, "no frame %s" % name)
        self.settle()
        return point

    def click_frame(self, name):
        self.click(*self.frame_point(name))
        self.settle()

    def press(self, text, selector="button"):
        point = self.eval("(e => e ? middle(e) : null)(byText(%s, %s))" % (json.dumps(selector), json.dumps(text)))
        check(point, "no button %s" % text)
        self.click(*point)

    def is_full(self, name):
        return self.eval("drawn().some(at => at.name === %s && Math.abs(at.width - flame.width) < 1)" % json.dumps(name))

    def text(self, selector):
        return self.eval("document.querySelector(%s).innerText" % json.dumps(selector))

    def panel(self):
        return self.text("#panel")

    def hash(self):
        time.sleep(0.25)  # the address follows typing after 0.2 s
        return self.eval("location.hash")

    def chips(self):
        return self.eval("visible('.chip > span').map(e => e.textContent)")

    def total(self):
        return self.eval("mainTree(state).total[0]")

    def search(self, text):
        self.key("/")
        self.type(text)

    def keys(self, text):
        for key in text:
            self.key(key)

    def saved(self):
        """What the last download holds, and its name."""
        check(self.wait("saved.length > 0"), "nothing was saved")
        data = self.eval("saved[saved.length - 1].arrayBuffer().then(b => Array.from(new Uint8Array(b)))")
        self.eval("saved.length = 0")
        return bytes(data), self.eval("saved.name")


def folded(data):
    """A multiset of stacks. A byte that is not UTF-8 is U+FFFD in the page and '?' in text."""
    made = collections.Counter()
    for line in data.decode().replace("\ufffd", "?").splitlines():
        stack, _, value = line.rpartition(" ")
        made[stack] += int(value)
    return made


def close_to(got, expected, what):
    """Equal but for what a double cannot hold."""
    check(len(got) == len(expected) and all(abs(a - b) <= abs(b) * 1e-15 for a, b in zip(got, expected)),
          "%s: %r, expected %r" % (what, got, expected))


def converted(source, extension, *options):
    """What bpfprof makes of a file in FOLDER."""
    output = os.path.join(FOLDER, "converted" + extension)
    subprocess.run([BPFPROF, "convert", source, "-o", output, "--force", *options], check=True, cwd=FOLDER)
    with open(output, "rb") as file:
        return file.read()
