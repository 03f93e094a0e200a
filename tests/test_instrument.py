# SPDX-License-Identifier: GPL-2.0-or-later
"""The two files for what has no C library: a bare machine's log is one that upto import and upto kd read."""
import json
import os
import re
import shutil
import socket
import struct
import subprocess

import pytest

from guest import TOP, UPTO, UPTO_ASAN, run, upto_json
from test_cli import fails

LIBRARY, GUESTS = os.path.join(TOP, "libupto"), os.path.join(TOP, "tests/guests")


QEMU = ["qemu-system-x86_64", "-accel", "tcg", "-m", "64M", "-nic", "none", "-no-reboot"]


def bare(folder, *flags):
    """The program of a bare machine, and its System.map beside it."""
    program = os.path.join(folder, "instrumented")
    run("gcc", *flags, "-m32", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic", "-no-pie", "-fno-stack-protector", "-fcf-protection=none",
        "-fno-asynchronous-unwind-tables", "-mgeneral-regs-only", "-nostdlib", "-static", "-Wl,-n,-Ttext=0x100000,--build-id=none", "-finstrument-functions",
        "-I", LIBRARY, "-o", program, os.path.join(GUESTS, "multiboot.S"), os.path.join(GUESTS, "instrumented.c"), os.path.join(LIBRARY, "upto_instrument.c"))
    with open(os.path.join(folder, "System.map"), "wb") as f:
        f.write(run("nm", "-n", program).stdout)
    return program


def logs(folder):
    """What the guest says over its serial line, with functions' names: one log each way."""
    p = subprocess.run([*QEMU, "-nographic", "-kernel", bare(folder), "-device", "isa-debug-exit,iobase=0xf4,iosize=4"], stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=120)
    assert p.returncode == 11, (p.returncode, p.stderr)
    said = p.stdout.decode(errors="replace").replace("\r", "")
    said = said[said.index("\nKernel Instrumentation"):]
    return [run(UPTO, "addr2sym", "-m", os.path.join(folder, "System.map"), stdin=None, input=log.encode()).stdout.decode()
            for log in said.split("=\n") if log.strip()]


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")
@pytest.mark.weight(3)
def test_bare_machine(tmp_path):
    """All calls; those between two triggers that took long enough; the last ones, of a ring."""
    whole, some, ring = logs(tmp_path)
    path = tmp_path / "whole.lst"
    path.write_text(whole)
    run(UPTO_ASAN, "import", "-f", "-o", tmp_path / "whole.upto", path)
    tree = [(n["depth"], n["function"], n["calls"]) for n in upto_json("tree", "--json", tmp_path / "whole.upto")["tree"]]
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", tmp_path / "whole.upto")["functions"] if f["calls"]}
    assert calls == {"never": 2, "work": 1, "branch": 2, "leaf": 7, "deep": 10, "slow": 1}, calls
    assert (1, "work", 1) in tree and (2, "branch", 2) in tree and (3, "leaf", 7) in tree and (11, "deep", 1) in tree, tree
    slow, = (c for c in upto_json("calls", "--json", "-F", "slow", tmp_path / "whole.upto")["calls"])
    assert slow["duration_ns"] >= 3000000
    assert re.search(r"started at \d+ usec by entry to function work\n", some.replace("0x", "")) and "stopped at" in some and "exit from function" in some, some
    assert re.findall(r" (\w+) +\w+\+0x[0-9a-f]+$", some, re.M) == ["work", "slow"] and "Execution time filter count = 19" in some, some
    kept = re.findall(r" (\w+) +\w+\+0x[0-9a-f]+$", ring, re.M)
    assert kept == ["deep"] * 3 + ["slow", "branch", "leaf", "leaf", "never"] and "Entries not found = 3" in ring, ring
    assert b"slow" in run(UPTO, "kd", path).stdout


def saved(folder):
    """All memory of a guest that hangs."""
    p = subprocess.Popen([*QEMU, "-display", "none", "-serial", "stdio", "-qmp", f"unix:{folder}/qmp,server,nowait", "-kernel", bare(folder, "-DHANGS")],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        while b"!" not in p.stdout.readline():
            assert p.poll() is None
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{folder}/qmp")
            answers = s.makefile("r")
            for command in ({"execute": "qmp_capabilities"}, {"execute": "pmemsave", "arguments": {"val": 0, "size": 64 << 20, "filename": f"{folder}/memory.bin"}}):
                s.sendall(json.dumps(command).encode() + b"\n")
                while "return" not in (said := json.loads(answers.readline())):
                    assert "error" not in said, said
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
    return os.path.join(folder, "memory.bin")


def calls_in(folder, dump, upto=UPTO):
    run(upto, "import", "-f", "-m", os.path.join(folder, "System.map"), "-o", os.path.join(folder, "dump.upto"), dump)
    assert b"of which 0 matched no call" in run(upto, "check", os.path.join(folder, "dump.upto")).stdout
    tree = [(n["depth"], n["function"], n["calls"]) for n in upto_json("tree", "--json", "--min", "0", os.path.join(folder, "dump.upto"))["tree"]]
    return tree, {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", os.path.join(folder, "dump.upto"))["functions"] if f["calls"]}


WORK_CALLS = {"never": 1, "work": 1, "branch": 2, "leaf": 7, "deep": 10, "slow": 1}


@pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")
@pytest.mark.weight(4)
def test_memory(tmp_path):
    """What a machine that hangs was at, out of all its memory."""
    tree, calls = calls_in(tmp_path, saved(str(tmp_path)), UPTO_ASAN)
    assert calls == {**WORK_CALLS, "waits": 1}, calls
    assert (1, "waits", 1) in tree and (2, "branch", 2) in tree and (3, "leaf", 7) in tree and (11, "deep", 1) in tree, tree
    waits, = upto_json("calls", "--json", "-F", "waits", tmp_path / "dump.upto")["calls"]
    assert waits["unfinished"], waits


HOST = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define kernel_main kernel_main_
#define ticks ticks_
#include "instrumented.c"
#undef ticks
static UPTO_NOT_INSTRUMENTED uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec; }
static uint64_t steps, step;
static UPTO_NOT_INSTRUMENTED uint64_t stepping(void) { return steps += step; }
static UPTO_NOT_INSTRUMENTED void put_char(char c) { putchar(c); }
/* What is in memory; with a number: the log by a clock that steps so many nanoseconds each time. */
UPTO_NOT_INSTRUMENTED int main(int argc, char **argv)
{
	struct upto_instrument config = all;

	step = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	config.clock = step ? stepping : now;
	upto_instrument_begin(&config);
	never();
	work();
	if (step)
		return upto_instrument_log(put_char), 0;
	return fwrite(calls, sizeof calls, 1, stdout) != 1;
}
"""


def swapped(dump):
    """The same, of a machine with the other order of bytes."""
    head = struct.Struct("<8sHBBIIIIIIIQQQQQQQ")
    fields = head.unpack_from(dump)
    size, calls_at, used = fields[4], fields[5], fields[7]
    out = struct.pack(">8sHBBIIIIIIIQQQQQQQ", *fields).ljust(calls_at, b"\0")
    for i in range((len(dump) - calls_at) // size):
        out += struct.pack(">QQQQ", *struct.unpack_from("<QQQQ", dump, calls_at + i * size))
    assert used == sum(WORK_CALLS.values()), fields
    return out


def on_host(folder):
    """HOST, as a program of this machine, and its System.map beside it."""
    (folder / "host.c").write_text(HOST)
    run("gcc", "-O1", "-no-pie", "-finstrument-functions", "-I", LIBRARY, "-I", GUESTS, "-o", folder / "host", folder / "host.c", os.path.join(LIBRARY, "upto_instrument.c"))
    (folder / "System.map").write_bytes(run("nm", "-n", folder / "host").stdout)


def test_log_rounded(tmp_path):
    """The log has microseconds: a call lies in its caller there, too, however both are rounded."""
    on_host(tmp_path)
    for step in 1, 97, 333, 401, 613, 787, 999, 1000, 1499, 70001:
        (tmp_path / "log").write_bytes(run(tmp_path / "host", str(step)).stdout)
        tree, calls = calls_in(tmp_path, tmp_path / "log")
        below = [n for n in tree if n[1] in WORK_CALLS]
        assert calls == WORK_CALLS, (step, calls)
        assert sorted(below) == sorted([(1, "never", 1), (1, "work", 1), (2, "branch", 2), (3, "leaf", 7), (2, "slow", 1), *((2 + i, "deep", 1) for i in range(10))]), (step, tree)


def test_dump(tmp_path):
    """The buffer alone, of 64 bits, in either order of bytes; somewhere in other bytes; cut short, and damaged."""
    on_host(tmp_path)
    dump = run(tmp_path / "host").stdout
    for name, data in ("little", dump), ("big", swapped(dump)), ("within", b"\0" * 70001 + b"\x89uptoM\r\n" + b"x" * 300 + dump + b"y" * 99):
        (tmp_path / name).write_bytes(data)
        tree, calls = calls_in(tmp_path, tmp_path / name, UPTO_ASAN)
        assert calls == WORK_CALLS and (2, "branch", 2) in tree and (11, "deep", 1) in tree, (name, calls, tree)
    (tmp_path / "short").write_bytes(dump[:3000])
    fails(1, "neither text, nor memory with calls of upto_instrument in it", "import", "-f", "-o", tmp_path / "x.upto", tmp_path / "short")
    at = struct.unpack_from("<I", dump, 16)[0]
    (tmp_path / "damaged").write_bytes(dump[:at + 16] + b"\xff" * 8 + dump[at + 24:])
    fails(1, "call 0: no times that a log has: it is damaged", "import", "-f", "-o", tmp_path / "x.upto", tmp_path / "damaged")
    # without names, addresses are
    run(UPTO, "import", "-f", "-o", tmp_path / "bare.upto", tmp_path / "little")
    assert sum(f["calls"] for f in upto_json("top", "--json", "-n", "0", tmp_path / "bare.upto")["functions"] if f["function"].startswith("0x")) == sum(WORK_CALLS.values())


def test_other_machines(tmp_path):
    """It compiles for others, without a warning and without a library."""
    if not shutil.which("clang"):
        pytest.skip("no clang")
    for target in "aarch64-none-elf", "riscv64-none-elf", "arm-none-eabi", "mips-none-elf", "x86_64-none-elf", "i386-none-elf":
        out = tmp_path / target
        run("clang", f"--target={target}", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-c", "-o", out, os.path.join(LIBRARY, "upto_instrument.c"))
        needs = run("nm", "-u", out, check=False).stdout.decode().split()
        # what compilers may call for themselves is none of a C library's
        assert not [n for n in needs if n != "U" and not n.startswith("__aeabi_")], (target, needs)
