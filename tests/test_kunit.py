# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own tests: each case that the guest's console tells of stands in the timeline, with its result."""
import os
import re

import pytest

from guest import UPTO, WORK, built_args, run, upto_json


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


@pytest.mark.kernels
@pytest.mark.weight(30)
def test_cases():
    trace = os.path.join(WORK, "kunit.upto")
    args = [a.replace("quiet", "loglevel=7") for a in built_args("kunit")]
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
