# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions after the recording: what they answer is what the same questions answer while it is recorded."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, Once, check, initrd, is_older, qemu_args, record, run, upto_json
from test_probes import events_of
from test_sources import multiboot, other_args

PROBES = ["vfs_read file->f_path.dentry->d_name.name:string count", "back=do_filp_open%return $retval"]
EVENTS = "sched:sched_process_*"
ARGS = "do_filp_open,ksys_read"


def args_of(disk=None):
    return qemu_args("6.12", initrd("6.12", "past"), disk=disk)


def path(name):
    return os.path.join(WORK, f"past-{name}.upto")


def deterministic(name, *options, args=None):
    """The trace, recorded once and copied, since questions add to it."""
    made = path("made-" + name)
    with Once(made):
        if is_older(made, UPTO, os.path.join(TOP, "tests/guests/past.init")):
            record(made, args or args_of(), "--deterministic", *options)
    return made


def copy(trace, name):
    return shutil.copyfile(trace, path(name))


def ask(trace, *question, upto=UPTO):
    return subprocess.run([upto, "probe", trace, *question], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)


def digest(trace):
    return run(UPTO, "info", "--digest", trace).stdout


def calls_with_args(trace):
    return run(UPTO, "calls", "--json", "--args", "--depth", "1", "--function", ARGS, trace).stdout


def refused(trace, *question, status=1):
    before = open(trace, "rb").read()
    p = ask(trace, *question, upto=UPTO_ASAN)
    assert p.returncode == status and not p.stdout, (p.stdout[-500:], p.stderr)
    assert open(trace, "rb").read() == before
    assert not [f for f in os.listdir(WORK) if f.startswith(os.path.basename(trace) + ".again")]
    return p.stderr


@pytest.mark.weight(30)
def test_asked_later():
    """Probes, events and arguments, in one run that is made again; then what a window of it answers; then nothing has to run."""
    whole = deterministic("asked", *(o for d in PROBES for o in ("--probe", d)), "--event", EVENTS, "--args", ARGS)
    trace = copy(deterministic("plain"), "later")
    before = digest(trace)
    p = ask(trace, *PROBES, "--event", EVENTS, "--args", ARGS)
    assert p.returncode == 0 and "runs again" in p.stderr, p.stderr
    found = events_of(trace)
    assert found == events_of(whole) and len(found) > 100, (len(found), len(events_of(whole)))
    assert calls_with_args(trace) == calls_with_args(whole)
    assert digest(trace) == before == digest(whole)
    check(trace)
    text = run(UPTO, "events", trace).stdout.decode()
    assert p.stdout == text and 'name="order"' in text, p.stdout[:500]
    again = ask(trace, *PROBES, "--event", EVENTS, "--args", ARGS)
    assert (again.returncode, again.stdout, again.stderr) == (0, text, "")
    # one function, of which the trace knows when it is called first and last; the name is taken
    p = ask(trace, "vfs_read pos")
    assert p.returncode == 0 and re.search(r"runs again up to [\d.]+; all of it took \d+ s", p.stderr), p.stderr
    some = events_of(trace, "-e", "probe:vfs_read_1")
    assert [(e["insns"], e["pid"]) for e in some] == [(e["insns"], e["pid"]) for e in found if e["event"] == "probe:vfs_read"]
    assert p.stdout == run(UPTO, "events", "-e", "probe:vfs_read_1", trace).stdout.decode()
    return f"{len(found)} records, then {len(some)}"


@pytest.mark.weight(15)
def test_behind_text():
    """A place that has no name of its own is asked for, too, with one that has: neither is looked for near the other alone."""
    trace = copy(deterministic("plain"), "text")
    p = ask(trace, "kernel_init text={&_text}:x64", "vfs_read count")
    assert p.returncode == 0, p.stderr
    named = events_of(trace, "-e", "probe:vfs_read")
    [start] = [e["args"]["text"] for e in events_of(trace, "-e", "probe:kernel_init")]
    offset = int(named[0]["args"]["__probe_ip"], 16) - start
    p = ask(trace, "kernel_init", f"unnamed=_text+{offset} count=%dx:u64")
    assert p.returncode == 0, p.stderr
    found = events_of(trace, "-e", "probe:unnamed")
    assert [(e["insns"], e["args"]["count"]) for e in found] == [(e["insns"], e["args"]["count"]) for e in named] and len(found) > 10, (len(found), len(named))


@pytest.mark.weight(12)
def test_interrupted():
    """Ctrl-C adds nothing and leaves nothing; what a killed one leaves, the next question takes away."""
    trace = copy(deterministic("plain"), "interrupted")
    before = open(trace, "rb").read()

    def start():
        p = subprocess.Popen([UPTO, "probe", trace, "ksys_read fd"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        again = f"{trace}.again.{p.pid}"
        for _ in range(600):
            if os.path.exists(again) and os.path.getsize(again) > 100000:
                return p, again
            time.sleep(0.1)
        raise AssertionError(p.communicate(timeout=5))

    p, again = start()
    os.killpg(p.pid, signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 1 and not out and b"nothing is added" in err and not os.path.exists(again), (p.returncode, err)
    p, again = start()
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    assert os.path.exists(again)
    # another host's, or container's, may be at work on what is new
    ask(trace, "no_such_function_at_all")
    assert os.path.exists(again)
    os.utime(again, (0, 0))
    with open(f"{trace}.again.{os.getpid()}", "wb"), open(f"{trace}.again.old", "wb"):
        pass
    for n in os.getpid(), "old":
        os.utime(f"{trace}.again.{n}", (0, 0))
    assert "no function no_such" in ask(trace, "no_such_function_at_all").stderr
    left = {f for f in os.listdir(WORK) if f.startswith(os.path.basename(trace) + ".again")}
    for f in left:
        os.unlink(os.path.join(WORK, f))
    assert left == {os.path.basename(trace) + f".again.{n}" for n in (os.getpid(), "old")}, left
    assert open(trace, "rb").read() == before


def changed_firmware(folder):
    """A BIOS that says less of itself: some instructions fewer, and all else is the same."""
    bios = next(f for f in ("/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/bios-256k.bin") if os.path.exists(f))
    os.makedirs(folder, exist_ok=True)
    data = open(bios, "rb").read()
    at = data.index(b"SeaBIOS (version %s)")
    with open(os.path.join(folder, "bios-256k.bin"), "wb") as f:
        f.write(data)
    return lambda: open(os.path.join(folder, "bios-256k.bin"), "wb").write(data[:at] + b"Sea\0" + data[at + 4:])


@pytest.mark.weight(20)
def test_another_run():
    """A guest that does not run as it had is noticed at its first other event, and nothing is added."""
    folder = os.path.join(WORK, "past-firmware")
    change = changed_firmware(folder)
    trace = path("firmware")
    # the files of a folder are not looked at before
    record(trace, other_args(multiboot("calls")) + ["-L", folder], "--deterministic")
    change()
    said = refused(trace, "--event", EVENTS)
    assert re.search(r"the guest did not run as it had: [\d.]+ on CPU 0: \S+ to 0x\w+ at instruction \d+ then, .* now; nothing is added", said), said
    return said.split("\n")[-2]


@pytest.mark.weight(20)
def test_refused():
    """What cannot run again, and what nothing would come of, is said before anything runs."""
    trace = copy(deterministic("plain"), "refused")
    assert "nothing is called" not in refused(trace, status=2)
    assert "no function no_such" in refused(trace, "no_such_function_at_all")
    assert "control was in none of these functions" in refused(trace, "kernel_kexec")
    assert re.search("bogus", refused(trace, "vfs_read bogus[", status=1))
    thin = path("thin")
    run(UPTO, "thin", "-f", "--start", "entry:vfs_read", "-o", thin, trace)
    assert "is a part of its guest's run" in refused(thin, "vfs_read")
    # the same file with other contents
    moved = path("moved")
    image = moved + ".img"
    shutil.copyfile(initrd("6.12", "past"), image)
    args = other_args(multiboot("calls")) + ["-initrd", image]
    record(moved, args, "--deterministic", "--stop", "time:1ms", "--start", "time:0s")
    assert "is a part" in refused(moved, "vfs_read")
    record(moved, args, "--deterministic")
    with open(image, "ab") as f:
        f.write(bytes(4))
    assert f"{image} has changed since" in refused(moved, "vfs_read")
    os.unlink(image)
    assert f"{image} is not there any more" in refused(moved, "vfs_read")
    record(moved, other_args(multiboot("calls")))
    assert "upto record --deterministic" in refused(moved, "vfs_read")
    # somebody else's trace starts nothing by itself
    elsewhere = {**os.environ, "XDG_STATE_HOME": path("nowhere")}
    p = subprocess.run([UPTO_ASAN, "probe", trace, "vfs_read"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=elsewhere)
    assert p.returncode == 1 and "was not recorded here by this user" in p.stderr and "again" not in p.stderr, p.stderr
    [kept] = [f for f in os.listdir(os.path.join(os.environ["XDG_STATE_HOME"], "upto/runs")) if f == upto_json("info", "--json", trace)["meta"]["run.id"]]
    other = os.path.join(path("other"), "upto/runs")
    os.makedirs(other, exist_ok=True)
    with open(os.path.join(os.environ["XDG_STATE_HOME"], "upto/runs", kept)) as f, open(os.path.join(other, kept), "w") as g:
        g.write(f.read().replace("-nographic", "-nographic -x", 1))
    elsewhere["XDG_STATE_HOME"] = path("other")
    p = subprocess.run([UPTO_ASAN, "probe", trace, "vfs_read"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=elsewhere)
    assert p.returncode == 1 and "was not recorded here by this user" in p.stderr, p.stderr
    # but what the user gives
    elsewhere["XDG_STATE_HOME"] = path("nowhere")
    p = subprocess.run([UPTO, "probe", copy(trace, "given"), "do_filp_open", "--", *args_of()], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=elsewhere)
    assert p.returncode == 0 and "do_filp_open" in p.stdout, p.stderr


def make_disk(name):
    disk = path(name) + ".disk"
    with open(disk, "wb") as f:
        f.write(bytes(range(256)) * 4096 * 8)
    return disk


@pytest.mark.long
@pytest.mark.weight(40)
def test_replayable():
    """A guest with a disk, whose requests are done when the host has done them: from QEMU's log it runs as it had."""
    disk = make_disk("replayable")
    before = open(disk, "rb").read()
    trace = path("replayable")
    p = record(trace, args_of(disk), "--replayable")
    assert b"written" in p.stdout and open(disk, "rb").read() == before
    check(trace)
    p = ask(trace, "--event", "block:block_rq_*", "vfs_read count")
    assert p.returncode == 0, p.stderr
    found = events_of(trace)
    requests = [e for e in found if e["event"] == "block:block_rq_issue"]
    assert len(requests) > 3 and [e for e in found if e["event"] == "probe:vfs_read"], p.stdout[-2000:]
    disk_requests = upto_json("disk", "--json", trace)["requests"]
    assert [e["args"]["sector"] for e in requests] == [d["sector"] for d in sorted(disk_requests, key=lambda d: d["start_ns"])], (requests, disk_requests)
    return f"{len(requests)} requests of {len(found)} records"


@pytest.mark.long
@pytest.mark.weight(60)
def test_replay():
    """A run that nobody traced, from the log that plain QEMU wrote: twice the same, and it says what the guest had said."""
    disk, log = make_disk("plain"), path("plain") + ".log"
    args = args_of()
    args += ["-drive", f"file={disk},if=none,format=raw,snapshot=on,id=image", "-drive", "driver=blkreplay,if=none,image=image,id=disk",
             "-device", "virtio-blk-pci,drive=disk"]
    plain = run(*args, "-icount", f"shift=0,rr=record,rrfile={log}", "-seed", "42")
    traces = [path(f"replay{i}") for i in range(2)]
    for trace, command in zip(traces, (args, args_of(disk))):
        p = run(UPTO, "replay", "-f", "-o", trace, log, "--", *command)
        assert p.stdout == plain.stdout and b"written" in p.stdout, p.stdout[-500:]
        check(trace)
    # up to where the machine is to be switched off: for how long a vCPU runs on behind that is the host's
    ends = {upto_json("info", "--json", trace)["ending"]["ns"] for trace in traces}
    assert len(ends) == 1, ends
    for trace in traces:
        run(UPTO, "thin", "-f", "--stop", f"time:{min(ends)}ns", "-o", trace + ".up", trace)
    assert digest(traces[0] + ".up") == digest(traces[1] + ".up")
    p = ask(traces[0], "vfs_open")
    assert p.returncode == 0 and "vfs_open" in p.stdout, p.stderr
