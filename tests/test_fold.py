# SPDX-License-Identifier: GPL-2.0-or-later
"""
Calls that are not shown are their callers' (replay/fold.h): held against the tree of all calls, from which they are taken out here, path by
path. The last test has a kernel with instruments in it.
"""
import collections
import fnmatch

import pytest

from guest import UPTO, run, upto_json
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
    "below": (["--below", "handle_mm_fault"], lambda f, above: "handle_mm_fault" not in (f, *above)),
}


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(10)
def test_tree(smp):
    """Each path has the calls, instructions and time that are left when others' are given to who called them."""
    trace = base(smp)
    whole = tree_of(trace)
    for name, (options, is_folded) in FOLDS.items():
        told, expected = folded_paths(tree_of(trace, *options)), paths(without(whole, is_folded))
        wrong = {p: (told.get(p), expected.get(p)) for p in {*told, *expected} if told.get(p) != expected.get(p)}
        assert told and not wrong, (name, len(wrong), list(wrong.items())[:3])


def by_function(tree):
    sums = {}
    for _, function, _, insns, ns in tree:
        a, b = sums.get(function, (0, 0))
        sums[function] = a + insns, b + ns
    return {f: s for f, s in sums.items() if any(s)}


@pytest.mark.parametrize("smp", [1, 2])
@pytest.mark.weight(10)
def test_top(smp):
    """top says of each function what the tree has of it: by phrases and call by call, with parts of the trace at a time and without."""
    trace = base(smp)
    run(UPTO, "stack", "--at", "end", trace)
    options = FOLDS["not"][0]
    tree = by_function(tree_of(trace, *options))
    for more in [], ["--total"]:
        top = upto_json("top", "--json", "-n", "0", *more, *options, trace)["functions"]
        told = by_function([(0, f["function"], 0, f["self_insns"], f["self_ns"]) for f in top])
        wrong = {f: (told.get(f), tree.get(f)) for f in {*told, *tree} if told.get(f, (0,))[0] != tree.get(f, (0,))[0]}
        assert not wrong, (more, len(wrong), list(wrong.items())[:3])


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
        assert name == "below" or not [c for c in listed if is_folded(c["function"], [])], name
        if name != "below":
            expected = collections.Counter({k: n for k, n in every.items() if not is_folded(k[0], [])})
            assert told == expected, (name, list(((told - expected) + (expected - told)).items())[:3])
            first = {f["function"] for f in upto_json("first", "--json", "-n", "0", *options, trace)["first"]}
            began = {n[1] for n in tree_of(trace) if not n[0]}  # before the trace did
            assert first >= {k[0] for k in told if k[0][0] != "["} - began and len(first) < len({k[0] for k in every}), name
