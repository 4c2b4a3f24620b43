# SPDX-License-Identifier: Apache-2.0
"""The flame graph in a real browser: clicks, keys, links. Run by test_svg_browser.sh.

usage: svg_browser.py CHROMIUM FOLDER    with the files of `test_svg --emit FOLDER`
"""

import itertools
import json
import math
import os
import re
import sys
import time

sys.dont_write_bytecode = True
from browser_tests import check, equal, run, test  # noqa: E402 (after the switch above)
from chromium import Page  # noqa: E402

FOLDER = ""

# Helpers inside the page: the drawn group of a function, boxes in the window's coordinates.
HELPERS = """
window.frames_ = () => Array.from(document.querySelectorAll('.plot > g:not(.rest)'));
window.nameOf = g => (g.getAttribute('aria-label') || '').replace(/ \\([^()]*\\)$/, '');
window.frame = name => frames_().find(g => nameOf(g) === name);
window.box = g => { const r = g.querySelector('rect').getBoundingClientRect();
	return { x: r.x, y: r.y, width: r.width, height: r.height }; };
window.total = g => Number(g.getAttribute('aria-label').replace(/^.* \\(/, '').replace(/ .*$/, '').replace(/,/g, ''));
"""


class Graph(Page):
    """A flame graph in a tab, in the words of the tests."""

    def __init__(self, browser, name, fragment="", **options):
        super().__init__(browser, "file://%s/%s.svg%s" % (FOLDER, name, fragment), **options)
        self.eval(HELPERS)

    def reload(self, fragment):
        self.go("about:blank")
        self.go("file://%s/%s" % (FOLDER, fragment))
        self.eval(HELPERS)

    def box(self, name):
        return self.eval("frame(%s) ? box(frame(%s)) : null" % (json.dumps(name), json.dumps(name)))

    def has(self, name):
        return self.box(name) is not None

    def point(self, name):
        box = self.box(name)
        check(box, "no frame %s" % name)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click_frame(self, name):
        self.click(*self.point(name))

    def click_button(self, text):
        box = self.eval("""(() => { const b = Array.from(document.querySelectorAll('.bar button'))
            .find(b => b.textContent === %s).getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; })()""" % json.dumps(text))
        self.click(*box)

    def is_full(self, name):
        box = self.box(name)
        return box and abs(box["width"] - self.full_width()) < 1.5

    def full_width(self):
        return self.eval("document.documentElement.getBoundingClientRect().width") - 32

    def details(self):
        return self.eval("document.querySelector('.details').textContent")

    def matched(self):
        return self.eval("document.querySelector('.bar output').textContent")

    def focused(self):
        return self.eval("nameOf(document.activeElement)")

    def hash(self):
        return self.eval("location.hash")

    def search(self, text):
        self.key("/")
        self.type(text)


@test
def plain_image_without_script(browser):
    page = Graph(browser, "kinds", scripts=False)
    check(page.eval("document.querySelectorAll('.plot > g').length") == 60, "frames are missing")
    equal(page.eval("document.querySelector('.bar')"), None, "controls without script")
    equal(page.eval("document.querySelector('.plot g > title').textContent"),
          "all (2,724 samples, 100.00%)", "tooltip")
    return page


def labels_fit(page):
    wide = page.eval("""Array.from(document.querySelectorAll('.plot > g > text')).filter(t =>
        t.getComputedTextLength() > t.parentNode.querySelector('rect').width.baseVal.value - 4)
        .map(t => t.textContent)""")
    equal(wide, [], "labels wider than their frames")


@test
def labels_stay_in_their_frames(browser):
    for name, scripts in itertools.product(("kinds", "hostile"), (False, True)):
        page = Graph(browser, name, scripts=scripts)
        check(page.eval("document.querySelectorAll('.plot > g > text').length") > 5, "labels are missing")
        labels_fit(page)
        equal(page.complaints(), [], "complaints")
        page.close()


@test
def follows_the_window(browser):
    page = Graph(browser, "kinds")
    for width in (1400, 700, 1800):
        page.resize(width, 800)
        page.settle()
        check(page.is_full("all"), "root is not as wide as a window of %d" % width)
        labels_fit(page)
        check(abs(page.full_width() + 32 - width) < 20, "document is not as wide as the window")
        overlap = page.eval("""document.querySelector('.title').getBoundingClientRect().right >
            document.querySelector('.bar').getBoundingClientRect().left + 1""")
        check(not overlap or width < 900, "title under the controls at %d" % width)
    return page


@test
def makes_room_for_a_scroll_bar(browser):
    # as a plain image it fits into this window, with the controls' row it does not
    page = Graph(browser, "kinds", width=620, height=450)
    check(page.wait("document.documentElement.scrollHeight > 450"), "the test needs a scroll bar")
    page.settle()
    check(page.is_full("all"), "root goes under the scroll bar")
    return page


@test
def zooms_by_click_and_back(browser):
    page = Graph(browser, "kinds")
    before = page.box("deflate")
    page.click_frame("ngx_http_gzip_body_filter")
    for name in ("ngx_http_gzip_body_filter", "nginx", "main", "all"):
        check(page.is_full(name), "%s does not fill the width" % name)
    check(page.box("deflate")["width"] > 1.5 * before["width"], "deflate did not grow")
    check(not page.has("postgres"), "a sibling is still drawn")
    check("x=" in page.hash(), "no zoom in the address")
    page.click_frame("main")
    check(page.has("ngx_epoll_process_events"), "an ancestor's click does not zoom out")
    page.click_frame("all")
    check(page.has("postgres"), "root's click does not reset")
    return page


@test
def resets_by_button_and_keys(browser):
    page = Graph(browser, "kinds")
    resets = (lambda: page.click_button("Reset zoom"), lambda: page.key("Escape"), lambda: page.key("0"))
    for reset in resets:
        page.click_frame("node")
        check(page.is_full("node") and not page.has("postgres"), "not zoomed")
        reset()
        check(page.has("postgres") and not page.is_full("node"), "not reset")
    return page


@test
def back_and_forward_and_links(browser):
    page = Graph(browser, "kinds")
    page.click_frame("node")
    page.click_frame("*JSON.stringify")
    link = page.hash()
    check(not page.has("epoll_pwait"), "a sibling is still drawn")
    page.eval("history.back()")
    check(page.wait("!!frame('epoll_pwait') && !frame('postgres')"), "back does not show the zoom before")
    page.eval("history.back()")
    check(page.wait("!!frame('postgres')"), "second back does not show all")
    page.eval("history.forward()")
    check(page.wait("!frame('postgres')"), "forward does not zoom")
    page.reload("kinds.svg" + link)
    check(page.is_full("*JSON.stringify") and not page.has("epoll_pwait"), "the link does not zoom")
    page.reload("kinds.svg#x=999999&s=(")
    check(page.has("postgres"), "a stale link hides the graph")
    return page


@test
def searches(browser):
    page = Graph(browser, "kinds")
    page.search("^do_")
    equal(page.matched(), "17.25% matched", "matched")
    equal(page.eval("frames_().filter(g => g.classList.contains('hit')).map(nameOf)"),
          ["do_epoll_wait", "do_epoll_wait"], "hits")
    check(page.wait("location.hash.includes('s=%5Edo_')"), "search is not in the address")
    page.key("Escape")
    equal(page.matched(), "", "matched after Escape")
    equal(page.eval("document.querySelectorAll('.hit').length"), 0, "hits after Escape")
    # a match within a match counts once
    page.type("ngx_")
    hits = page.eval("frames_().filter(g => g.classList.contains('hit')).length")
    expected = page.eval("""(() => { let sum = 0, end = -1; for (const g of frames_()) {
        const r = box(g); if (!g.classList.contains('hit') || r.x < end - 0.5) continue;
        sum += total(g); end = r.x + r.width; } return (100 * sum / total(frame('all'))).toFixed(2); })()""")
    check(hits > 3, "too few hits")
    equal(page.matched(), expected + "% matched", "matched with nesting")
    return page


@test
def search_of_case_and_errors(browser):
    page = Graph(browser, "kinds")
    page.key("f", ctrl=True)
    equal(page.eval("document.activeElement.localName"), "input", "focus after Ctrl-F")
    page.type("POSTGRES")
    equal(page.matched(), "0.00% matched", "matched with case")
    page.click_button("Aa")
    equal(page.matched(), "7.82% matched", "matched without case")
    check(page.wait("location.hash.includes('i=1')"), "ignore-case is not in the address")
    page.reload("kinds.svg" + page.hash())
    equal(page.matched(), "7.82% matched", "matched from the link")
    equal(page.eval("document.querySelector('.bar input').value"), "POSTGRES", "field from the link")
    page.key("/")
    page.type("(")
    equal(page.matched(), "not a regular expression", "message")
    check(page.eval("document.querySelector('.bar input').classList.contains('bad')"), "field is not marked")
    equal(page.eval("document.querySelectorAll('.hit').length"), 0, "hits of no expression")
    return page


@test
def search_within_zoom(browser):
    page = Graph(browser, "kinds")
    page.click_frame("node")
    page.search("epoll_pwait")
    equal(page.matched(), "2.20% matched, 6.00% of zoomed", "matched")
    page.click_button("Search")
    equal(page.focused(), "epoll_pwait", "focus after the button")
    return page


@test
def walks_through_matches(browser):
    page = Graph(browser, "kinds")
    page.search("^(deflate|uv_run|exec_simple_query)$")
    page.key("Enter")
    seen = [page.focused()]
    for key in ("n", "n", "n", "N"):
        page.key(key, shift=key == "N")
        seen.append(page.focused())
    equal(seen, ["deflate", "uv_run", "exec_simple_query", "deflate", "exec_simple_query"], "order")
    return page


@test
def walks_by_keyboard(browser):
    page = Graph(browser, "kinds")
    for _ in range(6):
        page.key("Tab")
        if page.focused() == "all":
            break
    equal(page.focused(), "all", "focus by Tab")
    seen = []
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.key(key)
        seen.append(page.focused())
    equal(seen, ["nginx", "node", "postgres", "node", "__libc_start_main", "node"], "walk")
    check(page.details().startswith("node"), "details do not follow the focus")
    page.key("Enter")
    check(page.is_full("node") and not page.has("nginx"), "Enter does not zoom")
    equal(page.focused(), "node", "focus after zoom")
    page.key("ArrowDown")
    page.key("Enter")
    check(page.has("nginx"), "Enter on the root does not zoom out")
    return page


@test
def tells_about_the_frame_under_the_pointer(browser):
    page = Graph(browser, "kinds")
    page.move(*page.point("deflate_slow"))
    page.settle()
    for part in ("deflate_slow", "820 samples", "30.10% of all", "89.62% of parent", "self 0 samples", "library"):
        check(part in page.details(), "%r lacks %r" % (page.details(), part))
    equal(page.eval("frame('deflate_slow').querySelector('title').textContent"),
          "deflate_slow (820 samples, 30.10%)", "tooltip")
    page.move(*page.point("longest_match"))
    page.settle()
    check("inlined" in page.details() and "self 820 samples" in page.details(), page.details())
    page.move(5, 5)
    page.settle()
    check(page.details().startswith("all"), "details stay after the pointer has left")
    page.click_frame("nginx")
    page.move(*page.point("deflate_slow"))
    page.settle()
    check("56.36% of zoomed" in page.details(), page.details())
    return page


@test
def values_have_units(browser):
    page = Graph(browser, "times")
    check("12.35 s" in page.details(), page.details())
    page.close()
    page = Graph(browser, "bytes")
    check("3.00 GiB" in page.details(), page.details())
    return page


@test
def waits_are_told_by_their_state(browser):
    for scripts in (False, True):
        page = Graph(browser, "wall", scripts=scripts)
        found = page.eval("""Array.from(document.querySelectorAll('.plot > g')).map(g => [g.getAttribute('class'),
            (g.getAttribute('aria-label') || g.querySelector('title').textContent)])""")
        if scripts:
            equal(sorted(found), plain, "classes and tooltips with the script")
        plain = sorted(found)
        equal([c for c, title in found if title.startswith("[blocked: futex]")], ["b"], "class of a state")
        equal(page.eval("Array.from(document.querySelectorAll('.plot .d > text')).map(t => t.textContent)"),
              ["woken by"], "label of the delimiter")
        labels_fit(page)
        equal(page.complaints(), [], "complaints")
        page.close()
    page = Graph(browser, "wall")
    page.move(*page.point("postgres"))
    page.settle()
    check("35.00% on CPU, 25.00% runnable, 40.00% blocked" in page.details(), page.details())
    page.move(*page.point("commit"))
    page.settle()
    check("waker" in page.details(), page.details())
    page.search("^--$|^.blocked: futex")
    equal(page.matched(), "30.00% matched", "matched")
    page.key("Enter")
    page.key("Escape")
    page.key("Escape")
    page.click_frame("[blocked: futex]")
    check(page.is_full("[blocked: futex]") and page.is_full("walwriter"), "a state does not zoom")
    return page


@test
def narrow_frames_come_back(browser):
    page = Graph(browser, "narrow")
    check(not page.has("cold") and not page.has("inner_007"), "narrow frames are drawn")
    spot = page.eval("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('.rest rect').getBoundingClientRect())")
    page.click(*spot)
    check(page.is_full("cold"), "a click on the narrow block does not zoom to it")
    check(page.has("cold_007") and page.has("inner_007"), "they do not come back")
    page.key("0")
    page.search("^inner_123$")
    equal(page.matched(), "0.00% matched", "matched")
    page.key("Enter")
    check(page.is_full("inner_123"), "next match does not show a hidden frame")
    equal(page.eval("data_total = Number(document.documentElement.dataset.total)"), 1000400, "total")
    return page


@test
def works_inside_a_page(browser):
    with open(os.path.join(FOLDER, "kinds.svg"), encoding="utf-8") as file:
        svg = file.read().split("?>", 1)[1]
    with open(os.path.join(FOLDER, "page.html"), "w", encoding="utf-8") as file:
        file.write('<!doctype html><meta charset="utf-8"><input id="host">%s%s' % (svg, svg))
    page = Page(browser, "file://%s/page.html" % FOLDER)
    page.eval(HELPERS)
    count = "Array.from(document.querySelectorAll('svg')).map(s => s.querySelectorAll('.plot > g').length)"
    before = page.eval(count)
    box = page.eval("box(frame('node'))")
    page.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    after = page.eval(count)
    check(after[0] < before[0] and after[1] == before[1], "zoom: %r -> %r" % (before, after))
    equal(page.eval("location.hash"), "", "the page's address")
    page.eval("document.getElementById('host').focus()")
    page.type("0/n")
    equal(page.eval("document.getElementById('host').value"), "0/n", "the page's own field")
    equal(page.eval(count), after, "frames after typing elsewhere")
    return page


@test
def deep_stacks_start_at_the_root(browser):
    page = Graph(browser, "deep")
    height = page.eval("window.innerHeight")
    box = page.box("all")
    check(0 < box["y"] < height, "the root is out of sight: %r" % box)
    page.eval("window.scrollTo(0, 0)")
    page.settle()
    for part in ("head", "foot"):
        top, bottom = page.eval("(r => [r.top, r.bottom])(document.querySelector('.%s').getBoundingClientRect())" % part)
        check(-1 <= top and bottom <= height + 1, "%s is out of sight: %r" % (part, (top, bottom)))
    check(page.has("level_599"), "the tip is missing")
    page.click_frame("level_590")
    check(page.is_full("level_599"), "zoom at the tip")
    return page


@test
def hostile_names_do_nothing(browser):
    page = Graph(browser, "hostile")
    equal(page.eval("document.querySelectorAll('script').length"), 2, "scripts")
    equal(page.eval("document.querySelectorAll('b, [onload]').length"), 0, "injected elements")
    names = page.eval("frames_().map(nameOf)")
    for name in ("</script><svg onload=alert(1)>", "]]]]]><script>alert(1)</script>", "__proto__",
                 "a<b & \"c\" 'd'", "ctl???[31m???", "x" * 10000):
        check(name in names, "%r is missing" % name[:60])
    for name in ("</script><svg onload=alert(1)>", "x" * 10000, "__proto__"):
        page.click_frame(name)
        check(page.is_full(name), "%r does not zoom" % name[:60])
        details = page.eval("document.querySelector('.details').getComputedTextLength()")
        check(details <= page.full_width(), "details of %r leave the window" % name[:60])
        page.key("0")
    page.search("<script>")
    equal(page.matched(), "7.74% matched", "matched")
    return page


@test
def empty_profiles_say_so(browser):
    for name in ("empty", "zeros"):
        page = Graph(browser, name)
        check(page.eval("document.documentElement.textContent.includes('Nothing was sampled')"), "no word of it")
        equal(page.eval("document.querySelector('.bar')"), None, "controls of an empty graph")
        page.key("Escape")
        equal(page.complaints(), [], "complaints")
        page.close()


@test
def large_graphs_are_quick(browser):
    start = time.monotonic()
    page = Graph(browser, "large")
    load_ms = 1000 * (time.monotonic() - start)
    zoom_ms = page.eval("""(() => { const g = frame('client'), t = performance.now();
        g.dispatchEvent(new MouseEvent('click', { bubbles: true }));
        document.documentElement.getBoundingClientRect(); return performance.now() - t; })()""")
    search_ms = page.eval("""(() => { const i = document.querySelector('.bar input'), t = performance.now();
        i.value = 'Handler<1.>'; i.dispatchEvent(new Event('input'));
        document.documentElement.getBoundingClientRect(); return performance.now() - t; })()""")
    print("# large: load %d ms, zoom %d ms, search %d ms" % (load_ms, zoom_ms, search_ms))
    check(load_ms < 10000 and zoom_ms < 3000 and search_ms < 3000, "too slow")
    return page


# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                (-0.011820, 0.042940, 0.968881))
# Ottosson's Oklab, 2020.
LMS = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
       (0.0883024619, 0.2817188376, 0.6299787005))
LAB = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
       (0.0259040371, 0.7827717662, -0.8086757660))


def linear(css):
    parts = [int(part) / 255 for part in re.findall(r"\d+", css)[:3]]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def apply(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector)) for row in matrix]


def oklab(rgb):
    return apply(LAB, [max(0, value) ** (1 / 3) for value in apply(LMS, rgb)])


def contrast(one, two):
    bright, dark = sorted((0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] for c in (one, two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def colours_of(page):
    """Computed colours of every shade, by the kind's letter: (fill, label)."""
    classes = [kind + str(shade) for kind in "uljk" for shade in range(6)] + ["p", "r", "b", "q"]
    classes += [kind + state for kind in "uljk" for state in "bq"]
    found = page.eval("""%s.map(c => { const g = document.createElementNS('http://www.w3.org/2000/svg', 'g');
        g.setAttribute('class', c); g.innerHTML = '<rect/><text/>'; document.querySelector('.plot').append(g);
        const r = [c, getComputedStyle(g.querySelector('rect')).fill, getComputedStyle(g.querySelector('text')).fill];
        g.remove(); return r; })""" % json.dumps(classes))
    kinds = {}
    for name, fill, label in found:
        # what mostly waits is one kind per state: " b", " q"
        kind = " " + name[1] if name[1:] in ("b", "q") else name[0]
        kinds.setdefault(kind, []).append((linear(fill), linear(label)))
    return kinds


@test
def colours_are_told_apart(browser):
    for dark in (False, True):
        page = Graph(browser, "kinds", dark=dark)
        page.screenshot(os.path.join(FOLDER, "kinds_%s.png" % ("dark" if dark else "light")))
        kinds = colours_of(page)
        for kind, shades in kinds.items():
            low = min(contrast(fill, label) for fill, label in shades)
            check(low >= 4.5, "labels of kind %s have contrast %.1f" % (kind, low))
        for one, two in itertools.combinations(kinds, 2):
            if "r" in (one, two) and " " in one + two:
                continue  # the root is told by its place
            for name, view in (("all", lambda c: c), ("deuteranopia", lambda c: apply(DEUTERANOPIA, c))):
                near = min(math.dist(oklab(view(a[0])), oklab(view(b[0])))
                           for a, b in itertools.product(kinds[one], kinds[two]))
                check(near >= 0.045, "%s: kinds %s and %s are %.3f apart" % (name, one, two, near))
        page.close()


FOLDER = os.path.abspath(sys.argv[2])
sys.exit(run(sys.argv[1], sys.argv[3:]))
