#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers that come from the npm registry, on files of one profile; tests/readers/run has written them.

    check.py FOLDER NAME MODULES CHROMIUM

FOLDER/NAME.* are the files, of the value "samples"; MODULES is the node_modules folder. Compared with the folded file
are the total and each function's self and total.
"""
import base64
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from chromium import Browser, Page  # noqa: E402 (after the path)

FAILED = []


def result(name, problem, figures=""):
    print(f"not ok - {name}: {problem}" if problem else f"ok - {name}{figures}", flush=True)
    if problem:
        FAILED.append(name)


def folded_functions(path, first):
    """{function: (self, total)} of a folded file from its frame number @first on, each sample once per function."""
    own, total = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")[first:]
            own[frames[-1]] += int(count)
            for function in set(frames):
                total[function] += int(count)
    return {function: (own[function], total[function]) for function in total}


def different(ours, theirs):
    """What is wrong, or an empty string."""
    for function in sorted(set(ours) | set(theirs)):
        if ours.get(function) != theirs.get(function):
            return f"{function}: {theirs.get(function)}, in the folded file {ours.get(function)}"
    return "" if ours else "nothing was read"


def speedscope_schema(path, modules):
    import jsonschema
    with open(f"{modules}/speedscope/dist/release/file-format-schema.json", encoding="utf-8") as schema, \
            open(path, encoding="utf-8") as file:
        jsonschema.validate(json.load(file), json.load(schema))


class Speedscope:
    """The viewer in a browser, which imports FILE as it does on the command line."""

    ROWS = """Array.from(document.querySelectorAll('tr')).map(row =>
        Array.from(row.querySelectorAll('td')).map(cell => cell.innerText.trim()))"""

    def __init__(self, modules, chromium, folder):
        self.page_path = f"{modules}/speedscope/dist/release/index.html"
        self.folder = folder
        self.browser = Browser(chromium, tempfile.mkdtemp(dir=folder))

    def functions(self, path):
        script = f"{self.folder}/load.js"
        with open(path, "rb") as file, open(script, "w", encoding="utf-8") as out:
            out.write("speedscope.loadFileFromBase64(%s, %s)" % (
                json.dumps(os.path.basename(path)), json.dumps(base64.b64encode(file.read()).decode())))
        page = Page(self.browser, f"file://{self.page_path}#localProfilePath={script}", height=20000)
        if not page.wait("document.body.innerText.includes('Sandwich')"):
            raise RuntimeError("speedscope shows nothing")
        page.wait("document.body.innerText.includes('Export')")
        page.key("3")
        page.wait("document.querySelectorAll('tr').length > 2")
        rows = [row for row in page.eval(self.ROWS) if len(row) == 3]
        page.close()
        number = re.compile(r"^([\d,]+) \(")
        found = {}
        for total, own, name in rows:
            if number.match(total):
                # as in folded text
                found[name.replace(";", ":")] = tuple(int(number.match(text).group(1).replace(",", "")) for text in (own, total))
        return found


def firefox_functions(modules, path):
    """The one thread of a profile in Firefox Profiler, function by function."""
    def tool(*arguments):
        return subprocess.run(["node", f"{modules}/@firefox-devtools/profiler-cli/dist/profiler-cli.js", *arguments],
                              capture_output=True, text=True, timeout=120, check=True).stdout
    # Its daemon has 500 ms to start, which a busy machine may not give it.
    for tries_left in reversed(range(8)):
        try:
            tool("load", path)
            break
        except subprocess.CalledProcessError as error:
            if not tries_left or "did not become ready" not in error.stderr:
                raise
            time.sleep(1)
    try:
        report = json.loads(tool("thread", "functions", "--json", "--include-idle"))
    finally:
        tool("stop")
    return {function["nameWithLibrary"].split("!")[-1]: (function["selfSamples"], function["totalSamples"])
            for function in report["functions"]}


DECODE = """
const { Profile } = require('pprof-format');
const file = require('zlib').gunzipSync(require('fs').readFileSync(process.argv[1]));
const prof = Profile.decode(file), text = prof.stringTable.strings;
const at = prof.sampleType.findIndex(kind => text[Number(kind.type)] === 'samples');
console.log(prof.sample.reduce((sum, sample) => sum + Number(sample.value[at]), 0));
"""


def pprof_format_total(modules, path):
    return int(subprocess.run(["node", "-e", DECODE, path], capture_output=True, text=True, check=True, timeout=60,
                              env={**os.environ, "NODE_PATH": modules}).stdout)


def attempt(name, check):
    """Run @check, which gives what is wrong and the figures for the report."""
    try:
        result(name, *check())
    except Exception as error:  # pylint: disable=broad-except; one reader's failure is not the others'
        output = getattr(error, "stderr", "") or ""
        result(name, f"{type(error).__name__}: {error} {output}".strip()[:400])


def main():
    folder, name, modules, chromium = sys.argv[1:]
    base = f"{folder}/{name}"
    ours, below_first = (folded_functions(f"{base}.folded", first) for first in (0, 1))
    total = sum(own for own, _ in ours.values())
    viewer = Speedscope(modules, chromium, folder)

    def compare(wanted, theirs):
        return different(wanted, theirs), f" ({len(theirs)} functions, {sum(own for own, _ in theirs.values())} samples)"

    attempt(f"{name}: speedscope's schema", lambda: (speedscope_schema(f"{base}.speedscope.json", modules), ""))
    for extension in ("speedscope.json", "folded"):
        attempt(f"{name}: speedscope imports .{extension}",
                lambda: compare(ours, viewer.functions(f"{base}.{extension}")))
    # Of the folded file: the only value is the one that is compared, the first frame is a label.
    attempt(f"{name}: speedscope imports .pb.gz",
            lambda: compare(below_first, viewer.functions(f"{base}.one.pb.gz")))
    if name == "single":
        attempt(f"{name}: speedscope imports .callgrind",
                lambda: compare({"[all]": (0, total), **ours}, viewer.functions(f"{folder}/callgrind.{name}.callgrind")))
    viewer.browser.close()
    attempt(f"{name}: Firefox Profiler, .folded",
            lambda: compare(ours, firefox_functions(modules, f"{base}.folded")))
    if name == "single":
        attempt(f"{name}: Firefox Profiler, .perf.txt",
                lambda: compare(ours, firefox_functions(modules, f"{base}.perf.txt")))

    def pprof_format():
        found = pprof_format_total(modules, f"{base}.pb.gz")
        return "" if found == total else f"{found}, in the folded file {total}", f" ({found} samples)"

    attempt(f"{name}: pprof-format decodes .pb.gz", pprof_format)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
