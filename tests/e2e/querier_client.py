#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ask a server what Grafana's Pyroscope data source asks, in JSON and in protobuf, and compare with what make_store wrote
down and with bpfprof query:

    querier_client.py URL TRUTH BPFPROF STORE [brief]

"brief": one answer of each call. Prints a case for each thing that has to hold; exit 1 when one of them does not.
"""
import collections
import gzip
import json
import random
import re
import struct
import subprocess
import sys
import urllib.error
import urllib.request

import sink_wire
from protoc import Protoc

NOON, MINUTE = 1795176000, 60
CPU, SAMPLES = "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "process_cpu:samples:count:cpu:nanoseconds"
OFF_CPU = "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds"
WAITS = "off_cpu:waits:count:off_cpu:nanoseconds"
url, truth_path, bpfprof, store = sys.argv[1:5]
failures = 0
published = Protoc("QUERIER_PROTOS", "querier/v1/querier.proto")

# --- protobuf, of its own: messages as {name: (number, kind)} from the published files ---

PAIR = {"name": (1, "str"), "value": (2, "str")}
POINT = {"value": (1, "double"), "timestamp": (2, "int")}
TYPE = {"ID": (1, "str"), "name": (2, "str"), "sampleType": (4, "str"), "sampleUnit": (5, "str"), "periodType": (6, "str"),
        "periodUnit": (7, "str")}
LEVEL = {"values": (1, "ints")}
FLAME = {"names": (1, "strs"), "levels": (2, [LEVEL]), "total": (3, "int"), "maxSelf": (4, "int"), "leftTicks": (5, "int"),
         "rightTicks": (6, "int")}
STACKS = {"profileTypeID": (1, "str"), "labelSelector": (2, "str"), "start": (3, "int"), "end": (4, "int"),
          "maxNodes": (5, "int"), "format": (6, "int")}
CALLS = {
    "ProfileTypes": ({"start": (1, "int"), "end": (2, "int")}, {"profileTypes": (1, [TYPE])}),
    "LabelNames": ({"matchers": (1, "strs"), "start": (2, "int"), "end": (3, "int")}, {"names": (1, "strs")}),
    "LabelValues": ({"name": (1, "str"), "matchers": (2, "strs"), "start": (3, "int"), "end": (4, "int")},
                    {"names": (1, "strs")}),
    "Series": ({"matchers": (1, "strs"), "labelNames": (2, "strs"), "start": (3, "int"), "end": (4, "int")},
               {"labelsSet": (2, [{"labels": (1, [PAIR])}])}),
    "SelectMergeStacktraces": (STACKS, {"flamegraph": (1, FLAME)}),
    "SelectMergeProfile": (STACKS, None),
    "SelectSeries": ({"profileTypeID": (1, "str"), "labelSelector": (2, "str"), "start": (3, "int"), "end": (4, "int"),
                      "groupBy": (5, "strs"), "step": (6, "double"), "aggregation": (7, "int"), "limit": (9, "int")},
                     {"series": (1, [{"labels": (1, [PAIR]), "points": (2, [POINT])}])}),
    "GetProfileStats": ({}, {"dataIngested": (1, "bool"), "oldestProfileTime": (2, "int"), "newestProfileTime": (3, "int")}),
    "Diff": ({"left": (1, STACKS), "right": (2, STACKS)}, {"flamegraph": (1, FLAME)}),
}


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def encode(schema, values):
    out = b""
    for name, value in values.items():
        number, kind = schema[name]
        if kind == "int":
            out += varint(number << 3) + varint(value)
        elif kind == "double":
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            many = value if kind == "strs" else [value]
            for one in many:
                data = one.encode() if isinstance(one, str) else encode(kind, one)
                out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def fields(data):
    """(number, value) of each field: an integer, the bytes of a double, or bytes."""
    for number, wire, value in sink_wire.fields(data):
        if wire == 5:
            raise ValueError("wire type 5")
        yield number, struct.pack("<Q", value) if wire == 1 else value


def packed(data):
    at, numbers = 0, []
    while at < len(data):
        number, at = sink_wire.varint(data, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


def decode(schema, data):
    out = {}
    for name, (number, kind) in schema.items():
        if kind in ("strs", "ints") or isinstance(kind, list):
            out[name] = []
        else:
            out[name] = None if isinstance(kind, dict) else {"int": 0, "double": 0.0, "str": "", "bool": False}[kind]
    by_number = {number: (name, kind) for name, (number, kind) in schema.items()}
    for number, value in fields(data):
        name, kind = by_number[number]  # what the schema lacks is an error
        if kind == "int":
            out[name] = value - (1 << 64) if value >> 63 else value
        elif kind == "bool":
            out[name] = bool(value)
        elif kind == "double":
            out[name] = struct.unpack("<d", value)[0]
        elif kind == "str":
            out[name] = value.decode()
        elif kind == "strs":
            out[name].append(value.decode())
        elif kind == "ints":
            out[name] += packed(value)
        elif isinstance(kind, list):
            out[name].append(decode(kind[0], value))
        else:
            out[name] = decode(kind, value)
    return out


def from_json(schema, told):
    """What decode() would make of the same message; 64-bit integers have to be texts."""
    out = decode(schema, b"")
    for name, value in told.items():
        number, kind = schema[name]
        if kind == "int":
            assert isinstance(value, str), (name, value)
            out[name] = int(value)
        elif kind == "ints":
            assert all(isinstance(one, str) for one in value), (name, value[:4])
            out[name] = [int(one) for one in value]
        elif isinstance(kind, list):
            out[name] = [from_json(kind[0], one) for one in value]
        elif isinstance(kind, dict):
            out[name] = from_json(kind, value)
        else:
            out[name] = value
    return out


def to_json(values):
    if isinstance(values, dict):
        return {name: to_json(value) for name, value in values.items()}
    return str(values) if isinstance(values, int) else values


# --- Calls ---

def post(call, body, content_type, headers=()):
    request = urllib.request.Request(url.rstrip("/") + "/querier.v1.QuerierService/" + call, body, method="POST")
    for name, value in [("Content-Type", content_type), ("Connect-Protocol-Version", "1"), *headers]:
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            data = reply.read()
            if reply.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            return reply.status, reply.headers, data
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def message_of(call, direction):
    """What the published files call it."""
    if call == "SelectMergeProfile" and direction == "Response":
        return "google.v1.Profile"
    return "%s.v1.%s%s" % ("types" if call in ("LabelNames", "LabelValues", "GetProfileStats") else "querier", call, direction)


def ask(call, **values):
    """The answer, which is the same in every form."""
    asked, answered = CALLS[call]
    body = published.again(message_of(call, "Request"), encode(asked, values))
    forms = [("application/json", json.dumps(to_json(values)).encode(), []),
             ("application/proto", body, []),
             ("application/proto", gzip.compress(body), [("Content-Encoding", "gzip"), ("Accept-Encoding", "gzip")])]
    answers = []
    for content_type, data, headers in forms if answered else forms[1:]:
        status, told, reply = post(call, data, content_type, headers)
        if status != 200:
            raise ValueError("%s %s: %d %s" % (call, values, status, reply[:300]))
        assert told["Content-Type"] == content_type, told["Content-Type"]
        if content_type == "application/proto":
            reply = published.again(message_of(call, "Response"), reply)
        if not answered:
            answers.append(reply)
        elif content_type == "application/json":
            answers.append(from_json(answered, json.loads(reply)))
        else:
            answers.append(decode(answered, reply))
    for other in answers[1:]:
        assert other == answers[0], "%s: forms differ:\n%.600s\n%.600s" % (call, answers[0], other)
    return answers[0]


def case(name, got, wanted):
    global failures
    holds = got == wanted
    print("%s - %s" % ("ok" if holds else "not ok", name))
    if not holds:
        print("# got:    %.2000r\n# wanted: %.2000r" % (got, wanted))
        failures += 1


# --- The truth ---

def read_truth():
    for line in open(truth_path):
        names = ["start", "kind", "service_name", "host", "comm", "stack", "count", "ns"]
        row = dict(zip(names, line.rstrip("\n").split("\t")))
        row["minute"] = (int(row["start"]) - NOON) // MINUTE
        row["count"], row["ns"] = int(row["count"]), int(row["ns"])
        yield row


TRUTH = list(read_truth())


def at(minute):
    return int((NOON + minute * MINUTE) * 1000)


def rows(first, last, kind="cpu", where=lambda row: True):
    return [row for row in TRUTH if first <= row["minute"] < last and row["kind"] == kind and where(row)]


def add_up(pairs):
    sums = collections.Counter()
    for key, value in pairs:
        sums[key] += value
    return dict(sums)


def harmless(name):
    return "HOSTILE" if "alert" in name else name


# Selectors, and what they mean; none of them names the label of the hostile command.
SELECTORS = [
    ("", lambda row: True),
    ("{}", lambda row: True),
    ('{service_name="web"}', lambda row: row["service_name"] == "web"),
    ('{service_name="web",host="beta"}', lambda row: row["service_name"] == "web" and row["host"] == "beta"),
    ('{service_name!="web"}', lambda row: row["service_name"] != "web"),
    ('{service_name=""}', lambda row: row["service_name"] == ""),
    ('{ service_name =~ "web|batch", }', lambda row: row["service_name"] in ("web", "batch")),
    ("{service_name!~'w.*'}", lambda row: not row["service_name"].startswith("w")),
    ('{service_name=~".+", host=~"(?:al|be)[a-z]+"}', lambda row: row["service_name"] != ""),
    ('{service_name="db,1"}', lambda row: row["service_name"] == "db,1"),
    (r'{service_name=~"db,\\d"}', lambda row: row["service_name"] == "db,1"),
    (r"{service_name=~`db,\d`}", lambda row: row["service_name"] == "db,1"),
    ('{service_name=~"eb"}', lambda row: False),
    ('{host="nowhere"}', lambda row: False),
    ('{__profile_type__="%s"}' % CPU, lambda row: True),
    ('{__name__="memory"}', lambda row: False),
]


# --- Flame graphs ---

def paths_of(flame, sides=1):
    """Stacks and their own values, from the levels; what the form promises is asserted."""
    width = 3 * sides + 1
    names, above, selves, greatest = flame["names"], None, collections.Counter(), 0
    for level in flame["levels"]:
        values, ends, here = level["values"], [0] * sides, []
        assert len(values) % width == 0
        for i in range(0, len(values), width):
            bar = values[i:i + width]
            spans = []
            for side in range(sides):
                offset, total, own = bar[3 * side:3 * side + 3]
                assert offset >= 0 and 0 <= own <= total
                begin = ends[side] + offset
                ends[side] = begin + total
                spans.append((begin, total, own))
                greatest = max(greatest, own)
            here.append((spans, names[bar[-1]]))
        placed, on_it = [], collections.Counter()
        for spans, name in here:
            path = ()
            if above is not None:
                inside = [i for i, (parents, _) in enumerate(above)
                          if all(parent[0] + parent[2] <= span[0] and span[0] + span[1] <= parent[0] + parent[1]
                                 for parent, span in zip(parents, spans))]
                # The empty side of a bar may touch two parents: both sides together leave one.
                assert inside and any(span[1] for span in spans), ("no parent", name, spans)
                path = above[inside[0]][1] + (harmless(name),)
                for side in range(sides):
                    on_it[inside[0], side] += spans[side][1]
            placed.append((spans, path))
            if any(span[2] for span in spans):
                values = tuple(span[2] for span in spans)
                selves[";".join(path)] = tuple(map(sum, zip(selves[";".join(path)] or (0,) * sides, values)))
        for i, (parents, path) in enumerate(above or []):  # a bar is its own and what stands on it
            for side in range(sides):
                assert on_it[i, side] + parents[side][2] == parents[side][1], (path, on_it[i, side], parents)
        above = placed
    assert greatest == flame["maxSelf"], (greatest, flame["maxSelf"])
    return {path: value if sides > 1 else value[0] for path, value in selves.items()}


def stacks(type_id, selector, first, last, **more):
    flame = ask("SelectMergeStacktraces", profileTypeID=type_id, labelSelector=selector, start=at(first), end=at(last), **more)
    return flame["flamegraph"]


def query(view, first, last, *words):
    moment = [subprocess.check_output(["date", "-u", "-d", "@%d" % (at(minute) // 1000), "+%Y-%m-%dT%H:%M:%SZ"],
                                      text=True).strip() for minute in (first, last)]
    return subprocess.check_output([bpfprof, "query", view, "--store", store, "--since", moment[0], "--until", moment[1], "-q",
                                    *words])


def functions_of(paths):
    totals = collections.Counter()
    for path, value in paths.items():
        for name in set(path.split(";")):
            totals[name] += value
    return dict(totals)


def check_flames():
    for selector, where in SELECTORS:
        flame = stacks(CPU, selector, 0, 120)
        wanted = add_up((row["stack"], row["ns"]) for row in rows(0, 120, "cpu", where))
        case("stacks of '%s'" % selector, (paths_of(flame), flame["total"], flame["names"][0]),
             (wanted, sum(wanted.values()), "total"))
    for type_id, kind, value in ((SAMPLES, "cpu", "count"), (OFF_CPU, "off-cpu", "ns"), (WAITS, "off-cpu", "count")):
        case("stacks of " + type_id, paths_of(stacks(type_id, "", 30, 75)),
             add_up((row["stack"], row[value]) for row in rows(30, 75, kind)))
    case("of a type that nobody stored", stacks("memory:inuse_space:bytes:space:bytes", "", 0, 120)["total"], 0)
    case("of a gap", stacks(CPU, "", 40, 50)["levels"], [{"values": [0, 0, 0, 0]}])


def check_query():
    for words, selector in (([], ""), (["--select", "service=web"], '{service_name="web"}'),
                            (["--select", "host=beta"], '{host=~"b.*"}')):
        paths = paths_of(stacks(CPU, selector, 10, 110))
        told = json.loads(query("top", 10, 110, "--format", "json", *words).decode(errors="replace"))
        case("functions %s as query top has them" % words, functions_of(paths),
             {harmless(row["symbol"]): row["total"] for row in told["rows"]})
        folded = query("flame", 10, 110, "-o", "-", "--by", "none", *words).decode(errors="replace")
        case("stacks %s as query flame has them" % words, paths,
             add_up((re.sub(r"[^;]*alert[^;]*", "HOSTILE", stack.replace("</script>;", "")), int(value))
                    for stack, value in (line.rsplit(" ", 1) for line in folded.splitlines())))


def check_max_nodes():
    whole = stacks(CPU, "", 0, 120)
    sizes = sorted((level["values"][i + 1] for level in whole["levels"] for i in range(0, len(level["values"]), 4)),
                   reverse=True)
    for most in (1, 2, 3, 5, 8, 100):
        flame = stacks(CPU, "", 0, 120, maxNodes=most)
        bars = [(flame["names"][level["values"][i + 3]], level["values"][i + 1]) for level in flame["levels"]
                for i in range(0, len(level["values"]), 4)]
        kept = sorted((total for name, total in bars if name != "other"), reverse=True)
        paths_of(flame)
        case("maxNodes %d" % most, (kept, flame["total"]), (sizes[:most], whole["total"]))


def check_diff():
    sides = [dict(profileTypeID=CPU, labelSelector='{host=~"(alpha|beta).*"}', start=at(first), end=at(last))
             for first, last in ((0, 60), (60, 120))]
    flame = ask("Diff", left=sides[0], right=sides[1])["flamegraph"]
    folded = [add_up((row["stack"], row["ns"]) for row in rows(first, last)) for first, last in ((0, 60), (60, 120))]
    wanted = {stack: tuple(side.get(stack, 0) for side in folded) for stack in {*folded[0], *folded[1]}}
    case("a difference", (paths_of(flame, 2), flame["leftTicks"], flame["rightTicks"], flame["total"]),
         (wanted, sum(folded[0].values()), sum(folded[1].values()), sum(map(sum, (side.values() for side in folded)))))


def check_profile():
    data = ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="web"}', start=at(0), end=at(120))
    strings, functions, locations, samples, types = [], {}, {}, [], 0
    for number, value in fields(data):
        if number == 6:
            strings.append(value)
        types += number == 1
        parts = list(fields(value)) if number in (2, 4, 5) else []
        one = dict(parts)
        if number == 5:
            functions[one[1]] = one[2]
        elif number == 4:
            locations[one[1]] = dict(fields(one[4]))[1]
        elif number == 2:
            samples.append((packed(one[1]), packed(one[2])))
    names = {at: strings[functions[function]].decode() for at, function in locations.items()}
    got = add_up((";".join(names[one] for one in reversed(stack)), values[0]) for stack, values in samples)
    case("a profile", (types, got), (1, add_up((row["stack"], row["ns"]) for row in rows(
        0, 120, "cpu", lambda row: row["service_name"] == "web"))))


# --- Over time ---

def sums(kind, value, first_ms, last_ms, step_ms, by, where):
    series = collections.defaultdict(dict)
    for row in rows(-1000, 1000, kind, where):
        start = int(row["start"]) * 1000
        if not first_ms <= start < last_ms:
            continue
        end = first_ms + ((start - first_ms) // step_ms + 1) * step_ms
        points = series[tuple((label, row[label]) for label in by if row.get(label))]
        points[end] = points.get(end, 0) + row[value]
    return dict(series)


def check_series():
    chance = random.Random(3)
    for number in range(24):
        selector, where = SELECTORS[chance.choice([0, 2, 4, 6, 7, 13])]
        first = at(chance.choice([0, 7, -3])) + chance.choice([0, 1, 30001])
        last = first + chance.choice([600, 3601, 7200]) * 1000
        step = chance.choice([15, 60, 90.5, 420, 10000])
        by = chance.choice([[], ["service_name"], ["host"], ["host", "service_name"], ["service_name", "nothing", "host"]])
        type_id, kind, value = chance.choice([(CPU, "cpu", "ns"), (OFF_CPU, "off-cpu", "ns"), (SAMPLES, "cpu", "count")])
        if type_id == SAMPLES or len(by) > 1:
            step = max(step, 60)
        told = ask("SelectSeries", profileTypeID=type_id, labelSelector=selector, start=first, end=last, step=float(step),
                   groupBy=by)["series"]
        got = {tuple((pair["name"], pair["value"]) for pair in one["labels"]):
               {point["timestamp"]: point["value"] for point in one["points"]} for one in told}
        case("series %d: %s '%s' step %s by %s" % (number, type_id, selector, step, by), (got, len(got)),
             (sums(kind, value, first, last, int(step * 1000), by, where), len(told)))
    told = ask("SelectSeries", profileTypeID=CPU, start=at(0), end=at(120), step=7200.0, groupBy=["service_name"], limit=2)
    totals = add_up((row["service_name"], row["ns"]) for row in rows(0, 120))
    case("a limit: the largest", [one["points"][0]["value"] for one in told["series"]],
         sorted(totals.values(), reverse=True)[:2])


# --- What there is ---

def check_lists():
    everything = dict(start=at(0), end=at(120))
    types = ask("ProfileTypes", **everything)["profileTypes"]
    case("profile types", sorted(one["ID"] for one in types), sorted([CPU, SAMPLES, OFF_CPU, WAITS]))
    case("their parts", [":".join(list(one.values())[1:]) for one in types], [one["ID"] for one in types])
    case("without a range", len(ask("ProfileTypes")["profileTypes"]), 4)
    case("what there is", ask("GetProfileStats"), {"dataIngested": True, "oldestProfileTime": at(0), "newestProfileTime": at(120)})
    case("in a gap", ask("ProfileTypes", start=at(40), end=at(50))["profileTypes"], [])
    names = ask("LabelNames", **everything)["names"]
    case("names of labels", names, sorted(["__name__", "__period_type__", "__period_unit__", "__profile_type__", "__type__",
                                           "__unit__", "comm", "host", "service_name"]))
    for label in ("service_name", "host"):
        for selector, where in SELECTORS[2:9]:
            case("values of %s where %s" % (label, selector),
                 ask("LabelValues", name=label, matchers=[selector], **everything)["names"],
                 sorted({row[label] for kind in ("cpu", "off-cpu") for row in rows(0, 120, kind, where)} - {""}))
    case("values of a type's label", ask("LabelValues", name="__profile_type__", **everything)["names"],
         sorted([CPU, SAMPLES, OFF_CPU, WAITS]))
    case("of one kind", ask("LabelValues", name="service_name", matchers=['{__profile_type__="%s"}' % OFF_CPU],
                            **everything)["names"], ["db,1", "web"])
    for asked in (["service_name"], ["service_name", "__profile_type__"], ["host", "service_name"], ["host", "__name__"]):
        got = [tuple((pair["name"], pair["value"]) for pair in one["labels"])
               for one in ask("Series", labelNames=asked, **everything)["labelsSet"]]
        wanted = set()
        for row in TRUTH:
            for type_id in (CPU, SAMPLES) if row["kind"] == "cpu" else (OFF_CPU, WAITS):
                of_type = {"__profile_type__": type_id, "__name__": type_id.split(":")[0]}
                wanted.add(tuple(sorted((name, {**row, **of_type}[name]) for name in asked if {**row, **of_type}[name])))
        case("series by %s" % asked, (sorted(tuple(sorted(one)) for one in got), len(got)), (sorted(wanted), len(wanted)))


def check_brief():
    """Of each call one answer, whoever's the store is: of many hosts, whose windows begin within the minute's first second."""
    whole = dict(start=at(-1), end=at(121))
    case("types", sorted(one["ID"] for one in ask("ProfileTypes", **whole)["profileTypes"]),
         sorted([CPU, SAMPLES, OFF_CPU, WAITS]))
    case("label names", {"comm", "host", "service_name"} - set(ask("LabelNames", **whole)["names"]), set())
    for label, (selector, where) in (("service_name", SELECTORS[6]), ("host", SELECTORS[7])):
        case("values of %s where %s" % (label, selector),
             ask("LabelValues", name=label, matchers=[selector], **whole)["names"],
             sorted({row[label] for kind in ("cpu", "off-cpu") for row in rows(-1, 121, kind, where)} - {""}))
        for by in ([label], ["host", "service_name"]):
            told = ask("SelectSeries", profileTypeID=CPU, labelSelector=selector, step=10000.0, groupBy=by, **whole)["series"]
            case("series by %s where %s" % (by, selector),
                 {tuple((pair["name"], pair["value"]) for pair in one["labels"]):
                  sum(point["value"] for point in one["points"]) for one in told},
                 add_up((tuple((name, row[name]) for name in by if row[name]), row["ns"])
                        for row in rows(-1, 121, "cpu", where)))


def check_errors():
    proto, text = "application/proto", "application/json"
    stacks_of = {"profileTypeID": CPU, "start": str(at(0)), "end": str(at(120))}

    def refused(name, status, code, call, body, content_type=text, headers=()):
        got, told, reply = post(call, body if isinstance(body, bytes) else json.dumps(body).encode(), content_type, headers)
        try:
            answer = json.loads(reply)
        except ValueError:
            answer = {}
        case(name, (got, answer.get("code"), told["Content-Type"], bool(answer.get("message"))), (status, code, text, True))

    for selector in ("{", "{a}", '{a="b"', '{a=~"("}', '{a=~"a{2,9}"}', r'{a=~"(a)\\1"}', '{a="b"} x', '{="b"}', "{a=b}",
                     '{a=~"((((((a))))))"}', '{a=~"[[:alpha:]]"}', '{a=~"**"}', '{a="\\q"}', "{a=~'%s'}" % ("a" * 300)):
        refused("selector %.20s" % selector, 400, "invalid_argument", "SelectMergeStacktraces",
                dict(stacks_of, labelSelector=selector))
    refused("no type", 400, "invalid_argument", "SelectMergeStacktraces", {"start": "1", "end": "2"})
    refused("a type that is none", 400, "invalid_argument", "SelectSeries", dict(stacks_of, profileTypeID="cpu", step=15))
    refused("no range", 400, "invalid_argument", "SelectMergeStacktraces", {"profileTypeID": CPU})
    refused("a range that ends before it begins", 400, "invalid_argument", "LabelNames", {"start": "5", "end": "4"})
    refused("no step", 400, "invalid_argument", "SelectSeries", stacks_of)
    refused("a step of nothing", 400, "invalid_argument", "SelectSeries", dict(stacks_of, step=1e-9))
    refused("too many points", 400, "invalid_argument", "SelectSeries", dict(stacks_of, step=0.01))
    refused("nodes below 0", 400, "invalid_argument", "SelectMergeStacktraces", dict(stacks_of, maxNodes="-1"))
    refused("trees", 501, "unimplemented", "SelectMergeStacktraces", dict(stacks_of, format="PROFILE_FORMAT_TREE"))
    refused("averages", 501, "unimplemented", "SelectSeries",
            dict(stacks_of, step=15, aggregation="TIME_SERIES_AGGREGATION_TYPE_AVERAGE"))
    refused("a profile as JSON", 501, "unimplemented", "SelectMergeProfile", stacks_of)
    refused("JSON that is none", 400, "invalid_argument", "ProfileTypes", b"{")
    refused("more behind it", 400, "invalid_argument", "ProfileTypes", b"{} {}")
    refused("a number that is none", 400, "invalid_argument", "ProfileTypes", {"start": "x"})
    refused("protobuf that is none", 400, "invalid_argument", "ProfileTypes", b"\x08", proto)
    refused("another wire type", 400, "invalid_argument", "ProfileTypes", b"\x0a\x01x", proto)
    refused("gzip that is none", 400, "invalid_argument", "ProfileTypes", b"{}", text, [("Content-Encoding", "gzip")])
    refused("another encoding", 501, "unimplemented", "ProfileTypes", b"{}", text, [("Content-Encoding", "br")])
    refused("another type of content", 415, "invalid_argument", "ProfileTypes", b"{}", "text/plain")
    case("a call that there is not", post("Nothing", b"{}", text)[0], 404)
    case("names of the schema are taken, too", json.loads(post(
        "SelectMergeStacktraces", json.dumps({"profile_typeID": CPU, "label_selector": '{host="alpha"}', "start": at(0),
                                              "end": at(120), "format": "PROFILE_FORMAT_FLAMEGRAPH", "unknown": [{}]}).encode(),
        text + "; charset=utf-8")[2])["flamegraph"]["total"],
        str(sum(row["ns"] for row in rows(0, 120, "cpu", lambda row: row["host"] == "alpha"))))


def main():
    brief = sys.argv[5:] == ["brief"]
    for check in [check_brief, check_diff, check_profile, check_max_nodes] if brief else \
            [check_lists, check_flames, check_query, check_max_nodes, check_diff, check_profile, check_series, check_errors]:
        check()
    if published.folder:
        case("messages are those of the published files", published.messages > 100, True)
    return failures > 0


sys.exit(main())
