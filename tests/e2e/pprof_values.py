#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a pprof, without any tool that knows profiles.

    pprof_values.py PPROF VALUE [KEY=REGEX | KEY!=REGEX]...    the sum of a value over the samples that match
    pprof_values.py PPROF --count KEY [KEY=REGEX]...           how many different values a label has there
    pprof_values.py PPROF --table KEY,KEY [KEY=REGEX]...       a row for each combination: labels, all values
    pprof_values.py PPROF --types                              "name/unit" of each value, the default one with a '*'

KEY is a label (none is like an empty one) that has to match as a whole, or `stack`, in which REGEX is searched: names
from the root to the leaf, with ';' between.
"""
import collections
import gzip
import re
import sys


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    """(number, value) of each field of a message: an integer, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield tag >> 3, value


def integers(message, number):
    """All integers of a repeated field, packed or not; signed."""
    for found, value in fields(message):
        if found != number:
            continue
        at = 0
        while isinstance(value, bytes) and at < len(value):
            one, at = varint(value, at)
            yield one - (one >> 63 << 64)
        if isinstance(value, int):
            yield value - (value >> 63 << 64)


def one(message, number):
    return next((value for found, value in fields(message) if found == number), 0)


class Profile:
    def __init__(self, path):
        parts = collections.defaultdict(list)
        with gzip.open(path) as file:
            for number, value in fields(file.read()):
                parts[number].append(value)
        self.strings = [text.decode(errors="replace") for text in parts[6]]
        self.types = [self.strings[one(kind, 1)] for kind in parts[1]]
        self.units = [self.strings[one(kind, 2)] for kind in parts[1]]
        self.default = self.strings[parts[14][0]] if parts[14] else self.types[-1]
        functions = {one(function, 1): self.strings[one(function, 2)] for function in parts[5]}
        self.frames = {}
        for location in parts[4]:
            lines = [line for number, line in fields(location) if number == 4]
            self.frames[one(location, 1)] = [functions[one(line, 1)] for line in lines]
        self.samples = [self.read_sample(sample) for sample in parts[2]]

    def read_sample(self, sample):
        labels = {}
        for number, label in fields(sample):
            if number == 3:
                text, count = one(label, 2), next(integers(label, 3), 0)
                labels[self.strings[one(label, 1)]] = self.strings[text] if text else str(count)
        return list(integers(sample, 2)), labels, list(integers(sample, 1))

    def stack(self, locations):
        return ";".join(name for at in reversed(locations) for name in reversed(self.frames[at]))

    def matching(self, conditions):
        """(values, labels) of the samples that all conditions hold for."""
        parsed = [re.match(r"(\w+)(!?)=(.*)", text, re.DOTALL).groups() for text in conditions]
        for values, labels, locations in self.samples:
            for key, negated, regex in parsed:
                if key == "stack":
                    found = re.search(regex, self.stack(locations))
                else:
                    found = re.fullmatch(regex, labels.get(key, ""))
                if bool(found) == bool(negated):
                    break
            else:
                yield values, labels

    def total(self, name, conditions=()):
        at = self.types.index(name)
        return sum(values[at] for values, _ in self.matching(conditions))

    def table(self, keys, conditions=()):
        rows = collections.defaultdict(lambda: [0] * len(self.types))
        for values, labels in self.matching(conditions):
            row = rows[tuple(labels.get(key, "") for key in keys)]
            for at, value in enumerate(values):
                row[at] += value
        return rows


def main():
    profile, what = Profile(sys.argv[1]), sys.argv[2]
    if what == "--types":
        for name, unit in zip(profile.types, profile.units):
            print(f"{name}/{unit}{'*' if name == profile.default else ''}")
    elif what == "--count":
        print(len({labels.get(sys.argv[3], "") for _, labels in profile.matching(sys.argv[4:])}))
    elif what == "--table":
        keys = sys.argv[3].split(",")
        print("\t".join(keys + profile.types))
        for row, values in sorted(profile.table(keys, sys.argv[4:]).items()):
            print("\t".join([*row, *map(str, values)]))
    else:
        print(profile.total(what, sys.argv[3:]))


if __name__ == "__main__":
    main()
