# SPDX-License-Identifier: Apache-2.0
"""sink_truth.py BPFPROF STORE: sums of what fleet_store has added, as the store's own reader tells
them: 'SERVICE TYPE/UNIT SUM' a line."""
import json
import subprocess
import sys

VALUES = {"cpu": ["samples", "cpu"], "off-cpu": ["waits", "blocked", "runnable", "balance", "off_cpu"]}
lines = []
for kind, values in VALUES.items():
    for value in values:
        command = [sys.argv[1], "query", "top", "--store", sys.argv[2], "--kind", kind, "--value", value, "--by",
                   "service", "--format", "json", "--since", "2026-11-20T12:00:00Z", "--until", "2026-11-21T00:00:00Z"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for row in answer["rows"]:
            lines.append(f"{row['service']} {value}/{answer['unit']} {row['total']}")
print("\n".join(sorted(lines)))
