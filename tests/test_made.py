# SPDX-License-Identifier: GPL-2.0-or-later
"""Made traces: what is put in comes out, and edges that boots seldom meet."""
import collections
import json
import os
import random
import re
import resource
import struct
import zlib

import pytest

from decoder import Cursor, Trace, symbol_table, unpack
from guest import CHECK, UPTO, UPTO_ASAN, run, upto_json
from made import KERNEL, make
from test_readers import nested
from test_format import rewritten, svarint, varint, zstd
from test_robust import CHUNK_HEADER, EVENTS, SYMBOLS, ask, chunks_of, write

STACK = 0xffffc90000003ff8


def boot(*events, symbols=((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"), (KERNEL + 0x2000, 0x1000, "third"))):
    """One vCPU that comes to the kernel, then these."""
    return ["meta vcpus 1", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0",
            *(("symbol", *s) for s in symbols), "event 0 clock 10 10 0 0 0",
            ("event 0 jump-indirect 11 0 0 0x100000", KERNEL), "event 0 clock 20 20 0 0 0", *events]


def own(trace):
    return {f["function"]: f["self_insns"] for f in upto_json("top", "--json", "-n", "0", trace, upto=UPTO_ASAN)["functions"]}


def by_index(trace, *questions):
    """Answers, which are the same when the trace is replayed from its beginning and from the middle, by its index."""
    if os.path.exists(trace + ".index"):
        os.unlink(trace + ".index")
    answers = [upto_json(*q, "--json", trace, upto=UPTO_ASAN) for q in questions]
    run(os.path.join(CHECK, "tests/make_index"), trace)
    again = [upto_json(*q, "--json", trace, upto=UPTO_ASAN) for q in questions]
    assert again == answers, [(q, a, b) for q, a, b in zip(questions, answers, again) if a != b]
    return answers


def frames(stacks, pid):
    """Function, kind and where it was left, of each frame of a thread, the innermost first."""
    return [[(f["function"], f["kind"], f["address"]) for f in s["frames"]] for s in stacks["stacks"] if s["pid"] == pid]


class Caller:
    """Calls that do the same again and again, but for where on the stack they do it, or where they go."""
    def __init__(self, rng):
        self.rng, self.insns, self.events = rng, 100, []

    def add(self, kind, ns, slot, source, target):
        self.insns += self.rng.choice((1, 3, 3, 3, 200))
        self.events.append((kind, self.insns, ns, slot, source, target))

    def clock(self):
        self.insns += 1
        self.events.append(("clock", self.insns, self.insns, 0, 0, 0))

    def call(self, slot, depth):
        site = KERNEL + 0x1000 * self.rng.choice((0, 1, 1, 2)) + 0x10
        target = KERNEL + 0x2000 + 0x10 * self.rng.choice((0, 0, 0, 1))
        self.add("call-indirect" if site > KERNEL + 0x1fff else "call", 0, slot, site, target if site > KERNEL + 0x1fff else KERNEL + 0x2000)
        for _ in range(self.rng.choice((0, 1, 1, 2)) if depth else 0):
            self.call(slot - self.rng.choice((64, 64, 64, 80)), depth - 1)
        self.add("return", 0, slot, 0, site)


@pytest.mark.parametrize("seed", range(4))
def test_round_trip(seed):
    """Events, encoded and decoded: phrases too, whose calls differ in nothing but a slot, a target or a count."""
    caller = Caller(random.Random(seed))
    for _ in range(1500):
        caller.call(STACK - 16 * caller.rng.choice((0, 0, 0, 4)), 3)
        if caller.rng.random() < 0.05:
            caller.clock()
    caller.clock()
    trace = make(f"round-trip-{seed}", boot(*(("event 0", *e) for e in caller.events)))
    dumped = [json.loads(line) for line in run(UPTO_ASAN, "dump", "--json", trace).stdout.decode().splitlines()][3:]
    number = lambda x: int(x, 0) if isinstance(x, str) else x or 0
    got = [(e["kind"], e["insns"], number(e.get("slot")), number(e.get("from")), number(e.get("target"))) for e in dumped]
    want = [(kind, insns, slot, source, target) for kind, insns, _, slot, source, target in caller.events]
    differ = [(i, w, g) for i, (w, g) in enumerate(zip(want, got)) if w != g]
    assert not differ and len(want) == len(got), (len(differ), differ[:3])
    # by phrases or one by one, sums are the same
    ours = own(trace)
    assert sum(ours.values()) == caller.insns
    return f"{len(got)} events"


def test_end_of_a_function():
    """The address behind a function is none of it."""
    trace = make("end", boot(("event 0 jump-indirect 100 0 0", KERNEL + 0x20, KERNEL + 0x11ff),
                             ("event 0 jump-indirect 300 0 0", KERNEL + 0x1180, KERNEL + 0x1200),
                             ("event 0 jump-indirect 700 0 0", KERNEL + 0x1204, KERNEL + 0x2000), "event 0 clock 1000 1000 0 0 0"))
    assert own(trace) == {"[unknown]": 11, "startup_64": 89, "second": 200, "[kernel]": 400, "third": 300}, own(trace)


def test_tail_calls():
    """What a function jumps to at its end is below it, up to the return of both; what it came from by such jumps goes on in place."""
    second, third = KERNEL + 0x1000, KERNEL + 0x2000
    jump = lambda insns, source, target: (f"event 0 jump {insns} 0 0", source, target)
    trace = make("tail-calls", boot(
        ("event 0 call 100 0", STACK, KERNEL + 0x20, second), jump(110, second + 8, third),
        ("event 0 call 120 0", STACK - 64, third + 0x20, second), ("event 0 return 125 0", STACK - 64, 0, third + 0x20),
        ("event 0 return 150 0", STACK, 0, KERNEL + 0x20),
        # into the middle of the first one: it goes on; to its start: it begins anew
        ("event 0 call 200 0", STACK, KERNEL + 0x30, second), jump(210, second + 8, third), jump(230, third + 8, second + 0x10),
        jump(260, second + 0x18, third), jump(270, third + 8, second), ("event 0 return 300 0", STACK, 0, KERNEL + 0x30),
        # what nobody called only jumps on
        jump(400, KERNEL + 0x40, third), jump(450, third + 0x40, KERNEL), "event 0 clock 500 500 0 0 0"))
    ask = lambda command, *options: upto_json(command, "--json", *options, trace, upto=UPTO_ASAN)
    assert [(c["depth"], c["kind"], c["insns"], c["self_insns"]) for c in ask("calls", "--function", "second,third")["calls"]] == [
        (0, "call", 50, 10), (1, "tail", 40, 35), (2, "call", 5, 5),
        (0, "call", 70, 40), (1, "tail", 20, 20), (1, "tail", 10, 10), (0, "call", 30, 30), (0, "call", 50, 50)]
    tree = [(n["depth"], n["function"], n["calls"], n["tail_calls"], n["total_insns"]) for n in ask("tree")["tree"]]
    assert (2, "third", 3, 3, 70) in tree and (0, "third", 1, 0, 50) in tree, tree
    assert {f["function"]: (f["calls"], f["total_insns"]) for f in ask("top", "--total")["functions"] if f["function"] in ("second", "third")} == {
        "second": (4, 150), "third": (4, 120)}
    stack, = ask("stack", "--at", "115ns")["stacks"]
    assert [(f["function"], f["kind"], f["address"]) for f in stack["frames"][:2]] == [
        ("third", "tail", hex(third)), ("second", "call", None)], stack
    run(UPTO_ASAN, "check", trace)


def test_tail_calls_without_end():
    """Functions that go on jumping to others are not kept all: a stack does not grow for it."""
    functions = [(KERNEL + 0x1000 * i, 0x100, f"f{i}") for i in range(1, 200)]
    jumps = [(f"event 0 jump {100 + 10 * i} 0 0", functions[i - 1][0] + 8, functions[i][0]) for i in range(1, len(functions))]
    trace = make("tails", boot(("event 0 call 100 0", STACK, KERNEL + 0x20, functions[0][0]), *jumps,
                               ("event 0 return 3000 0", STACK, 0, KERNEL + 0x20), "event 0 clock 3100 3100 0 0 0",
                               symbols=((KERNEL, 0x100, "startup_64"), *functions)))
    deepest = max(n["depth"] for n in upto_json("tree", "--json", trace, upto=UPTO_ASAN)["tree"])
    assert 30 < deepest < 40, deepest
    # rows without keys; what no row has is no column unless it is asked for
    tree = json.loads(run(UPTO_ASAN, "tree", "--json", trace).stdout)["tree"]
    assert tree["columns"] == ["total_pct", "total_insns", "total_ns", "self_insns", "self_ns", "calls", "tail_calls", "depth", "function"], tree["columns"]
    assert all(len(row) == len(tree["columns"]) for row in tree["rows"]) and len(tree["rows"]) > deepest
    asked = json.loads(run(UPTO_ASAN, "tree", "--json", "-o", "function,pid", trace).stdout)["tree"]
    assert asked == {"columns": ["function", "pid"], "rows": [[row[-1], None] for row in tree["rows"]]}
    assert own(trace)["f199"] == 3000 - 100 - 10 * 198
    run(UPTO_ASAN, "check", trace)


def test_calls_without_end():
    """Of calls that never return the deepest are forgotten, and told of as unfinished; those that are kept are right, and what their callees did."""
    first, second, third, most, kept = KERNEL + 0x80, KERNEL + 0x1000, KERNEL + 0x2000, 1 << 16, 50000
    slot, insns = (lambda i: STACK - 16 * i), (lambda i: 100 + i + 20 * (i > kept))
    calls = [(f"event 0 call {insns(i)} 0", slot(i), second + 0x20, {7: first, kept: third}.get(i, second)) for i in range(most + 10)]
    # within the one that is kept, a call that has returned while the stack still grows
    calls[kept + 1:kept + 1] = [(f"event 0 call {insns(kept) + 2} 0", slot(kept + 1), third + 0x20, second),
                                (f"event 0 return {insns(kept) + 10} 0", slot(kept + 1), 0, third + 0x20)]
    trace = make("calls-without-end", boot(
        *calls, "event 0 clock 100000 100000 0 0 0", *FAR_APART, (f"event 0 return {LATE + 100} 0", slot(kept), 0, second + 0x20),
        f"event 0 clock {LATE + 200} {LATE + 200} 0 0 0",
        symbols=((KERNEL, 0x80, "startup_64"), (first, 0x80, "first"), (second, 0x200, "second"), (third, 0x1000, "third"))))
    lost, found = by_index(trace, *(["calls", "--depth", "1", "--function", f] for f in ("first", "third")))
    call, = found["calls"]
    assert (call["insns"], call["self_insns"]) == (LATE + 100 - insns(kept), insns(kept + 1) - insns(kept) - 8), call
    call, = lost["calls"]
    assert (call["insns"], call["unfinished"]) == (insns(most - 1) - insns(7), True), call
    # programs, whether they ask for what a call spent itself or not
    said = run(UPTO_ASAN, "run", "-e", "return:third { @n = count(); }", trace).stdout + run(UPTO_ASAN, "run", "-e", "return:third { @own = self_insns; }", trace).stdout
    assert re.findall(r"@(\w+): (\d+)", said.decode()) == [("n", "1"), ("own", str(insns(kept + 1) - insns(kept) - 8))], said
    # viewers get an end of each call, also of those that were forgotten
    nested(json.loads(run(UPTO_ASAN, "export", "--to", "speedscope", trace).stdout))


def test_max_size_by_depth():
    """Where no call is short, the deepest are left out of what is exported, and the outer ones are whole."""
    functions = [(KERNEL + 0x1000 * i, 0x100, f"f{i}") for i in range(1, 60)]
    ms, at, lines = 10**6, 100, []
    for _ in range(40):
        for i in range(1, len(functions)):
            lines.append((f"event 0 call {at} 0", STACK - 64 * i, functions[i - 1][0] + 8, functions[i][0]))
            at += 2 * ms
        for i in range(len(functions) - 1, 0, -1):
            lines.append((f"event 0 return {at} 0", STACK - 64 * i, 0, functions[i - 1][0] + 8))
            at += 2 * ms
        lines.append(f"event 0 clock {at} {at} 0 0 0")
    trace = make("deep", boot(*lines, symbols=((KERNEL, 0x100, "startup_64"), *functions)))
    whole, part = (run(UPTO_ASAN, "export", "--to", "speedscope", *options, trace) for options in ([], ["--max-size", "60k"]))
    assert len(whole.stdout) > 100000 and len(part.stdout) <= 60000
    left = re.search(rb"left out: ([\d,]+) calls with (\d+) or more around them; what ran in them is their callers'\n", part.stderr)
    # what is told is all that is less deep, each call as long as it was
    depths = collections.Counter()
    for out in whole, part:
        file, stack = json.loads(out.stdout), []
        for event in (e for profile in file["profiles"] for e in profile["events"]):
            if event["type"] == "O":
                stack.append(event["at"])
            else:
                depths[out is part, len(stack) - 1, event["at"] - stack.pop()] += 1
    most = int(left[2])
    assert {k[1:]: n for k, n in depths.items() if k[0]} == {k[1:]: n for k, n in depths.items() if not k[0] and k[1] < most}
    assert int(left[1].replace(b",", b"")) == sum(n for k, n in depths.items() if not k[0] and k[1] >= most) and 8 < most < 50, most


def test_interrupt_in_a_thunk():
    """What an interrupt that cut into a thunk calls, and how that returns, has nothing to do with the thunk."""
    second, third, handler, thunk = (KERNEL + 0x1000 * i for i in range(1, 5))
    jump = (STACK - 64, second + 0x10)
    trace = make("thunk-interrupted", boot(
        ("event 0 call 100 0", STACK, KERNEL + 0x20, second), ("event 0 call 110 0", *jump, thunk),
        ("event 0 interrupt 112 112", STACK - 0x100, thunk + 2, handler, 0xec, 0, 0x10),
        ("event 0 call 120 0", STACK - 0x180, handler + 0x10, third), ("event 0 return 130 0", STACK - 0x180, 0, handler + 0x30),
        ("event 0 interrupt-return 140 0", STACK - 0x100, 0, thunk + 2, 0x10, 0),
        ("event 0 call 150 0", STACK - 72, thunk + 5, thunk + 0x10), ("event 0 return 155 0", STACK - 72, 0, third), ("event 0 return 175 0", jump[0], 0, jump[1]),
        ("event 0 return 180 0", STACK, 0, KERNEL + 0x20),
        # a thunk that is left for good: its caller returns, and not to where it was called from
        ("event 0 call 200 0", STACK, KERNEL + 0x30, second), ("event 0 call 210 0", *jump, thunk), ("event 0 return 220 0", STACK, 0, KERNEL + 0x60),
        "event 0 clock 300 300 0 0 0",
        symbols=((KERNEL, 0x100, "startup_64"), (second, 0x100, "second"), (third, 0x100, "third"), (handler, 0x100, "handler"),
                 (thunk, 0x100, "__x86_indirect_thunk_rax"))))
    shown = [[f["function"] for f in upto_json("stack", "--at", f"{at}ns", "--json", trace, upto=UPTO_ASAN)["stacks"][0]["frames"]] for at in (125, 135, 160, 250)]
    assert shown == [["third", "handler", "second", "startup_64"], ["handler", "second", "startup_64"], ["third", "second", "startup_64"], ["startup_64"]], shown
    tree = {(n["depth"], n["function"]): n["total_insns"] for n in upto_json("tree", "--min", "0", "--json", trace, upto=UPTO_ASAN)["tree"]}
    assert {k: tree[k] for k in tree if k[0]} == {(1, "second"): 100, (2, "handler"): 28, (3, "third"): 10, (2, "third"): 20}, tree
    run(UPTO_ASAN, "check", trace)


def test_depth_without_thunks():
    """A level is one of calls that are shown: what a thunk leads to is called by who called the thunk, whether that is written or only folded."""
    second, third, thunk = KERNEL + 0x1000, KERNEL + 0x2000, KERNEL + 0x3000
    trace = make("thunk-levels", boot(
        ("event 0 call 100 0", STACK, KERNEL + 0x20, thunk), ("event 0 jump-indirect 110 0 0", thunk + 8, second),
        ("event 0 call 120 0", STACK - 64, second + 8, thunk), ("event 0 jump-indirect 130 0 0", thunk + 8, third), ("event 0 return 150 0", STACK - 64, 0, second + 8),
        ("event 0 return 200 0", STACK, 0, KERNEL + 0x20), "event 0 clock 300 300 0 0 0",
        symbols=((KERNEL, 0x100, "startup_64"), (second, 0x200, "second"), (third, 0x1000, "third"), (thunk, 0x100, "__x86_indirect_thunk_rax"))))
    part = trace + ".part"
    for n, want in (1, {"startup_64"}), (2, {"startup_64", "second"}), (3, {"startup_64", "second", "third"}):
        run(UPTO_ASAN, "thin", "-f", "-o", part, "--depth", str(n), trace)
        folded = {f["function"] for f in upto_json("top", "--depth", str(n), "--json", trace, upto=UPTO_ASAN)["functions"]} - {"[unknown]"}
        again = {f["function"] for f in upto_json("tree", "--json", "--min", "0", part, upto=UPTO_ASAN)["tree"]} - {"[unknown]"}
        assert folded == again == want, (n, folded, again)


def test_instruments():
    """What only watches the code is part of who called it, with all that it calls, and what each kind cost is told; those in another's are that one's."""
    work, kasan, lockdep, lists, helper = (KERNEL + 0x1000 * i for i in range(1, 6))
    symbols = [(KERNEL, 0x100, "startup_64"), (work, 0x100, "do_work"), (kasan, 0x100, "kasan_check_range"), (lockdep, 0x100, "lock_acquire"),
               (lists, 0x100, "__list_add_valid_or_report"), (helper, 0x100, "memcmp")]

    def call(begin, end, target, source, slot, *within):
        return [("event 0 call", begin, 0, slot, source, target), *(e for w in within for e in w), ("event 0 return", end, 0, slot, 0, source)]

    events = call(100, 300, work, KERNEL + 0x20, STACK,
                  call(110, 140, kasan, work + 8, STACK - 64, call(115, 125, helper, kasan + 8, STACK - 128)),
                  call(150, 190, lockdep, work + 16, STACK - 64, call(160, 165, kasan, lockdep + 8, STACK - 128)),
                  call(200, 207, lists, work + 24, STACK - 64), call(210, 230, helper, work + 32, STACK - 64))
    trace = make("instruments", boot(*events, "event 0 clock 400 400 0 0 0", symbols=symbols))
    ask = lambda command, *options: upto_json(command, "--json", *options, trace, upto=UPTO_ASAN)
    for command in ("top",), ("top", "--total"), ("tree",), ("first",):
        costs = {name: c["insns"] for name, c in ask(*command)["instruments"].items()}
        assert costs == {"KASAN": 30, "lockdep": 40, "list checks": 7}, (command, costs)
        assert "instruments" not in ask(*command, "--instruments")
    own = lambda *options: {f["function"]: f["self_insns"] for f in ask("top", *options)["functions"]}
    folded, shown = own(), own("--instruments")
    assert {k: folded[k] for k in ("do_work", "memcmp")} == {"do_work": 180, "memcmp": 20} and not {"kasan_check_range", "lock_acquire"} & set(folded), folded
    assert (shown["kasan_check_range"], shown["lock_acquire"], shown["memcmp"], shown["do_work"]) == (25, 35, 30, 103), shown
    assert sum(folded.values()) == sum(shown.values()) == 400
    calls = ask("calls", "--function", "do_work")["calls"]
    assert [(c["depth"], c["function"], c["insns"]) for c in calls] == [(0, "do_work", 200), (1, "memcmp", 20)], calls


def test_gap():
    """What is lost in a gap is told of, and everything else is there: all commands go on behind it."""
    trace = make("gap", boot(("event 0 call 100 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), "event 0 gap 200 0 0 0 0 5000",
                             ("event 0 call 300 0", STACK - 64, KERNEL + 0x2010, KERNEL + 0x1000),
                             ("event 0 return 350 0", STACK - 64, 0, KERNEL + 0x2010),
                             "event 0 clock 400 400 0 0 0", ("event 0 return 500 0", STACK, 0, KERNEL + 0x20),
                             "event 0 clock 600 600 0 0 0"))
    p = run(UPTO_ASAN, "check", "--json", trace, check=False)
    lost, = (f for f in json.loads(p.stdout)["findings"] if f["kind"] == "lost")
    assert p.returncode == 1 and lost["text"] == "a gap: 5000 events are missing" and lost["event"] == 4, p
    assert sum(own(trace).values()) == 600
    calls = upto_json("calls", "--json", "--function", "second", trace, upto=UPTO_ASAN)["calls"]
    assert [(c["depth"], c["function"], c["insns"]) for c in calls] == [(0, "second", 400), (1, "second", 50)], calls
    for words in (["top", "--total"], ["tree"], ["stack", "--at", "450ns"], ["info"], ["syscalls"], ["dump"]):
        run(UPTO_ASAN, *words, trace)
    assert b"gap" in run(UPTO, "dump", "--kind", "gap", trace).stdout


@pytest.mark.parametrize("last", [0, 1])
def test_gap_of_several(last):
    """What is under way where all vCPUs have a gap is lost with the last event of any before it."""
    ends = {last: 2000, 1 - last: 1500}
    begin = lambda cpu: [f"event {cpu} clock 10 10 0 0 0", (f"event {cpu} jump-indirect 11 0 0 0x100000", KERNEL), f"event {cpu} clock 20 20 0 0 0"]
    behind = lambda cpu: [f"behind {cpu} 9000 9000 {KERNEL + 0x40} 0", f"event {cpu} gap 9000 0 0 0 0 0 2 1 {KERNEL + 0x40} 0", f"event {cpu} clock 9100 9100 0 0 0"]
    call = ("event 0 call 1000 0", STACK, KERNEL + 0x20, KERNEL + 0x1000)
    trace = make(f"gap-of-several-{last}", [
        "meta vcpus 2", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0", f"symbol {KERNEL} 256 startup_64",
        f"symbol {KERNEL + 0x1000} 512 second", *begin(0), *begin(1), call, f"event 0 clock {ends[0]} {ends[0]} 0 0 0",
        f"event 1 clock {ends[1]} {ends[1]} 0 0 0", *behind(0), *behind(1)])
    lost, = upto_json("calls", "--json", "--function", "second", trace, upto=UPTO_ASAN)["calls"]
    assert (lost["start_ns"], lost["duration_ns"], lost["left"]) == (1000, 1000, "lost"), lost


def test_min_duration():
    """Calls of 10, 20 … 100 instructions, as many ns: --min-duration leaves those out that are shorter."""
    insns, events = 100, []
    for i in range(1, 11):
        events += [("event 0 call", insns, 0, STACK, KERNEL + 0x20, KERNEL + 0x1000),
                   ("event 0 return", insns + 10 * i, 0, STACK, 0, KERNEL + 0x20),
                   ("event 0 clock", insns + 200, insns + 200, "0 0 0")]
        insns += 200
    trace = make("durations", boot("event 0 clock 50 50 0 0 0", *events))
    ask = lambda *options: [c["insns"] for c in upto_json("calls", "--json", "--function", "second", *options, trace, upto=UPTO_ASAN)["calls"]]
    assert ask() == [10 * i for i in range(1, 11)]
    assert ask("--min-duration", "45ns") == [50, 60, 70, 80, 90, 100]
    assert ask("--min-duration", "100ns") == [100] and ask("-n", "3") == [10, 20, 30]


def test_filtered_around_damage():
    """What is chosen of a damaged trace is compared with all that can be had of it, not with the trace as it lies there."""
    call = lambda at: [(f"event 0 call {at} 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), (f"event 0 return {at + 30} 0", STACK, 0, KERNEL + 0x20)]
    # in chunks of their own, each long enough that it has bytes to flip
    rounds = [[line for i in range(100) for line in call(1000 * k + 100 + 10 * i * 4)] + [f"event 0 clock {1000 * k + 5000} {1000 * k + 5000} 0 0 0"] for k in (0, 10, 20)]
    path = make("damaged-part", boot(*rounds[0], "chunk 0", *rounds[1], "chunk 0", *rounds[2]))
    data, chunks = chunks_of(path)
    chunk = [c for c in chunks if c["type"] == EVENTS][1]
    at = chunk["offset"] + CHUNK_HEADER.size + chunk["stored"] // 2
    write(path, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
    for options in ["--min-duration", "1ns"], ["--not", "second", "--min-duration", "1ns"]:
        status, out, err = ask(UPTO_ASAN, "top", path, *options)
        assert status == 0 and out and "is damaged" in err, (options, status, err)
    status, _, err = ask(UPTO_ASAN, "thin", path, "-f", "-o", path + ".part", "--min-duration", "1ns")
    assert status == 0 and "is damaged" in err, err


INIT, IDLE = 0xffff888000001000, 0xffff888000002000
READ, FUTEX, SIGRETURN, NANOSLEEP = 0, 202, 15, 35


def program(*events, **options):
    """A program that makes system calls from places 16 bytes apart: as boot(), with who runs."""
    return boot("event 0 clock 90 90 0 0 0", ("event 0 task-switch 100 100 0 0 0", INIT, INIT),
                ("event 0 interrupt-return 110 0", STACK, 0, 0x401000, 0x33, 0), *events, **options) + \
        [f"task 1 0 95 95 {INIT} 0xffff888000008000 1 1 0 program /program", f"task 1 0 96 96 {IDLE} 0 0 0 0 idle"]


def entry(at, nr, source):
    return f"event 0 syscall {at} {at} 0 {source:#x} {KERNEL + 0x2000:#x} {nr} 1 2 3 4 5 6"


def result(at, target, value):
    return f"event 0 syscall-return {at} {at} 0 0 {target:#x} {value % (1 << 64):#x}"


def restored(at, target, value):
    """What rt_sigreturn leads back to."""
    return f"event 0 interrupt-return {at} 0 {STACK - 64} 0 {target:#x} {0x10033:#x} {value % (1 << 64):#x}"


SIGNALS = program(
    # one that waits
    entry(200, NANOSLEEP, 0x401010), ("event 0 task-switch 300 300 0 0 0", INIT, IDLE),
    ("event 0 task-switch 5000 5000 0 0 0", IDLE, INIT), result(5100, 0x401010, 0),
    # one that a signal cuts short: its handler runs first, then the call returns EINTR
    entry(5200, READ, 0x401020), result(5300, 0x402000, 0), entry(5400, SIGRETURN, 0x402010), restored(5500, 0x401020, -4),
    # SA_RESTART: the handler runs first, then the call is made again
    entry(5600, READ, 0x401030), result(5700, 0x402000, 0), entry(5800, SIGRETURN, 0x402010), restored(5900, 0x40102e, READ),
    entry(6000, READ, 0x401030), result(6100, 0x401030, 7),
    # a signal without a handler: made again at once
    entry(6200, FUTEX, 0x401040), f"event 0 interrupt-return 6300 0 {STACK - 64} 0 0x40103e 0x33 {FUTEX}",
    entry(6400, FUTEX, 0x401040), "event 0 clock 6450 6450 0 0 0", result(6500, 0x401040, 0), "event 0 clock 6600 6600 0 0 0")


def test_waiting():
    """Of a call that waits, all is its duration, and only what it ran is its time on the CPU."""
    first = upto_json("syscalls", "--json", make("signals", SIGNALS), upto=UPTO_ASAN)["syscalls"][0]
    assert (first["name"], first["duration_ns"], first["cpu_ns"]) == ("nanosleep", 4900, 200), first


CHILD, CLONE = 0xffff888000003000, 56
# chunks that are far enough from each other for an index, and when what comes behind them begins
FAR_APART = [line for i in range(1, 5) for line in ("chunk 0", f"event 0 clock {i * 100000000} {i * 100000000} 0 0 0")]
LATE = 400000000


def test_forked():
    """A new process has its parent's functions on its stack, and goes on in them; a new thread has none. Also if it runs much later."""
    for tgid, want in (2, [("[user]", "call", "0x401110"), ("[user]", "call", "0x401005")]), (1, []):
        trace = make(f"forked-{tgid}", program(
            "event 0 call 120 0 0x7fff0000 0x401005 0x401100", entry(200, CLONE, 0x401110), result(300, 0x401110, 2), *FAR_APART,
            entry(LATE + 10, NANOSLEEP, 0x401120), (f"event 0 task-switch {LATE + 20} {LATE + 20} 0 0 0", INIT, CHILD), result(LATE + 30, 0x401110, 0),
            f"event 0 clock {LATE + 50} {LATE + 50} 0 0 0", *([f"event 0 return {LATE + 60} 0 0x7fff0000 0 0x401005"] if want else []),
            f"event 0 clock {LATE + 70} {LATE + 70} 0 0 0") + [f"task 2 0 250 250 {CHILD} 0xffff888000009000 2 {tgid} 1 program /program"])
        entered, now = by_index(trace, ["stack", "--at", f"{LATE + 25}ns"], ["stack", "--at", f"{LATE + 50}ns"])
        assert [s[1:] for s in frames(entered, 2)] == [want] and frames(entered, 2)[0][0][:2] == ("third", "syscall"), (tgid, entered)
        assert frames(now, 2) == ([want] if want else []), (tgid, now)
        run(UPTO_ASAN, "check", trace)


def test_averages_are_of_what_returned():
    """A call that was left without a return has no duration, nor has a new process' copy of its parent's call."""
    trace = make("averages", program(
        "event 0 call 120 0 0x7fff0000 0x401005 0x401100", entry(200, CLONE, 0x401110), result(300, 0x401110, 2), *FAR_APART,
        entry(LATE + 10, NANOSLEEP, 0x401120), ("event 0 task-switch", LATE + 20, LATE + 20, "0 0 0", INIT, CHILD), result(LATE + 30, 0x401110, 0),
        f"event 0 clock {LATE + 50} {LATE + 50} 0 0 0", f"event 0 return {LATE + 60} 0 0x7fff0000 0 0x401005",
        # one that returns, and in it one that is left by longjmp()
        f"event 0 call {LATE + 70} 0 0x7fff0000 0x401015 0x401200", f"event 0 call {LATE + 80} 0 0x7ffeff00 0x401210 0x401300",
        f"event 0 return {LATE + 90} 0 0x7fff0000 0 0x401015", f"event 0 clock {LATE + 100} {LATE + 100} 0 0 0") + [
        f"task 2 0 250 250 {CHILD} 0xffff888000008000 2 2 1 program /program", "map 0xffff888000008000 0x400000 0x4000 0x4000 /program",
        *(f"function {at:#x} 0x100 {name} 0x4000 /program" for at, name in ((0x1000, "main"), (0x1100, "forks"), (0x1200, "returns"), (0x1300, "jumps")))])
    top, = by_index(trace, ["top", "--total"])
    found = {f["function"].split()[0]: (f["total_insns"], f["average_ns"], f["longest_ns"]) for f in top["functions"]}
    assert found["returns"] == (20, 20, 20) and found["jumps"] == (10, None, None), found
    assert found["forks"][1:] == (None, None), found


def test_index_of_many_chunks():
    """An index takes as long as the trace has chunks, and not as that many times that many."""
    trace = make("many-chunks", boot(*(line for i in range(1, 60001) for line in ("chunk 0", f"event 0 clock {i * 1000000} {i * 1000000} 0 0 0"))))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(os.path.join(CHECK, "tests/make_index"), trace)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert took < 4, took  # some tenths of a second, or 19 seconds
    os.unlink(trace)
    os.unlink(trace + ".index")


def with_cpu(checkpoint, cpu):
    """A checkpoint, as an index's entry has it, of which the first stack is said to run on another vCPU."""
    c = Cursor(checkpoint)
    length, begin = c.varint(), c.at
    for _ in range(7 + 3):  # counts; the lane's stack and meter
        c.varint()
    c.take(1)
    for _ in range(2):
        c.varint()
    c.take(1)
    if not c.varint():
        return checkpoint
    for _ in range(2):  # the stack's clocks
        c.varint()
    c.take(1)
    c.varint()
    assert checkpoint[c.at] == 0, "vCPU 0"
    changed = checkpoint[begin:c.at] + svarint(cpu) + checkpoint[c.at + 1:begin + length]
    return varint(len(changed)) + changed + checkpoint[begin + length:]


def test_index_of_no_vcpu():
    """A damaged index may have any number where it says which vCPU runs a stack."""
    trace = make("no-vcpu", boot(("event 0 call 30 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), *FAR_APART,
                                 ("event 0 call", LATE + 100, 0, STACK - 64, KERNEL + 0x1010, KERNEL + 0x2000),
                                 ("event 0 return", LATE + 150, 0, STACK - 64, 0, KERNEL + 0x1010), f"event 0 clock {LATE + 200} {LATE + 200} 0 0 0"))
    lines = ["top", "--fold", "startup_64", "--from", "350ms"], ["tree", "--not", "third", "--from", "350ms"], ["calls", "--function", "third"]
    answers = by_index(trace, *lines)
    with open(trace + ".index", "rb") as f:
        data = f.read()
    magic, version, stored, unpacked, crc, size, at = struct.unpack_from("<8sIIIIQQ", data)
    for cpu in 1, 64, 1 << 20, 1 << 31, -2, -(1 << 30):
        table, blobs, rows = Cursor(unpack(data[at:at + stored], unpacked)), b"", b""
        n = table.varint()
        for _ in range(n):
            ns, offset, packed, length, functions = (table.varint() for _ in range(5))
            blob = with_cpu(unpack(data[offset:offset + packed], length), cpu)
            rows += varint(ns) + varint(40 + len(blobs)) + varint(len(zstd(blob))) + varint(len(blob)) + varint(functions)
            rows += b"".join(varint(table.varint()) for _ in range(functions))
            blobs += zstd(blob)
        rows = varint(n) + rows
        write(trace + ".index", struct.pack("<8sIIIIQQ", magic, version, len(zstd(rows)), len(rows), crc, size, 40 + len(blobs)) + blobs + zstd(rows))
        assert [upto_json(*q, "--json", trace, upto=UPTO_ASAN) for q in lines] == answers, cpu
    os.unlink(trace + ".index")


def idle_first(*events):
    """A vCPU that runs what becomes its idle thread, in a call of second(), then a process for 100 ns, and the idle thread again."""
    return boot(("event 0 call 30 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), "event 0 clock 90 90 0 0 0",
                ("event 0 task-switch 100 100 0 0 0", IDLE, INIT), ("event 0 task-switch 200 200 0 0 0", INIT, IDLE), *events) + [
        f"task 1 0 95 95 {INIT} 0xffff888000008000 1 1 0 program /program", f"task 1 0 96 96 {IDLE} 0 0 0 0 idle"]


@pytest.mark.parametrize("options", [[], ["--not", "absent"]], ids=["all", "folded"])
def test_idle_thread_of_before(options):
    """What a vCPU ran before its first switch is its idle thread's stack from then on: what that calls is below it, and counts as its own."""
    absent = (KERNEL + 0x3000, 0x100, "absent")
    trace = make("idle-first-" + "-".join(options), idle_first(
        ("event 0 call 300 0", STACK - 64, KERNEL + 0x1010, KERNEL + 0x2000), ("event 0 return 350 0", STACK - 64, 0, KERNEL + 0x1010),
        *FAR_APART, ("event 0 call", LATE + 100, 0, STACK - 64, KERNEL + 0x1010, KERNEL + 0x2000), ("event 0 return", LATE + 150, 0, STACK - 64, 0, KERNEL + 0x1010),
        f"event 0 clock {LATE + 200} {LATE + 200} 0 0 0") + [("symbol", *absent)])
    top, tree, apart = by_index(trace, ["top", "--total", "--pid", "0", *options], ["tree", "--pid", "0", "--min", "0", *options],
                                ["tree", "--by", "thread", "--min", "0", *options])
    total = {f["function"]: (f["self_insns"], f["total_insns"]) for f in top["functions"]}
    assert total["second"] == (LATE - 100, LATE) and total["third"] == (100, 100), total
    rows = [(n["depth"], n["function"], n["total_insns"]) for n in tree["tree"]]
    assert rows == [(0, "startup_64", LATE), (1, "second", LATE), (2, "third", 100)], rows
    rows = [(n["depth"], n["function"], n["total_insns"]) for n in apart["tree"] if n["function"] == "third"]
    assert rows == [(3, "third", 100)], apart


def test_task_on_two_vcpus():
    """A damaged trace may have a task run on two vCPUs at a time: the one that it came to last has it, and nobody is confused by what the other does."""
    begin = lambda cpu: [f"event {cpu} clock 10 10 0 0 0", (f"event {cpu} jump-indirect 11 0 0 0x100000", KERNEL), f"event {cpu} clock 20 20 0 0 0"]
    switch = lambda cpu, at, before, after: (f"event {cpu} task-switch {at} {at} 0 0 0", before, after)
    call = lambda cpu, at: [(f"event {cpu} call {at} 0", STACK - 64 * cpu, KERNEL + 0x20, KERNEL + 0x1000), f"event {cpu} clock {at + 5} {at + 5} 0 0 0",
                            (f"event {cpu} return {at + 10} 0", STACK - 64 * cpu, 0, KERNEL + 0x20), f"event {cpu} clock {at + 15} {at + 15} 0 0 0"]
    trace = make("on-two", [
        "meta vcpus 2", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0", f"symbol {KERNEL} 256 startup_64",
        f"symbol {KERNEL + 0x1000} 512 second", *begin(0), *begin(1), switch(0, 100, IDLE, INIT), switch(1, 200, IDLE, INIT), *call(0, 300), *call(1, 400),
        switch(1, 500, INIT, IDLE), *call(0, 600), switch(0, 700, INIT, IDLE), *call(1, 800), *call(0, 900),
        f"task 1 0 95 95 {INIT} 0xffff888000008000 1 1 0 program /program", f"task 1 0 96 96 {IDLE} 0 5 5 0 idle"])
    part = trace + ".part"
    for options in ["--functions", "second"], ["--start", "second"], ["--pid", "1"]:
        run(UPTO_ASAN, "thin", "-f", "-o", part, *options, trace)
    found = [(c["cpu"], c["start_ns"], c["duration_ns"]) for c in upto_json("calls", "--json", "--function", "second", trace, upto=UPTO_ASAN)["calls"]]
    assert found == [(cpu, at, 10) for cpu, at in ((0, 300), (1, 400), (0, 600), (1, 800), (0, 900))], found


def test_rows_of_idle_threads():
    """Idle threads of vCPUs have one PID: what one of them calls is not within what another does meanwhile."""
    begin = lambda cpu: [f"event {cpu} clock 10 10 0 0 0", (f"event {cpu} jump-indirect 11 0 0 0x100000", KERNEL), f"event {cpu} clock 20 20 0 0 0"]
    switch = lambda cpu, at: (f"event {cpu} task-switch {at} {at} 0 0 0", IDLE + cpu * 0x1000, IDLE + cpu * 0x1000)
    edge = lambda cpu, at, kind, target, ends=KERNEL + 0x20: [(f"event {cpu} {kind} {at} 0", STACK - 0x10000 * cpu, *((ends, target) if kind == "call" else (0, ends))),
                                                              f"event {cpu} clock {at + 1} {at + 1} 0 0 0"]
    second, third = KERNEL + 0x1000, KERNEL + 0x2000
    for named in True, False:
        trace = make(f"idle-rows-{named}", [
            "meta vcpus 2", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0", f"symbol {KERNEL} 256 startup_64",
            f"symbol {second} 512 second", f"symbol {third} 512 third", *begin(0), *begin(1), *((switch(0, 50), switch(1, 60)) if named else ()), *edge(0, 100, "call", second),
            *edge(1, 200, "call", third), *edge(1, 300, "return", third), *edge(0, 400, "return", second), "event 0 clock 500 500 0 0 0", "event 1 clock 500 500 0 0 0",
            *(f"task 1 {cpu} 30 30 {IDLE + cpu * 0x1000} 0 0 0 0 swapper/{cpu}" for cpu in (0, 1) if named)])
        rows = {c["function"]: (c["duration_ns"], c["local_ns"]) for c in upto_json("kd", "-c", "--json", trace, upto=UPTO_ASAN)["calls"] if c["function"] != "startup_64"}
        assert rows == {"second": (300, 300), "third": (100, 100)}, (named, rows)


def test_first_behind_a_gap():
    """Returns from calls of before a gap lead out of those that came later, also in a thread that runs again only long after the gap."""
    events = [("behind 0 1000 1000", KERNEL + 0x40, INIT), (f"event 0 gap 1000 1000 0 0 0 0 2 1 {KERNEL + 0x40}", INIT), *FAR_APART,
              (f"event 0 task-switch {LATE + 10} {LATE + 10} 0 0 0", INIT, CHILD), (f"event 0 call {LATE + 20} 0", STACK - 0x200, KERNEL + 0x20, KERNEL + 0x1000),
              (f"event 0 call {LATE + 30} 0", STACK - 0x280, KERNEL + 0x1020, KERNEL + 0x2000), (f"event 0 return {LATE + 40} 0", STACK - 0x80, 0, KERNEL + 0x30),
              f"event 0 clock {LATE + 90} {LATE + 90} 0 0 0"]
    trace = make("first-behind-gap", program(*events) + [f"task 1 0 97 97 {CHILD} 0 3 3 0 worker"])
    (now,) = by_index(trace, ["stack", "--at", f"{LATE + 80}ns"])
    assert frames(now, 3) == [[("startup_64", "call", hex(KERNEL + 0x30))]], now


def test_deepest():
    """A thread's own kernel stack counts; one for interrupts, where a call is pushed farther down, does not."""
    interrupts = STACK - 0x8000 - 0x3800
    switch = (KERNEL + 0x3000, 0x100, "__switch_to_asm")
    calls = [("event 0 call", 110, 0, STACK, KERNEL + 0x2010, KERNEL + 0x1000), ("event 0 call", 120, 0, STACK - 0x1230, KERNEL + 0x1010, KERNEL + 0x2000),
             ("event 0 call", 130, 0, interrupts, KERNEL + 0x2020, KERNEL + 0x1000), ("event 0 return", 140, 0, interrupts, 0, KERNEL + 0x2020),
             ("event 0 return", 150, 0, STACK - 0x1230, 0, KERNEL + 0x1010), ("event 0 call", 160, 0, STACK - 0x40, KERNEL + 0x1020, KERNEL + 0x3000)]
    lines = boot("event 0 clock 90 90 0 0 0", ("event 0 task-switch 100 100 0 0 0", INIT, IDLE),
                 *calls, "event 0 clock 170 170 0 0 0", symbols=((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"),
                                                             (KERNEL + 0x2000, 0x1000, "third"), switch)) + \
        [f"task 1 0 96 96 {IDLE} 0 5 5 0 idle"]
    found = upto_json("stack", "--deepest", "--json", make("deepest", lines), upto=UPTO_ASAN)
    assert found["deepest"] == {"frames": 2, "bytes": 0x1238, "of_bytes": 16384, "ns": 120}, found
    # kernels with KASAN have larger ones; what is no size of one is not taken
    for told, size in (32768, 32768), (8192, 16384), (40000, 16384):
        large = upto_json("stack", "--deepest", "--json", make("deepest-large", [f"meta kernel_stack {told}", *lines]), upto=UPTO_ASAN)
        assert large["deepest"]["of_bytes"] == size, large
    stack, = found["stacks"]
    assert (stack["pid"], [f["function"] for f in stack["frames"]][:2]) == (5, ["third", "second"]), stack
    none = upto_json("stack", "--deepest", "--pid", "5", "--json", make("deepest-none", [li for li in lines if li not in calls]), upto=UPTO_ASAN)
    assert none["stacks"] == [] and "deepest" not in none, none


def test_interrupted_calls():
    """Which calls a signal cut short, which are made again, and that the stack holds one call at a time."""
    trace = make("signals-again", SIGNALS)
    calls = [(c["name"], c["result"], c["duration_ns"]) for c in upto_json("syscalls", "--json", trace, upto=UPTO_ASAN)["syscalls"]]
    assert calls[1:] == [("read", -4, 100), ("rt_sigreturn", None, calls[2][2]), ("read", None, 100), ("rt_sigreturn", None, calls[4][2]),
                         ("read", 7, 100), ("futex", calls[6][1], calls[6][2]), ("futex", 0, 100)], calls
    frames = {}
    for at in 5350, 5550, 5750, 5950, 6050, 6350, 6450, 6550:
        shown = run(UPTO_ASAN, "stack", "--at", f"{at}ns", "--pid", "1", trace).stdout.decode()
        frames[at] = [line.split()[-1] for line in shown.splitlines()[1:] if line]
    # handlers are left for what they came before, and calls that are made again stand on the stack once
    assert [at for at in frames if "<signal>" in frames[at]] == [5350, 5750], frames
    assert [at for at in frames if frames[at].count("<syscall>") == 1] == [6050, 6450], frames
    assert all(len(f) == (2 if at in (5350, 5750, 6050, 6450) else 1) for at, f in frames.items()), frames


def test_interrupted_before_it_is_entered():
    """Interrupts come, one after another, where a conditional jump has led to a function, whose first instruction is yet to run."""
    handler = KERNEL + 0x3000
    events = []
    for i, vector in enumerate((0xfb, 0xec, 0xec)):
        events += [("event 0 interrupt", 110 + 10 * i, 0 if i else 110, STACK - 0x40, KERNEL + 0x2000, handler, vector, 0, 0x10),
                   ("event 0 interrupt-return", 120 + 10 * i, 0, STACK - 0x40, 0, KERNEL + 0x2000, 0x10, 0)]
    trace = make("unentered", boot(
        "event 0 clock 90 90 0 0 0", ("event 0 call", 100, 0, STACK, KERNEL + 0x20, KERNEL + 0x1000), *events,
        ("event 0 arrive", 140, 0, 0, KERNEL + 0x2000, KERNEL + 0x2000), ("event 0 return", 150, 0, STACK, 0, KERNEL + 0x20), "event 0 clock 160 160 0 0 0",
        symbols=((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"), (KERNEL + 0x2000, 0x1000, "third"), (handler, 0x100, "handler"))))
    calls = [{f["function"]: f["calls"] for f in upto_json("top", *o, "--json", "-n", "0", trace, upto=UPTO_ASAN)["functions"]} for o in ([], ["--total"])]
    listed = len([c for c in upto_json("calls", "--json", "-F", "third", trace, upto=UPTO_ASAN)["calls"] if c["depth"] == 0])
    assert [c["third"] for c in calls] == [1, 1] == [listed, calls[0]["second"]] and calls[0]["handler"] == 3, (calls, listed)


def test_program_interrupted_before_it_is_entered():
    """The same in a program: the interrupt comes where a conditional jump has led to a function, and the one behind it has come before."""
    at = 0x400000
    trace = make("unentered-program", [
        *program(("event 0 call 200 0 0x7fff0000 0x401015", at + 0x1100), ("event 0 interrupt 210 210", STACK - 0x40, at + 0x1200, KERNEL + 0x2000, 0xec, 0, 0x33),
                 ("event 0 interrupt-return 220 0", STACK - 0x40, 0, at + 0x1200, 0x33, 0), ("event 0 arrive 220 0 0 0", at + 0x1200),
                 "event 0 return 230 0 0x7fff0000 0 0x401015", "event 0 clock 240 240 0 0 0"),
        f"map 0xffff888000008000 {at} 0x4000 0x4000 /program",
        *(f"function {at:#x} {size:#x} {name} 0x4000 /program" for at, size, name in ((0x1000, 0x100, "main"), (0x1100, 0x100, "chooses"), (0x1200, 0x100, "called")))])
    for options in [], ["--total"]:
        calls = {f["function"]: f["calls"] for f in upto_json("top", *options, "--json", "-n", "0", trace, upto=UPTO_ASAN)["functions"]}
        assert calls["called [program]"] == calls["chooses [program]"] == 1, (options, calls)


def test_interrupts_that_jump_on():
    """Entry code of an interrupt goes on in other functions for good: it is one interrupt, also where calls are folded that have nothing to do with it."""
    handler, leaves, restores = (KERNEL + 0x1000 * i for i in (3, 4, 5))
    events = []
    for at in 200, 300, 400:
        events += [("event 0 interrupt", at, at, STACK - 0x40, KERNEL + 0x1010, handler, 0xec, 0, 0x10), ("event 0 call", at + 10, 0, STACK - 0x100, handler + 8, KERNEL + 0x2000),
                   ("event 0 return", at + 20, 0, STACK - 0x100, 0, handler + 8), ("event 0 jump", at + 30, 0, 0, handler + 0x10, leaves),
                   ("event 0 jump", at + 40, 0, 0, leaves + 0x10, restores), ("event 0 interrupt-return", at + 50, 0, STACK - 0x40, 0, KERNEL + 0x1010, 0x10, 0)]
    trace = make("jump-on", boot(("event 0 call", 100, 0, STACK, KERNEL + 0x20, KERNEL + 0x1000), *events, ("event 0 return", 500, 0, STACK, 0, KERNEL + 0x20),
                                 "event 0 clock 600 600 0 0 0", symbols=(
        (KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"), (KERNEL + 0x2000, 0x1000, "third"),
        (handler, 0x100, "handler"), (leaves, 0x100, "error_return"), (restores, 0x100, "restore_regs"))))
    ask = lambda *options: upto_json("top", "--by", "interrupt", "--json", *options, trace, upto=UPTO_ASAN)["interrupts"]
    whole = ask()
    assert [(r["vector"], r["count"], r["total_insns"], r["function"]) for r in whole] == [(0xec, 3, 150, "handler")], whole
    for options in ["--not", "third"], ["--fold", "third"], ["--not", "second"]:
        assert ask(*options) == whole, options


def test_callers_of_recursion():
    """Seen from its callers, a function that calls itself has its time once, as in top --total."""
    up = [("event 0 call", 100 + 10 * i, 0, STACK - 64 * i, KERNEL + 0x1020 if i else KERNEL + 0x20, KERNEL + 0x1000) for i in range(5)]
    down = [("event 0 return", 200 + 10 * i, 0, up[4 - i][3], 0, up[4 - i][4]) for i in range(5)]
    trace = make("recursion", boot("event 0 clock 90 90 0 0 0", *up, *down, "event 0 clock 300 300 0 0 0"))
    total, = (f["total_insns"] for f in upto_json("top", "--total", "--json", trace, upto=UPTO_ASAN)["functions"] if f["function"] == "second")
    above = upto_json("tree", "--callers", "--json", "--min", "0", trace, "second", upto=UPTO_ASAN)["tree"]
    assert total == 140 == above[0]["total_insns"] and above[0]["function"] == "second", (total, above)
    assert above[1]["function"] == "startup_64" and above[1]["total_insns"] == 140, above


def reboot(*meta, before=(), pause=(), first=0):
    """A second boot at 1000 ns, with the kernel 2 MB further up; the same task_struct is another task's."""
    task, slide = 0xffff888000001000, 0x200000
    mapped = ("event 0 task-switch 30 30 0 0 0", first, task)
    return boot(mapped, ("event 0 call 40 0", STACK, KERNEL + 0x10, KERNEL + 0x1000), "event 0 clock 50 50 0 0 0",
                *before, ("event 0 task-switch 1000 1000 0 0 0", task, 0), *pause, "event 0 arrive 1000 0 0 0 0xfffffff0",
                "event 0 jump-indirect 1010 0 0 0xfffffff0 0xf0000",
                "event 0 clock 1100 1100 0 0 0", ("event 0 jump-indirect 1110 0 0 0xf0100", KERNEL + slide),
                "event 0 clock 1120 1120 0 0 0", ("event 0 task-switch 1130 1130 0 0 0 0", task),
                ("event 0 call 1140 0", STACK, KERNEL + slide + 0x10, KERNEL + slide + 0x2000), "event 0 clock 1200 1200 0 0 0") + [
        "meta boot.1.start_ns 1000", f"meta boot.1.slide {slide:#x}", "meta boot.1.kernel_ns 1110", "meta boot.1.kernel_insns 1110",
        "meta boot.1.symbols 0", ("task 1 0 30 30", task, 0, 7, 7, 1, "before"), ("task 1 0 1130 1130", task, 0, 9, 9, 1, "after"),
        *meta]


def test_boots():
    """Names, tasks and calls are those of their boot."""
    trace = make("boots", reboot())
    assert upto_json("info", "--json", trace)["boots"] == [
        {"start_ns": 0, "kernel": None, "slide": 0}, {"start_ns": 1000, "kernel": None, "slide": 0x200000}]
    functions = own(trace)
    assert functions["[firmware]"] == 10 + 100 and "[kernel]" not in functions and "[user]" not in functions, functions
    # what began in one boot ends with it, and is nobody's in the next
    call = upto_json("calls", "--json", "--function", "second", trace, upto=UPTO_ASAN)["calls"][0]
    assert (call["pid"], call["comm"], call["start_ns"], call["duration_ns"]) == (7, "before", 40, 960), call
    call = upto_json("calls", "--json", "--function", "third", trace, upto=UPTO_ASAN)["calls"][0]
    assert (call["pid"], call["comm"], call["start_ns"]) == (9, "after", 1140), call
    ends = {p["pid"]: p["end_ns"] for p in upto_json("ps", "--json", trace, upto=UPTO_ASAN)["processes"]}
    assert ends[7] == 1000 and ends[9] is None, ends


def test_boots_of_firmware():
    """A machine that is reset before anything was started has not booted in between; boots are in order."""
    later = ["meta boot.2.start_ns 1300", "meta boot.3.start_ns 1400", "meta boot.3.kernel_ns 1500"]
    trace = make("boots-firmware", reboot(*later))
    assert [b["start_ns"] for b in upto_json("info", "--json", trace)["boots"]] == [0, 1000, 1300]
    trace = make("boots-disordered", reboot("meta boot.2.start_ns 999"))
    failed = run(UPTO_ASAN, "info", trace, check=False)
    assert failed.returncode == 1 and b"boot 2 begins at 999 ns, before the one before it" in failed.stderr, failed
    # where even the first kernel came after a reset, its slide is told
    trace = make("boots-late", ["meta vcpus 1", "meta boot.1.start_ns 5", "meta boot.1.slide 0x200000", "meta boot.1.kernel_ns 10",
                                "end lost 0", "event 0 clock 20 20 0 0 0"])
    info = upto_json("info", "--json", trace, upto=UPTO_ASAN)
    assert info["slide"] == 0x200000 and info["boots"] == [{"start_ns": 0, "kernel": None, "slide": 0x200000}], info


def test_boot_after_a_pause():
    """The host did not run the vCPU between the reset and the first instruction: that is the firmware's time. The reset may be what a batch of events begins with."""
    for before in [], ["chunk 0"]:
        trace = make("boots-paused", reboot("fact wake 0 50 50 0xffff888000001000 0xffff888000001000", before=before, pause=["event 0 clock 1000 1050 0 0 0"]))
        chain = upto_json("why", "--json", "--boot", "2", "--until", "1105ns", trace, upto=UPTO_ASAN)["chain"]
        assert [(x["start_ns"], x["kind"]) for x in chain] == [(1000, "run"), (1050, "run")], chain
        # and that of the first boot is not who ran as that ended
        chain = upto_json("why", "--json", "--boot", "1", "--until", "25ns", trace, upto=UPTO_ASAN)["chain"]
        assert {x["comm"] for x in chain} == {"[boot]"}, chain


def test_threads_that_nothing_tells_of():
    """Three threads of what is no Linux, then one whose stack begins where that of the third is, which is over then; the others go on."""
    starts = {name: 0x100000 + 0x100 * i for i, name in enumerate(("start", "first", "second", "third", "yield", "switch_to"))}
    a, b, c = 0x10000ff8, 0x20000ff8, 0x30000ff8

    def switches(at, name, slot, to):
        """It calls yield(), which calls switch_to(), which returns on the other stack."""
        return [("event 0 call", at, 0, slot - 16, starts[name] + 0x10, starts["yield"]),
                ("event 0 call", at + 10, 0, slot - 32, starts["yield"] + 0x10, starts["switch_to"]), ("event 0 return", at + 20, 0, *to)]

    def goes_on(at, name, slot):
        return ("event 0 return", at, 0, slot - 16, 0, starts[name] + 0x10)

    inner = starts["yield"] + 0x10
    trace = make("foreign-threads", [
        "meta vcpus 1", "meta symbols 0", "end lost 0", "end late_arrivals 0", *(("symbol", at, 0x100, name) for name, at in starts.items()),
        "event 0 clock 10 10 0 0 0", ("event 0 jump-indirect 20 0 0 0x7c00", starts["start"]), ("event 0 call 30 0", a, starts["start"] + 0x10, starts["first"]),
        *switches(100, "first", a, (b, 0, starts["second"])), *switches(130, "second", b, (c, 0, starts["third"])), *switches(160, "third", c, (a - 32, 0, inner)),
        goes_on(190, "first", a), *switches(200, "first", a, (c - 16, 0, starts["third"])), *switches(230, "third", c - 16, (b - 32, 0, inner)),
        goes_on(260, "second", b), "event 0 clock 300 300 0 0 0"])
    calls = {(x["function"], x["start_ns"]): x["duration_ns"] for x in upto_json("calls", "--json", "-F", "yield,switch_to,third", trace, upto=UPTO_ASAN)["calls"]}
    assert {key: calls[key] for key in calls if key[0] == "yield"} == {("yield", 100): 90, ("yield", 130): 130, ("yield", 160): 60, ("yield", 200): 100, ("yield", 230): 70}, calls
    assert calls["switch_to", 140] == 110 and calls["third", 150] == 70 and calls["third", 220] == 80, calls


def test_conditions_of_programs():
    """exec: takes a program's path, the last part of it, or the name that its process has; not another."""
    # another task is told of between what the first has been called
    trace = make("programs", program(*(f"event 0 clock {at} {at} 0 0 0" for at in (150, 300, 500, 900))) + [
        f"task 1 0 250 250 {CHILD} 0 3 3 0 worker", f"task 3 0 260 260 {CHILD} 0 3 3 0 another",
        f"task 5 0 300 300 {INIT} 0xffff888000008000 1 1 0 named /bin/of-this", f"task 3 0 500 500 {INIT} 0xffff888000008000 1 1 0 later /bin/of-this"])

    def begins(name):
        p = run(UPTO_ASAN, "thin", "-f", "-o", trace + ".part", "--start", f"exec:{name}", trace, check=False)
        return p.returncode, b"did not happen" in p.stderr if p.returncode else [s["start_ns"] for s in upto_json("info", "--json", trace + ".part")["spans"]]

    for name, when in ("/bin/of-this", 300), ("of-this", 300), ("named", 300), ("later", 500):
        assert begins(name) == (0, [when]), (name, begins(name))
    for name in "bin/of-this", "of", "/of-this", "this":
        assert begins(name) == (1, True), (name, begins(name))


def test_span_within_a_pause():
    """Where nothing happens from its start to its stop, a span has nothing, and another one may come."""
    ms = 10**6
    trace = make("pause", boot("event 0 clock 100 100 0 0 0", "event 0 halt 200 200 0 0 0", f"event 0 resume 200 {10 * ms} 0 0 0",
                               ("event 0 call 300 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), ("event 0 return 350 0", STACK, 0, KERNEL + 0x20), f"event 0 clock 400 {11 * ms} 0 0 0"))
    part = trace + ".part"
    for options, ran in (["--start", "3ms", "--stop", "5ms"], 0), (["--start", "3ms", "--stop", "10900us"], 150), (["--start", "3ms"], 200):
        p = run(UPTO_ASAN, "thin", "-f", "-o", part, *options, trace)
        assert b"did not happen" not in p.stdout + p.stderr and sum(own(part).values()) == ran, (options, own(part))


def test_thinned_by_thread():
    """A trace of one thread's calls, and one of these again: what is left out, and of whom, is known."""
    trace = make("by-thread", program("event 0 clock 150 150 0 0 0", entry(200, READ, 0x401010), ("event 0 task-switch 300 300 0 0 0", INIT, IDLE),
                                      ("event 0 call 350 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), ("event 0 task-switch 400 400 0 0 0", IDLE, INIT), result(500, 0x401010, 0),
                                      "event 0 clock 600 600 0 0 0"))
    part = again = trace
    for _ in range(2):
        part, again = again, again + ".part"
        run(UPTO_ASAN, "thin", "-f", "-o", again, "--pid", "1", part)
    functions = own(again)
    assert "third" in functions and "second" not in functions, functions
    assert upto_json("info", "--json", again)["meta"]["threads"] == upto_json("info", "--json", trace + ".part")["meta"]["threads"]
    assert [s["name"] for s in upto_json("syscalls", "--json", again, upto=UPTO_ASAN)["syscalls"]] == ["read"]


def test_stack_of_a_program():
    """A frame of kstack is where its call returns to, as a number of bytes from its own function, also behind that function's last instruction."""
    trace = make("kstack", boot("event 0 clock 90 90 0 0 0", ("event 0 call 100 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), ("event 0 call 110 0", STACK - 16, KERNEL + 0x1200, KERNEL + 0x2000),
                                "event 0 clock 200 200 0 0 0", symbols=((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"), (KERNEL + 0x1200, 0xe00, "behind"),
                                                                        (KERNEL + 0x2000, 0x1000, "third"))))
    said = run(UPTO_ASAN, "run", "-e", "kprobe:third { print(kstack); }", trace).stdout.decode()
    assert re.findall(r"\S+\+\d+", said) == ["third+0", f"second+{0x200}", f"startup_64+{0x20}"], said


def test_header_of_a_log():
    """Between a log's triggers and its calls is an empty line, as between its counters and these where there are no triggers."""
    trace = make("kfi-header", boot("event 0 clock 90 90 0 0 0", ("event 0 call 100 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), ("event 0 return 110 0", STACK, 0, KERNEL + 0x20),
                                    "event 0 clock 200 200 0 0 0"))
    for options, triggers in ([], ""), (["--start", "time:95ns"], r"Logging started .*\n\n"):
        said = run(UPTO_ASAN, "export", "--to", "kfi", *options, trace).stdout.decode()
        assert re.search(r"\n\nNumber of entries after filters = [12]\n\n" + triggers + " Entry  ", said), said


def test_early_requests():
    """How many requests came before it was learnt where the kernel keeps what they say, of all boots; of other structures nothing is said."""
    request = "fact issue 0 50 50 0xffff888000001000 0xffff888000010000 0 8 4096"
    for early, n in (["meta early work_struct.func 1"], 0), (["meta early work_struct.func 1, request.__sector 2", "meta boot.1.early request.__sector 3"], 5):
        said = run(UPTO_ASAN, "disk", make("early", reboot(request, *early))).stderr.decode()
        assert [int(found) for found in re.findall(r"requests before these are missing: (\d+), from which", said)] == ([n] if n else []), said


def test_digest():
    """It differs with each part of an event, and does not with where clocks are."""
    def digest(name, *events):
        return run(UPTO_ASAN, "info", "--digest", make(f"digest-{name}", boot(*events, "event 0 clock 900 900 0 0 0"))).stdout

    call = ["event", 0, "call-indirect", 100, 0, STACK, KERNEL + 0x10, KERNEL + 0x2000]
    switch = ["event", 0, "task-switch", 200, 200, 0, 0, 0, 0x1000, 0x2000]
    found = {"as it is": digest("whole", call, switch)}
    for name, at, value in (("kind", 2, "jump-indirect"), ("insns", 3, 101), ("slot", 5, STACK - 8), ("from", 6, KERNEL + 0x20), ("target", 7, KERNEL + 0x2010)):
        found[name] = digest(name, call[:at] + [value] + call[at + 1:], switch)
    found["argument"] = digest("argument", call, switch[:-1] + [0x3000])
    found["fewer"] = digest("fewer", call)
    assert len(set(found.values())) == len(found), found
    assert digest("clock", call, "event 0 clock 150 150 0 0 0", switch) == found["as it is"]


REPORTS = {
    # mm/kasan/report.c, from 6.2 on
    "use": (["BUG: KASAN: slab-use-after-free in use_object+0x1/0x10", "Read of size 1 at addr ffff888004000028 by task insmod/80"], "0xffff888004000028"),
    "double": (["BUG: KASAN: double-free in free_object+0x1/0x10", "Free of addr ffff888004000000 by task insmod/80"], "0xffff888004000000"),
    "invalid": (["BUG: KASAN: invalid-free in free_object+0x1/0x10", "Free of addr ffff888004000008 by task insmod/80"], "0xffff888004000008"),
    # before it
    "old": (["BUG: KASAN: double-free or invalid-free in free_object+0x1/0x10", "The buggy address belongs to the object at ffff888004000040",
             "which belongs to the cache kmalloc-96 of size 96"], "0xffff888004000040"),
}


def test_reported_objects():
    """The object that a report is about, in each form that reports have: the first that has an address."""
    symbols = ((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "kasan_save_alloc_info"))
    for name, (lines, address) in REPORTS.items():
        text = ["========", *lines, "Call Trace:", "BUG: KASAN: slab-out-of-bounds in later+0x1/0x10", "Read of size 8 at addr ffff888004444444 by task x/1"]
        trace = make("reported-" + name, boot(*(f"log 0 20 20 0 {n} 3 {line}" for n, line in enumerate(text)), "event 0 clock 30 30 0 0 0", symbols=symbols))
        p = run(UPTO_ASAN, "object", trace, check=False)
        assert p.returncode == 1 and f"nothing is told of {address}:" in p.stderr.decode(), (name, p.stderr)


def test_costs_with_more_folded():
    """What instruments cost is the same where their callers are folded, too: told by phrases, and call by call."""
    lock, check, load = KERNEL + 0x1000, KERNEL + 0x2000, KERNEL + 0x3000
    symbols = ((KERNEL, 0x100, "startup_64"), (lock, 0x200, "take_lock"), (check, 0x200, "kasan_check_range"), (load, 0x200, "__asan_load8"))
    events, at, rounds = [], 100, 3000
    for n in range(rounds):
        # take_lock: 3 + 4 of its own; __asan_load8: 5 + 2 of its own, and kasan_check_range in it
        events += [(f"event 0 call {at} 0", STACK, KERNEL + 0x20, lock), (f"event 0 call {at + 3} 0", STACK - 64, lock + 8, load),
                   (f"event 0 call {at + 8} 0", STACK - 128, load + 8, check), (f"event 0 return {at + 19} 0", STACK - 128, 0, load + 8),
                   (f"event 0 return {at + 21} 0", STACK - 64, 0, lock + 8), (f"event 0 return {at + 25} 0", STACK, 0, KERNEL + 0x20)]
        at += 30
    trace = make("costs", boot(*events, (f"event 0 clock {at} {at} 0 0 0"), symbols=symbols))
    for options in [], ["--not", "take_lock"], ["--not", "*"], ["--functions", "startup_64"]:
        told = [upto_json(*command, "--json", *options, trace, upto=UPTO_ASAN)["instruments"]["KASAN"]["insns"] for command in (["top"], ["tree"])]
        assert told == [rounds * 18] * 2, (options, told)


def test_costs_of_a_part():
    """Of a span or a vCPU, instruments cost what passed in them there, with the index and without."""
    check, load = KERNEL + 0x2000, KERNEL + 0x3000
    symbols = ((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "second"), (check, 0x200, "kasan_check_range"), (load, 0x200, "__asan_load8"))
    events, ms = [], 10**6
    for k in range(40):
        at = 10 * k * ms + 1000
        for n in range(50):
            events += [(f"event 0 call {at} 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), (f"event 0 call {at + 3} 0", STACK - 64, KERNEL + 0x1008, load),
                       (f"event 0 call {at + 8} 0", STACK - 128, load + 8, check), (f"event 0 return {at + 19} 0", STACK - 128, 0, load + 8),
                       (f"event 0 return {at + 21} 0", STACK - 64, 0, KERNEL + 0x1008), (f"event 0 return {at + 25} 0", STACK, 0, KERNEL + 0x20)]
            at += 30
        events += [f"event 0 clock {at} {at} 0 0 0", "chunk 0"]
    end = 400 * ms
    trace = make("costs-of-part", boot(*events, f"event 0 clock {end} {end} 0 0 0", symbols=symbols))
    # the second span begins and ends at the edges of rounds, the last in the middle of a call
    spans = ["--from", "95ms", "--to", "205ms"], ["--from", f"{100 * ms + 1000 + 30}ns", "--to", f"{100 * ms + 1000 + 90}ns"], ["--cpu", "0"], ["--to", f"{1000 + 3 + 9}ns"]
    for options in [], ["--not", "second"]:
        answers = by_index(trace, *([command, *span, *options] for span in spans for command in ("top", "tree", "first")))
        costs = [a.get("instruments", {}).get("KASAN", {}).get("insns") for a in answers]
        assert costs == [n for n in (11 * 50 * 18, 2 * 18, 40 * 50 * 18, 9) for _ in range(3)], (options, costs)


def test_halted_at_the_end_of_a_span():
    """A vCPU that is halted where a span ends is so up to there, also where calls are folded, and the event that ends it is not gone through."""
    second = 10**9
    trace = make("halted-at-end", boot("event 0 clock 100 100 0 0 0", f"event 0 halt 1000 {second * 12 // 10} 0 0 0", f"event 0 resume 1000 {5 * second} 0 0 0",
                                       f"event 0 clock 2000 {6 * second} 0 0 0"))
    for span, halted in (["--from", "1s", "--to", "2s"], "800 ms"), (["--from", "2s", "--to", "3s"], "1.00 s"), (["--from", "4s", "--to", "6s"], "1.00 s"):
        told = [run(UPTO_ASAN, "top", *span, *options, trace).stdout.decode().splitlines()[0] for options in ([], ["--fold", "third"])]
        assert f"halted {halted} more" in told[0] and told[1] == told[0], told


def test_callers_behind_a_jump():
    """Who called a function first is not who jumped on where, in events that have been gone through before, another event stood."""
    second, third = KERNEL + 0x1000, KERNEL + 0x2000
    names = [(KERNEL + 0x3000 + 0x100 * i, 0x100, f"f{i}") for i in range(60)]
    events = [("event 0 call 100 0", STACK, KERNEL + 0x20, second), ("event 0 jump 110 0 0", second + 8, third), ("event 0 jump 120 0 0", third + 8, second + 0x10),
              ("event 0 return 130 0", STACK, 0, KERNEL + 0x20), "event 0 clock 140 140 0 0 0", "chunk 0"]
    for i, (at, _, _) in enumerate(names):
        events += [(f"event 0 call {200 + 20 * i} 0", STACK, KERNEL + 0x20, at), (f"event 0 return {210 + 20 * i} 0", STACK, 0, KERNEL + 0x20)]
        if i < 12:  # at each place in a batch, once
            events += [f"event 0 clock {212 + 20 * i} {212 + 20 * i} 0 0 0"] * (i % 2)
    trace = make("behind-a-jump", boot(*events, "event 0 clock 3000 3000 0 0 0", symbols=(
        (KERNEL, 0x100, "startup_64"), (second, 0x200, "second"), (third, 0x1000, "third"), *names)))
    folded = {r["function"]: r["caller"] for r in upto_json("first", "--json", "-n", "0", "--fold", "f59", trace, upto=UPTO_ASAN)["first"]}
    assert all(folded[f"f{i}"] == "startup_64" for i in range(59)), folded


KUNIT_RUNS = KERNEL + 0x1000
KUNIT_SYMBOLS = ((KERNEL, 0x100, "startup_64"), (KUNIT_RUNS, 0x200, "kunit_try_run_case"))


def kunit_case(at, took):
    """A case of KUnit's that runs from instruction `at` for `took` instructions of 10 ns each."""
    return [(f"event 0 call {at} 0", STACK, KERNEL + 0x20, KUNIT_RUNS), f"event 0 clock {at} {at * 10} 0 0 0", (f"event 0 return {at + took} 0", STACK, 0, KERNEL + 0x20),
            f"event 0 clock {at + took} {(at + took) * 10} 0 0 0"]


def kunit_line(at, number, text):
    """A line of the kernel's log, said at instruction `at`."""
    return f"log 0 {at * 10} {at} 0 {number} 6 {text}"


def test_skipped_cases():
    """A case of KUnit's that was skipped without a call is told as a moment; the calls of others stay theirs."""
    lines = [kunit_line(50, 0, "~~~~# Subtest: suite"), *kunit_case(100, 50), kunit_line(160, 1, "~~~~ok 1 runs"), kunit_line(170, 2, "~~~~ok 2 slow # SKIP filtered"),
             *kunit_case(200, 30), kunit_line(240, 3, "~~~~not ok 3 fails"), kunit_line(250, 4, "~~~~ok 4 last # SKIP")]
    trace = make("skipped", boot(*lines, "event 0 clock 300 3000 0 0 0", symbols=KUNIT_SYMBOLS))
    rows = upto_json("timeline", "--json", "--kind", "test", trace, upto=UPTO_ASAN)["timeline"]
    assert [(r["name"], r["outcome"]) for r in rows] == [("suite.runs", "ok"), ("suite.slow", "skipped"), ("suite.fails", "not ok"), ("suite.last", "skipped")], rows
    assert [r["end_ns"] - r["start_ns"] for r in rows] == [500, 0, 300, 0], rows


def test_waits_and_gaps():
    """Who is away where a gap begins is known to be so up to there; when such threads come back behind it, how long they were ready is not known."""
    second, wakes = CHILD, KERNEL + 0x1000
    events = [("event 0 task-switch 200 200 0 0 0", INIT, second), "event 0 clock 210 210 0 0 0", ("event 0 task-switch 300 300 0 0 0", second, IDLE),
              ("event 0 call 320 0", STACK - 64, KERNEL + 0x20, wakes), ("fact wake 0 320 320", IDLE, second), "event 0 clock 330 330 0 0 0",
              ("event 0 return 340 0", STACK - 64, 0, KERNEL + 0x20), "event 0 clock 400 400 0 0 0",
              ("behind 0 5000 5000", KERNEL + 0x40, IDLE), ("event 0 gap 5000 5000 0 0 0 0 2 1", KERNEL + 0x40, IDLE), "event 0 clock 5500 5500 0 0 0",
              ("event 0 task-switch 6000 6000 0 0 0", IDLE, INIT), "event 0 clock 6100 6100 0 0 0", ("event 0 task-switch 6200 6200 0 0 0", INIT, second),
              "event 0 clock 6300 6300 0 0 0"]
    symbols = ((KERNEL, 0x100, "startup_64"), (wakes, 0x200, "try_to_wake_up"))
    trace = make("waits-gaps", program(*events, symbols=symbols) + [f"task 1 0 97 97 {second} 0xffff888000009000 2 2 1 second /second"])
    waits = {(w["pid"], w["start_ns"]): (w["asleep_ns"], w["ready_ns"], w["kind"]) for w in upto_json("waits", "--json", trace, upto=UPTO_ASAN)["waits"]}
    assert waits[1, 200] == (200, 0, "unknown") and waits[2, 300] == (20, 80, "unknown"), waits
    assert not upto_json("latency", "--json", "--kind", "wakeup", trace, upto=UPTO_ASAN)["latencies"]
    for until, name in ("6100ns", "program"), ("6300ns", "second"):
        chain = upto_json("why", "--json", "--until", until, trace, upto=UPTO_ASAN)["chain"]
        assert all(a["end_ns"] == b["start_ns"] for a, b in zip(chain, chain[1:])), chain
        behind = [(x["start_ns"], x["kind"], x["comm"]) for x in chain if x["end_ns"] > 400]
        assert [x for x in behind if x[2] == name][0] == (400, "unknown", name), (until, behind)


def test_late_timers():
    """A timer that is late where --to is counts up to where it runs out, also behind that; when one ran out that was set before a gap is not known."""
    def came(at):
        return f"event 0 interrupt {at} {at} {STACK - 64:#x} {KERNEL + 0x20:#x} {KERNEL + 0x1000:#x} 0xec"

    def timers(name, *events, options=()):
        trace = make(name, boot(*events))
        return [(row["start_ns"], row["end_ns"]) for row in upto_json("latency", "--json", "--kind", "timer", *options, trace, upto=UPTO_ASAN)["latencies"]]

    events = ["event 0 clock 100 100 0 0 0", "fact due 0 150 150 0 200", *(f"event 0 clock {at} {at} 0 0 0" for at in (150, 320, 500)), came(600), "event 0 clock 700 700 0 0 0"]
    for options in [], ["--to", "300ns"]:
        assert timers("timers-late", *events, options=options) == [(200, 600)], options
    assert timers("timers-late", *events, options=["--to", "180ns"]) == []
    gap = [f"behind 0 5000 5000 {KERNEL + 0x20} 0", f"event 0 gap 5000 5000 0 0 0 0 2 1 {KERNEL + 0x20} 0", "event 0 clock 5100 5100 0 0 0", came(5500)]
    assert timers("timers-gap", *events[:3], *gap, "event 0 clock 5600 5600 0 0 0") == []


def test_whose_moments():
    """A line from before a boot's first switch is that boot's; why may begin before anything ran, and says so of a moment by which nothing had."""
    lines = reboot("fact wake 0 50 50 0xffff888000001000 0xffff888000001000", "log 0 1121 1121 0 0 6 early",
                   f"task 1 0 20 20 {IDLE} 0 0 0 0 swapper", first=IDLE)
    trace = make("moments", lines)
    why = upto_json("why", "--json", "--until", "log:early", trace, upto=UPTO_ASAN)
    assert why["until_ns"] == 1121 and {x["comm"] for x in why["chain"]} == {"[boot]"}, why
    assert upto_json("why", "--json", "--from", "0s", "--until", "45ns", trace, upto=UPTO_ASAN)["total_ns"] == 45
    late = "the trace ends at 0.000001 s"
    for options, said in ((["--until", "0s"], "nothing that is recorded had run by then"), (["--until", "9s"], late), (["--until", "log:early", "--from", "9s"], late)):
        p = run(UPTO_ASAN, "why", *options, trace, check=False)
        assert p.returncode == 1 and said in p.stderr.decode(), (options, p)


def test_end_of_a_phase():
    """A phase ends by what the first process does, on whichever vCPU that runs."""
    both = lambda cpu, task: [f"event {cpu} clock 10 10 0 0 0", (f"event {cpu} jump-indirect 11 0 0 0x100000", KERNEL), f"event {cpu} clock 20 20 0 0 0",
                              (f"event {cpu} task-switch 100 100 0 0 0", task, task), f"event {cpu} clock 500 500 0 0 0"]
    trace = make("end-of-phase", [
        "meta vcpus 2", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0", f"symbol {KERNEL} 256 startup_64", *both(0, IDLE), *both(1, INIT),
        f"task 1 0 95 95 {IDLE} 0 0 0 0 idle", f"task 1 1 96 96 {INIT} 0 1 1 0 swapper", f"task 5 1 300 300 {INIT} 0xffff888000008000 1 1 0 init /init",
        f"fact wake 0 200 200 {IDLE} {INIT}"])
    why = upto_json("why", "--json", "--until", "kernel", trace, upto=UPTO_ASAN)
    assert why["until_ns"] == 300 and why["chain"][-1]["pid"] == 1, why


def test_stacks_between_spans():
    """Between what is recorded, stacks are those of where the part before ends, and that is said; within it nothing is."""
    spans = ["meta thinned --start entry:second --every", "meta span.1.start_ns 0", "meta span.1.stop_ns 400", "meta span.2.start_ns 5000", "meta span.2.stop_ns 6000"]
    trace = make("between-spans", boot(("event 0 call 100 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), "event 0 clock 400 400 0 0 0", f"behind 0 5000 5000 {KERNEL + 0x20} 0",
                                       f"event 0 gap 5000 5000 0 0 0 0 2 1 {KERNEL + 0x20} 0", "event 0 clock 6000 6000 0 0 0") + spans)
    for at, said in ("300ns", None), ("400ns", None), ("3us", "was not recorded at 0.000003000 s: stacks are those of 0.000000400 s"), ("5500ns", None):
        p = run(UPTO_ASAN, "stack", "--at", at, trace)
        assert (b"second" in p.stdout) == (at != "5500ns") and ("recorded" not in p.stderr.decode() if said is None else said in p.stderr.decode()), (at, p)


def test_parts_of_parts():
    """What was not recorded between two spans is not in a part of both, either, and is said there."""
    spans = ["meta thinned --start entry:second --every", "meta span.1.start_ns 0", "meta span.1.stop_ns 400", "meta span.2.start_ns 5000", "meta span.2.stop_ns 6000"]
    clocks = lambda *times: [f"event 0 clock {ns} {ns} 0 0 0" for ns in times]
    trace = make("parts-of-parts", boot(("event 0 call 100 0", STACK, KERNEL + 0x20, KERNEL + 0x1000), *clocks(100, 200, 300, 350, 400), f"behind 0 5000 5000 {KERNEL + 0x20} 0",
                                        f"event 0 gap 5000 5000 0 0 0 0 2 1 {KERNEL + 0x20} 0", *clocks(5100, 5500, 6000)) + spans)
    for asked, want in (("300ns", "5500ns"), [(300, 400), (5000, 5500)]), (("100ns", "200ns"), [(100, 200)]), (("5100ns", "6us"), [(5100, 6000)]), (("350ns", "5us"), [(350, 400)]):
        part = trace + ".part"
        run(UPTO_ASAN, "thin", "-f", "--start", asked[0], "--stop", asked[1], "-o", part, trace)
        assert [(s["start_ns"], s["stop_ns"]) for s in upto_json("info", "--json", part, upto=UPTO_ASAN)["spans"]] == want, asked
        if len(want) > 1:
            assert b"was not recorded at 0.000003000 s" in run(UPTO_ASAN, "stack", "--at", "3us", part).stderr


def test_said_by_a_trace():
    """What a trace says of itself goes to no terminal as it is."""
    trace = make("says", boot("event 0 clock 30 30 0 0 0") + ["meta stopped \x1b]0;owned\x07", "meta odd_clock \x1b[31mred", "meta odd_clocks 1"])
    for command in "info", "top", "check", "log":
        p = run(UPTO_ASAN, command, trace, check=False)
        assert b"\x1b" not in p.stdout + p.stderr and b"\x07" not in p.stdout + p.stderr, (command, p)
    assert b"stopped early: \\x1b]0;owned\\x07" in run(UPTO_ASAN, "info", trace).stdout


def test_cases_of_boots():
    """A case that was under way when the machine was reset is not the next boot's of that name, and was not told of."""
    again = ["event 0 clock 300 3000 0 0 0", "event 0 arrive 301 0 0 0 0xfffffff0", "event 0 jump-indirect 340 0 0 0xfffffff0 0xf0000",
             ("event 0 jump-indirect 350 0 0 0xf0100", KERNEL), "event 0 clock 351 3510 0 0 0"]
    lines = [kunit_line(50, 0, "~~~~# Subtest: suite"), *kunit_case(100, 50), kunit_line(160, 1, "~~~~ok 1 first"), *kunit_case(200, 30), *again, kunit_line(500, 1, "~~~~# Subtest: suite"), *kunit_case(550, 30),
             kunit_line(600, 2, "~~~~ok 1 first")]
    trace = make("cases-of-boots", boot(*lines, "event 0 clock 700 7000 0 0 0", symbols=KUNIT_SYMBOLS) + ["meta boot.1.start_ns 3000", "meta boot.1.kernel_ns 3500", "meta boot.1.kernel_insns 350", "meta boot.1.symbols 0"])
    rows = upto_json("timeline", "--json", "--kind", "test", trace, upto=UPTO_ASAN)["timeline"]
    named = [(r["name"], r["start_ns"], r["end_ns"], r["outcome"]) for r in rows if r["outcome"]]
    assert named == [("suite.first", 1000, 1500, "ok"), ("suite.first", 5500, 5800, "ok")], rows


def test_timeline_of_a_part():
    """What is long for the time that is shown is not folded, and the bar is of that time: of a part that was recorded, and between --from and --to."""
    begin, ms = 10_000_000_000, 1_000_000
    events = [f"behind 0 {begin} {begin} {KERNEL + 0x20} {INIT}", f"event 0 gap {begin} {begin} 0 0 0 0 2 1 {KERNEL + 0x20} {INIT}",
              *(f"event 0 clock {begin + at * ms} {begin + at * ms} 0 0 0" for at in (20, 50, 100))]
    tasks = [f"task 1 0 {begin + 20 * ms} {begin + 20 * ms} {CHILD} 0xffff888000009000 3 3 1 half /bin/half",
             f"task 1 0 {begin + 98 * ms} {begin + 98 * ms} {CHILD + 0x1000} 0xffff88800000a000 4 4 1 late /bin/late"]
    spans = ["meta thinned --start entry:second", f"meta span.1.start_ns {begin}", f"meta span.1.stop_ns {begin + 100 * ms}"]

    def shown(trace, *options):
        lines = run(UPTO_ASAN, "timeline", "-o", "name,bar", *options, trace).stdout.decode().splitlines()
        return {line.split()[0]: line.count("█") for line in lines if re.match(r" *(/bin|entry|firmware)", line)}

    rows = shown(make("timeline-part", program(*events) + tasks + spans))
    assert rows == {"/bin/half": 16, "/bin/late": 1, "entry:second": 20, "firmware": 0}, rows
    whole = make("timeline-whole", program(*events) + tasks)
    assert set(shown(whole)) == {"firmware"} and set(shown(whole, "--from", "9.95s")) == {"/bin/half", "/bin/late"}, shown(whole)


def test_families_of_boots():
    """A boot's processes stand below its own idle task."""
    lines = reboot(f"task 1 0 20 20 {IDLE} 0 0 0 0 first-idle", f"task 1 0 1125 1125 {IDLE + 0x8000} 0 0 0 0 second-idle", f"task 1 0 1126 1126 {IDLE + 0x9000} 0 1 1 0 second-init")
    rows = [p["comm"] for p in upto_json("ps", "--json", make("families", lines), upto=UPTO_ASAN)["processes"]]
    assert rows.index("first-idle") < rows.index("second-idle") < rows.index("second-init"), rows


def test_requests_and_breaks():
    """A request that was under way where a boot, or what is recorded, ends is not the one that has its address later."""
    def issue(at):
        return f"fact issue 0 {at} {at} 0 0xffff888000010000 0 8 4096"

    def done(at):
        return f"fact complete 0 {at} {at} 0 0xffff888000010000 0 4096"

    spans = ["meta thinned --start entry:second --every", *(f"meta span.{i}.{end}_ns {ns}" for i, end, ns in ((1, "start", 0), (1, "stop", 400), (2, "start", 5000), (2, "stop", 6000)))]
    parts = boot("event 0 clock 400 400 0 0 0", f"behind 0 5000 5000 {KERNEL + 0x20} 0", f"event 0 gap 5000 5000 0 0 0 0 2 1 {KERNEL + 0x20} 0", "event 0 clock 6000 6000 0 0 0")
    for name, lines, late in ("boots", reboot(), 1150), ("spans", parts + spans, 5500):
        rows = upto_json("disk", "--json", make("broken-" + name, lines + [issue(40), done(45), issue(48), done(late), issue(late + 10), done(late + 15)]), upto=UPTO_ASAN)["requests"]
        assert [(r["start_ns"], r["latency_ns"]) for r in rows] == [(40, 5), (48, None), (late + 10, 5)], (name, rows)


def test_options_of_log_and_why():
    """What an option says nothing of is refused; -n also cuts what is no table; why --json has how the guest ended."""
    trace = make("log-and-why", program(*(f"log 0 {at} {at} {INIT} {at} 6 line~{at}" for at in (120, 130, 140)), "event 0 clock 150 150 0 0 0",
                                          ("event 0 task-switch 200 200 0 0 0", INIT, CHILD), "event 0 clock 500 500 0 0 0", f"fact wake 0 110 110 {INIT} {INIT}")
                 + [f"task 1 0 150 150 {CHILD} 0 3 3 0 worker"])
    for command, option, other in [*(("log", "--follow", [o]) for o in ("--json", "--stack", "--exact")), ("log", "--follow", ["--start", "time:0s"]), ("log", "--follow", ["-n", "1"]),
                                   ("log", "--stack", ["-s", "text"]), ("log", "--stack", ["-o", "text"]), ("log", "--stack", ["--exact"])]:
        p = run(UPTO_ASAN, command, option, *other, trace, check=False)
        assert p.returncode == 2 and re.match(rf"upto: {option} goes without --\w+\n$", p.stderr.decode()) and not p.stdout, (option, other, p)
    for n, count in ("1", 1), ("0", 3):
        assert len(upto_json("log", "--json", "--stack", "-n", n, trace, upto=UPTO_ASAN)["log"]) == count
    for one, other in ("--until", "--stop"), ("--to", "--stop"), ("--from", "--start"):
        p = run(UPTO_ASAN, "why", one, "300ns", other, "400ns", trace, check=False)
        assert p.returncode == 2 and f"upto: {one} and {other}: " in p.stderr.decode() and not p.stdout, p
    whole, causes, chain = (upto_json("why", "--json", "--until", "400ns", *options, trace, upto=UPTO_ASAN) for options in ([], ["-n", "1"], ["-n", "1", "--chain"]))
    assert len(whole["causes"]) > 1 < len(whole["chain"])
    assert causes == {**whole, "causes": whole["causes"][:1]} and chain == {**whole, "chain": whole["chain"][:1]}
    info = upto_json("info", "--json", trace, upto=UPTO_ASAN)
    assert (whole["ending"], whole["troubles"]) == (info["ending"], info["troubles"]), whole


def test_units():
    """A unit starts up from when its group is made until systemd tells of it, else until the group is gone; both before the group is made again."""
    def group(at, path, gone=False):
        return f"told {'group-gone' if gone else 'group'} 0 {at} {at} {INIT} 0 {path}"

    def audit(at, unit, result="success", type_=1130):
        return f"told audit 0 {at} {at} {INIT} {type_} pid=1~unit={unit}~comm=systemd~res={result}"

    facts = [group(200, "/system.slice/told.service"), group(210, "/system.slice/failed.service"), audit(220, "told"), group(230, "/system.slice/gone.socket"),
             audit(240, "failed", "failed"), group(250, "/system.slice/gone.socket", True), group(260, "/system.slice/again.service"), audit(265, "again", type_=1131),
             group(270, "/system.slice/again.service", True), group(280, "/system.slice/again.service"), audit(290, "again"), audit(300, "told"),
             group(310, "/system.slice/never.service"), group(320, "/system.slice/no-unit")]
    trace = make("units", program("event 0 clock 350 350 0 0 0", *facts))
    rows = upto_json("timeline", "--json", "--kind", "unit", trace, upto=UPTO_ASAN)["timeline"]
    assert [(r["name"], r["start_ns"], r["end_ns"], r["result"]) for r in rows] == [
        ("told.service", 200, 220, 0), ("failed.service", 210, 240, 1), ("gone.socket", 230, 250, None), ("again.service", 260, 270, None), ("again.service", 280, 290, 0)], rows


def test_event_losses():
    """What could not be computed or read of an event's records is said, with how often and why."""
    form = r'test:one\nname: one\nID: 7\nformat:\n	field:int x;	offset:0;	size:4;	signed:1;\n\nprint fmt: "%d", REC->x\n'
    trace = make("event-losses", [*boot("event 0 clock 500 500 0 0 0"), f"meta event.0 {form}", "meta event.0.faults 3", "meta event.0.missing 2", "meta event.0.why since so it is"])
    p = run(UPTO_ASAN, "events", trace, check=False)
    assert b"3 values of test:one could not be read" in p.stderr and b"2 records of test:one are missing: since so it is" in p.stderr, p
    one, = upto_json("events", "--list", "--json", trace, upto=UPTO_ASAN)["formats"]
    assert (one["faults"], one["missing"]) == (3, 2), one


def test_damaged_names():
    """A name of the kernel's that shares more with the one before than that has is refused, wherever in the table it stands."""
    path = make("names", boot("event 0 clock 500 500 0 0 0", symbols=[(KERNEL + 0x100 * i, 0x100, f"shared_prefix_{i:02}") for i in range(12)]))
    _, chunks = chunks_of(path)
    data = open(path, "rb").read()
    chunk = next(c for c in chunks if c["type"] == 4)
    payload = unpack(data[chunk["offset"] + CHUNK_HEADER.size:chunk["end"]], chunk["unpacked"])
    known = symbol_table(Cursor(payload))[1]
    # how many bytes each shares with the one before stand in a row
    shared = bytes(len(os.path.commonprefix([a.name, b.name])) for a, b in zip(known, known[1:]))
    assert payload.count(b"\0" + shared) == 1 and len(shared) == 11
    at = payload.index(b"\0" + shared) + 1
    for i in (0, 4, len(shared) - 1):
        for more, status in (0, 0), (1, 1):
            wrong = bytearray(payload)
            if more:
                wrong[at + i] = len(known[i].name) + 1
            write(path, rewritten(Trace(path), 4, lambda _, w=bytes(wrong): w))
            p = run(UPTO_ASAN, "top", path, check=False)
            assert p.returncode == status, (i, more, p)
            write(path, data)


def test_conditions_with_a_plus():
    """A + begins a time since the start, of what stops and has no word before it; in a line of the log it is the line's."""
    trace = make("plus", program(*(f"event 0 clock {at} {at} 0 0 0" for at in range(100, 1000, 100)), *(f"log 0 {at} {at} {INIT} {at} 6 {text}" for at, text in ((300, "+3V is there"), (600, "+5V is there")))))
    part = trace + ".part"
    for options, want in (["--start", "log:+5V"], (600, None)), (["--start", "log:+3V", "--stop", "log:+5V"], (300, 600)), (["--start", "time:300ns", "--stop", "+200ns"], (300, 500)), \
            (["--start", "time:300ns", "--stop", "time:+200ns"], (300, 500)):
        run(UPTO_ASAN, "thin", "-f", "-o", part, *options, trace)
        span, = upto_json("info", "--json", part, upto=UPTO_ASAN)["spans"]
        assert span["start_ns"] == want[0] and (want[1] is None or span["stop_ns"] == want[1]), (options, span)
    # a line that pr_cont goes on with is one
    trace = make("goes-on", program(*(f"event 0 clock {at} {at} 0 0 0" for at in range(100, 1000, 100)),
                                    *(f"log 0 {at} {at} {INIT} {number} 6 {text}" for at, number, text in ((200, 1, "CPUs:"), (300, 1, "CPUs: #1"), (400, 1, "CPUs: #1 #2"), (700, 2, "no CPUs")))))
    for asked, when in ("CPUs#2", 700), ("#1#1", 300), ("#2#1", 400), ("CPUs", 200):
        run(UPTO_ASAN, "thin", "-f", "-o", part, "--start", f"log:{asked}", trace)
        assert upto_json("info", "--json", part, upto=UPTO_ASAN)["spans"][0]["start_ns"] == when, asked
    p = run(UPTO_ASAN, "thin", "-f", "-o", part, "--start", "+200ns", trace, check=False)
    assert p.returncode == 2 and b"only what stops can be told by the time since the start" in p.stderr, p


def test_damaged_strings():
    """A text that records have the address of has that before it; else it is refused."""
    for n, (text, whole) in enumerate(((r"0x10 one\n0x20 two\n", True), (r"0x10 one\n two\n", False), (r"0x10\n", False), (r"0x10 one", False), (r"zz one\n", False))):
        form = r'test:one\nname: one\nID: 7\nformat:\n	field:int x;	offset:0;	size:4;	signed:1;\n\nprint fmt: "%d", REC->x\n'
        trace = make(f"strings-{n}", [*boot("event 0 clock 500 500 0 0 0"), f"meta event.0 {form}", f"meta event_strings {text}"])
        p = run(UPTO_ASAN, "events", trace, check=False)
        assert (b"no text of a trace event" in p.stderr) != whole, (text, p)


def test_conditions_of_tests():
    """test: takes a suite, a case of it, or a pattern; not the beginning of a name."""
    trace = make("tests", program(*(f"event 0 clock {at} {at} 0 0 0" for at in range(100, 1000, 100)), *(f"told test 0 {at} {at} {INIT} 0 {name}" for at, name in ((300, "suite.one"), (500, "suite.two"), (700, "other.one")))))
    for asked, when in ("suite", 300), ("suite.two", 500), ("*.one", 300), ("other.*", 700), ("other", 700), ("sui", None), ("suite.three", None), ("two", None):
        p = run(UPTO_ASAN, "thin", "-f", "-o", trace + ".part", "--start", f"test:{asked}", trace, check=False)
        assert p.returncode == (when is None), (asked, p)
        if when:
            assert [s["start_ns"] for s in upto_json("info", "--json", trace + ".part", upto=UPTO_ASAN)["spans"]] == [when], asked


def test_modules_come_and_go():
    """Whose code an address was at each time, where modules overlap in place or time: against all of them, one by one."""
    rng = random.Random(20)
    base, modules, lines, calls = 0xffffffffc0000000, [], [], []
    for i in range(60):
        start, size, begins = base + 0x100 * rng.randrange(12), 0x100 * rng.randint(1, 6), 100 + 20 * i
        modules.append([start, start + size, begins, 1 << 64, f"m{i}"])
        lines.append(f"module 0 {begins} {begins} {start} {size} m{i}")
        # what is freed is the last that began there
        if rng.random() < 0.7 and (open_ := [m for m in modules if m[3] == 1 << 64]):
            gone = rng.choice(open_)
            last = [m for m in open_ if m[0] == gone[0]][-1]
            last[3] = begins + 10
            lines.append(f"freed 0 {begins + 10} {begins + 10} {last[0]}")
    for ns in range(105, 1400, 5):
        addr = base + 0x100 * rng.randrange(18)
        calls += [f"event 0 call {ns} 0 {STACK - 64} {KERNEL + 0x20} {addr}", f"event 0 clock {ns + 1} {ns + 1} 0 0 0",
                  f"event 0 return {ns + 2} 0 {STACK - 64} 0 {KERNEL + 0x20}", f"event 0 clock {ns + 3} {ns + 3} 0 0 0"]
        here = [m for m in modules if m[0] <= addr < m[1]]
        now, later = [m for m in here if m[2] <= ns < m[3]], [m for m in here if m[2] > ns]
        calls[-1] += f" # {max(now, key=lambda m: m[2])[4] if now else min(later, key=lambda m: m[2])[4] if later else ''}"
    want = collections.Counter(line.split(" # ")[1] for line in calls if " # " in line)
    trace = make("modules-come-and-go", boot(*(line.split(" # ")[0] for line in calls)) + lines)
    got = collections.Counter()
    for line in run(UPTO_ASAN, "dump", "--kind", "call", trace).stdout.decode().splitlines():
        found = re.search(r"\] call (m\d+)(\+0x\w+)? \[\1\] from", line)
        got[found[1] if found else ""] += 1
    assert got == want and len(want) > 20, (got - want, want - got)


def test_no_threads():
    """A name that is asked for where there are no threads at all."""
    trace = make("no-threads", boot("event 0 clock 100 100 0 0 0"))
    for command in ["stack", "--at", "50ns"], ["top"], ["log"], ["ps"]:
        p = run(UPTO_ASAN, *command, "--comm", "nobody,else", trace, check=False)
        assert b"(null)" not in p.stderr and b"runtime error" not in p.stderr and p.returncode in (0, 1), (command, p)


def test_end_of_time():
    """Where a guest's time ends with what 64 bits hold, how it ended is found nevertheless."""
    for end in 1 << 40, (1 << 63) + 5, (1 << 64) - 2:
        trace = make("end-of-time", program(f"log 0 120 120 {INIT} 1 6 line", f"event 0 clock {end} {end} 0 0 0"))
        assert upto_json("info", "--json", trace, upto=UPTO_ASAN)["duration_ns"] == end
        assert run(UPTO_ASAN, "timeline", trace, timeout=20).stdout


def test_panics():
    """What came before a panic: of what a gap cut nobody knows when it ended; of a panic of another boot, the commands that are named are of that one."""
    at = STACK - 64
    symbols = ((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, "panic"), (KERNEL + 0x2000, 0x1000, "third"), (KERNEL + 0x4000, 0x1000, "fourth"))
    trace = make("panic-gap", program(
        ("event 0 call 120 0", at, KERNEL + 0x20, KERNEL + 0x2000), "event 0 clock 130 130 0 0 0", ("event 0 call 140 0", at - 64, KERNEL + 0x2020, KERNEL + 0x4000),
        "event 0 clock 150 150 0 0 0", ("behind 0 5000 5000", KERNEL + 0x4040, INIT), ("event 0 gap 5000 5000 0 0 0 0 2 1", KERNEL + 0x4040, INIT), "event 0 clock 5500 5500 0 0 0",
        ("event 0 call 5600 0", at - 128, KERNEL + 0x4060, KERNEL + 0x1000), "event 0 clock 5610 5610 0 0 0", "event 0 clock 6000 6000 0 0 0",
        f"fact wake 0 50 50 {INIT} {INIT}", f"log 0 5700 5700 {INIT} 0 0 Kernel~panic~-~not~syncing:~x", symbols=symbols))
    why = upto_json("why", "--json", trace, upto=UPTO_ASAN)["panic"]
    assert [(c["function"], c["duration_ns"]) for c in why["calls"]] == [("third", None), ("fourth", None)] and why["frames"][0]["function"] == "panic", why
    slide, task = 0x200000, INIT
    trace = make("panic-twice", boot(
        ("event 0 task-switch 30 30 0 0 0", task, task), ("event 0 call 40 0", STACK, KERNEL + 0x10, KERNEL + 0x1000), "event 0 clock 50 50 0 0 0", "event 0 clock 200 200 0 0 0",
        ("event 0 task-switch 1000 1000 0 0 0", task, 0), "event 0 arrive 1000 0 0 0 0xfffffff0", "event 0 jump-indirect 1010 0 0 0xfffffff0 0xf0000", "event 0 clock 1100 1100 0 0 0",
        ("event 0 jump-indirect 1110 0 0 0xf0100", KERNEL + slide), "event 0 clock 1120 1120 0 0 0", ("event 0 task-switch 1130 1130 0 0 0 0", task),
        ("event 0 call 1140 0", STACK, KERNEL + slide + 0x10, KERNEL + slide + 0x2000), "event 0 clock 1200 1200 0 0 0",
        ("event 0 call 1210 0", at, KERNEL + slide + 0x2010, KERNEL + slide + 0x1000), "event 0 clock 1220 1220 0 0 0", "event 0 clock 1400 1400 0 0 0", symbols=symbols) + [
        "meta boot.1.start_ns 1000", f"meta boot.1.slide {slide:#x}", "meta boot.1.kernel_ns 1110", "meta boot.1.kernel_insns 1110", "meta boot.1.symbols 0",
        ("task 1 0 30 30", task, 0, 7, 7, 1, "before"), ("task 1 0 1130 1130", task, 0, 9, 9, 1, "after"), f"fact wake 0 50 50 {task} {task}",
        f"log 0 100 100 {task} 0 0 Kernel~panic~-~not~syncing:~first", f"log 0 1300 1300 {task} 0 0 Kernel~panic~-~not~syncing:~second"])
    for number, comm, pid, ns in ("1", "before", 7, 100), ("2", "after", 9, 1300):
        said = run(UPTO_ASAN, "why", "--boot", number, trace).stdout.decode()
        assert f"# who panicked: {comm} ({pid}), here; whole: upto stack --running --at 0.{ns:09}s " in said, said
        command = re.search(r"whole: (upto .*)", said)[1].split()
        assert run(UPTO_ASAN, *command[1:]).stdout.decode().startswith(f"{pid} {comm} on CPU 0\n"), said


def test_first_of_what_was_folded():
    """What repeats may become known where it is not shown: the first use outside is the first one nevertheless."""
    functions = {name: KERNEL + 0x1000 * (i + 1) for i, name in enumerate("fXghi")}
    lines, insns = [], 0

    def at(kind, slot, source, target):
        nonlocal insns
        insns += 3
        lines.append((f"event 0 {kind}", insns, insns * 10, slot, source, target))

    def call(path, repeated=0):
        """Of path[0] to path[1] and so on; the last two so many times."""
        slot, caller, callee = STACK - 16 * (5 - len(path)), functions[path[0]] + 0x20 + 0x10 * ord(path[1]), functions[path[1]]
        at("call", slot, caller, callee)
        for _ in range(repeated if len(path) == 4 else min(len(path) - 2, 1)):
            call(path[1:], repeated)
        at("return", slot, 0, caller)

    at("clock", 0, 0, 0), at("jump-indirect", 0, KERNEL + 0x10, functions["f"]), at("clock", 0, 0, 0)
    for path in ["fXghi"] * 2 + ["fghi"] * 3:
        call(path, 12) if path != "fghi" else (at("call", STACK, functions["f"] + 8, functions["g"]), [call("ghi") for _ in range(12)], at("return", STACK, 0, functions["f"] + 8))
        at("clock", 0, 0, 0)
    trace = make("first-folded", ["meta vcpus 1", "meta kernel_ns 2", "meta kernel_insns 1", "end lost 0", "end late_arrivals 0",
                                  *(("symbol", a, 0xf00, name) for name, a in functions.items()), *lines])
    first = {f["function"]: (f["insns"], f["caller"]) for f in upto_json("first", "--json", "--fold", "X", trace, upto=UPTO_ASAN)["first"]}
    outside = [line[1] for line in lines if line[0].endswith(" call") and line[4] == functions["f"] + 8][0]
    assert first["g"] == (outside, "f") and first["h"] == (outside + 3, "g") and first["i"] == (outside + 6, "h"), (first, outside)


def test_part_of_damaged_tables():
    """Where a kernel's table of symbols cannot be read, or cannot be found, a part of the trace has no names of it either: not those of the next boot's kernel."""
    events = ["event 0 clock 300 300 0 0 0", "event 0 task-switch 1000 1000 0 0 0 0 0", "event 0 arrive 1000 0 0 0 0xfffffff0", "event 0 clock 1010 1010 0 0 0",
              ("event 0 jump-indirect 1011 0 0 0xfff5", KERNEL), ("event 0 call 1030 0", STACK, KERNEL + 0x50, KERNEL + 0x2000), "event 0 clock 1300 1300 0 0 0"]
    metas = ["meta kernel_banner A", "meta boot.1.start_ns 1000", "meta boot.1.symbols 1", "meta boot.1.kernel_ns 1010", "meta boot.1.kernel_insns 1010", "meta boot.1.kernel_banner B"]
    parts = []
    for names in ("alpha", "beta"), ("gamma", "delta"):
        symbols = ((KERNEL, 0x100, "startup_64"), (KERNEL + 0x1000, 0x200, names[0]), (KERNEL + 0x2000, 0x1000, names[1]))
        path = make("tables", boot(("event 0 call 30 0", STACK, KERNEL + 0x50, KERNEL + 0x1000), *events, symbols=symbols) + metas)
        parts.append(chunks_of(path))
    (data, chunks), (other, [table]) = parts[0], (parts[1][0], [c for c in parts[1][1] if c["type"] == SYMBOLS])
    at = next(i for i, c in enumerate(chunks) if c["type"] == SYMBOLS)
    pieces = [bytearray(data[c["offset"]:c["end"]]) for c in chunks]
    pieces.insert(at + 1, bytearray(other[table["offset"]:table["end"]]))
    for number, piece in enumerate(pieces):
        fields = list(CHUNK_HEADER.unpack_from(piece))
        fields[5] = number
        header = CHUNK_HEADER.pack(*fields)[:-4]
        piece[:CHUNK_HEADER.size] = header + struct.pack("<I", zlib.crc32(header))
    for name, byte, known in ("payload", len(pieces[at]) - 1, {"delta"}), ("header", 20, set()):
        damaged = [bytearray(p) for p in pieces]
        damaged[at][byte] ^= 0xff
        path = write(path.replace("tables", "tables-" + name), data[:chunks[0]["offset"]] + b"".join(damaged))
        run(UPTO_ASAN, "thin", "--force", "--start", "0ns", "-o", path + ".part", path)
        for trace in path, path + ".part":
            found = {f for f in own(trace) if not f.startswith("[")} - {"startup_64"}
            assert found == known, (trace, found)
