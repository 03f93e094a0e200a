# SPDX-License-Identifier: GPL-2.0-or-later
"""upto ui: one user's browser gets the page and single calls; nobody else gets anything."""
import collections
import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from guest import TOP, UPTO, UPTO_ASAN, run, upto_json
from test_cli import fails
from test_code import recording
from test_page import WEB, table
from test_thin import base

LINE = re.compile(r"^http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})$")


class Served:
    def __init__(self, process):
        self.process, line = process, process.stdout.readline().decode().strip()
        found = LINE.match(line)
        if not found:
            pytest.skip(f"no upto ui: {process.stderr.read().decode()}")
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
def served(trace, *options, upto=UPTO):
    env = {k: v for k, v in os.environ.items() if k != "SSH_CONNECTION"}
    with subprocess.Popen([upto, "ui", *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as p:
        try:
            yield Served(p)
        finally:
            p.send_signal(signal.SIGINT)
            assert p.wait(60) == 0, p.stderr.read()


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
            assert ui.ask("/calls" + query)[0].status == 400, query
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
        # it listens here alone
        with open("/proc/net/tcp") as f:
            bound = [line.split()[1] for line in f if line.split()[1].endswith(f":{ui.port:04X}") and line.split()[3] == "0A"]
        assert bound == [f"0100007F:{ui.port:04X}"]
        fails(1, f"port {ui.port} of 127.0.0.1: ", "ui", "--port", ui.port, trace)


def check_calls(ui, trace, data):
    """The calls of a part: those that upto calls has, which ended in it."""
    begin = data["end_ns"] // 2
    begin = next(s for s in upto_json("syscalls", "--json", "--from", f"{begin}ns", "-n", "1", trace)["syscalls"])["start_ns"]
    end = begin + 2000000
    _, body = ui.ask(f"/calls?from={begin}&to={end}&min=0")
    answer = json.loads(body)
    told = collections.Counter((answer["names"][c[4]], c[2], c[3]) for c in answer["calls"] if c[2] > begin and c[3] < end)
    want = collections.Counter()
    for s in upto_json("calls", "--json", "--from", f"{begin}ns", "--to", f"{end}ns", trace)["calls"]:
        if s["step"] != "enter" and begin < s["start_ns"] and s["start_ns"] + s["duration_ns"] < end:
            want[s["function"], s["start_ns"], s["start_ns"] + s["duration_ns"]] += 1
    # calls of code without names by itself are one there
    named = lambda counts: {k: n for k, n in counts.items() if not k[0].startswith("[")}
    assert answer["complete"] and named(told) == named(want) and len(told) > 50, (len(told), len(want))
    least = json.loads(ui.ask(f"/calls?from={begin}&to={end}&min=10000")[1])
    assert 0 < len(least["calls"]) < len(answer["calls"])


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
    assert seen["messages"] == [] and seen["requests"] == [] and "token" not in seen["address"] and " up to " in seen["sentence"]
    assert int(seen["status"].split()[0]) > 10 and any(r[1].startswith("calls of ") for r in seen["rows"]), seen
    return seen["status"]


def test_asked():
    fails(2, "--port 70000: at most 65535", "ui", "--port", "70000", "x.upto")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
    fails(1, "not a trace of upto", "ui", __file__)
