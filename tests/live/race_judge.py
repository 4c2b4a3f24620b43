# SPDX-License-Identifier: Apache-2.0
"""Judge a folded profile of race_vma: race_judge.py FILE MIN_SAMPLES

A sample of a thread named copy_N may have frames in copy N and in no other copy.
"""
import collections
import re
import sys

COPY = re.compile(r"^(?:copy_(\d+)_spin|\[copy_(\d+)\.so\+0x[0-9a-f]+\])$")

total = right = 0
wrong = collections.Counter()
lost = collections.Counter()
with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
    for line in file:
        stack, count = line.rstrip("\n").rsplit(" ", 1)
        name, *frames = stack.split(";")
        match = re.match(r"^copy_(\d+)$", name)
        if not match:
            continue
        total += int(count)
        copies = {m.group(1) or m.group(2) for m in map(COPY.match, frames) if m}
        if copies - {match.group(1)}:
            wrong[line.strip()] += int(count)
        elif copies:
            right += int(count)
        else:
            # In the kernel, in libc between two turns, or where the mapping was not found.
            root = frames[0] if frames else "(none)"
            lost[root if root.startswith("[truncated") else "not in a copy"] += int(count)
print(f"{total} samples of named threads: {right} in the right copy, {sum(wrong.values())} in a wrong one; "
      + ", ".join(f"{n} {reason}" for reason, n in lost.most_common()))
for line, count in wrong.most_common(10):
    print(f"wrong {count}x: {line}")
sys.exit(1 if wrong or right < int(sys.argv[2]) else 0)
