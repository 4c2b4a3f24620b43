# SPDX-License-Identifier: Apache-2.0
"""Profiles as receivers of them read them, from the published field numbers: pprof's profile.proto, and the messages
of opentelemetry-proto 1.11.0. Each reader raises Bad where a receiver would refuse."""
import gzip
import struct


class Bad(Exception):
    """What a receiver would refuse."""


def need(condition, text):
    if not condition:
        raise Bad(text)


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number is cut short")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value & (2**64 - 1), at


def fields(data):
    """(number, wire type, value) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        need(number > 0, "a field has number 0")
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            need(at + size <= len(data), "a fixed field is cut short")
            value = struct.unpack("<Q" if wire == 1 else "<I", data[at : at + size])[0]
            at += size
        else:
            need(wire == 2, f"wire type {wire}")
            size, at = varint(data, at)
            need(at + size <= len(data), "bytes are cut short")
            value = data[at : at + size]
            at += size
        yield number, wire, value


def signed(value):
    return value - 2**64 if value >= 2**63 else value


def numbers(wire, value):
    """Of a repeated field: packed, or one."""
    if wire != 2:
        return [signed(value)]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(signed(number))
    return found


class Message:
    """A message's fields by their numbers; @known is {number: (name, kind)}, of kinds 'i' (int64), 'x' (fixed64),
    's' (string), 'b' (bytes), 'm' (message, as bytes), each with '*' where it is repeated."""

    def __init__(self, data, known):
        self.names = set()
        for name, kind in known.values():
            setattr(self, name, [] if "*" in kind else {"i": 0, "x": 0, "s": "", "b": b"", "m": None}[kind[0]])
        for number, wire, value in fields(data):
            need(number in known, f"field {number} is none of {sorted(name for name, _ in known.values())}")
            name, kind = known[number]
            self.names.add(name)
            wanted = {"i": (0, 2) if "*" in kind else (0,), "x": (1,)}.get(kind[0], (2,))
            need(wire in wanted, f"{name} has wire type {wire}")
            if kind[0] == "i" and "*" in kind:
                getattr(self, name).extend(numbers(wire, value))
                continue
            if kind[0] == "s":
                value = value.decode()
            elif kind[0] == "i":
                value = signed(value)
            if "*" in kind:
                getattr(self, name).append(value)
            else:
                setattr(self, name, value)


# --- pprof ---

PROFILE = {
    1: ("sample_type", "m*"),
    2: ("sample", "m*"),
    3: ("mapping", "m*"),
    4: ("location", "m*"),
    5: ("function", "m*"),
    6: ("string_table", "s*"),
    9: ("time_nanos", "i"),
    10: ("duration_nanos", "i"),
    11: ("period_type", "m"),
    12: ("period", "i"),
    13: ("comment", "i*"),
    14: ("default_sample_type", "i"),
}
VALUE_TYPE = {1: ("type", "i"), 2: ("unit", "i")}
SAMPLE = {1: ("location_id", "i*"), 2: ("value", "i*"), 3: ("label", "m*")}
LABEL = {1: ("key", "i"), 2: ("str", "i"), 3: ("num", "i"), 4: ("num_unit", "i")}
MAPPING = {number: (f"field{number}", "i") for number in range(1, 11)}
LOCATION = {1: ("id", "i"), 2: ("mapping_id", "i"), 3: ("address", "i"), 4: ("line", "m*"), 1000: ("flags", "i")}
LINE = {1: ("function_id", "i"), 2: ("line", "i")}
FUNCTION = {1: ("id", "i"), 2: ("name", "i"), 3: ("system_name", "i"), 4: ("filename", "i"), 5: ("start_line", "i")}


class Pprof:
    """One that is valid: types ('cpu/nanoseconds'), period_type, samples [(values, labels)], sums by type."""

    def __init__(self, packed):
        raw = gzip.decompress(packed)
        self.size = len(raw)
        top = Message(raw, PROFILE)
        strings = top.string_table
        need(strings and strings[0] == "", "string_table[0] is not empty")

        def text(index):
            need(0 <= index < len(strings), f"string {index} is missing")
            return strings[index]

        def value_type(data):
            message = Message(data, VALUE_TYPE)
            return f"{text(message.type)}/{text(message.unit)}"

        functions = {Message(data, FUNCTION).id for data in top.function}
        mappings = {Message(data, MAPPING).field1 for data in top.mapping}
        locations = set()
        need(0 not in functions and len(functions) == len(top.function), "ids of functions")
        need(0 not in mappings and len(mappings) == len(top.mapping), "ids of mappings")
        for location in (Message(data, LOCATION) for data in top.location):
            need(location.id and location.id not in locations, "ids of locations")
            locations.add(location.id)
            need(location.mapping_id in mappings | {0}, "a mapping is missing")
            for line in location.line:
                need(Message(line, LINE).function_id in functions, "a function is missing")
        self.types = [value_type(data) for data in top.sample_type]
        self.period_type = value_type(top.period_type) if top.period_type is not None else "/"
        self.period, self.time_nanos, self.duration_nanos = top.period, top.time_nanos, top.duration_nanos
        need(self.time_nanos > 0 and self.duration_nanos > 0, "the time is missing")
        self.samples = []
        for sample in (Message(data, SAMPLE) for data in top.sample):
            need(len(sample.value) == len(self.types), "a sample has not one value for each type")
            need(set(sample.location_id) <= locations, "a location is missing")
            labels = {}
            for label in (Message(data, LABEL) for data in sample.label):
                need(text(label.key) not in labels, f"two labels {text(label.key)}")
                labels[text(label.key)] = text(label.str) if "str" in label.names else label.num
            self.samples.append((sample.value, labels))

    def sums(self):
        return {kind: sum(values[i] for values, _ in self.samples) for i, kind in enumerate(self.types)}
