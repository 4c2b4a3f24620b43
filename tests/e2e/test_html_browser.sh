#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The report in a real browser: every view, filter, key, link and download (html_browser.py). Build folder in $BUILD.
# beside others, records nothing
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/e2e/cases.sh

[ -x "$BUILD/tests/test_html" ] || make -s O="$BUILD" "$BUILD/tests/test_html" >&2
"$BUILD/tests/test_html" --emit "$tmp" >"$log" 2>&1
result $? "reports are written"
[ $status = 0 ] || exit 1
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! have python3; then
	skip "html_browser" "no chromium or no python3"
else
	python3 tests/e2e/html_browser.py "$chromium" "$tmp" "$BUILD/bpfprof" || status=1
fi
exit $status
