# SPDX-License-Identifier: GPL-2.0-or-later
"""upto thin, and the same options while reading: held against the whole trace, cut and filtered here, call by call."""
import collections
import fnmatch
import functools
import json
import os
import resource
import signal

import pytest

import decoder
from guest import UPTO, WORK, once_a_run, run, upto_json
from test_cli import fails, tiny
from test_code import recording

SMPS = [1, 2]
FAULT = "handle_mm_fault"
# from one program's begin to the next one's: all that these tests look at one by one
SPAN = ["--start", "exec:exe#2", "--stop", "exec:exe"]


def thinned(name, trace, *options):
    """A thinned trace; upto check finds nothing in it."""
    path = os.path.join(WORK, f"thin-{name}.upto")
    run(UPTO, "thin", *options, "-o", path, trace)
    p = run(UPTO, "check", path, check=False)
    assert p.returncode == 0, (options, p.stdout.decode())
    return path


def whole(smp):
    return recording("6.12", smp)[0]


def base(smp):
    """A span of some ten milliseconds, itself thinned: about 70 000 events."""
    path = os.path.join(WORK, f"thin-base-{smp}.upto")
    os.path.exists(path) or once_a_run(path, lambda: thinned(f"base-{smp}", whole(smp), *SPAN))
    return path


def dump(trace, *options):
    return [json.loads(line) for line in run(UPTO, "dump", "--json", *options, trace).stdout.splitlines()]


@functools.cache
def events(smp):
    return dump(base(smp))


def without_gaps(dumped):
    """The events without clocks and gaps, and without the halts that only say how a vCPU stood behind one."""
    out, behind = [], set()
    for e in dumped:
        if e["kind"] == "gap":
            behind.add(e["cpu"])
        elif e["kind"] == "clock":
            continue
        elif not (e["kind"] == "halt" and e["cpu"] in behind):
            out.append(e)
            behind.discard(e["cpu"])
    return out


def top(trace, *options):
    return upto_json("top", "--json", "-n", "0", *options, trace)


class Call:
    """A call of the flow; how it ended is None if it did not."""
    def __init__(self, step, parent):
        self.step, self.parent, self.ended = step, parent, step["step"] == "call"

    @property
    def name(self):
        return self.step["function"].split(" [")[0]

    @property
    def object(self):
        """The module, program or library; empty: the kernel."""
        return self.step["function"].rpartition("[")[2].rstrip("]") if self.step["function"].endswith("]") else ""

    @property
    def duration(self):
        return self.step["duration_ns"] if self.ended else float("inf")

    def line(self):
        """From here outwards."""
        while self:
            yield self
            self = self.parent

    def moments(self):
        s = self.step
        return {s["entry_ns"], s["entry_ns"] + s["duration_ns"]} if self.ended else {s["entry_ns"]}

    def key(self):
        s = self.step
        end = (s["duration_ns"], s["insns"], s["ns"], s["left"]) if self.ended else None
        return s["function"], s["kind"], s["pid"], s["comm"], s["entry_ns"], end


def flow(trace, *options):
    """All calls of a trace."""
    calls, stacks = [], collections.defaultdict(list)
    for s in upto_json("calls", "--json", "--thunks", *options, trace)["calls"]:
        stack = stacks[s["pid"], s["pid"] or s["cpu"]]
        if s["step"] == "leave":
            same = [i for i, c in enumerate(stack) if all(c.step[k] == s[k] for k in ("function", "kind", "entry_ns"))]
            stack[same[-1]].step, stack[same[-1]].ended = s, True
            del stack[same[-1]:]
            continue
        calls.append(Call(s, stack[-1] if stack else None))
        if s["step"] == "enter":
            stack.append(calls[-1])
    return calls


@functools.cache
def base_flow(smp):
    return flow(base(smp))


def in_interrupt(call):
    return any(c.step["kind"] == "interrupt" for c in call.line())


def is_below(call, name):
    return any(c.name == name for c in call.line())


def depth(call, below=None):
    """Levels from the innermost call that begins something."""
    for n, c in enumerate(call.line(), 1):
        if not c.parent or (c.name == below if below else c.step["kind"] in ("interrupt", "syscall", "signal")):
            return n


def is_kernel(call):
    return call.object in ("", "kernel", *MODULES)


MODULES = {"virtio", "virtio_ring", "virtio_pci", "virtio_blk", "bpf", "__builtin__ftrace", "__builtin__kprobes"}
# by options: which calls they choose
FILTERS = {
    "--min-duration 20us": lambda c: c.duration >= 20000,
    "--max-duration 2us": lambda c: c.duration <= 2000,
    "--min-duration 2us --max-duration 20us": lambda c: 2000 <= c.duration <= 20000,
    "--no-interrupts": lambda c: not in_interrupt(c),
    "--only-interrupts": in_interrupt,
    "--functions *read*,do_exit": lambda c: fnmatch.fnmatchcase(c.name, "*read*") or c.name == "do_exit",
    "--not *lock*": lambda c: "lock" not in c.name,
    "--functions *mm* --not handle_mm*": lambda c: "mm" in c.name and not c.name.startswith("handle_mm"),
    f"--below {FAULT}": lambda c: is_below(c, FAULT),
    "--depth 2": lambda c: depth(c) <= 2,
    f"--below {FAULT} --depth 2": lambda c: is_below(c, FAULT) and depth(c, FAULT) <= 2,
    "--comm rcu*,exe": lambda c: c.step["pid"] in EXE or c.step["comm"].startswith("rcu"),
    "--module story,libplug*": lambda c: c.object in ("story", "libplug.so"),
    "--user --no-interrupts": lambda c: not in_interrupt(c) and not is_kernel(c),
    "--kernel": is_kernel,
    "--pid exe": lambda c: c.step["pid"] in EXE,
}
# with one vCPU these are enough
FEW = ["--min-duration 20us", "--no-interrupts", "--depth 2", "--module story,libplug*"]
EXE = set()  # threads that had that name at any time


def unexplained(calls, chosen):
    """
    Those of the calls that nobody asked for and no call needs. Needed are calls that one event enters or leaves together with one that
    remains; and do_task_dead(), and the system call that made a thread. What was under way on a thread when the trace began has no
    entry to leave out. A child begins with copies of its maker's calls, of which either remains with the other.
    """
    times, who, rest = collections.defaultdict(set), collections.defaultdict(set), calls
    explained = [c for c in calls if chosen(c) or not c.parent or c.name == "do_task_dead" or c.step["kind"] == "syscall"]
    while explained:
        for c in explained:
            times[c.step["pid"]] |= c.moments()
            who[c.step["function"]].add(c.step["pid"])
        known = set(map(id, explained))
        rest = [c for c in rest if id(c) not in known]
        explained = [c for c in rest if c.moments() & times[c.step["pid"]] or
                     (c.object and not c.ended and who[c.step["function"]] - {c.step["pid"]})]
    return rest


@pytest.mark.parametrize("smp", SMPS)
@pytest.mark.weight(20)
def test_filters(smp):
    """What remains is what is asked for, each call as it was, with next to nothing besides; and top says what it said."""
    trace, calls = base(smp), base_flow(smp)
    before = [top(trace), top(trace, "--thunks")]
    kept = {}
    EXE.clear()
    EXE.update(p["pid"] for p in upto_json("ps", "--json", base(smp))["processes"] if p["comm"] == "exe")
    for options, chosen in FILTERS.items():
        if smp == 1 and options not in FEW:
            continue
        path = thinned(f"filter-{smp}", trace, *options.split())
        got = flow(path)
        keys = collections.Counter(c.key() for c in got)
        # what began before the trace did is not compared: its begin is where it is first seen
        missing = collections.Counter(c.key() for c in calls if chosen(c) and c.parent) - keys
        assert not missing, (options, len(missing), list(missing)[:3])
        invented = collections.Counter(c.key() for c in got if c.parent) - collections.Counter(c.key() for c in calls)
        assert not invented, (options, len(invented), list(invented)[:3])
        odd = unexplained(got, chosen)
        assert not odd, (options, len(odd), [c.key() for c in odd[:3]])
        assert before == [top(path), top(path, "--thunks")], options
        kept[options] = len(got)
    assert min(kept.values()) < len(calls) / 50, kept
    return str(kept)


def exits(all_events, function):
    """Numbers of the events that end calls of the function: of each the return that reads what the call pushed."""
    out, open_calls = {}, {}
    for i, e in enumerate(all_events):
        if e["kind"] in ("call", "call-indirect"):
            open_calls[e["slot"]] = i
        elif e["kind"] == "return" and e["slot"] in open_calls:
            begin = all_events[open_calls.pop(e["slot"])]
            if begin["from"] == e["target"] and begin["place"] == function:
                out[i] = True
    return out


def spans(all_events, start, stop=None, every=False, before=0):
    """
    The numbers of the events in the spans, by rules of this test's own: an event that enters or leaves a function belongs to the span,
    a moment lies before the first event that is not earlier.
    """
    def condition(what):
        if not what:
            return lambda i: False
        kind, _, rest = what.partition(":") if ":" in what else ("entry", "", what)
        text, _, nth = rest.partition("#")
        left = [int(nth or 1)]
        if kind == "time":
            return lambda i: all_events[i]["ns"] >= int(text.removesuffix("ns"))
        ends = exits(all_events, text)

        def holds(i):
            hit = i in ends if kind == "exit" else all_events[i].get("place") == text and all_events[i]["kind"] != "return"
            left[0] -= hit
            if hit and left[0] <= 0:
                left[0] = int(nth or 1)
                return True
            return False
        return holds

    chosen, on, over, begins, ends = [], False, False, condition(start), condition(stop)
    last = 0
    for i, e in enumerate(all_events):
        if on and stop and stop.startswith("time:") and ends(i):
            on, over, last = False, not every, i
        if not on and not over and begins(i):
            on = True
            chosen += [k for k in range(last, i) if all_events[k]["ns"] >= e["ns"] - before] if before else []
            chosen.append(i)
        elif on:
            chosen.append(i)
            if stop and not stop.startswith("time:") and ends(i):
                on, over, last = False, not every, i + 1
    return chosen


CUTS = {
    "entry": (f"entry:{FAULT}", f"exit:{FAULT}", False, 0),
    "bare": (FAULT, f"exit:{FAULT}", False, 0),
    "nth": (f"entry:{FAULT}#7", f"entry:{FAULT}#3", False, 0),
    "exit": (f"exit:{FAULT}", f"exit:{FAULT}#2", False, 0),
    "exit-entry": (f"exit:{FAULT}#2", f"entry:{FAULT}", False, 0),
    "every": (f"entry:{FAULT}", f"exit:{FAULT}", True, 0),
    "every-other": (f"entry:{FAULT}#2", f"exit:{FAULT}", True, 0),
    "before": (f"entry:{FAULT}#9", f"exit:{FAULT}", False, 50000),
    "every-before": (f"entry:{FAULT}#9", f"exit:{FAULT}", True, 20000),
    "time": ("time:MIDDLE", "time:LATER", False, 0),
    "time-entry": ("time:MIDDLE", f"entry:{FAULT}", False, 0),
    "open": (f"entry:{FAULT}#90", None, False, 0),
}


def cut_options(smp, name):
    times = {"MIDDLE": events(smp)[len(events(smp)) // 2]["ns"], "LATER": events(smp)[len(events(smp)) * 2 // 3]["ns"]}
    start, stop, every, before = CUTS[name]
    for word, ns in times.items():
        start, stop = start.replace(word, f"{ns}ns"), stop and stop.replace(word, f"{ns}ns")
    options = ["--start", start] + (["--stop", stop] if stop else []) + (["--every"] if every else []) + \
        (["--before", f"{before}ns"] if before else [])
    return options, (start, stop, every, before)


@pytest.mark.parametrize("smp", SMPS)
@pytest.mark.weight(15)
def test_spans(smp):
    """A span has the very events that lie between its conditions, and no other; its functions have their instructions."""
    everything, counts = without_gaps(events(smp)), {}
    for name in CUTS:
        options, asked = cut_options(smp, name)
        want = spans(everything, *asked)
        path = thinned(f"span-{smp}", base(smp), *options)
        got, dumped = without_gaps(dump(path)), dump(path)
        expected = [everything[i] for i in want]
        # between clocks times are interpolated, and rounded: a span's first and last clock may be others
        differ = [(a, b) for a, b in zip(got, expected) if {**a, "ns": 0} != {**b, "ns": 0} or abs(a["ns"] - b["ns"]) > 2]
        assert not differ and len(got) == len(expected), (name, len(got), len(expected), differ[:2])
        # gaps, in the order of time, tell where each span begins
        ran, at = 0, {}
        for e in dumped:
            if e["kind"] != "gap":
                ran += e["insns"] - at.get(e["cpu"], e["insns"])
            at[e["cpu"]] = e["insns"]
        assert ran == sum(f["self_insns"] for f in top(path)["functions"]), name
        info = upto_json("info", "--json", path)
        n_spans = len([k for k in info["meta"] if k.startswith("span.") and k.endswith("start_ns")])
        assert n_spans == (sum(i - 1 not in want for i in want) if asked[2] and not asked[3] else n_spans), name
        counts[name] = len(got)
    assert len(set(counts.values())) > 8 and min(counts.values()) > 2, counts
    return str(counts)
