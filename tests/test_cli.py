# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line as users and programs meet it: usage, refusals, columns, JSON, exit statuses."""
import collections
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile

import pytest

import decoder
from guest import RECORDER, UPTO, UPTO_ASAN, WORK, Once, initrd, is_older, kernel, once_a_run, qemu_args, run, upto_json

COMMANDS = ["boot", "record", "run", "replay", "exec", "host", "report", "ui", "timeline", "why", "waits", "latency", "disk", "events", "probe", "log", "object", "top", "tree", "first", "calls", "stack", "syscalls", "ps", "info", "check", "thin", "symbols",
            "layout", "dump", "export", "import", "kd", "addr2sym", "sym2addr"]
TOP = ["function", "section", "calls", "self_insns", "self_ns", "self_pct", "total_insns", "total_ns", "total_pct", "average_ns",
       "longest_ns", "address", "object"]
FIRST = ["ns", "kernel_ns", "insns", "cpu", "function", "section", "caller", "object", "pid", "comm", "given"]
SYSCALLS = ["start_ns", "insns", "cpu", "task", "pid", "tgid", "comm", "abi", "nr", "name", "args", "call", "path", "result", "error", "duration_ns",
            "cpu_ns"]
SUMS = ["name", "abi", "nr", "count", "errors", "total_ns", "average_ns", "longest_ns"]


def recorded(name, status, args, *options):
    """A trace recorded once for all tests, and again when upto was built anew since, but not while tests run."""
    path = os.path.join(WORK, name)

    def make():
        if is_older(path, UPTO, RECORDER):
            p = run(UPTO, "record", "--force", "-o", path + ".new", *options, "--", *args, check=False)
            assert p.returncode == status, p
            os.rename(path + ".new", path)

    once_a_run(path, make)
    return path


def trace():
    """A boot of the plain guest to its end, with all that commands can be asked for."""
    return recorded("cli.upto", 0, qemu_args("6.12", initrd("6.12", "plain"), whole=True), "--thunks")


TINY_EXIT = 0x10 << 1 | 1


def tiny_args():
    """A guest that ends at once, with a QEMU that exits with TINY_EXIT."""
    image = os.path.join(WORK, "cli-boot.img")
    with Once(image):
        if not os.path.exists(image):
            with open(image + ".new", "wb") as f:
                # mov $0x10, %al; out %al, $0xf4; hlt
                f.write(bytes([0xb0, 0x10, 0xe6, 0xf4, 0xf4]).ljust(510, b"\0") + b"\x55\xaa")
            os.rename(image + ".new", image)
    return ["qemu-system-x86_64", "-accel", "tcg", "-nographic", "-nic", "none", "-m", "32M", "-serial", "none",
            "-drive", f"file={image},format=raw,snapshot=on", "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]


def tiny():
    return recorded("cli-tiny.upto", TINY_EXIT, tiny_args())


def answer(*args):
    """What upto says as JSON; asked once."""
    if args not in ANSWERED:
        ANSWERED[args] = upto_json(*args)
    return ANSWERED[args]


ANSWERED = {}


def rows(command, *options):
    told = answer(command, "--json", *options, trace())
    assert len(told) == 1, list(told)
    return next(iter(told.values()))


def late():
    """The last twentieth of the trace, which is had faster than all of it."""
    return ["--from", f"{answer('info', '--json', trace())['duration_ns'] * 19 // 20}ns"]


def fails(status, pattern, *args, upto=UPTO_ASAN, **kw):
    """The command fails with one line on stderr that has all of the pattern, and prints nothing else."""
    p = run(upto, *args, check=False, timeout=60, **kw)
    err, what = p.stderr.decode(), " ".join(map(str, args))
    assert p.returncode == status, f"{what}: exit {p.returncode}, not {status}: {err}"
    assert err.count("\n") == 1 and err.startswith("upto: "), f"{what}: not one line: {err!r}"
    assert re.search(pattern, err), f"{what}: {err!r} does not have {pattern!r}"
    assert not p.stdout, f"{what}: prints {p.stdout[:300]!r}"
    return err


def keeps_others(pattern, command, names, others):
    """The answer is the one of the other names; one line tells of the one that is not there, and so does the status."""
    p, want = run(UPTO, *command, *names, check=False), run(UPTO, *command, *others)
    assert p.returncode == 1 and p.stdout == want.stdout and p.stdout, (command, names)
    assert re.fullmatch(rf"upto: .*{pattern.removesuffix('$')}.*\n", p.stderr.decode()), p.stderr


def test_usage():
    """Wrong usage: exit 2, and one line that names what is wrong."""
    for pattern, *args in [
            (r"'nosuch'.*upto --help", "nosuch"), (r"'--nosuch'", "--nosuch"), (r"'-x'", "-x"),
            (r"'nosuch'", "--no-pager", "nosuch"),
            (r"TRACE is missing.*upto top --help", "top"), (r"TRACE is missing", "check", "--json"),
            (r"'--bad'.*upto top --help", "top", "--bad", "x"), (r"'-Z'", "top", "-Z", "x"),
            (r"'--bad=1'", "info", "--bad=1", "x"), (r"'--jso'", "info", "--jso", "x"),
            (r"value.*'-o'", "top", "-o"), (r"value.*'--from'", "top", "x", "--from"),
            (r"'--json=1'", "top", "--json=1", "x"), (r"'b'", "info", "a", "b"), (r"'c'", "boot", "a", "b", "c"),
            (r"'--'", "top", "--", "x"), (r"'x'", "record", "x"),
            (r"--callers", "tree", "--callers", "x"), (r"--all-threads", "calls", "--all-threads", "x"),
            (r"--all-threads", "calls", "--all-threads", "--one-thread", "--function", "f", "x"),
            (r"QEMU's command line", "record"), (r"QEMU's command line", "record", "--"),
            (r"--help", "record", "--output"), (r"'nosuch'", "--man", "nosuch")]:
        fails(2, pattern, *args)
    p = run(UPTO, check=False)
    assert p.returncode == 2 and b"usage: upto" in p.stdout + p.stderr, p


@pytest.mark.parametrize("option, value, commands", [
    ("-o", "nosuch", "top first syscalls"), ("-o", "", "top"), ("-o", "cpu,nosuch", "first"), ("-o", "ns,", "first"),
    ("-s", "nosuch", "top first syscalls"), ("-s", "-nosuch", "top"), ("-s", "", "first"),
    ("-n", "many", "top first syscalls dump"), ("-n", "-1", "top dump"), ("-n", "1.5", "top"),
    ("--from", "soon", "top first syscalls dump"), ("--to", "5 parsecs", "top dump"), ("--from", "-1s", "top"),
    ("--to", "", "top"), ("--cpu", "all", "top first syscalls dump"), ("--cpu", "1024", "top"),
    ("--clock", "sundial", "top"), ("--min-pct", "most", "top"), ("--min-pct", "1x", "top"), ("-k", "nosuch", "dump"),
    ("-k", "call,nosuch", "dump"),
])
def test_values(option, value, commands):
    """Values that make no sense: exit 2, the option and the value named, nothing printed."""
    for command in commands.split():
        shown = {"-n": "--lines", "-k": "--kind", "--min-pct": "--min"}.get(option, option)
        fails(2, f"{re.escape(shown)} .*{re.escape(value.split(',')[-1].lstrip('-'))}", command, option, value, tiny())


def test_unknown_function():
    fails(1, "no function no_such_function in the trace", "dump", "-F", "no_such_function", tiny())


def test_help():
    """Help, version, completion; every option is in all three."""
    p = run(UPTO, "--help")
    letters = {}
    assert not p.stderr
    for command in COMMANDS:
        assert re.search(f"^  {command} +\\S", p.stdout.decode(), re.M), command
        h = run(UPTO, command, "--help")
        text = h.stdout.decode()
        assert text.startswith(f"usage: upto {command} ") and not h.stderr, text
        examples = text.split("\nexamples:\n")
        assert len(examples) == 2 and examples[1].count(f"upto {command}") >= 1, text
        assert run(UPTO, command, "-h").stdout == h.stdout
        assert max(map(len, text.splitlines())) <= 140, max(text.splitlines(), key=len)
        options = set(re.findall(r"^  (?:-\w,|   ) --([\w-]+)", text, re.M))
        words = {w.removeprefix("--").rstrip("=") for w in run(UPTO, "--complete", command).stdout.decode().split()}
        assert options == words and "help" in options, (options, words)
        # an option has the same letter everywhere, but in commands that are as others' tools are
        if command not in ("kd", "host", "probe", "object", "run"):
            for letter, name in re.findall(r"^  (-\w,|   ) --([\w-]+)", text, re.M):
                letters.setdefault(name, set()).add(letter)
    assert not {name: of for name, of in letters.items() if len(of) > 1}
    assert run(UPTO, "help").stdout == p.stdout == run(UPTO, "-h").stdout
    assert run(UPTO, "--complete").stdout.decode().split() == COMMANDS
    version = run(UPTO, "--version")
    assert re.fullmatch(rb"upto \d+\.\d+\S*\n", version.stdout) and not version.stderr, version


def test_man():
    """The manual pages are good roff, and have every option."""
    if not shutil.which("groff"):
        pytest.skip("no groff (Debian: groff-base)")
    for command in [None, *COMMANDS]:
        page = run(UPTO, "--man", *filter(None, [command]))
        assert page.stdout.startswith(b".TH UPTO") and not page.stderr, command
        p = subprocess.run(["groff", "-Kutf8", "-man", "-Tutf8", "-ww"], input=page.stdout, capture_output=True)
        assert p.returncode == 0 and not p.stderr, (command, p.stderr.decode())
        text = re.sub(r"\x1b\[[\d;]*m|.\x08", "", p.stdout.decode())
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION"] + (["OPTIONS", "EXAMPLES", "EXIT STATUS"] if command else []):
            assert re.search(f"^{heading}$", text, re.M), (command, heading)
        if not command:
            assert all(f"upto-{c}" in text.replace("\u2010", "-") for c in COMMANDS), text
            continue
        for option in run(UPTO, "--complete", command).stdout.decode().split():
            assert option.rstrip("=") in text, (command, option)
        # examples can be copied: their dashes are dashes
        for line in run(UPTO, command, "--help").stdout.decode().split("\nexamples:\n")[1].splitlines():
            assert line.strip() in text, (command, line)


def fake_qemu(folder, version="QEMU emulator version 10.0.0", usage="-plugin [file=]<file>", status=3,
              name="qemu-system-x86_64"):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\ncase $1 in\n--help) echo '{version}'; echo; echo '{usage}';;\n"
                f"*) echo ran >{folder}/ran; exit {status};;\nesac\n")
    os.chmod(path, 0o755)
    return path


def refused(folder, pattern, *argv, status=1, options=()):
    """record refuses, before it runs anything or makes a file."""
    out = os.path.join(folder, "out.upto")
    fails(status, pattern, "record", "-o", out, *options, "--", *argv, upto=UPTO)
    assert not os.path.exists(out), "a trace of nothing"
    assert not os.path.exists(os.path.join(folder, "ran")), "QEMU was started all the same"


def test_refuses_accelerators():
    with tempfile.TemporaryDirectory() as folder:
        qemu = fake_qemu(folder)
        for flag in "-daemonize", "--daemonize":
            refused(folder, f"^upto: {flag}: .*leave it out", qemu, "-m", "1G", flag)
        for args in (["-enable-kvm"], ["--enable-kvm"], ["-accel", "kvm"], ["--accel", "kvm"], ["-accel", "kvm,x=y"],
                     ["-machine", "accel=kvm"], ["-machine", "q35,accel=kvm"], ["-M", "pc,accel=kvm:tcg"],
                     ["-machine", "accel=tcg:kvm"], ["-accel", "xen"], ["-m", "1G", "-accel", "hvf", "-nographic"]):
            flag = next(a for a in args if a.lstrip("-") in ("enable-kvm", "accel", "machine", "M"))
            refused(folder, f"^upto: {flag}: .*use -accel tcg", qemu, *args)
        # these are none: QEMU runs
        for args in (["-accel", "tcg,thread=multi"], ["-machine", "q35"], ["-M", "pc,accel=tcg"],
                     ["-kernel", "kvm"], ["-append", "kvm.x=1"], ["-drive", "file=accel=kvm.img"]):
            started(folder, qemu, *args)


def started(folder, qemu, *args):
    """A QEMU that runs, but not the recorder in it: its exit status, and no trace."""
    out = os.path.join(folder, "out.upto")
    fails(3, r"QEMU did not start the recording \(exit status 3\)", "record", "-o", out, "--", qemu, *args, upto=UPTO)
    os.unlink(os.path.join(folder, "ran"))
    assert not os.path.exists(out), "a trace of nothing"


def test_refuses_programs():
    with tempfile.TemporaryDirectory() as folder:
        for version in ("7.2.0", "8.2.1", "9.1.3"):
            refused(folder, f"QEMU {version[:3]} .*9\\.2 .*apt-get install", fake_qemu(folder, f"QEMU emulator version {version}"))
        refused(folder, "QEMU 12.1 .*use QEMU 9\\.2 to 11", fake_qemu(folder, "QEMU emulator version 12.1"))
        for version in ("9.2.0", "10.0.2 (Debian 1:10.0.2+ds-2)", "10.2.0", "11.0.0", "11.1.3"):
            started(folder, fake_qemu(folder, f"QEMU emulator version {version}"))
        refused(folder, "--enable-plugins", fake_qemu(folder, usage="-monitor dev"))
        refused(folder, "is it a QEMU", fake_qemu(folder, version="hello"))
        refused(folder, "is it a QEMU", fake_qemu(folder, version="some version of x"))
        refused(folder, "aarch64 .*only qemu-system-x86_64", fake_qemu(folder, name="qemu-system-aarch64"))
        refused(folder, "i386 .*only qemu-system-x86_64", "qemu-system-i386")
        refused(folder, "no-such-qemu: cannot be run; .*apt-get install", os.path.join(folder, "no-such-qemu"))
        plain = os.path.join(folder, "not-executable")
        shutil.copyfile("/bin/sh", plain)
        if os.geteuid() or not os.access(plain, os.X_OK):
            refused(folder, "not-executable: cannot be run", plain)
        # QEMU's own name, whatever it is, is what counts
        started(folder, fake_qemu(folder, name="my-qemu"))


def test_refuses_output():
    """Outputs that cannot be, and one that is there already and stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        qemu = fake_qemu(folder)
        for path, pattern in ((f"{folder}/none/t.upto", "none/t.upto: No such file"), (folder, f"{folder}: .*")):
            fails(1, pattern, "record", "-o", path, "--", qemu, upto=UPTO)
            fails(1, pattern, "record", "--force", "-o", path, "--", qemu, upto=UPTO)
        there = os.path.join(folder, "there.upto")
        with open(there, "w") as f:
            f.write("dear to me")
        fails(1, r"there.upto: exists; --force overwrites it", "record", "-o", there, "--", qemu, upto=UPTO)
        fails(1, r"there.upto: exists", "boot", "-o", there, "--qemu", qemu, "/bin/sh", upto=UPTO)
        assert open(there).read() == "dear to me"
        # a refusal that --force has nothing to do with leaves it, too
        fails(1, r"use -accel tcg", "record", "--force", "-o", there, "--", qemu, "-enable-kvm", upto=UPTO)
        assert open(there).read() == "dear to me"
        assert not os.path.exists(os.path.join(folder, "ran"))


def contents(folder):
    """Every file of the folder, by name."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


@pytest.mark.parametrize("words", [["thin"], ["export", "--to", "kfi"], ["import"]], ids=lambda words: words[0])
def test_outputs(words):
    """What is read is never written, and what exists only with --force; devices and pipes take text."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        source, dear, link, new = (os.path.join(folder, name) for name in ("x.log", "dear", "link", "new"))
        with open(source, "wb") as f, open(tiny(), "rb") as trace:
            f.write(b"--------\n 1 2 3 f g\n" if words == ["import"] else trace.read())
        with open(dear, "w") as f:
            f.write("dear to me")
        os.symlink("x.log", link)
        os.link(source, source + "2.part")
        before = contents(folder)
        for force in [], ["-f"], ["--force"]:
            for out in source, link:
                fails(1, f"{out}: is what is read; -o names another", *words, *force, "-o", out, source)
            fails(1, "x.log2.part: is what is read", *words, *force, "-o", source + "2", source)
        fails(1, f"{dear}: exists; --force overwrites it, -o names another", *words, "-o", dear, source)
        os.rename(dear, new + ".part")
        fails(1, f"{new}.part: exists; --force overwrites it", *words, "-o", new, source)
        os.rename(new + ".part", dear)
        if words == ["import"]:
            with open(source, "rb") as f:
                fails(1, "x.log: is what is read", *words, "-f", "-o", source, "-", stdin=f)
        assert contents(folder) == before
        run(UPTO_ASAN, *words, "-o", new, source)
        run(UPTO_ASAN, *words, "-f", "-o", dear, source)
        after = contents(folder)
        assert after[os.path.basename(new)] == after["dear"] != before["dear"]
        assert set(after) == {*before, "new"} and all(after[name] == before[name] for name in before if name != "dear")
        if words[0] != "export":
            fails(1, "/dev/null: not a regular file", *words, "-f", "-o", "/dev/null", source)
            return
        for out in "/dev/stdout", "/dev/fd/1":
            assert run(UPTO_ASAN, *words, "-o", out, source).stdout == after["dear"]
            with open(dear, "wb") as f:
                run(UPTO_ASAN, *words, "-o", out, source, stdout=f)
            assert contents(folder)["dear"] == after["dear"] and os.path.islink("/dev/stdout")
        fails(1, "/dev/full: No space left", *words, "-o", "/dev/full", source)


def test_output_is_no_file():
    """What upto did not make it does not remove: a device stays when QEMU does not start."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        device = os.path.join(folder, "full")
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))  # /dev/full
        except PermissionError:
            pytest.skip("no right to make a device")
        for args in ([fake_qemu(folder)], ["qemu-system-x86_64", "-no-such-option"],
                     ["qemu-system-x86_64", "-nographic", "-no-reboot"]):
            p = run(UPTO, "record", "--force", "-o", device, "--", *args, check=False, timeout=20)
            assert p.returncode != 0, "recorded to a full device"
            assert os.path.exists(device), f"the device is gone: {p.stderr.decode()}"


def test_boot_refuses():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.upto")
        _, image = kernel("6.12")
        fails(1, "/no/kernel: ", "boot", "-o", out, "/no/kernel")
        fails(1, "/no/initrd: ", "boot", "-o", out, image, "/no/initrd")
        fails(1, "use -accel tcg", "boot", "-o", out, image, "--", "-enable-kvm")
        fails(1, "no-such-qemu: .*apt-get", "boot", "-o", out, "--qemu", f"{folder}/no-such-qemu", image)
        assert not os.path.exists(out)
        # QEMU itself says what is wrong with its command line
        for args, pattern in ((["-kernel", "/no/kernel"], b"/no/kernel"), (["-no-such-option"], b"no-such-option")):
            p = run(UPTO, "record", "--force", "-o", out, "--", "qemu-system-x86_64", "-nographic", *args, check=False,
                    timeout=30)
            assert p.returncode == 1 and pattern in p.stderr, p
            assert b"next: upto" not in p.stderr, f"there is nothing to ask about: {p.stderr.decode()}"
        p = run(UPTO, "record", "--force", "-o", out, "--symbols", "/no/symbols", "--", "qemu-system-x86_64", "-nographic",
                check=False, timeout=30)
        assert p.returncode == 1 and b"/no/symbols" in p.stderr, p


def test_boot_command_line():
    """boot writes a command line that QEMU gets as it is."""
    with tempfile.TemporaryDirectory() as folder:
        qemu = fake_qemu(folder)
        text = open(qemu).read().replace("echo ran >", f'printf "%s\\n" "$@" >{folder}/args; echo ran >')
        open(qemu, "w").write(text)
        p = run(UPTO, "boot", "-o", f"{folder}/o.upto", "--qemu", qemu, "-m", "2G", "--cpus", "3", "--append", "a b",
                "/bin/sh", "/bin/ls", "--", "-device", "x y", check=False)
        assert p.returncode == 3, p
        args = open(f"{folder}/args").read().splitlines()
        at = args.index("-plugin")
        assert re.search(r"upto-recorder\.so,config=\d+$", args[at + 1]), args
        for option, value in (("-m", "2G"), ("-smp", "3"), ("-kernel", "/bin/sh"), ("-initrd", "/bin/ls"),
                              ("-append", "console=ttyS0 panic=-1 a b"), ("-device", "x y"), ("-accel", "tcg")):
            assert args[args.index(option) + 1] == value, (option, args)
        assert "-nographic" in args and at > args.index("-device"), args


def test_info_json():
    info = answer("info", "--json", trace())
    assert {"events", "instructions", "bytes", "lost", "complete", "spans", "left_out", "kernel_release", "vcpus", "duration_ns", "halted_ns",
            "slide", "cut", "events_by_kind", "bytes_by_content", "facts", "not_watched", "meta", "boots", "wakes", "ending", "troubles"} == set(info), sorted(info)
    assert info["complete"] is True and info["lost"] == 0 and info["vcpus"] == 1 and info["cut"] is None
    assert info["bytes"] == os.path.getsize(trace())
    by_content, known = collections.Counter(), decoder.Trace(trace())
    for chunk in known.chunks:
        by_content[chunk.type] += decoder.CHUNK_HEADER.size + chunk.stored
    assert info["bytes_by_content"] == {n: by_content[getattr(decoder, n.upper())] for n in info["bytes_by_content"]}
    assert len(info["bytes_by_content"]) == 11 and sum(by_content.values()) + 16 == info["bytes"]
    assert info["kernel_release"] and info["kernel_release"] in kernel("6.12")[1]
    assert sum(info["events_by_kind"].values()) == info["events"] > 10_000_000
    assert info["instructions"] > 1_000_000_000 and info["duration_ns"] > 1_000_000_000
    assert int(info["meta"]["events"]) == info["events"] and info["meta"]["arch"] == "x86_64"
    # as it stands in the program, and as the program says it
    assert info["meta"]["qemu"] == run("qemu-system-x86_64", "--version").stdout.decode().splitlines()[0]
    assert info["slide"] % (2 << 20) == 0
    text = run(UPTO, "info", trace()).stdout.decode()
    for value in (info["events"], info["instructions"], info["bytes"], info["kernel_release"]):
        assert (f"{value:,}" if isinstance(value, int) else value) in text.split(), (value, text)
        assert str(value) in run(UPTO, "info", "--exact", trace()).stdout.decode().split(), value
    assert re.search(r"^state +whole$", text, re.M), text
    assert re.fullmatch(rb"[0-9a-f]{16}\n", run(UPTO, "info", "--digest", trace()).stdout)
    found = upto_json("check", "--json", trace())
    assert found.pop("returns")["all"] == info["events_by_kind"]["return"], found
    assert found == {"ok": True, "events": info["events"], "instructions": info["instructions"], "findings": [], "not_checked": []}, found


def test_top_json():
    functions, info = rows("top"), answer("info", "--json", trace())
    assert all(list(f) == TOP for f in functions)
    assert all(isinstance(f[k], int) and f[k] >= 0 for f in functions for k in ("calls", "self_insns", "self_ns"))
    assert all(f["calls"] or f["self_insns"] or f["self_ns"] for f in functions)
    assert sum(f["self_insns"] for f in functions) == info["instructions"]
    assert 0.999 < (sum(f["self_ns"] for f in functions) + info["halted_ns"]) / info["duration_ns"] < 1.001
    assert abs(sum(f["self_pct"] for f in functions) - 100) < 0.05
    for f in functions:
        assert abs(f["self_pct"] - 100 * f["self_insns"] / info["instructions"]) < 0.00001, f
        # code without symbols has no address and no section
        assert f["function"].endswith("]") == (f["address"] is None), f
        assert not f["function"].startswith("[") or f["section"] is None, f
        assert ("[" in f["function"][1:]) <= bool(f["object"]), f
        assert not f["object"] or f["function"].endswith(f"[{f['object']}]"), f
    by_name = {f["function"]: f for f in functions}
    assert by_name["start_kernel"]["calls"] == by_name["rest_init"]["calls"] == 1
    assert by_name["start_kernel"]["section"] == ".init.text"
    assert {"[busybox]", "ext4_init_fs [ext4]", "[firmware]", "[decompressor]"} <= set(by_name), [n for n in by_name if n[0] == "["]
    assert any(re.match(r"\w+ \[vdso\]$", n) for n in by_name), [n for n in by_name if "vdso" in n]
    # shares are of what the order goes by, and stand beside it
    by_time = rows("top", "-s", "self_ns")
    for f in by_time:
        assert abs(f["self_pct"] - 100 * f["self_ns"] / sum(f["self_ns"] for f in functions)) < 0.001, f
    for options, heading in (([], "SELF INSNS SELF %"), (["-s", "self_ns"], "SELF TIME SELF %"), (["--clock", "ns"], "SELF TIME SELF %"),
                             (["--by", "module"], "SELF INSNS SELF %"), (["--by", "module", "--clock", "ns"], "SELF TIME SELF %")):
        text = run(UPTO, "top", "-n", "1", *options, trace()).stdout.decode()
        assert heading in " ".join(text.split()), (options, text)
    # calls that never returned have no average
    totals = {f["function"]: f for f in rows("top", "--total")}
    assert totals["start_kernel"]["average_ns"] is None and totals["do_init_module"]["average_ns"] > 0
    text = run(UPTO, "top", "--total", "-n", "0", "-o", "function,average_ns,longest_ns", trace()).stdout.decode()
    assert re.search(r"^start_kernel +unfinished +unfinished$", text, re.M), text[:300]
    by_ns = rows("top", "--clock", "ns")
    assert [f["self_ns"] for f in by_ns] == sorted((f["self_ns"] for f in functions), reverse=True)
    assert abs(sum(f["self_pct"] for f in by_ns) - 100) < 0.05
    total = sum(f["self_ns"] for f in functions)
    assert all(abs(f["self_pct"] - 100 * f["self_ns"] / total) < 0.001 for f in by_ns)


def test_top_by():
    """Whatever it is summed by, it is the same sum."""
    info = answer("info", "--json", trace())
    for by, some in (("function", "start_kernel"), ("module", "busybox"), ("section", ".init.text"), ("process", "init"), ("thread", "kthreadd")):
        found = answer("top", "--by", by, "--json", "-n", "0", trace())
        found = found.get(by) or found["functions"]
        assert sum(f["self_insns"] for f in found) == info["instructions"], by
        names = [f.get("name") or f["function"] for f in found]
        assert some in names, (by, names[:20])
        assert by in ("process", "thread") or len(set(names)) == len(names) or by == "function", by
    fails(2, "--by colour: function, module, section, process, thread or interrupt", "top", "--by", "colour", tiny())
    fails(2, "--by process: not with --total", "top", "--by", "process", "--total", tiny())


def test_first_json():
    first, functions = rows("first"), rows("top")
    assert all(list(f) == FIRST for f in first)
    assert [f["ns"] for f in first] == sorted(f["ns"] for f in first)
    names = [f["function"] for f in first]
    # what was called has a first time, and nothing else has
    assert sorted(names) == sorted(f["function"] for f in functions if f["calls"])
    assert len(names) > 5000
    order = [names.index(n) for n in ("[firmware]", "[decompressor]", "x86_64_start_kernel", "start_kernel", "rest_init",
                                      "kernel_init", "kernel_init_freeable", "run_init_process", "[busybox]", "ext4_init_fs [ext4]")]
    assert order == sorted(order), order
    by_name = {f["function"]: f for f in first}
    assert by_name["start_kernel"]["caller"] == "x86_64_start_reservations", by_name["start_kernel"]
    assert by_name["kernel_init_freeable"]["caller"] == "kernel_init", by_name["kernel_init_freeable"]
    assert all(f["cpu"] == 0 for f in first)


def test_first_kernel_ns():
    """No function of the kernel runs before the kernel does."""
    early = [f["function"] for f in rows("first") if f["section"] and f["kernel_ns"] is None]
    assert not early, f"{len(early)} functions of the kernel ran before its first instruction: {early}"
    kernels = [f for f in rows("first") if f["kernel_ns"] is not None]
    assert len({f["ns"] - f["kernel_ns"] for f in kernels}) == 1
    assert kernels[0]["kernel_ns"] < 1_000_000, kernels[0]


def test_syscalls_json():
    calls, info = rows("syscalls"), answer("info", "--json", trace())
    assert all(list(c) == SYSCALLS for c in calls)
    assert len(calls) == info["events_by_kind"]["syscall"] > 300
    assert [c["start_ns"] for c in calls] == sorted(c["start_ns"] for c in calls)
    for c in calls:
        assert len(c["args"]) == 6 and all(re.fullmatch(r"0x[0-9a-f]{1,16}", a) for a in c["args"]), c
        assert all(isinstance(c[k], int) and c[k] >= 0 for k in ("start_ns", "insns", "cpu", "nr")), c
        assert c["result"] is None or -(1 << 63) <= c["result"] < 1 << 63, c
        assert c["duration_ns"] is None or 0 <= c["duration_ns"] <= info["duration_ns"] - c["start_ns"], c
        assert re.fullmatch(r"0x[0-9a-f]+", c["task"]) and re.fullmatch(r"\w+", c["name"]), c
    names = [c["name"] for c in calls]
    assert names.count("finit_module") > 3 and names[-1] == "reboot", names[-5:]
    assert {c["nr"] for c in calls if c["name"] == "brk"} == {12}
    opened = [c for c in calls if c["name"] == "finit_module"]
    assert all(c["result"] == 0 for c in opened), opened
    # busybox's mount -t proc none /proc
    assert [c["result"] for c in calls if c["name"] == "mount"] == [0]
    sums = rows("syscalls", "--summary")
    assert all(list(s) == SUMS for s in sums)
    assert sum(s["count"] for s in sums) == len(calls)
    assert [s["total_ns"] for s in sums] == sorted((s["total_ns"] for s in sums), reverse=True)
    for s in sums:
        mine = [c for c in calls if c["name"] == s["name"]]
        times = [c["duration_ns"] for c in mine if c["duration_ns"] is not None]
        assert s["count"] == len(mine) and s["nr"] == mine[0]["nr"], s
        assert s["errors"] == sum(c["result"] is not None and -4096 < c["result"] < 0 for c in mine), s
        assert s["total_ns"] == sum(times) and s["longest_ns"] == max(times, default=0), (s, times)
        assert s["average_ns"] == (sum(times) // len(times) if times else 0), s


def test_exit_never_returns():
    """A later process in the task_struct of one that has ended does not end its last call."""
    ends = [c for c in rows("syscalls") if c["name"] in ("exit", "exit_group")]
    assert len(ends) >= 2
    returned = [c for c in ends if c["duration_ns"] is not None or c["result"] is not None]
    assert not returned, f"{len(returned)} of {len(ends)} returned: {returned}"


def dump(*options):
    out = run(UPTO, "dump", "--json", *options, trace()).stdout.decode()
    return [json.loads(line) for line in out.splitlines()]


def test_dump_json():
    info = answer("info", "--json", trace())
    events = dump("-n", "20000")
    assert len(events) == 20000
    for a, b in zip(events, events[1:]):
        assert a["insns"] <= b["insns"] and a["ns"] <= b["ns"], (a, b)
    wanted = {"interrupt": 3, "syscall": 8, "syscall-return": 1, "task-switch": 2}
    special = dump("--kind", ",".join(wanted))
    for e in events + special:
        assert list(e)[:4] == ["ns", "insns", "cpu", "kind"], e
        assert set(e) <= {"ns", "insns", "cpu", "kind", "slot", "from", "target", "place", "args", "previous", "next", "abi"}, e
        assert ("place" in e) == ("target" in e) and e["kind"] in info["events_by_kind"], e
        assert len(e.get("args", [])) == wanted.get(e["kind"], len(e.get("args", []))), e
        if e["kind"].startswith("call"):
            assert {"slot", "from", "target"} <= set(e), e
    for kind in wanted:
        assert sum(e["kind"] == kind for e in special) == info["events_by_kind"][kind] > 0, kind
    calls = rows("syscalls")
    told = [e for e in special if e["kind"] == "syscall"]
    assert [(e["ns"], e["insns"], e["args"][:7]) for e in told] == [(c["start_ns"], c["insns"], [hex(c["nr"]), *c["args"]]) for c in calls]
    # -F: as many as top counts
    functions = {f["function"]: f["calls"] for f in rows("top")}
    hits = dump("-F", "start_kernel,rest_init,do_sys_openat2", "--kind", "call,call-indirect,jump,jump-indirect,arrive")
    assert [h["place"] for h in hits[:2]] == ["start_kernel", "rest_init"]
    assert len(hits) - 2 == functions["do_sys_openat2"] > 3, len(hits)
    # text: the same events in the same order
    lines = run(UPTO, "dump", "-n", "2000", trace()).stdout.decode().splitlines()
    assert [(int(x.split()[0].replace(".", "")), int(x.split()[1]), x.split()[2], x.split()[3]) for x in lines] == \
        [(e["ns"], e["insns"], f"[{e['cpu']}]", e["kind"]) for e in events[:2000]]


def test_columns():
    """-o chooses and orders, -s sorts either way, -n limits, --min-pct leaves out."""
    part = late()
    everything = rows("top", *part)
    assert len(everything) > 200
    assert [f["self_insns"] for f in everything] == sorted((f["self_insns"] for f in everything), reverse=True)
    assert rows("top", *part, "-n", "7") == everything[:7] and rows("top", *part, "-n0") == everything
    assert rows("top", *part, "--lines=1") == everything[:1]
    for column in ("calls", "self_ns", "self_insns"):
        down, up = rows("top", *part, "-s", column), rows("top", *part, "-s", "-" + column)
        want = sorted(f[column] for f in everything)
        assert [f[column] for f in up] == want and [f[column] for f in down] == want[::-1], column
        assert sorted(f["function"] for f in up) == sorted(f["function"] for f in everything)
        assert rows("top", *part, "-s", column, "-n", "3") == down[:3], "not the first of all, but the first sorted"
    names = [f["function"] for f in rows("top", *part, "-s", "function")]
    assert names == sorted(names)
    assert [f["function"] for f in rows("top", *part, "--sort=-function")] == names[::-1]
    few = rows("top", *part, "-o", "calls,function", "-n", "4")
    assert all(list(f) == ["calls", "function"] for f in few)
    assert [f["function"] for f in few] == [f["function"] for f in everything[:4]]
    assert [list(c) for c in rows("syscalls", *part, "-o", "result,args,nr", "-n", "2")] == [["result", "args", "nr"]] * 2
    most = rows("top", *part, "--min-pct", "1")
    assert most == [f for f in everything if f["self_pct"] >= 1] and 1 < len(most) < 60
    assert rows("top", *part, "--min-pct", "101") == []
    slow = [c["duration_ns"] for c in rows("syscalls", *part, "-s", "duration_ns") if c["duration_ns"] is not None]
    assert slow == sorted(slow, reverse=True)
    # as text: a line of titles, and the same cells
    lines = run(UPTO, "top", *part, "-o", "calls,function", "-n", "4", trace()).stdout.decode().splitlines()
    assert lines[0].split() == ["CALLS", "FUNCTION"]
    assert [line.split() for line in lines[1:]] == [[f"{f['calls']:,}", f["function"]] for f in few]
    lines = run(UPTO, "first", *part, trace()).stdout.decode().splitlines()
    assert len(lines) == 1 + len(rows("first", *part))
    for command, columns in (("top", TOP), ("first", FIRST), ("syscalls", SYSCALLS)):
        told = run(UPTO, command, "-o", "help").stdout.decode().split("\n\n")[0].splitlines()
        assert [line.split()[0] for line in told] == columns, told


def test_spans():
    """--from and --to cut the whole into parts that sum to it; --cpu takes one vCPU."""
    info = answer("info", "--json", trace())
    # names of functions are not unique, addresses are
    everything = {f["address"] or f["function"]: f for f in rows("top")}
    cuts = [info["duration_ns"] * i // 4 for i in (1, 2, 3)]
    edges = [None, *map(str, cuts), None]
    spans = [[*(["--from", f"{a}ns"] if a else []), *(["--to", f"{b}ns"] if b else [])] for a, b in zip(edges, edges[1:])]
    parts = [rows("top", *span) for span in spans]
    assert all(len(p) > 1 for p in parts)
    for key, allowed in (("calls", 0), ("self_insns", len(cuts)), ("self_ns", 2 * len(cuts))):
        sums = dict.fromkeys(everything, 0)
        for f in (f for p in parts for f in p):
            sums[f["address"] or f["function"]] += f[key]
        off = [abs(sums[name] - f[key]) for name, f in everything.items()]
        if key == "self_ns":
            # each is rounded, each part's too; what is rounded off is another's, so that all together are what they were
            assert max(off) <= len(parts) + 2 * len(cuts), f"a function's parts are {max(off)} ns away from the whole"
            off = [abs(sum(sums.values()) - sum(f[key] for f in everything.values()))]
        assert sum(off) <= allowed, f"{key}: the parts are {sum(off)} away from the whole"
    for part in parts:
        assert abs(sum(f["self_pct"] for f in part) - 100) < 0.05
    calls = rows("syscalls")
    middle = calls[len(calls) // 2]["start_ns"]
    before, after = rows("syscalls", "--to", f"{middle}ns"), rows("syscalls", "--from", f"{middle}ns")
    assert [c["start_ns"] for c in before + after] == [c["start_ns"] for c in calls] and after[0]["start_ns"] == middle
    assert all(c["start_ns"] < middle for c in before)
    # units, where something happens
    a, b = middle // 1000 * 1000, middle // 1000 * 1000 + 50_000
    events = dump("--from", f"{a}ns", "--to", f"{b}ns")
    assert events and all(a <= e["ns"] < b for e in events), len(events)
    assert events == dump("--from", f"{a // 1000}us", "--to", f"{b / 1e6:.3f}ms") == \
        dump("--from", f"{a / 1e9:.9f}s", "--to", f"{b / 1e9:.9f}")
    # what is first in a span is the first of all when the span has that
    begun = rows("first", "--from", f"{cuts[2]}ns")
    assert begun and all(f["ns"] >= cuts[2] for f in begun)
    times = {(f["function"], f["ns"], f["insns"]) for f in begun}
    assert all((f["function"], f["ns"], f["insns"]) in times for f in rows("first") if f["ns"] >= cuts[2])
    assert rows("top", *late(), "--cpu", "0") == rows("top", *late())
    for command in ("top", "first", "syscalls"):
        assert rows(command, "--from", "1s", "--to", "1s") == [], command
    assert dump("--from", "1s", "--to", "1s") == []


ANSWERS = ["--help", "--version", "--man", "--man top", "--complete", "top --help", "top TRACE", "top --json TRACE",
           "top -o help TRACE", "first TRACE", "first --json TRACE", "syscalls --json TRACE",
           "syscalls --summary --json TRACE", "dump TRACE", "dump -n 1 TRACE", "dump --json -n 1 TRACE", "info TRACE",
           "info --json TRACE", "info --digest TRACE", "check TRACE", "check --json TRACE"]


@pytest.mark.parametrize("words", ANSWERS)
def test_full_output(words):
    """An answer that cannot be written is no success."""
    args = [tiny() if w == "TRACE" else w for w in words.split()]
    with open("/dev/full", "w") as full:
        p = run(UPTO, *args, check=False, stdout=full)
    assert p.returncode == 1, f"exit {p.returncode}: {p.stderr.decode()}"
    assert p.stderr.decode() == "upto: standard output: No space left on device\n", p.stderr


def test_memory_limit(tmp_path):
    """What would take more memory than a trace justifies is refused in one line, and leaves no unfinished file behind."""
    path, thin = trace(), str(tmp_path / "thin.upto")
    for limit, *args in (("1", "top"), ("10K", "tree"), ("10K", "calls", "-F", "memset"), ("10K", "log"), ("10K", "info"),
                         *((f"{n}M", "thin", "--depth", "2", "-o", thin) for n in (2, 3, 5, 8))):
        p = run("env", f"UPTO_MEMORY={limit}", UPTO_ASAN, *args, path, check=False)
        said = p.stderr.decode()
        assert p.returncode == 1 and "of memory are asked for at once" in said, (args, p)
        assert len(said.splitlines()) == 1 and said.startswith(f"upto: {path}: "), said
    assert not os.listdir(tmp_path)
    for allowed in "1G", "40G", str(1 << 40):
        assert run("env", f"UPTO_MEMORY={allowed}", UPTO, "top", path).stdout == run(UPTO, "top", path).stdout
    assert b"not a number of bytes" in run("env", "UPTO_MEMORY=many", UPTO, "top", path).stderr


def test_closed_pipe():
    """Who reads only the first line gets it, and no complaint; and what is endless ends."""
    for words in (["dump"], ["dump", "--json"], ["first", "-n", "0", *late()], ["top", "--json", *late()],
                  ["syscalls", "--json", *late()]):
        for ignored in (False, True):
            # with SIGPIPE ignored, upto sees the error itself, and takes it for no failure
            p = subprocess.Popen([UPTO, *words, trace()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, restore_signals=not ignored)
            assert p.stdout.readline().endswith(b"\n"), words
            p.stdout.close()
            err = p.stderr.read()
            p.stderr.close()
            status = p.wait(20)
            assert not err, (words, err)
            assert status == 0 or (status == -signal.SIGPIPE and not ignored), (words, ignored, status)


def test_quiet_readers():
    """A whole trace gives no warnings; nothing but the answer is on stdout, nothing on stderr."""
    for command in ("top", "first", "info", "check"):
        p = run(UPTO, command, tiny())
        assert p.stdout and not p.stderr, (command, p.stderr)


def test_record_quiet():
    """-q: not a word; without: the summary and what to ask next."""
    args, out = tiny_args(), os.path.join(WORK, "cli-quiet.upto")
    p = run(UPTO, "record", "--force", "-q", "-o", out, "--", *args, check=False, timeout=60)
    assert p.returncode == TINY_EXIT and not p.stderr, p
    p = run(UPTO, "record", "--force", "-o", out, "--", *args, check=False, timeout=60)
    assert p.returncode == TINY_EXIT, p
    assert re.search(rf"^upto: {re.escape(out)}: \d+\.\d M events", p.stderr.decode(), re.M), p.stderr
    for command in re.search(r"^next: (.*)$", p.stderr.decode(), re.M).group(1).split(" | "):
        words = command.split()
        assert words[0] == "upto" and words[2] == out, command
        run(UPTO, *words[1:])
    os.unlink(out)


def test_told_at_the_end(tmp_path):
    """What record says at the end of how much there is, is what there is."""
    trace = tmp_path / "told.upto"
    p = run(UPTO, "record", "-f", "-o", trace, "--", *tiny_args(), check=False)
    told = re.search(r"told\.upto: (\S+) M events, (\S+) G instructions, (\S+) s of guest time, (\S+) MB ", p.stderr.decode())
    info = upto_json("info", "--json", trace)
    assert p.returncode == TINY_EXIT and info["events"] > 500_000, (p, info["events"])
    for text, value in zip(told.groups(), (info["events"] / 1e6, int(info["meta"]["insns.0"]) / 1e9, info["duration_ns"] / 1e9, os.path.getsize(trace) / 1e6)):
        assert abs(float(text) - value) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9, (told[0], value)
