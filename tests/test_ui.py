# SPDX-License-Identifier: GPL-2.0-or-later
"""upto ui: one user's browser gets the page and single calls; nobody else gets anything."""
import collections
import concurrent.futures
import contextlib
import glob
import gzip
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, initrd, qemu_args, run, upto_json
from test_cli import fails
from test_code import recording
from test_page import WEB, table
from test_thin import base

LINE = re.compile(r"^http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})$")


class Served:
    def __init__(self, process):
        self.process, line = process, process.stdout.readline().decode().strip()
        found = LINE.match(line)
        assert found, (line, process.stderr.read())
        self.address, self.port, self.token = line, int(found[1]), found[2]

    def ask(self, path, method="GET", cookie=True, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"127.0.0.1:{self.port}", **({"Cookie": f"upto_{self.port}={self.token if cookie is True else cookie}"} if cookie else {}),
                            **{n.replace("_", "-"): v for n, v in headers.items()}}.items():
            c.putheader(name, value)
        c.endheaders()
        answer = c.getresponse()
        body = answer.read()
        c.close()
        return answer, body


@contextlib.contextmanager
def served(trace, *options, upto=UPTO, **more_env):
    env = {**{k: v for k, v in os.environ.items() if k != "SSH_CONNECTION"}, **more_env}
    with subprocess.Popen([upto, "ui", *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as p:
        try:
            yield Served(p)
        finally:
            p.send_signal(signal.SIGINT)
            assert p.wait(60) == 0, (p.returncode, p.stderr.read())


@pytest.mark.weight(4)
def test_answers():
    """Only who has the token is answered, at this machine's own address, by pages of ours; data and calls are those of report and calls."""
    trace = base(2)
    with served(trace, upto=UPTO_ASAN) as ui:
        for answer, what in ((ui.ask("/", cookie=None), "no cookie"), (ui.ask("/data", cookie="0" * 32), "another token"), (ui.ask("/?token=" + "0" * 32, cookie=None), "another token"),
                             (ui.ask("/data?token=" + ui.token, cookie=None), "a token in another address"), (ui.ask("/data", Host="evil.example"), "another host"),
                             (ui.ask("/data", Host=f"127.0.0.1:{ui.port + 1}"), "another port"), (ui.ask("/data", Origin="http://evil.example"), "another page"),
                             (ui.ask("/data", Sec_Fetch_Site="cross-site"), "another site")):
            assert answer[0].status == 403 and len(answer[1]) < 100, what
        assert ui.ask("/data", method="POST")[0].status == 405 and ui.ask("/data", method="DELETE")[0].status == 405
        for path in ("/etc/passwd", "/../../etc/passwd", "//etc/passwd", "/data/", "/%2e%2e/"):
            assert ui.ask(path)[0].status == 404, path
        for query in ("", "?from=1", "?from=2&to=1", "?from=-1&to=2", "?from=1&to=99999999999999999999999", "?from=a&to=b"):
            for path in ("/calls", "/flame", "/lanes"):
                assert ui.ask(path + query)[0].status == 400, (path, query)
        let_in, _ = ui.ask("/?token=" + ui.token, cookie=None)
        assert let_in.status == 303 and let_in.getheader("Location") == "/"
        assert let_in.getheader("Set-Cookie") == f"upto_{ui.port}={ui.token}; HttpOnly; SameSite=Strict; Path=/"
        page, body = ui.ask("/")
        assert page.status == 200 and b'id="data"></script>' in body and ui.token.encode() not in body
        for name, value in (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Content-Security-Policy", "frame-ancestors 'none'")):
            assert page.getheader(name) == value and page.getheader("Access-Control-Allow-Origin") is None
        data, body = ui.ask("/data")
        assert data.getheader("Content-Encoding") == "gzip"
        data = json.loads(gzip.decompress(body))
        assert sum(r["self_insns"] for r in table(data, "functions")) == sum(r["self_insns"] for r in upto_json("top", "--json", "-n", "0", trace)["functions"])
        check_calls(ui, trace, data)
        check_lanes(ui, data)
        # it listens here alone
        with open("/proc/net/tcp") as f:
            bound = [line.split()[1] for line in f if line.split()[1].endswith(f":{ui.port:04X}") and line.split()[3] == "0A"]
        assert bound == [f"0100007F:{ui.port:04X}"]
        fails(1, f"port {ui.port} of 127.0.0.1: ", "ui", "--port", ui.port, trace)


@pytest.mark.weight(2)
def test_open():
    """The browser is given a file that nobody else can read, and no token; the file leads to the page, and is gone at the end."""
    folder = os.path.join(WORK, "ui-open")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "run"), 0o700)
    with open(os.path.join(folder, "bin/xdg-open"), "w") as f:
        os.chmod(f.name, 0o755)
        f.write(f'#!/bin/sh\nprintf "%s\\n" "$@" >{folder}/args.new && mv {folder}/args.new {folder}/args\n')
    args = os.path.join(folder, "args")
    with served(base(2), "--open", PATH=f"{folder}/bin:{os.environ['PATH']}", XDG_RUNTIME_DIR=f"{folder}/run") as ui:
        for _ in range(200):
            if os.path.exists(args):
                break
            time.sleep(0.05)
        with open(args) as f:
            given = f.read().splitlines()
        assert len(given) == 1 and ui.token not in given[0] and given[0].startswith(f"{folder}/run/"), given
        assert [os.stat(path).st_mode & 0o777 for path in (given[0], os.path.dirname(given[0]))] == [0o600, 0o700]
        with open(given[0]) as f:
            assert ui.address in f.read()
        # it comes from another site, whose right token counts, and nothing else of it
        let_in, body = ui.ask("/?token=" + ui.token, cookie=None, Sec_Fetch_Site="cross-site")
        assert let_in.status == 200 and let_in.getheader("Set-Cookie").startswith(f"upto_{ui.port}=") and b"url=/" in body and ui.token.encode() not in body
        assert ui.ask("/", Sec_Fetch_Site="cross-site")[0].status == 403
        if shutil.which("chromium") and shutil.which("node"):
            seen = json.loads(run("node", os.path.join(TOP, "tests/readers/opened.mjs"), WEB, given[0], timeout=200).stdout)
            assert seen["address"] == f"http://127.0.0.1:{ui.port}/" and " up to " in seen["sentence"], seen
    assert os.listdir(f"{folder}/run") == []
    # where there is no browser, the address is still there
    with served(base(2), "--open", PATH=f"{folder}/run", XDG_RUNTIME_DIR=f"{folder}/run") as ui:
        assert b"upto: --open: xdg-open: No such file or directory; open the address yourself" in ui.process.stderr.readline()
        assert ui.ask("/data")[0].status == 200
    assert os.listdir(f"{folder}/run") == []


def check_calls(ui, trace, data):
    """The calls of a part: those that upto calls has, which ended in it."""
    begin = data["end_ns"] // 2
    begin = next(s for s in upto_json("syscalls", "--json", "--from", f"{begin}ns", "-n", "1", trace)["syscalls"])["start_ns"]
    end = begin + 2000000
    _, body = ui.ask(f"/calls?from={begin}&to={end}&min=0")
    answer = json.loads(body)
    pids = [t[1] for t in data["threads"]]
    told = collections.Counter((answer["names"][c[4]], c[2], c[3], pids[c[0]]) for c in answer["calls"] if c[2] > begin and c[3] < end)
    want = collections.Counter()
    for s in upto_json("calls", "--json", "--from", f"{begin}ns", "--to", f"{end}ns", trace)["calls"]:
        if s["step"] != "enter" and begin < s["start_ns"] and s["start_ns"] + s["duration_ns"] < end:
            want[s["function"], s["start_ns"], s["start_ns"] + s["duration_ns"], s["pid"]] += 1
    # calls of code without names by itself are one there
    named = lambda counts: {k: n for k, n in counts.items() if not k[0].startswith("[")}
    assert answer["complete"] and named(told) == named(want) and len(told) > 50, (len(told), len(want))
    # also of whoever ran before a vCPU's first switch
    last = json.loads(ui.ask(f"/calls?from={data['end_ns'] - 3000000}&to={data['end_ns']}&min=0")[1])["calls"]
    assert last and {pids[c[0]] for c in last} <= {t[1] for t in data["threads"]} and all(0 <= c[0] < len(pids) for c in last)
    least = json.loads(ui.ask(f"/calls?from={begin}&to={end}&min=10000")[1])
    assert 0 < len(least["calls"]) < len(answer["calls"])


def check_lanes(ui, data):
    """Of all, what the page has; of a part, all that is longer than a screen's dot there."""
    _, body = ui.ask(f"/lanes?from=0&to={data['end_ns']}")
    assert json.loads(body) == {k: data[k] for k in ("runs", "spans", "waits", "record_of", "records")}
    starts, ends = [], collections.Counter()
    for cpu, gap, length in zip(*(data["runs"][k] for k in ("cpu", "gap", "length"))):
        starts.append(ends[cpu] + gap)
        ends[cpu] = starts[-1] + length
    begin = sorted(starts)[len(starts) // 2]
    end = begin + data["end_ns"] // 100
    part = json.loads(ui.ask(f"/lanes?from={begin}&to={end}")[1])
    inside = lambda rows, start, stop: [r for r in rows if r[stop] is not None and r[start] < end and r[stop] > begin]
    assert {r[0] for r in inside(data["spans"], 5, 6)} <= {r[0] for r in part["spans"]}
    assert all(r[5] <= end and r[6] >= begin for r in part["spans"])
    ends.clear()
    for cpu, gap, length in zip(*(part["runs"][k] for k in ("cpu", "gap", "length"))):
        start = ends[cpu] + gap
        ends[cpu] = start + length
        assert start <= end and ends[cpu] >= begin, (cpu, start, length)
    assert ends, part["runs"]


@pytest.mark.parametrize("n", [40, pytest.param(200, marks=pytest.mark.kernels)])
@pytest.mark.weight(4)
def test_flame_of_parts(n):
    """Of random parts of the time, the flame graph is upto tree's of that part, number by number; several are asked at once."""
    trace, draw = recording("6.12", 1)[0], random.Random(5)
    end = upto_json("info", "--json", trace)["duration_ns"]
    parts = []
    for _ in range(n):
        begin = draw.randrange(end)
        parts.append((begin, min(end, begin + 1 + int(end * 10 ** draw.uniform(-6, -2)))))
    with served(trace) as ui, concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda p: ui.ask(f"/flame?from={p[0]}&to={p[1]}"), parts))
        # nobody waits any more: the work ends, and others are answered
        with socket.create_connection(("127.0.0.1", ui.port)) as gone:
            gone.sendall(f"GET /flame?from=0&to={end} HTTP/1.1\r\nHost: 127.0.0.1:{ui.port}\r\nCookie: upto_{ui.port}={ui.token}\r\n\r\n".encode())
        assert ui.ask(f"/flame?from=0&to={end // 100}")[0].status == 200
    compared = 0
    for (begin, stop), (answer, body) in zip(parts, answers):
        assert answer.status == 200
        f, tree = json.loads(body)["flame"], upto_json("tree", "--json", "--from", f"{begin}ns", "--to", f"{stop}ns", trace)["tree"]
        assert sum(f["insns"]) == sum(n["self_insns"] for n in tree) and sum(f["ns"]) == sum(n["self_ns"] for n in tree)
        compared += compare(f, tree)
    return f"{len(parts)} parts, {compared} paths"


def totals(f):
    """By process and path, instructions and time with all that is below it, and calls."""
    n, ret, twice = len(f["parent"]), {}, set()
    insns, ns, paths = list(f["insns"]), list(f["ns"]), []
    for i, parent in enumerate(f["parent"]):
        paths.append((*(paths[parent] if parent >= 0 else (f["groups"][f["group"][i]][1],)), f["names"][f["name"][i]]))
    for i in range(n - 1, -1, -1):
        if f["parent"][i] >= 0:
            insns[f["parent"][i]] += insns[i]
            ns[f["parent"][i]] += ns[i]
        if paths[i][-1] != "…":
            twice |= {paths[i]} & ret.keys()  # several functions may have one name
            ret[paths[i]] = insns[i], ns[i], f["calls"][i]
    return {p: v for p, v in ret.items() if not any(p[:k] in twice for k in range(2, len(p) + 1))}


def with_sums(ui):
    """Wait until graphs of much of the trace need no replay."""
    assert ui.ask("/data")[0].status == 200
    until = time.monotonic() + 300
    while not json.loads(ui.ask("/progress")[1])["sums"]:
        assert ui.process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    return True


@pytest.mark.long
@pytest.mark.weight(4)
def test_flame_of_long_parts():
    """Much of a trace is added up from its segments: each path that is shown has what a replay has for it, and what is shown is all that is large."""
    # another test's server keeps its sums beside the same trace
    trace, draw = os.path.join(WORK, "ui-long.upto"), random.Random(11)
    for kept in glob.glob(trace + "*"):
        os.unlink(kept)
    os.link(recording("6.12", 1)[0], trace)
    end, compared, kept = upto_json("info", "--json", trace)["duration_ns"], 0, trace + ".sums"
    with served(trace) as ui:
        assert with_sums(ui)
    # what is kept beside the trace counts only whole
    with open(kept, "r+b") as f:
        f.seek(os.path.getsize(kept) // 2)
        f.write(bytes(64))
    damaged = os.stat(kept)
    with served(trace) as ui:
        assert with_sums(ui)
    made = os.stat(kept)
    assert made.st_size < os.path.getsize(trace) and made.st_ino != damaged.st_ino
    with served(trace) as ui:
        assert with_sums(ui) and os.stat(kept).st_ino == made.st_ino
        for part in (1, 0.7, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01):
            begin = draw.randrange(int(end * (1 - part)) + 1)
            stop = begin + int(end * part)
            quick, fine = (json.loads(ui.ask(f"/flame?from={begin}&to={stop}" + more)[1])["flame"] for more in ("", "&fine=1"))
            assert sum(quick["insns"]) == sum(fine["insns"]) and sum(quick["ns"]) == sum(fine["ns"])
            ours, theirs = totals(quick), totals(fine)
            wrong = [(p, ours[p], theirs.get(p)) for p in ours if p in theirs and ours[p] != theirs[p]]
            assert not wrong, (part, len(wrong), wrong[:3])
            assert len(set(ours) - set(theirs)) <= len(ours) / 50 and len(ours) <= len(theirs), (part, list(set(ours) - set(theirs))[:3])
            room = sum(fine["insns"]) / 2000, sum(fine["ns"]) / 2000
            large = {p for p, t in theirs.items() if t[0] > room[0] + 1 or t[1] > room[1] + 1}
            if part >= 0.1:
                assert large <= set(ours), (part, list(large - set(ours))[:3])
            compared += len(ours)
    return f"{compared} paths"


def compare(f, tree):
    """Paths of the graph, of all processes, with those of the tree; what is small is in its caller's "…" there."""
    ours, paths, path, rests = collections.defaultdict(lambda: [0, 0, 0]), [], [], set()
    for i, parent in enumerate(f["parent"]):
        paths.append((*(paths[parent] if parent >= 0 else ()), f["names"][f["name"][i]]))
        for k, key in enumerate(("calls", "insns", "ns")):
            ours[paths[i]][k] += f[key][i]
        if paths[i][-1] == "…":
            rests.add(paths[i][:-1])
    theirs = collections.defaultdict(lambda: [0, 0, 0])
    for n in tree:
        path[n["depth"]:] = [n["function"]]
        where = tuple(path)
        if where not in ours:
            # below the deepest of its callers that is shown and has a rest
            at = next((i for i in range(len(where), -1, -1) if where[:i] in rests), None)
            assert at is not None, where
            where = (*where[:at], "…")
        for k, key in enumerate(("calls", "self_insns", "self_ns")):
            theirs[where][k] += n[key]
    # a process's small calls may be another's large ones: then some of a path are in the rest of one that it is below
    exact = [p for p in ours if p[-1] != "…" and not any(p[:i] in rests for i in range(len(p)))]
    assert all(ours[p] == theirs[p] for p in exact), [(p, ours[p], theirs[p]) for p in exact if ours[p] != theirs[p]][:3]
    room, all_of = len(f["groups"]) / 20000, [sum(ours[p][k] for p in ours) for k in (1, 2)]
    mine, wanted = whole_paths(ours), whole_paths(theirs)
    for path in mine:
        if path[-1] != "…":
            assert all(-1 <= wanted[path][k] - mine[path][k] <= all_of[k] * room * len(path) + 1 for k in (0, 1)), (path, mine[path], wanted[path])
    return len(mine)


def whole_paths(sums):
    """By path, instructions and time with all that is below it."""
    ret = collections.defaultdict(lambda: [0, 0])
    for path, (_, insns, ns) in sums.items():
        for i in range(1, len(path) + 1):
            ret[path[:i]][0] += insns
            ret[path[:i]][1] += ns
    return ret


@pytest.mark.weight(2)
def test_read_meanwhile():
    """The page is there at once, and says how far the trace is read; Ctrl-C meanwhile ends it, and a trace that cannot be read is told to both."""
    trace = recording("6.12", 1)[0]
    with served(trace) as ui:
        seen = [json.loads(ui.ask("/progress")[1]) for _ in range(20)]
        assert all(0 <= s["part"] < 1 and s["pass"] >= 1 for s in seen) and (seen[0]["pass"], seen[0]["part"]) <= (seen[-1]["pass"], seen[-1]["part"])
        assert ui.ask("/")[0].status == 200 and ui.ask("/data")[0].status == 200
    with subprocess.Popen([UPTO_ASAN, "ui", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        assert p.wait(60) in (-signal.SIGINT, 0)
    damaged = os.path.join(WORK, "ui-damaged.upto")
    with open(trace, "rb") as f:
        data = bytearray(f.read())
    middle = len(data) // 2
    data[middle:middle + 4096] = bytes(4096)
    with open(damaged, "wb") as f:
        f.write(data)
    # what is damaged is a gap: the rest is shown
    with served(damaged) as ui:
        assert ui.ask("/data")[0].status == 200
    os.unlink(damaged)


@pytest.mark.weight(25)
def test_growing():
    """A trace that is being recorded: the page goes on as it grows, and shows in the end what it shows of the whole trace."""
    if not shutil.which("chromium") or not shutil.which("node"):
        pytest.skip("no Chromium, or no Node.js")
    trace = os.path.join(WORK, "ui-growing.upto")
    with subprocess.Popen([UPTO, "record", "-f", "-o", trace, "--", *qemu_args("6.12", initrd("6.12", "plain"))],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
        for _ in range(600):
            info = run(UPTO, "info", "--json", trace, check=False)
            if info.returncode == 0 and json.loads(info.stdout)["kernel_release"]:
                break
            time.sleep(0.1)
        with served(trace) as ui:
            before = json.loads(gzip.decompress(ui.ask("/data")[1]))
            seen = json.loads(run("node", os.path.join(TOP, "tests/readers/growing.mjs"), WEB, ui.address, timeout=300).stdout)
            assert recorder.wait(60) == 0, recorder.stderr.read()
            assert not json.loads(ui.ask("/progress")[1])["grows"]
            after = json.loads(gzip.decompress(ui.ask("/data")[1]))
            # numbers of another reading are not those of this one
            assert after["reading"] > before["reading"] == 0
            part = f"/lanes?from=0&to={after['end_ns']}&version="
            assert ui.ask(part + str(after["reading"]))[0].status == 200 and ui.ask(part + "0")[0].status == 409
    with served(trace) as ui:
        again = json.loads(gzip.decompress(ui.ask("/data")[1]))
        assert after | {"reading": 0} == again | {"reading": 0}
    assert before["end_ns"] < after["end_ns"]
    assert seen["messages"] == [] and len(set(seen["guests"])) == len(seen["guests"]) > 1 and seen["hash"] == "#search=vfs", seen
    return f"{len(seen['guests'])} versions"


@pytest.mark.weight(8)
def test_without_end():
    """A trace whose recorder was killed stands still: what graphs of much of it are made of is made of what there is, and anew if it goes on."""
    trace = os.path.join(WORK, "ui-killed.upto")
    for kept in glob.glob(trace + "*"):
        os.unlink(kept)
    with open(recording("6.12", 1)[0], "rb") as f:
        data = f.read()
    part = len(data) * 3 // 4
    with open(trace, "wb") as f:
        f.write(data[:part])
    with served(trace) as ui:
        assert with_sums(ui)
        now = json.loads(ui.ask("/progress")[1])
        assert now["grows"] and now["version"] == 0 and os.path.exists(trace + ".sums")
        with open(trace, "ab") as f:
            f.write(data[part:])
        until = time.monotonic() + 300
        while json.loads(ui.ask("/progress")[1])["version"] == 0:
            assert ui.process.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        assert with_sums(ui)
        now = json.loads(ui.ask("/progress")[1])
        assert not now["grows"] and now["version"] == 1


@pytest.mark.weight(3)
def test_seen():
    """Zoomed in, the page has the single calls, and no message; the token is out of its address."""
    if not shutil.which("chromium") or not shutil.which("node"):
        pytest.skip("no Chromium, or no Node.js")
    trace = recording("6.12", 1)[0]
    middle = upto_json("info", "--json", trace)["duration_ns"] // 2
    with served(trace) as ui:
        p = run("node", os.path.join(TOP, "tests/readers/ui.mjs"), WEB, ui.address, middle, middle + 20000000, timeout=200)
    seen = json.loads(p.stdout)
    assert seen["messages"] == [] and seen["requests"] == [] and "token" not in seen["address"] and " up to " in seen["sentence"], seen
    assert int(seen["status"].split()[0]) > 10 and any(r[1].startswith("calls of ") for r in seen["rows"]), seen
    assert seen["part"].startswith("of 20") and seen["part_rows"] != seen["all_rows"] and seen["flames"] == 0, seen
    assert seen["arrows"] > 10, seen["arrows"]
    return seen["status"]


def test_asked():
    fails(2, "--port 70000: at most 65535", "ui", "--port", "70000", "x.upto")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
    fails(1, "not a trace of upto", "ui", __file__)
