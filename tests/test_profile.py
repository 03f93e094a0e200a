# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that were compiled with -pg, and with -pg -mfentry: what libupto records is what gcov and the source count, and nothing that they compute is spoilt."""
import collections
import os
import platform
import re

import pytest

from guest import RELEASE, TOP, UPTO_ASAN, WORK, Once, is_older, run, upto_json
from test_exec import ALL, MODES, RUNS, SOURCES, calls_of, counted, execute, left_out, program as gcov_program, steering

KINDS = {"mcount": ["-pg"], "fentry": ["-pg", "-mfentry"], "sections": ["-pg", "-mfentry", "-mrecord-mcount", "-no-pie", "-fno-pie"], "endbr": ["-pg", "-fcf-protection=full"],
         "fentry-endbr": ["-pg", "-mfentry", "-fcf-protection=full", "-fno-plt"]}
LIBRARY = os.path.join(RELEASE, "libupto")

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="not x86-64")


def compiled(source, path, flags, *link):
    """Compiled with -pg, and linked without: gprof's own start-up would only write a gmon.out."""
    compiler = "g++" if source.endswith(".cc") else "gcc"
    with Once(path):
        if is_older(path, source):
            run(compiler, "-g", *flags, "-Wno-psabi", "-c", "-o", path + ".o", source)
            run(compiler, "-o", path, path + ".o", *(["-shared"] if "-shared" in flags else []), *(["-no-pie"] if "-no-pie" in flags else []), *link, "-ldl", "-lrt", "-pthread")
    return path


def program(name, kind, level="-O1"):
    source = next(os.path.join(SOURCES, name + end) for end in (".c", ".cc") if os.path.exists(os.path.join(SOURCES, name + end)))
    # what is inlined has no hooks of its own
    more = ["-shared", "-fPIC"] if name == "plug" else ["-fno-inline"] if name == "nasty" else []
    with open("/proc/cpuinfo") as f:
        more += ["-mavx"] if name == "profiled" and " avx " in f.read() else []
    return compiled(source, os.path.join(WORK, f"profile-{kind}{level}-{name}"), [*KINDS[kind], level, *more])


@pytest.mark.parametrize("kind", [k if k in ("mcount", "fentry") else pytest.param(k, marks=pytest.mark.long) for k in KINDS])
@pytest.mark.parametrize("mode", MODES)
def test_counts(mode, kind, tmp_path):
    """Threads, forks, handlers of signals, jumps, libraries that come and go: calls are those that gcov counts, and all are within each other."""
    plugs = [program("plug", kind if kind != "sections" else "fentry")] if mode == "plugins" else []
    with Once(os.path.join(WORK, "programs-gcov-counts")):
        want = +counted("nasty", mode, *([gcov_program("plug", "gcov")] if plugs else []))
    if mode == "signals":
        want["signals"] = 1  # gcov counts a function anew when sigsetjmp() comes back
    files, _ = execute(tmp_path / mode, program("nasty", kind), mode, *plugs)
    got = sum((calls_of(f) for f in files), collections.Counter())
    assert got == want, (got - want, want - got)
    for f in files:
        checked = run(UPTO_ASAN, "check", f).stdout.decode()
        # a stack has its limit (made.calls_without_end)
        assert "whole and consistent" in checked and ("of which 0 matched no call" in checked or mode == "deep"), checked
    return f"{sum(got.values())} calls in {len(files)} processes"


ROUNDS = 1000
CALLS = {
    "main": 1, "run": 1, **dict.fromkeys(["values", "floats", "longest", "wides", "pairs", "vectors", "sums", "aligned", "first", "middle", "last"], ROUNDS),
    "tries": 10, "passes": 10, "deep": 10, "cleaner::~cleaner": 22, "catches": 22 + 1, "throws": 10 + 22 + 1, "thread": 1, "leaves": 1,
    "moves": 1, "runs": 1, "switches": 1, "resumes": 1, "nothing": 5 + 5 + 22 + 1 + 4 + 1,
}


@pytest.mark.parametrize("kind", [k if k in ("mcount", "fentry") else pytest.param(k, marks=pytest.mark.long) for k in KINDS])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_values(kind, level, tmp_path):
    """Arguments and results in all kinds of registers, jumps instead of calls, exceptions in exceptions, contexts that change threads: the program sees none of it."""
    path = program("profiled", kind, level)
    # a buffer that is full all the time: each call takes the long way
    for buffer in "1M", "1k":
        (file,), out = execute(tmp_path / buffer, path, str(ROUNDS), options=["--buffer", buffer])
        assert not out and calls_of(file) == CALLS, (out, calls_of(file) - collections.Counter(CALLS), collections.Counter(CALLS) - calls_of(file))
        assert "of which 0 matched no call" in run(UPTO_ASAN, "check", file).stdout.decode()
        tree = collections.Counter()
        for n in upto_json("tree", "--json", file)["tree"]:
            tree[n["depth"], n["function"]] += n["calls"]
        # what comes behind an exception, or behind a function that jumped to another, is not in it
        assert tree[2, "run"] == 1 and tree[3, "values"] == ROUNDS and tree[3, "tries"] == 10 and tree[3, "catches"] == tree[3, "nothing"] == 1, tree
        assert all(tree[4, f] == ROUNDS for f in ("floats", "vectors", "sums", "aligned", "first")), tree
        # a function that ends in a jump has ended
        assert (tree[5, "middle"], tree[6, "last"]) == (ROUNDS, ROUNDS) or (tree[4, "middle"], tree[4, "last"]) == (ROUNDS, ROUNDS), tree


@pytest.mark.parametrize("kind", ["mcount", "fentry"])
def test_exceptions(kind, tmp_path):
    """Exceptions end what they pass through."""
    (file,), _ = execute(tmp_path, program("throws", kind))
    counts = calls_of(file)
    assert {n: counts[f"nasty::{n}"] for n in ("inner", "middle", "outer")} == {"inner": 300, "middle": 300, "outer": 300}, counts
    tree = {(n["depth"], n["function"]): n["calls"] for n in upto_json("tree", "--json", file)["tree"]}
    assert tree[2, "nasty::outer"] == tree[3, "nasty::middle"] == tree[4, "nasty::inner"] == 300
    assert "of which 0 matched no call" in run(UPTO_ASAN, "check", file).stdout.decode()


@pytest.mark.parametrize("kind", ["mcount", "fentry"])
def test_storm(kind, tmp_path):
    """Signals that come at any instruction, also where a return address is being replaced."""
    (file,), out = execute(tmp_path, program("nasty", kind), "storm")
    ticks = int(re.match(r"ticks (\d+)\n", out)[1])
    assert ticks > 100 and calls_of(file) == {"main": 1, "storm": 1, "branch": 400000, "leaf": 800000 + ticks, "on_tick": ticks}


@pytest.mark.parametrize("kind", ["mcount", "fentry"])
def test_described(kind, tmp_path):
    """Runs that are described beforehand find functions by their names here, too."""
    (tmp_path / "runs.c").write_text(RUNS)
    path = compiled(str(tmp_path / "runs.c"), str(tmp_path / "runs"), [*KINDS[kind], "-O1"])

    steered = steering(tmp_path, path)
    file, calls = steered("listed", "filter funclist slow part thread fend")
    assert calls == {"slow": 7, "part": 301, "thread": 1} and left_out(file) == {"calls": sum(ALL.values()), "duration": 0, "function": sum(ALL.values()) - 309}
    file, calls = steered("long", "filter mintime 2500")
    out = left_out(file)
    assert all(calls[f] >= ALL[f] for f in ("main", "round_", "slow", "thread", "part")) and sum(calls.values()) + out["duration"] == out["calls"] == sum(ALL.values()), (calls, out)
    _, calls = steered("span", "trigger start exit round_\ntrigger stop entry last")
    assert calls == {"round_": 3, "slow": 5, "thread": 1, "part": 301, "jumps": 1, "leaves": 1, "quick": ALL["quick"] - 3 - 1 - 2}, calls
    file, calls = steered("again", "trigger start entry round_\ntrigger stop exit round_\nautorepeat")
    assert calls == {"round_": 4, "slow": 4, "quick": 12}, calls


LINKS = {
    "shared": [f"-L{LIBRARY}", "-lupto", f"-Wl,-rpath,{LIBRARY}"],
    "archive": [os.path.join(LIBRARY, "libupto.a")],
    "static": ["-static", os.path.join(LIBRARY, "libupto.a")],
    "gprof": ["-pg", f"-L{LIBRARY}", "-lupto", f"-Wl,-rpath,{LIBRARY}"],
}
STEERED = """#include "upto.h"
static volatile int n;
__attribute__((noinline)) void inner(void) { n++; }
__attribute__((noinline)) void before(void) { inner(); n++; }
__attribute__((noinline)) void during(void) { inner(); n++; inner(); n++; }
int main(void) { before(); upto_start(); during(); during(); upto_stop(); before(); return 0; }
"""


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("kind", ["mcount", "fentry"])
def test_linked(kind, name, tmp_path):
    """With -lupto, with libupto.a, static, and with gprof's own start-up; from upto_start() to upto_stop()."""
    (tmp_path / "x.c").write_text(STEERED)
    path = compiled(str(tmp_path / "x.c"), str(tmp_path / "x"), [*KINDS[kind], "-O1", "-I", os.path.join(TOP, "libupto")], *LINKS[name])
    for arm, want in (None, {"main": 1, "before": 1, "during": 2, "inner": 5}), ("0", {"during": 2, "inner": 4}):
        file = str(tmp_path / f"{arm}.upto")
        run(path, cwd=tmp_path, env={**os.environ, "UPTO_OUT": file, **({"UPTO_ARM": arm} if arm else {})})
        assert calls_of(file) == want, (arm, calls_of(file))
        assert os.path.exists(tmp_path / "gmon.out") == (name == "gprof")


def test_archive_exceptions(tmp_path):
    """C++ with libupto.a: each call's begin; it ends where the next one begins that is not in it."""
    path = compiled(os.path.join(SOURCES, "throws.cc"), str(tmp_path / "throws"), [*KINDS["mcount"], "-O1"], os.path.join(LIBRARY, "libupto.a"))
    file = str(tmp_path / "x.upto")
    run(path, cwd=tmp_path, env={**os.environ, "UPTO_OUT": file})
    tree = {(n["depth"], n["function"]): n["calls"] for n in upto_json("tree", "--json", file)["tree"]}
    assert tree[1, "main"] == 1 and tree[2, "nasty::outer"] == tree[3, "nasty::middle"] == tree[4, "nasty::inner"] == 300, tree
