# SPDX-License-Identifier: Apache-2.0
"""One recording by each tool, and what it cost. Every function of TOOLS takes a Context and returns figures."""
import glob
import json
import os
import re
import shutil
import subprocess
import threading
import time

FREQ_HZ = 99
BPFTRACE_PROGRAM = "profile:hz:%d { @[kstack, ustack, comm] = count(); }" % FREQ_HZ
PIN = "/sys/fs/bpf/bpfprof-bench-%d"

# A stack's bottom, judged by name. Where a program was stripped of its _start, the C library's function above it
# tells as much; hence the two root-most frames are looked at.
BOTTOM = re.compile(
    r"(_start|__libc_start_main.*|__libc_start_call_main|_?_?clone3?|start_thread|thread_start|runtime\.goexit.*"
    r"|ret_from_fork.*|kthread|secondary_startup.*|cpu_startup_entry|rest_init|start_kernel)$")
# The kernel's own entries: with one of them at the bottom there is no user stack (exec, exit), which is nobody's fault.
KERNEL_ENTRY = re.compile(r"(entry_SYSCALL.*|asm_.*|el0t?_.*|syscall_return.*|irqentry_.*|error_entry|paranoid_entry)$")


class Context:
    """Where a run works and for how long; the files it leaves are what it wrote."""

    def __init__(self, top, build, folder, seconds):
        self.top, self.build, self.folder, self.seconds = top, build, folder, seconds
        self.bpfprof = f"{build}/bpfprof"
        self.collapse = f"{top}/tests/bench/collapse"
        self.rusages = []
        # Beside the folder: what only measures is not counted as written.
        self.end_file = f"{folder}.end"
        self.span = f"{folder}.span"
        with open(self.span, "w") as file:
            file.write(f"sleep {seconds}\ndate +%s.%N >{self.end_file}\n")

    def path(self, name):
        return f"{self.folder}/{name}"

    def run(self, *command, **kwargs):
        """Run a command to its end, and meter it."""
        usage = f"{self.folder}.usage"
        subprocess.run([f"{self.build}/tests/bench/meter", usage, *command], check=True, stdin=subprocess.DEVNULL, **kwargs)
        user, system, rss_kb, _ = (float(part) for part in open(usage).read().split())
        self.rusages.append((user + system, rss_kb * 1024))

    def figures(self, lost, bpf_ns=None):
        """Call it as soon as the SVG is there."""
        graph_s = time.time() - float(open(self.end_file).read())
        samples, complete = judge(self.path("x.folded"))
        return {
            "samples": samples,
            "bpf_ns": bpf_ns,
            "cpu_s": sum(cpu for cpu, _ in self.rusages),
            "rss": max(rss for _, rss in self.rusages),
            "written": sum(os.path.getsize(file) for file in glob.glob(self.path("*"))),
            "lost": lost() if callable(lost) else lost,
            "complete": complete,
            "graph_s": graph_s,
        }


def judge(folded):
    """(samples, share of complete stacks) outside of the idle task, which not every tool records."""
    samples = with_stack = complete = 0
    for line in open(folded, errors="replace"):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = stack.split(";")
        if frames[0].startswith("swapper"):
            continue
        samples += int(count)
        if len(frames) > 1 and KERNEL_ENTRY.match(frames[1]):
            continue
        with_stack += int(count)
        if any(BOTTOM.match(frame) for frame in frames[1:3]):
            complete += int(count)
    return samples, complete / with_stack if with_stack else None


def bpfprof(context):
    context.run(context.bpfprof, "-q", "-a", "-F", str(FREQ_HZ), "-o", context.path("x.folded"), "-o", context.path("x.svg"),
                "--stats", f"{context.folder}.json", "--", "sh", context.span)
    stats = json.load(open(f"{context.folder}.json"))
    figures = context.figures(sum(stats["events"][0]["lost"].values()), stats["cost"]["bpf_run_ns"] / stats["cost"]["bpf_runs"])
    stacks = stats["stacks"]
    walked = stacks["complete"] + sum(stacks["truncated"].values())
    figures["own_complete"] = stacks["complete"] / walked
    return figures


def draw(context):
    context.run(context.bpfprof, "convert", context.path("x.folded"), "-o", context.path("x.svg"))


def perf_lost(data):
    """Samples that perf itself says it lost: the LOST and LOST_SAMPLES records' numbers."""
    script = subprocess.run(["perf", "script", "--no-inline", "--show-lost-events", "-F", "comm,time", "-i", data],
                            capture_output=True, text=True, errors="replace")
    return sum(int(number) for number in re.findall(r"PERF_RECORD_LOST(?:_SAMPLES)? lost (\d+)", script.stdout))


def perf(context, call_graph):
    data = context.path("perf.data")
    # -B: perf 6.1 can crash when it looks for the build-ids at the end; without them it has less to do.
    context.run("perf", "record", "-q", "-B", "-a", "-F", str(FREQ_HZ), "--call-graph", call_graph, "-o", data, "--", "sh", context.span,
                stderr=subprocess.DEVNULL)
    # Without --no-inline perf script starts addr2line. What bpfprof shows of inlined calls is in its time.
    context.run("bash", "-o", "pipefail", "-c", f"perf script --no-inline -F comm,ip,sym,dso -i {data} 2>/dev/null | {context.collapse} perf >"
                f"{context.path('x.folded')}")
    draw(context)
    return context.figures(lambda: perf_lost(data))


class PinnedProgram:
    """Keeps bpftrace's program, and with it the kernel's account of its runs, until after bpftrace has gone."""

    def __init__(self):
        self.path = PIN % os.getpid()
        self.before = {program["id"] for program in self.list()}
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.is_pinned = False
        self.thread.start()

    @staticmethod
    def list():
        output = subprocess.run([bpftool(), "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout
        return [program for program in json.loads(output) if program["type"] == "perf_event"]

    def wait(self):
        for _ in range(100):
            for program in self.list():
                if program["id"] not in self.before and program.get("name") == str(FREQ_HZ):
                    subprocess.run([bpftool(), "prog", "pin", "id", str(program["id"]), self.path], check=True)
                    self.is_pinned = True
                    return
            time.sleep(0.1)

    def finish(self):
        """(runs, nanoseconds), or None when bpftrace's program was not seen."""
        self.thread.join()
        if not self.is_pinned:
            return None
        try:
            output = subprocess.run([bpftool(), "-j", "prog", "show", "pinned", self.path], capture_output=True, text=True,
                                    check=True).stdout
        finally:
            os.unlink(self.path)
        program = json.loads(output)
        return program["run_cnt"], program["run_time_ns"]


def bpftool():
    return shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin") or "bpftool"


def bpftrace(context):
    program = PinnedProgram()
    with open(context.path("map.txt"), "w") as output:
        context.run("bpftrace", "-e", BPFTRACE_PROGRAM, "-c", f"/bin/sh {context.span}", stdout=output, stderr=subprocess.DEVNULL)
    context.run("sh", "-c", f"{context.collapse} bpftrace <{context.path('map.txt')} >{context.path('x.folded')}")
    draw(context)
    figures = context.figures(0)
    runs = program.finish()
    counted = sum(int(line.rpartition(" ")[2]) for line in open(context.path("x.folded"), errors="replace"))
    figures["lost"] = runs[0] - counted if runs else None
    figures["bpf_ns"] = runs[1] / runs[0] if runs and runs[0] else None
    return figures


TOOLS = {
    "bpfprof": bpfprof,
    "perf record -g": lambda context: perf(context, "fp"),
    "perf record --call-graph dwarf": lambda context: perf(context, "dwarf"),
    "bpftrace": bpftrace,
}
