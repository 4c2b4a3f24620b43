# SPDX-License-Identifier: Apache-2.0
"""Which frames are the bottom of a stack, said by other programs than ours: readelf and nm.

A frame is a bottom by its name (what libc, Go and the kernel call the first function of a thread; mcall, by which
Go's scheduler leaves a goroutine for good, is one to Go's own profiler too), or by its address: inside the entry point of its file, or where readelf says that the return address is undefined.
"""
import bisect
import re
import struct
import subprocess

NAMES = re.compile(
    r"^(_start|_dl_start_user|__clone|clone|__clone3|clone3"
    r"|runtime\.(goexit|mstart|mcall|rt0_go)(\.abi0)?|_rt0_amd64(_linux)?(\.abi0)?"
    r"|ret_from_fork(_asm)?)$"
)
# _start is a few instructions, and the call that ends it is its return address.
ENTRY_BYTES = 64


class Elf:
    """What is asked of one file; each answer is computed at its first use."""

    def __init__(self, path, twin=None):
        self.path = path
        self.twin = twin
        self.loads = []
        self.entry = 0
        self._undefined = None
        self._symbols = None
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != b"\x7fELF":
                raise OSError("not ELF")
            self.entry, phoff = struct.unpack_from("<QQ", head, 24)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(phoff)
            table = file.read(size * count)
        for at in range(0, size * count, size):
            kind, _, off, vaddr, _, filesz, _, _ = struct.unpack_from("<IIQQQQQQ", table, at)
            if kind == 1:
                self.loads.append((off, filesz, vaddr))

    def vaddr(self, file_off):
        for off, size, vaddr in self.loads:
            if off <= file_off < off + size:
                return file_off - off + vaddr
        return file_off

    def undefined(self):
        """Sorted ranges [start, end) without a return address."""
        if self._undefined is None:
            self._undefined = sorted(undefined_ranges(self.path))
        return self._undefined

    def symbol(self, vaddr):
        """The function at vaddr by nm, of the twin that was built with symbols where there is one."""
        if self._symbols is None:
            text = subprocess.run(["nm", "-n", "--defined-only", self.twin or self.path],
                                  capture_output=True, text=True, check=False).stdout
            self._symbols = [(int(p[0], 16), p[2]) for p in map(str.split, text.splitlines())
                             if len(p) == 3 and p[1] in "tTwW"]
        at = bisect.bisect_right(self._symbols, (vaddr, "\x7f")) - 1
        return self._symbols[at][1] if at >= 0 else ""

    def is_bottom(self, vaddr):
        if self.entry <= vaddr < self.entry + ENTRY_BYTES:
            return True
        if self.twin and NAMES.match(self.symbol(vaddr)):
            return True
        ranges = self.undefined()
        at = bisect.bisect_right(ranges, (vaddr, 1 << 64)) - 1
        return at >= 0 and ranges[at][0] <= vaddr < ranges[at][1]


def undefined_ranges(path):
    """Rows of the call frame tables whose last column, ra, is 'u'."""
    process = subprocess.Popen(["readelf", "--wide", "--debug-dump=frames-interp", path],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    start = end = None
    for line in process.stdout:
        if " FDE " in line:
            if start is not None:
                yield start, end
            start = None
            end = int(line.rsplit("..", 1)[1], 16)
        elif re.match(r"^[0-9a-f]{16} ", line) and "cie=" not in line and " CIE " not in line:
            loc = int(line[:16], 16)
            if start is not None:
                yield start, loc
            start = loc if line.split()[-1] == "u" and end is not None else None
        elif not line.strip():
            if start is not None:
                yield start, end
            start = end = None
    if start is not None:
        yield start, end


class Bottoms:
    """Over all files of one run."""

    def __init__(self, paths, twin=None):
        self.by_base = {}
        self.elves = {}
        self.twin = twin
        for path in paths:
            self.by_base.setdefault(path.rsplit("/", 1)[-1], path)

    def elf(self, path):
        if path not in self.elves:
            try:
                is_ours = self.twin and path.rsplit("/", 1)[-1].endswith("_stripped")
                self.elves[path] = Elf(path, self.twin if is_ours else None)
            except OSError:
                self.elves[path] = None
        return self.elves[path]

    def is_bottom_name(self, name):
        """Of a frame as our folded output has it: a function, or [base+0xvaddr]."""
        if NAMES.match(name):
            return True
        match = re.match(r"^\[(.*)\+0x([0-9a-f]+)\]$", name)
        path = match and self.by_base.get(match.group(1))
        elf = path and self.elf(path)
        return bool(elf) and elf.is_bottom(int(match.group(2), 16))

    def is_bottom_offset(self, path, file_off, name):
        """Of a frame as perf script has it."""
        if NAMES.match(name):
            return True
        elf = self.elf(path) if path.startswith("/") else None
        return bool(elf) and elf.is_bottom(elf.vaddr(file_off))
