#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the hand-built seeds in fuzz/corpus/<target>/. Files that a fuzzer found stay beside them.

Names that begin with bug- are inputs that once did harm.
"""
import bz2
import ctypes
import gzip
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = 0xffffffff81000000


def save(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def align(data, n=8, fill=b"\0"):
    return data + fill * (-len(data) % n)


def u32(*values):
    return struct.pack(f"<{len(values)}I", *(v & 0xffffffff for v in values))


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    return bytes(out) + bytes([v])


def svarint(v):
    v = (v + (1 << 63)) % (1 << 64) - (1 << 63)
    return varint(v << 1 ^ v >> 63)


def string(s):
    return varint(len(s)) + s


def zstd(data):
    lib = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_createCCtx", "ZSTD_compressBound", "ZSTD_compress2"):
        getattr(lib, name).restype = ctypes.c_size_t if name != "ZSTD_createCCtx" else ctypes.c_void_p
    size = ctypes.c_size_t
    context = ctypes.c_void_p(lib.ZSTD_createCCtx())
    lib.ZSTD_CCtx_setParameter(context, 201, 1)  # ZSTD_c_checksumFlag
    out = ctypes.create_string_buffer(lib.ZSTD_compressBound(size(len(data))))
    n = lib.ZSTD_compress2(context, out, size(len(out)), data, size(len(data)))
    lib.ZSTD_freeCCtx(context)
    return out.raw[:n]


# ---- traces

META, SITES, EVENTS, SYMBOLS, END, TASKS, CODE, FILES, TEXTS, FACTS, SUMS, HELD, STACKS = range(1, 14)
CALL, CALL_INDIRECT, RETURN, JUMP, JUMP_INDIRECT, ARRIVE, INTERRUPT_RETURN, INTERRUPT, SYSCALL, SYSCALL_RETURN, \
    HALT, RESUME, TASK_SWITCH, ADDRESS_SPACE, CLOCK, GAP = range(1, 17)
MISS_SITE, MISS_INSNS, MISS_SLOT, MISS_FROM, MISS_TARGET, MISS_PHRASE = 1, 2, 4, 8, 16, 128
FILE_HEADER = b"\x89upto\r\n\x1a" + u32(5, 0)

# as in fuzz_trace.c, add_sites()
TABLE = [(CALL, 5, KERNEL + 0x100, KERNEL + 0x200), (RETURN, 1, KERNEL + 0x210, 0),
         (CALL_INDIRECT, 2, KERNEL + 0x220, 0), (JUMP, 5, KERNEL + 0x230, KERNEL + 0x300),
         (JUMP_INDIRECT, 2, KERNEL + 0x310, 0), (ARRIVE, 4, KERNEL + 0x400, 0),
         (INTERRUPT_RETURN, 2, KERNEL + 0x500, 0), (CALL, 5, 0x401000, 0x402000),
         (JUMP_INDIRECT, 6, 0x7f0000001000, 0), (RETURN, 255, (1 << 64) - 1, 0)]
S_CALL, S_RETURN, S_CALL_INDIRECT, S_JUMP, S_JUMP_INDIRECT, S_ARRIVE, S_IRET, S_USER_CALL, S_USER_JUMP = range(32, 41)


def sites(table, first=32):
    out, before = varint(first) + varint(len(table)), 0
    for kind, length, addr, target in table:
        out += bytes([kind, length]) + svarint(addr - before)
        if kind in (CALL, JUMP):
            out += svarint(target - addr)
        before = addr
    return out


class Events:
    """The seven streams; the model's expectations are not followed: what is given is what is written."""
    def __init__(self):
        self.streams = [b""] * 7
        self.insns, self.ns, self.count = 0, 0, 0

    def add(self, site, dinsns, slot=None, source=None, target=None, args=(), dns=None, phrase=None):
        """phrase: how many events stand behind the call for nothing, how many instructions these took, its number."""
        flags = MISS_SITE | MISS_INSNS
        if phrase:
            flags |= MISS_PHRASE
            self.count += phrase[0]
            self.insns += phrase[1]
        parts = [b"", varint(site), varint(dinsns), b"", b"", b"", bytes(phrase[2:]) if phrase else b""]
        if slot is not None:
            flags |= MISS_SLOT
            parts[3] = svarint(slot)
        for value, flag in (source, MISS_FROM), (target, MISS_TARGET):
            if value is not None:
                flags |= flag
                parts[4] += svarint(value)
        parts[5] = b"".join(map(varint, args))
        if dns is not None:
            parts[5] += svarint(dns)
            self.ns += dns
        parts[0] = bytes([flags])
        self.streams = [a + b for a, b in zip(self.streams, parts)]
        self.insns += dinsns
        self.count += 1
        return self

    def payload(self):
        return u32(*map(len, self.streams)) + b"".join(self.streams)


def story():
    """A bit of everything that a vCPU does."""
    e = Events()
    e.add(CLOCK, 10, dns=100)
    e.add(S_CALL, 20, slot=0xffffc90000001ff8)
    e.add(S_CALL_INDIRECT, 3, slot=-8, target=KERNEL + 0x600)
    e.add(S_JUMP, 4)
    e.add(S_JUMP_INDIRECT, 4, target=KERNEL + 0x100)
    e.add(S_ARRIVE, 2)
    e.add(INTERRUPT, 9, slot=-64, source=KERNEL + 0x404, target=KERNEL + 0x700, args=(236, 0, 16), dns=50)
    e.add(TASK_SWITCH, 5, args=(0xffff888003000000, 0xffff888003010000), dns=10)
    e.add(ADDRESS_SPACE, 1, args=(0x2345000,))
    e.add(S_IRET, 7, slot=0, target=0x401000, args=(0x33, 0))
    e.add(S_USER_CALL, 5, slot=0x7ffc00001000)
    e.add(S_USER_JUMP, 5, target=0x7f0000002000)
    e.add(SYSCALL, 5, source=0x401234, target=KERNEL + 0x200, args=(1, 1, 0x402000, 12, 0, 0, 0, 0), dns=40)
    e.add(SYSCALL_RETURN, 50, target=0x401234, args=(12,), dns=30)
    e.add(GAP, 0, args=(7, 1, 1, 0, 0))
    e.add(HALT, 5, dns=5)
    e.add(CLOCK, 0, dns=1000)
    e.add(RESUME, 0, dns=100)
    e.add(S_RETURN, 5, slot=0)
    e.add(CLOCK, 5, dns=5)
    return e


def header(kind, unpacked, stored=0, number=0, cpu=0, events=None, **field):
    last_insns = (field.get("first_insns", 0) + (events.insns if events else 0)) % (1 << 64)
    last_ns = (field.get("first_ns", 0) + (events.ns if events else 0)) % (1 << 64)
    h = struct.pack("<IHHIIQQQQQQQQIII", 0x4b4e4843, kind, cpu, stored, unpacked, number, field.get("first_insns", 0),
                    last_insns, field.get("first_ns", 0), last_ns, field.get("place", 0), field.get("space", 0),
                    field.get("task", 0), events.count if events else 0, field.get("flags", 0), 0)
    return h + u32(zlib.crc32(h))


SECTIONS = (0, (1 << 64) - 1, b""), (KERNEL, KERNEL + 0x1000, b".text")


def listed(sections):
    return varint(len(sections)) + b"".join(varint(start) + varint(end) + string(name) for start, end, name in sections)


def columns(table, shared, names):
    """`names`: what is left of them, each with its NUL."""
    ends = [0] + [addr + size for addr, size, *_ in table]
    sizes = [size for _, size, *_ in table]
    out = varint(0) + listed(SECTIONS) + varint(len(table)) + b"".join(svarint(f[0] - end) for f, end in zip(table, ends))
    out += bytes(size & 15 for size in sizes) + bytes(size >> 4 & 255 for size in sizes) + b"".join(varint(size >> 12) for size in sizes)
    return out + b"".join(varint(f[2]) for f in table) + bytes(shared) + names


def symbols(table, sections=SECTIONS):
    """As format 6 had them."""
    out, before = listed(sections) + varint(len(table)), 0
    for addr, size, section, _ in table:
        out += varint(addr - before) + varint(size) + varint(section)
        before = addr
    return out + b"".join(string(name) for *_, name in table)


FUNCTIONS = [(KERNEL, 0x200, 1, b"startup_64"), (KERNEL + 0x200, 0x100, 1, b"do_syscall_64"),
             (KERNEL + 0x300, 0x300, 1, b"asm_exc_page_fault"), (KERNEL + 0x600, 0xa00, 1, b"last")]


def task(change, pid, comm, exe, parent=0, mm=0, maker=0):
    return bytes([change]) + varint(0) + varint(50 + pid) + varint(100) + varint(0xffff888003010000 + pid * 64) + varint(maker) + varint(mm) + \
        svarint(pid) * 2 + svarint(parent) + string(comm) + string(exe)


def code(change, name=b"", mm=0, start=0, size=0, offset=0, functions=b"", ns=51):
    return bytes([change]) + varint(0) + varint(ns) + varint(100) + varint(mm) + varint(start) + varint(size) + \
        varint(offset) + varint(2) + varint(7) + varint(1000 if name else 0) + string(name) + string(functions)


MODULE = 0xffffffffc0000000
MM = 0xffff888004000000


def content(number, start, mm=MM, known=b"", ns=57):
    """What a mapping is; `known`: a build-id and pieces."""
    return bytes([4]) + varint(0) + varint(ns) + varint(100) + varint(mm) + varint(start) + varint(number) + varint(0) * 4 + string(b"") + string(known)


def known(build_id=b"", *pieces):
    return string(build_id) + varint(len(pieces)) + b"".join(varint(offset) + varint(size) + struct.pack("<Q", hash) for offset, size, hash in pieces)


def module(name, at=MODULE, ns=51):
    sections = ((0, (1 << 64) - 1, b""), (at, at + 0x1000, b".text"), (at + 0x4000, at + 0x5000, b".init.text"))
    table = [(at, 0x100, 1, b"probe"), (at + 0x100, 0x100, 1, b"probe"), (at + 0x4000, 0x1000, 2, b"start\x1b[2J")]
    return code(1, name, functions=symbols(table, sections), ns=ns)


def text(cpu, insns, arg, data):
    return varint(cpu) + varint(insns) + bytes([arg]) + string(data)


def fact(kind, ns, insns, numbers=(), texts=(), task=0xffff888003000000, cpu=0):
    return bytes([kind]) + varint(cpu) + varint(ns) + varint(insns) + varint(task) + bytes([len(numbers)]) + b"".join(map(varint, numbers)) + \
        bytes([len(texts)]) + b"".join(map(string, texts))


def history():
    """A small trace whose kernel has functions that a history is made of, and facts of them."""
    at = [KERNEL + 0x100 * i for i in range(8)]
    table = [(a, 0x100, 1, name) for a, name in zip(at, (
        b"startup_64", b"try_to_wake_up", b"do_one_initcall", b"__switch_to_asm", b"schedule_timeout", b"really_probe", b"do_init_module",
        b"device_shutdown"))]
    calls = [(CALL, 5, KERNEL + 0x10, a) for a in at[1:]] + [(RETURN, 1, KERNEL + 0x80, 0)]
    first, second = 0xffff888003010040, 0xffff888003010080
    e, slot = Events(), 0xffffc90000001ff8
    e.add(CLOCK, 10, dns=100)
    for i, a in enumerate(at[1:]):
        e.add(32 + i, 5, slot=slot if not i else -64 * i)
        e.add(CLOCK, 2, dns=20)
        e.add(32 + 7, 3, slot=0, target=KERNEL + 0x15)
        if i % 2:
            e.add(TASK_SWITCH, 1, args=(first, second) if i % 4 == 1 else (second, first), dns=10)
    e.add(CLOCK, 5, dns=500)
    told = task(2, 1, b"one", b"") + task(5, 1, b"one", b"/bin/one", mm=MM) + task(2, 2, b"two", b"/bin/two", mm=MM + 64, maker=first)
    facts = b"".join(fact(kind, 100 + 22 * i, 15 + n, (second, at[2], 3, 4)[:1 + kind % 4], (b"device", b"a\x1bdriver", b"")[:kind % 4], task=first)
                     for i in range(8) for n in range(12) for kind in range(1, 21))
    meta = b"upto=0.1\nvcpus=1\nkernel_ns=40\ndecompressor_ns=20\nslide=0\n"
    return [(META, meta, {}), (SITES, sites(calls), {}), (SYMBOLS, symbols(table), {}), (TASKS, told, {}), (FACTS, facts, {}),
            (EVENTS, e.payload(), {"events": e}), (END, b"events=30\nlost=0\ninsns.0=%d\n" % e.insns, {})]


def program(path, *contents):
    sections = ((0, (1 << 64) - 1, b""), (0x1000, 0x3000, b".text"))
    told = bytes([0]) * bool(contents) + string(path) + varint(1000)
    if contents:
        told += varint(len(contents)) + b"".join(map(varint, contents))
    return told + string(symbols([(0x1000, 0x80, 1, b"main"), (0x1100, 0x80, 1, b"work")], sections))


def chunks():
    """(type, payload, header fields) of a small trace of two vCPUs."""
    first, second = story(), Events().add(HALT, 5, dns=5).add(CLOCK, 0, dns=3000)
    meta = b"upto=0.1\nvcpus=2\nkernel=Linux version 6.1\\x0a\nkernel_ns=40\nslide=0\n"
    end = b"events=42\nlost=0\ninsns.0=%d\ninsns.1=5\n" % (2 * first.insns)
    again = dict(first_insns=first.insns, first_ns=first.ns, place=0x401005, space=0x2345000,
                 task=0xffff888003010000)
    told = task(1, 0, b"swapper/0", b"", mm=0) + task(2, 1, b"init", b"") + task(5, 1, b"sh\x1b[2J", b"/bin/sh", mm=MM) + \
        task(2, 2, b"child", b"/bin/sh", parent=1, mm=MM + 64, maker=0xffff888003010040) + task(3, 2, b"name", b"", mm=MM + 64) + task(4, 2, b"child", b"")
    came = module(b"ext4") + code(2, start=MODULE + 0x4000, ns=53) + module(b"ext4", MODULE + 0x8000, 54) + \
        module(b"brd", MODULE + 0x4800, 55) + code(2, start=MODULE, ns=56) + code(3, b"/bin/sh", MM, 0x400000, 0x3000, 0x1000) + \
        code(3, b"[vdso]", MM, 0x7ffff7fc1000, 0x2000) + code(3, b"/lib/e\x1bvil", MM + 64, 0x401000, 0x1000, ns=60)
    return [(META, meta, {}), (SITES, sites(TABLE), {}), (SYMBOLS, symbols(FUNCTIONS), {}), (TASKS, told, {}),
            (CODE, came, {}), (FILES, program(b"/bin/sh") + program(b"/lib/other") + program(b"/bin/sh"), {}),
            (TEXTS, text(0, 95, 1, b"hello\n\x1b") + text(0, 95, 9, b"x" * 64) + text(1, 5, 7, b""), {}),
            (EVENTS, first.payload(), {"events": first}), (EVENTS, second.payload(), {"events": second, "cpu": 1}),
            (EVENTS, first.payload(), dict(events=first, **again)), (END, end, {})]


def sums_payload():
    """Two functions of the kernel and one that is not there; pairs of the first and the last one; sums of both kinds."""
    names = varint(2) + varint(0) + varint(1) + varint(1) + string(b"nosuch [ext4]") + varint(3)
    pairs = varint(1) + varint(0) + varint(2) + varint(1) + varint(0) + varint(1) + varint(3) + varint(2) + varint(5)
    pairs += b"".join(map(svarint, (10, 600, -40, 20, 1 << 40, 7)))
    return names + pairs + b"\3" + b"".join(map(svarint, (3, 0, 1, -20, 0, 9, -7, 5, 0) + (0, 0, 0, 2, -2, 0, 1, -1, 0)))


def thinned():
    """A small trace with a gap, and sums of what was left out."""
    first, second = story(), Events().add(GAP, 0, args=(0, 2, 1, KERNEL + 0x210, 0xffff888003010000)).add(S_RETURN, 9, slot=8)
    second.add(S_CALL, 20, slot=16).add(CLOCK, 5, dns=500)
    behind = dict(first_insns=first.insns + 1000, first_ns=first.ns + 5000, place=KERNEL + 0x210, task=0xffff888003010000, flags=4)
    end = b"events=42\nlost=0\ninsns.0=%d\n" % (first.insns + 1000 + second.insns)
    return [(META, b"upto=0.1\nvcpus=1\nkernel_ns=40\nslide=0\nfiltered=yes\nthinned=--depth 2\n", {}), (SITES, sites(TABLE), {}),
            (SYMBOLS, symbols(FUNCTIONS), {}), (EVENTS, first.payload(), {"events": first}),
            (EVENTS, second.payload(), dict(events=second, **behind)), (SUMS, sums_payload(), {}), (HELD, varint(1) + varint(2), {}), (END, end, {})]


def stack(gap, pid, since, *calls, on=0):
    """What a thread was in the middle of; calls are (kind, slot, return address, target, ns, number)."""
    out = varint(gap) + varint(0xffff888003010000 + 0x40 * pid) + varint(0 if since is None else since + 1) + varint(on) + varint(KERNEL + 0x210)
    return out + varint(len(calls)) + b"".join(bytes([kind]) + b"".join(map(varint, fields if kind in (4, 5) else fields[:4])) for kind, *fields in calls)


def flown(*stacks):
    """A small trace with a gap, where a flight recorder begins, and stacks of threads there."""
    less = thinned()
    told = task(1, 0, b"swapper/0", b"", mm=0) + task(2, 1, b"init", b"") + task(2, 2, b"child", b"/bin/sh", parent=1, mm=MM + 64)
    return [(META, b"upto=0.1\nvcpus=1\nkernel_ns=40\nslide=0\n", {})] + less[1:3] + [(TASKS, told, {}), (STACKS, b"".join(stacks), {})] + less[3:5] + less[-1:]


def container(parts):
    out = FILE_HEADER
    for number, (kind, payload, fields) in enumerate(parts):
        packed = zstd(payload)
        out += header(kind, len(payload), len(packed), number, **fields) + packed
    return out


def loose(parts):
    return b"".join(header(kind, len(payload), **fields) + payload for kind, payload, fields in parts)


def make_trace():
    parts, e = chunks(), story()
    whole = container(parts)
    save("fuzz_trace", "whole", b"\0" + whole)
    save("fuzz_trace", "whole-cut", b"\0" + whole[:-40])
    save("fuzz_trace", "whole-no-symbols", b"\0" + container(parts[:2] + parts[3:]))
    save("fuzz_trace", "whole-header-only", b"\0" + FILE_HEADER)
    save("fuzz_trace", "whole-other-version", b"\0" + FILE_HEADER[:8] + u32(2, 0))
    save("fuzz_trace", "whole-damaged-payload", b"\0" + whole[:-20] + bytes(20))
    huge = header(META, 256 << 20, 20) + zstd(b"a=b\n")[:20]
    save("fuzz_trace", "whole-unpacks-to-less", b"\0" + FILE_HEADER + align(huge))
    save("fuzz_trace", "chunks", b"\2" + loose(parts))
    save("fuzz_trace", "chunks-no-sites", b"\2" + loose([parts[0]] + parts[3:]))
    save("fuzz_trace", "chunks-sites-twice", b"\2" + loose(parts[:2] + parts[1:]))
    save("fuzz_trace", "chunks-bad-symbols", b"\2" + loose(parts[:2] + [(SYMBOLS, b"\xff" * 30, {})] + parts[3:]))
    for i, name in (4, "code"), (5, "files"), (6, "texts"):
        bad = parts[i][1][:-20] + b"\xff\xff\xff\xff\x7f" * 40
        save("fuzz_trace", "chunks-bad-" + name, b"\2" + loose(parts[:i] + [(parts[i][0], bad, {})] + parts[i + 1:]))
    at = 0x400000
    proved = parts[4][1] + content(1, at, known=known(b"\xab" * 20)) + content(2, 0x401000, MM + 64, known(b"", (0, 64, 5), (4096, 4096, 1 << 63))) + \
        content(2, 0x401000, MM + 64) + content(3, 0x401000, MM + 64, known(b"i", (8192, 9, 0)), 61) + content(9, 7)
    files = program(b"/bin/sh", 1) + program(b"/lib/other") + program(b"/lib/evil", 2, 3, 1 << 40) + program(b"/bin/sh", 1)
    for name, records, told in (("contents", proved, files), ("contents-none-told", proved, b""), ("contents-bad-known", proved[:-3] + b"\x02" + b"\xff" * 2, files),
                                ("contents-bad-files", proved, files[:40] + b"\0\1/\5" + varint(1 << 62)), ("contents-no-mapping", content(1, at), files)):
        save("fuzz_trace", name, b"\2" + loose(parts[:4] + [(CODE, records, {}), (FILES, told, {})] + parts[6:]))
    less = thinned()
    save("fuzz_trace", "thinned", b"\2" + loose(less))
    save("fuzz_trace", "thinned-bad-sums", b"\2" + loose(less[:5] + [(SUMS, less[5][1][:-9] + b"\xff" * 30, {})] + less[6:]))
    save("fuzz_trace", "thinned-bad-held", b"\2" + loose(less[:6] + [(HELD, varint(1) + varint(0), {})] + less[7:]))
    save("fuzz_trace", "thinned-no-gap", b"\2" + loose(less[:4] + [(EVENTS, story().payload(), dict(less[4][2], events=story()))] + less[5:]))
    past = history()
    in_kernel = [(1, 0, 0, 0x401000, 60, 0), (5, 0, 0x401010, KERNEL + 0x200, 61, 1), (2, 0xffffc90000001ff8, KERNEL + 0x105, KERNEL + 0x210, 62, 0),
                 (3, 0xffffc90000001ff8, KERNEL + 0x105, KERNEL + 0x300, 63, 0), (4, 0xffffc90000001f80, KERNEL + 0x310, KERNEL + 0x500, 64, 236)]
    asleep = [(6, 0, 0x401010, 0x402000, 60, 0), (2, 16, 0x401005, 0x402000, 61, 0)]
    both = stack(1, 0, None, *in_kernel), stack(1, 1, 70, *asleep), stack(1, 2, 1 << 50, *asleep), stack(1, 9, 70, *asleep)
    save("fuzz_trace", "flown", b"\2" + loose(flown(*both)))
    save("fuzz_trace", "flown-elsewhere", b"\2" + loose(flown(stack(1, 1, None, *in_kernel, on=1023), stack(1, 2, None, *in_kernel), both[0])))
    save("fuzz_trace", "flown-other-gap", b"\2" + loose(flown(stack(0, 1, 70, *asleep), *both, stack(2, 1, 70, *asleep))))
    save("fuzz_trace", "flown-bad-order", b"\2" + loose(flown(stack(2, 1, 70, *asleep), *both)))
    save("fuzz_trace", "flown-bad-kind", b"\2" + loose(flown(stack(1, 1, 70, (9, 1, 2, 3, 4, 5)))))
    save("fuzz_trace", "flown-backwards", b"\2" + loose(flown(stack(1, 0, None, *reversed(in_kernel)), stack(1, 1, None, (2, 0, 0, 0, (1 << 64) - 1, 0)))))
    save("fuzz_trace", "history", b"\2" + loose(past))
    save("fuzz_trace", "history-bad-facts", b"\2" + loose(past[:4] + [(FACTS, past[4][1][:-9] + b"\xff" * 30, {})] + past[5:]))
    save("fuzz_trace", "history-no-clocks", b"\2" + loose(past[:3] + past[4:]))
    late = dict(parts[3][2], first_ns=(1 << 64) - 100, first_insns=(1 << 64) - 5)
    save("fuzz_trace", "chunks-clocks-wrap", b"\2" + loose(parts[:3] + [(EVENTS, e.payload(), late)] + parts[9:]))
    save("fuzz_trace", "chunks-cpu-1023", b"\2" + loose(parts[:3] + [(EVENTS, e.payload(), {"events": e, "cpu": 1023})]))
    save("fuzz_trace", "chunks-empty", b"\2" + loose([(META, b"", {}), (SITES, b"", {})]))
    back = Events().add(CLOCK, 100, dns=100)
    back.add(S_CALL, 50, slot=8).add(CLOCK, 10, dns=-1000).add(S_RETURN, (1 << 64) - 1000, slot=0).add(CLOCK, 1, dns=1)
    save("fuzz_trace", "chunks-clock-back", b"\2" + loose(parts[:3] + [(EVENTS, back.payload(), {"events": back})]))
    save("fuzz_trace", "events", b"\1" + e.payload())
    save("fuzz_trace", "events-none", b"\1" + bytes(24))
    save("fuzz_trace", "events-short", b"\1" + bytes(23))
    save("fuzz_trace", "events-sizes-too-big", b"\1" + u32(*[0xffffffff] * 6))
    save("fuzz_trace", "events-streams-cut", b"\1" + u32(20, 20, 0, 0, 0, 0) + e.streams[0] + e.streams[1])
    many = Events()
    for i in range(300):
        many.add(SYSCALL, 1, args=(i, 2, 3, 4, 5, 6, 7, i % 4), dns=1).add(ADDRESS_SPACE, 1, args=(i << 12,))
    save("fuzz_trace", "events-args-fill-batch", b"\1" + many.payload())
    spaces = Events()
    for i in range(2100):
        spaces.add(ADDRESS_SPACE, 0, args=(0,))
    save("fuzz_trace", "events-fill-batch", b"\1" + spaces.payload())
    # calls that never return, all as expected from the third on: more than a stack remembers
    deep = Events().add(CLOCK, 10, dns=100).add(S_CALL, 20, slot=0xffffc90000001ff8).add(S_CALL, 20, slot=-8)
    deep.streams[0] += bytes(70000)
    deep.count, deep.insns = deep.count + 70000, deep.insns + 20 * 70000
    deep.add(CLOCK, 10, dns=100)
    save("fuzz_trace", "whole-deep", b"\0" + container(parts[:3] + [(EVENTS, deep.payload(), {"events": deep})] + parts[-1:]))
    # a call that returns at once; then calls it twice from another, which is called again
    phrases = Events().add(CLOCK, 10, dns=100).add(S_CALL_INDIRECT, 20, slot=0xffffc90000001ff8, target=KERNEL + 0x80)
    phrases.add(S_CALL, 5, slot=-8).add(S_RETURN, 6, slot=0).add(S_CALL, 5, slot=0, phrase=(1, 6, 1)).add(S_RETURN, 7, slot=8)
    phrases.add(S_CALL_INDIRECT, 20, slot=0, target=0, phrase=(5, 5 + 6 + 5 + 6 + 7, 1)).add(CLOCK, 10, dns=100)
    save("fuzz_trace", "events-phrases", b"\1" + phrases.payload())
    save("fuzz_trace", "whole-phrases",
         b"\0" + container(parts[:3] + [(EVENTS, phrases.payload(), {"events": phrases})] + parts[-1:]))
    # nine things that calls from one site do: the ninth takes the first one's place, which has come just before
    none = 0, 0, 0
    many = Events().add(CLOCK, 10, dns=100).add(S_CALL_INDIRECT, 20, slot=0xffffc90000001ff8, target=KERNEL + 0x80)
    for i in range(8):
        many.add(S_CALL, 5, slot=-8 if not i else 0, phrase=none).add(S_RETURN, 1 + i, slot=0)
    many.add(S_CALL, 5, slot=0, phrase=(1, 1, 1)).add(S_CALL, 5, slot=0, phrase=(1, 8, 8))
    many.add(S_CALL, 5, slot=0, phrase=none).add(S_RETURN, 9, slot=0).add(S_CALL, 5, slot=0, phrase=(1, 9, 1)).add(S_RETURN, 7, slot=8)
    many.add(CLOCK, 10, dns=100)
    # a call that goes far away: two phrases, and a third that goes to two places
    for i in range(4):
        many.add(S_USER_CALL, 5, slot=0x7ffe00001000 - 0xffffc90000001ff8 if not i else 0, phrase=(2, 5, 1) if i > 1 else none)
        if i < 2:
            many.add(S_USER_JUMP, 3, target=0x7f0000002000 + i).add(S_RETURN, 2, slot=0)
    many.add(S_USER_CALL, 5, slot=0, phrase=none).add(S_USER_JUMP, 3, target=1 << 62).add(S_RETURN, 2, slot=0).add(CLOCK, 10, dns=100)
    save("fuzz_trace", "whole-phrases-forgotten",
         b"\0" + container(parts[:3] + [(EVENTS, many.payload(), {"events": many})] + parts[-1:]))
    save("fuzz_trace", "events-phrase-unknown", b"\1" + Events().add(S_CALL, 20, slot=8, phrase=(1, 1, 1)).payload())
    save("fuzz_trace", "events-phrase-number", b"\1" + Events().add(S_CALL, 20, slot=8, phrase=(1, 1, 9)).payload())
    far = Events().add(CLOCK, 10, dns=100).add(S_CALL, 20, slot=0xffffc90000001ff8).add(S_RETURN, 6, slot=0)
    for i in range(509):
        far.add(S_JUMP, 1)
    save("fuzz_trace", "events-phrase-beyond-window", b"\1" + far.add(S_CALL, 20, slot=0, phrase=(1, 6, 1)).payload())
    save("fuzz_trace", "events-unknown-site", b"\1" + Events().add(1 << 40, 1).payload())


def make_symtab():
    good = symbols(FUNCTIONS)
    save("fuzz_symtab", "four", good)
    three = [(KERNEL, 0x5210, 1), (KERNEL + 0x5210, 0x1f, 1), (KERNEL + 0x5300, 16, 0)]
    save("fuzz_symtab", "columns", columns(three, [0, 6, 0], b"do_sys_open\0_close\0last\0"))
    save("fuzz_symtab", "columns-none", columns([], [], b""))
    save("fuzz_symtab", "columns-cut", columns(three, [0, 6, 0], b"do_sys_open\0_close\0last"))
    save("fuzz_symtab", "columns-shares-all", columns(three, [0, 11, 11], b"do_sys_open\0\0s\0"))
    save("fuzz_symtab", "columns-shares-too-much", columns(three, [0, 12, 0], b"do_sys_open\0\0last\0"))
    save("fuzz_symtab", "columns-shares-with-none", columns(three, [1, 0, 0], b"do_sys_open\0\0last\0"))
    save("fuzz_symtab", "columns-same-address", columns([three[0], three[0]], [0, 0], b"a\0b\0"))
    save("fuzz_symtab", "columns-section-unknown", columns([(5, 2, 9)], [0], b"a\0"))
    save("fuzz_symtab", "columns-end-wraps", columns([((1 << 64) - 1, 2, 0)], [0], b"a\0"))
    save("fuzz_symtab", "columns-overlap", columns([(5, 100, 0), (6, 0, 0), (7, 1, 0)], [0, 0, 0], b"a\0\0" + b"c" * 300 + b"\0"))
    save("fuzz_symtab", "none", symbols([]))
    save("fuzz_symtab", "empty", b"")
    save("fuzz_symtab", "no-sections", varint(0) + varint(0))
    save("fuzz_symtab", "cut", good[:-3])
    save("fuzz_symtab", "nul-in-name", symbols([(1, 2, 0, b"a\0b")]))
    save("fuzz_symtab", "same-address", symbols([(5, 2, 0, b"a"), (5, 2, 0, b"b")]))
    save("fuzz_symtab", "section-unknown", symbols([(5, 2, 9, b"a")]))
    save("fuzz_symtab", "end-wraps", symbols([((1 << 64) - 1, 2, 0, b"a")]))
    save("fuzz_symtab", "overlap", symbols([(5, 100, 0, b"a"), (6, 0, 0, b""), (7, 1, 0, b"c" * 300)]))
    save("fuzz_symtab", "count-huge", varint(1) + varint(0) + varint(0) + string(b"") + varint((1 << 64) - 1))
    save("fuzz_symtab", "section-name-long", symbols([], [(0, 1, b"n" * 31)]))
    save("fuzz_symtab", "section-name-too-long", symbols([], [(0, 1, b"n" * 32)]))


def make_meta():
    save("fuzz_meta", "plain", chunks()[0][1])
    save("fuzz_meta", "empty", b"")
    save("fuzz_meta", "event-strings", b"event_strings=0x10 Start\\x0a0x20 End of it\\x0a\nboot.1.start_ns=9\nboot.1.event_strings=0x10 Other\\x0a0x20 End of it\\x0a\n")
    save("fuzz_meta", "event-strings-past-line", b"event_strings=\\x0a0x1 a\\x0ab\\x0a\n")
    save("fuzz_meta", "escapes", b"a=\\x0a\\x5c\\x7f\\xff\\x\nb=\\\nc=\\x1\nd=\\xzz\ne=\\x00\n")
    save("fuzz_meta", "twice", b"a=1\na=2\n=\n=x\nb==\n")
    save("fuzz_meta", "no-equals", b"a\n")
    save("fuzz_meta", "no-newline", b"a=b")
    save("fuzz_meta", "nul", b"a=\0\n")
    # unescape() handed sscanf() bytes that no NUL ends
    save("fuzz_meta", "bug-escape-read-past-end", b"a=\\x41\n")
    save("fuzz_meta", "bug-escape-reads-next-line", b"a=\\x  \n41=\n")
    save("fuzz_meta", "escape-sign", b"a=\\x-1\nb=\\x+5\nc=\\x 5\nd=\\x0x\n")


# ---- kernels

def kallsyms(names, order="new", seqs=False, percpu=False, index=None, base=KERNEL, step=16, lead=b"", place=None, edge=8,
             addresses=None):
    """names: lists of token numbers. order "old": addresses before the names, as up to 6.3.
    With `place`, where this will lie in the kernel's memory, offsets count from where they stand themselves.
    edge: what parts are aligned to. addresses: the symbols', else from the base on in steps.
    """
    if addresses is None:
        addresses = [base + (i - 20 * percpu) * step for i in range(len(names))]
        if percpu:
            addresses[:20] = [i * 8 for i in range(20)]
    tokens = [bytes([c]) if 33 <= c < 127 else b"" for c in range(256)]
    for c, word in enumerate((b"sys_", b"__x64_", b"do_", b"init_", b"read", b"write", b"lock", b"_irq")):
        tokens[c + 1] = word
    tokens[200] = b"t" * 600
    table = b"".join(t + b"\0" for t in tokens)
    offsets = [sum(len(t) + 1 for t in tokens[:i]) for i in range(256)]
    for at, value in (index or {}).items():
        offsets[at] = value
    packed, markers = b"", []
    for i, name in enumerate(names):
        if i % 256 == 0:
            markers.append(len(packed))
        n = len(name)
        packed += (bytes([n]) if n < 128 else bytes([n & 0x7f | 0x80, n >> 7])) + bytes(name)
    middle = align(u32(len(names)), edge) + align(packed, edge) + align(u32(*markers), edge)
    if seqs:
        middle += align(b"".join(i.to_bytes(3, "big") for i in range(len(names))), edge)
    middle += align(table, edge) + align(struct.pack("<256H", *offsets), edge)
    lead = align(lead, fill=b"\xcc") or b"\xcc" * 128
    if place is not None:
        first = place + len(lead) + len(middle)
        values = [a - (first + 4 * i) for i, a in enumerate(addresses)]
        return lead + middle + struct.pack(f"<{len(values)}i", *values) + bytes(range(1, 64)) + b"\xcc" * 16
    if percpu:
        values = [a if a < base else base - 1 - a for a in addresses]
    else:
        values = [a - base for a in addresses]
    table = align(u32(*values)) + struct.pack("<Q", base)
    return lead + (table + middle if order == "old" else middle + table + b"\xcc" * 16)


def some_names(n=300):
    words = ([3], [1], [2, 1], [4, 5], [6, 7, 8])
    names = [list(b"T_text")]
    for i in range(1, n):
        names.append([ord("tTd"[i % 3])] + words[i % 5] + list(b"%d" % i))
    return names


def markers_that_wrap():
    """Markers whose last is so near to 2^32 that adding 16 to it wraps."""
    marks = [i << 20 for i in range(4096)] + [0xfffffff8]
    return b"\xcc" * 64 + align(u32(*marks)) + table_only()


def table_only():
    whole = kallsyms(some_names(1), "old")
    # what follows one marker (align 8)
    body = align(u32(1)) + align(bytes([6]) + b"T_text") + align(u32(0))
    return whole[whole.index(body) + len(body):]


def make_kallsyms():
    names = some_names()
    for order in "old", "new":
        save("fuzz_kallsyms", order, kallsyms(names, order))
        save("fuzz_kallsyms", order + "-percpu", kallsyms(names, order, percpu=True))
        save("fuzz_kallsyms", order + "-seqs", kallsyms(names, order, seqs=True))
    # fuzz_kallsyms.c gives KERNEL as the place
    save("fuzz_kallsyms", "relative", kallsyms(names, place=KERNEL, base=KERNEL, step=64, seqs=True))
    save("fuzz_kallsyms", "relative-edge-4", kallsyms(names[:-1], place=KERNEL, base=KERNEL, step=64, edge=4))
    save("fuzz_kallsyms", "relative-falls", kallsyms(names, place=KERNEL, base=KERNEL, step=-16))
    long_names = names + [list(b"T" + b"long_name" * 20), [ord("t"), 200, 200, 200, 200, 200, 200, 200]]
    save("fuzz_kallsyms", "long-names", kallsyms(long_names))
    save("fuzz_kallsyms", "one-marker", kallsyms(some_names(100)))
    save("fuzz_kallsyms", "cut-in-addresses", kallsyms(names)[:-600])
    save("fuzz_kallsyms", "base-not-kernel", kallsyms(names, base=0x1000))
    save("fuzz_kallsyms", "addresses-fall", kallsyms(names, step=-16))
    save("fuzz_kallsyms", "digits-only", b"".join(b"%d\0" % i for i in range(10)))
    save("fuzz_kallsyms", "empty", b"")
    # offsets of tokens before '0' were believed: the name's token lies behind the data
    save("fuzz_kallsyms", "bug-token-past-end", kallsyms(names, "old", index={1: 0xffff, 3: 0xfff0}))
    # last + 16 > markers, in 32 bits
    save("fuzz_kallsyms", "bug-marker-wraps", markers_that_wrap())


def elf(sections, symbols_, banner=None, machine=62):
    """sections: (name, addr, data, flags). symbols_: (name, value, size, section, type, bind)."""
    data, at, heads, phdrs = b"", 64 + 56 * len(sections), [], b""
    names = b"\0"
    strings = b"\0"
    table = bytes(24)
    for name, value, size, section, kind, bind in symbols_:
        table += struct.pack("<IBBHQQ", len(strings), bind << 4 | kind, 0, section, value, size)
        strings += name + b"\0"
    todo = [(n, a, d, 1, f, 0, 0) for n, a, d, f in sections]
    todo += [(b".symtab", 0, table, 2, 0, len(sections) + 2, 24), (b".strtab", 0, strings, 3, 0, 0, 0)]
    for name, addr, body, kind, flags, link, entry in todo:
        data = align(data)
        heads.append(struct.pack("<IIQQQQIIQQ", len(names), kind, flags, addr, at + len(data), len(body), link, 0, 8,
                                 entry))
        if addr:
            phdrs += struct.pack("<IIQQQQQQ", 1, 5, at + len(data), addr, addr, len(body), len(body), 4096)
        names += name + b"\0"
        data += body
    data = align(data)
    heads.append(struct.pack("<IIQQQQIIQQ", len(names), 3, 0, 0, at + len(data), len(names) + 10, 0, 0, 1, 0))
    data = align(data + names + b".shstrtab\0")
    phdrs = phdrs.ljust(56 * len(sections), b"\0")
    start = struct.pack("<4sBBBB8sHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, b"", 2, machine, 1, KERNEL, 64, at + len(data), 0,
                        64, 56, len(sections), 64, len(heads) + 1, len(heads))
    return start + phdrs + data + bytes(64) + b"".join(heads)


def small_vmlinux(extra=(), text=b"\x90" * 64):
    banner = b"Linux version 6.1.0 (gcc) #1 SMP\n\0"
    return elf([(b".text", KERNEL, text, 6), (b".rodata", KERNEL + 0x1000, banner, 2),
                (b".init.text", KERNEL + 0x2000, b"\xc3" * 32, 6)],
               [(b"_text", KERNEL, 0, 1, 0, 1), (b"start", KERNEL, 16, 1, 2, 1), (b"__pfx_next", KERNEL + 16, 16, 1, 2, 0),
                (b"next", KERNEL + 32, 16, 1, 2, 0), (b"linux_banner", KERNEL + 0x1000, 34, 2, 1, 1),
                (b"init", KERNEL + 0x2000, 32, 3, 2, 1), *extra])


def compiled():
    """An object file as gcc makes it, or None."""
    if not shutil.which("gcc"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "two.c")
        with open(source, "w") as f:
            f.write("static int one(int a) { return a + 1; }\nint two(int a) { return one(a) * 2; }\n")
        subprocess.run(["gcc", "-c", "-O0", "-o", source + ".o", source], check=True)
        with open(source + ".o", "rb") as f:
            return f.read()


def bzimage(payload, version=0x20f, sects=1, offset=0, length=None, size=None):
    setup = bytearray(512 * (sects + 1))
    setup[0x1f1] = sects
    setup[0x1fe:0x200] = b"\x55\xaa"
    setup[0x202:0x206] = b"HdrS"
    setup[0x206:0x208] = struct.pack("<H", version)
    if size is not None:
        payload += u32(size)
    setup[0x248:0x250] = u32(offset, len(payload) if length is None else length)
    return bytes(setup) + payload


def make_bzimage():
    body = small_vmlinux()
    packed = gzip.compress(body, mtime=0)
    save("fuzz_bzimage", "gzip", bzimage(packed))
    save("fuzz_bzimage", "xz", bzimage(lzma.compress(body, check=lzma.CHECK_CRC32), size=len(body)))
    save("fuzz_bzimage", "lzma", bzimage(lzma.compress(body, lzma.FORMAT_ALONE), size=len(body)))
    save("fuzz_bzimage", "bzip2", bzimage(bz2.compress(body), size=len(body)))
    save("fuzz_bzimage", "zstd", bzimage(zstd(body), size=len(body)))
    save("fuzz_bzimage", "sects-0", bzimage(packed, sects=4)[:0x1f1] + b"\0" + bzimage(packed, sects=4)[0x1f2:])
    save("fuzz_bzimage", "old-protocol", bzimage(packed, version=0x207))
    save("fuzz_bzimage", "cut", bzimage(packed)[:-30])
    save("fuzz_bzimage", "cut-in-header", bzimage(packed)[:0x24f])
    save("fuzz_bzimage", "offset-past-end", bzimage(packed, offset=0xffffffff))
    save("fuzz_bzimage", "length-huge", bzimage(packed, length=0xffffffff))
    save("fuzz_bzimage", "length-0", bzimage(b"", length=0))
    save("fuzz_bzimage", "length-8", bzimage(b"\0" * 8))
    save("fuzz_bzimage", "wrong-size", bzimage(zstd(body), size=5))
    save("fuzz_bzimage", "not-elf", bzimage(gzip.compress(b"hello", mtime=0)))
    save("fuzz_bzimage", "not-packed", bzimage(body, size=len(body)))
    # libarchive's archive_read_support_filter_all() starts these programs, if they are in $PATH
    save("fuzz_bzimage", "bug-starts-grzip", bzimage(b"GRZipII\0\2\4:)" + bytes(200), size=5))
    save("fuzz_bzimage", "bug-starts-lrzip", bzimage(b"LRZI\0\6" + bytes(200), size=5))
    save("fuzz_bzimage", "packed-twice", bzimage(gzip.compress(packed, mtime=0)))


def make_kernel_image():
    lines = b"".join(b"%016x %c function_%d\n" % (KERNEL + i * 32, b"tTdDwV"[i % 6], i) for i in range(40))
    marks = b"%016x T _stext\n%016x T _etext\n" % (KERNEL, KERNEL + 4096)
    save("fuzz_kernel_image", "system-map", lines + marks)
    save("fuzz_kernel_image", "system-map-modules", b"%016x t init_module [ext4]\n" % KERNEL + lines)
    save("fuzz_kernel_image", "system-map-no-newline", lines + b"ffffffff82000000 T last")
    save("fuzz_kernel_image", "system-map-stub", b"ffffffffffffffff B The real System.map is in the linux-image package\n")
    save("fuzz_kernel_image", "system-map-damaged", lines + b"ffffffff8200000z T last\n" + lines)
    save("fuzz_kernel_image", "system-map-long-line", lines + b"ffffffff82000000 T " + b"n" * 1100 + b"\n")
    save("fuzz_kernel_image", "system-map-cut-line", lines + b"ffffffff82000000 ")
    save("fuzz_kernel_image", "system-map-empty-name", b"0 T a\n1 T \tb\n2 T \n")
    # the end of the last symbol, its address + 4096, wraps; the trace's reader refused the table
    save("fuzz_kernel_image", "bug-last-symbol-end-wraps", lines + b"fffffffffffffff0 T last\n")
    vmlinux = small_vmlinux()
    save("fuzz_kernel_image", "vmlinux", vmlinux)
    save("fuzz_kernel_image", "vmlinux-cut", vmlinux[:len(vmlinux) - 200])
    save("fuzz_kernel_image", "vmlinux-32-bit-class", vmlinux[:4] + b"\1" + vmlinux[5:])
    save("fuzz_kernel_image", "vmlinux-big-endian", vmlinux[:5] + b"\2" + vmlinux[6:])
    save("fuzz_kernel_image", "vmlinux-header-only", vmlinux[:64])
    save("fuzz_kernel_image", "elf-magic-only", b"\x7fELF")
    save("fuzz_kernel_image", "vmlinux-banner-elsewhere",
         small_vmlinux([(b"linux_banner", (1 << 64) - 1, 4, 1, 1, 1), (b"far", (1 << 64) - 1, 9, 1, 2, 1)]))
    save("fuzz_kernel_image", "vmlinux-kallsyms",
         elf([(b".text", KERNEL, b"\x90" * 64, 6), (b".rodata", KERNEL + 0x1000, kallsyms(some_names()), 2)], []))
    save("fuzz_kernel_image", "bzimage", bzimage(gzip.compress(vmlinux, mtime=0)))
    save("fuzz_kernel_image", "nothing", b"")
    made = compiled()
    if made:
        save("fuzz_kernel_image", "object", made)


def btf(structs):
    """structs: name → [(member's name, type number, offset in bytes)]; type 1 is an int of 4 bytes."""
    strings, types = bytearray(b"\0"), b""

    def text(name):
        strings.extend(name + b"\0")
        return len(strings) - len(name) - 1

    types += u32(text(b"int"), 1 << 24, 4, 32)
    for name, members in structs:
        types += u32(text(name) if name else 0, 4 << 24 | len(members), 4096)
        for member, kind, at in members:
            types += u32(text(member) if member else 0, kind, at * 8)
    return struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + bytes(strings)


def make_btf():
    good = btf([(b"task_struct", [(b"pid", 1, 8), (b"tgid", 1, 12), (b"comm", 1, 100)]),
                (b"", [(b"f_path", 1, 16)]), (b"file", [(b"f_mode", 1, 0), (b"", 3, 32)])])
    save("fuzz_btf", "tasks", good)
    save("fuzz_btf", "cut", good[:-20])
    save("fuzz_btf", "no-types", btf([]))
    save("fuzz_btf", "empty", b"")
    # a byte more of header: all types at odd addresses
    save("fuzz_btf", "odd-header", good[:4] + u32(25) + good[8:24] + b"\0" + good[24:])
    # an anonymous member of the structure's own type, for ever
    save("fuzz_btf", "within-itself", btf([(b"file", [(b"", 2, 0)])]))
    save("fuzz_btf", "unknown-type", btf([(b"file", [(b"", 77, 0)])]))
    save("fuzz_btf", "bit-field", btf([(b"task_struct", [(b"pid", 1, 0)])]).replace(u32(0) * 2, u32(0, 3)))


def function_btf(parameters, result, twice=False):
    """A function f; types: 1 int, 2 char, 3 const char, 4 const char *, 5 struct file, 6 struct file *, 7 a typedef of int, 8 a structure of 16 bytes."""
    strings, types = bytearray(b"\0"), b""

    def text(name):
        strings.extend(name + b"\0")
        return len(strings) - len(name) - 1

    types += u32(text(b"int"), 1 << 24, 4, 1 << 24 | 32) + u32(text(b"char"), 1 << 24, 1, 1 << 24 | 8) + u32(0, 10 << 24, 2) + u32(0, 2 << 24, 3)
    types += u32(text(b"file"), 4 << 24, 8) + u32(0, 2 << 24, 5) + u32(text(b"pid_t"), 8 << 24, 1) + u32(text(b"pair"), 4 << 24, 16)
    types += u32(0, 13 << 24 | len(parameters), result)
    for name, kind in parameters:
        types += u32(text(name) if name else 0, kind)
    types += u32(text(b"f"), 12 << 24, 9) * (1 + twice)
    return b"\0" + struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + bytes(strings)


def make_prototypes():
    for name, text in (("read", "0xffffffff81234560\tvfs_read\td8::ssize_t\tf8:file:struct file *\tp8:buf:char *\tu8:count:size_t"), ("nothing", "0x1\tf\tv0::void"),
                       ("registers", "0x1\tf.isra.0\tr8::\tr8:rdi:\tr8:rsi:"), ("structures", "0x1\tf\to40::struct big\to16:a:struct pair\to24:b:union big\to0::x\tb1:c:bool"),
                       ("many", "0x1\tf\td4::int" + "\ts8:n:const char *" * 16), ("too-many", "0x1\tf\td4::int" + "\td4:n:int" * 17),
                       ("no-result", "0x1\tf"), ("kind", "0x1\tf\tq8::"), ("bytes", "0x1\tf\td9::x"), ("address", "zz\tf\td4::int"), ("empty", "")):
        save("fuzz_prototypes", name, text.encode())
    for name, parameters, result, twice in (("types", [(b"file", 6), (b"name", 4), (b"n", 7), (b"p", 8), (b"", 0)], 1, False), ("types-twice", [], 0, True),
                                            ("types-more", [(b"a", 8)] * 4 + [(b"x", 1)] * 14, 6, False), ("types-itself", [(b"a", 9), (b"b\t:", 77)], 10, False)):
        save("fuzz_prototypes", name, function_btf(parameters, result, twice))


def make_events():
    common = ("\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
              "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n")
    header = struct.pack("<HBBi", 1, 0, 1, 42)
    for name, fields, fmt, record in (
            ("numbers", "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:void * p;\toffset:16;\tsize:8;\tsigned:0;\n",
             '"a=%d p=%p %s", REC->a, REC->p, __print_flags(REC->a, "|", { 1, "ONE" }, { 2, "TWO" })', struct.pack("<iIQ", -3, 0, 1 << 63)),
            ("strings", "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n",
             '"%s %s %s", REC->comm, __get_str(name), __print_symbolic(REC->comm[0], { 65, "A" })', b"Ab\0" + bytes(13) + struct.pack("<I", 4 << 16 | 28) + b"xyz\0"),
            ("relative", "\tfield:__rel_loc u32[] list;\toffset:8;\tsize:4;\tsigned:0;\n", '"%s", __print_array(__get_rel_dynamic_array(list), 2, 4)',
             struct.pack("<III", 8 << 16, 7, 9)),
            ("short", "\tfield:long a;\toffset:8;\tsize:8;\tsigned:1;\n", '"%lx", REC->a', b"\1"),
            ("outside", "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n", '"%s", __get_str(name)', struct.pack("<I", 100 << 16 | 12)),
            ("filter", "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n", '"%d", REC->a', b"!(a == -3 || comm ~ 'c*') && a & 0x10"),
            ("negative", "\tfield:int a;\toffset:-8;\tsize:-4;\tsigned:1;\n", '"%d", REC->a', bytes(8)), ("no-format", "", "", b"")):
        save("fuzz_events", name, f"s:e\nname: e\nID: 7\nformat:\n{common}{fields}\nprint fmt: {fmt}\n".encode() + b"\0" + (record if name == "filter" else header + record))
    save("fuzz_events", "text", f"s:e\nname: e\nID: 7\nformat:\n{common}\tfield:char a[4];\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"%s\", REC->a\n".encode() +
         b"\0TEXT" + header[4:] + b"abc\0")


def make_interpreter():
    for name, code in (("moves", "4889c848c7c1070000004801c8c3"), ("loop", "ffc975fc0f1f440000ebf5"), ("string", "b905000000f3a4f3aac3"),
                       ("calls", "e8000000005858ffd0ff25000000000f0b"), ("memory", "658b042500000000488b0424f00fb10fc3"), ("divide", "31d248f7f1c8000000")):
        save("fuzz_interpreter", name, bytes.fromhex(code))


def program_elf(table, kind=2, text=0x1000, load=0x400000):
    """A program with one loaded segment, .text and a symbol table."""
    names, symbols = b"\0", bytes(24)
    for name, info, value, size in table:
        symbols += struct.pack("<IBBHQQ", len(names), info, 0, 1, value, size)
        names += name + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0"
    at = 64 + 56
    body = symbols + names + sections
    headers = [struct.pack("<IIQQQQIIQQ", *h) for h in (
        (0,) * 10, (1, 1, 6, load + 0x100, 0x100, text, 0, 0, 16, 0), (7, kind, 0, 0, at, len(symbols), 3, 1, 8, 24),
        (15, 3, 0, 0, at + len(symbols), len(names), 0, 0, 1, 0), (15, 3, 0, 0, at + len(symbols) + len(names), len(sections), 0, 0, 1, 0))]
    end = at + len(body)
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, load, 64, end, 0, 64, 56, 1, 64, len(headers), 4) + \
        struct.pack("<IIQQQQQQ", 1, 5, 0, load, load, 0x2000, 0x2000, 0x1000) + body + b"".join(headers) + bytes(0x1200)


def loaded_elf(functions, moved=0, gnu=False, shift=0):
    """A library as its linker leaves it in memory, all in one segment; `moved` is what the linker added to its addresses."""
    names, symbols = b"\0", bytes(24)
    for name, addr, size in functions:
        symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, addr, size)
        names += name + b"\0"
    n, at = len(functions) + 1, 64 + 2 * 56
    # everything is in the last bucket's chain
    table = u32(1, 1, 1, 0) + bytes(8) + u32(1) + u32(*[2] * (n - 2), 3) if gnu else u32(1, n, 1) + u32(*range(n))
    tags = [(6, moved + at), (5, moved + at + len(symbols)), (10, len(names)),
            (0x6ffffef5 if gnu else 4, moved + at + len(symbols) + len(names)), (0, 0)]
    dynamic = at + len(symbols) + len(names) + len(table)
    body = symbols + names + table + b"".join(struct.pack("<QQ", *t) for t in tags)
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0) + \
        struct.pack("<IIQQQQQQ", 1, 5, 0, shift, 0, 0x4000, 0x4000, 0x1000) + \
        struct.pack("<IIQQQQQQ", 2, 4, dynamic, shift + dynamic, 0, len(tags) * 16, len(tags) * 16, 8) + body


def noted_elf(build_id, align=4, at=232, loaded=0x1000, code=0x1000):
    """A file with notes, of which the second is its build-id, in the segment that its first byte is loaded with."""
    first = u32(4, 5, 1) + b"GNU\0" + b"\0" * 5
    notes = align_to(first, align) + align_to(u32(4, len(build_id), 3) + b"GNU\0" + build_id, align)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    segments = ((1, 4, 0, 0, 0, loaded, loaded, 0x1000), (1, 5, code, code, 0, 0x1000, 0x1000, 0x1000), (4, 4, at, at, 0, len(notes), len(notes), align))
    return (head + b"".join(struct.pack("<IIQQQQQQ", *s) for s in segments)).ljust(at, b"\0") + notes + bytes(64)


def align_to(data, n):
    return data + bytes(-len(data) % n)


def make_elf():
    for name, data in (("noted", noted_elf(b"\xab" * 20)), ("noted-mapped", noted_elf(b"\xab" * 20, code=0)), ("noted-aligned", noted_elf(b"\1" * 16, 8)),
                       ("noted-long", noted_elf(b"x" * 65)), ("noted-empty", noted_elf(b"")), ("noted-elsewhere", noted_elf(b"x" * 20, loaded=190)),
                       ("noted-cut", noted_elf(b"x" * 20)[:-80]), ("noted-far", noted_elf(b"x" * 20, at=5000))):
        save("fuzz_elf", name, data)
    functions = [(b"first", 0x1000, 16), (b"second", 0x1010, 1 << 40), (b"nothing", 0x1100, 0), (b"outside", 0x9000, 8)]
    base = 0x10000
    save("fuzz_elf", "loaded", loaded_elf(functions))
    save("fuzz_elf", "loaded-moved", loaded_elf(functions, moved=base))
    save("fuzz_elf", "loaded-gnu-hash", loaded_elf(functions, moved=base, gnu=True))
    save("fuzz_elf", "loaded-shifted", loaded_elf(functions, shift=0x400000))
    save("fuzz_elf", "loaded-cut", loaded_elf(functions, moved=base)[:200])
    table = [(b"main", 0x12, 0x400100, 64), (b"_ZN3foo3barEi", 0x12, 0x400140, 16), (b"_RNvC1a4main", 2, 0x400180, 0),
             (b"local", 2, 0x400140, 16), (b"data", 0x11, 0x400200, 8), (b"ifunc", 0x1a, 0x400300, 1 << 40),
             (b"outside", 0x12, 0x900000, 8), (b"_Z" + b"N" * 300, 0x12, 0x400400, 4)]
    good = program_elf(table)
    save("fuzz_elf", "program", good)
    save("fuzz_elf", "stripped", program_elf(table, kind=11))
    save("fuzz_elf", "no-table", program_elf([], kind=1))
    save("fuzz_elf", "cut", good[:300])
    save("fuzz_elf", "empty", b"")
    save("fuzz_elf", "text-without-end", program_elf(table, text=(1 << 63) - 0x100))


def cpio(files, trailer=True):
    out = b""
    for name, data in files + [(b"TRAILER!!!", b"")] * trailer:
        fields = (1, 0o100644 if data else 0, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08x" % f for f in fields) + name + b"\0"
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return out


def make_packages():
    listed = b"/.\n/usr\n/usr/lib\n/lib/libc.so.6\n/usr/bin/true\n"
    for name, path in ("arch", b"/var/lib/dpkg/info/libc6:amd64.list"), ("plain", b"root/var/lib/dpkg/info/coreutils.list"), ("none", b"/var/lib/dpkg/info/.list"), ("other", b"/lib/x"):
        save("fuzz_packages", name, path + b"\0" + listed)
    save("fuzz_packages", "cut", b"/var/lib/dpkg/info/libc6:amd64.list\0" + listed[:-3])
    save("fuzz_packages", "empty", b"")


def make_sysroot():
    files = [(b"bin/sh", b"12345"), (b"./lib/x", b"abc")]
    one = cpio(files)
    save("fuzz_sysroot", "one", one)
    save("fuzz_sysroot", "gzip", gzip.compress(one, mtime=0))
    save("fuzz_sysroot", "two", cpio([(b"early", b"x" * 20)]) + bytes(300) + gzip.compress(one, mtime=0))
    save("fuzz_sysroot", "no-trailer", cpio(files, False))
    save("fuzz_sysroot", "cut", one[:200])
    save("fuzz_sysroot", "lying-size", one.replace(b"00000005", b"fffffff5"))
    save("fuzz_sysroot", "other-size", cpio([(b"bin/sh", b"1234")]))
    save("fuzz_sysroot", "empty", b"")
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(folder + "/root/bin")
        with open(folder + "/root/bin/sh", "wb") as f:
            f.write(b"12345")
        with open(folder + "/image", "wb") as f:
            f.truncate(1 << 16)
        subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal,^resize_inode", "-N", "16", "-U", "clear",
                        "-d", folder + "/root", folder + "/image"], check=True)
        with open(folder + "/image", "rb") as f:
            image = f.read()
    save("fuzz_sysroot", "ext4", image)
    mbr = bytes(446) + struct.pack("<IIII", 0, 0x83, 8, 128) + bytes(48) + b"\x55\xaa"
    save("fuzz_sysroot", "partitioned", mbr + bytes(7 * 512) + image)
    save("fuzz_sysroot", "partition-outside", bytes(446) + struct.pack("<IIII", 0, 0x83, 0xfffffff0, 128) + bytes(48) + b"\x55\xaa")
    save("fuzz_sysroot", "ext-magic-only", bytes(1024 + 0x38) + b"\x53\xef" + bytes(2000))


def make_index():
    counts, lane = varint(5) * 7, varint(0) + varint(100) + varint(50) + b"\0" + varint(KERNEL) + varint(0) + b"\3"
    frame = b"\1" + varint(0xffffc90000001ff8) + varint(KERNEL) + varint(KERNEL + 5) + varint(1) * 3 + varint(2) + varint(0)
    stack = varint(1) + varint(9) + varint(9) + b"\1" + varint(KERNEL) + svarint(0) + varint(2) + frame * 2 + varint(0)
    save("fuzz_index", "checkpoint", b"\1" + counts + lane + stack + varint(0))
    save("fuzz_index", "checkpoint-twice", b"\1" + counts + lane + stack * 2 + varint(0))
    save("fuzz_index", "checkpoint-deep", b"\1" + counts + lane + stack.replace(svarint(0) + varint(2), svarint(0) + varint(1 << 40)) + varint(0))
    save("fuzz_index", "checkpoint-no-stack", b"\1" + counts + varint(77) + lane[1:] + varint(0))
    save("fuzz_index", "callees", b"\1" + varint(1) + varint(3) + varint(7) * 6 + varint(0))
    save("fuzz_index", "callees-lying", b"\1" + varint(1) + varint((1 << 64) - 1) + varint(7) * 3)
    entry = varint(10) + varint(40) + varint(0) + varint(0) + varint(3) + varint(1) + varint(1) + varint(2)
    save("fuzz_index", "table", b"\0" + varint(2) + entry + varint(20) + entry[1:])
    save("fuzz_index", "table-back", b"\0" + varint(2) + entry + varint(5) + entry[1:])
    save("fuzz_index", "table-function", b"\0" + varint(1) + entry[:-1] + varint(1 << 31))
    save("fuzz_index", "file", b"\2" + b"\x89uptoidx" + u32(4, 5, 5, 0, 0, 0, 0, 0))
    save("fuzz_index", "empty", b"\2")


def make_history():
    """As analysis/history/history_file.c has it: functions of stacks, spans, absences, slices; starts are differences, numbers one more."""
    none, functions = varint(0), (1, 2, 3)
    stack = varint(0) + varint(2)

    def span(kind, parent, thread, start, length, name, result=None):
        return bytes([kind]) + varint(parent + 1) + varint(thread + 1) + none + varint(start) + varint(length) + varint(5) * 2 + string(name) + \
            bytes([result is not None]) + svarint(result or 0)

    def away(thread, start, wake, end, kind=1, context=1, waker=0):
        return varint(thread + 1) + none + varint(start) + varint(wake) + varint(end) + bytes([kind, context]) + varint(2) + varint(3) + stack + \
            varint(waker + 1) + none + stack

    def slice_of(thread, start, length, absence=-1):
        return varint(thread + 1) + varint(0) + varint(1) + varint(absence + 1) + varint(start) + varint(length) + varint(9) + varint(0) + \
            (varint(2) + varint(4)) * 3

    def whole(spans, aways, slices, end=200):
        return varint(end) + varint(len(functions)) + b"".join(map(varint, functions)) + varint(len(spans)) + b"".join(spans) + \
            varint(len(aways)) + b"".join(aways) + varint(len(slices)) + b"".join(slices)

    spans = [span(0, -1, -1, 0, 200, b"boot"), span(1, 0, -1, 0, 100, b"kernel"), span(4, 1, 0, 10, 50, b"name", -5)]
    aways = [away(0, 50, 31, 51, waker=1), away(1, 30, 21, 0, context=0), away(0, 60, 0, 0, kind=0, context=0)]
    slices = [slice_of(2, 0, 10), slice_of(0, 10, 40), slice_of(1, 40, 30), slice_of(0, 50, 60, 0)]
    save("fuzz_history", "plain", whole(spans, aways, slices))
    save("fuzz_history", "empty", whole([], [], []))
    save("fuzz_history", "wakes-itself", whole(spans, [away(0, 50, 31, 51, waker=0)], slices))
    save("fuzz_history", "wakes-each-other", whole(spans, [away(0, 50, 31, 51, waker=1), away(1, 0, 31, 51, waker=0)], slices))
    save("fuzz_history", "slices-overlap", whole(spans, aways, [slice_of(0, 0, 190), slice_of(0, 0, 190), slice_of(1, 0, 190)]))
    save("fuzz_history", "end-late", whole(spans, aways, slices, (1 << 64) - 1))
    save("fuzz_history", "lengths-wrap", whole(spans, aways, [slice_of(0, 10, (1 << 64) - 1)]))
    save("fuzz_history", "parent-later", whole([span(0, 5, -1, 0, 200, b"x")], aways, slices))
    save("fuzz_history", "cut", whole(spans, aways, slices)[:-7])


def make_path_sums():
    """Sums of paths as path_sums_file.c has them: a process with two functions, and another with one, in three segments."""
    whose, amounts = 1 << 30, lambda *n: b"".join(map(varint, n))
    record = lambda gap, calls, insns, ns, more_insns=0, more_ns=0: amounts(gap, calls, insns, ns, more_insns, more_ns)

    def whole(paths, cuts=(100, 50), insns=900, ns=300):
        out = varint(len(cuts)) + amounts(*cuts) + amounts(insns, ns) + varint(len(paths) + 1)
        out += b"".join(amounts(up, function, len(records)) for up, function, records in paths)
        return out + b"".join(records for _, _, records in paths)

    paths = [(1, whose, record(0, 0, 0, 0, 500, 200) + record(2, 0, 0, 0, 100, 50)), (1, 3, record(0, 1, 300, 100, 200, 100) + record(2, 1, 100, 50)),
             (1, 7, record(0, 20, 200, 100)), (4, whose | 2, record(1, 0, 0, 0, 300, 50)), (1, 3, record(1, 9, 300, 50))]
    save("fuzz_path_sums", "whole", whole(paths))
    save("fuzz_path_sums", "empty", whole([]))
    save("fuzz_path_sums", "no-cuts", whole(paths[:2], ()))
    save("fuzz_path_sums", "child-has-more", whole([paths[0], (1, 3, record(0, 1, (1 << 64) - 1, 5))]))
    save("fuzz_path_sums", "parent-later", whole([(2, 3, b"")]))
    save("fuzz_path_sums", "group-within", whole([paths[0], (1, whose | 1, record(0, 0, 1, 1))]))
    save("fuzz_path_sums", "function-below-root", whole([(1, 3, record(0, 1, 2, 3))]))
    save("fuzz_path_sums", "segment-far", whole([(1, whose, record((1 << 64) - 1, 0, 1, 1) + record(5, 0, 1, 1))]))
    save("fuzz_path_sums", "record-cut", whole([(1, whose, record(0, 0, 1, 1)[:-2])]))
    save("fuzz_path_sums", "cut", whole(paths)[:-3])


def make_calls():
    """As fuzz_calls.c has it: options, the trace, and an index's entries with checkpoints."""
    counts, lane = varint(5) * 7, varint(0) + varint(100) + varint(50) + b"\0" + varint(KERNEL) + varint(0) + b"\3"
    frame = b"\1" + varint(0xffffc90000001ff8) + varint(KERNEL) + varint(KERNEL + 5) + varint(1) * 3 + varint(2) + varint(0)
    stack = varint(1) + varint(9) + varint(9) + b"\1" + varint(KERNEL) + svarint(0) + varint(2) + frame * 2 + varint(0)
    callees = varint(1) + varint(3) + varint(7) * 6 + varint(0)

    def entries(*checkpoints):
        return b"".join(bytes([2, 0xff]) + struct.pack("<H", len(c)) + c for c in checkpoints)

    trace = loose(chunks())
    whole = struct.pack("<H", len(trace)) + trace
    def entry(lanes):
        checkpoint = counts + lanes + stack + varint(0)
        return varint(len(checkpoint)) + checkpoint + callees

    good = entry(lane + varint(1) + lane[1:])
    for name, options in (("all", 0), ("no-interrupts", 1), ("shallow", 2), ("long", 4), ("part", 8), ("one-thread", 16),
                          ("one-pid", 32), ("one-cpu", 64), ("append", 128)):
        save("fuzz_calls", name, bytes([options]) + whole)
        save("fuzz_calls", name + "-index", bytes([options]) + whole + entries(b"", good, good))
    save("fuzz_calls", "index-late", b"\2" + whole + b"\x70" + entries(good)[1:])
    save("fuzz_calls", "index-damaged", b"\2" + whole + entries(good[:-9], b"\xff" * 40))
    save("fuzz_calls", "no-end", b"\x80" + struct.pack("<H", len(trace) - 40) + trace[:-40])
    save("fuzz_calls", "nothing", b"\x80\0\0")
    # what is open at a checkpoint ends before any event: at a gap, and at the end
    less = thinned()
    for name, parts in ("gap", less[:3] + less[4:]), ("end", less[:3] + less[7:]):
        trace = loose(parts)
        save("fuzz_calls", "bug-index-" + name, b"\2" + struct.pack("<H", len(trace)) + trace + entries(entry(lane)))


def make_guest_memory():
    """Structures as fuzz_guest_memory.c lays them out: eight addresses, then words that members are found in."""
    def memory(lacking, words):
        return bytes([lacking]) + b"".join(w.to_bytes(8, "little") for w in words)

    some = [0x100, 0x180, 0x200, 0xffffffffc0001000, 0x40, 0, 0xffffffffffffffff, 0x7ffff000]
    save("fuzz_guest_memory", "circles", memory(0, [i * 64 for i in range(64)]))
    save("fuzz_guest_memory", "itself", memory(0, some + [0x40] * 64))
    save("fuzz_guest_memory", "nowhere", memory(0, some + [0x7000] * 64))
    save("fuzz_guest_memory", "zero", memory(0, [0] * 72))
    save("fuzz_guest_memory", "ones", memory(0, [0xffffffffffffffff] * 72))
    save("fuzz_guest_memory", "lying-lengths", memory(0, some + [0xffffffff, 0x1000, 0xfffffffffffff000, 0x48] * 16))
    save("fuzz_guest_memory", "names", memory(0, some + [0x1b5b33316d0a0d00 + i for i in range(64)]))
    save("fuzz_guest_memory", "old", memory(1, some + [0xffffffffc0000000 + i * 16 for i in range(64)]))
    save("fuzz_guest_memory", "lacking", memory(13, some + [i * 8 for i in range(64)]))
    # rsi, rdx and rcx are words 6, 2 and 1, the name's address is r8's, word 8
    made = [0, 0, 0x1000, 0, 0, 0, 0xffffffffc0001000, 0, 0x50, 0, int.from_bytes(b"kprobe_i", "little"), 0x65]
    save("fuzz_guest_memory", "out-of-line", memory(0, made + [0xffffffffc0002000, 64, 0] * 20))
    save("fuzz_guest_memory", "out-of-line-end", memory(0, made[:2] + [0xffffffff] + made[3:6] + [0xfffffffffffff000] + made[7:] + [0] * 60))
    # a table of symbols within the memory itself
    save("fuzz_guest_memory", "symbols", memory(0, some + [0x0002000000000001, 0xffffffffc0001010, 32, 0x61626300, 5, 0x48] * 32))


def make_x86():
    insns = ("e8 00 10 00 00", "ff d0", "41 ff d3", "ff 15 00 00 00 00", "c3", "c2 08 00", "f3 c3", "e9 00 00 00 80",
             "eb fe", "0f 84 00 01 00 00", "74 05", "e3 00", "ff e0", "3e ff e0", "ff 25 00 00 00 00", "0f 05", "48 0f 07",
             "0f 34", "0f 35", "48 cf", "cf", "f4", "fb f4", "0f 01 c9", "0f 01 fb", "0f 01 18", "0f 22 d8", "44 0f 22 c0",
             "0f 30", "e6 80", "ee", "66 ef", "9a 00 00 00 00 10 00", "ea 00 00 00 00 10 00", "ff 2c 24", "ff 1c 24", "cb",
             "ca 08 00", "48 ff 2c 24", "66 e8 00 10", "66 0f 84 00 01")
    for i in insns:
        save("fuzz_x86", i.replace(" ", ""), bytes.fromhex(i))
    for name, data in (("empty", b""), ("prefixes", b"\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x67\xf0\x66\x66\x66\x66"),
                       ("rex", b"\x48"), ("prefix-rex", b"\x66\x48"), ("escape", b"\x0f"), ("rex-escape", b"\x48\x0f"),
                       ("group5-cut", b"\xff"), ("all", bytes.fromhex("".join(insns)))):
        save("fuzz_x86", name, data)


def make_kfi():
    """Logs of each kind that the tests make, and what the descriptions of KFI and KFT have as examples."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
    from kd_logs import made
    dashes = "--------   --------   --------   --------   --------\n"
    for seed in 0, 1, 3, 4, 6, 8, 12, 14:
        save("fuzz_kfi_log", f"made-{seed}", "".join(made(seed).splitlines(keepends=True)[:60]).encode())
    save("fuzz_kfi_log", "no-rows", dashes.encode())
    rows = (("plain", "4 20 33 a b\n7 6 33 c a+0x20\n"), ("no-exits", "1 no exit 1 a x\n" * 9 + "2 -1 1 b a\n3 -2 12i c b\n4 0 -1 d c\n5 5 1 e x\n"),
            ("addresses", "14 8687 0 c000ddd0 c000882c\n15 3 0 c000ddf0 c000ddd8\n"), ("backward", "9 5 1 a b\n8 5 1 b a\n7 0 2 c a\n7 0 2 a c\n"),
            ("overlap", "0 10 1 a x\n2 20 1 b a\n4 9 1 c a\n11 1 -1 d b\n11 0 1 d c\n"), ("same-moment", "5 0 1 a b\n" * 6 + "5 5 2 a b\n5 0 -1 b a\n"),
            ("large", "9223372036854774 1 1 a b\n0 9223372036854770 2 a b\n"))
    for name, text in rows:
        save("fuzz_kfi_log", name, (dashes + text).encode())
    header = "\nKernel Instrumentation Run ID 0\nLogging started at 1 usec by entry to function 0xc000877c\n" \
        "Logging stopped at 9 usec by time at 8 usec from start trigger\nFilters:\n\t500 usecs minimum execution time\n 3-entry function list\n" \
        "no functions NOT in interrupt context\nTotal entries filtered = 896348\nNumber of entries after filters = 1\n"
    save("fuzz_kfi_log", "header", (header + dashes + "1 2 3 a b\n").encode())
    configs = (("plain", "new\nbegin\n trigger start entry start_kernel\n trigger stop entry to_userspace # so\n filter mintime 500\n filter maxtime 0\n"
                " filter noints\nend\n"), ("list", "begin filter funclist do_fork 0xc0012345\n sys_read fend logentries 7 end"),
               ("no-fend", "begin\nfilter funclist a b\nautorepeat\nend\n"), ("two", "begin\ntrigger start time 1\ntrigger stop exit f\nend\nnew begin end\n"),
               ("watch", "begin watch stack 1 watch worst-stack 2 overwrite untimed filter onlyints end"), ("no-end", "begin\nfilter funclist a"),
               ("map", "c0008000 T _text\nc0008400 t .start_kernel\nc0008400 T start_kernel\nc0100000 A _end\n"),
               ("resolve", "10 T x c0008000   c0008004 1\nc0008000 T a_long_name c0008000\nc0008004 t 0xc0008004 0x10 0x0\n"))
    for name, text in configs:
        save("fuzz_kfi_config", name, text.encode())


def make_condition():
    for name, text in (("entry", "entry:vfs_read"), ("module", "ext4:ext4_fill_super#3"), ("exit", "exit:std::io::read#12"), ("time", "time:1.5s"),
                       ("bare-time", "20ms"), ("exec", "exec:/bin/sh#2"), ("log", "log:item #3 of#"), ("log-nth", "log:BUG#1"), ("nth-0", "f#0"),
                       ("nothing", "exit:"), ("bug-two-points", "1.5."), ("colons", ":::"), ("nth-large", "f#18446744073709551616"), ("long", "x" * 5000)):
        save("fuzz_condition", name, text.encode())


def make_learn():
    """A page or two for each structure; every eighth page is missing (fuzz_learn.c)."""
    base, memory = 0xffff888000000000, bytearray(1 << 16)

    def put(at, *words, form="Q"):
        struct.pack_into(f"<{len(words)}{form}", memory, at, *words)

    def task(page, pid, name, parent, mm=0):
        at = page << 12
        put(at + 0x500, pid, pid, form="I")
        put(at + 0x510, base + parent, base + parent)
        put(at + 0x400, mm, mm)
        memory[at + 0x600:at + 0x600 + len(name)] = name
        return base + at

    first = task(6, 0, b"swapper/0", 0x6000)
    tasks = [task(1, 2, b"kthreadd", 0x6000)] + [task(k, k + 1, b"kworker/%d" % k, 0x1000) for k in (2, 3, 4, 5)]
    mm, pgd, file, dentry, root, mnt, super_, inode, vma, kind = (base + (k << 12) for k in (8, 9, 10, 11, 12, 13, 14, 16 - 3, 2, 3))
    user = task(14, 9, b"init", 0x1000, mm)
    put(0x8040, pgd, file)
    put(0x8100, 0x7ff000, 0x7ff010, 0x7ff010, 0x7ff020, 33)
    put(0xa098, mnt, dentry)
    put(0xb018, root, 0, dentry + 0x38, inode)
    memory[0xb038:0xb040] = b"busybox\0"
    put(0xc018, root, 0, root + 0x38)
    memory[0xc038:0xc03a] = b"/\0"
    put(0xd000, root, super_)
    put(0x2800, 0x400000, 0x401000, mm, 0x25, 0x875, 0, kind, 0, file, 0)
    pairs = [(first, t) for t in tasks] + [(tasks[0], first)] * 26 + [(user, 0x9000), (user, base + 0x2800), (mm, 0)]
    for i, (a, b) in enumerate(pairs):
        put(i * 16, a, b)
        put(0x18, 0, form="I")
    save("fuzz_learn", "tasks", bytes(memory))
    save("fuzz_learn", "small", bytes(memory[:0x800]))


def make_dwarf():
    """Debug information of a few structures, and BTF by itself."""
    text = b"struct file { long a, f_path; };\nstruct mm_struct { union { struct { long b; struct file *exe_file; }; long c; }; };\n" \
        b"struct task_struct { int pid, tgid; char comm[16]; struct mm_struct *mm; unsigned flag:3, more:5; } task;\nint main(void) { return task.pid; }\n"
    with tempfile.TemporaryDirectory() as tmp:
        source = os.path.join(tmp, "types.c")
        with open(source, "wb") as f:
            f.write(text)
        for name, options in ("object", ["-c", "-gdwarf-4"]), ("object-5", ["-c", "-gdwarf-5"]), ("linked", ["-nostdlib", "-static", "-Wl,-emain", "-gdwarf-4"]):
            subprocess.run(["gcc", *options, "-O0", "-o", source + ".o", source], check=True, cwd=tmp)
            with open(source + ".o", "rb") as f:
                save("fuzz_dwarf", name, f.read())
    with open(os.path.join(HERE, "corpus/fuzz_btf", sorted(os.listdir(os.path.join(HERE, "corpus/fuzz_btf")))[0]), "rb") as f:
        save("fuzz_dwarf", "btf", f.read())


def make_probes():
    """Definitions of probes, right ones and wrong ones; and debug information of functions, inlined and not, with variables everywhere."""
    for name, text in (
            ("perf", "vfs_read:11 count file->f_path.dentry->d_name.len name=file->f_path.dentry->d_iname:string"), ("return", "given=vfs_read%return $retval:s64"),
            ("named", "group:event=f@fs/open.c+4 %di %r8:x8 $stack0 $stack $comm"), ("source", "fs/open.c:12 a[3].b"), ("pattern", "f;return*0 $vars"),
            ("module", "ext4:ext4_file_open $params"), ("program", "/usr/lib/libc.so.6:malloc bytes"), ("static", "%sdt_libc:setjmp"), ("address", "0xffffffff81000000 %ip"),
            ("kernel", "p:group/name f+8 a=+8(-16(%sp)):u32 b=@x+8:b3@5/8 \\0x10 $arg1:symbol $arg7 +0($arg2):string +1(%si):x8[16] 'c':char"),
            ("kernel-return", "r12:name ext4:f $retval:s32 +u4($arg1):ustring"), ("code", "p f a={%di,8,+,@8,&x+16,+,pick1,swap,rot,drop,@4,sign4}:s32 b={%sp,-8,+,entry%di} c={1,0,/}"),
            ("code-more", "p f a={3,4,*,5,mod,6,and,1,or,2,xor,3,<<,1,>>,1,sar,neg,not,abs,1,==,1,!=,2,<,2,<=,2,>,2,>=}"), ("empty", ""), ("nothing", "p"), ("half", "f:"),
            ("uftrace", "e=f@arg1/s,arg2/x32%rdi,arg3%stack+2,arg10/c"), ("uftrace-return", "/bin/x:f@retval/p"), ("types", "f a:u7 b:b9@0/8 c:x8[0] d:string[4]"), ("deep", "f " + "+1(" * 40 + "%di" + ")" * 40), ("many", "f" + " %di" * 129)):
        save("fuzz_probes", name, text.encode())
    text = b"struct s { struct s *a; struct { int c[4]; } b; unsigned bits : 3, more : 5; char name[8]; } g1;\nextern int take(long, void *);\n" \
        b"static inline __attribute__((always_inline)) int inner(int n, struct s *s)\n{\n\tint twice = n * 2;\n\n\treturn take(twice, s) + s->bits;\n}\n" \
        b"int f(int n, struct s *s, struct s by_value, char *name)\n{\n\tint sum = inner(n, s);\n\n\tfor (int i = 0; i < n; i++)\n\t\tsum += inner(i, s->a) * by_value.more;\n\treturn take(sum, name) + g1.bits;\n}\n" \
        b"static __attribute__((noinline)) long g2(long n)\n{\n\treturn n + take(n, &g1);\n}\nint main(void)\n{\n\treturn f(1, &g1, g1, g1.name) + g2(3);\n}\n"
    with tempfile.TemporaryDirectory() as tmp:
        source = os.path.join(tmp, "x.c")
        with open(source, "wb") as f:
            f.write(text)
        for name, options in ("object", ["-c", "-O2", "-gdwarf-4"]), ("object-5", ["-c", "-O2", "-gdwarf-5"]), ("unoptimized", ["-c", "-O0", "-gdwarf-5"]), \
                ("linked", ["-shared", "-O2", "-fPIC", "-nostdlib", "-gdwarf-5"]):
            subprocess.run(["gcc", *options, "-o", source + ".o", source], check=True, cwd=tmp)
            with open(source + ".o", "rb") as f:
                save("fuzz_debug_info", name, f.read())
        subprocess.run(["gcc", "-g", "-O2", "-c", "-o", source + ".o", os.path.join(HERE, "../tests/guests/probed.c")], check=True, cwd=tmp)
        with open(source + ".o", "rb") as f:
            save("fuzz_debug_info", "static-probes", f.read())


if __name__ == "__main__":
    make_probes()
    make_learn()
    make_condition()
    make_kfi()
    make_trace()
    make_symtab()
    make_meta()
    make_kallsyms()
    make_bzimage()
    make_kernel_image()
    make_btf()
    make_prototypes()
    make_events()
    make_interpreter()
    make_dwarf()
    make_elf()
    make_index()
    make_history()
    make_path_sums()
    make_calls()
    make_packages()
    make_sysroot()
    make_guest_memory()
    make_x86()
