#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The flame graph outside of our own code: every file is XML, a plain renderer draws it, and a real
# browser zooms, searches and resets it (svg_browser.py). Build folder in $BUILD.
# beside others, records nothing
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
failed=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

say()
{
	echo "$1 - $2"
	[ "$1" != "not ok" ] || failed=1
}

# all_files NAME COMMAND...: COMMAND FILE succeeds for every file
all_files()
{
	name=$1
	shift
	command -v "$1" >/dev/null || { say skip "$name: no $1"; return; }
	for file in "$out"/*.svg; do
		"$@" "$file" >"$out/log" 2>&1 || { say "not ok" "$name: $(basename "$file"): $(head -1 "$out/log")"; return; }
	done
	say ok "$name"
}

[ -x "$build/tests/test_svg" ] || make -s O="$build" "$build/tests/test_svg" >&2
"$build/tests/test_svg" --emit "$out" || { say "not ok" "svg_files"; exit 1; }
all_files svg_is_xml xmllint --huge --noout
all_files svg_is_drawn_without_browser rsvg-convert --unlimited -o "$out/plain.png"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! command -v python3 >/dev/null; then
	say skip "svg_browser: no chromium or no python3"
else
	python3 tests/e2e/svg_browser.py "$chromium" "$out" || failed=1
fi
exit $failed
