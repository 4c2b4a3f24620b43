#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a profile says of each thread's time, beside what the threads say of themselves (tests/workloads/truth.h).

    waits_judge.py [--hz HZ] PPROF TRUTHS COMM-REGEX RULE...

TRUTHS are lines "truth comm=... tid=... KEY=NUMBER..."; the profile has the labels comm and tid. One with tid=0 stands
for all threads of its name. RULE is

    VALUE=KEY          the profile's value is the truth's, within a percent of it
    VALUE=KEY/BASE     ... within a percent of the truth's BASE

Values that come from samples of HZ (cpu, and wall, of which it is a part) may differ by four standard deviations of the
share more. Where runnable and cpu meet, at each switch, the kernel's clock and a probe's differ by what the probe takes:
15 us are allowed. And a wait begins, for the kernel, where the thread leaves its queue; for a probe where the CPU then
switches, measured 1 us later: of blocked time 2 us may be missing for each. Exit status 1: a thread's value is wrong, or there is no thread of that name.
"""
import argparse
import math
import re
import sys

sys.dont_write_bytecode = True
from pprof_values import Profile  # noqa: E402 (after the switch above)


def read_truths(path, comm):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["truth"]:
                truth = dict(word.split("=", 1) for word in words[1:])
                if re.fullmatch(comm, truth["comm"]):
                    yield {key: int(value) if re.fullmatch(r"-?\d+", value) else value for key, value in truth.items()}


def sampled_ns(truth, cpu_ns, hertz):
    ticks = truth["elapsed"] * hertz / 1e9
    share = min(1, cpu_ns / truth["elapsed"])
    return 4 * math.sqrt(share * (1 - share) / ticks) * truth["elapsed"]


SWITCH_NS, DEQUEUE_NS = 15000, 2000


def judge(truth, values, rule, args):
    value, key, base = re.fullmatch(r"(\w+)=(\w+)(?:/(\w+))?", rule).groups()
    may_differ = 0.01 * truth[base or key]
    if args.hz and value in ("cpu", "wall"):
        may_differ += sampled_ns(truth, values["cpu"], args.hz)
    if value in ("cpu", "runnable"):
        may_differ += SWITCH_NS * (truth["waits"] + truth["preempted"])
    may_miss = DEQUEUE_NS * truth.get("waits", 0) if value == "blocked" else 0
    is_right = -may_differ - may_miss <= values[value] - truth[key] <= may_differ
    if not is_right or not args.brief:
        print(f"{'' if is_right else 'WRONG: '}{truth['comm']} ({truth['tid']}): {value} is {values[value]}, "
              f"{key} {truth[key]} +- {may_differ:.0f}")
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hz", type=float, default=0)
    parser.add_argument("pprof")
    parser.add_argument("truths")
    parser.add_argument("comm")
    parser.add_argument("rules", nargs="+")
    args = parser.parse_args()
    profile = Profile(args.pprof)
    by_tid, by_comm = profile.table(["comm", "tid"]), profile.table(["comm"])
    nothing = [0] * len(profile.types)
    truths = list(read_truths(args.truths, args.comm))
    args.brief = len(truths) > 50
    verdicts = []
    for truth in truths:
        found = by_tid.get((truth["comm"], str(truth["tid"]))) if truth["tid"] else by_comm.get((truth["comm"],))
        values = dict(zip(profile.types, found or nothing))
        verdicts += [judge(truth, values, rule, args) for rule in args.rules]
    print(f"{sum(verdicts)} of {len(verdicts)} are right")
    return 0 if verdicts and all(verdicts) else 1


sys.exit(main())
