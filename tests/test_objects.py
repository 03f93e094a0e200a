# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of what is no Linux: firmware, boot loaders, kernels of one's own; and their threads."""
import collections
import glob
import os
import re
import shutil
import tempfile

import pytest

import decoder
from guest import TOP, UPTO, WORK, Once, initrd, is_older, qemu_args, run, upto_json
from test_sources import multiboot, other_args, table

ROUNDS = 200  # of threads.c


def record(name, args, *options, check=True):
    """A trace, and what was said when it was recorded."""
    trace = os.path.join(WORK, f"objects-{name}.upto")
    p = run(UPTO, "record", "--force", "-o", trace, *options, "--", *args, check=check, timeout=600)
    if check:
        run(UPTO, "check", trace)
    return trace, p.stderr.decode()


def tree(trace, *options):
    """Calls by path of plain names, from the function that begins a stack."""
    paths, path = collections.Counter(), []
    for node in upto_json("tree", "--json", "--min", "0", *options, trace)["tree"]:
        path[node["depth"]:] = [node["function"]]
        paths[tuple(path)] += node["calls"]
    return paths


def below(paths, *path):
    """How often that path was called, wherever it begins."""
    return sum(n for p, n in paths.items() if p[-len(path):] == path)


def says_no_linux(trace):
    """No phase of Linux, and no kernel of it."""
    text = run(UPTO, "timeline", trace).stdout.decode() + run(UPTO, "info", trace).stdout.decode() + run(UPTO, "top", "-n", "0", trace).stdout.decode()
    assert "decompressor" not in text and "initramfs" not in text and "Linux" not in text, text
    info = upto_json("info", "--json", trace)
    assert info["complete"] and not info["lost"] and info["kernel_release"] == "", info


def pvh(program):
    """A 64-bit kernel that is no Linux, from tests/guests."""
    path, sources = os.path.join(WORK, program + "64.elf"), [os.path.join(TOP, "tests/guests", f) for f in ("pvh.S", program + ".c")]
    with Once(path):
        if is_older(path, *sources):
            run("gcc", "-O1", "-Wall", "-Werror", "-ffreestanding", "-fno-pic", "-no-pie", "-fno-stack-protector", "-fcf-protection=none", "-mno-red-zone",
                "-fno-asynchronous-unwind-tables", "-mgeneral-regs-only", "-nostdlib", "-static", "-Wl,-n,-Ttext=0x200000,--build-id=none",
                "-o", path + ".new", *sources)
            os.rename(path + ".new", path)
    return path


@pytest.mark.parametrize("make", [multiboot, pvh])
def test_threads(make):
    """Two threads on stacks of their own beside the first one: each call is below its own thread's function."""
    trace, said = record(f"threads-{make.__name__}", other_args(make("threads")), "--symbols", make("threads"))
    assert "no kernel" not in said and "ran" not in said, said
    paths = tree(trace)
    one, two = [[p for p in paths if p[-1] == f"{which}_thread"] for which in ("first", "second")]
    assert len(one) == len(two) == 1 and len(one[0]) == len(two[0]) == 1, (one, two)
    chain = ("first_thread", *["first_inner"] * 4)
    assert below(paths, *chain, "yield", "switch_to") == ROUNDS
    assert below(paths, "second_thread", "second_inner", "yield", "switch_to") == ROUNDS
    assert below(paths, "kernel_main", "waiting", "yield", "switch_to") == ROUNDS
    for n in range(1, 5):
        assert 2 * ROUNDS - 2 <= below(paths, *chain[:n + 1], "leaf") <= 2 * ROUNDS, (n, paths)
    assert below(paths, "second_inner", "leaf") == 2 * ROUNDS - 2
    # nobody's calls are anybody else's
    assert not [p for p in paths if "yield" in p and len([f for f in p if f.endswith("_thread") or f == "kernel_main"]) != 1]
    call = upto_json("calls", "--json", "-n", "1", "-F", "second_inner", trace)["calls"][0]
    stacks = upto_json("stack", "--json", "--at", f"{call['start_ns'] + 1}ns", trace)["stacks"]
    seen = [{f["function"] for f in s["frames"]} for s in stacks]
    assert len({s["comm"] for s in stacks}) == 3, stacks
    assert len(stacks) == 3 and all(sum(f in s for s in seen) == 1 for f in ("first_thread", "second_thread", "kernel_main")), stacks
    says_no_linux(trace)


def test_preemption():
    """Threads that a timer's interrupt switches: what is below each stays its own, and each interrupt returns to where it came from."""
    trace, _ = record("preempt", other_args(multiboot("preempt")), "--symbols", multiboot("preempt"))
    paths = tree(trace)
    for leaf, root in (("leaf_of_one", "one"), ("leaf_of_two", "two"), ("inner_of_two", "two")):
        found = {p[0] for p in paths if leaf in p}
        assert found == {root}, (leaf, found)
    assert below(paths, "one", "leaf_of_one") > 100 and below(paths, "two", "inner_of_two", "leaf_of_two") > 100
    # the timer goes on until the machine is off
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    assert sum(n for p, n in paths.items() if p[-1] == "next_stack") == next(n for f, n in calls.items() if f.split()[0] == "next_stack") >= 60
    says_no_linux(trace)


def pieces(trace):
    """Functions of objects by where they are: (object, name, address), and the ranges of each piece."""
    found = []
    t = decoder.Trace(trace)
    for c in t.chunks:
        cursor = decoder.Cursor(t.payload(c)) if c.type == decoder.CODE else decoder.Cursor(b"")
        while cursor.left():
            change, *numbers = cursor.u8(), *[cursor.varint() for _ in range(10)]
            name, symbols = cursor.string(), cursor.take(cursor.varint())
            if change == 1 and numbers[6] == 1:
                found += [(name, s.name, s.addr) for s in decoder.symbol_table(decoder.Cursor(symbols))[1]]
    return found


def nm(path):
    """Functions of a file by name: binutils says so."""
    lines = [line.split() for line in run("nm", path).stdout.decode().splitlines()]
    return {name: int(addr, 16) for addr, kind, name in lines if kind in "tT"}


def hidden(name, args):
    """The same QEMU, whose -kernel upto does not know: as a boot loader's that lies on a disk."""
    folder, at = os.path.join(WORK, f"objects-{name}-qemu"), args.index("-kernel")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "qemu")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\n[ "$1" = --help ] && exec {args[0]} --help\nexec {args[0]} "$@" -kernel {args[at + 1]}\n')
    os.chmod(path, 0o755)
    return [path, *args[1:at], *args[at + 2:]]


MOVED = 0x300000


@pytest.mark.parametrize("known", [True, False])
def test_moving(known):
    """A copy of itself has its names, too; also where nothing tells what is booted."""
    elf = multiboot("moving")
    args = other_args(elf) if known else hidden("moving", other_args(elf))
    trace, said = record(f"moving-{known}", args, "--symbols", elf)
    assert "ran" not in said and "no kernel" not in said, said
    here = "{}" if known else "{} [moving.elf]"
    there = "{} [moving.elf]"
    paths, calls = tree(trace), {f["function"]: f["calls"] for f in table("top", trace)}
    for f, n in (("work", 1), ("inner", 30), ("leaf", 60)):
        assert calls[there.format(f)] == (n if known else 2 * n), calls
        assert not known or calls[f] == n
    assert below(paths, *map(here.format, ("kernel_main", "work", "inner", "leaf"))) == (60 if known else 120)
    assert below(paths, here.format("kernel_main"), *map(there.format, ("work", "inner", "leaf"))) == (60 if known else 120)
    link = nm(elf)
    at = {(name, addr) for o, name, addr in pieces(trace) if o == "moving.elf"}
    assert {("work", MOVED + link["work"] - link["_start"]), ("inner", MOVED + link["inner"] - link["_start"])} <= at, at
    says_no_linux(trace)


def test_placed():
    """Where the user says that it lies, it is, and nowhere else."""
    elf = multiboot("moving")
    link = nm(elf)
    text = int(re.search(r" \.text +PROGBITS +(\w+)", run("readelf", "-SW", elf).stdout.decode()).group(1), 16)
    slide = MOVED - link["_start"]
    for address, calls in ((text, 1), (text + slide, 1), (text + 0x1000000, 0)):
        trace, said = record("placed", hidden("placed", other_args(elf)), "--symbols", f"{elf}@{address:#x}")
        got = {f["function"]: f["calls"] for f in table("top", trace)}
        assert got.get("work [moving.elf]", 0) == calls, got
        assert ("nothing of these ran" in said and elf in said) == (not calls), said
        assert {addr - link[name] for _, name, addr in pieces(trace)} == ({address - text} if calls else set())


def test_never_ran():
    """A file that is of nothing that ran is named, and what did run keeps its names."""
    trace, said = record("never", other_args(multiboot("threads")), "--symbols", multiboot("threads") + ":" + multiboot("calls"))
    assert "nothing of these ran" in said and multiboot("calls") in said and multiboot("threads") not in said, said
    functions = {f["function"] for f in table("top", trace)}
    assert "first_inner" in functions and not [f for f in functions if "calls.elf" in f], functions


def test_refused():
    """Files that have no functions at any address."""
    with tempfile.TemporaryDirectory() as folder:
        for name, flags, why in (("part.o", ["-c"], "is not linked"), ("bare", ["-nostdlib", "-static", "-s"], "no symbols of functions")):
            path = os.path.join(folder, name)
            with open(path + ".c", "w") as f:
                f.write("void _start(void) { for (;;); }\n")
            run("gcc", *flags, "-o", path, path + ".c")
            at = "" if "-c" in flags else "@0x400000"
            p = run(UPTO, "record", "-o", f"{folder}/t.upto", "--symbols", path + at, "--", *other_args(multiboot("calls")), check=False)
            err = p.stderr.decode()
            assert p.returncode and why in err and path in err, err


def built(name, command, result):
    """Debian's source of a package, as it comes from those who make it, and what a command makes of it there."""
    folder = os.path.join(WORK, name)
    with Once(folder):
        if not glob.glob(f"{folder}/{name}-*/{result}"):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            p = run(os.path.join(TOP, "scripts/suite-apt.sh"), "bookworm", folder + "/apt", "deb-src deb", check=False)
            source = f'cd "$0" && apt-get -c "$1" -q source --download-only {name} && tar xf {name}_*.orig.tar.*'
            if p.returncode or run("sh", "-c", source, folder, p.stdout.decode().strip(), check=False).returncode:
                pytest.skip(f"the source of {name} cannot be had")
            run("sh", "-c", f'cd "$0"/{name}-* && {command}', folder, timeout=3000)
    return os.path.dirname(glob.glob(f"{folder}/{name}-*/{result}")[0])


@pytest.mark.long
@pytest.mark.weight(5)
def test_seabios():
    """Its functions by name, where it says itself that it goes, and those of Linux behind it."""
    out, log = built("seabios", "make PYTHON=python3", "out/bios.bin"), os.path.join(WORK, "objects-seabios.log")
    args = qemu_args("6.12", initrd("6.12", "brief"), append="initcall_blacklist=load_system_certificate_list,trace_eval_init")
    args += ["-bios", out + "/bios.bin", "-chardev", f"file,id=debug,path={log}", "-device", "isa-debugcon,iobase=0x402,chardev=debug"]
    trace, said = record("seabios", args, "--symbols", f"{out}/rom.o:{out}/rom16.o")
    assert "nothing of these" not in said and "lacks" not in said, said
    with open(log, errors="replace") as f:
        start, to, size = re.search(r"Relocating init from (\w+) to (\w+) \(size (\d+)\)", f.read()).groups()
    start, to, size = int(start, 16), int(to, 16), int(size)
    link, at = nm(out + "/rom.o"), collections.defaultdict(set)
    for o, name, addr in pieces(trace):
        if o == "rom.o" and name in link:
            at[addr - link[name]].add(name)
    init = {name for name, addr in link.items() if start <= addr < start + size}
    assert "maininit" in at[to - start] and at[to - start] <= init, (hex(to - start), {hex(k): len(v) for k, v in at.items()})
    assert len(at[to - start]) > len(init) / 2
    functions = {f["function"]: f for f in table("top", trace)}
    for f in ("handle_post [rom.o]", "maininit [rom.o]", "start_kernel", "kernel_init"):
        assert functions[f]["calls"] == 1, f
    assert functions["handle_19 [rom.o]"]["calls"] >= 1 and [f for f in functions if f.endswith("[rom16.o]")]
    # what has no name is option ROMs and assembler
    own = sum(f["self_insns"] for n, f in functions.items() if n.endswith(("[rom.o]", "[rom16.o]")))
    assert functions["[firmware]"]["self_insns"] < own / 5, (functions["[firmware]"], own)
    info = upto_json("info", "--json", trace)
    assert info["kernel_release"].startswith("6.12"), info
    spans = run(UPTO, "timeline", trace).stdout.decode()
    assert re.search(r"firmware .*decompressor .*kernel", spans.splitlines()[0]), spans
    # Linux's functions are not below firmware's
    assert not [p for p in tree(trace, "-F", "start_kernel") if "rom.o" in p[0]]


U_BOOT = """make qemu-x86_defconfig &&
sed -i -e 's/^CONFIG_BOOTCOMMAND=.*/CONFIG_BOOTCOMMAND="bdinfo; reset"/' -e 's/^CONFIG_BOOTDELAY=.*/CONFIG_BOOTDELAY=0/' .config &&
make -j2 CONFIG_PYLIBFDT= u-boot u-boot.dtb u-boot-x86-start16.bin u-boot-x86-reset16.bin &&
objcopy -O binary -R .start16 -R .resetvec u-boot u-boot.flat"""


def u_boot_rom(folder):
    """Its image, as binman puts it together: it begins 1 MiB below 4 GiB."""
    rom, parts = bytearray(b"\xff" * 0x100000), {}
    for name in ("u-boot.flat", "u-boot.dtb", "u-boot-x86-start16.bin", "u-boot-x86-reset16.bin"):
        with open(f"{folder}/{name}", "rb") as f:
            parts[name] = f.read()
    flat, dtb, start16, reset16 = parts.values()
    for at, part in ((0, flat), (len(flat), dtb), (0xff800, start16), (0xffff0, reset16)):
        rom[at:at + len(part)] = part
    with open(folder + "/u-boot.rom", "wb") as f:
        f.write(rom)
    return folder + "/u-boot.rom"


@pytest.mark.kernels
def test_u_boot():
    """It moves itself, and tells where to."""
    folder = built("u-boot", U_BOOT, "u-boot.flat")
    serial = os.path.join(WORK, "objects-u-boot.serial")
    args = ["qemu-system-x86_64", "-accel", "tcg", "-machine", "pc", "-m", "256M", "-display", "none", "-monitor", "none", "-serial", f"file:{serial}",
            "-nic", "none", "-no-reboot", "-bios", u_boot_rom(folder)]
    trace, said = record("u-boot", args, "--symbols", f"{folder}/u-boot")
    assert "ran" not in said and "no kernel" not in said, said
    with open(serial, errors="replace") as f:
        slide = int(re.search(r"reloc off += 0x(\w+)", f.read()).group(1), 16)
    link, at = nm(folder + "/u-boot"), collections.defaultdict(set)
    for _, name, addr in pieces(trace):
        if name in link:
            at[(addr - link[name]) % (1 << 32)].add(name)
    assert {"board_init_f", "board_init_r"} <= at[0] and {"board_init_r", "do_reset"} <= at[slide], {hex(k): len(v) for k, v in at.items()}
    functions = {f["function"]: f for f in table("top", trace)}
    assert functions["board_init_f [u-boot]"]["calls"] == functions["do_bdinfo [u-boot]"]["calls"] == 1
    assert functions["[firmware]"]["self_insns"] < sum(f["self_insns"] for f in functions.values()) / 50
    says_no_linux(trace)
