# SPDX-License-Identifier: Apache-2.0
"""refusing_proxy.py PORT SERVER_PORT TABLE HEX: a ClickHouse server that refuses some rows for what they are

Each request is passed on to the server, but for inserts into TABLE that have the bytes HEX: these are answered as a
server answers what it cannot read.
"""
import gzip
import http.client
import http.server
import sys
import urllib.parse

SERVER_PORT = int(sys.argv[2])
INSERT = f"INSERT INTO {sys.argv[3]} "
REFUSED = bytes.fromhex(sys.argv[4])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, content, headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        rows = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if INSERT in urllib.parse.unquote(self.path) and REFUSED in rows:
            text = b"Code: 117, e.displayText() = DB::Exception: Incorrect data, e.what() = DB::Exception\n"
            self.answer(500, text, [])
            return
        server = http.client.HTTPConnection("127.0.0.1", SERVER_PORT, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        server.request("POST", self.path, body, headers)
        answer = server.getresponse()
        content = answer.read()
        kept = [pair for pair in answer.getheaders() if pair[0].lower() in ("content-encoding", "content-type")]
        server.close()
        self.answer(answer.status, content, kept)

    def do_GET(self):
        self.answer(200, b"", [])

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
