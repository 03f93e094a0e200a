# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that upto is not told all about: a kernel from a disk, one that is no Linux, the newest one in /boot.

And that a long trace takes no more memory to read than a short one.
"""
import collections
import os
import pickle
import re
import shlex
import shutil
import sys
import tempfile

import pytest

import decoder
from guest import CHECK, TOP, UPTO, WORK, Once, initrd, is_older, once_a_run, peak_mb, qemu_args, run, upto_json
from test_cli import fake_qemu, recorded
from test_truth import dump

sys.path.insert(0, os.path.join(TOP, "fuzz"))
from make_corpus import KERNEL, elf, small_vmlinux  # noqa: E402

GUESTS = os.path.join(TOP, "tests/guests")
DEBUG_EXIT = 5 << 1 | 1
# entries of calls.c's functions, in the order of the first of each
CALLS = {"_start": 1, "kernel_main": 1, "twice": 1000, "called": 2000, "left": 100, "middle": 100, "right": 100,
         "recursive": 20 * 50, "jumping": 70, "jumped_to": 70, "conditional": 90, "conditionally": 45}
# what of a boot takes long and has nothing to do with where its symbols come from
SHORTER = "rodata=off initcall_blacklist=load_system_certificate_list,fips_signature_selftest_init," \
          "jent_mod_init,trace_eval_init"
SECTIONS = (".text", ".init.text")
TIMES = dict.fromkeys(("ns", "kernel_ns", "insns"))
MEMORY_BOUND_MB, MB = 256, 1e6


def disk_qemu(folder, args):
    """A QEMU whose kernel upto is not told of, as that of a disk; and the arguments that are left for it."""
    at = args.index("-kernel")
    hidden, path = args[at:at + 6], os.path.join(folder, "disk-qemu")
    assert hidden[::2] == ["-kernel", "-initrd", "-append"], hidden
    os.makedirs(folder, exist_ok=True)
    with Once(path):
        if not os.path.exists(path):
            with open(path + ".new", "w") as f:
                f.write(f'#!/bin/sh\n[ "$1" = --help ] && exec {args[0]} --help\nexec {args[0]} "$@" {shlex.join(hidden)}\n')
            os.chmod(path + ".new", 0o755)
            os.rename(path + ".new", path)
    return [path, *args[1:at], *args[at + 6:]]


def test_files_beside_an_image():
    """Of files that may have an image's names, the first that is of this kernel is taken, and no more; others are passed over."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    folder = os.path.join(WORK, "places")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    banner = b"Linux version 6.1.0 (gcc) #1 SMP\n\0"
    sections = lambda text: [(b".text", KERNEL, b"\x90" * 64, 6), (b".rodata", KERNEL + 0x1000, text, 2), (b".init.text", KERNEL + 0x2000, b"\xc3" * 32, 6)]
    mapped = [f"{KERNEL + at:x} {kind} {name}\n" for at, kind, name in ((0, "T", "_text"), (8, "T", "of_the_map"), (0x1000, "R", "linux_banner"))]
    other = elf(sections(banner.replace(b"#1", b"#2")), [(b"of_another", KERNEL, 16, 1, 2, 1)])
    # what ends something is no function, whatever it is the end of
    marks = [(name, KERNEL + at, 0, 1, 2, 1) for at, name in ((48, b"_text_end"), (52, b"__entry_text_end"), (56, b"_etext"), (60, b"__cfi_next"))]

    def put(name, data):
        with open(f"{folder}/{name}", "wb") as f:
            f.write(data)

    def found():
        """The functions, and what was opened for them."""
        log = folder + ".strace"
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # which needs to trace, too
        said = run("strace", "-e", "trace=openat", "-o", log, os.path.join(CHECK, "tests/symbols"), f"{folder}/image", env=env).stdout.decode()
        with open(log) as f:
            return [line.split()[2] for line in said.splitlines()], re.findall(rf'"{folder}/([^/"]+)"', f.read())

    put("image", elf(sections(banner), []))
    put("vmlinux", other)
    assert found() == ([], ["image", "vmlinux"])
    put("System.map", "".join(mapped).encode())
    assert found() == (["_text", "of_the_map"], ["image", "vmlinux", "System.map"])
    put("vmlinux", small_vmlinux(marks))
    assert found() == (["start", "next", "init"], ["image", "vmlinux"])


def boot_args(version):
    return qemu_args(version, initrd(version, "brief"), append=SHORTER)


def told(version):
    return recorded(f"sources-told-{version}.upto", 0, boot_args(version))


def found(version):
    folder = os.path.join(WORK, f"disk-{version}")
    return recorded(f"sources-found-{version}.upto", 0, disk_qemu(folder, boot_args(version)))


def table(command, trace):
    return upto_json(command, "--json", trace)["functions" if command == "top" else "first"]


def symbol_table(trace):
    """Section, name and size of every function, by its distance from start_kernel; and where that ran."""
    t = decoder.Trace(trace)
    start = next(s.addr for s in t.symbols if s.name == "start_kernel")
    return {s.addr - start: (t.sections[s.section].name, s.name, s.end - s.addr) for s in t.symbols}, \
        start + int(t.meta["slide"], 0)


@pytest.mark.parametrize("version", [pytest.param("6.1", marks=pytest.mark.kernels), "6.12", pytest.param("7", marks=pytest.mark.kernels)])
@pytest.mark.weight(25)
def test_kernel_from_disk(version):
    """Symbols out of guest memory are those out of the kernel's file, and are found as early."""
    a, b = (upto_json("info", "--json", trace(version)) for trace in (told, found))
    assert "-kernel" in a["meta"]["qemu_command"] and "-kernel" not in b["meta"]["qemu_command"]
    assert b["complete"] and not b["lost"] and b["kernel_release"] == a["kernel_release"], b
    assert b["kernel_release"].startswith(version + ".") and b["meta"]["kernel_banner"] == a["meta"]["kernel_banner"], b
    assert b["meta"]["command_line"].split() == boot_args(version)[-1].split(), b["meta"]
    (want, told_start), (got, found_start) = symbol_table(told(version)), symbol_table(found(version))
    # sections that no symbols of the kernel bound are only known from its file
    want, got = ({k: s for k, s in table.items() if s[0] in SECTIONS} for table in (want, got))
    assert got == want, sorted(set(got.items()) ^ set(want.items()))[:20]
    n = len(got)
    assert n > 40000, n
    # and so what ran has the same names; two boots are not the same to the last function
    want, got = ({(int(f["address"], 16) - start, f["function"]) for f in table("top", trace(version)) if f["section"] in SECTIONS}
                 for trace, start in ((told, told_start), (found, found_start)))
    assert len(want & got) > 5000 and len(want ^ got) < len(want) / 20, (len(want & got), sorted(want ^ got))
    want, got = (table("first", trace(version)) for trace in (told, found))
    by_name = {f["function"]: f for f in got}
    for function in ("start_kernel", "rest_init", "kernel_init", "run_init_process"):
        assert by_name[function] | TIMES == {f["function"]: f for f in want}[function] | TIMES, by_name[function]
    early = [f["function"] for f in got if f["section"] and f["kernel_ns"] is None]
    assert not early, f"{len(early)} functions of the kernel ran before it was found: {early}"
    assert [f["function"] for f in got if f["section"]][:20] == [f["function"] for f in want if f["section"]][:20], got[:30]
    run(UPTO, "check", found(version))
    return f"{n} functions, at {found_start:#x} and {told_start:#x}"


@pytest.mark.parametrize("version, source", [("6.1", "told"), pytest.param("6.1", "found", marks=pytest.mark.long), ("6.12", "told"), ("6.12", "found")])
def test_no_modules(version, source):
    """A guest that loads no module spends nothing in modules."""
    trace = {"told": told, "found": found}[source](version)
    modules = [f for f in table("top", trace) if f["function"] == "[kernel]" or f["function"].endswith("[ext4]")]
    assert not modules, modules


def multiboot(program, *flags):
    """A kernel that is no Linux, from tests/guests."""
    path = os.path.join(WORK, f"{program}{''.join(flags)}.elf")
    sources = [os.path.join(GUESTS, "multiboot.S"), os.path.join(GUESTS, program + ".c")]
    with Once(path):
        if is_older(path, *sources):
            run("gcc", "-m32", "-O1", "-Wall", "-Werror", "-ffreestanding", "-fno-pic", "-no-pie", "-fno-stack-protector",
                "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-mgeneral-regs-only", "-nostdlib", "-static",
                "-Wl,-n,-Ttext=0x100000,--build-id=none", *flags, "-o", path + ".new", *sources)
            os.rename(path + ".new", path)
    return path


def other_args(kernel, machine="pc", debug_exit=False):
    return ["qemu-system-x86_64", "-accel", "tcg", "-machine", machine, "-m", "64M", "-nographic", "-nic", "none",
            "-no-reboot", "-kernel", kernel, *(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"] if debug_exit else [])]


def record_other(trace, kernel, *options, symbols=True, **kw):
    p = run(UPTO, "record", "--force", "-o", trace, *(["--symbols", kernel] if symbols else []), *options, "--",
            *other_args(kernel, **kw), check=False, timeout=200)
    status = DEBUG_EXIT if kw.get("debug_exit") else 0
    assert p.returncode == status, f"exit {p.returncode}, not {status}: {p.stderr.decode()}"
    run(UPTO, "check", trace)
    return p.stderr.decode()


@pytest.mark.parametrize("machine, debug_exit", [("pc", True), ("q35", False)])
def test_other_guest(machine, debug_exit):
    """A guest that is not Linux, with its symbols: each call is there, in order."""
    trace = os.path.join(WORK, f"sources-other-{machine}.upto")
    said = record_other(trace, multiboot("calls"), machine=machine, debug_exit=debug_exit)
    assert "no kernel symbols" not in said, said
    functions = {f["function"]: f for f in table("top", trace)}
    got = {n: functions[n]["calls"] if n in functions else 0 for n in CALLS}
    assert got == CALLS, got
    assert all(functions[n]["section"] == ".text" and int(functions[n]["address"], 16) >> 20 == 1 for n in CALLS)
    assert functions["recursive"]["self_insns"] > functions["left"]["self_insns"] > 100
    first = [f for f in table("first", trace) if f["section"]]
    assert [f["function"] for f in first if f["function"] in CALLS] == list(CALLS), first
    callers = {f["function"]: f["caller"] for f in first}
    assert callers["called"] == "twice" and callers["conditionally"] == "conditional", callers
    assert callers["twice"] == callers["left"] == callers["recursive"] == "kernel_main", callers
    info = upto_json("info", "--json", trace)
    assert info["complete"] and not info["lost"] and info["kernel_release"] == "" and info["slide"] == 0, info
    os.unlink(trace)


def other(symbols):
    """Calls by function, events by kind, interrupts by vector and clocks of one deterministic run."""
    trace, kept = (os.path.join(WORK, f"sources-other-{symbols}.{suffix}") for suffix in ("upto", "pickle"))

    def make():
        said = record_other(trace, multiboot("calls"), "--deterministic", symbols=symbols)
        assert ("no kernel symbols" in said) != symbols, said
        vectors = collections.Counter(int(e["args"][0], 16) for e in dump(trace, "--kind", "interrupt"))
        clocks = [(e["ns"], e["insns"]) for e in dump(trace, "--kind", "clock")]
        calls = {f["function"]: f["calls"] for f in table("top", trace)}
        with open(kept, "wb") as f:
            pickle.dump((calls, upto_json("info", "--json", trace), vectors, clocks), f)
        os.unlink(trace)

    once_a_run(kept, make)
    with open(kept, "rb") as f:
        return pickle.load(f)


def test_other_guest_without_symbols():
    """Names change nothing but names."""
    named, a, _, _ = other(True)
    nameless, b, _, _ = other(False)
    assert "kernel_main" in named and all(n.startswith("[") for n in nameless), nameless
    assert b["complete"] and not b["lost"] and b["kernel_release"] == "", b
    # the hlt behind the power-off may run or not
    assert abs(a["instructions"] - b["instructions"]) <= 1, (a["instructions"], b["instructions"])
    for kind in ("call", "call-indirect", "return", "jump-indirect", "interrupt-return"):
        assert a["events_by_kind"].get(kind) == b["events_by_kind"].get(kind), (kind, a["events_by_kind"], b["events_by_kind"])


@pytest.mark.parametrize("functions", [("loop_before", "behind_loop"), ("running_on", "run_into"), ("far_jumping", "far_jumped_to")])
def test_other_guest_arrivals(functions):
    """Control that runs on into a function, or jumps far into it, enters it."""
    calls, *_ = other(True)
    got = {n: calls.get(n, 0) for n in functions}
    assert got == {n: ARRIVALS[n] for n in functions}, got


ARRIVALS = {"loop_before": 11, "behind_loop": 11, "running_on": 12, "run_into": 12, "far_jumping": 13, "far_jumped_to": 13}


@pytest.mark.parametrize("symbols", [True, False])
def test_other_guest_handlers(symbols):
    """Interrupts and faults of a guest that is not Linux; what a fault left of its block is not counted."""
    calls, _, vectors, clocks = other(symbols)
    assert (vectors[0x30], vectors[0]) == (400, 500), vectors
    if symbols:
        want = {"interrupting": 400, "on_interrupt": 400, "called_by_interrupt": 400, "faulting": 500, "on_fault": 500}
        got = {n: calls.get(n, 0) for n in want}
        assert got == want, got
    assert vectors == other(not symbols)[2], "not the same interrupts with names and without"
    # under -icount shift=0 QEMU's clock advances 1 ns an instruction
    ahead = max(insns - ns for ns, insns in clocks)
    assert ahead < 1000, f"{ahead} instructions more than QEMU itself counted"


def with_boot(folder, *command):
    """Run it with that folder as /boot; None: there is no right to do so."""
    for flags in ("-m", "-rm"):
        p = run("unshare", flags, "sh", "-c", 'mount --bind "$0" /boot || exit 99; exec "$@"', folder, *command, check=False,
                timeout=30)
        if p.returncode != 99 and not p.stderr.startswith(b"unshare: "):
            return p
    return None


BOOTS = [
    # files beside those of the kernel that is the newest; its release; whether it has an initrd
    (["vmlinuz-6.1.0-9-amd64", "initrd.img-6.1.0-9-amd64"], "6.1.0-10-amd64", True),
    (["vmlinuz-6.1.0-48-amd64", "vmlinuz-6.9.12-amd64", "initrd.img-6.9.12-amd64"], "6.12.9-amd64", True),
    (["vmlinuz-6.9.12-amd64", "initrd.img-6.9.12-amd64"], "6.10.0-amd64", False),
    (["config-7.0", "System.map-7.0", "initrd.img-7.0", "vmlinuz", "vmlinuz.old", "xvmlinuz-8.0", "grub"], "5.10.0-30-amd64",
     True),
    (["vmlinuz-6.12.9-amd64.old", "vmlinuz-6.13.0-amd64.dpkg-new", "vmlinuz-0-rescue-4711"], "6.12.8-amd64", True),
]


def test_boot_newest():
    """Without arguments, boot takes the newest kernel in /boot, by version, and its own initrd."""
    with tempfile.TemporaryDirectory() as folder:
        qemu = fake_qemu(folder)
        text = open(qemu).read().replace("echo ran >", 'printf "%s\\n" "$@"; echo ran >')
        open(qemu, "w").write(text)
        for i, (others, release, has_initrd) in enumerate(BOOTS):
            boot = os.path.join(folder, f"boot{i}")
            os.mkdir(boot)
            for name in [*others, f"vmlinuz-{release}", *([f"initrd.img-{release}"] if has_initrd else [])]:
                open(os.path.join(boot, name), "w").close()
            p = with_boot(boot, UPTO, "boot", "-o", f"{folder}/o.upto", "--qemu", qemu, "--", "-snapshot")
            if p is None:
                pytest.skip("no right to mount over /boot")
            assert p.returncode == 3, p
            args = p.stdout.decode().splitlines()
            assert args[args.index("-kernel") + 1] == f"/boot/vmlinuz-{release}", (release, args)
            assert ("-initrd" in args) == has_initrd and "-snapshot" in args, args
            if has_initrd:
                assert args[args.index("-initrd") + 1] == f"/boot/initrd.img-{release}", (release, args)
        os.unlink(f"{folder}/ran")
        for names in ([], ["config-6.1", "initrd.img-6.1", "vmlinuz.old"]):
            empty = tempfile.mkdtemp(dir=folder)
            for name in names:
                open(os.path.join(empty, name), "w").close()
            p = with_boot(empty, UPTO, "boot", "-o", f"{folder}/o.upto", "--qemu", qemu)
            err = p.stderr.decode()
            assert p.returncode == 1 and not p.stdout, p
            assert err.count("\n") == 1 and err.startswith("upto: /boot/") and "upto boot KERNEL" in err, err
            assert not os.path.exists(f"{folder}/o.upto") and not os.path.exists(f"{folder}/ran")


@pytest.mark.long
@pytest.mark.weight(20)
def test_memory_of_top():
    """What it takes to read a trace goes by its largest chunks, of which each thread has one, and not by its length."""
    threads, seen = min(os.cpu_count(), 8), []
    for rounds in (1_000_000, 8_000_000):
        trace = os.path.join(WORK, f"sources-{rounds}.upto")
        record_other(trace, multiboot("many", "-falign-functions=512", f"-DROUNDS={rounds}"))
        chunks = [c for c in decoder.Trace(trace).chunks if c.type == decoder.EVENTS]
        assert sum(c.events for c in chunks) > 4 * rounds
        sizes = [(c.stored + c.unpacked) / MB for c in chunks]
        peak = peak_mb(UPTO, "top", trace)
        seen.append((peak, sum(sizes), len(sizes)))
        # each thread has a model with its phrases and their tallies, and remembers names, too
        assert peak < min(MEMORY_BOUND_MB, 12 + threads * (20 + max(sizes))), (peak, max(sizes))
        os.unlink(trace)
    note = ", ".join("%.0f MB for %.0f MB in %d chunks" % s for s in seen)
    assert seen[1][1] > 5 * seen[0][1], f"the long trace is not long: {note}"
    return note
