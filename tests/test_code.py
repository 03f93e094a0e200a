# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that comes and goes: modules, programs, libraries; in processes that have them at different addresses."""
import collections
import http.server
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

import decoder
from guest import CHECK, Once, TOP, UPTO, WORK, initrd, is_older, kernel, libraries_of, numbers, once_a_run, qemu_args, record, run, unpack_disk, upto_json
from places import Places

GUESTS = os.path.join(TOP, "tests/guests")
CASES = [pytest.param("6.1", 1, marks=pytest.mark.long), ("6.12", 2), pytest.param("7", 1, marks=pytest.mark.kernels)]
# main runs in the first program and in the two that its children become; each of these opens the library
STORY = {
    "main": 3, "leaf": 3 + 2 + 4, "recursive": 6, "tail": 5, "tail_target": 5, "deepest": 1, "deeper": 1, "jumper": 1,
    "signals": 1, "on_signal": 4, "other_stack": 1, "on_other_stack": 2, "thread": 3, "thread_work": 30, "threads": 1,
    "child_work": 3, "forks": 1, "filters": 1, "confined": 1, "libraries": 3, "mapped_twice": 3, "use": 6,
}
OPENED = 3 * 2
# messages through a classic filter, system calls (with the last, that ends it) under one of seccomp, messages through a BPF program
BPF = {"bpf_filter": 5 + 6 + 1, "story": 3}
PLUG = {"plug": 3 * (3 + 2 + 2), "within": 3 * (3 + 2 + 2) * 2 + OPENED, "plug::shaped": OPENED}


def program(name, *flags):
    source, path = os.path.join(GUESTS, name + ".c"), os.path.join(WORK, name)
    with Once(path):
        if is_older(path, source):
            run("gcc", "-g", "-O2", "-Wall", "-Werror", "-fno-inline", "-fno-optimize-sibling-calls", *flags, "-o", path + ".new", source)
            os.rename(path + ".new", path)
    return path


def image(version):
    story, plug = program("story"), program("plug", "-shared", "-fPIC")
    return initrd(version, "code", *libraries_of(story), f"{story}=/bin/story", f"{plug}=/lib/libplug.so", newer_than=(story, plug))


def recording(version, smp):
    """The trace, and the folder of what the guest itself said; made once a run."""
    name = os.path.join(WORK, f"code-{version}-{smp}")
    disk, trace = name + ".disk", name + ".upto"

    def make():
        # with the steps of thunks, too, where others ask for them
        record(trace, qemu_args(version, image(version), smp=smp, thread="multi" if smp > 1 else "single", disk=disk),
               *(["--thunks"] if version == "6.12" else []))
        unpack_disk(disk, name)

    once_a_run(name, make)
    return trace, name


def calls_of(trace, module):
    functions = upto_json("top", "--json", "-n", "0", "--module", module, trace)["functions"]
    return {f["function"].replace(f" [{module}]", ""): f["calls"] for f in functions}


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(12)
def test_program(version, smp):
    """Each function of a program and of a library, as often as they were entered; returns match."""
    trace, _ = recording(version, smp)
    got = calls_of(trace, "story")
    assert {f: got.get(f, 0) for f in STORY} == STORY, {f: (got.get(f), n) for f, n in STORY.items() if got.get(f) != n}
    got = calls_of(trace, "libplug.so")
    assert {f: got.get(f, 0) for f in PLUG} == PLUG, got
    got = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", "--module", "bpf", trace)["functions"]:
        got[re.sub(r"^bpf_prog_[0-9a-f]{16}_| \[bpf\]$", "", f["function"])] += f["calls"]
    assert {f: got[f] for f in BPF} == BPF, got
    returns = upto_json("check", "--json", trace)["returns"]
    assert returns["unmatched"] <= 1 + returns["all"] / 1e6, returns
    first = {f["function"]: f for f in upto_json("first", "--json", "-n", "0", trace)["first"]}
    for function in ("main [story]", "use [story]", "plug [libplug.so]", "do_init_module", "begin_new_exec"):
        calls = upto_json("calls", "--json", "--function", function.split(" ")[0], "--depth", "1", trace)["calls"]
        call = min(calls, key=lambda c: c["start_ns"])
        assert first[function]["pid"] == call["pid"] > 0, (function, first[function], call)
    assert first["main [story]"]["comm"] == "story" and first["do_init_module"]["comm"] == "insmod", first["main [story]"]
    return f"{len(STORY) + len(PLUG)} functions"


class Server:
    """Files by HTTP, for as long as it is entered."""
    def __init__(self, files):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                data = open(files[self.path], "rb").read() if self.path in files else b""
                self.send_response(200 if data else 404)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def limit(size):
    """No file can grow beyond that."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.weight(12)
def test_debug_file():
    """A stripped program has names by its debug file, found by build-id in a folder or at a server; without, offsets."""
    version, folder = "6.12", os.path.join(WORK, "debug")
    shutil.rmtree(folder, ignore_errors=True)
    story, stripped = program("story"), os.path.join(folder, "root/bin/story")
    os.makedirs(os.path.dirname(stripped))
    run("objcopy", "--only-keep-debug", story, os.path.join(folder, "story.debug"))
    run("strip", "-o", stripped, story)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", story).stdout.decode()).group(1)
    image = initrd(version, "code", *libraries_of(story), f"{stripped}=/bin/story", f"{program('plug', '-shared', '-fPIC')}=/lib/libplug.so",
                   image=os.path.join(folder, "stripped.img"))
    trace = os.path.join(folder, "trace.upto")
    record(trace, qemu_args(version, image, disk=os.path.join(folder, "disk")))
    assert set(calls_of(trace, "story")) == {"[story]"}, calls_of(trace, "story")
    # from a server
    fetched = os.path.join(folder, "fetched.upto")
    shutil.copy(trace, fetched)
    with Server({f"/buildid/{build_id}/debuginfo": os.path.join(folder, "story.debug")}) as url:
        env = dict(os.environ, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=os.path.join(folder, "cache"), no_proxy="127.0.0.1")
        run(UPTO, "symbols", "--sysroot", os.path.join(folder, "root"), fetched, env=env)
        assert {f: n for f, n in calls_of(fetched, "story").items() if f in STORY} == STORY
        call = upto_json("calls", "--json", "--function", "deepest", "-n", "1", "--depth", "1", fetched)["calls"][0]
        shown = run(UPTO, "stack", "--debug", stripped, "--at", f"{call['start_ns'] + call['duration_ns'] // 2}ns", "--pid",
                    call["pid"], fetched, env=env).stdout.decode()
    assert re.search(r"^    outer \(inlined\) .*story\.c:\d+$", shown, re.M), shown
    kept = os.path.join(folder, "root/usr/lib/debug/.build-id", build_id[:2], build_id[2:] + ".debug")
    os.makedirs(os.path.dirname(kept))
    shutil.copy(os.path.join(folder, "story.debug"), kept)
    # no room to add them: one line, and the trace is as it was
    before = open(trace, "rb").read()
    p = run(UPTO, "symbols", "--sysroot", os.path.join(folder, "root"), trace, check=False, preexec_fn=lambda: limit(len(before)))
    assert p.returncode == 1 and p.stderr.decode().count("\n") == 1 and "File too large" in p.stderr.decode(), p
    assert open(trace, "rb").read() == before
    # a root that is not there is said before a guest runs
    p = run(UPTO, "record", "-o", trace + ".no", "--sysroot", "/nowhere", "--", *qemu_args(version, image), check=False)
    assert p.returncode == 1 and p.stderr == b"upto: /nowhere: No such file or directory\n" and not os.path.exists(trace + ".no"), p
    said = run(UPTO, "symbols", "--sysroot", os.path.join(folder, "root"), trace).stdout.decode()
    assert re.match(r"1 of the \d+ files that ran have more symbols now$", said), said
    run(UPTO, "check", trace)
    got = calls_of(trace, "story")
    assert {f: got.get(f, 0) for f in STORY} == STORY, got
    return f"{len(got)} functions"


def source_lines(program, function, offset):
    """What binutils say of a place: functions from the innermost on, each with its file and line."""
    symbols = run("nm", program).stdout.decode().split("\n")
    start = [int(s.split()[0], 16) for s in symbols if s.split()[2:] == [function]]
    out = run("addr2line", "-i", "-f", "-e", program, hex(start[0] + offset)).stdout.decode().split("\n")
    return [(f, re.sub(r" \(discriminator \d+\)", "", os.path.relpath(at))) for f, at in zip(out[::2], out[1::2]) if f]


def lines_of_all_code(tool, version):
    """Of story by that compiler: {address: what upto says}, and what binutils say, of each instruction within a function that they tell a line of."""
    path = os.path.join(WORK, f"story-{tool}-{version}")
    run(tool, f"-gdwarf-{version}", "-O2", "-w", "-o", path, os.path.join(GUESTS, "story.c"))
    symbols = [(int(s[0], 16), int(s[1], 16), s[3]) for s in map(str.split, run("nm", "-S", path).stdout.decode().splitlines()) if len(s) == 4 and s[2] in "tT"]
    code = re.findall(r"^ +(\w+):\t", run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path).stdout.decode(), re.M)
    code = [a for a in code if any(begin <= int(a, 16) < begin + size for begin, size, _ in symbols)]
    asked = "\n".join(code).encode()
    [main] = [f"{begin:x}" for begin, _, name in symbols if name == "main"]
    got = run(os.path.join(CHECK, "tests/source_lines"), path, "main", main, stdin=None, input=asked).stdout.decode().split(".\n")
    told = re.split(r"^0x\w+\n", run("addr2line", "-a", "-i", "-f", "-e", path, stdin=None, input=asked).stdout.decode(), flags=re.M)[1:]
    assert len(got) - 1 == len(told) == len(code)
    ours, theirs = {}, {}
    for address, own, other in zip(code, got, told):
        lines = re.sub(r" \(discriminator \d+\)", "", other).splitlines()
        if not any("?" in line or line.endswith(":0") for line in lines):
            ours[address] = own.splitlines()
            theirs[address] = [f"{f} {os.path.relpath(at, TOP)}" for f, at in zip(lines[::2], lines[1::2])]
    assert len(ours) > 500, len(ours)
    return ours, theirs


@pytest.mark.parametrize("tool", ["gcc", "clang"])
def test_compilers(tool):
    """The same of all code, whichever compiler and DWARF: clang has no table of addresses (.debug_aranges), and begins to count files at 0."""
    if not shutil.which(tool):
        pytest.skip("no " + tool)
    ours, theirs = lines_of_all_code(tool, 4)
    assert ours == theirs, [(a, ours[a], theirs[a]) for a in ours if ours[a] != theirs[a]][:5]
    # the same code; binutils 2.40 do not see all that is inlined where its ranges are DWARF 5's
    newer, _ = lines_of_all_code(tool, 5)
    assert newer == {a: ours[a] for a in newer} and newer.keys() == ours.keys()
    return f"{len(ours)} instructions"


def without_inlined(tree):
    """The tree's nodes that are calls, as deep as they are without the others: an interrupt may have come beside those."""
    out, path = [], []
    for n in tree:
        path[n["depth"]:] = [n["inlined"]]
        if not n["inlined"]:
            out.append(dict(n, depth=n["depth"] - sum(path)))
    return out


@pytest.mark.parametrize("version, smp", CASES)
def test_debug(version, smp):
    """Source lines and inlined functions as binutils tell them, of a program, its debug file alone, and a stripped one."""
    trace, _ = recording(version, smp)
    story = program("story")
    debug, stripped = os.path.join(WORK, f"lines-{version}.debug"), os.path.join(WORK, f"lines-{version}.stripped")
    run("objcopy", "--only-keep-debug", story, debug)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", story, stripped)
    call = upto_json("calls", "--json", "--function", "deepest", "-n", "1", "--depth", "1", trace)["calls"][0]
    # a moment that nothing interrupts
    for part in range(1, 16):
        asked = ["--at", f"{call['start_ns'] + call['duration_ns'] * part // 16}ns", "--pid", str(call["pid"]), trace]
        plain = run(UPTO, "stack", *asked).stdout.decode()
        places = re.findall(r"^    (\w+)(?:\+0x([0-9a-f]+))? \[story\]$", plain, re.M)
        if plain.splitlines()[1].startswith("    deepest"):
            break
    assert [f for f, _ in places] == ["deepest", "deeper", "jumper", "main", "_start"], plain
    # longjmp() would return to behind the end of the function that calls it
    within = upto_json("calls", "--json", "--function", "deepest", "--depth", "3", trace)["calls"]
    leaving = [c for c in within if "libc" in c["function"]][-1]  # __longjmp(), which only a debug file names
    shown = run(UPTO, "stack", "--at", f"{leaving['start_ns'] + leaving['duration_ns'] // 2}ns", *asked[2:]).stdout.decode()
    assert re.search(r"^    deepest\+0x[0-9a-f]+ \[story\]\n    deeper\+", shown, re.M), shown
    want = []
    for i, (function, offset) in enumerate(places[:-1]):
        want += source_lines(story, function, int(offset or "0", 16) - (i > 0))
    assert [f for f, _ in want] == ["deepest", "inner", "outer", "deeper", "jumper", "main"], want
    for file in (story, debug, stripped):
        got = []
        for f in upto_json("stack", "--json", "--debug", file, *asked)["stacks"][0]["frames"]:
            if "file" in f:
                got.append((f["function"].split(" ")[0], f"{os.path.relpath(f['file'], TOP)}:{f['line']}"))
                assert (f["kind"] == "inlined") == (f["function"] in ("inner", "outer")), f
        assert got == want, (file, got, want)
    # in the tree they stand between caller and callee, and nothing else is another
    plain = upto_json("tree", "--json", trace, "deeper")["tree"]
    tree = upto_json("tree", "--json", "--debug", story, trace, "deeper")["tree"]
    path = [n["function"] for i, n in enumerate(tree) if n["depth"] == i]
    assert path[:4] == ["deeper [story]", "outer (inlined)", "inner (inlined)", "deepest [story]"], path
    inlined = [n for n in tree if n["inlined"]]
    assert [n["function"] for n in inlined] == path[1:3] and not any(n["calls"] or n["self_insns"] for n in inlined), inlined
    assert inlined[1]["total_insns"] == tree[3]["total_insns"] == plain[1]["total_insns"] > 500000, (inlined, plain[:2])
    assert without_inlined(tree) == plain
    # in parts the same: the index lets several be replayed at the same time
    shutil.copy(trace, debug + ".upto")
    upto_json("stack", "--json", "--at", "1s", debug + ".upto")
    assert os.path.exists(debug + ".upto.index")
    assert upto_json("tree", "--json", "--debug", story, debug + ".upto", "deeper")["tree"] == tree
    os.unlink(debug + ".upto")
    os.unlink(debug + ".upto.index")
    callers = upto_json("tree", "--json", "--callers", "--debug", story, trace, "deepest")["tree"]
    assert [n["function"] for n in callers[:4]] == path[3::-1], callers[:4]
    call = upto_json("calls", "--json", "--function", "deepest", "-n", "1", "--depth", "1", "--debug", story, trace)["calls"][0]
    assert call["from"]["inlined"] == ["inner", "outer"], call
    assert (f"{os.path.relpath(call['from']['file'], TOP)}:{call['from']['line']}") == want[1][1], (call, want)
    shown = run(UPTO, "stack", "--debug", story, *asked).stdout.decode()
    assert re.search(r"^    inner \(inlined\) .*story\.c:\d+$", shown, re.M), shown
    for file, why in (("/bin/true", "has no debug information"), ("/", "not a regular file"), (__file__, "not a valid ELF file"), (program("plug", "-shared", "-fPIC"), None), (program("many", "-shared", "-fPIC", "-DROUNDS=1"), "is of no")):
        p = run(UPTO, "stack", "--debug", file, *asked, check=False)
        assert (p.returncode == 1 and p.stderr.decode().count("\n") == 1 and why in p.stderr.decode()) if why else not p.returncode, p
    return f"{len(want)} lines"


def partitioned(path, files):
    """A disk whose second partition is an ext4 file system with these files."""
    root = path + ".root"
    for name, file in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        shutil.copy(file, os.path.join(root, name))
    with open(path + ".ext4", "wb") as f:
        f.truncate(8 << 20)
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-d", root, path + ".ext4")
    sectors = (8 << 20) // 512
    entry = lambda kind, start, count: struct.pack("<BBBBBBBBII", 0, 0, 2, 0, kind, 0, 2, 0, start, count)
    with open(path, "wb") as f:
        f.write(bytes(446) + entry(0x82, 64, 1984) + entry(0x83, 2048, sectors) + bytes(32) + b"\x55\xaa")
        f.seek(2048 * 512)
        f.write(open(path + ".ext4", "rb").read())


def test_other_images():
    """Of an image that is not read, what it is and what to do, and a status that tells; so of one with nothing in it."""
    super_blocks = {
        "squashfs": (0, struct.pack("<4sIIIIHHHHHHQQ", b"hsqs", 1, 0, 131072, 0, 1, 17, 0, 1, 4, 0, 0, 4096)),
        "erofs": (1024, struct.pack("<IIIB", 0xE0F5E1E2, 0, 0, 12)),
        "romfs": (0, struct.pack(">8sII16s", b"-rom1fs-", 1024, 0, b"small")),
        "qcow2": (0, b"QFI\xfb"),
        "zeros": (0, b""),
    }
    says = {"qcow2": "qemu-img convert -O raw", "zeros": "no file is in it", "squashfs": "unsquashfs cannot unpack it", "erofs": "fsck.erofs cannot unpack it"}
    trace = recording("6.12", 1)[0]
    for kind, (at, block) in super_blocks.items():
        path = os.path.join(WORK, "image." + kind)
        with open(path, "wb") as f:
            f.write((bytes(at) + block).ljust(64 << 10, b"\0"))
        p = run(UPTO, "symbols", "--sysroot", path, trace, check=False)
        said = p.stderr.decode()
        assert p.returncode == 1 and len(said.splitlines()) == 1 and path in said, (kind, p)
        assert kind in said and says.get(kind, "mount or unpack it") in said, (kind, said)


def file_system(kind, path, root):
    """An image with what is in the folder."""
    if os.path.exists(path):
        os.unlink(path)
    if kind == "squashfs":
        run("mksquashfs", root, path, "-quiet", "-no-progress")
    elif kind == "erofs":
        run("mkfs.erofs", path, root)
    else:
        with open(path, "wb") as f:
            f.truncate(128 << 20)
        run("/sbin/mkfs.btrfs", "-q", "-r", root, path)
    return path


@pytest.mark.weight(10)
def test_unpacked(tmp_path):
    """Images that a tool unpacks give their programs' names, whole or in a disk's partition; nothing stays, and a tool that is missing is named."""
    folder = str(tmp_path)
    root, trace, space = (os.path.join(folder, name) for name in ("root", "trace.upto", "space"))
    os.makedirs(os.path.join(root, "usr/bin"))
    os.mkdir(space)
    shutil.copy(program("story"), os.path.join(root, "usr/bin"))
    os.symlink("usr/bin", os.path.join(root, "bin"))
    args = qemu_args("6.12", image("6.12"), disk=os.path.join(folder, "disk"))
    at = args.index("-initrd")
    args[at:at + 2] = ["-machine", f"pc,initrd={args[at + 1]}"]  # where upto does not look
    record(trace, args)
    assert set(calls_of(trace, "story")) == {"[story]"}
    env = dict(os.environ, TMPDIR=space)
    for kind in "squashfs", "erofs", "btrfs":
        whole, disk = file_system(kind, os.path.join(folder, kind), root), os.path.join(folder, kind + ".disk")
        size = os.path.getsize(whole) + 511 & ~511
        with open(disk, "wb") as f, open(whole, "rb") as part:
            f.write(bytes(446) + struct.pack("<BBBBBBBBII", 0, 0, 2, 0, 0x83, 0, 2, 0, 2048, size // 512) + bytes(48) + b"\x55\xaa")
            f.seek(2048 * 512)
            shutil.copyfileobj(part, f)
            f.truncate(2048 * 512 + size)
        for where in whole, disk:
            copy = trace + ".copy"
            shutil.copy(trace, copy)
            said = run(UPTO, "symbols", "--sysroot", where, copy, env=env)
            assert {f: n for f, n in calls_of(copy, "story").items() if f in STORY} == STORY, (where, said)
        assert not os.listdir(space)
    p = run(UPTO, "symbols", "--sysroot", os.path.join(folder, "squashfs"), trace, env=dict(env, PATH=space), check=False)
    assert p.returncode == 1 and re.search(r": squashfs is read with unsquashfs: install squashfs-tools, or unpack it, and give that folder$", p.stderr.decode().strip()), p
    # also where it would be of a disk's only partition
    p = run(UPTO, "symbols", "--sysroot", os.path.join(folder, "squashfs.disk"), trace, env=dict(env, PATH=space), check=False)
    assert p.returncode == 1 and p.stderr.decode().strip().endswith("squashfs.disk: squashfs is read with unsquashfs: install squashfs-tools, or unpack it, and give that folder"), p
    # Ctrl-C ends the tool and upto, and nothing stays
    tools = os.path.join(folder, "tools")
    os.mkdir(tools)
    with open(os.path.join(tools, "unsquashfs"), "w") as f:
        f.write("#!/bin/sh\nexec /bin/sleep 100\n")
    os.chmod(f.name, 0o755)
    with subprocess.Popen([UPTO, "symbols", "--sysroot", os.path.join(folder, "squashfs"), trace], env=dict(env, PATH=tools), stderr=subprocess.DEVNULL, start_new_session=True) as p:
        for _ in range(100):
            if os.listdir(space) and run("pgrep", "-g", p.pid, "-x", "sleep", check=False).returncode == 0:
                break
            time.sleep(0.1)
        os.killpg(p.pid, signal.SIGINT)
        p.wait(20)
    assert p.returncode == -signal.SIGINT and not os.listdir(space), (p.returncode, os.listdir(space))
    full = dict(env, TMPDIR="/proc")
    p = run(UPTO, "symbols", "--sysroot", os.path.join(folder, "squashfs"), trace, env=full, check=False)
    assert p.returncode == 1 and p.stderr.decode().count("\n") == 1 and "/proc/upto-sysroot-" in p.stderr.decode(), p


@pytest.mark.long
@pytest.mark.weight(10)
def test_loaded():
    """Without the guest's files, what libraries offer has its name all the same, out of memory; and the vdso's functions."""
    folder = os.path.join(WORK, "loaded")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    trace, full = os.path.join(folder, "trace.upto"), os.path.join(folder, "full.upto")
    args = qemu_args("6.12", image("6.12"), disk=os.path.join(folder, "disk"))
    at = args.index("-initrd")
    args[at:at + 2] = ["-machine", f"pc,initrd={args[at + 1]}"]  # where upto does not look
    record(trace, args)
    plug = calls_of(trace, "libplug.so")
    assert plug.pop("[libplug.so]") >= PLUG["within"] and plug == {f: PLUG[f] for f in ("plug", "plug::shaped")}, plug
    assert set(calls_of(trace, "story")) == {"[story]"}
    assert any(f.removeprefix("__vdso_") in ("time", "clock_gettime", "gettimeofday", "getcpu") for f in calls_of(trace, "vdso")), calls_of(trace, "vdso")
    shutil.copy(trace, full)
    run(UPTO, "symbols", "--sysroot", image("6.12"), full)
    ours, theirs = calls_of(trace, "libc.so.6"), calls_of(full, "libc.so.6")
    assert {f: n for f, n in calls_of(full, "story").items() if f in STORY} == STORY
    # the same out of a disk with partitions
    disk, parted = os.path.join(folder, "parted"), os.path.join(folder, "parted.upto")
    shutil.copy(trace, parted)
    partitioned(disk, {"bin/story": program("story")})
    run(UPTO, "symbols", "--sysroot", disk, parted)
    assert {f: n for f, n in calls_of(parted, "story").items() if f in STORY} == STORY
    both = {f for f in ours if f in theirs} - {"[libc.so.6]"}
    # of several names for a place, each may have another; a library's own functions, which only its file names, may jump there
    assert len(both) > 60 and all(ours[f] == theirs[f] for f in both), {f: (ours[f], theirs[f]) for f in both if ours[f] != theirs[f]}
    assert len(both) > 0.8 * (len(ours) - 1), set(ours) - both
    return f"{len(both)} of {len(ours) - 1} functions of libc"


WORKER = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *nothing(void *p) { return p; }
int main(void)
{
	void *library = dlopen("/lib/libmany.so", RTLD_LAZY);
	void (*chosen)(void);
	pthread_t worker;

	pthread_create(&worker, NULL, nothing, NULL);
	pthread_join(worker, NULL);
	/* what tells of its functions is in memory from now on */
	for (int i = 0; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof name, "function_of_many_%d", i);
		dlsym(library, name);
	}
	chosen = (void (*)(void))dlsym(library, "function_of_many_15000");
	for (int i = 0; i < 5; i++)
		chosen();
	return puts("done") < 0;
}
"""


@pytest.mark.weight(4)
def test_threads_that_end(tmp_path):
    """A thread that ends takes nothing from its process: what its libraries offer is read out of memory when the last one ends."""
    (tmp_path / "many.c").write_text("".join(f"void function_of_many_{i}(void) {{ __asm__ volatile(\"\" ::: \"memory\"); }}\n" for i in range(20000)))
    (tmp_path / "worker.c").write_text(WORKER)
    run("gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "libmany.so", tmp_path / "many.c")
    run("gcc", "-O1", "-o", tmp_path / "worker", tmp_path / "worker.c", "-pthread", "-ldl")
    init = tmp_path / "init"
    init.write_text("#!/bin/busybox sh\n/bin/worker\n/bin/busybox poweroff -f\n")
    files = [*libraries_of(tmp_path / "worker"), f"{tmp_path / 'worker'}=/bin/worker", f"{tmp_path / 'libmany.so'}=/lib/libmany.so"]
    run(os.path.join(TOP, "scripts/guest-initrd.sh"), kernel("6.12")[0], init, tmp_path / "image", *files)
    args = qemu_args("6.12", str(tmp_path / "image"))
    at = args.index("-initrd")
    args[at:at + 2] = ["-machine", f"pc,initrd={args[at + 1]}"]  # where upto does not look
    record(str(tmp_path / "t.upto"), args)
    offered = calls_of(str(tmp_path / "t.upto"), "libmany.so")
    assert offered.get("function_of_many_15000") == 5, offered


# a function in a segment of data: no code, and nowhere in the code's part of the file, though that may begin with the first byte
OFFERS = """int work(int n) { return n + 1; }
int more(int n) { return work(n) * work(n); }
static int chosen(void) { return 7; }
static int (*choose(void))(void) { return chosen; }
int either(void) __attribute__((ifunc("choose")));
__asm__(".data\\n.globl no_code\\n.type no_code, @function\\nno_code: .quad 1, 2\\n.size no_code, 16\\n.text");
"""


LINKED = {"gnu": "--hash-style=gnu", "sysv": "--hash-style=sysv", "together": "-z,noseparate-code", "apart": "-z,separate-code,--hash-style=both", "libc": None}


@pytest.mark.parametrize("how", LINKED)
def test_offered(how):
    """The functions that a library in memory offers are those that nm and readelf find in its file."""
    flags = LINKED[how]
    if flags:
        path = os.path.join(WORK, f"offers-{how}.so")
        run("gcc", "-O2", "-shared", "-fPIC", "-Wl," + flags, "-x", "c", "-o", path, "-", input=OFFERS.encode())
    else:
        path = re.search(r"=> (/\S*/libc\.so\.6)", run("ldd", UPTO).stdout.decode())[1]
    segments = [[int(n, 16) for n in m] for m in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", run("readelf", "-lW", path).stdout.decode())]
    theirs = {}
    for value, size, kind, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) ([TtWwi]) (\w+)", run("nm", "-DS", "--defined-only", path).stdout.decode(), re.M):
        for offset, start, length in segments:
            if start <= int(value, 16) < start + length and int(size, 16):
                theirs.setdefault(int(value, 16) - start + offset, set()).add(name)
    ours = {int(addr, 16): name for addr, name in map(str.split, run(os.path.join(CHECK, "tests/loaded"), path).stdout.decode().splitlines())}
    assert set(ours) == set(theirs) and all(name in theirs[at] for at, name in ours.items()), (set(ours.items()) ^ set(theirs.items()))
    assert (set(ours.values()) == {"work", "more", "either"}) if flags else len(ours) > 1000, ours
    return f"{len(ours)} functions"


@pytest.mark.parametrize("version, smp", CASES)
def test_addresses(version, smp):
    """Where the program says that its functions are, upto has them, in each process and in each mapping."""
    trace, folder = recording(version, smp)
    said = re.findall(r"at 0x([0-9a-f]+) (\w+)", open(os.path.join(folder, "story")).read())
    assert len(said) == 3 * (2 + 3), said
    places = {}
    for kind in ("call-indirect", "call"):
        with subprocess.Popen([UPTO, "dump", "--json", "--kind", kind, "--function", "plug,leaf,main", trace],
                              stdout=subprocess.PIPE) as p:
            for line in p.stdout:
                e = numbers(json.loads(line))
                places.setdefault(e["target"], set()).add(e["place"])
    want = {"plug": "plug [libplug.so]", "leaf": "leaf [story]", "main": "main [story]"}
    for addr, name in said:
        assert places.get(int(addr, 16)) == {want[name]}, (addr, name, places)
    return f"{len(said)} addresses, {len({a for a, _ in said})} different ones"


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
def test_mappings(version, smp):
    """Each file that the program has mapped to be run, by its own /proc, is there, from where to where; by the document."""
    trace, folder = recording(version, smp)
    known, compared, pids = Places(decoder.Trace(trace)), 0, set()
    for line in open(os.path.join(folder, "story")):
        m = re.match(r"map (\d+) ([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) ([0-9a-f:]+) (\d+) *(.*)$", line)
        if not m or m.group(7) == "[vsyscall]":
            continue
        pid, start, end, offset, inode, path = int(m.group(1)), *(int(m.group(i), 16) for i in (2, 3, 4)), int(m.group(6)), m.group(7)
        told = [t for t in known.tasks if t.pid == pid and t.mm]
        # a process that became another program has an address space of its own since
        there = [r for r in known.mapped(told[-1].mm, told[-1].ns) if r.start <= start < r.start + r.size]
        assert there, line
        r = there[-1]
        assert (r.start, r.start + r.size, r.name) == (start, end, path), (line, r)
        assert path == "[vdso]" or (r.offset, r.inode) == (offset, inode), (line, r)
        compared += 1
        pids.add(pid)
    assert len(pids) == 3 and compared >= 3 * 5, (pids, compared)
    return f"{compared} mappings of {len(pids)} processes"


@pytest.mark.parametrize("version, smp", CASES)
def test_paths(version, smp):
    """How a function was reached, through signals, longjmp() and system calls: the program's own part of each path."""
    trace, _ = recording(version, smp)
    paths, above = collections.Counter(), []
    rows = upto_json("tree", "--callers", "--json", "--depth", "0", trace, "leaf")["tree"]
    for row, after in zip(rows, rows[1:] + [None]):
        above = above[:row["depth"]] + [row["function"]]
        if not after or after["depth"] <= row["depth"]:
            mine = tuple(f.split(" ")[0] for f in reversed(above) if f.endswith(" [story]"))
            paths[mine[mine.index("main"):]] += row["calls"]
    assert paths == {("main", "leaf"): 3, ("main", "jumper", "leaf"): 1, ("main", "jumper", "deeper", "deepest", "leaf"): 1,
                     ("main", "signals", "on_signal", "leaf"): 4}, paths
    return f"{sum(paths.values())} calls by {len(paths)} paths"


@pytest.mark.parametrize("version, smp", CASES)
def test_tail_calls(version, smp):
    """A function that ends in a jump: what it leads to is below it, in a program and in the kernel."""
    trace, _ = recording(version, smp)
    # an interrupt that cuts in, as while QEMU translates the code for the first time, is listed as well
    calls = upto_json("calls", "--json", "--no-interrupts", "--function", "tail", trace)["calls"]
    rows = [(c["function"], c["depth"], c["kind"]) for c in calls]
    assert rows == [("tail [story]", 0, "call"), ("tail_target [story]", 1, "tail")] * 5, rows
    below = {n["function"]: n for n in upto_json("tree", "--json", trace, "__x64_sys_write")["tree"] if n["depth"]}
    assert below["ksys_write"]["tail_calls"] == below["ksys_write"]["calls"] > 10 and "vfs_write" in below, below


@pytest.mark.qemus
@pytest.mark.parametrize("version, smp", CASES)
@pytest.mark.weight(5)
def test_modules(version, smp):
    """The kernel's own kallsyms name the same functions at the same addresses, also of a module that was loaded again."""
    trace, folder = recording(version, smp)
    theirs = {}
    for part in ("kallsyms", "kallsyms2"):
        for line in open(os.path.join(folder, part)):
            m = re.match(r"([0-9a-f]{16}) [tT] (\S+)\t\[(\w+)\]$", line)
            if m:
                theirs.setdefault(int(m.group(1), 16), set()).add(f"{m.group(2)} [{m.group(3)}]")
    compared = set()
    named = set().union(*theirs.values())
    top = upto_json("top", "--json", "-n", "0", "--kernel", trace)["functions"]
    ran = [f["function"].split(" ")[0] for f in top if f["object"]]
    with subprocess.Popen([UPTO, "dump", "--json", "--kind", "call,call-indirect,jump,jump-indirect,return", "--function",
                           ",".join(ran), trace], stdout=subprocess.PIPE) as p:
        for e in map(numbers, map(json.loads, p.stdout)):
            # what is gone by the time that the guest looks, as init functions are, it cannot tell
            if e["place"] in named:
                assert e["place"] in theirs.get(e["target"], ()), (e, theirs.get(e["target"]))
                compared.add((e["target"], e["place"]))
    brd = {place for _, place in compared if place.endswith("[brd]")}
    both = [place for place in brd if sum(p == place for _, p in compared) == 2]
    assert len(compared) > 12, compared
    assert calls_of(trace, "brd")["brd_init"] == 2, brd
    return f"{len(compared)} functions, {len(both)} of a module at two addresses"
