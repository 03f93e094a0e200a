# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that boots more than once while it is recorded: each boot has its own kernel, slide, names, tasks and stages."""
import collections
import json
import os
import re

import pytest

from guest import TOP, UPTO, WORK, Once, check, initrd, kernel, numbers, qemu_args, record, run, upto_json

TEXT = 0xffffffff81000000  # where kernels are linked for: arch/x86/include/asm/page_64_types.h


def told(disk):
    """What each boot's /proc/kallsyms said: name → address."""
    data = open(disk, "rb").read()
    for at in (1, 2):
        text = data[at << 16:(at + 1) << 16].split(b"\0")[0].decode()
        yield {name: int(addr, 16) for addr, name in re.findall(r"^(\w+) \w (\S+)", text, re.M)}


def boot_twice(name, version, image, **more):
    trace, disk = os.path.join(WORK, name + ".upto"), os.path.join(WORK, name + ".disk")
    with open(disk, "wb") as f:
        f.truncate(1 << 20)
    args = [a for a in qemu_args(version, image, disk=disk, **more) if a != "-no-reboot"]
    record(trace, args)
    return trace, list(told(disk))


def place_of(trace, function, span):
    """Where the first call of the function goes to, in a part of the trace."""
    call = upto_json("calls", "--json", "--function", function, "--depth", "1", "-n", "1", *span, trace)["calls"][0]
    around = ["--from", f"{call['start_ns']}ns", "--to", f"{call['start_ns'] + 2}ns"]
    lines = run(UPTO, "dump", "--json", *around, trace).stdout.splitlines()
    return next(numbers(e)["target"] for e in map(json.loads, lines) if e.get("place") == function)


def check_boots(trace, kallsyms, releases):
    info = upto_json("info", "--json", trace)
    boots = info["boots"]
    assert [b["kernel"] for b in boots] == releases, boots
    assert boots[0]["start_ns"] == 0 and 0 < boots[1]["start_ns"] < info["duration_ns"], boots
    assert [b["slide"] for b in boots] == [k["_text"] - TEXT for k in kallsyms], boots
    start = boots[1]["start_ns"]
    spans = [("--to", f"{start}ns"), ("--from", f"{start}ns")]
    for span, names in zip(spans, kallsyms):
        assert place_of(trace, "vfs_read", span) == names["vfs_read"], names
        assert place_of(trace, "virtblk_probe [virtio_blk]", span) == names["virtblk_probe"], names
        top = {f["function"]: f for f in upto_json("top", "--json", "-n", "0", *span, trace)["functions"]}
        whole = sum(f["self_insns"] for f in top.values())
        for group in ("[kernel]", "[user]", "[unknown]"):
            assert top.get(group, {"self_insns": 0})["self_insns"] < whole / 1000, (group, top[group], whole)
        assert top["virtblk_probe [virtio_blk]"]["calls"] == 1 and top["start_kernel"]["calls"] == 1
        assert top["[decompressor]"]["self_insns"] > whole / 100
    check_tasks(trace, start, info["duration_ns"])
    run(UPTO, "check", trace)
    return start


def sums(trace, *how):
    """Instructions by name, of which some are several functions'."""
    found = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", *how, trace)["functions"]:
        found[f["function"]] += f["self_insns"]
    # where a reset finds a second vCPU; it may do one instruction more there
    for name in ("stop_this_cpu", "[kernel]"):
        del found[name]
    return found


def check_tasks(trace, start, end):
    """Nobody lives, and no call goes on, from one boot to the next."""
    processes = upto_json("ps", "--json", trace)["processes"]
    for path, begun, ended in (("/tmp/first/busybox", 0, start), ("/tmp/second/busybox", start, end)):
        assert [p for p in processes if p["exe"] == path], path
        assert all(begun <= p["start_ns"] and p["end_ns"] <= ended for p in processes if p["exe"] == path), path
    assert len([p for p in processes if p["pid"] == 1 and p["comm"] == "init"]) == 2
    assert not [p for p in processes if p["pid"] and p["start_ns"] < start and (p["end_ns"] is None or p["end_ns"] > start)]
    kernels = upto_json("calls", "--json", "--function", "start_kernel", "--depth", "1", "-n", "0", trace)["calls"]
    assert len(kernels) == 2 and kernels[0]["start_ns"] + kernels[0]["duration_ns"] <= start < kernels[1]["start_ns"], kernels
    last = [c for c in upto_json("syscalls", "--json", trace)["syscalls"] if c["name"] == "reboot"]
    assert [c["result"] for c in last] == [None, None] and last[0]["start_ns"] < start < last[1]["start_ns"], last
    total, plain = sums(trace, "--total"), sums(trace)
    # wherever it finds that vCPU
    assert sum((total - plain).values()) <= 1 and sum((plain - total).values()) <= 1, (total - plain, plain - total)


@pytest.mark.qemus
@pytest.mark.long
@pytest.mark.weight(60)
def test_reboot():
    """Reset by the kernel, with two vCPUs: KASLR has moved the kernel."""
    trace, kallsyms = boot_twice("boots-reboot", "6.12", initrd("6.12", "reboot"), smp=2, thread="multi")
    release = os.path.basename(kernel("6.12")[1]).removeprefix("vmlinuz-")
    start = check_boots(trace, kallsyms, [release, release])
    firmware = {f["function"]: f for f in upto_json("top", "--json", "-n", "0", "--from", f"{start}ns", trace)["functions"]}["[firmware]"]
    assert firmware["self_insns"] > 1e6
    text = run(UPTO, "info", trace).stdout.decode()
    assert re.search(r"^boots +2$", text, re.M), text
    check_history(trace, start)


def check_history(trace, start):
    """Each boot has its log and its phases; why asks of the last one, of which it tells every nanosecond."""
    log = upto_json("log", "--json", trace)["log"]
    assert [line["ns"] > start for line in log if line["text"].startswith("Linux version")] == [False, True]
    spans = upto_json("timeline", "--json", trace)["timeline"]
    boots = [s for s in spans if s["kind"] == "boot"]
    assert [s["start_ns"] for s in boots] == [0, start] and boots[0]["end_ns"] == start
    for boot in boots:
        phases = [s for s in spans if s["kind"] == "phase" and s["parent"] == boot["id"]]
        assert [s["name"] for s in phases] == ["firmware", "decompressor", "kernel", "user", "shutdown"]
        assert [s["start_ns"] for s in phases[1:]] + [boot["end_ns"]] == [s["end_ns"] for s in phases]
    # nobody waits, and no timer runs out, from one boot to the next
    waits = upto_json("waits", "--json", trace)["waits"]
    assert not [w for w in waits if w["start_ns"] < start < w["start_ns"] + w["asleep_ns"] + w["ready_ns"]]
    longest = re.match(r"# longest but for idle ones: .*; see: upto stack --at (\d+)\.(\d{9})s --pid (\d+) ", run(UPTO, "waits", trace).stdout.decode())
    at, pid = int(longest[1] + longest[2]), int(longest[3])
    assert [w for w in waits if w["pid"] == pid and w["start_ns"] <= at <= w["start_ns"] + w["asleep_ns"] and w["kind"] != "idle"], longest[0]
    for late in upto_json("latency", "--json", "--each", "20", trace)["latencies"]:
        assert late["start_ns"] >= start or late["end_ns"] <= start, late
    why = upto_json("why", "--json", trace)
    assert {"firmware", "decompressor", "kernel"} <= {c["name"] for c in why["causes"]}
    at = start
    for link in why["chain"]:
        assert link["start_ns"] == at < link["end_ns"] and link["kind"] != "unknown", link
        at = link["end_ns"]
    assert at == why["until_ns"] and at - start == why["total_ns"] == sum(c["ns"] for c in why["causes"])
    check_choice(trace, start, why, log)


def check_choice(trace, start, why, log):
    """--boot: each boot for itself, as --from and --to would choose it; a moment by name is that of the boot."""
    assert {**upto_json("why", "--json", "--boot", "2", trace)} == why
    first = upto_json("why", "--json", "--boot", "1", trace)
    assert first["until_ns"] == first["total_ns"] < start and "restart" in first["until"], first["until"]
    inits = [upto_json("why", "--json", "--boot", n, "--until", "init", trace)["until_ns"] for n in ("1", "2")]
    assert 0 < inits[0] < start < inits[1], inits
    for command in (["top", "-n", "0"], ["log"], ["first", "-n", "0"], ["syscalls"], ["ps"], ["timeline"], ["waits"]):
        for n, time in ("1", ["--to", f"{start}ns"]), ("2", ["--from", f"{start}ns"]):
            mine, theirs = ([v for k, v in upto_json(*command, "--json", *options, trace).items()] for options in (["--boot", n], time))
            assert mine == theirs and mine[-1], (command, n)
    for command in (["calls", "-n", "40"], ["tree"], ["disk"], ["latency"], ["dump", "-n", "40"], ["export", "--to", "chrome"], ["ps"]):
        for n, time in ("1", ["--to", f"{start}ns"]), ("2", ["--from", f"{start}ns"]):
            mine, theirs = (run(UPTO, *command, *options, trace, check=False) for options in (["--boot", n], time))
            assert (mine.stdout, mine.returncode) == (theirs.stdout, theirs.returncode) and theirs.returncode == 0, (command, n, theirs.stderr)
            assert command == ["disk"] or len(mine.stdout) > 100, (command, n)
    # moments are that boot's; what is asked for reaches not out of it
    lines = [x["ns"] for x in log if x["text"].startswith("Run /init")]
    assert len(lines) == 2
    for n, at in zip("12", lines):
        rows = upto_json("log", "--json", "--boot", n, "--from", "log:Run /init", trace)["log"]
        assert rows[0]["ns"] == at and all((x["ns"] < start) == (n == "1") for x in rows), (n, rows[0])
        assert upto_json("log", "--json", "--boot", n, "--from", "0s", "--to", "1000s", trace)["log"] == [x for x in log if (x["ns"] < start) == (n == "1")]
        until = upto_json("why", "--json", "--boot", n, "--until", "vfs_open", trace)["until_ns"]
        assert (until < start) == (n == "1"), (n, until)
        assert upto_json("stack", "--json", "--boot", n, "--at", "log:Run /init", trace) == upto_json("stack", "--json", "--at", f"{at + 1}ns", trace)
    assert upto_json("stack", "--json", "--boot", "1", trace) == upto_json("stack", "--json", "--at", f"{start}ns", trace)
    for n, option, words in ("1", ("--from", f"{start + 1}ns"), "that boot ends at"), ("2", ("--to", f"{start - 1}ns"), "that boot begins at"), ("1", ("--from", "log:no such line"), "did not happen"):
        p = run(UPTO, "log", "--boot", n, *option, trace, check=False)
        assert p.returncode == 1 and words in p.stderr.decode() and p.stderr.count(b"\n") == 1, p.stderr
    p = run(UPTO, "log", "--boot", "3", trace, check=False)
    assert p.returncode == 1 and p.stderr.endswith(b"--boot 3: the trace has 2 boots, which are counted from 1 on\n"), p.stderr


@pytest.mark.qemus
@pytest.mark.weight(25)
def test_uefi():
    """Firmware starts the kernel image as a program of its own, which unpacks the kernel: as many instructions as after SeaBIOS."""
    code, variables = "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"
    if not os.path.exists(code):
        pytest.skip("no UEFI firmware; ovmf has it")
    args = qemu_args("6.12", "no initramfs")
    at = args.index("-initrd")
    del args[at:at + 2]  # it panics, for it has nothing to start
    firmware = ["-drive", f"if=pflash,format=raw,readonly=on,file={code}", "-drive", f"if=pflash,format=raw,snapshot=on,file={variables}"]
    unpacking = []
    for name, more in ("bios", []), ("uefi", firmware):
        trace = os.path.join(WORK, f"boots-{name}.upto")
        record(trace, args, more=more)
        run(UPTO, "check", trace)
        top = {f["function"]: f["self_insns"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
        assert top["[firmware]"] > 1e6, top["[firmware]"]
        unpacking.append(top["[decompressor]"])
    assert abs(unpacking[1] / unpacking[0] - 1) < 0.05, unpacking


def kexec_program():
    source, out = os.path.join(TOP, "tests/guests/kexec.c"), os.path.join(WORK, "kexec")
    with Once(out):
        if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
            run("gcc", "-static", "-O2", "-Wall", "-Werror", "-o", out, source)
    return out


@pytest.mark.long
@pytest.mark.qemus
@pytest.mark.weight(70)
def test_kexec():
    """A kernel starts another one: 6.1 does 6.12. No firmware comes in between."""
    second, after = initrd("6.12", "reboot"), kernel("6.12")[1]
    image = initrd("6.1", "reboot", f"{kexec_program()}=/bin/kexec", f"{after}=/vmlinuz", f"{second}=/initramfs",
                   image=os.path.join(WORK, "boots-kexec.img"))
    trace, kallsyms = boot_twice("boots-kexec", "6.1", image, memory="1G")
    releases = [os.path.basename(kernel(v)[1]).removeprefix("vmlinuz-") for v in ("6.1", "6.12")]
    start = check_boots(trace, kallsyms, releases)
    functions = [f["function"] for f in upto_json("top", "--json", "-n", "0", "--from", f"{start}ns", trace)["functions"]]
    assert "[firmware]" not in functions


@pytest.mark.long
@pytest.mark.weight(30)
def test_crash_kernel():
    """The kernel that is started by a crash runs on the vCPU that crashed, here the second: it is a boot of its own, with names."""
    image = initrd("6.12", "kdump", f"{kexec_program()}=/bin/kexec", f"{kernel('6.12')[1]}=/vmlinuz", f"{initrd('6.12', 'brief')}=/initramfs",
                   image=os.path.join(WORK, "boots-kdump.img"))
    trace = os.path.join(WORK, "boots-kdump.upto")
    record(trace, qemu_args("6.12", image, smp=2, thread="multi", memory="1G", append="crashkernel=256M"))
    check(trace)
    info = upto_json("info", "--json", trace)
    assert len(info["boots"]) == 2 and all(b["kernel"] == info["boots"][0]["kernel"] for b in info["boots"]), info["boots"]
    functions = {f["function"]: f for f in upto_json("top", "--json", "-n", "0", "--boot", "2", trace)["functions"]}
    assert functions["start_kernel"]["calls"] == 1 and functions["kernel_init_freeable"]["calls"] == 1
    second = upto_json("log", "--json", "--boot", "2", trace)["log"]
    assert second and second[0]["text"].startswith("Linux version") and {line["cpu"] for line in second} == {1}, second[:2]
    ran = {p["comm"] for p in upto_json("ps", "--json", "--boot", "2", trace)["processes"]}
    assert "init" in ran, ran


@pytest.mark.weight(12)
@pytest.mark.parametrize("version, smp", [("6.12", 1), pytest.param("6.12", 2, marks=pytest.mark.long),
                                           *(pytest.param(v, 1, marks=pytest.mark.kernels) for v in ("5.10", "6.1", "7"))])
def test_suspend(version, smp):
    """Suspended to RAM twice, and woken by its clock: one boot, in which everything goes on; what ran and when nothing did is told."""
    trace = os.path.join(WORK, f"boots-suspend-{version}-{smp}.upto")
    p = record(trace, qemu_args(version, initrd(version, "suspend"), smp=smp, append="no_console_suspend"))
    assert b"back 1" in p.stdout and b"back 2" in p.stdout, p.stdout
    info = upto_json("info", "--json", trace)
    wakes = info["wakes"]
    assert len(info["boots"]) == 1 and len(wakes) == 2 and f"suspended        2 times to RAM, for {sum(w['start_ns'] - w['sleep_ns'] for w in wakes) / 1e9:.6f} s\n" in run(
        UPTO, "info", trace).stdout.decode(), info
    stacks = upto_json("check", "--json", trace)
    # at its begin the kernel goes on by a return, and calls a function by changing a trap's stack; and each time that it is woken, by a return
    assert stacks["ok"] and not stacks["not_checked"] and stacks["returns"]["unmatched_kernel"] <= 2 + len(wakes), stacks
    # vCPU 0 is halted meanwhile, and for no longer than the clock was set ahead: two seconds, counted in whole ones
    halted = [json.loads(line)["ns"] for line in run(UPTO, "dump", "--json", "--cpu", "0", "--kind", "halt,resume", trace).stdout.splitlines()]
    calls = [c for c in upto_json("calls", "--json", "--function", "pm_suspend", "--depth", "1", "-n", "0", trace)["calls"] if c["function"] == "pm_suspend"]
    timeline = upto_json("timeline", "--json", "--kind", "suspend", trace)["timeline"]
    assert [(c["start_ns"], c["left"], c["pid"]) for c in calls] == [(s["start_ns"], "returned", 1) for s in timeline if s["kind"] == "suspend"], (calls, timeline)
    for wake, call in zip(wakes, calls):
        end = call["start_ns"] + call["duration_ns"]
        assert call["start_ns"] < wake["sleep_ns"] < wake["start_ns"] < wake["kernel_ns"] < end, (wake, call)
        assert wake["sleep_ns"] in halted and any(0 <= wake["start_ns"] - ns < 100000 for ns in halted) and 1e8 < wake["start_ns"] - wake["sleep_ns"] < 3e9, (wake, halted)
        # firmware, and what the kernel does before it is where it had been
        within = ["--from", f"{wake['start_ns']}ns", "--to", f"{wake['kernel_ns']}ns", "--cpu", "0"]
        top = {f["function"]: f["self_insns"] for f in upto_json("top", "--json", "-n", "0", *within, trace)["functions"]}
        assert top["[firmware]"] > 0.9 * sum(top.values()) > 10000 and not {"[user]", "[unknown]", "[trampoline]", "[kernel]"} & set(top), top
        # and on whose behalf
        stack, = [s for s in upto_json("stack", "--json", "--at", f"{(wake['start_ns'] + wake['kernel_ns']) // 2}ns", "--running", trace)["stacks"] if s["cpu"] == 0]
        names = [f["function"] for f in stack["frames"]]
        assert stack["pid"] == 1 and names[0] == "[firmware]" and names.index("do_suspend_lowlevel") < names.index("pm_suspend"), stack
    log = upto_json("log", "--json", trace)["log"]
    assert [line["comm"] for line in log if line["text"].startswith("PM: suspend exit")] == ["init"] * 2, log[-20:]
    processes = upto_json("ps", "--json", trace)["processes"]
    assert len([p for p in processes if p["pid"] == 1 and p["comm"] == "init"]) == 1 and len([p for p in processes if p["comm"] == "ls"]) == 2, processes
    assert {p["pid"] for p in processes} <= set(range(400)), processes
    causes = upto_json("why", "--json", trace)["causes"]
    assert any(c["kind"] == "halt" and c["what"] == "suspended to RAM" and c["name"] == "suspend pm_suspend" for c in causes), causes
