#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that mean no good: web_clients.py ADDRESS PORT crowd|pieces|slow|garbage|flood|tricks. Silent when the server behaves."""
import os
import random
import socket
import struct
import sys
import threading
import time

CLIENTS = 200
GARBAGE_BYTES = int(os.environ.get("GARBAGE_MIB", "64")) << 20
BODY_BYTES = 1 << 20  # the most that a request may bring
FLOODERS = 4
HOST = (sys.argv[1], int(sys.argv[2]))


def connect(timeout=20):
    return socket.create_connection(HOST, timeout=timeout)


def read_all(sock):
    """What comes until the other side ends, however it does that."""
    parts = []
    try:
        while part := sock.recv(65536):
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


def ask(head, timeout=20):
    """The reply to a request that asks for one reply alone."""
    with connect(timeout) as sock:
        sock.sendall(head)
        return read_all(sock)


def get(path):
    return ask(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.") else 0


def crowd():
    """All at once: each is served, or told that there are too many."""
    paths = [b"/healthz", b"/metrics", b"/", b"/api/info", b"/api/functions?from=-1h", b"/api/profile?from=-1h&format=html"]
    start, statuses, lock = threading.Barrier(CLIENTS), [], threading.Lock()

    def client(path):
        start.wait()
        status = status_of(get(path))
        with lock:
            statuses.append(status)

    threads = [threading.Thread(target=client, args=(paths[i % len(paths)],)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    odd = [status for status in statuses if status not in (200, 503)]
    assert len(statuses) == CLIENTS and not odd, odd
    assert statuses.count(200) >= CLIENTS / 2, statuses.count(200)


def slow():
    """Byte by byte: hung up on in the end, and nobody else waits meanwhile. One takes its reply as slowly."""
    socks = [connect(40) for _ in range(100)]
    begun = time.monotonic()
    for sock in socks:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    alive, worst = set(socks), 0
    while alive and time.monotonic() - begun < 30:
        for sock in list(alive):
            try:
                sock.sendall(b"X")
            except OSError:
                alive.discard(sock)
        asked = time.monotonic()
        assert status_of(get(b"/healthz")) == 200
        worst = max(worst, time.monotonic() - asked)
        time.sleep(0.5)
    for sock in socks:
        sock.close()
    assert not alive, "%d still connected" % len(alive)
    assert worst < 10, worst


def garbage():
    """Bytes without sense, on many connections; the server is there afterwards."""
    source = random.Random(1)
    left = GARBAGE_BYTES
    while left > 0:
        data = source.randbytes(1 << 16)
        if source.random() < 0.5:
            data = b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + data
        try:
            with connect() as sock:
                for _ in range(16):
                    sock.sendall(data)
                    left -= len(data)
        except OSError:
            left -= len(data)
    assert status_of(get(b"/healthz")) == 200


def flood():
    """As much garbage again, and every byte of it is taken: bodies as long as they may be, each answered."""
    body = random.Random(2).randbytes(BODY_BYTES)
    head = b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    each, answers, lock = GARBAGE_BYTES // BODY_BYTES // FLOODERS, [], threading.Lock()

    def client():
        cnt = 0
        with connect(60) as sock, sock.makefile("rb") as replies:
            for _ in range(each):
                sock.sendall(head + body)
                assert replies.readline().startswith(b"HTTP/1.1 200 ")
                while not (line := replies.readline()).lower().startswith(b"content-length:"):
                    assert line.strip(), "a reply without a length"
                length = int(line.split(b":")[1])
                while replies.readline().strip():
                    pass
                assert replies.read(length) == b"num_symbols: 1\n"
                cnt += 1
        with lock:
            answers.append(cnt)

    threads = [threading.Thread(target=client) for _ in range(FLOODERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [each] * FLOODERS, answers


def tricks():
    """Paths that are none, and heads that are too long."""
    # What libmicrohttpd makes of a NUL in the path is the path before it.
    assert status_of(get(b"/healthz\0/../../etc/passwd")) in (200, 400)
    refused = [b"/../etc/passwd", b"/api/../api/info", b"/api//info", b"//", b"/%2e%2e/", b"/api/%69nfo", b"/api/info%00", b"/api/info/.",
               b"/healthz?a=%00", b"/healthz?a=1&a=2", b"/" + b"a" * 9000, b"/?" + b"&".join(b"p%d" % i for i in range(100)),
               b"http://example.org/", b"*", b"/api/inf\0o", b"/\xff\xfe"]
    for path in refused:
        status = status_of(get(path))
        assert status in (0, 400, 404, 414, 431), (path[:40], status)
    assert status_of(ask(b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n")) in (0, 400, 413, 414, 431)
    assert status_of(ask(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n")) in (0, 400, 413, 431)
    assert status_of(ask(b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")) == 413
    assert status_of(ask(b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")) == 403
    assert status_of(ask(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n\r\n")) == 403
    assert status_of(get(b"/healthz")) == 200


def pieces():
    """A report comes in pieces, whole to clients that would not see its end missing. Who takes the first piece alone costs nothing."""
    now = int(time.time())
    path = b"/api/profile?format=html&from=%d&to=%d" % (now - 3600, now)
    head, body = get(path).split(b"\r\n\r\n", 1)
    old_head, old_body = ask(b"GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" % path).split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding: chunked" in head and b"Content-Length: %d" % len(old_body) in old_head, (head, old_head)
    assert unchunked(body) == old_body
    assert b"Content-Length" in get(path.replace(b"html", b"folded")).split(b"\r\n\r\n")[0]

    shown = b"GET %s HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n"
    assert unchunked(ask(shown % path).split(b"\r\n\r\n", 1)[1]) == old_body
    assert status_of(get(path + b"&kind=none")) == 404
    failed = ask(shown % (path + b"&kind=none"))
    assert status_of(failed) == 200 and b'id="failed" class="failed">nothing of kind' in unchunked(failed.split(b"\r\n\r\n", 1)[1])
    assert status_of(ask(shown % (path + b"&select=x"))) == 400

    for i in range(CLIENTS):
        sock = connect()
        sock.sendall(shown % path)
        sock.recv(1 + i)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", i % 2, 0))
        sock.close()
    asleep = [connect() for _ in range(20)]
    for sock in asleep:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(shown % path)
    assert unchunked(get(path).split(b"\r\n\r\n", 1)[1]) == old_body
    for sock in asleep:
        sock.close()


def unchunked(body):
    """What the pieces of @body are together; it ends with the last chunk."""
    made = b""
    while True:
        size, body = body.split(b"\r\n", 1)
        size = int(size, 16)
        if not size:
            assert body == b"\r\n", body
            return made
        made += body[:size]
        assert body[size:size + 2] == b"\r\n"
        body = body[size + 2:]


{"crowd": crowd, "pieces": pieces, "slow": slow, "garbage": garbage, "flood": flood, "tricks": tricks}[sys.argv[3]]()
