# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks by unwind tables, read without upto: the kernel's ORC (arch/x86/include/asm/orc_types.h,
arch/x86/kernel/unwind_orc.c) and programs' DWARF as readelf prints it."""
import bisect
import re
import struct
import subprocess

UNDEFINED, PREV_SP, DX, DI, BP, SP, R10, R13, BP_INDIRECT, SP_INDIRECT = range(10)
REGISTERS = {DX: "rdx", DI: "rdi", BP: "rbp", SP: "rsp", R10: "r10", R13: "r13"}


class Orc:
    """One table: of the kernel or of a module. `starts` are addresses, sorted."""
    def __init__(self, starts, entries, old):
        order = sorted(range(len(starts)), key=lambda i: starts[i])
        self.starts, self.entries, self.old = [starts[i] for i in order], [entries[i] for i in order], old

    def find(self, ip):
        """(kind, whether an interrupt's frame, CFA register and offset, frame pointer's register and offset)"""
        i = bisect.bisect_right(self.starts, ip) - 1
        if i < 0:
            return None
        sp_offset, bp_offset, regs, flags = struct.unpack("<hhBB", self.entries[i])
        if self.old:  # before 6.4: type:2, end:1
            kind = "end" if flags >> 2 & 1 else ("call", "regs", "partial", "none")[flags & 3]
            signal = False
            if kind == "call" and not regs & 15:
                kind = "none"
        else:
            kind = ("none", "end", "call", "regs", "partial", "none", "none", "none")[flags & 7]
            signal = bool(flags >> 3 & 1)
        return kind, signal, regs & 15, sp_offset, regs >> 4, bp_offset


def orc_of_kernel(stub, symbols, old):
    tables = {}
    for table in ("orc_unwind_ip", "orc_unwind"):
        start, end = symbols[f"__start_{table}"], symbols[f"__stop_{table}"]
        tables[table] = stub.memory(start, end - start)
    start, ips = symbols["__start_orc_unwind_ip"], tables["orc_unwind_ip"]
    starts = [start + i * 4 + v[0] for i, v in enumerate(struct.iter_unpack("<i", ips))]
    entries = [tables["orc_unwind"][i * 6:i * 6 + 6] for i in range(len(starts))]
    return Orc(starts, entries, old)


class Frames:
    """A program's .eh_frame by address, as loaded at `base`."""
    def __init__(self, program, base):
        self.rows, common = [], {}
        columns, out = [], subprocess.run(["readelf", "-W", "--debug-dump=frames-interp", program], stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, check=True).stdout.decode()
        for line in out.splitlines():
            fde = re.match(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)$", line)
            cie = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE ", line)
            if cie:
                in_common, columns, start, end = cie.group(1), [], None, None
            elif fde:
                start, end, columns = int(fde.group(2), 16), int(fde.group(3), 16), []
                self.rows.append((base + start, base + end, common[fde.group(1)]))
            elif line.strip().startswith("LOC"):
                columns = line.split()[1:]
            elif columns and re.match(r"[0-9a-f]{16} ", line):
                loc, *cells = line.split()
                if end is None:
                    common[in_common] = dict(zip(columns, cells))
                else:
                    self.rows.append((base + int(loc, 16), base + end, dict(zip(columns, cells))))
        self.rows.sort(key=lambda r: r[0])
        self.starts = [r[0] for r in self.rows]

    def find(self, ip):
        i = bisect.bisect_right(self.starts, ip) - 1
        return self.rows[i][2] if i >= 0 and ip < self.rows[i][1] else None


def unwind(stub, registers, orcs, programs):
    """Addresses from the innermost on: where control is, then where each call returns to, or what was interrupted.

    Ends where no table has the address, or the stack does. The second value is whether that is the stack's own end."""
    regs, signal, out = dict(registers), True, []
    while len(out) < 100:
        ip = regs["rip"]
        out.append(ip)
        step = kernel_step if ip >> 63 else user_step
        end, signal = step(stub, regs, orcs if ip >> 63 else programs, ip if signal else ip - 1)
        if end:
            return out, end == "end"
    return out, False


def user_step(stub, regs, programs, at):
    rules = next((r for r in (p.find(at) for p in programs) if r), None)
    if not rules:
        return "unknown", False
    m = re.match(r"(rsp|rbp)\+(\d+)$", rules["CFA"])
    if rules["ra"] == "u":
        return "end", False
    if not m:
        return "unknown", False
    cfa = regs[m.group(1)] + int(m.group(2))
    saved = re.match(r"c-(\d+)$", rules.get("rbp", "u"))
    if saved:
        regs["rbp"] = stub.word(cfa - int(saved.group(1)))
    regs["rip"], regs["rsp"] = stub.word(cfa - 8), cfa
    return None, False


def kernel_step(stub, regs, orcs, at):
    found = next((f for f in (o.find(at) for o in orcs if o.starts[0] <= at < o.starts[-1] + (1 << 20)) if f), None)
    if not found or found[0] in ("none", "end"):
        return found[0] if found else "unknown", False
    kind, signal, sp_reg, sp_offset, bp_reg, bp_offset = found
    if sp_reg == SP_INDIRECT:
        sp = stub.word(regs["rsp"]) + sp_offset
    elif sp_reg == BP_INDIRECT:
        sp = stub.word(regs["rbp"] + sp_offset)
    elif sp_reg in REGISTERS:
        sp = regs[REGISTERS[sp_reg]] + sp_offset
    else:
        return "unknown", False
    if kind == "call":
        regs["rip"], regs["rsp"] = stub.word(sp - 8), sp
    elif kind == "regs":  # struct pt_regs
        if bp_reg in (UNDEFINED, PREV_SP, BP):
            regs["rbp"] = stub.word(sp + 4 * 8)
        regs["rip"], regs["rsp"] = stub.word(sp + 16 * 8), stub.word(sp + 19 * 8)
        return None, True
    else:                 # only what the CPU pushed
        regs["rip"], regs["rsp"] = stub.word(sp), stub.word(sp + 24)
    if bp_reg == PREV_SP:
        regs["rbp"] = stub.word(sp + bp_offset)
    elif bp_reg == BP:
        regs["rbp"] = stub.word(regs["rbp"] + bp_offset)
    return None, signal or kind == "partial"
