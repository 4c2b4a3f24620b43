#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a heap profile what the program says of itself?

    heap_judge.py PPROF TRUTH                 every number of every function, to the unit
    heap_judge.py PPROF --sampled             the estimate against what was counted at every call
    heap_judge.py PPROF --heaptrack FOLDED VALUE    VALUE by function, as heaptrack_print -F has it

TRUTH is what tests/workloads/heap_known prints; FOLDED has the leaf last. The last line says the verdict.
"""
import collections
import gzip
import re
import sys

from pprof_values import Profile, fields

COLUMNS = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_space", "temporary"]


def by_leaf(profile):
    rows = collections.defaultdict(lambda: collections.Counter())
    for values, _, locations in profile.samples:
        leaf = re.sub(r"\..*", "", profile.stack(locations[:1]).split(";")[-1])
        rows[leaf].update(dict(zip(profile.types, values)))
    return rows


def judge_truth(profile, path):
    rows, wrong = by_leaf(profile), 0
    for line in open(path):
        name, *numbers = line.split()
        want = dict(zip(COLUMNS, map(int, numbers)))
        got = {column: rows[name][column] for column in COLUMNS}
        if got != want:
            wrong += 1
            print(f"{name}: want {want}, got {got}")
    return wrong


def comments(path):
    with gzip.open(path) as file:
        parts = list(fields(file.read()))
    strings = [value.decode(errors="replace") for number, value in parts if number == 6]
    picked = []
    for number, value in parts:
        if number != 13:
            continue
        if isinstance(value, int):
            picked.append(strings[value])
            continue
        index = shift = 0
        for byte in value:
            index |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                picked.append(strings[index])
                index = shift = 0
    return picked


def judge_sampled(profile, path):
    text = next(text for text in comments(path) if text.startswith("heap: sampled"))
    error = int(re.search(r"\+-(\d+) bytes", text).group(1))
    blocks, counted = map(int, re.search(r"call: (\d+) blocks, (\d+) bytes", text).groups())
    estimate = profile.total("alloc_space")
    # Said of 95 in 100; twice that is missed by one in 10,000.
    off = abs(estimate - counted)
    print(f"{blocks} blocks, {counted} bytes; estimated {estimate}, {off} off, said +-{error}")
    return int(off > 2 * error or error > 0.5 * counted)


def judge_heaptrack(profile, path, value):
    theirs = collections.Counter()
    for line in open(path):
        stack, number = line.rsplit(" ", 1)
        leaf = re.sub(r" \(.*", "", stack.rstrip(";").split(";")[-1])
        theirs[leaf] += int(number)
    rows, wrong = by_leaf(profile), 0
    for name in ["keep", "grow", "pair", "zeroed", "again", "by_pointer", "hand_over"]:
        ours, slack = rows[name][value], 0
        # It knows a block by its stack and size, and so takes one for another; and it has what
        # realloc(block, 0) frees for leaked.
        if value == "temporary":
            slack = 1
        if value == "inuse_space" and name == "again":
            slack = 7
        if abs(ours - theirs[name]) > slack:
            wrong += 1
            print(f"{name}: {value} {ours}, heaptrack has {theirs[name]}")
    return wrong


def main():
    profile = Profile(sys.argv[1])
    if sys.argv[2] == "--sampled":
        wrong = judge_sampled(profile, sys.argv[1])
    elif sys.argv[2] == "--heaptrack":
        wrong = judge_heaptrack(profile, sys.argv[3], sys.argv[4])
    else:
        wrong = judge_truth(profile, sys.argv[2])
    print("wrong" if wrong else "right")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
