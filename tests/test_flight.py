# SPDX-License-Identifier: GPL-2.0-or-later
"""A flight recorder has what threads were in the middle of where it begins: held against whole recordings of the same boots, and against a guest
whose threads have hung for seconds."""
import collections
import os
import re
import random

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, Once, initrd, qemu_args, record, run, seed, upto_json
from test_chosen import boot
from test_smp import deterministic

POWER_OFF = "entry:kernel_power_off"
UNMATCHED = "of which 0 matched no call"


def stacks(trace, ns, upto=UPTO):
    """Of each thread, its frames."""
    found = upto_json("stack", "--json", "--at", f"{ns}ns", trace, upto=upto)["stacks"]
    return {(s["pid"], s["comm"], s["cpu"]): [(f["function"], f["kind"], f["offset"] if "offset" in f else None) for f in s["frames"]] for s in found}


def span(trace):
    meta = upto_json("info", "--json", trace)["meta"]
    return int(meta["span.1.start_ns"]), int(meta["span.1.stop_ns"])


def same_stacks(whole, flight, moments=6):
    rng = random.Random(seed())
    begin, end = span(flight)
    for ns in [begin + 1, *sorted(rng.randrange(begin, end) for _ in range(moments)), end - 1]:
        expected = stacks(whole, ns)
        assert len(expected) > 40
        assert stacks(flight, ns) == expected, (ns, {k: (v, stacks(flight, ns).get(k)) for k, v in expected.items() if stacks(flight, ns).get(k) != v})
    assert stacks(flight, end - 1, UPTO_ASAN) == expected


@pytest.mark.long
@pytest.mark.weight(20)
def test_stacks():
    """Every thread's stack is the whole one, at any moment, also of those that slept all the time; and so are its waits."""
    whole, flight = boot("all"), boot("flight", "--before", "300ms", "--start", POWER_OFF)
    same_stacks(whole, flight)
    assert UNMATCHED in run(UPTO, "check", flight).stdout.decode()
    # what began before it and goes on in it
    begin, _ = span(flight)
    waits = upto_json("waits", "--json", "-n", "0", flight)["waits"]
    expected = [w for w in upto_json("waits", "--json", "-n", "0", whole)["waits"] if w["start_ns"] + w["asleep_ns"] > begin and w["asleep_ns"]]
    told = {(w["pid"], w["start_ns"], w["asleep_ns"], w["kind"], w["function"]) for w in waits}
    assert len(expected) > 40 and not [w for w in expected if (w["pid"], w["start_ns"], w["asleep_ns"], w["kind"], w["function"]) not in told]
    # a part of it that is cut out later tells of nothing before
    part = os.path.join(WORK, "flight-part.upto")
    run(UPTO, "thin", "-f", "--start", "exec:busybox", "-o", part, flight)
    assert run(UPTO, "check", part).returncode == 0 and upto_json("info", "--json", part)["bytes_by_content"]["stacks"] == 0
    assert upto_json("info", "--json", flight)["bytes_by_content"]["stacks"] > 1000


@pytest.mark.long
@pytest.mark.weight(20)
def test_stacks_of_vcpus():
    """Likewise of two vCPUs, whose chunks do not end at the same time."""
    whole, flight = deterministic(0), os.path.join(WORK, "flight-smp.upto")
    record(flight, qemu_args("6.12", initrd("6.12", "smp"), smp=2), "--deterministic", "--before", "300ms", "--start", POWER_OFF)
    same_stacks(whole, flight)
    os.unlink(flight)


@pytest.mark.weight(8)
def test_waits_of_several_spans():
    """Of each thread, its waits follow each other, also over spans, and only its last one may last to the end; none that went on in a gap is a latency."""
    trace = os.path.join(WORK, "flight-several.upto")
    record(trace, qemu_args("6.12", initrd("6.12", "plain")), "--start", "entry:do_exit", "--stop", "+1ms", "--every", "--before", "2ms")
    info = upto_json("info", "--json", trace)
    assert len(info["spans"]) > 5, info["spans"]
    waits = collections.defaultdict(list)
    for w in upto_json("waits", "--json", "-n", "0", trace)["waits"]:
        if w["pid"]:
            waits[w["pid"], w["comm"]].append((w["start_ns"], w["start_ns"] + w["asleep_ns"] + w["ready_ns"]))
    assert sum(len(w) > 1 for w in waits.values()) > 5, waits
    for thread, spans in waits.items():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), (thread, spans)
    # what is a wake-up's latency was seen to end, or lasted to the end
    found = upto_json("latency", "--json", "--kind", "wakeup", "--each", "1000", trace)["latencies"]
    assert len([r for r in found if r["end_function"] == "[end of trace]"]) <= len({r["pid"] for r in found}), found
    os.unlink(trace)


def hung_image(version):
    source, program = os.path.join(TOP, "tests/guests/hung.c"), os.path.join(WORK, "hung")
    with Once(program):
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            run("gcc", "-O2", "-Wall", "-Werror", "-static", "-o", program, source)
    return initrd(version, "hung", f"{program}=/bin/hung", newer_than=[program])


@pytest.mark.parametrize("version, smp", [("6.12", 1), pytest.param("6.12", 2, marks=pytest.mark.long), *(pytest.param(v, 2, marks=pytest.mark.kernels) for v in ("5.10", "6.1", "7"))])
@pytest.mark.weight(8)
def test_hung(version, smp):
    """Of threads that have hung for seconds, the last second tells since when, where, for which lock, and who has it and what that one waits for."""
    trace = os.path.join(WORK, f"flight-hung-{version}-{smp}.upto")
    args = qemu_args(version, hung_image(version), smp=smp, thread="single" if smp == 1 else "multi")
    record(trace, args, "--before", "1s", "--start", "log:hung: for long")
    assert UNMATCHED in run(UPTO, "check", trace).stdout.decode()
    begin, end = span(trace)
    waits = {w["comm"]: w for w in upto_json("waits", "--json", "-n", "0", trace)["waits"]}
    told = {comm: (waits[comm]["kind"], waits[comm]["function"].split(".")[0], waits[comm]["holder"])
            for comm in ("file-holder", "pipe-holder", "file-waiter", "pipe-waiter")}
    assert told == {
        "file-holder": ("peer", "handle_userfault", None), "pipe-holder": ("peer", "handle_userfault", None),
        "file-waiter": ("lock", "rwsem_down_write_slowpath", "file-holder"), "pipe-waiter": ("lock", "__mutex_lock", "pipe-holder"),
    }, told
    for comm in "file-waiter", "pipe-waiter":
        holder = waits[waits[comm]["holder"]]
        assert holder["pid"] == waits[comm]["holder_pid"] and holder["start_ns"] < waits[comm]["start_ns"] < begin - 2e9, (holder, waits[comm])
        assert waits[comm]["start_ns"] + waits[comm]["asleep_ns"] == upto_json("info", "--json", trace)["duration_ns"] >= end, waits[comm]
    at = {s["comm"]: [f["function"] for f in s["frames"]] for s in upto_json("stack", "--json", trace)["stacks"]}
    for comm in told:
        assert at[comm].index("ksys_write" if "ksys_write" in at[comm] else "__x64_sys_write") < at[comm].index("begin [hung]"), at[comm]
    heading = run(UPTO, "waits", trace).stdout.decode().splitlines()[0]
    longest = re.match(r"# longest but for idle ones: ([\d.]+) s, .*; see: upto stack --at ", heading)
    # four seconds of the guest's own, and more on a host that is slow meanwhile
    assert longest and 4 <= float(longest[1]) < 4 * 4, heading
    shown = run(UPTO, *heading.split("; see: upto ")[1].split()).stdout.decode()
    assert "do_wait" in shown or "handle_userfault" in shown, (heading, shown)
    # what went on meanwhile was not decided by them
    causes = upto_json("why", "--json", trace)["causes"]
    assert causes[0]["kind"] == "timer" and "nanosleep" in causes[0]["what"] and causes[0]["pct"] > 80, causes[:2]
    os.unlink(trace)
