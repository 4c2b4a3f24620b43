#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random addresses of a file's code, and whether two programs say the same of them.

    dwarf_truth.py pick FILE COUNT SEED > ADDRESSES
    dwarf_truth.py check NAME KIND OURS THEIRS [LLVM]      KIND: llvm, eu or ours: who wrote THEIRS

check prints a line of statistics and fails when fewer than 99.9 % of the chains are equal: function,
file, line and column of every level. Known differences, each of which is no error of ours:
  - "./" and "a/../b" in paths: whether one joins directories or also tidies up (both are tidied here);
  - llvm-symbolizer takes the outermost name from the symbol table ("f.cold", "f.isra.0", or an alias
    of f): the caller gives it files that have none, where it cannot;
  - eu-addr2line shows no column for column 0, and another row's place for line 0 ("made by the
    compiler", where we and llvm-symbolizer say file and line 0);
  - where two inlined instances overlap, it takes the first, we and llvm-symbolizer the last: the same
    names, called from another line;
  - for addresses in no function, such as the start-up code's, it says the symbol's name and the
    last line of whatever unit is before;
  - it leaves callers out, or shows some whose entries do not contain the address (lines_truth.py): with
    LLVM, the answer of llvm-symbolizer, that decides where the innermost function is the same.
"""
import os
import random
import subprocess
import sys

LEAST_EQUAL = 0.999


def pick(path, count, seed):
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for line in sections.split("\n"):
        fields = line.replace("[ ", "[").split()
        if len(fields) > 5 and fields[1] == ".text":
            start, size = int(fields[3], 16), int(fields[5], 16)
            break
    rng = random.Random(seed)
    for _ in range(count):
        print(f"0x{start + rng.randrange(size):x}")


def place(text):
    """(file, line, column) of "file:line:column"; eu-addr2line leaves a column of 0 out."""
    text = text.split(" (discriminator")[0]
    parts = text.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        path, line, column = parts[0], int(parts[1]), int(parts[2])
    else:
        path, line = text.rsplit(":", 1)
        line, column = int(line), 0
    return ("??" if path in ("", "??") else os.path.normpath(path), line, column)


def chain(lines):
    return [(lines[i].split(" inlined at ")[0], place(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]


def read_blocks(path):
    """Chains separated by empty lines."""
    with open(path, errors="replace") as file:
        return [chain(block.split("\n")) for block in file.read().split("\n\n") if block.strip()]


def read_eu(path):
    """Chains that each follow a line with the address."""
    chains = []
    with open(path, errors="replace") as file:
        for line in file.read().splitlines():
            if line.startswith("0x") and ":" not in line:
                chains.append([])
            else:
                chains[-1].append(line)
    return [chain(lines) for lines in chains]


def is_same(ours, theirs, kind):
    if ours == theirs:
        return True
    if kind != "eu":
        return False
    if ours[0][0] == "??":
        return True
    same_names = [name for name, _ in ours] == [name for name, _ in theirs]
    return same_names and (ours[0][1] == theirs[0][1] or ours[0][1][1] == 0)


def check(name, kind, ours_path, theirs_path, llvm_path=None):
    ours = read_blocks(ours_path)
    theirs = read_eu(theirs_path) if kind == "eu" else read_blocks(theirs_path)
    llvm = read_blocks(llvm_path)[: len(ours)] if llvm_path else [None] * len(ours)
    differ = [
        (ours_chain, theirs_chain)
        for ours_chain, theirs_chain, decides in zip(ours, theirs, llvm, strict=True)
        if not is_same(ours_chain, theirs_chain, kind)
        and not (ours_chain == decides and ours_chain[0] == theirs_chain[0])
    ]
    for ours_chain, theirs_chain in differ[:3]:
        print(f"ours   {ours_chain}\ntheirs {theirs_chain}")
    named = sum(chain[0][0] != "??" for chain in ours)
    inlined = sum(len(chain) > 1 for chain in ours)
    print(f"{name}, {kind}: {len(differ)} of {len(ours)} differ, {named} named, {inlined} inlined")
    if len(differ) > len(ours) * (1 - LEAST_EQUAL) or not named:
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "pick":
        pick(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        check(*sys.argv[2:])
