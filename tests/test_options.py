# SPDX-License-Identifier: GPL-2.0-or-later
"""Each option of each command that reads a trace changes its answer: one that is ignored is found."""
import re

import pytest

from guest import UPTO, run, upto_json
from test_code import recording

# held elsewhere: what depends on a terminal, on files beside the trace, or is the same for all commands
ELSEWHERE = {"--help", "--wide", "--debug", "--sysroot", "--follow"}
TABLE = {"--json": [], "--lines": ["3"], "--exact": []}
SPAN = {"--from": ["LATE"], "--to": ["LATE"], "--cpu": ["1"]}
FUNCTIONS = {"--thunks": [], "--kernel": [], "--user": [], "--module": ["virtio*,busybox"], "--function": ["vfs_*"]}
EXITS = ["--function", "do_exit"]
# by command: what is asked besides, and the option's arguments; a pair where the option needs a question of its own, which comes first
OPTIONS = {
    "top": {**TABLE, **SPAN, **FUNCTIONS, "--output": ["function,calls"], "--sort": ["calls"], "--by": ["section"],
            "--total": [], "--min": ["1"], "--clock": ["ns"]},
    "first": {**TABLE, **SPAN, **FUNCTIONS, "--output": ["function"], "--sort": ["-function"]},
    "syscalls": {**TABLE, **SPAN, "--output": ["call"], "--sort": ["duration"], "--pid": ["1"], "--name": ["*stat*"],
                 "--min-duration": ["1ms"], "--summary": [], "--path": ["/proc/*"]},
    "timeline": {**TABLE, "--from": ["LATE"], "--to": ["LATE"], "--output": ["name"], "--sort": ["cpu_ns"], "--kind": ["initcall,mount"], "--depth": ["1"],
                 "--min": ["1us"], "--all": []},
    "waits": {**TABLE, "--from": ["LATE"], "--to": ["LATE"], "--output": ["comm"], "--sort": ["asleep_ns"], "--pid": ["1"], "--comm": ["kthreadd"],
              "--summary": [], "--stack": []},
    "why": {**TABLE, "--output": ["ns"], "--sort": ["-ns"], "--until": ["init"], "--from": ["init"], "--without": ["decompressor"], "--chain": []},
    "log": {**TABLE, **SPAN, "--output": ["text"], "--sort": ["text"], "--level": ["err"], "--grep": ["virtio"]},
    "ps": {**TABLE, **SPAN, "--output": ["pid"], "--sort": ["insns"]},
    "tree": {**TABLE, "--function": ["vfs_read"], "--callers": (["--function", "vfs_read"], []), "--depth": ["2"], "--min": ["5"], "--clock": ["ns"],
             "--thunks": (["--depth", "12"], []), "--output": ["function"], "--sort": ["calls"]},
    "calls": {"--function": (["--from", "LATE", "--lines", "50"], EXITS[1:]), "--pid": (EXITS, ["1"]), "--depth": (EXITS, ["2"]),
              "--min-duration": (EXITS, ["1ms"]), "--min-callee": (EXITS + ["--min-duration", "1ms"], ["0"]),
              "--one-thread": (["--from", "LATE", "--min-duration", "1ms"], []),
              "--all-threads": (["--function", "do_wait"], []), "--log": (["--min-duration", "1ms"], []),
              "--no-interrupts": (["--function", "kernel_init_freeable", "--min-duration", "10us"], []), "--lines": (EXITS, ["1"]), "--json": (EXITS, []), "--exact": (EXITS, []),
              "--thunks": (EXITS, []), "--from": (EXITS, ["LATE"]), "--to": (EXITS, ["LATE"]), "--cpu": (EXITS, ["1"])},
    "stack": {"--at": ["LATE"], "--deepest": [], "--pid": ["2"], "--running": (["--at", "LATE"], []), "--json": []},  # --thunks: thunks.asked
    "dump": {opt: (["--kind", "syscall,interrupt,jump-indirect"], args) for opt, args in
             {**SPAN, "--json": [], "--lines": ["3"], "--kind": ["halt"]}.items()} | {"--function": (["--from", "LATE", "--lines", "20000"], ["vfs_*"])},
    "info": {"--json": [], "--exact": [], "--digest": []},
    "check": {"--json": [], "--no-stacks": []},
}


def options_of(command):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run(UPTO, command, "--help").stdout.decode(), re.M))


@pytest.mark.parametrize("command", list(OPTIONS))
@pytest.mark.weight(8)
def test_options(command):
    """Each is here, and the answer with it is another one."""
    trace, _ = recording("6.12", 2)
    late = f"{upto_json('info', '--json', trace)['duration_ns'] * 3 // 4}ns"
    assert options_of(command) - ELSEWHERE - ({"--thunks"} if command == "stack" else set()) == set(OPTIONS[command])
    answers = {}

    def answer(words):
        words = tuple(late if w == "LATE" else w for w in words)
        if words not in answers:
            answers[words] = run(UPTO, command, *words, trace).stdout
        return answers[words]

    for option, args in OPTIONS[command].items():
        more, args = args if isinstance(args, tuple) else ([], args)
        with_it = answer([*more, option, *args])
        assert with_it and with_it != answer(more), (option, with_it[:200])
