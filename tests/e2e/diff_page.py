# SPDX-License-Identifier: Apache-2.0
"""The page of a difference in a real browser, run by test_diff.sh, which made FOLDER/d.html (and shares.html,
with --normalize, of an `after` three times as long) from its two folded files.

usage: diff_page.py CHROMIUM FOLDER BPFPROF [TEST...]
"""

import json
import os
import sys

sys.dont_write_bytecode = True
import html_page  # noqa: E402 (after the switch above)
from browser_tests import check, equal, run, test  # noqa: E402
from html_page import Report, folded  # noqa: E402

ROWS = """top_.rows.map(frame => { const sums = functionSums(state);
	return [profile.frames.name[frame], sums.totalN[frame], sums.totalM[frame], sums.m[frame] - sums.n[frame]]; })"""
COLOURS = """Object.fromEntries(drawn().filter(at => at.part.tree.frame[at.node] >= 0).map(at =>
	[at.name, [nodeStrength(at.part.tree, at.node), onlySide(at.part.tree, at.node)]]))"""


def rows(page):
    return {row[0]: row[1:] for row in page.eval(ROWS)}


def widths(page):
    return page.eval("Object.fromEntries(drawn().map(at => [at.name, at.part.tree.total[at.node]]))")


@test
def says_what_changed_at_first_sight(browser):
    page = Report(browser, "d")
    cards = page.text(".cards").split("\n")
    equal(cards[:9], ["Before", "1,653 samples", "After", "1,915 samples", "Change", "+262 samples",
                      "+15.8 %, ± 117 samples, significant", "Grew most", "hash_step"], "cards")
    check("Shrank most" in cards and "idle_loop" in cards, "cards: %r" % cards)
    equal(page.eval("visible('.legend .item').map(e => e.textContent)"),
          ["more", "more, less surely", "less", "less, less surely", "not significant", "new", "gone"], "legend")
    equal(page.text("#panel").split("\n")[:3], ["CHANGED MOST BY THEMSELVES", "hash_step", "+300 samples"], "panel")
    return page


@test
def colours_follow_the_change_and_how_sure_it_is(browser):
    page = Report(browser, "d", fragment="#w=2")
    found = page.eval(COLOURS)
    check(found["hash_step"][0] == 4 and found["idle_loop"][0] < 0, "strengths: %r" % found)
    equal([found[name] for name in ("parse", "read_token", "tiny")], [[0, ""]] * 3, "what chance can explain")
    check(found["new_path"] == [4, "new"] and found["old_path"] == [-4, "gone"], "one side: %r" % found)
    shown = page.eval("(at => [colourOf(at.part.tree, at.node), flame.palette.changes[8]])(drawn().find(at => at.name === 'hash_step'))")
    equal(shown[0], shown[1], "colour of hash_step")
    equal(page.eval("boxLabel(drawn().find(at => at.name === 'hash_step').part.tree, drawn().find(at => at.name === 'hash_step').node)"),
          "hash_step +37.5 %", "label")
    return page


@test
def first_picture_is_the_graph(browser):
    for name in ("d", "shares", "max", "sum"):
        page = Report(browser, name)
        page.check_first()
        check(page.eval("Number(document.documentElement.dataset.painted) <= Number(document.documentElement.dataset.ready)"), "it is not painted first")
        page.close()
    page = Report(browser, "d", fragment="#w=2")
    equal(page.eval("document.documentElement.dataset.painted ?? null"), None, "a picture of another view")
    return page


@test
def widths_are_of_either_side_or_both(browser):
    page = Report(browser, "d")
    sums = {}
    for width in range(4):
        page.eval("change({ value: %d })" % width)
        sums[width] = widths(page)
    equal([sums[w]["main"] for w in range(4)], [1915, 1653, 2145, 3568], "main by after, before, max, sum")
    equal([sums[w].get("old_path") for w in range(4)], [None, 150, 150, 150], "what is gone")
    equal([sums[w].get("new_path") for w in range(4)], [120, None, 120, 120], "what is new")
    equal(page.eval("[mainTree(state).totalN[0], mainTree(state).totalM[0]]"), [1653, 1915], "both sides of all")
    page.eval("change({ value: 0 })")
    equal(page.eval("[mainTree(state).totalN[0], mainTree(state).totalM[0]]"), [1653, 1915],
          "both sides of all, though what is gone has no width")
    page.key("v")
    equal(page.eval("state.value"), 1, "value by key")
    return page


@test
def what_is_gone_or_new_can_be_left_out(browser):
    page = Report(browser, "d", fragment="#w=3")
    page.press("No gone")
    check(not page.has("old_path") and page.has("new_path"), "frames: %r" % page.names())
    equal(page.chips(), ["without what is gone"], "chips")
    page.key("+")
    check(not page.has("new_path"), "new by key")
    equal(page.eval("[mainTree(state).totalN[0], mainTree(state).totalM[0]]"), [1503, 1735], "what is left")
    fragment = page.hash()
    page.reload(fragment)
    check(not page.has("new_path") and not page.has("old_path") and page.has("hash_step"), "the link's page")
    page.press("No new")
    page.press("Undo")
    check(page.has("new_path") and page.has("old_path"), "all is back")
    return page


@test
def the_table_is_that_of_diff(browser):
    page = Report(browser, "d", fragment="#v=top")
    with open(os.path.join(html_page.FOLDER, "d.json"), encoding="utf-8") as file:
        truth = json.load(file)
    found = rows(page)
    for entry in truth["functions"]:
        total, own = entry["total"], entry["self"]
        equal(found[entry["name"]], [total["before"], total["after"], own["change"]], entry["name"])
    equal(sum(row[2] for row in found.values()), truth["total"]["change"], "the selfs' changes")
    equal(page.eval("top_.rows.map(frame => profile.frames.name[frame]).slice(0, 3)"), ["hash_step", "main", "old_path"], "the order")
    equal(page.eval("Array.from(document.querySelectorAll('.changes .row:not(.head)')).slice(0, 1).map(e => e.innerText.split('\\n').filter(Boolean))"),
          [["800 samples", "1,100 samples", "+300 samples", "± 85 samples", "+37.5 %", "+300 samples", "hash_step"]], "a row")
    page.press("Before")
    equal(page.eval("profile.frames.name[top_.rows[0]]"), "main", "by before")
    page.press("Function")
    check("o=name" in page.hash(), "the order in the link")
    return page


@test
def transforms_keep_both_sides(browser):
    page = Report(browser, "d")
    page.eval("addStep('m', frameRef(findFrame('old_path', 2, false)))")
    equal(page.eval("[mainTree(state).totalN[0], mainTree(state).totalM[0]]"), [1653, 1915], "merged")
    page.eval("undoStep(); addStep('d', frameRef(findFrame('hash_step', 2, false)))")
    equal(page.eval("[mainTree(state).totalN[0], mainTree(state).totalM[0]]"), [853, 815], "dropped")
    equal(page.text(".cards").split("\n")[5], "−38 samples", "the change that is left")
    return page


@test
def callers_and_sandwich_have_both_sides(browser):
    page = Report(browser, "d", fragment="#v=callers&w=3")
    equal(page.eval("(t => { for (let i = 1; i < t.cnt; i = t.end[i]) if (profile.frames.name[t.frame[i]] === 'copy') return [t.totalN[i], t.totalM[i]]; })(flame.parts[0].tree)"),
          [150, 120], "callers of copy")
    page.eval("change({ view: 'sandwich', picked: frameRef(findFrame('copy', 2, false)) })")
    equal(page.eval("flame.parts.map(part => [part.tree.totalN[0], part.tree.totalM[0]])"), [[150, 120]] * 2, "sandwich of copy")
    return page


@test
def the_call_tree_has_both_sides(browser):
    page = Report(browser, "d", fragment="#v=tree&w=3")
    equal(page.eval("visible('.calls .head .cell').map(e => e.textContent)"), ["Before", "After", "Change", "%", "Function"], "heads")
    first = page.eval("Array.from(document.querySelector('.calls .row:not(.head)').querySelectorAll('.cell'), e => e.textContent).slice(0, 4)")
    equal(first, ["1,653 samples", "1,915 samples", "+262 samples", "+15.8 %"], "the root")
    return page


@test
def the_panel_and_the_pointer_tell_how_surely(browser):
    page = Report(browser, "d")
    page.click_frame("idle_loop")
    panel = page.panel()
    for words in ("Before\n300 samples", "After\n220 samples", "−80 samples · −26.7 %", "significant"):
        check(words in panel, "%r not in the panel: %r" % (words, panel))
    page.key("0")
    page.settle()
    lines = page.eval("(at => describe(at.part, at.node, 0))(drawn().find(at => at.name === 'tiny'))")
    check("3 samples, then 5 samples: +2 samples, +66.7 %" in lines and any("too few samples" in line for line in lines), "words: %r" % lines)
    return page


@test
def the_evidence_is_of_both(browser):
    page = Report(browser, "d")
    page.key("e")
    text = page.text("#evidence")
    for words in ("a.folded", "b.folded", "absolute amounts", "at most 5 % is chance"):
        check(words in text, "%r is not in the evidence: %r" % (words, text))
    return page


@test
def shares_are_compared_when_asked_for(browser):
    page = Report(browser, "shares")
    equal(page.eval("profile.changed ? profile.changed.size : changedFrames().size"), 0, "functions that changed")
    cards = page.text(".cards").split("\n")
    equal(cards[:6], ["Before", "1,653 samples", "After", "1,653 samples", "scaled to the same total", "Change"], "cards")
    found = page.eval(COLOURS)
    equal(set(tuple(strength) for strength in found.values()), {(0, "")}, "strengths")
    return page


@test
def hostile_names_stay_text(browser):
    page = Report(browser, "d", fragment="#v=top")
    check(any(name.startswith("evil|name`<script>") for name in rows(page)), "rows: %r" % rows(page))
    equal(page.eval("document.querySelectorAll('body script').length"), 5, "scripts")
    return page


@test
def what_is_shown_can_be_taken(browser):
    page = Report(browser, "d", fragment="#w=1")
    page.key("F")
    data, name = page.saved()
    check(name.endswith(".folded"), name)
    equal(folded(data)["app;main;old_path;copy"], 150, "before, as folded stacks")
    page.key("S")
    data, name = page.saved()
    check(b"hash_step" in data and name.endswith(".svg"), "the picture")
    return page


html_page.FOLDER, html_page.BPFPROF = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
sys.exit(run(sys.argv[1], sys.argv[4:]))
