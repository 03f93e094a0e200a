# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes: the guest's own kprobes, perf probe's definitions, and a debugger at the same instructions are what they are held against."""
import collections
import json
import os
import random
import re
import subprocess

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, built, built_args, check, record, run, upto_json
from test_args import KPROBE, args_guest, filp_of


def events_of(trace, *options):
    return upto_json("events", "--json", *options, trace, upto=UPTO_ASAN)["events"]


def number(text):
    return int(text, 0) if re.fullmatch(r"-?\d+|0x[0-9a-f]+", text) else text.strip('"')


@pytest.mark.parametrize("version", ["6.12", pytest.param("6.1", marks=pytest.mark.long), pytest.param("7", marks=pytest.mark.long)])
@pytest.mark.weight(25)
def test_kprobes(version):
    """Each record that the guest's own kprobes made is made from outside, too, with the same values, in the same order."""
    trace, out = args_guest(version)
    text = out[out.index("trace-begin"):out.index("trace-end")].replace("\r", "")
    theirs, ours, compared = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
    for pid, event, values in KPROBE.findall(text):
        theirs[int(pid), event].append({k: number(v) for k, v in re.findall(r'(\w+)=("[^"]*"|\S+)', values)})
    for e in events_of(trace, "-e", "kprobes:"):
        ours[e["pid"], e["event"].split(":")[1]].append({k: int(v, 0) if isinstance(v, str) and v.startswith("0x") else v for k, v in e["args"].items()})
    for (pid, event), rows in theirs.items():
        mine = [{k: r[k] for k in rows[0]} for r in ours[pid, event]]
        assert any(mine[i:i + len(rows)] == rows for i in range(len(mine) - len(rows) + 1)), (pid, event, rows[:3], mine[:3])
        compared[event] += len(rows)
    assert set(compared) >= {"read", "read_result", "openat", "openat_result", "filp", "context", "context_result", "exit"}, compared
    return dict(compared)


@pytest.mark.weight(3)
def test_types():
    """What has names is what the registers say; a module's function, and members of what parameters point to."""
    trace, _ = args_guest("6.12")
    by_register, by_name = events_of(trace, "-e", "kprobes:read"), events_of(trace, "-e", "probe:given")
    assert len(by_name) == len(by_register) > 100
    for r, n in zip(by_register, by_name):
        assert (r["pid"], n["args"]["count"], n["args"]["buf"]) == (n["pid"], r["args"]["count"], r["args"]["buf"]), (r, n)
        assert r["insns"] == n["insns"] and n["args"]["f_mode"] & 1, n  # FMODE_READ, include/linux/fs.h
    # a file's path, as --args reads it, ends with the name of its dentry
    calls = {c["start_ns"]: c["args"] for c in upto_json("calls", "--json", "--args", "--depth", "1", "--function", "vfs_read", trace)["calls"]}
    names = [c["file"].split("/")[-1] for c in calls.values()]
    assert [n["args"]["name"] for n in by_name if n["args"]["name"] in ("busybox", "uptime", "text")] == [n for n in names if n in ("busybox", "uptime", "text")]
    # values at the entry are told where the function returns, too
    back, result = events_of(trace, "-e", "probe:given_back"), events_of(trace, "-e", "kprobes:read_result")
    assert [b["args"]["retval"] & (1 << 64) - 1 for b in back] == [r["args"]["result"] & (1 << 64) - 1 for r in result]
    pending = collections.defaultdict(list)
    for e in sorted(by_name + back, key=lambda e: e["insns"]):
        if e["event"] == "probe:given":
            pending[e["pid"]].append(e["args"]["count"])
        else:
            assert pending[e["pid"]].pop() == e["args"]["count"], e
    context = events_of(trace, "-e", "probe:ext4_init_fs_context")
    assert [e["args"]["fc"] for e in context] == [e["args"]["fc"] for e in events_of(trace, "-e", "kprobes:context")] and len(context) == 1
    last = [e["args"] for e in events_of(trace, "-e", "probe:comm")]
    assert {a["comm"] for a in last} >= {"dd", "cat", "init"} and len({a["jiffies"] for a in last}) > 5, last
    text = run(UPTO, "events", "-e", "probe:given", trace).stdout.decode()
    assert re.search(r'^ +dd-\d+ +\[000\] +[\d.]+: given: +\(vfs_read\+0x0\) count=0x10000 buf=0x[0-9a-f]+ name="busybox" f_mode=0x[0-9a-f]+$', text, re.M), text[:2000]


def vmlinux():
    tree, _ = built("dwarf")
    return tree + "/vmlinux"


def places(count, seed):
    """Functions of the kernel with their lines, drawn by a seed: definitions that ask for all variables."""
    image, draw = vmlinux(), random.Random(seed)
    functions = run(UPTO, "probe", "--debug", image, "-F", "*").stdout.decode().split()
    functions = [f for f in functions if re.fullmatch(r"[a-z]\w+", f)]
    ret = []
    for f in draw.sample(functions, count):
        p = subprocess.run([UPTO, "probe", "--debug", image, "--json", "-L", f], stdin=subprocess.DEVNULL, capture_output=True)
        if p.returncode:
            continue
        lines = [row["line"] for row in json.loads(p.stdout)["lines"] if row["code"]]
        ret.append((f, draw.choice(lines)))
    return ret


@pytest.mark.kernels
@pytest.mark.weight(60)
def test_definitions():
    """Instructions and registers are those of perf probe -D: entries with their parameters, and lines."""
    image, same = vmlinux(), collections.Counter()
    different = []
    for function, line in places(80, 5):
        for definition in f"{function} $params", f"{function}:{line}":
            ours, theirs = (subprocess.run([*tool, "-D", definition], stdin=subprocess.DEVNULL, capture_output=True, text=True)
                            for tool in ([UPTO, "probe", "--debug", image], ["perf", "probe", "-k", image]))
            a, b = (set(p.stdout.split("\n")) - {""} for p in (ours, theirs))
            # what it has given up, and lines that begin where others do, which it refuses
            if not b or any("deade12d" in row for row in b):
                same["perf has none"] += 1
            elif a == b or (definition.endswith("$params") and {row.split()[1] for row in a} == {row.split()[1] for row in b} and
                            all(set(x.split()) >= set(next(y for y in b if y.split()[1] == x.split()[1]).split()) for x in a)):
                same["equal"] += 1
            else:
                different.append((definition, sorted(a), sorted(b), ours.stderr, theirs.stderr))
    assert len(different) <= 0.03 * same["equal"] and same["equal"] > 100, (same, different[:10])
    return dict(same, different=len(different))
