# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that are slow on purpose, each in one way: what upto says that it was."""
import gzip
import lzma
import os
import random
import re
import shlex
import shutil

import pytest

from guest import TOP, UPTO, WORK, Once, check, initrd, is_older, module, once_a_run, qemu_args, record, run, upto_json

# way → what any of the first three causes has to say
WAYS = {
    "sleep": ["msleep", "slow_init"],
    "spin": ["slow_init", "delay_tsc"],
    "probe": ["slow_device", "slow_probe [slow]"],
    "lock": ["msleep", "slow_holder"],
    "service": ["nanosleep", "slow-server"],
    "initramfs": ["initramfs", "unpack_to_rootfs"],
    "console": ["console output"],
    "fork": ["threads"],
    "hash": ["sha256sum"],
    "clear": ["slow_init [slow]", "on CPU"],
    "work": ["work slow_work", "msleep"],
    "rcu": ["slow_init", "synchronize_rcu"],
    "softirq": ["slow_tick [slow]", "delay_tsc"],
    "hog": ["slow-hog", "had the CPU"],
}
QUICK = "lock", "console"
# without a module: this machine's compiler may be too old for what a new kernel's are built with
SCRIPTED = "service", "fork", "hash", "hog"
ELSEWHERE = [("6.1", way, 1) for way in WAYS if way not in ("initramfs", "hog", "softirq")] + [("7", way, 1) for way in SCRIPTED] + [
    ("6.12", way, 4) for way in WAYS if way not in ("initramfs", "hog", "softirq", "hash")]
CASES = [pytest.param("6.12", way, 1, marks=() if way in QUICK else pytest.mark.kernels) for way in WAYS] + [
    pytest.param(*case, marks=pytest.mark.kernels) for case in ELSEWHERE]


def slow_module(version):
    return module(version, "slow", os.path.join(TOP, "tests/guests/slow.c"))


def slow_image(version, way):
    if way in SCRIPTED:
        return initrd(version, "slow")
    image = initrd(version, "slow", f"{slow_module(version)}=/slow.ko", image=os.path.join(WORK, f"slow-{version}-module.img"), newer_than=[slow_module(version)])
    if way != "initramfs":
        return image
    packed = os.path.join(WORK, f"slow-{version}-xz.img")
    with Once(packed):
        if is_older(packed, image):
            big = os.path.join(WORK, "slow-big")
            with open(big, "wb") as f:
                f.write(bytes(random.Random(1).choices(b"abcdefgh", k=16 << 20)))
            plain = initrd(version, "slow", f"{slow_module(version)}=/slow.ko", f"{big}=/big", image=packed + ".gz")
            # the kernel knows CRC-32 only: lib/decompress_unxz.c
            with gzip.open(plain) as f, lzma.open(packed + ".part", "wb", check=lzma.CHECK_CRC32, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}]) as g:
                shutil.copyfileobj(f, g)
            os.rename(packed + ".part", packed)
    return packed


def recording(version, way, smp=1):
    trace = os.path.join(WORK, f"slow-{version}-{way}-{smp}.upto")

    def make():
        args = qemu_args(version, slow_image(version, way), smp=smp, thread="multi" if smp > 1 else "single",
                         disk=trace.replace(".upto", ".disk"), append=f"slow={way}")
        if way == "console":
            args[args.index("-append") + 1] = args[args.index("-append") + 1].replace("quiet", "ignore_loglevel")
        record(trace, args)

    once_a_run(trace, make)
    return trace


def whole(trace):
    """The answer, of which every nanosecond is told once, and nothing is unknown."""
    why = upto_json("why", "--json", trace)
    at = 0
    for link in why["chain"]:
        assert link["start_ns"] == at < link["end_ns"], link
        at = link["end_ns"]
    assert at == why["total_ns"] == sum(c["ns"] for c in why["causes"])
    assert not [link for link in why["chain"] if link["kind"] == "unknown"]
    return why


def others(trace):
    """Who had the one vCPU while a thread waited: at least as long as they took it away, and not longer than it waited."""
    rows = [r for r in upto_json("timeline", "--json", trace)["timeline"] if r["kind"] == "process"]
    waits = upto_json("waits", "--json", trace)["waits"]
    for r in rows:
        ready = sum(w["ready_ns"] for w in waits if w["pid"] == r["pid"] and not w["asleep_ns"] and r["start_ns"] <= w["start_ns"] and
                    w["start_ns"] + w["asleep_ns"] + w["ready_ns"] <= r["end_ns"])
        assert ready <= r["others_ns"] <= r["wait_ns"], (r, ready)
        assert any(r["others"] or []) == (r["others_ns"] > 0), r
    assert any(r["others_ns"] for r in rows)


@pytest.mark.parametrize("version, way, smp", CASES)
@pytest.mark.weight(15)
def test_cause(version, way, smp):
    """
    By name among the first three causes of why and of timeline, on a screen of 24 rows and 100 columns. Where the host is slow, what runs may
    take longer than it: then it is behind that, and not shorter than it was made.
    """
    trace = recording(version, way, smp)
    check(trace)
    causes = whole(trace)["causes"]
    if smp == 1:
        others(trace)
    rank, cause = next(((i, c) for i, c in enumerate(causes) if all(word in c["name"] + " " + c["what"] for word in WAYS[way])), (None, None))
    assert cause and (rank < 3 or (rank < 8 and cause["ns"] > 0.9e9 and all(c["kind"] == "run" for c in causes[:rank]))), (rank, causes[:8])
    for command in "why", "timeline":
        text = run("env", "COLUMNS=100", UPTO, command, trace).stdout.decode().splitlines()
        screen = [line[:100] for line in text[:24]]
        shown = [line for line in screen if " ms " in line or " s " in line][:5]
        assert rank > 2 or any(WAYS[way][0] in line or WAYS[way][-1] in line for line in shown), "\n".join(screen)


@pytest.mark.parametrize("version, smp", [("6.12", 1), pytest.param("6.1", 1, marks=pytest.mark.kernels), pytest.param("6.12", 4, marks=pytest.mark.kernels)])
@pytest.mark.weight(15)
def test_timers(version, smp):
    """A timer that somebody else's function set, and delayed work: who set them, where, and nothing of the wait is anybody else's."""
    causes = whole(recording(version, "later", smp))["causes"]
    later, = (c for c in causes if c["name"] == "timer slow_later [slow]")
    alarm, = (c for c in causes if c["name"] == "timer slow_alarm [slow]")
    assert later["kind"] == alarm["kind"] == "timer" and 0.95e9 < later["ns"] < alarm["ns"] and 1.45e9 < alarm["ns"], (later, alarm)  # a host without time is late
    for cause in later, alarm:
        assert "set in slow_init [slow]" in cause["what"] or "set in slow_wait_long [slow]" in cause["what"], cause


@pytest.mark.weight(15)
def test_until():
    """Up to a function's first entry, in the kernel, a module or a program; a phase's end; what there is not."""
    trace = recording("6.12", "lock")
    first = {f["function"]: f["ns"] for f in upto_json("first", "--json", trace)["first"]}
    for function in "vfs_read", "slow_take_lock [slow]", "start_kernel":
        for what in function, "entry:" + function:
            why = upto_json("why", "--json", "--until", what, trace)
            assert why["until_ns"] == first[function] and why["total_ns"] == sum(c["ns"] for c in why["causes"]) == first[function], (what, why)
    phase, = (r for r in upto_json("timeline", "--json", "--kind", "phase", trace)["timeline"] if r["name"] == "kernel")
    assert upto_json("why", "--json", "--until", "kernel", trace)["until_ns"] == phase["end_ns"]
    for what, said in (("vfs_raed", b"no such program"), ("entry:vfs_raed", b"vfs_read"), ("entry:panic", b"no calls of panic")):
        p = run(UPTO, "why", "--until", what, trace, check=False)
        assert p.returncode == 1 and said in p.stderr, p


def test_see():
    """The command that each cause ends with shows a function that the cause is said to be in."""
    trace = recording("6.12", "lock")
    causes = upto_json("why", "--json", trace)["causes"][:15]
    for cause in causes:
        program, *words = shlex.split(cause["see"])
        assert program == "upto" and words[-1] == trace, cause
        seen = run(UPTO, *words, *(["-n", "0"] if words[0] == "top" else [])).stdout.decode()
        functions = cause["stack"] if words[0] == "stack" else re.findall(r"[\w.\[\]-]{5,}", cause["what"].partition("on CPU in ")[2])
        assert seen and any(f in seen for f in functions or [""]), (cause, seen[:500])
    assert {cause["see"].split()[1] for cause in causes} == {"top", "stack"}
    assert f"\n# see: {causes[0]['see']}\n" in run(UPTO, "why", trace).stdout.decode()
    quoted = os.path.join(WORK, "it's slow, $HOME.upto")
    shutil.copy(trace, quoted)
    assert shlex.split(upto_json("why", "--json", quoted)["causes"][0]["see"])[-1] == quoted
    assert run("sh", "-c", "printf %s " + run(UPTO, "why", quoted).stdout.decode().partition("\n# see: upto ")[2].partition("\n")[0]).stdout.endswith(quoted.encode())


@pytest.mark.weight(10)
def test_part_of_a_timeline():
    """What a timeline of a part names first is what why says of that part."""
    trace = recording("6.12", "lock")
    end = upto_json("info", "--json", trace)["duration_ns"]
    whole_heading = [line for line in run(UPTO, "timeline", trace).stdout.decode().splitlines() if line.startswith("#")]
    for begin, until in (0.5, 0.6), (0.7, 0.95):
        part = ["--from", f"{int(end * begin)}ns", "--to", f"{int(end * until)}ns"]
        causes = upto_json("why", "--json", *part, trace)["causes"]
        heading = [line for line in run(UPTO, "timeline", *part, trace).stdout.decode().splitlines() if line.startswith("#")]
        at = next(i for i, line in enumerate(heading) if line.startswith(f"# longest, from {int(end * begin) // 1000 / 1e6:.6f} s up to "))
        shown = [re.sub(r"^# +[\d.]+ +\w+ (waiting for the CPU, for )?", "", line) for line in heading[at + 1:]]
        assert shown == [f"{c['name']}: {c['what']}" for c in causes[:len(shown)]] and len(shown) > 1, (shown, causes[:5])
        assert heading[at:] != whole_heading[-len(heading[at:]):]
    to_end = run(UPTO, "timeline", "--from", f"{int(end * 0.5)}ns", trace).stdout.decode()
    assert re.search(r"^# longest, from [\d.]+ s up to the request for power-off or restart:$", to_end, re.M), to_end[:500]


RUNNERS = 400


def relay():
    """Threads that hand a byte on, each to the next."""
    program, trace = os.path.join(WORK, "relay"), os.path.join(WORK, "relay.upto")
    source = os.path.join(TOP, "tests/programs/relay.c")
    with Once(program):
        if is_older(program, source):
            run("gcc", "-O1", "-static", "-pthread", "-o", program, source)
    once_a_run(trace, lambda: record(trace, qemu_args("6.12", initrd("6.12", "relay", f"{program}=/bin/relay", newer_than=[program]), append=f"relay={RUNNERS}")))
    return trace


@pytest.mark.weight(10)
def test_relay():
    """The chain goes on through all that handed on, however many they are, and none of them is told to be what it was not."""
    trace = relay()
    why = whole(trace)
    turns = [int(name[7:]) for name in dict.fromkeys(link["comm"] for link in reversed(why["chain"]) if link["comm"].startswith("runner-"))]
    # some were waited for before, as all were made; of some the first thread may have found that they were done
    in_turn = [a for a, b in zip(turns, turns[1:]) if b == a - 1]
    assert len(in_turn) > 3 * RUNNERS // 4, (len(in_turn), turns)
    assert not [c for c in why["causes"] if c["kind"] == "peer" and c["ns"] > 1e6 and "runner" in c["name"]], why["causes"][:10]
    # a thread is found by each name that it had, and a name that is only a thread's is not its process's
    names = {p["comm"]: p for p in upto_json("ps", "--json", trace)["processes"]}
    waits = {name: upto_json("waits", "--json", "-n", "0", option, name, trace)["waits"]
             for option, name in (("--pid", "runner-7"), ("--comm", "runner-7"), ("--pid", "relay"))}
    assert waits["runner-7"] and {w["pid"] for w in waits["runner-7"]} == {names["runner-7"]["pid"]}, waits["runner-7"]
    assert len({w["pid"] for w in waits["relay"]}) > RUNNERS
    by_first = upto_json("waits", "--json", "-n", "0", "--comm", "relay", trace)["waits"]
    assert names["runner-7"]["pid"] in {w["pid"] for w in by_first}


@pytest.mark.weight(10)
def test_whose_moment():
    """Up to a time it is told of who ran then; up to a program's begin, or a call's, of who began or called it, on whichever vCPU."""
    trace = recording("6.12", "pingpong", 2)
    whose = lambda until: upto_json("why", "--json", "--until", until, trace)["chain"][-1]
    rows = upto_json("ps", "--json", trace)["processes"]
    mount = next(p for p in rows if p["comm"] == "mount")
    last = whose("exec:mount")
    assert (last["pid"], last["end_ns"]) == (mount["pid"], mount["start_ns"]), (last, mount)
    for until in "kernel:do_exit#2", "do_exit#3", "entry:do_exit#4":
        name, number = until.split(":")[-1].split("#")
        calls = sorted((c for c in upto_json("calls", "--json", "-F", name, trace)["calls"] if c["function"] == name), key=lambda c: c["start_ns"])
        last, call = whose(until), calls[int(number) - 1]
        assert (last["pid"], last["end_ns"]) == (call["pid"], call["start_ns"]), (until, last, call)
    alone = 0
    for ns in random.Random(1).sample(range(int(2e9), upto_json("info", "--json", trace)["duration_ns"]), 40):
        running = [s["pid"] for s in next(iter(upto_json("stack", "--json", "--running", "--at", f"{ns}ns", trace).values())) if s["pid"]]
        if len(running) == 1:
            last = whose(f"{ns}ns")
            alone += last["kind"] == "run"
            assert last["kind"] != "run" or last["pid"] == running[0], (ns, last, running)
    assert alone > 5, alone


@pytest.mark.weight(15)
def test_without():
    """What of the chain is somebody's own, and no promise that all of that, or only that, would be won without it."""
    for way, name in ("service", "slow-server"), ("lock", "slow_"):
        trace = recording("6.12", way)
        why = upto_json("why", "--json", "--without", name, trace)
        own = sum(c["ns"] for c in why["causes"] if name in c["name"] or name in c["what"])
        assert 1e9 < why["own_ns"] == own <= why["total_ns"], (name, why["own_ns"], own)
        text = run(UPTO, "why", "--without", name, trace).stdout.decode().splitlines()
        said, = (line for line in text if line.startswith("# of this "))
        assert f"was of what has '{name}' in its name" in said and "earlier" not in said, said
    assert upto_json("why", "--json", "--without", "nothing-of-that-name", trace)["own_ns"] == 0
    assert "own_ns" not in upto_json("why", "--json", trace)


@pytest.mark.kernels
@pytest.mark.weight(15)
def test_firmware():
    """A file that a driver asks for, and what came of it."""
    rows = upto_json("timeline", "--json", "--kind", "firmware", recording("6.12", "firmware"))["timeline"]
    assert [(r["name"], r["result"]) for r in rows] == [("slow/nothing.bin", -2)], rows


@pytest.mark.parametrize("smp", [1, pytest.param(2, marks=pytest.mark.kernels)])
@pytest.mark.weight(15)
def test_ping_pong(smp):
    """Two threads that wait for each other are on the chain in turn; a thread that nobody waits for never is."""
    why = whole(recording("6.12", "pingpong", smp))
    # on one vCPU who is woken up may run at once, and then the other is ready, and not asleep
    links = [link for link in why["chain"] if link["name"] in ("slow_pinger", "slow_ponger") and link["end_ns"] - link["start_ns"] > 100e3]
    turns = [link["name"] for link in links]
    # on two, where the host does not run one for a while, the other thread has answered by then, and the one on it does not wait at all
    waited = [w for w in upto_json("waits", "--json", "-n", "0", recording("6.12", "pingpong", smp))["waits"] if w["comm"] == "slow_pinger" and w["kind"] == "peer"]
    times = 200 if smp == 1 else len(waited)
    assert 50 <= times <= 205 and abs(sum(a != b for a, b in zip(turns, turns[1:])) - 2 * times) <= 20, (times, turns)
    for name in "slow_pinger", "slow_ponger":
        took = sum(link["end_ns"] - link["start_ns"] for link in links if link["name"] == name)
        ran = next(p["self_ns"] for p in upto_json("ps", "--json", recording("6.12", "pingpong", smp))["processes"] if p["comm"] == name)
        # on one vCPU it is all that it ran: itself, with the interrupts in it, or while others waited for the CPU that it had; with two, one
        # may spin while the other runs
        all_of_it = sum(link["end_ns"] - link["start_ns"] for link in why["chain"]
                        if link["name"] == name or (link["comm"] == name and link["kind"] == "run" and link["name"].startswith("interrupts")))
        # an interrupt that made the other one wait, while it was ready, may have been in what this one ran
        within = sum(link["end_ns"] - link["start_ns"] for link in why["chain"] if link["comm"] != name and link["kind"] == "ready" and link["name"].startswith("interrupts"))
        assert 90e6 <= took and (smp > 1 or (all_of_it <= ran and 0.999 * ran <= all_of_it + within)), (name, took, all_of_it, within, ran)
    # who makes it waits until it has begun
    assert not [link for link in why["chain"] if link["comm"] == "slow_daemon" and link["start_ns"] > links[0]["start_ns"]]
