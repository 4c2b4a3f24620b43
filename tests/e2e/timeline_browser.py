# SPDX-License-Identifier: Apache-2.0
"""The report's timeline in a real browser. Run by test_timeline.sh.

usage: timeline_browser.py CHROMIUM FOLDER BPFPROF [TEST...]    writes burst.perf.txt and burst.html into FOLDER
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
import html_page  # noqa: E402 (after the switch above)
from browser_tests import check, equal, run, test  # noqa: E402
from html_page import Report, folded  # noqa: E402

HOSTILE = "<img src=x onerror=alert(1)>|`"


def burst():
    """4 s of a thread that always works, and of one that does, ten times as much, from 2.2 s to 2.4 s."""
    text = []

    def add(comm, tid, cpu, ms, name, cnt):
        for _ in range(cnt):
            text.append("%s 10/%d [%03d] %d.%06d: 1 cycles: \n\t 1 %s (/bin/app)\n\n" %
                        (comm, tid, cpu, 100 + ms // 1000, ms % 1000 * 1000, name))

    for ms in range(0, 4000, 20):
        add("steady", 11, 0, ms, "work", 1)
        if 2200 <= ms < 2400:
            add(HOSTILE, 12, 1, ms, "burst", 10)
    return "".join(text)


def drag(page, start, end):
    """From cell to cell."""
    where = """(at => { const box = timeline.canvas.getBoundingClientRect();
        return [box.x + timeline.left + (at[0] + 0.5) * timeline.wide, box.y + rowTop(at[1]) + timeline.high / 2]; })(%s)"""
    start, end = page.eval(where % list(start)), page.eval(where % list(end))
    page.move(*start)
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], button="left", clickCount=1)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=end[0], y=end[1], button="left", buttons=1)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)
    page.settle()


def is_burst(page):
    equal(page.hash(), "#t=T2200-2400", "address")
    equal(page.total(), 110, "samples of the range")
    page.key("F")
    equal(folded(page.saved()[0]), {"steady;work": 10, HOSTILE + ";burst": 100}, "stacks of the range")


@test
def cells_are_the_samples(browser):
    page = Report(browser, "burst", "#v=time")
    equal(page.total(), 300, "total")
    equal(page.eval("[timeline.grid.cols, timeline.grid.rows, timeline.grid.colNs, timeline.grid.rowNs]"), [4, 50, 1e9, 2e7], "grid")
    wanted = [11 if col == 2 and 10 <= row < 20 else 1 for row in range(50) for col in range(4)]
    equal(page.eval("Array.from(timeline.grid.value)"), wanted, "cells")
    equal(page.text("#time output"), "from 0 s to 0.02 s: 1 cycles", "what the cell is")
    return page


@test
def the_mouse_selects(browser):
    page = Report(browser, "burst", "#v=time")
    drag(page, (2, 10), (2, 19))
    is_burst(page)
    check("only from 2.2 s to 2.4 s" in page.text(".chips"), page.text(".chips"))
    page.eval("history.back()")
    check(page.wait("state.view === 'time' && !state.steps.length"), "back is no step back")
    drag(page, (2, 19), (2, 10))
    is_burst(page)
    page.key("6")
    drag(page, (0, 0), (0, 4))
    equal(page.eval("state.steps.map(stepKey)"), ["T.0.0.0-100"], "a new range takes the old one's place")
    page.key("Backspace")
    equal(page.total(), 300, "total after undo")
    page.key("Z")
    equal(page.total(), 5, "total after redo")
    return page


@test
def a_click_selects_nothing(browser):
    page = Report(browser, "burst", "#v=time")
    drag(page, (3, 7), (3, 7))
    equal(page.eval("[state.view, state.steps.length, timeline.cursor.col, timeline.cursor.row]"), ["time", 0, 3, 7], "after a click")
    return page


@test
def keys_select(browser):
    page = Report(browser, "burst")
    page.key("6")
    check("v=time" in page.hash(), "6 does not show it")
    page.eval("focusView()")
    for key in ["ArrowRight"] * 2 + ["ArrowUp"] * 10:
        page.key(key)
    for _ in range(10):
        page.key("ArrowUp", shift=True)
    page.key("Escape")
    equal(page.eval("timeline.anchor"), None, "Escape")
    for _ in range(10):
        page.key("ArrowDown")
    for _ in range(9):
        page.key("ArrowUp", shift=True)
    check("from 2.2 s to 2.4 s: 110 " in page.text("#time output"), page.text("#time output"))
    page.key("Enter")
    is_burst(page)
    return page


@test
def columns_follow_each_other(browser):
    page = Report(browser, "burst", "#v=time")
    page.key("ArrowDown")
    equal(page.eval("[timeline.cursor.col, timeline.cursor.row]"), [0, 0], "below the first")
    page.key("ArrowRight")
    page.key("ArrowDown")
    equal(page.eval("[timeline.cursor.col, timeline.cursor.row]"), [0, 49], "below a column")
    page.key("ArrowUp")
    equal(page.eval("[timeline.cursor.col, timeline.cursor.row]"), [1, 0], "above a column")
    return page


@test
def links_show_the_same(browser):
    page = Report(browser, "burst", "#t=T2200-2400")
    is_burst(page)
    page.reload("#t=T2200-2400&t=fx&t=T9-1&t=Tx&t=T1e3-2e3&v=top")
    equal(page.total(), 110, "what is no range is left out")
    equal(page.eval("state.steps.map(step => step.type)"), ["T"], "steps")
    page.reload("#t=T5000-6000")
    equal(page.eval("document.body.dataset.view"), "empty", "an empty range")
    page.reload("#v=time&l=thread")
    equal(page.eval("timeMode()"), "thread", "lanes")
    return page


@test
def other_filters_go_with_it(browser):
    page = Report(browser, "burst", "#t=T2200-2400")
    page.click_frame("burst")
    page.key("f")
    equal(page.total(), 100, "only the burst")
    page.eval("removeStep(0)")
    equal(page.total(), 100, "of all time")
    page.eval("removeStep(0)")
    equal(page.total(), 300, "all of all time")
    return page


@test
def lanes_are_named(browser):
    page = Report(browser, "burst", "#v=time&l=thread")
    equal(page.eval("timeline.grid.lanes"), ["steady 11", HOSTILE + " 12"], "threads")
    equal(page.eval("[0, 1].map(row => timeline.grid.value.subarray(row * timeline.grid.cols, (row + 1) * timeline.grid.cols).reduce((a, b) => a + b))"),
          [200, 100], "their samples")
    page.press("As a table")
    page.eval("moveTimeRow(111)")
    equal(page.text("#time .current .text"), HOSTILE + " 12", "the lane in the table")
    equal(page.eval("document.querySelectorAll('img').length"), 0, "names that are markup")
    page.reload("#v=time&l=cpu")
    equal(page.eval("timeline.grid.lanes"), ["CPU 0", "CPU 1"], "CPUs")
    page.reload("#v=time&l=process")
    equal(page.eval("timeline.grid.lanes"), ["steady 10"], "processes")
    return page


@test
def the_table_is_the_same(browser):
    page = Report(browser, "burst", "#v=time")
    page.press("As a table")
    equal(page.eval("[timeline.list.rowCnt, timeline.list.scroller.getAttribute('role')]"), [200, "table"], "rows")
    for _ in range(110):
        page.key("ArrowDown")
    page.key("Enter")
    equal(page.eval("[state.steps[0].name, mainTree(state).total[0]]"), ["2200-2220", 11], "the row's range")
    return page


@test
def absurd_times_are_shown(browser):
    for lanes in ("heat", "thread"):
        page = Report(browser, "absurd", "#v=time&l=" + lanes)
        equal(page.eval("timeline.grid.value.reduce((a, b) => a + b)"), 3, "samples")
        check(page.eval("timeline.grid.cols <= timeline.width"), "more columns than there is room")
        if lanes == "heat":
            page.close()
    return page


@test
def there_is_none_without_times(browser):
    page = Report(browser, "plain", "#v=time")
    equal(page.eval("[state.view, visible('[role=tab]').length]"), ["flame", 5], "views")
    page.key("6")
    equal(page.eval("state.view"), "flame", "6")
    return page


@test
def prints_it(browser):
    page = Report(browser, "burst", "#v=time", dark=True)
    dark = page.eval("timeline.canvas.toDataURL()")
    page.eval("window.dispatchEvent(new Event('beforeprint'))")
    check(page.eval("timeline.canvas.toDataURL()") != dark, "it is not drawn for paper")
    return page


html_page.FOLDER, html_page.BPFPROF = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
for made, content in (("burst.perf.txt", burst()), ("plain.folded", "app;main 5\n"),
                      ("absurd.perf.txt", "# bucket_ns: 1\n" + "".join("a 1/2 [000] %s: 1 x: \n\t 1 f (/x)\n\n" % at
                                                                     for at in ("0.0", "0.000000001", "9999999999999.5")))):
    source = os.path.join(html_page.FOLDER, made)
    with open(source, "w", encoding="utf-8") as file:
        file.write(content)
    subprocess.run([html_page.BPFPROF, "convert", source, "--force", "-o",
                    os.path.join(html_page.FOLDER, made.split(".")[0] + ".html")], check=True)
sys.exit(run(sys.argv[1], sys.argv[4:]))
