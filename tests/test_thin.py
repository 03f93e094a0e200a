# SPDX-License-Identifier: GPL-2.0-or-later
"""upto thin, and the same options while reading: held against the whole trace, cut and filtered here, call by call."""
import collections
import fnmatch
import functools
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess

import pytest

import decoder
from guest import UPTO, UPTO_ASAN, WORK, check, once_a_run, run, upto_json
from test_cli import fails, keeps_others, tiny
from test_code import recording
from test_format import check_joints

SMPS = [1, 2]
FAULT = "handle_mm_fault"
# from one program's begin to the next one's: all that these tests look at one by one
SPAN = ["--start", "exec:exe#2", "--stop", "exec:exe"]


def thinned(name, trace, *options, upto=UPTO):
    """A thinned trace; upto check finds nothing in it."""
    path = os.path.join(WORK, f"thin-{name}.upto")
    run(upto, "thin", "-f", *options, "-o", path, trace)
    p = run(UPTO, "check", path, check=False)
    assert p.returncode == 0, (options, p.stdout.decode())
    return path


def whole(smp):
    return recording("6.12", smp)[0]


def base(smp):
    """A span of some ten milliseconds, itself thinned: about 70 000 events."""
    path = os.path.join(WORK, f"thin-base-{smp}.upto")
    once_a_run(path, lambda: thinned(f"base-{smp}", whole(smp), *SPAN))
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
    """What it says of functions; of what was left out of the trace, see test_top()."""
    answer = upto_json("top", "--json", "-n", "0", *options, trace)
    answer.pop("left_out", None)
    return answer


def ran(answer):
    """What ran, of top's answer. A trace that was thinned to threads has what others did where a span begins as calls without time, and no jumps within
    code without names; and what is rounded off goes to other rows."""
    return {(r["function"], r["section"], r["address"]): [v for k, v in r.items() if k not in ("calls", "self_ns")]
            for r in answer["functions"] if r["self_insns"]}


class Call:
    """A call of the flow; how it ended is None if it did not, or that is not here."""
    def __init__(self, step, parent):
        self.step, self.parent = step, parent

    @property
    def ended(self):
        return self.step.get("left", "lost") != "lost"

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
        return {s["start_ns"], s["start_ns"] + s["duration_ns"]} if self.ended else {s["start_ns"]}

    def key(self):
        s = self.step
        end = (s["duration_ns"], s["insns"], s["ns"], s["left"]) if self.ended else None
        return s["function"], s["kind"], s["pid"], s["comm"], s["start_ns"], end


def flow(trace, *options):
    """All calls of a trace."""
    calls, stacks = [], collections.defaultdict(list)
    for s in upto_json("calls", "--json", "--thunks", *options, trace)["calls"]:
        if s["step"] == "leave" and s["left"] == "lost":
            stacks.clear()  # behind a gap nothing is under way
            continue
        stack = stacks[s["pid"], s["pid"] or s["cpu"]]
        if s["step"] == "leave":
            same = [i for i, c in enumerate(stack) if all(c.step[k] == s[k] for k in ("function", "kind", "start_ns"))]
            # a call in which none is shown is one step, with the name that its thread had when it began
            stack[same[-1]].step = {**s, "comm": stack[same[-1]].step["comm"]}
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


def is_thunk(call):
    return is_kernel(call) and re.match(r"(__pi_)?(__x86_(indirect|return)_|__SCT__|__fentry__$|entry_untrain_ret$|\w+_(untrain_ret|safe_ret|return_thunk)$)", call.name)


def depth(call, below=None):
    """Levels from the innermost call that begins something. Thunks are none."""
    n = 1
    for c in call.line():
        if not c.parent or (c.name == below if below else c.step["kind"] in ("interrupt", "syscall", "signal")):
            return n
        n += not is_thunk(c)


def is_kernel(call):
    return call.object in ("", "kernel", *MODULES)


def is_user(call):
    return not is_kernel(call) and call.object not in ("firmware", "decompressor", "unknown")


MODULES = {"virtio", "virtio_ring", "virtio_pci", "virtio_blk", "brd", "bpf", "__builtin__ftrace", "__builtin__kprobes"}
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
    "--user --no-interrupts": lambda c: not in_interrupt(c) and is_user(c),
    "--kernel": is_kernel,
    "--pid exe": lambda c: c.step["pid"] in EXE,
}
# with one vCPU these are enough
FEW = ["--min-duration 20us", "--no-interrupts", "--depth 2", "--module story,libplug*"]
EXE = set()  # threads that had that name at any time


def unexplained(calls, chosen):
    """
    Those of the calls that nobody asked for and no call needs. Needed are calls that one event enters or leaves together with one that
    remains, as one return will leave a tail call and what it lies in, also where the trace ends before; and do_task_dead(), and the system
    call that made a thread. What was under way on a thread when the trace began has no entry to leave out. A child begins with copies of its
    maker's calls, of which either remains with the other.
    """
    times, who, tails, rest = collections.defaultdict(set), collections.defaultdict(set), set(), calls
    explained = [c for c in calls if chosen(c) or not c.parent or c.name == "do_task_dead" or c.step["kind"] == "syscall"]
    while explained:
        for c in explained:
            times[c.step["pid"]] |= c.moments()
            who[c.step["function"]].add(c.step["pid"])
            tails |= {id(c.parent)} if c.step["kind"] == "tail" else set()
        known = set(map(id, explained))
        rest = [c for c in rest if id(c) not in known]
        explained = [c for c in rest if c.moments() & times[c.step["pid"]] or id(c) in tails or
                     (c.object and who[c.step["function"]] - {c.step["pid"]})]
    return rest


def tops(trace, *options):
    return [top(trace, *options), top(trace, "--thunks", *options)]


def of_threads(options):
    """Of a filter's options, those that choose threads: sums are of all that these ran."""
    words = options.split()
    at = next((i for i, word in enumerate(words) if word in ("--pid", "--comm")), len(words))
    return words[at:at + 2]


def named(trace, name):
    """PIDs of the threads that had this name at any time."""
    pids, t = set(), decoder.Trace(trace)
    for chunk in t.chunks:
        c = decoder.Cursor(t.payload(chunk)) if chunk.type == decoder.TASKS else None
        while c and c.left():
            c.u8(), [c.varint() for _ in range(6)]
            pid, _, _, comm, _ = c.svarint(), c.svarint(), c.svarint(), c.string(), c.string()
            pids |= {pid} if comm == name else set()
    return pids


def look_for_exe(trace):
    EXE.clear()
    EXE.update(named(trace, "exe"))


def check_filter(name, trace, calls, before, options):
    """
    Of a trace with those calls and that top, a filter's trace has what is asked for, each call as it was, with next to nothing besides;
    and top says what it said. The calls that remain.
    """
    chosen, path = FILTERS[options], thinned(name, trace, *options.split())
    got = flow(path)
    keys = collections.Counter(c.key() for c in got)
    # what began before the trace did is not compared: its begin is where it is first seen
    missing = collections.Counter(c.key() for c in calls if chosen(c) and c.parent) - keys
    assert not missing, (options, len(missing), list(missing)[:3])
    invented = collections.Counter(c.key() for c in got if c.parent) - collections.Counter(c.key() for c in calls)
    assert not invented, (options, len(invented), list(invented)[:3])
    odd = unexplained(got, chosen)
    assert not odd, (options, len(odd), [c.key() for c in odd[:3]])
    ends = set().union(*(c.moments() for c in got))
    within = [e for e in dump(path) if e["kind"] in ("jump", "jump-indirect", "arrive") and e["ns"] not in ends]
    assert not within, (options, len(within), within[:3])
    theirs = of_threads(options)
    if theirs:
        assert [ran(t) for t in tops(trace, *theirs)] == [ran(t) for t in tops(path)], options
    else:
        assert before == tops(path), options
    return got


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.long
@pytest.mark.weight(20)
def test_filters(smp):
    """What remains of a span of many calls, by each of the filters."""
    trace, calls, before, kept = base(smp), base_flow(smp), tops(base(smp)), {}
    look_for_exe(trace)
    for options in FILTERS if smp > 1 else FEW:
        kept[options] = len(check_filter(f"filter-{smp}", trace, calls, before, options))
    assert min(kept.values()) < len(calls) / 50, kept
    return str(kept)


def exits(all_events, function):
    """
    Numbers of the events that end calls of the function: of each the return that reads what the call pushed; and of one from before
    the gap, whose push is not here, the return of whoever is in the function then.
    """
    out, open_calls, current = {}, {}, {}
    for i, e in enumerate(all_events):
        if e["kind"] in ("call", "call-indirect"):
            open_calls[e["slot"]] = i
        elif e["kind"] == "return" and e["slot"] in open_calls:
            begin = all_events[open_calls.pop(e["slot"])]
            if begin["from"] == e["target"] and begin["place"] == function:
                out[i] = True
        elif e["kind"] == "return" and current.get(e["cpu"]) == function:
            out[i] = True
        if "place" in e:
            current[e["cpu"]] = e["place"].partition("+")[0]
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
    "every-before": (f"entry:{FAULT}#2", f"exit:{FAULT}", True, 20000),
    "time": ("time:MIDDLE", "time:LATER", False, 0),
    "time-entry": ("time:MIDDLE", f"entry:{FAULT}", False, 0),
    "open": (f"entry:{FAULT}#40", None, False, 0),
}


def cut_options(smp, name):
    times = {"MIDDLE": events(smp)[len(events(smp)) // 2]["ns"], "LATER": events(smp)[len(events(smp)) * 2 // 3]["ns"]}
    start, stop, every, before = CUTS[name]
    for word, ns in times.items():
        start, stop = start.replace(word, f"{ns}ns"), stop and stop.replace(word, f"{ns}ns")
    options = ["--start", start] + (["--stop", stop] if stop else []) + (["--every"] if every else []) + \
        (["--before", f"{before}ns"] if before else [])
    return options, (start, stop, every, before)


@pytest.mark.long
@pytest.mark.parametrize("smp", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.weight(15)
def test_spans(smp):
    """A span has the very events that lie between its conditions, and no other; its functions have their instructions."""
    everything, counts = without_gaps(events(smp)), {}
    for name in CUTS:
        options, asked = cut_options(smp, name)
        want = spans(everything, *asked)
        # so many spans that their list moves while one is put there that begins where the one before it ended
        path = thinned(f"span-{smp}", base(smp), *options, upto=UPTO_ASAN if name == "every-before" else UPTO)
        got, dumped = without_gaps(dump(path)), dump(path)
        expected = [everything[i] for i in want]
        # by vCPU: a nanosecond decides how they are merged
        got, expected = (sorted(part, key=lambda e: e["cpu"]) for part in (got, expected))
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
        told = [[int(info["meta"][f"span.{i + 1}.{end}"]) for end in ("start_ns", "stop_ns")]
                for i in range(sum(k.endswith(".stop_ns") for k in info["meta"]))]
        outside = [e for e in got if not any(a - 2 <= e["ns"] <= b + 2 for a, b in told)]
        assert not outside, (name, told[:3], outside[:2])
        n_spans = len([k for k in info["meta"] if k.startswith("span.") and k.endswith("start_ns")])
        if asked[2] and not asked[3]:
            assert n_spans == sum(i - 1 not in want for i in want), (name, n_spans)
        else:
            assert n_spans >= 1 if asked[2] else n_spans == 1, (name, n_spans)
        counts[name] = len(got)
    assert len(set(counts.values())) > 8 and min(counts.values()) > 2, counts
    return str(counts)


# by number of vCPUs
SEEDS = {1: [1, 2], 2: [8, 9]}


def part_of(smp, rng):
    """A span that begins in the middle of a call, of a function that is as likely as any other, and ends wherever it does."""
    name = rng.choice(sorted({c.name for c in base_flow(smp)}))
    call = rng.choice([c for c in base_flow(smp) if c.name == name])
    start = call.step["start_ns"] + rng.randint(0, int(min(call.duration, 1000000)))
    start = min(start, max(c.step["start_ns"] for c in base_flow(smp)))
    return ["--start", f"time:{start}ns", "--stop", f"time:{start + int(100000 * 50 ** rng.random())}ns"]


@pytest.mark.parametrize("smp", [pytest.param(1, marks=pytest.mark.kernels), 2])
@pytest.mark.long
@pytest.mark.weight(12)
def test_middles(smp):
    """The same of spans that begin in the middle of something, and of many; and what a filter left is filtered again, or cut."""
    counts = []
    for seed, span in [*((n, part_of(smp, random.Random(n))) for n in SEEDS[smp]), (0, cut_options(smp, "every")[0])]:
        first, second = random.Random(seed).sample(list(FILTERS), 2)
        trace = thinned(f"middle-{smp}", base(smp), *span)
        calls, before = flow(trace), tops(trace)
        look_for_exe(trace)
        for options in FILTERS if smp > 1 else FEW:
            check_filter(f"middle-filter-{smp}", trace, calls, before, options)
        once = thinned(f"middle-once-{smp}", trace, *first.split())
        check_filter(f"middle-filter-{smp}", once, flow(once), before, second)
        # what was left out before is known of all, and not of a part
        part = thinned(f"middle-part-{smp}", once, "--start", f"time:{sorted(c.step['start_ns'] for c in calls)[len(calls) // 2]}ns")
        assert sum(f["calls"] for f in top(part)["functions"]) <= len(flow(part)), (span, first)
        counts.append(len(calls))
    return str(counts)


def begin_of(path, what="start"):
    return int(upto_json("info", "--json", path)["meta"][f"span.1.{what}_ns"])


def program_begins(trace):
    """When threads got the name exe, about when they executed it."""
    return sorted(p["start_ns"] for p in upto_json("ps", "--json", trace)["processes"] if p["comm"] == "exe")


@pytest.mark.long
@pytest.mark.weight(12)
def test_whole():
    """Of a whole recording: a program's begin, a line of the log; events as the whole has them, and sums of a filter."""
    trace = whole(2)
    for path, begin in ((base(2), "exe"), (thinned("log", trace, "--start", "log:Run /init as init", "--limit", "3000"), None)):
        begin_ns = begin_of(path)
        told_ns = program_begins(trace)[-2] if begin else \
            next(r["ns"] for r in upto_json("log", "--json", trace)["log"] if "Run /init as init" in r["text"])
        assert abs(begin_ns - told_ns) < 100000, (begin, begin_ns, told_ns)
        # of the vCPU that has most of its first events: the other one may have none for long
        cpu = collections.Counter(e["cpu"] for e in without_gaps(dump(path, "-n", "2100"))).most_common(1)[0][0]
        want = without_gaps(dump(trace, "--cpu", str(cpu), "--from", f"{begin_ns}ns", "-n", "2000"))
        got = without_gaps(dump(path, "--cpu", str(cpu), "-n", "2000"))
        skipped = next(i for i, e in enumerate(want) if e["insns"] == got[0]["insns"] and e["kind"] == got[0]["kind"])
        # what has the moment's own time may be before it
        assert skipped < 10, (begin, skipped)
        same = [({**a, "ns": 0}, {**b, "ns": 0}) for a, b in zip(want[skipped:], got)]
        differ = [(a, b) for a, b in same if a != b]
        assert len(same) > 200 and not differ, (begin, len(same), differ[:1])
    path = thinned("filtered", trace, "--below", "vfs_read", "--depth", "2")
    assert top(path) == top(trace) and top(path, "--thunks") == top(trace, "--thunks")
    for asked in (["top", "--by", "process"], ["top", "--by", "thread"], ["ps"]):
        assert upto_json(*asked, "--json", path) == upto_json(*asked, "--json", trace), asked
    return f"{len(dump(path))} events"


@pytest.mark.weight(8)
def test_limit():
    """The first of the events, or the last; and no more."""
    trace, everything = base(1), without_gaps(events(1))
    for keep, part in (("first", everything[:500]), ("last", everything[-500:])):
        got = without_gaps(dump(thinned("limit", trace, "--limit", "500", "--keep", keep)))
        n = len(got)
        assert 480 <= n <= 500 and sum({**a, "ns": 0} == {**b, "ns": 0} for a, b in zip(got, part[:n] if keep == "first" else part[-n:])) == n, (keep, n)
    calls = dump(thinned("limit", trace, "--limit", "100", "--functions", FAULT))
    assert sum(e.get("place") == FAULT for e in calls) > 10
    # no more than there is
    assert without_gaps(dump(thinned("limit", trace, "--limit", "1000000", "--keep", "last"))) == everything


def recorded(path, *options):
    return [(r["name"], str(r["start_ns"]), str(r["end_ns"])) for r in upto_json("timeline", "--json", *options, path)["timeline"]
            if r["kind"] == "recorded"]


@pytest.mark.long
@pytest.mark.weight(20)
def test_recorded_rows():
    """The timeline lists each span, with its times and what began it; of many it says how many more there are."""
    for options, least in ((f"--start entry:{FAULT} --stop exit:{FAULT} --every", 12), ("--start log:Run /init --stop +5ms", 1)):
        words = options.split() if least > 1 else ["--start", "log:Run /init as init", "--stop", "+5ms"]
        path = thinned(f"rows-{least}", base(2) if least > 1 else whole(2), *words)
        meta = upto_json("info", "--json", path)["meta"]
        told = [(words[1], meta[f"span.{i}.start_ns"], meta[f"span.{i}.stop_ns"])
                for i in range(1, sum(k.endswith(".start_ns") for k in meta) + 1)]
        assert len(told) >= least and recorded(path) == recorded(path, "--kind", "recorded") == told, (told, recorded(path))
        # to people, no fewer than ten, and the others as a number
        lines = run(UPTO, "timeline", "--min", "1s", path).stdout.decode().splitlines()
        shown = [line for line in lines if words[1] in line]
        assert len(shown) == min(len(told), 10), lines
        assert (len(told) <= 10) or any(re.search(r"… \d+ more", line) for line in lines), lines
        rows = upto_json("timeline", "--json", "--kind", "recorded", path)["timeline"]
        assert all(0 < r["cpu_ns"] <= 2 * (r["end_ns"] - r["start_ns"]) for r in rows), rows
    # filtered afterwards, they began with the same
    assert {name for name, *_ in recorded(thinned("rows-less", path, "--min-duration", "1us"))} == {words[1]}
    assert not recorded(whole(2))


def under_way_at_end(trace):
    """The functions of calls that the trace's events enter and do not leave, and of those that they jump to."""
    entered, last = {}, {}
    for e in dump(trace):
        if e["kind"] in ("call", "call-indirect"):
            entered[e["slot"]] = [e["place"]]
            last[e["cpu"]] = e["slot"]
        elif e["kind"] in ("jump", "jump-indirect"):
            entered.setdefault(last.get(e["cpu"]), []).append(e["place"])
        elif e["kind"] == "return":
            entered.pop(e["slot"], None)
    return {place for places in entered.values() for place in places}


LIMITS = ["--functions *alloc* --limit 300", "--functions *alloc* --limit 300 --keep last", "--min-duration 20us --limit 200",
          "--no-interrupts --depth 2 --limit 500 --keep last", "--limit 3000"]


@pytest.mark.parametrize("smp", SMPS)
@pytest.mark.parametrize("options", LIMITS)
@pytest.mark.weight(6)
def test_limited_sums(smp, options):
    """What a filter leaves out is in the sums as far as the limit goes, to the instruction; what the limit cuts off is not, as behind a gap."""
    trace, last, name = base(smp), "last" in options, f"limited-{smp}-{LIMITS.index(options)}"
    path = thinned(name, trace, *options.split())
    info = upto_json("info", "--json", path)
    begin, end = (info["meta"][f"span.1.{which}_ns"] for which in ("start", "stop"))
    # a gap and a last clock of each vCPU are none of those
    assert info["events"] <= int(re.search(r"--limit (\d+)", options)[1]) + 2 * smp, info["events"]
    cut = thinned(name + "-cut", trace, *(("--start", f"time:{begin}ns") if last else ("--stop", f"time:{end}ns")))
    assert tops(path) == tops(cut) and 0 < len(tops(cut)[0]["functions"]) < len(tops(trace)[0]["functions"])
    if "--functions" in options and not last:
        # by caller, too: this filter looks at nothing that the cut changes; but who called what is under way where the last ones begin, it does
        filtered = thinned(name + "-both", cut, *options.split()[:2])
        one, other = ({(s.functions[f], s.functions[by]): sums for s in decoder.Trace(p).sums() for (f, by), sums in s.pairs.items()}
                      for p in (path, filtered))
        # calls under way where the limit ends are events of the one trace: a chosen one is below them, which in the other was cut off
        under_way = under_way_at_end(path)
        # times of calls, or of parts of them, are whole nanoseconds, counted from clocks, of which the cut has others; a thunk's parts are no calls
        off = {k: (one.get(k), other.get(k)) for k in {*one, *other} if k[0] not in under_way and
               (k not in one or k not in other or one[k][:2] != other[k][:2] or abs(one[k][2] - other[k][2]) > (one[k][0] or 6) + 2)}
        assert not off and len(one) > 100, (len(one), off)


def answer_digest(trace, words):
    """Of an answer that may have a gigabyte; the trace's own path counts for nothing."""
    digest = hashlib.sha256()
    with subprocess.Popen([UPTO, *words.split(), "--json", trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        for line in p.stdout:
            digest.update(line.replace(trace.encode(), b"TRACE"))
    assert p.returncode == 0, (words, p.returncode)
    return digest.hexdigest()


@pytest.mark.long
@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(12)
def test_small_chunks(smp):
    """No answer depends on where chunks begin: a development build writes one for each clock."""
    span = ["--start", "exec:exe", "--stop", "100ms"]
    large, small = thinned(f"large-{smp}", whole(smp), *span), thinned(f"small-{smp}", whole(smp), *span, upto=UPTO_ASAN)
    sizes = [sum(c.type == decoder.EVENTS for c in decoder.Trace(path).chunks) for path in (large, small)]
    assert sizes[0] < 20 and sizes[1] > 500, sizes
    asked = ["info --digest", "top -n 0", "top -n 0 --total", "first -n 0", "tree", "ps", "syscalls -n 0", "calls --function vfs_read",
             "timeline", "waits", "why"]
    different = [words for words in asked if answer_digest(large, words) != answer_digest(small, words)]
    assert not different, different


@pytest.mark.parametrize("smp", SMPS)
def test_nobody(smp):
    """What of a thread is asked for has nothing of what ran before there were any: the first instruction of all."""
    rows = upto_json("top", "--json", "-n", "0", "--pid", "1", whole(smp))["functions"]
    assert len(rows) > 1000 and not [row for row in rows if row["function"] == "[unknown]"]


def test_limit_of_filtered():
    """Sums of an earlier filter are those of all that is there: they stay if the limit cuts off nothing, and else are left out."""
    filtered = thinned("limit-filtered", base(1), "--functions", FAULT)
    assert tops(thinned("limit-all", filtered, "--limit", "1000000")) == tops(base(1))
    some = thinned("limit-some", filtered, "--limit", "20")
    assert not decoder.Trace(some).sums() and len(top(some)["functions"]) < len(top(base(1))["functions"]) / 10
    both = upto_json("info", "--json", thinned("limit-spans", filtered, "--limit", "20", "--keep", "last"))["meta"]
    assert int(both["span.1.start_ns"]) > int(upto_json("info", "--json", filtered)["meta"]["span.1.start_ns"])


READ = {"top": ["-n", "0"], "first": ["-n", "0"], "tree": ["--min", "0"], "dump": [], "calls": []}


@pytest.mark.parametrize("command", READ)
@pytest.mark.weight(4)
def test_reading(command):
    """The options do the same while reading: as if the trace had been thinned."""
    trace, asked = base(2), [command, "--json", *READ[command]]
    choices = [cut_options(2, "entry")[0], cut_options(2, "every")[0], cut_options(2, "time-entry")[0]]
    if command in ("first", "tree", "dump"):
        choices += [["--min-duration", "20us"]]
    if command == "dump":  # of others, see test_fold.py
        choices += [["--below", FAULT], ["--module", "story,libplug*"], ["--depth", "2"], ["--pid", "exe"]]  # of first, see test_each_thread()
    p = run(UPTO_ASAN, *asked, *choices[-1], trace)
    assert p.stdout == run(UPTO, *asked, *choices[-1], trace).stdout and b"runtime error" not in p.stderr, p.stderr
    for options in choices:
        path = thinned(f"read-{command}", trace, *options)
        # who runs is known of all threads; with --pid, dump shows only what those do that are asked for
        again = options if command == "dump" and "--pid" in options else []
        assert run(UPTO, *asked, *options, trace).stdout == run(UPTO, *asked, *again, path).stdout, options


@pytest.mark.parametrize("name", ["entry", "every", "time-entry"])
@pytest.mark.weight(4)
def test_reading_rows(name):
    """syscalls and ps of a part: who ran in it, and for how long, as if the trace had been thinned; and the calls that were made in it, to their end."""
    trace, options = base(2), cut_options(2, name)[0]
    path = thinned(f"read-rows-{name}", trace, *options)
    cut = [r for r in upto_json("ps", "--json", path)["processes"] if r["self_insns"] or r["self_ns"]]
    assert cut and upto_json("ps", "--json", *options, trace)["processes"] == cut
    cut, part = (upto_json("syscalls", "--json", "-n", "0", *asked)["syscalls"] for asked in ([path], [*options, trace]))
    key = lambda c: (c["cpu"], c["insns"])
    known, whole = {key(c): c for c in part}, {key(c): c for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]}
    assert set(known) == {key(c) for c in cut} and all(whole[key(c)] == c for c in part), (len(part), len(cut))
    assert all(known[key(c)] == {**c, "path": known[key(c)]["path"], "call": known[key(c)]["call"]} for c in cut if c["duration_ns"] is not None)


@pytest.mark.weight(6)
def test_top_of_a_part():
    """Of a part of the time top has all that ran in it, whichever calls are left out; of a file that lacks them it says whose time that is."""
    trace = base(2)
    end = upto_json("info", "--json", trace)["duration_ns"]
    part = ["--from", f"{end // 3}ns", "--to", f"{end // 2}ns"]
    for more in [], ["--by", "module"], ["--cpu", "1"]:
        whole = upto_json("top", "--json", *part, *more, trace)
        for options in ["--min-duration", "20us"], ["--no-interrupts"], ["--max-duration", "2us"]:
            assert upto_json("top", "--json", *part, *more, *options, trace) == whole, (more, options)
            assert "left out" not in run(UPTO, "top", *part, *more, *options, trace).stdout.decode()
    path = thinned("top-part", trace, "--min-duration", "20us")
    heading = run(UPTO, "top", *part, path).stdout.decode().splitlines()[1]
    assert re.search(r"in all; sums of a part of the trace are of the others, which have the time of those that they called$", heading), heading
    # an interrupt belongs to the part in which it came
    cuts = [f"{end * i // 7}ns" for i in range(8)]
    counts = lambda *span: collections.Counter({r["vector"]: r["count"] for r in upto_json("top", "--json", "--by", "interrupt", *span, trace)["interrupts"]})
    assert sum((counts("--from", a, "--to", b) for a, b in zip(cuts, cuts[1:])), collections.Counter()) == counts("--to", cuts[-1])


@pytest.mark.weight(6)
def test_top():
    """top has the sums of all that ran in the chosen spans and threads, whichever calls a filter leaves out, and says that it does."""
    trace, before = base(2), {thunks: top(base(2), *thunks) for thunks in ((), ("--thunks",))}
    for options in ("--min-duration 20us", "--max-duration 2us --depth 3", "--no-interrupts", f"--max-duration 2us --below {FAULT}"):
        path = thinned("top", trace, *options.split())
        assert {thunks: top(trace, *thunks, *options.split()) for thunks in before} == before, options
        own = [sorted((f["function"], f["calls"], f["self_insns"], f["self_ns"]) for f in functions["functions"])
               for functions in (top(path, "--total"), before[()])]
        assert own[0] == own[1], options
        told = [upto_json("top", "--json", *o)["left_out"] for o in ([path], [*options.split(), trace], ["--total", path], ["--by", "module", path])]
        assert set(told) == {told[0]} and told[0] > 1000, told
        by = f"{' '.join(SPAN)}, then {options}"
        heading = run(UPTO, "top", "--exact", path).stdout.decode().splitlines()[:2]
        assert heading[1] == f"# {told[0]} calls were left out by {by}; sums are of all that ran", heading
    assert "left_out" not in upto_json("top", "--json", trace) and "left out" not in run(UPTO, "top", trace).stdout.decode()
    span = cut_options(2, "entry")[0]
    assert top(trace, *span, "--min-duration", "20us") == top(trace, *span) != before[()]
    # the functions are shown that were asked for
    shown = top(trace, "--functions", "*fault*")["functions"]
    assert shown == [f for f in before[()]["functions"] if "fault" in f["function"]] and len(shown) > 5, shown
    # of threads, all that they ran, and nothing else: also in total, as a tree, and of a trace that was made of them
    look_for_exe(trace)
    whose = thinned("top-whose", trace, "--pid", "exe")
    total = top(trace, "--pid", "exe", "--total")
    assert max(f["total_pct"] for f in total["functions"]) <= 100.5 and ran(total) == ran(top(whose, "--total")), total["functions"][:3]
    tree = upto_json("tree", "--json", "--pid", "exe", trace)["tree"]
    assert abs(sum(row["total_pct"] for row in tree if row["depth"] == 0) - 100) < 0.5 and tree == upto_json("tree", "--json", whose)["tree"], tree[:3]
    insns = sum(t["self_insns"] for t in upto_json("top", "--json", "--by", "thread", trace)["thread"] if t["pid"] in EXE)
    theirs = top(trace, "--pid", "exe")
    assert sum(f["self_insns"] for f in theirs["functions"]) == insns > 0, insns
    assert ran(top(trace, "--pid", "exe", "--min-duration", "20us")) == ran(theirs)
    return f"{insns} instructions of {len(EXE)} threads"


@pytest.mark.weight(4)
@pytest.mark.parametrize("smp", SMPS)
def test_each_thread(smp):
    """What each thread ran, asked for one after the other, and what ran before there were any, is all that ran: to the call and the instruction."""
    trace = base(smp)
    ran_by = {row["pid"]: row["self_insns"] for row in upto_json("top", "--json", "--by", "thread", trace)["thread"] if row["pid"] is not None}
    left = collections.defaultdict(lambda: [0, 0])
    for row in top(trace)["functions"]:
        left[row["function"], row["address"]][0] += row["calls"]
        left[row["function"], row["address"]][1] += row["self_insns"]
    for pid in sorted(ran_by):
        for row in top(trace, "--pid", str(pid))["functions"]:
            row_left = left[row["function"], row["address"]]
            row_left[0] -= row["calls"]
            row_left[1] -= row["self_insns"]
    boot = sum(row["self_insns"] for row in upto_json("top", "--json", "--by", "thread", trace)["thread"] if row["pid"] is None)
    assert len(ran_by) > 2 and sum(insns for _, insns in left.values()) == boot, (len(ran_by), boot)
    # the switch itself comes between the entry of one function and its first instruction
    wrong = {name: n for name, n in left.items() if min(n) < 0 or (n[0] and not n[1] and name[0] != "__switch_to_asm")}
    assert not wrong, list(wrong.items())[:5]
    # and what one of them ran first is what was run first
    began = {}
    for pid in sorted(ran_by):
        for row in upto_json("first", "--json", "-n", "0", "--pid", str(pid), trace)["first"]:
            known = began.setdefault(row["function"] + str(row["section"]), row)
            if (row["ns"], row["insns"]) < (known["ns"], known["insns"]):
                began[row["function"] + str(row["section"])] = row
    firsts = upto_json("first", "--json", "-n", "0", trace)["first"]
    names = collections.Counter(row["function"] + str(row["section"]) for row in firsts)  # several static functions may have one
    firsts = [row for row in firsts if row["pid"] is not None and names[row["function"] + str(row["section"])] == 1]
    assert len(firsts) > 500 and not [row for row in firsts if began[row["function"] + str(row["section"])] != row]
    return f"{len(ran_by)} threads, {boot} instructions before"


def kfi_log(*args):
    return run(UPTO, "export", "--to", "kfi", *args).stdout.decode()


@pytest.mark.long
@pytest.mark.weight(20)
def test_listed():
    """kd and export list of a filter's trace what they list with that filter: not what is there only for others' sake. So do they of its parts."""
    trace, counts = base(2), []
    look_for_exe(trace)
    for options in ("--min-duration 20us", "--functions *fault* --no-interrupts", f"--below {FAULT} --max-duration 3us", "--comm exe --not *fault*"):
        path = thinned("listed", trace, *options.split())
        own = len(rows_of(kfi_log(path)))
        assert kfi_log(*options.split(), trace) == kfi_log(path) and own > 20, (options, own)
        for kd in (("-n", "50", "-f", "Fctl"), ("-c",)):
            # local times are of all that ran in the threads that were chosen; a trace has them of all threads
            if "--comm" not in options or kd[0] == "-c":
                assert run(UPTO, "kd", *kd, *options.split(), trace).stdout == run(UPTO, "kd", *kd, path).stdout, (options, kd)
        assert b"a few of them are shown" in run(UPTO, "calls", "-n", "1", path).stderr and not run(UPTO, "calls", "-n", "1", *options.split(), trace).stderr
        # once more, by a filter that leaves all, and a cut
        again = thinned("listed-again", path, "--min-duration", "0")
        assert rows_of(kfi_log(again)) == rows_of(kfi_log(path)), options
        first, last = (int(e["ns"]) for e in (dump(path, "-n", "1")[0], dump(path)[-1]))
        cut = ["--start", f"time:{(first + last) // 2}ns"]
        part = thinned("listed-part", path, *cut)
        assert rows_of(kfi_log(part)) == rows_of(kfi_log(*cut, path)) != [], options
        counts.append(own)
    own = collections.defaultdict(list)
    for f in top(trace, "--comm", "exe")["functions"]:
        own[f["function"]].append(f["self_ns"])
    # several functions of a name are NAME, NAME#2 … there
    local = [f for f in upto_json("kd", "--json", "--comm", "exe", "--not", "*fault*", trace)["functions"] if len(own[f["function"]]) == 1]
    # what is rounded off up to a clock is whose runs then: another function, where calls are left out
    differ = [(f["function"], f["local_ns"], own[f["function"]]) for f in local
              if abs(f["local_ns"] - own[f["function"]][0]) > 3 + own[f["function"]][0] / 10000]
    assert len(local) > 50 and not differ, differ[:5]
    return str(counts)


@pytest.mark.long
@pytest.mark.weight(15)
def test_chains():
    """However often a trace is thinned, its sums are those of all that ran, and what kd adds up are the calls that it lists."""
    trace, counts = base(1), []
    look_for_exe(trace)
    for chain in (("--not vfs_read", f"--below {FAULT}", "--limit 9999999", "--depth 5"), ("--no-interrupts", "--comm exe --functions *page*", "--limit 9999999"),
                  ("--min-duration 1us", "--below do_syscall_64", "--limit 9999999 --keep last", "--stop time:100s")):
        path = trace
        for i, options in enumerate(chain):
            # whose the calls were that are gone already is not known any more
            before = tops(path, *of_threads(options))
            path = thinned(f"chain-{i}", path, *options.split())
            if "--stop" not in options:
                assert [ran(t) for t in tops(path)] == [ran(t) for t in before] if of_threads(options) else tops(path) == before, chain[:i + 1]
        counts.append(len(dump(path)))
    middle = f"time:{events(1)[len(events(1)) // 2]['ns']}ns"
    for options in (f"--no-interrupts --comm exe --start {middle}", f"--below do_syscall_64 --pid exe --start {middle}", "--min-duration 1us --comm exe --not *fault*",
                    "--below do_syscall_64 --comm exe --start entry:vfs_read --stop exit:vfs_read --every --before 20us"):
        listed = collections.defaultdict(list)
        for call in upto_json("kd", "--json", "-c", "-d", "1000", *options.split(), trace)["calls"]:
            listed[call["function"]].append(call["duration_ns"])
        told = {f["function"]: (f["count"], f["no_exit"], f["total_ns"]) for f in upto_json("kd", "--json", *options.split(), trace)["functions"]}
        assert told == {f: (len(ns), ns.count(None), sum(n or 0 for n in ns)) for f, ns in listed.items()}, options
        counts.append(len(told))
    assert min(counts) > 10, counts
    return str(counts)


def rows_of(log):
    return [line for line in log.splitlines() if line.strip()[:1].isdigit()]


def test_left_out_is_said():
    """Each table of calls says that some were left out, and by what; of a trace that has all of them, none does."""
    trace, path = base(2), thinned("said", base(2), "--min-duration", "20us")
    left_out = sum(int(v) for k, v in upto_json("info", "--json", path)["meta"].items() if k.startswith("left_out.") and k != "left_out.calls")
    for asked in (["tree"], ["first"], ["syscalls"], ["syscalls", "--summary"], ["top"], ["top", "--total"], ["top", "--by", "module"],
                  ["top", "--by", "interrupt"], ["ps", "--stack-watch"]):
        assert f"# {left_out} calls were left out by --" in run(UPTO, *asked, "--exact", path).stdout.decode(), asked
        assert upto_json(*asked, "--json", path)["left_out"] == left_out, asked
        assert "left out" not in run(UPTO, *asked, trace).stdout.decode() and "left_out" not in upto_json(*asked, "--json", trace), asked
    for asked in (["top", "--by", "thread"], ["ps"]):
        assert "left_out" not in upto_json(*asked, "--json", path), asked
    # what is chosen while reading, likewise; and a table without rows
    assert ", then --min-duration 20us\n" in run(UPTO, "first", "--min-duration", "20us", trace).stdout.decode()
    assert upto_json("syscalls", "--json", "--name", "reboot", path) == {"left_out": left_out, "syscalls": []}


def test_again():
    """A trace that is thinned twice tells of both filters, and counts what each of them left out."""
    path, metas = base(2), []
    for options in ("--min-duration 20us", "--no-interrupts", f"--not {FAULT}"):
        path = thinned(f"again-{len(metas)}", path, *options.split())
        metas.append(upto_json("info", "--json", path)["meta"])
    before = upto_json("info", "--json", base(2))["meta"]["thinned"]
    assert metas[-1]["thinned"] == f"{before}, then --min-duration 20us, then --no-interrupts, then --not {FAULT}"
    reasons = ("duration", "interrupt", "function")
    counts = [[int(m[f"left_out.{r}"]) for r in reasons] for m in metas]
    assert counts[0][0] == counts[1][0] == counts[2][0] > 0 and counts[1][1] == counts[2][1] > 0 and counts[2][2] > 0, counts
    assert all(int(m["left_out.calls"]) - sum(c) > 0 for m, c in zip(metas, counts)), (metas[-1], counts)
    told = run(UPTO, "info", path).stdout.decode()
    assert f"Execution time filter count = {counts[2][0]}\n" in told and f"Function List filter count = {counts[2][2]}\n" in told
    assert f"Total entries filtered = {sum(counts[2])}\n" in told
    # a span, and in it a filter, is one choice
    path = thinned("again-span", base(2), *cut_options(2, "entry")[0], "--min-duration", "20us")
    assert upto_json("info", "--json", path)["meta"]["thinned"].count(", then ") == 1
    return str(counts)


def test_info():
    """Spans and counters are numbers for programs; the counts are those of calls in the spans, and add up."""
    path = thinned("info", base(1), "--start", f"entry:{FAULT}", "--stop", f"exit:{FAULT}", "--every", "--min-duration", "20us")
    info = upto_json("info", "--json", path)
    n = sum(key.endswith(".start_ns") for key in info["meta"])
    assert n > 10 and info["spans"] == [{key: int(info["meta"][f"span.{i + 1}.{key}"]) for key in ("start_ns", "stop_ns")} for i in range(n)]
    calls = upto_json("calls", "--json", "--function", FAULT, "--depth", "1", base(1))["calls"]
    assert all(a["stop_ns"] <= b["start_ns"] for a, b in zip(info["spans"], info["spans"][1:])), info["spans"]
    assert {(s["start_ns"], s["stop_ns"]) for s in info["spans"]} <= {(c["start_ns"], c["start_ns"] + c["duration_ns"]) for c in calls}
    left_out = info["left_out"]
    assert left_out == {key.partition(".")[2]: int(value) for key, value in info["meta"].items() if key.startswith("left_out.")}
    assert 0 < left_out["duration"] < left_out["calls"] and sum(left_out.values()) == left_out["calls"] + left_out["duration"]
    spans, unthinned = upto_json("info", "--json", base(1)), upto_json("info", "--json", whole(1))
    assert len(spans["spans"]) == 1 and unthinned["spans"] == [] and spans["left_out"] == unthinned["left_out"] == {}

@pytest.mark.parametrize("command", ["timeline", "waits", "why"])
@pytest.mark.weight(6)
def test_window(command):
    """Where a span's surroundings matter, the options are a window of time."""
    trace, begin, end = whole(2), begin_of(base(2)), begin_of(base(2), "stop")
    if command == "why":
        assert upto_json(command, "--json", "--start", f"time:{begin}ns", trace) == upto_json(command, "--json", "--from", f"{begin}ns", trace)
    else:
        got, window = (upto_json(command, "--json", *o, trace) for o in (SPAN, ["--from", f"{begin}ns", "--to", f"{end}ns"]))
        assert got == window != upto_json(command, "--json", trace)


@pytest.mark.parametrize("command", ["timeline", "waits", "why"])
@pytest.mark.weight(2)
def test_less_is_told(command):
    """What is told of all calls says so where some were left out, and where none were it does not."""
    for options, said in (["--min-duration", "20us"], True), ([], False):
        path = thinned(f"told-{command}", base(1), *options)
        p = run(UPTO, command, *(["--from", f"{begin_of(base(1))}ns", "--until", "poweroff"] if command == "why" else []), path, check=False)
        assert bool(re.search(rb"k calls were left out by --start .*, then --min-duration 20us: what threads waited for", p.stderr)) == said, p.stderr


@pytest.mark.parametrize("status, pattern, options", [
    (1, r"--start: no function vfs_raed.*similar: vfs_read", "--start entry:vfs_raed"),
    (1, r"--stop: no function no_such_thing.*may have been inlined", "--start vfs_read --stop exit:no_such_thing"),
    # the compiler did; and where names are similar, that is said, too
    (1, r"--start: no function kmalloc in the trace; similar: \S+, .*; it may have been inlined into its callers$", "--start entry:kmalloc"),
    (1, r"--functions: no function no_such_\* in the trace$", "--functions no_such_*"),
    (1, r"--start: nosuch has no function vfs_read", "--start nosuch:vfs_read"),
    (1, r"\(--start log:no such line\) did not happen", "--start|log:no such line"),
    (1, r"\(--start exec:nosuch\) did not happen", "--start exec:nosuch"),
    (1, r"\(--start vfs_read#100000\) did not happen", "--start vfs_read#100000"),
    (1, r"exit:asm_exc_page_fault\) did not happen: it does not return, but jumps elsewhere .*; wait for the entry there", "--start exit:asm_exc_page_fault"),
    (2, r"--min-duration 5us: is longer than --max-duration 1us", "--min-duration 5us --max-duration 1us"),
    (1, r"\(--start time:1000s\) did not happen", "--start time:1000s"),
    (2, r"--start vfs_read#: behind #", "--start vfs_read#"), (2, r"--start vfs_read#0: behind #", "--start vfs_read#0"),
    (2, r"--start entry:: nothing follows", "--start entry:"), (2, r"--start ext4:: nothing follows", "--start ext4:"), (2, r"--stop time:soon: not a time", "--stop time:soon"),
    (2, r"--every: is for --start and --stop together", "--every --start vfs_read"), (2, r"--keep: is for --limit", "--keep last"),
    (2, r"--keep middle: first or last", "--limit 5 --keep middle"), (2, r"--before: is for --start", "--before 1s"),
    (2, r"--min-duration", "--min-duration soon"), (2, r"--limit", "--limit many"), (2, r"--depth", "--depth deep"),
    (2, r"--no-interrupts and --only-interrupts", "--no-interrupts --only-interrupts"), (2, r"--kernel and --user", "--kernel --user"),
    (1, r"--functions: no function nosuch", "--functions nosuch"), (1, r"--not: no function nosuch", "--not nosuch"),
    (1, r"--pid 99999: the trace has no thread or process of that number", "--pid 99999"), (1, r"--comm nosuch: no such thread", "--comm nosuch"),
    (1, r"no module, program or library nosuch", "--module nosuch"),
    (1, r"--functions: no function is named: the list is empty", "--functions|"), (1, r"--below: no function is named", "--below|,"),
    (1, r"no module, program or library is named: the list is empty", "--module|"),
    (1, r"\(--start exec:exee\) did not happen; exec: takes a program's name or path; similar: exe", "--start exec:exee"),
    (1, r"exec: takes a program's name or path; programs that began: .*exe", "--start exec:qqqq"),
    (1, r"--start: the trace has no names of functions of busybox: its file is stripped, or was not found", "--start busybox:main"),
])
def test_refused(status, pattern, options):
    """One line says what is wrong, and no file is left."""
    words = options.split("|") if "|" in options else options.split(" ")
    out = os.path.join(WORK, f"thin-refused-{os.getpid()}.upto")
    fails(status, pattern, "thin", *words, "-o", out, base(1), upto=UPTO)
    assert not [f for f in os.listdir(WORK) if f.startswith(os.path.basename(out))]
    fails(status, pattern, "dump", *words, base(1), upto=UPTO)


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))


def test_no_room():
    """Nowhere to write: one line, and no half-written file."""
    fails(2, r"-o is missing", "thin", base(1), upto=UPTO)
    fails(1, r"/nowhere/x\.upto.*: No such file", "thin", "-o", "/nowhere/x.upto", base(1), upto=UPTO)
    out = os.path.join(WORK, "thin-full.upto")
    for options in ([], ["--min-duration", "20us"], cut_options(1, "entry")[0] + ["--no-interrupts"]):
        with open(out, "w") as f:
            f.write("as it was")
        fails(1, r"(thin-full\.upto.*|memory): File too large", "thin", "-f", *options, "-o", out, base(1), upto=UPTO, preexec_fn=limit_files)
        with open(out) as f:
            assert f.read() == "as it was"
        assert [f for f in os.listdir(WORK) if f.startswith("thin-full.upto")] == ["thin-full.upto"], options
    fails(1, r"--start: no function vfs_read", "thin", "-f", "--start", "vfs_read", "-o", out, tiny(), upto=UPTO)


def test_decoder():
    """The decoder of docs/format.md finds the same gaps and events."""
    for options in (cut_options(2, "every")[0], ["--functions", "*mm*"]):
        path = thinned("decoded", base(2), *options)
        trace, gaps, ours = decoder.Trace(path), 0, []
        check_joints(trace, [c for c in trace.chunks if c.type == decoder.EVENTS])
        for c in trace.chunks:
            if c.type != decoder.EVENTS:
                continue
            inside = list(trace.events(c))
            behind = bool(c.flags & decoder.BEHIND_GAP)
            assert behind == (inside[0]["kind"] == "gap") and all(e["kind"] != "gap" for e in inside[1:]), c
            if behind:
                assert inside[0]["args"][1] == 2 and inside[0]["args"][3:] == [c.place, c.task], c
                assert inside[0]["insns"] == c.first_insns, c
            gaps += behind
            ours += [(c.cpu, e["kind"], e["insns"], e["slot"], e["from"], e["target"]) for e in inside]
        theirs = [(e["cpu"], e["kind"], e["insns"], *(int(e.get(k, "0"), 16) for k in ("slot", "from", "target"))) for e in dump(path)]
        assert sorted(ours) == sorted(theirs), options
        assert gaps > (5 if "--every" in options else 0), gaps


def key_without_comm(call):
    """A thread's name may change in the call."""
    return call.key()[:3] + call.key()[4:]


def test_sums():
    """Sums by caller are those of the calls that are gone; a function that is gone altogether has in them what top said of it."""
    trace, calls = base(2), base_flow(2)
    path = thinned("sums", trace, "--min-duration", "20us")
    got, functions = flow(path), top(trace, "--thunks")["functions"]
    whole_top = {f["function"] + (f" [{f['object']}]" if f["object"] else ""): f for f in functions}
    (sums,) = decoder.Trace(path).sums()
    left, unknown, theirs = collections.defaultdict(collections.Counter), set(), collections.defaultdict(collections.Counter)
    remain = collections.Counter(map(key_without_comm, got))
    for c in calls:
        pair = c.step["function"], (c.parent or c).step["function"]
        if remain[key_without_comm(c)]:
            remain[key_without_comm(c)] -= 1
        elif c.ended and c.parent:
            left[pair].update(insns=c.step["insns"], ns=c.step["ns"])
        else:
            unknown.add(pair)
    for (function, caller), (_, insns, ns) in sums.pairs.items():
        theirs[sums.functions[function], sums.functions[caller]].update(insns=insns, ns=ns)
    known = set(left) - unknown
    other = {p: (left[p], theirs[p]) for p in known if left[p] != theirs[p]}
    assert len(known) > 1000 and not other, (len(known), len(other), list(other.items())[:3])
    names = collections.Counter(sums.functions)
    # in what was under way when the trace began or ended, time is spent before and behind the calls
    under_way = {c.step["function"] for c in calls if not c.parent or not c.ended}
    gone = {c.step["function"] for c in calls} - {c.step["function"] for c in got} - under_way
    compared, stood = 0, []
    for function, (n, insns, ns) in zip(sums.functions, sums.shown):
        if function in gone and names[function] == 1 and function in whole_top:
            f = whole_top[function]
            if n == f["calls"] and insns < f["self_insns"]:
                stood.append(function)  # a vCPU stood in it where the span began: that is no call, and remains
            else:
                assert (n, insns, ns) == (f["calls"], f["self_insns"], f["self_ns"]), (function, n, insns, ns, f)
            compared += 1
    assert compared > 500 and len(stood) <= 2, (compared, stood)
    assert top(path, "--thunks") == top(trace, "--thunks")
    return f"{len(known)} pairs, {compared} functions"


def test_tree_shows_what_is_asked_for():
    """However small it is, what is chosen by name comes first, and behind it what has only the time of calls that were left out."""
    rare = next(f["function"] for f in reversed(top(base(2))["functions"]) if f["function"].startswith("vfs_") and f["calls"])
    for options in (["--functions", rare], ["--below", rare], ["--functions", FAULT]):
        lines = run(UPTO, "tree", *options, base(2)).stdout.decode().splitlines()
        rows = upto_json("tree", "--json", *options, base(2))["tree"]
        assert any(line.split()[-1] == options[1] or line.endswith(f"{options[1]} <tail>") for line in lines), (options, lines[:9])
        roots = [i for i, r in enumerate(rows) if not r["depth"]]
        bare = [i + 1 == len(rows) or not rows[i + 1]["depth"] for i in roots]
        if options[0] == "--below":
            assert {rows[i]["function"] for i in roots} == {options[1]}, (options, rows)
        else:
            assert bare == sorted(bare) and not bare[0] and len(set(bare)) == 2, (options, bare)


def test_dump_of_threads():
    """dump --pid has what these threads did, and switches to and from them, and nothing else."""
    look_for_exe(base(2))
    got, now, want = dump(base(2), "--pid", "exe"), {}, []
    for e in reversed(events(2)):
        if e["kind"] == "task-switch":
            now[e["cpu"]] = e["previous"]["pid"]
    # where nothing switches, one thread ran all the time
    for s in upto_json("stack", "--json", "--running", "--at", f"{events(2)[0]['ns'] + 1}ns", base(2))["stacks"]:
        now.setdefault(s["cpu"], s["pid"])
    for e in events(2):
        if now.get(e["cpu"]) in EXE or (e["kind"] == "task-switch" and e["next"]["pid"] in EXE):
            want.append(e)
        if e["kind"] == "task-switch":
            now[e["cpu"]] = e["next"]["pid"]
    # a clock may be another one
    mine = [e for e in got if e["kind"] != "clock"]
    known = {json.dumps(e) for e in want}
    others = [e for e in mine if json.dumps(e) not in known]
    assert not others and len(mine) > 10000, (len(mine), others[:3])
    assert [e for e in mine if e["kind"] == "call"] == [e for e in want if e["kind"] == "call"]
    return f"{len(mine)} of {len(events(2))} events"


@pytest.mark.weight(2)
def test_why_of_a_part():
    """What a part of a boot is asked about is that part: the first process, of which tasks tell, came before it."""
    trace = base(1)
    info, why = upto_json("info", "--json", trace), upto_json("why", "--json", trace)
    [span] = info["spans"]
    assert (why["until"], why["until_ns"]) == ("the end of what is recorded", info["duration_ns"]), why["until"]
    assert why["total_ns"] == info["duration_ns"] - span["start_ns"] == sum(c["ns"] for c in why["causes"]), why
    assert not [c for c in why["causes"] if c["name"] in ("firmware", "decompressor", "kernel")], why["causes"]
    lines = run(UPTO, "timeline", trace).stdout.decode().splitlines()
    assert "# longest, up to the end of what is recorded:" in lines, lines[:6]


def test_part_of_filtered():
    """Sums of calls that were left out belong to the whole of a trace, and not to a part of it."""
    whole_, path = base(2), thinned("part", base(2), "--min-duration", "20us")
    [span] = upto_json("info", "--json", whole_)["spans"]
    middle = (span["start_ns"] + span["stop_ns"]) // 2
    for options in ["--from", f"{middle}ns"], ["--to", f"{middle}ns"], ["--cpu", str(events(2)[0]["cpu"])]:
        got, all_ = (sum(f["self_insns"] for f in top(t, *options)["functions"]) for t in (path, whole_))
        assert 0 < got <= all_, (options, got, all_)


def waits_of(trace):
    return {(w["pid"], w["start_ns"]): w for w in upto_json("waits", "--json", trace)["waits"]}


@pytest.mark.weight(8)
def test_waits_of_filtered():
    """Who slept, and until when, is the same though the calls that woke them up were left out: facts tell of those."""
    want, got = waits_of(whole(2)), waits_of(thinned("waits", whole(2), "--min-duration", "200us"))
    assert want.keys() == got.keys() and len(want) > 1000, (len(want), len(got), list(want.keys() ^ got.keys())[:5])
    other = [(k, want[k]["asleep_ns"], got[k]["asleep_ns"]) for k in want if want[k]["asleep_ns"] != got[k]["asleep_ns"]]
    # and when it ran again, if it did before the trace's end
    assert all(want[k]["asleep_ns"] + want[k]["ready_ns"] == got[k]["asleep_ns"] + got[k]["ready_ns"] for k in want)
    # an interrupt may come between the fact and the event at which it is told
    assert len(other) < len(want) / 50 and all(abs(a - b) < 1_000_000 for _, a, b in other), other[:5]
    return f"{len(want)} waits, {len(other)} by an interrupt later"


@pytest.mark.weight(8)
def test_asleep_before():
    """Who slept when a part begins, and is woken in it, slept in between; so says the whole trace."""
    info = upto_json("info", "--json", whole(2))
    middle = info["duration_ns"] * 2 // 3
    path = thinned("asleep", whole(2), "--start", f"time:{middle}ns")
    begins = [dump(path, "--cpu", str(cpu), "-n", "1")[0]["ns"] for cpu in range(2)]
    want, got = waits_of(whole(2)), waits_of(path)
    first = min(ns for _, ns in got)
    cut = {pid: w for (pid, ns), w in got.items() if ns == first and w["asleep_ns"] and not w["function"]}
    assert len(cut) > 1 and min(begins) <= first <= max(begins), (cut, first, begins)
    for pid, w in cut.items():
        all_ = [x for (p, ns), x in want.items() if p == pid and ns <= first < ns + x["asleep_ns"]]
        assert len(all_) == 1, (pid, w)
        end, ended = all_[0]["start_ns"] + all_[0]["asleep_ns"], first + w["asleep_ns"]
        assert abs(end - ended) < 1_000_000, (pid, w, all_)
    whys = upto_json("why", "--json", path)
    held = sum(c["ns"] for c in whys["causes"] if c["kind"] == "unknown")
    assert held < whys["total_ns"] / 10, whys["causes"][:5]
    return f"{len(cut)} threads"


@pytest.mark.weight(6)
def test_others_are_not_shown():
    """Of a trace that has calls of some threads only, those are who is told about."""
    path = thinned("only", whole(2), "--comm", "exe")
    pids = named(whole(2), "exe")
    first = upto_json("syscalls", "--json", path)["syscalls"][0]
    for command, rows in (("ps", "processes"), ("waits", "waits"), ("syscalls", "syscalls"), (f"stack --at {first['start_ns'] + 1}ns", "stacks")):
        found = {r["pid"] for r in upto_json(*command.split(), "--json", path)[rows]}
        # they need not have waited
        assert (found or command == "waits") and found <= pids, (command, found - pids)
    assert {k for k in waits_of(whole(2)) if k[0] in pids} == set(waits_of(path))
    p = run(UPTO, "why", path)
    assert b"its calls were left out" in p.stdout and b"what threads waited for" in p.stderr, p
    assert b"only those that were kept" in run(UPTO, "stack", path).stderr


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(12)
def test_pauses(smp):
    """A part that begins or ends while a vCPU is halted has that pause, from where it begins up to where it ends: as the whole tells them."""
    events, rng, cut = dump(whole(smp), "--kind", "halt,resume"), random.Random(12), [0, 0]
    pauses = {cpu: [e["ns"] for e in events if e["cpu"] == cpu] for cpu in range(smp)}
    for i in range(4):
        of = pauses[rng.randrange(smp)]
        at = rng.randrange(len(of) // 2 - 1)
        start, stop = (int(rng.uniform(of[2 * k], of[2 * k + 1])) for k in (at, at + rng.choice((0, 1))))
        path = thinned(f"pauses-{smp}-{i}", whole(smp), "--start", f"time:{min(start, stop)}ns", "--stop", f"time:{max(start, stop) + 1}ns")
        info = upto_json("info", "--json", path)
        [span], want = info["spans"], 0
        for cpu in {e["cpu"] for e in dump(path)}:  # of one that slept all the time nothing is known
            for begin, end in zip(pauses[cpu][::2], pauses[cpu][1::2]):
                inside = max(0, min(span["stop_ns"], end) - max(span["start_ns"], begin))
                want += inside
                cut[0] += inside > 0 and begin < span["start_ns"]
                cut[1] += inside > 0 and end > span["stop_ns"]
        assert abs(info["halted_ns"] - want) <= 2 * smp, (i, span, info["halted_ns"], want)
    check(path)
    # with one vCPU, a part begins with the event that ends the pause
    assert cut[0] or smp == 1, cut
    return f"{cut[0]} cut at the begin, {cut[1]} at the end"


@pytest.mark.weight(6)
def test_moment_is_recorded():
    """Up to when why asks by itself lies in what is recorded, also between parts; where the call was left out, the log tells when power went off."""
    path = thinned("loads", whole(2), "--start", "entry:do_init_module", "--stop", "exit:do_init_module", "--every")
    spans, why = upto_json("info", "--json", path)["spans"], upto_json("why", "--json", path)
    assert len(spans) > 1 and any(s["start_ns"] <= why["until_ns"] <= s["stop_ns"] for s in spans), (spans, why["until_ns"])
    [down] = [line["ns"] for line in upto_json("log", "--json", whole(2))["log"] if line["text"].startswith("reboot: ")]
    why = upto_json("why", "--json", thinned("down", whole(2), "--comm", "kthreadd"))
    assert (why["until"], why["until_ns"]) == ("reboot: Power down", down), why["until"]
    p = run(UPTO, "top", "--to", f"{spans[0]['start_ns']}ns", path)
    assert b": recorded is only %d.%06d to " % (spans[0]["start_ns"] // 10**9, spans[0]["start_ns"] % 10**9 // 1000) in p.stderr, p.stderr


def test_said_of_names():
    """A name of a list that no thread has is said; one that is a moment's did not happen."""
    for option, there, said in (("--comm", "exe", r"--comm nosuch: no such thread in the trace"), ("--not", "vfs_read", "--not: no function nosuch in the trace"),
                                ("--functions", "vfs_*", "--functions: no function nosuch in the trace"), ("--below", "vfs_read", "--below: no function nosuch in the trace"),
                                ("--fold", "vfs_read", "--fold: no function nosuch in the trace"), ("--module", "libc.*", "no module, program or library nosuch in the trace")):
        for command in ("top", "tree", "first"):
            keeps_others(said, [command, "--json", base(2)], [option, f"nosuch,{there}"], [option, there])
            assert option == "--comm" or not run(UPTO, command, "--json", base(2), option, f",{there},").stderr
            p = run(UPTO, command, base(2), option, "nosuch,nosuchtoo", check=False)
            assert p.returncode == 1 and not p.stdout and p.stderr.count(b"\n") == 1, p
    keeps_others("--comm nosuch: no such thread in the trace", ["stack", "--json", base(2)], ["--comm", "exe,nosuch"], ["--comm", "exe"])
    assert not run(UPTO, "stack", "--comm", "exe,", base(2)).stderr
    fails(2, "options that choose are for what is recorded", "run", "--comm", "exe", "-e", "BEGIN { exit(); }", base(2), upto=UPTO)
    fails(1, r": --to exec:nosuch did not happen$", "top", "--to", "exec:nosuch", base(2), upto=UPTO)


@pytest.mark.weight(4)
def test_chain_takes_all():
    """Links have how long they are; --json has columns that are asked for, too."""
    why = upto_json("why", "--json", "--chain", base(2))
    assert sum(link["duration_ns"] for link in why["chain"]) == why["total_ns"]
    rows = upto_json("why", "--json", "-o", "ns,name", "-s", "ns", base(2))["causes"]
    assert [list(r) for r in rows[:2]] == [["ns", "name"]] * 2 and [r["ns"] for r in rows] == sorted((r["ns"] for r in rows), reverse=True)


def test_calls_without_names():
    """How often code without names was called does not depend on how it is looked at: a jump within it is no call."""
    plain, folded = ({f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", *o, whole(2))["functions"]} for o in ([], ["--fold", "vfs_read"]))
    groups = [name for name in plain if name.startswith("[") and name != "[unknown]"]
    assert len(groups) > 3 and all(abs(plain[g] - folded.get(g, 0)) <= 2 for g in groups), {g: (plain[g], folded.get(g)) for g in groups}
