# SPDX-License-Identifier: GPL-2.0-or-later
"""upto import of what perf script prints of Intel PT: text that is made here of calls that upto recorded, as several versions of perf print it."""
import collections
import os

import pytest

from guest import TOP, UPTO, UPTO_ASAN, run, upto_json
from test_cli import fails
from test_code import recording
from test_exec import execute, program

# where the kernel's and programs' functions are, as far as text tells
KERNEL, USER, ROOM = 0xffffffff81000000, 0x401000, 0x10000


class Place:
    def __init__(self, address, name, offset, dso):
        self.address, self.name, self.offset, self.dso = address, name, offset, dso


class Text:
    """perf script's lines. `style`: fields that -F takes away or adds, and digits."""
    def __init__(self, **style):
        self.style = {"cpu": True, "symoff": True, "dso": True, "digits": 9, "pid": False, "event": "branches:", "period": True, "indent": False, **style}
        self.bases, self.lines, self.sites = {}, [], collections.defaultdict(dict)

    def place(self, function, offset):
        kernel = not function.startswith("[") and not function.startswith("u:")
        base = self.bases.setdefault(function, (KERNEL if kernel else USER) + ROOM * len(self.bases))
        return Place(base + offset, function, offset, "[kernel.kallsyms]" if kernel else "/bin/app")

    def site(self, caller, callee):
        """Each call of another function has a place of its own, at least the length of an instruction from the next one's."""
        known = self.sites[caller]
        return self.place(caller, 0x100 + 32 * known.setdefault(callee, len(known)))

    def put(self, thread, ns, flags, start, to, depth=0):
        pid, comm, cpu = thread
        s = self.style
        task = f"{comm:>16} {f'{pid:5}/{pid:<5}' if s['pid'] else f'{pid:5}'} "
        time = f"{ns // 10**9:5}.{ns % 10**9:09}"[:-3 if s["digits"] == 6 else None]
        name = (to if flags in ("call", "syscall", "hw int") else start).name
        self.lines.append((ns, len(self.lines), task + (f"[{cpu:03}] " if s["cpu"] else "") + f"{time}: " + ("         1 " if s["period"] else "")
                           + (f"{s['event']:>20} " if s["event"] else "") + f"  {flags:<15}      "
                           + (f"{'    ' * depth + name:<48}" if s["indent"] else "") + f" {self.end(start)} => {self.end(to)}"))

    def end(self, p):
        name = p.name if p.name.startswith("[u") or not self.style["symoff"] else f"{p.name}+{p.offset:#x}"
        return f"{p.address:16x} {name}" + (f" ({p.dso})" if self.style["dso"] else "")

    def written(self, path):
        path.write_text("\n".join(line for _, _, line in sorted(self.lines)) + "\n")
        return path


class Thread:
    """Lines for the steps of a thread, and the calls that they are: [function, begin, end]."""
    def __init__(self, text, calls, jumps):
        self.text, self.calls, self.jumps, self.open, self.jumped = text, calls, jumps, [], None

    def top(self):
        return self.open[-1]["function"] if self.open else "outside_of_all"

    def enter(self, who, step, ns, is_stuffing):
        function, kind, top, rows = step["function"], step["kind"], self.top(), [[step["function"], ns, None]]
        if is_stuffing:
            self.text.put(who, ns, "call", self.text.place(function, 0x40), self.text.place(function, 0x45))
            self.open.append({"function": function, "start_ns": ns, "rows": []})
            return
        before = self.jumped or (self.open[-1] if kind == "tail" and self.open else None)
        frame = {"function": function, "start_ns": ns, "rows": rows, "site": self.text.site(top, function), "kind": kind}
        if before:  # it goes on there
            frame.update(site=before["site"], kind=before["kind"])
            if self.jumps:
                self.text.put(who, ns, "jmp", self.text.place(before["function"], 0x40), self.text.place(function, 0), len(self.open))
                self.end(before, ns)
            else:
                frame["rows"] = before["rows"] if self.jumped else []
        else:
            flags = {"call": "call", "tail": "call", "interrupt": "hw int", "syscall": "syscall", "signal": "call"}[kind]
            self.text.put(who, ns, flags, frame["site"], self.text.place(function, 0), len(self.open))
        if self.jumps or not before:
            self.calls += rows
        self.jumped = None
        self.open.append(frame)

    @staticmethod
    def end(frame, ns):
        for row in frame["rows"]:
            if row[2] is None and "vague" not in frame:
                row[2] = ns

    def leave(self, who, step, ns):
        function, left = step["function"], step["left"]
        if not self.open or self.open[-1]["start_ns"] != step["start_ns"] or self.open[-1]["function"] != function:
            assert not self.open, (step, self.open[-1])  # it began before
            if left == "returned":
                self.text.put(who, ns, "return", self.text.place(function, 0xff0), self.text.place("began_before", 0xf00))
            return
        frame = self.open.pop()
        if not frame["rows"] and "site" not in frame:  # the guard against guessing
            return
        if left == "jumped":
            self.jumped = frame
            return
        self.end(frame, ns)
        if left == "cut":
            if frame["kind"] == "syscall":  # exec
                self.text.put(who, ns, "iret", self.text.place(function, 0xff0), Place(0x7f0000001000, "_start", 0, "/lib/ld.so"))
                self.calls.append(["_start", ns, None])
            # such as a new thread's first steps, which nobody returned from
            for f in [frame, *self.open]:
                f["vague"] = True
                for row in f["rows"]:
                    row[2] = None
            return
        # what a jump led to returned from both
        if "replaced" in frame:
            return
        for f in reversed(self.open):
            if f.get("site") is not frame["site"]:
                break
            f["replaced"] = True
        back = {"interrupt": "iret", "syscall": "sysret"}.get(frame["kind"], "return")
        site, after = frame["site"], {"iret": 0, "sysret": 2, "return": 5}[back]
        self.text.put(who, ns, back, self.text.place(function, 0xff0), Place(site.address + after, site.name, site.offset + after, site.dso), len(self.open))


def told(steps, text, jumps=True):
    """Put lines for what `upto calls` tells; the calls that they are, by thread."""
    calls, threads = collections.defaultdict(list), {}
    # the kernel's guard against guessing: calls within a function, which it takes away again
    stuffing = {(s["pid"], s["start_ns"]) for s in steps if s.get("left") == "cut" and s["function"] == "__switch_to_asm"}
    for step in steps:
        pid, cpu = step["pid"], step["cpu"]
        key = pid or ("idle", cpu)
        thread = threads.get(key) or threads.setdefault(key, Thread(text, calls[key], jumps))
        who = pid, step["comm"], cpu
        if step["step"] != "leave":
            thread.enter(who, step, step["start_ns"], step["function"] == "__switch_to_asm" and (pid, step["start_ns"]) in stuffing)
        if step["step"] != "enter":
            thread.leave(who, step, step["start_ns"] + step["duration_ns"])
    return calls


def seen(trace):
    """The calls of a trace, by thread: how often each began when, and began and ended when."""
    begins, whole = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for step in upto_json("calls", "--json", "--thunks", "-n", "0", trace)["calls"]:
        key, begin = step["pid"] or ("idle", step["cpu"]), (step["function"], step["start_ns"])
        if step["function"] == "[not traced]":
            continue
        if step["step"] != "leave":
            begins[key][begin] += 1
        if step["step"] != "enter":
            whole[key][*begin, step["start_ns"] + step["duration_ns"]] += 1
    return begins, whole


def compare(calls, trace, base, unit=1):
    """All calls of each thread began when they did, and those that ended did then."""
    begins, whole = seen(trace)
    for key, rows in calls.items():
        rows = [(f, begin // unit * unit - base, end and end // unit * unit - base) for f, begin, end in rows]
        want = collections.Counter(row[:2] for row in rows)
        assert begins[key] == want, (key, (begins[key] - want).most_common(5), (want - begins[key]).most_common(5))
        missing = collections.Counter(row for row in rows if row[2] is not None) - whole[key]
        assert not missing, (key, len(missing), missing.most_common(5))
    assert set(begins) == set(calls), set(begins) ^ set(calls)
    return sum(map(len, calls.values()))


def imported(text, path, upto=UPTO_ASAN):
    said = run(upto, "import", "-f", "-o", path.with_suffix(".upto"), text.written(path)).stdout.decode()
    assert "of which 0 matched no call" in run(UPTO, "check", path.with_suffix(".upto")).stdout.decode()
    return path.with_suffix(".upto"), said


@pytest.mark.long
@pytest.mark.weight(45)
@pytest.mark.parametrize("style", [{}, {"indent": True, "pid": True, "event": "branches:uH:"},
                                   {"digits": 6, "event": "", "period": False, "dso": False}], ids=["ns", "callindent", "us"])
@pytest.mark.parametrize("jumps", [True, False], ids=["bcr", "cr"])
def test_machine(style, jumps, tmp_path):
    """Two CPUs with interrupts, system calls, switches, a program's begin: each call of each thread, with its times."""
    trace, _ = recording("6.12", 2)
    start = next(p["start_ns"] for p in upto_json("ps", "--json", trace)["processes"] if p["comm"] == "story")
    steps = upto_json("calls", "--json", "-n", "0", "--from", f"{start - 10**7}ns", "--to", f"{start + 3 * 10**7}ns", trace)["calls"]
    text = Text(**style)
    calls = told(steps, text, jumps)
    made, said = imported(text, tmp_path / "x.txt")
    unit = 1000 if style.get("digits") == 6 else 1
    compared = compare(calls, made, min(text.lines)[0] // unit * unit, unit)
    assert compared > 5000 and len(calls) > 2, said
    assert set(upto_json("info", "--json", made)["meta"]["absent"].split(",")) >= {"instructions", "syscalls"}
    return f"{compared} calls; {said.strip().partition(': ')[2]}"


STYLES = {
    "plain": {},
    "names": {"symoff": False, "cpu": False, "pid": True},
    "callindent": {"symoff": False, "indent": True, "event": "branches:u:"},
    "short": {"cpu": False, "dso": False, "event": "", "period": False, "digits": 6},
}


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("mode", ["threads", "longjmp", "signals"])
def test_program(mode, name, tmp_path):
    """Threads, recursion, jumps out of handlers: each call of each thread, whichever fields the text has."""
    (file,), _ = execute(tmp_path, program("nasty"), mode)
    steps = upto_json("calls", "--json", "-n", "20000", file)["calls"]
    text = Text(**STYLES[name])
    calls = told([{**s, "comm": "my app: x" if s["pid"] % 2 else s["comm"]} for s in steps if s["function"] != "[not instrumented]"], text)
    made, said = imported(text, tmp_path / "x.txt")
    unit = 1000 if text.style["digits"] == 6 else 1
    compared = compare(calls, made, min(text.lines)[0] // unit * unit, unit)
    assert {p["comm"] for p in upto_json("ps", "--json", made)["processes"]} <= {"my app: x", "nasty", "[boot]"}
    return f"{compared} calls; {said.strip().partition(': ')[2]}"


def corpus(name):
    return os.path.join(TOP, "fuzz/corpus/fuzz_perf_text", name)


def tree(file, path):
    """What import says, and the calls that ended as lines "begin-end path", in ns since the first; those that did not as "begin- path"."""
    said = run(UPTO_ASAN, "import", "-f", "-o", path, file).stdout.decode()
    run(UPTO, "check", path, check=False)
    stacks, lines = collections.defaultdict(list), []
    for s in upto_json("calls", "--json", "--thunks", "-n", "0", path)["calls"]:
        stack = stacks[s["pid"]]
        if s["step"] != "leave":
            stack.append((s["function"], s["start_ns"]))
        if s["step"] != "enter":
            if s["function"] != "[not traced]":
                lines.append(f"{s['start_ns']}-{s['start_ns'] + s['duration_ns']} " + " ".join(name for name, _ in stack[1:]))
            stack.pop()
    for stack in stacks.values():
        lines += [f"{ns}- " + " ".join(name for name, _ in stack[1:]) for _, ns in stack[-1:] if len(stack) > 1]
    return said, lines


def test_user(tmp_path):
    """A program alone: what the kernel does for it is not traced; what cannot be decoded is a gap; other lines are not in the way."""
    said, lines = tree(corpus("user"), tmp_path / "x.upto")
    f = "f(int, char (*)(int))"
    # of g and h nobody knows what became of them
    assert lines == [f"100-200 {f} [syscall]", f"300-400 {f} 0x402000", f"500-600 {f} [interrupt]", f"0-700 {f}", "900-900 g h", "800-900 g",
                     "1200-1300 g"], lines
    assert "7 calls of 1 thread, 1 gap with 0 events lost" in said, said
    assert upto_json("ps", "--json", tmp_path / "x.upto")["processes"][-1]["comm"] == "my app: x"


def test_kernel(tmp_path):
    """The kernel and what it does for a program: a retpoline, an interrupt, a jump, a guest; CPUs whose thread is not known; lost records."""
    said, lines = tree(corpus("kernel"), tmp_path / "x.upto")
    read = "entry_SYSCALL_64 vfs_read"
    assert lines == [f"2000-3000 {read} __x86_indirect_thunk_rax", f"5000-6000 {read} ext4_read asm_irq irq", f"6000-7000 {read} ext4_read asm_irq irq_tail",
                     f"4000-8000 {read} ext4_read asm_irq", f"9000-10000 {read} ext4_read [guest]", f"3000-11000 {read} ext4_read", f"1000-12000 {read}",
                     "0-13000 entry_SYSCALL_64", "14000-15000 b", "15000-15000 d", "17000- d"], lines
    assert "11 calls of 3 threads, 1 gap with 7 events lost" in said, said
    assert upto_json("info", "--json", tmp_path / "x.upto")["lost"] == 7
    assert {p["comm"] for p in upto_json("ps", "--json", tmp_path / "x.upto")["processes"]} == {"[boot]", "cat", ":-1", "swapper/1"}


def test_call_ret_trace(tmp_path):
    """perf script --call-ret-trace has names and depths, and no addresses."""
    said, lines = tree(corpus("call-ret-trace"), tmp_path / "x.upto")
    assert lines == ["10-20 perf_pmu_enable event_filter_match", "40-50 perf_pmu_enable 0x7f0000001000", "0-50 perf_pmu_enable"], lines
    assert "3 calls of 1 thread, 1 calls whose ends are not there" in said, said


LINE = "app 7 [000] 1.000000001:  branches:  call   401010 main+0x10 (/bin/app) => 401100 f+0x0 (/bin/app)\n"
REFUSED = {
    "kind": (LINE + LINE.replace("call   ", ""), "line 2: a branch without its kind: 'perf script --itrace=cr -F [+]flags'"),
    "addr": (LINE.partition(" =>")[0] + "\n", "line 1: a branch without the two addresses"),
    "time": (LINE.replace("1.000000001:", ""), "line 1: no time: 'perf script --itrace=cr -F [+]time,[+]flags'"),
    "thread": (LINE.replace("app 7", "app"), "line 1: no thread before the time"),
    "nothing": (LINE + "what is this\n", "line 2: no line of perf script's"),
    "none": (LINE.replace("call", "jcc ").replace("f+0x0", "f+0x5"), "has no calls: no function was called while it was recorded"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    """What is missing is said, and what to do about it."""
    text, why = REFUSED[name]
    (tmp_path / "x.txt").write_text(text)
    fails(1, f"x.txt: {why}", "import", "-o", tmp_path / "x.upto", tmp_path / "x.txt")


def test_deeper(tmp_path):
    """Calls that are deeper than records can tell are a gap; those before and behind are there."""
    n = 70000
    lines = [f"app 7 [000] 1.{i:09}:  branches:  call   401010 f+0x10 (/bin/app) => 401000 f+0x0 (/bin/app)" for i in range(n)]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    said = run(UPTO_ASAN, "import", "-o", tmp_path / "x.upto", tmp_path / "x.txt").stdout.decode()
    assert "70.0 k calls of 1 thread, 1 gap with 0 events lost" in said, said
