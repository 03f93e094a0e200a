# SPDX-License-Identifier: GPL-2.0-or-later
"""Triggers and filters while recording, KFI's configurations, and kd on traces: against whole recordings of the same deterministic boot,
against top, and against the second reader of KFI's logs."""
import collections
import json
import os
import re
import resource
import select
import signal
import subprocess
import time

import pytest

import kd_reader
from guest import IS_THROTTLED, CHECK, TOP, UPTO, WORK, Once, initrd, is_older, kernel, libraries_of, once_a_run, qemu_args, record, run, upto_json
from test_code import recording
from test_robust import Recording
from test_thin import base, named


def boot(name, *options, image=None):
    """A deterministic boot that asks for power-off, recorded with those options."""
    path = os.path.join(WORK, f"chosen-{name}.upto")
    once_a_run(path, lambda: record(path, qemu_args("6.12", image or initrd("6.12", "brief")), "--deterministic", *options))
    return path


def digest(path):
    return run(UPTO, "info", "--digest", path).stdout


def thinned(name, *options, whole=None):
    path = os.path.join(WORK, f"chosen-{name}.thin.upto")
    run(UPTO, "thin", "-f", *options, "-o", path, whole or boot("all"))
    return path


def same(one, other):
    """Two traces have the same events, the same sums, and the same spans."""
    assert digest(one) == digest(other)
    assert run(UPTO, "top", "--json", one).stdout == run(UPTO, "top", "--json", other).stdout
    spans = [{k: v for k, v in upto_json("info", "--json", p)["meta"].items() if k.startswith(("span.", "left_out."))} for p in (one, other)]
    assert spans[0] == spans[1] and spans[0]


MORE = pytest.mark.kernels
# the recorder waits before, between and after these; with --before it records, and forgets
CHOICES = [
    pytest.param("--start entry:kernel_init_freeable --stop exit:kernel_init_freeable --min-duration 50us --no-interrupts", marks=MORE),
    pytest.param("--start entry:do_one_initcall --stop exit:do_one_initcall --every", marks=MORE),
    pytest.param("--start log:Freeing#2 --stop exec:init", marks=MORE),
    pytest.param("--start entry:vfs_open#4 --stop exit:vfs_open#2 --before 100ms", marks=MORE),
    # control runs into this one in the middle of a translated block
    "--start entry:entry_SYSCALL_64_after_hwframe --stop entry:do_syscall_64 --every",
    pytest.param("--start entry:entry_SYSCALL_64_after_hwframe#4 --stop +20us", marks=MORE),
    pytest.param("--start entry:entry_SYSCALL_64_after_hwframe#40 --stop entry:do_syscall_64#2 --before 1ms", marks=MORE),
    # what stops it stands in the same block, before what starts it
    pytest.param("--start entry:entry_SYSCALL_64_after_hwframe#5 --stop entry:entry_SYSCALL_64_safe_stack", marks=MORE),
    # an entry label that a block begins with
    pytest.param("--start entry:native_irq_return_iret#7 --stop entry:error_return", marks=MORE),
    # a handler: what the fault left in the middle of its block was counted with it
    pytest.param("--start entry:asm_exc_page_fault#9 --stop entry:handle_mm_fault", marks=MORE),
    pytest.param("--start entry:asm_sysvec_apic_timer_interrupt#5 --stop +1ms --every", marks=MORE),
    # several functions have that name
    pytest.param("--start entry:p4d_offset#30 --stop entry:p4d_offset#5", marks=MORE),
    pytest.param("--start entry:do_exit --stop +100us --every", marks=MORE),
    pytest.param("--start entry:do_exit#3 --stop +1ms", marks=MORE),
    pytest.param("--start exit:do_filp_open --stop log:reboot", marks=MORE),
    # programs that begin in between neither start nor stop it
    pytest.param("--start log:Freeing#2 --stop log:reboot", marks=MORE),
    pytest.param("--start entry:do_exit#3 --stop entry:do_exit", marks=MORE),
    pytest.param("--start exec:init --stop entry:asm_exc_page_fault#20", marks=MORE),
    pytest.param("--start time:1s --stop time:1.2s", marks=MORE),
    pytest.param("--start exec:busybox", marks=MORE),
    pytest.param("--stop entry:kernel_init", marks=MORE),
    pytest.param("--start entry:vfs_open --stop exit:vfs_open --every --before 1ms", marks=MORE),
    pytest.param("--start log:Freeing#2 --before 5ms --stop exec:init", marks=MORE),
    # a call from before the span ends it; how often is counted anew for each; a time comes once; only the whole trace can tell the start
    pytest.param("--start entry:path_openat --stop exit:do_filp_open", marks=MORE),
    pytest.param("--start entry:do_exit#3 --stop +1ms --every", marks=MORE),
    pytest.param("--start entry:vfs_open --stop time:1s --every", marks=MORE),
    pytest.param("--start entry:ksys_r* --stop exit:vfs_open", marks=MORE),
]


@pytest.mark.parametrize("options", CHOICES)
@pytest.mark.weight(20)
def test_record_is_thin(options):
    """What is chosen while recording is what is chosen afterwards from the whole of the same boot."""
    name = re.sub(r"\W+", "-", options)
    some = boot(name, *options.split())
    same(some, thinned(name, *options.split()))
    assert run(UPTO, "calls", "--json", some).stdout == run(UPTO, "calls", "--json", thinned(name, *options.split())).stdout
    assert run(UPTO, "check", some).returncode == 0
    some, whole = (upto_json("info", "--json", path)["events"] for path in (some, boot("all")))
    assert some < whole / 2, (some, whole)


def namesake():
    """A guest whose program calls a function of its own that has the name of one of the kernel's, before that one runs."""
    source, out = os.path.join(TOP, "tests/guests/namesake.c"), os.path.join(WORK, "namesake")
    with Once(out):
        if is_older(out, source):
            run("gcc", "-O1", "-Wall", "-Werror", "-o", out, source)
    return initrd("6.12", "namesake", *libraries_of(out), f"{out}=/bin/namesake", newer_than=[source])


@pytest.mark.long
@pytest.mark.weight(30)
def test_whose_function():
    """A name that the kernel and a program have is the kernel's, unless it is said whose: while recording, and while reading."""
    both = "kernel_power_off"
    whole = boot("namesake", image=namesake())
    owners = {f["object"] for f in upto_json("top", "--json", "-n", "0", whole)["functions"] if f["function"].partition(" [")[0] == both}
    assert owners == {None, "namesake"}, owners
    entries = {c["function"]: c["start_ns"] for c in upto_json("calls", "--json", "--function", both, "--depth", "1", whole)["calls"]}
    mine, kernels = entries[f"{both} [namesake]"], entries[both]
    assert mine < kernels
    # by "kernel:" it is the same condition as without
    assert upto_json("info", "--json", thinned("namesake-kernel", "--start", f"entry:kernel:{both}", whole=whole))["meta"]["span.1.start_ns"] == str(kernels)
    for whose, ns in ((f"entry:{both}", kernels), (f"entry:namesake:{both}", mine)):
        name = "namesake-" + whose.replace(":", "-")
        thin = thinned(name, "--start", whose, "--stop", "+10us", whole=whole)
        assert upto_json("info", "--json", thin)["meta"]["span.1.start_ns"] == str(ns), whose
        same(boot(name, "--start", whose, "--stop", "+10us", image=namesake()), thin)
        assert ns == kernels or any(both in c["function"] for c in upto_json("calls", "--json", thin)["calls"])
    assert upto_json("why", "--json", "--until", f"entry:{both}", whole)["until_ns"] == kernels
    # what the kernel has not is whoever has it
    assert upto_json("info", "--json", thinned("namesake-main", "--start", "entry:main", whole=whole))["meta"]["span.1.start_ns"] < str(mine)
    fails(1, r"--start: kernel has no function main", "thin", "-o", os.path.join(WORK, "chosen-no.upto"), "--start", "entry:kernel:main", whole)


@pytest.mark.long
@pytest.mark.weight(20)
def test_own_name():
    """A program is what ps calls it, also if it took that name once it ran, as busybox does; it began when it did."""
    image = initrd("6.12", "plain")
    whole, options = boot("own-name", image=image), ["--start", "exec:insmod#2", "--stop", "+5ms"]
    second = [p for p in upto_json("ps", "--json", whole)["processes"] if p["comm"] == "insmod"][1]
    thin = thinned("own-name", *options, whole=whole)
    begun = int(upto_json("info", "--json", thin)["meta"]["span.1.start_ns"])
    assert 0 <= begun - second["start_ns"] < 5_000_000, (begun, second)
    same(boot("own-name-chosen", *options, image=image), thin)
    # the path's name is not the process's own, and counts once for each exec
    ends = [int(upto_json("info", "--json", thinned("own-name-path", "--start", f"exec:{name}#3", whole=whole))["meta"]["span.1.start_ns"])
            for name in ("busybox", "/bin/busybox")]
    assert ends[0] == ends[1], ends


AGAIN = [
    "--start entry:do_exit#3 --stop +1ms --every --before 2ms",
    pytest.param("--start log:Freeing --stop +1ms --every --before 2ms", marks=MORE),
    pytest.param("--start exec:busybox --stop log:reboot --every --before 1ms", marks=MORE),
    pytest.param("--start exit:do_filp_open --stop exec:busybox --every --before 1ms", marks=MORE),
    pytest.param("--start time:1s --stop +10ms --every --before 10ms", marks=MORE),
    pytest.param("--start entry:do_exit --stop exit:do_exit#2 --every --before 1ms", marks=MORE),
    # once: what stops it happens before that, too
    pytest.param("--start entry:do_exit#2 --stop entry:do_exit --before 1ms", marks=MORE),
]


@pytest.mark.parametrize("options", AGAIN)
@pytest.mark.long
@pytest.mark.weight(20)
def test_holds_again(options):
    """Behind each span the flight recorder holds again what comes, and forgets it: all spans are there, and most of the rest never was in the file."""
    name = "again-" + re.sub(r"\W+", "-", options)
    path = os.path.join(WORK, f"chosen-{name}.upto")
    with Recording(path, qemu_args("6.12", initrd("6.12", "brief")), "--deterministic", *options.split()) as r:
        written = r.until(lambda s: s["finished"], 300)["events"]
        assert r.wait(120) == 0, r.said()
    same(path, thinned(name, *options.split()))
    assert run(UPTO, "check", path).returncode == 0
    whole = upto_json("info", "--json", boot("all"))["events"]
    # a chunk is written whole, and is some tenths of a second of the host's time long: how much of the guest's that is, the host's load decides
    assert written < whole * 19 / 20, (written, whole)
    return f"{written} of {whole} events were written"


SMP = "--start entry:vfs_open --stop exit:vfs_open --every"


@pytest.mark.parametrize("n", [4, pytest.param(20, marks=MORE)])
@pytest.mark.weight(10)
def test_waits_of_vcpus(n):
    """With several vCPUs, also more than the 16 that QEMU has room for at first, all spans are there, and begin with what they are to begin with."""
    path = os.path.join(WORK, f"chosen-smp-{n}.upto")
    record(path, qemu_args("6.12", initrd("6.12", "brief"), smp=n, thread="multi"), *SMP.split())
    assert run(UPTO, "check", path).returncode == 0
    meta = upto_json("info", "--json", path)["meta"]
    spans = sum(k.endswith(".start_ns") for k in meta)
    calls = upto_json("calls", "--json", "--function", "vfs_open", "--depth", "1", path)["calls"]
    begins = {meta[f"span.{i + 1}.start_ns"] for i in range(spans)}
    assert spans >= 5 and begins <= {str(c["start_ns"]) for c in calls}, (spans, begins)
    whole = [c for c in calls if c["left"] == "returned"]
    assert len(whole) >= spans
    # and the programs that ran before the first of them have their names
    assert {p["comm"] for p in upto_json("ps", "--json", path)["processes"]} >= {"init", "busybox"}
    return f"{spans} spans, {len(calls)} calls"


@pytest.mark.long
@pytest.mark.weight(20)
def test_kfi_configuration():
    """Each run of a configuration, one after the other, is what its triggers and filters are in our own words."""
    config = os.path.join(WORK, "chosen.conf")
    with open(config, "w") as f:
        f.write("new\nbegin\n\ttrigger start entry start_kernel # the first\n\ttrigger stop entry kernel_init\n\tfilter mintime 500\n"
                "\tfilter noints\nend\nbegin\n\ttrigger start exit kernel_init_freeable\n\ttrigger stop time 100000\n"
                "\tfilter funclist vfs_read vfs_write fend\nend\n")
    path = boot("kfi", "--kfi", config)
    same(path + ".1", thinned("kfi1", "--start", "entry:start_kernel", "--stop", "entry:kernel_init", "--min-duration", "500us", "--no-interrupts"))
    same(path + ".2", thinned("kfi2", "--start", "exit:kernel_init_freeable", "--stop", "time:+100ms", "--functions", "vfs_read,vfs_write"))
    text = run(UPTO, "info", path + ".1").stdout.decode()
    left_out = {k: int(n) for k, n in re.findall(r"^(.* filter count|Total entries filtered|Number of entries after filters) = (\d+)$", text, re.M)}
    assert left_out["Execution time filter count"] > 1000
    assert left_out["Total entries filtered"] == sum(n for k, n in left_out.items() if k.endswith("filter count"))
    some, first, whole = (upto_json("info", "--json", p)["events"] for p in (path, path + ".1", boot("all")))
    assert first < some < 0.9 * whole, "what the runs were taken from stays beside them, and has little else"


@pytest.mark.long
@pytest.mark.weight(20)
def test_kfi_waits_between():
    """The recorder waits for one run after the other: each one's start counts once the one before has stopped, as in the whole of the same boot."""
    config = os.path.join(WORK, "chosen-between.conf")
    with open(config, "w") as f:
        f.write("begin\n\ttrigger start entry do_exit\n\ttrigger stop time 1000\nend\nbegin\n\ttrigger start entry vfs_open\n"
                "\ttrigger stop exit vfs_open\n\tfilter mintime 5\nend\nbegin\n\ttrigger start entry do_exit\n\ttrigger stop time 1000\nend\n")
    path = boot("kfi-between", "--kfi", config)
    runs = ["--start entry:do_exit --stop time:+1ms", "--start entry:vfs_open --stop exit:vfs_open --min-duration 5us",
            "--start entry:do_exit#2 --stop time:+1ms"]
    for i, options in enumerate(runs, 1):
        same(f"{path}.{i}", thinned(f"kfi-between{i}", *options.split()))
        assert run(UPTO, "check", f"{path}.{i}").returncode == 0
    assert run(UPTO, "check", path).returncode == 0
    some, whole = (upto_json("info", "--json", p)["events"] for p in (path, boot("all")))
    assert some < whole / 10, (some, whole)
    return f"{some} of {whole} events"


@pytest.mark.long
@pytest.mark.weight(20)
def test_kfi_waits():
    """With one run in its configuration, the recorder waits for that, and has what its triggers are in our own words."""
    config = os.path.join(WORK, "chosen-one.conf")
    with open(config, "w") as f:
        f.write("begin\n\ttrigger start entry do_exit\n\ttrigger stop time 1000\n\tfilter mintime 5\nend\n")
    path = boot("kfi-one", "--kfi", config)
    same(path, thinned("kfi-one", "--start", "entry:do_exit", "--stop", "time:+1ms", "--min-duration", "5us"))
    assert run(UPTO, "check", path).returncode == 0


def fails(status, pattern, *args):
    p = run(UPTO, *args, check=False)
    text = p.stderr.decode()
    assert p.returncode == status and re.search(pattern, text) and len(text.splitlines()) == 1, (p.returncode, text)


def test_refused():
    config = os.path.join(WORK, "chosen-wrong.conf")
    with open(config, "w") as f:
        f.write("begin\n\ttrigger start entry do_fork\n\tfilter mintime soon\nend\n")
    qemu = ["--", "qemu-system-x86_64"]
    fails(1, r"chosen-wrong.conf:3: ", "record", "--kfi", config, *qemu)
    fails(2, r"--kfi: its triggers and filters, or those of other options", "record", "--kfi", config, "--start", "1s", *qemu)
    fails(2, r"--start time:soon: not a time", "record", "--start", "time:soon", *qemu)
    for behind in "0", "", "5x", "x", "2.5", "99999999999999999999":
        fails(2, rf"--start entry:f#{behind}: behind # comes", "record", "--start", f"entry:f#{behind}", *qemu)
    fails(2, r"--every: is for --start and --stop", "record", "--every", "--start", "1s", *qemu)
    for said, *single in (("-icount", "-icount", "shift=1"), ("thread=single", "-accel", "tcg,thread=single")):
        fails(1, said + r": several vCPUs share a thread then", "record", "-f", "--qemu-inside", "none", *qemu, "-display", "none", "-smp", "2", *single)
    fails(2, r"--to svg: perfetto", "export", "--to", "svg", "x.upto")
    fails(1, r"is a log: --start, --stop and filters are for traces", "kd", "--start", "1s", log_of("--min-duration", "1ms"))


@pytest.mark.long
@pytest.mark.weight(10)
def test_not_found():
    """What is asked for is not there: all is recorded once that cannot be ruled out any more, or nothing, and that is said."""
    path = os.path.join(WORK, "chosen-nothing.upto")
    for options, said in [
            ("--start entry:no_such_function", rb"has what was recorded, from (\S+) s to (\S+) s; nothing was taken out: --start: no function no_such_function"),
            ("--stop exec:init --functions nosuch", rb"has what was recorded, from (\S+) s to (\S+) s; nothing was taken out: --functions: no function nosuch"),
            ("--functions nosuch", rb"is whole, nothing was taken out: --functions: no function nosuch"),
            ("--start exec:no_such_program", rb"has no events: what is to start it \(--start exec:no_such_program\) did not happen")]:
        p = run(UPTO, "record", "-f", "-o", path, "--deterministic", *options.split(), "--", *qemu_args("6.12", initrd("6.12", "brief")),
                check=False)
        m = re.search(rb"chosen-nothing.upto: " + said, p.stderr)
        assert p.returncode == 1 and m, p.stderr
        assert run(UPTO, "check", path).returncode == 0
        info, whole = upto_json("info", "--json", path), upto_json("info", "--json", boot("all"))
        if b"whole" in said:
            assert digest(path) == digest(boot("all"))
        elif m.groups():
            begin, end = (round(float(t) * 1e9) for t in m.groups())
            assert (begin > 0) == ("--start" in options) and (end < whole["duration_ns"] - 1000) == ("--stop" in options), (m, whole["duration_ns"])
            assert 0 < info["events"] < whole["events"]
            assert info["events"] > 0.9 * whole["events"] or "--stop" in options
        else:
            assert info["events"] == 0


@pytest.mark.weight(10)
def test_kfi_not_found():
    """A start by address that never comes: one line, with the trigger's own line; and before it what the rest of the configuration means here."""
    config = os.path.join(WORK, "chosen-never.conf")
    symbols = run(os.path.join(CHECK, "tests/symbols"), kernel("6.12")[1]).stdout.decode()
    with open(config, "w") as f:
        f.write("new\nbegin\n\tfilter mintime 5\n\ttrigger start entry 0x" + re.search(r"^(\w+) \S+ oops_begin$", symbols, re.M)[1] + "\n"
                "\tlogentries 500\n\toverwrite untimed\n\twatch stack 1024\n\twatch worst-stack 512\n\tautorepeat\nend\n")
    path = os.path.join(WORK, "chosen-never.upto")
    p = run(UPTO, "record", "-f", "-o", path, "--kfi", config, "--", *qemu_args("6.12", initrd("6.12", "brief")), check=False)
    first, last = (p.stderr.decode().splitlines()[i] for i in (slice(6), -1))
    assert p.returncode == 1 and re.fullmatch(rf"upto: {re.escape(path)}: is whole, nothing was taken out: what is to start it \({re.escape(config)}:4: "
                                              r"trigger start entry 0x\w+\) did not happen", last), p.stderr
    # entries that ask for nothing here are not passed over in silence
    assert sum(" autorepeat: nothing repeats in a run without both triggers" in line for line in first) == 1, first
    first = [line for line in first if "autorepeat" not in line]
    for line, said in zip(first, ("5: logentries: a trace does not fill up", "6: overwrite: a trace does not fill up", "6: untimed: has no meaning here",
                                  "7: watch stack: .*'upto ps --stack-watch'", "8: watch worst-stack: .*'upto stack --deepest'")):
        assert re.match(rf"upto: {re.escape(config)}:{said}", line), (line, said)


def told_at_once(*options):
    """What `record` says beside the boot, which is then ended."""
    path = os.path.join(WORK, "chosen-told.upto")
    p = subprocess.Popen([UPTO, "record", "-f", "-o", path, *options, "--", *qemu_args("6.12", initrd("6.12", "brief")), "-serial", "null", "-display",
                          "none", "-monitor", "none"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    lines = []
    while select.select([p.stderr], [], [], 5)[0]:
        lines.append(p.stderr.readline().decode())
        if not lines[-1]:
            break
        if p.poll() is None:
            p.send_signal(signal.SIGINT)
    p.kill()
    p.wait()
    return lines


def test_wrong_names():
    """A name that the kernel does not have is told beside the boot, or before it if it can be nothing else; others are looked for later."""
    kernel_file = r"vmlinuz-6\.12\S+"
    config = os.path.join(WORK, "chosen-names.conf")
    with open(config, "w") as f:
        f.write("begin\n\ttrigger start entry start_kernel\n\ttrigger stop entry 0xc0001234\n\tfilter funclist vfs_read\n\t\tkmalloc fend\nend\n")
    inlined = "it may have been inlined into its callers"
    for options, *wanted in (
            (["--start", "entry:kmalloc", "--stop", "vfs_raed#2", "--functions", "vfs_*,no_such_*"],
             rf"--start: no function kmalloc in {kernel_file}; similar: \S+, .*; {inlined}; it starts with a module or program that has it",
             rf"--stop: no function vfs_raed in {kernel_file}; similar: vfs_read, .*; {inlined}; whether a module or program has it is known at the end",
             rf"--functions: no function no_such_\* in {kernel_file}; whether"),
            (["--kfi", config], rf"chosen-names.conf:5: no function kmalloc in {kernel_file}; similar: \S+, .*; {inlined}; whether")):
        lines = told_at_once(*options)
        assert len(lines) > len(wanted), lines
        for line, pattern in zip(lines, wanted):
            assert re.match(rf"upto: (\S*/)?{pattern}", line), (line, pattern)
        # a host without time has not started QEMU by then
        assert IS_THROTTLED or "terminating on signal" in lines[len(wanted)] and "M events" in lines[len(wanted) + 1], lines
    fails(1, rf"--start: no function vfs_raed in {kernel_file}; similar: vfs_read, .*; {inlined}$", "record", "-f", "-o", config + ".upto", "--start",
          "entry:kernel:vfs_raed", "--", *qemu_args("6.12", initrd("6.12", "brief")))
    assert not os.path.exists(config + ".upto")


def log_of(*options):
    path = os.path.join(WORK, "chosen.lst")
    run(UPTO, "export", "-f", "--to", "kfi", *options, "-o", path, recording("6.12", 1)[0])
    return path


def callers(rows):
    """Each row has the place that it was called at, though nothing in the log encloses it: kd, which subtracts by callers' names, invents nothing."""
    local, no_exit = collections.Counter(), {r.function for r in rows if r.delta is None}
    for r in rows:
        local[r.function] += r.delta or 0
        local[r.caller] -= r.delta or 0
        assert (r.function, r.offset) != (r.caller, 0), r
    assert not {f: local[f] for f in {r.function for r in rows} - no_exit if local[f] < 0}
    of = {r.function: r for r in rows}
    assert of["start_kernel"].caller == "x86_64_start_reservations" and of["start_kernel"].offset
    assert kd_reader.address(of["entry_SYSCALL_64_after_hwframe"].caller) < 1 << 47 and not of["entry_SYSCALL_64_after_hwframe"].offset
    assert {r.caller for r in rows if r.function == "ret_from_fork"} == {"ret_from_fork_asm"}


@pytest.mark.long
@pytest.mark.weight(10)
def test_exported():
    """A log that is exported has the calls of the trace: read by the second reader, and by kd, it has the figures of kd on the trace."""
    options = ["--min-duration", "200us"]
    path = log_of(*options)
    with open(path) as f:
        rows = kd_reader.Log(f.read()).rows
    trace = {f["function"]: f for f in upto_json("kd", "--json", *options, recording("6.12", 1)[0])["functions"]}
    log = {f["function"]: f for f in upto_json("kd", "--json", path)["functions"]}
    assert set(trace) == set(log) and len(trace) > 300
    for name, f in trace.items():
        mine = [r for r in rows if r.function == name]
        assert len(mine) == f["count"] == log[name]["count"], name
        assert sum(r.delta is None for r in mine) == f["no_exit"] == log[name]["no_exit"], name
        # entry and exit are each cut to a microsecond
        assert abs(sum(r.delta or 0 for r in mine) * 1000 - f["total_ns"]) <= 1000 * len(mine), name
        assert sum(r.delta or 0 for r in mine) * 1000 == log[name]["total_ns"], name
    callers(rows)
    header = exported_header(*options)
    assert "Filters:\n\t200 usecs minimum execution time\n\n" in header and "Logging" not in header
    # a callee's row lies in its caller's
    ends = {}
    for r in rows:
        for caller, end in ends.get(r.pid, []):
            assert caller != r.caller or r.delta is None or r.entry >= end or r.entry + r.delta <= end, r
        if r.delta is not None:
            ends[r.pid] = [*ends.get(r.pid, [])[-8:], (r.function, r.entry + r.delta)]


BOOT = ["--start", "entry:kernel_init_freeable", "--stop", "exit:kernel_init_freeable"]


def exported_header(*options):
    with open(log_of(*options)) as f:
        return f.read().partition("--------")[0]


def test_exported_header():
    """It says in KFI's words what was chosen, and why logging began and ended."""
    spans = upto_json("info", "--json", thinned("header", *BOOT))["meta"]
    start, stop = (int(spans[f"span.1.{key}_ns"]) // 1000 for key in ("start", "stop"))
    path = os.path.join(WORK, "chosen-header.lst")
    logging = f"Logging started at {start} usec by entry to function kernel_init_freeable\nLogging stopped at {stop} usec by exit from function kernel_init_freeable\n"
    filters = ["--min-duration", "50us", "--max-duration", "1s", "--no-interrupts", "--functions", "do_one_initcall,kernel_init"]
    for trace, options in (boot("all"), BOOT + filters), (thinned("header", *BOOT), filters), (thinned("header", *BOOT, *filters), []):
        run(UPTO, "export", "-f", "--to", "kfi", *options, "-o", path, trace)
        with open(path) as f:
            header = f.read().partition("--------")[0]
        assert logging in header and re.search("Filters:\n\t50 usecs minimum execution time\n\t1000000 usecs maximum execution time\n", header), header
        assert "\t2-entry function list\n\tno functions in interrupt context\n" in header, header
    run(UPTO, "export", "-f", "--to", "kfi", "--start", "time:1s", "--stop", "+2ms", "-o", path, boot("all"))
    with open(path) as f:
        assert re.search(r"^Logging started at \d+ usec by time at 1000000 usec from boot\nLogging stopped at \d+ usec by time at 2000 usec from start trigger$",
                         f.read(), re.M)


# code that is being patched, and what an interrupt leads to from within it, have two ways to be told
PATCHED = {"apply_retpolines", "early_xen_iret_patch", "int3_selftest_ip"}


def kd_of(trace, *options):
    return {f["function"]: f for f in upto_json("kd", "--json", *options, trace)["functions"]}


@pytest.mark.long
@pytest.mark.weight(10)
def test_kd_is_top():
    """Without a filter, kd's counts are top's calls, and its local times top's self times."""
    trace = recording("6.12", 1)[0]
    kd, compared = kd_of(trace), 0
    for f in upto_json("top", "--json", "-n", "0", "--kernel", trace)["functions"]:
        k = kd.get(f["function"].partition(" [")[0])
        if not k or not f["calls"] or {name for name in kd if name.startswith(k["function"] + "#")}:
            continue
        compared += 1
        # a new thread has copies of its parent's calls that were not entered
        assert k["local_ns"] == f["self_ns"] and (k["count"] == f["calls"] or k["no_exit"]), (f, k)
    assert compared > 5000
    return f"{compared} functions"


def test_kd_local():
    """What a filter leaves out does not change local times: while reading, and of a trace that was thinned."""
    trace, thin = base(1), os.path.join(WORK, "chosen-local.upto")
    run(UPTO, "thin", "-f", "--min-duration", "20us", "-o", thin, trace)
    whole = kd_of(trace)
    for chosen, at_least in ((kd_of(thin), 100), (kd_of(trace, "--min-duration", "20us"), 100), (kd_of(trace, "--functions", "vfs_*,do_exit"), 2),
                             (kd_of(trace, "--no-interrupts"), 500)):
        assert len(chosen) > at_least and {name: f["local_ns"] for name, f in chosen.items()} == {name: whole[name]["local_ns"] for name in chosen}
    # self times of the tree are added up otherwise: by stacks; and rounded for each way to a function
    tree = collections.Counter()
    for node in upto_json("tree", "--json", "--depth", "1000", "--min", "0", trace)["tree"]:
        tree[node["function"]] += node["self_ns"]
    same = [name for name in whole if name in tree and not any(other.startswith(name + "#") for other in whole)]
    off = {name for name in same if abs(tree[name] - whole[name]["local_ns"]) > 1000 + whole[name]["local_ns"] / 1000}
    # control goes through these from one stack to another
    assert {name for name in off if "switch_to" not in name and not name.startswith("entry_SYS")} <= PATCHED and len(same) > 500, off


def only(trace, wanted, *options):
    """The functions that kd lists with these options, and those of a log that is exported with them, are all wanted."""
    path = os.path.join(WORK, "chosen-only.lst")
    run(UPTO, "export", "-f", "--to", "kfi", *options, "-o", path, trace)
    with open(path) as f:
        text = f.read()
    log = kd_reader.Log(text)
    listed = {r.function for r in log.rows}
    if not {"--kernel", "--user"} & {*options}:
        assert listed == set(kd_of(trace, *options))
    assert int(re.search(r"entries after filters = (\d+)", text).group(1)) == len(log.rows)
    assert not [name for name in listed if not wanted(name)]
    return log.rows


def test_only_chosen():
    """Calls that others need to remain are not listed if they were not chosen."""
    trace, whole = base(1), {name: f["count"] for name, f in kd_of(base(1)).items()}
    rows = only(trace, lambda name: name in ("vfs_read", "vfs_write"), "--functions", "vfs_read,vfs_write")
    assert collections.Counter(r.function for r in rows) == {name: whole[name] for name in ("vfs_read", "vfs_write") if name in whole}
    entry = "entry_SYSCALL_64_after_hwframe"
    assert collections.Counter(r.function for r in only(trace, lambda name: name != entry, "--not", entry)) == {k: n for k, n in whole.items() if k != entry}
    below = only(trace, lambda name: not name.startswith(("entry_", "ret_from", "do_syscall")), "--below", "vfs_read")
    assert sum(r.function == "vfs_read" for r in below) == whole["vfs_read"] < len(below)
    assert all(r.delta is None or r.delta >= 99 for r in only(trace, lambda name: True, "--min-duration", "100us"))
    assert not only(trace, lambda name: False, "--user")
    assert {r.function: 1 for r in only(trace, lambda name: True, "--kernel")} == dict.fromkeys(whole, 1)


def test_rows_of_a_part():
    """syscalls and ps of a part: files that were opened before it are known, who did not run in it has no row, and the heading says how many there are."""
    trace = recording("6.12", 1)[0]
    calls = upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]
    opened = next(c for c in calls if c["name"] in ("open", "openat") and (c["result"] or -1) > 2)
    used = next(c for c in calls if c["path"] and c["pid"] == opened["pid"] and c["start_ns"] > opened["start_ns"] + opened["duration_ns"])
    part = ["--start", f"time:{used['start_ns']}ns"]
    later = [c for c in calls if c["start_ns"] >= used["start_ns"]]
    assert upto_json("syscalls", "--json", "-n", "0", *part, trace)["syscalls"] == later
    of_path = [c for c in upto_json("syscalls", "--json", "-n", "0", *part, "--path", used["path"], trace)["syscalls"]]
    assert of_path[0] == used and of_path == [c for c in upto_json("syscalls", "--json", "-n", "0", "--path", used["path"], trace)["syscalls"] if c in later]
    everybody = upto_json("ps", "--json", trace)["processes"]
    for options in ["--start", "exec:mount", "--stop", "exec:mount#2"], ["--from", f"{used['start_ns']}ns"], ["--limit", "1000"]:
        rows = upto_json("ps", "--json", *options, trace)["processes"]
        heading = run(UPTO, "ps", *options, trace).stdout.decode().splitlines()[0]
        assert rows and all(r["self_insns"] or r["self_ns"] for r in rows), (options, rows)
        threads = len({(r["pid"], r["comm"] == "[boot]") for r in rows} - {(0, True)})
        assert heading.startswith(f"# {threads} of {len({(r['pid'], r['comm'] == '[boot]') for r in everybody} - {(0, True)})} threads; "), (options, heading, threads)
    assert run(UPTO, "ps", "--pid", "1", trace).stdout.decode().startswith("# 1 of ")


@pytest.mark.weight(6)
def test_stack_texts():
    """Around an exec, where a new program takes the old one's place, and of a child's first frames: each line has the name that the frame has."""
    trace = recording("6.12", 1)[0]
    rows = [p for p in upto_json("ps", "--json", trace)["processes"] if (p["exe"] or "").startswith("/")]
    seen = set()
    for p in rows[::max(len(rows) // 25, 1)]:
        for at in p["start_ns"] - 5000, p["start_ns"] + 1, p["start_ns"] + 20_000, p["start_ns"] + 200_000:
            asked = ["--at", f"{at}ns", "--pid", str(p["pid"]), trace]
            stacks = next(iter(upto_json("stack", "--json", *asked).values()))
            lines = [line for line in run(UPTO, "stack", *asked).stdout.decode().splitlines() if line.startswith("    ")]
            frames = [f["function"] for s in stacks for f in s["frames"]]
            assert len(frames) == len(lines), (at, p)
            for function, line in zip(frames, lines):
                # a new thread comes from the middle of the function that switches to it, which is no frame of its own
                assert function.split(" [")[0].strip("[]") in line or "__switch_to" in line, (at, p, function, line)
            seen |= {f for f in frames if "execve" in f or "[" in f}
    assert len(seen) > 10 and {"main [story]", "execve [libc.so.6]"} <= seen, seen


@pytest.mark.weight(4)
def test_export_of_a_part(tmp_path):
    """Every format can be of a part of the time: of sums and rows, as --start and --stop choose it."""
    trace = recording("6.12", 1)[0]
    end = upto_json("info", "--json", trace)["duration_ns"]
    times = f"{end // 2}ns", f"{end // 2 + 20_000_000}ns"
    for name in "folded", "flamegraph", "callgrind", "pprof", "gprof", "kfi", "csv":
        part, chosen, all_of_it = (run(UPTO, "export", "--to", name, *options, trace).stdout for options in (
            ["--from", times[0], "--until", times[1]], ["--start", "time:" + times[0], "--stop", "time:" + times[1]], ["--limit", "200000"]))
        assert part == chosen and part and (name in ("flamegraph", "pprof") or part != all_of_it), name
    fails(2, r"--to folded: --from, or --start and --stop, not both", "export", "--to", "folded", "--from", "1s", "--start", "exec:init", trace)


@pytest.mark.long
def test_pid_by_name():
    """Processes are told by their name where a PID is taken, all that have it."""
    trace = recording("6.12", 1)[0]
    rows = next(iter(upto_json("ps", "--json", trace).values()))
    pids = {}
    for row in rows:
        pids.setdefault(row["comm"], set()).add(row["tgid"])
    name = next(n for n, p in pids.items() if len(p) == 1 and n.isalpha() and next(iter(p)) > 1 and
                next(iter(upto_json("syscalls", "--json", "--pid", str(next(iter(p))), trace).values())))
    pid = str(next(iter(pids[name])))
    for command in "syscalls", "waits":
        assert run(UPTO, command, "--json", "--pid", name, trace).stdout == run(UPTO, command, "--json", "--pid", pid, trace).stdout
    # several of that name: what each of them has, together
    inits, mounts = (sorted(named(trace, name) & {t["pid"] for t in rows if t["pid"] == t["tgid"]}) for name in ("init", "mount"))
    assert len(inits) > len(mounts) > 1, (inits, mounts)
    for command, span, name, those in (("syscalls", [], "init", inits), ("waits", [], "init", inits),
                                       ("syscalls", ["--start", "exec:init"], "mount", mounts)):
        def rows_of(pid):
            return [json.dumps(r) for r in next(iter(upto_json(command, "--json", *span, "--pid", str(pid), trace).values()))]
        each = [rows_of(p) for p in those]
        got = rows_of(name)
        assert sorted(got) == sorted(sum(each, [])) and max(map(len, each)) < len(got), (command, span, len(got), list(map(len, each)))
    calls = [run(UPTO, "calls", "--json", "-F", "vfs_open", "--pid", str(p), trace).stdout.decode().count('"depth"') for p in ["init", *inits]]
    assert calls[0] == sum(calls[1:]) > 0, calls
    fails(1, r"--pid nobody: the trace has no thread or process of that name", "waits", "--pid", "nobody", trace)


def as_at_a_terminal():
    """Whoever runs the tests may have Ctrl-C ignored; and a file that is too large is to be an error."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def started(path, *options):
    """upto record of a boot of a second or two, in the background, once QEMU runs."""
    p = subprocess.Popen([UPTO, "record", "-f", "-o", path, *options, "--", *qemu_args("6.12", initrd("6.12", "brief"), whole=True)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         preexec_fn=as_at_a_terminal)
    while not (os.path.exists(path) and os.path.getsize(path) > 1000):
        time.sleep(0.01)
        assert p.poll() is None, p.stderr.read().decode()
    return p


def is_whole(path):
    assert run(UPTO, "check", path).returncode == 0
    assert "span.1.start_ns" not in upto_json("info", "--json", path)["meta"]
    assert not os.path.exists(path + ".part")
    return upto_json("info", "--json", path)["events"] > 20000000


@pytest.mark.long
@pytest.mark.weight(5)
def test_interrupted_naming():
    """Ctrl-C behind the guest's end, while upto looks for names: it says what the trace may lack."""
    path = os.path.join(WORK, "chosen-unnamed.upto")
    p = started(path)
    pidfd = os.pidfd_open(int(run("pgrep", "-P", str(p.pid)).stdout))
    select.select([pidfd], [], [], 300)
    while run("pgrep", "-P", str(p.pid), check=False).stdout:  # until upto has seen its end
        time.sleep(0.001)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=30)[1].decode()
    assert p.returncode == -signal.SIGINT and "upto: interrupted: the trace has all that was recorded, but maybe no names" in said, (p.returncode, said)
    assert is_whole(path)
    os.unlink(path)


@pytest.mark.long
@pytest.mark.weight(15)
def test_interrupted_choice():
    """Ctrl-C while upto chooses: it ends, nothing half-written is left, and the recording is there as a whole. So it is where there is no room."""
    path = os.path.join(WORK, "chosen-interrupted.upto")
    for stale in (path, path + ".part"):
        if os.path.exists(stale):
            os.unlink(stale)
    p = started(path, "--min-duration", "10us")
    while not os.path.exists(path + ".part"):
        time.sleep(0.002)
        assert p.poll() is None, p.stderr.read().decode()
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=10)[1].decode()
    assert p.returncode == -signal.SIGINT and said.endswith("upto: interrupted: the trace has all that was recorded, also what was not asked for; "
                                                            "'upto thin' chooses from it\n"), (p.returncode, said)
    assert is_whole(path)
    # so is upto thin
    out = os.path.join(WORK, "chosen-interrupted-thin.upto")
    for sig in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([UPTO, "thin", "-f", "--min-duration", "10us", "-o", out, path], preexec_fn=as_at_a_terminal)
        while not os.path.exists(out + ".part"):
            time.sleep(0.002)
            assert p.poll() is None
        p.send_signal(sig)
        assert p.wait(timeout=10) == -sig
        assert not os.path.exists(out) and not os.path.exists(out + ".part")
    assert is_whole(path)
    # QEMU, which writes the recording, has no such limit
    os.unlink(path)
    p = started(path, "--min-duration", "10us")
    resource.prlimit(p.pid, resource.RLIMIT_FSIZE, (100000, 100000))
    said = p.communicate(timeout=60)[1].decode()
    assert p.returncode == 1 and "chosen-interrupted.upto: is whole, nothing was taken out: " in said and "File too large" in said, said
    assert is_whole(path)


def test_runs_exist():
    """Traces of a configuration's runs are not written over without -f: told before the guest starts."""
    config, path = os.path.join(WORK, "chosen-exist.conf"), os.path.join(WORK, "chosen-exist.upto")
    with open(config, "w") as f:
        f.write("begin\n\ttrigger start entry do_exit\nend\nbegin\n\ttrigger start entry do_exit\nend\n")
    with open(path + ".2", "w") as f:
        f.write("mine")
    fails(1, r"chosen-exist\.upto\.2: exists; --force overwrites it", "record", "--kfi", config, "-o", path, "--", *qemu_args("6.12", initrd("6.12", "brief")))
    assert not os.path.exists(path) and not os.path.exists(path + ".1")
    with open(path + ".2") as f:
        assert f.read() == "mine"
