# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened when, held against what the guest's kernel says itself: log, initcalls, probes, modules, mounts, wake-ups, disk."""
import collections
import os
import re
import shutil
import subprocess
import time

import pytest

import decoder
from test_code import recording as code_recording
from test_format import rewritten
from make_corpus import varint  # noqa: E402 (test_format tells where it is)
from guest import TOP, UPTO, WORK, Once, check, full_args, initrd, is_older, once_a_run, qemu_args, record, run, unpack_disk, upto_json

CASES = [pytest.param("6.1", 1, marks=pytest.mark.kernels), ("6.12", 4), pytest.param("6.12", 1, marks=pytest.mark.kernels), pytest.param("7", 1, marks=pytest.mark.kernels),
         pytest.param("7", 4, marks=pytest.mark.kernels)]
WAKE, MOUNT, ISSUE, COMPLETE = 1, 6, 8, 9


def newmount():
    source, path = os.path.join(TOP, "tests/guests/newmount.c"), os.path.join(WORK, "newmount")
    with Once(path):
        if is_older(path, source):
            run("gcc", "-O1", "-Wall", "-Werror", "-static", "-o", path, source)
    return path


def recording(version, smp):
    """The trace, and the folder of what the guest itself said; made once a run."""
    name = os.path.join(WORK, f"history-{version}-{smp}")
    disk, trace = name + ".disk", name + ".upto"

    def make():
        record(trace, qemu_args(version, initrd(version, "history", f"{newmount()}=/bin/newmount"), smp=smp, thread="multi" if smp > 1 else "single", disk=disk,
                                append="initcall_debug log_buf_len=4M"))
        unpack_disk(disk, name)

    once_a_run(name, make)
    return trace, name


def read(folder, name):
    with open(os.path.join(folder, name), errors="surrogateescape") as f:
        return f.read()


def facts_of(path):
    """Of docs/format.md, chunk FACTS: (kind, vCPU, ns, insns, task, numbers, texts), by time."""
    trace, found = decoder.Trace(path), []
    for chunk in trace.chunks:
        if chunk.type != decoder.FACTS:
            continue
        c = decoder.Cursor(trace.payload(chunk))
        while c.left():
            head = c.u8(), c.varint(), c.varint(), c.varint(), c.varint()
            found.append((*head, [c.varint() for _ in range(c.u8())], [c.string() for _ in range(c.u8())]))
    return sorted(found, key=lambda f: f[2])


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(25)
def test_log(version, smp):
    """Line by line, levels included, and in the order of the calls around them."""
    trace, folder = recording(version, smp)
    check(trace)
    theirs = [(int(p), t) for p, t in re.findall(r"^<(\d+)>\[ *\d+\.\d+\] ?(.*)$", read(folder, "dmesg"), re.M)]
    log = upto_json("log", "--json", trace)["log"]
    ours = [(line["facility"] * 8 + line["level"], text) for line in log for text in line["text"].split("\n")]
    assert len(theirs) > 1000 and ours[:len(theirs)] == theirs, next(p for p in zip(ours, theirs) if p[0] != p[1])
    if smp == 1:
        assert [line["ns"] for line in log] == sorted(line["ns"] for line in log)
    for line in log[10], log[len(log) // 2], log[-9]:
        stacks = upto_json("stack", "--json", "--at", f"{line['ns']}ns", "--running", trace)["stacks"]
        assert [s for s in stacks if "vprintk_store" in [f["function"] for f in s["frames"]]], (line, stacks)


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(10)
def test_initcalls(version, smp):
    """As initcall_debug has them: names, results, and the order of their ends."""
    trace, folder = recording(version, smp)
    theirs = re.findall(r"initcall (\w+)\+0x0/0x\w+(?: \[\w+\])? returned (-?\d+) after", read(folder, "dmesg"))
    rows = upto_json("timeline", "--json", "--kind", "initcall", trace)["timeline"]
    ours = [(r["name"].split()[0], str(r["result"])) for r in sorted(rows, key=lambda r: r["end_ns"])]
    assert len(theirs) > 500
    if smp == 1:
        assert ours == theirs, next(p for p in zip(ours, theirs) if p[0] != p[1])
    assert collections.Counter(ours) == collections.Counter(theirs)


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_probes_modules_mounts(version, smp):
    """Devices with their drivers as in /sys; modules as in /proc/modules; mounts as in /proc/mounts."""
    trace, folder = recording(version, smp)
    rows = upto_json("timeline", "--json", trace)["timeline"]
    by_id = {r["id"]: r for r in rows}
    bound = {r["name"] for r in rows if r["kind"] == "probe" and r["result"] == 0}
    theirs = {f"{device} ({os.path.basename(driver)})" for device, driver in re.findall(r"^(\S+) (.*)$", read(folder, "drivers"), re.M)}
    assert len(theirs) > 5 and len(theirs - bound) <= 1, (theirs - bound, bound - theirs)
    modules = [line.split()[0] for line in reversed(read(folder, "modules").splitlines())]
    for kind in "module", "module-init", "signature":
        assert [r["name"] for r in rows if r["kind"] == kind] == modules, (kind, modules)
    for r in rows:
        if r["kind"] == "signature":
            assert by_id[r["parent"]]["kind"] == "module" and by_id[r["parent"]]["name"] == r["name"], r
    mounted = [line.split()[:3] for line in read(folder, "mounts").splitlines()]
    mounts = [r["name"] for r in rows if r["kind"] == "mount" and r["result"] == 0]
    assert ["modern", "/mnt/modern", "tmpfs"] in mounted
    for source, path, kind in mounted:
        assert kind == "rootfs" or f"{kind} on {path}" in mounts, (source, path, kind, mounts)


def later(payload, kind, ns):
    """The facts of a chunk, those of that kind by so much later."""
    out, c = b"", decoder.Cursor(payload)
    while c.left():
        start, what = c.at, c.u8()
        c.varint()
        head, when = c.data[start:c.at], c.varint()
        rest = c.at
        c.varint(), c.varint()
        for _ in range(c.u8()):
            c.varint()
        for _ in range(c.u8()):
            c.bytes()
        out += head + varint(when + (ns if what == kind else 0)) + c.data[rest:c.at]
    return out


@pytest.mark.weight(5)
def test_mounts_by_instruction():
    """What is mounted is found by the instruction that it was told at: between clocks, times of calls are estimates, and
    the task_struct of a process that has ended is soon another's (seen: one process's mount named as another's)."""
    trace, _ = recording("6.12", 4)
    name = os.path.join(WORK, "history-later.upto")
    with open(name, "wb") as f:
        f.write(rewritten(decoder.Trace(trace), decoder.FACTS, lambda payload: later(payload, MOUNT, 5_000_000), version=9))
    mounts = [[r["name"] for r in upto_json("timeline", "--json", "--kind", "mount", t)["timeline"]] for t in (trace, name)]
    assert "tmpfs on /mnt/modern" in mounts[0] and mounts[0] == mounts[1]
    os.unlink(name)


def between_marks(trace, folder):
    """The guest's trace between the marks, and when they were written."""
    lines = read(folder, "trace").splitlines()
    first, last = (next(i for i, line in enumerate(lines) if line.endswith(f"MARK-{m}")) for m in ("BEGIN", "END"))
    calls = upto_json("syscalls", "--json", "--name", "write", "-n", "0", trace)["syscalls"]
    begin, end = (next(c for c in calls if f"MARK-{m}" in str(c)) for m in ("BEGIN", "END"))
    # marks are made within the calls: what is told may be a little more
    return lines[first + 1:last], begin["start_ns"], end["start_ns"] + end["duration_ns"]


def pids_of(trace):
    pids, c = {}, None
    t = decoder.Trace(trace)
    for chunk in t.chunks:
        if chunk.type == decoder.TASKS:
            c = decoder.Cursor(t.payload(chunk))
            while c.left():
                c.u8(), c.varint()
                ns, _, task, _, _, pid = c.varint(), c.varint(), c.varint(), c.varint(), c.varint(), c.svarint()
                c.svarint(), c.svarint(), c.string(), c.string()
                pids.setdefault(task, []).append((ns, pid))
    return lambda task, ns: max((at, pid) for at, pid in sorted(pids[task]) if at <= ns or at == min(pids[task])[0])[1]


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_wakes(version, smp):
    """One for one the guest's own sched_waking, and its sched_wakeup, between two marks."""
    trace, folder = recording(version, smp)
    lines, begin, end = between_marks(trace, folder)
    theirs = [int(m.group(1)) for line in lines for m in [re.search(r"sched_waking: comm=.* pid=(\d+) prio", line)] if m]
    pid = pids_of(trace)
    ours = [pid(f[5][0], f[2]) for f in facts_of(trace) if f[0] == WAKE and begin <= f[2] <= end]
    assert len(theirs) > 20 and len(ours) - len(theirs) <= 4, (len(ours), len(theirs))
    if smp == 1:
        assert any(ours[i:i + len(theirs)] == theirs for i in range(5)), (ours, theirs)
    assert not collections.Counter(theirs) - collections.Counter(ours)
    # by the time that a wake-up is done on another vCPU, the marks may be passed
    done = [int(m.group(1)) for line in lines for m in [re.search(r"sched_wakeup: comm=.* pid=(\d+) prio", line)] if m]
    if smp == 1:
        assert any(ours[i:i + len(done)] == done for i in range(5)), (ours, done)
    assert abs(len(done) - len(theirs)) <= 4 and sum((collections.Counter(done) - collections.Counter(ours)).values()) <= 2, (done, ours)
    # each of them ends a sleep: who was ready all the time was not woken up meanwhile, and who slept was
    woken = collections.defaultdict(list)
    for f in facts_of(trace):
        if f[0] == WAKE:
            woken[pid(f[5][0], f[2])].append(f[2])
    wrong, near = [], 200000  # ns: times of events are interpolated
    for w in upto_json("waits", "--json", trace)["waits"]:
        end = w["start_ns"] + w["asleep_ns"]
        if w["kind"] == "ready" and any(w["start_ns"] + near < ns < w["start_ns"] + w["ready_ns"] - near for ns in woken[w["pid"]]):
            wrong.append(w)
        elif w["woken_by"] and w["kind"] != "ready" and not any(abs(ns - end) < near for ns in woken[w["pid"]]):
            wrong.append(w)
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_new_threads(version, smp):
    """Each that the guest's own sched_wakeup_new tells of was ready from then on until it first ran, by who made it."""
    trace, folder = recording(version, smp)
    lines, begin, end = between_marks(trace, folder)
    theirs = [(int(m[2]), int(m[1])) for line in lines for m in [re.search(r"-(\d+) +\[.* sched_wakeup_new: comm=.* pid=(\d+) prio", line)] if m]
    assert len(theirs) > 3, lines
    born = {}
    for p in upto_json("ps", "--json", trace)["processes"]:
        born.setdefault(p["pid"], p["start_ns"])
    waits = upto_json("waits", "--json", "-n", "0", trace)["waits"]
    first = {w["pid"]: w for w in reversed(waits)}
    for pid, maker in theirs:
        w = first[pid]
        assert begin <= w["start_ns"] == born[pid] <= end and w["kind"] == "ready" and not w["asleep_ns"] and w["woken_by_pid"] == maker, (pid, maker, w)
    # all others that were made while upto looked, too, whose first switch ends that
    made = [w for w in first.values() if w["start_ns"] == born.get(w["pid"]) and w["kind"] == "ready" and not w["function"]]
    assert len(made) > 50, len(made)
    longest = max(made, key=lambda w: w["ready_ns"])
    found = upto_json("latency", "--json", "--kind", "wakeup", "--each", "1000", trace)["latencies"]
    assert any(row["pid"] == longest["pid"] and row["start_ns"] == longest["start_ns"] and row["duration_ns"] == longest["ready_ns"] for row in found), longest


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_lives(version, smp):
    """What a thread ran, and how long it slept and was ready, is all of its life, to the nanosecond."""
    trace, _ = recording(version, smp)
    end, spent, lives = upto_json("info", "--json", trace)["duration_ns"], collections.Counter(), {}
    for p in upto_json("ps", "--json", trace)["processes"]:
        if p["pid"]:
            spent[p["pid"]] += p["self_ns"]
            lives[p["pid"]] = lives.get(p["pid"], (p["start_ns"], None))[0], p["end_ns"]
    for w in upto_json("waits", "--json", "-n", "0", trace)["waits"]:
        spent[w["pid"]] += w["asleep_ns"] + w["ready_ns"]
    apart = [end - start - spent[pid] for pid, (start, ended) in lives.items() if ended is None]
    # whose last event is earlier than the trace's, on another vCPU, ran up to there
    assert len(apart) > 40 and sum(d != 0 for d in apart) <= smp and all(0 <= d < 5_000_000 for d in apart), apart


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_programs(version, smp):
    """timeline has what a process ran of a program, from one exec to the next, to the instruction as ps has it; why names who ran by that."""
    trace, _ = recording(version, smp)
    ps = {(p["pid"], p["start_ns"]): p for p in upto_json("ps", "--json", trace)["processes"]}
    begun = sorted(ps)
    rows = [r for r in upto_json("timeline", "--json", "--all", "--kind", "process", trace)["timeline"] if (r["pid"], r["start_ns"]) in ps]
    execs = 0
    for r in rows:
        later = [start for pid, start in begun if pid == r["pid"] and start > r["start_ns"]]
        ran = ps[r["pid"], r["start_ns"]]["self_insns"]
        assert r["insns"] == ran if later else r["insns"] <= ran, (r, ran)
        execs += bool(later)
    assert execs > 10 and len(rows) > execs, (execs, len(rows))
    for link in upto_json("why", "--json", trace)["chain"]:
        later = [start for pid, start in begun if pid == link["pid"] and link["start_ns"] < start < link["end_ns"]]
        assert link["kind"] != "run" or not link["pid"] or not later, (link, later)


@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_requests(version, smp):
    """The guest's block_rq_issue and block_rq_complete."""
    trace, folder = recording(version, smp)
    lines, begin, end = between_marks(trace, folder)
    issued = [(int(m.group(3)), int(m.group(2))) for line in lines
              for m in [re.search(r"block_rq_issue: \d+,\d+ (\w+) (\d+) \(.*\) (\d+) \+", line)] if m]
    facts = [f for f in facts_of(trace) if begin <= f[2] <= end]
    ours = [(f[5][2], f[5][3]) for f in facts if f[0] == ISSUE]
    assert len(issued) > 3 and [o for o in ours if o[1]] == [t for t in issued if t[1]], (ours, issued)
    done = [int(m.group(2)) for line in lines for m in [re.search(r"block_rq_complete: \d+,\d+ (\w+) \(.*\) \d+ \+ (\d+)", line)] if m]
    assert [f[5][2] // 512 for f in facts if f[0] == COMPLETE] == done


@pytest.mark.weight(5)
def test_kept(tmp_path):
    """What threads did is kept beside the trace, and read from there; where that is damaged it is made anew."""
    trace = shutil.copy(recording("6.12", 4)[0], tmp_path / "kept.upto")
    kept = f"{trace}.history"
    answer = run(UPTO, "waits", "--json", trace).stdout
    with open(kept, "rb") as f:
        whole, made = f.read(), os.fstat(f.fileno()).st_ino
    assert run(UPTO, "waits", "--json", trace).stdout == answer and os.stat(kept).st_ino == made
    with open(kept, "wb") as f:
        f.write(whole[:-7])
    assert run(UPTO, "waits", "--json", trace).stdout == answer
    with open(kept, "rb") as f:
        assert f.read() == whole


@pytest.mark.weight(3)
def test_files():
    """Descriptors have their files' paths, through fork, dup2 and exec; programs their arguments."""
    trace, _ = recording(*CASES[1])
    calls = upto_json("syscalls", "--json", "--path", "/tmp/out/modules", trace)["syscalls"]
    opened, written = (next(c for c in calls if c["name"] == name) for name in ("openat" if "openat" in {c["name"] for c in calls} else "open", "write"))
    assert written["call"].startswith("write(1</tmp/out/modules>, \"virtio_blk "), written
    assert opened["comm"] != written["comm"] == "cat", (opened, written)
    begun = [c["call"] for c in upto_json("syscalls", "--json", "--name", "execve", trace)["syscalls"]]
    assert any('["sh", "-c", "usleep 1000"]' in c for c in begun), begun
    reads = [c for c in upto_json("syscalls", "--json", "--path", "/dev/vda", "--name", "read", trace)["syscalls"]]
    assert len(reads) >= 8 and reads[0]["path"] == "/dev/vda", reads
    spans = upto_json("timeline", "--json", "--kind", "exec", trace)["timeline"]
    assert any(s["name"] == "sh -c usleep 1000" for s in spans), spans


@pytest.mark.weight(10)
def test_follow():
    """The log while it is recorded: the same lines as afterwards, and the first of them before the end."""
    trace = os.path.join(WORK, "history-follow.upto")
    if os.path.exists(trace):
        os.unlink(trace)
    recorder = subprocess.Popen([UPTO, "record", "-q", "-f", "-o", trace, "--", *qemu_args("6.12", initrd("6.12", "reboot"))],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(trace) or not os.path.getsize(trace):
        assert recorder.poll() is None
        time.sleep(0.05)
    follower = subprocess.Popen([UPTO, "log", "--follow", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = follower.stdout.readline()
    assert b"Linux version 6.12" in first and recorder.poll() is None, first
    out, err = follower.stdout.read(), follower.stderr.read()
    assert recorder.wait(timeout=10) == 0 and follower.wait(timeout=10) == 0 and not err, err
    lines = (first + out).decode().splitlines()
    log = upto_json("log", "--json", trace)["log"]
    assert [line.split(None, 2)[1] for line in lines] == [line["severity"] for line in log]
    assert all(line["text"].strip() in shown for line, shown in zip(log, lines) if line["text"].isprintable())


def instructions(trace, start, end):
    return sum(f["self_insns"] for f in upto_json("top", "--json", "-n", "0", "--from", f"{start}ns", "--to", f"{end}ns", trace)["functions"])


@pytest.mark.kernels
@pytest.mark.weight(60)
def test_units():
    """When systemd's services were there, as systemctl has it: by a clock that begins later, by always the same. Mounts are there sooner: when
    they are mounted, not when systemd has heard of it."""
    trace = os.path.join(WORK, "history-units.upto")
    show = "systemctl show -p Id,ActiveEnterTimestampMonotonic -t service,mount --all [a-z]*.[sm]* >/dev/ttyS0"
    p = record(trace, full_args(f'"systemd.run=/bin/sh -c \'{show}\'" systemd.mask=bench-poweroff.service'))
    said = p.stdout.decode(errors="replace").replace("\r", "")
    theirs = {m.group(1): int(m.group(2)) * 1000 for m in re.finditer(
        r"Id=(\S+)\nActiveEnterTimestampMonotonic=(\d+)|ActiveEnterTimestampMonotonic=(\d+)\nId=(\S+)", said) if m.group(1) and int(m.group(2))}
    units = {r["name"]: r for r in upto_json("timeline", "--json", "--kind", "unit", trace)["timeline"]}
    both = [(units[u]["end_ns"] - ns, u) for u, ns in theirs.items() if u in units and u.endswith(".service") and units[u]["result"] == 0]
    assert len(both) > 10, (sorted(theirs), sorted(units))
    offsets = sorted(o for o, _ in both)
    middle = offsets[len(offsets) // 2]
    # what is done between systemd's own look at the clock and its word of it to the kernel is work, however long a busy host takes for it
    off = [(u, (o - middle) / 1e6, work) for o, u in both
           if abs(o - middle) > 5e6 and (work := instructions(trace, *sorted((units[u]["end_ns"], units[u]["end_ns"] - (o - middle))))) > 8e6]
    assert len(off) <= len(both) // 10, off


@pytest.mark.weight(10)
def test_batches(tmp_path):
    """Requests that NVMe's driver ends many at a time, on two queues without a scheduler: each has its end; how many, and how much, the guest's kernel says."""
    disk = tmp_path / "disk"
    with open(disk, "wb") as f:
        f.truncate(16 << 20)
    trace = str(tmp_path / "nvme.upto")
    said = record(trace, qemu_args("6.12", initrd("6.12", "nvme"), smp=2), more=["-drive", f"file={disk},if=none,id=d,format=raw", "-device", "nvme,drive=d,serial=x"]).stdout.decode()
    stat = [int(n) for n in re.search(r"^stat +([\d ]+)", said, re.M)[1].split()]
    rows = upto_json("disk", "--json", trace)["requests"]
    assert not [r for r in rows if r["latency_ns"] is None] and len(rows) > 20, rows
    for operation, (count, _, sectors) in ("read", stat[:3]), ("write", stat[4:7]):
        mine = [r for r in rows if r["operation"] == operation and re.match(r"nvme0(c\d+)?n1$", r["device"] or "")]
        # the kernel counts what was asked of all paths to the disk, of which some is merged into one request
        assert 0 < len(mine) <= count and sum(r["bytes"] for r in mine) == 512 * sectors, (operation, mine, stat)
    batches = upto_json("info", "--json", trace)["facts"]["complete"]["count"]
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    assert calls["blk_mq_end_request_batch"] > 10 and batches == calls["blk_mq_end_request_batch"] + calls.get("blk_update_request", 0), (batches, calls["blk_mq_end_request_batch"])
    return f"{len(rows)} requests"


@pytest.mark.weight(8)
def test_span_costs():
    """An initcall took the instructions and the time on a CPU of the call of do_one_initcall() that it is; who had the CPU meanwhile is others."""
    trace, _ = code_recording("6.12", 2)
    rows = upto_json("timeline", "--json", "--all", "--kind", "initcall", trace)["timeline"]
    calls = {(c["pid"], c["start_ns"]): c for c in upto_json("calls", "--json", "--depth", "1", "-n", "0", "--function", "do_one_initcall", trace)["calls"]}
    pairs = [(r, calls[r["pid"], r["start_ns"]]) for r in rows if (r["pid"], r["start_ns"]) in calls]
    assert len(pairs) > 0.98 * len(rows) > 500, (len(pairs), len(rows))
    wrong = [(r, c) for r, c in pairs if (r["insns"], r["cpu_ns"]) != (c["insns"], c["ns"])]
    assert not wrong, wrong[:3]
    # those that no thread does, as all vCPUs together spent them; what a vCPU ran before it was halted for long is shared out by time
    for r in upto_json("timeline", "--json", "--all", "--kind", "boot,phase,level", trace)["timeline"]:
        if r["name"] == "firmware":  # in which a clock is seldom looked at
            continue
        ran = upto_json("top", "--json", "-n", "0", "--from", f"{r['start_ns']}ns", "--to", f"{r['end_ns']}ns", trace)["functions"]
        assert abs(r["insns"] - sum(f["self_insns"] for f in ran)) < 100_000 + r["insns"] / 10 and abs(r["cpu_ns"] - sum(f["self_ns"] for f in ran)) < 3_000_000 + r["cpu_ns"] / 100, r
    told = [r for r in rows if r["others"]]
    # the first thread, which does them, is called so, then
    assert len(told) > 10 and not [r for r in told if r["pid"] == 1 and "swapper/0" in r["others"]] and not [r for r in told if r["others_ns"] > r["wait_ns"] * 2], told[:3]
    return f"{len(pairs)} initcalls, {len(told)} with others"
