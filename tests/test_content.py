# SPDX-License-Identifier: GPL-2.0-or-later
"""Files are what is in them: programs of the same path and size have each the names of the one that really ran."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

import decoder
from guest import CHECK, TOP, UPTO, WORK, Once, initrd, is_older, numbers, once_a_run, qemu_args, record, run, upto_json
from made import KERNEL, make
from test_code import program, recording as code_recording

sys.path.insert(0, os.path.join(TOP, "fuzz"))
from make_corpus import known  # noqa: E402

# each twin's function, how often it is called, and what it is called in the guest when it runs
RAN = {"alpha_work": (3, "prog"), "beta_first": (5, "prog"), "gamma_copy": (7, "copied"), "delta_bind": (9, "bound"), "older_file": (11, "again"),
       "newer_file": (13, "again"), "third_text": (15, "again")}
HIDDEN = "under_bind"  # never runs: something is mounted over it
FLAGS = {"id": [], "no-id": ["-Wl,--build-id=none"]}


def twins(kind):
    """All programs, by their functions. They have one size."""
    made = {}
    for name, times in [(n, t) for n, (t, _) in RAN.items()] + [(HIDDEN, 1)]:
        path, source = os.path.join(WORK, f"twin-{kind}-{name}"), os.path.join(os.path.dirname(__file__), "guests/twin.c")
        with Once(path):
            if is_older(path, source):
                run("gcc", "-g0", "-O2", "-static", "-no-pie", f"-DWORK={name}", f"-DTIMES={times}", *FLAGS[kind], "-o", path, source)
        made[name] = path
    assert len({os.path.getsize(p) for p in made.values()}) == 1, made
    return made


def recording(kind):
    """The trace, one that has no names of programs yet, and the programs; made once a run."""
    name = os.path.join(WORK, f"content-{kind}")
    trace, bare = name + ".upto", name + ".bare"

    def make():
        files = twins(kind)
        image = initrd("6.12", "content", f"{files['alpha_work']}=/bin/prog", f"{files['older_file']}=/bin/again", f"{files[HIDDEN]}=/bin/bound",
                       *(f"{files[f]}=/lib/twins/{f}" for f in RAN), image=name + ".img", newer_than=files.values())
        args = qemu_args("6.12", image)
        if kind == "no-id":
            at = args.index("-initrd")
            args[at:at + 2] = ["-machine", f"pc,initrd={image}"]  # where upto does not look
            record(bare, args)
            shutil.copy(bare, trace)
            run(UPTO, "symbols", "--sysroot", image, trace)
        else:
            record(trace, args)

    once_a_run(name, make)
    return trace, bare, {f: os.path.join(WORK, f"twin-{kind}-{f}") for f in [*RAN, HIDDEN]}


def address_of(path, function):
    """Where nm says that it is: at run time, too, since the program is linked to be there."""
    found = [line.split()[0] for line in run("nm", path).stdout.decode().splitlines() if line.split()[1:] == ["T", function]]
    assert len(found) == 1, (path, found)
    return int(found[0], 16)


def works(trace):
    """Calls of the twins' functions, by function and program."""
    functions = upto_json("top", "--json", "-n", "0", "--user", trace)["functions"]
    twins = [f for f in functions if f["function"].split(" ")[0] in [*RAN, HIDDEN]]
    assert len({f["function"] for f in twins}) == len(twins), twins
    return {f["function"]: f["calls"] for f in twins}


@pytest.mark.parametrize("kind", FLAGS)
@pytest.mark.weight(12)
def test_twins(kind):
    """In an overlay, in a tmpfs, below a bind mount, after mv and after cat: nm of the program that ran has the name and the address."""
    trace, _, files = recording(kind)
    assert works(trace) == {f"{f} [{label}]": times for f, (times, label) in RAN.items()}, works(trace)
    seen = {}
    with subprocess.Popen([UPTO, "dump", "--json", "--kind", "call", "--function", ",".join(RAN), trace], stdout=subprocess.PIPE) as p:
        for e in map(numbers, map(json.loads, p.stdout)):
            name = e["place"].split(" ")[0]
            seen.setdefault(name, []).append(e["target"])
    assert seen == {f: [address_of(files[f], f)] * times for f, (times, _) in RAN.items()}, seen
    run(UPTO, "check", trace)


def put(path, source):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(source, path)


def symbols(trace, *roots):
    """The trace with symbols of these roots, and what was said of them."""
    copy = trace + ".named"
    shutil.copy(trace, copy)
    return copy, run(UPTO, "symbols", "--sysroot", ":".join(roots), copy).stdout.decode()


@pytest.mark.weight(12)
def test_elsewhere():
    """Files are found by what is in them: under other names, in a folder and in an ext4 image; another one with the path and size is not taken."""
    _, bare, files = recording("no-id")
    folder = os.path.join(WORK, "content-elsewhere")
    shutil.rmtree(folder, ignore_errors=True)
    for f in RAN:
        put(f"{folder}/all/a/b/{f}.old", files[f])
    for f in ("beta_first", "gamma_copy"):
        put(f"{folder}/some/srv/{f}", files[f])
    with open(folder + "/some.ext4", "wb") as image:
        image.truncate(16 << 20)
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-d", folder + "/some", folder + "/some.ext4")
    put(f"{folder}/other/bin/prog", files[HIDDEN])
    everything = {f"{f} [{label}]": times for f, (times, label) in RAN.items()}
    assert works(bare) == {}
    named, _ = symbols(bare, folder + "/all")
    assert works(named) == everything, works(named)
    for root in "some", "some.ext4":
        named, said = symbols(bare, f"{folder}/{root}")
        assert works(named) == {"beta_first [prog]": 5, "gamma_copy [copied]": 7}, (root, works(named))
        assert said.startswith("2 of the "), said
    named, said = symbols(bare, folder + "/other")
    assert works(named) == {} and "of 2 there are only files with their path and size, but other content\n" in said, said


def called(files, *functions):
    """Lines of a trace: a process for each function maps /bin/prog, and calls it."""
    lines, task = ["meta vcpus 1", "meta kernel_ns 1", "end lost 0", f"symbol {KERNEL} 0x100 startup_64"], 0
    for i, function in enumerate(functions):
        before, task, at = task, 0xffff888003010000 + 8192 * i, 10 * i
        lines += [f"task 1 0 {at + 1} {at + 1} {task} {task + 4096} {7 + i} {7 + i} 1 prog /bin/prog",
                  f"map {task + 4096} 0x400000 0x100000 {os.path.getsize(files[function])} /bin/prog", f"event 0 task-switch {at + 2} {at + 2} 0 0 0 {before} {task}",
                  f"event 0 call {at + 5} 0 0x7fff0000 0x401005 {address_of(files[function], function)}", f"event 0 return {at + 9} 0 0x7fff0000 0 0x401005",
                  f"event 0 clock {at + 10} {at + 10} 0 0 0"]
    return lines


def content(process, number, payload):
    """What a process of called() has mapped; b"" if that was told before."""
    return f"content {0xffff888003010000 + 8192 * process + 4096} 0x400000 {number} {payload.hex()}"


def pages(path):
    """A file's content, by all of its pages, hashed as docs/format.md has it."""
    with open(path, "rb") as f:
        data = f.read()
    pieces = []
    for offset in range(0, len(data), 4096):
        page, value = data[offset:offset + 4096], 0
        for word, in struct.iter_unpack("<Q", page + bytes(-len(page) % 8)):
            value = decoder.hash64(value ^ word)
        pieces.append((offset, len(page), value))
    return known(b"", *pieces)


def alpha_or_beta():
    """Twins, and roots: one has alpha_work under another name, one has beta_first under the path that was mapped."""
    files, folder = twins("no-id"), os.path.join(WORK, "content-pages")
    put(folder + "/alpha/kept/prog.old", files["alpha_work"])
    put(folder + "/beta/bin/prog", files["beta_first"])
    return files, [folder + "/alpha", folder + "/beta"]


def test_pages():
    """Whole pages tell what a file is, whatever it is called. What is damaged tells nothing, and so path and size do."""
    files, roots = alpha_or_beta()
    whole = pages(files["alpha_work"])
    for payload, want in ((whole, "alpha_work"), (b"", "beta_first"), (whole + b"\0", "beta_first"), (whole[:-1], "beta_first"), (known(b"id")[:-1], "beta_first")):
        named, _ = symbols(make("pages", [*called(files, "alpha_work"), content(0, 1, payload)]), *roots)
        assert works(named) == {f"{want} [prog]": 1}, (want, len(payload) - len(whole), works(named))


def test_of_another_process():
    """What a mapping is, others of the same file tell, if they agree."""
    files, roots = alpha_or_beta()
    alpha, beta = content(0, 1, pages(files["alpha_work"])), content(1, 2, pages(files["beta_first"]))
    named, _ = symbols(make("other-process", [*called(files, "alpha_work", "alpha_work"), alpha]), *roots)
    assert works(named) == {"alpha_work [prog]": 2}, works(named)
    # now it may be either: path and size tell
    named, _ = symbols(make("other-processes", [*called(files, "alpha_work", "beta_first", "alpha_work"), alpha, beta]), *roots)
    calls = [c["function"] for c in upto_json("calls", "--json", "-F", "alpha_work,beta_first", named)["calls"]]
    assert calls == ["alpha_work [prog]", "beta_first [prog]", "beta_first [prog]"], calls


def test_address_space_anew():
    """What was mapped, and is yet to be looked at, is forgotten where its address space becomes another process's; and only there."""
    said = run(os.path.join(CHECK, "tests/address_spaces")).stdout.decode().splitlines()
    assert said == ["seen: found", "named: found", "new process: forgotten", "new thread: found", "new program: forgotten"], said


def test_unseen():
    """Of a mapping whose content is not known, as in traces before format 8, path and size tell, if only one file has them."""
    files, folder = twins("id"), os.path.join(WORK, "content-unseen")
    shutil.rmtree(folder, ignore_errors=True)
    put(folder + "/one/bin/prog", files["alpha_work"])
    put(folder + "/same/upper/bin/prog", files["alpha_work"])
    put(folder + "/two/bin/prog", files["beta_first"])
    put(folder + "/layers/upper/bin/prog", files["beta_first"])
    made = make("unseen", called(files, "alpha_work"))
    for version in 8, 7:
        with open(made, "r+b") as f:
            f.seek(8)
            f.write(struct.pack("<II", version, 0))
        for roots, names in ((["one"], {"alpha_work [prog]": 1}), (["one", "same"], {"alpha_work [prog]": 1}), (["one", "two"], {}), (["one", "layers"], {})):
            named, said = symbols(made, *(f"{folder}/{r}" for r in roots))
            assert works(named) == names, (version, roots, works(named))
            assert ("1 may be one of several files" in said) == (not names), (roots, said)


@pytest.mark.weight(6)
def test_small_programs():
    """What is mapped of a program whose code is shorter than what stands before it in the file is known by its build-id, too."""
    trace = decoder.Trace(code_recording("6.12", 2)[0])
    told = b"".join(trace.payload(c) for c in trace.chunks if c.type == 7)
    for path in program("story"), program("plug", "-shared", "-fPIC"):
        code = next(line.split() for line in run("readelf", "-lW", path).stdout.decode().splitlines() if line.startswith("  LOAD") and " R E " in line)
        assert int(code[4], 16) < int(code[1], 16), code
        assert bytes.fromhex(re.search(r"Build ID: (\w+)", run("readelf", "-n", path).stdout.decode()).group(1)) in told, path
