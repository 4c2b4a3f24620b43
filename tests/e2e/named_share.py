#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""named_share.py RAW STATS FOLDER: how many frames of a recording have names, of binaries that could give them.

RAW is what `go tool pprof -raw` says of the profile, STATS the ledger. FOLDER has the test's own programs, all with
symbols, as <build-id>. A binary has symbols when it has a .symtab of its own, or a debug file installed by build-id.
Exit status 1: fewer than 99.9 % of their frames are named, or the ledger's sums do not hold.
"""
import collections
import json
import os
import re
import subprocess
import sys

LOCATION = re.compile(r"\s+\d+: 0x[0-9a-f]+ (?:M=(\d+) )?(.*)")
UNNAMED = re.compile(r"\[[^]]*\+0x[0-9a-f]+\] ")  # a file's name may have spaces
MAPPING = re.compile(r"(\d+): 0x\S+ (\S.*?)(?: \(deleted\))? ?([0-9a-f]{16,})? ?(\[[FNLI\]\[]*\])?$")
REASONS = {"no_symbol", "no_file", "not_permitted", "file_changed", "bad_elf", "jit", "kptr_restrict", "no_kernel_symbol",
           "unknown_mapping", "no_time"}


def sections(path):
    made = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=False)
    return made.stdout


def has_symbols(path, build_id, folder):
    if path == "[kernel.kallsyms]":
        return True
    if build_id and os.path.exists(os.path.join(folder, build_id)):
        return True
    if build_id and os.path.exists(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"):
        return True
    return os.path.isfile(path) and " .symtab " in sections(path)


def read_raw(name):
    """Mappings by number: (path, build-id); locations: (mapping, is named, text)."""
    mappings, locations, part = {}, [], None
    with open(name, encoding="utf-8", errors="replace") as raw:
        for line in raw:
            line = line.rstrip("\n")
            if line in ("Locations", "Mappings"):
                part = line
            elif part == "Locations" and (match := LOCATION.match(line)):
                locations.append((match[1], not UNNAMED.match(match[2]), match[2]))
            elif part == "Mappings" and (match := MAPPING.match(line)):
                mappings[match[1]] = (match[2], match[3])
    return mappings, locations


def check_sums(frames, unnamed_cnt):
    print(f"ledger: {frames}; unnamed in the profile: {unnamed_cnt}")
    by_reason = frames["unnamed"]
    return (frames["distinct"] == frames["named"] + sum(by_reason.values()) and
            set(by_reason) <= REASONS and unnamed_cnt == sum(by_reason.values()))


def main():
    mappings, locations = read_raw(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as stats:
        frames = json.load(stats)["frames"]
    counts = collections.defaultdict(lambda: [0, 0])
    unnamed = []
    for mapping, is_named, text in locations:
        counts[mapping][0] += 1
        counts[mapping][1] += is_named
        if not is_named:
            unnamed.append((mapping, text))
    able = {key for key in counts if key in mappings and has_symbols(*mappings[key], sys.argv[3])}
    total = sum(counts[key][0] for key in able)
    named = sum(counts[key][1] for key in able)
    for key in sorted(counts, key=lambda key: counts[key][1] - counts[key][0]):
        if counts[key][1] < counts[key][0]:
            print(f"{mappings.get(key)}: {counts[key][1]} of {counts[key][0]}{'' if key in able else ', no symbols'}")
    for mapping, text in unnamed:
        if mapping in able:
            print(f"unnamed: {mappings[mapping][0]}: {text}")
    print(f"{len(able)} of {len(counts)} binaries have symbols; {named} of their {total} frames are named")
    holds = check_sums(frames, len(unnamed))
    return 0 if holds and total >= 500 and named >= 0.999 * total else 1


sys.exit(main())
