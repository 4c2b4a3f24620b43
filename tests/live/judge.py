# SPDX-License-Identifier: Apache-2.0
"""Judge how many stacks of a run are complete, by the frame at their bottom.

    judge.py --name NAME --target PCT --folded FILE --pprof FILE [--twin FILE] [--perf MODE=FILE]...
             [--apart REASON] [--slack N] --row FILE

Prints a markdown table of the program, appends one row for the summary to --row FILE, and exits 1 when
the share of complete stacks is below the target.

--folded is our output with --annotate; the same recording's pprof only lends the paths of its files.
A user stack is complete when its root frame is a bottom (bottoms.py); what our own flag says is compared
with that, and a stack that we call complete without being so is counted as `false bottom`. Samples of the
reason --apart are shown but not held against the target; --slack many may fail whatever their share, for
runs so short that one is 0.1 %.
"""
import argparse
import collections
import gzip
import os
import re
import sys

import bottoms

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import pprof_values

TOP = 3
# What the kernel's own frames are marked with by --annotate
KERNEL = "_[k]"


def pprof_strings(path):
    """The string table (field 6) of a pprof file."""
    with gzip.open(path) as file:
        for number, value in pprof_values.fields(file.read()):
            if number == 6:
                yield value.decode("utf-8", "replace")


class Tally:
    """Samples of one tool by what became of their user stack."""

    def __init__(self):
        self.total = self.complete = self.no_user = 0
        self.reasons = collections.Counter()
        self.examples = collections.defaultdict(collections.Counter)

    def add(self, count, reason, leaf="", root=""):
        self.total += count
        if reason is None:
            self.complete += count
            return
        self.reasons[reason] += count
        self.examples[reason][leaf, root] += count

    def share(self, apart=None):
        counted = self.total - self.reasons[apart]
        return 100 * self.complete / counted if counted else 0.0


def strip_mark(frame):
    return re.sub(r"_\[[kijw]\]$", "", frame)


def judge_folded(path, oracle):
    tally = Tally()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            frames = [f for f in stack.split(";")[1:] if not f.endswith(KERNEL)]
            if not frames:
                tally.no_user += int(count)
                continue
            reason = None
            match = re.match(r"^\[truncated: (.*)\]$", frames[0])
            if match:
                frames = frames[1:] or ["(no frame)"]
            names = [strip_mark(f) for f in frames]
            if not oracle.is_bottom_name(names[0]):
                reason = match.group(1) if match else "false bottom"
            elif match:
                reason = "at the bottom, yet " + match.group(1)
            tally.add(int(count), reason, names[-1], names[0])
    return tally


FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
KERNEL_START = 0xFFFF800000000000


def judge_perf(path, oracle):
    """perf script -F comm,tid,ip,sym,dso: a line per sample, its frames leaf first, an empty line."""
    tally = Tally()
    frames = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = FRAME.match(line)
            if match:
                frames.append((int(match.group(1), 16), match.group(2), match.group(3)))
            elif not line.strip():
                add_perf(tally, frames, oracle)
                frames = []
    return tally


def add_perf(tally, frames, oracle):
    user = [f for f in frames if f[0] < KERNEL_START]
    if not user:
        tally.no_user += 1
        return
    file_off, name, dso = user[-1]
    is_bottom = oracle.is_bottom_offset(dso, file_off, name)
    shown = [f"{n if n != '[unknown]' else hex(o)} ({d.rsplit('/', 1)[-1]})" for o, n, d in (user[0], user[-1])]
    tally.add(1, None if is_bottom else "no bottom", *shown)


def cell(text):
    return text.replace("|", "\\|")[:90]


def print_table(name, tallies):
    print(f"\n### {name}\n")
    print("| tool | with a user stack | complete | without one | not complete: reason, share, leaf ← root |")
    print("|---|--:|--:|--:|---|")
    for tool, tally in tallies:
        reasons = []
        for reason, count in tally.reasons.most_common():
            top = "; ".join(f"{n}× `{cell(leaf)}` ← `{cell(root)}`"
                            for (leaf, root), n in tally.examples[reason].most_common(TOP))
            reasons.append(f"**{reason}** {100 * count / tally.total:.2f} %: {top}")
        print(f"| {tool} | {tally.total} | {tally.share():.2f} % | {tally.no_user} | {'<br>'.join(reasons)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--target", type=float, required=True)
    parser.add_argument("--folded", required=True)
    parser.add_argument("--pprof", required=True)
    parser.add_argument("--twin")
    parser.add_argument("--perf", action="append", default=[])
    parser.add_argument("--apart")
    parser.add_argument("--slack", type=int, default=0)
    parser.add_argument("--row", required=True)
    args = parser.parse_args()

    paths = [s for s in pprof_strings(args.pprof) if s.startswith("/")]
    oracle = bottoms.Bottoms(paths, args.twin)
    tallies = [("bpfprof", judge_folded(args.folded, oracle))]
    for perf in args.perf:
        mode, path = perf.split("=", 1)
        tallies.append(("perf " + mode, judge_perf(path, oracle)))
    print_table(args.name, tallies)

    ours = tallies[0][1]
    bad = sum(n for reason, n in ours.reasons.items() if reason != args.apart)
    is_met = ours.complete > 0 and (ours.share(args.apart) >= args.target or bad <= args.slack)
    target = f"{args.target} %" if args.target else "stated"
    with open(args.row, "a", encoding="utf-8") as file:
        reasons = ", ".join(f"{r} {100 * n / ours.total:.2f} %" for r, n in ours.reasons.most_common())
        shares = " | ".join(f"{t.share():.2f} %" for _, t in tallies)
        file.write(f"| {args.name} | {ours.total} | {shares} | {target} | {'yes' if is_met else 'NO'} | {reasons} |\n")
    return 0 if is_met else 1


sys.exit(main())
