#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Are the answers about two traces the same, but for how many events and bytes they have? Of one trace, by two builds, or of two recordings of
the same deterministic guest: a change of what is recorded, or of how it is read, may change no answer.

    scripts/same_answers.py A.upto B.upto
    scripts/same_answers.py --upto old/upto --upto new/upto A.upto A.upto
"""
import argparse
import json
import os
import subprocess
import sys

UPTO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build/release/src/cli/upto")
QUESTIONS = [line.split() for line in """
top -n 0
top -n 0 --total
top -n 0 --pid 1
top -n 0 --from 2s --to 3s
top --by module
top --by process
top --by thread
top --by interrupt
first -n 0
tree --depth 0 --min 0
tree --depth 0 --min 0 --callers TRACE vfs_read
calls --function do_init_module
calls --function vfs_read --depth 2
calls --function schedule -n 50
calls --from 1500ms --to 1502ms
syscalls
ps
stack --at 1500ms
stack --at 2.2s
stack --deepest
timeline
waits -n 0
why
latency --each 100
disk
log
kd
kd -n 0 --min-duration 20us
""".strip().splitlines()]
OWN = {"events", "bytes", "bytes_per_event", "event", "chunks", "trace", "path", "counters"}  # keys of what is counted of the trace itself


def without_own(value):
    if isinstance(value, dict):
        return {k: without_own(v) for k, v in value.items() if k not in OWN}
    return [without_own(v) for v in value] if isinstance(value, list) else value


def answer(upto, question, trace):
    options = [trace if word == "TRACE" else word for word in question[1:]]
    p = subprocess.run([upto, question[0], "--json", *options, *([] if trace in options else [trace])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode:
        return {"exit": p.returncode, "error": p.stderr.decode().replace(trace, "TRACE")}
    return without_own(json.loads(p.stdout.decode().replace(trace, "TRACE")))


def difference(a, b, path=""):
    """The first place where two values differ."""
    if type(a) is type(b) and isinstance(a, (dict, list)) and len(a) == len(b):
        for key in (a if isinstance(a, dict) else range(len(a))):
            if isinstance(a, dict) and key not in b:
                return f"{path}.{key}: only in the first"
            if a[key] != b[key]:
                return difference(a[key], b[key], f"{path}.{key}")
    if isinstance(a, list) and isinstance(b, list):
        return f"{path}: {len(a)} and {len(b)}; only in one: {[x for x in a if x not in b][:2]} {[x for x in b if x not in a][:2]}"[:900]
    return f"{path}: {a!r} and {b!r}"[:900]


def answers(uptos, traces, questions=QUESTIONS):
    """Of each question, both answers."""
    for question in questions:
        yield (question, *(answer(upto, question, trace) for upto, trace in zip(uptos, traces)))


def differences(uptos, traces, questions=QUESTIONS):
    return [f"{' '.join(question)}{difference(a, b)}" for question, a, b in answers(uptos, traces, questions) if a != b]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--upto", action="append", default=[], help="twice: who answers about the first, and about the second")
    p.add_argument("traces", nargs=2)
    args = p.parse_args()
    failed = 0
    for question, a, b in answers(args.upto + [UPTO] * 2, args.traces):
        failed += a != b
        print("same  " if a == b else "DIFFER", "upto", *question, difference(a, b) if a != b else f"(both: {a['error'].strip()})" if "error" in a else "",
              flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
