# SPDX-License-Identifier: Apache-2.0
"""A PushRequest of Pyroscope (push.v1), by its distributor's default limits."""
import re

from sink_wire import Message, Pprof, need

PUSH = {1: ("series", "m*")}
SERIES = {1: ("labels", "m*"), 2: ("samples", "m*"), 3: ("annotations", "m*")}
PAIR = {1: ("name", "s"), 2: ("value", "s")}
RAW = {1: ("raw_profile", "b"), 2: ("id", "s")}
NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
KINDS = {"process_cpu": "cpu/nanoseconds", "off_cpu": "/"}


def read_push(body):
    """(key, content, sums) of each profile."""
    series_list = [Message(data, SERIES) for data in Message(body, PUSH).series]
    need(series_list, "no series")
    for series in series_list:
        labels = {}
        for pair in (Message(data, PAIR) for data in series.labels):
            need(NAME.fullmatch(pair.name) and len(pair.name) <= 1024, f"label name {pair.name}")
            need(0 < len(pair.value) <= 2048, f"value of {pair.name}")
            need(pair.name not in labels, f"two labels {pair.name}")
            labels[pair.name] = pair.value
        need(len(labels) <= 30, f"{len(labels)} labels")
        need({"__name__", "service_name", "host"} <= set(labels), f"labels {sorted(labels)}")
        need(len(series.samples) == 1, "more than one profile in a series")
        raw = Message(series.samples[0], RAW).raw_profile
        need(raw[:2] == b"\x1f\x8b", "a profile is not compressed")
        profile = Pprof(raw)
        need(profile.size <= 4 << 20, f"a profile of {profile.size} bytes")
        need(0 < len(profile.samples) <= 16000, f"{len(profile.samples)} samples")
        need(not any(labels for _, labels in profile.samples), "samples with labels become series")
        need(KINDS.get(labels["__name__"], "/") == profile.period_type, f"{labels} of {profile.period_type}")
        key = (tuple(sorted(labels.items())), profile.time_nanos)
        sums = {f"{labels['service_name']} {kind}": amount for kind, amount in profile.sums().items()}
        yield key, (profile.time_nanos, tuple(sorted((tuple(values)) for values, _ in profile.samples))), sums
