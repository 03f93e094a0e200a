# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that goes on from a snapshot: what was there before has its names, and what is not recorded is said."""
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from guest import TOP, UPTO, WORK, Once, check, full_args, full_image, initrd, is_older, qemu_args, run, upto_json

READY = b"ready"


def ticks():
    out, source = os.path.join(WORK, "snapshot-ticks.elf"), os.path.join(TOP, "tests/guests/snapshot.c")
    with Once(out):
        if is_older(out, source):
            run("gcc", "-O1", "-static", "-o", out, source)
    return out


class Monitor:
    """QEMU's, by QMP."""
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        begun = time.time()
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                assert time.time() < begun + 60, "QEMU has no monitor"
                time.sleep(0.05)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, **({"arguments": arguments} if arguments else {})}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            assert "error" not in answer, answer
            if "return" in answer:
                return answer["return"]

    def wait_for(self, command, key, value):
        while self.ask(command).get(key) != value:
            time.sleep(0.05)


def parts(folder, smp, disk):
    """The guest's QEMU, its serial line, and where its monitor is."""
    serial, monitor = os.path.join(folder, "serial"), os.path.join(folder, "monitor")
    args = qemu_args("6.12", initrd("6.12", "snapshot", f"{ticks()}=/bin/ticks", newer_than=[ticks()]), smp=smp, thread="multi" if smp > 1 else "single")
    args.remove("-nographic")
    for old in (serial, monitor):
        if os.path.exists(old):
            os.unlink(old)
    return [*args, *disk, "-display", "none", "-monitor", "none", "-serial", f"file:{serial}", "-qmp", f"unix:{monitor},server=on,wait=off"], serial, monitor


def disk_of(folder):
    """What QEMU can keep a snapshot in."""
    if not shutil.which("qemu-img"):
        pytest.skip("no qemu-img")
    path = os.path.join(folder, "disk.qcow2")
    run("qemu-img", "create", "-f", "qcow2", path, "64M")
    return ["-drive", f"file={path},if=virtio"]


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return b""


def make_snapshot(folder, smp, disk, save):
    """What it prints up to there."""
    args, serial, monitor = parts(folder, smp, disk)
    with subprocess.Popen(args, stdin=subprocess.DEVNULL) as guest:
        asked = Monitor(monitor)
        while READY not in read(serial):
            time.sleep(0.05)
        asked.ask("stop")
        save(asked)
        asked.ask("quit")
        assert guest.wait(60) == 0
    return read(serial).decode(errors="replace")


def go_on(folder, smp, disk, how, trace, *options, stopped=True):
    """Record it from there on; what it prints. A snapshot of a guest that stood still stands still."""
    args, serial, monitor = parts(folder, smp, disk)
    with subprocess.Popen([UPTO, "record", "-f", "-o", trace, *options, "--", *args, *how], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        if stopped:
            asked = Monitor(monitor)
            asked.wait_for("query-status", "status", "paused")
            asked.ask("cont")
        said = p.communicate(timeout=300)[1].decode()
    assert p.returncode == 0, said
    return read(serial).decode(errors="replace"), said


def sleepers_held(trace, before):
    """Where threads slept in the snapshot is where the guest's own unwinder had them, up to the system call."""
    began = upto_json("info", "--json", trace)["spans"][0]["start_ns"]
    found = upto_json("stack", "--json", "--at", f"{began}ns", trace)["stacks"]
    # where each left its CPU is known
    nowhere = [s for s in found if s["cpu"] is None and s["frames"][0]["address"] is None]
    assert not nowhere, nowhere
    stacks = {s["pid"]: [f["function"] for f in s["frames"]] for s in found}
    before = re.sub(r"^tick \d+\r?\n", "", before, flags=re.M)
    told = re.findall(r"^stack (\d+)\r?\n((?:\[<0>\] .*\n)+)", before, re.M)
    for pid, lines in told:
        # what follows the first instructions of the entry is a label in it
        want = [name.replace("_after_hwframe", "") for name in re.findall(r"^\[<0>\] (\S+?)\+0x", lines, re.M)]
        got = [name.split(" ")[0] for name in stacks[int(pid)]]
        at = got.index(want[0])
        assert got[at:at + len(want)] == want, (pid, want, got)
    assert len(told) == 2, before[-500:]
    waits = [w for w in upto_json("waits", "--json", "-n", "0", trace)["waits"] if w["pid"] == int(told[1][0])]
    assert [w["kind"] for w in waits] == ["timer"], waits


def held_against_guest(trace, out):
    """Names, processes, calls and system calls, against what the guest printed from there on."""
    check(trace)
    info = upto_json("info", "--json", trace)
    began = info["spans"][0]["start_ns"]
    assert len(info["spans"]) == 1 and info["meta"]["command_line"].startswith("console=ttyS0"), info["meta"]
    # who was there is there, whether it ran or not
    told = dict(re.findall(r"^pid (\d+) ([^\r\n]*)\r?$", out, re.M))
    processes = upto_json("ps", "--json", trace)["processes"]
    names = {str(p["pid"]): p["comm"] for p in processes if p["end_ns"] is None or p["end_ns"] > 0}
    # a kernel thread's name is cut off in its task, and a worker's has what it did last behind it
    differ = {pid: (comm, names.get(pid)) for pid, comm in told.items() if comm.split("-")[0][:15] != (names.get(pid) or "").split("-")[0]}
    assert len(told) > 30 and not differ, differ
    # a program and a module of before
    functions = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    ticked = len(re.findall(r"^tick \d+\r?$", out, re.M))
    assert ticked > 20 and abs(functions.get("ticked [ticks]", 0) - ticked) <= 1, (ticked, functions.get("ticked [ticks]"))
    assert functions["ext4_init_fs_context [ext4]"] == 1
    stats = [c for c in upto_json("syscalls", "--json", "--path", "/init", trace)["syscalls"] if "stat" in c["name"]]
    assert len(stats) == len(re.findall(r"^stat \d+\r?$", out, re.M)) == 20
    # the log has what it had
    lines = upto_json("log", "--json", trace)["log"]
    earlier = [line for line in lines if line["ns"] is None]
    assert upto_json("log", "--json", "--pid", "1", trace)["log"] == [line for line in lines if line["pid"] == 1] and any(line["pid"] == 1 for line in earlier)
    assert lines[0]["text"].startswith("Linux version 6.12") and len(earlier) > 100 and lines[:len(earlier)] == earlier, lines[:3]
    # nothing is said of what was before
    phases = [s for s in upto_json("timeline", "--json", "--all", trace)["timeline"] if s["kind"] == "phase"]
    assert [p["name"] for p in phases[:2]] == ["before the snapshot", "user"] and phases[0]["end_ns"] <= began, phases
    why = upto_json("why", "--json", trace)
    assert sum(c["ns"] for c in why["causes"]) <= why["total_ns"] == why["until_ns"] - began, (why["total_ns"], why["until_ns"], began)
    return f"{len(told)} tasks, {ticked} ticks"


@pytest.mark.parametrize("smp", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.weight(25)
def test_incoming(smp, tmp_path):
    """-incoming: all that ran before is known by name."""
    folder, trace = str(tmp_path), os.path.join(WORK, f"snapshot-{smp}.upto")
    image = os.path.join(folder, "image")

    def save(asked):
        asked.ask("migrate", uri=f"exec:cat >{image}")
        asked.wait_for("query-migrate", "status", "completed")

    before = make_snapshot(folder, smp, [], save)
    out, _ = go_on(folder, smp, [], ["-incoming", f"exec:cat {image}"], trace)
    sleepers_held(trace, before)
    return held_against_guest(trace, out)


@pytest.mark.long
@pytest.mark.weight(25)
def test_loadvm(tmp_path):
    """-loadvm, and with a start condition and before it: the same names in the part that is recorded."""
    folder, trace = str(tmp_path), os.path.join(WORK, "snapshot-loadvm.upto")
    drive = disk_of(folder)
    make_snapshot(folder, 1, drive, lambda asked: asked.ask("human-monitor-command", **{"command-line": "savevm here"}))
    out, _ = go_on(folder, 1, drive, ["-loadvm", "here"], trace, stopped=False)
    said = held_against_guest(trace, out)
    for options, within in ((["--start", "exec:poweroff"], "poweroff"), (["--start", "exec:poweroff", "--before", "10s"], "ticks"),
                            (["--start", "entry:ext4:ext4_init_fs_context", "--stop", "exit:ext4:ext4_init_fs_context"], "mount")):
        go_on(folder, 1, drive, ["-loadvm", "here"], trace, *options, stopped=False)
        check(trace)
        assert within in {p["comm"] for p in upto_json("ps", "--json", trace)["processes"] if p["self_insns"]}, options
    return said


@pytest.mark.long
@pytest.mark.weight(25)
def test_loaded_meanwhile(tmp_path):
    """The monitor's loadvm while it is recorded: what was ends there, and the snapshot is a boot of its own whose time goes on."""
    folder, trace = str(tmp_path), os.path.join(WORK, "snapshot-meanwhile.upto")
    args, serial, monitor = parts(folder, 1, disk_of(folder))
    with subprocess.Popen([UPTO, "record", "-f", "-o", trace, "--", *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        asked = Monitor(monitor)
        for until, command in (READY, "savevm here"), (b"stat 5", "loadvm here"):
            while until not in read(serial):
                time.sleep(0.05)
            asked.ask("human-monitor-command", **{"command-line": command})
        said = p.communicate(timeout=300)[1].decode()
    assert p.returncode == 0, said
    check(trace)
    boots = upto_json("info", "--json", trace)["boots"]
    assert len(boots) == 2 and boots[0]["kernel"] == boots[1]["kernel"] and boots[0]["slide"] == boots[1]["slide"], boots
    out = read(serial).decode(errors="replace")
    for number, stats in (1, None), (2, 20):
        made = [c for c in upto_json("syscalls", "--json", "--boot", str(number), "--path", "/init", trace)["syscalls"] if "stat" in c["name"]]
        # the first boot may have made one that its line does not tell of any more
        assert stats in (None, len(made)) and len(made) >= 5, (number, len(made))
    functions = {f["function"] for f in upto_json("top", "--json", "-n", "0", "--boot", "2", trace)["functions"]}
    assert {"ticked [ticks]", "ext4_init_fs_context [ext4]"} <= functions
    assert out.count("reboot: Power down") == 1


@pytest.mark.weight(12)
def test_loaded_later(tmp_path):
    """A snapshot of an earlier run, of a time that this one has not come to yet: QEMU's clock goes forward, and guest time does not."""
    folder, trace, disk = str(tmp_path), os.path.join(WORK, "snapshot-later.upto"), disk_of(str(tmp_path))
    make_snapshot(folder, 1, disk, lambda asked: asked.ask("human-monitor-command", **{"command-line": "savevm here"}))
    args, serial, monitor = parts(folder, 1, disk)
    with subprocess.Popen([UPTO, "record", "-f", "-o", trace, "--", *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        asked = Monitor(monitor)
        time.sleep(1)  # firmware, or the kernel's begin
        asked.ask("human-monitor-command", **{"command-line": "loadvm here"})
        asked.ask("cont")
        said = p.communicate(timeout=300)[1].decode()
    assert p.returncode == 0, said
    check(trace)
    info = upto_json("info", "--json", trace)
    last = info["boots"][-1]
    assert len(info["boots"]) == 2 and last["kernel"] and last["start_ns"] < 3 * 10 ** 9, info["boots"]
    made = [c for c in upto_json("syscalls", "--json", "--boot", "2", "--path", "/init", trace)["syscalls"] if "stat" in c["name"]]
    functions = {f["function"] for f in upto_json("top", "--json", "-n", "0", "--boot", "2", trace)["functions"]}
    assert len(made) == 20 and {"ticked [ticks]", "ext4_init_fs_context [ext4]"} <= functions, len(made)


def held_frames(trace, at):
    """Each thread's functions, the innermost first, but for those that jumped to the next one: nothing on a stack tells of them."""
    stacks = {}
    for stack in upto_json("stack", "--json", "--at", f"{at}ns", trace)["stacks"]:
        frames = stack["frames"]
        if stack["cpu"] is None:
            stacks[stack["pid"]] = [f["function"] for i, f in enumerate(frames) if not i or frames[i - 1]["kind"] != "tail"]
    return stacks


def user_part(frames):
    return next((i for i, f in enumerate(frames) if f.startswith("entry_SYSCALL") or f.startswith("asm_")), len(frames))


@pytest.mark.kernels
@pytest.mark.weight(120)
def test_full(tmp_path):
    """A Debian in the middle of its boot: what follows is what the recording has that went through, and all threads sleep where they slept there."""
    folder, disk = str(tmp_path), os.path.join(tmp_path, "disk.qcow2")
    if not shutil.which("qemu-img"):
        pytest.skip("no qemu-img")
    run("qemu-img", "create", "-f", "qcow2", "-b", os.path.abspath(full_image()), "-F", "raw", disk)
    serial, monitor = os.path.join(folder, "serial"), os.path.join(folder, "monitor")
    args = full_args("systemd.show_status=1")
    args.remove("-nographic")
    at = args.index("-drive")
    args = [*args[:at], "-drive", f"file={disk},if=virtio", "-icount", "shift=1,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm",
            "-display", "none", "-monitor", "none", "-serial", f"file:{serial}", "-qmp", f"unix:{monitor},server=on,wait=off"]
    through, after = (os.path.join(WORK, f"snapshot-{name}.upto") for name in ("through", "after"))
    with subprocess.Popen([UPTO, "record", "-f", "-o", through, "--", *args], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        asked = Monitor(monitor)
        while b"Local File Systems" not in read(serial):
            assert p.poll() is None, p.stderr.read()
            time.sleep(0.05)
        asked.ask("human-monitor-command", **{"command-line": "savevm here"})
        said = p.communicate(timeout=900)[1].decode()
    assert p.returncode == 0, said
    run(UPTO, "record", "-f", "-o", after, "--", *args, "-loadvm", "here", timeout=900)
    for trace in through, after:
        check(trace)
    began = upto_json("info", "--json", after)["spans"][0]["start_ns"]
    held, there = held_frames(through, began + 1), held_frames(after, began + 1)
    assert len(there) > 40 and set(there) <= set(held), set(there) - set(held)
    differ = {pid: (held[pid], frames) for pid, frames in there.items() if held[pid][:user_part(frames)] != frames[:user_part(frames)]}
    assert not differ, differ
    lines = [upto_json("log", "--json", t)["log"] for t in (through, after)]
    earlier = [line["text"] for line in lines[0] if line["ns"] < began], [line["text"] for line in lines[1] if line["ns"] is None]
    assert earlier[0] == earlier[1] and len(earlier[1]) > 300, (len(earlier[0]), len(earlier[1]))
    names = [{(p["comm"].split("-")[0].split("/")[0], p["exe"]) for p in upto_json("ps", "--json", t)["processes"]
              if (p["end_ns"] is None or p["end_ns"] > began) and not p["comm"].startswith("kworker")} for t in (through, after)]
    assert names[0] == names[1] and len(names[1]) > 50, names[0] ^ names[1]
    units = [{s["name"] for s in upto_json("timeline", "--json", "--all", t)["timeline"] if s["kind"] == "unit" and s["start_ns"] > began} for t in (through, after)]
    assert units[0] == units[1] and len(units[1]) > 5, units
    calls = [{f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", "--from", f"{began}ns", t)["functions"]} for t in (through, after)]
    total = sum(calls[0].values())
    apart = sum(abs(calls[0].get(f, 0) - calls[1].get(f, 0)) for f in {*calls[0], *calls[1]})
    # disks answer when the host does: udev may have come to load a driver or two before the power-off, or not
    assert total > 10e6 and apart < 0.15 * total, (total, apart)
    return f"{len(there)} stacks, {len(units[1])} units, {total} calls, of which {100 * apart / total:.1f} % more or less"
