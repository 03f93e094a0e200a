# SPDX-License-Identifier: GPL-2.0-or-later
"""upto import of a trace.dat: what trace-cmd itself reports of it, and what upto records from outside meanwhile."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

from guest import BUILD, TOP, UPTO, UPTO_ASAN, WORK, Once, initrd, libraries_of, once_a_run, qemu_args, record, run, unpack_disk, upto_json
from big_endian import big_endian
from test_cli import fails

BITS32 = "6.1-686-pae"
CASES = [("6.12", ""), *(pytest.param(v, every, marks=pytest.mark.kernels) for v, every in (("6.1", ""), ("7", ""), (BITS32, ""), ("6.12", "every=1")))]
LINE = re.compile(r"^ *(.*)-(\d+) +\[(\d+)\] +[\d.]+: funcgraph_(entry|exit): +func=(\S+) depth=(\d+)(?:.* calltime=([0-9a-f]+) rettime=([0-9a-f]+))?")
LOST = re.compile(r"^CPU:\d+ \[(\d+) EVENTS DROPPED\]")

pytestmark = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="no trace-cmd")


def tracecmd_of(version):
    """trace-cmd and its libraries, as guest-initrd.sh takes them: programs of the host do not run in a guest of 32 bits."""
    if version != BITS32:
        return [*libraries_of("/usr/bin/trace-cmd"), "/usr/bin/trace-cmd=/usr/bin/trace-cmd"]
    folder = os.path.join(BUILD, "guest/tracecmd-i386")
    packages = ["trace-cmd", "libtracecmd1", "libtracefs1", "libtraceevent1", "libzstd1", "zlib1g", "libc6"]
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/guest-programs.sh"), folder, "bookworm", "i386", *packages, check=False)
    if p.returncode:
        pytest.skip(f"no trace-cmd of 32 bits: {(p.stderr.decode(errors='replace').splitlines() or ['no reason told'])[-1]}")
    libraries = [f for f in glob.glob(folder + "/**/*.so.*", recursive=True) if os.path.dirname(f).endswith("i386-linux-gnu")]
    return [f"{folder}/usr/bin/trace-cmd=/usr/bin/trace-cmd", *(f"{f}=/lib/{os.path.basename(f)}" for f in libraries)]


def recorded(version, every):
    """The folder with what trace-cmd wrote in the guest, and upto's own trace of that guest."""
    name = os.path.join(WORK, f"tracecmd-{version}{every and '-' + every.split('=')[0]}")

    def make():
        image = initrd(version, "tracecmd", *tracecmd_of(version))
        args = qemu_args(version, image, smp=1, disk=name + ".disk", append=every, memory="1G")
        if every == "every=1":  # as hardware would: all that the tracer does is nobody's to record
            with open(name + ".disk", "wb") as f:
                f.truncate(1 << 30)
            run(*args, timeout=1500)
        else:
            record(name + ".upto", args)
        unpack_disk(name + ".disk", name)

    once_a_run(name, make)
    return name, name + ".upto"


def report(path):
    """By trace-cmd: begins, ends and names by function and process; what was lost; how long calls took."""
    begins, ends, lost, took, pids = collections.Counter(), collections.Counter(), 0, collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for line in run("trace-cmd", "report", "-R", "-i", path).stdout.decode(errors="replace").splitlines():
        m = LINE.match(line)
        if m:
            comm, pid, _, kind, function, _, call, ret = m.groups()
            (begins if kind == "entry" else ends)[function] += 1
            if kind == "entry":
                pids[int(pid)][function] += 1
            elif call:
                took[function].append(int(ret, 16) - int(call, 16))
        elif LOST.match(line):
            lost += int(LOST.match(line)[1])
    return begins, ends, lost, took, pids


def rows_of_tree(trace, *options):
    """A row a line: of a whole machine they are gigabytes."""
    columns = []
    with subprocess.Popen([UPTO, "tree", "--json", *options, trace], stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            if line.startswith('{"tree"'):
                columns = json.loads(line[line.index("["):line.index("]") + 1])
            if line.startswith("["):
                yield dict(zip(columns, json.loads(line.rstrip("\n").rstrip(",").rstrip("]}") + "]")))
    assert p.returncode == 0 and columns


def calls_by_process(trace, *options):
    counts = collections.defaultdict(collections.Counter)
    for row in rows_of_tree(trace, "--by", "thread", *options):
        if row["depth"] and row["calls"]:
            counts[row["pid"]][row["function"]] += row["calls"]
    assert counts
    return counts


def imported(dat, out, upto=UPTO):
    said = run(upto, "import", "-f", "-o", out, dat).stdout.decode()
    return out, said


def events_of(dat):
    """By trace-cmd: of each event but the tracer's own, who ran, on which CPU, when, what it was and its text."""
    line, events = re.compile(r"^ *.*-(\d+) +\[(\d+)\] +([\d.]+): (\w+): +(.*)$"), []
    for text in run("trace-cmd", "report", "-N", "-t", "-i", dat).stdout.decode(errors="replace").splitlines():
        m = line.match(text)
        if m and not m[4].startswith("funcgraph_"):
            seconds, _, rest = m[3].partition(".")
            events.append((int(m[1]), int(m[2]), int(seconds) * 10**9 + int(rest.ljust(9, "0")), m[4], m[5].rstrip()))
    return events


def compare_events(dat, trace):
    """All of them are there, each with its text, thread and time: as far from the first as there."""
    theirs = events_of(dat)
    ours = [(e["pid"], e["cpu"], e["ns"], e["event"].partition(":")[2], e["text"].rstrip()) for e in upto_json("events", "--json", "-n", "0", trace)["events"]]
    assert len(theirs) > 100 and len(ours) == len(theirs), (len(ours), len(theirs))
    offset = theirs[0][2] - ours[0][2]
    wrong = [(o, t) for o, t in zip(ours, theirs) if o != (*t[:2], t[2] - offset, *t[3:])]
    assert not wrong, (len(wrong), wrong[:3])


def compare_processes(dat, trace):
    """Who made whom, each program, and when it began and ended."""
    processes, began = upto_json("ps", "--json", trace)["processes"], events_of(dat)[0][2]
    first = upto_json("events", "--json", "-n", "1", trace)["events"][0]["ns"]
    found = collections.Counter()
    for pid, _, ns, event, text in events_of(dat):
        at, m = ns - began + first, dict(re.findall(r"(\w+)=(\S+)", text))
        if event == "sched_process_fork":
            assert any(p["pid"] == int(m["child_pid"]) and p["ppid"] == int(m["pid"]) for p in processes), text
        elif event == "sched_process_exec":
            assert any(p["pid"] == pid and p["exe"] == m["filename"] and p["start_ns"] == at for p in processes), (text, at)
        elif event == "sched_process_exit":
            assert any(p["pid"] == pid and p["end_ns"] == at for p in processes), (text, at)
        found[event] += 1
    assert all(found[f"sched_process_{what}"] > 20 for what in ("fork", "exec", "exit")), found
    assert any(s["kind"] == "process" for s in upto_json("timeline", "--json", trace)["timeline"])


def compare_syscalls(dat, trace):
    """Each that began is there with its arguments; results are those of the exits that belong to them."""
    began, ended = collections.Counter(), collections.defaultdict(set)
    for pid, _, _, event, text in events_of(dat):
        m = re.match(r"NR (-?\d+) (?:= (-?\d+)|\((.*)\))", text)
        if event == "sys_enter":
            began[pid, int(m[1]), tuple(int(a, 16) for a in m[3].split(", "))] += 1
        elif event == "sys_exit":
            ended[pid, int(m[1])].add(int(m[2]))
    calls = upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]
    ours = collections.Counter((c["pid"], c["nr"], tuple(int(a, 16) for a in c["args"])) for c in calls)
    assert ours == began and sum(began.values()) > 1000, (ours - began, began - ours)
    # programs fire at them, by the call's own name, too
    program = "tracepoint:raw_syscalls:sys_enter { @all[args.id] = count(); } tracepoint:syscalls:sys_enter_openat { @openat = count(); }"
    maps = {}
    for line in run(UPTO, "run", "--json", "-e", program, trace).stdout.decode().splitlines():
        if line.startswith("{"):
            maps.update(json.loads(line).get("data", {}) if json.loads(line)["type"] == "map" else {})
    by_nr = collections.Counter()
    for (_, nr, _), n in began.items():
        by_nr[str(nr)] += n
    assert maps["@all"] == by_nr and maps["@openat"] == by_nr["257"] > 10, (maps, by_nr)
    returned = [c for c in calls if c["result"] is not None]
    assert len(returned) > 300 and all(c["result"] in ended[c["pid"], c["nr"]] for c in returned), len(returned)


@pytest.mark.parametrize("version, every", CASES)
@pytest.mark.weight(60)
def test_report(version, every, tmp_path):
    """Calls, processes, losses and durations are trace-cmd's own."""
    folder, _ = recorded(version, every)
    trace, said = imported(os.path.join(folder, "calls.dat"), tmp_path / "calls.upto")
    begins, ends, lost, took, pids = report(os.path.join(folder, "calls.dat"))
    calls = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", trace)["functions"]:
        calls[f["function"]] += f["calls"]
    assert +calls == begins and sum(begins.values()) > (1000000 if every else 5000), (calls - begins, begins - calls)
    assert upto_json("info", "--json", trace)["lost"] == lost
    # each process has its own
    by_pid = {p["pid"] for p in upto_json("ps", "--json", trace)["processes"]}
    assert set(pids) <= by_pid | {0}, set(pids) - by_pid
    mine = calls_by_process(trace)
    assert all(mine[pid] == want for pid, want in pids.items() if pid), [(pid, want - mine[pid]) for pid, want in pids.items() if mine[pid] != want][:3]
    # a record's own time is some 100 ns off the one that the tracer takes for a duration, more under an emulator
    names, compared = [f for f, _ in begins.most_common(6)], 0
    for name in names:
        # with what is called in them: where an interrupt frees what others have left, one is within another
        rows = upto_json("calls", "--json", "-n", "0", "-F", name, trace)["calls"]
        mine = sorted(c["duration_ns"] for c in rows if c["function"] == name and c.get("left") == "returned")
        theirs = sorted(took[name])
        if lost or not theirs:
            continue
        assert len(mine) == len(theirs), (name, len(mine), len(theirs))
        half = len(theirs) // 2
        assert abs(mine[len(mine) // 2] - theirs[half]) < max(5000, theirs[half] / 50), (name, mine[len(mine) // 2], theirs[half])
        compared += len(theirs)
    compare_events(os.path.join(folder, "calls.dat"), trace)
    if not lost:
        compare_processes(os.path.join(folder, "calls.dat"), trace)
    if every:
        compare_syscalls(os.path.join(folder, "calls.dat"), trace)
    else:
        fails(1, "it has no system calls", "syscalls", trace)
    if not lost:
        assert "calls whose ends are not there" not in said and compared > 1000, (said, compared)
        checked = run(UPTO, "check", trace).stdout.decode()
        assert "of which 0 matched no call" in checked, checked
    return f"{sum(begins.values())} calls, {lost} lost; {said.strip().partition(': ')[2]}"


@pytest.mark.weight(10)
def test_big_endian(tmp_path):
    """The same recording as a machine of the other order of bytes writes it, which trace-cmd reads as the same: so do we."""
    folder, _ = recorded("6.12", "")
    little, big = tmp_path / "little.dat", tmp_path / "big.dat"
    run("trace-cmd", "convert", "--file-version", "6", "-i", os.path.join(folder, "calls.dat"), "-o", little)
    big.write_bytes(big_endian(little.read_bytes()))
    reports = [run("trace-cmd", "report", "-N", "-R", "-t", "-i", dat).stdout for dat in (little, big)]
    assert reports[0] == reports[1] and reports[0].count(b"funcgraph_exit") > 5000
    traces = [imported(dat, dat.with_suffix(".upto"), UPTO_ASAN)[0] for dat in (little, big)]
    for command in (["top", "-n", "0"], ["calls", "-n", "0"], ["events", "-n", "0"], ["ps"], ["waits"], ["timeline"]):
        answers = [run(UPTO, *command, "--json", trace).stdout for trace in traces]
        assert answers[0] == answers[1] and len(answers[0]) > 100, command
    compare_events(big, traces[1])
    return f"{reports[0].count(b'funcgraph_exit')} ends of calls"


@pytest.mark.weight(8)
def test_reused_pid(tmp_path):
    """A PID that another process gets once its first one has exited: both are there, each with its own calls and its name."""
    folder, _ = recorded("6.12", "")
    dat, other = tmp_path / "own.dat", tmp_path / "reused.dat"
    run("trace-cmd", "convert", "--file-version", "6", "-i", os.path.join(folder, "calls.dat"), "-o", dat)
    ends, forks = {}, {}
    for pid, _, ns, event, text in events_of(dat):
        if event == "sched_process_exit":
            ends[pid] = ns
        elif event == "sched_process_fork":
            forks[int(re.search(r"child_pid=(\d+)", text)[1])] = ns
    first = min(ends, key=ends.get)
    second = next(pid for pid in sorted(forks) if forks[pid] > ends[first] and pid in ends)
    # in what the CPU recorded, which begins with a page: each number of four bytes
    data = bytearray(dat.read_bytes())
    begin = data.index(b"flyrecord\0") + 10
    for at in range(int.from_bytes(data[begin:begin + 8], "little"), len(data), 4):
        if data[at:at + 4] == second.to_bytes(4, "little"):
            data[at:at + 4] = first.to_bytes(4, "little")
    other.write_bytes(data)
    rows = []
    for path in dat, other:
        trace, _ = imported(path, path.with_suffix(".upto"), UPTO_ASAN)
        assert "whole and consistent" in run(UPTO, "check", trace).stdout.decode()
        rows.append([{**p, "pid": first} for p in upto_json("ps", "--json", trace)["processes"] if p["pid"] in (first, second)])
    assert rows[0] == [{**p, "tgid": q["tgid"]} for p, q in zip(rows[1], rows[0])] and len(rows[0]) == len(rows[1]) >= 2, rows
    return f"{first} for {second}: {[p['comm'] for p in rows[1]]}"


@pytest.mark.parametrize("version", [pytest.param("6.12", marks=pytest.mark.long), pytest.param("6.1", marks=pytest.mark.kernels), pytest.param("7", marks=pytest.mark.kernels)])
@pytest.mark.weight(50)
def test_outside(version, tmp_path):
    """What both see of processes that began and ended while both looked is the same: each call of each process."""
    folder, outside = recorded(version, "")
    inside, _ = imported(os.path.join(folder, "calls.dat"), tmp_path / "calls.upto")
    _, _, lost, _, pids = report(os.path.join(folder, "calls.dat"))
    assert not lost
    functions = {f for counts in pids.values() for f in counts}
    ends = {p["pid"]: p for p in upto_json("ps", "--json", outside)["processes"]}
    spans = {p["pid"] for p in upto_json("ps", "--json", inside)["processes"]}
    compared, processes, by_pid = 0, 0, calls_by_process(outside, "--functions", ",".join(functions))
    for pid in sorted(pid for pid in spans if pid in ends and ends[pid]["comm"] in ("mkdir", "cat", "tr", "find", "wc")):
        theirs, mine = pids[pid], collections.Counter({f: n for f, n in by_pid[pid].items() if f in functions})
        # what is traced from its first step on has all of it: the tracer itself calls none of these
        assert +mine == theirs, (pid, ends[pid]["comm"], mine - theirs, theirs - mine)
        compared += sum(theirs.values())
        processes += 1
    assert processes > 8 and compared > 1000, (processes, compared)
    return f"{compared} calls of {processes} processes"


@pytest.mark.long
@pytest.mark.weight(46)
@pytest.mark.parametrize("name", ["tasks", "changes"])
def test_text(name, tmp_path):
    """The kernel's own text: each line's calls are there, and those of each process are what was seen from outside."""
    folder, outside = recorded("6.12", "text=1")
    path = os.path.join(folder, name + ".txt")
    trace, said = imported(path, tmp_path / "text.upto", upto=UPTO_ASAN)
    begins = collections.Counter()
    with open(path) as f:
        for line in f:
            m = re.search(r"\|  +([\w.]+)(?: \[\w+\])?\(.*?\)(?:;| \{)", line)
            begins[m[1] if m else None] += 1
    del begins[None]
    calls = collections.Counter({f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"] if f["calls"]})
    assert calls == begins and sum(begins.values()) > 5000, (calls - begins, begins - calls)
    assert "calls whose ends are not there" not in said and "of which 0 matched no call" in run(UPTO, "check", trace).stdout.decode(), said
    shown = {p["pid"]: p["comm"] for p in upto_json("ps", "--json", trace)["processes"]}
    since = min(p["start_ns"] for p in upto_json("ps", "--json", outside)["processes"] if shown.get(p["pid"]) == "mkdir")
    mine, theirs, compared = calls_by_process(trace), calls_by_process(outside, "--from", f"{since - 1000000}ns", "--functions", ",".join(begins)), 0
    for pid in (pid for pid, comm in shown.items() if comm in ("mkdir", "cat", "tr", "find", "wc")):
        assert mine[pid] == {f: n for f, n in theirs[pid].items() if f in begins}, (pid, shown[pid], mine[pid])
        compared += 1
    assert compared > 30 and upto_json("waits", "--json", trace)["waits"], (compared, shown)
    # without times there is nothing to go by
    with open(path) as f:
        (tmp_path / "timeless.txt").write_text("".join(re.sub(r"^ *[0-9.]+ \|", "", line) for line in f))
    fails(1, "no times: 'echo 1 >options/funcgraph-abstime' before it is recorded", "import", "-f", "-o", tmp_path / "x.upto", tmp_path / "timeless.txt")
    return f"{sum(begins.values())} calls, {compared} processes; {said.strip().partition(': ')[2]}"


@pytest.mark.long
@pytest.mark.weight(45)
def test_thresh(tmp_path):
    """Where only ends were recorded, of calls that took long enough, they are within each other, as long as they say."""
    folder, _ = recorded("6.12", "")
    trace, said = imported(os.path.join(folder, "thresh.dat"), tmp_path / "thresh.upto", upto=UPTO_ASAN)
    begins, ends, _, took, _ = report(os.path.join(folder, "thresh.dat"))
    assert not begins and "by their ends" in said
    calls = collections.Counter({f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"] if f["calls"]})
    assert calls == ends and sum(ends.values()) > 30, (calls, ends)
    for name in ends:
        mine = sorted(c["duration_ns"] for c in upto_json("calls", "--json", "-n", "0", "-F", name, "--depth", "1", trace)["calls"] if c["duration_ns"])
        assert mine == sorted(took[name]), (name, mine[:5], sorted(took[name])[:5])
    assert "of which 0 matched no call" in run(UPTO, "check", trace).stdout.decode()
    return f"{sum(ends.values())} calls of {len(ends)} functions"


@pytest.mark.weight(44)
def test_hostile(tmp_path):
    """What is damaged is an error in one line, whatever it does to the library that reads it; a pipe is refused."""
    folder, _ = recorded("6.12", "")
    with open(os.path.join(folder, "thresh.dat"), "rb") as f:
        data = f.read()
    path, whole = str(tmp_path / "damaged.dat"), 0
    import random
    rng = random.Random(5)
    for i in range(60):
        damaged = bytearray(data[:rng.randrange(len(data))] if i % 3 == 0 else data)
        for _ in range(rng.choice([1, 5, 40])):
            damaged[rng.randrange(min(len(damaged), 4000 if i % 2 else len(damaged)))] = rng.randrange(256)
        with open(path, "wb") as f:
            f.write(damaged)
        p = run(UPTO_ASAN, "import", "-f", "-o", str(tmp_path / "out.upto"), path, check=False, timeout=120)
        assert p.returncode in (0, 1) and p.stderr.count(b"\n") == p.returncode, (i, p.returncode, p.stderr)
        if p.returncode == 0:
            whole += 1
            run(UPTO, "info", str(tmp_path / "out.upto"))
    p = run("sh", "-c", f"cat {os.path.join(folder, 'thresh.dat')} | {UPTO} import -f -o {tmp_path}/out.upto -", check=False)
    assert p.returncode == 1 and b"is read as a file, not through a pipe" in p.stderr, p.stderr
    fails(1, r"it has no system calls", "syscalls", imported(os.path.join(folder, "calls.dat"), tmp_path / "calls.upto")[0])
    return f"{whole} of 60 could be read"


@pytest.mark.weight(44)
def test_return_addresses(tmp_path):
    """Begins of calls as funcgraph-retaddr writes them: another event, which tells the same."""
    folder, _ = recorded("6.12", "")
    whole, other = os.path.join(folder, "calls.dat"), tmp_path / "other.dat"
    run("trace-cmd", "convert", "--file-version", "6", "--compression", "none", "-i", whole, "-o", other)
    data = other.read_bytes()
    # no longer than it was, since the file knows where what is behind it lies
    for old, new in (b"name: funcgraph_entry\n", b"name: fgraph_retaddr_entry\n"), (b'"--> %ps (%d)", (void *)REC->func, REC->depth', b'"%ps(%d)", (void *)REC->func, REC->depth'):
        assert old in data
        data = data.replace(old, new, 1)
    assert len(data) == os.path.getsize(other)
    other.write_bytes(data)
    traces = [imported(dat, tmp_path / f"{i}.upto", upto=UPTO_ASAN) for i, dat in enumerate((whole, other))]
    assert "by their ends" not in traces[1][1], traces[1][1]
    trees = [[(n["depth"], n["function"], n["calls"], n["total_ns"]) for n in upto_json("tree", "--json", "-n", "0", trace)["tree"]] for trace, _ in traces]
    assert trees[0] == trees[1] and len(trees[0]) > 100, [len(t) for t in trees]


LOST_WHILE_AWAY = """# tracer: function_graph
 1.000001 |   0)   a-5   |               |  vfs_write() {
 1.000002 |   0)   a-5   |               |    pipe_write() {
 1.000003 |   0)   a-5   |               |      schedule() {
 1.000004 |   0)   c-7   |               |  vfs_read() {
 1.000005 |   0)   c-7   |               |    schedule() {
 1.000006 |   0)   b-6   |   0.100 us    |  dput();
CPU:0 [LOST 20 EVENTS]
 1.000010 |   0)   a-5   |   0.100 us    |            dput();
 1.000011 |   0)   a-5   |   0.100 us    |            mutex_lock();
 1.000012 |   0)   c-7   |   0.900 us    |    } /* schedule */
 1.000013 |   0)   c-7   |   0.100 us    |    mutex_lock();
 1.000014 |   0)   c-7   |   0.900 us    |  } /* vfs_read */
"""


RENAMED_LATE = """# tracer: function_graph
 1.000001 |   0)   a-5   |               |  do_fork() {
 1.000002 |   0)   a-5   |               |    /* task_newtask: pid=6 comm=a clone_flags=1200000 oom_score_adj=0 */
 1.000003 |   0)   a-5   |               |    /* sched_process_fork: comm=a pid=5 child_comm=a child_pid=6 */
 1.000004 |   0)   a-5   |               |    /* task_newtask: pid=7 comm=a clone_flags=3d0f00 oom_score_adj=0 */
 1.000005 |   0)   a-5   |   4.000 us    |  } /* do_fork */
 1.000006 |   0)   a-5   |               |  /* sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=a next_pid=6 next_prio=120 */
 1.000010 |   0)   a-6   |               |  /* sched_process_exec: filename=/bin/exe pid=6 old_pid=6 */
 1.000011 |   0)  exe-6  |               |  do_exit() {
 1.000012 |   0)  exe-6  |               |    /* sched_process_exit: comm=tr pid=6 prio=120 group_dead=true */
 1.000013 |   0)  tr-6   |               |    pipe_release() {
 1.000014 |   0)  tr-6   |               |    /* sched_switch: prev_comm=tr prev_pid=6 prev_prio=120 prev_state=R ==> next_comm=b next_pid=7 next_prio=120 */
 1.000016 |   0)   b-7   |   0.100 us    |  vfs_read();
 1.000017 |   0)   b-7   |               |  /* sched_switch: prev_comm=b prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=late next_pid=6 next_prio=120 */
 1.000018 |   0)  late-6 |   5.000 us    |    } /* pipe_release */
 1.000019 |   0)  late-6 |   0.100 us    |    kfree();
"""


MARKED = """# tracer: function_graph
 1.000001 |   0)   a-5   |               |  vfs_write() {
 1.000002 |   0)   a-5   |   ==========> |
 1.000002 |   0)   a-5   |               |    sysvec_apic_timer_interrupt() {
 1.000004 |   0)   a-5   |   0.100 us    |      irq_enter_rcu(); /* = 0x0 */
 1.000005 |   0)   a-5   |   3.000 us    |    } /* sysvec_apic_timer_interrupt = 0xffffffea */
 1.000005 |   0)   a-5   |   <========== |
 1.000006 |   0)   a-5   |   0.100 us    |    dput(); /* <-vfs_write+0x10 ret=0x1 */
 1.000007 |   0)   a-5   |   6.000 us    |  } /* vfs_write = 4096 */
 1.000008 |   0)   a-5   |               |  vfs_read() {
 1.000009 |   0)   a-5   |   1.000 us    |  } /* vfs_read ret=-22 */
"""


def test_marked(tmp_path):
    """Where an interrupt begins and ends, and what functions returned, as kernels write that: all calls are there, with no name but their own."""
    (tmp_path / "x.txt").write_text(MARKED)
    trace, said = imported(tmp_path / "x.txt", tmp_path / "x.upto", upto=UPTO_ASAN)
    assert "calls whose ends are not there" not in said and "of which 0 matched no call" in run(UPTO_ASAN, "check", trace).stdout.decode(), said
    rows = [(n["depth"], n["function"], n["calls"], n["total_ns"]) for n in upto_json("tree", "--json", trace)["tree"] if n["function"] != "[not traced]"]
    assert sorted(rows) == [(1, "vfs_read", 1, 1000), (1, "vfs_write", 1, 6000), (2, "dput", 1, 100), (2, "sysvec_apic_timer_interrupt", 1, 3000),
                            (3, "irq_enter_rcu", 1, 100)], rows


def test_ends_without_end(tmp_path):
    """Of ends alone so many are kept: those for which there is no room are counted, and are a gap."""
    lines = [f" {1 + i / 1e5:.6f} |   0)   a-5   |   5.000 us    |  }} /* vfs_read */\n" for i in range(140000)]
    (tmp_path / "x.txt").write_text("# tracer: function_graph\n" + "".join(lines))
    for upto, kept in (UPTO, 140000), (UPTO_ASAN, 1 << 17):
        trace, said = imported(tmp_path / "x.txt", tmp_path / "x.upto", upto=upto)
        assert ("gap" in said) == (kept < 140000), said
        info, calls = upto_json("info", "--json", trace), {f["function"]: f["calls"] for f in upto_json("top", "--json", trace)["functions"]}
        assert calls["vfs_read"] == kept and info["lost"] == 140000 - kept, (calls, info["lost"])


def test_renamed_late(tmp_path):
    """A name that is told of a thread behind its exit is none of another one: what it was in the middle of goes on. Threads are told from processes."""
    (tmp_path / "x.txt").write_text(RENAMED_LATE)
    trace, _ = imported(tmp_path / "x.txt", tmp_path / "x.upto", upto=UPTO_ASAN)
    checked = run(UPTO_ASAN, "check", trace).stdout.decode()
    assert "of which 0 matched no call" in checked, checked
    rows = [(p["pid"], p["tgid"], p["ppid"], p["comm"], p["exe"]) for p in upto_json("ps", "--json", trace)["processes"] if p["pid"]]
    assert sorted(rows, key=str) == [(5, 5, 0, "a", None), (6, 6, 5, "a", None), (6, 6, 5, "tr", "/bin/exe"), (7, 5, 0, "b", None)], rows
    calls = [c["function"] for c in upto_json("calls", "--json", "-F", "do_exit", trace)["calls"]]
    assert calls == ["do_exit", "pipe_release", "kfree"], calls


def test_lost_while_away(tmp_path):
    """Where records are lost, threads that do not run may have: what was open in them is not known, unless its end shows it."""
    (tmp_path / "x.txt").write_text(LOST_WHILE_AWAY)
    trace, said = imported(tmp_path / "x.txt", tmp_path / "x.upto", upto=UPTO_ASAN)
    rows, stack = set(), {}
    for n in upto_json("tree", "--json", "--by", "thread", trace)["tree"]:
        stack[n["depth"]] = n["function"]
        if n["depth"] > 1:
            rows.add((n["pid"], *[stack[d] for d in range(1, n["depth"] + 1) if stack[d] != "[not traced]"]))
    # a has returned from all that it was in, while nobody saw it; c has waited
    assert (5, "dput") in rows and (5, "mutex_lock") in rows and (7, "vfs_read", "mutex_lock") in rows and (7, "vfs_read", "schedule") in rows, rows
    assert not {r for r in rows if r[0] == 5 and len(r) > 2 and r[-1] in ("dput", "mutex_lock")}, rows
    assert "2 gaps with 20 events lost" in said, said
