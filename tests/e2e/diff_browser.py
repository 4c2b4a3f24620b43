# SPDX-License-Identifier: Apache-2.0
"""The differential flame graph in a real browser, run by test_diff.sh.

usage: diff_browser.py CHROMIUM SVG [SCREENSHOT-PREFIX]
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser, Page  # noqa: E402 (after the switch above)

FRAMES = """Object.fromEntries(Array.from(document.querySelectorAll('.plot > g:not(.rest)'), g => [
	(g.getAttribute('aria-label') || g.querySelector('title').textContent).replace(/ \\(.*$/, ''),
	[g.getAttribute('class'), g.getAttribute('aria-label') || g.querySelector('title').textContent,
	 g.querySelector('text') ? g.querySelector('text').textContent : '']]))"""


def frames(browser, path, scripts, dark, screenshot):
    """Class, words and label of every function as drawn, by name."""
    page = Page(browser, "file://" + os.path.abspath(path), width=1200, height=500, scripts=scripts, dark=dark)
    page.settle()
    found = page.eval(FRAMES) if scripts else None
    if screenshot:
        page.screenshot(screenshot)
    problems = []
    if scripts:
        page.eval("document.querySelector('.plot > g:nth-child(3)').dispatchEvent("
                  "new PointerEvent('pointerover', {bubbles: true}))")
        problems += [] if ", then " in page.eval("document.querySelector('.details').textContent") else \
            ["the details tell nothing of before and after"]
        problems += use(page)
    problems += page.complaints()
    page.close()
    return found, problems


def use(page):
    """Search, and zoom into what was found: what is not as it should be."""
    page.key("/")
    page.type("hash_")
    page.settle()
    hits = page.eval("document.querySelectorAll('.plot .hit').length")
    matched = page.eval("document.querySelector('.bar output').textContent")
    page.eval("document.querySelector('.plot .hit').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.settle()
    label = page.eval("Array.from(document.querySelectorAll('.plot .hit text'), t => t.textContent).join()")
    zoomed = page.eval("location.hash")
    problems = []
    if hits != 1 or "% matched" not in matched:
        problems.append("%d hits, '%s'" % (hits, matched))
    if "x=" not in zoomed or label != "hash_step +37.5 %":
        problems.append("zoomed to '%s', labelled '%s'" % (zoomed, label))
    return problems


def static_frames(path):
    """The same of the plain image."""
    import xml.etree.ElementTree as tree
    space = "{http://www.w3.org/2000/svg}"
    plot = next(g for g in tree.parse(path).iter(space + "g") if g.get("class") == "plot")
    found = {}
    for group in plot:
        words = group.find(space + "title").text
        label = group.find(space + "text")
        found[words.split(" (")[0]] = [group.get("class"), words, label.text if label is not None else ""]
    return found


def main():
    chromium, path = sys.argv[1:3]
    prefix = sys.argv[3] if len(sys.argv) > 3 else None
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(chromium, folder)
        try:
            for dark in (False, True):
                name = "dark" if dark else "light"
                drawn, problems = frames(browser, path, True, dark, prefix and prefix + name + ".png")
                plain = static_frames(path)
                if set(drawn) != set(plain):
                    problems.append("frames differ: %r" % (set(drawn) ^ set(plain)))
                for frame in set(drawn) & set(plain):
                    if drawn[frame][:2] != plain[frame][:2]:
                        problems.append("%r in the browser, %r in the image" % (drawn[frame], plain[frame]))
                print("%s - %s: the browser draws and tells what the image does%s" % (
                    "not ok" if problems else "ok", name, "".join(": " + problem for problem in problems)))
                failed += bool(problems)
        finally:
            browser.close()
    return 1 if failed else 0


sys.exit(main())
