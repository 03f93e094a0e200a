# SPDX-License-Identifier: GPL-2.0-or-later
"""For gdb (-x): at chosen instructions of a guest, the values of variables, as gdb finds them, as lines of JSON.

VARIABLES: a file of {"image", "socket", "hits", "places": [{"address", "function", "names"}]}."""
import json
import os

import gdb

with open(os.environ["VARIABLES"]) as f:
    asked = json.load(f)


def number_of(value):
    kind = value.type.strip_typedefs().code
    if value.is_optimized_out or kind not in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_CHAR):
        return None
    return int(value) & (1 << 8 * value.type.sizeof) - 1


class Place(gdb.Breakpoint):
    def __init__(self, place):
        super().__init__(f"*{place['address']}", gdb.BP_HARDWARE_BREAKPOINT, internal=True)
        self.silent, self.place, self.left = True, place, asked["hits"]

    def stop(self):
        frame, values = gdb.selected_frame(), {}
        # what is inlined there is a frame of its own for gdb
        while frame and frame.name() != self.place["function"]:
            frame = frame.older() if frame.type() == gdb.INLINE_FRAME else None
        for name in self.place["names"] if frame else ():
            try:
                values[name] = number_of(frame.read_var(name))
            except (gdb.error, ValueError):
                values[name] = None
        print(json.dumps({"address": self.place["address"], "frame": frame is not None, "values": values}))
        self.left -= 1
        self.enabled = self.left > 0
        return False


gdb.execute("set pagination off")
gdb.execute("set breakpoint always-inserted on")
gdb.execute("set print entry-values no")
gdb.execute(f"file {asked['image']}")
gdb.execute(f"target remote {asked['socket']}")
places = [Place(p) for p in asked["places"]]
try:
    gdb.execute("continue")
except gdb.error:
    pass
