# SPDX-License-Identifier: GPL-2.0-or-later
"""Thunks: what only passes control on is part of who calls it, and nothing else changes."""
import collections
import os
import re

import pytest

import same_answers
from guest import UPTO, WORK, check, initrd, qemu_args, record, run, upto_json
from test_cli import answer, fails, trace

# arch/x86/lib/retpoline.S, arch/x86/kernel/ftrace_64.S, include/linux/static_call.h
THUNK = re.compile(r"(__x86_(indirect_(its_|call_|jump_)?thunk_\w+|return_thunk)|__fentry__|__SCT__\w+|(srso|retbleed|its)_\w*(ret|thunk))( \[\w+\])?$")
KEYS = ("self_insns", "self_ns", "calls")


def sums(rows):
    """Functions of one name are one."""
    found = collections.defaultdict(collections.Counter)
    for row in rows:
        found[row["function"]].update({k: row[k] for k in KEYS})
    return found


def functions(command, *options):
    return sums(next(iter(answer(command, "--json", "-n", "0", *options, trace()).values())))


def test_sums():
    """Nobody is called more or less often; callers have what their thunks ran; the whole is the same to the instruction and ns."""
    folded, full = functions("top"), functions("top", "--thunks")
    thunks = {f for f in full if THUNK.match(f)}
    assert {"__x86_return_thunk", "__x86_indirect_thunk_array", "__fentry__"} <= thunks and not thunks & set(folded), thunks & set(folded)
    assert sum(full[f]["self_insns"] for f in thunks) > 1_000_000
    for key in ("self_insns", "self_ns"):
        assert sum(f[key] for f in folded.values()) == sum(f[key] for f in full.values()), key
    assert {f: n["calls"] for f, n in folded.items()} == {f: n["calls"] for f, n in full.items() if f not in thunks}
    assert all(folded[f]["self_insns"] >= full[f]["self_insns"] for f in folded)
    # by stacks, with the index that this makes and without
    for order in ([], ["-s", "calls"]):
        total = functions("top", "--total", *order)
        assert total == folded, [(f, n, folded[f]) for f, n in total.items() if n != folded[f]][:9]
    # the tree differs from top where it does with thunks, and nowhere else: jumps within code without names, task switches
    tree, full_tree = functions("tree"), functions("tree", "--thunks")
    assert not set(tree) & thunks
    differ = {f for f in folded if any(tree[f][k] != folded[f][k] for k in ("self_insns", "calls"))}
    assert differ == {f for f in full if any(full_tree[f][k] != full[f][k] for k in ("self_insns", "calls"))} - thunks, differ


def test_calls():
    """Without thunks, the same calls at the same times; what thunks ran is their callers' own."""
    folded = answer("calls", "--json", "--function", "do_init_module", "-n", "1", trace())["calls"]
    full = answer("calls", "--json", "--thunks", "--function", "do_init_module", "-n", "1", trace())["calls"]
    what = lambda c, depth: (c["function"], c["kind"], depth, c["start_ns"], c["duration_ns"], c["insns"])
    path, others = [], []
    for c in full:
        del path[c["depth"]:]
        if not THUNK.match(c["function"]):
            others.append(what(c, sum(path)))  # an interrupt in a thunk came to the thunk's caller
        path.append(not THUNK.match(c["function"]))
    mine = [what(c, c["depth"]) for c in folded]
    assert mine == others, next(pair for pair in zip(mine, others) if pair[0] != pair[1])
    assert len(full) > len(others) > 100
    assert sum(c["self_insns"] for c in folded) == sum(c["self_insns"] for c in full) == folded[0]["insns"]
    own, path = [], []
    for c in full:
        del path[c["depth"]:]
        caller = next((p for p in reversed(path) if p is not None), None)
        if THUNK.match(c["function"]):
            path.append(None)
            own[caller] += c["self_insns"]
        else:
            path.append(len(own))
            own.append(c["self_insns"])
    assert own == [c["self_insns"] for c in folded]


def test_asked():
    """A thunk that is asked for by name is shown with --thunks only, and the answer says so."""
    fails(1, "__x86_return_thunk: .*--thunks", "calls", "--function", "__x86_return_thunk", trace())
    fails(1, "__x86_return_thunk: .*--thunks", "tree", trace(), "__x86_return_thunk")
    found = answer("calls", "--json", "--thunks", "--function", "__x86_return_thunk", "--depth", "1", "-n", "3", trace())["calls"]
    assert [c["function"] for c in found] == ["__x86_return_thunk"] * 3


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
@pytest.mark.long
@pytest.mark.weight(30)
def test_not_recorded(kernel):
    """
    Of a guest that does the same, every answer is the same whether the steps of thunks are recorded or not: also where an interrupt cuts into
    a thunk.
    """
    traces = [os.path.join(WORK, f"thunks-{kernel}{'-steps' * steps}.upto") for steps in (False, True)]
    for path, options in zip(traces, ([], ["--thunks"])):
        record(path, qemu_args(kernel, initrd(kernel, "plain")), "--deterministic", *options)
        check(path)
    different = same_answers.differences((UPTO, UPTO), traces)
    assert not different, different
    events, steps = (upto_json("info", "--json", path)["events"] for path in traces)
    assert events < steps * 0.85, (events, steps)
    cut = sum(" at __x86_" in line for line in run(UPTO, "dump", "--kind", "interrupt", traces[0]).stdout.decode().splitlines())
    assert cut > 3, cut
    fails(1, "steps of thunks were not recorded: 'upto record --thunks' does that", "top", "--thunks", traces[0])
    for path in traces:
        os.unlink(path)
    return f"{events} of {steps} events; {cut} interrupts cut into a thunk"
