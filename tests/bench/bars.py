# SPDX-License-Identifier: Apache-2.0
"""bpfprof against its own bars: what it promises to cost, measured on a machine whose CPUs are all busy."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from tools import bpftool

# name, unit, bar, what it is
BARS = [
    ("start_ms", "ms", 100, "process start to all events enabled"),
    ("finish_s", "s", 0.3, "end of the recording to the written SVG, caches dropped before"),
    ("cpu_percent", "%", 0.3, "own CPU while recording, capture and BPF together, of the whole machine"),
    ("rss_mib", "MiB", 64, "peak of anonymous memory"),
    ("kernel_mib", "MiB", 32, "kernel memory of maps and programs"),
]

# Whose size is fixed; all the other maps hold something per CPU.
FIXED_MAPS = {"exes", "targets", "ring", "ctl", "cgroups", "barrier"}


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def record(bpfprof, folder, seconds):
    """One recording, its --stats. The caches are dropped two seconds before its end."""
    stats = f"{folder}/bars.json"
    drop = threading.Timer(max(seconds - 2, 0), drop_caches)
    drop.start()
    subprocess.run([bpfprof, "-q", "-a", "-F", "99", "-d", str(seconds), "-o", f"{folder}/bars.svg", "--stats", stats, "--force"],
                   check=True, stdin=subprocess.DEVNULL)
    drop.join()
    with open(stats) as file:
        return json.load(file)


def figures(stats):
    cost, event = stats["cost"], stats["events"][0]
    machine_ns = stats["duration_s"] * 1e9 * len(event["per_cpu"])
    return {
        "start_ms": cost["start_ns"] / 1e6,
        "finish_s": cost["finish_ns"] / 1e9,
        "cpu_percent": 100 * (cost["capture_cpu_ns"] + cost["bpf_run_ns"]) / machine_ns,
        "rss_mib": cost["rss_anon_peak_bytes"] / 2**20,
        "kernel_mib": cost["kernel_bytes"] / 2**20,
    }


def map_name(map_id):
    """A map's name without what libbpf puts before .rodata; "" when it is gone."""
    output = subprocess.run([bpftool(), "-j", "map", "show", "id", map_id], capture_output=True, text=True).stdout
    return json.loads(output or "{}").get("name", "")


def kernel_memory(bpfprof, folder):
    """(fixed bytes, bytes per CPU) of a running recording, added up from the kernel's account of its descriptors."""
    process = subprocess.Popen([bpfprof, "-q", "-a", "-d", "3", "-o", f"{folder}/memory.svg", "--force"], stdin=subprocess.DEVNULL)
    time.sleep(1.5)
    fixed = per_cpu = 0
    seen = set()
    for name in os.listdir(f"/proc/{process.pid}/fdinfo"):
        with open(f"/proc/{process.pid}/fdinfo/{name}") as file:
            info = dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
        map_id = info.get("map_id", "").strip()
        if "memlock" not in info or (map_id and map_id in seen):
            continue
        seen.add(map_id)
        name = map_name(map_id) if map_id else ""
        if not map_id or name in FIXED_MAPS or "." in name:
            fixed += int(info["memlock"])
        else:
            per_cpu += int(info["memlock"])
    process.wait()
    with open("/sys/devices/system/cpu/present") as file:
        cpus = int(file.read().strip().rpartition("-")[2]) + 1
    return fixed, per_cpu / cpus, cpus


def measure(top, build, folder, seconds, runs):
    """{name: [figure of each run]}, and under "memory" (fixed, per CPU, CPUs)."""
    bpfprof = f"{build}/bpfprof"
    work = tempfile.mkdtemp(prefix="bars", dir=folder)
    found = {name: [] for name, *_ in BARS}
    for number in range(1, runs + 1):
        print(f"bench: bars, run {number} of {runs}", file=sys.stderr)
        for name, value in figures(record(bpfprof, work, seconds)).items():
            found[name].append(value)
    found["memory"] = kernel_memory(bpfprof, work)
    return found
