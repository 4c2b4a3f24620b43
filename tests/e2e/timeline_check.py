#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When the samples of phases.c were, in bpfprof's JSON.

    timeline_check.py labels FILE BUCKET_MS KEY...   all samples have a time, in such buckets, and these labels
    timeline_check.py phases FILE BUCKET_MS LEAST    so many are in the function whose turn it was
    timeline_check.py sleeps FILE BUCKET_MS LEAST    so many sleeps began when they did
    timeline_check.py total FILE VALUE [COMM]        a sum
"""
import json
import sys

PHASE_NS, HALF_NS, MS = 200_000_000, 500_000_000, 1_000_000


class Profile:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.doc = json.load(file)
        self.values = [kind["type"] for kind in self.doc["value_types"]]

    def samples(self, comm="phases"):
        """(labels, names from the leaf, values by type)"""
        doc = self.doc
        for sample in doc["samples"]:
            labels = {label["key"]: label.get("str", label.get("num")) for label in doc["label_sets"][sample["labels"]]}
            if comm and labels.get("comm") != comm:
                continue
            names = [doc["functions"][line["function"]]["name"] for location in doc["stacks"][sample["stack"]]
                     for line in doc["locations"][location].get("lines", [])]
            yield labels, names, dict(zip(self.values, sample["values"]))


def labels(profile, bucket_ns, keys):
    seen, end_ns = 0, profile.doc["duration_ns"] or sys.maxsize  # perf's text does not say
    for has, names, values in profile.samples(comm=None):
        if any("not sampled" in name for name in names):
            continue
        seen += 1
        if not all(key in has for key in ["time", *keys]):
            return "labels %r" % has
        if has["time"] % bucket_ns or not 0 <= has["time"] < end_ns + 2 * bucket_ns:
            return "time %d of %d ns" % (has["time"], profile.doc["duration_ns"])
    return None if seen else "no samples"


def phases(profile, bucket_ns, least):
    """Those that are not near a turn: a bucket is known by its begin, and the window begins somewhere in one."""
    right = wrong = 0
    for has, names, values in profile.samples():
        at = profile.doc["time_ns"] + has["time"]
        near = min(at % PHASE_NS, PHASE_NS - at % PHASE_NS)
        wanted = ("phase_even", "phase_odd")[at // PHASE_NS % 2]
        other = ("phase_odd", "phase_even")[at // PHASE_NS % 2]
        if near > bucket_ns + 10 * MS:
            right += values["samples"] if wanted in names else 0
            wrong += values["samples"] if other in names else 0
    print("right", right, "wrong", wrong)
    return None if right >= least and wrong <= right / 50 else "the wrong times"


def sleeps(profile, bucket_ns, least):
    right, wrong = 0, []
    for has, names, values in profile.samples():
        if values["blocked"] < 190 * MS or has["time"] == 0:
            continue
        late = (profile.doc["time_ns"] + has["time"] + bucket_ns) % HALF_NS
        if late <= 2 * bucket_ns + 20 * MS:
            right += 1
        else:
            wrong.append(late)
    print("right", right, "wrong", wrong)
    return None if right >= least and len(wrong) <= right else "the wrong times"


def main(what, path, *args):
    profile = Profile(path)
    if what == "total":
        print(sum(values[args[0]] for has, names, values in profile.samples(comm=args[1] if args[1:] else None)))
        return 0
    bucket_ns = int(args[0]) * MS
    if what == "labels":
        problem = labels(profile, bucket_ns, args[1:])
    else:
        problem = {"phases": phases, "sleeps": sleeps}[what](profile, bucket_ns, int(args[1]))
    print(problem or "as it was")
    return 1 if problem else 0


sys.exit(main(*sys.argv[1:]))
