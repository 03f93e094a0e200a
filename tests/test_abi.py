# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls by other interfaces than x86-64's own, held against what strace says in the guest."""
import collections
import json
import os
import re
import subprocess

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, Once, initrd, libraries_of, qemu_args, record, run, unpack_disk, upto_json


def program(bits):
    source, out = os.path.join(TOP, "tests/guests/abi.c"), os.path.join(WORK, f"abi{bits}")
    with Once(out):
        if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
            run("gcc", f"-m{bits}", "-O1", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie",
                "-fno-stack-protector", "-fcf-protection=none", "-o", out, source)
    return out


def strace_of(path):
    """(name, arguments, result) of each call; results: None if it has none, "error" for any error."""
    text = open(path, errors="replace").read()
    for name, args, result in re.findall(r"^(\w+)\((.*)\) += (\?|-?\w+)", text, re.M):
        yield name, args, None if result == "?" else "error" if result.startswith("-1") else int(result, 0)


def same(call, name, args, result):
    """One call of ours, and what strace says of it; another run's process has another number, and other addresses."""
    got = "error" if call["error"] else call["result"]
    mine = re.match(r"\w+\((.*)\)$", call["call"]).group(1)
    if name == "sigreturn":
        assert got is None, call  # strace shows the register as it restores it
    elif name == "mmap2":  # strace shows bytes where the call takes pages
        *first, pages = mine.split(", ")
        *theirs, offset = args.split(", ")
        assert first == theirs and int(pages) * 4096 == int(offset, 0), (call["call"], args)
        assert 0 < got < 1 << 32, call
    elif name == "getpid":
        assert got in (call["pid"], "error"), call
    else:
        assert got == result, (call, result)
    if name == "kill":
        assert mine == f"{call['pid']}, SIGUSR1", call
    elif name in ("open", "write", "lseek", "exit"):
        assert mine == args, (call["call"], args)


@pytest.mark.parametrize("cpu, fast", [("max", "entry_SYSCALL_compat"), pytest.param("max,vendor=GenuineIntel", "entry_SYSENTER_compat", marks=pytest.mark.long)])
@pytest.mark.weight(15)
def test_interfaces(cpu, fast):
    """int $0x80, the vDSO's syscall (AMD) or sysenter (Intel), x32: names, arguments, strings and results as strace's."""
    version, name = "6.12", os.path.join(WORK, "abi-" + fast)
    disk, trace = name + ".disk", name + ".upto"
    image = initrd(version, "abi", *libraries_of("/usr/bin/strace"), "/usr/bin/strace=/usr/bin/strace",
                   *(f"{program(bits)}=/bin/abi{bits}" for bits in (32, 64)),
                   image=name + ".img", newer_than=[program(32), program(64)])
    record(trace, qemu_args(version, image, cpu=cpu, disk=disk))
    folder = unpack_disk(disk, name)
    assert open(os.path.join(folder, "status")).read() == "abi32 0\nabi64 0\n"
    runs = collections.defaultdict(list)
    for c in upto_json("syscalls", "--json", trace, upto=UPTO_ASAN)["syscalls"]:
        runs[c["comm"], c["pid"]].append(c)
    runs = {key: calls for key, calls in runs.items() if key[0] in ("abi32", "abi64")}
    assert len(runs) == 3, runs.keys()
    for bits in (32, 64):
        # the first one that strace shows is its own, execve
        theirs = list(strace_of(os.path.join(folder, f"abi{bits}")))[1:]
        for calls in (c for key, c in runs.items() if key[0] == f"abi{bits}"):
            calls = calls[-len(theirs):]
            assert [c["name"] for c in calls] == [t[0] for t in theirs], calls
            for call, (called, args, result) in zip(calls, theirs):
                same(call, called, args, result)
            abis = [c["abi"] for c in calls]
            if bits == 32:
                assert set(abis) == {"i386"} and len(theirs) == 25, (abis, len(theirs))
            else:
                assert abis == ["i386", "i386", "x86-64", "x32", "x32", "x32", "x86-64"], abis
    compare_ways(trace, fast)
    text = run(UPTO, "syscalls", "-n", "0", "--name", "open", trace).stdout.decode()
    assert " ABI " in text and " i386 " in text and " x32 " in text, text
    sums = upto_json("syscalls", "--summary", "--json", trace)["syscalls"]
    opens = {s["abi"]: s["count"] for s in sums if s["name"] == "open"}
    assert opens["i386"] == 7 and opens["x32"] == 1 and opens["x86-64"] >= 1, opens
    run(UPTO_ASAN, "check", trace)
    os.unlink(trace)


def compare_ways(trace, fast):
    """Of each way in, as many entries as the programs make; each comes back where it should."""
    entries = collections.Counter()
    lines = subprocess.run([UPTO, "dump", "--json", "--kind", "syscall", trace], stdout=subprocess.PIPE, check=True).stdout
    for e in map(json.loads, lines.splitlines()):
        entries[e["abi"], e["place"].split("+")[0]] += 1
    ways = {place: n for (abi, place), n in entries.items() if abi == "i386"}
    slow = {place: n for place, n in ways.items() if "80" in place}
    assert ways.get(fast) == 2 * 6, ways
    assert sum(slow.values()) == sum(ways.values()) - 2 * 6 == 2 * (2 * 7 + 1 + 3 + 1) + 2, ways
    assert entries["x32", "entry_SYSCALL_64"] == 3, entries


def test_arguments(tmp_path):
    """What functions of a program of 32 bits are given, and its variables, are in no place that is read for others: that is said before anything runs."""
    path = str(tmp_path / "given32")
    (tmp_path / "given.c").write_text("int seen; __attribute__((noinline)) int takes(int a, const char *b) { seen = a; return *b; }\nvoid _start(void) { for (;;) takes(1, \"x\"); }\n")
    run("gcc", "-m32", "-g", "-O1", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-o", path, str(tmp_path / "given.c"))
    for options, said in (("--args", f"{path}:takes"), "a program of 32 bits: what its functions are given is not recorded"), \
            (("--probe", f"{path}:takes a"), "where it is in a file of 32 bits is not known"):
        p = run(UPTO, "record", "-o", tmp_path / "x.upto", "--debug", path, *options, "--", "qemu-system-x86_64", "-display", "none", check=False, timeout=60)
        assert p.returncode in (1, 2) and said in p.stderr.decode() and p.stderr.count(b"\n") == 1, p.stderr
