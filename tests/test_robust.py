# SPDX-License-Identifier: GPL-2.0-or-later
"""What is left of a trace when something goes wrong: signals, kills, full disks, cut and damaged files.

UPTO_SEED repeats the random choices of a run; each test's note tells its seed.
"""
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib

import pytest

import decoder
from guest import RECORDER, UPTO, UPTO_ASAN, WORK, initrd, is_older, once_a_run, qemu_args, run, seed, upto_json
from test_code import recording

READING = ["info", "top", "first", "syscalls", "dump", "check"]
FILE_HEADER = 16
CHUNK_HEADER = struct.Struct("<IHHIIQQQQQQQQIIII")
FIELDS = ["magic", "type", "cpu", "stored", "unpacked", "number", "first_insns", "last_insns", "first_ns", "last_ns",
          "place", "space", "task", "events", "flags", "reserved", "crc"]
META, SITES, EVENTS, SYMBOLS, END, TASKS, CODE, FILES, TEXTS, FACTS = range(1, 11)
TYPES = {"meta": META, "sites": SITES, "events": EVENTS, "symbols": SYMBOLS, "end": END, "facts": FACTS}
# what a trace that was cut, and is whole up to there, may be found to have
CUT_FINDING = re.compile(r"the trace has no end: .*|cut short within a chunk at byte \d+; the events before are whole")


def plain():
    return qemu_args("6.12", initrd("6.12", "plain"), whole=True)


class Recording:
    """upto record while it runs, with what it shares with its QEMU."""
    STATS = struct.Struct("<I4xQQQQQiI")

    def __init__(self, trace, args, *options, **kw):
        self.trace = trace
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen([UPTO, "record", "--force", "-o", trace, *options, "--", *args],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.stderr, **kw)
        self.qemu = None
        self.memory = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in filter(None, [self.qemu, self.process.pid if self.process.poll() is None else None]):
            try:
                # the number may be another process's by now
                if pid == self.process.pid or self.is_qemu(pid):
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        if self.memory:
            self.memory.close()
        self.stderr.close()

    def is_qemu(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"upto-recorder.so,config=" in f.read()
        except OSError:
            return False

    def find(self):
        """QEMU's pid and the statistics, once both are there."""
        pid = self.process.pid
        try:
            if not self.qemu:
                with open(f"/proc/{pid}/task/{pid}/children") as f:
                    self.qemu = next((int(c) for c in f.read().split() if self.is_qemu(c)), None)
            if self.qemu and not self.memory:
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    if "upto-stats" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                        self.memory = open(f"/proc/{pid}/fd/{fd}", "rb", buffering=0)
        except OSError:
            pass
        return self.qemu and self.memory

    def stats(self):
        if not self.find():
            return None
        data = os.pread(self.memory.fileno(), self.STATS.size, 0)
        if len(data) < self.STATS.size:
            return None
        return dict(zip(["finished", "events", "insns", "guest_ns", "bytes", "lost", "write_error", "names"],
                        self.STATS.unpack(data)))

    def until(self, condition, timeout=60):
        """Poll the statistics until the condition holds of them; they are returned."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            s = self.stats()
            if s and condition(s):
                return s
            assert self.process.poll() is None, f"upto ended by itself: {self.said()}"
            time.sleep(0.002)
        raise AssertionError(f"not in {timeout} s: {self.stats()}; {self.said()}")

    def wait(self, timeout=60):
        return self.process.wait(timeout=timeout)

    def said(self):
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")


def some_chunks(data):
    """The whole chunks of what may be cut."""
    chunks, at = [], FILE_HEADER
    while at + CHUNK_HEADER.size <= len(data):
        c = dict(zip(FIELDS, CHUNK_HEADER.unpack_from(data, at)))
        c["offset"], c["end"] = at, at + CHUNK_HEADER.size + c["stored"]
        at = c["end"]
        if at <= len(data):
            chunks.append(c)
    return chunks


def chunks_of(trace):
    with open(trace, "rb") as f:
        data = f.read()
    chunks = some_chunks(data)
    assert chunks[-1]["end"] == len(data) and chunks[-1]["type"] == END, "the base trace is not whole"
    return data, chunks


def short_trace():
    """A small trace that ended in order and has every type of chunk: it ends soon after the kernel was found."""
    trace = os.path.join(WORK, "robust.upto")

    def make():
        if is_older(trace, UPTO, RECORDER):
            with Recording(trace + ".new", plain(), "-q") as r:
                r.until(lambda s: s["names"] and s["events"])
                time.sleep(0.1)
                os.kill(r.process.pid, signal.SIGINT)
                assert r.wait() == 0, r.said()
            os.rename(trace + ".new", trace)

    once_a_run(trace, make)
    data, chunks = chunks_of(trace)
    assert {c["type"] for c in chunks} == set(TYPES.values()), [c["type"] for c in chunks]
    return trace, data, chunks


def ask(upto, command, trace, *options, timeout=120):
    """Run a reading command. A signal or a sanitizer's report fails the test."""
    p = subprocess.run([upto, command, *options, trace], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=timeout)
    err = p.stderr.decode(errors="replace")
    assert p.returncode in (0, 1), f"{command} {trace!r}: exit {p.returncode}: {err[-3000:]}"
    assert "Sanitizer" not in err and "runtime error" not in err, f"{command} {trace!r}: {err[-3000:]}"
    return p.returncode, p.stdout, err


def one_line(err, trace, what):
    # why an answer is empty is said on a line of its own
    lines = [line for line in err.splitlines() if not line.startswith("upto: no ")]
    assert len(lines) == 1 and err.endswith("\n"), f"{what}: not one line: {lines}"
    assert lines[0].startswith("upto: ") and trace in lines[0], f"{what}: does not name {trace}: {lines[0]}"


def assert_cut(trace):
    """A trace without an end, but whole up to there; returns info."""
    status, out, _ = ask(UPTO, "info", trace, "--json")
    info = json.loads(out)
    assert status == 0 and info["complete"] is False and info["lost"] == 0, info
    status, out, err = ask(UPTO, "check", trace, "--json")
    found = json.loads(out)
    assert status == 1 and found["ok"] is False, found
    assert len(found["findings"]) == 1 and CUT_FINDING.fullmatch(found["findings"][0]["text"]), found["findings"]
    assert found["events"] == info["events"] and found["instructions"] == info["instructions"], (found, info)
    one_line(err, trace, "check")
    return info


def assert_whole(trace):
    status, out, err = ask(UPTO, "check", trace)
    assert status == 0 and not err, out.decode() + err
    info = upto_json("info", "--json", trace)
    assert info["complete"] is True and info["lost"] == 0 and info["cut"] is None, info
    return info


@pytest.mark.parametrize("name, group", [("SIGINT", False), ("SIGTERM", False), ("SIGHUP", False), ("SIGINT", True)])
def test_signal(name, group):
    """Ctrl-C and friends end guest and trace in order."""
    trace = os.path.join(WORK, f"robust-{name}{'-group' if group else ''}.upto")
    number = getattr(signal, name)
    with Recording(trace, plain(), start_new_session=True) as r:
        r.until(lambda s: s["guest_ns"] > 1_000_000_000)
        # what is being recorded can be read already
        status, out, err = ask(UPTO, "info", trace, "--json")
        assert status == 0 and json.loads(out)["complete"] is False, out
        one_line(err, trace, "info while recording")
        if group:
            os.killpg(r.process.pid, number)  # as a terminal does
        else:
            os.kill(r.process.pid, number)
        begun = time.monotonic()
        assert r.wait(10) == 0, f"exit {r.process.returncode}: {r.said()}"
        seconds = time.monotonic() - begun
        assert not r.is_qemu(r.qemu), "QEMU is still there"
        said = r.said()
    assert "cut short" not in said and f"upto: {trace}: " in said, said
    info = assert_whole(trace)
    assert info["duration_ns"] > 1_000_000_000 and info["events"] > 500_000, info
    os.unlink(trace)
    return f"ended within {seconds:.2f} s"


def test_exit_status():
    """QEMU's own exit status is passed on."""
    image, trace = os.path.join(WORK, "robust-exit.img"), os.path.join(WORK, "robust-exit.upto")
    with open(image, "wb") as f:
        # mov $0x15, %al; out %al, $0xf4; hlt
        f.write(bytes([0xb0, 0x15, 0xe6, 0xf4, 0xf4]).ljust(510, b"\0") + b"\x55\xaa")
    args = ["qemu-system-x86_64", "-accel", "tcg", "-nographic", "-nic", "none", "-m", "32M",
            "-drive", f"file={image},format=raw,snapshot=on", "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]
    p = run(UPTO, "record", "--force", "-o", trace, "--", *args, check=False, timeout=60)
    assert p.returncode == 0x15 << 1 | 1, f"exit {p.returncode}: {p.stderr.decode()}"
    assert_whole(trace)
    os.unlink(trace)


# What the recorder promises: a chunk is in the file at most 900 ms after its first event (drain.c, CHUNK_MS_MAX),
# so that kill -9 costs less than a second. What is above that is for the host's scheduler: the drain thread shares
# two CPUs with the guest's and with another test's.
KILL_COST_NS = 1_000_000_000 + 250_000_000


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.weight(5)
def test_kill_qemu(index):
    """kill -9 of QEMU at any moment costs at most the last second."""
    number = seed()
    # three moments that are not all alike: one in each third of a time in which no host is through with the boot
    at = 1 + (index + random.Random(number * 3 + index).random()) * 2.4 / 3
    trace = os.path.join(WORK, f"robust-kill-{index}.upto")
    with Recording(trace, plain()) as r:
        r.until(lambda s: s["guest_ns"])
        begun, offset, last = time.monotonic_ns(), None, 0
        while time.monotonic_ns() - begun < at * 1e9:
            s = r.stats()
            # Without icount the guest's clock runs with the host's, from the moment that the machine was started,
            # which nobody tells. But the recorder's idea of the guest's clock is never ahead of it, so the largest
            # difference seen is at most the true one: what follows from it asks never more than what was promised.
            difference = s["guest_ns"] - time.monotonic_ns()
            offset = difference if offset is None else max(offset, difference)
            last = s["guest_ns"]
            time.sleep(0.002)
        killed = time.monotonic_ns()
        os.kill(r.qemu, signal.SIGKILL)
        assert r.wait(10) == 128 + signal.SIGKILL, f"exit {r.process.returncode}: {r.said()}"
        said = r.said()
    assert re.search(f"^upto: {re.escape(trace)}: cut short: ", said, re.M), said
    info = assert_cut(trace)
    guest = killed + offset
    assert guest > 0.9e9, guest
    cost = guest - info["duration_ns"]
    assert info["events"] > 0 and last >= info["duration_ns"] - 50_000_000, (last, info)
    assert cost <= KILL_COST_NS, f"seed {number}: {cost / 1e9:.3f} s lost of {guest / 1e9:.3f} s"
    os.unlink(trace)
    return f"seed {number}: killed at {guest / 1e9:.2f} s of guest time, {max(cost, 0) / 1e9:.2f} s lost"


def event_chunks(trace):
    with open(trace, "rb") as f:
        return [c for c in some_chunks(f.read()) if c["type"] == EVENTS]


@pytest.mark.parametrize("before", [[], ["--before", "1s"]], ids=["waits", "flight"])
def test_interrupt_before_start(before):
    """Ctrl-C while the start condition is awaited: that is said, and what is left is a trace without events, of which each command says so."""
    trace = os.path.join(WORK, f"robust-awaited-{len(before)}.upto")
    with Recording(trace, plain(), "--start", "exec:no_such_program", *before) as r:
        r.until(lambda s: s["guest_ns"] > 1_000_000_000)
        os.kill(r.process.pid, signal.SIGINT)
        r.wait(20)
        said = r.said()
    assert f"{trace}: has no events: what is to start it (--start exec:no_such_program) did not happen" in said, said
    assert "next:" not in said
    info = assert_whole(trace)
    assert info["events"] == 0 and upto_json("ps", "--json", trace)["processes"]
    for command in [*READING, "tree", "timeline", "why", "waits", "log", "calls", "kd"]:
        status, out, err = ask(UPTO_ASAN, command, trace)
        if status:
            one_line(err, trace, command)
        assert len(err.splitlines()) <= 1 and "older upto" not in err, (command, err)
    os.unlink(trace)


def test_interrupt_flight_recorder():
    """Ctrl-C once a flight recorder was triggered: what was asked for is there, from so long before the trigger on."""
    trace = os.path.join(WORK, "robust-triggered.upto")
    with Recording(trace, plain(), "--start", "log:Run /init", "--before", "300ms") as r:
        end = time.monotonic() + 60
        while not (os.path.exists(trace) and event_chunks(trace)) and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(r.process.pid, signal.SIGINT)
        r.wait(20)
    info = assert_whole(trace)
    start = run_init(trace)[0]
    first = min(c["first_ns"] for c in event_chunks(trace))
    # from the last event before that on; the host may have stood still there
    assert info["events"] and 0 <= start - 300_000_000 - first < 500_000_000, (start, first)
    os.unlink(trace)


def run_init(trace):
    return [line["ns"] for line in upto_json("log", "--json", trace)["log"] if "Run /init" in line["text"]]


def test_kill_flight_recorder():
    """kill -9 of a flight recorder: what had been triggered is there, with what was asked for before it, and little that is older."""
    trace = os.path.join(WORK, "robust-flight.upto")
    with Recording(trace, plain(), "--start", "log:Run /init", "--before", "300ms") as r:
        r.until(lambda s: s["guest_ns"] > 1_000_000_000)
        assert not event_chunks(trace), "they are held"
        end = time.monotonic() + 60
        # what is held may be written a little before the fact that is the trigger
        while not (event_chunks(trace) and run_init(trace)) and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(r.qemu, signal.SIGKILL)
        assert r.wait(10) == 128 + signal.SIGKILL, f"exit {r.process.returncode}: {r.said()}"
    info = assert_cut(trace)
    start = [line["ns"] for line in upto_json("log", "--json", trace)["log"] if "Run /init" in line["text"]][0]
    first = min(h["first_ns"] for h in event_chunks(trace))
    # a chunk is of 0.6 s of the host's time, or a little more where CPUs are busy
    assert start - 1_500_000_000 < first <= start - 300_000_000, (start, first)
    # the kill may have come before the chunk that was under way at the trigger was written
    assert info["duration_ns"] > start - 700_000_000, (start, info["duration_ns"])
    os.unlink(trace)
    return f"from {(start - first) / 1e9:.2f} s before the trigger to {(info['duration_ns'] - start) / 1e9:.2f} s behind it"


def test_kill_upto():
    """kill -9 of upto itself: the guest ends with it, as if it was told to, and the trace in order."""
    trace = os.path.join(WORK, "robust-orphan.upto")
    with Recording(trace, plain()) as r:
        before = r.until(lambda s: s["guest_ns"] > 1_000_000_000)
        os.kill(r.process.pid, signal.SIGKILL)
        assert r.wait() == -signal.SIGKILL
        end = time.monotonic() + 20
        while r.is_qemu(r.qemu) and time.monotonic() < end:
            time.sleep(0.01)
        assert not r.is_qemu(r.qemu), "QEMU goes on"
    info = assert_whole(trace)
    assert info["events"] >= before["events"], (info["events"], before)
    os.unlink(trace)


class SmallDisk:
    def __init__(self, path, size):
        self.path = path
        os.makedirs(path, exist_ok=True)
        self.mounted = run("mount", "-t", "tmpfs", "-o", f"size={size}", "upto-test", path, check=False).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            run("umount", self.path, check=False)


def assert_stopped(trace, reason, said):
    """A trace whose disk was full: whole up to there, and everyone says so."""
    m = re.search(f"^upto: {re.escape(trace)}: cut short: {reason}; the (\\d+) events before are whole, (\\d+) were lost$",
                  said, re.M)
    assert m, said
    kept, lost = int(m.group(1)), int(m.group(2))
    _, chunks = chunks_of(trace)
    assert sum(c["events"] for c in chunks) == kept > 0, (kept, lost)
    status, out, err = ask(UPTO, "info", trace, "--json")
    info = json.loads(out)
    assert status == 0 and info["complete"] is False and info["events"] == kept and info["lost"] == lost > 0, info
    # the closing line is of what is there
    closing = re.search(r": ([\d.]+) M events, ([\d.]+) G instructions, ([\d.]+) s of guest time, ", said)
    figures = info["events"] / 1e6, info["instructions"] / 1e9, info["duration_ns"] / 1e9
    assert all(abs(float(a) - b) <= 0.051 for a, b in zip(closing.groups(), figures)), (closing.group(0), figures)
    for command in READING:
        options = ["-n", "5"] if command not in ("info", "check") else []
        status, out, err = ask(UPTO, command, trace, *options)
        assert status == (1 if command == "check" else 0), (command, status, err)
        lines = err.splitlines()
        # an answer may be empty, which is said, too
        assert all(line.startswith((f"upto: {trace}: ", "upto: no ")) for line in lines), (command, lines)
        assert any(reason in line for line in lines) and any(str(lost) in line for line in lines), (command, lines)
    found = json.loads(ask(UPTO, "check", trace, "--json")[1])
    assert found["events"] == kept, found
    texts = {f["text"]: f for f in found["findings"]}
    assert texts[f"{lost} events were lost while recording"]["count"] == lost, found["findings"]
    # and nothing else but that the vCPU's counter went further than the events
    for f in texts:
        assert re.fullmatch(r"\d+ events were lost while recording|"
                            r"vCPU 0: events reach \d+ instructions, its counter \d+", f), found["findings"]
    whole = [c for c in chunks if c["type"] == EVENTS][-1]["last_insns"]
    top = json.loads(ask(UPTO, "top", trace, "--json")[1])["functions"]
    assert sum(f["self_insns"] for f in top) == whole == info["instructions"], (whole, info["instructions"])
    return kept, lost


@pytest.mark.weight(10)
def test_disk_full():
    """The disk fills up: the guest goes on, the trace has what came before."""
    with SmallDisk(os.path.join(WORK, "robust-disk"), "2m") as disk:
        if not disk.mounted:
            pytest.skip("no right to mount a tmpfs")
        trace = os.path.join(disk.path, "t.upto")
        with Recording(trace, plain()) as r:
            r.until(lambda s: s["write_error"])
            lost = r.stats()["lost"]
            time.sleep(0.5)
            assert r.stats()["lost"] > lost, "what cannot be written is not counted"
            assert r.wait(120) == 1, r.said()   # the guest came to its power-off, but the trace did not
            kept, lost = assert_stopped(trace, "No space left on device", r.said())
    return f"{kept} events kept, {lost} lost"


def test_file_limit():
    """The same with a limit on file sizes, of which the signal is ignored; the end comes by Ctrl-C."""
    trace = os.path.join(WORK, "robust-limit.upto")
    with Recording(trace, plain(), preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)) as r:
        # not before QEMU has its memory, which is a file, too
        r.until(lambda s: s["guest_ns"])
        resource.prlimit(r.qemu, resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
        r.until(lambda s: s["write_error"])
        time.sleep(0.3)
        os.kill(r.process.pid, signal.SIGINT)
        assert r.wait(10) == 1, r.said()
        kept, lost = assert_stopped(trace, "File too large", r.said())
    os.unlink(trace)
    return f"{kept} events kept, {lost} lost"


@pytest.mark.parametrize("before", [[], ["--before", "1s"]], ids=["waits", "flight"])
def test_file_limit_before_start(before):
    """Nothing can be written any more while the start condition is awaited: no event is lost, since none was asked for."""
    trace = os.path.join(WORK, f"robust-limit-{len(before)}.upto")
    with Recording(trace, plain(), "--start", "exec:no_such_program", *before,
                   preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)) as r:
        r.until(lambda s: s["guest_ns"])
        resource.prlimit(r.qemu, resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
        r.until(lambda s: s["write_error"])
        assert r.wait(60) == 1, r.said()   # the guest came to its power-off
        said = r.said()
    assert f"{trace}: cut short: File too large; it has no events: what is to start it (--start exec:no_such_program) did not happen" in said, said
    info = upto_json("info", "--json", trace)
    assert info["events"] == info["lost"] == 0 and info["meta"]["stopped"] == "File too large" and not info["complete"], info
    os.unlink(trace)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def assert_prefix(path, size, chunks):
    """What every command makes of the first bytes of a trace."""
    whole = [c for c in chunks if c["end"] <= size]
    at = whole[-1]["end"] if whole else FILE_HEADER
    events = sum(c["events"] for c in whole)
    insns = max([c["last_insns"] for c in whole if c["type"] == EVENTS], default=0)
    results = {c: ask(UPTO_ASAN, c, path, "--json") for c in ("info", "top", "check", "syscalls")}
    for command, (status, out, err) in results.items():
        what = f"{command} of {size} bytes"
        one_line(err, path, what)
        if size < FILE_HEADER:
            assert status == 1 and not out, (what, status, out)
            continue
        assert status == (1 if command == "check" else 0), (what, status, err)
        if size != at:
            assert f"at byte {at} (" in err, (what, at, err)
        else:
            assert "has no end" in err, (what, err)
        answer = json.loads(out)
        if command == "info":
            assert answer["complete"] is False and answer["bytes"] == size, (what, answer)
            assert (answer["events"], answer["instructions"]) == (events, insns), (what, events, insns, answer)
        elif command == "top":
            assert sum(f["self_insns"] for f in answer["functions"]) == insns, (what, insns)
        elif command == "check":
            assert answer["ok"] is False and answer["events"] == events, (what, answer)
            assert len(answer["findings"]) == 1 and CUT_FINDING.fullmatch(answer["findings"][0]["text"]), (what, answer)
            assert size == at or f"at byte {at};" in answer["findings"][0]["text"], (what, at, answer)
        else:
            assert list(answer) == ["syscalls"], (what, answer)


@pytest.mark.parametrize("region", ["header", *TYPES])
@pytest.mark.weight(3)
def test_truncation(region):
    """A trace cut at any kind of place is a prefix of the whole one, and is never taken for whole."""
    _, data, chunks = short_trace()
    number = seed()
    rng = random.Random(number)
    if region == "header":
        sizes = {0, 1, 8, 12, 15, 16, *(c["offset"] for c in rng.sample(chunks[1:], 5))}
    else:
        c = rng.choice([c for c in chunks if c["type"] == TYPES[region]])
        start = c["offset"]
        payload = start + CHUNK_HEADER.size
        sizes = {start, start + 1, start + rng.randrange(2, 95), start + 95, payload,
                 payload + rng.randrange(1, c["stored"] - 1), c["end"] - 1}
    path = os.path.join(WORK, f"robust-cut-{region}.upto")
    for size in sorted(sizes):
        try:
            assert_prefix(write(path, data[:size]), size, chunks)
        except AssertionError as e:
            raise AssertionError(f"seed {number}, cut at {size} of {len(data)}: {e}") from e
    os.unlink(path)
    return f"seed {number}: {len(sizes)} places"


def assert_damaged(path, what):
    """A damaged trace: check says so, and nobody crashes."""
    status, out, err = ask(UPTO_ASAN, "check", "--no-stacks", path)
    assert status == 1, f"{what}: check finds nothing: {out.decode()}{err}"
    lines = err.splitlines()
    assert out or len(lines) == 1, f"{what}: {lines}"
    assert all(path in line for line in lines + out.decode().splitlines()), f"{what}: {lines} {out.decode()}"
    assert_top(path, what)


def test_damaged_events():
    """One damaged chunk of events: commands go on around it, and say what is missing; check finds that and nothing else. Some in each run."""
    trace, _ = recording("6.12", 1)
    data, chunks = chunks_of(trace)
    number = seed()
    chunk = random.Random(number).choice([c for c in chunks if c["type"] == EVENTS][1:])
    at = chunk["offset"] + CHUNK_HEADER.size + chunk["stored"] // 2
    path = os.path.join(WORK, "robust-damaged.upto")
    write(path, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
    # those whose model goes on with it are gone, too
    gone = [chunk]
    for c in chunks[chunks.index(chunk) + 1:]:
        if c["type"] == EVENTS and not c["flags"] & decoder.CONTINUES:
            break
        gone += [c] if c["type"] == EVENTS else []
    lost, whole = sum(c["events"] for c in gone), sum(c["events"] for c in chunks)
    missing = gone[-1]["last_insns"] - gone[0]["first_insns"]
    others = ["info", "first", "syscalls", "dump", "tree", "timeline", "why", "waits", "latency", "log", "ps", "stack", "calls", "calls --function vfs_read"]
    for command in ("top", "check", *random.Random(number).sample(others, 5)):
        status, out, err = ask(UPTO, command.split()[0], path, *command.split()[1:], *(["-n", "5"] if command.split()[0] in ("dump", "calls") else []))
        lines = [line for line in err.splitlines() if "is damaged" in line]
        assert status == (command == "check") and out, (command, status, err)
        assert command == "log" or (len(lines) == 1 and f"at byte {gone[0]['offset']}: {lost} events of vCPU 0" in lines[0]), (command, err)
    info = json.loads(ask(UPTO, "info", path, "--json")[1])
    assert not info["complete"] and info["lost"] == lost and info["events"] - 2 <= whole - lost <= info["events"], (info["events"], whole, lost)
    found = json.loads(ask(UPTO, "check", path, "--json")[1])["findings"]
    texts = [f["text"] for f in found if "cannot be had" not in f["text"] and "events are missing" not in f["text"]]
    assert all(re.fullmatch(r"\d+ events are there, \d+ were recorded|vCPU 0: events reach \d+ instructions, its counter \d+", t) for t in texts), found
    ran = [sum(f["self_insns"] for f in upto_json("top", "--json", "-n", "0", t)["functions"]) for t in (trace, path)]
    assert ran[0] - ran[1] == missing or gone[-1] is [c for c in chunks if c["type"] == EVENTS][-1], (ran, missing)
    assert not os.path.exists(path + ".index") and not os.path.exists(path + ".history")
    os.unlink(path)
    return f"seed {number}: {lost} of {whole} events in {len(gone)} chunks"


@pytest.mark.parametrize("kind", [FACTS, pytest.param(TEXTS, marks=pytest.mark.long)], ids=["facts", "texts"])
@pytest.mark.weight(30)
def test_damaged_beside(kind):
    """One damaged chunk of what was noted beside events, and the next one's header with it or not: what is there is told, and what is not."""
    trace, _ = recording("6.12", 1)
    data, chunks = chunks_of(trace)
    number = seed()
    rng = random.Random(number)
    chunk = rng.choice([c for c in chunks[:-1] if c["type"] == kind])
    at = chunk["offset"] + CHUNK_HEADER.size + chunk["stored"] // 2
    path = os.path.join(WORK, f"robust-beside-{kind}.upto")
    # zeros up to behind the next chunk's header, too: the trace ends there
    for damaged in (data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:], data[:at] + bytes(chunk["end"] + CHUNK_HEADER.size - at) + data[chunk["end"] + CHUNK_HEADER.size:]):
        write(path, damaged)
        missed, cut = 0, damaged[chunk["end"]:chunk["end"] + 4] == bytes(4)
        # of a trace that ends early some things may not be there to be asked for
        for command in ("top", "timeline", "check", "info", *(() if cut else ("why", "syscalls", "waits", "report -f -o " + path + ".html"))):
            status, out, err = ask(UPTO, command.split()[0], path, *command.split()[1:])
            assert status == (command == "check") and (out or "report" in command), (command, status, err)
            missed += f"is damaged at byte {chunk['offset']}: some " in err
        assert missed >= 2, err
        found = json.loads(ask(UPTO, "check", path, "--json")[1])["findings"]
        assert any(f"damaged at byte {chunk['offset']}: some " in f["text"] for f in found), found
        if kind == FACTS:
            assert not json.loads(ask(UPTO, "info", path, "--json")[1])["complete"]
    for left in (path, path + ".html"):
        os.unlink(left)
    return f"seed {number}: chunk {chunk['number']} of {len(chunks)}"


def ran(path):
    return sum(f["self_insns"] for f in json.loads(ask(UPTO, "top", path, "--json", "-n", "0")[1])["functions"])


def said(kind):
    return {META: "what the recorder told", SITES: "places of calls", SYMBOLS: "names of the kernel", END: "last words", TASKS: "records of tasks",
            CODE: "records of modules", FILES: "names of functions of programs"}[kind]


@pytest.mark.parametrize("kind", [META, SITES, EVENTS, SYMBOLS, END, TASKS, CODE, FILES], ids="meta sites events symbols end tasks code files".split())
@pytest.mark.weight(30)
def test_damaged_tables(kind):
    """One damaged chunk of each type, its payload, its header, or a block of the file that has it: what stands elsewhere is there, to the instruction."""
    trace, _ = recording("6.12", 1)
    data, chunks = chunks_of(trace)
    number = seed()
    rng = random.Random(number)
    chunk = rng.choice([c for c in chunks if c["type"] == kind])
    path, part = os.path.join(WORK, f"robust-tables-{kind}.upto"), os.path.join(WORK, f"robust-part-{kind}.upto")
    whole, events = ran(trace), [c for c in chunks if c["type"] == EVENTS]
    block = max(FILE_HEADER, chunk["offset"] & ~511)
    for at, size in ((chunk["offset"] + CHUNK_HEADER.size + chunk["stored"] // 2, 1), (chunk["offset"] + rng.randrange(CHUNK_HEADER.size), 1), (block, 512 - block % 512)):
        write(path, data[:at] + bytes(b ^ 0x55 for b in data[at:at + size]) + data[at + size:])
        status, out, err = ask(UPTO, "check", path, "--json")
        found = json.loads(out)["findings"]
        texts = " ".join(f["text"] for f in found)
        assert status == 1, (err, out)
        hit = [c for c in chunks if c["offset"] < at + size and c["end"] > at]
        if at >= chunk["offset"] + CHUNK_HEADER.size:  # the payload
            assert kind == EVENTS or f"damaged at byte {chunk['offset']}: some " in texts and said(kind) in texts, texts
        elif hit[-1] is not chunks[-1]:
            assert re.search(r"damaged at byte \d+: \d+ chunks? in \d+ bytes cannot be found", texts), texts
        else:
            assert "a chunk header is damaged" in texts, texts
        # the instructions of chunks of events that are gone: those that check names, and those in the hole
        gone = {c["offset"] for c in hit if c["type"] == EVENTS}
        for offset, n in re.findall(r"damaged at byte (\d+): \d+ events of vCPU 0 in (\d+) chunks", texts):
            first = next(i for i, c in enumerate(events) if c["offset"] == int(offset))
            gone |= {c["offset"] for c in [c for c in events[first:] if c["offset"] not in gone or c["offset"] == int(offset)][:int(n)]}
        lost = sum(c["last_insns"] - c["first_insns"] for c in events if c["offset"] in gone)
        assert ran(path) == whole - lost, (number, at)
        if at >= chunk["offset"] + CHUNK_HEADER.size:
            status, out, err = ask(UPTO, "thin", "-f", "--depth", "1000", "-o", part, path)
            assert status == 0, err
            assert kind == EVENTS or "is a part of a trace that is damaged: some " in ask(UPTO, "info", part)[2]
    for left in (path, part):
        os.unlink(left)
    return f"seed {number}: chunk {chunk['number']} of {len(chunks)}"


def assert_top(path, what):
    status, out, err = ask(UPTO_ASAN, "top", path, "--json")
    if status == 0:
        json.loads(out)
    else:
        assert not out, f"{what}: top fails, but has printed something"
        # why it fails; before it perhaps the warning that something else is missing
        lines = err.splitlines()
        assert 1 <= len(lines) <= 2 and all(line.startswith(f"upto: {path}: ") for line in lines), f"{what}: {lines}"


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.long
@pytest.mark.weight(6)
def test_flipped_bits(part):
    """60 random bits, each flipped alone."""
    trace, data, chunks = short_trace()
    number = seed()
    rng = random.Random(number * 2 + part)
    path = os.path.join(WORK, f"robust-flip-{part}.upto")
    want = None
    harmless = []
    for _ in range(30):
        bit = rng.randrange(len(data) * 8)
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        write(path, flipped)
        what = f"seed {number}, bit {bit % 8} of byte {bit // 8}"
        if ask(UPTO_ASAN, "check", "--no-stacks", path)[0] == 1:
            assert_damaged(path, what)
            continue
        # Bits of a zstd frame that say how, not what (the unused bit and the window size of its header), do not matter: then the very same
        # content comes out.
        c = next((c for c in chunks if c["offset"] <= bit // 8 < c["end"]), None)
        assert c and bit // 8 >= c["offset"] + CHUNK_HEADER.size, f"{what}: in a header, and not found"
        place = f"byte {bit // 8 - c['offset'] - CHUNK_HEADER.size} of a payload"
        want = want or same_content(trace)
        assert same_content(path) == want, f"{what}: check is content with another trace"
        harmless.append(place)
    os.unlink(path)
    return f"seed {number}" + (f"; harmless: {', '.join(harmless)}" if harmless else "")


def test_harmless_bits():
    """The bits that test_flipped_bits lets pass: they are there, and change nothing."""
    trace, data, chunks = short_trace()
    path = os.path.join(WORK, "robust-harmless.upto")
    want = same_content(trace)
    c = next(c for c in chunks if c["type"] == EVENTS)
    # RFC 8878, 3.1.1.1.1: bit 4 of the byte behind the frame's magic number is unused, decoders ignore it
    for at, bit in ((c["offset"] + CHUNK_HEADER.size + 4, 4),):
        flipped = bytearray(data)
        flipped[at] ^= 1 << bit
        write(path, flipped)
        status, out, err = ask(UPTO_ASAN, "check", "--no-stacks", path)
        assert status == 0, f"bit {bit} of byte {at} of {len(data)}: {out.decode()}{err}"
        assert same_content(path) == want, (at, bit)
    # and the comparison sees a difference when there is one
    write(path, data[:chunks[-2]["end"]])
    assert same_content(path) != want
    os.unlink(path)


def same_content(trace):
    return (ask(UPTO, "info", trace, "--digest")[1], ask(UPTO, "info", trace, "--json")[1],
            ask(UPTO, "top", trace, "--json")[1])


def test_flipped_headers():
    """Every bit of the version, and one of every other byte of the file header and of every field of the headers of every type of chunk."""
    _, data, chunks = short_trace()
    path = os.path.join(WORK, "robust-header.upto")
    number = seed()
    rng = random.Random(number)
    version = 8
    places = [(f"file header byte {i}", i, bit) for i in range(16) for bit in (range(8) if i == version else [rng.randrange(8)])]
    for name, kind in TYPES.items():
        c = rng.choice([c for c in chunks if c["type"] == kind])
        # every field of the EVENTS header; some of the others'
        for field in FIELDS if kind == EVENTS else rng.sample(FIELDS, 4):
            at = c["offset"] + field_offset(field) + rng.randrange(field_size(field))
            places.append((f"{name} {field}", at, rng.randrange(8)))
    for what, at, bit in places:
        flipped = bytearray(data)
        flipped[at] ^= 1 << bit
        assert_damaged(write(path, flipped), f"seed {number}, {what}, byte {at}")
    os.unlink(path)
    return f"seed {number}: {len(places)} places"


def field_offset(field):
    return struct.calcsize("<" + CHUNK_HEADER.format.lstrip("<")[:FIELDS.index(field)])


def field_size(field):
    return struct.calcsize("<" + CHUNK_HEADER.format.lstrip("<")[FIELDS.index(field)])


LIES = {
    "type": [0, META, SITES, SYMBOLS, END, 77], "cpu": [1, 1023, 1024, 0xffff], "stored": [0, -1, 1, 0xffffffff],
    "unpacked": [0, -1, 1, 256 << 20, 0xffffffff], "number": [-1, 1, 1 << 63], "first_insns": [0, 1, (1 << 64) - 1],
    "last_insns": [0, 1, (1 << 64) - 1], "first_ns": [0, 1, (1 << 64) - 1], "last_ns": [0, 1, (1 << 64) - 1],
    "place": [0, 1, (1 << 64) - 1], "space": [1, (1 << 64) - 1], "task": [1, (1 << 64) - 1],
    "events": [0, 1, 0xffffffff], "flags": [1],
}


@pytest.mark.parametrize("field", list(LIES))
def test_lying_headers(field):
    """Headers with a right checksum that do not tell the truth: -1 and 1 are one less and one more, others as they are."""
    _, data, chunks = short_trace()
    path = os.path.join(WORK, f"robust-lie-{field}.upto")
    events = [c for c in chunks if c["type"] == EVENTS]
    c = events[len(events) // 2]
    told = 0
    for lie in LIES[field]:
        value = (c[field] + lie) % (1 << 8 * field_size(field)) if lie in (-1, 1) and field not in ("flags", "cpu") else lie
        if value == c[field]:
            continue
        header = dict(c, **{field: value})
        raw = CHUNK_HEADER.pack(*(header[f] for f in FIELDS[:-1]), 0)[:-4]
        raw += struct.pack("<I", zlib.crc32(raw))
        changed = data[:c["offset"]] + raw + data[c["offset"] + len(raw):]
        assert_damaged(write(path, changed), f"{field} {value} for {c[field]} in the chunk at {c['offset']}")
        told += 1
    os.unlink(path)
    return f"{told} lies"


def test_put_together():
    """Chunks taken out, doubled, swapped."""
    _, data, chunks = short_trace()
    path = os.path.join(WORK, "robust-chunks.upto")
    parts = [data[c["offset"]:c["end"]] for c in chunks]
    middle = len(parts) // 2
    for what, order in {
        "one taken out": parts[:middle] + parts[middle + 1:],
        "one twice": parts[:middle + 1] + parts[middle:],
        "two swapped": parts[:middle] + [parts[middle + 1], parts[middle]] + parts[middle + 2:],
        "only the end": parts[-1:],
        "END first": parts[-1:] + parts[:-1],
    }.items():
        assert_damaged(write(path, data[:FILE_HEADER] + b"".join(order)), what)
    os.unlink(path)


@pytest.mark.parametrize("what", ["a trace", "zeros", "one byte"])
def test_more_behind_the_end(what):
    """Nothing follows END, says format.h: what does is no part of the trace, and check says that it is there."""
    _, data, _ = short_trace()
    path = os.path.join(WORK, f"robust-behind-{what.replace(' ', '-')}.upto")
    more = {"a trace": data, "zeros": bytes(4096), "one byte": b"x"}[what]
    assert_damaged(write(path, data + more), f"{what} behind the end")
    os.unlink(path)


def test_bomb():
    """A chunk of 20 kB with 20 million records is refused before they take 3 GB."""
    _, data, chunks = short_trace()
    path = os.path.join(WORK, "robust-bomb.upto")
    for kind, name, fields in (6, "tasks", 11), (7, "code", 12), (8, "files", 3):
        unpacked = (bytes([1]) + bytes(fields)) * 20_000_000
        stored = subprocess.run(["zstd", "-q", "-c"], input=unpacked, capture_output=True, check=True).stdout
        assert len(stored) < 50_000
        header = dict(chunks[1], type=kind, stored=len(stored), unpacked=len(unpacked), events=0)
        raw = CHUNK_HEADER.pack(*(header[f] for f in FIELDS[:-1]), 0)[:-4]
        bomb = raw + struct.pack("<I", zlib.crc32(raw)) + stored
        write(path, data[:chunks[1]["offset"]] + bomb)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        p = run(UPTO, "info", path, check=False, preexec_fn=limit)
        assert p.returncode == 1 and re.search(rb"more \w+( of \w+)? than so few bytes can hold$", p.stderr), (name, p)
    os.unlink(path)


@pytest.mark.parametrize("command", READING)
def test_not_a_trace(command):
    """Files that are no traces at all: exit 1 and one line that names them."""
    folder = tempfile.mkdtemp(prefix=f"robust-{command}-", dir=WORK)
    text = write(os.path.join(folder, "text"), b"no trace, but long enough to be looked at\n" * 100)
    empty = write(os.path.join(folder, "empty"), b"")
    nearly = write(os.path.join(folder, "nearly"), b"\x89upto\r\n\x1a\x63\0\0\0\0\0\0\0")
    for path in (text, empty, nearly, folder, "/dev/null", os.path.join(folder, "nothing"), text + "/below", UPTO,
                 os.path.join(folder, "n" * 300)):
        status, out, err = ask(UPTO_ASAN, command, path, timeout=10)
        assert status == 1 and not out, (command, path, status, out)
        one_line(err, path, f"{command} {path}")
    shutil.rmtree(folder)


def test_fifo():
    """A pipe that nobody writes to is refused at once, as other files that are not regular."""
    path = os.path.join(WORK, "robust.fifo")
    if not os.path.exists(path):
        os.mkfifo(path)
    try:
        status, out, err = ask(UPTO_ASAN, "info", path, timeout=3)
    except subprocess.TimeoutExpired:
        raise AssertionError("upto waits for a writer") from None
    assert status == 1 and not out, (status, out)
    one_line(err, path, "info")
    assert "not a regular file" in err, err


def test_unreadable():
    """A trace that one may not read."""
    folder = tempfile.mkdtemp(prefix="upto-robust-")
    path = write(os.path.join(folder, "secret.upto"), short_trace()[1])
    os.chmod(folder, 0o755)
    os.chmod(path, 0)
    program = shutil.copy(UPTO, folder)
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    p = run(program, "info", path, check=False, **other)
    assert p.returncode == 1 and not p.stdout, p
    one_line(p.stderr.decode(), path, "info")
    assert "Permission denied" in p.stderr.decode(), p.stderr
    shutil.rmtree(folder)


def test_odd_name():
    """The control characters of a name that is no text do not reach the terminal."""
    name = os.path.join(WORK.encode(), b"no\x1b[31m\nsuch\xff.upto")
    p = subprocess.run([UPTO_ASAN.encode(), b"info", name], stdin=subprocess.DEVNULL, capture_output=True)
    assert p.returncode == 1 and not p.stdout, p
    assert p.stderr.count(b"\n") == 1 and b"\x1b" not in p.stderr and b"such" in p.stderr, p.stderr
