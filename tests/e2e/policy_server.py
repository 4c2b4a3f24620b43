# SPDX-License-Identifier: Apache-2.0
"""A policy on loopback: policy_server.py FOLDER

Answers GET with FOLDER/policy and an ETag, or 304 to who has it; 503 while FOLDER/down is there. Its port is in
FOLDER/port as soon as it listens, a line "STATUS ETAG-THAT-WAS-SENT" of each answer in FOLDER/answers.
"""
import hashlib
import http.server
import os
import sys

FOLDER = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(os.path.join(FOLDER, "policy"), "rb") as file:
            body = file.read()
        etag = '"%s"' % hashlib.sha256(body).hexdigest()[:12]
        known = self.headers.get("If-None-Match", "-")
        status = 503 if os.path.exists(os.path.join(FOLDER, "down")) else 304 if known == etag else 200
        self.send_response(status)
        self.send_header("ETag", etag)
        if status != 200:
            body = b""
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with open(os.path.join(FOLDER, "answers"), "a", encoding="ascii") as file:
            file.write(f"{status} {known}\n")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(FOLDER, "port.new"), "w", encoding="ascii") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(FOLDER, "port.new"), os.path.join(FOLDER, "port"))
server.serve_forever()
