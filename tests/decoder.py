# SPDX-License-Identifier: GPL-2.0-or-later
"""A decoder of trace files, written from docs/format.md and sharing nothing with upto's own.

    trace = Trace(path)
    for chunk in trace.chunks:
        if chunk.type == EVENTS:
            for event in trace.events(chunk): ...
"""
import bisect
import collections
import ctypes
import mmap
import re
import struct
import zlib

META, SITES, EVENTS, SYMBOLS, END, TASKS, CODE, FILES, TEXTS, FACTS, SUMS, HELD, STACKS = range(1, 14)
FILE_MAGIC = b"\x89upto\r\n\x1a"
CHUNK_MAGIC = 0x4b4e4843
CHUNK_HEADER = struct.Struct("<IHHIIQQQQQQQQIIII")
STORED_MAX, UNPACKED_MAX, CPUS_MAX = 257 << 20, 256 << 20, 1024

(CALL, CALL_INDIRECT, RETURN, JUMP, JUMP_INDIRECT, ARRIVE, INTERRUPT_RETURN, INTERRUPT, SYSCALL, SYSCALL_RETURN,
 HALT, RESUME, TASK_SWITCH, ADDRESS_SPACE, CLOCK, GAP) = range(1, 17)
KINDS = [None, "call", "call-indirect", "return", "jump", "jump-indirect", "arrive", "interrupt-return", "interrupt",
         "syscall", "syscall-return", "halt", "resume", "task-switch", "address-space", "clock", "gap"]
HAS_CLOCK = {INTERRUPT, SYSCALL, SYSCALL_RETURN, HALT, RESUME, TASK_SWITCH, CLOCK}
HAS_SLOT = {CALL, CALL_INDIRECT, RETURN, INTERRUPT_RETURN, INTERRUPT}
HAS_ORIGIN = {CALL, CALL_INDIRECT, JUMP, JUMP_INDIRECT, ARRIVE}
N_ARGS = {INTERRUPT_RETURN: 2, INTERRUPT: 3, SYSCALL: 8, SYSCALL_RETURN: 1, TASK_SWITCH: 2, ADDRESS_SPACE: 1, GAP: 5}
FIRST_SITE = 32

MISS_SITE, MISS_INSNS, MISS_SLOT, MISS_FROM, MISS_TARGET, SECOND_SITE, SECOND_INSNS, MISS_PHRASE = \
    1, 2, 4, 8, 16, 32, 64, 128
# entries of the model's tables
CONTEXTS, MEMORY, SHIFTS, TARGETS, PHRASE_SETS = 1 << 16, 1 << 13, 1 << 12, 1 << 14, 1 << 11
WINDOW_EVENTS, PHRASE_EVENTS, PHRASE_WAYS, OPEN_CALLS = 512, 31, 8, 16
M64 = (1 << 64) - 1
STEP_MAX = (1 << 16) - 1
CONTINUES, BEHIND_GAP = 2, 4  # a chunk's flags

Chunk = collections.namedtuple("Chunk", "magic type cpu stored unpacked number first_insns last_insns first_ns last_ns "
                                        "place space task events flags reserved crc offset")
Site = collections.namedtuple("Site", "kind length addr target")
Symbol = collections.namedtuple("Symbol", "addr end section name")
Section = collections.namedtuple("Section", "addr end name")
# names of functions; by their numbers: {(function, caller): [calls, instructions, ns]}; by number: the same without and with folded thunks, or None
Sums = collections.namedtuple("Sums", "functions pairs shown folded")


class Damaged(Exception):
    pass


class Cursor:
    """Reads from bytes, front to back."""
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def u8(self):
        if self.at >= len(self.data):
            raise Damaged("too short")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, n):
        if n > self.left():
            raise Damaged("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def until_nul(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise Damaged("too short")
        return self.take(end + 1 - self.at)[:-1]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value & M64
        raise Damaged("a number is too long")

    def svarint(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def bytes(self):
        return self.take(self.varint())

    def string(self):
        return self.take(self.varint()).decode(errors="replace")


def load_zstd():
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return lib


ZSTD = load_zstd()


def unpack(data, size):
    out = ctypes.create_string_buffer(size or 1)
    if ZSTD.ZSTD_decompress(out, size, data, len(data)) != size:  # errors are numbers far above
        raise Damaged("a payload does not unpack")
    return out.raw[:size]


class Trace:
    """A file's chunks and its tables; self.cut says why the file ends early, None if it does not."""
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, crc = struct.unpack_from("<8sII", self.data)
        if magic != FILE_MAGIC or version not in (5, 6, 7, 8, 9):
            raise Damaged("not a trace of format version 5 to 9")
        if crc != (zlib.crc32(self.data[:12]) if version >= 9 else 0):
            raise Damaged("the file's header is damaged")
        self.chunks, self.cut = [], None
        self.meta, self.sections, self.symbols, self.symbol_addrs = {}, [], [], []
        self.all_symbols = []  # of all SYMBOLS chunks
        self.sites = [Site(k if INTERRUPT <= k <= GAP else 0, 0, 0, 0) for k in range(FIRST_SITE)]
        self._walk()
        for chunk in self.chunks:
            if chunk.type in (META, END):
                self.meta.update(parse_meta(self.payload(chunk)))
            elif chunk.type == SITES:
                self._add_sites(Cursor(self.payload(chunk)))
            elif chunk.type == SYMBOLS:
                self._set_symbols(Cursor(self.payload(chunk)))

    def _walk(self):
        offset, size = 16, len(self.data)
        while offset + CHUNK_HEADER.size <= size:
            chunk = Chunk(*CHUNK_HEADER.unpack_from(self.data, offset), offset)
            if chunk.magic != CHUNK_MAGIC or chunk.crc != zlib.crc32(self.data[offset:offset + 92]) or \
                    chunk.stored > STORED_MAX or chunk.unpacked > UNPACKED_MAX or chunk.cpu >= CPUS_MAX:
                self.cut = "a chunk header is damaged"
                return
            if chunk.number != len(self.chunks):
                self.cut = "a chunk is missing"
                return
            offset += CHUNK_HEADER.size + chunk.stored
            if offset > size:
                break
            self.chunks.append(chunk)
            if chunk.type == END:
                return
        self.cut = "cut short within a chunk" if offset != size else "no END"

    def payload(self, chunk):
        start = chunk.offset + CHUNK_HEADER.size
        return unpack(self.data[start:start + chunk.stored], chunk.unpacked)

    def _add_sites(self, c):
        first, n, addr = c.varint(), c.varint(), 0
        if first != len(self.sites):
            raise Damaged("sites are missing")
        for _ in range(n):
            kind, length = c.u8(), c.u8()
            if not CALL <= kind <= INTERRUPT_RETURN:
                raise Damaged("a site's kind")
            addr = (addr + c.svarint()) & M64
            target = (addr + c.svarint()) & M64 if kind in (CALL, JUMP) else 0
            self.sites.append(Site(kind, length, addr, target))

    def _set_symbols(self, c):
        self.sections, self.symbols = symbol_table(c)
        self.symbol_addrs = [s.addr for s in self.symbols]
        self.all_symbols += self.symbols

    def held(self):
        """Numbers of the calls that are there only for others' sake."""
        numbers = []
        for c in self.chunks:
            cursor = Cursor(self.payload(c)) if c.type == HELD else Cursor(b"")
            while cursor.left():
                numbers.append((numbers[-1] if numbers else 0) + cursor.varint())
        return numbers

    def stacks(self):
        """What threads are in the middle of where gaps end: of each (gap, task, since, on, place, calls), a call being (kind, slot, from, target, ns, number)."""
        found = []
        for c in (Cursor(self.payload(c)) for c in self.chunks if c.type == STACKS):
            while c.left():
                gap, task, since, on, place, n = (c.varint() for _ in range(6))
                calls = []
                for _ in range(n):
                    kind, slot, back, target, ns = c.u8(), *(c.varint() for _ in range(4))
                    calls.append((kind, slot, back, target, ns, c.varint() if kind in (4, 5) else None))
                found.append((gap, task, since - 1 if since else None, on, place, calls))
        return found

    def sums(self):
        """Those of each SUMS chunk."""
        return [self._sums(Cursor(self.payload(c))) for c in self.chunks if c.type == SUMS]

    def _sums(self, c):
        functions = self._summed_functions(c)
        n, counts = len(functions), [c.varint() for _ in functions]
        of, callers = [f for f, count in enumerate(counts) for _ in range(count)], []
        for i, f in enumerate(of):
            callers.append(c.varint() + (callers[-1] + 1 if i and of[i - 1] == f else 0))
        before = [i - 1 if i and of[i - 1] == f else None for i, f in enumerate(of)]
        calls, insns, ns = [c.varint() for _ in of], [], []
        for total, whole in (insns, calls), (ns, insns):
            for i, b in enumerate(before):
                expected = (whole[i] * total[b] & M64) // whole[b] if b is not None and whole[b] else 0
                total.append((expected + c.svarint()) & M64)
        expected = [[0, 0, 0] for _ in functions]
        for pair in zip(of, callers, calls, insns, ns):
            for k, value in enumerate(pair[2:]):
                expected[pair[0]][k] += value
                expected[pair[1]][k] -= value if k else 0
        views, there = [None, None], c.u8()
        for v in range(2):
            if there >> v & 1:
                columns = [[c.svarint() for _ in range(n)] for _ in range(3)]
                views[v] = expected = [[e[k] + columns[k][i] for k in range(3)] for i, e in enumerate(expected)]
        if c.left():
            raise Damaged("bytes left over")
        return Sums(functions, {p[:2]: list(p[2:]) for p in zip(of, callers, calls, insns, ns)}, *views)

    def _summed_functions(self, c):
        functions, at = [], -1
        for _ in range(c.varint()):
            at += c.varint() + 1
            functions.append(self.all_symbols[at].name)
        others = [c.string() for _ in range(c.varint())]
        for _ in others:
            c.varint()
        return functions + others

    def name(self, addr):
        """function, function+0x12, or 0x1234 where there is none."""
        link = (addr - int(self.meta.get("slide", "0"), 0)) & M64
        i = bisect.bisect_right(self.symbol_addrs, link) - 1
        if i < 0 or link >= self.symbols[i].end:
            return f"{addr:#x}"
        offset = link - self.symbols[i].addr
        return self.symbols[i].name + (f"+{offset:#x}" if offset else "")

    def events(self, chunk):
        """A chunk's events as dicts: kind, insns, slot, from, target, args; ns if the kind carries a clock."""
        unit = self.continued(chunk)
        decoder = Decoder(self.sites, (unit + [chunk])[0])
        for before in unit:
            for _ in decoder.events(self.payload(before)):
                pass
        return decoder.events(self.payload(chunk))

    def continued(self, chunk):
        """The chunks of its vCPU that a chunk's model goes on from, in their order."""
        before = []
        for other in reversed(self.chunks[:chunk.number]):
            if not chunk.flags & CONTINUES:
                break
            if other.type == EVENTS and other.cpu == chunk.cpu:
                before.insert(0, other)
                chunk = other
        return before


def symbol_table(c):
    """Its sections and its symbols."""
    columns = (n := c.varint()) == 0
    sections = [Section(c.varint(), c.varint(), c.string()) for _ in range(n or c.varint())]
    return sections, (symbols_in_columns if columns else symbols_in_rows)(c)


def symbols_in_rows(c):
    places, addr = [], 0
    for _ in range(c.varint()):
        addr += c.varint()
        places.append((addr, addr + c.varint(), c.varint()))
    return [Symbol(*place, c.string()) for place in places]


def symbols_in_columns(c):
    n = c.varint()
    gaps = [c.svarint() for _ in range(n)]
    sizes = [c.u8() for _ in range(n)]
    sizes = [low + (c.u8() << 4) for low in sizes]
    sizes = [low + (c.varint() << 12) for low in sizes]
    sections = [c.varint() for _ in range(n)]
    shared = [c.u8() for _ in range(n)]
    symbols, end, name = [], 0, b""
    for gap, size, section, kept in zip(gaps, sizes, sections, shared):
        if kept > len(name):
            raise Damaged("a symbol's name")
        rest = c.until_nul()
        name, addr = name[:kept] + rest, (end + gap) & M64
        end = (addr + size) & M64
        symbols.append(Symbol(addr, end, section, name.decode(errors="replace")))
    return symbols


def parse_meta(data):
    meta = {}
    for line in data.decode(errors="replace").split("\n")[:-1]:
        key, equals, value = line.partition("=")
        if not equals:
            raise Damaged("a line is not key=value")
        meta[key] = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m.group(1), 16)), value)
    return meta


def hash64(x):
    x = x * 0x9e3779b97f4a7c15 & M64
    return x ^ x >> 32


def in_kernel(addr):
    return addr >> 63


class Way:
    """A site that came next in a context, and what it came with."""
    def __init__(self, site):
        self.site, self.step, self.second, self.dslot, self.elsewhere, self.phrase = site, 0, 0, 0, False, 0


class Decoder:
    """The model, and the streams of one chunk."""
    def __init__(self, sites, chunk):
        self.sites = sites
        self.insns, self.ns, self.space = chunk.first_insns, chunk.first_ns, chunk.space >> 12
        self.slot = self.place = self.before = self.last_shift = self.resume = 0
        # index -> entry; what is not there is all zeros
        self.contexts, self.memory, self.shifts, self.targets = {}, {}, {}, {}
        # index -> which is learned next, and {number: (call's site, events)}
        self.phrases = {}
        # (site's number, event) since the window began; and which of them are open calls
        self.window, self.open_calls = [], []

    def memory_index(self, slot):
        return hash64((slot if in_kernel(slot) else slot ^ (self.space << 1) & M64) >> 1) % MEMORY

    def shift_key(self, site):
        return site.addr >> 16 ^ (self.space << 20) & M64

    def target_index(self, number):
        return hash64(number << 20 ^ self.before) % TARGETS

    def expect_shift(self, site):
        if in_kernel(site.addr):
            return 0
        key = self.shift_key(site)
        seen_key, shift = self.shifts.get(hash64(key) % SHIFTS, (0, 0))
        return shift if seen_key == key else self.last_shift

    def expect_from(self, site):
        if site.kind in (CALL, CALL_INDIRECT):
            return site.addr + site.length + self.expect_shift(site)
        if site.kind in (JUMP, JUMP_INDIRECT, ARRIVE):
            return site.addr + self.expect_shift(site)
        return 0

    def remembered(self, slot):
        """(address, site) of the call that pushed there; site is 0 when none is known."""
        at, addr, number = self.memory.get(self.memory_index(slot), (0, 0, 0))
        return (addr, number) if at == slot else (0, 0)

    def expect_target(self, way, site, number, slot, origin):
        kind = site.kind
        if kind == CALL:
            return site.target + origin - site.addr - site.length
        if kind == JUMP:
            return site.target + origin - site.addr
        if kind == ARRIVE:
            return origin
        if kind == RETURN:
            return self.targets.get(self.target_index(number), 0) if way.elsewhere else self.remembered(slot)[0]
        if kind == INTERRUPT_RETURN:
            addr, pushed = self.remembered(slot)
            return addr if pushed else self.resume
        if kind == SYSCALL_RETURN:
            return self.resume
        if kind in (CALL_INDIRECT, JUMP_INDIRECT, INTERRUPT, SYSCALL):
            return self.targets.get(self.target_index(number), 0)
        return 0

    def events(self, payload):
        whole = Cursor(payload)
        sizes = struct.unpack("<7I", whole.take(28))
        self.streams = [Cursor(whole.take(n)) for n in sizes]
        self.window, self.open_calls = [], []
        for byte in self.streams[0].data:
            for number, event in self.event(byte):
                yield event
                self.window.append((number, event))
                if "ns" in event or len(self.window) == WINDOW_EVENTS:
                    self.window, self.open_calls = [], []
        if any(stream.left() for stream in self.streams[1:]):
            raise Damaged("bytes left over")

    def event(self, flags):
        """The next one, and with a call its phrase, if that follows; each with its site's number."""
        _, sites, insns, slots, addrs, args, phrases = self.streams
        ways = self.contexts.setdefault(hash64(self.place) % CONTEXTS, [Way(0), Way(0)])
        if flags & MISS_SITE:
            number = ways[1].site if flags & SECOND_SITE else sites.varint()
            ways[:] = [ways[1] if ways[1].site == number else Way(number), ways[0]]
        way = ways[0]
        number = way.site
        site = self.sites[number] if number < len(self.sites) else self.sites[0]
        kind = site.kind
        if not kind:
            raise Damaged("an event's site")
        step = way.second if flags & SECOND_INSNS else insns.varint() if flags & MISS_INSNS else way.step
        event = {"kind": KINDS[kind], "insns": (self.insns + step) & M64}
        slot = 0
        if kind in HAS_SLOT:
            slot = (self.slot + way.dslot + (slots.svarint() if flags & MISS_SLOT else 0)) & M64
        origin = (self.expect_from(site) + (addrs.svarint() if flags & MISS_FROM else 0)) & M64
        target = self.expect_target(way, site, number, slot, origin)
        target = (target + (addrs.svarint() if flags & MISS_TARGET else 0)) & M64
        event["slot"], event["from"], event["target"] = slot, origin, target
        event["args"] = [args.varint() for _ in range(N_ARGS.get(kind, 0))]
        if kind in HAS_CLOCK:
            self.ns = event["ns"] = (self.ns + args.svarint()) & M64
        if kind in HAS_SLOT:
            way.dslot = (slot - self.slot + (1 << 31)) % (1 << 32) - (1 << 31)
            self.slot = slot
        if step != way.step:
            way.step, way.second = min(step, STEP_MAX), way.step
        self.insns = event["insns"]
        self.learn(way, site, number, event)
        if kind in (CALL, CALL_INDIRECT):
            way.phrase = phrases.u8() if flags & MISS_PHRASE else way.phrase
            if way.phrase:
                return [(number, event), *self.phrase(number, event, way.phrase)]
            self.memory[self.memory_index(slot)] = slot, origin, number
        self.follow(number, kind, event)
        return [(number, event)]

    def phrase(self, number, call, which):
        _, known_phrases = self.phrases.get(number % PHRASE_SETS, (0, {}))
        known, parts = known_phrases.get(which, (0, []))
        if known != number or len(self.window) + 1 + len(parts) > WINDOW_EVENTS:
            raise Damaged("a phrase that is not known")
        self.insns = call["insns"] + parts[-1][1] & M64
        self.move(number << 14 | 2)
        for site, insns, slot, origin, target in parts:
            kind = self.sites[site].kind
            yield site, {
                "kind": KINDS[kind], "insns": call["insns"] + insns & M64, "args": [],
                "slot": call["slot"] + slot & M64 if kind in HAS_SLOT else 0,
                "from": call["from"] + origin & M64 if kind in HAS_ORIGIN else 0,
                "target": call["from"] + target & M64,
            }

    def follow(self, number, kind, event):
        """Learn a phrase, if the event ends one. It is not in the window yet."""
        if kind in (CALL, CALL_INDIRECT):
            self.open_calls.append(len(self.window))
            if len(self.open_calls) == OPEN_CALLS:
                self.open_calls = []
        elif kind == RETURN and self.open_calls:
            at = self.open_calls.pop()
            caller, call = self.window[at]
            if call["slot"] != event["slot"]:
                self.open_calls = []
            elif len(self.window) - at <= PHRASE_EVENTS and event["target"] == call["from"]:
                parts = [part(call, *e) for e in [*self.window[at + 1:], (number, event)]]
                self.learn_phrase(caller, parts)
        elif kind >= INTERRUPT_RETURN:
            self.open_calls = []

    def learn_phrase(self, caller, parts):
        after, known = self.phrases.setdefault(caller % PHRASE_SETS, (0, {}))
        fits = all(parts) and fit([d for p in parts for d in p[3:]])
        known[after + 1] = (caller, parts) if fits else (0, [])
        self.phrases[caller % PHRASE_SETS] = (after + fits) % PHRASE_WAYS, known

    def learn(self, way, site, number, event):
        """What the event says of other events than the one that follows it."""
        kind, target, origin, slot = site.kind, event["target"], event["from"], event["slot"]
        here, low = number << 14, (target & 0xfff) << 2
        if kind in (CALL, CALL_INDIRECT):
            if not in_kernel(site.addr):
                key = self.shift_key(site)
                self.last_shift = origin - site.addr - site.length
                self.shifts[hash64(key) % SHIFTS] = key, self.last_shift
        if kind == INTERRUPT:
            self.memory[self.memory_index(slot)] = slot, origin, number
        if kind == SYSCALL or kind == INTERRUPT and not in_kernel(origin):
            self.resume = origin
        if kind in (CALL_INDIRECT, JUMP_INDIRECT, INTERRUPT, SYSCALL):
            self.targets[self.target_index(number)] = target
        if kind in (CALL, JUMP, ARRIVE):
            self.move(here | 1)
        elif kind in (CALL_INDIRECT, JUMP_INDIRECT):
            self.move(here | low | 1)
        elif kind == RETURN:
            addr, caller = self.remembered(slot)
            right = caller and addr == target
            way.elsewhere = not right
            if not right:
                self.targets[self.target_index(number)] = target
            self.move(caller << 14 | 2 if right else low | 2)
        elif kind in (INTERRUPT_RETURN, SYSCALL_RETURN):
            self.move(low | 2)
        elif kind == INTERRUPT:
            self.move(low | 1)
        elif kind == SYSCALL:
            self.move((event["args"][0] << 2 | 3) & M64)
        elif kind == ADDRESS_SPACE:
            self.space = event["args"][0] >> 12

    def move(self, place):
        self.before, self.place = self.place, place


def part(call, number, event):
    """An event of a phrase: its site's number and what to add to the call's fields; None if that does not fit."""
    def signed(value, base, bits):
        value = (value - base + (1 << 63)) % (1 << 64) - (1 << 63)
        return value if -1 << bits - 1 <= value < 1 << bits - 1 else None

    insns = event["insns"] - call["insns"] & M64
    differences = (
        signed(event["slot"], call["slot"], 16) if KINDS.index(event["kind"]) in HAS_SLOT else 0,
        signed(event["from"], call["from"], 64) if KINDS.index(event["kind"]) in HAS_ORIGIN else 0,
        signed(event["target"], call["from"], 64),
    )
    return (number, insns, *differences) if insns < 1 << 16 and None not in differences else None


def fit(differences):
    """Whether these addresses are all near 0, or near the first one that is not."""
    def near(value):
        return -1 << 31 <= (value + (1 << 63)) % (1 << 64) - (1 << 63) < 1 << 31

    far = next((d for d in differences if not near(d)), 0)
    return all(near(d) or near(d - far) for d in differences)


def with_times(chunk, events):
    """The same events, those without a clock given a time as upto does it."""
    insns0, ns0 = chunk.first_insns, chunk.first_ns
    waiting = []
    for event in events:
        waiting.append(event)
        clock = "ns" in event
        if clock or len(waiting) == 2048:
            yield from timed(waiting, insns0, ns0)
            if clock:
                insns0, ns0 = event["insns"], event["ns"]
            waiting = []
    yield from timed(waiting, insns0, ns0)


def timed(events, insns0, ns0):
    mult = 0
    if events and "ns" in events[-1] and events[-1]["insns"] > insns0:
        mult = ((events[-1]["ns"] - ns0) << 16) // (events[-1]["insns"] - insns0)
    for event in events:
        if "ns" not in event:
            passed = (event["insns"] - insns0) * mult >> 16
            event["ns"] = events[-1]["ns"] if mult and event["insns"] == events[-1]["insns"] else ns0 + passed
        yield event
