#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge the windows of a recording whose clock was stepped.

clock_judge.py STATS STEPS WINDOW.json...   the windows' profiles in order; STEPS: by how many seconds the clock was
                                            off, one after the other, from 0 on

One line per thing that does not hold; exit 1 when there is any. On a busy machine windows may be longer, and fewer.
"""
import json
import sys

PREFIX = "bpfprof-ledger: "
# The two clocks are read one after the other.
APART_S = 0.5


def ledger_of(profile):
    return next(json.loads(text[len(PREFIX):]) for text in profile["comments"] if text.startswith(PREFIX))


def times(profiles, steps):
    """A window begins where the one before it ended, by the clock, which was stepped meanwhile."""
    off = [0]
    for before, profile in zip(profiles, profiles[1:]):
        length = before["duration_ns"] / 1e9
        jump = (profile["time_ns"] - before["time_ns"]) / 1e9 - length
        if not 0 < length < 60:
            yield f"a window lasted {length} s"
        if abs(jump - round(jump)) > APART_S / 2:
            yield f"a window begins {jump} s after the end of the one before it"
        off.append(off[-1] + round(jump))
    if (min(off), max(off), off[-1]) != (min([0, *steps]), max([0, *steps]), steps[-1]):
        yield f"the windows' clocks are off by {off}, wanted {steps}"


def books(profiles, stats):
    """The windows' ledgers balance and add up to the whole one's, to the unit."""
    ledgers = [ledger_of(profile)["events"][0] for profile in profiles]
    whole = stats["events"][0]
    for nr, event in enumerate(ledgers):
        lost = sum(event["lost"].values())
        if event["ran"] != event["recorded"] + event["filtered"] + lost:
            yield f"window {nr + 1} does not balance: {event}"
    for key in ("ticks", "ran", "filtered", "recorded"):
        if sum(event[key] for event in ledgers) != whole[key]:
            yield f"{key} of the windows do not add up to {whole[key]}"
    if sum(event["ran"] for event in ledgers) != stats["cost"]["bpf_runs"]:
        yield f"the kernel has counted {stats['cost']['bpf_runs']} runs"
    length = sum(profile["duration_ns"] for profile in profiles) / 1e9
    if abs(length - stats["duration_s"]) > 0.01:
        yield f"the windows last {length} s, the recording {stats['duration_s']} s"


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    stats_path, steps, *paths = sys.argv[1:]
    profiles = [load(path) for path in paths]
    wrong = [*times(profiles, [int(step) for step in steps.split(",")]), *books(profiles, load(stats_path))]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
