# SPDX-License-Identifier: Apache-2.0
"""The page of a fleet that test_fleet_readme.sh has begun, in a real browser: readme_browser.py CHROMIUM URL TOKEN-FILE."""

import sys

sys.dont_write_bytecode = True
from browser_tests import TESTS, check, run, test  # noqa: E402 (after the switch above)
from chromium import Page  # noqa: E402

URL, TOKEN_FILE = sys.argv[2:4]


class Fleet(Page):
    """The page in a tab, which asks its own server, at first without the token."""

    def complaints(self):
        return [one for one in super().complaints() if URL not in one and " 401 " not in one]


@test
def asks_for_the_token_and_shows_the_fleet(browser):
    page = Fleet(browser, "about:blank")
    page.call("Security.setIgnoreCertificateErrors", ignore=True)  # its authority is the machine's own
    page.go(URL)
    check(page.wait("access.dialog && access.dialog.open"), "no token is asked for")
    with open(TOKEN_FILE, encoding="ascii") as file:
        page.eval("access.field.value = '%s'" % file.read().strip())
    page.eval("access.dialog.querySelector('form').requestSubmit()")
    check(page.wait("document.documentElement.dataset.ready && !view.isLoading && view.series.length"), "nothing is shown")
    check(page.eval("document.querySelector('h1').innerText").startswith("clickhouse://127.0.0.1:"), "title")
    check(page.eval("view.series.reduce((sum, one) => sum + one.sum, 0)") > 0, "CPU time")
    return page


if __name__ == "__main__":
    check(TESTS, "no test")
    sys.exit(run(sys.argv[1], []))
