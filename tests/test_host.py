# SPDX-License-Identifier: GPL-2.0-or-later
"""upto host, run inside a guest as if that were hardware: held against what upto records of that guest from outside."""
import collections
import os
import re
import resource
import signal
import subprocess

import pytest

from guest import RELEASE, TOP, UPTO, UPTO_ASAN, WORK, Once, initrd, is_older, libraries_of, once_a_run, qemu_args, record, run, unpack_disk, upto_json
from test_cli import fails
from test_thin import base
from test_tracecmd import calls_by_process, rows_of_tree

VERSIONS = [pytest.param("6.12", marks=pytest.mark.long), pytest.param("6.1", marks=pytest.mark.kernels), pytest.param("7", marks=pytest.mark.kernels)]


def recorded(version):
    """The folder with what it wrote in the guest, and the trace from outside."""
    name = os.path.join(WORK, f"host-{version}")

    def make():
        words = run(UPTO, "host", "boot-args", "--min-duration", "500us", "--buffer", "8192").stdout.decode().strip()
        assert words == "ftrace=function_graph tracing_thresh=500 trace_buf_size=8192K", words
        image = initrd(version, "host", *libraries_of(UPTO), f"{UPTO}=/usr/bin/upto", newer_than=[UPTO])
        # each tracer that is set changes the kernel's code: 6.1, which has more of it to change, takes minutes for that
        words += "" if version == "6.12" else " briefly"
        record(name + ".upto", qemu_args(version, image, disk=name + ".disk", append=words, memory="1G"), timeout=1800)
        unpack_disk(name + ".disk", name)

    once_a_run(name, make)
    return name, name + ".upto"


def instrumented():
    """A program that records itself."""
    program, source = os.path.join(WORK, "merged"), os.path.join(TOP, "tests/guests/merged.c")
    with Once(program):
        if is_older(program, source):
            run("gcc", "-g", "-O1", "-finstrument-functions", "-o", program, source, os.path.join(RELEASE, "libupto/libupto.a"), "-pthread", "-ldl")
    return program


def text(folder, name):
    with open(os.path.join(folder, name), errors="replace") as f:
        return f.read()


def syscalls_by_process(trace):
    calls = collections.defaultdict(list)
    for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]:
        calls[c["pid"]].append((c["name"], c["result"]))
    return calls


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.weight(70)
def test_outside(version):
    """Each call of each process that began and ended meanwhile is seen from inside and from outside alike, and each system call."""
    folder, outside = recorded(version)
    inside = calls_by_process(os.path.join(folder, "calls.upto"))
    processes = upto_json("ps", "--json", os.path.join(folder, "calls.upto"))["processes"]
    names = {p["pid"]: p["comm"] for p in processes}
    parents = [{(p["pid"], p["ppid"]) for p in of if names.get(p["pid"]) in ("mkdir", "cat", "tr", "find", "wc")}
               for of in (processes, upto_json("ps", "--json", outside)["processes"])]
    assert parents[0] == parents[1] and len(parents[0]) >= 40, parents
    functions = {f for counts in inside.values() for f in counts} - {"[not traced]"}
    theirs = calls_by_process(outside, "--functions", ",".join(functions))
    inner, outer = syscalls_by_process(os.path.join(folder, "calls.upto")), syscalls_by_process(outside)
    compared = processes = 0
    for pid in (pid for pid, comm in names.items() if comm in ("mkdir", "cat", "tr", "find", "wc")):
        mine = {f: n for f, n in theirs[pid].items() if f in functions}
        assert mine == inside[pid], (pid, names[pid], mine, inside[pid])
        assert len(inner[pid]) > 5 and inner[pid] == outer[pid], (pid, names[pid], inner[pid], outer[pid])
        compared += sum(mine.values())
        processes += 1
    assert processes == 40 and compared > 1000, (processes, compared)
    for name in "calls", "thresh", "below", "boot", "again":
        checked = run(UPTO, "check", os.path.join(folder, name + ".upto")).stdout.decode()
        assert "whole and consistent" in checked and "of which 0 matched no call" in checked, checked
    return f"{compared} calls of {processes} processes"


@pytest.mark.long
@pytest.mark.weight(69)
def test_left_as_found():
    """Filters are the kernel's; what was set is as it was, also behind a recording that was killed; the command's status is passed on."""
    folder, _ = recorded("6.12")
    states = {name: text(folder, name) for name in ("before", "after", "killed", "last", "end")}
    assert states["before"] == states["after"] == states["last"] == states["end"], states
    assert states["killed"] != states["before"]
    assert "status 3" in text(folder, "calls.said")
    assert "no_such_function: the kernel can trace no such function" in text(folder, "refused.said")
    below = upto_json("tree", "--json", os.path.join(folder, "below.upto"))["tree"]
    outermost = {r["function"]: r["calls"] for r in below if r["depth"] == 1}
    # one that was under way when the kernel began to look at the list is told by its tracer, too
    assert outermost.pop("do_sys_openat2") >= 3 and sum(outermost.values()) <= 2 and max(r["depth"] for r in below) == 4, outermost
    long = upto_json("calls", "--json", "-n", "0", os.path.join(folder, "thresh.upto"))["calls"]
    lasted = [c["duration_ns"] for c in long if c["step"] != "enter" and c["duration_ns"] is not None and c["function"] != "[not traced]"]
    # how many is a matter of the machine
    assert len(lasted) > 3 and min(lasted) >= 100000, sorted(lasted)[:5]


@pytest.mark.long
@pytest.mark.weight(68)
def test_moments():
    """Begun and ended by functions, by the clock and by KFI's words; the last of it alone. All is as it was behind that."""
    folder, _ = recorded("6.12")
    assert text(folder, "moments") == text(folder, "before")

    def calls(name):
        trace = os.path.join(folder, name + ".upto")
        assert "of which 0 matched no call" in run(UPTO, "check", trace).stdout.decode()
        rows = [c for c in upto_json("calls", "--json", "--no-events", "-n", "0", trace)["calls"] if c["step"] not in ("return", "leave") and c["function"] != "[not traced]"]
        return rows, upto_json("info", "--json", trace)["duration_ns"]

    # the kernel itself begins and ends: what comes before the first mkdir is not there, nor what comes behind its end
    rows, _ = calls("entries")
    assert "do_exit" not in {c["function"] for c in rows[:-2]} and 5 < len(rows) < 2000, [c["function"] for c in rows][-5:]
    assert "__x64_sys_execve" not in {c["function"] for c in rows}, rows
    rows, _ = calls("itself")
    assert 5 < len(rows) < 2000 and "do_exit" not in {c["function"] for c in rows[:-2]}, len(rows)
    rows, _ = calls("exits")
    assert rows[0]["function"] != "do_mkdirat" and rows[0]["depth"] == 1 and len(rows) > 20, rows[:3]
    ends = [c for c in upto_json("calls", "--json", "-n", "0", os.path.join(folder, "exits.upto"))["calls"] if c["step"] != "enter" and c["function"] == "pipe_release"]
    assert len(ends) == 1, ends
    rows, took = calls("times")
    assert len(rows) > 50 and 0.5e9 < took < 1.6e9 and "waiting to record" in text(folder, "times.said"), (len(rows), took)
    rows, _ = calls("run")
    assert len(rows) == 40 and {c["function"] for c in rows} <= {"vfs_read", "vfs_write", "vfs_open"}, rows
    rows, took = calls("last")
    assert took < 0.32e9 and {c["comm"] for c in rows} & {"cat", "sh"} and "mkdir" not in {c["comm"] for c in rows}, (took, {c["comm"] for c in rows})


def recorded_ends():
    """The folder of what signals ended, and of what lost records."""
    name = os.path.join(WORK, "host-ends")

    def make():
        image = initrd("6.12", "hostends", *libraries_of(UPTO), f"{UPTO}=/usr/bin/upto", newer_than=[UPTO])
        record(name + ".upto", qemu_args("6.12", image, disk=name + ".disk", memory="1G"))
        unpack_disk(name + ".disk", name)

    once_a_run(name, make)
    return name, name + ".upto"


@pytest.mark.long
@pytest.mark.weight(160)
def test_ended_by_signals():
    """Ctrl-C, SIGTERM and SIGHUP, at each moment: the tracer is as it was, and what was recorded is a whole trace."""
    folder, _ = recorded_ends()
    before = text(folder, "before")
    assert "current_tracer:nop" in before
    for name in sorted(f for f in os.listdir(folder) if f.startswith("after-")):
        assert text(folder, name) == before, name
    for signal_name in "INT", "TERM", "HUP":
        trace = os.path.join(folder, signal_name + ".upto")
        checked = run(UPTO, "check", trace).stdout.decode()
        assert "whole and consistent" in checked and "of which 0 matched no call" in checked, checked
        commands = {p["comm"] for p in upto_json("ps", "--json", trace)["processes"]}
        assert {"mkdir", "cat", "tr", "find", "wc"} <= commands and "status 0" in text(folder, signal_name + ".said"), (commands, text(folder, signal_name + ".said"))
    # the command ended by the signal, or was not begun; what there is of it is whole
    statuses = dict(line.split(": ") for line in text(folder, "early").splitlines())
    assert len(statuses) == 6 and set(statuses.values()) <= {"0", "1", "143"}, statuses
    for f in sorted(os.listdir(folder)):
        if f.startswith("early") and f.endswith(".upto"):
            assert "whole and consistent" in run(UPTO, "check", os.path.join(folder, f)).stdout.decode(), f
    assert "status 5" in text(folder, "both.said")
    assert {"mkdir", "cat"} <= {p["comm"] for p in upto_json("ps", "--json", os.path.join(folder, "both.upto"))["processes"]}
    return statuses


def chains_by_process(trace, *options):
    """Of each process: all stacks, as tuples from the outermost function on, with how often that was called."""
    stacks, above = collections.defaultdict(collections.Counter), []
    for row in rows_of_tree(trace, "--by", "thread", "--min", "0", *options):
        above = above[:row["depth"]] + [row["function"]]
        # the thread itself, and where nothing is traced
        chain = tuple(f for f in above[1:] if f != "[not traced]")
        if chain and row["calls"]:
            stacks[row["pid"]][chain] += row["calls"]
    return stacks


@pytest.mark.long
@pytest.mark.weight(160)
def test_losses(tmp_path):
    """Where records were lost, what there is happened: each stack is one from outside, and nothing was called more often. A merged trace has the same losses."""
    folder, outside = recorded_ends()
    trace = os.path.join(folder, "lost.upto")
    lost = upto_json("info", "--json", trace)["lost"]
    assert lost > 10000 and "events lost in" in text(folder, "lost.said")
    p = subprocess.run([UPTO, "check", trace], capture_output=True, text=True)
    assert p.returncode == 1 and f"{lost} events were lost" in p.stderr and "of which 0 matched no call" in p.stdout + p.stderr, p
    inside = chains_by_process(trace)
    functions = {f for stacks in inside.values() for chain in stacks for f in chain}
    theirs = chains_by_process(outside, "--functions", ",".join(functions))
    compared = missing = seen = cut = 0
    for pid, stacks in inside.items():
        known = {chain[i:] for chain in theirs[pid] for i in range(len(chain))}
        calls, outer = (collections.Counter() for _ in range(2))
        for of, counts in (stacks, calls), (theirs[pid], outer):
            for chain, n in of.items():
                counts[chain[-1]] += n
        if pid <= 2 or not theirs[pid]:  # idle threads share a number
            continue
        # an interrupt that comes while the tracer is about to record an end is within the call, which from outside has ended; one that
        # comes while it is about to record a begin is not yet within
        others, shorter = [chain for chain in stacks if chain not in known], {c[:i] + c[i + 1:] for c in known for i in range(len(c) - 1)}
        wrong = [chain for chain in others if chain not in shorter and not any(chain[:i] + chain[i + 1:] in known for i in range(len(chain) - 1))]
        assert not wrong, (pid, wrong[:5])
        seen, cut = seen + len(stacks), cut + len(others)
        assert all(n <= outer[f] for f, n in calls.items()), (pid, {f: (n, outer[f]) for f, n in calls.items() if n > outer[f]})
        compared += sum(calls.values())
        missing += sum(outer.values()) - sum(calls.values())
    assert compared > 10000 and missing > 0 and cut < seen / 20, (compared, missing, seen, cut)
    both, program = tmp_path / "both.upto", os.path.join(recorded_together(), "merged.upto")
    run(UPTO_ASAN, "import", trace, program, "-o", both, check=False)
    of_kind = lambda t: upto_json("info", "--json", t)["events_by_kind"]
    # those in which nothing was lost say that a thread's stack is not known: a frame may end with one, or return
    losses = lambda t: re.findall(rb" gap ([1-9]\d*) ", run(UPTO, "dump", "--kind", "gap", t).stdout)
    assert upto_json("info", "--json", both)["lost"] == lost and losses(both) == losses(trace) != []
    assert of_kind(both)["call"] == of_kind(trace)["call"] + of_kind(program)["call"]
    return f"{compared} calls of {len(inside)} processes; {lost} events lost"


def recorded_together():
    """The folder with what both wrote. Nobody looks from outside, so that this is soon over."""
    name, program = os.path.join(WORK, "merged-host"), instrumented()

    def make():
        image = initrd("6.12", "merged", *libraries_of(UPTO), f"{UPTO}=/usr/bin/upto", *libraries_of(program), f"{program}=/bin/merged", newer_than=[UPTO, program])
        args = qemu_args("6.12", image, smp=2, disk=name + ".disk", memory="1G")
        with open(name + ".disk", "wb") as f:
            f.truncate(128 << 20)
        run(*args, timeout=600)
        unpack_disk(name + ".disk", name)

    once_a_run(name, make)
    return name


@pytest.mark.weight(20)
def test_merged(tmp_path):
    """A program's calls and the kernel's in one trace: below each function are the system calls that it makes, all of them, and no others."""
    folder = recorded_together()
    assert text(folder, "before") == text(folder, "after")
    program, kernel, both = (os.path.join(folder, "merged.upto"), os.path.join(folder, "under.upto"), tmp_path / "both.upto")
    run(UPTO_ASAN, "import", kernel, program, "-o", both)
    assert b"of which 0 matched no call" in run(UPTO, "check", both).stdout
    above, below, functions = [], collections.defaultdict(collections.Counter), collections.Counter()
    for row in upto_json("tree", "--json", "--by", "thread", "--min", "0", both)["tree"]:
        if row["comm"] != "merged":
            continue
        above = above[:row["depth"]] + [row["function"]]
        functions[row["function"]] += row["calls"]
        for function in set(above[:-1]):
            below[function][row["function"]] += row["calls"]
    # as often as it was called, which is what its own file has
    own = collections.Counter({f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", program)["functions"] if f["calls"]})
    assert own["three_reads"] == 50 and own["two_writes"] == 40 and all(functions[f"{f} [merged]"] == n for f, n in own.items()), (own, functions)
    assert {f: below["three_reads [merged]"][f] for f in ("__x64_sys_pread64", "vfs_read", "__x64_sys_pwrite64", "vfs_write", "no_call [merged]")} == \
        {"__x64_sys_pread64": 150, "vfs_read": 150, "__x64_sys_pwrite64": 0, "vfs_write": 0, "no_call [merged]": 0}, below
    assert below["two_writes [merged]"]["vfs_write"] == below["two_writes [merged]"]["__x64_sys_pwrite64"] == 80 and not below["two_writes [merged]"]["vfs_read"], below
    assert not below["no_call [merged]"] and below["main [merged]"]["vfs_read"] >= 150, below
    # both of its threads are one process, whose parent is what recorded; and what was there before is known by /proc
    rows = {p["pid"]: p for p in upto_json("ps", "--json", both)["processes"]}
    merged = next(p for p in rows.values() if p["exe"] == "/bin/merged")
    assert rows[merged["ppid"]]["comm"] == "upto" and rows[merged["ppid"]]["exe"] == "/usr/bin/upto", rows
    threads = {p["pid"]: p["tgid"] for p in upto_json("ps", "--json", both)["processes"] if p["exe"] == "/bin/merged"}
    assert len(threads) == 3 and set(threads.values()) == {merged["pid"]}, threads  # its own two, and libupto's
    apart = {row["comm"] for row in upto_json("tree", "--json", "--by", "process", both)["tree"]}
    assert {"merged", "upto", "kernel threads"} <= apart and not [name for name in apart if name.startswith(("kworker", "rcu", "ksoftirqd"))], apart
    # events, system calls and processes are the kernel's
    for command, table, times in ("events", "events", ["ns"]), ("syscalls", "syscalls", ["start_ns"]):
        mine, theirs = (upto_json(command, "--json", trace)[table] for trace in (both, kernel))
        later = mine[0][times[0]] - theirs[0][times[0]]
        assert mine == [row | {key: row[key] and row[key] + later for key in times} for row in theirs] and len(mine) > 200, (command, len(mine), len(theirs))
    who = lambda trace: sorted([p["pid"], p["ppid"], p["comm"], p["exe"] or ""] for p in upto_json("ps", "--json", trace)["processes"])
    assert who(both) == who(kernel)
    # what the kernel's trace has of others is there as it was
    def others(trace):
        return {pid: n for pid, n in calls_by_process(trace).items() if n and pid not in calls_by_process(program)}
    assert others(both) == others(kernel)
    # no room for what lies between, and none for the trace
    small = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    p = subprocess.run([UPTO_ASAN, "import", kernel, program, "-o", tmp_path / "x.upto"], preexec_fn=small, capture_output=True, text=True)
    assert p.returncode == 1 and p.stderr.startswith("upto: ") and p.stderr.count("\n") == 1 and "File too large" in p.stderr, p
    assert not os.path.exists(tmp_path / "x.upto")
    p = subprocess.run([UPTO, "import", kernel, program, "-o", tmp_path / "x.upto"], env={**os.environ, "TMPDIR": str(tmp_path / "none")}, capture_output=True, text=True)
    assert p.returncode == 1 and "no temporary file (TMPDIR): No such file or directory" in p.stderr, p
    fails(2, "--map: is for one log, or memory", "import", "-m", kernel, kernel, program, "-o", tmp_path / "x.upto")
    fails(1, "expected one trace of 'upto host record'", "import", program, program, "-o", tmp_path / "x.upto")
    fails(1, "its clock is none that others have", "import", kernel, base(2), "-o", tmp_path / "x.upto")


@pytest.mark.long
@pytest.mark.weight(68)
def test_boot():
    """What took long in the boot, out of the buffers: what upto saw from outside took as long, but for what tracing costs."""
    folder, outside = recorded("6.12")
    boot = os.path.join(folder, "boot.upto")
    calls = [c for c in upto_json("calls", "--json", "-n", "0", "-F", "do_one_initcall", "--depth", "1", boot)["calls"] if c["duration_ns"]]
    theirs = [c["duration_ns"] for c in upto_json("calls", "--json", "-n", "0", "-F", "do_one_initcall", "--depth", "1", outside)["calls"] if c["duration_ns"]]
    mine = sorted((c["duration_ns"] for c in calls), reverse=True)
    theirs.sort(reverse=True)
    assert len(mine) > 10 and min(mine) >= 500000
    # guest time by the two clocks, of the longest ones; an interrupt may come when the call is over for the one, and not yet for the other
    near = sorted(min(abs(a - b) / b for b in theirs) for a in mine)
    assert near[-1 - len(near) // 100] < 0.05, near
    return f"{len(mine)} initcalls; apart by at most {near[-1]:.1%}"


def recorded_left(version):
    """The folder of what found the tracer set, or could not write; the guest is as fast as QEMU goes."""
    name, program = os.path.join(WORK, f"host-left-{version}"), os.path.join(WORK, "threads")

    def make():
        source = program + ".c"
        with open(source, "w") as f:
            f.write("#include <pthread.h>\n#include <fcntl.h>\n#include <unistd.h>\n"
                    "static void *work(void *x) { char c; for (;; usleep(20000)) { int fd = open(\"/proc/version\", O_RDONLY); read(fd, &c, 1); close(fd); } return x; }\n"
                    "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_create(&t, 0, work, 0); pause(); }\n")
        run("gcc", "-O1", "-static", "-o", program, source, "-pthread")
        image = initrd(version, "hostleft", *libraries_of(UPTO), f"{UPTO}=/usr/bin/upto", f"{program}=/bin/threads", newer_than=[UPTO])
        with open(name + ".disk", "wb") as f:
            f.truncate(128 << 20)
        run(*qemu_args(version, image, disk=name + ".disk", append="ftrace=function_graph tracing_thresh=300 trace_buf_size=1024K", memory="1G"), timeout=1500)
        unpack_disk(name + ".disk", name)

    once_a_run(name, make)
    return name


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.weight(160)
def test_left_whatever_ends_it(version):
    """What others have set, lists of several also, is as it was: behind each signal, and behind SIGKILL at the next start, which says so."""
    folder = recorded_left(version)
    before, lines = text(folder, "before"), text(folder, "before").splitlines()
    for name, want in ("set_ftrace_filter", 3), ("set_graph_function", 3), ("set_ftrace_notrace", 2), ("set_ftrace_pid", 2), ("tracing_thresh", 1):
        assert sum(line.startswith(name + ":") for line in lines) == want, lines
    for name in "set", "next", "QUIT", "PIPE", "XFSZ", "pipe", "first":
        assert text(folder, "after-" + name) == before, (name, text(folder, "after-" + name), before)
    assert text(folder, "killed") != before and "tracing_thresh:1\n" in text(folder, "killed")
    assert "a recording that was killed had left the kernel's tracer set: that is put back" in text(folder, "next.said")
    assert "had left" not in text(folder, "set.said")
    assert {text(folder, name) for name in ("QUIT", "PIPE", "XFSZ")} == {"status 0\n"}
    said = text(folder, "second.said")
    assert "another 'upto host record' has the kernel's tracer just now" in said and "status 1" in said, said
    assert "next: upto top" in text(folder, "first.said")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.weight(159)
def test_not_written(version):
    """What is in the buffers is not taken before it is known to where; where there is no more room, the recording ends there, and is a trace."""
    folder = recorded_left(version)
    said = text(folder, "unread.said")
    assert all(why in said for why in ("there.upto: exists; --force overwrites it", "/dev/null: not a regular file", "/nowhere/: No such file or directory")), said
    assert said.count("status 1") == 3 and text(folder, "there.upto") == "there before\n", said
    boot = upto_json("top", "--json", os.path.join(folder, "boot.upto"))["functions"]
    assert sum(f["calls"] for f in boot) > 30
    said = text(folder, "full.said")
    assert "No space left on device: the recording ended there" in said and "status 1" in said and "full.upto: " in said, said
    trace = os.path.join(folder, "full.upto")
    assert "of which 0 matched no call" in run(UPTO, "check", trace).stdout.decode()
    assert sum(f["calls"] for f in upto_json("top", "--json", trace)["functions"]) > 1000


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.weight(158)
def test_threads_of_process(version):
    """--pid is a process, with all its threads."""
    folder = recorded_left(version)
    threads = set(map(int, text(folder, "threads").split()))
    assert len(threads) == 3
    calls = calls_by_process(os.path.join(folder, "threads.upto"))
    seen = {pid for pid, functions in calls.items() if functions.get("vfs_read")}
    assert len(seen) == 2 and seen < threads, (threads, seen)
    assert "--pid 12345: no such process" in text(folder, "nobody.said")


def parsed(text):
    """A bootconfig, by its documentation: KEY { … }, KEY = VALUE, "VALUE", "VALUE"; keys in full."""
    values, inside = {}, []
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            inside.pop()
        elif line.endswith("{"):
            inside.append(line[:-1].strip())
        else:
            key, _, value = line.partition(" = ")
            key = ".".join([*inside, key])
            assert key not in values and re.fullmatch(r"[\w.-]+", key) and re.fullmatch(r'[^"#;,{}]+|"[^"]*"(, "[^"]*")*', value), line
            values[key] = re.findall(r'"([^"]*)"', value) or [value]
    assert not inside
    return values


BOOTS = {
    "plain": (["--min-duration", "500us", "--buffer", "8192"],
              {"kernel.ftrace": ["function_graph"], "kernel.tracing_thresh": ["500"], "kernel.trace_buf_size": ["8192K"]}),
    "filters": (["-F", "vfs_*,ext4_*", "--not", "vfs_read", "--below", "a,b", "--depth", "3"],
                {"kernel.ftrace": ["function_graph"], "kernel.ftrace_filter": ["vfs_*,ext4_*"], "kernel.ftrace_notrace": ["vfs_read"], "kernel.ftrace_graph_filter": ["a,b"],
                 "kernel.ftrace_graph_max_depth": ["3"], "kernel.trace_buf_size": ["16384K"]}),
    "run": (["-F", "vfs_*,ext4_*", "--below", "a,b", "--start", "entry:kernel_init", "--stop", "exit:do_exit"],
            {"kernel.ftrace_graph_filter": ["a,b"], "ftrace.tracing_on": ["0"], "ftrace.tracer": ["function_graph"], "ftrace.buffer_size": ["16384KB"],
             "ftrace.ftrace.filters": ["vfs_*", "ext4_*"], "ftrace.event.kprobes.upto_start.probes": ["kernel_init"], "ftrace.event.kprobes.upto_start.actions": ["traceon"],
             "ftrace.event.kprobes.upto_stop.probes": ["do_exit%return"], "ftrace.event.kprobes.upto_stop.actions": ["traceoff"]}),
    "stop": (["--stop", "entry:do_exit"],
             {"kernel.ftrace": ["function_graph"], "kernel.trace_buf_size": ["16384K"],
              "ftrace.event.kprobes.upto_stop.probes": ["do_exit"], "ftrace.event.kprobes.upto_stop.actions": ["traceoff"]}),
}


@pytest.mark.parametrize("name", BOOTS)
def test_bootconfig(name):
    """A bootconfig has what the command line has, and where functions begin and end it; that this kernel takes one, or none, is said."""
    options, want = BOOTS[name]
    p = run(UPTO_ASAN, "host", "boot-args", "--bootconfig", *options)
    assert parsed(p.stdout.decode()) == want, p.stdout.decode()
    takes = b"this kernel takes a bootconfig" if os.path.exists("/proc/bootconfig") else b"it has no CONFIG_BOOT_CONFIG"
    assert takes in p.stderr and b"'bootconfig -a FILE INITRD'" in p.stderr, p.stderr
    # how much of the boot there will be, and whether this kernel knows these words
    room = int(re.search(rb"room for the last (\d+) calls of each CPU", p.stderr)[1])
    kib = int((want.get("kernel.trace_buf_size") or want["ftrace.buffer_size"])[0].rstrip("KB"))
    assert kib * 1024 / 70 < room < kib * 1024 / 40 and (b"ms of one that makes a million" in p.stderr) == ("kernel.tracing_thresh" not in want), p.stderr
    release = os.uname().release.encode()
    assert any(words in p.stderr for words in (release + b" has function_graph", release + b" has no function_graph", b"whether " + release + b" has")), p.stderr
    # the words of the command line are the same, where that can have them
    words = dict(w.split("=", 1) for w in run(UPTO_ASAN, "host", "boot-args", *options).stdout.decode().split())
    assert all(words[key.removeprefix("kernel.")] == ",".join(value) for key, value in want.items() if key.startswith("kernel.")), words


def test_asked():
    fails(2, r"record, read or boot-args", "host", "look")
    fails(2, r"--functions: has what a bootconfig cannot have", "host", "boot-args", "--bootconfig", "-F", 'a"b')
    fails(2, r"--bootconfig: is for boot-args", "host", "read", "--bootconfig")
    fails(2, r"a boot has no time:TIME", "host", "boot-args", "--bootconfig", "--start", "time:1s")
    fails(2, r"what is in the buffers has no time:TIME", "host", "read", "--start", "time:1s")
    with open(os.path.join(WORK, "times.kfi"), "w") as f:
        f.write("begin trigger stop time 1000 end")
    fails(2, r"what is in the buffers has no time:TIME", "host", "read", "--kfi", os.path.join(WORK, "times.kfi"))
    fails(1, r"/nowhere/: No such file or directory", "host", "read", "-o", "/nowhere/x.upto")
    fails(1, r"/dev/null: not a regular file", "host", "read", "-o", "/dev/null")
    fails(2, r"the kernel counts microseconds", "host", "record", "--min-duration", "10ns")
    if not os.path.isdir("/sys/kernel/tracing/events"):
        fails(1, r"(no tracefs: it needs root|has no function_graph|that is root's)", "host", "record", "-o", os.path.join(WORK, "host.upto"), "--", "true")
    assert os.path.exists(os.path.join(TOP, "docs/hardware.md")) and RELEASE
