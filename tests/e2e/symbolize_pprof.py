#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pprof as other profilers write it: addresses of the process, and where it had the file.

    symbolize_pprof.py FILE START < VADDRS > PPROF

One location and one sample for each virtual address of the ELF file FILE, as if its first executable segment were mapped
at START.
"""
import gzip
import re
import subprocess
import sys


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


path, start = sys.argv[1], int(sys.argv[2], 0)
build_id = re.search(r"Build ID: (\w+)", readelf("-n", path)).group(1)
load = re.search(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", readelf("-l", path))
offset, vaddr, size = (int(number, 16) for number in load.groups())
page = offset % 4096
vaddrs = [int(line, 16) for line in sys.stdin]
strings = ["", "samples", "count", path, build_id]
profile = field(1, field(1, 1) + field(2, 2))
for i in range(len(vaddrs)):
    profile += field(2, field(1, varint(i + 1)) + field(2, varint(1)))
profile += field(3, field(1, 1) + field(2, start) + field(3, start + page + size) + field(4, offset - page) +
                 field(5, 3) + field(6, 4))
for i, address in enumerate(vaddrs):
    profile += field(4, field(1, i + 1) + field(2, 1) + field(3, address - vaddr + page + start))
for string in strings:
    profile += field(6, string.encode())
sys.stdout.buffer.write(gzip.compress(profile))
