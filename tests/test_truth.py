# SPDX-License-Identifier: GPL-2.0-or-later
"""What upto says of a guest, held against what others say of the same run."""
import collections
import json
import os
import re
import subprocess

import pytest

import decoder
import entries
import same_answers
from guest import check, CHECK, UPTO, UPTO_ASAN, WORK, initrd, kernel, libraries_of, qemu_args, record, run, \
    unpack_disk, upto_json

# check-kernels has the other seven, and the newest kernel
MATRIX = [pytest.param(v, c, s, marks={("6.12", "max", 2): (), ("6.1", "qemu64", 1): pytest.mark.long}.get((v, c, s), pytest.mark.kernels))
          for v in ("6.1", "6.12") for c in ("max", "qemu64") for s in (1, 2)] + [
    pytest.param("7", "max", 1, marks=pytest.mark.kernels)]


def dump(trace, *options):
    """Events as JSON objects, streaming."""
    with subprocess.Popen([UPTO, "dump", "--json", *options, trace], stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            yield json.loads(line)


def symbols_of(version):
    return entries.symbols_of(kernel(version)[1])


def read_ftrace(folder):
    """Per CPU, the functions between the marks, each with whether an interrupt ran it."""
    inside, per_cpu = False, collections.defaultdict(list)
    line_re = re.compile(r"^\s*.+-\d+\s+\[(\d+)\]\s+(\S+)\s+[\d.]+: (.*)$")
    for line in open(os.path.join(folder, "trace"), errors="replace"):
        m = line_re.match(line)
        if not m:
            continue
        cpu, flags, what = int(m.group(1)), m.group(2), m.group(3)
        if "mark-begin" in what:
            inside = True
        elif "mark-end" in what:
            break
        elif inside and "<-" in what:
            per_cpu[cpu].append((what.split(" <-")[0].strip(), flags[2:3] in "hHsZz"))
    return per_cpu


@pytest.mark.qemus
@pytest.mark.parametrize("version, cpu, smp", MATRIX)
@pytest.mark.weight(30)
def test_ftrace(version, cpu, smp):
    """The same calls in the same order, per CPU, as the guest's own function tracer; kprobe hit counts."""
    name = os.path.join(WORK, f"ftrace-{version}-{cpu}-{smp}")
    disk, trace = name + ".disk", name + ".upto"
    args = qemu_args(version, initrd(version, "ftrace"), cpu=cpu, smp=smp, thread="multi" if smp > 1 else "single",
                     disk=disk)
    record(trace, args)
    folder = unpack_disk(disk, name)
    for line in open(os.path.join(folder, "stats")):
        assert line.split()[-1] == "0", f"the guest's own buffer overran: {line}"
    theirs = read_ftrace(folder)
    traced = set(open(os.path.join(folder, "set_ftrace_filter")).read().split())
    # names that stand for several functions, or for one of several names of an address, cannot be compared
    names = collections.Counter(s[2] for s in symbols_of(version))
    traced = {n for n in traced if names[n] == 1}

    # between the marks; and what each CPU did just before and after, as marks are not ordered against other CPUs
    ours, before = collections.defaultdict(list), collections.defaultdict(lambda: collections.deque(maxlen=AROUND))
    marks, hits, after = 0, collections.Counter(), collections.Counter()
    # what the kprobes are at: ftrace.init takes the first that the kernel has
    mkdirat, rmdir = [next(n for n in some if names[n]) for some in (("filename_mkdirat", "do_mkdirat"), ("filename_rmdir", "do_rmdir"))]
    asked = ",".join(traced | {mkdirat, rmdir, "do_exit", "tracing_mark_write"})
    for e in dump(trace, "--function", asked):
        if e["kind"] == "interrupt-return":
            continue  # back to a function that was interrupted at its first instruction
        place = e["place"]
        if place in (mkdirat, rmdir, "do_exit"):
            hits[place] += marks == 1
        if place == "tracing_mark_write":
            marks += 1
        elif place in traced and marks == 0:
            before[e["cpu"]].append(place)
        elif place in traced and (marks == 1 or after[e["cpu"]] < AROUND):
            ours[e["cpu"]].append(place)
            after[e["cpu"]] += marks == 2
    assert marks == 2, f"{marks} marks"
    total = sum(map(len, ours.values())) - after.total()
    assert total > 3000, f"only {total} calls between the marks"
    theirs = {c: [w for w in theirs[c] if w[0] in traced] for c in range(smp)}
    late, dropped = explain_order(theirs, {c: [*before[c], *ours[c]] for c in range(smp)})
    profile = {line.split()[0]: int(line.split()[1]) for line in open(os.path.join(folder, "kprobe_profile"))}
    assert hits[mkdirat] == profile["k_mkdir"] - 1 or hits[mkdirat] == profile["k_mkdir"], (hits, profile)
    assert hits[rmdir] == profile["k_rmdir"], (hits, profile)
    assert late < total / 100, late
    assert dropped < 5 + total / 1000, dropped
    assert profile["k_inside"] == profile["k_mkdir"], profile
    # code that the kernel makes for itself has its names for it; not every page of kprobes has a step that runs
    theirs = {tuple(line.split()[2:4]) for line in open(os.path.join(folder, "builtin"))}
    functions = [f["function"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]]
    ours = {tuple(f.split()) for f in functions if "__builtin__" in f}
    assert ours <= theirs and {f[1] for f in ours} == {"[__builtin__ftrace]", "[__builtin__kprobes]"}, (ours, theirs)
    assert "[kernel]" not in functions
    check(trace)
    os.unlink(trace)
    return f"{total} calls of {len(traced)} functions; {late} noted late by ftrace, {dropped} dropped by it"


AROUND = 3000  # calls of a CPU


def explain_order(theirs, ours):
    """What ftrace cannot know, counted; whatever else differs fails. An interrupt may come between a function's
    entry and ftrace's note of it: the note stands later, on another CPU if the task moved meanwhile. And where
    an interrupt comes while ftrace takes a note, its protection against recursion drops calls. Never the other
    way: all that ftrace noted must be there. Ours may have more before and after, not in between. Returns how many
    were late, and how many dropped."""
    late, dropped, moved, lacking = 0, 0, collections.Counter(), []
    for c, want in theirs.items():
        got = ours[c]
        only_want, only_got = differences([w[0] for w in want], got)
        # entries that ftrace has not noted by then, by name, oldest first
        open_notes = collections.defaultdict(list)
        for w, g in sorted([(i, -1) for i in only_want] + [(i, j) for i, j in only_got]):
            if g >= 0:
                open_notes[got[g]].append(w)
            else:
                name = want[w][0]
                if open_notes[name]:
                    since = open_notes[name].pop(0)
                    assert any(n[1] for n in want[max(0, since - 6):w]), \
                        f"CPU {c}: {name} out of order at {w} with no interrupt near"
                    late += 1
                else:
                    lacking.append((c, w, name, [n[0] for n in want[max(0, w - 5):w + 5]]))
        for name, places in open_notes.items():
            dropped += len(places)
            moved[name] += len(places)
    for c, w, name, around in lacking:
        assert moved[name], f"CPU {c}: ftrace has {name} at {w}, upto has not: {around}; {len(lacking)} such"
        moved[name] -= 1
        late += 1
        dropped -= 1
    return late, dropped


def differences(a, b):
    """The shortest edit (Myers) from a to any part of b: the places of a that it lacks, and (place in a, place in b)
    of what it has besides."""
    # furthest place of a by diagonal (place of a - place of b); the part may begin at any of the first of b
    edge, history = {k: 0 for k in range(-min(len(b), 2 * AROUND), 1)}, []
    for d in range(max(200, len(a) // 40)):  # each that is late is two, and a hundredth may be
        for k, x in edge.items():
            while x < len(a) and 0 <= x - k < len(b) and a[x] == b[x - k]:
                x += 1
            edge[k] = x
            if x >= len(a):
                return backtrack(history, k, x)
        history.append(edge)
        # on by leaving out one of a, which the diagonal below had, or one of b, which the one above had
        edge = {k: max(history[d].get(k - 1, -2) + 1, history[d].get(k + 1, -1))
                for k in {n for k in edge for n in (k - 1, k, k + 1)} if -len(b) <= k}
        edge = {k: x for k, x in edge.items() if x >= 0 and x - k <= len(b)}
    raise AssertionError(f"more than {len(history)} differences")


def backtrack(history, k, x):
    only_a, only_b = [], []
    for edge in reversed(history):
        if edge.get(k - 1, -2) + 1 > edge.get(k + 1, -1):
            k, x = k - 1, edge[k - 1]
            only_a.append(x)
        else:
            k, x = k + 1, edge[k + 1]
            only_b.append((x, x - k))
    return only_a[::-1], only_b[::-1]


def read_graph(path):
    """Per PID, what function_graph wrote between the marks: [name, depth, microseconds] in the order of entry; None: it did not return there."""
    calls, open_calls, inside = collections.defaultdict(list), collections.defaultdict(list), False
    for line in open(path):
        m = re.match(r" \d+\)\s+.*-(\d+)\s+\|(.{15})\|  (.*)$", line)
        if not m:
            continue
        pid, what, took = int(m.group(1)), m.group(3).strip(), re.search(r"([\d.]+) us", m.group(2))
        us = float(took.group(1)) if took else None
        if what.startswith("/*"):
            inside = "mark-begin" in what
        elif what.startswith("}"):
            if open_calls[pid]:
                open_calls[pid].pop()[2] = us
        elif inside:
            call = [what.partition("(")[0], len(open_calls[pid]), us]
            calls[pid].append(call)
            if what.endswith("{"):
                open_calls[pid].append(call)
        elif what.endswith("{"):
            open_calls[pid].append([None, 0, None])
    return calls


def calls_between_marks(trace, functions):
    """The same of ours."""
    calls, open_calls = collections.defaultdict(list), collections.defaultdict(list)
    span = ["--from", "entry:tracing_mark_write", "--to", "entry:tracing_mark_write#2"]
    for step in upto_json("calls", "--json", *span, "--functions", ",".join(functions), trace)["calls"]:
        pid, took = step["pid"], step["duration_ns"]
        if step["function"] not in functions:
            continue  # what is there for others' sake
        if step["step"] != "leave":
            call = [step["function"], len(open_calls[pid]), took and took / 1000]
            calls[pid].append(call)
            if step["step"] == "enter":
                open_calls[pid].append(call)
        elif open_calls[pid] and open_calls[pid][-1][0] == step["function"]:
            call = open_calls[pid].pop()
            call[2] = took and took / 1000
            assert step["left"] == ("died" if step["function"] == "do_exit" else "returned"), step
    return calls


@pytest.mark.long
@pytest.mark.qemus
@pytest.mark.parametrize("version", [pytest.param("6.1", marks=pytest.mark.kernels), "6.12", pytest.param("7", marks=pytest.mark.kernels)])
@pytest.mark.weight(20)
def test_graph(version):
    """
    A guest that uses function_graph, and return probes: what they put in place of return addresses is followed, so calls are nested as the
    tracer shows them, take as long and a little more, and returns match.
    """
    name = os.path.join(WORK, f"graph-{version}")
    disk, trace = name + ".disk", name + ".upto"
    record(trace, qemu_args(version, initrd(version, "graph"), disk=disk), "--deterministic")
    folder = unpack_disk(disk, name)
    check(trace)
    returns = upto_json("check", "--json", trace)["returns"]
    assert returns["unmatched_kernel"] <= 3, returns
    functions = open(os.path.join(folder, "set_ftrace_filter")).read().split()
    theirs, ours = read_graph(os.path.join(folder, "trace")), calls_between_marks(trace, functions)
    compared, longer = 0, []
    for pid, calls in theirs.items():
        mine = ours[pid][-len(calls):] if pid == 1 else ours[pid]
        n = min(len(calls), len(mine))
        assert n and n >= len(calls) - 2, (pid, len(calls), len(mine))
        assert [c[:2] for c in calls[:n]] == [c[:2] for c in mine[:n]], (pid, calls[:9], mine[:9])
        longer += [b[2] - a[2] for a, b in zip(calls, mine) if a[2] and b[2]]
        compared += n
    # what the tracer does itself at entry and exit is within ours
    longer.sort()
    assert compared > 100 and 0 <= longer[0] and longer[-1] < 2, (compared, longer[:5], longer[-5:])
    handlers = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    hits = sum(int(line.split()[1]) for line in open(os.path.join(folder, "kprobe_profile")))
    assert handlers["return_to_handler"] > compared / 2 and handlers["arch_rethook_trampoline"] >= hits > 5, (handlers["return_to_handler"], hits)
    os.unlink(trace)
    return f"{compared} calls, {hits} return probes; longer by {longer[len(longer) // 2]:.1f} us, at most {longer[-1]:.1f}"


@pytest.mark.qemus
@pytest.mark.parametrize("version", [pytest.param("6.1", marks=pytest.mark.long), "6.12", pytest.param("7", marks=pytest.mark.long)])
@pytest.mark.weight(40)
def test_entries(version):
    """Each kernel function's entries are as many as executions of its first instruction, its own instructions as many as ran."""
    args = qemu_args(version, initrd(version, "plain"), whole=True)
    return entries.compare(os.path.join(WORK, f"entries-{version}"), args, symbols_of(version), "--deterministic")


@pytest.mark.qemus
@pytest.mark.weight(15)
def test_strace():
    """strace -f in the guest and upto syscalls: the same calls, in order, with the same results."""
    version = "6.12"
    name = os.path.join(WORK, "strace")
    disk, trace = name + ".disk", name + ".upto"
    image = initrd(version, "strace", *libraries_of("/usr/bin/strace"), "/usr/bin/strace=/usr/bin/strace")
    record(trace, qemu_args(version, image, disk=disk))
    folder = unpack_disk(disk, name)
    theirs, tasks = collections.defaultdict(list), []
    unfinished = {}
    for line in open(os.path.join(folder, "log"), errors="replace"):
        pid, rest = line.split(None, 1)
        if pid not in tasks:
            tasks.append(pid)
        m = re.match(r"<\.\.\. (\w+) resumed>.*= (\S+)", rest)
        if m:
            theirs[pid][unfinished.pop(pid)][1] = m.group(2)
            continue
        m = re.match(r"(\w+)\(", rest)
        if not m:
            continue
        result = re.search(r"\) += (\S+)", rest)
        if "unfinished ..." in rest:
            unfinished[pid] = len(theirs[pid])
        theirs[pid].append([m.group(1), result.group(1) if result else "?"])
    ours = collections.defaultdict(list)
    for c in upto_json("syscalls", "--json", trace)["syscalls"]:
        ours[c["task"]].append([c["name"], c["result"]])

    def result_of(text):
        if text == "?":
            return None
        if text.startswith("-1"):
            return "error"
        return int(text, 0)

    matched = 0
    for pid in tasks:
        want = [(n, result_of(r)) for n, r in theirs[pid]]
        found = False
        for calls in ours.values():
            got = [(n, "error" if r is not None and -4096 < r < 0 else r) for n, r in calls]
            # a task_struct is used again for later tasks: look for the run of calls
            first = want[0]
            for i in range(len(got) - len(want) + 1):
                if got[i][0] == first[0] and same_calls(want, got[i:i + len(want)]):
                    found = True
                    break
            if found:
                break
        assert found, f"pid {pid}: no task made these calls: {want[:8]}… ({len(want)})"
        matched += len(want)
    assert matched > 100, matched
    words = compare_words(trace, os.path.join(folder, "words"))
    os.unlink(trace)
    return f"{matched} calls of {len(tasks)} processes; {words} in words"


# calls whose arguments upto prints as strace does: all, or the first so many
WORDS = {"openat": 4, "mkdir": 2, "write": 3, "mprotect": 3, "close": 1, "dup2": 2, "lseek": 3, "execve": 1, "readlink": 1, "chdir": 1,
         "rename": 2, "unlink": 1, "chmod": 2, "mmap": 6, "munmap": 2, "kill": 2, "exit_group": 1, "brk": 1, "access": 2, "umask": 1}


def words_of(call):
    """Name and arguments, flags in no order."""
    name, rest = call.split("(", 1)
    # strace does not say which file a descriptor stands for
    rest = re.sub(r"^(\d+|AT_FDCWD)<[^>]*>", r"\1", rest)
    args = re.findall(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|[^,()" ][^,()"]*', rest)[:WORDS[name]]
    return [name] + ["|".join(sorted(a.strip().split("|"))) if "_" in a else a.strip() for a in args]


def compare_words(trace, log):
    theirs = collections.defaultdict(list)
    for line in open(log, errors="replace"):
        m = re.match(r"(\d+) +((\w+)\(.*?\)?)( = .*| <unfinished \.\.\.>)$", line.rstrip("\n"))
        if m and m.group(3) in WORDS:
            theirs[int(m.group(1))].append(words_of(m.group(2).rstrip(")")))
    ours = collections.defaultdict(list)
    for c in upto_json("syscalls", "--json", "--name", ",".join(WORDS), trace)["syscalls"]:
        ours[c["pid"]].append(words_of(c["call"].rstrip(")")))
    n = 0
    for pid, want in theirs.items():
        # the first that strace sees is the execve
        got = ours[pid][-len(want):]
        assert got == want, next((pid, a, b) for a, b in zip(want, got) if a != b)
        n += len(want)
    assert n > 80 and len(theirs) > 5, (n, len(theirs))
    return n


def same_calls(want, got):
    for (wn, wr), (gn, gr) in zip(want, got):
        if wn != gn:
            return False
        if wn == "rt_sigreturn" and gr is None:
            continue  # strace shows the register as it restores it
        if wr is not None and wr != (gr if gr == "error" or gr is None else gr):
            # strace shows addresses as unsigned
            if not (isinstance(wr, int) and isinstance(gr, int) and wr == gr % (1 << 64)):
                return False
    return True


def events_without_times(trace):
    """A digest of the event stream; interpolated times are not events."""
    return run(UPTO, "info", "--digest", trace).stdout


CLOCKED = "interrupt,syscall,syscall-return,halt,resume,task-switch,clock"
DUMPS = [["dump", "--kind", CLOCKED], ["dump", "--from", "1.5s", "--to", "1.51s"]]


def differing_answers(a, b, questions):
    """Which commands do not answer the same of two traces, in JSON; of info, what tells of the file and its making is left out."""
    def answer(trace, command):
        return run(UPTO, *command, "--json", trace).stdout.replace(trace.encode(), b"TRACE")

    def info(trace):
        said = json.loads(answer(trace, ["info"]))
        for key in ("bytes", "bytes_by_content"):
            del said[key]
        for key in ("started", "finished", "qemu_command", "qemu_inside", "stores_dropped", *(k for k in said["meta"] if k.startswith("run."))):
            del said["meta"][key]
        return said

    last = json.loads(answer(a, ["info"]))["duration_ns"]
    stacks = [["stack", "--at", f"{last * i // 7 / 1e9:.6f}s"] for i in range(2, 7)]
    different = [" ".join(c) for c in DUMPS + stacks if answer(a, c) != answer(b, c)] + list(same_answers.differences((UPTO, UPTO), (a, b), questions))
    return different + (["info"] if info(a) != info(b) else [])


@pytest.mark.qemus
@pytest.mark.parametrize("version", [pytest.param("6.1", marks=pytest.mark.long), "6.12"])
@pytest.mark.weight(20)
def test_deterministic(version):
    """
    Two recordings of a deterministic boot are equal, event for event, every command answers the same of both, times too,
    and they count as QEMU's own icount does. Beside another plugin, which may ask for values, the second has QEMU's code as
    it is, where the first took stores out of it.
    """
    digests, dropped, traces = [], [], []
    idle = ["-plugin", os.path.join(CHECK, "tests/idle.so")]
    for i, more in (1, []), (2, idle):
        trace = os.path.join(WORK, f"deterministic-{version}-{i}.upto")
        record(trace, qemu_args(version, initrd(version, "plain")), "--deterministic", more=more)
        check(trace)
        digests.append(events_without_times(trace))
        dropped.append(int(decoder.Trace(trace).meta["stores_dropped"]))
        traces.append(trace)
    assert digests[0] == digests[1], "two recordings differ"
    # of events that are the same
    different = differing_answers(*traces, same_answers.QUESTIONS[::1 if version == "6.1" else 4])
    assert not different, different
    qemu = run("qemu-system-x86_64", "--version").stdout.decode()
    assert dropped[1] == 0 and (dropped[0] > 100000) == ("version 10.0." in qemu), (dropped, qemu)
    # under -icount shift=0 QEMU's clock advances 1 ns an instruction, but for halts and its own liberties with devices
    meta = decoder.Trace(trace).meta
    drift = int(meta["time_drift"])
    assert abs(drift) <= 100, f"QEMU counted {drift} instructions more"
    assert meta["time_strays"] == "0", meta
    for trace in traces:
        os.unlink(trace)
    return f"QEMU counted {drift} instructions more; {dropped[0]} stores taken out"


def up_to_power_off(trace, *question):
    """What upto answers of all that came before the machine was asked to power off, which a replay does not see to its end."""
    last = [c for c in upto_json("syscalls", "--json", trace)["syscalls"] if c["name"] == "reboot"][-1]
    return run(UPTO, *question, "--json", "--to", f"{last['start_ns']}ns", trace).stdout


@pytest.mark.kernels
@pytest.mark.weight(60)
def test_replayed():
    """A boot that QEMU records, and its replay, run the same instructions: traced, both are the same to the nanosecond."""
    answers = []
    for mode in ("record", "replay"):
        trace, log = os.path.join(WORK, f"rr-{mode}.upto"), os.path.join(WORK, "rr.log")
        record(trace, qemu_args("6.12", initrd("6.12", "ps")) + ["-icount", f"shift=0,rr={mode},rrfile={log}", "-seed", "1"])
        check(trace)
        answers.append([up_to_power_off(trace, *q) for q in (["top", "-n", "0"], ["syscalls", "-n", "0"], ["dump", "-k", "call-indirect"])])
        os.unlink(trace)
    assert answers[0] == answers[1]
    top = json.loads(answers[0][0])["functions"]
    user = [f for f in top if f["object"] and f["calls"]]
    assert len(top) > 5000 and user, (len(top), user)
    return f"{len(top)} functions, {sum(f['self_insns'] for f in top)} instructions; in user code {sum(f['self_insns'] for f in user)}"
