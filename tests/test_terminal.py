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

from guest import UPTO, UPTO_ASAN, WORK, initrd, qemu_args, run
from test_cli import trace

ROWS, COLUMNS = 40, 100
CLEARED = "\r\x1b[K"


def at_terminal(*args, stdout=None, timeout=300, **env):
    """Run it with a terminal as stderr, and as stdout if that is None: (exit status, what the terminal got)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("PAGER", "UPTO_PAGER", "NO_COLOR", "LESS")}
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
    # an answer that nobody got is none, long or short; the default is had everywhere
    for command in top, [UPTO, "dump", trace()]:
        status, shown = at_terminal(*command, PAGER="no-such-pager")
        assert status == 1 and "no-such-pager" in shown, (status, shown)
    shell = os.path.join(WORK, "terminal-path")
    os.makedirs(shell, exist_ok=True)
    for program in "sh", "cat":
        if not os.path.lexists(os.path.join(shell, program)):
            os.symlink(shutil.which(program), os.path.join(shell, program))
    status, shown = at_terminal(*top, PATH=shell)
    assert status == 0 and text(shown)[:-1] == lines, (status, shown)


def test_progress():
    """What takes over a second says how far it is, on a terminal only, and wipes that away."""
    status, shown = at_terminal(UPTO_ASAN, "top", "-n", "1", trace(), stdout=subprocess.DEVNULL)
    told = [int(n) for n in re.findall(r"reading: (\d+) %", shown)]
    assert status == 0 and told and told == sorted(told) and told[-1] <= 100, shown
    assert re.fullmatch(rf"({re.escape(CLEARED)}reading: \d+ %)+{re.escape(CLEARED)}\d+ more lines; .*\r\n", shown), shown[-200:]
    p = run(UPTO_ASAN, "top", "-n", "1", trace())
    assert not p.stderr, p.stderr
    return f"{told[0]} to {told[-1]} % in {len(told)} steps"


test_progress.weight = 3


def boot_args(console):
    args = qemu_args("6.12", initrd("6.12", "plain"))
    args.remove("-nographic")
    return ["timeout", "-s", "INT", "6", UPTO, "record", "--force", "-o", os.path.join(WORK, "terminal.upto"), "--", *args, *console]


def test_status():
    """Recording tells of guest time, events and bytes on the terminal, unless that is the guest's console."""
    status, shown = at_terminal(*boot_args(["-display", "none", "-serial", "null", "-monitor", "none"]))
    told = re.findall(r"guest ([\d.]+) s  ([\d.]+) M events  ([\d.]+) M/s  ([\d.]+) MB", shown)
    numbers = [[float(n) for n in t] for t in told]
    assert len(told) > 4, shown
    for column in 0, 1, 3:
        values = [n[column] for n in numbers]
        assert values == sorted(values) and values[-1] > 0, (column, values)
    line, summary = shown[:shown.rindex(CLEARED)], shown[shown.rindex(CLEARED) + len(CLEARED):]
    assert "terminal.upto: " in summary and "terminal.upto: " not in line, shown[-400:]
    status, shown = at_terminal(*boot_args(["-nographic"]))
    assert "M/s" not in shown and "terminal.upto: " in shown, shown[-400:]
    os.unlink(os.path.join(WORK, "terminal.upto"))
    return f"{len(told)} times"


test_status.weight = 3
