# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports of made traces, and imports of made files: what no boot shows."""
import csv
import json
import os
import re
import resource
import shutil
import struct

import pytest

from guest import UPTO, WORK, run, upto_json
from made import KERNEL, make
from test_made import STACK, boot, reboot

A, B, IDLE = 0xffff888000001000, 0xffff888000002000, 0xffff888000009000


def task(ns, number, pid, comm, cpu=0):
    return (f"task 1 {cpu} {ns} {ns}", number, 0 if number == IDLE else hex(0x1000 + pid), pid, pid, 1, comm)


def switch(ns, before, after, cpu=0):
    return (f"event {cpu} task-switch {ns} {ns} 0 0 0", before, after)


def call(ns, slot=STACK, cpu=0):
    return (f"event {cpu} call {ns} 0", slot, KERNEL + 0x10, KERNEL + 0x1000)


def clock(ns, cpu=0):
    return f"event {cpu} clock {ns} {ns} 0 0 0"


def two_vcpus(lines):
    return ["meta vcpus 2" if line == "meta vcpus 1" else line for line in lines]


def exported(form, trace):
    return run(UPTO, "export", "--to", form, trace).stdout.decode()


def chrome(trace):
    return json.loads(exported("chrome", trace))["traceEvents"]


def runs(trace):
    """Who ran on which vCPU: name, its number, from when on and for how long in nanoseconds."""
    return [(e["name"], e["tid"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in chrome(trace) if e["ph"] == "X"]


def folder(name):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def imported(name, source, **options):
    path = os.path.join(WORK, name + ".upto")
    return path, run(UPTO, "import", "-f", "-o", path, source, **options)


def imported_text(name, *lines):
    """Of function_graph's text."""
    source = os.path.join(WORK, name + ".txt")
    with open(source, "w") as f:
        f.write("# tracer: function_graph\n" + "".join(f"   19.1203{at} |   0)    {who}     |  {took:>11}  |  {what}\n" for at, who, took, what in lines))
    return imported(name, source)[0]


def test_processes_with_a_pid_of_before():
    """A process is not put into an earlier one that had its PID."""
    lines = [line for line in reboot() if not str(line[0]).startswith("task ")]
    trace = make("export-boots", [*lines, task(30, A, 7, "before"), task(1130, A, 7, "after")])
    names = {(e["pid"], e["args"]["name"]) for e in chrome(trace) if e.get("name") == "process_name" and e["args"]["name"] in ("before", "after")}
    assert len({pid for pid, _ in names}) == len(names) == 2 and (7, "before") in names, names
    threads = {t["name"]: t for t in json.loads(exported("firefox", trace))["threads"] if t["name"] != "[boot]"}
    assert all(t["isMainThread"] and t["processName"] == name and t["pid"] == str(t["tid"]) for name, t in threads.items()), threads
    assert len({t["pid"] for t in threads.values()}) == 2


def test_vcpus_of_the_boot_before():
    """Whoever ran when another boot began does not run on in it, though its vCPU never comes back."""
    lines = two_vcpus(reboot(before=(clock(50, 1), ("event 1 jump-indirect 51 50 0 0x100000", KERNEL + 0x2000), switch(60, 0, B, 1),
                                     call(70, STACK + 0x4000, 1), clock(100, 1), "event 1 halt 101 101 0 0 0")))
    trace = make("export-kdump", [*lines, clock(9000), task(60, B, 8, "busy", 1)])
    assert {r[0]: r[1:] for r in runs(trace)}.items() >= {"busy": (1, 60, 940), "before": (0, 30, 970), "after": (0, 1130, 7870)}.items(), runs(trace)


def test_who_runs_behind_a_gap():
    """What runs where a gap ends is not told to have run all through it."""
    trace = make("export-gap", boot(
        switch(30, 0, A), call(40), clock(400), ("behind 0 5000 5000", KERNEL + 0x40, A), ("event 0 gap 5000 5000 0 0 0 0 2 1", KERNEL + 0x40, A),
        clock(5500), switch(5600, A, B), call(5610, STACK + 0x4000), clock(6000), task(30, A, 7, "first"), task(35, B, 8, "second")))
    assert [(start, took) for name, _, start, took in runs(trace) if name == "first"] == [(30, 370)], runs(trace)


def test_cpu_of_who_is_woken():
    """A wake-up is for the CPU that the thread ran on last, not for its waker's."""
    trace = make("export-wake", two_vcpus(boot(
        switch(30, 0, A), call(40), clock(50), switch(60, A, IDLE), clock(70),
        clock(50, 1), ("event 1 jump-indirect 51 50 0 0x100000", KERNEL + 0x2000), switch(60, 0, B, 1), call(65, STACK + 0x4000, 1), clock(200, 1),
        switch(160, IDLE, A), clock(200), ("fact wake 1 120 120", B, A),
        task(30, A, 7, "sleeper"), task(60, B, 8, "busy", 1), task(60, IDLE, 0, "swapper/0"))))
    path = folder("export-wake.ctf")
    run(UPTO, "export", "--to", "ctf", "-o", path, trace)
    streams = [open(os.path.join(path, name), "rb").read() for name in os.listdir(path) if name != "metadata"]
    # the waker's stream has the name in nothing but this: name, PID, priority, CPU
    woken, = (s for s in streams if b"busy\0" in s)
    found = re.findall(rb"sleeper\0(.{12})", woken, re.S)
    assert [struct.unpack("<III", f) for f in found] == [(7, 20, 0)], found


def test_unfinished_leaf():
    """A call in progress with nothing in it has no end, and no duration."""
    text = exported("ftrace", make("export-leaf", boot(switch(30, 0, A), call(40), clock(100), task(30, A, 7, "one"))))
    assert re.search(r"\d us +\|", text) is None and re.search(r"7 \| +\| +second\(\) \{\n.*7 \| +\| +\} /\* second \*/\n", text), text


def test_forgotten_calls():
    """Calls without end: all of them have a row, at their depth; sums of them take no time to speak of; limits are told as they are."""
    first, second, third, most, kept = KERNEL + 0x80, KERNEL + 0x1000, KERNEL + 0x2000, (1 << 16) + 10, 50000
    calls = [(f"event 0 call {100 + i} 0", STACK - 16 * i, second + 0x20, {7: first, kept: third}.get(i, second)) for i in range(most)]
    trace = make("export-deep", boot(*calls, clock(100000), symbols=(
        (KERNEL, 0x80, "startup_64"), (first, 0x80, "first"), (second, 0x200, "second"), (third, 0x1000, "third"))))
    rows = list(csv.DictReader(exported("csv", trace).splitlines()))
    # startup_64 is around them; no event begins it
    calls = [r for r in rows if r["function"] != "startup_64"]
    assert {r["function"]: (r["depth"], r["caller"]) for r in calls if r["function"] != "second"} == {"first": ("8", "second"), "third": (str(kept + 1), "second")}
    assert sorted(int(r["depth"]) for r in calls) == list(range(1, most + 1)) and all(r["caller"] and not r["duration_ns"] for r in calls)
    totals = dict(re.findall(r"^(summary|totals): (.*)", run(UPTO, "export", "--to", "callgrind", trace, timeout=10).stdout.decode(), re.M))
    assert totals == {"summary": "100000 100000", "totals": "100000 100000"}
    said = run(UPTO, "export", "--to", "uftrace", "-o", folder("export-deep.uftrace"), trace).stderr.decode()
    assert re.search(r"left out: 64,\d+ calls with 1000 or more around them", said), said


def test_lines_of_a_moment():
    """Lines of the log at the same moment on a CPU are told once each."""
    trace = imported_text("import-lines", (45, "cat-123", "", "vfs_read() {"), *((46, "cat-123", "", f"  /* {n} line */") for n in ("first", "second", "third")),
                          (47, "cat-123", "0.541 us", "  rw_verify_area();"), (50, "cat-123", "5.012 us", "} /* vfs_read */"))
    assert [e["args"]["text"].strip() for e in chrome(trace) if e.get("cat") == "log"] == ["first line", "second line", "third line"]
    assert re.findall(r"printk: (\w+) line", exported("ftrace", trace)) == ["first", "second", "third"]


@pytest.mark.parametrize("both", [False, True])
def test_wakeups_of_a_text(both):
    """sched_wakeup tells of wake-ups where sched_waking does not; marks that begin as events do are lines of the log."""
    change = "  /* sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> next_comm={} next_pid={} next_prio=120 */".format
    wake = lambda at, kind: (at, "bash-5", "", f"/* {kind}: comm=cat pid=123 prio=120 target_cpu=000 */")
    trace = imported_text("import-wakeup", (45, "cat-123", "", "vfs_read() {"), (46, "cat-123", "", change("cat", 123, "bash", 5)), (48, "bash-5", "0.541 us", "foo();"),
                          *([wake(49, "sched_waking")] if both else []), wake(50, "sched_wakeup"), (51, "bash-5", "", "/* sched_ marks begin so */"),
                          (52, "bash-5", "", change("bash", 5, "cat", 123)), (60, "cat-123", "15.012 us", "} /* vfs_read */"))
    wait, = (w for w in upto_json("waits", "--json", trace)["waits"] if w["pid"] == 123)
    assert (wait["asleep_ns"], wait["ready_ns"]) == ((3000, 3000) if both else (4000, 2000)), wait
    assert [line["text"].strip() for line in upto_json("log", "--json", trace)["log"]] == ["sched_ marks begin so"]


def uftrace(name, threads):
    """A folder as uftrace records it: each thread calls main, which calls malloc by the PLT."""
    path = folder(name)
    os.makedirs(path)
    record = lambda ns, kind, depth, address: struct.pack("<QQ", ns, (0x400000 + address) << 16 | depth << 6 | 5 << 3 | kind)
    with open(os.path.join(path, "info"), "wb") as f:
        f.write(b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 2 | 32 | 64, 0, 1000, 0, 0))
    with open(os.path.join(path, "sid-0123456789abcdef.map"), "w") as f:
        f.write("00400000-00402000 r-xp 00000000 00:00 0                          /bin/t\n")
    with open(os.path.join(path, "t.sym"), "w") as f:
        f.write("0000000000000100 T before\n0000000000000180 P malloc\n0000000000000190 ? __dynsym_end\n0000000000000190 T main\n0000000000000200 ? __sym_end\n")
    for i in range(threads):
        with open(os.path.join(path, f"{100 + i}.dat"), "wb") as f:
            f.write(record(10, 0, 0, 0x190) + record(20, 0, 1, 0x180) + record(30, 1, 1, 0x180) + record(35, 0, 1, 0x280) + record(37, 1, 1, 0x280) + record(40, 1, 0, 0x190))
    return path


def test_library_calls_of_uftrace():
    """Calls by the PLT have names; what is behind a file's symbols has none."""
    trace, _ = imported("import-plt", uftrace("import-plt", 1))
    names = [f["function"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"] if f["calls"]]
    assert sorted(names) == ["0x400280", "main", "malloc"], names


def test_too_many_files_of_uftrace():
    """A thread whose file cannot be opened is not left out in silence."""
    source = uftrace("import-threads", 101)
    said = imported("import-threads", source)[1]
    assert b"303 calls of 101 threads" in said.stdout + said.stderr, said
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    failed = imported("import-threads", source, preexec_fn=limit, check=False)[1]
    assert failed.returncode == 1 and b"cannot be opened" in failed.stderr, failed
