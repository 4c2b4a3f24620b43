# SPDX-License-Identifier: Apache-2.0
"""A load for CPython: recursion, generators, strings, C extensions, threads. Runs until killed."""
import hashlib
import json
import re
import sqlite3
import threading
import zlib


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def texts():
    data = {str(i): [i, i * 2.5, "text %d" % i] for i in range(200)}
    dump = json.dumps(data)
    json.loads(dump)
    re.sub(r"(\w+) (\d+)", lambda m: m.group(2) + m.group(1), dump)
    sorted(dump.split(","), key=lambda s: s[::-1])


def natives():
    blob = bytes(range(256)) * 500
    hashlib.sha256(zlib.compress(blob)).hexdigest()
    database = sqlite3.connect(":memory:")
    database.create_function("twice", 1, lambda x: x * 2)
    database.execute("create table t (x)")
    database.executemany("insert into t values (?)", ((i,) for i in range(500)))
    database.execute("select sum(twice(x)) from t").fetchall()
    database.close()


def work():
    while True:
        fib(16)
        texts()
        natives()


threading.Thread(target=work, daemon=True).start()
work()
