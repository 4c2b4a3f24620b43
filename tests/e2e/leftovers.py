#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""End recordings in every way and at any moment, and look for what they left.

    leftovers.py [--seed N] BPFPROF TARGET FUNCTION FOLDER

TARGET is a program that computes in FUNCTION. One line per case, as the scripts print them. What is looked for: BPF
programs, maps, links and type information by their ids, entries of uprobe_events, a breakpoint in the target's code, the
weight of the session among others (autogroup(7)), and files in FOLDER that nobody asked for or that cannot be read."""

import argparse
import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
NEXT_ID = {"program": 11, "map": 12, "type information": 23, "link": 31}
BREAKPOINT = {"x86_64": b"\xcc", "aarch64": b"\x05\x00\x20\xd4"}[os.uname().machine]
KILLS = 30
RECORDED_S = 0.6
GONE_WITHIN_S = 30
EVENT_LISTS = [pathlib.Path(folder) / "uprobe_events" for folder in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")]
AUTOGROUP = pathlib.Path("/proc/self/autogroup")
libc = ctypes.CDLL(None, use_errno=True)


def ids(command):
    attr = (ctypes.c_uint32 * 32)()
    found = set()
    while not libc.syscall(SYS_BPF, command, attr, ctypes.sizeof(attr)):
        attr[0] = attr[1]
        found.add(attr[1])
    return found


def kernel_objects():
    found = {(kind, one) for kind, command in NEXT_ID.items() for one in ids(command)}
    for path in EVENT_LISTS:
        if path.exists():
            found |= {("uprobe", line) for line in path.read_text().splitlines()}
    if AUTOGROUP.exists():
        found.add(("autogroup", AUTOGROUP.read_text()))
    return found


def still_there(before):
    """What has come since @before and does not go: the kernel frees programs by a worker, after a grace period."""
    left = kernel_objects() - before
    until = time.monotonic() + GONE_WITHIN_S
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left &= kernel_objects()
    return left


class Target:
    def __init__(self, path, function):
        self.process = subprocess.Popen([path, "600"], stdout=subprocess.DEVNULL)
        self.path, self.function = os.path.realpath(path), function
        time.sleep(0.2)
        self.at = self.base() + self.symbol()
        self.clean = self.code()
        assert self.clean[:len(BREAKPOINT)] != BREAKPOINT

    def base(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/maps").read_text().splitlines():
            if line.endswith(self.path):
                return int(line.split("-")[0], 16)
        raise RuntimeError("the target is not mapped")

    def symbol(self):
        for line in subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            if line.split()[-1] == self.function:
                return int(line.split()[0], 16)
        raise RuntimeError(f"no {self.function} in {self.path}")

    def code(self):
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as mem:
            mem.seek(self.at)
            return mem.read(16)

    def is_probed(self):
        return self.code()[:len(BREAKPOINT)] == BREAKPOINT


class Recording:
    def __init__(self, opts, target, mode):
        self.opts = opts
        for path in opts.folder.iterdir():
            path.unlink()
        command = [opts.bpfprof, "-q", "-o", "x.pb.gz", "-o", "x.html", "-o", "x.folded", "--stats", "x.json",
                   *mode, "-d", str(RECORDED_S)]
        self.begun = time.monotonic()
        self.process = subprocess.Popen(command, cwd=opts.folder, stderr=subprocess.PIPE)

    def end(self):
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said.decode(errors="replace")

    def wrong_files(self, may_be_missing):
        names = sorted(path.name for path in self.opts.folder.iterdir())
        strange = set(names) - {"x.pb.gz", "x.html", "x.folded", "x.json"}
        if strange:
            return f"left in the folder: {sorted(strange)}"
        if not may_be_missing and len(names) != 4:
            return f"only {names} is there"
        for name in names:
            data = (self.opts.folder / name).read_bytes()
            if name == "x.html" and not data.rstrip().endswith(b"</html>"):
                return "x.html is cut"
            if name == "x.pb.gz":
                made = subprocess.run([self.opts.bpfprof, "report", "--stdio", self.opts.folder / name], capture_output=True, check=False)
                if made.returncode:
                    return f"x.pb.gz cannot be read: {made.stderr}"
            # Nothing sampled is an empty file.
            if name in ("x.folded", "x.json") and data and not data.endswith(b"\n"):
                return f"{name} is cut"
        return ""


def wait_until(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


failed = False


def case(name, wrong):
    global failed
    print(f"not ok - {name}\n#   {wrong}" if wrong else f"ok - {name}", flush=True)
    failed |= bool(wrong)


def leftovers(recording, target, before, may_be_missing):
    left = still_there(before)
    if left:
        return f"in the kernel: {sorted(left, key=str)[:8]}"
    # Programs may be gone before the probe that ran them.
    if not wait_until(lambda: target.code() == target.clean, GONE_WITHIN_S):
        return f"the code of the target is {target.code().hex()}, was {target.clean.hex()}"
    return recording.wrong_files(may_be_missing)


def ended(opts, target, mode, sent, before):
    """One recording that @sent (None: nobody) ends while it samples. What is wrong, or nothing."""
    recording = Recording(opts, target, mode)
    loaded = wait_until(lambda: kernel_objects() - before)
    if sent:
        time.sleep(0.3)
        recording.process.send_signal(sent)
    status, said = recording.end()
    whole = sent in (None, signal.SIGINT, signal.SIGTERM)
    if not loaded:
        return f"nothing of it was seen in the kernel, so that nothing is shown: {said}"
    if status != (0 if whole else -sent) and not (whole and status == 4):
        return f"status {status}: {said}"
    return leftovers(recording, target, before, not whole)


def kill_anywhere(opts, target, modes, draw):
    """SIGKILL at moments of the whole life of a recording, its start and its end included."""
    lasts = {}
    before = kernel_objects()
    for name, mode in modes.items():
        recording = Recording(opts, target, mode)
        recording.end()
        lasts[name] = time.monotonic() - recording.begun
    met = 0
    for nth in range(KILLS):
        name = list(modes)[nth % len(modes)]
        moment = draw.uniform(0, lasts[name])
        recording = Recording(opts, target, modes[name])
        time.sleep(max(0, recording.begun + moment - time.monotonic()))
        met += bool(kernel_objects() - before)
        recording.process.kill()
        recording.end()
        wrong = leftovers(recording, target, before, True)
        if wrong:
            return f"kill {nth} at {moment:.3f} s of {lasts[name]:.3f} s ({name}): {wrong}"
    print(f"# {met} of {KILLS} found something of ours in the kernel")
    return "" if met else "no recording had anything in the kernel when it was killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("bpfprof")
    parser.add_argument("target")
    parser.add_argument("function")
    parser.add_argument("folder", type=pathlib.Path)
    opts = parser.parse_args()
    print(f"# seed {opts.seed}")
    target = Target(opts.target, opts.function)
    modes = {
        "CPU time": ["-a", "-F", "499"],
        "waits": ["--wall", "-F", "199"],
        "a probe": ["-e", f"uprobe:{target.path}:{opts.function}", "-p", str(target.process.pid)],
        "allocations": ["--heap", "-p", str(target.process.pid)],
    }
    try:
        probing = Recording(opts, target, modes["a probe"])
        seen = wait_until(target.is_probed)
        probing.end()
        case("while a function is probed, its code says so", "" if seen else "no breakpoint was seen")
        before = kernel_objects()
        for name, mode in modes.items():
            for sent in (None, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
                case(f"{name}, ended by {sent.name if sent else 'its time'}: nothing is left", ended(opts, target, mode, sent, before))
        case(f"SIGKILL at {KILLS} moments: nothing is left", kill_anywhere(opts, target, modes, random.Random(opts.seed)))
    finally:
        target.process.kill()
        target.process.wait()
    sys.exit(failed)


main()
