# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of upto report: what is in it is what the commands say, and people can use it, in a real browser."""
import base64
import collections
import functools
import gzip
import json
import os
import re
import shutil

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, once_a_run, run, upto_json
from test_cli import fails, tiny
import test_events
from made import make
from test_code import recording
from test_made import IDLE, INIT, boot
from test_plain import EVIL, evil_trace

WEB = os.path.join(TOP, "web")


@functools.cache
def trace():
    return recording("6.12", 1)[0]


def built():
    p = run(UPTO, "report", "-o", os.path.join(WORK, "nosuch/page.html"), "-f", tiny(), check=False)
    if b"without the page" in p.stderr:
        pytest.skip("upto was built without the page: no Node.js")


def made(name, of, upto=UPTO):
    """A page, and the data in it."""
    path = os.path.join(WORK, f"page-{name}.html")
    once_a_run(path, lambda: run(upto, "report", "-f", "-o", path, of))
    with open(path) as f:
        text = f.read()
    found = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', text)
    return path, json.loads(gzip.decompress(base64.b64decode(found[1], validate=True)))


def table(data, name):
    t = data["tables"][name]
    return [dict(zip((c["name"] for c in t["columns"]), row)) for row in t["rows"]]


def used(page):
    """What tests/readers/page.mjs saw."""
    if not shutil.which("chromium") or not shutil.which("node"):
        pytest.skip("no Chromium, or no Node.js")
    return json.loads(run("node", os.path.join(TOP, "tests/readers/page.mjs"), WEB, page, timeout=300).stdout)


@pytest.mark.weight(5)
def test_sums():
    """Sums are those of top, ps, syscalls, why, and log, as numbers; the flame graph's parts add up to them."""
    built()
    path, data = made("sums", trace())
    # static functions may share a name
    top = {(f["function"], f["address"]): f for f in upto_json("top", "--json", "--total", "-n", "0", trace())["functions"]}
    rows = {(r["function"], r["address"]): r for r in table(data, "functions")}
    assert rows.keys() == top.keys() and len(rows) > 5000
    for key, row in rows.items():
        assert all(row[k] == top[key][k] for k in ("calls", "self_insns", "self_ns", "total_insns", "total_ns")), (row, top[key])
    assert [(r["pid"], r["start_ns"], r["self_insns"]) for r in table(data, "processes")] == [
        (p["pid"], p["start_ns"], p["self_insns"]) for p in upto_json("ps", "--json", trace())["processes"]]
    assert table(data, "syscalls") and {r["name"]: r["count"] for r in table(data, "syscalls")} == {
        r["name"]: r["count"] for r in upto_json("syscalls", "--summary", "--json", trace())["syscalls"]}
    assert [r["text"] for r in table(data, "log")] == [r["text"] for r in upto_json("log", "--json", trace())["log"]]
    why = upto_json("why", "--json", trace())
    assert [(c[0], c[2], c[3]) for c in data["why"]["causes"]] == [(c["ns"], c["name"], c["what"]) for c in why["causes"]]
    assert [(c[0], c[1]) for c in data["why"]["chain"]] == [(c["start_ns"], c["end_ns"]) for c in why["chain"]]
    return f"{os.path.getsize(path)} bytes, {len(rows)} functions, {len(data['flame']['parent'])} nodes"


@pytest.mark.weight(3)
def test_flame():
    """Told apart by process and phase, all parts together are all that ran; each process has what ps says; each function at most what top says."""
    built()
    _, data = made("sums", trace())
    f = data["flame"]
    assert sum(f["insns"]) == data["insns"] and abs(sum(f["ns"]) - data["ns"]) < 100
    by_process, by_phase, own = collections.Counter(), collections.Counter(), collections.Counter()
    for group, name, insns in zip(f["group"], f["name"], f["insns"]):
        phase, process = f["groups"][group]
        by_process[process] += insns
        by_phase[phase] += insns
        own[f["names"][name]] += insns
    threads = [dict(zip(("name", "pid", "tgid", "kernel", "start", "end", "process"), t)) for t in data["threads"]]
    theirs = collections.Counter()
    for p in upto_json("ps", "--json", trace())["processes"]:
        number = next(i for i, t in reversed(list(enumerate(threads))) if t["pid"] == p["pid"] and (t["start"] <= p["start_ns"] or i == 0)) if p["pid"] else None
        theirs[threads[number]["process"] if number is not None else None] += p["self_insns"]
    told = collections.Counter({p if p is not None and threads[p]["pid"] else None: 0 for p in by_process})
    for p, n in by_process.items():
        told[p if p is not None and threads[p]["pid"] else None] += n
    # an exec's and a switch's own instructions are told a few this or that way
    differ = [(threads[p]["name"] if p is not None else None, told[p], theirs[p]) for p in told | theirs if abs(told[p] - theirs[p]) > 2000 + theirs[p] / 100]
    assert differ == [] and len(told) > 15, differ
    phases = {s[0]: s for s in data["spans"] if s[1] == "phase"}
    assert set(by_phase) - {None} <= set(phases) and len(by_phase) >= 3
    spans = {s["name"]: s["insns"] for s in upto_json("timeline", "--json", "--kind", "phase", trace())["timeline"]} if data["cpus"] == 1 else {}
    for number, s in phases.items():
        assert abs(by_phase[number] - spans[s[2]]) <= 20000 + spans[s[2]] / 100, (s, by_phase[number], spans[s[2]])
    want = collections.Counter()
    for r in upto_json("top", "--json", "-n", "0", trace())["functions"]:
        want[r["function"]] += r["self_insns"]
    assert all(n <= want[name] * 1.001 + 2000 for name, n in own.items() if name != "…" and not name.startswith("["))
    parents = f["parent"]
    assert all(-1 <= p < i for i, p in enumerate(parents))


@pytest.mark.weight(6)
def test_used():
    """Opened from disk without a network: seen, zoomed, searched, narrowed, sorted, by mouse and keys, linked; light, dark, on a phone; readable to all."""
    built()
    path, data = made("sums", trace())
    seen = used(path)
    assert seen["messages"] == [] and seen["requests"] == []
    assert seen["title"] == os.path.basename(trace()) and " up to " in seen["sentence"] and "Linux version 6.12" in seen["guest"]
    assert len(seen["causes"]) == len(data["why"]["causes"])
    assert seen["lanes"]["colours"] > 20 and seen["lanes"]["share"] > 0.01 and seen["flame"]["colours"] > 50 and seen["flame"]["share"] > 0.1
    assert {"functions", "first calls", "system calls", "processes", "longest waits", "kernel log"} <= set(seen["tabs"])
    most = max(table(data, "functions"), key=lambda r: r["self_insns"])
    assert seen["functions"][0][0] == most["function"] and seen["functions"][0][2] == f"{most['calls']:,}"
    assert re.match(r"found: \d+\.\d\d %", seen["share"]) and seen["share"] != "found: 0.00 %"
    assert seen["flame_rows"] and seen["reversed_rows"] and seen["by_time"] != seen["unzoomed"]
    whole, closer, right, farther, again = seen["ranges"]
    assert len({whole, closer, right}) == 3 and again == whole and farther != right
    assert "below" in seen["zoomed"] and "below" not in seen["unzoomed"] and seen["focused"]
    assert re.match(r"Without it, .* could be up to ", seen["what_if"])
    assert "phase" in seen["narrowed_phase"] and seen["phase_label"] != seen["unzoomed"] and "phase=" in seen["phase_hash"]
    assert "(1)" in seen["narrowed_process"] and {r[0] for r in seen["process_rows"]} == {"1"} and seen["process_label"] != seen["unzoomed"]
    assert seen["again"] == {"narrowed": seen["narrowed_process"], "flame": seen["process_label"], "rows": seen["process_rows"]}
    assert seen["order"] == {"goes": True, "told": "ascending", "focused": True} and len(set(seen["sorted"])) > 10, seen["order"]
    assert seen["filtered"] and all("vfs_" in name for name in seen["filtered"])
    assert seen["controls"] == ["vfs_read", "ns", True] and seen["no_controls"] == ["", "insns", False]
    for lane, said, key in ("phases", "phase ", "phase"), ("stages", "stage ", "span"):
        chosen, lines = seen["chosen"][lane], len(table(data, "log"))
        shown, of = map(int, re.match(r"([\d,]+) of ([\d,]+) rows", chosen["count"].replace(",", "")).groups())
        assert said in chosen["narrowed"] and shown < of == lines and chosen["range"] != whole and f"{key}=" in chosen["hash"] and chosen["focused"], chosen
    # a page of paper is no row in thousands
    assert seen["pages"] < 20 and seen["after_paper"] < 200, seen["pages"]
    assert len(seen["paper_rows"]) == 201 and seen["paper_rows"][-1] == [f"{len(table(data, 'functions')) - 200:,} more rows are not printed"]
    first = seen["links"].pop("#from=1000000&to=1000000.0000000001")
    assert first[0] == "0.001000 s to 0.001000 s: 100 ns"
    rows_of_all = f"{len(table(data, 'functions')):,} of {len(table(data, 'functions')):,} rows"
    assert all(rows == rows_of_all and narrowed == "narrowed to " for _, rows, narrowed in (first, *seen["links"].values())), seen["links"]
    for name, look in seen["wide"].items():
        assert look["axe"] == [] and look["overflow"] <= 0 and look["lanes"]["colours"] > 10, (name, look)
    assert seen["wide"]["dark"]["back"] != seen["wide"]["light"]["back"]
    return f"ready in {seen['ready_ms']} ms, {seen['frame_ms']:.1f} ms a frame"


def test_runs():
    """Idle threads are not told to run; runs with hardly anything between them are one, and however many there are, they are joined to so many."""
    built()
    other, at, step, events = 0xffff888000003000, 1000, 10000, []

    def turn(a, b):
        nonlocal at
        for one, next_one in ((a, b), (b, a)):
            at += step
            events.append((f"event 0 task-switch {at} {at} 0 0 0", one, next_one))

    events.append((f"event 0 task-switch {at} {at} 0 0 0", INIT, INIT))
    for _ in range(50000):
        turn(INIT, other)
    busy = at
    for _ in range(1000):
        turn(INIT, IDLE)
    trace = make("runs", boot("event 0 clock 90 90 0 0 0", *events, f"event 0 clock {at + step} {at + step} 0 0 0") + [
        f"task 1 0 95 95 {INIT} 0xffff888000008000 1 1 0 program /program", f"task 1 0 96 96 {IDLE} 0 0 0 0 swapper/0", f"task 1 0 97 97 {other} 0xffff888000009000 2 2 1 other /other"])
    data = made("runs", trace, UPTO_ASAN)[1]
    runs, pids, until, list_ = data["runs"], [t[1] for t in data["threads"]], 0, []
    for thread, gap, length in zip(runs["thread"], runs["gap"], runs["length"]):
        list_.append((pids[thread], until + gap, until + gap + length))
        until += gap + length
    assert 10000 < len(list_) <= 40000 and {pid for pid, _, _ in list_} == {1, 2}
    # the whole of it is covered, and of those who ran by turns, each is seen
    assert list_[0][1] <= 1000 + step and all(b[1] - a[2] < 10 * step for a, b in zip(list_, list_[1:])) and list_[-1][2] >= at
    theirs = [sum(e - b for pid, b, e in list_ if pid == n and e <= busy) for n in (1, 2)]
    assert min(theirs) > (busy - 1000) / 5, theirs
    # what idles for a short time does not part a run
    assert len([r for r in list_ if r[1] >= busy + 10 * step]) <= 1, list_[-5:]


@pytest.mark.weight(2)
def test_evil_names():
    """Names of functions that are markup, control characters or turn text around are shown as text."""
    built()
    path, data = made("evil", evil_trace(), UPTO_ASAN)
    with open(path, "rb") as f:
        page = f.read()
    assert page.count(b"<script") == 2 and b"onerror" not in page
    names = {r["function"] for r in table(data, "functions")}
    assert {re.sub("[\udc80-\udcff]", "\ufffd", name) for name in EVIL.values()} <= names
    if shutil.which("chromium") and shutil.which("node"):
        p = run("node", os.path.join(TOP, "tests/readers/page_names.mjs"), WEB, path)
        seen = json.loads(p.stdout)
        assert seen["messages"] == [] and seen["elements"] == 0 and len(seen["names"]) >= len(EVIL), seen
        assert not any(re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", name) for name in seen["names"]), seen["names"]


def test_typed():
    """The compiler finds nothing."""
    if not os.path.exists(os.path.join(WEB, "node_modules/typescript")):
        pytest.skip("no TypeScript")
    run("node_modules/.bin/tsc", "--noEmit", "-p", ".", cwd=WEB)


@pytest.mark.weight(3)
def test_lane_of_events():
    """The lane of trace events: records that upto events has, with their threads, all over the time; none where none are wanted."""
    built()
    of = os.path.join(WORK, "page-events.upto")
    whole = test_events.recorded("6.12")[0]
    end = upto_json("info", "--json", whole)["duration_ns"]
    once_a_run(of, lambda: run(UPTO, "thin", "-f", "--start", f"time:{end * 3 // 4}ns", "--stop", f"time:{end * 17 // 20}ns", "-o", of, whole))
    data = made("events", of)[1]
    assert 1000 < len(data["records"]) <= 20000 and [r[0] for r in data["records"]] == sorted(r[0] for r in data["records"])
    theirs = {(e["ns"], e["event"].split(":")[1]): e for e in upto_json("events", "--json", "--name", "sched:*", of)["events"]}
    ours = [r for r in data["records"] if r[2].startswith("sched_")]
    assert len(ours) > 100
    for ns, thread, text in ours:
        e = theirs[ns, text.split(":")[0]]
        assert text == f"{text.split(':')[0]}: {e['text']}"[:200] and (thread < 0 or data["threads"][thread][1] == e["pid"]), (text, e)
    assert data["records"][-1][0] - data["records"][0][0] > end // 10 * 7 // 10
    path = os.path.join(WORK, "page-without-events.html")
    run(UPTO, "report", "-f", "--no-events", "-o", path, of)
    assert os.path.getsize(path) < os.path.getsize(os.path.join(WORK, "page-events.html"))


def test_units():
    """What the views are made of, without a browser."""
    if not os.path.exists(os.path.join(WEB, "node_modules/esbuild")):
        pytest.skip("no esbuild")
    p = run("node", "--test", "test/units.mjs", cwd=WEB)
    assert re.search(rb"^# fail 0$", p.stdout, re.M) and int(re.search(rb"^# pass (\d+)$", p.stdout, re.M)[1]) >= 8, p.stdout[-2000:]


def test_asked():
    """Files that are there, full disks, files that are no traces."""
    built()
    path = os.path.join(WORK, "page-asked.html")
    with open(path, "w") as f:
        f.write("mine")
    fails(1, "exists; --force overwrites it", "report", "-o", path, tiny())
    fails(1, "/dev/full: No space left on device", "report", "-o", "/dev/full", tiny())
    fails(1, "not a trace of upto", "report", "-f", "-o", path, __file__)
    with open(path) as f:
        assert f.read() == "mine"
    told = run(UPTO, "report", "-f", "-o", path, tiny()).stdout.decode()
    assert re.fullmatch(rf"{re.escape(path)}: [\d.]+ MB; to look at it: xdg-open {re.escape(path)}\n", told), told
