#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for the query server where its page is tested: the page's files, and answers made up from a few numbers.

usage: page_server.py TREE REPORT.html SECONDS    serve on 127.0.0.1 for so long; the first line is the address

A window of ten seconds starts every ten seconds, but in gaps; service number i uses a fixed number of cores.
"""

import collections
import http.server
import json
import math
import os
import re
import sys
import threading
import time
import urllib.parse

WINDOW_MS = 10_000
REQUESTS_KEPT = 400
POINTS_MAX = 2000
NAMES = ["postgres", "nginx", "api-gateway", "redis", "kafka", "billing", "search", "auth", "scheduler", "node-exporter"]
FUNCTIONS = [("compress_block", 0.3), ("tcp_sendmsg", 0.12), ("hash_lookup", 0.08), ("json_parse", 0.05), ("main", 1.0),
             ("std::vector<int, std::allocator<int>>::push_back", 0.02)]
KINDS = {"cpu": [("samples", "count"), ("cpu", "nanoseconds")], "off-cpu": [("waits", "count"), ("off_cpu", "nanoseconds")],
         "page-faults": [("faults", "count")]}
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


def report_hashes(report):
    """The sources that a report allows in itself: what a page needs to show one from memory."""
    policy = re.search(rb'content="default-src[^"]*script-src ([^;]+); style-src (\S+?)"', report)
    return [part.decode() for part in policy.groups()]


class Scene:
    """What the store holds. Tests change it."""

    def __init__(self, **fields):
        self.services, self.age_ms, self.end_ago_ms = 5, 3 * 86_400_000, 0
        self.gaps = []  # [from, to) in ms
        self.idle = []  # windows without samples
        self.empty, self.token, self.fail, self.lost, self.wave = False, "", None, 0, False
        self.report_error = ""
        self.is_cut, self.report_end = False, ""  # the report, within its profile; what is sent instead, "": it ends unfinished
        self.shift = (0, 0)  # windows from this moment on start so much later
        self.__dict__.update(fields)

    def last(self):
        return int(time.time() * 1000 - self.end_ago_ms) // WINDOW_MS * WINDOW_MS

    def first(self):
        return self.last() - self.age_ms // WINDOW_MS * WINDOW_MS

    def windows(self, start, end):
        """Where the windows of [start, end) start."""
        at = max(self.first(), -(-int(start) // WINDOW_MS) * WINDOW_MS)
        end = min(end, self.last())
        while at < end:
            if not any(gap[0] <= at < gap[1] for gap in self.gaps):
                yield at + (self.shift[1] if at >= self.shift[0] else 0)
            at += WINDOW_MS

    def names(self):
        return [NAMES[i] if i < len(NAMES) else "worker-%02d.service" % i for i in range(self.services)]

    def value(self, service, at):
        """Nanoseconds of a window."""
        if any(gap[0] <= at < gap[1] for gap in self.idle):
            return 0
        cores = 2 / (service + 1)
        if self.wave:
            slow, quick = at / 3.1e6 + service, at / 1.9e5 * (1 + service % 3)
            cores *= 1 + 0.45 * math.sin(slow) + 0.18 * math.sin(quick) + 0.1 * math.sin(at * 7.7 + service)
        return int(cores * WINDOW_MS * 1e6)


def milliseconds(text):
    return float(text) * 1000


class Query:
    """What a request selects."""

    def __init__(self, fields):
        self.fields = fields
        self.start, self.end = milliseconds(self.get("from", "0")), milliseconds(self.get("to", "4e9"))
        self.kind = self.get("kind", "cpu")
        self.where = [one.split("=", 1) for one in fields.get("select", [])]

    def get(self, key, otherwise=""):
        return self.fields.get(key, [otherwise])[0]

    def takes(self, key, value):
        globs = [glob for name, glob in self.where if name == key]
        return not globs or re.sub(r"\\(.)", r"\1", globs[0]) == value or value in [re.sub(r"\\(.)", r"\1", glob) for glob in globs]


def answer_info(scene, query):
    return {"version": "1.2.3", "host": "db-7.example", "first": 0 if scene.empty else scene.first(),
            "last": 0 if scene.empty else scene.last(), "kinds": [] if scene.empty else list(KINDS)}


def answer_kinds(scene, query):
    return {"kinds": [{"name": name, "values": [{"type": kind, "unit": unit} for kind, unit in values], "default": len(values) - 1,
                       "total": 10 ** 12} for name, values in KINDS.items()]}


def answer_timeline(scene, query):
    cnt = min(POINTS_MAX, int(query.get("points", "200")))
    step, factor = (query.end - query.start) / cnt, dict(FUNCTIONS).get(query.get("function"), 0 if query.get("function") else 1)
    by, made = query.get("by"), []
    starts = list(scene.windows(query.start, query.end))
    for i, name in enumerate(scene.names()):
        if not query.takes("service", name) or not query.takes("cpu", str(i % 4)):
            continue
        values = [0] * cnt
        for at in starts:
            values[int((at - query.start) / step)] += int(scene.value(i, at) * factor)
        made.append({"name": name if by == "service" else "%d" % (i % 4), "values": values})
    if by != "service":
        sums = collections.defaultdict(lambda: [0] * cnt)
        for one in made:
            name = one["name"] if by else ""
            sums[name] = [a + b for a, b in zip(sums[name], one["values"])]
        made = [{"name": name, "values": values} for name, values in sums.items()]
    unit = KINDS.get(query.kind, KINDS["cpu"])[-1][1]
    return {"from": query.start, "to": query.end, "step": step, "unit": unit, "series": made}


def answer_labels(scene, query):
    services = [{"value": name, "total": int(10 ** 12 / (i + 1))} for i, name in enumerate(scene.names()) if query.takes("service", name)]
    return {"labels": [{"key": "cpu", "values": [{"value": str(i), "total": 10 ** 11} for i in range(4)]}, {"key": "service", "values": services},
                       {"key": "thread", "values": [{"value": "<img src=x onerror=alert(1)>", "total": 5}]}]}


def answer_functions(scene, query):
    total = 10 ** 12
    found = [{"name": name, "self": int(total * share / 2), "total": int(total * share)} for name, share in FUNCTIONS if query.get("search") in name]
    found.sort(key=lambda one: -one["total"])
    return {"unit": "nanoseconds", "total": total, "functions": found[:int(query.get("limit", "100"))]}


def answer_coverage(scene, query):
    starts = list(scene.windows(query.start, query.end))
    dropped = sum(1 for gap in scene.gaps if gap[0] < query.end and gap[1] > query.start)
    return {"windows": len(starts), "covered_ms": len(starts) * WINDOW_MS, "first": starts[0] if starts else 0,
            "last": starts[-1] + WINDOW_MS if starts else 0, "tombstones": dropped, "lost": scene.lost, "recorded": len(starts) * 990,
            "never_ran": 0, "ledger": "ledger: %d recorded, %d lost" % (len(starts) * 990, scene.lost)}


ANSWERS = {"info": answer_info, "kinds": answer_kinds, "timeline": answer_timeline, "labels": answer_labels, "functions": answer_functions,
           "coverage": answer_coverage}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, kind, body, policy="default-src 'none'; frame-ancestors 'none'"):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Content-Security-Policy", policy),
                            ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # the page has asked for something else meanwhile

    def reply_pieces(self, kind, body, policy, end):
        self.send_response(200)
        for name, value in (("Content-Type", kind), ("Transfer-Encoding", "chunked"), ("Content-Security-Policy", policy), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
        time.sleep(0.5)
        if end:
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end))
        self.close_connection = True

    def reply_json(self, status, value):
        self.reply(status, "application/json", json.dumps(value).encode())

    def serve_file(self, name):
        server = self.server
        for folder in ("user/web", "user/encode"):
            path = os.path.join(server.tree, folder, name)
            if re.fullmatch(r"[a-z_]+\.(html|js|css)", name) and os.path.exists(path):
                with open(path, "rb") as file:
                    self.reply(200, TYPES[os.path.splitext(name)[1]], file.read(), server.page_policy)
                return
        self.reply_json(404, {"error": "nothing is called /" + name})

    def serve_profile(self, scene, query):
        server, form = self.server, query.get("format")
        if scene.report_error:
            self.reply_json(413, {"error": scene.report_error})
        elif form == "html":
            body = server.difference if "before_from" in query.fields else server.report
            if scene.is_cut:
                self.reply_pieces(TYPES[".html"], body[:body.index(b'id="profile"') + 100], server.report_policy, scene.report_end.encode())
            else:
                self.reply(200, TYPES[".html"], body, server.report_policy)
        else:
            self.reply(200, "application/octet-stream", ("a profile as %s" % form).encode())

    def do_GET(self):
        scene, url = self.server.scene, urllib.parse.urlsplit(self.path)
        self.server.requests.append(self.path)
        if not url.path.startswith("/api/"):
            self.serve_file(url.path[1:] or "page.html")
            return
        if scene.token and self.headers.get("Authorization") != "Bearer " + scene.token:
            self.reply_json(401, {"error": "a token is wanted"})
            return
        query, name = Query(urllib.parse.parse_qs(url.query)), url.path[len("/api/"):]
        if scene.fail:
            self.reply_json(500, {"error": scene.fail})
        elif name == "profile":
            self.serve_profile(scene, query)
        elif name in ANSWERS:
            self.reply_json(200, ANSWERS[name](scene, query))
        else:
            self.reply_json(404, {"error": "no such question"})


class Server(http.server.ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1 until stop()."""
    daemon_threads = True

    def __init__(self, tree, report, difference):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tree, self.report, self.difference, self.scene = tree, report, difference, Scene()
        self.requests = collections.deque(maxlen=REQUESTS_KEPT)
        script, style = report_hashes(report)
        self.page_policy = ("default-src 'none'; script-src 'self' %s; style-src 'self' %s; connect-src 'self'; img-src 'self' data:; "
                            "frame-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" % (script, style))
        self.report_policy = "default-src 'none'; script-src %s; style-src %s; frame-ancestors 'self'" % (script, style)
        self.url = "http://127.0.0.1:%d/" % self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


if __name__ == "__main__":
    with open(sys.argv[2], "rb") as opened:
        content = opened.read()
    serving = Server(sys.argv[1], content, content)
    print(serving.url, flush=True)
    time.sleep(float(sys.argv[3]))
    serving.stop()
