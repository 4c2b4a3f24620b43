# SPDX-License-Identifier: Apache-2.0
"""The benchmark's tables, in Markdown."""
import os
import platform
import statistics
import subprocess

import bars as own_bars

KIB, MIB = 2**10, 2**20


def number(value, digits=0, unit=""):
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


# row, key of the figure, how it is shown
ROWS = [
    ("BPF time per sample", "bpf_ns", lambda value: number(value and value / 1e3, 2, " µs")),
    ("CPU seconds of the tool, to the flame graph", "cpu_s", lambda value: number(value, 2)),
    ("peak memory (RSS)", "rss", lambda value: number(value / MIB, 1, " MiB")),
    ("bytes written", "written", lambda value: number(value / KIB, 0, " KiB")),
    ("samples (without the idle task)", "samples", number),
    ("samples lost", "lost", number),
    ("stacks that reach their bottom", "complete", lambda value: number(value and 100 * value, 1, " %")),
    ("... by bpfprof's own ledger", "own_complete", lambda value: number(value and 100 * value, 1, " %")),
    ("end of recording to the flame graph", "graph_s", lambda value: number(value, 2, " s")),
]

NOTES = """
CPU time and memory are getrusage(2)'s, of every process that the tool needs until there is an SVG: `perf record -B`,
`perf script --no-inline` and tests/bench/collapse, a small Python script; bpftrace and the same script; both drawn by
`bpfprof convert`. BPF time is the kernel's account (kernel.bpf_stats_enabled) and runs in the sampled programs' time; perf
samples without BPF and has no such account. Lost: bpfprof's own ledger; what perf reports; runs of bpftrace's program
less what its map holds. The bottom is judged by name, alike for all: `_start`, `__libc_start_main`, a thread's start or
a kernel thread's entry among the two root-most frames; stacks that have no user part (exec, exit) are left out.
"""


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def table(rows):
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" + "---:|" * (len(rows[0]) - 1))
    for row in rows[1:]:
        print("| " + " | ".join(row) + " |")


def cpu_model():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def version(*command):
    output = subprocess.run(command, capture_output=True, text=True)
    lines = (output.stdout or output.stderr).strip().splitlines()
    return lines[0] if lines else command[0]


def machine(runs, seconds, bar_seconds):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print(f"Machine: {os.cpu_count()} CPUs ({cpu_model()}), {memory:.1f} GiB; Linux {platform.release()}; "
          f"{version('perf', '--version')}, {version('bpftrace', '--version')}.")
    print("Load: on each CPU gcc on generated files with shell loops, python3, and openssl speed where it is there; "
          f"load average now {os.getloadavg()[0]:.1f}.")
    print(f"Medians of {runs} interleaved runs of {seconds} s at 99 Hz on all CPUs; the bars below: {bar_seconds} s each.\n")


def comparison(figures):
    rows = [[""] + list(figures)]
    for title, key, show in ROWS:
        cells = [median([run.get(key) for run in runs]) for runs in figures.values()]
        rows.append([title] + ["-" if cell is None else show(cell) for cell in cells])
    table(rows)
    print(NOTES)


def bars(found):
    rows = [["bpfprof's own bars", "measured", "worst run", "bar", ""]]
    for name, unit, bar, what in own_bars.BARS:
        value = median(found[name])
        rows.append([what, f"{value:.3g} {unit}", f"{max(found[name]):.3g} {unit}", f"{bar} {unit}",
                     "kept" if value <= bar else "MISSED"])
    table(rows)
    fixed, per_cpu, cpus = found["memory"]
    print(f"\nKernel memory: {fixed / MIB:.2f} MiB + {per_cpu / MIB:.2f} MiB x {cpus} CPUs.")
