# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks against QEMU's gdbstub: at breakpoints, what the kernel's and programs' own unwind tables say."""
import glob
import json
import lzma
import os
import re
import struct
import subprocess
import threading
import zlib

import pytest

from gdbstub import Gone, Stub
from guest import UPTO, WORK, kernel, numbers, qemu_args, run, upto_json
from test_code import image, program, recording
from unwind import Frames, Orc, orc_of_kernel, unwind

HITS, WINDOW = 200, 6 # at least so many; functions that are waited for at a time
DRAWN = 280  # kernel functions to wait for: some do not come, and where a host is slow, patience ends before others do
PATIENCE = 1.5  # seconds of QEMU's after which what is waited for is given up
PIE = 0x555555554000  # where Linux loads a position-independent program that is not moved about
MODULES = 0xffffffffc0000000
GOING_ELSEWHERE = re.compile("_sys_rt_sigreturn$|exit_to_user|^arch_do_signal|^bprm_execve|^load_elf_")
UNTABLED = re.compile("__x86_|srso_|retbleed_|zen_|entry_|asm_|ret_from_fork")  # thunks and entry code are not unwound from
NO_MOMENT = re.compile("__switch_to_asm$")  # no time passes between its entry and the switch
STARTUP = 0x400  # bytes of the kernel's first code
# run in interrupts and behind them, again and again
IN_INTERRUPTS = ["hrtimer_interrupt", "update_process_times", "rcu_core", "run_timer_softirq", "handle_edge_irq",
                 "tick_handle_periodic", "serial8250_interrupt", "blk_mq_complete_request", "clockevents_program_event"]


class Module:
    """A module's file: its functions, and its unwind table."""
    def __init__(self, path):
        self.name = os.path.basename(path).split(".")[0].replace("-", "_")
        data = open(path, "rb").read()
        data = lzma.decompress(data) if path.endswith(".xz") else data
        sections = {}
        header = struct.unpack_from("<16sHHIQQQIHHHHHH", data)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, header[6] + i * header[11]) for i in range(header[12])]
        names = raw[header[13]]
        for s in raw:
            name = data[names[4] + s[0]:data.index(b"\0", names[4] + s[0])].decode()
            sections[name] = (raw.index(s), data[s[4]:s[4] + s[5]] if s[1] != 8 else b"")
        text, symbols, strings = sections[".text"], sections[".symtab"][1], sections[".strtab"][1]
        self.text, self.functions, numbers = text[1], {}, []
        for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", symbols):
            numbers.append((section, value))
            if section == text[0] and info & 15 == 2:
                self.functions[strings[name:strings.index(b"\0", name)].decode()] = value
        self.relocated = {o for o, *_ in struct.iter_unpack("<QQq", sections.get(".rela.text", (0, b""))[1])}
        self.orc, table = [], sections[".orc_unwind"][1]
        for offset, info, addend in struct.iter_unpack("<QQq", sections[".rela.orc_unwind_ip"][1]):
            section, value = numbers[info >> 32]
            if section == text[0]:
                self.orc.append((value + addend, table[offset // 4 * 6:offset // 4 * 6 + 6]))
        self.base = None

    def is_at(self, stub, base):
        """Does its code lie there? Of what is as in the file: calls are filled in, and alternatives, here and there."""
        there, same, other = stub.memory(base, min(len(self.text), 4096)), 0, 0
        for at in range(0, len(there) - 8, 8):
            if not any(at - 4 < r < at + 8 for r in self.relocated):
                same += there[at:at + 8] == self.text[at:at + 8]
                other += there[at:at + 8] != self.text[at:at + 8]
        return same > 8 and same > 4 * other

    def find(self, stub, struct_module):
        words = struct.unpack("<160Q", stub.memory(struct_module, 160 * 8))
        for base in words:
            if base >= MODULES and base % 4096 == 0 and self.is_at(stub, base):
                self.base = base
                return


def kernel_symbols(path, slide):
    """Names that only one thing has, with their address in a kernel that is not moved about."""
    symbols = {}
    for line in open(path):
        addr, kind, name, *module = line.split()
        if not module and int(addr, 16) >> 63:
            symbols[name] = None if name in symbols else int(addr, 16) - slide
    return {n: a for n, a in symbols.items() if a}


def name_at(symbols, addr):
    return max((a, n) for n, a in symbols.items() if a <= addr)[1] if addr >> 63 else ""


def find_modules(stub, symbols, modules):
    """Those that are loaded: the kernel's list, include/linux/module.h: state, list, name."""
    head = symbols["modules"]
    at = stub.word(head)
    while at and at != head:
        name = stub.memory(at + 16, 56).split(b"\0")[0].decode(errors="replace")
        module = modules.get(name)
        if module and not module.base:
            module.find(stub, at - 8)
        at = stub.word(at)


def is_drawn(name, count, wanted):
    """The same ones each time, whatever else ran."""
    return zlib.crc32(name.encode()) % max(1, count // wanted) == 0


def choose(version, trace, symbols, modules, story):
    """Functions in the order of their first entries, spread over the boot, with a way to get each one's address."""
    chosen, kernel_functions = [], []
    for row in upto_json("first", "--json", "-n", "0", trace)["first"]:
        name, _, where = row["function"].partition(" [")
        where = where.rstrip("]")
        if where in modules and name in modules[where].functions and list(modules).index(where) < 8:
            chosen.append((row["ns"], name, modules[where]))
        elif where == "story" and name in story:
            chosen.append((row["ns"], name, "story"))
        elif not where and name in symbols and row["section"] == ".text" and not (UNTABLED.match(name) or NO_MOMENT.match(name)):
            kernel_functions.append((row["ns"], name, None))
    return sorted([c for c in chosen if c[2] == "story" or is_drawn(c[1], len(chosen), 30)] +
                  [k for k in kernel_functions if is_drawn(k[1], len(kernel_functions), DRAWN)], key=lambda c: c[0])


def address(function, symbols, story):
    _, name, where = function
    if where is None:
        return symbols[name]
    if where == "story":
        return PIE + story[name]
    return where.base + where.functions[name] if where.base else None


def run_guest(stub, functions, symbols, modules, story, old):
    """(function's name, address, stack pointer, whether it was waited for since the last, unwound stack, whether that is whole)"""
    programs, orcs, hits, next_one, waited = [Frames(program("story"), PIE)], [], [], 0, True
    interrupts = [f for f in IN_INTERRUPTS if f in symbols]
    while next_one < len(functions):
        here = {}
        window = functions[next_one:next_one + WINDOW]
        for i, f in enumerate(window):
            here[address(f, symbols, story)] = (f[1], next_one + i + 1)
        if len(hits) % 5 == 4:
            for name in interrupts:
                here.setdefault(symbols[name], (name, next_one))
        here.pop(None, None)
        try:
            stub.step()
            for addr in here:
                stub.breakpoint(addr)
            hit = stub.go_on(PATIENCE)
        except Gone:
            break
        for addr in here:
            stub.breakpoint(addr, False)
        regs = stub.registers()
        if not hit:
            next_one, waited = next_one + WINDOW, False
            continue
        name, next_one = here[regs["rip"]]
        if not orcs:
            orcs.append(orc_of_kernel(stub, symbols, old))
        if len(hits) > 20:
            known = sum(m.base is not None for m in modules.values())
            find_modules(stub, symbols, modules)
            if known < sum(m.base is not None for m in modules.values()):
                orcs = orcs[:1] + [Orc([m.base + a for a, _ in m.orc], [e for _, e in m.orc], old)
                                   for m in modules.values() if m.base and m.orc]
        stack, whole = unwind(stub, regs, orcs, programs)
        if whole and UNTABLED.match(name_at(symbols, stack[-1])):
            whole = False  # an interrupt came in a thunk, which upto counts as part of who jumped to it
        if whole and old and symbols["secondary_startup_64"] <= stack[-1] < symbols["secondary_startup_64"] + STARTUP:
            stack.pop()  # pushed by hand, so that unwinding ends there: later kernels call
        if stack[-1] in (symbols.get("ret_from_fork"), symbols.get("ret_from_fork_asm")):
            stack, whole = stack[:-1], False  # where a new task will go: nothing called from there yet
        hits.append((name, regs["rip"], regs["rsp"], waited, stack, whole))
        waited = True
    return hits


def entries(trace, names):
    """Event that led there, by address, in the order of time."""
    out = {}
    with subprocess.Popen([UPTO, "dump", "--json", "-F", ",".join(sorted(names)), trace], stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            e = numbers(json.loads(line))
            out.setdefault(e["target"], []).append(e)
    return out


def may_be(event, rsp, want):
    """Is it how the function was entered at the breakpoint, as far as an event tells?"""
    if event["kind"] not in ("call", "call-indirect"):
        return True
    return event["slot"] == rsp and (len(want) < 2 or event["from"] == want[1])


def stack_at(trace, ns, addr):
    stacks = upto_json("stack", "--json", "--running", "--at", f"{ns + 1}ns", trace)["stacks"]
    assert stacks, f"no stack at {ns + 1}ns, in {addr:#x}"
    stack = stacks[0]["frames"]
    stack = [numbers(f) for f in stack if f["address"]]  # who ended in a tail call is not on the machine's stack
    if stack[0]["kind"] == "interrupt" and stack[1]["address"] == addr:
        stack = stack[1:]  # it came before the function's first instruction was done
    return stack


def is_equal(stack, want, whole):
    functions = [f["function"] for f in stack]
    if any(f.startswith("int3_selftest") for f in functions):
        return True  # it emulates a call by hand
    # the kernel's saved user registers are of where it will go, which need not be where it was called: a new program, a signal
    if functions[-1].startswith("ret_from_fork") or any(GOING_ELSEWHERE.search(f) for f in functions):
        want = [a for a in want if a >> 63]
    if len(want) <= len(functions) and UNTABLED.match(functions[len(want) - 1]):
        whole = False
    # a signal's handler returns to a trampoline, which nobody called
    handler = next((i for i, f in enumerate(stack) if f["kind"] == "signal"), len(stack))
    if len(want) > handler + 1:
        want, whole = want[:handler + 1], False
    got = [f["address"] for f in stack]
    return got[:len(want)] == want and (not whole or len(got) == len(want))


@pytest.mark.qemus
@pytest.mark.parametrize("version", ["6.1"])
@pytest.mark.long
@pytest.mark.weight(30)
def test_gdbstub(version):
    """At breakpoints in kernel, modules, interrupts and user code, each return address as unwound from outside."""
    folder, path = kernel(version)
    guide, said = recording(version, 1)
    symbols = kernel_symbols(os.path.join(said, "kallsyms"), upto_json("info", "--json", guide)["slide"])
    modules = {m.name: m for m in (Module(f) for pattern in ("virtio/virtio_pci", "virtio/virtio_ring", "virtio/virtio", "block/virtio_blk", "block/brd")
                                   for f in glob.glob(f"{folder}/lib/modules/*/kernel/drivers/{pattern}.ko*"))}
    story = {f[2]: int(f[0], 16) for f in (line.split() for line in run("nm", program("story")).stdout.decode().splitlines())
             if len(f) == 3 and f[1] in "tT"}
    functions = choose(version, guide, symbols, modules, story)
    # which moments are met differs from run to run; what is wrong, and not only rare, is wrong in each
    wrong, told = follow(version, functions, symbols, modules, story)
    if wrong:
        wrong, told = follow(version, functions, symbols, modules, story)
    assert not wrong, told + ":\n" + "\n".join(wrong[:5])
    return told


def follow(version, functions, symbols, modules, story):
    """A boot from breakpoint to breakpoint: what differs, and how much was compared."""
    for m in modules.values():
        m.base = None
    name = os.path.join(WORK, f"stub-{version}")
    trace, path, disk = name + ".upto", name + ".gdb", name + ".disk"
    if os.path.exists(path):
        os.unlink(path)
    args = qemu_args(version, image(version), append="nokaslr norandmaps", disk=disk)
    args += ["-S", "-gdb", f"unix:{path},server=on,wait=off"]
    recorder = threading.Thread(target=lambda: results.append(run(UPTO, "record", "-q", "-f", "-o", trace, "--", *args)))
    results = []
    recorder.start()
    stub = Stub(path)
    try:
        hits = run_guest(stub, functions, symbols, modules, story, version == "6.1")
    finally:
        stub.let_go()
        recorder.join()
    return compare(trace, hits)


def compare(trace, hits):
    events, before, kinds, frames, wrong = entries(trace, {h[0] for h in hits}), 0, {}, 0, []
    for name, addr, rsp, waited, want, whole in hits:
        after = [e for e in events[addr] if e["insns"] > before]
        # without a breakpoint all the time since the last hit, it need not be the first that comes
        tried = after[:1] if waited else [e for e in after if may_be(e, rsp, want)][:20]
        if not tried:
            wrong.append(f"{name} {waited}: no such entry")
        for event in tried:
            stack = stack_at(trace, event["ns"], addr)
            if is_equal(stack, want, whole):
                break
        if tried and not (may_be(event, rsp, want) and is_equal(stack, want, whole)):
            wrong.append(f"{name} {waited} {event}: {[hex(a) for a in want]} {whole}, but "
                         f"{[(hex(f['address']), f['function']) for f in stack]}")
        if not tried:
            continue
        before = event["insns"]
        kind = "user" if not addr >> 63 else "module" if addr >= MODULES else "kernel"
        if any(f["kind"] == "interrupt" for f in stack):
            kind = "interrupt"
        kinds[kind] = kinds.get(kind, 0) + 1
        frames += len(want)
    if len(hits) < HITS or any(kinds.get(k, 0) < 5 for k in ("interrupt", "kernel", "module", "user")):
        wrong.append("too few moments")
    return wrong, f"{len(hits)} stacks, {frames} frames: " + ", ".join(f"{n} {k}" for k, n in sorted(kinds.items()))


# the other kernel's recording has two vCPUs: what it ran first does not guide through a boot with one
