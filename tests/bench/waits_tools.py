# SPDX-License-Identifier: Apache-2.0
"""The contestants of tests/bench/waits: how each records the waits of all CPUs while a command runs, and what it says
of it. A run returns figures, all of them optional: frames (of the user part, median), complete (share), lost, balanced,
kernel, rss, written (bytes)."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import time

COMM = "handover"
PERF_LINES = 200000  # of perf script's: enough of a stack that is always the same

# At the switch away, in the context of who leaves: the usual shape.
BPFTRACE = """tracepoint:sched:sched_switch {
	@start[tid] = nsecs; @kernel[tid] = kstack;%s
	$from = @start[args->next_pid];
	if ($from) {
		@[@kernel[args->next_pid],%s args->next_comm] = sum(nsecs - $from);
		delete(@start[args->next_pid]);
	}
} END { clear(@start); clear(@kernel);%s }"""
BPFTRACE_KERNEL = BPFTRACE % ("", "", "")
BPFTRACE_BOTH = BPFTRACE % (" @user[tid] = ustack;", " @user[args->next_pid],", " clear(@user);")

Place = collections.namedtuple("Place", "build folder switch_cpu tool_cpu")


def frames_of(depth):
    """The user frames of handover's stacks: the functions, read or write, main, and what starts a process."""
    return depth + 2 + len(("_start", "__libc_start_main", "__libc_start_call_main"))


def weighted_median(values):
    """Of {value: weight}; None of nothing."""
    below, half = 0, sum(values.values()) / 2
    for value in sorted(values):
        below += values[value]
        if below >= half:
            return value
    return None


class Tool:
    """A program that runs a command. One in whose figures nothing is to be seen."""

    needs, is_peer = None, False

    def __init__(self, name, words):
        self.name, self.words = name, words

    def argv(self, folder, command):
        return self.words + command

    def inspect(self, place, folder):
        return {}

    def run(self, place, folder, command):
        usage = f"{folder}/usage"
        argv = ["taskset", "-c", str(place.tool_cpu), f"{place.build}/tests/bench/meter", usage, *self.argv(folder, command)]
        with open(f"{folder}/out", "w") as out:
            subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        figures = self.inspect(place, folder)
        if figures:
            figures["rss"] = int(open(usage).read().split()[2]) * 1024
        return figures


class Bpfprof(Tool):
    def argv(self, folder, command):
        return [*self.words, "-q", "-a", "--no-inline", "--annotate", "-o", f"{folder}/x.folded", "--stats", f"{folder}/x.json", "--", *command]

    @staticmethod
    def frames(folded):
        """The median of user frames, by time; a waker's are not the thread's."""
        found = collections.Counter()
        for line in open(folded, errors="replace"):
            stack, _, value = line.rstrip("\n").rpartition(" ")
            frames = stack.partition(";--")[0].split(";")
            if frames[0].startswith(COMM):
                found[sum(not re.search(r"_\[[ki]\]$|^\[", frame) for frame in frames[1:])] += int(value)
        return weighted_median(found)

    def inspect(self, place, folder):
        with open(f"{folder}/x.json") as file:
            stats = json.load(file)
        stacks, cost = stats["stacks"], stats["cost"]
        walked = stacks["complete"] + sum(stacks["truncated"].values())
        check = subprocess.run([f"{place.build}/tests/bench/check_stats", f"{folder}/x.json"], capture_output=True)
        return {
            "frames": self.frames(f"{folder}/x.folded"),
            "complete": None if "-K" in self.words else stacks["complete"] / walked,
            "lost": sum(stats["events"][0]["lost"].values()),
            "balanced": check.returncode == 0,
            "kernel": cost["kernel_bytes"],
            "written": os.path.getsize(f"{folder}/x.folded"),
        }


class Bpftrace(Tool):
    needs = "bpftrace"

    def __init__(self, name, has_user_stacks):
        super().__init__(name, [])
        self.is_peer = has_user_stacks
        self.program = BPFTRACE_BOTH if has_user_stacks else BPFTRACE_KERNEL

    def argv(self, folder, command):
        return ["bpftrace", "-e", self.program, "-c", " ".join(command)]

    def inspect(self, place, folder):
        """"@[", kernel frames, ", ", user frames, ", COMM]: NS"."""
        found, parts = collections.Counter(), [0]
        for line in open(f"{folder}/out", errors="replace"):
            end = re.match(r"(?:, )+(.*)\]: (\d+)$", line)
            if line.startswith("@["):
                parts = [0]
            elif end and end.group(1) == COMM:
                found[parts[1] if len(parts) > 1 else 0] += int(end.group(2))
            elif line.strip() == ",":
                parts.append(0)
            else:
                parts[-1] += 1
        return {"frames": weighted_median(found), "written": os.path.getsize(f"{folder}/out")}


class Offcputime(Tool):
    """Runs no command: the command runs beside it."""

    needs, is_peer = "offcputime", True
    ATTACHED_S = 1.5  # it does not say when it is

    def __init__(self, name):
        super().__init__(name, [])

    def run(self, place, folder, command):
        with open(f"{folder}/out", "w") as out:
            process = subprocess.Popen(["taskset", "-c", str(place.tool_cpu), shutil.which(self.needs)], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.DEVNULL)
            try:
                time.sleep(self.ATTACHED_S)
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait()
        return {"written": os.path.getsize(f"{folder}/out")}


class Perf(Tool):
    needs, is_peer = "perf", True

    def __init__(self, name):
        super().__init__(name, [])

    def argv(self, folder, command):
        # -B: perf 6.1 can crash when it looks for the build-ids at the end.
        return ["perf", "record", "-q", "-B", "-e", "sched:sched_switch", "-a", "-g", "-o", f"{folder}/perf.data", "--", *command]

    @staticmethod
    def frames(data):
        """The median of user frames; perf's end of a chain, address 0, is none."""
        script = subprocess.Popen(["perf", "script", "--no-inline", "--comms", COMM, "-F", "comm,ip", "-i", data], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found, cnt = collections.Counter(), None
        for line_nr, line in enumerate(script.stdout):
            if line_nr == PERF_LINES:
                break
            if line.startswith("\t"):
                cnt += 0 < int(line, 16) < 1 << 63
            elif line.strip():
                cnt = 0
            elif cnt is not None:
                found[cnt] += 1
                cnt = None
        script.kill()
        script.wait()
        return weighted_median(found)

    @staticmethod
    def lost(data):
        """What its LOST and LOST_SAMPLES records say."""
        script = subprocess.run(["perf", "script", "--no-inline", "--show-lost-events", "--comms", "perf", "-F", "comm,time", "-i", data],
                                capture_output=True, text=True, errors="replace")
        return sum(int(value) for value in re.findall(r"PERF_RECORD_LOST(?:_SAMPLES)? lost (\d+)", script.stdout))

    def inspect(self, place, folder):
        data = f"{folder}/perf.data"
        return {"frames": self.frames(data), "lost": self.lost(data), "written": os.path.getsize(data)}
