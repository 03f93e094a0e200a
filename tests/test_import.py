# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that are made of logs of KFI and KFT, and of text traces: they say what the log says, and what it does not."""
import collections
import json
import os
import random
import re
import subprocess
import tempfile

import pytest

import kd_reader
from guest import UPTO_ASAN, WORK, run, with_keys
from kd_logs import Machine, Style, made

OUTSIDE = "[not logged]"
EXAMPLE = """\
11409434.8589973 prepare_exit_to_usermode in section .text
11409435.5189973 retint_user + 8 in section .text
11409436.4899973 7fb95ab3cd20
"""


class Imported:
    """A log as a trace that upto check accepts."""
    def __init__(self, text):
        self.folder = tempfile.TemporaryDirectory(dir=WORK)
        self.log, self.path = os.path.join(self.folder.name, "x.log"), os.path.join(self.folder.name, "x.upto")
        with open(self.log, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        self.said = run(UPTO_ASAN, "import", self.log, "-o", self.path).stdout.decode()
        run(UPTO_ASAN, "check", self.path)

    def ask(self, command, *args):
        return run(UPTO_ASAN, command, *args, self.path).stdout.decode()

    def json(self, command, *args):
        return with_keys(json.loads(self.ask(command, "--json", *args)))

    def refuses(self, what, command, *args):
        p = run(UPTO_ASAN, command, *args, self.path, check=False)
        assert p.returncode == 1 and not p.stdout, (command, args, p)
        assert re.fullmatch(f"upto: .*/x.upto: was imported from (a text trace|a log of KFI or KFT): it has no {what}\n", p.stderr.decode()), p


def maker(call):
    """The call that it lies in: it was called from there, as far as the log tells, or is an interrupt that cut in there."""
    return call.parent if call.depth or call.row.interrupt else None


def inclusive(nest):
    """Each call's time with all that lies in it, in ns: what its thread ran."""
    times = {c: c.local * 1000 for c in nest.calls}
    for c in reversed(nest.calls):
        if maker(c):
            times[c.parent] += times[c]
    return times


def path_of(call):
    return (path_of(call.parent) if maker(call) else (OUTSIDE,)) + (call.row.function,)


def paths(rows):
    """path → calls, self and total time, of upto tree"""
    now, found = [], {}
    for row in rows:
        now[row["depth"]:] = [row["function"]]
        found[tuple(now)] = row["calls"], row["self_ns"], row["total_ns"]
    return found


def compare(text):
    log, trace = kd_reader.Log(text), Imported(text)
    nest = kd_reader.Nest(log)
    times = inclusive(nest)
    told = [(s["function"], s["start_ns"], s["duration_ns"]) for s in trace.json("calls")["calls"]
            if s["step"] != "enter" and s["function"] != OUTSIDE]
    assert collections.Counter(told) == collections.Counter((r.function, r.entry * 1000, r.delta * 1000) for r in log.rows)
    sums, totals, longest = kd_reader.sums_right(log), collections.Counter(), collections.Counter()
    tree = collections.defaultdict(lambda: [0, 0, 0])
    for c in nest.calls:
        above, p = maker(c), path_of(c)
        while above and above.row.function != c.row.function:
            above = maker(above)
        totals[c.row.function] += 0 if above else times[c]
        longest[c.row.function] = max(longest[c.row.function], times[c])
        for i, n in enumerate((1, c.local * 1000, times[c])):
            tree[p][i] += n
    functions = {f["function"]: f for f in trace.json("top", "--total")["functions"]}
    assert set(functions) - set(sums) <= {OUTSIDE}
    for name, s in sums.items():
        f = functions[name]
        assert (f["calls"], f["self_ns"], f["total_ns"], f["longest_ns"]) == (s.count, s.local * 1000, totals[name], longest[name]), (name, f, s.count, s.local * 1000, totals[name], longest[name])
        assert f["self_insns"] is None and f["total_insns"] is None
    got = paths(trace.json("tree")["tree"])
    assert {p: v for p, v in got.items() if p != (OUTSIDE,)} == {p: tuple(v) for p, v in tree.items()}
    return len(log.rows)


@pytest.mark.parametrize("part", range(2))
def test_logs(part):
    """Calls, sums and trees of logs whose times fit, against a second reader."""
    rows = 0
    for seed in range(part * 10, part * 10 + 10):
        rng = random.Random(seed)
        machine = Machine(rng, threads=rng.choice((1, 3, 8)), interrupts=seed % 3 != 0)
        rows += compare(Style(rng).log(machine.rows))
    return f"{rows} calls"


def test_any_log():
    """Filters, missing exits, damage: calls are those of the log, and upto check finds nothing wrong."""
    for seed in range(60):
        text = made(seed)
        log = kd_reader.Log(text)
        if not log.rows:
            continue
        trace = Imported(text)
        counts = {f["function"]: f["calls"] for f in trace.json("top")["functions"]}
        for name, n in collections.Counter(r.function for r in log.rows).items():
            assert counts[name] == n, (seed, name)
        open_ = sum(r.delta is None for r in log.rows)
        assert ("without an exit" in trace.said) == (open_ > 0)
        assert ("exits" in trace.json("info")["meta"]["absent"]) == (open_ > 0)


def test_threads_and_addresses():
    trace = Imported("--------\n10 50 7 0xc0008000 c0007000\n20 5 7 c0009000 c0008040\n30 4 -1 c000a000 ffff0000\n70 5 9 c0009000 c0007000\n")
    info = trace.json("info")
    assert info["meta"]["absent"] == "instructions,interrupts,syscalls,facts" and info["instructions"] is None
    assert [(t["pid"], t["comm"]) for t in trace.json("ps")["processes"] if t["pid"]] == [(7, "pid 7"), (9, "pid 9")]
    assert {f["function"]: f["address"] for f in trace.json("top")["functions"]}["c0009000"] == "0xc0009000"
    assert "    0xc0008000+0x40" in trace.ask("stack", "--at", "22us"), trace.ask("stack", "--at", "22us")
    trace.refuses("instructions", "top", "--clock", "insns")
    trace.refuses("instructions", "top", "-o", "function,self_insns")
    trace.refuses("interrupts", "top", "--by", "interrupt")
    trace.refuses("system calls", "syscalls")
    named = Imported("--------\n10 50 7 do_fork x\n")
    assert "addresses" in named.json("info")["meta"]["absent"]
    named.refuses("addresses", "top", "-o", "address")


def test_example():
    """The lines of 2016 as they are."""
    trace = Imported(EXAMPLE)
    assert trace.json("info")["meta"]["imported"] == "a text trace"
    assert {f["function"]: (f["section"], f["self_ns"], f["calls"], f["self_insns"]) for f in trace.json("top", "--clock", "ns")["functions"]} == {
        "prepare_exit_to_usermode": (".text", 660, 1, None), "retint_user": (".text", 971, 0, None), "[user]": (None, 0, 1, None)}
    assert trace.ask("dump") == """\
  11.409434858 [0] gap not asked for now in 0x0
  11.409434858 [0] arrive prepare_exit_to_usermode
  11.409435518 [0] arrive retint_user+0x8
  11.409436489 [0] arrive 0x7fb95ab3cd20
""" + trace.ask("dump", "--kind", "clock")
    assert [f["function"] for f in trace.json("first")["first"]] == ["prepare_exit_to_usermode", "[user]"]  # retint_user is not seen at its start
    for command in "tree", "stack", "calls", "kd", "export":
        args = {"stack": ["--at", "11.4094349"], "export": ["--to", "kfi"]}.get(command, [])
        trace.refuses("stacks", command, *args)
    for options in ["-c"], ["-c", "-r"], ["--as-kd"]:
        trace.refuses("stacks", "kd", *options)
    trace.refuses("stacks", "top", "--total")
    trace.refuses("stacks", "top", "--min-duration", "1us")
    trace.refuses("threads", "ps")
    trace.refuses("threads", "top", "--by", "thread")
    trace.refuses("instructions", "top", "-s", "self_insns")
    for command in "why", "log":
        trace.refuses("facts of the kernel's own", command)
    assert "instructions" not in trace.ask("top") and "INSNS" not in trace.ask("top")


def test_no_exit():
    """A call without an exit has none either where the call that it was made by is cut off."""
    trace = Imported("--------\n10 1000 7 outer main+0x5\n20 -1 7 never outer+0x10\n30 5 7 leaf never+0x3\n2000 5 7 other main+0x9\n")
    for options in [], ["--start", "time:20us"], ["--start", "entry:never"]:
        calls = {f["function"]: (f["count"], f["no_exit"], f["total_ns"]) for f in trace.json("kd", *options)["functions"]}
        assert (calls["never"], calls["leaf"], calls["other"]) == ((1, 1, 0), (1, 0, 5000), (1, 0, 5000)), options
        assert ("outer" in calls) == (not options)


def test_callers():
    """A call that was made elsewhere is not in the tree of the one that it lies in by PID and time; the log's header is kept."""
    header = ["Kernel Instrumentation Run ID 3", "500 usecs minimum execution time", "Execution time filter count = 896348",
              "Total entries filtered = 896348", "Entries not found = 24", "Logging started at 67 usec by entry to function start_kernel",
              "Logging stopped at 8423650 usec by time at 500 usec from start trigger"]
    rows = "\n14 8687 0 foo start_kernel+0xb0\n20 -1 0 bar start_kernel+0xb4\n25 3 0 leaf bar+0x4\n30 no exit 5i baz start_kernel+0xb0\n" \
           "40 -2 5 baz start_kernel+0xb0\n60 0 -1 baz start_kernel+0xb0\n9000 500 0 outer start_kernel+0xb0\n9100 50 0 inner outer+0x4\n9120 10 -1 irq inner+0x2\n"
    trace = Imported("\n".join(header) + "\n--------" + rows)
    found = {p[1:]: calls for p, (calls, _, _) in paths(trace.json("tree")["tree"]).items()}
    assert {p: n for p, n in found.items() if p} == {("foo",): 1, ("bar",): 1, ("bar", "leaf"): 1, ("baz",): 3, ("outer",): 1, ("outer", "inner"): 1,
                                                     ("outer", "inner", "irq"): 1}
    meta = trace.json("info")["meta"]
    assert [meta[f"kfi.{i + 1}"] for i in range(len(header))] == header and all(text in trace.ask("info") for text in header)
    log = trace.ask("export", "--to", "kfi")
    assert all(text in log for text in header)
    told = sorted((r.entry, r.delta, r.function) for r in kd_reader.Log(log).rows)
    assert told == sorted((r.entry, r.delta, r.function) for r in kd_reader.Log("--------" + rows).rows)


def blocks(seed, n):
    """A text trace."""
    rng, lines, us = random.Random(seed), [], random.Random(seed).randrange(10 ** 9)
    names = [f"f{i}.{rng.choice(('isra.0', 'part.1', ''))}" for i in range(40)]
    names += [name + rng.choice(("", " + 1", " + 77", " + 1048575")) for name in names]
    places = [f"{name} in section {rng.choice(('.text', '.init.text'))}" for name in names]
    places += [f"{rng.randrange(1 << 47):x}" for _ in range(9)] + [f"{rng.randrange(1 << 63, 1 << 64):x}" for _ in range(9)]
    ns = us * 1000
    for _ in range(n):
        ns += rng.choice((0, 1, 1, 999, 1000, 123456, 7, 0, 10 ** rng.randrange(13)))
        fraction = rng.choice((f".{ns % 1000:03d}", f".{ns % 1000:03d}9973")) if ns % 1000 or rng.random() < 0.5 else ""
        lines.append(f"{ns // 1000}{fraction} {rng.choice(places[:rng.choice((3, len(places)))])}")
    return "\n".join(lines) + rng.choice(("", "\n"))


def sums(text):
    """(function, section) → its time, by hand."""
    found, before = collections.Counter(), None
    for line in text.splitlines():
        time, place = line.split(" ", 1)
        us, _, fraction = time.partition(".")
        now = int(us) * 1000 + int((fraction + "000")[:3])
        words = place.split()
        if before:
            found[before[0]] += now - before[1]
        before = (words[0], words[-1]) if len(words) > 1 else ("[kernel]" if len(place) == 16 else "[user]", None), now
    return {k: v for k, v in found.items() if v}


def test_blocks():
    for seed, n in *((seed, 300) for seed in range(12)), (100, 1), (101, 200000):
        text = blocks(seed, n)
        got = {(f["function"], f["section"]): f["self_ns"] for f in Imported(text).json("top", "--clock", "ns")["functions"]}
        assert {k: v for k, v in got.items() if v} == sums(text), seed


def test_spans_of_blocks():
    """Of a text trace, what is between two functions' entries: while reading, and as a trace of its own; what it cannot tell is refused."""
    lines = blocks(6, 3000).splitlines()
    for i, name in ((500, "begins"), (900, "ends"), (1300, "begins"), (1301, "ends"), (2000, "begins + 4"), (2500, "ends")):
        lines[i] = f"{lines[i].split()[0]} {name} in section .text"
    trace = Imported("\n".join(lines))
    parts = [lines[500:901], lines[1300:1302]]
    for every, want in (([], sums("\n".join(parts[0]))), (["--every"], collections.Counter(sums("\n".join(parts[0]))) + collections.Counter(sums("\n".join(parts[1]))))):
        span = ["--start", "begins", "--stop", "entry:ends", *every]
        got = {(f["function"], f["section"]): f["self_ns"] for f in trace.json("top", "--clock", "ns", *span)["functions"]}
        assert {k: v for k, v in got.items() if v} == want, every
        calls = {f["function"]: f["calls"] for f in trace.json("top", *span)["functions"]}
        assert (calls["begins"], calls["ends"]) == (1 + len(every), 1 + len(every)), calls
        part = os.path.join(WORK, "blocks-part.upto")
        run(UPTO_ASAN, "thin", "-f", *span, "-o", part, trace.path)
        run(UPTO_ASAN, "check", part)
        thin = {(f["function"], f["section"]): f["self_ns"] for f in json.loads(run(UPTO_ASAN, "top", "--json", "-n", "0", part).stdout)["functions"]}
        assert {k: v for k, v in thin.items() if v} == want, every
        os.unlink(part)
    for options, lacks in ((["--start", "exit:begins"], "ends of calls"), (["--start", "log:x"], "facts of the kernel's own"), (["--stop", "exec:x"], "threads"),
                           (["--min-duration", "1us"], "stacks"), (["--functions", "begins"], "stacks"), (["--comm", "x"], "threads")):
        trace.refuses(lacks, "top", *options)
        trace.refuses(lacks, "thin", "-o", os.path.join(WORK, "never.upto"), *options)
    assert not os.path.exists(os.path.join(WORK, "never.upto"))


def functions(text):
    return len({(line.split()[1], line.split()[-1]) for line in text.splitlines() if "section" in line})


def test_pieces():
    """Standard input that comes bit by bit, with a line end of its own."""
    text, trace = blocks(5, 20000).replace("\n", "\r\n"), os.path.join(WORK, "pieces.upto")
    p = subprocess.Popen([UPTO_ASAN, "import", "-f", "-", "-o", trace], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(0, len(text), 7777):
        p.stdin.write(text[i:i + 7777].encode())
        p.stdin.flush()
    assert p.communicate(timeout=60)[0].decode() == f"{trace}: 20.0 k blocks of {functions(text)} functions\n"
    got = {(f["function"], f["section"]): f["self_ns"] for f in json.loads(run(UPTO_ASAN, "top", "--json", trace).stdout)["functions"]}
    assert {k: v for k, v in got.items() if v} == sums(text.replace("\r", ""))
    os.unlink(trace)


def wrong(expected, text):
    """Refused in one line that names the line, and nothing is left; a trace that was there is still there."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        log, trace = os.path.join(folder, "x.log"), os.path.join(folder, "x.upto")
        with open(log, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        with open(trace, "w") as f:
            f.write("before")
        p = run(UPTO_ASAN, "import", "-f", log, "-o", trace, check=False)
        said = p.stderr.decode()
        assert p.returncode == 1 and not p.stdout and re.match(f"upto: {re.escape(log)}:{expected}", said) and said.count("\n") == 1, said
        assert sorted(os.listdir(folder)) == ["x.log", "x.upto"]
        with open(trace) as f:
            assert f.read() == "before"


def test_wrong_blocks():
    good = "1.5 a in section .text\n"
    place = "expected FUNCTION in section SECTION, FUNCTION \\+ OFFSET in section SECTION, or an address"
    for line, expected in (
            ("2.0", "'2.0': expected a time in microseconds, then where control was"), ("x a in section .text", "'x a .*': expected a time"),
            ("2. a in section .text", "'2. a .*': expected a time"), (".5 a in section .text", "'.5 a .*': expected a time"),
            ("-2.0 a in section .text", "'-2.0 .*': expected a time"), ("2.0.1 a in section .text", ".*: expected a time"),
            ("9223372036854775.9 a in section .text", ".*: expected a time"), ("99999999999999999999 a in section .text", ".*: expected a time"),
            ("2.0x a in section .text", ".*: expected a time"),
            ("1.499 a in section .text", "1.499 behind 1.500: expected lines in the order of time"), ("2.0 g", f"'g': {place}"),
            ("2.0 a in section", f"'a in section': {place}"), ("2.0 a in sections .text", f".*: {place}"),
            ("2.0 a b in section .text", f".*: {place}"), ("2.0 a - 4 in section .text", f".*: {place}"),
            ("2.0 12345678901234567", f".*: {place}"), ("2.0 7fff 7fff", f".*: {place}"),
            ("2.0 a + x in section .text", "'a .*': expected an offset in the function, a decimal number below 1048576"),
            ("2.0 a + 1048576 in section .text", ".*: expected an offset"), ("2.0 a + 0x4 in section .text", ".*: expected an offset"),
            ("2.0 a in section " + "s" * 32, ".*: expected a section's name of at most 31 bytes"),
            ("2.0 a\0b in section .text", ".*expected text, not a NUL byte"), ("2.0 " + "a" * 5000, ".*: expected a line of not more than 4096 bytes")):
        wrong(f"3: {expected}", good + "\n" + line + "\n" + good)
        wrong(f"3: {expected}", good + "\n" + line)
    wrong("1: .*: expected a time", "x in section .text\n")
    wrong("200001: 'g'", good * 200000 + "2.0 g\n")
    wrong("2: ", good + "z" * 20000000)


def test_wrong_logs():
    dashes = "--------\n"
    for text, expected in ((dashes + "1 1 1 a\n", "2: 4 columns: expected"), (dashes + "1 1 1 a b\nx 1 1 a b\n", "3: Entry 'x': expected a number"),
                           ("", "1: expected a line of dashes"), ("hello\nworld\n", "2: expected a line of dashes"), (dashes, " has no calls"),
                           (b"\x89upto\r\n\x1a" + bytes(20), " is a trace already"), (b"\xff\x00\n", "1: expected text, not a NUL byte")):
        wrong(expected, text)


def test_files():
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        p = run(UPTO_ASAN, "import", "/dev/null", check=False)
        assert p.returncode == 2 and b"-o is missing" in p.stderr
        p = run(UPTO_ASAN, "import", folder + "/none", "-o", folder + "/x", check=False)
        assert p.returncode == 1 and b"/none: No such file" in p.stderr
        p = run(UPTO_ASAN, "import", folder, "-o", folder + "/x", check=False)
        assert p.returncode == 1 and b": is a folder, and none that uftrace record wrote" in p.stderr and not os.listdir(folder), p
        with open(folder + "/log", "w") as f:
            f.write(EXAMPLE)
        p = run(UPTO_ASAN, "import", folder + "/log", "-o", folder + "/none/x", check=False)
        assert p.returncode == 1 and b"/none/x.part: No such file" in p.stderr
        p = run("sh", "-c", f"ulimit -f 0; trap '' XFSZ; exec {UPTO_ASAN} import {folder}/log -o {folder}/x", check=False)
        assert p.returncode == 1 and b"x: File too large" in p.stderr and os.listdir(folder) == ["log"], p


def test_evil_names():
    trace = Imported("1.0 a\x1b[31m in section \x1b]x\n2.0 \udcff in section .text\n3.0 b in section .text\n".encode("utf-8", "surrogateescape"))
    assert "\x1b" not in trace.ask("top") and "a\\x1b[31m" in trace.ask("top")
    assert len(trace.json("top")["functions"]) == 3
