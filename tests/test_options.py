# SPDX-License-Identifier: GPL-2.0-or-later
"""Each option of each command that reads a trace changes its answer: one that is ignored is found."""
import os
import re

import pytest

from guest import UPTO, WORK, run, upto_json
from test_code import recording
from test_thin import base, events

# held elsewhere: what depends on a terminal, on files beside the trace, or is the same for all commands
ELSEWHERE = {"--instruments", "--fold", "--boot", "--help", "--wide", "--debug", "--sysroot", "--follow", "--args", "--no-events"}
TABLE = {"--json": [], "--lines": ["3"], "--exact": []}
SPAN = {"--from": ["LATE"], "--to": ["LATE"], "--cpu": ["1"]}
FAULT = "handle_mm_fault"
SOME = ["--start", f"entry:{FAULT}", "--stop", f"exit:{FAULT}"]
SPANS = {"--start": [f"entry:{FAULT}#40"], "--stop": [f"exit:{FAULT}"], "--every": (SOME, [])}
CALLS = {"--max-duration": ["1us"], "--only-interrupts": [], "--functions": [FAULT], "--not": [FAULT], "--below": [FAULT], "--comm": ["rcu*"]}
MORE_CALLS = {**CALLS, "--min-duration": ["20us"], "--no-interrupts": [], "--pid": ["exe"]}
# on a loaded host, a hundred instructions may take as many microseconds
RING = {"--before": (SOME, ["2ms"]), "--limit": ["100"], "--keep": (["--limit", "100"], ["last"])}
# of commands whose rows are chosen
ROWS = {"--min-duration": ["1ms"], "--max-duration": ["100us"]}
ROWS_CODE = {"--functions": ["do_one_initcall,worker_thread"], "--not": ["kthread,do_one_initcall"], "--below": ["worker_thread,run_init_process"], "--module": ["virtio*"]}
CODE = {"--kernel": [], "--user": [], "--module": ["story"]}
LOGGED = ["--start", "log:pci", "--stop", "log:pci#2"]
LOAD = ["--start", "entry:do_init_module", "--stop", "exit:do_init_module"]
FAULTS = ["--start", "entry:handle_mm_fault#3", "--stop", "exit:handle_mm_fault"]
LOADS = {"--every": ([*LOAD, "--before", "50ms"], []), "--before": (LOAD, ["1s"])}
# options that choose what is looked at: asked of a few milliseconds, but for those commands that need more
CHOICES = {
    "top": {**SPANS, **RING, **MORE_CALLS, "--depth": ["2"]}, "first": {**SPANS, **RING, **MORE_CALLS, "--depth": ["2"]},
    "tree": {**SPANS, **RING, **MORE_CALLS, **CODE},
    "dump": {**SPANS, **RING, **MORE_CALLS, **CODE, "--depth": ["2"]}, "calls": {**SPANS, **RING, **CALLS, **CODE},
    "syscalls": {**SPANS, "--before": (["--start", f"entry:{FAULT}#40"], ["1s"]), "--every": (["--start", FAULT, "--stop", f"{FAULT}#5"], [])}, "ps": {**SPANS, **RING},
    "log": {"--start": ["time:LATE"], "--stop": ["time:LATE"], "--every": (LOGGED, [])},
    "timeline": {"--start": ["time:LATE"], "--stop": ["time:LATE"], **LOADS}, "waits": {"--start": ["time:LATE"], "--stop": ["time:LATE"], **LOADS},
    "latency": {"--start": ["time:LATE"], "--stop": (["--each", "200"], ["time:LATE"]), "--every": ([*FAULTS, "--before", "1ms"], []),
                "--before": (FAULTS, ["5ms"])},
    "why": {"--start": ["entry:kernel_init_freeable"], "--stop": ["exit:kernel_init_freeable"]},
    "thin": {**SPANS, **RING, **MORE_CALLS, **CODE, "--depth": ["2"]},
}
FUNCTIONS = {"--thunks": [], "--kernel": [], "--user": [], "--module": ["virtio*,busybox"], "--function": ["vfs_*"]}
EXITS = ["--function", "do_exit"]
# by command: what is asked besides, and the option's arguments; a pair where the option needs a question of its own, which comes first
OPTIONS = {
    "top": {**TABLE, **SPAN, **FUNCTIONS, "--output": ["function,calls"], "--sort": ["calls"], "--by": ["section"],
            "--total": [], "--min": ["1"], "--clock": ["ns"]},
    "first": {**TABLE, **SPAN, **FUNCTIONS, "--output": ["function"], "--sort": ["-function"]},
    "syscalls": {**TABLE, **SPAN, "--output": ["call"], "--sort": ["duration"], "--pid": ["1"], "--name": ["*stat*"],
                 **ROWS, "--comm": ["exe"], "--summary": [], "--path": ["/proc/*"]},
    "timeline": {**TABLE, "--from": ["LATE"], "--to": ["LATE"], "--output": ["name"], "--sort": ["cpu_ns"], "--kind": ["initcall,mount"], "--depth": ["1"],
                 "--min": ["1us"], "--all": [], **ROWS, **ROWS_CODE, "--pid": ["kthreadd"], "--comm": ["kworker*"]},
    "waits": {**TABLE, "--from": ["LATE"], "--to": ["LATE"], "--output": ["comm"], "--sort": ["asleep_ns"], "--pid": ["1"], "--comm": ["kthreadd"],
              **ROWS, **ROWS_CODE, "--summary": [], "--stack": []},
    "latency": {**TABLE, "--from": ["LATE"], "--to": (["--each", "200"], ["LATE"]), "--cpu": ["1"], "--output": ["comm"], "--sort": ["start_ns"], "--pid": ["1"], "--comm": ["kworker*"], "--kind": ["wakeup"], "--each": ["2"]},
    "why": {**TABLE, "--output": ["ns"], "--sort": ["-ns"], "--until": ["init"], "--to": ["init"], "--from": ["init"], "--without": ["decompressor"], "--chain": []},
    "log": {**TABLE, **SPAN, "--output": ["text"], "--sort": ["text"], "--level": ["err"], "--grep": ["virtio"], "--stack": (["--level", "err"], []), "--pid": ["2"], "--comm": ["kworker*"]},
    "ps": {**TABLE, **SPAN, "--output": ["pid"], "--sort": ["insns"], "--pid": ["kthreadd"], "--comm": ["kworker*"], "--stack-watch": []},
    "tree": {**TABLE, **SPAN, "--function": ["vfs_read"], "--callers": (["--function", "vfs_read"], []), "--depth": ["2"], "--min": ["5"], "--clock": ["ns"], "--by": ["process"],
             "--thunks": (["--depth", "12"], []), "--output": ["function"], "--sort": ["calls"]},
    "calls": {"--function": (["--from", "LATE", "--lines", "50"], EXITS[1:]), "--pid": (EXITS, ["1"]), "--depth": (EXITS, ["2"]),
              "--min-duration": (EXITS, ["1ms"]), "--min-callee": (EXITS + ["--min-duration", "1ms"], ["0"]),
              "--one-thread": (["--from", "LATE", "--min-duration", "1ms"], []),
              "--all-threads": (["--function", "do_wait"], []), "--log": (["--min-duration", "1ms"], []),
              "--no-interrupts": (["--function", "kernel_init_freeable", "--min-duration", "10us"], []), "--lines": (EXITS, ["1"]), "--json": (EXITS, []), "--exact": (EXITS, []),
              "--thunks": (EXITS, []), "--from": (EXITS, ["LATE"]), "--to": (EXITS, ["LATE"]), "--cpu": (EXITS, ["1"])},
    "stack": {"--at": ["LATE"], "--deepest": [], "--pid": ["2"], "--comm": ["kthreadd"], "--running": (["--at", "LATE"], []), "--json": []},  # --thunks: thunks.asked
    "dump": {opt: (["--kind", "syscall,interrupt,jump-indirect"], args) for opt, args in
             {**SPAN, "--json": [], "--lines": ["3"], "--kind": ["halt"]}.items()} | {"--function": (["--from", "LATE", "--lines", "20000"], ["vfs_*"])},
    "info": {"--json": [], "--exact": [], "--digest": []},
    "check": {"--json": [], "--no-stacks": []},
}


WHOLE = ("log", "timeline", "waits", "latency", "why")


def options_of(command):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run(UPTO, command, "--help").stdout.decode(), re.M))


def is_on_one():
    """The part was all on one vCPU, as the host let them run: of the other one, and of its threads, there is nothing then."""
    return len({e["cpu"] for e in events(2)}) == 1


@pytest.mark.parametrize("command", [pytest.param(c, marks=[pytest.mark.long] * (c in {"calls", *WHOLE})) for c in OPTIONS])
@pytest.mark.weight(8)
def test_options(command):
    """Each is here, and the answer with it is another one."""
    # a part of a trace will do, but for what goes by the whole boot; and a part may have few system calls, all of them early
    trace = recording("6.12", 2)[0] if command in {*WHOLE, "stack", "calls", "syscalls"} - {"latency"} else base(2)
    info = upto_json("info", "--json", trace)
    began = info["spans"][0]["start_ns"] if info["spans"] else 0
    late = f"{began + (info['duration_ns'] - began) * 3 // 4}ns"
    assert options_of(command) - ELSEWHERE - ({"--thunks"} if command == "stack" else set()) == {*OPTIONS[command], *CHOICES.get(command, [])}
    answers = {}

    def answer(words):
        words = tuple(w.replace("LATE", late) for w in words)
        if words not in answers:
            answers[words] = run(UPTO, command, *words, trace).stdout
        return answers[words]

    choices = CHOICES.get(command, {}) if command in WHOLE else {}
    for option, args in [*OPTIONS[command].items(), *choices.items()]:
        more, args = args if isinstance(args, tuple) else ([], args)
        with_it = answer([*more, option, *args])
        if option == "--cpu" and with_it == answer(more):  # all of it may have been on that one
            with_it = answer([*more, option, "0"])
        assert (with_it or (option == "--cpu" and is_on_one())) and with_it != answer(more), (option, with_it[:200])


@pytest.mark.parametrize("command", [pytest.param(c, marks=[pytest.mark.long] * (c == "thin")) for c in CHOICES if c not in WHOLE])
@pytest.mark.weight(6)
def test_choices(command):
    """The same of options that choose what is looked at."""
    trace, out, answers = base(2), os.path.join(WORK, "options-thin.upto"), {}

    def answer(words):
        if tuple(words) not in answers:
            if command == "thin":
                run(UPTO, "thin", "-f", *words, "-o", out, trace)
            answers[tuple(words)] = run(UPTO, *(["dump", out] if command == "thin" else [command, *words, trace])).stdout
        return answers[tuple(words)]

    if command == "thin":
        assert options_of(command) - ELSEWHERE == {"--output", "--force", *CHOICES[command]}
    for option, args in CHOICES[command].items():
        more, args = args if isinstance(args, tuple) else ([], args)
        with_it = answer([*more, option, *args])
        assert (with_it or (option == "--comm" and is_on_one())) and with_it != answer(more), (option, with_it[:200])


@pytest.mark.weight(6)
def test_rows():
    """waits and timeline choose of the rows that they have without options those that a filter of these rows, made here, chooses."""
    trace, _ = recording("6.12", 2)
    waits, told = upto_json("waits", "--json", trace)["waits"], upto_json("timeline", "--json", trace)["timeline"]
    by_id = {r["id"]: r for r in told}

    def took(w):
        return w["asleep_ns"] + w["ready_ns"]

    def within(row):
        while row:
            yield row
            row = by_id.get(row["parent"])

    def asked(rows, command, *words):
        answer = upto_json(command, "--json", *words, trace)[command]
        if command == "timeline":  # as a table by time, as a tree by what is a part of what
            answer, rows = (sorted(r["id"] for r in some) for some in (answer, rows))
        assert answer == rows, (command, words, [r for r in answer if r not in rows][:1], [r for r in rows if r not in answer][:1])
        return len(rows)

    compared = [
        asked([w for w in waits if took(w) >= 1e6], "waits", "--min-duration", "1ms"),
        asked([w for w in waits if took(w) <= 1e5], "waits", "--max-duration", "100us"),
        asked([w for w in waits if {"worker_thread", "do_wait"} & {*w["stack"]}], "waits", "--functions", "worker_thread,do_wait"),
        asked([w for w in waits if "kernel_init" in w["stack"]], "waits", "--below", "kernel_init"),
        asked([w for w in waits if "kthread" not in w["stack"]], "waits", "--not", "kthread"),
        asked([w for w in waits if w["comm"].startswith("kworker") and took(w) >= 1e5 and "worker_thread" in w["stack"]],
              "waits", "--comm", "kworker*", "--min-duration", "100us", "--below", "worker_thread"),
        asked([r for r in told if r["pid"] == 1], "timeline", "--kind", ",".join({r["kind"] for r in told}), "--pid", "1"),
    ]
    assert all(compared), compared
    kinds = "initcall", "probe", "work"
    long = [r for r in told if r["kind"] in kinds and 1e4 <= r["duration_ns"] <= 1e6]
    assert len(long) > 20
    asked(long, "timeline", "--kind", ",".join(kinds), "--min-duration", "10us", "--max-duration", "1ms")
    # in the tree: with what they are a part of
    some = {p["id"] for r in told if r["kind"] == "initcall" and r["name"].startswith("acpi") for p in within(r)}
    tree = upto_json("timeline", "--json", "--functions", "acpi*", trace)["timeline"]
    assert some and some <= {r["id"] for r in tree}, some - {r["id"] for r in tree}
    assert {r["id"] for r in tree if r["kind"] == "initcall"} == {i for i in some if by_id[i]["kind"] == "initcall"}
    return f"{sum(compared) + len(long)} rows"


@pytest.mark.long
@pytest.mark.weight(6)
def test_windows():
    """Of several spans, waits has what begins in one of them, timeline what has a part in one; --before makes each longer."""
    trace, _ = recording("6.12", 2)
    waits, told = upto_json("waits", "--json", trace)["waits"], upto_json("timeline", "--json", trace)["timeline"]
    loads = [(c["start_ns"], c["start_ns"] + c["duration_ns"])
             for c in upto_json("calls", "--json", "--function", "do_init_module", "--depth", "1", trace)["calls"] if c["duration_ns"]]
    assert len(loads) > 2 and all(a[1] < b[0] for a, b in zip(loads, loads[1:])), loads
    kinds, counts = ",".join({r["kind"] for r in told}), []
    for before in 0, 500000000:
        options = ["--start", "entry:do_init_module", "--stop", "exit:do_init_module", "--every", *(["--before", f"{before}ns"] if before else [])]
        spans = [(max(start - before, last), stop) for (start, stop), last in zip(loads, [0, *(stop for _, stop in loads)])]
        begun = [w for w in waits if any(start <= w["start_ns"] < stop for start, stop in spans)]
        assert upto_json("waits", "--json", *options, trace)["waits"] == begun, (options, len(begun))
        part = {r["id"] for r in told if any(r["end_ns"] > start and r["start_ns"] < stop for start, stop in spans)}
        got = {r["id"] for r in upto_json("timeline", "--json", "--kind", kinds, *options, trace)["timeline"]}
        assert got == part, (options, got ^ part)
        counts.append((len(begun), len(part)))
    assert counts[0][0] < counts[1][0] and 2 < counts[0][1] < counts[1][1], counts
    p = run(UPTO, "waits", "--start", "do_init_module", "--stop", "vfs_read#1000000", trace)
    assert b"--stop vfs_read#1000000: did not happen: up to the trace's end" in p.stderr, p.stderr
    return str(counts)
