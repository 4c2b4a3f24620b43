# SPDX-License-Identifier: Apache-2.0
"""cutting_proxy.py PORT SERVER_PORT SEED [SHARE [LOG]]: a server's answers to inserts, or a relay's to messages, many of which do not arrive

Each request is passed on to the server, and its answer waited for. Where the request was one of those, the answer is then
thrown away, and the connection ended, in two of three cases, or that share of them: what was inserted is there, and nobody knows.
LOG gets a line for each statement that has the body to itself.
"""
import http.client
import http.server
import random
import socket
import sys

SERVER_PORT = int(sys.argv[2])
CHANCE = random.Random(int(sys.argv[3]))
SHARE = float(sys.argv[4]) if len(sys.argv) > 4 else 2 / 3
LOG = sys.argv[5] if len(sys.argv) > 5 else None
COUNTS = {"passed": 0, "cut": 0}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if LOG and "query=INSERT" not in self.path:
            with open(LOG, "a", encoding="utf-8") as log:
                log.write(" ".join(body.decode(errors="replace").split()) + "\n")
        server = http.client.HTTPConnection("127.0.0.1", SERVER_PORT, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        server.request("POST", self.path, body, headers)
        answer = server.getresponse()
        content = answer.read()
        server.close()
        if ("INSERT" in self.path or self.path.startswith("/relay/")) and CHANCE.random() < SHARE:
            COUNTS["cut"] += 1
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        COUNTS["passed"] += 1
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() in ("content-encoding", "content-type"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        text = f"{COUNTS['passed']} {COUNTS['cut']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
