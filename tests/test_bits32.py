# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of 32 bits (Debian's 686-pae): functions by name, calls, stacks, threads, phases, system calls; what is not known is said."""
import json
import os

import pytest

import decoder
import entries
from guest import UPTO, WORK, initrd, kernel, numbers, once_a_run, qemu_args, run, upto_json

VERSION = "6.1-686-pae"
NAME = os.path.join(WORK, "bits32")
TRACE = NAME + ".upto"


@pytest.fixture(scope="module")
def symbols():
    found = entries.symbols_of(kernel(VERSION)[1])
    args = qemu_args(VERSION, initrd(VERSION, "plain"))
    once_a_run(TRACE, lambda: entries.record_counted(NAME, args, found, "--deterministic", "--args", "vfs_read,crc32c_*,crc32*_mod_init", more=",narrow=on"))
    return found


@pytest.mark.long
@pytest.mark.weight(40)
def test_entries(symbols):
    """Entries and own instructions of each function of the kernel are as many as a plugin counts that shares nothing with the recorder."""
    return entries.compare_counted(NAME, symbols)


@pytest.mark.long
@pytest.mark.weight(10)
def test_addresses(symbols):
    """Addresses of the kernel are sign-extended, as the format says: of functions, stacks and tasks. Firmware's are not."""
    trace = decoder.Trace(TRACE)
    assert trace.meta["arch"] == "i386"
    assert {int(s[0], 16) >> 32 for s in symbols} == {0xffffffff}
    top = upto_json("top", "--json", "-n", "0", TRACE)["functions"]
    names = {f["function"]: f for f in top}
    for once in ("start_kernel", "i386_start_kernel", "rest_init", "kernel_init"):
        assert names[once]["calls"] == 1, (once, names.get(once))
    assert names["[firmware]"]["self_insns"] > 100000 and names["[decompressor]"]["self_insns"] > 100000
    # the CPU's own form of the kernel's addresses stands nowhere
    kinds = set()
    for line in run(UPTO, "dump", "--json", "-n", "200000", "--start", "entry:start_kernel", TRACE).stdout.splitlines():
        e = numbers(json.loads(line))
        kinds.add(e["kind"])
        short = [key for key in ("slot", "from", "target") if 0xc0000000 <= (e.get(key) or 0) < 0xffc00000]
        assert not short, e
    assert {"call", "call-indirect", "return"} <= kinds


@pytest.mark.weight(10)
def test_threads(symbols):
    """Each task_struct is a thread, with the names that the kernel gave; system calls are i386's."""
    switches = run(UPTO, "dump", "--json", "--kind", "task-switch", TRACE).stdout.splitlines()
    assert len(switches) > 100
    calls = upto_json("syscalls", "--json", "-n", "0", TRACE)["syscalls"]
    assert {c["abi"] for c in calls} == {"i386"} and len({c["task"] for c in calls}) > 3
    loads = [c for c in calls if c["name"] in ("init_module", "finit_module") and c["result"] == 0]
    assert len(loads) > 3 and {c["comm"] for c in loads} == {"insmod"}, loads
    modules = {f["function"].split(" [")[1] for f in upto_json("top", "--json", "-n", "0", "--module", "*", TRACE)["functions"] if " [" in f["function"]}
    assert len(modules & {"crc32c_intel]", "crc32c_generic]"}) == 2, modules
    last = calls[-1]
    assert (last["name"], last["comm"]) == ("reboot", "poweroff") and last["result"] is None, last


def test_unknown(symbols):
    """What is not known of such a kernel is said."""
    assert "32 bits" in upto_json("info", "--json", TRACE)["meta"]["lacks"]
    # what its functions, and its modules', are given stands in no registers that it is read from
    info = upto_json("info", "--json", TRACE)
    assert not info["facts"]["args"]["count"] and not [key for key in info["meta"] if key.startswith("args.")], info["meta"]
    p = run(UPTO, "log", TRACE, check=False)
    assert p.returncode and b"no kernel log" in p.stderr
