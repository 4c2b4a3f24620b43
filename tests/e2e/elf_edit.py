#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""elf_edit.py FILE EDIT...: falsify headers of a 64-bit little-endian ELF file in place.

    section:NAME:FIELD=VALUE   of a section header: type, flags, offset, size, link, entsize
    segment:TYPE:FIELD=VALUE   of each program header of that type (a number): offset, filesz, memsz
    length=BYTES               of the file itself, sparse
    mutate=SEED:FROM           50 bytes at or behind offset FROM become others
"""
import random
import struct
import sys

MUTATIONS = 50
SECTION_FIELDS = {"type": (4, "I"), "flags": (8, "Q"), "offset": (24, "Q"), "size": (32, "Q"), "link": (40, "I"),
                  "entsize": (56, "Q")}
SEGMENT_FIELDS = {"offset": (8, "Q"), "filesz": (32, "Q"), "memsz": (40, "Q")}


def get(data, form, at):
    return struct.unpack_from("<" + form, data, at)[0]


def section_at(data, name):
    table, entry, count, names = (get(data, "Q", 40), get(data, "H", 58), get(data, "H", 60), get(data, "H", 62))
    strings = get(data, "Q", table + names * entry + 24)
    for i in range(count):
        at = table + i * entry
        start = strings + get(data, "I", at)
        if data[start:data.index(b"\0", start)].decode() == name:
            return [at]
    raise SystemExit(f"elf_edit.py: no section {name}")


def segments_at(data, kind):
    table, entry, count = get(data, "Q", 32), get(data, "H", 54), get(data, "H", 56)
    return [table + i * entry for i in range(count) if get(data, "I", table + i * entry) == int(kind, 0)]


def mutate(data, seed, start):
    rng = random.Random(seed)
    for _ in range(MUTATIONS):
        data[rng.randrange(start, len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def main():
    name, edits = sys.argv[1], sys.argv[2:]
    with open(name, "rb") as file:
        data = bytearray(file.read())
    length = None
    for edit in edits:
        what, value = edit.split("=")
        if what == "length":
            length = int(value, 0)
        elif what == "mutate":
            seed, start = value.split(":")
            mutate(data, int(seed), int(start, 0))
        else:
            kind, which, field = what.split(":")
            at, fields = ((section_at(data, which), SECTION_FIELDS) if kind == "section"
                          else (segments_at(data, which), SEGMENT_FIELDS))
            offset, form = fields[field]
            for header in at:
                struct.pack_into("<" + form, data, header + offset, int(value, 0))
    with open(name, "r+b") as file:
        file.write(data)
        if length is not None:
            file.truncate(length)


main()
