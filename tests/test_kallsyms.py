# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that a kernel's own symbol table has had, in images made for it; test_truth.py reads those of real kernels."""
import os
import struct
import sys

import pytest

from guest import CHECK, TOP, WORK, run

sys.path.insert(0, os.path.join(TOP, "fuzz"))
from make_corpus import KERNEL, elf, kallsyms  # noqa: E402

TEXT, RODATA, DATA, INIT = KERNEL, KERNEL + 0x100000, KERNEL + 0x200000, KERNEL + 0x300000
FUNCTIONS, TEXT_BYTES, INIT_BYTES = 2000, 0x10000, 0x3000


def some_symbols(percpu, data_type):
    """(address, type, name), as an image has them; and of these what is a function."""
    symbols = [(8 * i, "D", f"per_cpu_{i}") for i in range(30 * percpu)]
    symbols += [(TEXT, "T", "_stext")]
    functions = [(TEXT + 16 + 32 * i, ".text", f"function_{i}") for i in range(FUNCTIONS)]
    symbols += [(addr, "tT"[i % 2], name) for i, (addr, _, name) in enumerate(functions)]
    symbols += [(TEXT + 0x10000, "T", "_etext"), (RODATA, "R", "__start_rodata")]
    symbols += [(DATA + 64 * i, data_type, f"data_{i}") for i in range(100)]
    symbols += [(INIT, "T", "_sinittext"), (INIT + 8, "T", "start_kernel"), (INIT + 0x1000, "T", "_einittext"),
                (INIT + 0x2000, "B", "_end")]
    functions = [(TEXT, ".text", "_stext"), *functions, (INIT, ".init.text", "_sinittext"),
                 (INIT + 8, ".init.text", "start_kernel")]
    return symbols, functions


def image(form):
    percpu = form in ("old", "new")
    symbols, functions = some_symbols(percpu, "T" if form.startswith("place") or form == "no-percpu" else "D")
    options = dict(place=RODATA, seqs=True, edge=4 if form == "place-4" else 8) if form.startswith("place") else \
        dict(order="old" if form.startswith("old") else "new", percpu=percpu, seqs=form != "old-no-percpu")
    table = kallsyms([list((kind + name).encode()) for _, kind, name in symbols], addresses=[a for a, *_ in symbols], **options)
    executable, writable = 4, 1
    return elf([(b".text", TEXT, b"\x90" * TEXT_BYTES, 2 | executable), (b".rodata", RODATA, table, 2),
                (b".data", DATA, bytes(0x2000), 2 | executable | writable),
                (b".init.text", INIT, b"\x90" * INIT_BYTES, 2 | executable)], []), functions


# without per-CPU symbols at 0: since 6.15; place: since 7.1, place-4: 7.3
@pytest.mark.parametrize("form", ["old", "new", "old-no-percpu", "no-percpu", "place", "place-4"])
def test_forms(form):
    """The functions at their addresses, none of .data, which newer kernels flag as executable."""
    made, functions = image(form)
    path = os.path.join(WORK, f"kallsyms-{form}")
    with open(path, "wb") as f:
        f.write(made)
    said = [line.split() for line in run(os.path.join(CHECK, "tests/symbols"), path).stdout.decode().splitlines()]
    assert said == [[f"{addr:x}", section, name] for addr, section, name in functions], said[:3] + said[-3:]
    # each up to the next one, the last of a section up to its end
    limits = {".text": TEXT + TEXT_BYTES, ".init.text": INIT + INIT_BYTES}
    ends = [min(limits[section], after[0] if after else limits[section]) for (_, section, _), after in zip(functions, [*functions[1:], None])]
    assert run(os.path.join(CHECK, "tests/symbols"), "--ends", path).stdout.decode().split() == [f"{end:x}" for end in ends]
    return f"{len(said)} functions"


def test_names():
    """What compilers and the linker's script made of names: how it is shown, what it is called in the source, and what is no function."""
    names = {
        "vfs_read": "vfs_read vfs_read", "vfs_read.isra.0": "vfs_read.isra.0 vfs_read", "vfs_read.part.12": "vfs_read.part.12 vfs_read",
        "vfs_read.cold": "vfs_read.cold vfs_read", "vfs_read.constprop.0.isra.1.cold": "vfs_read.constprop.0.isra.1.cold vfs_read",
        "vfs_read.llvm.123": "vfs_read vfs_read", "vfs_read.cold.llvm.123": "vfs_read.cold vfs_read", "vfs_read.0": "vfs_read.0 vfs_read.0",
        "vfs_read.colder": "vfs_read.colder vfs_read.colder", "vfs_read.isra.x": "vfs_read.isra.x vfs_read.isra.x", ".cold": ".cold .cold",
        "__initstub__kmod_ext4__555_7000_ext4_init_fs6": "ext4_init_fs ext4_init_fs",
    }
    other = {"_stext": "mark", "__entry_text_start": "mark", "_text_start": "mark", "_text_end": "none", "__entry_text_end": "none", "_etext": "none",
             "__pfx_vfs_read": "none", "__cfi_vfs_read": "none", "text_end": "function", "_text_ends": "function"}
    want = [f"{said} function" for said in names.values()] + [f"{name} {name} {what}" for name, what in other.items()]
    said = run(os.path.join(CHECK, "tests/function_names"), input="\n".join([*names, *other]).encode(), timeout=20).stdout.decode().splitlines()
    assert said == want, [pair for pair in zip(said, want) if pair[0] != pair[1]]


@pytest.mark.parametrize("begin, task, parent, comm", [(0xffffffff82c00000, 4096, 1232, 1696), (0xffffffff82c00008, 120, 200, 328), (0xffffffff82c00000, 32, 16000, 16384)])
def test_first_task(begin, task, parent, comm):
    """The first task is its own parent and leader, and has its name behind that; the same name elsewhere, and tasks that are not quite so, are none."""
    def data(own=0, leader=0, name=b"swapper/0"):
        made = bytearray(task + comm + 4096)
        made[16:23] = b"swapper"
        for offset, value in (parent, own), (parent + 8, own), (parent + 48, leader):
            struct.pack_into("<Q", made, task + offset, begin + task + value)
        made[task + comm:task + comm + len(name)] = name
        return made

    def found(made):
        p = run(os.path.join(CHECK, "tests/kernel_marks"), f"{begin:x}", input=bytes(made), stdin=None, check=False)
        return p.returncode, p.stdout.decode().split()

    assert found(data()) == found(data(name=b"swapper")) == (0, [str(comm), str(parent)])
    for wrong in data(own=8), data(leader=8), data(name=b"swapper/1"), data(name=b"swapper_x"), data(name=b"init"):
        assert found(wrong) == (1, [])
