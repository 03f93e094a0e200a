# SPDX-License-Identifier: GPL-2.0-or-later
"""upto tree --from --to: parts of the time add up to all of it, path by path, and are what top has of each."""
import collections
import random

import pytest

import test_history
from guest import check, upto_json
from test_code import recording

GUESTS = {"1 vCPU": lambda: recording("6.12", 1)[0], "4 vCPUs": lambda: test_history.recording("6.12", 4)[0]}
CUTS = 4


def paths(trace, *options):
    """By path from the outermost call: calls, tail calls, instructions, time."""
    sums, path = collections.defaultdict(lambda: [0, 0, 0, 0]), []
    for node in upto_json("tree", "--json", *options, trace)["tree"]:
        path[node["depth"]:] = [node["function"]]
        for i, key in enumerate(("calls", "tail_calls", "self_insns", "self_ns")):
            sums[tuple(path)][i] += node[key]
    return {k: v for k, v in sums.items() if any(v)}


def added(parts):
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for part in parts:
        for path, values in part.items():
            sums[path] = [a + b for a, b in zip(sums[path], values)]
    return dict(sums)


def by_function(sums, which):
    ret = collections.Counter()
    for path, values in sums.items():
        ret[path[-1]] += values[which]
    return ret


@pytest.mark.parametrize("guest", [pytest.param(g, marks=[pytest.mark.long] * (g == "1 vCPU")) for g in GUESTS])
@pytest.mark.weight(12)
def test_add_up(guest):
    """Cut at random moments, and by vCPU, nothing is lost and nothing is there twice."""
    trace = GUESTS[guest]()
    length, draw = upto_json("info", "--json", trace)["duration_ns"], random.Random(27)
    all_of, ends = upto_json("tree", "--json", "--min", "5", trace)["tree"], upto_json("tree", "--json", "--min", "5", "--from", "0ns", "--to", f"{length + 1}ns", trace)["tree"]
    assert all_of == ends and len(all_of) > 3
    begin, end = int(length * 0.7), int(length * 0.78)
    cuts = sorted(draw.randrange(begin, end) for _ in range(CUTS))
    spans = [(f"{a}ns", f"{b}ns") for a, b in zip([begin, *cuts], [*cuts, end])]
    whole = paths(trace, "--from", f"{begin}ns", "--to", f"{end}ns")
    parts = [paths(trace, "--from", a, "--to", b) for a, b in spans]
    together = added(parts)
    assert together == whole, [(k, together.get(k), whole.get(k)) for k in set(together) ^ set(whole) or whole if together.get(k) != whole.get(k)][:5]
    cpus = [paths(trace, "--cpu", n, "--from", f"{begin}ns", "--to", f"{end}ns") for n in range(int(guest[0]))]
    assert added(cpus) == whole
    # what top has of them, by functions with names; the first function of the kernel on a vCPU is returned to by what ran before it, which is no call
    counted = lambda counts: {k: n for k, n in counts.items() if n and not k.startswith(("[", "secondary_startup_64"))}
    for (a, b), part in zip(spans, parts):
        top = upto_json("top", "--json", "-n", "0", "--from", a, "--to", b, trace)["functions"]
        want, calls = collections.Counter(), by_function(part, 0)
        for f in top:
            want[f["function"]] += f["calls"]
        assert counted(calls) == counted(want)
        assert abs(sum(v[2] for v in part.values()) - sum(f["self_insns"] for f in top)) <= 2 * int(guest[0])
    check(trace)
    return f"{len(whole)} paths, {[len(p) for p in parts]} in {len(parts)} parts"


@pytest.mark.weight(5)
def test_folded():
    """The same without calls of some functions, whose time is their callers': also where it passed in what is gone past at once."""
    trace, draw = GUESTS["1 vCPU"](), random.Random(3)
    length, fold = upto_json("info", "--json", trace)["duration_ns"], ("--not", "*lock*,vsnprintf,kallsyms*,sha256*")
    begin, end = int(length * 0.6), int(length * 0.64)
    cuts = sorted(draw.randrange(begin, end) for _ in range(40))
    whole = paths(trace, *fold, "--from", f"{begin}ns", "--to", f"{end}ns")
    parts = added(paths(trace, *fold, "--from", f"{a}ns", "--to", f"{b}ns") for a, b in zip([begin, *cuts], [*cuts, end]))
    assert whole == parts, [(k, whole.get(k), parts.get(k)) for k in set(whole) | set(parts) if whole.get(k) != parts.get(k)][:5]
    plain = paths(trace, "--from", f"{begin}ns", "--to", f"{end}ns")
    assert [sum(v[k] for v in whole.values()) for k in (2, 3)] == [sum(v[k] for v in plain.values()) for k in (2, 3)]


@pytest.mark.parametrize("guest", GUESTS)
@pytest.mark.weight(5)
def test_by(guest):
    """Each thread and each process has what ps has of it, and below that adds up to it."""
    trace, ps = GUESTS[guest](), collections.Counter()
    for r in upto_json("ps", "--json", GUESTS[guest]())["processes"]:
        ps[r["pid"]] += r["self_insns"]
    threads = upto_json("tree", "--json", "--by", "thread", "--depth", "1", trace)["tree"]
    ours = collections.Counter()
    for r in threads:
        ours[r["pid"]] += r["total_insns"]
    assert {p: n for p, n in ours.items() if n} == {p: n for p, n in ps.items() if n} and len(ours) > 50
    end = upto_json("info", "--json", trace)["duration_ns"]
    part = ["--from", f"{end * 7 // 10}ns", "--to", f"{end * 8 // 10}ns"]
    rows = upto_json("tree", "--json", "--by", "process", "--depth", "3", *part, trace)["tree"]
    processes = [r for r in rows if not r["depth"]]
    assert sum(r["total_insns"] for r in processes) == sum(r["total_insns"] for r in upto_json("tree", "--json", "--depth", "1", *part, trace)["tree"])
    below = collections.Counter()
    for r in rows:
        if r["depth"] == 1:
            below[r["pid"], r["comm"]] += r["total_insns"]
    for r in processes:
        below[r["pid"], r["comm"]] -= r["total_insns"]
    assert not any(below.values()), below
    assert any(r["pid"] is None and r["comm"] == "kernel threads" for r in processes)


@pytest.mark.weight(3)
def test_empty_and_wrong():
    from test_cli import fails
    trace = GUESTS["1 vCPU"]()
    assert paths(trace, "--from", "1ns", "--to", "1ns") == {}
    fails(2, "--by cpu: process or thread", "tree", "--by", "cpu", trace)
    fails(2, "--by: not with functions or --debug", "tree", "--by", "process", trace, "vfs_read")
    fails(2, "--from 2s is behind --to 1s", "tree", "--from", "2s", "--to", "1s", trace)
