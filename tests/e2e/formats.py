#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of all formats in other eyes than ours, for test_formats.sh and tools/check-readers.

    formats.py schema SCHEMA FILE...     each FILE follows the JSON schema
    formats.py total FORMAT FILE [NAME]  the total of (the value NAME of) a file: folded, perf, speedscope, json,
                                         flamegraph (the SVG of flamegraph.pl), svg (ours)
    formats.py frames FORMAT FILE        one line "count name" per frame of a flame graph, sorted: svg or flamegraph
    formats.py inclusive FILE FUNCTION   what callgrind_annotate --tree=both --inclusive=yes, in FILE, says of it
"""
import html
import json
import re
import sys

HEADER = re.compile(r"^\S.*?\s\d+/\d+ \[\d+\] +\d+\.\d+: +(\d+) \S+: $")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def svg_frames(path):
    """(name, total) of each frame of our SVG, from the data of its script: svg_data.c has the layout."""
    data = re.search(r'<script type="application/json">(.*?)</script>', read(path), re.DOTALL)
    graph = json.loads(html.unescape(data.group(1).replace("<![CDATA[", "").replace("]]>", "")))
    names, totals, parents = [], [], []
    numbers, parent = graph["nodes"], -1
    for at in range(0, len(numbers), 3):
        up, frame, own = numbers[at:at + 3]
        parent = at // 3 - 1
        for _ in range(up):
            parent = parents[parent]
        parents.append(parent)
        names.append(graph["names"][frame // 64])
        totals.append(own)
    for at in range(len(totals) - 1, 0, -1):
        totals[parents[at]] += totals[at]
    return list(zip(names, totals))


def flamegraph_frames(path):
    """The same from the titles of flamegraph.pl."""
    titles = re.findall(r"<title>(.*?) \(([\d,]+) \w+, [\d.]+%\)</title>", read(path), re.DOTALL)
    return [(html.unescape(name), int(count.replace(",", ""))) for name, count in titles]


def folded_total(path):
    return sum(int(line.rsplit(" ", 1)[1]) for line in read(path).splitlines())


def perf_total(path):
    headers = [HEADER.match(line) for line in read(path).split("\n")]
    return sum(int(found.group(1)) for found in headers if found)


def speedscope_total(path, name):
    file = json.loads(read(path))
    at = [profile["name"].split(" (")[0] for profile in file["profiles"]].index(name)
    profile = file["profiles"][at]
    assert len(profile["weights"]) == len(profile["samples"])
    assert all(frame < len(file["shared"]["frames"]) for stack in profile["samples"] for frame in stack)
    assert profile["endValue"] == sum(profile["weights"])
    return profile["endValue"]


def json_total(path, name):
    file = json.loads(read(path))
    at = [kind["type"] for kind in file["value_types"]].index(name)
    assert all(sample["stack"] < len(file["stacks"]) for sample in file["samples"])
    return sum(sample["values"][at] for sample in file["samples"])


def total(kind, path, name=None):
    if kind in ("svg", "flamegraph"):
        return max((count for _, count in FRAMES[kind](path)), default=0)
    if kind in ("speedscope", "json"):
        return {"speedscope": speedscope_total, "json": json_total}[kind](path, name)
    return {"folded": folded_total, "perf": perf_total}[kind](path)


def inclusive(path, function):
    """Of the line with a star, which is the function itself: "13 (52.00%)  *  file:function [object]"."""
    for line in read(path).splitlines():
        found = re.match(r" *([\d,]+) \([ \d.]+%\)  \*  (.*?):" + re.escape(function) + r" \[", line)
        if found:
            return int(found.group(1).replace(",", ""))
    raise SystemExit(f"{path}: nothing about {function}")


def schema(path, files):
    import jsonschema
    wanted = json.loads(read(path))
    for file in files:
        jsonschema.validate(json.loads(read(file)), wanted)


FRAMES = {"svg": svg_frames, "flamegraph": flamegraph_frames}


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "schema":
        schema(arguments[0], arguments[1:])
    elif what == "total":
        print(total(*arguments))
    elif what == "frames":
        print("\n".join(sorted(f"{count} {name.replace(';', ':')}" for name, count in FRAMES[arguments[0]](arguments[1]))))
    elif what == "inclusive":
        print(inclusive(*arguments))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
