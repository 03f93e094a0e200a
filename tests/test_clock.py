# SPDX-License-Identifier: GPL-2.0-or-later
"""What guest time is, where it is not what one expects: it is said, and begins at 0."""
import json
import os

import pytest

from guest import UPTO, UPTO_ASAN, WORK, record, run, upto_json
from test_sources import multiboot, other_args


def first_ns(trace):
    return json.loads(run(UPTO, "dump", "--json", "-n", "1", trace).stdout)["ns"]


def test_host_clock():
    """Without QEMU's clock, time is the host's since the recording began: said at the end, in META and by info."""
    trace = os.path.join(WORK, "clock-host.upto")
    said = record(trace, other_args(multiboot("calls")), "--qemu-inside", "none").stderr.decode()
    assert "times are the host's since the recording began" in said, said
    info = upto_json("info", "--json", trace, upto=UPTO_ASAN)
    assert "host ns since the recording began" in info["meta"]["clock"], info["meta"]["clock"]
    assert "host ns since" in run(UPTO, "info", trace).stdout.decode()
    # the host is up for longer than this takes
    assert 0 <= first_ns(trace) < info["duration_ns"] < 300e9, info
    run(UPTO_ASAN, "check", trace)
    os.unlink(trace)


@pytest.mark.parametrize("icount, clock, shift", [
    ("shift=3", "icount: exact", "3"), ("2,sleep=off", "icount: exact", "2"), ("shift=auto", "icount; interpolated", None),
    (None, "interpolated", None)])
def test_own_icount(icount, clock, shift):
    """The user's own -icount is told of; with a fixed shift an instruction always takes as long, and else not."""
    trace = os.path.join(WORK, f"clock-{(icount or 'none').split(',')[0]}.upto")
    record(trace, other_args(multiboot("calls")), more=["-icount", icount] if icount else [])
    meta = upto_json("info", "--json", trace)["meta"]
    assert clock in meta["clock"] and meta.get("icount_shift") == shift, meta
    if shift:
        kinds = "clock,interrupt"
        lines = run(UPTO, "dump", "--json", "--kind", kinds, trace).stdout.splitlines()
        ahead = {e["ns"] - (e["insns"] << int(shift)) for e in map(json.loads, lines)}
        halts = upto_json("info", "--json", trace)["events_by_kind"]["halt"]
        assert 1 <= len(ahead) <= 2 + halts + int(meta["time_strays"]), (len(ahead), halts)
        run(UPTO_ASAN, "check", trace)  # which knows how long an instruction takes, behind a gap, too
        middle = json.loads(lines[len(lines) // 2])["ns"]
        run(UPTO, "thin", "-f", "--start", f"time:{middle}ns", "-o", trace + ".thin", trace)
        run(UPTO_ASAN, "check", trace + ".thin")
        os.unlink(trace + ".thin")
    os.unlink(trace)
