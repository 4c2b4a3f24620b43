#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses inside the functions that nm lists, and whether the names given to them are right.

    nm -f sysv --defined-only FILE | nm_truth.py pick COUNT SEED > ADDRESSES
    nm -f sysv --defined-only FILE | nm_truth.py check NAMES     NAMES: lines "address name"

The rule, stated here once more and independently: the innermost function around an address names it;
of several that begin there the largest, then global before weak before local, then the one with fewer
leading underscores; where all that is equal, either.
"""
import bisect
import random
import sys

# nm's letters of code: global; weak; local. "i", an indirect function, may be any of them: ANY.
RANKS = {"T": 0, "W": 1, "w": 1, "t": 2, "i": -1}
ANY = -1


def read_symbols(lines):
    """Sized functions by start: {start: [(size, rank, underscores, name)]}."""
    by_start = {}
    for line in lines:
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 7 or fields[2] not in RANKS or fields[3] == "OBJECT" or not fields[4]:
            continue
        start, size, name = int(fields[1], 16), int(fields[4], 16), fields[0]
        name = name[0] + name[1:].split("@")[0]
        underscores = len(name) - len(name.lstrip("_"))
        if size:
            by_start.setdefault(start, []).append((-size, RANKS[fields[2]], underscores, name))
    for symbols in by_start.values():
        symbols.sort()
    return by_start


def pick(by_start, count, seed):
    rng = random.Random(seed)
    starts = sorted(by_start)
    for _ in range(count):
        start = rng.choice(starts)
        size = -by_start[start][0][0]
        print(f"{start + rng.randrange(size):x}")


def names_of(by_start, starts, address):
    at = bisect.bisect_right(starts, address) - 1
    while at >= 0:
        best = by_start[starts[at]][0]
        if address < starts[at] - best[0]:
            return {
                symbol[3]
                for symbol in by_start[starts[at]]
                if symbol[:3] == best[:3] or (best[1] == ANY and symbol[0] == best[0])
            }
        at -= 1
    return {"-"}


def check(by_start, path):
    starts = sorted(by_start)
    wrong = total = 0
    for line in open(path, encoding="utf-8", errors="replace"):
        address, name = line.rstrip("\n").split(" ", 1)
        wanted = names_of(by_start, starts, int(address, 16))
        total += 1
        if name not in wanted:
            wrong += 1
            if wrong <= 5:
                print(f"{address}: {name}, not {' or '.join(sorted(wanted))}")
    print(f"{total} addresses, {wrong} wrong")
    return 1 if wrong or not total else 0


def main():
    by_start = read_symbols(sys.stdin)
    if not by_start:
        sys.exit("no functions in nm's output")
    if sys.argv[1] == "pick":
        pick(by_start, int(sys.argv[2]), int(sys.argv[3]))
        return 0
    return check(by_start, sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
