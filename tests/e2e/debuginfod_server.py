#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A debuginfod server on loopback that can misbehave: debuginfod_server.py FOLDER

FOLDER/files/BUILD-ID/debuginfo and /executable are what it serves, FOLDER/mode says how (read for each request),
each request becomes a line of FOLDER/requests. The port is written to FOLDER/port. It runs until it is killed.
"""
import http.server
import os
import re
import sys
import time

folder = sys.argv[1]


def read(name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def begin(self, length):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def send_ok(self, data):
        self.begin(len(data))
        self.wfile.write(data)

    def send_404(self, data):
        self.send_error(404)

    def send_garbage(self, data):
        self.send_ok(b"<html>please log in</html>\n" * 1000)

    def send_aborted(self, data):
        """Less than was promised."""
        self.begin(len(data))
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True

    def send_truncated(self, data):
        """Nothing was promised, so that only the file itself shows it."""
        self.begin(None)
        self.wfile.write(data[: len(data) // 2])

    def send_huge(self, data):
        self.begin(3 << 30)
        while True:
            self.wfile.write(data)
            time.sleep(0.05)

    def send_slow(self, data):
        self.begin(len(data))
        for at in range(len(data)):
            self.wfile.write(data[at : at + 1])
            time.sleep(0.2)

    def send_hanging(self, data):
        time.sleep(3600)

    def do_GET(self):
        with open(os.path.join(folder, "requests"), "a", encoding="ascii") as file:
            file.write(self.path + "\n")
        match = re.fullmatch(r"/buildid/([0-9a-f]+)/(debuginfo|executable)", self.path)
        path = os.path.join("files", *match.groups()) if match else ""
        if not match or not os.path.exists(os.path.join(folder, path)):
            self.send_error(404)
            return
        try:
            getattr(self, "send_" + read("mode").decode().strip())(read(path))
        except OSError:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
with open(os.path.join(folder, "port.new"), "w", encoding="ascii") as port:
    port.write(str(server.server_port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
