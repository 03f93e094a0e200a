# SPDX-License-Identifier: GPL-2.0-or-later
"""What addresses are called, worked out from TASKS, CODE and FILES as docs/format.md has them: slow, and not upto's way."""
import bisect
import collections

import decoder

SEEN, NEW, NAME, EXIT, EXEC = range(1, 6)
MODULE, FREED, MAPPED, CONTENT = range(1, 5)
Task = collections.namedtuple("Task", "change cpu ns insns task maker mm pid tgid ppid comm exe")
Code = collections.namedtuple("Code", "change cpu ns insns mm start size offset device inode file_size name functions")
Content = collections.namedtuple("Content", "id pieces")


class Functions:
    """A payload as SYMBOLS has it."""
    def __init__(self, payload):
        self.sections, self.list = decoder.symbol_table(decoder.Cursor(payload)) if payload else ([], [])
        self.addrs = [f[0] for f in self.list]

    def find(self, addr):
        i = bisect.bisect_right(self.addrs, addr) - 1
        return self.list[i] if i >= 0 and addr < self.list[i][1] else None


def label(path):
    name = path.rsplit("/", 1)[-1] or "anonymous"
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def shown(address, start, end, name, within):
    offset = address - start
    return name + (f"+{offset:#x}" if offset else "") + f" [{within}]"


class Places:
    def __init__(self, trace):
        self.trace = trace
        self.tasks, self.code, self.files = [], [], {}  # files by path and size, or by a content's number
        self.contents = {}  # what is known of them, by number
        for chunk in trace.chunks:
            if chunk.type in (decoder.TASKS, decoder.CODE, decoder.FILES):
                c = decoder.Cursor(trace.payload(chunk))
                while c.left():
                    if chunk.type == decoder.TASKS:
                        self.tasks.append(Task(c.u8(), *(c.varint() for _ in range(6)), *(c.svarint() for _ in range(3)),
                                               c.string(), c.string()))
                    elif chunk.type == decoder.CODE:
                        r = Code(c.u8(), *(c.varint() for _ in range(10)), c.string(), c.bytes())
                        if r.change == CONTENT:
                            self.take_content(r.size, decoder.Cursor(r.functions))
                        self.code.append(r._replace(functions=Functions(r.functions if r.change == MODULE else b"")))
                    else:
                        self.take_file(c)
        self.modules = []
        for r in self.code:
            if r.change == MODULE:
                self.modules += [[start, end, r.ns, 1 << 64, r] for start, end, _ in r.functions.sections[1:]]
            elif r.change == FREED:
                for m in reversed(self.modules):
                    if m[0] == r.start and m[3] == 1 << 64:
                        m[3] = r.ns
                        break
        self.remembered = {}
        self.content_of = self.mapped_contents()

    def take_content(self, number, c):
        known = self.contents.setdefault(number, Content(bytearray(), {}))
        if c.left():
            id = c.bytes()
            known.id[:] = known.id or id
            for _ in range(c.varint()):
                offset, length = c.varint(), c.varint()
                known.pieces[offset] = length, int.from_bytes(c.take(8), "little")

    def take_file(self, c):
        path = c.string()
        path, size, numbers = (path, c.varint(), []) if path else (c.string(), c.varint(), [c.varint() for _ in range(c.varint())])
        functions = Functions(c.bytes())
        for key in numbers or [(path, size)]:
            self.files[key] = functions  # the last one counts

    def mapped_contents(self):
        """The number of the content that each mapping has, by its place in the list; 0: not known."""
        numbers, last, alike = {}, {}, collections.defaultdict(set)
        for i, r in enumerate(self.code):
            if r.change == MAPPED:
                last[r.mm, r.start] = i
            elif r.change == CONTENT and (r.mm, r.start) in last:
                numbers[last[r.mm, r.start]] = r.size
        for i, number in numbers.items():
            alike[self.code[i][8:12]].add(number)
        # traces of several boots are not asked here
        return {id(r): numbers.get(i) or (list(alike[r[8:12]]) if len(alike[r[8:12]]) == 1 else [0])[0] for i, r in enumerate(self.code)}

    def of_task(self, task, ns):
        """What a task has mapped, the last mapping last."""
        mine = [r for r in self.tasks if r.task == task and r.ns <= ns]
        return self.mapped(mine[-1].mm, ns) if mine and mine[-1].mm else []

    def mapped(self, mm, ns):
        """An mm_struct is used again: it begins anew with an exec, or with a process that is made with it."""
        begin, inherited = 0, []
        for r in self.tasks:
            if r.mm != mm or r.ns > ns:
                continue
            if r.change == EXEC:
                begin, inherited = r.ns, []
            elif r.change == NEW and r.pid == r.tgid:
                parents = [p for p in self.tasks if p.tgid == r.ppid and p.mm and (p.ns, self.tasks.index(p)) < (r.ns, self.tasks.index(r))]
                if parents and parents[-1].mm != mm:
                    begin, inherited = r.ns, self.mapped(parents[-1].mm, r.ns)
        return inherited + [r for r in self.code if r.change == MAPPED and r.mm == mm and begin <= r.ns <= ns]

    def user(self, addr, ns, task):
        # what a task has mapped changes with records only
        version = task, bisect.bisect_right([r.ns for r in self.tasks], ns), bisect.bisect_right([r.ns for r in self.code], ns)
        if version not in self.remembered:
            self.remembered[version] = self.of_task(task, ns)
        for r in reversed(self.remembered[version]):
            if r.start <= addr < r.start + r.size:
                offset = addr - r.start + r.offset
                functions = self.files.get(self.content_of[id(r)] or (r.name, r.file_size))
                found = functions.find(offset) if functions else None
                if found:
                    return shown(offset, found[0], found[1], found[3], label(r.name))
                return label(r.name) + (f"+{offset:#x}" if offset else "")
        return f"{addr:#x}"

    def kernel(self, addr, ns):
        there = [m for m in self.modules if m[0] <= addr < m[1]]
        now = [m for m in there if m[2] <= ns < m[3]]
        later = [m for m in there if m[2] > ns]
        best = max(now, key=lambda m: m[2]) if now else min(later, key=lambda m: m[2]) if later else None
        if not best:
            return f"{addr:#x}"
        found = best[4].functions.find(addr)
        if found:
            return shown(addr, found[0], found[1], found[3], best[4].name)
        return f"{best[4].name}+{addr - best[0]:#x}"

    def name(self, addr, ns, task):
        own = self.trace.name(addr)
        if not own.startswith("0x"):
            return own
        return self.kernel(addr, ns) if addr >> 63 else self.user(addr, ns, task)
