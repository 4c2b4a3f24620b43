# SPDX-License-Identifier: Apache-2.0
"""The page of a profiled host in a real browser, beside a server that makes its answers up. Run by test_page.sh.

usage: page_browser.py CHROMIUM REPORT.html DIFFERENCE.html [TEST...]    from the top of the tree
"""

import json
import re
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
import page_host  # noqa: E402 (after the switch above)
import page_server  # noqa: E402
from browser_tests import check, equal, run, test  # noqa: E402
from chromium import Page  # noqa: E402
from page_host import CORES, HOUR_MS, MINUTE_MS, Host, close, still  # noqa: E402

# --- Values ---

@test
def the_last_hour_by_service(browser):
    page = Host(browser)
    equal(page.names(), page_server.NAMES[:5], "series")
    equal(page.text("h1"), "db-7.example", "title")
    equal(page.text(".trail strong").lower(), "cores busy", "unit")
    now = page.eval("Date.now()")
    for ago in (59, 31, 7, 1):
        close(page.rates(now - ago * MINUTE_MS), CORES, 0.001, "cores %d minutes ago" % ago)
    equal(page.eval("[state.span, state.end, location.hash]"), [HOUR_MS, None, ""], "range")
    equal(page.eval("visible('.legend-list .hot').map(e => e.dataset.name)"), page_server.NAMES[:5], "legend")
    equal(page.eval("shownGaps().length"), 0, "gaps")
    check("all of it" in page.text(".cards") and "none" in page.text(".cards"), page.text(".cards"))
    check("recorded" in page.text(".ledger-line"), "no ledger")
    return page


@test
def long_ranges_are_as_high(browser):
    page = Host(browser, None, "#r=86400")
    now = page.eval("Date.now()")
    for ago in (23, 12, 1):
        close(page.rates(now - ago * HOUR_MS), CORES, 0.001, "cores %d hours ago" % ago)
    equal(page.eval("view.plan.step % view.windowMs"), 0, "steps are whole windows")
    equal(page.eval("shownGaps().length"), 0, "gaps")
    return page


@test
def other_kinds(browser):
    page = Host(browser)
    page.press("Off-CPU")
    page.loaded()
    equal(page.asked("/api/timeline")["kind"], ["off-cpu"], "asked for")
    equal(page.text(".trail strong").lower(), "threads", "unit of waits")
    page.key("v")
    page.loaded()
    equal(page.text(".trail strong").lower(), "faults per second", "unit of counts")
    page.key("V")
    check("k=off-cpu" in page.hash(), page.hash())
    return page


@test
def gaps_are_no_zeros(browser):
    fragment, start, end = still()
    gap, idle = [start + 10 * MINUTE_MS, start + 20 * MINUTE_MS], [start + 40 * MINUTE_MS, start + 45 * MINUTE_MS]
    page = Host(browser, page_server.Scene(gaps=[gap], idle=[idle], lost=7), fragment)
    shown = page.eval("shownGaps().map(gap => [gap.from, gap.to, gap.dropped])")
    equal(len(shown), 1, "gaps")
    check(abs(shown[0][0] - gap[0]) <= 10_000 and abs(shown[0][1] - gap[1]) <= 10_000 and shown[0][2] == 1, "the gap: %r" % shown)
    page.move(*page.point(gap[0] + 5 * MINUTE_MS))
    page.settle()
    check("no data: windows were dropped here (1)" in page.text(".readout"), page.text(".readout"))
    check("no data" in page.text(".tip"), page.text(".tip"))
    page.move(*page.point(idle[0] + 2 * MINUTE_MS))
    page.settle()
    check("0 cores busy" in page.text(".readout"), page.text(".readout"))
    page.move(*page.point(start + 5 * MINUTE_MS))
    page.settle()
    check("4.57 cores busy" in page.text(".readout") and "postgres" in page.text(".tip"), page.text(".readout"))
    check("83.3%" in page.text(".cards") and "7\n" in page.text(".cards") and "1 gap" in page.text(".cards"), page.text(".cards"))
    hatched = page.eval("""(at => Array.from(chart.base.getContext('2d').getImageData(xOf(at) - 8, 60, 16, 16).data).filter((v, i) => !(i & 3)))(%r)""" %
                        (gap[0] + 2 * MINUTE_MS))
    check(len(set(hatched)) > 1, "the gap is not hatched")
    return page


@test
def windows_may_be_late(browser):
    fragment, start, end = still()
    page = Host(browser, page_server.Scene(shift=(start + 30 * MINUTE_MS, 4000)), fragment)
    for at in range(start, end, 4000):
        close(page.rates(at), CORES, 0.01, "cores after %d s" % ((at - start) // 1000))
    return page


# --- The range ---

@test
def presets(browser):
    page = Host(browser)
    for key, text, ms in (("1", "15 m", 15 * MINUTE_MS), ("3", "6 h", 6 * HOUR_MS), ("4", "1 d", 24 * HOUR_MS), ("5", "7 d", 168 * HOUR_MS), ("2", "1 h", HOUR_MS)):
        page.key(key)
        page.loaded()
        equal(page.eval("[state.span, state.end]"), [ms, None], "after key " + key)
        fields = page.asked("/api/coverage")
        check(page.eval("view.plan.points <= POINTS_MAX"), "too many points")
        check(float(fields["to"][0]) > float(fields["from"][0]), "range")
        page.press("15 m" if text == "1 h" else "1 h")
        page.press(text)
        equal(page.eval("[state.span, byText('button', %s).getAttribute('aria-pressed')]" % json.dumps(text)), [ms, "true"], "button " + text)
    return page


@test
def keys_pan_and_zoom(browser):
    fragment, start, end = still(2 * HOUR_MS)
    page = Host(browser, None, fragment)
    page.key(",")
    equal(page.eval("shownRange()"), [start - HOUR_MS / 4, end - HOUR_MS / 4], "earlier")
    page.key(".")
    equal(page.eval("shownRange()"), [start, end], "later")
    page.key("+")
    equal(page.eval("shownRange()"), [start + HOUR_MS / 4, end - HOUR_MS / 4], "nearer")
    page.key("-")
    equal(page.eval("shownRange()"), [start, end], "farther")
    page.loaded()
    close(page.rates(start + 30 * MINUTE_MS), CORES, 0.001, "cores")
    for _ in range(9):
        page.key(".")
    equal(page.eval("state.end"), None, "beyond now is now")
    return page


@test
def the_mouse_pans_and_zooms(browser):
    fragment, start, end = still(2 * HOUR_MS)
    page = Host(browser, None, fragment)
    at, axis = page.point(start + 15 * MINUTE_MS), page.point(start + 40 * MINUTE_MS, 1.05)
    page.wheel(at, 0, 200, 0)
    equal(page.eval("shownRange()"), [start, end], "a wheel alone does nothing")
    page.wheel(at, 0, -400, 2)
    span = page.eval("state.span")
    check(span < HOUR_MS * 0.7, "Ctrl and wheel: %r" % span)
    check(abs(page.eval("msOf(%r - chart.top.getBoundingClientRect().x)" % at[0]) - start - 15 * MINUTE_MS) < 2000, "what is under the pointer stays there")
    page.reload(fragment)
    page.wheel(at, 0, 100, 8)
    check(page.eval("shownRange()[0]") > start, "Shift and wheel")
    page.reload(fragment)
    page.drag(axis, [axis[0] + 200, axis[1]])
    moved = page.eval("shownRange()[0]") - start
    check(-14 * MINUTE_MS < moved < -9 * MINUTE_MS, "drag of the times: %r" % moved)
    equal(page.eval("state.picked"), None, "nothing is picked by that")
    for text in ("\u2039", "\u203a", "+", "\u2212"):
        before = page.eval("shownRange()")
        page.press(text)
        check(page.eval("shownRange()") != before, "button " + text)
    return page


@test
def it_follows(browser):
    page = Host(browser, None, "#r=60")
    page.eval("view.windowMs = 10")
    before = page.eval("view.plan.to")
    page.server.requests.clear()
    deadline = time.monotonic() + 15
    while page.eval("view.plan.to") <= before and time.monotonic() < deadline:
        time.sleep(0.2)
    check(page.eval("view.plan.to") > before, "it does not load again")
    page.press("Live")
    check(page.eval("state.end") is not None and "e=" in page.hash(), "Live does not stop it")
    page.loaded()
    equal(page.eval("byText('button', 'Live').getAttribute('aria-pressed')"), "false", "the button")
    page.key("l")
    equal(page.eval("state.end"), None, "l does not start it")
    return page


# --- Ranges and reports ---

@test
def a_range_is_its_report(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.click(*page.point(start + 20 * MINUTE_MS))
    equal(page.eval("[state.picked, ui.report.hidden]"), [None, True], "after a click")
    page.brush(start + 20 * MINUTE_MS, start + 30 * MINUTE_MS)
    page.framed("hash_lookup")
    fields = page.asked("/api/profile")
    picked = page.eval("state.picked")
    check(abs(picked[0] - start - 20 * MINUTE_MS) <= 10_000 and abs(picked[1] - start - 30 * MINUTE_MS) <= 10_000, "picked %r" % picked)
    equal([float(fields["from"][0]) * 1000, float(fields["to"][0]) * 1000, fields["format"], fields["kind"]], [*picked, ["html"], ["cpu"]], "asked for")
    check("p=%d-%d" % (picked[0] // 1000, picked[1] // 1000) in page.hash(), page.hash())
    check("(10 min" in page.text(".picked"), page.text(".picked"))
    page.press("Open alone")
    check("/api/profile?" in page.eval("opened[0]") and "format=html" in page.eval("opened[0]"), "opened alone")
    page.press("Zoom to it")
    page.loaded()
    equal(page.eval("shownRange()"), picked, "zoomed to")
    page.key("Escape")
    equal(page.eval("[state.picked, ui.report.hidden]"), [None, True], "after Escape")
    return page


@test
def each_report_is_asked_for_once(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    for nr in range(8):  # more than a browser's connections to one host
        page.brush(start + 5 * nr * MINUTE_MS, start + 5 * (nr + 1) * MINUTE_MS)
        page.framed("hash_lookup")
        check(page.wait("ui.reportWords.hidden"), page.text(".report-words"))
    asked = [one for one in page.server.requests if one.startswith("/api/profile?")]
    equal([len(asked), len(set(asked))], [8, 8], "requests for eight reports")
    return page


@test
def keys_pick(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.eval("chart.top.focus()")
    for _ in range(4):
        page.key("ArrowRight")
    check("cores busy" in page.text(".said"), page.text(".said"))
    for _ in range(8):
        page.key("ArrowLeft", shift=True)
    check(" min" in page.text(".readout") or " s)" in page.text(".readout"), page.text(".readout"))
    page.key("Enter")
    check(page.eval("state.picked[1] - state.picked[0]") > MINUTE_MS, "picked")
    page.framed("hash_lookup")
    page.key("Escape")
    page.key("Enter")
    equal(page.eval("state.picked"), [start, end], "all that is shown")
    return page


@test
def two_ranges_are_compared(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.brush(start + 40 * MINUTE_MS, start + 50 * MINUTE_MS)
    page.framed("hash_lookup")
    page.brush(start + 10 * MINUTE_MS, start + 15 * MINUTE_MS, shift=True)
    page.framed("what changed")
    fields, before, picked = page.asked("/api/profile"), page.eval("state.before"), page.eval("state.picked")
    check(abs(before[0] - start - 10 * MINUTE_MS) <= 10_000 and abs(picked[0] - start - 40 * MINUTE_MS) <= 10_000, "ranges %r %r" % (before, picked))
    equal([float(fields[key][0]) * 1000 for key in ("before_from", "before_to", "from", "to")], before + picked, "asked for")
    equal(fields["normalize"], ["1"], "shares are compared where one range is longer")
    for text, key, ago in (("the range before", "b", picked[1] - picked[0]), ("an hour before", "B", HOUR_MS), ("a day before", "D", 24 * HOUR_MS)):
        for way in (lambda: page.press(text), lambda: page.key(key)):
            page.key("x")
            equal(page.eval("state.before"), None, "no comparison")
            way()
            equal(page.eval("state.before"), [at - ago for at in picked], text)
    equal(page.eval("byText('button', 'a day before').getAttribute('aria-pressed')"), "true", "the button")
    page.framed("what changed")
    equal(page.asked("/api/profile").get("normalize"), None, "values are compared where both are as long")
    page.press("No comparison")
    page.framed("Hottest function")
    return page


@test
def downloads(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment + "&p=%d-%d" % (start // 1000 + 60, start // 1000 + 120))
    for key, form, extension in (("P", "pprof", ".pb.gz"), ("S", "svg", ".svg"), ("F", "folded", ".folded"), ("J", "speedscope", ".speedscope.json")):
        page.eval("saved.length = 0")
        page.key(key)
        check(page.wait("saved.length"), "nothing was saved by " + key)
        name, url = page.eval("saved[0]")
        check(name.startswith("db-7.example-cpu-") and name.endswith(extension), name)
        equal(page.eval("fetch(%s).then(r => r.text()).catch(e => 'refused')" % json.dumps(url)), "refused", "connect-src")
        fields = page.asked("/api/profile")
        equal([fields["format"], fields["from"]], [[form], [str(start // 1000 + 60)]], "asked for")
    page.eval("saved.length = 0")
    page.press("Save", "summary")
    page.press("speedscope  J")
    check(page.wait("saved.length"), "nothing was saved by the menu")
    page.expected = ["Content Security Policy", "Refused to connect", "Fetch API cannot load"]
    return page


# --- Filters ---

@test
def filters_stack(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.press("nginx", ".legend-list .hot .text")
    page.loaded()
    equal(page.chips(), ["service = nginx"], "chips")
    equal(page.names(), ["nginx"], "series")
    close(page.rates(start + 20 * MINUTE_MS), [1], 0.001, "cores")
    page.key("f")
    check(page.wait("labels.list.length === 3"), "no labels")
    page.settle()
    equal(page.eval("labels.key"), "service", "the key that is shown first")
    page.press("cpu", "#labels button")
    check("100.00 s" in page.text(".label-values"), page.text(".label-values"))
    page.press("1", ".label-values .text")
    page.loaded()
    equal(page.chips(), ["service = nginx", "cpu = 1"], "chips")
    asked = [one for one in page.server.requests if one.startswith("/api/timeline")][-2:]
    check(any("select=service%3Dnginx&select=cpu%3D1" in one for one in asked), "both filters: %r" % asked)
    check(any("select=" not in one for one in asked), "where windows start is asked without filters: %r" % asked)
    check("s=service%3Dnginx&s=cpu%3D1" in page.hash(), page.hash())
    page.eval("ui.chips.querySelector('button').click()")
    page.loaded()
    equal(page.chips(), ["cpu = 1"], "after removing one")
    page.key("Backspace")
    page.loaded()
    equal([page.chips(), len(page.names())], [[], 5], "after Backspace")
    return page


@test
def filters_go_into_reports(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment + "&s=" + urllib.parse.quote("service=a*b,c") + "&p=%d-%d" % (start // 1000, end // 1000))
    page.framed("hash_lookup")
    equal(page.asked("/api/profile")["select"], ["service=a\\*b\\,c"], "what means more in globs means itself")
    return page


@test
def names_are_no_markup(browser):
    page = Host(browser, None, "#f=%3Cimg%20src=x%20onerror=alert(1)%3E&s=thread%3D%3Cb%3E&g=service")
    page.key("f")
    check(page.wait("labels.list.length === 3"), "no labels")
    page.press("thread", "#labels button")
    check("<img src=x onerror=alert(1)>" in page.text(".label-values"), page.text(".label-values"))
    equal(page.eval("document.querySelectorAll('img, b').length"), 0, "elements made of names")
    page.eval("ui.labelSearch.focus()")
    page.type("zzz")
    check("Nothing here" in page.text(".label-values"), page.text(".label-values"))
    return page


@test
def series_by_another_label(browser):
    page = Host(browser)
    page.eval("ui.by.focus()")
    check(page.wait("ui.by.options.length === 3"), "keys to choose from")
    page.eval("ui.by.value = 'cpu'; ui.by.dispatchEvent(new Event('change'))")
    page.loaded()
    equal([sorted(page.names()), page.asked("/api/timeline")["by"]], [["0", "1", "2", "3"], ["cpu"]], "series")
    check("g=cpu" in page.hash(), page.hash())
    return page


@test
def each_alone_and_lit(browser):
    page = Host(browser)
    equal(page.eval("chart.panels.length"), 1, "stacked")
    page.press("Each alone")
    equal(page.eval("chart.panels.map(panel => panel.name)"), page_server.NAMES[:5], "panels")
    check("y=each" in page.hash(), page.hash())
    page.key("g")
    equal(page.eval("chart.panels.length"), 1, "stacked again")
    before = page.eval("chart.base.toDataURL()")
    page.move(*page.eval("middle(byText('.legend-list .hot .text', 'nginx'))"))
    page.settle()
    equal(page.eval("chart.lit"), "nginx", "lit")
    check(page.eval("chart.base.toDataURL()") != before, "the others do not step back")
    return page


# --- Functions ---

@test
def functions_over_time(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.key("/")
    check(page.wait("visible('.found-list .hot').length === 6"), "functions by cost")
    equal(page.eval("visible('.found-list .text').map(e => e.textContent)[0]"), "main", "the first")
    page.type("_")
    check(page.wait("visible('.found-list .hot').length === 5 && finder.list[0].name === 'compress_block'"), "those that match")
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.key("Enter")
    page.loaded()
    equal(page.eval("state.name"), "tcp_sendmsg", "chosen")
    close(page.eval("[foundRate()[stepAt(%r)] / 1e6]" % (start + 30 * MINUTE_MS)), [sum(CORES) * 0.12], 0.001, "its cores")
    equal(page.chips(), ["function tcp_sendmsg"], "chip")
    check("f=tcp_sendmsg" in page.hash(), page.hash())
    page.key("/")
    check(page.wait("visible('.found-list .hot').length === 6"), "functions")
    page.press("hash_lookup", ".found-list .text")
    equal(page.eval("state.name"), "hash_lookup", "by a click")
    page.key("Escape")
    equal(page.eval("state.name"), "", "after Escape")
    page.key("/")
    page.type("nothing like it")
    check(page.wait("ui.found.innerText.includes('No function matches')"), page.text(".found-list"))
    page.key("Escape")
    equal(page.eval("ui.found.hidden"), True, "the list is closed")
    return page


# --- Links, errors, looks ---

@test
def links_show_the_same(browser):
    fragment, start, end = still()
    first, last = start // 1000, end // 1000
    whole = "#k=off-cpu&r=1800&e=%d&g=cpu&s=service%%3Dnginx&f=main&p=%d-%d&b=%d-%d&y=each&m=dark" % (last, first + 60, first + 120, first, first + 60)
    page = Host(browser, None, whole)
    equal(page.eval("location.hash"), whole, "address")
    equal(page.eval("'#' + makeHash()"), whole, "state")
    equal(page.eval("[state.kind, state.by, state.name, state.isEach, document.documentElement.dataset.theme]"), ["off-cpu", "cpu", "main", True, "dark"], "shown")
    page.framed("what changed")
    page.reload("#r=x&e=-5&p=9-3&b=1-2&s==&s=nokey&m=pink&k=nothing&y=2")
    equal(page.eval("[state.span, state.end, state.picked, state.before, state.select, state.theme, state.kind]"), [HOUR_MS, None, None, None, [], "", "cpu"], "nonsense")
    return page


@test
def back_is_a_step_back(browser):
    page = Host(browser)
    page.press("6 h")
    page.loaded()
    page.press("Each alone")
    page.eval("history.back()")
    check(page.wait("!state.isEach && state.span === 6 * HOUR_MS"), "first step back")
    page.eval("history.back()")
    check(page.wait("state.span === HOUR_MS"), "second step back")
    page.loaded()
    return page


@test
def back_goes_with_the_report(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment)
    page.brush(start + 10 * MINUTE_MS, start + 20 * MINUTE_MS)
    page.framed("hash_lookup")
    first = page.eval("state.picked")
    page.key("b")
    page.framed("what changed")
    page.brush(start + 30 * MINUTE_MS, start + 40 * MINUTE_MS)
    page.framed("Hottest function")
    page.eval("history.back()")
    check(page.wait("state.before !== null"), "one step back")
    equal(page.eval("state.picked"), first, "the range")
    page.framed("what changed")
    page.eval("history.back()")
    check(page.wait("state.before === null"), "two steps back")
    equal(page.eval("state.picked"), first, "the range, alone")
    page.framed("Hottest function")
    return page


@test
def a_token_is_asked_for(browser):
    fragment, start, end = still()
    page = Host(browser, page_server.Scene(token="s3cret"), fragment + "&p=%d-%d" % (start // 1000, start // 1000 + 600))
    page.expected = ["401"]
    check(page.eval("access.dialog.open && document.activeElement === access.field"), "it is not asked for")
    page.type("wrong")
    page.key("Enter")
    check(page.wait("access.dialog.open && access.words.textContent.includes('does not accept')"), "a wrong one")
    page.type("s3cret")
    page.key("Enter")
    check(page.wait("view.series.length === 5 && !view.isLoading"), "the right one")
    equal(page.eval("[access.dialog.open, sessionStorage.getItem('bpfprof-token'), localStorage.length, document.cookie]"), [False, "s3cret", 0, ""], "where it is kept")
    page.framed("hash_lookup")
    check(page.eval("ui.frame.src").startswith("blob:"), "the frame's address")
    check("s3cret" not in "".join(page.server.requests) + page.hash(), "the token is in an address")
    page.press("Open alone")
    check(page.eval("opened[0]").startswith("blob:"), "opened alone")
    page.key("P")
    check(page.wait("saved.length"), "nothing was saved")
    page.press("the range before")
    page.framed("what changed")
    page.eval("sessionStorage.clear()")
    return page


@test
def errors_are_words(browser):
    page = Host(browser, page_server.Scene(fail="the store: database is locked"))
    page.expected = ["500", "ERR_CONNECTION_REFUSED"]
    check("the store: database is locked" in page.text(".notice"), page.text(".notice"))
    page.server.scene = page_server.Scene()
    page.press("Try again")
    page.loaded()
    equal([page.eval("ui.notice.hidden"), len(page.names())], [True, 5], "after trying again")
    page.server.scene = page_server.Scene(fail="again")
    page.key("r")
    page.loaded()
    equal([page.text(".notice p"), len(page.names())], ["again", 5], "what was there stays")
    page.eval("window.fetch = () => Promise.reject(new TypeError('refused'))")
    page.key("r")
    page.loaded()
    check("the server does not answer" in page.text(".notice"), page.text(".notice"))
    page.eval("window.fetch = () => Promise.resolve(new Response('<html>'))")
    page.key("r")
    page.loaded()
    check("what is no JSON" in page.text(".notice"), page.text(".notice"))
    return page


@test
def an_empty_store(browser):
    page = Host(browser, page_server.Scene(empty=True))
    check("Nothing is stored yet" in page.text(".nothing") and "bpfprof agent" in page.text(".nothing"), page.text(".nothing"))
    equal(page.eval("ui.work.hidden"), True, "the rest")
    page.server.scene = page_server.Scene()
    page.eval("view.windowMs = 10; load()")
    check(page.wait("ui.empty.hidden && view.series.length === 5"), "it does not look again")
    return page


@test
def nothing_in_this_range(browser):
    page = Host(browser, page_server.Scene(end_ago_ms=2 * HOUR_MS))
    check("No data from" in page.text(".notice") and "There is some from" in page.text(".notice"), page.text(".notice"))
    equal(page.eval("[view.gaps.length, shownGaps().length]"), [1, 1], "all is a gap")
    page.press("Show the last that there is")
    page.loaded()
    equal([page.eval("ui.notice.hidden"), len(page.names())], [True, 5], "after that")
    close(page.rates(page.server.scene.last() - MINUTE_MS), CORES, 0.001, "cores")
    return page


@test
def light_and_dark(browser):
    page = Host(browser, dark=True)
    equal(page.eval("document.documentElement.dataset.theme"), "dark", "the system's")
    dark = page.eval("[chart.base.toDataURL(), getComputedStyle(document.body).backgroundColor]")
    page.key("t")
    equal(page.eval("document.documentElement.dataset.theme"), "light", "after t")
    light = page.eval("[chart.base.toDataURL(), getComputedStyle(document.body).backgroundColor]")
    check(light[0] != dark[0] and light[1] != dark[1], "it looks the same")
    check("m=light" in page.hash(), page.hash())
    page.key("Enter")
    page.framed("hash_lookup")
    inside = "ui.frame.contentDocument.documentElement.dataset.theme"
    equal(page.eval(inside), "light", "the report's")
    page.key("t")
    equal(page.eval(inside), "dark", "the report's after t")
    return page


@test
def keys_are_listed(browser):
    page = Host(browser)
    page.key("?")
    text = page.text("#help")
    for key in page.eval("ACTIONS.filter(entry => entry[1] && !entry[0].startsWith('Arrow')).map(entry => entry[0])"):
        check(re.search(r"^%s$" % re.escape(key), text, re.M), "key %s is not listed" % key)
    equal(page.eval("new Set(ACTIONS.map(entry => entry[0])).size === ACTIONS.length"), True, "each key once")
    page.key("3")
    equal(page.eval("state.span"), HOUR_MS, "keys rest while a dialog is open")
    page.press("\u00d7", "#help button")
    equal(page.eval("ui.help.open"), False, "closed")
    return page


@test
def narrow_screens(browser):
    fragment, start, end = still()
    page = Host(browser, None, fragment + "&p=%d-%d&s=service%%3Dnginx&f=main" % (start // 1000, start // 1000 + 600), width=360, height=740)
    page.framed("hash_lookup")
    equal(page.eval("document.documentElement.scrollWidth <= innerWidth"), True, "nothing is beside the screen")
    for width in (700, 1000, 1800):
        page.resize(width, 800)
        page.settle()
        equal(page.eval("[document.documentElement.scrollWidth <= innerWidth, Math.abs(chart.width - chart.box.clientWidth) < 1]"), [True, True], "at %d" % width)
    return page


@test
def a_day_of_fifty_services(browser):
    page = Host(browser, page_server.Scene(services=50), "#r=86400")
    equal(page.eval("[view.series.length, view.plan.points >= 1440, view.series[49].rate.length >= 1440]"), [50, True, True], "loaded")
    times = page.eval("Array.from({ length: 21 }, () => { drawBase(); return chart.drawMs; }).sort((a, b) => a - b)")
    print("# 50 x %d points: drawn in %.1f ms (median of 21), %.1f ms at most" % (page.eval("view.plan.points"), times[10], times[20]))
    return page


@test
def without_scripts(browser):
    page = Page(browser, page_host.SERVER.url, scripts=False)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    check("This page needs scripts" in page.eval("document.body.innerText"), "nothing is said")
    page.close()


page_host.serve(*sys.argv[2:4])
STATUS = run(sys.argv[1], sys.argv[4:])
page_host.SERVER.stop()
sys.exit(STATUS)
