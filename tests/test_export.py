# SPDX-License-Identifier: GPL-2.0-or-later
"""upto export: folded stacks and rows of calls, held against top, tree and calls. Of logs of KFI, see test_chosen.py."""
import collections
import csv
import json
import os
import resource
import signal

import pytest

from guest import CHECK, UPTO, UPTO_ASAN, WORK, run, upto_json
from test_cli import fails, tiny
from test_code import recording
from test_thin import base


def folded(*options, upto=UPTO):
    """Paths of calls, and what ran at their ends."""
    lines = run(upto, "export", "--to", "folded", *options).stdout.decode().splitlines()
    return [(path.split(";"), int(weight)) for path, weight in (line.rsplit(" ", 1) for line in lines)]


@pytest.mark.weight(4)
def test_folded():
    """The weights of all paths are what ran; those that end in a function are what ran in it; with those below it, what its calls took."""
    trace = base(2)
    for options, key in (([], "self_insns"), (["--clock", "ns"], "self_ns"), (["--pid", "exe"], "self_insns")):
        paths = folded(*options, trace)
        rows = upto_json("top", "--json", "-n", "0", *[o for o in options if o.startswith("--pid") or o == "exe"], trace)["functions"]
        want, told = collections.Counter(), collections.Counter()
        for row in rows:
            want[row["function"]] += row[key]
        for path, weight in paths:
            told[path[-1]] += weight
        if key == "self_ns":
            # what is rounded off goes to others there
            assert abs(sum(told.values()) - sum(want.values())) < len(rows) and len(told) > 500
            continue
        assert len(paths) > 1000 and sum(told.values()) == sum(want.values()), options
        differ = [(f, told[f], want[f]) for f in told | want if told[f] != want[f] and f != "[unknown]"]
        # a thread is in the middle of something where the span begins: of what, only its first event tells, for which top waits
        unknown = told["[unknown]"] - want["[unknown]"]
        assert 0 <= unknown < sum(want.values()) / 10 and sum(abs(a - b) for _, a, b in differ) < 500 + unknown, (unknown, differ[:5])
    assert folded(trace, upto=UPTO_ASAN) == folded(trace)
    tree = upto_json("tree", "--json", "--min", "0", trace)["tree"]
    roots = collections.Counter()
    for path, weight in folded(trace):
        roots[path[0]] += weight
    for row in tree:
        if row["depth"] == 0:
            assert roots[row["function"]] == row["total_insns"], row


@pytest.mark.weight(4)
def test_rows():
    """A row for each call, as calls tells it: its function, its thread, how long it took and what ran in it."""
    trace, path = base(2), os.path.join(WORK, "export.csv")
    run(UPTO_ASAN, "export", "-f", "--to", "csv", "-o", path, trace)
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) > 10000 and all(len(row) == 12 and None not in row for row in rows)
    ends = [int(r["start_ns"]) + int(r["duration_ns"]) for r in rows if r["duration_ns"]]
    assert ends == sorted(ends)
    for name in ("vfs_read", "do_sys_openat2", "kfree"):
        want = sorted((c["start_ns"], c["duration_ns"], c["insns"]) for c in upto_json("calls", "--json", "-F", name, "--depth", "1", trace)["calls"])
        told = sorted((int(r["start_ns"]), int(r["duration_ns"]), int(r["own_insns"])) for r in rows if r["function"] == name and r["duration_ns"])
        assert told == want and told, (name, told[:3], want[:3])
    theirs = list(csv.DictReader(run(UPTO, "export", "--to", "csv", "--comm", "exe", trace).stdout.decode().splitlines()))
    assert 0 < len(theirs) < len(rows) and {tuple(r.values()) for r in theirs} <= {tuple(r.values()) for r in rows}
    # what a filter leaves is listed, and not what is there for others' sake
    some = list(csv.DictReader(run(UPTO, "export", "--to", "csv", "--functions", "vfs_read", trace).stdout.decode().splitlines()))
    assert {r["function"] for r in some} == {"vfs_read"} and len(some) == len([r for r in rows if r["function"] == "vfs_read"])


def test_asked():
    fails(2, r"--to svg: perfetto, firefox, .*, kfi or csv$", "export", "--to", "svg", "x.upto")
    fails(2, r"--to is missing: perfetto, firefox, .*, kfi or csv$", "export", "x.upto")
    fails(2, r"--until: one time", "export", "--to", "perfetto", "--to", "1s", "--until", "2s", "x.upto")
    fails(2, r"--to folded: --from, or --start and --stop, not both", "export", "--to", "folded", "--from", "1s", "--stop", "exec:init", "x.upto")
    fails(2, r"--max-size 1x: a number of bytes", "export", "--to", "folded", "--max-size", "1x", "x.upto")
    for to in "perfetto", "speedscope", "flamegraph":
        fails(1, r"--max-size: without any calls it is larger still", "export", "--to", to, "--max-size", "10", tiny())
    # a format and a time, whichever comes first
    one, other = (run(UPTO_ASAN, "export", *words, tiny()).stdout for words in (["--to", "ftrace", "--to", "1s"], ["--to", "1s", "--to", "ftrace"]))
    assert one == other == run(UPTO_ASAN, "export", "--to", "ftrace", "--until", "1s", tiny()).stdout and one
    fails(2, r"--clock: not with --to csv", "export", "--to", "csv", "--clock", "ns", "x.upto")
    # "-" is standard output, and no file of that name
    assert run(UPTO_ASAN, "export", "--to", "folded", "-o", "-", tiny()).stdout == run(UPTO_ASAN, "export", "--to", "folded", tiny()).stdout
    fails(2, r"--to ctf: it is a folder, so -o must say where", "export", "--to", "ctf", "-o", "-", tiny())


def test_full_disk():
    """What cannot be written is said, in one line, and the end is not success."""
    for to in "folded", "csv", "kfi":
        p = run(UPTO, "export", "--to", to, "-o", "/dev/full", base(1), check=False)
        assert p.returncode == 1 and p.stderr.decode() == "upto: /dev/full: No space left on device\n", p
        with open("/dev/full", "w") as full:
            p = run(UPTO, "export", "--to", to, base(1), check=False, stdout=full)
        assert p.returncode == 1 and p.stderr.decode() == "upto: standard output: No space left on device\n", p


def test_spill():
    """What memory has no room for comes back as it was; where it cannot be kept, that is said."""
    program = os.path.join(CHECK, "tests/spill")
    note = run(program, env={**os.environ, "TMPDIR": WORK}).stdout.decode()
    p = run(program, env={**os.environ, "TMPDIR": WORK + "/nosuch"}, check=False)
    assert p.returncode == 1 and p.stdout == b"a temporary file, for this test: No such file or directory\n", p

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    p = run(program, env={**os.environ, "TMPDIR": WORK}, check=False, preexec_fn=little_room)
    assert p.returncode == 1 and p.stdout == b"a temporary file, for this test: File too large\n", p
    # a call with more calls within than memory is to have
    whole, _ = recording("6.12", 1)
    p = run(UPTO, "calls", "--json", "--function", "start_kernel", whole, check=False, env={**os.environ, "TMPDIR": WORK + "/nosuch"})
    assert p.returncode == 1 and p.stderr == b"upto: a temporary file, for calls: No such file or directory\n", p.stderr
    assert json.loads(p.stdout)["calls"] == [], p.stdout[:200]
    return note


def test_log_of_all():
    """A log has the calls that kd counts of the trace itself, as long as they were; times are cut to microseconds."""
    trace, path = base(2), os.path.join(WORK, "export.log")
    run(UPTO_ASAN, "export", "-f", "--to", "kfi", "-o", path, trace)
    ours, theirs = ({f["function"]: f for f in upto_json("kd", "--json", t)["functions"]} for t in (trace, path))
    assert len(ours) > 500 and {name: f["count"] for name, f in ours.items()} == {name: f["count"] for name, f in theirs.items()}
    assert all(abs(f["total_ns"] - theirs[name]["total_ns"]) <= 1000 * f["count"] for name, f in ours.items())


def test_little():
    """A trace that nobody's kernel ran in, an empty file, and another one."""
    assert sum(weight for _, weight in folded(tiny())) == sum(row["self_insns"] for row in upto_json("top", "--json", "-n", "0", tiny())["functions"])
    assert run(UPTO, "export", "--to", "csv", tiny()).stdout.startswith(b"start_ns,")
    empty = os.path.join(WORK, "export-empty.upto")
    open(empty, "w").close()
    for to in "folded", "csv", "kfi":
        fails(1, "too short for a trace", "export", "--to", to, empty)
        fails(1, "not a trace of upto", "export", "--to", to, __file__)
