#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a fleet store promises to cost, measured: a simulated fleet of BENCH_HOSTS (50) hosts and BENCH_MINUTES (60), with
BENCH_SERVICES (a tenth of the hosts, 20 at least), of which each host runs ten.

    fleet_bars.py FOLDER PORT PID ENGINE-PORT ENGINE-PID

tests/bench/fleet has started the servers and recorded FOLDER/day.db. Server: Debian's ClickHouse, zstd at level 3. Engine:
today's, in a library (tests/readers/chdb_server.js), filled from the server. Prints a table: figure, measured, bar, whether
it is met, and by what it was measured; and exits with 1 where an answer is not what it must be.
"""
import gzip
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

import fleet_peers
from fleet_servers import Engine, Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../e2e"))
from pprof_values import fields, varint  # noqa: E402 # the path comes first

BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
HOSTS, MINUTES = int(os.environ.get("BENCH_HOSTS", 50)), int(os.environ.get("BENCH_MINUTES", 60))
CPUS = os.cpu_count()
SERVICES = int(os.environ.get("BENCH_SERVICES", max(20, HOSTS // 10)))
PER_HOST = 10
TOGETHER = 250  # hosts of one insert: as a relay has them, half a million rows at most
BURST_ROWS = 20_000_000  # at most
HOST_MINUTE_ROWS = 2000  # about
ALONE_HOSTS, ALONE_MINUTES = 4, 20  # that insert for themselves
ROUNDS = 7
START_S = 1795176000  # 2026-11-20 12:00 UTC
END_S = START_S + -(-MINUTES // 60) * 3600
RANGE = ["--since", str(START_S), "--until", str(END_S)]
# Parts of those that a flame graph is made of: sums, trees, and what may have come twice
QUESTIONS = (" AS svc, ", ", selfs FROM rollup_trees ", "first != last", "FROM system.parts")
TABLES = ["kinds", "hosts", "frames", "stacks", "sources", "samples", "batches"]


class Table:
    """Lines of what was measured."""

    def __init__(self):
        self.lines, self.failed = [], []

    def add(self, what, measured, unit, vehicle, bar=None, at_least=False, digits=2):
        met = ""
        if bar is not None:
            met = "met" if (measured >= bar if at_least else measured <= bar) else "NOT MET"
        text = f"{measured:,.{digits}f} {unit}".rstrip()
        told = "" if bar is None else f"{'>=' if at_least else '<='} {bar:,g}"
        self.lines.append((what, text, told, met, vehicle))
        print(f"  {what}: {text}", file=sys.stderr, flush=True)

    def check(self, what, *answers):
        """That they are all the same."""
        same = bool(answers[0]) and all(answer == answers[0] for answer in answers)
        if not same:
            self.failed.append(what)
            print(f"bench: {what}: {' | '.join(str(answer)[:200] for answer in answers)}", file=sys.stderr)
        self.lines.append((what, "the same" if same else "DIFFERENT", "the same", "met" if same else "NOT MET", ""))

    def print(self):
        lines = [("figure", "measured", "bar", "", "by"), *self.lines]
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        for what, text, told, met, vehicle in lines:
            print(f"{what:<{widths[0]}}  {text:>{widths[1]}}  {told:<{widths[2]}}  {met:<{widths[3]}}  {vehicle}".rstrip())


def run(*command):
    """(stdout, seconds, seconds of CPU time); its messages pass unless they are for nobody."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return text, time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def bpfprof(*arguments):
    return run(f"{BUILD}/bpfprof", *arguments)


def number(text, pattern):
    return float(re.search(pattern, text)[1])


class Bench:
    def __init__(self, folder, server, engine):
        self.folder, self.server, self.engine = folder, server, engine
        self.day = f"{folder}/day.db"
        self.table = Table()
        self.service, self.hosts = "", 0  # that is asked for, and how many run it

    # --- Into the server ---

    def sim(self, database, *arguments):
        return run(f"{BUILD}/fleet-sim", "-q", "--store", self.day, "--to", self.server.url(database), "--at", START_S,
                   "--per-host", PER_HOST, "--services", SERVICES, "--server", self.server.pid, *arguments)[0]

    def fill(self):
        burst = max(1, min(MINUTES // 3, BURST_ROWS // (HOSTS * HOST_MINUTE_ROWS)))
        bpfprof("store", "init", "-q", "--store", self.server.url("fleet"))
        begin = time.perf_counter()
        text = self.sim("fleet", "--hosts", HOSTS, "--minutes", MINUTES, "--together", TOGETHER, "--senders", CPUS,
                        "--burst", burst)
        before = self.server.cpu_s()
        self.server.settle()
        print(text, f"{time.perf_counter() - begin:.0f} s until all is merged that the server wants to merge", sep="",
              file=sys.stderr)
        rows = number(text, r"burst +(\d+) rows")
        sending, packing, serving = map(float, re.search(r"burst.*: ([\d.]+) s .* ([\d.]+) to .* ([\d.]+) of the server",
                                                         text).groups())
        merging = self.server.cpu_s() - before
        cost = (sending + serving + merging) / rows
        sinks = sum(map(float, re.search(r"sinks: ([\d.]+) to fill, ([\d.]+) to send", text).groups()))
        sent = number(text, r"rows +(\d+)") - rows
        self.table.add("ingest", number(text, r"burst .*\((\d+)/s\)"), "rows/s", digits=0, bar=500_000, at_least=True, vehicle=(
            f"server, {rows:,.0f} rows of {burst} min over {CPUS} connections as fast as they are taken; per row "
            f"{1e6 * serving / rows:.2f} us CPU of server, {1e6 * sending / rows:.2f} of sender "
            f"({1e6 * packing / rows:.2f} before, to compress)"))
        self.table.add("... with all merges after it", CPUS / cost, "rows/s", digits=0, bar=500_000, at_least=True, vehicle=(
            f"server: {CPUS} CPUs / ({1e6 * cost:.2f} us CPU a row, the sender's {1e6 * sending / rows:.2f} included)"))
        self.table.add("sinks' CPU time", 1e6 * sinks / sent, "us/row", "fleet-sim: to fill, compress and send")
        self.table.add("relay to server, samples and ledger", number(text, r"later +(\d+) bytes") -
                       number(text, r"later .* (\d+) of them"), "B/host/min", f"fleet-sim, up to {TOGETHER} hosts in an insert",
                       digits=0)

    def ship(self):
        """One host, as its agent's sink does it."""
        bpfprof("store", "init", "-q", "--store", self.server.url("agent"))
        _, _, cpu_s = bpfprof("store", "ship", "-q", "--store", self.day, "--to", self.server.url("agent"))
        minutes = int(self.server.sql("SELECT intDiv(sum(covered_ns), 60000000000) FROM batches FINAL WHERE kind = 0", "agent"))
        self.table.add("shipping, of the host's CPU time", 100 * cpu_s / (minutes * 60 * CPUS), "%", bar=0.1, digits=4,
                       vehicle=f"bpfprof store ship: {minutes} min in {cpu_s:.2f} s CPU, the dictionary included; {CPUS} CPUs")
        minutes = min(MINUTES, ALONE_MINUTES)
        bpfprof("store", "init", "-q", "--store", self.server.url("alone"))
        text = self.sim("alone", "--hosts", ALONE_HOSTS, "--minutes", minutes)
        dictionary = number(text, r"later .* (\d+) of them")
        self.table.add("on the wire in steady state", (number(text, r"later +(\d+) bytes") - dictionary) / 1000, "kB/host/min",
                       bar=40, digits=1, vehicle=(
            f"fleet-sim, each host for itself: samples and ledger; new stacks beside it {dictionary / 1000:.1f} kB, "
            f"the first minute {number(text, r'first +([0-9]+) bytes') / 1000:.0f} kB"))
        for database in ("agent", "alone"):
            self.server.sql(f"DROP DATABASE {database}", "default")

    def measure_disk(self):
        rows, size = self.server.merge("samples")
        self.table.add("samples on disk", size / rows, "B/row", bar=2.4, vehicle=f"server, zstd 3, {rows:,} rows")
        columns = self.server.sql(f"SELECT concat(name, ' ', toString(round(data_compressed_bytes / {rows}, 2))) FROM "
                                  "system.columns WHERE database = 'fleet' AND table = 'samples' AND "
                                  f"data_compressed_bytes > {rows} / 100 ORDER BY data_compressed_bytes DESC")
        print("  " + ", ".join(columns.split("\n")), file=sys.stderr)
        self.service, hosts = self.server.row("SELECT toString(service), uniqExact(host) AS c FROM sources GROUP BY service "
                                              "ORDER BY abs(toInt64(c) - 100), service LIMIT 1")
        self.hosts = int(hosts)

    # --- Into the engine ---

    def copy(self):
        begin = time.perf_counter()
        bpfprof("store", "init", "-q", "--store", self.engine.url("fleet"))
        for table in TABLES:
            columns = self.engine.sql("SELECT name FROM system.columns WHERE database = 'fleet' AND "
                                      f"table = '{table}' AND default_kind = '' ORDER BY position").split("\n")
            structure = self.engine.sql("SELECT concat(name, ' ', replaceAll(type, 'LowCardinality(String)', 'String')) FROM "
                                        f"system.columns WHERE database = 'fleet' AND table = '{table}' AND default_kind = '' "
                                        "ORDER BY position")
            plain = [f"toString({name}) AS {name}" if name in ("service", "version") else name for name in columns]
            # Samples are merged: each is there once.
            final = "" if table == "samples" else "FINAL"
            url = self.server.http_url("fleet", f"SELECT {', '.join(plain)} FROM {table} {final} FORMAT Native")
            types = structure.replace("\n", ", ").replace("\\'", "'").replace("'", "\\'")
            self.engine.sql(f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM url('{url}', 'Native', '{types}')")
        rows, size = self.engine.merge("samples")
        print(f"  copied and merged in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        self.table.add("samples on disk", size / rows, "B/row", bar=2.2, vehicle=f"engine, its codecs, {rows:,} rows")
        of = "SELECT count(), sum(n), sum(v1 + n * unit), uniqExact(stack) FROM samples"
        self.table.check("rows, samples, nanoseconds, stacks of server and engine", self.server.sql(of), self.engine.sql(of))

    # --- Questions ---

    def query(self, vehicle, what, output, *arguments):
        path = f"{self.folder}/{output}"
        _, seconds, cpu_s = bpfprof("query", what, "-q", "--store", vehicle.url("fleet"), *RANGE, *arguments, "-o", path,
                                    "--force")
        return path, 1000 * seconds, cpu_s

    def picture(self, what, output, *arguments):
        """A whole process, from its start to the written picture; each is a new one, which knows nothing."""
        times, before = [], self.server.cpu_s()
        for _ in range(ROUNDS):
            times.append(self.query(self.server, "flame", output, *arguments))
        server_s = (self.server.cpu_s() - before) / ROUNDS
        self.table.add(what, statistics.median(ms for _, ms, _ in times), "ms", bar=300, digits=0, vehicle=(
            f"server, bpfprof query flame -o {output}; CPU {1000 * statistics.median(cpu_s for _, _, cpu_s in times):.0f} ms, "
            f"the server's {1000 * server_s:.0f}"))

    def served(self, select="", is_picture=False):
        """Milliseconds until `bpfprof serve`, which runs and was asked before, has answered with the report of the range;
        or with what a browser draws its first picture of."""
        command = [f"{BUILD}/bpfprof", "serve", "--store", self.server.url("fleet"), "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
            base = process.stderr.readline().split(" at ")[1].strip()
            url = f"{base}api/profile?kind=cpu&format=html&by=service&from={START_S}&to={END_S}{select}"
            request = urllib.request.Request(url, headers={"Sec-Fetch-Mode": "navigate"} if is_picture else {})
            times = []
            try:
                for _ in range(ROUNDS + 1):
                    begin = time.perf_counter()
                    with urllib.request.urlopen(request) as answer:
                        line = answer.readline() if is_picture else answer.read()
                        while is_picture and line and b"drawFirst();</script>" not in line:
                            line = answer.readline()
                        times.append(1000 * (time.perf_counter() - begin))
                        answer.read()
            finally:
                process.terminate()
        return statistics.median(times[1:])

    def folded(self, vehicle, *arguments):
        with open(self.query(vehicle, "flame", "answer.folded", "--by", "service", *arguments)[0], encoding="utf-8") as file:
            return sorted(file)

    def check_one(self, *arguments):
        """Each stack of the service, and all of their values, is in its profile."""
        with gzip.open(self.query(self.server, "flame", "answer.pb.gz", "--by", "service", *arguments)[0]) as file:
            samples = [value for key, value in fields(file.read()) if key == 2]
        stacks, sums = set(), [0, 0]
        for sample in samples:
            parts = {}
            for key, value in fields(sample):
                parts.setdefault(key, value)
                if len(parts) == 2:
                    break
            stacks.add(parts[1])
            count, at = varint(parts[2], 0)
            sums[0] += count
            sums[1] += varint(parts[2], at)[0]
        told = self.server.row("SELECT uniqExact(stack), sum(n), sum(v1 + n * unit) FROM samples FINAL WHERE "
                               f"service = '{self.service}'")
        self.table.check("one service, nothing truncated: stacks, samples, nanoseconds", [len(stacks), *sums],
                         list(map(int, told)))

    def check_all(self):
        """Each stack of all services is in the roll-up, and all that it adds up to in the answer."""
        stored = self.server.row("SELECT uniqExact(service, stack), sum(n), sum(v1 + n * unit) FROM samples FINAL")
        rolled = self.server.row("SELECT uniqExact(service, stack), sum(n), sum(v1) FROM rollup_1h FINAL")
        text = bpfprof("query", "top", "-q", "--store", self.server.url("fleet"), *RANGE, "--by", "service",
                       "--format", "json")[0]
        self.table.check("the whole fleet, nothing truncated: stacks, samples, nanoseconds", stored, rolled)
        self.table.check("... the answer's nanoseconds", json.loads(text)["total"], int(stored[2]))

    def ask_engine(self, what, bar, *arguments):
        """A flame graph in the engine: the one question for samples, sums or trees, and all of it; hot."""
        ones, ones_cpu, alls, wholes = [], [], [], []
        self.query(self.engine, "flame", "engine.svg", *arguments)
        for _ in range(ROUNDS):
            mark = self.engine.mark()
            wholes.append(self.query(self.engine, "flame", "engine.svg", *arguments)[1])
            queries = self.engine.queries_since(mark)
            asked = [(ms, cpu_ms) for ms, cpu_ms, text in queries if any(part in text for part in QUESTIONS)]
            if not asked:
                sys.exit(f"bench: {what}: neither sums nor trees were asked for")
            ones.append(sum(ms for ms, _ in asked))
            ones_cpu.append(sum(cpu_ms for _, cpu_ms in asked))
            alls.append(sum(ms for ms, _, _ in queries))
        question, cpu, questions, picture = map(statistics.median, (ones, ones_cpu, alls, wholes))
        self.table.add(what, question, "ms", bar=bar, digits=1, vehicle=(
            f"engine: CPU {cpu:.0f} ms; all questions of the flame graph {questions:.0f} ms, the picture {picture:.0f} ms"))

    def ask_samples(self):
        one = ["--select", f"service={self.service}"]
        rows = self.server.sql(f"SELECT count() FROM samples WHERE service = '{self.service}'")
        print(f"  {self.service}: {self.hosts} hosts, {rows} rows", file=sys.stderr)
        self.ask_engine(f"one service on {self.hosts} hosts, SQL", 50, *one)
        self.picture("... to the flame graph", "one.svg", *one)
        self.picture("... as a page", "one.html", *one)
        self.table.add("... served", self.served(f"&select=service={self.service}"), "ms", bar=300, digits=0,
                       vehicle="server, bpfprof serve, which knows the stacks from the question before: .html")
        self.table.check("one service of server and engine", self.folded(self.server, *one), self.folded(self.engine, *one))
        self.check_one(*one)
        return self.folded(self.server, *one), self.top()

    def top(self):
        return bpfprof("query", "top", "-q", "--store", self.server.url("fleet"), *RANGE, "--limit", 100000)[0]

    def ask_rollups(self, of_samples):
        one = ["--select", f"service={self.service}"]
        _, seconds, _ = bpfprof("store", "rollup", "-q", "--store", self.server.url("fleet"))
        rows, size = self.server.merge("rollup_1h")
        self.table.add("roll-ups of hours on disk", size / 1e6, "MB", f"server, {rows:,} rows, made in {seconds:.1f} s")
        self.picture("whole fleet from roll-ups", "all.svg")
        self.picture("... as a page", "all.html")
        self.table.add("... served", self.served(), "ms", bar=300, digits=0,
                       vehicle="server, bpfprof serve, which knows the stacks: .html")
        self.table.add("... its first picture", self.served(is_picture=True), "ms", bar=300, digits=0,
                       vehicle="server, bpfprof serve, which knows the names: .html as far as a browser draws of it")
        self.picture("one service from roll-ups", "one.svg", *one)
        self.table.check("of samples and of roll-ups", of_samples, (self.folded(self.server, *one), self.top()))
        self.check_all()
        bpfprof("store", "rollup", "-q", "--store", self.engine.url("fleet"))
        self.ask_engine("one service from roll-ups, SQL", 50, *one)
        self.ask_engine("whole fleet from roll-ups, SQL", None)

    def ask_peers(self):
        words = {"service": self.service, "from_s": START_S, "to_s": END_S}
        answers = []
        for name in ("bpfprof", *fleet_peers.PEERS):
            layout = fleet_peers.Layout(name, self.engine, words)
            layout.fill()
            rows, samples, size = layout.sizes()
            self.table.add(f"layout of {name}, samples", samples / rows, "B/row", vehicle=(
                f"engine, {rows:,} rows of {self.service} alone; with its dictionary {size / rows:.2f} B/row"))
            took, cpu = layout.ask_ms(ROUNDS)
            self.table.add("... one service, SQL", took, "ms", f"engine: sums by stack, hot; CPU {cpu:.0f} ms", digits=1)
            answers.append(layout.answer())
        self.table.check("of the three layouts", *answers)


def main():
    folder, port, pid, engine_port, engine_pid = sys.argv[1:]
    if MINUTES < 3:
        sys.exit("bench: BENCH_MINUTES has to be 3 at least")
    engine = Engine(int(engine_port), int(engine_pid), f"{folder}/engine.log")
    bench = Bench(folder, Server(int(port), int(pid)), engine)
    # What runs beside it ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.perf_counter()
    bench.fill()
    bench.ship()
    bench.measure_disk()
    bench.copy()
    bench.ask_rollups(bench.ask_samples())
    bench.ask_peers()
    print(f"\n{HOSTS} hosts, {MINUTES} minutes, {CPUS} CPUs, in {(time.perf_counter() - begin) / 60:.1f} min")
    bench.table.print()
    sys.exit(1 if bench.table.failed else 0)


if __name__ == "__main__":
    main()
