# SPDX-License-Identifier: Apache-2.0
"""A receiver of profiles, on loopback, by what Pyroscope, Parca and the specifications of OTLP want.

    sink_server.py PORT [FAULT...]

Each request is read with sink_wire.py and checked. What is wrong is answered with 400 and noted. Profiles are kept by
what makes them one for a receiver: a profile that is sent again has to be the same, and counts once. GET / answers
sums ('SERVICE TYPE/UNIT SUM' a line), GET /facts what else has happened, as JSON, and /facts/NAME one of it. Faults,
each at requests of its own:

    busy      429 with Retry-After: 1; whoever asks within that second is noted
    down      503
    error     500
    cut       the body is taken, and the connection is cut
    poison    400 for what began within minute 12:05, for ever
    reject    a partial success: one profile is said to be thrown away
    old       the body is taken, and an answer without an end is begun
    token     401 for who does not say Bearer se:cret, for ever
    tls=FILE  not a fault: over TLS, by FILE with a certificate and its key
"""
import collections
import gzip
import http.server
import json
import socketserver
import ssl
import sys
import threading
import time

from protoc import Protoc
from sink_pyroscope import read_push
from sink_otlp import read_export
from sink_wire import Bad, need

POISON = range(1795176300 * 10**9, 1795176360 * 10**9)
AT = {"busy": {1, 9}, "down": {3, 11}, "error": {5}, "cut": {6, 13}, "reject": {8}, "old": {15}}
EXPORT = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest"
PUBLISHED = Protoc("OTLP_PROTOS", "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto")
PATHS = {
    "/push.v1.PusherService/Push": ("application/proto", read_push),
    "/below/push.v1.PusherService/Push": ("application/proto", read_push),
    "/v1development/profiles": ("application/x-protobuf", read_export),
}


class State:
    lock = threading.Lock()
    faults = set(sys.argv[2:])
    kept = {}  # key -> (content, sums)
    facts = collections.Counter()
    problems = []
    tenants = set()
    not_before = 0.0


def keep(profiles):
    for key, content, sums in profiles:
        if key in State.kept:
            State.facts["again"] += 1
            need(State.kept[key][0] == content, f"{key} is another one than before")
        State.kept[key] = (content, sums)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with State.lock:
            if self.path.startswith("/facts"):
                facts = dict(State.facts, problems=State.problems[:5], problem_cnt=len(State.problems),
                             tenants=sorted(State.tenants), profiles=len(State.kept))
                name = self.path[len("/facts/") :]
                text = json.dumps(facts.get(name, 0) if name else facts)
            else:
                sums = collections.Counter()
                for _, amounts in State.kept.values():
                    sums.update(amounts)
                text = "\n".join(f"{key} {amount}" for key, amount in sorted(sums.items()))
        self.answer(200, text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with State.lock:
            self.take(body)

    def read(self, body):
        need(self.path in PATHS, f"path {self.path}")
        content_type, reader = PATHS[self.path]
        need(self.headers["Content-Type"] == content_type, f"Content-Type {self.headers['Content-Type']}")
        packed = self.headers["Content-Encoding"] == "gzip"
        State.facts["packed"] += packed
        body = gzip.decompress(body) if packed else body
        if reader == read_export:
            body = PUBLISHED.again(EXPORT, body)
            State.facts["published"] = PUBLISHED.messages
        return list(reader(body))

    def take(self, body):
        State.facts["requests"] += 1
        number = State.facts["requests"]
        fault = next((name for name in State.faults if number in AT.get(name, ())), None)
        if time.monotonic() < State.not_before:
            State.problems.append("asked before Retry-After was over")
        if "token" in State.faults and self.headers["Authorization"] != "Bearer se:cret":
            State.facts["strangers"] += 1
            self.answer(401, b"who are you?\nsaid the server")
            return
        if self.headers["X-Scope-OrgID"]:
            State.tenants.add(self.headers["X-Scope-OrgID"])
        if fault:
            State.facts[fault] += 1
        if fault == "busy":
            State.not_before = time.monotonic() + 1
            self.answer(429, b"too much", Retry_After="1")
        elif fault == "down":
            self.answer(503)
        elif fault == "error":
            self.answer(500, b"oops")
        else:
            self.take_profiles(body, fault)

    def take_profiles(self, body, fault):
        try:
            profiles = self.read(body)
            times = [content[0] for _, content, _ in profiles]
            if "poison" in State.faults and any(begin in POISON for begin in times):
                State.facts["poison"] += 1
                self.answer(400, b'{"code":"invalid_argument","message":"I do not like it"}')
                return
            keep(profiles)
        except (Bad, ValueError, OSError) as error:
            State.problems.append(str(error))
            self.answer(400, str(error).encode())
            return
        if fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault == "old":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
            self.close_connection = True
        elif fault == "reject":
            self.answer(200, bytes([10, 8, 8, 1, 18, 4]) + b"why?")
        else:
            self.answer(200)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
for option in State.faults:
    if option.startswith("tls="):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(option[4:])
        server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
