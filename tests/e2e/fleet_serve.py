#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what two servers answer: fleet_serve.py LOCAL FLEET, both as http://127.0.0.1:PORT/.

The first serves a host's store, the second a fleet store into which that host alone ships: each answer of the API is
the same, to the byte where it is text. Ranges begin and end anywhere, so that windows begin in the second in which a
step ends. Prints a line for each difference; the last line is how much was compared.
"""
import json
import random
import sys
import urllib.error
import urllib.parse
import urllib.request

NOON, HOUR = 1795176000, 3600
FUNCTIONS = ["parse", "main", "handle", "nothing"]
SELECTIONS = ["", "service=web", "service=w*,host=beta*", "host=alpha*", "service=", "comm=[np]*", "service=nothing"]


def ask(server, path, **params):
    url = server.rstrip("/") + path + "?" + urllib.parse.urlencode({key: value for key, value in params.items() if value != ""})
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return reply.read()
    except urllib.error.HTTPError as error:
        return b"%d: %s" % (error.code, error.read())


def moments(random_numbers):
    """A range of the two hours, to the millisecond."""
    first = NOON + random_numbers.randrange(-HOUR * 1000, 2 * HOUR * 1000) / 1000
    return "%.3f" % first, "%.3f" % (first + random_numbers.choice([0.5, 7, 61.25, 600, 3599.999, 7200]))


def questions():
    random_numbers = random.Random(7)
    for number in range(24):
        first, last = moments(random_numbers)
        where = {"from": first, "to": last, "select": random_numbers.choice(SELECTIONS)}
        yield "/api/timeline", dict(where, points=random_numbers.choice([1, 3, 7, 60, 199]),
                                    by=random_numbers.choice(["", "service", "host", "comm"]),
                                    function=random_numbers.choice(["", "", *FUNCTIONS]))
        yield "/api/labels", where
        yield "/api/functions", where
        yield "/api/kinds", where
        yield "/api/profile", dict(where, format="folded", by=random_numbers.choice(["", "host", "service", "none"]))
    yield "/api/timeline", {"from": NOON, "to": NOON + 2 * HOUR, "points": 120, "by": "service", "kind": "off-cpu"}
    yield "/api/functions", {"from": NOON, "to": NOON + 2 * HOUR, "kind": "nothing"}
    yield "/debug/pprof/profile", {"from": NOON, "to": NOON + HOUR, "format": "folded", "by": "service"}


def of_meaning(path, data):
    """What has to be the same of an answer."""
    if path == "/api/coverage":
        answer = json.loads(data)
        return {key: answer[key] for key in answer if not key.startswith("hosts")}
    if path.startswith("/api/") and data[:1] == b"{":
        return json.loads(data)
    return sorted(data.splitlines())


def main():
    local, fleet = sys.argv[1:3]
    asked = [*questions(), ("/api/coverage", {"from": NOON, "to": NOON + 2 * HOUR}),
             ("/api/coverage", {"from": NOON + 1.5, "to": NOON + 1000.1})]
    different, told = 0, 0
    for path, params in asked:
        answers = [of_meaning(path, ask(server, path, **params)) for server in (local, fleet)]
        told += len(str(answers[0]))
        if answers[0] != answers[1]:
            different += 1
            print("%s %s\n  %.600s\n  %.600s" % (path, params, *answers))
    print("%d answers, %d characters, %d of them differ" % (len(asked), told, different))
    return different > 0 or told < 20000


sys.exit(main())
