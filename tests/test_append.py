# SPDX-License-Identifier: GPL-2.0-or-later
"""What is added to a trace after its end: whoever is killed while adding takes nothing away."""
import os
import re
import resource
import shutil
import signal

import pytest

from guest import UPTO, UPTO_ASAN, WORK, run, upto_json
from made import KERNEL, make


def program_in(folder, *flags):
    """A program in the folder's root/bin, and what a trace begins with in which it ran, as it is when `lines` is called."""
    source, program = folder / "program.c", folder / "root/bin/program"
    os.makedirs(program.parent)
    source.write_text("int twice(int x)\n{\n\treturn 2 * x;\n}\n\nint main(void)\n{\n\treturn twice(0);\n}\n")
    run("cc", "-O0", *flags, "-o", program, source)

    def lines():
        return [
            "meta vcpus 1", "meta kernel_ns 5", "end lost 0", "end stopped nobody knows why",
            f"symbol {KERNEL} 0x100 startup_64",
            "task 1 0 10 10 0xffff888000001000 0xffff888000002000 1 1 0 program /bin/program",
            f"map 0xffff888000002000 0x400000 0x10000 {os.path.getsize(program)} /bin/program",
            "event 0 clock 10 10 0 0 0",
        ]
    return program, lines


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A trace whose program has no names yet, the same with names, and the folder that has the program."""
    folder = tmp_path_factory.mktemp("append")
    _, lines = program_in(folder)
    trace = make(f"append-{os.getpid()}", [  # another process may have it made, too

        *lines(),
        f"event 0 jump-indirect 20 0 0 {KERNEL} {KERNEL + 16}",
        f"event 0 clock 30 100 0 0 0",
    ])
    named = folder / "named.upto"
    shutil.copy(trace, named)
    said = add(named, folder).stdout
    assert said == b"1 of the 1 files that ran have more symbols now\n", said
    yield trace, named, folder
    os.unlink(trace)


def add(trace, folder, *before, check=True, **kw):
    return run(*before, UPTO, "symbols", "--sysroot", folder / "root", trace, check=check, **kw)


def told(trace):
    """What END tells, and the counts."""
    info = upto_json("info", "--json", trace)
    return info["meta"], info["events"], info["instructions"]


def test_added(made):
    """What END told is told still, and the file is a trace as before, with one more of each chunk."""
    trace, named, _ = made
    assert told(named) == told(trace) and told(trace)[0]["stopped"] == "nobody knows why"
    for path in trace, named:
        run(UPTO_ASAN, "check", path)
    assert os.path.getsize(named) > os.path.getsize(trace)


def mended(path, made):
    """What the next one to add makes of what was left."""
    trace, named, folder = made
    assert told(path) == told(trace), path
    add(path, folder)
    with open(path, "rb") as a, open(named, "rb") as b:
        assert a.read() == b.read(), path


def test_killed_within_a_write(made):
    """Killed when the file has grown by so many bytes: the kernel does that when a limit is reached."""
    trace, named, folder = made
    before, after = os.path.getsize(trace), os.path.getsize(named)
    path = os.path.join(WORK, "append-killed.upto")
    sizes = sorted({before, before + 1, before + 95, before + 96, before + 97, (before + after) // 2, after - 97, after - 1})
    for size in sizes:
        shutil.copy(trace, path)
        p = add(path, folder, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        assert p.returncode == -signal.SIGXFSZ, (size, p)
        assert os.path.getsize(path) == size, (size, os.path.getsize(path))
        mended(path, made)
    os.unlink(path)
    return f"{len(sizes)} places"


def test_killed_between_writes(made):
    """Killed at each system call that could change the file."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    trace, named, folder = made
    path = os.path.join(WORK, "append-stopped.upto")
    n = 0
    for call in "openat", "ftruncate", "write", "pwrite64", "close":
        for nth in range(1, 40):
            shutil.copy(trace, path)
            assert os.path.getsize(path) == os.path.getsize(trace), (call, nth)
            p = add(path, folder, "strace", "-f", "-o", "/dev/null", "-P", path, "-e", f"trace={call}",
                    "-e", f"inject={call}:signal=KILL:when={nth}", check=False)
            if p.returncode == 0:
                break
            assert p.returncode == -signal.SIGKILL, (call, nth, p)
            n += 1
            if open(path, "rb").read() != open(named, "rb").read():
                mended(path, made)
        else:
            raise AssertionError(f"{call} again and again")
    assert n >= 5, n
    os.unlink(path)
    return f"{n} calls"


def test_something_else_behind_the_end(made):
    """What follows END and is none of ours is not removed."""
    trace, _, folder = made
    path = os.path.join(WORK, "append-behind.upto")
    shutil.copy(trace, path)
    with open(path, "ab") as f:
        f.write(b"something that somebody keeps here, longer than the header of a chunk" * 3)
    before = open(path, "rb").read()
    p = add(path, folder, check=False)
    assert p.returncode == 1 and b"something follows the end: nothing can be added" in p.stderr, p
    assert open(path, "rb").read() == before
    os.unlink(path)


def test_stripped(tmp_path):
    """A program whose names were taken away is told of, by name, with where they may be had; with them in a file of their own it is not."""
    program, lines = program_in(tmp_path, "-Wl,--build-id")
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", program).stdout.decode()).group(1)
    debug = tmp_path / f"root/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    trace = make("stripped", lines())
    debug.rename(tmp_path / "kept")
    said = add(trace, tmp_path).stdout.decode()
    assert re.fullmatch(r"0 of the 1 files that ran have more symbols now\n1 are stripped, .* \(program\): their debug packages have all, .*\n", said), said
    # the package that the guest's dpkg says it came with, also where its path is told with the folder that links lead to
    info = tmp_path / "root/var/lib/dpkg/info"
    info.mkdir(parents=True)
    for lists, package in ({"other": "/bin/programs\n"}, None), ({"other": "/.\n/bin\n/bin/program\n"}, "other-dbgsym"), ({"libc6:amd64": "/usr/bin/program"}, "libc6-dbg"), \
            ({"libc6.conffiles": "/bin/program\n"}, None), ({"": "/bin/program\n"}, None), ({":amd64": "/bin/program\n"}, None):
        for name, text in lists.items():
            (info / (name if name.endswith("files") else f"{name}.list")).write_text(text)
        said = add(trace, tmp_path).stdout.decode()
        assert re.search(r"their debug packages" + (rf" \({package}\)" if package else "") + " have all", said), (lists, said)
        for file in info.iterdir():
            file.unlink()
    # that of the root itself, not of one that is kept in it
    for at in "root/a/var/lib/dpkg/info", "root/var/lib/dpkg/info":
        (tmp_path / at).mkdir(parents=True, exist_ok=True)
        (tmp_path / at / f"{'inner' if '/a/' in at else 'outer'}.list").write_text("/bin/program\n")
    assert "debug packages (outer-dbgsym) have all" in add(trace, tmp_path).stdout.decode()
    (tmp_path / "kept").rename(debug)
    assert add(trace, tmp_path).stdout == b"1 of the 1 files that ran have more symbols now\n"
