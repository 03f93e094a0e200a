# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own tests: each case that the guest's console tells of stands in the timeline, with its result."""
import collections
import glob
import os
import re
import sys

import pytest

from guest import BUILD, TOP, UPTO, WORK, built, built_args, check, initrd, qemu_args, run, upto_json


def told(console):
    """(SUITE.CASE, result) of KTAP, by the indent of its lines."""
    cases, suite = [], None
    for line in console.splitlines():
        line = re.sub(r"^\[ *[\d.]+\] ", "", line.rstrip("\r"))
        if m := re.match(r" {4}# Subtest: (.*)$", line):
            suite = m[1]
        elif m := re.match(r" {4}(not )?ok \d+ (?:- )?([^#\s]+)\s*(# SKIP.*)?", line):
            cases.append((f"{suite}.{m[2]}", "skipped" if m[3] else "not ok" if m[1] else "ok"))
    return cases


@pytest.mark.built
@pytest.mark.weight(30)
def test_cases():
    trace = os.path.join(WORK, "kunit.upto")
    args = [a.replace("quiet", "loglevel=7") for a in built_args("dwarf")]
    console = run(UPTO, "record", "-q", "-f", "-o", trace, "--", *args, timeout=900).stdout.decode(errors="replace")
    cases, rows = told(console), upto_json("timeline", "--json", "--kind", "test", trace)["timeline"]
    assert len(cases) > 20 and {r for _, r in cases} >= {"ok", "skipped"}, cases
    assert [(r["name"], r["outcome"]) for r in rows] == cases, (rows[:3], cases[:3])
    assert all(r["duration_ns"] > 0 and r["insns"] > 0 for r in rows), rows[:3]
    # a case's calls are within its span
    row = next(r for r in rows if r["name"] == "example.example_simple_test")
    [call] = upto_json("calls", "--json", "-F", "example_simple_test", "--depth", "1", trace)["calls"]
    assert row["start_ns"] <= call["start_ns"] < row["start_ns"] + row["duration_ns"], (row, call)
    parts = upto_json("timeline", "--json", "--kind", "test-part", trace)["timeline"]
    assert {p["name"] for p in parts} <= {r["name"] for r in rows}
    chosen(trace, args, row)


def chosen(whole, args, row):
    """A case by its name: while it is recorded, while a trace is read, and as a moment."""
    short = os.path.join(WORK, "kunit-chosen.upto")
    condition = "test:" + row["name"]
    for make in (["record", "-q", "-f", "-o", short, "--start", condition, "--stop", "exit:kunit_try_run_case", "--", *args],
                 ["thin", "-f", "-o", short, "--start", condition, "--stop", "exit:kunit_try_run_case", whole]):
        run(UPTO, *make, timeout=900)
        check(short)
        functions = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", short)["functions"]}
        assert functions["example_simple_test"] == 1 and not any(f.startswith("example_skip") for f in functions), functions
        [span] = upto_json("info", "--json", short)["spans"]
        assert make[0] == "record" or abs(span["start_ns"] - row["start_ns"]) < 100000, (span, row)
    stack = upto_json("stack", "--json", "--at", condition, whole)
    assert any(f["function"] == "kunit_try_run_case" for t in stack["stacks"] for f in t["frames"]), stack
    spans = upto_json("info", "--json", whole)["facts"]["test"]["count"]
    assert spans >= len(upto_json("timeline", "--json", "--kind", "test", whole)["timeline"])
    run(UPTO, "thin", "-f", "-o", short, "--start", "test:example", "--stop", "exit:kunit_try_run_case", "--every", whole)
    assert len(upto_json("info", "--json", short)["spans"]) >= 5


RESULTS = {"PASSED": "ok", "FAILED": "not ok", "SKIPPED": "skipped"}


def printed(output):
    """(SUITE.CASE, result) of what kunit.py prints; a case with parameters has a heading and an end of its own."""
    cases, suite, within = [], None, False
    for line in output.splitlines():
        line = re.sub(r"^\[[\d:]+\] ", "", line)
        if m := re.match(r"=+ (\S+) \(\d+ subtests?\) =+$", line):
            suite, within = m[1], False
        elif m := re.match(r"=+ \[(\w+)\] (\S+) =+$", line):
            if within:
                cases.append((f"{suite}.{m[2]}", RESULTS[m[1]]))
            within = False
        elif re.match(r"=+ (\S+) +=+$", line):
            within = True
        elif (m := re.match(r"\[(PASSED|FAILED|SKIPPED)\] (\S+)$", line)) and not within:
            cases.append((f"{suite}.{m[2]}", RESULTS[m[1]]))
    return cases


@pytest.mark.built
@pytest.mark.weight(30)
def test_tool(tmp_path):
    """kunit.py, as developers run it: it says what it says without upto, and each case that it prints stands in the timeline with its result."""
    tree, _ = built("dwarf")
    tool = [sys.executable, os.path.join(os.path.dirname(tree), "source/tools/testing/kunit/kunit.py"), "exec", "--arch", "x86_64", "--build_dir", tree]
    plain = run(*tool, timeout=300)
    p = run(UPTO, "run", "-d", tmp_path, "--", *tool, timeout=600)

    def lines(text):
        return [re.sub(r"^\[[\d:]+\] ", "", line) for line in text.decode().splitlines() if "Elapsed time" not in line]

    assert lines(p.stdout) == lines(plain.stdout) and b"upto" not in p.stdout.replace(TOP.encode(), b""), p.stdout[-2000:]
    [trace] = glob.glob(f"{tmp_path}/*.upto")
    check(trace)
    rows, cases = upto_json("timeline", "--json", "--kind", "test", trace)["timeline"], printed(p.stdout.decode())
    assert len(cases) > 100 and [(r["name"], r["outcome"]) for r in rows] == cases, (rows[:3], cases[:3])
    return f"{len(cases)} cases"


OWN = {"passes.sh": 0, "fails.sh": 1, "skips.sh": 4}


def selftests(tmp_path):
    """The kernel's runner, two of its tests, and three that end in the three ways."""
    built("small")
    source = os.path.join(BUILD, "guest/built/source/tools/testing/selftests")
    files = [f"{source}/kselftest/runner.sh=/ks/kselftest/runner.sh"]
    for name, in ("sigaltstack/sas",), ("breakpoints/breakpoint_test",):
        program = tmp_path / os.path.basename(name)
        run("gcc", "-static", "-O2", "-I", source, "-o", program, f"{source}/{name}.c")
        files.append(f"{program}=/ks/{name}")
    for name, status in OWN.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho ok 1 a part\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
        files.append(f"{tmp_path / name}=/ks/own/{name}")
    return initrd("6.12", "selftests", *files, image=str(tmp_path / "selftests.img"))


@pytest.mark.built
@pytest.mark.weight(20)
def test_selftests(tmp_path):
    """What the kernel's own runner of selftests prints, in the timeline: each test with its result, and the parts that it tells of."""
    trace = os.path.join(WORK, "selftests.upto")
    console = run(UPTO, "record", "-q", "-f", "-o", trace, "--", *qemu_args("6.12", selftests(tmp_path))).stdout.decode(errors="replace")
    lines = re.findall(r"^(not )?ok \d+ selftests: (\S+): (\S+?)( # SKIP.*)?(?: # exit=\d+)?\r?$", console, re.M)
    expected = [(f"{folder}.{name}", "skipped" if skip else "not ok" if failed else "ok") for failed, folder, name, skip in lines]
    rows = upto_json("timeline", "--json", "--kind", "test", trace)["timeline"]
    assert [(r["name"], r["outcome"]) for r in rows] == expected and len(expected) == 5, (rows, expected)
    assert {outcome for _, outcome in expected} == {"ok", "not ok", "skipped"}
    parts = upto_json("timeline", "--json", "--kind", "test-part", trace)["timeline"]
    assert [p["name"] for p in parts if p["name"].startswith("own.")] == [f"own.{name}: a part" for name in OWN], parts
    assert sum("breakpoint" in p["name"] for p in parts) >= 5, parts
    for row in rows:
        within = [p for p in parts if p["name"].startswith(row["name"])]
        assert all(row["start_ns"] <= p["start_ns"] and p["end_ns"] <= row["end_ns"] for p in within), (row, within)


PIECES = """
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
int main(void)
{
	static char lines[16][64];
	struct iovec pieces[16];

	for (int i = 0; i < 16; i++) {
		snprintf(lines[i], sizeof lines[i], "%s %d piece%d - of a longer line than others\\n", i % 3 ? "ok" : "not ok", i + 1, i + 1);
		pieces[i] = (struct iovec){ lines[i], strlen(lines[i]) };
	}
	return writev(1, pieces, 16) < 0;
}
"""


@pytest.mark.weight(3)
def test_tap(tmp_path):
    """What programs say in TAP, however they write it; what tee passes on is told once."""
    (tmp_path / "pieces.c").write_text(PIECES)
    run("gcc", "-O1", "-static", "-o", tmp_path / "pieces", tmp_path / "pieces.c")
    image = initrd("6.12", "tap", f"{tmp_path / 'pieces'}=/bin/pieces", image=str(tmp_path / "tap.img"))
    run(UPTO, "record", "-q", "-f", "-o", tmp_path / "tap.upto", "--", *qemu_args("6.12", image))
    rows = collections.Counter((r["name"], r["outcome"]) for r in upto_json("timeline", "--json", "--kind", "test", tmp_path / "tap.upto")["timeline"])
    expected = collections.Counter([("init.one", "ok"), ("init.two", "not ok"), ("init.three", "skipped"), *((f"init.many{i}", "ok") for i in range(1, 301)),
                                    *((f"pieces.piece{i + 1} - of a longer line than others", "ok" if i % 3 else "not ok") for i in range(16))])
    assert rows == expected, (len(rows), list((rows - expected).items())[:5], list((expected - rows).items())[:5])
