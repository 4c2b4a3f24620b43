# SPDX-License-Identifier: Apache-2.0
"""Stacks as gdb sees them, for `gdb -batch -x gdb_stacks.py CORE`: one line per thread, "TID ip ip ...".

Leaf first, callers moved back onto the call, as snapshot --print writes them. A stack through libgcc's
unwinder ends there with "...": what gdb finds above depends on how far it has got.
"""
import gdb


def ips(frame):
    newer = None
    while frame is not None:
        # What gdb adds from debug information has no return address of its own.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            is_exact = newer is None or newer.type() == gdb.SIGTRAMP_FRAME
            yield "%x" % (frame.pc() - (0 if is_exact else 1))
            newer = frame
            if (frame.name() or "").startswith("_Unwind_"):
                yield "..."
                return
        frame = frame.older()


gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print(thread.ptid[1] or thread.ptid[0], *ips(gdb.newest_frame()))
