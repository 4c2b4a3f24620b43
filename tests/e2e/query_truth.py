#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what bpfprof query printed with what make_store wrote down.

    query_truth.py TRUTH VIEW FILE MINUTES [KIND [WHERE [BY]]]

VIEW is top, by, labels, kinds, folded, diff or regressions; MINUTES FROM-TO since noon, for the last two a pair of them
with a comma between; WHERE as --select has it, without commas in patterns but as '\\,', for each of a pair where "||" is
between; BY the keys of --by. Exit 1 and a line for each
difference.
"""
import collections
import fnmatch
import json
import math
import re
import sys

NOON = 1795176000


def harmless(name):
    return "HOSTILE" if "alert" in name or name.startswith("sh") else name


def matches(row, where):
    wanted = collections.defaultdict(list)
    for item in re.split(r"(?<!\\),", where) if where else []:
        key, glob = item.split("=", 1)
        wanted[key].append(glob.replace("\\,", ","))
    for key, globs in wanted.items():
        value = row[key]
        if not any(value == "" if glob == "" else value != "" and fnmatch.fnmatchcase(value, glob) for glob in globs):
            return False
    return True


def read(path, minutes, kind, where):
    first, end = (int(number) for number in minutes.split("-"))
    rows = []
    for line in open(path):
        names = ["start", "kind", "service", "host", "comm", "stack", "count", "ns"]
        row = dict(zip(names, line.rstrip("\n").split("\t")))
        minute = (int(row["start"]) - NOON) // 60
        if first <= minute < end and kind in (None, row["kind"]) and matches(row, where):
            row["ns"] = int(row["ns"])
            rows.append(row)
    return rows


def add_up(pairs):
    sums = collections.Counter()
    for key, value in pairs:
        sums[key] += value
    return dict(sums)


def functions(rows):
    selves = add_up((row["stack"].split(";")[-1], row["ns"]) for row in rows)
    totals = add_up((name, row["ns"]) for row in rows for name in set(row["stack"].split(";")))
    return {name: (selves.get(name, 0), total) for name, total in totals.items()}


def top(rows, told, by):
    got = {harmless(row["symbol"]): (row["self"], row["total"]) for row in told["rows"]}
    return (functions(rows), sum(row["ns"] for row in rows)), (got, told["total"])


def by_labels(rows, told, by):
    keys = by.split(",")
    got = {tuple(harmless(row[key]) for key in keys): row["total"] for row in told["rows"]}
    return add_up((tuple(row[key] or "-" for key in keys), row["ns"]) for row in rows), got


def labels(rows, told, by):
    wanted = {}
    for key in ["comm", "host", "service"]:
        sums = add_up((row[key], row["ns"]) for row in rows)
        without = sums.pop("", 0)
        if sums and (not by or key in by.split(",")):
            wanted[key] = (sums, without, len(sums))
    got = {}
    for label in told["labels"]:
        values = {harmless(item["value"]): item["total"] for item in label["values"]}
        totals = [item["total"] for item in label["values"]]
        if totals != sorted(totals, reverse=True):
            sys.exit("values of %s are not by falling sum" % label["label"])
        got[label["label"]] = (values, label["without"], label["distinct"])
    return (wanted, sum(row["ns"] for row in rows)), (got, told["total"])


def kinds(rows, told, by):
    return add_up((row["kind"], row["ns"]) for row in rows), {item["kind"]: item["total"] for item in told["kinds"]}


def folded(rows, text, by):
    keys = by.split(",") if by else ["comm"]
    got = collections.Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        got[";".join(harmless(frame) for frame in stack.split(";"))] += int(value)
    prefixed = ((";".join(["-".join(row[key] for key in keys if row[key])] * any(row[key] for key in keys)
                          + [row["stack"]]), row["ns"]) for row in rows)
    return add_up(prefixed), dict(got)


def diff(before, after, told):
    sides = [functions(rows) for rows in (before, after)]
    wanted = {}
    for name in set(sides[0]) | set(sides[1]):
        pair = tuple(side.get(name, (0, 0)) for side in sides)
        if pair[0] != pair[1]:
            wanted[name] = pair
    got = {harmless(row["name"]): tuple((row["self"][side], row["total"][side]) for side in ("before", "after"))
           for row in told["functions"]}
    totals = tuple(sum(row["ns"] for row in rows) for rows in (before, after))
    return (wanted, totals), (got, (told["total"]["before"], told["total"]["after"]))


def regressions(before, after, told):
    """What grew by a z-test of two proportions (Wald's, each with its own variance), of samples; the margins, too."""
    sides = [functions([dict(row, ns=int(row["count"])) for row in rows]) for rows in (before, after)]
    counts = [sum(int(row["count"]) for row in rows) for rows in (before, after)]
    names = set(sides[0]) | set(sides[1])
    total = sum(row["ns"] for row in before)
    wanted = {}
    for name in names:
        shares = [side.get(name, (0, 0))[1] / count for side, count in zip(sides, counts)]
        spread = math.sqrt(sum(share * (1 - share) / count for share, count in zip(shares, counts)))
        change = shares[1] - shares[0]
        chance = math.erfc(abs(change) / spread / math.sqrt(2)) if spread else 1
        if abs(change) > 1e-12 and 0.05 / len(names) / 2 < chance < 0.2:
            sys.exit("%s is no clear case: %g" % (name, chance))
        if change > 0 and chance < 0.05:
            wanted[name] = (round(change * total), round(1.96 * spread * total / 1e7))
    got = {harmless(row["name"]): (round(row["total"]["change"]), round(row["total"]["margin"] / 1e7))
           for row in told["functions"]}
    order = [row["total"]["change"] for row in told["functions"]]
    return (wanted, sorted(order, reverse=True)), (got, order)


def main():
    truth, view, path, minutes = sys.argv[1:5]
    kind, where, by = (sys.argv[5:] + ["", "", ""])[:3]
    with open(path, errors="replace") as file:
        text = file.read()
    told = text if view == "folded" else json.loads(text)
    parts = minutes.split(",")
    wheres = where.split("||") if "||" in where else [where] * len(parts)
    sides = [read(truth, part, kind or (None if view == "kinds" else "cpu"), one) for part, one in zip(parts, wheres)]
    if view in ("diff", "regressions"):
        wanted, got = {"diff": diff, "regressions": regressions}[view](*sides, told)
    else:
        wanted, got = {"top": top, "by": by_labels, "labels": labels, "kinds": kinds, "folded": folded}[view](
            sides[0], told, by)
    if wanted != got or not sides[0]:
        print("wanted: %r\ngot:    %r" % (wanted, got))
        return 1
    return 0


sys.exit(main())
