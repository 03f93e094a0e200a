# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's side: its plugin interface as we declare it, what is used beside it, and QEMU 11."""
import os
import re
import tempfile

import decoder
import pytest
from guest import BUILD, TOP, UPTO, WORK, Once, check, initrd, qemu_args, record, run, upto_json

INTERFACE = os.path.join(TOP, "src/recorder/qemu/qemu_interface.h")


def plugin_header():
    """QEMU's own qemu-plugin.h, installed or of Debian's source of QEMU; skips the test where it cannot be had."""
    for installed in "/usr/include", "/usr/local/include":
        if os.path.exists(installed + "/qemu-plugin.h"):
            return installed
    folder = os.path.join(BUILD, "qemu", "header")
    os.makedirs(folder, exist_ok=True)
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/qemu-plugin-header.sh"), folder, check=False, timeout=600)
    if p.returncode:
        pytest.skip(f"no qemu-plugin.h: {p.stderr.decode().strip().splitlines()[-1]}")
    return folder


def declared(folder, args, name):
    """The prototypes that gcc reads, and the numbers that a program prints."""
    flags = run("pkg-config", "--cflags", "glib-2.0").stdout.decode().split()
    source = os.path.join(TOP, "tests/unit/interface.c")
    program, info = os.path.join(folder, name), os.path.join(folder, name + ".X")
    run("gcc", "-I", os.path.join(TOP, "src"), *flags, *args, "-aux-info", info, "-o", program, source)
    lines = open(info, errors="replace").read().splitlines()
    prototypes = {}
    for line in lines:
        m = re.match(r"/\* .*? \*/ (?:extern )?(.*?(qemu_plugin_\w+) \(.*\));", line)
        if m:
            prototypes[m[2]] = re.sub(r"\s+", " ", m[1])
    return prototypes, run(program).stdout.decode()


def test_interface():
    """Our declarations of QEMU's plugin interface are those of its own header."""
    header = plugin_header()
    with tempfile.TemporaryDirectory() as folder:
        ours, our_numbers = declared(folder, [], "ours")
        theirs, their_numbers = declared(folder, ["-DUPTO_QEMU_PLUGIN_H", "-I", header], "theirs")
    version = int(re.search(r"define QEMU_PLUGIN_VERSION (\d+)", open(header + "/qemu-plugin.h").read())[1])
    assert our_numbers == their_numbers
    assert len(ours) >= 20
    for name, prototype in ours.items():
        if name == "qemu_plugin_read_register" and version >= 6:
            assert theirs[name] == prototype.replace("int ", "bool ", 1)
        else:
            assert theirs.get(name) == prototype, name
    return f"{len(ours)} functions, {our_numbers.count(chr(10))} numbers, against version {version}"


def recording(name, *options, more=()):
    trace = os.path.join(WORK, f"inside-{name}.upto")
    record(trace, qemu_args("6.12", initrd("6.12", "plain")), "--deterministic", *options, more=more)
    check(trace)
    return trace


def functions_of(trace):
    return {(f["function"], f.get("module")): (f["calls"], f["self_insns"])
            for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}


@pytest.mark.long
@pytest.mark.weight(60)
def test_inside():
    """
    What is read inside QEMU only saves time: all answers of a deterministic boot are the same without it. Without QEMU's
    clock and its word of the power-off, too, the recording has other times and goes on for a moment, and nothing else differs.
    """
    whole = recording("all")
    plain = recording("interface", "--qemu-inside", "clock,shutdown")
    bare = recording("none", "--qemu-inside", "none")
    used = [decoder.Trace(t).meta["qemu_inside"] for t in (whole, plain, bare)]
    assert {"clock", "shutdown", "values", "registers"} <= set(used[0].split(",")), used
    assert used[1:] == ["clock,shutdown", ""]
    digests = [run(UPTO, "info", "--digest", t).stdout for t in (whole, plain)]
    assert digests[0] == digests[1]
    for question in (["top"], ["first"], ["syscalls"], ["ps"], ["tree", "--min", "0.5"]):
        answers = [run(UPTO, question[0], "--json", "-n", "0", *question[1:], t).stdout for t in (whole, plain)]
        assert answers[0] == answers[1], question
    known, other = functions_of(whole), functions_of(bare)
    differ = {f for f in known | other if known.get(f) != other.get(f)}
    assert all(other.get(f, (0, 0))[0] >= known.get(f, (0, 0))[0] for f in differ), differ
    assert len(differ) < 40, differ
    for t in whole, plain, bare:
        os.unlink(t)
    return f"{len(known)} functions; {len(differ)} of them run on for longer where the power-off is not told"


def test_inside_refused():
    """A part of QEMU's inside that is none is refused before anything runs."""
    p = run(UPTO, "record", "--qemu-inside", "clock,time", "-o", "/nonexistent/x", "--", "qemu-system-x86_64", check=False)
    assert p.returncode and b"--qemu-inside: time: not all, none, clock" in p.stderr, p.stderr


def qemu_11():
    """Debian's newest QEMU, whose plugin interface takes no older plugins; skips the test where it cannot be had."""
    folder = os.path.join(BUILD, "qemu", "sid")
    os.makedirs(folder, exist_ok=True)
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/guest-qemu.sh"), "sid", folder, check=False, timeout=900)
    if p.returncode:
        pytest.skip(f"no QEMU of Debian sid: {p.stderr.decode().strip().splitlines()[-1]}")
    return folder + "/bin/qemu-system-x86_64"


@pytest.mark.long
@pytest.mark.weight(30)
def test_qemu_11():
    """
    Under QEMU 11 interrupts and exceptions are told by QEMU: as many as leave the handlers again, each with its vector. A
    deterministic boot repeats event for event.
    """
    qemu = qemu_11()
    args = [qemu] + qemu_args("6.12", initrd("6.12", "plain"))[1:]
    digests = []
    for i in range(2):
        trace = os.path.join(WORK, f"qemu11-{i}.upto")
        record(trace, args, "--deterministic")
        check(trace)
        digests.append(run(UPTO, "info", "--digest", trace).stdout)
    assert digests[0] == digests[1]
    info = upto_json("info", "--json", trace)
    assert info["meta"]["qemu"].startswith("QEMU emulator version 11."), info["meta"]["qemu"]
    entries = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    kinds = info["events_by_kind"]
    assert kinds["interrupt"] > 1000
    # the timer's handler is entered from the descriptor table only
    vectors = [line.split() for line in run(UPTO, "dump", "--kind", "interrupt", trace).stdout.decode().splitlines()]
    assert len(vectors) == kinds["interrupt"]
    assert entries["asm_sysvec_apic_timer_interrupt"] == sum("asm_sysvec_apic_timer_interrupt" in " ".join(v) for v in vectors)
    for i in range(2):
        os.unlink(os.path.join(WORK, f"qemu11-{i}.upto"))
    return f"{kinds['interrupt']} interrupts and exceptions"
