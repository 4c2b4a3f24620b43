# SPDX-License-Identifier: Apache-2.0
"""Tests in a browser: functions marked with @test, which get the browser and may give a page, whose complaints are
failures and which is closed."""

import subprocess
import tempfile
import time

from chromium import Browser

TESTS = []


def check(condition, problem):
    if not condition:
        raise AssertionError(problem)


def equal(got, expected, what):
    check(got == expected, "%s is %r, expected %r" % (what, got, expected))


def test(function):
    TESTS.append(function)
    return function


def problem_of(function, browser):
    try:
        page = function(browser)
        if page:
            equal(page.complaints(), [], "complaints")
            page.close()
    except (AssertionError, RuntimeError, TimeoutError, IndexError, subprocess.CalledProcessError) as error:
        return str(error) or type(error).__name__
    return None


def run(binary, wanted):
    """All tests, or those called @wanted, in one browser. The exit status."""
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile_dir:
        browser = Browser(binary, profile_dir)
        try:
            for function in TESTS:
                if wanted and function.__name__ not in wanted:
                    continue
                begin = time.monotonic()
                problem = problem_of(function, browser)
                name = function.__name__
                print("not ok - %s: %s" % (name, problem) if problem else "ok - " + name, flush=True)
                print("# %s: %.1f s" % (name, time.monotonic() - begin))
                failed += problem is not None
        finally:
            browser.close()
    return 1 if failed else 0
