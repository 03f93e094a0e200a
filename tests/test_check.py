# SPDX-License-Identifier: GPL-2.0-or-later
"""upto check finds what is wrong: small made traces, each right but for one thing."""
import json

import pytest

from guest import UPTO_ASAN, run, upto_json
from made import KERNEL, make

INIT, SWAPPER, WORKER = 0xffff888000001000, 0xffff888000002000, 0xffff888000003000
STACK = 0xffffc90000003ff8
START, SCHEDULE, DEAD, READ, ENTRY = (KERNEL + 0x1000 * i for i in range(5))
SECOND = 0xffffffff82000000  # where another kernel is


def lines():
    """Two vCPUs, one of which starts late; a task that comes and dies."""
    return [
        "meta vcpus 2", "meta kernel_ns 1000", "meta kernel_insns 1000", "meta arch x86_64", "end lost 0", "end late_arrivals 0",
        f"symbol {START} 0x1000 startup_64", f"symbol {SCHEDULE} 0x1000 schedule", f"symbol {DEAD} 0x1000 do_task_dead",
        f"symbol {READ} 0x1000 vfs_read", f"symbol {ENTRY} 0x1000 entry_SYSCALL_64",
        f"task 1 0 2000 2000 {INIT} 0 1 1 0 init", f"task 1 1 5000 100 {SWAPPER} 0 0 0 0 swapper/1",
        f"task 2 0 6000 6000 {WORKER} 0 2 2 1 worker", f"task 4 0 7000 7000 {WORKER} 0 2 2 1 worker",
        # vCPU 0 comes to the kernel, calls and returns
        "event 0 clock 900 900 0 0 0",
        ("event 0 jump-indirect 1000 0 0 0x100000", START),
        "event 0 clock 1010 1010 0 0 0",
        ("event 0 call 1100 0", STACK, START + 0x20, READ),
        ("event 0 return 1200 0", STACK, 0, START + 0x20),
        "event 0 clock 2000 2000 0 0 0",
        ("event 0 task-switch 2500 2500 0 0 0", INIT, INIT),
        # vCPU 1 halts in the firmware, and is woken to go to the kernel
        "event 1 clock 10 10 0 0 0",
        "event 1 halt 20 20 0 0 0",
        "event 1 resume 20 4000 0 0 0",
        ("event 1 jump-indirect 30 0 0 0x9000", START + 0x80),
        "event 1 clock 40 4100 0 0 0",
        ("event 1 task-switch 100 5000 0 0 0", SWAPPER, SWAPPER),
        # a task that dies
        ("event 0 task-switch 6500 6500 0 0 0", INIT, WORKER),
        ("event 0 call 6600 0", STACK + 0x4000, START + 0x30, DEAD),
        ("event 0 call 6700 0", STACK + 0x4000 - 16, DEAD + 0x40, SCHEDULE),
        ("event 0 task-switch 7500 7500 0 0 0", WORKER, INIT),
        ("event 0 jump 7600 0 0", SCHEDULE + 0x100, START + 0x100),
        "event 0 clock 8000 8000 0 0 0",
        "event 1 clock 1100 9000 0 0 0",
    ]


def found(name, made):
    """The findings of such a trace, by kind, as programs and people are told; check's exit status says whether there are some."""
    trace = make("check-" + name, made)
    p = run(UPTO_ASAN, "check", "--json", trace, check=False)
    answer = json.loads(p.stdout)
    assert p.returncode == (1 if answer["findings"] else 0) and answer["ok"] == (not answer["findings"]), p
    text = run(UPTO_ASAN, "check", trace, check=False)
    assert text.returncode == p.returncode, text
    assert all(f["text"] in text.stdout.decode() for f in answer["findings"]), text.stdout
    return {f["kind"]: f for f in answer["findings"]}


def begins(line):
    return line if isinstance(line, str) else " ".join(str(word) for word in line)


def replaced(*pairs):
    """The lines, but another, or several, in the place of the one that begins so."""
    out, wanted = [], dict(zip(pairs[::2], pairs[1::2]))
    for line in lines():
        key = next((k for k in wanted if begins(line).startswith(k)), None)
        new = wanted.pop(key) if key else line
        out += new if isinstance(new, list) else [new]
    assert not wanted, wanted
    return out


def one_vcpu(*more):
    """vCPU 0 alone, whose clock is exact."""
    kept = [line for line in lines() if not begins(line).startswith(("event 1", "task 1 1", "meta vcpus"))]
    return [*kept, "meta vcpus 1", "meta clock instructions retired; guest ns (icount: exact)", *more]


def test_right():
    assert found("right", lines()) == {} and found("right-exact", one_vcpu()) == {}


def test_clock_before_guest():
    """QEMU's clock may have run before the guest did; from then on it counts instructions."""
    late = ["meta vcpus 1", "meta clock instructions retired; guest ns (icount: exact)", "meta arch x86_64", "end lost 0",
            "end late_arrivals 0", "event 0 clock 900 1900 0 0 0", "event 0 clock 8000 9000 0 0 0"]
    assert found("clock-late", late) == {}
    assert set(found("clock-late-off", [*late, "event 0 clock 8300 9500 0 0 0"])) == {"counter"}


def many(n, *per):
    """A stretch of vCPU 0 after all else: each of these again and again, 10 instructions apart."""
    insns, out = 8000, []
    for _ in range(n):
        for kind, rest in per:
            insns += 10
            out.append(f"event 0 {kind} {insns} {insns} {rest}")
    return lines() + out + [f"event 0 clock {insns + 10} {insns + 10} 0 0 0"]


def gap(reason, lost=0):
    """vCPU 0 behind a gap, later than all else: 1 lost, 2 not asked for."""
    return [f"behind 0 9100 9100 {START + 0x200} {INIT}", f"event 0 gap 9100 0 0 0 0 {lost} {reason} 1 {START + 0x200} {INIT}"]


def test_gap_not_asked():
    """A gap that nobody asked to fill is no fault; no time passes in it, and returns of calls from before it are known to be such."""
    made = [*lines(), *gap(2), ("event 0 return 9150 0", STACK - 0x100, 0, DEAD + 0x40), "event 0 clock 9200 9200 0 0 0"]
    assert found("gap-not-asked", made) == {}
    trace = make("gap-sums", made)
    told = upto_json("top", "--json", "-n", "0", trace, upto=UPTO_ASAN)["functions"]
    # both vCPUs up to their last event, without the 1100 instructions that are not here
    assert sum(f["self_insns"] for f in told) == 9200 - 1100 + 1100


def test_no_gap():
    """A chunk that says that a gap is before it, and has none; and one with a gap in its middle."""
    answer = found("no-gap", [*lines(), *gap(2)[:1], "event 0 clock 9200 9200 0 0 0"])
    assert "a gap is before it, but its first event is none" in answer["container"]["text"], answer
    within = found("gap-within", [*lines(), "event 0 clock 8050 8050 0 0 0", *gap(2)[1:], "event 0 clock 9200 9200 0 0 0"])["container"]
    assert "a gap within it: gaps begin chunks" in within["text"] and (within["cpu"], within["ns"], within["event"]) == (0, 9100, 14), within


# what is wrong: lines, the kind of finding, where (vCPU, ns, event) if it has a place, how often, and of the text
FAULTS = {
    "halted-runs": (replaced("event 1 resume", []), "halt", (1, 4100, 2), 1, "from a HALT without a RESUME"),
    "resumed-twice": (replaced("event 1 clock 40", ["event 1 clock 40 4100 0 0 0", "event 1 resume 40 4200 0 0 0"]),
                      "halt", (1, 4200, 5), 1, "not halted"),
    "kernel-too-early": (replaced("event 1 resume", "event 1 resume 20 30 0 0 0", "event 1 clock 40", "event 1 clock 40 50 0 0 0"),
                         "early", (1, 40, 3), 1, "before there is a kernel"),
    "other-previous": (replaced("event 0 task-switch 6500", ("event 0 task-switch 6500 6500 0 0 0", SWAPPER, WORKER)),
                       "switch", (0, 6500, 7), 1, f"from task {SWAPPER:#x}, but {INIT:#x} runs there"),
    "runs-twice": ([*lines()[:-2], ("event 0 task-switch 7700 7700 0 0 0", INIT, SWAPPER), "event 0 clock 8000 8000 0 0 0",
                    ("event 1 task-switch 1050 8500 0 0 0", SWAPPER, SWAPPER + 0x8000), lines()[-1],
                    f"task 1 1 8500 1050 {SWAPPER + 0x8000} 0 3 3 0 other"],
                   "switch", (1, 8500, 6), 1, "still runs, though another vCPU switched to it at 7700 ns"),
    "unknown-task": ([*lines(), ("event 0 task-switch 8100 8100 0 0 0", INIT, 0xffff888000009000)],
                     "task", (0, 8100, 13), 1, "which nothing told of"),
    "dead-runs": ([*lines(), ("event 0 task-switch 8100 8100 0 0 0", INIT, WORKER)],
                  "task", (0, 8100, 13), 1, "(PID 2), which is dead"),
    "gap": ([*lines(), *gap(1, 77), "event 0 clock 9200 9200 0 0 0"], "lost", (0, 9100, 13), 1, "77 events are missing"),
    "gap-back": ([*lines(), "behind 0 7000 7000 0 0", "event 0 gap 7000 0 0 0 0 0 2 1 0 0", "event 0 clock 9200 9200 0 0 0"],
                 "container", None, 1, "a gap before it goes back in time"),
    "counter": (lines() + ["end insns.0 8001"], "counter", None, 1, "vCPU 0: events reach 8000 instructions, its counter 8001"),
    "odd-clocks": (lines() + ["end odd_clocks 3"], "counter", None, 3, "3 times more instructions"),
    "odd-clock": (lines() + ["end odd_clocks 2", "end odd_clock 5 at a call"], "counter", None, 2, "than had been counted: first 5 at a call"),
    "lost": (lines() + ["end lost 5"], "lost", None, 5, "5 events were lost"),
    "clock-ahead": (one_vcpu("event 0 clock 8100 8300 0 0 0"),
                    "counter", (0, 8300, 13), 1, "8300 ns passed awake, 8100 instructions retired"),
    "clock-behind": (one_vcpu("event 0 clock 8300 8100 0 0 0"),
                     "counter", (0, 8100, 13), 1, "8100 ns passed awake, 8300 instructions retired"),
    # a guest that reboots, and nothing told of it: the reset, then returns of a kernel that has no names
    "reset": (lines() + [f"event 0 jump-indirect 8100 0 0 0xfe05b 0x7c00", "event 0 clock 8200 8200 0 0 0"],
              "flow", (0, 8100, 13), 1, "control is in startup_64, and the next event is in [trampoline]"),
    # a system call of a 32-bit program, that led elsewhere than to where it was told to: what follows stands there
    "compat": (many(20, ("syscall", f"0 0x401000 {ENTRY} 20 0 0 0 0 0 0"), ("call", f"{STACK - 64} {READ + 0x10} {READ + 0x100}"),
                    ("syscall-return", "0 0 0x401000 0")),
               "flow", (0, 8020, 14), 20, "control is in entry_SYSCALL_64, and the next event is in vfs_read"),
    "unmatched": (many(20, ("return", f"{STACK - 0x800} 0 {SCHEDULE + 0x50}"), ("jump", f"0 {SCHEDULE + 0x60} {START + 0x100}")),
                  "unmatched", (0, 8010, 13), 20, "20 returns in the kernel match no call, of "),
    "slots": (lines() + [f"event 0 interrupt 8100 8100 {STACK - 0x100} {START + 0x110} {READ} 32 0 16",
                         f"event 0 interrupt 8200 8200 {STACK - 0x80} {READ + 0x10} {READ + 0x800} 33 0 16"],
              "frames", (0, 8200, 14), 1, "does not lie within its caller's, of vfs_read: its place on the stack"),
    "unnamed": (lines() + [("event 0 jump-indirect 8100 0 0", START + 0x110, SECOND), "event 0 clock 20000000 20000000 0 0 0"],
                "unnamed", None, 19991900, "kernel code without a name: was there another kernel?"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_fault(what):
    made, kind, place, count, text = FAULTS[what]
    answer = found(what, made)
    assert kind in answer, answer
    f = answer[kind]
    assert text in f["text"] and f["count"] == count, f
    if place:
        assert (f["cpu"], f["ns"], f["event"]) == place, f
    assert set(answer) == {kind}, answer


def test_halted():
    """How long vCPUs were halted: from where they do to where they go on, clocks between or not."""
    for name, made in ("as-it-is", lines()), ("clock", replaced("event 1 resume", ["event 1 clock 20 3000 0 0 0", "event 1 resume 20 4000 0 0 0"])):
        trace = make(f"check-halted-{name}", made)
        assert json.loads(run(UPTO_ASAN, "info", "--json", trace).stdout)["halted_ns"] == 4000 - 20, name
