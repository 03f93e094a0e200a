# SPDX-License-Identifier: GPL-2.0-or-later
"""How the guest's life ended, and what its kernel complained of: said by record, info, timeline and why; and moments by name."""
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from guest import IS_THROTTLED, TOP, UPTO, WORK, check, initrd, module, once_a_run, qemu_args, record, run, upto_json
from test_cli import fails
from test_code import recording
from test_robust import Recording

PANIC = "Kernel panic - not syncing: sysrq triggered crash"


def ended(trace, said):
    """What info tells, which record's closing line, info and timeline say in words."""
    info = upto_json("info", "--json", trace)
    words = re.search(r"^upto: .*: ended: (.*)$", said, re.M).group(1)
    assert re.search(r"^ended +(.*)$", run(UPTO, "info", trace).stdout.decode(), re.M).group(1) == words
    assert f"# ended: {words}\n" in run(UPTO, "timeline", trace).stdout.decode()
    assert (f"# ended: {words}\n" in run(UPTO, "why", trace).stdout.decode()) == (info["ending"]["how"] != "panic")
    return info["ending"], info["troubles"], words


def ended_behind(line, seconds, trace, args):
    """What upto says of a guest that it is told to end so long after the guest has printed that."""
    p = subprocess.Popen([UPTO, "record", "-f", "-o", trace, "--", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert any(line in printed for printed in p.stdout)
    time.sleep(seconds)
    p.terminate()
    return p.communicate()[1].decode(errors="replace")


def guest(name, init, *options):
    trace = os.path.join(WORK, f"ending-{name}.upto")
    said = record(trace, qemu_args("6.12", initrd("6.12", init)), *options).stderr.decode(errors="replace")
    return trace, said


@pytest.mark.weight(10)
def test_panic():
    """A panic: whose it was, who called it, and what came last; also of a flight recorder, whose stacks are those of its trigger."""
    trace, said = guest("panic", "crash")
    ending, troubles, words = ended(trace, said)
    assert ending["how"] == "panic" and ending["text"] == PANIC and PANIC in words, ending
    assert [t["kind"] for t in troubles] == ["panic"] and troubles[0]["ns"] == ending["ns"], troubles
    shell = next(p for p in upto_json("ps", "--json", trace)["processes"] if p["pid"] == ending["pid"])
    assert shell["ppid"] == 1 and f"({shell['pid']})" in words, (shell, words)
    stack = [s for s in upto_json("stack", "--json", "--at", "panic", trace)["stacks"] if s["pid"] == ending["pid"]][0]
    names = [f["function"] for f in stack["frames"]]
    assert names.index("panic") < names.index("sysrq_handle_crash") < names.index("__handle_sysrq") < names.index("ksys_write"), names
    why = upto_json("why", "--json", trace)
    assert why["until"] == PANIC and why["until_ns"] == ending["ns"] and why["panic"]["pid"] == ending["pid"]
    assert [f["function"] for f in why["panic"]["frames"]] == names[names.index("panic"):names.index("entry_SYSCALL_64_after_hwframe") + 1]
    assert_last_calls(trace, why["panic"])
    said = run(UPTO, "why", trace).stdout.decode()
    assert f"upto stack --running --at panic {trace}" in said and f"upto calls --pid {ending['pid']} --to panic {trace}" in said, said[:500]
    assert re.search(r"^# who panicked: busybox \(\d+\), here; .*\n#    panic\+0x\w+\n#    sysrq_handle_crash\+0x\w+\n", said, re.M), said[:2000]
    assert re.search(r"^#    \d+\.\d{6} +goes on +sysrq_handle_crash\n", said, re.M), said[:2000]
    # of its last microseconds, in which nobody was woken; of others' calls nothing is known of it
    part, others = trace + ".part", trace + ".others"
    caller = why["panic"]["frames"][1]
    run(UPTO, "thin", "-f", "-o", part, "--start", "entry:panic", "--before", f"{why['panic']['led_ns'] - caller['start_ns'] + 1000}ns", trace)
    run(UPTO, "thin", "-f", "-o", others, "--comm", "kthreadd", trace)
    brief, nothing = (upto_json("why", "--json", path)["panic"] for path in (part, others))
    # times between two clocks may differ by a nanosecond in a part
    places = [[(f["function"], f["address"], f["start_ns"] // 10) for f in panic["frames"]][1:] for panic in (brief, why["panic"])]
    assert [p[:2] for p in places[0]] == [p[:2] for p in places[1]] and all(abs(a[2] - b[2]) < 2 for a, b in zip(*places)) and brief["calls"] and nothing["frames"] == nothing["calls"] == [], (brief, nothing)
    assert upto_json("waits", "--json", part)["waits"] and b"who panicked" not in run(UPTO, "why", others).stdout
    os.unlink(part)
    os.unlink(others)
    last = upto_json("calls", "--json", "--pid", str(ending["pid"]), "--from", "entry:sysrq_handle_crash", "--to", "panic", trace)["calls"]
    assert last and all(c["pid"] == ending["pid"] and c["start_ns"] <= ending["ns"] for c in last)
    assert any(c["function"] == "panic" for c in last), [c["function"] for c in last[:20]]
    os.unlink(trace)


def assert_last_calls(trace, panic):
    """Of all calls that the thread began before the panic was reported, the last that are neither an interrupt's nor print."""
    calls = upto_json("calls", "--json", "-n", "0", "--no-interrupts", "--pid", str(panic["pid"]), "--to", f"{panic['led_ns']}ns", trace)["calls"]
    shown, printing = [], None
    # a call that calls others has two rows
    for start, depth, function in sorted({(c["start_ns"], c["depth"], c["function"]) for c in calls}):
        if printing is not None and depth > printing:
            continue
        printing = depth if "printk" in function else None
        if printing is None:
            shown.append((function, start))
    last = [(c["function"], c["start_ns"]) for c in panic["calls"]]
    assert len(last) == 12 and last == shown[-12:], (last, shown[-12:])


@pytest.mark.weight(10)
@pytest.mark.parametrize("what, options, last", [
    ("oops", "oops=panic", ("read_nothing", None)), pytest.param("warn", "panic_on_warn=1", ("strcmp", True), marks=pytest.mark.long),
    ("soft", "softlockup_panic=1", ("delay_tsc", None))])
def test_panics(what, options, last):
    """Where an oops, a warning or a lockup is a panic: the stack that the kernel itself prints, place by place; and what came before the exception."""
    image = initrd("6.12", "panics", f"{module('6.12', 'bugs', os.path.join(TOP, 'tests/guests/bugs.c'))}=/bugs.ko")
    trace = os.path.join(WORK, f"ending-panic-{what}.upto")
    record(trace, qemu_args("6.12", image, append=f"{options} what={what}"))
    panic = upto_json("why", "--json", trace)["panic"]
    text = run(UPTO, "why", trace).stdout.decode()
    ours = re.findall(r"^#    ([\w.]+)(?:\+(0x\w+))?(?: \[bugs\])?(?: <\w+>)?$", text, re.M)
    log = [line["text"] for line in upto_json("log", "--json", trace)["log"]]
    block = log[len(log) - 1 - log[::-1].index("Call Trace:"):]
    theirs = [m.groups() for m in (re.match(r" ([\w.]+)\+(0x\w+)/|RIP: 0010:([\w.]+)\+(0x\w+)/", line) for line in block) if m]
    theirs = [(a or c, b or d) for a, b, c, d in theirs if (a or c) != "panic"]
    theirs = theirs[:1 + [f for f, _ in theirs].index("entry_SYSCALL_64_after_hwframe")]
    rest = iter(ours)
    assert len(theirs) > 7 and ours[0][0] == "panic" and all(frame in rest for frame in theirs), (ours, theirs)
    # what printed it is no call that led to it
    assert panic["comm"] == "insmod" and panic["calls"][-1]["function"].split(".")[0].split(" ")[0] == last[0], panic
    assert (panic["calls"][-1]["duration_ns"] is not None) == bool(last[1])
    assert not any(c["function"] in ("__warn", "oops_end", "page_fault_oops", "watchdog_timer_fn") for c in panic["calls"]), panic
    if what != "soft":
        assert_last_calls(trace, panic)
    os.unlink(trace)


@pytest.mark.weight(10)
def test_flight():
    trace, said = guest("flight", "crash", "--start", "log:Kernel panic", "--before", "50ms")
    ending, _, _ = ended(trace, said)
    assert ending["how"] == "panic", ending
    stacks = [upto_json("stack", "--json", *at, trace)["stacks"] for at in ((), ("--at", "trigger"), ("--at", "panic"), ("--at", "end"))]
    assert stacks[0] == stacks[1] == stacks[2] != stacks[3]
    why = upto_json("why", "--json", trace)
    assert why["total_ns"] <= 50_000_000 and why["until_ns"] == ending["ns"], why["total_ns"]
    # how long the phases took is known; how they were spent only as far as it was recorded
    info = upto_json("info", "--json", trace)
    span = info["spans"][0]
    # the gap before it stands at the event before, where control is known
    gap = json.loads(run(UPTO, "dump", "--json", "-n", "1", trace).stdout)
    recorded = (span["stop_ns"] or info["duration_ns"]) - min(span["start_ns"], gap["ns"])
    rows = upto_json("timeline", "--json", trace)["timeline"]
    phases = {r["name"]: (r["cpu_ns"], r["wait_ns"]) for r in rows if r["kind"] == "phase"}
    assert phases["firmware"] == phases["decompressor"] == phases["kernel"] == (None, None) != phases["user"], phases
    for r in rows:
        inside = r["end_ns"] > span["start_ns"] or r["end_ns"] == r["start_ns"] == span["start_ns"]
        assert (r["cpu_ns"] is not None) == (r["wait_ns"] is not None) == inside, r
        assert not inside or r["cpu_ns"] + r["wait_ns"] <= recorded, (r, recorded)
    os.unlink(trace)


@pytest.mark.weight(12)
def test_hangs():
    """A guest that waits for what never comes, until somebody gives up: since when no process runs, which there are, and where each waits."""
    trace = os.path.join(WORK, "ending-hangs.upto")
    said = ended_behind(b"waits", 4, trace, qemu_args("6.12", initrd("6.12", "hangs"), whole=True))
    ending, _, words = ended(trace, said)
    quiet = ending["quiet_ns"]
    cat = next(r for r in upto_json("ps", "--json", trace)["processes"] if r["comm"] == "cat")
    assert ending["how"] == "asked" and words.startswith("it ran on until upto was told to end it, at ") and quiet and ending["ns"] - quiet > 1e9, ending
    assert words.endswith(f"no process ran since {quiet // 1000 / 1e6:.6f} s: init (1), cat ({cat['pid']}) wait"), words
    assert f"see: upto stack --at end {trace}\n" in said and f"see: upto stack --at end {trace}\n" in run(UPTO, "timeline", trace).stdout.decode()
    assert ending["lockups"] == [], ending  # it is idle, and takes interrupts
    # the last that a process did was to call the kernel: that call did not return
    last = [c for c in upto_json("syscalls", "--json", trace)["syscalls"] if c["duration_ns"] is None]
    assert {(c["comm"], c["name"]) for c in last} == {("init", "wait4"), ("cat", "open")} or last[-1]["comm"] == "cat", last
    assert 0 < quiet - last[-1]["start_ns"] < 50e6, (quiet, last[-1])
    waits = {s["comm"]: {f["function"] for f in s["frames"]} for s in upto_json("stack", "--json", "--at", "end", trace)["stacks"]}
    assert "do_wait" in waits["init"] and "fifo_open" in waits["cat"], (waits["init"], waits["cat"])
    check(trace)
    os.unlink(trace)


@pytest.mark.weight(5)
def test_restart():
    trace, said = guest("restart", "restart")
    ending, troubles, words = ended(trace, said)
    assert ending["how"] == "restart" and ending["comm"] == "busybox" and not troubles and words.startswith("restarted by busybox ("), words
    os.unlink(trace)


@pytest.mark.weight(16)
def test_halts():
    """A stall of RCU and a program that takes all memory are told of on the way, with whose they were; and that the machine was halted, by whom."""
    image = initrd("6.12", "halts", f"{module('6.12', 'bugs', os.path.join(TOP, 'tests/guests/bugs.c'))}=/bugs.ko")
    trace = os.path.join(WORK, "ending-halts.upto")
    said = ended_behind(b"System halted", 1, trace, qemu_args("6.12", image, append="preempt=full", memory="256M", whole=True))
    ending, troubles, words = ended(trace, said)
    assert ending["how"] == "halt" and ending["comm"] == "halt" and words.startswith(f"halted by halt ({ending['pid']}), at "), (ending, words)
    assert set(kinds := [t["kind"] for t in troubles]) == {"stall", "out of memory"} and kinds[-1] == "out of memory", troubles
    assert troubles[0]["comm"] in ("insmod", "rcu_preempt"), troubles  # by the tick in what spins, or by who waits for it
    awk = next(r for r in upto_json("ps", "--json", trace)["processes"] if r["comm"] == "awk")
    assert f"Killed process {awk['pid']} (awk)" in troubles[-1]["text"], troubles[-1]
    check(trace)
    os.unlink(trace)


@pytest.mark.weight(16)
def test_troubles():
    """What a stock kernel complains of on the way: a warning, KFENCE's report, a lockup, a task that hangs, a BUG, an oops; each with whose it was."""
    image = initrd("6.12", "troubles", f"{module('6.12', 'bugs', os.path.join(TOP, 'tests/guests/bugs.c'))}=/bugs.ko")
    trace = os.path.join(WORK, "ending-troubles.upto")
    p = record(trace, qemu_args("6.12", image, whole=True))
    ending, troubles, words = ended(trace, p.stderr.decode(errors="replace"))
    assert ending["how"] == "power-off" and ending["comm"] == "poweroff", ending
    log = {line["ns"]: line["text"] for line in upto_json("log", "--json", trace)["log"]}
    assert all(log[t["ns"]] == t["text"] for t in troubles)
    # on a host that has no time for it the kernel finds no lockup of a second, but stalls before
    locked = any("soft lockup" in (text or "") for text in log.values())
    assert locked or IS_THROTTLED
    troubles = [t for t in troubles if t["kind"] != "stall" or not IS_THROTTLED]
    kinds = list(dict.fromkeys(t["kind"] for t in troubles))
    assert kinds == ["warning", "bug", *["soft lockup"] * locked, "hung task", "oops"], troubles
    # each by the insmod that did it, but for what the kernel's own thread finds out
    who = list(dict.fromkeys((t["kind"], t["comm"]) for t in troubles))
    assert who == [("warning", "insmod"), ("bug", "insmod"), *[("soft lockup", "insmod")] * locked, ("hung task", "khungtaskd"),
                   ("bug", "bugs_bug"), ("oops", "bugs_bug"), ("oops", "insmod")], who
    assert len({t["pid"] for t in troubles if t["comm"] == "insmod"}) == 3 + locked, troubles
    assert re.search(r"; on the way \d+ oopses, \d+ bugs, \d+ warnings?, (\d+ soft lockups?, )?\d+ hung tasks?(, \d+ stalls?)?$", words), words
    # from KFENCE's line to who used what was freed
    line = next(line for line in upto_json("log", "--json", "--stack", trace)["log"] if "BUG: KFENCE: use-after-free read in use_object" in line["text"])
    stacks = [[f["function"].split(" ")[0].split(".")[0] for f in s["frames"]]
              for s in upto_json("stack", "--json", "--at", "log:BUG: KFENCE", "--comm", "insmod", trace)["stacks"]]
    for frames in [f["function"].split(" ")[0].split(".")[0] for f in line["frames"]], stacks[0]:
        assert {"kfence_handle_page_fault", "asm_exc_page_fault", "use_object", "bugs_init", "do_one_initcall"} <= set(frames), frames
    os.unlink(trace)


def told(trace):
    """What info tells of the end, and in words."""
    text = run(UPTO, "info", trace).stdout.decode()
    return upto_json("info", "--json", trace)["ending"], (re.search(r"^ended +(.*)$", text, re.M) or ["", None])[1]


def test_outside(tmp_path):
    """Of a part that ends before the guest did, of what was imported, and of a file that could not be written to its end, nothing is told that they do not know."""
    whole, _ = recording("6.12", 1)
    part, behind = tmp_path / "part.upto", tmp_path / "behind.upto"
    run(UPTO, "thin", "-o", part, "--stop", "log:Run /init", whole)
    run(UPTO, "thin", "-o", behind, "--start", "log:Run /init", whole)
    ending, words = told(part)
    assert ending["how"] == "outside" and ending["text"] is None and ending["quiet_ns"] is None, ending
    assert words == f"behind the part that the trace has, which ends at {ending['ns'] // 1000 / 1e6:.6f} s", words
    assert told(behind) == told(whole) and told(whole)[0]["how"] == "power-off"
    # QEMU is ended by somebody else than upto
    for sig, how, reason in (signal.SIGTERM, "stopped", None), (signal.SIGSEGV, "cut", "crashed (SIGSEGV)"), (signal.SIGKILL, "cut", "was killed (SIGKILL)"):
        trace = str(tmp_path / "ended.upto")
        with Recording(trace, qemu_args("6.12", initrd("6.12", "hangs"))) as r:
            r.until(lambda s: s["guest_ns"] > 3_000_000_000)
            while b"Run /init" not in run(UPTO, "log", trace, check=False).stdout:
                time.sleep(0.5)
            os.kill(r.qemu, sig)
            r.wait(10)
            said = r.said()
        ending, words = told(trace)
        assert ending["how"] == how and words.startswith({"stopped": "it ran on until QEMU ended, at ", "cut": "the trace has no end, at "}[how]), (sig, words)
        assert not reason or f"cut short: QEMU {reason}; what was written before is whole" in said, said


def test_moments():
    """--at, --from and --to take what --start takes; what is none, or not there, is said."""
    trace, _ = recording("6.12", 1)
    info = upto_json("info", "--json", trace)
    assert info["ending"]["how"] == "power-off" and info["ending"]["comm"] == "poweroff", info["ending"]
    calls = upto_json("calls", "--json", "--function", "vfs_open", "--depth", "1", trace)["calls"]
    third = [c["start_ns"] for c in calls if c["function"] == "vfs_open"][2]
    running = [s for s in upto_json("stack", "--json", "--at", "entry:vfs_open#3", trace)["stacks"] if s["cpu"] == 0][0]
    assert running["frames"][0]["function"] == "vfs_open" and running["frames"][0]["start_ns"] == third, running["frames"][:2]
    lines = upto_json("log", "--json", trace)["log"]
    run_init = next(line for line in lines if line["text"].startswith("Run /init"))
    behind = [x for x in lines if x["ns"] >= run_init["ns"]]
    for moment in "log:Run /init", f"time:{run_init['ns']}ns":
        assert upto_json("log", "--json", "--from", moment, "--to", "end", trace)["log"] == behind, moment
    for moment in "vfs_open#3", "kernel:vfs_open#3", "entry:vfs_open#3":
        assert upto_json("why", "--json", "--until", moment, trace)["until_ns"] == third, moment
        assert upto_json("log", "--json", "--to", moment, trace)["log"] == [x for x in lines if x["ns"] < third], moment
    assert upto_json("why", "--json", "--until", "end", trace)["until_ns"] == info["duration_ns"]
    assert upto_json("why", "--json", "--to", "vfs_open#3", trace) == upto_json("why", "--json", "--until", "vfs_open#3", trace)
    fails(2, "--until and --to: are the same", "why", "--to", "init", "--until", "init", trace, upto=UPTO)
    for option, why in (("panic", "has no panic"), ("trigger", "it has no trigger"), ("log:no such line", "did not happen"), ("nonsense", "not a time"), ("1,5s", "not a time"), ("no:such", "no function such")):
        p = run(UPTO, "stack", "--at", option, trace, check=False)
        assert p.returncode in (1, 2) and why in p.stderr.decode() and p.stderr.decode().count("\n") == 1 and not p.stdout, p


@pytest.mark.weight(8)
def test_log_stacks():
    """log --stack has below each line what stack --at has of its vCPU then."""
    trace, _ = recording("6.12", 2)
    rows = upto_json("log", "--json", "--level", "info", trace)["log"]
    got = upto_json("log", "--json", "--stack", "--level", "info", trace)["log"]
    # in the order of time, which with two vCPUs need not be that of the kernel's own numbers
    assert len(got) > 200 and [{k: r[k] for k in ("ns", "text", "cpu", "pid", "comm")} for r in sorted(rows, key=lambda r: r["ns"])] == [
        {k: r[k] for k in ("ns", "text", "cpu", "pid", "comm")} for r in got]
    for row in got:
        names = [f["function"] for f in row["frames"]]
        assert "vprintk_store" in names[:3], row
    for row in random.Random(1).sample(got, 12):
        stacks = upto_json("stack", "--json", "--at", f"{row['ns']}ns", "--running", trace)["stacks"]
        assert [s["frames"] for s in stacks if s["cpu"] == row["cpu"]] == [row["frames"]], row
    # of a thread, a process, or threads by name
    for options, asked in ((["-p", "1"], lambda r: r["pid"] == 1), (["--comm", "kworker*"], lambda r: r["comm"].startswith("kworker")),
                           (["--pid", "0"], lambda r: r["pid"] == 0), (["-p", "1", "--comm", "init"], lambda r: r["pid"] == 1)):
        for more, all_rows in (([], rows), (["--stack"], got)):
            some = upto_json("log", "--json", "--level", "info", *more, *options, trace)["log"]
            assert some == [r for r in all_rows if asked(r)] and some, (options, len(some))
    fails(1, "--comm nosuch: no such thread", "log", "--comm", "nosuch", trace, upto=UPTO)
    fails(2, "--follow goes without --pid", "log", "--follow", "--pid", "1", trace, upto=UPTO)
    text = run(UPTO, "log", "--stack", "--grep", "^Run /init", trace).stdout.decode().splitlines()
    assert "Run /init" in text[0] and any(line.strip().startswith("run_init_process+0x") for line in text[1:]), text
    return f"{len(got)} lines"


def test_printed_moments():
    """A time as first and others print it, cut to microseconds, is for stack --at when what was printed had begun."""
    trace, _ = recording("6.12", 2)
    calls = [c for c in upto_json("calls", "--json", "--function", "vfs_read", "--depth", "1", "-n", "0", trace)["calls"] if c["function"] == "vfs_read" and (c["duration_ns"] or 0) > 3000]
    for call in random.Random(1).sample(calls, 12):
        printed = f"{call['start_ns'] // 1000 / 1e6:.6f}"
        for at in printed, printed + "s":
            stacks = upto_json("stack", "--json", "--running", "--at", at, trace)["stacks"]
            assert any(s["pid"] == call["pid"] and "vfs_read" in [f["function"] for f in s["frames"]] for s in stacks), (call, stacks)
    # more digits, or fewer, are the moment itself
    exact = upto_json("stack", "--json", "--running", "--at", f"{calls[0]['start_ns']}ns", trace)["stacks"]
    assert exact == upto_json("stack", "--json", "--running", "--at", f"{calls[0]['start_ns'] / 1e9:.9f}s", trace)["stacks"]
    return f"{len(calls)} calls"
