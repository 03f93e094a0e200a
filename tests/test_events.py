# SPDX-License-Identifier: GPL-2.0-or-later
"""record --event and upto events: trace events, computed outside the guest, held against those that it records itself."""
import collections
import json
import os
import re

import pytest

from guest import CHECK, TOP, UPTO, UPTO_ASAN, WORK, check, initrd, kernel, module, once_a_run, qemu_args, record, run, upto_json
from test_abi import program
from test_sources import multiboot, other_args

LINE = re.compile(r"^ *(\S.*?)-(\d+) +\[(\d+)\] \S+ +[\d.]+: (\w+): (.*)$", re.M)
CALLS = "syscalls", "raw_syscalls"
# what tells that these are on stands around the helper that makes them: one that the guest has enabled is computed at both
TWICE = re.compile("mmap_lock:|csd:csd_queue_cpu|rseq:rseq_update")
RESCHEDULE = 0x24  # TRACE_FLAG_NEED_RESCHED, TRACE_FLAG_PREEMPT_RESCHED: an interrupt in between may ask for it


def recorded(version, smp=1):
    trace = os.path.join(WORK, f"events-{version}-{smp}.upto")

    def make():
        image = initrd(version, "events", *(f"{program(bits)}=/bin/abi{bits}" for bits in (32, 64)), newer_than=[program(32), program(64)])
        p = record(trace, qemu_args(version, image, smp=smp, thread="multi" if smp > 1 else "single", disk=trace + ".disk"),
                   "--event", "*", "--event-check")
        with open(trace + ".out", "wb") as f:
            f.write(p.stdout)

    once_a_run(trace, make)
    with open(trace + ".out", errors="replace") as f:
        return trace, f.read().replace("\r", "")


def records(trace, *args):
    return upto_json("events", "--json", *args, trace, upto=UPTO)["events"]


def pair(events):
    """Each record of the guest's own with the last computed one before it on its vCPU; and how many computed ones have none.

    Those from before an event was enabled, for the first time or again, have none."""
    pause = 200_000_000
    open_, pairs, alone, last, left = collections.defaultdict(list), [], [], {}, collections.Counter()
    for e in events:
        key = e["event"], e["cpu"]
        if e["computed"]:
            open_[key].append(e)
        elif open_[key]:
            if e["ns"] - last.get(key, -pause) >= pause:
                del open_[key][:-1]
            last[key] = e["ns"]
            # an interrupt may have come in between, with more of them
            like = [i for i, c in enumerate(open_[key][-4:], max(len(open_[key]) - 4, 0)) if (c["args"], c["pid"]) == (e["args"], e["pid"])]
            pairs.append((e, open_[key].pop(like[-1] if like else -1)))
            left[key] = max(left[key], len(open_[key]))
        else:
            alone.append(e)
    return pairs, alone, left


def changed(a, b):
    return {k for k in a["args"] if a["args"][k] != b["args"].get(k)}


@pytest.mark.parametrize("version, smp", [("6.12", 1), pytest.param("6.1", 1, marks=pytest.mark.long), pytest.param("7", 1, marks=pytest.mark.long),
                                          pytest.param("6.12", 2, marks=pytest.mark.long)])
@pytest.mark.weight(40)
def test_computed(version, smp):
    """Every event that fires while the guest has all of them enabled: what is computed is what its own buffer gets, field by field."""
    trace, _ = recorded(version, smp)
    check(trace)
    pairs, alone, left = pair(sorted((e for e in records(trace) if e["event"].split(":")[0] not in CALLS), key=lambda e: (e["cpu"], e["insns"])))
    kinds = {own["event"] for own, _ in pairs}
    different = [(own, computed) for own, computed in pairs if (own["args"], own["pid"]) != (computed["args"], computed["pid"])]
    # code that is being patched as it runs, when the guest enables an event, is an int3 for a moment
    missing = {f"{f['system']}:{f['name']}": f["missing"] for f in upto_json("events", "-l", "--json", trace)["formats"] if f["missing"]}
    # what is read (jiffies) may change between the label, where it is computed, and where the guest reads it: by another vCPU, or an interrupt
    interrupted = [pair for pair in different if pair[0]["insns"] - pair[1]["insns"] > 3000]
    # on two vCPUs, how often depends on how long the host lets one of them stand
    if smp > 1:
        different = [(own, computed) for own, computed in different if own["pid"] != computed["pid"] or changed(own, computed) - {"now", "jiffies"}]
        assert len(different) <= len(pairs) / 10000, (len(different), different[:3])
    else:
        assert len(interrupted) < 5 and len(different) == len(interrupted), (len(different), different[:3])
    assert len(kinds) > 80 and len(pairs) > 10000, (len(kinds), len(pairs))
    assert len(alone) <= sum(missing.values()) and max(missing.values(), default=0) < 20, (alone[:3], missing)
    more = {key: n for key, n in left.items() if n > 2 and not TWICE.match(key[0])}
    assert not more, more
    return f"{len(pairs)} records of {len(kinds)} events; {sum(missing.values())} not computed"


@pytest.mark.parametrize("version", ["6.12", pytest.param("6.1", marks=pytest.mark.long), pytest.param("7", marks=pytest.mark.long)])
@pytest.mark.weight(40)
def test_text(version):
    """The lines of the guest's own tracefs are what is computed, to the letter."""
    trace, out = recorded(version)
    theirs = [(int(pid), int(cpu), name, text.strip()) for _, pid, cpu, name, text in LINE.findall(out[out.index("trace-begin"):out.index("trace-end")])]
    events = records(trace, "-e", "sched:*,task:*,signal:*,irq:*,rcu:*")
    ours = {made: [(e["pid"], e["cpu"], e["event"].split(":")[1], e["text"].strip()) for e in events if e["computed"] == made] for made in (False, True)}
    assert len(theirs) > 500 and len({name for _, _, name, _ in theirs}) > 12, len(theirs)
    # a text that the record has as an address
    assert {text for _, _, name, text in theirs if name == "rcu_utilization"} >= {"Start context switch", "End scheduler-tick"}
    for made, lines in ours.items():
        lost = list((collections.Counter(theirs) - collections.Counter(lines)).elements())
        # of those that the guest itself made none lacks; of the computed ones, those of the moment in which one is enabled
        assert len(lost) <= (2 if made else 0), (made, len(theirs), lost[:3])
    shown = run(UPTO, "events", "--wide", "-e", "sched_process_exec", trace).stdout.decode()
    assert re.search(r"^ +mount-\d+ +\[000\] +\d+\.\d{6}: sched_process_exec: +filename=/bin/mount pid=\d+ old_pid=\d+$", shown, re.M), shown[:500]
    return len(theirs)


@pytest.mark.weight(40)
def test_syscalls():
    """Events of system calls are made of upto's own: the guest's own records have the same numbers, arguments and results."""
    trace, _ = recorded("6.12")
    events = records(trace, "-e", "syscalls:*,raw_syscalls:*")
    own = collections.defaultdict(list)
    made = collections.defaultdict(list)
    for e in events:
        (made if e["computed"] else own)[e["pid"], e["event"]].append(e["args"])
    compared = 0
    for key, calls in own.items():
        rest = iter(made[key])
        lost = [c for c in calls if c not in rest]
        # a new thread comes out of the call that made it, which nobody but the kernel takes for its own; who is killed, never
        assert not lost or key[1] in ("syscalls:sys_exit_kill", "syscalls:sys_exit_clone", "syscalls:sys_exit_rt_sigreturn", "syscalls:sys_exit_vfork", "raw_syscalls:sys_exit"), (key, lost[:3])
        compared += len(calls) - len(lost)
    # int $0x80 and the like make raw_syscalls' records alone, by their own numbers; execve() has come to the other interface where it ends, and
    # sigreturn() to where there is no call
    for name, least, changed_ in ("abi32", 40, {11, -1}), ("abi64", 15, set()):
        theirs, ours = ([(e["event"], e["args"]) for e in events if e["comm"] == name and e["computed"] == made_] for made_ in (False, True))
        lost = [args for event, args in theirs if (event, args) not in ours]
        assert {args["id"] for args in lost} == changed_ and all(args["ret"] == 0 for args in lost) and len(theirs) > least, (name, lost, ours[:5])
        assert ("raw_syscalls:sys_exit", {"id": 5, "ret": -2}) in ours and not [e for e, _ in ours if name == "abi32" and e.startswith("syscalls:sys_enter")], ours
    names = {event for _, event in own}
    assert compared > 500 and {"syscalls:sys_enter_openat", "syscalls:sys_exit_read", "raw_syscalls:sys_enter"} <= names, (compared, names)
    calls = upto_json("syscalls", "--json", "--name", "openat", trace)["syscalls"]
    entries = [e["ns"] for e in records(trace, "-e", "sys_enter_openat") if e["computed"]]
    assert entries == [c["start_ns"] for c in calls] and len(entries) > 10
    return compared


@pytest.mark.weight(40)
def test_asked():
    """Names, filters, sums and pairs, against what the records say."""
    trace, _ = recorded("6.12")
    events = [e for e in records(trace, "-e", "kmem:kmalloc,kfree")]
    allocated = [e for e in events if e["event"] == "kmem:kmalloc"]
    large = [e for e in allocated if e["args"]["bytes_alloc"] > 4096 and e["comm"] == "insmod"]
    filtered = records(trace, "-e", "kmalloc", "--filter", "bytes_alloc > 4096", "--comm", "insmod")
    assert filtered == large and len(large) > 10
    either = records(trace, "-e", "kmalloc,kfree", "--filter", "!(bytes_alloc <= 4096) && (comm == insmod || call_site ~ '*load_module*') && gfp_flags & 0x400")
    assert either == [e for e in allocated if e["args"]["bytes_alloc"] > 4096 and e["args"]["gfp_flags"] & 0x400 and
                      (e["comm"] == "insmod" or "load_module" in e["text"].split(" ")[0])] and either
    # what all events have is theirs, too: with preemption off, or on
    pid = collections.Counter(e["pid"] for e in allocated).most_common(2)[1][0]
    assert records(trace, "-e", "kmalloc", "--filter", f"common_pid == {pid}") == [e for e in allocated if e["pid"] == pid]
    off, on = (records(trace, "-e", "kmem:*", "--filter", f"common_preempt_count {how}") for how in ("> 0", "== 0"))
    assert off and on and len(off) + len(on) == len(records(trace, "-e", "kmem:*"))
    assert "common_pid" not in on[0]["args"] and "common_pid" not in on[0]["text"]
    sums = upto_json("events", "-e", "kmalloc", "--sum", "comm,event", "--value", "bytes_alloc", "--json", "-n", "0", trace, upto=UPTO)["sums"]
    expected = collections.defaultdict(list)
    for e in allocated:
        expected[e["comm"]].append(e["args"]["bytes_alloc"])
    assert {s["comm"]: (s["count"], s["sum"], s["min"], s["max"], s["average"]) for s in sums} == \
        {comm: (len(n), sum(n), min(n), max(n), sum(n) // len(n)) for comm, n in expected.items()}
    buckets = collections.Counter(0 if not n else 1 << (n.bit_length() - 1) for n in expected["insmod"])
    told = next(s for s in upto_json("events", "-e", "kmalloc", "--sum", "comm", "--value", "bytes_alloc", "--json", "-o", "comm,histogram", trace, upto=UPTO)["sums"] if s["comm"] == "insmod")
    assert told["histogram"] == [f"{n}: {buckets[n]}" for n in sorted(buckets)], told
    # what was allocated and freed, by its address
    open_, durations = collections.defaultdict(list), []
    for e in events:
        at = e["args"]["ptr"]
        if e["event"] == "kmem:kmalloc":
            open_[at].append(e)
        elif open_[at]:
            durations.append(e["ns"] - open_[at].pop()["ns"])
    pairs = upto_json("events", "--pair", "kmalloc,kfree", "--by", "ptr", "--json", "-n", "0", trace, upto=UPTO)["pairs"]
    assert sorted(p["duration_ns"] for p in pairs if p["duration_ns"] is not None) == sorted(durations)
    left = sorted(e["ns"] for list_ in open_.values() for e in list_)
    assert sorted(p["start_ns"] for p in upto_json("events", "--pair", "kmalloc,kfree", "--by", "ptr", "--open", "--json", "-n", "0", trace, upto=UPTO)["pairs"]) == left
    leaks = upto_json("events", "--pair", "kmalloc,kfree", "--by", "ptr", "--open", "--sum", "call_site", "--json", "-n", "0", trace)["sums"]
    assert sum(s["count"] for s in leaks) == len(left) and any(s["call_site"].startswith("eventfs_create_dir+0x") for s in leaks), leaks[:3]
    for args, said in ((["-e", "no_such"], "no event no_such in the trace"), (["--filter", "no_such > 3"], "has a field no_such"),
                       (["--filter", "bytes_alloc >"], "--filter bytes_alloc >: at column 14, before \"\": a number or a text is expected"),
                       (["--filter", "(a == 1"], "&&, || or ) is expected"), (["--sum", "comm", "--value", "no_such"], "--value no_such"),
                       (["--pair", "kmalloc"], "BEGIN,END")):
        p = run(UPTO_ASAN, "events", *args, trace, check=False)
        assert p.returncode and said in p.stderr.decode(), (args, p.stderr)


@pytest.mark.long
@pytest.mark.weight(40)
def test_stacks():
    """Who allocates, the kernel tells in a field: that function is in the stack that upto has for the record."""
    trace, _ = recorded("6.12")
    compared = 0
    for e in records(trace, "-e", "kmalloc,kmem_cache_alloc,kfree", "--stack", "-n", "20000"):
        caller = re.match(r"call_site=([\w.]+)\+0x", e["text"])
        if caller:
            functions = [f["function"].split(" ")[0].split(".")[0] for f in e["frames"][:6]]
            assert caller[1].split(".")[0] in functions, (e["ns"], e["text"], functions)
            compared += 1
    # added up by them; a program's functions without names are one
    def stack_of(e):
        names = [f["function"] for f in e["frames"]]
        return [n for i, n in enumerate(names) if n[0] != "[" or i + 1 == len(names) or names[i + 1] != n]

    freed = [e for e in records(trace, "-e", "kfree", "--stack", "--to", "entry:kernel_init") if e["frames"]]
    told = [e for e in freed if len(stack_of(e)) > 1]
    sums = {key: {s[key]: s["count"] for s in upto_json("events", "-e", "kfree", "--to", "entry:kernel_init", "--sum", key, "--json", "-n", "0", trace, upto=UPTO_ASAN)["sums"]}
            for key in ("caller", "stack")}
    assert {n: c for n, c in sums["caller"].items() if n} == collections.Counter(stack_of(e)[1] for e in told) and len(told) > 500
    assert {n: c for n, c in sums["stack"].items() if n} == collections.Counter(" < ".join(stack_of(e)) for e in freed)
    by_time = {(e["ns"], e["pid"]): " < ".join(stack_of(e)) for e in freed}
    pairs = upto_json("events", "--pair", "kfree,kmalloc", "--by", "ptr", "--stack", "--json", "-n", "0", "--to", "entry:kernel_init", trace, upto=UPTO_ASAN)["pairs"]
    assert len(pairs) == len(freed) and all(p["stack"] == by_time[p["start_ns"], p["pid"]] for p in pairs), pairs[:2]
    # of requests to the disk upto tells by itself, too
    issued = [e for e in records(trace, "-e", "block_rq_issue") if e["computed"]]
    requests = upto_json("disk", "--json", trace, upto=UPTO)["requests"]
    assert [(e["args"]["sector"], e["args"]["bytes"]) for e in issued] == [(r["sector"] or 0, r["bytes"]) for r in requests] and issued
    assert all(0 < e["insns"] - r["insns"] < 100 for e, r in zip(issued, requests))
    assert compared > 19000, compared
    return compared


@pytest.mark.weight(40)
def test_in_calls():
    """Records stand in the calls that they were passed in: below the innermost function of the stack that events --stack has."""
    trace, _ = recorded("6.12")
    names = "kmem:kmalloc,kmem:kfree,sched:sched_switch,kmem:mm_page_alloc"
    stacks = {(e["ns"], e["cpu"], e["event"], e["text"]): [f["function"] for f in reversed(e["frames"])] for e in records(trace, "-e", names, "--stack")}
    depths = collections.Counter()
    for command in ["-F", "load_module", "-n", "2"], ["-F", "load_module", "-n", "2", "--min-callee", "50us"], ["--from", "entry:load_module", "-n", "60000"]:
        open_, flow, compared, moments = {}, "-F" not in command, 0, collections.Counter()
        for c in upto_json("calls", "--json", *command, trace, upto=UPTO)["calls"]:
            pid = c["pid"]
            path = open_.setdefault(pid, {})
            if c.get("step") == "log" or c.get("cuts_in"):
                continue
            if "event" in c:
                stack = stacks.get((c["start_ns"], c["cpu"], c["event"], c["text"]))
                moments[c["start_ns"], c["cpu"]] += 1
                if not stack:
                    continue
                above = [path[d] for d in range(c["depth"]) if d in path]
                # all that is above it is on the stack, and, where nothing was left out, what is right above is the innermost
                rest = iter(stack)
                assert all(f in rest for f in above) and above, (c, above, stack)
                assert "--min-callee" in command or above[-1] == stack[-1], (c, above[-1], stack)
                compared += 1
            else:
                path[c["depth"]] = c["function"]
                for deeper in [d for d in path if d > c["depth"] or (d == c["depth"] and c.get("step") == "leave")]:
                    del path[deeper]
        assert compared > 30, (command, compared)
        depths[" ".join(command[-2:])] = compared
    # what is left out with interrupts, or is in no call that is asked for, is so with its records
    kinds = {(e["ns"], e["event"], e["text"]): [(f["kind"], f["function"]) for f in e["frames"]] for e in records(trace, "-e", names, "--stack", "--from", "entry:load_module", "-n", "3000")}
    for options, fits in (["--no-interrupts"], lambda frames: not any(kind == "interrupt" for kind, _ in frames)), \
            (["--below", "load_module"], lambda frames: any(name == "load_module" for _, name in frames)):
        shown = [c for c in upto_json("calls", "--json", "--from", "entry:load_module", "-n", "30000", *options, trace, upto=UPTO)["calls"] if "event" in c]
        compared = [c for c in shown if (c["start_ns"], c["event"], c["text"]) in kinds]
        assert compared and all(fits(kinds[c["start_ns"], c["event"], c["text"]]) for c in compared), (options, compared[:2])
    # none is lost where calls are left out for being short
    assert depths["-n 2"] == depths["--min-callee 50us"], depths
    assert not any("event" in c for c in upto_json("calls", "--json", "--no-events", "-F", "load_module", "-n", "1", trace, upto=UPTO)["calls"])
    text = run(UPTO, "calls", "-F", "load_module", "-n", "1", "--wide", trace).stdout.decode()
    assert re.search(r"^ +\d+\.\d{9} +\d +\d+ +# kmalloc: call_site=", text, re.M), text[:2000]
    return dict(depths)


@pytest.mark.weight(40)
def test_in_timeline():
    """Records are part of what their thread was in: the initcall, the process, the exec that the stack has; and of the phase."""
    trace, _ = recorded("6.12")
    spans = upto_json("timeline", "--json", trace, upto=UPTO)["timeline"]
    of = {s["id"]: s for s in spans}
    events = [s for s in spans if s["kind"] == "event"]
    assert sorted((e["start_ns"], e["name"].split(":")[0]) for e in events) == \
        sorted((e["ns"], e["event"].split(":")[1]) for e in records(trace) if not (e["computed"] and e["event"].split(":")[0] in CALLS))
    assert all(e["duration_ns"] == 0 and e["cpu_ns"] is None for e in events)
    parents = collections.Counter()
    for e in events:
        parent = of[e["parent"]]
        assert parent["start_ns"] <= e["start_ns"] < parent["end_ns"], (e, parent)
        parents[parent["kind"]] += 1
        if parent["pid"] is not None:
            assert parent["pid"] == e["pid"], (e, parent)
    assert parents["initcall"] > 100 and parents["process"] > 100 and parents["module-init"], parents
    shown = run(UPTO, "timeline", "--wide", "--kind", "event", "-n", "0", "--from", "entry:load_module", trace).stdout.decode()
    assert re.search(r" kmalloc: call_site=", shown)
    assert not [s for s in upto_json("timeline", "--json", "--no-events", trace, upto=UPTO)["timeline"] if s["kind"] == "event"]
    return dict(parents)


@pytest.mark.weight(12)
def test_chosen():
    """Only what is asked for is recorded, without the guest's knowing; a name that no event has is told."""
    trace = os.path.join(WORK, "events-chosen.upto")
    p = record(trace, qemu_args("6.12", initrd("6.12", "brief")), "--event", "sched:sched_switch,irq_handler_*,nosuch", "-f")
    assert b"--event: the kernel and the modules that were loaded have no event nosuch" in p.stderr, p.stderr
    events = upto_json("events", "--json", trace, upto=UPTO_ASAN)["events"]
    assert {e["event"] for e in events} == {"sched:sched_switch", "irq:irq_handler_entry", "irq:irq_handler_exit"} and all(e["computed"] for e in events)
    # each switch is one of upto's own, which knows of it by other means
    switches = run(UPTO, "dump", "--kind", "task-switch", trace).stdout.decode().splitlines()
    assert len(switches) == sum(e["event"] == "sched:sched_switch" for e in events) > 50, len(switches)
    assert upto_json("events", "--json", "--filter", "next_pid == 999999", trace)["events"] == []
    os.unlink(trace)


@pytest.mark.long
@pytest.mark.weight(12)
def test_enabled():
    """boot --enable-events: the guest records them itself, which the trace says."""
    trace = os.path.join(WORK, "events-enabled.upto")
    args = qemu_args("6.12", initrd("6.12", "brief"))
    kernel, image = (args[args.index(o) + 1] for o in ("-kernel", "-initrd"))
    run(UPTO, "boot", "--enable-events", "--event", "sched_process_fork,irq:*", "-m", "512M", "-f", "-o", trace, "--append", "quiet cryptomgr.notests", kernel, image)
    own = collections.Counter(e["event"] for e in records(trace) if not e["computed"])
    meta = upto_json("info", "--json", trace)["meta"]
    assert own["sched:sched_process_fork"] > 50 and own["irq:softirq_entry"] > 100 and len(own) > 4, own
    assert meta["changed"] == "trace_event=sched_process_fork,irq:*" and meta["command_line"].endswith(meta["changed"]), meta
    os.unlink(trace)


@pytest.mark.weight(2)
def test_none():
    """A guest whose kernel tells of no events, and options that would say nothing."""
    trace = os.path.join(WORK, "events-none.upto")
    said = record(trace, other_args(multiboot("calls")), "--event", "sched:*").stderr
    assert b"--event: no kernel was found that tells where its trace events are" in said, said
    p = run(UPTO_ASAN, "events", trace, check=False)
    assert p.returncode == 1 and b"'upto record --event NAMES' records them" in p.stderr, p.stderr
    for args, said in ((["--value", "x"], "--value: is for --sum"), (["--open"], "--open: is for --pair"), (["-s", "x"], "--sort: is for --sum and --pair"),
                       (["--debug", "x"], "--debug: is for --stack")):
        p = run(UPTO_ASAN, "events", *args, trace, check=False)
        assert p.returncode == 2 and said in p.stderr.decode(), (args, p.stderr)
    for args, said in (([], "--enable-events: is for --event"), (["--event", "sched:sched_sw*"], "the kernel itself knows names and SYSTEM:* only")):
        p = run(UPTO_ASAN, "boot", "--enable-events", *args, "-o", trace, "-f", qemu_args("6.12", initrd("6.12", "brief"))[-3], check=False)
        assert p.returncode == 2 and said in p.stderr.decode(), (args, p.stderr)
    os.unlink(trace)


def test_interpreter():
    """Instructions of all forms that kernels have there, executed by the CPU and by the interpreter: registers, flags, memory."""
    p = run(os.path.join(CHECK, "tests/interpreter_native"), "3000", str(int.from_bytes(os.urandom(4), "little")), check=False)
    assert p.returncode == 0, p.stdout.decode()
    return p.stdout.decode().strip()


PASSES = """
#include <linux/module.h>
#include <trace/events/power.h>
static int __init passes_init(void)
{
	for (int i = 0; i < 5; i++)
		trace_suspend_resume("passes", i, i & 1);
	return 0;
}
module_init(passes_init);
MODULE_LICENSE("GPL");
"""


@pytest.mark.weight(3)
def test_in_modules(tmp_path):
    """A tracepoint of the kernel's that code of a module passes, which has a jump label of its own."""
    (tmp_path / "passes.c").write_text(PASSES)
    (tmp_path / "init").write_text("#!/bin/busybox sh\n/bin/busybox insmod /passes.ko\n/bin/busybox poweroff -f\n")
    passes = module("6.12", "passes", str(tmp_path / "passes.c"))
    run(os.path.join(TOP, "scripts/guest-initrd.sh"), kernel("6.12")[0], tmp_path / "init", tmp_path / "image", f"{passes}=/passes.ko")
    record(str(tmp_path / "t.upto"), qemu_args("6.12", str(tmp_path / "image")), "--event", "power:suspend_resume")
    events = [e["args"] for e in upto_json("events", "--json", tmp_path / "t.upto")["events"]]
    # the text is the module's own
    assert [(e["val"], e["start"]) for e in events if int(e["action"], 16) >= 0xffffffffc0000000] == [(i, i & 1) for i in range(5)], events
