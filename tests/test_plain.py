# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain answers: what was nearly right is understood or corrected, and nothing is left out or made up in silence."""
import json
import os
import re
import subprocess
import unicodedata

import pytest

from guest import UPTO, UPTO_ASAN, WORK, Once, is_older, run, upto_json, with_keys
from test_cli import COMMANDS, answer, fails, keeps_others, rows, tiny, trace
from test_sources import multiboot, other_args


def said(*args, upto=UPTO):
    """What it prints on stdout, when all goes well and without a word on stderr."""
    p = run(upto, *args)
    assert not p.stderr, p.stderr
    return p.stdout.decode()


def test_commands_are_guessed():
    """A command that does not exist: the one that is meant, or what to do."""
    for word, meant in (("sys", "syscalls"), ("syscall", "syscalls"), ("tpo", "top"), ("Top", "top"), ("call", "calls"),
                        ("inof", "info"), ("rec", "record"), ("stacks", "stack"), ("symbol", "symbols")):
        fails(2, rf"^upto: '{word}' is no command; did you mean {meant}\?$", word, tiny())
    fails(2, r"'xyzzy' is no command; see 'upto --help'", "xyzzy", tiny())
    fails(2, r"is no command, but a file: upto top .*cli-tiny.upto", tiny(), "top")
    fails(2, r"is no command, but a file; see", tiny(), "xyzzy")
    fails(2, r"'e\\x1b\[31mvil' is no command", "e\x1b[31mvil")
    assert said(tiny()) == said("info", tiny()) and said(tiny(), "--json") == said("info", "--json", tiny())
    for command in COMMANDS:
        assert said("help", command) == said(command, "--help")
    fails(2, r"'tpo' is no command; did you mean top\?", "help", "tpo")
    assert said("-V") == said("--version")


def test_options_are_guessed():
    fails(2, r"'--line'; did you mean --lines\?", "top", "--line", "3", tiny())
    fails(2, r"'--jso'; did you mean --json\?", "info", "--jso", tiny())
    fails(2, r"'--xyzzy'; see 'upto top --help'", "top", "--xyzzy", tiny())


def test_options_given_twice():
    """Lists grow; of what is one value, the second is not taken in silence for the first."""
    part = ["--from", "1s", "--to", "1100ms", "-n", "3"]
    assert rows("top", *part, "-o", "calls", "-o", "function") == rows("top", *part, "-o", "calls,function")
    assert said("dump", "-k", "interrupt", "-k", "syscall", "-n", "5", trace()) == \
        said("dump", "-k", "interrupt,syscall", "-n", "5", trace())
    fails(2, r"top: --lines is given twice: 3 and 4", "top", "-n", "3", "--lines=4", tiny())
    fails(2, r"--from is given twice: 1s and 2s", "top", "--from", "1s", "--from", "2s", tiny())
    assert rows("top", *part, "-n3") == rows("top", *part)


def test_columns_by_title():
    """A column is called what stands above it, too, and how one writes it does not matter."""
    part = ["--from", "1s", "--to", "1100ms", "-n", "3"]
    want = rows("top", *part, "-o", "function,self_insns", "-s", "calls")
    for columns in "FUNCTION,SELF INSNS", "function,self insns", "Function,self-insns", "FUNCTION,SELF_INSNS":
        assert rows("top", *part, "-o", columns, "-s", "CALLS") == want, columns
    fails(2, r"-s slf_ns: no such column; similar: self_ns", "top", "-s", "slf_ns", tiny())
    fails(2, r"-o xyzzy: no such column; there are: function, section, calls, ", "top", "-o", "xyzzy", tiny())
    # what columns there are is told without a trace, too, and --help tells it
    for command in "top", "first", "syscalls", "ps", "tree":
        told = said(command, "-o", "help")
        assert told == said(command, "-s", "help") == said(command, "-o", "help", "no such trace"), command
        text = said(command, "--help")
        for line in filter(None, told.splitlines()):
            if not line.endswith(":"):
                assert re.search(rf"^  {re.escape(line.split()[0])} +[A-Z]", text, re.M), (command, line)


def test_exact_times():
    """Every millisecond, microsecond and nanosecond is what it says: no event before --from, none behind it is missing."""
    events = upto_lines("dump", "--json", "--from", "1s", "-n", "1")
    ns = events[0]["ns"]
    for text in (f"{ns}ns", f"{ns / 1e3:.3f}us", f"{ns / 1e3:.3f} µs", f"{ns // 10 ** 9}.{ns % 10 ** 9:09}", f"{ns // 10 ** 6}.{ns % 10 ** 6:06}ms",
                 f"{ns // 10 ** 9}.{ns % 10 ** 9:09}999s", f"0{ns}ns"):
        assert upto_lines("dump", "--json", "--from", text, "-n", "1") == events, text
    # this one was 1000999999 ns once: what is at 1.001 s would be told as being behind it
    for ms in range(1000, 1100):
        told = run(UPTO, "dump", "--from", f"{ms / 1000:.3f}s", "--to", f"{ms * 1000000 - 1}ns", tiny(), check=False)
        assert told.returncode == 2 and f"--from {ms / 1000:.3f}s" in told.stderr.decode(), told
    for text in ".", "", "1..2s", "1.2.3", "1e3", "0x10", " 1s", "1 m", "99999999999999999999s", "18446744073709551615ns", "+1s":
        fails(2, r"--from .*: not a time", "dump", "--from", text, tiny())


def test_what_is_not_there():
    """Times, vCPUs and processes that the trace does not have are an error, not an empty answer."""
    end = max(f["ns"] for f in rows("first"))
    spans = "top", "first", "syscalls", "ps", "calls", "dump"
    for command in spans:
        fails(2, r"--from 2s is behind --to 1.5s", command, "--from", "2s", "--to", "1.5s", trace())
        fails(1, r"--from 1000s: the trace ends at \d+\.\d{6} s", command, "--from", "1000s", trace())
        fails(1, r"--cpu 1: the trace has only vCPU 0", command, "--cpu", "1", trace())
        # the end may be asked for beyond the trace's
        run(UPTO, command, "--from", f"{end}ns", "--to", "1000s", trace())
    fails(1, r"--at 99s: the trace ends at", "stack", "--at", "99s", trace())
    for command in "syscalls", "calls", "stack":
        fails(1, r"--pid 99999: the trace has no thread or process of that number; the last is \d+, ", command, "--pid", "99999", trace())


def empty(pattern, *args):
    """An empty answer that says why it is, on standard error; returns what is on standard output."""
    p = run(UPTO, *args, trace())
    assert re.fullmatch(f"upto: {pattern}\n", p.stderr.decode()), p.stderr
    return p.stdout.decode()


def poweroff():
    """The guest's last process, as it was before it executed its program."""
    pid = next(p["pid"] for p in rows("ps") if p["comm"] == "poweroff")
    return min((p for p in rows("ps") if p["pid"] == pid), key=lambda p: p["start_ns"])


def test_empty_answers():
    """Nothing is an answer, if it says of what there is nothing."""
    end = answer("info", "--json", trace())["duration_ns"]
    last = poweroff()
    before = last["start_ns"] // 10 ** 6 - 20
    life = rf"it was there from {last['start_ns'] // 1000 / 1e6:.6f} s to \d+\.\d{{6}} s"
    span = ["--from", f"{before}ms", "--to", f"{before + 10}ms"]
    told = rf" between {before / 1000:.9g} s and {(before + 10) / 1000:.9g} s"
    titles = empty(rf"no system calls of PID {last['pid']}{told}: {life}", "syscalls", "-p", last["pid"], *span)
    assert titles.split()[:2] == ["TIME", "S"] and titles.count("\n") == 1, titles
    assert json.loads(empty(rf"no system calls of PID .*", "syscalls", "--json", "-p", last["pid"], *span)) == {"syscalls": []}
    empty(r"no system calls named listxattr,mq_\*", "syscalls", "--name", "listxattr,mq_*")
    empty(r"no functions with at least 101 %", "top", "--min", "101")
    empty(r"no calls with at least 200 %", "tree", "--min", "200")
    empty(rf"no functions from {end / 1e9:.9f}".rstrip("0") + " s", "first", "--from", f"{end}ns")


def test_empty_streams():
    """The same of what comes line by line."""
    last = poweroff()
    span = ["--from", f"{last['start_ns'] - 10 ** 7}ns", "--to", f"{last['start_ns'] - 5 * 10 ** 6}ns"]
    titles = empty(rf"no calls of PID {last['pid']} between .* s and .* s: it was there from .*", "calls", "-p", last["pid"], *span)
    assert titles.count("\n") == 1 and "FUNCTION" in titles, titles
    assert json.loads(empty(r"no calls of .*", "calls", "--json", "-F", "vfs_read", "-p", last["pid"], *span)) == {"calls": []}
    assert empty(r"no events of kind syscall before 0.000001 s", "dump", "-k", "syscall", "--to", "1us") == ""
    assert empty(rf"no stacks of PID {last['pid']} at 1 s: it was there from .*", "stack", "--at", "1s", "-p", last["pid"]) == ""
    assert json.loads(empty(r"no stacks of .*", "stack", "--json", "--at", "1s", "-p", last["pid"])) == {"stacks": []}


def keys_of(command):
    """The keys of JSON that a command's --help explains."""
    text = re.search(r"\njson[^\n]*:\n((?:  [^\n]*\n)+)", said(command, "--help")).group(1)
    return {key for line in re.findall(r"^  (\S.*?)  ", text, re.M) for key in line.split(", ")}


def test_keys_are_explained():
    """Each key of JSON without columns is in --help, and in the manual."""
    call = upto_json("calls", "--json", "-n", "1", "-F", "vfs_read", trace())["calls"][0]
    step = upto_json("calls", "--json", "-n", "1", "--from", "1s", trace())["calls"][0]
    stack = upto_json("stack", "--json", "--at", "1s", trace())["stacks"][0]
    events = [json.loads(line) for line in said("dump", "--json", "-n", "1000", trace()).splitlines()]
    for command, keys in (("calls", {*call, *step}), ("stack", {*stack, *stack["frames"][0]}), ("dump", {k for e in events for k in e}),
                          ("info", set(answer("info", "--json", trace()))), ("check", set(upto_json("check", "--json", tiny())))):
        assert keys <= keys_of(command), (command, keys - keys_of(command))
        page = run(UPTO, "--man", command).stdout.decode()
        assert all(re.search(rf"^\.B .*\b{key}\b", page, re.M) for key in keys), (command, keys)


def test_slow_system_calls():
    calls = rows("syscalls")
    limit = sorted(c["duration_ns"] or 0 for c in calls)[len(calls) // 2]
    want = [c for c in calls if c["duration_ns"] and c["duration_ns"] >= limit]
    assert rows("syscalls", "--min-duration", f"{limit}ns") == want and 0 < len(want) < len(calls), limit


@pytest.mark.long
def test_functions_are_found():
    """Names, several of them, patterns; of one that is not there, what comes near."""
    def names(*options):
        return {f["function"] for f in rows("top", *options)}

    everything = names()
    want = {"vfs_read", "do_sys_openat2"}
    assert want == names("-F", "vfs_read,do_sys_openat2") == names("-F", "vfs_read", "-F", "do_sys_openat2")
    operands = upto_json("top", "--json", trace(), "vfs_read", "do_sys_openat2")["functions"]
    assert {f["function"] for f in operands} == want
    opens = {n for n in everything if "open" in n.split(" [")[0]}
    assert names("-F", "*open*") == opens and len(opens) > 10, opens
    assert names("-F", "ext4_init_fs") == {"ext4_init_fs [ext4]"} == names("-F", "ext4_init_f?") == names("-F", "ext4_init_fs [[]ext4]")
    assert names("--module", "ext4,jbd2") == {n for n in everything if n.endswith(("[ext4]", "[jbd2]"))} == names("--module", "ext[4],jbd2")
    assert names("-F", "vfs_read", "--user") == set()
    # a name in the source is what the compiler made of it, where no function has that name itself; parts that seldom run are not meant
    made = sorted(n for n in everything if re.fullmatch(r"\w+\.(isra|constprop|part)\.\d+", n) and n.split(".")[0] not in everything)
    for source in {n.split(".")[0] for n in made[:20]}:
        assert names("-F", source) == {n for n in everything if re.fullmatch(source + r"(\.(isra|constprop|part)\.\d+)+", n)}, source
    parted = {n.split(".")[0] for n in everything if re.fullmatch(r"\w+\.part\.\d+", n)} & everything
    assert len(made) > 10 and all(names("-F", n) == {n} for n in sorted(parted)[:5])
    for command in (["top"], ["calls"], ["dump"], ["first"], ["tree"]):
        fails(1, r"no function vfs_raed in the trace; similar: vfs_read", *command, "-F", "vfs_raed", trace(), upto=UPTO)
        fails(1, r"no function nosuchthing\* in the trace$", *command, trace(), "nosuchthing*", "nosuchtoo", upto=UPTO)
        # one name of several: the others are answered for
        keeps_others(r"no function vfs_raed in the trace; similar: vfs_read", [*command, trace()], ["-F", "do_sys_openat2,vfs_raed"], ["-F", "do_sys_openat2"])
        keeps_others(r"no function nosuchthing\* in the trace$", [*command, trace()], ["vfs_read", "nosuchthing*"], ["vfs_read"])
    fails(1, r"no module, program or library jbd in the trace; similar: jbd2", "top", "--module", "jbd", trace(), upto=UPTO)
    keeps_others(r"no module, program or library jbd in the trace; similar: jbd2", ["top", trace()], ["--module", "ext4,jbd"], ["--module", "ext4"])
    calls = upto_json("calls", "--json", trace(), "vfs_read", "do_sys_openat2", "--depth", "1")["calls"]
    assert len(calls) == sum(f["calls"] for f in operands), len(calls)


def test_system_calls_are_found():
    calls = rows("syscalls")
    for pattern, wanted in (("*stat*", "stat"), ("open*,mount", None), ("?ount", "mount")):
        got = rows("syscalls", "--name", pattern)
        want = [c for c in calls if (wanted in c["name"] if wanted else c["name"].startswith("open") or c["name"] == "mount")]
        assert got == want and got, (pattern, len(got), len(want))
    fails(2, r"no system call openatt; similar: openat", "syscalls", "--name", "openatt", tiny())
    keeps_others(r"no system call openatt; similar: openat", ["syscalls", trace()], ["--name", "openat,openatt"], ["--name", "openat"])
    fails(2, r"no system call xyz\*$", "syscalls", "--name", "xyz*", tiny())


def test_pipe_has_all():
    """Only a terminal has a screenful; into a pipe go all rows, and -n is obeyed."""
    for command in (["syscalls"], ["top"], ["first"], ["ps"], ["syscalls", "--summary"]):
        lines = [line for line in said(*command, trace()).splitlines() if not line.startswith("#")]
        assert len(lines) == 1 + len(rows(*command)) > 12, command
        lines = [line for line in said(*command, "-n", "7", trace()).splitlines() if not line.startswith("#")]
        assert len(lines) == 8, command


UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def test_numbers():
    """Three digits and a unit for people, and in full with --exact, as in JSON."""
    columns = ["calls", "self_insns", "self_ns"]
    options = ["top", "-o", ",".join(columns), "-s", "function"]
    want = [[f[c] for c in columns] for f in rows(*options)]
    exact = [line.split() for line in said(*options, "--exact", trace()).splitlines()[1:]]
    assert exact == [[str(calls), str(insns), f"{ns // 10 ** 9}.{ns % 10 ** 9:09}"] for calls, insns, ns in want]
    units = set()
    for line, row in zip(said(*options, trace()).splitlines()[1:], want):
        m = re.fullmatch(r" *([\d,]+) +([\d.]+)(?: ([kMG])|) +([\d.]+) +(ns|µs|ms|s) *", line)
        assert m and m.group(1) == f"{row[0]:,}", (line, row)
        for number, unit, value in ((m.group(2), m.group(3) or "", row[1]), (m.group(4), m.group(5), row[2])):
            units.add(unit)
            assert abs(float(number) * UNITS[unit] - value) <= value * 0.00501, (line, row)
            assert len(number.replace(".", "")) <= 3 and (value < 1000 or len(number.replace(".", "")) == 3), line
    # on a fast host nothing takes a second
    assert set(UNITS) - {"G", "s"} <= units, units
    # a moment that is shown can be asked for: what is there is not left out
    last = said("syscalls", "-o", "start_ns", trace()).split()[-1]
    assert rows("syscalls", "--from", last)[-1] == rows("syscalls")[-1]
    # --exact is for headings, too
    info = answer("info", "--json", trace())
    assert said("top", "-n", "1", "--exact", trace()).startswith(f"# {info['instructions']} instructions in ")


EVIL = {
    "left": "colour\x1b[31mred", "called": 'quote"back\\slash', "recursive": "bidi\u202egnp.exe", "twice": "c1\u009b31m",
    "conditional": "tab\tand\x07bell\x7f<script>alert(1)</script>", "conditionally": "not\udcff\udcfeutf8",
}


def evil_trace():
    """A kernel whose functions have names that do things to terminals, and to JSON."""
    program, trace_path = os.path.join(WORK, "evil.elf"), os.path.join(WORK, "evil.upto")
    with Once(program):
        if is_older(program, multiboot("calls"), UPTO, __file__):
            args = [a for old, new in EVIL.items() for a in ("--redefine-sym", os.fsencode(f"{old}={new}"))]
            p = subprocess.run(["objcopy", *args, multiboot("calls"), program + ".new"], capture_output=True)
            assert p.returncode == 0, p.stderr
            p = run(UPTO, "record", "--force", "-q", "-o", trace_path, "--symbols", program + ".new", "--",
                    *other_args(multiboot("calls")), check=False)
            assert p.returncode == 0, p.stderr
            os.rename(program + ".new", program)
    return trace_path


def test_evil_names():
    """Names go to terminals harmless, and to JSON as they are."""
    path = evil_trace()
    shown = {name: "".join(c if c.isprintable() and unicodedata.category(c) != "Cf" else
                           "".join(f"\\x{b:02x}" for b in os.fsencode(c)) for c in name) for name in EVIL.values()}
    in_json = {name: re.sub("[\udc80-\udcff]", "\ufffd", name) for name in EVIL.values()}
    first = {f["function"] for f in upto_json("first", "--json", path)["first"]}
    assert set(in_json.values()) <= first, sorted(first)
    call = upto_json("calls", "--json", "-n", "1", "-F", EVIL["left"], path)["calls"][0]
    at = f"{call['start_ns'] + call['duration_ns'] // 2}ns"
    for command in (["top"], ["first"], ["tree", "--min", "0"], ["calls"], ["dump"], ["stack", "--at", at], ["calls", "-F", "colour*"]):
        text = run(UPTO_ASAN, *command, path).stdout
        text.decode()  # is UTF-8
        assert not re.search(r"[^\n\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\uffff]", text.decode()), command
        told = run(UPTO_ASAN, *command, "--json", path).stdout.decode()
        answers = [json.loads(line) for line in told.splitlines()] if command[0] == "dump" else [with_keys(json.loads(told))]
        names = set(re.findall(r"'(?:function|place)': ('[^']*'|\"[^\"]*\")", str(answers)))
        for name in EVIL.values():
            if command[0] == "stack" or (command[0] == "calls" and len(command) > 1):
                continue
            assert shown[name] in text.decode(), (command, name, shown[name])
            assert any(in_json[name] == eval(n).split("+")[0] for n in names), (command, in_json[name], sorted(names)[:50])
        if command[0] in ("stack", "calls"):
            assert shown[EVIL["left"]] in text.decode(), (command, text.decode()[:500])


def test_addresses():
    """What can be above 2^53 is a string in JSON, which no reader rounds."""
    events = [json.loads(line) for line in said("dump", "--json", "-k", "call,syscall,task-switch,address-space", "-n", "20000", trace()).splitlines()]
    assert {e["kind"] for e in events} >= {"call"}
    for e in events:
        for value in [e.get(k, "0x0") for k in ("slot", "from", "target")] + e.get("args", []):
            assert re.fullmatch(r"0x[0-9a-f]{1,16}", value), e
    end = answer("info", "--json", trace())["duration_ns"]
    for stack in upto_json("stack", "--json", "--at", f"{end}ns", trace())["stacks"]:
        for inner, f in zip([None, *stack["frames"]], stack["frames"]):
            gone = inner and inner["kind"] == "tail"
            assert f["address"] is None if gone else re.fullmatch(r"0x[0-9a-f]+", f["address"]), stack
    for command in ("top", "first", "ps", "syscalls", "tree"):
        big = [(k, v) for row in rows(command, "-n", "2000") for k, v in row.items() if isinstance(v, int) and abs(v) >> 53]
        assert not big, (command, big[:5])


def test_ascii():
    """Where the locale has no UTF-8, people get ASCII, in columns that still stand below each other; programs' JSON, and what the locale allows, are as ever."""
    def answer(locale, *args):
        # what tells the locale, one before the other
        names = {"LC_ALL": None, "LC_CTYPE": None, "LANG": None, **locale}
        env = {k: v for k, v in {**os.environ, **names}.items() if v is not None}
        p = run(UPTO, *args, check=False, env=env)
        return p.stdout, p.stderr

    def likeness(text):
        return re.sub("[▏▎▍▌]", "-", re.sub("[█▉▊▋]", "#", text.replace("µ", "u").replace("…", "...")))

    for words in ["timeline"], ["why"], ["syscalls", "-n", "40"], ["calls", "-n", "40"], ["waits", "-n", "40"], ["info"], ["ps"]:
        (shown, _), (plain, _) = answer({}, *words, trace()), answer({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, *words, trace())
        assert plain.isascii() and shown == answer({"LANG": "C.UTF-8"}, *words, trace())[0], words
        # rows are as wide; where they were longer by dots, padding has made up for it
        shown, plain = likeness(shown.decode()).splitlines(), plain.decode().splitlines()
        assert [re.sub(" +", " ", a) for a in shown] == [re.sub(" +", " ", b) for b in plain], words
        assert shown == plain or any("..." in line for line in shown), words
    for words in [], ["--help"], ["help", "why"]:
        shown, plain = answer({}, *words)[0], answer({"LC_ALL": "C"}, *words)[0]
        assert plain.isascii() and plain == likeness(shown.decode()).encode() and len(plain) > 500, words
    for option in "--help", "--json":
        usual, c = answer({}, "top", option, trace())[0], answer({"LC_CTYPE": "POSIX"}, "top", option, trace())[0]
        assert c == (usual if option == "--json" else likeness(usual.decode()).encode()), option
    for words in ["export", "--to", "perfetto", "--to", "0.3s"], ["export", "--to", "pprof"], ["export", "--help"], ["report", "-o", "/dev/stdout", "-f"]:
        usual, c = answer({}, *words, trace())[0], answer({"LC_ALL": "C"}, *words, trace())[0]
        assert c == (likeness(usual.decode()).encode() if "--help" in words else usual) and len(c) > 200, words
    assert b"5u-?..." in answer({"LANG": "C"}, "info", "5µ-ü…")[1]


def upto_lines(*args):
    return [json.loads(line) for line in said(*args, trace()).splitlines()]
