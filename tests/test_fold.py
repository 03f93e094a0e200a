# SPDX-License-Identifier: GPL-2.0-or-later
"""
Calls that are not shown are their callers' (replay/fold.h): held against the tree of all calls, from which they are taken out here, path by
path. The last tests have a kernel with instruments in it.
"""
import collections
import fnmatch
import os
import re
import shutil

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, built, built_args, run, upto_json
from test_thin import base


class Node:
    def __init__(self):
        self.calls = self.insns = self.ns = 0
        self.below = {}


def tree_of(trace, *options):
    """The merged tree as it is printed: (depth, function, calls, insns, ns)."""
    return [(n["depth"], n["function"], n["calls"], n["self_insns"], n["self_ns"]) for n in upto_json("tree", "--json", *options, trace)["tree"]]


def without(tree, is_folded):
    """
    What remains of a tree where those functions are taken out. Where a thread began is kept. is_folded(function, chain of those above).
    """
    top = Node()
    path = []  # of (node that it is, or that it became part of; that one's function; its own)
    for depth, function, calls, insns, ns in tree:
        del path[depth:]
        parent, above = path[-1][:2] if path else (top, None)
        if depth and is_folded(function, [p[2] for p in path]):
            node, shown, calls = parent, above, 0
        else:
            # code without names is one function, which does not call itself
            node = parent if above == function and function.startswith("[") else parent.below.setdefault(function, Node())
            shown = function
        node.calls += calls
        node.insns += insns
        node.ns += ns
        path.append((node, shown, function))
    return top


def only_below(tree, name):
    """What of a tree is a call of that function, or below one: the outermost ones begin it."""
    top, path = Node(), []
    for depth, function, calls, insns, ns in tree:
        del path[depth:]
        above = path[-1] if path else None
        node = (above or top).below.setdefault(function, Node()) if above or function == name else None
        if node:
            node.calls += calls
            node.insns += insns
            node.ns += ns
        path.append(node)
    return top


def paths(top):
    """{path: sums}"""
    found, todo = {}, [((), top)]
    while todo:
        path, node = todo.pop()
        if path and (node.calls or node.insns or node.ns):
            found[path] = (node.calls, node.insns, node.ns)
        todo += [((*path, f), n) for f, n in node.below.items()]
    return found


def folded_paths(tree):
    return paths(without(tree, lambda *_: False))


FOLDS = {
    "not": (["--not", "*lock*,do_*,*alloc*"], lambda f, _: any(fnmatch.fnmatchcase(f.split(" ")[0], p) for p in ("*lock*", "do_*", "*alloc*"))),
    "functions": (["--functions", "*page*,*fault*"], lambda f, _: not any(fnmatch.fnmatchcase(f.split(" ")[0], p) for p in ("*page*", "*fault*"))),
}
BELOW = ["--below", "handle_mm_fault"]


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(10)
def test_tree(smp):
    """Each path has the calls, instructions and time that are left when others' are given to who called them."""
    trace = base(smp)
    whole = tree_of(trace)
    expected_of = [(options, without(whole, is_folded)) for options, is_folded in FOLDS.values()] + [(BELOW, only_below(whole, BELOW[1]))]
    for options, left in expected_of:
        told, expected = folded_paths(tree_of(trace, *options)), paths(left)
        wrong = {p: (told.get(p), expected.get(p)) for p in {*told, *expected} if told.get(p) != expected.get(p)}
        assert told and not wrong, (options, len(wrong), list(wrong.items())[:3])


def levels_below(tree, name, most):
    """Sums by function, where calls more levels below that function than these are part of who called them."""
    sums, path = collections.defaultdict(lambda: [0, 0]), []  # of (level, function that it is part of)
    for depth, function, _, insns, ns in tree:
        del path[depth:]
        level, part_of = path[-1] if path else (0, None)
        level = 1 if function == name else level + 1 if level else 0
        part_of = (function if level <= most else part_of) if level else None
        if part_of:
            sums[part_of][0] += insns
            sums[part_of][1] += ns
        path.append((level, part_of))
    return {f: tuple(s) for f, s in sums.items() if any(s)}


def by_function(tree):
    sums = {}
    for _, function, _, insns, ns in tree:
        a, b = sums.get(function, (0, 0))
        sums[function] = a + insns, b + ns
    return {f: s for f, s in sums.items() if any(s)}


def is_below(names):
    """Is a function one of these, or called by one, as far as the last interrupt that cut in? What a thread began in is shown."""
    def matches(function):
        return any(fnmatch.fnmatchcase(function.split(" ")[0], name) for name in names)

    def is_folded(function, chain):
        since = next((i for i in range(len(chain), 0, -1) if chain[i - 1].startswith(CUTS_IN)), 0)
        cuts_in = function.startswith(CUTS_IN)
        return matches(function) or (not cuts_in and any(matches(f) for f in chain[max(since - 1, 1):]))

    return is_folded


@pytest.mark.weight(6)
def test_with_all_below():
    """--fold: what functions run, and all that they call, is part of whoever calls them, in every command."""
    trace, names = base(1), ["handle_mm_fault", "*lock*", "ksys_read"]
    fold = ["--fold", ",".join(names)]
    expected, told = paths(without(tree_of(trace), is_below(names))), folded_paths(tree_of(trace, *fold))
    wrong = {p: (told.get(p), expected.get(p)) for p in {*told, *expected} if told.get(p) != expected.get(p)}
    assert told and not wrong, (len(wrong), list(wrong.items())[:3])
    sums = collections.Counter()
    for path, (_, insns, _) in told.items():
        sums[path[-1]] += insns
    top = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", *fold, trace)["functions"]:
        top[f["function"]] += f["self_insns"]
    assert +top == +sums
    # what a thread began in stays
    shown = {f for path in told for f in path[1:]}
    assert not shown & {"handle_mm_fault", "ksys_read"}, shown
    at = next(c["start_ns"] + c["duration_ns"] // 2 for c in upto_json("calls", "--json", "-F", "handle_mm_fault", trace)["calls"] if c["duration_ns"])
    [running] = [s for s in upto_json("stack", "--json", "--at", f"{at}ns", *fold, trace)["stacks"] if s["cpu"] is not None]
    assert not [f for f in running["frames"] if f["function"].startswith("handle_mm_fault")] and len(running["frames"]) > 2, running
    exported = [run(UPTO, "export", "--to", "folded", *options, trace).stdout.decode().splitlines() for options in ([], fold)]
    assert len({sum(int(line.rpartition(" ")[2]) for line in lines) for lines in exported}) == 1
    assert [any(";ksys_read;" in line for line in lines) for lines in exported] == [True, False]
    for command in ("top",), ("tree",), ("first",), ("calls",), ("stack",), ("log", "--stack"), ("why",), ("waits",), ("timeline",), ("latency",), ("export", "--to", "folded"):
        p = run(UPTO_ASAN, *command, "--fold", "nosuch", trace, check=False)
        assert p.returncode == 1 and p.stderr.decode().startswith("upto: --fold: no function nosuch in the trace"), (command, p)
    assert run(UPTO_ASAN, "top", "--fold", "vfs_read", "--min-duration", "10us", trace, check=False).returncode == 1


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(10)
def test_top(smp):
    """top says of each function what the tree has of it: by phrases and call by call, with parts of the trace at a time and without."""
    trace = base(smp)
    run(UPTO, "stack", "--at", "end", trace)
    two_levels = levels_below(tree_of(trace), BELOW[1], 2)
    for options, more in [(o, m) for o in (FOLDS["not"][0], BELOW, [*BELOW, "--depth", "2"]) for m in ([], ["--total"])]:
        tree = two_levels if "--depth" in options else by_function(tree_of(trace, *options))
        top = upto_json("top", "--json", "-n", "0", *more, *options, trace)["functions"]
        told = by_function([(0, f["function"], 0, f["self_insns"], f["self_ns"]) for f in top])
        wrong = {f: (told.get(f), tree.get(f)) for f in {*told, *tree} if told.get(f, (0,))[0] != tree.get(f, (0,))[0]}
        assert told and not wrong, (options, more, len(wrong), list(wrong.items())[:3])


@pytest.mark.weight(6)
def test_below_in_parts():
    """top --below of two parts of the time, and by module, is what it is of all; what threads ran is not told apart so."""
    trace = base(1)
    run(UPTO, "stack", "--at", "end", trace)
    whole = upto_json("top", "--json", "-n", "0", *BELOW, trace)["functions"]
    info = upto_json("info", "--json", trace)
    insns = sum(f["self_insns"] for f in whole)
    # the middle, and amid calls, where time since the last event is divided
    calls = upto_json("calls", "--json", "-n", "0", "-F", BELOW[1], trace)["calls"]
    moments = [(info["spans"][0]["start_ns"] + info["duration_ns"]) // 2, *(c["start_ns"] + c["duration_ns"] // 3 for c in calls[::len(calls) // 8])]
    for at in moments:
        parts = [sum(f["self_insns"] for f in upto_json("top", "--json", "-n", "0", option, f"{at}ns", *BELOW, trace)["functions"]) for option in ("--to", "--from")]
        assert abs(sum(parts) - insns) <= 1, (at, parts, insns)
        assert at != moments[0] or all(parts), parts
    assert sum(m["self_insns"] for m in upto_json("top", "--json", "-n", "0", "--by", "module", *BELOW, trace)["module"]) == insns
    for by in "process", "thread", "interrupt":
        p = run(UPTO, "top", "--by", by, *BELOW, trace, check=False)
        assert p.returncode == 2 and p.stderr.decode() == f"upto: --by {by}: not with --below: what a thread runs is added up whole\n", p.stderr


@pytest.mark.weight(6)
def test_totals():
    """With callees, and how often: whether others are shown or not changes nothing for a function that is."""
    trace = base(1)
    options, is_folded = FOLDS["not"]
    keys = "calls", "total_insns", "longest_ns", "average_ns"

    def totals(*words):
        found = collections.defaultdict(list)  # several functions may have one name
        for f in upto_json("top", "--json", "--total", "-n", "0", *words, trace)["functions"]:
            found[f["function"]].append([f[k] for k in keys])
        return {f: sorted(rows, key=str) for f, rows in found.items()}

    whole, told = totals(), totals(*options)
    kept = {f for f in whole if not is_folded(f, []) and f[0] != "["}
    wrong = {f: (told.get(f), whole[f]) for f in kept if told.get(f) != whole[f]}
    assert len(kept) > 100 and not wrong, (len(wrong), list(wrong.items())[:5])
    assert not {f for f in told if is_folded(f, [])} - {n[1] for n in tree_of(trace) if not n[0]}, "more than where threads began"


@pytest.mark.weight(6)
def test_lists():
    """calls and first have those calls that are chosen, each as in the list of all, and say nothing of others."""
    trace = base(1)
    for name, (options, is_folded) in FOLDS.items():
        listed = [c for c in upto_json("calls", "--json", *options, trace)["calls"] if c["step"] != "leave"]
        every = collections.Counter((c["function"], c["start_ns"], c["pid"]) for c in upto_json("calls", "--json", trace)["calls"] if c["step"] != "leave")
        told = collections.Counter((c["function"], c["start_ns"], c["pid"]) for c in listed)
        assert told and not told - every, (name, list((told - every).items())[:3])
        assert not [c for c in listed if is_folded(c["function"], [])], name
        expected = collections.Counter({k: n for k, n in every.items() if not is_folded(k[0], [])})
        assert told == expected, (name, list(((told - expected) + (expected - told)).items())[:3])
        first = {f["function"] for f in upto_json("first", "--json", "-n", "0", *options, trace)["first"]}
        began = {n[1] for n in tree_of(trace) if not n[0]}  # before the trace did
        assert first >= {k[0] for k in told if k[0][0] != "["} - began and len(first) < len({k[0] for k in every}), name
    below = [c for c in upto_json("calls", "--json", *BELOW, trace)["calls"] if c["step"] != "leave"]
    told = collections.Counter((c["function"], c["start_ns"], c["pid"]) for c in below)
    assert told and not told - every and [c["function"] for c in below if not c["depth"]].count(BELOW[1]) > 10, list((told - every).items())[:3]
    firsts = upto_json("first", "--json", "-n", "0", *BELOW, trace)["first"]
    assert {f["function"] for f in firsts} == {n[1] for n in tree_of(trace, *BELOW) if n[2]}
    assert firsts[0]["function"] == BELOW[1] and firsts[0]["caller"] in {"do_user_addr_fault", "faultin_page", "exc_page_fault"}, firsts[0]


# by the line's names: what the kernel calls them, as its source does
INSTRUMENTS = {
    "KASAN": lambda f: f.startswith(("__asan_", "__kasan_", "kasan_")),
    "lockdep": lambda f: f in ("lock_acquire", "lock_release", "lock_acquired", "lock_contended", "lock_pin_lock", "lock_unpin_lock", "lock_repin_lock",
                               "lock_downgrade", "lock_sync") or f.startswith(("lock_is_held", "lockdep_", "trace_hardirqs_")) or "_lockdep_" in f or
    f.endswith("_lock_held") or f.endswith("_lock_held_common") or (f.startswith("rcu_read_lock_") and f.endswith("held")),
    "might_sleep": lambda f: f in ("__might_sleep", "__might_resched", "__might_fault"),
    "list checks": lambda f: f.startswith(("__list_add_valid", "__list_del_entry_valid")),
}
# the entry code that an interrupt begins and ends with, each of which jumps to the next
CUTS_IN = ("asm_sysvec_", "asm_exc_", "asm_common_interrupt", "asm_spurious", "irq_entries_start", "spurious_entries_start", "early_idt_handler",
           "restore_regs_and_return_to_kernel", "swapgs_restore_regs_and_return_to_usermode", "native_irq_return_iret", "paranoid_exit", "error_return", "early_xen_iret")


@pytest.mark.built
@pytest.mark.weight(60)
def test_instruments(tmp_path):
    """A kernel with KASAN, lockdep and more: what the line says that they cost is what the tree has below them, and none is in any list."""
    trace = str(tmp_path / "debug.upto")
    run(UPTO, "record", "-o", trace, "--", *built_args("debug"), timeout=900)
    insns, ns, path = collections.Counter(), collections.Counter(), []
    for depth, function, _, own_insns, own_ns in tree_of(trace, "--instruments"):
        del path[depth:]
        # whose it is: of the outermost instrument since the last interrupt
        mine = path[-1] if path and not function.startswith(CUTS_IN) else None
        path.append(mine or next((kind for kind, is_one in INSTRUMENTS.items() if depth and is_one(function)), None))
        if path[-1]:
            insns[path[-1]] += own_insns
            ns[path[-1]] += own_ns
    for command in ["top"], ["top", "--total"], ["tree"]:
        told = upto_json(*command, "--json", trace)["instruments"]
        # names do not tell each interrupt's last steps from what is below an instrument
        assert told.keys() == insns.keys(), (command, told, insns)
        assert all(abs(v["insns"] - insns[k]) <= insns[k] / 1e5 and abs(v["ns"] - ns[k]) <= ns[k] / 1e4 for k, v in told.items()), (told, insns, ns)
    assert insns["KASAN"] > insns["lockdep"] > insns["might_sleep"] > 0 < insns["list checks"]
    line = run(UPTO, "top", "-n", "1", trace).stdout.decode().splitlines()[1]
    assert line.startswith("# instruments: KASAN ") and "--instruments shows them" in line, line
    began = {n[1] for n in tree_of(trace) if not n[0]}
    for command, key in ("top", "functions"), ("first", "first"), ("tree", "tree"):
        shown = {f["function"].split(" ")[0] for f in upto_json(command, "--json", trace)[key]} - began
        assert len(shown) > 500 and not [f for f in shown for is_one in INSTRUMENTS.values() if is_one(f)], command
    # all that ran is still there
    sums = [sum(f["self_insns"] for f in upto_json("top", "--json", "-n", "0", *o, trace)["functions"]) for o in ([], ["--instruments"])]
    assert sums[0] == sums[1] > 4e9
    [*causes] = upto_json("why", "--json", trace)["causes"]
    assert causes and not [c for c in causes if "asan" in c["what"] or "lock_acquire" in c["what"]], causes
    assert [c for c in upto_json("why", "--json", "--instruments", trace)["causes"] if "asan" in c["what"]]
    # a line's stack is what stack shows then: no place in what is folded
    for row in upto_json("log", "--json", "--stack", "--level", "warn", trace)["log"][:4]:
        stacks = upto_json("stack", "--json", "--running", "--at", f"{row['ns']}ns", trace)["stacks"]
        assert [s["frames"] for s in stacks if s["cpu"] == row["cpu"]] == [row["frames"]], row
    call = run(UPTO, "calls", "-F", "vfs_read", "-n", "1", "--no-interrupts", trace).stdout.decode().splitlines()
    assert "vfs_read" in call[1] and len(call) < 100 and not [c for c in call if "asan" in c], call[:20]
    check = run(UPTO, "check", trace).stdout
    assert b"whole and consistent" in check, check


def bugs(tmp_path):
    """The debug kernel, with a module that has a bug of each kind."""
    tree, modules = built("debug")
    (tmp_path / "Makefile").write_text("obj-m := bugs.o\n")
    shutil.copy(os.path.join(TOP, "tests/guests/bugs.c"), tmp_path)
    run("make", "-s", "-C", tree, f"M={tmp_path}", "modules")
    image = str(tmp_path / "bugs.img")
    run(os.path.join(TOP, "scripts/guest-initrd.sh"), modules, os.path.join(TOP, "tests/guests/bugs.init"), image, f"{tmp_path}/bugs.ko=bugs.ko")
    args = built_args("debug")
    args[args.index("-initrd") + 1] = image
    # while it looks at its first CPU, a kernel forgets for a moment what that can do, five levels of page tables among it; an interrupt
    # that comes right then makes KASAN report its own shadow as a wild access, and after that nothing
    args[args.index("-append") + 1] += " no5lvl"
    return args


# a line of each report, and a function of the module's that is on its stack
REPORTS = [("BUG: KASAN: slab-use-after-free", "use_object"), ("possible circular locking dependency", "take_both"),
           ("BUG: sleeping function called from invalid context", "sleep_while_atomic"), ("a warning of the tests", "bugs_init"),
           ("BUG: kernel NULL pointer dereference", "read_nothing")]


def told_of_object(trace):
    life = upto_json("object", "--json", trace)
    assert life["report"].startswith("BUG: KASAN: slab-use-after-free in use_object") and life["size"] in (96, None), life
    events = {e["what"]: e for e in life["events"]}
    assert [e["what"] for e in life["events"]] == ["allocated", "freed", "used"], life
    for what, comm, function in ("allocated", "insmod", "make_object"), ("freed", "bugs_freer", "free_object"), ("used", "insmod", "use_object"):
        assert events[what]["comm"] == comm and any(f["function"].startswith(function) for f in events[what]["frames"]), events[what]
        assert not events[what]["frames"][0]["function"].startswith("kasan"), events[what]
    assert events["used"]["frames"][0]["function"].startswith("use_object"), events["used"]
    assert events["used"]["ns"] - events["freed"]["ns"] > 5e7, events
    return life


@pytest.mark.built
@pytest.mark.weight(90)
def test_bugs(tmp_path):
    """What a debug kernel reports, each with the stack that did it; of a use after free who allocated, freed and used it, in a flight recorder's window, too."""
    args, trace = bugs(tmp_path), os.path.join(WORK, "bugs.upto")
    run(UPTO, "record", "-f", "-o", trace, "--", *args, timeout=900)
    for text, function in REPORTS:
        [row, *_] = upto_json("log", "--json", "--stack", "--grep", text, trace)["log"]
        assert any(f["function"].startswith(function) for f in row["frames"]), (text, row)
    life = told_of_object(trace)
    # by its address, and by one within it
    assert upto_json("object", "--json", life["address"], trace) == life
    shown = run(UPTO, "object", trace).stdout.decode()
    assert re.search(r"^\d+\.\d+ freed by bugs_freer \d+ on CPU 0\n    kfree\S*\n    free_object", shown, re.M), shown
    assert b"nothing is told of 0x10" in run(UPTO, "object", "0x10", trace, check=False).stderr
    flight = os.path.join(WORK, "bugs-flight.upto")
    run(UPTO, "record", "-f", "-o", flight, "--start", "log:BUG: KASAN", "--before", "2s", "--stop", "+1s", "--", *args, timeout=900)
    assert upto_json("info", "--json", flight)["events"] < upto_json("info", "--json", trace)["events"] / 4
    told_of_object(flight)
    os.unlink(flight)


GRAPH = """# tracer: function_graph
 1.000001 |   0)   a-5   |               |  vfs_read() {
 1.000002 |   0)   a-5   |               |    __asan_load8() {
 1.000003 |   0)   a-5   |   2.000 us    |      kasan_check_range();
 1.000007 |   0)   a-5   |   5.000 us    |    } /* __asan_load8 */
 1.000008 |   0)   a-5   |               |    rw_verify_area() {
 1.000009 |   0)   a-5   |               |      lock_acquire() {
 1.000010 |   0)   a-5   |   1.000 us    |        check_noncircular();
 1.000014 |   0)   a-5   |   5.000 us    |      } /* lock_acquire */
 1.000016 |   0)   a-5   |   8.000 us    |    } /* rw_verify_area */
 1.000017 |   0)   a-5   |               |    kasan_strings [kasan_test]() {
 1.000018 |   0)   a-5   |   1.000 us    |      strchr();
 1.000028 |   0)   a-5   |  11.000 us    |    } /* kasan_strings [kasan_test] */
 1.000030 |   0)   a-5   |  29.000 us    |  } /* vfs_read */
"""


@pytest.mark.long
@pytest.mark.weight(20)
def test_kept_costs(tmp_path):
    """What instruments cost is told also where the history is kept beside the trace, whichever part was asked for first."""
    text, trace = tmp_path / "graph.txt", str(tmp_path / "graph.upto")
    with open(text, "w") as f:
        f.write("# tracer: function_graph\n 1.000001 |   0)   a-5   |               |  outer() {\n")
        for us in range(0, 4200000, 2):
            name = "__asan_load8" if us else "kasan_check_range"
            f.write(f" {1 + (us + 2) / 1e6:.6f} |   0)   a-5   |   0.500 us    |    {name}();\n {1 + (us + 3) / 1e6:.6f} |   0)   a-5   |   0.500 us    |    work();\n")
        f.write(" 5.200002 |   0)   a-5   | 4200001.000 us |  } /* outer */\n")
    run(UPTO, "import", "-o", trace, text)
    os.unlink(text)
    want = {"KASAN": {"insns": None, "ns": 2100000 * 500}}
    for options in ["--from", "1s", "--to", "2s"], [], []:
        told = upto_json("timeline", "--json", *options, trace)
        assert told["instruments"] == want, (options, told["instruments"])
        assert os.path.exists(trace + ".history")
    assert upto_json("top", "--json", trace)["instruments"] == want


def test_told(tmp_path):
    """That a function is folded is said to whom asks for it, and that instruments cannot be where calls are left out; a test of KASAN's is a test."""
    text, trace = tmp_path / "graph.txt", str(tmp_path / "graph.upto")
    text.write_text(GRAPH)
    run(UPTO, "import", "-o", trace, text)
    for command in "calls", "first":
        p = run(UPTO, command, "-F", "lock_acquire", trace, check=False)
        assert b"lock_acquire: it is folded into who called it; --instruments shows it\n" in p.stderr, p
        p = run(UPTO, command, "-F", "rw_verify_area", "--fold", "rw_verify_area", trace, check=False)
        assert b"rw_verify_area: it is folded into who called it\n" in p.stderr, p
        p = run(UPTO, command, "-F", "lock_acquire", "--instruments", trace)
        assert b"lock_acquire" in p.stdout and not p.stderr, p
    p = run(UPTO, "tree", "--min-duration", "2us", trace)
    assert p.stderr == b"upto: instruments are shown, since calls are left out: who called them is not known\n" and b"lock_acquire" in p.stdout, p
    tree = {n["function"]: n["calls"] for n in upto_json("tree", "--json", "--min", "0", trace)["tree"]}
    assert tree.get("kasan_strings [kasan_test]") == tree.get("strchr") == 1 and "lock_acquire" not in tree and "kasan_check_range" not in tree, tree
    # what has no instructions does not say how many
    costs = upto_json("top", "--json", trace)["instruments"]
    assert costs["KASAN"]["insns"] is None and costs["KASAN"]["ns"] == 5000, costs
