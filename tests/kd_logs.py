# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs of KFI and KFT for tests: a machine that calls, is interrupted and switches threads, and what its log would be."""
import random

FUNCTIONS = ["do_fork", "copy_process", "alloc_pidmap", "copy_mm", "do_softirq", "__do_softirq", "sys_read", "vfs_read", "schedule",
             "__switch_to", "timer_interrupt", "profile_tick", "handle_IRQ_event", "do_timer", "kmalloc", "kfree", "find_vma",
             "handle_mm_fault"]
ORDINARY = [f for f in FUNCTIONS if f not in ("schedule", "__switch_to", "timer_interrupt", "profile_tick", "do_timer", "handle_IRQ_event")]
ASSEMBLER = ["system_call", "ret_from_intr"]  # call, but have no rows


class Row:
    def __init__(self, entry, pid, interrupt, function, caller, offset):
        self.entry, self.pid, self.interrupt, self.function, self.caller, self.offset = entry, pid, interrupt, function, caller, offset
        self.delta, self.local = None, 0


class Machine:
    """One CPU. `local` of each row is what it really ran, in microseconds."""
    def __init__(self, rng, threads=3, interrupts=True, switches=True, calls=200):
        self.rng, self.interrupts, self.switches, self.left = rng, interrupts, switches, calls
        self.now, self.rows, self.stack, self.pid = rng.randrange(1000), [], [], None
        threads = {100 + i: self.life(100 + i) for i in range(threads)}
        while threads:
            self.pid = rng.choice(list(threads))
            try:
                self.stack = next(threads[self.pid])
            except StopIteration:
                del threads[self.pid]

    def tick(self, stack, least=0):
        us = self.rng.choice((least, 1, 2, 3, 10, 40)) or least
        self.now += us
        if stack:
            stack[-1].local += us

    def enter(self, stack, function, caller, pid, interrupt=False):
        row = Row(self.now, pid, interrupt, function, caller, self.rng.randrange(1, 64) * 4)
        self.rows.append(row)
        stack.append(row)

    def leave(self, stack):
        row = stack.pop()
        row.delta = self.now - row.entry

    def life(self, pid):
        stack = []
        while self.left > 0:
            yield from self.call(stack, self.rng.choice(ORDINARY), "system_call", pid, 0)
            self.tick(stack, 1)
            yield stack
        self.tick(stack, 1)

    def call(self, stack, function, caller, pid, depth):
        self.left -= 1
        self.enter(stack, function, caller, pid)
        for _ in range(self.rng.choice((0, 0, 1, 2, 4))):
            self.tick(stack)
            what = self.rng.random()
            if what < 0.1 and self.interrupts:
                self.interrupt(stack, pid)
            elif what < 0.2 and self.switches and self.left > 0:
                yield from self.schedule(stack, function, pid)
            elif depth < 6 and self.left > 0:
                yield from self.call(stack, self.rng.choice(ORDINARY), function, pid, depth + 1)
        self.tick(stack)
        self.leave(stack)

    def schedule(self, stack, caller, pid):
        """Who runs next goes on at once where it was, in the end of its own __switch_to()."""
        self.enter(stack, "schedule", caller, pid)
        self.tick(stack)
        self.enter(stack, "__switch_to", "schedule", pid)
        self.tick(stack, 1)
        yield stack
        self.leave(stack)
        self.tick(stack)
        self.leave(stack)

    def interrupt(self, stack, pid):
        kind = self.rng.choice(("entry has the PID", "-1", "i"))
        inside = pid if kind == "i" else -1
        self.enter(stack, "timer_interrupt", "ret_from_intr", pid if kind != "-1" else -1, kind != "entry has the PID")
        self.tick(stack)
        for function in ("profile_tick", "do_timer")[:self.rng.randrange(3)]:
            self.enter(stack, function, "timer_interrupt", inside, True)
            self.tick(stack)
            self.leave(stack)
        self.tick(stack)
        self.leave(stack)


FILTERS = {
    "none": ("", lambda r, n: True),
    "mintime": ("\t{n} usecs minimum execution time\n", lambda r, n: r.delta >= n),
    "maxtime": ("\t{n} usecs maximum execution time\n", lambda r, n: r.delta <= n),
    "noints": ("\tno functions in interrupt context\n", lambda r, n: not r.interrupt),
    "onlyints": ("\tno functions NOT in interrupt context\n", lambda r, n: r.interrupt),
    "funclist": ("\t9-entry function list\n", lambda r, n: FUNCTIONS.index(r.function) % 2 == 0),
}


class Style:
    """How a version of KFI or KFT writes its log."""
    def __init__(self, rng):
        self.rng = rng
        self.moments_first = rng.random() < 0.5
        self.hex = rng.choice(("", "0x"))
        self.bits = rng.choice((32, 64))
        self.resolved = rng.random() < 0.6
        self.offsets = rng.random() < 0.7
        self.no_exit = rng.choice(("-1", "-2", "no exit"))
        self.more = rng.random() < 0.3
        self.line_end = rng.choice(("\n", "\n", "\r\n"))
        self.widths = [rng.choice((8, 9, 10, 12)) for _ in range(5)]
        self.title = rng.choice(("Kernel Instrumentation Run ID", "Kernel Function Trace Run ID"))
        self.blank_lines = rng.random() < 0.5

    def address(self, name, offset=0):
        base = 0xc0008000 if self.bits == 32 else 0xffffffff80008000
        at = base + FUNCTIONS.index(name) * 0x400 if name in FUNCTIONS else base - 0x100000 + ASSEMBLER.index(name) * 0x100
        return f"{self.hex}{at + offset:0{self.bits // 4}x}"

    def function(self, name):
        return name if self.resolved else self.address(name)

    def caller(self, row):
        if not self.resolved:
            return self.address(row.caller, row.offset)
        return f"{row.caller}+0x{row.offset:x}" if self.offsets else row.caller

    def row(self, row):
        pid = f"{row.pid}i" if row.interrupt and row.pid != -1 else str(row.pid)
        delta = self.no_exit if row.delta is None else str(row.delta)
        cells = [str(row.entry), delta, pid, self.function(row.function), self.caller(row)]
        line = " ".join(c.rjust(w) if i < 3 else "  " + c.ljust(w) for i, (c, w) in enumerate(zip(cells, self.widths)))
        return line.rstrip() + ("  c7f3ff10 0x1 0x2 0x3" if self.more else "")

    def log(self, rows, filter_text="", start="entry to function", moments=True):
        began = f"Logging started at {rows[0].entry if rows else 0} usec by {start} {self.function('do_fork')}\n"
        ended = f"Logging stopped at {max((r.entry for r in rows), default=0)} usec by log full\n"
        both = began + ended if moments else ""
        head = f"\n{self.title} 3\n\n" + (both if self.moments_first else "") + "\nFilters:\n" + filter_text + \
            "\nFilter Counters:\n\nExecution time filter count = 7\nTotal entries filtered = 7\nEntries not found = 24\n\n" + \
            f"Number of entries after filters = {len(rows)}\n\n" + ("" if self.moments_first else both) + \
            "\n Entry      Delta       PID      Function    " + ("Called At" if self.more else "Caller") + "\n"
        dashes = "--------   --------   --------   --------   --------\n"
        text = head + dashes + "".join(self.row(r) + "\n" + ("\n" if self.blank_lines and self.rng.random() < 0.05 else "") for r in rows)
        return text.replace("\n", self.line_end)


def made(seed):
    """A log of its own kind for each seed, as text."""
    rng = random.Random(seed)
    rows = Machine(rng, threads=rng.choice((1, 2, 3, 6)), interrupts=rng.random() < 0.7, switches=rng.random() < 0.7,
                   calls=rng.choice((10, 60, 250))).rows
    kind = rng.choice(list(FILTERS))
    text, keeps = FILTERS[kind]
    limit = rng.choice((1, 5, 30, 200))
    rows = [r for r in rows if keeps(r, limit)]
    for row in rows:
        if rng.random() < 0.04 and seed % 2:
            row.delta = None
        elif row.delta and rng.random() < 0.02 and seed % 3 == 0:
            row.delta += rng.choice((-1, 1, 5))  # rounded otherwise, or damaged
    if seed % 7 == 0:
        rng.shuffle(rows)
    return Style(rng).log(rows, text.format(n=limit))
