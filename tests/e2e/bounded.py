#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bounded.py OUT COMMAND...: run it; into OUT how long it took and how much anonymous memory it had at the most.

OUT is one line, "seconds MiB". The exit status is the command's, 128 + N when signal N ended it.
"""
import subprocess
import sys
import time

POLL_S = 0.002


def anonymous_kib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def main():
    start = time.monotonic()
    peak_kib = 0
    with subprocess.Popen(sys.argv[2:]) as command:
        while command.poll() is None:
            peak_kib = max(peak_kib, anonymous_kib(command.pid))
            time.sleep(POLL_S)
        code = command.returncode
    with open(sys.argv[1], "w", encoding="ascii") as out:
        print(f"{time.monotonic() - start:.2f} {peak_kib / 1024:.1f}", file=out)
    return code if code >= 0 else 128 - code


sys.exit(main())
