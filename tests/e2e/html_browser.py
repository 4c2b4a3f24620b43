# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: clicks, keys, links, downloads. Run by test_html_browser.sh.

usage: html_browser.py CHROMIUM FOLDER BPFPROF [TEST...]    with the files of `test_html --emit FOLDER`
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
import html_page  # noqa: E402 (after the switch above)
from browser_tests import check, equal, run, test  # noqa: E402
from html_page import Report, close_to, converted, folded  # noqa: E402


@test
def shows_a_table_without_scripts(browser):
    page = Report(browser, "kinds", scripts=False)
    text = page.text("body")
    for part in ("longest_match", "820 samples", "30.10%", "ledger: 5,940 ticks"):
        check(part in text, "%r is not in the page" % part)
    return page


@test
def totals_are_the_profiles(browser):
    for name, value in (("kinds", "samples"), ("wall", "wall"), ("bytes", "alloc_space"), ("narrow", "page-faults"), ("sample", "samples")):
        page = Report(browser, name)
        expected = folded(converted(name + ".pb.gz", ".folded", "--value", value))
        equal(page.total(), sum(expected.values()), "total of " + name)
        page.key("F")
        equal(folded(page.saved()[0]), expected, "stacks of " + name)
        equal(page.complaints(), [], "complaints")
        page.close()


KEEP = "Element.prototype.remove = function () { window.firstCanvas = this.firstChild; this.replaceWith(); }"
# Where all frames stand, the colour of either graph.
PIXELS = """drawn().filter(one => one.width > 12 && one.part.tree.depth[one.node] < 20).map(one => { const box = boxOf(one.part, one.node);
	return [window.firstCanvas, flame.canvas].map(canvas => String(canvas.getContext('2d').getImageData(box.right - 4, box.y + 4, 1, 1).data)); })"""


@test
def first_picture_is_the_graph(browser):
    for name in ("kinds", "wall", "bytes", "narrow", "sample", "hostile"):
        page = Report(browser, name)
        page.check_first()
        check(page.eval("!document.getElementById('first')"), "the first picture stays")
        page.close()
    for dark in (False, True):
        page = Report(browser, "kinds", dark=dark, before=KEEP)
        check(page.eval("Number(document.documentElement.dataset.painted) <= Number(document.documentElement.dataset.ready)"), "it is not painted first")
        pixels = page.eval(PIXELS)
        check(len(pixels) > 20 and all(one == two for one, two in pixels), "drawn otherwise: %r" % pixels)
        page.close()
    page = Report(browser, "kinds", "#v=callers", before=KEEP)
    equal(page.eval("[document.documentElement.dataset.painted ?? null, window.firstCanvas]"), [None, None], "a picture of another view")
    return page


@test
def zooms_by_click_key_and_back(browser):
    page = Report(browser, "kinds")
    check(page.is_full("all") and page.has("postgres"), "the whole is not there")
    page.click_frame("ngx_http_gzip_body_filter")
    for name in ("all", "nginx", "main", "ngx_http_gzip_body_filter"):
        check(page.is_full(name), "%s does not fill the width" % name)
    check(not page.has("postgres"), "a sibling is still drawn")
    check("z=" in page.hash(), "no zoom in the address")
    page.press("nginx", ".way button")
    check(page.is_full("nginx") and page.has("ngx_http_lua_run_thread"), "the breadcrumb does not zoom out")
    page.eval("history.back()")
    check(page.wait("state.zoom.length > 1"), "back is no step back")
    page.eval("history.forward()")
    check(page.wait("state.zoom.length === 1"), "forward is no step forward")
    page.key("0")
    check(page.has("postgres"), "0 does not reset")
    page.key("Escape")
    for key in ("ArrowDown", "Enter"):
        page.key(key)
    check(page.is_full("nginx") and not page.has("node") and not page.is_full("ngx_worker_process_cycle"), "keys do not zoom: %r" % page.names())
    page.key("Escape")
    check(page.has("node") and page.panel().startswith("nginx"), "Escape does not zoom out")
    page.key("Escape")
    check(not page.panel().startswith("nginx"), "Escape does not close the panel")
    for key in ("ArrowDown", "ArrowRight"):
        page.key(key)
    check(page.panel().startswith("node"), "the arrows do not pick: %r" % page.panel())
    return page


@test
def turns_over_and_orders(browser):
    page = Report(browser, "kinds")
    y = "point('all')[1] > point('nginx')[1]"
    check(not page.eval(y), "the root is not at the top")
    page.key("i")
    check(page.eval(y), "i does not turn it over")
    page.press("Root below")
    check(not page.eval(y), "the button does not turn it back")
    order = "drawn().filter(at => at.part.tree.depth[at.node] === 1).map(at => at.name)"
    equal(page.eval(order), ["nginx", "node", "postgres", "kworker/1:2", "sh"], "heaviest first")
    page.key("o")
    equal(page.eval(order), ["kworker/1:2", "nginx", "node", "postgres", "sh"], "by name")
    return page


@test
def callers_start_at_the_leaf(browser):
    page = Report(browser, "kinds")
    page.key("2")
    first = page.eval("drawn().filter(at => at.part.tree.depth[at.node] === 1).map(at => at.name)")
    check(first[0] == "longest_match" and "uv_run" not in first, "not by leaf: %r" % first)
    equal(page.eval("flame.parts[0].tree.total[0]"), 2724, "total")
    page.click_frame("longest_match")
    for name in ("longest_match", "deflate_slow", "deflate", "main", "nginx"):
        check(page.is_full(name), "%s is no caller" % name)
    return page


@test
def sandwich_has_callers_and_callees(browser):
    page = Report(browser, "kinds")
    page.click_frame("uv__io_poll")
    page.key("s")
    names = page.names()
    check(names.count("uv__io_poll") == 1 and page.is_full("uv__io_poll"), "not in the middle: %r" % names)
    check("node::Start(int, char**)" in names and "epoll_pwait" in names and "deflate" not in names, "%r" % names)
    check(page.eval("point('uv_run')[1] < point('uv__io_poll')[1] && point('uv__io_poll')[1] < point('epoll_pwait')[1]"),
          "callers are not above, callees not below")
    page.click_frame("epoll_pwait")
    check(page.is_full("epoll_pwait") and page.has("do_epoll_wait"), "a click does not make it the middle")
    check("v=sandwich" in page.hash(), "not in the address")
    return page


@test
def searches(browser):
    page = Report(browser, "kinds")
    page.search("^(deflate|uv_run|exec_simple_query)$")
    expected = 100 * (820 + 95 + 700 + 240 + 60 + 180 + 33) / 2724
    equal(page.text(".matched"), "%.2f%% matched" % expected, "matched")
    page.key("Enter")
    picked = [page.eval("state.picked.name")]
    page.key("Escape")
    equal(page.eval("state.search"), "", "Escape ends the search")
    page.search("^(deflate|uv_run|exec_simple_query)$")
    page.eval("document.activeElement.blur()")
    for key in ("n", "n", "N"):
        page.key(key)
        picked.append(page.eval("state.picked.name"))
    equal(picked, ["deflate", "uv_run", "exec_simple_query", "uv_run"], "walk")
    page.key("!")
    equal(page.text(".matched"), "100.00% matched", "inverted")
    page.key("!")
    page.key("Escape")
    page.key("0")
    page.search("DEFLATE")
    equal(page.text(".matched"), "0.00% matched", "with case")
    page.press("Aa")
    check(page.text(".matched") != "0.00% matched", "case is not ignored")
    check("c=1" in page.hash() and "s=DEFLATE" in page.hash(), page.hash())
    page.search("(")
    check("not a regular expression" in page.text(".matched"), "a half expression is not told")
    return page


@test
def filters_stack_and_are_undone(browser):
    page = Report(browser, "kinds")

    def step(frame, key, total, names, gone):
        if frame:
            page.click_frame(frame)
            page.key("0")
        page.key(key)
        equal(page.total(), total, "total after %s of %s" % (key, frame))
        for name in names:
            check(page.has(name), "%s is gone after %s" % (name, key))
        for name in gone:
            check(not page.has(name), "%s is still there after %s" % (name, key))

    step("node", "f", 1000, ["node"], ["nginx", "postgres"])
    step("uv__io_poll", "h", 1000, ["v8::internal::Execution::Call", "uv_run"], ["uv__io_poll"])
    step("epoll_pwait", "x", 940, [], ["epoll_pwait"])
    step("*JSON.stringify", "m", 940, ["*handleRequest server.js:42"], ["*JSON.stringify", "v8::internal::JsonStringifier::Serialize"])
    equal([chip.split(" ")[0] for chip in page.chips()], ["only", "hide", "without", "merge"], "chips")
    fragment = page.hash()
    page.key("Backspace")
    check(page.has("*JSON.stringify") and len(page.chips()) == 3, "Backspace does not undo")
    page.key("Z")
    equal(len(page.chips()), 4, "Z does not redo")
    page.click(*page.eval("middle(visible('.chip button')[0])"))
    equal(page.total(), 2724 - 60, "total without the focus")
    page.key("z", ctrl=True)
    equal(len(page.chips()), 2, "Ctrl-Z does not undo")
    page.reload(fragment)
    equal(page.total(), 940, "total of the link")
    check(not page.has("*JSON.stringify") and len(page.chips()) == 4, "the link shows something else")
    return page


@test
def filters_of_the_whole(browser):
    page = Report(browser, "kinds")
    page.key("k")
    check(not page.has("do_epoll_wait") and page.has("epoll_wait"), "the kernel is not hidden")
    equal(page.total(), 2724, "hidden frames' time goes to their callers")
    page.press("No kernel")
    check(page.has("do_epoll_wait"), "it does not come back")
    page.key("u")
    check(not page.has("deflate") and page.has("ngx_http_gzip_body_filter") and page.has("*JSON.stringify"), "not my code only")
    page.press("My code")
    page.click_frame("deflate")
    page.key("0")
    page.press("Fold libfixture.so.1")
    check(page.has("[libfixture.so.1]") and not page.has("deflate_slow") and page.total() == 2724, "the library is not folded")
    page.close()
    page = Report(browser, "recursive")
    equal(page.eval("mainTree(state).maxDepth"), 6, "depth")
    page.key("R")
    equal(page.eval("mainTree(state).maxDepth"), 5, "depth without direct recursion")
    page.key("Backspace")
    page.click_frame("walk")
    page.key("0")
    page.key("r")
    equal(page.eval("drawn().map(at => at.name)").count("walk"), 1, "walks")
    equal(page.total(), 16, "total")
    return page


@test
def lists_functions(browser):
    page = Report(browser, "kinds")
    page.key("4")
    rows = "visible('.top .rows .row').map(r => [r.querySelector('.text').textContent, r.children[0].textContent, r.children[2].textContent])"
    equal(page.eval(rows)[0], ["longest_match", "820 samples", "820 samples"], "the first row")
    page.press("Total", ".top .head button")
    equal(page.eval(rows)[0][0], "main", "first by total")
    equal(page.eval("visible('.top [aria-sort]').length"), 1, "sorted columns")
    page.press("Function", ".top .head button")
    names = [row[0] for row in page.eval(rows)]
    equal(names, sorted(names), "by name")
    page.click(*page.eval("middle(visible('#top input')[0])"))
    page.type("deflate")
    equal(sorted(row[0] for row in page.eval(rows)), ["deflate", "deflate_slow"], "filtered")
    check("q=deflate" in page.hash(), page.hash())
    page.click(*page.eval("middle(visible('.top .rows .row')[0])"))
    check("deflate" in page.panel() and "33.59%" in page.panel(), page.panel())
    return page


@test
def call_tree_folds(browser):
    page = Report(browser, "kinds", fragment="#v=tree")
    rows = "visible('.calls .rows .row').map(r => r.querySelector('.text').textContent)"
    level = "visible('.calls .rows .row.current')[0].getAttribute(%s)"
    check(page.eval("document.querySelector('[role=treegrid]') !== null"), "no treegrid")
    names = page.eval(rows)
    check("longest_match" in names and "uv_run" not in names, "the hottest path is not open: %r" % names)
    for key in ("ArrowDown", "ArrowLeft"):
        page.key(key)
    check("main" not in page.eval(rows), "left does not close: %r" % page.eval(rows))
    equal(page.eval(level % "'aria-expanded'"), "false", "aria-expanded")
    page.key("ArrowDown")
    page.key("ArrowRight")
    check("__libc_start_main" in page.eval(rows), "right does not open: %r" % page.eval(rows))
    page.key("ArrowRight")
    equal(page.eval(level % "'aria-level'"), "3", "aria-level")
    fragment = page.hash()
    before = page.eval(rows)
    page.reload(fragment)
    equal(page.eval(rows), before, "rows of the link")
    page.click(*page.eval("middle(visible('.calls .twist')[1])"))
    check("ngx_master_process_cycle" in page.eval(rows), "a click does not open")
    return page


@test
def switches_values(browser):
    page = Report(browser, "sample")
    equal(page.total(), 25, "samples")
    page.key("v")
    expected = folded(converted("sample.pb.gz", ".folded", "--value", "cpu"))
    close_to([page.total()], [sum(expected.values())], "cpu")
    check("w=1" in page.hash(), page.hash())
    page.eval("(s => { s.value = '0'; s.dispatchEvent(new Event('change')); })(visible('select')[0])")
    page.settle()
    equal(page.total(), 25, "by the switcher")
    return page


@test
def tells_about_a_frame(browser):
    page = Report(browser, "sample")
    page.move(*page.frame_point("parse<char; 4>(const char*)"))
    page.settle()
    tip = page.text(".tip")
    for part in ("3 samples", "12.00% \u00b1", "n = 3", "library, inlined", "parse.c:20", "libwork.so.1", "Fewer than 10 samples"):
        check(part in tip, "%r lacks %r" % (tip, part))
    page.click_frame("work")
    check(page.wait("visible('.lines').length"), "no lines")
    panel = page.panel()
    for part in ("/src/work.c:100", "0123456789abcdef0123456789abcdef01234567", "/usr/lib/libwork.so.1 (deleted)", "13 samples",
                 "52.00% \u00b1", "123"):
        check(part in panel, "%r lacks %r" % (panel, part))
    page.key("0")
    page.move(*page.frame_point("[truncated: no_rows]"))
    page.settle()
    check("unwind rows are not loaded yet" in page.text(".tip"), page.text(".tip"))
    page.key("0")
    page.click_frame("next_char")
    page.key("y")
    page.key("0")
    page.move(*page.frame_point("vfs_read"))
    page.settle()
    check("noise" not in page.text(".tip"), "10 samples are no noise")
    page.close()
    page = Report(browser, "kinds")
    page.key("4")
    check(page.eval("visible('.cell.noise').length > 0"), "few samples are not marked")
    return page


@test
def only_samples_have_an_error(browser):
    page = Report(browser, "events", fragment="#w=1")

    def tip():
        page.move(*page.frame_point("work"))
        page.settle()
        return page.text(".tip")

    # Wilson, 40 of 100
    check("400.00 ms, 40.00% \u00b19.43 (n = 40)" in tip(), tip())
    page.key("v")
    check("100 page-faults, 100.00%" in tip() and "\u00b1" not in tip() and "n =" not in tip(), tip())
    return page


@test
def states_of_waits(browser):
    page = Report(browser, "wall")
    page.move(*page.frame_point("postgres"))
    page.settle()
    check("35.00% on CPU, 25.00% runnable, 40.00% blocked" in page.text(".tip"), page.text(".tip"))
    check(page.has("woken by") and page.has("walwriter"), "the waker is missing")
    page.key("4")
    rows = page.eval("visible('.top .rows .row').map(r => [r.querySelector('.text').textContent, r.children[0].textContent])")
    equal(rows[0], ["[blocked: futex]", "3.00 s"], "the first function")
    check("commit" not in [row[0] for row in rows], "a waker's frame is a function")
    equal(page.eval("visible('.noise, .swatch.noisy').length"), 0, "waits that are told as noise")
    return page


@test
def evidence_is_complete(browser):
    page = Report(browser, "sample")
    check("\u2713 Nothing lost" in page.text(".cards") and "the books balance" in page.text(".cards"), page.text(".cards"))
    equal(page.eval("visible('.ledger.good').length"), 1, "green")
    page.key("e")
    text = page.text("#evidence")
    for part in ("bpfprof -F 99 -- ./web '</script><b>'", "db7", "6.18.44 x86_64", "Some CPU, 2 CPUs", "UTC to", "one sample per 10.10 ms (99 Hz)",
                 "5,940 ticks", "balance", "99.94% (5,101 of 5,104)", "99.73% (2,204 of 2,210)", "made by a test", "alert(1)"):
        check(part in text, "%r lacks %r" % (text, part))
    page.key("Escape")
    check(not page.eval("ui.evidence.open"), "Escape does not close it")
    page.eval("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.key("E")
    check(page.wait("window.copied") and "db7" in page.eval("copied"), "not copied")
    page.click_frame("vfs_read")
    page.key("y")
    equal(page.eval("copied"), "vfs_read", "name")
    page.key("Y")
    check(page.eval("copied").endswith("work\nparse<char; 4>(const char*)\nnext_char\nvfs_read\n"), page.eval("copied"))
    page.key("?")
    check(page.eval("ui.help.open") and "Sandwich" in page.text("#help"), "no help")
    page.key("Escape")
    return page


@test
def saves_other_formats(browser):
    page = Report(browser, "sample")
    page.press("Save", "summary")
    page.press("pprof  P", ".menu button")
    data, name = page.saved()
    check(name.endswith(".pb.gz"), name)
    with open(os.path.join(html_page.FOLDER, "saved.pb.gz"), "wb") as file:
        file.write(data)
    for value in ("samples", "cpu"):
        for by in ("comm", "comm,tid", "cpu"):
            own, source = (folded(converted(one, ".folded", "--value", value, "--by", by, "--annotate")) for one in ("saved.pb.gz", "sample.pb.gz"))
            equal(sorted(own), sorted(source), "%s by %s: stacks" % (value, by))
            close_to([own[stack] for stack in sorted(own)], [source[stack] for stack in sorted(own)], "%s by %s" % (value, by))
    facts = subprocess.run([html_page.BPFPROF, "report", "--stdio", os.path.join(html_page.FOLDER, "saved.pb.gz")], capture_output=True, text=True)
    equal(facts.returncode, 0, "report of what was saved: " + facts.stderr)
    page.key("J")
    data, name = page.saved()
    check(name.endswith(".speedscope.json"), name)
    with open(os.path.join(html_page.FOLDER, "saved.speedscope.json"), "wb") as file:
        file.write(data)
    made = json.loads(data)
    equal([one["name"] for one in made["profiles"]], ["Samples", "CPU time"], "profiles")
    equal(made["profiles"][0]["endValue"], 25, "speedscope's total")
    close_to([sum(made["profiles"][1]["weights"])], [sum(source.values())], "speedscope's cpu")
    frames = made["shared"]["frames"]
    check(all(0 <= i < len(frames) for one in made["profiles"] for stack in one["samples"] for i in stack), "frames out of range")
    page.key("S")
    data, name = page.saved()
    with open(os.path.join(html_page.FOLDER, "saved.svg"), "wb") as file:
        file.write(data)
    check(b"vfs_read" in data and name.endswith(".svg"), name)
    import xml.dom.minidom
    xml.dom.minidom.parseString(data)
    return page


@test
def links_show_the_same(browser):
    page = Report(browser, "kinds")
    page.click_frame("uv_run")
    page.keys("io")
    page.search("poll")
    page.eval("document.activeElement.blur()")
    page.keys("ckt")
    fragment = page.hash()
    before = page.eval("JSON.stringify([state, drawn().map(at => [at.name, Math.round(at.width)])])")
    page.reload(fragment)
    equal(page.eval("JSON.stringify([state, drawn().map(at => [at.name, Math.round(at.width)])])"), before, "the link's page")
    check(page.is_full("uv_run"), "the zoom is lost")
    for odd in ("#z=9999999.-1.x&w=77&v=nothing&t=q&t=f&t=f9.&x=.-.&p=zzz&o=1&s=%FF%00", "#%", "#t=f2.%3Cb%3E&p=2.%3Cimg%20src=x%3E"):
        page.reload(odd)
        check(page.has("all") or page.eval("document.body.dataset.view") == "empty", "lost with %s" % odd)
    return page


@test
def links_outlive_a_move(browser):
    page = Report(browser, "kinds")
    page.click_frame("uv_run")
    page.search("poll")
    page.eval("document.activeElement.blur()")
    page.keys("ck")
    fragment = page.hash()
    before = page.eval("JSON.stringify([state, drawn().map(at => [at.name, Math.round(at.width)])])")
    with tempfile.TemporaryDirectory() as elsewhere:
        moved = os.path.join(elsewhere, "a #1 50% moved?.html")
        shutil.copy(urllib.parse.urlsplit(page.url).path, moved)
        page.url = pathlib.Path(moved).as_uri()
        page.reload(fragment)
        equal(page.eval("location.href"), page.url + fragment, "the moved file's address")
        equal(page.eval("JSON.stringify([state, drawn().map(at => [at.name, Math.round(at.width)])])"), before, "the moved page")
    return page


@test
def follows_the_scheme_and_the_window(browser):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = Report(browser, "kinds")
    dark = Report(browser, "kinds", dark=True)
    check(light.eval(ground) != dark.eval(ground), "the system's scheme is not followed")
    dark.key("t")
    equal(dark.eval(ground), light.eval(ground), "switched to light")
    dark.close()
    for width in (420, 900, 1800):
        light.resize(width, 800)
        light.settle()
        light.settle()
        check(light.is_full("all"), "the graph is not as wide as its place at %d" % width)
        check(light.eval("document.documentElement.scrollWidth") <= width, "the page is wider than %d" % width)
    return light


@test
def hostile_names_do_nothing(browser):
    page = Report(browser, "hostile")
    equal(page.eval("document.querySelectorAll('body script').length"), 5, "scripts")
    names = page.names()
    for name in ("</script><svg onload=alert(1)>", "]]]]]><script>alert(1)</script>", "__proto__", "a<b & \"c\" 'd'", "ctl???[31m???", "x" * 10000):
        check(name in names, "%r is missing" % name[:60])
    for name in ("</script><svg onload=alert(1)>", "x" * 10000, "__proto__"):
        page.click_frame(name)
        check(page.is_full(name), "%r does not zoom" % name[:60])
        page.move(*page.frame_point(name))
        page.settle()
        check(page.eval("document.documentElement.scrollWidth <= innerWidth"), "%r leaves the window" % name[:60])
        fragment = page.hash()
        page.reload(fragment)
        check(page.is_full(name), "%r is lost in its link" % name[:60])
        page.key("f")
        page.key("Backspace")
        page.key("0")
    for key in "12345SJPF":
        page.key(key)
    equal(page.eval("document.querySelectorAll('b, [onload], body svg').length"), 0, "injected elements")
    return page


@test
def empty_profiles_say_so(browser):
    for name, why in (("empty", "holds no stacks"), ("zeros", "None of its 2 stacks"), ("valueless", "holds no stacks")):
        page = Report(browser, name)
        check(why in page.text(".empty"), page.text(".empty"))
        page.keys("12345nivo0")
        page.key("Escape")
        equal(page.complaints(), [], "complaints")
        page.close()
    page = Report(browser, "kinds")
    page.click_frame("nginx")
    page.keys("fx")
    check("after the filters" in page.text(".empty"), page.text(".empty"))
    page.key("Backspace")
    check(page.has("nginx"), "it does not come back")
    return page


@test
def narrow_frames_come_back(browser):
    page = Report(browser, "narrow")
    check(not page.has("inner_007"), "narrow frames are drawn")
    page.search("^inner_123$")
    page.key("Enter")
    check(page.is_full("inner_123"), "the next match does not show a hidden frame")
    page.key("Escape")
    page.key("0")
    page.click_frame("main")
    page.click(*page.eval("(at => { const p = boxOf(at.part, at.node), b = flame.canvas.getBoundingClientRect(); return [b.x + Math.min(Math.round(p.left), flame.width - 1), b.y + p.y + 9]; })(drawn().find(at => at.narrow))"))
    check(page.is_full("cold") and page.has("cold_007"), "a click on the narrow block does not zoom to it")
    return page


@test
def deep_stacks_scroll(browser):
    page = Report(browser, "deep")
    page.click_frame("level_590")
    check(page.is_full("level_599"), "zoom at the tip")
    check(page.eval("flame.scroller.scrollTop > 5000"), "the scroll bar does not follow")
    return page


@test
def large_profiles_are_quick(browser):
    begin = time.monotonic()
    page = Report(browser, "large")
    load_ms = 1000 * (time.monotonic() - begin)
    search_ms = page.eval("(() => { const t = performance.now(); change({ search: 'Handler<1.>' }); drawNow(); return performance.now() - t; })()")
    zoom_ms = page.eval("(() => { const t = performance.now(); zoomTo(flame.parts[0], 1); drawNow(); return performance.now() - t; })()")
    print("# large: load %d ms, search %d ms, zoom %d ms" % (load_ms, search_ms, zoom_ms))
    check(load_ms < 15000 and zoom_ms < 1000 and search_ms < 1000, "too slow")
    return page


@test
def callers_of_large_profiles_open_on_the_way(browser):
    page = Report(browser, "large", fragment="#v=callers")
    tree = "flame.parts[0].tree"
    equal(page.eval(tree + ".total[0]"), page.total(), "total")
    cut = page.eval("(t => { for (let i = 1; i < t.cnt; i++) if (t.cut.has(t.draftNode[i])) return [i, t.total[i], t.end[i] - i]; })(%s)" % tree)
    check(cut, "nothing is cut: the test needs a larger profile")
    page.eval("zoomTo(flame.parts[0], %d)" % cut[0])
    zoomed = page.eval("(p => [p.tree.total[p.zoom], p.tree.end[p.zoom] - p.zoom, p.tree.self[p.zoom]])(flame.parts[0])")
    equal(zoomed[0], cut[1], "total of what is zoomed to")
    check(zoomed[1] > cut[2], "it is not opened")
    check(page.has("_start"), "the way does not reach the root")
    equal(page.eval(tree + ".total[0]"), page.total(), "total when it is opened")
    before = page.names()
    page.reload(page.hash())
    equal(page.names(), before, "the link's page")
    return page


@test
def prints_the_graph(browser):
    page = Report(browser, "kinds")
    page.eval("window.dispatchEvent(new Event('beforeprint'))")
    check(page.eval("document.querySelector('.paper svg') !== null"), "nothing for paper")
    return page


html_page.FOLDER, html_page.BPFPROF = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
sys.exit(run(sys.argv[1], sys.argv[4:]))
