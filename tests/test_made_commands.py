# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands, on made traces and without guests: files that are kept, answers that are printed once, and options that are heeded."""
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import time

import pytest

from guest import UPTO, run, upto_json
from made import KERNEL, make
from test_cli import fails
from test_exec import execute
from test_made import STACK, boot
from test_robust import EVENTS, chunks_of, write

LONG = "x" * 100
PRINTS = f'kprobe:third {{ printf("third %d {LONG}\\n", nsecs); }}'


def rounds(n, every=1000, from_ns=0):
    """So often startup_64 calls second, and that calls third, which logs a line and makes a record; a chunk each."""
    events, told = [], []
    for i in range(n):
        at = from_ns + every * i
        told += [("log 0", at + 140, at + 140, 0, i + 1, 3, f"BUG:~number~{i}~{LONG}"), ("told event 0", at + 140, at + 140, 0, 0, f"AAAA{i:04}")]
        events += ["chunk 0", ("event 0 call", at + 130, at + 130, STACK, KERNEL + 0x20, KERNEL + 0x1000),
                   ("event 0 call", at + 135, at + 135, STACK - 16, KERNEL + 0x1020, KERNEL + 0x2000), ("event 0 clock", at + 140, at + 140, 0, 0, 0),
                   ("event 0 return", at + 150, at + 150, STACK - 16, 0, KERNEL + 0x1020), ("event 0 return", at + 160, at + 160, STACK, 0, KERNEL + 0x20)]
    return told, events


def many(name, n=2000):
    told, events = rounds(n)
    return make(f"commands-{name}", ["meta event.0 test:one\\nname:~one\\nID:~7".replace("~", " "), *told, *boot(*events)])


def answer(*args, **kw):
    """Exit status, what is printed, and what is said."""
    p = run(UPTO, *args, check=False, timeout=60, **kw)
    return p.returncode, (p.stdout or b"").decode(errors="replace"), p.stderr.decode(errors="replace")


def test_layout_keeps_files(tmp_path):
    """upto layout writes over no file without --force, and never over what it reads."""
    types, other = write(tmp_path / "types", b"of a kernel"), write(tmp_path / "other", b"precious")
    for words, why in ((types, "-o", types), "is what is read"), ((types, "-f", "-o", types), "is what is read"), ((types, "-o", other), "exists"):
        fails(1, why, "layout", *words, upto=UPTO)
    assert other.read_bytes() == b"precious" and types.read_bytes() == b"of a kernel"


def test_replayable_keeps_logs(tmp_path):
    """The log that QEMU wrote for another recording is not written over without --force."""
    log = write(tmp_path / "full.upto.replay", b"of first.upto")
    fails(1, "full.upto.replay: exists; --force", "record", "--replayable", "-o", tmp_path / "full.upto", "--", "qemu-system-x86_64", upto=UPTO)
    assert log.read_bytes() == b"of first.upto" and len(os.listdir(tmp_path)) == 1


def test_nothing_ran(tmp_path):
    """A QEMU that ended before anything ran has recorded nothing: what was there before is kept, and no empty file is left."""
    old, new = write(tmp_path / "old.upto", b"old"), tmp_path / "new.upto"
    for words in ["-f", "-o", old], ["-o", new]:
        status, _, told = answer("record", *words, "--", "qemu-system-x86_64", "-version")
        assert (status, told) == (1, "upto: QEMU ended before anything ran: nothing is recorded\n"), (words, told)
    shutil.copy(UPTO, tmp_path / "upto")  # has no recorder beside it
    assert run(tmp_path / "upto", "record", "-o", new, "--", "qemu-system-x86_64", "-version", check=False).returncode == 1
    assert old.read_bytes() == b"old" and not new.exists()


def test_program_on_damaged_trace(tmp_path):
    """Of a damaged trace a program prints the whole parts once, however it is given; --follow ends there, and says so."""
    trace = many("damaged", 1000)
    data, chunks = chunks_of(trace)
    chunk = [c for c in chunks if c["type"] == EVENTS][900]
    data = bytearray(data)
    data[chunk["end"] - chunk["stored"] // 2] ^= 0x55
    write(trace, data)
    file = write(tmp_path / "p.bt", PRINTS.encode())
    for words in ["-e", PRINTS], [file], ["-e", PRINTS, "a word"], ["--follow", "-e", PRINTS]:
        status, printed, told = answer("run", *words, trace)
        lines = [line for line in printed.splitlines() if line.startswith("third")]
        assert "cannot be had" in told and len(set(lines)) == len(lines) and printed.count("Attaching") == 1, (words, told)
        assert status == (1 if "--follow" in words else 0) and len(lines) > (0 if status else 990), (words, len(lines), told)


@pytest.mark.parametrize("before, steps", (("2s", []), ("100ms", []), ("2s", [["--functions", "second"]]), ("2s", [["--stop", "time:12s"]])))
def test_trigger(tmp_path, before, steps):
    """A flight recorder's trigger is when it was, also where less was recorded before it than was to be kept, and in parts of its trace."""
    told, events = rounds(5, 10**9, 9500000000)
    whole = make("commands-trigger", ["meta thinned -incoming file:booted", "meta span.1.start_ns 9000000000", f"meta span.1.stop_ns {2**64 - 1}",
                             *(t for t in told if t[0] == "log 0"), "meta vcpus 1", "end lost 0", *(f"symbol {KERNEL + a:#x} {n} {s}" for a, n, s in (
                                 (0, 256, "startup_64"), (0x1000, 512, "second"), (0x2000, 4096, "third"))),
                             f"behind 0 9000000000 9000000000 {KERNEL + 0x20:#x} 0", f"event 0 gap 9000000000 9000000000 0 0 0 0 2 1 {KERNEL + 0x20:#x} 0",
                             *events[1:]])
    for i, words in enumerate([["--start", "log:BUG:", "--before", before], *steps]):
        run(UPTO, "thin", *words, "-o", tmp_path / f"{i}.upto", tmp_path / f"{i - 1}.upto" if i else whole)
    trace = tmp_path / f"{len(steps)}.upto"
    assert "flight recorder's trigger, at 9.500000 s" in answer("stack", trace)[2]
    assert upto_json("log", "--json", "--from", "trigger", trace, upto=UPTO)["log"][0]["text"].startswith("BUG: number 0")
    # one of an earlier upto does not tell it, and the condition is looked for
    assert upto_json("info", "--json", trace, upto=UPTO)["meta"]["trigger_ns"] == "9500000140"


def test_bytes_in_any_locale(tmp_path):
    """What copies a file, or prints what a program says, does so byte by byte in a locale without UTF-8, too."""
    environment = {**os.environ, "LC_ALL": "C"}
    text = "Größe µs …    Caf".encode() + b"\xe9 a   b\n"
    log, symbols = write(tmp_path / "log", text), write(tmp_path / "map", b"ffffffff81000000 T startup_64\nffffffff81001000 T second\n")
    conf = write(tmp_path / "conf", "# Größe …    x\nbegin\n trigger start entry second\nend\n".encode())
    said = "Größe …    x µs"
    for words, want in ((["addr2sym", "-m", symbols, log], text), (["sym2addr", conf, symbols], conf.read_bytes().replace(b"second", b"0xffffffff81001000")),
                        (["run", "-e", f'BEGIN {{ printf("{said}\\n"); exit(0); }}', many("locale", 1)], f"Attaching 1 probe...\n{said}\n".encode())):
        assert run(UPTO, *words, env=environment).stdout == want, words


def test_order_of_addresses():
    """Rows stand in the order of addresses, also of a kernel's, of which the upper bits are alike."""
    n, events = 6, []
    for i in range(1, n):
        events += [("event 0 call", 100 * i, 100 * i, STACK, KERNEL + 0x20, KERNEL + 0x40 * i), ("event 0 return", 100 * i + 10, 100 * i + 10, STACK, 0, KERNEL + 0x20)]
    trace = make("commands-order", boot(*events, symbols=[(KERNEL + 0x40 * i, 0x40, f"f{i}") for i in range(n)]))
    for order, want in ("-address", sorted), ("address", lambda names: sorted(names, reverse=True)):
        names = [line for line in answer("top", "-o", "function", "-s", order, trace)[1].split() if re.match(r"f\d", line)]
        assert len(names) == n and names == want(names), (order, names)


def test_second_interrupt():
    """The first Ctrl-C asks a program for what it has; the second one does not wait for that."""
    with subprocess.Popen([UPTO, "run", "-e", PRINTS, many("interrupted")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        time.sleep(1)  # nobody reads what it prints, so that it waits
        for ended in None, -signal.SIGINT:
            p.send_signal(signal.SIGINT)
            try:
                p.wait(1)
            except subprocess.TimeoutExpired:
                pass
            status = p.poll()
            if status != ended:
                p.kill()
            assert status == ended


@pytest.mark.parametrize("words", (["log", "--stack"], ["events", "--stack"], ["run", "-e", PRINTS]))
def test_no_progress_in_answers(words):
    """Once an answer is being printed on a terminal, nothing of how far reading is gets into it."""
    pid, terminal = pty.fork()
    if not pid:
        os.environ["UPTO_PAGER"] = ""
        os.execv(UPTO, [UPTO, *words, many("terminal")])
    shown = os.read(terminal, 1)
    time.sleep(1.5)  # the terminal is full, so that it takes long
    while select.select([terminal], [], [], 10)[0]:
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError:
            break
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0 and len(shown) > 100000 and b"reading" not in shown, shown[:1000]


def test_interrupt_is_the_pagers(tmp_path):
    """Ctrl-C in a pager is for that: upto goes on, and the pager is not left alone with the terminal."""
    pager = write(tmp_path / "pager", b"#!/bin/sh\ntrap 'echo heard' INT\nread -r line\necho ready\nsleep 20\nwc -l\n")
    pager.chmod(0o755)
    trace = many("pager")
    pid, terminal = pty.fork()
    if not pid:
        os.environ["UPTO_PAGER"] = f"{pager} -x"  # the shell in between waits for it
        os.execv(UPTO, [UPTO, "dump", trace])
    shown = b""
    while select.select([terminal], [], [], 10)[0]:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if b"ready" in part:
            time.sleep(0.3)
            os.write(terminal, b"\x03")
        shown += part
    os.close(terminal)
    lines = len(run(UPTO, "dump", trace).stdout.splitlines())
    assert os.waitpid(pid, 0)[1] == 0 and re.search(rb"ready\s+\^Cheard\s+%d\b" % (lines - 1), shown), (lines, shown)


UNHEEDED = [("--pid: is for record", "host", "boot-args", "--pid", "5"), ("--before: is for record, read", "host", "boot-args", "--before", "1s"),
            ("--functions: is for record, boot-args", "host", "read", "-F", "vfs_*"), ("--buffer: is for", "host", "read", "--buffer", "5"),
            ("-- COMMAND: is for record", "host", "read", "--", "ls"), ("-- COMMAND: is for record", "host", "boot-args", "--", "ls"),
            ("--sysroot: is for what is recorded", "run", "--sysroot", "/", "-e", "BEGIN { exit(0); }", "t.upto"),
            ("--quiet: is for what is recorded", "run", "-q", "--list")]


@pytest.mark.parametrize("words", UNHEEDED)
def test_options_that_are_not_heeded(words):
    """An option that would change nothing is refused."""
    fails(2, *words, upto=UPTO)


def test_full_and_closed_output():
    """Why an answer could not be written is said as it was, also where more was done since; a reader who has left is no failure."""
    trace = many("output", 200)
    for words in ["log", "--stack", "--json"], ["log", "--stack"], ["events", "--stack", "--json"]:
        with open("/dev/full", "w") as full:
            status, _, told = answer(*words, trace, stdout=full)
        assert status == 1 and told.endswith("upto: standard output: No space left on device\n"), (words, told)
        p = subprocess.Popen([UPTO, *words, trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False)
        p.stdout.close()
        told = p.stderr.read()
        p.stderr.close()
        assert p.wait(20) == 0 and b"standard output" not in told, (words, told)


def test_program_files(tmp_path):
    """A program's status of 127 is its own, its file's name can be typed, and calls that do not fit into memory are no cut file."""
    source = write(tmp_path / "w.c", b"#include <stdlib.h>\nint main(int n, char **words) { return n > 1 ? atoi(words[1]) : 0; }\n")
    path = tmp_path / "w"
    run("gcc", "-finstrument-functions", "-o", path, source)
    files, _ = execute(tmp_path, path, "127", status=127)
    assert len(files) == 1, files
    p = run(UPTO, "exec", "-o", "a b.upto", "--", path, cwd=tmp_path)
    assert b"next: upto tree 'a b.upto' | upto calls 'a b.upto' |" in p.stderr, p.stderr
    status, printed, told = answer("top", files[0], restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256)))
    assert status == 1 and not printed and "no memory for its calls: File too large" in told, told


def test_page_alone(tmp_path):
    """A page that goes to standard output has no line behind it."""
    with open(tmp_path / "page.html", "wb") as page:
        p = run(UPTO, "report", "-o", "/dev/stdout", many("page", 2), check=False, stdout=page)
    if b"without the page" in p.stderr:
        pytest.skip("upto was built without the page: no Node.js")
    assert p.returncode == 0 and (tmp_path / "page.html").read_bytes().endswith(b"</html>\n"), p.stderr
