# SPDX-License-Identifier: Apache-2.0
"""sink_truth.py BPFPROF STORE [HH:MM]: sums of what fleet_store has added, but for that minute, as the store's own
reader tells them: 'SERVICE TYPE/UNIT SUM' a line."""
import collections
import json
import subprocess
import sys

VALUES = {"cpu": ["samples", "cpu"], "off-cpu": ["waits", "blocked", "runnable", "balance", "off_cpu"]}
ALL = ("2026-11-20T12:00:00Z", "2026-11-21T00:00:00Z")


def rows(kind, value, since, until):
    command = [sys.argv[1], "query", "top", "--store", sys.argv[2], "--kind", kind, "--value", value, "--by", "service",
               "--format", "json", "--since", since, "--until", until]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {f"{row['service']} {value}/{answer['unit']}": row["total"] for row in answer["rows"]}


sums = collections.Counter()
for kind, values in VALUES.items():
    for value in values:
        sums.update(rows(kind, value, *ALL))
        if len(sys.argv) > 3:
            sums.subtract(rows(kind, value, f"2026-11-20T{sys.argv[3]}:00Z", f"2026-11-20T{sys.argv[3]}:59Z"))
print("\n".join(f"{key} {amount}" for key, amount in sorted(sums.items())))
