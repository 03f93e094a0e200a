# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of KFI's and KFT's logs, and what kd prints of them. Written from the description of the formats, for small
logs: it looks through all rows again and again where upto keeps tables.

What that description leaves open is decided here, and in src/analysis/kd/kd_nest.h, likewise:
* A delta of -1, -2 or "no exit": the duration is not known. Such a call counts, but has no time, in no sum. 0 is a duration.
* The average is that of the calls that have a duration (of all calls as kd has it), cut to whole microseconds.
* Orders that are equal by -s are told by name.
* A row lies in the innermost call of its thread that is open when it is entered. Rows of interrupts without a thread (PID -1) are the
  thread's that had the last event. Two rows share a thread by their number, with or without `i`.
* Calls end in the order of their ends; of those that end together, what was entered last ends first. What is entered at that moment comes
  later, but for a call of 0 µs whose caller is the function that ends.
* The caller tells that a call is gone whose end is not known, or that ends before the row does: see stay().
* Self ("local") time: from one event to the next, the time is the innermost open call's of the thread that had the first one.
* A row begins a tree if it lies in no call, if it is an interrupt's and what it lies in is not, or if its caller is another function, and
  no filter can have left out that one. It stays in its tree if the caller is the function that it lies in.
"""
import collections
import re

SIGNS = "|!@[#;($/{%]*)&:\\}"
NEAR = 1 << 16  # a function is not longer
Row = collections.namedtuple("Row", "entry delta pid interrupt function caller offset")


class Log:
    def __init__(self, text):
        lines = text.replace("\r\n", "\n").split("\n")
        dashes = next(i for i, line in enumerate(lines) if line.lstrip().startswith("--------"))
        self.header = "\n".join(lines[:dashes])
        self.rows = [read_row(line) for line in lines[dashes + 1:] if line.strip()]
        self.rows.sort(key=lambda r: r.entry)
        self.all_callers = not re.search(r"maximum execution time|entry function list", self.header)
        self.addresses = sorted((address(r.function), r.function) for r in self.rows if address(r.function) is not None)

    def come_from(self, row):
        """The function that the row was called in; of an address that is in no function of the log, the address."""
        at = address(row.caller)
        if at is None:
            return row.caller
        below = [a for a in self.addresses if a[0] <= at]
        return below[-1][1] if below and at - below[-1][0] < NEAR else row.caller


def address(name):
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|[0-9a-fA-F]{8}|[0-9a-fA-F]{16}", name):
        return int(name, 16)
    return None


def read_row(line):
    words = line.replace("no exit", "-1", 1).split() if re.match(r"\s*\d+\s+no exit\b", line) else line.split()
    entry, delta, pid, function, caller = words[:5]
    name, _, offset = caller.partition("+")
    return Row(int(entry), None if int(delta) < 0 else int(delta), int(pid.rstrip("i")), pid == "-1" or pid.endswith("i"), function, name,
               int(offset or "0", 16))


class Call:
    """A row, and what becomes of it."""
    def __init__(self, number, row, come_from):
        self.number, self.row, self.come_from = number, row, come_from
        self.end = None if row.delta is None else row.entry + row.delta
        self.parent, self.open, self.local, self.sub, self.sub_by_name = None, True, 0, 0, 0


def stay(stack, call):
    """How many of the thread's open calls are still there when this one comes."""
    for n in range(len(stack), max(0, len(stack) - 256), -1):
        f = stack[n - 1]
        if call.come_from is not None and f.row.function == call.come_from:
            return n
        if f.end is not None and f.end >= (call.row.entry if call.end is None else call.end):
            return len(stack)
        if call.come_from is not None and f.come_from == call.come_from:
            return n - 1
    return len(stack)


class Nest:
    """Puts the rows into each other."""
    def __init__(self, log):
        self.stacks, self.current, self.last, self.thread_of = collections.defaultdict(list), None, 0, {}
        self.calls = []
        self.order = []  # ("enter" or "leave", call): as they come
        for number, row in enumerate(log.rows):
            self.enter(Call(number, row, log.come_from(row)), log)
        self.leave_until(None, None)

    def moment(self, t, thread):
        if self.current is not None and self.stacks[self.current]:
            top = [c for c in self.stacks[self.current] if c.open]
            if top:
                top[-1].local += max(0, t - self.last)
        self.current, self.last = thread, t

    def leave(self, call, t):
        thread = self.thread_of[call]
        self.moment(t, thread)
        call.open = False
        self.order.append(("leave", call))
        stack = self.stacks[thread]
        while stack and not stack[-1].open:
            stack.pop()

    def leave_until(self, t, new):
        while True:
            ending = [c for stack in self.stacks.values() for c in stack if c.open and c.end is not None and (t is None or c.end <= t)]
            if not ending:
                return
            c = min(ending, key=lambda c: (c.end, -c.number))
            stack = self.stacks[self.thread_of[c]]
            if new and c.end == t and new.row.delta == 0 and c is stack[-1] and self.thread_of[c] == self.thread(new) \
                    and new.come_from == c.row.function:
                return
            self.leave(c, c.end)

    def thread(self, call):
        return self.current if call.row.pid == -1 and self.current is not None else call.row.pid

    def enter(self, call, log):
        t = call.row.entry
        self.leave_until(t, call)
        thread = self.thread(call)
        self.moment(t, thread)
        stack = self.stacks[thread]
        keep = stay(stack, call)
        for gone in reversed(stack[keep:]):
            if gone.open:
                gone.open = False
                self.order.append(("leave", gone))
        del stack[keep:]
        while stack and not stack[-1].open:
            stack.pop()
        if stack:
            self.put_into(call, stack[-1], log)
        else:
            call.depth, call.root = 0, call
        stack.append(call)
        self.thread_of[call] = thread
        self.calls.append(call)
        self.order.append(("enter", call))

    def put_into(self, call, parent, log):
        call.parent = parent
        known = call.come_from is not None
        from_it = known and call.come_from == parent.row.function
        cuts_in = not from_it and ((call.row.interrupt and not parent.row.interrupt) or (known and log.all_callers))
        call.depth, call.root = (0, call) if cuts_in else (parent.depth + 1, parent.root)
        if call.row.delta is not None:
            inside = call.row.delta if parent.end is None else min(call.end, parent.end) - call.row.entry
            parent.sub += inside
            if from_it:
                parent.sub_by_name += call.row.delta


class Sum:
    def __init__(self):
        self.count = self.timed = self.time = self.sub = self.local = 0
        self.min, self.max, self.subs = None, 0, {}

    def add(self, row):
        self.count += 1
        if row.delta is not None:
            self.timed += 1
            self.time += row.delta
            self.min = row.delta if self.min is None else min(self.min, row.delta)
            self.max = max(self.max, row.delta)

    def add_sub(self, row):
        count, time = self.subs.get(row.function, (0, 0))
        self.subs[row.function] = (count + 1, time + (row.delta or 0))

    def ordered(self):
        return sorted(((name, *v) for name, v in self.subs.items()), key=lambda s: (-s[2], -s[1], s[0]))


def sums_as_kd(log):
    sums = {}
    for row in log.rows:
        sums.setdefault(row.function, Sum()).add(row)
    for row in log.rows:
        if row.caller in sums:
            sums[row.caller].sub += row.delta or 0
            sums[row.caller].add_sub(row)
    for s in sums.values():
        s.local, s.average = s.time - s.sub, s.time // s.count
    return sums


def sums_right(log):
    sums = {}
    for call in Nest(log).calls:
        s = sums.setdefault(call.row.function, Sum())
        s.add(call.row)
        if call.row.delta is not None:
            s.local += call.local
            s.sub += min(call.sub, call.row.delta - call.local)
        if call.parent:
            sums[call.parent.row.function].add_sub(call.row)
    for s in sums.values():
        s.average = s.time // s.timed if s.timed else 0
    return sums


# column: title, width, whether it is set left
COLUMNS = {"F": ("Function", 35, True), "c": ("Count", 5, False), "t": ("Time", 8, False), "a": ("Average", 8, False),
           "r": ("Range", 20, False), "s": ("Sub-time", 8, False), "l": ("Local", 8, False), "m": ("Max-sub", 35, True),
           "n": ("Ms count", 8, False), "u": ("Sub list", 8, True)}


def field(letter, name, s):
    subs = s.ordered()
    return str({"F": name, "c": s.count, "t": s.time, "a": s.average, "r": f"({s.min or 0}-{s.max})", "s": s.sub, "l": s.local,
                "m": subs[0][0] if subs else "-", "n": subs[0][1] if subs else 0,
                "u": ",".join(f"{n}:{c}:{t}" for n, c, t in subs) or "-"}[letter])


def table(sums, letters="Fctal", sort="t", lines=None, more_than=None):
    keys = {"c": lambda s: s.count, "t": lambda s: s.time, "a": lambda s: s.average, "s": lambda s: s.sub, "l": lambda s: s.local}
    names = sorted(n for n, s in sums.items() if more_than is None or s.time > more_than)
    if sort != "F":
        names.sort(key=lambda n: -keys[sort](sums[n]))
    columns = [COLUMNS[c] for c in letters]
    out = [" ".join(title.ljust(width) for title, width, _ in columns).rstrip(), " ".join("-" * width for _, width, _ in columns)]
    for name in names[:lines]:
        cells = [field(c, name, sums[name]) for c in letters]
        out.append(" ".join(t.ljust(w) if left else t.rjust(w) for t, (_, w, left) in zip(cells, columns)).rstrip())
    return "".join(line + "\n" for line in out)


TRACE_COLUMNS = {"e": (" Entry", 10), "t": (" Duration", 10), "l": (" Local", 10), "p": ("  Pid", 7)}


def trace(log, letters="et", depth=20, length=40, interlaced=False, as_kd=False):
    order = Nest(log).order
    columns = [TRACE_COLUMNS[c] for c in letters]
    out = [" ".join([title.ljust(width) for title, width in columns] + [" Trace"]),
           " ".join(["-" * width for _, width in columns] + ["-" * 33])]
    trees = {}
    opened = []  # roots that are open
    for what, call in order:
        if what == "leave":
            if call in opened:
                opened.remove(call)
                if call in trees and trees[call][1] and interlaced:
                    out.append(f"----------- {trees[call][0] * 4} end ----------------")
            continue
        if call.root is call:
            sign = SIGNS[len(trees) % len(SIGNS)] if interlaced else "|"
            cuts = call.parent is not None or any(c.end is not None for c in opened)
            trees[call] = (sign, cuts)
            opened.append(call)
            if cuts and interlaced:
                out.append(f"----------- {sign * 4} start --------------")
        if call.depth >= depth:
            continue
        row = call.row
        local = -1 if row.delta is None else row.delta - call.sub_by_name if as_kd else call.local
        values = {"e": row.entry, "t": -1 if row.delta is None else row.delta, "l": local, "p": row.pid}
        out.append(" ".join([str(values[c]).rjust(w) for c, (_, w) in zip(letters, columns)] +
                            [(trees[call.root][0] + "  ") * call.depth + row.function[:length]]))
    for call in reversed(opened):
        if trees[call][1] and interlaced:
            out.append(f"----------- {trees[call][0] * 4} end ----------------")
    return "".join(line + "\n" for line in out)
