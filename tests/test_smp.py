# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with many vCPUs."""
import json
import os
import re

import pytest

from guest import UPTO, WORK, check, initrd, once_a_run, peak_mb, qemu_args, record, run, upto_json

MEMORY_BOUND_MB = 256


def each_ran_its_program(trace, said, n):
    """On each of n vCPUs ran the program that said so, and `check` finds nothing."""
    pids = {int(cpu): int(pid) for pid, cpu in re.findall(r"^pid (\d+) on (\d+)", said, re.M)}
    assert list(pids) == list(range(n)), said
    assert upto_json("info", "--json", trace)["vcpus"] == n
    for cpu in range(n):
        processes = upto_json("ps", "--json", "--cpu", str(cpu), trace)["processes"]
        # the last of its programs; taskset, which ran that one, may have begun elsewhere
        programs = [p for p in processes if p["pid"] == pids[cpu]]
        assert programs[-1]["comm"] == "busybox" and programs[-1]["self_insns"] > 100000, (cpu, programs)
    run(UPTO, "check", trace)


@pytest.mark.qemus
@pytest.mark.parametrize("n, thread", [pytest.param(2, "multi", marks=pytest.mark.kernels), pytest.param(4, "multi", marks=pytest.mark.kernels), pytest.param(20, "multi", marks=pytest.mark.long),
                                       pytest.param(64, "multi", marks=pytest.mark.kernels), (3, "single")])
@pytest.mark.weight(60)
def test_vcpus(n, thread):
    """Each vCPU of the guest starts, and runs a program that tells which one it is on: that is in the trace, on that vCPU."""
    trace = os.path.join(WORK, f"smp-{n}.upto")
    args = qemu_args("6.12", initrd("6.12", "smp"), smp=n, thread=thread)
    said = record(trace, args, timeout=900).stdout.decode(errors="replace")
    each_ran_its_program(trace, said, n)
    if n <= 20:
        peak = peak_mb(UPTO, "top", "--total", trace)
        assert peak < MEMORY_BOUND_MB, peak
        return f"top --total took {peak:.0f} MB"


@pytest.mark.qemus
def deterministic(i):
    """One of two such recordings, with what its guest said in a file beside it."""
    trace = os.path.join(WORK, f"smp-deterministic-{i}.upto")

    def make():
        said = record(trace, qemu_args("6.12", initrd("6.12", "smp"), smp=2), "--deterministic").stdout
        with open(trace + ".said", "wb") as f:
            f.write(said)
    once_a_run(trace, make)
    return trace


@pytest.mark.long
@pytest.mark.weight(40)
def test_deterministic():
    """Two vCPUs take turns in QEMU's thread, at the same instructions in each of two recordings: these are equal, event for event, and times too."""
    answers = []
    for i in range(2):
        trace = deterministic(i)
        with open(trace + ".said", errors="replace") as f:
            said = f.read()
        each_ran_its_program(trace, said, 2)
        answers.append({words: run(UPTO, *words.split(), trace).stdout for words in ("info --digest", "ps --json", "waits --json", "top -n 0 --json")})
    assert all(answers[0].values()) and not [words for words in answers[0] if answers[0][words] != answers[1][words]]


@pytest.mark.weight(20)
def test_start():
    """A vCPU waits, halted, until its startup interrupt comes: what it does then is not earlier than the vCPU that sent it."""
    trace = os.path.join(WORK, "smp-start.upto")
    record(trace, qemu_args("6.12", initrd("6.12", "smp"), smp=2, thread="multi"), timeout=900)
    first = {f["function"]: f for f in upto_json("first", "--json", "-n", "0", trace)["first"]}
    sent = first["native_kick_ap"]["ns"]
    began = first["secondary_startup_64"]["ns"]
    # a loaded host may stop QEMU in between
    assert first["start_kernel"]["ns"] < sent < began < sent + 1e9, (sent, began)
    events = [json.loads(line) for line in
              run(UPTO, "dump", "--json", "-k", "halt,resume,task-switch", trace).stdout.splitlines()]
    # from the beginning to the firmware's startup interrupt, and from there to the kernel's
    second = [e for e in events if e["cpu"] == 1][:6]
    assert [e["kind"] for e in second] == ["halt", "resume", "task-switch"] * 2, second
    times = [e["ns"] for e in second]
    assert times[0] == 0 and times[4] <= times[5] <= began < times[4] + 1e9, (times, began)
    halted, since = 0, {}
    for e in events:
        if e["kind"] == "halt":
            since[e["cpu"]] = e["ns"]
        elif e["kind"] == "resume":
            halted += e["ns"] - since.pop(e["cpu"])
    assert times[4] - times[3] > sent / 2 and halted > times[4] - times[3]
    info = upto_json("info", "--json", trace)
    assert halted <= info["halted_ns"] <= halted + sum(info["duration_ns"] - ns for ns in since.values()), (halted, info)
    run(UPTO, "check", trace)
    return f"CPU 1 was halted for {halted / 1e9:.3f} s"


@pytest.mark.weight(8)
def test_values_in_turns(tmp_path):
    """Two vCPUs that take turns by -icount: QEMU's clock cannot be read amid a block, where events and probes are."""
    trace = str(tmp_path / "turns.upto")
    args = qemu_args("6.12", initrd("6.12", "brief"), smp=2)
    record(trace, args, "--deterministic", "--event", "sched:sched_switch", "--probe", "vfs_open rsi=%si", "--args", "vfs_open")
    check(trace)
    events = upto_json("events", "--json", trace)["events"]
    assert len({e["event"] for e in events}) == 2 and {e["cpu"] for e in events} == {0, 1}, len(events)
    assert all(a["ns"] <= b["ns"] for a, b in zip(events, events[1:]))
    switches = sum(f["calls"] for f in upto_json("top", "--json", "-n", "0", trace, "__switch_to_asm")["functions"])
    assert switches == sum(e["event"] == "sched:sched_switch" for e in events) > 500, switches
