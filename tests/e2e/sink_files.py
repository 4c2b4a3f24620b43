# SPDX-License-Identifier: Apache-2.0
"""sink_files.py FOLDER: checks each file of a sink of files, and prints its sums: 'SERVICE TYPE/UNIT SUM' a line."""
import collections
import pathlib
import re
import sys
import urllib.parse

from sink_wire import Pprof, need

NAME = re.compile(r"20261120T12\d{4}Z-alpha-[0-9a-f]{8}-\d+\.pb\.gz")
sums = collections.Counter()
last = None
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*/*")):
    if path.parent.parent.name.startswith("("):
        continue
    service, kind = path.parent.parent.name, path.parent.name
    profile = Pprof(path.read_bytes())
    need(NAME.fullmatch(path.name), f"the name {path.name}")
    need(last is None or last[0] != path.parent or last[1] < profile.time_nanos, "names do not sort by time")
    last = (path.parent, profile.time_nanos)
    need(kind == ("cpu" if "cpu/nanoseconds" in profile.types else "off-cpu"), f"{profile.types} in {kind}")
    for _, labels in profile.samples:
        need(labels["service"] == urllib.parse.unquote(service), f"{labels['service']} in {service}")
        need(labels["host"] == "alpha" and labels["comm"].startswith("thread-"), f"labels {labels}")
    for value_type, amount in profile.sums().items():
        sums[f"{labels['service']} {value_type}"] += amount
print("\n".join(f"{key} {amount}" for key, amount in sorted(sums.items())))
