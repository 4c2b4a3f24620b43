#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of a profiled host in a real browser: every view, key, link, filter and download (page_browser.py), and
# what it says where there is no report (page_no_report.py).
# beside others
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/e2e/cases.sh

# Reports as the server would send them, of which a difference is one.
make_reports()
{
	printf '%s\n' 'postgres;main;exec;hash_lookup 700' 'postgres;main;exec;compress_block 300' 'nginx;main;tcp_sendmsg 250' >"$tmp/after.folded"
	printf '%s\n' 'postgres;main;exec;hash_lookup 300' 'postgres;main;exec;compress_block 350' >"$tmp/before.folded"
	"$BUILD/bpfprof" convert "$tmp/after.folded" -o "$tmp/report.html" &&
		"$BUILD/bpfprof" diff "$tmp/before.folded" "$tmp/after.folded" -o "$tmp/difference.html"
}

# embedded: what the build makes C of is what is in the tree.
embedded()
{
	for asset in user/web/*.html user/web/*.js user/web/*.css; do
		header=$BUILD/gen/$(basename "$asset").h
		LC_ALL=C awk -F, '{ for (i = 1; i < NF; i++) printf "%c", $i }' "$header" | LC_ALL=C cmp - "$asset" || return
	done
}

# complete: the page asks for no file that is not there, and no file is there for nothing.
complete()
{
	sed -n 's/.*\(src\|href\)="\/\([a-z_.]*\)".*/\2/p' user/web/page.html | sort >"$tmp/asked"
	while read -r name; do
		[ -f "user/web/$name" ] || [ -f "user/encode/$name" ] || return
	done <"$tmp/asked"
	for asset in user/web/*.js user/web/*.css; do
		grep -qx "$(basename "$asset")" "$tmp/asked" || return
	done
	! grep -nE '<script>|<style| style=| on[a-z]+="' user/web/page.html
}

holds "the page's files are complete, without inline scripts and styles" complete
holds "reports are written" make_reports
[ $status = 0 ] || exit 1
holds "what is embedded is what is in the tree" embedded
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ] || ! have python3; then
	skip "page_browser" "no chromium or no python3"
else
	python3 tests/e2e/page_browser.py "$chromium" "$tmp/report.html" "$tmp/difference.html" || status=1
	python3 tests/e2e/page_no_report.py "$chromium" "$tmp/report.html" "$tmp/difference.html" || status=1
fi
exit $status
