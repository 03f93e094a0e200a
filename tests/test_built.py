# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that somebody built: without BTF, without some or all of their names, by another compiler, with other options; and each
recorded with nothing but its bzImage, in its build tree, and with its System.map."""
import http.server
import os
import re
import shutil
import threading

import pytest

import entries
from guest import TOP, UPTO, WORK, Once, built, built_args, check, initrd, is_older, kernel, qemu_args, record, run, upto_json

# to compile one takes ten minutes and more, which only make check-built has; elsewhere a stock kernel's layout is learnt (test_learnt)
VARIANTS = "small", "dwarf", "clang", "tiny", "rt", "debug"
WAYS = "alone", "tree", "map"
# each way of each, the first one with both numbers of vCPUs; a debug kernel takes twenty times as long: two of the ways
MATRIX = [(v, way, smp) for v in VARIANTS for way in WAYS for smp in (1, 2)
          if (v == "small" or (smp == 1) == (way == "tree")) and (v, way) != ("debug", "map")]
# what a layout has that only some kernels have, that nothing in the guest comes by, or that is not needed to know (modules)
NOT_LEARNT = re.compile(r"bpf_|(sizeof )?module|mod_kallsyms|device.init_name|mount.mnt_devname|cgroup|kernfs|request|gendisk|mutex|rw_semaphore|"
                        # of snapshots and KASAN
                        r"task_struct.(tasks|signal|stack|thread|cgroups)|thread_struct|signal_struct|css_set|mm_struct.(mm_mt|mmap)|maple_tree|vm_area_struct.vm_next|kmem_cache|pcpu_hot|"
                        r"(sizeof )?trace_event|tracepoint|syscall_metadata|btf(_module)?\.|prb_desc_ring.(head|tail)_id|printk_info.ts_nsec")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    """What one test learns is not to help another."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def image_of(variant, way):
    """The bzImage that is booted, and options of record."""
    tree, _ = built(variant)
    image = tree + "/arch/x86/boot/bzImage"
    if way == "tree":
        return image, []
    folder = os.path.join(WORK, f"alone-{variant}")
    os.makedirs(folder, exist_ok=True)
    alone = shutil.copy(image, folder)
    return alone, ["--symbols", tree + "/System.map"] if way == "map" else []


def who_was_there(console):
    """pid → (ppid, name), as the guest's own ps printed it."""
    text = console.split("who is there")[1].split("that was all")[0]
    rows = re.findall(r"^ *(\d+) +(\d+) (\S.*?)\s*$", text, re.M)
    return {int(pid): (int(ppid), name) for pid, ppid, name in rows}


def compare_processes(trace, console):
    theirs = who_was_there(console)
    assert len(theirs) > 15, console[-2000:]
    ours = {}
    for p in upto_json("ps", "--json", trace)["processes"]:
        ours.setdefault(p["pid"], set()).add((p["ppid"], p["comm"]))
    # workers change their names while ps looks
    wrong = {pid: (row, ours.get(pid)) for pid, row in theirs.items()
             if row not in ours.get(pid, ()) and not row[1].startswith("kworker")}
    assert not wrong, wrong
    return len(theirs)


def compare_disk(trace, console, learnt):
    """Requests and sectors are as many as the kernel counts itself: Documentation/block/stat.rst. It counts a flush for itself as a write of nothing, too."""
    count = [int(n) for n in re.search(r"^disk: ([\d ]+)", console, re.M).group(1).split()]
    requests = upto_json("disk", "--json", trace)["requests"]
    of = {op: [r["bytes"] // 512 for r in requests if r["operation"] == op] for op in ("read", "write", "flush")}
    ours = len(of["read"]), sum(of["read"]), sum(of["write"]), len(of["flush"])
    # where a request has what it says is learnt from the first of them, which are pages: as many are said to be missing
    early = dict(re.findall(r"(\S+) (\d+)", upto_json("info", "--json", trace)["meta"].get("early", "")))
    first = int(early.get("request.__sector", 0))
    said = run(UPTO, "disk", trace).stderr.decode()
    assert (f": requests before these are missing: {first}, from which" in said) == (first > 0), (early, said)
    assert first == 0 or learnt and first < 4, early
    assert (ours[0] + first, ours[1] + 8 * first, *ours[2:]) == (count[0], count[2], count[6], count[15]), (ours, count)
    assert 0 <= count[4] - len(of["write"]) <= len(of["flush"]), (of, count)
    assert all(r["device"] == "vda" and r["latency_ns"] and not r["error"] for r in requests), requests
    sums = {row["operation"]: (row["count"], row["bytes"] // 512) for row in upto_json("disk", "--summary", "--json", trace)["summary"]}
    assert sums == {op: (len(sectors), sum(sectors)) for op, sectors in of.items() if sectors}, sums
    slow = sorted(r["latency_ns"] for r in requests)[len(requests) // 2]
    few = upto_json("disk", "--json", "--min-duration", f"{slow}ns", "--pid", "cp", trace)["requests"]
    assert few == [r for r in requests if r["latency_ns"] >= slow and r["comm"] == "cp"], few


def compare_module(trace, tree):
    """The functions of the module that is loaded that ran are those of its file, and all that it had to call was called."""
    file = os.path.join(tree, "drivers/net/dummy.ko")
    if not os.path.exists(file):
        return
    theirs = {line.split()[2] for line in run("nm", file).stdout.decode().splitlines() if line.split()[-2] in ("t", "T")}
    ours = {f["function"].removesuffix(" [dummy]"): f["calls"]
            for f in upto_json("top", "--json", "-n", "0", trace)["functions"] if f["function"].endswith(" [dummy]")}
    # clang's is an alias of that only in kernels that have all names
    begins = [calls for name, calls in ours.items() if name in ("dummy_init_module", "init_module")]
    assert set(ours) <= theirs and begins == [ours["dummy_setup"]] == [ours["dummy_dev_init"]] == [1], (ours, theirs)


@pytest.mark.built
@pytest.mark.parametrize("variant, way, smp", MATRIX)
@pytest.mark.weight(60)
def test_kernel(variant, way, smp):
    """Calls of each function, stacks, threads and processes are right, whatever is known of the kernel."""
    image, options = image_of(variant, way)
    tree, _ = built(variant)
    name = os.path.join(WORK, f"built-{variant}-{way}-{smp}")
    trace = name + ".upto"
    args = built_args(variant, image, smp)
    symbols = entries.symbols_of(image, tree + "/vmlinux")
    if variant == "tiny" and way == "alone":
        # nothing has names there; threads and processes are known all the same, and it is said why
        p = record(trace, args, *options)
        assert b"kernel without names: no kallsyms found" in p.stderr, p.stderr
        said = run(UPTO, "top", trace)
        assert b"kernel without names" in said.stderr and b"[decompressor]" in said.stdout and b"altinstr" not in said.stdout, said
        expected = {"firmware", "decompressor", "kernel", "user"}
        note, console = "no names", p.stdout.decode(errors="replace")
    else:
        note, console = entries.compare(name, args, symbols, *options, least=2000, keep=True, console=True)
        expected = {"firmware", "decompressor", "kernel", "user", "shutdown"}
        compare_module(trace, tree)
        compare_disk(trace, console, (variant, way) != ("dwarf", "tree"))
    check(trace)
    processes = compare_processes(trace, console)
    known = upto_json("check", "--json", trace)
    assert known["returns"]["unmatched_kernel"] < 5 + known["returns"]["all"] / 1000000, known
    phases = {row["name"] for row in upto_json("timeline", "--json", "--kind", "phase", trace)["timeline"]}
    assert expected <= phases, phases
    os.unlink(trace)
    return f"{note}; {processes} processes"


def layout_of(*args):
    said = upto_json("layout", "--json", *args)
    return {m["member"]: m["offset"] for m in said["members"]} | {"sizeof " + k: v for k, v in said["sizes"].items()}


@pytest.mark.parametrize("version", ["6.12", *(pytest.param(v, marks=pytest.mark.kernels) for v in ("6.1", "7"))])
@pytest.mark.weight(60)
def test_learnt(version):
    """All that is learnt from the running guest is what the kernel's own BTF says, and answers are the same with either."""
    name = os.path.join(WORK, f"learnt-{version}")
    args = qemu_args(version, initrd(version, "ps"))
    traces = {}
    for types in "btf", "learn":
        traces[types] = f"{name}-{types}.upto"
        record(traces[types], args, "--deterministic", *(["--types", "learn"] if types == "learn" else []))
    theirs, ours = layout_of(kernel(version)[1]), layout_of(traces["learn"])
    assert layout_of(traces["btf"]) == theirs
    wrong = {m: (at, theirs.get(m)) for m, at in ours.items() if at != theirs.get(m)}
    assert not wrong, wrong
    missing = [m for m in theirs if m not in ours and not NOT_LEARNT.match(m)]
    assert not missing, missing
    for command in ["ps"], ["top", "-n", "0"], ["syscalls", "--summary"], ["first", "-n", "0"], ["tree", "--min", "1"]:
        a, b = [upto_json(*command, "--json", traces[t]) for t in ("btf", "learn")]
        # a name that a thread had before names were learnt is its next one
        for row in [*a.get("first", []), *b.get("first", [])]:
            row.pop("comm", None)
        assert a == b, f"{command} differs"
    lines = [[(row["ns"], row["text"]) for row in upto_json("log", "--json", traces[t])["log"]] for t in ("btf", "learn")]
    assert lines[0] == lines[1]
    for t in traces.values():
        check(t)
        os.unlink(t)
    return f"{len(ours)} of {len(theirs)} places learnt"


def build_of(variant):
    """Its layout, compiled in its tree."""
    tree, _ = built(variant)
    btf = os.path.join(WORK, f"{variant}.btf")
    with Once(btf):
        if is_older(btf, tree + "/release"):
            run(UPTO, "layout", "--build", tree, "-o", btf, "-f")
    return btf


@pytest.mark.built
@pytest.mark.weight(20)
def test_build():
    """The layout of a build tree without debug information is compiled there; what a recording learns agrees with it."""
    theirs = layout_of(build_of("small"))
    assert len(theirs) > 80, theirs
    image, _ = image_of("small", "alone")
    trace = os.path.join(WORK, "built-layout.upto")
    record(trace, built_args("small", image))
    ours = layout_of(trace)
    assert len(ours) > 60 and all(theirs.get(m) == at for m, at in ours.items()), [(m, at, theirs.get(m)) for m, at in ours.items()]
    # the second recording of the same build begins with what the first one learnt
    p = record(trace, built_args("small", image))
    froms = {m["from"] for m in upto_json("layout", "--json", trace)["members"]}
    assert "cache" in froms, (froms, p.stderr)
    os.unlink(trace)


@pytest.mark.weight(5)
def test_build_of_headers():
    """So it is with a distribution's headers, which lack what only the kernel's own files have: all else is what the kernel's BTF says."""
    folder, image = kernel("6.12")
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/guest-headers.sh"), folder, check=False)
    if p.returncode:
        pytest.skip(f"no headers of kernel 6.12: {p.stderr.decode().strip()}")
    theirs, ours = layout_of(image), layout_of("--build", folder + "/headers/build")
    wrong = {m: (at, theirs.get(m)) for m, at in ours.items() if at != theirs.get(m)}
    missing = {m for m in theirs if m not in ours and not re.match(r"(sizeof )?(mount|printk_|prb_|kmem_cache|btf)", m)}
    assert not wrong and not missing and len(ours) > 60, (wrong, missing)
    return f"{len(ours)} of {len(theirs)} places"


@pytest.mark.built
@pytest.mark.weight(10)
def test_debuginfod(tmp_path, monkeypatch):
    """A kernel without names takes them from the server that the user has set, by its build-id."""
    tree, _ = built("tiny")
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", tree + "/vmlinux").stdout.decode()).group(1)
    asked = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            with open(tree + "/vmlinux", "rb") as f:
                data = f.read() if self.path == f"/buildid/{build_id}/debuginfo" else b""
            self.send_response(200 if data else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "fetched"))
    image, _ = image_of("tiny", "alone")
    trace = os.path.join(WORK, "debuginfod.upto")
    p = record(trace, built_args("tiny", image))
    server.shutdown()
    assert asked == [f"/buildid/{build_id}/debuginfo"] and b"without names" not in p.stderr, (asked, p.stderr)
    assert any(f["function"] == "start_kernel" for f in upto_json("top", "--json", "-n", "0", trace)["functions"])
    check(trace)
    os.unlink(trace)


@pytest.mark.built
def test_refused():
    """A System.map, and a vmlinux, of another kernel are refused by name, before anything runs."""
    tree, _ = built("small")
    other = kernel("6.12")[1]
    trace = os.path.join(WORK, "refused.upto")
    for file, why in ("System.map", "linux_banner is not where it says"), ("vmlinux", "is of another kernel than the one that boots"):
        p = run(UPTO, "record", "-f", "-o", trace, "--symbols", f"{tree}/{file}", "--", "qemu-system-x86_64", "-kernel", other, check=False)
        assert p.returncode == 1 and f"{tree}/{file}: is of another kernel".encode() in p.stderr and why.encode() in p.stderr, p.stderr
        assert p.stderr.count(b"\n") == 1, p.stderr


@pytest.mark.built
@pytest.mark.weight(10)
def test_other_types():
    """Types of another kernel are refused: the first task's own bytes, in the image, tell where its name is. Those of its own build are taken."""
    image, _ = image_of("small", "alone")
    other, trace = os.path.join(WORK, "other.btf"), os.path.join(WORK, "other-types.upto")
    run(UPTO, "layout", "-f", "-o", other, kernel("6.1")[1])
    p = run(UPTO, "record", "-f", "-o", trace, "--types", other, "--", *built_args("small", image), check=False)
    at = re.search(rb"has types of another kernel, .* there task_struct.comm is at (\d+) .*, here at (\d+)", p.stderr)
    assert p.returncode == 1 and at and p.stderr.count(b"\n") == 1 and not os.path.exists(trace), p.stderr
    theirs, ours = layout_of(other), layout_of(build_of("small"))
    assert [int(n) for n in at.groups()] == [theirs["task_struct.comm"], ours["task_struct.comm"]], at.groups()
    p = record(trace, built_args("small", image), "--types", build_of("small"), "--stop", "entry:start_kernel")
    assert b"learnt" not in p.stderr, p.stderr
    os.unlink(trace)


@pytest.mark.built
@pytest.mark.weight(20)
def test_oops():
    """An oops kills a thread deep in the kernel: its stack ends there, and the trace is whole."""
    tree, modules = built("small")
    folder = os.path.join(WORK, "oops")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(TOP, "tests/guests/oops.c"), folder)
    with open(folder + "/Makefile", "w") as f:
        f.write("obj-m := oops.o\n")
    run("make", "-s", "-C", tree, f"M={folder}", "modules")
    image, trace = folder + "/oops.img", folder + ".upto"
    run(os.path.join(TOP, "scripts/guest-initrd.sh"), modules, os.path.join(TOP, "tests/guests/oops.init"), image, folder + "/oops.ko=oops.ko")
    args = built_args("small")
    args[args.index("-initrd") + 1] = image
    said = record(trace, args).stdout.decode(errors="replace")
    assert "Oops:" in said, said[-2000:]
    check(trace)
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    assert calls["rewind_stack_and_make_dead"] == 1 and calls["make_task_dead"] == 1, calls
    dead = next(p for p in upto_json("ps", "--json", trace)["processes"] if p["comm"] == "insmod")
    assert dead["end_ns"], dead
    os.unlink(trace)


@pytest.mark.weight(12)
def test_conditional_tail_calls():
    """A program made by LLVM: a function that another one calls by a conditional jump has all its calls."""
    if not shutil.which("clang"):
        pytest.skip("no clang")
    program = os.path.join(WORK, "tail")
    run("clang", "-O2", "-Os", "-static", "-o", program, os.path.join(TOP, "tests/guests/tail.c"))
    code = run("objdump", "-d", "--disassemble=chooses", program).stdout.decode()
    assert re.search(r"\tj(?!mp)\w+ .*<called>", code), code
    image, trace = program + ".img", program + ".upto"
    run(os.path.join(TOP, "scripts/guest-initrd.sh"), kernel("6.12")[0], os.path.join(TOP, "tests/guests/tail.init"), image, program + "=tail")
    said = record(trace, qemu_args("6.12", image)).stdout.decode(errors="replace")
    times = int(re.search(r"called (\d+) times", said).group(1))
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", "--user", trace)["functions"]}
    assert times == 2000 and calls["called [tail]"] == times and calls["chooses [tail]"] == 3000, calls
    check(trace)
    os.unlink(trace)


@pytest.mark.built
@pytest.mark.weight(10)
def test_boot_in_tree(tmp_path):
    """`upto boot` in a build tree takes the kernel that was built there, with the names of the vmlinux beside it."""
    tree, _ = built("small")
    trace = str(tmp_path / "tree.upto")
    # without an initrd it panics, and asks for a restart
    said = run(UPTO, "boot", "-m", "256M", "-o", trace, cwd=tree).stdout.decode(errors="replace")
    assert "Unable to mount root fs" in said, said[-1000:]
    with open(tree + "/release") as f:
        assert upto_json("info", "--json", trace)["boots"][0]["kernel"] == f.read().strip()
    assert upto_json("calls", "--json", "-n", "1", "-F", "panic", "--depth", "1", trace)["calls"]
    check(trace)


@pytest.mark.built
@pytest.mark.weight(20)
def test_hopeless(tmp_path):
    """What a kernel without names cannot tell ends the recording at once, with the reason."""
    image, _ = image_of("tiny", "alone")
    p = run(UPTO, "record", "-o", str(tmp_path / "never.upto"), "--start", "exec:init", "--", *built_args("tiny", image), check=False)
    assert p.returncode == 1 and b"what is to start it cannot be told of this kernel" in p.stderr and b"give --symbols vmlinux" in p.stderr, p.stderr
