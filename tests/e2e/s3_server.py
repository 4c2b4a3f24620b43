# SPDX-License-Identifier: Apache-2.0
"""S3 on loopback, as much of it as putting objects takes, by the S3 API Reference.

    s3_server.py PORT FOLDER [FAULT...]

Objects are files FOLDER/BUCKET/KEY. Every request's signature is made anew from what has arrived, by the secret "a/b+c"
of the access key AKIATEST, and nothing is taken without one, without a date of now, the body's SHA-256 and its MD5. An
object that is put again has to be the same, or it is noted. GET /facts answers what has happened, as JSON, and
/facts/NAME one of it. Faults, those with numbers at requests of their own:

    slow      503 SlowDown                        busy      503 with Retry-After: 1; asking within it is noted
    error     500 InternalError                   timeout   400 RequestTimeout
    cut       the object is kept, and the connection is cut
    old       the object is kept, and an answer without an end is begun
    early     the connection is cut before the body has been read
    damage    a byte of the body was changed on the way: BadDigest
    twist     the same, found by its SHA-256
    moving    307 TemporaryRedirect
    poison    400 EntityTooLarge for the minute 12:05, for ever
    html      403 of a proxy, without XML, for ever
    deny      403 AccessDenied, for ever
    skew      the clock is an hour ahead, for ever
    moved     301 PermanentRedirect to eu-west-1, for ever
    silent    nothing is answered, for ever

    region=NAME (us-east-1)   bucket=NAME (profiles)   token=TEXT: the access key's    tls=FILE: certificate and key
    tunnel=FILE: who wants this proxy to connect to AWS talks TLS, by FILE, to this server, and names the bucket as host
"""
import base64
import collections
import datetime
import hashlib
import hmac
import http.server
import json
import os
import re
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET = "AKIATEST", "a/b+c"
AT = {"slow": {2, 15}, "busy": {4}, "error": {6}, "timeout": {8}, "cut": {10, 20}, "old": {12}, "early": {14},
      "damage": {16}, "twist": {18}, "moving": {22}}
STATUS = {"SlowDown": 503, "InternalError": 500, "RequestTimeout": 400, "BadDigest": 400, "EntityTooLarge": 400,
          "XAmzContentSHA256Mismatch": 400, "TemporaryRedirect": 307, "PermanentRedirect": 301, "NoSuchBucket": 404,
          "AuthorizationHeaderMalformed": 400, "InvalidToken": 400, "MissingContentLength": 411, "KeyTooLongError": 400,
          "InvalidRequest": 400, "InvalidURI": 400}
AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                           r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})")


class State:
    lock = threading.Lock()
    folder = sys.argv[2]
    options = dict(word.partition("=")[::2] for word in sys.argv[3:])
    facts = collections.Counter()
    problems = []
    not_before = 0.0


class Refused(Exception):
    """An error of S3: its code, and what its XML and its head have besides."""

    def __init__(self, code, message="", headers=(), **elements):
        super().__init__(code)
        self.code, self.message, self.headers, self.elements = code, message, headers, elements


def hmac_sha256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def now():
    ahead = datetime.timedelta(hours=1 if "skew" in State.options else 0)
    return datetime.datetime.now(datetime.timezone.utc) + ahead


def tls(path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host = ""  # of a tunnel

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with State.lock:
            facts = dict(State.facts, problems=State.problems[:5], problem_cnt=len(State.problems))
            name = urllib.parse.unquote(self.path[len("/facts/"):])
            text = json.dumps(facts.get(name, 0) if name else facts)
        self.answer(200, text.encode())

    def do_CONNECT(self):
        self.send_response(200)
        self.end_headers()
        self.connection = tls(State.options["tunnel"]).wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.host = self.path.rpartition(":")[0]
        State.facts[f"tunnel {self.host}"] += 1

    def place(self):
        """Bucket and key, by the path, or by the host and the path."""
        path = urllib.parse.unquote(self.path)[1:]
        if not self.host:
            return path.partition("/")[::2]
        if self.one("host") != self.host:
            raise Refused("InvalidRequest", f"the host is {self.host}")
        server = f"s3.{State.options.get('region', 'us-east-1')}.amazonaws.com"
        if self.host == server:
            return path.partition("/")[::2]
        return self.host.removesuffix("." + server), path

    def do_PUT(self):
        with State.lock:
            State.facts["requests"] += 1
            number = State.facts["requests"]
            self.fault = next((name for name in State.options if number in AT.get(name, ())), None)
            State.facts[self.fault] += 1
            if time.monotonic() < State.not_before:
                State.problems.append("asked before Retry-After was over")
        while "silent" in State.options:
            time.sleep(1)
        if self.fault == "early":
            self.rfile.read(10)
            self.cut()
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with State.lock:
            try:
                self.take(body)
            except Refused as refused:
                self.refuse(refused)

    def cut(self):
        self.close_connection = True
        self.connection.close()

    def refuse(self, refused):
        State.facts[refused.code] += 1
        elements = {"Code": refused.code, "Message": refused.message or f"This is {refused.code} & no more",
                    **refused.elements, "RequestId": "4442587FB7D0A2F9"}
        text = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in elements.items())
        document = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{text}</Error>'
        self.answer(STATUS.get(refused.code, 403), document.encode(),
                    [("Content-Type", "application/xml"), *refused.headers])

    # --- Signatures ---

    def one(self, name):
        values = self.headers.get_all(name, [])
        if len(values) != 1:
            raise Refused("InvalidRequest", f"{len(values)} headers {name}")
        return values[0]

    def check_time(self, day):
        text = self.one("x-amz-date")
        sent = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs(now() - sent) > datetime.timedelta(minutes=15):
            raise Refused("RequestTimeTooSkewed", "The difference between both times is too large.",
                          RequestTime=text, ServerTime=now().strftime("%Y-%m-%dT%H:%M:%SZ"),
                          MaxAllowedSkewMilliseconds="900000")
        if text[:8] != day:
            raise Refused("AuthorizationHeaderMalformed", "the credential's date is another one")
        return text

    def check_signature(self, body):
        """That what has arrived is what was signed. The path is decoded and encoded again, so that one that was not
        encoded as S3 wants it gives another signature."""
        found = AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        if not found:
            raise Refused("AccessDenied")
        key_id, day, region, names, signature = found.groups()
        moment = self.check_time(day)
        if region != State.options.get("region", "us-east-1"):
            raise Refused("AuthorizationHeaderMalformed", f"the region '{region}' is wrong",
                          Region=State.options.get("region", "us-east-1"))
        if key_id != KEY_ID:
            raise Refused("InvalidAccessKeyId", "The access key does not exist in our records.")
        signed = names.split(";")
        must = {name.lower() for name in self.headers if name.lower().startswith("x-amz-")} | {"host", "content-md5"}
        if signed != sorted(set(signed)) or must - set(signed):
            raise Refused("AccessDenied", f"of the headers only {names} are signed")
        path, _, query = self.path.partition("?")
        if query:
            raise Refused("InvalidRequest", "there is a query")
        canonical = "\n".join(
            [self.command, urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/-_.~"), ""]
            + [f"{name}:{' '.join(self.one(name).split())}" for name in signed]
            + ["", names, self.one("x-amz-content-sha256")])
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = hmac_sha256(b"AWS4" + SECRET.encode(), day)
        for part in (region, "s3", "aws4_request"):
            key = hmac_sha256(key, part)
        if not hmac.compare_digest(hmac_sha256(key, text).hex(), signature):
            raise Refused("SignatureDoesNotMatch", "The request signature we calculated does not match the signature "
                          "you provided.", StringToSign=text, CanonicalRequest=canonical)
        if self.headers.get("x-amz-security-token", "") != State.options.get("token", ""):
            raise Refused("InvalidToken")
        if self.fault == "twist":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if hashlib.sha256(body).hexdigest() != self.one("x-amz-content-sha256"):
            raise Refused("XAmzContentSHA256Mismatch")

    # --- Objects ---

    def check_fault(self, key):
        if self.fault == "slow":
            raise Refused("SlowDown", "Please reduce your request rate.")
        if self.fault == "busy":
            State.not_before = time.monotonic() + 1
            raise Refused("SlowDown", headers=[("Retry-After", "1")])
        if self.fault == "error":
            raise Refused("InternalError")
        if self.fault == "timeout":
            raise Refused("RequestTimeout")
        if self.fault == "moving":
            raise Refused("TemporaryRedirect", Endpoint="profiles.s3-eu-west-1.amazonaws.com")
        if "moved" in State.options:
            raise Refused("PermanentRedirect", headers=[("x-amz-bucket-region", "eu-west-1")],
                          Endpoint="profiles.s3.amazonaws.com")
        if "deny" in State.options:
            raise Refused("AccessDenied", "Access Denied")
        if "poison" in State.options and "T1205" in key and not key.endswith(".json"):
            raise Refused("EntityTooLarge")

    def take(self, body):
        if "html" in State.options:
            self.answer(403, b"<html>\r\nnot here</html>")
            return
        bucket, key = self.place()
        self.check_signature(body)
        self.check_fault(key)
        if bucket != State.options.get("bucket", "profiles"):
            raise Refused("NoSuchBucket", "The specified bucket does not exist")
        if not 0 < len(key.encode()) <= 1024:
            raise Refused("KeyTooLongError")
        if not all(part.strip(".") for part in key.split("/")):
            raise Refused("InvalidURI")
        if self.fault == "damage":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if base64.b64encode(hashlib.md5(body).digest()).decode() != self.one("content-md5"):
            raise Refused("BadDigest")
        self.keep(os.path.join(State.folder, bucket, key), body)
        if self.fault == "cut":
            self.cut()
        elif self.fault == "old":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
            self.close_connection = True
        else:
            self.answer(200, headers=[("ETag", f'"{hashlib.md5(body).hexdigest()}"')])

    def keep(self, path, body):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            State.facts["again"] += 1
            with open(path, "rb") as file:
                if file.read() != body:
                    State.problems.append(f"{path} is another one than before")
        # Not where objects are looked for.
        part = os.path.join(State.folder, ".part")
        with open(part, "wb") as file:
            file.write(body)
        os.replace(part, path)
        State.facts["kept"] += 1


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


os.makedirs(State.folder, exist_ok=True)
server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
if "tls" in State.options:
    server.socket = tls(State.options["tls"]).wrap_socket(server.socket, server_side=True)
server.serve_forever()
