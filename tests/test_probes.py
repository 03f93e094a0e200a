# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes: the guest's own kprobes, perf probe's definitions, and a debugger at the same instructions are what they are held against."""
import collections
import json
import os
import random
import re
import subprocess
import time

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, built, built_args, check, initrd, qemu_args, record, run, upto_json
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
    for e in events_of(trace, "-e", "kprobes:arrays"):  # as they are printed
        ours[e["pid"], "arrays"].append({k: number(v) for k, v in re.findall(r'(\w+)=(\S+)', e["text"])})
    for e in events_of(trace, "-e", "kprobes:"):
        if e["event"] == "kprobes:helper":  # an array of strings is so many values
            ours[e["pid"], "helper"].append({"argv": "{" + ",".join(f'"{e["args"][name]}"' for name in ("argv", "argv_1", "argv_2", "argv_3")) + "}"})
        elif e["event"] != "kprobes:arrays":
            ours[e["pid"], e["event"].split(":")[1]].append({k: int(v, 0) if isinstance(v, str) and v.startswith("0x") else v for k, v in e["args"].items()})
    for (pid, event), rows in theirs.items():
        mine = [{k: r[k] for k in rows[0]} for r in ours[pid, event]]
        assert any(mine[i:i + len(rows)] == rows for i in range(len(mine) - len(rows) + 1)), (pid, event, rows[:3], mine[:3])
        compared[event] += len(rows)
    assert set(compared) >= {"arrays", "helper", "read", "read_result", "openat", "openat_result", "filp", "context", "context_result", "exit"}, compared
    assert any("fs-nosuch" in row["argv"] for (_, event), rows in theirs.items() if event == "helper" for row in rows), compared
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
    # as often as the function was called
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace, upto=UPTO)["functions"]}
    assert len(by_name) == calls["vfs_read"] and len(events_of(trace, "-e", "probe:comm")) == calls["do_exit"]
    # the call that begins there is under way
    stacks = upto_json("events", "--json", "-e", "probe:given", "--stack", "-n", "50", trace, upto=UPTO)["events"]
    assert {tuple(f["function"] for f in e["frames"][:2]) for e in stacks} == {("vfs_read", "ksys_read")}, stacks[0]
    # uftrace's words for the same
    for ours, theirs in zip(by_name, events_of(trace, "-e", "probe:as_uftrace"), strict=True):
        assert (ours["insns"], ours["args"]["count"], ours["args"]["buf"]) == (theirs["insns"], theirs["args"]["arg3"], theirs["args"]["arg2"]), (ours, theirs)
    assert [b["args"]["retval"] for b in events_of(trace, "-e", "probe:uftrace_back")] == [b["args"]["retval"] for b in back]
    opened = [(e["args"]["arg1"], e["args"]["arg2"]) for e in events_of(trace, "-e", "probe:uftrace_open")]
    assert (-100, "/nosuch/file") in opened and len(opened) == len(events_of(trace, "-e", "kprobes:openat")) , opened
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


def said_by_both(rows, ours=None):
    """Values by place and name. What is a constant, or computed (perf reads memory where nothing is), is not perf's: of its rows, as `ours` has it."""
    ret = {}
    for row in rows:
        place, values = " ".join(row.split()[:2]), dict(word.split("=", 1) for word in row.split()[2:])
        if ours is None:
            ret[place] = {name: value for name, value in values.items() if value[0] not in "{\\"}
        else:
            ret[place] = {name: value for name, value in values.items() if name in ours.get(place, ())}
    return ret


@pytest.mark.built
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
            elif a == b:
                same["equal"] += 1
            elif said_by_both(a) == said_by_both(b, said_by_both(a)):
                same["equal but for what perf repeats, leaves out or cuts down"] += 1
            elif a and a < b and not definition.endswith("$params"):
                same["without what the line calls, where that is inlined"] += 1
            else:
                different.append((definition, sorted(a), sorted(b), ours.stderr, theirs.stderr))
    # structures in two registers, which it cuts down, and variables of what is inlined right there
    assert len(different) <= 2 and same["equal"] > 100, (same, different)
    return dict(same, different=len(different))


HITS = 25  # of each place: for each, the debugger takes the breakpoint out and in again


def without_slide():
    args = built_args("dwarf")
    args[args.index("-append") + 1] += " nokaslr"
    return args


def functions_that_run(trace):
    image = vmlinux()
    names = {line.split()[2] for line in run("nm", image).stdout.decode().splitlines() if line.split()[-2] in "tT"}
    rows = upto_json("top", "--json", "-n", "0", trace)["functions"]
    return sorted(r["function"] for r in rows if r["function"] in names and 3 <= r["calls"] <= 20000 and re.fullmatch(r"[a-z]\w+", r["function"]))


def definitions_of(functions, count, draw):
    """Lines of these functions with all their variables: the definition, and per address the names."""
    image, ret = vmlinux(), {}
    for function in draw.sample(functions, len(functions)):
        p = subprocess.run([UPTO, "probe", "--debug", image, "--json", "-L", function], stdin=subprocess.DEVNULL, capture_output=True)
        lines = [] if p.returncode else [row["line"] for row in json.loads(p.stdout)["lines"] if row["code"]]
        definition = f"{function}:{draw.choice(lines)} $vars" if lines else None
        p = definition and subprocess.run([UPTO, "probe", "--debug", image, "-D", definition], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if not p or p.returncode or len(p.stdout.splitlines()) != 1:
            continue
        words = p.stdout.split()
        ret[definition] = words[0].split("/")[1], words[1], [w.split("=")[0] for w in words[2:]]
        if len(ret) == count:
            break
    return ret


def address_of(place):
    symbol, offset = place.split("+")
    for line in run("nm", vmlinux()).stdout.decode().splitlines():
        if line.split()[-1] == symbol:
            return int(line.split()[0], 16) + int(offset)
    raise AssertionError(place)


@pytest.mark.built
@pytest.mark.weight(120)
def test_debugger(tmp_path):
    """Variables at lines of the source, also of inlined functions, have the values that gdb finds at the same instruction: it is attached to the
    guest that is recorded."""
    trace = os.path.join(WORK, "probes-debugger.upto")
    record(trace, without_slide())
    chosen = definitions_of(functions_that_run(trace), 24, random.Random(11))
    places = [{"address": address_of(place), "function": d.split(":")[0], "names": names} for d, (_, place, names) in chosen.items()]
    socket = str(tmp_path / "gdb")
    with open(tmp_path / "asked", "w") as f:
        json.dump({"image": vmlinux(), "socket": socket, "hits": HITS, "places": places}, f)
    recording = subprocess.Popen([UPTO, "record", "-q", "-f", "-o", trace, "--debug", vmlinux(), *(o for d in chosen for o in ("--probe", d)), "--",
                                  *without_slide(), "-S", "-gdb", f"unix:{socket},server=on,wait=off"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(socket):
            assert recording.poll() is None
            time.sleep(0.1)
        p = subprocess.run(["gdb", "-nx", "-batch", "-x", os.path.join(TOP, "tests/variables.py")], stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=600, env=dict(os.environ, VARIABLES=str(tmp_path / "asked")))
        assert recording.wait(60) == 0
    finally:
        recording.terminate()
        recording.wait()
    ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
    for e in events_of(trace, "-e", "probe:"):
        ours[int(e["args"]["__probe_ip"], 16)].append(e["args"])
    for line in p.stdout.splitlines():
        if line.startswith('{"address"'):
            row = json.loads(line)
            theirs[row["address"]].append(row)
    sums, wrong = collections.Counter(), []
    for address, rows in theirs.items():
        if len(ours[address]) < len(rows):
            wrong.append((hex(address), "hits", len(ours[address]), len(rows)))
        for mine, row in zip(ours[address], rows):
            sums["hits"] += 1
            for name, value in row["values"].items():
                if value is None:
                    sums["gdb has none"] += 1
                    continue
                mask = (1 << max(value.bit_length(), 8)) - 1
                own = int(mine[name], 16) if isinstance(mine[name], str) and mine[name].startswith("0x") else mine[name]
                same = isinstance(own, int) and (own - value) % (1 << 32) == 0 if value < 1 << 32 else own & mask == value
                sums["equal" if same else "different"] += 1
                if not same:
                    wrong.append((hex(address), name, mine[name], hex(value)))
    os.unlink(trace)
    assert not wrong and len(theirs) > 12 and sums["equal"] > 300, (sums, wrong[:20], p.stderr[-500:])
    return dict(sums, places=len(theirs))


@pytest.mark.weight(12)
def test_program():
    """Functions and lines of a program, in each process that runs it, with what it prints itself."""
    program, trace = os.path.join(WORK, "probed"), os.path.join(WORK, "probed.upto")
    source = os.path.join(TOP, "tests/guests/probed.c")
    run("gcc", "-g", "-O2", "-static", "-o", program, source)
    image = initrd("6.12", "probed", f"{program}=bin/probed", newer_than=(program,))
    p = record(trace, qemu_args("6.12", image), "--debug", program, "--probe", "/bin/probed:count argc argv[0]:string", "--probe", "/bin/probed:count%return $retval:s32",
               "--probe", "given=/bin/probed:weigh item->name:string item->weight item->kind deep", "--probe", "/bin/probed:weigh%return $retval:s64",
               "--probe", "/bin/probed:twice:2 product n", "--probe", "register=/bin/probed:count %di:s32",
               "--probe", "sdt_probed:weighed", "--probe", "/bin/probed:%sdt_probed:waited",
               "--probe", "uftrace=/bin/probed:count@arg1/i32,arg2/x", "--probe", "inlined=/bin/probed:twice",
               "--probe", "current=/bin/probed:count $current->pid ((task_struct*)$current)->tgid @jiffies $arg1:s32")
    assert run(UPTO, "probe", "--debug", program, "-F", "sdt_*").stdout.decode().split() == ["sdt_probed:waited", "sdt_probed:weighed"]
    check(trace)
    told = [(int(n), name, int(sum_)) for n, name, sum_ in re.findall(r'told count\((\d+), "(\w+)"\) = (\d+)', p.stdout.decode())]
    assert len(told) == 6
    events = events_of(trace)
    of = collections.defaultdict(list)
    for e in events:
        assert e["comm"] == "probed" and re.match("(probe|sdt)_probed:", e["event"]), e
        of[e["event"].split(":")[1]].append(e["args"])
    assert [(a["argc"], a["argv"]) for a in of["count"]] == [(n, name) for n, name, _ in told], of["count"]
    assert [a["arg1"] for a in of["register"]] == [a["retval"] for a in of["count__return"]] == [n for n, _, _ in told], of
    assert [a["arg1"] for a in of["uftrace"]] == [n for n, _, _ in told] and len({a["arg2"] for a in of["uftrace"]} - {0}) > 1, of["uftrace"]
    assert len(of["inlined"]) == 12, of["inlined"]
    # the kernel's types tell of the task that runs, wherever the place is
    assert [a["arg4"] for a in of["current"]] == [n for n, _, _ in told] and min(a["jiffies"] for a in of["current"]) > 1 << 30, of["current"]
    assert [(a["pid"], a["tgid"]) for a in of["current"]] == [(e["pid"],) * 2 for e in events if e["event"] == "probe_probed:count"], of["current"]
    # the text of the program itself is not in memory before it is used, which is said
    given = [("last" if a["name"] == "(fault)" else a["name"], a["weight"], a["kind"], a["deep"]) for a in of["given"]]
    assert given == [row for n, name, _ in told for row in ((name, n, 5, 0), ("last", 7, 3, 1))], given
    faults = sum(a["name"] == "(fault)" for a in of["given"])
    assert (f"{faults} values of probe_probed:given could not be read" in run(UPTO, "events", trace).stderr.decode()) == (faults > 0)
    assert [a["retval"] for a in of["weigh__return"]] == [value for _, _, sum_ in told for value in (14, sum_)]
    assert [(a["arg1"], a["arg2"]) for a in of["weighed"]] == [row for n, _, _ in told for row in ((7, 1), (n % 32 + 7 * 2, 0))], of["weighed"]
    assert [(a["arg1"], a["arg2"]) for a in of["waited"]] == [(1, 5), (2, 5), (3, 5)] * 2
    assert len({e["pid"] for e in events}) == 8 and len(of["twice_L2"]) == 12, of["twice_L2"]
    return dict(collections.Counter(e["event"] for e in events))


def revived(name):
    """A guest of two vCPUs that boots twice, in which a module comes twice; and a program that it runs."""
    program, disk = os.path.join(WORK, name, "revived"), os.path.join(WORK, name + ".disk")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    run("gcc", "-g", "-O2", "-static", "-o", program, os.path.join(TOP, "tests/guests/probed.c"))
    with open(disk, "wb") as f:
        f.truncate(1 << 20)
    image = initrd("6.12", "revived", f"{program}=bin/revived", image=os.path.join(WORK, name + ".img"), newer_than=(program,))
    return [a for a in qemu_args("6.12", image, smp=2, thread="multi", disk=disk) if a != "-no-reboot"], program


@pytest.mark.long
@pytest.mark.weight(15)
def test_revived():
    """Each boot's probes and events are its own, at other addresses, and have the same names."""
    trace = os.path.join(WORK, "revived.upto")
    args, program = revived("revived")
    p = record(trace, args, "--debug", program, "--probe", "dummy:dummy_dev_init dev->name:string",
               "--probe", "vfs_open path->dentry->d_name.name:string", "--probe", "/bin/revived:count argc argv[0]:string",
               "--event", "module:module_load,module:module_free,sched:sched_process_fork,sched:sched_process_exec,rcu:rcu_utilization")
    check(trace)
    told, found = p.stdout.decode().replace("\r", ""), events_of(trace)
    start = upto_json("info", "--json", trace)["boots"][1]["start_ns"]
    for boot, out, more in ((1, told[:told.rindex("insmod virtio_blk.ko")], 4), (2, told[told.rindex("insmod virtio_blk.ko"):], 1)):
        of = collections.defaultdict(list)
        for e in found:
            if (e["ns"] < start) == (boot == 1):
                of[e["event"].split(":")[1]].append(e)
        loads = [name.replace("-", "_") for name in re.findall(r"^insmod (\S+)\.ko$", out, re.M)]
        assert [e["args"]["name"] for e in of["module_load"]][-len(loads):] == loads, (boot, loads)
        assert [e["args"]["name"] for e in of["module_free"]] == ["dummy"], boot
        assert [e["args"]["name"] for e in of["dummy_dev_init"]] == ["dummy0"] * 2, boot
        assert [(e["args"]["argc"], e["args"]["argv"]) for e in of["count"]] == [(int(n), name) for n, name in re.findall(r'told count\((\d+), "(\w+)"\)', out)], boot
        assert len(of["count"]) == 3 and {e["args"]["filename"] for e in of["sched_process_exec"]} >= {"/bin/revived"}, boot
        # what the kernel counted itself but for the other vCPU's idle thread, and who came after it was asked
        forks = int(re.search(r"^processes: (\d+)$", out, re.M)[1])
        assert 0 <= len(of["sched_process_fork"]) - (forks - 1) - more <= 6, (boot, forks, len(of["sched_process_fork"]))
        assert {"Start context switch", "End context switch"} <= {e["text"] for e in of["rcu_utilization"]}, boot
        opened = [name for e in of["vfs_open"] for name in e["args"].values()]
        # it is unpacked, and loaded twice
        assert opened.count("dummy.ko") == 3 and "order" in opened, (boot, opened)
        assert {e["cpu"] for e in of["rcu_utilization"]} == {0, 1}, boot
    # what was under way when the guest was reset did not end in the next boot
    pairs = upto_json("events", "--pair", "sched_process_exec,sched_process_fork", "--by", "cpu", "--json", "-n", "0", trace)["pairs"]
    both = [p for p in pairs if p["start_ns"] is not None and p["duration_ns"] is not None]
    assert both and len(pairs) > len(both) and not [p for p in both if p["start_ns"] < start < p["start_ns"] + p["duration_ns"]], pairs
    # both kernels told of them
    listed = [f"{f['system']}:{f['name']}" for f in upto_json("events", "-l", "--json", trace)["formats"]]
    assert len(listed) == len(set(listed)) and set(listed) >= {e["event"] for e in found}, listed
    return dict(collections.Counter(e["event"] for e in found))


@pytest.mark.weight(5)
def test_refused(tmp_path):
    """What is wrong is said before the guest starts, and leaves no trace; what only the guest can tell, at its end."""
    program = str(tmp_path / "program")
    run("gcc", "-g", "-O2", "-o", program, os.path.join(TOP, "tests/guests/probed.c"))
    trace = str(tmp_path / "refused.upto")
    for options, said in ((["--probe", "vfs_read:: count"], "no place of a probe: ':'"), (["--probe", "vfs_read count:q7"], "no type of a probe's value"),
                          (["--probe", "vfs_read:3 count"], "give the file of the kernel (vmlinux) that has it with --debug FILE"),
                          (["--debug", "/etc/passwd", "--probe", "vfs_read count"], "/etc/passwd: "), (["--debug", program], "--debug: is for --probe"),
                          (["--probe", "r 0xffffffff81000000"], "where does the function return that has no name?"),
                          (["--probe", "/nosuch/program:main"], "/nosuch/program: No such file"), (["--debug", program, "--probe", "/bin/program:nosuch"], "has no function nosuch"),
                          (["--debug", program, "--probe", "/bin/program:count bogus"], "there is no variable bogus"),
                          (["--debug", program, "--probe", "/bin/program:count:1000"], "that line has no code"),
                          (["--debug", program, "--probe", "sdt_probed:nosuch"], "no static probe of that name"), (["--probe", "sdt_probed:weighed"], "in which program?"),
                          (["--probe", "vfs_read@retval,arg1"], "two definitions"), (["--probe", "vfs_read@fparg1"], "floating point is not read: 'fparg1'"),
                          (["--probe", "vfs_read+4 $arg1"], "$arg1 is known only where a function begins"), (["--probe", "vfs_read $retval"], "FUNCTION%return"),
                          (["--probe", "vfs_read $keep(a,$current,$comm)"], "are numbers"),
                          (["--probe", "vfs_read@arg1/x7"], "no format that is read"), (["--probe", "vfs_read@arg1/u count"], "have commas between: ' count'")):
        p = run(UPTO, "record", "-o", trace, *options, "--", "qemu-system-x86_64", check=False)
        assert p.returncode == 2 and said in p.stderr.decode() and p.stderr.count(b"\n") == 1, (options, p.stderr)
        assert not os.path.exists(trace), options
    for options, said in ((["-L", "nosuch"], "has no function nosuch"), (["-V", "count:1000"], "has no code"), (["-D", "count bogus"], "no variable bogus"),
                          (["-F", "nosuch*"], "no function is called"), ([], "what is to be shown?")):
        p = run(UPTO, "probe", "--debug", program, *options, check=False)
        assert p.returncode == (1 if options else 2) and said in p.stderr.decode() and not p.stdout, (options, p.stderr)
    p = run(UPTO, "probe", "--debug", program, "-L", "twice", "--records", "3", check=False)
    assert p.returncode == 2 and p.stderr == b"upto: --records: is for a trace\n", p.stderr
    assert "      2  \tlong product = n * 2;\n" in run(UPTO, "probe", "--debug", program, "-L", "twice").stdout.decode()
    assert "\tconst struct item *\titem\n\tint\tdeep\n" in run(UPTO, "probe", "--debug", program, "-V", "weigh").stdout.decode()
    told = {"vfs_write+1": "no instruction begins there; the next one is vfs_write+", "no_such_function": "has no such place",
            "do_sys_openat2 bogus": "do_sys_openat2() has no parameter bogus; it has dfd, filename, how"}
    p = record(trace, qemu_args("6.12", initrd("6.12", "brief")), *(o for d in told for o in ("--probe", d)), "--stop", "entry:rest_init")
    assert all(said in p.stderr.decode() for said in told.values()), p.stderr
