# SPDX-License-Identifier: Apache-2.0
"""The page of a profiled host in a tab of the browser, in the words of page_browser.py's tests."""

import json
import os
import time
import urllib.parse

import page_server
from browser_tests import check
from chromium import Page

SERVER = None  # serve()
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
HELPERS = """
window.middle = element => { const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
window.visible = selector => Array.from(document.querySelectorAll(selector)).filter(one => one.offsetParent !== null);
window.byText = (selector, text) => visible(selector).find(one => one.textContent.trim() === text);
window.saved = []; window.opened = [];
window.open = url => { opened.push(url); };
HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]); };
window.framed = () => { const inside = ui.frame.contentDocument; return inside && inside.body && inside.documentElement.dataset.ready ? inside.body.innerText : ''; };
"""


def serve(*paths):
    """From now on: the tree that is the current folder, with a report and a difference."""
    global SERVER
    reports = []
    for path in paths:
        with open(path, "rb") as file:
            reports.append(file.read())
    SERVER = page_server.Server(os.getcwd(), *reports)


class Host(Page):
    """The page in a tab."""

    def __init__(self, browser, scene=None, fragment="", **options):
        self.expected = []
        self.server = SERVER
        self.server.scene = scene or page_server.Scene()
        self.server.requests.clear()
        super().__init__(browser, SERVER.url + fragment, **options)
        self.begin()

    def begin(self):
        check(self.wait("document.documentElement.dataset.ready"), "the page does not start: %r" % self.complaints())
        self.eval(HELPERS)

    def reload(self, fragment):
        self.go("about:blank")
        self.go(SERVER.url + fragment)
        self.begin()

    def complaints(self):
        own = ("request: " + SERVER.url, "request: blob:" + SERVER.url)
        return [one for one in super().complaints() if not one.startswith(own) and not any(text in one for text in self.expected)]

    def text(self, selector):
        return self.eval("document.querySelector(%s).innerText" % json.dumps(selector))

    def press(self, text, selector="button"):
        point = self.eval("(e => { if (!e) return null; e.scrollIntoView({ block: 'nearest' }); return middle(e); })(byText(%s, %s))" %
                          (json.dumps(selector), json.dumps(text)))
        check(point, "no button %s" % text)
        self.click(*point)

    def hash(self):
        time.sleep(0.25)  # the address follows after 0.2 s
        return self.eval("location.hash")

    def loaded(self):
        """Until what was asked for is there."""
        time.sleep(0.15)  # what follows keys waits for the last of them
        check(self.wait("!view.isLoading"), "still loading")
        self.settle()

    def asked(self, path):
        """The last request for @path: its fields."""
        found = [one for one in self.server.requests if one.split("?")[0] == path]
        check(found, "%s was not asked" % path)
        return urllib.parse.parse_qs(found[-1].partition("?")[2])

    def point(self, ms, high=0.5):
        return self.eval("(box => [box.x + xOf(%r), box.y + CHART_TOP + %r * (chart.height - AXIS_HIGH - CHART_TOP)])(chart.top.getBoundingClientRect())" % (ms, high))

    def drag(self, start, end, shift=False):
        modifiers = 8 if shift else 0
        self.move(*start)
        for kind, at, buttons in (("mousePressed", start, 1), ("mouseMoved", [(start[0] + end[0]) / 2, end[1]], 1), ("mouseMoved", end, 1),
                                  ("mouseReleased", end, 0)):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", buttons=buttons, clickCount=1, modifiers=modifiers)
        self.settle()

    def wheel(self, at, dx, dy, modifiers):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=at[0], y=at[1], deltaX=dx, deltaY=dy, modifiers=modifiers)
        self.settle()

    def brush(self, start, end, shift=False):
        self.drag(self.point(start), self.point(end), shift)

    def names(self):
        return self.eval("view.series.map(one => one.name)")

    def rates(self, at):
        """Cores of each series at a moment."""
        return self.eval("view.series.map(one => one.rate[stepAt(%r)] / 1e6)" % at)

    def chips(self):
        return self.eval("visible('.chip > span').map(e => e.textContent)")

    def framed(self, text):
        check(self.wait("framed().includes(%s)" % json.dumps(text)), "no %r in the frame: %r; %r" % (text, self.eval("framed()")[:200], self.complaints()))


def still(ago_ms=10 * MINUTE_MS, span_ms=HOUR_MS):
    """A range that stands still, as a fragment, and its ends."""
    end = int(time.time() * 1000 - ago_ms) // 10_000 * 10_000
    return "#r=%d&e=%d" % (span_ms // 1000, end // 1000), end - span_ms, end


def close(got, expected, share, what):
    check(len(got) == len(expected) and all(abs(a - b) <= abs(b) * share for a, b in zip(got, expected)), "%s: %r, expected %r" % (what, got, expected))


CORES = [2 / (i + 1) for i in range(5)]
