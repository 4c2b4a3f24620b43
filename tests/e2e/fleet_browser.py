# SPDX-License-Identifier: Apache-2.0
"""The page over a fleet store in a real browser: fleet_browser.py CHROMIUM URL, where bpfprof serve answers. Run by
test_fleet_query.sh, of whose three hosts it expects the numbers."""

import sys

sys.dont_write_bytecode = True
from browser_tests import TESTS, check, equal, run, test  # noqa: E402 (after the switch above)
from chromium import Page  # noqa: E402

HOUR_S = 3600
END = 1795176000 + 2 * HOUR_S
URL = sys.argv[2]


class Fleet(Page):
    """The page in a tab, which asks its own server."""

    def complaints(self):
        return [one for one in super().complaints() if not one.startswith("request: " + URL)]


@test
def shows_the_fleet(browser):
    page = Fleet(browser, URL + "#r=%d&e=%d&g=host" % (3 * HOUR_S, END + HOUR_S / 2))
    check(page.wait("document.documentElement.dataset.ready && !view.isLoading && view.series.length"), "nothing is shown")
    check(page.eval("document.querySelector('h1').innerText").startswith("clickhouse://127.0.0.1:"), "title")
    hosts = ["%s%d" % (name, number) for number in (1, 2, 3) for name in ("alpha", "beta")]
    equal(sorted(page.eval("view.series.map(one => one.name)")), sorted(hosts), "series")
    cards = page.eval("document.querySelector('.cards').innerText")
    check("330 windows" in cards and "hosts\n3\nreported" in cards.lower() and "11,220" in cards, cards)
    equal(page.eval("view.series.reduce((sum, one) => sum + one.sum, 0)"), 11220 * 10000000, "CPU time")
    return page


if __name__ == "__main__":
    check(TESTS, "no test")
    sys.exit(run(sys.argv[1], sys.argv[3:]))
