# SPDX-License-Identifier: Apache-2.0
"""The page where there is no report, or not all of it, in a real browser. Run by test_page.sh.

usage: page_no_report.py CHROMIUM REPORT.html DIFFERENCE.html [TEST...]    from the top of the tree
"""

import sys

sys.dont_write_bytecode = True
import page_host  # noqa: E402 (after the switch above)
import page_server  # noqa: E402
from browser_tests import check, equal, run, test  # noqa: E402
from page_host import Host, still  # noqa: E402


@test
def why_there_is_no_report(browser):
    fragment, start, end = still()
    page = Host(browser, page_server.Scene(report_error="the html would be larger than 64 MiB: ask for a shorter time"), fragment)
    page.expected = ["413", "frame-ancestors"]
    page.key("Enter")
    check(page.wait("ui.reportWords.textContent.includes('ask for a shorter time')"), page.text(".report-words"))
    page.key("P")
    check(page.wait("ui.said.textContent.includes('Not saved: the html')"), page.text(".said"))
    return page


@test
def a_report_that_is_not_whole(browser):
    fragment, start, end = still()
    scene = page_server.Scene(is_cut=True, report_end="</script><p id='failed'>there is no memory</p>")
    page = Host(browser, scene, fragment)
    page.expected = ["ERR_INCOMPLETE_CHUNKED_ENCODING"]
    page.key("Enter")
    check(page.wait("ui.reportWords.textContent === 'No report: there is no memory'"), page.text(".report-words"))
    check(page.eval("ui.frame.classList.contains('fails')"), "what there is of it is shown")
    page.key("Escape")
    scene.report_end = ""
    page.key("Enter")
    check(page.wait("Boolean(ui.frame.contentDocument?.querySelector('.coming'))"), "no first picture")
    shown = "ui.frame.contentWindow.getComputedStyle(ui.frame.contentDocument.querySelector('.coming')).visibility"
    equal(page.eval(shown), "hidden", "what is on its way, at first")
    check(page.wait(shown + " === 'visible'"), "it looks whole")
    return page


page_host.serve(*sys.argv[2:4])
STATUS = run(sys.argv[1], sys.argv[4:])
page_host.SERVER.stop()
sys.exit(STATUS)
