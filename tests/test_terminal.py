# SPDX-License-Identifier: GPL-2.0-or-later
"""What people see who sit at a terminal, and what those do not who do not: pager, colours, progress, status line."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

from guest import UPTO, UPTO_ASAN, WORK, initrd, qemu_args, run, upto_json
from test_cli import trace

ROWS, COLUMNS = 40, 100
CLEARED = "\r\x1b[K"


def at_terminal(*args, stdout=None, timeout=300, **env):
    """Run it with a terminal as stderr, and as stdout if that is None: (exit status, what the terminal got)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("PAGER", "UPTO_PAGER", "NO_COLOR", "LESS", "COLUMNS")}
    p = subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=slave if stdout is None else stdout, stderr=slave,
                         env={**inherited, "TERM": "xterm", **env}, start_new_session=True)
    os.close(slave)
    shown, end = b"", time.monotonic() + timeout
    while time.monotonic() < end:
        if select.select([master], [], [], 1)[0]:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # nobody has it open any more
                break
            shown += part
    else:
        os.killpg(p.pid, signal.SIGKILL)
    os.close(master)
    return p.wait(timeout=10), shown.decode(errors="replace")


def without_progress(shown):
    return re.sub(r"\r\x1b\[K(reading: \d+ %)?", "", shown)


def test_pager():
    """Answers go through the pager on a terminal, with colours; not with --no-pager, an empty PAGER or NO_COLOR, nor into a pipe."""
    top = [UPTO, "top", "-n", "3", trace()]
    plain = run(*top).stdout.decode()
    assert "\x1b" not in plain and "FUNCTION" in plain, plain
    lines = [line.rstrip() for line in plain.splitlines()]
    more = re.compile(r"\d+ more lines; -n 0 shows all$")

    def text(shown):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", without_progress(shown))
        return [line.rstrip() for line in shown.replace("\r", "").splitlines()]

    mark = "sed s/^/paged:/"
    for env, paged in ({"PAGER": mark}, True), ({"UPTO_PAGER": mark, "PAGER": "false"}, True), ({"PAGER": ""}, False):
        status, shown = at_terminal(*top, **env)
        assert status == 0 and "\x1b[" in shown, (env, shown)
        mark_of = "paged:" if paged else ""
        *answer, note = text(shown)
        assert [mark_of + line for line in lines] == answer, (env, shown)
        assert note.startswith(mark_of) and more.match(note[len(mark_of):]), (env, shown)
    status, shown = at_terminal(UPTO, "--no-pager", *top[1:], PAGER=mark)
    assert status == 0 and text(shown)[:-1] == lines and "\x1b[" in shown, shown
    status, shown = at_terminal(*top, PAGER=mark, NO_COLOR="1")
    assert status == 0 and "\x1b[" not in without_progress(shown) and "paged:" in shown, shown
    # JSON is for programs, wherever it goes
    status, shown = at_terminal(*top, "--json", PAGER="cat")
    assert status == 0 and len(json.loads(without_progress(shown))["functions"]) == 3, shown
    # who has seen enough leaves the pager
    status, shown = at_terminal(UPTO, "dump", trace(), PAGER="head -n 2")
    assert (status, len(text(shown))) == (0, 2), (status, shown)
    # a pager that is not there costs no answer, long or short; the default is had everywhere
    status, shown = at_terminal(*top, PAGER="no-such-pager")
    complaint, *answer, note = text(shown)
    assert status == 0 and "no-such-pager" in complaint and answer == lines and more.match(note), (status, shown)
    status, shown = at_terminal(UPTO, "dump", "-n", "5000", trace(), PAGER="no-such-pager")
    assert status == 0 and len(text(shown)) == 5001, (status, shown[-300:])
    shell = os.path.join(WORK, "terminal-path")
    os.makedirs(shell, exist_ok=True)
    for program in "sh", "cat":
        if not os.path.lexists(os.path.join(shell, program)):
            os.symlink(shutil.which(program), os.path.join(shell, program))
    status, shown = at_terminal(*top, PATH=shell)
    assert status == 0 and text(shown)[:-1] == lines, (status, shown)


@pytest.mark.weight(3)
def test_width():
    """On a terminal a row is a line, however narrow it is: what is long is cut in its middle; not with --wide, nor in pipes."""
    for words in (["syscalls"], ["top", "-s", "function"], ["first"]):
        command = [UPTO, "--no-pager", *words, "-n", "30", trace()]
        full = run(*command).stdout.decode().splitlines()
        for columns, wide in ((COLUMNS, False), (80, False), (80, True)):
            status, shown = at_terminal(*command, *(["--wide"] if wide else []), NO_COLOR="1",
                                        **({} if columns == COLUMNS else {"COLUMNS": str(columns)}))
            lines = [line.rstrip() for line in without_progress(shown).replace("\r", "").splitlines() if "more lines" not in line]
            assert status == 0 and len(lines) == len(full), (words, columns, shown)
            if wide:
                assert lines == [line.rstrip() for line in full], (words, shown)
                continue
            lines, wide_lines = ([line for line in ls if not line.startswith("#")] for ls in (lines, full))
            # headings and numbers are not cut: a table is as wide as they are
            assert max(map(len, lines)) <= max(columns, len(lines[0])), (words, columns, max(lines, key=len))
            assert any("…" in line for line in lines) == (max(map(len, wide_lines)) > columns), (words, columns, lines)
    # lines that come one by one
    for words in (["stack"], ["dump", "-n", "50", "-k", "call"]):
        command = [UPTO, "--no-pager", *words, trace()]
        full = run(*command).stdout.decode().splitlines()
        for options, width in ((["--wide"], None), ([], 40)):
            status, shown = at_terminal(*command, *options, COLUMNS="40")
            lines = without_progress(shown).replace("\r", "").splitlines()
            assert status == 0 and len(lines) == len(full), (words, shown)
            assert lines == full if not width else max(map(len, lines)) == width, (words, lines)
    # a screenful
    status, shown = at_terminal(UPTO, "--no-pager", "first", trace(), NO_COLOR="1")
    assert ROWS - 8 < len(without_progress(shown).splitlines()) <= ROWS, shown


def test_progress():
    """What takes over a second says how far it is, on a terminal only, and wipes that away."""
    status, shown = at_terminal(UPTO_ASAN, "tree", "--thunks", "-n", "1", trace(), stdout=subprocess.DEVNULL)
    told = [int(n) for n in re.findall(r"reading: (\d+) %", shown)]
    assert status == 0 and told and told == sorted(told) and told[-1] <= 100, shown
    assert re.fullmatch(rf"({re.escape(CLEARED)}reading: \d+ %)+{re.escape(CLEARED)}\d+ more lines; .*\r\n", shown), shown[-200:]
    p = run(UPTO_ASAN, "top", "-n", "1", trace())
    assert not p.stderr, p.stderr
    return f"{told[0]} to {told[-1]} % in {len(told)} steps"


def boot_args(console, *options, seconds=6, name="terminal", append=""):
    args = qemu_args("6.12", initrd("6.12", "plain"), whole=True, append=append)
    args.remove("-nographic")
    recording = [UPTO, "record", "--force", "-o", os.path.join(WORK, f"{name}.upto"), *options, "--", *args, *console]
    return ["timeout", "--preserve-status", "-s", "INT", str(seconds), *recording]


@pytest.mark.weight(3)
def test_status():
    """Recording tells of guest time, events and bytes on the terminal, unless that is the guest's console."""
    ends_never = "rdinit=/none panic=0"
    status, shown = at_terminal(*boot_args(["-display", "none", "-serial", "null", "-monitor", "none"], append=ends_never))
    assert status == 0, (status, shown[-400:])
    told = re.findall(r"guest ([\d.]+) s  ([\d.]+) M events  ([\d.]+) M/s  ([\d.]+) MB", shown)
    numbers = [[float(n) for n in t] for t in told]
    assert len(told) > 4, shown
    for column in 0, 1, 3:
        values = [n[column] for n in numbers]
        assert values == sorted(values) and values[-1] > 0, (column, values)
    line, summary = shown[:shown.rindex(CLEARED)], shown[shown.rindex(CLEARED) + len(CLEARED):]
    assert "terminal.upto: " in summary and "terminal.upto: " not in line, shown[-400:]
    status, shown = at_terminal(*boot_args(["-nographic"], append=ends_never))
    assert status == 0 and "M/s" not in shown and "terminal.upto: " in shown, (status, shown[-400:])
    os.unlink(os.path.join(WORK, "terminal.upto"))
    return f"{len(told)} times"


@pytest.mark.weight(9)
def test_chosen():
    """The summary comes once, when the trace is as it was asked for, and has its figures; until then its reading is told."""
    path = os.path.join(WORK, "terminal-chosen.upto")
    status, shown = at_terminal(*boot_args(["-display", "none", "-serial", "null", "-monitor", "none"], "--functions", "vfs_*", "--stop", "60s",
                                          seconds=200, name="terminal-chosen"))
    assert status == 0, (status, shown[-400:])
    progress, _, summary = shown.rpartition(CLEARED)
    assert "M/s" in progress and "reading: " in progress and "upto: " not in progress, shown[-400:]
    info = upto_json("info", "--json", path)
    left_out = int(info["meta"]["left_out.function"])
    assert left_out > 100000 and os.path.getsize(path) == info["bytes"] < 2e6
    name = re.escape(path)
    told = re.fullmatch(rf"upto: {name}: (\S+(?: [kM])?) events in (\S+ m?s) of guest time, {info['bytes'] / 1e6:.2f} MB, (\S+ [kM]) calls left out by "
                        rf"function; up to the trace's end, since what was to stop it did not happen\r\nupto: {name}: ended: powered off by poweroff [^\n]*\r\n(?:upto: {name}: of the programs [^\n]* stripped [^\n]*\r\n)?next: upto [a-z]+ {name} \| [^\n]*\r\n", summary)
    assert told, summary
    for text, n in zip(told.groups(), (info["events"], info["duration_ns"] / 1e9, left_out)):
        value, _, unit = text.partition(" ")
        assert abs(float(value) * {"k": 1e3, "M": 1e6, "ms": 1e-3}.get(unit, 1) - n) <= 0.01 * n, (summary, info)
    os.unlink(path)
