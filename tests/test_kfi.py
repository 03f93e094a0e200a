# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs and configurations of KFI and KFT, and upto kd, addr2sym and sym2addr, which read them."""
import bz2
import gzip
import json
import lzma
import os
import random
import re
import select
import subprocess
import tempfile
import time

import pytest

import kd_reader
from guest import CHECK, UPTO, UPTO_ASAN, WORK, run
from kd_logs import FUNCTIONS, Machine, Style, made
from test_cli import fails

EXAMPLE = """
Kernel Instrumentation Run ID 0

Filters:
\t500 usecs minimum execution time

Filter Counters:

Execution time filter count = 896348
Total entries filtered = 896348
Entries not found = 24

Number of entries after filters = 1757

Logging started at 6785045 usec by entry to function 0xc000877c
Logging stopped at 8423650 usec by entry to function 0xc00240dc

 Entry      Delta       PID      Function    Caller
--------   --------   --------   --------   --------
      14       8687       0    c000ddd0   c000882c
"""
DASHES = "--------   --------   --------   --------   --------\n"


def upto(*args, text=None, **kw):
    """Its output; `text` is standard input, and LOG if there is none."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    log = ["-"] if data is not None and args[0] == "kd" else []
    p = subprocess.run([UPTO_ASAN, *map(str, args), *log], input=data, capture_output=True, timeout=60, **kw)
    assert p.returncode == 0 and not p.stderr, (args, p.stderr.decode()[:2000])
    return p.stdout.decode()


def wrong(pattern, text, *args):
    """A log or configuration that is refused, with its line."""
    with tempfile.NamedTemporaryFile(dir=WORK, suffix=".txt") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
        f.flush()
        told = fails(1, "", *(a if a != "FILE" else f.name for a in args))
        assert re.match(f"upto: {re.escape(f.name)}:{pattern}", told), told


def rows(*lines):
    return DASHES + "".join(line + "\n" for line in lines)


def example_sums():
    """A log that has the sums of the example: do_softirq calls __do_softirq, but for seven times."""
    lines, now = [], 0

    def spread(total, n):
        return [total // n + (i < total % n) for i in range(n)]

    inner = spread(3790472, 2863) + [None] * 7
    for took, outer in zip(inner, spread(14035, 2870)):
        lines.append(f"{now} {(took or 0) + outer} 5 do_softirq irq_exit+0x40")
        if took is not None:
            lines.append(f"{now} {took} 5 __do_softirq do_softirq+0x6c")
        now += (took or 0) + outer + 1
    for took in spread(7898788, 3252):
        lines.append(f"{now} {took} 5 timer_interrupt ret_from_except")
        now += took + 1
    return rows(*lines)


def test_example_of_functions():
    want = """\
Function                            Count Time     Average  Local
----------------------------------- ----- -------- -------- --------
timer_interrupt                      3252  7898788     2428  7898788
do_softirq                           2870  3804507     1325    14035
__do_softirq                         2863  3790472     1323  3790472
"""
    assert upto("kd", "-n", "3", text=example_sums()) == want
    assert upto("kd", "-n", "3", "--as-kd", text=example_sums()) == want
    lines = want.splitlines(keepends=True)
    assert upto("kd", "-n", "1", text=example_sums()) == "".join(lines[:3])
    assert upto("kd", "-t", "3790472", text=example_sums()) == "".join(lines[:4])
    assert upto("kd", "-s", "F", text=example_sums()) == "".join(lines[:2] + [lines[4], lines[3], lines[2]])
    assert upto("kd", "-f", "lcF", "-n1", text=example_sums()) == """\
Local    Count Function
-------- ----- -----------------------------------
 7898788  3252 timer_interrupt
"""


TRACE = rows("4 20428 33 do_fork system_call", "7 6 33 alloc_pidmap do_fork+0x20", "18 2643 33 copy_process do_fork+0x44",
             "30 200 33 dup_mm copy_process+0x4", "253 151 33 timer_interrupt ret_from_except",
             "256 8 -1 profile_tick timer_interrupt+0x10",
             "257 2 -1 profile_hook profile_tick+0x8", "270 80 -1 do_timer timer_interrupt+0x20", "410 2208 33 copy_files copy_process+0x8",
             "2700 17570 33 wait_for_it do_fork+0x80")


def test_example_of_calls():
    want = """\
 Entry      Duration   Local       Pid    Trace
---------- ---------- ---------- ------- ---------------------------------
         4      20428        209      33 do_fork
         7          6          6      33 |  alloc_pidmap
        18       2643         84      33 |  copy_process
        30        200        200      33 |  |  dup_mm
----------- !!!! start --------------
       253        151         63      33 timer_interrupt
       256          8          6      -1 !  profile_tick
       257          2          2      -1 !  !  profile_hook
       270         80         80      -1 !  do_timer
----------- !!!! end ----------------
       410       2208       2208      33 |  |  copy_files
      2700      17570      17570      33 |  wait_for_it
"""
    assert upto("kd", "-c", "-l", "-i", text=TRACE) == want
    plain = "".join(line.replace("!", "|") for line in want.splitlines(keepends=True) if not line.startswith("----------- !"))
    assert upto("kd", "-c", "-l", text=TRACE) == plain == upto("kd", "-c", "-f", "etlp", "-r", text=TRACE)
    shallow = [line for line in plain.splitlines(keepends=True) if "|  |" not in line]
    assert upto("kd", "-c", "-l", "-d", "2", text=TRACE) == "".join(shallow)
    assert upto("kd", "-c", "-f", "p", "-d1", "-m", "4", text=TRACE) == \
        "  Pid    Trace\n------- ---------------------------------\n     33 do_f\n     33 time\n"
    # as kd has it, who cut in was local time of copy_process
    assert "        18       2643        235      33 |  copy_process\n" in upto("kd", "-c", "-l", "--as-kd", text=TRACE)


def test_signs():
    """Eighteen of them, then from the first again."""
    text = rows("0 1000 1 outer x", *(f"{i + 1} 1 -1 irq{i} y" for i in range(20)))
    starts = re.findall(r"^-{11} (\S+) start -{14}$", upto("kd", "-c", "-i", text=text), re.M)
    signs = "|!@[#;($/{%]*)&:\\}"
    assert starts == [4 * (signs * 2)[i + 1] for i in range(20)], starts


LETTERS = ["Fctal", "Fctalsmn", "Fctarslmnu", "u", "nlF"]


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.long) for i in range(1, 4))])
def test_made_logs(part):
    """Functions and calls of logs of all kinds, against a second reader."""
    compared = 0
    for seed in range(part * 40, part * 40 + 40):
        rng, text = random.Random(seed), made(seed)
        log = kd_reader.Log(text)
        if not log.rows:
            continue
        letters, sort = rng.choice(LETTERS), rng.choice("Fctasl")
        for as_kd, sums in ((), kd_reader.sums_right(log)), (("--as-kd",), kd_reader.sums_as_kd(log)):
            got = upto("kd", "-f", letters, "-s", sort, *as_kd, text=text)
            assert got == kd_reader.table(sums, letters, sort), (seed, as_kd)
            letters = "Fctarslmnu"
        for options, kw in ((), {}), (("-l",), {"letters": "etlp"}), (("-c", "-l", "-i"), {"letters": "etlp", "interlaced": True}), \
                (("-f", "lp", "--as-kd", "-d", "3", "-m", "5"), {"letters": "lp", "as_kd": True, "depth": 3, "length": 5}):
            assert upto("kd", "-c", *options, text=text) == kd_reader.trace(log, **kw), (seed, options)
        compared += 1
    assert compared > 25, compared
    return f"{compared} logs"


def odd_log(seed):
    """Few functions, threads and moments, so that all that can come together does: ends, entries, overlaps, recursion, missing exits."""
    rng = random.Random(seed)
    span, names = rng.choice((3, 10, 60)), "abcdef"[:rng.choice((2, 4, 6))]
    lines = []
    for _ in range(rng.choice((3, 8, 30))):
        delta, pid = rng.choice(("-1", "0", "0", *range(span))), rng.choice(("1", "1", "2", "-1", "1i", "2i"))
        lines.append(f"{rng.randrange(span)} {delta} {pid} {rng.choice([*names, 'c0008000'])} {rng.choice([*names, 'x', 'y', 'c0008004'])}")
    if rng.random() < 0.7:
        lines.sort(key=lambda line: int(line.split()[0]))
    return rng.choice(("", "\t5 usecs maximum execution time\n")) + rows(*lines)


@pytest.mark.parametrize("seeds", [50, pytest.param(150, marks=pytest.mark.long)])
def test_odd_logs(seeds):
    for seed in range(seeds):
        text = odd_log(seed)
        log = kd_reader.Log(text)
        assert upto("kd", "-f", "Fctarslmnu", text=text) == kd_reader.table(kd_reader.sums_right(log), "Fctarslmnu"), text
        assert upto("kd", "-f", "Fctarslmnu", "--as-kd", text=text) == kd_reader.table(kd_reader.sums_as_kd(log), "Fctarslmnu"), text
        assert upto("kd", "-c", "-l", "-i", text=text) == kd_reader.trace(log, "etlp", interlaced=True), text
        assert upto("kd", "-c", "-l", "--as-kd", text=text) == kd_reader.trace(log, "etlp", as_kd=True), text


def test_stream():
    """-r prints the same of a log in the order of time whose callers are known by name."""
    for seed in range(200, 240):
        text = made(seed)
        if "c0008" in text or "ffff8000" in text or seed % 7 == 0:
            continue
        for options in (), ("-l", "-i"):
            log = upto("kd", "-c", *options, text=text) if kd_reader.Log(text).rows else None
            assert not log or upto("kd", "-c", "-r", *options, text=text) == log, seed
    p = run(UPTO_ASAN, "kd", "-c", "-r", make("order", rows("5 1 1 a b", "4 1 1 a b")), check=False)
    assert p.returncode == 1 and p.stdout.endswith(b" 5          1 a\n"), p
    assert p.stderr.decode().endswith(":3: Entry 4 behind 5: expected rows in the order of time; without -r they are sorted\n"), p


def make(name, text):
    """A file of this process of the tests: others run at the same time."""
    path = os.path.join(WORK, f"kfi-{os.getpid()}", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def test_stream_waits_for_nothing():
    """A row is printed before the next one is written; with local times, when its call has ended."""
    p = subprocess.Popen([UPTO, "kd", "-c", "-r", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdin.write(rows("5 1 1 first b").encode())
    p.stdin.flush()
    out, end = b"", time.monotonic() + 30
    while b"first" not in out:
        assert time.monotonic() < end, out
        if select.select([p.stdout], [], [], 1)[0]:
            out += os.read(p.stdout.fileno(), 65536)
    p.stdin.close()
    assert p.wait() == 0
    p.stdout.close()


def test_kd_was_right():
    """Where nothing cuts in and nothing is missing, both ways agree."""
    for seed in range(30):
        rng = random.Random(seed)
        text = Style(rng).log(Machine(rng, interrupts=False, switches=False).rows)
        if not kd_reader.Log(text).addresses:
            assert upto("kd", "-f", "Fctarslmnu", text=text) == upto("kd", "-f", "Fctarslmnu", "--as-kd", text=text), seed
            assert upto("kd", "-c", "-l", text=text) == upto("kd", "-c", "-l", "--as-kd", text=text), seed


def test_truth():
    """Local times are what the machine really ran in each function, whoever cut in."""
    for seed in range(40):
        rng = random.Random(seed)
        machine = Machine(rng, threads=4)
        text = Style(rng).log(machine.rows)
        got = json.loads(upto("kd", "-c", "--json", "-d", "1000", text=text))["calls"]
        assert [(r.entry, r.delta, r.local) for r in machine.rows] == \
            [(c["start_ns"] // 1000, c["duration_ns"] // 1000, c["local_ns"] // 1000) for c in got], seed


def test_never_negative():
    """kd's fault: local times below 0, when the time in which other threads ran is a callee's."""
    text = rows("0 50 1 a x", "10 20 2 b a+0x4", "12 90 2 b a+0x8")
    assert "-60" in upto("kd", "--as-kd", text=text)
    for seed in range(400, 440):
        if kd_reader.Log(made(seed)).rows:
            for f in json.loads(upto("kd", "--json", text=made(seed)))["functions"]:
                assert 0 <= f["local_ns"] and f["local_ns"] + f["sub_ns"] <= f["total_ns"], (seed, f)


def header(text):
    return json.loads(upto("kd", "--json", text=text))["run"]


def test_header():
    want = {"id": 0, "start": {"ns": 6785045000, "by": "entry", "function": "0xc000877c"},
            "stop": {"ns": 8423650000, "by": "entry", "function": "0xc00240dc"}, "filters": {"mintime": 500},
            "counters": {"time": 896348, "filtered": 896348, "not_found": 24, "left": 1757}}
    assert header(EXAMPLE) == header(EXAMPLE.replace("\n", "\r\n")) == want
    lines = EXAMPLE.split("\n")
    moments = [line for line in lines if line.startswith("Logging")]
    assert header("\n".join(lines[:2] + moments + [line for line in lines[2:] if line not in moments])) == want
    assert header("Kernel Function Trace Run ID 7\n" + rows("1 1 1 a b"))["id"] == 7
    assert header(rows("1 1 1 a b")) == {"id": None, "start": None, "stop": None, "filters": {}, "counters": {}}
    for by, told in (("exit from function foo", {"by": "exit", "function": "foo"}),
                     ("time at 17 usec from boot", {"by": "time from boot", "usecs": 17}),
                     ("time at 9 usec from start trigger", {"by": "time from start", "usecs": 9}), ("system call", {"by": "system call"}),
                     ("log full", {"by": "log full"})):
        assert header(f"Logging stopped at 3 usec by {by}\n" + rows("1 1 1 a b"))["stop"] == {"ns": 3000, **told}
    filters = "\t5 usecs minimum execution time\n 7 usecs maximum execution time\nno functions in interrupt context\n" \
        "no functions NOT in interrupt context\n12-entry function list\n"
    assert header(filters + rows("1 1 1 a b"))["filters"] == {"mintime": 5, "maxtime": 7, "funclist": 12, "noints": 0, "onlyints": 0}
    counters = "No Interrupt functions filter count = 1\nOnly Interrupt functions filter count = 2\nFunction List filter count = 3\n"
    assert header(counters + rows("1 1 1 a b"))["counters"] == {"noints": 1, "onlyints": 2, "funclist": 3}


def calls(*lines):
    return json.loads(upto("kd", "-c", "--json", text=rows(*lines)))["calls"]


def test_rows():
    """Every form that a row can have."""
    plain = calls("14 8687 0 ddd c000882c")[0]
    assert plain == {"start_ns": 14000, "duration_ns": 8687000, "local_ns": 8687000, "pid": 0, "interrupt": False, "depth": 0, "tree": 0,
                     "cuts_in": False, "function": "ddd", "caller": "c000882c", "caller_offset": 0}
    for line, what in (("14 -1 0 a b", {"duration_ns": None, "local_ns": None}), ("14 -2 0 a b", {"duration_ns": None}),
                       ("14 no exit 0 a b", {"duration_ns": None}),
                       ("14 0 0 a b", {"duration_ns": 0, "local_ns": 0}), ("14 1 -1 a b", {"pid": -1, "interrupt": True}),
                       ("14 1 12i a b", {"pid": 12, "interrupt": True}), ("14 1 0 a b+0x1f4", {"caller": "b", "caller_offset": 500}),
                       ("\t14\t1  0\ta   0xc000882c   c7f0 0x1 0x2 0x3\r", {"caller": "0xc000882c"}),
                       ("014 01 00 .a .b", {"function": ".a", "start_ns": 14000})):
        got = calls(line)[0]
        assert {k: got[k] for k in what} == what, (line, got)
    assert [c["function"] for c in calls("9 1 0 a b", "", "5 1 0 c b", "   ", "9 1 0 d b")] == ["c", "a", "d"]


def test_wrong_logs():
    """One line each: the file, the line, what was expected."""
    for line, pattern in (
            ("x 1 1 a b", "Entry 'x': expected a number of microseconds"), ("-1 1 1 a b", "Entry '-1'"),
            ("99999999999999999999 1 1 a b", "Entry '9999"),
            ("1 -3 1 a b", "Delta '-3': expected .*, -1, -2 or 'no exit'"), ("1 no 1 a b", "Delta 'no'"), ("1 0x5 1 a b", "Delta '0x5'"),
            ("1 9223372036854775 1 a b", "Delta .*292 years"), ("1 18446744073709551615 1 a b", "Delta"),
            ("1 1 -2 a b", "PID '-2': expected"), ("1 1 i a b", "PID 'i'"), ("1 1 2147483648 a b", "PID"), ("1 1 1j a b", "PID"),
            ("1 1 1 a", "4 columns: expected Entry, Delta, PID, Function and Caller"), ("1 no exit 1 a", "4 columns"), ("1", "1 columns"),
            ("no exit", "2 columns"),
            ("1 1 1 a b+", r"Caller 'b\+': expected"), ("1 1 1 a +0x4", "Caller"), ("1 1 1 a b+4", "Caller"), ("1 1 1 a b+0xg", "Caller"),
            ("1 1 1 a b+0x" + "1" * 17, "Caller"), ("1 1 1 a b\0", "expected text, not a NUL byte"),
            ("1 1 1 " + "a" * 5000 + " b", "expected a line of not more than 4096 bytes"),
            ("1 1 1 " + "a" * 1000000 + " b", "expected a line of"), ("1 1 1 a\x1b[31m b+", r"Caller"),
            ("Kernel Instrumentation Run ID 0", "Entry 'Kernel'")):
        for more in [], ["-c"], ["--as-kd"]:
            wrong(f"3: .*{pattern}", rows("1 1 1 a b", line, "2 1 1 a b"), "kd", *more, "FILE")
        wrong(f"2: .*{pattern}", rows(line, "2 1 1 a b"), "kd", "-c", "-r", "FILE")
    for line, pattern in (("Kernel Instrumentation Run ID x", "Run ID 'x': expected a number"),
                          ("-5 usecs minimum execution time", ".*'-5': expected a number"),
                          ("Entries not found = many", ".*'many': expected a number"), ("x-entry function list", ".*'x'"),
                          ("Logging started at x usec by log full", "expected 'at N usec by'"),
                          ("Logging stopped at 5 usec", "expected 'at N"),
                          ("Logging stopped at 5 usec by magic", "by 'magic': expected entry to function F"),
                          ("Logging started at 5 usec by time at x usec from boot", ".*'x': expected a number"),
                          ("Logging started at 5 usec by entry to function", "by 'entry'"), ("x" * 5000, "expected a line of")):
        wrong(f"2: {pattern}", "\n" + line + "\n" + rows("1 1 1 a b"), "kd", "FILE")
    wrong("1: expected a line of dashes and rows", "", "kd", "FILE")
    wrong("2: expected a line of dashes and rows", "hello\nworld", "kd", "FILE")
    wrong("1: expected a line of dashes", "hello", "kd", "-c", "-r", "FILE")


def test_many_wrong_sums():
    """Durations that together are more than fits."""
    half = (2 ** 63 - 1) // 1000 // 2
    assert calls(f"0 {half} 1 a b", f"0 {half} 1 a b")
    wrong("4: Delta .*292 years", rows(f"0 {half} 1 a b", f"0 {half} 1 a b", "0 5 1 a b"), "kd", "FILE")


def test_lines_and_letters():
    log = make("options.lst", TRACE)
    for pattern, *args in ((r"-f 'Fx': not the letters of columns, each once: Fctarslmnu", "-f", "Fx"), (r"-f 'FF'", "-f", "FF"),
                           (r"-f ''", "-f", ""),
                           (r"-f 'F': .*: etlp", "-c", "-f", "F"), (r"-s 'm': not one of the letters Fctasl", "-s", "m"),
                           (r"-s 'tt'", "-s", "tt"),
                           (r"--depth: goes only with -c", "-d", "3"), (r"--lines: goes only without -c", "-c", "-n", "3"),
                           (r"--depth 0", "-c", "-d", "0"),
                           (r"--depth 1001", "-c", "-d", "1001"), (r"--lines x", "-n", "x"), (r"--min-time 1ms", "-t", "1ms"),
                           (r"--name-length 0", "-c", "-m0")):
        fails(2, pattern, "kd", *args, log)
    fails(1, "no-such.lst: No such file", "kd", "no-such.lst")
    p = run(UPTO_ASAN, "kd", make("empty.lst", DASHES))
    assert p.stderr.decode().endswith("/empty.lst: has no calls\n") and p.stdout.count(b"\n") == 2
    assert json.loads(run(UPTO_ASAN, "kd", "--json", "-c", make("empty.lst", DASHES)).stdout)["calls"] == []


def test_options_together():
    """Letters in one word, as getopt has them."""
    log = make("options.lst", TRACE)
    for words, same in (["-lci"], ["-l", "-c", "-i"]), (["-lcd2"], ["-l", "-c", "-d", "2"]), (["-lcd", "2"], ["-l", "-c", "-d", "2"]), (["-ln", "3"], ["-l", "-n3"]):
        assert upto("kd", *words, log) == upto("kd", *same, log)
    fails(2, r"--lines: goes only without -c", "kd", "-lcn", "3", log)
    fails(2, r"unknown option '-x'", "kd", "-lcx", log)
    fails(2, r"a value is missing after '-ln'", "kd", log, "-ln")


def test_packed():
    """A file that was packed is called so, and how to read it."""
    for pack, tool in (gzip.compress, "zcat"), (lzma.compress, "xzcat"), (bz2.compress, "bzcat"):
        log = make("packed.lst.x", TRACE)
        with open(log, "wb") as f:
            f.write(pack(TRACE.encode() * 100))
        for args in ["kd"], ["kd", "-c", "-r"], ["import", "-o", log + ".upto"]:
            fails(1, f"packed.lst.x: is compressed: unpack it, or read it from a pipe: {tool} .*packed.lst.x [|] upto … -", *args, log)


def test_caller_before_functions():
    """An address before all functions of a log is in none of them."""
    text = DASHES + "14 8687 0 0xc000ddd0 0xc000882c\n20 -1 0 0xc000ddd4 0xc000882c\n9000 500 0 0xc000ddf0 0xc000882c\n9100 50 0 0xc000ddf8 0xc000ddf4\n"
    sums = {f["function"]: f for f in json.loads(upto("kd", "--json", text=text))["functions"]}
    assert [(c["function"], c["depth"]) for c in json.loads(upto("kd", "-c", "--json", text=text))["calls"]] == [
        ("0xc000ddd0", 0), ("0xc000ddd4", 0), ("0xc000ddf0", 0), ("0xc000ddf8", 1)]
    assert not sums["0xc000ddd4"]["subs"] and [s["function"] for s in sums["0xc000ddf0"]["subs"]] == ["0xc000ddf8"]


def test_keys():
    text = run(UPTO, "kd", "--help").stdout.decode()
    explained = {k for line in re.findall(r"^  (\S.*?)  ", text[text.index("\njson"):], re.M) for k in line.split(", ")}
    functions, rows_ = json.loads(upto("kd", "--json", text=TRACE)), json.loads(upto("kd", "-c", "--json", text=TRACE))
    assert {*functions, *rows_, *functions["functions"][0], *rows_["calls"][0]} <= explained


def test_evil_names():
    text = rows("1 1 1 a\x1b[31m\u202e b", "2 1 1 \udcff b")
    for options in [], ["-c"], ["-c", "-r"], ["-f", "Fu"]:
        got = upto("kd", *options, text=text)
        assert "\x1b" not in got and "a\\x1b[31m" in got and "\\xff" in got, got
    assert json.loads(upto("kd", "--json", text=text))["functions"][0]["function"]


MAP = """\
c0008000 T _stext
c0008000 T stext
c000877c T start_kernel
c0008800 t $a
c0008800 t .init_it
c000ddd0 D do_fork
c000ddd0 t .do_fork
c00240dc T to_userspace
c0030000 T last
c0100000 A _end
"""


def resolved(text, *, map_text=MAP, log=False):
    args = ["addr2sym", "-m", make("System.map", map_text)]
    if log:
        return upto(*args, make("raw.log", text))
    return upto(*args, text=text)


def test_addr2sym():
    """A log as it comes: columns stay, what the map does not have stays, the rest of the numbers too."""
    want = EXAMPLE.replace("0xc000877c", "start_kernel").replace("0xc00240dc", "to_userspace") \
        .replace("c000ddd0   c000882c", "do_fork    init_it+0x2c")
    assert resolved(EXAMPLE) == want == resolved(EXAMPLE, log=True)
    assert resolved(EXAMPLE.replace("0xc", "c")) == want
    assert resolved(EXAMPLE.replace("\n", "\r\n")) == want.replace("\n", "\r\n")
    # what kd then prints
    assert "do_fork" in upto("kd", text=want)
    for line, told in (
            # 12345678 is no address here
            ("12345678 12345678 12345678 c000ddd0 c00240e0", "12345678 12345678 12345678 do_fork  to_userspace+0x4"),
            ("1 no exit 12i  0xc0008000   0xc0008004   0xc0008000 0x1", "1 no exit 12i  _stext       _stext+0x4   0xc0008000 0x1"),
            ("1 1 1 0xc0007fff 0xc0100000", "1 1 1 0xc0007fff 0xc0100000"), ("1 1 1 ffffffff c00fffff", "1 1 1 ffffffff last+0xcffff"),
            ("1 1 1 already c0008000 c0008000", "1 1 1 already _stext   c0008000"),
            ("1 1 1 C0030000  c0030000    x  y", "1 1 1 last      last        x  y"),
            ("1 1 1 c0008890   c0008890    x     y", "1 1 1 init_it+0x90 init_it+0x90 x  y")):
        assert resolved(DASHES + line + "\n") == DASHES + told + "\n", line
    # no log: the first two numbers of a line, as they stand there
    for line, told in (("at 0xc000ddd4, then 0xc000ddd0 and 0xc000ddd0", "at do_fork+0x4, then do_fork   and 0xc000ddd0"),
                       ("[<0xc000ddd0>] x0xc000ddd0 0xc000ddd0z 0x 0xg 0x1 0xc000ddd0",
                        "[<do_fork>] x0xc000ddd0 0xc000ddd0z 0x 0xg 0x1 0xc000ddd0"),
                       ("c000ddd0 c000ddd0", "c000ddd0 c000ddd0"), ("", ""),
                       ("0x00000000000000000c000ddd0", "0x00000000000000000c000ddd0")):
        assert resolved(line + "\n") == told + "\n" and resolved(line) == told, line
    # all bytes go through
    raw = bytes(range(256)) * 3 + b"\n" + b"x" * 1000000
    p = subprocess.run([UPTO_ASAN, "addr2sym", "-m", make("System.map", MAP)], input=raw, capture_output=True)
    assert p.stdout == raw and p.returncode == 0
    # the last symbol of a map without _end has an end, too
    short = MAP.replace("c0100000 A _end\n", "")
    assert resolved(DASHES + "1 1 1 c003ffff c0040000\n", map_text=short) == DASHES + "1 1 1 last+0xffff c0040000\n"


def test_resolved_is_the_same():
    """A log says the same by names as by addresses, if all its callers are in it."""
    for seed in range(500, 520):
        rng = random.Random(seed)
        style = Style(rng)
        style.resolved, style.bits = False, 32
        text = style.log(Machine(rng).rows)
        symbols = "".join(f"{0xc0008000 + i * 0x400:08x} T {f}\n" for i, f in enumerate(FUNCTIONS)) + "c0100000 A _end\n"
        names = resolved(text, map_text="bff08000 T system_call\nbff08100 T ret_from_intr\n" + symbols)
        raw = json.loads(upto("kd", "--json", "-s", "F", text=text))["functions"]
        named = {f["function"]: f for f in json.loads(upto("kd", "--json", text=names))["functions"]}
        for f in raw:
            other = named[FUNCTIONS[(int(f["function"], 16) - 0xc0008000) // 0x400]]
            assert all(f[k] == other[k] for k in f if k.endswith(("ns", "count", "exit"))), (seed, f, other)


def test_addr2sym_refuses():
    fails(2, r"--map is missing", "addr2sym")
    fails(1, r"no-such-map: No such file", "addr2sym", "-m", "no-such-map")
    fails(1, r"no-such-log: No such file", "addr2sym", "-m", make("System.map", MAP), "no-such-log")
    fails(1, r"bad.map: line 2: not \"address type name\"", "addr2sym", "-m", make("bad.map", "c0008000 T a\nhello\n"))
    fails(1, r"bad.map: has no symbols", "addr2sym", "-m", make("bad.map", ""))


CONF = """\
# what fork does
new
begin
    trigger start entry start_kernel   # and so on
    trigger stop exit to_userspace
    filter mintime 500
    filter maxtime 0
    filter noints
    filter funclist do_fork 0xc0001234
       .init_it last fend
    watch stack 1024
    watch worst-stack 512
    logentries 2000
    autorepeat
end
begin
\ttrigger start time 1000000 trigger stop time 5
\tfilter onlyints filter maxtime 7 overwrite untimed
end
"""


def sym2addr(text, map_text=MAP):
    return upto("sym2addr", make("conf", text), make("System.map", map_text))


def test_sym2addr():
    want = CONF.replace("entry start_kernel", "entry 0xc000877c").replace("exit to_userspace", "exit 0xc00240dc") \
        .replace("funclist do_fork", "funclist 0xc000ddd0").replace(".init_it last", "0xc0008800 0xc0030000")
    assert sym2addr(CONF) == want == sym2addr(want)
    for text in (CONF.replace("\n", "\r\n"), CONF.rstrip("\n"), CONF.replace("new\n", ""), "begin end", "\n\nnew begin end # and"):
        assert sym2addr(text) == text.replace("entry start_kernel", "entry 0xc000877c").replace("exit to_userspace", "exit 0xc00240dc") \
            .replace("funclist do_fork", "funclist 0xc000ddd0").replace(".init_it last", "0xc0008800 0xc0030000"), text
    # stop before start; a list between them
    text = "begin trigger stop entry {} filter funclist {} fend trigger start exit {} end"
    assert sym2addr(text.format("last", "do_fork", "stext")) == text.format("0xc0030000", "0xc000ddd0", "0xc0008000")
    # an entry's word ends a list only where a line begins with it
    assert sym2addr("begin\nfilter funclist last filter\nfilter noints\nend", MAP + "c0200000 T filter\n") == \
        "begin\nfilter funclist 0xc0030000 0xc0200000\nfilter noints\nend"
    assert sym2addr("begin\nfilter funclist last\nend\n") == "begin\nfilter funclist 0xc0030000\nend\n"


def test_wrong_configurations():
    """One line each: the file, the line, what was expected. Nothing is printed."""
    system_map = make("System.map", MAP)
    for text, pattern in (
            ("", "1: expected begin before the end of the file"), ("# nothing\n", "2: expected begin"), ("new\n", "2: expected begin"),
            ("hello", "1: 'hello': expected begin"),
            ("begin\n\nhello\nend", "3: 'hello': expected trigger, filter, watch, logentries, autorepeat, overwrite, untimed or end"),
            ("begin\nautorepeat\n", "3: expected end before the end"), ("begin\nend\nend", "3: 'end': expected begin"),
            ("begin\nbegin\nend", "2: 'begin'"),
            ("begin\ntrigger now\nend", "2: 'now': expected start or stop"),
            ("begin\ntrigger start now x\nend", "2: 'now': expected entry, exit or time"),
            ("begin\ntrigger start time x\nend", "2: 'x': expected a number of microseconds"),
            ("begin\ntrigger start time -1\nend", "2: '-1'"),
            ("begin\ntrigger start entry", "2: expected a function before the end"),
            ("begin\ntrigger start entry 12\nend", "2: '12': expected a function's name, or"),
            ("begin\ntrigger start entry 0x\nend", "2: '0x'"),
            ("begin\ntrigger start entry last\ntrigger start entry last\nend", "3: 'start' is given twice"),
            ("begin\nfilter\nend", "3: 'end': expected mintime, maxtime, noints, onlyints or funclist"),
            ("begin\nfilter mintime\nend", "3: 'end': expected a number"),
            ("begin\nfilter mintime 99999999999999999999\nend", "2: '9999"),
            ("begin\nfilter mintime 9 filter maxtime 8\nend", "2: '8': expected a maxtime that is not below"),
            ("begin\nfilter mintime 9 filter mintime 9\nend", "2: 'mintime' is given twice"),
            ("begin\nfilter noints\nfilter onlyints\nend", "3: 'onlyints': expected only one"),
            ("begin\nfilter noints\nfilter noints\nend", "3: 'noints' is given twice"),
            ("begin\nfilter funclist fend\nend", "2: 'fend': expected functions, then fend"),
            ("begin\nfilter funclist\nend", "3: 'end': expected functions"), ("begin\nfilter funclist last\n", "3: expected end"),
            ("begin\nfilter funclist last fend filter funclist last fend\nend", "2: 'funclist' is given twice"),
            ("begin\nwatch heap 5\nend", "2: 'heap': expected stack or worst-stack"),
            ("begin\nwatch stack 0\nend", "2: '0': expected a number of bytes above 0"),
            ("begin\nwatch stack 1 watch stack 2\nend", "2: 'stack' is given twice"),
            ("begin\nlogentries 0\nend", "2: '0': expected a number above 0"),
            ("begin\nlogentries 5\nlogentries 6\nend", "3: 'logentries' is given twice"),
            ("begin\nautorepeat\nautorepeat\nend", "3: 'autorepeat' is given twice"),
            ("begin\noverwrite\nuntimed overwrite\nend", "3: 'overwrite' is given twice"),
            ("begin\ntrigger start entry nosuch\nend", "2: nosuch: expected a function that the map has"),
            ("begin\nfilter funclist last\n\n nosuch\nend", "4: nosuch: expected"), ("begin\ntrigger start entry a\0b\nend", "2: "),
            ("begin\n" + "x" * 1000000, "2: 'x+': expected trigger"),
            ("begin\ntrigger stop entry " + "x" * 1000000 + "\nend", "2: 'x+': expected a function's name")):
        wrong(pattern, text, "sym2addr", "FILE", system_map)


def test_configurations():
    """All that a configuration says, run by run."""
    p = run(os.path.join(CHECK, "tests/kfi_config"), make("conf", CONF))
    assert p.stdout.decode() == """\
run 3: start entry start_kernel, stop exit to_userspace, min 500, max 0, noints 1, onlyints 0, stack 1024, worst 512, entries 2000, \
autorepeat 1, overwrite 0, untimed 0, functions do_fork 0xc0001234 .init_it last
run 16: start time 1000000, stop time 5, min 0, max 7, noints 0, onlyints 1, stack 0, worst 0, entries 20000, \
autorepeat 0, overwrite 1, untimed 1, functions
"""


def test_old_names():
    """Links of these names take arguments as the programs did that they are called after."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        for name in "kd", "addr2sym", "sym2addr":
            os.symlink(UPTO_ASAN, f"{folder}/{name}")

        def sh(command):
            p = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60)
            assert p.returncode == 0 and not p.stderr, (command, p)
            return p.stdout

        for name, text in (("System.map", MAP), ("log", EXAMPLE), ("kficonf", CONF), ("x.lst", TRACE)):
            with open(f"{folder}/{name}", "w") as f:
                f.write(text)
        sh("./addr2sym < log -m System.map > lst")
        with open(f"{folder}/lst") as f:
            assert f.read() == resolved(EXAMPLE)
        assert sh("./kd -n 3 x.lst") == upto("kd", "-n", "3", text=TRACE)
        assert sh("./kd x.lst | grep 'o_fork[^a-z_]'").startswith("do_fork ")
        assert sh("PATH=.:$PATH; sym2addr kficonf System.map > kficonf.addr; cat kficonf.addr") == sym2addr(CONF)
        assert sh("./kd --help").startswith("usage: upto kd ")
        # links of other names are upto itself
        os.symlink(UPTO_ASAN, f"{folder}/kdx")
        assert sh("./kdx kd -n 3 x.lst") == sh("./kd -n 3 x.lst")


def test_links_are_installed():
    """In a folder of their own, out of the way of others' programs of these names."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        run("meson", "install", "-C", CHECK, "--no-rebuild", "--destdir", folder)
        found = [os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if d.endswith("/upto/kfi") or f in ("kd", "addr2sym", "sym2addr")]
        assert sorted(map(os.path.basename, found)) == ["addr2sym", "kd", "sym2addr"] and len({*map(os.path.dirname, found)}) == 1, found
        for link in found:
            assert os.path.isfile(folder + os.readlink(link)), link
