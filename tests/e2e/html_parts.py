# SPDX-License-Identifier: Apache-2.0
"""Parts of the report that only some recordings have, in a real browser, run by test_html_parts.sh: FOLDER has
hist.html (200 calls of heap() with sizes from 1 to 200), waits.html (--off-cpu), source.html and plain.html (with and
without --embed-source), hostile.html.

usage: html_parts.py CHROMIUM FOLDER BPFPROF [TEST...]
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
import html_page  # noqa: E402 (after the switch above)
from browser_tests import check, equal, run, test  # noqa: E402
from html_page import Report  # noqa: E402

TABLE = """Array.from(document.querySelectorAll('#hist .histogram'), part => [part.querySelector('h3').textContent,
	part.querySelector('p').textContent, Array.from(part.querySelectorAll('tbody tr'), row =>
		Array.from(row.querySelectorAll('td'), cell => cell.textContent).slice(0, 3))])"""
SOURCE = """Array.from(document.querySelectorAll('#panel .source tbody tr'), row =>
	[Array.from(row.cells, cell => cell.textContent), row.className])"""


def plain_number(text):
    return int(re.match(r"[\d,]+", text).group(0).replace(",", ""))


@test
def histograms_are_of_powers_of_two(browser):
    page = Report(browser, "hist")
    page.press("Histograms")
    equal(page.eval("state.view"), "hist", "view")
    parts = page.eval(TABLE)
    equal(len(parts), 1, "parts")
    rows = [[plain_number(cell) for cell in row] for row in parts[0][2]]
    equal(rows, [[0, 1, 1], [2, 3, 2], [4, 7, 4], [8, 15, 8], [16, 31, 16], [32, 63, 32], [64, 127, 64], [128, 255, 73]], "rows")
    equal(parts[0][1], "of all stacks", "what of")
    page.reload(page.hash())
    equal(page.eval(TABLE), parts, "the link's page")
    widths = page.eval("Array.from(document.querySelectorAll('#hist .bar'), bar => parseFloat(bar.style.width))")
    equal([round(width, 3) for width in widths], [round(100 * n / 73, 3) for n in (1, 2, 4, 8, 16, 32, 64, 73)], "bars")
    return page


@test
def histograms_follow_what_is_picked(browser):
    page = Report(browser, "hist", fragment="#v=hist")
    page.eval("change({ picked: frameRef(findFrame('heap', 2, false)) })")
    parts = page.eval(TABLE)
    equal(parts[0][1], "of stacks through heap", "what of")
    equal(sum(plain_number(row[2]) for row in parts[0][2]), 200, "through heap")
    page.eval("change({ picked: frameRef(profile.frames.name.findIndex(name => name === 'no such')) })")
    page.key("1")
    page.key("7")
    equal(page.eval("state.view"), "hist", "view by key")
    return page


@test
def waits_have_histograms(browser):
    page = Report(browser, "waits", fragment="#v=hist")
    parts = {part[0]: part for part in page.eval(TABLE)}
    text = page.eval("facts.comments.find(one => one.startsWith('bpfprof-waits: '))")
    truth = json.loads(text[len("bpfprof-waits: "):])
    queue = parts["Waits for a CPU (run queue)"]
    equal(sum(plain_number(row[2]) for row in queue[2]), sum(truth["run_queue_log2_ns"]), "waits for a CPU")
    for cause, hist in truth["blocked"].items():
        if sum(hist["log2_ns"]):
            equal(sum(plain_number(row[2]) for row in parts["Waits for " + cause][2]), sum(hist["log2_ns"]), cause)
    return page


@test
def other_reports_have_no_histograms(browser):
    page = Report(browser, "plain", fragment="#v=hist")
    equal(page.eval("state.view"), "flame", "view")
    check("Histograms" not in page.eval("visible('.tabs button').map(e => e.textContent)"), "a tab without use")
    page.key("7")
    check("There are no histograms" in page.text("#said"), page.text("#said"))
    return page


@test
def source_stands_beside_what_it_costs(browser):
    page = Report(browser, "source")
    page.eval("change({ picked: frameRef(findFrame('burn', 2, false)) })")
    check(page.wait("document.querySelector('#panel .source') !== null"), "no source: %r" % page.panel())
    rows = [(row[0], row[1]) for row in page.eval(SOURCE) if row[1] != "gap"]
    with open(os.path.join(html_page.FOLDER, "split.c"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for cells, _ in rows:
        equal(cells[3], lines[int(cells[0]) - 1].replace("\t", " " * 8), "line " + cells[0])
    hot = [cells for cells, cls in rows if cls == "costs"]
    check(any("6364136223846793005u" in cells[3] for cells in hot), "the hot lines: %r" % hot)
    shares = page.eval("lineSums(findFrame('burn', 2, false)).reduce((sum, line) => sum + line.self, 0) - functionSums(state).self[findFrame('burn', 2, false)]")
    equal(shares, 0, "selfs of lines without the function's")
    return page


@test
def source_is_there_when_it_is_asked_for(browser):
    page = Report(browser, "plain")
    page.eval("change({ picked: frameRef(findFrame('burn', 2, false)) })")
    check(page.wait("document.querySelector('#panel .lines') !== null"), "no lines: %r" % page.panel())
    equal(page.eval("document.querySelectorAll('#panel .source').length"), 0, "source")
    return page


@test
def hostile_source_stays_text(browser):
    page = Report(browser, "hostile")
    page.eval("change({ picked: frameRef(findFrame('main', 2, false)) })")
    check(page.wait("document.querySelector('#panel .source') !== null"), "no source: %r" % page.panel())
    texts = [row[0][3] for row in page.eval(SOURCE) if row[1] != "gap"]
    check(any("</script><img src=x onerror=alert(1)>" in text for text in texts), "texts: %r" % texts)
    equal(page.eval("document.querySelectorAll('img').length"), 0, "images")
    return page


html_page.FOLDER, html_page.BPFPROF = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
sys.exit(run(sys.argv[1], sys.argv[4:]))
