# SPDX-License-Identifier: Apache-2.0
"""The two vehicles of tests/bench/fleet_bars.py: a ClickHouse server, and today's engine behind the same interface."""
import os
import time
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT_S = 3600
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """One that is reached by HTTP on this machine, as process `pid`."""

    def __init__(self, port, pid):
        self.port, self.pid = port, pid

    def url(self, database):
        """Of a database, for bpfprof."""
        return f"clickhouse://127.0.0.1:{self.port}/{database}"

    def http_url(self, database, sql):
        """That answers a question, for another server."""
        return f"http://127.0.0.1:{self.port}/?" + urllib.parse.urlencode({"database": database, "query": sql})

    def sql(self, text, database="fleet"):
        """Its answer, as text."""
        url = f"http://127.0.0.1:{self.port}/?database={database}"
        try:
            with urllib.request.urlopen(url, text.encode(), timeout=TIMEOUT_S) as answer:
                return answer.read().decode().rstrip("\n")
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{error.read().decode()[:500]}: {text[:500]}") from error

    def row(self, text, database="fleet"):
        return self.sql(text, database).split("\t")

    def cpu_s(self):
        """User + system CPU time of its process so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def settle(self):
        """Wait until nothing has been merged for two seconds."""
        quiet = 0
        while quiet < 8:
            time.sleep(0.25)
            quiet = quiet + 1 if self.sql("SELECT count() FROM system.merges", "default") == "0" else 0

    def merge(self, table, database="fleet"):
        """One part of each day, as it is after a while. The rows and bytes on disk."""
        where = f"active AND database = '{database}' AND table = '{table}'"
        parts = f"SELECT max(c) FROM (SELECT count() AS c FROM system.parts WHERE {where} GROUP BY partition) AS p"
        for _ in range(2400):
            self.sql(f"OPTIMIZE TABLE {table} FINAL", database)
            if self.sql(parts) in ("0", "1"):
                break
            time.sleep(0.5)
        else:
            raise RuntimeError(f"{table} stays in several parts")
        rows, size = self.row(f"SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE {where}")
        return int(rows), int(size)


class Engine(Server):
    """tests/readers/chdb_server.js, with its log of queries."""

    def __init__(self, port, pid, log):
        super().__init__(port, pid)
        self.log = log

    def mark(self):
        """For queries_since()."""
        return os.path.getsize(self.log)

    def queries_since(self, mark):
        """(milliseconds in the engine, of CPU time in all of its threads, SQL) of each query since."""
        with open(self.log, encoding="utf-8") as file:
            file.seek(mark)
            lines = [line.rstrip("\n").split("\t", 2) for line in file]
        return [(float(ms), float(cpu_ms), text) for ms, cpu_ms, text in lines if not text.startswith("USE ")]
