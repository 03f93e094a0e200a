# SPDX-License-Identifier: GPL-2.0-or-later
"""The two files for what has no C library: a bare machine's log is one that upto import and upto kd read."""
import os
import re
import shutil
import subprocess

import pytest

from guest import TOP, UPTO, UPTO_ASAN, run, upto_json

LIBRARY, GUESTS = os.path.join(TOP, "libupto"), os.path.join(TOP, "tests/guests")


def logs(folder):
    """What the guest says over its serial line, with functions' names: one log each way."""
    program = os.path.join(folder, "instrumented")
    run("gcc", "-m32", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic", "-no-pie", "-fno-stack-protector", "-fcf-protection=none",
        "-fno-asynchronous-unwind-tables", "-mgeneral-regs-only", "-nostdlib", "-static", "-Wl,-n,-Ttext=0x100000,--build-id=none", "-finstrument-functions",
        "-I", LIBRARY, "-o", program, os.path.join(GUESTS, "multiboot.S"), os.path.join(GUESTS, "instrumented.c"), os.path.join(LIBRARY, "upto_instrument.c"))
    p = subprocess.run(["qemu-system-x86_64", "-accel", "tcg", "-m", "64M", "-nographic", "-nic", "none", "-no-reboot", "-kernel", program, "-device",
                        "isa-debug-exit,iobase=0xf4,iosize=4"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert p.returncode == 11, (p.returncode, p.stderr)
    with open(os.path.join(folder, "System.map"), "wb") as f:
        f.write(run("nm", "-n", program).stdout)
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
