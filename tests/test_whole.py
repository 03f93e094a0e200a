# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole machine: who ran, and where everybody stood."""
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess

import pytest

from guest import UPTO, WORK, initrd, once_a_run, qemu_args, record, run, seed, unpack_disk, upto_json

ROUNDING = 100000  # instructions before the first frame of all
CASES = [pytest.param("6.1", 1, marks=pytest.mark.long), pytest.param("6.12", 1, marks=pytest.mark.long), ("6.12", 2), pytest.param("7", 1, marks=pytest.mark.kernels)]
# what the kernel leaves out of /proc/PID/stack: in_sched_functions(), kernel/sched/core.c
SCHEDULER = re.compile(r"(__switch_to_asm|__schedule|schedule\w*|do_nanosleep|io_schedule\w*|wait_for_\w*|"
                       r"__wait_for_common|rcu_barrier_throttled)\+0x|__switch_to_asm$")


def read_proc(path):
    """pid → (name, tgid, ppid, program) as the guest's /proc has it."""
    tasks = {}
    for line in open(path, errors="replace"):
        m = re.match(r"Name:\t(.*?) Tgid:\t(\d+) Pid:\t(\d+) PPid:\t(\d+) exe: (.*)$", line.rstrip("\n"))
        if m:
            tasks[int(m.group(3))] = m.group(1), int(m.group(2)), int(m.group(4)), m.group(5)
    return tasks


def at_the_end(processes):
    """Of each pid, who had it when the guest had read its /proc. Since 7.0 the console's thread ends before the power-off."""
    read = max(p["end_ns"] or 0 for p in processes if p["comm"] in ("grep", "tr"))
    return {p["pid"]: p for p in processes if (p["end_ns"] or 1 << 63) > read and p["comm"] != "[boot]"}


def recording(version, smp):
    """The trace, and the folder of what the guest itself said; made once a run."""
    name = os.path.join(WORK, f"ps-{version}-{smp}")
    disk, trace = name + ".disk", name + ".upto"

    def make():
        record(trace, qemu_args(version, initrd(version, "ps"), smp=smp, thread="multi" if smp > 1 else "single", disk=disk))
        unpack_disk(disk, name)

    once_a_run(name, make)
    return trace, name


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(10)
def test_ps(version, smp):
    """Everybody in the guest's /proc, with name, parent and program; those that were gone by then; conservation."""
    trace, folder = recording(version, smp)
    theirs = read_proc(os.path.join(folder, "proc"))
    assert len(theirs) > 30, theirs
    info = upto_json("info", "--json", trace)
    assert "lacks" not in info["meta"], info["meta"]["lacks"]
    processes = upto_json("ps", "--json", trace)["processes"]
    ours = at_the_end(processes)
    for pid, (comm, tgid, ppid, exe) in theirs.items():
        if comm in ("init", "grep", "tr") and pid != 1:
            continue  # those that asked
        assert pid in ours, f"{pid} ({comm}) is not in upto ps"
        p = ours[pid]
        if not comm.startswith("kworker"):  # /proc tells what a worker does, not its name
            assert p["comm"] == comm[:15], (pid, comm, p)
        assert p["tgid"] == tgid and p["ppid"] == ppid, (pid, tgid, ppid, p)
        # a mount that is gone leaves no path in either
        if not exe.startswith("/b c"):
            assert (p["exe"] or "") == exe, (pid, exe, p)
    gone = [int(line) for line in open(os.path.join(folder, "gone"))]
    assert len(gone) == 3
    for pid in gone:
        p = [q for q in processes if q["pid"] == pid]
        assert p and p[-1]["end_ns"] and p[-1]["comm"] == "sh" and p[-1]["exe"] == "/bin/busybox", (pid, p)
        assert p[-1]["start_ns"] < p[-1]["end_ns"] and p[-1]["self_insns"] > 10000, p
    idle = [p for p in processes if p["pid"] == 0 and p["comm"].startswith("swapper/")]
    assert len(idle) == smp, idle
    assert sum(p["self_insns"] for p in processes) == info["instructions"]
    returns = upto_json("check", "--json", trace)["returns"]
    # the one there is: int3_selftest() of 6.x returns from a call that the handler emulates
    assert returns["unmatched"] <= 1 + returns["all"] / 1e6, returns
    # a chain of programs, each begun by an execve; process 1 was the kernel's before its first
    chains = collections.defaultdict(list)
    for p in processes:
        if chains[p["pid"]] and chains[p["pid"]][-1][-1]["end_ns"] == p["start_ns"]:
            chains[p["pid"]][-1].append(p)
        else:
            chains[p["pid"]].append([p])
    init, = chains[1]
    assert [(p["comm"], p["exe"]) for p in init[:2]] == [("swapper/0", "[kernel_init]"), ("init", "/bin/busybox")], init
    assert init[0]["self_insns"] > 10_000_000 and init[0]["start_ns"] < init[0]["end_ns"], init
    execs = collections.Counter(c["pid"] for c in upto_json("calls", "--json", "--function", "begin_new_exec", "--depth", "1", trace)["calls"])
    begun = {pid: sum(len(chain) - 1 for chain in some) for pid, some in chains.items()}
    assert execs == {pid: n for pid, n in begun.items() if n} and sum(execs.values()) > 10, (execs, begun)
    # windows that join: each has those that ran then, and together they are the whole
    end = info["duration_ns"]
    windows = collections.Counter()
    for a, b in ((0, end // 2), (end // 2, end // 2 + end // 100), (end // 2 + end // 100, 2 * end)):
        window = upto_json("ps", "--json", "--from", f"{a}ns", "--to", f"{b}ns", trace)["processes"]
        assert all(p["self_insns"] or p["self_ns"] for p in window), window
        assert len(window) <= len(processes), (a, b)
        for p in window:
            windows[p["pid"], p["comm"], p["start_ns"]] += p["self_insns"]
    # but for a few behind the last clock of a chunk
    whole = {(p["pid"], p["comm"], p["start_ns"]): p["self_insns"] for p in processes if p["self_insns"]}
    differ = {k: (whole.get(k), windows[k]) for k in whole.keys() | windows.keys() if abs(whole.get(k, 0) - windows[k]) > 100}
    assert not differ, differ
    # by process and thread, the same programs
    for by in ("process", "thread"):
        found = upto_json("top", "--json", "--by", by, trace)[by]
        assert sum(f["self_insns"] for f in found) == info["instructions"]
        assert [(f["name"], f["exe"], f["self_insns"]) for f in found if f["pid"] == 1] == \
            [(p["comm"], p["exe"], p["self_insns"]) for p in sorted(init, key=lambda p: -p["self_insns"])], by
    # a switch names who goes and who comes, and who came goes next
    there = {}
    for e in map(json.loads, run(UPTO, "dump", "--json", "-k", "task-switch", trace).stdout.splitlines()[-500:]):
        assert e["previous"]["pid"] == there.get(e["cpu"], e["previous"]["pid"]), e
        there[e["cpu"]] = e["next"]["pid"]
        for who in (e["previous"], e["next"]):
            assert who["comm"] and any(p["start_ns"] <= e["ns"] for chain in chains[who["pid"]] for p in chain), (e, chains[who["pid"]])
    text = run(UPTO, "ps", trace, "-n", "0").stdout
    # a name that would colour the terminal: it ran, and the terminal gets it harmless
    evil = [p for p in processes if p["comm"] == "e\x1b[31mvil"]
    assert len(evil) == 1 and evil[0]["exe"].endswith("/e\x1b[31mvil"), evil
    assert b"\x1b" not in text and b"wc" in text and text.count(b"e\\x1b[31mvil") == 2, text
    return f"{len(theirs)} tasks in /proc, {len(processes) - 1} in the recording"


def read_stacks(path):
    """pid → the guest's own unwinding (ORC) of a sleeping task's kernel stack: function+offset, the innermost first."""
    stacks, pid = {}, None
    for line in open(path):
        if line.startswith("pid "):
            pid = int(line[4:])
            stacks[pid] = []
        else:
            stacks[pid].append(re.match(r"\[<0>\] (\S+)/0x", line).group(1))
    return {pid: s for pid, s in stacks.items() if s}


def our_stacks(trace, ns):
    """pid → the same as upto has it at that time."""
    stacks, pid = {}, None
    for line in run(UPTO, "stack", "--at", f"{ns}ns", trace).stdout.decode(errors="replace").splitlines():
        if line.startswith("    "):
            stacks[pid].append(line.strip())
        elif line:
            pid = int(line.split()[0])
            stacks[pid] = []
    return stacks


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(9)
def test_stacks(version, smp):
    """Sleeping tasks' kernel stacks, each return address, as the guest's own unwinder has them; who came from where."""
    trace, folder = recording(version, smp)
    starts = {p["comm"]: p["start_ns"] for p in upto_json("ps", "--json", trace)["processes"]}
    begin, end = starts["mkdir"], starts["mv"]  # the guest asked between these
    ran = {p["pid"] for p in upto_json("ps", "--json", "--from", f"{begin}ns", "--to", f"{end}ns", trace)["processes"]
           if p["self_insns"]}
    theirs, ours = read_stacks(os.path.join(folder, "stacks")), our_stacks(trace, end)
    compared = kernel = 0
    for pid, want in theirs.items():
        if pid in ran or pid not in ours:
            continue  # it went on meanwhile
        # who ended in a tail call has no return address on the stack
        mine = [re.sub(" <(syscall|tail)>$", "", f) for f in ours[pid] if "+" in f or SCHEDULER.match(f)]
        # user code is not in /proc's
        user = [f for f in mine if re.match(r"(busybox|sleep|[\w?\[]*vil|init)\+0x[0-9a-f]+$", f)]
        kernel_frames = [f for f in mine if f not in user and not SCHEDULER.match(f)]
        assert kernel_frames == want, f"pid {pid}: the kernel unwinds {want}, upto {ours[pid]}"
        compared += 1
        if user:
            # a process: user code, then the system call into the kernel
            assert any(f.endswith("<syscall>") for f in ours[pid]), (pid, ours[pid])
        else:
            kernel += 1
            assert mine[-1].startswith("ret_from_fork_asm") or mine[-1].startswith("ret_from_fork"), (pid, mine)
    assert compared > 25 and compared - kernel >= 6, (compared, kernel)
    return f"{compared} stacks, {kernel} of kernel threads"


def outermost_sums(tree):
    """By function, the totals of the nodes that are not below another of the same name."""
    sums, path = collections.Counter(), []
    for node in tree:
        del path[node["depth"]:]
        if node["function"] not in path:
            sums[node["function"]] += node["total_insns"]
        path.append(node["function"])
    return sums


def own_sums(tree):
    """By function: calls, and instructions of its own."""
    calls, insns = collections.Counter(), collections.Counter()
    for node in tree:
        calls[node["function"]] += node["calls"]
        insns[node["function"]] += node["self_insns"]
    return collections.defaultdict(lambda: (0, 0), {name: (n, insns[name]) for name, n in calls.items()})


# Control leaves these on another stack than it entered them on, a new process is as if it had entered them, too, or
# control is there without having been led there.
NOT_CALLED = re.compile(r"__switch_to(_asm)?$|entry_SYSCALL_64(_after_hwframe)?$|int3_|(common|secondary)_startup_64")

# has instructions of its own that no call is told of; how many of them a vCPU's start has, and a switch behind its stack's change
UNCALLED = re.compile(r"int3_magic$|x86_64_start_kernel$|secondary_startup_64")
FIRST_INSNS, FIRST_SWITCH = 100, 13


@pytest.mark.parametrize("version, smp", [pytest.param("6.12", 1, marks=pytest.mark.long), ("6.12", 2)])
@pytest.mark.weight(9)
def test_tree(version, smp):
    """The call tree holds every instruction; its calls of a function are top's; totals are no less than self."""
    trace, _ = recording(version, smp)
    info = upto_json("info", "--json", trace)
    tree = upto_json("tree", "--json", trace)["tree"]
    top = {f["function"]: f for f in upto_json("top", "--json", trace)["functions"]}
    assert sum(n["self_insns"] for n in tree) + ROUNDING >= info["instructions"] >= sum(n["self_insns"] for n in tree)
    assert sum(n["total_insns"] for n in tree if n["depth"] == 0) == sum(n["self_insns"] for n in tree)
    assert all(n["total_insns"] >= n["self_insns"] >= 0 for n in tree)
    for function in ("do_sys_openat2", "vfs_read", "do_exit", "kmem_cache_alloc_noprof", "vfs_write"):
        if function in top:
            calls = sum(n["calls"] for n in tree if n["function"] == function)
            assert calls == top[function]["calls"], (function, calls, top[function])
    below = upto_json("tree", "--json", trace, "do_sys_openat2")["tree"]
    assert below[0]["function"] == "do_sys_openat2" and below[0]["calls"] == top["do_sys_openat2"]["calls"], below[0]
    above = upto_json("tree", "--json", "--callers", trace, "do_sys_openat2")["tree"]
    assert above[0]["total_insns"] == below[0]["total_insns"], (above[0], below[0])
    assert any(n["function"] == "__x64_sys_openat" and n["depth"] == 1 for n in above), above[:5]
    rows = upto_json("top", "--json", "--total", trace)["functions"]
    same = ("function", "section", "calls", "self_insns", "self_ns")
    counted = upto_json("top", "--json", trace)["functions"]
    assert sorted([f[k] for k in same] for f in rows) == sorted([f[k] for k in same] for f in counted)
    names = collections.Counter(f["function"] for f in rows)
    totals = {f["function"]: f for f in rows if f["section"]}
    assert totals["do_sys_openat2"]["total_insns"] == below[0]["total_insns"], totals["do_sys_openat2"]
    # top adds its totals up by other means than the tree
    sums = outermost_sums(tree)
    compared = [f for f in rows if names[f["function"]] == 1 and not f["function"].startswith("[")]
    assert len(compared) > 3000, len(compared)
    # nobody called the first instructions of a vCPU, those behind an emulated int3, and a task's first switch up to its return: the tree has them
    switches = FIRST_SWITCH * len(upto_json("ps", "--json", trace)["processes"])
    uncalled = {f["function"]: switches if f["function"] == "__switch_to_asm" else FIRST_INSNS if UNCALLED.match(f["function"]) else 0 for f in compared}
    differ = [(f, sums[f["function"]]) for f in compared if not 0 <= sums[f["function"]] - f["total_insns"] <= uncalled[f["function"]]]
    assert not differ, (len(differ), differ[:3])
    # top counts phrases, and goes past them, where the tree goes from event to event
    own = own_sums(tree)
    differ = [(f, own[f["function"]]) for f in compared if (f["calls"], f["self_insns"]) != own[f["function"]]]
    assert all(NOT_CALLED.match(f["function"]) for f, _ in differ), (len(differ), differ[:9])
    assert all(f["total_insns"] <= info["instructions"] for f in totals.values())
    more = {f["function"]: f["self_insns"] - f["total_insns"] for f in totals.values() if f["self_insns"] > f["total_insns"]}
    wrong = {f: n for f, n in more.items() if n > (switches if f == "__switch_to_asm" else FIRST_INSNS if UNCALLED.match(f) else 0)}
    assert not wrong, wrong
    return f"{len(tree)} paths"


# with one vCPU, top goes past phrases


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", [("6.12", 2)])
@pytest.mark.weight(9)
def test_calls(version, smp):
    """Calls of a function: as many as top has, each one's parts sum to it, and nobody's own time is negative."""
    trace, _ = recording(version, smp)
    top = {f["function"]: f["calls"] for f in upto_json("top", "--json", trace)["functions"]}
    calls = upto_json("calls", "--json", "--function", "do_sys_openat2", trace)["calls"]
    starts = [i for i, c in enumerate(calls) if c["depth"] == 0] + [len(calls)]
    assert len(starts) - 1 == top["do_sys_openat2"], (len(starts), top["do_sys_openat2"])
    for a, b in zip(starts, starts[1:]):
        root, parts = calls[a], calls[a:b]
        assert root["function"] == "do_sys_openat2" and not root["unfinished"], root
        assert sum(c["self_insns"] for c in parts) == root["insns"], root
        assert sum(c["self_ns"] for c in parts) == root["ns"] <= root["duration_ns"], root
        assert all(0 <= c["self_insns"] <= c["insns"] <= root["insns"] and c["duration_ns"] < 1 << 62 for c in parts), root
        assert [c["start_ns"] for c in parts] == sorted(c["start_ns"] for c in parts), root
        assert all(c["depth"] <= before["depth"] + 1 for before, c in zip(parts, parts[1:])), root
    # less deep, the same time: what is not shown is not the caller's own
    shallow = upto_json("calls", "--json", "--function", "do_sys_openat2", "--depth", "1", trace)["calls"]
    assert [c["self_insns"] for c in shallow] == [calls[i]["self_insns"] for i in starts[:-1]]
    quiet = upto_json("calls", "--json", "--no-interrupts", "--function", "do_sys_openat2", trace)["calls"]
    assert not any(c["kind"] == "interrupt" for c in quiet)
    roots = [c for c in quiet if c["depth"] == 0]
    assert [c["self_insns"] for c in roots] == [calls[i]["self_insns"] for i in starts[:-1]]
    # one that begins before the first switch tells whose it is, and lasts to the end
    boot, = upto_json("calls", "--json", "--function", "start_kernel", "--depth", "1", trace)["calls"]
    total, = [f for f in upto_json("top", "--json", "--total", trace)["functions"] if f["function"] == "start_kernel"]
    assert boot["unfinished"] and boot["pid"] == 0 and boot["insns"] == total["total_insns"] > 1e7, (boot, total)
    longest = sorted(c["duration_ns"] for c in calls)[-len(calls) // 50]
    for options, kept in ((["--min-duration", f"{longest}ns"], lambda c: c["duration_ns"] >= longest),
                          (["--min-callee", f"{longest}ns"], lambda c: not c["depth"] or c["duration_ns"] >= longest),
                          (["--min-duration", f"{longest}ns", "--min-callee", "0", "--depth", "3"], lambda c: c["depth"] < 3)):
        want = [call for a, b in zip(starts, starts[1:]) if kept(calls[a]) and ("--min-duration" not in options or calls[a]["duration_ns"] >= longest)
                for call in pruned(calls[a:b], kept)]
        got = upto_json("calls", "--json", "--function", "do_sys_openat2", *options, trace)["calls"]
        for c in got:
            assert [s["duration_ns"] for s in c["left_out"]] == sorted((s["duration_ns"] for s in c["left_out"]), reverse=True), c
            c["left_out"].sort(key=lambda s: (-s["duration_ns"], s["function"]))
        assert got == want and 0 < len(want) < len(calls) / 2, (options, len(got), len(want), len(calls))
        assert sum(len(c["left_out"]) for c in got) > 20, options
    # the name that the thread had then, as its system calls tell
    names = collections.defaultdict(list)
    for call in upto_json("syscalls", "--json", "--name", "open,openat", trace)["syscalls"]:
        names[call["pid"]].append((call["start_ns"], call["comm"]))
    for root in (calls[i] for i in starts[:-1]):
        told = [comm for ns, comm in names[root["pid"]] if ns <= root["start_ns"]]
        assert told[-1:] in ([root["comm"]], []), (root, told[-1:])
    first, = upto_json("calls", "--json", "--function", "kernel_init", "--depth", "1", trace)["calls"]
    assert first["comm"] == "swapper/0" and first["pid"] == 1 and not first["left_out"], first
    return f"{len(starts) - 1} calls, {len(calls)} with what they called"


def pruned(call, kept):
    """A call and what it called, some of which is not kept: sums in what was left out by its caller instead."""
    shown, path, sums = [], [], []
    for c in call:
        del path[c["depth"]:]
        path.append(None)
        if c["depth"] and path[-2] is None:
            continue
        if kept(c):
            path[-1] = dict(c)
            shown.append(path[-1])
            sums.append({})
            path[-1]["left_out"] = sums[-1]
        else:
            s = path[-2]["left_out"].setdefault(c["function"], {"function": c["function"], "calls": 0, "duration_ns": 0, "ns": 0, "insns": 0})
            s["calls"] += 1
            for k in ("duration_ns", "ns", "insns"):
                s[k] += c[k]
    for c in shown:
        # functions of one duration are in the order of their numbers, which are not told
        c["left_out"] = sorted(c["left_out"].values(), key=lambda s: (-s["duration_ns"], s["function"]))
    return shown


@pytest.mark.weight(8)
def test_endings():
    """How calls end, and log lines among them: each within the call that stored it."""
    trace, _ = recording("6.12", 2)
    calls = lambda *args: upto_json("calls", "--json", *args, trace)["calls"]
    exits = calls("--function", "do_exit", "--depth", "1")
    assert len(exits) > 20 and all(c["unfinished"] or c["left"] == "died" for c in exits), exits[:3]
    reads = calls("--function", "vfs_read", "--depth", "1")
    assert sum(c["left"] == "returned" for c in reads if not c["unfinished"]) > 20 and {c.get("left") for c in reads} <= {"returned", "died", None}
    # its function jumps to another one, and the other's return ends both
    tails = [c for c in calls("--function", "wake_up_process") if c["kind"] == "tail"]
    assert tails and all(c["left"] == "returned" for c in tails), tails[:3]
    lines = [(line["ns"], line["cpu"], line["pid"], line["text"]) for line in upto_json("log", "--json", trace)["log"]]
    first = min(range(len(lines) - 20), key=lambda i: lines[i + 19][0] - lines[i][0])
    begin, end = lines[first][0], lines[first + 19][0] + 1
    steps = calls("--log", "--from", f"{begin}ns", "--to", f"{end}ns")
    logged = [(s["start_ns"], s["cpu"], s["pid"], s["text"]) for s in steps if s["step"] == "log"]
    assert logged == [line for line in lines if begin <= line[0] < end] and len(logged) >= 20, (logged[:2], lines[first])
    # steps are in the order of time, the lines among them too
    times = [s["start_ns"] + s["duration_ns"] if s["step"] == "leave" else s["start_ns"] for s in steps]
    assert times == sorted(times)
    stores = calls("--function", "vprintk_store", "--depth", "1")
    for ns, cpu, pid, text in logged:
        assert any(c["pid"] == pid and c["start_ns"] <= ns <= c["start_ns"] + c["duration_ns"] for c in stores), (ns, text)


@pytest.mark.weight(8)
def test_flow():
    """All calls of a piece of time as they come: of one function those that are told of it alone; entries and exits in pairs."""
    trace, _ = recording("6.12", 2)
    calls = upto_json("calls", "--function", "vfs_read,do_exit", "--depth", "1", "--json", trace)["calls"]
    begin, end = calls[20]["start_ns"], calls[60]["start_ns"]
    want = {(c["function"], c["start_ns"], c["duration_ns"], c["insns"], c["pid"]) for c in calls
            if begin <= c["start_ns"] and c["start_ns"] + c["duration_ns"] < end and not c["unfinished"]}
    steps = upto_json("calls", "--from", f"{begin}ns", "--to", f"{end}ns", "--json", trace)["calls"]
    got = {(s["function"], s["start_ns"], s["duration_ns"], s["insns"], s["pid"]) for s in steps
           if s["step"] != "enter" and s["function"] in ("vfs_read", "do_exit") and s["start_ns"] >= begin}
    assert want == got and len(want) > 20, (len(want), want ^ got)
    times = [s["start_ns"] + s["duration_ns"] if s["step"] == "leave" else s["start_ns"] for s in steps]
    assert times == sorted(times)
    open_calls = collections.Counter()
    for s in steps:
        if s["step"] == "enter":
            open_calls[s["pid"], s["function"], s["start_ns"]] += 1
        elif s["step"] == "leave" and s["start_ns"] > begin:
            open_calls[s["pid"], s["function"], s["start_ns"]] -= 1
    assert min(open_calls.values()) >= 0, open_calls.most_common()[-3:]
    quiet = upto_json("calls", "--from", f"{begin}ns", "--to", f"{end}ns", "--json", "--no-interrupts", trace)["calls"]
    assert not any(s["kind"] == "interrupt" for s in quiet) and len(quiet) < len(steps)
    # what is shown as one call may else be an entry and an exit, where an interrupt came between
    ends = lambda some: [(s["function"], s["start_ns"], s["duration_ns"]) for s in some if s["step"] != "enter"]
    assert ends(quiet) == ends(s for s in steps if not s["cuts_in"])
    one = upto_json("calls", "--from", f"{begin}ns", "--to", f"{end}ns", "--json", "--one-thread", trace)["calls"]
    assert ends(one) == ends(s for s in steps if s["pid"] == steps[0]["pid"]) and len(one) < len(steps), (one[:2], steps[:2])
    # a call that waits, with what ran meanwhile, each counted from the outermost that is seen of it
    waits = upto_json("calls", "--function", "pipe_read", "--depth", "1", "--json", trace)["calls"]
    nth = next(i for i, c in enumerate(waits) if c["duration_ns"] > 2 * c["ns"])
    within = upto_json("calls", "--function", "pipe_read", "--from", f"{waits[nth]['start_ns']}ns", "--pid", str(waits[nth]["pid"]), "--depth", "3",
                       "--all-threads", "--json", trace)["calls"]
    assert (within[-1]["step"], within[-1]["duration_ns"], within[-1]["depth"]) == ("leave", waits[nth]["duration_ns"], 0), within[-1]
    assert within[0]["depth"] == 0 and len({s["pid"] for s in within}) > 1 and max(s["depth"] for s in within) == 2
    exit_ns = waits[nth]["start_ns"] + waits[nth]["duration_ns"]
    same = upto_json("calls", "--from", f"{waits[nth]['start_ns']}ns", "--to", f"{exit_ns + 1}ns", "--depth", "3", "--json", trace)["calls"]
    at = same.index(within[0])
    assert same[at:at + len(within)] == within, (same[:2], within[:2])
    # one that is part of an interrupt is not cut out with those that cut in
    ticks = upto_json("calls", "--function", "handle_softirqs", "--all-threads", "--no-interrupts", "--json", trace)["calls"]
    assert ticks[-1]["function"] == "handle_softirqs" and not any(s["cuts_in"] for s in ticks), ticks[-1]
    # what one vCPU ran
    cpus = [{(c["start_ns"], c["pid"]) for c in upto_json("calls", "--function", "vfs_read", "--depth", "1", "--cpu", cpu, "--json", trace)["calls"]} for cpu in "01"]
    assert all(cpus) and not cpus[0] & cpus[1]
    assert cpus[0] | cpus[1] == {(c["start_ns"], c["pid"]) for c in calls if c["function"] == "vfs_read"}
    letters = {}
    for line in run(UPTO, "calls", "--from", f"{begin}ns", "--to", f"{end}ns", trace).stdout.decode().splitlines()[1:]:
        m = re.match(r".{30} +\d +(\d+) (.)  ", line)
        letters.setdefault(m.group(1), set()).add(m.group(2))
    own = ["".join(signs - {"!"}) for signs in letters.values() if signs != {"!"}]
    # one each, and each another, until there are no more
    assert max(map(len, own)) == 1 and len(set(own[:52])) == min(len(own), 52) > 2 and any("!" in s for s in letters.values()), letters
    return f"{len(steps)} lines, {len(want)} calls compared"


def twice(name, trace):
    """A folder with the trace in it twice: where no index can be, so that none is used, and where one can."""
    folder = os.path.join(WORK, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    without, indexed = os.path.join(folder, "without.upto"), os.path.join(folder, "with.upto")
    for path in (without, indexed):
        os.link(trace, path)
    os.makedirs(os.path.join(without + ".index", "in the way"))
    return folder, without, indexed


@pytest.mark.parametrize("smp", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.long
@pytest.mark.weight(10)
def test_index(smp):
    """What comes by the index is what replaying from the start gives; a damaged or foreign one does no harm."""
    trace, _ = recording("6.12", smp)
    folder, without, indexed = twice(f"indexed-{smp}", trace)
    end = upto_json("info", "--json", trace)["duration_ns"]
    questions = [["stack", "--at", f"{end * i // 7}ns"] for i in (1, 4, 6)] + \
        [["calls", "--function", f, "--depth", "3"] for f in ("do_init_module", "kernel_init", "do_exit,begin_new_exec")]
    always = len(questions)
    questions += [["calls", "--function", f, "--depth", "1"] for f in ("start_kernel", "kthread", "kernel_init_freeable,do_wait")]
    questions += [["tree"], ["top", "--total", "--json", "-n", "0"]]
    want = [run(UPTO, *q, without).stdout for q in questions]
    assert all(want) and sum(map(len, want)) > 20000, [len(w) for w in want]
    for state in ("made", "there", "damaged", "foreign"):
        index = indexed + ".index"
        if state == "damaged":
            data = bytearray(open(index, "rb").read())
            data[len(data) - 100] ^= 0x55
            open(index, "wb").write(data)
        if state == "foreign":
            data = bytearray(open(index, "rb").read())
            data[24] ^= 1  # the trace's size
            open(index, "wb").write(data)
        for q, w in zip(questions if state == "there" else questions[:always], want):
            assert run(UPTO, *q, indexed).stdout == w, (state, q)
        assert os.path.getsize(index) < os.path.getsize(trace) / 2, os.path.getsize(index)
    # those that replay parts of the trace make it, too, and their parts as it comes to be
    made = open(index, "rb").read()
    for q, w in list(zip(questions, want))[-2:]:
        os.unlink(index)
        with open(index + ".part", "w") as f:
            f.write("left by somebody who was killed")
        assert run(UPTO, *q, indexed).stdout == w, q
        assert open(index, "rb").read() == made, q
    assert sorted(os.listdir(folder)) == ["with.upto", "with.upto.index", "without.upto", "without.upto.index"]
    return f"{os.path.getsize(index) / os.path.getsize(trace):.2f} of the trace's size"


def index_times(path):
    """Times of an index's entries: src/replay/index.c."""
    with open(path, "rb") as f:
        data = f.read()
    _, _, stored, _, _, _, at = struct.unpack_from("<8sIIIIQQ", data)
    table = subprocess.run(["zstd", "-dcq"], input=data[at:at + stored], capture_output=True, check=True).stdout
    numbers, value, shift = [], 0, 0
    for byte in table:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    times, i = [], 1
    for _ in range(numbers[0]):
        times.append(numbers[i])
        i += 5 + numbers[i + 4]
    return times


@pytest.mark.parametrize("smp", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.weight(10)
def test_moments(smp):
    """At any moment, in halts and right behind an entry of the index, too, answers are the same with an index and without."""
    trace, _ = recording("6.12", smp)
    folder, without, indexed = twice(f"moments-{smp}", trace)
    run(UPTO, "stack", indexed)
    rng = random.Random(seed())
    halts, last = [], {}
    for line in run(UPTO, "dump", "--json", "--kind", "halt,resume", trace).stdout.splitlines():
        e = json.loads(line)
        if e["kind"] == "halt":
            last[e["cpu"]] = e["ns"]
        elif last.get(e["cpu"]):
            halts.append((last.pop(e["cpu"]) + e["ns"]) // 2)
    times = index_times(indexed + ".index")
    moments = rng.sample(times, min(5, len(times))) + rng.sample(halts, min(5, len(halts)))
    # the first halt behind an entry
    moments += [min(h for h in halts if h > t) for t in rng.sample(times, min(4, len(times))) if any(h > t for h in halts)]
    for at in moments:
        a, b = [run(UPTO, "stack", "--json", "--at", f"{at}ns", t).stdout for t in (indexed, without)]
        assert a == b, f"stack at {at}"
    for at in rng.sample(moments, 3):
        for command in "calls", "syscalls":
            a, b = [run(UPTO, command, "--json", "--from", f"{at}ns", "--to", f"{at + 300000}ns", t).stdout for t in (indexed, without)]
            assert a == b, f"{command} from {at}"
    shutil.rmtree(folder)
    return f"{len(moments)} moments of {len(times)} entries and {len(halts)} halts"


# with one vCPU, phrases are gone past, and moments are in the middle of batches
