# SPDX-License-Identifier: GPL-2.0-or-later
"""top --by interrupt: how often each vector came, and how long its handler ran."""
import collections
import json
import os

from guest import TOP, UPTO, WORK, run
from test_cli import TINY_EXIT, answer, fails, trace


def rows(*options):
    return {r["vector"]: r for r in answer("top", "--json", "--by", "interrupt", "-n", "0", *options, trace())["interrupts"]}


def test_counts():
    """As many as there are events of them, of all and of a part, once the kernel runs; firmware has vectors of its own."""
    kernel_ns = int(answer("info", "--json", trace())["meta"]["kernel_ns"])
    lines = run(UPTO, "dump", "--json", "-k", "interrupt", trace()).stdout.splitlines()
    events = [e for e in map(json.loads, lines) if e["ns"] >= kernel_ns]
    vectors = collections.Counter(int(e["args"][0], 16) for e in events)
    assert {v: r["count"] for v, r in rows().items()} == vectors and len(vectors) > 5
    middle = events[len(events) // 2]["ns"]
    late = collections.Counter(int(e["args"][0], 16) for e in events if e["ns"] >= middle)
    assert {v: r["count"] for v, r in rows("--from", f"{middle}ns").items()} == late


def test_times():
    """The timer's handler ran as long as top --total says of its function; what a driver asked for is its action."""
    found = rows()
    total = {f["function"]: f for f in answer("top", "--json", "--total", "-n", "0", trace())["functions"]}
    timer = found[236]  # LOCAL_TIMER_VECTOR, arch/x86/include/asm/irq_vectors.h
    assert timer["function"] == "asm_sysvec_apic_timer_interrupt", timer
    same = total["sysvec_apic_timer_interrupt"]
    assert same["total_insns"] < timer["total_insns"] < same["total_insns"] * 1.2, (timer, same)
    # the function's longest call lies within a run of the handler; another run may be the longest one
    assert same["longest_ns"] <= timer["longest_ns"], (timer, same)
    assert all(r["average_ns"] <= r["longest_ns"] <= r["total_ns"] for r in found.values())
    assert "page fault" in found[14]["function"] and not found[14].get("action")
    assert {"timer_interrupt", "i8042_interrupt"} <= {r.get("action") for r in found.values()}, found


def test_asked():
    fails(2, "--by interrupt: not with", "top", "--by", "interrupt", "--total", trace())
    fails(2, "thread or interrupt", "top", "--by", "irq", trace())


def test_firmware_vectors():
    """In real mode the timer has a fault's vector. What it cuts into had been done: nothing is taken back. Of a loop, each instruction is counted."""
    loops, image, trace = 40_000_000, os.path.join(WORK, "ticks.img"), os.path.join(WORK, "ticks.upto")
    run("gcc", "-m32", "-nostdlib", "-static", f"-DLOOPS={loops}", "-Wl,-Ttext=0x7c00,--oformat=binary,--build-id=none", "-o", image,
        os.path.join(TOP, "tests/guests/ticks.S"))
    p = run(UPTO, "record", "--force", "-o", trace, "--", "qemu-system-x86_64", "-accel", "tcg", "-nographic", "-nic", "none", "-m", "32M", "-serial",
            "none", "-drive", f"file={image},format=raw,snapshot=on", "-device", "isa-debug-exit,iobase=0xf4,iosize=1", check=False)
    assert p.returncode == TINY_EXIT, p.stderr
    run(UPTO, "check", trace)
    events = [json.loads(line) for line in run(UPTO, "dump", "--json", trace).stdout.splitlines()]
    begin = max(i for i, e in enumerate(events) if e["kind"] == "call" and 0x7c00 < int(e["target"], 16) < 0x7e00)
    end = next(i for i in range(begin, len(events)) if events[i]["kind"] == "return" and events[i]["slot"] == events[begin]["slot"])
    ticks = [e["args"][0] for e in events[begin:end] if e["kind"] == "interrupt"]
    assert len(ticks) > 20 and set(ticks) == {"0x8"}, ticks
    assert events[end]["insns"] - events[begin]["insns"] == 5 + 5 * loops + 5 * len(ticks), len(ticks)


def test_syscall_entries():
    """A system call is a call of the function that the kernel gave the CPU for it."""
    calls = [e for e in map(json.loads, run(UPTO, "dump", "--json", "-k", "syscall", trace()).stdout.splitlines()) if e["kind"] == "syscall"]
    entered = {f["function"]: f["calls"] for f in answer("top", "--json", "-n", "0", trace())["functions"] if f["function"].startswith("entry_SYSCALL")}
    assert len(calls) > 100 and entered["entry_SYSCALL_64"] == len(calls) and "entry_SYSCALL_compat" not in entered, (len(calls), entered)
