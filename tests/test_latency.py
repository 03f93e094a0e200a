# SPDX-License-Identifier: GPL-2.0-or-later
"""upto latency: held against the interrupt flag itself, which tests/plugins/flags.c reads at each block, and against the history."""
import bisect
import collections
import json
import os
import re
import subprocess
import time

import pytest

from guest import CHECK, TOP, UPTO, WORK, initrd, module, once_a_run, qemu_args, record, run, upto_json
from test_cli import fails
from test_code import recording

PAGE_FAULT, FIRST_MASKABLE, LOCAL_TIMER = 14, 32, 0xec
SET_TAKES = 40  # instructions from the entry of the function that sets the timer to where it is set
DRIFT = 400  # instructions that the flag's plugin is ahead of the trace: it counts blocks that were left in their middle as whole
TURNED_OFF_WITHIN = 20  # instructions from the entry of a lock's function to its cli, and from an interrupt's iret to the next block
# instructions from where a handler is done, and interrupts may be on again, to its iret: 116 where it returns to a program, by irqentry_exit_to_user_mode()
RETURN_TAKES = 150


def guest(name="latency", *options):
    """The trace, and the flag's changes by instruction."""
    trace, flags = (os.path.join(WORK, name + end) for end in (".upto", ".flags"))
    plugin = os.path.join(CHECK, "tests/flags.so")
    once_a_run(trace, lambda: record(trace, qemu_args("6.12", initrd("6.12", "plain")), *options, more=["-plugin", f"{plugin},out={flags}"]))
    return trace, [tuple(map(int, line.split()[1:])) for line in open(flags)]


def on_within(changes, begin, end):
    """The stretches with interrupts on, in instructions from `begin`."""
    i = max(bisect.bisect_right(changes, (begin, 2)) - 1, 0)
    while i < len(changes) and changes[i][0] < end:
        if changes[i][1]:
            yield max(changes[i][0], begin) - begin, min(changes[i + 1][0] if i + 1 < len(changes) else end, end) - begin
        i += 1


def longest_off(changes, interrupts, drift=DRIFT, how_many=20):
    """The longest stretches with the flag off that begin with an interrupt, as (instructions, where). One that comes when they end is another."""
    off = []
    for (start, _), (end, _) in (pair for pair in zip(changes, changes[1:]) if not pair[0][1]):
        first, behind = bisect.bisect_left(interrupts, start - drift), bisect.bisect_left(interrupts, end)
        if first < behind and interrupts[first] < start + drift:
            cuts = [start, *(i for i in interrupts[first:behind] if i > start + TURNED_OFF_WITHIN), end]
            off += [(b - a, a) for a, b in zip(cuts, cuts[1:])]
    return sorted(off, reverse=True)[:how_many]


@pytest.mark.long
@pytest.mark.weight(20)
def test_interrupts_off():
    """They were off from where each of the longest times began, but for the instructions up to cli, to where it ended."""
    trace, changes = guest()
    interrupts = [e for e in map(json.loads, run(UPTO, "dump", "--json", "--kind", "interrupt", trace).stdout.splitlines()) if e["kind"] == "interrupt"]
    faults = [e["insns"] for e in interrupts if int(e["args"][0], 16) == PAGE_FAULT]
    found = upto_json("latency", "--json", "--kind", "interrupts-off", "--each", "1000", trace)["latencies"]
    assert len(found) == 1000 and len(changes) > 100000
    for row in found:
        length = row["end_insns"] - row["start_insns"]
        # the plugin counts an instruction that faults twice
        slack = TURNED_OFF_WITHIN + bisect.bisect_right(faults, row["start_insns"])
        on = list(on_within(changes, row["start_insns"], row["end_insns"]))
        assert all(end <= slack or begin >= length - slack for begin, end in on), (row, on, slack)
    assert {"asm_sysvec_apic_timer_interrupt", "irqentry_exit"} < {row["end_function"] for row in found} | {row["function"] for row in found}
    # the handlers that took most instructions with the flag off are told as such
    kernel = int(upto_json("info", "--json", trace)["meta"]["kernel_insns"])
    timers = [e for e in interrupts if int(e["args"][0], 16) >= FIRST_MASKABLE and e["insns"] > kernel]
    seen = 0
    for n, begin in longest_off(changes, [e["insns"] for e in timers]):
        e = min(timers, key=lambda e: abs(e["insns"] - begin))
        rows = upto_json("latency", "--json", "-k", "interrupts-off", "--from", f"{e['ns']}ns", "--to", f"{e['ns'] + 1}ns", trace)["latencies"]
        assert len(rows) == 1 and 0 <= n - (rows[0]["end_insns"] - rows[0]["start_insns"]) <= RETURN_TAKES, (n, begin, e, rows)
        seen += 1
    assert seen == 20


@pytest.mark.parametrize("smp", [1, 2])
def test_preemption_off(smp):
    """No thread begins to run on the vCPU, and none enters the kernel from a program, while preemption is off."""
    trace, _ = recording("6.12", smp)
    events = [json.loads(line) for line in run(UPTO, "dump", "--json", "--kind", "task-switch,syscall,halt", trace).stdout.splitlines()]
    where = {cpu: sorted(e["insns"] for e in events if e.get("cpu") == cpu and "insns" in e) for cpu in range(smp)}
    found = upto_json("latency", "--json", "--kind", "preemption-off", "--each", "500", trace)["latencies"]
    assert len(found) == 500
    for row in found:
        at = where[row["cpu"]]
        first = bisect.bisect_right(at, row["start_insns"])
        assert first == len(at) or at[first] >= row["end_insns"], row
    # nor does what an interrupt's end leads to belong to it: where a program goes on, others may run first
    ends = collections.defaultdict(list)
    for call in upto_json("calls", "--json", "-F", "irqentry_exit_to_user_mode,preempt_schedule_irq", "--depth", "1", "-n", "0", trace)["calls"]:
        ends[call["cpu"]].append(call["start_ns"])
    assert sum(map(len, ends.values())) > 10
    for row in found:
        at = ends[row["cpu"]]
        first = bisect.bisect_right(at, row["start_ns"])
        assert first == len(at) or at[first] >= row["end_ns"], (row, at[first])


@pytest.mark.parametrize("smp", [1, 2])
def test_wakeups(smp):
    """They are the waits that were ready longest, of threads that slept, or were new; and most of their time somebody else ran there."""
    trace, _ = recording("6.12", smp)
    waits = upto_json("waits", "--json", "-n", "0", trace)["waits"]
    ready = sorted((w["ready_ns"] for w in waits if (w["asleep_ns"] or not w["stack"]) and w["ready_ns"]), reverse=True)  # also who never ran again
    found = upto_json("latency", "--json", "--kind", "wakeup", "--each", "1000", trace)["latencies"]
    lengths = [row["duration_ns"] for row in found if row["pid"] != 0]
    assert lengths == ready[:len(lengths)] and len(lengths) > 500
    assert all(row["held_by_pid"] != row["pid"] for row in found[:10]), found[:10]


def assert_lines(stack, ko):
    """Frames of a module have the lines that addr2line tells of its file, section by section; of a caller, where it called."""
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", ko).stdout.decode().splitlines() if line.split()[1] in "tT"}
    for name, section, behind in ("stay", ".text", 0), ("bugs_init", ".init.text", 1):
        found = re.search(rf"^    {name}\+(0x\w+) \[bugs\] (\S+)$", stack, re.M)
        assert found, (name, stack)
        want = run("addr2line", "-i", "-e", ko, "-j", section, hex(symbols[name] + int(found[1], 16) - behind)).stdout.decode().splitlines()[-1].split()[0]
        assert os.path.basename(found[2]) == os.path.basename(want), (name, found[2], want)


@pytest.mark.weight(12)
@pytest.mark.parametrize("smp", [1, pytest.param(2, marks=pytest.mark.long)])
def test_stuck(smp):
    """A guest that hangs with interrupts off: the longest time of each kind reaches to the trace's end, and who holds the vCPU is told; so does how it ended."""
    ko = module("6.12", "bugs", os.path.join(TOP, "tests/guests/bugs.c"))
    image = initrd("6.12", "stuck", f"{ko}=/bugs.ko")
    trace = os.path.join(WORK, f"latency-stuck-{smp}.upto")
    p = subprocess.Popen([UPTO, "record", "-f", "-o", trace, "--", *qemu_args("6.12", image, smp=smp)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in p.stdout:
        if b"stuck now" in line:
            break
    time.sleep(4)
    p.terminate()
    said = p.communicate()[1].decode(errors="replace")
    assert p.returncode == 0, said
    info = upto_json("info", "--json", trace)
    end = info["duration_ns"]
    assert info["ending"]["quiet_ns"] is None and "no process ran since" not in said, (info["ending"], said)  # it runs
    found = upto_json("latency", "--json", "--each", "1", trace)["latencies"]
    rows = {row["kind"]: row for row in found}
    for kind in "interrupts-off", "preemption-off", "timer":
        row = rows[kind]
        assert row["end_function"] == "[end of trace]" and row["end_ns"] == end and row["duration_ns"] > 2e9, row
        assert row["held_by"] == "busybox" and re.match(r"stay(\.\w+)* \[bugs\] \d+ %", row["most"]), row
    assert rows["interrupts-off"]["function"].startswith("stay"), rows["interrupts-off"]
    assert rows["interrupts-off"]["end_insns"] is None
    stuck, = info["ending"]["lockups"]
    assert (stuck["cpu"], stuck["pid"], stuck["comm"]) == (row["cpu"], row["held_by_pid"], "busybox") and re.match(r"stay(\.\w+)* \[bugs\]$", stuck["function"]), stuck
    assert f"; vCPU {stuck['cpu']} takes no interrupt since {stuck['since_ns'] // 1000 / 1e6:.6f} s: busybox ({stuck['pid']}) is in {stuck['function']}\n" in said, said
    assert f"see: upto stack --at end {trace}\n" in said, said
    # up to the last interrupt that it took, or halt, as dump tells them
    events = [json.loads(line) for line in run(UPTO, "dump", "--json", "--cpu", str(stuck["cpu"]), "--from", f"{stuck['since_ns'] - 1000000}ns", trace).stdout.splitlines()]
    taken = [e["ns"] for e in events if e["kind"] in ("halt", "resume") or e["kind"] == "interrupt" and int(e["args"][0], 0) >= 32]
    assert taken[-1] == stuck["since_ns"] <= rows["interrupts-off"]["start_ns"], (taken[-5:], stuck)
    assert_lines(run(UPTO, "stack", "--at", "end", "--running", "--wide", "--debug", ko, trace).stdout.decode(), ko)
    heading = run(UPTO, "latency", trace).stdout.decode().splitlines()[0]
    assert "stay" in run(UPTO, *heading.partition("see: upto ")[2].split()).stdout.decode(), heading
    os.unlink(trace)


@pytest.mark.long
def test_choice():
    trace, _ = recording("6.12", 2)
    all_of_it = upto_json("latency", "--json", "--each", "3", trace)["latencies"]
    assert {row["kind"] for row in all_of_it} == {"interrupts-off", "preemption-off", "softirq", "timer", "wakeup"}
    for kind in {row["kind"] for row in all_of_it}:
        rows = [row for row in all_of_it if row["kind"] == kind]
        lasted = [row["end_ns"] - row["start_ns"] for row in rows]
        assert len(rows) == 3 and lasted == sorted(lasted, reverse=True) == [row["duration_ns"] for row in rows]
        assert upto_json("latency", "--json", "--each", "3", "--kind", kind, trace)["latencies"] == rows
    one = upto_json("latency", "--json", "--cpu", "1", "--each", "50", trace)["latencies"]
    middle = sorted(row["start_ns"] for row in one)[len(one) // 2]
    early, late = (upto_json("latency", "--json", "--cpu", "1", "--each", "50", f"--{which}", f"{middle}ns", trace)["latencies"] for which in ("to", "from"))
    assert early and late and all(row["cpu"] == 1 for row in [*one, *early, *late])
    assert max(row["start_ns"] for row in early) < middle <= min(row["start_ns"] for row in late)
    # of those that lasted as long as the shortest that is shown, others may be; what is under way in the middle is over in neither
    least = {kind: min(row["duration_ns"] for row in one if row["kind"] == kind) for kind in {row["kind"] for row in one}}
    whole = [row for row in one if row["duration_ns"] > least[row["kind"]] and not row["start_ns"] < middle <= row["end_ns"]]
    assert all(row in [*early, *late] for row in whole) and len(whole) > 100, len(whole)
    longest, = (line for line in run(UPTO, "latency", trace).stdout.decode().splitlines() if line.startswith("# longest: "))
    assert "SELF INSNS" in run(UPTO, *longest.partition("see: upto ")[2].split()).stdout.decode(), longest
    fails(2, "no kind x", "latency", "--kind", "wakeup,x", trace)
    fails(2, "--each 0: 1 to 1000", "latency", "--each", "0", trace)


def test_without_index():
    """Who held a vCPU is the same without the index beside the trace."""
    trace, _ = recording("6.12", 2)
    copy = os.path.join(WORK, "latency-copy.upto")
    if os.path.exists(copy):
        os.unlink(copy)
    os.link(trace, copy)
    with_index = run(UPTO, "latency", "--json", trace).stdout
    assert os.path.exists(trace + ".index")
    os.makedirs(copy + ".index", exist_ok=True)  # nothing can be written there
    try:
        assert run(UPTO, "latency", "--json", copy).stdout == with_index
    finally:
        os.rmdir(copy + ".index")
        os.unlink(copy)


def test_nothing_to_tell():
    """Of a trace in which no Linux ran, one line says so."""
    trace = os.path.join(WORK, "latency-firmware.upto")
    run("timeout", "-s", "INT", "2", UPTO, "record", "--force", "-o", trace, "--", "qemu-system-x86_64", "-accel", "tcg", "-m", "128M", "-nographic", "-nic", "none",
        check=False)
    fails(1, "no Linux ran in it", "latency", trace)


@pytest.mark.long
@pytest.mark.weight(20)
def test_timer():
    """
    Where QEMU counts instructions, each of the vCPU's timer interrupts comes when it is due, but for the instructions that set it, and for as long as the
    interrupt flag is off: then as soon as it is on.
    """
    trace, changes = guest("latency-timer", "--deterministic")
    interrupts = [e for e in map(json.loads, run(UPTO, "dump", "--json", "--kind", "interrupt", trace).stdout.splitlines()) if e["kind"] == "interrupt"]
    by_ns = {e["ns"]: e for e in interrupts if int(e["args"][0], 16) == LOCAL_TIMER}
    found = upto_json("latency", "--json", "--kind", "timer", "--each", "1000", trace)["latencies"]
    first = min(row["end_ns"] for row in found)  # before, the timer went off by itself again and again
    assert len(found) > 200 and len(found) == len([ns for ns in by_ns if ns >= first]), (len(by_ns), len(found))
    late = [row for row in found if row["duration_ns"] > SET_TAKES]
    for row in late:
        end = by_ns[row["end_ns"]]["insns"]  # an instruction takes a nanosecond
        ends = [(begin, on) for (begin, flag), (on, _) in zip(changes, changes[1:]) if not flag and -TURNED_OFF_WITHIN <= on - end <= DRIFT]
        assert any(on - begin >= row["duration_ns"] - SET_TAKES - TURNED_OFF_WITHIN for begin, on in ends), (row, end, ends)
    assert {row["function"] for row in found} - {row["function"] for row in late}
    return f"{len(late)} of {len(found)} were late, at most {found[0]['duration_ns']} ns"
