# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace.dat as a machine of the other order of bytes would have written it: trace-cmd.dat.v6(5), Documentation/trace/ring-buffer-design.rst and include/linux/ring_buffer.h."""
import re
import struct

FIELD = re.compile(r"field:(.*?);\s*offset:(\d+);\s*size:(\d+);")
ELEMENTS = {"long": 8, "u64": 8, "unsigned long": 8, "u32": 4, "int": 4, "unsigned int": 4, "u16": 2, "short": 2}
PAGE, PAGE_HEAD = 4096, 16


class Turned:
    """Reads little-endian bytes, and writes what it reads big-endian."""
    def __init__(self, data):
        self.data, self.at, self.out = data, 0, bytearray()

    def raw(self, n):
        self.out += self.data[self.at:self.at + n]
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        value = int.from_bytes(self.data[self.at:self.at + n], "little")
        self.at += n
        self.out += value.to_bytes(n, "big")
        return value

    def text(self):
        return self.raw(self.data.index(b"\0", self.at) + 1 - self.at)[:-1].decode()


def layout_of(text):
    """The event's ID, and offset, size and element's size of each field."""
    fields = []
    for name, offset, size in FIELD.findall(text):
        base = re.sub(r"\s*\w+(\[.*\])?$", "", name)
        array = re.search(r"\[(\w*)\]$", name)
        element = ELEMENTS.get(base, 1) if array and "__data_loc" not in name else int(size)
        fields.append((int(offset), int(size), element))
    return int(re.search(r"^ID: (\d+)", text, re.M)[1]), fields


def turn(data, offset, size, element):
    for at in range(offset, offset + size, element):
        data[at:at + element] = bytes(reversed(data[at:at + element]))


def turn_record(record, layouts):
    fields = layouts.get(int.from_bytes(record[:2], "little"))
    for offset, size, element in fields or ():
        if element in (2, 4, 8) and offset + size <= len(record):
            turn(record, offset, size, element)


def turn_page(page, layouts):
    """Bits of the first word are the other way round, too: five of the type and length, 27 of the time since the record before."""
    out = bytearray(page)
    commit = int.from_bytes(page[8:PAGE_HEAD], "little")
    turn(out, 0, 8, 8)
    turn(out, 8, 8, 8)
    at, end = PAGE_HEAD, PAGE_HEAD + (commit & 0xfffff)
    while at + 4 <= end:
        word = int.from_bytes(page[at:at + 4], "little")
        kind, delta = word & 31, word >> 5
        out[at:at + 4] = (kind << 27 | delta).to_bytes(4, "big")
        at += 4
        if kind == 29 and not delta:
            break
        if kind in (0, 29, 30, 31):
            turn(out, at, 4, 4)
        size = 4 * kind if kind <= 28 else 4
        begin = at
        if kind == 0:
            size = int.from_bytes(page[at:at + 4], "little")
            begin += 4
        elif kind == 29:
            size = int.from_bytes(page[at:at + 4], "little")
        if kind <= 28:
            record = bytearray(page[begin:at + size])
            turn_record(record, layouts)
            out[begin:at + size] = record
        at += size
    if commit >> 30 & 1 and end + 8 <= PAGE:  # how many were lost before it
        turn(out, end, 8, 8)
    return out


def big_endian(data):
    t = Turned(data)
    assert t.raw(10) == b"\x17\x08\x44tracing" and t.text() == "6" and data[t.at] == 0
    t.at += 1
    t.out += b"\x01"
    t.raw(1)
    assert t.number(4) == PAGE
    for name in "header_page", "header_event":
        assert t.text() == name
        t.raw(t.number(8))
    layouts = {}
    for _ in range(t.number(4)):
        number, fields = layout_of(t.raw(t.number(8)).decode())
        layouts[number] = fields
    for _ in range(t.number(4)):
        t.text()
        for _ in range(t.number(4)):
            number, fields = layout_of(t.raw(t.number(8)).decode())
            layouts[number] = fields
    t.raw(t.number(4))
    t.raw(t.number(4))
    t.raw(t.number(8))
    cpus = t.number(4)
    if data[t.at:t.at + 10] == b"options  \0":  # of what only trace-cmd shows
        t.at += 10
        while (option := int.from_bytes(data[t.at:t.at + 2], "little")):
            t.at += 6 + int.from_bytes(data[t.at + 2:t.at + 6], "little")
        t.at += 2
    assert t.raw(10) == b"flyrecord\0"
    places = [struct.unpack_from("<QQ", data, t.at + 16 * i) for i in range(cpus)]
    out, pages = t.out, []
    at = -(-(len(out) + 16 * cpus) // PAGE) * PAGE
    for offset, size in places:
        out += struct.pack(">QQ", at, size)
        pages += [turn_page(data[offset + i:offset + i + PAGE], layouts) for i in range(0, size, PAGE)]
        at += -(-size // PAGE) * PAGE
    out += bytes(-len(out) % PAGE)
    return bytes(out) + b"".join(pages)
